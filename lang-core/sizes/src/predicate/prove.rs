//! **A prover for integer facts**: holds the facts about sizes and indices in scope, and decides
//! whether a bound follows ("Types and sizes" in the language reference).
//!
//! An atom represents an arbitrary integer; the prover assumes nothing about sizes beyond the
//! facts. It knows the definitions of compound atoms only: `p // d` and `p % d` (if the sign of the
//! divisor is known), `min` and `max`. A proved goal holds at all integer points that satisfy the
//! facts. Products of rows prove the bounds of flattened indices (`i * m + j < n * m`). Linear
//! goals are decided over the rationals, and mostly over the integers. A goal that exceeds a limit
//! is not proved.
//!
//! `table` holds the facts as linear rows over monomials. `points` finds most goals that do not
//! follow. `reduce` proves common goals in about a microsecond, and `search` proves others with the
//! exact simplex method of `lp`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

mod lp;
mod points;
mod reduce;
mod search;
mod table;

#[cfg(test)]
mod tests;

use super::Poly;
use lang_base::check_cancelled;
use table::FactTable;

/// The cost of any goal, in steps of a search.
const GOAL_COST: u64 = 100;

/// A conjunction of facts, added and removed like scopes.
///
/// ```
/// use lang_sizes::predicate::{Atom, FactSet, LocalId, Poly};
/// let local = |k, name: &str| Poly::atom(Atom::Local(LocalId(k), name.into()));
/// let [i, n] = [local(0, "i"), local(1, "n")];
/// let mut facts = FactSet::new();
/// facts.assume_nonneg(i.clone()); // 0 <= i
/// facts.assume_nonneg(n.sub(&i).add_constant(-1)); // i < n
/// assert!(facts.proves_nonneg(&n.add_constant(-1)));
/// assert!(!facts.proves_nonneg(&n.add_constant(-2)));
/// ```
#[derive(Clone, Default, Debug)]
pub struct FactSet {
    /// Behind a cell, because goals also assign numbers to atoms.
    table: RefCell<FactTable>,
    /// The steps spent on goals, shared by all clones.
    steps: Rc<Cell<u64>>,
}

impl FactSet {
    /// Creates an empty set of facts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the steps spent on goals so far, by these facts and all their clones and originals.
    /// A step is about 10 ns.
    #[must_use]
    pub fn steps_spent(&self) -> u64 {
        self.steps.get()
    }

    /// Returns the current scope, for [`Self::release`].
    #[must_use]
    pub fn mark(&self) -> usize {
        self.table.borrow().fact_count()
    }

    /// Drops the facts assumed since the mark.
    pub fn release(&mut self, mark: usize) {
        let table = self.table.get_mut();
        table.discard_goal_entries();
        table.truncate(mark);
    }

    /// Assumes `p >= 0`.
    #[expect(clippy::needless_pass_by_value, reason = "facts are made where they are assumed")]
    pub fn assume_nonneg(&mut self, p: Poly) {
        self.assume(&p, false);
    }

    /// Assumes `p = 0`.
    #[expect(clippy::needless_pass_by_value, reason = "facts are made where they are assumed")]
    pub fn assume_zero(&mut self, p: Poly) {
        self.assume(&p, true);
    }

    /// Assumes that `p` is not 0. If its sign is known, it is then at least 1 or at most -1.
    /// Otherwise nothing is recorded.
    pub fn assume_nonzero(&mut self, p: &Poly) {
        for p in [p.clone(), p.neg()] {
            if self.proves_nonneg(&p) {
                self.assume_nonneg(p.add_constant(-1));
                return;
            }
        }
    }

    fn assume(&mut self, p: &Poly, zero: bool) {
        let table = self.table.get_mut();
        table.discard_goal_entries();
        table.assume(p, zero);
        table.mark_as_facts();
    }

    /// Whether `p >= 0` follows. Returns `false` if it does not, or if the prover cannot decide.
    #[must_use]
    pub fn proves_nonneg(&self, p: &Poly) -> bool {
        if p.has_overflowed() {
            return false;
        }
        if p.as_constant().is_some_and(|c| c >= 0) {
            return true;
        }
        check_cancelled();
        self.steps.set(self.steps.get().saturating_add(GOAL_COST));
        let table = &mut *self.table.borrow_mut();
        table.discard_many_goal_entries();
        let Some(goal) = table.linearise(p, false) else { return false };
        table.has_false_row()
            || !table.refutes(&goal)
                && (reduce::proves(table, &goal) || search::proves(table, Some(&goal), &self.steps))
    }

    /// Whether `p = 0` follows. Returns `false` if it does not, or if the prover cannot decide.
    #[must_use]
    pub fn proves_zero(&self, p: &Poly) -> bool {
        p.is_zero() || self.proves_nonneg(p) && self.proves_nonneg(&p.neg())
    }

    /// Whether the facts contradict each other. Returns `false` if they do not, or if the prover
    /// cannot decide.
    #[must_use]
    pub fn is_contradictory(&self) -> bool {
        check_cancelled();
        self.steps.set(self.steps.get().saturating_add(GOAL_COST));
        let table = &mut *self.table.borrow_mut();
        table.has_false_row() || !table.is_satisfied_at_point() && search::proves(table, None, &self.steps)
    }
}
