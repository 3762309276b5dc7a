//! Counting: how many tuples of integers fulfil a predicate, and what a polynomial adds up to over them, as formulas in
//! the sizes. A formula is a sum of polynomials, each where a predicate over the sizes holds; it is exact for all sizes,
//! 0 included.
//!
//! A predicate is taken apart into conjunctions of which no two hold at once ([`disjoint`]), and of each the indices are
//! summed away one by one ([`sum`]): between its greatest lower and its least upper bound a polynomial in an index adds up
//! to a polynomial in both (Faulhaber). What is divided by a constant is split by remainders. The way is that of Pugh,
//! "Counting solutions to Presburger formulas", 1994; what is affine with constant coefficients in the indices is counted,
//! anything else is told ([`Uncounted`]).

mod cases;
mod disjoint;
mod formula;
mod names;
mod quotient;
mod ratio;
mod sum;
mod text;

pub use formula::{Formula, Piece};
pub use names::{Named, Names};
pub use ratio::Ratio;
pub use sum::{Uncounted, count, sum};

#[cfg(test)]
mod drawn;
#[cfg(test)]
mod tests;
