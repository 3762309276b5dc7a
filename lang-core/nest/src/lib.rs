//! **Scheduling.** Turns Tensor SSA into steps: kernels, which are loop nests that a backend
//! compiles, and single statements, which the engine (`lang_exec`) runs.
//!
//! [`schedule_with_fallback`] and [`schedule_cases`] optimise a function (`lang_opt`), [`prepare`]
//! it, and [`schedule`] it.
//!
//! Statements over the same index share a loop if each reads only elements that the others set at
//! that index. This repeats inside the loop ([`fusion`]). An element that nothing reads outside its
//! loop has no memory ([`storage`]). Conditions on an index become loop bounds ([`loop_bounds`]),
//! and a loop is split where their truth changes ([`index_set_split`]). A single-trip loop is
//! replaced by its body ([`single_trip`]). Loop-carried arrays are updated in place if possible
//! ([`copy_elision`]). Successive loops over the same elements are strip-mined for the cache
//! ([`strip_mine`]). Finally, loops that change arrays become kernels ([`in_place_loops`]).

#![forbid(unsafe_code)]

mod copy_elision;
mod defer_checks;
mod dependences;
mod driver;
mod flatten_loops;
mod fusion;
mod gemm;
mod in_place_loops;
mod index_set_split;
mod loop_bounds;
pub mod loop_nest;
pub mod parallelise;
mod rematerialise;
mod scatter_reductions;
mod single_trip;
mod storage;
mod strip_mine;
mod text;
mod trip_counts;
mod use_def;

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use dependences::{FunctionFacts, PendingStmt};
pub use driver::{LoopForm, ScheduledCase, schedule_cases, schedule_with_fallback};
use flatten_loops::FlattenedLoop;
use fusion::NestBuilder;
use lang_base::check_cancelled;
use lang_ir::ssa::{SsaFunction, StmtId, TensorAccess};
use lang_ir::verify::{StatementOrder, debug_assert_valid};
use lang_opt::{InlineCallees, Optimised};
pub use loop_nest::{
    Accumulation, Assignment, Kernel, KernelStorage, MatrixProduct, NestLoop, NestNode, StorageRole, WHILE_EXTENT,
    loop_number,
};
use rematerialise::Rematerialisation;
pub use text::ScheduleText;

/// The steps of a function, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// The steps.
    pub steps: Vec<Step>,
    /// Whether the steps are complete. Loops that became statements may have no valid order.
    pub is_complete: bool,
    /// The loop-carried variables of loops that are kernels, with their initial values.
    loop_carried: Vec<(StmtId, TensorAccess)>,
}

/// A step of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A statement.
    Statement(StmtId),
    /// A kernel, which runs after these checks.
    Kernel(Arc<Kernel>, Vec<u32>),
    /// Checks of values that earlier steps compute.
    Checks(Vec<u32>),
}

/// The ranges of statements that replace the bodies of loops, each with its loop.
type LoopBodyRanges = Vec<(Range<u32>, StmtId)>;

/// The kinds of loops that become statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlattenPolicy {
    /// None.
    Never,
    /// Loops with a known trip count.
    Counted,
    /// Also `while` loops.
    WhileLoops,
    /// Also loops with checks on values that they compute ([`defer_checks`]), except the listed
    /// ones.
    DeferredChecks(Vec<StmtId>),
}

/// A function prepared for scheduling. Its earlier statements may read its new ones.
pub struct Prepared {
    /// The statements.
    pub ssa: Arc<SsaFunction>,
    /// For each of the first statements, the original statement that it implements.
    original_stmts: Vec<StmtId>,
    /// The statements that must be complete before the loops of their readers start.
    complete_first: BTreeSet<StmtId>,
    /// The statements that are matrix products.
    matrix_products: HashMap<StmtId, gemm::RecognisedProduct>,
    /// The loops that became statements.
    flattened_loops: Vec<FlattenedLoop>,
    /// The statements that replace the bodies of loops.
    loop_body_ranges: LoopBodyRanges,
    /// The loops with deferred checks, which are valid as kernels only.
    deferred_loops: Vec<StmtId>,
}

impl Prepared {
    /// Returns the original statement that a statement implements. For a statement from the body of
    /// a loop, returns the loop.
    #[must_use]
    pub fn original_stmt(&self, var: StmtId) -> Option<StmtId> {
        self.original_stmts.get(self.loop_of_body_stmt(var).unwrap_or(var).0 as usize).copied()
    }

    /// Returns the loop whose body contained the statement, if the loop was replaced.
    fn loop_of_body_stmt(&self, var: StmtId) -> Option<StmtId> {
        self.loop_body_ranges.iter().find(|(statements, _)| statements.contains(&var.0)).map(|(_, part)| *part)
    }

    /// Returns the flattened loop that contains the statement, and its number.
    fn flattened_loop_of(&self, var: StmtId) -> Option<(usize, &FlattenedLoop)> {
        self.flattened_loops.iter().enumerate().find(|(_, repeat)| repeat.iteration_axis.contains_key(&var))
    }
}

