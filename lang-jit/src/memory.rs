//! Memory of large arrays, in the system's large pages where it gives them to who asks. What streams through memory waits
//! for the addresses of small pages, of which each costs a fault when it is first written; and gigabytes of them take the system a
//! second to take back.
#![allow(unsafe_code, reason = "an allocator is one by promise; this one passes on what it is promised")]

use std::alloc::{GlobalAlloc, Layout, System};

/// Large pages are asked for from so many bytes on: of less there would be few.
const LEAST: usize = 4 << 20;

/// The system's allocator, whose large blocks are in large pages. A program has it by `#[global_allocator]`; where there
/// are no such pages it is the system's.
#[derive(Clone, Copy, Debug)]
pub struct LargePages;

// SAFETY: blocks are the system's, each given back to it with the layout that it was asked for with; what is asked
// of the system for the pages of a block changes neither where it is nor what it holds.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what the caller promises is what the system wants.
        in_large_pages(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        in_large_pages(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; the block is the system's.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; the block is the system's.
        in_large_pages(unsafe { System.realloc(block, layout, size) }, size)
    }
}

/// Asks for large pages where a whole one is within the block, so that no more memory is used than was asked for.
#[cfg(target_os = "linux")]
fn in_large_pages(block: *mut u8, size: usize) -> *mut u8 {
    use nix::sys::mman::{MmapAdvise, madvise};
    use std::ptr::NonNull;

    /// The size of a large page, of the processors that there is machine code for.
    const PAGE: usize = 2 << 20;

    if size < LEAST {
        return block;
    }
    let before = block.addr().wrapping_neg() % PAGE;
    let within = size.saturating_sub(before) / PAGE * PAGE;
    if let Some(first) = NonNull::new(block.wrapping_add(before).cast()).filter(|_| !block.is_null() && within > 0) {
        // SAFETY: the pages are within the block, and what they hold stays. Where the system refuses they are small.
        let _ = unsafe { madvise(first, within, MmapAdvise::MADV_HUGEPAGE) };
    }
    block
}

#[cfg(not(target_os = "linux"))]
fn in_large_pages(block: *mut u8, _: usize) -> *mut u8 {
    block
}
