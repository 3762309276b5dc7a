//! **Case distinction** of a formula: rewrites it to few mutually exclusive cases, for readers. It
//! splits the sizes by the comparisons of the formula and merges equal cases. If a few sizes at the
//! boundary of a case also fit the next case, they move there.

use super::{Formula, Piece, Ratio};
use crate::predicate::{Atom, Context, Poly, Pred};
use lang_base::pause;

/// The maximal number of nodes of the case tree.
const MOST: usize = 128;

/// The maximal number of prover steps.
const MOST_STEPS: u64 = 2_000_000;

/// The maximal number of pairs of sizes that are compared for equality.
const MOST_PAIRS: usize = 10;

/// The maximal number of sizes at a boundary that may move to the next case.
const BORDER: i128 = 4;

#[derive(Clone, PartialEq, Eq)]
enum Case {
    Is(Ratio),
    /// The first case where the predicate holds, the second elsewhere.
    Either(Pred, Box<[Case; 2]>),
}

/// Returns an equal formula with mutually exclusive pieces, or `None` if it would have too many.
/// `known` are the facts about the sizes.
pub(super) fn cases(of: &Formula, known: &Context) -> Option<Formula> {
    let mut asked: Vec<Pred> = of.pieces().iter().flat_map(|p| p.pred.conjuncts().to_vec()).collect();
    asked.sort();
    asked.dedup();
    let mut cells = Cells {
        of: of.pieces(),
        asked: &asked,
        told: Vec::new(),
        left: MOST,
        until: known.spent().saturating_add(MOST_STEPS),
    };
    let tree = cells.apart(&mut known.clone())?;
    let mut pieces = Vec::new();
    collect(&tree, &Pred::truth(), &mut pieces);
    Some(Formula::of(pieces).simplify(known))
}

struct Cells<'f> {
    of: &'f [Piece],
    asked: &'f [Pred],
    /// The truth values of the first predicates of `asked` in the current case.
    told: Vec<bool>,
    left: usize,
    until: u64,
}

impl Cells<'_> {
    fn apart(&mut self, known: &mut Context) -> Option<Case> {
        pause();
        self.left = self.left.checked_sub(1)?;
        let before = self.told.len();
        while let Some(p) = self.asked.get(self.told.len()) {
            if known.spent() > self.until {
                return None;
            }
            let told = if known.implies(p) {
                true
            } else if known.refutes(p) {
                false
            } else {
                break;
            };
            self.told.push(told);
        }
        let case = match self.asked.get(self.told.len()) {
            None => Some(Case::Is(pinned(self.here(), known))),
            Some(p) => self.either(p, known),
        };
        self.told.truncate(before);
        case
    }

    fn either(&mut self, p: &Pred, known: &mut Context) -> Option<Case> {
        let mut side = |told: bool| {
            let mark = known.mark();
            known.assume(&if told { p.clone() } else { p.negated() });
            self.told.push(told);
            let case = self.apart(known);
            self.told.pop();
            known.release(mark);
            case
        };
        let both = [side(true)?, side(false)?];
        Some(joined(p, both, known))
    }

    /// Returns the sum of the pieces whose predicates hold in the current case.
    fn here(&self) -> Ratio {
        let holds = |p: &Pred| self.asked.iter().zip(&self.told).any(|(q, told)| q == p && *told);
        let here = self.of.iter().filter(|piece| piece.pred.conjuncts().iter().all(holds));
        here.fold(Ratio::constant(0), |sum, piece| sum.add(&piece.value))
    }
}

/// Substitutes the numbers of sizes that the facts determine.
fn pinned(mut value: Ratio, known: &Context) -> Ratio {
    let mut sizes = Vec::new();
    value.parts().0.for_each_atom(&mut |a| {
        if !sizes.contains(a) {
            sizes.push(a.clone());
        }
    });
    for size in sizes {
        let at = Poly::atom(size.clone());
        let is = |n: &i128| known.implies(&Pred::equal(&at, &Poly::constant(*n)));
        let few = known.implies(&Pred::at_most(&at, &Poly::constant(BORDER)));
        if let Some(n) = (0..=BORDER).filter(|_| few).find(is) {
            let put = value.substitute(&|a| (*a == size).then(|| Poly::constant(n)));
            // A substitution that divides by 0 is skipped.
            if !put.overflowed() {
                value = put;
            }
        }
    }
    value
}

