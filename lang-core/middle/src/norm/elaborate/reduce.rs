//! **Reductions**: `prod`, `max`, `min`, `argmax` and `argmin`. Ranges and the filter become the
//! predicate of the terms. Values that they compute become arrays outside, because the reduction
//! needs a predicate over its indices.
//!
//! An empty `max` or `min` of integers fails, and so does an empty `argmax` or `argmin`. A check
//! tests that a term exists.

use super::{ElabFrame, ElabResult, Elaborator, SymbolicValue};
use crate::norm::substitute::{self, index_variables, index_variables_in_poly, index_variables_in_pred};
use lang_base::Code;
use lang_ir::core::{CoreExpr, CoreType, ExprKind, ExprRef, NoCoreFormReason, TupleLabels};
use lang_ir::reduce::{CoreReduction, Reducer, delinearize, linear_index};
use lang_sizes::predicate::{Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::{TypedId, TypedIndexVar};

/// The terms of a reduction.
struct ReductionTerms {
    /// The predicate under which a term exists.
    pred: Pred,
    /// The values of the index variables.
    index_values: Vec<Poly>,
    term: ExprRef,
}

/// A binder: its variables, its filter and its body.
#[derive(Clone, Copy)]
struct BinderParts<'b> {
    vars: &'b [TypedIndexVar],
    filter: Option<TypedId>,
    body: TypedId,
}

impl Elaborator<'_> {
    /// Elaborates `max i < n, j in a..b if p: e`.
    pub(super) fn reduction(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        reducer: Reducer,
        vars: &[TypedIndexVar],
        filter: Option<TypedId>,
        body: TypedId,
    ) -> ElabResult<SymbolicValue> {
        let span = self.span(f, id);
        let mut indices = Vec::new();
        let ReductionTerms { pred, index_values: places, term } =
            self.reduction_terms(f, BinderParts { vars, filter, body }, &mut indices)?;
        let of = term.ty.scalar().ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))?;
        let some = indices.iter().rev().fold(pred.clone(), |p, i| Pred::exists(i, &p));
        let ty = if reducer.is_arg_reduction() { CoreType::Scalar(Scalar::I64) } else { term.ty.clone() };
        let place = match places.as_slice() {
            _ if !reducer.is_arg_reduction() => Poly::default(),
            [one] => one.clone(),
            _ => linear_index(&indices),
        };
        let reduction = CoreReduction { reducer, indices: indices.clone(), filter: pred, arg_value: place, body: term };
        let mut e = CoreExpr::new(ExprKind::Reduce(Box::new(reduction)), ty.clone(), span);
        if reducer.rejects_empty(of) && !self.context.implies(&some) {
            let value = if reducer.is_arg_reduction() { "value" } else { "`i64` value" };
            let message = format!("`{}` over no terms has no {value}", reducer.keyword());
            let what = self.check_failure(f, id, Code::E0504, message);
            e = CoreExpr::new(ExprKind::Check(some, what, e), ty, span);
        }
        let value = self.symbolic_value(e);
        match (&value, places.len()) {
            (SymbolicValue::Int { poly, .. }, 2..) if reducer.is_arg_reduction() => {
                let at = delinearize(indices.iter().map(|i| &i.extent), poly);
                let put = |p: &Poly| p.substitute(&|a| at.get(indices.iter().position(|i| i.atom() == *a)?).cloned());
                let items = places.iter().map(|p| SymbolicValue::Int { poly: put(p), exact: false });
                let items =
                    items.map(|value| Ok(SymbolicValue::Int { poly: self.exact_poly(value, span)?, exact: true }));
                Ok(SymbolicValue::Tuple(items.collect::<ElabResult<_>>()?, TupleLabels::Positions))
            }
            _ => Ok(value),
        }
    }

    fn reduction_terms(
        &mut self,
        f: &mut ElabFrame,
        binder: BinderParts<'_>,
        indices: &mut Vec<Index>,
    ) -> ElabResult<ReductionTerms> {
        let span = self.span(f, binder.body);
        let Some(var) = binder.vars.get(indices.len()) else {
            let pred = match binder.filter {
                None => Pred::truth(),
                Some(p) => self.predicate(f, p)?,
            };
            let term = self.assuming(&pred, |this| this.in_binder_scope(span, |this| this.expr(f, binder.body)))?;
            return Ok(ReductionTerms { pred, index_values: Vec::new(), term });
        };
        let (index, value, inside) = self.index_range(f, var, span)?;
        f.env.insert(var.local, SymbolicValue::Int { poly: value.clone(), exact: true });
        indices.push(index.clone());
        let terms = |this: &mut Self| this.in_scope(|this| this.reduction_terms(f, binder, indices));
        let (bindings, terms) = self.in_index_range(&index, |this| this.assuming(&inside, terms))?;
        let lifted = self.lift_bindings(&index, &inside, bindings);
        let at = index.value();
        let places =
            std::iter::once(value).chain(terms.index_values.iter().map(|p| index_variables_in_poly(p, &lifted, &at)));
        Ok(ReductionTerms {
            pred: index_variables_in_pred(&inside.and(&terms.pred), &lifted, &at),
            index_values: places.collect(),
            term: index_variables(&terms.term, &lifted, &at),
        })
    }

    /// Moves bindings out of the range of an index into the current scope (5.6). Each becomes an
    /// array with an element for each index.
    pub(super) fn lift_bindings(
        &mut self,
        index: &Index,
        inside: &Pred,
        bindings: Vec<(LocalId, ExprRef)>,
    ) -> Vec<LocalId> {
        let mut lifted = Vec::new();
        for (x, e) in bindings {
            let own = self.vars.fresh_index(index.name.clone(), index.extent.clone());
            let put = |p: &Poly| p.substitute(&|a| (*a == index.atom()).then(|| own.value()));
            let e = CoreExpr::guard(inside.clone(), index_variables(&e, &lifted, &index.value()));
            let e = CoreExpr::generate(own.clone(), substitute::substitute_expr(&e, &put));
            self.types.insert(x, e.ty.clone());
            if let Some(scope) = self.scopes.last_mut() {
                scope.bindings.push((x, e));
            }
            lifted.push(x);
        }
        lifted
    }
}
