//! **Offloading interface**: the requests of the interpreter to an evaluator of compiled code, and
//! its answers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::Value;
use super::code::{Code, Frame};
use super::derived::Derived;
use super::memory::{Memory, TooLarge};
use lang_resolve::forms::Derivative;
use lang_sizes::predicate::LocalId;
use lang_types::tree::TId;

/// An evaluator of parts of a run outside the interpreter.
pub trait Elsewhere {
    /// Evaluates a request, or declines it.
    fn take(&self, asked: &Asked<'_>, run: &Around<'_>) -> Taken;
}

/// The context of a request: the run that it is part of.
pub struct Around<'r> {
    /// The memory of the run, to charge.
    pub memory: &'r Memory,
    /// A flag that is set to end the run.
    pub interrupt: &'r AtomicBool,
    /// A callback for the progress of the work.
    pub done: &'r dyn Fn(Done),
}

/// The progress of offloaded work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// The statements that are done, and their total number.
    Statements(usize, usize),
    /// The steps of the current loop that are done, and their total number if it is known.
    Steps(i64, Option<i64>),
}

/// A request: the part of a run to evaluate.
pub enum Asked<'v> {
    /// A derivative operator applied to a function, at these arguments.
    Operator(&'v Derived, &'v [Value]),
    /// The form `deriv(of, by)`.
    Variable {
        /// The code that contains it.
        code: &'v Arc<Code>,
        /// The values of the locals.
        frame: &'v Frame,
        /// The node of the `deriv` form.
        node: TId,
        /// The variable to differentiate by.
        by: LocalId,
        /// The expression to differentiate.
        of: TId,
    },
    /// An expression.
    Here {
        /// The code that contains it.
        code: &'v Arc<Code>,
        /// The values of the locals.
        frame: &'v Frame,
        /// The node of the expression.
        node: TId,
        /// Whether the expression contains a `loop` with short steps. The evaluator must decline it
        /// if it would run such a loop step by step.
        short_steps: bool,
    },
}

impl Asked<'_> {
    /// Returns the operator of a derivative, or `None` for an expression. `deriv` is a Jacobian.
    #[must_use]
    pub fn operator(&self) -> Option<Derivative> {
        match self {
            Self::Operator(derived, _) => Some(derived.operator()),
            Self::Variable { .. } => Some(Derivative::Jacobian),
            Self::Here { .. } => None,
        }
    }
}

/// The answer to a request.
pub enum Taken {
    /// The value.
    Value(Value),
    /// The interpreter must evaluate this request.
    Not,
    /// The interpreter must evaluate this request and every one like it, because they have no
    /// compiled form.
    Never,
    /// The run was interrupted.
    Interrupted,
    /// The evaluation would need more memory at once than a run may hold.
    TooLarge(TooLarge),
}
