//! **Maxima of formulas**, for span and kept memory: these combine by maximum, unlike work, which
//! adds up.

use lang_sizes::count::{Formula, FormulaPiece, Ratio};
use lang_sizes::predicate::{Atom, Poly, Pred};

/// The largest number of formulas. Beyond it some are merged to one that is no less than either.
const MAX_FORMULAS: usize = 3;

/// The maximum of some non-negative formulas, or 0 if it holds none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FormulaMax {
    candidates: Vec<Formula>,
}

impl From<Formula> for FormulaMax {
    fn from(one: Formula) -> Self {
        Self { candidates: if one.pieces().is_empty() { Vec::new() } else { vec![one] } }
    }
}

impl FormulaMax {
    /// Returns the formulas whose maximum this is.
    #[must_use]
    pub fn formulas(&self) -> &[Formula] {
        &self.candidates
    }

    /// Returns the maximum of both.
    #[must_use]
    pub(super) fn max(mut self, other: &Self) -> Self {
        for one in &other.candidates {
            if self.candidates.iter().any(|have| dominates(have, one)) {
                continue;
            }
            self.candidates.retain(|have| !dominates(one, have));
            self.candidates.push(one.clone());
        }
        while self.candidates.len() > MAX_FORMULAS {
            let Some(last) = self.candidates.pop() else { break };
            if let Some(before) = self.candidates.last_mut() {
                *before = upper_bound_of_both(before, &last);
            }
        }
        self
    }

    /// Adds a formula to each.
    #[must_use]
    pub(super) fn add_to_each(&self, more: &Formula) -> Self {
        if self.candidates.is_empty() {
            return more.clone().into();
        }
        Self { candidates: self.candidates.iter().map(|one| one.add(more)).collect() }
    }

    /// Maps each formula.
    #[must_use]
    pub(super) fn map(&self, f: &mut dyn FnMut(&Formula) -> Formula) -> Self {
        let mut of: Vec<Formula> = self.candidates.iter().map(f).collect();
        of.retain(|one| !one.pieces().is_empty());
        Self { candidates: of }
    }

    /// Evaluates the maximum at sizes and symbols.
    pub fn eval(&self, f: &mut impl FnMut(&Atom) -> Option<i64>) -> Option<i128> {
        self.candidates.iter().try_fold(0, |most, one| Some(one.eval(f)?.max(most)))
    }
}

/// Whether one formula is never less than the other, as far as the coefficients show.
fn dominates(one: &Formula, other: &Formula) -> bool {
    let nowhere_less = |value: &Ratio| value.as_fraction().0.terms().iter().all(|(_, c)| *c >= 0);
    let under = |of: &Formula, pred: &Pred| of.pieces().iter().find(|p| p.pred == *pred).map(|p| p.value.clone());
    let more = one.pieces().iter().all(|piece| match under(other, &piece.pred) {
        Some(value) => value == piece.value || nowhere_less(&piece.value.sub(&value)),
        None => nowhere_less(&piece.value),
    });
    let nothing = Ratio::constant(0);
    more && other.pieces().iter().all(|p| under(one, &p.pred).is_some() || nowhere_less(&nothing.sub(&p.value)))
}

/// Returns a formula that is no less than either: for each product of sizes, the greater
/// coefficient.
fn upper_bound_of_both(one: &Formula, other: &Formula) -> Formula {
    let over = one.add(&other.mul_ratio(&Ratio::constant(-1)));
    let more = over.pieces().iter().map(|piece| {
        let (p, under) = piece.value.as_fraction();
        let lacks = p.terms().iter().filter(|(_, c)| *c < 0).map(|(m, c)| Poly::term(m.clone(), c.saturating_neg()));
        let lacks = lacks.fold(Poly::default(), |sum, term| sum.add(&term));
        FormulaPiece { pred: piece.pred.clone(), value: Ratio::new(lacks, under) }
    });
    one.add(&Formula::from_pieces(more))
}

/// Returns an upper bound of a formula over all values of an index. If the formula only grows with
/// the index, the bound is its value at the last one. Otherwise `None`.
pub(super) fn max_over_index(of: &Formula, index: &Atom, extent: &Poly) -> Option<Formula> {
    let last = extent.add_constant(-1);
    let mut pieces = Vec::new();
    for piece in of.pieces() {
        if piece.pred.mentions(index) {
            return None;
        }
        let mut value = piece.value.clone();
        if value_mentions(&value, index) {
            let (over, _) = value.as_fraction();
            let grows =
                over.terms().iter().all(|(m, c)| *c >= 0 || m.as_slice().iter().all(|(a, _)| !a.mentions(index)));
            if !grows {
                return None;
            }
            value = value.substitute(&|a| (a == index).then(|| last.clone()));
        }
        pieces.push(FormulaPiece { pred: piece.pred.clone(), value });
    }
    // Without an iteration the value is zero.
    Some(Formula::from_pieces(pieces).restrict(&Pred::nonneg(&last)))
}

/// Whether the value mentions the atom.
pub(super) fn value_mentions(value: &Ratio, atom: &Atom) -> bool {
    value.as_fraction().0.mentions(atom)
}
