//! **Index-set splitting.** Splits an innermost loop at the values of its index where a predicate
//! changes, as in `[i == 0] · a + [i != 0] · b`. Predicates that are then constant are removed from
//! each piece. Loops over a few elements are split around other loops too.

use super::loop_nest::{Assignment, NestLoop, NestNode};
use lang_ir::ssa::{Addend, Rhs, SsaFunction};
use lang_sizes::predicate::{Atom, ContextMark, FactContext, Index, LocalId, Poly, Pred};

/// The maximum number of pieces of a loop.
const MAX_PIECES: usize = 4;
/// The maximum number of statements in a loop that is split.
const MAX_SPLIT_STMTS: usize = 24;

/// The maximum extent of a loop that may be split at every element.
const MAX_SHORT_EXTENT: i128 = 12;

/// Splits the innermost loops of a kernel.
pub(super) fn split_index_sets(ssa: &SsaFunction, body: &mut Vec<NestNode>) {
    let sizes: Vec<Poly> = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
    split_nodes(body, &mut FactContext::new(&sizes));
}

fn split_nodes(body: &mut Vec<NestNode>, context: &mut FactContext) {
    for node in std::mem::take(body) {
        match node {
            NestNode::Loop(of) => {
                if let Some(pieces) = split_loop(&of, context) {
                    for mut piece in pieces {
                        let mark = assume_loop_bounds(context, &piece);
                        split_nodes(&mut piece.body, context);
                        context.release(mark);
                        body.push(NestNode::Loop(piece));
                    }
                    continue;
                }
                let mut of = of;
                let mark = assume_loop_bounds(context, &of);
                split_nodes(&mut of.body, context);
                context.release(mark);
                body.push(NestNode::Loop(of));
            }
            NestNode::Let { index, value, body: mut inner } => {
                let mark = context.mark();
                context.assume_in_range(&index);
                split_nodes(&mut inner, context);
                context.release(mark);
                body.push(NestNode::Let { index, value, body: inner });
            }
            NestNode::If(p, mut inner) => {
                let mark = context.mark();
                context.assume(&p);
                split_nodes(&mut inner, context);
                context.release(mark);
                body.push(NestNode::If(p, inner));
            }
            NestNode::MatrixProduct(mut of) => {
                split_nodes(&mut of.fallback_loops, context);
                body.push(NestNode::MatrixProduct(of));
            }
            node @ (NestNode::Fill(..) | NestNode::Assign(_)) => body.push(node),
        }
    }
}

/// Enters a loop: assumes the bounds of its index.
fn assume_loop_bounds(context: &mut FactContext, of: &NestLoop) -> ContextMark {
    let mark = context.mark();
    context.assume_in_range(&of.index);
    let value = of.index.value();
    of.lower_bounds.iter().for_each(|p| context.assume(&Pred::at_most(p, &value)));
    of.upper_bounds.iter().for_each(|p| context.assume(&Pred::less(&value, p)));
    mark
}

/// Collects the assignments of a loop, and if `few` those of its short inner loops. Returns false
/// if the loop contains other nodes.
fn collect_assignments<'n>(
    body: &'n [NestNode],
    few: bool,
    sets: &mut Vec<&'n Assignment>,
    inner: &mut Vec<LocalId>,
) -> bool {
    body.iter().all(|node| match node {
        NestNode::Assign(set) => {
            sets.push(set);
            true
        }
        NestNode::Loop(of) => {
            inner.push(of.index.local);
            few && !of.is_sequential && is_short(of) && collect_assignments(&of.body, few, sets, inner)
        }
        _ => false,
    })
}

fn is_short(of: &NestLoop) -> bool {
    of.index.extent.as_constant().is_some_and(|n| n <= MAX_SHORT_EXTENT)
}

