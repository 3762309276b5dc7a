//! **Marshalling** between values of the interpreter and tensors, part by part. Arrays of numbers,
//! and of tuples and records of numbers, share their buffers in both directions.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::RunError;
use super::tensor::Tensor;
use lang_base::Name;
use lang_base::ensure_sufficient_stack;
use lang_ir::core::{CoreType, TupleLabels, TypeLeaf};
use lang_runtime::array::Array;
use lang_runtime::columns::ElementForm;
use lang_runtime::memory::AllocationError;
use lang_runtime::offload::RunContext;
use lang_runtime::value::{Components, ConstructorTag, DataCell, Record};
use lang_runtime::{Store, Value};
use lang_sizes::predicate::Poly;
use lang_syntax::ops::Scalar;
use lang_types::ty::Type;

/// Returns the part of a value at a path through its tuples; arrays of tuples count as tuples of
/// arrays. For a sum type, the parts of other constructors are zero. `None` if the part does not
/// have these extents.
#[must_use]
pub fn extract_part(value: &Value, leaf: &TypeLeaf, dims: &[usize]) -> Option<Tensor> {
    if let Some(tensor) = uncopied_part(value, &leaf.path).and_then(|value| Tensor::of_value(&value)) {
        return (tensor.dims == dims || leaf.scalar.is_none()).then_some(tensor);
    }
    macro_rules! all {
        ($kind:ident, $zero:expr) => {{
            let mut items = Vec::new();
            let one = |value: &Value| if let Value::$kind(x) = value { Some(*x) } else { None };
            let many = |store: &Store, items: &mut Vec<_>, from: usize, count: usize| {
                let Store::$kind(all) = store else { return None };
                items.extend_from_slice(all.get(from..from.checked_add(count)?)?);
                Some(())
            };
            append_part(value, &leaf.path, dims, $zero, &one, &many, &mut items)?;
            Tensor::new(dims.to_vec(), items)
        }};
    }
    match leaf.scalar? {
        Scalar::F64 => all!(F64, 0.0),
        Scalar::F32 => all!(F32, 0.0),
        Scalar::I64 => all!(I64, 0),
        Scalar::Bool => all!(Bool, false),
    }
}

/// Returns the value at a path, if that needs no copy.
fn uncopied_part(value: &Value, path: &[u32]) -> Option<Value> {
    match (value, path.split_first()) {
        (_, None) => Some(value.clone()),
        (Value::Tuple(parts), Some((k, rest))) => {
            ensure_sufficient_stack(|| uncopied_part(parts.values().get(*k as usize)?, rest))
        }
        (Value::Record(record), Some((k, rest))) => ensure_sufficient_stack(|| uncopied_part(field(record, *k)?, rest)),
        (Value::Array(array), Some(_)) => array.column_at_path(path).map(Value::Array),
        _ => None,
    }
}

/// Returns the field with this number in the order of names.
fn field(record: &Record, k: u32) -> Option<&Value> {
    let mut names: Vec<&Name> = record.names().iter().collect();
    names.sort();
    record.values().get(record.position(names.get(k as usize)?, k as usize)?)
}

/// A function that extracts a number from a value.
type ReadNumber<'f, T> = &'f dyn Fn(&Value) -> Option<T>;
/// A function that appends numbers of a store, from an index on.
type AppendNumbers<'f, T> = &'f dyn Fn(&Store, &mut Vec<T>, usize, usize) -> Option<()>;

