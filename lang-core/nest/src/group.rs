//! **Loop fusion.** Decides which statements share a loop.
//!
//! A statement may join a loop over the same extent if it reads only elements of the loop's
//! statements that the current iteration sets. Statements without dependences may join too, so
//! siblings fuse as producers and consumers do.
//!
//! The loop that the most statements share becomes outermost. If several qualify, the pass chooses
//! the one whose index is least often the fastest axis of an array.

use std::collections::{HashMap, HashSet};

use super::items::{Item, Place};
use super::kernel::{FIRST_LOOP, Join, Loop, Node, Product, Set, is_endless};
use lang_base::Name;
use lang_ir::core::Constant;
use lang_ir::reduce::Reduce;
use lang_ir::ssa::{Access, Rhs, Ssa, Var, at_indices, index};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The builder of loops, each with a new index.
pub(super) struct Builder {
    loops: u32,
    depth: usize,
    /// What the sizes of the function are called.
    sizes: Vec<Name>,
    /// Whether some statement could not be placed in a loop.
    pub(super) stuck: bool,
}

/// Members of a group by the statement, with the index that becomes the loop.
type Members = HashMap<Var, usize>;

/// What loops are called, by how deep they are.
const NAMES: &[&str] = &["i", "j", "k", "l", "p", "q", "r", "s"];

/// Returns the name of a loop index at this depth, different from the names of sizes.
pub(super) fn loop_name(depth: usize, sizes: &[Name]) -> Name {
    let mut free = NAMES.iter().filter(|name| !sizes.iter().any(|n| n.as_str() == **name));
    free.nth(depth).map_or_else(|| format!("i{depth}").into(), |name| (*name).into())
}

impl Builder {
    pub(super) fn new(ssa: &Ssa) -> Self {
        let sizes = ssa.sizes.iter().map(|l| ssa.vars.name(*l));
        Self { loops: 0, depth: 0, stuck: false, sizes: sizes.collect() }
    }

    fn index(&mut self, extent: &Poly) -> Index {
        let local = LocalId(FIRST_LOOP + self.loops);
        self.loops += 1;
        Index { local, name: loop_name(self.depth, &self.sizes), extent: extent.clone() }
    }

    /// Partitions the items into those that share a loop with the first, and the others. The
    /// variables in `held` are set before but are not complete yet.
    pub(super) fn best(&self, rest: &[Item], held: &HashSet<Var>) -> (Vec<Item>, Vec<Item>) {
        let mut members = best_members(rest, held, &held_back(rest));
        // What is put together for a product waits for it.
        let first = rest.first().map(|item| item.var);
        for item in rest.iter().filter(|item| item.product.is_some()) {
            if !members.contains_key(&item.var) {
                let put = item.product.iter().flat_map(|p| &p.put).filter(|v| Some(**v) != first);
                for var in put {
                    members.remove(var);
                }
            }
        }
        rest.iter().cloned().partition(|item| members.contains_key(&item.var))
    }

