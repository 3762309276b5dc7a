//! Relations: sets of index tuples, kept sorted.

use super::memory::Charge;

/// A set of index tuples within extents.
pub struct Relation {
    dims: Vec<i64>,
    /// Members one after another, sorted, none twice.
    rows: Vec<i64>,
    count: usize,
    #[expect(dead_code, reason = "held for its drop")]
    charge: Charge,
}

impl Relation {
    /// The set of the rows of `flat`, each as long as there are extents. Rows may repeat and
    /// stand in any order.
    pub(super) fn new(dims: Vec<i64>, flat: Vec<i64>, charge: Charge) -> Self {
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

    /// Its extents.
    #[must_use]
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    /// How many members it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Has it no member?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Its members in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[i64]> {
        self.rows.chunks_exact(self.dims.len().max(1))
    }

    /// Is this index tuple a member? None outside the extents is.
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
