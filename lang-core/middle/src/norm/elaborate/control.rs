//! **Control flow and binders.** Elaborates `if`, `match` and patterns, Iverson brackets, `for`,
//! `sum`, `any` and `all`.

use std::rc::Rc;

use super::ops::mask;
use super::update::updated;
use super::{Elaborator, Frame, Out, Sym, holds_function};
use lang_base::{Code, Span};
use lang_ir::core::{CoreType, E, Expr, Kind, Labels, Reason};
use lang_ir::reduce::Reducer;
use lang_sizes::predicate::{Index, Poly, Pred};
use lang_syntax::ops::BinderKind;
use lang_types::tree::{self, IndexVar, Pat, TId};
use lang_types::ty::Type;

impl Elaborator<'_> {
    /// Binds a value to a name of the program, so that derived values can keep the name.
    pub(super) fn named(&mut self, value: Sym, name: &str) -> Sym {
        match value {
            Sym::Data(e) => Sym::Data(self.bind_given(name, e)),
            Sym::Tuple(items, names) => {
                let items = items.into_iter().map(|item| self.named(item, name)).collect();
                Sym::Tuple(items, names)
            }
            other => other,
        }
    }

    /// Elaborates `[p] * e`.
    pub(super) fn guard(&mut self, f: &mut Frame, p: TId, e: TId, span: Span) -> Out<Sym> {
        let p = self.predicate(f, p)?;
        let (bindings, e) = self.scope(|this| {
            this.under(&p, |this| {
                let e = this.expr(f, e)?;
                this.data(&e, span)
            })
        })?;
        // A bracket inside this one is merged with it, so that an enclosing sum or product sees the
        // whole predicate.
        if mask(&e).is_some() {
            self.bind_under(&p, bindings);
            return Ok(self.known(Expr::guard(p, e)));
        }
        Ok(self.known(Expr::guard(p, Expr::lets(bindings, e))))
    }

    /// Elaborates `if` to a sum of brackets that exclude each other. A branch is evaluated only
    /// where it is selected.
    pub(super) fn choice(&mut self, f: &mut Frame, arms: &[(TId, TId)], last: TId, ty: &Type, span: Span) -> Out<Sym> {
        let mut before = Pred::truth();
        let mut branches = Vec::new();
        for (condition, e) in arms {
            let reached = before.clone();
            let (bindings, p) = self.scope(|this| this.under(&reached, |this| this.predicate(f, *condition)))?;
            self.bind_under(&reached, bindings);
            branches.push((before.and(&p), *e));
            before = before.and(&p.negated());
        }
        branches.push((before, last));
        self.branches(
            f,
            ty,
            span,
            branches.len(),
            |this, f, k| {
                let Some((p, e)) = branches.get(k).cloned() else { return Err(this.outside(Reason::Errors, span)) };
                Ok((p, this.expr(f, e)?))
            },
            &branches.iter().map(|b| b.0.clone()).collect::<Vec<_>>(),
        )
    }

    /// Returns the value of the branch whose predicate holds.
    fn branches(
        &mut self,
        f: &mut Frame,
        ty: &Type,
        span: Span,
        count: usize,
        mut branch: impl FnMut(&mut Self, &mut Frame, usize) -> Out<(Pred, Sym)>,
        when: &[Pred],
    ) -> Out<Sym> {
        let mut values: Vec<(Pred, Sym)> = Vec::new();
        for (k, p) in (0..count).zip(when) {
            if self.context.refutes(p) {
                continue;
            }
            let mut inner = Frame { code: Rc::clone(&f.code), env: f.env.clone() };
            let (bindings, value) = self.scope(|this| {
                this.under(p, |this| {
                    let (_, value) = branch(this, &mut inner, k)?;
                    Ok(value)
                })
            })?;
            self.bind_under(p, bindings);
            values.push((p.clone(), value));
        }
        if let [(_, value)] = values.as_slice() {
            return Ok(value.clone());
        }
        if values.iter().all(|(_, v)| matches!(v, Sym::Bool(_))) && !values.is_empty() {
            let chosen = values.iter().filter_map(|(p, v)| if let Sym::Bool(q) = v { Some(p.and(q)) } else { None });
            return Ok(Sym::Bool(Pred::any_of(chosen)));
        }
        if values.iter().any(|(_, v)| holds_function(v)) {
            return Err(self.outside(Reason::FunctionValue, span));
        }
        let ty = self.core_type(f, ty, span)?;
        self.chosen(&ty, values, span)
    }

    /// Returns the value whose predicate holds.
    fn chosen(&mut self, ty: &CoreType, values: Vec<(Pred, Sym)>, span: Span) -> Out<Sym> {
        if let CoreType::Tuple(types, labels) = ty
            && values.iter().all(|(_, v)| matches!(v, Sym::Tuple(..)))
        {
            let mut items = Vec::new();
            for (k, ty) in types.iter().enumerate() {
                let part = |(p, v): &(Pred, Sym)| Ok((p.clone(), self.component(v, k)?));
                let parts = values.iter().map(part).collect::<Out<Vec<_>>>()?;
                items.push(self.chosen(ty, parts, span)?);
            }
            return Ok(Sym::Tuple(items, labels.clone()));
        }
        let mut values =
            values.into_iter().map(|(p, v)| Ok((p, self.data(&v, span)?))).collect::<Out<Vec<(Pred, E)>>>()?;
        let mut ty = ty.clone();
        if let CoreType::Rel(_) = ty {
            values = values.into_iter().map(|(p, e)| Ok((p, self.as_array(e)?))).collect::<Out<_>>()?;
            ty = values.first().map_or(ty, |(_, e)| e.ty.clone());
        }
        let ty = &ty;
        if let Some(updated) = updated(&values) {
            return Ok(Sym::Data(updated));
        }
        let mut chosen = Vec::new();
        for (p, e) in values {
            // The merge reads this value once for each part or element. So the value is named, and
            // computed only where it is selected.
            let e = if matches!(ty, CoreType::Scalar(_)) || e.is_free() {
                e
            } else {
                self.bind("b", Expr::guard(p.clone(), e))
            };
            chosen.push((p, e));
        }
        let e = self.merge(ty, &chosen, span);
        Ok(self.known(e))
    }

    /// Elaborates `match` to predicates on the constructors of the value.
    pub(super) fn matching(&mut self, f: &mut Frame, e: TId, arms: &[(Pat, TId)], ty: &Type, span: Span) -> Out<Sym> {
        let value = self.expr(f, e)?;
        let value = self.named(value, "m");
        let of = f.code.body.nodes[e].ty.clone();
        let of = self.concrete(f, &of, span)?;
        let tagged = self.tagged(&value, span)?;
        let mut before = Pred::truth();
        let mut branches = Vec::new();
        for (pat, e) in arms {
            let reached = before.clone();
            let (bindings, p) =
                self.scope(|this| this.under(&reached, |this| this.fitting(pat, &tagged, &of, span)))?;
            self.bind_under(&reached, bindings);
            branches.push((before.and(&p), pat.clone(), *e));
            before = before.and(&p.negated());
        }
        let when: Vec<Pred> = branches.iter().map(|b| b.0.clone()).collect();
        self.branches(
            f,
            ty,
            span,
            branches.len(),
            |this, f, k| {
                let Some((p, pat, e)) = branches.get(k).cloned() else {
                    return Err(this.outside(Reason::Errors, span));
                };
                this.pattern(f, &pat, &value, &of, span)?;
                Ok((p, this.expr(f, e)?))
            },
            &when,
        )
    }

    /// Reads the constructor numbers of a value and its parts once, so that the predicates of all
    /// arms refer to the same numbers.
    fn tagged(&mut self, value: &Sym, span: Span) -> Out<Sym> {
        let (count, labels) = match value {
            Sym::Tuple(items, labels) => (items.len(), labels.clone()),
            Sym::Data(e) => match &e.ty {
                CoreType::Tuple(items, labels) => (items.len(), labels.clone()),
                _ => return Ok(value.clone()),
            },
            Sym::Int { .. } => return Ok(Sym::Int { poly: self.exact(value.clone(), span)?, exact: true }),
            other => return Ok(other.clone()),
        };
        let mut parts = Vec::new();
        for k in 0..count {
            let part = self.component(value, k)?;
            // The arguments of a constructor exist only under that constructor.
            parts.push(if matches!(labels, Labels::Sum(_)) { part } else { self.tagged(&part, span)? });
        }
        Ok(Sym::Tuple(parts, labels))
    }

    /// Returns the predicate that the pattern matches the value.
    fn fitting(&mut self, pat: &Pat, value: &Sym, ty: &Type, span: Span) -> Out<Pred> {
        match pat {
            Pat::Wild | Pat::Bind(_) => Ok(Pred::truth()),
            Pat::Sized(_, inner) => self.fitting(inner, value, ty, span),
            Pat::Int(i) => match value {
                Sym::Int { .. } => {
                    let poly = self.exact(value.clone(), span)?;
                    Ok(Pred::equal(&poly, &Poly::constant((*i).into())))
                }
                _ => Err(self.outside(Reason::Errors, span)),
            },
            Pat::Bool(b) => match value {
                Sym::Bool(p) => Ok(if *b { p.clone() } else { p.negated() }),
                _ => Err(self.outside(Reason::Errors, span)),
            },
            Pat::Tuple(items) => {
                let mut all = Pred::truth();
                for (k, pat) in items.iter().enumerate() {
                    let part = self.component(value, k)?;
                    let of = component_type(ty, k);
                    all = all.and(&self.fitting(pat, &part, &of, span)?);
                }
                Ok(all)
            }
            Pat::Record(fields) => {
                let mut all = Pred::truth();
                for (k, pat) in fields {
                    let (at, of) = field(ty, *k);
                    let part = self.component(value, at)?;
                    all = all.and(&self.fitting(pat, &part, &of, span)?);
                }
                Ok(all)
            }
            Pat::Ctor(k, items) => {
                let tag = self.component(value, 0)?;
                let tag = self.exact(tag, span)?;
                let mut all = Pred::equal(&tag, &Poly::constant((*k).into()));
                let reached = all.clone();
                let args = self.constructor(ty, *k, span)?;
                for (j, pat) in items.iter().enumerate() {
                    if matches!(pat, Pat::Wild | Pat::Bind(_)) {
                        continue;
                    }
                    let payload = self.component(value, *k as usize + 1)?;
                    let part = self.component(&payload, j)?;
                    let of = args.get(j).cloned().unwrap_or(Type::Error);
                    let inner = self.under(&reached, |this| this.fitting(pat, &part, &of, span))?;
                    all = all.and(&inner);
                }
                Ok(all)
            }
        }
    }

    /// Binds the variables of a pattern that matches.
    pub(super) fn pattern(&mut self, f: &mut Frame, pat: &Pat, value: &Sym, ty: &Type, span: Span) -> Out<()> {
        // A value that is destructured is computed once.
        let held = match (pat, value) {
            (Pat::Tuple(_) | Pat::Record(_) | Pat::Ctor(..), Sym::Data(e)) => Sym::Data(self.bind("t", e.clone())),
            _ => value.clone(),
        };
        let value = &held;
        match pat {
            Pat::Wild | Pat::Int(_) | Pat::Bool(_) => Ok(()),
            Pat::Bind(local) => {
                let name = f.code.body.locals.get(local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
                let value = self.named(value.clone(), &name);
                f.env.insert(*local, value);
                Ok(())
            }
            Pat::Tuple(items) => items.iter().enumerate().try_for_each(|(k, pat)| {
                let part = self.component(value, k)?;
                self.pattern(f, pat, &part, &component_type(ty, k), span)
            }),
            Pat::Record(fields) => fields.iter().try_for_each(|(k, pat)| {
                let (at, of) = field(ty, *k);
                let part = self.component(value, at)?;
                self.pattern(f, pat, &part, &of, span)
            }),
            Pat::Ctor(k, items) => {
                let args = self.constructor(ty, *k, span)?;
                for (j, pat) in items.iter().enumerate() {
                    let payload = self.component(value, *k as usize + 1)?;
                    let part = self.component(&payload, j)?;
                    let of = args.get(j).cloned().unwrap_or(Type::Error);
                    self.pattern(f, pat, &part, &of, span)?;
                }
                Ok(())
            }
            Pat::Sized(locals, inner) => {
                let mut sizes = match value {
                    Sym::Data(e) => e.ty.clone(),
                    _ => return Err(self.outside(Reason::DataRange, span)),
                };
                for local in locals {
                    let CoreType::Tensor(n, rest) = sizes else { return Err(self.outside(Reason::Errors, span)) };
                    f.env.insert(*local, Sym::Int { poly: n, exact: true });
                    sizes = (*rest).clone();
                }
                self.pattern(f, inner, value, ty, span)
            }
        }
    }

    // ---- binders ----

    pub(super) fn binder(
        &mut self,
        f: &mut Frame,
        id: TId,
        kind: BinderKind,
        vars: &[IndexVar],
        filter: Option<TId>,
        body: TId,
    ) -> Out<Sym> {
        let span = self.span(f, id);
        match kind {
            BinderKind::For => {
                let e = self.generation(f, vars, id, &mut |this, f, _| this.expr(f, body))?;
                Ok(Sym::Data(e))
            }
            BinderKind::Sum => {
                let ty = f.code.body.nodes[id].ty.clone();
                let ty = self.core_type(f, &ty, span)?;
                if let CoreType::Scalar(_) = ty {
                    let e = self.summation(f, id, vars, filter, body)?;
                    return Ok(self.known(e));
                }
                self.sum_of_arrays(f, id, vars, filter, body, &ty)
            }
            BinderKind::Any | BinderKind::All => self.quantified(f, kind, vars, filter, body, span),
            BinderKind::Rel => self.comprehension(f, id, vars, filter, body),
            _ => match Reducer::of(kind) {
                Some(reducer) => self.reduction(f, id, reducer, vars, filter, body),
                None => Err(self.outside(Reason::Errors, span)),
            },
        }
    }

    /// Elaborates `Σ i: [p] · e`.
    fn summation(&mut self, f: &mut Frame, id: TId, vars: &[IndexVar], filter: Option<TId>, body: TId) -> Out<E> {
        let span = self.span(f, id);
        let mut term = |this: &mut Self, f: &mut Frame, _: &[Index]| match filter {
            None => this.expr(f, body),
            Some(p) => this.guard(f, p, body, span),
        };
        self.nest(f, vars, &mut Vec::new(), id, &mut term, Nest::Sum)
    }

    /// Elaborates a sum of arrays or tuples: binds the terms as an array, then sums each element.
    fn sum_of_arrays(
        &mut self,
        f: &mut Frame,
        id: TId,
        vars: &[IndexVar],
        filter: Option<TId>,
        body: TId,
        ty: &CoreType,
    ) -> Out<Sym> {
        let span = self.span(f, id);
        // A sum of sums is one sum over all their indices.
        let code = std::sync::Arc::clone(&f.code.body);
        let (mut vars, mut filter, mut body) = (vars.to_vec(), filter, body);
        while let (None, tree::Expr::Binder { kind: BinderKind::Sum, vars: inner, filter: p, body: e }) =
            (filter, &code.nodes[body].kind)
        {
            vars.extend(inner.iter().cloned());
            (filter, body) = (*p, *e);
        }
        let mut term = |this: &mut Self, f: &mut Frame, _: &[Index]| match filter {
            None => this.expr(f, body),
            Some(p) => this.guard(f, p, body, span),
        };
        let mut indices = Vec::new();
        let terms = self.nest(f, &vars, &mut indices, id, &mut term, Nest::Gen)?;
        let again: Vec<Index> = indices.iter().map(|i| self.vars.index(i.name.clone(), i.extent.clone())).collect();
        let (e, p) = self.terms(&terms, &indices, &again);
        Ok(Sym::Data(self.sums(&again, &p, &e, ty, span)))
    }

    fn sums(&mut self, over: &[Index], p: &Pred, e: &E, ty: &CoreType, span: Span) -> E {
        match ty {
            CoreType::Tensor(n, inner) => {
                let index = self.vars.index("i", n.clone());
                let e = self.sums(over, p, &Expr::access(e, index.value()), inner, span);
                Expr::generate(index, e)
            }
            CoreType::Tuple(types, _) => {
                let parts = (0..).zip(types.iter());
                let items = parts.map(|(k, t)| self.sums(over, p, &Expr::proj(e, k), t, span)).collect();
                Expr::new(Kind::Tuple(items), ty.clone(), span)
            }
            CoreType::Scalar(_) | CoreType::Rel(_) => {
                // A binder is bound only once, so each part sums over indices of its own.
                let own: Vec<Index> = over.iter().map(|i| self.vars.index(i.name.clone(), i.extent.clone())).collect();
                let put = |p: &Poly| {
                    p.substitute(&|a| {
                        let at = over.iter().position(|i| i.atom() == *a)?;
                        own.get(at).map(Index::value)
                    })
                };
                let e = Expr::guard(p.clone(), e.clone());
                let e = crate::norm::substitute::expr(&e, &put);
                own.into_iter().rev().fold(e, |e, i| Expr::new(Kind::Sum(i, e), ty.clone(), span))
            }
        }
    }

    /// Elaborates `any` and `all` to an existential. Values that its body computes become arrays.
    fn quantified(
        &mut self,
        f: &mut Frame,
        kind: BinderKind,
        vars: &[IndexVar],
        filter: Option<TId>,
        body: TId,
        span: Span,
    ) -> Out<Sym> {
        let holds = kind == BinderKind::Any;
        let p = self.exists(f, vars, 0, span, &mut |this, f| {
            let p = match filter {
                None => Pred::truth(),
                Some(p) => this.predicate(f, p)?,
            };
            let (bindings, q) = this.scope(|this| this.under(&p.clone(), |this| this.predicate(f, body)))?;
            this.bind_under(&p, bindings);
            Ok(p.and(&if holds { q } else { q.negated() }))
        })?;
        Ok(Sym::Bool(if holds { p } else { p.negated() }))
    }

    fn exists(
        &mut self,
        f: &mut Frame,
        vars: &[IndexVar],
        depth: usize,
        span: Span,
        body: &mut dyn FnMut(&mut Self, &mut Frame) -> Out<Pred>,
    ) -> Out<Pred> {
        let Some(var) = vars.get(depth) else { return body(self, f) };
        let (index, value, inside) = self.range(f, var, span)?;
        f.env.insert(var.local, Sym::Int { poly: value, exact: true });
        let holds = |this: &mut Self| this.scope(|this| this.exists(f, vars, depth + 1, span, body));
        let (bindings, p) = self.inside(&index, |this| this.under(&inside, holds))?;
        let lifted = self.bind_arrays(&index, &inside, bindings);
        let p = crate::norm::substitute::pred_read_at(&inside.and(&p), &lifted, &index.value());
        Ok(Pred::exists(&index, &p))
    }

    /// Builds a generation for each index variable.
    pub(super) fn generation(&mut self, f: &mut Frame, vars: &[IndexVar], id: TId, body: Body<'_, Self>) -> Out<E> {
        self.nest(f, vars, &mut Vec::new(), id, body, Nest::Gen)
    }

    /// Builds nested generations or sums. Index variables run from 0. An inner extent that depends
    /// on outer indices is widened to a box, with a predicate.
    fn nest(
        &mut self,
        f: &mut Frame,
        vars: &[IndexVar],
        indices: &mut Vec<Index>,
        id: TId,
        body: Body<'_, Self>,
        nest: Nest,
    ) -> Out<E> {
        let span = self.span(f, id);
        let Some(var) = vars.get(indices.len()) else {
            return self.closed(span, |this| body(this, f, indices));
        };
        let (index, value, inside, asked) = self.asked_range(f, var, span)?;
        f.env.insert(var.local, Sym::Int { poly: value, exact: true });
        if nest == Nest::Gen && !inside.is_true() {
            return Err(self.outside(Reason::DataRange, span));
        }
        let negative = Pred::nonneg(&index.extent);
        let checked = nest == Nest::Gen && !self.context.implies(&negative);
        indices.push(index.clone());
        let depth = indices.len();
        let locals = self.locals.len();
        let e = self.inside(&index, |this| {
            this.under(&inside.clone(), |this| match this.nest(f, vars, indices, id, body, nest) {
                Err(outside) if outside.what == Reason::DataRange => {
                    this.locals.truncate(locals);
                    let apart = this.closed(span, |this| {
                        indices.truncate(depth);
                        let e = this.apart(span, |this| this.nest(f, vars, indices, id, body, nest))?;
                        Ok(Sym::Data(e))
                    });
                    apart.map_err(|_| outside)
                }
                found => found,
            })
        })?;
        let e = Expr::guard(inside, e);
        let e = match nest {
            Nest::Sum => {
                let ty = e.ty.clone();
                Expr::new(Kind::Sum(index, e), ty, span)
            }
            Nest::Gen => {
                let e = Expr::generate(index, e);
                if checked {
                    let what = self.failing(f, id, Code::E0509, "the extent is negative");
                    Expr::new(Kind::Check(negative, what, e.clone()), e.ty.clone(), span)
                } else {
                    e
                }
            }
        };
        Ok(self.stepping(f, id, asked, e))
    }
}

/// The body of a nest of binders.
type Body<'b, E> = &'b mut dyn FnMut(&mut E, &mut Frame, &[Index]) -> Out<Sym>;

/// The form that a nest of binders takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nest {
    Gen,
    Sum,
}

fn component_type(ty: &Type, k: usize) -> Type {
    match ty {
        Type::Tuple(items) => items.get(k).cloned().unwrap_or(Type::Error),
        _ => Type::Error,
    }
}

/// Returns the position of a field in core, and its type.
fn field(ty: &Type, k: u32) -> (usize, Type) {
    match ty {
        Type::Record(fields) => {
            let at = super::field_order(fields).iter().position(|j| *j == k as usize).unwrap_or_default();
            (at, fields.get(k as usize).map_or(Type::Error, |f| f.1.clone()))
        }
        _ => (k as usize, Type::Error),
    }
}
