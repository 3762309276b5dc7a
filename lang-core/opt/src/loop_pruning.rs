//! **Loop pruning and slicing** on Tensor SSA. Finds the inputs and outputs of a body that the live
//! results of a loop need. Replaces whole inputs by slices where the body reads one slice per
//! iteration. Used by dead-code elimination, by the conversion to Tensor SSA and by `ad::loops`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::dce::{self, StatementRenumbering};
use super::inline::integer_poly;
use lang_ir::core::TypeLeaf;
use lang_ir::inline_map::InlineMap;
use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{
    Rhs, RuntimeCheck, SsaBuilder, SsaFunction, Statement, StmtId, TensorAccess, for_each_pred_read, index_number,
    statement_index, substitute_indices,
};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ops::Scalar;

/// The inputs and outputs of a body that some parts of a loop need.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LoopNeeds {
    /// The numbers of the inputs.
    pub inputs: BTreeSet<u32>,
    /// The numbers of the outputs.
    pub outputs: BTreeSet<u32>,
}

/// The inputs that each output of a body reads; the last entry holds the inputs that are always
/// needed. Each body is analysed once, at any nesting depth.
#[derive(Default)]
pub struct BodyReads {
    /// The results by the address of the body, which the entry keeps alive.
    bodies: HashMap<usize, (Arc<SsaFunction>, OutputInputs)>,
}

/// The inputs, for each output.
type OutputInputs = Arc<[BTreeSet<u32>]>;

impl BodyReads {
    fn of_body(&mut self, body: &Arc<SsaFunction>) -> OutputInputs {
        let place = Arc::as_ptr(body).addr();
        if let Some((_, known)) = self.bodies.get(&place) {
            return known.clone();
        }
        let sizes = inputs_used_as_sizes(body);
        let mut read = |outputs: &[(TypeLeaf, StmtId)]| {
            let mut inputs = inputs_read(body, outputs, self);
            inputs.extend(&sizes);
            inputs
        };
        let mut all: Vec<BTreeSet<u32>> =
            body.outputs.iter().map(|output| read(std::slice::from_ref(output))).collect();
        all.push(read(&[]));
        let all: OutputInputs = all.into();
        self.bodies.insert(place, (Arc::clone(body), all.clone()));
        all
    }
}

/// Returns the inputs and outputs of the body that these parts need.
#[must_use]
pub fn loop_needs(of: &SsaLoop, parts: &BTreeSet<LoopResult>, known: &mut BodyReads) -> LoopNeeds {
    let reads = known.of_body(&of.body);
    let mut needed = LoopNeeds::default();
    let next: HashMap<u32, u32> = of.carried_inputs().collect();
    let mut carries: Vec<u32> = Vec::new();
    for part in parts {
        match part {
            LoopResult::Final(k) | LoopResult::Checkpoint(k) => carries.push(*k),
            LoopResult::PerIteration(k) => drop(needed.outputs.insert(*k)),
            LoopResult::TripCount => {}
        }
    }
    if let LoopTripCount::While(k) = of.trip_count {
        carries.push(k);
    }
    loop {
        while let Some(k) = carries.pop() {
            if needed.inputs.insert(k) {
                needed.outputs.extend(next.get(&k));
            }
        }
        let each = needed.outputs.iter().filter_map(|k| reads.get(*k as usize));
        let read: BTreeSet<u32> = each.chain(reads.last()).flatten().copied().collect();
        carries.extend(read.iter().filter(|k| next.contains_key(k) && !needed.inputs.contains(k)));
        needed.inputs.extend(read.iter().filter(|k| !next.contains_key(k)));
        if carries.is_empty() {
            return needed;
        }
    }
}

