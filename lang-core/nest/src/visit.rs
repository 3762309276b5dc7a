//! **Uses and definitions.** Visits every element that the nodes of a kernel read or write,
//! including reads in index expressions, predicates and inlined statements.

use super::is_trivial;
use super::kernel::{Loop, Node, Product, Set};
use lang_ir::ssa::{Access, Rhs, Ssa, Var, at_indices};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// An access to elements of a variable.
pub(super) enum Seen<'n> {
    /// A read of one element.
    Read(&'n Access),
    /// An assignment to one element.
    Set(&'n Set),
    /// The initialisation of elements at these indices.
    Clear(Var, &'n [Option<Poly>]),
    /// A matrix product that sets them; its loops follow.
    Product(Var),
}

impl Seen<'_> {
    pub(super) fn var(&self) -> Var {
        match self {
            Self::Read(of) => of.var,
            Self::Set(set) => set.var,
            Self::Clear(var, _) | Self::Product(var) => *var,
        }
    }
}

/// A walk over nodes.
pub(super) struct Visit<'v> {
    pub(super) ssa: &'v Ssa,
    /// Returns whether a node sets the variable. Other trivial statements are inlined.
    pub(super) is_set: &'v dyn Fn(Var) -> bool,
    /// The enclosing loops.
    pub(super) path: Vec<LocalId>,
}

type Found<'f> = dyn FnMut(Seen<'_>, &[LocalId]) + 'f;

impl Visit<'_> {
    /// Calls `f` on every access, with the enclosing loops.
    pub(super) fn nodes(&mut self, nodes: &[Node], f: &mut Found<'_>) {
        nodes.iter().for_each(|node| self.node(node, f));
    }

    /// Calls `f` on every read in the bounds of a loop.
    pub(super) fn range(&self, of: &Loop, f: &mut Found<'_>) {
        of.from.iter().chain(&of.to).for_each(|p| self.poly(p, f));
    }

    /// Calls with what a loop asks in each iteration.
    fn asked(&self, of: &Loop, f: &mut Found<'_>) {
        of.goes_on.iter().for_each(|of| self.access(of, f));
    }

    fn node(&mut self, node: &Node, f: &mut Found<'_>) {
        match node {
            Node::Loop(of) => {
                self.range(of, f);
                self.path.push(of.index.local);
                self.asked(of, f);
                self.nodes(&of.body, f);
                self.path.pop();
            }
            Node::Told { value, body, .. } => {
                self.poly(value, f);
                self.nodes(body, f);
            }
            Node::If(p, body) => {
                self.pred(p, f);
                self.nodes(body, f);
            }
            Node::Product(of) => {
                let Product { var, factors, body, .. } = &**of;
                f(Seen::Product(*var), &self.path);
                factors.iter().for_each(|of| self.access(of, f));
                self.nodes(body, f);
            }
            Node::Clear(var, at, _) => f(Seen::Clear(*var, at), &self.path),
            Node::Set(set) => {
                f(Seen::Set(set), &self.path);
                set.at.iter().for_each(|p| self.poly(p, f));
                set.rhs.for_each_access(&mut |a| self.access(a, f));
                set.rhs.for_each_pred(&mut |p| self.pred(p, f));
                if let Rhs::Index(p) = &set.rhs {
                    self.poly(p, f);
                }
            }
        }
    }

    fn access(&self, of: &Access, f: &mut Found<'_>) {
        of.at.iter().for_each(|p| self.poly(p, f));
        match self.ssa.stmts.get(of.var.0 as usize) {
            Some(stmt) if is_trivial(&stmt.rhs) && !(self.is_set)(of.var) => {
                if let Rhs::Index(p) = &stmt.rhs {
                    self.poly(&at_indices(p, &of.at), f);
                }
            }
            _ => f(Seen::Read(of), &self.path),
        }
    }

    fn poly(&self, p: &Poly, f: &mut Found<'_>) {
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a
                && let Some(var) = Var::of_local(*x)
            {
                self.access(&Access { var, at: at.to_vec() }, f);
            }
        });
    }

    fn pred(&self, p: &Pred, f: &mut Found<'_>) {
        match p {
            Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| self.pred(p, f)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => self.poly(p, f),
            Pred::Is(x, _, at, _) | Pred::Member(x, _, at, _) => {
                if let Some(var) = Var::of_local(*x) {
                    self.access(&Access { var, at: at.to_vec() }, f);
                }
            }
            Pred::Any(_, body, _) => self.pred(body, f),
        }
    }
}
