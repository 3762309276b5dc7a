//! **Loop bounds.** A condition on a loop's index that guards its whole body becomes a bound of the
//! loop. If an element is zero wherever its predicate fails, and its memory is zero initially, its
//! assignment is guarded by that predicate.

use std::collections::HashSet;

use super::loop_nest::{KernelStorage, NestLoop, NestNode, StorageRole};
use lang_ir::ssa::{Rhs, StmtId};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// Moves bounds from predicates to loops. The loop-carried `states` must be set in each iteration,
/// so they are excluded.
pub(super) fn tighten_loop_bounds(body: &mut [NestNode], places: &[KernelStorage], states: &HashSet<StmtId>) {
    let is_zero = |var: StmtId| places.iter().any(|p| p.var == var && p.role == StorageRole::Output);
    let inputs: HashSet<StmtId> = places.iter().filter(|p| p.role == StorageRole::Input).map(|p| p.var).collect();
    let registers: HashSet<StmtId> =
        places.iter().filter(|p| p.is_register() && !states.contains(&p.var)).map(|p| p.var).collect();
    body.iter_mut().for_each(|node| guard_zero_assignments(node, &is_zero));
    body.iter_mut().for_each(|node| tighten_node(node, &inputs, &registers));
    body.iter_mut().for_each(remove_true_guards);
}

/// Removes guards that are always true.
fn remove_true_guards(node: &mut NestNode) {
    match node {
        NestNode::If(p, body) if p.is_true() && body.len() == 1 => {
            if let Some(inner) = body.pop() {
                *node = inner;
                remove_true_guards(node);
            }
        }
        NestNode::Loop(NestLoop { body, .. }) | NestNode::Let { body, .. } | NestNode::If(_, body) => {
            body.iter_mut().for_each(remove_true_guards)
        }
        NestNode::MatrixProduct(of) => of.fallback_loops.iter_mut().for_each(remove_true_guards),
        NestNode::Fill(..) | NestNode::Assign(_) => {}
    }
}

/// Guards an assignment by the predicate of its value, if the element is initially zero.
fn guard_zero_assignments(node: &mut NestNode, is_zero: &dyn Fn(StmtId) -> bool) {
    match node {
        NestNode::Loop(NestLoop { body, .. }) | NestNode::Let { body, .. } | NestNode::If(_, body) => {
            body.iter_mut().for_each(|node| guard_zero_assignments(node, is_zero));
        }
        NestNode::MatrixProduct(of) => {
            of.fallback_loops.iter_mut().for_each(|node| guard_zero_assignments(node, is_zero))
        }
        NestNode::Fill(..) => {}
        NestNode::Assign(set) => {
            if set.accumulate.is_some() || !is_zero(set.var) {
                return;
            }
            let (Rhs::Contract { pred, .. } | Rhs::Map { pred, .. }) = &mut set.rhs else { return };
            if pred.is_true() || is_data_guard(pred) {
                return;
            }
            let pred = std::mem::take(pred);
            *node = NestNode::If(pred, vec![node.clone()]);
        }
    }
}

/// Returns whether the predicate consists of elements of arrays alone. Such a guard bounds no loop,
/// and testing it costs as much as assigning zero.
fn is_data_guard(p: &Pred) -> bool {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().all(is_data_guard),
        Pred::Element(..) => true,
        _ => false,
    }
}

fn tighten_node(node: &mut NestNode, inputs: &HashSet<StmtId>, registers: &HashSet<StmtId>) {
    match node {
        NestNode::Loop(NestLoop { index, lower_bounds: from, upper_bounds: to, body, .. }) => {
            let mut inner = HashSet::new();
            body.iter().for_each(|node| collect_loop_indices(node, &mut inner));
            let bounds = |p: &Pred| index_bound(p, &index.atom(), &inner, inputs);
            let common = common_guards(body, registers).unwrap_or_default();
            for p in common.iter().filter(|p| bounds(p).is_some()) {
                match bounds(p) {
                    Some(IndexBound::Lower(p)) => from.push(p),
                    Some(IndexBound::Upper(p)) => to.push(p),
                    Some(IndexBound::Exact(p)) => {
                        to.push(p.add_constant(1));
                        from.push(p);
                    }
                    None => {}
                }
                body.iter_mut().for_each(|node| remove_guard(node, p));
            }
            body.iter_mut().for_each(|node| tighten_node(node, inputs, registers));
        }
        NestNode::Let { body, .. } | NestNode::If(_, body) => {
            body.iter_mut().for_each(|node| tighten_node(node, inputs, registers));
        }
        NestNode::MatrixProduct(of) => {
            of.fallback_loops.iter_mut().for_each(|node| tighten_node(node, inputs, registers))
        }
        NestNode::Fill(..) | NestNode::Assign(_) => {}
    }
}

