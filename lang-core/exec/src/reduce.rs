//! **Reductions** other than sums: the engine computes a `Reduce` statement of Tensor SSA by a loop
//! nest over its terms. It combines the terms in the order of the evaluator `lang_eval::eval_ssa`,
//! so the results are bit-identical.

use super::affine::IndexTranslator;
use super::nest::{IndexSpace, RowNest};
use super::statement::StatementExtents;
use super::tensor::{Tensor, TensorBuilder, TensorElement};
use super::{RunError, RunState};
use lang_ir::reduce::SsaReduction;
use lang_ir::value::IrValue;
use lang_runtime::Value as InterpValue;
use lang_syntax::ops::Scalar;

/// The accumulator of a reduction and the place of the chosen term: the value that `argmin` or
/// `argmax` returns. `None` before the first term.
pub(super) type ReductionState = Option<(IrValue, i64)>;

impl RunState<'_> {
    /// Computes a product, minimum, maximum, `argmin` or `argmax`. `T` is the element type of the
    /// result, and `scalar` the type of the terms.
    pub(super) fn reduce<T: TensorElement>(
        &self,
        shape: &StatementExtents,
        scalar: Scalar,
        r: &SsaReduction,
    ) -> Result<Tensor, RunError> {
        let free = shape.dims.len();
        let mut extents = shape.extents.clone();
        extents.extend(self.extents(&r.bound)?);
        let translator = IndexTranslator::new(self, &extents);
        let (tensor, from) = translator.access(&r.operand)?;
        let place = translator.index_expr(&r.arg_value)?;
        let mut result = TensorBuilder::filled(self, shape.dims.clone(), T::ZERO)?;
        let (mut states, _charge) =
            self.memory.vec_with_capacity::<ReductionState>(result.items.len()).map_err(RunError::TooLarge)?;
        states.resize(result.items.len(), None);
        let element = |at: i64| usize::try_from(at).ok().and_then(|at| to_ir_value(&tensor.element(at)?));
        let visited = r.visited_domain();
        let space = IndexSpace { extents: extents.clone(), free, pred: &visited, needs_indices: false };
        RowNest::new(self, &space, &[shape.element_offset(), from, place])?.visit(self, &mut |row| {
            row.for_each_piece(&mut |first, count| {
                let [at, from, place] = [0, 1, 2].map(|nth| row.piece(nth, first, count).offsets());
                for ((at, from), place) in at.iter().zip(&from).zip(&place) {
                    let slot = usize::try_from(*at).ok().and_then(|at| states.get_mut(at));
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
        let empty = IrValue::constant(r.reducer.empty_result(scalar), scalar);
        let mut put = |at: usize, value: &IrValue| {
            let value = to_interp_value(value).and_then(|v| T::from_value(&v));
            match (result.items.get_mut(at), value) {
                (Some(slot), Some(value)) => {
                    *slot = value;
                    Ok(())
                }
                _ => Err(RunError::Internal("a reduction")),
            }
        };
        // The predicate selects the elements to write, including those without terms. Others stay
        // zero.
        let space = IndexSpace { extents: shape.extents.clone(), free, pred: &r.pred, needs_indices: false };
        RowNest::new(self, &space, &[shape.element_offset()])?.visit(self, &mut |row| {
            row.for_each_piece(&mut |first, count| {
                for at in row.piece(0, first, count).offsets() {
                    let at = usize::try_from(at).unwrap_or(usize::MAX);
                    match states.get(at) {
                        Some(Some((_, place))) if r.reducer.is_arg_reduction() => put(at, &IrValue::I64(*place))?,
                        Some(Some((value, _))) => put(at, value)?,
                        _ => put(at, &empty)?,
                    }
                }
                Ok(())
            })
        })?;
        Ok(result.finish())
    }
}

/// Converts a scalar of the interpreter to an IR value.
fn to_ir_value(value: &InterpValue) -> Option<IrValue> {
    Some(match value {
        InterpValue::F64(x) => IrValue::F64(*x),
        InterpValue::F32(x) => IrValue::F32(*x),
        InterpValue::I64(x) => IrValue::I64(*x),
        InterpValue::Bool(x) => IrValue::Bool(*x),
        _ => return None,
    })
}

/// Converts a scalar IR value to a value of the interpreter.
fn to_interp_value(value: &IrValue) -> Option<InterpValue> {
    Some(match value {
        IrValue::F64(x) => InterpValue::F64(*x),
        IrValue::F32(x) => InterpValue::F32(*x),
        IrValue::I64(x) => InterpValue::I64(*x),
        IrValue::Bool(x) => InterpValue::Bool(*x),
        _ => return None,
    })
}
