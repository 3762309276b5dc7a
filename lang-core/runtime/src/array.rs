//! **Dense arrays.** An array is a buffer of one element kind in row-major order, its extents, and
//! its start in the buffer. Leading indices and leading slices are views of the same buffer. Tuples
//! and records of scalars have one buffer per scalar ([`super::columns`]).

use std::sync::Arc;

use super::buffer_pool;
use super::columns::Columns;
use super::memory::{AllocationError, MemoryAccount, MemoryCharge};
use super::value::{Components, Value, is_identical_f32, is_identical_f64};

/// The elements of one buffer. Scalars, and tuples and records of scalars, are stored flat. All
/// others are boxed: constructors, functions, relations, dual numbers, tuples with arrays.
pub enum Store {
    /// Double-precision reals.
    F64(Vec<f64>),
    /// Single-precision reals.
    F32(Vec<f32>),
    /// Integers.
    I64(Vec<i64>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Tuples or records of scalars.
    Columns(Columns),
    /// Any values except arrays.
    Boxed(Components),
}

impl Default for Store {
    fn default() -> Self {
        Self::Bool(Vec::new())
    }
}

/// A store with the charge for its bytes.
pub struct Buffer {
    /// The elements.
    pub store: Store,
    /// The charge for the bytes of the store.
    pub charge: MemoryCharge,
}

impl Buffer {
    /// Moves out the store and its charge.
    pub fn into_parts(mut self) -> (Store, MemoryCharge) {
        (std::mem::take(&mut self.store), std::mem::take(&mut self.charge))
    }
}

/// Hands the store to the pool for reuse.
impl Drop for Buffer {
    fn drop(&mut self) {
        buffer_pool::recycle(std::mem::take(&mut self.store));
    }
}

/// An array of at least one axis.
#[derive(Clone)]
pub struct Array {
    buffer: Arc<Buffer>,
    dims: Arc<[usize]>,
    /// The number of leading `dims` that are indexed away.
    skipped_axes: u32,
    /// The start of the array in the buffer.
    start: usize,
}

/// An element kind that is stored unboxed.
pub trait UnboxedElement: Copy {
    /// Wraps elements in a store of this kind.
    fn make_store(elements: Vec<Self>) -> Store;
    /// Moves the elements out of a store, if it has this kind.
    fn from_store(store: Store) -> Option<Vec<Self>>;
    /// Returns the elements of a store, if it has this kind.
    fn slice(store: &Store) -> Option<&[Self]>;
    /// Returns the elements of a store for writing, if it has this kind.
    fn slice_mut(store: &mut Store) -> Option<&mut [Self]>;
    /// Converts the element to a value.
    fn value(self) -> Value;
    /// Converts a value to an element, if it has this kind.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! elem {
    ($($t:ty, $variant:ident);*) => {$(
        impl UnboxedElement for $t {
            fn make_store(elements: Vec<Self>) -> Store {
                Store::$variant(elements)
            }
            fn from_store(store: Store) -> Option<Vec<Self>> {
                if let Store::$variant(v) = store { Some(v) } else { None }
            }
            fn slice(store: &Store) -> Option<&[Self]> {
                if let Store::$variant(v) = store { Some(v) } else { None }
            }
            fn slice_mut(store: &mut Store) -> Option<&mut [Self]> {
                if let Store::$variant(v) = store { Some(v) } else { None }
            }
            fn value(self) -> Value {
                Value::$variant(self)
            }
            fn from_value(value: &Value) -> Option<Self> {
                if let Value::$variant(x) = value { Some(*x) } else { None }
            }
        }

        impl From<Vec<$t>> for Store {
            fn from(elements: Vec<$t>) -> Self {
                Self::$variant(elements)
            }
        }
    )*};
}
elem!(f64, F64; f32, F32; i64, I64; bool, Bool);

impl From<Vec<Value>> for Store {
    fn from(elements: Vec<Value>) -> Self {
        Self::Boxed(Components::new(elements))
    }
}

impl Store {
    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F64(v) => v.len(),
            Self::F32(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::Bool(v) => v.len(),
            Self::Columns(v) => v.len(),
            Self::Boxed(v) => v.values.len(),
        }
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Converts the elements to values, because a dual number joins them. Charges them to a memory.
    pub fn into_boxed(self, memory: &MemoryAccount) -> Result<(Vec<Value>, MemoryCharge), AllocationError> {
        let (mut values, charge) = memory.vec_with_capacity(self.len())?;
        for i in 0..self.len() {
            values.extend(self.get_charged(i, memory)?);
        }
        Ok((values, charge))
    }

    /// Returns an element and charges its memory.
    fn get_charged(&self, at: usize, memory: &MemoryAccount) -> Result<Option<Value>, AllocationError> {
        match self {
            Self::Columns(columns) => columns.element(at, Some(memory)),
            _ => Ok(self.get(at)),
        }
    }