    /// Builds the loops of the items, each after those that it reads.
    pub(super) fn nodes(&mut self, ssa: &Ssa, items: Vec<Item>) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut rest = items;
        while let Some(first) = rest.first() {
            if first.open().next().is_none() {
                let first = rest.remove(0);
                nodes.extend(self.leaf(ssa, &first));
                continue;
            }
            let members = best_members(&rest, &HashSet::new(), &HashSet::new());
            if members.is_empty() {
                self.stuck = true;
                break;
            }
            let in_order = rest.iter().any(|item| {
                let along = item.repeat.map(|(_, axis)| axis);
                along.is_some() && members.get(&item.var) == along.as_ref()
            });
            let extent = members.get(&first.var).and_then(|x| first.extents.get(*x)).cloned().unwrap_or_default();
            let along = |item: &&Item| item.repeat.is_some_and(|(_, axis)| members.get(&item.var) == Some(&axis));
            let goes_on = rest.iter().filter(along).find(|item| item.goes_on).and_then(going_on);
            if is_endless(&extent) && goes_on.is_none() {
                // Each iteration of a loop inside would have a truth value of its own.
                self.stuck = true;
                break;
            }
            let loop_index = self.index(&extent);
            let (mut inside, left): (Vec<Item>, Vec<Item>) =
                rest.into_iter().partition(|item| members.contains_key(&item.var));
            rest = left;
            for item in &mut inside {
                let Some(x) = members.get(&item.var) else { continue };
                if *x >= item.free && !item.cleared {
                    match &item.state {
                        Some(state) => nodes.push(self.begin(item, &state.init)),
                        None => nodes.extend(clear(ssa, item)),
                    }
                    item.cleared = true;
                }
                if let Some(slot) = item.indices.get_mut(*x) {
                    *slot = Place::Loop(loop_index.clone());
                }
            }
            self.depth += 1;
            let body = self.nodes(ssa, inside);
            self.depth -= 1;
            nodes.push(Node::Loop(Loop { goes_on, ..Loop::over(loop_index, in_order, body) }));
        }
        nodes
    }

    /// An element, within all its loops.
    fn leaf(&mut self, ssa: &Ssa, item: &Item) -> Vec<Node> {
        let Some(stmt) = ssa.stmts.get(item.var.0 as usize) else { return Vec::new() };
        if let Some(product) = &item.product {
            return vec![self.product(ssa, item, product)];
        }
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
                Place::Open | Place::Product => index(k, &Poly::default()).value(),
            })
            .collect();
        let poly = |p: &Poly| at_indices(p, &values);
        let pred = |p: &Pred| p.map(&|p| at_indices(p, &values));
        let access = |a: &Access| Access { var: a.var, at: a.at.iter().map(poly).collect() };
        let put = stmt.rhs.map(&mut |a| access(a), &poly, &pred);
        let mut nodes = Vec::new();
        let (mut rhs, mut join, mut terms) = (put, None, Pred::truth());
        if let Some(state) = &item.state {
            rhs = view(access(&state.next));
        } else if item.reduces {
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

    /// What a loop carries, before it.
    fn begin(&mut self, item: &Item, init: &Access) -> Node {
        let depth = self.depth;
        let mut loops = Vec::new();
        let values: Vec<Poly> = (0..item.free)
            .map(|k| match item.indices.get(k) {
                Some(Place::Loop(i)) => i.value(),
                _ => {
                    let own = self.index(item.extents.get(k).unwrap_or(&Poly::default()));
                    self.depth += 1;
                    let at = own.value();
                    loops.push(own);
                    at
                }
            })
            .collect();
        self.depth = depth;
        let of = Access { var: init.var, at: init.at.iter().map(|p| at_indices(p, &values)).collect() };
        let set = Node::Set(Set { var: item.var, at: values, rhs: view(of), join: None });
        loops.into_iter().rev().fold(set, |body, index| Node::Loop(Loop::over(index, false, vec![body])))
    }

    /// A product of matrices, within all loops around it.
    fn product(&mut self, ssa: &Ssa, item: &Item, of: &super::products::Product) -> Node {
        let mut loops = Item { product: None, ..item.clone() };
        for place in loops.indices.iter_mut().filter(|p| **p == Place::Product) {
            *place = Place::Open;
        }
        let depth = self.depth;
        let along = of.along.map(|k| {
            let own = self.index(item.extents.get(k).unwrap_or(&Poly::default()));
            self.depth += 1;
            own
        });
        self.depth = depth;
        let value = |k: usize, place: &Place| match place {
            Place::Loop(i) => i.value(),
            _ => of.along.iter().zip(&along).find(|(j, _)| **j == k).map(|(_, i)| i.value()).unwrap_or_default(),
        };
        let values: Vec<Poly> = item.indices.iter().enumerate().map(|(k, place)| value(k, place)).collect();
        let access = |a: &Access| Access { var: a.var, at: a.at.iter().map(|p| at_indices(p, &values)).collect() };
        let neg = matches!(ssa.stmts.get(item.var.0 as usize).map(|s| &s.rhs), Some(Rhs::Contract { neg: true, .. }));
        Node::Product(Box::new(Product {
            var: item.var,
            at: values.get(..item.free).unwrap_or_default().to_vec(),
            neg,
            factors: of.factors.each_ref().map(access),
            masked: of.masked,
            along,
            body: self.nodes(ssa, vec![loops]),
        }))
    }
}

