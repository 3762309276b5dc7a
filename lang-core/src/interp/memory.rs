//! How much memory values hold, and the limit on it. Everything a value keeps on the heap
//! carries a [`Charge`], which gives its bytes back when it is dropped; so a program that
//! builds too much fails with E0508 and never exhausts the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Extents are below 2^47 on every backend, so that products of two fit in what proofs use.
pub const MAX_EXTENT: i64 = 1 << 47;

/// What a run may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Calls inside one another.
    pub max_calls: usize,
    /// Expressions being evaluated inside one another, those of all running calls together:
    /// what bounds the stack, at less than a kilobyte each.
    pub max_nesting: usize,
    /// Elements of one array.
    pub max_elements: usize,
    /// Bytes of all values alive and of the frames of running calls.
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_calls: 100_000, max_nesting: 1_000_000, max_elements: 1 << 31, max_bytes: 4 << 30 }
    }
}

/// The bytes in use and their limit.
pub struct Memory {
    live: Arc<AtomicUsize>,
    limits: Limits,
}

/// Why there is no room.
#[derive(Debug)]
pub enum TooLarge {
    /// One array of more elements than allowed.
    Elements(u128),
    /// All values together.
    Bytes(usize),
    /// So many bytes would be in use at once, more than this limit.
    Planned(u64, usize),
}

impl Memory {
    /// None in use.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { live: Arc::new(AtomicUsize::new(0)), limits }
    }

    /// Bytes held by values now.
    pub(super) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Whether there is room for so many bytes more, which a run will need at once.
    pub(crate) fn fits(&self, bytes: u64) -> Result<(), TooLarge> {
        let all = bytes.saturating_add(u64::try_from(self.live()).unwrap_or(u64::MAX));
        let limit = self.limits.max_bytes;
        if u64::try_from(limit).is_ok_and(|limit| all > limit) { Err(TooLarge::Planned(all, limit)) } else { Ok(()) }
    }

    /// Room for `bytes`.
    pub(crate) fn charge(&self, bytes: usize) -> Result<Charge, TooLarge> {
        let before = self.live.fetch_add(bytes, Ordering::Relaxed);
        let charge = Charge { live: Some(self.live.clone()), bytes };
        // On failure the charge is dropped here, which takes the bytes off again.
        if before.saturating_add(bytes) > self.limits.max_bytes {
            return Err(TooLarge::Bytes(self.limits.max_bytes));
        }
        Ok(charge)
    }

    /// The number of elements of an array of these extents, if it is allowed.
    pub(crate) fn count(&self, dims: impl IntoIterator<Item = usize>) -> Result<usize, TooLarge> {
        let mut product: u128 = 1;
        for n in dims {
            product = product.saturating_mul(n as u128);
        }
        match usize::try_from(product) {
            Ok(n) if n <= self.limits.max_elements => Ok(n),
            _ => Err(TooLarge::Elements(product)),
        }
    }

    /// Makes room in `vec` for `capacity` elements in all, charged to `charge`.
    pub(crate) fn grow<T>(&self, vec: &mut Vec<T>, charge: &mut Charge, capacity: usize) -> Result<(), TooLarge> {
        if capacity <= vec.capacity() {
            return Ok(());
        }
        if capacity > self.limits.max_elements {
            return Err(TooLarge::Elements(capacity as u128));
        }
        let bytes = capacity.saturating_mul(size_of::<T>());
        let whole = self.charge(bytes)?;
        vec.try_reserve_exact(capacity.saturating_sub(vec.len())).map_err(|_| TooLarge::Bytes(bytes))?;
        *charge = whole;
        Ok(())
    }

    /// The capacity for `more` elements beside `len`: twice as many where there is room for that.
    pub(crate) fn capacity(&self, len: usize, more: usize) -> usize {
        len.saturating_add(more).max(len.saturating_mul(2).max(8).min(self.limits.max_elements))
    }

    /// An empty vector with room for `n`.
    pub(crate) fn vec<T>(&self, n: usize) -> Result<(Vec<T>, Charge), TooLarge> {
        let mut vec = Vec::new();
        let mut charge = Charge::default();
        self.grow(&mut vec, &mut charge, n)?;
        Ok((vec, charge))
    }
}

/// Bytes in use; dropping it gives them back. The default is a charge of nothing, for values
/// made outside a run.
#[derive(Default)]
pub struct Charge {
    live: Option<Arc<AtomicUsize>>,
    bytes: usize,
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(live) = &self.live {
            live.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}
