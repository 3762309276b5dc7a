//! **Results of calls and loops** in the evaluator of Tensor SSA. A call or a loop runs when its
//! statement is evaluated. Each result is kept until the statement that names it reads it.

use std::sync::Arc;

use super::{IrTensor, SsaFrame, SsaResult};
use crate::eval_core::EvalError;

/// A result of a call or a loop.
#[derive(Default)]
pub(super) struct ProducedResult {
    /// The subtensors of the result, each with its first indices.
    pub(super) parts: Vec<(Vec<i64>, Arc<IrTensor>)>,
    /// The length of the longest chain of dependent operations to the result.
    pub(super) chain: u64,
}

impl SsaFrame<'_, '_> {
    /// Returns the result that the current statement names. `out` is zero and has the extents of
    /// the statement.
    pub(super) fn take_result(&mut self, mut out: IrTensor) -> SsaResult<Arc<IrTensor>> {
        let result = self.results.remove(&self.current).ok_or(EvalError::IllFormed("a result"))?;
        self.chains.record_result(result.chain);
        if let [(at, whole)] = result.parts.as_slice()
            && at.is_empty()
        {
            return Ok(whole.clone());
        }
        for (at, part) in &result.parts {
            copy_subtensor(&mut out, at, part)?;
        }
        Ok(Arc::new(out))
    }
}

/// Copies a tensor into another at these first indices. The extents of the target may be larger.
fn copy_subtensor(out: &mut IrTensor, at: &[i64], part: &IrTensor) -> SsaResult<()> {
    let broken = EvalError::IllFormed("a part of a result");
    let mut place = vec![0_usize; part.dims.len()];
    for item in &part.items {
        let inner = place.iter().map(|i| i64::try_from(*i).unwrap_or(-1));
        let whole: Vec<i64> = at.iter().copied().chain(inner).collect();
        let k = out.offset(&whole).ok_or(broken.clone())?;
        *out.items.get_mut(k).ok_or(broken.clone())? = item.clone();
        for (i, n) in place.iter_mut().zip(&part.dims).rev() {
            *i += 1;
            if *i < *n {
                break;
            }
            *i = 0;
        }
    }
    Ok(())
}
