//! **Reductions**: `prod`, `max`, `min`, `argmax` and `argmin`. Ranges and the filter become the
//! predicate of the terms. Values that they compute become arrays outside, because the reduction
//! needs a predicate over its indices.
//!
//! An empty `max` or `min` of integers fails, and so does an empty `argmax` or `argmin`. A check
//! tests that a term exists.

use super::{Elaborator, Frame, Out, Sym};
use crate::norm::substitute::{self, poly_read_at, pred_read_at, read_at};
use lang_base::Code;
use lang_ir::core::{CoreType, E, Expr, Kind, Labels, Reason};
use lang_ir::reduce::{Reducer, Reduction, number, numbered};
use lang_sizes::predicate::{Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::{IndexVar, TId};

/// The terms of a reduction.
struct Terms {
    /// The predicate under which a term exists.
    pred: Pred,
    /// The values of the index variables.
    places: Vec<Poly>,
    term: E,
}

/// A binder: its variables, its filter and its body.
#[derive(Clone, Copy)]
struct Binder<'b> {
    vars: &'b [IndexVar],
    filter: Option<TId>,
    body: TId,
}

impl Elaborator<'_> {
    /// Elaborates `max i < n, j in a..b if p: e`.
    pub(super) fn reduction(
        &mut self,
        f: &mut Frame,
        id: TId,
        reducer: Reducer,
        vars: &[IndexVar],
        filter: Option<TId>,
        body: TId,
    ) -> Out<Sym> {
        let span = self.span(f, id);
        let mut indices = Vec::new();
        let Terms { pred, places, term } = self.terms_of(f, Binder { vars, filter, body }, &mut indices)?;
        let of = term.ty.scalar().ok_or_else(|| self.outside(Reason::Errors, span))?;
        let some = indices.iter().rev().fold(pred.clone(), |p, i| Pred::exists(i, &p));
        let ty = if reducer.gives_place() { CoreType::Scalar(Scalar::I64) } else { term.ty.clone() };
        let place = match places.as_slice() {
            _ if !reducer.gives_place() => Poly::default(),
            [one] => one.clone(),
            _ => number(&indices),
        };
        let reduction = Reduction { reducer, indices: indices.clone(), terms: pred, place, body: term };
        let mut e = Expr::new(Kind::Reduce(Box::new(reduction)), ty.clone(), span);
        if reducer.needs_terms(of) && !self.context.implies(&some) {
            let value = if reducer.gives_place() { "" } else { " has no value in i64" };
            let what = self.failing(f, id, Code::E0504, format!("`{}` over nothing{value}", reducer.word()));
            e = Expr::new(Kind::Check(some, what, e), ty, span);
        }
        let value = self.known(e);
        match (&value, places.len()) {
            (Sym::Int { poly, .. }, 2..) if reducer.gives_place() => {
                let at = numbered(indices.iter().map(|i| &i.extent), poly);
                let put = |p: &Poly| p.substitute(&|a| at.get(indices.iter().position(|i| i.atom() == *a)?).cloned());
                let items = places.iter().map(|p| Sym::Int { poly: put(p), exact: false });
                let items = items.map(|value| Ok(Sym::Int { poly: self.exact(value, span)?, exact: true }));
                Ok(Sym::Tuple(items.collect::<Out<_>>()?, Labels::Places))
            }
            _ => Ok(value),
        }
    }

    fn terms_of(&mut self, f: &mut Frame, binder: Binder<'_>, indices: &mut Vec<Index>) -> Out<Terms> {
        let span = self.span(f, binder.body);
        let Some(var) = binder.vars.get(indices.len()) else {
            let pred = match binder.filter {
                None => Pred::truth(),
                Some(p) => self.predicate(f, p)?,
            };
            let term = self.under(&pred, |this| this.closed_in_binder(span, |this| this.expr(f, binder.body)))?;
            return Ok(Terms { pred, places: Vec::new(), term });
        };
        let (index, value, inside) = self.range(f, var, span)?;
        f.env.insert(var.local, Sym::Int { poly: value.clone(), exact: true });
        indices.push(index.clone());
        let terms = |this: &mut Self| this.scope(|this| this.terms_of(f, binder, indices));
        let (bindings, terms) = self.inside(&index, |this| this.under(&inside, terms))?;
        let lifted = self.bind_arrays(&index, &inside, bindings);
        let at = index.value();
        let places = std::iter::once(value).chain(terms.places.iter().map(|p| poly_read_at(p, &lifted, &at)));
        Ok(Terms {
            pred: pred_read_at(&inside.and(&terms.pred), &lifted, &at),
            places: places.collect(),
            term: read_at(&terms.term, &lifted, &at),
        })
    }

    /// Moves bindings out of the range of an index into the current scope (5.6). Each becomes an
    /// array with an element for each index.
    pub(super) fn bind_arrays(&mut self, index: &Index, inside: &Pred, bindings: Vec<(LocalId, E)>) -> Vec<LocalId> {
        let mut lifted = Vec::new();
        for (x, e) in bindings {
            let own = self.vars.index(index.name.clone(), index.extent.clone());
            let put = |p: &Poly| p.substitute(&|a| (*a == index.atom()).then(|| own.value()));
            let e = Expr::guard(inside.clone(), read_at(&e, &lifted, &index.value()));
            let e = Expr::generate(own.clone(), substitute::expr(&e, &put));
            self.types.insert(x, e.ty.clone());
            if let Some(scope) = self.scopes.last_mut() {
                scope.bindings.push((x, e));
            }
            lifted.push(x);
        }
        lifted
    }
}
