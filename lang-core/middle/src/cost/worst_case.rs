//! **Worst-case cost**: upper bounds of a cost in sizes alone, for any data. A cost formula may
//! contain symbols, numbers that depend on data, such as the trip count of a `while` loop. So its
//! value is unknown before a run. `iverson cost` and the editor's hovers then show the bound.

use std::collections::BTreeMap;

use super::{CostFormulas, symbol_number};
use lang_sizes::count::{Formula, FormulaPiece, Ratio};
use lang_sizes::predicate::{Atom, FactContext, Poly, Pred};

impl CostFormulas {
    /// Returns an upper bound of a formula of this cost for sizes that satisfy `known`. Each
    /// data-dependent number is replaced by its maximum or by zero, whichever yields more. `None`
    /// if a condition depends on data, or a number has no known maximum, or a product of two
    /// numbers is added.
    #[must_use]
    pub fn upper_bound(&self, of: &Formula, known: &FactContext) -> Option<Formula> {
        let mut all = Formula::default();
        for piece in of.pieces() {
            let mut is_data_free = true;
            piece
                .pred
                .visit(&mut |p| p.for_each_atom(&mut |a| is_data_free &= symbol_number(a).is_none()), &mut |_| {});
            if !is_data_free {
                return None;
            }
            let (over, under) = piece.value.as_fraction();
            let (mut sizes, mut by_symbol) = (Poly::default(), BTreeMap::<usize, Poly>::new());
            for (monomial, c) in over.terms() {
                let mut rest = Poly::constant(*c);
                let mut symbols = Vec::new();
                for (a, power) in monomial {
                    match symbol_number(a) {
                        Some(k) => symbols.extend((0..*power).map(|_| k)),
                        None => (0..*power).for_each(|_| rest = rest.mul(&Poly::atom(a.clone()))),
                    }
                }
                match symbols.as_slice() {
                    [] => sizes = sizes.add(&rest),
                    [k] => {
                        let of = by_symbol.entry(*k).or_default();
                        *of = of.add(&rest);
                    }
                    _ if *c < 0 => {}
                    _ => return None,
                }
            }
            let mut most =
                Formula::from_pieces([FormulaPiece { pred: Pred::truth(), value: Ratio::new(sizes, under) }]);
            for (k, by) in by_symbol {
                let by = nonnegative_upper_bound(&by, known);
                if !by.is_zero() {
                    let symbol = self.symbols.get(k)?.upper_bound.clone().filter(|most| !has_symbols(most))?;
                    most = most.add(&symbol.mul_ratio(&Ratio::new(by, under)));
                }
            }
            all = all.add(&most.restrict(&piece.pred));
        }
        Some(all)
    }
}

/// Returns an upper bound of a polynomial; the bound itself is never negative. It is the polynomial
/// or 0 if the sign is known. Otherwise the negative terms are dropped, because atoms are assumed
/// to be non-negative.
fn nonnegative_upper_bound(p: &Poly, known: &FactContext) -> Poly {
    if known.implies(&Pred::nonneg(p)) {
        return p.clone();
    }
    if known.implies(&Pred::nonneg(&p.neg())) {
        return Poly::default();
    }
    p.terms().iter().filter(|(_, c)| *c > 0).fold(Poly::default(), |sum, (monomial, c)| {
        let powers = monomial.iter().flat_map(|(a, power)| (0..*power).map(move |_| a));
        sum.add(&powers.fold(Poly::constant(*c), |p, a| p.mul(&Poly::atom(a.clone()))))
    })
}

/// Returns whether a formula depends on data.
#[must_use]
pub fn has_symbols(of: &Formula) -> bool {
    let mut found = false;
    for piece in of.pieces() {
        let mut note = |a: &Atom| found |= symbol_number(a).is_some();
        piece.value.as_fraction().0.for_each_atom(&mut note);
        piece.pred.visit(&mut |p| p.for_each_atom(&mut note), &mut |_| {});
    }
    found
}
