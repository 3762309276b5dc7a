//! **Guards cover accesses.** Wherever the guard of an operand holds, its indices must be within
//! the extents of its tensor, because the evaluators and the generated code do not test them.
//!
//! The prover decides it from the ranges of the indices, the guard, and the facts about sizes. An
//! access at positions that are data is covered by a run-time check, which the statement must need.

use std::sync::Arc;

use super::{FunctionVerifier, VerifierRule, print};
use crate::core::{Constant, ScalarOp};
use crate::ssa::{Addend, Rhs, StmtId, TensorAccess, index_number, statement_index, substitute_indices};
use lang_resolve::scalar_fn::ScalarFn;
use lang_sizes::predicate::{Atom, FactContext, Index, Poly, Pred};
use lang_syntax::ops::BinOp;

/// The number of definitions that the verifier follows from an index.
const MAX_DEFINITION_DEPTH: u32 = 6;

/// Returns whether the polynomial reads data, or is beyond the limits of polynomials.
pub(super) fn reads_data(p: &Poly) -> bool {
    let mut data = false;
    p.for_each_atom(&mut |a| data |= matches!(a, Atom::Read(..) | Atom::Overflow));
    data
}

impl FunctionVerifier<'_, '_> {
    /// Checks an access of a statement with these extents and bound indices.
    pub(super) fn in_bounds(
        &mut self,
        dims: &[Poly],
        bound: &[Poly],
        guard: &Pred,
        access: &TensorAccess,
        needs: &[u32],
    ) {
        let extents = self.dims_of(access);
        let indices: Vec<Index> = dims.iter().chain(bound).enumerate().map(|(k, n)| statement_index(k, n)).collect();
        self.covered(&indices, guard, &access.at, &extents, needs);
    }

    /// Checks an access of an update, whose bound indices follow all `free` indices.
    #[expect(clippy::too_many_arguments, reason = "each is another part of the update")]
    pub(super) fn update_in_bounds(
        &mut self,
        free: usize,
        batch: &[Poly],
        bound: &[Poly],
        guard: &Pred,
        at: &[Poly],
        extents: &[Poly],
        needs: &[u32],
    ) {
        let own = batch.iter().enumerate().map(|(k, n)| statement_index(k, n));
        let inner = bound.iter().enumerate().map(|(k, n)| statement_index(free + k, n));
        let indices: Vec<Index> = own.chain(inner).collect();
        self.covered(&indices, guard, at, extents, needs);
    }

    /// Returns an integer element by its definition, or `None` if it is data.
    pub(super) fn integer_definition(&self, of: &TensorAccess) -> Option<Poly> {
        Definitions { verifier: self, facts: &self.region.facts }.value(of, MAX_DEFINITION_DEPTH)
    }

    fn covered(&mut self, indices: &[Index], guard: &Pred, at: &[Poly], extents: &[Poly], needs: &[u32]) {
        let plain = |p: &Poly, n: &Poly| indices.iter().any(|i| i.extent == *n && *p == i.value());
        let open: Vec<(&Poly, &Poly)> = at.iter().zip(extents).filter(|(p, n)| !plain(p, n)).collect();
        if open.is_empty() || guard.is_false() || !self.region.is_closed {
            return;
        }
        let mut facts = self.region.facts.clone();
        indices.iter().for_each(|i| facts.assume_in_range(i));
        facts.assume(guard);
        self.assume_checks(indices, needs, &mut facts);
        if facts.is_contradictory() {
            return;
        }
        // The same facts with the definitions of the integers that they read.
        let definitions = Definitions { verifier: self, facts: &facts };
        let value = |p: &Poly| definitions.expand(p, MAX_DEFINITION_DEPTH);
        let mut defined = facts.clone();
        indices.iter().for_each(|i| defined.assume_in_range(&Index { extent: value(&i.extent), ..i.clone() }));
        defined.assume(&guard.map(&value));
        let mut outside = Vec::new();
        for (p, n) in open {
            if facts.implies(&Pred::in_range(p, n)) || p.has_overflowed() || guard.has_overflowed() {
                continue;
            }
            self.assume_checks_of_data(p, needs, &mut defined);
            let (p, n) = (value(p), value(n));
            [&p, &n].into_iter().for_each(|p| self.assume_ranges_of_data(p, &mut defined));
            if defined.implies(&Pred::in_range(&p, &n)) {
                continue;
            }
            outside.push(format!("the index {p} may be outside of {} if {guard}", print(std::slice::from_ref(&n))));
        }
        outside.into_iter().for_each(|message| self.report_unproven(VerifierRule::Bounds, message));
    }

    /// Assumes the conditions of the checks that a statement needs, for its own indices. An index
    /// of a check is the statement's index of the same number, if both have the same extent. A
    /// condition without indices holds if the check has an index tuple.
    fn assume_checks(&self, indices: &[Index], needs: &[u32], facts: &mut FactContext) {
        for check in needs.iter().filter_map(|k| self.ssa.checks.get(*k as usize)) {
            let in_statement = |k: usize, n: &Poly| indices.get(k).is_some_and(|i| i.extent == *n);
            let aligned = check.dims.iter().enumerate().all(|(k, n)| in_statement(k, n));
            let own = |k: usize| statement_index(k, &Poly::default()).atom();
            let closed = (0..check.dims.len()).all(|k| !check.cond.mentions(&own(k)) && !check.guard.mentions(&own(k)))
                && check.dims.iter().all(|n| facts.implies(&Pred::less(&Poly::default(), n)));
            if (aligned || closed) && facts.implies(&check.guard) {
                facts.assume(&check.cond);
            }
        }
    }

