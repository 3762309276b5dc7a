//! **Executables.** An executable is a function prepared to run. It contains the steps with
//! compiled kernels, the last use of each tensor, and the statements that are parts of one call.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::RunEnvironment;
use super::memory_plan::MemoryPlan;
use super::native::{KernelBackend, PreparedKernel};
use lang_base::check_cancelled;
use lang_ir::core::FunctionKey;
use lang_ir::ssa::{
    Rhs, RuntimeCheck, SsaFunction, Statement, StmtId, for_each_poly_read, for_each_pred_read, index_number,
};
use lang_nest::{self, LoopForm, Prepared, Schedule};
use lang_opt::{InlineCallees, PassSelection, multiversion};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// A function with one executable for each of its cases. The first use of a case prepares it.
pub(super) struct MultiversionedFunction {
    ssa: Arc<SsaFunction>,
    /// The predicates over sizes that distinguish the cases.
    case_predicates: Vec<Pred>,
    cases: RefCell<Vec<CompiledCase>>,
    /// The callees that the preparation of the cases consulted.
    pub(super) consulted: Consulted,
}

/// The callees that the preparation of an executable consulted, each with its form at that time, or
/// `None` if it had no form.
pub(super) struct Consulted {
    pub(super) callees: RefCell<HashMap<Arc<FunctionKey>, Option<Arc<SsaFunction>>>>,
    /// The latest run in which they were current.
    pub(super) run: Cell<u64>,
}

impl Consulted {
    pub(super) fn new(run: u64) -> Self {
        Self { callees: RefCell::default(), run: Cell::new(run) }
    }

    /// Returns whether all callees still have the same forms in this run, which compares them once.
    pub(super) fn is_current(&self, run: u64, world: &dyn RunEnvironment) -> bool {
        if self.run.get() == run {
            return true;
        }
        let same = |(callee, then): (&Arc<FunctionKey>, &Option<Arc<SsaFunction>>)| match (then, world.ssa(callee)) {
            (Some(then), Some(now)) => Arc::ptr_eq(then, &now) || **then == *now,
            (then, now) => then.is_none() && now.is_none(),
        };
        let current = self.callees.borrow().iter().all(same);
        if current {
            self.run.set(run);
        }
        current
    }
}

/// A case: the truth of each distinguishing predicate, and the executable. If a size is unknown,
/// there are no truths, and the executable serves all sizes.
type CompiledCase = (Option<Vec<bool>>, Arc<Executable>);

impl MultiversionedFunction {
    pub(super) fn new(ssa: Arc<SsaFunction>, run: u64) -> Self {
        let case_predicates = multiversion::size_predicates(&ssa);
        Self { case_predicates, ssa, cases: RefCell::default(), consulted: Consulted::new(run) }
    }

    /// Returns whether this is the same function.
    pub(super) fn is_of(&self, ssa: &Arc<SsaFunction>) -> bool {
        Arc::ptr_eq(&self.ssa, ssa) || *self.ssa == **ssa
    }

    /// Returns the value of one size of the function from the list of all its sizes.
    pub(super) fn size_value(&self, size: LocalId, sizes: &[i64]) -> Option<i64> {
        let at = self.ssa.sizes.iter().position(|l| *l == size)?;
        sizes.get(at).copied()
    }

    /// Returns the executable for these sizes. `ready` prepares it if needed.
    pub(super) fn executable_for(
        &self,
        size: &dyn Fn(LocalId) -> Option<i64>,
        ready: &dyn Fn(Arc<SsaFunction>) -> Arc<Executable>,
    ) -> Arc<Executable> {
        let truth_values: Option<Vec<bool>> =
            self.case_predicates.iter().map(|p| multiversion::evaluate_size_predicate(p, size)).collect();
        if let Some((_, known)) = self.cases.borrow().iter().find(|(of, _)| *of == truth_values) {
            return Arc::clone(known);
        }
        let ssa = match &truth_values {
            Some(values) if !values.is_empty() => {
                let assumptions: Vec<(Pred, bool)> =
                    self.case_predicates.iter().cloned().zip(values.iter().copied()).collect();
                Arc::new(multiversion::specialise(&self.ssa, &assumptions))
            }
            _ => Arc::clone(&self.ssa),
        };
        let executable = ready(ssa);
        self.cases.borrow_mut().push((truth_values, Arc::clone(&executable)));
        executable
    }

