//! **Counting of loop nests**: the number of index tuples that a nest visits, and of tests of data,
//! as formulas. An index that data determine, as in `[idx[k] == i]`, has one value for each tuple
//! of the others, if a check guarantees that it is in range.

use std::cell::RefCell;
use std::collections::HashMap;

use lang_ir::ssa::index_number;
use lang_sizes::count::{self, Formula, Uncounted};
use lang_sizes::predicate::{Atom, Context, Index, LocalId, Poly, Pred};

/// The largest number of proof steps for one cost. Beyond it the remaining nests become symbols.
pub(super) const MOST_STEPS: u64 = 50_000_000;

/// A nest as written: nests with equal forms have equal counts.
pub(super) type Form = (Vec<Poly>, usize, Pred);

/// Indices that come last, with the polynomials that determine them.
type Late = Vec<(usize, Poly)>;

/// Facts that hold at a nest.
#[derive(Clone)]
pub(super) struct Given<'s> {
    /// Facts about the sizes.
    pub(super) known: &'s Context,
    pub(super) sure: &'s [Sure],
    /// The extents of arrays that predicates read.
    pub(super) dims: &'s HashMap<LocalId, Vec<Poly>>,
    /// Memoised counts.
    pub(super) counts: &'s Counts,
}

/// Counts of nests, by their indices and predicates.
pub(super) type Counts = RefCell<HashMap<(Vec<Index>, Pred), Result<Formula, Uncounted>>>;

impl Given<'_> {
    fn count(&self, indices: &[Index], pred: &Pred) -> Result<Formula, Uncounted> {
        let key = (indices.to_vec(), pred.clone());
        if let Some(known) = self.counts.borrow().get(&key) {
            return known.clone();
        }
        let found = if self.known.spent() > MOST_STEPS {
            Err(Uncounted::TooMany)
        } else {
            count::count(indices, pred, self.known)
        };
        self.counts.borrow_mut().insert(key, found.clone());
        found
    }
}

/// A checked fact: for all these indices, if the guard holds, the condition holds.
pub(super) struct Sure {
    pub(super) indices: Vec<Index>,
    pub(super) guard: Pred,
    pub(super) cond: Pred,
}

/// The loops over the free and bound indices of a statement.
pub(super) struct Nest<'s> {
    /// The extents as written.
    dims: Vec<Poly>,
    indices: Vec<Index>,
    free: usize,
    pred: Pred,
    /// The conjuncts as written, each also in terms of the sizes.
    asked: Vec<(Pred, Pred)>,
    given: Given<'s>,
}

impl<'s> Nest<'s> {
    pub(super) fn new(
        dims: Vec<Poly>,
        indices: Vec<Index>,
        free: usize,
        asked: Vec<(Pred, Pred)>,
        given: Given<'s>,
    ) -> Self {
        let pred = Pred::all(asked.iter().map(|(_, p)| p.clone()));
        Self { dims, indices, free, pred, asked, given }
    }

    /// Returns the predicate of the tuples, in terms of the sizes.
    pub(super) fn pred(&self) -> &Pred {
        &self.pred
    }

    /// Returns the number of tuples.
    pub(super) fn terms(&self) -> Result<Formula, Uncounted> {
        let (indices, pred) = self.solved(self.indices.clone(), self.pred.clone());
        self.given.count(&indices, &pred)
    }

    /// Whether all its indices are free.
    pub(super) fn is_free(&self) -> bool {
        self.free >= self.indices.len()
    }

