//! **Canonical form of loops** in Tensor SSA. A printed region has no head. Its first statements
//! are its inputs, one for each, and its outputs follow from the statements that read them. So a
//! canonical region has as outputs only the values that are carried or read, once each and in
//! statement order. Its sizes are only those that occur in the body. [`super::canonical`] calls
//! this module.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::canonical::Naming;
use super::core::{Callee, CoreType, Leaf};
use super::flat::{Input, Source};
use super::region::{Arg, Loop, Part, Trips};
use super::ssa::{Rhs, Ssa, Stmt, Var, reads};
use lang_base::guarded;
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ops::Scalar;

/// A loop and its canonical form.
pub(super) struct Named {
    /// The loop before renaming.
    old: Arc<Loop>,
    new: Arc<Loop>,
    /// The new numbers of its inputs and outputs, by old number.
    inputs: BTreeMap<u32, u32>,
    outputs: BTreeMap<u32, u32>,
}

impl Named {
    fn part(&self, part: Part) -> Part {
        let moved = |places: &BTreeMap<u32, u32>, k: u32| places.get(&k).copied().unwrap_or(u32::MAX);
        match part {
            Part::Last(k) => Part::Last(moved(&self.inputs, k)),
            Part::Every(k) => Part::Every(moved(&self.outputs, k)),
            Part::State(k) => Part::State(moved(&self.inputs, k)),
            Part::Trips => Part::Trips,
        }
    }
}

/// Whether both are the same loop.
pub(super) fn same(a: &Arc<Loop>, b: &Arc<Loop>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

/// Returns the distinct loops of a function, each with the parts of it that statements read.
fn loops(ssa: &Ssa) -> Vec<(&Arc<Loop>, BTreeSet<Part>)> {
    let mut found: Vec<(&Arc<Loop>, BTreeSet<Part>)> = Vec::new();
    for stmt in &ssa.stmts {
        if let Rhs::Loop(of, part) = &stmt.rhs {
            match found.iter_mut().find(|(other, _)| same(other, of)) {
                Some((_, parts)) => drop(parts.insert(*part)),
                None => found.push((of, BTreeSet::from([*part]))),
            }
        }
    }
    found
}

/// Visits every polynomial of a function, except those of its head, and those of its regions. Sizes
/// of a region are its own variables.
pub(super) fn for_each_poly(ssa: &Ssa, f: &mut dyn FnMut(&Poly)) {
    own_polys(ssa, f);
    for (of, _) in loops(ssa) {
        of.sizes.iter().for_each(&mut *f);
        guarded(|| for_each_poly(&of.body, f));
    }
}

/// Visits the polynomials of a function without those of its regions and without the size arguments
/// of its loops.
fn own_polys(ssa: &Ssa, f: &mut dyn FnMut(&Poly)) {
    for stmt in &ssa.stmts {
        stmt.dims.iter().for_each(&mut *f);
        stmt.rhs.for_each_pred(&mut |p| p.visit(&mut *f, &mut |_| {}));
        let Rhs::Loop(of, _) = &stmt.rhs else {
            stmt.rhs.for_each_poly(f);
            continue;
        };
        of.args.iter().for_each(|a| a.access().at.iter().for_each(&mut *f));
        of.batch.iter().chain(of.count()).for_each(&mut *f);
    }
    for check in &ssa.checks {
        check.dims.iter().for_each(&mut *f);
        [&check.guard, &check.cond].into_iter().for_each(|p| p.visit(&mut *f, &mut |_| {}));
    }
    ssa.inputs.iter().for_each(|i| i.leaf.dims.iter().for_each(&mut *f));
}

/// Returns the sizes and integers that index expressions use.
fn used(ssa: &Ssa) -> BTreeSet<LocalId> {
    let mut used = BTreeSet::new();
    let mut poly = |p: &Poly| {
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) = a {
                used.insert(*l);
            }
        });
    };
    own_polys(ssa, &mut poly);
    for (of, _) in loops(ssa) {
        let inner = guarded(|| self::used(&of.body));
        of.body.sizes.iter().zip(&of.sizes).filter(|(l, _)| inner.contains(l)).for_each(|(_, n)| poly(n));
    }
    used
}

