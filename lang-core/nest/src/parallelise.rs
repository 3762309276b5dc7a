//! **Parallelisation.** Divides a kernel into parts for several threads. An outermost loop without
//! dependences between its iterations is a part, which runs in chunks of its range. The nodes
//! between such loops are parts too. If iterations accumulate into shared elements, each chunk has
//! its own copy, and the copies are joined in the order of the chunks.
//!
//! The parts run one after the other on the same memory. A scalar that one part sets and another
//! reads has memory here.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::assigned_vars;
use super::index_set_split::mentions;
use super::loop_nest::{Accumulation, Kernel, KernelStorage, NestLoop, NestNode, StorageRole};
use super::use_def::{AccessVisitor, NestAccess};
use lang_ir::core::ScalarOp;
use lang_ir::reduce::Reducer;
use lang_ir::ssa::{Rhs, SsaFunction, StmtId};
use lang_sizes::predicate::{Atom, LocalId, Poly};

/// The locals for the begin and the end of a chunk. They lie directly below the locals of arrays,
/// because no function has so many locals.
const CHUNK_BEGIN: u32 = (1 << 24) - 2;
const CHUNK_END: u32 = (1 << 24) - 1;

/// A part of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelPart {
    /// The kernel of the part. If it runs in chunks, its last two integers are the begin and the
    /// end of a chunk.
    pub kernel: Arc<Kernel>,
    /// The chunked loop, if it runs in chunks.
    pub chunked: Option<ChunkedLoop>,
    /// An estimate of its work.
    pub work: Vec<WorkTerm>,
}

/// A loop that runs in chunks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChunkedLoop {
    /// The extent; the range is 0 to the extent, restricted by the bounds below.
    pub extent: Poly,
    /// Lower bounds; iteration starts at their maximum.
    pub lower_bounds: Vec<Poly>,
    /// Exclusive upper bounds; iteration ends at their minimum.
    pub upper_bounds: Vec<Poly>,
    /// Whether its body contains loops.
    pub has_loops: bool,
    /// The variables with several copies.
    pub private_copies: Vec<(StmtId, PrivateCopy)>,
}

/// The kind of private copies of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrivateCopy {
    /// One copy for each chunk; the copies are joined by this operation.
    PerChunk(Accumulation),
    /// One copy for each thread: a temporary of an iteration.
    PerThread,
}

/// The variables with private copies, and the kind of the copies.
type PrivateCopies = Vec<(StmtId, PrivateCopy)>;

/// An amount of work: `weight` operations for each tuple of indices within the extents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkTerm {
    /// The number of operations.
    pub weight: u64,
    /// The extents of the enclosing loops.
    pub extents: Vec<Poly>,
}

/// Divides a kernel into parts; `None` if no loop of it can run in chunks.
#[must_use]
pub fn divide_kernel(ssa: &SsaFunction, kernel: &Kernel) -> Option<Vec<KernelPart>> {
    let mut cut: Vec<(Vec<NestNode>, Option<PrivateCopies>)> = Vec::new();
    for node in &kernel.body {
        let own = if let NestNode::Loop(of) = node { private_copies(ssa, kernel, of) } else { None };
        match (own, cut.last_mut()) {
            (None, Some((nodes, None))) => nodes.push(node.clone()),
            (own, _) => cut.push((vec![node.clone()], own)),
        }
    }
    cut.iter().any(|(_, own)| own.is_some()).then(|| {
        let seen: Vec<HashSet<StmtId>> = cut.iter().map(|(nodes, _)| accessed_vars(ssa, kernel, nodes)).collect();
        let of = |k: usize, (nodes, own): (Vec<NestNode>, Option<PrivateCopies>)| {
            let elsewhere = |v: StmtId| seen.iter().enumerate().any(|(other, seen)| other != k && seen.contains(&v));
            build_part(kernel, nodes, own, seen.get(k).unwrap_or(&HashSet::new()), &elsewhere)
        };
        cut.into_iter().enumerate().map(|(k, nodes)| of(k, nodes)).collect()
    })
}

