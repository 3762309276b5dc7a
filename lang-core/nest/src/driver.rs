//! **Driver of the scheduler.** Schedules a whole function: its cases by size, the steps of each,
//! and recursively the bodies of loops that remain statements.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::loop_nest::is_while_extent;
use super::{FlattenPolicy, Prepared, Schedule, Step, in_place_loops, prepare, schedule};
use lang_base::ensure_sufficient_stack;
use lang_ir::ssa::{Rhs, SsaFunction, StmtId};
use lang_opt::{InlineCallees, PassSelection, multiversion, optimise};
use lang_sizes::predicate::Pred;

/// A case of a function, with its steps.
pub struct ScheduledCase {
    /// The predicate over sizes that selects the case; true if there is only one.
    pub size_condition: Pred,
    /// The prepared function.
    pub prepared: Prepared,
    /// Its steps.
    pub schedule: Schedule,
    /// The cases of the bodies of loops, by the statement of the loop.
    pub loops: BTreeMap<StmtId, Vec<ScheduledCase>>,
}

/// Schedules all cases of a function after these passes, the case for large sizes first.
#[must_use]
pub fn schedule_cases(
    ssa: &Arc<SsaFunction>,
    passes: &PassSelection,
    callees: InlineCallees<'_>,
) -> Vec<ScheduledCase> {
    let cases = multiversion::conditional_cases(ssa).into_iter();
    cases.map(|(condition, case)| schedule_case(condition, &case, passes, callees)).collect()
}

fn schedule_case(
    condition: Pred,
    ssa: &Arc<SsaFunction>,
    passes: &PassSelection,
    callees: InlineCallees<'_>,
) -> ScheduledCase {
    let (prepared, schedule, _) = schedule_with_fallback(ssa, passes, callees, LoopForm::Kernels);
    let mut loops = BTreeMap::new();
    for (var, stmt) in (0..).map(StmtId).zip(&prepared.ssa.stmts) {
        if let Rhs::Loop(of) = &stmt.rhs {
            loops.insert(var, ensure_sufficient_stack(|| schedule_cases(&of.body, passes, callees)));
        }
    }
    ScheduledCase { size_condition: condition, prepared, schedule, loops }
}

/// Returns whether no storage has an axis over the iterations of a `while` loop.
fn has_no_while_storage(steps: &Schedule) -> bool {
    steps.steps.iter().all(|step| match step {
        Step::Kernel(kernel, _) => !kernel.storage.iter().any(|place| place.axes.iter().flatten().any(is_while_extent)),
        Step::Statement(_) | Step::Checks(_) => true,
    })
}

/// Returns the loops with deferred checks that are separate steps.
fn deferred_loops_as_steps(prepared: &Prepared, all: &Schedule) -> Vec<StmtId> {
    let is_step = |of: &&StmtId| all.steps.iter().any(|step| matches!(step, Step::Statement(var) if var == *of));
    prepared.deferred_loops.iter().filter(is_step).copied().collect()
}

/// The forms that loops may take. All but the last are valid in kernels only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LoopForm {
    /// Kernels, or statements of kernels.
    Kernels,
    /// Statements of kernels.
    Flattened,
    /// Separate steps.
    Steps,
}

/// Schedules a function after these passes, with loops in forms up to `most`. Returns the prepared
/// function, its steps, and the form of its loops.
///
/// If an attempt leaves no valid order, it is repeated with fewer kinds of loops as statements.
#[must_use]
pub fn schedule_with_fallback(
    ssa: &Arc<SsaFunction>,
    passes: &PassSelection,
    callees: InlineCallees<'_>,
    most: LoopForm,
) -> (Prepared, Schedule, LoopForm) {
    let optimised = optimise(ssa, passes, callees);
    let mut next = (most < LoopForm::Steps).then_some(FlattenPolicy::DeferredChecks(Vec::new()));
    while let Some(repeated) = next.take() {
        let mut first = prepare(&optimised, &repeated, callees);
        let mut steps = schedule(&first);
        let is_endless = first.flattened_loops.iter().any(|repeat| repeat.while_condition.is_some());
        if !(first.flattened_loops.is_empty() || steps.is_complete && (!is_endless || has_no_while_storage(&steps))) {
            next = match repeated {
                FlattenPolicy::DeferredChecks(_) if !first.deferred_loops.is_empty() => Some(FlattenPolicy::WhileLoops),
                FlattenPolicy::DeferredChecks(_) | FlattenPolicy::WhileLoops if is_endless => {
                    Some(FlattenPolicy::Counted)
                }
                _ => None,
            };
            continue;
        }
        let mut are = if first.flattened_loops.is_empty() { LoopForm::Steps } else { LoopForm::Flattened };
        let bodies = |body: &Arc<SsaFunction>| {
            let (prepared, steps, _) = ensure_sufficient_stack(|| schedule_with_fallback(body, passes, callees, most));
            (prepared.ssa, steps)
        };
        if most == LoopForm::Kernels
            && let Some((ssa, with, statements)) = in_place_loops::loops_to_kernels(&first.ssa, &steps, &bodies)
        {
            first.loop_body_ranges.extend(statements);
            (first.ssa, steps, are) = (Arc::new(ssa), with, LoopForm::Kernels);
        }
        match (deferred_loops_as_steps(&first, &steps), repeated) {
            (left, FlattenPolicy::DeferredChecks(known)) if !left.is_empty() => {
                next = Some(FlattenPolicy::DeferredChecks(known.into_iter().chain(left).collect()));
            }
            _ => return (first, steps, are),
        }
    }
    let prepared = prepare(&optimised, &FlattenPolicy::Never, callees);
    let steps = schedule(&prepared);
    (prepared, steps, LoopForm::Steps)
}
