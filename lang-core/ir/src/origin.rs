//! **Provenance** of the statements of Tensor SSA: a side table of a function. It takes no part in
//! equality, so equal statements are shared wherever they come from, and an edit that only moves
//! text changes no function.
//!
//! In a definition, a statement originates from expressions of the text. In a derivative, a rule
//! generates it for a statement of the primal function, whose own table leads on. A statement that
//! was inlined originates from the call, and the table records its statement in the callee.

use std::sync::Arc;

use super::core::FunctionKey;
use super::ssa::StmtId;
use lang_base::Span;

/// The maximal number of origins kept for one statement. A constant may occur in a hundred places.
const MAX_ORIGINS: usize = 16;

/// Names other than rules of passes that may occur in [`OriginKind::PrimalStatement`].
pub const NON_RULE_NAMES: &[&str] = &[VALUE, ZERO, CALL, RULE, LOOP, UPDATE];

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
pub enum OriginKind {
    /// An input of a definition, see [`super::ssa::SsaFunction::inputs`].
    Input,
    /// An expression of the definition, by its location in the item's text.
    SourceExpr(Span),
    /// A statement of the primal function, and the rule applied to it: the rule's name, under which
    /// its uses are counted, or one of [`NON_RULE_NAMES`].
    PrimalStatement(StmtId, &'static str),
}

/// The statement of a callee from which inlining made a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct InlinedFrom {
    /// The callee, as an index into [`OriginTable::callees`].
    callee: u32,
    var: StmtId,
}

/// The origin of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatementOrigin {
    /// The reason for the statement. For an inlined statement, the call.
    pub kind: OriginKind,
    inlined: Option<InlinedFrom>,
}

impl Default for StatementOrigin {
    fn default() -> Self {
        Self { kind: OriginKind::SourceExpr(Span::default()), inlined: None }
    }
}

/// The origins of all statements of a function. A statement that several expressions or rules
/// generate has several origins, the first one first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct OriginTable {
    /// Entries sorted by statement.
    entries: Vec<(StmtId, StatementOrigin)>,
    callees: Vec<Arc<FunctionKey>>,
}

impl OriginTable {
    /// Returns the origins of a statement.
    pub fn origins_of(&self, var: StmtId) -> impl Iterator<Item = &StatementOrigin> {
        let first = self.entries.partition_point(|(v, _)| *v < var);
        let rest = self.entries.get(first..).unwrap_or_default();
        rest.iter().take_while(move |(v, _)| *v == var).map(|(_, origin)| origin)
    }

    /// Returns the statements that originate from the expression at exactly this location,
    /// including those inlined for a call.
    pub fn statements_at(&self, place: Span) -> impl Iterator<Item = StmtId> {
        self.statements_where(move |ancestor| ancestor == OriginKind::SourceExpr(place))
    }

    /// Returns the statements of a derivative that were generated for a statement of the primal
    /// function: its tangent or cotangent and their operands, but not its value.
    pub fn derived_from(&self, of: StmtId) -> impl Iterator<Item = StmtId> {
        self.statements_where(
            move |ancestor| matches!(ancestor, OriginKind::PrimalStatement(v, rule) if v == of && rule != VALUE),
        )
    }

    fn statements_where(&self, wanted: impl Fn(OriginKind) -> bool) -> impl Iterator<Item = StmtId> {
        let mut last = None;
        let all = self.entries.iter().filter(move |(_, origin)| wanted(origin.kind)).map(|(var, _)| *var);
        all.filter(move |var| last.replace(*var) != Some(*var))
    }

    /// Returns the callee and the statement of it from which inlining made a statement.
    #[must_use]
    pub fn inlined(&self, origin: &StatementOrigin) -> Option<(&Arc<FunctionKey>, StmtId)> {
        let InlinedFrom { callee, var } = origin.inlined?;
        Some((self.callees.get(callee as usize)?, var))
    }
}

