//! Which statements share a loop. One may join a loop where it runs over the same extent and reads of what the loop sets
//! only what this iteration set; what it does not read is no obstacle, so siblings share loops as producers and consumers
//! do. The loop that most statements share is outermost, of several the one whose index is least often the fastest of
//! an array.

use std::collections::{HashMap, HashSet};

use super::items::{Item, Place};
use super::kernel::{FIRST_LOOP, Join, Loop, Node, Set};
use crate::ir::core::Constant;
use crate::ir::reduce::Reduce;
use crate::ir::ssa::{Access, Rhs, Ssa, Var, at_indices, index};
use crate::predicate::{Index, LocalId, Poly, Pred};
use crate::syntax::ops::Scalar;

/// Makes loops, each with an index of its own.
pub(super) struct Builder {
    loops: u32,
    depth: usize,
}

/// Members of a group by the statement, with the index that becomes the loop.
type Members = HashMap<Var, usize>;

/// What loops are called, by how deep they are.
const NAMES: &[&str] = &["i", "j", "k", "l", "p", "q", "r", "s"];

impl Builder {
    pub(super) fn new() -> Self {
        Self { loops: 0, depth: 0 }
    }

    fn index(&mut self, extent: &Poly) -> Index {
        let local = LocalId(FIRST_LOOP + self.loops);
        self.loops += 1;
        let name = NAMES.get(self.depth).map_or_else(|| format!("i{}", self.depth).into(), |name| (*name).into());
        Index { local, name, extent: extent.clone() }
    }

    /// The items that share a loop with the first, and the others. What is `held` is set before, and not known yet.
    pub(super) fn best(&self, rest: &[Item], held: &HashSet<Var>) -> (Vec<Item>, Vec<Item>) {
        let members = best_members(rest, held);
        rest.iter().cloned().partition(|item| members.contains_key(&item.var))
    }

    /// The loops of items, each after those that it reads.
    pub(super) fn nodes(&mut self, ssa: &Ssa, items: Vec<Item>) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut rest = items;
        while let Some(first) = rest.first() {
            if first.open().next().is_none() {
                let first = rest.remove(0);
                nodes.extend(self.leaf(ssa, &first));
                continue;
            }
            let members = best_members(&rest, &HashSet::new());
            let extent = members.get(&first.var).and_then(|x| first.extents.get(*x)).cloned().unwrap_or_default();
            let loop_index = self.index(&extent);
            let (mut inside, left): (Vec<Item>, Vec<Item>) =
                rest.into_iter().partition(|item| members.contains_key(&item.var));
            rest = left;
            for item in &mut inside {
                let Some(x) = members.get(&item.var) else { continue };
                if *x >= item.free && !item.cleared {
                    nodes.extend(clear(ssa, item));
                    item.cleared = true;
                }
                if let Some(slot) = item.indices.get_mut(*x) {
                    *slot = Place::Loop(loop_index.clone());
                }
            }
            self.depth += 1;
            let body = self.nodes(ssa, inside);
            self.depth -= 1;
            nodes.push(Node::Loop(Loop { index: loop_index, from: Vec::new(), to: Vec::new(), body }));
        }
        nodes
    }

    /// An element, within all its loops.
    fn leaf(&mut self, ssa: &Ssa, item: &Item) -> Vec<Node> {
        let Some(stmt) = ssa.stmts.get(item.var.0 as usize) else { return Vec::new() };
        let mut told: Vec<(Index, Poly)> = Vec::new();
        let values: Vec<Poly> = (0..)
            .zip(&item.indices)
            .map(|(k, place)| match place {
                Place::Loop(i) => i.value(),
                Place::Told(value) => {
                    let own = self.index(item.extents.get(k).unwrap_or(&Poly::default()));
                    let at = own.value();
                    told.push((own, value.clone()));
                    at
                }
                Place::Open => index(k, &Poly::default()).value(),
            })
            .collect();
        let poly = |p: &Poly| at_indices(p, &values);
        let pred = |p: &Pred| p.map(&|p| at_indices(p, &values));
        let access = |a: &Access| Access { var: a.var, at: a.at.iter().map(poly).collect() };
        let put = stmt.rhs.map(&mut |a| access(a), &poly, &pred);
        let mut nodes = Vec::new();
        let (mut rhs, mut join, mut terms) = (put, None, Pred::truth());
        if item.reduces {
            if !item.cleared {
                nodes.extend(clear(ssa, item));
            }
            match &mut rhs {
                Rhs::Contract { bound, pred, .. } => {
                    bound.clear();
                    terms = std::mem::take(pred);
                    join = Some(Join::Sum);
                }
                Rhs::Reduce(Reduce { bound, terms: which, pred, reducer, .. }) => {
                    bound.clear();
                    terms = Pred::all([std::mem::take(pred), std::mem::take(which)]);
                    join = Some(Join::Reduce(*reducer));
                }
                _ => {}
            }
        }
        // What tells an index holds of it.
        for (own, value) in &told {
            let (atom, value) = (own.atom(), poly(value));
            terms = Pred::all(terms.conjuncts().iter().filter(|p| **p != Pred::equal(&own.value(), &value)).cloned());
            debug_assert!(!value.mentions(&atom), "an index is told by others");
        }
        let at = values.get(..item.free).unwrap_or_default().to_vec();
        let mut inner = vec![Node::Set(Set { var: item.var, at, rhs, join })];
        if !terms.is_true() {
            inner = vec![Node::If(terms, inner)];
        }
        // One that tells another is outside it.
        let mut told: Vec<(Index, Poly)> = told.into_iter().map(|(own, value)| (own, poly(&value))).collect();
        while let Some(k) = told.iter().position(|(own, _)| !told.iter().any(|(_, v)| v.mentions(&own.atom()))) {
            let (index, value) = told.remove(k);
            inner = vec![Node::Told { index, value, body: inner }];
        }
        nodes.extend(inner);
        nodes
    }
}

