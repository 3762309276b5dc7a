//! **Loop flattening.** A loop whose body consists of element-wise statements and reductions
//! becomes statements of the enclosing function. The iteration number is their additional index. So
//! these statements can fuse with their surroundings, and their elements need no memory.
//!
//! A loop-carried value becomes a *state* without that index. Assignments before the loop and at
//! the end of each iteration set the state. The body reads a copy, which the start of each
//! iteration sets. Let `C` be carried from `I`, with the next value `N`. The state is first
//! `S[i] = I[i]`, then `S[i] = N[t, i]`; the copy is `C[t, i] = S[i]`.
//!
//! The copies, the body and the states, and all that depends on them, are in one loop over `t`, in
//! this order ([`FlattenedLoop`]). A value that is only added to becomes a sum
//! ([`scatter_reductions`]).

use std::collections::HashMap;
use std::sync::Arc;

use super::LoopBodyRanges;
use super::gemm::recognise_products;
use super::loop_nest::WHILE_EXTENT;
use super::scatter_reductions::{self, ScatterReduction};
use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{
    Addend, Rhs, SsaFunction, Statement, StmtId, TensorAccess, for_each_poly_read, statement_index, union_of_checks,
};
use lang_opt::index_util::{indices, is_in_bounds, substitute_access};
use lang_opt::invariant_axes::{eliminate_dead_stmts, remove_invariant_axes, remove_resultless_producers};
use lang_opt::kernel_statements::has_reads;
use lang_opt::redundant_guards::remove_redundant_guards;
use lang_opt::splice::Splicer;
use lang_sizes::predicate::{Poly, Pred};

/// The maximum length of a flattened body, because the time of loop fusion grows faster than the
/// number of statements.
const MAX_FLATTENED_STMTS: usize = 120;

/// A loop-carried state.
#[derive(Clone, Debug)]
pub(super) struct CarriedState {
    /// The initial value, over its own indices.
    pub(super) init: TensorAccess,
    /// The next value, over its own indices followed by the iteration number.
    pub(super) next: TensorAccess,
    /// The copy for each iteration, which the body reads, and the index of it that is the iteration
    /// number.
    pub(super) copy: (StmtId, usize),
}

impl CarriedState {
    /// Calls `f` on the operands of the initial value, including those of its indices.
    pub(super) fn for_each_operand(&self, f: &mut dyn FnMut(StmtId)) {
        f(self.init.var);
        self.init.at.iter().for_each(|p| for_each_poly_read(p, f));
    }
}

/// A loop that became statements.
#[derive(Clone, Debug, Default)]
pub(super) struct FlattenedLoop {
    /// The statements that must be in one loop over the iterations, in this order.
    pub(super) order: Vec<StmtId>,
    /// The index of each statement that is the iteration number.
    pub(super) iteration_axis: HashMap<StmtId, usize>,
    /// The states among them.
    pub(super) states: HashMap<StmtId, CarriedState>,
    /// The condition for another iteration, for a `while` loop.
    pub(super) while_condition: Option<StmtId>,
}

/// Flattens the loops of a function, and `while` loops too if `endless`. Returns the function, the
/// loops with ordered iterations, and the ranges of body statements, each with its loop. `None` if
/// nothing changes.
pub(super) fn flatten_loops(
    ssa: &SsaFunction,
    endless: bool,
) -> Option<(SsaFunction, Vec<FlattenedLoop>, LoopBodyRanges)> {
    let count = |ssa: &SsaFunction| u32::try_from(ssa.stmts.len()).unwrap_or(u32::MAX);
    let mut flattened: Option<SsaFunction> = None;
    let (mut all, mut bodies) = (Vec::new(), Vec::new());
    for (producer, stmt) in (0..).map(StmtId).zip(&ssa.stmts) {
        let Rhs::Loop(of) = &stmt.rhs else { continue };
        let before = flattened.as_ref().unwrap_or(ssa);
        if let Some((next, repeat)) = flatten_loop(before, (producer, of), all.len(), endless) {
            bodies.push((count(before)..count(&next), producer));
            flattened = Some(next);
            // The iterations of a loop without states have no order.
            all.extend((!repeat.states.is_empty()).then_some(repeat));
        }
    }
    let mut function = flattened?;
    let mut read: Vec<StmtId> = Vec::new();
    for state in all.iter().flat_map(|r: &FlattenedLoop| r.states.values()) {
        state.for_each_operand(&mut |v| read.push(v));
    }
    read.extend(all.iter().filter_map(|r| r.while_condition));
    eliminate_dead_stmts(&mut function, read);
    Some((function, all, bodies))
}

