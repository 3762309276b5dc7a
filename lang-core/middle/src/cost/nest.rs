//! **Counting of loop nests**: the number of index tuples that a nest visits, and of tests of data,
//! as formulas. An index that data determine, as in `[idx[k] == i]`, has one value for each tuple
//! of the others, if a check guarantees that it is in range.

use std::cell::RefCell;
use std::collections::HashMap;

use lang_ir::ssa::index_number;
use lang_sizes::count::{self, Formula, UncountedReason};
use lang_sizes::predicate::{Atom, FactContext, Index, LocalId, Poly, Pred};

/// The largest number of proof steps for one cost. Beyond it the remaining nests become symbols.
pub(super) const MAX_PROOF_STEPS: u64 = 50_000_000;

/// A nest as written: nests with equal forms have equal counts.
pub(super) type NestForm = (Vec<Poly>, usize, Pred);

/// Indices that come last, with the polynomials that determine them.
type DeferredIndices = Vec<(usize, Poly)>;

/// Facts that hold at a nest.
#[derive(Clone)]
pub(super) struct NestFacts<'s> {
    /// Facts about the sizes.
    pub(super) context: &'s FactContext,
    pub(super) checked: &'s [CheckedFact],
    /// The extents of arrays that predicates read.
    pub(super) array_extents: &'s HashMap<LocalId, Vec<Poly>>,
    /// Memoised counts.
    pub(super) counts: &'s NestCounts,
}

/// Counts of nests, by their indices and predicates.
pub(super) type NestCounts = RefCell<HashMap<(Vec<Index>, Pred), Result<Formula, UncountedReason>>>;

impl NestFacts<'_> {
    fn count(&self, indices: &[Index], pred: &Pred) -> Result<Formula, UncountedReason> {
        let key = (indices.to_vec(), pred.clone());
        if let Some(known) = self.counts.borrow().get(&key) {
            return known.clone();
        }
        let found = if self.context.steps_spent() > MAX_PROOF_STEPS {
            Err(UncountedReason::TooMany)
        } else {
            count::count(indices, pred, self.context)
        };
        self.counts.borrow_mut().insert(key, found.clone());
        found
    }
}

/// A checked fact: for all these indices, if the guard holds, the condition holds.
pub(super) struct CheckedFact {
    pub(super) indices: Vec<Index>,
    pub(super) guard: Pred,
    pub(super) cond: Pred,
}

/// The loops over the free and bound indices of a statement.
pub(super) struct CostNest<'s> {
    /// The extents as written.
    dims: Vec<Poly>,
    indices: Vec<Index>,
    free: usize,
    pred: Pred,
    /// The conjuncts as written, each also in terms of the sizes.
    conjuncts: Vec<(Pred, Pred)>,
    facts: NestFacts<'s>,
}

/// The most conjuncts of a nest that has complements.
const MAX_COMPLEMENTS: usize = 16;

impl<'s> CostNest<'s> {
    pub(super) fn new(
        dims: Vec<Poly>,
        indices: Vec<Index>,
        free: usize,
        conjuncts: Vec<(Pred, Pred)>,
        facts: NestFacts<'s>,
    ) -> Self {
        let pred = Pred::all(conjuncts.iter().map(|(_, p)| p.clone()));
        Self { dims, indices, free, pred, conjuncts, facts }
    }

    /// Returns the predicate of the tuples, in terms of the sizes.
    pub(super) fn pred(&self) -> &Pred {
        &self.pred
    }

    /// Returns the number of tuples.
    pub(super) fn term_count(&self) -> Result<Formula, UncountedReason> {
        let (indices, pred) = self.eliminate_determined(self.indices.clone(), self.pred.clone());
        self.facts.count(&indices, &pred)
    }

    /// Whether all its indices are free.
    pub(super) fn is_free(&self) -> bool {
        self.free >= self.indices.len()
    }

