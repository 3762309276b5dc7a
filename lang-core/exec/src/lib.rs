//! **Execution engine for Tensor SSA** on flat buffers.
//!
//! It runs the steps of a function: kernels that a backend compiled ([`native`]), and single
//! statements. For a statement, index expressions and predicates are evaluated for the sizes once
//! ([`number`]). Loops over the tuples that satisfy the predicates are built from them ([`nest`]).
//! The innermost loop processes contiguous elements ([`rows`]).
//!
//! Without a backend, values are bit-identical to those of the evaluator `ir/eval_ssa/`, because
//! the terms of a sum are added in the same order. That evaluator counts operations; this engine is
//! fast.
//!
//! A check runs before the first statement that needs it, a call runs the callee's function, and a
//! tensor is freed after its last use. Every run returns tensors or the reason for their absence:
//! it can be interrupted, respects the limits of memory, and fails if a check fails.

#![forbid(unsafe_code)]

mod apply;
pub mod border;
mod call;
mod chunks;
mod exists;
pub mod given;
mod kept;
mod loops;
pub mod native;
mod nest;
mod number;
pub mod offload;
mod order;
mod plan;
mod program;
mod reduce;
mod rows;
mod scalars;
mod single;
mod statement;
mod tensor;
mod update;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lang_base::GlobalName;
use lang_ir::core::{Callee, Failing, Leaf};
use lang_ir::flat::Source;
use lang_ir::ssa::{Rhs, Ssa, Var};
use lang_runtime::memory::{Limits, Memory, TooLarge};
use lang_runtime::{Around, Done, Value};
use lang_sizes::predicate::LocalId;
use native::Backend;
pub use plan::Plan;
use program::{Function, Program, Step};
pub(crate) use scalars::{Known as KnownScalars, Scalars};
pub use tensor::Tensor;

/// The environment of a run, beside its arguments.
pub trait World {
    /// Returns a callee in Tensor SSA.
    fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>>;
    /// Returns an integer that a top-level `let` binds.
    fn integer(&self, name: &GlobalName) -> Option<i64>;
    /// Returns a part of the value of a top-level `let`, with these extents.
    fn part(&self, name: &GlobalName, leaf: &Leaf, dims: &[usize]) -> Option<Tensor>;
}

/// The reason why a run has no value.
#[derive(Debug)]
pub enum Stopped {
    /// A check failed.
    Failed(Arc<Failing>),
    /// An interrupt was requested.
    Interrupted,
    /// The memory limit was exceeded.
    TooLarge(TooLarge),
    /// A top-level `let` has no value yet.
    Unset,
    /// An integer exceeds the bound that the function assumes ([`Ssa::bounded`]).
    Beyond,
    /// An internal error: a form that no pass produces.
    Broken(&'static str),
}

/// Functions whose plans are made within one another.
const DEEPEST: usize = 64;

/// Integers that stand in indices are below this in absolute value.
const BOUND: u64 = 1 << 47;

/// The cache of functions that are ready to run.
#[derive(Default)]
pub struct Programs {
    /// The backend that compiles kernels; without it the engine runs every statement.
    backend: Option<Arc<dyn Backend>>,
    functions: RefCell<HashMap<Arc<Callee>, Rc<Function>>>,
    /// Loop bodies, by their address; each entry owns its body.
    regions: RefCell<HashMap<usize, Arc<Program>>>,
    /// The host's clock. The next field is the total preparation time.
    clock: Option<fn() -> Duration>,
    making: Cell<Duration>,
}

impl Programs {
    /// Creates a cache whose kernels a backend compiles.
    #[must_use]
    pub fn with(backend: Arc<dyn Backend>) -> Self {
        Self { backend: Some(backend), ..Self::default() }
    }

    fn ready(&self, ssa: Arc<Ssa>, world: &dyn World) -> Arc<Program> {
        self.timed(|| Arc::new(Program::new(ssa, self.backend.as_deref(), &|callee| world.ssa(callee))))
    }

    /// Sets the clock that measures the preparation time.
    #[must_use]
    pub fn by_clock(self, clock: fn() -> Duration) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Returns the time spent on the preparation and compilation of functions, if there is a clock;
    /// else zero.
    #[must_use]
    pub fn making(&self) -> Duration {
        self.making.get()
    }

    /// Calls `make` and adds its time to the preparation time.
    pub(crate) fn timed<T>(&self, make: impl FnOnce() -> T) -> T {
        let now = || self.clock.map(|clock| clock()).unwrap_or_default();
        let begun = now();
        let made = make();
        self.making.set(self.making.get().saturating_add(now().saturating_sub(begun)));
        made
    }

