//! **Structure of arrays.** Stores elements that are tuples or records of scalars flat: one buffer
//! for each scalar of an element. An array of `(f64, i64)` takes 16 bytes per element. Other
//! elements, and those with dual numbers, are boxed ([`super::array`]).

use std::sync::Arc;

use super::array::{Array, Store, UnboxedElement};
use super::memory::{AllocationError, MemoryAccount, MemoryCharge};
use super::value::{Components, Record, Value};
use lang_base::Name;
use lang_base::ensure_sufficient_stack;
use lang_types::ty::Scalar;

/// The shape of an element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ElementForm {
    /// A number or truth value.
    Scalar(Scalar),
    /// A tuple.
    Tuple(Vec<Self>),
    /// A record, with its fields in the order of the value.
    Record(Arc<[Name]>, Vec<Self>),
}

impl ElementForm {
    /// Returns the form of a tuple or record of scalars, or `None` for any other value.
    pub fn of_value(value: &Value) -> Option<Self> {
        matches!(value, Value::Tuple(_) | Value::Record(_)).then(|| Self::of_component(value))?
    }

    fn of_component(value: &Value) -> Option<Self> {
        let all = |values: &[Value]| {
            values.iter().map(|v| ensure_sufficient_stack(|| Self::of_component(v))).collect::<Option<Vec<_>>>()
        };
        Some(match value {
            Value::F64(_) => Self::Scalar(Scalar::F64),
            Value::F32(_) => Self::Scalar(Scalar::F32),
            Value::I64(_) => Self::Scalar(Scalar::I64),
            Value::Bool(_) => Self::Scalar(Scalar::Bool),
            Value::Tuple(t) => Self::Tuple(all(t.values())?),
            Value::Record(r) => Self::Record(r.names.clone(), all(r.values())?),
            _ => return None,
        })
    }

    /// Calls `see` with each scalar of a value, in order. Returns false, possibly after some calls,
    /// if the value has another form.
    pub fn for_each_scalar<'v>(&self, value: &'v Value, see: &mut dyn FnMut(&'v Value)) -> bool {
        let mut all = |forms: &[Self], values: &'v [Value]| {
            forms.len() == values.len()
                && forms.iter().zip(values).all(|(f, v)| ensure_sufficient_stack(|| f.for_each_scalar(v, see)))
        };
        match (self, value) {
            (Self::Scalar(Scalar::F64), Value::F64(_))
            | (Self::Scalar(Scalar::F32), Value::F32(_))
            | (Self::Scalar(Scalar::I64), Value::I64(_))
            | (Self::Scalar(Scalar::Bool), Value::Bool(_)) => {
                see(value);
                true
            }
            (Self::Tuple(forms), Value::Tuple(t)) => all(forms, t.values()),
            (Self::Record(names, forms), Value::Record(r)) => {
                (Arc::ptr_eq(names, &r.names) || names == &r.names) && all(forms, r.values())
            }
            _ => false,
        }
    }

    /// Calls `see` with the kind of each scalar, in order.
    fn for_each_kind(&self, see: &mut dyn FnMut(Scalar)) {
        match self {
            Self::Scalar(s) => see(*s),
            Self::Tuple(forms) | Self::Record(_, forms) => {
                forms.iter().for_each(|f| ensure_sufficient_stack(|| f.for_each_kind(see)))
            }
        }
    }

    /// Builds a value of this form from its scalars. Charges it if `memory` is present.
    fn build_value(
        &self,
        scalars: &mut dyn Iterator<Item = Option<Value>>,
        memory: Option<&MemoryAccount>,
    ) -> Result<Option<Value>, AllocationError> {
        let (Self::Tuple(forms) | Self::Record(_, forms)) = self else { return Ok(scalars.next().flatten()) };
        let mut values = Vec::with_capacity(forms.len());
        for form in forms {
            let Some(value) = ensure_sufficient_stack(|| form.build_value(scalars, memory))? else { return Ok(None) };
            values.push(value);
        }
        let items = match memory {
            Some(memory) => Components::new_charged(values, memory)?,
            None => Components::new(values),
        };
        Ok(Some(match self {
            Self::Record(names, _) => Value::Record(Arc::new(Record { names: names.clone(), components: items })),
            _ => Value::Tuple(Arc::new(items)),
        }))
    }

    /// Returns the number of the scalar at a path. A path counts fields in the order of their
    /// names.
    fn scalar_number(&self, path: &[u32]) -> Option<usize> {
        let Some((k, rest)) = path.split_first() else { return matches!(self, Self::Scalar(_)).then_some(0) };
        let (at, forms) = match self {
            Self::Scalar(_) => return None,
            Self::Tuple(forms) => (*k as usize, forms),
            Self::Record(names, forms) => {
                let mut sorted: Vec<&Name> = names.iter().collect();
                sorted.sort();
                let name = *sorted.get(*k as usize)?;
                (names.iter().position(|n| n == name)?, forms)
            }
        };
        let mut before = 0;
        forms.get(..at)?.iter().for_each(|form| form.for_each_kind(&mut |_| before += 1));
        Some(before + ensure_sufficient_stack(|| forms.get(at)?.scalar_number(rest))?)
    }
}

