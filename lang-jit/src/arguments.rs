//! **Argument layout** of a compiled function, in words of 8 bytes.
//!
//! The order is: the interrupt flag, the receiver of progress reports, the thread pool, for each
//! place with memory its address and extents, and the integers.

use lang_core::ir::ssa::Var;
use lang_core::nest::{Kernel, Place, Role};

/// The word with the address of the interrupt flag.
pub(crate) const FLAG: i32 = 0;

/// The word with the address of the receiver of progress reports.
pub(crate) const TOLD: i32 = 1;

/// The word with the address of the pool that runs matrix products; 0 if there are no threads.
pub(crate) const POOL: i32 = 2;

/// The number of words before those of the places.
pub(crate) const HEAD: usize = 3;

/// The words of a place.
pub(crate) struct Word {
    pub(crate) var: Var,
    /// The word of the address; those of the extents follow.
    pub(crate) at: i32,
    /// The number of extents.
    pub(crate) axes: i32,
}

/// Returns the places with memory.
pub(crate) fn memory(kernel: &Kernel) -> impl Iterator<Item = &Place> {
    kernel.places.iter().filter(|p| !p.is_register())
}

/// Returns whether the kernel writes the place.
pub(crate) fn is_written(place: &Place) -> bool {
    place.role != Role::Given
}

/// Returns the words of the places, and the word of the first integer.
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
