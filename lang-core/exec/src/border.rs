//! **Marshalling** between values of the interpreter and tensors, part by part. Arrays of numbers,
//! and of tuples and records of numbers, are copied in neither direction.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Stopped;
use super::tensor::Tensor;
use lang_base::Name;
use lang_base::guarded;
use lang_ir::core::{CoreType, Labels, Leaf};
use lang_runtime::array::Array;
use lang_runtime::columns::Form;
use lang_runtime::memory::TooLarge;
use lang_runtime::offload::Around;
use lang_runtime::value::{Cell, Items, Record, Tag};
use lang_runtime::{Store, Value};
use lang_sizes::predicate::Poly;
use lang_syntax::ops::Scalar;
use lang_types::ty::Type;

/// Returns the part of a value at a path through its tuples; arrays of tuples count as tuples of
/// arrays. For a sum type, the parts of other constructors are zero. `None` if the part does not
/// have these extents.
#[must_use]
pub fn part(value: &Value, leaf: &Leaf, dims: &[usize]) -> Option<Tensor> {
    if let Some(tensor) = whole(value, &leaf.path).and_then(|value| Tensor::of_value(&value)) {
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
            fill(value, &leaf.path, dims, $zero, &one, &many, &mut items)?;
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

/// The part at a path that a value has in one piece.
fn whole(value: &Value, path: &[u32]) -> Option<Value> {
    match (value, path.split_first()) {
        (_, None) => Some(value.clone()),
        (Value::Tuple(parts), Some((k, rest))) => guarded(|| whole(parts.values().get(*k as usize)?, rest)),
        (Value::Record(record), Some((k, rest))) => guarded(|| whole(field(record, *k)?, rest)),
        (Value::Array(array), Some(_)) => array.column_at(path).map(Value::Array),
        _ => None,
    }
}

/// A field, counted in the order of the names.
fn field(record: &Record, k: u32) -> Option<&Value> {
    let mut names: Vec<&Name> = record.names().iter().collect();
    names.sort();
    record.values().get(record.position(names.get(k as usize)?, k as usize)?)
}

/// Takes a number out of a value, and numbers out of a store.
type One<'f, T> = &'f dyn Fn(&Value) -> Option<T>;
type Many<'f, T> = &'f dyn Fn(&Store, &mut Vec<T>, usize, usize) -> Option<()>;

fn fill<T: Copy>(
    value: &Value,
    path: &[u32],
    dims: &[usize],
    zero: T,
    one: One<'_, T>,
    many: Many<'_, T>,
    items: &mut Vec<T>,
) -> Option<()> {
    let mut go =
        |value: &Value, path: &[u32], dims: &[usize]| guarded(|| fill(value, path, dims, zero, one, many, items));
    match (value, path.split_first()) {
        (Value::Array(array), _) => {
            let inner = dims.get(array.dims().len()..)?;
            if let Some(elements) = array.elements() {
                return elements.iter().try_for_each(|v| go(v, path, inner));
            }
            let column = if path.is_empty() { array.clone() } else { array.column_at(path)? };
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
pub fn value(
    ty: &CoreType,
    written: Option<&Type>,
    parts: &[Tensor],
    extent: &dyn Fn(&Poly) -> Option<usize>,
    around: &Around<'_>,
) -> Result<Value, Stopped> {
    let whole = Whole { extent, around, stopped: RefCell::new(None) };
    let value = whole.made(ty, written, &mut Vec::new(), parts);
    value.ok_or_else(|| whole.stopped.take().unwrap_or(Stopped::Broken("a part of the result")))
}

struct Whole<'p> {
    extent: &'p dyn Fn(&Poly) -> Option<usize>,
    around: &'p Around<'p>,
    /// Why nothing was made.
    stopped: RefCell<Option<Stopped>>,
}

/// Between so many elements an interruption is noticed.
const OFTEN: usize = 1 << 12;

impl Whole<'_> {
    /// The result; without room nothing, and the reason is kept.
    fn room<T>(&self, room: Result<T, TooLarge>) -> Option<T> {
        room.map_err(|why| *self.stopped.borrow_mut() = Some(Stopped::TooLarge(why))).ok()
    }

    /// Values of a tuple or a record.
    fn items(&self, values: Vec<Value>) -> Option<Items> {
        self.room(Items::charged(values, self.around.memory))
    }

    /// The value behind these indices. `parts`: those of the type.
    fn made(&self, ty: &CoreType, written: Option<&Type>, at: &mut Vec<i64>, parts: &[Tensor]) -> Option<Value> {
        match ty {
            CoreType::Tuple(types, labels) => self.tuple(types, labels, written, at, parts),
            CoreType::Rel(_) => parts.first()?.value(),
            CoreType::Scalar(_) => behind(parts.first()?, at)?.value(),
            CoreType::Tensor(..) => {
                let (dims, inner) = ty.peel();
                match inner {
                    CoreType::Scalar(_) => behind(parts.first()?, at)?.value(),
                    CoreType::Rel(_) => None,
                    _ => {
                        let written = written.map(|w| w.peel().1);
                        let dims: Vec<usize> = match parts.first() {
                            Some(part) => part.dims.get(at.len()..at.len() + dims.len())?.to_vec(),
                            None => dims.iter().map(|n| (self.extent)(n)).collect::<Option<_>>()?,
                        };
                        let memory = self.around.memory;
                        let count = self.room(memory.count(dims.iter().copied()))?;
                        let mut columns = Vec::new();
                        if let Some(form) = flat(inner, written, parts, &mut columns) {
                            let columns = columns.into_iter().map(|part| column(part, at, count));
                            let columns = columns.collect::<Option<Vec<_>>>()?;
                            return Some(Value::Array(Array::of_columns(&dims, Arc::new(form), columns)?));
                        }
                        let bytes = u64::try_from(count.saturating_mul(boxed(inner))).unwrap_or(u64::MAX);
                        self.room(memory.fits(bytes))?;
                        let (mut elements, charge) = self.room(memory.vec(count))?;
                        if count > 0 {
                            self.elements(inner, written, &dims, at, parts, &mut elements)?;
                        }
                        Some(Value::Array(Array::new(&dims, elements.into(), charge)?))
                    }
                }
            }
        }
    }

    fn elements(
        &self,
        ty: &CoreType,
        written: Option<&Type>,
        dims: &[usize],
        at: &mut Vec<i64>,
        parts: &[Tensor],
        elements: &mut Vec<Value>,
    ) -> Option<()> {
        let Some((n, rest)) = dims.split_first() else {
            if elements.len().is_multiple_of(OFTEN) && self.around.interrupt.load(Ordering::Relaxed) {
                *self.stopped.borrow_mut() = Some(Stopped::Interrupted);
                return None;
            }
            elements.push(guarded(|| self.made(ty, written, at, parts))?);
            return Some(());
        };
        for i in 0..*n {
            at.push(i64::try_from(i).ok()?);
            guarded(|| self.elements(ty, written, rest, at, parts, elements))?;
            at.pop();
        }
        Some(())
    }

    fn tuple(
        &self,
        types: &[CoreType],
        labels: &Labels,
        written: Option<&Type>,
        at: &mut Vec<i64>,
        parts: &[Tensor],
    ) -> Option<Value> {
        let mut first = 0_usize;
        let mut items = Vec::new();
        let held = match labels {
            Labels::Sum(_) => Some(behind(parts.first()?, at)?.value()?.as_i64()?),
            _ => None,
        };
        for (k, ty) in types.iter().enumerate() {
            let count = ty.leaves().len();
            let own = parts.get(first..first.checked_add(count)?)?;
            first += count;
            // Of a value of a sum type only what it is made with counts.
            let wanted = held.is_none_or(|held| i64::try_from(k).is_ok_and(|k| k == held + 1));
            if !wanted {
                continue;
            }
            let written = match (labels, written) {
                (Labels::Places, Some(Type::Tuple(types))) => types.get(k),
                (Labels::Fields(names), Some(Type::Record(fields))) => {
                    let name = names.get(k)?;
                    fields.iter().find(|(n, _)| n == name).map(|(_, t)| t)
                }
                _ => None,
            };
            items.push(guarded(|| self.made(ty, written, at, own))?);
        }
        Some(match labels {
            Labels::Places => Value::Tuple(Arc::new(self.items(items)?)),
            Labels::Fields(names) => {
                let mut fields: Vec<(Name, Value)> = names.iter().cloned().zip(items).collect();
                if let Some(Type::Record(order)) = written {
                    fields.sort_by_key(|(name, _)| order.iter().position(|(n, _)| n == name));
                }
                let (names, values): (Vec<Name>, Vec<Value>) = fields.into_iter().unzip();
                Value::Record(Arc::new(Record { names: names.into(), items: self.items(values)? }))
            }
            Labels::Sum(sum) => {
                let held = usize::try_from(held?).ok()?;
                let Some(Value::Tuple(args)) = items.pop() else { return None };
                let args = args.values().to_vec();
                let index = u32::try_from(held).ok()?;
                let name = sum.constructors.get(held)?.clone();
                let tag = Tag { ty: sum.name.clone(), index, name, arity: args.len() };
                Value::Data(Arc::new(Cell { tag: Arc::new(tag), items: self.items(args)? }))
            }
        })
    }
}

/// The shape of a tuple or record of scalars, and the parts of its scalars in the order of the value; `None` if it holds more.
fn flat<'t>(ty: &CoreType, written: Option<&Type>, parts: &'t [Tensor], columns: &mut Vec<&'t Tensor>) -> Option<Form> {
    let CoreType::Tuple(types, labels) = ty else {
        let CoreType::Scalar(scalar) = ty else { return None };
        columns.push(parts.first()?);
        return Some(Form::Scalar(*scalar));
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
        guarded(|| flat(ty, written, parts, columns))
    };
    match labels {
        Labels::Places => {
            let written = |k: usize| if let Some(Type::Tuple(types)) = written { types.get(k) } else { None };
            Some(Form::Tuple((0..types.len()).map(|k| each(k, written(k))).collect::<Option<_>>()?))
        }
        Labels::Fields(names) => {
            let fields = if let Some(Type::Record(fields)) = written { &fields[..] } else { &[] };
            let place = |name: &Name| fields.iter().position(|(n, _)| n == name);
            let mut order: Vec<usize> = (0..names.len()).collect();
            order.sort_by_key(|k| names.get(*k).and_then(place));
            let forms = order.iter().map(|k| each(*k, place(names.get(*k)?).and_then(|p| Some(&fields.get(p)?.1))));
            let forms = forms.collect::<Option<Vec<_>>>()?;
            Some(Form::Record(order.iter().filter_map(|k| names.get(*k).cloned()).collect(), forms))
        }
        Labels::Sum(_) => None,
    }
}

/// The elements of a part behind these indices, on one axis.
fn column(part: &Tensor, at: &[i64], count: usize) -> Option<Array> {
    let mut tensor = behind(part, at)?;
    (tensor.count() == count).then(|| tensor.dims = vec![count])?;
    if let Value::Array(array) = tensor.value()? { Some(array) } else { None }
}

/// The bytes of one element of an array of tuples, without those of arrays in it.
fn boxed(ty: &CoreType) -> usize {
    size_of::<Value>()
        + match ty {
            CoreType::Tuple(types, _) => {
                let parts: usize = types.iter().map(|t| guarded(|| boxed(t))).sum();
                size_of::<Items>().saturating_add(parts)
            }
            CoreType::Scalar(_) | CoreType::Tensor(..) | CoreType::Rel(_) => 0,
        }
}

/// The elements of a part behind these indices.
fn behind(part: &Tensor, at: &[i64]) -> Option<Tensor> {
    let mut offset = 0_usize;
    for (i, n) in at.iter().zip(&part.dims) {
        offset = offset.checked_mul(*n)?.checked_add(usize::try_from(*i).ok()?)?;
    }
    let dims = part.dims.get(at.len()..)?;
    part.part(at.len(), offset.checked_mul(dims.iter().product())?)
}
