//! **Conversion** between structured values and the tensors of scalars that Tensor SSA takes and
//! returns, one tensor for each part of a type. The structured values are those of the core
//! evaluator and of the interpreter.

use super::eval_ssa::Tensor;
use lang_ir::core::CoreType;
use lang_ir::value::Value;
use lang_runtime::Value as Computed;

impl Tensor {
    /// Returns the part of a value at a path through its tuples. An array of tuples counts as a
    /// tuple of arrays.
    #[must_use]
    pub fn part(value: &Value, path: &[u32], dims: Vec<usize>) -> Self {
        fn fill(value: &Value, path: &[u32], items: &mut Vec<Value>) {
            match (value, path.split_first()) {
                (Value::Array(elements), _) => elements.iter().for_each(|v| fill(v, path, items)),
                (Value::Tuple(parts), Some((k, rest))) => {
                    parts.get(*k as usize).into_iter().for_each(|v| fill(v, rest, items));
                }
                (Value::Rel(rows), _) => {
                    let row = |r: &Vec<i64>| Value::Tuple(r.iter().map(|i| Value::I64(*i)).collect());
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
    pub fn value(&self) -> Value {
        fn nested(items: &mut std::slice::Iter<'_, Value>, dims: &[usize]) -> Value {
            match dims.split_first() {
                None => items.next().cloned().unwrap_or(Value::Tuple(Vec::new())),
                Some((n, rest)) => Value::Array((0..*n).map(|_| nested(items, rest)).collect()),
            }
        }
        nested(&mut self.items.iter(), &self.dims)
    }
}

/// Returns the parts of a value, in the order of [`CoreType::leaves`]. Returns `None` if the value
/// is not data (a function, text) or does not have the type.
#[must_use]
pub fn tensors(value: &Computed, ty: &CoreType) -> Option<Vec<Tensor>> {
    let mut parts = vec![Tensor { dims: Vec::new(), items: Vec::new() }; ty.leaves().len()];
    fill(value, ty, &mut parts, 0)?;
    Some(parts)
}

/// Appends the scalars of `value` to its parts. `depth` is the number of enclosing axes.
fn fill(value: &Computed, ty: &CoreType, parts: &mut [Tensor], depth: usize) -> Option<()> {
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
                fill(&array.element(k)?, element, parts, depth + array.dims().len())?;
            }
            Some(())
        }
        (Computed::Tuple(items), CoreType::Tuple(types, _)) => components(items.values().iter(), types, parts, depth),
        (Computed::Record(record), CoreType::Tuple(types, _)) => {
            let mut order: Vec<usize> = (0..record.names().len()).collect();
            order.sort_by_key(|k| record.names().get(*k));
            components(order.iter().filter_map(|k| record.values().get(*k)), types, parts, depth)
        }
        _ => {
            let item = match value {
                Computed::F64(x) => Value::F64(*x),
                Computed::F32(x) => Value::F32(*x),
                Computed::I64(i) => Value::I64(*i),
                Computed::Bool(b) => Value::Bool(*b),
                _ => return None,
            };
            parts.first_mut()?.items.push(item);
            Some(())
        }
    }
}

fn components<'v>(
    values: impl Iterator<Item = &'v Computed>,
    types: &[CoreType],
    parts: &mut [Tensor],
    depth: usize,
) -> Option<()> {
    let mut first = 0;
    for (value, ty) in values.zip(types) {
        let count = ty.leaves().len();
        fill(value, ty, parts.get_mut(first..first + count)?, depth)?;
        first += count;
    }
    Some(())
}

/// Assembles the value whose parts these are.
#[must_use]
pub fn value_of(ty: &CoreType, parts: &[Tensor]) -> Value {
    made(ty, parts, &mut Vec::new())
}

fn made(ty: &CoreType, parts: &[Tensor], at: &mut Vec<usize>) -> Value {
    match ty {
        CoreType::Tuple(types, _) => {
            let mut first = 0;
            let mut items = Vec::new();
            for ty in types.iter() {
                let count = ty.leaves().len();
                items.push(made(ty, parts.get(first..first + count).unwrap_or_default(), at));
                first += count;
            }
            Value::Tuple(items)
        }
        CoreType::Tensor(_, inner) => {
            let count = parts.first().and_then(|t| t.dims.get(at.len())).copied().unwrap_or_default();
            let mut items = Vec::new();
            for i in 0..count {
                at.push(i);
                items.push(made(inner, parts, at));
                at.pop();
            }
            Value::Array(items)
        }
        CoreType::Scalar(_) | CoreType::Rel(_) => {
            let offset = |dims: &[usize]| at.iter().zip(dims).fold(0, |offset, (i, n)| offset * n + i);
            let item = parts.first().and_then(|part| part.items.get(offset(&part.dims)));
            item.cloned().unwrap_or(Value::Tuple(Vec::new()))
        }
    }
}
