//! **Offloading interface**: the requests of the interpreter to an evaluator of compiled code, and
//! its answers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::Value;
use super::code::{LocalFrame, RunnableBody};
use super::derived::DerivedFunction;
use super::memory::{AllocationError, MemoryAccount};
use lang_resolve::forms::DerivativeOp;
use lang_sizes::predicate::LocalId;
use lang_types::tree::TypedId;

/// An evaluator of parts of a run outside the interpreter.
pub trait OffloadEvaluator {
    /// Evaluates a request, or declines it.
    fn evaluate(&self, request: &OffloadRequest<'_>, run: &RunContext<'_>) -> OffloadOutcome;
}

/// The context of a request: the run that it is part of.
pub struct RunContext<'r> {
    /// The memory of the run, to charge.
    pub memory: &'r MemoryAccount,
    /// A flag that is set to end the run.
    pub interrupt: &'r AtomicBool,
    /// A callback for the progress of the work.
    pub report_progress: &'r dyn Fn(OffloadProgress),
}

/// The progress of offloaded work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OffloadProgress {
    /// The statements that are done, and their total number.
    Statements(usize, usize),
    /// The steps of the current loop that are done, and their total number if it is known.
    Steps(i64, Option<i64>),
}

/// A request: the part of a run to evaluate.
pub enum OffloadRequest<'v> {
    /// A derivative operator applied to a function, at these arguments.
    Operator(&'v DerivedFunction, &'v [Value]),
    /// The form `deriv(of, by)`.
    Deriv {
        /// The code that contains it.
        code: &'v Arc<RunnableBody>,
        /// The values of the locals.
        frame: &'v LocalFrame,
        /// The node of the `eval_deriv` form.
        node: TypedId,
        /// The variable to differentiate by.
        variable: LocalId,
        /// The expression to differentiate.
        expression: TypedId,
    },
    /// An expression.
    Expression {
        /// The code that contains it.
        code: &'v Arc<RunnableBody>,
        /// The values of the locals.
        frame: &'v LocalFrame,
        /// The node of the expression.
        node: TypedId,
        /// Whether the expression contains a `loop` with short steps. The evaluator must decline it
        /// if it would run such a loop step by step.
        has_short_steps: bool,
    },
}

impl OffloadRequest<'_> {
    /// Returns the operator of a derivative, or `None` for an expression. `eval_deriv` is a
    /// Jacobian.
    #[must_use]
    pub fn operator(&self) -> Option<DerivativeOp> {
        match self {
            Self::Operator(derived, _) => Some(derived.operator()),
            Self::Deriv { .. } => Some(DerivativeOp::Jacobian),
            Self::Expression { .. } => None,
        }
    }
}

/// The answer to a request.
pub enum OffloadOutcome {
    /// The value.
    Value(Value),
    /// The interpreter must evaluate this request.
    Declined,
    /// The interpreter must evaluate this request and every one like it, because they have no
    /// compiled form.
    Unsupported,
    /// The run was interrupted.
    Interrupted,
    /// The evaluation would need more memory at once than a run may hold.
    TooLarge(AllocationError),
}
