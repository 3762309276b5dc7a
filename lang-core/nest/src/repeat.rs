//! **Loop flattening.** A loop whose body consists of element-wise statements and reductions
//! becomes statements of the enclosing function, with the iteration number as an additional index.
//! So its statements can fuse with their surroundings, and their elements need no memory.
//!
//! A loop-carried value becomes a *state* without that index. It is set before the loop and again
//! at the end of each iteration. The body reads a copy that is made at the start of each iteration.
//! If `C` is carried from `I` with next value `N`, the state is `S[i] = I[i]`, then
//! `S[i] = N[t, i]`, and the copy is `C[t, i] = S[i]`.
//!
//! The copies, the body and the states, and all that depends on them, are in one loop over `t`, in
//! this order ([`Repeat`]). A value that is only added to becomes a sum ([`scatters`]).

use std::collections::HashMap;
use std::sync::Arc;

use super::OfLoops;
use super::fewer::{fewer, forget};
use super::inside::Inside;
use super::items::has_reads;
use super::kernel::ENDLESS;
use super::numbers::{access, indices, is_inside};
use super::products::products;
use super::scatters::{self, Sum};
use super::terms::unasked;
use lang_ir::region::{Arg, Loop, Part, Trips};
use lang_ir::ssa::{Access, Addend, Rhs, Ssa, Stmt, Var, index, reads};
use lang_sizes::predicate::{Poly, Pred};

/// Longer bodies stay functions of their own: which statements share loops takes time that grows faster than they do.
const LONGEST: usize = 120;

/// A loop-carried state.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The initial value, over its own indices.
    pub(super) init: Access,
    /// The next value, over its own indices followed by the iteration number.
    pub(super) next: Access,
    /// The copy for each iteration, which the body reads, and the index of it that is the iteration
    /// number.
    pub(super) copy: (Var, usize),
}

impl State {
    /// Calls `f` on the operands of the initial value, including those of its indices.
    pub(super) fn for_each_operand(&self, f: &mut dyn FnMut(Var)) {
        f(self.init.var);
        self.init.at.iter().for_each(|p| reads(p, f));
    }
}

/// A loop that became statements.
#[derive(Clone, Debug, Default)]
pub(super) struct Repeat {
    /// The statements that must be in one loop over the iterations, in this order.
    pub(super) order: Vec<Var>,
    /// The index of each statement that is the iteration number.
    pub(super) axis: HashMap<Var, usize>,
    /// The states among them.
    pub(super) states: HashMap<Var, State>,
    /// The condition for another iteration, for a `while` loop.
    pub(super) goes_on: Option<Var>,
}

/// Flattens the loops of a function, and `while` loops too if `endless`. Returns the function, the
/// loops with ordered iterations, and the ranges of body statements, each with the first part of
/// its loop. `None` if nothing changes.
pub(super) fn repeats(ssa: &Ssa, endless: bool) -> Option<(Ssa, Vec<Repeat>, OfLoops)> {
    let mut loops: Vec<(Arc<Loop>, Var)> = Vec::new();
    for (var, stmt) in (0..).map(Var).zip(&ssa.stmts) {
        if let Rhs::Loop(of, _) = &stmt.rhs
            && !loops.iter().any(|(other, _)| Arc::ptr_eq(other, of) || other == of)
        {
            loops.push((Arc::clone(of), var));
        }
    }
    let count = |ssa: &Ssa| u32::try_from(ssa.stmts.len()).unwrap_or(u32::MAX);
    let mut made: Option<Ssa> = None;
    let (mut all, mut bodies) = (Vec::new(), Vec::new());
    for (of, part) in loops {
        let before = made.as_ref().unwrap_or(ssa);
        if let Some((next, repeat)) = repeated(before, &of, all.len(), endless) {
            bodies.push((count(before)..count(&next), part));
            made = Some(next);
            // Where nothing is carried iterations have no order.
            all.extend((!repeat.states.is_empty()).then_some(repeat));
        }
    }
    let mut made = made?;
    let mut read: Vec<Var> = Vec::new();
    for state in all.iter().flat_map(|r: &Repeat| r.states.values()) {
        state.for_each_operand(&mut |v| read.push(v));
    }
    read.extend(all.iter().filter_map(|r| r.goes_on));
    forget(&mut made, read);
    Some((made, all, bodies))
}

