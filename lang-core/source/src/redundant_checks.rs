//! **Redundant checks.** Drops the checks of a derivative that follow from sizes, ranges and
//! earlier checks. The writer calls it before it merges lines.

use lang_ir::ssa::{RuntimeCheck, SsaFunction, statement_index};
use lang_sizes::predicate::{FactContext, Index, Pred};

use super::rules::{with_assumption, with_index_ranges};

/// Returns the checks that do not follow from the known facts and the checks before them, each
/// simplified by these.
pub(super) fn irredundant_checks(ssa: &SsaFunction, known: &FactContext) -> Vec<RuntimeCheck> {
    let mut context = known.clone();
    // The extents of arguments are not negative.
    let extents = ssa.inputs.iter().flat_map(|i| &i.leaf.dims);
    extents.for_each(|n| context.assume(&Pred::nonneg(n)));
    let mut kept: Vec<RuntimeCheck> = Vec::new();
    for check in &ssa.checks {
        let indices: Vec<Index> = check.dims.iter().enumerate().map(|(k, n)| statement_index(k, n)).collect();
        let (guard, cond) = with_index_ranges(&indices, &mut context, |context| {
            let guard = context.simplify(&check.guard);
            let cond = with_assumption(&guard, context, |context| context.simplify(&check.cond));
            (guard, cond)
        });
        let same = |other: &RuntimeCheck| (&other.dims, &other.guard, &other.cond) == (&check.dims, &guard, &cond);
        if guard.is_false() || cond.is_true() || kept.iter().any(same) {
            continue;
        }
        if indices.is_empty() && guard.is_true() {
            context.assume(&cond);
        }
        kept.push(RuntimeCheck { guard, cond, ..check.clone() });
    }
    kept
}