/// Replaces the results of a loop by the statements of its body.
fn flatten_loop(
    ssa: &SsaFunction,
    (producer, of): (StmtId, &SsaLoop),
    nth: usize,
    endless: bool,
) -> Option<(SsaFunction, FlattenedLoop)> {
    // Each `while` loop has its own extent, because two of them must not fuse.
    let extent = Poly::constant(i128::from(WHILE_EXTENT) + i128::try_from(nth).ok()?);
    let count = match &of.trip_count {
        LoopTripCount::Fixed(n) => Some(n).filter(|n| !has_reads(n) && indices([*n]).is_empty())?,
        LoopTripCount::While(_) => Some(&extent).filter(|_| endless && has_only_final_values(ssa, producer, of))?,
    };
    let fixed = |n: &Poly| !has_reads(n) && indices([n]).is_empty();
    if !of.pred.is_true() || !of.batch.iter().all(fixed) || of.sizes.iter().any(has_reads) {
        return None;
    }
    let body = remove_redundant_guards(&of.body).map_or_else(|| Arc::clone(&of.body), Arc::new);
    let body = remove_invariant_axes(&body).map_or(body, Arc::new);
    if body.stmts.len() > MAX_FLATTENED_STMTS || !recognise_products(&body).1.is_empty() {
        return None;
    }
    let around: Vec<Poly> = of.batch.iter().chain([count]).cloned().collect();
    let inside = Splicer::new(ssa, &body, &of.sizes, around);
    let sums = scatter_reductions::scatter_reductions(ssa, (producer, of), &body);
    let mut repeated = LoopFlattening {
        splicer: inside,
        flattened: FlattenedLoop::default(),
        copies: HashMap::new(),
        scatter_reductions: sums,
    };
    let states = repeated.add_states(of, &body)?;
    repeated.add_body(of, &body, &states)?;
    repeated.assign_next_values(of, &body, &states)?;
    if let LoopTripCount::While(k) = of.trip_count {
        repeated.flattened.while_condition = Some(*states.get(&k)?);
    }
    repeated.replace_results((producer, of), &body, &states)?;
    remove_resultless_producers(&mut repeated.splicer.ssa);
    Some((repeated.splicer.ssa, repeated.flattened))
}

/// Returns whether a `while` loop has no checks and only its final values have readers. Checks
/// would cover iterations that never run.
fn has_only_final_values(ssa: &SsaFunction, producer: StmtId, of: &SsaLoop) -> bool {
    of.body.checks.is_empty() && ssa.loop_results(producer).all(|(_, result)| matches!(result, LoopResult::Final(_)))
}

/// A loop under splicing into the enclosing function. The place has the indices of the batch and
/// the iteration number. Statements that depend on carried values keep all of them.
struct LoopFlattening {
    splicer: Splicer,
    flattened: FlattenedLoop,
    /// The copies of the states that the body reads, by input.
    copies: HashMap<u32, TensorAccess>,
    /// The scatter reductions, by input.
    scatter_reductions: HashMap<u32, ScatterReduction>,
}

