//! **Strip mining across loops.** Successive loops over the same elements in one iteration traverse
//! the same arrays. Each loop misses the cache, because its predecessor has evicted the first
//! elements. The pass interleaves the loops by strips: all loops process some hundred elements,
//! then the next ones.
//!
//! A loop must follow its predecessor at a distance if it reads elements further on that the
//! predecessor sets. The same holds if it sets elements that the predecessor still reads. This
//! distance in elements is its delay.
//!
//! ```text
//! for j in 1..n: B[j] = A[j - 1]          for strip < (n + 256) // 256:
//! for j < n:     A[j] = B[j]                for j in max(1, 256 * strip)..min(n, 256 * strip + 256): B[j] = A[j - 1]
//!                                           for j in max(0, 256 * strip - 1)..min(n, 256 * strip + 255): A[j] = B[j]
//! ```

use std::collections::{HashMap, HashSet};

use super::loop_nest::{FIRST_LOOP_LOCAL, KernelStorage, NestLoop, NestNode, StorageRole, loop_number};
use super::use_def::{AccessVisitor, NestAccess};
use lang_ir::ssa::{SsaFunction, StmtId};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly};

/// The number of elements in a strip. Sixteen arrays of this length fill the smallest cache.
const STRIP_LENGTH: i64 = 256;

/// The maximum delay of a loop.
const MAX_DELAY: i64 = STRIP_LENGTH / 2;

/// Strip-mines the successive loops in each iteration of the ordered loops.
pub(super) fn strip_mine_loops(ssa: &SsaFunction, body: &mut [NestNode], places: &[KernelStorage]) {
    let mut next = 0;
    body.iter().for_each(|node| raise_next_loop(node, &mut next));
    let mut pass = StripMining { ssa, storage: places, next_loop: next };
    body.iter_mut().for_each(|node| pass.visit_node(node));
}

/// Raises `next` above the numbers of all loops in the node.
fn raise_next_loop(node: &NestNode, next: &mut usize) {
    let mut see = |index: &Index| *next = (*next).max(loop_number(index.local).map_or(0, |k| k + 1));
    match node {
        NestNode::Loop(NestLoop { index, body, .. }) | NestNode::Let { index, body, .. } => {
            see(index);
            body.iter().for_each(|node| raise_next_loop(node, next));
        }
        NestNode::If(_, body) => body.iter().for_each(|node| raise_next_loop(node, next)),
        NestNode::MatrixProduct(of) => {
            of.indices.iter().for_each(see);
            of.fallback_loops.iter().for_each(|node| raise_next_loop(node, next));
        }
        NestNode::Fill(..) | NestNode::Assign(_) => {}
    }
}

struct StripMining<'p> {
    ssa: &'p SsaFunction,
    storage: &'p [KernelStorage],
    /// The number of the next loop.
    next_loop: usize,
}

/// A loop over elements, with its delay and its accesses.
struct StripStage {
    nest_loop: NestLoop,
    delay: i64,
    accesses: Vec<StageAccess>,
}

/// An access to an element in each iteration of a loop.
#[derive(PartialEq)]
struct StageAccess {
    var: StmtId,
    is_write: bool,
    /// The position of the element, if the loop's index determines it.
    position: Option<StridedPosition>,
}

/// The position of an element: the loop's index plus an offset on one axis, and invariant indices
/// on the others.
#[derive(PartialEq)]
struct StridedPosition {
    axis: usize,
    offset: i64,
    other_subscripts: Vec<Poly>,
}