/// Returns the loop reduced to the needs of these parts, and the new number of each part.
#[must_use]
pub fn prune_loop(of: &SsaLoop, parts: &BTreeSet<LoopResult>) -> (SsaLoop, BTreeMap<LoopResult, LoopResult>) {
    let needed = loop_needs(of, parts, &mut BodyReads::default());
    let place =
        |set: &BTreeSet<u32>, k: u32| u32::try_from(set.iter().take_while(|j| **j < k).count()).unwrap_or(u32::MAX);
    let (inputs, outputs) = (&needed.inputs, &needed.outputs);
    let mut body = (*of.body).clone();
    body.outputs = outputs.iter().filter_map(|k| of.body.outputs.get(*k as usize).cloned()).collect();
    keep_inputs(&mut body, inputs);
    dce::eliminate_dead_code(&mut body);
    let args = (0..).zip(&of.args).filter(|(k, _)| inputs.contains(k)).map(|(_, a)| match a {
        LoopArg::Captured(of) => LoopArg::Captured(of.clone()),
        LoopArg::Carried { init, next } => LoopArg::Carried { init: init.clone(), next: place(outputs, *next) },
    });
    let trips = match &of.trip_count {
        LoopTripCount::Fixed(n) => LoopTripCount::Fixed(n.clone()),
        LoopTripCount::While(k) => LoopTripCount::While(place(inputs, *k)),
    };
    let args = args.collect();
    let moved = |part: &LoopResult| match part {
        LoopResult::Final(k) => LoopResult::Final(place(inputs, *k)),
        LoopResult::PerIteration(k) => LoopResult::PerIteration(place(outputs, *k)),
        LoopResult::Checkpoint(k) => LoopResult::Checkpoint(place(inputs, *k)),
        LoopResult::TripCount => LoopResult::TripCount,
    };
    let parts = parts.iter().map(|part| (*part, moved(part))).collect();
    (SsaLoop { trip_count: trips, args, body: Arc::new(body), ..of.clone() }, parts)
}

/// The carried inputs that a loop never changes. A copy in each iteration would repeat work.
pub struct InvariantCarries {
    /// The numbers of these inputs.
    inputs: BTreeSet<u32>,
    /// The checks of the loop, and those of the copies.
    checks: BTreeSet<u32>,
}

impl InvariantCarries {
    /// Finds the unchanged inputs of a loop, except the one that decides whether it continues.
    pub fn of_loop(of: &SsaLoop) -> Self {
        let mut found = Self { inputs: BTreeSet::new(), checks: of.body.needs.iter().copied().collect() };
        for (input, next) in of.carried_inputs() {
            if of.trip_count != LoopTripCount::While(input)
                && let Some(needs) = copy_checks(&of.body, input, next)
            {
                found.inputs.insert(input);
                found.checks.extend(needs);
            }
        }
        found
    }

    /// Returns the initial value of a part that the loop does not change, as an access in a
    /// statement with `indices` indices.
    pub fn initial_value(&self, of: &SsaLoop, part: LoopResult, indices: usize) -> Option<TensorAccess> {
        let (k, own) = match part {
            LoopResult::Final(k) => (k, of.batch.len()),
            LoopResult::Checkpoint(k) => (k, of.batch.len() + 1),
            LoopResult::PerIteration(_) | LoopResult::TripCount => return None,
        };
        let LoopArg::Carried { init, .. } = of.args.get(k as usize).filter(|_| self.inputs.contains(&k))? else {
            return None;
        };
        let own = (own..indices).map(|k| statement_index(k, &Poly::default()).value());
        Some(TensorAccess { var: init.var, at: init.at.iter().cloned().chain(own).collect() })
    }

    /// Returns the loop in which these inputs are no longer carried.
    pub fn without_carries(&self, of: &SsaLoop) -> SsaLoop {
        if self.inputs.is_empty() {
            return of.clone();
        }
        let mut body = (*of.body).clone();
        body.needs = self.checks.iter().copied().collect();
        let args = (0..).zip(&of.args).map(|(k, arg)| match arg {
            LoopArg::Carried { init, .. } if self.inputs.contains(&k) => LoopArg::Captured(init.clone()),
            other => other.clone(),
        });
        SsaLoop { args: args.collect(), body: Arc::new(body), ..of.clone() }
    }

