//! **Reductions** other than sums. Combines the terms in order, as the evaluator does.

use super::affine::IndexTranslator;
use super::nest::{IndexSpace, RowNest};
use super::statement::StatementExtents;
use super::tensor::{Tensor, TensorBuilder, TensorElement};
use super::{RunError, RunState};
use lang_ir::reduce::SsaReduction;
use lang_ir::value::IrValue;
use lang_runtime::Value as Computed;
use lang_syntax::ops::Scalar;

/// The accumulator of a reduction, with the place of the chosen term.
pub(super) type ReductionState = Option<(IrValue, i64)>;

impl RunState<'_> {
    /// Computes a product, minimum, maximum, `argmin` or `argmax`.
    pub(super) fn reduce<T: TensorElement>(
        &self,
        shape: &StatementExtents,
        scalar: Scalar,
        r: &SsaReduction,
    ) -> Result<Tensor, RunError> {
        let free = shape.dims.len();
        let mut extents = shape.extents.clone();
        extents.extend(self.extents(&r.bound)?);
        let names = IndexTranslator::new(self, &extents);
        let (tensor, from) = names.access(&r.operand)?;
        let place = names.index_expr(&r.arg_value)?;
        let mut room = TensorBuilder::filled(self, shape.dims.clone(), T::ZERO)?;
        let (mut found, _charge) =
            self.memory.vec_with_capacity::<ReductionState>(room.items.len()).map_err(RunError::TooLarge)?;
        found.resize(room.items.len(), None);
        let element = |at: i64| usize::try_from(at).ok().and_then(|at| to_form_value(&tensor.element(at)?));
        let visited = r.visited_domain();
        let space = IndexSpace { extents: extents.clone(), free, pred: &visited, needs_indices: false };
        RowNest::new(self, &space, &[shape.element_offset(), from, place])?.visit(self, &mut |row| {
            row.for_each_piece(&mut |first, count| {
                let [at, from, place] = [0, 1, 2].map(|nth| row.piece(nth, first, count).offsets());
                for ((at, from), place) in at.iter().zip(&from).zip(&place) {
                    let slot = usize::try_from(*at).ok().and_then(|at| found.get_mut(at));
                    let (Some(slot), Some(term)) = (slot, element(*from)) else {
                        return Err(RunError::Internal("an element out of bounds"));
                    };
                    *slot = Some(match slot.take() {
                        None => (term, *place),
                        Some(before) => {
                            r.reducer.combine(before, term, *place).ok_or(RunError::Internal("a reduction"))?
                        }
                    });
                }
                Ok(())
            })
        })?;
        let nothing = IrValue::constant(r.reducer.empty_result(scalar), scalar);
        let mut put = |at: usize, value: &IrValue| {
            let value = to_interp_value(value).and_then(|v| T::from_value(&v));
            match (room.items.get_mut(at), value) {
                (Some(slot), Some(value)) => {
                    *slot = value;
                    Ok(())
                }
                _ => Err(RunError::Internal("a reduction")),
            }
        };
        // The predicate selects the elements to write, also those without terms.
        let space = IndexSpace { extents: shape.extents.clone(), free, pred: &r.pred, needs_indices: false };
        RowNest::new(self, &space, &[shape.element_offset()])?.visit(self, &mut |row| {
            row.for_each_piece(&mut |first, count| {
                for at in row.piece(0, first, count).offsets() {
                    let at = usize::try_from(at).unwrap_or(usize::MAX);
                    match found.get(at) {
                        Some(Some((_, place))) if r.reducer.is_arg_reduction() => put(at, &IrValue::I64(*place))?,
                        Some(Some((value, _))) => put(at, value)?,
                        _ => put(at, &nothing)?,
                    }
                }
                Ok(())
            })
        })?;
        Ok(room.finish())
    }
}

/// Converts a value of the interpreter to a value of the forms.
fn to_form_value(value: &Computed) -> Option<IrValue> {
    Some(match value {
        Computed::F64(x) => IrValue::F64(*x),
        Computed::F32(x) => IrValue::F32(*x),
        Computed::I64(x) => IrValue::I64(*x),
        Computed::Bool(x) => IrValue::Bool(*x),
        _ => return None,
    })
}

/// Converts a value of the forms to a value of the interpreter.
fn to_interp_value(value: &IrValue) -> Option<Computed> {
    Some(match value {
        IrValue::F64(x) => Computed::F64(*x),
        IrValue::F32(x) => Computed::F32(*x),
        IrValue::I64(x) => Computed::I64(*x),
        IrValue::Bool(x) => Computed::Bool(*x),
        _ => return None,
    })
}
