//! **Cost prediction.** Before a body runs, its cost formulas are evaluated at the known sizes. If
//! the result exceeds the budget, the user must confirm the run.

use std::sync::Arc;

use lang_core::base::{Code, GlobalName};
use lang_core::cost::{CostFormulas, CostSymbol};
use lang_core::ir::core::TypeLeaf;
use lang_core::predicate::Atom;
use lang_core::runtime::RunLimits;
use lang_core::syntax::ops::Scalar;
use lang_core::types::tree::TypedBody;

use super::{Engine, RunLocation};
use crate::interrupt;
use crate::problem::Problem;

/// The default budget: operations or index tuples that take minutes.
pub(crate) const DEFAULT_STEPS: u64 = 10_000_000_000;

/// A body with more expressions is a data literal, such as a long array. Evaluating it is quicker
/// than predicting its cost.
const MAX_PREDICTED_NODES: usize = 10_000;

/// A prompt that shows a question and returns the user's yes or no.
pub(crate) type ConfirmPrompt = fn(&str) -> bool;

/// The cost of a run that needs no confirmation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunBudget {
    /// The limit on operations and on index tuples.
    pub(crate) steps: u64,
    pub(crate) confirm: ConfirmPrompt,
}

/// The predicted cost of a run, as far as the formulas determine it.
struct PredictedCost {
    steps: i128,
    /// Whether a result exceeds the memory limits. Such a run fails before it begins.
    is_too_large: bool,
}

impl Engine {
    /// Asks for confirmation if a body is predicted to exceed the budget. A refusal or an interrupt
    /// is an error.
    pub(super) fn check_budget(&self, body: &Arc<TypedBody>, here: &RunLocation) -> Result<(), Vec<Problem>> {
        let Some(budget) = self.budget else { return Ok(()) };
        let predicted = interrupt::run_query(&self.session, |_| self.predict_cost(&here.item, body));
        let predicted = predicted.ok_or_else(|| vec![Problem::new(Code::E0507, "interrupted")])?;
        let Some(PredictedCost { steps, is_too_large }) = predicted else { return Ok(()) };
        if is_too_large || steps <= i128::from(budget.steps) {
            return Ok(());
        }
        let question = format!("this takes up to {} operations", rounded_text(steps));
        if (budget.confirm)(&question) {
            return Ok(());
        }
        let mut problem = Problem::new(Code::E0507, "the run was not confirmed");
        problem.help = Some("`:set budget N` sets the number of operations that need no confirmation".to_owned());
        Err(vec![problem])
    }

    fn predict_cost(&self, item: &GlobalName, body: &Arc<TypedBody>) -> Option<PredictedCost> {
        if body.nodes.len() > MAX_PREDICTED_NODES {
            return None;
        }
        let (ssa, cost) = self.session.cost_of_body(item, body)?;
        let size = |a: &Atom| if let Atom::Global(name) = a { self.global_integer(name) } else { None };
        let symbol = |s: &CostSymbol| symbol_upper_bound(s, &cost, &size);
        let mut values = cost.valuation(&size, &symbol);
        let [work, iterations] = [&cost.total.work, &cost.total.iterations].map(|f| f.eval(&mut values).unwrap_or(0));
        let mut output_arrays =
            ssa.outputs.iter().filter_map(|(leaf, _)| Some((leaf.scalar?, element_count(leaf, &size)?)));
        let is_too_large = output_arrays.any(|(scalar, count)| !self.has_room(count, scalar));
        Some(PredictedCost { steps: work.max(iterations), is_too_large })
    }

    /// Returns whether the limits allow an array of `count` elements.
    fn has_room(&self, count: i128, scalar: Scalar) -> bool {
        let RunLimits { max_elements, max_bytes, .. } = self.limits;
        let within = |n: i128, most: usize| i128::try_from(most).map_or(true, |most| n <= most);
        within(count, max_elements) && within(count.saturating_mul(scalar.bytes().into()), max_bytes)
    }
}

/// Returns the upper bound of a symbol, or 0 if its bound is unknown. Because of the 0, a
/// prediction can be too low.
fn symbol_upper_bound(of: &CostSymbol, cost: &CostFormulas, size: &dyn Fn(&Atom) -> Option<i64>) -> Option<i64> {
    let most = of.upper_bound.as_ref().and_then(|f| f.eval(&mut cost.valuation(size, &|_| None)));
    Some(most.and_then(|n| i64::try_from(n).ok()).unwrap_or(0))
}

/// Returns the number of elements of a leaf, or `None` if an extent depends on data.
fn element_count(leaf: &TypeLeaf, size: &dyn Fn(&Atom) -> Option<i64>) -> Option<i128> {
    let extents = leaf.dims.iter().map(|n| Some(i128::from(n.eval(&mut |a| size(a))?.max(0))));
    extents.into_iter().try_fold(1, |all: i128, n| Some(all.saturating_mul(n?)))
}

/// Formats a number; one of seven digits or more is rounded down to two digits.
fn rounded_text(n: i128) -> String {
    let digits = n.to_string();
    match (digits.get(..1), digits.get(1..2), digits.len()) {
        (Some(first), Some(second), long @ 7..) => format!("{first}.{second}e{}", long - 1),
        _ => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::rounded_text;

    #[test]
    fn large_numbers_are_short() {
        assert_eq!([7, 123_456, 1_234_567].map(rounded_text), ["7", "123456", "1.2e6"]);
    }
}
