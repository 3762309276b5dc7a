//! **Predicted cost.** Compares the cost that is predicted from sizes, without values, with the
//! evaluator's counts. They must be equal, or the prediction an upper bound if the cost depends on
//! data.

use std::collections::HashMap;

use lang_core::eval::eval_ssa::SsaEvaluator;
use lang_core::ir::counted_cost::count_cost;
use lang_core::ir::flat::InputSource;
use lang_core::pipeline::Stages;
use lang_core::predicate::LocalId;

use super::form_laws::{FUEL, LawChecker, LawPoint, LawResult, broken, tensors};
use super::forms::EvaluatorFunctions;
use super::values::part;

/// The greatest number of index tuples that the prediction visits.
const LIMIT: u64 = 1_000_000;

impl LawChecker<'_> {
    /// Checks the predicted cost of Tensor SSA at a point where it has a value.
    pub(super) fn check_predicted_cost(&mut self, stages: &Stages, point: &LawPoint) -> LawResult {
        let ssa = &stages.ssa;
        let mut locals: HashMap<LocalId, i64> = ssa.sizes.iter().copied().zip(point.sizes.iter().copied()).collect();
        for input in &ssa.inputs {
            let InputSource::Param(k) = &input.source else { continue };
            let value = point.args.get(*k as usize).map(|arg| part(arg, &input.leaf.path, &[]));
            if let Some([one]) = value.as_ref().map(|t| t.items.as_slice())
                && input.leaf.dims.is_empty()
                && let Some(i) = one.int()
            {
                locals.insert(input.local, i);
            }
        }
        let Ok(prediction) = count_cost(ssa, &locals, &|callee| self.middle.ssa(callee), LIMIT) else { return Ok(()) };
        let world = EvaluatorFunctions(self.middle);
        let mut evaluator = SsaEvaluator::new(&world, FUEL);
        if evaluator.call(ssa, &point.sizes, tensors(stages, point)).is_err() {
            return Ok(());
        }
        let counted = evaluator.counts;
        let good = match prediction.is_upper_bound {
            false => (prediction.work, prediction.iterations) == (counted.work, counted.iterations),
            true => prediction.work >= counted.work && prediction.iterations >= counted.iterations,
        };
        *(if prediction.is_upper_bound { &mut self.tally.bounds } else { &mut self.tally.costs }) += 1;
        if good {
            Ok(())
        } else {
            Err(broken("the predicted cost is counted", format!("{prediction:?}, not {counted:?}\n{ssa}")))
        }
    }
}
