//! The peak memory of a function at known sizes, read from its memory plan. `iverson cost --at`
//! prints it in the column `bytes`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lang_core::base::GlobalName;
use lang_core::exec::{Machine, Plan, Tensor, World};
use lang_core::ir::core::{Callee, Leaf};
use lang_core::ir::ssa::Ssa;
use lang_core::predicate::LocalId;
use lang_core::runtime::Around;
use lang_core::runtime::memory::{Limits, Memory};

use super::Engine;

/// The environment of a plan: functions and integer globals, but no data.
struct Sizes<'e> {
    engine: &'e Engine,
    known: RefCell<HashMap<Arc<Callee>, Option<Arc<Ssa>>>>,
}

impl World for Sizes<'_> {
    fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        let known = || self.engine.forms().ssa(callee);
        self.known.borrow_mut().entry(Arc::clone(callee)).or_insert_with(known).clone()
    }

    fn integer(&self, name: &GlobalName) -> Option<i64> {
        self.engine.number(name)
    }

    fn part(&self, _: &GlobalName, _: &Leaf, _: &[usize]) -> Option<Tensor> {
        None
    }
}

impl Engine {
    /// Returns the memory plan of a function at the known integers, or `None` if it cannot be
    /// planned.
    pub(crate) fn plan(&self, ssa: &Arc<Ssa>, known: &HashMap<LocalId, i64>) -> Option<Plan> {
        let (memory, interrupt) = (Memory::new(Limits::default()), AtomicBool::new(false));
        let around = Around { memory: &memory, interrupt: &interrupt, done: &|_| {} };
        let world = Sizes { engine: self, known: RefCell::default() };
        Machine::new(&world, &self.programs(), &around).plan(ssa, known).ok()
    }
}
