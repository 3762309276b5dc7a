//! Derivatives that are taken elsewhere. Where an operator is applied, whoever was named by [`Interp::take_derivatives`]
//! is asked first; what they do not take is evaluated here, by its definition. They never decide how a run fails: what
//! fails there is run again here, and told as everything else is.
//!
//! A run that counts, or that stops where a NaN comes up, takes its derivatives here: both are about the operations
//! of this interpreter.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::code::{Code, Frame};
use super::derive::Derived;
use super::failure::{At, Eval};
use super::memory::Memory;
use super::progress::Work;
use super::{Interp, Value};
use crate::base::Code as ErrorCode;
use crate::predicate::LocalId;
use crate::resolve::forms::Derivative;
use crate::types::tree::TId;

/// Whoever takes derivatives.
pub trait Derivatives {
    /// The value of what is asked for.
    fn take(&self, asked: &Asked<'_>, run: &Around<'_>) -> Taken;
}

/// The run that a derivative is asked for in.
pub struct Around<'r> {
    /// Its memory.
    pub memory: &'r Memory,
    /// Is set when the run has to end.
    pub interrupt: &'r AtomicBool,
    /// Is told how many parts of the work are done, of how many.
    pub done: &'r dyn Fn(usize, usize),
}

/// A derivative that is asked for.
pub enum Asked<'v> {
    /// An operator that was applied to a function, at arguments.
    Operator(&'v Derived, &'v [Value]),
    /// `deriv(of, by)`
    Variable {
        /// Where it stands.
        code: &'v Arc<Code>,
        /// What is known there.
        frame: &'v Frame,
        /// The whole.
        node: TId,
        /// The variable.
        by: LocalId,
        /// What is differentiated.
        of: TId,
    },
}

impl Asked<'_> {
    /// The operator; `deriv` is a Jacobian.
    #[must_use]
    pub fn operator(&self) -> Derivative {
        match self {
            Self::Operator(derived, _) => derived.operator(),
            Self::Variable { .. } => Derivative::Jacobian,
        }
    }
}

/// What came of it.
pub enum Taken {
    /// The value.
    Value(Value),
    /// It is to be evaluated here.
    Not,
    /// Someone asked for the run to end.
    Interrupted,
}

impl<'a> Interp<'a> {
    /// From here on, these are asked first for every derivative.
    pub fn take_derivatives(&mut self, derivatives: &'a dyn Derivatives) {
        self.derivatives = Some(derivatives);
    }

    /// The derivative, if it is taken elsewhere.
    #[inline(never)]
    pub(super) fn taken(&mut self, at: At<'_>, asked: &Asked<'_>) -> Eval<Option<Value>> {
        let Some(derivatives) = self.derivatives.filter(|_| !self.counting && !self.trap) else { return Ok(None) };
        self.begin_work();
        let pace = self.follow(Work::Statements(asked.operator()), -1);
        let Self { works, host, memory, interrupt, .. } = self;
        let told = RefCell::new((works, host));
        let done = |done, total| {
            let (works, host) = &mut *told.borrow_mut();
            works.statements(&pace, &mut ***host, done, total);
        };
        let taken = derivatives.take(asked, &Around { memory, interrupt, done: &done });
        self.end_work();
        match taken {
            Taken::Value(value) => Ok(Some(value)),
            Taken::Not => Ok(None),
            Taken::Interrupted => Err(at.fail(ErrorCode::E0507, "interrupted")),
        }
    }
}