/// Splits a loop whose predicates mention its index; `None` if it stays whole.
fn split_loop(of: &NestLoop, context: &mut FactContext) -> Option<Vec<NestLoop>> {
    let (few, mut sets, mut inner) = (is_short(of), Vec::new(), Vec::new());
    if !collect_assignments(&of.body, few, &mut sets, &mut inner) || sets.len() > MAX_SPLIT_STMTS {
        return None;
    }
    let mut cuts: Vec<Poly> = Vec::new();
    let mut plain = true;
    // No cut is needed at the ends of the range.
    let inside = |p: &Poly| match (p.as_constant(), of.index.extent.as_constant()) {
        (Some(at), Some(extent)) => 0 < at && at < extent,
        _ => true,
    };
    for set in sets {
        set.rhs.for_each_pred(&mut |p| {
            plain = plain && collect_cuts(p, &of.index, &inner, &mut cuts);
            cuts.retain(inside);
            plain &= cuts.len() < MAX_PIECES || few;
        });
    }
    if !plain || cuts.is_empty() {
        return None;
    }
    let cuts = sort_cuts(cuts, context)?;
    let ends = cuts.iter().map(Some).chain([None]);
    let starts = [None].into_iter().chain(cuts.iter().map(Some));
    let mut pieces = Vec::new();
    for (from, to) in starts.zip(ends) {
        let piece = NestLoop {
            index: of.index.clone(),
            lower_bounds: of.lower_bounds.iter().chain(from).cloned().collect(),
            upper_bounds: of.upper_bounds.iter().chain(to).cloned().collect(),
            is_sequential: of.is_sequential,
            while_condition: of.while_condition.clone(),
            body: Vec::new(),
        };
        let mark = assume_loop_bounds(context, &piece);
        if !context.is_contradictory() {
            pieces
                .push(NestLoop { body: of.body.iter().map(|node| simplify_guards(node, context)).collect(), ..piece });
        }
        context.release(mark);
    }
    Some(pieces)
}

/// Collects the values of the index at which the predicate changes. Returns false if cuts cannot
/// decide some part of it. Comparisons with inner indices are left to the inner loops.
fn collect_cuts(p: &Pred, index: &Index, inner: &[LocalId], cuts: &mut Vec<Poly>) -> bool {
    let mut cut = |at: Poly| {
        if !cuts.contains(&at) {
            cuts.push(at);
        }
    };
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().all(|p| collect_cuts(p, index, inner, cuts)),
        Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) if !mentions(p, index.local) => true,
        Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) if inner.iter().any(|l| mentions(p, *l)) => true,
        Pred::Ge(q) | Pred::Eq(q) | Pred::Ne(q) => {
            let Some((c, rest)) = q.linear_in(&index.atom()) else { return false };
            let mut known = true;
            rest.for_each_atom(&mut |a| known &= !matches!(a, Atom::Read(..)));
            let (at, up) = match c {
                1 => (rest.neg(), true),
                -1 => (rest, false),
                _ => return false,
            };
            match p {
                Pred::Ge(_) if up => cut(at),
                Pred::Ge(_) => cut(at.add_constant(1)),
                _ => {
                    cut(at.clone());
                    cut(at.add_constant(1));
                }
            }
            known
        }
        Pred::Element(..) | Pred::Member(..) | Pred::Exists(..) => false,
    }
}

pub(super) fn mentions(p: &Poly, local: LocalId) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Local(l, _) if *l == local));
    found
}

/// Sorts the cuts; `None` if their order is unknown.
fn sort_cuts(mut cuts: Vec<Poly>, context: &FactContext) -> Option<Vec<Poly>> {
    let mut sorted: Vec<Poly> = Vec::new();
    while !cuts.is_empty() {
        let least = |p: &Poly| cuts.iter().all(|q| p == q || context.implies(&Pred::at_most(p, q)));
        let first = cuts.iter().position(least)?;
        sorted.push(cuts.remove(first));
    }
    Some(sorted)
}

/// Simplifies the predicates of a node by the facts in scope.
fn simplify_guards(node: &NestNode, context: &FactContext) -> NestNode {
    let set = match node {
        NestNode::Assign(set) => set,
        NestNode::Loop(of) => {
            let body = of.body.iter().map(|node| simplify_guards(node, context)).collect();
            return NestNode::Loop(NestLoop { body, ..of.clone() });
        }
        other => return other.clone(),
    };
    let answer = |p: &Pred| context.simplify(p);
    let rhs = match &set.rhs {
        Rhs::Add(items) => {
            let items = items.iter().map(|item| Addend { pred: answer(&item.pred), ..item.clone() });
            let left: Vec<Addend> = items.filter(|item| !item.pred.is_false()).collect();
            if left.is_empty() { Rhs::Zero } else { Rhs::Add(left) }
        }
        Rhs::Contract { bound, pred, neg, factors } => match answer(pred) {
            p if p.is_false() => Rhs::Zero,
            pred => Rhs::Contract { bound: bound.clone(), pred, neg: *neg, factors: factors.clone() },
        },
        Rhs::Map { operation, pred, args } => match answer(pred) {
            p if p.is_false() => Rhs::Zero,
            pred => Rhs::Map { operation: *operation, pred, args: args.clone() },
        },
        other => other.clone(),
    };
    NestNode::Assign(Assignment { rhs, ..set.clone() })
}
