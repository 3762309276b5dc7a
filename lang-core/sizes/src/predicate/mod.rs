//! **Integer facts** about sizes and indices: polynomials over atoms (the normal form of sizes), a
//! prover for bounds, and predicates with their simplification. The checker in `lang_types` calls
//! this module, as do all passes after it.

pub mod context;
pub mod poly;
pub mod pred;
pub mod prove;

#[cfg(test)]
mod random_tests;
#[cfg(test)]
pub(crate) mod testing;

pub use context::{ContextMark, FactContext};
pub use poly::{Atom, LocalId, Poly};
pub use pred::{Index, OpaqueAtom, Pred};
pub use prove::FactSet;
