//! **Type inference of expressions.** [`TypeChecker::infer`] translates an expression and a hint to
//! a typed node; the submodules handle the larger forms.

use std::sync::Arc;

use super::super::tree::{Instantiation, TypedExpr as Typed, TypedId, TypedLambda, TypedPattern as TypedPat};
use super::super::ty::{FunType, Scalar, Signature, SizeSource, Type, TypeClass};
use super::TypeChecker;
use super::scope::ScopeKind;
use lang_base::{Code, Diagnostic, Fix, Hint, Name, RealConst, Span};
use lang_resolve::Res;
use lang_resolve::foreign_calls::{self, SourceArgument};
use lang_resolve::forms::Const;
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ast::{Expr, ExprId, Ident, LambdaParam, LetBind, Pat};
use lang_syntax::ops::{BinOp, UnOp};

impl TypeChecker<'_> {
    /// Infers the typed node of an expression.
    ///
    /// The hint is the type that the context prefers. It decides the extents of bare indices and
    /// the types of lambda parameters and literals. It is not enforced.
    pub(super) fn infer(&mut self, e: ExprId, hint: Option<&Type>) -> TypedId {
        // Trees are at most `MAX_DEPTH` deep, but each node needs several frames, which add up.
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.infer_kind(e, hint))
    }

    fn infer_kind(&mut self, e: ExprId, hint: Option<&Type>) -> TypedId {
        let tree = self.tree;
        let node = &tree.exprs[e];
        let span = node.span;
        match &node.kind {
            Expr::Error => self.error_node(span),
            Expr::Int(n) => self.infer_int(*n, false, hint, span),
            Expr::Float(x) => {
                let ty = match hint.map(|h| self.metas.shallow_resolve(h)) {
                    Some(Type::Scalar(s @ (Scalar::F64 | Scalar::F32))) => Type::Scalar(s),
                    _ => self.metas.fresh_literal(TypeClass::Real, Some(Scalar::F64), span),
                };
                self.alloc(Typed::Real(RealConst(*x)), ty, span)
            }
            Expr::Bool(b) => self.alloc(Typed::Bool(*b), Type::BOOL, span),
            Expr::Str(s) => self.alloc(Typed::Str(s.clone()), Type::Str, span),
            Expr::Name(name) => self.infer_name(e, name, span),
            Expr::Field(base, field) => match self.resolved.exprs.get(&e) {
                Some(_) => self.infer_name(e, &field.name.clone(), span),
                None => self.infer_field(*base, field, span),
            },
            Expr::Paren(inner) => self.infer(*inner, hint),
            Expr::Unary(UnOp::Neg, inner) => self.infer_negation(*inner, hint, span),
            Expr::Unary(UnOp::Not, inner) => {
                let p = self.check_expr(*inner, &Type::BOOL, "the operand of `!`");
                self.alloc(Typed::Not(p), Type::BOOL, span)
            }
            Expr::Chain { first, rest } => self.infer_chain(*first, rest, hint, span),
            Expr::Power(base, exponent) => self.infer_power(*base, *exponent, hint, span),
            Expr::Guard { cond, body } => self.infer_guard(*cond, *body, hint, span),
            Expr::Array { items, .. } | Expr::Tuple(items) if self.has_unparsed(items) => {
                self.infer_unparsed_list(items, span)
            }
            Expr::Array { items, has_trailing_comma: comma } => self.infer_array(items, *comma, hint, span),
            Expr::Tuple(items) => {
                let hints = match hint.map(|h| self.metas.shallow_resolve(h)) {
                    Some(Type::Tuple(ts)) if ts.len() == items.len() => Some(ts),
                    _ => None,
                };
                let nodes: Vec<TypedId> = (0..)
                    .zip(items)
                    .map(|(k, item)| self.infer(*item, hints.as_ref().and_then(|h| h.get::<usize>(k))))
                    .collect();
                let ty = Type::Tuple(nodes.iter().map(|n| self.metas.shallow_resolve(&self.nodes[*n].ty)).collect());
                self.alloc(Typed::Tuple(nodes), ty, span)
            }
            Expr::Record(fields) if self.has_unparsed(fields.iter().map(|(_, e)| e)) => {
                self.infer_unparsed_list(fields.iter().map(|(_, e)| e), span)
            }
            Expr::Record(fields) => self.infer_record(fields, hint, span),
            Expr::Proj(base, k, at) => {
                let base = self.infer(*base, None);
                self.infer_projection(base, *k, *at, span)
            }
            Expr::Index(base, subscripts) => self.infer_index(*base, subscripts, span),
            Expr::Call(callee, args) => self.infer_call(*callee, args, hint, span),
            Expr::Lambda(params, body) => self.infer_lambda(params, *body, hint, span),
            Expr::Let(binds, body) => self.infer_let(binds, *body, hint, span),
            Expr::If(arms, otherwise) => self.infer_if(arms, *otherwise, hint, None, span),
            Expr::Match(scrutinee, arms) => self.infer_match(*scrutinee, arms, hint, None, span),
            Expr::Binder { kind, vars, filter, body } => self.infer_binder(*kind, vars, *filter, *body, hint, span),
            Expr::Fold { is_scan: scan, acc, ty, init, vars, body, yields } => self.infer_fold(
                &super::control::FoldParts {
                    is_scan: *scan,
                    acc: *acc,
                    ty: *ty,
                    init: *init,
                    vars,
                    body: *body,
                    yields: *yields,
                },
                hint,
                span,
            ),
            Expr::Loop { is_scan: scan, acc, ty, init, cond, body } => self.infer_loop(
                &super::control::LoopParts {
                    is_scan: *scan,
                    acc: *acc,
                    ty: *ty,
                    init: *init,
                    cond: *cond,
                    body: *body,
                },
                hint,
                span,
            ),
            Expr::Checkpoint { spacing: every, body: of } => self.infer_checkpoint(*every, *of, hint, span),
            Expr::With(base, updates) => self.infer_with(*base, updates, hint, span),
            Expr::Card(relation) => {
                let relation = self.infer(*relation, None);
                match self.node_type(relation) {
                    Type::Rel(_) | Type::Error => {}
                    t => {
                        let t = self.metas.with_defaults(&t);
                        let at = self.node_span(relation);
                        self.report(
                            Diagnostic::new(
                                Code::E0200,
                                at,
                                format!("`|…|` counts the members of a relation, but this has type `{t}`"),
                            )
                            .help("for the absolute value, write `abs(x)`")
                            .fix(Fix { span, ..Fix::wrap(at, "abs(", ")") }),
                        );
                    }
                }
                self.alloc(Typed::Card(relation), Type::I64, span)
            }
        }
    }

    /// Returns whether the parser could not read the expression.
    pub(super) fn is_unparsed(&self, e: ExprId) -> bool {
        self.tree.exprs[e].kind == Expr::Error
    }

    /// Returns whether the parser could not read an item of a list. The number of items is then
    /// unknown.
    pub(super) fn has_unparsed<'e>(&self, parts: impl IntoIterator<Item = &'e ExprId>) -> bool {
        parts.into_iter().any(|e| self.is_unparsed(*e))
    }

    /// Checks the items of a list that the parser could not read, and returns an error node for the
    /// list.
    fn infer_unparsed_list<'e>(&mut self, parts: impl IntoIterator<Item = &'e ExprId>, span: Span) -> TypedId {
        parts.into_iter().for_each(|e| {
            self.infer(*e, None);
        });
        self.error_node(span)
    }

    fn infer_int(&mut self, n: u64, negative: bool, hint: Option<&Type>, span: Span) -> TypedId {
        let value = if negative { 0_i64.checked_sub_unsigned(n) } else { i64::try_from(n).ok() };
        let ty = match hint.map(|h| self.metas.shallow_resolve(h)) {
            Some(Type::Scalar(s)) if s != Scalar::Bool => Type::Scalar(s),
            _ => self.metas.fresh_literal(TypeClass::Num, Some(Scalar::I64), span),
        };
        let Some(value) = value else {
            // The literal is too large for `i64`, but a real can represent it, rounded.
            if matches!(ty, Type::Scalar(Scalar::F64 | Scalar::F32)) {
                #[expect(clippy::cast_precision_loss, reason = "the literal is rounded, as any real literal")]
                let x = if negative { -(n as f64) } else { n as f64 };
                return self.alloc(Typed::Real(RealConst(x)), ty, span);
            }
            self.report(
                Diagnostic::new(Code::E0004, span, "the number is too large for `i64`").help(
                    "the maximum is 9223372036854775807; write a real number with a decimal point or an exponent",
                ),
            );
            return self.alloc(Typed::Error, ty, span);
        };
        self.alloc_with_poly(Typed::Int(value), ty, span, Some(Poly::constant(value.into())))
    }

    fn infer_negation(&mut self, inner: ExprId, hint: Option<&Type>, span: Span) -> TypedId {
        if let Expr::Int(n) = self.tree.exprs[inner].kind {
            return self.infer_int(n, true, hint, span);
        }
        let mut x = [self.infer(inner, hint)];
        let ty = self.lift(&mut x, TypeClass::Num, None, "`-`", span);
        let [x] = x;
        let sym = self.poly(x).map(Poly::neg);
        self.alloc_with_poly(Typed::Neg(x), ty, span, sym)
    }

    /// Infers a name used as a value.
    fn infer_name(&mut self, e: ExprId, name: &Name, span: Span) -> TypedId {
        match self.resolved.exprs.get(&e) {
            Some(Res::Local(l)) => {
                let Some(info) = self.local_info(*l).cloned() else { return self.error_node(span) };
                self.alloc_with_poly(Typed::Local(*l), info.ty, span, info.poly)
            }
            Some(Res::Let(global)) => {
                if let Some((varied, l)) = &self.deriv_global
                    && varied == global
                {
                    let (l, ty) = (*l, self.local_info(*l).map_or(Type::Error, |i| i.ty.clone()));
                    return self.alloc(Typed::Local(l), ty, span);
                }
                let ty = self.env.let_type(global).unwrap_or(Type::Error);
                let sym = (ty == Type::I64).then(|| Poly::atom(Atom::Global(global.clone())));
                self.alloc_with_poly(Typed::Global(global.clone()), ty, span, sym)
            }
            Some(Res::Def(global)) => {
                let Some(signature) = self.env.signature(global) else { return self.error_node(span) };
                self.infer_function_value(&signature, &global.name, span, |instance| {
                    Typed::DefValue(global.clone(), instance)
                })
            }
            Some(Res::Builtin(builtin)) => {
                let Some(signature) = self.env.builtin_signature(*builtin) else { return self.error_node(span) };
                self.infer_function_value(&signature, builtin.name(), span, |instance| {
                    Typed::BuiltinValue(*builtin, instance)
                })
            }
            Some(Res::Ctor(ty, k)) => self.infer_ctor_value(&ty.clone(), *k, span),
            Some(Res::Scalar(f)) => {
                let class = super::ops::domain_class(f.domain());
                let t = match f.domain() {
                    lang_resolve::scalar_fn::ScalarDomain::Int => Type::I64,
                    // A function that also takes integers has the type of its arguments.
                    _ => self.metas.fresh_literal(class, (class == TypeClass::Real).then_some(Scalar::F64), span),
                };
                let params = (0..f.arity()).map(|_| (None, t.clone())).collect();
                self.alloc(Typed::ScalarValue(*f), Type::Fun(Arc::new(FunType { params, result: t })), span)
            }
            Some(Res::Const(c)) => {
                let x = match c {
                    Const::Pi => std::f64::consts::PI,
                    Const::Inf => f64::INFINITY,
                    Const::Nan => f64::NAN,
                };
                let ty = self.metas.fresh_literal(TypeClass::Real, Some(Scalar::F64), span);
                self.alloc(Typed::Real(RealConst(x)), ty, span)
            }
            Some(Res::Form(_) | Res::Derive(_) | Res::Convert(_)) => {
                self.report(
                    Diagnostic::new(Code::E0202, span, format!("`{name}` needs its arguments"))
                        .help(format!("apply it, `{name}(…)`, or pass a lambda, `\\x: {name}(x)`")),
                );
                self.error_node(span)
            }
            Some(Res::Error) | None => self.error_node(span),
        }
    }

    fn infer_field(&mut self, base: ExprId, field: &Ident, span: Span) -> TypedId {
        let base = self.infer(base, None);
        match self.node_type(base) {
            // The parser has reported a missing name.
            _ if field.name.is_empty() => self.error_node(span),
            Type::Record(fields) => match (0..).zip(fields.iter()).find(|(_, (n, _))| *n == field.name) {
                Some((k, (_, ty))) => self.alloc(Typed::Proj(base, k), ty.clone(), span),
                None => {
                    let names: Vec<String> = fields.iter().map(|(n, _)| format!("`{n}`")).collect();
                    let near = fields
                        .iter()
                        .map(|f| &f.0)
                        .max_by(|a, b| strsim::jaro(a, &field.name).total_cmp(&strsim::jaro(b, &field.name)));
                    let mut d = Diagnostic::new(
                        Code::E0106,
                        field.span,
                        format!("there is no field `{}` here; the record has {}", field.name, super::and_list(&names)),
                    );
                    if let Some(near) = near.filter(|n| strsim::jaro(n, &field.name) > 0.7) {
                        d = d.help(Hint::did_you_mean(near.as_str()));
                    }
                    d = self.explain_hidden_module(d, base, field);
                    self.report(d);
                    self.error_node(span)
                }
            },
            Type::Error => self.error_node(span),
            t if self.metas.is_unknown(&t) => self.report_unknown_type(self.node_span(base), "a record"),
            t => {
                let t = self.metas.with_defaults(&t);
                let mut d = Diagnostic::new(
                    Code::E0106,
                    field.span,
                    format!("`.{}` selects a field of a record, but this has type `{t}`", field.name),
                );
                if matches!(t, Type::Array(..)) {
                    d.fixes = self.foreign_method_fixes(base, field, span);
                    d.help = self.array_field_help(self.node_span(base), &t, &field.name);
                }
                d = self.explain_hidden_module(d, base, field);
                self.report(d);
                self.error_node(span)
            }
        }
    }

    /// Returns fixes for a field access or method call on an array.
    fn foreign_method_fixes(&self, base: TypedId, field: &Ident, span: Span) -> Vec<Fix> {
        let Some(habit) = foreign_calls::find_foreign_call(foreign_calls::FOREIGN_METHODS, &field.name) else {
            return Vec::new();
        };
        let tree = self.tree;
        let at = |span: Span| tree.exprs.iter().find(|(_, node)| node.span == span).map(|(id, _)| id);
        let called = tree.exprs.iter().find(|(_, node)| match &node.kind {
            Expr::Call(callee, args) => args.is_empty() && tree.exprs[*callee].span == span,
            _ => false,
        });
        let own = self.node_span(base);
        let receiver =
            SourceArgument { span: own, is_plain: at(own).is_some_and(|id| foreign_calls::is_plain(tree, id)) };
        habit.fixes(called.map_or(span, |(_, node)| node.span), &[receiver])
    }

    fn infer_projection(&mut self, base: TypedId, k: u32, at: Span, span: Span) -> TypedId {
        match self.node_type(base) {
            Type::Tuple(items) => match items.get(k as usize) {
                Some(ty) => {
                    let ty = ty.clone();
                    // A projection of a tuple literal has the polynomial of its component.
                    let sym = match &self.nodes[base].kind {
                        Typed::Tuple(nodes) => nodes.get(k as usize).and_then(|n| self.poly(*n)).cloned(),
                        _ => None,
                    };
                    self.alloc_with_poly(Typed::Proj(base, k), ty, span, sym)
                }
                None => {
                    self.report_error(
                        Code::E0106,
                        at,
                        format!("there is no component {k}: the tuple has {} components, counted from 0", items.len()),
                    );
                    self.error_node(span)
                }
            },
            Type::Error => self.error_node(span),
            t if self.metas.is_unknown(&t) => self.report_unknown_type(self.node_span(base), "a tuple"),
            t => {
                let t = self.metas.with_defaults(&t);
                let mut d = Diagnostic::new(
                    Code::E0106,
                    at,
                    format!("`.{k}` selects a component of a tuple, but this has type `{t}`"),
                );
                if matches!(t, Type::Array(..)) {
                    let behind = Span::new(self.node_span(base).end, span.end);
                    d = d
                        .help(format!("for an element of an array, write `x[{k}]`"))
                        .fix(Fix::replace(behind, format!("[{k}]")));
                }
                self.report(d);
                self.error_node(span)
            }
        }
    }

    /// Reports that the type must be known here, and returns an error node.
    pub(super) fn report_unknown_type(&mut self, span: Span, what: &str) -> TypedId {
        // The type may be unknown because of an earlier error.
        if self.has_tainting_error() {
            return self.error_node(span);
        }
        self.report(
            Diagnostic::new(Code::E0210, span, format!("the type of this is not known here, but {what} is expected"))
                .help("write the type of the parameter: `\\(x: [n]f64): …`"),
        );
        self.error_node(span)
    }

    fn infer_record(&mut self, fields: &[(Ident, ExprId)], hint: Option<&Type>, span: Span) -> TypedId {
        let hints = match hint.map(|h| self.metas.shallow_resolve(h)) {
            Some(Type::Record(fields)) => Some(fields),
            _ => None,
        };
        let mut types = Vec::new();
        let mut nodes = Vec::new();
        for (k, (name, value)) in (0..).zip(fields) {
            let hint = hints.as_ref().and_then(|h| h.iter().find(|f| f.0 == name.name)).map(|f| f.1.clone());
            let node = self.infer(*value, hint.as_ref());
            types.push((name.name.clone(), self.nodes[node].ty.clone()));
            nodes.push((k, node));
        }
        if let Some(hints) = &hints {
            let (have, want): (Vec<_>, Vec<_>) =
                (types.iter().map(|f| &f.0).collect(), hints.iter().map(|f| &f.0).collect());
            let missing: Vec<String> = want.iter().filter(|n| !have.contains(n)).map(|n| format!("`{n}`")).collect();
            let extra: Vec<String> = have.iter().filter(|n| !want.contains(n)).map(|n| format!("`{n}`")).collect();
            if !missing.is_empty() || !extra.is_empty() {
                let mut says = Vec::new();
                if !missing.is_empty() {
                    says.push(format!("{} missing", super::and_list(&missing)));
                }
                if !extra.is_empty() {
                    says.push(format!("{} unexpected", super::and_list(&extra)));
                }
                let wanted = self.metas.with_defaults(&Type::Record(hints.clone()));
                self.report(
                    Diagnostic::new(Code::E0212, span, format!("the fields do not match `{wanted}`"))
                        .label(says.join("; ")),
                );
                return self.error_node(span);
            }
        }
        let ty = Type::Record(types.into());
        self.alloc(Typed::Record(nodes), ty, span)
    }

    fn infer_array(&mut self, items: &[ExprId], comma: bool, hint: Option<&Type>, span: Span) -> TypedId {
        let elem_hint = match hint.map(|h| self.metas.shallow_resolve(h)) {
            Some(Type::Array(_, t)) => Some((*t).clone()),
            _ => None,
        };
        let count = Poly::constant(i128::try_from(items.len()).unwrap_or(i128::MAX));
        let Some((first, rest)) = items.split_first() else {
            let elem = elem_hint.unwrap_or_else(|| self.metas.fresh_type(TypeClass::Any, span));
            return self.alloc(Typed::Array(Vec::new()), Type::Array(count, Arc::new(elem)), span);
        };
        let node = self.infer(*first, elem_hint.as_ref());
        if !comma && rest.is_empty() && self.node_type(node) == Type::BOOL {
            self.report(
                Diagnostic::new(Code::E0207, span, "an Iverson bracket must guard a factor, but nothing follows it")
                    .help(
                        "write `[p] * 1` to count, `[p] * 1.0` for a real, or `[p,]` for an array of one truth value",
                    ),
            );
            return self.error_node(span);
        }
        // If the rank of the elements differs from the hint, the mismatch is reported once, for the
        // whole array, by the code that enforces the hint.
        let elem = elem_hint.filter(|h| !self.differs_in_rank(&self.nodes[node].ty, h));
        let own = elem.is_none();
        let elem = elem.unwrap_or_else(|| self.nodes[node].ty.clone());
        let mut nodes = vec![self.require_type(node, &elem, "the elements of this array")];
        for item in rest {
            nodes.push(self.check_expr(*item, &elem, "the elements of this array"));
        }
        // If the elements do not fit each other, the type of the array is unknown.
        let unknown = own && nodes.iter().any(|n| self.nodes[*n].kind == Typed::Error);
        let elem = if unknown { Type::Error } else { elem };
        self.alloc(Typed::Array(nodes), Type::Array(count, Arc::new(elem)), span)
    }

    /// Returns whether two types certainly differ in rank.
    fn differs_in_rank(&self, found: &Type, wanted: &Type) -> bool {
        match (self.metas.shallow_resolve(found), self.metas.shallow_resolve(wanted)) {
            (Type::Array(_, a), Type::Array(_, b)) => self.differs_in_rank(&a, &b),
            (Type::Array(..), t) | (t, Type::Array(..)) => {
                matches!(t, Type::Scalar(_)) || matches!(t, Type::Meta(_)) && !self.metas.is_unknown(&t)
            }
            _ => false,
        }
    }

    fn infer_guard(&mut self, cond: ExprId, body: ExprId, hint: Option<&Type>, span: Span) -> TypedId {
        let p = self.infer(cond, Some(&Type::BOOL));
        let bracket = self.expr_span(cond);
        match self.node_type(p) {
            Type::Scalar(Scalar::Bool) | Type::Error | Type::Meta(_) => {}
            t => {
                let t = self.metas.with_defaults(&t);
                self.report(
                    Diagnostic::new(
                        Code::E0207,
                        bracket,
                        format!(
                            "`[…] *` is an Iverson bracket: it must contain a condition, not a value of type `{t}`"
                        ),
                    )
                    .help("for an array of one element, write `[x,]`"),
                );
                self.infer(body, hint);
                return self.error_node(span);
            }
        }
        let p = self.require_type(p, &Type::BOOL, "the condition of a bracket");
        let scope = self.enter_scope(ScopeKind::Branch);
        self.assume_condition(p, true);
        let body = self.infer(body, hint);
        let ty = self.nodes[body].ty.clone();
        self.leave_scope(scope, &ty, span);
        self.guarded_values.push((body, span));
        self.alloc(Typed::Guard(p, body), ty, span)
    }

    fn infer_lambda(&mut self, params: &[LambdaParam], body: ExprId, hint: Option<&Type>, span: Span) -> TypedId {
        let hinted = match hint.map(|h| self.metas.shallow_resolve(h)) {
            Some(Type::Fun(f)) if f.params.len() == params.len() => Some(f),
            _ => None,
        };
        let scope = self.enter_scope(ScopeKind::Lambda);
        let (mut pats, mut types, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (k, p) in params.iter().enumerate() {
            let hinted_type =
                hinted.as_ref().and_then(|f| f.params.get(k)).map(|(_, t)| t.substitute_arguments(&values));
            let ty = match (p.ty, hinted_type) {
                (Some(t), expected) => {
                    let written = self.lower_lambda_param(t);
                    if let Some(expected_type) = expected
                        && let Err(m) = self.unify(&written, &expected_type)
                    {
                        let at = self.tree.types[t].span;
                        self.report_mismatch(&m, &written, &expected_type, at, "this parameter");
                    }
                    written
                }
                (None, Some(expected_type)) => expected_type,
                (None, None) => self.metas.fresh_type(TypeClass::Any, self.tree.pats[p.pat].span),
            };
            let ty = self.metas.shallow_resolve(&ty);
            let mut pat = self.check_pattern(p.pat, &ty, None, true);
            // Sizes may depend on an argument that has no name here.
            if pat == TypedPat::Wild && ty == Type::I64 {
                pat = TypedPat::Bind(self.fresh_local("_", Type::I64, self.tree.pats[p.pat].span));
            }
            values.push(match &pat {
                TypedPat::Bind(l) => self.local_info(*l).and_then(|i| i.poly.clone()),
                _ => None,
            });
            let name = match &self.tree.pats[p.pat].kind {
                Pat::Name(n) => Some(n.clone()),
                _ => None,
            };
            pats.push(pat);
            types.push((name, ty));
        }
        let result_hint = hinted.as_ref().map(|f| f.result.substitute_arguments(&values));
        let effects = std::mem::replace(&mut self.allows_effects, false);
        let body = self.infer(body, result_hint.as_ref());
        self.allows_effects = effects;
        let result = self.metas.zonk(&self.nodes[body].ty);
        // The value of an `i64` parameter in the result type becomes that parameter of the function
        // type.
        let locals: Vec<Option<Atom>> = values.iter().map(|v| v.as_ref().and_then(Poly::as_atom).cloned()).collect();
        let as_arg = |t: &Type| {
            t.map_sizes(&|p, depth| {
                p.substitute(&|a| {
                    let k = locals.iter().position(|l| l.as_ref() == Some(a))?;
                    Some(Poly::atom(Atom::Arg(depth, u32::try_from(k).ok()?)))
                })
            })
        };
        let fun =
            FunType { params: types.into_iter().map(|(n, t)| (n, as_arg(&t))).collect(), result: as_arg(&result) };
        let dependent = result.clone() != fun.result;
        let leaving = if dependent { fun.result.clone() } else { result };
        self.leave_scope(scope, &leaving, span);
        let lambda = TypedLambda { params: pats, body, captures: Vec::new() };
        self.alloc(Typed::Lambda(Arc::new(lambda)), Type::Fun(Arc::new(fun)), span)
    }

    fn infer_let(&mut self, binds: &[LetBind], body: ExprId, hint: Option<&Type>, span: Span) -> TypedId {
        let mut typed = Vec::new();
        for b in binds {
            typed.push(self.infer_let_binding(b.pat, b.ty, b.value));
        }
        let body = self.infer(body, hint);
        let ty = self.nodes[body].ty.clone();
        let sym = self.poly(body).cloned();
        self.alloc_with_poly(Typed::Let(typed, body), ty, span, sym)
    }

    /// Infers `let pat: ty = value` and returns the typed pattern and value.
    pub(super) fn infer_let_binding(
        &mut self,
        pat: lang_syntax::ast::PatId,
        ty: Option<lang_syntax::ast::TypeId>,
        value: ExprId,
    ) -> (TypedPat, TypedId) {
        let node = match ty {
            Some(t) => {
                let wanted = self.lower_annotation(t);
                self.check_with_opened_extents(value, &wanted, self.tree.types[t].span, "this `let`")
            }
            None => self.infer(value, None),
        };
        let ty = self.nodes[node].ty.clone();
        let sym = self.faithful_poly(node).filter(|p| self.is_exact(p)).cloned();
        (self.check_pattern(pat, &ty, sym, true), node)
    }

    /// Adds to the current scope the facts that follow from the condition `p`, or from its negation
    /// if `holds` is false.
    pub(super) fn assume_condition(&mut self, p: TypedId, holds: bool) {
        use super::scope::{FactClaim, ScopeFact};
        match self.nodes[p].kind.clone() {
            Typed::And(items) if holds => items.iter().for_each(|i| self.assume_condition(*i, true)),
            Typed::Or(items) if !holds => items.iter().for_each(|i| self.assume_condition(*i, false)),
            Typed::Not(inner) => self.assume_condition(inner, !holds),
            Typed::Checked(_, inner) => self.assume_condition(inner, holds),
            Typed::Compare(first, rest) if holds || rest.len() == 1 => {
                let mut left = first;
                for (op, right) in rest {
                    let exact = |n: TypedId| self.faithful_poly(n).filter(|p| self.is_exact(p)).cloned();
                    if let (Some(a), Some(b)) = (exact(left), exact(right)) {
                        let of = self.nodes[left].ty.clone();
                        let op = if holds { op } else { negated_comparison(op) };
                        let (p, says) = match op {
                            BinOp::Lt => (b.sub(&a).add_constant(-1), FactClaim::NonNegative),
                            BinOp::Le => (b.sub(&a), FactClaim::NonNegative),
                            BinOp::Gt => (a.sub(&b).add_constant(-1), FactClaim::NonNegative),
                            BinOp::Ge => (a.sub(&b), FactClaim::NonNegative),
                            BinOp::Eq => (a.sub(&b), FactClaim::Zero),
                            BinOp::Ne => (a.sub(&b), FactClaim::NonZero),
                            _ => return,
                        };
                        self.scopes.assume(ScopeFact { poly: p, claim: says, operand_type: of });
                    }
                    left = right;
                }
            }
            _ => {}
        }
    }

    /// Returns whether wrapping `i64` arithmetic computes the polynomial's exact value.
    ///
    /// A constant must fit `i64`. A single atom is exact. A polynomial in indices and sizes, which
    /// stay below 2^47, is exact if its bound is below 2^62. Other `i64` values may be arbitrary,
    /// so no bound exists.
    pub(super) fn is_exact(&self, p: &Poly) -> bool {
        if let Some(c) = p.as_constant() {
            return i64::try_from(c).is_ok();
        }
        p.as_atom().is_some() || self.magnitude(p).is_some_and(|m| m < 1 << 62)
    }

    /// Returns an upper bound of the absolute value of the polynomial and of all partial results.
    pub(super) fn magnitude(&self, p: &Poly) -> Option<i128> {
        let mut bound = 0_i128;
        for (m, c) in p.terms() {
            let mut size = c.checked_abs()?;
            for (a, power) in m.as_slice() {
                let of = self.atom_magnitude(a)?;
                size = (0..*power).try_fold(size, |size, _| size.checked_mul(of))?;
            }
            bound = bound.checked_add(size)?;
        }
        Some(bound)
    }

    pub(super) fn atom_magnitude(&self, a: &Atom) -> Option<i128> {
        match a {
            Atom::Local(l, _) => self.local_info(*l)?.magnitude,
            // The extent of an index variable.
            Atom::Meta(_) => Some(super::MAX_SIZE),
            Atom::Div(p, _) => self.magnitude(p),
            Atom::Mod(_, d) => self.magnitude(d),
            Atom::Min(p, q) | Atom::Max(p, q) => Some(self.magnitude(p)?.max(self.magnitude(q)?)),
            _ => None,
        }
    }

    /// Returns the polynomial of a node if it equals the node's value even if intermediate results
    /// wrap.
    ///
    /// Sums and products wrap as their polynomials do modulo 2^64. Quotients, remainders, minima
    /// and maxima of wrapped operands do not, so their operands must be exact.
    pub(super) fn faithful_poly(&self, node: TypedId) -> Option<&Poly> {
        let exact = |n: &TypedId| self.poly(*n).is_some_and(|p| self.is_exact(p));
        let mut open = vec![node];
        while let Some(n) = open.pop() {
            match &self.nodes[n].kind {
                Typed::Arith(BinOp::FloorDiv | BinOp::Mod, a, b) if !(exact(a) && exact(b)) => return None,
                Typed::Scalar(_, args) if !args.iter().all(exact) => return None,
                Typed::Arith(_, a, b) => open.extend([*a, *b]),
                Typed::Scalar(_, args) => open.extend(args),
                Typed::Neg(a) | Typed::Pow(a, _) | Typed::Checked(_, a) | Typed::Let(_, a) => open.push(*a),
                Typed::Form(_, args) => open.extend(args),
                Typed::Proj(tuple, k) => match &self.nodes[*tuple].kind {
                    Typed::Tuple(items) => open.extend(items.get(*k as usize)),
                    _ => return None,
                },
                _ => {}
            }
        }
        self.poly(node)
    }

    /// Instantiates a signature with fresh metavariables, and returns the callee as a value of
    /// function type.
    fn infer_function_value(
        &mut self,
        signature: &Signature,
        name: &str,
        span: Span,
        value: impl FnOnce(Instantiation) -> Typed,
    ) -> TypedId {
        let args = self.instantiate(signature, name, span);
        let params =
            signature.params.iter().map(|(n, t)| (Some(n.clone()), args.apply_in_function(signature, t))).collect();
        let result = args.apply_in_function(signature, &signature.result);
        if signature.sizes.iter().any(|s| s.source == SizeSource::Result) {
            self.report(
                Diagnostic::new(
                    Code::E0310,
                    span,
                    format!("`{name}` cannot be used as a value, because the extent of its result is known only after a call"),
                )
                .help("call it where its result is used"),
            );
        }
        let ty = Type::Fun(Arc::new(FunType { params, result }));
        let node = self.alloc(value(args.instantiation(signature)), ty, span);
        self.wrap_in_size_checks(node, args.extent_constraints(signature, name), Code::E0300)
    }
}

fn negated_comparison(op: BinOp) -> BinOp {
    match op {
        BinOp::Lt => BinOp::Ge,
        BinOp::Le => BinOp::Gt,
        BinOp::Gt => BinOp::Le,
        BinOp::Ge => BinOp::Lt,
        BinOp::Eq => BinOp::Ne,
        BinOp::Ne => BinOp::Eq,
        other => other,
    }
}
