//! **Certificates**: proofs that a gradient costs at most a constant times its function, for all
//! sizes. The module compares formulas only; `lang_middle::cost::cost_ratio` builds the question
//! from the costs of a function and its derivative.
//!
//! A [`CostQuestion`] holds formulas for the work of a function and of its derivative, for the
//! sizes of inputs and outputs (`io`), and for an allowance (`extra`). The function [`certify()`]
//! looks for the least whole `c` with `derived + io <= c · (primal + io + extra)`. The result is a
//! proof, a check on a grid of sizes, or a refutation.
//!
//! A proof is data ([`proof`]): a tree of cases, with an identity of polynomials at each leaf that
//! shows a polynomial to be non-negative. The checker [`check()`] verifies it, and shares only the
//! polynomials with the search.
//!
//! The search consists of four parts:
//!
//! - the grid, which finds the factor to prove ([`grid`])
//! - cases ([`search()`])
//! - combinations of facts ([`combine`]), by the simplex method ([`simplex`])
//! - growth along rays of sizes ([`growth`])

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
use grid::{GridResult, LeastFactor};
use proof::Proof;
use search::SearchBudget;

/// The number of factors tried, from the least that the grid permits.
const MAX_FACTORS_TRIED: i128 = 4;

/// The question for which whole `c` the inequality `derived + io <= c · (primal + io + extra)`
/// holds. It must hold for all integers in place of the atoms that satisfy `known` and `bounds`.
/// All four formulas must have non-negative integer values there.
#[derive(Clone, Copy, Debug)]
pub struct CostQuestion<'a> {
    /// Non-negative polynomials: each size, and bounds of symbols.
    pub assumptions: &'a [Poly],
    /// Non-negative formulas: bounds of symbols that are not polynomials, minus the symbols.
    pub bounds: &'a [Formula],
    /// The work of the function.
    pub primal: &'a Formula,
    /// The work of its derivative.
    pub derived: &'a Formula,
    /// The number of reals in the inputs and outputs.
    pub io: &'a Formula,
    /// An allowance on the side of the function: trip counts of loops times the reals that they
    /// carry.
    pub extra: &'a Formula,
}

/// Values of atoms.
pub type SizeAssignment = Vec<(Atom, i64)>;

/// The two sides at some sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The sizes.
    pub sizes: SizeAssignment,
    /// `derived + io`
    pub derived: i128,
    /// `primal + io + extra`
    pub primal: i128,
}

/// The grid of sizes of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeGrid {
    /// The atoms that have values on the grid.
    pub atoms: Vec<Atom>,
    /// The largest small size. The grid has all combinations from 0 to it, or a sample if `drawn`
    /// is set, and some far beyond.
    pub max_size: i64,
    /// Whether combinations were sampled, because there are too many.
    pub is_sampled: bool,
    /// The number of points that satisfy `known` and `bounds`.
    pub points: usize,
}

/// The result for the factor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CertificateVerdict {
    /// The factor suffices for all sizes.
    Proved {
        /// The least factor that was proved.
        factor: i128,
        /// The proof of [`claim()`] for it.
        proof: Proof,
        /// Sizes at which the factor minus 1 fails, if some were found: then the factor is the
        /// least possible. A factor of 1 is always the least.
        tight_sizes: Option<SizeAssignment>,
    },
    /// No proof was found.
    Checked {
        /// The least factor that suffices at all points of the grid.
        factor: i128,
        /// Sizes at which the factor minus 1 fails.
        tight_sizes: Option<SizeAssignment>,
        /// The grid.
        grid: SizeGrid,
    },
    /// No factor suffices.
    Refuted {
        /// Sizes at which the ratio of derivative to function grows. Or one point, if the function
        /// costs nothing there.
        witness: Vec<Witness>,
        /// The term of `derived` that causes the growth.
        term: Poly,
    },
    /// The formulas cannot be compared.
    Unknown(IncomparableReason),
}