    /// Returns, for each data-dependent conjunct, the nest in which it is negated and the nest
    /// without it. `free` restricts this to conjuncts over free indices. A nest with more than 16
    /// conjuncts has none, because each would be as long as the nest.
    pub(super) fn complements(&self, free: bool) -> Vec<(CostNest<'s>, CostNest<'s>)> {
        let of = |k: usize| {
            let parts = self.conjuncts.iter().enumerate();
            let without: Vec<(Pred, Pred)> = parts.filter(|(j, _)| *j != k).map(|(_, both)| both.clone()).collect();
            let (part, put) = self.conjuncts.get(k)?;
            if free && self.indices.iter().skip(self.free).any(|i| part.mentions(&i.atom())) {
                return None;
            }
            // A conjunct that reads out of bounds neither holds nor fails.
            let rest: Vec<Pred> = without.iter().map(|(_, p)| p.clone()).collect();
            if !self.reads_in_bounds(&self.indices, &rest, put) {
                return None;
            }
            let nest = |conjuncts| {
                Self::new(self.dims.clone(), self.indices.clone(), self.free, conjuncts, self.facts.clone())
            };
            let opposite = [(part.negated(), put.negated())];
            Some((nest(without.iter().cloned().chain(opposite).collect()), nest(without)))
        };
        let count = if self.conjuncts.len() <= MAX_COMPLEMENTS { self.conjuncts.len() } else { 0 };
        let opaque = (0..count).filter(|k| self.conjuncts.get(*k).is_some_and(|(p, _)| p.depends_on_data()));
        opaque.filter_map(of).collect()
    }

    /// Returns an upper bound of [`Self::term_count`].
    pub(super) fn max_terms(&self) -> Option<Formula> {
        let (indices, pred) = self.eliminate_determined(self.indices.clone(), self.pred.clone());
        let all = || self.facts.count(&indices, &Pred::truth());
        self.facts.count(&indices, &pred.data_independent_part()).or_else(|_| all()).ok()
    }

    /// Returns the number of tuples of the free indices that have a term.
    pub(super) fn nonempty_count(&self) -> Result<Formula, UncountedReason> {
        let mut pred = self.pred.clone();
        let free = self.indices.get(..self.free).unwrap_or_default();
        for bound in self.indices.iter().skip(self.free).rev() {
            pred = Pred::exists(bound, &pred);
        }
        let (indices, pred) = self.eliminate_determined(free.to_vec(), pred);
        self.facts.count(&indices, &pred)
    }

    /// Returns an upper bound of [`Self::nonempty_count`].
    pub(super) fn max_nonempty_count(&self) -> Option<Formula> {
        let free = self.indices.get(..self.free).unwrap_or_default();
        self.facts.count(free, &Pred::truth()).ok()
    }

    /// Returns the number of evaluations of predicates over data.
    pub(super) fn test_count(&self) -> Result<Formula, UncountedReason> {
        if self.opaque_count() == 0 {
            return Ok(Formula::default());
        }
        let (order, late) = self.loop_order()?;
        let place = |k: usize| order.iter().position(|j| *j == k).map(|p| p + 1);
        let mentions = |p: &Pred, k: usize| self.indices.get(k).is_some_and(|i| p.mentions(&i.atom()));
        let level = |p: &Pred| (0..self.indices.len()).filter(|k| mentions(p, *k)).filter_map(place).max();
        // At each level, conjuncts without data come first: they are evaluated, or narrow the loop,
        // before the others.
        let mut all: Vec<(usize, bool, &(Pred, Pred))> =
            self.conjuncts.iter().map(|both| (level(&both.0).unwrap_or(0), both.0.depends_on_data(), both)).collect();
        all.sort_by_key(|(level, opaque, _)| (*level, *opaque));
        let mut total = Formula::default();
        let mut before: Vec<Pred> = Vec::new();
        // An empty nest evaluates nothing.
        let some = Pred::all(self.indices.iter().map(|i| Pred::nonneg(&i.extent.add_constant(-1))));
        for (level, opaque, (p, put)) in all {
            if opaque {
                let innermost = level.checked_sub(1).and_then(|last| self.indices.get(*order.get(last)?));
                if innermost.is_some_and(|i| is_data_bound(p, i)) {
                    return Err(UncountedReason::Data);
                }
                let indices: Vec<Index> =
                    order.iter().take(level).filter_map(|k| self.indices.get(*k)).cloned().collect();
                // A conjunct that may read out of bounds is evaluated again for each tuple.
                if !self.reads_in_bounds(&indices, &before, put) {
                    return Err(UncountedReason::Data);
                }
                let telling = self.determining_equations(&late, order.get(..level).unwrap_or_default());
                let pred = Pred::all(before.iter().chain(telling).cloned());
                let (indices, pred) = self.eliminate_determined(indices, pred);
                total = total.add(&self.facts.count(&indices, &pred)?.restrict(&some));
            }
            before.push(put.clone());
        }
        Ok(total)
    }

