//! **Claims.** Turns a question and a factor into a claim about one sum, which the search proves
//! and the checker verifies.

use super::proof::{Claim, ClaimTerm, SignComparison};
use super::{CostQuestion, IncomparableReason};
use crate::count::{Formula, FormulaPiece, Ratio};
use crate::predicate::Pred;

/// The largest number of pieces to which unions are expanded.
const MAX_PIECES: usize = 128;

/// Returns the claim that the factor suffices.
///
/// # Errors
/// The reason why no such claim exists.
pub fn claim(question: &CostQuestion<'_>, factor: i128) -> Result<Claim, IncomparableReason> {
    let (more, less) = both_sides(question);
    let sum = more.mul_ratio(&Ratio::constant(factor)).add(&less.mul_ratio(&Ratio::constant(-1)));
    let bounds = question.bounds.iter().map(guarded_terms).collect::<Result<_, _>>()?;
    Ok(Claim { assumptions: question.assumptions.to_vec(), bounds, sum: guarded_terms(&sum)? })
}

/// Returns the cost of the function, and that of its derivative.
pub(super) fn both_sides(question: &CostQuestion<'_>) -> (Formula, Formula) {
    (question.primal.add(question.io).add(question.extra), question.derived.add(question.io))
}

/// Returns the pieces of a formula as terms, whose conditions contain no unions.
pub(super) fn guarded_terms(of: &Formula) -> Result<Vec<ClaimTerm>, IncomparableReason> {
    let mut open: Vec<FormulaPiece> = of.pieces().to_vec();
    let mut conjunctive_pieces: Vec<FormulaPiece> = Vec::new();
    let mut left = MAX_PIECES;
    while let Some(piece) = open.pop() {
        left = left.checked_sub(1).ok_or(IncomparableReason::TooLarge)?;
        let conjuncts = piece.pred.conjuncts();
        let Some(k) = conjuncts.iter().position(|p| matches!(p, Pred::Or(_))) else {
            conjunctive_pieces.push(piece);
            continue;
        };
        let rest = Pred::all(conjuncts.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, p)| p.clone()));
        let Some(Pred::Or(items)) = conjuncts.get(k) else { continue };
        let Some((one, others)) = items.split_first() else { continue };
        // Inclusion and exclusion: `[a || b] = [a] + [b] - [a && b]`.
        let others = Pred::any_of(others.iter().cloned());
        let minus = piece.value.mul(&Ratio::constant(-1));
        for (pred, value) in [(one.clone(), &piece.value), (others.clone(), &piece.value), (one.and(&others), &minus)] {
            open.push(FormulaPiece { pred: rest.and(&pred), value: value.clone() });
        }
    }
    let term = |piece: &FormulaPiece| {
        let (over, under) = piece.value.as_fraction();
        let comparison = |p: &Pred| match p {
            Pred::Ge(p) => Some(SignComparison::Ge(p.clone())),
            Pred::Eq(p) => Some(SignComparison::Eq(p.clone())),
            Pred::Ne(p) => Some(SignComparison::Ne(p.clone())),
            _ => None,
        };
        let at = piece.pred.conjuncts().iter().map(comparison).collect::<Option<_>>()?;
        Some(ClaimTerm { guards: at, numerator: over.clone(), denominator: under })
    };
    conjunctive_pieces.retain(|p| !p.pred.is_false());
    Formula::from_pieces(conjunctive_pieces)
        .pieces()
        .iter()
        .map(term)
        .collect::<Option<_>>()
        .ok_or(IncomparableReason::Data)
}
