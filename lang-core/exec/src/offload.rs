//! **Offloading.** Runs derivatives, and expressions that may be long, in compiled form on behalf
//! of the interpreter.
//!
//! The interpreter calls [`OffloadEvaluator::evaluate`] with a derivative or an expression that it
//! has reached. This module turns it into a function of its sizes and data
//! ([`lang_ir::runtime_request`]), lowers that once through the pipeline, and runs it in
//! `lang_exec`. A function serves all sizes and data. The interpreter evaluates everything without
//! such a form, and evaluates again everything that fails, because it alone reports failures.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::reflect::{self, BodyQueries, ReflectError, ReflectedRequest};
use crate::{ExecutableCache, Machine, RunEnvironment, RunError, ScalarFunctionCache, Tensor, marshal};
use lang_base::GlobalName;
use lang_ir::core::{FunctionKey, NoCoreForm, NoCoreFormReason, TypeLeaf};
use lang_ir::flat::InputSource;
use lang_ir::runtime_request::{ItemBody, RequestSite, RuntimeRequest};
use lang_ir::ssa::SsaFunction;
use lang_middle::pipeline::CalleeForms;
use lang_resolve::forms::DerivativeOp;
use lang_runtime::memory::AllocationError;
use lang_runtime::{OffloadEvaluator, OffloadOutcome, OffloadRequest, RunContext, Value};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_types::tree::{TypedBody, TypedId};
use lang_types::ty::Type;

/// The largest number of functions compiled in one run, because a program can create a new function
/// from each result of the last.
const MAX_FUNCTIONS: usize = 256;

/// A lookup of the values of top-level `let`s.
pub type GlobalLookup<'g> = &'g dyn Fn(&GlobalName) -> Option<Value>;

/// A callback that reports a construct left to the interpreter. The second argument is the
/// operator, if it is a derivative.
pub type UnsupportedReport<'g> = &'g dyn Fn(&NoCoreForm, Option<DerivativeOp>);

/// Memoised facts about expressions of bodies.
type ExpressionMemo<T> = RefCell<HashMap<(ItemBody, TypedId), Arc<[T]>>>;

/// An evaluator of parts of one run, with its caches.
pub struct CompiledEvaluator<'g> {
    callees: &'g dyn CalleeForms,
    globals: GlobalLookup<'g>,
    report: UnsupportedReport<'g>,
    lowered: RefCell<HashMap<RuntimeRequest, Option<Arc<SsaFunction>>>>,
    programs: &'g ExecutableCache,
    /// The preparation time of `programs` before this run.
    earlier_preparation: Duration,
    scalar_cache: ScalarFunctionCache,
    free_locals: ExpressionMemo<LocalId>,
    mentioned_globals: ExpressionMemo<(GlobalName, Type)>,
    counts: Cell<OffloadCounts>,
}

/// Counts of the requests by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OffloadCounts {
    /// Functions that were lowered.
    pub lowered: u64,
    /// Requests that were evaluated.
    pub evaluated: u64,
    /// Those of `evaluated` that called the cached code of a function of scalars.
    pub fast_path: u64,
    /// Requests left to the interpreter because they have no compiled form.
    pub unsupported: u64,
    /// Requests left to the interpreter because they hold dual numbers.
    pub dual: u64,
    /// Requests left to the interpreter because a check failed or a `let` had no value.
    pub failed: u64,
    /// Requests left to the interpreter because an integer in an index, or the memory needed,
    /// exceeded its limit.
    pub over_limit: u64,
    /// Requests that hit a defect of a pass or of the engine.
    pub defects: u64,
}

impl OffloadCounts {
    /// Returns the sums of the counts of two runs.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            lowered: self.lowered.saturating_add(other.lowered),
            evaluated: self.evaluated.saturating_add(other.evaluated),
            fast_path: self.fast_path.saturating_add(other.fast_path),
            unsupported: self.unsupported.saturating_add(other.unsupported),
            dual: self.dual.saturating_add(other.dual),
            failed: self.failed.saturating_add(other.failed),
            over_limit: self.over_limit.saturating_add(other.over_limit),
            defects: self.defects.saturating_add(other.defects),
        }
    }
}

