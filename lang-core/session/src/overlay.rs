//! **Program with one more body**, which belongs to no file: an input, or an expression inside a
//! definition. It implements the environment of the compiler's middle: its own body is compiled
//! here, everything else by the queries.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use salsa::Database;

use super::middle_queries::{self, CalleeKey, MiddleQueries};
use super::view::ProgramView;
use lang_base::GlobalName;
use lang_ir::core::{FunctionKey, NoCoreForm};
use lang_ir::ssa::SsaFunction;
use lang_middle::cost::{self, CostFormulas};
use lang_middle::norm::{ElabQueries, RuleCoverage};
use lang_middle::pipeline::{self, CalleeForms, CoreResult, StagesResult};
use lang_sizes::predicate::Pred;
use lang_types::env::TypeEnv as _;
use lang_types::tree::TypedBody;
use lang_types::ty::Signature;
use lang_types::type_info::TypeInfo;

/// The greatest depth to which functions that the body makes may call one another.
const MAX_CALL_DEPTH: u32 = 16;

/// The program of a revision with one more body. Its forms are memoised.
pub(super) struct OverlayProgram<'db> {
    db: &'db dyn Database,
    name: GlobalName,
    body: Arc<TypedBody>,
    signature: Arc<Signature>,
    /// Whether larger callees than usual are inlined, in all definitions that it reaches. Their
    /// forms are then computed here.
    inlines_large_callees: bool,
    core: RefCell<HashMap<Arc<FunctionKey>, CoreResult>>,
    stages: RefCell<HashMap<Arc<FunctionKey>, StagesResult>>,
    ssa: RefCell<HashMap<Arc<FunctionKey>, Option<Arc<SsaFunction>>>>,
}

impl<'db> OverlayProgram<'db> {
    /// Adds a body under a name that no item has.
    pub(super) fn new(
        db: &'db dyn Database,
        name: GlobalName,
        body: Arc<TypedBody>,
        signature: Arc<Signature>,
    ) -> Self {
        let (core, stages, ssa) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { db, name, body, signature, inlines_large_callees: false, core, stages, ssa }
    }

    /// Returns the same program with larger callees inlined, for a reader.
    pub(super) fn with_inlining(&self) -> Self {
        let of = Self::new(self.db, self.name.clone(), Arc::clone(&self.body), Arc::clone(&self.signature));
        Self { inlines_large_callees: true, ..of }
    }

    /// Returns whether the forms of a callee are computed here.
    fn is_own(&self, callee: &FunctionKey) -> bool {
        self.inlines_large_callees || callee.def == self.name
    }

    /// Returns the queries, after computing the forms of the definition's callees.
    fn prepared_forms(&self, callee: &FunctionKey) -> MiddleQueries<'db> {
        middle_queries::prepare(self.db, callee);
        MiddleQueries { db: self.db }
    }

    /// Returns its Tensor SSA and its cost.
    pub(super) fn cost(&self, callee: &Arc<FunctionKey>) -> Option<(Arc<SsaFunction>, Arc<CostFormulas>)> {
        self.cost_to_depth(callee, MAX_CALL_DEPTH)
    }

    /// Returns the cost of Tensor SSA of this program, if these facts hold.
    pub(super) fn cost_where(&self, ssa: &SsaFunction, assumptions: &[Pred]) -> Arc<CostFormulas> {
        Arc::new(cost::cost_assuming(ssa, assumptions, &|c| self.cost_to_depth(c, MAX_CALL_DEPTH)))
    }

    fn cost_to_depth(&self, callee: &Arc<FunctionKey>, deep: u32) -> Option<(Arc<SsaFunction>, Arc<CostFormulas>)> {
        let ssa = self.ssa(callee)?;
        if callee.def != self.name {
            middle_queries::prepare_cost(self.db, callee);
            return Some((ssa, middle_queries::cost(self.db, CalleeKey::new(self.db, Arc::clone(callee))).value()?));
        }
        // A function that the body makes is called by the body, and by other such functions.
        let deeper = deep.checked_sub(1)?;
        let cost = cost::cost(&ssa, &|c| self.cost_to_depth(c, deeper));
        Some((ssa, Arc::new(cost)))
    }
}

impl ElabQueries for OverlayProgram<'_> {
    fn body(&self, name: &GlobalName) -> Option<Arc<TypedBody>> {
        if *name == self.name { Some(Arc::clone(&self.body)) } else { MiddleQueries { db: self.db }.body(name) }
    }

    fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>> {
        if *name == self.name { Some(Arc::clone(&self.signature)) } else { ProgramView::new(self.db).signature(name) }
    }

    fn type_info(&self, ty: &GlobalName) -> Option<Arc<TypeInfo>> {
        ProgramView::new(self.db).type_info(ty)
    }
}

impl CalleeForms for OverlayProgram<'_> {
    fn core(&self, callee: &Arc<FunctionKey>) -> CoreResult {
        if !self.is_own(callee) {
            return self.prepared_forms(callee).core(callee);
        }
        if let Some(known) = self.core.borrow().get(callee) {
            return known.clone();
        }
        let core_form = pipeline::core_form(self, self, callee);
        self.core.borrow_mut().insert(Arc::clone(callee), core_form.clone());
        core_form
    }

    fn stages(&self, callee: &Arc<FunctionKey>) -> StagesResult {
        if !self.is_own(callee) {
            return self.prepared_forms(callee).stages(callee);
        }
        if let Some(known) = self.stages.borrow().get(callee) {
            return known.clone();
        }
        // A recursive request finds this result.
        self.stages.borrow_mut().insert(Arc::clone(callee), Err(pipeline::recursion_error(callee)));
        let lowered = pipeline::lower(self, self, callee, &mut RuleCoverage::default());
        self.stages.borrow_mut().insert(Arc::clone(callee), lowered.clone());
        lowered
    }

    fn has_stages(&self, callee: &Arc<FunctionKey>) -> Result<(), Box<NoCoreForm>> {
        self.stages(callee).map(|_| ())
    }

    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        if !self.is_own(callee) {
            return self.prepared_forms(callee).ssa(callee);
        }
        if let Some(known) = self.ssa.borrow().get(callee) {
            return known.clone();
        }
        let derived =
            pipeline::derive_with_origins(self, self, callee, &mut RuleCoverage::default()).map(|traced| traced.ssa);
        self.ssa.borrow_mut().insert(Arc::clone(callee), derived.clone());
        derived
    }

    fn inlines_eagerly(&self) -> bool {
        self.inlines_large_callees
    }
}
