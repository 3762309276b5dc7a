//! **Index utilities** for passes over statements: the indices that an expression mentions, their
//! renumbering in another statement, and the facts about them.

use std::collections::BTreeSet;

use lang_ir::ssa::{SsaFunction, TensorAccess, index_number, statement_index, substitute_indices};
use lang_sizes::predicate::{Atom, FactContext, Poly, Pred};

/// Returns the statement indices that the polynomials mention.
pub fn indices<'p>(all: impl IntoIterator<Item = &'p Poly>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for p in all {
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) = a {
                found.extend(index_number(*l));
            }
        });
    }
    found
}

/// Returns the statement indices that the predicate mentions.
pub fn pred_indices(p: &Pred) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    p.visit(&mut |p| found.extend(indices([p])), &mut |_| {});
    found
}

/// Returns the index that the polynomial is, if it is nothing else.
pub fn as_index(p: &Poly) -> Option<usize> {
    p.as_atom().and_then(|a| if let Atom::Local(l, _) = a { index_number(*l) } else { None })
}

/// Returns the substitution of indices for a statement that keeps only the indices in `which`:
/// their new values, and 0 for the others.
pub fn renumbering(which: &[usize], all: usize) -> Vec<Poly> {
    let new = |j| which.iter().position(|k| *k == j).map(|k| statement_index(k, &Poly::default()).value());
    (0..all).map(|j| new(j).unwrap_or_default()).collect()
}

/// Substitutes the indices of an access.
pub fn substitute_access(of: &TensorAccess, values: &[Poly]) -> TensorAccess {
    TensorAccess { var: of.var, at: of.at.iter().map(|p| substitute_indices(p, values)).collect() }
}

/// Substitutes the indices of a predicate.
pub fn substitute_pred(p: &Pred, values: &[Poly]) -> Pred {
    p.map(&|p| substitute_indices(p, values))
}

/// Returns the facts about the sizes and indices of a statement with these extents.
pub fn index_context(ssa: &SsaFunction, dims: &[Poly]) -> FactContext {
    let sizes: Vec<Poly> = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
    let mut context = FactContext::new(&sizes);
    dims.iter().enumerate().for_each(|(k, n)| context.assume_in_range(&statement_index(k, n)));
    context
}

/// Returns whether the access is in bounds wherever the predicate holds.
pub fn is_in_bounds(ssa: &SsaFunction, dims: &[Poly], p: &Pred, of: &TensorAccess) -> bool {
    let mut context = index_context(ssa, dims);
    context.assume(p);
    let stmt = ssa.stmts.get(of.var.0 as usize);
    stmt.is_some_and(|stmt| of.at.iter().zip(&stmt.dims).all(|(p, n)| context.implies(&Pred::in_range(p, n))))
}