    fn get(&self, at: usize) -> Option<Value> {
        Some(match self {
            Self::Columns(v) => return v.element(at, None).ok().flatten(),
            Self::F64(v) => Value::F64(*v.get(at)?),
            Self::F32(v) => Value::F32(*v.get(at)?),
            Self::I64(v) => Value::I64(*v.get(at)?),
            Self::Bool(v) => Value::Bool(*v.get(at)?),
            Self::Boxed(v) => v.values.get(at)?.clone(),
        })
    }
}

impl Array {
    /// Returns `None` if `dims` is empty or the number of elements does not match the extents.
    pub fn new(dims: &[usize], store: Store, charge: MemoryCharge) -> Option<Self> {
        let count = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
        if dims.is_empty() || count != store.len() {
            return None;
        }
        Some(Self { buffer: Arc::new(Buffer { store, charge }), dims: dims.into(), skipped_axes: 0, start: 0 })
    }

    /// Returns the extents, outermost first.
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        self.dims.get(self.skipped_axes as usize..).unwrap_or_default()
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn count(&self) -> usize {
        self.dims().iter().product()
    }

    /// Whether its elements are unboxed scalars, so that none of them is a dual number.
    #[must_use]
    pub fn is_of_scalars(&self) -> bool {
        !matches!(self.buffer.store, Store::Boxed(_) | Store::Columns(_))
    }

    /// Whether its elements are boxed.
    pub fn is_boxed(&self) -> bool {
        matches!(self.buffer.store, Store::Boxed(_))
    }

    /// Returns the element at a position in row-major order. Does not charge the memory of a tuple.
    #[must_use]
    pub fn element(&self, at: usize) -> Option<Value> {
        self.buffer.store.get(self.start.checked_add(at)?)
    }

    /// Returns the elements in row-major order, if they are `f64`.
    #[must_use]
    pub fn f64s(&self) -> Option<&[f64]> {
        self.slice()
    }

    /// Returns the elements in row-major order, if they are `f32`.
    #[must_use]
    pub fn f32s(&self) -> Option<&[f32]> {
        self.slice()
    }

    /// Returns the elements in row-major order, if they are `i64`.
    #[must_use]
    pub fn i64s(&self) -> Option<&[i64]> {
        self.slice()
    }

    /// Returns the elements in row-major order, if they are `bool`.
    #[must_use]
    pub fn bools(&self) -> Option<&[bool]> {
        self.slice()
    }

    /// Returns an array of at least one axis whose elements begin at `start` of a buffer. Returns
    /// `None` if they do not fit.
    pub fn from_buffer(dims: &[usize], buffer: Arc<Buffer>, start: usize) -> Option<Self> {
        let count = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
        let end = start.checked_add(count)?;
        (!dims.is_empty() && end <= buffer.store.len()).then(|| Self {
            buffer,
            dims: dims.into(),
            skipped_axes: 0,
            start,
        })
    }

    /// Returns the buffer and the start of the array in it.
    pub fn buffer(&self) -> (&Arc<Buffer>, usize) {
        (&self.buffer, self.start)
    }

    /// Returns the elements in row-major order, if they are stored unboxed as `T`.
    pub fn slice<T: UnboxedElement>(&self) -> Option<&[T]> {
        T::slice(&self.buffer.store)?.get(self.start..self.start.checked_add(self.count())?)
    }

    /// Returns the elements in row-major order, if they are boxed.
    #[must_use]
    pub fn elements(&self) -> Option<&[Value]> {
        self.boxed_elements()
    }

    /// Returns the elements in row-major order, if they are boxed.
    pub fn boxed_elements(&self) -> Option<&[Value]> {
        let Store::Boxed(items) = &self.buffer.store else { return None };
        items.values.get(self.start..self.start.checked_add(self.count())?)
    }

    /// Returns the store of the buffer, which may exceed the array.
    pub fn store(&self) -> &Store {
        &self.buffer.store
    }

    /// Returns the part after `indexed` leading indices, which lead to flat position `at`: an
    /// element or a view.
    pub fn index_leading(
        &self,
        indexed: usize,
        at: usize,
        memory: &MemoryAccount,
    ) -> Result<Option<Value>, AllocationError> {
        if indexed >= self.dims().len() {
            return self.start.checked_add(at).map_or(Ok(None), |at| self.buffer.store.get_charged(at, memory));
        }
        let view = || {
            let skip = self.skipped_axes.checked_add(u32::try_from(indexed).ok()?)?;
            let start = self.start.checked_add(at)?;
            Some(Value::Array(Self { buffer: self.buffer.clone(), dims: self.dims.clone(), skipped_axes: skip, start }))
        };
        Ok(view())
    }

    /// Returns a view of another array, with the extents and start that this array has in its own
    /// buffer. Both buffers must have the same number of elements.
    pub fn view_into(&self, other: &Self) -> Self {
        Self {
            buffer: other.buffer.clone(),
            dims: self.dims.clone(),
            skipped_axes: self.skipped_axes,
            start: other.start.saturating_add(self.start),
        }
    }

