//! **Hoisting of gathers and scatters** out of products. The pass gathers a factor with
//! data-dependent subscripts once, outside the loops over the product's other indices. It sums the
//! terms with the same data-dependent target over the other indices first.
//!
//! `Y[i] = Σ j: A[P[j]] · B[i, j]` becomes `T[j] = A[P[j]]` and `Y[i] = Σ j: T[j] · B[i, j]`.
//! `Y[p] = Σ i, j: [p == P[j]] · A[i] · B[j]` becomes `T[j] = Σ i: A[i] · B[j]` and
//! `Y[p] = Σ j: [p == P[j]] · T[j]`. New statements are appended, so existing numbers stay valid.

use std::collections::HashMap;

use super::index_util::{indices, is_in_bounds, pred_indices, renumbering, substitute_access};
use super::kernel_statements::{has_reads, is_trivial};
use super::rewriter::{Rewriter, Rewritten};
use lang_ir::ssa::{
    Rhs, SsaFunction, Statement, StmtId, TensorAccess, for_each_pred_read, statement_index, substitute_indices,
    union_of_checks,
};
use lang_sizes::predicate::{Poly, Pred};

pub(crate) fn run(ssa: &SsaFunction) -> Option<Rewritten> {
    if !ssa.stmts.iter().any(|stmt| GuardedProduct::from_stmt(stmt).is_some_and(|p| p.is_data_dependent())) {
        return None;
    }
    let mut pass = GatherHoisting { rewriter: Rewriter::new(ssa), gathers: HashMap::new() };
    // Includes the new statements. This ends, because each has fewer data-dependent indices.
    let mut k = StmtId(0);
    while pass.rewriter.get(k).is_some() {
        pass.presum_scatter(k);
        pass.gather_factors(k);
        k.0 += 1;
    }
    pass.rewriter.finish()
}

/// `± Σ s: [p] · X₀[a₀] · X₁[a₁]`
struct GuardedProduct<'s> {
    stmt: &'s Statement,
    bound: &'s [Poly],
    pred: &'s Pred,
    neg: bool,
    factors: &'s [TensorAccess],
}

impl<'s> GuardedProduct<'s> {
    fn from_stmt(stmt: &'s Statement) -> Option<Self> {
        let Rhs::Contract { bound, pred, neg, factors } = &stmt.rhs else { return None };
        Some(Self { stmt, bound, pred, neg: *neg, factors })
    }

    fn is_data_dependent(&self) -> bool {
        let mut asks = false;
        for_each_pred_read(self.pred, &mut |_| asks = true);
        asks || self.factors.iter().any(|f| f.at.iter().any(has_reads))
    }

    /// The extents of all its indices.
    fn extents(&self) -> Vec<Poly> {
        self.stmt.dims.iter().chain(self.bound).cloned().collect()
    }
}

struct GatherHoisting {
    rewriter: Rewriter,
    /// The existing gathers, by extents, predicate and access.
    gathers: HashMap<(Vec<Poly>, Pred, TensorAccess), StmtId>,
}

impl GatherHoisting {
    /// Adds a statement for its reader, which must find it complete.
    fn push_stmt(&mut self, reader: StmtId, stmt: Statement) -> StmtId {
        let var = self.rewriter.push(reader, stmt);
        self.rewriter.complete_first(var);
        var
    }

    /// Sums the terms of each target before a scatter.
    fn presum_scatter(&mut self, k: StmtId) {
        let Some((first, rest)) =
            self.rewriter.get(k).and_then(|stmt| split_scatter(self.rewriter.ssa(), &GuardedProduct::from_stmt(stmt)?))
        else {
            return;
        };
        let var = self.push_stmt(k, first);
        self.rewriter.set_rhs(k, rest(var));
    }

    /// Gathers each factor with data-dependent subscripts once for all indices that its subscripts
    /// do not mention.
    fn gather_factors(&mut self, k: StmtId) {
        let Some(product) = self.rewriter.get(k).and_then(GuardedProduct::from_stmt).filter(|p| p.factors.len() == 2)
        else {
            return;
        };
        let found: Vec<Option<(Statement, Vec<Poly>)>> =
            product.factors.iter().map(|f| gather_of_factor(self.rewriter.ssa(), &product, f)).collect();
        let mut rhs = product.stmt.rhs.clone();
        for (nth, found) in found.into_iter().enumerate() {
            let (Some((stmt, at)), Rhs::Contract { factors, .. }) = (found, &mut rhs) else { continue };
            let Rhs::Contract { pred, factors: of, .. } = &stmt.rhs else { continue };
            let Some(of) = of.first() else { continue };
            let key = (stmt.dims.clone(), pred.clone(), of.clone());
            let var = match self.gathers.get(&key) {
                Some(var) => *var,
                None => {
                    let var = self.push_stmt(k, stmt.clone());
                    self.gathers.insert(key, var);
                    var
                }
            };
            let needs = self.rewriter.get(var).map(|same| union_of_checks(&same.needs, &stmt.needs));
            needs.into_iter().for_each(|needs| self.rewriter.set_needs(var, needs));
            factors.get_mut(nth).into_iter().for_each(|slot| *slot = TensorAccess { var, at: at.clone() });
        }
        self.rewriter.set_rhs(k, rhs);
    }
}

