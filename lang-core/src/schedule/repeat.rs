//! Loops whose bodies are loops and elements alone become statements of the function around them, with the number of the
//! iteration for one more index: so they share loops, and their elements registers, with what is around.
//!
//! What is carried is a *state*, which has no such index: it is set before the loop, and again at the end of each iteration.
//! Where an iteration begins a copy of it is what the body reads. So of `C` carried from `I` on, with `N` for its next value,
//! there is a statement for the state, `S[i] = I[i]` and then `S[i] = N[t, i]`, and one for the copy, `C[t, i] = S[i]`.
//! These and what depends on them are in one loop over `t`, in this order: copies, the body, states ([`Repeat`]).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::fewer::{fewer, forget};
use super::items::{fits, has_reads};
use super::numbers::{access, indices, indices_of, is_inside, places, pred};
use super::products::products;
use super::terms::unasked;
use crate::ir::core::Constant;
use crate::ir::flat::Input;
use crate::ir::put::Put;
use crate::ir::reduce::Reduce;
use crate::ir::region::{Arg, Loop, Part};
use crate::ir::ssa::{Access, Check, Rhs, Ssa, Stmt, Var, at_indices, for_each_read, index};
use crate::predicate::{Atom, Poly, Pred};
use crate::syntax::ops::Scalar;

/// Longer bodies stay functions of their own: which statements share loops takes time that grows faster than they do.
const LONGEST: usize = 120;

/// What is carried.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// What it is at first, over its own indices.
    pub(super) init: Access,
    /// What it is next, over its own indices and, behind these, the number of the iteration.
    pub(super) next: Access,
    /// What the body reads: a copy for each iteration, and which of its indices the number of that is.
    pub(super) copy: (Var, usize),
}

/// A loop that became statements.
#[derive(Clone, Debug, Default)]
pub(super) struct Repeat {
    /// What is in one loop over the number of the iteration, in this order.
    pub(super) order: Vec<Var>,
    /// Which index that is of each statement.
    pub(super) axis: HashMap<Var, usize>,
    /// The states among them.
    pub(super) states: HashMap<Var, State>,
}

/// The function without loops that can be statements, and these.
pub(super) fn repeats(ssa: &Ssa) -> Option<(Ssa, Vec<Repeat>)> {
    let mut loops: Vec<Arc<Loop>> = Vec::new();
    for stmt in &ssa.stmts {
        if let Rhs::Loop(of, _) = &stmt.rhs
            && !loops.iter().any(|other| Arc::ptr_eq(other, of) || other == of)
        {
            loops.push(Arc::clone(of));
        }
    }
    let mut made = ssa.clone();
    let mut all = Vec::new();
    for of in loops {
        if let Some((next, repeat)) = repeated(&made, &of) {
            made = next;
            all.push(repeat);
        }
    }
    if all.is_empty() {
        return None;
    }
    forget(&mut made, all.iter().flat_map(|r: &Repeat| r.states.values()).map(|state| state.init.var));
    Some((made, all))
}

/// The function with the statements of a loop instead of its parts.
fn repeated(ssa: &Ssa, of: &Loop) -> Option<(Ssa, Repeat)> {
    let count = of.count().filter(|n| !has_reads(n) && indices([*n]).is_empty())?;
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
    let mut inside = Inside {
        ssa: ssa.clone(),
        first: ssa.stmts.len(),
        put: Put {
            locals: body.sizes.iter().copied().zip(of.sizes.iter().cloned()).collect(),
            vars: Vec::new(),
            outer: around.len(),
        },
        around,
        depend: HashSet::new(),
        repeat: Repeat::default(),
        checks: vec![None; body.checks.len()],
        copies: HashMap::new(),
    };
    let states = inside.states(of, &body)?;
    inside.body(of, &body, &states)?;
    inside.next(of, &body, &states)?;
    inside.parts(of, &body, &states)?;
    Some((inside.ssa, inside.repeat))
}

/// A loop that is put into the function around it.
struct Inside {
    ssa: Ssa,
    /// Statements from here on are new.
    first: usize,
    put: Put,
    /// The extents of the batch and of the number of the iteration.
    around: Vec<Poly>,
    /// What depends on what is carried.
    depend: HashSet<Var>,
    repeat: Repeat,
    /// What checks of the body are here.
    checks: Vec<Option<u32>>,
    /// What is carried, as the body reads it, by the input.
    copies: HashMap<u32, Access>,
}

