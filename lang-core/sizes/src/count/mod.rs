//! **Counting of lattice points**: the number of integer tuples that satisfy a predicate, and the
//! sum of a polynomial over them, as formulas in the sizes. A formula is a sum of polynomials, each
//! guarded by a predicate over the sizes. It is exact for all sizes, including 0.
//! `lang_middle::cost` and [`certify`](super::certify) use it.
//!
//! The method is that of Pugh, "Counting solutions to Presburger formulas", 1994. A predicate is
//! split into disjoint conjunctions ([`disjoint`]). In each, the indices are summed out one by one
//! ([`mod@sum`]). Between the greatest lower and the least upper bound of an index, a polynomial in
//! it sums to a polynomial in both bounds (Faulhaber). Division by a constant is split by
//! remainders. Only predicates that are affine in the indices with constant coefficients are
//! counted; for others the reason is reported ([`UncountedReason`]).

mod cases;
mod disjoint;
mod formula;
mod names;
mod quotient;
mod ratio;
mod sum;
mod text;

pub use formula::{Formula, FormulaPiece};
pub use names::{DisplayName, DisplayNames};
pub use ratio::Ratio;
pub use sum::{UncountedReason, count, sum};

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;