/// An element that is another one.
fn view(of: Access) -> Rhs {
    Rhs::Contract { bound: Vec::new(), pred: Pred::truth(), neg: false, factors: vec![of] }
}

/// What products of matrices read along indices of theirs, and the axes: where such an axis is that of the loop that sets
/// it, all of it is kept, though the product would read it at once in loops of its own.
fn held_back(rest: &[Item]) -> HashSet<(Var, usize)> {
    let mut all = HashSet::new();
    for item in rest.iter().filter(|item| item.open().next().is_some()) {
        for factor in item.product.iter().flat_map(|p| &p.factors) {
            let inner = |p: &Poly| {
                let is_inner = |k: &usize| p.mentions(&index(*k, &Poly::default()).atom());
                item.product.iter().flat_map(|p| &p.along).any(is_inner)
            };
            let axes = factor.at.iter().enumerate().filter(|(_, p)| inner(p));
            all.extend(axes.map(|(axis, _)| (factor.var, axis)));
        }
    }
    all
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
    let nothing = Node::Clear(item.var, at.clone(), r.reducer.neutral(scalar));
    if r.pred.is_true() {
        return vec![nothing];
    }
    // Such a one has all its indices by now.
    let values: Vec<Poly> = at.iter().flatten().cloned().collect();
    let pred = r.pred.map(&|p| at_indices(p, &values));
    vec![Node::Clear(item.var, at, zero), Node::If(pred, vec![nothing])]
}

/// The members of the group of the first item that is best.
fn best_members(rest: &[Item], held: &HashSet<Var>, back: &HashSet<(Var, usize)>) -> Members {
    let Some(first) = rest.first() else { return Members::new() };
    let some = first.ready().any(|x| !is_back(back, first, x));
    let ready = first.ready().filter(|x| !some || !is_back(back, first, *x));
    let all = ready.map(|x| {
        let mut members = members(rest, x, held, back);
        whole_repeats(rest, &mut members);
        (x, members)
    });
    let all = all.filter(|(_, members)| members.contains_key(&first.var));
    let far = |members: &Members| -> usize {
        rest.iter().filter_map(|item| Some(far_apart(item, *members.get(&item.var)?, members))).sum()
    };
    let best = all.max_by_key(|(x, members)| {
        let far = far(members);
        let shared = i64::try_from(members.len()).unwrap_or(i64::MAX);
        let apart = i64::try_from(far).unwrap_or(i64::MAX);
        (shared.saturating_sub(apart), std::cmp::Reverse(far), std::cmp::Reverse(*x))
    });
    best.map(|(_, members)| members).unwrap_or_default()
}

/// Takes out of a group what is of a loop that is not in it as a whole, and what then waits for that.
fn whole_repeats(rest: &[Item], members: &mut Members) {
    loop {
        let open = |item: &&Item| item.repeat.is_some_and(|(_, axis)| item.indices.get(axis) == Some(&Place::Open));
        let mut out: HashSet<usize> = HashSet::new();
        for item in rest.iter().filter(open).filter(|item| !members.contains_key(&item.var)) {
            out.extend(item.repeat.map(|(nth, _)| nth));
        }
        let before = members.len();
        let mut later: HashSet<Var> = HashSet::new();
        for item in rest {
            let is_out = open(&item) && item.repeat.is_some_and(|(nth, _)| out.contains(&nth));
            if is_out || !members.contains_key(&item.var) || item.reads.iter().any(|r| later.contains(&r.var)) {
                members.remove(&item.var);
                later.insert(item.var);
            }
        }
        if members.len() == before {
            return;
        }
    }
}

/// Is all of it kept along this axis? Not of what a loop has in its order.
fn is_back(back: &HashSet<(Var, usize)>, item: &Item, x: usize) -> bool {
    back.contains(&(item.var, x)) && item.repeat.is_none_or(|(_, axis)| axis != x)
}

