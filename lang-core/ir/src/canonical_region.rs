//! **Canonical form of loops** in Tensor SSA. A printed region has no head. Its first statements
//! are its inputs, one for each, and its outputs follow from the statements that read them. So a
//! canonical region has as outputs only the values that are carried or read, once each and in
//! statement order. Its sizes are only those that occur in the body. [`super::canonical`] calls
//! this module.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::canonical::Renamer;
use super::core::{CoreType, FunctionKey, TypeLeaf};
use super::flat::{FunctionInput, InputSource};
use super::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use super::ssa::{Rhs, SsaFunction, Statement, StmtId, for_each_poly_read};
use lang_base::ensure_sufficient_stack;
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ops::Scalar;

/// A loop and its canonical form.
pub(super) struct CanonicalLoop {
    pub(super) canonical: Arc<SsaLoop>,
    /// The new numbers of its inputs and outputs, by old number.
    inputs: BTreeMap<u32, u32>,
    outputs: BTreeMap<u32, u32>,
}

impl CanonicalLoop {
    fn renumber_result(&self, part: LoopResult) -> LoopResult {
        let moved = |places: &BTreeMap<u32, u32>, k: u32| places.get(&k).copied().unwrap_or(u32::MAX);
        match part {
            LoopResult::Final(k) => LoopResult::Final(moved(&self.inputs, k)),
            LoopResult::PerIteration(k) => LoopResult::PerIteration(moved(&self.outputs, k)),
            LoopResult::Checkpoint(k) => LoopResult::Checkpoint(moved(&self.inputs, k)),
            LoopResult::TripCount => LoopResult::TripCount,
        }
    }
}

/// Returns the loops of a function with their statements.
fn loops(ssa: &SsaFunction) -> impl Iterator<Item = (StmtId, &Arc<SsaLoop>)> {
    (0..).zip(&ssa.stmts).filter_map(|(k, stmt)| match &stmt.rhs {
        Rhs::Loop(of) => Some((StmtId(k), of)),
        _ => None,
    })
}

/// Visits every polynomial of a function, except those of its head, and those of its regions. Sizes
/// of a region are its own variables.
pub(super) fn for_each_poly(ssa: &SsaFunction, f: &mut dyn FnMut(&Poly)) {
    for_each_local_poly(ssa, f);
    for (_, of) in loops(ssa) {
        of.sizes.iter().for_each(&mut *f);
        ensure_sufficient_stack(|| for_each_poly(&of.body, f));
    }
}

/// Visits the polynomials of a function without those of its regions and without the size arguments
/// of its loops.
fn for_each_local_poly(ssa: &SsaFunction, f: &mut dyn FnMut(&Poly)) {
    for stmt in &ssa.stmts {
        stmt.dims.iter().for_each(&mut *f);
        stmt.rhs.for_each_pred(&mut |p| p.visit(&mut *f, &mut |_| {}));
        let Rhs::Loop(of) = &stmt.rhs else {
            stmt.rhs.for_each_poly(f);
            continue;
        };
        of.args.iter().for_each(|a| a.access().at.iter().for_each(&mut *f));
        of.batch.iter().chain(of.fixed_trip_count()).for_each(&mut *f);
    }
    for check in &ssa.checks {
        check.dims.iter().for_each(&mut *f);
        [&check.guard, &check.cond].into_iter().for_each(|p| p.visit(&mut *f, &mut |_| {}));
    }
    ssa.inputs.iter().for_each(|i| i.leaf.dims.iter().for_each(&mut *f));
}

/// Returns the sizes and integers that index expressions use.
fn used_index_variables(ssa: &SsaFunction) -> BTreeSet<LocalId> {
    let mut used = BTreeSet::new();
    let mut poly = |p: &Poly| {
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) = a {
                used.insert(*l);
            }
        });
    };
    for_each_local_poly(ssa, &mut poly);
    for (_, of) in loops(ssa) {
        let inner = ensure_sufficient_stack(|| used_index_variables(&of.body));
        of.body.sizes.iter().zip(&of.sizes).filter(|(l, _)| inner.contains(l)).for_each(|(_, n)| poly(n));
    }
    used
}

/// A statement of a canonical region: an existing one, or a new one for an input without a
/// statement.
enum RegionStatement {
    Existing(usize),
    NewInput(u32),
}

