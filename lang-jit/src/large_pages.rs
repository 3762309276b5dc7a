//! **Large-page allocator.** Allocates large arrays in the system's large pages, if it offers them.
//!
//! Streaming through memory in small pages waits for address translation, and each page costs a
//! fault at its first write. Freeing gigabytes of small pages takes the system a second.
#![allow(unsafe_code, reason = "an allocator is one by promise; this one passes on what it is promised")]

use std::alloc::{GlobalAlloc, Layout, System};

/// The least size of a block with large pages, in bytes. A smaller block would contain few.
const MIN_LARGE_BLOCK: usize = 4 << 20;

/// The system's allocator, with large blocks in large pages. A program installs it by
/// `#[global_allocator]`. Without such pages it is equal to the system's.
#[derive(Clone, Copy, Debug)]
pub struct LargePages;

// SAFETY: blocks are the system's, and each is freed with the layout of its allocation. The request
// for large pages changes neither the address nor the contents of a block.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of the system's allocator.
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

/// Requests large pages for the part of the block that consists of whole ones, so that no
/// additional memory is used.
#[cfg(target_os = "linux")]
fn in_large_pages(block: *mut u8, size: usize) -> *mut u8 {
    use nix::sys::mman::{MmapAdvise, madvise};
    use std::ptr::NonNull;

    /// The size of a large page on the processors that Cranelift supports.
    const PAGE: usize = 2 << 20;

    if size < MIN_LARGE_BLOCK {
        return block;
    }
    let before = block.addr().wrapping_neg() % PAGE;
    let within = size.saturating_sub(before) / PAGE * PAGE;
    if let Some(first) = NonNull::new(block.wrapping_add(before).cast()).filter(|_| !block.is_null() && within > 0) {
        // SAFETY: the pages are within the block and keep their contents. If the system refuses,
        // they stay small.
        let _ = unsafe { madvise(first, within, MmapAdvise::MADV_HUGEPAGE) };
    }
    block
}

#[cfg(not(target_os = "linux"))]
fn in_large_pages(block: *mut u8, _: usize) -> *mut u8 {
    block
}
