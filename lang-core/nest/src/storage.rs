//! **Storage assignment.** Determines the role and the axes of each variable in a kernel. A
//! temporary has no axis for an index if all accesses are in the same loop over that index.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::loop_nest::{Assignment, KernelStorage, MatrixProduct, NestLoop, NestNode, StorageRole, loop_number};
use super::use_def::{AccessVisitor, NestAccess};
use lang_base::{check_cancelled, ensure_sufficient_stack};
use lang_ir::ssa::{Rhs, SsaFunction, StmtId, index_number};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The summary of the accesses to a variable.
#[derive(Default)]
struct AccessSummary {
    /// The loops that enclose all accesses.
    enclosing_loops: Option<BTreeSet<LocalId>>,
    /// The indices of the accesses; `None` for an index that varies.
    subscripts: Option<Vec<Option<Poly>>>,
}

impl AccessSummary {
    fn merge_subscripts(&mut self, at: &[Poly]) {
        match &mut self.subscripts {
            None => self.subscripts = Some(at.iter().cloned().map(Some).collect()),
            Some(all) => {
                for (slot, p) in all.iter_mut().zip(at) {
                    *slot = slot.take().filter(|known| known == p);
                }
            }
        }
    }
}

/// Returns the storage of all variables that are read or written. Rematerialised variables
/// (`is_rematerialised`) have no memory.
pub(super) fn assign_storage(
    ssa: &SsaFunction,
    body: &[NestNode],
    sets: &[StmtId],
    read_later: &HashSet<StmtId>,
    is_rematerialised: &dyn Fn(StmtId) -> bool,
) -> Vec<KernelStorage> {
    let mut known: HashMap<StmtId, AccessSummary> = HashMap::new();
    let is_set = |v: StmtId| sets.contains(&v);
    AccessVisitor { ssa, is_assigned: &is_set, enclosing_loops: Vec::new() }.visit_nodes(body, &mut |seen, path| {
        let of = known.entry(seen.var()).or_default();
        match seen {
            NestAccess::Assign(set) => of.merge_subscripts(&set.at),
            NestAccess::Read(access) => of.merge_subscripts(&access.at),
            NestAccess::Fill(..) | NestAccess::MatrixProduct(_) => {}
        }
        let here: BTreeSet<LocalId> = path.iter().copied().collect();
        of.enclosing_loops = Some(match of.enclosing_loops.take() {
            Some(around) => around.intersection(&here).copied().collect(),
            None => here,
        });
    });
    let mut vars: Vec<StmtId> = known.keys().copied().collect();
    vars.sort_unstable();
    let mut places = Vec::new();
    for var in vars {
        check_cancelled();
        let (Some(stmt), Some(of)) = (ssa.stmts.get(var.0 as usize), known.get(&var)) else { continue };
        let role = match (sets.contains(&var), read_later.contains(&var)) {
            (false, _) => StorageRole::Input,
            (true, true) => StorageRole::Output,
            (true, false) => StorageRole::Temporary,
        };
        let alone = |k: usize| {
            let at = of.subscripts.iter().flatten().nth(k).and_then(Option::as_ref);
            let local = at.and_then(Poly::as_atom).and_then(|a| match a {
                Atom::Local(l, _) => Some(*l),
                _ => None,
            });
            local.is_some_and(|l| of.enclosing_loops.as_ref().is_some_and(|around| around.contains(&l)))
        };
        let axes = stmt.dims.iter().enumerate();
        let axes = axes
            .map(|(k, n)| (role != StorageRole::Temporary || !is_rematerialised(var) && !alone(k)).then(|| n.clone()))
            .collect();
        places.push(KernelStorage {
            var,
            scalar: stmt.scalar.unwrap_or(Scalar::F64),
            role,
            axes,
            is_fully_initialised: false,
        });
    }
    places
}

/// Sets [`KernelStorage::is_fully_initialised`] of each output and temporary from the ranges of the
/// loops that set it.
pub(super) fn mark_fully_initialised(body: &[NestNode], places: &mut [KernelStorage]) {
    for place in places.iter_mut().filter(|p| p.role != StorageRole::Input) {
        place.is_fully_initialised = is_fully_initialised(body, place, &mut Vec::new());
    }
}

