//! **Parallelisation.** Divides a kernel into parts for several threads. An outermost loop without
//! dependences between its iterations is a part, which runs in chunks of its range. The nodes
//! between such loops are parts too. If iterations accumulate into shared elements, each chunk has
//! its own copy, and the copies are joined in the order of the chunks.
//!
//! The parts run one after the other on the same memory. A scalar that one part sets and another
//! reads has memory here.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::kernel::{Join, Kernel, Loop, Node, Place, Role};
use super::sets;
use super::split::mentions;
use super::visit::{Seen, Visit};
use lang_ir::core::Operation;
use lang_ir::reduce::Reducer;
use lang_ir::ssa::{Rhs, Ssa, Var};
use lang_sizes::predicate::{Atom, LocalId, Poly};

/// The first locals below those of arrays, which no function has so many of: where a chunk begins and ends.
const BEGIN: u32 = (1 << 24) - 2;
const END: u32 = (1 << 24) - 1;

/// A part of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The kernel of the part. If it runs in chunks, its last two integers are the begin and the
    /// end of a chunk.
    pub kernel: Arc<Kernel>,
    /// The chunked loop, if it runs in chunks.
    pub chunked: Option<Chunked>,
    /// An estimate of its work.
    pub work: Vec<Work>,
}

/// A loop that runs in chunks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chunked {
    /// The extent; the range is 0 to the extent, restricted by the bounds below.
    pub extent: Poly,
    /// Lower bounds; iteration starts at their maximum.
    pub from: Vec<Poly>,
    /// Exclusive upper bounds; iteration ends at their minimum.
    pub to: Vec<Poly>,
    /// Whether its body contains loops.
    pub has_loops: bool,
    /// The variables with several copies.
    pub own: Vec<(Var, Own)>,
}

/// The kind of private copies of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// One copy for each chunk; the copies are joined by this operation.
    Chunk(Join),
    /// One copy for each thread: a temporary of an iteration.
    Thread,
}

/// What is not one for all, by what it is.
type Owned = Vec<(Var, Own)>;

/// An amount of work: `weight` operations for each tuple of indices within the extents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// The number of operations.
    pub weight: u64,
    /// The extents of the enclosing loops.
    pub extents: Vec<Poly>,
}

/// Divides a kernel into parts; `None` if no loop of it can run in chunks.
#[must_use]
pub fn parts(ssa: &Ssa, kernel: &Kernel) -> Option<Vec<Part>> {
    let mut cut: Vec<(Vec<Node>, Option<Owned>)> = Vec::new();
    for node in &kernel.body {
        let own = if let Node::Loop(of) = node { own(ssa, kernel, of) } else { None };
        match (own, cut.last_mut()) {
            (None, Some((nodes, None))) => nodes.push(node.clone()),
            (own, _) => cut.push((vec![node.clone()], own)),
        }
    }
    cut.iter().any(|(_, own)| own.is_some()).then(|| {
        let seen: Vec<HashSet<Var>> = cut.iter().map(|(nodes, _)| seen(ssa, kernel, nodes)).collect();
        let of = |k: usize, (nodes, own): (Vec<Node>, Option<Owned>)| {
            let elsewhere = |v: Var| seen.iter().enumerate().any(|(other, seen)| other != k && seen.contains(&v));
            part(kernel, nodes, own, seen.get(k).unwrap_or(&HashSet::new()), &elsewhere)
        };
        cut.into_iter().enumerate().map(|(k, nodes)| of(k, nodes)).collect()
    })
}

/// All that nodes read and write.
fn seen(ssa: &Ssa, kernel: &Kernel, nodes: &[Node]) -> HashSet<Var> {
    let mut all = HashSet::new();
    let is_set = |v: Var| kernel.sets.contains(&v);
    Visit { ssa, is_set: &is_set, path: Vec::new() }.nodes(nodes, &mut |seen, _| all.extend([seen.var()]));
    all
}

fn part(
    kernel: &Kernel,
    mut body: Vec<Node>,
    own: Option<Owned>,
    seen: &HashSet<Var>,
    elsewhere: &dyn Fn(Var) -> bool,
) -> Part {
    let mut written: HashSet<Var> = HashSet::new();
    body.iter().for_each(|node| writes(node, &mut written));
    let joined = |v: Var| own.iter().flatten().any(|(of, own)| *of == v && matches!(own, Own::Chunk(_)));
    let places = kernel.places.iter().filter(|p| seen.contains(&p.var)).map(|p| {
        // What has no axis somewhere is gone when its loop is.
        let lasts = p.axes.iter().all(Option::is_some);
        let (role, is_whole) = match p.role {
            Role::Given => (Role::Given, p.is_whole),
            _ if !written.contains(&p.var) => (Role::Given, p.is_whole),
            Role::Made => (Role::Made, p.is_whole),
            // It is cleared wherever that is written, as what is within a kernel is.
            Role::Within if joined(p.var) || lasts && elsewhere(p.var) => (Role::Made, true),
            Role::Within => (Role::Within, p.is_whole),
        };
        Place { role, is_whole, ..p.clone() }
    });
    let places: Vec<Place> = places.collect();
    let mut integers = kernel.integers.clone();
    let work = body.iter().flat_map(|node| work(node, &mut Vec::new())).collect();
    let chunked = own.and_then(|own| {
        let [Node::Loop(of)] = body.as_mut_slice() else { return None };
        let has_loops = of.body.iter().any(|node| !matches!(node, Node::Set(_) | Node::Clear(..)));
        let (from, to) = (of.from.clone(), of.to.clone());
        let [begin, end] = [("begin", BEGIN), ("end", END)].map(|(name, k)| Atom::Local(LocalId(k), name.into()));
        of.from.push(Poly::atom(begin.clone()));
        of.to.push(Poly::atom(end.clone()));
        integers.extend([begin, end]);
        Some(Chunked { extent: of.index.extent.clone(), from, to, has_loops, own })
    });
    let sets = sets(&body);
    Part { kernel: Arc::new(Kernel { places, integers, body, sets }), chunked, work }
}

