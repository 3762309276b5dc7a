//! **Loop fusion.** Decides which statements share a loop.
//!
//! A statement may join a loop over the same extent if it reads only elements of the loop's
//! statements that the current iteration sets. Statements without dependences may join too, so
//! siblings fuse as producers and consumers do.
//!
//! The loop that the most statements share becomes outermost. If several qualify, the pass chooses
//! the one whose index is least often the fastest axis of an array.

use std::collections::{HashMap, HashSet};

use super::dependences::{IndexState, PendingStmt};
use super::loop_nest::{
    Accumulation, Assignment, FIRST_LOOP_LOCAL, MatrixProduct, NestLoop, NestNode, is_while_extent,
};
use lang_base::{Name, check_cancelled};
use lang_ir::core::Constant;
use lang_ir::reduce::SsaReduction;
use lang_ir::ssa::{Rhs, SsaFunction, StmtId, TensorAccess, statement_index, substitute_indices};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The builder of loops, each with a new index.
pub(super) struct NestBuilder {
    loop_count: u32,
    depth: usize,
    /// The names of the function's sizes.
    size_names: Vec<Name>,
    /// Whether some statement could not be placed in a loop.
    pub(super) is_stuck: bool,
}

/// Members of a group by the statement, with the index that becomes the loop.
type FusionGroup = HashMap<StmtId, usize>;

/// The names of loop indices by depth.
const INDEX_NAMES: &[&str] = &["i", "j", "k", "l", "p", "q", "r", "s"];

/// Returns the name of a loop index at this depth, different from the names of sizes.
pub(super) fn loop_name(depth: usize, sizes: &[Name]) -> Name {
    let mut free = INDEX_NAMES.iter().filter(|name| !sizes.iter().any(|n| n.as_str() == **name));
    free.nth(depth).map_or_else(|| format!("i{depth}").into(), |name| (*name).into())
}

impl NestBuilder {
    pub(super) fn new(ssa: &SsaFunction) -> Self {
        let sizes = ssa.sizes.iter().map(|l| ssa.vars.name(*l));
        Self { loop_count: 0, depth: 0, is_stuck: false, size_names: sizes.collect() }
    }

    fn fresh_index(&mut self, extent: &Poly) -> Index {
        let local = LocalId(FIRST_LOOP_LOCAL + self.loop_count);
        self.loop_count += 1;
        Index { local, name: loop_name(self.depth, &self.size_names), extent: extent.clone() }
    }

    /// Partitions the items into those that share a loop with the first, and the others. The
    /// variables in `held` are set before but are not complete yet.
    pub(super) fn partition_best_group(
        &self,
        rest: &[PendingStmt],
        held: &HashSet<StmtId>,
    ) -> (Vec<PendingStmt>, Vec<PendingStmt>) {
        let mut members = best_group(rest, held, &matrix_product_axes(rest));
        // The materialised factors of a product wait for the product.
        let first = rest.first().map(|item| item.var);
        for item in rest.iter().filter(|item| item.matrix_product.is_some()) {
            if !members.contains_key(&item.var) {
                let put =
                    item.matrix_product.iter().flat_map(|p| &p.materialised_factors).filter(|v| Some(**v) != first);
                for var in put {
                    members.remove(var);
                }
            }
        }
        rest.iter().cloned().partition(|item| members.contains_key(&item.var))
    }

