//! Binders: index variables and their extents, generation and reductions.

use std::sync::Arc;

use super::super::tree::{Expr as Typed, IndexRange as TypedRange, IndexVar as TypedVar, TId};
use super::super::ty::{Class, Scalar, Type};
use super::super::unify::{Mismatch, SizeWhy};
use super::scope::{Obligation, ScopeKind};
use super::{Bare, Checker};
use crate::base::{Code, Diagnostic, Span};
use crate::predicate::{Atom, Poly};
use crate::syntax::ast::{ExprId, IndexRange, IndexVar};
use crate::syntax::ops::BinderKind;

impl Checker<'_> {
    /// Binds index variables in the current scope. `hints` are the extents that the expected
    /// type gives; `generates` says that the extents become those of an array.
    pub(super) fn index_vars(
        &mut self,
        vars: &[IndexVar],
        hints: &[Poly],
        generates: bool,
    ) -> (Vec<TypedVar>, Vec<Poly>) {
        let mut typed = Vec::new();
        let mut extents = Vec::new();
        for (k, v) in vars.iter().enumerate() {
            let span = v.name.span;
            let Some(l) = self.declared(span) else { continue };
            let (range, from, to, extent) = match &v.range {
                IndexRange::Bare => {
                    let why = SizeWhy::Index(v.name.name.clone());
                    let meta = self.metas.fresh_size(why, span);
                    if let Some(hint) = hints.get(k) {
                        let hint = self.metas.zonk_size(hint);
                        // An unknown of the context is told by the body rather than the reverse.
                        if !matches!(hint.as_atom(), Some(Atom::Meta(_))) {
                            let _ = self.metas.unify_size(&meta, &hint, &mut Vec::new());
                        }
                    }
                    let (name, scope) = (v.name.name.clone(), self.scopes.current);
                    self.bare.push(Bare { extent: meta.clone(), index: l, name, span, scope });
                    self.bare_locals.push((l, meta.clone()));
                    (TypedRange::Extent(meta.clone()), Some(Poly::constant(0)), Some(meta.clone()), meta)
                }
                IndexRange::Below(e) => {
                    let node = self.bound(*e, k == 0);
                    let p = self.sym(node).cloned().unwrap_or_else(|| Poly::atom(Atom::Overflow));
                    let upper = self.faithful(node).and_then(|p| self.upper(p));
                    (TypedRange::Below(node), Some(Poly::constant(0)), upper, p)
                }
                IndexRange::Range { from, to, by } => {
                    let (a, b) = (self.bound(*from, k == 0), self.bound(*to, k == 0));
                    let by = by.map(|s| self.bound(s, k == 0));
                    let poly = |this: &Self, n: TId| this.sym(n).cloned().unwrap_or_else(|| Poly::atom(Atom::Overflow));
                    let (p, q) = (poly(self, a), poly(self, b));
                    let width = q.sub(&p);
                    let extent = match by {
                        None => width,
                        Some(s) => {
                            let s = poly(self, s);
                            if s.as_constant().is_some_and(|c| c <= 0) {
                                self.report(
                                    Diagnostic::new(Code::E0511, self.expr_span(*to), "a stride is at least 1")
                                        .help("to run downwards, count up and index from the end: `x[n - 1 - i]`"),
                                );
                            }
                            width.add(&s).plus(-1).div(&s).unwrap_or_else(|| Poly::atom(Atom::Overflow))
                        }
                    };
                    let lower = self.faithful(a).filter(|p| self.exact(p)).cloned();
                    let upper = self.faithful(b).and_then(|p| self.upper(p));
                    (TypedRange::Range(a, b, by), lower, upper, extent)
                }
            };
            self.bind(l, Type::I64, None);
            let i = self.atom(l);
            if let Some(from) = &from {
                self.scopes.assume_nonneg(i.sub(from));
            }
            if let Some(to) = &to {
                self.scopes.assume_nonneg(to.sub(&i).plus(-1));
            }
            self.runs_through(l, &range, from, to);
            let at = match &v.range {
                IndexRange::Bare => span,
                IndexRange::Below(e) => self.expr_span(*e),
                IndexRange::Range { from, to, .. } => self.expr_span(*from).to(self.expr_span(*to)),
            };
            let scope = self.scopes.parent(self.scopes.current);
            let o = Obligation::Extent { extent: extent.clone(), array: generates, span: at };
            self.obligations.push((scope, o));
            typed.push(TypedVar { local: l, range });
            extents.push(extent);
        }
        (typed, extents)
    }

    /// The bound of a range: an `i64` whose value is a polynomial. That of the first index is
    /// evaluated before the binder is entered.
    fn bound(&mut self, e: ExprId, first: bool) -> TId {
        let inside = self.scopes.current;
        if first {
            self.scopes.current = self.scopes.parent(inside);
        }
        let node = self.infer(e, Some(&Type::I64));
        let t = self.metas.zonk(&self.nodes[node].ty);
        let node = if let Type::Scalar(Scalar::F64 | Scalar::F32) = t {
            let span = self.span(node);
            self.report(
                Diagnostic::new(Code::E0206, span, format!("the bound of a range is an `i64`, and this is a `{t}`"))
                    .help("`i64(…)` makes an integer, rounding towards zero; an integer literal has no point"),
            );
            self.alloc(Typed::Error, Type::I64, span)
        } else {
            self.expect(node, &Type::I64, "the bound of a range")
        };
        let node = self.sized(node);
        self.scopes.current = inside;
        node
    }

    /// An upper bound that may be used as a fact: arithmetic on it is exact, or can only wrap
    /// downwards, which leaves the fact true.
    fn upper(&self, p: &Poly) -> Option<Poly> {
        let grows = p.terms().iter().all(|(m, c)| *c >= 0 && m.iter().all(|(a, _)| self.nonneg_atom(a)));
        (grows || self.exact(p)).then(|| p.clone())
    }

    fn nonneg_atom(&self, a: &Atom) -> bool {
        use crate::resolve::LocalKind;
        match a {
            Atom::Local(l, _) => {
                self.resolved.locals.get(l.0 as usize).is_some_and(|d| {
                    matches!(d.kind, LocalKind::ImplicitSize | LocalKind::ResultSize | LocalKind::Extent)
                })
            }
            _ => false,
        }
    }

    /// `sum i < n if p: e` and the like.
    pub(super) fn binder(
        &mut self,
        kind: BinderKind,
        vars: &[IndexVar],
        filter: Option<ExprId>,
        body: ExprId,
        hint: Option<&Type>,
        span: Span,
    ) -> TId {
        let hint = hint.map(|h| self.metas.shallow(h));
        let (axes, inner) = self.binder_hints(kind, vars.len(), hint.as_ref());
        let scope = self.enter(ScopeKind::Binder);
        let generates = matches!(kind, BinderKind::For | BinderKind::Rel);
        let (before, runs) = (self.locals.len(), self.runs.len());
        let (vars, mut extents) = self.index_vars(vars, &axes, generates);
        if kind == BinderKind::Rel {
            self.relation_extents(&vars, &mut extents, before);
        }
        let filter = filter.map(|p| {
            if generates {
                let at = self.expr_span(p);
                let d = Diagnostic::new(
                    Code::E0311,
                    at,
                    format!("`{}` cannot be filtered: its extent would not be known", kind.word()),
                );
                self.report(if kind == BinderKind::For {
                    d.help("`filter(\\x: …, xs)` keeps elements; `for i: [p] * e` puts zeros")
                } else {
                    d.help("put the condition into the body, with `&&`")
                });
            }
            let p = self.check(p, &Type::BOOL, "a filter");
            self.assume(p, true);
            p
        });
        // A filter leaves indices out, and these end where they know the answer.
        if filter.is_some() || matches!(kind, BinderKind::Any | BinderKind::All) {
            self.runs.truncate(runs);
        }
        let body = match kind {
            BinderKind::Any | BinderKind::All | BinderKind::Rel => {
                self.check(body, &Type::BOOL, &format!("the body of `{}`", kind.word()))
            }
            _ => self.infer(body, inner.as_ref()),
        };
        let ty = self.binder_type(kind, vars.len(), &extents, body);
        self.leave(scope, &ty, span);
        self.alloc(Typed::Binder { kind, vars, filter, body }, ty, span)
    }

    /// Members of a relation are indices, so the end of a range is the extent; and it has to be
    /// known before anything runs.
    fn relation_extents(&mut self, vars: &[TypedVar], extents: &mut [Poly], before: usize) {
        for (var, extent) in vars.iter().zip(extents) {
            let end = match var.range {
                TypedRange::Range(_, end, _) | TypedRange::Below(end) => end,
                TypedRange::Extent(_) => continue,
            };
            let Some(p) = self.sym(end).cloned() else { continue };
            let mut computed = false;
            p.for_each_atom(&mut |a| computed |= matches!(a, Atom::Local(l, _) if l.0 as usize >= before));
            if computed {
                let at = self.span(end);
                self.report(
                    Diagnostic::new(Code::E0303, at, "the extent of a relation is not known here")
                        .help("give it a name first: `let n = … in rel i < n: …`"),
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
                    match self.metas.shallow(&t) {
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

    fn binder_type(&mut self, kind: BinderKind, count: usize, extents: &[Poly], body: TId) -> Type {
        let elem = self.nodes[body].ty.clone();
        match kind {
            BinderKind::For => Type::array(extents.iter().cloned(), elem),
            BinderKind::Sum | BinderKind::Prod => {
                self.summable(&elem, kind, body);
                elem
            }
            BinderKind::Max | BinderKind::Min | BinderKind::Argmax | BinderKind::Argmin => {
                let t = self.metas.shown(&elem);
                if matches!(t, Type::Array(..) | Type::Tuple(_) | Type::Record(_)) {
                    let at = self.span(body);
                    self.report(
                        Diagnostic::new(
                            Code::E0209,
                            at,
                            format!("`{}` compares numbers, and this is a `{t}`", kind.word()),
                        )
                        .help(format!("give an index for every axis: `{} i, j: a[i, j]`", kind.word())),
                    );
                } else if let Err(Mismatch::Class(t, class)) = self.demand(&elem, Class::Num) {
                    let at = self.span(body);
                    self.class_error(&t, class, at);
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

    /// Numbers, and arrays, tuples and records of them, have sums; products are of numbers.
    fn summable(&mut self, t: &Type, kind: BinderKind, body: TId) {
        let at = self.span(body);
        match self.metas.shallow(t) {
            Type::Array(_, elem) if kind == BinderKind::Sum => self.summable(&elem, kind, body),
            Type::Tuple(items) if kind == BinderKind::Sum => items.iter().for_each(|t| self.summable(t, kind, body)),
            Type::Record(fields) if kind == BinderKind::Sum => {
                fields.iter().for_each(|(_, t)| self.summable(t, kind, body));
            }
            Type::Error => {}
            other => {
                if let Err(Mismatch::Class(t, class)) = self.demand(&other, Class::Num) {
                    if t == Type::BOOL {
                        self.report(
                            Diagnostic::new(
                                Code::E0209,
                                at,
                                format!("`{}` works on numbers, and this is a truth value", kind.word()),
                            )
                            .help("to count, `sum i: [p] * 1`; to ask whether there is one, `any i: p`"),
                        );
                    } else {
                        self.class_error(&t, class, at);
                    }
                }
            }
        }
    }
}
