//! **Progress reports** as values: the kind of counted work and the number of finished units.

use lang_resolve::forms::DerivativeOp;

/// The kind of counted work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkKind {
    /// The steps of a binder, a `fold` or a `scan`. For several indices, the steps of the first.
    Steps,
    /// The steps of a `loop`, whose total is unknown.
    Loop,
    /// The passes of a derivative operator, one for each real of the argument.
    Passes(DerivativeOp),
    /// The statements of an offloaded derivative, or of an offloaded expression (`None`).
    Statements(Option<DerivativeOp>),
}

/// The progress of one piece of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkProgress {
    /// The kind of work.
    pub work: WorkKind,
    /// The number of finished units.
    pub done: u64,
    /// The total number of units, if it is known.
    pub total: Option<u64>,
}
