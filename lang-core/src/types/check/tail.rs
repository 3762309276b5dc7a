//! The body of a definition whose result has extents `?k`: its branches may have different ones.
//! Each is checked by itself, and the value tells which it has. Inside the body nobody uses the
//! extents of a branch after it, so branches need not agree.

use super::super::tree::{Expr as Typed, Open, TId};
use super::super::ty::Type;
use super::super::unify::SizeWhy;
use super::Checker;
use super::extents::find_axis;
use crate::predicate::{Atom, LocalId, Poly};
use crate::resolve::LocalKind;
use crate::syntax::ast::{Expr, ExprId};

/// What is wanted of each branch.
pub(super) struct Tail {
    /// The result as written.
    pub(super) ty: Type,
    /// Its extents `?k`, and where they are found.
    unknown: Vec<Open>,
    what: String,
}

impl Checker<'_> {
    /// Does the value of an expression come from branches?
    pub(super) fn branches(&self, e: ExprId) -> bool {
        match &self.tree.exprs[e].kind {
            Expr::Paren(e) | Expr::Let(_, e) => self.branches(*e),
            Expr::If(..) | Expr::Match(..) => true,
            _ => false,
        }
    }

    /// The body against the written result; as one value where the extents `?k` are those of
    /// arrays inside arrays, which a value cannot tell.
    pub(super) fn tail_of(&mut self, body: ExprId, ty: &Type, what: &str) -> TId {
        let mut extents: Vec<LocalId> = Vec::new();
        ty.visit(&mut |_| {}, &mut |p| {
            p.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a
                    && self.resolved.locals.get(l.0 as usize).is_some_and(|d| d.kind == LocalKind::ResultSize)
                    && !extents.contains(l)
                {
                    extents.push(*l);
                }
            });
        });
        let opens = extents.iter().map(|l| {
            let (path, axis) = find_axis(ty, &self.atom(*l))?;
            Some(Open { path, axis, local: *l })
        });
        match opens.collect::<Option<Vec<Open>>>() {
            Some(unknown) => self.tail(body, &Tail { ty: ty.clone(), unknown, what: what.to_owned() }),
            None => {
                let open = self.anew(ty, &extents, body);
                self.check(body, &open, what)
            }
        }
    }

    /// An expression whose value is the result.
    pub(super) fn tail(&mut self, e: ExprId, tail: &Tail) -> TId {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.tail_kind(e, tail))
    }

    fn tail_kind(&mut self, e: ExprId, tail: &Tail) -> TId {
        let tree = self.tree;
        let span = self.expr_span(e);
        match &tree.exprs[e].kind {
            Expr::Paren(e) => self.tail(*e, tail),
            Expr::Let(binds, body) if self.branches(*body) => {
                let typed = binds.iter().map(|b| self.bind_value(b.pat, b.ty, b.value)).collect();
                let body = self.tail(*body, tail);
                self.alloc(Typed::Let(typed, body), tail.ty.clone(), span)
            }
            Expr::If(arms, otherwise) => self.conditional(arms, *otherwise, Some(&tail.ty), Some(tail), span),
            Expr::Match(scrutinee, arms) => self.matching(*scrutinee, arms, Some(&tail.ty), Some(tail), span),
            _ => self.last(e, tail),
        }
    }

    /// The end of a branch: it has some extents for `?k`.
    fn last(&mut self, e: ExprId, tail: &Tail) -> TId {
        let extents: Vec<LocalId> = tail.unknown.iter().map(|o| o.local).collect();
        let open = self.anew(&tail.ty, &extents, e);
        let node = self.infer(e, Some(&open));
        let span = self.span(node);
        // What ends the run has no extents; any will do.
        let never = self.any_value.contains(&self.nodes[node].ty);
        let node = self.expect(node, if never { &tail.ty } else { &open }, &tail.what);
        if never || self.nodes[node].kind == Typed::Error {
            return node;
        }
        self.alloc(Typed::Opened(tail.unknown.clone(), node), tail.ty.clone(), span)
    }

    /// The type with unknown sizes for some locals.
    fn anew(&mut self, ty: &Type, locals: &[LocalId], at: ExprId) -> Type {
        let span = self.expr_span(at);
        let fresh: Vec<(LocalId, Poly)> =
            locals.iter().map(|l| (*l, self.metas.fresh_size(SizeWhy::Other, span))).collect();
        ty.map_sizes(&|p, _| {
            p.substitute(&|a| match a {
                Atom::Local(l, _) => fresh.iter().find(|f| f.0 == *l).map(|f| f.1.clone()),
                _ => None,
            })
        })
    }
}