    /// Returns one array for each scalar of its elements, or none if the elements are not stored
    /// flat. Moves an unshared buffer, so its new owner may update it in place.
    pub fn into_columns(self) -> Vec<Self> {
        let Self { buffer, dims, skipped_axes: skip, start } = self;
        let parts = match Arc::try_unwrap(buffer) {
            Ok(own) => match own.into_parts().0 {
                Store::Columns(columns) => columns.into_arrays(),
                _ => Vec::new(),
            },
            Err(shared) => match &shared.store {
                Store::Columns(columns) => columns.arrays().to_vec(),
                _ => Vec::new(),
            },
        };
        let part = |part: Self| Self {
            buffer: part.buffer,
            dims: dims.clone(),
            skipped_axes: skip,
            start: part.start.saturating_add(start),
        };
        parts.into_iter().map(part).collect()
    }

    /// Returns a view with other extents that begins at flat position `at`. The caller must ensure
    /// that the elements exist.
    pub fn view(&self, at: usize, dims: &[usize]) -> Self {
        Self { buffer: self.buffer.clone(), dims: dims.into(), skipped_axes: 0, start: self.start.saturating_add(at) }
    }

    /// Returns whether both arrays use the same buffer.
    pub fn shares_buffer(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.buffer, &other.buffer)
    }

    /// Returns the store and the start of the array, if no other array uses the buffer.
    pub fn store_mut(&mut self) -> Option<(&mut Store, usize)> {
        let start = self.start;
        Arc::get_mut(&mut self.buffer).map(|b| (&mut b.store, start))
    }

    /// Moves the buffer out, if no other array uses it.
    pub fn into_buffer(self) -> Option<Buffer> {
        Arc::into_inner(self.buffer)
    }

    /// Copies the array into a buffer of its own.
    pub fn compact(&self, memory: &MemoryAccount) -> Result<Self, AllocationError> {
        fn copy<T: Clone>(from: &[T], memory: &MemoryAccount) -> Result<(Vec<T>, MemoryCharge), AllocationError> {
            let (mut to, charge) = memory.vec_with_capacity(from.len())?;
            to.extend_from_slice(from);
            Ok((to, charge))
        }
        fn typed<T: UnboxedElement>(
            a: &Array,
            memory: &MemoryAccount,
        ) -> Result<(Store, MemoryCharge), AllocationError> {
            let (v, charge) = copy::<T>(a.slice().unwrap_or_default(), memory)?;
            Ok((T::make_store(v), charge))
        }
        let (store, charge) = match &self.buffer.store {
            Store::F64(_) => typed::<f64>(self, memory)?,
            Store::F32(_) => typed::<f32>(self, memory)?,
            Store::I64(_) => typed::<i64>(self, memory)?,
            Store::Bool(_) => typed::<bool>(self, memory)?,
            Store::Columns(columns) => {
                let parts = self.all_columns().iter().map(|part| part.compact(memory)).collect::<Result<_, _>>()?;
                let compacted = Self::from_columns(self.dims(), columns.form().clone(), parts);
                return Ok(compacted.unwrap_or_else(|| self.clone()));
            }
            Store::Boxed(_) => {
                let (v, charge) = copy(self.boxed_elements().unwrap_or_default(), memory)?;
                (v.into(), charge)
            }
        };
        Ok(Self { buffer: Arc::new(Buffer { store, charge }), dims: self.dims().into(), skipped_axes: 0, start: 0 })
    }

    /// Copies the elements, boxed, into a buffer of their own that can also hold dual numbers.
    pub fn boxed_copy(&self, memory: &MemoryAccount) -> Result<Self, AllocationError> {
        let (mut values, charge) = memory.vec_with_capacity(self.count())?;
        for i in self.start..self.start.saturating_add(self.count()) {
            values.extend(self.buffer.store.get_charged(i, memory)?);
        }
        let buffer = Buffer { store: values.into(), charge };
        Ok(Self { buffer: Arc::new(buffer), dims: self.dims().into(), skipped_axes: 0, start: 0 })
    }

    /// Whether the scalars are the same, bit for bit, except that every NaN equals every NaN. False
    /// for flat tuples and boxed elements.
    pub fn has_same_scalars(&self, other: &Self) -> bool {
        fn all<T: UnboxedElement>(a: &Array, b: &Array, same: impl Fn(T, T) -> bool) -> bool {
            match (a.slice::<T>(), b.slice::<T>()) {
                (Some(x), Some(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(*x, *y)),
                _ => false,
            }
        }
        match &self.buffer.store {
            Store::F64(_) => all(self, other, is_identical_f64),
            Store::F32(_) => all(self, other, is_identical_f32),
            Store::I64(_) => all::<i64>(self, other, |x, y| x == y),
            Store::Bool(_) => all::<bool>(self, other, |x, y| x == y),
            Store::Columns(_) | Store::Boxed(_) => false,
        }
    }
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&super::print::to_short_text(&Value::Array(self.clone())))
    }
}
