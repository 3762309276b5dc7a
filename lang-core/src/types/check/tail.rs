//! A value with extents `?k`, those of a definition's result or of a `let`: its branches may have
//! different ones. Each is checked by itself, and the value tells which it has. Nobody uses the
//! extents of a branch after it, so branches need not agree.

use std::cell::RefCell;
use std::collections::HashSet;

use super::super::tree::{Expr as Typed, Open, Special, TId};
use super::super::ty::Type;
use super::super::unify::{SizeWhy, has_meta};
use super::Checker;
use super::extents::find_axis;
use crate::predicate::{Atom, LocalId, Poly};
use crate::resolve::LocalKind;
use crate::syntax::ast::{Expr, ExprId};

/// What is wanted of each branch.
pub(super) struct Tail {
    /// The whole as written.
    pub(super) ty: Type,
    /// Its extents `?k`, and where they are found.
    unknown: Vec<Open>,
    /// What they are in each branch.
    told: RefCell<Vec<Vec<Poly>>>,
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

    /// The body of a definition against the written result.
    pub(super) fn result_of(&mut self, body: ExprId, ty: &Type, what: &str) -> TId {
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
        if extents.is_empty() { self.check(body, ty, what) } else { self.tail_of(body, ty, &extents, what) }
    }

    /// A value that has some extents, its branches each its own. Those of arrays inside arrays, which
    /// a value cannot tell, are the same in all branches.
    pub(super) fn tail_of(&mut self, e: ExprId, ty: &Type, extents: &[LocalId], what: &str) -> TId {
        let (mut unknown, mut inner) = (Vec::new(), Vec::new());
        for l in extents {
            match find_axis(ty, &self.atom(*l)) {
                Some((path, axis)) => unknown.push(Open { path, axis, local: *l }),
                None => inner.push(*l),
            }
        }
        let (ty, _) = self.anew(ty, &inner, e);
        let tail = Tail { ty, unknown, told: RefCell::default(), what: what.to_owned() };
        let last = self.scopes.last();
        let node = self.tail(e, &tail);
        // What is the same in all branches, and known outside, the whole has.
        let told = tail.told.into_inner();
        for (k, open) in tail.unknown.iter().enumerate() {
            let mut all = told.iter().filter_map(|extents| extents.get(k)).map(|p| self.metas.zonk_size(p));
            let Some(one) = all.next().filter(|p| all.all(|q| q == *p) && !has_meta(p)) else { continue };
            let mut outside = true;
            one.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a {
                    outside &= self.local(*l).is_some_and(|i| i.scope <= last);
                }
            });
            if outside {
                self.scopes.assume_zero(self.atom(open.local).sub(&one));
            }
        }
        node
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
        let (open, own) = self.anew(&tail.ty, &extents, e);
        let node = self.infer(e, Some(&open));
        let span = self.span(node);
        if !self.ends_run(node) {
            tail.told.borrow_mut().push(own);
        }
        let node = self.expect(node, &open, &tail.what);
        if self.nodes[node].kind == Typed::Error {
            return node;
        }
        self.alloc(Typed::Opened(tail.unknown.clone(), node), tail.ty.clone(), span)
    }

    /// Is it an `error(…)`, which has no value and so no extents?
    fn ends_run(&self, mut node: TId) -> bool {
        while let Typed::Let(_, body) = &self.nodes[node].kind {
            node = *body;
        }
        matches!(self.nodes[node].kind, Typed::Special(Special::Error(_), _))
    }

    /// The type with unknown sizes for some locals, and these sizes.
    fn anew(&mut self, ty: &Type, locals: &[LocalId], at: ExprId) -> (Type, Vec<Poly>) {
        let span = self.expr_span(at);
        let fresh: Vec<Poly> = locals.iter().map(|_| self.metas.fresh_size(SizeWhy::Other, span)).collect();
        self.branch_extents.extend(fresh.iter().cloned());
        let ty = ty.map_sizes(&|p, _| {
            p.substitute(&|a| match a {
                Atom::Local(l, _) => fresh.get(locals.iter().position(|k| k == l)?).cloned(),
                _ => None,
            })
        });
        (ty, fresh)
    }

    /// What a branch loads tells the extents that are the branch's own.
    pub(super) fn loaded(&mut self, load: TId) -> TId {
        let ty = self.metas.zonk(&self.nodes[load].ty);
        let span = self.span(load);
        let mut opens = Vec::new();
        for own in self.branch_extents.clone() {
            let own = self.metas.zonk_size(&own);
            let (Some(Atom::Meta(_)), Some((path, axis))) = (own.as_atom(), find_axis(&ty, &own)) else { continue };
            let local = self.fresh_extent("loaded", span);
            let extent = self.atom(local);
            self.scopes.assume_nonneg(extent.clone());
            let _ = self.metas.unify_size(&own, &extent, &mut Vec::new());
            opens.push(Open { path, axis, local });
        }
        if opens.is_empty() { load } else { self.alloc(Typed::Opened(opens, load), ty, span) }
    }

    /// Extents of branches that nothing tells are 0: those of what ends the run, or of elements that
    /// are not there. But an index has to say how far it runs.
    pub(super) fn close_branches(&mut self) {
        let mut run = HashSet::new();
        for bare in &self.bare {
            self.metas.zonk_size(&bare.extent).for_each_atom(&mut |a| {
                if let Atom::Meta(id) = a {
                    run.insert(*id);
                }
            });
        }
        for p in std::mem::take(&mut self.branch_extents) {
            let p = self.metas.zonk_size(&p);
            if matches!(p.as_atom(), Some(Atom::Meta(id)) if !run.contains(id)) {
                let _ = self.metas.unify_size(&p, &Poly::constant(0), &mut Vec::new());
            }
        }
    }
}
