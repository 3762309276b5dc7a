//! **Tape of a loop.** Records a value of each iteration: in one array if all have the same
//! extents, else as one tensor for each.

use super::statement::at_scalar;
use super::tensor::{Tensor, TensorBuilder, TensorElement};
use super::{RunError, RunState};
use lang_runtime::memory::MemoryCharge;
use lang_runtime::{Store, buffer_pool};
use lang_syntax::ops::Scalar;

const BROKEN: RunError = RunError::Internal("the tape of a loop");

/// The recorded values, one for each iteration.
pub(super) enum LoopTape {
    /// No value yet; contains the expected number of values, if it is known.
    Empty(Option<usize>),
    /// Values of equal extents in one array.
    Contiguous(ContiguousTape),
    /// One tensor for each iteration.
    Separate(Vec<Tensor>),
    /// The array of all values, after its first read.
    Finished(Tensor),
}

/// Values of equal extents, contiguous in one buffer.
pub(super) struct ContiguousTape {
    dims: Vec<usize>,
    kind: Scalar,
    count: usize,
    elements: Store,
    charge: MemoryCharge,
}

impl ContiguousTape {
    /// Appends a value; reserves memory for the expected number of values.
    fn push<T: TensorElement>(&mut self, run: &RunState<'_>, tensor: &Tensor, expected: usize) -> Result<(), RunError> {
        let more = tensor.items::<T>().ok_or(BROKEN)?;
        let none = Store::Bool(Vec::new());
        let mut items = T::from_store(std::mem::replace(&mut self.elements, none)).ok_or(BROKEN)?;
        let all = expected.saturating_mul(more.len());
        if items.capacity() == 0
            && let Some(mut left) = buffer_pool::take_buffer::<T>(all)
        {
            left.clear();
            self.charge =
                run.memory.charge(left.capacity().saturating_mul(size_of::<T>())).map_err(RunError::TooLarge)?;
            items = left;
        }
        let needed = items.len().saturating_add(more.len());
        if needed > items.capacity() {
            let room = run.memory.grown_capacity(items.len(), more.len()).max(all);
            run.memory.grow_vec(&mut items, &mut self.charge, room).map_err(RunError::TooLarge)?;
        }
        items.extend_from_slice(more);
        self.elements = T::make_store(items);
        self.count += 1;
        Ok(())
    }
}

impl LoopTape {
    /// Appends the value of an iteration.
    pub(super) fn push(&mut self, run: &RunState<'_>, tensor: Tensor) -> Result<(), RunError> {
        let mut expected = 0;
        if let (Self::Empty(count), Some(kind)) = (&*self, tensor.scalar_type()) {
            expected = count.unwrap_or(0);
            let all = at_scalar!(kind, T => empty_store::<T>());
            *self = Self::Contiguous(ContiguousTape {
                dims: tensor.dims.clone(),
                kind,
                count: 0,
                elements: all,
                charge: MemoryCharge::default(),
            });
        }
        if let Self::Contiguous(alike) = self
            && alike.dims == tensor.dims
            && tensor.scalar_type() == Some(alike.kind)
        {
            return at_scalar!(alike.kind, T => alike.push::<T>(run, &tensor, expected));
        }
        if !matches!(self, Self::Separate(_)) {
            *self = Self::Separate(self.take_entries()?);
        }
        match self {
            Self::Separate(all) => all.push(tensor),
            _ => return Err(BROKEN),
        }
        Ok(())
    }

    /// Removes all values, and returns one tensor for each iteration.
    fn take_entries(&mut self) -> Result<Vec<Tensor>, RunError> {
        match std::mem::replace(self, Self::Empty(None)) {
            Self::Empty(_) => Ok(Vec::new()),
            Self::Separate(all) => Ok(all),
            Self::Contiguous(ContiguousTape { dims, count, elements: all, charge, .. }) => {
                let size: usize = dims.iter().product();
                let whole = Tensor::of_store(vec![count * size], all, charge);
                let entry = |t: usize| whole.view(&dims, t.checked_mul(size)?);
                (0..count).map(entry).collect::<Option<_>>().ok_or(BROKEN)
            }
            Self::Finished(_) => Err(BROKEN),
        }
    }

    /// Returns all values as an array of these extents, if they form one. The values stay if
    /// `has_more_readers`.
    pub(super) fn take_array(&mut self, dims: &[usize], has_more_readers: bool) -> Option<Tensor> {
        if let Self::Contiguous(alike) = self {
            let (first, rest) = dims.split_first()?;
            if *first != alike.count || rest != alike.dims {
                return None;
            }
            let Self::Contiguous(ContiguousTape { elements: all, charge, .. }) =
                std::mem::replace(self, Self::Empty(None))
            else {
                return None;
            };
            *self = Self::Finished(Tensor::of_store(dims.to_vec(), all, charge));
        }
        let Self::Finished(whole) = self else { return None };
        let whole = whole.clone();
        if !has_more_readers {
            *self = Self::Empty(None);
        }
        (whole.dims == dims).then_some(whole)
    }

    /// Copies the values to these first indices of the target, one after the other.
    pub(super) fn copy_to<T: TensorElement>(&self, room: &mut TensorBuilder<T>, at: &[usize]) -> Result<(), RunError> {
        let mut place = at.to_vec();
        let mut put = |t: usize, dims: &[usize], items: &[T]| {
            place.truncate(at.len());
            place.push(t);
            room.copy_at(&place, dims, items)
        };
        match self {
            Self::Empty(_) => Ok(()),
            Self::Separate(all) => {
                all.iter().enumerate().try_for_each(|(t, part)| put(t, &part.dims, part.items::<T>().ok_or(BROKEN)?))
            }
            Self::Contiguous(ContiguousTape { dims, count, elements: all, .. }) => {
                let items = T::slice(all).ok_or(BROKEN)?;
                let size: usize = dims.iter().product();
                (0..*count).try_for_each(|t| put(t, dims, items.get(t * size..(t + 1) * size).ok_or(BROKEN)?))
            }
            Self::Finished(_) => Err(BROKEN),
        }
    }
}

fn empty_store<T: TensorElement>() -> Store {
    T::make_store(Vec::new())
}
