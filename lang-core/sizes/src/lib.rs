//! **Integer facts about sizes and indices.** [`predicate`] has polynomials, predicates and a
//! prover; [`count`] counts the points that satisfy a predicate; [`certify`] proves bounds between
//! the counts.

#![forbid(unsafe_code)]

pub mod certify;
pub mod count;
pub mod predicate;
