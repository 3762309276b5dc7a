//! **Factorisation of sums.** An index that occurs in only one factor of a product is summed first:
//! `Σ i, j: A[j] · B[i, j]` becomes `Σ j: A[j] · T[j]` with `T[j] = Σ i: B[i, j]`. The product may
//! be a statement of its own, which is then no longer read.

use std::collections::HashMap;

use super::index_util::{
    as_index, index_context, indices, is_in_bounds, pred_indices, renumbering, substitute_access, substitute_pred,
};
use super::kernel_statements::is_trivial;
use super::rewriter::{Rewriter, Rewritten};
use lang_ir::ssa::{Rhs, SsaFunction, Statement, StmtId, TensorAccess, statement_index, union_of_checks};
use lang_sizes::predicate::{Poly, Pred};
use lang_syntax::ops::Scalar;

pub(crate) fn run(ssa: &SsaFunction) -> Option<Rewritten> {
    let mut pass = SumFactoring { rewriter: Rewriter::new(ssa), partial_sums: HashMap::new() };
    for k in (0..).take(ssa.stmts.len()).map(StmtId) {
        let Some(mut of) = two_factor_sum(pass.rewriter.ssa(), k) else { continue };
        let mut is_factored = false;
        while let Some(next) = pass.factor_once(k, &of) {
            (of, is_factored) = (next, true);
        }
        if is_factored {
            pass.rewriter.set_rhs(k, of.rhs);
            pass.rewriter.set_needs(k, of.needs);
        }
    }
    pass.rewriter.finish()
}

/// Returns a statement that sums products of two factors; a separate statement for the product is
/// substituted.
#[must_use]
pub fn two_factor_sum(ssa: &SsaFunction, sum: StmtId) -> Option<Statement> {
    let stmt = ssa.stmts.get(sum.0 as usize)?;
    let Rhs::Contract { bound, pred: terms, neg, factors } = &stmt.rhs else { return None };
    if bound.is_empty() || !matches!(stmt.scalar, Some(Scalar::F64 | Scalar::F32)) {
        return None;
    }
    let [one] = factors.as_slice() else { return (factors.len() == 2).then(|| stmt.clone()) };
    let of = ssa.stmts.get(one.var.0 as usize)?;
    let Rhs::Contract { bound: none, pred: where_of, neg: neg_of, factors: of_one } = &of.rhs else { return None };
    let dims: Vec<Poly> = stmt.dims.iter().chain(bound).cloned().collect();
    if !none.is_empty() || of_one.len() != 2 || of.scalar != stmt.scalar || !is_in_bounds(ssa, &dims, terms, one) {
        return None;
    }
    let rhs = Rhs::Contract {
        bound: bound.clone(),
        pred: Pred::all([terms.clone(), substitute_pred(where_of, &one.at)]),
        neg: neg ^ neg_of,
        factors: of_one.iter().map(|f| substitute_access(f, &one.at)).collect(),
    };
    Some(Statement { rhs, needs: union_of_checks(&stmt.needs, &of.needs), ..stmt.clone() })
}

struct SumFactoring {
    rewriter: Rewriter,
    /// The existing partial sums, by variable and axis.
    partial_sums: HashMap<(StmtId, usize), StmtId>,
}

impl SumFactoring {
    /// Sums one factor of the statement `sum` first, which is `of` so far.
    fn factor_once(&mut self, sum: StmtId, of: &Statement) -> Option<Statement> {
        let Rhs::Contract { bound, pred: terms, neg, factors } = &of.rhs else { return None };
        let free = of.dims.len();
        let (nth, axis, gone) = (free..free + bound.len()).find_map(|j| self.factorable_index(of, j))?;
        let factor = factors.get(nth)?;
        let extent = bound.get(gone - free)?;
        let total = self.partial_sum(sum, factor.var, axis)?;
        let left: Vec<usize> = (0..free + bound.len()).filter(|j| *j != gone).collect();
        let values = renumbering(&left, free + bound.len());
        let mut rest: Vec<TensorAccess> = factors.iter().map(|f| substitute_access(f, &values)).collect();
        let slot = rest.get_mut(nth)?;
        slot.at.remove(axis);
        slot.var = total;
        // An empty range of the removed index must still yield no term.
        let some = Pred::less(&Poly::default(), extent);
        let dims: Vec<Poly> = of.dims.iter().chain(bound).cloned().collect();
        let known = index_context(self.rewriter.ssa(), &dims).implies(&some);
        let terms = if known { terms.clone() } else { Pred::all([terms.clone(), some]) };
        let bound = left.iter().filter(|j| **j >= free).filter_map(|j| bound.get(*j - free).cloned()).collect();
        let rhs = Rhs::Contract { bound, pred: substitute_pred(&terms, &values), neg: *neg, factors: rest };
        Some(Statement { rhs, ..of.clone() })
    }

    /// Finds the only factor with this bound index, if the index ranges over a whole axis of it.
    /// Returns the position of the factor, the axis and the index.
    fn factorable_index(&self, of: &Statement, j: usize) -> Option<(usize, usize, usize)> {
        let Rhs::Contract { bound, pred: terms, factors, .. } = &of.rhs else { return None };
        let has = |p: &Poly| indices([p]).contains(&j);
        let extent = bound.get(j - of.dims.len())?;
        if pred_indices(terms).contains(&j) || bound.iter().any(has) || !indices([extent]).is_empty() {
            return None;
        }
        let with: Vec<usize> =
            (0..factors.len()).filter(|n| factors.get(*n).is_some_and(|f| f.at.iter().any(has))).collect();
        let [nth] = with.as_slice() else { return None };
        let factor = factors.get(*nth)?;
        let source = self.rewriter.get(factor.var).filter(|s| !is_trivial(&s.rhs))?;
        let axis = factor.at.iter().position(|p| as_index(p) == Some(j))?;
        let once = factor.at.iter().filter(|p| has(p)).count() == 1;
        // Each axis must have a new index. Otherwise the partial sum would cover elements that the
        // product does not read.
        let mut seen = indices([]);
        let all = factor.at.iter().all(|p| {
            let before = seen.len();
            seen.extend(indices([p]));
            seen.len() > before
        });
        (once && all && source.dims.get(axis) == Some(extent)).then_some((*nth, axis, j))
    }

    /// Returns the sum of a statement along an axis, and adds it for the statement `sum` if it does
    /// not exist.
    fn partial_sum(&mut self, sum: StmtId, var: StmtId, axis: usize) -> Option<StmtId> {
        if let Some(known) = self.partial_sums.get(&(var, axis)) {
            return Some(*known);
        }
        let source = self.rewriter.get(var)?;
        let mut dims = source.dims.clone();
        let along = dims.remove(axis);
        let bound = statement_index(dims.len(), &Poly::default()).value();
        let mut at: Vec<Poly> = (0..dims.len()).map(|k| statement_index(k, &Poly::default()).value()).collect();
        at.insert(axis, bound);
        let rhs = Rhs::Contract {
            bound: vec![along],
            pred: Pred::truth(),
            neg: false,
            factors: vec![TensorAccess { var, at }],
        };
        let stmt = Statement { dims, scalar: source.scalar, rhs, needs: source.needs.clone(), name: None };
        let same = |other: &Statement| other.dims == stmt.dims && other.rhs == stmt.rhs;
        let known = self.rewriter.ssa().stmts.iter().position(same).and_then(|k| u32::try_from(k).ok());
        let total = known.map_or_else(|| self.rewriter.push(sum, stmt.clone()), StmtId);
        self.partial_sums.insert((var, axis), total);
        Some(total)
    }
}
