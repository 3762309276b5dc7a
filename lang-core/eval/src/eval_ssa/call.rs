//! **Calls** in the evaluator of Tensor SSA: runs the callee for each tuple of the batch and
//! assembles its results.

use std::sync::Arc;

use super::{IrTensor, SsaFrame, SsaResult};
use crate::eval_core::EvalError;
use lang_ir::eval_nest::EvalNest;
use lang_ir::ssa::{Rhs, Statement};
use lang_ir::value::IrValue;
use lang_syntax::ops::Scalar;

impl SsaFrame<'_, '_> {
    /// Evaluates a part of the result of a call. All parts share the same runs.
    pub(super) fn eval_call(&mut self, stmt: &Statement, empty: IrTensor) -> SsaResult<Arc<IrTensor>> {
        let Rhs::Call { callee, sizes, pred, args, batch, result_index: part } = &stmt.rhs else {
            return Err(EvalError::IllFormed("a call"));
        };
        let batch = *batch as usize;
        let outer = stmt.dims.get(..batch).unwrap_or_default();
        let key = format!("{callee:?} {sizes:?} {pred:?} {args:?} {outer:?}");
        if let Some(found) = self.call_results.get(&key).and_then(|parts| parts.get(*part as usize)) {
            self.chains.record_call_result(&key, *part);
            return Ok(found.clone());
        }
        if self.empty_calls.contains(&key) {
            self.chains.record_result(0);
            return Ok(Arc::new(empty));
        }
        let ssa = self.evaluator.functions.ssa(callee).ok_or(EvalError::IllFormed("a function"))?;
        let extents = self.extents(outer)?;
        let mut results: Vec<(Vec<i64>, Vec<Arc<IrTensor>>)> = Vec::new();
        let places = self.control_chain(&stmt.rhs);
        let passed: Vec<u64> = args.iter().map(|a| self.operand_chain(a).max(places)).collect();
        let nest = EvalNest::new(extents.clone(), batch, pred, self)?;
        nest.visit(self, &mut |run, at| {
            run.step()?;
            run.current_counts.count_term(0);
            let sizes = sizes.iter().map(|p| run.eval_index(p, at)).collect::<SsaResult<Vec<i64>>>()?;
            let args = args.iter().map(|a| run.slice(a, at)).collect::<SsaResult<Vec<Arc<IrTensor>>>>()?;
            // The caller keeps its arguments, so no update in the callee may change them in place.
            let held = args.clone();
            let (parts, to) = run.with_input_chains(passed.clone(), |run| {
                run.in_nested_function(|evaluator| evaluator.run(&ssa, &sizes, args))
            })?;
            run.record_call(&key, &to);
            drop(held);
            results.push((at.to_vec(), parts));
            Ok(())
        })?;
        self.chains.record_call_result(&key, *part);
        let mut parts = Vec::new();
        for (k, (_, var)) in ssa.outputs.iter().enumerate() {
            let scalar = ssa.stmts.get(var.0 as usize).and_then(|s| s.scalar).unwrap_or(Scalar::F64);
            let own = results.first().and_then(|(_, parts)| parts.get(k)).map(|t| t.dims.clone());
            let inner: Vec<usize> = own.unwrap_or_default();
            let size: usize = inner.iter().product();
            let outer: Vec<usize> = extents.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
            let count: usize = outer.iter().product();
            let dims: Vec<usize> = outer.iter().copied().chain(inner).collect();
            let mut items = vec![IrValue::zero_of(scalar); count.saturating_mul(size)];
            let shape = IrTensor { dims: outer, items: Vec::new() };
            for (at, parts) in &results {
                let (Some(start), Some(part)) = (shape.offset(at), parts.get(k)) else {
                    return Err(EvalError::IllFormed("a part of a call"));
                };
                for (slot, value) in items.iter_mut().skip(start * size).zip(&part.items) {
                    *slot = value.clone();
                }
            }
            parts.push(Arc::new(if results.is_empty() && k == *part as usize {
                empty.clone()
            } else {
                IrTensor { dims, items }
            }));
        }
        let result = parts.get(*part as usize).cloned().ok_or(EvalError::IllFormed("a part of a call"));
        if results.is_empty() {
            self.empty_calls.insert(key);
        } else {
            self.call_results.insert(key, parts);
        }
        result
    }
}
