//! **Dead-code elimination** on Tensor SSA. Removes the statements and checks that no output needs,
//! prunes loops, and renumbers the rest. The conversion to Tensor SSA and the derivatives end with
//! it. Every pass ends with it ([`rewriter`](super::rewriter)). The session and `lang_source`,
//! which prints derivatives, call it too.
//!
//! A check disappears with its last user: "The transformed program may omit a failure whose value
//! is not used" (the language reference).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::loop_pruning::{self, BodyReads, InvariantCarries};
use lang_base::check_cancelled;
use lang_ir::core::TypeLeaf;
use lang_ir::origin::DceOutcome;
use lang_ir::region::LoopResult;
use lang_ir::ssa::{
    Rhs, SsaFunction, Statement, StmtId, TensorAccess, for_each_poly_read, for_each_pred_read, union_of_checks,
};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// Returns which statements and which checks the outputs need. If `inputs` is true, all inputs are
/// live too. A loop reads only what its live results need.
fn live_statements(ssa: &SsaFunction, inputs: bool) -> (Vec<bool>, Vec<bool>) {
    live_for_outputs(ssa, &ssa.outputs, inputs, Some(&mut BodyReads::default()))
}

/// Returns the same as [`live_statements`] for some of the outputs. `known` caches the inputs that
/// loop bodies read; without it, a loop reads all its arguments.
pub fn live_for_outputs(
    ssa: &SsaFunction,
    outputs: &[(TypeLeaf, StmtId)],
    inputs: bool,
    mut known: Option<&mut BodyReads>,
) -> (Vec<bool>, Vec<bool>) {
    let mut live = vec![false; ssa.stmts.len()];
    let mut live_checks = vec![false; ssa.checks.len()];
    let mut open: Vec<StmtId> = outputs.iter().map(|(_, v)| *v).collect();
    let mut checks: Vec<u32> = ssa.needs.clone();
    // The live results of each loop, and the loops with results whose needs are not yet live.
    let mut live_results: BTreeMap<StmtId, BTreeSet<LoopResult>> = BTreeMap::new();
    let mut open_loops: BTreeSet<StmtId> = BTreeSet::new();
    for (leaf, _) in outputs {
        leaf.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| open.push(v)));
    }
    for (k, stmt) in (0..).zip(&ssa.stmts) {
        if inputs && matches!(stmt.rhs, Rhs::Input(_)) {
            open.push(StmtId(k));
        }
    }
    loop {
        if let Some(c) = checks.pop() {
            if let (Some(slot @ false), Some(check)) = (live_checks.get_mut(c as usize), ssa.checks.get(c as usize)) {
                *slot = true;
                check.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| open.push(v)));
                [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut |v| open.push(v)));
            }
            continue;
        }
        let Some(v) = open.pop() else {
            // All results found so far are considered at once, because each needs a walk of the
            // body.
            let (Some(producer), Some(known)) = (open_loops.pop_last(), &mut known) else { break };
            if let (Some(of), Some(results)) = (ssa.loop_at(producer), live_results.get(&producer)) {
                of.for_each_operand(&loop_pruning::loop_needs(of, results, known).inputs, &mut |v| open.push(v));
            }
            continue;
        };
        let (Some(slot @ false), Some(stmt)) = (live.get_mut(v.0 as usize), ssa.stmts.get(v.0 as usize)) else {
            continue;
        };
        *slot = true;
        checks.extend(&stmt.needs);
        stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| open.push(v)));
        match (&stmt.rhs, &mut known) {
            (Rhs::Loop(_), Some(_)) => {}
            (Rhs::LoopResult(producer, result), Some(_)) => {
                open.push(*producer);
                live_results.entry(*producer).or_default().insert(*result);
                open_loops.insert(*producer);
            }
            (rhs, _) => rhs.for_each_operand(&mut |v| open.push(v)),
        }
    }
    (live, live_checks)
}

