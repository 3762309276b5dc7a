//! Nodes in a vector, addressed by typed indices. Trees built so are dropped and compared
//! without recursion, and side tables are vectors.

use std::marker::PhantomData;

/// The position of a `T` in its [`Arena`].
pub struct Idx<T> {
    raw: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Idx<T> {
    /// The index with this number, for side tables.
    #[must_use]
    pub fn from_raw(raw: u32) -> Self {
        Self { raw, of: PhantomData }
    }

    /// Its number, for side tables.
    #[must_use]
    pub fn raw(self) -> u32 {
        self.raw
    }

    /// Its number as `usize`.
    #[must_use]
    pub fn index(self) -> usize {
        self.raw as usize
    }
}

impl<T> Clone for Idx<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Idx<T> {}
impl<T> PartialEq for Idx<T> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}
impl<T> Eq for Idx<T> {}
impl<T> PartialOrd for Idx<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Idx<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.raw.cmp(&other.raw)
    }
}
impl<T> std::hash::Hash for Idx<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}
impl<T> std::fmt::Debug for Idx<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.raw)
    }
}

/// A growing list of `T`, addressed by [`Idx`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arena<T> {
    items: Vec<T>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { items: Vec::new() }
    }
}

impl<T> Arena<T> {
    /// Adds a node. An arena holds fewer than 2^32 of them: texts are limited to that size.
    pub fn alloc(&mut self, item: T) -> Idx<T> {
        let raw = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        self.items.push(item);
        Idx::from_raw(raw)
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Is there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All nodes with their indices, in the order they were added.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Idx<T>, &T)> {
        self.items.iter().enumerate().map(|(i, t)| (Idx::from_raw(u32::try_from(i).unwrap_or(u32::MAX)), t))
    }
}

/// An index is only ever made by `alloc` of the arena it is used with.
#[expect(clippy::indexing_slicing, reason = "indices come from `alloc` of the same arena")]
impl<T> std::ops::Index<Idx<T>> for Arena<T> {
    type Output = T;
    fn index(&self, at: Idx<T>) -> &T {
        &self.items[at.index()]
    }
}

#[expect(clippy::indexing_slicing, reason = "indices come from `alloc` of the same arena")]
impl<T> std::ops::IndexMut<Idx<T>> for Arena<T> {
    fn index_mut(&mut self, at: Idx<T>) -> &mut T {
        &mut self.items[at.index()]
    }
}