impl Inside {
    /// The states of what is carried, by the input.
    fn states(&mut self, of: &Loop, body: &Ssa) -> Option<HashMap<u32, Var>> {
        let mut states = HashMap::new();
        for ((k, arg), input) in (0..).zip(&of.args).zip(&body.inputs) {
            let Arg::Carried { .. } = arg else { continue };
            let own: Vec<Poly> = input.leaf.dims.iter().map(|n| self.put.poly(n)).collect();
            if !own.iter().all(|n| !has_reads(n) && indices([n]).is_empty()) {
                return None;
            }
            let dims: Vec<Poly> = of.batch.iter().cloned().chain(own).collect();
            let scalar = Some(input.leaf.scalar?);
            // What it is made of is known when the body is there.
            let state = self.push(Stmt { dims, scalar, rhs: Rhs::Zero, needs: Vec::new(), name: None })?;
            states.insert(k, state);
        }
        Some(states)
    }

    fn push(&mut self, stmt: Stmt) -> Option<Var> {
        let var = Var(u32::try_from(self.ssa.stmts.len()).ok()?);
        self.ssa.stmts.push(stmt);
        Some(var)
    }

    /// The statements of the body.
    fn body(&mut self, of: &Loop, body: &Ssa, states: &HashMap<u32, Var>) -> Option<()> {
        // Copies come first, whichever statement reads the input.
        for ((k, _), input) in (0..).zip(&of.args).zip(&body.inputs) {
            let Some(state) = states.get(&k) else { continue };
            let copy = self.copy(of, *state)?;
            self.integer(input, &copy)?;
            self.copies.insert(k, copy);
        }
        for (arg, input) in of.args.iter().zip(&body.inputs) {
            if let Arg::Given(of) = arg {
                self.integer(input, of)?;
            }
        }
        for stmt in &body.stmts {
            let there = match &stmt.rhs {
                Rhs::Input(k) => match of.args.get(*k as usize)? {
                    Arg::Carried { .. } => self.copies.get(k)?.clone(),
                    Arg::Given(given) => {
                        if !is_inside(&self.ssa, &self.around, &Pred::truth(), given) || given.at.iter().any(has_reads)
                        {
                            return None;
                        }
                        given.clone()
                    }
                },
                Rhs::Loop(..) | Rhs::Call { .. } | Rhs::Update { .. } | Rhs::Order(_) => return None,
                _ => self.statement(body, stmt)?,
            };
            self.put.vars.push(there);
        }
        Some(())
    }

    /// What is carried, as the body reads it.
    fn copy(&mut self, of: &Loop, state: Var) -> Option<Access> {
        let stmt = self.ssa.stmts.get(state.0 as usize)?;
        let (batch, own) = stmt.dims.split_at_checked(of.batch.len())?;
        let dims: Vec<Poly> = self.around.iter().chain(own).cloned().collect();
        let at = (0..dims.len()).filter(|k| *k != batch.len()).map(|k| index(k, &Poly::default()).value()).collect();
        let rhs = Rhs::Contract {
            bound: Vec::new(),
            pred: Pred::truth(),
            neg: false,
            factors: vec![Access { var: state, at }],
        };
        let copy = self.push(Stmt { dims, scalar: stmt.scalar, rhs, needs: Vec::new(), name: None })?;
        self.member(copy, of.batch.len());
        Some(Access { var: copy, at: self.put.around() })
    }

    fn member(&mut self, var: Var, axis: usize) {
        self.depend.insert(var);
        self.repeat.order.push(var);
        self.repeat.axis.insert(var, axis);
    }

    /// An integer that indices are made of.
    fn integer(&mut self, input: &Input, of: &Access) -> Option<()> {
        if input.leaf.scalar != Some(Scalar::I64) || !input.leaf.dims.is_empty() {
            return Some(());
        }
        let value = match &self.ssa.stmts.get(of.var.0 as usize)?.rhs {
            Rhs::Index(p) => at_indices(p, &of.at),
            Rhs::Constant(Constant::Int(k)) => Poly::constant((*k).into()),
            _ => Poly::atom(Atom::Read(of.var.local(), of.var.name(), of.at.clone().into())),
        };
        self.put.locals.insert(input.local, value);
        Some(())
    }

