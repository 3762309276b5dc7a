//! **In-place loops.** A loop whose body updates arrays becomes one kernel. The loop over the
//! iterations contains the steps of the body, one after the other, and updates the loop-carried
//! arrays in place.
//!
//! An update must own the array that it changes: all other readers must read it before
//! ([`ArrayVersions`]). Temporaries of an iteration have memory for one iteration. Such a kernel is
//! not equivalent to any order of its statements one by one. If one iteration contains a parallel
//! nest, a loop over loops, the loop stays as it is, so that threads can share that nest.

mod node_queries;
mod substitution;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::fusion::loop_name;
use super::loop_nest::{Accumulation, Assignment, FIRST_LOOP_LOCAL, Kernel, NestLoop, NestNode, StorageRole};
use super::{LoopBodyRanges, Schedule, Step, assigned_vars, storage};
use lang_base::Name;
use lang_base::ensure_sufficient_stack;
use lang_ir::core::Constant;
use lang_ir::region::{self, LoopArg, LoopResult};
use lang_ir::ssa::{
    Rhs, SsaFunction, Statement, StmtId, TensorAccess, for_each_pred_read, statement_index, substitute_indices,
};
use lang_opt::index_util::{as_index, indices, is_in_bounds};
use lang_opt::invariant_axes::remove_resultless_producers;
use lang_opt::kernel_statements::is_trivial;
use lang_opt::kernel_statements::{check_operands, has_reads};
use lang_opt::splice::Splicer;
use lang_sizes::predicate::{Atom, FactContext, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;
use node_queries::{count_reads, element_poly, is_parallel_nest, is_self_copy, placeholder_rhs};

/// The maximum number of statements of a loop body.
const MAX_BODY_STMTS: usize = 400;

/// Returns the prepared function of a loop's body and its schedule.
pub(super) type BodyScheduler<'b> = &'b dyn Fn(&Arc<SsaFunction>) -> (Arc<SsaFunction>, Schedule);

/// The initialisation of the states, and for each state the body statement with its next value.
type StateTransitions = (Vec<NestNode>, Vec<(TensorAccess, StmtId)>);

/// Replaces loops by kernels where possible. Returns the function with their statements, the steps,
/// and the ranges of new statements, each with its loop. `None` if no loop is replaced.
pub(super) fn loops_to_kernels(
    ssa: &SsaFunction,
    schedule: &Schedule,
    bodies: BodyScheduler<'_>,
) -> Option<(SsaFunction, Schedule, LoopBodyRanges)> {
    let count = |ssa: &SsaFunction| u32::try_from(ssa.stmts.len()).unwrap_or(u32::MAX);
    let mut statements = Vec::new();
    let mut converted: Option<(SsaFunction, Schedule)> = None;
    for step in &schedule.steps {
        let Step::Statement(var) = step else { continue };
        let Some(of) = ssa.loop_at(*var) else { continue };
        if !has_updates(&of.body) {
            continue;
        }
        let (now, steps) = converted.as_ref().map_or((ssa, schedule), |(ssa, steps)| (ssa, steps));
        let results: HashSet<StmtId> = now.loop_results(*var).map(|(v, _)| v).collect();
        let (body, of_body) = bodies(&of.body);
        let of = LoopConversion::new(now, of, &body).and_then(|region| region.convert(&of_body, &results));
        let Some(LoopKernel { ssa: mut next, kernel, needs, carried }) = of else { continue };
        remove_resultless_producers(&mut next);
        let (before, behind) = partition_checks(now, *var, &results);
        let needs = before.into_iter().chain(needs).collect();
        let mut own = vec![Step::Kernel(Arc::new(kernel), needs)];
        own.extend((!behind.is_empty()).then_some(Step::Checks(behind)));
        let here = |step: &Step| match step {
            Step::Statement(v) if v == var => std::mem::take(&mut own),
            Step::Statement(v) if results.contains(v) => Vec::new(),
            other => vec![other.clone()],
        };
        let carried = steps.loop_carried.iter().cloned().chain(carried).collect();
        let steps = Schedule {
            steps: steps.steps.iter().flat_map(here).collect(),
            loop_carried: carried,
            is_complete: steps.is_complete,
        };
        statements.push((count(now)..count(&next), *var));
        converted = Some((next, steps));
    }
    converted.map(|(ssa, steps)| (ssa, steps, statements))
}

/// Partitions the checks of a loop and of its results: those that precede the loop, and those that
/// depend on its results.
fn partition_checks(ssa: &SsaFunction, producer: StmtId, results: &HashSet<StmtId>) -> (Vec<u32>, Vec<u32>) {
    let own = results.iter().chain([&producer]).filter_map(|v| ssa.stmts.get(v.0 as usize));
    let mut all: Vec<u32> = own.flat_map(|stmt| &stmt.needs).copied().collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().partition(|c| !check_operands(ssa, *c).iter().any(|var| results.contains(var)))
}

/// Returns whether a body, or a loop in it, updates an array. Other bodies are not worth scheduling
/// here.
fn has_updates(body: &SsaFunction) -> bool {
    body.stmts.iter().any(|stmt| match &stmt.rhs {
        Rhs::Update { .. } => true,
        Rhs::Loop(of) => ensure_sufficient_stack(|| has_updates(&of.body)),
        _ => false,
    })
}

/// A loop that became a kernel.
struct LoopKernel {
    /// The function with its statements.
    ssa: SsaFunction,
    kernel: Kernel,
    /// The checks that must precede it.
    needs: Vec<u32>,
    /// The loop-carried variables, with their initial values.
    carried: Vec<(StmtId, TensorAccess)>,
}

/// The conversion of a loop to a kernel.
struct LoopConversion<'r> {
    /// The enclosing function, with the statements of the body.
    ssa: SsaFunction,
    source: &'r region::SsaLoop,
    body: &'r SsaFunction,
    /// The loops that enclose an iteration: over the batch, and over the iterations.
    enclosing: Vec<Index>,
    /// The values of the body's sizes and integers in the kernel.
    size_values: HashMap<LocalId, Poly>,
    /// The values of the body's indices in the kernel.
    index_values: HashMap<LocalId, Poly>,
    /// For each statement of the body, the variable that holds its elements, with the first
    /// indices.
    vars: HashMap<StmtId, TensorAccess>,
    versions: ArrayVersions,
    carried: Vec<(StmtId, TensorAccess)>,
    /// The number of loops created so far.
    loop_count: u32,
    /// The names of the sizes.
    size_names: Vec<Name>,
}

