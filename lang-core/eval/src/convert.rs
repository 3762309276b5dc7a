//! **Conversion** between structured values and the tensors of scalars that Tensor SSA takes and
//! returns, one tensor for each part of a type. The structured values are those of the core
//! evaluator and of the interpreter.

use super::eval_ssa::IrTensor;
use lang_ir::core::CoreType;
use lang_ir::value::IrValue;
use lang_runtime::Value as Computed;

impl IrTensor {
    /// Returns the part of a value at a path through its tuples. An array of tuples counts as a
    /// tuple of arrays.
    #[must_use]
    pub fn extract_leaf(value: &IrValue, path: &[u32], dims: Vec<usize>) -> Self {
        fn fill(value: &IrValue, path: &[u32], items: &mut Vec<IrValue>) {
            match (value, path.split_first()) {
                (IrValue::Array(elements), _) => elements.iter().for_each(|v| fill(v, path, items)),
                (IrValue::Tuple(parts), Some((k, rest))) => {
                    parts.get(*k as usize).into_iter().for_each(|v| fill(v, rest, items));
                }
                (IrValue::Rel(rows), _) => {
                    let row = |r: &Vec<i64>| IrValue::Tuple(r.iter().map(|i| IrValue::I64(*i)).collect());
                    items.extend(rows.iter().map(row));
                }
                _ => items.push(value.clone()),
            }
        }
        let mut items = Vec::new();
        fill(value, path, &mut items);
        Self { dims, items }
    }

    /// Returns the tensor as an array value, or as a scalar if it has rank 0.
    #[must_use]
    pub fn to_value(&self) -> IrValue {
        fn nested(items: &mut std::slice::Iter<'_, IrValue>, dims: &[usize]) -> IrValue {
            match dims.split_first() {
                None => items.next().cloned().unwrap_or(IrValue::Tuple(Vec::new())),
                Some((n, rest)) => IrValue::Array((0..*n).map(|_| nested(items, rest)).collect()),
            }
        }
        nested(&mut self.items.iter(), &self.dims)
    }
}

/// Returns the parts of a value, in the order of [`CoreType::leaves`]. Returns `None` if the value
/// is not data (a function, text) or does not have the type.
#[must_use]
pub fn to_tensors(value: &Computed, ty: &CoreType) -> Option<Vec<IrTensor>> {
    let mut parts = vec![IrTensor { dims: Vec::new(), items: Vec::new() }; ty.leaves().len()];
    append_scalars(value, ty, &mut parts, 0)?;
    Some(parts)
}

/// Appends the scalars of `value` to its parts. `depth` is the number of enclosing axes.
fn append_scalars(value: &Computed, ty: &CoreType, parts: &mut [IrTensor], depth: usize) -> Option<()> {
    match (value, ty) {
        (Computed::Array(array), CoreType::Tensor(..)) => {
            let mut element = ty;
            for (axis, n) in array.dims().iter().enumerate() {
                let CoreType::Tensor(_, inner) = element else { return None };
                element = inner;
                // All elements have the same extents, because arrays are not ragged. The first
                // element determines them.
                let new = parts.iter_mut().filter(|part| part.dims.len() == depth + axis);
                new.for_each(|part| part.dims.push(*n));
            }
            for k in 0..array.count() {
                append_scalars(&array.element(k)?, element, parts, depth + array.dims().len())?;
            }
            Some(())
        }
        (Computed::Tuple(items), CoreType::Tuple(types, _)) => {
            append_components(items.values().iter(), types, parts, depth)
        }
        (Computed::Record(record), CoreType::Tuple(types, _)) => {
            let mut order: Vec<usize> = (0..record.names().len()).collect();
            order.sort_by_key(|k| record.names().get(*k));
            append_components(order.iter().filter_map(|k| record.values().get(*k)), types, parts, depth)
        }
        _ => {
            let item = match value {
                Computed::F64(x) => IrValue::F64(*x),
                Computed::F32(x) => IrValue::F32(*x),
                Computed::I64(i) => IrValue::I64(*i),
                Computed::Bool(b) => IrValue::Bool(*b),
                _ => return None,
            };
            parts.first_mut()?.items.push(item);
            Some(())
        }
    }
}

fn append_components<'v>(
    values: impl Iterator<Item = &'v Computed>,
    types: &[CoreType],
    parts: &mut [IrTensor],
    depth: usize,
) -> Option<()> {
    let mut first = 0;
    for (value, ty) in values.zip(types) {
        let count = ty.leaves().len();
        append_scalars(value, ty, parts.get_mut(first..first + count)?, depth)?;
        first += count;
    }
    Some(())
}

/// Assembles the value whose parts these are.
#[must_use]
pub fn from_tensors(ty: &CoreType, parts: &[IrTensor]) -> IrValue {
    assemble(ty, parts, &mut Vec::new())
}

fn assemble(ty: &CoreType, parts: &[IrTensor], at: &mut Vec<usize>) -> IrValue {
    match ty {
        CoreType::Tuple(types, _) => {
            let mut first = 0;
            let mut items = Vec::new();
            for ty in types.iter() {
                let count = ty.leaves().len();
                items.push(assemble(ty, parts.get(first..first + count).unwrap_or_default(), at));
                first += count;
            }
            IrValue::Tuple(items)
        }
        CoreType::Tensor(_, inner) => {
            let count = parts.first().and_then(|t| t.dims.get(at.len())).copied().unwrap_or_default();
            let mut items = Vec::new();
            for i in 0..count {
                at.push(i);
                items.push(assemble(inner, parts, at));
                at.pop();
            }
            IrValue::Array(items)
        }
        CoreType::Scalar(_) | CoreType::Rel(_) => {
            let offset = |dims: &[usize]| at.iter().zip(dims).fold(0, |offset, (i, n)| offset * n + i);
            let item = parts.first().and_then(|part| part.items.get(offset(&part.dims)));
            item.cloned().unwrap_or(IrValue::Tuple(Vec::new()))
        }
    }
}
