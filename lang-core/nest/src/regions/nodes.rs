//! **Predicates on kernel nodes** for [`super`]: parallel nests, reads of a statement, and
//! assignments without effect.

use crate::kernel::{Kernel, Node, Set};
use crate::visit::{Seen, Visit};
use lang_ir::ssa::{Access, Rhs, Ssa, Var};
use lang_sizes::predicate::{Atom, Poly, Pred};

/// Returns whether the node is an unordered loop over loops, which threads can share.
pub(super) fn is_shared(node: &Node) -> bool {
    let Node::Loop(of) = node else { return false };
    !of.in_order && of.body.iter().any(|node| matches!(node, Node::Loop(_)))
}

/// Returns how often a kernel reads elements of a statement.
pub(super) fn reads_of(ssa: &Ssa, kernel: &Kernel, var: Var) -> usize {
    let mut count = 0;
    let is_set = |v: Var| kernel.sets.contains(&v);
    Visit { ssa, is_set: &is_set, path: Vec::new() }.nodes(&kernel.body, &mut |seen, _| {
        count += usize::from(matches!(seen, Seen::Read(of) if of.var == var));
    });
    count
}

/// Returns the integer that an access reads, as a polynomial.
pub(super) fn read(of: &Access) -> Poly {
    Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.clone().into()))
}

/// Returns the right-hand side of a statement that only nodes set.
pub(super) fn by_nodes() -> Rhs {
    Rhs::Contract { bound: Vec::new(), pred: Pred::falsity(), neg: false, factors: Vec::new() }
}

/// Returns whether the assignment copies an element to itself.
pub(super) fn is_same(set: &Set) -> bool {
    let Rhs::Contract { bound, pred, neg: false, factors } = &set.rhs else { return false };
    let itself = |f: &Access| f.var == set.var && f.at == set.at;
    bound.is_empty() && pred.is_true() && set.join.is_none() && matches!(factors.as_slice(), [one] if itself(one))
}
