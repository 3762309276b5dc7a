//! A prover for integer facts: what the checker knows of sizes and indices at a place, and
//! whether a bound follows ("Types and sizes" in the language reference).
//!
//! Every atom stands for an arbitrary integer; nothing is assumed of sizes that is not said.
//! Only of atoms built from others is it known what they are: `p // d` and `p % d` (where the
//! sign of the divisor is known), `min` and `max`. What is proved holds at all integer points
//! that satisfy the facts. Products of rows make the proofs of flattened indices
//! (`i * m + j < n * m`); linear goals over the rationals are decided, and most over the
//! integers. What a limit cuts off is not proved.
//!
//! `table` holds the facts as linear rows over monomials, `points` knows goals that do not follow,
//! `reduce` proves the common ones in about a microsecond, `search` the others with the exact simplex
//! method of `lp`.

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
use crate::base::pause;
use table::Table;

/// What any goal takes, in steps of a search.
const GOAL: u64 = 100;

/// A conjunction of facts, added and taken back like scopes.
///
/// ```
/// use lang_core::predicate::{Atom, Facts, LocalId, Poly};
/// let [i, n] = [(0, "i"), (1, "n")].map(|(k, name)| Poly::atom(Atom::Local(LocalId(k), name.into())));
/// let mut facts = Facts::new();
/// facts.assume_nonneg(i.clone()); // 0 <= i
/// facts.assume_nonneg(n.sub(&i).plus(-1)); // i < n
/// assert!(facts.proves_nonneg(&n.plus(-1)));
/// assert!(!facts.proves_nonneg(&n.plus(-2)));
/// ```
#[derive(Clone, Default, Debug)]
pub struct Facts {
    /// Numbers for atoms are given out when goals are asked too.
    table: RefCell<Table>,
    /// What goals took, of all clones together.
    spent: Rc<Cell<u64>>,
}

impl Facts {
    /// No facts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The steps that goals took so far, of these facts and of those that were cloned from them or that they were cloned
    /// from; a step is about 10 ns.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// The current scope, for [`Self::release`].
    #[must_use]
    pub fn mark(&self) -> usize {
        self.table.borrow().kept()
    }

    /// Forgets what was assumed since the mark.
    pub fn release(&mut self, mark: usize) {
        let table = self.table.get_mut();
        table.settle();
        table.truncate(mark);
    }

    /// From here on `p >= 0`.
    #[expect(clippy::needless_pass_by_value, reason = "facts are made where they are assumed")]
    pub fn assume_nonneg(&mut self, p: Poly) {
        self.assume(&p, false);
    }

    /// From here on `p = 0`.
    #[expect(clippy::needless_pass_by_value, reason = "facts are made where they are assumed")]
    pub fn assume_zero(&mut self, p: Poly) {
        self.assume(&p, true);
    }

    /// From here on `p` is not 0: where it is known which sign it may have, it is at least 1 or at most -1. Elsewhere that
    /// says nothing here.
    pub fn assume_nonzero(&mut self, p: &Poly) {
        for p in [p.clone(), p.neg()] {
            if self.proves_nonneg(&p) {
                self.assume_nonneg(p.plus(-1));
                return;
            }
        }
    }

    fn assume(&mut self, p: &Poly, zero: bool) {
        let table = self.table.get_mut();
        table.settle();
        table.assume(p, zero);
        table.keep();
    }

    /// Does `p >= 0` follow? `false` if it does not, or that is not found out.
    #[must_use]
    pub fn proves_nonneg(&self, p: &Poly) -> bool {
        if p.overflowed() {
            return false;
        }
        if p.as_constant().is_some_and(|c| c >= 0) {
            return true;
        }
        pause();
        self.spent.set(self.spent.get().saturating_add(GOAL));
        let table = &mut *self.table.borrow_mut();
        table.settle_if_large();
        let Some(goal) = table.linear(p, false) else { return false };
        table.is_false()
            || !table.refutes(&goal)
                && (reduce::proves(table, &goal) || search::proves(table, Some(&goal), &self.spent))
    }

    /// Does `p = 0` follow? `false` if it does not, or that is not found out.
    #[must_use]
    pub fn proves_zero(&self, p: &Poly) -> bool {
        p.is_zero() || self.proves_nonneg(p) && self.proves_nonneg(&p.neg())
    }

    /// Can the facts not all hold? `false` if they can, or that is not found out.
    #[must_use]
    pub fn contradictory(&self) -> bool {
        pause();
        self.spent.set(self.spent.get().saturating_add(GOAL));
        let table = &mut *self.table.borrow_mut();
        table.is_false() || !table.holds_somewhere() && search::proves(table, None, &self.spent)
    }
}