/// Returns the variables that the nodes read or write.
fn accessed_vars(ssa: &SsaFunction, kernel: &Kernel, nodes: &[NestNode]) -> HashSet<StmtId> {
    let mut all = HashSet::new();
    let is_set = |v: StmtId| kernel.assigned.contains(&v);
    AccessVisitor { ssa, is_assigned: &is_set, enclosing_loops: Vec::new() }
        .visit_nodes(nodes, &mut |seen, _| all.extend([seen.var()]));
    all
}

fn build_part(
    kernel: &Kernel,
    mut body: Vec<NestNode>,
    own: Option<PrivateCopies>,
    seen: &HashSet<StmtId>,
    elsewhere: &dyn Fn(StmtId) -> bool,
) -> KernelPart {
    let mut written: HashSet<StmtId> = HashSet::new();
    body.iter().for_each(|node| collect_written_vars(node, &mut written));
    let joined = |v: StmtId| own.iter().flatten().any(|(of, own)| *of == v && matches!(own, PrivateCopy::PerChunk(_)));
    let places = kernel.storage.iter().filter(|p| seen.contains(&p.var)).map(|p| {
        // A variable without memory for some axis does not outlive the loop over that axis.
        let lasts = p.axes.iter().all(Option::is_some);
        let (role, is_whole) = match p.role {
            StorageRole::Input => (StorageRole::Input, p.is_fully_initialised),
            _ if !written.contains(&p.var) => (StorageRole::Input, p.is_fully_initialised),
            StorageRole::Output => (StorageRole::Output, p.is_fully_initialised),
            // The part initialises it before each use, like every temporary of a kernel.
            StorageRole::Temporary if joined(p.var) || lasts && elsewhere(p.var) => (StorageRole::Output, true),
            StorageRole::Temporary => (StorageRole::Temporary, p.is_fully_initialised),
        };
        KernelStorage { role, is_fully_initialised: is_whole, ..p.clone() }
    });
    let places: Vec<KernelStorage> = places.collect();
    let mut integers = kernel.entry_integers.clone();
    let work = body.iter().flat_map(|node| node_work(node, &mut Vec::new())).collect();
    let chunked = own.and_then(|own| {
        let [NestNode::Loop(of)] = body.as_mut_slice() else { return None };
        let has_loops = of.body.iter().any(|node| !matches!(node, NestNode::Assign(_) | NestNode::Fill(..)));
        let (from, to) = (of.lower_bounds.clone(), of.upper_bounds.clone());
        let [begin, end] =
            [("begin", CHUNK_BEGIN), ("end", CHUNK_END)].map(|(name, k)| Atom::Local(LocalId(k), name.into()));
        of.lower_bounds.push(Poly::atom(begin.clone()));
        of.upper_bounds.push(Poly::atom(end.clone()));
        integers.extend([begin, end]);
        Some(ChunkedLoop {
            extent: of.index.extent.clone(),
            lower_bounds: from,
            upper_bounds: to,
            has_loops,
            private_copies: own,
        })
    });
    let sets = assigned_vars(&body);
    KernelPart {
        kernel: Arc::new(Kernel { storage: places, entry_integers: integers, body, assigned: sets }),
        chunked,
        work,
    }
}

fn collect_written_vars(node: &NestNode, found: &mut HashSet<StmtId>) {
    match node {
        NestNode::Loop(NestLoop { body, .. }) | NestNode::Let { body, .. } | NestNode::If(_, body) => {
            body.iter().for_each(|node| collect_written_vars(node, found));
        }
        NestNode::MatrixProduct(of) => {
            found.insert(of.var);
            of.fallback_loops.iter().for_each(|node| collect_written_vars(node, found));
        }
        NestNode::Fill(var, ..) => drop(found.insert(*var)),
        NestNode::Assign(set) => drop(found.insert(set.var)),
    }
}

/// Estimates the work of nodes; empty if none of them is a loop, because only loops run in chunks.
#[must_use]
pub fn estimate_work(body: &[NestNode]) -> Vec<WorkTerm> {
    if !body.iter().any(|node| matches!(node, NestNode::Loop(_))) {
        return Vec::new();
    }
    body.iter().flat_map(|node| node_work(node, &mut Vec::new())).collect()
}

/// The assumed trip count of a `while` loop.
const ASSUMED_WHILE_TRIPS: i128 = 16;

