//! **Loops.** Runs the function of a loop's body once for each iteration. Carried tensors move from
//! one iteration to the next, so that an array without other owners is updated in place.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::affine::{IndexExpr, IndexTranslator};
use super::executable::Executable;
use super::nest::{IndexSpace, RowNest};
use super::statement::{StatementExtents, at_scalar};
use super::tape::LoopTape;
use super::tensor::{Tensor, TensorBuilder, TensorElement, strides};
use super::{RunError, RunState};
use lang_base::ensure_sufficient_stack;
use lang_ir::core::CheckpointSpacing;
use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{Rhs, Statement, StmtId, TensorAccess};
use lang_runtime::{OffloadProgress, Value};
use lang_syntax::ops::Scalar;

const BROKEN: RunError = RunError::Internal("a loop");

/// The results of a loop that has run.
pub(super) struct LoopResults {
    by_tuple: Vec<TupleResults>,
    /// The number of statements of each result that are still to come.
    reads_left: BTreeMap<LoopResult, usize>,
}

/// The results of a loop for one tuple of the batch.
struct TupleResults {
    /// The tuple of the batch.
    tuple: Vec<i64>,
    /// The final value of each carried input.
    final_values: HashMap<u32, Tensor>,
    /// The tapes of outputs.
    output_tapes: HashMap<u32, LoopTape>,
    /// The tapes of carried inputs: their values at the checkpoints.
    state_tapes: HashMap<u32, LoopTape>,
    trips: i64,
}

/// An argument that the body reads in each iteration: a tensor, and its first indices.
struct ReadArgument {
    tensor: Tensor,
    indices: Vec<IndexExpr>,
    scalar: Scalar,
}

