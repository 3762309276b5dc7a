//! **Uses and definitions.** Visits every element that the nodes of a kernel read or write,
//! including reads in index expressions, predicates and inlined statements. The passes that choose
//! storage, copies, strips and chunks are based on these accesses.

use super::loop_nest::{Assignment, MatrixProduct, NestLoop, NestNode};
use lang_ir::ssa::{Rhs, SsaFunction, StmtId, TensorAccess, substitute_indices};
use lang_opt::kernel_statements::is_trivial;
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// An access to elements of a variable.
pub(super) enum NestAccess<'n> {
    /// A read of one element.
    Read(&'n TensorAccess),
    /// An assignment to one element.
    Assign(&'n Assignment),
    /// The initialisation of elements at these indices.
    Fill(StmtId, &'n [Option<Poly>]),
    /// A matrix product that sets elements; its loops follow.
    MatrixProduct(StmtId),
}

impl NestAccess<'_> {
    pub(super) fn var(&self) -> StmtId {
        match self {
            Self::Read(of) => of.var,
            Self::Assign(set) => set.var,
            Self::Fill(var, _) | Self::MatrixProduct(var) => *var,
        }
    }
}

/// A visitor of the accesses in nodes.
pub(super) struct AccessVisitor<'v> {
    pub(super) ssa: &'v SsaFunction,
    /// The test whether a node sets a variable. A trivial statement that no node sets is inlined.
    pub(super) is_assigned: &'v dyn Fn(StmtId) -> bool,
    /// The enclosing loops.
    pub(super) enclosing_loops: Vec<LocalId>,
}

type AccessCallback<'f> = dyn FnMut(NestAccess<'_>, &[LocalId]) + 'f;

impl AccessVisitor<'_> {
    /// Calls `f` on every access, with the enclosing loops.
    pub(super) fn visit_nodes(&mut self, nodes: &[NestNode], f: &mut AccessCallback<'_>) {
        nodes.iter().for_each(|node| self.visit_node(node, f));
    }

    /// Calls `f` on every read in the bounds of a loop.
    pub(super) fn visit_loop_bounds(&self, of: &NestLoop, f: &mut AccessCallback<'_>) {
        of.lower_bounds.iter().chain(&of.upper_bounds).for_each(|p| self.visit_poly(p, f));
    }

    /// Calls `f` on the read of a `while` loop's condition.
    fn visit_while_condition(&self, of: &NestLoop, f: &mut AccessCallback<'_>) {
        of.while_condition.iter().for_each(|of| self.visit_access(of, f));
    }

    fn visit_node(&mut self, node: &NestNode, f: &mut AccessCallback<'_>) {
        match node {
            NestNode::Loop(of) => {
                self.visit_loop_bounds(of, f);
                self.enclosing_loops.push(of.index.local);
                self.visit_while_condition(of, f);
                self.visit_nodes(&of.body, f);
                self.enclosing_loops.pop();
            }
            NestNode::Let { value, body, .. } => {
                self.visit_poly(value, f);
                self.visit_nodes(body, f);
            }
            NestNode::If(p, body) => {
                self.visit_pred(p, f);
                self.visit_nodes(body, f);
            }
            NestNode::MatrixProduct(of) => {
                let MatrixProduct { var, factors, fallback_loops: body, .. } = &**of;
                f(NestAccess::MatrixProduct(*var), &self.enclosing_loops);
                factors.iter().for_each(|of| self.visit_access(of, f));
                self.visit_nodes(body, f);
            }
            NestNode::Fill(var, at, _) => f(NestAccess::Fill(*var, at), &self.enclosing_loops),
            NestNode::Assign(set) => {
                f(NestAccess::Assign(set), &self.enclosing_loops);
                set.at.iter().for_each(|p| self.visit_poly(p, f));
                set.rhs.for_each_access(&mut |a| self.visit_access(a, f));
                set.rhs.for_each_pred(&mut |p| self.visit_pred(p, f));
                if let Rhs::Index(p) = &set.rhs {
                    self.visit_poly(p, f);
                }
            }
        }
    }

    fn visit_access(&self, of: &TensorAccess, f: &mut AccessCallback<'_>) {
        of.at.iter().for_each(|p| self.visit_poly(p, f));
        match self.ssa.stmts.get(of.var.0 as usize) {
            Some(stmt) if is_trivial(&stmt.rhs) && !(self.is_assigned)(of.var) => {
                if let Rhs::Index(p) = &stmt.rhs {
                    self.visit_poly(&substitute_indices(p, &of.at), f);
                }
            }
            _ => f(NestAccess::Read(of), &self.enclosing_loops),
        }
    }

    fn visit_poly(&self, p: &Poly, f: &mut AccessCallback<'_>) {
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a
                && let Some(var) = StmtId::from_local(*x)
            {
                self.visit_access(&TensorAccess { var, at: at.to_vec() }, f);
            }
        });
    }

    fn visit_pred(&self, p: &Pred, f: &mut AccessCallback<'_>) {
        match p {
            Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| self.visit_pred(p, f)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => self.visit_poly(p, f),
            Pred::Element(x, _, at, _) | Pred::Member(x, _, at, _) => {
                if let Some(var) = StmtId::from_local(*x) {
                    self.visit_access(&TensorAccess { var, at: at.to_vec() }, f);
                }
            }
            Pred::Exists(_, body, _) => self.visit_pred(body, f),
        }
    }
}