/// The function with the statements of a loop instead of its parts.
fn repeated(ssa: &Ssa, of: &Loop, nth: usize, endless: bool) -> Option<(Ssa, Repeat)> {
    // No two of them have one extent, as they have no loop in common.
    let extent = Poly::constant(i128::from(ENDLESS) + i128::try_from(nth).ok()?);
    let count = match &of.trips {
        Trips::Count(n) => Some(n).filter(|n| !has_reads(n) && indices([*n]).is_empty())?,
        Trips::While(_) => Some(&extent).filter(|_| endless && ends_alone(ssa, of))?,
    };
    let fixed = |n: &Poly| !has_reads(n) && indices([n]).is_empty();
    if !of.pred.is_true() || !of.batch.iter().all(fixed) || of.sizes.iter().any(has_reads) {
        return None;
    }
    let body = unasked(&of.body).map_or_else(|| Arc::clone(&of.body), Arc::new);
    let body = fewer(&body).map_or(body, Arc::new);
    if body.stmts.len() > LONGEST || !products(&body).1.is_empty() {
        return None;
    }
    let around: Vec<Poly> = of.batch.iter().chain([count]).cloned().collect();
    let inside = Inside::new(ssa, &body, &of.sizes, around);
    let sums = scatters::sums(ssa, of, &body);
    let mut repeated = Repeated { inside, repeat: Repeat::default(), copies: HashMap::new(), sums };
    let states = repeated.states(of, &body)?;
    repeated.body(of, &body, &states)?;
    repeated.next(of, &body, &states)?;
    if let Trips::While(k) = of.trips {
        repeated.repeat.goes_on = Some(*states.get(&k)?);
    }
    repeated.parts(of, &body, &states)?;
    Some((repeated.inside.ssa, repeated.repeat))
}

/// Is nothing wanted of a loop that data end but what it carries last? Checks would be asked for iterations that there are not.
fn ends_alone(ssa: &Ssa, of: &Loop) -> bool {
    let parts = ssa.stmts.iter().filter_map(|stmt| match &stmt.rhs {
        Rhs::Loop(other, part) if **other == *of => Some(part),
        _ => None,
    });
    of.body.checks.is_empty() && parts.into_iter().all(|part| matches!(part, Part::Last(_)))
}

/// A loop that is put into the function around it. The place has the indices of the batch and the number of the iteration; what
/// depends on what is carried has all of them.
struct Repeated {
    inside: Inside,
    repeat: Repeat,
    /// What is carried, as the body reads it, by the input.
    copies: HashMap<u32, Access>,
    /// What is carried and only added to, by the input.
    sums: HashMap<u32, Sum>,
}

impl Repeated {
    /// The states of what is carried, by the input.
    fn states(&mut self, of: &Loop, body: &Ssa) -> Option<HashMap<u32, Var>> {
        let mut states = HashMap::new();
        for ((k, arg), input) in (0..).zip(&of.args).zip(&body.inputs) {
            let (Arg::Carried { .. }, false) = (arg, self.sums.contains_key(&k)) else { continue };
            let own: Vec<Poly> = input.leaf.dims.iter().map(|n| self.inside.put.poly(n)).collect();
            if !own.iter().all(|n| !has_reads(n) && indices([n]).is_empty()) {
                return None;
            }
            let dims: Vec<Poly> = of.batch.iter().cloned().chain(own).collect();
            let scalar = Some(input.leaf.scalar?);
            // What it is made of is known when the body is there.
            let state = self.inside.push(Stmt { dims, scalar, rhs: Rhs::Zero, needs: Vec::new(), name: None })?;
            states.insert(k, state);
        }
        Some(states)
    }

    /// The statements of the body.
    fn body(&mut self, of: &Loop, body: &Ssa, states: &HashMap<u32, Var>) -> Option<()> {
        // Copies come first, whichever statement reads the input.
        for ((k, _), input) in (0..).zip(&of.args).zip(&body.inputs) {
            let Some(state) = states.get(&k) else { continue };
            let copy = self.copy(of, *state)?;
            self.inside.integer(input, &copy)?;
            self.copies.insert(k, copy);
        }
        for (arg, input) in of.args.iter().zip(&body.inputs) {
            if let Arg::Given(of) = arg {
                self.inside.integer(input, of)?;
            }
        }
        for (var, stmt) in (0..).map(Var).zip(&body.stmts) {
            let there = match &stmt.rhs {
                // Nothing reads them.
                Rhs::Input(k) if self.sums.contains_key(k) => Access { var, at: Vec::new() },
                Rhs::Update { .. } if self.sums.values().any(|sum| sum.update == var) => Access { var, at: Vec::new() },
                Rhs::Input(k) => match of.args.get(*k as usize)? {
                    Arg::Carried { .. } => self.copies.get(k)?.clone(),
                    Arg::Given(given) => {
                        if !is_inside(&self.inside.ssa, &self.inside.around, &Pred::truth(), given)
                            || given.at.iter().any(has_reads)
                        {
                            return None;
                        }
                        given.clone()
                    }
                },
                Rhs::Loop(..) | Rhs::Call { .. } | Rhs::Update { .. } | Rhs::Order(_) => return None,
                _ => {
                    let (there, depends) = self.inside.statement(body, stmt)?;
                    if depends {
                        self.member(there.var, self.inside.around.len() - 1);
                    }
                    there
                }
            };
            self.inside.put.vars.push(there);
        }
        Some(())
    }

