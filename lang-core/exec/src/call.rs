//! **Calls.** Runs the callee's function for every tuple of the batch indices, with views of the
//! arguments.

use std::sync::Arc;

use super::affine::{IndexExpr, IndexTranslator};
use super::nest::{IndexSpace, RowNest};
use super::statement::StatementExtents;
use super::tensor::{Tensor, TensorBuilder, TensorElement};
use super::{RunError, RunState};
use lang_base::ensure_sufficient_stack;
use lang_ir::ssa::{Rhs, Statement};
use lang_syntax::ops::Scalar;

impl RunState<'_> {
    /// Returns one part of a call's result. The calls run once for all parts.
    pub(super) fn run_call(&mut self, k: u32, stmt: &Statement, shape: StatementExtents) -> Result<Tensor, RunError> {
        let Rhs::Call { callee, sizes, pred, args, batch, result_index: part } = &stmt.rhs else {
            return Err(RunError::Internal("a call"));
        };
        let group = self.program.call_group.get(&k).copied().unwrap_or(k);
        let is_last = self.program.last_of_call.get(&group) == Some(&k);
        if let Some(parts) = self.call_results.get(&group) {
            let part = parts.get(*part as usize).cloned();
            if is_last {
                self.call_results.remove(&group);
            }
            return part.ok_or(RunError::Internal("a part of a call"));
        }
        let function = self.machine.function(callee)?;
        let batch = *batch as usize;
        let outer: Vec<usize> = shape.dims.iter().take(batch).copied().collect();
        let extents: Vec<i64> = shape.extents.iter().take(batch).copied().collect();
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
        let space = IndexSpace { extents, free: batch, pred, needs_indices: true };
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
        let Some(results) = results else { return shape.zeros(self, stmt.scalar.unwrap_or(Scalar::F64)) };
        let parts: Arc<[Tensor]> = results.into_iter().map(BatchedPart::finish).collect();
        let own = parts.get(*part as usize).cloned().ok_or(RunError::Internal("a part of a call"))?;
        if !is_last {
            self.call_results.insert(group, parts);
        }
        Ok(own)
    }
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
