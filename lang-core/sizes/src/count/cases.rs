//! **Case distinction** of a formula: rewrites it to few mutually exclusive cases, for readers. It
//! splits the sizes by the comparisons of the formula and merges equal cases. If a few sizes at the
//! boundary of a case also fit the next case, they move there.

use super::{Formula, FormulaPiece, Ratio};
use crate::predicate::{Atom, FactContext, Poly, Pred};
use lang_base::check_cancelled;

/// The maximal number of nodes of the case tree.
const MAX_NODES: usize = 128;

/// The maximal number of prover steps.
const MAX_PROVER_STEPS: u64 = 2_000_000;

/// The maximal number of pairs of sizes that are compared for equality.
const MAX_SIZE_PAIRS: usize = 10;

/// The maximal number of sizes at a boundary that may move to the next case.
const MAX_BORDER_SIZES: i128 = 4;

#[derive(Clone, PartialEq, Eq)]
enum CaseTree {
    Leaf(Ratio),
    /// The first case where the predicate holds, the second elsewhere.
    Branch(Pred, Box<[CaseTree; 2]>),
}

/// Returns an equal formula with mutually exclusive pieces, or `None` if it would have too many.
/// `known` are the facts about the sizes.
pub(super) fn split_cases(of: &Formula, known: &FactContext) -> Option<Formula> {
    let mut predicates: Vec<Pred> = of.pieces().iter().flat_map(|p| p.pred.conjuncts().to_vec()).collect();
    predicates.sort();
    predicates.dedup();
    let mut cells = CaseSplitter {
        pieces: of.pieces(),
        predicates: &predicates,
        truth_values: Vec::new(),
        nodes_left: MAX_NODES,
        step_limit: known.steps_spent().saturating_add(MAX_PROVER_STEPS),
    };
    let tree = cells.split(&mut known.clone())?;
    let mut pieces = Vec::new();
    collect_pieces(&tree, &Pred::truth(), &mut pieces);
    Some(Formula::from_pieces(pieces).simplify(known))
}

struct CaseSplitter<'f> {
    pieces: &'f [FormulaPiece],
    predicates: &'f [Pred],
    /// The truth values of the first predicates of `predicates` in the current case.
    truth_values: Vec<bool>,
    nodes_left: usize,
    step_limit: u64,
}

impl CaseSplitter<'_> {
    fn split(&mut self, known: &mut FactContext) -> Option<CaseTree> {
        check_cancelled();
        self.nodes_left = self.nodes_left.checked_sub(1)?;
        let before = self.truth_values.len();
        while let Some(p) = self.predicates.get(self.truth_values.len()) {
            if known.steps_spent() > self.step_limit {
                return None;
            }
            let truth_value = if known.implies(p) {
                true
            } else if known.refutes(p) {
                false
            } else {
                break;
            };
            self.truth_values.push(truth_value);
        }
        let case = match self.predicates.get(self.truth_values.len()) {
            None => Some(CaseTree::Leaf(substitute_determined(self.current_value(), known))),
            Some(p) => self.branch(p, known),
        };
        self.truth_values.truncate(before);
        case
    }

    fn branch(&mut self, p: &Pred, known: &mut FactContext) -> Option<CaseTree> {
        let mut side = |truth_value: bool| {
            let mark = known.mark();
            known.assume(&if truth_value { p.clone() } else { p.negated() });
            self.truth_values.push(truth_value);
            let case = self.split(known);
            self.truth_values.pop();
            known.release(mark);
            case
        };
        let both = [side(true)?, side(false)?];
        Some(merge_cases(p, both, known))
    }

    /// Returns the sum of the pieces whose predicates hold in the current case.
    fn current_value(&self) -> Ratio {
        let holds =
            |p: &Pred| self.predicates.iter().zip(&self.truth_values).any(|(q, truth_value)| q == p && *truth_value);
        let here = self.pieces.iter().filter(|piece| piece.pred.conjuncts().iter().all(holds));
        here.fold(Ratio::constant(0), |sum, piece| sum.add(&piece.value))
    }
}