    /// Returns the equations that determine late indices, among these indices. They hold wherever
    /// those indices have values.
    fn determining_equations<'n>(
        &'n self,
        late: &'n [(usize, Poly)],
        indices: &'n [usize],
    ) -> impl Iterator<Item = &'n Pred> {
        late.iter().filter(|(k, _)| indices.contains(k)).filter_map(|(k, by)| {
            let index = self.indices.get(*k)?.atom();
            let equation = self.conjuncts.iter().find(|(p, _)| p.solve_for(&index).as_ref() == Some(by));
            equation.map(|(_, put)| put)
        })
    }

    /// Returns an upper bound of [`Self::test_count`].
    pub(super) fn max_tests(&self) -> Option<Formula> {
        // A conjunct that reads out of bounds may be evaluated twice.
        let all = self.facts.count(&self.indices, &Pred::truth()).ok()?;
        Some(all.mul_ratio(&count::Ratio::constant(i128::try_from(2 * self.opaque_count()).ok()?)))
    }

    /// Whether a predicate reads all its arrays in bounds.
    fn reads_in_bounds(&self, indices: &[Index], before: &[Pred], p: &Pred) -> bool {
        let mut inside = self.facts.context.clone();
        indices.iter().for_each(|i| inside.assume_in_range(i));
        before.iter().filter(|p| !p.depends_on_data()).for_each(|p| inside.assume(p));
        self.pred_reads_in_bounds(p, &inside)
    }

    fn pred_reads_in_bounds(&self, p: &Pred, inside: &FactContext) -> bool {
        match p {
            Pred::And(items) | Pred::Or(items) => items.iter().all(|p| self.pred_reads_in_bounds(p, inside)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => self.poly_reads_in_bounds(p, inside),
            Pred::Element(x, _, at, _) => self.element_in_bounds(*x, at, inside),
            Pred::Member(_, _, at, _) => at.iter().all(|p| self.poly_reads_in_bounds(p, inside)),
            Pred::Exists(index, body, _) => {
                let mut deeper = inside.clone();
                deeper.assume_in_range(index);
                self.poly_reads_in_bounds(&index.extent, inside) && self.pred_reads_in_bounds(body, &deeper)
            }
        }
    }

    fn poly_reads_in_bounds(&self, p: &Poly, inside: &FactContext) -> bool {
        let mut all = true;
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a {
                all &= self.element_in_bounds(*x, at, inside);
            }
        });
        all
    }

    fn element_in_bounds(&self, x: LocalId, at: &[Poly], inside: &FactContext) -> bool {
        let Some(dims) = self.facts.array_extents.get(&x) else { return false };
        let holds = |p: &Pred| inside.implies(p) || self.facts.checked.iter().any(|s| s.implies(p, inside));
        let fits = |(i, n): (&Poly, &Poly)| Pred::in_range(i, n).conjuncts().iter().all(holds);
        at.len() == dims.len() && at.iter().zip(dims).all(fits)
    }

    fn opaque_count(&self) -> usize {
        self.conjuncts.iter().filter(|(p, _)| p.depends_on_data()).count()
    }

    /// Returns the predicate as written.
    fn pred_as_written(&self) -> Pred {
        Pred::all(self.conjuncts.iter().map(|(p, _)| p.clone()))
    }

    /// Returns the form of the nest.
    pub(super) fn form(&self) -> NestForm {
        (self.dims.clone(), self.free, self.pred_as_written())
    }

    /// Returns the order of the loops, with the late indices: free indices that bound indices or
    /// data determine. These come last, with the polynomials that determine them.
    fn loop_order(&self) -> Result<(Vec<usize>, DeferredIndices), UncountedReason> {
        let form = self.pred_as_written();
        let mut late: DeferredIndices = Vec::new();
        for (k, i) in self.indices.iter().enumerate().take(self.free) {
            let bound = |p: &Poly| self.indices.iter().skip(self.free).any(|j| p.mentions(&j.atom()));
            match form.solve_for(&i.atom()) {
                Some(p) if reads_data(&p) || bound(&p) => late.push((k, p)),
                _ if form.conjuncts().iter().any(|p| is_data_bound(p, i)) => return Err(UncountedReason::Data),
                _ => {}
            }
        }
        let mut order: Vec<usize> = (0..self.indices.len()).filter(|k| late.iter().all(|(j, _)| j != k)).collect();
        let mut open = late.clone();
        while !open.is_empty() {
            let is_determined = |p: &Poly| {
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
            let next = open.iter().position(|(_, p)| is_determined(p)).ok_or(UncountedReason::Data)?;
            order.push(open.remove(next).0);
        }
        Ok((order, late))
    }

    /// Eliminates the indices that data determine, and the conjuncts that checks guarantee.
    fn eliminate_determined(&self, mut indices: Vec<Index>, mut pred: Pred) -> (Vec<Index>, Pred) {
        while let Some((k, by)) = determined_index(&indices, &pred) {
            let index = indices.remove(k);
            let put = |a: &Atom| (*a == index.atom()).then(|| by.clone());
            pred = Pred::all([pred.substitute(&put), Pred::in_range(&by, &index.extent)]);
        }
        if !pred.depends_on_data() {
            return (indices, pred);
        }
        let mut inside = self.facts.context.clone();
        indices.iter().for_each(|i| inside.assume_in_range(i));
        pred.conjuncts().iter().filter(|p| !p.depends_on_data()).for_each(|p| inside.assume(p));
        let kept = pred.conjuncts().iter().filter(|p| !self.facts.checked.iter().any(|s| s.implies(p, &inside)));
        let pred = Pred::all(kept.cloned());
        (indices, pred)
    }
}

