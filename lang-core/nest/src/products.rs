//! **Recognition of matrix products.** Finds sums of products that are a matrix product for each
//! tuple of the other indices. In `Σ k: A[…, m, k] · B[…, k, n]`, the index `m` occurs in one
//! factor only, `n` in the other only, and `k` in both.
//!
//! The factors of a matrix product must be strided arrays in memory. A factor that is cheap to
//! compute, guarded or gathered is first materialised in a statement of its own. A guard on the
//! result alone is applied after the product.

use std::collections::{BTreeSet, HashMap};

use super::again;
use super::fewer::forget;
use super::items::has_reads;
use super::numbers::{access, alone, indices, indices_of, is_inside, places, pred};
use super::sums::product;
use lang_ir::ssa::{Access, Addend, Rhs, Ssa, Stmt, Var, index};
use lang_sizes::predicate::{Poly, Pred};

/// What has fewer values of an index than this, as far as its extent tells, is no product of matrices.
const FEWEST: i128 = 4;

/// A statement that is a matrix product.
#[derive(Clone, Debug)]
pub(super) struct Product {
    /// The index of the first factor's rows, of the second's columns, and of the sum.
    pub(super) along: [usize; 3],
    /// The factors, over the indices of the statement.
    pub(super) factors: [Access; 2],
    /// The factors that are materialised for it.
    pub(super) put: Vec<Var>,
    /// Whether a factor is zero where the statement has no term. A value in the other that is not
    /// finite then invalidates the sum.
    pub(super) masked: bool,
}

/// Returns the matrix products of a function, and the function with their materialised factors, if
/// it changes.
pub(super) fn products(ssa: &Ssa) -> (Option<Ssa>, HashMap<Var, Product>) {
    let mut made = Made { ssa: ssa.clone() };
    let mut all = HashMap::new();
    for k in 0..ssa.stmts.len() {
        if let Some((var, product)) = made.recognise(k) {
            all.insert(var, product);
        }
    }
    if all.is_empty() {
        return (None, all);
    }
    forget(&mut made.ssa, all.values().flat_map(|p| &p.factors).map(|f| f.var));
    (Some(made.ssa), all)
}

struct Made {
    ssa: Ssa,
}

/// What each conjunct of a predicate is asked of.
struct Asked {
    /// The result.
    result: Vec<Pred>,
    factors: [Vec<Pred>; 2],
}

impl Made {
    /// The statement as a product of matrices; it may become what only asks about one that is new.
    fn recognise(&mut self, k: usize) -> Option<(Var, Product)> {
        let stmt = product(&self.ssa, k)?;
        let Rhs::Contract { bound, pred: terms, neg, factors } = &stmt.rhs else { return None };
        let ([first, second], [_]) = (factors.as_slice(), bound.as_slice()) else { return None };
        let free = stmt.dims.len();
        let extents: Vec<Poly> = stmt.dims.iter().chain(bound).cloned().collect();
        if extents.iter().any(|n| has_reads(n) || !indices([n]).is_empty()) {
            return None;
        }
        let of = |f: &Access| indices(&f.at);
        let (a, b) = (of(first), of(second));
        let alone_in = |this: &BTreeSet<usize>, other: &BTreeSet<usize>| this.difference(other).copied().max();
        let (m, n) = (alone_in(&a, &b)?, alone_in(&b, &a)?);
        let along = [m, n, free];
        let many = |j: &usize| extents.get(*j).is_some_and(|n| n.as_constant().is_none_or(|n| n >= FEWEST));
        if m >= free || n >= free || !(a.contains(&free) && b.contains(&free)) || !along.iter().all(many) {
            return None;
        }
        let asked = asked(terms, along)?;
        let masked = asked.factors.iter().any(|p| !p.is_empty());
        let mut made = Vec::new();
        for ((factor, asked), own) in factors.iter().zip(&asked.factors).zip([m, n]) {
            made.push(self.factor(&extents, factor, asked, &[own, free])?);
        }
        let factors: [Access; 2] = made.try_into().ok()?;
        let var = Var(u32::try_from(k).ok()?);
        let read = stmt_reads(&stmt);
        let put = factors.iter().map(|f| f.var).filter(|v| !read.contains(v)).collect();
        let found = Product { along, factors, put, masked };
        if asked.result.is_empty() {
            *self.ssa.stmts.get_mut(k)? = stmt;
            return Some((var, found));
        }
        // The product without the question, which stands behind.
        let left = terms.conjuncts().iter().filter(|p| !asked.result.contains(p));
        let rhs = Rhs::Contract {
            bound: bound.clone(),
            pred: Pred::all(left.cloned()),
            neg: *neg,
            factors: match &stmt.rhs {
                Rhs::Contract { factors, .. } => factors.clone(),
                _ => return None,
            },
        };
        let whole = Var(u32::try_from(self.ssa.stmts.len()).ok()?);
        let at = (0..free).map(|j| index(j, &Poly::default()).value()).collect();
        let masks = Rhs::Contract {
            bound: Vec::new(),
            pred: Pred::all(asked.result),
            neg: false,
            factors: vec![Access { var: whole, at }],
        };
        self.ssa.stmts.push(Stmt { rhs, name: None, ..stmt.clone() });
        *self.ssa.stmts.get_mut(k)? = Stmt { rhs: masks, ..stmt };
        Some((whole, found))
    }