/// A statement of a canonical region: an existing one, or a new one for an input without a
/// statement.
enum Slot {
    Old(usize),
    Input(u32),
}

/// Returns the new order of the statements: inputs read from outside, carried inputs, then the
/// others. If the extent of an input reads data, the old order stays.
fn order(of: &Loop) -> Vec<Slot> {
    let body = &of.body;
    let number = |k: &usize| match body.stmts.get(*k).map(|s| &s.rhs) {
        Some(Rhs::Input(k)) => Some(*k),
        _ => None,
    };
    let (inputs, rest): (Vec<usize>, Vec<usize>) = (0..body.stmts.len()).partition(|k| number(k).is_some());
    let present: BTreeSet<u32> = inputs.iter().filter_map(number).collect();
    let missing: Vec<u32> = (0..).zip(&body.inputs).map(|(k, _)| k).filter(|k| !present.contains(k)).collect();
    let mut plain = true;
    for k in &inputs {
        body.stmts.get(*k).iter().for_each(|s| s.dims.iter().for_each(|n| reads(n, &mut |_| plain = false)));
    }
    if !plain {
        return missing.into_iter().map(Slot::Input).chain((0..body.stmts.len()).map(Slot::Old)).collect();
    }
    let is_carried = |k: u32| of.carried().any(|(c, _)| c == k);
    let (carried, given): (Vec<usize>, Vec<usize>) =
        inputs.into_iter().partition(|k| number(k).is_some_and(is_carried));
    let (new_carried, new_given): (Vec<u32>, Vec<u32>) = missing.into_iter().partition(|k| is_carried(*k));
    let mut order: Vec<Slot> = Vec::new();
    for (old, new) in [(given, new_given), (carried, new_carried), (rest, Vec::new())] {
        order.extend(old.into_iter().map(Slot::Old));
        order.extend(new.into_iter().map(Slot::Input));
    }
    order
}

impl Naming {
    /// Computes the canonical form of each loop of a function.
    pub(super) fn name_loops(&mut self, ssa: &Ssa, callee: &Arc<Callee>) {
        let named = loops(ssa).into_iter().map(|(of, parts)| guarded(|| self.looped(of, &parts, callee)));
        self.loops = named.collect();
    }

    /// Renames a part of a loop.
    pub(super) fn part(&self, of: &Arc<Loop>, part: Part) -> Rhs {
        match self.loops.iter().find(|n| same(&n.old, of)) {
            Some(named) => Rhs::Loop(named.new.clone(), named.part(part)),
            None => Rhs::Loop(of.clone(), part),
        }
    }

