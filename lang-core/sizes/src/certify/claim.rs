//! **Claims.** Turns a question and a factor into a claim about one sum, which the search proves
//! and the checker verifies.

use super::proof::{Claim, Comparison, Term};
use super::{Question, Why};
use crate::count::{Formula, Piece, Ratio};
use crate::predicate::Pred;

/// The largest number of pieces to which unions are expanded.
const MOST: usize = 128;

/// Returns the claim that the factor suffices.
///
/// # Errors
/// The reason why no such claim exists.
pub fn claim(question: &Question<'_>, factor: i128) -> Result<Claim, Why> {
    let (more, less) = sides(question);
    let sum = more.times(&Ratio::constant(factor)).add(&less.times(&Ratio::constant(-1)));
    let bounds = question.bounds.iter().map(terms).collect::<Result<_, _>>()?;
    Ok(Claim { known: question.known.to_vec(), bounds, sum: terms(&sum)? })
}

/// Returns the cost of the function, and that of its derivative.
pub(super) fn sides(question: &Question<'_>) -> (Formula, Formula) {
    (question.primal.add(question.io).add(question.extra), question.derived.add(question.io))
}

/// Returns the pieces of a formula as terms, whose conditions contain no unions.
pub(super) fn terms(of: &Formula) -> Result<Vec<Term>, Why> {
    let mut open: Vec<Piece> = of.pieces().to_vec();
    let mut apart: Vec<Piece> = Vec::new();
    let mut left = MOST;
    while let Some(piece) = open.pop() {
        left = left.checked_sub(1).ok_or(Why::TooLarge)?;
        let conjuncts = piece.pred.conjuncts();
        let Some(k) = conjuncts.iter().position(|p| matches!(p, Pred::Or(_))) else {
            apart.push(piece);
            continue;
        };
        let rest = Pred::all(conjuncts.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, p)| p.clone()));
        let Some(Pred::Or(items)) = conjuncts.get(k) else { continue };
        let Some((one, others)) = items.split_first() else { continue };
        // Inclusion and exclusion: `[a || b] = [a] + [b] - [a && b]`.
        let others = Pred::any_of(others.iter().cloned());
        let minus = piece.value.mul(&Ratio::constant(-1));
        for (pred, value) in [(one.clone(), &piece.value), (others.clone(), &piece.value), (one.and(&others), &minus)] {
            open.push(Piece { pred: rest.and(&pred), value: value.clone() });
        }
    }
    let term = |piece: &Piece| {
        let (over, under) = piece.value.parts();
        let comparison = |p: &Pred| match p {
            Pred::Ge(p) => Some(Comparison::Ge(p.clone())),
            Pred::Eq(p) => Some(Comparison::Eq(p.clone())),
            Pred::Ne(p) => Some(Comparison::Ne(p.clone())),
            _ => None,
        };
        let at = piece.pred.conjuncts().iter().map(comparison).collect::<Option<_>>()?;
        Some(Term { at, over: over.clone(), under })
    };
    apart.retain(|p| !p.pred.is_false());
    Formula::of(apart).pieces().iter().map(term).collect::<Option<_>>().ok_or(Why::Data)
}