impl LoopFlattening {
    /// Adds the states of the carried inputs, and returns them by input.
    fn add_states(&mut self, of: &SsaLoop, body: &SsaFunction) -> Option<HashMap<u32, StmtId>> {
        let mut states = HashMap::new();
        for ((k, arg), input) in (0..).zip(&of.args).zip(&body.inputs) {
            let (LoopArg::Carried { .. }, false) = (arg, self.scatter_reductions.contains_key(&k)) else { continue };
            let own: Vec<Poly> = input.leaf.dims.iter().map(|n| self.splicer.substitution.map_poly(n)).collect();
            if !own.iter().all(|n| !has_reads(n) && indices([n]).is_empty()) {
                return None;
            }
            let dims: Vec<Poly> = of.batch.iter().cloned().chain(own).collect();
            let scalar = Some(input.leaf.scalar?);
            // The right-hand side is a placeholder until the body exists.
            let state =
                self.splicer.push_stmt(Statement { dims, scalar, rhs: Rhs::Zero, needs: Vec::new(), name: None })?;
            states.insert(k, state);
        }
        Some(states)
    }

    /// Adds the statements of the body.
    fn add_body(&mut self, of: &SsaLoop, body: &SsaFunction, states: &HashMap<u32, StmtId>) -> Option<()> {
        // Copies precede the body, whichever statement reads the input.
        for ((k, _), input) in (0..).zip(&of.args).zip(&body.inputs) {
            let Some(state) = states.get(&k) else { continue };
            let copy = self.add_copy(of, *state)?;
            self.splicer.bind_integer(input, &copy)?;
            self.copies.insert(k, copy);
        }
        for (arg, input) in of.args.iter().zip(&body.inputs) {
            if let LoopArg::Captured(of) = arg {
                self.splicer.bind_integer(input, of)?;
            }
        }
        for (var, stmt) in (0..).map(StmtId).zip(&body.stmts) {
            let there = match &stmt.rhs {
                // Nothing reads them.
                Rhs::Input(k) if self.scatter_reductions.contains_key(k) => TensorAccess { var, at: Vec::new() },
                Rhs::Update { .. } if self.scatter_reductions.values().any(|sum| sum.update == var) => {
                    TensorAccess { var, at: Vec::new() }
                }
                Rhs::Input(k) => match of.args.get(*k as usize)? {
                    LoopArg::Carried { .. } => self.copies.get(k)?.clone(),
                    LoopArg::Captured(access) => {
                        if !is_in_bounds(&self.splicer.ssa, &self.splicer.enclosing_extents, &Pred::truth(), access)
                            || access.at.iter().any(has_reads)
                        {
                            return None;
                        }
                        access.clone()
                    }
                },
                Rhs::Loop(_) | Rhs::Call { .. } | Rhs::Update { .. } | Rhs::Argsort(_) => return None,
                _ => {
                    let (there, depends) = self.splicer.splice_stmt(body, stmt)?;
                    if depends {
                        self.add_ordered_stmt(there.var, self.splicer.enclosing_extents.len() - 1);
                    }
                    there
                }
            };
            self.splicer.substitution.vars.push(there);
        }
        Some(())
    }

    /// Adds the copy of a state that the body reads.
    fn add_copy(&mut self, of: &SsaLoop, state: StmtId) -> Option<TensorAccess> {
        let stmt = self.splicer.ssa.stmts.get(state.0 as usize)?;
        let (batch, own) = stmt.dims.split_at_checked(of.batch.len())?;
        let dims: Vec<Poly> = self.splicer.enclosing_extents.iter().chain(own).cloned().collect();
        let at = (0..dims.len())
            .filter(|k| *k != batch.len())
            .map(|k| statement_index(k, &Poly::default()).value())
            .collect();
        let rhs = Rhs::Contract {
            bound: Vec::new(),
            pred: Pred::truth(),
            neg: false,
            factors: vec![TensorAccess { var: state, at }],
        };
        let copy =
            self.splicer.push_stmt(Statement { dims, scalar: stmt.scalar, rhs, needs: Vec::new(), name: None })?;
        self.add_ordered_stmt(copy, of.batch.len());
        Some(TensorAccess { var: copy, at: self.splicer.substitution.outer_indices() })
    }

    fn add_ordered_stmt(&mut self, var: StmtId, axis: usize) {
        self.splicer.dependent_vars.insert(var);
        self.flattened.order.push(var);
        self.flattened.iteration_axis.insert(var, axis);
    }

