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

use super::kernel::{FIRST_LOOP, Loop, Node, Place, Role, loop_number};
use super::visit::{Seen, Visit};
use lang_ir::ssa::{Ssa, Var};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly};

/// So many elements are done at once: sixteen arrays of them are as large as the smallest cache.
const STRIP: i64 = 256;

/// Loops stay no further behind one another.
const MOST_DELAY: i64 = STRIP / 2;

/// Strip-mines the successive loops in each iteration of the ordered loops.
pub(super) fn strips(ssa: &Ssa, body: &mut [Node], places: &[Place]) {
    let mut next = 0;
    body.iter().for_each(|node| see_loops(node, &mut next));
    let mut pass = Pass { ssa, places, next };
    body.iter_mut().for_each(|node| pass.node(node));
}

/// The number of the first loop that there is not.
fn see_loops(node: &Node, next: &mut usize) {
    let mut see = |index: &Index| *next = (*next).max(loop_number(index.local).map_or(0, |k| k + 1));
    match node {
        Node::Loop(Loop { index, body, .. }) | Node::Told { index, body, .. } => {
            see(index);
            body.iter().for_each(|node| see_loops(node, next));
        }
        Node::If(_, body) => body.iter().for_each(|node| see_loops(node, next)),
        Node::Product(of) => {
            of.along.iter().for_each(see);
            of.body.iter().for_each(|node| see_loops(node, next));
        }
        Node::Clear(..) | Node::Set(_) => {}
    }
}

struct Pass<'p> {
    ssa: &'p Ssa,
    places: &'p [Place],
    /// The number of the next loop.
    next: usize,
}

/// A loop of elements, how far it stays behind, and what it sets and reads.
struct Stage {
    of: Loop,
    delay: i64,
    seen: Vec<Element>,
}

/// An element that is set or read in each iteration of a loop.
#[derive(PartialEq)]
struct Element {
    var: Var,
    is_set: bool,
    /// Where it is, if that is told by the loop's index.
    at: Option<At>,
}

/// The index of a loop and something at one axis, and what does not depend on it at the others.
#[derive(PartialEq)]
struct At {
    axis: usize,
    ahead: i64,
    beside: Vec<Poly>,
}

