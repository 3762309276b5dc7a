//! **Calls.** Runs the callee's function for every tuple of the batch indices, with views of the
//! arguments.

use std::sync::Arc;

use super::affine::{IndexExpr, IndexTranslator};
use super::nest::{IndexSpace, RowNest};
use super::statement::StatementExtents;
use super::tensor::{Tensor, TensorBuilder, TensorElement};
use super::{RunError, RunState};
use lang_base::ensure_sufficient_stack;
use lang_ir::ssa::{Rhs, Statement, StmtId};
use lang_syntax::ops::Scalar;

impl RunState<'_> {
    /// Returns a result of a call that has run.
    pub(super) fn call_result(
        &mut self,
        producer: StmtId,
        output: u32,
        stmt: &Statement,
        shape: StatementExtents,
    ) -> Result<Tensor, RunError> {
        let results = self.call_results.get_mut(&producer).ok_or(RunError::Internal("a call"))?;
        let result = match &results.tensors {
            Some(tensors) => Some(tensors.get(output as usize).cloned().ok_or(RunError::Internal("a part of a call"))?),
            None => None,
        };
        results.reads_left = results.reads_left.saturating_sub(1);
        if results.reads_left == 0 {
            self.call_results.remove(&producer);
        }
        match result {
            Some(result) => Ok(result),
            None => shape.zeros(self, stmt.scalar.unwrap_or(Scalar::F64)),
        }
    }

    /// Runs a call for every tuple of the batch, and keeps its results.
    pub(super) fn run_call(
        &mut self,
        producer: StmtId,
        stmt: &Statement,
        shape: &StatementExtents,
    ) -> Result<(), RunError> {
        let Rhs::Call { callee, sizes, pred, args } = &stmt.rhs else {
            return Err(RunError::Internal("a call"));
        };
        let function = self.machine.function(callee)?;
        let outer = shape.dims.clone();
        let extents = shape.extents.clone();
        let (mut tensors, mut places) = (Vec::new(), Vec::new());
        // The offset of the first operand is the position of the call in the batch.
        places.push(IndexExpr::of_strides(&super::tensor::strides(&outer)));
        let passed = {
            let names = IndexTranslator::new(self, &extents);
            for arg in args {
                let (tensor, place) = names.access(arg)?;
                tensors.push((tensor, arg.at.len()));
                places.push(place);
            }
            sizes.iter().map(|p| names.index_expr(p)).collect::<Result<Vec<IndexExpr>, _>>()?
        };
        let space = IndexSpace { extents, free: outer.len(), pred, needs_indices: true };
        let nest = RowNest::new(self, &space, &places)?;
        let mut results: Option<Vec<BatchedPart>> = None;
        nest.visit(self, &mut |row| {
            for step in 0..row.count {
                let by = i64::try_from(step).unwrap_or(0);
                let place = |nth: usize| {
                    let step = row.strides.get(nth).copied().unwrap_or(0).wrapping_mul(by);
                    usize::try_from(row.offsets.get(nth).copied().unwrap_or(-1).wrapping_add(step)).ok()
                };
                if step > 0
                    && let Some(slot) = row.inner_index.and_then(|k| row.indices.get_mut(k))
                {
                    *slot = slot.wrapping_add(1);
                }
                let sizes = passed.iter().map(|n| n.value(row.indices)).collect::<Result<Vec<i64>, _>>()?;
                let args =
                    tensors.iter().enumerate().map(|(k, (tensor, indexed))| tensor.slice_at(*indexed, place(k + 1)?));
                let args: Option<Vec<Tensor>> = args.collect();
                let args = args.ok_or(RunError::Internal("a slice"))?;
                let parts = ensure_sufficient_stack(|| {
                    self.machine.run(&self.machine.executable_for(&function, &sizes), &sizes, args)
                })?;
                if outer.is_empty() {
                    results = Some(parts.into_iter().map(BatchedPart::Single).collect());
                    continue;
                }
                if results.is_none() {
                    let rooms = parts.iter().map(|part| BatchedPart::allocate(self, &outer, part));
                    results = Some(rooms.collect::<Result<_, _>>()?);
                }
                let at = place(0).ok_or(RunError::Internal("an element"))?;
                for (gathered, part) in results.iter_mut().flatten().zip(&parts) {
                    gathered.store_part(at, part)?;
                }
            }
            Ok(())
        })?;
        let tensors = results.map(|results| results.into_iter().map(BatchedPart::finish).collect());
        let reads_left = self.program.results.get(&producer).map_or(0, Vec::len);
        self.call_results.insert(producer, CallResults { tensors, reads_left });
        Ok(())
    }
}

/// The results of a call that has run.
pub(super) struct CallResults {
    /// The parts of the result; `None` if there was no call.
    tensors: Option<Arc<[Tensor]>>,
    /// The number of result statements that are still to come.
    reads_left: usize,
}

/// One part of the results of all calls of a batch.
enum BatchedPart {
    Single(Tensor),
    F64(TensorBuilder<f64>),
    F32(TensorBuilder<f32>),
    I64(TensorBuilder<i64>),
    Bool(TensorBuilder<bool>),
}

impl BatchedPart {
    /// Allocates memory for the parts of all calls, each with the extents of this one.
    fn allocate(run: &RunState<'_>, outer: &[usize], part: &Tensor) -> Result<Self, RunError> {
        fn of<T: TensorElement>(run: &RunState<'_>, dims: Vec<usize>) -> Result<TensorBuilder<T>, RunError> {
            TensorBuilder::filled(run, dims, T::ZERO)
        }
        let dims = outer.iter().chain(&part.dims).copied().collect();
        Ok(match part.scalar_type() {
            Some(Scalar::F64) => Self::F64(of(run, dims)?),
            Some(Scalar::F32) => Self::F32(of(run, dims)?),
            Some(Scalar::I64) => Self::I64(of(run, dims)?),
            Some(Scalar::Bool) => Self::Bool(of(run, dims)?),
            None => return Err(RunError::Internal("a part of a call")),
        })
    }

    /// Stores the part of the call at this position of the batch.
    fn store_part(&mut self, at: usize, part: &Tensor) -> Result<(), RunError> {
        fn copy<T: TensorElement>(room: &mut TensorBuilder<T>, at: usize, part: &Tensor) -> Option<()> {
            let items = part.items::<T>()?;
            let start = at.checked_mul(items.len())?;
            room.items.get_mut(start..start.checked_add(items.len())?)?.copy_from_slice(items);
            Some(())
        }
        let done = match self {
            Self::F64(room) => copy(room, at, part),
            Self::F32(room) => copy(room, at, part),
            Self::I64(room) => copy(room, at, part),
            Self::Bool(room) => copy(room, at, part),
            Self::Single(_) => None,
        };
        done.ok_or(RunError::Internal("a part of a call"))
    }

    fn finish(self) -> Tensor {
        match self {
            Self::Single(tensor) => tensor,
            Self::F64(room) => room.finish(),
            Self::F32(room) => room.finish(),
            Self::I64(room) => room.finish(),
            Self::Bool(room) => room.finish(),
        }
    }
}
