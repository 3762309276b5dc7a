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
struct Sizes<'e> {
    engine: &'e Engine,
    known: RefCell<HashMap<Arc<FunctionKey>, Option<Arc<SsaFunction>>>>,
}

impl RunEnvironment for Sizes<'_> {
    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        let known = || self.engine.forms().ssa(callee);
        self.known.borrow_mut().entry(Arc::clone(callee)).or_insert_with(known).clone()
    }

    fn global_integer(&self, name: &GlobalName) -> Option<i64> {
        self.engine.number(name)
    }

    fn global_part(&self, _: &GlobalName, _: &TypeLeaf, _: &[usize]) -> Option<Tensor> {
        None
    }
}

impl Engine {
    /// Returns the memory plan of a function at the known integers, or `None` if it cannot be
    /// planned.
    pub(crate) fn plan(&self, ssa: &Arc<SsaFunction>, known: &HashMap<LocalId, i64>) -> Option<MemoryPlan> {
        let (memory, interrupt) = (MemoryAccount::new(RunLimits::default()), AtomicBool::new(false));
        let around = RunContext { memory: &memory, interrupt: &interrupt, report_progress: &|_| {} };
        let world = Sizes { engine: self, known: RefCell::default() };
        Machine::new(&world, &self.programs(), &around).plan_call(ssa, known).ok()
    }
}
