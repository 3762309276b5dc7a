//! **Operators**: arithmetic, comparisons, powers and scalar functions.
//!
//! All are lifted over arrays of equal shape; scalars are broadcast. An operation whose operand
//! types are unknown is deferred until unification wakes it.

use super::super::tree::{SizeCheck, SizeConstraint, TypedExpr as Typed, TypedId};
use super::super::ty::{Scalar, Type, TypeClass};
use super::super::unify::{Mismatch, SizeGoals};
use super::scope::{Obligation, ScopeKind};
use super::size_names::{names_in_sizes, names_in_types};
use super::{DeferredLift, TypeChecker};
use lang_base::{Code, Diagnostic, Fix, Hint, Span, Suggestion};
use lang_resolve::scalar_fn::{ScalarDomain, ScalarFn};
use lang_sizes::predicate::Poly;
use lang_syntax::ast::{Expr, ExprId};
use lang_syntax::ops::{BinOp, Precedence};

/// Returns the class of a scalar function's arguments.
pub(super) fn domain_class(domain: ScalarDomain) -> TypeClass {
    match domain {
        ScalarDomain::Real => TypeClass::Real,
        ScalarDomain::Num | ScalarDomain::Int => TypeClass::Num,
    }
}

/// The result of lifting an operation: its type, or a need for more information.
enum LiftOutcome {
    Done(Type, SizeGoals),
    Unknown,
}

