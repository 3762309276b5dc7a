//! **Buffer pool.** Recycles the buffers of large dead arrays. A new array of the same kind and
//! length takes such a buffer, and saves the page faults of a fresh allocation. Each thread has its
//! own pool. The unused bytes in it are bounded, and no run is charged for them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::thread::{self, JoinHandle};

use super::array::{Store, UnboxedElement};

/// The smallest buffer in the pool, in bytes, because the allocator itself recycles smaller ones.
const MIN_POOLED_BYTES: usize = 64 << 10;

/// The bound on the bytes in the pool; the oldest buffers are freed beyond it.
const MAX_POOLED_BYTES: usize = 512 << 20;

/// The bound on the number of buffers in the pool, because `take` searches all of them.
const MAX_POOLED_BUFFERS: usize = 64;

#[derive(Default)]
struct BufferPool {
    /// The free buffers, the most recent last.
    free: VecDeque<Store>,
    bytes: usize,
    /// The threads that return very large buffers to the system.
    freeing_threads: Vec<JoinHandle<()>>,
}

thread_local! {
    static POOL: RefCell<BufferPool> = RefCell::default();
}

/// Recycles the store of a dead array if it is large and unboxed; otherwise drops it.
pub fn recycle(store: Store) {
    let bytes = capacity_bytes(&store);
    if bytes > MAX_POOLED_BYTES {
        // Returning some gigabytes of pages takes the system a second. A separate thread does it,
        // and only an allocation of similar size waits for it.
        let going = thread::Builder::new().spawn(move || drop(store));
        let _ = POOL.try_with(|pool| {
            if let Ok(mut pool) = pool.try_borrow_mut() {
                pool.freeing_threads.retain(|going| !going.is_finished());
                pool.freeing_threads.extend(going.ok());
            }
        });
        return;
    }
    if bytes < MIN_POOLED_BYTES {
        return;
    }
    // A thread that ends has no pool any more.
    let _ = POOL.try_with(|pool| {
        let mut gone = Vec::new();
        if let Ok(mut pool) = pool.try_borrow_mut() {
            pool.bytes = pool.bytes.saturating_add(bytes);
            pool.free.push_back(store);
            while pool.bytes > MAX_POOLED_BYTES || pool.free.len() > MAX_POOLED_BUFFERS {
                let Some(oldest) = pool.free.pop_front() else { break };
                pool.bytes = pool.bytes.saturating_sub(capacity_bytes(&oldest));
                gone.push(oldest);
            }
        }
    });
}

/// Frees all buffers in the pool of this thread.
pub fn clear() {
    let kept = POOL.try_with(|pool| pool.try_borrow_mut().map(|mut pool| std::mem::take(&mut *pool)));
    drop(kept);
}

/// Takes a buffer of exactly `count` elements from the pool. Their values are arbitrary.
pub fn take_buffer<T: UnboxedElement>(count: usize) -> Option<Vec<T>> {
    if count.saturating_mul(size_of::<T>()) < MIN_POOLED_BYTES {
        return None;
    }
    let found = POOL.try_with(|pool| {
        let mut pool = pool.try_borrow_mut().ok()?;
        if count.saturating_mul(size_of::<T>()) > MAX_POOLED_BYTES {
            // Both buffers at once may exceed the memory of the machine.
            pool.freeing_threads.drain(..).for_each(|going| drop(going.join()));
        }
        let at = pool.free.iter().rposition(|store| T::slice(store).is_some_and(|items| items.len() == count))?;
        let store = pool.free.remove(at)?;
        pool.bytes = pool.bytes.saturating_sub(capacity_bytes(&store));
        Some(store)
    });
    T::from_store(found.ok().flatten()?)
}

fn capacity_bytes(store: &Store) -> usize {
    let of = |capacity: usize, size: usize| capacity.saturating_mul(size);
    match store {
        Store::F64(v) => of(v.capacity(), 8),
        Store::F32(v) => of(v.capacity(), 4),
        Store::I64(v) => of(v.capacity(), 8),
        Store::Bool(v) => v.capacity(),
        // The columns are arrays of their own, which enter the pool one by one.
        Store::Columns(_) | Store::Boxed(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_taken_again() {
        let (large, other) = (vec![1.5_f64; 10_000], vec![2_i64; 10_000]);
        let (at, of_other) = (large.as_ptr(), other.as_ptr());
        recycle(Store::F64(large));
        recycle(Store::I64(other));
        assert!(take_buffer::<f64>(9_999).is_none() && take_buffer::<bool>(10_000).is_none());
        assert_eq!(take_buffer::<f64>(10_000).map(|v| v.as_ptr()), Some(at));
        assert_eq!(take_buffer::<i64>(10_000).map(|v| v.as_ptr()), Some(of_other));
        assert!(take_buffer::<f64>(10_000).is_none());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        for k in 0..2 * MAX_POOLED_BUFFERS {
            recycle(Store::F64(vec![0.0; 10_000 + k]));
        }
        recycle(Store::F64(vec![0.0; 10]));
        POOL.with(|pool| assert_eq!(pool.borrow().free.len(), MAX_POOLED_BUFFERS));
        assert!(
            take_buffer::<f64>(10_000).is_none() && take_buffer::<f64>(10_000 + 2 * MAX_POOLED_BUFFERS - 1).is_some()
        );
    }
}