    /// Returns the checks for all iterations at once. `None` if a check depends on values that the
    /// iterations compute.
    pub fn hoisted_checks(&self, ssa: &SsaFunction, of: &SsaLoop) -> Option<Vec<RuntimeCheck>> {
        let (LoopTripCount::Fixed(count), body, captured) = (&of.trip_count, &of.body, captured_statements(of)) else {
            return None;
        };
        let around: Vec<Poly> = of.batch.iter().chain([count]).cloned().collect();
        let mut locals: HashMap<LocalId, Poly> = body.sizes.iter().copied().zip(of.sizes.iter().cloned()).collect();
        for (input, arg) in body.inputs.iter().zip(&of.args) {
            if let (LoopArg::Captured(access), [], Some(Scalar::I64)) =
                (arg, input.leaf.dims.as_slice(), input.leaf.scalar)
            {
                let value = match &ssa.stmts.get(access.var.0 as usize)?.rhs {
                    Rhs::Index(p) => substitute_indices(p, &access.at),
                    _ => Poly::atom(Atom::Read(access.var.local(), access.var.name(), access.at.clone().into())),
                };
                locals.insert(input.local, value);
            }
        }
        let vars = (0..).map(StmtId).zip(&body.stmts);
        let vars = vars
            .map(|(var, _)| captured.get(&var).map_or(TensorAccess { var, at: Vec::new() }, |(_, of)| (*of).clone()));
        let put = InlineMap { vars: vars.collect(), locals, outer_rank: around.len() };
        let mut all = Vec::new();
        for number in &self.checks {
            let check = body.checks.get(*number as usize)?;
            let mut known = true;
            let mut read = |v: StmtId| known &= captured.contains_key(&v);
            [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut read));
            let mut local = |p: &Poly, own: bool| {
                p.for_each_atom(&mut |a| {
                    known &= match a {
                        Atom::Local(l, _) => put.locals.contains_key(l) || own && index_number(*l).is_some(),
                        Atom::Read(..) => own,
                        _ => true,
                    };
                });
            };
            [&check.guard, &check.cond].into_iter().for_each(|p| p.visit(&mut |p| local(p, true), &mut |_| {}));
            // The extents of a check must be the same in all iterations.
            check.dims.iter().for_each(|n| local(n, false));
            let dims: Vec<Poly> = around.iter().cloned().chain(check.dims.iter().map(|n| put.map_poly(n))).collect();
            dims.iter().for_each(|n| n.for_each_atom(&mut |a| known &= !is_index_atom(a)));
            if !known {
                return None;
            }
            let (guard, cond) = (of.pred.and(&put.map_pred(&check.guard)), put.map_pred(&check.cond));
            all.push(RuntimeCheck { dims, guard, cond, failure: Arc::clone(&check.failure) });
        }
        Some(all)
    }
}

fn is_index_atom(a: &Atom) -> bool {
    matches!(a, Atom::Local(l, _) if index_number(*l).is_some())
}

/// Returns the checks of a copy, if the output is the unchanged input.
fn copy_checks(body: &SsaFunction, input: u32, output: u32) -> Option<Vec<u32>> {
    let var = body.outputs.get(output as usize)?.1;
    let stmt = body.stmts.get(var.0 as usize)?;
    let own: Vec<Poly> = stmt.dims.iter().enumerate().map(|(k, n)| statement_index(k, n).value()).collect();
    let from = match &stmt.rhs {
        Rhs::Input(_) => var,
        Rhs::Contract { bound, pred, neg: false, factors } if bound.is_empty() && pred.is_true() => {
            let [of] = factors.as_slice() else { return None };
            (of.at == own).then_some(of.var)?
        }
        _ => return None,
    };
    let from = body.stmts.get(from.0 as usize).filter(|s| s.dims == stmt.dims && s.rhs == Rhs::Input(input))?;
    Some(stmt.needs.iter().chain(&from.needs).copied().collect())
}

/// Returns the inputs that some outputs and the assertions read.
fn inputs_read(body: &SsaFunction, outputs: &[(TypeLeaf, StmtId)], known: &mut BodyReads) -> BTreeSet<u32> {
    let (live, _) = dce::live_for_outputs(body, outputs, false, Some(known));
    let inputs = body.stmts.iter().zip(live).filter(|(_, live)| *live).map(|(stmt, _)| &stmt.rhs);
    inputs.filter_map(|rhs| if let Rhs::Input(k) = rhs { Some(*k) } else { None }).collect()
}

/// Returns the integer inputs that extents, indices or predicates mention.
fn inputs_used_as_sizes(body: &SsaFunction) -> BTreeSet<u32> {
    let locals: HashMap<LocalId, u32> = (0..).zip(&body.inputs).map(|(k, i)| (i.local, k)).collect();
    let mut inputs = BTreeSet::new();
    for_each_local(body, &mut |l| inputs.extend(locals.get(&l)));
    inputs
}