    /// Returns, for each data-dependent conjunct, the nest in which it is negated and the nest
    /// without it. `free` restricts this to conjuncts over free indices.
    pub(super) fn others(&self, free: bool) -> Vec<(Nest<'s>, Nest<'s>)> {
        let of = |k: usize| {
            let parts = self.asked.iter().enumerate();
            let without: Vec<(Pred, Pred)> = parts.filter(|(j, _)| *j != k).map(|(_, both)| both.clone()).collect();
            let (part, put) = self.asked.get(k)?;
            if free && self.indices.iter().skip(self.free).any(|i| part.mentions(&i.atom())) {
                return None;
            }
            // A conjunct that reads out of bounds neither holds nor fails.
            let rest: Vec<Pred> = without.iter().map(|(_, p)| p.clone()).collect();
            if !self.safe(&self.indices, &rest, put) {
                return None;
            }
            let nest = |asked| Self::new(self.dims.clone(), self.indices.clone(), self.free, asked, self.given.clone());
            let opposite = [(part.negated(), put.negated())];
            Some((nest(without.iter().cloned().chain(opposite).collect()), nest(without)))
        };
        let opaque = (0..self.asked.len()).filter(|k| self.asked.get(*k).is_some_and(|(p, _)| p.is_opaque()));
        opaque.filter_map(of).collect()
    }

    /// Returns an upper bound of [`Self::terms`].
    pub(super) fn most(&self) -> Option<Formula> {
        let (indices, pred) = self.solved(self.indices.clone(), self.pred.clone());
        let all = || self.given.count(&indices, &Pred::truth());
        self.given.count(&indices, &pred.known()).or_else(|_| all()).ok()
    }

    /// Returns the number of tuples of the free indices that have a term.
    pub(super) fn present(&self) -> Result<Formula, Uncounted> {
        let mut pred = self.pred.clone();
        let free = self.indices.get(..self.free).unwrap_or_default();
        for bound in self.indices.iter().skip(self.free).rev() {
            pred = Pred::exists(bound, &pred);
        }
        let (indices, pred) = self.solved(free.to_vec(), pred);
        self.given.count(&indices, &pred)
    }

    /// Returns an upper bound of [`Self::present`].
    pub(super) fn most_present(&self) -> Option<Formula> {
        let free = self.indices.get(..self.free).unwrap_or_default();
        self.given.count(free, &Pred::truth()).ok()
    }

    /// Returns the number of evaluations of predicates over data.
    pub(super) fn tests(&self) -> Result<Formula, Uncounted> {
        if self.opaque() == 0 {
            return Ok(Formula::default());
        }
        let (order, late) = self.order()?;
        let place = |k: usize| order.iter().position(|j| *j == k).map(|p| p + 1);
        let mentions = |p: &Pred, k: usize| self.indices.get(k).is_some_and(|i| p.mentions(&i.atom()));
        let level = |p: &Pred| (0..self.indices.len()).filter(|k| mentions(p, *k)).filter_map(place).max();
        // At each level, conjuncts without data come first: they are evaluated, or narrow the loop,
        // before the others.
        let mut all: Vec<(usize, bool, &(Pred, Pred))> =
            self.asked.iter().map(|both| (level(&both.0).unwrap_or(0), both.0.is_opaque(), both)).collect();
        all.sort_by_key(|(level, opaque, _)| (*level, *opaque));
        let mut total = Formula::default();
        let mut before: Vec<Pred> = Vec::new();
        // An empty nest evaluates nothing.
        let some = Pred::all(self.indices.iter().map(|i| Pred::nonneg(&i.extent.plus(-1))));
        for (level, opaque, (p, put)) in all {
            if opaque {
                let told = level.checked_sub(1).and_then(|last| self.indices.get(*order.get(last)?));
                if told.is_some_and(|i| narrows(p, i)) {
                    return Err(Uncounted::Data);
                }
                let indices: Vec<Index> =
                    order.iter().take(level).filter_map(|k| self.indices.get(*k)).cloned().collect();
                // A conjunct that may read out of bounds is evaluated again for each tuple.
                if !self.safe(&indices, &before, put) {
                    return Err(Uncounted::Data);
                }
                let telling = self.telling(&late, order.get(..level).unwrap_or_default());
                let pred = Pred::all(before.iter().chain(telling).cloned());
                let (indices, pred) = self.solved(indices, pred);
                total = total.add(&self.given.count(&indices, &pred)?.guarded(&some));
            }
            before.push(put.clone());
        }
        Ok(total)
    }