    /// Assigns the next values to the states, after the body.
    fn assign_next_values(&mut self, of: &SsaLoop, body: &SsaFunction, states: &HashMap<u32, StmtId>) -> Option<()> {
        let (batch, outer) = (of.batch.len(), self.splicer.enclosing_extents.len());
        for (k, arg) in (0..).zip(&of.args) {
            let LoopArg::Carried { init, next } = arg else { continue };
            let (Some(state), false) = (states.get(&k).copied(), self.scatter_reductions.contains_key(&k)) else {
                continue;
            };
            let all = self.splicer.ssa.stmts.get(state.0 as usize)?.dims.len();
            let (_, output) = body.outputs.get(*next as usize)?;
            let own: Vec<Poly> =
                (outer..outer + all - batch).map(|k| statement_index(k, &Poly::default()).value()).collect();
            let next = self.splicer.substitution.map_access_at(*output, own);
            // The iteration number becomes the last index.
            let values: Vec<Poly> = (0..=all)
                .map(|k| match k {
                    k if k < batch => k,
                    k if k == batch => all,
                    k => k - 1,
                })
                .map(|k| statement_index(k, &Poly::default()).value())
                .collect();
            let next = substitute_access(&next, &values);
            let own = (batch..all).map(|k| statement_index(k, &Poly::default()).value());
            let init = TensorAccess { var: init.var, at: init.at.iter().cloned().chain(own).collect() };
            let rhs = Rhs::Contract {
                bound: self.splicer.enclosing_extents.get(batch..)?.to_vec(),
                pred: Pred::truth(),
                neg: false,
                factors: vec![next.clone()],
            };
            self.splicer.ssa.stmts.get_mut(state.0 as usize)?.rhs = rhs;
            self.add_ordered_stmt(state, all);
            let copy = (self.copies.get(&k)?.var, batch);
            self.flattened.states.insert(state, CarriedState { init, next, copy });
        }
        Some(())
    }

    /// Rewrites the statements that read the loop's results.
    fn replace_results(
        &mut self,
        (producer, of): (StmtId, &SsaLoop),
        body: &SsaFunction,
        states: &HashMap<u32, StmtId>,
    ) -> Option<()> {
        let (batch, outer) = (of.batch.len(), self.splicer.enclosing_extents.len());
        let mut whole = self.splicer.ssa.stmts.get(producer.0 as usize)?.needs.clone();
        for check in &body.needs {
            whole.push(self.splicer.splice_check(body, *check)?);
        }
        let count = self.splicer.enclosing_extents.get(batch)?.clone();
        for k in 0..self.splicer.first_new_stmt {
            let stmt = self.splicer.ssa.stmts.get(k)?;
            if let Some(copy) = self.copy_for_scan((producer, of), body, stmt) {
                let own = (outer..stmt.dims.len()).map(|k| statement_index(k, &Poly::default()).value());
                let copy = TensorAccess { var: copy.var, at: copy.at.iter().cloned().chain(own).collect() };
                self.splicer.ssa.stmts.get_mut(k)?.rhs =
                    Rhs::Contract { bound: Vec::new(), pred: Pred::truth(), neg: false, factors: vec![copy] };
            }
        }
        for k in 0..self.splicer.first_new_stmt {
            let stmt = self.splicer.ssa.stmts.get(k)?;
            let Rhs::LoopResult(other, part) = &stmt.rhs else { continue };
            if *other != producer {
                continue;
            }
            let all = stmt.dims.len();
            let at =
                |range: std::ops::Range<usize>| range.map(|k| statement_index(k, &Poly::default()).value()).collect();
            if let LoopResult::Final(last) = part
                && let Some(sum) = self.scatter_reductions.get(last)
            {
                let (init, dims, needs) =
                    (of.args.get(*last as usize)?.access().clone(), stmt.dims.clone(), stmt.needs.clone());
                let added = sum.add_sum(&mut self.splicer, body, &dims)?;
                let own = (batch..all).map(|k| statement_index(k, &Poly::default()).value());
                let init = TensorAccess { var: init.var, at: init.at.iter().cloned().chain(own).collect() };
                let item = |of: TensorAccess| Addend { neg: false, pred: Pred::truth(), operand: of };
                let slot = self.splicer.ssa.stmts.get_mut(k)?;
                slot.rhs = Rhs::Add(vec![item(init), item(added)]);
                slot.needs = union_of_checks(&needs, &whole);
                continue;
            }
            let (of, pred) = match part {
                LoopResult::Final(k) => (TensorAccess { var: *states.get(k)?, at: at(0..all) }, Pred::truth()),
                LoopResult::PerIteration(k) => {
                    let (_, output) = body.outputs.get(*k as usize)?;
                    let of = self.splicer.substitution.map_access_at(*output, at(outer..all));
                    let same = stmt.dims.get(batch) == Some(&count);
                    let runs = Pred::less(&statement_index(batch, &Poly::default()).value(), &count);
                    (of, if same { Pred::truth() } else { runs })
                }
                LoopResult::Checkpoint(_) | LoopResult::TripCount => return None,
            };
            let needs = union_of_checks(&stmt.needs, &whole);
            let rhs = Rhs::Contract { bound: Vec::new(), pred, neg: false, factors: vec![of] };
            let slot = self.splicer.ssa.stmts.get_mut(k)?;
            slot.rhs = rhs;
            slot.needs = needs;
        }
        Some(())
    }