/// Appends the elements of the part at a path. A constructor that the value lacks counts as zeros.
fn append_part<T: Copy>(
    value: &Value,
    path: &[u32],
    dims: &[usize],
    zero: T,
    one: ReadNumber<'_, T>,
    many: AppendNumbers<'_, T>,
    items: &mut Vec<T>,
) -> Option<()> {
    let mut go = |value: &Value, path: &[u32], dims: &[usize]| {
        ensure_sufficient_stack(|| append_part(value, path, dims, zero, one, many, items))
    };
    match (value, path.split_first()) {
        (Value::Array(array), _) => {
            let inner = dims.get(array.dims().len()..)?;
            if let Some(elements) = array.elements() {
                return elements.iter().try_for_each(|v| go(v, path, inner));
            }
            let column = if path.is_empty() { array.clone() } else { array.column_at_path(path)? };
            let (buffer, start) = column.buffer();
            many(&buffer.store, items, start, column.count())
        }
        (Value::Tuple(parts), Some((k, rest))) => go(parts.values().get(*k as usize)?, rest, dims),
        (Value::Record(record), Some((k, rest))) => go(field(record, *k)?, rest, dims),
        (Value::Data(cell), Some((0, _))) => go(&Value::I64(i64::from(cell.tag().index)), &[], dims),
        (Value::Data(cell), Some((k, rest))) => match rest.split_first() {
            Some((j, rest)) if cell.tag().index == k - 1 => go(cell.args().get(*j as usize)?, rest, dims),
            _ => {
                let count = dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d))?;
                items.resize(items.len().checked_add(count)?, zero);
                Some(())
            }
        },
        (_, None) => {
            items.push(one(value)?);
            Some(())
        }
        _ => None,
    }
}

/// Assembles a value of a type from its parts. `written` is the type in the program; it determines
/// the order of fields. `extent` evaluates a size. The memory of tuples, and of boxed arrays of
/// them, is charged.
///
/// # Errors
/// The memory limit was exceeded, the run was interrupted, or the parts do not belong to the type.
pub fn assemble_value(
    ty: &CoreType,
    written: Option<&Type>,
    parts: &[Tensor],
    extent: &dyn Fn(&Poly) -> Option<usize>,
    around: &RunContext<'_>,
) -> Result<Value, RunError> {
    let whole = ValueAssembly { extent, context: around, failure: RefCell::new(None) };
    let value = whole.assemble(ty, written, &mut Vec::new(), parts);
    value.ok_or_else(|| whole.failure.take().unwrap_or(RunError::Internal("a part of the result")))
}

/// The assembly of one value.
struct ValueAssembly<'p> {
    extent: &'p dyn Fn(&Poly) -> Option<usize>,
    context: &'p RunContext<'p>,
    /// The reason why the assembly failed.
    failure: RefCell<Option<RunError>>,
}

/// The number of elements between two polls of the interrupt flag.
const POLL_INTERVAL: usize = 1 << 12;