/// The versions of the arrays that the kernel updates in place. A body statement is readable while
/// its version is current.
#[derive(Default)]
struct ArrayVersions {
    /// The array and the version that hold each statement.
    version_of: HashMap<StmtId, (StmtId, u32)>,
    /// The current version of each array.
    current: HashMap<StmtId, u32>,
}

impl ArrayVersions {
    /// Makes the statement the current version of the array.
    fn advance(&mut self, there: StmtId, by: StmtId) {
        let now = self.current.entry(there).or_default();
        *now += 1;
        self.version_of.insert(by, (there, *now));
    }

    /// Returns whether the version that holds the statement is current.
    fn is_current(&self, var: StmtId) -> bool {
        self.version_of
            .get(&var)
            .is_none_or(|(there, version)| self.current.get(there).copied().unwrap_or(0) == *version)
    }
}

impl<'r> LoopConversion<'r> {
    /// Starts the conversion. `None` if the loop has a guard, an extent that depends on data, or a
    /// long body.
    fn new(ssa: &SsaFunction, of: &'r region::SsaLoop, body: &'r SsaFunction) -> Option<Self> {
        let count = of.fixed_trip_count()?;
        let fixed = |n: &Poly| !has_reads(n) && indices([n]).is_empty();
        let plain = of.pred.is_true() && of.batch.iter().chain([count]).all(fixed) && !of.sizes.iter().any(has_reads);
        if !plain || body.stmts.len() > MAX_BODY_STMTS {
            return None;
        }
        let names = ssa.sizes.iter().map(|l| ssa.vars.name(*l)).collect();
        let mut conversion = Self {
            ssa: ssa.clone(),
            source: of,
            body,
            enclosing: Vec::new(),
            size_values: HashMap::new(),
            index_values: HashMap::new(),
            vars: HashMap::new(),
            versions: ArrayVersions::default(),
            carried: Vec::new(),
            loop_count: 0,
            size_names: names,
        };
        for extent in of.batch.iter().chain([count]) {
            let index = conversion.fresh_index(extent.clone(), conversion.enclosing.len());
            conversion.enclosing.push(index);
        }
        Some(conversion)
    }

