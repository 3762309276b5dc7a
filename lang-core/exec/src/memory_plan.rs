//! **Memory plan.** Computes from sizes alone how many bytes the tensors of a run occupy at each
//! step.
//!
//! The results, temporaries and private copies of a kernel exist while it runs. A tensor dies after
//! its last use. So the peak is known before the run begins, except for arrays with data-dependent
//! extents.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use super::affine::IndexTranslator;
use super::chunks::concurrent_chunks;
use super::executable::{Executable, ExecutionStep};
use super::native::PreparedKernel;
use super::reduce::ReductionState;
use super::sort::sorting_bytes;
use super::{Machine, RunError, RunState};
use lang_base::ensure_sufficient_stack;
use lang_ir::core::{Constant, FunctionKey};
use lang_ir::region::{LoopArg, LoopResult, SsaLoop};
use lang_ir::ssa::{Rhs, SsaFunction, Statement, StmtId, TensorAccess, statement_index};
use lang_nest::parallelise::PrivateCopy;
use lang_nest::{KernelStorage, StorageRole};
use lang_sizes::predicate::{LocalId, Poly};
use lang_syntax::ops::Scalar;

/// The memory of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MemoryPlan {
    /// The peak number of bytes of all tensors, inputs included.
    pub peak: u64,
    /// The number of elements of the largest array.
    pub largest: u64,
    /// Whether the plan is complete. Arrays with data-dependent extents are not counted.
    pub is_complete: bool,
}

/// A memo of the plans of callees and loop bodies, by executable, sizes and inputs.
type PlanMemo = RefCell<HashMap<(usize, Vec<i64>, Vec<PlannedInput>), MemoryPlan>>;

/// The properties of an input that a plan depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PlannedInput {
    /// The bytes that become free after the last use; `None` if the extents depend on data.
    bytes: Option<u64>,
    /// The value, if it is a known integer.
    integer: Option<i64>,
}

impl PlannedInput {
    const VIEW: Self = Self { bytes: Some(0), integer: None };
}

/// A dry run: it follows the steps of a run, and counts bytes instead of computing.
struct DryRun<'a> {
    run: RunState<'a>,
    memo: &'a PlanMemo,
    /// The bytes that each live variable holds.
    live_bytes: Vec<u64>,
    /// The sum of all bytes held.
    total_live: u64,
    plan: MemoryPlan,
}

impl Machine<'_> {
    /// Plans a call of a function for known sizes and integers. The caller keeps the arguments
    /// alive.
    ///
    /// # Errors
    /// The function cannot be prepared.
    pub fn plan_call(&self, ssa: &Arc<SsaFunction>, known: &HashMap<LocalId, i64>) -> Result<MemoryPlan, RunError> {
        let function = self.executables.get(&ssa.callee, self.world, || Some(Arc::clone(ssa)))?;
        let program = self.executables.executable_for(&function, self.world, &|l| known.get(&l).copied());
        let mut run = self.new_run(&program, &[]);
        run.locals.clone_from(known);
        let mut input_bytes = 0_u64;
        let inputs = program.ssa.inputs.iter().map(|input| {
            let count = run.dims(&input.leaf.dims).map(|dims| element_count(&dims)).ok();
            input_bytes =
                input_bytes.saturating_add(count.unwrap_or_default().saturating_mul(bytes_of(input.leaf.scalar)));
            PlannedInput { bytes: count.map(|_| 0), integer: None }
        });
        let inputs: Vec<PlannedInput> = inputs.collect();
        let plan = DryRun::new(run, &PlanMemo::default()).plan_run(&inputs);
        Ok(MemoryPlan { peak: plan.peak.saturating_add(input_bytes), ..plan })
    }
}

