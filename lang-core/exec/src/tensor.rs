//! **Tensors** of scalars in flat row-major buffers, or relations.

use std::sync::Arc;

use super::{RunError, RunState};
use lang_ir::core::Constant;
use lang_resolve::scalar_fn::ScalarFn;
use lang_runtime::array::{Buffer, UnboxedElement};
use lang_runtime::buffer_pool;
use lang_runtime::memory::MemoryCharge;
use lang_runtime::scalar::{f32s, f64s, i64s};
use lang_runtime::{Array, Relation, Store, Value};
use lang_syntax::ops::Scalar;

/// A tensor. Its buffer is shared with the interpreter's array or with another tensor whose part it
/// is, so that neither is copied.
#[derive(Clone)]
pub struct Tensor {
    /// The extents.
    pub dims: Vec<usize>,
    start: usize,
    storage: TensorStorage,
}

#[derive(Clone)]
enum TensorStorage {
    Dense(Arc<Buffer>),
    Membership(Arc<Relation>),
}

impl Tensor {
    /// Creates a tensor of these elements; `None` if their number differs from that of the extents.
    #[must_use]
    pub fn new(dims: Vec<usize>, elements: impl Into<Store>) -> Option<Self> {
        let store = elements.into();
        let count = dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d))?;
        let buffer = Arc::new(Buffer { store, charge: MemoryCharge::default() });
        (count == buffer.store.len()).then_some(Self { dims, start: 0, storage: TensorStorage::Dense(buffer) })
    }

    /// Creates a tensor of these elements. Their number must be that of the extents.
    pub(super) fn of_store(dims: Vec<usize>, store: Store, charge: MemoryCharge) -> Self {
        Self { dims, start: 0, storage: TensorStorage::Dense(Arc::new(Buffer { store, charge })) }
    }

    /// Creates a tensor of a number or truth value; `None` for other values.
    #[must_use]
    pub fn scalar(value: &Value) -> Option<Self> {
        match value {
            Value::F64(x) => Self::new(Vec::new(), vec![*x]),
            Value::F32(x) => Self::new(Vec::new(), vec![*x]),
            Value::I64(x) => Self::new(Vec::new(), vec![*x]),
            Value::Bool(x) => Self::new(Vec::new(), vec![*x]),
            _ => None,
        }
    }

    /// Returns an array, number or relation of the interpreter as a tensor; `None` for other
    /// values.
    #[must_use]
    pub fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Array(array) if array.is_of_scalars() => {
                let (buffer, start) = array.buffer();
                Some(Self { dims: array.dims().to_vec(), start, storage: TensorStorage::Dense(Arc::clone(buffer)) })
            }
            Value::Rel(relation) => Some(Self::from_relation(Arc::clone(relation))),
            other => Self::scalar(other),
        }
    }

    /// Creates a tensor that is a relation.
    pub(super) fn from_relation(relation: Arc<Relation>) -> Self {
        let dims = relation.dims().iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
        Self { dims, start: 0, storage: TensorStorage::Membership(relation) }
    }

    /// Returns the tensor as a value of the interpreter.
    #[must_use]
    pub fn value(&self) -> Option<Value> {
        match &self.storage {
            TensorStorage::Membership(relation) => Some(Value::Rel(Arc::clone(relation))),
            TensorStorage::Dense(_) if self.dims.is_empty() => self.element(0),
            TensorStorage::Dense(buffer) => {
                Array::from_buffer(&self.dims, Arc::clone(buffer), self.start).map(Value::Array)
            }
        }
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn count(&self) -> usize {
        self.dims.iter().product()
    }

    /// Returns the element at a position in row-major order.
    #[must_use]
    pub fn element(&self, at: usize) -> Option<Value> {
        let TensorStorage::Dense(buffer) = &self.storage else { return None };
        let at = self.start.checked_add(at)?;
        Some(match &buffer.store {
            Store::F64(v) => Value::F64(*v.get(at)?),
            Store::F32(v) => Value::F32(*v.get(at)?),
            Store::I64(v) => Value::I64(*v.get(at)?),
            Store::Bool(v) => Value::Bool(*v.get(at)?),
            Store::Columns(_) | Store::Boxed(_) => return None,
        })
    }

    /// Returns the elements, if they have this type.
    pub(super) fn items<T: UnboxedElement>(&self) -> Option<&[T]> {
        let TensorStorage::Dense(buffer) = &self.storage else { return None };
        T::slice(&buffer.store)?.get(self.start..self.start.checked_add(self.count())?)
    }

    /// Returns the element type; `None` for a relation.
    pub(super) fn scalar_type(&self) -> Option<Scalar> {
        let TensorStorage::Dense(buffer) = &self.storage else { return None };
        match &buffer.store {
            Store::F64(_) => Some(Scalar::F64),
            Store::F32(_) => Some(Scalar::F32),
            Store::I64(_) => Some(Scalar::I64),
            Store::Bool(_) => Some(Scalar::Bool),
            Store::Columns(_) | Store::Boxed(_) => None,
        }
    }

    pub(super) fn relation(&self) -> Option<&Relation> {
        if let TensorStorage::Membership(relation) = &self.storage { Some(relation) } else { None }
    }

    /// Returns the slice at the first `indexed` indices; `at` is the position of its first element.
    pub(super) fn slice_at(&self, indexed: usize, at: usize) -> Option<Self> {
        let dims = self.dims.get(indexed..)?.to_vec();
        let part = Self { dims, start: self.start.checked_add(at)?, storage: self.storage.clone() };
        (at.checked_add(part.count())? <= self.count()).then_some(part)
    }

    /// Returns a view with other extents, whose first element is at this position.
    pub(super) fn view(&self, dims: &[usize], at: usize) -> Option<Self> {
        let start = self.start.checked_add(at)?;
        let view = Self { dims: dims.to_vec(), start, storage: self.storage.clone() };
        (at.checked_add(view.count())? <= self.count()).then_some(view)
    }

    /// Returns the stride of each axis, in elements.
    pub(super) fn strides(&self) -> Vec<i64> {
        strides(&self.dims)
    }
}

