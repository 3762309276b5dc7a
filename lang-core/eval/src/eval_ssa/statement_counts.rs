//! **Counts for each statement** of an evaluation. They show the facts that depend on data: how
//! many tuples a predicate leaves, and how often a loop runs.

use std::sync::Arc;

use super::{IrTensor, SsaEvaluator, SsaFrame, SsaResult};
use lang_ir::ssa::Statement;
use lang_ir::value::IrValue;
use lang_runtime::OperationCounts;

/// The totals of a statement over all its runs.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct StatementCounts {
    /// The number of tuples for which each term is present.
    pub terms: Vec<u64>,
    /// The number of elements that have a term.
    pub present: u64,
    /// The number of loop iterations.
    pub trips: u64,
    /// The sum of the values, if the statement is a scalar integer.
    pub value: i128,
    /// All counts, including those of nested functions, but without the checks that run before the
    /// statement.
    pub counts: OperationCounts,
}

impl StatementCounts {
    pub(super) fn count_term(&mut self, term: usize) {
        if self.terms.len() <= term {
            self.terms.resize(term + 1, 0);
        }
        self.terms.get_mut(term).into_iter().for_each(|n| *n += 1);
    }

    fn add(&mut self, other: &Self) {
        for (k, n) in other.terms.iter().enumerate() {
            if self.terms.len() <= k {
                self.terms.resize(k + 1, 0);
            }
            self.terms.get_mut(k).into_iter().for_each(|m| *m += n);
        }
        self.present += other.present;
        self.trips += other.trips;
        self.value = self.value.saturating_add(other.value);
        self.counts.add(other.counts);
    }
}

/// Returns the difference of two counts.
fn difference(before: OperationCounts, now: OperationCounts) -> OperationCounts {
    OperationCounts {
        work: now.work.saturating_sub(before.work),
        tests: now.tests.saturating_sub(before.tests),
        iterations: now.iterations.saturating_sub(before.iterations),
    }
}

impl SsaEvaluator<'_> {
    /// Adds the counts of a whole function under the empty path.
    pub(super) fn record_total(&mut self, before: OperationCounts) {
        let counts = difference(before, self.counts);
        if let Some(populations) = &mut self.statement_counts {
            populations.entry(Vec::new()).or_default().add(&StatementCounts { counts, ..StatementCounts::default() });
        }
    }
}

impl<'e> SsaFrame<'_, 'e> {
    /// Evaluates a statement and adds its counts.
    pub(super) fn eval_counted(&mut self, stmt: &Statement) -> SsaResult<Option<Arc<IrTensor>>> {
        if self.evaluator.statement_counts.is_none() {
            return self.eval_statement(stmt);
        }
        stmt.needs.iter().try_for_each(|c| self.check(*c))?;
        self.current_counts = StatementCounts::default();
        let before = self.evaluator.counts;
        let value = self.eval_statement(stmt)?;
        self.current_counts.counts = difference(before, self.evaluator.counts);
        if let Some(value) = &value
            && let ([], [IrValue::I64(i)]) = (value.dims.as_slice(), value.items.as_slice())
        {
            self.current_counts.value = (*i).into();
        }
        let own = std::mem::take(&mut self.current_counts);
        self.record_counts(self.current.0, &own);
        Ok(value)
    }

    /// Attributes the counts since `before` to `place` instead of the current statement.
    pub(super) fn attribute_to(&mut self, place: u32, before: OperationCounts) {
        let counts = difference(before, self.evaluator.counts);
        self.record_counts(place, &StatementCounts { counts, ..StatementCounts::default() });
    }

    fn record_counts(&mut self, place: u32, own: &StatementCounts) {
        let SsaEvaluator { statement_counts: populations, path, .. } = &mut *self.evaluator;
        let Some(populations) = populations else { return };
        let mut path = path.clone();
        path.push(place);
        populations.entry(path).or_default().add(own);
    }

    /// Evaluates a nested function, with the current statement on the path.
    pub(super) fn in_nested_function<T>(&mut self, f: impl FnOnce(&mut SsaEvaluator<'e>) -> T) -> T {
        self.evaluator.path.push(self.current.0);
        let result = f(self.evaluator);
        self.evaluator.path.pop();
        result
    }
}
