//! **Predicates on kernel nodes** for [`super`]: parallel nests, reads of a statement, and
//! assignments without effect.

use crate::loop_nest::{Assignment, Kernel, NestNode};
use crate::use_def::{AccessVisitor, NestAccess};
use lang_ir::ssa::{Rhs, SsaFunction, StmtId, TensorAccess};
use lang_sizes::predicate::{Atom, Poly, Pred};

/// Returns whether the node is an unordered loop over loops, which threads can share.
pub(super) fn is_parallel_nest(node: &NestNode) -> bool {
    let NestNode::Loop(of) = node else { return false };
    !of.is_sequential && of.body.iter().any(|node| matches!(node, NestNode::Loop(_)))
}

/// Returns how often a kernel reads elements of a statement.
pub(super) fn count_reads(ssa: &SsaFunction, kernel: &Kernel, var: StmtId) -> usize {
    let mut count = 0;
    let is_set = |v: StmtId| kernel.assigned.contains(&v);
    AccessVisitor { ssa, is_assigned: &is_set, enclosing_loops: Vec::new() }.visit_nodes(
        &kernel.body,
        &mut |seen, _| {
            count += usize::from(matches!(seen, NestAccess::Read(of) if of.var == var));
        },
    );
    count
}

/// Returns the integer that an access reads, as a polynomial.
pub(super) fn element_poly(of: &TensorAccess) -> Poly {
    Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.clone().into()))
}

/// Returns the right-hand side of a statement that only nodes set.
pub(super) fn placeholder_rhs() -> Rhs {
    Rhs::Contract { bound: Vec::new(), pred: Pred::falsity(), neg: false, factors: Vec::new() }
}

/// Returns whether the assignment copies an element to itself.
pub(super) fn is_self_copy(set: &Assignment) -> bool {
    let Rhs::Contract { bound, pred, neg: false, factors } = &set.rhs else { return false };
    let itself = |f: &TensorAccess| f.var == set.var && f.at == set.at;
    bound.is_empty() && pred.is_true() && set.accumulate.is_none() && matches!(factors.as_slice(), [one] if itself(one))
}