    /// Returns the copy of a state, if the statement contains the state of every iteration:
    /// `[t == 0] · I + [t != 0] · N[t - 1]`.
    fn copy_for_scan(
        &self,
        (producer, of): (StmtId, &SsaLoop),
        body: &SsaFunction,
        stmt: &Statement,
    ) -> Option<&TensorAccess> {
        let batch = of.batch.len();
        let Rhs::Add(items) = &stmt.rhs else { return None };
        let ([first, rest], true) =
            (items.as_slice(), stmt.dims.get(..=batch) == Some(&*self.splicer.enclosing_extents))
        else {
            return None;
        };
        let number = statement_index(batch, &Poly::default()).value();
        let has_scan_guards = first.pred == Pred::zero(&number) && rest.pred == Pred::nonzero(&number);
        let Rhs::LoopResult(other, LoopResult::PerIteration(output)) =
            &self.splicer.ssa.stmts.get(rest.operand.var.0 as usize)?.rhs
        else {
            return None;
        };
        let mut at = (0..stmt.dims.len()).map(|k| statement_index(k, &Poly::default()).value()).collect::<Vec<Poly>>();
        let own: Vec<Poly> = at.iter().take(batch).chain(at.iter().skip(batch + 1)).cloned().collect();
        *at.get_mut(batch)? = number.add_constant(-1);
        if !has_scan_guards || first.neg || rest.neg || *other != producer || rest.operand.at != at {
            return None;
        }
        let init = through_views(&self.splicer.ssa, &first.operand);
        let is_this = |arg: &LoopArg| {
            let LoopArg::Carried { init: of, next } = arg else { return false };
            let from = TensorAccess { var: of.var, at: of.at.iter().chain(own.iter().skip(batch)).cloned().collect() };
            let output_of = |k: &u32| body.outputs.get(*k as usize).map(|(_, var)| *var);
            output_of(next) == output_of(output) && through_views(&self.splicer.ssa, &from) == init
        };
        let k = of.args.iter().position(is_this)?;
        self.copies.get(&u32::try_from(k).ok()?)
    }
}

/// Returns the source of an element, through all views.
fn through_views(ssa: &SsaFunction, of: &TensorAccess) -> TensorAccess {
    let mut of = of.clone();
    while let Some(Rhs::Contract { bound, pred, neg: false, factors }) =
        ssa.stmts.get(of.var.0 as usize).map(|s| &s.rhs)
        && let ([one], true, true) = (factors.as_slice(), bound.is_empty(), pred.is_true())
    {
        of = substitute_access(one, &of.at);
    }
    of
}
