//! **The compiler's middle as queries.** Computes the core form of each definition at types, its
//! other forms, and the Tensor SSA of it and of its derivatives. An edit inside a definition
//! recomputes its own forms. It recomputes those of its callers only if its Tensor SSA changes.

use std::sync::Arc;

use salsa::{Database, Id};

use super::kept::Kept;
use super::view::View;
use super::{cycles, queries, scope};
use lang_base::GlobalName;
use lang_ir::core::{Callee, Outside};
use lang_ir::ssa::Ssa;
use lang_middle::cost::{Bound, Cost};
use lang_middle::norm::{Bodies, Hits, Rule};
use lang_middle::pipeline::{self, Callees, InCore, InStages, Traced};
use lang_types::env::Env as _;
use lang_types::info::TypeInfo;
use lang_types::tree::Body;
use lang_types::ty::Signature;

/// A callee as a key of queries.
#[salsa::interned(debug)]
pub(super) struct Asked<'db> {
    /// The callee.
    #[returns(ref)]
    pub(super) callee: Arc<Callee>,
}

/// Returns the core form.
#[salsa::tracked]
pub(super) fn core<'db>(db: &'db dyn Database, asked: Asked<'db>) -> InCore {
    let forms = Forms { db };
    pipeline::core(&forms, &forms, asked.callee(db))
}

/// Returns all forms.
#[salsa::tracked(cycle_result = recursive)]
pub(super) fn stages<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Kept<InStages> {
    let forms = Forms { db };
    pipeline::stages(&forms, &forms, asked.callee(db), &mut Hits::default()).into()
}

fn recursive<'db>(db: &'db dyn Database, _: Id, asked: Asked<'db>) -> Kept<InStages> {
    Err(pipeline::recursive(asked.callee(db))).into()
}

/// Returns the reason why it lacks a form, if it does. Beside Tensor SSA, a caller asks for nothing
/// else.
#[salsa::tracked(cycle_result = recursive_too)]
pub(super) fn outside<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Option<Box<Outside>> {
    stages(db, asked).as_ref().err().cloned()
}

fn recursive_too<'db>(db: &'db dyn Database, _: Id, asked: Asked<'db>) -> Option<Box<Outside>> {
    Some(pipeline::recursive(asked.callee(db)))
}

/// Returns Tensor SSA, also of derivatives, with the origins of its statements. An edit that only
/// moves text changes the origins of a definition, but not its [`ssa`].
#[salsa::tracked(cycle_result = not_traced)]
pub(super) fn traced<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Kept<Option<Traced>> {
    let forms = Forms { db };
    pipeline::traced(&forms, &forms, asked.callee(db), &mut Hits::default()).into()
}

fn not_traced<'db>(_: &'db dyn Database, _: Id, _: Asked<'db>) -> Kept<Option<Traced>> {
    None.into()
}

/// Returns Tensor SSA alone, on which callers and derivatives depend.
#[salsa::tracked(cycle_result = no_ssa)]
pub(super) fn ssa<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Kept<Option<Arc<Ssa>>> {
    traced(db, asked).as_ref().map(|traced| Arc::clone(&traced.ssa)).into()
}

fn no_ssa<'db>(_: &'db dyn Database, _: Id, _: Asked<'db>) -> Kept<Option<Arc<Ssa>>> {
    None.into()
}

/// Returns the cost of Tensor SSA, with the costs of its callees.
#[salsa::tracked(cycle_result = no_cost)]
pub(super) fn cost<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Kept<Option<Arc<Cost>>> {
    let of = |callee: &Arc<Callee>| {
        let asked = Asked::new(db, Arc::clone(callee));
        Some((ssa(db, asked).value()?, cost(db, asked).value()?))
    };
    ssa(db, asked).as_ref().map(|ssa| Arc::new(lang_middle::cost::cost(ssa, &of))).into()
}

fn no_cost<'db>(_: &'db dyn Database, _: Id, _: Asked<'db>) -> Kept<Option<Arc<Cost>>> {
    None.into()
}

