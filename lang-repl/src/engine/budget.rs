//! Before something runs: what it will take, as the formulas of its cost tell it, and a question where that is more than
//! was asked for.

use std::sync::Arc;

use lang_core::base::{Code, GlobalName};
use lang_core::cost::{Cost, Symbol};
use lang_core::interp::Limits;
use lang_core::ir::core::Leaf;
use lang_core::predicate::Atom;
use lang_core::syntax::ops::Scalar;
use lang_core::types::tree::Body;

use super::{Engine, Here};
use crate::interrupt;
use crate::problem::Problem;

/// Operations and index tuples that take minutes.
pub(crate) const USUAL: u64 = 10_000_000_000;

/// An input of more expressions holds data, as a long array: it is evaluated sooner than its cost is told.
const LARGE: usize = 10_000;

/// How someone is asked, who says yes or no.
pub(crate) type Ask = fn(&str) -> bool;

/// What runs are allowed without a question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Operations, or index tuples.
    pub(crate) steps: u64,
    pub(crate) ask: Ask,
}

/// What a run will take: no more steps than these, as far as formulas tell it.
struct Predicted {
    steps: i128,
    /// Does it give more than it may? Then it fails before it begins.
    is_too_large: bool,
}

impl Engine {
    /// Asks before a body runs that takes more than the budget.
    pub(super) fn within_budget(&self, body: &Arc<Body>, here: &Here) -> Result<(), Vec<Problem>> {
        let Some(budget) = self.budget else { return Ok(()) };
        let predicted = interrupt::ask(&self.session, |_| self.predicted(&here.item, body));
        let predicted = predicted.ok_or_else(|| vec![Problem::new(Code::E0507, "interrupted")])?;
        let Some(Predicted { steps, is_too_large }) = predicted else { return Ok(()) };
        if is_too_large || steps <= i128::from(budget.steps) {
            return Ok(());
        }
        let question = format!("this takes up to {} operations", rounded(steps));
        if (budget.ask)(&question) {
            return Ok(());
        }
        let mut problem = Problem::new(Code::E0507, "it was not run");
        problem.help = Some("`:set budget N` sets how many operations run without a question".to_owned());
        Err(vec![problem])
    }

    fn predicted(&self, item: &GlobalName, body: &Arc<Body>) -> Option<Predicted> {
        if body.nodes.len() > LARGE {
            return None;
        }
        let (ssa, cost) = self.session.cost_of_body(item, body)?;
        let size = |a: &Atom| if let Atom::Global(name) = a { self.number(name) } else { None };
        let symbol = |s: &Symbol| most(s, &cost, &size);
        let mut values = cost.values(&size, &symbol);
        let [work, iterations] = [&cost.total.work, &cost.total.iterations].map(|f| f.eval(&mut values).unwrap_or(0));
        let mut given = ssa.outputs.iter().filter_map(|(leaf, _)| Some((leaf.scalar?, elements(leaf, &size)?)));
        let is_too_large = given.any(|(scalar, count)| !self.has_room(count, scalar));
        Some(Predicted { steps: work.max(iterations), is_too_large })
    }

    /// May a run have an array of so many elements?
    fn has_room(&self, count: i128, scalar: Scalar) -> bool {
        let Limits { max_elements, max_bytes, .. } = self.limits;
        let within = |n: i128, most: usize| i128::try_from(most).map_or(true, |most| n <= most);
        within(count, max_elements) && within(count.saturating_mul(scalar.bytes().into()), max_bytes)
    }
}

/// What a symbol is at most; 0 where that is not told.
fn most(of: &Symbol, cost: &Cost, size: &dyn Fn(&Atom) -> Option<i64>) -> Option<i64> {
    let most = of.most.as_ref().and_then(|f| f.eval(&mut cost.values(size, &|_| None)));
    Some(most.and_then(|n| i64::try_from(n).ok()).unwrap_or(0))
}

/// The elements of a part of a value; none where data decide.
fn elements(leaf: &Leaf, size: &dyn Fn(&Atom) -> Option<i64>) -> Option<i128> {
    let extents = leaf.dims.iter().map(|n| Some(i128::from(n.eval(&mut |a| size(a))?.max(0))));
    extents.into_iter().try_fold(1, |all: i128, n| Some(all.saturating_mul(n?)))
}

/// Two digits of a large number.
fn rounded(n: i128) -> String {
    let digits = n.to_string();
    match (digits.get(..1), digits.get(1..2), digits.len()) {
        (Some(first), Some(second), long @ 7..) => format!("{first}.{second}e{}", long - 1),
        _ => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn large_numbers_are_short() {
        assert_eq!([7, 123_456, 1_234_567].map(rounded), ["7", "123456", "1.2e6"]);
    }
}
