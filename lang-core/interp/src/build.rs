//! **Array builder.** Collects the elements of an array one by one, directly in a buffer of their
//! kind. Binders, folds and array literals use it.

use std::sync::Arc;

use lang_runtime::array::{Array, Elem, Store};
use lang_runtime::columns::{Form, Growing};
use lang_runtime::memory::{Charge, Memory, TooLarge};
use lang_runtime::value::Value;

/// An array under construction: equal parts, each an element or an array.
pub(super) struct Builder {
    store: Option<Store>,
    charge: Charge,
    /// The elements, if they are tuples or records of scalars; then `store` is empty.
    columns: Option<Growing>,
    /// The shape of each part.
    part: Vec<usize>,
    parts: usize,
    /// The number of parts to expect, or 0 if it is unknown.
    expected: usize,
}

/// The reason why a part cannot be added.
pub(super) enum BuildError {
    TooLarge(TooLarge),
    /// The shape of the part, then the different shape of the first.
    Ragged(Vec<usize>, Vec<usize>),
    /// The kind of the part differs from that of the first.
    Mixed,
}

impl From<TooLarge> for BuildError {
    fn from(e: TooLarge) -> Self {
        Self::TooLarge(e)
    }
}

impl Builder {
    pub(super) fn new(expected: usize) -> Self {
        Self { store: None, charge: Charge::default(), columns: None, part: Vec::new(), parts: 0, expected }
    }

    pub(super) fn expect(&mut self, parts: usize) {
        self.expected = parts;
    }

    /// Returns the number of parts so far.
    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    pub(super) fn push(&mut self, memory: &Memory, value: Value) -> Result<(), BuildError> {
        match value {
            Value::F64(x) => self.one(memory, x),
            Value::F32(x) => self.one(memory, x),
            Value::I64(x) => self.one(memory, x),
            Value::Bool(x) => self.one(memory, x),
            Value::Array(ref a) => match a.store() {
                Store::F64(_) => self.many(memory, a, a.slice::<f64>().unwrap_or_default()),
                Store::F32(_) => self.many(memory, a, a.slice::<f32>().unwrap_or_default()),
                Store::I64(_) => self.many(memory, a, a.slice::<i64>().unwrap_or_default()),
                Store::Bool(_) => self.many(memory, a, a.slice::<bool>().unwrap_or_default()),
                Store::Columns(columns) => {
                    self.shaped(a.dims())?;
                    if self.is_empty() {
                        self.columns = Some(Growing::new(columns.form().clone()));
                    }
                    let expected = self.expected.saturating_mul(a.count());
                    if let Some(columns) = &mut self.columns
                        && columns.append(memory, a, expected)?
                    {
                        return Ok(());
                    }
                    let boxed = a.boxed_copy(memory)?;
                    self.all_boxed(memory, boxed.boxed().unwrap_or_default())
                }
                Store::Boxed(_) => {
                    self.shaped(a.dims())?;
                    self.all_boxed(memory, a.boxed().unwrap_or_default())
                }
            },
            other => {
                self.shaped(&[])?;
                if self.is_empty() {
                    self.columns = Form::of(&other).map(|form| Growing::new(Arc::new(form)));
                }
                if let Some(columns) = &mut self.columns
                    && columns.push(memory, &other, self.expected)?
                {
                    return Ok(());
                }
                self.boxed(memory, 1, std::iter::once(other))
            }
        }
    }

    /// Whether it has no elements so far.
    fn is_empty(&self) -> bool {
        self.store.is_none() && self.columns.as_ref().is_none_or(|columns| columns.len() == 0)
    }

    fn all_boxed(&mut self, memory: &Memory, elements: &[Value]) -> Result<(), BuildError> {
        self.boxed(memory, elements.len(), elements.iter().cloned())
    }

    fn shaped(&mut self, dims: &[usize]) -> Result<(), BuildError> {
        if self.parts == 0 {
            self.part = dims.to_vec();
        } else if self.part != dims {
            return Err(BuildError::Ragged(dims.to_vec(), self.part.clone()));
        }
        self.parts += 1;
        Ok(())
    }

    fn one<T: Elem>(&mut self, memory: &Memory, x: T) -> Result<(), BuildError> {
        self.shaped(&[])?;
        self.extend(memory, &[x])
    }

    fn many<T: Elem>(&mut self, memory: &Memory, array: &Array, elements: &[T]) -> Result<(), BuildError> {
        self.shaped(array.dims())?;
        self.extend(memory, elements)
    }

    /// Returns the capacity that `vec` needs for a part of `more` elements.
    fn capacity<T>(&self, memory: &Memory, vec: &Vec<T>, more: usize) -> usize {
        let needed = vec.len().saturating_add(more);
        if needed <= vec.capacity() {
            needed
        } else if vec.is_empty() && self.expected > 0 {
            needed.max(self.expected.saturating_mul(more))
        } else {
            memory.capacity(vec.len(), more)
        }
    }

    fn extend<T: Elem>(&mut self, memory: &Memory, elements: &[T]) -> Result<(), BuildError> {
        if self.columns.is_some() {
            return Err(BuildError::Mixed);
        }
        let mut vec = match self.store.take() {
            None => Vec::new(),
            // Constant reals among dual numbers.
            Some(store @ Store::Boxed(_)) => {
                self.store = Some(store);
                return self.boxed(memory, elements.len(), elements.iter().map(|x| x.value()));
            }
            Some(store) => T::unwrap(store).ok_or(BuildError::Mixed)?,
        };
        let capacity = self.capacity(memory, &vec, elements.len());
        memory.grow(&mut vec, &mut self.charge, capacity)?;
        vec.extend_from_slice(elements);
        self.store = Some(T::wrap(vec));
        Ok(())
    }

    fn boxed(&mut self, memory: &Memory, more: usize, elements: impl Iterator<Item = Value>) -> Result<(), BuildError> {
        // The element has a different form than those before, because it holds a dual number.
        if let Some(columns) = self.columns.take() {
            self.store = columns.finish();
        }
        let mut vec = match self.store.take() {
            None => Vec::new(),
            Some(Store::Boxed(items)) => items.into_values(),
            // The first dual number among reals.
            Some(store) => {
                let (vec, charge) = store.into_boxed(memory)?;
                self.charge = charge;
                vec
            }
        };
        let capacity = self.capacity(memory, &vec, more);
        memory.grow(&mut vec, &mut self.charge, capacity)?;
        vec.extend(elements);
        self.store = Some(vec.into());
        Ok(())
    }

    /// Returns the array with these outer extents. Returns `None` without parts, because kind and
    /// inner shape are then unknown, or if the extents do not match the number of parts.
    pub(super) fn finish(self, outer: &[usize]) -> Option<Array> {
        let dims: Vec<usize> = outer.iter().chain(&self.part).copied().collect();
        let store = match self.columns {
            Some(columns) => columns.finish(),
            None => self.store,
        };
        Array::new(&dims, store?, self.charge)
    }
}