/// Returns the bound of a derivative's cost by that of its function.
#[salsa::tracked(cycle_result = no_bound)]
pub(super) fn bound<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Kept<Option<Arc<Bound>>> {
    let bound = || {
        let primal = cost(db, Asked::new(db, Arc::new(asked.callee(db).primal()?))).as_deref()?;
        Some(Arc::new(lang_middle::cost::bound(primal, cost(db, asked).as_deref()?)))
    };
    bound().into()
}

fn no_bound<'db>(_: &'db dyn Database, _: Id, _: Asked<'db>) -> Kept<Option<Arc<Bound>>> {
    None.into()
}

/// Computes the costs of all that a function calls, callees first.
pub(super) fn prepare_cost(db: &dyn Database, callee: &Arc<Callee>) {
    let mut open = vec![(Arc::clone(callee), false)];
    let mut seen = std::collections::HashSet::new();
    while let Some((callee, after)) = open.pop() {
        let asked = Asked::new(db, Arc::clone(&callee));
        if after {
            let _ = cost(db, asked);
            continue;
        }
        if !seen.insert(Arc::clone(&callee)) {
            continue;
        }
        prepare(db, &callee);
        let Some(ssa) = ssa(db, asked).value() else { continue };
        open.push((callee, true));
        ssa.for_each_callee(&mut |called| open.push((Arc::clone(called), false)));
    }
}

/// Computes the forms of all that a definition calls, callees first. Nested queries thus stay
/// shallow, however long a chain of calls is.
pub(super) fn prepare(db: &dyn Database, callee: &Callee) {
    let plain = |c: &Callee| Callee { derived: Arc::from([]), ..c.clone() };
    let mut open = vec![(plain(callee), false)];
    let mut seen = std::collections::HashSet::new();
    while let Some((callee, after)) = open.pop() {
        let asked = Asked::new(db, Arc::new(callee.clone()));
        if after {
            let _ = stages(db, asked);
            continue;
        }
        if !seen.insert(callee.clone()) {
            continue;
        }
        if let Some(item) = View::new(db).value_item(&callee.def).map(scope::Value::item) {
            let rule = |kind| scope::rule_named(db, item.file(db), kind, &callee.def.name);
            let rules = [Rule::Derivative, Rule::Adjoint].into_iter().filter_map(rule);
            rules.chain([item]).for_each(|item| cycles::ready(db, item));
        }
        open.push((callee, true));
        if let Ok(function) = core(db, asked) {
            open.extend(pipeline::calls(function).iter().map(|(called, _)| (plain(called), false)));
        }
    }
}

/// The environment of the passes of the middle, answered by queries.
#[derive(Clone, Copy)]
pub(super) struct Forms<'db> {
    pub(super) db: &'db dyn Database,
}

impl<'db> Forms<'db> {
    fn asked(&self, callee: &Arc<Callee>) -> Asked<'db> {
        Asked::new(self.db, Arc::clone(callee))
    }
}

impl Bodies for Forms<'_> {
    fn body(&self, name: &GlobalName) -> Option<Arc<Body>> {
        let view = View::new(self.db);
        let item = match Rule::named(&name.name) {
            Some((kind, of)) => scope::rule_named(self.db, view.file(&name.module)?, kind, of)?,
            None => view.value_item(name).filter(|v| !matches!(v, scope::Value::Ctor(..))).map(scope::Value::item)?,
        };
        Some(Arc::clone(&queries::checked(self.db, item).as_ref()?.body))
    }

    fn signature(&self, name: &GlobalName) -> Option<Arc<Signature>> {
        View::new(self.db).signature(name)
    }

    fn type_info(&self, name: &GlobalName) -> Option<Arc<TypeInfo>> {
        View::new(self.db).type_info(name)
    }
}

impl Callees for Forms<'_> {
    fn core(&self, callee: &Arc<Callee>) -> InCore {
        core(self.db, self.asked(callee)).clone()
    }

    fn stages(&self, callee: &Arc<Callee>) -> InStages {
        stages(self.db, self.asked(callee)).value()
    }

    fn has_stages(&self, callee: &Arc<Callee>) -> Result<(), Box<Outside>> {
        outside(self.db, self.asked(callee)).clone().map_or(Ok(()), Err)
    }

    fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        ssa(self.db, self.asked(callee)).value()
    }
}