/// Substitutes the numbers of sizes that the facts determine.
fn substitute_determined(mut value: Ratio, known: &FactContext) -> Ratio {
    let mut sizes = Vec::new();
    value.as_fraction().0.for_each_atom(&mut |a| {
        if !sizes.contains(a) {
            sizes.push(a.clone());
        }
    });
    for size in sizes {
        let at = Poly::atom(size.clone());
        let is = |n: &i128| known.implies(&Pred::equal(&at, &Poly::constant(*n)));
        let few = known.implies(&Pred::at_most(&at, &Poly::constant(MAX_BORDER_SIZES)));
        if let Some(n) = (0..=MAX_BORDER_SIZES).filter(|_| few).find(is) {
            let put = value.substitute(&|a| (*a == size).then(|| Poly::constant(n)));
            // A substitution that divides by 0 is skipped.
            if !put.has_overflowed() {
                value = put;
            }
        }
    }
    value
}

/// Merges two cases if possible.
fn merge_cases(p: &Pred, cases: [CaseTree; 2], known: &mut FactContext) -> CaseTree {
    let [yes, no] = &cases;
    if yes == no {
        return yes.clone();
    }
    // If one side has few sizes, they may fit the other case.
    for (few, many, bound) in [(no, yes, p.negated()), (yes, no, p.clone())] {
        let mark = known.mark();
        known.assume(&bound);
        let found = merge_border(few, many, &bound, known);
        known.release(mark);
        if let Some(found) = found {
            return found;
        }
    }
    CaseTree::Branch(p.clone(), Box::new(cases))
}

/// Merges two cases if only few sizes remain for `few`, next to the bound that `here` already
/// assumes, and all or the first of them fit `many`.
fn merge_border(few: &CaseTree, many: &CaseTree, bound: &Pred, here: &mut FactContext) -> Option<CaseTree> {
    let CaseTree::Leaf(value) = many else { return None };
    if let CaseTree::Leaf(rare) = few
        && are_equal_under(rare, value, here)
    {
        return Some(many.clone());
    }
    let (atom, sizes) = border_sizes(bound, here)?;
    let mut fits = |n: &i128| {
        let n = Poly::constant(*n);
        let mark = here.mark();
        here.assume(&Pred::equal(&Poly::atom(atom.clone()), &n));
        let put = |r: &Ratio| r.substitute(&|a| (*a == atom).then(|| n.clone()));
        // A value with a division by 0 fits nothing.
        let fits = few.value_under(here).is_some_and(|found| put(found) == put(value) && !put(value).has_overflowed());
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
        return Some(CaseTree::Branch(rest, Box::new([few.clone(), many.clone()])));
    }
    None
}

/// Whether both values are equal because the facts equate two sizes.
fn are_equal_under(one: &Ratio, other: &Ratio, known: &FactContext) -> bool {
    let over = one.sub(other);
    let mut sizes = Vec::new();
    over.as_fraction().0.for_each_atom(&mut |a| {
        if !sizes.contains(a) {
            sizes.push(a.clone());
        }
    });
    let pairs = sizes.iter().enumerate().flat_map(|(k, a)| sizes.iter().skip(k + 1).map(move |b| (a, b)));
    pairs.take(MAX_SIZE_PAIRS).any(|(a, b)| {
        let by = Poly::atom(b.clone());
        known.implies(&Pred::equal(&Poly::atom(a.clone()), &by))
            && over.substitute(&|c| (c == a).then(|| by.clone())).is_zero()
    })
}

impl CaseTree {
    /// Returns the value under these facts, if they decide the case.
    fn value_under(&self, known: &FactContext) -> Option<&Ratio> {
        match self {
            Self::Leaf(value) => Some(value),
            Self::Branch(p, cases) => match (known.implies(p), known.refutes(p)) {
                (true, _) => cases.first()?.value_under(known),
                (_, true) => cases.last()?.value_under(known),
                _ => None,
            },
        }
    }
}

/// Returns the size that a comparison bounds, and the values that it still allows, from the bound
/// on, if they are few.
fn border_sizes(p: &Pred, known: &FactContext) -> Option<(Atom, Vec<i128>)> {
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
    let sizes: Vec<i128> = (0..=MAX_BORDER_SIZES).map(|k| first + step * k).take_while(|n| !outside(*n)).collect();
    (sizes.len() <= usize::try_from(MAX_BORDER_SIZES).ok()?).then(|| (atom.clone(), sizes))
}

fn collect_pieces(of: &CaseTree, at: &Pred, pieces: &mut Vec<FormulaPiece>) {
    match of {
        CaseTree::Leaf(value) => pieces.push(FormulaPiece { pred: at.clone(), value: value.clone() }),
        CaseTree::Branch(p, cases) => {
            for (case, p) in cases.iter().zip([p.clone(), p.negated()]) {
                collect_pieces(case, &at.and(&p), pieces);
            }
        }
    }
}