    /// Builds the loops of the items, each after those that it reads.
    pub(super) fn build_nodes(&mut self, ssa: &SsaFunction, items: Vec<PendingStmt>) -> Vec<NestNode> {
        let mut nodes = Vec::new();
        let mut rest = items;
        while let Some(first) = rest.first() {
            check_cancelled();
            if first.open_indices().next().is_none() {
                let first = rest.remove(0);
                nodes.extend(self.build_assignment(ssa, &first));
                continue;
            }
            let members = best_group(&rest, &HashSet::new(), &HashSet::new());
            if members.is_empty() {
                self.is_stuck = true;
                break;
            }
            let in_order = rest.iter().any(|item| {
                let along = item.flattened_loop.map(|(_, axis)| axis);
                along.is_some() && members.get(&item.var) == along.as_ref()
            });
            let extent = members.get(&first.var).and_then(|x| first.extents.get(*x)).cloned().unwrap_or_default();
            let along = |item: &&PendingStmt| {
                item.flattened_loop.is_some_and(|(_, axis)| members.get(&item.var) == Some(&axis))
            };
            let goes_on =
                rest.iter().filter(along).find(|item| item.is_while_condition).and_then(while_condition_access);
            if is_while_extent(&extent) && goes_on.is_none() {
                // Each iteration of an inner loop would have a condition of its own.
                self.is_stuck = true;
                break;
            }
            let loop_index = self.fresh_index(&extent);
            let (mut inside, left): (Vec<PendingStmt>, Vec<PendingStmt>) =
                rest.into_iter().partition(|item| members.contains_key(&item.var));
            rest = left;
            for item in &mut inside {
                let Some(x) = members.get(&item.var) else { continue };
                if *x >= item.rank && !item.is_initialised {
                    match &item.state {
                        Some(state) => nodes.push(self.build_initial_state(item, &state.init)),
                        None => nodes.extend(fill_accumulators(ssa, item)),
                    }
                    item.is_initialised = true;
                }
                if let Some(slot) = item.indices.get_mut(*x) {
                    *slot = IndexState::Loop(loop_index.clone());
                }
            }
            self.depth += 1;
            let body = self.build_nodes(ssa, inside);
            self.depth -= 1;
            nodes.push(NestNode::Loop(NestLoop {
                while_condition: goes_on,
                ..NestLoop::over_full_range(loop_index, in_order, body)
            }));
        }
        nodes
    }

    /// Builds the assignment of an element, inside all its loops.
    fn build_assignment(&mut self, ssa: &SsaFunction, item: &PendingStmt) -> Vec<NestNode> {
        let Some(stmt) = ssa.stmts.get(item.var.0 as usize) else { return Vec::new() };
        if let Some(product) = &item.matrix_product {
            return vec![self.build_matrix_product(ssa, item, product)];
        }
        let mut solved: Vec<(Index, Poly)> = Vec::new();
        let values: Vec<Poly> = (0..)
            .zip(&item.indices)
            .map(|(k, place)| match place {
                IndexState::Loop(i) => i.value(),
                IndexState::Solved(value) => {
                    let own = self.fresh_index(item.extents.get(k).unwrap_or(&Poly::default()));
                    let at = own.value();
                    solved.push((own, value.clone()));
                    at
                }
                IndexState::Open | IndexState::MatrixProduct => statement_index(k, &Poly::default()).value(),
            })
            .collect();
        let poly = |p: &Poly| substitute_indices(p, &values);
        let pred = |p: &Pred| p.map(&|p| substitute_indices(p, &values));
        let access = |a: &TensorAccess| TensorAccess { var: a.var, at: a.at.iter().map(poly).collect() };
        let put = stmt.rhs.map(&mut |a| access(a), &poly, &pred);
        let mut nodes = Vec::new();
        let (mut rhs, mut join, mut terms) = (put, None, Pred::truth());
        if let Some(state) = &item.state {
            rhs = copy_rhs(access(&state.next));
        } else if item.is_reduction {
            if !item.is_initialised {
                nodes.extend(fill_accumulators(ssa, item));
            }
            match &mut rhs {
                Rhs::Contract { bound, pred, .. } => {
                    bound.clear();
                    terms = std::mem::take(pred);
                    join = Some(Accumulation::Sum);
                }
                Rhs::Reduce(SsaReduction { bound, filter: which, pred, reducer, .. }) => {
                    bound.clear();
                    terms = Pred::all([std::mem::take(pred), std::mem::take(which)]);
                    join = Some(Accumulation::Reduce(*reducer));
                }
                _ => {}
            }
        }
        // The equation that determines an index holds by construction, so its conjunct is dropped.
        for (own, value) in &solved {
            let (atom, value) = (own.atom(), poly(value));
            terms = Pred::all(terms.conjuncts().iter().filter(|p| **p != Pred::equal(&own.value(), &value)).cloned());
            debug_assert!(!value.mentions(&atom), "the value of an index depends on the index");
        }
        let at = values.get(..item.rank).unwrap_or_default().to_vec();
        let mut inner = vec![NestNode::Assign(Assignment { var: item.var, at, rhs, accumulate: join })];
        if !terms.is_true() {
            inner = vec![NestNode::If(terms, inner)];
        }
        // An index that the value of another one mentions must enclose it.
        let mut definitions: Vec<(Index, Poly)> = solved.into_iter().map(|(own, value)| (own, poly(&value))).collect();
        while let Some(k) =
            definitions.iter().position(|(own, _)| !definitions.iter().any(|(_, v)| v.mentions(&own.atom())))
        {
            let (index, value) = definitions.remove(k);
            inner = vec![NestNode::Let { index, value, body: inner }];
        }
        nodes.extend(inner);
        nodes
    }