impl StripMining<'_> {
    fn visit_node(&mut self, node: &mut NestNode) {
        match node {
            NestNode::Loop(NestLoop { is_sequential: in_order, body, .. }) => {
                body.iter_mut().for_each(|node| self.visit_node(node));
                if *in_order {
                    self.strip_mine_iteration(body);
                }
            }
            NestNode::Let { body, .. } | NestNode::If(_, body) => {
                body.iter_mut().for_each(|node| self.visit_node(node))
            }
            NestNode::MatrixProduct(_) | NestNode::Fill(..) | NestNode::Assign(_) => {}
        }
    }

    /// Strip-mines the loops of an iteration, in runs of adjacent loops that qualify.
    fn strip_mine_iteration(&mut self, body: &mut Vec<NestNode>) {
        let mut stages: Vec<StripStage> = Vec::new();
        for node in std::mem::take(body) {
            match self.as_stage(node) {
                Ok(mut stage) => {
                    match required_delay(&stages, &stage) {
                        Some(delay) => stage.delay = delay,
                        None => self.flush_stages(&mut stages, body),
                    }
                    stages.push(stage);
                }
                Err(other) => {
                    self.flush_stages(&mut stages, body);
                    body.push(other);
                }
            }
        }
        self.flush_stages(&mut stages, body);
    }

    /// Converts a node to a stage, if it is a loop over elements.
    fn as_stage(&self, node: NestNode) -> Result<StripStage, NestNode> {
        let of = match node {
            NestNode::Loop(of) => of,
            other => return Err(other),
        };
        // A short loop fits in the cache anyway.
        let is_short = of.index.extent.as_constant().is_some_and(|n| n <= STRIP_LENGTH.into());
        let is_plain = |node: &NestNode| matches!(node, NestNode::Assign(set) if set.accumulate.is_none());
        if of.is_sequential || is_short || !of.body.iter().all(is_plain) {
            return Err(NestNode::Loop(of));
        }
        let mut seen: Vec<StageAccess> = Vec::new();
        let is_set = |var: StmtId| self.storage.iter().any(|p| p.var == var && p.role != StorageRole::Input);
        let mut see = |what: NestAccess<'_>, _: &[LocalId]| {
            let var = what.var();
            let (is_set, at) = match &what {
                NestAccess::Assign(set) => (true, strided_position(&set.at, &of.index)),
                NestAccess::Read(access) => (false, strided_position(&access.at, &of.index)),
                NestAccess::Fill(..) | NestAccess::MatrixProduct(_) => (true, None),
            };
            let element = StageAccess { var, is_write: is_set, position: at };
            let is_register = self.storage.iter().any(|p| p.var == var && p.is_register());
            if !is_register && !seen.contains(&element) {
                seen.push(element);
            }
        };
        let mut visit = AccessVisitor { ssa: self.ssa, is_assigned: &is_set, enclosing_loops: Vec::new() };
        visit.visit_loop_bounds(&of, &mut see);
        visit.visit_nodes(&of.body, &mut see);
        Ok(StripStage { nest_loop: of, delay: 0, accesses: seen })
    }

    /// Strip-mines the pending stages, if some of them share an array.
    fn flush_stages(&mut self, stages: &mut Vec<StripStage>, body: &mut Vec<NestNode>) {
        let stages = std::mem::take(stages);
        let mut sharing: HashMap<StmtId, HashSet<LocalId>> = HashMap::new();
        for stage in &stages {
            for element in stage.accesses.iter().filter(|element| element.position.is_some()) {
                sharing.entry(element.var).or_default().insert(stage.nest_loop.index.local);
            }
        }
        let Some(first) = stages.first().filter(|_| sharing.values().any(|by| by.len() > 1)) else {
            body.extend(stages.into_iter().map(|stage| NestNode::Loop(stage.nest_loop)));
            return;
        };
        let most = stages.iter().map(|stage| stage.delay).max().unwrap_or(0);
        let number = u32::try_from(self.next_loop).unwrap_or(u32::MAX);
        self.next_loop += 1;
        let all = first.nest_loop.index.extent.add_constant((most + STRIP_LENGTH - 1).into());
        let extent = Poly::atom(Atom::Div(all.into(), Poly::constant(STRIP_LENGTH.into()).into()));
        let index = Index { local: LocalId(FIRST_LOOP_LOCAL.saturating_add(number)), name: "strip".into(), extent };
        let start = index.value().scale(STRIP_LENGTH.into());
        let inside = stages.into_iter().map(|StripStage { nest_loop: mut of, delay, .. }| {
            of.lower_bounds.push(start.add_constant((-delay).into()));
            of.upper_bounds.push(start.add_constant((STRIP_LENGTH - delay).into()));
            NestNode::Loop(of)
        });
        let inside = inside.collect();
        body.push(NestNode::Loop(NestLoop::over_full_range(index, true, inside)));
    }
}

/// Returns the position of an element, if one axis is the loop's index plus a constant.
fn strided_position(indices: &[Poly], index: &Index) -> Option<StridedPosition> {
    let mut found = None;
    let mut beside = Vec::new();
    for (axis, p) in indices.iter().enumerate() {
        let mut depends = false;
        p.for_each_atom(&mut |a| depends |= *a == index.atom());
        if !depends {
            beside.push(p.clone());
            continue;
        }
        let (by, ahead) = p.linear_in(&index.atom())?;
        if by != 1 || found.is_some() {
            return None;
        }
        found = Some((axis, i64::try_from(ahead.as_constant()?).ok()?));
    }
    let (axis, ahead) = found?;
    Some(StridedPosition { axis, offset: ahead, other_subscripts: beside })
}

/// Returns the delay of a loop after its predecessors; `None` if it must wait for their end.
fn required_delay(before: &[StripStage], stage: &StripStage) -> Option<i64> {
    let mut delay = 0;
    for other in before {
        if other.nest_loop.index.extent != stage.nest_loop.index.extent {
            return None;
        }
        for first in &other.accesses {
            for then in stage.accesses.iter().filter(|then| then.var == first.var && (then.is_write || first.is_write))
            {
                let (first, then) = (first.position.as_ref()?, then.position.as_ref()?);
                match (first.axis == then.axis, first.other_subscripts == then.other_subscripts) {
                    // Iteration `j` of the loop comes after iteration
                    // `j + then.offset - first.offset` of the other.
                    (true, true) => delay = delay.max(other.delay.checked_add(then.offset.checked_sub(first.offset)?)?),
                    (true, false) if are_provably_distinct(&first.other_subscripts, &then.other_subscripts) => {}
                    _ => return None,
                }
            }
        }
    }
    (delay <= MAX_DELAY).then_some(delay)
}

/// Returns whether the indices differ by a nonzero constant on some axis.
fn are_provably_distinct(a: &[Poly], b: &[Poly]) -> bool {
    a.iter().zip(b).any(|(a, b)| a.sub(b).as_constant().is_some_and(|d| d != 0))
}