impl ValueAssembly<'_> {
    /// Returns the result of an allocation. If it failed, records the reason.
    fn record_failure<T>(&self, room: Result<T, AllocationError>) -> Option<T> {
        room.map_err(|why| *self.failure.borrow_mut() = Some(RunError::TooLarge(why))).ok()
    }

    /// Charges the run for the values of a tuple or record.
    fn charge_items(&self, values: Vec<Value>) -> Option<Components> {
        self.record_failure(Components::new_charged(values, self.context.memory))
    }

    /// Assembles the value at these indices from the parts of its type.
    fn assemble(&self, ty: &CoreType, written: Option<&Type>, at: &mut Vec<i64>, parts: &[Tensor]) -> Option<Value> {
        match ty {
            CoreType::Tuple(types, labels) => self.assemble_tuple(types, labels, written, at, parts),
            CoreType::Rel(_) => parts.first()?.value(),
            CoreType::Scalar(_) => slice_at(parts.first()?, at)?.value(),
            CoreType::Tensor(..) => {
                let (dims, inner) = ty.split_array();
                match inner {
                    CoreType::Scalar(_) => slice_at(parts.first()?, at)?.value(),
                    CoreType::Rel(_) => None,
                    _ => {
                        let written = written.map(|w| w.split_array().1);
                        let dims: Vec<usize> = match parts.first() {
                            Some(part) => part.dims.get(at.len()..at.len() + dims.len())?.to_vec(),
                            None => dims.iter().map(|n| (self.extent)(n)).collect::<Option<_>>()?,
                        };
                        let memory = self.context.memory;
                        let count = self.record_failure(memory.element_count(dims.iter().copied()))?;
                        let mut columns = Vec::new();
                        if let Some(form) = flat_form(inner, written, parts, &mut columns) {
                            let columns = columns.into_iter().map(|part| column_at(part, at, count));
                            let columns = columns.collect::<Option<Vec<_>>>()?;
                            return Some(Value::Array(Array::from_columns(&dims, Arc::new(form), columns)?));
                        }
                        let bytes = u64::try_from(count.saturating_mul(boxed_bytes(inner))).unwrap_or(u64::MAX);
                        self.record_failure(memory.check_fits(bytes))?;
                        let (mut elements, charge) = self.record_failure(memory.vec_with_capacity(count))?;
                        if count > 0 {
                            self.assemble_elements(inner, written, &dims, at, parts, &mut elements)?;
                        }
                        Some(Value::Array(Array::new(&dims, elements.into(), charge)?))
                    }
                }
            }
        }
    }

    /// Assembles the elements of a boxed array.
    fn assemble_elements(
        &self,
        ty: &CoreType,
        written: Option<&Type>,
        dims: &[usize],
        at: &mut Vec<i64>,
        parts: &[Tensor],
        elements: &mut Vec<Value>,
    ) -> Option<()> {
        let Some((n, rest)) = dims.split_first() else {
            if elements.len().is_multiple_of(POLL_INTERVAL) && self.context.interrupt.load(Ordering::Relaxed) {
                *self.failure.borrow_mut() = Some(RunError::Interrupted);
                return None;
            }
            elements.push(ensure_sufficient_stack(|| self.assemble(ty, written, at, parts))?);
            return Some(());
        };
        for i in 0..*n {
            at.push(i64::try_from(i).ok()?);
            ensure_sufficient_stack(|| self.assemble_elements(ty, written, rest, at, parts, elements))?;
            at.pop();
        }
        Some(())
    }

    /// Assembles a tuple, a record or a value of a sum type.
    fn assemble_tuple(
        &self,
        types: &[CoreType],
        labels: &TupleLabels,
        written: Option<&Type>,
        at: &mut Vec<i64>,
        parts: &[Tensor],
    ) -> Option<Value> {
        let mut first = 0_usize;
        let mut items = Vec::new();
        let held = match labels {
            TupleLabels::Sum(_) => Some(slice_at(parts.first()?, at)?.value()?.as_i64()?),
            _ => None,
        };
        for (k, ty) in types.iter().enumerate() {
            let count = ty.leaves().len();
            let own = parts.get(first..first.checked_add(count)?)?;
            first += count;
            // A value of a sum type contains only the arguments of its constructor.
            let wanted = held.is_none_or(|held| i64::try_from(k).is_ok_and(|k| k == held + 1));
            if !wanted {
                continue;
            }
            let written = match (labels, written) {
                (TupleLabels::Positions, Some(Type::Tuple(types))) => types.get(k),
                (TupleLabels::Fields(names), Some(Type::Record(fields))) => {
                    let name = names.get(k)?;
                    fields.iter().find(|(n, _)| n == name).map(|(_, t)| t)
                }
                _ => None,
            };
            items.push(ensure_sufficient_stack(|| self.assemble(ty, written, at, own))?);
        }
        Some(match labels {
            TupleLabels::Positions => Value::Tuple(Arc::new(self.charge_items(items)?)),
            TupleLabels::Fields(names) => {
                let mut fields: Vec<(Name, Value)> = names.iter().cloned().zip(items).collect();
                if let Some(Type::Record(order)) = written {
                    fields.sort_by_key(|(name, _)| order.iter().position(|(n, _)| n == name));
                }
                let (names, values): (Vec<Name>, Vec<Value>) = fields.into_iter().unzip();
                Value::Record(Arc::new(Record { names: names.into(), components: self.charge_items(values)? }))
            }
            TupleLabels::Sum(sum) => {
                let held = usize::try_from(held?).ok()?;
                let Some(Value::Tuple(args)) = items.pop() else { return None };
                let args = args.values().to_vec();
                let index = u32::try_from(held).ok()?;
                let name = sum.constructors.get(held)?.clone();
                let tag = ConstructorTag { ty: sum.name.clone(), index, name, arity: args.len() };
                Value::Data(Arc::new(DataCell { tag: Arc::new(tag), items: self.charge_items(args)? }))
            }
        })
    }
}

