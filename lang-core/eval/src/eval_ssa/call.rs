//! **Calls** in the evaluator of Tensor SSA: runs the callee for each tuple of the batch and
//! assembles its results.

use std::sync::Arc;

use super::{Eval, Run, Tensor};
use crate::eval::Stopped;
use lang_ir::nest::Nest;
use lang_ir::ssa::{Rhs, Stmt};
use lang_ir::value::Value;
use lang_syntax::ops::Scalar;

impl Run<'_, '_> {
    /// Evaluates a part of the result of a call. All parts share the same runs.
    pub(super) fn call(&mut self, stmt: &Stmt, empty: Tensor) -> Eval<Arc<Tensor>> {
        let Rhs::Call { callee, sizes, pred, args, batch, part } = &stmt.rhs else {
            return Err(Stopped::Broken("a call"));
        };
        let batch = *batch as usize;
        let outer = stmt.dims.get(..batch).unwrap_or_default();
        let key = format!("{callee:?} {sizes:?} {pred:?} {args:?} {outer:?}");
        if let Some(found) = self.calls.get(&key).and_then(|parts| parts.get(*part as usize)) {
            self.chains.part(&key, *part);
            return Ok(found.clone());
        }
        if self.nowhere.contains(&key) {
            self.chains.ends(0);
            return Ok(Arc::new(empty));
        }
        let ssa = self.evaluator.functions.ssa(callee).ok_or(Stopped::Broken("a function"))?;
        let extents = self.extents(outer)?;
        let mut results: Vec<(Vec<i64>, Vec<Arc<Tensor>>)> = Vec::new();
        let places = self.chain_to_places(&stmt.rhs);
        let passed: Vec<u64> = args.iter().map(|a| self.chain_to(a).max(places)).collect();
        let nest = Nest::new(extents.clone(), batch, pred, self)?;
        nest.visit(self, &mut |run, at| {
            run.step()?;
            run.own.visited(0);
            let sizes = sizes.iter().map(|p| run.number(p, at)).collect::<Eval<Vec<i64>>>()?;
            let args = args.iter().map(|a| run.slice(a, at)).collect::<Eval<Vec<Arc<Tensor>>>>()?;
            let held = args.clone();
            let (parts, to) =
                run.chained(passed.clone(), |run| run.inside(|evaluator| evaluator.run(&ssa, &sizes, args)))?;
            run.called(&key, &to);
            drop(held);
            results.push((at.to_vec(), parts));
            Ok(())
        })?;
        self.chains.part(&key, *part);
        let mut parts = Vec::new();
        for (k, (_, var)) in ssa.outputs.iter().enumerate() {
            let scalar = ssa.stmts.get(var.0 as usize).and_then(|s| s.scalar).unwrap_or(Scalar::F64);
            let own = results.first().and_then(|(_, parts)| parts.get(k)).map(|t| t.dims.clone());
            let inner: Vec<usize> = own.unwrap_or_default();
            let size: usize = inner.iter().product();
            let outer: Vec<usize> = extents.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
            let count: usize = outer.iter().product();
            let dims: Vec<usize> = outer.iter().copied().chain(inner).collect();
            let mut items = vec![Value::zero_of(scalar); count.saturating_mul(size)];
            let shape = Tensor { dims: outer, items: Vec::new() };
            for (at, parts) in &results {
                let (Some(start), Some(part)) = (shape.offset(at), parts.get(k)) else {
                    return Err(Stopped::Broken("a part of a call"));
                };
                for (slot, value) in items.iter_mut().skip(start * size).zip(&part.items) {
                    *slot = value.clone();
                }
            }
            parts.push(Arc::new(if results.is_empty() && k == *part as usize {
                empty.clone()
            } else {
                Tensor { dims, items }
            }));
        }
        let result = parts.get(*part as usize).cloned().ok_or(Stopped::Broken("a part of a call"));
        if results.is_empty() {
            self.nowhere.insert(key);
        } else {
            self.calls.insert(key, parts);
        }
        result
    }
}
