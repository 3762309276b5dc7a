//! **Scopes.** Each polynomial and predicate of a statement may mention the sizes, the integer
//! parameters, earlier statements, and the indices of its position in the statement.

use std::collections::HashSet;
use std::ops::Range;

use super::{FunctionVerifier, VerifierRule};
use crate::region::{LoopArg, SsaLoop};
use crate::ssa::{Rhs, RuntimeCheck, SsaFunction, Statement, StmtId, index_number};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The indices that an expression may mention: two ranges of numbers.
#[derive(Clone)]
pub(super) struct IndexScope {
    own: Range<usize>,
    bound: Range<usize>,
}

impl IndexScope {
    fn first(count: usize) -> Self {
        Self { own: 0..count, bound: 0..0 }
    }

    fn contains(&self, k: usize) -> bool {
        self.own.contains(&k) || self.bound.contains(&k)
    }
}

/// Returns the locals that stand for integers: the sizes and the integer inputs.
pub(super) fn integer_names(ssa: &SsaFunction) -> HashSet<LocalId> {
    let integers = ssa.inputs.iter().filter(|i| i.leaf.dims.is_empty() && i.leaf.scalar == Some(Scalar::I64));
    ssa.sizes.iter().copied().chain(integers.map(|i| i.local)).chain(ssa.bounded.iter().copied()).collect()
}

impl FunctionVerifier<'_, '_> {
    /// Checks the names in a statement.
    pub(super) fn statement_scope(&mut self, position: usize, stmt: &Statement) {
        let free = stmt.dims.len();
        let none = IndexScope::first(0);
        let own = IndexScope::first(free);
        let with_bound = |count: usize| IndexScope::first(free + count);
        stmt.dims.iter().for_each(|n| self.poly(n, &none, position));
        match &stmt.rhs {
            Rhs::Input(_) | Rhs::Constant(_) | Rhs::Zero | Rhs::CallResult(..) | Rhs::LoopResult(..) => {}
            Rhs::Index(p) => self.poly(p, &own, position),
            Rhs::Add(items) => {
                for item in items {
                    self.pred(&item.pred, &own, position);
                    self.polys(&item.operand.at, &own, position);
                }
            }
            Rhs::Contract { bound, pred, factors, .. } => {
                let all = with_bound(bound.len());
                self.polys(bound, &none, position);
                self.pred(pred, &all, position);
                factors.iter().for_each(|a| self.polys(&a.at, &all, position));
            }
            Rhs::Reduce(r) => {
                let all = with_bound(r.bound.len());
                self.polys(&r.bound, &none, position);
                self.pred(&r.pred, &own, position);
                self.pred(&r.filter, &all, position);
                self.poly(&r.arg_value, &all, position);
                self.polys(&r.operand.at, &all, position);
            }
            Rhs::Argsort(o) => {
                self.pred(&o.pred, &IndexScope::first(free.saturating_sub(1)), position);
                self.polys(&o.keys.at, &own, position);
            }
            Rhs::Map { pred, args, .. } => {
                self.pred(pred, &own, position);
                args.iter().for_each(|a| self.polys(&a.at, &own, position));
            }
            Rhs::Call { sizes, pred, args, .. } => {
                self.polys(sizes, &own, position);
                self.pred(pred, &own, position);
                args.iter().for_each(|a| self.polys(&a.at, &own, position));
            }
            Rhs::Loop(of) => self.loop_scope(of, position),
            Rhs::Update { base, batch, bound, pred, at, value, .. } => {
                let batch = *batch as usize;
                let all = IndexScope { own: 0..batch, bound: free..free + bound.len() };
                self.polys(&base.at, &IndexScope::first(batch), position);
                self.polys(bound, &none, position);
                self.pred(pred, &all, position);
                self.polys(at, &all, position);
                self.polys(&value.at, &all, position);
            }
        }
    }

