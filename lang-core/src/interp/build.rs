//! Arrays built element by element, straight into a buffer of their kind.

use std::sync::Arc;

use super::array::{Array, Elem, Store};
use super::columns::{Form, Growing};
use super::memory::{Charge, Memory, TooLarge};
use super::value::Value;

/// An array in the making: so many equal parts, each an element or an array.
pub(super) struct Builder {
    store: Option<Store>,
    charge: Charge,
    /// Tuples or records of scalars; then there is no store.
    columns: Option<Growing>,
    /// The shape of each part.
    part: Vec<usize>,
    parts: usize,
    /// How many parts there will be, 0 if that is not known.
    expected: usize,
}

/// Why a part cannot be added.
pub(super) enum BuildError {
    TooLarge(TooLarge),
    /// Its shape is not that of the first: shape of the part, of the first.
    Ragged(Vec<usize>, Vec<usize>),
    /// Its kind is not that of the first.
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

    /// How many parts there are.
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

    /// Is there no element yet?
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

    /// The capacity that `vec` needs for a part of `more` elements.
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
            // Among dual numbers, reals that do not vary.
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
        // The element has another shape than those before, because it holds a dual number.
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

    /// The array of these outer extents; `None` if there is no part, so that its kind and inner
    /// shape are not known, or if the parts are not as many as the extents say.
    pub(super) fn finish(self, outer: &[usize]) -> Option<Array> {
        let dims: Vec<usize> = outer.iter().chain(&self.part).copied().collect();
        let store = match self.columns {
            Some(columns) => columns.finish(),
            None => self.store,
        };
        Array::new(&dims, store?, self.charge)
    }
}
