//! **Array updates.** Evaluates a statement `base with [at] = value` or `+=`. It writes in place if
//! the updated tensor has no later use, because a copy would cost a pass over the whole tensor.
//! `statement` calls [`RunState::update`]; `loops` takes initial values by
//! [`RunState::take_or_share`].

use super::affine::{IndexExpr, IndexTranslator};
use super::nest::{IndexSpace, RowNest};
use super::statement::StatementExtents;
use super::tensor::{Tensor, TensorBuilder, TensorElement, strides};
use super::{RunError, RunState};
use lang_ir::ssa::{Rhs, Statement, StmtId, TensorAccess, statement_index};
use lang_sizes::predicate::{Poly, Pred};

impl RunState<'_> {
    /// Returns the tensor of `var`, and removes it from the run if statement `k` is its last use.
    pub(super) fn take_or_share(&mut self, k: u32, var: StmtId) -> Result<Tensor, RunError> {
        let dead = self.program.last_uses.get(k as usize).is_some_and(|dead| dead.contains(&var));
        let slot = self.values.get_mut(var.0 as usize).ok_or(RunError::Internal("a statement"))?;
        let tensor = if dead { slot.take() } else { slot.clone() };
        tensor.ok_or(RunError::Internal("a statement"))
    }

    /// Evaluates statement `k`, an update: stores or adds values at computed indices of a tensor.
    pub(super) fn update<T: TensorElement>(
        &mut self,
        k: u32,
        stmt: &Statement,
        shape: &StatementExtents,
    ) -> Result<Tensor, RunError> {
        let Rhs::Update { base, batch, bound, pred, at, value, accumulate } = &stmt.rhs else {
            return Err(RunError::Internal("an update"));
        };
        let (outer, free) = (*batch as usize, shape.dims.len());
        let mut extents = shape.extents.clone();
        // The axes after the batch have no loops, because the update computes their indices.
        extents.iter_mut().skip(outer).for_each(|n| *n = 1);
        extents.extend(self.extents(bound)?);
        let target_strides = strides(&shape.dims);
        let (nest, source) = {
            let translator = IndexTranslator::new(self, &extents);
            let (source, from) = translator.access(value)?;
            let mut to = IndexExpr::of_strides(target_strides.get(..outer).unwrap_or_default());
            for (p, stride) in at.iter().zip(target_strides.iter().skip(outer)) {
                to.add_scaled(translator.index_expr(p)?, *stride);
            }
            let space = IndexSpace { extents: extents.clone(), free, pred, needs_indices: false };
            (RowNest::new(self, &space, &[to, from])?, source)
        };
        let mut target: TensorBuilder<T> = if outer == 0 && base.at.is_empty() && base.var != value.var {
            TensorBuilder::from_tensor(self.take_or_share(k, base.var)?, self)?
        } else {
            let axes = (outer..free).map(|k| statement_index(k, &Poly::default()).value());
            let of = TensorAccess { var: base.var, at: base.at.iter().cloned().chain(axes).collect() };
            TensorBuilder::from_tensor(self.read_access::<T>(shape, &of)?, self)?
        };
        let items = source.items::<T>().ok_or(RunError::Internal("the elements of an operand"))?;
        nest.visit(self, &mut |row| {
            row.for_each_piece(&mut |first, count| {
                let (to, from) = (row.piece(0, first, count).offsets(), row.piece(1, first, count).offsets());
                for (to, from) in to.into_iter().zip(from) {
                    let slot = usize::try_from(to).ok().and_then(|k| target.items.get_mut(k));
                    let new = usize::try_from(from).ok().and_then(|k| items.get(k));
                    let (Some(slot), Some(new)) = (slot, new) else {
                        return Err(RunError::Internal("an element out of bounds"));
                    };
                    *slot = if *accumulate { slot.plus(*new) } else { *new };
                }
                Ok(())
            })
        })?;
        Ok(target.finish())
    }

    /// Returns the elements of an access as a tensor of this shape.
    fn read_access<T: TensorElement>(&self, shape: &StatementExtents, of: &TensorAccess) -> Result<Tensor, RunError> {
        let own = StatementExtents { dims: shape.dims.clone(), extents: shape.extents.clone() };
        self.read_where::<T>(own, &Pred::truth(), of)
    }
}