impl Pass<'_> {
    fn node(&mut self, node: &mut Node) {
        match node {
            Node::Loop(Loop { in_order, body, .. }) => {
                body.iter_mut().for_each(|node| self.node(node));
                if *in_order {
                    self.iteration(body);
                }
            }
            Node::Told { body, .. } | Node::If(_, body) => body.iter_mut().for_each(|node| self.node(node)),
            Node::Product(_) | Node::Clear(..) | Node::Set(_) => {}
        }
    }

    /// Puts the loops of an iteration in strips, as many as follow one another and can be.
    fn iteration(&mut self, body: &mut Vec<Node>) {
        let mut stages: Vec<Stage> = Vec::new();
        for node in std::mem::take(body) {
            match self.stage(node) {
                Ok(mut stage) => {
                    match delay(&stages, &stage) {
                        Some(delay) => stage.delay = delay,
                        None => self.close(&mut stages, body),
                    }
                    stages.push(stage);
                }
                Err(other) => {
                    self.close(&mut stages, body);
                    body.push(other);
                }
            }
        }
        self.close(&mut stages, body);
    }

    /// A node as a loop of elements, if it is one.
    fn stage(&self, node: Node) -> Result<Stage, Node> {
        let of = match node {
            Node::Loop(of) => of,
            other => return Err(other),
        };
        // What is short is in the cache as it is.
        let is_short = of.index.extent.as_constant().is_some_and(|n| n <= STRIP.into());
        let is_plain = |node: &Node| matches!(node, Node::Set(set) if set.join.is_none());
        if of.in_order || is_short || !of.body.iter().all(is_plain) {
            return Err(Node::Loop(of));
        }
        let mut seen: Vec<Element> = Vec::new();
        let is_set = |var: Var| self.places.iter().any(|p| p.var == var && p.role != Role::Given);
        let mut see = |what: Seen<'_>, _: &[LocalId]| {
            let var = what.var();
            let (is_set, at) = match &what {
                Seen::Set(set) => (true, at(&set.at, &of.index)),
                Seen::Read(access) => (false, at(&access.at, &of.index)),
                Seen::Clear(..) | Seen::Product(_) => (true, None),
            };
            let element = Element { var, is_set, at };
            let is_register = self.places.iter().any(|p| p.var == var && p.is_register());
            if !is_register && !seen.contains(&element) {
                seen.push(element);
            }
        };
        let mut visit = Visit { ssa: self.ssa, is_set: &is_set, path: Vec::new() };
        visit.range(&of, &mut see);
        visit.nodes(&of.body, &mut see);
        Ok(Stage { of, delay: 0, seen })
    }

    /// Puts loops in strips, if they share what they see.
    fn close(&mut self, stages: &mut Vec<Stage>, body: &mut Vec<Node>) {
        let stages = std::mem::take(stages);
        let mut sharing: HashMap<Var, HashSet<LocalId>> = HashMap::new();
        for stage in &stages {
            for element in stage.seen.iter().filter(|element| element.at.is_some()) {
                sharing.entry(element.var).or_default().insert(stage.of.index.local);
            }
        }
        let Some(first) = stages.first().filter(|_| sharing.values().any(|by| by.len() > 1)) else {
            body.extend(stages.into_iter().map(|stage| Node::Loop(stage.of)));
            return;
        };
        let most = stages.iter().map(|stage| stage.delay).max().unwrap_or(0);
        let number = u32::try_from(self.next).unwrap_or(u32::MAX);
        self.next += 1;
        let all = first.of.index.extent.plus((most + STRIP - 1).into());
        let extent = Poly::atom(Atom::Div(all.into(), Poly::constant(STRIP.into()).into()));
        let index = Index { local: LocalId(FIRST_LOOP.saturating_add(number)), name: "strip".into(), extent };
        let start = index.value().scale(STRIP.into());
        let inside = stages.into_iter().map(|Stage { mut of, delay, .. }| {
            of.from.push(start.plus((-delay).into()));
            of.to.push(start.plus((STRIP - delay).into()));
            Node::Loop(of)
        });
        let inside = inside.collect();
        body.push(Node::Loop(Loop::over(index, true, inside)));
    }
}

/// Where an element is, if the loop's index tells.
fn at(indices: &[Poly], index: &Index) -> Option<At> {
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
    Some(At { axis, ahead, beside })
}

/// How far a loop has to stay behind those before it; `None` if it has to wait until they are done.
fn delay(before: &[Stage], stage: &Stage) -> Option<i64> {
    let mut delay = 0;
    for other in before {
        if other.of.index.extent != stage.of.index.extent {
            return None;
        }
        for first in &other.seen {
            for then in stage.seen.iter().filter(|then| then.var == first.var && (then.is_set || first.is_set)) {
                let (first, then) = (first.at.as_ref()?, then.at.as_ref()?);
                match (first.axis == then.axis, first.beside == then.beside) {
                    // Iteration `j` of the loop comes after iteration `j + then.ahead - first.ahead` of the other.
                    (true, true) => delay = delay.max(other.delay.checked_add(then.ahead.checked_sub(first.ahead)?)?),
                    (true, false) if are_apart(&first.beside, &then.beside) => {}
                    _ => return None,
                }
            }
        }
    }
    (delay <= MOST_DELAY).then_some(delay)
}

/// Do they differ, whatever they are made of?
fn are_apart(a: &[Poly], b: &[Poly]) -> bool {
    a.iter().zip(b).any(|(a, b)| a.sub(b).as_constant().is_some_and(|d| d != 0))
}
