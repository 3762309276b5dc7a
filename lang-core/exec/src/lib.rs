//! **Execution engine for Tensor SSA** on flat buffers.
//!
//! The engine runs the steps of a function: kernels that a backend compiled ([`native`]), and
//! single statements. For a statement, it evaluates index expressions and predicates once for the
//! sizes of the run ([`affine`]). It builds loops over the tuples that satisfy the predicates
//! ([`nest`]). The innermost loop processes contiguous elements ([`rows`]).
//!
//! Without a backend, values are bit-identical to those of the evaluator `lang_eval::eval_ssa`,
//! because both add the terms of a sum in the same order. That evaluator counts operations; this
//! engine is fast.
//!
//! A check runs before the first statement that needs it. A call runs the callee's function. A
//! tensor dies after its last use. A run returns tensors or the reason for their absence: it polls
//! for interrupts, respects the memory limits, and stops at a failing check.

#![forbid(unsafe_code)]

mod affine;
mod apply;
mod call;
mod chunks;
mod executable;
mod exists;
mod loops;
pub mod marshal;
mod memory_plan;
pub mod native;
mod nest;
pub mod offload;
mod reduce;
pub mod reflect;
mod rows;
mod scalar_fast_path;
mod scalar_statement;
mod sort;
mod statement;
mod tape;
mod tensor;
mod update;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use executable::{Consulted, Executable, ExecutionStep, MultiversionedFunction};
use lang_base::GlobalName;
use lang_ir::core::{CheckFailure, FunctionKey, TypeLeaf};
use lang_ir::flat::InputSource;
use lang_ir::ssa::{Rhs, SsaFunction, StmtId};
use lang_opt::PassSelection;
use lang_runtime::memory::{AllocationError, MemoryAccount, RunLimits};
use lang_runtime::{OffloadProgress, RunContext, Value};
use lang_sizes::predicate::LocalId;
pub use memory_plan::MemoryPlan;
use native::KernelBackend;
pub(crate) use scalar_fast_path::{ScalarFunctionCache, ScalarRoutine};
pub use tensor::Tensor;

/// The environment of a run, beside its arguments.
pub trait RunEnvironment {
    /// Returns a callee in Tensor SSA.
    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>>;
    /// Returns an integer that a top-level `let` binds.
    fn global_integer(&self, name: &GlobalName) -> Option<i64>;
    /// Returns a part of the value of a top-level `let`, with these extents.
    fn global_part(&self, name: &GlobalName, leaf: &TypeLeaf, dims: &[usize]) -> Option<Tensor>;
}

/// The reason why a run has no value.
#[derive(Debug)]
pub enum RunError {
    /// A check failed.
    CheckFailed(Arc<CheckFailure>),
    /// An interrupt was requested.
    Interrupted,
    /// The memory limit was exceeded.
    TooLarge(AllocationError),
    /// A top-level `let` has no value yet.
    UnsetGlobal,
    /// An integer exceeds the bound that the function assumes ([`SsaFunction::bounded`]).
    IndexTooLarge,
    /// An internal error: a form that no pass produces.
    Internal(&'static str),
}

/// The maximum depth of nested memory plans. A call below that depth makes the plan incomplete.
const MAX_PLAN_DEPTH: usize = 64;

/// The exclusive bound on the absolute value of an integer parameter that indices mention.
const INDEX_BOUND: u64 = 1 << 47;

/// The maximal number of functions and loop bodies that a cache keeps from one run to the next.
const MAX_KEPT_EXECUTABLES: usize = 1024;

/// The cache of functions that are ready to run. It serves all runs of a session, so that a second
/// run compiles nothing. Each run verifies an entry at its first use: the entry is outdated if the
/// function, or one that its preparation consulted, has changed.
#[derive(Default)]
pub struct ExecutableCache {
    /// The backend that compiles kernels; without it the engine runs every statement.
    backend: Option<Arc<dyn KernelBackend>>,
    functions: RefCell<HashMap<Arc<FunctionKey>, Rc<MultiversionedFunction>>>,
    /// Loop bodies, by address. Each entry keeps its body alive, so that the address stays unique.
    loop_bodies: RefCell<HashMap<usize, CachedBody>>,
    /// The passes that functions go through before they are scheduled.
    passes: PassSelection,
    /// The number of the current run.
    run: Cell<u64>,
    /// The host's clock, which measures the preparation time.
    clock: Option<fn() -> Duration>,
    /// The total time spent on the preparation of functions.
    preparation_time: Cell<Duration>,
}

impl fmt::Debug for ExecutableCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (functions, bodies) = (self.functions.borrow().len(), self.loop_bodies.borrow().len());
        f.debug_struct("ExecutableCache")
            .field("functions", &functions)
            .field("loop_bodies", &bodies)
            .finish_non_exhaustive()
    }
}

