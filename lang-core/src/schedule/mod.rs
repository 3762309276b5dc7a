//! Tensor SSA as steps: kernels, which are loop nests that a backend makes code of, and single statements, which the
//! engine runs.
//!
//! Statements that run over the same index become one loop where each reads what the others set at that index alone
//! ([`group`]); inside, the same again. An element that nothing reads outside its loop has no memory ([`places`]). What
//! predicates say of an index is its range ([`narrow`]).

mod again;
mod apart;
mod group;
mod items;
pub mod kernel;
mod narrow;
mod places;
mod terms;
mod text;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::ir::ssa::{Rhs, Ssa, Var};
use again::Again;
use group::Builder;
use items::{Item, Items};
pub use kernel::{Join, Kernel, Loop, Node, Place, Role, Set, loop_number};
pub use text::Shown;

/// A function as steps, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// What is done, one after the other.
    pub steps: Vec<Step>,
}

/// A step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A statement.
    Statement(Var),
    /// Loops, after these checks.
    Kernel(Arc<Kernel>, Vec<u32>),
}

/// The function as it is scheduled: without questions that need not be asked, and with what data tell done once
/// ([`apart`]). Its statements are called the same; new ones come behind them, and may be read by those before.
#[must_use]
pub fn prepared(ssa: Arc<Ssa>) -> Arc<Ssa> {
    let ssa = terms::unasked(&ssa).map_or(ssa, Arc::new);
    apart::apart(&ssa).map_or(ssa, Arc::new)
}

/// The steps of a function that is prepared.
#[must_use]
pub fn schedule(ssa: &Ssa) -> Schedule {
    let items = Items::new(ssa);
    let mut steps = Vec::new();
    let mut rest: Vec<Item> = items.all(ssa);
    let again = Again::new(ssa, &items.kept(ssa), &mut rest);
    let making = Making { ssa, items: &items, again: &again };
    // What is a number is done in the loops that come next.
    let mut numbers: Vec<Item> = Vec::new();
    while let Some(first) = rest.first() {
        if !first.in_kernel || first.asks.iter().any(|v| numbers.iter().any(|n| n.var == *v)) {
            making.close(&mut numbers, &rest, &mut steps);
        }
        if !first.in_kernel {
            steps.push(Step::Statement(first.var));
            rest.remove(0);
            continue;
        }
        if first.open().next().is_none() {
            numbers.push(rest.remove(0));
            continue;
        }
        let builder = Builder::new();
        let held: HashSet<Var> = numbers.iter().map(|n| n.var).collect();
        let (group, left) = builder.best(&rest, &held);
        rest = left;
        let members: Vec<Item> = std::mem::take(&mut numbers).into_iter().chain(group).collect();
        steps.push(making.kernel(members, &rest));
    }
    making.close(&mut numbers, &rest, &mut steps);
    Schedule { steps }
}

/// What kernels are made of.
struct Making<'m> {
    ssa: &'m Ssa,
    items: &'m Items,
    again: &'m Again,
}

impl Making<'_> {
    /// The kernel of the numbers that wait.
    fn close(&self, numbers: &mut Vec<Item>, rest: &[Item], steps: &mut Vec<Step>) {
        if !numbers.is_empty() {
            steps.push(self.kernel(std::mem::take(numbers), rest));
        }
    }

    /// The kernel of these items, of which others come later.
    fn kernel(&self, members: Vec<Item>, later: &[Item]) -> Step {
        let ssa = self.ssa;
        // Checks are asked in the order of the statements.
        let mut by_statement: Vec<&Item> = members.iter().collect();
        by_statement.sort_by_key(|m| m.var);
        let mut needs: Vec<u32> = Vec::new();
        for check in by_statement.iter().flat_map(|m| &m.needs) {
            if !needs.contains(check) {
                needs.push(*check);
            }
        }
        let mut read_later: HashSet<Var> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        read_later.extend(&self.items.asked_last);
        for item in later {
            read_later.extend(item.reads.iter().map(|r| r.var).chain(item.asks.iter().copied()));
        }
        let mut body = Builder::new().nodes(ssa, members);
        let places = self.places(&body, &read_later);
        narrow::narrow(&mut body, &places);
        self.again.put(ssa, &mut body);
        let mut places = self.places(&body, &read_later);
        places::wholes(&body, &mut places);
        let integers = places::integers(&body, &mut places);
        let sets = sets(&body);
        Step::Kernel(Arc::new(Kernel { places, integers, body, sets }), needs)
    }

    fn places(&self, body: &[Node], read_later: &HashSet<Var>) -> Vec<Place> {
        places::places(self.ssa, body, &sets(body), read_later, &|var| self.again.has(var))
    }
}

/// What is set, in the order of the statements.
fn sets(body: &[Node]) -> Vec<Var> {
    let mut all = BTreeSet::new();
    body.iter().for_each(|node| node.for_each_set(&mut |set| all.extend([set.var])));
    all.into_iter().collect()
}

/// Is it nothing but a constant or an index expression, so that it is written where it is read?
#[must_use]
pub fn is_trivial(rhs: &Rhs) -> bool {
    matches!(rhs, Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_))
}