/// Merges two cases if possible.
fn joined(p: &Pred, cases: [Case; 2], known: &mut Context) -> Case {
    let [yes, no] = &cases;
    if yes == no {
        return yes.clone();
    }
    // If one side has few sizes, they may fit the other case.
    for (few, many, bound) in [(no, yes, p.negated()), (yes, no, p.clone())] {
        let mark = known.mark();
        known.assume(&bound);
        let found = fitted(few, many, &bound, known);
        known.release(mark);
        if let Some(found) = found {
            return found;
        }
    }
    Case::Either(p.clone(), Box::new(cases))
}

/// Merges two cases if only few sizes remain for `few`, next to the bound that `here` already
/// assumes, and all or the first of them fit `many`.
fn fitted(few: &Case, many: &Case, bound: &Pred, here: &mut Context) -> Option<Case> {
    let Case::Is(value) = many else { return None };
    if let Case::Is(rare) = few
        && same(rare, value, here)
    {
        return Some(many.clone());
    }
    let (atom, sizes) = border(bound, here)?;
    let mut fits = |n: &i128| {
        let n = Poly::constant(*n);
        let mark = here.mark();
        here.assume(&Pred::equal(&Poly::atom(atom.clone()), &n));
        let put = |r: &Ratio| r.substitute(&|a| (*a == atom).then(|| n.clone()));
        // A value with a division by 0 fits nothing.
        let fits = few.at(here).is_some_and(|found| put(found) == put(value) && !put(value).overflowed());
        here.release(mark);
        fits
    };
    let fitting = sizes.iter().take_while(|n| fits(n)).count();
    if fitting == sizes.len() {
        return Some(many.clone());
    }
    if let (true, Some(last)) = (fitting > 0, sizes.get(fitting)) {
        // The sizes that do not fit end at `last`.
        let (end, first) = (Poly::constant(*last), sizes.first() > sizes.last());
        let size = Poly::atom(atom);
        let rest = if first { Pred::at_most(&size, &end) } else { Pred::at_most(&end, &size) };
        return Some(Case::Either(rest, Box::new([few.clone(), many.clone()])));
    }
    None
}

/// Whether both values are equal because the facts equate two sizes.
fn same(one: &Ratio, other: &Ratio, known: &Context) -> bool {
    let over = one.sub(other);
    let mut sizes = Vec::new();
    over.parts().0.for_each_atom(&mut |a| {
        if !sizes.contains(a) {
            sizes.push(a.clone());
        }
    });
    let pairs = sizes.iter().enumerate().flat_map(|(k, a)| sizes.iter().skip(k + 1).map(move |b| (a, b)));
    pairs.take(MOST_PAIRS).any(|(a, b)| {
        let by = Poly::atom(b.clone());
        known.implies(&Pred::equal(&Poly::atom(a.clone()), &by))
            && over.substitute(&|c| (c == a).then(|| by.clone())).is_zero()
    })
}

impl Case {
    /// Returns the value under these facts, if they decide the case.
    fn at(&self, known: &Context) -> Option<&Ratio> {
        match self {
            Self::Is(value) => Some(value),
            Self::Either(p, cases) => match (known.implies(p), known.refutes(p)) {
                (true, _) => cases.first()?.at(known),
                (_, true) => cases.last()?.at(known),
                _ => None,
            },
        }
    }
}

/// Returns the size that a comparison bounds, and the values that it still allows, from the bound
/// on, if they are few.
fn border(p: &Pred, known: &Context) -> Option<(Atom, Vec<i128>)> {
    let Pred::Ge(p) = p else { return None };
    let [.., (monomial, _)] = p.terms() else { return None };
    let [(atom, 1)] = monomial.as_slice() else { return None };
    let (c, rest) = p.linear_in(atom)?;
    let rest = rest.as_constant()?;
    // c·n + rest >= 0
    let (first, step) = match c {
        1 => (rest.checked_neg()?, 1),
        -1 => (rest, -1),
        _ => return None,
    };
    let outside = |n: i128| {
        let (n, size) = (Poly::constant(n), Poly::atom(atom.clone()));
        let beyond = if step > 0 { Pred::at_most(&n, &size) } else { Pred::at_most(&size, &n) };
        known.refutes(&beyond)
    };
    let sizes: Vec<i128> = (0..=BORDER).map(|k| first + step * k).take_while(|n| !outside(*n)).collect();
    (sizes.len() <= usize::try_from(BORDER).ok()?).then(|| (atom.clone(), sizes))
}

fn collect(of: &Case, at: &Pred, pieces: &mut Vec<Piece>) {
    match of {
        Case::Is(value) => pieces.push(Piece { pred: at.clone(), value: value.clone() }),
        Case::Either(p, cases) => {
            for (case, p) in cases.iter().zip([p.clone(), p.negated()]) {
                collect(case, &at.and(&p), pieces);
            }
        }
    }
}