    /// Returns the executable, if it exists and serves all sizes.
    pub(super) fn single_executable(&self) -> Option<Arc<Executable>> {
        let cases = self.cases.borrow();
        cases.first().filter(|_| self.case_predicates.is_empty()).map(|(_, program)| Arc::clone(program))
    }
}

/// A function prepared to run.
pub(super) struct Executable {
    pub(super) ssa: Arc<SsaFunction>,
    /// The original function, kept alive because its address may be a cache key.
    _original: Arc<SsaFunction>,
    /// The steps, in order.
    pub(super) steps: Vec<ExecutionStep>,
    /// For each statement, the variables whose last use it is.
    pub(super) last_uses: Vec<Vec<StmtId>>,
    /// The statements of the results of each call and loop.
    pub(super) results: BTreeMap<StmtId, Vec<StmtId>>,
    /// For each check, the indices that it does not mention.
    pub(super) unused_indices: Vec<Vec<usize>>,
    /// The latest memory plan without the inputs, and the integers that it depends on.
    pub(super) cached_plan: Mutex<Option<CachedPlan>>,
}

/// A memory plan, and the values of the integers that it depends on.
type CachedPlan = (Vec<(LocalId, i64)>, MemoryPlan);

/// A step of an executable.
pub(super) enum ExecutionStep {
    /// A statement that the engine runs.
    Statement(StmtId),
    /// A kernel.
    Kernel(PreparedKernel),
    /// Checks of existing values, and the variables whose last use they are.
    Checks(Vec<u32>, Vec<StmtId>),
}

impl Executable {
    /// Prepares a function, and compiles its kernels if there is a backend. If a kernel has no
    /// code, schedules the function again with fewer forms of loops.
    pub(super) fn new(
        ssa: Arc<SsaFunction>,
        backend: Option<&dyn KernelBackend>,
        passes: &PassSelection,
        callees: InlineCallees<'_>,
    ) -> Self {
        let of = Arc::clone(&ssa);
        let (ssa, mut steps) = match backend {
            None => {
                let steps = (0..).zip(&ssa.stmts).map(|(k, _)| ExecutionStep::Statement(StmtId(k))).collect();
                (ssa, steps)
            }
            Some(backend) => {
                let mut most = LoopForm::Kernels;
                loop {
                    let (prepared, all, are) = lang_nest::schedule_with_fallback(&ssa, passes, callees, most);
                    let compiled_steps = compile_steps(&prepared, all, backend);
                    let is_run =
                        |step: &ExecutionStep| matches!(step, ExecutionStep::Kernel(ready) if ready.code.is_none());
                    most = match are {
                        LoopForm::Kernels if compiled_steps.iter().any(is_run) => LoopForm::Flattened,
                        LoopForm::Flattened if compiled_steps.iter().any(is_run) => LoopForm::Steps,
                        _ => break (prepared.ssa, compiled_steps),
                    };
                }
            }
        };
        let dead = last_uses(&ssa, &mut steps);
        let idle = ssa.checks.iter().map(unused_indices).collect();
        Self {
            results: ssa.results_by_producer(),
            ssa,
            _original: of,
            steps,
            last_uses: dead,
            unused_indices: idle,
            cached_plan: Mutex::default(),
        }
    }
}

/// Returns the indices that a check does not mention.
fn unused_indices(check: &RuntimeCheck) -> Vec<usize> {
    let mentioned = RefCell::new(HashSet::new());
    let see = |p: &Poly| {
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) = a {
                mentioned.borrow_mut().extend(index_number(*l));
            }
        });
        p.clone()
    };
    drop((check.guard.map(&see), check.cond.map(&see)));
    let mentioned = mentioned.into_inner();
    (0..check.dims.len()).filter(|k| !mentioned.contains(k)).collect()
}

