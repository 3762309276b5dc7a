//! **Calls** in the evaluator of Tensor SSA: runs the callee for each tuple of the batch.

use std::sync::Arc;

use super::results::ProducedResult;
use super::{IrTensor, SsaFrame, SsaResult};
use crate::eval_core::EvalError;
use lang_ir::eval_nest::EvalNest;
use lang_ir::ssa::{Rhs, Statement, StmtId};

impl SsaFrame<'_, '_> {
    /// Runs a call for each tuple of its batch, and keeps the results that statements name.
    pub(super) fn run_call(&mut self, stmt: &Statement) -> SsaResult<()> {
        let Rhs::Call { callee, sizes, pred, args } = &stmt.rhs else {
            return Err(EvalError::IllFormed("a call"));
        };
        let called = self.evaluator.functions.ssa(callee).ok_or(EvalError::IllFormed("a function"))?;
        let extents = self.extents(&stmt.dims)?;
        let mut runs: Vec<(Vec<i64>, Vec<Arc<IrTensor>>)> = Vec::new();
        let mut chains: Vec<u64> = vec![0; called.outputs.len()];
        let places = self.control_chain(&stmt.rhs);
        let passed: Vec<u64> = args.iter().map(|a| self.operand_chain(a).max(places)).collect();
        let nest = EvalNest::new(extents, stmt.dims.len(), pred, self)?;
        nest.visit(self, &mut |run, at| {
            run.step()?;
            run.current_counts.count_term(0);
            let sizes = sizes.iter().map(|p| run.eval_index(p, at)).collect::<SsaResult<Vec<i64>>>()?;
            let args = args.iter().map(|a| run.slice(a, at)).collect::<SsaResult<Vec<Arc<IrTensor>>>>()?;
            // The caller keeps its arguments, so no update in the callee may change them in place.
            let held = args.clone();
            let (outputs, to) = run.with_input_chains(passed.clone(), |run| {
                run.in_nested_function(|evaluator| evaluator.run(&called, &sizes, args))
            })?;
            drop(held);
            chains.iter_mut().zip(to).for_each(|(most, one)| *most = one.max(*most));
            runs.push((at.to_vec(), outputs));
            Ok(())
        })?;
        for (v, stmt) in (0..).zip(&self.ssa.stmts) {
            let Rhs::CallResult(producer, k) = stmt.rhs else { continue };
            if producer != self.current {
                continue;
            }
            let part = |(at, outputs): &(Vec<i64>, Vec<Arc<IrTensor>>)| {
                let output = outputs.get(k as usize).ok_or(EvalError::IllFormed("a result of a call"))?;
                Ok((at.clone(), output.clone()))
            };
            let parts = runs.iter().map(part).collect::<SsaResult<_>>()?;
            let chain = chains.get(k as usize).copied().unwrap_or_default();
            self.results.insert(StmtId(v), ProducedResult { parts, chain });
        }
        Ok(())
    }
}
