//! The peak memory of a function at known sizes, read from its memory plan. `iverson cost --at`
//! prints it in the column `bytes`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lang_core::base::GlobalName;
use lang_core::exec::{Machine, MemoryPlan, RunEnvironment, Tensor};
use lang_core::ir::core::{FunctionKey, TypeLeaf};
use lang_core::ir::ssa::SsaFunction;
use lang_core::predicate::LocalId;
use lang_core::runtime::RunContext;
use lang_core::runtime::memory::{MemoryAccount, RunLimits};

use super::Engine;

/// The environment of a plan: functions and integer globals, but no data.
struct PlanningWorld<'e> {
    engine: &'e Engine,
    ssa_cache: RefCell<HashMap<Arc<FunctionKey>, Option<Arc<SsaFunction>>>>,
}

impl RunEnvironment for PlanningWorld<'_> {
    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        let known = || self.engine.session().ssa(callee);
        self.ssa_cache.borrow_mut().entry(Arc::clone(callee)).or_insert_with(known).clone()
    }

    fn global_integer(&self, name: &GlobalName) -> Option<i64> {
        self.engine.global_integer(name)
    }

    fn global_part(&self, _: &GlobalName, _: &TypeLeaf, _: &[usize]) -> Option<Tensor> {
        None
    }
}

impl Engine {
    /// Returns the memory plan of a function at the known integers, or `None` if it cannot be
    /// planned.
    pub(crate) fn memory_plan(&self, ssa: &Arc<SsaFunction>, known: &HashMap<LocalId, i64>) -> Option<MemoryPlan> {
        let (memory, interrupt) = (MemoryAccount::new(RunLimits::default()), AtomicBool::new(false));
        let around = RunContext { memory: &memory, interrupt: &interrupt, report_progress: &|_| {} };
        let world = PlanningWorld { engine: self, ssa_cache: RefCell::default() };
        let executables = self.executables();
        executables.begin_run();
        Machine::new(&world, executables, &around).plan_call(ssa, known).ok()
    }
}
