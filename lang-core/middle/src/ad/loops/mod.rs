//! **Derivatives of loops.** Derives the body of a loop, and builds a loop of the result.
//!
//! The forward derivative also carries the tangents of the carried inputs. The adjoint is a loop
//! that runs from the last iteration to the first. It carries the cotangents of the carried inputs,
//! and the cotangents of inputs that every iteration reads whole, because these are sums over all
//! iterations.
//!
//! The reverse recomputes the cheap statements of the body that it reads. The forward loop outputs
//! the rest for every iteration, so it keeps nothing if the body is linear. For an array that the
//! body only updates, the forward loop keeps the overwritten elements instead of states. The
//! reverse loop restores them (PAPERS, "Don't Unroll Adjoint").

mod activity;
mod checkpoint;
mod partition;
mod store_on_kill;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use self::activity::LoopActivity;
use self::checkpoint::ReverseLoop;
use self::partition::{PartitionedBodies, ReverseInput};
pub(in crate::ad) use self::store_on_kill::RestoringLoop;
use super::adjoint::{CotangentTerm, active_statements};
use super::forward::spread_argument;
use super::{DerivativeValue, Differentiator, PredictedSupport, adjoint, canonical_indices, forward, is_real};
use lang_ir::core::{DerivativeKind, TypeLeaf};
use lang_ir::reduce::{Reducer, SsaReduction};
use lang_ir::region::{LoopArg, LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{
    Rhs, SsaFunction, Statement, StmtId, TensorAccess, for_each_poly_read, index_number, statement_index,
    substitute_indices,
};
use lang_opt::{inline, loop_pruning};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The loop of a forward derivative.
pub(super) struct ForwardLoop {
    /// The statement of the loop.
    producer: StmtId,
    /// Maps from inputs to the inputs that are their tangents, and from outputs to the outputs that
    /// are their tangents.
    inputs: BTreeMap<u32, u32>,
    outputs: BTreeMap<u32, u32>,
    /// Whether a tangent in the loop may be a structural zero in places.
    may_lack_terms: bool,
}

/// Returns the inputs of the body that vary if these arguments do, including carried inputs that
/// depend on them.
fn varying_inputs(of: &SsaLoop, is_active: &dyn Fn(&TensorAccess) -> bool) -> BTreeSet<u32> {
    let real = |k: u32| of.body.inputs.get(k as usize).is_some_and(|i| is_real(i.leaf.scalar));
    let mut varying: BTreeSet<u32> =
        (0..).zip(&of.args).filter(|(k, a)| real(*k) && is_active(a.access())).map(|(k, _)| k).collect();
    loop {
        let wrt: Vec<u32> = varying.iter().copied().collect();
        let active = active_statements(&of.body, &wrt);
        let output =
            |k: u32| of.body.outputs.get(k as usize).is_some_and(|(_, v)| active.get(v.0 as usize) == Some(&true));
        let more: Vec<u32> = of
            .carried_inputs()
            .filter(|(k, next)| !varying.contains(k) && real(*k) && output(*next))
            .map(|(k, _)| k)
            .collect();
        if more.is_empty() {
            return varying;
        }
        varying.extend(more);
    }
}

impl Differentiator<'_> {
    // ---- forward ----

    /// Returns the tangent of a part of a loop, `Some(None)` if it is zero, or `None` if the loop
    /// has no derivative.
    #[expect(clippy::option_option, reason = "no derivative, or a derivative that is zero")]
    pub(super) fn loop_tangent(
        &mut self,
        producer: StmtId,
        part: LoopResult,
        stmt: &Statement,
        tangents: &[Option<DerivativeValue>],
    ) -> Option<Option<StmtId>> {
        let at = match self.forward_loops.iter().position(|l| l.producer == producer) {
            Some(at) => at,
            None => {
                let forward_loop = self.forward_loop(producer, tangents)?;
                self.forward_loops.push(forward_loop);
                self.forward_loops.len() - 1
            }
        };
        let forward_loop = self.forward_loops.get(at)?;
        let part = match part {
            LoopResult::Final(k) => forward_loop.inputs.get(&k).map(|k| LoopResult::Final(*k)),
            LoopResult::PerIteration(k) => forward_loop.outputs.get(&k).map(|k| LoopResult::PerIteration(*k)),
            LoopResult::Checkpoint(k) => forward_loop.inputs.get(&k).map(|k| LoopResult::Checkpoint(*k)),
            LoopResult::TripCount => None,
        };
        let Some(part) = part else { return Some(None) };
        Some(Some(self.builder.push(stmt.dims.clone(), stmt.scalar, Rhs::LoopResult(producer, part), Vec::new())))
    }

    /// Derives a loop. The derived loop takes the place of the primal one.
    fn forward_loop(&mut self, producer: StmtId, tangents: &[Option<DerivativeValue>]) -> Option<ForwardLoop> {
        let of = self.ssa.loop_at(producer)?;
        let found = |a: &TensorAccess| tangents.get(a.var.0 as usize)?.as_ref();
        let tangent = |a: &TensorAccess| found(a).map(|t| t.var);
        let wrt: Vec<u32> = varying_inputs(of, &|a| tangent(a).is_some()).into_iter().collect();
        let mut forward_loop =
            ForwardLoop { producer, inputs: BTreeMap::new(), outputs: BTreeMap::new(), may_lack_terms: false };
        if wrt.is_empty() {
            return Some(forward_loop);
        }
        let active = active_statements(&of.body, &wrt);
        let derivation = DerivativeKind::Forward(wrt.clone().into());
        let (mut pass, mut outputs) = forward::forward(&of.body, &wrt, &[], self.functions, self.hits)?;
        // Predicates of one iteration do not hold in the next. A tangent may lack terms in some
        // iteration while a factor may be infinite. Then a comparison with zero decides where the
        // tangent has a term.
        let real = |k: u32| of.body.outputs.iter().take(k as usize).filter(|(leaf, _)| is_real(leaf.scalar)).count();
        let partly = |k: &&u32| {
            of.args.get(**k as usize).is_some_and(|arg| {
                let whole = found(arg.access()).is_some_and(|t| t.support.is_true());
                let next =
                    if let LoopArg::Carried { next, .. } = arg { pass.result_supports.get(real(*next)) } else { None };
                !whole || next.is_some_and(|present| !present.is_true())
            })
        };
        let partly: Vec<u32> =
            if pass.met_singular_factor { wrt.iter().filter(partly).copied().collect() } else { Vec::new() };
        if !partly.is_empty() {
            let is_carried = |k: &&u32| matches!(of.args.get(**k as usize), Some(LoopArg::Carried { .. }));
            let all: Vec<u32> = wrt.iter().filter(|k| is_carried(k) || partly.contains(*k)).copied().collect();
            (pass, outputs) = forward::forward(&of.body, &wrt, &all, self.functions, self.hits)?;
            forward_loop.may_lack_terms = true;
        }
        let (body, _) = pass.finish(&derivation, of.body.needs.clone(), outputs);
        let first = u32::try_from(of.body.inputs.len()).ok()?;
        let mut place = u32::try_from(of.body.outputs.len()).ok()?;
        for (k, (leaf, v)) in (0..).zip(&of.body.outputs) {
            if is_real(leaf.scalar) {
                if active.get(v.0 as usize) == Some(&true) {
                    forward_loop.outputs.insert(k, place);
                }
                place += 1;
            }
        }
        let mut args = of.args.clone();
        for (j, k) in (first..).zip(&wrt) {
            forward_loop.inputs.insert(*k, j);
            let arg = of.args.get(*k as usize)?;
            let a = arg.access();
            let tangent = match tangent(a) {
                Some(var) => TensorAccess { var, at: a.at.clone() },
                None => self.zeros_like(a),
            };
            args.push(match arg {
                LoopArg::Captured(_) => LoopArg::Captured(tangent),
                LoopArg::Carried { next, .. } => {
                    LoopArg::Carried { init: tangent, next: self.tangent_output(of, *next)? }
                }
            });
        }
        self.hits.count("tangents of a loop");
        self.add_global_arguments(&body, &mut args);
        let derived = Arc::new(SsaLoop { args, body: Arc::new(body.into_region()), ..(**of).clone() });
        // The new loop computes the primal values too.
        self.builder.set_loop(producer, &derived);
        Some(forward_loop)
    }

    /// Returns whether tangents in this loop, which the pass has derived, may be structural zeros
    /// in places.
    pub(super) fn tangents_may_lack_terms(&self, producer: StmtId) -> bool {
        self.forward_loops.iter().any(|l| l.may_lack_terms && l.producer == producer)
    }

    /// Returns the output of the derived body that is the tangent of output `k`.
    fn tangent_output(&self, of: &SsaLoop, k: u32) -> Option<u32> {
        let before = of.body.outputs.iter().take(k as usize).filter(|(leaf, _)| is_real(leaf.scalar)).count();
        u32::try_from(of.body.outputs.len() + before).ok()
    }

    /// Adds arguments for the top-level `let`s that only the derived body reads.
    fn add_global_arguments(&mut self, body: &SsaFunction, args: &mut Vec<LoopArg>) {
        for input in body.inputs.iter().skip(args.len()) {
            let (vars, inputs) = (&mut self.vars, &mut self.inputs);
            let var = crate::norm::to_ssa::global_input(&mut self.builder, vars, inputs, input);
            args.push(LoopArg::Captured(TensorAccess { var, at: Vec::new() }));
        }
    }

    /// Returns zeros of the shape of an operand.
    fn zeros_like(&mut self, a: &TensorAccess) -> TensorAccess {
        let dims: Vec<Poly> = self.builder.dims(a.var).into_iter().skip(a.at.len()).collect();
        let scalar = self.builder.scalar(a.var);
        TensorAccess { var: self.builder.zero(&dims, scalar), at: Vec::new() }
    }

    // ---- adjoint ----

    /// Adds to the cotangents of a loop's operands, from the cotangents `result_cotangents` of its
    /// parts.
    pub(super) fn loop_adjoint(
        &mut self,
        (producer, of): (StmtId, &Arc<SsaLoop>),
        result_cotangents: &[(LoopResult, DerivativeValue)],
        is_active: &dyn Fn(&TensorAccess) -> bool,
        needs: &[u32],
        terms: &mut [Vec<CotangentTerm>],
    ) -> Option<()> {
        let (of, loop_cotangents) = &self.with_state_outputs((producer, of), result_cotangents, needs);
        let plan = LoopActivity::for_loop(of, loop_cotangents, is_active);
        if plan.carried.is_empty() && plan.captured.is_empty() {
            return Some(());
        }
        let whole = |k: &u32| of.args.get(*k as usize).is_some_and(|a| !depends_on_index(a.access(), of.batch.len()));
        let sums: Vec<u32> = plan.captured.iter().copied().filter(whole).collect();
        let next: HashMap<u32, u32> = of.carried_inputs().collect();
        let wrt: Vec<u32> = plan.carried.iter().chain(&plan.captured).copied().collect();
        let seeds = |present: &[PredictedSupport]| -> Vec<(u32, PredictedSupport)> {
            let carried = plan.carried.iter().zip(present).filter_map(|(k, p)| Some((*next.get(k)?, p.clone())));
            let of_every =
                |present: &Pred| PredictedSupport { domain: Pred::truth(), only_where_nonzero: !present.is_true() };
            carried.chain(plan.per_iteration.iter().map(|(k, _, present)| (*k, of_every(present)))).collect()
        };
        // The first attempt assumes that a carried cotangent keeps its initial support in all
        // iterations. If the body's adjoint does not confirm that, a second attempt lets the
        // cotangent have terms wherever it is not zero.
        let whole_at_first = |k: &u32| plan.final_values.get(k).is_some_and(|last| last.support.is_true());
        let mut present: Vec<PredictedSupport> = plan
            .carried
            .iter()
            .map(|k| PredictedSupport { domain: plan.initial_support(of, *k), only_where_nonzero: !whole_at_first(k) })
            .collect();
        let mut attempt = adjoint::adjoint(&of.body, &seeds(&present), &wrt, Some(&sums), self.functions, self.hits)?;
        let (mut more, mut less) = (false, false);
        for ((before, after), k) in present.iter().zip(&attempt.0.result_supports).zip(&plan.carried) {
            let dims = of.body.inputs.get(*k as usize).map(|i| i.leaf.dims.clone()).unwrap_or_default();
            more |= !attempt.0.builder.implies(&dims, after, &before.domain);
            less |= attempt.0.met_singular_factor && !before.only_where_nonzero && !after.is_true();
        }
        if more || less {
            for before in &mut present {
                before.only_where_nonzero = true;
                if more {
                    before.domain = Pred::truth();
                }
            }
            attempt = adjoint::adjoint(&of.body, &seeds(&present), &wrt, Some(&sums), self.functions, self.hits)?;
        }
        let (mut pass, outputs) = attempt;
        let everywhere: Vec<bool> = pass.result_supports.iter().map(Pred::is_true).collect();
        let seeds = plan.carried.len() + plan.per_iteration.len();
        let cotangents: Vec<StmtId> = outputs.iter().skip(of.body.outputs.len()).map(|(_, v)| *v).collect();
        let split = pass.partition(of, &cotangents, &[]);
        let carried = plan.carried.len();
        let bodies = split.build_bodies(of, &pass, (seeds, u32::try_from(carried).ok()?), &cotangents);
        let ends = self.reverse_initial_values(of, &plan, &sums, &wrt)?;
        let segments = self.segments(of, needs);
        let batch = of.batch.len();
        let (ReverseLoop { reverse_loop: backward, cotangent_results: parts }, (trips, extent)) = match &segments {
            Some(segments) => {
                let known = self.trip_count(of, needs)?;
                (self.build_segmented_reverse(of, segments, &bodies, &ends, &wrt, needs)?, known)
            }
            None => {
                // The primal loop itself outputs the kept values.
                let forward = Arc::new(SsaLoop { body: Arc::new(bodies.forward.clone()), ..(**of).clone() });
                self.builder.set_loop(producer, &forward);
                let known = self.trip_count(&forward, needs)?;
                let of = self.build_reverse(of, &forward, &bodies, &ends, (&known.0, &known.1), needs)?;
                let end = |place: u32| {
                    let next = |a: &LoopArg| matches!(a, LoopArg::Carried { next, .. } if *next == place);
                    let input = of.args.iter().position(next).and_then(|k| u32::try_from(k).ok());
                    input.map_or(LoopResult::PerIteration(place), LoopResult::Final)
                };
                let parts = (0..).take(wrt.len()).map(end).collect();
                (ReverseLoop { reverse_loop: of, cotangent_results: parts }, known)
            }
        };
        let runs =
            of.pred.is_true() && self.builder.implies(&of.batch, &Pred::truth(), &Pred::less(&Poly::default(), &trips));
        for ((part, k), whole) in parts.into_iter().zip(&wrt).zip(everywhere) {
            let arg = of.args.get(*k as usize)?.clone();
            let scalar = self.builder.scalar(arg.access().var);
            // A cotangent that the reverse carries is read after its last iteration.
            if let LoopResult::Final(_) = part {
                let (dims, read) = spread_argument(self, &of.batch, arg.access());
                let var = self.builder.loop_result(&dims, scalar, &backward, part, needs.to_vec());
                let whole = whole && (runs || of.pred.is_true() && whole_at_first(k));
                self.add_cotangent(&dims, &of.pred, needs, &read, (self.at_own_indices(var), whole), terms);
                continue;
            }
            // The cotangent of a slice is an output of the slice's iteration.
            self.hits.count("cotangent of a slice");
            let outer: Vec<Poly> = of.batch.iter().cloned().chain([extent.clone()]).collect();
            let (dims, read) = spread_argument(self, &outer, arg.access());
            let number = of.iteration_number();
            let (extents, place) = match &segments {
                Some(segments) => (segments.extents().to_vec(), segments.reverse_position(&number)?.to_vec()),
                None => (vec![extent.clone()], vec![trips.add_constant(-1).sub(&number)]),
            };
            let (mut all, mut at) = (dims.clone(), canonical_indices(&dims));
            all.splice(batch..=batch, extents);
            at.splice(batch..=batch, place);
            let var = self.builder.loop_result(&all, scalar, &backward, part, needs.to_vec());
            let pred = of.pred.and(&Pred::less(&number, &trips));
            self.add_cotangent(&dims, &pred, needs, &read, (TensorAccess { var, at }, whole), terms);
        }
        Some(())
    }

    /// Returns the loop with its differentiated states as outputs of the iterations, and the
    /// cotangents of its parts.
    fn with_state_outputs(
        &mut self,
        (producer, of): (StmtId, &Arc<SsaLoop>),
        result_cotangents: &[(LoopResult, DerivativeValue)],
        needs: &[u32],
    ) -> (Arc<SsaLoop>, Vec<LoopResultCotangent>) {
        let states = result_cotangents.iter().any(|(part, _)| matches!(part, LoopResult::Checkpoint(_)));
        let segments = if states { self.segments(of, needs) } else { None };
        let number = of.iteration_number();
        let whole: Vec<Poly> = (0..of.batch.len()).map(|k| statement_index(k, &Poly::default()).value()).collect();
        let at = |of: Poly| whole.iter().cloned().chain([of]).collect::<Vec<Poly>>();
        let mut body = (*of.body).clone();
        let mut all = Vec::new();
        for (part, cotangent) in result_cotangents {
            let every = |at| TensorAccess { var: cotangent.var, at };
            all.push(match part {
                LoopResult::Checkpoint(k) => {
                    let Some(input) = body.inputs.get(*k as usize).cloned() else { continue };
                    let var = body.input_statement(*k).unwrap_or_else(|| {
                        let TypeLeaf { dims, scalar, .. } = input.leaf.clone();
                        body.stmts.push(Statement { dims, scalar, rhs: Rhs::Input(*k), needs: Vec::new(), name: None });
                        StmtId(u32::try_from(body.stmts.len() - 1).unwrap_or(u32::MAX))
                    });
                    body.outputs.push((TypeLeaf { path: Vec::new(), ..input.leaf }, var));
                    let output = u32::try_from(body.outputs.len() - 1).unwrap_or(u32::MAX);
                    // A state that is not kept has no cotangent. Its place is -1, which is outside
                    // the array and so reads as zero.
                    let outside = Poly::constant(-1);
                    let place = segments.as_ref().and_then(|s| s.checkpoint_position(&number)).unwrap_or(outside);
                    LoopResultCotangent {
                        result: LoopResult::PerIteration(output),
                        value: cotangent.clone(),
                        access: every(at(place)),
                    }
                }
                _ => LoopResultCotangent { result: *part, value: cotangent.clone(), access: every(at(number.clone())) },
            });
        }
        if !all.iter().any(|c| matches!(c.result, LoopResult::PerIteration(k) if k as usize >= of.body.outputs.len())) {
            return (of.clone(), all);
        }
        let new = Arc::new(SsaLoop { body: Arc::new(body), ..(**of).clone() });
        self.builder.set_loop(producer, &new);
        (new, all)
    }

    /// Returns the initial values of the reverse loop.
    fn reverse_initial_values(
        &mut self,
        of: &SsaLoop,
        plan: &LoopActivity,
        sums: &[u32],
        wrt: &[u32],
    ) -> Option<ReverseInitialValues> {
        let batch: Vec<Poly> = (0..of.batch.len()).map(|k| statement_index(k, &Poly::default()).value()).collect();
        let every = plan.per_iteration.iter().map(|(_, at, _)| at.clone()).collect();
        let mut ends =
            ReverseInitialValues { carried: Vec::new(), per_iteration: every, sums: Vec::new(), count: wrt.len() };
        for k in &plan.carried {
            ends.carried.push(match plan.final_values.get(k) {
                Some(c) => TensorAccess { var: c.var, at: batch.clone() },
                None => self.zeros_like(of.args.get(*k as usize)?.access()),
            });
        }
        for k in sums {
            let init = self.zeros_like(of.args.get(*k as usize)?.access());
            ends.sums.push((init, plan.reverse_output(*k)?));
        }
        Some(ends)
    }

    /// Builds the reverse of a loop whose kept values `forward` outputs. `trips` and `extent` are
    /// its trip count.
    fn build_reverse(
        &mut self,
        of: &SsaLoop,
        forward: &Arc<SsaLoop>,
        bodies: &PartitionedBodies,
        ends: &ReverseInitialValues,
        (trips, extent): (&Poly, &Poly),
        needs: &[u32],
    ) -> Option<Arc<SsaLoop>> {
        let batch: Vec<Poly> = (0..of.batch.len()).map(|k| statement_index(k, &Poly::default()).value()).collect();
        let last = trips.add_constant(-1).sub(&forward.iteration_number());
        let places: Vec<Poly> = batch.iter().cloned().chain([last.clone()]).collect();
        let turned = |a: &TensorAccess| TensorAccess {
            var: a.var,
            at: a.at.iter().map(|p| substitute_indices(p, &places)).collect(),
        };
        self.hits.count("reverse loop");
        let (mut args, mut back) = (Vec::new(), Vec::new());
        for input in &bodies.inputs {
            input.rule_name().into_iter().for_each(|rule| self.hits.count(rule));
            args.push(match input {
                ReverseInput::Global(global) => {
                    let (vars, inputs) = (&mut self.vars, &mut self.inputs);
                    let var = crate::norm::to_ssa::global_input(&mut self.builder, vars, inputs, global);
                    LoopArg::Captured(TensorAccess { var, at: Vec::new() })
                }
                ReverseInput::Captured(k) => LoopArg::Captured(turned(of.args.get(*k as usize)?.access())),
                ReverseInput::Stored(k) => {
                    let (leaf, _) = forward.body.outputs.get(*k as usize)?;
                    let dims = self.stacked_extents(forward, extent, &leaf.clone(), needs)?;
                    let scalar = leaf.scalar?;
                    let var =
                        self.builder.loop_result(&dims, scalar, forward, LoopResult::PerIteration(*k), needs.to_vec());
                    LoopArg::Captured(TensorAccess { var, at: places.clone() })
                }
                ReverseInput::Seed(j) => match ends.carried.get(*j as usize) {
                    Some(init) => LoopArg::Carried { init: init.clone(), next: *j },
                    None => LoopArg::Captured(turned(ends.per_iteration.get(*j as usize - ends.carried.len())?)),
                },
                ReverseInput::Sum(j) => {
                    let (init, next) = ends.sums.get(*j as usize)?.clone();
                    LoopArg::Carried { init, next }
                }
                ReverseInput::Restored(k) => {
                    let init = of.args.get(*k as usize)?.access().clone();
                    let own: Vec<Poly> = self.builder.dims(init.var).into_iter().skip(init.at.len()).collect();
                    let dims: Vec<Poly> = of.batch.iter().cloned().chain(own).collect();
                    let scalar = self.builder.scalar(init.var);
                    let var = self.builder.loop_result(&dims, scalar, forward, LoopResult::Final(*k), needs.to_vec());
                    let next = bodies.restored_inputs.iter().position(|j| j == k)? + ends.count;
                    back.push((var, u32::try_from(args.len()).ok()?));
                    LoopArg::Carried { init: TensorAccess { var, at: batch.clone() }, next: u32::try_from(next).ok()? }
                }
            });
        }
        let backward = Arc::new(SsaLoop {
            batch: of.batch.clone(),
            pred: of.pred.clone(),
            trip_count: LoopTripCount::Fixed(trips.clone()),
            checkpoint: None,
            sizes: of.sizes.iter().map(|p| substitute_indices(p, &places)).collect(),
            args,
            body: Arc::new(bodies.reverse.clone()),
        });
        let back = back.into_iter().map(|(after, input)| RestoringLoop {
            version: after,
            restoring_loop: backward.clone(),
            input,
        });
        self.restoring_loops.extend(back);
        Some(backward)
    }

    /// Adds a term to the cotangent of an operand: everywhere if `all`, else only where the term is
    /// not zero.
    fn add_cotangent(
        &mut self,
        dims: &[Poly],
        pred: &Pred,
        needs: &[u32],
        of: &TensorAccess,
        (cotangent, all): (TensorAccess, bool),
        terms: &mut [Vec<CotangentTerm>],
    ) {
        let scalar = Some(self.builder.scalar(of.var));
        let pred = self.builder.simplify(dims, pred);
        let inner = Statement { dims: dims.to_vec(), scalar, rhs: Rhs::Zero, needs: needs.to_vec(), name: None };
        let present = match all {
            true => Pred::truth(),
            false => self.nonzero_pred(cotangent.var).map(&|p| substitute_indices(p, &cotangent.at)),
        };
        self.transpose(&inner, &[], (&pred, &present), false, of, &[cotangent], terms);
    }

    /// Returns the trip count of a loop over its batch, and an extent that suffices for the whole
    /// batch.
    fn trip_count(&mut self, of: &Arc<SsaLoop>, needs: &[u32]) -> Option<(Poly, Poly)> {
        let trips = match of.fixed_trip_count() {
            Some(n) => n.clone(),
            None => {
                self.hits.count("run-time trip count");
                let var = self.builder.loop_result(&of.batch, Scalar::I64, of, LoopResult::TripCount, needs.to_vec());
                let at: Arc<[Poly]> = canonical_indices(&of.batch).into();
                Poly::atom(Atom::Read(var.local(), var.name(), at))
            }
        };
        let extent = self.uniform_extent(&trips, &of.batch, &of.pred, needs);
        Some((trips, extent))
    }

    /// Returns an extent that suffices for all indices of these ranges. If `n` depends on data per
    /// index, a `max` over the indices computes it.
    fn uniform_extent(&mut self, n: &Poly, dims: &[Poly], pred: &Pred, needs: &[u32]) -> Poly {
        if let Some(hull) = upper_bound_over(n, dims) {
            return hull;
        }
        self.hits.count("maximal extent");
        let each = self.builder.index(dims, n);
        let reduce = SsaReduction {
            reducer: Reducer::Max,
            bound: dims.to_vec(),
            pred: Pred::truth(),
            filter: pred.clone(),
            arg_value: Poly::default(),
            operand: TensorAccess { var: each, at: canonical_indices(dims) },
        };
        let most = self.builder.reduce(&[], Scalar::I64, reduce, needs.to_vec());
        inline::integer_poly(&self.builder, &[], &Pred::truth(), &TensorAccess { var: most, at: Vec::new() })
    }

    /// Returns the extents of an output that is stacked over all iterations. `None` if they depend
    /// on data that the loop does not output.
    fn stacked_extents(
        &mut self,
        of: &Arc<SsaLoop>,
        extent: &Poly,
        leaf: &TypeLeaf,
        needs: &[u32],
    ) -> Option<Vec<Poly>> {
        let all: Vec<Poly> = of.batch.iter().chain([extent]).cloned().collect();
        let mut dims = all.clone();
        let inside = match of.fixed_trip_count() {
            Some(n) => of.pred.and(&Pred::less(&of.iteration_number(), n)),
            None => {
                let (trips, _) = self.trip_count(of, needs)?;
                of.pred.and(&Pred::less(&of.iteration_number(), &trips))
            }
        };
        for n in &leaf.dims {
            let n = self.poly_of_iteration(of, n, &all, needs)?;
            dims.push(self.uniform_extent(&n, &all, &inside, needs));
        }
        Some(dims)
    }

    /// Rewrites a polynomial of the body over the batch and the iteration number. Data in it are
    /// read from outputs of the loop; `None` if the loop does not output them.
    fn poly_of_iteration(&mut self, of: &Arc<SsaLoop>, n: &Poly, all: &[Poly], needs: &[u32]) -> Option<Poly> {
        let sizes = loop_pruning::captured_integers(&self.builder, of);
        if let Some(known) = loop_pruning::lift_poly(n, &sizes, &loop_pruning::captured_statements(of)) {
            return Some(known);
        }
        let mut data = Vec::new();
        for_each_poly_read(n, &mut |v| data.push(v));
        let mut output_reads = HashMap::new();
        for v in data {
            let k = of.body.outputs.iter().position(|(_, output)| *output == v)?;
            let part = LoopResult::PerIteration(u32::try_from(k).ok()?);
            let var = self.builder.loop_result(all, Scalar::I64, of, part, needs.to_vec());
            let at: Arc<[Poly]> = canonical_indices(all).into();
            output_reads.insert(v, Poly::atom(Atom::Read(var.local(), var.name(), at)));
        }
        Some(n.substitute(&|a| match a {
            Atom::Local(l, _) => sizes.get(l).cloned(),
            Atom::Read(x, _, _) => output_reads.get(&StmtId::from_local(*x)?).cloned(),
            _ => None,
        }))
    }
}

