//! **Branches with existential extents.** The value of a definition or a `let` may have extents
//! `?k`, and its branches may have different ones. Each branch is checked by itself, and its value
//! determines its extents. Code outside a branch does not use the branch's extents, so branches
//! need not agree.

use std::cell::RefCell;
use std::collections::HashSet;

use super::super::tree::{OpenedExtent, TypedExpr as Typed, TypedForm, TypedId};
use super::super::ty::Type;
use super::super::unify::{SizeOrigin, has_meta};
use super::TypeChecker;
use super::extents::find_axis;
use lang_resolve::LocalKind;
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ast::{Expr, ExprId};

/// The type required of each branch.
pub(super) struct TailContext {
    /// The type of the whole as written, with metavariables for the extents that the value cannot
    /// reveal.
    pub(super) ty: Type,
    /// Its extents `?k`, and their axes.
    opened_extents: Vec<OpenedExtent>,
    /// The extents in each branch.
    branch_extents: RefCell<Vec<Vec<Poly>>>,
    subject: String,
}

impl TypeChecker<'_> {
    /// Returns whether branches compute the value of an expression.
    pub(super) fn is_branching(&self, e: ExprId) -> bool {
        match &self.tree.exprs[e].kind {
            Expr::Paren(e) | Expr::Let(_, e) => self.is_branching(*e),
            Expr::If(..) | Expr::Match(..) => true,
            _ => false,
        }
    }

    /// Checks the body of a definition against the written result.
    pub(super) fn check_result(&mut self, body: ExprId, ty: &Type, what: &str) -> TypedId {
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
        if extents.is_empty() {
            self.check_expr(body, ty, what)
        } else {
            self.check_tail_value(body, ty, &extents, what)
        }
    }

    /// Checks a value with existential extents; each branch has its own. The extents of arrays
    /// inside arrays, which the value cannot reveal, are equal in all branches.
    pub(super) fn check_tail_value(&mut self, e: ExprId, ty: &Type, extents: &[LocalId], what: &str) -> TypedId {
        let (mut unknown, mut inner) = (Vec::new(), Vec::new());
        for l in extents {
            match find_axis(ty, &self.local_size(*l)) {
                Some((path, axis)) => unknown.push(OpenedExtent { path, axis, local: *l }),
                None => inner.push(*l),
            }
        }
        let (ty, _) = self.with_fresh_extents(ty, &inner, e);
        let tail =
            TailContext { ty, opened_extents: unknown, branch_extents: RefCell::default(), subject: what.to_owned() };
        let last = self.scopes.last_index();
        let node = self.check_tail(e, &tail);
        // An extent that is equal in all branches, and known outside them, is that of the whole.
        let branch_extents = tail.branch_extents.into_inner();
        for (k, open) in tail.opened_extents.iter().enumerate() {
            let mut all = branch_extents.iter().filter_map(|extents| extents.get(k)).map(|p| self.metas.zonk_size(p));
            let Some(one) = all.next().filter(|p| all.all(|q| q == *p) && !has_meta(p)) else { continue };
            let mut outside = true;
            one.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a {
                    outside &= self.local_info(*l).is_some_and(|i| i.scope <= last);
                }
            });
            if outside {
                self.scopes.assume_zero(self.local_size(open.local).sub(&one));
            }
        }
        node
    }

    /// Checks an expression in tail position, whose value is the result.
    pub(super) fn check_tail(&mut self, e: ExprId, tail: &TailContext) -> TypedId {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.tail_kind(e, tail))
    }

    fn tail_kind(&mut self, e: ExprId, tail: &TailContext) -> TypedId {
        let tree = self.tree;
        let span = self.expr_span(e);
        match &tree.exprs[e].kind {
            Expr::Paren(e) => self.check_tail(*e, tail),
            Expr::Let(binds, body) if self.is_branching(*body) => {
                let typed = binds.iter().map(|b| self.infer_let_binding(b.pat, b.ty, b.value)).collect();
                let body = self.check_tail(*body, tail);
                self.alloc(Typed::Let(typed, body), tail.ty.clone(), span)
            }
            Expr::If(arms, otherwise) => self.infer_if(arms, *otherwise, Some(&tail.ty), Some(tail), span),
            Expr::Match(scrutinee, arms) => self.infer_match(*scrutinee, arms, Some(&tail.ty), Some(tail), span),
            _ => self.check_branch_end(e, tail),
        }
    }

    /// Checks the end of a branch, with fresh extents for the `?k`.
    fn check_branch_end(&mut self, e: ExprId, tail: &TailContext) -> TypedId {
        let extents: Vec<LocalId> = tail.opened_extents.iter().map(|o| o.local).collect();
        let (open, own) = self.with_fresh_extents(&tail.ty, &extents, e);
        let node = self.infer(e, Some(&open));
        let span = self.node_span(node);
        if !self.is_error_call(node) {
            tail.branch_extents.borrow_mut().push(own);
        }
        let node = self.require_type(node, &open, &tail.subject);
        if self.nodes[node].kind == Typed::Error {
            return node;
        }
        self.alloc(Typed::Opened(tail.opened_extents.clone(), node), tail.ty.clone(), span)
    }

    /// Returns whether the node is an `error(…)`, which has no value and so no extents.
    fn is_error_call(&self, mut node: TypedId) -> bool {
        while let Typed::Let(_, body) = &self.nodes[node].kind {
            node = *body;
        }
        matches!(self.nodes[node].kind, Typed::Form(TypedForm::Error(_), _))
    }

    /// Returns the type with fresh metavariables in place of some locals, and these metavariables.
    fn with_fresh_extents(&mut self, ty: &Type, locals: &[LocalId], at: ExprId) -> (Type, Vec<Poly>) {
        let span = self.expr_span(at);
        let fresh: Vec<Poly> = locals.iter().map(|_| self.metas.fresh_size(SizeOrigin::Other, span)).collect();
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
    pub(super) fn open_loaded_extents(&mut self, load: TypedId) -> TypedId {
        let ty = self.metas.zonk(&self.nodes[load].ty);
        let span = self.node_span(load);
        let mut opens = Vec::new();
        for own in self.branch_extents.clone() {
            let own = self.metas.zonk_size(&own);
            let (Some(Atom::Meta(_)), Some((path, axis))) = (own.as_atom(), find_axis(&ty, &own)) else { continue };
            let local = self.fresh_extent("loaded", span);
            let extent = self.local_size(local);
            self.scopes.assume_nonneg(extent.clone());
            let _ = self.metas.unify_size(&own, &extent, &mut Vec::new());
            opens.push(OpenedExtent { path, axis, local });
        }
        if opens.is_empty() { load } else { self.alloc(Typed::Opened(opens, load), ty, span) }
    }

    /// Sets to 0 the extents of branches that nothing determines: those of an `error(…)`, or of the
    /// elements of an empty array. The extent of a bare index is excluded, because the program must
    /// determine it.
    pub(super) fn default_branch_extents(&mut self) {
        let mut run = HashSet::new();
        for bare in &self.bare_indices {
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