    /// A statement of the body, with those of the indices around it that it depends on.
    fn statement(&mut self, body: &Ssa, stmt: &Stmt) -> Option<Access> {
        let put = &self.put;
        let rhs = stmt.rhs.map(&mut |a| put.access(a), &|p| put.poly(p), &|p| put.pred(p));
        let own: Vec<Poly> = stmt.dims.iter().map(|n| put.poly(n)).collect();
        let outer = self.around.len();
        let mut used: BTreeSet<usize> = indices(&own);
        if let Rhs::Contract { bound, .. } | Rhs::Reduce(Reduce { bound, .. }) = &rhs {
            used.extend(indices(bound));
        }
        // Loops in it run alike in every iteration.
        if !used.is_empty() {
            return None;
        }
        rhs.for_each_poly(&mut |p| used.extend(indices([p])));
        rhs.for_each_pred(&mut |p| used.extend(indices_of(p)));
        let kept: Vec<usize> = (0..outer).filter(|k| used.contains(k)).collect();
        let mut depends = false;
        rhs.for_each_operand(&mut |v| depends |= self.depend.contains(&v));
        let mut needs = Vec::new();
        for check in &stmt.needs {
            needs.push(self.check(body, *check)?);
        }
        let bound = match &rhs {
            Rhs::Contract { bound, .. } | Rhs::Reduce(Reduce { bound, .. }) => bound.len(),
            _ => 0,
        };
        // Its own indices come behind those that are left.
        let mut values = places(&kept, outer + own.len() + bound);
        for (k, slot) in (0..).zip(values.iter_mut().skip(outer)) {
            *slot = index(kept.len() + k, &Poly::default()).value();
        }
        let rhs = rhs.map(&mut |a| access(a, &values), &|p| at_indices(p, &values), &|p| pred(p, &values));
        let dims = kept.iter().filter_map(|k| self.around.get(*k)).chain(&own).cloned().collect();
        let new = Stmt { dims, scalar: stmt.scalar, rhs, needs, name: stmt.name.clone() };
        if !super::is_trivial(&new.rhs) && !fits(&self.ssa, &new) {
            return None;
        }
        let var = self.push(new)?;
        if depends {
            // It has all indices: what is carried has.
            if kept.len() != outer {
                return None;
            }
            self.member(var, outer - 1);
        }
        Some(Access { var, at: kept.iter().map(|k| index(*k, &Poly::default()).value()).collect() })
    }

    /// A check of the body, which is asked of all iterations before them.
    fn check(&mut self, body: &Ssa, c: u32) -> Option<u32> {
        if let Some(known) = self.checks.get(c as usize)? {
            return Some(*known);
        }
        let own = body.checks.get(c as usize)?;
        let (guard, cond) = (self.put.pred(&own.guard), self.put.pred(&own.cond));
        let own_dims: Vec<Poly> = own.dims.iter().map(|n| self.put.poly(n)).collect();
        // What is asked runs over the same in every iteration.
        if own_dims.iter().any(|n| has_reads(n) || !indices([n]).is_empty()) {
            return None;
        }
        let mut late = false;
        let mut see = |v: Var| late |= v.0 as usize >= self.first;
        [&guard, &cond].into_iter().for_each(|p| for_each_read(p, &mut see));
        if late {
            return None;
        }
        let plain = |check: &Check| check.guard.is_true() && check.dims.is_empty() && check.cond == cond;
        let known = self.ssa.checks.iter().position(|check| plain(check) && indices_of(&cond).is_empty());
        let new = match known {
            Some(known) => known,
            None => {
                let dims = self.around.iter().cloned().chain(own_dims).collect();
                self.ssa.checks.push(Check { dims, guard, cond, what: own.what.clone() });
                self.ssa.checks.len() - 1
            }
        };
        let new = u32::try_from(new).ok()?;
        self.checks.get_mut(c as usize).into_iter().for_each(|slot| *slot = Some(new));
        Some(new)
    }

