//! Tensor SSA as steps: kernels, which are loop nests that a backend makes code of, and single statements, which the
//! engine runs.
//!
//! Statements that run over the same index become one loop where each reads what the others set at that index alone
//! ([`group`]); inside, the same again. An element that nothing reads outside its loop has no memory ([`places`]). What
//! predicates say of an index is its range ([`narrow`]), and where their answers change a loop is cut ([`split`]); one that
//! runs once is none ([`once`]). What a loop carries is set in place where it can be ([`in_place`]). Loops of an iteration that follow one another go over the same
//! elements while these are in the cache ([`strips`]). Loops that change arrays are kernels in the end ([`regions`]).

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

use crate::ir::region;
use crate::ir::ssa::{Access, Rhs, Ssa, Var};
use again::Again;
use group::Builder;
use items::{Item, Items};
pub use kernel::{ENDLESS, Join, Kernel, Loop, Node, Place, Product, Role, Set, loop_number};
pub use points::Callees;
use repeat::Repeat;
pub use text::Shown;
pub use whole::{Loops, Scheduled, in_order, scheduled};

/// A function as steps, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// What is done, one after the other.
    pub steps: Vec<Step>,
    /// Is that everything? Loops that became statements may find no order.
    pub is_whole: bool,
    /// What loops that are kernels carry, and what each begins with.
    carried: Vec<(Var, Access)>,
}

/// A step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A statement.
    Statement(Var),
    /// Loops, after these checks.
    Kernel(Arc<Kernel>, Vec<u32>),
    /// What is asked of what is there by now.
    Checks(Vec<u32>),
}

/// The statements that stand for the bodies of loops, each time with the first part of the loop.
type OfLoops = Vec<(Range<u32>, Var)>;

/// Which loops become statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Repeated {
    /// None.
    No,
    /// Those whose length is known.
    Counted,
    /// Those that data end, too.
    Endless,
    /// Those that ask something of what they compute, too ([`watched`]), but for these.
    Watched(Vec<Arc<region::Loop>>),
}

/// A function as it is scheduled. New statements may be read by those before.
pub struct Prepared {
    /// Its statements.
    pub ssa: Arc<Ssa>,
    /// For the first of them those of the function that they stand for.
    made_of: Vec<Var>,
    /// Those that are done apart from what reads them.
    apart: Range<u32>,
    /// Those that are products of matrices.
    products: HashMap<Var, products::Product>,
    /// Loops that became statements.
    repeats: Vec<Repeat>,
    /// Statements that stand for the bodies of loops.
    bodies: OfLoops,
    /// Loops that have a meaning as kernels alone.
    watched: Vec<watched::Pair>,
}

impl Prepared {
    /// The statement of the function that one stands for; for one of a loop's body the loop.
    #[must_use]
    pub fn made_of(&self, var: Var) -> Option<Var> {
        self.made_of.get(self.body_of(var).unwrap_or(var).0 as usize).copied()
    }

    /// The first part of the loop in whose body a statement was, where the loop is gone.
    fn body_of(&self, var: Var) -> Option<Var> {
        self.bodies.iter().find(|(statements, _)| statements.contains(&var.0)).map(|(_, part)| *part)
    }

    /// The loop that a statement is of.
    fn repeat_of(&self, var: Var) -> Option<(usize, &Repeat)> {
        self.repeats.iter().enumerate().find(|(_, repeat)| repeat.axis.contains_key(&var))
    }
}

/// The function without questions that need not be asked ([`terms`]) and axes that are not needed ([`fewer`]), with existentials counted
/// ([`existentials`]), sums
/// taken where they are least ([`sums`]), the greatest read at its place ([`extremes`]), what data tell done once ([`apart`]), and what products of matrices need
/// ([`products`]). What is called at many points stands there ([`points`]), the elements of short axes are
/// numbers ([`short_axes`]), loops are given what is there ([`given`]), and become statements, if that is `repeated`
/// ([`repeat`], [`watched`]).
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

/// The steps of a function.
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

/// Is it nothing but a constant or an index expression, so that it is written where it is read?
#[must_use]
pub fn is_trivial(rhs: &Rhs) -> bool {
    matches!(rhs, Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_))
}
