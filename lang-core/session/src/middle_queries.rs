//! **The compiler's middle as queries.** Computes the core form of each definition at types, its
//! other forms, and the Tensor SSA of it and of its derivatives. An edit inside a definition
//! recomputes its own forms. It recomputes those of its callers only if its Tensor SSA changes.

use std::collections::HashSet;
use std::sync::Arc;

use salsa::{Database, Id};

use super::deferred_drop::DeferredDrop;
use super::view::ProgramView;
use super::{cycles, queries, scope};
use lang_base::GlobalName;
use lang_ir::core::{FunctionKey, NoCoreForm};
use lang_ir::ssa::SsaFunction;
use lang_middle::cost::{CostFormulas, CostRatio};
use lang_middle::norm::{ElabQueries, RuleCoverage, RuleKind};
use lang_middle::pipeline::{self, CalleeForms, CoreResult, SsaWithOrigins, StagesResult};
use lang_types::env::TypeEnv as _;
use lang_types::tree::TypedBody;
use lang_types::ty::Signature;
use lang_types::type_info::TypeInfo;

/// A callee as a key of queries.
#[salsa::interned(debug)]
pub(super) struct CalleeKey<'db> {
    /// The callee.
    #[returns(ref)]
    pub(super) callee: Arc<FunctionKey>,
}

/// Returns the core form.
#[salsa::tracked]
pub(super) fn core<'db>(db: &'db dyn Database, key: CalleeKey<'db>) -> CoreResult {
    let forms = MiddleQueries { db };
    pipeline::core_form(&forms, &forms, key.callee(db))
}

/// Returns all forms.
#[salsa::tracked(cycle_result = recursive_stages)]
pub(super) fn stages<'db>(db: &'db dyn Database, key: CalleeKey<'db>) -> DeferredDrop<StagesResult> {
    let forms = MiddleQueries { db };
    pipeline::lower(&forms, &forms, key.callee(db), &mut RuleCoverage::default()).into()
}

fn recursive_stages<'db>(db: &'db dyn Database, _: Id, key: CalleeKey<'db>) -> DeferredDrop<StagesResult> {
    Err(pipeline::recursion_error(key.callee(db))).into()
}

/// Returns the reason why it lacks a form, if it does. Beside Tensor SSA, a caller asks for nothing
/// else.
#[salsa::tracked(cycle_result = recursive_missing_form)]
pub(super) fn missing_form_reason<'db>(db: &'db dyn Database, key: CalleeKey<'db>) -> Option<Box<NoCoreForm>> {
    stages(db, key).as_ref().err().cloned()
}

fn recursive_missing_form<'db>(db: &'db dyn Database, _: Id, key: CalleeKey<'db>) -> Option<Box<NoCoreForm>> {
    Some(pipeline::recursion_error(key.callee(db)))
}

/// Returns Tensor SSA, also of derivatives, with the origins of its statements. An edit that only
/// moves text changes the origins of a definition, but not its [`ssa`].
#[salsa::tracked(cycle_result = no_ssa_with_origins)]
pub(super) fn traced<'db>(db: &'db dyn Database, key: CalleeKey<'db>) -> DeferredDrop<Option<SsaWithOrigins>> {
    let forms = MiddleQueries { db };
    pipeline::derive_with_origins(&forms, &forms, key.callee(db), &mut RuleCoverage::default()).into()
}

fn no_ssa_with_origins<'db>(_: &'db dyn Database, _: Id, _: CalleeKey<'db>) -> DeferredDrop<Option<SsaWithOrigins>> {
    None.into()
}

/// Returns Tensor SSA alone, on which callers and derivatives depend.
#[salsa::tracked(cycle_result = no_ssa_on_cycle)]
pub(super) fn ssa<'db>(db: &'db dyn Database, key: CalleeKey<'db>) -> DeferredDrop<Option<Arc<SsaFunction>>> {
    traced(db, key).as_ref().map(|traced| Arc::clone(&traced.ssa)).into()
}

fn no_ssa_on_cycle<'db>(_: &'db dyn Database, _: Id, _: CalleeKey<'db>) -> DeferredDrop<Option<Arc<SsaFunction>>> {
    None.into()
}

/// Returns the cost of Tensor SSA, with the costs of its callees.
#[salsa::tracked(cycle_result = no_cost_on_cycle)]
pub(super) fn cost<'db>(db: &'db dyn Database, key: CalleeKey<'db>) -> DeferredDrop<Option<Arc<CostFormulas>>> {
    let of = |callee: &Arc<FunctionKey>| {
        let callee_key = CalleeKey::new(db, Arc::clone(callee));
        Some((ssa(db, callee_key).value()?, cost(db, callee_key).value()?))
    };
    ssa(db, key).as_ref().map(|ssa| Arc::new(lang_middle::cost::cost(ssa, &of))).into()
}

fn no_cost_on_cycle<'db>(_: &'db dyn Database, _: Id, _: CalleeKey<'db>) -> DeferredDrop<Option<Arc<CostFormulas>>> {
    None.into()
}