    /// Where the elements of a factor are that has these indices of its own.
    fn factor(&mut self, extents: &[Poly], of: &Access, asked: &[Pred], own: &[usize; 2]) -> Option<Access> {
        let source = self.ssa.stmts.get(of.var.0 as usize)?;
        let cheap = again::is_cheap(&self.ssa, of.var);
        let strided =
            |p: &Poly| alone(p).is_some_and(|j| own.contains(&j)) || own.iter().all(|j| !indices([p]).contains(j));
        let there = is_inside(&self.ssa, extents, &Pred::truth(), of) && !of.at.iter().any(has_reads);
        if asked.is_empty() && !cheap && there && of.at.iter().all(strided) {
            return Some(of.clone());
        }
        // Those around first; inside in the order in which it is read.
        let mut used = indices(&of.at);
        asked.iter().for_each(|p| used.extend(indices_of(p)));
        let mut order: Vec<usize> = used.iter().copied().filter(|j| !own.contains(j)).collect();
        let inner = of.at.iter().flat_map(|p| indices([p])).filter(|j| own.contains(j));
        inner.for_each(|j| {
            if !order.contains(&j) {
                order.push(j)
            }
        });
        let values = places(&order, extents.len());
        let asked = Pred::all(asked.iter().map(|p| pred(p, &values)));
        let read = access(of, &values);
        let rhs = match &source.rhs {
            Rhs::Add(items) if cheap => Rhs::Add(
                items
                    .iter()
                    .map(|item| Addend {
                        neg: item.neg,
                        pred: Pred::all([asked.clone(), pred(&item.pred, &read.at)]),
                        of: access(&item.of, &read.at),
                    })
                    .collect(),
            ),
            Rhs::Contract { bound, pred: terms, neg, factors } if cheap && bound.is_empty() => Rhs::Contract {
                bound: Vec::new(),
                pred: Pred::all([asked, pred(terms, &read.at)]),
                neg: *neg,
                factors: factors.iter().map(|f| access(f, &read.at)).collect(),
            },
            _ => Rhs::Contract { bound: Vec::new(), pred: asked, neg: false, factors: vec![read] },
        };
        let dims: Vec<Poly> = order.iter().filter_map(|j| extents.get(*j).cloned()).collect();
        let at = order.iter().map(|j| index(*j, &Poly::default()).value()).collect();
        // Each product has its own: it lives no longer than the loops around.
        let var = Var(u32::try_from(self.ssa.stmts.len()).ok()?);
        self.ssa.stmts.push(Stmt { dims, scalar: source.scalar, rhs, needs: source.needs.clone(), name: None });
        Some(Access { var, at })
    }
}

/// What a statement reads as elements.
fn stmt_reads(stmt: &Stmt) -> BTreeSet<Var> {
    let mut read = BTreeSet::new();
    stmt.rhs.for_each_access(&mut |a| read.extend([a.var]));
    read
}

/// What each conjunct is asked of; `None` if one is asked of no factor and not of the result.
fn asked(terms: &Pred, [m, n, k]: [usize; 3]) -> Option<Asked> {
    let mut all = Asked { result: Vec::new(), factors: [Vec::new(), Vec::new()] };
    for conjunct in terms.conjuncts() {
        let of = indices_of(conjunct);
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