    /// Converts the steps of the body to a kernel. `results` are the statements of the loop's
    /// results.
    fn convert(mut self, steps: &Schedule, results: &HashSet<StmtId>) -> Option<LoopKernel> {
        let updates = |step: &Step| match step {
            Step::Statement(v) => {
                self.body.stmts.get(v.0 as usize).is_some_and(|s| matches!(s.rhs, Rhs::Update { .. }))
            }
            Step::Kernel(..) | Step::Checks(_) => false,
        };
        if steps.loop_carried.is_empty() && !steps.steps.iter().any(updates) {
            return None;
        }
        let needs = self.hoist_checks(steps)?;
        self.bind_inputs()?;
        let (init, ends) = self.bind_states(results)?;
        let every = self.bind_iteration_results(results)?;
        for (var, stmt) in (0..).map(StmtId).zip(&self.body.stmts) {
            if is_trivial(&stmt.rhs) {
                let _ = self.resolve_var(var);
            }
        }
        let mut body = Vec::new();
        for (var, copy) in &every {
            // The carried value at the start of the iteration.
            if self.body.stmts.get(var.0 as usize).is_some_and(|s| matches!(s.rhs, Rhs::Input(_))) {
                body.push(self.copy_stmt(copy, *var)?);
            }
        }
        let reads: Vec<HashSet<StmtId>> = steps.steps.iter().map(|step| self.step_reads(step)).collect();
        let mut kept: HashSet<StmtId> = every.iter().map(|(v, _)| *v).collect();
        kept.extend(self.body.outputs.iter().map(|(_, v)| *v));
        for (k, step) in steps.steps.iter().enumerate() {
            if !reads.get(k)?.iter().all(|v| self.versions.is_current(*v)) {
                return None;
            }
            let later = |v: &StmtId| kept.contains(v) || reads.iter().skip(k + 1).any(|read| read.contains(v));
            match step {
                Step::Kernel(kernel, _) => {
                    self.reuse_initial_storage(kernel, steps, &later);
                    body.extend(self.zero_fills(kernel)?);
                    for node in &kernel.body {
                        let node = self.convert_node(node, self.enclosing.len())?;
                        // Threads could no longer share the work of this nest.
                        if node.as_ref().is_some_and(is_parallel_nest) {
                            return None;
                        }
                        body.extend(node);
                    }
                }
                Step::Statement(var) => match &self.body.stmts.get(var.0 as usize)?.rhs {
                    Rhs::Update { .. } => body.push(self.convert_update(*var)?),
                    rhs if is_trivial(rhs) => {}
                    _ => return None,
                },
                Step::Checks(_) => return None,
            }
            for (var, copy) in &every {
                let is_set = match step {
                    Step::Kernel(kernel, _) => kernel.assigned.contains(var),
                    Step::Statement(of) => of == var,
                    Step::Checks(_) => false,
                };
                if is_set {
                    body.push(self.copy_stmt(copy, *var)?);
                }
            }
        }
        for (var, copy) in &every {
            if self.body.stmts.get(var.0 as usize).is_some_and(|s| is_trivial(&s.rhs)) {
                body.push(self.copy_stmt(copy, *var)?);
            }
        }
        let states: HashSet<StmtId> = ends.iter().map(|(to, _)| to.var).collect();
        for (to, next) in ends {
            let from = self.substitute_access(&TensorAccess { var: next, at: Vec::new() })?;
            if !self.versions.is_current(next) {
                return None;
            }
            // Another state may already have its next value.
            match from == to {
                true => {}
                false if states.contains(&from.var) => return None,
                false => body.push(self.copy_stmt(&to, next)?),
            }
        }
        let batch = self.source.batch.len();
        let mut nodes = init;
        nodes.push(self.wrap_in_loop(batch, body)?);
        for k in (0..batch).rev() {
            nodes = vec![self.wrap_in_loop(k, nodes)?];
        }
        let set = assigned_vars(&nodes);
        let ssa = self.ssa;
        let mut places = storage::assign_storage(&ssa, &nodes, &set, results, &|_| false);
        // Storage must have the same extents in all iterations.
        let moves = |n: &Poly| has_reads(n) || !indices([n]).is_empty();
        if places.iter().flat_map(|p| p.axes.iter().flatten()).any(moves) {
            return None;
        }
        storage::mark_fully_initialised(&nodes, &mut places);
        let integers = storage::entry_integers(&ssa, &nodes, &mut places);
        let kernel = Kernel { storage: places, entry_integers: integers, body: nodes, assigned: set };
        Some(LoopKernel { ssa, kernel, needs, carried: self.carried })
    }

