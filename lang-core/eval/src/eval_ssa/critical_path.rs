//! **Critical path** of an evaluation, and the memory that loops keep for other loops.
//! [`super::StatementCounts`] counts the rest.
//!
//! A chain is a sequence of real operations in which each needs the previous one. An array counts
//! as one value, as deep as its deepest element. Chains continue through calls and loops, and from
//! one iteration to the next. So the result is no less than the longest chain of operations on
//! scalars.

use super::{IrTensor, SsaFrame, SsaResult};
use lang_ir::region::LoopResult;
use lang_ir::ssa::{Rhs, Statement, StmtId, TensorAccess, for_each_poly_read, for_each_pred_read};
use lang_ir::value::IrValue;
use lang_syntax::ops::Scalar;

/// The chains of the function under evaluation.
#[derive(Default)]
pub(super) struct CriticalPaths {
    /// The longest chain to each statement.
    lengths: Vec<u64>,
    /// The longest chain of operations within one element of the current statement.
    element_length: u64,
    /// The chain to the result of a call or loop that the current statement reads.
    result_length: Option<u64>,
    /// Bytes that the loops of this function keep for others.
    stored_bytes: u64,
    /// The most that any nested function keeps.
    nested_stored_bytes: u64,
}

impl CriticalPaths {
    /// Records that an element of the statement takes this many operations in sequence.
    pub(super) fn record_element(&mut self, operations: u64) {
        self.element_length = self.element_length.max(operations);
    }

    /// Adds operations that precede those of each element.
    pub(super) fn prepend(&mut self, operations: u64) {
        self.element_length += operations;
    }

    /// Records the chain to the result of a call or loop that the statement reads.
    pub(super) fn record_result(&mut self, to: u64) {
        self.result_length = Some(to);
    }

    fn length_to(&self, v: StmtId) -> u64 {
        self.lengths.get(v.0 as usize).copied().unwrap_or_default()
    }
}

impl SsaFrame<'_, '_> {
    /// Returns the chain to an operand.
    pub(super) fn operand_chain(&self, a: &TensorAccess) -> u64 {
        self.chains.length_to(a.var)
    }

    /// Returns the longest chain to the data that determine where and how often a statement is
    /// computed.
    pub(super) fn control_chain(&self, rhs: &Rhs) -> u64 {
        let mut most = 0;
        let mut read = |v: StmtId| most = self.chains.length_to(v).max(most);
        rhs.for_each_pred(&mut |p| for_each_pred_read(p, &mut read));
        rhs.for_each_poly(&mut |p| for_each_poly_read(p, &mut read));
        most
    }

    /// Evaluates a nested function whose inputs have these chains. Returns the result and the
    /// chains to its outputs.
    pub(super) fn with_input_chains<T>(
        &mut self,
        inputs: Vec<u64>,
        f: impl FnOnce(&mut Self) -> SsaResult<T>,
    ) -> SsaResult<(T, Vec<u64>)> {
        self.evaluator.boundary_chains = inputs;
        let result = f(self)?;
        let outputs = std::mem::take(&mut self.evaluator.boundary_chains);
        self.chains.nested_stored_bytes = self.chains.nested_stored_bytes.max(self.evaluator.stored_bytes);
        Ok((result, outputs))
    }

    /// Records the chain to the current statement, which has been evaluated. `inputs` are the
    /// chains to the inputs of the function.
    pub(super) fn record_statement(&mut self, stmt: &Statement, value: Option<&IrTensor>, inputs: &[u64]) {
        let (own, end) = (std::mem::take(&mut self.chains.element_length), self.chains.result_length.take());
        let to = match (&stmt.rhs, end) {
            (Rhs::Input(k), _) => inputs.get(*k as usize).copied().unwrap_or_default(),
            (_, Some(end)) => end,
            _ => {
                let mut most = 0;
                let mut read = |v: StmtId| most = self.chains.length_to(v).max(most);
                stmt.rhs.for_each_operand(&mut read);
                stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut read));
                most + own
            }
        };
        if let Rhs::LoopResult(_, LoopResult::PerIteration(_) | LoopResult::Checkpoint(_)) = &stmt.rhs
            && self.is_read_by_loop(self.current)
            && let Some(value) = value
        {
            self.chains.stored_bytes += value.items.len() as u64 * element_bytes(stmt.scalar);
        }
        self.chains.lengths.push(to);
        self.evaluator.span = self.evaluator.span.max(to);
    }

    fn is_read_by_loop(&self, v: StmtId) -> bool {
        let reads = |stmt: &Statement| match &stmt.rhs {
            Rhs::Loop(of) => of.args.iter().any(|a| a.access().var == v),
            _ => false,
        };
        self.ssa.stmts.iter().any(reads)
    }

    /// Passes the chains to the outputs and the kept memory to the caller.
    pub(super) fn pass_to_caller(&mut self) {
        self.evaluator.boundary_chains = self.ssa.outputs.iter().map(|(_, v)| self.chains.length_to(*v)).collect();
        self.evaluator.stored_bytes = self.chains.stored_bytes + self.chains.nested_stored_bytes;
    }
}

/// Returns the size of an element in bytes.
fn element_bytes(scalar: Option<Scalar>) -> u64 {
    match scalar.map(IrValue::zero_of) {
        Some(IrValue::F64(_) | IrValue::I64(_)) => 8,
        Some(IrValue::F32(_)) => 4,
        _ => 1,
    }
}
