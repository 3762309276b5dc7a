//! **Loop bounds.** A condition on a loop's index that guards its whole body becomes a bound of the
//! loop. If an element is zero wherever its predicate fails, and its memory is zero initially, its
//! assignment is guarded by that predicate.

use std::collections::HashSet;

use super::kernel::{Loop, Node, Place, Role};
use lang_ir::ssa::{Rhs, Var};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// Moves bounds from predicates to loops. The loop-carried `states` must be set in each iteration,
/// so they are excluded.
pub(super) fn narrow(body: &mut [Node], places: &[Place], states: &HashSet<Var>) {
    let is_zero = |var: Var| places.iter().any(|p| p.var == var && p.role == Role::Made);
    let given: HashSet<Var> = places.iter().filter(|p| p.role == Role::Given).map(|p| p.var).collect();
    let registers: HashSet<Var> =
        places.iter().filter(|p| p.is_register() && !states.contains(&p.var)).map(|p| p.var).collect();
    body.iter_mut().for_each(|node| left_out(node, &is_zero));
    body.iter_mut().for_each(|node| narrow_node(node, &given, &registers));
    body.iter_mut().for_each(always);
}

/// What is asked of nothing stands without a question.
fn always(node: &mut Node) {
    match node {
        Node::If(p, body) if p.is_true() && body.len() == 1 => {
            if let Some(inner) = body.pop() {
                *node = inner;
                always(node);
            }
        }
        Node::Loop(Loop { body, .. }) | Node::Told { body, .. } | Node::If(_, body) => body.iter_mut().for_each(always),
        Node::Product(of) => of.body.iter_mut().for_each(always),
        Node::Clear(..) | Node::Set(_) => {}
    }
}

/// An element that is zero at first is set only where it may be another.
fn left_out(node: &mut Node, is_zero: &dyn Fn(Var) -> bool) {
    match node {
        Node::Loop(Loop { body, .. }) | Node::Told { body, .. } | Node::If(_, body) => {
            body.iter_mut().for_each(|node| left_out(node, is_zero));
        }
        Node::Product(of) => of.body.iter_mut().for_each(|node| left_out(node, is_zero)),
        Node::Clear(..) => {}
        Node::Set(set) => {
            if set.join.is_some() || !is_zero(set.var) {
                return;
            }
            let (Rhs::Contract { pred, .. } | Rhs::Map { pred, .. }) = &mut set.rhs else { return };
            if pred.is_true() || is_of_data(pred) {
                return;
            }
            let pred = std::mem::take(pred);
            *node = Node::If(pred, vec![node.clone()]);
        }
    }
}

/// Is it of truth values in arrays alone? No loop is shorter by it, and to set zeros is as cheap as to ask.
fn is_of_data(p: &Pred) -> bool {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().all(is_of_data),
        Pred::Is(..) => true,
        _ => false,
    }
}

fn narrow_node(node: &mut Node, given: &HashSet<Var>, registers: &HashSet<Var>) {
    match node {
        Node::Loop(Loop { index, from, to, body, .. }) => {
            let mut inner = HashSet::new();
            body.iter().for_each(|node| indices(node, &mut inner));
            let bounds = |p: &Pred| bound(p, &index.atom(), &inner, given);
            let common = asked(body, registers).unwrap_or_default();
            for p in common.iter().filter(|p| bounds(p).is_some()) {
                match bounds(p) {
                    Some(Bound::From(p)) => from.push(p),
                    Some(Bound::To(p)) => to.push(p),
                    Some(Bound::At(p)) => {
                        to.push(p.plus(1));
                        from.push(p);
                    }
                    None => {}
                }
                body.iter_mut().for_each(|node| without(node, p));
            }
            body.iter_mut().for_each(|node| narrow_node(node, given, registers));
        }
        Node::Told { body, .. } | Node::If(_, body) => {
            body.iter_mut().for_each(|node| narrow_node(node, given, registers));
        }
        Node::Product(of) => of.body.iter_mut().for_each(|node| narrow_node(node, given, registers)),
        Node::Clear(..) | Node::Set(_) => {}
    }
}

enum Bound {
    /// It is at least this.
    From(Poly),
    /// It is less than this.
    To(Poly),
    /// It is this.
    At(Poly),
}

/// A bound of an index by what is known outside its loop.
fn bound(p: &Pred, index: &Atom, inner: &HashSet<LocalId>, given: &HashSet<Var>) -> Option<Bound> {
    let (Pred::Ge(q) | Pred::Eq(q)) = p else { return None };
    let (c, rest) = q.linear_in(index)?;
    let mut known = true;
    rest.for_each_atom(&mut |a| match a {
        Atom::Local(l, _) => known &= !inner.contains(l),
        Atom::Read(x, ..) => known &= Var::of_local(*x).is_some_and(|v| given.contains(&v)),
        _ => {}
    });
    match c {
        1 if known && matches!(p, Pred::Eq(_)) => Some(Bound::At(rest.neg())),
        -1 if known && matches!(p, Pred::Eq(_)) => Some(Bound::At(rest)),
        1 if known => Some(Bound::From(rest.neg())),
        -1 if known => Some(Bound::To(rest.plus(1))),
        _ => None,
    }
}

/// The indices of the loops in it.
fn indices(node: &Node, found: &mut HashSet<LocalId>) {
    match node {
        Node::Loop(Loop { index, body, .. }) | Node::Told { index, body, .. } => {
            found.insert(index.local);
            body.iter().for_each(|node| indices(node, found));
        }
        Node::If(_, body) => body.iter().for_each(|node| indices(node, found)),
        Node::Product(of) => of.body.iter().for_each(|node| indices(node, found)),
        Node::Clear(..) | Node::Set(_) => {}
    }
}

/// What everything in it asks; `None` where nothing stands. What is set in a register, and not joined, is wanted where it
/// is read: in the same iteration, by what stands there.
fn asked(body: &[Node], registers: &HashSet<Var>) -> Option<Vec<Pred>> {
    let of = |node: &Node| match node {
        Node::Loop(Loop { body, .. }) | Node::Told { body, .. } => asked(body, registers),
        Node::If(p, body) => {
            let inside = asked(body, registers)?;
            Some(p.conjuncts().iter().cloned().chain(inside).collect())
        }
        Node::Set(set) if set.join.is_none() && registers.contains(&set.var) => None,
        Node::Product(_) | Node::Clear(..) | Node::Set(_) => Some(Vec::new()),
    };
    let both = |a: Vec<Pred>, b: Vec<Pred>| a.into_iter().filter(|p| b.contains(p)).collect();
    body.iter().filter_map(of).reduce(both)
}

/// Without a predicate that holds anyway.
fn without(node: &mut Node, p: &Pred) {
    match node {
        Node::Loop(Loop { body, .. }) | Node::Told { body, .. } => body.iter_mut().for_each(|node| without(node, p)),
        Node::If(q, body) => {
            *q = Pred::all(q.conjuncts().iter().filter(|q| *q != p).cloned());
            body.iter_mut().for_each(|node| without(node, p));
        }
        Node::Product(_) | Node::Clear(..) | Node::Set(_) => {}
    }
}