    /// Assumes the conditions of the needed checks on the data that an index reads. The check of
    /// `X[i]` for all `i` covers the index `X[e]`, with `e` in place of `i`.
    fn assume_checks_of_data(&self, p: &Poly, needs: &[u32], facts: &mut FactContext) {
        let mut reads = Vec::new();
        p.for_each_atom(&mut |a| {
            if let Atom::Read(local, _, at) = a {
                reads.push((*local, at.clone()));
            }
        });
        for check in needs.iter().filter_map(|k| self.ssa.checks.get(*k as usize)) {
            for (local, at) in &reads {
                let mut values: Vec<Option<Poly>> = vec![None; check.dims.len()];
                check.cond.visit(
                    &mut |q| {
                        q.for_each_atom(&mut |a| {
                            let Atom::Read(l, _, own) = a else { return };
                            for (own, e) in own.iter().zip(at.iter()).filter(|_| l == local) {
                                let index = own.as_atom().and_then(|a| match a {
                                    Atom::Local(l, _) => index_number(*l),
                                    _ => None,
                                });
                                if let Some(slot) = index.and_then(|k| values.get_mut(k)) {
                                    *slot = Some(e.clone());
                                }
                            }
                        });
                    },
                    &mut |_| {},
                );
                let indices: Vec<Poly> = (0..)
                    .zip(&values)
                    .map(|(k, v)| v.clone().unwrap_or_else(|| statement_index(k, &Poly::default()).value()))
                    .collect();
                let here = |p: &Poly| substitute_indices(p, &indices);
                if facts.implies(&check.guard.map(&here)) {
                    facts.assume(&check.cond.map(&here));
                }
            }
        }
    }

    /// Assumes the ranges of positions, in sorting permutations and of `argmax` and `argmin`.
    fn assume_ranges_of_data(&self, p: &Poly, facts: &mut FactContext) {
        let mut reads = Vec::new();
        p.for_each_atom(&mut |a| {
            if let Atom::Read(local, _, at) = a
                && let Some(stmt) = StmtId::from_local(*local).and_then(|v| self.get(v))
            {
                reads.push((a.clone(), stmt, at.clone()));
            }
        });
        for (a, stmt, at) in reads {
            let here = |p: &Poly| substitute_indices(p, &at);
            let extent = match &stmt.rhs {
                Rhs::Argsort(_) => stmt.dims.last().cloned(),
                // Without terms the position is -1, which is no index.
                Rhs::Reduce(r) if r.reducer.is_arg_reduction() && r.returns_linear_index(stmt.dims.len()) => {
                    let extents: Vec<Poly> = r.bound.iter().map(here).collect();
                    let some = Pred::all(extents.iter().map(|n| Pred::less(&Poly::default(), n)));
                    let exists = r.filter.is_true() && facts.implies(&some)
                        || !r.pred.is_true() && facts.implies(&r.pred.map(&here))
                        || facts.implies(&Pred::nonneg(&Poly::atom(a.clone())));
                    exists.then(|| extents.iter().fold(Poly::constant(1), |all, n| all.mul(n)))
                }
                _ => None,
            };
            if let Some(n) = extent {
                facts.assume(&Pred::in_range(&Poly::atom(a), &n));
            }
        }
    }
}

/// The definitions of the integers that polynomials read.
struct Definitions<'v, 'a, 's> {
    verifier: &'v FunctionVerifier<'a, 's>,
    facts: &'v FactContext,
}

impl Definitions<'_, '_, '_> {
    /// Returns the polynomial with the definitions of the integers that it reads.
    fn expand(&self, p: &Poly, depth: u32) -> Poly {
        p.substitute(&|a| {
            let Atom::Read(local, _, at) = a else { return None };
            self.value(&TensorAccess { var: StmtId::from_local(*local)?, at: at.to_vec() }, depth)
        })
    }

    /// Returns the definition of an element, or `None` if it is data.
    fn value(&self, of: &TensorAccess, depth: u32) -> Option<Poly> {
        let (stmt, depth) = (self.verifier.get(of.var)?, depth.checked_sub(1)?);
        let here = |p: &Poly| substitute_indices(p, &of.at);
        let read = |a: &TensorAccess| {
            let access = TensorAccess { var: a.var, at: a.at.iter().map(here).collect() };
            self.value(&access, depth)
                .unwrap_or_else(|| Poly::atom(Atom::Read(access.var.local(), access.var.name(), Arc::from(access.at))))
        };
        let holds = |p: &Pred| p.is_true() || self.facts.implies(&p.map(&here));
        match &stmt.rhs {
            Rhs::Index(p) => Some(self.expand(&here(p), depth)),
            Rhs::Constant(Constant::Int(i)) => Some(Poly::constant(i128::from(*i))),
            Rhs::Contract { bound, pred, neg: false, factors } if bound.is_empty() && holds(pred) => {
                factors.iter().map(read).reduce(|a, b| a.mul(&b))
            }
            Rhs::Add(items) if items.iter().all(|a| holds(&a.pred)) => {
                let term = |a: &Addend| if a.neg { read(&a.operand).neg() } else { read(&a.operand) };
                items.iter().map(term).reduce(|a, b| a.add(&b))
            }
            Rhs::Map { operation, pred, args } if holds(pred) => match (operation, args.as_slice()) {
                (ScalarOp::Binary(BinOp::FloorDiv), [a, b]) => read(a).div(&read(b)),
                (ScalarOp::Binary(BinOp::Mod), [a, b]) => read(a).rem(&read(b)),
                (ScalarOp::Scalar(ScalarFn::Min), [a, b]) => Some(read(a).minimum(&read(b))),
                (ScalarOp::Scalar(ScalarFn::Max), [a, b]) => Some(read(a).maximum(&read(b))),
                _ => None,
            },
            _ => None,
        }
    }
}
