//! **Arenas**: nodes in a vector, addressed by typed indices. Trees in an arena are dropped and
//! compared without recursion, and side tables are vectors.

use std::marker::PhantomData;

/// The position of a `T` in its [`Arena`].
pub struct Idx<T> {
    raw: u32,
    marker: PhantomData<fn() -> T>,
}

impl<T> Idx<T> {
    /// Returns the index with this number, for side tables.
    #[must_use]
    pub fn from_raw(raw: u32) -> Self {
        Self { raw, marker: PhantomData }
    }

    /// Returns its number, for side tables.
    #[must_use]
    pub fn raw(self) -> u32 {
        self.raw
    }

    /// Returns its number as `usize`.
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
    /// Adds a node. The arena must hold fewer than 2^32 nodes, which the limit on the size of texts
    /// ensures.
    pub fn alloc(&mut self, item: T) -> Idx<T> {
        let raw = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        self.items.push(item);
        Idx::from_raw(raw)
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the arena has no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Iterates over all nodes with their indices, in insertion order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Idx<T>, &T)> {
        self.items.iter().enumerate().map(|(i, t)| (Idx::from_raw(u32::try_from(i).unwrap_or(u32::MAX)), t))
    }
}

/// An index must come from `alloc` of the same arena.
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