/// Returns the new order of the statements: inputs read from outside, carried inputs, then the
/// others. If the extent of an input reads data, the old order stays.
fn canonical_order(of: &SsaLoop) -> Vec<RegionStatement> {
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
        body.stmts
            .get(*k)
            .iter()
            .for_each(|s| s.dims.iter().for_each(|n| for_each_poly_read(n, &mut |_| plain = false)));
    }
    if !plain {
        return missing
            .into_iter()
            .map(RegionStatement::NewInput)
            .chain((0..body.stmts.len()).map(RegionStatement::Existing))
            .collect();
    }
    let is_carried = |k: u32| of.carried_inputs().any(|(c, _)| c == k);
    let (carried, captured): (Vec<usize>, Vec<usize>) =
        inputs.into_iter().partition(|k| number(k).is_some_and(is_carried));
    let (new_carried, new_given): (Vec<u32>, Vec<u32>) = missing.into_iter().partition(|k| is_carried(*k));
    let mut order: Vec<RegionStatement> = Vec::new();
    for (old, new) in [(captured, new_given), (carried, new_carried), (rest, Vec::new())] {
        order.extend(old.into_iter().map(RegionStatement::Existing));
        order.extend(new.into_iter().map(RegionStatement::NewInput));
    }
    order
}

impl Renamer {
    /// Computes the canonical form of each loop of a function.
    pub(super) fn canonicalize_loops(&mut self, ssa: &SsaFunction, callee: &Arc<FunctionKey>) {
        let results = ssa.results_by_producer();
        let named = loops(ssa).map(|(producer, of)| {
            let results = results.get(&producer).into_iter().flatten();
            let results = results.filter_map(|v| match ssa.stmts.get(v.0 as usize)?.rhs {
                Rhs::LoopResult(_, result) => Some(result),
                _ => None,
            });
            (producer, ensure_sufficient_stack(|| self.canonicalize_loop(of, &results.collect(), callee)))
        });
        self.loops = named.collect();
    }

    /// Renames a result of a loop.
    pub(super) fn loop_result(&self, producer: StmtId, result: LoopResult) -> Rhs {
        let renumbered = self.loops.get(&producer).map_or(result, |named| named.renumber_result(result));
        Rhs::LoopResult(self.var(producer), renumbered)
    }

