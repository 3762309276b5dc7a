//! **Scheduling.** Turns Tensor SSA into steps: kernels, which are loop nests that a backend
//! compiles, and single statements, which the engine (`exec`) runs.
//!
//! [`prepared`] applies the optimisations of Tensor SSA, and [`schedule`] builds the loop nests.
//! [`in_order`] and [`scheduled`] drive both.
//!
//! Statements over the same index share a loop if each reads only elements that the others set at
//! that index; this repeats inside the loop ([`group`]). An element that nothing reads outside its
//! loop has no memory ([`places`]). Conditions on an index become loop bounds ([`narrow`]), and a
//! loop is split where their truth changes ([`split`]). A single-trip loop is replaced by its body
//! ([`once`]). Loop-carried arrays are updated in place if possible ([`in_place`]). Successive
//! loops over the same elements are strip-mined for the cache ([`strips`]). Finally, loops that
//! change arrays become kernels ([`regions`]).

#![forbid(unsafe_code)]

mod again;
mod apart;
pub mod by_sizes;
pub mod chunks;
mod existentials;
mod extremes;
mod fewer;
mod given;
mod group;
mod in_place;
mod inside;
mod items;
pub mod kernel;
mod narrow;
mod numbers;
mod once;
mod places;
mod points;
mod products;
mod regions;
mod repeat;
mod scatters;
mod short_axes;
mod split;
mod strips;
mod sums;
mod terms;
mod text;
mod times;
mod visit;
mod watched;
mod whole;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use again::Again;
use group::Builder;
use items::{Item, Items};
pub use kernel::{ENDLESS, Join, Kernel, Loop, Node, Place, Product, Role, Set, loop_number};
use lang_ir::region;
use lang_ir::ssa::{Access, Rhs, Ssa, Var};
pub use points::Callees;
use repeat::Repeat;
pub use text::Shown;
pub use whole::{Loops, Scheduled, in_order, scheduled};

/// The steps of a function, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// The steps.
    pub steps: Vec<Step>,
    /// Whether the steps are complete. Loops that became statements may have no valid order.
    pub is_whole: bool,
    /// The loop-carried variables of loops that are kernels, with their initial values.
    carried: Vec<(Var, Access)>,
}

/// A step of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A statement.
    Statement(Var),
    /// A kernel, which runs after these checks.
    Kernel(Arc<Kernel>, Vec<u32>),
    /// Checks of values that earlier steps compute.
    Checks(Vec<u32>),
}

/// The ranges of statements that replace the bodies of loops, each with the first part of its loop.
type OfLoops = Vec<(Range<u32>, Var)>;

/// The kinds of loops that become statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Repeated {
    /// None.
    No,
    /// Loops with a known trip count.
    Counted,
    /// Also `while` loops.
    Endless,
    /// Also loops with checks on values that they compute ([`watched`]), except the listed ones.
    Watched(Vec<Arc<region::Loop>>),
}

/// A function prepared for scheduling. Its new statements may be read by earlier ones.
pub struct Prepared {
    /// The statements.
    pub ssa: Arc<Ssa>,
    /// For each of the first statements, the original statement that it implements.
    made_of: Vec<Var>,
    /// The statements that [`apart`] adds; they are computed before their readers.
    apart: Range<u32>,
    /// The statements that are matrix products.
    products: HashMap<Var, products::Product>,
    /// The loops that became statements.
    repeats: Vec<Repeat>,
    /// The statements that replace the bodies of loops.
    bodies: OfLoops,
    /// The loops with deferred checks, which are valid as kernels only.
    watched: Vec<watched::Pair>,
}

impl Prepared {
    /// Returns the original statement that a statement implements. For a statement from the body of
    /// a loop, returns the loop.
    #[must_use]
    pub fn made_of(&self, var: Var) -> Option<Var> {
        self.made_of.get(self.body_of(var).unwrap_or(var).0 as usize).copied()
    }

    /// Returns the first part of the loop whose body contained the statement, if the loop was
    /// replaced.
    fn body_of(&self, var: Var) -> Option<Var> {
        self.bodies.iter().find(|(statements, _)| statements.contains(&var.0)).map(|(_, part)| *part)
    }

    /// Returns the flattened loop that contains the statement, and its number.
    fn repeat_of(&self, var: Var) -> Option<(usize, &Repeat)> {
        self.repeats.iter().enumerate().find(|(_, repeat)| repeat.axis.contains_key(&var))
    }
}