impl RunState<'_> {
    /// Returns an error if the run, beside its inputs, would exceed the memory limit.
    pub(super) fn check_memory_limit(&self) -> Result<(), RunError> {
        let mut key: Vec<(LocalId, i64)> = self.locals.iter().map(|(l, n)| (*l, *n)).collect();
        key.sort_unstable();
        let mut known = self.program.cached_plan.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = match &*known {
            Some((of, plan)) if *of == key => *plan,
            _ => {
                let mut run = self.machine.new_run(self.program, &[]);
                run.locals.clone_from(&self.locals);
                let inputs = vec![PlannedInput::VIEW; self.program.ssa.inputs.len()];
                let plan = DryRun::new(run, &PlanMemo::default()).plan_run(&inputs);
                *known = Some((key, plan));
                plan
            }
        };
        // Reports an array above the limit on elements as such, not as a peak.
        let largest = usize::try_from(plan.largest).unwrap_or(usize::MAX);
        self.memory.element_count([largest]).map_err(RunError::TooLarge)?;
        self.memory.check_fits(plan.peak).map_err(RunError::TooLarge)
    }
}

/// Returns the bytes of an element. Relations count as 0.
fn bytes_of(scalar: Option<Scalar>) -> u64 {
    scalar.map_or(0, |scalar| scalar.bytes().into())
}

fn element_count(dims: &[usize]) -> u64 {
    dims.iter().fold(1, |all, n| all.saturating_mul(u64::try_from(*n).unwrap_or(u64::MAX)))
}

impl<'a> DryRun<'a> {
    fn new(run: RunState<'a>, known: &'a PlanMemo) -> Self {
        let held = vec![0; run.program.ssa.stmts.len()];
        Self {
            run,
            memo: known,
            live_bytes: held,
            total_live: 0,
            plan: MemoryPlan { peak: 0, largest: 0, is_complete: true },
        }
    }

    /// Plans the run for these inputs.
    fn plan_run(mut self, inputs: &[PlannedInput]) -> MemoryPlan {
        let program = self.run.program;
        for (input, planned) in program.ssa.inputs.iter().zip(inputs) {
            if let Some(i) = planned.integer {
                self.run.locals.insert(input.local, i);
            }
        }
        for step in &program.steps {
            let dead = match step {
                ExecutionStep::Statement(var) => {
                    if let Some(stmt) = program.ssa.stmts.get(var.0 as usize) {
                        self.plan_statement(*var, stmt, inputs);
                    }
                    program.last_uses.get(var.0 as usize)
                }
                ExecutionStep::Kernel(ready) => {
                    self.plan_kernel(ready);
                    Some(&ready.last_uses)
                }
                ExecutionStep::Checks(_, dead) => Some(dead),
            };
            dead.into_iter().flatten().for_each(|v| self.end_life(*v));
        }
        self.plan
    }

    /// Ends the life of a variable.
    fn end_life(&mut self, var: StmtId) {
        let bytes = self.live_bytes.get_mut(var.0 as usize).map(std::mem::take).unwrap_or_default();
        self.total_live = self.total_live.saturating_sub(bytes);
    }

    /// Raises the peak to the live bytes and these temporary ones.
    fn raise_peak(&mut self, bytes: u64) {
        self.plan.peak = self.plan.peak.max(self.total_live.saturating_add(bytes));
    }

    /// Begins the life of a variable that holds these bytes.
    fn begin_life(&mut self, var: StmtId, bytes: u64) {
        self.raise_peak(bytes);
        self.total_live = self.total_live.saturating_add(bytes);
        self.live_bytes.get_mut(var.0 as usize).into_iter().for_each(|slot| *slot = bytes);
    }

    /// Returns the value. If data determine it, returns a default, and marks the plan as
    /// incomplete.
    fn known_or_incomplete<T: Default>(&mut self, found: Result<T, RunError>) -> T {
        found.unwrap_or_else(|_| {
            self.plan.is_complete = false;
            T::default()
        })
    }

    fn tensor_bytes(&mut self, dims: &[Poly], scalar: Option<Scalar>) -> u64 {
        let count = self.run.dims(dims).map(|dims| element_count(&dims));
        let count = self.known_or_incomplete(count);
        self.plan.largest = self.plan.largest.max(count);
        count.saturating_mul(bytes_of(scalar))
    }

