//! **Piecewise polynomials**: sums of polynomials, each guarded by a predicate over the sizes.

use super::{Ratio, cases};
use crate::predicate::{Atom, FactContext, Poly, Pred};

/// `[p] · q`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormulaPiece {
    /// The domain, over sizes.
    pub pred: Pred,
    /// The value there, which is an integer.
    pub value: Ratio,
}

/// A sum of pieces. It is 0 outside all of them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Formula {
    pieces: Vec<FormulaPiece>,
}

impl From<Poly> for Formula {
    fn from(p: Poly) -> Self {
        Self::from_pieces([FormulaPiece { pred: Pred::truth(), value: p.into() }])
    }
}

impl Formula {
    /// Returns the sum of these pieces. Pieces with equal predicates are merged.
    #[must_use]
    pub fn from_pieces(pieces: impl IntoIterator<Item = FormulaPiece>) -> Self {
        let mut all: Vec<FormulaPiece> = Vec::new();
        for piece in pieces.into_iter().filter(|p| !p.pred.is_false()) {
            match all.iter_mut().find(|p| p.pred == piece.pred) {
                Some(known) => known.value = known.value.add(&piece.value),
                None => all.push(piece),
            }
        }
        all.retain(|p| !p.value.is_zero());
        Self { pieces: all }
    }

    /// Returns the pieces.
    #[must_use]
    pub fn pieces(&self) -> &[FormulaPiece] {
        &self.pieces
    }

    /// Returns the polynomial, if it is the same everywhere.
    #[must_use]
    pub fn as_ratio(&self) -> Option<Ratio> {
        match self.pieces.as_slice() {
            [] => Some(Ratio::constant(0)),
            [one] if one.pred.is_true() => Some(one.value.clone()),
            _ => None,
        }
    }

    /// Whether arithmetic on it overflowed.
    #[must_use]
    pub fn has_overflowed(&self) -> bool {
        self.pieces.iter().any(|p| p.value.has_overflowed())
    }

    /// Returns the sum.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        Self::from_pieces(self.pieces.iter().chain(&other.pieces).cloned())
    }

    /// Returns the product with a polynomial.
    #[must_use]
    pub fn mul_ratio(&self, by: &Ratio) -> Self {
        Self::from_pieces(self.pieces.iter().map(|p| FormulaPiece { pred: p.pred.clone(), value: p.value.mul(by) }))
    }

    /// Returns the product.
    #[must_use]
    pub fn mul(&self, other: &Self) -> Self {
        let both = |p: &FormulaPiece, q: &FormulaPiece| FormulaPiece {
            pred: p.pred.and(&q.pred),
            value: p.value.mul(&q.value),
        };
        Self::from_pieces(self.pieces.iter().flat_map(|p| other.pieces.iter().map(move |q| both(p, q))))
    }

    /// Returns the formula where the predicate holds, and 0 elsewhere.
    #[must_use]
    pub fn restrict(&self, pred: &Pred) -> Self {
        Self::from_pieces(self.pieces.iter().map(|p| FormulaPiece { pred: pred.and(&p.pred), value: p.value.clone() }))
    }

    /// Substitutes polynomials for atoms; `None` keeps an atom.
    #[must_use]
    pub fn substitute(&self, f: &impl Fn(&Atom) -> Option<Poly>) -> Self {
        let put = |p: &FormulaPiece| FormulaPiece { pred: p.pred.substitute(f), value: p.value.substitute(f) };
        Self::from_pieces(self.pieces.iter().map(put))
    }

    /// Simplifies the predicates, for sizes that satisfy the facts.
    #[must_use]
    pub fn simplify(&self, known: &FactContext) -> Self {
        let simple = |p: &FormulaPiece| FormulaPiece { pred: known.simplify(&p.pred), value: p.value.clone() };
        Self::from_pieces(self.pieces.iter().map(simple))
    }

    /// Rewrites the formula to few mutually exclusive cases, for sizes that satisfy the facts. If
    /// there would be too many cases, only the predicates are simplified.
    #[must_use]
    pub fn to_cases(&self, known: &FactContext) -> Self {
        cases::split_cases(self, known).unwrap_or_else(|| self.simplify(known))
    }

    /// Evaluates the formula at sizes. Returns `None` if a size has no value, on overflow, and if a
    /// predicate depends on data.
    pub fn eval(&self, f: &mut impl FnMut(&Atom) -> Option<i64>) -> Option<i128> {
        let mut sum = 0_i128;
        for piece in &self.pieces {
            if holds(&piece.pred, f)? {
                sum = sum.checked_add(piece.value.eval(f)?)?;
            }
        }
        Some(sum)
    }
}

/// Whether a predicate over sizes holds at these values.
fn holds(p: &Pred, f: &mut impl FnMut(&Atom) -> Option<i64>) -> Option<bool> {
    let mut value = |p: &Poly| Ratio::from(p.clone()).eval(f);
    Some(match p {
        Pred::And(items) => {
            for p in &**items {
                if !holds(p, f)? {
                    return Some(false);
                }
            }
            true
        }
        Pred::Or(items) => {
            for p in &**items {
                if holds(p, f)? {
                    return Some(true);
                }
            }
            false
        }
        Pred::Ge(p) => value(p)? >= 0,
        Pred::Eq(p) => value(p)? == 0,
        Pred::Ne(p) => value(p)? != 0,
        Pred::Element(..) | Pred::Member(..) | Pred::Exists(..) => return None,
    })
}
