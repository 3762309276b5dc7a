//! **Store-on-kill** for arrays that the body of a loop only updates. The forward loop keeps the
//! overwritten elements instead of states, because they are fewer. The reverse writes them back,
//! update by update.
//!
//! If a nested loop updates the array, the reverse of that loop restores it. If no such reverse
//! restores it, a separate loop does.

use std::sync::Arc;

use super::super::Differentiator;
use super::ReverseInitialValues;
use super::partition::Partition;
use lang_ir::region::{LoopArg, LoopResult, SsaLoop};
use lang_ir::ssa::{Rhs, Statement, StmtId, TensorAccess, index_number, statement_index};
use lang_sizes::predicate::{Atom, Poly};

/// A carried array that a body only updates, with all its versions.
#[derive(Clone)]
pub(super) struct VersionChain {
    /// The carried input, and the statement that reads it.
    pub(super) input: u32,
    pub(super) initial: StmtId,
    /// The later versions, in order.
    pub(super) versions: Vec<ArrayVersion>,
}

/// A version of an array, after an update or after a nested loop of updates.
#[derive(Clone)]
pub(super) struct ArrayVersion {
    pub(super) statement: StmtId,
    /// After a nested loop: the statement of the reverse that computes the previous version.
    pub(super) restored_by: Option<StmtId>,
}

impl VersionChain {
    /// Whether the statement is one of the versions.
    pub(super) fn contains(&self, v: StmtId) -> bool {
        self.initial == v || self.versions.iter().any(|l| l.statement == v)
    }

    /// Returns the last version.
    pub(super) fn last_version(&self) -> StmtId {
        self.versions.last().map_or(self.initial, |l| l.statement)
    }

    /// Iterates over the versions from the last to the first, each with the version before it.
    pub(super) fn backwards(&self) -> impl Iterator<Item = (StmtId, &ArrayVersion)> {
        let before = std::iter::once(self.initial).chain(self.versions.iter().map(|l| l.statement));
        let all: Vec<(StmtId, &ArrayVersion)> = before.zip(&self.versions).collect();
        all.into_iter().rev()
    }
}

/// A loop of a reverse that restores an array: the version it starts from, and its input for the
/// array.
pub(in crate::ad) struct RestoringLoop {
    pub(super) version: StmtId,
    pub(super) restoring_loop: Arc<SsaLoop>,
    pub(super) input: u32,
}

/// Returns the carried arrays that a body only updates.
fn update_chains(of: &SsaLoop) -> Vec<VersionChain> {
    of.carried_inputs().filter_map(|(k, next)| update_chain(of, k, next)).collect()
}

fn update_chain(of: &SsaLoop, input: u32, next: u32) -> Option<VersionChain> {
    let (leaf, last) = of.body.outputs.get(next as usize)?;
    if leaf.dims.is_empty() {
        return None;
    }
    let (mut links, mut at) = (Vec::new(), *last);
    loop {
        let before = match &of.body.stmts.get(at.0 as usize)?.rhs {
            Rhs::Input(k) if *k == input && !links.is_empty() => break,
            Rhs::Update { base, batch: 0, .. } => base,
            Rhs::LoopResult(producer, LoopResult::Final(k)) => {
                let inner = of.body.loop_at(*producer)?;
                if !inner.batch.is_empty() || inner.checkpoint.is_some() {
                    return None;
                }
                let LoopArg::Carried { init, next } = inner.args.get(*k as usize)? else { return None };
                update_chain(inner, *k, *next)?;
                init
            }
            _ => return None,
        };
        if !before.at.is_empty() {
            return None;
        }
        links.push(ArrayVersion { statement: at, restored_by: None });
        at = before.var;
    }
    links.reverse();
    Some(VersionChain { input, initial: at, versions: links })
}

