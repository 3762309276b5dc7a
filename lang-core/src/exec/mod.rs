//! Tensor SSA, run: statement by statement on flat buffers. Of each statement index expressions and predicates are
//! brought to numbers once ([`number`]), loops over what the predicates leave are made of them ([`nest`]), and the
//! innermost loop is one over elements side by side ([`rows`]). Values are those of `ir/eval_ssa/`, bit for bit:
//! the terms of a sum are added in the same order. What counts is that evaluator's matter; this one is fast.
//!
//! A check is asked where the first statement needs it, a call runs the callee's function, a tensor goes when nothing
//! reads it any more. Whatever a program does, a run gives tensors or says why not: it can be interrupted, keeps to
//! the limits of memory, and fails where a check does.

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

use crate::base::GlobalName;
use crate::interp::memory::{Limits, Memory, TooLarge};
use crate::interp::{Around, Done, Value};
use crate::ir::core::{Callee, Failing, Leaf};
use crate::ir::flat::Source;
use crate::ir::ssa::{Rhs, Ssa, Var};
use crate::predicate::LocalId;
use native::Backend;
pub use plan::Plan;
use program::{Function, Program, Step};
pub(crate) use scalars::{Known as KnownScalars, Scalars};
pub use tensor::Tensor;

/// What a run needs beside its arguments.
pub trait World {
    /// A callee in Tensor SSA.
    fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>>;
    /// An integer that is bound by a top-level `let`.
    fn integer(&self, name: &GlobalName) -> Option<i64>;
    /// A part of the value of a top-level `let`, of these extents.
    fn part(&self, name: &GlobalName, leaf: &Leaf, dims: &[usize]) -> Option<Tensor>;
}

/// Why there is no value.
#[derive(Debug)]
pub enum Stopped {
    /// A check does not hold.
    Failed(Arc<Failing>),
    /// Someone asked for the run to end.
    Interrupted,
    /// There is no room.
    TooLarge(TooLarge),
    /// A top-level `let` has no value yet.
    Unset,
    /// An integer is beyond what the function is understood for ([`Ssa::bounded`]).
    Beyond,
    /// What no pass makes.
    Broken(&'static str),
}

/// Functions whose plans are made within one another.
const DEEPEST: usize = 64;

/// Integers that stand in indices are below this in absolute value.
const BOUND: u64 = 1 << 47;

/// Functions that were made ready to run.
#[derive(Default)]
pub struct Programs {
    /// Makes code of their kernels; without it every statement is run here.
    backend: Option<Arc<dyn Backend>>,
    functions: RefCell<HashMap<Arc<Callee>, Rc<Function>>>,
    /// Bodies of loops, by where they are; each holds its own.
    regions: RefCell<HashMap<usize, Arc<Program>>>,
    /// What the host measures time by, and how long it took to make things.
    clock: Option<fn() -> Duration>,
    making: Cell<Duration>,
}

impl Programs {
    /// Those whose kernels a backend makes code of.
    #[must_use]
    pub fn with(backend: Arc<dyn Backend>) -> Self {
        Self { backend: Some(backend), ..Self::default() }
    }

    fn ready(&self, ssa: Arc<Ssa>, world: &dyn World) -> Arc<Program> {
        self.timed(|| Arc::new(Program::new(ssa, self.backend.as_deref(), &|callee| world.ssa(callee))))
    }

    /// The same, which measure by this clock how long it takes to make them.
    #[must_use]
    pub fn by_clock(self, clock: fn() -> Duration) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// How long it took to make functions and their code, if there is a clock.
    #[must_use]
    pub fn making(&self) -> Duration {
        self.making.get()
    }

    /// Makes something, and adds how long that took.
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

    /// A function that was run, as one of so many numbers, if it is one.
    pub(crate) fn scalars(&self, callee: &Arc<Callee>, arguments: usize) -> Option<Scalars> {
        self.functions.borrow().get(callee)?.only()?.scalars(arguments)
    }

    fn region(&self, body: &Arc<Ssa>, world: &dyn World) -> Arc<Program> {
        let mut regions = self.regions.borrow_mut();
        let program = regions.entry(Arc::as_ptr(body).addr());
        Arc::clone(program.or_insert_with(|| self.ready(Arc::clone(body), world)))
    }
}

/// Runs functions.
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
    /// One that is a part of this run.
    #[must_use]
    pub fn new(world: &'a dyn World, programs: &'a Programs, around: &'a Around<'a>) -> Self {
        Self { world, programs, around, depth: Cell::new(0) }
    }

    /// Calls a function with the parts of its arguments, those of top-level `let`s left out.
    ///
    /// # Errors
    /// What fails in it.
    pub fn call(&self, ssa: &Arc<Ssa>, sizes: &[i64], parts: Vec<Tensor>) -> Result<Vec<Tensor>, Stopped> {
        let function = self.programs.get(&ssa.callee, || Some(Arc::clone(ssa)))?;
        self.run(&self.at(&function, sizes), sizes, parts)
    }

    fn function(&self, callee: &Arc<Callee>) -> Result<Rc<Function>, Stopped> {
        self.programs.get(callee, || self.world.ssa(callee))
    }

    /// Has a function loops or calls, where these integers are known, that are no part of its kernels?
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

    /// Has someone asked for the run to end?
    pub(super) fn poll(&self) -> Result<(), Stopped> {
        if self.machine.around.interrupt.load(Ordering::Relaxed) { Err(Stopped::Interrupted) } else { Ok(()) }
    }
}

/// Runs a function by itself, within limits of its own.
///
/// # Errors
/// What fails in it.
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