enum IndexBound {
    /// An inclusive lower bound.
    Lower(Poly),
    /// An exclusive upper bound.
    Upper(Poly),
    /// The only value.
    Exact(Poly),
}

/// Returns the bound that a predicate imposes on the index, if its value is known outside the loop.
fn index_bound(p: &Pred, index: &Atom, inner: &HashSet<LocalId>, inputs: &HashSet<StmtId>) -> Option<IndexBound> {
    let (Pred::Ge(q) | Pred::Eq(q)) = p else { return None };
    let (c, rest) = q.linear_in(index)?;
    let mut known = true;
    rest.for_each_atom(&mut |a| match a {
        Atom::Local(l, _) => known &= !inner.contains(l),
        Atom::Read(x, ..) => known &= StmtId::from_local(*x).is_some_and(|v| inputs.contains(&v)),
        _ => {}
    });
    match c {
        1 if known && matches!(p, Pred::Eq(_)) => Some(IndexBound::Exact(rest.neg())),
        -1 if known && matches!(p, Pred::Eq(_)) => Some(IndexBound::Exact(rest)),
        1 if known => Some(IndexBound::Lower(rest.neg())),
        -1 if known => Some(IndexBound::Upper(rest.add_constant(1))),
        _ => None,
    }
}

/// Collects the indices of the loops in the node.
fn collect_loop_indices(node: &NestNode, found: &mut HashSet<LocalId>) {
    match node {
        NestNode::Loop(NestLoop { index, body, .. }) | NestNode::Let { index, body, .. } => {
            found.insert(index.local);
            body.iter().for_each(|node| collect_loop_indices(node, found));
        }
        NestNode::If(_, body) => body.iter().for_each(|node| collect_loop_indices(node, found)),
        NestNode::MatrixProduct(of) => of.fallback_loops.iter().for_each(|node| collect_loop_indices(node, found)),
        NestNode::Fill(..) | NestNode::Assign(_) => {}
    }
}

/// Returns the conjuncts that guard all nodes of the body; `None` if it contains no relevant node.
/// A plain assignment to a register is irrelevant, because only the same iteration reads it.
fn common_guards(body: &[NestNode], registers: &HashSet<StmtId>) -> Option<Vec<Pred>> {
    let of = |node: &NestNode| match node {
        NestNode::Loop(NestLoop { body, .. }) | NestNode::Let { body, .. } => common_guards(body, registers),
        NestNode::If(p, body) => {
            let inside = common_guards(body, registers)?;
            Some(p.conjuncts().iter().cloned().chain(inside).collect())
        }
        NestNode::Assign(set) if set.accumulate.is_none() && registers.contains(&set.var) => None,
        NestNode::MatrixProduct(_) | NestNode::Fill(..) | NestNode::Assign(_) => Some(Vec::new()),
    };
    let both = |a: Vec<Pred>, b: Vec<Pred>| a.into_iter().filter(|p| b.contains(p)).collect();
    body.iter().filter_map(of).reduce(both)
}

/// Removes a conjunct that the loop bounds imply.
fn remove_guard(node: &mut NestNode, p: &Pred) {
    match node {
        NestNode::Loop(NestLoop { body, .. }) | NestNode::Let { body, .. } => {
            body.iter_mut().for_each(|node| remove_guard(node, p))
        }
        NestNode::If(q, body) => {
            *q = Pred::all(q.conjuncts().iter().filter(|q| *q != p).cloned());
            body.iter_mut().for_each(|node| remove_guard(node, p));
        }
        NestNode::MatrixProduct(_) | NestNode::Fill(..) | NestNode::Assign(_) => {}
    }
}