impl Differentiator<'_> {
    /// Partitions a loop body and its adjoint, which this pass holds. The reverse part computes
    /// these cotangents and restores these inputs.
    pub(super) fn partition(&mut self, of: &SsaLoop, cotangents: &[StmtId], inputs: &[u32]) -> Partition {
        let mut chains = update_chains(of);
        loop {
            let back = chains.iter().filter(|c| inputs.contains(&c.input)).map(|c| c.initial);
            let ends: Vec<StmtId> = cotangents.iter().copied().chain(back).collect();
            let split = Partition::for_loop(of, self, &ends, &chains);
            let Some(after) = split.unrestored_version else { return split };
            let before = self.restore_before(after);
            for link in chains.iter_mut().flat_map(|c| &mut c.versions).filter(|l| l.statement == after) {
                link.restored_by = before;
            }
            if before.is_none() {
                // No loop restores the array, so the forward loop keeps whole states.
                chains.retain(|c| !c.contains(after));
            }
        }
    }

    /// Returns the version of an array before the nested loop that updates it, or `None` if it
    /// cannot be restored.
    fn restore_before(&mut self, after: StmtId) -> Option<StmtId> {
        let stmt = self.builder.get(after)?.clone();
        let known =
            self.restoring_loops.iter().find(|b| b.version == after).map(|b| (b.restoring_loop.clone(), b.input));
        let (by, input) = match known {
            Some(known) => known,
            None => self.build_restoring_loop(&stmt)?,
        };
        let needs = match stmt.rhs.producer() {
            Some(producer) => self.builder.get(producer)?.needs.clone(),
            None => stmt.needs,
        };
        Some(self.builder.loop_result(&stmt.dims, stmt.scalar?, &by, LoopResult::Final(input), needs))
    }

    /// Builds a loop that restores the array which a nested loop updates. Returns the loop and its
    /// input for the array.
    fn build_restoring_loop(&mut self, stmt: &Statement) -> Option<(Arc<SsaLoop>, u32)> {
        let Rhs::LoopResult(producer, LoopResult::Final(k)) = &stmt.rhs else { return None };
        let Statement { rhs: Rhs::Loop(of), needs, .. } = self.builder.get(*producer)?.clone() else { return None };
        let of = &of;
        let mut pass = Differentiator::new(&of.body, self.functions, self.hits);
        pass.builder.is_region = true;
        let bodies = pass.partition(of, &[], &[*k]).build_bodies(of, &pass, (0, 0), &[]);
        let output = bodies.restored_inputs.iter().position(|j| j == k)?;
        let forward = Arc::new(SsaLoop { body: Arc::new(bodies.forward.clone()), ..(**of).clone() });
        self.builder.set_loop(*producer, &forward);
        let (trips, extent) = self.trip_count(&forward, &needs)?;
        let ends = ReverseInitialValues { carried: Vec::new(), per_iteration: Vec::new(), sums: Vec::new(), count: 0 };
        let by = self.build_reverse(of, &forward, &bodies, &ends, (&trips, &extent), &needs)?;
        let carried = |a: &LoopArg| matches!(a, LoopArg::Carried { next, .. } if *next as usize == output);
        let input = by.args.iter().position(carried)?;
        Some((by, u32::try_from(input).ok()?))
    }
}

/// Returns a statement over the bound indices of an update that reads the elements it overwrites.
pub(super) fn read_overwritten(stmt: &Statement, before: StmtId) -> Statement {
    let Rhs::Update { bound, pred, at, .. } = &stmt.rhs else { return stmt.clone() };
    let free = stmt.dims.len();
    let down = |p: &Poly| {
        p.substitute(&|a| match a {
            Atom::Local(l, _) => {
                let k = index_number(*l)?.checked_sub(free)?;
                Some(statement_index(k, &Poly::default()).value())
            }
            _ => None,
        })
    };
    let rhs = Rhs::Contract {
        bound: Vec::new(),
        pred: pred.map(&down),
        neg: false,
        factors: vec![TensorAccess { var: before, at: at.iter().map(down).collect() }],
    };
    Statement { dims: bound.clone(), scalar: stmt.scalar, rhs, needs: stmt.needs.clone(), name: None }
}