/// Prunes each loop to its live results. A result that the loop never changes is read from its
/// initial value instead, by a statement that needs the checks of the loop. A loop without other
/// results then has no reader.
fn prune_loops(ssa: &mut SsaFunction, live: &[bool]) {
    for (producer, results) in ssa.results_by_producer() {
        let Some(Rhs::Loop(of)) = ssa.stmts.get(producer.0 as usize).map(|s| s.rhs.clone()) else { continue };
        let Some(needs) = ssa.stmts.get(producer.0 as usize).map(|s| s.needs.clone()) else { continue };
        let results = results.into_iter().filter(|v| live.get(v.0 as usize) == Some(&true));
        let results: Vec<(StmtId, LoopResult)> = results
            .filter_map(|v| match ssa.stmts.get(v.0 as usize)?.rhs {
                Rhs::LoopResult(_, result) => Some((v, result)),
                _ => None,
            })
            .collect();
        let mut kept: BTreeSet<LoopResult> = results.iter().map(|(_, result)| *result).collect();
        let unchanged = InvariantCarries::of_loop(&of);
        let changes = |result: &LoopResult| unchanged.initial_value(&of, *result, 0).is_none();
        // If no result changes, the checks of the loop move to the readers of the initial values.
        // If they cannot move (`None`), the loop stays.
        let moved_checks = if kept.iter().any(changes) { Some(Vec::new()) } else { unchanged.hoisted_checks(ssa, &of) };
        let (mut new, mut renumbered) = (of.clone(), BTreeMap::new());
        if moved_checks.is_some() {
            kept.retain(changes);
        }
        if !kept.is_empty() {
            let unpruned = if moved_checks.is_some() { unchanged.without_carries(&of) } else { (*of).clone() };
            let (pruned, to) = loop_pruning::prune_loop(&unpruned, &kept);
            (new, renumbered) = (Arc::new(pruned), to);
        }
        let first = u32::try_from(ssa.checks.len()).unwrap_or(u32::MAX);
        ssa.checks.extend(moved_checks.iter().flatten().cloned());
        let moved: Vec<u32> = (first..).zip(moved_checks.iter().flatten()).map(|(k, _)| k).collect();
        for (v, result) in results {
            let Some(stmt) = ssa.stmts.get_mut(v.0 as usize) else { continue };
            match (renumbered.get(&result), unchanged.initial_value(&of, result, stmt.dims.len())) {
                (Some(to), _) => stmt.rhs = Rhs::LoopResult(producer, *to),
                (None, Some(initial)) if moved_checks.is_some() => {
                    let (bound, factors) = (Vec::new(), vec![initial]);
                    stmt.rhs = Rhs::Contract { bound, pred: of.pred.clone(), neg: false, factors };
                    stmt.needs = union_of_checks(&union_of_checks(&stmt.needs, &needs), &moved);
                }
                _ => {}
            }
        }
        if let Some(stmt) = ssa.stmts.get_mut(producer.0 as usize) {
            stmt.rhs = Rhs::Loop(new);
        }
    }
}

/// Removes the statements that the outputs do not need. Inputs remain. Returns the fate of each
/// statement.
pub fn eliminate_dead_code(ssa: &mut SsaFunction) -> Vec<DceOutcome> {
    if ssa.stmts.iter().any(|s| matches!(s.rhs, Rhs::Loop(_))) {
        let (live, _) = live_statements(ssa, true);
        prune_loops(ssa, &live);
    }
    let (live, live_checks) = live_for_outputs(ssa, &ssa.outputs, true, None);
    let order = topological_order(ssa, &live);
    let mut vars = vec![0; ssa.stmts.len()];
    for (new, old) in (0..).zip(&order) {
        vars.get_mut(*old).into_iter().for_each(|slot| *slot = new);
    }
    let mut next = 0;
    let number = |k: &bool| {
        let at = next;
        next += u32::from(*k);
        at
    };
    let numbers: Vec<u32> = live_checks.iter().map(number).collect();
    let renumber = StatementRenumbering { vars: &vars, checks: &numbers };
    let fates = statement_outcomes(&ssa.stmts, &live, &renumber);
    ssa.stmts = order.iter().filter_map(|k| ssa.stmts.get(*k).cloned()).collect();
    let mut kept = live_checks.iter();
    ssa.checks.retain(|_| kept.next().copied().unwrap_or(false));
    for stmt in &mut ssa.stmts {
        check_cancelled();
        stmt.dims.iter_mut().for_each(|n| *n = renumber.poly(n));
        stmt.rhs = renumber.rhs(&stmt.rhs);
        stmt.needs.iter_mut().for_each(|c| *c = renumber.check(*c));
    }
    for check in &mut ssa.checks {
        check.dims.iter_mut().for_each(|n| *n = renumber.poly(n));
        (check.guard, check.cond) = (renumber.pred(&check.guard), renumber.pred(&check.cond));
    }
    ssa.needs.iter_mut().for_each(|c| *c = renumber.check(*c));
    for (leaf, v) in &mut ssa.outputs {
        leaf.dims.iter_mut().for_each(|n| *n = renumber.poly(n));
        *v = renumber.var(*v);
    }
    ssa.result = ssa.result.map_sizes(&|n| renumber.poly(n));
    for input in &mut ssa.inputs {
        input.leaf.dims.iter_mut().for_each(|n| *n = renumber.poly(n));
    }
    fates
}