    /// What is carried, as the body reads it.
    fn copy(&mut self, of: &Loop, state: Var) -> Option<Access> {
        let stmt = self.inside.ssa.stmts.get(state.0 as usize)?;
        let (batch, own) = stmt.dims.split_at_checked(of.batch.len())?;
        let dims: Vec<Poly> = self.inside.around.iter().chain(own).cloned().collect();
        let at = (0..dims.len()).filter(|k| *k != batch.len()).map(|k| index(k, &Poly::default()).value()).collect();
        let rhs = Rhs::Contract {
            bound: Vec::new(),
            pred: Pred::truth(),
            neg: false,
            factors: vec![Access { var: state, at }],
        };
        let copy = self.inside.push(Stmt { dims, scalar: stmt.scalar, rhs, needs: Vec::new(), name: None })?;
        self.member(copy, of.batch.len());
        Some(Access { var: copy, at: self.inside.put.around() })
    }

    fn member(&mut self, var: Var, axis: usize) {
        self.inside.depend.insert(var);
        self.repeat.order.push(var);
        self.repeat.axis.insert(var, axis);
    }

    /// States are what comes next, behind the body.
    fn next(&mut self, of: &Loop, body: &Ssa, states: &HashMap<u32, Var>) -> Option<()> {
        let (batch, outer) = (of.batch.len(), self.inside.around.len());
        for (k, arg) in (0..).zip(&of.args) {
            let Arg::Carried { init, next } = arg else { continue };
            let (Some(state), false) = (states.get(&k).copied(), self.sums.contains_key(&k)) else { continue };
            let all = self.inside.ssa.stmts.get(state.0 as usize)?.dims.len();
            let (_, output) = body.outputs.get(*next as usize)?;
            let own: Vec<Poly> = (outer..outer + all - batch).map(|k| index(k, &Poly::default()).value()).collect();
            let next = self.inside.put.access_at(*output, own);
            // The number of the iteration comes last.
            let values: Vec<Poly> = (0..=all)
                .map(|k| match k {
                    k if k < batch => k,
                    k if k == batch => all,
                    k => k - 1,
                })
                .map(|k| index(k, &Poly::default()).value())
                .collect();
            let next = access(&next, &values);
            let own = (batch..all).map(|k| index(k, &Poly::default()).value());
            let init = Access { var: init.var, at: init.at.iter().cloned().chain(own).collect() };
            let rhs = Rhs::Contract {
                bound: self.inside.around.get(batch..)?.to_vec(),
                pred: Pred::truth(),
                neg: false,
                factors: vec![next.clone()],
            };
            self.inside.ssa.stmts.get_mut(state.0 as usize)?.rhs = rhs;
            self.member(state, all);
            let copy = (self.copies.get(&k)?.var, batch);
            self.repeat.states.insert(state, State { init, next, copy });
        }
        Some(())
    }