/// Returns the sum over the bound indices that do not determine the target. Also returns the
/// function that builds the scatter of this sum.
fn split_scatter(
    ssa: &SsaFunction,
    product: &GuardedProduct<'_>,
) -> Option<(Statement, impl Fn(StmtId) -> Rhs + use<>)> {
    let (extents, free) = (product.extents(), product.stmt.dims.len());
    let conjuncts = product.pred.conjuncts();
    let (slot, place, determining, equation) = (0..free).find_map(|slot| {
        let atom = statement_index(slot, &Poly::default()).atom();
        let solutions = conjuncts.iter().enumerate().filter_map(|(c, p)| Some((c, p.solve_for(&atom)?)));
        let (equation, solution) = solutions.into_iter().find(|(_, value)| has_reads(value))?;
        let by = indices([&solution]);
        Some((slot, solution, by, equation))
    })?;
    let others: Vec<&Pred> =
        conjuncts.iter().enumerate().filter(|(c, _)| *c != equation).map(|(_, conjunct)| conjunct).collect();
    let mentioned = others.iter().any(|p| pred_indices(p).contains(&slot));
    if determining.contains(&slot) || mentioned || indices(product.factors.iter().flat_map(|f| &f.at)).contains(&slot) {
        return None;
    }
    let (telling, summed): (Vec<usize>, Vec<usize>) = (free..extents.len()).partition(|j| determining.contains(j));
    if !has_long_extent(&extents, &summed) || extents.iter().any(|n| !indices([n]).is_empty()) {
        return None;
    }
    let kept: Vec<usize> = (0..free).filter(|j| *j != slot).chain(telling.iter().copied()).collect();
    let inner: Vec<usize> = kept.iter().chain(&summed).copied().collect();
    let of = |which: &[usize]| which.iter().filter_map(|j| extents.get(*j).cloned()).collect::<Vec<Poly>>();
    let renumbered = renumbering(&inner, extents.len());
    let here = |p: &Poly| substitute_indices(p, &renumbered);
    let factors: Vec<TensorAccess> = product.factors.iter().map(|f| substitute_access(f, &renumbered)).collect();
    let mut pred = Pred::all(others.iter().map(|p| p.map(&here)));
    // A factor may be in bounds only because the target is, so the guard must include the target's
    // bounds.
    let inner_extents = of(&inner);
    if !factors.iter().all(|f| is_in_bounds(ssa, &inner_extents, &pred, f)) {
        pred = pred.and(&Pred::in_range(&here(&place), extents.get(slot)?));
    }
    let first = Statement {
        dims: of(&kept),
        scalar: product.stmt.scalar,
        rhs: Rhs::Contract { bound: of(&summed), pred, neg: false, factors },
        needs: product.stmt.needs.clone(),
        name: None,
    };
    let outer: Vec<usize> = (0..free).chain(telling.iter().copied()).collect();
    let renumbered = renumbering(&outer, extents.len());
    let here = |p: &Poly| substitute_indices(p, &renumbered);
    let without = |p: &&Pred| pred_indices(p).iter().all(|j| !summed.contains(j));
    let pred = Pred::all(conjuncts.iter().filter(without).map(|p| p.map(&here)));
    let at: Vec<Poly> = kept.iter().filter_map(|j| renumbered.get(*j).cloned()).collect();
    let (bound, neg) = (of(&telling), product.neg);
    Some((first, move |var| Rhs::Contract {
        bound: bound.clone(),
        pred: pred.clone(),
        neg,
        factors: vec![TensorAccess { var, at: at.clone() }],
    }))
}