/// Optimises a function for scheduling. `repeated` selects the loops that become statements. The
/// passes are, in order:
///
/// - [`terms`] removes redundant guards, [`fewer`] unneeded axes.
/// - [`existentials`] counts existentials, and [`extremes`] reads extreme elements at their index.
/// - [`sums`] factors sums, and [`points`] inlines batched calls.
/// - [`short_axes`] scalarises short axes, and [`apart`] hoists gathers.
/// - [`given`] forwards views to loops, and [`products`] prepares matrix products.
/// - [`watched`] defers checks of loops, and [`repeat`] flattens loops.
#[must_use]
pub fn prepared(ssa: Arc<Ssa>, repeated: &Repeated, callees: Callees<'_>) -> Prepared {
    let ssa = terms::unasked(&ssa).map_or(ssa, Arc::new);
    let ssa = fewer::fewer(&ssa).map_or(ssa, Arc::new);
    let ssa = existentials::counted(&ssa).map_or(ssa, Arc::new);
    let ssa = extremes::extremes(&ssa).map_or(ssa, Arc::new);
    let ssa = sums::sums(&ssa).map_or(ssa, Arc::new);
    let (ssa, made_of) = match points::points(&ssa, callees) {
        // What is the same for all points is computed once.
        Some((made, made_of)) => (Arc::new(fewer::fewer(&made).unwrap_or(made)), made_of),
        None => {
            let own = (0..).map(Var).take(ssa.stmts.len()).collect();
            (ssa, own)
        }
    };
    let (ssa, made_of) = match short_axes::short_axes(&ssa) {
        Some((made, of)) => {
            let of = of.iter().map(|v| made_of.get(v.0 as usize).copied().unwrap_or(*v)).collect();
            (Arc::new(made), of)
        }
        None => (ssa, made_of),
    };
    let count = |ssa: &Ssa| u32::try_from(ssa.stmts.len()).unwrap_or(u32::MAX);
    let first = count(&ssa);
    let ssa = apart::apart(&ssa).map_or(ssa, Arc::new);
    let apart = first..count(&ssa);
    let ssa = given::given(&ssa).map_or(ssa, Arc::new);
    let (with, products) = products::products(&ssa);
    let ssa = with.map_or(ssa, Arc::new);
    let watched = if let Repeated::Watched(steps) = repeated { watched::watched(&ssa, steps) } else { None };
    let (ssa, watched) = watched.map_or((ssa, Vec::new()), |(made, watched)| (Arc::new(made), watched));
    let repeats = match repeated {
        Repeated::No => None,
        Repeated::Counted => repeat::repeats(&ssa, false),
        Repeated::Endless | Repeated::Watched(_) => repeat::repeats(&ssa, true),
    };
    let (ssa, repeats, bodies) = match repeats {
        Some((made, repeats, bodies)) => (Arc::new(made), repeats, bodies),
        None => (ssa, Vec::new(), Vec::new()),
    };
    Prepared { ssa, made_of, apart, products, repeats, bodies, watched }
}

/// Builds the steps of a prepared function.
#[must_use]
pub fn schedule(prepared: &Prepared) -> Schedule {
    let ssa = &*prepared.ssa;
    let items = Items::new(ssa);
    let mut steps = Vec::new();
    let mut rest: Vec<Item> = items.all(prepared);
    let again = Again::new(ssa, &items.kept(ssa), &mut rest);
    let making = Making { ssa, items: &items, again: &again, stuck: Cell::new(false) };
    // What is a number is done in the loops that come next.
    let mut numbers: Vec<Item> = Vec::new();
    loop {
        chosen_first(&mut rest);
        let Some(first) = rest.first() else { break };
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
        take_ready(&mut rest, &mut numbers);
        let builder = Builder::new(ssa);
        let held: HashSet<Var> = numbers.iter().map(|n| n.var).collect();
        let (mut group, mut left) = builder.best(&rest, &held);
        if group.is_empty() {
            rest = left;
            // It may be that it asks for what is held.
            if numbers.is_empty() {
                making.stuck.set(true);
                break;
            }
            making.close(&mut numbers, &rest, &mut steps);
            continue;
        }
        group.extend(numbers_of(&group, &held, &mut left));
        rest = left;
        let members: Vec<Item> = std::mem::take(&mut numbers).into_iter().chain(group).collect();
        steps.push(making.kernel(members, &rest));
    }
    making.close(&mut numbers, &rest, &mut steps);
    Schedule { steps, is_whole: !making.stuck.get(), carried: Vec::new() }
}