/// Elements stored as one array of one axis for each of their scalars.
pub struct Columns {
    form: Arc<ElementForm>,
    arrays: Vec<Array>,
    len: usize,
}

impl Columns {
    /// Returns `None` if the number or length of the parts does not fit the form.
    fn new(form: Arc<ElementForm>, parts: Vec<Array>, len: usize) -> Option<Self> {
        let mut scalars = 0;
        form.for_each_kind(&mut |_| scalars += 1);
        (scalars == parts.len() && parts.iter().all(|part| part.count() == len)).then_some(Self {
            form,
            arrays: parts,
            len,
        })
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the form of the elements.
    pub fn form(&self) -> &Arc<ElementForm> {
        &self.form
    }

    /// Returns the arrays, one for each scalar of the form.
    pub fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    /// Returns the arrays for writing, one for each scalar of the form.
    pub fn arrays_mut(&mut self) -> &mut [Array] {
        &mut self.arrays
    }

    /// Moves the arrays out, one for each scalar of the form.
    pub fn into_arrays(self) -> Vec<Array> {
        self.arrays
    }

    /// Returns an element. Charges it if `memory` is present.
    pub fn element(&self, at: usize, memory: Option<&MemoryAccount>) -> Result<Option<Value>, AllocationError> {
        if at >= self.len {
            return Ok(None);
        }
        self.form.build_value(&mut self.arrays.iter().map(|part| part.element(at)), memory)
    }

    /// Returns the number of the part at a path through an element. A path counts fields in the
    /// order of their names.
    pub fn column_number(&self, path: &[u32]) -> Option<usize> {
        self.form.scalar_number(path)
    }
}

/// Columns under construction.
pub struct ColumnsBuilder {
    form: Arc<ElementForm>,
    stores: Vec<(Store, MemoryCharge)>,
    len: usize,
}

impl ColumnsBuilder {
    /// Creates empty columns of a form.
    pub fn new(form: Arc<ElementForm>) -> Self {
        let mut parts = Vec::new();
        form.for_each_kind(&mut |s| {
            let none = match s {
                Scalar::F64 => Store::F64(Vec::new()),
                Scalar::F32 => Store::F32(Vec::new()),
                Scalar::I64 => Store::I64(Vec::new()),
                Scalar::Bool => Store::Bool(Vec::new()),
            };
            parts.push((none, MemoryCharge::default()));
        });
        Self { form, stores: parts, len: 0 }
    }

    /// Returns the number of elements so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no element was appended yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends an element. Returns false if it has another form. `expected` is the final number of
    /// elements, or 0 if unknown.
    pub fn push(&mut self, memory: &MemoryAccount, value: &Value, expected: usize) -> Result<bool, AllocationError> {
        let mut scalars = Vec::with_capacity(self.stores.len());
        if !self.form.for_each_scalar(value, &mut |scalar| scalars.push(scalar)) {
            return Ok(false);
        }
        for ((store, charge), scalar) in self.stores.iter_mut().zip(scalars) {
            let room = (memory, charge, expected);
            match (store, scalar) {
                (Store::F64(v), Value::F64(x)) => extend_column(v, &[*x], room)?,
                (Store::F32(v), Value::F32(x)) => extend_column(v, &[*x], room)?,
                (Store::I64(v), Value::I64(x)) => extend_column(v, &[*x], room)?,
                (Store::Bool(v), Value::Bool(x)) => extend_column(v, &[*x], room)?,
                _ => {}
            }
        }
        self.len += 1;
        Ok(true)
    }