/// Returns whether one node initialises every element, in loops over all axes.
fn is_fully_initialised<'n>(body: &'n [NestNode], place: &KernelStorage, around: &mut Vec<&'n Index>) -> bool {
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
        NestNode::Loop(NestLoop { index, lower_bounds: from, upper_bounds: to, body, .. })
            if from.is_empty() && to.is_empty() =>
        {
            around.push(index);
            let whole = is_fully_initialised(body, place, around);
            around.pop();
            whole
        }
        NestNode::MatrixProduct(of) => is_fully_initialised(&of.fallback_loops, place, around),
        NestNode::Fill(var, at, _) => {
            *var == place.var && all(&at.iter().map(Option::as_ref).collect::<Vec<_>>(), around)
        }
        NestNode::Assign(Assignment { var, at, accumulate: None, .. }) => {
            *var == place.var && all(&at.iter().map(Some).collect::<Vec<_>>(), around)
        }
        _ => false,
    })
}

/// Returns the integers in bounds and indices that are known on entry of the kernel.
pub(super) fn entry_integers(ssa: &SsaFunction, body: &[NestNode], places: &mut [KernelStorage]) -> Vec<Atom> {
    let mut found = BTreeSet::new();
    let mut see = |p: &Poly| collect_integers(ssa, p, &mut found);
    body.iter().for_each(|node| {
        for_each_node_poly(node, &mut see);
        node.for_each_assignment(&mut |set| {
            set.rhs.for_each_access(&mut |a| inlined_index(ssa, a.var).into_iter().for_each(&mut see))
        });
    });
    places.iter().flat_map(|p| p.axes.iter().flatten()).for_each(&mut see);
    found.into_iter().collect()
}

/// Returns the index expression that is inlined at each read of the variable.
fn inlined_index(ssa: &SsaFunction, var: StmtId) -> Option<&Poly> {
    match &ssa.stmts.get(var.0 as usize)?.rhs {
        Rhs::Index(p) => Some(p),
        _ => None,
    }
}

fn collect_integers(ssa: &SsaFunction, p: &Poly, found: &mut BTreeSet<Atom>) {
    let mut inside = Vec::new();
    p.for_each_atom(&mut |a| match a {
        Atom::Local(l, _)
            if loop_number(*l).is_none() && index_number(*l).is_none() && StmtId::from_local(*l).is_none() =>
        {
            found.insert(a.clone());
        }
        Atom::Global(_) => drop(found.insert(a.clone())),
        Atom::Read(x, ..) => inside.extend(StmtId::from_local(*x).and_then(|var| inlined_index(ssa, var))),
        _ => {}
    });
    inside.into_iter().for_each(|p| ensure_sufficient_stack(|| collect_integers(ssa, p, found)));
}

/// Calls `f` on every polynomial of a node.
fn for_each_node_poly(node: &NestNode, f: &mut dyn FnMut(&Poly)) {
    let pred = |p: &Pred, f: &mut dyn FnMut(&Poly)| {
        p.visit(&mut |p| f(p), &mut |_| {});
        for_each_opaque_subscript(p, f);
    };
    match node {
        NestNode::Loop(NestLoop {
            index,
            lower_bounds: from,
            upper_bounds: to,
            while_condition: goes_on,
            body,
            ..
        }) => {
            from.iter().chain(to).chain([&index.extent]).for_each(&mut *f);
            goes_on.iter().flat_map(|of| &of.at).for_each(&mut *f);
            body.iter().for_each(|node| for_each_node_poly(node, f));
        }
        NestNode::Let { index, value, body } => {
            [&index.extent, value].into_iter().for_each(&mut *f);
            body.iter().for_each(|node| for_each_node_poly(node, f));
        }
        NestNode::If(p, body) => {
            pred(p, f);
            body.iter().for_each(|node| for_each_node_poly(node, f));
        }
        NestNode::MatrixProduct(of) => {
            let MatrixProduct { at, indices: along, factors, fallback_loops: body, .. } = &**of;
            along.iter().for_each(|index| f(&index.extent));
            at.iter().chain(factors.iter().flat_map(|a| &a.at)).for_each(&mut *f);
            body.iter().for_each(|node| for_each_node_poly(node, f));
        }
        NestNode::Fill(_, at, _) => at.iter().flatten().for_each(f),
        NestNode::Assign(Assignment { at, rhs, .. }) => {
            at.iter().for_each(&mut *f);
            rhs.for_each_poly(f);
            rhs.for_each_pred(&mut |p| pred(p, f));
        }
    }
}

/// Calls `f` on the indices of the opaque atoms of a predicate.
fn for_each_opaque_subscript(p: &Pred, f: &mut dyn FnMut(&Poly)) {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| for_each_opaque_subscript(p, f)),
        Pred::Element(_, _, at, _) | Pred::Member(_, _, at, _) => at.iter().for_each(f),
        Pred::Exists(_, body, _) => for_each_opaque_subscript(body, f),
        Pred::Ge(_) | Pred::Eq(_) | Pred::Ne(_) => {}
    }
}