/// The cotangent of a part of a loop, and the access that reads it for one iteration.
struct LoopResultCotangent {
    result: LoopResult,
    value: DerivativeValue,
    access: TensorAccess,
}

/// The initial values of a reverse loop, over the batch. Those that vary per iteration are also
/// over the iteration number.
struct ReverseInitialValues {
    /// The initial cotangents of the carried inputs, which are the first outputs of the reverse.
    carried: Vec<TensorAccess>,
    /// The cotangents of the outputs of each iteration.
    per_iteration: Vec<TensorAccess>,
    /// The initial values of cotangents that are sums over iterations, with their outputs of the
    /// reverse.
    sums: Vec<(TensorAccess, u32)>,
    /// The number of cotangents that the reverse returns.
    count: usize,
}

/// Whether the access depends on index number `k`.
fn depends_on_index(a: &TensorAccess, k: usize) -> bool {
    let atom = statement_index(k, &Poly::default()).atom();
    a.at.iter().any(|p| p.mentions(&atom))
}

/// Returns an upper bound of the polynomial over all indices of these extents. `None` if it is not
/// linear in an index, or if it reads data at an index.
fn upper_bound_over(p: &Poly, batch: &[Poly]) -> Option<Poly> {
    let mut hull = p.clone();
    for (k, n) in batch.iter().enumerate() {
        let atom = statement_index(k, n).atom();
        if hull.mentions(&atom) {
            let (c, rest) = hull.linear_in(&atom)?;
            hull = if c > 0 { rest.add(&n.scale(c)) } else { rest };
        }
    }
    let mut over = false;
    hull.for_each_atom(&mut |a| over |= matches!(a, Atom::Local(l, _) if index_number(*l).is_some()));
    (!over).then_some(hull)
}