impl<'g> CompiledEvaluator<'g> {
    /// Creates an evaluator of one run for these definitions, and begins the run in `programs`. The
    /// evaluator reports every construct that it leaves to the interpreter to `outside`, each time,
    /// with the operator if it is a derivative.
    #[must_use]
    pub fn new(
        callees: &'g dyn CalleeForms,
        globals: GlobalLookup<'g>,
        programs: &'g ExecutableCache,
        outside: UnsupportedReport<'g>,
    ) -> Self {
        programs.begin_run();
        Self {
            earlier_preparation: programs.preparation_time(),
            callees,
            globals,
            report: outside,
            lowered: RefCell::default(),
            programs,
            scalar_cache: ScalarFunctionCache::default(),
            free_locals: RefCell::default(),
            mentioned_globals: RefCell::default(),
            counts: Cell::default(),
        }
    }

    /// Returns the counts of all requests so far.
    #[must_use]
    pub fn counts(&self) -> OffloadCounts {
        self.counts.get()
    }

    /// Returns the time spent on lowering and code generation in this run. It is zero if `programs`
    /// has no clock.
    #[must_use]
    pub fn preparation_time(&self) -> Duration {
        self.programs.preparation_time().saturating_sub(self.earlier_preparation)
    }

    fn count(&self, one: impl FnOnce(&mut OffloadCounts)) {
        let mut tally = self.counts.get();
        one(&mut tally);
        self.counts.set(tally);
    }

    fn report_unsupported(&self, request: &OffloadRequest<'_>, what: NoCoreFormReason) {
        let (code, node) = match request {
            OffloadRequest::Operator(derived, _) => (derived.site().code(), derived.site().node()),
            OffloadRequest::Deriv { code, node, .. } | OffloadRequest::Expression { code, node, .. } => {
                (&***code, *node)
            }
        };
        let span = code.body().nodes[node].span;
        (self.report)(&NoCoreForm { reason: what, item: code.item().clone(), span }, request.operator());
    }

    /// Returns the function of an applied operator or expression, lowered at most once. Returns
    /// `None` if it has no form or the run has too many functions.
    fn function(&self, applied: &RuntimeRequest, operator: Option<DerivativeOp>) -> Option<Arc<SsaFunction>> {
        if let Some(known) = self.lowered.borrow().get(applied) {
            return known.clone();
        }
        if self.lowered.borrow().len() >= MAX_FUNCTIONS {
            return None;
        }
        let callee = Arc::new(FunctionKey::for_runtime_request(applied.clone()));
        let lowered = match self.programs.timed(|| self.callees.stages(&callee)) {
            Ok(stages) => {
                self.count(|t| t.lowered += 1);
                Some(Arc::clone(&stages.ssa))
            }
            Err(why) => {
                (self.report)(&why, operator);
                None
            }
        };
        self.lowered.borrow_mut().insert(applied.clone(), lowered.clone());
        lowered
    }

    fn run(
        &self,
        read: &ReflectedRequest,
        request: &OffloadRequest<'_>,
        around: &RunContext<'_>,
    ) -> Result<Option<Value>, RunError> {
        let Some(ssa) = self.function(&read.applied, request.operator()) else {
            self.count(|t| t.unsupported += 1);
            return Ok(None);
        };
        let locals = locals(&ssa, read);
        let extent = |p: &Poly| self.extent(&locals, p);
        let mut parts = Vec::new();
        for input in ssa.inputs.iter().filter(|i| i.source.is_passed()) {
            let InputSource::Param(k) = &input.source else { return Err(RunError::Internal("an input")) };
            let value = read.data.get(*k as usize).ok_or(RunError::Internal("an input"))?;
            let dims = input.leaf.dims.iter().map(&extent).collect::<Option<Vec<usize>>>();
            let part = dims.and_then(|dims| marshal::extract_part(value, &input.leaf, &dims));
            parts.push(part.ok_or(RunError::Internal("a part of an argument"))?);
        }
        let machine = Machine::new(self, self.programs, around);
        if matches!(request, OffloadRequest::Expression { has_short_steps: true, .. })
            && machine.has_loop_or_call_steps(&ssa, &locals)?
        {
            return Ok(None);
        }
        let parts = machine.call(&ssa, &read.sizes, parts)?;
        // The next application of this operator to scalars can then call the code at once.
        if let OffloadRequest::Operator(derived, arguments) = request
            && read.has_only(arguments)
            && let Some(routine) = self.programs.scalar_function(&ssa.callee, arguments.len())
        {
            self.scalar_cache.set(derived, routine);
        }
        marshal::assemble_value(&ssa.result, result_type(&read.applied), &parts, &extent, around).map(Some)
    }

    fn extent(&self, locals: &HashMap<LocalId, i64>, p: &Poly) -> Option<usize> {
        let value = p.eval(&mut |a| match a {
            Atom::Local(l, _) => locals.get(l).copied(),
            Atom::Global(name) => self.global_integer(name),
            _ => None,
        });
        usize::try_from(value?.max(0)).ok()
    }
}