    /// Wraps nodes in the `k`-th enclosing loop.
    fn wrap_in_loop(&self, k: usize, body: Vec<NestNode>) -> Option<NestNode> {
        let index = self.enclosing.get(k)?.clone();
        Some(NestNode::Loop(NestLoop::over_full_range(index, true, body)))
    }

    /// Creates the index of a loop at this depth.
    fn fresh_index(&mut self, extent: Poly, depth: usize) -> Index {
        let local = LocalId(FIRST_LOOP_LOCAL.saturating_add(self.loop_count));
        self.loop_count += 1;
        Index { local, name: loop_name(depth, &self.size_names), extent }
    }

    /// Hoists the checks of all steps and iterations before the loop; `None` if one depends on the
    /// body's values.
    fn hoist_checks(&mut self, steps: &Schedule) -> Option<Vec<u32>> {
        let mut all: Vec<u32> = self.body.needs.clone();
        for step in &steps.steps {
            match step {
                Step::Kernel(_, needs) => all.extend(needs),
                Step::Statement(var) => all.extend(&self.body.stmts.get(var.0 as usize)?.needs),
                Step::Checks(_) => return None,
            }
        }
        all.sort_unstable();
        all.dedup();
        let around = self.enclosing.iter().map(|i| i.extent.clone()).collect();
        let mut inside = Splicer::new(&self.ssa, self.body, &self.source.sizes, around);
        // The values that the body computes do not exist before the loop.
        let none = TensorAccess { var: StmtId(1 << 20), at: Vec::new() };
        for (input, arg) in self.body.inputs.iter().zip(&self.source.args) {
            match arg {
                LoopArg::Captured(of) => inside.bind_integer(input, of)?,
                LoopArg::Carried { .. } => {
                    let read = Poly::atom(Atom::Read(none.var.local(), none.var.name(), Vec::new().into()));
                    inside.substitution.locals.insert(input.local, read);
                }
            }
        }
        for stmt in &self.body.stmts {
            let there = match &stmt.rhs {
                Rhs::Input(k) => match self.source.args.get(*k as usize)? {
                    LoopArg::Captured(of) => of.clone(),
                    LoopArg::Carried { .. } => none.clone(),
                },
                _ => none.clone(),
            };
            inside.substitution.vars.push(there);
        }
        let needs = all.iter().map(|c| inside.splice_check(self.body, *c)).collect::<Option<Vec<u32>>>()?;
        self.ssa = inside.ssa;
        Some(needs)
    }

    /// Returns the values of the enclosing indices.
    fn enclosing_values(&self) -> Vec<Poly> {
        self.enclosing.iter().map(Index::value).collect()
    }

    /// Binds the sizes and the inputs that the loop reads from the enclosing function.
    fn bind_inputs(&mut self) -> Option<()> {
        let (of, values) = (self.source, self.enclosing_values());
        let put = |p: &Poly| substitute_indices(p, &values);
        self.size_values.extend(self.body.sizes.iter().copied().zip(of.sizes.iter().map(put)));
        let extents: Vec<Poly> = self.enclosing.iter().map(|i| i.extent.clone()).collect();
        for (var, stmt) in (0..).map(StmtId).zip(&self.body.stmts) {
            let Rhs::Input(k) = &stmt.rhs else { continue };
            let LoopArg::Captured(access) = of.args.get(*k as usize)? else { continue };
            if !is_in_bounds(&self.ssa, &extents, &Pred::truth(), access) || access.at.iter().any(has_reads) {
                return None;
            }
            let there = TensorAccess { var: access.var, at: access.at.iter().map(put).collect() };
            let input = self.body.inputs.get(*k as usize)?;
            if input.leaf.dims.is_empty() {
                let value = match &self.ssa.stmts.get(there.var.0 as usize)?.rhs {
                    Rhs::Index(p) => substitute_indices(p, &there.at),
                    _ => element_poly(&there),
                };
                self.size_values.insert(input.local, value);
            }
            self.vars.insert(var, there);
        }
        Some(())
    }