    /// What is read of the loop.
    fn parts(&mut self, of: &Loop, body: &Ssa, states: &HashMap<u32, Var>) -> Option<()> {
        let (batch, outer) = (of.batch.len(), self.inside.around.len());
        let mut whole = Vec::new();
        for check in &body.needs {
            whole.push(self.inside.check(body, *check)?);
        }
        let count = self.inside.around.get(batch)?.clone();
        for k in 0..self.inside.first {
            let stmt = self.inside.ssa.stmts.get(k)?;
            if let Some(copy) = self.scanned(of, body, stmt) {
                let own = (outer..stmt.dims.len()).map(|k| index(k, &Poly::default()).value());
                let copy = Access { var: copy.var, at: copy.at.iter().cloned().chain(own).collect() };
                self.inside.ssa.stmts.get_mut(k)?.rhs =
                    Rhs::Contract { bound: Vec::new(), pred: Pred::truth(), neg: false, factors: vec![copy] };
            }
        }
        for k in 0..self.inside.first {
            let stmt = self.inside.ssa.stmts.get(k)?;
            let Rhs::Loop(other, part) = &stmt.rhs else { continue };
            if **other != *of {
                continue;
            }
            let all = stmt.dims.len();
            let at = |range: std::ops::Range<usize>| range.map(|k| index(k, &Poly::default()).value()).collect();
            if let Part::Last(last) = part
                && let Some(sum) = self.sums.get(last)
            {
                let (init, dims, needs) =
                    (of.args.get(*last as usize)?.access().clone(), stmt.dims.clone(), stmt.needs.clone());
                let added = sum.added(&mut self.inside, body, &dims)?;
                let own = (batch..all).map(|k| index(k, &Poly::default()).value());
                let init = Access { var: init.var, at: init.at.iter().cloned().chain(own).collect() };
                let item = |of: Access| Addend { neg: false, pred: Pred::truth(), of };
                let slot = self.inside.ssa.stmts.get_mut(k)?;
                slot.rhs = Rhs::Add(vec![item(init), item(added)]);
                slot.needs = needs.into_iter().chain(whole.iter().copied()).collect();
                continue;
            }
            let (of, pred) = match part {
                Part::Last(k) => (Access { var: *states.get(k)?, at: at(0..all) }, Pred::truth()),
                Part::Every(k) => {
                    let (_, output) = body.outputs.get(*k as usize)?;
                    let of = self.inside.put.access_at(*output, at(outer..all));
                    let same = stmt.dims.get(batch) == Some(&count);
                    let runs = Pred::less(&index(batch, &Poly::default()).value(), &count);
                    (of, if same { Pred::truth() } else { runs })
                }
                Part::State(_) | Part::Trips => return None,
            };
            let mut needs = stmt.needs.clone();
            needs.extend(whole.iter().filter(|c| !stmt.needs.contains(c)));
            let rhs = Rhs::Contract { bound: Vec::new(), pred, neg: false, factors: vec![of] };
            let slot = self.inside.ssa.stmts.get_mut(k)?;
            slot.rhs = rhs;
            slot.needs = needs;
        }
        Some(())
    }

    /// What is carried, if a statement is this for every iteration: `[t == 0] · I + [t != 0] · N[t - 1]`.
    fn scanned(&self, of: &Loop, body: &Ssa, stmt: &Stmt) -> Option<&Access> {
        let batch = of.batch.len();
        let Rhs::Add(items) = &stmt.rhs else { return None };
        let ([first, rest], true) = (items.as_slice(), stmt.dims.get(..=batch) == Some(&*self.inside.around)) else {
            return None;
        };
        let number = index(batch, &Poly::default()).value();
        let asked = first.pred == Pred::zero(&number) && rest.pred == Pred::nonzero(&number);
        let Rhs::Loop(other, Part::Every(output)) = &self.inside.ssa.stmts.get(rest.of.var.0 as usize)?.rhs else {
            return None;
        };
        let mut at = (0..stmt.dims.len()).map(|k| index(k, &Poly::default()).value()).collect::<Vec<Poly>>();
        let own: Vec<Poly> = at.iter().take(batch).chain(at.iter().skip(batch + 1)).cloned().collect();
        *at.get_mut(batch)? = number.plus(-1);
        if !asked || first.neg || rest.neg || **other != *of || rest.of.at != at {
            return None;
        }
        let init = seen(&self.inside.ssa, &first.of);
        let is_this = |arg: &Arg| {
            let Arg::Carried { init: of, next } = arg else { return false };
            let from = Access { var: of.var, at: of.at.iter().chain(own.iter().skip(batch)).cloned().collect() };
            let output_of = |k: &u32| body.outputs.get(*k as usize).map(|(_, var)| *var);
            output_of(next) == output_of(output) && seen(&self.inside.ssa, &from) == init
        };
        let k = of.args.iter().position(is_this)?;
        self.copies.get(&u32::try_from(k).ok()?)
    }
}

/// What an element is that others only pass on.
fn seen(ssa: &Ssa, of: &Access) -> Access {
    let mut of = of.clone();
    while let Some(Rhs::Contract { bound, pred, neg: false, factors }) =
        ssa.stmts.get(of.var.0 as usize).map(|s| &s.rhs)
        && let ([one], true, true) = (factors.as_slice(), bound.is_empty(), pred.is_true())
    {
        of = access(one, &of.at);
    }
    of
}
