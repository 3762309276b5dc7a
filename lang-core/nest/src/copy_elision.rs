//! **Copy elision for loop-carried state.** A flattened loop copies its state at the start of each
//! iteration. The copy is removed, and its readers read the state itself, if this is safe. All
//! reads must precede the assignment to the state, or be at the assigned element.

use std::collections::HashSet;

use super::loop_nest::{NestLoop, NestNode};
use super::use_def::{AccessVisitor, NestAccess};
use lang_ir::ssa::{SsaFunction, StmtId, TensorAccess};
use lang_sizes::predicate::{Index, Poly, Pred};

/// A state, its copy, and the index of the copy that numbers the iterations.
pub(super) type StateCopy = (StmtId, StmtId, usize);

/// Removes the copies that are not needed; those in `read_later` are.
pub(super) fn elide_copies(
    ssa: &SsaFunction,
    body: &mut [NestNode],
    states: &[StateCopy],
    read_later: &HashSet<StmtId>,
) {
    let set: HashSet<StmtId> = super::assigned_vars(body).into_iter().collect();
    let reads = KernelReads { ssa, assigned: &set };
    for copied @ (_, copy, _) in states.iter().filter(|(_, copy, _)| !read_later.contains(copy)) {
        let all = reads.count_element_reads(body, *copy);
        body.iter_mut().for_each(|node| reads.elide_in_node(node, copied, all));
    }
}

/// The reads of a kernel.
struct KernelReads<'r> {
    ssa: &'r SsaFunction,
    /// The variables that nodes set. Others are inlined or inputs.
    assigned: &'r HashSet<StmtId>,
}

impl KernelReads<'_> {
    fn elide_in_node(&self, node: &mut NestNode, of: &StateCopy, all: Option<usize>) {
        match node {
            NestNode::Loop(NestLoop { index, is_sequential: true, body, .. }) if assigns(body, of.1) => {
                let number = index.clone();
                // Readers outside this loop, or other than assignments, need the copy.
                if all.is_some() && self.count_element_reads(body, of.1) == all && self.can_elide(body, of, &number) {
                    replace_copy(body, of);
                }
            }
            NestNode::Loop(NestLoop { body, .. }) | NestNode::Let { body, .. } | NestNode::If(_, body) => {
                body.iter_mut().for_each(|node| self.elide_in_node(node, of, all));
            }
            NestNode::MatrixProduct(_) | NestNode::Fill(..) | NestNode::Assign(_) => {}
        }
    }

    /// Counts the assignments' reads of a variable. Returns `None` if an index, a bound, a
    /// predicate or a matrix product reads it too.
    fn count_element_reads(&self, body: &[NestNode], var: StmtId) -> Option<usize> {
        let (mut elements, mut all) = (0, 0);
        for node in body {
            node.for_each_assignment(&mut |set| {
                set.rhs.for_each_access(&mut |a| elements += usize::from(a.var == var))
            });
        }
        let is_set = |var: StmtId| self.assigned.contains(&var);
        let mut see =
            |seen: NestAccess<'_>, _: &[_]| all += usize::from(matches!(seen, NestAccess::Read(of) if of.var == var));
        AccessVisitor { ssa: self.ssa, is_assigned: &is_set, enclosing_loops: Vec::new() }.visit_nodes(body, &mut see);
        (elements == all).then_some(all)
    }

    /// Returns whether the assignment to the state follows all reads of the copy, or is in the same
    /// node.
    fn can_elide(&self, body: &[NestNode], (state, copy, axis): &StateCopy, number: &Index) -> bool {
        let Some(place) = body.iter().position(|node| assigns(std::slice::from_ref(node), *state)) else {
            return false;
        };
        let (before, rest) = body.split_at(place);
        let Some((here, after)) = rest.split_first() else { return false };
        let mut now = true;
        body.iter().for_each(|node| {
            node.for_each_assignment(&mut |set| {
                set.rhs.for_each_access(&mut |a| {
                    now &= a.var != *copy || a.at.get(*axis) == Some(&number.value());
                });
            });
        });
        now && !assigns(before, *state)
            && !assigns(after, *state)
            && self.count_element_reads(after, *copy) == Some(0)
            && self.can_elide_in_node(here, (*state, *copy, *axis))
    }

    /// Returns the same for the node that sets the state. Beside that assignment, and not after it,
    /// the copy may be read at the same element.
    fn can_elide_in_node(&self, node: &NestNode, (state, copy, axis): StateCopy) -> bool {
        let NestNode::Loop(NestLoop { body, .. }) = node else { return false };
        let Some(place) = body.iter().position(|node| matches!(node, NestNode::Assign(set) if set.var == state)) else {
            let [one] = body.as_slice() else { return false };
            return self.can_elide_in_node(one, (state, copy, axis));
        };
        let Some(NestNode::Assign(own)) = body.get(place) else { return false };
        body.iter().enumerate().all(|(k, node)| match node {
            NestNode::Assign(set) => {
                let mut free = true;
                set.rhs.for_each_access(&mut |a| {
                    let at = without_axis(&a.at, axis);
                    free &= a.var != copy || k <= place && at == own.at;
                });
                free
            }
            other => self.count_element_reads(std::slice::from_ref(other), copy) == Some(0),
        })
    }
}

fn assigns(body: &[NestNode], var: StmtId) -> bool {
    let mut found = false;
    body.iter().for_each(|node| node.for_each_assignment(&mut |set| found |= set.var == var));
    found
}

fn without_axis(at: &[Poly], axis: usize) -> Vec<Poly> {
    at.iter().enumerate().filter(|(k, _)| *k != axis).map(|(_, p)| p.clone()).collect()
}

fn replace_copy(body: &mut Vec<NestNode>, of: &StateCopy) {
    let (state, copy, axis) = *of;
    body.retain_mut(|node| match node {
        NestNode::Assign(set) if set.var == copy => false,
        NestNode::Assign(set) => {
            let mut access = |a: &TensorAccess| match a.var == copy {
                true => TensorAccess { var: state, at: without_axis(&a.at, axis) },
                false => a.clone(),
            };
            set.rhs = set.rhs.map(&mut access, &Poly::clone, &Pred::clone);
            true
        }
        NestNode::Loop(NestLoop { body, .. }) | NestNode::Let { body, .. } | NestNode::If(_, body) => {
            replace_copy(body, of);
            !body.is_empty()
        }
        NestNode::MatrixProduct(_) | NestNode::Fill(..) => true,
    });
}