/// Estimates the work of a node inside these loops.
fn node_work(node: &NestNode, around: &mut Vec<(LocalId, Poly)>) -> Vec<WorkTerm> {
    match node {
        NestNode::Loop(NestLoop { index, while_condition: goes_on, body, .. }) => {
            // An extent that depends on an outer index counts as the extent of that loop.
            let other = around.iter().rev().find(|(local, _)| mentions(&index.extent, *local));
            let extent = other.map_or(&index.extent, |(_, extent)| extent).clone();
            let extent = if goes_on.is_some() { Poly::constant(ASSUMED_WHILE_TRIPS) } else { extent };
            around.push((index.local, extent));
            let all = body.iter().flat_map(|node| node_work(node, around)).collect();
            around.pop();
            all
        }
        NestNode::Let { body, .. } | NestNode::If(_, body) => {
            body.iter().flat_map(|node| node_work(node, around)).collect()
        }
        NestNode::MatrixProduct(of) => of.fallback_loops.iter().flat_map(|node| node_work(node, around)).collect(),
        NestNode::Fill(..) => Vec::new(),
        NestNode::Assign(set) => {
            let weight = match &set.rhs {
                Rhs::Map { operation: ScalarOp::Scalar(_) | ScalarOp::Pow, .. } => 16,
                rhs => {
                    let mut count = 1;
                    rhs.for_each_access(&mut |_| count += 1);
                    count
                }
            };
            vec![WorkTerm { weight, extents: around.iter().map(|(_, extent)| extent.clone()).collect() }]
        }
    }
}

/// The accesses of a loop to a variable that it writes.
#[derive(Default)]
struct VarAccesses {
    /// The indices of all accesses; `None` means the whole axis.
    subscripts: Vec<Vec<Option<Poly>>>,
    accumulations: Vec<Option<Accumulation>>,
    is_read: bool,
    is_filled: bool,
}

/// Returns the private copies that the loop needs to run in chunks; `None` if it cannot.
pub(super) fn private_copies(ssa: &SsaFunction, kernel: &Kernel, of: &NestLoop) -> Option<PrivateCopies> {
    if of.is_sequential {
        return None;
    }
    let mut uses: BTreeMap<StmtId, VarAccesses> = BTreeMap::new();
    let is_set = |v: StmtId| kernel.assigned.contains(&v);
    let value = of.index.value();
    AccessVisitor { ssa, is_assigned: &is_set, enclosing_loops: Vec::new() }.visit_nodes(&of.body, &mut |seen, _| {
        let of = uses.entry(seen.var()).or_default();
        match seen {
            NestAccess::Read(access) => {
                of.is_read = true;
                of.subscripts.push(access.at.iter().cloned().map(Some).collect());
            }
            NestAccess::Assign(set) => {
                of.accumulations.push(set.accumulate);
                of.subscripts.push(set.at.iter().cloned().map(Some).collect());
            }
            NestAccess::Fill(_, at) => {
                of.is_filled = true;
                of.subscripts.push(at.to_vec());
            }
            // Its loops follow as nodes.
            NestAccess::MatrixProduct(_) => {}
        }
    });
    let mut own = Vec::new();
    for (var, of) in &uses {
        if of.accumulations.is_empty() && !of.is_filled {
            continue;
        }
        let place = kernel.storage.iter().find(|p| p.var == *var)?;
        let along = |k: usize| of.subscripts.iter().all(|at| matches!(at.get(k), Some(Some(p)) if *p == value));
        let mut axes = place.axes.iter().enumerate();
        if axes.any(|(k, n)| n.is_some() && along(k)) {
            continue;
        }
        let begins = of.is_filled || of.accumulations.contains(&None);
        let lasts = place.axes.iter().all(Option::is_some) && !place.is_register();
        if place.role == StorageRole::Temporary && begins && !lasts {
            if !place.is_register() {
                own.push((*var, PrivateCopy::PerThread));
            }
            continue;
        }
        let joined = of.accumulations.first().copied().flatten()?;
        let gives_place = matches!(joined, Accumulation::Reduce(Reducer::Argmax | Reducer::Argmin));
        let same = of.accumulations.iter().all(|join| *join == Some(joined));
        if !same || gives_place || of.is_read || begins || place.axes.iter().any(Option::is_none) {
            return None;
        }
        own.push((*var, PrivateCopy::PerChunk(joined)));
    }
    Some(own)
}