/// Visits the sizes and integer inputs that occur in polynomials.
pub fn for_each_local(ssa: &SsaFunction, f: &mut dyn FnMut(LocalId)) {
    let mut poly = |p: &Poly| {
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) = a {
                f(*l);
            }
        });
    };
    for stmt in &ssa.stmts {
        stmt.dims.iter().for_each(&mut poly);
        stmt.rhs.for_each_poly(&mut poly);
        stmt.rhs.for_each_pred(&mut |p| p.visit(&mut poly, &mut |_| {}));
    }
    for check in &ssa.checks {
        check.dims.iter().for_each(&mut poly);
        [&check.guard, &check.cond].into_iter().for_each(|p| p.visit(&mut poly, &mut |_| {}));
    }
}

/// Drops all other inputs and their statements, which nothing reads.
fn keep_inputs(body: &mut SsaFunction, inputs: &BTreeSet<u32>) {
    let kept: Vec<u32> = inputs.iter().copied().collect();
    let place = |k: u32| kept.iter().position(|j| *j == k).and_then(|k| u32::try_from(k).ok());
    for stmt in &mut body.stmts {
        if let Rhs::Input(k) = &mut stmt.rhs {
            match place(*k) {
                Some(new) => *k = new,
                None => stmt.rhs = Rhs::Zero,
            }
        }
    }
    let mut number = 0;
    body.inputs.retain(|_| {
        number += 1;
        inputs.contains(&(number - 1))
    });
}

/// Replaces an input that the body reads at indices determined by the iteration number: each such
/// slice becomes an input of its own. Then only the slice has a cotangent, not the whole tensor.
#[must_use]
pub fn sliced(builder: &SsaBuilder, of: &SsaLoop) -> SsaLoop {
    let body = &of.body;
    let captured = captured_statements(of);
    // Rewrites a polynomial of the body for the place of the loop.
    let sizes = captured_integers(builder, of);
    let outside = |p: &Poly| -> Option<Poly> { lift_poly(p, &sizes, &captured) };
    let mut slices: Vec<(StmtId, Vec<Poly>)> = Vec::new();
    let prefix = |a: &TensorAccess| -> usize {
        if !captured.contains_key(&a.var) {
            return 0;
        }
        a.at.iter().take_while(|p| outside(p).is_some()).count()
    };
    for stmt in &body.stmts {
        stmt.rhs.for_each_access(&mut |a| {
            let slice = (a.var, a.at.get(..prefix(a)).unwrap_or_default().to_vec());
            if !slice.1.is_empty() && !slices.contains(&slice) {
                slices.push(slice);
            }
        });
    }
    if slices.is_empty() {
        return of.clone();
    }
    let count = u32::try_from(slices.len()).unwrap_or(u32::MAX);
    let vars: Vec<u32> = (0..).take(body.stmts.len()).map(|k: u32| k + count).collect();
    let checks: Vec<u32> = (0..).take(body.checks.len()).collect();
    let shift = StatementRenumbering { vars: &vars, checks: &checks };
    let mut new = (**body).clone();
    let mut args = of.args.clone();
    let mut first = Vec::new();
    for (var, at) in &slices {
        let (Some((k, access)), Some(stmt)) = (captured.get(var), body.stmts.get(var.0 as usize)) else { continue };
        let Some(input) = body.inputs.get(*k as usize) else { continue };
        let mut input = input.clone();
        input.local = new.vars.fresh(new.vars.name(input.local));
        input.leaf.dims = stmt.dims.get(at.len()..).unwrap_or_default().iter().map(|n| shift.poly(n)).collect();
        let number = u32::try_from(new.inputs.len()).unwrap_or(u32::MAX);
        first.push(Statement { dims: input.leaf.dims.clone(), rhs: Rhs::Input(number), ..stmt.clone() });
        new.inputs.push(input);
        let at = access.at.iter().cloned().chain(at.iter().filter_map(&outside)).collect();
        args.push(LoopArg::Captured(TensorAccess { var: access.var, at }));
    }
    let mut put = |a: &TensorAccess| {
        let n = prefix(a);
        let at = a.at.get(..n).unwrap_or_default();
        let place = slices.iter().position(|(v, p)| *v == a.var && p == at).filter(|_| n > 0);
        let rest = |from: usize| a.at.iter().skip(from).map(|p| shift.poly(p)).collect();
        match place.and_then(|k| u32::try_from(k).ok()) {
            Some(k) => TensorAccess { var: StmtId(k), at: rest(n) },
            None => TensorAccess { var: shift.var(a.var), at: rest(0) },
        }
    };
    new.stmts = first;
    for stmt in &body.stmts {
        let dims = stmt.dims.iter().map(|n| shift.poly(n)).collect();
        let rhs = stmt.rhs.map(&mut put, &|p| shift.poly(p), &|p| shift.pred(p));
        new.stmts.push(Statement { dims, rhs, ..stmt.clone() });
    }
    for check in &mut new.checks {
        check.dims.iter_mut().for_each(|n| *n = shift.poly(n));
        (check.guard, check.cond) = (shift.pred(&check.guard), shift.pred(&check.cond));
    }
    for (leaf, v) in &mut new.outputs {
        leaf.dims.iter_mut().for_each(|n| *n = shift.poly(n));
        *v = shift.var(*v);
    }
    for input in new.inputs.iter_mut().take(body.inputs.len()) {
        input.leaf.dims.iter_mut().for_each(|n| *n = shift.poly(n));
    }
    SsaLoop { args, body: Arc::new(new), ..of.clone() }
}