/// Returns an index that an equation with data determines, with its solution.
fn determined_index(indices: &[Index], pred: &Pred) -> Option<(usize, Poly)> {
    let equations = pred.conjuncts().iter().filter(|p| p.depends_on_data());
    for p in equations {
        for (k, index) in indices.iter().enumerate().rev() {
            if let Some(by) = p.solve_for(&index.atom()) {
                return Some((k, by));
            }
        }
    }
    None
}

/// Whether the conjunct is a data-dependent bound of the index.
fn is_data_bound(p: &Pred, index: &Index) -> bool {
    let Pred::Ge(poly) = p else { return false };
    poly.linear_in(&index.atom()).is_some_and(|(_, rest)| reads_data(&rest))
}

pub(super) fn reads_data(p: &Poly) -> bool {
    let mut data = false;
    p.for_each_atom(&mut |a| data |= matches!(a, Atom::Read(..)));
    data
}

impl CheckedFact {
    /// Whether the check implies this comparison.
    fn implies(&self, p: &Pred, inside: &FactContext) -> bool {
        let Pred::Ge(wanted) = p else { return false };
        let mut reads = Vec::new();
        wanted.for_each_atom(&mut |a| reads.push(a.clone()));
        self.cond.conjuncts().iter().any(|q| {
            let Pred::Ge(have) = q else { return false };
            let mut found = Vec::new();
            have.for_each_atom(&mut |a| found.push(a.clone()));
            reads.iter().any(|a| found.iter().any(|b| self.implies_instantiated(have, b, wanted, a, inside)))
        })
    }

    /// Whether it implies the comparison if atom `b` is instantiated to atom `a`.
    fn implies_instantiated(&self, have: &Poly, b: &Atom, wanted: &Poly, a: &Atom, inside: &FactContext) -> bool {
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
                .all(|i| of(&i.atom()).is_some_and(|p| inside.implies(&Pred::in_range(&p, &i.extent.substitute(&of)))))
        };
        complete
            && inside.implies(&Pred::nonneg(&wanted.sub(&have.substitute(&of))))
            && inside.implies(&self.guard.substitute(&of))
            && ranges()
    }
}