/// Prepares an optimised function for scheduling. `repeated` selects the loops that become
/// statements. The passes are, in order: [`gemm`] recognises matrix products, [`defer_checks`]
/// defers checks of loops, and [`flatten_loops`] flattens loops.
#[must_use]
pub fn prepare(optimised: &Optimised, repeated: &FlattenPolicy, callees: InlineCallees<'_>) -> Prepared {
    let ssa = Arc::clone(&optimised.ssa);
    let (with, products) = gemm::recognise_products(&ssa);
    let ssa = with.map_or(ssa, |ssa| {
        // Debug builds verify the function. Earlier statements read the new ones.
        debug_assert_valid("gemm", &ssa, StatementOrder::Any, callees);
        Arc::new(ssa)
    });
    let watched = if let FlattenPolicy::DeferredChecks(steps) = repeated {
        defer_checks::defer_checks(&ssa, steps)
    } else {
        None
    };
    let (ssa, watched) = watched.map_or((ssa, Vec::new()), |(function, watched)| (Arc::new(function), watched));
    let repeats = match repeated {
        FlattenPolicy::Never => None,
        FlattenPolicy::Counted => flatten_loops::flatten_loops(&ssa, false),
        FlattenPolicy::WhileLoops | FlattenPolicy::DeferredChecks(_) => flatten_loops::flatten_loops(&ssa, true),
    };
    let (ssa, repeats, bodies) = match repeats {
        Some((flattened, repeats, bodies)) => (Arc::new(flattened), repeats, bodies),
        None => (ssa, Vec::new(), Vec::new()),
    };
    Prepared {
        ssa,
        original_stmts: optimised.origins.clone(),
        complete_first: optimised.complete_first.clone(),
        matrix_products: products,
        flattened_loops: repeats,
        loop_body_ranges: bodies,
        deferred_loops: watched,
    }
}

/// Builds the steps of a prepared function.
#[must_use]
pub fn schedule(prepared: &Prepared) -> Schedule {
    let ssa = &*prepared.ssa;
    let items = FunctionFacts::new(ssa);
    let mut steps = Vec::new();
    let mut rest: Vec<PendingStmt> = items.pending_stmts(prepared);
    let rematerialised = Rematerialisation::new(ssa, &items.materialised_stmts(ssa), &mut rest);
    let making = KernelBuilder { ssa, facts: &items, rematerialised: &rematerialised, is_stuck: Cell::new(false) };
    // The scalars that wait for the next kernel.
    let mut numbers: Vec<PendingStmt> = Vec::new();
    loop {
        check_cancelled();
        move_arg_reduction_first(&mut rest);
        let Some(first) = rest.first() else { break };
        if !first.fits_kernel || first.prerequisites.iter().any(|v| numbers.iter().any(|n| n.var == *v)) {
            making.flush_scalars(&mut numbers, &rest, &mut steps);
        }
        if !first.fits_kernel {
            steps.push(Step::Statement(first.var));
            rest.remove(0);
            continue;
        }
        if first.open_indices().next().is_none() {
            numbers.push(rest.remove(0));
            continue;
        }
        take_ready_scalars(&mut rest, &mut numbers);
        let builder = NestBuilder::new(ssa);
        let held: HashSet<StmtId> = numbers.iter().map(|n| n.var).collect();
        let (mut group, mut left) = builder.partition_best_group(&rest, &held);
        if group.is_empty() {
            rest = left;
            // The first item may depend on a held scalar.
            if numbers.is_empty() {
                making.is_stuck.set(true);
                break;
            }
            making.flush_scalars(&mut numbers, &rest, &mut steps);
            continue;
        }
        group.extend(take_dependent_scalars(&group, &held, &mut left));
        rest = left;
        let members: Vec<PendingStmt> = std::mem::take(&mut numbers).into_iter().chain(group).collect();
        steps.push(making.build_kernel(members, &rest));
    }
    making.flush_scalars(&mut numbers, &rest, &mut steps);
    Schedule { steps, is_complete: !making.is_stuck.get(), loop_carried: Vec::new() }
}

/// Moves the first ready arg-reduction without axes to the front. Its loop contains only its
/// producers, so between other loops it would prevent their fusion.
fn move_arg_reduction_first(rest: &mut [PendingStmt]) {
    let waiting: HashSet<StmtId> = rest.iter().map(|item| item.var).collect();
    let is_ready = |item: &PendingStmt| {
        item.fits_kernel
            && item.is_arg_reduction
            && item.rank == 0
            && item.flattened_loop.is_none()
            // Checks run in program order.
            && item.needs.is_empty()
            && !item.reads.iter().any(|r| waiting.contains(&r.var))
            && !item.prerequisites.iter().any(|v| waiting.contains(v))
    };
    if let Some(k) = rest.iter().position(is_ready) {
        rest.get_mut(..=k).into_iter().for_each(|first| first.rotate_right(1));
    }
}

