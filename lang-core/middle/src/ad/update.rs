//! **Derivatives of updates.** The tangent of an update is the same update of the tangent. In the
//! adjoint, the cotangent of the old array is zero where elements were replaced. The cotangent of
//! an element that was written is the cotangent at the position it was written to.

use super::adjoint::CotangentTerm;
use super::{DerivativeValue, Differentiator, canonical_indices};
use lang_ir::origin::UPDATE;
use lang_ir::ssa::{Rhs, Statement, StmtId, TensorAccess, index_number, statement_index, substitute_indices};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

impl Differentiator<'_> {
    /// Returns the tangent of an update, or `None` if it is zero.
    pub(super) fn update_tangent(
        &mut self,
        var: StmtId,
        stmt: &Statement,
        tangents: &[Option<DerivativeValue>],
    ) -> Option<StmtId> {
        let Rhs::Update { base, batch, bound, pred, at, value, accumulate: add } = &stmt.rhs else { return None };
        let tangent = |a: &TensorAccess| {
            let tangent = tangents.get(a.var.0 as usize)?.as_ref()?.var;
            Some(TensorAccess { var: tangent, at: a.at.clone() })
        };
        let (before, put) = (tangent(base), tangent(value));
        if before.is_none() && put.is_none() {
            return None;
        }
        self.hits.count("tangent of an update");
        self.attribute_to(var, UPDATE);
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let below: Vec<Poly> = stmt.dims.iter().skip(*batch as usize).cloned().collect();
        let base = before.unwrap_or_else(|| TensorAccess { var: self.builder.zero(&below, scalar), at: Vec::new() });
        let value = put.unwrap_or_else(|| TensorAccess { var: self.builder.zero(&[], scalar), at: Vec::new() });
        let (batch, bound, pred, at) = (*batch, bound.clone(), pred.clone(), at.clone());
        let of = Rhs::Update { base, batch, bound, pred, at, value, accumulate: *add };
        Some(self.builder.update(&stmt.dims, scalar, of, stmt.needs.clone()))
    }

    /// Adds the terms of this update to the cotangents of the old array and of the written value.
    pub(super) fn update_adjoint(
        &mut self,
        var: StmtId,
        stmt: &Statement,
        cotangent: &DerivativeValue,
        active: &[bool],
        terms: &mut [Vec<CotangentTerm>],
    ) {
        let Rhs::Update { base, batch, bound, pred, at, value, accumulate: add } = &stmt.rhs else { return };
        let is_active = |a: &TensorAccess| active.get(a.var.0 as usize) == Some(&true);
        self.attribute_to(var, UPDATE);
        let scalar = stmt.scalar.unwrap_or(Scalar::F64);
        let outer = *batch as usize;
        let all = canonical_indices(&stmt.dims);
        if is_active(value) {
            self.hits.count("cotangent of the written value");
            // The cotangent of the value ranges over the batch and the bound indices only.
            let free = stmt.dims.len();
            let down = |p: &Poly| {
                p.substitute(&|a| match a {
                    Atom::Local(l, _) => {
                        let k = index_number(*l)?.checked_sub(free)?;
                        Some(statement_index(outer + k, &Poly::default()).value())
                    }
                    _ => None,
                })
            };
            let dims = stmt.dims.iter().take(outer).chain(bound).cloned().collect();
            let inner = Statement { dims, ..stmt.clone() };
            let first = all.iter().take(outer).cloned();
            let read = TensorAccess { var: cotangent.var, at: first.chain(at.iter().map(down)).collect() };
            let of = TensorAccess { var: value.var, at: value.at.iter().map(down).collect() };
            let pred = pred.map(&down);
            let present = cotangent.support.map(&|p| substitute_indices(p, &read.at));
            self.transpose(&inner, &[], (&pred, &present), false, &of, &[read], terms);
        }
        if is_active(base) {
            let (mut left, mut present) = (cotangent.var, cotangent.support.clone());
            if !add {
                self.hits.count("cotangent of the overwritten array");
                let zero = TensorAccess { var: self.builder.zero(&[], scalar), at: Vec::new() };
                let base = TensorAccess { var: left, at: all.iter().take(outer).cloned().collect() };
                let (batch, bound, pred, at) = (*batch, bound.clone(), pred.clone(), at.clone());
                let of = Rhs::Update { base, batch, bound, pred, at, value: zero, accumulate: false };
                left = self.builder.update(&stmt.dims, scalar, of, stmt.needs.clone());
                present = present.data_independent_part().and(&self.nonzero_pred(left));
            }
            let of = TensorAccess {
                var: base.var,
                at: base.at.iter().cloned().chain(all.iter().skip(outer).cloned()).collect(),
            };
            if base.at.is_empty() && outer == 0 {
                if let Some(terms) = terms.get_mut(base.var.0 as usize) {
                    terms.push(CotangentTerm::everywhere(self.at_own_indices(left), present));
                }
                return;
            }
            self.transpose(stmt, &[], (&Pred::truth(), &present), false, &of, &[self.at_own_indices(left)], terms);
        }
    }
}
