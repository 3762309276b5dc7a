//! **Reductions** other than sums. Terms are combined in order, as the evaluator combines them.

use super::nest::{Nest, Space};
use super::number::Names;
use super::statement::Shape;
use super::tensor::{Number, Room, Tensor};
use super::{Run, Stopped};
use lang_ir::reduce::Reduce;
use lang_ir::value::Value;
use lang_runtime::Value as Computed;
use lang_syntax::ops::Scalar;

/// The accumulator of a reduction, and the index of the chosen term.
pub(super) type Found = Option<(Value, i64)>;

impl Run<'_> {
    pub(super) fn reduce<T: Number>(&self, shape: &Shape, scalar: Scalar, r: &Reduce) -> Result<Tensor, Stopped> {
        let free = shape.dims.len();
        let mut extents = shape.extents.clone();
        extents.extend(self.extents(&r.bound)?);
        let names = Names::new(self, &extents);
        let (tensor, from) = names.access(&r.of)?;
        let place = names.num(&r.place)?;
        let mut room = Room::filled(self, shape.dims.clone(), T::ZERO)?;
        let (mut found, _charge) = self.memory.vec::<Found>(room.items.len()).map_err(Stopped::TooLarge)?;
        found.resize(room.items.len(), None);
        let element = |at: i64| usize::try_from(at).ok().and_then(|at| plain(&tensor.element(at)?));
        let visited = r.visited();
        let space = Space { extents: extents.clone(), free, pred: &visited, by_index: false };
        Nest::new(self, &space, &[shape.place(), from, place])?.visit(self, &mut |row| {
            row.pieces(&mut |first, count| {
                let [at, from, place] = [0, 1, 2].map(|nth| row.piece(nth, first, count).places());
                for ((at, from), place) in at.iter().zip(&from).zip(&place) {
                    let slot = usize::try_from(*at).ok().and_then(|at| found.get_mut(at));
                    let (Some(slot), Some(term)) = (slot, element(*from)) else {
                        return Err(Stopped::Broken("an element outside"));
                    };
                    *slot = Some(match slot.take() {
                        None => (term, *place),
                        Some(before) => r.reducer.joined(before, term, *place).ok_or(Stopped::Broken("a reduction"))?,
                    });
                }
                Ok(())
            })
        })?;
        let nothing = Value::constant(r.reducer.nothing(scalar), scalar);
        let mut put = |at: usize, value: &Value| {
            let value = computed(value).and_then(|v| T::from_value(&v));
            match (room.items.get_mut(at), value) {
                (Some(slot), Some(value)) => {
                    *slot = value;
                    Ok(())
                }
                _ => Err(Stopped::Broken("a reduction")),
            }
        };
        // Where it is computed and there is no term.
        let space = Space { extents: shape.extents.clone(), free, pred: &r.pred, by_index: false };
        Nest::new(self, &space, &[shape.place()])?.visit(self, &mut |row| {
            row.pieces(&mut |first, count| {
                for at in row.piece(0, first, count).places() {
                    let at = usize::try_from(at).unwrap_or(usize::MAX);
                    match found.get(at) {
                        Some(Some((_, place))) if r.reducer.gives_place() => put(at, &Value::I64(*place))?,
                        Some(Some((value, _))) => put(at, value)?,
                        _ => put(at, &nothing)?,
                    }
                }
                Ok(())
            })
        })?;
        Ok(room.done())
    }
}

fn plain(value: &Computed) -> Option<Value> {
    Some(match value {
        Computed::F64(x) => Value::F64(*x),
        Computed::F32(x) => Value::F32(*x),
        Computed::I64(x) => Value::I64(*x),
        Computed::Bool(x) => Value::Bool(*x),
        _ => return None,
    })
}

fn computed(value: &Value) -> Option<Computed> {
    Some(match value {
        Value::F64(x) => Computed::F64(*x),
        Value::F32(x) => Computed::F32(*x),
        Value::I64(x) => Computed::I64(*x),
        Value::Bool(x) => Computed::Bool(*x),
        _ => return None,
    })
}
