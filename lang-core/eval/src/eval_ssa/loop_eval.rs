//! **Loops** in the evaluator of Tensor SSA ([`super`]), which tests use as an oracle. A statement
//! `Rhs::Loop` reads one part of a loop's result. The first such statement runs the loop once for
//! each tuple of its batch, and keeps the parts that statements read.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{IrTensor, SsaFrame, SsaResult, copy_subtensor};
use crate::eval_core::EvalError;
use crate::index_eval;
use lang_ir::core::CheckpointSpacing;
use lang_ir::eval_nest::EvalNest;
use lang_ir::region::{LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{Rhs, TensorAccess};
use lang_ir::value::IrValue;
use lang_syntax::ops::Scalar;

/// The finished runs of a loop, one for each tuple of its batch.
pub(super) struct LoopRuns {
    ssa_loop: Arc<SsaLoop>,
    runs: Vec<SingleRun>,
}

/// One run of a loop.
struct SingleRun {
    /// The tuple of the batch.
    batch_tuple: Vec<i64>,
    final_values: HashMap<u32, Arc<IrTensor>>,
    outputs: HashMap<u32, Vec<Arc<IrTensor>>>,
    checkpoints: HashMap<u32, Vec<Arc<IrTensor>>>,
    trips: i64,
    /// The lengths of the longest chains of dependent operations to the parts of its result.
    chains: HashMap<LoopResult, u64>,
}

impl SsaFrame<'_, '_> {
    /// Evaluates a part of a loop. All parts share the same run.
    pub(super) fn eval_loop_result(
        &mut self,
        of: &Arc<SsaLoop>,
        part: LoopResult,
        mut out: IrTensor,
    ) -> SsaResult<Arc<IrTensor>> {
        let known = self.loop_runs.iter().position(|ran| Arc::ptr_eq(&ran.ssa_loop, of) || ran.ssa_loop == *of);
        let at = match known {
            Some(at) => at,
            None => {
                let ran = self.run_loop(of)?;
                self.loop_runs.push(ran);
                self.loop_runs.len() - 1
            }
        };
        let Some(ran) = self.loop_runs.get(at) else { return Err(EvalError::IllFormed("a loop")) };
        self.chains
            .record_result(ran.runs.iter().filter_map(|one| one.chains.get(&part)).copied().max().unwrap_or_default());
        let batch = of.batch.len();
        let parts = self.ssa.stmts.iter().filter(|s| match &s.rhs {
            Rhs::Loop(other, p) => *p == part && (Arc::ptr_eq(other, of) || other == of),
            _ => false,
        });
        if let ([_], LoopResult::Final(k), 1) = (ran.runs.as_slice(), part, parts.count())
            && batch == 0
        {
            // Only this statement reads the part, so its users may update it in place.
            let one = self.loop_runs.get_mut(at).and_then(|ran| ran.runs.first_mut());
            return one.and_then(|one| one.final_values.remove(&k)).ok_or(EvalError::IllFormed("a part of a loop"));
        }
        let broken = EvalError::IllFormed("a part of a loop");
        for one in &ran.runs {
            let mut at: Vec<usize> =
                one.batch_tuple.iter().map(|i| usize::try_from(*i).unwrap_or(usize::MAX)).collect();
            match part {
                LoopResult::Final(k) => copy_subtensor(&mut out, &at, one.final_values.get(&k).ok_or(broken.clone())?)?,
                LoopResult::PerIteration(k) => {
                    for (t, tensor) in one.outputs.get(&k).ok_or(broken.clone())?.iter().enumerate() {
                        at.truncate(batch);
                        at.push(t);
                        copy_subtensor(&mut out, &at, tensor)?;
                    }
                }
                LoopResult::Checkpoint(k) => {
                    for (t, tensor) in one.checkpoints.get(&k).ok_or(broken.clone())?.iter().enumerate() {
                        at.truncate(batch);
                        at.push(t);
                        copy_subtensor(&mut out, &at, tensor)?;
                    }
                }
                LoopResult::TripCount => {
                    let trips = IrTensor { dims: Vec::new(), items: vec![IrValue::I64(one.trips)] };
                    copy_subtensor(&mut out, &at, &trips)?;
                }
            }
        }
        Ok(Arc::new(out))
    }

    fn run_loop(&mut self, of: &Arc<SsaLoop>) -> SsaResult<LoopRuns> {
        let mut parts: BTreeSet<LoopResult> = BTreeSet::new();
        for stmt in &self.ssa.stmts {
            if let Rhs::Loop(other, part) = &stmt.rhs
                && (Arc::ptr_eq(other, of) || other == of)
            {
                parts.insert(*part);
            }
        }
        let extents = self.extents(&of.batch)?;
        let nest = EvalNest::new(extents, of.batch.len(), &of.pred, self)?;
        let places = self.control_chain(&Rhs::Loop(of.clone(), LoopResult::TripCount));
        let mut all = Vec::new();
        nest.visit(self, &mut |run, at| {
            all.push(run.run_once(of, &parts, at, places)?);
            Ok(())
        })?;
        Ok(LoopRuns { ssa_loop: of.clone(), runs: all })
    }

    /// Runs the loop for one tuple of its batch. `places` is the length of the longest chain to the
    /// data that determine where and how often it runs.
    fn run_once(
        &mut self,
        of: &SsaLoop,
        parts: &BTreeSet<LoopResult>,
        at: &[i64],
        places: u64,
    ) -> SsaResult<SingleRun> {
        let broken = EvalError::IllFormed("a loop");
        let count = of.fixed_trip_count().map(|n| self.eval_index(n, at)).transpose()?;
        let next: HashMap<usize, u32> = of.carried_inputs().map(|(k, next)| (k as usize, next)).collect();
        // `held` shares tensors that the loop does not own, so that no update of the body changes
        // them in place.
        let (mut carry, mut held): (HashMap<usize, Arc<IrTensor>>, Vec<Arc<IrTensor>>) = (HashMap::new(), Vec::new());
        for k in next.keys() {
            let init = of.args.get(*k).ok_or(broken.clone())?.access();
            // An initial value that nothing else reads is updated in place.
            let own = init.at.is_empty() && self.last_uses.get(init.var.0 as usize) == Some(&Some(self.current));
            let readers = of.args.iter().filter(|a| a.access().var == init.var).count();
            let taken = if own && at.is_empty() && readers == 1 {
                self.values.get_mut(init.var.0 as usize).and_then(Option::take)
            } else {
                None
            };
            let tensor = match taken {
                Some(tensor) => tensor,
                None => {
                    let tensor = self.slice(init, at)?;
                    held.push(tensor.clone());
                    tensor
                }
            };
            carry.insert(*k, tensor);
        }
        let firsts = held.len();
        let mut every: HashMap<u32, Vec<Arc<IrTensor>>> = HashMap::new();
        parts.iter().for_each(|part| {
            if let LoopResult::PerIteration(k) = part {
                every.insert(*k, Vec::new());
            }
        });
        let kept =
            parts.iter().filter_map(|p| if let LoopResult::Checkpoint(k) = p { Some((*k, Vec::new())) } else { None });
        let mut states: HashMap<u32, Vec<Arc<IrTensor>>> = kept.collect();
        let mut to: Vec<u64> = of.args.iter().map(|a| self.operand_chain(a.access()).max(places)).collect();
        let mut chains: HashMap<LoopResult, u64> = HashMap::new();
        let mut chain = |part: LoopResult, to: u64| {
            let most = chains.entry(part).or_default();
            *most = to.max(*most);
        };
        let distance = of
            .checkpoint
            .as_ref()
            .and_then(CheckpointSpacing::fixed_distance)
            .map(|n| self.eval_index(n, at))
            .transpose()?;
        let spacing = CheckpointSpacing::resolve(distance, count);
        let mut trips = 0;
        loop {
            let on = match (&of.trip_count, count) {
                (_, Some(n)) => trips < n,
                (LoopTripCount::While(k), None) => {
                    let flag = carry.get(&(*k as usize)).and_then(|t| t.items.first()?.truth());
                    flag.ok_or(broken.clone())?
                }
                (LoopTripCount::Fixed(_), None) => false,
            };
            if !on {
                break;
            }
            self.count_iteration()?;
            self.current_counts.trips += 1;
            let place: Vec<i64> = at.iter().copied().chain([trips]).collect();
            let sizes = of.sizes.iter().map(|p| self.eval_index(p, &place)).collect::<SsaResult<Vec<i64>>>()?;
            for (k, kept) in states.iter_mut().filter(|_| trips % spacing == 0) {
                kept.push(carry.get(&(*k as usize)).cloned().ok_or(broken.clone())?);
                chain(LoopResult::Checkpoint(*k), to.get(*k as usize).copied().unwrap_or_default());
            }
            let mut inputs = Vec::new();
            for (k, arg) in of.args.iter().enumerate() {
                inputs.push(match carry.remove(&k) {
                    Some(tensor) => tensor,
                    None => {
                        let tensor = self.captured_input(of, k, arg.access(), &place)?;
                        held.push(tensor.clone());
                        tensor
                    }
                });
            }
            let (outputs, output_chains) = self.with_input_chains(to.clone(), |run| {
                lang_base::ensure_sufficient_stack(|| {
                    run.in_nested_function(|evaluator| evaluator.run(&of.body, &sizes, inputs))
                })
            })?;
            held.truncate(firsts);
            for (k, kept) in &mut every {
                kept.push(outputs.get(*k as usize).cloned().ok_or(broken.clone())?);
                chain(LoopResult::PerIteration(*k), output_chains.get(*k as usize).copied().unwrap_or_default());
            }
            let mut outputs: Vec<Option<Arc<IrTensor>>> = outputs.into_iter().map(Some).collect();
            let mut left: HashMap<u32, usize> = HashMap::new();
            next.values().for_each(|n| *left.entry(*n).or_default() += 1);
            for (k, n) in &next {
                let slot = outputs.get_mut(*n as usize).ok_or(broken.clone())?;
                let more = left.get_mut(n).is_some_and(|left| {
                    *left -= 1;
                    *left > 0
                });
                let value = if more { slot.clone() } else { slot.take() };
                carry.insert(*k, value.ok_or(broken.clone())?);
                if let (Some(slot), Some(output_chain)) = (to.get_mut(*k), output_chains.get(*n as usize)) {
                    *slot = *output_chain;
                }
            }
            trips += 1;
        }
        if let LoopTripCount::While(k) = &of.trip_count {
            chain(LoopResult::TripCount, to.get(*k as usize).copied().unwrap_or_default());
        }
        for k in next.keys() {
            chain(LoopResult::Final(u32::try_from(*k).unwrap_or(u32::MAX)), to.get(*k).copied().unwrap_or_default());
        }
        let last = carry.into_iter().filter_map(|(k, t)| Some((u32::try_from(k).ok()?, t))).collect();
        Ok(SingleRun {
            batch_tuple: at.to_vec(),
            final_values: last,
            outputs: every,
            checkpoints: states,
            trips,
            chains,
        })
    }

    /// Returns the value of an input in an iteration. It is zero if the access is out of bounds.
    fn captured_input(&mut self, of: &SsaLoop, k: usize, a: &TensorAccess, at: &[i64]) -> SsaResult<Arc<IrTensor>> {
        match self.slice(a, at) {
            Err(EvalError::IllFormed("a slice" | index_eval::OUT_OF_BOUNDS)) => {}
            found => return found,
        }
        let whole = self.tensor(a.var)?;
        let input = of.body.inputs.get(k).ok_or(EvalError::IllFormed("an input"))?;
        let dims: Vec<usize> = whole.dims.iter().skip(a.at.len()).copied().collect();
        let count: usize = dims.iter().product();
        let zero = IrValue::zero_of(input.leaf.scalar.unwrap_or(Scalar::F64));
        Ok(Arc::new(IrTensor { items: vec![zero; count], dims }))
    }
}
