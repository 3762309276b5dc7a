//! What a function holds at once when it runs, by its memory plan.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lang_core::base::GlobalName;
use lang_core::exec::{Machine, Plan, Tensor, World};
use lang_core::interp::Around;
use lang_core::interp::memory::{Limits, Memory};
use lang_core::ir::core::{Callee, Leaf};
use lang_core::ir::ssa::Ssa;
use lang_core::predicate::LocalId;

use super::Engine;

/// What runs may call and read; no data.
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
    /// What a function will hold where these integers are known.
    pub(crate) fn plan(&self, ssa: &Arc<Ssa>, known: &HashMap<LocalId, i64>) -> Option<Plan> {
        let (memory, interrupt) = (Memory::new(Limits::default()), AtomicBool::new(false));
        let around = Around { memory: &memory, interrupt: &interrupt, done: &|_| {} };
        let world = Sizes { engine: self, known: RefCell::default() };
        Machine::new(&world, &self.programs(), &around).plan(ssa, known).ok()
    }
}
