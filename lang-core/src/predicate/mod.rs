//! Integer facts about sizes and indices: polynomials over atoms (the normal form of sizes),
//! a prover for bounds, and predicates with what can be simplified in them. It stands before `types`,
//! whose checker asks it.

pub mod context;
pub mod poly;
pub mod pred;
pub mod prove;

#[cfg(test)]
mod drawn;
#[cfg(test)]
pub(crate) mod testing;

pub use context::{Context, Mark};
pub use poly::{Atom, LocalId, Poly};
pub use pred::{Index, Opaque, Pred};
pub use prove::Facts;
