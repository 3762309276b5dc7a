//! **Real constants of forms**: numbers that are compared by their bits.

/// A real constant. NaN equals itself, because results of queries are compared: a tree with NaN that an edit leaves
/// alone must equal the tree before the edit, or else all that depends on it is computed again.
#[derive(Clone, Copy, Debug)]
pub struct Real(pub f64);

impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Real {}
