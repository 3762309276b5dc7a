//! **Recognition of matrix products.** Finds sums of products that are a matrix product for each
//! tuple of the other indices. In `Σ k: A[…, m, k] · B[…, k, n]`, the index `m` occurs in one
//! factor only, `n` in the other only, and `k` in both.
//!
//! The factors of a matrix product must be strided arrays in memory. A factor that is cheap to
//! compute, guarded or gathered is first materialised in a statement of its own. A guard on the
//! result alone is applied after the product.

use std::collections::{BTreeSet, HashMap};

use super::rematerialise;
use lang_ir::ssa::{Addend, Rhs, SsaFunction, Statement, StmtId, TensorAccess, statement_index};
use lang_opt::factor_sums::two_factor_sum;
use lang_opt::index_util::{
    as_index, indices, is_in_bounds, pred_indices, renumbering, substitute_access, substitute_pred,
};
use lang_opt::invariant_axes::eliminate_dead_stmts;
use lang_opt::kernel_statements::has_reads;
use lang_sizes::predicate::{Poly, Pred};

/// The minimum extent of each index of a matrix product, if the extent is constant.
const MIN_GEMM_EXTENT: i128 = 4;

/// A statement that is a matrix product.
#[derive(Clone, Debug)]
pub(super) struct RecognisedProduct {
    /// The index of the first factor's rows, of the second's columns, and of the sum.
    pub(super) indices: [usize; 3],
    /// The factors, over the indices of the statement.
    pub(super) factors: [TensorAccess; 2],
    /// The factors that are materialised for it.
    pub(super) materialised_factors: Vec<StmtId>,
    /// Whether a factor is zero where the statement has no term. A value in the other that is not
    /// finite then invalidates the sum.
    pub(super) is_masked: bool,
}

/// Returns the matrix products of a function, and the function with their materialised factors, if
/// it changes.
pub(super) fn recognise_products(ssa: &SsaFunction) -> (Option<SsaFunction>, HashMap<StmtId, RecognisedProduct>) {
    let mut pass = ProductRecognition { ssa: ssa.clone() };
    let mut all = HashMap::new();
    for k in 0..ssa.stmts.len() {
        if let Some((var, product)) = pass.recognise(k) {
            all.insert(var, product);
        }
    }
    if all.is_empty() {
        return (None, all);
    }
    eliminate_dead_stmts(&mut pass.ssa, all.values().flat_map(|p| &p.factors).map(|f| f.var));
    (Some(pass.ssa), all)
}

struct ProductRecognition {
    ssa: SsaFunction,
}

/// The conjuncts of a guard, by the result or the factor that they restrict.
struct GuardPartition {
    /// The result.
    result: Vec<Pred>,
    factors: [Vec<Pred>; 2],
}

impl ProductRecognition {
    /// Recognises a matrix product. If the result has a guard, the product becomes a new statement,
    /// and this one applies the guard.
    fn recognise(&mut self, k: usize) -> Option<(StmtId, RecognisedProduct)> {
        let stmt = two_factor_sum(&self.ssa, StmtId(u32::try_from(k).ok()?))?;
        let Rhs::Contract { bound, pred: terms, neg, factors } = &stmt.rhs else { return None };
        let ([first, second], [_]) = (factors.as_slice(), bound.as_slice()) else { return None };
        let free = stmt.dims.len();
        let extents: Vec<Poly> = stmt.dims.iter().chain(bound).cloned().collect();
        if extents.iter().any(|n| has_reads(n) || !indices([n]).is_empty()) {
            return None;
        }
        let of = |f: &TensorAccess| indices(&f.at);
        let (a, b) = (of(first), of(second));
        let alone_in = |this: &BTreeSet<usize>, other: &BTreeSet<usize>| this.difference(other).copied().max();
        let (m, n) = (alone_in(&a, &b)?, alone_in(&b, &a)?);
        let along = [m, n, free];
        let many = |j: &usize| extents.get(*j).is_some_and(|n| n.as_constant().is_none_or(|n| n >= MIN_GEMM_EXTENT));
        if m >= free || n >= free || !(a.contains(&free) && b.contains(&free)) || !along.iter().all(many) {
            return None;
        }
        let guard_parts = partition_guard(terms, along)?;
        let masked = guard_parts.factors.iter().any(|p| !p.is_empty());
        let mut strided = Vec::new();
        for ((factor, guard), own) in factors.iter().zip(&guard_parts.factors).zip([m, n]) {
            strided.push(self.strided_factor(&extents, factor, guard, &[own, free])?);
        }
        let factors: [TensorAccess; 2] = strided.try_into().ok()?;
        let var = StmtId(u32::try_from(k).ok()?);
        let read = element_operands(&stmt);
        let put = factors.iter().map(|f| f.var).filter(|v| !read.contains(v)).collect();
        let found = RecognisedProduct { indices: along, factors, materialised_factors: put, is_masked: masked };
        if guard_parts.result.is_empty() {
            *self.ssa.stmts.get_mut(k)? = stmt;
            return Some((var, found));
        }
        // The new statement is the product without the guard of the result.
        let left = terms.conjuncts().iter().filter(|p| !guard_parts.result.contains(p));
        let rhs = Rhs::Contract {
            bound: bound.clone(),
            pred: Pred::all(left.cloned()),
            neg: *neg,
            factors: match &stmt.rhs {
                Rhs::Contract { factors, .. } => factors.clone(),
                _ => return None,
            },
        };
        let whole = StmtId(u32::try_from(self.ssa.stmts.len()).ok()?);
        let at = (0..free).map(|j| statement_index(j, &Poly::default()).value()).collect();
        let masks = Rhs::Contract {
            bound: Vec::new(),
            pred: Pred::all(guard_parts.result),
            neg: false,
            factors: vec![TensorAccess { var: whole, at }],
        };
        self.ssa.stmts.push(Statement { rhs, name: None, ..stmt.clone() });
        *self.ssa.stmts.get_mut(k)? = Statement { rhs: masks, ..stmt };
        Some((whole, found))
    }

