//! What is evaluated elsewhere: derivatives, and expressions that are worth it. Whoever was named by
//! [`Interp::take_derivatives`] or [`Interp::take_regions`] is asked first; what they do not take is evaluated here, by its
//! definition. They never decide how a run fails: what fails there is run again here, and told as everything else is.
//!
//! A run that counts, or that stops where a NaN comes up, is evaluated here: both are about the operations of this
//! interpreter.

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

/// Whoever evaluates parts of a run.
pub trait Elsewhere {
    /// The value of what is asked for.
    fn take(&self, asked: &Asked<'_>, run: &Around<'_>) -> Taken;
}

/// The run that something is asked for in.
pub struct Around<'r> {
    /// Its memory.
    pub memory: &'r Memory,
    /// Is set when the run has to end.
    pub interrupt: &'r AtomicBool,
    /// Is told how far the work is.
    pub done: &'r dyn Fn(Done),
}

/// How far work is that is done elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// So many statements are done, of so many.
    Statements(usize, usize),
    /// So many steps of a loop among them are, of so many if that is known.
    Steps(i64, Option<i64>),
}

/// What is asked for.
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
    /// The value of an expression.
    Here {
        /// Where it stands.
        code: &'v Arc<Code>,
        /// What is known there.
        frame: &'v Frame,
        /// The expression.
        node: TId,
        /// Is there a loop with a condition in it, whose steps are short? Where such a loop has steps of its own elsewhere, it is to
        /// be evaluated here.
        short_steps: bool,
    },
}

impl Asked<'_> {
    /// The operator, if a derivative is asked for; `deriv` is a Jacobian.
    #[must_use]
    pub fn operator(&self) -> Option<Derivative> {
        match self {
            Self::Operator(derived, _) => Some(derived.operator()),
            Self::Variable { .. } => Some(Derivative::Jacobian),
            Self::Here { .. } => None,
        }
    }
}

/// What came of it.
pub enum Taken {
    /// The value.
    Value(Value),
    /// It is to be evaluated here.
    Not,
    /// So is whatever is like it: it has no other form.
    Never,
    /// Someone asked for the run to end.
    Interrupted,
    /// It would hold more at once than a run may.
    TooLarge(TooLarge),
}

impl<'a> Interp<'a> {
    /// From here on, these are asked first for every derivative.
    pub fn take_derivatives(&mut self, elsewhere: &'a dyn Elsewhere) {
        self.elsewhere = Some(elsewhere);
    }

    /// From here on, these are asked first for every derivative, and for every loop and call that may be long.
    pub fn take_regions(&mut self, elsewhere: &'a dyn Elsewhere) {
        self.elsewhere = Some(elsewhere);
        self.regions.wanted = true;
    }

    /// The derivative, if it is taken elsewhere.
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