    /// Builds the initial value of a loop-carried state, before the loop.
    fn build_initial_state(&mut self, item: &PendingStmt, init: &TensorAccess) -> NestNode {
        let depth = self.depth;
        let mut loops = Vec::new();
        let values: Vec<Poly> = (0..item.rank)
            .map(|k| match item.indices.get(k) {
                Some(IndexState::Loop(i)) => i.value(),
                _ => {
                    let own = self.fresh_index(item.extents.get(k).unwrap_or(&Poly::default()));
                    self.depth += 1;
                    let at = own.value();
                    loops.push(own);
                    at
                }
            })
            .collect();
        self.depth = depth;
        let of = TensorAccess { var: init.var, at: init.at.iter().map(|p| substitute_indices(p, &values)).collect() };
        let set = NestNode::Assign(Assignment { var: item.var, at: values, rhs: copy_rhs(of), accumulate: None });
        loops
            .into_iter()
            .rev()
            .fold(set, |body, index| NestNode::Loop(NestLoop::over_full_range(index, false, vec![body])))
    }

    /// Builds a matrix product, inside its enclosing loops.
    fn build_matrix_product(
        &mut self,
        ssa: &SsaFunction,
        item: &PendingStmt,
        of: &super::gemm::RecognisedProduct,
    ) -> NestNode {
        let mut loops = PendingStmt { matrix_product: None, ..item.clone() };
        for place in loops.indices.iter_mut().filter(|p| **p == IndexState::MatrixProduct) {
            *place = IndexState::Open;
        }
        let depth = self.depth;
        let along = of.indices.map(|k| {
            let own = self.fresh_index(item.extents.get(k).unwrap_or(&Poly::default()));
            self.depth += 1;
            own
        });
        self.depth = depth;
        let value = |k: usize, place: &IndexState| match place {
            IndexState::Loop(i) => i.value(),
            _ => of.indices.iter().zip(&along).find(|(j, _)| **j == k).map(|(_, i)| i.value()).unwrap_or_default(),
        };
        let values: Vec<Poly> = item.indices.iter().enumerate().map(|(k, place)| value(k, place)).collect();
        let access = |a: &TensorAccess| TensorAccess {
            var: a.var,
            at: a.at.iter().map(|p| substitute_indices(p, &values)).collect(),
        };
        let neg = matches!(ssa.stmts.get(item.var.0 as usize).map(|s| &s.rhs), Some(Rhs::Contract { neg: true, .. }));
        NestNode::MatrixProduct(Box::new(MatrixProduct {
            var: item.var,
            at: values.get(..item.rank).unwrap_or_default().to_vec(),
            neg,
            factors: of.factors.each_ref().map(access),
            is_masked: of.is_masked,
            indices: along,
            fallback_loops: self.build_nodes(ssa, vec![loops]),
        }))
    }
}

/// Returns a right-hand side that copies an element.
fn copy_rhs(of: TensorAccess) -> Rhs {
    Rhs::Contract { bound: Vec::new(), pred: Pred::truth(), neg: false, factors: vec![of] }
}

/// Returns the axes along which matrix products read their factors. Fusion avoids loops over these
/// axes, because a factor set in such a loop needs memory for the whole axis.
fn matrix_product_axes(rest: &[PendingStmt]) -> HashSet<(StmtId, usize)> {
    let mut all = HashSet::new();
    for item in rest.iter().filter(|item| item.open_indices().next().is_some()) {
        for factor in item.matrix_product.iter().flat_map(|p| &p.factors) {
            let inner = |p: &Poly| {
                let is_inner = |k: &usize| p.mentions(&statement_index(*k, &Poly::default()).atom());
                item.matrix_product.iter().flat_map(|p| &p.indices).any(is_inner)
            };
            let axes = factor.at.iter().enumerate().filter(|(_, p)| inner(p));
            all.extend(axes.map(|(axis, _)| (factor.var, axis)));
        }
    }
    all
}

