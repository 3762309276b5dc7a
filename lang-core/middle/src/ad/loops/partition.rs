//! **Forward/reverse partition** of a loop body and its adjoint. It produces two bodies: the primal
//! body, which also outputs the kept values, and the body of the reverse loop.

use std::collections::{BTreeSet, HashMap};

use super::super::Differentiator;
use super::store_on_kill::{VersionChain, read_overwritten};
use lang_ir::core::{TypeLeaf, Vars};
use lang_ir::flat::{FunctionInput, InputSource};
use lang_ir::region::SsaLoop;
use lang_ir::ssa::{
    Rhs, SsaFunction, Statement, StmtId, TensorAccess, for_each_poly_read, for_each_pred_read, statement_index,
};
use lang_opt::{dce, loop_pruning};
use lang_sizes::predicate::{Atom, Poly, Pred};

/// The source of an input of the reverse body.
#[derive(Clone, Debug)]
pub(super) enum ReverseInput {
    /// A part of a top-level `let`.
    Global(FunctionInput),
    /// An input of the primal body that is not carried, in the same iteration.
    Captured(u32),
    /// A kept value: an output of the extended primal body.
    Stored(u32),
    /// The cotangent of an output, by its position among the seeds.
    Seed(u32),
    /// The sum of an input's cotangents so far, by its position among the sums.
    Sum(u32),
    /// An updated array, as it was after the iteration.
    Restored(u32),
}

impl ReverseInput {
    /// Returns the name under which this source is counted.
    pub(super) fn rule_name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Global(_) => return None,
            Self::Captured(_) => "captured input",
            Self::Stored(_) => "stored value",
            Self::Seed(_) => "carried cotangent",
            Self::Sum(_) => "sum over iterations",
            Self::Restored(_) => "restored array",
        })
    }
}

/// The partition of a body and its adjoint, by the primal values that the reverse reads.
pub(super) struct Partition {
    /// Primal statements that the reverse recomputes.
    recomputed: BTreeSet<u32>,
    /// Primal statements that the forward loop keeps.
    stored: Vec<StmtId>,
    /// Statements of the reverse.
    reverse: BTreeSet<u32>,
    /// Arrays that the body only updates and the reverse restores.
    restored_arrays: Vec<VersionChain>,
    /// A version of such an array that a nested loop computes and that no loop restores yet.
    pub(super) unrestored_version: Option<StmtId>,
}

/// The primal part of a pass over a body.
struct PrimalStatements<'a> {
    stmts: &'a [Statement],
    body_len: usize,
}

impl<'a> PrimalStatements<'a> {
    fn for_loop(of: &SsaLoop, pass: &'a Differentiator<'_>) -> Self {
        Self { stmts: pass.builder.stmts.as_slice(), body_len: of.body.stmts.len() }
    }

    /// Returns the results of loops that the body did not name before, and the statements that
    /// their extents need. Operands come first.
    fn new_loop_results(&self) -> BTreeSet<u32> {
        let all = (0..).take(self.stmts.len()).map(StmtId);
        let mut open: Vec<StmtId> = all.skip(self.body_len).filter(|v| self.contains(*v)).collect();
        let mut found = BTreeSet::new();
        while let Some(v) = open.pop() {
            let Some(stmt) = self.stmts.get(v.0 as usize).filter(|_| v.0 as usize >= self.body_len) else { continue };
            if found.insert(v.0) {
                stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| open.push(v)));
                stmt.rhs.for_each_operand(&mut |v| open.push(v));
            }
        }
        found
    }

    /// Returns whether this is a statement of the body, or a new result of a loop in it.
    fn contains(&self, v: StmtId) -> bool {
        let is_in_body = |v: StmtId| (v.0 as usize) < self.body_len;
        is_in_body(v) || self.stmts.get(v.0 as usize).and_then(|s| s.rhs.producer()).is_some_and(is_in_body)
    }
}

