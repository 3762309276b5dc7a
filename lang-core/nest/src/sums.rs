//! **Factorisation of sums.** An index that occurs in only one factor of a product is summed first:
//! `Σ i, j: A[j] · B[i, j]` becomes `Σ j: A[j] · T[j]` with `T[j] = Σ i: B[i, j]`. The product may
//! be a statement of its own, which is then no longer read.

use std::collections::HashMap;

use super::fewer::forget;
use super::is_trivial;
use super::numbers::{access, alone, context, indices, indices_of, is_inside, places, pred};
use lang_ir::ssa::{Access, Rhs, Ssa, Stmt, Var, index};
use lang_sizes::predicate::{Poly, Pred};
use lang_syntax::ops::Scalar;

/// Applies the pass to a function; `None` if nothing changes.
pub(super) fn sums(ssa: &Ssa) -> Option<Ssa> {
    let mut made = Made { ssa: ssa.clone(), known: HashMap::new() };
    let mut changed = false;
    for k in 0..ssa.stmts.len() {
        let Some(mut of) = product(&made.ssa, k) else { continue };
        let mut found = false;
        while let Some(next) = made.first(&of) {
            (of, found) = (next, true);
        }
        if found && let Some(slot) = made.ssa.stmts.get_mut(k) {
            *slot = of;
            changed = true;
        }
    }
    changed.then(|| {
        forget(&mut made.ssa, []);
        made.ssa
    })
}

/// Returns a statement that sums products of two factors; a separate statement for the product is
/// substituted.
pub(super) fn product(ssa: &Ssa, k: usize) -> Option<Stmt> {
    let stmt = ssa.stmts.get(k)?;
    let Rhs::Contract { bound, pred: terms, neg, factors } = &stmt.rhs else { return None };
    if bound.is_empty() || !matches!(stmt.scalar, Some(Scalar::F64 | Scalar::F32)) {
        return None;
    }
    let [one] = factors.as_slice() else { return (factors.len() == 2).then(|| stmt.clone()) };
    let of = ssa.stmts.get(one.var.0 as usize)?;
    let Rhs::Contract { bound: none, pred: where_of, neg: neg_of, factors: of_one } = &of.rhs else { return None };
    let dims: Vec<Poly> = stmt.dims.iter().chain(bound).cloned().collect();
    if !none.is_empty() || of_one.len() != 2 || of.scalar != stmt.scalar || !is_inside(ssa, &dims, terms, one) {
        return None;
    }
    let rhs = Rhs::Contract {
        bound: bound.clone(),
        pred: Pred::all([terms.clone(), pred(where_of, &one.at)]),
        neg: neg ^ neg_of,
        factors: of_one.iter().map(|f| access(f, &one.at)).collect(),
    };
    let mut needs = stmt.needs.clone();
    needs.extend(of.needs.iter().filter(|c| !stmt.needs.contains(c)));
    Some(Stmt { rhs, needs, ..stmt.clone() })
}

struct Made {
    ssa: Ssa,
    /// What is summed already: what, and along which axis.
    known: HashMap<(Var, usize), Var>,
}

impl Made {
    /// The statement with one of its factors summed before.
    fn first(&mut self, of: &Stmt) -> Option<Stmt> {
        let Rhs::Contract { bound, pred: terms, neg, factors } = &of.rhs else { return None };
        let free = of.dims.len();
        let (nth, axis, gone) = (free..free + bound.len()).find_map(|j| self.summed(of, j))?;
        let factor = factors.get(nth)?;
        let extent = bound.get(gone - free)?;
        let total = self.total(factor.var, axis)?;
        let left: Vec<usize> = (0..free + bound.len()).filter(|j| *j != gone).collect();
        let values = places(&left, free + bound.len());
        let mut rest: Vec<Access> = factors.iter().map(|f| access(f, &values)).collect();
        let slot = rest.get_mut(nth)?;
        slot.at.remove(axis);
        slot.var = total;
        // There is no term where there was none.
        let some = Pred::less(&Poly::default(), extent);
        let dims: Vec<Poly> = of.dims.iter().chain(bound).cloned().collect();
        let known = context(&self.ssa, &dims).implies(&some);
        let terms = if known { terms.clone() } else { Pred::all([terms.clone(), some]) };
        let bound = left.iter().filter(|j| **j >= free).filter_map(|j| bound.get(*j - free).cloned()).collect();
        let rhs = Rhs::Contract { bound, pred: pred(&terms, &values), neg: *neg, factors: rest };
        Some(Stmt { rhs, ..of.clone() })
    }

    /// The factor that alone has this bound index, for all of an axis: which, the axis, and the index.
    fn summed(&self, of: &Stmt, j: usize) -> Option<(usize, usize, usize)> {
        let Rhs::Contract { bound, pred: terms, factors, .. } = &of.rhs else { return None };
        let has = |p: &Poly| indices([p]).contains(&j);
        let extent = bound.get(j - of.dims.len())?;
        if indices_of(terms).contains(&j) || bound.iter().any(has) || !indices([extent]).is_empty() {
            return None;
        }
        let with: Vec<usize> =
            (0..factors.len()).filter(|n| factors.get(*n).is_some_and(|f| f.at.iter().any(has))).collect();
        let [nth] = with.as_slice() else { return None };
        let factor = factors.get(*nth)?;
        let source = self.ssa.stmts.get(factor.var.0 as usize).filter(|s| !is_trivial(&s.rhs))?;
        let axis = factor.at.iter().position(|p| alone(p) == Some(j))?;
        let once = factor.at.iter().filter(|p| has(p)).count() == 1;
        // All of its elements are wanted: every axis has an index that those before have not.
        let mut seen = indices([]);
        let all = factor.at.iter().all(|p| {
            let before = seen.len();
            seen.extend(indices([p]));
            seen.len() > before
        });
        (once && all && source.dims.get(axis) == Some(extent)).then_some((*nth, axis, j))
    }

    /// The sum of a statement along an axis.
    fn total(&mut self, var: Var, axis: usize) -> Option<Var> {
        if let Some(known) = self.known.get(&(var, axis)) {
            return Some(*known);
        }
        let source = self.ssa.stmts.get(var.0 as usize)?;
        let mut dims = source.dims.clone();
        let along = dims.remove(axis);
        let bound = index(dims.len(), &Poly::default()).value();
        let mut at: Vec<Poly> = (0..dims.len()).map(|k| index(k, &Poly::default()).value()).collect();
        at.insert(axis, bound);
        let rhs =
            Rhs::Contract { bound: vec![along], pred: Pred::truth(), neg: false, factors: vec![Access { var, at }] };
        let stmt = Stmt { dims, scalar: source.scalar, rhs, needs: source.needs.clone(), name: None };
        let same = |other: &Stmt| other.dims == stmt.dims && other.rhs == stmt.rhs;
        let known = self.ssa.stmts.iter().position(same);
        let total = Var(u32::try_from(known.unwrap_or(self.ssa.stmts.len())).ok()?);
        if known.is_none() {
            self.ssa.stmts.push(stmt);
        }
        self.known.insert((var, axis), total);
        Some(total)
    }
}