    fn loop_scope(&mut self, of: &SsaLoop, position: usize) {
        let batch = IndexScope::first(of.batch.len());
        let iteration = IndexScope::first(of.batch.len() + 1);
        self.polys(&of.batch, &IndexScope::first(0), position);
        self.pred(&of.pred, &batch, position);
        if let Some(n) = of.fixed_trip_count() {
            self.poly(n, &batch, position);
        }
        if let Some(distance) = of.checkpoint.as_ref().and_then(|s| s.fixed_distance()) {
            self.poly(distance, &batch, position);
        }
        self.polys(&of.sizes, &iteration, position);
        for arg in &of.args {
            let scope = if matches!(arg, LoopArg::Captured(_)) { &iteration } else { &batch };
            self.polys(&arg.access().at, scope, position);
        }
    }

    /// Checks the names in a run-time check. It may read any statement.
    pub(super) fn check_scope(&mut self, check: &RuntimeCheck) {
        let all = self.ssa.stmts.len();
        let own = IndexScope::first(check.dims.len());
        self.polys(&check.dims, &IndexScope::first(0), all);
        self.pred(&check.guard, &own, all);
        self.pred(&check.cond, &own, all);
    }

    fn polys(&mut self, all: &[Poly], scope: &IndexScope, position: usize) {
        all.iter().for_each(|p| self.poly(p, scope, position));
    }

    fn poly(&mut self, p: &Poly, scope: &IndexScope, position: usize) {
        self.poly_in(p, scope, &[], position);
    }

    fn pred(&mut self, p: &Pred, scope: &IndexScope, position: usize) {
        self.pred_in(p, scope, &mut Vec::new(), position);
    }

    fn poly_in(&mut self, p: &Poly, scope: &IndexScope, bound: &[LocalId], position: usize) {
        p.for_each_atom(&mut |a| match a {
            Atom::Local(local, name) => {
                let known = bound.contains(local)
                    || self.names.contains(local)
                    || index_number(*local).is_some_and(|k| scope.contains(k));
                self.require(known, VerifierRule::Scope, || format!("`{name}` ({}) is not in scope", local.0));
            }
            Atom::Read(local, _, at) => self.data_read(*local, at.len(), Some(Scalar::I64), position),
            Atom::SizeParam(..) | Atom::Arg(..) | Atom::Meta(_) => {
                self.report(VerifierRule::Scope, format!("{a:?} is no name of a function in Tensor SSA"));
            }
            // Every function can read top-level integers.
            Atom::Global(_) => {}
            Atom::Div(..) | Atom::Mod(..) | Atom::Min(..) | Atom::Max(..) | Atom::Overflow => {}
        });
    }

    fn pred_in(&mut self, p: &Pred, scope: &IndexScope, bound: &mut Vec<LocalId>, position: usize) {
        match p {
            Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| self.pred_in(p, scope, bound, position)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => self.poly_in(p, scope, bound, position),
            Pred::Element(local, _, at, _) => {
                self.data_read(*local, at.len(), Some(Scalar::Bool), position);
                at.iter().for_each(|p| self.poly_in(p, scope, bound, position));
            }
            Pred::Member(local, _, at, _) => {
                self.data_read(*local, at.len(), None, position);
                at.iter().for_each(|p| self.poly_in(p, scope, bound, position));
            }
            Pred::Exists(index, body, _) => {
                self.poly_in(&index.extent, scope, bound, position);
                bound.push(index.local);
                self.pred_in(body, scope, bound, position);
                bound.pop();
            }
        }
    }

    /// Checks an element that a polynomial or predicate reads as data.
    fn data_read(&mut self, local: LocalId, indices: usize, scalar: Option<Scalar>, position: usize) {
        let Some(var) = StmtId::from_local(local) else {
            return self.report(VerifierRule::Scope, format!("the array {} is no statement", local.0));
        };
        let Some(stmt) = self.get(var).filter(|_| (var.0 as usize) < position) else {
            return self.report(VerifierRule::Dominance, format!("reads X{}, which is not before it", var.0));
        };
        self.require(stmt.dims.len() == indices, VerifierRule::Rank, || {
            format!("reads X{} with {indices} of {} indices", var.0, stmt.dims.len())
        });
        self.require(stmt.scalar == scalar, VerifierRule::ScalarType, || {
            format!("reads X{} of type {:?} as {scalar:?}", var.0, stmt.scalar)
        });
    }
}