impl ExecutableCache {
    /// Creates a cache whose kernels a backend compiles.
    #[must_use]
    pub fn with_backend(backend: Arc<dyn KernelBackend>) -> Self {
        Self { backend: Some(backend), ..Self::default() }
    }

    /// Selects the passes that functions go through before they are scheduled.
    #[must_use]
    pub fn with_passes(self, passes: PassSelection) -> Self {
        Self { passes, ..self }
    }

    /// Begins a run, in which definitions do not change. Drops the entries of earlier runs if there
    /// are more than 1,024.
    pub fn begin_run(&self) {
        self.run.set(self.run.get().wrapping_add(1));
        if self.functions.borrow().len() + self.loop_bodies.borrow().len() > MAX_KEPT_EXECUTABLES {
            self.functions.borrow_mut().clear();
            self.loop_bodies.borrow_mut().clear();
        }
    }

    /// Prepares a function, and records the callees that the preparation consults.
    fn prepare(&self, ssa: Arc<SsaFunction>, world: &dyn RunEnvironment, consulted: &Consulted) -> Arc<Executable> {
        let callees = |callee: &Arc<FunctionKey>| {
            let ssa = world.ssa(callee);
            consulted.callees.borrow_mut().insert(Arc::clone(callee), ssa.clone());
            ssa
        };
        self.timed(|| Arc::new(Executable::new(ssa, self.backend.as_deref(), &self.passes, &callees)))
    }

    /// Sets the clock that measures the preparation time.
    #[must_use]
    pub fn with_clock(self, clock: fn() -> Duration) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Returns the time spent on the preparation and compilation of functions, if there is a clock;
    /// else zero.
    #[must_use]
    pub fn preparation_time(&self) -> Duration {
        self.preparation_time.get()
    }

    /// Calls `make` and adds its time to the preparation time.
    pub(crate) fn timed<T>(&self, make: impl FnOnce() -> T) -> T {
        let now = || self.clock.map(|clock| clock()).unwrap_or_default();
        let begun = now();
        let result = make();
        self.preparation_time.set(self.preparation_time.get().saturating_add(now().saturating_sub(begun)));
        result
    }

    fn get(
        &self,
        callee: &Arc<FunctionKey>,
        world: &dyn RunEnvironment,
        ssa: impl FnOnce() -> Option<Arc<SsaFunction>>,
    ) -> Result<Rc<MultiversionedFunction>, RunError> {
        let run = self.run.get();
        let known = self.functions.borrow().get(callee).cloned();
        if let Some(function) = known.as_ref().filter(|function| function.consulted.run.get() == run) {
            return Ok(Rc::clone(function));
        }
        let ssa = ssa().ok_or(RunError::Internal("a function"))?;
        let known = known.filter(|function| function.is_of(&ssa) && function.consulted.is_current(run, world));
        let function = known.unwrap_or_else(|| Rc::new(MultiversionedFunction::new(ssa, run)));
        self.functions.borrow_mut().insert(Arc::clone(callee), Rc::clone(&function));
        Ok(function)
    }

    /// Returns the executable of a function for these sizes.
    fn executable_for(
        &self,
        function: &MultiversionedFunction,
        world: &dyn RunEnvironment,
        size: &dyn Fn(LocalId) -> Option<i64>,
    ) -> Arc<Executable> {
        function.executable_for(size, &|ssa| self.prepare(ssa, world, &function.consulted))
    }

    /// Returns the fast path of a function that has run, if it is a function of this many scalars.
    pub(crate) fn scalar_function(&self, callee: &Arc<FunctionKey>, arguments: usize) -> Option<ScalarRoutine> {
        self.functions.borrow().get(callee)?.single_executable()?.scalar_function(arguments)
    }

    fn loop_body(&self, body: &Arc<SsaFunction>, world: &dyn RunEnvironment) -> Arc<Executable> {
        let address = Arc::as_ptr(body).addr();
        if let Some(known) = self.loop_bodies.borrow().get(&address)
            && known.consulted.is_current(self.run.get(), world)
        {
            return Arc::clone(&known.executable);
        }
        let consulted = Consulted::new(self.run.get());
        let executable = self.prepare(Arc::clone(body), world, &consulted);
        let entry = CachedBody { executable: Arc::clone(&executable), consulted };
        self.loop_bodies.borrow_mut().insert(address, entry);
        executable
    }
}