/// The result of dead-code elimination for a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DceOutcome {
    /// Kept, under this new number.
    Kept(StmtId),
    /// A removed view; this is the new number of the statement that it showed.
    ForwardedTo(StmtId),
    /// Removed.
    Removed,
}

/// The origins of the statements under construction. A pass announces the reason before it builds
/// statements.
#[derive(Default, Debug)]
pub struct OriginRecorder {
    current: StatementOrigin,
    /// Entries in the order in which statements were built or found. The flag is true for a
    /// requested result and false for an intermediate statement.
    entries: Vec<(StmtId, StatementOrigin, bool)>,
    callees: Vec<Arc<FunctionKey>>,
}

impl OriginRecorder {
    /// Attributes the following statements to `ancestor`. Returns the previous origin, for
    /// [`OriginRecorder::restore`].
    pub fn enter(&mut self, ancestor: OriginKind) -> StatementOrigin {
        std::mem::replace(&mut self.current, StatementOrigin { kind: ancestor, inlined: None })
    }

    /// Attributes the following statements to an expression. An expression without a location
    /// counts as part of the enclosing one.
    pub fn enter_source(&mut self, place: Span) -> StatementOrigin {
        if place.start < place.end { self.enter(OriginKind::SourceExpr(place)) } else { self.current }
    }

    /// Returns the current origin.
    #[must_use]
    pub fn current_origin(&self) -> StatementOrigin {
        self.current
    }

    /// Restores a previous origin.
    pub fn restore(&mut self, before: StatementOrigin) {
        self.current = before;
    }

    /// Registers the callee of an inlined call. Returns its number, for
    /// [`OriginRecorder::enter_inlined`].
    pub fn register_callee(&mut self, callee: &Arc<FunctionKey>) -> u32 {
        let known = self.callees.iter().position(|c| c == callee);
        let at = known.unwrap_or_else(|| {
            self.callees.push(Arc::clone(callee));
            self.callees.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Attributes the following statements to this statement of an inlined callee, at the current
    /// call.
    pub fn enter_inlined(&mut self, callee: u32, var: StmtId) {
        self.current.inlined = Some(InlinedFrom { callee, var });
    }

    /// Records an intermediate statement.
    pub fn record_intermediate(&mut self, var: StmtId) {
        self.entries.push((var, self.current, false));
    }

    /// Records a requested result.
    pub fn record_result(&mut self, var: StmtId) {
        self.entries.push((var, self.current, true));
    }

    /// Returns the table for the statements that remain. If a requested result was only a view,
    /// which its readers read through, its origin moves to the statement that it shows.
    #[must_use]
    pub fn finish(self, fates: &[DceOutcome]) -> OriginTable {
        let now = |(var, origin, is_requested): (StmtId, StatementOrigin, bool)| match fates.get(var.0 as usize)? {
            DceOutcome::Kept(var) => Some((*var, origin)),
            DceOutcome::ForwardedTo(var) => is_requested.then_some((*var, origin)),
            DceOutcome::Removed => None,
        };
        let mut all: Vec<(StmtId, StatementOrigin)> = self.entries.into_iter().filter_map(now).collect();
        all.sort_by_key(|(var, _)| *var);
        let mut list: Vec<(StmtId, StatementOrigin)> = Vec::with_capacity(fates.len());
        let mut first = 0;
        for entry in all {
            if list.get(first).is_some_and(|(var, _)| *var != entry.0) {
                first = list.len();
            }
            let same = list.get(first..).unwrap_or_default();
            // An origin with an inlined statement is more precise than its call alone.
            let known = |(_, other): &(StmtId, StatementOrigin)| {
                other.kind == entry.1.kind && (other.inlined == entry.1.inlined || entry.1.inlined.is_none())
            };
            if same.len() < MAX_ORIGINS && !same.iter().any(known) {
                list.push(entry);
            }
        }
        OriginTable { entries: list, callees: self.callees }
    }
}
