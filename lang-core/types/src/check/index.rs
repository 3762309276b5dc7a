//! **Indexing, slices and updates.** Every access becomes an obligation `0 <= i < n`; one that
//! `finish` does not prove is checked at run time.

use super::super::tree::{
    TypedExpr as Typed, TypedId, TypedSubscript as TypedSub, TypedUpdateTarget as TypedPlace,
    TypedWithUpdate as TypedUpdate,
};
use super::super::ty::{Scalar, Type, TypeClass};
use super::TypeChecker;
use super::scope::Obligation;
use lang_base::{Code, Diagnostic, Fix, Hint, Name, Span};
use lang_resolve::Res;
use lang_sizes::predicate::{Atom, Poly};
use lang_syntax::ast::{Expr, ExprId, Subscript, UpdateTarget, WithUpdate};

/// A typed subscript and the condition to prove for it.
pub(super) struct SubscriptAccess {
    subscript: TypedSub,
    goal: BoundsGoal,
    span: Span,
}

enum BoundsGoal {
    None,
    Index(Poly, Poly),
    Slice(Poly, Poly, Poly),
}

impl TypeChecker<'_> {
    /// Infers `x[i, a..b, _]`.
    pub(super) fn infer_index(&mut self, base: ExprId, subscripts: &[Subscript], span: Span) -> TypedId {
        if self.report_missing_row_comma(base, subscripts) {
            return self.error_node(span);
        }
        let base = self.infer(base, None);
        // A subscript that the parser could not read may have been a slice, which keeps its axis,
        // or several subscripts.
        if subscripts.iter().any(|s| matches!(s, Subscript::Index(e) if self.is_unparsed(*e))) {
            subscripts.iter().for_each(|s| self.infer_subscript(s));
            return self.error_node(span);
        }
        let ty = self.node_type(base);
        let at = self.node_span(base);
        let Some((accesses, ty)) = self.check_subscripts(&ty, at, subscripts) else { return self.error_node(span) };
        let node = self.alloc(Typed::Index(base, Vec::new()), ty, span);
        let subs = self.record_accesses(node, None, accesses);
        self.nodes[node].kind = Typed::Index(base, subs);
        node
    }

    /// Returns help for an index without an extent. `None` if an error about the binder's body
    /// exists; the help is then attached to that error.
    pub(super) fn no_extent_help(&mut self, name: &Name, index: Span) -> Option<String> {
        let Some((at, help)) = self.unindexed_body(index) else {
            return Some(format!("write its range: `{name} < …`"));
        };
        match self.diagnostics.iter_mut().find(|d| d.code == Code::E0209 && d.span == at) {
            Some(diagnostic) => {
                diagnostic.help = Some(help.into());
                None
            }
            None => Some(help),
        }
    }

    /// For `max i: r` with an array `r`, returns the span of `r` and the suggested text.
    fn unindexed_body(&self, index: Span) -> Option<(Span, String)> {
        self.tree.exprs.iter().find_map(|(_, node)| {
            let Expr::Binder { kind, vars, body, .. } = &node.kind else { return None };
            let ([var], Expr::Name(array)) = (vars.as_slice(), &self.tree.exprs[*body].kind) else { return None };
            let at = self.expr_span(*body);
            let mut nodes = self.nodes.iter().filter(|(_, n)| n.span == at);
            let fits = var.name.span == index && nodes.any(|(_, n)| matches!(self.metas.zonk(&n.ty), Type::Array(..)));
            let (word, name) = (kind.keyword(), &var.name.name);
            fits.then(|| (at, format!("write `{word} {name}: {array}[{name}]`")))
        })
    }

    /// Reports rows of numbers without a comma between them, `[1, 2] [3, 4]`. Returns whether it
    /// did.
    fn report_missing_row_comma(&mut self, base: ExprId, subscripts: &[Subscript]) -> bool {
        let mut row = base;
        while let Expr::Index(inner, between) = &self.tree.exprs[row].kind
            && between.len() > 1
        {
            row = *inner;
        }
        let number = |e: &ExprId| {
            let kind = match &self.tree.exprs[*e].kind {
                Expr::Unary(_, e) => &self.tree.exprs[*e].kind,
                kind => kind,
            };
            matches!(kind, Expr::Int(_) | Expr::Float(_))
        };
        let Expr::Array { items, .. } = &self.tree.exprs[row].kind else { return false };
        if subscripts.len() < 2 || !items.iter().all(number) {
            return false;
        }
        let d = Diagnostic::new(Code::E0203, self.expr_span(row), "this array has one axis and takes one index");
        self.report(d.help("a `[` after an array starts an index; is a `,` missing before it?"));
        true
    }

    /// Checks the subscripts against the axes of a type. Returns the accesses and the type of the
    /// selection; reports and returns `None` if there are too many subscripts.
    fn check_subscripts(
        &mut self,
        ty: &Type,
        at: Span,
        subscripts: &[Subscript],
    ) -> Option<(Vec<SubscriptAccess>, Type)> {
        let mut kept = Vec::new();
        let mut accesses = Vec::new();
        let mut rest = ty.clone();
        for (k, s) in subscripts.iter().enumerate() {
            let (extent, elem) = match self.metas.shallow_resolve(&rest) {
                Type::Array(n, t) => (n, (*t).clone()),
                other => {
                    for s in subscripts.iter().skip(k) {
                        self.infer_subscript(s);
                    }
                    self.report_not_indexable(ty, &other, k, at, subscripts.get(k));
                    return None;
                }
            };
            accesses.push(self.check_subscript(s, &extent, &mut kept, at));
            rest = elem;
        }
        Some((accesses, Type::array(kept.into_iter(), rest)))
    }

    fn infer_subscript(&mut self, s: &Subscript) {
        match s {
            Subscript::Index(e) => {
                self.infer(*e, Some(&Type::I64));
            }
            Subscript::Range(a, b) => {
                self.infer(*a, Some(&Type::I64));
                self.infer(*b, Some(&Type::I64));
            }
            Subscript::FullAxis(_) => {}
        }
    }

    fn report_not_indexable(&mut self, whole: &Type, rest: &Type, k: usize, at: Span, by: Option<&Subscript>) {
        let whole = self.metas.with_defaults(whole);
        if whole.has_error() {
            return;
        }
        let d = match rest {
            t if self.metas.is_unknown(t) => {
                self.report_unknown_type(at, "an array");
                return;
            }
            Type::Fun(_) if k == 0 => {
                Diagnostic::new(Code::E0203, at, format!("this is a function, `{whole}`, not an array"))
                    .help("apply it with parentheses: `f(i)`")
            }
            Type::Rel(_) if k == 0 => Diagnostic::new(Code::E0203, at, "this is a relation, not an array")
                .help("test membership with parentheses: `R(i, j)`"),
            Type::Tuple(_) if k == 0 => {
                Diagnostic::new(Code::E0203, at, format!("this is a tuple, `{whole}`, not an array"))
                    .help("select a component with `t.0`")
            }
            _ if k == 0 => {
                let message = format!("this has type `{whole}`, but only arrays have elements");
                let mut d = Diagnostic::new(Code::E0203, at, message);
                d.help = self.text_subscript_help(at, by).filter(|_| matches!(rest, Type::Record(_))).map(Hint::from);
                d
            }
            _ => {
                let most = lang_base::count_with_noun(k, "index", "indices");
                Diagnostic::new(Code::E0203, at, format!("this has type `{whole}` and takes at most {most}"))
            }
        };
        self.report(d);
    }

    fn check_subscript(&mut self, s: &Subscript, extent: &Poly, kept: &mut Vec<Poly>, of: Span) -> SubscriptAccess {
        match s {
            Subscript::FullAxis(span) => {
                kept.push(extent.clone());
                SubscriptAccess { subscript: TypedSub::FullAxis, goal: BoundsGoal::None, span: *span }
            }
            Subscript::Index(e) => {
                let index = self.infer_index_value(*e, of);
                let span = self.expr_span(*e);
                let mut goal = BoundsGoal::None;
                if let Some(p) = self.faithful_poly(index).cloned() {
                    self.record_bare_subscript(*e, &p, extent, span);
                    goal = BoundsGoal::Index(p, extent.clone());
                }
                SubscriptAccess { subscript: TypedSub::Index { index, is_proved: false }, goal, span }
            }
            Subscript::Range(a, b) => {
                let (from, to) = (self.infer_index_value(*a, of), self.infer_index_value(*b, of));
                let span = self.expr_span(*a).to(self.expr_span(*b));
                let (from, to) = (self.bind_as_size(from), self.bind_as_size(to));
                let mut goal = BoundsGoal::None;
                match (self.poly(from).cloned(), self.poly(to).cloned()) {
                    (Some(p), Some(q)) => {
                        kept.push(q.sub(&p));
                        goal = BoundsGoal::Slice(p, q, extent.clone());
                    }
                    _ => kept.push(Poly::atom(Atom::Overflow)),
                }
                SubscriptAccess { subscript: TypedSub::Range { from, to, is_proved: false }, goal, span }
            }
        }
    }

    /// Infers an index, which must be an integer.
    fn infer_index_value(&mut self, e: ExprId, of: Span) -> TypedId {
        let node = self.infer(e, Some(&Type::I64));
        if self.report_array_index(e, node, of) {
            return self.alloc(Typed::Error, Type::I64, self.node_span(node));
        }
        let t = self.metas.zonk(&self.nodes[node].ty);
        if let Type::Scalar(Scalar::F64 | Scalar::F32) = t {
            let span = self.node_span(node);
            self.report(
                Diagnostic::new(Code::E0206, span, format!("an index must be an `i64`, but this has type `{t}`"))
                    .help("`i64(…)` converts to an integer, rounding towards zero")
                    .fix(Fix::wrap(span, "i64(", ")")),
            );
            return self.alloc(Typed::Error, Type::I64, span);
        }
        self.require_type(node, &Type::I64, "an index")
    }

    /// Handles a bare index that is a whole subscript: it takes the extent of the axis, and on a
    /// second axis both extents must agree.
    pub(super) fn record_bare_subscript(&mut self, e: ExprId, p: &Poly, extent: &Poly, span: Span) {
        let Some(Atom::Local(l, _)) = p.as_atom().cloned() else { return };
        // An alias of the index counts as arithmetic on it, so it determines no extent.
        if !matches!(self.tree.exprs[e].kind, Expr::Name(_)) || self.resolved.exprs.get(&e) != Some(&Res::Local(l)) {
            return;
        }
        let Some(bare) = self.bare_extent(l) else { return };
        let (have, want) = (self.metas.zonk_size(&bare), self.metas.zonk_size(extent));
        if have == want {
            return;
        }
        if let Some(Atom::Meta(_)) = have.as_atom() {
            let mut goals = Vec::new();
            if self.metas.unify_size(&have, &want, &mut goals).is_ok() && goals.is_empty() {
                return;
            }
        }
        let scope = self.scopes.current;
        self.obligations
            .push((scope, Obligation::EqualExtents { index: l, span, first: bare, second: extent.clone() }));
    }

    /// Records the obligations of the subscripts of a node, or of one of its updates.
    fn record_accesses(
        &mut self,
        node: TypedId,
        update: Option<usize>,
        accesses: Vec<SubscriptAccess>,
    ) -> Vec<TypedSub> {
        let scope = self.scopes.current;
        let mut subs = Vec::new();
        for (position, a) in accesses.into_iter().enumerate() {
            match a.goal {
                BoundsGoal::None => {}
                BoundsGoal::Index(index, extent) => self.obligations.push((
                    scope,
                    Obligation::Index { node, update, position, index, extent, axis: position, span: a.span },
                )),
                BoundsGoal::Slice(from, to, extent) => self
                    .obligations
                    .push((scope, Obligation::Slice { node, update, position, from, to, extent, span: a.span })),
            }
            subs.push(a.subscript);
        }
        subs
    }

    /// Infers `x with [i] = e with [j] += f`.
    pub(super) fn infer_with(
        &mut self,
        base: ExprId,
        updates: &[WithUpdate],
        hint: Option<&Type>,
        span: Span,
    ) -> TypedId {
        let base = self.infer(base, hint);
        let ty = self.nodes[base].ty.clone();
        let node = self.alloc(Typed::With(base, Vec::new()), ty.clone(), span);
        let mut typed = Vec::new();
        for u in updates {
            let (place, part, at) = match &u.target {
                UpdateTarget::Index(subs, at) => {
                    let shallow = self.metas.shallow_resolve(&ty);
                    let Some((accesses, part)) = self.check_subscripts(&shallow, self.node_span(base), subs) else {
                        self.infer(u.value, None);
                        continue;
                    };
                    (TypedPlace::Index(self.record_accesses(node, Some(typed.len()), accesses)), part, *at)
                }
                UpdateTarget::Field(name) => match self.metas.shallow_resolve(&ty) {
                    Type::Record(fields) => match (0..).zip(fields.iter()).find(|(_, f)| f.0 == name.name) {
                        Some((k, (_, t))) => (TypedPlace::Proj(k), t.clone(), name.span),
                        None => {
                            let names: Vec<String> = fields.iter().map(|(n, _)| format!("`{n}`")).collect();
                            self.report_error(
                                Code::E0106,
                                name.span,
                                format!(
                                    "there is no field `{}` here; the record has {}",
                                    name.name,
                                    super::and_list(&names)
                                ),
                            );
                            self.infer(u.value, None);
                            continue;
                        }
                    },
                    Type::Error => continue,
                    t => {
                        let t = self.metas.zonk(&t);
                        self.report(
                            Diagnostic::new(
                                Code::E0106,
                                name.span,
                                format!("a field update needs a record, but this has type `{t}`"),
                            )
                            .help("update an element of an array with `x with [i] = e`"),
                        );
                        self.infer(u.value, None);
                        continue;
                    }
                },
                UpdateTarget::Proj(k, at) => match self.metas.shallow_resolve(&ty) {
                    Type::Tuple(items) if (*k as usize) < items.len() => {
                        (TypedPlace::Proj(*k), items.get(*k as usize).cloned().unwrap_or(Type::Error), *at)
                    }
                    Type::Error => continue,
                    t => {
                        let t = self.metas.zonk(&t);
                        self.report_error(Code::E0106, *at, format!("there is no component {k} in `{t}`"));
                        self.infer(u.value, None);
                        continue;
                    }
                },
            };
            let part = self.metas.zonk(&part);
            let value = self.infer(u.value, Some(&part));
            // A scalar may fill a slice; a field keeps its shape.
            let slice = matches!(place, TypedPlace::Index(_));
            let target = match (self.node_type(value), part.split_array()) {
                (Type::Scalar(_), (dims, elem)) if slice && !dims.is_empty() => elem.clone(),
                (Type::Meta(id), (dims, elem))
                    if slice && !dims.is_empty() && self.metas.class(id) != TypeClass::Any =>
                {
                    elem.clone()
                }
                _ => part.clone(),
            };
            let value = self.require_type(value, &target, "this update");
            if u.is_add {
                let elem = self.metas.zonk(&part).split_array().1.clone();
                if let Err(super::super::unify::Mismatch::Class(t, class)) = self.require_class(&elem, TypeClass::Num) {
                    self.report_class_error(&t, class, at);
                }
            }
            typed.push(TypedUpdate { target: place, is_add: u.is_add, value, span: at });
        }
        self.nodes[node].kind = Typed::With(base, typed);
        node
    }

    /// Returns the extent of a bare index variable.
    fn bare_extent(&self, l: lang_sizes::predicate::LocalId) -> Option<Poly> {
        self.bare_extents.iter().rev().find(|(b, _)| *b == l).map(|(_, p)| p.clone())
    }
}
