//! **Single-trip loops.** Replaces a loop that runs once by its body, with the index substituted.
//! This includes loops around innermost ones, which a backend vectorises.

use super::loop_nest::{Assignment, NestLoop, NestNode};
use lang_ir::ssa::TensorAccess;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};

/// Replaces the single-trip loops of a kernel.
pub(super) fn inline_single_trip_loops(body: &mut Vec<NestNode>) {
    for node in std::mem::take(body) {
        match node {
            NestNode::Loop(mut of) => {
                inline_single_trip_loops(&mut of.body);
                match single_index_value(&of).filter(|_| !of.is_sequential && of.body.iter().all(can_substitute_index))
                {
                    Some(value) => {
                        body.extend(of.body.iter().map(|node| substitute_index(node, &of.index.atom(), &value)))
                    }
                    None => body.push(NestNode::Loop(of)),
                }
            }
            NestNode::Let { index, value, body: mut inner } => {
                inline_single_trip_loops(&mut inner);
                body.push(NestNode::Let { index, value, body: inner });
            }
            NestNode::If(pred, mut inner) => {
                inline_single_trip_loops(&mut inner);
                body.push(NestNode::If(pred, inner));
            }
            other => body.push(other),
        }
    }
}

/// Returns the index of the only iteration, if the loop runs once.
fn single_index_value(of: &NestLoop) -> Option<Poly> {
    let whole = |p: &Poly| p.as_constant();
    let from = of.lower_bounds.iter().map(whole).try_fold(0, |most, p| Some(p?.max(most)))?;
    let to = of.upper_bounds.iter().map(whole).try_fold(whole(&of.index.extent)?, |least, p| Some(p?.min(least)))?;
    (to.checked_sub(from)? == 1).then(|| Poly::constant(from))
}

/// Returns whether the index can be substituted in the node. Matrix products need their indices.
fn can_substitute_index(node: &NestNode) -> bool {
    match node {
        NestNode::Loop(NestLoop { body, .. }) | NestNode::Let { body, .. } | NestNode::If(_, body) => {
            body.iter().all(can_substitute_index)
        }
        NestNode::MatrixProduct(_) => false,
        NestNode::Fill(..) | NestNode::Assign(_) => true,
    }
}

/// Substitutes a value for an index in a node.
fn substitute_index(node: &NestNode, index: &Atom, value: &Poly) -> NestNode {
    let poly = |p: &Poly| p.substitute(&|a| (a == index).then(|| value.clone()));
    let pred = |p: &Pred| p.map(&poly);
    let access = |of: &TensorAccess| TensorAccess { var: of.var, at: of.at.iter().map(poly).collect() };
    let all = |body: &[NestNode]| body.iter().map(|node| substitute_index(node, index, value)).collect();
    match node {
        NestNode::Loop(of) => NestNode::Loop(NestLoop {
            index: Index { extent: poly(&of.index.extent), ..of.index.clone() },
            lower_bounds: of.lower_bounds.iter().map(poly).collect(),
            upper_bounds: of.upper_bounds.iter().map(poly).collect(),
            is_sequential: of.is_sequential,
            while_condition: of.while_condition.as_ref().map(access),
            body: all(&of.body),
        }),
        NestNode::Let { index: own, value: bound_value, body } => {
            NestNode::Let { index: own.clone(), value: poly(bound_value), body: all(body) }
        }
        NestNode::If(p, body) => NestNode::If(pred(p), all(body)),
        NestNode::MatrixProduct(_) => node.clone(),
        NestNode::Fill(var, at, with) => NestNode::Fill(*var, at.iter().map(|p| p.as_ref().map(poly)).collect(), *with),
        NestNode::Assign(set) => {
            let access = &mut |of: &TensorAccess| access(of);
            let at = set.at.iter().map(poly).collect();
            NestNode::Assign(Assignment { at, rhs: set.rhs.map(access, &poly, &pred), ..set.clone() })
        }
    }
}
