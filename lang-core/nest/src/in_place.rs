//! **Copy elision for loop-carried state.** A flattened loop copies its state at the start of each
//! iteration. The copy is removed, and its readers read the state itself, if this is safe. All
//! reads must precede the assignment to the state, or be at the assigned element.

use std::collections::HashSet;

use super::kernel::{Loop, Node};
use super::visit::{Seen, Visit};
use lang_ir::ssa::{Access, Ssa, Var};
use lang_sizes::predicate::{Index, Poly, Pred};

/// A state, its copy, and the index of the copy that numbers the iterations.
pub(super) type Copied = (Var, Var, usize);

/// Removes the copies that are not needed; those in `read_later` are.
pub(super) fn in_place(ssa: &Ssa, body: &mut [Node], states: &[Copied], read_later: &HashSet<Var>) {
    let set: HashSet<Var> = super::sets(body).into_iter().collect();
    let reads = Reads { ssa, set: &set };
    for copied @ (_, copy, _) in states.iter().filter(|(_, copy, _)| !read_later.contains(copy)) {
        let all = reads.of(body, *copy);
        body.iter_mut().for_each(|node| reads.within(node, copied, all));
    }
}

/// What reads what in a kernel.
struct Reads<'r> {
    ssa: &'r Ssa,
    /// What nodes set. Anything else is written where it is read.
    set: &'r HashSet<Var>,
}

impl Reads<'_> {
    fn within(&self, node: &mut Node, of: &Copied, all: Option<usize>) {
        match node {
            Node::Loop(Loop { index, in_order: true, body, .. }) if sets(body, of.1) => {
                let number = index.clone();
                // What reads it outside, or asks for it, needs it there.
                if all.is_some() && self.of(body, of.1) == all && self.is_free(body, of, &number) {
                    replace(body, of);
                }
            }
            Node::Loop(Loop { body, .. }) | Node::Told { body, .. } | Node::If(_, body) => {
                body.iter_mut().for_each(|node| self.within(node, of, all));
            }
            Node::Product(_) | Node::Clear(..) | Node::Set(_) => {}
        }
    }

    /// How often what is set is made of elements of it; `None` if it is read in another way too: by an index, a range, a
    /// question, a product of matrices.
    fn of(&self, body: &[Node], var: Var) -> Option<usize> {
        let (mut elements, mut all) = (0, 0);
        for node in body {
            node.for_each_set(&mut |set| set.rhs.for_each_access(&mut |a| elements += usize::from(a.var == var)));
        }
        let is_set = |var: Var| self.set.contains(&var);
        let mut see = |seen: Seen<'_>, _: &[_]| all += usize::from(matches!(seen, Seen::Read(of) if of.var == var));
        Visit { ssa: self.ssa, is_set: &is_set, path: Vec::new() }.nodes(body, &mut see);
        (elements == all).then_some(all)
    }

    /// Is the state set behind all that reads the copy, or right there?
    fn is_free(&self, body: &[Node], (state, copy, axis): &Copied, number: &Index) -> bool {
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
            && self.of(after, *copy) == Some(0)
            && self.is_free_at(here, (*state, *copy, *axis))
    }

    /// The same in the node that sets the state: the copy is read beside it alone, at the same element, not after it.
    fn is_free_at(&self, node: &Node, (state, copy, axis): Copied) -> bool {
        let Node::Loop(Loop { body, .. }) = node else { return false };
        let Some(place) = body.iter().position(|node| matches!(node, Node::Set(set) if set.var == state)) else {
            let [one] = body.as_slice() else { return false };
            return self.is_free_at(one, (state, copy, axis));
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
            other => self.of(std::slice::from_ref(other), copy) == Some(0),
        })
    }
}

fn sets(body: &[Node], var: Var) -> bool {
    let mut found = false;
    body.iter().for_each(|node| node.for_each_set(&mut |set| found |= set.var == var));
    found
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