/// Returns the statements of a body that read an input which is not carried, with the number of the
/// input and its access.
pub fn captured_statements(of: &SsaLoop) -> HashMap<StmtId, (u32, &TensorAccess)> {
    (0..)
        .zip(&of.body.stmts)
        .filter_map(|(v, stmt)| match &stmt.rhs {
            Rhs::Input(k) => match of.args.get(*k as usize)? {
                LoopArg::Captured(access) => Some((StmtId(v), (*k, access))),
                LoopArg::Carried { .. } => None,
            },
            _ => None,
        })
        .collect()
}

/// Returns the sizes and integer inputs of a body, over the batch and the iteration number.
pub fn captured_integers(builder: &SsaBuilder, of: &SsaLoop) -> HashMap<LocalId, Poly> {
    let mut sizes: HashMap<LocalId, Poly> = of.body.sizes.iter().copied().zip(of.sizes.iter().cloned()).collect();
    for (input, arg) in of.body.inputs.iter().zip(&of.args) {
        if let (LoopArg::Captured(access), [], Some(Scalar::I64)) = (arg, input.leaf.dims.as_slice(), input.leaf.scalar)
        {
            sizes.insert(input.local, integer_poly(builder, &of.batch, &of.pred, access));
        }
    }
    sizes
}

/// Rewrites a polynomial of a body for the outside. `None` if it depends on values that the body
/// computes.
pub fn lift_poly(
    p: &Poly,
    sizes: &HashMap<LocalId, Poly>,
    captured: &HashMap<StmtId, (u32, &TensorAccess)>,
) -> Option<Poly> {
    let mut known = true;
    p.for_each_atom(&mut |a| {
        known &= match a {
            Atom::Local(l, _) => sizes.contains_key(l),
            Atom::Read(x, _, at) => {
                StmtId::from_local(*x).is_some_and(|v| captured.contains_key(&v))
                    && at.iter().all(|p| lift_poly(p, sizes, captured).is_some())
            }
            Atom::Global(_) | Atom::Div(..) | Atom::Mod(..) | Atom::Min(..) | Atom::Max(..) => true,
            Atom::SizeParam(..) | Atom::Arg(..) | Atom::Meta(_) | Atom::Overflow => false,
        };
    });
    known.then(|| {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => sizes.get(l).cloned(),
            Atom::Read(x, _, at) => {
                let (_, access) = captured.get(&StmtId::from_local(*x)?)?;
                let rest = at.iter().map(|p| lift_poly(p, sizes, captured)).collect::<Option<Vec<Poly>>>()?;
                let at = access.at.iter().cloned().chain(rest).collect();
                Some(Poly::atom(Atom::Read(access.var.local(), access.var.name(), at)))
            }
            _ => None,
        })
    })
}
