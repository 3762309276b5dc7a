//! **Rewriter of Tensor SSA.** A pass replaces right-hand sides and adds statements, which earlier
//! statements may read. At its end, dead code goes and the statements are sorted again, so that
//! every pass leaves a finished function. Each statement keeps its origin: the statement of the
//! original function that it implements.

use std::collections::BTreeSet;

use crate::dce;
use lang_ir::origin::DceOutcome;
use lang_ir::ssa::{Rhs, SsaFunction, Statement, StmtId};

/// A rewritten function.
pub struct Rewritten {
    /// The function. Its statements are sorted, and each is live.
    pub ssa: SsaFunction,
    /// For each statement, the one that it implements in the function before the pass.
    pub origins: Vec<StmtId>,
    /// The new statements that must be complete before the loops of their readers start.
    pub complete_first: BTreeSet<StmtId>,
}

impl Rewritten {
    /// Finishes a function in which each statement implements the one of the same number.
    #[must_use]
    pub fn of(ssa: SsaFunction) -> Self {
        Self::finish(ssa, &[], &BTreeSet::new())
    }

    /// Finishes a function with these origins: removes dead code and sorts the statements.
    #[must_use]
    pub fn finish(mut ssa: SsaFunction, origins: &[StmtId], complete_first: &BTreeSet<StmtId>) -> Self {
        let mut order: Vec<(StmtId, StmtId)> = Vec::new();
        for (old, outcome) in (0..).map(StmtId).zip(dce::eliminate_dead_code(&mut ssa)) {
            if let DceOutcome::Kept(new) = outcome {
                order.push((new, old));
            }
        }
        order.sort_unstable();
        let origin = |old: &StmtId| origins.get(old.0 as usize).copied().unwrap_or(*old);
        Self {
            origins: order.iter().map(|(_, old)| origin(old)).collect(),
            complete_first: order.iter().filter(|(_, old)| complete_first.contains(old)).map(|(new, _)| *new).collect(),
            ssa,
        }
    }
}

/// A function under rewriting.
pub(crate) struct Rewriter {
    ssa: SsaFunction,
    origins: Vec<StmtId>,
    complete_first: BTreeSet<StmtId>,
    is_changed: bool,
}

impl Rewriter {
    pub(crate) fn new(ssa: &SsaFunction) -> Self {
        Self {
            ssa: ssa.clone(),
            origins: (0..).map(StmtId).take(ssa.stmts.len()).collect(),
            complete_first: BTreeSet::new(),
            is_changed: false,
        }
    }

    /// Returns the function so far. Earlier statements may read its new ones.
    pub(crate) fn ssa(&self) -> &SsaFunction {
        &self.ssa
    }

    pub(crate) fn get(&self, var: StmtId) -> Option<&Statement> {
        self.ssa.stmts.get(var.0 as usize)
    }

    /// Adds a statement that helps to implement the statement `of`.
    pub(crate) fn push(&mut self, of: StmtId, stmt: Statement) -> StmtId {
        let var = StmtId(u32::try_from(self.ssa.stmts.len()).unwrap_or(u32::MAX));
        let origin = self.origins.get(of.0 as usize).copied().unwrap_or(of);
        self.ssa.stmts.push(stmt);
        self.origins.push(origin);
        self.is_changed = true;
        var
    }

    /// Replaces a right-hand side.
    pub(crate) fn set_rhs(&mut self, var: StmtId, rhs: Rhs) {
        if let Some(stmt) = self.ssa.stmts.get_mut(var.0 as usize) {
            self.is_changed |= stmt.rhs != rhs;
            stmt.rhs = rhs;
        }
    }

    /// Replaces the checks that a statement needs.
    pub(crate) fn set_needs(&mut self, var: StmtId, needs: Vec<u32>) {
        if let Some(stmt) = self.ssa.stmts.get_mut(var.0 as usize) {
            self.is_changed |= stmt.needs != needs;
            stmt.needs = needs;
        }
    }

    /// Makes a new statement complete before the loops of its readers start.
    pub(crate) fn complete_first(&mut self, var: StmtId) {
        self.complete_first.insert(var);
    }

    /// Returns the finished function; `None` if nothing changed.
    pub(crate) fn finish(self) -> Option<Rewritten> {
        self.is_changed.then(|| Rewritten::finish(self.ssa, &self.origins, &self.complete_first))
    }
}