    fn plan_statement(&mut self, var: StmtId, stmt: &Statement, inputs: &[PlannedInput]) {
        let program = self.run.program;
        let dead = program.last_uses.get(var.0 as usize).map(Vec::as_slice).unwrap_or_default();
        match &stmt.rhs {
            Rhs::Input(k) => {
                let bytes = inputs.get(*k as usize).and_then(|input| input.bytes);
                self.plan.is_complete &= bytes.is_some();
                return self.begin_life(var, bytes.unwrap_or_default());
            }
            Rhs::Call { callee, sizes, args, .. } => {
                let results = self.results_bytes(var, &|_| true);
                let inner = self.call_peak(callee, sizes, args, stmt);
                return self.raise_peak(if stmt.dims.is_empty() {
                    results.max(inner)
                } else {
                    results.saturating_add(inner)
                });
            }
            Rhs::Loop(of) => {
                // The plan of an iteration counts the carried values.
                let is_kept = |rhs: &Rhs| {
                    matches!(rhs, Rhs::LoopResult(_, LoopResult::PerIteration(_) | LoopResult::Checkpoint(_)))
                };
                let results = self.results_bytes(var, &is_kept);
                let inner = self.loop_peak(of, dead);
                return self.raise_peak(results.saturating_add(inner));
            }
            Rhs::Update { base, batch: 0, .. } if base.at.is_empty() && dead.contains(&base.var) => {
                self.end_life(base.var)
            }
            Rhs::Contract { bound, pred, neg: false, factors } if bound.is_empty() && pred.is_true() => {
                if let [of] = factors.as_slice()
                    && self.is_view(stmt, of)
                {
                    // A view takes over the bytes of its base, if the base dies here.
                    let bytes = self.live_bytes.get(of.var.0 as usize).copied().unwrap_or_default();
                    let own = if dead.contains(&of.var) { bytes } else { 0 };
                    self.total_live = self.total_live.saturating_sub(own);
                    self.live_bytes.get_mut(of.var.0 as usize).into_iter().for_each(|slot| *slot -= own);
                    return self.begin_life(var, own);
                }
            }
            Rhs::Argsort(of) => {
                let result_bytes = self.tensor_bytes(&stmt.dims, stmt.scalar);
                let scalar = program.ssa.stmts.get(of.keys.var.0 as usize).and_then(|keys| keys.scalar);
                let is_there = of.pred.is_true() && self.is_view(stmt, &of.keys);
                let keys = if is_there { 0 } else { self.tensor_bytes(&stmt.dims, scalar) };
                let row =
                    stmt.dims.last().map_or(1, |n| self.tensor_bytes(std::slice::from_ref(n), Some(Scalar::Bool)));
                self.raise_peak(result_bytes.saturating_add(keys).saturating_add(sorting_bytes(row)));
            }
            Rhs::Reduce(_) => {
                let result_bytes = self.tensor_bytes(&stmt.dims, stmt.scalar);
                let count = self.tensor_bytes(&stmt.dims, Some(Scalar::Bool));
                let found = count.saturating_mul(u64::try_from(size_of::<ReductionState>()).unwrap_or(u64::MAX));
                self.raise_peak(result_bytes.saturating_add(found));
            }
            _ => {}
        }
        let bytes = self.tensor_bytes(&stmt.dims, stmt.scalar);
        self.begin_life(var, bytes);
    }

    /// Returns whether an access reads its base whole and in order, so that its value is a view.
    fn is_view(&self, stmt: &Statement, of: &TensorAccess) -> bool {
        let base = self.run.program.ssa.stmts.get(of.var.0 as usize);
        let places = (0..).zip(&of.at).all(|(k, p)| *p == statement_index(k, &Poly::default()).value());
        places && base.is_some_and(|base| base.dims == stmt.dims)
    }

    /// The bytes of these results of a call or a loop.
    fn results_bytes(&mut self, producer: StmtId, counts: &dyn Fn(&Rhs) -> bool) -> u64 {
        let program = self.run.program;
        let results = program.results.get(&producer).into_iter().flatten();
        let results = results.filter_map(|v| program.ssa.stmts.get(v.0 as usize)).filter(|stmt| counts(&stmt.rhs));
        results.fold(0, |all: u64, stmt| all.saturating_add(self.tensor_bytes(&stmt.dims, stmt.scalar)))
    }

