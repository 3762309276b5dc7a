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

use lang_runtime::offload::{Around, Asked, Elsewhere, Taken};
use std::cell::RefCell;

use super::Interp;
use lang_base::Code as ErrorCode;
use lang_runtime::Value;
use lang_runtime::failure::{At, Eval};
use lang_runtime::progress::Work;

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
