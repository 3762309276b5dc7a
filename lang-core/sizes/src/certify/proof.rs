//! **Proof format**: claims about sums of polynomials, and their proofs. Nothing here depends on
//! anything but [`Poly`]. So a claim and its proof can be verified on their own, as
//! [`check`](super::check()) does.

use crate::predicate::{Atom, Poly};

/// A comparison of a polynomial with zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignComparison {
    /// `p >= 0`
    Ge(Poly),
    /// `p = 0`
    Eq(Poly),
    /// `p != 0`
    Ne(Poly),
}

/// A guarded term: `numerator / denominator` if all comparisons hold, else 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimTerm {
    /// The comparisons under which the term counts.
    pub guards: Vec<SignComparison>,
    /// The numerator.
    pub numerator: Poly,
    /// The denominator, positive.
    pub denominator: i128,
}

/// The claim that a sum is non-negative for all integers in place of the atoms for which all of
/// `assumptions` and `bounds` are non-negative. A derived atom has its defined value: `p // d` with
/// a positive constant `d` is the quotient rounded down.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Claim {
    /// Polynomials that are non-negative by assumption.
    pub assumptions: Vec<Poly>,
    /// Sums that are non-negative by assumption.
    pub bounds: Vec<Vec<ClaimTerm>>,
    /// The sum that is claimed to be non-negative.
    pub sum: Vec<ClaimTerm>,
}

/// A non-negative polynomial.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProofFact {
    /// An entry of the claim's `assumptions`.
    Assumption(usize),
    /// An entry of the claim's `bounds`: the sum of the terms whose comparisons are all decided to
    /// hold, times the least common multiple of all denominators. In every other term a comparison
    /// must be decided not to hold.
    BoundSum(usize),
    /// The side of a split on the path from the root, by number; the root's is 0.
    SplitSide(usize),
    /// A property of an atom that is derived from others.
    Property(Atom, AtomProperty),
}

/// A property of an atom `a` that is derived from `p` and `q`. For quotients and remainders, `q`
/// must be a positive constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomProperty {
    /// For a quotient `p - q·a >= 0`; for a remainder `a >= 0`; for a minimum `p - a >= 0`; for a
    /// maximum `a - p >= 0`.
    First,
    /// For a quotient `q - 1 - p + q·a >= 0`; for a remainder `q - 1 - a >= 0`; for a minimum
    /// `q - a >= 0`; for a maximum `a - q >= 0`.
    Second,
    /// For a remainder: `p - q·(p // q) - a >= 0` if the flag is set, else the negation of that
    /// polynomial. Both hold, because it is 0.
    RemainderIdentity(bool),
    /// For a minimum or maximum: it equals the operand that a split of `p - q` determines,
    /// identified by the number of the split. The property is `a` minus that operand if the flag is
    /// set, else that operand minus `a`.
    ChosenOperand(usize, bool),
}

/// The identity `by · goal = Σ c · f₁ · f₂ · …`. No `c` is negative and `by` is positive, so the
/// goal is non-negative.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Combination {
    /// The factor of the goal.
    pub goal_factor: i128,
    /// Coefficients with the facts to multiply. The product of no facts is 1.
    pub products: Vec<(i128, Vec<ProofFact>)>,
}

/// A decided comparison, with its proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The comparison.
    pub comparison: SignComparison,
    /// Whether it holds.
    pub holds: bool,
    /// The proof. For `p >= 0`, one combination shows `p` if it holds, or `-p - 1` if it does not.
    /// For `p = 0`, two combinations show `p` and `-p`. For `p != 0`, one combination shows `p - 1`
    /// or `-p - 1`.
    pub combinations: Vec<Combination>,
}

/// A proof of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proof {
    /// A case distinction: the first proof assumes `p >= 0`, the second `-p - 1 >= 0`.
    Split(Poly, Box<[Proof; 2]>),
    /// Decides a comparison for the rest of the proof.
    Decide(Box<Decision>, Box<Proof>),
    /// A leaf: the combination shows the sum of the terms whose comparisons are all decided to
    /// hold. In every other term a comparison is decided not to hold.
    Sum(Combination),
    /// A leaf: the combination shows -1, so no such sizes exist.
    Contradiction(Combination),
}
