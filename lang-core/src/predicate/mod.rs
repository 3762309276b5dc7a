//! Integer facts about sizes and indices: polynomials over atoms (the normal form of sizes)
//! and a prover for bounds. It stands before `types`, whose checker asks it.

pub mod poly;
pub mod prove;

#[cfg(test)]
mod testing;

pub use poly::{Atom, LocalId, Poly};
pub use prove::Facts;
