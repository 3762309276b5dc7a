//! **Operation counts** of the interpreter (ATL Fig. 6; "Predicates, counting, cost" in the
//! language reference). They share no code with the cost model, because they check it.
//!
//! **Work**, in units:
//! - 1 for each real (`f64` or `f32`) `+ - * / // %`, power, and scalar function of any arity
//!   (`min` and `max` among them). Lifted operations count each element (4.3-4.5, 4.24-4.26);
//! - 0 for negation, conversions, comparisons, selection by `if` and `match`, indexing and
//!   everything on `i64` and `bool`;
//! - `sum` and `prod` over n terms: n − 1 times the number of reals in a term (4.30). A term whose
//!   bracket or filter is false does not count as a term. A `sum` directly inside a `sum` is one
//!   composite: an inner sum without terms is not a term of the outer one;
//! - an operand of `+` or `-` that is a bracket with a false predicate costs nothing (4.24), nor
//!   does the bracket itself (4.33);
//! - `max`, `min`, `argmax`, `argmin` over n: n − 1 for reals;
//! - `+=` in an update: one for each real that changes; none if its value is a false bracket;
//! - `sort` and `argsort`: their comparisons, for reals.
//!
//! **Tests**: one for each evaluation of a condition. Conditions are a bracket's predicate, a
//! filter, the condition of an `if` arm or a `loop`, and an `assert`. So are the body of `any`,
//! `all` and `rel`, and the predicate of `filter` for an element. A condition counts once however
//! it is composed.
//!
//! **Iterations**: index tuples visited by binders (also those that a filter rejects) and by `fold`
//! and `scan` over indices. Steps of `loop` and `scan … while`, and elements visited by `filter`,
//! count too. `any` and `all` stop as soon as the answer is known.

/// The operation counts of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OperationCounts {
    /// Operations on reals.
    pub work: u64,
    /// Conditions evaluated.
    pub tests: u64,
    /// Index tuples and steps visited.
    pub iterations: u64,
}

impl OperationCounts {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: Self) {
        self.work = self.work.saturating_add(other.work);
        self.tests = self.tests.saturating_add(other.tests);
        self.iterations = self.iterations.saturating_add(other.iterations);
    }

    /// Adds `n` units of work.
    pub fn add_work(&mut self, n: usize) {
        self.work = self.work.saturating_add(n as u64);
    }

    /// Adds a test.
    pub fn add_test(&mut self) {
        self.tests = self.tests.saturating_add(1);
    }

    /// Adds an iteration.
    pub fn add_iteration(&mut self) {
        self.iterations = self.iterations.saturating_add(1);
    }
}