/// Of how many arrays that it reads and writes elements one after the other are far apart, within a loop over this index:
/// it is the fastest, and there are others to run. What the loop sets itself has no such axis then.
fn far_apart(item: &Item, x: usize, members: &Members) -> usize {
    let others: Vec<Atom> = item.open().filter(|k| *k != x).map(|k| index(k, &Poly::default()).atom()).collect();
    let own = index(x, &Poly::default()).atom();
    let is_far = |at: &[Poly]| {
        let [before @ .., last] = at else { return false };
        last.mentions(&own) && before.iter().any(|p| others.iter().any(|other| p.mentions(other)))
    };
    let free: Vec<Poly> = (0..item.free).map(|k| index(k, &Poly::default()).value()).collect();
    let read = item.reads.iter().filter(|r| !members.contains_key(&r.var) && is_far(&r.at)).count();
    read + usize::from(item.repeat.is_none() && is_far(&free))
}

/// Those that can share the loop over this index of the first.
fn members(rest: &[Item], of_first: usize, held: &HashSet<Var>, back: &HashSet<(Var, usize)>) -> Members {
    let mut members = Members::new();
    let mut later: HashSet<Var> = HashSet::new();
    let extent = rest.first().and_then(|first| first.extents.get(of_first));
    let by_var: HashMap<Var, &Item> = rest.iter().map(|item| (item.var, item)).collect();
    for (n, item) in rest.iter().enumerate() {
        let waits = |v: &Var| later.contains(v);
        let unknown = |v: &Var| members.contains_key(v) || held.contains(v) || later.contains(v);
        let free_to_join =
            item.in_kernel && !item.reads.iter().any(|r| waits(&r.var)) && !item.asks.iter().any(unknown);
        let free_to_join = free_to_join && !item.state.as_ref().is_some_and(|state| waits(&state.copy.0));
        // Of what the loop sets only what it set at this index, all of it.
        let joins = |x: &usize| {
            let own = index(*x, &Poly::default()).value();
            item.reads.iter().all(|r| match (members.get(&r.var), by_var.get(&r.var)) {
                (Some(axis), Some(read)) => *axis < read.free && r.at.get(*axis) == Some(&own),
                _ => true,
            })
        };
        // What has nothing to do with the others and would be far apart has loops of its own.
        let strange = |x: &usize| {
            let alone = n > 0 && item.repeat.is_none() && !item.reads.iter().any(|r| members.contains_key(&r.var));
            alone && far_apart(item, *x, &members) > 0
        };
        // The loop over the terms of which one is chosen is shared with what sets these alone.
        let alone = |x: &usize| {
            let chosen = item.chooses_along(*x) && !item.reads.iter().any(|r| members.contains_key(&r.var));
            chosen || rest.first().is_some_and(|first| first.chooses_along(of_first))
        };
        // All of a loop that became statements go over their iterations together, and its state with its copy.
        let together = |x: &usize| {
            let in_order = |item: &Item, x: usize| item.repeat.is_some_and(|(_, axis)| axis == x);
            let same = |other: &&Item| item.repeat.map(|(nth, _)| nth) == other.repeat.map(|(nth, _)| nth);
            let known = rest.iter().filter(same).find_map(|other| Some(in_order(other, *members.get(&other.var)?)));
            let copied = item.state.as_ref().and_then(|state| Some((*members.get(&state.copy.0)?, state.copy.1)));
            item.repeat.is_none()
                || known.is_none_or(|known| known == in_order(item, *x))
                    && copied.is_none_or(|(at, axis)| in_order(item, *x) || *x == at - usize::from(at > axis))
        };
        let here = |x: &usize| {
            if n == 0 {
                *x == of_first
            } else {
                item.extents.get(*x) == extent && !alone(x) && !is_back(back, item, *x)
            }
        };
        match item.ready().filter(here).filter(together).find(joins).filter(|x| free_to_join && !strange(x)) {
            Some(x) => drop(members.insert(item.var, x)),
            None => drop(later.insert(item.var)),
        }
    }
    members
}

/// The truth value that a loop asks before each iteration, within the loops around that.
fn going_on(item: &Item) -> Option<Access> {
    let value = |place: &Place| if let Place::Loop(i) = place { Some(i.value()) } else { None };
    let at = item.indices.get(..item.free)?.iter().map(value).collect::<Option<_>>()?;
    Some(Access { var: item.var, at })
}
