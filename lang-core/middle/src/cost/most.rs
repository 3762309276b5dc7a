//! **Maxima of formulas**, for span and kept memory: these combine by maximum, unlike work, which
//! adds up.

use lang_sizes::count::{Formula, Piece, Ratio};
use lang_sizes::predicate::{Atom, Poly, Pred};

/// The largest number of formulas. Beyond it some are merged to one that is no less than either.
const MOST: usize = 3;

/// The maximum of some non-negative formulas, or 0 if it holds none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Greatest {
    of: Vec<Formula>,
}

impl From<Formula> for Greatest {
    fn from(one: Formula) -> Self {
        Self { of: if one.pieces().is_empty() { Vec::new() } else { vec![one] } }
    }
}

impl Greatest {
    /// Returns the formulas whose maximum this is.
    #[must_use]
    pub fn formulas(&self) -> &[Formula] {
        &self.of
    }

    /// Returns the maximum of both.
    #[must_use]
    pub(super) fn or(mut self, other: &Self) -> Self {
        for one in &other.of {
            if self.of.iter().any(|have| covers(have, one)) {
                continue;
            }
            self.of.retain(|have| !covers(one, have));
            self.of.push(one.clone());
        }
        while self.of.len() > MOST {
            let Some(last) = self.of.pop() else { break };
            if let Some(before) = self.of.last_mut() {
                *before = both(before, &last);
            }
        }
        self
    }

    /// Adds a formula to each.
    #[must_use]
    pub(super) fn plus(&self, more: &Formula) -> Self {
        if self.of.is_empty() {
            return more.clone().into();
        }
        Self { of: self.of.iter().map(|one| one.add(more)).collect() }
    }

    /// Maps each formula.
    #[must_use]
    pub(super) fn map(&self, f: &mut dyn FnMut(&Formula) -> Formula) -> Self {
        let mut of: Vec<Formula> = self.of.iter().map(f).collect();
        of.retain(|one| !one.pieces().is_empty());
        Self { of }
    }

    /// Evaluates the maximum at sizes and symbols.
    pub fn eval(&self, f: &mut impl FnMut(&Atom) -> Option<i64>) -> Option<i128> {
        self.of.iter().try_fold(0, |most, one| Some(one.eval(f)?.max(most)))
    }
}

/// Whether one formula is never less than the other, as far as the coefficients show.
fn covers(one: &Formula, other: &Formula) -> bool {
    let nowhere_less = |value: &Ratio| value.parts().0.terms().iter().all(|(_, c)| *c >= 0);
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
fn both(one: &Formula, other: &Formula) -> Formula {
    let over = one.add(&other.times(&Ratio::constant(-1)));
    let more = over.pieces().iter().map(|piece| {
        let (p, under) = piece.value.parts();
        let lacks = p.terms().iter().filter(|(_, c)| *c < 0).map(|(m, c)| Poly::term(m.clone(), c.saturating_neg()));
        let lacks = lacks.fold(Poly::default(), |sum, term| sum.add(&term));
        Piece { pred: piece.pred.clone(), value: Ratio::over(lacks, under) }
    });
    one.add(&Formula::of(more))
}

/// Returns an upper bound of a formula over all values of an index. If the formula only grows with
/// the index, the bound is its value at the last one. Otherwise `None`.
pub(super) fn over_index(of: &Formula, index: &Atom, extent: &Poly) -> Option<Formula> {
    let last = extent.plus(-1);
    let mut pieces = Vec::new();
    for piece in of.pieces() {
        if piece.pred.mentions(index) {
            return None;
        }
        let mut value = piece.value.clone();
        if mentions(&value, index) {
            let (over, _) = value.parts();
            let grows =
                over.terms().iter().all(|(m, c)| *c >= 0 || m.as_slice().iter().all(|(a, _)| !a.mentions(index)));
            if !grows {
                return None;
            }
            value = value.substitute(&|a| (a == index).then(|| last.clone()));
        }
        pieces.push(Piece { pred: piece.pred.clone(), value });
    }
    // Without an iteration the value is zero.
    Some(Formula::of(pieces).guarded(&Pred::nonneg(&last)))
}

/// Whether the value mentions the atom.
pub(super) fn mentions(value: &Ratio, atom: &Atom) -> bool {
    value.parts().0.mentions(atom)
}