    /// Appends the elements of an array. Returns false if they have another form.
    pub fn append(&mut self, memory: &MemoryAccount, array: &Array, expected: usize) -> Result<bool, AllocationError> {
        if array.form() != Some(&self.form) {
            return Ok(false);
        }
        for (k, (store, charge)) in self.stores.iter_mut().enumerate() {
            fn all<T: UnboxedElement>(part: Option<&Array>) -> &[T] {
                part.and_then(Array::slice).unwrap_or_default()
            }
            let part = array.column(k);
            let room = (memory, charge, expected);
            match store {
                Store::F64(v) => extend_column(v, all(part.as_ref()), room)?,
                Store::F32(v) => extend_column(v, all(part.as_ref()), room)?,
                Store::I64(v) => extend_column(v, all(part.as_ref()), room)?,
                Store::Bool(v) => extend_column(v, all(part.as_ref()), room)?,
                Store::Boxed(_) | Store::Columns(_) => {}
            }
        }
        self.len += array.count();
        Ok(true)
    }

    /// Returns the finished store.
    pub fn finish(self) -> Option<Store> {
        let len = self.len;
        let parts = self.stores.into_iter().map(|(store, charge)| Array::new(&[len], store, charge));
        Columns::new(self.form, parts.collect::<Option<_>>()?, len).map(Store::Columns)
    }
}

/// Appends elements to a part and adjusts its charge.
fn extend_column<T: Copy>(
    to: &mut Vec<T>,
    more: &[T],
    room: (&MemoryAccount, &mut MemoryCharge, usize),
) -> Result<(), AllocationError> {
    let (memory, charge, expected) = room;
    let needed = to.len().saturating_add(more.len());
    if needed > to.capacity() {
        let capacity = match expected {
            0 => memory.grown_capacity(to.len(), more.len()),
            expected => needed.max(expected),
        };
        memory.grow_vec(to, charge, capacity)?;
    }
    to.extend_from_slice(more);
    Ok(())
}

impl Store {
    /// Stores elements flat if they are tuples or records of scalars of one form, else boxed.
    #[must_use]
    pub fn from_values(elements: Vec<Value>) -> Self {
        let flat = || {
            let mut columns = ColumnsBuilder::new(Arc::new(ElementForm::of_value(elements.first()?)?));
            let memory = MemoryAccount::new(super::RunLimits {
                max_elements: usize::MAX,
                max_bytes: usize::MAX,
                ..Default::default()
            });
            for element in &elements {
                if !columns.push(&memory, element, elements.len()).ok()? {
                    return None;
                }
            }
            columns.finish()
        };
        flat().unwrap_or_else(|| elements.into())
    }
}

impl Array {
    /// Builds an array from its columns, one array of the same extents for each scalar of an
    /// element.
    pub fn from_columns(dims: &[usize], form: Arc<ElementForm>, parts: Vec<Self>) -> Option<Self> {
        let count = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
        Self::new(dims, Store::Columns(Columns::new(form, parts, count)?), MemoryCharge::default())
    }

    fn columns(&self) -> Option<&Columns> {
        if let Store::Columns(columns) = self.store() { Some(columns) } else { None }
    }

    /// Returns the form of the elements, if they are stored flat.
    pub fn form(&self) -> Option<&Arc<ElementForm>> {
        self.columns().map(Columns::form)
    }

    /// Returns the array of scalar `k` of each element.
    pub fn column(&self, k: usize) -> Option<Self> {
        self.columns()?.arrays().get(k).map(|part| self.view_into(part))
    }

    /// Returns the arrays of all scalars of the elements.
    pub fn all_columns(&self) -> Vec<Self> {
        self.columns().map(Columns::arrays).unwrap_or_default().iter().map(|part| self.view_into(part)).collect()
    }

    /// Returns the array of the scalar at a path through each element. A path counts fields in the
    /// order of their names.
    pub fn column_at_path(&self, path: &[u32]) -> Option<Self> {
        self.column(self.columns()?.column_number(path)?)
    }
}
