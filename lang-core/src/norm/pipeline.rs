//! The passes in their order, each form kept, verified between: from a definition to Tensor SSA, with all that
//! it calls.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::hits::Hits;
use super::{Bodies, elaborate, lift, pairs, pushout, to_ssa};
use crate::base::Span;
use crate::interp::guarded;
use crate::ir::core::{Callee, E, Function, Kind, Outside, Reason};
use crate::ir::flat::Flat;
use crate::ir::ssa::Ssa;

/// A definition in every form.
#[derive(Clone, Debug)]
pub struct Stages {
    /// Core (ATL Fig. 3).
    pub core: Arc<Function>,
    /// `let`s outermost (Fig. 7).
    pub lifted: Arc<Function>,
    /// Without tuples (Fig. 8).
    pub pairs: Arc<Flat>,
    /// Generations outermost (Fig. 9).
    pub pushed: Arc<Flat>,
    /// Tensor SSA (Figs. 10-12).
    pub ssa: Arc<Ssa>,
}

type Known = Result<Arc<Stages>, Box<Outside>>;

/// Definitions in their forms, made when they are asked for.
pub struct Module<'a> {
    bodies: &'a dyn Bodies,
    known: RefCell<HashMap<Callee, Option<Known>>>,
    hits: RefCell<Hits>,
}

impl<'a> Module<'a> {
    /// None so far.
    #[must_use]
    pub fn new(bodies: &'a dyn Bodies) -> Self {
        Self { bodies, known: RefCell::default(), hits: RefCell::default() }
    }

    /// How often each rule was applied.
    #[must_use]
    pub fn hits(&self) -> Hits {
        self.hits.borrow().clone()
    }

    /// A definition in every form.
    ///
    /// # Errors
    /// What in it, or in what it calls, has no core form.
    pub fn stages(&self, callee: &Arc<Callee>) -> Known {
        if let Some(known) = self.known.borrow().get(&**callee) {
            // It is being made: it calls itself.
            return known.clone().unwrap_or_else(|| Err(outside(callee, Reason::Recursion)));
        }
        self.known.borrow_mut().insert((**callee).clone(), None);
        let made = guarded(|| self.make(callee));
        self.known.borrow_mut().insert((**callee).clone(), Some(made.clone()));
        made
    }

    fn make(&self, callee: &Arc<Callee>) -> Known {
        let core = elaborate(self.bodies, callee)?;
        let mut callees = Vec::new();
        calls(&core.body, &mut callees);
        for called in callees {
            self.stages(&called).map_err(|inner| {
                Box::new(Outside { what: inner.what, item: inner.item, span: inner.span })
            })?;
        }
        let hits = &mut *self.hits.borrow_mut();
        let lifted = lift::lift(&core, hits);
        debug_assert!(lift::is_lifted(&lifted.body), "lifted: {lifted}");
        let pairs = pairs::eliminate(&lifted, hits);
        debug_assert!(pairs::is_flat(&pairs), "pairs: {pairs:?}");
        let pushed = pushout::push_out(&pairs, hits);
        debug_assert!(pushout::is_pushed(&pushed), "pushed: {pushed:?}");
        let ssa = to_ssa::to_ssa(&pushed, hits);
        Ok(Arc::new(Stages {
            core: Arc::new(core),
            lifted: Arc::new(lifted),
            pairs: Arc::new(pairs),
            pushed: Arc::new(pushed),
            ssa: Arc::new(ssa),
        }))
    }
}

/// What an expression calls.
fn calls(e: &E, found: &mut Vec<Arc<Callee>>) {
    if let Kind::Call(callee, ..) = &e.kind {
        found.push(callee.clone());
    }
    e.for_each_child(&mut |e| guarded(|| calls(e, found)));
}

fn outside(callee: &Callee, what: Reason) -> Box<Outside> {
    Box::new(Outside { what, item: callee.def.clone(), span: Span::default() })
}
