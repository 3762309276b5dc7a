//! **Scatter reductions.** A loop-carried array that is only added to at data-dependent indices
//! becomes a sum. `C with [a(t)] += v(t)` over all iterations equals
//! `C[i] + Σ t: [i == a(t)] · v(t)`, whose terms need no order.

use std::collections::{HashMap, HashSet};

use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{
    Rhs, SsaFunction, Statement, StmtId, TensorAccess, for_each_poly_read, for_each_pred_read, statement_index,
    substitute_indices,
};
use lang_opt::index_util::{as_index, substitute_access, substitute_pred};
use lang_opt::kernel_statements::has_reads;
use lang_opt::splice::Splicer;
use lang_sizes::predicate::{Poly, Pred};

/// A loop-carried array that is only added to.
pub(super) struct ScatterReduction {
    /// The statement of the body that adds.
    pub(super) update: StmtId,
}

/// Returns the scatter reductions of a loop, by the input of the body.
pub(super) fn scatter_reductions(
    ssa: &SsaFunction,
    (producer, of): (StmtId, &SsaLoop),
    body: &SsaFunction,
) -> HashMap<u32, ScatterReduction> {
    let mut found = HashMap::new();
    if !matches!(of.trip_count, LoopTripCount::Fixed(_)) {
        return found;
    }
    let mut read: HashMap<StmtId, usize> = HashMap::new();
    let mut see = |v: StmtId| *read.entry(v).or_default() += 1;
    for stmt in &body.stmts {
        stmt.rhs.for_each_operand(&mut see);
        stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut see));
    }
    for check in &body.checks {
        check.dims.iter().for_each(|n| for_each_poly_read(n, &mut see));
        [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut see));
    }
    body.outputs.iter().for_each(|(_, v)| see(*v));
    // Only the final value may have readers.
    let results: HashSet<LoopResult> = ssa.loop_results(producer).map(|(_, result)| result).collect();
    for (k, arg) in (0..).zip(&of.args) {
        let LoopArg::Carried { next, .. } = arg else { continue };
        let carried = (0..).map(StmtId).zip(&body.stmts).find(|(_, s)| s.rhs == Rhs::Input(k));
        let (Some((carried, before)), Some((_, update))) = (carried, body.outputs.get(*next as usize)) else {
            continue;
        };
        let Some(stmt) = body.stmts.get(update.0 as usize) else { continue };
        let Rhs::Update { base, batch: 0, accumulate: true, .. } = &stmt.rhs else { continue };
        let once = |v: StmtId| read.get(&v) == Some(&1);
        let whole = base.var == carried && base.at.is_empty() && before.dims == stmt.dims;
        if whole
            && once(carried)
            && once(*update)
            && !results.contains(&LoopResult::PerIteration(*next))
            && !results.contains(&LoopResult::Checkpoint(k))
        {
            found.insert(k, ScatterReduction { update: *update });
        }
    }
    found
}

impl ScatterReduction {
    /// Adds the sum of all terms to the function. The extents `dims` are those of the batch,
    /// followed by the carried tensor's own.
    pub(super) fn add_sum(&self, inside: &mut Splicer, body: &SsaFunction, dims: &[Poly]) -> Option<TensorAccess> {
        let stmt = body.stmts.get(self.update.0 as usize)?;
        let Rhs::Update { bound, pred: condition, at, value, .. } = &stmt.rhs else { return None };
        // The site's indices are those of the batch, followed by the iteration number.
        let (batch, outer) = (inside.enclosing_extents.len().checked_sub(1)?, inside.enclosing_extents.len());
        let own = dims.len().checked_sub(batch).filter(|own| *own == at.len() && *own == stmt.dims.len())?;
        let here = |k: usize| statement_index(k, &Poly::default()).value();
        let mut values: Vec<Poly> =
            (0..batch).map(here).chain([here(dims.len())]).chain((batch..dims.len()).map(here)).collect();
        let mut holds = Vec::new();
        for (j, extent) in bound.iter().enumerate() {
            // A bound index that is a subscript of the update equals the index of the sum there.
            let k = at.iter().position(|p| as_index(p) == Some(own + j))?;
            if dims.get(batch + k) != Some(&substitute_indices(&inside.substitution.map_poly(extent), &values)) {
                return None;
            }
            values.push(here(batch + k));
        }
        if values.len() != outer + own + bound.len() || dims.iter().any(has_reads) {
            return None;
        }
        let put = &inside.substitution;
        for (k, p) in at.iter().enumerate() {
            let place = substitute_indices(&put.map_poly(p), &values);
            // With any other subscript, no equation determines the iteration that updates an
            // element.
            if place != here(batch + k) && !has_reads(&place) {
                return None;
            }
            holds.push(Pred::equal(&here(batch + k), &place));
        }
        holds.push(substitute_pred(&put.map_pred(condition), &values));
        let value = substitute_access(&put.map_access(value), &values);
        let needs = stmt.needs.iter().map(|c| inside.splice_check(body, *c)).collect::<Option<Vec<u32>>>()?;
        let iterations = vec![inside.enclosing_extents.get(batch)?.clone()];
        let rhs = Rhs::Contract { bound: iterations, pred: Pred::all(holds), neg: false, factors: vec![value] };
        let var = inside.push_stmt(Statement { dims: dims.to_vec(), scalar: stmt.scalar, rhs, needs, name: None })?;
        Some(TensorAccess { var, at: (0..dims.len()).map(here).collect() })
    }
}