    /// Returns the equations that determine late indices, among these indices. They hold wherever
    /// those indices have values.
    fn telling<'n>(&'n self, late: &'n [(usize, Poly)], indices: &'n [usize]) -> impl Iterator<Item = &'n Pred> {
        late.iter().filter(|(k, _)| indices.contains(k)).filter_map(|(k, by)| {
            let index = self.indices.get(*k)?.atom();
            let equation = self.asked.iter().find(|(p, _)| p.solution(&index).as_ref() == Some(by));
            equation.map(|(_, put)| put)
        })
    }

    /// Returns an upper bound of [`Self::tests`].
    pub(super) fn most_tests(&self) -> Option<Formula> {
        // A conjunct that reads out of bounds may be evaluated twice.
        let all = self.given.count(&self.indices, &Pred::truth()).ok()?;
        Some(all.times(&count::Ratio::constant(i128::try_from(2 * self.opaque()).ok()?)))
    }

    /// Whether a predicate reads all its arrays in bounds.
    fn safe(&self, indices: &[Index], before: &[Pred], p: &Pred) -> bool {
        let mut inside = self.given.known.clone();
        indices.iter().for_each(|i| inside.enter(i));
        before.iter().filter(|p| !p.is_opaque()).for_each(|p| inside.assume(p));
        self.reads_inside(p, &inside)
    }

    fn reads_inside(&self, p: &Pred, inside: &Context) -> bool {
        match p {
            Pred::And(items) | Pred::Or(items) => items.iter().all(|p| self.reads_inside(p, inside)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => self.inside(p, inside),
            Pred::Is(x, _, at, _) => self.element(*x, at, inside),
            Pred::Member(_, _, at, _) => at.iter().all(|p| self.inside(p, inside)),
            Pred::Any(index, body, _) => {
                let mut deeper = inside.clone();
                deeper.enter(index);
                self.inside(&index.extent, inside) && self.reads_inside(body, &deeper)
            }
        }
    }

    fn inside(&self, p: &Poly, inside: &Context) -> bool {
        let mut all = true;
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a {
                all &= self.element(*x, at, inside);
            }
        });
        all
    }

    fn element(&self, x: LocalId, at: &[Poly], inside: &Context) -> bool {
        let Some(dims) = self.given.dims.get(&x) else { return false };
        let holds = |p: &Pred| inside.implies(p) || self.given.sure.iter().any(|s| s.tells(p, inside));
        let fits = |(i, n): (&Poly, &Poly)| Pred::inside(i, n).conjuncts().iter().all(holds);
        at.len() == dims.len() && at.iter().zip(dims).all(fits)
    }

    fn opaque(&self) -> usize {
        self.asked.iter().filter(|(p, _)| p.is_opaque()).count()
    }

    /// Returns the predicate as written.
    fn in_form(&self) -> Pred {
        Pred::all(self.asked.iter().map(|(p, _)| p.clone()))
    }

    /// Returns the form of the nest.
    pub(super) fn form(&self) -> Form {
        (self.dims.clone(), self.free, self.in_form())
    }

    /// Returns the order of the loops, with the late indices: free indices that bound indices or
    /// data determine. These come last, with the polynomials that determine them.
    fn order(&self) -> Result<(Vec<usize>, Late), Uncounted> {
        let form = self.in_form();
        let mut late: Late = Vec::new();
        for (k, i) in self.indices.iter().enumerate().take(self.free) {
            let bound = |p: &Poly| self.indices.iter().skip(self.free).any(|j| p.mentions(&j.atom()));
            match form.solution(&i.atom()) {
                Some(p) if has_data(&p) || bound(&p) => late.push((k, p)),
                _ if form.conjuncts().iter().any(|p| narrows(p, i)) => return Err(Uncounted::Data),
                _ => {}
            }
        }
        let mut order: Vec<usize> = (0..self.indices.len()).filter(|k| late.iter().all(|(j, _)| j != k)).collect();
        let mut open = late.clone();
        while !open.is_empty() {
            let told = |p: &Poly| {
                let mut known = true;
                p.for_each_atom(&mut |a| {
                    if let Atom::Local(l, _) = a
                        && let Some(k) = index_number(*l)
                    {
                        known &= order.contains(&k);
                    }
                });
                known
            };
            let next = open.iter().position(|(_, p)| told(p)).ok_or(Uncounted::Data)?;
            order.push(open.remove(next).0);
        }
        Ok((order, late))
    }

    /// Eliminates the indices that data determine, and the conjuncts that checks guarantee.
    fn solved(&self, mut indices: Vec<Index>, mut pred: Pred) -> (Vec<Index>, Pred) {
        while let Some((k, by)) = told(&indices, &pred) {
            let index = indices.remove(k);
            let put = |a: &Atom| (*a == index.atom()).then(|| by.clone());
            pred = Pred::all([pred.substitute(&put), Pred::inside(&by, &index.extent)]);
        }
        if !pred.is_opaque() {
            return (indices, pred);
        }
        let mut inside = self.given.known.clone();
        indices.iter().for_each(|i| inside.enter(i));
        pred.conjuncts().iter().filter(|p| !p.is_opaque()).for_each(|p| inside.assume(p));
        let kept = pred.conjuncts().iter().filter(|p| !self.given.sure.iter().any(|s| s.tells(p, &inside)));
        let pred = Pred::all(kept.cloned());
        (indices, pred)
    }
}