/// A cached body of a loop.
struct CachedBody {
    executable: Arc<Executable>,
    consulted: Consulted,
}

/// The entry point that runs functions.
pub struct Machine<'a> {
    world: &'a dyn RunEnvironment,
    executables: &'a ExecutableCache,
    context: &'a RunContext<'a>,
    /// The depth of nested calls.
    depth: Cell<usize>,
}

/// The state of one run of a function.
struct RunState<'a> {
    machine: &'a Machine<'a>,
    world: &'a dyn RunEnvironment,
    memory: &'a MemoryAccount,
    program: &'a Executable,
    locals: HashMap<LocalId, i64>,
    values: Vec<Option<Tensor>>,
    done_checks: Vec<bool>,
    /// The results of calls and loops that later statements name.
    call_results: HashMap<StmtId, call::CallResults>,
    loop_results: HashMap<StmtId, loops::LoopResults>,
}

impl<'a> Machine<'a> {
    /// Creates a machine in the context of an interpreter's run.
    #[must_use]
    pub fn new(world: &'a dyn RunEnvironment, programs: &'a ExecutableCache, around: &'a RunContext<'a>) -> Self {
        Self { world, executables: programs, context: around, depth: Cell::new(0) }
    }

    /// Calls a function with the parts of its arguments. The parts of top-level `let`s come from
    /// the [`RunEnvironment`].
    ///
    /// # Errors
    /// The reason why the run has no value.
    pub fn call(&self, ssa: &Arc<SsaFunction>, sizes: &[i64], parts: Vec<Tensor>) -> Result<Vec<Tensor>, RunError> {
        let function = self.executables.get(&ssa.callee, self.world, || Some(Arc::clone(ssa)))?;
        self.run(&self.executable_for(&function, sizes), sizes, parts)
    }

    fn function(&self, callee: &Arc<FunctionKey>) -> Result<Rc<MultiversionedFunction>, RunError> {
        self.executables.get(callee, self.world, || self.world.ssa(callee))
    }

    /// Returns whether a function contains loops or calls outside its kernels, for the case that
    /// these integers select.
    pub(crate) fn has_loop_or_call_steps(
        &self,
        ssa: &Arc<SsaFunction>,
        known: &HashMap<LocalId, i64>,
    ) -> Result<bool, RunError> {
        let function = self.executables.get(&ssa.callee, self.world, || Some(Arc::clone(ssa)))?;
        let program = self.executables.executable_for(&function, self.world, &|l| known.get(&l).copied());
        let is_step = |step: &ExecutionStep| {
            let ExecutionStep::Statement(var) = step else { return false };
            let rhs = program.ssa.stmts.get(var.0 as usize).map(|stmt| &stmt.rhs);
            rhs.is_some_and(Rhs::is_producer)
        };
        Ok(program.steps.iter().any(is_step))
    }

    /// Returns the executable of a function for these sizes, in the order of the function's sizes.
    fn executable_for(&self, function: &MultiversionedFunction, sizes: &[i64]) -> Arc<Executable> {
        self.executables.executable_for(function, self.world, &|l| function.size_value(l, sizes))
    }

    /// Creates a run without values.
    fn new_run<'r>(&'r self, program: &'r Executable, sizes: &[i64]) -> RunState<'r> {
        let ssa = &program.ssa;
        RunState {
            machine: self,
            world: self.world,
            memory: self.context.memory,
            program,
            locals: ssa.sizes.iter().copied().zip(sizes.iter().copied()).collect(),
            values: vec![None; ssa.stmts.len()],
            done_checks: vec![false; ssa.checks.len()],
            call_results: HashMap::new(),
            loop_results: HashMap::new(),
        }
    }

    fn run(&self, program: &Executable, sizes: &[i64], parts: Vec<Tensor>) -> Result<Vec<Tensor>, RunError> {
        let mut run = self.new_run(program, sizes);
        let inputs = run.bind_inputs(parts)?;
        if self.depth.get() == 0 {
            run.check_memory_limit()?;
        }
        let depth = self.depth.replace(self.depth.get() + 1);
        let outputs = run.run_steps(inputs, depth == 0);
        self.depth.set(depth);
        outputs
    }
}

