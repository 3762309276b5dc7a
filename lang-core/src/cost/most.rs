//! The greatest of some formulas: where work adds up, a longest chain and what is kept at once do not.

use crate::count::{Formula, Piece, Ratio};
use crate::predicate::{Atom, Poly, Pred};

/// Of more than this some are taken together: what comes out is no less than the greatest.
const MOST: usize = 3;

/// The greatest of these; of none 0. None of them is negative.
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
    /// The formulas of which it is the greatest.
    #[must_use]
    pub fn formulas(&self) -> &[Formula] {
        &self.of
    }

    /// The greater of both.
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

    /// Each with this added.
    #[must_use]
    pub(super) fn plus(&self, more: &Formula) -> Self {
        if self.of.is_empty() {
            return more.clone().into();
        }
        Self { of: self.of.iter().map(|one| one.add(more)).collect() }
    }

    /// Each replaced.
    #[must_use]
    pub(super) fn map(&self, f: &mut dyn FnMut(&Formula) -> Formula) -> Self {
        let mut of: Vec<Formula> = self.of.iter().map(f).collect();
        of.retain(|one| !one.pieces().is_empty());
        Self { of }
    }

    /// Its value at sizes and what the run tells.
    pub fn eval(&self, f: &mut impl FnMut(&Atom) -> Option<i64>) -> Option<i128> {
        self.of.iter().try_fold(0, |most, one| Some(one.eval(f)?.max(most)))
    }
}

/// Is one never less than the other, as their coefficients tell?
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

/// A formula that is no less than either: of each product of sizes the greater coefficient.
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

/// A formula that is no less than this one at any value of an index, without it: where it only grows with the index, its
/// value at the last one.
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
    // Without an iteration there is nothing.
    Some(Formula::of(pieces).guarded(&Pred::nonneg(&last)))
}

/// Does it mention the atom?
pub(super) fn mentions(value: &Ratio, atom: &Atom) -> bool {
    value.parts().0.mentions(atom)
}