impl TypeChecker<'_> {
    /// Infers a flat chain of operators of one precedence level.
    pub(super) fn infer_chain(
        &mut self,
        first: ExprId,
        rest: &[(BinOp, Span, ExprId)],
        hint: Option<&Type>,
        span: Span,
    ) -> TypedId {
        match rest.first().map(|r| r.0.precedence()) {
            Some(Precedence::Pipe) => {
                let mut x = self.infer(first, None);
                for (_, _, f) in rest {
                    let at = self.node_span(x).to(self.expr_span(*f));
                    x = self.infer_pipe(x, *f, at);
                }
                x
            }
            Some(level @ (Precedence::And | Precedence::Or)) => {
                let scope = self.enter_scope(ScopeKind::Branch);
                let mut items = Vec::with_capacity(rest.len() + 1);
                for e in std::iter::once(first).chain(rest.iter().map(|r| r.2)) {
                    let p = self.check_expr(e, &Type::BOOL, if level == Precedence::And { "`&&`" } else { "`||`" });
                    // The right operand of `a && b` is evaluated only if `a` holds.
                    self.assume_condition(p, level == Precedence::And);
                    items.push(p);
                }
                self.leave_scope(scope, &Type::BOOL, span);
                let kind = if level == Precedence::And { Typed::And(items) } else { Typed::Or(items) };
                self.alloc(kind, Type::BOOL, span)
            }
            Some(Precedence::Compare) => self.infer_comparison(first, rest, span),
            _ => {
                let mut left = self.infer(first, hint);
                for (op, _, e) in rest {
                    let right = match self.report_misplaced_bracket(*op, *e) {
                        Some(node) => node,
                        None => self.infer(*e, hint),
                    };
                    // The span includes parentheses around the first operand.
                    let at = self.expr_span(first).to(self.expr_span(*e));
                    left = self.infer_arithmetic(*op, left, right, at);
                }
                left
            }
        }
    }

    /// Reports `x * [p]`, whose bracket guards nothing.
    fn report_misplaced_bracket(&mut self, op: BinOp, e: ExprId) -> Option<TypedId> {
        let Expr::Array { items, has_trailing_comma: false } = &self.tree.exprs[e].kind else { return None };
        let ([item], BinOp::Mul) = (items.as_slice(), op) else { return None };
        let p = self.infer(*item, None);
        if self.node_type(p) != Type::BOOL {
            return None;
        }
        let span = self.expr_span(e);
        self.report(
            Diagnostic::new(Code::E0207, span, "an Iverson bracket must guard a factor, but nothing follows it")
                .help("put the bracket first: `[p] * x`; then `x` is evaluated only where `p` holds"),
        );
        Some(self.error_node(span))
    }

    fn infer_arithmetic(&mut self, op: BinOp, left: TypedId, right: TypedId, span: Span) -> TypedId {
        let class = if op == BinOp::Div { TypeClass::Real } else { TypeClass::Num };
        let mut operands = [left, right];
        let what = format!("`{}`", op.symbol());
        let ty = self.lift(&mut operands, class, None, &what, span);
        let [left, right] = operands;
        let integer = matches!(op, BinOp::FloorDiv | BinOp::Mod);
        if integer {
            self.require_integer(&ty, op, span);
        }
        let sym = match (self.poly(left), self.poly(right)) {
            (Some(a), Some(b)) => match op {
                BinOp::Add => Some(a.add(b)),
                BinOp::Sub => Some(a.sub(b)),
                BinOp::Mul => Some(a.mul(b)),
                BinOp::FloorDiv => a.div(b),
                BinOp::Mod => a.rem(b),
                _ => None,
            },
            _ => None,
        };
        let sym = sym.filter(|p| !p.has_overflowed());
        self.alloc_with_poly(Typed::Arith(op, left, right), ty, span, sym)
    }

    /// Requires integer operands of `//` and `%`.
    fn require_integer(&mut self, ty: &Type, op: BinOp, span: Span) {
        let ty = self.metas.zonk(ty);
        let elem = ty.split_array().1.clone();
        match self.unify(&elem, &Type::I64) {
            Ok(_) => {}
            Err(_) if elem.has_error() => {}
            Err(_) => {
                let help = if op == BinOp::Mod {
                    "for reals, write `x - y * floor(x / y)`"
                } else {
                    "for reals, write `floor(x / y)`"
                };
                self.report(
                    Diagnostic::new(
                        Code::E0209,
                        span,
                        format!(
                            "`{}` works on integers, but these are `{}`",
                            op.symbol(),
                            self.metas.with_defaults(&elem)
                        ),
                    )
                    .help(help),
                );
            }
        }
    }

    fn infer_comparison(&mut self, first: ExprId, rest: &[(BinOp, Span, ExprId)], span: Span) -> TypedId {
        let mut operands = vec![self.infer(first, None)];
        for (k, (_, _, e)) in rest.iter().enumerate() {
            // Operands after a false comparison are not evaluated.
            let scope = (k > 0).then(|| self.enter_scope(ScopeKind::Branch));
            let operand = self.infer(*e, None);
            if let Some(scope) = scope {
                let leaving = self.nodes[operand].ty.clone();
                self.leave_scope(scope, &leaving, span);
            }
            operands.push(operand);
        }
        let equality = rest.iter().all(|r| matches!(r.0, BinOp::Eq | BinOp::Ne));
        let boolean = operands.iter().any(|n| self.metas.zonk(&self.nodes[*n].ty).split_array().1 == &Type::BOOL);
        let class = if equality && boolean { TypeClass::Any } else { TypeClass::Num };
        let what = rest.first().map(|r| format!("`{}`", r.0.symbol())).unwrap_or_default();
        let ty = self.lift(&mut operands, class, Some(Scalar::Bool), &what, span);
        if rest.len() > 1 && matches!(self.metas.shallow_resolve(&ty), Type::Array(..)) {
            self.report(
                Diagnostic::new(Code::E0204, span, "a chain of comparisons must compare numbers, not arrays")
                    .help("compare inside a binder: `for i: a[i] < b[i] < c[i]`"),
            );
        }
        let ops: Vec<BinOp> = rest.iter().map(|r| r.0).collect();
        self.warn_nan_comparisons(&operands, &ops);
        let mut operands = operands.into_iter();
        let Some(left) = operands.next() else { return self.error_node(span) };
        self.alloc(Typed::Compare(left, rest.iter().map(|r| r.0).zip(operands).collect()), ty, span)
    }

    pub(super) fn infer_power(&mut self, base: ExprId, exponent: ExprId, hint: Option<&Type>, span: Span) -> TypedId {
        let base = self.infer(base, hint);
        let exponent = self.infer(exponent, None);
        // An integer exponent stays an integer; the base may then be any number.
        let exponent_elem = self.metas.zonk(&self.nodes[exponent].ty).split_array().1.clone();
        let literal = matches!(self.nodes[exponent].kind, Typed::Int(_))
            || matches!(exponent_elem, Type::Meta(id) if self.metas.defaults_to_integer(id));
        if literal || exponent_elem == Type::I64 {
            let at = self.node_span(exponent);
            if let Err(m) = self.unify(&exponent_elem, &Type::I64) {
                self.report_mismatch(&m, &exponent_elem, &Type::I64, at, "an exponent");
            }
            let mut one = [base];
            let ty = self.lift(&mut one, TypeClass::Num, None, "`^`", span);
            let [base] = one;
            // A scalar base takes the shape of its exponents.
            let shapes = (self.metas.zonk(&ty), self.metas.zonk(&self.nodes[exponent].ty));
            if let ((base_dims, elem), (dims, _)) = (shapes.0.split_array(), shapes.1.split_array())
                && base_dims.is_empty()
                && !dims.is_empty()
            {
                let ty = Type::array(dims.into_iter().cloned(), elem.clone());
                return self.alloc(Typed::Pow(base, exponent), ty, span);
            }
            let exponent = match self.node_type(exponent) {
                t @ Type::Array(..) => {
                    let shape = Type::array(t.split_array().0.into_iter().cloned(), Type::I64);
                    let wanted = Type::array(self.metas.zonk(&ty).split_array().0.into_iter().cloned(), Type::I64);
                    match self.unify(&shape, &wanted) {
                        Ok(goals) => self.wrap_in_goal_checks(exponent, goals, "the exponents", Code::E0204),
                        Err(m) => {
                            self.report_shape_error(&m, &[base, exponent], "`^`", span);
                            exponent
                        }
                    }
                }
                _ => exponent,
            };
            let sym = match (self.poly(base), self.poly(exponent).and_then(Poly::as_constant)) {
                (Some(p), Some(k)) => u32::try_from(k).ok().map(|k| p.pow(k)).filter(|p| !p.has_overflowed()),
                _ => None,
            };
            return self.alloc_with_poly(Typed::Pow(base, exponent), ty, span, sym);
        }
        let mut operands = [base, exponent];
        let ty = self.lift(&mut operands, TypeClass::Real, None, "`^`", span);
        let [base, exponent] = operands;
        self.alloc(Typed::Pow(base, exponent), ty, span)
    }

    /// Reports powers of integers with exponents known to be negative, because they have no integer
    /// value.
    pub(super) fn check_powers(&mut self) {
        let powers: Vec<(TypedId, TypedId)> = self
            .nodes
            .iter()
            .filter_map(|(_, node)| match node.kind {
                Typed::Pow(base, exponent) => Some((base, exponent)),
                _ => None,
            })
            .collect();
        for (base, exponent) in powers {
            let of = self.metas.zonk(&self.nodes[base].ty);
            let power = self.poly(exponent).and_then(Poly::as_constant).filter(|k| *k < 0);
            let Some(k) = power.filter(|_| *of.split_array().1 == Type::I64) else { continue };
            let (at, whole) = (self.node_span(base), self.node_span(base).to(self.node_span(exponent)));
            let (real, fix) = match self.nodes[base].kind {
                Typed::Int(n) => (format!("{n}.0^{k}"), Fix::insert(at.end, ".0")),
                _ => {
                    let name = self.name_expr_at(at).cloned().unwrap_or_else(|| "n".into());
                    (format!("f64({name})^{k}"), Fix::wrap(at, "f64(", ")"))
                }
            };
            let message = "an integer has no negative power";
            self.report(
                Diagnostic::new(Code::E0209, whole, message)
                    .label("the result would be a fraction")
                    .help(format!("write the base as a real number: `{real}`"))
                    .fix(fix),
            );
        }
    }

    /// Infers a scalar function applied to its arguments.
    pub(super) fn infer_scalar_call(&mut self, f: ScalarFn, mut args: Vec<TypedId>, span: Span) -> TypedId {
        let what = format!("`{}`", f.name());
        let ty = self.lift(&mut args, domain_class(f.domain()), None, &what, span);
        if f.domain() == ScalarDomain::Int {
            let elem = self.metas.zonk(&ty).split_array().1.clone();
            if let Err(m) = self.unify(&elem, &Type::I64) {
                self.report_mismatch(&m, &elem, &Type::I64, span, &what);
            }
        }
        let sym = match (f, args.as_slice()) {
            (ScalarFn::Min | ScalarFn::Max, [a, b]) => match (self.poly(*a), self.poly(*b)) {
                (Some(a), Some(b)) => Some(if f == ScalarFn::Min { a.minimum(b) } else { a.maximum(b) }),
                _ => None,
            },
            _ => None,
        };
        self.alloc_with_poly(Typed::Scalar(f, args), ty, span, sym)
    }

    /// Returns the type of a lifted operation, and wraps the last operand in the checks of open
    /// size equations. `elem` is the scalar type of the result, if it differs from that of the
    /// operands.
    pub(super) fn lift(
        &mut self,
        operands: &mut [TypedId],
        class: TypeClass,
        elem: Option<Scalar>,
        what: &str,
        span: Span,
    ) -> Type {
        if operands.iter().any(|n| self.node_type(*n) == Type::Error) {
            return Type::Error;
        }
        match self.try_lift(operands, class, elem, false) {
            Ok(LiftOutcome::Done(ty, goals)) => {
                if let Some(last) = operands.last_mut() {
                    *last = self.wrap_in_goal_checks(*last, goals, &format!("the operands of {what}"), Code::E0204);
                }
                ty
            }
            Ok(LiftOutcome::Unknown) => {
                let result = self.metas.fresh_type(TypeClass::Any, span);
                if let Some(last) = operands.last_mut() {
                    let (ty, at) = (self.nodes[*last].ty.clone(), self.node_span(*last));
                    let sym = self.poly(*last).cloned();
                    *last = self.alloc_with_poly(Typed::Checked(Vec::new(), *last), ty, at, sym);
                    let verifier = *last;
                    let scope = self.scopes.current;
                    let key = self.deferred_lifts.last_key_value().map_or(0, |(key, _)| key + 1);
                    let deferred = DeferredLift {
                        operands: operands.to_vec(),
                        check_node: verifier,
                        result: result.clone(),
                        class,
                        result_scalar: elem,
                        subject: what.to_owned(),
                        span,
                        scope,
                    };
                    self.defer(key, deferred);
                }
                result
            }
            Err(m) => {
                self.report_shape_error(&m, operands, what, span);
                Type::Error
            }
        }
    }

    /// Lifts an operation if the operand types are known. If `force`, operands of unknown type are
    /// assumed to have the type of the others.
    fn try_lift(
        &mut self,
        operands: &[TypedId],
        class: TypeClass,
        elem: Option<Scalar>,
        force: bool,
    ) -> Result<LiftOutcome, Mismatch> {
        let types: Vec<Type> = operands.iter().map(|n| self.node_type(*n)).collect();
        let unknown = |this: &Self, t: &Type| matches!(t, Type::Meta(id) if this.metas.class(*id) == TypeClass::Any);
        let mut goals = Vec::new();
        if types.iter().any(|t| unknown(self, t)) {
            if !force && types.len() == 1 && elem.is_none() {
                // The result of a single operand has its type, whichever that is.
                if let Some(t) = types.first() {
                    return Ok(if class == TypeClass::Any {
                        LiftOutcome::Done(t.clone(), goals)
                    } else {
                        LiftOutcome::Unknown
                    });
                }
            }
            if !force {
                return Ok(LiftOutcome::Unknown);
            }
            for pair in types.windows(2) {
                if let [a, b] = pair {
                    goals.append(&mut self.unify(b, a)?);
                }
            }
        }
        let mut dims: Option<Vec<Poly>> = None;
        let mut scalar: Option<Type> = None;
        let types: Vec<Type> = operands.iter().map(|n| self.metas.zonk(&self.nodes[*n].ty)).collect();
        for t in types {
            let (d, e) = t.split_array();
            match (&dims, d.is_empty()) {
                (_, true) => {}
                (None, false) => dims = Some(d.into_iter().cloned().collect()),
                (Some(have), false) => {
                    if have.len() != d.len() {
                        return Err(Mismatch::Shape);
                    }
                    for (n, m) in d.into_iter().zip(have.clone()) {
                        self.metas.unify_size(n, &m, &mut goals)?;
                    }
                }
            }
            match &scalar {
                None => scalar = Some(e.clone()),
                Some(s) => goals.append(&mut self.unify(e, &s.clone())?),
            }
        }
        let scalar = scalar.unwrap_or(Type::Error);
        if class == TypeClass::Any {
            match self.metas.shallow_resolve(&scalar) {
                Type::Scalar(_) | Type::Meta(_) | Type::Error => {}
                _ => return Err(Mismatch::Shape),
            }
        } else {
            self.require_class(&scalar, class)?;
        }
        let scalar = elem.map_or(scalar, Type::Scalar);
        Ok(LiftOutcome::Done(Type::array(dims.unwrap_or_default().into_iter(), scalar), goals))
    }

    /// Defers an operation until more is known of its operands.
    fn defer(&mut self, key: u32, d: DeferredLift) {
        for n in &d.operands {
            if let Type::Meta(id) = self.node_type(*n) {
                self.metas.register_waiting(id, key);
            }
        }
        self.deferred_lifts.insert(key, d);
    }

    /// Retries the deferred operations of which more is known. If `force`, also decides those that
    /// remain, in the order of the text.
    pub(super) fn settle_deferred(&mut self, force: bool) {
        loop {
            let woken = self.metas.take_woken();
            let idle = woken.is_empty();
            for key in woken {
                if let Some(d) = self.deferred_lifts.remove(&key) {
                    self.settle_lift(key, d, false);
                }
            }
            if !idle {
                continue;
            }
            if !force {
                return;
            }
            let Some((key, d)) = self.deferred_lifts.pop_first() else { return };
            self.settle_lift(key, d, true);
        }
    }

    fn settle_lift(&mut self, key: u32, d: DeferredLift, force: bool) {
        if d.operands.iter().any(|n| self.node_type(*n) == Type::Error) {
            let _ = self.unify(&d.result, &Type::Error);
            return;
        }
        match self.try_lift(&d.operands, d.class, d.result_scalar, force) {
            Ok(LiftOutcome::Unknown) => self.defer(key, d),
            outcome => self.finish_lift(&d, outcome),
        }
    }

    fn finish_lift(&mut self, d: &DeferredLift, outcome: Result<LiftOutcome, Mismatch>) {
        match outcome {
            Ok(LiftOutcome::Done(ty, mut goals)) => {
                match self.unify(&ty, &d.result) {
                    Ok(more) => goals.extend(more),
                    Err(m) => {
                        let wanted = d.result.clone();
                        self.report_mismatch(&m, &ty, &wanted, d.span, "");
                    }
                }
                for (found, wanted) in goals {
                    let check = SizeCheck {
                        found,
                        constraint: SizeConstraint::Equal(wanted),
                        subject: format!("the operands of {}", d.subject),
                        span: d.span,
                        is_precondition: false,
                    };
                    let o = Obligation::Size { node: d.check_node, check, code: Code::E0204 };
                    self.obligations.push((d.scope, o));
                }
            }
            Ok(LiftOutcome::Unknown) => {}
            Err(m) => {
                let operands = d.operands.clone();
                self.report_shape_error(&m, &operands, &d.subject, d.span);
                let _ = self.unify(&d.result, &Type::Error);
            }
        }
    }

    fn report_shape_error(&mut self, m: &Mismatch, operands: &[TypedId], what: &str, span: Span) {
        let types: Vec<Type> = operands.iter().map(|n| self.metas.zonk(&self.nodes[*n].ty)).collect();
        if types.iter().any(Type::has_error) {
            return;
        }
        let shown: Vec<String> = types.iter().map(|t| format!("`{}`", self.metas.with_defaults(t))).collect();
        let odd =
            types.iter().find(|t| !matches!(t.split_array().1, Type::Scalar(_) | Type::Meta(_) | Type::Param(..)));
        // Suggests the conversion of each operand whose type is known.
        let conversions = |hint: Hint, functions: &[&str]| {
            let known = operands.iter().zip(&types).filter(|(_, t)| !matches!(t, Type::Meta(_)));
            let spans: Vec<Span> = known.map(|(n, _)| self.node_span(*n)).rev().collect();
            let wraps = functions.iter().flat_map(|function| {
                spans.iter().map(move |operand| Suggestion::Wrap {
                    operand: *operand,
                    before: format!("{function}("),
                    after: ")".to_owned(),
                })
            });
            wraps.fold(hint, Hint::suggest)
        };
        let mut d = match (m, odd) {
            (_, Some(t)) => {
                let d = Diagnostic::new(
                    Code::E0209,
                    span,
                    format!("{what} works on numbers and arrays of numbers, not on `{}`", self.metas.with_defaults(t)),
                );
                match t {
                    Type::Fun(_) => d.help("this is a function: apply it to its arguments, `f(x)`"),
                    Type::Str => d.help("a string serves only effects and messages: `print(\"a\", x)` prints both"),
                    Type::Tuple(items) if !items.is_empty() => d.help("destructure the tuple: `let (a, b) = e`"),
                    Type::Record(fields) => {
                        let first = fields.first().map_or("", |f| f.0.as_str());
                        d.help(format!(
                            "compute with the fields, such as `r.{first}`, and build a record from the results"
                        ))
                    }
                    _ => d,
                }
            }
            (Mismatch::Size(a, b), _) => Diagnostic::new(
                Code::E0204,
                span,
                format!("{what} needs equal shapes, but these are {}", super::and_list(&shown)),
            )
            .label(format!("`{a}` and `{b}` differ"))
            .size_names(names_in_types(&types))
            .size_names(names_in_sizes([a, b])),
            (Mismatch::Class(Type::Scalar(Scalar::I64), TypeClass::Real), _)
                if what == "`/`" && types.iter().all(|t| !self.metas.is_real_literal(t.split_array().1)) =>
            {
                Diagnostic::new(Code::E0205, span, "`/` divides reals, but these are integers")
                    .help("`//` divides integers and rounds down; `f64(a) / f64(b)` divides as reals")
            }
            (Mismatch::Class(Type::Scalar(Scalar::I64), TypeClass::Real), _)
                if types.iter().any(|t| t.split_array().1 != &Type::I64) =>
            {
                let first = types.first().is_some_and(|t| t.split_array().1 == &Type::I64);
                let these = match first {
                    true => "an integer and a real number",
                    false => "a real number and an integer",
                };
                let message = format!("{what} needs operands of the same type, but these are {these}");
                let help =
                    "convert the integer operand with `f64(…)`, because integers do not convert to reals implicitly";
                Diagnostic::new(Code::E0206, span, message).help(conversions(help.into(), &["f64"]))
            }
            (Mismatch::Class(t, class), _) => return self.report_class_error(&t.clone(), *class, span),
            (Mismatch::Scalars(..), _) => {
                let integer = types.iter().position(|t| t.split_array().1 == &Type::I64);
                let bool_ = types.iter().any(|t| t.split_array().1 == &Type::BOOL);
                let mut d = Diagnostic::new(
                    if bool_ { Code::E0209 } else { Code::E0206 },
                    span,
                    format!("{what} needs operands of the same type, but these are {}", super::and_list(&shown)),
                );
                d = match integer {
                    _ if bool_ => d.help("`[p] * e` is `e` where the condition `p` holds, and 0 elsewhere"),
                    Some(_) => {
                        let other =
                            types.iter().map(|t| self.metas.with_defaults(t.split_array().1)).find(|t| *t != Type::I64);
                        let to = other.map(|t| t.to_string()).unwrap_or_default();
                        let help = Hint::from(format!(
                            "convert the integer operand with `{to}(…)`, because integers do not convert to reals implicitly"
                        ));
                        d.help(conversions(help, &[&to]))
                    }
                    None => {
                        d.help(conversions("convert one of them with `f64(…)` or `f32(…)`".into(), &["f64", "f32"]))
                    }
                };
                d
            }
            _ => Diagnostic::new(
                Code::E0204,
                span,
                format!("{what} needs equal shapes, but these are {}", super::and_list(&shown)),
            )
            .help("write the indices, as in `for i, j: a[i, j] + b[j]`, because only scalars are broadcast")
            .size_names(names_in_types(&types)),
        };
        if operands.len() > 1 {
            let known = operands.iter().zip(&types).zip(shown).filter(|((_, t), _)| !matches!(t, Type::Meta(_)));
            for ((n, _), says) in known {
                d = d.related(self.node_span(*n), says);
            }
        }
        self.report(d);
    }

    /// Infers `f64(e)`, lifted.
    pub(super) fn infer_conversion(&mut self, to: Scalar, e: TypedId, span: Span) -> TypedId {
        let t = self.metas.zonk(&self.nodes[e].ty);
        let (dims, elem) = t.split_array();
        let ty = match &t {
            Type::Error => Type::Error,
            _ => Type::array(dims.into_iter().cloned(), Type::Scalar(to)),
        };
        match elem {
            Type::Scalar(Scalar::Bool) => self.report(
                Diagnostic::new(Code::E0209, span, "a truth value is not a number")
                    .help("`[p] * 1.0` is 1.0 where `p` is true and 0.0 elsewhere"),
            ),
            _ => {
                if let Err(Mismatch::Class(t, class)) = self.require_class(elem, TypeClass::Num) {
                    self.report_class_error(&t, class, span);
                }
            }
        }
        self.alloc(Typed::Convert(to, e), ty, span)
    }
}