/// Returns an index that an equation with data determines, with its solution.
fn told(indices: &[Index], pred: &Pred) -> Option<(usize, Poly)> {
    let equations = pred.conjuncts().iter().filter(|p| p.is_opaque());
    for p in equations {
        for (k, index) in indices.iter().enumerate().rev() {
            if let Some(by) = p.solution(&index.atom()) {
                return Some((k, by));
            }
        }
    }
    None
}

/// Whether the conjunct is a data-dependent bound of the index.
fn narrows(p: &Pred, index: &Index) -> bool {
    let Pred::Ge(poly) = p else { return false };
    poly.linear_in(&index.atom()).is_some_and(|(_, rest)| has_data(&rest))
}

pub(super) fn has_data(p: &Poly) -> bool {
    let mut data = false;
    p.for_each_atom(&mut |a| data |= matches!(a, Atom::Read(..)));
    data
}

impl Sure {
    /// Whether the check implies this comparison.
    fn tells(&self, p: &Pred, inside: &Context) -> bool {
        let Pred::Ge(wanted) = p else { return false };
        let mut reads = Vec::new();
        wanted.for_each_atom(&mut |a| reads.push(a.clone()));
        self.cond.conjuncts().iter().any(|q| {
            let Pred::Ge(have) = q else { return false };
            let mut found = Vec::new();
            have.for_each_atom(&mut |a| found.push(a.clone()));
            reads.iter().any(|a| found.iter().any(|b| self.says(have, b, wanted, a, inside)))
        })
    }

    /// Whether it implies the comparison if atom `b` is instantiated to atom `a`.
    fn says(&self, have: &Poly, b: &Atom, wanted: &Poly, a: &Atom, inside: &Context) -> bool {
        let (Atom::Read(x, _, at), Atom::Read(y, _, places)) = (a, b) else { return false };
        if x != y || at.len() != places.len() {
            return false;
        }
        let mut put: Vec<(Atom, Poly)> = Vec::new();
        for (place, value) in places.iter().zip(at.iter()) {
            if let Some(atom @ Atom::Local(l, _)) = place.as_atom()
                && index_number(*l).is_some()
            {
                put.push((atom.clone(), value.clone()));
            }
        }
        let of = |a: &Atom| put.iter().find(|(b, _)| a == b).map(|(_, p)| p.clone());
        let complete = self.indices.iter().all(|i| of(&i.atom()).is_some());
        let ranges = || {
            self.indices
                .iter()
                .all(|i| of(&i.atom()).is_some_and(|p| inside.implies(&Pred::inside(&p, &i.extent.substitute(&of)))))
        };
        complete
            && inside.implies(&Pred::nonneg(&wanted.sub(&have.substitute(&of))))
            && inside.implies(&self.guard.substitute(&of))
            && ranges()
    }
}
