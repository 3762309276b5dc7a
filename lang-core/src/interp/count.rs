//! What the interpreter counts as it goes (ATL Fig. 6, "Predicates, counting, cost" in the
//! language reference). Nothing here is shared with the cost model, which it checks.
//!
//! **Work**, in units:
//! - 1 for each real (`f64` or `f32`) `+ - * / // %`, power, and scalar function of any arity
//!   (`min` and `max` among them), for each element where they are lifted (4.3-4.5, 4.24-4.26);
//! - 0 for negation, conversions, comparisons, selection by `if` and `match`, indexing and
//!   everything on `i64` and `bool`;
//! - `sum` and `prod` over n terms: n − 1 times the number of reals in a term (4.30). A term
//!   whose bracket or filter is false is no term. A `sum` directly inside a `sum` is one
//!   composite: an inner sum without terms is no term of the outer one;
//! - an operand of `+` or `-` that is a bracket with a false predicate costs nothing (4.24),
//!   nor does the bracket itself (4.33);
//! - `max`, `min`, `argmax`, `argmin` over n: n − 1 for reals;
//! - `+=` in an update: one for each real that changes; none where its value is a false bracket;
//! - `sort` and `argsort`: their comparisons, for reals.
//!
//! **Tests**: one for each evaluation of a condition: a bracket's predicate, a filter, the
//! condition of an `if` arm or a `loop`, the body of `any`, `all` and `rel`, the predicate of
//! `filter` for an element, an `assert`. A condition counts once however it is composed.
//!
//! **Iterations**: index tuples visited by binders (those a filter refuses too) and by `fold`
//! and `scan` over indices, steps of `loop` and `scan … while`, elements visited by `filter`.
//! `any` and `all` stop where the answer is known.

/// Counts of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Real operations.
    pub work: u64,
    /// Conditions evaluated.
    pub tests: u64,
    /// Index tuples and steps visited.
    pub iterations: u64,
}

impl Counts {
    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: Self) {
        self.work = self.work.saturating_add(other.work);
        self.tests = self.tests.saturating_add(other.tests);
        self.iterations = self.iterations.saturating_add(other.iterations);
    }

    pub(super) fn add_work(&mut self, n: usize) {
        self.work = self.work.saturating_add(n as u64);
    }

    pub(super) fn add_test(&mut self) {
        self.tests = self.tests.saturating_add(1);
    }

    pub(super) fn add_iteration(&mut self) {
        self.iterations = self.iterations.saturating_add(1);
    }
}
