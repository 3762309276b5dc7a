//! **Derivatives of updates.** The tangent of an update is the same update of the tangent. In the
//! adjoint, the cotangent of the old array is zero where elements were replaced. The cotangent of
//! an element that was written is the cotangent at the position it was written to.

use super::adjoint::Term;
use super::{Deriving, Tangent, own};
use lang_ir::origin::UPDATE;
use lang_ir::ssa::{Access, Rhs, Stmt, Var, at_indices, index, index_number};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

impl Deriving<'_> {
    /// Returns the tangent of an update, or `None` if it is zero.
    pub(super) fn update_tangent(&mut self, var: Var, stmt: &Stmt, tangents: &[Option<Tangent>]) -> Option<Var> {
        let Rhs::Update { base, batch, bound, pred, at, value, add } = &stmt.rhs else { return None };
        let tangent = |a: &Access| {
            let tangent = tangents.get(a.var.0 as usize)?.as_ref()?.var;
            Some(Access { var: tangent, at: a.at.clone() })
        };
        let (before, put) = (tangent(base), tangent(value));
        if before.is_none() && put.is_none() {
            return None;
        }
        self.hits.count("tangent of an update");
        self.made_for(var, UPDATE);
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let below: Vec<Poly> = stmt.dims.iter().skip(*batch as usize).cloned().collect();
        let base = before.unwrap_or_else(|| Access { var: self.builder.zero(&below, scalar), at: Vec::new() });
        let value = put.unwrap_or_else(|| Access { var: self.builder.zero(&[], scalar), at: Vec::new() });
        let (batch, bound, pred, at) = (*batch, bound.clone(), pred.clone(), at.clone());
        let of = Rhs::Update { base, batch, bound, pred, at, value, add: *add };
        Some(self.builder.update(&stmt.dims, scalar, of, stmt.needs.clone()))
    }

    /// Adds the shares of the cotangent to those of the old array and of the written value.
    pub(super) fn update_adjoint(
        &mut self,
        var: Var,
        stmt: &Stmt,
        cotangent: &Tangent,
        active: &[bool],
        terms: &mut [Vec<Term>],
    ) {
        let Rhs::Update { base, batch, bound, pred, at, value, add } = &stmt.rhs else { return };
        let is_active = |a: &Access| active.get(a.var.0 as usize) == Some(&true);
        self.made_for(var, UPDATE);
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let outer = *batch as usize;
        let all = own(&stmt.dims);
        if is_active(value) {
            self.hits.count("cotangent of what is put");
            // The cotangent of the value ranges over the batch and the bound indices only.
            let free = stmt.dims.len();
            let down = |p: &Poly| {
                p.substitute(&|a| match a {
                    Atom::Local(l, _) => {
                        let k = index_number(*l)?.checked_sub(free)?;
                        Some(index(outer + k, &Poly::default()).value())
                    }
                    _ => None,
                })
            };
            let dims = stmt.dims.iter().take(outer).chain(bound).cloned().collect();
            let inner = Stmt { dims, ..stmt.clone() };
            let first = all.iter().take(outer).cloned();
            let read = Access { var: cotangent.var, at: first.chain(at.iter().map(down)).collect() };
            let of = Access { var: value.var, at: value.at.iter().map(down).collect() };
            let pred = pred.map(&down);
            let present = cotangent.present.map(&|p| at_indices(p, &read.at));
            self.transpose(&inner, &[], (&pred, &present), false, &of, &[read], terms);
        }
        if is_active(base) {
            let (mut left, mut present) = (cotangent.var, cotangent.present.clone());
            if !add {
                self.hits.count("cotangent of what is overwritten");
                let zero = Access { var: self.builder.zero(&[], scalar), at: Vec::new() };
                let base = Access { var: left, at: all.iter().take(outer).cloned().collect() };
                let (batch, bound, pred, at) = (*batch, bound.clone(), pred.clone(), at.clone());
                let of = Rhs::Update { base, batch, bound, pred, at, value: zero, add: false };
                left = self.builder.update(&stmt.dims, scalar, of, stmt.needs.clone());
                present = present.known().and(&self.nonzero(left));
            }
            let of =
                Access { var: base.var, at: base.at.iter().cloned().chain(all.iter().skip(outer).cloned()).collect() };
            if base.at.is_empty() && outer == 0 {
                if let Some(terms) = terms.get_mut(base.var.0 as usize) {
                    terms.push(Term::whole(self.whole(left), present));
                }
                return;
            }
            self.transpose(stmt, &[], (&Pred::truth(), &present), false, &of, &[self.whole(left)], terms);
        }
    }
}
