//! **Storage assignment.** Determines the role and the axes of each variable in a kernel. A
//! temporary has no axis for an index if all accesses are in the same loop over that index.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::kernel::{Loop, Node, Place, Product, Role, Set, loop_number};
use super::visit::{Seen, Visit};
use lang_base::guarded;
use lang_ir::ssa::{Rhs, Ssa, Var, index_number};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// What is known of a variable while the loops are walked.
#[derive(Default)]
struct Known {
    /// The loops that are around all places where it is set or read.
    around: Option<BTreeSet<LocalId>>,
    /// The indices at which it is set and read, each if it is the same everywhere.
    at: Option<Vec<Option<Poly>>>,
}

impl Known {
    fn at(&mut self, at: &[Poly]) {
        match &mut self.at {
            None => self.at = Some(at.iter().cloned().map(Some).collect()),
            Some(all) => {
                for (slot, p) in all.iter_mut().zip(at) {
                    *slot = slot.take().filter(|known| known == p);
                }
            }
        }
    }
}

/// Returns the storage of all variables that are read or written. Rematerialised variables
/// (`again`) have no memory.
pub(super) fn places(
    ssa: &Ssa,
    body: &[Node],
    sets: &[Var],
    read_later: &HashSet<Var>,
    again: &dyn Fn(Var) -> bool,
) -> Vec<Place> {
    let mut known: HashMap<Var, Known> = HashMap::new();
    let is_set = |v: Var| sets.contains(&v);
    Visit { ssa, is_set: &is_set, path: Vec::new() }.nodes(body, &mut |seen, path| {
        let of = known.entry(seen.var()).or_default();
        match seen {
            Seen::Set(set) => of.at(&set.at),
            Seen::Read(access) => of.at(&access.at),
            Seen::Clear(..) | Seen::Product(_) => {}
        }
        let here: BTreeSet<LocalId> = path.iter().copied().collect();
        of.around = Some(match of.around.take() {
            Some(around) => around.intersection(&here).copied().collect(),
            None => here,
        });
    });
    let mut vars: Vec<Var> = known.keys().copied().collect();
    vars.sort_unstable();
    let mut places = Vec::new();
    for var in vars {
        let (Some(stmt), Some(of)) = (ssa.stmts.get(var.0 as usize), known.get(&var)) else { continue };
        let role = match (sets.contains(&var), read_later.contains(&var)) {
            (false, _) => Role::Given,
            (true, true) => Role::Made,
            (true, false) => Role::Within,
        };
        let alone = |k: usize| {
            let at = of.at.iter().flatten().nth(k).and_then(Option::as_ref);
            let local = at.and_then(Poly::as_atom).and_then(|a| match a {
                Atom::Local(l, _) => Some(*l),
                _ => None,
            });
            local.is_some_and(|l| of.around.as_ref().is_some_and(|around| around.contains(&l)))
        };
        let axes = stmt.dims.iter().enumerate();
        let axes = axes.map(|(k, n)| (role != Role::Within || !again(var) && !alone(k)).then(|| n.clone())).collect();
        places.push(Place { var, scalar: stmt.scalar.unwrap_or(Scalar::F64), role, axes, is_whole: false });
    }
    places
}

/// Sets [`Place::is_whole`] of each output and temporary from the ranges of the loops that set it.
pub(super) fn wholes(body: &[Node], places: &mut [Place]) {
    for place in places.iter_mut().filter(|p| p.role != Role::Given) {
        place.is_whole = is_whole(body, place, &mut Vec::new());
    }
}

/// Is every element of a place set or cleared by one node, in loops over all of its axes?
fn is_whole<'n>(body: &'n [Node], place: &Place, around: &mut Vec<&'n Index>) -> bool {
    let all = |at: &[Option<&Poly>], around: &[&Index]| {
        let mut used = BTreeSet::new();
        at.len() == place.axes.len()
            && at.iter().zip(&place.axes).all(|(p, n)| match (p, n) {
                (None, _) | (_, None) => true,
                (Some(p), Some(n)) => {
                    let along = around.iter().find(|index| index.value() == **p && index.extent == *n);
                    along.is_some_and(|index| used.insert(index.local))
                }
            })
    };
    body.iter().any(|node| match node {
        Node::Loop(Loop { index, from, to, body, .. }) if from.is_empty() && to.is_empty() => {
            around.push(index);
            let whole = is_whole(body, place, around);
            around.pop();
            whole
        }
        Node::Product(of) => is_whole(&of.body, place, around),
        Node::Clear(var, at, _) => *var == place.var && all(&at.iter().map(Option::as_ref).collect::<Vec<_>>(), around),
        Node::Set(Set { var, at, join: None, .. }) => {
            *var == place.var && all(&at.iter().map(Some).collect::<Vec<_>>(), around)
        }
        _ => false,
    })
}

