//! **Binders**: index variables and their extents, array generation, reductions and relations.

use std::sync::Arc;

use super::super::tree::{TypedExpr as Typed, TypedId, TypedIndexRange as TypedRange, TypedIndexVar as TypedVar};
use super::super::ty::{Scalar, Type, TypeClass};
use super::super::unify::{Mismatch, SizeOrigin, has_meta};
use super::scope::{Obligation, ScopeKind};
use super::{BareIndex, TypeChecker};
use lang_base::{Code, Diagnostic, Fix, Span};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ast::{ExprId, Ident, IndexRange, IndexVar};
use lang_syntax::ops::BinderKind;

/// The index variables of a binder, after binding.
pub(super) struct BoundIndices {
    /// Their scope.
    pub(super) scope: usize,
    pub(super) vars: Vec<TypedVar>,
    pub(super) extents: Vec<Poly>,
}

impl TypeChecker<'_> {
    /// Enters the scope of a binder and binds its index variables.
    ///
    /// `hints` are the extents that the expected type prescribes. If `generates`, the extents
    /// become those of an array or a relation.
    pub(super) fn bind_index_vars(&mut self, vars: &[IndexVar], hints: &[Poly], generates: bool) -> BoundIndices {
        let around = self.scopes.current;
        let mut runs = Vec::new();
        let mut indices = BoundIndices { scope: around, vars: Vec::new(), extents: Vec::new() };
        for (k, v) in vars.iter().enumerate() {
            // The bounds of the first index are evaluated once, before the scope of the binder.
            let bounds = self.infer_bounds(&v.range);
            if k == 0 {
                indices.scope = self.enter_scope(ScopeKind::Binder);
            }
            let span = v.name.span;
            let Some(l) = self.declared_local(span) else { continue };
            let range = bounds.unwrap_or_else(|| TypedRange::Extent(self.fresh_bare_extent(l, &v.name, hints.get(k))));
            let (from, to, extent) = self.range_facts(&range);
            self.bind_local(l, Type::I64, None);
            let magnitude = match &range {
                TypedRange::Extent(_) | TypedRange::Below(_) => Some(super::MAX_SIZE),
                TypedRange::Range(..) => {
                    let of = |p: &Option<Poly>| p.as_ref().and_then(|p| self.magnitude(p));
                    of(&from).zip(of(&to)).map(|(a, b)| a.max(b))
                }
            };
            self.set_magnitude(l, magnitude);
            let i = self.local_size(l);
            from.iter().for_each(|from| self.scopes.assume_nonneg(i.sub(from)));
            to.iter().for_each(|to| self.scopes.assume_nonneg(to.sub(&i).add_constant(-1)));
            runs.push(self.full_range_index(l, &range, from, to));
            let at = match &v.range {
                IndexRange::Bare => span,
                IndexRange::Below(e) => self.expr_span(*e),
                IndexRange::Range { from, to, .. } => self.expr_span(*from).to(self.expr_span(*to)),
            };
            let o = Obligation::Extent { extent: extent.clone(), is_array: generates, span: at };
            self.obligations.push((around, o));
            indices.vars.push(TypedVar { local: l, range });
            indices.extents.push(extent);
        }
        if vars.is_empty() {
            indices.scope = self.enter_scope(ScopeKind::Binder);
        }
        self.record_full_ranges(indices.scope, runs);
        indices
    }

    /// Infers the bounds of a range; `None` for a bare index, whose extent its uses determine.
    fn infer_bounds(&mut self, range: &IndexRange) -> Option<TypedRange> {
        match range {
            IndexRange::Bare => None,
            IndexRange::Below(e) => Some(TypedRange::Below(self.infer_bound(*e))),
            IndexRange::Range { from, to, by } => {
                let (a, b) = (self.infer_bound(*from), self.infer_bound(*to));
                Some(TypedRange::Range(a, b, by.map(|s| self.infer_bound(s))))
            }
        }
    }

    /// Creates the extent of a bare index, which its uses determine.
    fn fresh_bare_extent(&mut self, index: LocalId, name: &Ident, hint: Option<&Poly>) -> Poly {
        let meta = self.metas.fresh_size(SizeOrigin::Index(name.name.clone()), name.span);
        if let Some(hint) = hint {
            let hint = self.metas.zonk_size(hint);
            // A metavariable of the context is solved by the body, rather than the reverse.
            if !has_meta(&hint) {
                let _ = self.metas.unify_size(&meta, &hint, &mut Vec::new());
            }
        }
        let scope = self.scopes.current;
        self.bare_indices.push(BareIndex {
            extent: meta.clone(),
            index,
            name: name.name.clone(),
            span: name.span,
            scope,
        });
        self.bare_extents.push((index, meta.clone()));
        meta
    }

    /// Returns the start and the end of a range, if usable as facts, and its extent.
    fn range_facts(&mut self, range: &TypedRange) -> (Option<Poly>, Option<Poly>, Poly) {
        let poly = |n: TypedId| self.poly(n).cloned().unwrap_or_else(|| Poly::atom(Atom::Overflow));
        let upper = |n: TypedId| self.faithful_poly(n).and_then(|p| self.upper_bound_fact(p));
        match range {
            TypedRange::Extent(p) => (Some(Poly::constant(0)), Some(p.clone()), p.clone()),
            TypedRange::Below(n) => (Some(Poly::constant(0)), upper(*n), poly(*n)),
            TypedRange::Range(a, b, by) => {
                let width = poly(*b).sub(&poly(*a));
                let stride = by.map(poly);
                let ends = (self.faithful_poly(*a).filter(|p| self.is_exact(p)).cloned(), upper(*b));
                let extent = match &stride {
                    None => width,
                    Some(s) => width.add(s).add_constant(-1).div(s).unwrap_or_else(|| Poly::atom(Atom::Overflow)),
                };
                if stride.and_then(|s| s.as_constant()).is_some_and(|c| c <= 0) {
                    let d =
                        Diagnostic::new(Code::E0511, self.node_span(by.unwrap_or(*b)), "a stride must be at least 1");
                    self.report(d.help("to run downwards, count up and index from the end: `x[n - 1 - i]`"));
                }
                (ends.0, ends.1, extent)
            }
        }
    }

    /// Infers the bound of a range: an `i64` with a polynomial value.
    fn infer_bound(&mut self, e: ExprId) -> TypedId {
        let node = self.infer(e, Some(&Type::I64));
        let t = self.metas.zonk(&self.nodes[node].ty);
        let node = if let Type::Scalar(Scalar::F64 | Scalar::F32) = t {
            let span = self.node_span(node);
            self.report(
                Diagnostic::new(
                    Code::E0206,
                    span,
                    format!("the bound of a range must be an `i64`, but this has type `{t}`"),
                )
                .help("`i64(…)` converts to an integer, rounding towards zero; an integer literal has no decimal point")
                .fix(Fix::wrap(span, "i64(", ")")),
            );
            self.alloc(Typed::Error, Type::I64, span)
        } else {
            self.require_type(node, &Type::I64, "the bound of a range")
        };
        self.bind_as_size(node)
    }

    /// Returns the upper bound if it is usable as a fact. Its arithmetic must be exact, or able to
    /// wrap only downwards, which leaves the fact true.
    fn upper_bound_fact(&self, p: &Poly) -> Option<Poly> {
        let grows = p.terms().iter().all(|(m, c)| *c >= 0 && m.iter().all(|(a, _)| self.is_nonneg_atom(a)));
        (grows || self.is_exact(p)).then(|| p.clone())
    }

    fn is_nonneg_atom(&self, a: &Atom) -> bool {
        use lang_resolve::LocalKind;
        match a {
            Atom::Local(l, _) => self.resolved.locals.get(l.0 as usize).is_some_and(|d| {
                matches!(d.kind, LocalKind::ImplicitSize | LocalKind::ResultSize | LocalKind::NamedExtent)
            }),
            _ => false,
        }
    }

    /// Infers a binder such as `sum i < n if p: e`.
    pub(super) fn infer_binder(
        &mut self,
        kind: BinderKind,
        vars: &[IndexVar],
        filter: Option<ExprId>,
        body: ExprId,
        hint: Option<&Type>,
        span: Span,
    ) -> TypedId {
        let hint = hint.map(|h| self.metas.shallow_resolve(h));
        let (axes, inner) = self.binder_hints(kind, vars.len(), hint.as_ref());
        let generates = matches!(kind, BinderKind::For | BinderKind::Rel);
        let (before, runs) = (self.locals.len(), self.full_range_indices.len());
        let BoundIndices { scope, vars, mut extents } = self.bind_index_vars(vars, &axes, generates);
        if kind == BinderKind::Rel {
            self.relation_extents(&vars, &mut extents, before);
        }
        let filter = filter.map(|p| {
            if generates {
                let at = self.expr_span(p);
                let d = Diagnostic::new(
                    Code::E0311,
                    at,
                    format!("`{}` cannot be filtered, because its extent would not be known", kind.keyword()),
                );
                self.report(if kind == BinderKind::For {
                    d.help("`filter(\\x: …, xs)` selects elements; `for i: [p] * e` inserts zeros")
                } else {
                    d.help("move the condition into the body, with `&&`")
                });
            }
            let p = self.check_expr(p, &Type::BOOL, "a filter");
            self.assume_condition(p, true);
            p
        });
        // A filter skips indices, and `any` and `all` stop as soon as they know the answer.
        if filter.is_some() || matches!(kind, BinderKind::Any | BinderKind::All) {
            self.full_range_indices.truncate(runs);
        }
        let body = match kind {
            BinderKind::Any | BinderKind::All | BinderKind::Rel => {
                self.check_expr(body, &Type::BOOL, &format!("the body of `{}`", kind.keyword()))
            }
            _ => self.infer(body, inner.as_ref()),
        };
        let ty = self.binder_type(kind, vars.len(), &extents, body);
        self.leave_scope(scope, &ty, span);
        self.alloc(Typed::Binder { kind, vars, filter, body }, ty, span)
    }

    /// Sets the extents of a relation. Its members are indices, so the end of a range is the
    /// extent. The extent must be known before the binder runs.
    fn relation_extents(&mut self, vars: &[TypedVar], extents: &mut [Poly], before: usize) {
        for (var, extent) in vars.iter().zip(extents) {
            let end = match var.range {
                TypedRange::Range(_, end, _) | TypedRange::Below(end) => end,
                TypedRange::Extent(_) => continue,
            };
            let Some(p) = self.poly(end).cloned() else { continue };
            let mut computed = false;
            p.for_each_atom(&mut |a| computed |= matches!(a, Atom::Local(l, _) if l.0 as usize >= before));
            if computed {
                let at = self.node_span(end);
                self.report(
                    Diagnostic::new(Code::E0303, at, "the extent of a relation is not known here")
                        .help("name it first: `let n = … in rel i < n: …`"),
                );
            }
            *extent = p;
        }
    }

    fn binder_hints(&mut self, kind: BinderKind, count: usize, hint: Option<&Type>) -> (Vec<Poly>, Option<Type>) {
        match (kind, hint) {
            (BinderKind::For, Some(t)) => {
                let mut axes = Vec::new();
                let mut t = t.clone();
                while axes.len() < count {
                    match self.metas.shallow_resolve(&t) {
                        Type::Array(n, e) => {
                            axes.push(n);
                            t = (*e).clone();
                        }
                        _ => return (axes, None),
                    }
                }
                (axes, Some(t))
            }
            (BinderKind::Rel, Some(Type::Rel(dims))) => (dims.to_vec(), None),
            (BinderKind::Argmax | BinderKind::Argmin, _) => (Vec::new(), None),
            (_, t) => (Vec::new(), t.cloned()),
        }
    }

    fn binder_type(&mut self, kind: BinderKind, count: usize, extents: &[Poly], body: TypedId) -> Type {
        let elem = self.nodes[body].ty.clone();
        match kind {
            BinderKind::For => Type::array(extents.iter().cloned(), elem),
            BinderKind::Sum | BinderKind::Prod => {
                self.check_summable(&elem, kind, body);
                elem
            }
            BinderKind::Max | BinderKind::Min | BinderKind::Argmax | BinderKind::Argmin => {
                let t = self.metas.with_defaults(&elem);
                if matches!(t, Type::Array(..) | Type::Tuple(_) | Type::Record(_)) {
                    let at = self.node_span(body);
                    let message = format!("`{}` compares numbers, but this has type `{t}`", kind.keyword());
                    let d = Diagnostic::new(Code::E0209, at, message);
                    self.report(match t {
                        Type::Array(..) => {
                            d.help(format!("write an index for every axis: `{} i, j: a[i, j]`", kind.keyword()))
                        }
                        _ => d,
                    });
                } else if let Err(Mismatch::Class(t, class)) = self.require_class(&elem, TypeClass::Num) {
                    let at = self.node_span(body);
                    self.report_class_error(&t, class, at);
                }
                match (kind, count) {
                    (BinderKind::Max | BinderKind::Min, _) => elem,
                    (_, 1) => Type::I64,
                    (_, n) => Type::Tuple((0..n).map(|_| Type::I64).collect()),
                }
            }
            BinderKind::Any | BinderKind::All => Type::BOOL,
            BinderKind::Rel => Type::Rel(Arc::from(extents)),
        }
    }

    /// Checks the element type of a `sum` or `prod`. Numbers, and arrays, tuples and records of
    /// them, have sums; only numbers have products.
    fn check_summable(&mut self, t: &Type, kind: BinderKind, body: TypedId) {
        let at = self.node_span(body);
        match self.metas.shallow_resolve(t) {
            Type::Array(_, elem) if kind == BinderKind::Sum => self.check_summable(&elem, kind, body),
            Type::Tuple(items) if kind == BinderKind::Sum => {
                items.iter().for_each(|t| self.check_summable(t, kind, body))
            }
            Type::Record(fields) if kind == BinderKind::Sum => {
                fields.iter().for_each(|(_, t)| self.check_summable(t, kind, body));
            }
            Type::Error => {}
            other => {
                if let Err(Mismatch::Class(t, class)) = self.require_class(&other, TypeClass::Num) {
                    if t == Type::BOOL {
                        self.report(
                            Diagnostic::new(
                                Code::E0209,
                                at,
                                format!("`{}` works on numbers, but this is a truth value", kind.keyword()),
                            )
                            .help("to count, write `sum i: [p] * 1`; to test for one, write `any i: p`"),
                        );
                    } else {
                        self.report_class_error(&t, class, at);
                    }
                }
            }
        }
    }
}
