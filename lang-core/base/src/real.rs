//! **Real constants of forms**: numbers that are compared by their bits.

/// A real constant. NaN equals itself, because results of queries are compared. A tree with NaN
/// that an edit does not touch must equal the tree before the edit. Otherwise all queries that
/// depend on it would run again.
#[derive(Clone, Copy, Debug)]
pub struct RealConst(pub f64);

impl PartialEq for RealConst {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for RealConst {}
