//! **Strip mining across loops.** Successive loops over the same elements in one iteration each
//! traverse arrays that the previous loop has just evicted from the cache. The pass interleaves
//! them by strips: all loops process some hundred elements, then the next ones.
//!
//! A loop must lag behind a predecessor that sets elements further on, or that still has to read
//! elements which the loop sets. The lag in elements is its delay.
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

/// So many elements are done at once: sixteen arrays of them are as large as the smallest cache.
const STRIP_LENGTH: i64 = 256;

/// Loops stay no further behind one another.
const MAX_DELAY: i64 = STRIP_LENGTH / 2;

/// Strip-mines the successive loops in each iteration of the ordered loops.
pub(super) fn strip_mine_loops(ssa: &SsaFunction, body: &mut [NestNode], places: &[KernelStorage]) {
    let mut next = 0;
    body.iter().for_each(|node| raise_next_loop(node, &mut next));
    let mut pass = StripMining { ssa, storage: places, next_loop: next };
    body.iter_mut().for_each(|node| pass.visit_node(node));
}

/// The number of the first loop that there is not.
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

/// A loop of elements, how far it stays behind, and what it sets and reads.
struct StripStage {
    nest_loop: NestLoop,
    delay: i64,
    accesses: Vec<StageAccess>,
}

/// An element that is set or read in each iteration of a loop.
#[derive(PartialEq)]
struct StageAccess {
    var: StmtId,
    is_write: bool,
    /// Where it is, if that is told by the loop's index.
    position: Option<StridedPosition>,
}

/// The index of a loop and something at one axis, and what does not depend on it at the others.
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

    /// Puts the loops of an iteration in strips, as many as follow one another and can be.
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

    /// A node as a loop of elements, if it is one.
    fn as_stage(&self, node: NestNode) -> Result<StripStage, NestNode> {
        let of = match node {
            NestNode::Loop(of) => of,
            other => return Err(other),
        };
        // What is short is in the cache as it is.
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

    /// Puts loops in strips, if they share what they see.
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

/// Where an element is, if the loop's index tells.
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

/// How far a loop has to stay behind those before it; `None` if it has to wait until they are done.
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
                    // Iteration `j` of the loop comes after iteration `j + then.ahead - first.ahead` of the other.
                    (true, true) => delay = delay.max(other.delay.checked_add(then.offset.checked_sub(first.offset)?)?),
                    (true, false) if are_provably_distinct(&first.other_subscripts, &then.other_subscripts) => {}
                    _ => return None,
                }
            }
        }
    }
    (delay <= MAX_DELAY).then_some(delay)
}

/// Do they differ, whatever they are made of?
fn are_provably_distinct(a: &[Poly], b: &[Poly]) -> bool {
    a.iter().zip(b).any(|(a, b)| a.sub(b).as_constant().is_some_and(|d| d != 0))
}