    /// Creates the state of each loop-carried input.
    fn bind_states(&mut self, results: &HashSet<StmtId>) -> Option<StateTransitions> {
        let (mut init, mut ends) = (Vec::new(), Vec::new());
        let batch = self.source.batch.len();
        let around: Vec<Poly> = self.enclosing_values().into_iter().take(batch).collect();
        for (k, arg) in (0..).zip(&self.source.args) {
            let LoopArg::Carried { init: from, next } = arg else { continue };
            let input = self.body.inputs.get(k as usize)?;
            let own = input.leaf.dims.iter().map(|n| self.invariant_extent(n)).collect::<Option<Vec<Poly>>>()?;
            let dims: Vec<Poly> = self.source.batch.iter().chain(&own).cloned().collect();
            let last = |v: &&StmtId| matches!(self.loop_result(**v), Some(LoopResult::Final(of)) if of == k);
            let mut lasts = results.iter().filter(last);
            let state = match (lasts.next().copied(), lasts.next()) {
                (None, _) => self.push_stmt(dims.clone(), input.leaf.scalar?)?,
                (Some(var), None) => var,
                (Some(_), Some(_)) => return None,
            };
            let at = |p: &Poly| substitute_indices(p, &around);
            let from = TensorAccess { var: from.var, at: from.at.iter().map(at).collect() };
            let slot = self.ssa.stmts.get_mut(state.0 as usize)?;
            if slot.dims != dims {
                return None;
            }
            slot.rhs = placeholder_rhs();
            let to = TensorAccess { var: state, at: around.clone() };
            init.push(self.copy_loops(&to, &from, &own, batch));
            self.carried.push((state, from));
            if input.leaf.dims.is_empty() {
                self.size_values.insert(input.local, element_poly(&to));
            }
            for (var, _) in (0..).map(StmtId).zip(&self.body.stmts).filter(|(_, s)| s.rhs == Rhs::Input(k)) {
                self.vars.insert(var, to.clone());
                self.versions.version_of.insert(var, (state, 0));
            }
            ends.push((to, self.body.outputs.get(*next as usize)?.1));
        }
        Some((init, ends))
    }

    fn loop_result(&self, var: StmtId) -> Option<LoopResult> {
        match &self.ssa.stmts.get(var.0 as usize)?.rhs {
            Rhs::LoopResult(_, result) => Some(*result),
            _ => None,
        }
    }

    /// Returns the body statements with results for every iteration, each with the access that
    /// stores it.
    fn bind_iteration_results(&mut self, results: &HashSet<StmtId>) -> Option<Vec<(StmtId, TensorAccess)>> {
        let mut all = Vec::new();
        let mut results: Vec<StmtId> = results.iter().copied().collect();
        results.sort_unstable();
        for var in results {
            match self.loop_result(var) {
                // This result is already a state.
                None => {}
                Some(LoopResult::PerIteration(k)) => {
                    let of = self.body.outputs.get(k as usize)?.1;
                    let own = self.body.stmts.get(of.0 as usize)?.dims.iter().map(|n| self.invariant_extent(n));
                    let own = own.collect::<Option<Vec<Poly>>>()?;
                    let dims: Vec<Poly> = self.enclosing.iter().map(|i| i.extent.clone()).chain(own).collect();
                    let to = TensorAccess { var, at: self.enclosing_values() };
                    let slot = self.ssa.stmts.get_mut(var.0 as usize)?;
                    if slot.dims != dims {
                        return None;
                    }
                    slot.rhs = placeholder_rhs();
                    all.push((of, to));
                }
                Some(_) => return None,
            }
        }
        Some(all)
    }

    /// Returns the extent in the kernel, if it is equal in all iterations.
    fn invariant_extent(&self, n: &Poly) -> Option<Poly> {
        let there = self.substitute_poly(n)?;
        let mut moves = has_reads(&there);
        self.enclosing.iter().for_each(|i| moves |= there.mentions(&i.atom()));
        (!moves).then_some(there)
    }

