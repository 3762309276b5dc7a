//! Where the arguments of a function are: the flag that ends a run, who is told how far it is, the threads, for each place with memory its address and extents, and
//! the integers.

use lang_core::ir::ssa::Var;
use lang_core::schedule::{Kernel, Place, Role};

/// The word at which the flag is.
pub(crate) const FLAG: i32 = 0;

/// The word at which who is told stands.
pub(crate) const TOLD: i32 = 1;

/// The word at which the threads are that products of matrices are given to; 0 where there are none.
pub(crate) const POOL: i32 = 2;

/// How many words are before those of the places.
pub(crate) const HEAD: usize = 3;

/// Where a place stands among the arguments.
pub(crate) struct Word {
    pub(crate) var: Var,
    /// The word of the address, before those of the extents.
    pub(crate) at: i32,
    /// How many extents there are.
    pub(crate) axes: i32,
}

/// The places with memory.
pub(crate) fn memory(kernel: &Kernel) -> impl Iterator<Item = &Place> {
    kernel.places.iter().filter(|p| !p.is_register())
}

/// Is it written?
pub(crate) fn is_written(place: &Place) -> bool {
    place.role != Role::Given
}

/// The words of places, and that of the first integer.
pub(crate) fn words(kernel: &Kernel) -> (Vec<Word>, i32) {
    let mut next = POOL + 1;
    let mut all = Vec::new();
    for place in memory(kernel) {
        let axes = i32::try_from(place.axes.iter().flatten().count()).unwrap_or(i32::MAX);
        all.push(Word { var: place.var, at: next, axes });
        next = next.saturating_add(1).saturating_add(axes);
    }
    (all, next)
}