    fn get(&self, callee: &Arc<Callee>, ssa: impl FnOnce() -> Option<Arc<Ssa>>) -> Result<Rc<Function>, Stopped> {
        if let Some(known) = self.functions.borrow().get(callee) {
            return Ok(Rc::clone(known));
        }
        let function = Rc::new(Function::new(ssa().ok_or(Stopped::Broken("a function"))?));
        self.functions.borrow_mut().insert(Arc::clone(callee), Rc::clone(&function));
        Ok(function)
    }

    /// What runs a function at these sizes.
    fn at(&self, function: &Function, world: &dyn World, size: &dyn Fn(LocalId) -> Option<i64>) -> Arc<Program> {
        function.case(size, &|ssa| self.ready(ssa, world))
    }

    /// Returns a function that has run as a function of this many scalars, if it is one.
    pub(crate) fn scalars(&self, callee: &Arc<Callee>, arguments: usize) -> Option<Scalars> {
        self.functions.borrow().get(callee)?.only()?.scalars(arguments)
    }

    fn region(&self, body: &Arc<Ssa>, world: &dyn World) -> Arc<Program> {
        let mut regions = self.regions.borrow_mut();
        let program = regions.entry(Arc::as_ptr(body).addr());
        Arc::clone(program.or_insert_with(|| self.ready(Arc::clone(body), world)))
    }
}

/// The entry point that runs functions.
pub struct Machine<'a> {
    world: &'a dyn World,
    programs: &'a Programs,
    around: &'a Around<'a>,
    /// How many functions run inside one another.
    depth: Cell<usize>,
}

/// A function that runs.
struct Run<'a> {
    machine: &'a Machine<'a>,
    world: &'a dyn World,
    memory: &'a Memory,
    program: &'a Program,
    locals: HashMap<LocalId, i64>,
    values: Vec<Option<Tensor>>,
    checked: Vec<bool>,
    /// What calls gave, by the first statement of each.
    calls: HashMap<u32, Arc<[Tensor]>>,
    loops: Vec<loops::Ran>,
}

impl<'a> Machine<'a> {
    /// Creates a machine within the surroundings of an interpreter's run.
    #[must_use]
    pub fn new(world: &'a dyn World, programs: &'a Programs, around: &'a Around<'a>) -> Self {
        Self { world, programs, around, depth: Cell::new(0) }
    }

    /// Calls a function with the parts of its arguments, without those of top-level `let`s.
    ///
    /// # Errors
    /// The reason why the run has no value.
    pub fn call(&self, ssa: &Arc<Ssa>, sizes: &[i64], parts: Vec<Tensor>) -> Result<Vec<Tensor>, Stopped> {
        let function = self.programs.get(&ssa.callee, || Some(Arc::clone(ssa)))?;
        self.run(&self.at(&function, sizes), sizes, parts)
    }

    fn function(&self, callee: &Arc<Callee>) -> Result<Rc<Function>, Stopped> {
        self.programs.get(callee, || self.world.ssa(callee))
    }

    /// Returns whether a function contains loops or calls outside its kernels, for the case that
    /// these integers select.
    pub(crate) fn has_steps(&self, ssa: &Arc<Ssa>, known: &HashMap<LocalId, i64>) -> Result<bool, Stopped> {
        let function = self.programs.get(&ssa.callee, || Some(Arc::clone(ssa)))?;
        let program = self.programs.at(&function, self.world, &|l| known.get(&l).copied());
        let is_step = |step: &Step| {
            let Step::Statement(var) = step else { return false };
            let rhs = program.ssa.stmts.get(var.0 as usize).map(|stmt| &stmt.rhs);
            matches!(rhs, Some(Rhs::Loop(..) | Rhs::Call { .. }))
        };
        Ok(program.steps.iter().any(is_step))
    }

    /// What runs a function at these sizes, which are in the order of its own.
    fn at(&self, function: &Function, sizes: &[i64]) -> Arc<Program> {
        self.programs.at(function, self.world, &|l| function.size(l, sizes))
    }

    /// A run that has nothing yet.
    fn start<'r>(&'r self, program: &'r Program, sizes: &[i64]) -> Run<'r> {
        let ssa = &program.ssa;
        Run {
            machine: self,
            world: self.world,
            memory: self.around.memory,
            program,
            locals: ssa.sizes.iter().copied().zip(sizes.iter().copied()).collect(),
            values: vec![None; ssa.stmts.len()],
            checked: vec![false; ssa.checks.len()],
            calls: HashMap::new(),
            loops: Vec::new(),
        }
    }

    fn run(&self, program: &Program, sizes: &[i64], parts: Vec<Tensor>) -> Result<Vec<Tensor>, Stopped> {
        let mut run = self.start(program, sizes);
        let inputs = run.inputs(parts)?;
        if self.depth.get() == 0 {
            run.fits()?;
        }
        let depth = self.depth.replace(self.depth.get() + 1);
        let outputs = run.statements(inputs, depth == 0);
        self.depth.set(depth);
        outputs
    }
}

