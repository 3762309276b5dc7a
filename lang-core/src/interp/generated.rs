//! **Offloading interface.** Hands derivatives, and expressions that may be long, to an evaluator
//! of compiled code.
//!
//! The host registers the evaluator with [`Interp::take_derivatives`] or [`Interp::take_regions`].
//! The interpreter asks it first, and evaluates by definition everything that it declines. The
//! evaluator never decides how a run fails: the interpreter evaluates a failing part again and
//! reports the failure. Only interrupts and memory limits end a run there.
//!
//! A run that counts, or that stops at the first NaN, offloads nothing, because both concern the
//! operations of this interpreter.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::code::{Code, Frame};
use super::derive::Derived;
use super::failure::{At, Eval};
use super::memory::{Memory, TooLarge};
use super::progress::Work;
use super::{Interp, Value};
use crate::base::Code as ErrorCode;
use crate::predicate::LocalId;
use crate::resolve::forms::Derivative;
use crate::types::tree::TId;

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

impl<'a> Interp<'a> {
    /// Registers an evaluator that the interpreter asks first for every derivative.
    pub fn take_derivatives(&mut self, elsewhere: &'a dyn Elsewhere) {
        self.elsewhere = Some(elsewhere);
    }

    /// Registers an evaluator that the interpreter asks first for every derivative, and for every
    /// loop and call that may be long.
    pub fn take_regions(&mut self, elsewhere: &'a dyn Elsewhere) {
        self.elsewhere = Some(elsewhere);
        self.regions.wanted = true;
    }

    /// Returns the value of a request, or `None` if the interpreter must evaluate it.
    #[inline(never)]
    pub(super) fn taken(&mut self, at: At<'_>, asked: &Asked<'_>) -> Eval<Option<Value>> {
        Ok(match self.ask(at, asked)? {
            Taken::Value(value) => Some(value),
            _ => None,
        })
    }

    pub(super) fn ask(&mut self, at: At<'_>, asked: &Asked<'_>) -> Eval<Taken> {
        let Some(elsewhere) = self.elsewhere.filter(|_| !self.counting && !self.trap) else { return Ok(Taken::Not) };
        self.begin_work();
        let pace = self.follow(Work::Statements(asked.operator()), -1);
        let Self { works, host, memory, interrupt, .. } = self;
        let told = RefCell::new((works, host));
        let operator = asked.operator();
        let done = |done| {
            let (works, host) = &mut *told.borrow_mut();
            works.elsewhere(&pace, &mut ***host, operator, done);
        };
        let taken = elsewhere.take(asked, &Around { memory, interrupt, done: &done });
        self.end_work();
        match taken {
            Taken::Interrupted => Err(at.fail(ErrorCode::E0507, "interrupted")),
            Taken::TooLarge(why) => Err(at.too_large(&why)),
            taken => Ok(taken),
        }
    }
}
