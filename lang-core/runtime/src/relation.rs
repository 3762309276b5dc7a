//! **Relations**: sets of index tuples, stored sorted, with membership by binary search.

use super::memory::MemoryCharge;

/// A set of index tuples within extents.
pub struct Relation {
    dims: Vec<i64>,
    /// The members in sequence, sorted and without duplicates.
    rows: Vec<i64>,
    count: usize,
    #[expect(dead_code, reason = "held for its drop")]
    charge: MemoryCharge,
}

impl Relation {
    /// Builds the set of the rows of `flat`; each has one entry per extent. Rows may be in any
    /// order and repeat.
    pub fn new(dims: Vec<i64>, flat: Vec<i64>, charge: MemoryCharge) -> Self {
        if dims.is_empty() {
            let count = usize::from(!flat.is_empty());
            return Self { dims, rows: Vec::new(), count, charge };
        }
        let mut rows: Vec<&[i64]> = flat.chunks_exact(dims.len()).collect();
        let sorted = rows.is_sorted_by(|a, b| a < b);
        if sorted {
            let count = rows.len();
            return Self { dims, rows: flat, count, charge };
        }
        rows.sort_unstable();
        rows.dedup();
        let count = rows.len();
        let rows = rows.concat();
        Self { dims, rows, count, charge }
    }

    /// Returns the extents.
    #[must_use]
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// Returns the number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the members in lexicographic order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[i64]> {
        self.rows.chunks_exact(self.dims.len().max(1))
    }

    /// Returns whether an index tuple is a member, in logarithmic time. Tuples outside the extents
    /// are not.
    #[must_use]
    pub fn contains(&self, tuple: &[i64]) -> bool {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            let from = middle * self.dims.len();
            match self.rows.get(from..from + self.dims.len()).map(|row| row.cmp(tuple)) {
                Some(std::cmp::Ordering::Less) => low = middle + 1,
                Some(std::cmp::Ordering::Equal) => return true,
                _ => high = middle,
            }
        }
        false
    }
}

impl PartialEq for Relation {
    fn eq(&self, other: &Self) -> bool {
        self.dims == other.dims && self.rows == other.rows && self.count == other.count
    }
}
