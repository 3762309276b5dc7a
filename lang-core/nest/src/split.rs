//! **Index-set splitting.** Splits an innermost loop at the values of its index where a predicate
//! changes, as in `[i == 0] · a + [i != 0] · b`. Predicates that are then constant are removed from
//! each piece. Loops over a few elements are split around other loops too.

use super::kernel::{Loop, Node, Set};
use lang_ir::ssa::{Addend, Rhs, Ssa};
use lang_sizes::predicate::{Atom, Context, Index, LocalId, Mark, Poly, Pred};

/// A loop is cut into no more pieces than this, and one with more statements than that is not.
const MOST_PIECES: usize = 4;
const MOST_STATEMENTS: usize = 24;

/// A loop over no more elements than this may be cut at each.
const FEW: i128 = 12;

/// Splits the innermost loops of a kernel.
pub(super) fn split(ssa: &Ssa, body: &mut Vec<Node>) {
    let sizes: Vec<Poly> = ssa.sizes.iter().map(|l| Poly::atom(ssa.vars.atom(*l))).collect();
    within(body, &mut Context::new(&sizes));
}

fn within(body: &mut Vec<Node>, context: &mut Context) {
    for node in std::mem::take(body) {
        match node {
            Node::Loop(of) => {
                if let Some(pieces) = pieces(&of, context) {
                    for mut piece in pieces {
                        let mark = enter(context, &piece);
                        within(&mut piece.body, context);
                        context.release(mark);
                        body.push(Node::Loop(piece));
                    }
                    continue;
                }
                let mut of = of;
                let mark = enter(context, &of);
                within(&mut of.body, context);
                context.release(mark);
                body.push(Node::Loop(of));
            }
            Node::Told { index, value, body: mut inner } => {
                let mark = context.mark();
                context.enter(&index);
                within(&mut inner, context);
                context.release(mark);
                body.push(Node::Told { index, value, body: inner });
            }
            Node::If(p, mut inner) => {
                let mark = context.mark();
                context.assume(&p);
                within(&mut inner, context);
                context.release(mark);
                body.push(Node::If(p, inner));
            }
            Node::Product(mut of) => {
                within(&mut of.body, context);
                body.push(Node::Product(of));
            }
            node @ (Node::Clear(..) | Node::Set(_)) => body.push(node),
        }
    }
}

/// What is known in a loop.
fn enter(context: &mut Context, of: &Loop) -> Mark {
    let mark = context.mark();
    context.enter(&of.index);
    let value = of.index.value();
    of.from.iter().for_each(|p| context.assume(&Pred::at_most(p, &value)));
    of.to.iter().for_each(|p| context.assume(&Pred::less(&value, p)));
    mark
}

/// The statements of a loop, those of loops over few elements inside too.
fn sets_of<'n>(body: &'n [Node], few: bool, sets: &mut Vec<&'n Set>, inner: &mut Vec<LocalId>) -> bool {
    body.iter().all(|node| match node {
        Node::Set(set) => {
            sets.push(set);
            true
        }
        Node::Loop(of) => {
            inner.push(of.index.local);
            few && !of.in_order && is_few(of) && sets_of(&of.body, few, sets, inner)
        }
        _ => false,
    })
}

fn is_few(of: &Loop) -> bool {
    of.index.extent.as_constant().is_some_and(|n| n <= FEW)
}

/// The pieces of a loop that asks for its index.
fn pieces(of: &Loop, context: &mut Context) -> Option<Vec<Loop>> {
    let (few, mut sets, mut inner) = (is_few(of), Vec::new(), Vec::new());
    if !sets_of(&of.body, few, &mut sets, &mut inner) || sets.len() > MOST_STATEMENTS {
        return None;
    }
    let mut cuts: Vec<Poly> = Vec::new();
    let mut plain = true;
    // Where it begins and ends it need not be cut.
    let inside = |p: &Poly| match (p.as_constant(), of.index.extent.as_constant()) {
        (Some(at), Some(extent)) => 0 < at && at < extent,
        _ => true,
    };
    for set in sets {
        set.rhs.for_each_pred(&mut |p| {
            plain = plain && cuts_of(p, &of.index, &inner, &mut cuts);
            cuts.retain(inside);
            plain &= cuts.len() < MOST_PIECES || few;
        });
    }
    if !plain || cuts.is_empty() {
        return None;
    }
    let cuts = sorted(cuts, context)?;
    let ends = cuts.iter().map(Some).chain([None]);
    let starts = [None].into_iter().chain(cuts.iter().map(Some));
    let mut made = Vec::new();
    for (from, to) in starts.zip(ends) {
        let piece = Loop {
            index: of.index.clone(),
            from: of.from.iter().chain(from).cloned().collect(),
            to: of.to.iter().chain(to).cloned().collect(),
            in_order: of.in_order,
            goes_on: of.goes_on.clone(),
            body: Vec::new(),
        };
        let mark = enter(context, &piece);
        if !context.contradictory() {
            made.push(Loop { body: of.body.iter().map(|node| answered(node, context)).collect(), ..piece });
        }
        context.release(mark);
    }
    Some(made)
}

/// Where answers change; is nothing asked that no cut answers? What loops inside tell is for cuts of those.
fn cuts_of(p: &Pred, index: &Index, inner: &[LocalId], cuts: &mut Vec<Poly>) -> bool {
    let mut cut = |at: Poly| {
        if !cuts.contains(&at) {
            cuts.push(at);
        }
    };
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().all(|p| cuts_of(p, index, inner, cuts)),
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
                Pred::Ge(_) => cut(at.plus(1)),
                _ => {
                    cut(at.clone());
                    cut(at.plus(1));
                }
            }
            known
        }
        Pred::Is(..) | Pred::Member(..) | Pred::Any(..) => false,
    }
}

pub(super) fn mentions(p: &Poly, local: LocalId) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Local(l, _) if *l == local));
    found
}

/// In their order, if that is known.
fn sorted(mut cuts: Vec<Poly>, context: &Context) -> Option<Vec<Poly>> {
    let mut made: Vec<Poly> = Vec::new();
    while !cuts.is_empty() {
        let least = |p: &Poly| cuts.iter().all(|q| p == q || context.implies(&Pred::at_most(p, q)));
        let first = cuts.iter().position(least)?;
        made.push(cuts.remove(first));
    }
    Some(made)
}

/// With what is known to hold, and without what does not.
fn answered(node: &Node, context: &Context) -> Node {
    let set = match node {
        Node::Set(set) => set,
        Node::Loop(of) => {
            let body = of.body.iter().map(|node| answered(node, context)).collect();
            return Node::Loop(Loop { body, ..of.clone() });
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
    Node::Set(Set { rhs, ..set.clone() })
}