impl RunState<'_> {
    /// Runs the steps, and returns the parts of the result.
    fn run_steps(&mut self, inputs: Vec<Tensor>, outermost: bool) -> Result<Vec<Tensor>, RunError> {
        let program = self.program;
        let ssa = &program.ssa;
        let mut inputs: Vec<Option<Tensor>> = inputs.into_iter().map(Some).collect();
        for (nth, step) in program.steps.iter().enumerate() {
            let dead = match step {
                ExecutionStep::Statement(var) => {
                    let stmt = ssa.stmts.get(var.0 as usize).ok_or(RunError::Internal("a statement"))?;
                    let value = match &stmt.rhs {
                        Rhs::Input(k) => inputs.get_mut(*k as usize).and_then(Option::take),
                        rhs if rhs.is_producer() => {
                            self.run_producer(*var, stmt)?;
                            None
                        }
                        _ => Some(self.statement(var.0, stmt)?),
                    };
                    self.values.get_mut(var.0 as usize).into_iter().for_each(|slot| slot.clone_from(&value));
                    program.last_uses.get(var.0 as usize)
                }
                ExecutionStep::Kernel(ready) => {
                    self.run_kernel(ready)?;
                    Some(&ready.last_uses)
                }
                ExecutionStep::Checks(checks, dead) => {
                    checks.iter().try_for_each(|c| self.check(*c))?;
                    Some(dead)
                }
            };
            for dead in dead.into_iter().flatten() {
                self.values.get_mut(dead.0 as usize).into_iter().for_each(|slot| *slot = None);
            }
            if outermost {
                (self.machine.context.report_progress)(OffloadProgress::Statements(nth + 1, program.steps.len()));
            }
        }
        ssa.needs.iter().try_for_each(|c| self.check(*c))?;
        let output = |v: StmtId| self.tensor(v).cloned().ok_or(RunError::Internal("a statement"));
        ssa.outputs.iter().map(|(_, v)| output(*v)).collect()
    }

    /// Returns the inputs in order: the arguments, and the parts of top-level `let`s.
    fn bind_inputs(&mut self, parts: Vec<Tensor>) -> Result<Vec<Tensor>, RunError> {
        let program = self.program;
        let mut parts = parts.into_iter();
        let mut inputs = Vec::new();
        let mut seen = Vec::new();
        for (k, input) in program.ssa.inputs.iter().enumerate() {
            let tensor = match &input.source {
                InputSource::Global(name) => {
                    seen.push((k, name, input));
                    None
                }
                InputSource::Param(_) | InputSource::Tangent(_) | InputSource::Cotangent(_) => {
                    Some(parts.next().ok_or(RunError::Internal("an input"))?)
                }
            };
            // An integer parameter may be a size.
            if let Some(Value::I64(i)) = tensor.as_ref().filter(|t| t.dims.is_empty()).and_then(|t| t.element(0)) {
                if program.ssa.bounded.contains(&input.local) && i.unsigned_abs() >= INDEX_BOUND {
                    return Err(RunError::IndexTooLarge);
                }
                self.locals.insert(input.local, i);
            }
            inputs.push(tensor);
        }
        // Their extents may depend on integer parameters, so they come second.
        for (k, name, input) in seen {
            let dims = self.dims(&input.leaf.dims)?;
            let part = self.world.global_part(name, &input.leaf, &dims).ok_or(RunError::UnsetGlobal)?;
            inputs.get_mut(k).into_iter().for_each(|slot| *slot = Some(part.clone()));
        }
        inputs.into_iter().collect::<Option<Vec<Tensor>>>().ok_or(RunError::Internal("an input"))
    }

    fn tensor(&self, var: StmtId) -> Option<&Tensor> {
        self.values.get(var.0 as usize)?.as_ref()
    }

    fn local(&self, x: LocalId) -> Option<i64> {
        self.locals.get(&x).copied()
    }

    /// Returns an error if an interrupt was requested.
    fn poll(&self) -> Result<(), RunError> {
        if self.machine.context.interrupt.load(Ordering::Relaxed) { Err(RunError::Interrupted) } else { Ok(()) }
    }
}

/// Runs a function outside an interpreter's run, within limits of its own.
///
/// # Errors
/// The reason why the run has no value.
pub fn run(
    world: &dyn RunEnvironment,
    programs: &ExecutableCache,
    ssa: &Arc<SsaFunction>,
    sizes: &[i64],
    parts: Vec<Tensor>,
    limits: RunLimits,
    interrupt: &AtomicBool,
) -> Result<Vec<Tensor>, RunError> {
    let memory = MemoryAccount::new(limits);
    let around = RunContext { memory: &memory, interrupt, report_progress: &|_| {} };
    Machine::new(world, programs, &around).call(ssa, sizes, parts)
}
