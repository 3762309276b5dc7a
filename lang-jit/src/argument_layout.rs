//! **Argument layout** of a compiled function, in words of 8 bytes.
//!
//! The order is: the interrupt flag, the receiver of progress reports, the thread pool, for each
//! place with memory its address and extents, and the integers.

use lang_core::ir::ssa::StmtId;
use lang_core::nest::{Kernel, KernelStorage, StorageRole};

/// The word with the address of the interrupt flag.
pub(crate) const FLAG: i32 = 0;

/// The word with the address of the receiver of progress reports.
pub(crate) const PROGRESS: i32 = 1;

/// The word with the address of the pool that runs matrix products; 0 if there are no threads.
pub(crate) const POOL: i32 = 2;

/// The number of words before those of the places.
pub(crate) const HEAD_WORDS: usize = 3;

/// The words of a place.
pub(crate) struct PlaceWords {
    pub(crate) var: StmtId,
    /// The word of the address; those of the extents follow.
    pub(crate) address: i32,
    /// The number of extents.
    pub(crate) axes: i32,
}

/// Returns the places with memory.
pub(crate) fn places_with_memory(kernel: &Kernel) -> impl Iterator<Item = &KernelStorage> {
    kernel.storage.iter().filter(|p| !p.is_register())
}

/// Returns whether the kernel writes the place.
pub(crate) fn is_written(place: &KernelStorage) -> bool {
    place.role != StorageRole::Input
}

/// Returns the words of the places, and the word of the first integer.
pub(crate) fn argument_words(kernel: &Kernel) -> (Vec<PlaceWords>, i32) {
    let mut next = POOL + 1;
    let mut all = Vec::new();
    for place in places_with_memory(kernel) {
        let axes = i32::try_from(place.axes.iter().flatten().count()).unwrap_or(i32::MAX);
        all.push(PlaceWords { var: place.var, address: next, axes });
        next = next.saturating_add(1).saturating_add(axes);
    }
    (all, next)
}