    /// Returns the extent in the kernel, if it depends on indices and sizes alone.
    fn computable_extent(&self, n: &Poly) -> Option<Poly> {
        self.substitute_poly(n).filter(|n| !has_reads(n))
    }

    /// Adds a statement that only nodes set.
    fn push_stmt(&mut self, dims: Vec<Poly>, scalar: Scalar) -> Option<StmtId> {
        let var = StmtId(u32::try_from(self.ssa.stmts.len()).ok()?);
        self.ssa.stmts.push(Statement {
            dims,
            scalar: Some(scalar),
            rhs: placeholder_rhs(),
            needs: Vec::new(),
            name: None,
        });
        Some(var)
    }

    /// Returns the variables of the body that a step reads.
    fn step_reads(&self, step: &Step) -> HashSet<StmtId> {
        let mut all = HashSet::new();
        match step {
            Step::Kernel(kernel, _) => {
                let inputs = kernel.storage.iter().filter(|p| p.role == StorageRole::Input);
                all.extend(inputs.map(|p| p.var));
            }
            Step::Statement(var) => {
                if let Some(stmt) = self.body.stmts.get(var.0 as usize) {
                    stmt.rhs.for_each_operand(&mut |v| all.extend([v]));
                }
            }
            Step::Checks(_) => {}
        }
        all
    }

    /// Zeroes the storage that a kernel of the body may initialise only in part. This happens in
    /// every iteration.
    fn zero_fills(&mut self, kernel: &Kernel) -> Option<Vec<NestNode>> {
        let mut nodes = Vec::new();
        for place in kernel.storage.iter().filter(|p| p.role != StorageRole::Input && !p.is_fully_initialised) {
            let to = self.assigned_var(place.var)?;
            let zero = match place.scalar {
                Scalar::F64 | Scalar::F32 => Constant::Real(0.0),
                Scalar::I64 => Constant::Int(0),
                Scalar::Bool => Constant::Bool(false),
            };
            let at = to.at.into_iter().map(Some).chain(place.axes.iter().map(|_| None)).collect();
            nodes.push(NestNode::Fill(to.var, at, zero));
        }
        Some(nodes)
    }

    /// Lets the state of an inner loop reuse the storage of its initial value, if nothing reads
    /// that value later.
    fn reuse_initial_storage(&mut self, kernel: &Kernel, steps: &Schedule, later: &dyn Fn(&StmtId) -> bool) {
        for (state, init) in &steps.loop_carried {
            let begun = kernel.assigned.contains(state) && init.at.is_empty() && !later(&init.var);
            let Some(there) = self.vars.get(&init.var).filter(|_| begun).cloned() else { continue };
            let dims = |v: StmtId| self.body.stmts.get(v.0 as usize).map(|s| &s.dims);
            let is_whole = kernel.storage.iter().any(|p| p.var == *state && p.is_fully_initialised);
            let is_own =
                self.versions.version_of.contains_key(&init.var) && count_reads(self.body, kernel, init.var) == 1;
            if is_own && is_whole && dims(*state) == dims(init.var) && !self.vars.contains_key(state) {
                self.vars.insert(*state, there.clone());
                self.versions.advance(there.var, *state);
            }
        }
    }