/// Returns the stride of each axis, in elements.
pub(super) fn strides(dims: &[usize]) -> Vec<i64> {
    let mut strides = Vec::with_capacity(dims.len());
    let mut stride = 1_i64;
    for n in dims.iter().rev() {
        strides.push(stride);
        stride = stride.saturating_mul(i64::try_from(*n).unwrap_or(i64::MAX));
    }
    strides.reverse();
    strides
}

/// The number of elements written between two polls of the interrupt flag.
const POLL_INTERVAL: usize = 1 << 20;

/// A tensor under construction, charged to the run.
pub(super) struct TensorBuilder<T: TensorElement> {
    pub(super) dims: Vec<usize>,
    pub(super) items: Vec<T>,
    charge: MemoryCharge,
}

/// Returns the buffer of an unfinished tensor to the pool, as that of a dropped array. A run leaves
/// one after an interrupt.
impl<T: TensorElement> Drop for TensorBuilder<T> {
    fn drop(&mut self) {
        buffer_pool::recycle(T::make_store(std::mem::take(&mut self.items)));
    }
}

impl<T: TensorElement> TensorBuilder<T> {
    /// Allocates elements with one value.
    pub(super) fn filled(run: &RunState<'_>, dims: Vec<usize>, with: T) -> Result<Self, RunError> {
        let count = run.memory.element_count(dims.iter().copied()).map_err(RunError::TooLarge)?;
        if let Some(mut room) = Self::from_pool(run, &dims, count)? {
            for piece in room.items.chunks_mut(POLL_INTERVAL) {
                run.poll()?;
                piece.fill(with);
            }
            return Ok(room);
        }
        let (items, charge) = run.memory.vec_with_capacity(count).map_err(RunError::TooLarge)?;
        let mut room = Self { dims, items, charge };
        while room.items.len() < count {
            run.poll()?;
            let next = count.min(room.items.len().saturating_add(POLL_INTERVAL));
            room.items.resize(next, with);
        }
        Ok(room)
    }

    /// Allocates elements of unspecified values. The caller must write all of them before it reads
    /// one.
    pub(super) fn unwritten(run: &RunState<'_>, dims: Vec<usize>) -> Result<Self, RunError> {
        let count = run.memory.element_count(dims.iter().copied()).map_err(RunError::TooLarge)?;
        match Self::from_pool(run, &dims, count)? {
            Some(room) => Ok(room),
            None => Self::filled(run, dims, T::ZERO),
        }
    }

    /// Takes the buffer of a dropped array from the pool, if it has one.
    fn from_pool(run: &RunState<'_>, dims: &[usize], count: usize) -> Result<Option<Self>, RunError> {
        let Some(items) = buffer_pool::take_buffer::<T>(count) else { return Ok(None) };
        let bytes = items.capacity().saturating_mul(size_of::<T>());
        let charge = run.memory.charge(bytes).map_err(RunError::TooLarge)?;
        Ok(Some(Self { dims: dims.to_vec(), items, charge }))
    }