/// The two bodies.
pub(super) struct PartitionedBodies {
    /// The primal body, which also outputs the kept values.
    pub(super) forward: SsaFunction,
    pub(super) reverse: SsaFunction,
    /// The carried inputs that the reverse restores. Their outputs come last.
    pub(super) restored_inputs: Vec<u32>,
    /// The sources of the reverse body's inputs.
    pub(super) inputs: Vec<ReverseInput>,
}

impl Partition {
    /// Computes the partition for a reverse that computes the statements `ends`, with these arrays
    /// that the body only updates.
    pub(super) fn for_loop(of: &SsaLoop, pass: &Differentiator<'_>, ends: &[StmtId], chains: &[VersionChain]) -> Self {
        let stmts = &pass.builder.stmts;
        let primal = PrimalStatements::for_loop(of, pass);
        let mut split = Self {
            recomputed: BTreeSet::new(),
            stored: Vec::new(),
            reverse: BTreeSet::new(),
            restored_arrays: Vec::new(),
            unrestored_version: None,
        };
        let carried: BTreeSet<u32> = of.carried_inputs().map(|(k, _)| k).collect();
        let mut open: Vec<StmtId> = ends.to_vec();
        while let Some(v) = open.pop() {
            let Some(stmt) = stmts.get(v.0 as usize) else { continue };
            let k = v.0;
            if primal.contains(v) {
                if split.recomputed.contains(&k) || split.stored.contains(&v) {
                    continue;
                }
                if let Some(chain) = chains.iter().find(|c| c.contains(v)) {
                    if !split.restored_arrays.iter().any(|c| c.input == chain.input) {
                        split.restored_arrays.push(chain.clone());
                        for link in &chain.versions {
                            match link.restored_by {
                                Some(before) => open.push(before),
                                None => split.collect_update_operands(stmts, link.statement, &mut open),
                            }
                        }
                    }
                    continue;
                }
                let is_recomputed = match &stmt.rhs {
                    Rhs::Input(k) => !carried.contains(k),
                    Rhs::Constant(_) | Rhs::Zero | Rhs::Index(_) => true,
                    Rhs::Contract { bound, factors, .. } if bound.is_empty() && factors.len() == 1 => {
                        // A view is recomputed, unless it has fewer axes than its operand: then the
                        // view itself is kept. A view of an input that is not carried is always
                        // recomputed.
                        let shown = factors.first().and_then(|f| stmts.get(f.var.0 as usize));
                        let is_captured =
                            shown.is_some_and(|s| matches!(s.rhs, Rhs::Input(k) if !carried.contains(&k)));
                        is_captured || shown.is_some_and(|s| s.dims.len() <= stmt.dims.len())
                    }
                    _ => false,
                };
                if !is_recomputed {
                    split.stored.push(v);
                    stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| open.push(v)));
                    continue;
                }
                split.recomputed.insert(k);
            } else if !split.reverse.insert(k) {
                continue;
            }
            stmt.dims.iter().for_each(|n| for_each_poly_read(n, &mut |v| open.push(v)));
            stmt.rhs.for_each_operand(&mut |v| open.push(v));
            for c in &stmt.needs {
                if let Some(check) = pass.builder.checks.get(*c as usize) {
                    [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut |v| open.push(v)));
                }
            }
        }
        split.stored.sort_unstable();
        split
    }

    /// Collects the operands that restoring an update needs, which describe its position. After a
    /// nested loop, marks the version as missing.
    fn collect_update_operands(&mut self, stmts: &[Statement], after: StmtId, open: &mut Vec<StmtId>) {
        match stmts.get(after.0 as usize).map(|s| &s.rhs) {
            Some(Rhs::Update { bound, pred, at, .. }) => {
                bound.iter().chain(at).for_each(|p| for_each_poly_read(p, &mut |v| open.push(v)));
                for_each_pred_read(pred, &mut |v| open.push(v));
            }
            _ => self.unrestored_version = Some(after),
        }
    }

    /// Builds the extended primal body and the reverse body. The first `seeds` inputs after the
    /// primal's are seeds, of which `carried` are carried.
    pub(super) fn build_bodies(
        &self,
        of: &SsaLoop,
        pass: &Differentiator<'_>,
        (seeds, carried): (usize, u32),
        cotangents: &[StmtId],
    ) -> PartitionedBodies {
        let stmts = &pass.builder.stmts;
        let mut forward = (*of.body).clone();
        // Nested loops output the values that their reverses keep.
        for (slot, stmt) in forward.stmts.iter_mut().zip(stmts) {
            slot.rhs.clone_from(&stmt.rhs);
        }
        // Results of loops that the body did not name before, and the statements that their extents
        // need.
        let primal = PrimalStatements::for_loop(of, pass);
        let mut moved: HashMap<u32, u32> = (0..).take(forward.stmts.len()).map(|k: u32| (k, k)).collect();
        for k in primal.new_loop_results() {
            let Some(stmt) = stmts.get(k as usize) else { continue };
            let put = StatementMap { numbers: &moved };
            let dims = stmt.dims.iter().map(|n| put.poly(n)).collect();
            let rhs = stmt.rhs.map(&mut |a| put.access(a), &|p| put.poly(p), &|p| put.pred(p));
            forward.stmts.push(Statement { dims, rhs, ..stmt.clone() });
            moved.insert(k, u32::try_from(forward.stmts.len() - 1).unwrap_or(u32::MAX));
        }
        let keep = |forward: &mut SsaFunction, v: StmtId| {
            let stmt = forward.stmts.get(v.0 as usize);
            let (dims, scalar) = stmt.map(|s| (s.dims.clone(), s.scalar)).unwrap_or_default();
            forward.outputs.push((TypeLeaf { path: Vec::new(), dims, scalar }, v));
            u32::try_from(forward.outputs.len() - 1).unwrap_or(u32::MAX)
        };
        let (mut inputs, mut feeds, mut all) = (Vec::new(), Vec::new(), Vec::new());
        let mut places: HashMap<u32, u32> = HashMap::new();
        let mut vars = pass.vars.clone();
        let push = |all: &mut Vec<Statement>, stmt: Statement| {
            all.push(stmt);
            u32::try_from(all.len() - 1).unwrap_or(u32::MAX)
        };
        let input = |stmt: &Statement, k: u32| Statement { rhs: Rhs::Input(k), needs: Vec::new(), ..stmt.clone() };
        let leaf_of = |stmt: &Statement| TypeLeaf { path: Vec::new(), dims: stmt.dims.clone(), scalar: stmt.scalar };
        for v in &self.stored {
            let Some(stmt) = stmts.get(v.0 as usize) else { continue };
            let k = keep(&mut forward, StatementMap { numbers: &moved }.var(*v));
            let number =
                add_reverse_input("kept", leaf_of(stmt), ReverseInput::Stored(k), &mut inputs, &mut feeds, &mut vars);
            places.insert(v.0, push(&mut all, input(stmt, number)));
        }
        for chain in &self.restored_arrays {
            let Some(stmt) = stmts.get(chain.initial.0 as usize) else { continue };
            let number = add_reverse_input(
                "after",
                leaf_of(stmt),
                ReverseInput::Restored(chain.input),
                &mut inputs,
                &mut feeds,
                &mut vars,
            );
            places.insert(chain.last_version().0, push(&mut all, input(stmt, number)));
        }
        for k in self.recomputed.iter().chain(&self.reverse) {
            let Some(stmt) = stmts.get(*k as usize) else { continue };
            let mut stmt = stmt.clone();
            if let Rhs::Input(j) = stmt.rhs {
                let Some(old) = pass.inputs.get(j as usize) else { continue };
                let count = of.body.inputs.len();
                let place = |k: usize| u32::try_from(k).unwrap_or(u32::MAX);
                let feed = match (j as usize).checked_sub(count) {
                    None => ReverseInput::Captured(j),
                    Some(_) if !old.source.is_passed() => ReverseInput::Global(old.clone()),
                    Some(k) if k < seeds => ReverseInput::Seed(place(k)),
                    Some(k) => ReverseInput::Sum(place(k - seeds)),
                };
                let is_captured = matches!(feed, ReverseInput::Captured(_));
                let number = add_reverse_input(
                    &pass.vars.name(old.local),
                    leaf_of(&stmt),
                    feed,
                    &mut inputs,
                    &mut feeds,
                    &mut vars,
                );
                if let (Some(slot), true) = (inputs.last_mut(), is_captured) {
                    // The local stays the same, because an integer input may be a size.
                    slot.local = old.local;
                }
                stmt = input(&stmt, number);
            }
            places.insert(*k, push(&mut all, stmt));
        }
        // A carried cotangent is an input even if nothing in the body reads it.
        for j in 0..carried {
            let known = feeds.iter().any(|f| matches!(f, ReverseInput::Seed(k) if *k == j));
            let old = pass.inputs.get(of.body.inputs.len() + j as usize);
            if let (false, Some(old)) = (known, old) {
                let leaf = old.leaf.clone();
                add_reverse_input(
                    &pass.vars.name(old.local),
                    leaf,
                    ReverseInput::Seed(j),
                    &mut inputs,
                    &mut feeds,
                    &mut vars,
                );
            }
        }
        // Earlier versions, from the last to the first, each written back from the overwritten
        // elements.
        for (before, link) in self.restored_arrays.iter().flat_map(VersionChain::backwards) {
            if let Some(place) = link.restored_by.and_then(|v| places.get(&v.0)).copied() {
                places.insert(before.0, place);
                continue;
            }
            let Some(stmt) = stmts.get(link.statement.0 as usize) else { continue };
            let Rhs::Update { bound, pred, at, .. } = &stmt.rhs else { continue };
            let old = read_overwritten(stmt, before);
            let v = StmtId(push(&mut forward.stmts, old.clone()));
            let k = keep(&mut forward, v);
            let number =
                add_reverse_input("old", leaf_of(&old), ReverseInput::Stored(k), &mut inputs, &mut feeds, &mut vars);
            let value = StmtId(push(&mut all, input(&old, number)));
            let free = stmt.dims.len();
            let own = (0..bound.len()).map(|k| statement_index(free + k, &Poly::default()).value()).collect();
            // All statement numbers in this update are old ones, except the value's.
            let rhs = Rhs::Update {
                base: TensorAccess { var: link.statement, at: Vec::new() },
                batch: 0,
                bound: bound.clone(),
                pred: pred.clone(),
                at: at.clone(),
                value: TensorAccess { var: StmtId(NEW_STATEMENT_OFFSET + value.0), at: own },
                accumulate: false,
            };
            places.insert(before.0, push(&mut all, Statement { rhs, ..stmt.clone() }));
        }
        let put = StatementMap { numbers: &places };
        for stmt in &mut all {
            stmt.dims = stmt.dims.iter().map(|n| put.poly(n)).collect();
            stmt.rhs = stmt.rhs.map(&mut |a| put.access(a), &|p| put.poly(p), &|p| put.pred(p));
        }
        let mut checks = pass.builder.checks.clone();
        for check in &mut checks {
            check.dims.iter_mut().for_each(|n| *n = put.poly(n));
            (check.guard, check.cond) = (put.pred(&check.guard), put.pred(&check.cond));
        }
        // Integers that are sizes of the remaining statements.
        let mut sizes = BTreeSet::new();
        let used = SsaFunction { stmts: all.clone(), checks: checks.clone(), ..(*of.body).clone() };
        loop_pruning::for_each_local(&used, &mut |l| {
            sizes.insert(l);
        });
        for (k, old) in (0..).zip(&of.body.inputs).filter(|(_, i)| sizes.contains(&i.local)) {
            if feeds.iter().any(|f| matches!(f, ReverseInput::Captured(j) if *j == k)) {
                continue;
            }
            add_reverse_input(
                &pass.vars.name(old.local),
                old.leaf.clone(),
                ReverseInput::Captured(k),
                &mut inputs,
                &mut feeds,
                &mut vars,
            );
            inputs.last_mut().into_iter().for_each(|i| i.local = old.local);
        }
        for input in &mut inputs {
            input.leaf.dims.iter_mut().for_each(|n| *n = put.poly(n));
        }
        let ends = cotangents.iter().copied().chain(self.restored_arrays.iter().map(|c| c.initial));
        let outputs: Vec<(TypeLeaf, StmtId)> = ends
            .map(|v| {
                let var = put.var(v);
                let leaf = all.get(var.0 as usize).map(|s| TypeLeaf {
                    path: Vec::new(),
                    dims: s.dims.clone(),
                    scalar: s.scalar,
                });
                (leaf.unwrap_or(TypeLeaf { path: Vec::new(), dims: Vec::new(), scalar: None }), var)
            })
            .collect();
        let mut reverse =
            SsaFunction { vars, inputs, stmts: all, checks, needs: Vec::new(), outputs, ..(*of.body).clone() };
        // Data that are extents of kept values become outputs too.
        let mut extents = BTreeSet::new();
        forward.outputs.iter().for_each(|(leaf, _)| {
            leaf.dims.iter().for_each(|n| {
                for_each_poly_read(n, &mut |v| {
                    extents.insert(v);
                });
            });
        });
        for v in extents {
            let scalar = forward.stmts.get(v.0 as usize).is_some_and(|s| s.dims.is_empty());
            if scalar && !forward.outputs.iter().any(|(_, output)| *output == v) {
                keep(&mut forward, v);
            }
        }
        dce::eliminate_dead_code(&mut reverse);
        dce::eliminate_dead_code(&mut forward);
        PartitionedBodies {
            forward,
            reverse,
            restored_inputs: self.restored_arrays.iter().map(|c| c.input).collect(),
            inputs: feeds,
        }
    }
}