    fn convert_node(&mut self, node: &NestNode, depth: usize) -> Option<Option<NestNode>> {
        let within = |this: &mut Self, body: &[NestNode]| -> Option<Vec<NestNode>> {
            let all = body
                .iter()
                .map(|node| this.convert_node(node, depth + 1))
                .collect::<Option<Vec<Option<NestNode>>>>()?;
            Some(all.into_iter().flatten().collect())
        };
        Some(match node {
            NestNode::Loop(NestLoop {
                index,
                lower_bounds: from,
                upper_bounds: to,
                is_sequential: in_order,
                while_condition: goes_on,
                body,
            }) => {
                let new = self.fresh_index(self.computable_extent(&index.extent)?, depth);
                self.index_values.insert(index.local, new.value());
                let (from, to) = (self.substitute_polys_and_operands(from)?, self.substitute_polys_and_operands(to)?);
                let goes_on = match goes_on {
                    Some(of) => Some(self.substitute_access(of)?),
                    None => None,
                };
                let body = within(self, body)?;
                let of = NestLoop {
                    index: new,
                    lower_bounds: from,
                    upper_bounds: to,
                    is_sequential: *in_order,
                    while_condition: goes_on,
                    body,
                };
                (!of.body.is_empty()).then_some(NestNode::Loop(of))
            }
            NestNode::Let { index, value, body } => {
                let new = self.fresh_index(self.substitute_poly(&index.extent)?, depth);
                let value = self.substitute_polys_and_operands(std::slice::from_ref(value))?.pop()?;
                self.index_values.insert(index.local, new.value());
                Some(NestNode::Let { index: new, value, body: within(self, body)? })
            }
            NestNode::If(p, body) => {
                let mut read = Vec::new();
                for_each_pred_read(p, &mut |v| read.push(v));
                read.into_iter().try_for_each(|v| self.resolve_var(v).map(drop))?;
                Some(NestNode::If(self.substitute_pred(p)?, within(self, body)?))
            }
            NestNode::MatrixProduct(_) => return None,
            NestNode::Fill(var, at, with) => {
                let to = self.assigned_var(*var)?;
                let own = at.iter().map(|p| p.as_ref().map_or(Some(None), |p| self.substitute_poly(p).map(Some)));
                let own = own.collect::<Option<Vec<Option<Poly>>>>()?;
                Some(NestNode::Fill(to.var, to.at.into_iter().map(Some).chain(own).collect(), *with))
            }
            NestNode::Assign(set) => {
                let to = self.assigned_var(set.var)?;
                let at = to.at.into_iter().chain(self.substitute_polys_and_operands(&set.at)?).collect();
                let set =
                    Assignment { var: to.var, at, rhs: self.substitute_rhs(&set.rhs)?, accumulate: set.accumulate };
                (!is_self_copy(&set)).then_some(NestNode::Assign(set))
            }
        })
    }

    /// Returns the variable for a statement that a kernel of the body sets, and adds it if needed.
    fn assigned_var(&mut self, var: StmtId) -> Option<TensorAccess> {
        if let Some(there) = self.vars.get(&var) {
            return Some(there.clone());
        }
        let stmt = self.body.stmts.get(var.0 as usize)?;
        let dims = self.substitute_polys(&stmt.dims)?;
        let new = self.push_stmt(dims, stmt.scalar?)?;
        let there = TensorAccess { var: new, at: Vec::new() };
        self.vars.insert(var, there.clone());
        self.versions.version_of.insert(var, (new, 0));
        // Keeps the reduction, because its index expression defines the terms of an arg-reduction.
        if let Rhs::Reduce(_) = &stmt.rhs {
            let rhs = self.substitute_rhs(&stmt.rhs)?;
            self.ssa.stmts.get_mut(new.0 as usize)?.rhs = rhs;
        }
        Some(there)
    }