/// Returns the form of a tuple or record of scalars, and collects its parts in the order of the
/// value. `None` if the type contains anything else.
fn flat_form<'t>(
    ty: &CoreType,
    written: Option<&Type>,
    parts: &'t [Tensor],
    columns: &mut Vec<&'t Tensor>,
) -> Option<ElementForm> {
    let CoreType::Tuple(types, labels) = ty else {
        let CoreType::Scalar(scalar) = ty else { return None };
        columns.push(parts.first()?);
        return Some(ElementForm::Scalar(*scalar));
    };
    let mut of = Vec::new();
    let mut first = 0_usize;
    for ty in types.iter() {
        let count = ty.leaves().len();
        of.push((ty, parts.get(first..first.checked_add(count)?)?));
        first += count;
    }
    let mut each = |k: usize, written: Option<&Type>| {
        let (ty, parts) = *of.get(k)?;
        ensure_sufficient_stack(|| flat_form(ty, written, parts, columns))
    };
    match labels {
        TupleLabels::Positions => {
            let written = |k: usize| if let Some(Type::Tuple(types)) = written { types.get(k) } else { None };
            Some(ElementForm::Tuple((0..types.len()).map(|k| each(k, written(k))).collect::<Option<_>>()?))
        }
        TupleLabels::Fields(names) => {
            let fields = if let Some(Type::Record(fields)) = written { &fields[..] } else { &[] };
            let place = |name: &Name| fields.iter().position(|(n, _)| n == name);
            let mut order: Vec<usize> = (0..names.len()).collect();
            order.sort_by_key(|k| names.get(*k).and_then(place));
            let forms = order.iter().map(|k| each(*k, place(names.get(*k)?).and_then(|p| Some(&fields.get(p)?.1))));
            let forms = forms.collect::<Option<Vec<_>>>()?;
            Some(ElementForm::Record(order.iter().filter_map(|k| names.get(*k).cloned()).collect(), forms))
        }
        TupleLabels::Sum(_) => None,
    }
}

/// Returns the elements of a part at these indices, as an array of one axis.
fn column_at(part: &Tensor, at: &[i64], count: usize) -> Option<Array> {
    let mut tensor = slice_at(part, at)?;
    (tensor.count() == count).then(|| tensor.dims = vec![count])?;
    if let Value::Array(array) = tensor.value()? { Some(array) } else { None }
}

/// Returns the bytes of a boxed element of an array, without those of arrays within it.
fn boxed_bytes(ty: &CoreType) -> usize {
    size_of::<Value>()
        + match ty {
            CoreType::Tuple(types, _) => {
                let parts: usize = types.iter().map(|t| ensure_sufficient_stack(|| boxed_bytes(t))).sum();
                size_of::<Components>().saturating_add(parts)
            }
            CoreType::Scalar(_) | CoreType::Tensor(..) | CoreType::Rel(_) => 0,
        }
}

/// Returns the slice of a part at these first indices.
fn slice_at(part: &Tensor, at: &[i64]) -> Option<Tensor> {
    let mut offset = 0_usize;
    for (i, n) in at.iter().zip(&part.dims) {
        offset = offset.checked_mul(*n)?.checked_add(usize::try_from(*i).ok()?)?;
    }
    let dims = part.dims.get(at.len()..)?;
    part.slice_at(at.len(), offset.checked_mul(dims.iter().product())?)
}