/// Initialises the accumulators of a reduction. Elements whose predicate is false become zero.
fn fill_accumulators(ssa: &SsaFunction, item: &PendingStmt) -> Vec<NestNode> {
    let at = item.indices.iter().take(item.rank).map(|place| match place {
        IndexState::Loop(i) => Some(i.value()),
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
    let Some(Rhs::Reduce(r)) = stmt.map(|s| &s.rhs) else { return vec![NestNode::Fill(item.var, at, zero)] };
    let nothing = NestNode::Fill(item.var, at.clone(), r.reducer.initial_value(scalar));
    if r.pred.is_true() {
        return vec![nothing];
    }
    // A guarded reduction has a loop for each of its own indices here.
    let values: Vec<Poly> = at.iter().flatten().cloned().collect();
    let pred = r.pred.map(&|p| substitute_indices(p, &values));
    vec![NestNode::Fill(item.var, at, zero), NestNode::If(pred, vec![nothing])]
}

/// Chooses the index of the first item whose loop is best. Returns the group that shares this loop.
fn best_group(rest: &[PendingStmt], held: &HashSet<StmtId>, back: &HashSet<(StmtId, usize)>) -> FusionGroup {
    let Some(first) = rest.first() else { return FusionGroup::new() };
    let some = first.loop_candidates().any(|x| !is_matrix_product_axis(back, first, x));
    let ready = first.loop_candidates().filter(|x| !some || !is_matrix_product_axis(back, first, *x));
    let all = ready.map(|x| {
        let mut members = fusion_group(rest, x, held, back);
        drop_incomplete_loops(rest, &mut members);
        (x, members)
    });
    let all = all.filter(|(_, members)| members.contains_key(&first.var));
    let far = |members: &FusionGroup| -> usize {
        rest.iter().filter_map(|item| Some(count_strided_arrays(item, *members.get(&item.var)?, members))).sum()
    };
    let best = all.max_by_key(|(x, members)| {
        let far = far(members);
        let shared = i64::try_from(members.len()).unwrap_or(i64::MAX);
        let strided_count = i64::try_from(far).unwrap_or(i64::MAX);
        (shared.saturating_sub(strided_count), std::cmp::Reverse(far), std::cmp::Reverse(*x))
    });
    best.map(|(_, members)| members).unwrap_or_default()
}

/// Removes the statements of a flattened loop unless the group contains all of them. Then removes
/// the members that read them.
fn drop_incomplete_loops(rest: &[PendingStmt], members: &mut FusionGroup) {
    loop {
        let open = |item: &&PendingStmt| {
            item.flattened_loop.is_some_and(|(_, axis)| item.indices.get(axis) == Some(&IndexState::Open))
        };
        let mut out: HashSet<usize> = HashSet::new();
        for item in rest.iter().filter(open).filter(|item| !members.contains_key(&item.var)) {
            out.extend(item.flattened_loop.map(|(nth, _)| nth));
        }
        let before = members.len();
        let mut later: HashSet<StmtId> = HashSet::new();
        for item in rest {
            let is_out = open(&item) && item.flattened_loop.is_some_and(|(nth, _)| out.contains(&nth));
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

/// Returns whether a matrix product needs the whole axis. The axis over the iterations of a
/// flattened loop is exempt.
fn is_matrix_product_axis(back: &HashSet<(StmtId, usize)>, item: &PendingStmt, x: usize) -> bool {
    back.contains(&(item.var, x)) && item.flattened_loop.is_none_or(|(_, axis)| axis != x)
}

/// Counts the arrays with strided accesses in a loop over this index. An access is strided if the
/// index is its fastest axis and another axis still needs a loop. Reads of arrays that the loop
/// itself sets do not count.
fn count_strided_arrays(item: &PendingStmt, x: usize, members: &FusionGroup) -> usize {
    let others: Vec<Atom> =
        item.open_indices().filter(|k| *k != x).map(|k| statement_index(k, &Poly::default()).atom()).collect();
    let own = statement_index(x, &Poly::default()).atom();
    let is_far = |at: &[Poly]| {
        let [before @ .., last] = at else { return false };
        last.mentions(&own) && before.iter().any(|p| others.iter().any(|other| p.mentions(other)))
    };
    let free: Vec<Poly> = (0..item.rank).map(|k| statement_index(k, &Poly::default()).value()).collect();
    let read = item.reads.iter().filter(|r| !members.contains_key(&r.var) && is_far(&r.at)).count();
    read + usize::from(item.flattened_loop.is_none() && is_far(&free))
}

/// Returns the items that can share the loop over this index of the first item.
fn fusion_group(
    rest: &[PendingStmt],
    of_first: usize,
    held: &HashSet<StmtId>,
    back: &HashSet<(StmtId, usize)>,
) -> FusionGroup {
    check_cancelled();
    let mut members = FusionGroup::new();
    let mut later: HashSet<StmtId> = HashSet::new();
    let extent = rest.first().and_then(|first| first.extents.get(of_first));
    let by_var: HashMap<StmtId, &PendingStmt> = rest.iter().map(|item| (item.var, item)).collect();
    for (n, item) in rest.iter().enumerate() {
        let waits = |v: &StmtId| later.contains(v);
        let unknown = |v: &StmtId| members.contains_key(v) || held.contains(v) || later.contains(v);
        let free_to_join =
            item.fits_kernel && !item.reads.iter().any(|r| waits(&r.var)) && !item.prerequisites.iter().any(unknown);
        let free_to_join = free_to_join && !item.state.as_ref().is_some_and(|state| waits(&state.copy.0));
        // A member may read only elements that the current iteration sets.
        let joins = |x: &usize| {
            let own = statement_index(*x, &Poly::default()).value();
            item.reads.iter().all(|r| match (members.get(&r.var), by_var.get(&r.var)) {
                (Some(axis), Some(read)) => *axis < read.rank && r.at.get(*axis) == Some(&own),
                _ => true,
            })
        };
        // An independent item with strided accesses has loops of its own.
        let strange = |x: &usize| {
            let alone =
                n > 0 && item.flattened_loop.is_none() && !item.reads.iter().any(|r| members.contains_key(&r.var));
            alone && count_strided_arrays(item, *x, &members) > 0
        };
        // Only the producers of its terms may share the loop of an arg-reduction.
        let alone = |x: &usize| {
            let chosen = item.is_arg_reduction_index(*x) && !item.reads.iter().any(|r| members.contains_key(&r.var));
            chosen || rest.first().is_some_and(|first| first.is_arg_reduction_index(of_first))
        };
        // The statements of a flattened loop share one loop over the iterations. A state and its
        // copy share their other loops.
        let together = |x: &usize| {
            let in_order = |item: &PendingStmt, x: usize| item.flattened_loop.is_some_and(|(_, axis)| axis == x);
            let same = |other: &&PendingStmt| {
                item.flattened_loop.map(|(nth, _)| nth) == other.flattened_loop.map(|(nth, _)| nth)
            };
            let known = rest.iter().filter(same).find_map(|other| Some(in_order(other, *members.get(&other.var)?)));
            let copied = item.state.as_ref().and_then(|state| Some((*members.get(&state.copy.0)?, state.copy.1)));
            item.flattened_loop.is_none()
                || known.is_none_or(|known| known == in_order(item, *x))
                    && copied.is_none_or(|(at, axis)| in_order(item, *x) || *x == at - usize::from(at > axis))
        };
        let here = |x: &usize| {
            if n == 0 {
                *x == of_first
            } else {
                item.extents.get(*x) == extent && !alone(x) && !is_matrix_product_axis(back, item, *x)
            }
        };
        match item.loop_candidates().filter(here).filter(together).find(joins).filter(|x| free_to_join && !strange(x)) {
            Some(x) => drop(members.insert(item.var, x)),
            None => drop(later.insert(item.var)),
        }
    }
    members
}

/// Returns the access to the condition of a loop; `None` if some index of it has no loop yet.
fn while_condition_access(item: &PendingStmt) -> Option<TensorAccess> {
    let value = |place: &IndexState| if let IndexState::Loop(i) = place { Some(i.value()) } else { None };
    let at = item.indices.get(..item.rank)?.iter().map(value).collect::<Option<_>>()?;
    Some(TensorAccess { var: item.var, at })
}