impl RunState<'_> {
    /// Returns a result of a loop that has run.
    pub(super) fn loop_result(
        &mut self,
        producer: StmtId,
        result: LoopResult,
        stmt: &Statement,
        shape: StatementExtents,
    ) -> Result<Tensor, RunError> {
        let of = self.program.ssa.loop_at(producer).ok_or(BROKEN)?;
        let ran = self.loop_results.get_mut(&producer).ok_or(BROKEN)?;
        let left = ran.reads_left.get_mut(&result).ok_or(BROKEN)?;
        *left = left.saturating_sub(1);
        let has_more_readers = *left > 0;
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let whole = match (ran.by_tuple.as_mut_slice(), &result, of.batch.is_empty()) {
            ([one], LoopResult::Final(k), true) => {
                let last = if has_more_readers { one.final_values.get(k).cloned() } else { one.final_values.remove(k) };
                Some(last.ok_or(BROKEN)?)
            }
            ([one], LoopResult::PerIteration(k), true) => {
                one.output_tapes.get_mut(k).and_then(|kept| kept.take_array(&shape.dims, has_more_readers))
            }
            ([one], LoopResult::Checkpoint(k), true) => {
                one.state_tapes.get_mut(k).and_then(|kept| kept.take_array(&shape.dims, has_more_readers))
            }
            _ => None,
        };
        let done = ran.reads_left.values().all(|left| *left == 0);
        let tensor = match whole {
            Some(tensor) => tensor,
            None => {
                let ran = self.loop_results.get(&producer).ok_or(BROKEN)?;
                at_scalar!(scalar, T => gather_part::<T>(self, shape, result, &ran.by_tuple)?)
            }
        };
        if done {
            self.loop_results.remove(&producer);
        }
        Ok(tensor)
    }

    /// Runs a loop for every tuple of the batch, and keeps its results.
    pub(super) fn run_loop(&mut self, producer: StmtId, of: &SsaLoop) -> Result<(), RunError> {
        let mut left: BTreeMap<LoopResult, usize> = BTreeMap::new();
        for v in self.program.results.get(&producer).into_iter().flatten() {
            if let Some(Rhs::LoopResult(_, result)) = self.program.ssa.stmts.get(v.0 as usize).map(|s| s.rhs.clone()) {
                *left.entry(result).or_default() += 1;
            }
        }
        let parts: BTreeSet<LoopResult> = left.keys().copied().collect();
        let program = self.machine.executables.loop_body(&of.body, self.machine.world);
        let extents = self.extents(&of.batch)?;
        let mut places: Vec<Vec<i64>> = Vec::new();
        {
            let space =
                IndexSpace { extents: extents.clone(), free: extents.len(), pred: &of.pred, needs_indices: true };
            RowNest::new(self, &space, &[])?.visit(self, &mut |row| {
                for step in 0..row.count {
                    let mut at: Vec<i64> = row.indices.iter().take(extents.len()).copied().collect();
                    if let Some(slot) = row.inner_index.and_then(|k| at.get_mut(k)) {
                        *slot = slot.wrapping_add(i64::try_from(step).unwrap_or(0));
                    }
                    places.push(at);
                }
                Ok(())
            })?;
        }
        let mut all = Vec::new();
        for at in places {
            all.push(self.run_iterations(producer.0, of, &program, &parts, at)?);
        }
        self.loop_results.insert(producer, LoopResults { by_tuple: all, reads_left: left });
        Ok(())
    }

    /// Runs a loop for one tuple of the batch.
    fn run_iterations(
        &mut self,
        k: u32,
        of: &SsaLoop,
        program: &Executable,
        parts: &BTreeSet<LoopResult>,
        at: Vec<i64>,
    ) -> Result<TupleResults, RunError> {
        let mut extents = self.extents(&of.batch)?;
        extents.push(i64::MAX);
        let mut carried: Vec<Option<Tensor>> = Vec::new();
        for arg in &of.args {
            carried.push(match arg {
                LoopArg::Captured(_) => None,
                LoopArg::Carried { init, .. } => {
                    let readers = of.args.iter().filter(|a| a.access().var == init.var).count();
                    if at.is_empty() && init.at.is_empty() && readers == 1 {
                        Some(self.take_or_share(k, init.var)?)
                    } else {
                        let argument = self.argument(init, Scalar::F64, &extents)?;
                        Some(argument.tensor_at(self, &at)?)
                    }
                }
            });
        }
        let mut captured = Vec::new();
        for (arg, input) in of.args.iter().zip(&program.ssa.inputs) {
            let scalar = input.leaf.scalar.unwrap_or(Scalar::Bool);
            captured.push(match arg {
                LoopArg::Captured(access) => Some(self.argument(access, scalar, &extents)?),
                LoopArg::Carried { .. } => None,
            });
        }
        let (count, spacing, sizes) = {
            let names = IndexTranslator::new(self, &extents);
            let count = of.fixed_trip_count().map(|n| names.index_expr(n)?.value(&at)).transpose()?;
            let distance = of.checkpoint.as_ref().and_then(CheckpointSpacing::fixed_distance);
            let spacing =
                CheckpointSpacing::resolve(distance.map(|n| names.index_expr(n)?.value(&at)).transpose()?, count);
            (count, spacing, of.sizes.iter().map(|p| names.index_expr(p)).collect::<Result<Vec<IndexExpr>, _>>()?)
        };
        let next: Vec<(u32, u32)> = of.carried_inputs().collect();
        let (every, states) = (HashMap::new(), HashMap::new());
        let mut one = TupleResults {
            tuple: at.clone(),
            final_values: HashMap::new(),
            output_tapes: every,
            state_tapes: states,
            trips: 0,
        };
        let expected = count.and_then(|n| usize::try_from(n).ok());
        for part in parts {
            match part {
                LoopResult::PerIteration(k) => drop(one.output_tapes.insert(*k, LoopTape::Empty(expected))),
                LoopResult::Checkpoint(k) => drop(one.state_tapes.insert(*k, LoopTape::Empty(None))),
                LoopResult::Final(_) | LoopResult::TripCount => {}
            }
        }
        loop {
            let on = match (&of.trip_count, count) {
                (_, Some(n)) => one.trips < n,
                (LoopTripCount::While(k), None) => {
                    let flag = carried.get(*k as usize).and_then(Option::as_ref).and_then(|t| t.element(0));
                    matches!(flag, Some(Value::Bool(true)))
                }
                (LoopTripCount::Fixed(_), None) => return Err(BROKEN),
            };
            if !on {
                break;
            }
            self.poll()?;
            if self.machine.depth.get() == 1 {
                (self.machine.context.report_progress)(OffloadProgress::Steps(one.trips, count));
            }
            let place: Vec<i64> = at.iter().copied().chain([one.trips]).collect();
            let sizes = sizes.iter().map(|n| n.value(&place)).collect::<Result<Vec<i64>, _>>()?;
            for (k, kept) in one.state_tapes.iter_mut().filter(|_| one.trips % spacing == 0) {
                kept.push(self, carried.get(*k as usize).cloned().flatten().ok_or(BROKEN)?)?;
            }
            let mut inputs = Vec::new();
            for (slot, argument) in carried.iter_mut().zip(&captured) {
                inputs.push(match (argument, slot.take()) {
                    (Some(captured_argument), _) => captured_argument.tensor_at(self, &place)?,
                    (None, Some(tensor)) => tensor,
                    (None, None) => return Err(BROKEN),
                });
            }
            let mut outputs: Vec<Option<Tensor>> =
                ensure_sufficient_stack(|| self.machine.run(program, &sizes, inputs))?.into_iter().map(Some).collect();
            for (k, kept) in &mut one.output_tapes {
                kept.push(self, outputs.get(*k as usize).cloned().flatten().ok_or(BROKEN)?)?;
            }
            for (nth, (k, output)) in next.iter().enumerate() {
                let more = next.iter().skip(nth + 1).any(|(_, other)| other == output);
                let slot = outputs.get_mut(*output as usize).ok_or(BROKEN)?;
                let tensor = if more { slot.clone() } else { slot.take() };
                carried.get_mut(*k as usize).into_iter().for_each(|slot| slot.clone_from(&tensor));
            }
            one.trips += 1;
        }
        for (k, tensor) in (0..).zip(carried) {
            one.final_values.extend(tensor.map(|t| (k, t)));
        }
        Ok(one)
    }

    /// Translates the access of an argument.
    fn argument(&self, access: &TensorAccess, scalar: Scalar, extents: &[i64]) -> Result<ReadArgument, RunError> {
        let names = IndexTranslator::new(self, extents);
        let tensor = self.tensor(access.var).cloned().ok_or(RunError::Internal("a statement"))?;
        let at = access.at.iter().map(|p| names.index_expr(p)).collect::<Result<Vec<IndexExpr>, _>>()?;
        let scalar = tensor.scalar_type().unwrap_or(scalar);
        Ok(ReadArgument { tensor, indices: at, scalar })
    }
}