/// Returns the bound of a derivative's cost by that of its function.
#[salsa::tracked(cycle_result = no_bound_on_cycle)]
pub(super) fn bound<'db>(db: &'db dyn Database, key: CalleeKey<'db>) -> DeferredDrop<Option<Arc<CostRatio>>> {
    let bound = || {
        let primal = cost(db, CalleeKey::new(db, Arc::new(key.callee(db).primal()?))).as_deref()?;
        Some(Arc::new(lang_middle::cost::certify_ratio(primal, cost(db, key).as_deref()?)))
    };
    bound().into()
}

fn no_bound_on_cycle<'db>(_: &'db dyn Database, _: Id, _: CalleeKey<'db>) -> DeferredDrop<Option<Arc<CostRatio>>> {
    None.into()
}

/// Returns the definitions that the core form of a callee calls.
#[salsa::tracked]
pub(super) fn called_definitions<'db>(db: &'db dyn Database, key: CalleeKey<'db>) -> Arc<[FunctionKey]> {
    let Ok(function) = core(db, key) else { return Arc::from([]) };
    let mut called: Vec<FunctionKey> = Vec::new();
    let mut seen = HashSet::new();
    for (callee, _) in pipeline::collect_calls(function) {
        let definition = without_derivatives(&callee);
        if seen.insert(definition.clone()) {
            called.push(definition);
        }
    }
    called.into()
}

fn without_derivatives(callee: &FunctionKey) -> FunctionKey {
    FunctionKey { derivatives: Arc::from([]), ..callee.clone() }
}

/// Computes the costs of all that a function calls, callees first.
pub(super) fn prepare_cost(db: &dyn Database, callee: &Arc<FunctionKey>) {
    let mut open = vec![(Arc::clone(callee), false)];
    let (mut seen, mut prepared) = (HashSet::new(), HashSet::new());
    while let Some((callee, after)) = open.pop() {
        let key = CalleeKey::new(db, Arc::clone(&callee));
        if after {
            let _ = cost(db, key);
            continue;
        }
        if !seen.insert(Arc::clone(&callee)) {
            continue;
        }
        prepare_definitions(db, &callee, &mut prepared);
        let Some(ssa) = ssa(db, key).value() else { continue };
        open.push((callee, true));
        ssa.for_each_callee(&mut |called| open.push((Arc::clone(called), false)));
    }
}

/// Computes the forms of all that a definition calls, callees first. Nested queries thus stay
/// shallow, however long a chain of calls is.
pub(super) fn prepare(db: &dyn Database, callee: &FunctionKey) {
    prepare_definitions(db, callee, &mut HashSet::new());
}

/// Computes these forms, except those of the definitions in `seen` and of all that they call.
fn prepare_definitions(db: &dyn Database, callee: &FunctionKey, seen: &mut HashSet<FunctionKey>) {
    let mut open = vec![(without_derivatives(callee), false)];
    while let Some((callee, after)) = open.pop() {
        let key = CalleeKey::new(db, Arc::new(callee.clone()));
        if after {
            let _ = stages(db, key);
            continue;
        }
        if !seen.insert(callee.clone()) {
            continue;
        }
        if let Some(item) = ProgramView::new(db).value_item(&callee.def).map(scope::ValueBinding::item) {
            let rule = |kind| scope::rule_named(db, item.file(db), kind, &callee.def.name);
            let rules = [RuleKind::Derivative, RuleKind::Adjoint].into_iter().filter_map(rule);
            rules.chain([item]).for_each(|item| cycles::item_types_ready(db, item));
        }
        open.push((callee, true));
        open.extend(called_definitions(db, key).iter().map(|called| (called.clone(), false)));
    }
}

/// The environment of the passes of the middle, answered by queries.
#[derive(Clone, Copy)]
pub(super) struct MiddleQueries<'db> {
    pub(super) db: &'db dyn Database,
}

impl<'db> MiddleQueries<'db> {
    fn callee_key(&self, callee: &Arc<FunctionKey>) -> CalleeKey<'db> {
        CalleeKey::new(self.db, Arc::clone(callee))
    }
}

impl ElabQueries for MiddleQueries<'_> {
    fn body(&self, name: &GlobalName) -> Option<Arc<TypedBody>> {
        let view = ProgramView::new(self.db);
        let item = match RuleKind::parse_item_name(&name.name) {
            Some((kind, of)) => scope::rule_named(self.db, view.file(&name.module)?, kind, of)?,
            None => view
                .value_item(name)
                .filter(|v| !matches!(v, scope::ValueBinding::Ctor(..)))
                .map(scope::ValueBinding::item)?,
        };
        Some(Arc::clone(&queries::checked(self.db, item).as_ref()?.body))
    }

    fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>> {
        ProgramView::new(self.db).signature(name)
    }

    fn type_info(&self, name: &GlobalName) -> Option<Arc<TypeInfo>> {
        ProgramView::new(self.db).type_info(name)
    }
}

impl CalleeForms for MiddleQueries<'_> {
    fn core(&self, callee: &Arc<FunctionKey>) -> CoreResult {
        core(self.db, self.callee_key(callee)).clone()
    }

    fn stages(&self, callee: &Arc<FunctionKey>) -> StagesResult {
        stages(self.db, self.callee_key(callee)).value()
    }

    fn has_stages(&self, callee: &Arc<FunctionKey>) -> Result<(), Box<NoCoreForm>> {
        missing_form_reason(self.db, self.callee_key(callee)).clone().map_or(Ok(()), Err)
    }

    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        ssa(self.db, self.callee_key(callee)).value()
    }
}
