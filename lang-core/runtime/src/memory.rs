//! **Memory accounting.** Tracks the bytes that the values of a run hold, and enforces a limit.
//! Every heap allocation of a value carries a [`MemoryCharge`], which returns its bytes on drop. So
//! a program that builds too much fails with E0508 and never exhausts the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bound of extents, 2^47 on every backend, because products of two extents must fit the
/// arithmetic of the proofs.
pub const MAX_EXTENT: i64 = 1 << 47;

/// The resource limits of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunLimits {
    /// Nested calls.
    pub max_calls: usize,
    /// Nested expressions under evaluation, over all active calls. This bounds the stack, at less
    /// than a kilobyte each.
    pub max_nesting: usize,
    /// Elements of one array.
    pub max_elements: usize,
    /// Bytes of all live values and of the frames of active calls.
    pub max_bytes: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { max_calls: 100_000, max_nesting: 1_000_000, max_elements: 1 << 31, max_bytes: 4 << 30 }
    }
}

/// The bytes in use and their limits.
pub struct MemoryAccount {
    live: Arc<AtomicUsize>,
    limits: RunLimits,
}

/// The reason why an allocation is refused.
#[derive(Debug)]
pub enum AllocationError {
    /// The number of elements of one array, which exceeds the limit.
    Elements(u128),
    /// The limit in bytes on all values together.
    Bytes(usize),
    /// The number of bytes that would be in use at once, and the smaller limit.
    Planned(u64, usize),
}

impl MemoryAccount {
    /// Creates a memory with no bytes in use.
    #[must_use]
    pub fn new(limits: RunLimits) -> Self {
        Self { live: Arc::new(AtomicUsize::new(0)), limits }
    }

    /// Returns the bytes that values hold now.
    pub fn live_bytes(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Fails if `bytes` more, all needed at once, would exceed the limit. Charges nothing.
    pub fn check_fits(&self, bytes: u64) -> Result<(), AllocationError> {
        let all = bytes.saturating_add(u64::try_from(self.live_bytes()).unwrap_or(u64::MAX));
        let limit = self.limits.max_bytes;
        if u64::try_from(limit).is_ok_and(|limit| all > limit) {
            Err(AllocationError::Planned(all, limit))
        } else {
            Ok(())
        }
    }

    /// Charges `bytes`, or fails if that exceeds the limit.
    pub fn charge(&self, bytes: usize) -> Result<MemoryCharge, AllocationError> {
        let before = self.live.fetch_add(bytes, Ordering::Relaxed);
        let charge = MemoryCharge { live: Some(self.live.clone()), bytes };
        // On failure, dropping the charge subtracts the bytes again.
        if before.saturating_add(bytes) > self.limits.max_bytes {
            return Err(AllocationError::Bytes(self.limits.max_bytes));
        }
        Ok(charge)
    }

    /// Returns the number of elements of an array of these extents, or fails if it exceeds the
    /// limit.
    pub fn element_count(&self, dims: impl IntoIterator<Item = usize>) -> Result<usize, AllocationError> {
        let mut product: u128 = 1;
        for n in dims {
            product = product.saturating_mul(n as u128);
        }
        match usize::try_from(product) {
            Ok(n) if n <= self.limits.max_elements => Ok(n),
            _ => Err(AllocationError::Elements(product)),
        }
    }

    /// Grows the capacity of `vec` to `capacity` elements in all, and replaces its charge.
    pub fn grow_vec<T>(
        &self,
        vec: &mut Vec<T>,
        charge: &mut MemoryCharge,
        capacity: usize,
    ) -> Result<(), AllocationError> {
        if capacity <= vec.capacity() {
            return Ok(());
        }
        if capacity > self.limits.max_elements {
            return Err(AllocationError::Elements(capacity as u128));
        }
        let bytes = capacity.saturating_mul(size_of::<T>());
        let whole = self.charge(bytes)?;
        vec.try_reserve_exact(capacity.saturating_sub(vec.len())).map_err(|_| AllocationError::Bytes(bytes))?;
        *charge = whole;
        Ok(())
    }

    /// Returns the new capacity for `more` elements after `len`: at least twice `len`, if the limit
    /// on elements allows it.
    pub fn grown_capacity(&self, len: usize, more: usize) -> usize {
        len.saturating_add(more).max(len.saturating_mul(2).max(8).min(self.limits.max_elements))
    }

    /// Returns an empty vector with capacity `n` and its charge.
    pub fn vec_with_capacity<T>(&self, n: usize) -> Result<(Vec<T>, MemoryCharge), AllocationError> {
        let mut vec = Vec::new();
        let mut charge = MemoryCharge::default();
        self.grow_vec(&mut vec, &mut charge, n)?;
        Ok((vec, charge))
    }
}

/// A number of charged bytes, subtracted again on drop. The default charges nothing, for values
/// created outside a run.
#[derive(Default)]
pub struct MemoryCharge {
    live: Option<Arc<AtomicUsize>>,
    bytes: usize,
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        if let Some(live) = &self.live {
            live.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}
