//! **Program with one more body**, which belongs to no file: an input, or an expression inside a
//! definition. It implements the environment of the compiler's middle: its own body is compiled
//! here, everything else by the queries.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use salsa::Database;

use super::forms::{self, Asked, Forms};
use super::view::View;
use lang_base::GlobalName;
use lang_ir::core::{Callee, Outside};
use lang_ir::ssa::Ssa;
use lang_middle::cost::{self, Cost};
use lang_middle::norm::{Bodies, Hits};
use lang_middle::pipeline::{self, Callees, InCore, InStages};
use lang_sizes::predicate::Pred;
use lang_types::env::Env as _;
use lang_types::info::TypeInfo;
use lang_types::tree::Body;
use lang_types::ty::Signature;

/// The greatest depth to which functions that the body makes may call one another.
const DEEPEST: u32 = 16;

/// The program of a revision with one more body. Its forms are memoised.
pub(super) struct Within<'db> {
    db: &'db dyn Database,
    name: GlobalName,
    body: Arc<Body>,
    signature: Arc<Signature>,
    /// Whether larger callees than usual are inlined, in all definitions that it reaches. Their
    /// forms are then computed here.
    in_place: bool,
    core: RefCell<HashMap<Arc<Callee>, InCore>>,
    stages: RefCell<HashMap<Arc<Callee>, InStages>>,
    ssa: RefCell<HashMap<Arc<Callee>, Option<Arc<Ssa>>>>,
}

impl<'db> Within<'db> {
    /// Adds a body under a name that no item has.
    pub(super) fn new(db: &'db dyn Database, name: GlobalName, body: Arc<Body>, signature: Arc<Signature>) -> Self {
        let (core, stages, ssa) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { db, name, body, signature, in_place: false, core, stages, ssa }
    }

    /// Returns the same program with larger callees inlined, for a reader.
    pub(super) fn in_place(&self) -> Self {
        let of = Self::new(self.db, self.name.clone(), Arc::clone(&self.body), Arc::clone(&self.signature));
        Self { in_place: true, ..of }
    }

    /// Returns whether the forms of a callee are computed here.
    fn is_own(&self, callee: &Callee) -> bool {
        self.in_place || callee.def == self.name
    }

    /// Returns the queries, after computing the forms of the definition's callees.
    fn forms(&self, callee: &Callee) -> Forms<'db> {
        forms::prepare(self.db, callee);
        Forms { db: self.db }
    }

    /// Returns its Tensor SSA and its cost.
    pub(super) fn cost(&self, callee: &Arc<Callee>) -> Option<(Arc<Ssa>, Arc<Cost>)> {
        self.cost_within(callee, DEEPEST)
    }

    /// Returns the cost of Tensor SSA of this program, if these facts hold.
    pub(super) fn cost_where(&self, ssa: &Ssa, given: &[Pred]) -> Arc<Cost> {
        Arc::new(cost::cost_where(ssa, given, &|c| self.cost_within(c, DEEPEST)))
    }

    fn cost_within(&self, callee: &Arc<Callee>, deep: u32) -> Option<(Arc<Ssa>, Arc<Cost>)> {
        let ssa = self.ssa(callee)?;
        if callee.def != self.name {
            forms::prepare_cost(self.db, callee);
            return Some((ssa, forms::cost(self.db, Asked::new(self.db, Arc::clone(callee))).value()?));
        }
        // A function that the body makes is called by the body, and by other such functions.
        let deeper = deep.checked_sub(1)?;
        let cost = cost::cost(&ssa, &|c| self.cost_within(c, deeper));
        Some((ssa, Arc::new(cost)))
    }
}

impl Bodies for Within<'_> {
    fn body(&self, name: &GlobalName) -> Option<Arc<Body>> {
        if *name == self.name { Some(Arc::clone(&self.body)) } else { Forms { db: self.db }.body(name) }
    }

    fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>> {
        if *name == self.name { Some(Arc::clone(&self.signature)) } else { View::new(self.db).signature(name) }
    }

    fn type_info(&self, ty: &GlobalName) -> Option<Arc<TypeInfo>> {
        View::new(self.db).type_info(ty)
    }
}

impl Callees for Within<'_> {
    fn core(&self, callee: &Arc<Callee>) -> InCore {
        if !self.is_own(callee) {
            return self.forms(callee).core(callee);
        }
        if let Some(known) = self.core.borrow().get(callee) {
            return known.clone();
        }
        let made = pipeline::core(self, self, callee);
        self.core.borrow_mut().insert(Arc::clone(callee), made.clone());
        made
    }

    fn stages(&self, callee: &Arc<Callee>) -> InStages {
        if !self.is_own(callee) {
            return self.forms(callee).stages(callee);
        }
        if let Some(known) = self.stages.borrow().get(callee) {
            return known.clone();
        }
        // A recursive request finds this result.
        self.stages.borrow_mut().insert(Arc::clone(callee), Err(pipeline::recursive(callee)));
        let made = pipeline::stages(self, self, callee, &mut Hits::default());
        self.stages.borrow_mut().insert(Arc::clone(callee), made.clone());
        made
    }

    fn has_stages(&self, callee: &Arc<Callee>) -> Result<(), Box<Outside>> {
        self.stages(callee).map(|_| ())
    }

    fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        if !self.is_own(callee) {
            return self.forms(callee).ssa(callee);
        }
        if let Some(known) = self.ssa.borrow().get(callee) {
            return known.clone();
        }
        let made = pipeline::traced(self, self, callee, &mut Hits::default()).map(|traced| traced.ssa);
        self.ssa.borrow_mut().insert(Arc::clone(callee), made.clone());
        made
    }

    fn in_place(&self) -> bool {
        self.in_place
    }
}
