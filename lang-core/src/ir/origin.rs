//! Where the statements of Tensor SSA come from: a table beside a function, which takes no part in what a statement
//! is, so that equal statements are one wherever they come from, and an edit that only moves text changes no function.
//!
//! In a definition a statement stands for expressions of the text; in a derivative it was made by a rule for a
//! statement of the function that was differentiated, whose own table leads on. What was put in place of a call stands
//! for the call, and tells which statement of the called definition it is.

use std::sync::Arc;

use super::core::Callee;
use super::ssa::Var;
use crate::base::Span;

/// More origins of one statement are not kept: a constant may stand in a hundred places.
const MOST: usize = 16;

/// The explicit names that stand beside the rules of the passes in [`Ancestor::Statement`].
pub const NAMES: &[&str] = &[VALUE, ZERO, CALL, RULE, LOOP, UPDATE];

/// The statement itself, whose value the derivative reads or gives.
pub const VALUE: &str = "value";

/// The derivative is zero.
pub const ZERO: &str = "zero";

/// The adjoint of what is called there is called.
pub const CALL: &str = "call";

/// The derivative of a loop.
pub const LOOP: &str = "loop";

/// The derivative of an update.
pub const UPDATE: &str = "update";

/// A rule that the program has beside the definition.
pub const RULE: &str = "rule";

/// What a statement was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ancestor {
    /// An input of a definition: [`super::ssa::Ssa::inputs`] tells which.
    Input,
    /// An expression of the definition, by its place in the item's text.
    Text(Span),
    /// A statement of the function that was differentiated, and the rule that was applied to it: the number by which
    /// it is counted, or one of [`NAMES`].
    Statement(Var, &'static str),
}

/// A statement of a definition that was put in place of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Inlined {
    /// The definition, among [`Origins::callees`].
    callee: u32,
    var: Var,
}

/// Where a statement comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// What it was made for: of what is put in place of a call, the call.
    pub ancestor: Ancestor,
    inlined: Option<Inlined>,
}

impl Default for Origin {
    fn default() -> Self {
        Self { ancestor: Ancestor::Text(Span::default()), inlined: None }
    }
}

/// The origins of all statements of a function. A statement that several expressions or rules made has several, the
/// one that made it first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Origins {
    /// Sorted by statement.
    list: Vec<(Var, Origin)>,
    callees: Vec<Arc<Callee>>,
}

impl Origins {
    /// Those of a statement.
    pub fn of(&self, var: Var) -> impl Iterator<Item = &Origin> {
        let first = self.list.partition_point(|(v, _)| *v < var);
        let rest = self.list.get(first..).unwrap_or_default();
        rest.iter().take_while(move |(v, _)| *v == var).map(|(_, origin)| origin)
    }

    /// The statements that stand for the expression of exactly this place, what is put there for a call included.
    pub fn at(&self, place: Span) -> impl Iterator<Item = Var> {
        self.with(move |ancestor| ancestor == Ancestor::Text(place))
    }

    /// The statements of a derivative that were made for a statement of the function that was differentiated: its
    /// tangent or cotangent, and what these take; not its value.
    pub fn derived_from(&self, of: Var) -> impl Iterator<Item = Var> {
        self.with(move |ancestor| matches!(ancestor, Ancestor::Statement(v, rule) if v == of && rule != VALUE))
    }

    fn with(&self, wanted: impl Fn(Ancestor) -> bool) -> impl Iterator<Item = Var> {
        let mut last = None;
        let all = self.list.iter().filter(move |(_, origin)| wanted(origin.ancestor)).map(|(var, _)| *var);
        all.filter(move |var| last.replace(*var) != Some(*var))
    }

    /// Which statement of which called definition it is that was put in place of the call.
    #[must_use]
    pub fn inlined(&self, origin: &Origin) -> Option<(&Arc<Callee>, Var)> {
        let Inlined { callee, var } = origin.inlined?;
        Some((self.callees.get(callee as usize)?, var))
    }
}

/// What became of a statement when those that nothing reads were removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is this one now.
    Kept(Var),
    /// It was a view, and what it showed is this one now.
    View(Var),
    /// It is not there.
    Gone,
}

/// The origins of statements that are being made: what makes them says beforehand what for.
#[derive(Default, Debug)]
pub struct Trace {
    now: Origin,
    /// In the order in which statements were made, or were found to be there already; is it what was asked for, or made
    /// on the way there?
    list: Vec<(Var, Origin, bool)>,
    callees: Vec<Arc<Callee>>,
}

impl Trace {
    /// What is made from here on is made for this. Gives what was before, for [`Trace::back`].
    pub fn enter(&mut self, ancestor: Ancestor) -> Origin {
        std::mem::replace(&mut self.now, Origin { ancestor, inlined: None })
    }

    /// The same for an expression; one without a place is a part of the one around it.
    pub fn enter_text(&mut self, place: Span) -> Origin {
        if place.start < place.end { self.enter(Ancestor::Text(place)) } else { self.now }
    }

    /// What is made for now.
    #[must_use]
    pub fn now(&self) -> Origin {
        self.now
    }

    /// What is made from here on is made for what it was before.
    pub fn back(&mut self, before: Origin) {
        self.now = before;
    }

    /// A definition that is put in place of a call: its number, for [`Trace::inline`].
    pub fn callee(&mut self, callee: &Arc<Callee>) -> u32 {
        let known = self.callees.iter().position(|c| c == callee);
        let at = known.unwrap_or_else(|| {
            self.callees.push(Arc::clone(callee));
            self.callees.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// What is made from here on is this statement of a definition, in place of the call that it was before.
    pub fn inline(&mut self, callee: u32, var: Var) {
        self.now.inlined = Some(Inlined { callee, var });
    }

    /// A statement was made on the way to what is asked for.
    pub fn made(&mut self, var: Var) {
        self.list.push((var, self.now, false));
    }

    /// The statement is what was asked for.
    pub fn gives(&mut self, var: Var) {
        self.list.push((var, self.now, true));
    }

    /// The table, for the statements that there are still. What was asked for and is only a view, which nobody reads as
    /// everybody reads through it, is the statement that it shows.
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
            // What was put in place of a call says more than the call.
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
