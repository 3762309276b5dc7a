//! What a loop carries without a copy for each iteration: where it is set when all that reads the copy is done, or at the
//! element that is read, the copy's readers read the state itself.

use std::collections::HashSet;

use super::kernel::{Loop, Node, Set};
use crate::ir::ssa::{Access, Var};
use crate::predicate::{Atom, Index, Poly, Pred};

/// A state, its copy, and which index of the copy the number of the iteration is.
pub(super) type Copied = (Var, Var, usize);

/// Takes out copies that nothing needs; those that are `read_later` are needed.
pub(super) fn in_place(body: &mut [Node], states: &[Copied], read_later: &HashSet<Var>) {
    for copied @ (_, copy, _) in states.iter().filter(|(_, copy, _)| !read_later.contains(copy)) {
        let all = reads_of(body, *copy);
        body.iter_mut().for_each(|node| within(node, copied, all));
    }
}

fn within(node: &mut Node, of: &Copied, all: Option<usize>) {
    match node {
        Node::Loop(Loop { index, in_order: true, body, .. }) if sets(body, of.1) => {
            let number = index.clone();
            // What reads it outside, or asks for it, needs it there.
            if all.is_some() && reads_of(body, of.1) == all && is_free(body, of, &number) {
                replace(body, of);
            }
        }
        Node::Loop(Loop { body, .. }) | Node::Told { body, .. } | Node::If(_, body) => {
            body.iter_mut().for_each(|node| within(node, of, all));
        }
        Node::Product(_) | Node::Clear(..) | Node::Set(_) => {}
    }
}

fn sets(body: &[Node], var: Var) -> bool {
    let mut found = false;
    body.iter().for_each(|node| node.for_each_set(&mut |set| found |= set.var == var));
    found
}

/// How often elements of it are read; `None` if it is read in another way too.
fn reads_of(body: &[Node], var: Var) -> Option<usize> {
    let mut count = 0;
    let mut plain = true;
    let asks = |p: &Poly| {
        let mut found = false;
        p.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(x, ..) if *x == var.local()));
        found
    };
    let asked = |p: &Pred| {
        let found = std::cell::Cell::new(false);
        let see = |is: bool| found.set(found.get() || is);
        p.visit(&mut |p| see(asks(p)), &mut |x| see(x == var.local()));
        found.get()
    };
    for node in body {
        node.for_each_set(&mut |Set { rhs, at, .. }| {
            rhs.for_each_access(&mut |a| count += usize::from(a.var == var));
            rhs.for_each_poly(&mut |p| plain &= !asks(p));
            rhs.for_each_pred(&mut |p| plain &= !asked(p));
            plain &= !at.iter().any(asks);
        });
        plain &= is_plain(node, var, &asks, &asked);
    }
    plain.then_some(count)
}

/// Is it asked for by no range and no question, and no factor of a product of matrices?
fn is_plain(node: &Node, var: Var, asks: &dyn Fn(&Poly) -> bool, asked: &dyn Fn(&Pred) -> bool) -> bool {
    let all = |body: &[Node]| body.iter().all(|node| is_plain(node, var, asks, asked));
    match node {
        Node::Loop(Loop { from, to, body, .. }) => !from.iter().chain(to).any(asks) && all(body),
        Node::Told { value, body, .. } => !asks(value) && all(body),
        Node::If(p, body) => !asked(p) && all(body),
        Node::Product(of) => of.factors.iter().all(|f| f.var != var) && reads_of(&of.body, var) == Some(0),
        Node::Clear(..) | Node::Set(_) => true,
    }
}

/// Is the state set behind all that reads the copy, or right there?
fn is_free(body: &[Node], (state, copy, axis): &Copied, number: &Index) -> bool {
    let Some(place) = body.iter().position(|node| sets(std::slice::from_ref(node), *state)) else { return false };
    let (before, rest) = body.split_at(place);
    let Some((here, after)) = rest.split_first() else { return false };
    let mut now = true;
    body.iter().for_each(|node| {
        node.for_each_set(&mut |set| {
            set.rhs.for_each_access(&mut |a| {
                now &= a.var != *copy || a.at.get(*axis) == Some(&number.value());
            });
        });
    });
    now && !sets(before, *state)
        && !sets(after, *state)
        && reads_of(after, *copy) == Some(0)
        && is_free_at(here, (*state, *copy, *axis))
}

/// The same in the node that sets the state: the copy is read beside it alone, at the same element, not after it.
fn is_free_at(node: &Node, (state, copy, axis): Copied) -> bool {
    let Node::Loop(Loop { body, .. }) = node else { return false };
    let Some(place) = body.iter().position(|node| matches!(node, Node::Set(set) if set.var == state)) else {
        let [one] = body.as_slice() else { return false };
        return is_free_at(one, (state, copy, axis));
    };
    let Some(Node::Set(own)) = body.get(place) else { return false };
    body.iter().enumerate().all(|(k, node)| match node {
        Node::Set(set) => {
            let mut free = true;
            set.rhs.for_each_access(&mut |a| {
                let at = without(&a.at, axis);
                free &= a.var != copy || k <= place && at == own.at;
            });
            free
        }
        other => reads_of(std::slice::from_ref(other), copy) == Some(0),
    })
}

fn without(at: &[Poly], axis: usize) -> Vec<Poly> {
    at.iter().enumerate().filter(|(k, _)| *k != axis).map(|(_, p)| p.clone()).collect()
}

fn replace(body: &mut Vec<Node>, of: &Copied) {
    let (state, copy, axis) = *of;
    body.retain_mut(|node| match node {
        Node::Set(set) if set.var == copy => false,
        Node::Set(set) => {
            let mut access = |a: &Access| match a.var == copy {
                true => Access { var: state, at: without(&a.at, axis) },
                false => a.clone(),
            };
            set.rhs = set.rhs.map(&mut access, &Poly::clone, &Pred::clone);
            true
        }
        Node::Loop(Loop { body, .. }) | Node::Told { body, .. } | Node::If(_, body) => {
            replace(body, of);
            !body.is_empty()
        }
        Node::Product(_) | Node::Clear(..) => true,
    });
}