/// Calls `f` with every variable that a statement reads, in its extents and checks too.
fn for_each_read_of(ssa: &SsaFunction, stmt: &Statement, f: &mut dyn FnMut(StmtId)) {
    stmt.rhs.for_each_operand(f);
    stmt.dims.iter().for_each(|n| for_each_poly_read(n, f));
    let checks = stmt.needs.iter().filter_map(|c| ssa.checks.get(*c as usize));
    checks.for_each(|check| for_each_read_of_check(check, f));
}

/// Calls `f` with every variable that a check reads.
fn for_each_read_of_check(check: &RuntimeCheck, f: &mut dyn FnMut(StmtId)) {
    check.dims.iter().for_each(|n| for_each_poly_read(n, f));
    for_each_pred_read(&check.guard, f);
    for_each_pred_read(&check.cond, f);
}

/// Builds the steps, and compiles the kernels. Inputs come first, because they exist from the
/// beginning.
fn compile_steps(prepared: &Prepared, all: Schedule, backend: &dyn KernelBackend) -> Vec<ExecutionStep> {
    let ssa = &prepared.ssa;
    let inputs = (0..).zip(&ssa.stmts).filter(|(_, s)| matches!(s.rhs, Rhs::Input(_)));
    let mut steps: Vec<ExecutionStep> = inputs.map(|(k, _)| ExecutionStep::Statement(StmtId(k))).collect();
    for step in all.steps {
        check_cancelled();
        steps.push(match step {
            lang_nest::Step::Statement(var) => ExecutionStep::Statement(var),
            lang_nest::Step::Kernel(kernel, needs) => {
                let code = backend.compile(ssa, &kernel);
                ExecutionStep::Kernel(PreparedKernel::new(kernel, needs, code))
            }
            lang_nest::Step::Checks(checks) => ExecutionStep::Checks(checks, Vec::new()),
        });
    }
    steps
}

/// Returns for each statement the variables that die there. Stores those of kernels and checks in
/// their steps.
fn last_uses(ssa: &SsaFunction, steps: &mut [ExecutionStep]) -> Vec<Vec<StmtId>> {
    let mut kept: Vec<bool> = vec![false; ssa.stmts.len()];
    {
        let mut keep = |v: StmtId| kept.get_mut(v.0 as usize).into_iter().for_each(|slot| *slot = true);
        ssa.outputs.iter().for_each(|(_, v)| keep(*v));
        let checks = ssa.needs.iter().filter_map(|c| ssa.checks.get(*c as usize));
        checks.for_each(|check| for_each_read_of_check(check, &mut keep));
    }
    let mut dead: Vec<Vec<StmtId>> = vec![Vec::new(); ssa.stmts.len()];
    for step in steps.iter_mut().rev() {
        let mut here = Vec::new();
        let mut see = |v: StmtId| {
            if let Some(slot) = kept.get_mut(v.0 as usize)
                && !std::mem::replace(slot, true)
            {
                here.push(v);
            }
        };
        // A variable without readers dies where it is defined.
        match step {
            ExecutionStep::Statement(var) => {
                let k = var.0 as usize;
                let Some(stmt) = ssa.stmts.get(k) else { continue };
                for_each_read_of(ssa, stmt, &mut see);
                see(*var);
                dead.get_mut(k).into_iter().for_each(|slot| *slot = std::mem::take(&mut here));
            }
            ExecutionStep::Kernel(ready) => {
                ready.kernel.storage.iter().for_each(|p| see(p.var));
                for var in &ready.kernel.assigned {
                    if let Some(stmt) = ssa.stmts.get(var.0 as usize) {
                        for_each_read_of(ssa, stmt, &mut see);
                    }
                    see(*var);
                }
                let checks = ready.checks.iter().filter_map(|c| ssa.checks.get(*c as usize));
                checks.for_each(|check| for_each_read_of_check(check, &mut see));
                ready.last_uses = here;
            }
            ExecutionStep::Checks(checks, dead) => {
                let checks = checks.iter().filter_map(|c| ssa.checks.get(*c as usize));
                checks.for_each(|check| for_each_read_of_check(check, &mut see));
                *dead = here;
            }
        }
    }
    dead
}
