//! **Array builder.** Collects the elements of an array one by one, directly in a buffer of their
//! kind. Binders, folds and array literals use it.

use std::sync::Arc;

use lang_runtime::array::{Array, Store, UnboxedElement};
use lang_runtime::columns::{ColumnsBuilder, ElementForm};
use lang_runtime::memory::{AllocationError, MemoryAccount, MemoryCharge};
use lang_runtime::value::Value;

/// An array under construction: equal parts, each an element or an array.
pub(super) struct ArrayBuilder {
    store: Option<Store>,
    charge: MemoryCharge,
    /// The elements, if they are tuples or records of scalars; then `store` is empty.
    columns: Option<ColumnsBuilder>,
    /// The shape of each part.
    part_shape: Vec<usize>,
    part_count: usize,
    /// The number of parts to expect, or 0 if it is unknown.
    expected: usize,
}

/// The reason why a part cannot be added.
pub(super) enum BuildError {
    TooLarge(AllocationError),
    /// The shape of the part, then the different shape of the first.
    Ragged(Vec<usize>, Vec<usize>),
    /// The kind of the part differs from that of the first.
    Mixed,
}

impl From<AllocationError> for BuildError {
    fn from(e: AllocationError) -> Self {
        Self::TooLarge(e)
    }
}

impl ArrayBuilder {
    pub(super) fn new(expected: usize) -> Self {
        Self {
            store: None,
            charge: MemoryCharge::default(),
            columns: None,
            part_shape: Vec::new(),
            part_count: 0,
            expected,
        }
    }

    pub(super) fn set_expected(&mut self, parts: usize) {
        self.expected = parts;
    }

    /// Returns the number of parts so far.
    pub(super) fn part_count(&self) -> usize {
        self.part_count
    }

    pub(super) fn push(&mut self, memory: &MemoryAccount, value: Value) -> Result<(), BuildError> {
        match value {
            Value::F64(x) => self.push_scalar(memory, x),
            Value::F32(x) => self.push_scalar(memory, x),
            Value::I64(x) => self.push_scalar(memory, x),
            Value::Bool(x) => self.push_scalar(memory, x),
            Value::Array(ref a) => match a.store() {
                Store::F64(_) => self.push_array(memory, a, a.slice::<f64>().unwrap_or_default()),
                Store::F32(_) => self.push_array(memory, a, a.slice::<f32>().unwrap_or_default()),
                Store::I64(_) => self.push_array(memory, a, a.slice::<i64>().unwrap_or_default()),
                Store::Bool(_) => self.push_array(memory, a, a.slice::<bool>().unwrap_or_default()),
                Store::Columns(columns) => {
                    self.check_part_shape(a.dims())?;
                    if self.is_empty() {
                        self.columns = Some(ColumnsBuilder::new(columns.form().clone()));
                    }
                    let expected = self.expected.saturating_mul(a.count());
                    if let Some(columns) = &mut self.columns
                        && columns.append(memory, a, expected)?
                    {
                        return Ok(());
                    }
                    let boxed = a.boxed_copy(memory)?;
                    self.push_boxed_elements(memory, boxed.boxed_elements().unwrap_or_default())
                }
                Store::Boxed(_) => {
                    self.check_part_shape(a.dims())?;
                    self.push_boxed_elements(memory, a.boxed_elements().unwrap_or_default())
                }
            },
            other => {
                self.check_part_shape(&[])?;
                if self.is_empty() {
                    self.columns = ElementForm::of_value(&other).map(|form| ColumnsBuilder::new(Arc::new(form)));
                }
                if let Some(columns) = &mut self.columns
                    && columns.push(memory, &other, self.expected)?
                {
                    return Ok(());
                }
                self.push_boxed(memory, 1, std::iter::once(other))
            }
        }
    }

    /// Whether it has no elements so far.
    fn is_empty(&self) -> bool {
        self.store.is_none() && self.columns.as_ref().is_none_or(|columns| columns.len() == 0)
    }

    fn push_boxed_elements(&mut self, memory: &MemoryAccount, elements: &[Value]) -> Result<(), BuildError> {
        self.push_boxed(memory, elements.len(), elements.iter().cloned())
    }

    fn check_part_shape(&mut self, dims: &[usize]) -> Result<(), BuildError> {
        if self.part_count == 0 {
            self.part_shape = dims.to_vec();
        } else if self.part_shape != dims {
            return Err(BuildError::Ragged(dims.to_vec(), self.part_shape.clone()));
        }
        self.part_count += 1;
        Ok(())
    }

    fn push_scalar<T: UnboxedElement>(&mut self, memory: &MemoryAccount, x: T) -> Result<(), BuildError> {
        self.check_part_shape(&[])?;
        self.extend(memory, &[x])
    }

    fn push_array<T: UnboxedElement>(
        &mut self,
        memory: &MemoryAccount,
        array: &Array,
        elements: &[T],
    ) -> Result<(), BuildError> {
        self.check_part_shape(array.dims())?;
        self.extend(memory, elements)
    }

    /// Returns the capacity that `vec` needs for a part of `more` elements.
    fn capacity<T>(&self, memory: &MemoryAccount, vec: &Vec<T>, more: usize) -> usize {
        let needed = vec.len().saturating_add(more);
        if needed <= vec.capacity() {
            needed
        } else if vec.is_empty() && self.expected > 0 {
            needed.max(self.expected.saturating_mul(more))
        } else {
            memory.grown_capacity(vec.len(), more)
        }
    }

    fn extend<T: UnboxedElement>(&mut self, memory: &MemoryAccount, elements: &[T]) -> Result<(), BuildError> {
        if self.columns.is_some() {
            return Err(BuildError::Mixed);
        }
        let mut vec = match self.store.take() {
            None => Vec::new(),
            // Constant reals among dual numbers.
            Some(store @ Store::Boxed(_)) => {
                self.store = Some(store);
                return self.push_boxed(memory, elements.len(), elements.iter().map(|x| x.value()));
            }
            Some(store) => T::from_store(store).ok_or(BuildError::Mixed)?,
        };
        let capacity = self.capacity(memory, &vec, elements.len());
        memory.grow_vec(&mut vec, &mut self.charge, capacity)?;
        vec.extend_from_slice(elements);
        self.store = Some(T::make_store(vec));
        Ok(())
    }

    fn push_boxed(
        &mut self,
        memory: &MemoryAccount,
        more: usize,
        elements: impl Iterator<Item = Value>,
    ) -> Result<(), BuildError> {
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
        memory.grow_vec(&mut vec, &mut self.charge, capacity)?;
        vec.extend(elements);
        self.store = Some(vec.into());
        Ok(())
    }

    /// Returns the array with these outer extents. Returns `None` without parts, because kind and
    /// inner shape are then unknown, or if the extents do not match the number of parts.
    pub(super) fn finish(self, outer: &[usize]) -> Option<Array> {
        let dims: Vec<usize> = outer.iter().chain(&self.part_shape).copied().collect();
        let store = match self.columns {
            Some(columns) => columns.finish(),
            None => self.store,
        };
        Array::new(&dims, store?, self.charge)
    }
}