    fn canonicalize_loop(
        &mut self,
        of: &Arc<SsaLoop>,
        parts: &BTreeSet<LoopResult>,
        callee: &Arc<FunctionKey>,
    ) -> CanonicalLoop {
        let body = &of.body;
        let order = canonical_order(of);
        let used = used_index_variables(body);
        let around = self.loop_header(of);
        let mut places = vec![u32::MAX; body.stmts.len()];
        for (new, slot) in (0..).zip(&order) {
            if let RegionStatement::Existing(k) = slot {
                places.get_mut(*k).into_iter().for_each(|p| *p = new);
            }
        }
        let output = |k: u32| body.outputs.get(k as usize).and_then(|(_, v)| places.get(v.0 as usize)).copied();
        let wanted = of.carried_inputs().map(|(_, next)| next);
        let wanted = wanted
            .chain(parts.iter().filter_map(|p| if let LoopResult::PerIteration(k) = p { Some(*k) } else { None }));
        let wanted: Vec<(u32, u32)> = wanted.filter_map(|k| Some((k, output(k)?))).collect();
        let output_stmts: Vec<u32> = wanted.iter().map(|(_, v)| *v).collect::<BTreeSet<u32>>().into_iter().collect();
        let place =
            |v: u32| u32::try_from(output_stmts.iter().position(|g| *g == v).unwrap_or(usize::MAX)).unwrap_or(u32::MAX);
        let outputs: BTreeMap<u32, u32> = wanted.iter().map(|(k, v)| (*k, place(*v))).collect();

        let mut inner = self.for_region(places);
        let kept = |l: &LocalId| used.contains(l);
        let sizes: Vec<LocalId> = body.sizes.iter().filter(|l| kept(l)).map(|l| inner.declare_size(*l, body)).collect();
        let mut new =
            RegionBuilder { inputs: Vec::new(), args: Vec::new(), input_numbers: BTreeMap::new(), stmts: Vec::new() };
        let old: Vec<(Option<StmtId>, Statement)> = order.iter().filter_map(|slot| statement_for(slot, body)).collect();
        for (_, stmt) in &old {
            if let Rhs::Input(k) = stmt.rhs {
                let (Some(input), Some(arg)) = (body.inputs.get(k as usize), around.args.get(k as usize)) else {
                    continue;
                };
                let number = u32::try_from(new.args.len()).unwrap_or(u32::MAX);
                let integer = stmt.dims.is_empty() && stmt.scalar == Some(Scalar::I64);
                let local = inner.declare_input(input.local, body, integer && kept(&input.local));
                let leaf = TypeLeaf { path: Vec::new(), dims: Vec::new(), scalar: stmt.scalar };
                new.input_numbers.entry(k).or_insert(number);
                new.inputs.push(FunctionInput { local, source: InputSource::Param(number), leaf });
                new.args.push(match arg {
                    LoopArg::Captured(of) => LoopArg::Captured(of.clone()),
                    LoopArg::Carried { init, next } => {
                        LoopArg::Carried { init: init.clone(), next: outputs.get(next).copied().unwrap_or(u32::MAX) }
                    }
                });
            }
        }
        inner.canonicalize_loops(body, callee);
        let mut number = 0;
        for (old_var, stmt) in &old {
            let mut stmt = inner.stmt(*old_var, stmt);
            if let Rhs::Input(k) = &mut stmt.rhs {
                *k = number;
                new.inputs.get_mut(number as usize).into_iter().for_each(|i| i.leaf.dims.clone_from(&stmt.dims));
                number += 1;
            }
            new.stmts.push(stmt);
        }
        let leaf = |v: &u32| {
            let stmt = new.stmts.get(*v as usize)?;
            Some((TypeLeaf { path: Vec::new(), dims: stmt.dims.clone(), scalar: stmt.scalar }, StmtId(*v)))
        };
        let outs = output_stmts.iter().filter_map(leaf).collect();
        let checks = body.checks.iter().map(|c| inner.check(c, &callee.def)).collect();
        let region = SsaFunction {
            callee: callee.clone(),
            vars: inner.vars,
            sizes,
            bounded: BTreeSet::new(),
            params: Vec::new(),
            inputs: new.inputs,
            stmts: new.stmts,
            checks,
            needs: body.needs.clone(),
            is_opaque: false,
            outputs: outs,
            result: CoreType::unit(),
        };
        let sizes = body.sizes.iter().zip(around.sizes).filter(|(l, _)| kept(l)).map(|(_, n)| n).collect();
        let trips = match around.trip_count {
            LoopTripCount::Fixed(n) => LoopTripCount::Fixed(n),
            LoopTripCount::While(k) => LoopTripCount::While(new.input_numbers.get(&k).copied().unwrap_or(u32::MAX)),
        };
        let named = SsaLoop { trip_count: trips, sizes, args: new.args, body: Arc::new(region), ..around };
        CanonicalLoop { canonical: Arc::new(named), inputs: new.input_numbers, outputs }
    }

    fn declare_size(&mut self, local: LocalId, body: &SsaFunction) -> LocalId {
        self.bind(local, &body.vars.name(local)).0
    }

    /// Allocates the variable of an input. Only integers that are used as sizes need a name.
    fn declare_input(&mut self, local: LocalId, body: &SsaFunction, named: bool) -> LocalId {
        if named && !self.is_bound(local) { self.declare_size(local, body) } else { self.vars.fresh("") }
    }
}

/// The parts of the canonical region under construction.
struct RegionBuilder {
    inputs: Vec<FunctionInput>,
    args: Vec<LoopArg>,
    /// The new numbers of the inputs, by old number.
    input_numbers: BTreeMap<u32, u32>,
    stmts: Vec<Statement>,
}

/// Returns a statement of the new order and, if it exists already, its old position.
fn statement_for(slot: &RegionStatement, body: &SsaFunction) -> Option<(Option<StmtId>, Statement)> {
    match slot {
        RegionStatement::Existing(k) => Some((Some(StmtId(u32::try_from(*k).ok()?)), body.stmts.get(*k).cloned()?)),
        RegionStatement::NewInput(k) => {
            let input = body.inputs.get(*k as usize)?;
            let name = Some(body.vars.name(input.local)).filter(|n| !n.is_empty());
            let (dims, scalar) = (input.leaf.dims.clone(), input.leaf.scalar);
            Some((None, Statement { dims, scalar, rhs: Rhs::Input(*k), needs: Vec::new(), name }))
        }
    }
}