    /// Returns the access to a strided factor, and materialises it if needed. `own` contains its
    /// two indices of the matrix product.
    fn strided_factor(
        &mut self,
        extents: &[Poly],
        of: &TensorAccess,
        conjuncts: &[Pred],
        own: &[usize; 2],
    ) -> Option<TensorAccess> {
        let source = self.ssa.stmts.get(of.var.0 as usize)?;
        let cheap = rematerialise::is_cheap(&self.ssa, of.var);
        let strided =
            |p: &Poly| as_index(p).is_some_and(|j| own.contains(&j)) || own.iter().all(|j| !indices([p]).contains(j));
        let there = is_in_bounds(&self.ssa, extents, &Pred::truth(), of) && !of.at.iter().any(has_reads);
        if conjuncts.is_empty() && !cheap && there && of.at.iter().all(strided) {
            return Some(of.clone());
        }
        // The outer indices come first, then those of the matrix in the order of the access.
        let mut used = indices(&of.at);
        conjuncts.iter().for_each(|p| used.extend(pred_indices(p)));
        let mut order: Vec<usize> = used.iter().copied().filter(|j| !own.contains(j)).collect();
        let inner = of.at.iter().flat_map(|p| indices([p])).filter(|j| own.contains(j));
        inner.for_each(|j| {
            if !order.contains(&j) {
                order.push(j)
            }
        });
        let values = renumbering(&order, extents.len());
        let guard = Pred::all(conjuncts.iter().map(|p| substitute_pred(p, &values)));
        let read = substitute_access(of, &values);
        let rhs = match &source.rhs {
            Rhs::Add(items) if cheap => Rhs::Add(
                items
                    .iter()
                    .map(|item| Addend {
                        neg: item.neg,
                        pred: Pred::all([guard.clone(), substitute_pred(&item.pred, &read.at)]),
                        operand: substitute_access(&item.operand, &read.at),
                    })
                    .collect(),
            ),
            Rhs::Contract { bound, pred: terms, neg, factors } if cheap && bound.is_empty() => Rhs::Contract {
                bound: Vec::new(),
                pred: Pred::all([guard, substitute_pred(terms, &read.at)]),
                neg: *neg,
                factors: factors.iter().map(|f| substitute_access(f, &read.at)).collect(),
            },
            _ => Rhs::Contract { bound: Vec::new(), pred: guard, neg: false, factors: vec![read] },
        };
        let dims: Vec<Poly> = order.iter().filter_map(|j| extents.get(*j).cloned()).collect();
        let at = order.iter().map(|j| statement_index(*j, &Poly::default()).value()).collect();
        // Each product has its own copy, which lives no longer than the enclosing loops.
        let var = StmtId(u32::try_from(self.ssa.stmts.len()).ok()?);
        self.ssa.stmts.push(Statement { dims, scalar: source.scalar, rhs, needs: source.needs.clone(), name: None });
        Some(TensorAccess { var, at })
    }
}

/// Returns the variables whose elements a statement reads.
fn element_operands(stmt: &Statement) -> BTreeSet<StmtId> {
    let mut read = BTreeSet::new();
    stmt.rhs.for_each_access(&mut |a| read.extend([a.var]));
    read
}

/// Partitions the conjuncts; `None` if one depends on all three indices.
fn partition_guard(terms: &Pred, [m, n, k]: [usize; 3]) -> Option<GuardPartition> {
    let mut all = GuardPartition { result: Vec::new(), factors: [Vec::new(), Vec::new()] };
    for conjunct in terms.conjuncts() {
        let of = pred_indices(conjunct);
        let list = match (of.contains(&k), of.contains(&m), of.contains(&n)) {
            (false, _, _) => &mut all.result,
            (true, _, false) => &mut all.factors[0],
            (true, false, true) => &mut all.factors[1],
            (true, true, true) => return None,
        };
        list.push(conjunct.clone());
    }
    Some(all)
}