impl Run<'_> {
    /// Runs the statements; the parts of the result.
    fn statements(&mut self, inputs: Vec<Tensor>, outermost: bool) -> Result<Vec<Tensor>, Stopped> {
        let program = self.program;
        let ssa = &program.ssa;
        let mut inputs: Vec<Option<Tensor>> = inputs.into_iter().map(Some).collect();
        for (nth, step) in program.steps.iter().enumerate() {
            let dead = match step {
                Step::Statement(var) => {
                    let stmt = ssa.stmts.get(var.0 as usize).ok_or(Stopped::Broken("a statement"))?;
                    let value = match &stmt.rhs {
                        Rhs::Input(k) => {
                            inputs.get_mut(*k as usize).and_then(Option::take).ok_or(Stopped::Broken("an input"))?
                        }
                        _ => self.statement(var.0, stmt)?,
                    };
                    if let Some(slot) = self.values.get_mut(var.0 as usize) {
                        *slot = Some(value);
                    }
                    program.dead.get(var.0 as usize)
                }
                Step::Kernel(ready) => {
                    self.kernel(ready)?;
                    Some(&ready.dead)
                }
                Step::Checks(checks, dead) => {
                    checks.iter().try_for_each(|c| self.check(*c))?;
                    Some(dead)
                }
            };
            for dead in dead.into_iter().flatten() {
                self.values.get_mut(dead.0 as usize).into_iter().for_each(|slot| *slot = None);
            }
            if outermost {
                (self.machine.around.done)(Done::Statements(nth + 1, program.steps.len()));
            }
        }
        ssa.needs.iter().try_for_each(|c| self.check(*c))?;
        let output = |v: Var| self.tensor(v).cloned().ok_or(Stopped::Broken("a statement"));
        ssa.outputs.iter().map(|(_, v)| output(*v)).collect()
    }

    /// The inputs in order: what is passed, and what everyone can see.
    fn inputs(&mut self, parts: Vec<Tensor>) -> Result<Vec<Tensor>, Stopped> {
        let program = self.program;
        let mut parts = parts.into_iter();
        let mut inputs = Vec::new();
        let mut seen = Vec::new();
        for (k, input) in program.ssa.inputs.iter().enumerate() {
            let tensor = match &input.source {
                Source::Global(name) => {
                    seen.push((k, name, input));
                    None
                }
                Source::Param(_) | Source::Tangent(_) | Source::Cotangent(_) => {
                    Some(parts.next().ok_or(Stopped::Broken("an input"))?)
                }
            };
            // An integer parameter may be a size.
            if let Some(Value::I64(i)) = tensor.as_ref().filter(|t| t.dims.is_empty()).and_then(|t| t.element(0)) {
                if program.ssa.bounded.contains(&input.local) && i.unsigned_abs() >= BOUND {
                    return Err(Stopped::Beyond);
                }
                self.locals.insert(input.local, i);
            }
            inputs.push(tensor);
        }
        // Their extents may be made of integers that are passed.
        for (k, name, input) in seen {
            let dims = self.dims(&input.leaf.dims)?;
            let part = self.world.part(name, &input.leaf, &dims).ok_or(Stopped::Unset)?;
            inputs.get_mut(k).into_iter().for_each(|slot| *slot = Some(part.clone()));
        }
        inputs.into_iter().collect::<Option<Vec<Tensor>>>().ok_or(Stopped::Broken("an input"))
    }

    fn tensor(&self, var: Var) -> Option<&Tensor> {
        self.values.get(var.0 as usize)?.as_ref()
    }

    fn local(&self, x: LocalId) -> Option<i64> {
        self.locals.get(&x).copied()
    }

    /// Returns an error if an interrupt was requested.
    fn poll(&self) -> Result<(), Stopped> {
        if self.machine.around.interrupt.load(Ordering::Relaxed) { Err(Stopped::Interrupted) } else { Ok(()) }
    }
}

/// Runs a function by itself, within its own limits.
///
/// # Errors
/// The reason why the run has no value.
pub fn run(
    world: &dyn World,
    programs: &Programs,
    ssa: &Arc<Ssa>,
    sizes: &[i64],
    parts: Vec<Tensor>,
    limits: Limits,
    interrupt: &AtomicBool,
) -> Result<Vec<Tensor>, Stopped> {
    let memory = Memory::new(limits);
    let around = Around { memory: &memory, interrupt, done: &|_| {} };
    Machine::new(world, programs, &around).call(ssa, sizes, parts)
}
