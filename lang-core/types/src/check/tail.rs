//! **Branches with existential extents.** The value of a definition or a `let` may have extents
//! `?k`, and its branches may have different ones. Each branch is checked by itself, and its value
//! determines its extents. Code outside a branch does not use the branch's extents, so branches
//! need not agree.

use std::cell::RefCell;
use std::collections::HashSet;

use super::super::tree::{Expr as Typed, Open, Special, TId};
use super::super::ty::Type;
use super::super::unify::{SizeWhy, has_meta};
use super::Checker;
use super::extents::find_axis;
use lang_resolve::LocalKind;
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ast::{Expr, ExprId};

/// The type required of each branch.
pub(super) struct Tail {
    /// The type of the whole as written.
    pub(super) ty: Type,
    /// Its extents `?k`, and their axes.
    unknown: Vec<Open>,
    /// The extents in each branch.
    told: RefCell<Vec<Vec<Poly>>>,
    what: String,
}

impl Checker<'_> {
    /// Returns whether branches compute the value of an expression.
    pub(super) fn branches(&self, e: ExprId) -> bool {
        match &self.tree.exprs[e].kind {
            Expr::Paren(e) | Expr::Let(_, e) => self.branches(*e),
            Expr::If(..) | Expr::Match(..) => true,
            _ => false,
        }
    }

    /// Checks the body of a definition against the written result.
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

    /// Checks a value with existential extents; each branch has its own. The extents of arrays
    /// inside arrays, which the value cannot reveal, are equal in all branches.
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
        // An extent that is equal in all branches, and known outside them, is that of the whole.
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

    /// Checks an expression in tail position, whose value is the result.
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

    /// Checks the end of a branch, with fresh extents for the `?k`.
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

    /// Returns whether the node is an `error(…)`, which has no value and so no extents.
    fn ends_run(&self, mut node: TId) -> bool {
        while let Typed::Let(_, body) = &self.nodes[node].kind {
            node = *body;
        }
        matches!(self.nodes[node].kind, Typed::Special(Special::Error(_), _))
    }

    /// Returns the type with fresh metavariables in place of some locals, and these metavariables.
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

    /// Opens the branch's own extents at a `load`, because the loaded value determines them.
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

    /// Sets to 0 the extents of branches that nothing determines: those of an `error(…)`, or of the
    /// elements of an empty array. The extent of a bare index is excluded, because the program must
    /// determine it.
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