/// Brings what chooses one of all terms, which are there, to the front: its loop is its own, and between others it would
/// keep apart what share one.
fn chosen_first(rest: &mut [Item]) {
    let waiting: HashSet<Var> = rest.iter().map(|item| item.var).collect();
    let is_ready = |item: &Item| {
        item.in_kernel
            && item.chooses
            && item.free == 0
            && item.repeat.is_none()
            // Checks are asked in the order of the program.
            && item.needs.is_empty()
            && !item.reads.iter().any(|r| waiting.contains(&r.var))
            && !item.asks.iter().any(|v| waiting.contains(v))
    };
    if let Some(k) = rest.iter().position(is_ready) {
        rest.get_mut(..=k).into_iter().for_each(|first| first.rotate_right(1));
    }
}

/// Takes the numbers that are made of nothing that is still to be done: they are done before the loops.
fn take_ready(rest: &mut Vec<Item>, numbers: &mut Vec<Item>) {
    let mut open: HashSet<Var> = HashSet::new();
    for item in std::mem::take(rest) {
        let is_done = |v: &Var| !open.contains(v);
        let asks_none = |v: &Var| is_done(v) && !numbers.iter().any(|n| n.var == *v);
        let is_number = item.in_kernel && item.open().next().is_none();
        if is_number && item.reads.iter().all(|r| is_done(&r.var)) && item.asks.iter().all(asks_none) {
            numbers.push(item);
        } else {
            open.insert(item.var);
            rest.push(item);
        }
    }
}

/// Takes the numbers that are made of what a kernel makes, and of nothing that comes later: they are done behind its loops.
/// What is `held` is done in it too.
fn numbers_of(group: &[Item], held: &HashSet<Var>, left: &mut Vec<Item>) -> Vec<Item> {
    let mut made: HashSet<Var> = group.iter().map(|item| item.var).chain(held.iter().copied()).collect();
    let mut later = HashSet::new();
    let mut taken = Vec::new();
    for item in std::mem::take(left) {
        let of_kernel = item.reads.iter().any(|r| made.contains(&r.var));
        let known = !item.reads.iter().any(|r| later.contains(&r.var))
            && !item.asks.iter().any(|v| later.contains(v) || made.contains(v));
        if item.in_kernel && item.open().next().is_none() && of_kernel && known {
            made.insert(item.var);
            taken.push(item);
        } else {
            later.insert(item.var);
            left.push(item);
        }
    }
    taken
}

/// What kernels are made of.
struct Making<'m> {
    ssa: &'m Ssa,
    items: &'m Items,
    again: &'m Again,
    /// Was there a statement without a loop?
    stuck: Cell<bool>,
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
        let of_state = |m: &Item| m.state.as_ref().map(|s| (m.var, s.copy.0, s.copy.1));
        let states: Vec<in_place::Copied> = members.iter().filter_map(of_state).collect();
        let mut builder = Builder::new(ssa);
        let mut body = builder.nodes(ssa, members);
        self.stuck.set(self.stuck.get() || builder.stuck);
        in_place::in_place(ssa, &mut body, &states, &read_later);
        let places = self.places(&body, &read_later);
        let states: HashSet<Var> = states.into_iter().map(|(state, ..)| state).collect();
        narrow::narrow(&mut body, &places, &states);
        self.again.put(ssa, &mut body);
        let mut places = self.places(&body, &read_later);
        places::wholes(&body, &mut places);
        split::split(ssa, &mut body);
        once::once(&mut body);
        strips::strips(ssa, &mut body, &places);
        let integers = places::integers(ssa, &body, &mut places);
        let sets = sets(&body);
        Step::Kernel(Arc::new(Kernel { places, integers, body, sets }), needs)
    }

    fn places(&self, body: &[Node], read_later: &HashSet<Var>) -> Vec<Place> {
        places::places(self.ssa, body, &sets(body), read_later, &|var| self.again.has(var))
    }
}

/// What is set, each behind what it is made of.
fn sets(body: &[Node]) -> Vec<Var> {
    let mut all = Vec::new();
    let mut known = HashSet::new();
    body.iter().for_each(|node| node.for_each_set(&mut |set| all.extend(known.insert(set.var).then_some(set.var))));
    all
}

/// Returns whether a right-hand side is only a constant or an index expression. It is then inlined
/// at its uses.
#[must_use]
pub fn is_trivial(rhs: &Rhs) -> bool {
    matches!(rhs, Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_))
}