/// Returns the values of the sizes and integer parameters of a function.
fn locals(ssa: &SsaFunction, read: &ReflectedRequest) -> HashMap<LocalId, i64> {
    let sizes = ssa.sizes.iter().copied().zip(read.sizes.iter().copied());
    let integers = ssa.params.iter().zip(&read.data).filter_map(|((local, _), value)| Some((*local, value.as_i64()?)));
    sizes.chain(integers).collect()
}

/// Returns the type of the result in the program.
fn result_type(applied: &RuntimeRequest) -> Option<&Type> {
    match &applied.site {
        RequestSite::Operator(operator, _) => match &operator.scope.item_body.body.nodes[operator.node].ty {
            Type::Fun(ty) => Some(&ty.result),
            _ => None,
        },
        RequestSite::Variable { scope, node, .. } | RequestSite::Expression { scope, node } => {
            Some(&scope.item_body.body.nodes[*node].ty)
        }
    }
}

impl OffloadEvaluator for CompiledEvaluator<'_> {
    fn evaluate(&self, request: &OffloadRequest<'_>, around: &RunContext<'_>) -> OffloadOutcome {
        if let OffloadRequest::Operator(derived, arguments) = request
            && let Some(known) = self.scalar_cache.get(derived)
            && let Some(value) = known.call(arguments, around.interrupt)
        {
            self.count(|t| {
                t.evaluated += 1;
                t.fast_path += 1;
            });
            return value.map_or(OffloadOutcome::Interrupted, OffloadOutcome::Value);
        }
        let read = match reflect::reflect(request, self) {
            Ok(read) => read,
            Err(ReflectError::HoldsDual) => {
                self.count(|t| t.dual += 1);
                return OffloadOutcome::Declined;
            }
            Err(ReflectError::Unsupported(what)) => {
                self.count(|t| t.unsupported += 1);
                self.report_unsupported(request, what);
                return OffloadOutcome::Unsupported;
            }
        };
        match self.run(&read, request, around) {
            Ok(Some(value)) => {
                self.count(|t| t.evaluated += 1);
                return OffloadOutcome::Value(value);
            }
            Ok(None) => return OffloadOutcome::Unsupported,
            Err(RunError::Interrupted) => return OffloadOutcome::Interrupted,
            // The interpreter evaluates it again and reports the place and the reason.
            Err(RunError::CheckFailed(_) | RunError::UnsetGlobal) => self.count(|t| t.failed += 1),
            Err(RunError::TooLarge(why @ (AllocationError::Planned(..) | AllocationError::Elements(_)))) => {
                return OffloadOutcome::TooLarge(why);
            }
            Err(RunError::TooLarge(_)) => {
                self.count(|t| t.over_limit += 1);
                self.report_unsupported(request, NoCoreFormReason::Memory);
            }
            Err(RunError::IndexTooLarge) => self.count(|t| t.over_limit += 1),
            Err(RunError::Internal(_)) => self.count(|t| t.defects += 1),
        }
        OffloadOutcome::Declined
    }
}

/// Returns a cache key for a body, which does not depend on the item.
fn body_key(body: &Arc<TypedBody>) -> ItemBody {
    ItemBody { item: GlobalName::new("", ""), body: Arc::clone(body) }
}

impl BodyQueries for CompiledEvaluator<'_> {
    fn free_locals(&self, body: &Arc<TypedBody>, of: TypedId) -> Arc<[LocalId]> {
        let mut known = self.free_locals.borrow_mut();
        Arc::clone(known.entry((body_key(body), of)).or_insert_with(|| lang_types::free::free(body, of).into()))
    }

    fn mentioned_globals(&self, body: &Arc<TypedBody>, of: TypedId) -> Arc<[(GlobalName, Type)]> {
        let mut known = self.mentioned_globals.borrow_mut();
        Arc::clone(known.entry((body_key(body), of)).or_insert_with(|| lang_types::free::mentioned(body, of).into()))
    }

    fn global_value(&self, name: &GlobalName) -> Option<Value> {
        (self.globals)(name)
    }
}

impl RunEnvironment for CompiledEvaluator<'_> {
    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        self.callees.ssa(callee)
    }

    fn global_integer(&self, name: &GlobalName) -> Option<i64> {
        (self.globals)(name)?.as_i64()
    }

    fn global_part(&self, name: &GlobalName, leaf: &TypeLeaf, dims: &[usize]) -> Option<Tensor> {
        marshal::extract_part(&(self.globals)(name)?, leaf, dims)
    }
}
