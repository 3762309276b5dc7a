//! Claims about sums of polynomials, and what proves them. Nothing here refers to anything but [`Poly`]: a claim and its
//! proof can be looked at by themselves, and are by [`check`](super::check()).

use crate::predicate::{Atom, Poly};

/// What may be asked of a polynomial.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `p >= 0`
    Ge(Poly),
    /// `p = 0`
    Eq(Poly),
    /// `p != 0`
    Ne(Poly),
}

/// `over / under` where all comparisons hold, and 0 elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// Where it counts.
    pub at: Vec<Comparison>,
    /// The numerator.
    pub over: Poly,
    /// The denominator, positive.
    pub under: i128,
}

/// For all integers in place of the atoms for which none of `known` and of `bounds` is negative, the sum is not negative. Atoms made of
/// others are what they are made to be: `p // d` with a positive constant `d` is the quotient rounded down.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Claim {
    /// What is known not to be negative.
    pub known: Vec<Poly>,
    /// Sums that are known not to be negative.
    pub bounds: Vec<Vec<Term>>,
    /// What is claimed not to be negative.
    pub sum: Vec<Term>,
}

/// A polynomial that is not negative.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact {
    /// One of what the claim says is known.
    Known(usize),
    /// One of the sums that the claim says are known: the terms that are told to count, times the least common multiple of
    /// all its denominators. Of all other terms a comparison is told not to hold.
    Bound(usize),
    /// What the split of this number on the way from the root says, the root's is 0.
    Side(usize),
    /// What an atom is, that is made of others.
    Made(Atom, Made),
}

/// What holds of an atom `a` that is made of `p` and `q`. For quotients and remainders `q` is a positive constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Made {
    /// `p - q·a >= 0` of a quotient, `a >= 0` of a remainder, `p - a >= 0` of the lesser and `a - p >= 0` of the greater.
    First,
    /// `q - 1 - p + q·a >= 0` of a quotient, `q - 1 - a >= 0` of a remainder, `q - a >= 0` of the lesser and `a - q >= 0` of
    /// the greater.
    Second,
    /// Of a remainder: `p - q·(p // q) - a >= 0`, or if the flag is not set the same times -1: it is 0.
    Rest(bool),
    /// Of the lesser and the greater: it is the one that the split of this number on the way tells it is; that is of
    /// `p - q`. The flag says whether it is `a` less that one, or that one less `a`.
    Chosen(usize, bool),
}

/// `by · goal = Σ c · f₁ · f₂ · …`, with no `c` negative and `by` positive: so the goal is not negative.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Combination {
    /// How often the goal.
    pub by: i128,
    /// Coefficients and the facts that are multiplied; the product of none is 1.
    pub parts: Vec<(i128, Vec<Fact>)>,
}

/// Whether a comparison holds, with what shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Which.
    pub comparison: Comparison,
    /// Does it hold?
    pub holds: bool,
    /// Is `p >= 0` told: this shows `p`, or if not `-p - 1`. Is `p = 0`: these two show `p` and `-p`. Is `p != 0`: this one
    /// shows `p - 1` or `-p - 1`.
    pub why: Vec<Combination>,
}

/// What proves a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proof {
    /// Where `p >= 0` it is the first, where `-p - 1 >= 0` the second.
    Split(Poly, Box<[Proof; 2]>),
    /// From here on a comparison is told.
    Told(Box<Told>, Box<Proof>),
    /// The terms that are told to count add up to what this shows. Of all other terms a comparison is told not to hold.
    Sum(Combination),
    /// It shows -1: there are no such sizes.
    Contradiction(Combination),
}
