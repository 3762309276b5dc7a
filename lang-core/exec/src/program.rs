//! **Executables.** A function prepared to run: its steps with compiled kernels, the last use of
//! each tensor, and the statements that are parts of one call.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::native::{Backend, Ready};
use super::plan::Plan;
use lang_ir::core::Callee;
use lang_ir::region::Loop;
use lang_ir::ssa::{Access, Check, Rhs, Ssa, Stmt, Var, for_each_read, index_number, reads};
use lang_nest::{self, Callees, Loops, Prepared, Schedule, by_sizes};
use lang_sizes::predicate::{Atom, LocalId, Poly, Pred};

/// A function, with an executable for each case by size. Each is prepared at its first use.
pub(super) struct Function {
    ssa: Arc<Ssa>,
    /// The predicates over its sizes that tell its cases apart.
    choices: Vec<Pred>,
    cases: RefCell<Vec<Case>>,
}

/// Which of the choices hold, and what runs the function then; where the sizes are not known all of it.
type Case = (Option<Vec<bool>>, Arc<Program>);

impl Function {
    pub(super) fn new(ssa: Arc<Ssa>) -> Self {
        Self { choices: by_sizes::choices(&ssa), ssa, cases: RefCell::default() }
    }

    /// Returns a size of the function from the list of all its sizes.
    pub(super) fn size(&self, size: LocalId, sizes: &[i64]) -> Option<i64> {
        let at = self.ssa.sizes.iter().position(|l| *l == size)?;
        sizes.get(at).copied()
    }

    /// Returns the executable for these sizes. `ready` prepares it if needed.
    pub(super) fn case(
        &self,
        size: &dyn Fn(LocalId) -> Option<i64>,
        ready: &dyn Fn(Arc<Ssa>) -> Arc<Program>,
    ) -> Arc<Program> {
        let told: Option<Vec<bool>> = self.choices.iter().map(|p| by_sizes::holds(p, size)).collect();
        if let Some((_, known)) = self.cases.borrow().iter().find(|(of, _)| *of == told) {
            return Arc::clone(known);
        }
        let ssa = match &told {
            Some(told) if !told.is_empty() => {
                let told: Vec<(Pred, bool)> = self.choices.iter().cloned().zip(told.iter().copied()).collect();
                Arc::new(by_sizes::chosen(&self.ssa, &told))
            }
            _ => Arc::clone(&self.ssa),
        };
        let made = ready(ssa);
        self.cases.borrow_mut().push((told, Arc::clone(&made)));
        made
    }

    /// Returns the executable, if it exists and is the same for all sizes.
    pub(super) fn only(&self) -> Option<Arc<Program>> {
        let cases = self.cases.borrow();
        cases.first().filter(|_| self.choices.is_empty()).map(|(_, program)| Arc::clone(program))
    }
}

/// An executable.
pub(super) struct Program {
    pub(super) ssa: Arc<Ssa>,
    /// The original function, kept alive because its address may be a cache key.
    _of: Arc<Ssa>,
    /// The steps, in order.
    pub(super) steps: Vec<Step>,
    /// For each statement, the variables whose last use it is.
    pub(super) dead: Vec<Vec<Var>>,
    /// For each part of a call, the first statement of the same call.
    pub(super) group: HashMap<u32, u32>,
    /// The last statement of a call, by its first.
    pub(super) last: HashMap<u32, u32>,
    /// For each check, the indices that it does not mention.
    pub(super) idle: Vec<Vec<usize>>,
    /// The last memory plan beside the inputs, and the integers that it depends on.
    pub(super) plan: Mutex<Option<Known>>,
}

/// The values of integers, and what a run holds with these.
type Known = (Vec<(LocalId, i64)>, Plan);

/// A step of an executable.
pub(super) enum Step {
    /// A statement that the engine runs.
    Statement(Var),
    /// A kernel.
    Kernel(Ready),
    /// Checks of existing values, and the variables whose last use they are.
    Checks(Vec<u32>, Vec<Var>),
}

/// What makes two statements parts of one call.
type Call<'s> = (&'s Arc<Callee>, &'s [Poly], &'s Pred, &'s [Access], &'s [Poly]);

impl Program {
    /// Prepares a function. With a backend, kernels are compiled. If one cannot be, the function is
    /// scheduled again with fewer forms of loops.
    pub(super) fn new(ssa: Arc<Ssa>, backend: Option<&dyn Backend>, callees: Callees<'_>) -> Self {
        let of = Arc::clone(&ssa);
        let (ssa, mut steps) = match backend {
            None => {
                let steps = (0..).zip(&ssa.stmts).map(|(k, _)| Step::Statement(Var(k))).collect();
                (ssa, steps)
            }
            Some(backend) => {
                let mut most = Loops::Kernels;
                loop {
                    let (prepared, all, are) = lang_nest::in_order(&ssa, callees, most);
                    let made = steps(&prepared, all, backend);
                    let is_run = |step: &Step| matches!(step, Step::Kernel(ready) if ready.code.is_none());
                    most = match are {
                        Loops::Kernels if made.iter().any(is_run) => Loops::Shared,
                        Loops::Shared if made.iter().any(is_run) => Loops::Steps,
                        _ => break (prepared.ssa, made),
                    };
                }
            }
        };
        let dead = dead(&ssa, &mut steps);
        let mut calls: HashMap<Call<'_>, u32> = HashMap::new();
        let (mut group, mut last) = (HashMap::new(), HashMap::new());
        for (k, stmt) in (0..).zip(&ssa.stmts) {
            let first = match &stmt.rhs {
                Rhs::Call { callee, sizes, pred, args, batch, .. } => {
                    let outer = stmt.dims.get(..*batch as usize).unwrap_or_default();
                    *calls.entry((callee, sizes, pred, args, outer)).or_insert(k)
                }
                _ => continue,
            };
            group.insert(k, first);
            last.insert(first, k);
        }
        let idle = ssa.checks.iter().map(idle).collect();
        Self { ssa, _of: of, steps, dead, group, last, idle, plan: Mutex::default() }
    }
}