impl ReadArgument {
    /// Returns the argument in an iteration, or zeros if an index is out of bounds.
    fn tensor_at(&self, run: &RunState<'_>, place: &[i64]) -> Result<Tensor, RunError> {
        if self.indices.is_empty() {
            return Ok(self.tensor.clone());
        }
        let mut offset = Some(0_i64);
        for ((n, extent), stride) in self.indices.iter().zip(&self.tensor.dims).zip(strides(&self.tensor.dims)) {
            let i = n.value(place).ok().filter(|i| usize::try_from(*i).is_ok_and(|i| i < *extent));
            offset = offset.zip(i).and_then(|(sum, i)| sum.checked_add(i.checked_mul(stride)?));
        }
        let part =
            offset.and_then(|o| usize::try_from(o).ok()).and_then(|o| self.tensor.slice_at(self.indices.len(), o));
        match part {
            Some(part) => Ok(part),
            None => {
                let dims: Vec<usize> = self.tensor.dims.iter().skip(self.indices.len()).copied().collect();
                at_scalar!(self.scalar, T => Ok(TensorBuilder::filled(run, dims, T::ZERO)?.finish()))
            }
        }
    }
}

/// Collects one part of the results of a whole batch in a tensor.
fn gather_part<T: TensorElement>(
    run: &RunState<'_>,
    shape: StatementExtents,
    part: LoopResult,
    all: &[TupleResults],
) -> Result<Tensor, RunError> {
    let mut room = TensorBuilder::filled(run, shape.dims, T::ZERO)?;
    for one in all {
        let at: Vec<usize> = one.tuple.iter().map(|i| usize::try_from(*i).unwrap_or(usize::MAX)).collect();
        match part {
            LoopResult::Final(k) => {
                let last = one.final_values.get(&k).ok_or(BROKEN)?;
                room.copy_at(&at, &last.dims, last.items::<T>().ok_or(BROKEN)?)?;
            }
            LoopResult::PerIteration(k) => one.output_tapes.get(&k).ok_or(BROKEN)?.copy_to(&mut room, &at)?,
            LoopResult::Checkpoint(k) => one.state_tapes.get(&k).ok_or(BROKEN)?.copy_to(&mut room, &at)?,
            LoopResult::TripCount => {
                let trips = Tensor::scalar(&Value::I64(one.trips)).ok_or(BROKEN)?;
                room.copy_at(&at, &[], trips.items::<T>().ok_or(BROKEN)?)?;
            }
        }
    }
    Ok(room.finish())
}

impl<T: TensorElement> TensorBuilder<T> {
    /// Copies elements of these extents to these first indices; the axes of the target may be
    /// longer.
    pub(super) fn copy_at(&mut self, at: &[usize], dims: &[usize], items: &[T]) -> Result<(), RunError> {
        let signed_strides = strides(&self.dims);
        let axis_strides: Vec<usize> = signed_strides.iter().map(|s| usize::try_from(*s).unwrap_or(0)).collect();
        let start: usize = at.iter().zip(&axis_strides).map(|(i, s)| i * s).sum();
        let own = self.dims.get(at.len()..).unwrap_or_default();
        if own == dims {
            let to = self.items.get_mut(start..start + items.len()).ok_or(BROKEN)?;
            to.copy_from_slice(items);
            return Ok(());
        }
        let mut place = vec![0_usize; dims.len()];
        for item in items {
            let offset: usize = place.iter().zip(axis_strides.iter().skip(at.len())).map(|(i, s)| i * s).sum();
            *self.items.get_mut(start + offset).ok_or(BROKEN)? = *item;
            for (i, n) in place.iter_mut().zip(dims).rev() {
                *i += 1;
                if *i < *n {
                    break;
                }
                *i = 0;
            }
        }
        Ok(())
    }
}
