//! **Control flow and binders.** Elaborates `if`, `match` and patterns, Iverson brackets, `for`,
//! `sum`, `any` and `all`.

use std::rc::Rc;

use super::ops::bracket_mask;
use super::update::merge_updates;
use super::{ElabFrame, ElabResult, Elaborator, SymbolicValue, contains_function};
use lang_base::{Code, Span};
use lang_ir::core::{CoreExpr, CoreType, ExprKind, ExprRef, NoCoreFormReason, TupleLabels};
use lang_ir::reduce::Reducer;
use lang_sizes::predicate::{Index, Poly, Pred};
use lang_syntax::ops::BinderKind;
use lang_types::tree::{self, TypedId, TypedIndexVar, TypedPattern};
use lang_types::ty::Type;

impl Elaborator<'_> {
    /// Binds a value to a name of the program, so that derived values can keep the name.
    pub(super) fn name_value(&mut self, value: SymbolicValue, name: &str) -> SymbolicValue {
        match value {
            SymbolicValue::Data(e) => SymbolicValue::Data(self.bind_named(name, e)),
            SymbolicValue::Tuple(items, names) => {
                let items = items.into_iter().map(|item| self.name_value(item, name)).collect();
                SymbolicValue::Tuple(items, names)
            }
            other => other,
        }
    }

    /// Elaborates `[p] * e`.
    pub(super) fn guard(&mut self, f: &mut ElabFrame, p: TypedId, e: TypedId, span: Span) -> ElabResult<SymbolicValue> {
        let p = self.predicate(f, p)?;
        let (bindings, e) = self.in_scope(|this| {
            this.assuming(&p, |this| {
                let e = this.expr(f, e)?;
                this.data_value(&e, span)
            })
        })?;
        // A bracket inside this one is merged with it, so that an enclosing sum or product sees the
        // whole predicate.
        if bracket_mask(&e).is_some() {
            self.bind_where(&p, bindings);
            return Ok(self.symbolic_value(CoreExpr::guard(p, e)));
        }
        Ok(self.symbolic_value(CoreExpr::guard(p, CoreExpr::lets(bindings, e))))
    }

    /// Elaborates `if` to a sum of brackets that exclude each other. A branch is evaluated only
    /// where it is selected.
    pub(super) fn if_expr(
        &mut self,
        f: &mut ElabFrame,
        arms: &[(TypedId, TypedId)],
        last: TypedId,
        ty: &Type,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let mut before = Pred::truth();
        let mut branches = Vec::new();
        for (condition, e) in arms {
            let reached = before.clone();
            let (bindings, p) = self.in_scope(|this| this.assuming(&reached, |this| this.predicate(f, *condition)))?;
            self.bind_where(&reached, bindings);
            branches.push((before.and(&p), *e));
            before = before.and(&p.negated());
        }
        branches.push((before, last));
        self.select_branch(
            f,
            ty,
            span,
            branches.len(),
            |this, f, k| {
                let Some((p, e)) = branches.get(k).cloned() else {
                    return Err(this.no_core_form(NoCoreFormReason::Errors, span));
                };
                Ok((p, this.expr(f, e)?))
            },
            &branches.iter().map(|b| b.0.clone()).collect::<Vec<_>>(),
        )
    }

    /// Returns the value of the branch whose predicate holds.
    fn select_branch(
        &mut self,
        f: &mut ElabFrame,
        ty: &Type,
        span: Span,
        count: usize,
        mut branch: impl FnMut(&mut Self, &mut ElabFrame, usize) -> ElabResult<(Pred, SymbolicValue)>,
        when: &[Pred],
    ) -> ElabResult<SymbolicValue> {
        let mut values: Vec<(Pred, SymbolicValue)> = Vec::new();
        for (k, p) in (0..count).zip(when) {
            if self.context.refutes(p) {
                continue;
            }
            let mut inner = ElabFrame { code: Rc::clone(&f.code), env: f.env.clone() };
            let (bindings, value) = self.in_scope(|this| {
                this.assuming(p, |this| {
                    let (_, value) = branch(this, &mut inner, k)?;
                    Ok(value)
                })
            })?;
            self.bind_where(p, bindings);
            values.push((p.clone(), value));
        }
        if let [(_, value)] = values.as_slice() {
            return Ok(value.clone());
        }
        if values.iter().all(|(_, v)| matches!(v, SymbolicValue::Bool(_))) && !values.is_empty() {
            let chosen =
                values.iter().filter_map(|(p, v)| if let SymbolicValue::Bool(q) = v { Some(p.and(q)) } else { None });
            return Ok(SymbolicValue::Bool(Pred::any_of(chosen)));
        }
        if values.iter().any(|(_, v)| contains_function(v)) {
            return Err(self.no_core_form(NoCoreFormReason::FunctionValue, span));
        }
        let ty = self.core_type(f, ty, span)?;
        self.select_value(&ty, values, span)
    }

    /// Returns the value whose predicate holds.
    fn select_value(
        &mut self,
        ty: &CoreType,
        values: Vec<(Pred, SymbolicValue)>,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        if let CoreType::Tuple(types, labels) = ty
            && values.iter().all(|(_, v)| matches!(v, SymbolicValue::Tuple(..)))
        {
            let mut items = Vec::new();
            for (k, ty) in types.iter().enumerate() {
                let part = |(p, v): &(Pred, SymbolicValue)| Ok((p.clone(), self.component(v, k)?));
                let parts = values.iter().map(part).collect::<ElabResult<Vec<_>>>()?;
                items.push(self.select_value(ty, parts, span)?);
            }
            return Ok(SymbolicValue::Tuple(items, labels.clone()));
        }
        let mut values = values
            .into_iter()
            .map(|(p, v)| Ok((p, self.data_value(&v, span)?)))
            .collect::<ElabResult<Vec<(Pred, ExprRef)>>>()?;
        let mut ty = ty.clone();
        if let CoreType::Rel(_) = ty {
            values = values.into_iter().map(|(p, e)| Ok((p, self.relation_as_array(e)?))).collect::<ElabResult<_>>()?;
            ty = values.first().map_or(ty, |(_, e)| e.ty.clone());
        }
        let ty = &ty;
        if let Some(updated) = merge_updates(&values) {
            return Ok(SymbolicValue::Data(updated));
        }
        let mut chosen = Vec::new();
        for (p, e) in values {
            // The merge reads this value once for each part or element. So the value is named, and
            // computed only where it is selected.
            let e = if matches!(ty, CoreType::Scalar(_)) || e.is_duplicable() {
                e
            } else {
                self.bind("b", CoreExpr::guard(p.clone(), e))
            };
            chosen.push((p, e));
        }
        let e = self.merge_arms(ty, &chosen, span);
        Ok(self.symbolic_value(e))
    }

    /// Elaborates `match` to predicates on the constructors of the value.
    pub(super) fn match_expr(
        &mut self,
        f: &mut ElabFrame,
        e: TypedId,
        arms: &[(TypedPattern, TypedId)],
        ty: &Type,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let value = self.expr(f, e)?;
        let value = self.name_value(value, "m");
        let of = f.code.body.nodes[e].ty.clone();
        let of = self.concrete(f, &of, span)?;
        let tagged = self.read_constructor_tags(&value, span)?;
        let mut before = Pred::truth();
        let mut branches = Vec::new();
        for (pat, e) in arms {
            let reached = before.clone();
            let (bindings, p) =
                self.in_scope(|this| this.assuming(&reached, |this| this.pattern_pred(pat, &tagged, &of, span)))?;
            self.bind_where(&reached, bindings);
            branches.push((before.and(&p), pat.clone(), *e));
            before = before.and(&p.negated());
        }
        let when: Vec<Pred> = branches.iter().map(|b| b.0.clone()).collect();
        self.select_branch(
            f,
            ty,
            span,
            branches.len(),
            |this, f, k| {
                let Some((p, pat, e)) = branches.get(k).cloned() else {
                    return Err(this.no_core_form(NoCoreFormReason::Errors, span));
                };
                this.bind_pattern(f, &pat, &value, &of, span)?;
                Ok((p, this.expr(f, e)?))
            },
            &when,
        )
    }

    /// Reads the constructor numbers of a value and its parts once, so that the predicates of all
    /// arms refer to the same numbers.
    fn read_constructor_tags(&mut self, value: &SymbolicValue, span: Span) -> ElabResult<SymbolicValue> {
        let (count, labels) = match value {
            SymbolicValue::Tuple(items, labels) => (items.len(), labels.clone()),
            SymbolicValue::Data(e) => match &e.ty {
                CoreType::Tuple(items, labels) => (items.len(), labels.clone()),
                _ => return Ok(value.clone()),
            },
            SymbolicValue::Int { .. } => {
                return Ok(SymbolicValue::Int { poly: self.exact_poly(value.clone(), span)?, exact: true });
            }
            other => return Ok(other.clone()),
        };
        let mut parts = Vec::new();
        for k in 0..count {
            let part = self.component(value, k)?;
            // The arguments of a constructor exist only under that constructor.
            parts.push(if matches!(labels, TupleLabels::Sum(_)) {
                part
            } else {
                self.read_constructor_tags(&part, span)?
            });
        }
        Ok(SymbolicValue::Tuple(parts, labels))
    }

    /// Returns the predicate that the pattern matches the value.
    fn pattern_pred(&mut self, pat: &TypedPattern, value: &SymbolicValue, ty: &Type, span: Span) -> ElabResult<Pred> {
        match pat {
            TypedPattern::Wild | TypedPattern::Bind(_) => Ok(Pred::truth()),
            TypedPattern::Sized(_, inner) => self.pattern_pred(inner, value, ty, span),
            TypedPattern::Int(i) => match value {
                SymbolicValue::Int { .. } => {
                    let poly = self.exact_poly(value.clone(), span)?;
                    Ok(Pred::equal(&poly, &Poly::constant((*i).into())))
                }
                _ => Err(self.no_core_form(NoCoreFormReason::Errors, span)),
            },
            TypedPattern::Bool(b) => match value {
                SymbolicValue::Bool(p) => Ok(if *b { p.clone() } else { p.negated() }),
                _ => Err(self.no_core_form(NoCoreFormReason::Errors, span)),
            },
            TypedPattern::Tuple(items) => {
                let mut all = Pred::truth();
                for (k, pat) in items.iter().enumerate() {
                    let part = self.component(value, k)?;
                    let of = component_type(ty, k);
                    all = all.and(&self.pattern_pred(pat, &part, &of, span)?);
                }
                Ok(all)
            }
            TypedPattern::Record(fields) => {
                let mut all = Pred::truth();
                for (k, pat) in fields {
                    let (at, of) = field_position(ty, *k);
                    let part = self.component(value, at)?;
                    all = all.and(&self.pattern_pred(pat, &part, &of, span)?);
                }
                Ok(all)
            }
            TypedPattern::Ctor(k, items) => {
                let tag = self.component(value, 0)?;
                let tag = self.exact_poly(tag, span)?;
                let mut all = Pred::equal(&tag, &Poly::constant((*k).into()));
                let reached = all.clone();
                let args = self.constructor_arg_types(ty, *k, span)?;
                for (j, pat) in items.iter().enumerate() {
                    if matches!(pat, TypedPattern::Wild | TypedPattern::Bind(_)) {
                        continue;
                    }
                    let payload = self.component(value, *k as usize + 1)?;
                    let part = self.component(&payload, j)?;
                    let of = args.get(j).cloned().unwrap_or(Type::Error);
                    let inner = self.assuming(&reached, |this| this.pattern_pred(pat, &part, &of, span))?;
                    all = all.and(&inner);
                }
                Ok(all)
            }
        }
    }

    /// Binds the variables of a pattern that matches.
    pub(super) fn bind_pattern(
        &mut self,
        f: &mut ElabFrame,
        pat: &TypedPattern,
        value: &SymbolicValue,
        ty: &Type,
        span: Span,
    ) -> ElabResult<()> {
        // A value that is destructured is computed once.
        let held = match (pat, value) {
            (TypedPattern::Tuple(_) | TypedPattern::Record(_) | TypedPattern::Ctor(..), SymbolicValue::Data(e)) => {
                SymbolicValue::Data(self.bind("t", e.clone()))
            }
            _ => value.clone(),
        };
        let value = &held;
        match pat {
            TypedPattern::Wild | TypedPattern::Int(_) | TypedPattern::Bool(_) => Ok(()),
            TypedPattern::Bind(local) => {
                let name = f.code.body.locals.get(local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
                let value = self.name_value(value.clone(), &name);
                f.env.insert(*local, value);
                Ok(())
            }
            TypedPattern::Tuple(items) => items.iter().enumerate().try_for_each(|(k, pat)| {
                let part = self.component(value, k)?;
                self.bind_pattern(f, pat, &part, &component_type(ty, k), span)
            }),
            TypedPattern::Record(fields) => fields.iter().try_for_each(|(k, pat)| {
                let (at, of) = field_position(ty, *k);
                let part = self.component(value, at)?;
                self.bind_pattern(f, pat, &part, &of, span)
            }),
            TypedPattern::Ctor(k, items) => {
                let args = self.constructor_arg_types(ty, *k, span)?;
                for (j, pat) in items.iter().enumerate() {
                    let payload = self.component(value, *k as usize + 1)?;
                    let part = self.component(&payload, j)?;
                    let of = args.get(j).cloned().unwrap_or(Type::Error);
                    self.bind_pattern(f, pat, &part, &of, span)?;
                }
                Ok(())
            }
            TypedPattern::Sized(locals, inner) => {
                let mut sizes = match value {
                    SymbolicValue::Data(e) => e.ty.clone(),
                    _ => return Err(self.no_core_form(NoCoreFormReason::DataRange, span)),
                };
                for local in locals {
                    let CoreType::Tensor(n, rest) = sizes else {
                        return Err(self.no_core_form(NoCoreFormReason::Errors, span));
                    };
                    f.env.insert(*local, SymbolicValue::Int { poly: n, exact: true });
                    sizes = (*rest).clone();
                }
                self.bind_pattern(f, inner, value, ty, span)
            }
        }
    }

    // ---- binders ----

    pub(super) fn binder(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        kind: BinderKind,
        vars: &[TypedIndexVar],
        filter: Option<TypedId>,
        body: TypedId,
    ) -> ElabResult<SymbolicValue> {
        let span = self.span(f, id);
        match kind {
            BinderKind::For => {
                let e = self.generation(f, vars, id, &mut |this, f, _| this.expr(f, body))?;
                Ok(SymbolicValue::Data(e))
            }
            BinderKind::Sum => {
                let ty = f.code.body.nodes[id].ty.clone();
                let ty = self.core_type(f, &ty, span)?;
                if let CoreType::Scalar(_) = ty {
                    let e = self.sum_expr(f, id, vars, filter, body)?;
                    return Ok(self.symbolic_value(e));
                }
                self.sum_of_arrays(f, id, vars, filter, body, &ty)
            }
            BinderKind::Any | BinderKind::All => self.quantifier(f, kind, vars, filter, body, span),
            BinderKind::Rel => self.comprehension(f, id, vars, filter, body),
            _ => match Reducer::from_binder(kind) {
                Some(reducer) => self.reduction(f, id, reducer, vars, filter, body),
                None => Err(self.no_core_form(NoCoreFormReason::Errors, span)),
            },
        }
    }

    /// Elaborates `Σ i: [p] · e`.
    fn sum_expr(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        vars: &[TypedIndexVar],
        filter: Option<TypedId>,
        body: TypedId,
    ) -> ElabResult<ExprRef> {
        let span = self.span(f, id);
        let mut term = |this: &mut Self, f: &mut ElabFrame, _: &[Index]| match filter {
            None => this.expr(f, body),
            Some(p) => this.guard(f, p, body, span),
        };
        self.binder_nest(f, vars, &mut Vec::new(), id, &mut term, BinderForm::Sum)
    }

    /// Elaborates a sum of arrays or tuples: binds the terms as an array, then sums each element.
    fn sum_of_arrays(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        vars: &[TypedIndexVar],
        filter: Option<TypedId>,
        body: TypedId,
        ty: &CoreType,
    ) -> ElabResult<SymbolicValue> {
        let span = self.span(f, id);
        // A sum of sums is one sum over all their indices.
        let code = std::sync::Arc::clone(&f.code.body);
        let (mut vars, mut filter, mut body) = (vars.to_vec(), filter, body);
        while let (None, tree::TypedExpr::Binder { kind: BinderKind::Sum, vars: inner, filter: p, body: e }) =
            (filter, &code.nodes[body].kind)
        {
            vars.extend(inner.iter().cloned());
            (filter, body) = (*p, *e);
        }
        let mut term = |this: &mut Self, f: &mut ElabFrame, _: &[Index]| match filter {
            None => this.expr(f, body),
            Some(p) => this.guard(f, p, body, span),
        };
        let mut indices = Vec::new();
        let terms = self.binder_nest(f, &vars, &mut indices, id, &mut term, BinderForm::Gen)?;
        let sum_indices: Vec<Index> =
            indices.iter().map(|i| self.vars.fresh_index(i.name.clone(), i.extent.clone())).collect();
        let (e, p) = self.bind_guarded_terms(&terms, &indices, &sum_indices);
        Ok(SymbolicValue::Data(self.sum_elements(&sum_indices, &p, &e, ty, span)))
    }

    fn sum_elements(&mut self, over: &[Index], p: &Pred, e: &ExprRef, ty: &CoreType, span: Span) -> ExprRef {
        match ty {
            CoreType::Tensor(n, inner) => {
                let index = self.vars.fresh_index("i", n.clone());
                let e = self.sum_elements(over, p, &CoreExpr::access(e, index.value()), inner, span);
                CoreExpr::generate(index, e)
            }
            CoreType::Tuple(types, _) => {
                let parts = (0..).zip(types.iter());
                let items = parts.map(|(k, t)| self.sum_elements(over, p, &CoreExpr::proj(e, k), t, span)).collect();
                CoreExpr::new(ExprKind::Tuple(items), ty.clone(), span)
            }
            CoreType::Scalar(_) | CoreType::Rel(_) => {
                // A binder is bound only once, so each part sums over indices of its own.
                let own: Vec<Index> =
                    over.iter().map(|i| self.vars.fresh_index(i.name.clone(), i.extent.clone())).collect();
                let put = |p: &Poly| {
                    p.substitute(&|a| {
                        let at = over.iter().position(|i| i.atom() == *a)?;
                        own.get(at).map(Index::value)
                    })
                };
                let e = CoreExpr::guard(p.clone(), e.clone());
                let e = crate::norm::substitute::substitute_expr(&e, &put);
                own.into_iter().rev().fold(e, |e, i| CoreExpr::new(ExprKind::Sum(i, e), ty.clone(), span))
            }
        }
    }

    /// Elaborates `any` and `all` to an existential. Values that its body computes become arrays.
    fn quantifier(
        &mut self,
        f: &mut ElabFrame,
        kind: BinderKind,
        vars: &[TypedIndexVar],
        filter: Option<TypedId>,
        body: TypedId,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let holds = kind == BinderKind::Any;
        let p = self.existential(f, vars, 0, span, &mut |this, f| {
            let p = match filter {
                None => Pred::truth(),
                Some(p) => this.predicate(f, p)?,
            };
            let (bindings, q) = this.in_scope(|this| this.assuming(&p.clone(), |this| this.predicate(f, body)))?;
            this.bind_where(&p, bindings);
            Ok(p.and(&if holds { q } else { q.negated() }))
        })?;
        Ok(SymbolicValue::Bool(if holds { p } else { p.negated() }))
    }

    fn existential(
        &mut self,
        f: &mut ElabFrame,
        vars: &[TypedIndexVar],
        depth: usize,
        span: Span,
        body: &mut dyn FnMut(&mut Self, &mut ElabFrame) -> ElabResult<Pred>,
    ) -> ElabResult<Pred> {
        let Some(var) = vars.get(depth) else { return body(self, f) };
        let (index, value, inside) = self.index_range(f, var, span)?;
        f.env.insert(var.local, SymbolicValue::Int { poly: value, exact: true });
        let holds = |this: &mut Self| this.in_scope(|this| this.existential(f, vars, depth + 1, span, body));
        let (bindings, p) = self.in_index_range(&index, |this| this.assuming(&inside, holds))?;
        let lifted = self.lift_bindings(&index, &inside, bindings);
        let p = crate::norm::substitute::index_variables_in_pred(&inside.and(&p), &lifted, &index.value());
        Ok(Pred::exists(&index, &p))
    }

    /// Builds a generation for each index variable.
    pub(super) fn generation(
        &mut self,
        f: &mut ElabFrame,
        vars: &[TypedIndexVar],
        id: TypedId,
        body: BinderBody<'_, Self>,
    ) -> ElabResult<ExprRef> {
        self.binder_nest(f, vars, &mut Vec::new(), id, body, BinderForm::Gen)
    }

    /// Builds nested generations or sums. Index variables run from 0. An inner extent that depends
    /// on outer indices is widened to a box, with a predicate.
    fn binder_nest(
        &mut self,
        f: &mut ElabFrame,
        vars: &[TypedIndexVar],
        indices: &mut Vec<Index>,
        id: TypedId,
        body: BinderBody<'_, Self>,
        nest: BinderForm,
    ) -> ElabResult<ExprRef> {
        let span = self.span(f, id);
        let Some(var) = vars.get(indices.len()) else {
            return self.in_closed_scope(span, |this| body(this, f, indices));
        };
        let (index, value, inside, step_check) = self.checked_index_range(f, var, span)?;
        f.env.insert(var.local, SymbolicValue::Int { poly: value, exact: true });
        if nest == BinderForm::Gen && !inside.is_true() {
            return Err(self.no_core_form(NoCoreFormReason::DataRange, span));
        }
        let negative = Pred::nonneg(&index.extent);
        let checked = nest == BinderForm::Gen && !self.context.implies(&negative);
        indices.push(index.clone());
        let depth = indices.len();
        let locals = self.local_functions.len();
        let e = self.in_index_range(&index, |this| {
            this.assuming(&inside.clone(), |this| match this.binder_nest(f, vars, indices, id, body, nest) {
                Err(outside) if outside.reason == NoCoreFormReason::DataRange => {
                    this.local_functions.truncate(locals);
                    let outlined = this.in_closed_scope(span, |this| {
                        indices.truncate(depth);
                        let e = this.outline(span, |this| this.binder_nest(f, vars, indices, id, body, nest))?;
                        Ok(SymbolicValue::Data(e))
                    });
                    outlined.map_err(|_| outside)
                }
                found => found,
            })
        })?;
        let e = CoreExpr::guard(inside, e);
        let e = match nest {
            BinderForm::Sum => {
                let ty = e.ty.clone();
                CoreExpr::new(ExprKind::Sum(index, e), ty, span)
            }
            BinderForm::Gen => {
                let e = CoreExpr::generate(index, e);
                if checked {
                    let what = self.check_failure(f, id, Code::E0509, "the extent is negative");
                    CoreExpr::new(ExprKind::Check(negative, what, e.clone()), e.ty.clone(), span)
                } else {
                    e
                }
            }
        };
        Ok(self.check_step(f, id, step_check, e))
    }
}

/// The body of a nest of binders.
type BinderBody<'b, E> = &'b mut dyn FnMut(&mut E, &mut ElabFrame, &[Index]) -> ElabResult<SymbolicValue>;

/// The form that a nest of binders takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BinderForm {
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
fn field_position(ty: &Type, k: u32) -> (usize, Type) {
    match ty {
        Type::Record(fields) => {
            let at = super::field_order(fields).iter().position(|j| *j == k as usize).unwrap_or_default();
            (at, fields.get(k as usize).map_or(Type::Error, |f| f.1.clone()))
        }
        _ => (k as usize, Type::Error),
    }
}