/// Takes the scalars that depend on no pending statement. They precede the loops.
fn take_ready_scalars(rest: &mut Vec<PendingStmt>, numbers: &mut Vec<PendingStmt>) {
    let mut open: HashSet<StmtId> = HashSet::new();
    for item in std::mem::take(rest) {
        let is_done = |v: &StmtId| !open.contains(v);
        let asks_none = |v: &StmtId| is_done(v) && !numbers.iter().any(|n| n.var == *v);
        let is_number = item.fits_kernel && item.open_indices().next().is_none();
        if is_number && item.reads.iter().all(|r| is_done(&r.var)) && item.prerequisites.iter().all(asks_none) {
            numbers.push(item);
        } else {
            open.insert(item.var);
            rest.push(item);
        }
    }
}

/// Takes the scalars that depend on a kernel's results and on nothing later. They follow its loops.
/// The kernel also sets the `held` scalars.
fn take_dependent_scalars(
    group: &[PendingStmt],
    held: &HashSet<StmtId>,
    left: &mut Vec<PendingStmt>,
) -> Vec<PendingStmt> {
    let mut computed: HashSet<StmtId> = group.iter().map(|item| item.var).chain(held.iter().copied()).collect();
    let mut later = HashSet::new();
    let mut taken = Vec::new();
    for item in std::mem::take(left) {
        let of_kernel = item.reads.iter().any(|r| computed.contains(&r.var));
        let known = !item.reads.iter().any(|r| later.contains(&r.var))
            && !item.prerequisites.iter().any(|v| later.contains(v) || computed.contains(v));
        if item.fits_kernel && item.open_indices().next().is_none() && of_kernel && known {
            computed.insert(item.var);
            taken.push(item);
        } else {
            later.insert(item.var);
            left.push(item);
        }
    }
    taken
}

/// The builder of kernels.
struct KernelBuilder<'m> {
    ssa: &'m SsaFunction,
    facts: &'m FunctionFacts,
    rematerialised: &'m Rematerialisation,
    /// Whether some statement could not be placed in a loop.
    is_stuck: Cell<bool>,
}

impl KernelBuilder<'_> {
    /// Emits a kernel for the waiting scalars, if there are any.
    fn flush_scalars(&self, numbers: &mut Vec<PendingStmt>, rest: &[PendingStmt], steps: &mut Vec<Step>) {
        if !numbers.is_empty() {
            steps.push(self.build_kernel(std::mem::take(numbers), rest));
        }
    }

    /// Builds the kernel of these items, which the items in `later` follow.
    fn build_kernel(&self, members: Vec<PendingStmt>, later: &[PendingStmt]) -> Step {
        let ssa = self.ssa;
        // Checks run in the order of the statements.
        let mut by_statement: Vec<&PendingStmt> = members.iter().collect();
        by_statement.sort_by_key(|m| m.var);
        let mut needs: Vec<u32> = Vec::new();
        for check in by_statement.iter().flat_map(|m| &m.needs) {
            if !needs.contains(check) {
                needs.push(*check);
            }
        }
        let mut read_later: HashSet<StmtId> = ssa.outputs.iter().map(|(_, v)| *v).collect();
        read_later.extend(&self.facts.final_check_reads);
        for item in later {
            read_later.extend(item.reads.iter().map(|r| r.var).chain(item.prerequisites.iter().copied()));
        }
        let of_state = |m: &PendingStmt| m.state.as_ref().map(|s| (m.var, s.copy.0, s.copy.1));
        let states: Vec<copy_elision::StateCopy> = members.iter().filter_map(of_state).collect();
        let mut builder = NestBuilder::new(ssa);
        let mut body = builder.build_nodes(ssa, members);
        self.is_stuck.set(self.is_stuck.get() || builder.is_stuck);
        copy_elision::elide_copies(ssa, &mut body, &states, &read_later);
        let places = self.assign_storage(&body, &read_later);
        let states: HashSet<StmtId> = states.into_iter().map(|(state, ..)| state).collect();
        loop_bounds::tighten_loop_bounds(&mut body, &places, &states);
        self.rematerialised.insert_assignments(ssa, &mut body);
        let mut places = self.assign_storage(&body, &read_later);
        storage::mark_fully_initialised(&body, &mut places);
        index_set_split::split_index_sets(ssa, &mut body);
        single_trip::inline_single_trip_loops(&mut body);
        strip_mine::strip_mine_loops(ssa, &mut body, &places);
        let integers = storage::entry_integers(ssa, &body, &mut places);
        let sets = assigned_vars(&body);
        Step::Kernel(Arc::new(Kernel { storage: places, entry_integers: integers, body, assigned: sets }), needs)
    }

    fn assign_storage(&self, body: &[NestNode], read_later: &HashSet<StmtId>) -> Vec<KernelStorage> {
        storage::assign_storage(self.ssa, body, &assigned_vars(body), read_later, &|var| {
            self.rematerialised.has_var(var)
        })
    }
}

/// Returns the assigned variables, in the order of their first assignments.
fn assigned_vars(body: &[NestNode]) -> Vec<StmtId> {
    let mut all = Vec::new();
    let mut known = HashSet::new();
    body.iter()
        .for_each(|node| node.for_each_assignment(&mut |set| all.extend(known.insert(set.var).then_some(set.var))));
    all
}
