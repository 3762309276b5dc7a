//! **Single-trip loops.** Replaces a loop that runs once by its body, with the index substituted.
//! This includes loops around innermost ones, which a backend vectorises.

use super::kernel::{Loop, Node, Set};
use lang_ir::ssa::Access;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};

/// Replaces the single-trip loops of a kernel.
pub(super) fn once(body: &mut Vec<Node>) {
    for node in std::mem::take(body) {
        match node {
            Node::Loop(mut of) => {
                once(&mut of.body);
                match value(&of).filter(|_| !of.in_order && of.body.iter().all(can_be_put)) {
                    Some(value) => body.extend(of.body.iter().map(|node| put(node, &of.index.atom(), &value))),
                    None => body.push(Node::Loop(of)),
                }
            }
            Node::Told { index, value, body: mut inner } => {
                once(&mut inner);
                body.push(Node::Told { index, value, body: inner });
            }
            Node::If(pred, mut inner) => {
                once(&mut inner);
                body.push(Node::If(pred, inner));
            }
            other => body.push(other),
        }
    }
}

/// The one index of a loop that runs once.
fn value(of: &Loop) -> Option<Poly> {
    let whole = |p: &Poly| p.as_constant();
    let from = of.from.iter().map(whole).try_fold(0, |most, p| Some(p?.max(most)))?;
    let to = of.to.iter().map(whole).try_fold(whole(&of.index.extent)?, |least, p| Some(p?.min(least)))?;
    (to.checked_sub(from)? == 1).then(|| Poly::constant(from))
}

/// Products of matrices keep their indices.
fn can_be_put(node: &Node) -> bool {
    match node {
        Node::Loop(Loop { body, .. }) | Node::Told { body, .. } | Node::If(_, body) => body.iter().all(can_be_put),
        Node::Product(_) => false,
        Node::Clear(..) | Node::Set(_) => true,
    }
}

/// A node where an index has a value.
fn put(node: &Node, index: &Atom, value: &Poly) -> Node {
    let poly = |p: &Poly| p.substitute(&|a| (a == index).then(|| value.clone()));
    let pred = |p: &Pred| p.map(&poly);
    let access = |of: &Access| Access { var: of.var, at: of.at.iter().map(poly).collect() };
    let all = |body: &[Node]| body.iter().map(|node| put(node, index, value)).collect();
    match node {
        Node::Loop(of) => Node::Loop(Loop {
            index: Index { extent: poly(&of.index.extent), ..of.index.clone() },
            from: of.from.iter().map(poly).collect(),
            to: of.to.iter().map(poly).collect(),
            in_order: of.in_order,
            goes_on: of.goes_on.as_ref().map(access),
            body: all(&of.body),
        }),
        Node::Told { index: own, value: told, body } => {
            Node::Told { index: own.clone(), value: poly(told), body: all(body) }
        }
        Node::If(p, body) => Node::If(pred(p), all(body)),
        Node::Product(_) => node.clone(),
        Node::Clear(var, at, with) => Node::Clear(*var, at.iter().map(|p| p.as_ref().map(poly)).collect(), *with),
        Node::Set(set) => {
            let access = &mut |of: &Access| access(of);
            let at = set.at.iter().map(poly).collect();
            Node::Set(Set { at, rhs: set.rhs.map(access, &poly, &pred), ..set.clone() })
        }
    }
}