/// Returns an order of the live statements. Each follows its operands, and an update follows the
/// other readers of its old array where the dependences allow that. If the function has no updates
/// and is sorted already, its order remains.
fn topological_order(ssa: &SsaFunction, live: &[bool]) -> Vec<usize> {
    let operands = |k: usize| {
        let mut found: Vec<usize> = Vec::new();
        if let Some(stmt) = ssa.stmts.get(k) {
            let mut add = |v: StmtId| found.push(v.0 as usize);
            stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut add));
            stmt.rhs.for_each_operand(&mut add);
            for c in &stmt.needs {
                if let Some(check) = ssa.checks.get(*c as usize) {
                    check.dims.iter().for_each(|n| for_each_poly_read(n, &mut add));
                    [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut add));
                }
            }
        }
        found.retain(|k| live.get(*k) == Some(&true));
        found
    };
    let before: Vec<Vec<usize>> = (0..ssa.stmts.len()).map(operands).collect();
    let updates = ssa.stmts.iter().any(|s| matches!(s.rhs, Rhs::Update { .. }));
    let sorted = before.iter().enumerate().all(|(k, of)| of.iter().all(|j| *j < k));
    if !updates && sorted {
        return (0..ssa.stmts.len()).filter(|k| live.get(*k) == Some(&true)).collect();
    }
    // A reader of the array that an update changes precedes the update, unless it depends on the
    // update.
    let mut after = before.clone();
    for (k, stmt) in ssa.stmts.iter().enumerate() {
        check_cancelled();
        let Rhs::Update { base, .. } = &stmt.rhs else { continue };
        if live.get(k) != Some(&true) {
            continue;
        }
        let changed = base.var.0 as usize;
        let readers =
            (0..ssa.stmts.len()).filter(|j| *j != k && before.get(*j).is_some_and(|of| of.contains(&changed)));
        let readers: Vec<usize> = readers.filter(|j| live.get(*j) == Some(&true)).collect();
        for j in readers {
            if !is_reachable(&after, j, k)
                && let Some(slot) = after.get_mut(k)
            {
                slot.push(j);
            }
        }
    }
    let mut done = vec![false; ssa.stmts.len()];
    let mut order = Vec::new();
    for root in (0..ssa.stmts.len()).filter(|k| live.get(*k) == Some(&true)) {
        let mut open = vec![(root, 0)];
        while let Some((k, next)) = open.pop() {
            if done.get(k) == Some(&true) {
                continue;
            }
            match after.get(k).and_then(|of| of.get(next)) {
                Some(operand) => open.extend([(k, next + 1), (*operand, 0)]),
                None => {
                    done.get_mut(k).into_iter().for_each(|slot| *slot = true);
                    order.push(k);
                }
            }
        }
    }
    order
}

/// Returns whether `to` is reachable from `from` by this relation.
fn is_reachable(after: &[Vec<usize>], from: usize, to: usize) -> bool {
    let (mut open, mut seen) = (vec![from], vec![false; after.len()]);
    while let Some(k) = open.pop() {
        if k == to {
            return true;
        }
        match seen.get_mut(k) {
            Some(slot @ false) => *slot = true,
            _ => continue,
        }
        open.extend(after.get(k).into_iter().flatten());
    }
    false
}

fn statement_outcomes(stmts: &[Statement], live: &[bool], renumber: &StatementRenumbering<'_>) -> Vec<DceOutcome> {
    let mut fates: Vec<DceOutcome> = Vec::with_capacity(stmts.len());
    for ((k, stmt), live) in (0..).zip(stmts).zip(live) {
        fates.push(match &stmt.rhs {
            _ if *live => DceOutcome::Kept(renumber.var(StmtId(k))),
            Rhs::Contract { bound, factors, .. } if bound.is_empty() => match factors.as_slice() {
                [one] => match fates.get(one.var.0 as usize) {
                    Some(DceOutcome::Kept(var) | DceOutcome::ForwardedTo(var)) => DceOutcome::ForwardedTo(*var),
                    Some(DceOutcome::Removed) | None => DceOutcome::Removed,
                },
                _ => DceOutcome::Removed,
            },
            _ => DceOutcome::Removed,
        });
    }
    fates
}

/// The new numbers of statements and checks.
pub(crate) struct StatementRenumbering<'a> {
    pub(crate) vars: &'a [u32],
    pub(crate) checks: &'a [u32],
}

impl StatementRenumbering<'_> {
    pub(crate) fn var(&self, v: StmtId) -> StmtId {
        StmtId(self.vars.get(v.0 as usize).copied().unwrap_or_default())
    }

    fn check(&self, c: u32) -> u32 {
        self.checks.get(c as usize).copied().unwrap_or_default()
    }

    fn local(&self, x: LocalId) -> Option<StmtId> {
        StmtId::from_local(x).map(|v| self.var(v))
    }

    pub(crate) fn poly(&self, p: &Poly) -> Poly {
        p.substitute(&|a| match a {
            Atom::Read(x, _, at) => {
                let v = self.local(*x)?;
                Some(Poly::atom(Atom::Read(v.local(), v.name(), at.iter().map(|p| self.poly(p)).collect())))
            }
            _ => None,
        })
    }

    pub(crate) fn pred(&self, p: &Pred) -> Pred {
        p.map(&|p| self.poly(p)).replace_opaque(&|x| {
            let v = self.local(x.source)?;
            let (local, name, at) = (v.local(), v.name(), x.indices.into());
            Some(if x.is_array { Pred::Element(local, name, at, true) } else { Pred::Member(local, name, at, true) })
        })
    }

    fn access(&self, a: &TensorAccess) -> TensorAccess {
        TensorAccess { var: self.var(a.var), at: a.at.iter().map(|p| self.poly(p)).collect() }
    }

    fn rhs(&self, rhs: &Rhs) -> Rhs {
        rhs.map(&mut |a| self.access(a), &|p| self.poly(p), &|p| self.pred(p))
    }
}
