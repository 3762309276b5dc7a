//! **Scatter reductions.** A loop-carried array that is only added to at data-dependent indices
//! becomes a sum. `C with [a(t)] += v(t)` over all iterations equals
//! `C[i] + Σ t: [i == a(t)] · v(t)`, whose terms need no order.

use std::collections::{HashMap, HashSet};

use super::inside::Inside;
use super::items::has_reads;
use super::numbers::{access, alone, pred};
use lang_ir::region::{Arg, Loop, Part, Trips};
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, at_indices, for_each_read, index, reads};
use lang_sizes::predicate::{Poly, Pred};

/// A loop-carried array that is only added to.
pub(super) struct Sum {
    /// The statement of the body that adds.
    pub(super) update: Var,
}

/// Returns the scatter reductions of a loop, by the input of the body.
pub(super) fn sums(ssa: &Ssa, of: &Loop, body: &Ssa) -> HashMap<u32, Sum> {
    let mut found = HashMap::new();
    if !matches!(of.trips, Trips::Count(_)) {
        return found;
    }
    let mut read: HashMap<Var, usize> = HashMap::new();
    let mut see = |v: Var| *read.entry(v).or_default() += 1;
    for stmt in &body.stmts {
        stmt.rhs.for_each_operand(&mut see);
        stmt.dims.iter().for_each(|n| reads(n, &mut see));
    }
    for check in &body.checks {
        check.dims.iter().for_each(|n| reads(n, &mut see));
        [&check.guard, &check.cond].into_iter().for_each(|p| for_each_read(p, &mut see));
    }
    body.outputs.iter().for_each(|(_, v)| see(*v));
    // Of the loop what is left in the end is read, and nothing before.
    let parts: HashSet<Part> = ssa.stmts.iter().filter_map(|stmt| part_of(stmt, of)).collect();
    for (k, arg) in (0..).zip(&of.args) {
        let Arg::Carried { next, .. } = arg else { continue };
        let carried = (0..).map(Var).zip(&body.stmts).find(|(_, s)| s.rhs == Rhs::Input(k));
        let (Some((carried, before)), Some((_, update))) = (carried, body.outputs.get(*next as usize)) else {
            continue;
        };
        let Some(stmt) = body.stmts.get(update.0 as usize) else { continue };
        let Rhs::Update { base, batch: 0, add: true, .. } = &stmt.rhs else { continue };
        let once = |v: Var| read.get(&v) == Some(&1);
        let whole = base.var == carried && base.at.is_empty() && before.dims == stmt.dims;
        if whole
            && once(carried)
            && once(*update)
            && !parts.contains(&Part::Every(*next))
            && !parts.contains(&Part::State(k))
        {
            found.insert(k, Sum { update: *update });
        }
    }
    found
}

fn part_of(stmt: &Stmt, of: &Loop) -> Option<Part> {
    let Rhs::Loop(other, part) = &stmt.rhs else { return None };
    (**other == *of).then_some(*part)
}

impl Sum {
    /// Adds the sum of all terms to the function. The extents `dims` are those of the batch,
    /// followed by the carried tensor's own.
    pub(super) fn added(&self, inside: &mut Inside, body: &Ssa, dims: &[Poly]) -> Option<Access> {
        let stmt = body.stmts.get(self.update.0 as usize)?;
        let Rhs::Update { bound, pred: asked, at, value, .. } = &stmt.rhs else { return None };
        // The place has the indices of the batch, and behind these the number of the iteration.
        let (batch, outer) = (inside.around.len().checked_sub(1)?, inside.around.len());
        let own = dims.len().checked_sub(batch).filter(|own| *own == at.len() && *own == stmt.dims.len())?;
        let here = |k: usize| index(k, &Poly::default()).value();
        let mut values: Vec<Poly> =
            (0..batch).map(here).chain([here(dims.len())]).chain((batch..dims.len()).map(here)).collect();
        let mut holds = Vec::new();
        for (j, extent) in bound.iter().enumerate() {
            // What is an index of the element is that of the sum.
            let k = at.iter().position(|p| alone(p) == Some(own + j))?;
            if dims.get(batch + k) != Some(&at_indices(&inside.put.poly(extent), &values)) {
                return None;
            }
            values.push(here(batch + k));
        }
        if values.len() != outer + own + bound.len() || dims.iter().any(has_reads) {
            return None;
        }
        let put = &inside.put;
        for (k, p) in at.iter().enumerate() {
            let place = at_indices(&put.poly(p), &values);
            // Other places are found by no equation that says which iteration has them.
            if place != here(batch + k) && !has_reads(&place) {
                return None;
            }
            holds.push(Pred::equal(&here(batch + k), &place));
        }
        holds.push(pred(&put.pred(asked), &values));
        let value = access(&put.access(value), &values);
        let needs = stmt.needs.iter().map(|c| inside.check(body, *c)).collect::<Option<Vec<u32>>>()?;
        let iterations = vec![inside.around.get(batch)?.clone()];
        let rhs = Rhs::Contract { bound: iterations, pred: Pred::all(holds), neg: false, factors: vec![value] };
        let var = inside.push(Stmt { dims: dims.to_vec(), scalar: stmt.scalar, rhs, needs, name: None })?;
        Some(Access { var, at: (0..dims.len()).map(here).collect() })
    }
}