fn writes(node: &Node, found: &mut HashSet<Var>) {
    match node {
        Node::Loop(Loop { body, .. }) | Node::Told { body, .. } | Node::If(_, body) => {
            body.iter().for_each(|node| writes(node, found));
        }
        Node::Product(of) => {
            found.insert(of.var);
            of.body.iter().for_each(|node| writes(node, found));
        }
        Node::Clear(var, ..) => drop(found.insert(*var)),
        Node::Set(set) => drop(found.insert(set.var)),
    }
}

/// Estimates the work of nodes; empty if they contain no loops.
#[must_use]
pub fn work_of(body: &[Node]) -> Vec<Work> {
    if !body.iter().any(|node| matches!(node, Node::Loop(_))) {
        return Vec::new();
    }
    body.iter().flat_map(|node| work(node, &mut Vec::new())).collect()
}

/// A loop that data end is taken for as long as this.
const OFTEN: i128 = 16;

/// How much is done in a node within these loops, of which the extents are told.
fn work(node: &Node, around: &mut Vec<(LocalId, Poly)>) -> Vec<Work> {
    match node {
        Node::Loop(Loop { index, goes_on, body, .. }) => {
            // One that another loop's index tells is taken for as long as that.
            let other = around.iter().rev().find(|(local, _)| mentions(&index.extent, *local));
            let extent = other.map_or(&index.extent, |(_, extent)| extent).clone();
            let extent = if goes_on.is_some() { Poly::constant(OFTEN) } else { extent };
            around.push((index.local, extent));
            let all = body.iter().flat_map(|node| work(node, around)).collect();
            around.pop();
            all
        }
        Node::Told { body, .. } | Node::If(_, body) => body.iter().flat_map(|node| work(node, around)).collect(),
        Node::Product(of) => of.body.iter().flat_map(|node| work(node, around)).collect(),
        Node::Clear(..) => Vec::new(),
        Node::Set(set) => {
            let weight = match &set.rhs {
                Rhs::Map { operation: Operation::Scalar(_) | Operation::Pow, .. } => 16,
                rhs => {
                    let mut count = 1;
                    rhs.for_each_access(&mut |_| count += 1);
                    count
                }
            };
            vec![Work { weight, extents: around.iter().map(|(_, extent)| extent.clone()).collect() }]
        }
    }
}

/// What a loop does with a variable that it writes.
#[derive(Default)]
struct Use {
    /// Where it is set, cleared or read; none is where all along an axis is.
    at: Vec<Vec<Option<Poly>>>,
    joins: Vec<Option<Join>>,
    is_read: bool,
    is_cleared: bool,
}

/// Returns the private copies that the loop needs to run in chunks; `None` if it cannot.
pub(super) fn own(ssa: &Ssa, kernel: &Kernel, of: &Loop) -> Option<Owned> {
    if of.in_order {
        return None;
    }
    let mut uses: BTreeMap<Var, Use> = BTreeMap::new();
    let is_set = |v: Var| kernel.sets.contains(&v);
    let value = of.index.value();
    Visit { ssa, is_set: &is_set, path: Vec::new() }.nodes(&of.body, &mut |seen, _| {
        let of = uses.entry(seen.var()).or_default();
        match seen {
            Seen::Read(access) => {
                of.is_read = true;
                of.at.push(access.at.iter().cloned().map(Some).collect());
            }
            Seen::Set(set) => {
                of.joins.push(set.join);
                of.at.push(set.at.iter().cloned().map(Some).collect());
            }
            Seen::Clear(_, at) => {
                of.is_cleared = true;
                of.at.push(at.to_vec());
            }
            // The nodes in it say more.
            Seen::Product(_) => {}
        }
    });
    let mut own = Vec::new();
    for (var, of) in &uses {
        if of.joins.is_empty() && !of.is_cleared {
            continue;
        }
        let place = kernel.places.iter().find(|p| p.var == *var)?;
        let along = |k: usize| of.at.iter().all(|at| matches!(at.get(k), Some(Some(p)) if *p == value));
        let mut axes = place.axes.iter().enumerate();
        if axes.any(|(k, n)| n.is_some() && along(k)) {
            continue;
        }
        let begins = of.is_cleared || of.joins.contains(&None);
        let lasts = place.axes.iter().all(Option::is_some) && !place.is_register();
        if place.role == Role::Within && begins && !lasts {
            if !place.is_register() {
                own.push((*var, Own::Thread));
            }
            continue;
        }
        let joined = of.joins.first().copied().flatten()?;
        let gives_place = matches!(joined, Join::Reduce(Reducer::Argmax | Reducer::Argmin));
        let same = of.joins.iter().all(|join| *join == Some(joined));
        if !same || gives_place || of.is_read || begins || place.axes.iter().any(Option::is_none) {
            return None;
        }
        own.push((*var, Own::Chunk(joined)));
    }
    Some(own)
}
