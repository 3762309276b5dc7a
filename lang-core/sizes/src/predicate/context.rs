//! **Simplification of predicates** under the facts in scope. A conjunct that follows is dropped. A
//! conjunct that the facts refute makes the conjunction false. [`FactSet`] decides comparisons; an
//! opaque atom follows only from itself.

use super::pred::{Index, Pred};
use super::{FactSet, Poly};

/// The maximal number of conjuncts that are compared with each other.
const MAX_CONJUNCTS: usize = 64;

/// The facts in scope.
#[derive(Clone, Default, Debug)]
pub struct FactContext {
    facts: FactSet,
    /// Assumptions that are not comparisons of [`FactSet`].
    undecided: Vec<Pred>,
}

/// A scope of a [`FactContext`].
#[derive(Clone, Copy, Debug)]
pub struct ContextMark(usize, usize);

impl FactContext {
    /// Creates a context that knows only that these sizes are not negative.
    #[must_use]
    pub fn new<'a>(sizes: impl IntoIterator<Item = &'a Poly>) -> Self {
        let mut context = Self::default();
        for n in sizes {
            context.facts.assume_nonneg(n.clone());
        }
        context
    }

    /// Returns the prover steps spent so far, by this context and all its clones and originals
    /// ([`FactSet::steps_spent`]).
    #[must_use]
    pub fn steps_spent(&self) -> u64 {
        self.facts.steps_spent()
    }

    /// Returns the current scope.
    #[must_use]
    pub fn mark(&self) -> ContextMark {
        ContextMark(self.facts.mark(), self.undecided.len())
    }

    /// Drops the assumptions made since the mark.
    pub fn release(&mut self, mark: ContextMark) {
        self.facts.release(mark.0);
        self.undecided.truncate(mark.1);
    }

    /// Assumes that the index is in its range.
    pub fn assume_in_range(&mut self, index: &Index) {
        self.facts.assume_nonneg(index.value());
        self.facts.assume_nonneg(index.extent.add_constant(-1).sub(&index.value()));
    }

    /// Assumes the predicate. A disjunction is kept as a whole.
    pub fn assume(&mut self, p: &Pred) {
        match p {
            Pred::And(items) => {
                // Inequations come last, because the other facts may decide the sign of a nonzero
                // polynomial.
                let (other, nonzero): (Vec<&Pred>, Vec<&Pred>) = items.iter().partition(|p| !matches!(p, Pred::Ne(_)));
                other.into_iter().chain(nonzero).for_each(|p| self.assume(p));
            }
            Pred::Ge(p) => self.facts.assume_nonneg(p.clone()),
            Pred::Eq(p) => self.facts.assume_zero(p.clone()),
            Pred::Or(items) if items.is_empty() => self.facts.assume_nonneg(Poly::constant(-1)),
            Pred::Ne(q) => {
                self.facts.assume_nonzero(q);
                self.undecided.push(p.clone());
            }
            Pred::Or(_) | Pred::Element(..) | Pred::Member(..) | Pred::Exists(..) => self.undecided.push(p.clone()),
        }
    }

    /// Returns the assumptions that are not comparisons of [`FactSet`].
    #[must_use]
    pub fn other_assumptions(&self) -> &[Pred] {
        &self.undecided
    }

    /// Whether the predicate follows. Returns `false` if it does not, or if the prover cannot
    /// decide.
    #[must_use]
    pub fn implies(&self, p: &Pred) -> bool {
        match p {
            Pred::And(items) => items.iter().all(|p| self.implies(p)),
            Pred::Ge(p) => self.facts.proves_nonneg(p),
            Pred::Eq(p) => self.facts.proves_zero(p),
            Pred::Ne(q) => {
                self.is_assumed(p)
                    || self.facts.proves_nonneg(&q.add_constant(-1))
                    || self.facts.proves_nonneg(&q.neg().add_constant(-1))
            }
            Pred::Or(items) => self.is_assumed(p) || items.iter().any(|p| self.implies(p)),
            Pred::Element(..) | Pred::Member(..) | Pred::Exists(..) => self.is_assumed(p),
        }
    }

    /// Whether the predicate itself was assumed. An overflowed one proves nothing.
    fn is_assumed(&self, p: &Pred) -> bool {
        self.undecided.contains(p) && !p.has_overflowed()
    }

    /// Whether the predicate cannot hold. Returns `false` if it can, or if the prover cannot
    /// decide.
    #[must_use]
    pub fn refutes(&self, p: &Pred) -> bool {
        match p {
            Pred::And(items) => {
                if items.iter().any(|p| self.refutes(p)) {
                    return true;
                }
                let mut inside = self.clone();
                inside.assume(p);
                inside.is_contradictory()
            }
            Pred::Or(items) => items.iter().all(|p| self.refutes(p)),
            other => self.implies(&other.negated()),
        }
    }

    /// Whether the assumptions contradict each other. Returns `false` if the prover cannot decide.
    #[must_use]
    pub fn is_contradictory(&self) -> bool {
        self.facts.is_contradictory()
    }

    /// Removes from the predicate the parts that follow from the context or from its other parts.
    #[must_use]
    pub fn simplify(&self, p: &Pred) -> Pred {
        if p.is_true() || p.is_false() {
            return p.clone();
        }
        match p {
            Pred::Or(items) => Pred::any_of(items.iter().map(|p| self.simplify(p))),
            Pred::Exists(index, body, holds) => {
                let mut inside = self.clone();
                inside.assume_in_range(index);
                if inside.is_contradictory() {
                    return if *holds { Pred::falsity() } else { Pred::truth() };
                }
                let any = Pred::exists(index, &inside.simplify(body));
                if *holds { any } else { any.negated() }
            }
            _ => self.simplify_all(p.conjuncts()),
        }
    }

    fn simplify_all(&self, items: &[Pred]) -> Pred {
        // Equations come first, because they decide more of the other conjuncts.
        let rank = |p: &Pred| match p {
            Pred::Eq(_) => 0,
            Pred::Ge(_) => 1,
            Pred::Ne(_) => 2,
            Pred::And(_) | Pred::Or(_) | Pred::Element(..) | Pred::Member(..) | Pred::Exists(..) => 3,
        };
        let mut order: Vec<&Pred> = items.iter().collect();
        order.sort_by_key(|p| rank(p));
        let mut known = self.clone();
        let mut kept: Vec<Pred> = Vec::new();
        for p in order {
            if known.implies(p) {
                continue;
            }
            if known.refutes(p) {
                return Pred::falsity();
            }
            let p = if matches!(p, Pred::Or(_) | Pred::Exists(..)) { known.simplify(p) } else { p.clone() };
            known.assume(&p);
            kept.push(p);
        }
        // A later conjunct may imply an earlier one. Equations are kept, because they are used to
        // solve for indices.
        if (2..=MAX_CONJUNCTS).contains(&kept.len()) {
            let mut k = 0;
            while k < kept.len() {
                // Equations stay. Only an equal predicate implies one of these, and equal ones are
                // gone.
                if matches!(kept.get(k), Some(Pred::Eq(_) | Pred::Element(..) | Pred::Member(..) | Pred::Exists(..))) {
                    k += 1;
                    continue;
                }
                let mut others = self.clone();
                kept.iter().enumerate().filter(|(j, _)| *j != k).for_each(|(_, p)| others.assume(p));
                match kept.get(k) {
                    Some(p) if others.implies(p) => drop(kept.remove(k)),
                    _ => k += 1,
                }
            }
        }
        Pred::all(kept)
    }
}
