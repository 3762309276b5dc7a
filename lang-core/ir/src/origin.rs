//! **Provenance** of the statements of Tensor SSA: a side table of a function. It takes no part in
//! equality, so equal statements are shared wherever they come from, and an edit that only moves
//! text changes no function.
//!
//! In a definition, a statement originates from expressions of the text. In a derivative, a rule
//! generates it for a statement of the primal function, whose own table leads on. A statement that
//! was inlined originates from the call, and the table records its statement in the callee.

use std::sync::Arc;

use super::core::Callee;
use super::ssa::Var;
use lang_base::Span;

/// The maximal number of origins kept for one statement. A constant may occur in a hundred places.
const MOST: usize = 16;

/// Names other than rules of passes that may occur in [`Ancestor::Statement`].
pub const NAMES: &[&str] = &[VALUE, ZERO, CALL, RULE, LOOP, UPDATE];

/// The primal value of the statement, which the derivative reads or returns.
pub const VALUE: &str = "value";

/// The derivative is zero.
pub const ZERO: &str = "zero";

/// A call of the adjoint of the callee.
pub const CALL: &str = "call";

/// The derivative of a loop.
pub const LOOP: &str = "loop";

/// The derivative of an update.
pub const UPDATE: &str = "update";

/// A derivative rule that the program defines.
pub const RULE: &str = "rule";

/// The reason for which a statement was generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ancestor {
    /// An input of a definition, see [`super::ssa::Ssa::inputs`].
    Input,
    /// An expression of the definition, by its location in the item's text.
    Text(Span),
    /// A statement of the primal function, and the rule applied to it: the rule's name, under which
    /// its uses are counted, or one of [`NAMES`].
    Statement(Var, &'static str),
}

/// The statement of a callee from which inlining made a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Inlined {
    /// The callee, as an index into [`Origins::callees`].
    callee: u32,
    var: Var,
}

/// The origin of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The reason for the statement. For an inlined statement, the call.
    pub ancestor: Ancestor,
    inlined: Option<Inlined>,
}

impl Default for Origin {
    fn default() -> Self {
        Self { ancestor: Ancestor::Text(Span::default()), inlined: None }
    }
}

/// The origins of all statements of a function. A statement that several expressions or rules
/// generate has several origins, the first one first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Origins {
    /// Entries sorted by statement.
    list: Vec<(Var, Origin)>,
    callees: Vec<Arc<Callee>>,
}

impl Origins {
    /// Returns the origins of a statement.
    pub fn of(&self, var: Var) -> impl Iterator<Item = &Origin> {
        let first = self.list.partition_point(|(v, _)| *v < var);
        let rest = self.list.get(first..).unwrap_or_default();
        rest.iter().take_while(move |(v, _)| *v == var).map(|(_, origin)| origin)
    }

    /// Returns the statements that originate from the expression at exactly this location,
    /// including those inlined for a call.
    pub fn at(&self, place: Span) -> impl Iterator<Item = Var> {
        self.with(move |ancestor| ancestor == Ancestor::Text(place))
    }

    /// Returns the statements of a derivative that were generated for a statement of the primal
    /// function: its tangent or cotangent and their operands, but not its value.
    pub fn derived_from(&self, of: Var) -> impl Iterator<Item = Var> {
        self.with(move |ancestor| matches!(ancestor, Ancestor::Statement(v, rule) if v == of && rule != VALUE))
    }

    fn with(&self, wanted: impl Fn(Ancestor) -> bool) -> impl Iterator<Item = Var> {
        let mut last = None;
        let all = self.list.iter().filter(move |(_, origin)| wanted(origin.ancestor)).map(|(var, _)| *var);
        all.filter(move |var| last.replace(*var) != Some(*var))
    }

    /// Returns the callee and the statement of it from which inlining made a statement.
    #[must_use]
    pub fn inlined(&self, origin: &Origin) -> Option<(&Arc<Callee>, Var)> {
        let Inlined { callee, var } = origin.inlined?;
        Some((self.callees.get(callee as usize)?, var))
    }
}

/// The result of dead-code elimination for a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Kept, under this new number.
    Kept(Var),
    /// A removed view; this is the new number of the statement that it showed.
    View(Var),
    /// Removed.
    Gone,
}

/// The origins of the statements under construction. A pass announces the reason before it builds
/// statements.
#[derive(Default, Debug)]
pub struct Trace {
    now: Origin,
    /// Entries in the order in which statements were built or found. The flag is true for a
    /// requested result and false for an intermediate statement.
    list: Vec<(Var, Origin, bool)>,
    callees: Vec<Arc<Callee>>,
}

impl Trace {
    /// Attributes the following statements to `ancestor`. Returns the previous origin, for
    /// [`Trace::back`].
    pub fn enter(&mut self, ancestor: Ancestor) -> Origin {
        std::mem::replace(&mut self.now, Origin { ancestor, inlined: None })
    }

    /// Attributes the following statements to an expression. An expression without a location
    /// counts as part of the enclosing one.
    pub fn enter_text(&mut self, place: Span) -> Origin {
        if place.start < place.end { self.enter(Ancestor::Text(place)) } else { self.now }
    }

    /// Returns the current origin.
    #[must_use]
    pub fn now(&self) -> Origin {
        self.now
    }

    /// Restores a previous origin.
    pub fn back(&mut self, before: Origin) {
        self.now = before;
    }

    /// Registers the callee of an inlined call. Returns its number, for [`Trace::inline`].
    pub fn callee(&mut self, callee: &Arc<Callee>) -> u32 {
        let known = self.callees.iter().position(|c| c == callee);
        let at = known.unwrap_or_else(|| {
            self.callees.push(Arc::clone(callee));
            self.callees.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Attributes the following statements to this statement of an inlined callee, at the current
    /// call.
    pub fn inline(&mut self, callee: u32, var: Var) {
        self.now.inlined = Some(Inlined { callee, var });
    }

    /// Records an intermediate statement.
    pub fn made(&mut self, var: Var) {
        self.list.push((var, self.now, false));
    }

    /// Records a requested result.
    pub fn gives(&mut self, var: Var) {
        self.list.push((var, self.now, true));
    }

    /// Returns the table for the statements that remain. If a requested result was only a view,
    /// which its readers read through, its origin moves to the statement that it shows.
    #[must_use]
    pub fn finish(self, fates: &[Fate]) -> Origins {
        let now = |(var, origin, asked): (Var, Origin, bool)| match fates.get(var.0 as usize)? {
            Fate::Kept(var) => Some((*var, origin)),
            Fate::View(var) => asked.then_some((*var, origin)),
            Fate::Gone => None,
        };
        let mut all: Vec<(Var, Origin)> = self.list.into_iter().filter_map(now).collect();
        all.sort_by_key(|(var, _)| *var);
        let mut list: Vec<(Var, Origin)> = Vec::with_capacity(fates.len());
        let mut first = 0;
        for entry in all {
            if list.get(first).is_some_and(|(var, _)| *var != entry.0) {
                first = list.len();
            }
            let same = list.get(first..).unwrap_or_default();
            // An origin with an inlined statement is more precise than its call alone.
            let known = |(_, other): &(Var, Origin)| {
                other.ancestor == entry.1.ancestor && (other.inlined == entry.1.inlined || entry.1.inlined.is_none())
            };
            if same.len() < MOST && !same.iter().any(known) {
                list.push(entry);
            }
        }
        Origins { list, callees: self.callees }
    }
}
