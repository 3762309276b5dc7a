//! Sums of polynomials, each where a predicate over the sizes holds.

use super::{Ratio, cases};
use crate::predicate::{Atom, Context, Poly, Pred};

/// `[p] · q`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Where it counts, over sizes.
    pub pred: Pred,
    /// What it is there: an integer.
    pub value: Ratio,
}

/// A sum of pieces. What no piece says is 0.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Formula {
    pieces: Vec<Piece>,
}

impl From<Poly> for Formula {
    fn from(p: Poly) -> Self {
        Self::of([Piece { pred: Pred::truth(), value: p.into() }])
    }
}

impl Formula {
    /// The sum of these. Those under one predicate are one.
    #[must_use]
    pub fn of(pieces: impl IntoIterator<Item = Piece>) -> Self {
        let mut all: Vec<Piece> = Vec::new();
        for piece in pieces.into_iter().filter(|p| !p.pred.is_false()) {
            match all.iter_mut().find(|p| p.pred == piece.pred) {
                Some(known) => known.value = known.value.add(&piece.value),
                None => all.push(piece),
            }
        }
        all.retain(|p| !p.value.is_zero());
        Self { pieces: all }
    }

    /// The pieces.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The polynomial that it is, if it is one everywhere.
    #[must_use]
    pub fn as_ratio(&self) -> Option<Ratio> {
        match self.pieces.as_slice() {
            [] => Some(Ratio::constant(0)),
            [one] if one.pred.is_true() => Some(one.value.clone()),
            _ => None,
        }
    }

    /// Did arithmetic on it overflow?
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.pieces.iter().any(|p| p.value.overflowed())
    }

    /// Sum.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        Self::of(self.pieces.iter().chain(&other.pieces).cloned())
    }

    /// Product with a polynomial.
    #[must_use]
    pub fn times(&self, by: &Ratio) -> Self {
        Self::of(self.pieces.iter().map(|p| Piece { pred: p.pred.clone(), value: p.value.mul(by) }))
    }

    /// Product.
    #[must_use]
    pub fn product(&self, other: &Self) -> Self {
        let both = |p: &Piece, q: &Piece| Piece { pred: p.pred.and(&q.pred), value: p.value.mul(&q.value) };
        Self::of(self.pieces.iter().flat_map(|p| other.pieces.iter().map(move |q| both(p, q))))
    }

    /// The formula where a predicate holds, and 0 elsewhere.
    #[must_use]
    pub fn guarded(&self, pred: &Pred) -> Self {
        Self::of(self.pieces.iter().map(|p| Piece { pred: pred.and(&p.pred), value: p.value.clone() }))
    }

    /// With other polynomials in place of atoms.
    #[must_use]
    pub fn substitute(&self, f: &impl Fn(&Atom) -> Option<Poly>) -> Self {
        let put = |p: &Piece| Piece { pred: p.pred.substitute(f), value: p.value.substitute(f) };
        Self::of(self.pieces.iter().map(put))
    }

    /// The same formula with simpler predicates, for sizes that fulfil what is known.
    #[must_use]
    pub fn simplify(&self, known: &Context) -> Self {
        let simple = |p: &Piece| Piece { pred: known.simplify(&p.pred), value: p.value.clone() };
        Self::of(self.pieces.iter().map(simple))
    }

    /// The same formula as few cases that exclude one another, for sizes that fulfil what is known; itself where there
    /// would be too many.
    #[must_use]
    pub fn cases(&self, known: &Context) -> Self {
        cases::cases(self, known).unwrap_or_else(|| self.simplify(known))
    }

    /// Its value at sizes; `None` where one has none, on overflow, and where a predicate is about data.
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

/// Does a predicate about sizes hold?
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
        Pred::Is(..) | Pred::Member(..) | Pred::Any(..) => return None,
    })
}
