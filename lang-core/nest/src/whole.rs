//! **Driver of the scheduler.** Schedules all that runs of a function: its cases by size, the steps
//! of each, and recursively the loop bodies that remain statements.

use std::sync::Arc;

use super::kernel::is_endless;
use super::{Callees, Prepared, Repeated, Schedule, Step, by_sizes, prepared, regions, schedule};
use lang_base::guarded;
use lang_ir::region::Loop;
use lang_ir::ssa::{Rhs, Ssa};
use lang_sizes::predicate::Pred;

/// A case of a function, with its steps.
pub struct Scheduled {
    /// The predicate over sizes that selects the case; true if there is only one.
    pub told: Pred,
    /// The prepared function.
    pub prepared: Prepared,
    /// Its steps.
    pub schedule: Schedule,
    /// The loops among the steps, each with the cases of its body.
    pub loops: Vec<(Arc<Loop>, Vec<Scheduled>)>,
}

impl Scheduled {
    /// Returns the number of a loop.
    #[must_use]
    pub fn number_of(&self, of: &Arc<Loop>) -> Option<usize> {
        self.loops.iter().position(|(other, _)| Arc::ptr_eq(other, of) || other == of)
    }
}

/// Schedules all cases of a function, the one for large sizes first.
#[must_use]
pub fn scheduled(ssa: &Arc<Ssa>, callees: Callees<'_>) -> Vec<Scheduled> {
    let cases = by_sizes::cases(ssa);
    if cases.is_empty() {
        return vec![one(Pred::truth(), ssa, callees)];
    }
    let holding = |(p, holds): &(Pred, bool)| if *holds { p.clone() } else { p.negated() };
    let cases = cases.into_iter().map(|(told, case)| (Pred::all(told.iter().map(holding)), Arc::new(case)));
    cases.map(|(told, case)| one(told, &case, callees)).collect()
}

fn one(told: Pred, ssa: &Arc<Ssa>, callees: Callees<'_>) -> Scheduled {
    let (prepared, schedule, _) = in_order(ssa, callees, Loops::Kernels);
    let mut made = Scheduled { told, prepared, schedule, loops: Vec::new() };
    let all = Arc::clone(&made.prepared.ssa);
    for stmt in &all.stmts {
        if let Rhs::Loop(of, _) = &stmt.rhs
            && made.number_of(of).is_none()
        {
            made.loops.push((Arc::clone(of), guarded(|| scheduled(&of.body, callees))));
        }
    }
    made
}

/// Does nothing have memory for each iteration of a loop that data end?
fn ends(steps: &Schedule) -> bool {
    steps.steps.iter().all(|step| match step {
        Step::Kernel(kernel, _) => !kernel.places.iter().any(|place| place.axes.iter().flatten().any(is_endless)),
        Step::Statement(_) | Step::Checks(_) => true,
    })
}

/// The watched loops that are steps, as they were.
fn steps_watched(prepared: &Prepared, all: &Schedule) -> Vec<Arc<Loop>> {
    let is_step = |of: &Arc<Loop>| {
        all.steps.iter().any(|step| {
            let Step::Statement(var) = step else { return false };
            let rhs = prepared.ssa.stmts.get(var.0 as usize).map(|stmt| &stmt.rhs);
            matches!(rhs, Some(Rhs::Loop(step, _)) if step == of)
        })
    };
    prepared.watched.iter().filter(|(_, made)| is_step(made)).map(|(of, _)| Arc::clone(of)).collect()
}

/// The forms that loops may take. All but the last are valid in kernels only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Loops {
    /// Kernels, or statements of kernels.
    Kernels,
    /// Statements of kernels.
    Shared,
    /// Separate steps.
    Steps,
}

/// Schedules a function, with loops in forms up to `most`. Returns the prepared function, its
/// steps, and the form of its loops.
///
/// If an attempt leaves no valid order, it is repeated with fewer kinds of loops as statements.
#[must_use]
pub fn in_order(ssa: &Arc<Ssa>, callees: Callees<'_>, most: Loops) -> (Prepared, Schedule, Loops) {
    let mut next = (most < Loops::Steps).then_some(Repeated::Watched(Vec::new()));
    while let Some(repeated) = next.take() {
        let mut first = prepared(Arc::clone(ssa), &repeated, callees);
        let mut steps = schedule(&first);
        let is_endless = first.repeats.iter().any(|repeat| repeat.goes_on.is_some());
        if !(first.repeats.is_empty() || steps.is_whole && (!is_endless || ends(&steps))) {
            next = match repeated {
                Repeated::Watched(_) if !first.watched.is_empty() => Some(Repeated::Endless),
                Repeated::Watched(_) | Repeated::Endless if is_endless => Some(Repeated::Counted),
                _ => None,
            };
            continue;
        }
        let mut are = if first.repeats.is_empty() { Loops::Steps } else { Loops::Shared };
        let bodies = |body: &Arc<Ssa>| {
            let (prepared, steps, _) = guarded(|| in_order(body, callees, most));
            (prepared.ssa, steps)
        };
        if most == Loops::Kernels
            && let Some((ssa, with, statements)) = regions::regions(&first.ssa, &steps, &bodies)
        {
            first.bodies.extend(statements);
            (first.ssa, steps, are) = (Arc::new(ssa), with, Loops::Kernels);
        }
        match (steps_watched(&first, &steps), repeated) {
            (left, Repeated::Watched(known)) if !left.is_empty() => {
                next = Some(Repeated::Watched(known.into_iter().chain(left).collect()));
            }
            _ => return (first, steps, are),
        }
    }
    let prepared = prepared(Arc::clone(ssa), &Repeated::No, callees);
    let steps = schedule(&prepared);
    (prepared, steps, Loops::Steps)
}