/// Returns the integers in bounds and indices that are known on entry of the kernel.
pub(super) fn integers(ssa: &Ssa, body: &[Node], places: &mut [Place]) -> Vec<Atom> {
    let mut found = BTreeSet::new();
    let mut see = |p: &Poly| see_integers(ssa, p, &mut found);
    body.iter().for_each(|node| {
        polys(node, &mut see);
        node.for_each_set(&mut |set| {
            set.rhs.for_each_access(&mut |a| written(ssa, a.var).into_iter().for_each(&mut see))
        });
    });
    places.iter().flat_map(|p| p.axes.iter().flatten()).for_each(&mut see);
    found.into_iter().collect()
}

/// The index expression that is written where a variable is read.
fn written(ssa: &Ssa, var: Var) -> Option<&Poly> {
    match &ssa.stmts.get(var.0 as usize)?.rhs {
        Rhs::Index(p) => Some(p),
        _ => None,
    }
}

fn see_integers(ssa: &Ssa, p: &Poly, found: &mut BTreeSet<Atom>) {
    let mut inside = Vec::new();
    p.for_each_atom(&mut |a| match a {
        Atom::Local(l, _) if loop_number(*l).is_none() && index_number(*l).is_none() && Var::of_local(*l).is_none() => {
            found.insert(a.clone());
        }
        Atom::Global(_) => drop(found.insert(a.clone())),
        Atom::Read(x, ..) => inside.extend(Var::of_local(*x).and_then(|var| written(ssa, var))),
        _ => {}
    });
    inside.into_iter().for_each(|p| guarded(|| see_integers(ssa, p, found)));
}

/// Calls with every polynomial.
fn polys(node: &Node, f: &mut dyn FnMut(&Poly)) {
    let pred = |p: &Pred, f: &mut dyn FnMut(&Poly)| {
        p.visit(&mut |p| f(p), &mut |_| {});
        at_of(p, f);
    };
    match node {
        Node::Loop(Loop { index, from, to, goes_on, body, .. }) => {
            from.iter().chain(to).chain([&index.extent]).for_each(&mut *f);
            goes_on.iter().flat_map(|of| &of.at).for_each(&mut *f);
            body.iter().for_each(|node| polys(node, f));
        }
        Node::Told { index, value, body } => {
            [&index.extent, value].into_iter().for_each(&mut *f);
            body.iter().for_each(|node| polys(node, f));
        }
        Node::If(p, body) => {
            pred(p, f);
            body.iter().for_each(|node| polys(node, f));
        }
        Node::Product(of) => {
            let Product { at, along, factors, body, .. } = &**of;
            along.iter().for_each(|index| f(&index.extent));
            at.iter().chain(factors.iter().flat_map(|a| &a.at)).for_each(&mut *f);
            body.iter().for_each(|node| polys(node, f));
        }
        Node::Clear(_, at, _) => at.iter().flatten().for_each(f),
        Node::Set(Set { at, rhs, .. }) => {
            at.iter().for_each(&mut *f);
            rhs.for_each_poly(f);
            rhs.for_each_pred(&mut |p| pred(p, f));
        }
    }
}

/// Calls with the indices of what a predicate reads.
fn at_of(p: &Pred, f: &mut dyn FnMut(&Poly)) {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| at_of(p, f)),
        Pred::Is(_, _, at, _) | Pred::Member(_, _, at, _) => at.iter().for_each(f),
        Pred::Any(_, body, _) => at_of(body, f),
        Pred::Ge(_) | Pred::Eq(_) | Pred::Ne(_) => {}
    }
}