/// Returns the gather of a factor, and the indices at which the product then reads it.
fn gather_of_factor(
    ssa: &SsaFunction,
    product: &GuardedProduct<'_>,
    factor: &TensorAccess,
) -> Option<(Statement, Vec<Poly>)> {
    let source = ssa.stmts.get(factor.var.0 as usize).filter(|stmt| !is_trivial(&stmt.rhs))?;
    if !factor.at.iter().any(has_reads) {
        return None;
    }
    let extents = product.extents();
    let own = indices(&factor.at);
    let (own, others): (Vec<usize>, Vec<usize>) = (0..extents.len()).partition(|j| own.contains(j));
    // The gather must read only elements that the product reads.
    let tells = |p: &Pred| pred_indices(p).iter().all(|j| own.contains(j));
    if !has_long_extent(&extents, &others)
        || !product.pred.conjuncts().iter().all(tells)
        || extents.iter().any(|n| !indices([n]).is_empty())
    {
        return None;
    }
    let renumbered = renumbering(&own, extents.len());
    let there = others.iter().filter_map(|j| extents.get(*j)).map(|n| Pred::less(&Poly::default(), n));
    let pred = product.pred.conjuncts().iter().map(|p| p.map(&|p| substitute_indices(p, &renumbered)));
    let stmt = Statement {
        dims: own.iter().filter_map(|j| extents.get(*j).cloned()).collect(),
        scalar: source.scalar,
        rhs: Rhs::Contract {
            bound: Vec::new(),
            pred: Pred::all(pred.chain(there)),
            neg: false,
            factors: vec![substitute_access(factor, &renumbered)],
        },
        needs: product.stmt.needs.clone(),
        name: None,
    };
    Some((stmt, own.iter().map(|j| statement_index(*j, &Poly::default()).value()).collect()))
}

/// Returns whether one of these indices may have more than 4 values.
fn has_long_extent(extents: &[Poly], which: &[usize]) -> bool {
    which.iter().filter_map(|j| extents.get(*j)).any(|n| n.as_constant().is_none_or(|n| n > 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lang_reader::read_ssa;

    /// Checks the statements that the pass produces from `X3`.
    #[track_caller]
    fn check(stmt: &str, expected: &[&str]) {
        let text = format!(
            "ssa f[n, m](x: [m]f64, p: [n]i64, b: [n, n]f64) -> [n]f64 =
  X0[i0 < m]: f64 = input x
  X1[i0 < n]: i64 = input p
  X2[i0 < n, i1 < n]: f64 = input b
  {stmt}
  out X3
"
        );
        let ssa = read_ssa("a.iv", &text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let text = run(&ssa).map_or(ssa, |rewritten| rewritten.ssa).to_string();
        let lines: Vec<&str> =
            text.lines().map(str::trim).skip(4).take_while(|line| !line.starts_with("out")).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_is_read_where_data_tell_is_fetched_once() {
        check(
            "X3[i0 < n]: f64 = sum i1 < n: [i1 + 1 < n] * X0[X1[i1]] * X2[i0, i1]",
            &[
                "X3[i0 < n]: f64 = [i0 + 1 < n && 0 < n] * X0[X1[i0]]",
                "X4[i0 < n]: f64 = sum i1 < n: [i1 + 1 < n] * X3[i1] * X2[i0, i1]",
            ],
        );
        // The gather would read elements that the product does not read.
        let by_other = "X3[i0 < n]: f64 = sum i1 < n: [i0 < i1] * X0[X1[i1]] * X2[i0, i1]";
        check(by_other, &[by_other]);
        // No other index repeats the read.
        let all = "X3[i0 < n]: f64 = X0[X1[i0]] * X2[i0, i0]";
        check(all, &[all]);
    }

    #[test]
    fn terms_of_one_place_that_data_tell_are_summed_first() {
        check(
            "X3[i0 < m]: f64 = sum i1 < n, i2 < n: [i0 == X1[i2] && i1 < i2] * X2[i1, i2]",
            &[
                "X3[i0 < n]: f64 = sum i1 < n: [i1 < i0] * X2[i1, i0]",
                "X4[i0 < m]: f64 = sum i1 < n: [i0 == X1[i1]] * X3[i1]",
            ],
        );
        // The factor is in bounds only if the target is.
        check(
            "X3[i0 < n]: f64 = sum i1 < n, i2 < n: [i0 == X1[i2]] * X2[i1, X1[i2]]",
            &[
                "X3[i0 < n]: f64 = sum i1 < n: [X1[i0] < n && 0 <= X1[i0]] * X2[i1, X1[i0]]",
                "X4[i0 < n]: f64 = sum i1 < n: [i0 == X1[i1]] * X3[i1]",
            ],
        );
        // Each term has a target of its own.
        let all = "X3[i0 < m]: f64 = sum i1 < n: [i0 == X1[i1]] * X2[i1, i1]";
        check(all, &[all]);
    }
}
