//! Integer facts about sizes and indices: polynomials over atoms (the normal form of sizes)
//! and a prover for bounds. It stands before `types`, whose checker asks it.

pub mod poly;

pub use poly::{Atom, LocalId, Poly};
