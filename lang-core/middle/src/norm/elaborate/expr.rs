//! **Expressions.** Dispatches on each kind of typed expression, and elaborates constants, tuples,
//! records, checks and comparisons. Calls, control flow and indexing have files of their own.

use std::rc::Rc;
use std::sync::Arc;

use super::loops::FoldExpr;
use super::{Closure, ElabFrame, ElabResult, Elaborator, SymbolicValue, field_order};
use lang_base::{Code, Name, Span, check_cancelled};
use lang_ir::core::{Constant, CoreExpr, CoreType, ExprKind, ExprRef, NoCoreFormReason, ScalarOp, TupleLabels};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};
use lang_types::tree::{self, SizeCheck, SizeConstraint, TypedForm, TypedId};
use lang_types::ty::Type;

impl Elaborator<'_> {
    /// Elaborates an expression to its symbolic value.
    pub(super) fn expr(&mut self, f: &mut ElabFrame, id: TypedId) -> ElabResult<SymbolicValue> {
        check_cancelled();
        let value = self.elaborate_node(f, id)?;
        // A value that comes from a subexpression, or from elsewhere, keeps the span of its origin.
        let own = matches!(
            f.code.body.nodes[id].kind,
            tree::TypedExpr::Local(_)
                | tree::TypedExpr::Neg(_)
                | tree::TypedExpr::Arith(..)
                | tree::TypedExpr::Guard(..)
                | tree::TypedExpr::Proj(..)
                | tree::TypedExpr::Index(..)
                | tree::TypedExpr::Binder { .. }
        );
        Ok(match value {
            SymbolicValue::Data(e) if own => SymbolicValue::Data(CoreExpr::at_span(&e, self.span(f, id))),
            value => value,
        })
    }

    fn elaborate_node(&mut self, f: &mut ElabFrame, id: TypedId) -> ElabResult<SymbolicValue> {
        let body = Arc::clone(&f.code.body);
        let node = &body.nodes[id];
        let span = self.span(f, id);
        self.spend_fuel(span)?;
        let outside = |this: &Self, reason| Err(this.no_core_form(reason, span));
        match &node.kind {
            tree::TypedExpr::Error => outside(self, NoCoreFormReason::Errors),
            tree::TypedExpr::Str(_) => outside(self, NoCoreFormReason::Effect),
            tree::TypedExpr::Real(x) => self.real_literal(f, x.0, &node.ty, span),
            tree::TypedExpr::Int(i) => self.int_literal(f, *i, &node.ty, span),
            tree::TypedExpr::Bool(b) => Ok(SymbolicValue::Bool(if *b { Pred::truth() } else { Pred::falsity() })),
            tree::TypedExpr::Local(l) => match f.env.get(l) {
                Some(sym) => Ok(sym.clone()),
                None => outside(self, NoCoreFormReason::DataRange),
            },
            tree::TypedExpr::Global(name) if self.globals.contains_key(name) => match self.globals.get(name) {
                Some(sym) => Ok(sym.clone()),
                None => outside(self, NoCoreFormReason::FunctionValue),
            },
            tree::TypedExpr::Global(name) => {
                let ty = self.core_type(f, &node.ty, span)?;
                if ty == CoreType::Scalar(Scalar::I64) {
                    return Ok(SymbolicValue::Int { poly: Poly::atom(Atom::Global(name.clone())), exact: true });
                }
                Ok(self.symbolic_value(CoreExpr::new(ExprKind::Global(name.clone()), ty, span)))
            }
            tree::TypedExpr::Size(p) => Ok(SymbolicValue::Int { poly: self.elaborate_size(f, p, span)?, exact: true }),
            tree::TypedExpr::DefValue(..)
            | tree::TypedExpr::BuiltinValue(..)
            | tree::TypedExpr::ScalarValue(_)
            | tree::TypedExpr::Form(TypedForm::Derive(..), _) => {
                let scope = Rc::clone(&f.code);
                Ok(SymbolicValue::Fun(Rc::new(Closure::Reference { scope, env: f.env.clone(), node: id })))
            }
            tree::TypedExpr::CtorValue(_, k) => match &node.ty {
                Type::Fun(_) => {
                    let scope = Rc::clone(&f.code);
                    Ok(SymbolicValue::Fun(Rc::new(Closure::Reference { scope, env: f.env.clone(), node: id })))
                }
                ty => self.construct(f, ty, *k, Vec::new(), span),
            },
            tree::TypedExpr::Neg(a) => {
                let a = self.expr(f, *a)?;
                self.negate(a, span)
            }
            tree::TypedExpr::Not(a) => match self.expr(f, *a)? {
                SymbolicValue::Bool(p) => Ok(SymbolicValue::Bool(p.negated())),
                a => self.apply_scalar_op(ScalarOp::Not, vec![a], Scalar::Bool, span),
            },
            tree::TypedExpr::Arith(..) => self.arith_chain(f, id),
            tree::TypedExpr::Compare(first, rest) => self.comparison_chain(f, *first, rest, span),
            tree::TypedExpr::And(items) => self.logical_chain(f, items, true),
            tree::TypedExpr::Or(items) => self.logical_chain(f, items, false),
            tree::TypedExpr::Pow(a, b) => {
                let (a, b) = (self.expr(f, *a)?, self.expr(f, *b)?);
                self.power(f, id, a, b, span)
            }
            tree::TypedExpr::Scalar(function, args) => {
                let args = args.iter().map(|a| self.expr(f, *a)).collect::<ElabResult<Vec<SymbolicValue>>>()?;
                let of = self.element_scalar(f, &node.ty, span)?;
                self.apply_scalar_op(ScalarOp::Scalar(*function), args, of, span)
            }
            tree::TypedExpr::Convert(to, a) => {
                let a = self.expr(f, *a)?;
                if let (Scalar::I64, SymbolicValue::Int { .. }) = (to, &a) {
                    return Ok(a);
                }
                self.apply_scalar_op(ScalarOp::Convert(*to), vec![a], *to, span)
            }
            tree::TypedExpr::Guard(p, e) => self.guard(f, *p, *e, span),
            tree::TypedExpr::Array(items) => self.array_literal(f, items, &node.ty, span),
            tree::TypedExpr::Tuple(items) => {
                let items = items.iter().map(|e| self.expr(f, *e)).collect::<ElabResult<_>>()?;
                Ok(SymbolicValue::Tuple(items, TupleLabels::Positions))
            }
            tree::TypedExpr::Record(items) => self.record_expr(f, items, &node.ty),
            tree::TypedExpr::Proj(e, k) => {
                let ty = body.nodes[*e].ty.clone();
                let value = self.expr(f, *e)?;
                self.project(f, &value, &ty, *k)
            }
            tree::TypedExpr::Index(x, subs) => self.index_expr(f, id, *x, subs),
            tree::TypedExpr::Call { callee, args } => self.call(f, id, callee, args),
            tree::TypedExpr::Checked(checks, e) => {
                let value = self.expr(f, *e)?;
                self.size_checks(f, id, checks, value)
            }
            tree::TypedExpr::Opened(opens, e) => {
                let value = self.expr(f, *e)?;
                self.bind_result_sizes(f, opens, &body.nodes[*e].ty, &value, span)?;
                Ok(value)
            }
            tree::TypedExpr::Card(r) => self.cardinality(f, *r, span),
            tree::TypedExpr::Lambda(lambda) => {
                let captures = lambda.captures.iter().filter_map(|l| Some((*l, f.env.get(l)?.clone())));
                let (scope, env) = (Rc::clone(&f.code), captures.collect());
                Ok(SymbolicValue::Fun(Rc::new(Closure::Lambda { scope, env, lambda: lambda.clone() })))
            }
            tree::TypedExpr::Let(bindings, e) => {
                for (pat, e) in bindings {
                    let value = self.expr(f, *e)?;
                    self.bind_pattern(f, pat, &value, &body.nodes[*e].ty, span)?;
                }
                self.expr(f, *e)
            }
            tree::TypedExpr::If(arms, last) => self.if_expr(f, arms, *last, &node.ty, span),
            tree::TypedExpr::Match(e, arms) => self.match_expr(f, *e, arms, &node.ty, span),
            tree::TypedExpr::Binder { kind, vars, filter, body } => self.binder(f, id, *kind, vars, *filter, *body),
            tree::TypedExpr::Fold { is_scan: scan, acc, init, vars, body, yields } => {
                let fold = FoldExpr { scan: *scan, acc, init: *init, vars, body: *body, yields: *yields };
                self.fold_expr(f, id, &fold)
            }
            tree::TypedExpr::Checkpoint(every, of) => self.checkpoint(f, *every, *of),
            tree::TypedExpr::Loop { is_scan: scan, acc, init, cond, body } => {
                self.loop_expr(f, id, *scan, acc, *init, *cond, *body)
            }
            tree::TypedExpr::With(x, updates) => self.with_expr(f, *x, updates, span),
            tree::TypedExpr::Member(r, args) => self.membership(f, *r, args, span),
            tree::TypedExpr::Form(special, args) => self.special_form(f, id, special, args),
        }
    }

    fn special_form(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        special: &TypedForm,
        args: &[TypedId],
    ) -> ElabResult<SymbolicValue> {
        let span = self.span(f, id);
        let node = f.code.body.nodes[id].clone();
        let outside = |this: &Self, reason| Err(this.no_core_form(reason, span));
        let first = args.first().copied();
        match (special, first) {
            (TypedForm::Assert(text), Some(p)) => {
                let p = self.predicate(f, p)?;
                let what = self.check_failure(f, id, Code::E0502, format!("assertion failed: {text}"));
                // Nothing reads the value of an assertion. So it has a binding of its own, which
                // every form keeps.
                let unit = CoreExpr::new(ExprKind::Tuple(Vec::new()), CoreType::unit(), span);
                let ty = unit.ty.clone();
                let check = CoreExpr::new(ExprKind::Check(p, what, unit), ty, span);
                Ok(SymbolicValue::Data(self.bind("assert", check)))
            }
            (TypedForm::Error(text), _) => {
                let what = self.check_failure(f, id, Code::E0503, text.clone());
                let ty = self.core_type(f, &node.ty, span)?;
                let zero = self.zero(&ty, span);
                Ok(self.with_check(Pred::falsity(), what, &zero))
            }
            (TypedForm::Par, _) => {
                let items = args.iter().map(|e| self.expr(f, *e)).collect::<ElabResult<_>>()?;
                Ok(SymbolicValue::Tuple(items, TupleLabels::Positions))
            }
            (TypedForm::Stop, Some(e)) => {
                let value = self.expr(f, e)?;
                let ty = self.core_type(f, &node.ty, span)?;
                self.stop_gradient(&value, &ty, span)
            }
            (TypedForm::Reshape, Some(x)) => self.reshape(f, id, x, &node.ty, span),
            (TypedForm::Relation, Some(rows)) => self.relation_from_rows(f, id, rows, span),
            (TypedForm::Deriv(by), Some(e)) => self.deriv(f, *by, e, span),
            _ => outside(self, NoCoreFormReason::Effect),
        }
    }

    /// Makes a value constant to derivatives (`stop`), leaf by leaf.
    fn stop_gradient(&mut self, value: &SymbolicValue, ty: &CoreType, span: Span) -> ElabResult<SymbolicValue> {
        Ok(match (value, ty) {
            (SymbolicValue::Int { .. } | SymbolicValue::Bool(_), _) => value.clone(),
            (_, CoreType::Scalar(_) | CoreType::Tensor(..)) => {
                let e = self.data_value(value, span)?;
                let stop = |items: Vec<ExprRef>| {
                    let ty = items.first().map_or(CoreType::Scalar(Scalar::F64), |e| e.ty.clone());
                    CoreExpr::new(ExprKind::Apply(ScalarOp::Stop, items), ty, span)
                };
                match ty.split_array().1 {
                    CoreType::Scalar(_) => SymbolicValue::Data(self.lift_over_arrays(vec![e], ty, &stop)),
                    _ => return Err(self.no_core_form(NoCoreFormReason::Derivative, span)),
                }
            }
            (_, CoreType::Tuple(types, names)) => {
                let mut items = Vec::new();
                for (k, ty) in types.iter().enumerate() {
                    let item = self.component(value, k)?;
                    items.push(self.stop_gradient(&item, ty, span)?);
                }
                SymbolicValue::Tuple(items, names.clone())
            }
            (_, CoreType::Rel(_)) => value.clone(),
        })
    }

    // ---- constants ----

    fn real_literal(&mut self, f: &ElabFrame, x: f64, ty: &Type, span: Span) -> ElabResult<SymbolicValue> {
        let ty = self.core_type(f, ty, span)?;
        Ok(SymbolicValue::Data(CoreExpr::new(ExprKind::Constant(Constant::Real(x)), ty, span)))
    }

    /// Elaborates an integer literal, which is real if a type parameter requires it.
    #[expect(clippy::cast_precision_loss, reason = "literals become the nearest real, as in the interpreter")]
    fn int_literal(&mut self, f: &ElabFrame, i: i64, ty: &Type, span: Span) -> ElabResult<SymbolicValue> {
        let ty = self.core_type(f, ty, span)?;
        Ok(match ty {
            CoreType::Scalar(Scalar::F64) => {
                SymbolicValue::Data(CoreExpr::new(ExprKind::Constant(Constant::Real(i as f64)), ty, span))
            }
            CoreType::Scalar(Scalar::F32) => {
                SymbolicValue::Data(CoreExpr::new(ExprKind::Constant(Constant::Real(f64::from(i as f32))), ty, span))
            }
            _ => SymbolicValue::Int { poly: Poly::constant(i.into()), exact: true },
        })
    }

    /// Returns the zero of a type: a bracket that is false.
    pub(super) fn zero(&mut self, ty: &CoreType, span: Span) -> ExprRef {
        match ty {
            CoreType::Scalar(s) => {
                let zero = match s {
                    Scalar::F64 | Scalar::F32 => Constant::Real(0.0),
                    Scalar::I64 => Constant::Int(0),
                    Scalar::Bool => Constant::Bool(false),
                };
                let e = CoreExpr::new(ExprKind::Constant(zero), ty.clone(), span);
                CoreExpr::guard(Pred::falsity(), e)
            }
            CoreType::Tensor(n, inner) => {
                let index = self.vars.fresh_index("i", n.clone());
                let inner = self.zero(inner, span);
                CoreExpr::generate(index, inner)
            }
            CoreType::Tuple(items, _) => {
                let items = items.iter().map(|t| self.zero(t, span)).collect();
                CoreExpr::new(ExprKind::Tuple(items), ty.clone(), span)
            }
            CoreType::Rel(_) => CoreExpr::new(ExprKind::Tuple(Vec::new()), ty.clone(), span),
        }
    }

    // ---- tuples, records, sums ----

    fn record_expr(&mut self, f: &mut ElabFrame, items: &[(u32, TypedId)], ty: &Type) -> ElabResult<SymbolicValue> {
        let Type::Record(fields) = ty else { return Err(self.no_core_form(NoCoreFormReason::Errors, Span::default())) };
        let mut values: Vec<Option<SymbolicValue>> = vec![None; fields.len()];
        for (k, e) in items {
            let value = self.expr(f, *e)?;
            if let Some(slot) = values.get_mut(*k as usize) {
                *slot = Some(value);
            }
        }
        let order = field_order(fields);
        let names: Arc<[Name]> = order.iter().filter_map(|k| Some(fields.get(*k)?.0.clone())).collect();
        let values = order.iter().filter_map(|k| values.get(*k)?.clone()).collect();
        Ok(SymbolicValue::Tuple(values, TupleLabels::Fields(names)))
    }

    /// Returns a component by its position in the source type.
    pub(super) fn project(
        &mut self,
        f: &ElabFrame,
        value: &SymbolicValue,
        ty: &Type,
        k: u32,
    ) -> ElabResult<SymbolicValue> {
        let ty = self.concrete_shape(f, ty);
        let at = match &ty {
            Type::Record(fields) => field_order(fields).iter().position(|j| *j == k as usize).unwrap_or_default(),
            _ => k as usize,
        };
        self.component(value, at)
    }

    /// Returns the type with a type parameter substituted; sizes stay.
    fn concrete_shape(&self, f: &ElabFrame, ty: &Type) -> Type {
        match ty {
            Type::Param(k, _) => f.code.types.get(*k as usize).cloned().unwrap_or(Type::Error),
            other => other.clone(),
        }
    }

    /// Returns a component by its position in core.
    pub(super) fn component(&mut self, value: &SymbolicValue, k: usize) -> ElabResult<SymbolicValue> {
        match value {
            SymbolicValue::Tuple(items, _) => match items.get(k) {
                Some(item) => Ok(item.clone()),
                None => Err(self.no_core_form(NoCoreFormReason::Errors, Span::default())),
            },
            SymbolicValue::Data(e) => {
                let e = self.bind("t", e.clone());
                let part = CoreExpr::proj(&e, u32::try_from(k).unwrap_or(u32::MAX));
                Ok(self.symbolic_value(part))
            }
            _ => Err(self.no_core_form(NoCoreFormReason::Errors, Span::default())),
        }
    }

    // ---- checks ----

    /// Returns the value with a check, unless the context implies the predicate.
    pub(super) fn with_check(&mut self, p: Pred, what: Arc<lang_ir::core::CheckFailure>, e: &ExprRef) -> SymbolicValue {
        if self.context.implies(&p) {
            return self.symbolic_value(e.clone());
        }
        let e = CoreExpr::new(ExprKind::Check(p, what, e.clone()), e.ty.clone(), e.span);
        self.symbolic_value(e)
    }

    fn size_checks(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        checks: &[SizeCheck],
        value: SymbolicValue,
    ) -> ElabResult<SymbolicValue> {
        let span = self.span(f, id);
        let mut value = value;
        for check in checks {
            let found = self.elaborate_size(f, &check.found, span)?;
            let p = match &check.constraint {
                SizeConstraint::Equal(wanted) => Pred::equal(&found, &self.elaborate_size(f, wanted, span)?),
                SizeConstraint::ValidExtent => Pred::in_range(&found, &Poly::constant(super::INTEGER_BOUND)),
            };
            if self.context.implies(&p) {
                continue;
            }
            let what = self.check_failure(f, id, Code::E0501, check.subject.clone());
            value = match &value {
                SymbolicValue::Fun(_) => return Err(self.no_core_form(NoCoreFormReason::FunctionValue, span)),
                other => {
                    let e = self.data_value(other, span)?;
                    self.with_check(p, what, &e)
                }
            };
        }
        Ok(value)
    }

    // ---- truth values ----

    /// Elaborates `&&` and `||`. Each operand is evaluated only if those before it do not decide
    /// the result.
    fn logical_chain(&mut self, f: &mut ElabFrame, items: &[TypedId], and: bool) -> ElabResult<SymbolicValue> {
        let mut so_far = if and { Pred::truth() } else { Pred::falsity() };
        for e in items {
            let reached = if and { so_far.clone() } else { so_far.negated() };
            let (bindings, p) = self.in_scope(|this| this.assuming(&reached, |this| this.predicate(f, *e)))?;
            self.bind_where(&reached, bindings);
            so_far = if and { so_far.and(&p) } else { Pred::any_of([so_far, p]) };
        }
        Ok(SymbolicValue::Bool(so_far))
    }

    /// Moves bindings of an inner scope into the current one, evaluated where a predicate holds.
    pub(super) fn bind_where(&mut self, p: &Pred, bindings: Vec<(lang_sizes::predicate::LocalId, ExprRef)>) {
        let guarded = bindings.into_iter().map(|(x, e)| (x, CoreExpr::guard(p.clone(), e)));
        if let Some(scope) = self.scopes.last_mut() {
            scope.bindings.extend(guarded);
        }
    }

    /// Elaborates `a < b <= c`.
    fn comparison_chain(
        &mut self,
        f: &mut ElabFrame,
        first: TypedId,
        rest: &[(BinOp, TypedId)],
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let mut left = self.expr(f, first)?;
        if let ([(op, e)], false) = (rest, matches!(left, SymbolicValue::Int { .. } | SymbolicValue::Bool(_))) {
            let right = self.expr(f, *e)?;
            return self.comparison(*op, left, right, span);
        }
        let mut so_far = Pred::truth();
        for (op, e) in rest {
            let reached = so_far.clone();
            let before = left.clone();
            let (bindings, (p, right)) = self.in_scope(|this| {
                this.assuming(&reached, |this| {
                    let right = this.expr(f, *e)?;
                    let p = this.comparison(*op, before, right.clone(), span)?;
                    let p = match p {
                        SymbolicValue::Bool(p) => p,
                        _ => return Err(this.no_core_form(NoCoreFormReason::Errors, span)),
                    };
                    Ok((p, right))
                })
            })?;
            self.bind_where(&reached, bindings);
            so_far = so_far.and(&p);
            left = right;
        }
        Ok(SymbolicValue::Bool(so_far))
    }

    /// Elaborates one comparison: a predicate for integers that cannot have wrapped, else an
    /// operation.
    fn comparison(&mut self, op: BinOp, a: SymbolicValue, b: SymbolicValue, span: Span) -> ElabResult<SymbolicValue> {
        if let (SymbolicValue::Int { .. }, SymbolicValue::Int { .. }) = (&a, &b) {
            let (a, b) = (self.exact_poly(a, span)?, self.exact_poly(b, span)?);
            self.mark_bounded(&a);
            self.mark_bounded(&b);
            return Ok(SymbolicValue::Bool(match op {
                BinOp::Eq => Pred::equal(&a, &b),
                BinOp::Ne => Pred::equal(&a, &b).negated(),
                BinOp::Lt => Pred::less(&a, &b),
                BinOp::Le => Pred::at_most(&a, &b),
                BinOp::Gt => Pred::less(&b, &a),
                _ => Pred::at_most(&b, &a),
            }));
        }
        if let (SymbolicValue::Bool(p), SymbolicValue::Bool(q), BinOp::Eq | BinOp::Ne) = (&a, &b, op) {
            let same = Pred::any_of([p.and(q), p.negated().and(&q.negated())]);
            return Ok(SymbolicValue::Bool(if op == BinOp::Eq { same } else { same.negated() }));
        }
        self.apply_scalar_op(ScalarOp::Binary(op), vec![a, b], Scalar::Bool, span)
    }

    /// Returns the polynomial of an integer. If an operation on it may have wrapped, returns a
    /// variable that holds the value instead.
    ///
    /// Fails with `IndexOverflow` if small numbers suffice for the wrap, because a later pass
    /// substitutes the variable's polynomial. The interpreter evaluates such a program.
    pub(super) fn exact_poly(&mut self, a: SymbolicValue, span: Span) -> ElabResult<Poly> {
        Ok(match a {
            SymbolicValue::Int { poly, exact: true } => poly,
            SymbolicValue::Int { poly, .. } if has_large_coefficient(&poly) => {
                return Err(self.no_core_form(NoCoreFormReason::IndexOverflow, span));
            }
            SymbolicValue::Int { poly, .. } => {
                let e = CoreExpr::new(ExprKind::Index(poly), CoreType::Scalar(Scalar::I64), span);
                let e = self.bind_always(&e);
                match super::as_variable_element(&e) {
                    Some((x, at)) => Poly::atom(Atom::Read(x, self.vars.name(x), at.into())),
                    None => Poly::atom(Atom::Overflow),
                }
            }
            _ => Poly::atom(Atom::Overflow),
        })
    }

    /// Elaborates an integer expression as an index.
    pub(super) fn index_poly(&mut self, f: &mut ElabFrame, id: TypedId) -> ElabResult<Poly> {
        let span = self.span(f, id);
        let value = self.expr(f, id)?;
        let poly = self.exact_poly(value, span)?;
        self.mark_bounded(&poly);
        if poly.has_overflowed() { Err(self.no_core_form(NoCoreFormReason::TooLarge, span)) } else { Ok(poly) }
    }

    /// Returns the element type of a type.
    pub(super) fn element_scalar(&mut self, f: &ElabFrame, ty: &Type, span: Span) -> ElabResult<Scalar> {
        let ty = self.core_type(f, ty, span)?;
        ty.split_array().1.scalar().ok_or_else(|| self.no_core_form(NoCoreFormReason::Errors, span))
    }
}

/// Returns whether the polynomial has coefficients with which numbers far below 2^47 leave the
/// range of `i64`.
pub(super) fn has_large_coefficient(p: &Poly) -> bool {
    const STEEP: u128 = 1 << 16;
    p.terms().iter().any(|(m, c)| {
        let inner = |a: &Atom| match a {
            Atom::Div(p, q) | Atom::Mod(p, q) | Atom::Min(p, q) | Atom::Max(p, q) => {
                has_large_coefficient(p) || has_large_coefficient(q)
            }
            _ => false,
        };
        !m.is_empty() && c.unsigned_abs() >= STEEP || m.iter().any(|(a, _)| inner(a))
    })
}
