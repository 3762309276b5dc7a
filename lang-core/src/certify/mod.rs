//! Certificates: that a gradient costs at most a constant times its function, proved for all sizes.
//!
//! A [`Question`] holds formulas for the work of a function, of its derivative, what it reads and gives (`io`) and what
//! else it may cost (`extra`). [`certify()`] gives the least whole `c` that it finds with
//! `derived + io <= c · (primal + io + extra)`: proved, or checked on a grid of sizes, or refuted as there is none.
//!
//! A proof is data ([`proof`]): cases, and at each an identity of polynomials that shows that one is not negative.
//! [`check()`] verifies it, and shares only the polynomials with the search, which is made of the grid that says what
//! there is to prove ([`grid`]), cases ([`search()`]), combinations of facts ([`combine`]) by the simplex method
//! ([`simplex`]), and growth along rays of sizes ([`growth`]).

mod check;
mod claim;
mod combine;
mod grid;
mod growth;
mod packed;
pub mod proof;
mod search;
mod simplex;

#[cfg(test)]
mod tests;

pub use check::check;
pub use claim::claim;
pub use search::search;

use crate::count::Formula;
use crate::predicate::{Atom, Poly};
use grid::{Factor, Points};
use proof::Proof;
use search::Budget;

/// So many factors are tried from the least that the grid leaves.
const TRIED: i128 = 4;

/// What is asked: for which whole `c` is `derived + io <= c · (primal + io + extra)` at all integers in place of the atoms
/// that fulfil what is known? All four formulas are integers and not negative there.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Not negative: each size, and what bounds symbols.
    pub known: &'a [Poly],
    /// Not negative either: what bounds symbols and is no polynomial, less the symbols.
    pub bounds: &'a [Formula],
    /// The work of the function.
    pub primal: &'a Formula,
    /// The work of its derivative.
    pub derived: &'a Formula,
    /// How many numbers it reads and gives.
    pub io: &'a Formula,
    /// What may be added on the side of the function: trips of loops times what they carry.
    pub extra: &'a Formula,
}

/// Numbers in place of atoms.
pub type Sizes = Vec<(Atom, i64)>;

/// The two sides at some sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The sizes.
    pub sizes: Sizes,
    /// `derived + io`
    pub derived: i128,
    /// `primal + io + extra`
    pub primal: i128,
}

/// The sizes of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grid {
    /// The atoms that were given values.
    pub atoms: Vec<Atom>,
    /// All combinations of 0 to this one were tried, or where `drawn` is set some of them; and some far beyond.
    pub most: i64,
    /// Were combinations drawn, as all were too many?
    pub drawn: bool,
    /// How many fulfilled what is known.
    pub points: usize,
}

/// What is known of the factor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The factor is enough for all sizes.
    Proved {
        /// The least that was proved.
        factor: i128,
        /// The proof of [`claim()`] for it.
        proof: Proof,
        /// Sizes at which one less is not enough, if such were found: then it is the least. (It is for 1, too.)
        tight: Option<Sizes>,
    },
    /// No proof was found.
    Checked {
        /// The least that is enough at all sizes of the grid.
        factor: i128,
        /// Where it is the least.
        tight: Option<Sizes>,
        /// The grid.
        grid: Grid,
    },
    /// No factor is enough.
    Refuted {
        /// Where the derivative costs ever more than the function; or one, where the function costs nothing at all.
        witness: Vec<Witness>,
        /// The term of `derived` that grows so.
        term: Poly,
    },
    /// The formulas cannot be compared.
    Unknown(Why),
}

/// Why formulas cannot be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A formula asks data.
    Data,
    /// A formula has no whole values at the sizes of the grid, or no sizes there fulfil what is known.
    NoValue,
    /// A formula is negative somewhere.
    Negative,
    /// Too many atoms, too large a degree, or coefficients.
    TooLarge,
}

/// What was found out, to be checked again by [`Certificate::check`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// What was found out.
    pub verdict: Verdict,
}

impl Certificate {
    /// Does it follow from the question, checked anew? Proofs by the separate checker; witnesses, grids and growth by
    /// values.
    #[must_use]
    pub fn check(&self, question: &Question<'_>) -> bool {
        match &self.verdict {
            Verdict::Proved { factor, proof, tight } => {
                let proved = claim(question, *factor).is_ok_and(|claim| check(&claim, proof));
                proved && tight.as_ref().is_none_or(|sizes| fails(question, *factor - 1, sizes))
            }
            Verdict::Checked { factor, tight, grid } => {
                let points = Points::of(question);
                let same =
                    points.is_ok_and(|p| p.grid == *grid && matches!(&p.factor, Factor::Least(c, _) if c == factor));
                same && tight.as_ref().is_none_or(|sizes| fails(question, *factor - 1, sizes))
            }
            Verdict::Refuted { witness, .. } => growth::grows(question, witness),
            Verdict::Unknown(_) => false,
        }
    }
}

/// Is the factor not enough at these sizes, which are possible?
fn fails(question: &Question<'_>, factor: i128, sizes: &Sizes) -> bool {
    let at = growth::witness(question, sizes);
    at.is_some_and(|w| factor.checked_mul(w.primal).is_some_and(|most| w.derived > most))
}

/// Finds out by which factor a derivative costs more than its function, at most.
#[must_use]
pub fn certify(question: &Question<'_>) -> Certificate {
    Certificate { verdict: verdict(question).unwrap_or_else(Verdict::Unknown) }
}

fn verdict(question: &Question<'_>) -> Result<Verdict, Why> {
    let points = Points::of(question)?;
    let (least, tight) = match points.factor {
        Factor::None(at) => {
            let term = growth::largest(question, &at.sizes).ok_or(Why::NoValue)?;
            return Ok(Verdict::Refuted { witness: vec![at], term });
        }
        Factor::Least(factor, tight) => (factor, tight),
    };
    let refuted = || growth::refute(question).map(|(witness, term)| Verdict::Refuted { witness, term });
    let mut budget = Budget::default();
    let mut proved = |factor: i128| {
        let claim = claim(question, factor).ok()?;
        let proof = search::within(&claim, &mut budget)?;
        check(&claim, &proof).then_some((factor, proof))
    };
    // Where it is steep it grows, most likely. Else growth is looked for where the least is not proved.
    let first = if points.steep { None } else { proved(least) };
    let found = match first {
        Some(found) => Some(found),
        None => {
            if let Some(verdict) = refuted() {
                return Ok(verdict);
            }
            let from = if points.steep { least } else { least.saturating_add(1) };
            (from..least.saturating_add(TRIED)).find_map(&mut proved)
        }
    };
    if let Some((factor, proof)) = found {
        return Ok(Verdict::Proved { factor, proof, tight: tight.filter(|_| factor == least) });
    }
    Ok(Verdict::Checked { factor: least, tight, grid: points.grid })
}