/// The indices of a check that nothing in it mentions.
fn idle(check: &Check) -> Vec<usize> {
    let mentioned = RefCell::new(HashSet::new());
    let see = |p: &Poly| {
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) = a {
                mentioned.borrow_mut().extend(index_number(*l));
            }
        });
        p.clone()
    };
    drop((check.guard.map(&see), check.cond.map(&see)));
    let mentioned = mentioned.into_inner();
    (0..check.dims.len()).filter(|k| !mentioned.contains(k)).collect()
}

/// Calls with every statement that a statement reads, its extents and checks included.
fn for_each_read_of(ssa: &Ssa, stmt: &Stmt, f: &mut dyn FnMut(Var)) {
    stmt.rhs.for_each_operand(f);
    stmt.dims.iter().for_each(|n| reads(n, f));
    let checks = stmt.needs.iter().filter_map(|c| ssa.checks.get(*c as usize));
    checks.for_each(|check| for_each_read_of_check(check, f));
}

fn for_each_read_of_check(check: &Check, f: &mut dyn FnMut(Var)) {
    check.dims.iter().for_each(|n| reads(n, f));
    for_each_read(&check.guard, f);
    for_each_read(&check.cond, f);
}

/// The steps with the code of kernels, first the inputs, which are there from the beginning.
fn steps(prepared: &Prepared, all: Schedule, backend: &dyn Backend) -> Vec<Step> {
    let ssa = &prepared.ssa;
    let inputs = (0..).zip(&ssa.stmts).filter(|(_, s)| matches!(s.rhs, Rhs::Input(_)));
    let mut steps: Vec<Step> = inputs.map(|(k, _)| Step::Statement(Var(k))).collect();
    for step in all.steps {
        steps.push(match step {
            lang_nest::Step::Statement(var) => Step::Statement(var),
            lang_nest::Step::Kernel(kernel, needs) => {
                let code = backend.compile(ssa, &kernel);
                Step::Kernel(Ready::new(kernel, needs, code))
            }
            lang_nest::Step::Checks(checks) => Step::Checks(checks, Vec::new()),
        });
    }
    steps
}

/// Which statements are parts of a loop that runs at a statement before them, and read no more than what it gives.
fn later_parts(ssa: &Ssa) -> Vec<bool> {
    let mut loops: Vec<&Arc<Loop>> = Vec::new();
    let later = ssa.stmts.iter().map(|stmt| {
        let Rhs::Loop(of, _) = &stmt.rhs else { return false };
        let known = loops.iter().any(|other| Arc::ptr_eq(other, of) || *other == of);
        if !known {
            loops.push(of);
        }
        known
    });
    later.collect()
}

/// For each statement that is a step what nothing reads after it; for kernels, in them.
fn dead(ssa: &Ssa, steps: &mut [Step]) -> Vec<Vec<Var>> {
    let mut kept: Vec<bool> = vec![false; ssa.stmts.len()];
    {
        let mut keep = |v: Var| kept.get_mut(v.0 as usize).into_iter().for_each(|slot| *slot = true);
        ssa.outputs.iter().for_each(|(_, v)| keep(*v));
        let checks = ssa.needs.iter().filter_map(|c| ssa.checks.get(*c as usize));
        checks.for_each(|check| for_each_read_of_check(check, &mut keep));
    }
    let later = later_parts(ssa);
    let mut dead: Vec<Vec<Var>> = vec![Vec::new(); ssa.stmts.len()];
    for step in steps.iter_mut().rev() {
        let mut here = Vec::new();
        let mut see = |v: Var| {
            if let Some(slot) = kept.get_mut(v.0 as usize)
                && !std::mem::replace(slot, true)
            {
                here.push(v);
            }
        };
        // What nothing reads at all goes too.
        match step {
            Step::Statement(var) => {
                let k = var.0 as usize;
                let Some(stmt) = ssa.stmts.get(k) else { continue };
                if later.get(k) == Some(&true) {
                    stmt.dims.iter().for_each(|n| reads(n, &mut see));
                } else {
                    for_each_read_of(ssa, stmt, &mut see);
                }
                see(*var);
                dead.get_mut(k).into_iter().for_each(|slot| *slot = std::mem::take(&mut here));
            }
            Step::Kernel(ready) => {
                ready.kernel.places.iter().for_each(|p| see(p.var));
                for var in &ready.kernel.sets {
                    if let Some(stmt) = ssa.stmts.get(var.0 as usize) {
                        for_each_read_of(ssa, stmt, &mut see);
                    }
                    see(*var);
                }
                let checks = ready.needs.iter().filter_map(|c| ssa.checks.get(*c as usize));
                checks.for_each(|check| for_each_read_of_check(check, &mut see));
                ready.dead = here;
            }
            Step::Checks(checks, dead) => {
                let checks = checks.iter().filter_map(|c| ssa.checks.get(*c as usize));
                checks.for_each(|check| for_each_read_of_check(check, &mut see));
                *dead = here;
            }
        }
    }
    dead
}
