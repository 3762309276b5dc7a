//! **Offloading interface.** Hands derivatives, and expressions that may be long, to an evaluator
//! of compiled code.
//!
//! The host registers the evaluator with [`Interp::offload_derivatives`] or
//! [`Interp::offload_expressions`]. The interpreter asks it first, and evaluates by definition
//! everything that it declines. The evaluator never decides how a run fails: the interpreter
//! evaluates a failing part again and reports the failure. Only interrupts and memory limits end a
//! run there.
//!
//! A run that counts, or that stops at the first NaN, offloads nothing, because both concern the
//! operations of this interpreter.

use lang_runtime::offload::{OffloadEvaluator, OffloadOutcome, OffloadRequest, RunContext};
use std::cell::RefCell;

use super::Interp;
use lang_base::Code as ErrorCode;
use lang_runtime::Value;
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::progress::WorkKind;

impl<'a> Interp<'a> {
    /// Registers an evaluator that the interpreter asks first for every derivative.
    pub fn offload_derivatives(&mut self, elsewhere: &'a dyn OffloadEvaluator) {
        self.offload_evaluator = Some(elsewhere);
    }

    /// Registers an evaluator that the interpreter asks first for every derivative, and for every
    /// loop and call that may be long.
    pub fn offload_expressions(&mut self, elsewhere: &'a dyn OffloadEvaluator) {
        self.offload_evaluator = Some(elsewhere);
        self.offload_policy.is_enabled = true;
    }

    /// Returns the value of a request, or `None` if the interpreter must evaluate it.
    #[inline(never)]
    pub(super) fn try_offload(
        &mut self,
        at: FailureSite<'_>,
        request: &OffloadRequest<'_>,
    ) -> InterpResult<Option<Value>> {
        Ok(match self.request_offload(at, request)? {
            OffloadOutcome::Value(value) => Some(value),
            _ => None,
        })
    }

    pub(super) fn request_offload(
        &mut self,
        at: FailureSite<'_>,
        request: &OffloadRequest<'_>,
    ) -> InterpResult<OffloadOutcome> {
        let Some(elsewhere) = self.offload_evaluator.filter(|_| !self.is_counting && !self.traps_nan) else {
            return Ok(OffloadOutcome::Declined);
        };
        self.begin_work();
        let pace = self.track_work(WorkKind::Statements(request.operator()), -1);
        let Self { progress_tracker: works, host, memory, interrupt, .. } = self;
        let reporter = RefCell::new((works, host));
        let operator = request.operator();
        let done = |done| {
            let (works, host) = &mut *reporter.borrow_mut();
            works.record_offloaded(&pace, &mut ***host, operator, done);
        };
        let taken = elsewhere.evaluate(request, &RunContext { memory, interrupt, report_progress: &done });
        self.end_work();
        match taken {
            OffloadOutcome::Interrupted => Err(at.fail(ErrorCode::E0507, "interrupted")),
            OffloadOutcome::TooLarge(why) => Err(at.allocation_failure(&why)),
            taken => Ok(taken),
        }
    }
}
