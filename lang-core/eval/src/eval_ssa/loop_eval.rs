//! **Loops** in the evaluator of Tensor SSA ([`super`]), which tests use as an oracle: runs the
//! loop once for each tuple of its batch.

use std::collections::HashMap;
use std::sync::Arc;

use super::results::ProducedResult;
use super::{IrTensor, SsaFrame, SsaResult};
use crate::eval_core::EvalError;
use crate::index_eval;
use lang_ir::core::CheckpointSpacing;
use lang_ir::eval_nest::EvalNest;
use lang_ir::region::{LoopResult, LoopTripCount, SsaLoop};
use lang_ir::ssa::{Statement, StmtId, TensorAccess};
use lang_ir::value::IrValue;
use lang_syntax::ops::Scalar;

/// One run of a loop.
struct SingleRun {
    /// The tuple of the batch.
    batch_tuple: Vec<i64>,
    /// The results that statements name. One with an index for the iteration has several tensors.
    results: HashMap<LoopResult, Vec<Arc<IrTensor>>>,
    /// The lengths of the longest chains of dependent operations to the results.
    chains: HashMap<LoopResult, u64>,
}

impl SsaFrame<'_, '_> {
    /// Runs a loop for each tuple of its batch, and keeps the results that statements name.
    pub(super) fn run_loop(&mut self, of: &SsaLoop, stmt: &Statement) -> SsaResult<()> {
        let ssa = self.ssa;
        let named: Vec<(StmtId, LoopResult)> = ssa.loop_results(self.current).collect();
        let extents = self.extents(&of.batch)?;
        let nest = EvalNest::new(extents, of.batch.len(), &of.pred, self)?;
        let places = self.control_chain(&stmt.rhs);
        let mut runs = Vec::new();
        nest.visit(self, &mut |run, at| {
            runs.push(run.run_once(of, &named, at, places)?);
            Ok(())
        })?;
        for (v, result) in named {
            let has_iterations = matches!(result, LoopResult::PerIteration(_) | LoopResult::Checkpoint(_));
            let mut produced = ProducedResult::default();
            for run in &runs {
                produced.chain = run.chains.get(&result).copied().unwrap_or_default().max(produced.chain);
                for (t, tensor) in (0..).zip(run.results.get(&result).into_iter().flatten()) {
                    let at = run.batch_tuple.iter().copied().chain(has_iterations.then_some(t)).collect();
                    produced.parts.push((at, tensor.clone()));
                }
            }
            self.results.insert(v, produced);
        }
        Ok(())
    }

    /// Runs the loop for one tuple of its batch. `places` is the length of the longest chain to the
    /// data that determine where and how often it runs.
    fn run_once(
        &mut self,
        of: &SsaLoop,
        named: &[(StmtId, LoopResult)],
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
        let mut results: HashMap<LoopResult, Vec<Arc<IrTensor>>> =
            named.iter().map(|(_, result)| (*result, Vec::new())).collect();
        let mut to: Vec<u64> = of.args.iter().map(|a| self.operand_chain(a.access()).max(places)).collect();
        let mut chains: HashMap<LoopResult, u64> = HashMap::new();
        let mut chain = |result: LoopResult, to: u64| {
            let most = chains.entry(result).or_default();
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
            for (result, kept) in &mut results {
                if let LoopResult::Checkpoint(k) = result
                    && trips % spacing == 0
                {
                    kept.push(carry.get(&(*k as usize)).cloned().ok_or(broken.clone())?);
                    chain(*result, to.get(*k as usize).copied().unwrap_or_default());
                }
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
            for (result, kept) in &mut results {
                if let LoopResult::PerIteration(k) = result {
                    kept.push(outputs.get(*k as usize).cloned().ok_or(broken.clone())?);
                    chain(*result, output_chains.get(*k as usize).copied().unwrap_or_default());
                }
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
        for (result, kept) in &mut results {
            match result {
                LoopResult::Final(k) => kept.push(carry.get(&(*k as usize)).cloned().ok_or(broken.clone())?),
                LoopResult::TripCount => {
                    kept.push(Arc::new(IrTensor { dims: Vec::new(), items: vec![IrValue::I64(trips)] }));
                }
                LoopResult::PerIteration(_) | LoopResult::Checkpoint(_) => {}
            }
        }
        Ok(SingleRun { batch_tuple: at.to_vec(), results, chains })
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
