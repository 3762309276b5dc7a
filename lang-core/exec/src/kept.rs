//! **Tape of a loop.** Keeps a value of each iteration: in one array if all have the same extents,
//! else one tensor for each.

use super::statement::at_scalar;
use super::tensor::{Number, Room, Tensor};
use super::{Run, Stopped};
use lang_runtime::memory::Charge;
use lang_runtime::{Store, pool};
use lang_syntax::ops::Scalar;

const BROKEN: Stopped = Stopped::Broken("what a loop keeps");

/// The values kept, one for each iteration.
pub(super) enum Kept {
    /// None yet; the expected number, if it is known.
    Open(Option<usize>),
    /// Values of equal extents in one array.
    Alike(Alike),
    /// One tensor for each iteration.
    Each(Vec<Tensor>),
    /// The whole array, after it was read.
    Whole(Tensor),
}

/// Arrays of equal extents, contiguous in one buffer.
pub(super) struct Alike {
    dims: Vec<usize>,
    kind: Scalar,
    count: usize,
    all: Store,
    charge: Charge,
}

impl Alike {
    fn push<T: Number>(&mut self, run: &Run<'_>, tensor: &Tensor, expected: usize) -> Result<(), Stopped> {
        let more = tensor.items::<T>().ok_or(BROKEN)?;
        let none = Store::Bool(Vec::new());
        let mut items = T::unwrap(std::mem::replace(&mut self.all, none)).ok_or(BROKEN)?;
        let all = expected.saturating_mul(more.len());
        if items.capacity() == 0
            && let Some(mut left) = pool::take::<T>(all)
        {
            left.clear();
            self.charge =
                run.memory.charge(left.capacity().saturating_mul(size_of::<T>())).map_err(Stopped::TooLarge)?;
            items = left;
        }
        let needed = items.len().saturating_add(more.len());
        if needed > items.capacity() {
            let room = run.memory.capacity(items.len(), more.len()).max(all);
            run.memory.grow(&mut items, &mut self.charge, room).map_err(Stopped::TooLarge)?;
        }
        items.extend_from_slice(more);
        self.all = T::wrap(items);
        self.count += 1;
        Ok(())
    }
}

impl Kept {
    /// Appends the value of an iteration.
    pub(super) fn push(&mut self, run: &Run<'_>, tensor: Tensor) -> Result<(), Stopped> {
        let mut expected = 0;
        if let (Self::Open(count), Some(kind)) = (&*self, tensor.kind()) {
            expected = count.unwrap_or(0);
            let all = at_scalar!(kind, T => wrapped::<T>());
            *self = Self::Alike(Alike { dims: tensor.dims.clone(), kind, count: 0, all, charge: Charge::default() });
        }
        if let Self::Alike(alike) = self
            && alike.dims == tensor.dims
            && tensor.kind() == Some(alike.kind)
        {
            return at_scalar!(alike.kind, T => alike.push::<T>(run, &tensor, expected));
        }
        if !matches!(self, Self::Each(_)) {
            *self = Self::Each(self.entries()?);
        }
        match self {
            Self::Each(all) => all.push(tensor),
            _ => return Err(BROKEN),
        }
        Ok(())
    }

    /// Those of each iteration.
    fn entries(&mut self) -> Result<Vec<Tensor>, Stopped> {
        match std::mem::replace(self, Self::Open(None)) {
            Self::Open(_) => Ok(Vec::new()),
            Self::Each(all) => Ok(all),
            Self::Alike(Alike { dims, count, all, charge, .. }) => {
                let size: usize = dims.iter().product();
                let whole = Tensor::of_store(vec![count * size], all, charge);
                let entry = |t: usize| whole.view(&dims, t.checked_mul(size)?);
                (0..count).map(entry).collect::<Option<_>>().ok_or(BROKEN)
            }
            Self::Whole(_) => Err(BROKEN),
        }
    }

    /// Returns all values as an array of these extents, if they form one. If `again`, they will be
    /// read once more and stay.
    pub(super) fn whole(&mut self, dims: &[usize], again: bool) -> Option<Tensor> {
        if let Self::Alike(alike) = self {
            let (first, rest) = dims.split_first()?;
            if *first != alike.count || rest != alike.dims {
                return None;
            }
            let Self::Alike(Alike { all, charge, .. }) = std::mem::replace(self, Self::Open(None)) else { return None };
            *self = Self::Whole(Tensor::of_store(dims.to_vec(), all, charge));
        }
        let Self::Whole(whole) = self else { return None };
        let whole = whole.clone();
        if !again {
            *self = Self::Open(None);
        }
        (whole.dims == dims).then_some(whole)
    }

    /// Copies the values behind these first indices, one after the other.
    pub(super) fn paste<T: Number>(&self, room: &mut Room<T>, at: &[usize]) -> Result<(), Stopped> {
        let mut place = at.to_vec();
        let mut put = |t: usize, dims: &[usize], items: &[T]| {
            place.truncate(at.len());
            place.push(t);
            room.paste(&place, dims, items)
        };
        match self {
            Self::Open(_) => Ok(()),
            Self::Each(all) => {
                all.iter().enumerate().try_for_each(|(t, part)| put(t, &part.dims, part.items::<T>().ok_or(BROKEN)?))
            }
            Self::Alike(Alike { dims, count, all, .. }) => {
                let items = T::slice(all).ok_or(BROKEN)?;
                let size: usize = dims.iter().product();
                (0..*count).try_for_each(|t| put(t, dims, items.get(t * size..(t + 1) * size).ok_or(BROKEN)?))
            }
            Self::Whole(_) => Err(BROKEN),
        }
    }
}

fn wrapped<T: Number>() -> Store {
    T::wrap(Vec::new())
}