/// The reason why formulas cannot be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IncomparableReason {
    /// A formula depends on data.
    Data,
    /// A formula has no whole value at some size of the grid, or no size of the grid satisfies
    /// `known` and `bounds`.
    NoValue,
    /// A formula is negative somewhere.
    Negative,
    /// There are too many atoms, or the degree or the coefficients are too large.
    TooLarge,
}

/// A verdict that [`CostCertificate::check`] can verify again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CostCertificate {
    /// The verdict.
    pub verdict: CertificateVerdict,
}

impl CostCertificate {
    /// Returns whether the verdict follows from the question. The separate checker verifies a
    /// proof; witnesses, grids and growth are evaluated again.
    #[must_use]
    pub fn check(&self, question: &CostQuestion<'_>) -> bool {
        match &self.verdict {
            CertificateVerdict::Proved { factor, proof, tight_sizes: tight } => {
                let proved = claim(question, *factor).is_ok_and(|claim| check(&claim, proof));
                proved && tight.as_ref().is_none_or(|sizes| does_factor_fail(question, *factor - 1, sizes))
            }
            CertificateVerdict::Checked { factor, tight_sizes: tight, grid } => {
                let points = GridResult::evaluate(question);
                let same = points
                    .is_ok_and(|p| p.grid == *grid && matches!(&p.factor, LeastFactor::Least(c, _) if c == factor));
                same && tight.as_ref().is_none_or(|sizes| does_factor_fail(question, *factor - 1, sizes))
            }
            CertificateVerdict::Refuted { witness, .. } => growth::do_witnesses_grow(question, witness),
            CertificateVerdict::Unknown(_) => false,
        }
    }
}

/// Whether the sizes are possible and the factor fails at them.
fn does_factor_fail(question: &CostQuestion<'_>, factor: i128, sizes: &SizeAssignment) -> bool {
    let at = growth::witness(question, sizes);
    at.is_some_and(|w| factor.checked_mul(w.primal).is_some_and(|most| w.derived > most))
}

/// Finds the least factor by which a derivative costs more than its function.
#[must_use]
pub fn certify(question: &CostQuestion<'_>) -> CostCertificate {
    CostCertificate { verdict: find_verdict(question).unwrap_or_else(CertificateVerdict::Unknown) }
}

fn find_verdict(question: &CostQuestion<'_>) -> Result<CertificateVerdict, IncomparableReason> {
    let points = GridResult::evaluate(question)?;
    let (least, tight) = match points.factor {
        LeastFactor::Unbounded(at) => {
            let term = growth::largest_term(question, &at.sizes).ok_or(IncomparableReason::NoValue)?;
            return Ok(CertificateVerdict::Refuted { witness: vec![at], term });
        }
        LeastFactor::Least(factor, tight) => (factor, tight),
    };
    let refuted = || growth::refute(question).map(|(witness, term)| CertificateVerdict::Refuted { witness, term });
    let mut budget = SearchBudget::default();
    let mut proved = |factor: i128| {
        let claim = claim(question, factor).ok()?;
        let proof = search::search_within(&claim, &mut budget)?;
        check(&claim, &proof).then_some((factor, proof))
    };
    // A steep ratio probably grows without bound, so refutation comes first. Otherwise refutation
    // is tried only if the least factor has no proof.
    let first = if points.is_steep { None } else { proved(least) };
    let found = match first {
        Some(found) => Some(found),
        None => {
            if let Some(verdict) = refuted() {
                return Ok(verdict);
            }
            let from = if points.is_steep { least } else { least.saturating_add(1) };
            (from..least.saturating_add(MAX_FACTORS_TRIED)).find_map(&mut proved)
        }
    };
    if let Some((factor, proof)) = found {
        return Ok(CertificateVerdict::Proved { factor, proof, tight_sizes: tight.filter(|_| factor == least) });
    }
    Ok(CertificateVerdict::Checked { factor: least, tight_sizes: tight, grid: points.grid })
}
