//! Memory of large arrays, used again: what one leaves is taken by the next of its kind and length, which has then no pages
//! to ask the system for. Each thread has its own; what is kept and not used is bounded, and is no value that a run is
//! charged for.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::thread::{self, JoinHandle};

use super::array::{Elem, Store};

/// Smaller ones the allocator has at hand.
const LEAST_BYTES: usize = 64 << 10;

/// So many bytes are kept; of more the oldest go.
const MOST_BYTES: usize = 512 << 20;

/// So many are looked through.
const MOST: usize = 64;

#[derive(Default)]
struct Pool {
    /// The latest last.
    free: VecDeque<Store>,
    bytes: usize,
    /// What is being given back to the system.
    going: Vec<JoinHandle<()>>,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

/// Keeps a store whose array is gone, if it is a large one of numbers.
pub(crate) fn give(store: Store) {
    let bytes = bytes(&store);
    if bytes > MOST_BYTES {
        // To give pages back takes the system a second for some gigabytes, which nobody has to wait for but who wants as many.
        let going = thread::Builder::new().spawn(move || drop(store));
        let _ = POOL.try_with(|pool| {
            if let Ok(mut pool) = pool.try_borrow_mut() {
                pool.going.retain(|going| !going.is_finished());
                pool.going.extend(going.ok());
            }
        });
        return;
    }
    if bytes < LEAST_BYTES {
        return;
    }
    // A thread that ends keeps nothing.
    let _ = POOL.try_with(|pool| {
        let mut gone = Vec::new();
        if let Ok(mut pool) = pool.try_borrow_mut() {
            pool.bytes = pool.bytes.saturating_add(bytes);
            pool.free.push_back(store);
            while pool.bytes > MOST_BYTES || pool.free.len() > MOST {
                let Some(oldest) = pool.free.pop_front() else { break };
                pool.bytes = pool.bytes.saturating_sub(self::bytes(&oldest));
                gone.push(oldest);
            }
        }
    });
}

/// Gives back to the system what this thread keeps.
pub fn empty() {
    let kept = POOL.try_with(|pool| pool.try_borrow_mut().map(|mut pool| std::mem::take(&mut *pool)));
    drop(kept);
}

/// Elements of an array that is gone, of this number. What they are is of no meaning.
pub(crate) fn take<T: Elem>(count: usize) -> Option<Vec<T>> {
    if count.saturating_mul(size_of::<T>()) < LEAST_BYTES {
        return None;
    }
    let found = POOL.try_with(|pool| {
        let mut pool = pool.try_borrow_mut().ok()?;
        if count.saturating_mul(size_of::<T>()) > MOST_BYTES {
            // Both at once may be more than the machine has.
            pool.going.drain(..).for_each(|going| drop(going.join()));
        }
        let at = pool.free.iter().rposition(|store| T::slice(store).is_some_and(|items| items.len() == count))?;
        let store = pool.free.remove(at)?;
        pool.bytes = pool.bytes.saturating_sub(bytes(&store));
        Some(store)
    });
    T::unwrap(found.ok().flatten()?)
}

fn bytes(store: &Store) -> usize {
    let of = |capacity: usize, size: usize| capacity.saturating_mul(size);
    match store {
        Store::F64(v) => of(v.capacity(), 8),
        Store::F32(v) => of(v.capacity(), 4),
        Store::I64(v) => of(v.capacity(), 8),
        Store::Bool(v) => v.capacity(),
        // The parts of columns come one by one.
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
        give(Store::F64(large));
        give(Store::I64(other));
        assert!(take::<f64>(9_999).is_none() && take::<bool>(10_000).is_none());
        assert_eq!(take::<f64>(10_000).map(|v| v.as_ptr()), Some(at));
        assert_eq!(take::<i64>(10_000).map(|v| v.as_ptr()), Some(of_other));
        assert!(take::<f64>(10_000).is_none());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        for k in 0..2 * MOST {
            give(Store::F64(vec![0.0; 10_000 + k]));
        }
        give(Store::F64(vec![0.0; 10]));
        POOL.with(|pool| assert_eq!(pool.borrow().free.len(), MOST));
        assert!(take::<f64>(10_000).is_none() && take::<f64>(10_000 + 2 * MOST - 1).is_some());
    }
}