    /// Takes the elements of a tensor, without a copy if nothing else owns them.
    pub(super) fn from_tensor(tensor: Tensor, run: &RunState<'_>) -> Result<Self, RunError> {
        const BROKEN: RunError = RunError::Internal("the elements of an operand");
        let Tensor { dims, start, storage: cells } = tensor;
        let TensorStorage::Dense(buffer) = cells else { return Err(BROKEN) };
        let count: usize = dims.iter().product();
        let buffer = match Arc::try_unwrap(buffer) {
            Ok(buffer) if start == 0 && buffer.store.len() == count => {
                let (store, charge) = buffer.into_parts();
                return Ok(Self { dims, items: T::from_store(store).ok_or(BROKEN)?, charge });
            }
            Ok(buffer) => Arc::new(buffer),
            Err(shared) => shared,
        };
        Self::copy_of(&Tensor { dims, start, storage: TensorStorage::Dense(buffer) }, run)
    }

    fn copy_of(tensor: &Tensor, run: &RunState<'_>) -> Result<Self, RunError> {
        let mut room = Self::filled(run, tensor.dims.clone(), T::ZERO)?;
        let items = tensor.items::<T>().ok_or(RunError::Internal("the elements of an operand"))?;
        for (to, from) in room.items.chunks_mut(POLL_INTERVAL).zip(items.chunks(POLL_INTERVAL)) {
            run.poll()?;
            to.copy_from_slice(from);
        }
        Ok(room)
    }

    /// Returns the finished tensor.
    pub(super) fn finish(mut self) -> Tensor {
        let (dims, items) = (std::mem::take(&mut self.dims), std::mem::take(&mut self.items));
        let buffer = Buffer { store: T::make_store(items), charge: std::mem::take(&mut self.charge) };
        Tensor { dims, start: 0, storage: TensorStorage::Dense(Arc::new(buffer)) }
    }
}

/// The element type of a tensor.
pub(super) trait TensorElement: UnboxedElement + PartialEq {
    /// The value of an element without terms.
    const ZERO: Self;
    /// The neutral element of addition, which preserves the sign of a zero too.
    const NEUTRAL: Self;
    /// Whether [`TensorElement::NEUTRAL`] differs from [`TensorElement::ZERO`], so that elements
    /// without terms must be tracked.
    const HAS_SIGNED_ZERO: bool;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn negated(self) -> Self;
    fn constant(c: Constant) -> Option<Self>;
    /// Returns a scalar function of two arguments, if this type has it.
    fn scalar_function(f: ScalarFn) -> Option<fn(Self, Self) -> Self>;
}

macro_rules! reals {
    ($($t:ident by $functions:ident),*) => {$(
        impl TensorElement for $t {
            const ZERO: Self = 0.0;
            const NEUTRAL: Self = -0.0;
            const HAS_SIGNED_ZERO: bool = true;
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn negated(self) -> Self {
                -self
            }
            #[allow(clippy::cast_possible_truncation, reason = "a constant of `f32` is held exactly")]
            fn constant(c: Constant) -> Option<Self> {
                if let Constant::Real(x) = c { Some(x as Self) } else { None }
            }
            fn scalar_function(f: ScalarFn) -> Option<fn(Self, Self) -> Self> {
                if let Some($functions::ScalarFunction::Binary(f)) = $functions::function(f) { Some(f) } else { None }
            }
        }
    )*};
}
reals!(f64 by f64s, f32 by f32s);

impl TensorElement for i64 {
    const ZERO: Self = 0;
    const NEUTRAL: Self = 0;
    const HAS_SIGNED_ZERO: bool = false;
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    fn negated(self) -> Self {
        self.wrapping_neg()
    }
    fn constant(c: Constant) -> Option<Self> {
        if let Constant::Int(i) = c { Some(i) } else { None }
    }
    fn scalar_function(f: ScalarFn) -> Option<fn(Self, Self) -> Self> {
        if let Some(i64s::ScalarFunction::Binary(f)) = i64s::function(f) { Some(f) } else { None }
    }
}

/// Addition is "or", and multiplication is "and".
impl TensorElement for bool {
    const ZERO: Self = false;
    const NEUTRAL: Self = false;
    const HAS_SIGNED_ZERO: bool = false;
    fn plus(self, other: Self) -> Self {
        self | other
    }
    fn times(self, other: Self) -> Self {
        self & other
    }
    fn negated(self) -> Self {
        self
    }
    fn constant(c: Constant) -> Option<Self> {
        if let Constant::Bool(b) = c { Some(b) } else { None }
    }
    fn scalar_function(_: ScalarFn) -> Option<fn(Self, Self) -> Self> {
        None
    }
}