/// What the elements of a reduction are before it has terms, and where it is not computed.
fn clear(ssa: &Ssa, item: &Item) -> Vec<Node> {
    let at = item.indices.iter().take(item.free).map(|place| match place {
        Place::Loop(i) => Some(i.value()),
        _ => None,
    });
    let at: Vec<Option<Poly>> = at.collect();
    let stmt = ssa.stmts.get(item.var.0 as usize);
    let scalar = stmt.and_then(|s| s.scalar).unwrap_or(Scalar::F64);
    let zero = match scalar {
        Scalar::F64 | Scalar::F32 => Constant::Real(0.0),
        Scalar::I64 => Constant::Int(0),
        Scalar::Bool => Constant::Bool(false),
    };
    let Some(Rhs::Reduce(r)) = stmt.map(|s| &s.rhs) else { return vec![Node::Clear(item.var, at, zero)] };
    let nothing = Node::Clear(item.var, at.clone(), r.reducer.nothing(scalar));
    if r.pred.is_true() {
        return vec![nothing];
    }
    // Such a one has all its indices by now.
    let values: Vec<Poly> = at.iter().flatten().cloned().collect();
    let pred = r.pred.map(&|p| at_indices(p, &values));
    vec![Node::Clear(item.var, at, zero), Node::If(pred, vec![nothing])]
}

/// The members of the group of the first item that is best.
fn best_members(rest: &[Item], held: &HashSet<Var>) -> Members {
    let Some(first) = rest.first() else { return Members::new() };
    let all = first.ready().map(|x| (x, members(rest, x, held)));
    let fastest = |members: &Members| -> usize {
        rest.iter().filter_map(|item| Some(fastest_in(item, *members.get(&item.var)?))).sum()
    };
    let best =
        all.max_by_key(|(x, members)| (members.len(), std::cmp::Reverse(fastest(members)), std::cmp::Reverse(*x)));
    best.map(|(_, members)| members).unwrap_or_default()
}

/// In how many arrays that it reads and writes the index is the fastest.
fn fastest_in(item: &Item, x: usize) -> usize {
    let own = index(x, &Poly::default()).atom();
    let read = item.reads.iter().filter(|r| r.at.last().is_some_and(|p| p.mentions(&own))).count();
    read + usize::from(x + 1 == item.free)
}

/// Those that can share the loop over this index of the first.
fn members(rest: &[Item], of_first: usize, held: &HashSet<Var>) -> Members {
    let mut members = Members::new();
    let mut later: HashSet<Var> = HashSet::new();
    let extent = rest.first().and_then(|first| first.extents.get(of_first));
    let by_var: HashMap<Var, &Item> = rest.iter().map(|item| (item.var, item)).collect();
    for (n, item) in rest.iter().enumerate() {
        let waits = |v: &Var| later.contains(v);
        let unknown = |v: &Var| members.contains_key(v) || held.contains(v) || later.contains(v);
        let free_to_join =
            item.in_kernel && !item.reads.iter().any(|r| waits(&r.var)) && !item.asks.iter().any(unknown);
        // Of what the loop sets only what it set at this index, all of it.
        let joins = |x: &usize| {
            let own = index(*x, &Poly::default()).value();
            item.reads.iter().all(|r| match (members.get(&r.var), by_var.get(&r.var)) {
                (Some(axis), Some(read)) => *axis < read.free && r.at.get(*axis) == Some(&own),
                _ => true,
            })
        };
        // The loop over the terms of which one is chosen is shared with what sets these alone.
        let alone = |x: &usize| {
            let chosen = item.chooses_along(*x) && !item.reads.iter().any(|r| members.contains_key(&r.var));
            chosen || rest.first().is_some_and(|first| first.chooses_along(of_first))
        };
        let here = |x: &usize| if n == 0 { *x == of_first } else { item.extents.get(*x) == extent && !alone(x) };
        match item.ready().filter(here).find(joins).filter(|_| free_to_join) {
            Some(x) => drop(members.insert(item.var, x)),
            None => drop(later.insert(item.var)),
        }
    }
    members
}