/// The offset of the numbers of new reverse statements, until all statements are renumbered.
const NEW_STATEMENT_OFFSET: u32 = 1 << 22;

/// A map from old statement numbers to new ones.
struct StatementMap<'a> {
    numbers: &'a HashMap<u32, u32>,
}

impl StatementMap<'_> {
    fn var(&self, v: StmtId) -> StmtId {
        match v.0.checked_sub(NEW_STATEMENT_OFFSET) {
            Some(new) => StmtId(new),
            None => StmtId(self.numbers.get(&v.0).copied().unwrap_or(u32::MAX >> 8)),
        }
    }

    fn access(&self, a: &TensorAccess) -> TensorAccess {
        TensorAccess { var: self.var(a.var), at: a.at.iter().map(|p| self.poly(p)).collect() }
    }

    fn poly(&self, p: &Poly) -> Poly {
        p.substitute(&|a| match a {
            Atom::Read(x, _, at) => {
                let v = self.var(StmtId::from_local(*x)?);
                Some(Poly::atom(Atom::Read(v.local(), v.name(), at.iter().map(|p| self.poly(p)).collect())))
            }
            _ => None,
        })
    }

    fn pred(&self, p: &Pred) -> Pred {
        p.map(&|p| self.poly(p)).replace_opaque(&|x| {
            let v = self.var(StmtId::from_local(x.source)?);
            let (local, name, at) = (v.local(), v.name(), x.indices.into());
            Some(if x.is_array { Pred::Element(local, name, at, true) } else { Pred::Member(local, name, at, true) })
        })
    }
}

/// Adds an input, and returns its number.
fn add_reverse_input(
    name: &str,
    leaf: TypeLeaf,
    feed: ReverseInput,
    inputs: &mut Vec<FunctionInput>,
    feeds: &mut Vec<ReverseInput>,
    vars: &mut Vars,
) -> u32 {
    let number = u32::try_from(inputs.len()).unwrap_or(u32::MAX);
    inputs.push(FunctionInput { local: vars.fresh(name), source: InputSource::Param(number), leaf });
    feeds.push(feed);
    number
}