    /// States are what comes next, behind the body.
    fn next(&mut self, of: &Loop, body: &Ssa, states: &HashMap<u32, Var>) -> Option<()> {
        let (batch, outer) = (of.batch.len(), self.around.len());
        for (k, arg) in (0..).zip(&of.args) {
            let Arg::Carried { init, next } = arg else { continue };
            let state = *states.get(&k)?;
            let all = self.ssa.stmts.get(state.0 as usize)?.dims.len();
            let (_, output) = body.outputs.get(*next as usize)?;
            let own: Vec<Poly> = (outer..outer + all - batch).map(|k| index(k, &Poly::default()).value()).collect();
            let next = self.put.access_at(*output, own);
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
                bound: self.around.get(batch..)?.to_vec(),
                pred: Pred::truth(),
                neg: false,
                factors: vec![next.clone()],
            };
            self.ssa.stmts.get_mut(state.0 as usize)?.rhs = rhs;
            self.member(state, all);
            let copy = (self.copies.get(&k)?.var, batch);
            self.repeat.states.insert(state, State { init, next, copy });
        }
        Some(())
    }

    /// What is read of the loop.
    fn parts(&mut self, of: &Loop, body: &Ssa, states: &HashMap<u32, Var>) -> Option<()> {
        let (batch, outer) = (of.batch.len(), self.around.len());
        let mut whole = Vec::new();
        for check in &body.needs {
            whole.push(self.check(body, *check)?);
        }
        let count = self.around.get(batch)?.clone();
        for k in 0..self.first {
            let stmt = self.ssa.stmts.get(k)?;
            if let Some(copy) = self.scanned(of, body, stmt) {
                let own = (outer..stmt.dims.len()).map(|k| index(k, &Poly::default()).value());
                let copy = Access { var: copy.var, at: copy.at.iter().cloned().chain(own).collect() };
                self.ssa.stmts.get_mut(k)?.rhs =
                    Rhs::Contract { bound: Vec::new(), pred: Pred::truth(), neg: false, factors: vec![copy] };
            }
        }
        for k in 0..self.first {
            let stmt = self.ssa.stmts.get(k)?;
            let Rhs::Loop(other, part) = &stmt.rhs else { continue };
            if **other != *of {
                continue;
            }
            let all = stmt.dims.len();
            let at = |range: std::ops::Range<usize>| range.map(|k| index(k, &Poly::default()).value()).collect();
            let (of, pred) = match part {
                Part::Last(k) => (Access { var: *states.get(k)?, at: at(0..all) }, Pred::truth()),
                Part::Every(k) => {
                    let (_, output) = body.outputs.get(*k as usize)?;
                    let of = self.put.access_at(*output, at(outer..all));
                    let same = stmt.dims.get(batch) == Some(&count);
                    let runs = Pred::less(&index(batch, &Poly::default()).value(), &count);
                    (of, if same { Pred::truth() } else { runs })
                }
                Part::State(_) | Part::Trips => return None,
            };
            let mut needs = stmt.needs.clone();
            needs.extend(whole.iter().filter(|c| !stmt.needs.contains(c)));
            let rhs = Rhs::Contract { bound: Vec::new(), pred, neg: false, factors: vec![of] };
            let slot = self.ssa.stmts.get_mut(k)?;
            slot.rhs = rhs;
            slot.needs = needs;
        }
        Some(())
    }

    /// What is carried, if a statement is this for every iteration: `[t == 0] · I + [t != 0] · N[t - 1]`.
    fn scanned(&self, of: &Loop, body: &Ssa, stmt: &Stmt) -> Option<&Access> {
        let batch = of.batch.len();
        let Rhs::Add(items) = &stmt.rhs else { return None };
        let ([first, rest], true) = (items.as_slice(), stmt.dims.get(..=batch) == Some(&*self.around)) else {
            return None;
        };
        let number = index(batch, &Poly::default()).value();
        let asked = first.pred == Pred::zero(&number) && rest.pred == Pred::nonzero(&number);
        let Rhs::Loop(other, Part::Every(output)) = &self.ssa.stmts.get(rest.of.var.0 as usize)?.rhs else {
            return None;
        };
        let mut at = (0..stmt.dims.len()).map(|k| index(k, &Poly::default()).value()).collect::<Vec<Poly>>();
        let own: Vec<Poly> = at.iter().take(batch).chain(at.iter().skip(batch + 1)).cloned().collect();
        *at.get_mut(batch)? = number.plus(-1);
        if !asked || first.neg || rest.neg || **other != *of || rest.of.at != at {
            return None;
        }
        let init = seen(&self.ssa, &first.of);
        let is_this = |arg: &Arg| {
            let Arg::Carried { init: of, next } = arg else { return false };
            let from = Access { var: of.var, at: of.at.iter().chain(own.iter().skip(batch)).cloned().collect() };
            let output_of = |k: &u32| body.outputs.get(*k as usize).map(|(_, var)| *var);
            output_of(next) == output_of(output) && seen(&self.ssa, &from) == init
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