    fn looped(&mut self, of: &Arc<Loop>, parts: &BTreeSet<Part>, callee: &Arc<Callee>) -> Named {
        let body = &of.body;
        let order = order(of);
        let used = used(body);
        let around = self.around(of);
        let mut places = vec![u32::MAX; body.stmts.len()];
        for (new, slot) in (0..).zip(&order) {
            if let Slot::Old(k) = slot {
                places.get_mut(*k).into_iter().for_each(|p| *p = new);
            }
        }
        let output = |k: u32| body.outputs.get(k as usize).and_then(|(_, v)| places.get(v.0 as usize)).copied();
        let wanted = of.carried().map(|(_, next)| next);
        let wanted = wanted.chain(parts.iter().filter_map(|p| if let Part::Every(k) = p { Some(*k) } else { None }));
        let wanted: Vec<(u32, u32)> = wanted.filter_map(|k| Some((k, output(k)?))).collect();
        let given: Vec<u32> = wanted.iter().map(|(_, v)| *v).collect::<BTreeSet<u32>>().into_iter().collect();
        let place =
            |v: u32| u32::try_from(given.iter().position(|g| *g == v).unwrap_or(usize::MAX)).unwrap_or(u32::MAX);
        let outputs: BTreeMap<u32, u32> = wanted.iter().map(|(k, v)| (*k, place(*v))).collect();

        let mut inner = self.inside(places);
        let kept = |l: &LocalId| used.contains(l);
        let sizes: Vec<LocalId> = body.sizes.iter().filter(|l| kept(l)).map(|l| inner.size(*l, body)).collect();
        let mut new = Region { inputs: Vec::new(), args: Vec::new(), numbers: BTreeMap::new(), stmts: Vec::new() };
        let old: Vec<Stmt> = order.iter().filter_map(|slot| stmt_of(slot, body)).collect();
        for stmt in &old {
            if let Rhs::Input(k) = stmt.rhs {
                let (Some(input), Some(arg)) = (body.inputs.get(k as usize), around.args.get(k as usize)) else {
                    continue;
                };
                let number = u32::try_from(new.args.len()).unwrap_or(u32::MAX);
                let integer = stmt.dims.is_empty() && stmt.scalar == Some(Scalar::I64);
                let local = inner.input(input.local, body, integer && kept(&input.local));
                let leaf = Leaf { path: Vec::new(), dims: Vec::new(), scalar: stmt.scalar };
                new.numbers.entry(k).or_insert(number);
                new.inputs.push(Input { local, source: Source::Param(number), leaf });
                new.args.push(match arg {
                    Arg::Given(of) => Arg::Given(of.clone()),
                    Arg::Carried { init, next } => {
                        Arg::Carried { init: init.clone(), next: outputs.get(next).copied().unwrap_or(u32::MAX) }
                    }
                });
            }
        }
        inner.name_loops(body, callee);
        let mut number = 0;
        for stmt in &old {
            let mut stmt = inner.stmt(stmt);
            if let Rhs::Input(k) = &mut stmt.rhs {
                *k = number;
                new.inputs.get_mut(number as usize).into_iter().for_each(|i| i.leaf.dims.clone_from(&stmt.dims));
                number += 1;
            }
            new.stmts.push(stmt);
        }
        let leaf = |v: &u32| {
            let stmt = new.stmts.get(*v as usize)?;
            Some((Leaf { path: Vec::new(), dims: stmt.dims.clone(), scalar: stmt.scalar }, Var(*v)))
        };
        let outs = given.iter().filter_map(leaf).collect();
        let checks = body.checks.iter().map(|c| inner.check(c, &callee.def)).collect();
        let region = Ssa {
            callee: callee.clone(),
            vars: inner.vars,
            sizes,
            bounded: BTreeSet::new(),
            params: Vec::new(),
            inputs: new.inputs,
            stmts: new.stmts,
            checks,
            needs: body.needs.clone(),
            opaque: false,
            outputs: outs,
            result: CoreType::unit(),
        };
        let sizes = body.sizes.iter().zip(around.sizes).filter(|(l, _)| kept(l)).map(|(_, n)| n).collect();
        let trips = match around.trips {
            Trips::Count(n) => Trips::Count(n),
            Trips::While(k) => Trips::While(new.numbers.get(&k).copied().unwrap_or(u32::MAX)),
        };
        let named = Loop { trips, sizes, args: new.args, body: Arc::new(region), ..around };
        Named { old: of.clone(), new: Arc::new(named), inputs: new.numbers, outputs }
    }

    fn size(&mut self, local: LocalId, body: &Ssa) -> LocalId {
        self.enter(local, &body.vars.name(local)).0
    }

    /// Allocates the variable of an input. Only integers that are used as sizes need a name.
    fn input(&mut self, local: LocalId, body: &Ssa, named: bool) -> LocalId {
        if named && !self.knows(local) { self.size(local, body) } else { self.vars.fresh("") }
    }
}

/// The parts of the canonical region under construction.
struct Region {
    inputs: Vec<Input>,
    args: Vec<Arg>,
    /// The new numbers of the inputs, by old number.
    numbers: BTreeMap<u32, u32>,
    stmts: Vec<Stmt>,
}

fn stmt_of(slot: &Slot, body: &Ssa) -> Option<Stmt> {
    match slot {
        Slot::Old(k) => body.stmts.get(*k).cloned(),
        Slot::Input(k) => {
            let input = body.inputs.get(*k as usize)?;
            let name = Some(body.vars.name(input.local)).filter(|n| !n.is_empty());
            let (dims, scalar) = (input.leaf.dims.clone(), input.leaf.scalar);
            Some(Stmt { dims, scalar, rhs: Rhs::Input(*k), needs: Vec::new(), name })
        }
    }
}