    /// Converts an update to nodes.
    fn convert_update(&mut self, var: StmtId) -> Option<NestNode> {
        let stmt = self.body.stmts.get(var.0 as usize)?;
        let Rhs::Update { base, batch: 0, bound, pred, at, value, accumulate: add } = &stmt.rhs else { return None };
        let there = self.vars.get(&base.var).filter(|_| base.at.is_empty()).cloned()?;
        // The loop does not own its invariant inputs.
        self.versions.version_of.get(&base.var)?;
        let extents = stmt.dims.iter().map(|n| self.substitute_poly(n)).collect::<Option<Vec<Poly>>>()?;
        let mut loops = Vec::new();
        let mut depth = self.enclosing.len();
        for (k, extent) in (stmt.dims.len()..).zip(bound) {
            let new = self.fresh_index(self.computable_extent(extent)?, depth);
            depth += 1;
            self.index_values.insert(statement_index(k, &Poly::default()).local, new.value());
            loops.push(new);
        }
        let own: Vec<Poly> = loops.iter().map(Index::value).collect();
        let of_bound = |p: &Poly| loops.iter().any(|i| p.mentions(&i.atom()));
        let sizes: Vec<Poly> = self.ssa.sizes.iter().map(|l| Poly::atom(self.ssa.vars.atom(*l))).collect();
        let mut known = FactContext::new(&sizes);
        self.enclosing.iter().chain(&loops).for_each(|index| known.assume_in_range(index));
        let (mut bindings, mut places) = (Vec::new(), there.at.clone());
        for (p, extent) in at.iter().zip(&extents) {
            let place = self.substitute_poly(p)?;
            let along =
                as_index(p).and_then(|k| loops.get(k.checked_sub(stmt.dims.len())?)).filter(|i| i.extent == *extent);
            if along.is_some() || known.implies(&Pred::in_range(&place, extent)) {
                places.push(place);
                continue;
            }
            let new = self.fresh_index(extent.clone(), depth);
            depth += 1;
            places.push(new.value());
            bindings.push((new, place));
        }
        let guard = known.simplify(&self.substitute_pred(pred)?);
        let from = self.substitute_access(value)?;
        // An update reads its operands before it changes any element, which its loops cannot do if
        // they read the array itself.
        let mut reads_own = from.var == there.var;
        let mut see =
            |p: &Poly| p.for_each_atom(&mut |a| reads_own |= matches!(a, Atom::Read(x, ..) if *x == there.var.local()));
        bindings.iter().for_each(|(_, p)| see(p));
        from.at.iter().for_each(&mut see);
        let mut asks_own = false;
        guard.visit(&mut see, &mut |x| asks_own |= x == there.var.local());
        if (reads_own || asks_own) && !own.is_empty() {
            return None;
        }
        let rhs = Rhs::Contract { bound: Vec::new(), pred: Pred::truth(), neg: false, factors: vec![from] };
        let mut node = NestNode::Assign(Assignment {
            var: there.var,
            at: places,
            rhs,
            accumulate: add.then_some(Accumulation::Sum),
        });
        let put = |node: NestNode, (index, value): (Index, Poly)| NestNode::Let { index, value, body: vec![node] };
        let (inner, outer): (Vec<_>, Vec<_>) = bindings.into_iter().partition(|(_, p)| of_bound(p));
        let mut asked_outside = true;
        guard.visit(&mut |p| asked_outside &= !of_bound(p), &mut |_| {});
        node = inner.into_iter().fold(node, put);
        if !asked_outside {
            node = NestNode::If(guard.clone(), vec![node]);
        }
        for index in loops.iter().rev() {
            let body = vec![node];
            node = NestNode::Loop(NestLoop::over_full_range(index.clone(), false, body));
        }
        node = outer.into_iter().fold(node, put);
        if asked_outside && !guard.is_true() {
            node = NestNode::If(guard, vec![node]);
        }
        for k in (stmt.dims.len()..).take(bound.len()) {
            self.index_values.remove(&statement_index(k, &Poly::default()).local);
        }
        self.vars.insert(var, there.clone());
        self.versions.advance(there.var, var);
        Some(node)
    }

    /// Copies the elements of a body statement.
    fn copy_stmt(&mut self, to: &TensorAccess, var: StmtId) -> Option<NestNode> {
        if !self.versions.is_current(var) {
            return None;
        }
        let own = self
            .body
            .stmts
            .get(var.0 as usize)?
            .dims
            .iter()
            .map(|n| self.invariant_extent(n))
            .collect::<Option<Vec<Poly>>>()?;
        let from = self.substitute_access(&TensorAccess { var, at: Vec::new() })?;
        Some(self.copy_loops(to, &from, &own, self.enclosing.len()))
    }

    /// Builds the loops that copy elements of these extents, at this depth.
    fn copy_loops(&mut self, to: &TensorAccess, from: &TensorAccess, own: &[Poly], depth: usize) -> NestNode {
        let loops: Vec<Index> = (depth..).zip(own).map(|(depth, n)| self.fresh_index(n.clone(), depth)).collect();
        let values = || loops.iter().map(Index::value);
        let from = TensorAccess { var: from.var, at: from.at.iter().cloned().chain(values()).collect() };
        let at = to.at.iter().cloned().chain(values()).collect();
        let rhs = Rhs::Contract { bound: Vec::new(), pred: Pred::truth(), neg: false, factors: vec![from] };
        let mut node = NestNode::Assign(Assignment { var: to.var, at, rhs, accumulate: None });
        for index in loops.into_iter().rev() {
            node = NestNode::Loop(NestLoop::over_full_range(index, false, vec![node]));
        }
        node
    }
}
