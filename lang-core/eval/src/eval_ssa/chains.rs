//! **Critical path** of an evaluation, and the memory that loops keep for other loops.
//! [`super::Population`] counts the rest.
//!
//! A chain is a sequence of real operations in which each needs the previous one. An array counts
//! as one value, as deep as its deepest element. Chains continue through calls and loops, and from
//! one iteration to the next. So the result is no less than the longest chain of operations on
//! scalars.

use std::collections::HashMap;

use super::{Eval, Run, Tensor};
use lang_ir::region::Part;
use lang_ir::ssa::{Access, Rhs, Stmt, Var, for_each_read, reads};
use lang_ir::value::Value;
use lang_syntax::ops::Scalar;

/// The chains of the function under evaluation.
#[derive(Default)]
pub(super) struct Chains {
    /// The longest chain to each statement.
    to: Vec<u64>,
    /// The longest chain of operations within one element of the current statement.
    own: u64,
    /// The chain to the part of a call or loop that the current statement reads.
    end: Option<u64>,
    /// The chains to the parts of calls.
    calls: HashMap<String, Vec<u64>>,
    /// Bytes that the loops of this function keep for others.
    kept: u64,
    /// The most that any nested function keeps.
    inside: u64,
}

impl Chains {
    /// Records that an element of the statement takes this many operations in sequence.
    pub(super) fn element(&mut self, operations: u64) {
        self.own = self.own.max(operations);
    }

    /// Adds operations that precede those of each element.
    pub(super) fn first(&mut self, operations: u64) {
        self.own += operations;
    }

    /// Records the chain to the part of a call or loop that the statement reads.
    pub(super) fn ends(&mut self, to: u64) {
        self.end = Some(to);
    }

    /// Records that the statement reads this part of a call.
    pub(super) fn part(&mut self, call: &str, part: u32) {
        let to = self.calls.get(call).and_then(|parts| parts.get(part as usize));
        self.end = Some(to.copied().unwrap_or_default());
    }

    fn to(&self, v: Var) -> u64 {
        self.to.get(v.0 as usize).copied().unwrap_or_default()
    }
}

impl Run<'_, '_> {
    /// Returns the chain to an operand.
    pub(super) fn chain_to(&self, a: &Access) -> u64 {
        self.chains.to(a.var)
    }

    /// Returns the longest chain to the data that determine where and how often a statement is
    /// computed.
    pub(super) fn chain_to_places(&self, rhs: &Rhs) -> u64 {
        let mut most = 0;
        let mut read = |v: Var| most = self.chains.to(v).max(most);
        rhs.for_each_pred(&mut |p| for_each_read(p, &mut read));
        rhs.for_each_poly(&mut |p| reads(p, &mut read));
        most
    }

    /// Evaluates a nested function whose inputs have these chains. Returns the result and the
    /// chains to its outputs.
    pub(super) fn chained<T>(&mut self, inputs: Vec<u64>, f: impl FnOnce(&mut Self) -> Eval<T>) -> Eval<(T, Vec<u64>)> {
        self.evaluator.passed = inputs;
        let result = f(self)?;
        let outputs = std::mem::take(&mut self.evaluator.passed);
        self.chains.inside = self.chains.inside.max(self.evaluator.kept);
        Ok((result, outputs))
    }

    /// Adds one of the calls of a statement; the longest chain to each part counts.
    pub(super) fn called(&mut self, call: &str, parts: &[u64]) {
        let all = self.chains.calls.entry(call.to_owned()).or_default();
        all.resize(parts.len().max(all.len()), 0);
        all.iter_mut().zip(parts).for_each(|(all, one)| *all = (*all).max(*one));
    }

    /// Records the chain to an evaluated statement. `inputs` are the chains to the inputs of the
    /// function.
    pub(super) fn evaluated(&mut self, stmt: &Stmt, value: &Tensor, inputs: &[u64]) {
        let (own, end) = (std::mem::take(&mut self.chains.own), self.chains.end.take());
        let to = match (&stmt.rhs, end) {
            (Rhs::Input(k), _) => inputs.get(*k as usize).copied().unwrap_or_default(),
            (_, Some(end)) => end,
            _ => {
                let mut most = 0;
                let mut read = |v: Var| most = self.chains.to(v).max(most);
                stmt.rhs.for_each_operand(&mut read);
                stmt.dims.iter().for_each(|n| reads(n, &mut read));
                most + own
            }
        };
        if let Rhs::Loop(_, Part::Every(_) | Part::State(_)) = &stmt.rhs
            && self.read_by_a_loop(Var(u32::try_from(self.chains.to.len()).unwrap_or(u32::MAX)))
        {
            self.chains.kept += value.items.len() as u64 * size(stmt.scalar);
        }
        self.chains.to.push(to);
        self.evaluator.span = self.evaluator.span.max(to);
    }

    fn read_by_a_loop(&self, v: Var) -> bool {
        let reads = |stmt: &Stmt| match &stmt.rhs {
            Rhs::Loop(of, _) => of.args.iter().any(|a| a.access().var == v),
            _ => false,
        };
        self.ssa.stmts.iter().any(reads)
    }

    /// Passes the chains to the outputs and the kept memory to the caller.
    pub(super) fn returns(&mut self) {
        self.evaluator.passed = self.ssa.outputs.iter().map(|(_, v)| self.chains.to(*v)).collect();
        self.evaluator.kept = self.chains.kept + self.chains.inside;
    }
}

/// Returns the size of an element in bytes.
fn size(scalar: Option<Scalar>) -> u64 {
    match scalar.map(Value::zero_of) {
        Some(Value::F64(_) | Value::I64(_)) => 8,
        Some(Value::F32(_)) => 4,
        _ => 1,
    }
}