    fn call_peak(&mut self, callee: &Arc<FunctionKey>, sizes: &[Poly], args: &[TensorAccess], stmt: &Statement) -> u64 {
        let Ok(function) = self.run.machine.function(callee) else {
            return self.known_or_incomplete(Err(RunError::UnsetGlobal));
        };
        let extents = self.run.extents(&stmt.dims);
        let extents = self.known_or_incomplete(extents);
        let sizes = self.evaluate_sizes(sizes, &extents);
        let program = self.run.machine.executable_for(&function, &sizes);
        // Arguments are views.
        let mut inputs = vec![PlannedInput::VIEW; program.ssa.inputs.len()];
        let passed = program.ssa.inputs.iter().zip(&mut inputs).filter(|(input, _)| input.source.is_passed());
        passed.zip(args).for_each(|((_, planned), arg)| planned.integer = self.integer_argument(arg));
        self.nested_peak(&program, &sizes, &inputs)
    }

    /// Returns the value of an integer argument, if known sizes and integers determine it.
    fn integer_argument(&self, arg: &TensorAccess) -> Option<i64> {
        let ssa = &self.run.program.ssa;
        let stmt = ssa.stmts.get(arg.var.0 as usize)?;
        match &stmt.rhs {
            _ if stmt.scalar != Some(Scalar::I64) || !stmt.dims.is_empty() || !arg.at.is_empty() => None,
            Rhs::Input(k) => self.run.local(ssa.inputs.get(*k as usize)?.local),
            Rhs::Constant(Constant::Int(i)) => Some(*i),
            Rhs::Index(p) => IndexTranslator::new(&self.run, &[]).index_expr(p).ok()?.value(&[]).ok(),
            _ => None,
        }
    }

    fn evaluate_sizes(&mut self, sizes: &[Poly], extents: &[i64]) -> Vec<i64> {
        let first = vec![0; extents.len()];
        let value =
            |p: &Poly| IndexTranslator::new(&self.run, extents).index_expr(p)?.value(&first).map_err(RunError::from);
        let found = sizes.iter().map(value).collect::<Result<Vec<i64>, _>>();
        self.known_or_incomplete(found)
    }

    /// Returns the peak of a callee or a loop body.
    fn nested_peak(&mut self, program: &Arc<Executable>, sizes: &[i64], inputs: &[PlannedInput]) -> u64 {
        let deep = self.run.machine.depth.get();
        if sizes.len() != program.ssa.sizes.len() || deep > super::MAX_PLAN_DEPTH {
            self.plan.is_complete = false;
            return 0;
        }
        let key = (Arc::as_ptr(program).addr(), sizes.to_vec(), inputs.to_vec());
        let known = self.memo.borrow().get(&key).copied();
        let plan = known.unwrap_or_else(|| {
            self.run.machine.depth.set(deep + 1);
            let run = self.run.machine.new_run(program, sizes);
            let plan = ensure_sufficient_stack(|| DryRun::new(run, self.memo).plan_run(inputs));
            self.run.machine.depth.set(deep);
            self.memo.borrow_mut().insert(key, plan);
            plan
        });
        self.plan.is_complete &= plan.is_complete;
        self.plan.largest = self.plan.largest.max(plan.largest);
        plan.peak
    }

    /// Returns the peak of one iteration of a loop, beside the loop's results.
    fn loop_peak(&mut self, of: &SsaLoop, dead: &[StmtId]) -> u64 {
        let program = self.run.machine.executables.loop_body(&of.body, self.run.machine.world);
        let mut extents = self.run.extents(&of.batch).unwrap_or_default();
        extents.push(i64::MAX);
        let sizes = self.evaluate_sizes(&of.sizes, &extents);
        let run = self.run.machine.new_run(&program, &sizes);
        let mut inputs = Vec::new();
        for (arg, input) in of.args.iter().zip(&program.ssa.inputs) {
            let is_carried = matches!(arg, LoopArg::Carried { .. });
            // The loop takes over a carried argument that dies here.
            if is_carried && of.batch.is_empty() && dead.contains(&arg.access().var) {
                self.end_life(arg.access().var);
            }
            let count = run.dims(&input.leaf.dims).ok().map(|dims| element_count(&dims));
            let bytes = count.map(|n| n.saturating_mul(bytes_of(input.leaf.scalar)));
            inputs.push(if is_carried { PlannedInput { bytes, ..PlannedInput::VIEW } } else { PlannedInput::VIEW });
        }
        self.nested_peak(&program, &sizes, &inputs)
    }

    fn plan_kernel(&mut self, ready: &PreparedKernel) {
        let (program, kernel) = (self.run.program, &ready.kernel);
        let integers =
            kernel.entry_integers.iter().map(|a| self.run.integer(a)).collect::<Result<Vec<i64>, RunError>>();
        let integers = self.known_or_incomplete(integers);
        let is_made = |var: StmtId| kernel.storage.iter().any(|p| p.var == var && p.role == StorageRole::Output);
        let mut rooms: Vec<(StmtId, u64)> = Vec::new();
        if ready.code.is_some() {
            for (place, extents) in ready.allocations() {
                let dims = extents.iter().map(|n| self.run.extent(n, &integers)).collect::<Result<Vec<usize>, _>>();
                let count = self.known_or_incomplete(dims.map(|dims| element_count(&dims)));
                self.plan.largest = self.plan.largest.max(count);
                rooms.push((place.var, count.saturating_mul(bytes_of(Some(place.scalar)))));
            }
        } else {
            for var in &kernel.assigned {
                let Some(stmt) = program.ssa.stmts.get(var.0 as usize) else { continue };
                rooms.push((*var, self.tensor_bytes(&stmt.dims, stmt.scalar)));
            }
        }
        let copies = self.copy_bytes(ready, &integers, &mut rooms);
        let all = rooms.iter().fold(copies, |all, (_, bytes)| all.saturating_add(*bytes));
        self.raise_peak(all);
        for (var, bytes) in rooms {
            if is_made(var) {
                self.begin_life(var, bytes);
            }
        }
    }

    /// Returns the bytes of the private copies of chunks. Adds to `rooms` the memory that connects
    /// the parts of the kernel.
    fn copy_bytes(&mut self, ready: &PreparedKernel, integers: &[i64], rooms: &mut Vec<(StmtId, u64)>) -> u64 {
        let Ok(Some(parts)) = self.run.chunk_counts(ready, integers) else { return 0 };
        let threads = ready.code.as_ref().map_or(1, |code| code.threads());
        let mut most = 0;
        for (part, chunks) in parts {
            for place in part.kernel.storage.iter().filter(|p| p.role == StorageRole::Output) {
                if rooms.iter().all(|(var, _)| *var != place.var) {
                    rooms.push((place.var, self.place_size(place).1));
                }
            }
            let own = part.chunked.iter().flat_map(|c| &c.private_copies).filter(|_| chunks > 1);
            let own = own.filter_map(|(var, how)| Some((part.kernel.storage.iter().find(|p| p.var == *var)?, *how)));
            let own: Vec<(PrivateCopy, (u64, u64))> = own.map(|(place, how)| (how, self.place_size(place))).collect();
            let copied = own.iter().filter(|(how, _)| *how != PrivateCopy::PerThread).map(|(_, (count, _))| *count);
            let copied = usize::try_from(copied.fold(0_u64, u64::saturating_add)).unwrap_or(usize::MAX);
            let at_once = concurrent_chunks(copied, chunks, threads);
            let own = own.iter().fold(0_u64, |all, (how, (_, bytes))| {
                let count = if *how == PrivateCopy::PerThread { threads } else { at_once };
                all.saturating_add(bytes.saturating_mul(u64::try_from(count).unwrap_or(u64::MAX)))
            });
            most = most.max(own);
        }
        most
    }

    /// Returns the number of elements of a place, and their bytes.
    fn place_size(&mut self, place: &KernelStorage) -> (u64, u64) {
        let dims: Vec<Poly> = place.axes.iter().flatten().cloned().collect();
        let bytes = self.tensor_bytes(&dims, Some(place.scalar));
        (bytes / bytes_of(Some(place.scalar)), bytes)
    }
}
