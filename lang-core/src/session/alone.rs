//! A derivative alone: what it computes for the value of the function, and nothing else, goes. It is what a derivative that is
//! written as Iverson computes, while a run that asks for a gradient has the value with it.

use std::collections::HashSet;
use std::sync::Arc;

use salsa::{Database, Id};

use super::Session;
use super::costs::{Term, is_rule};
use super::forms::{self, Asked};
use super::kept::Kept;
use crate::cost::{Bound, Cost, Place};
use crate::ir::core::Callee;
use crate::ir::origin::{Ancestor, Fate, VALUE};
use crate::ir::ssa::{Rhs, Ssa, Var};
use crate::norm::dead;

/// A derivative without the value, and which statement of the whole each of its statements is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Alone {
    ssa: Arc<Ssa>,
    of: Vec<Var>,
}

#[salsa::tracked]
pub(super) fn alone<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Kept<Option<Alone>> {
    without_value(db, asked).into()
}

fn without_value<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Option<Alone> {
    let primal = Asked::new(db, Arc::new(asked.callee(db).primal()?));
    let value = forms::ssa(db, primal).as_ref()?.outputs.len();
    let whole = forms::ssa(db, asked).as_ref()?;
    let mut ssa = (**whole).clone();
    ssa.outputs.drain(..value.min(whole.outputs.len()));
    let mut of = vec![Var(0); whole.stmts.len()];
    for (old, fate) in (0..).zip(dead::remove(&mut ssa)) {
        if let Fate::Kept(new) = fate {
            of.get_mut(new.0 as usize).into_iter().for_each(|slot| *slot = Var(old));
        }
    }
    of.truncate(ssa.stmts.len());
    Some(Alone { ssa: Arc::new(ssa), of })
}

/// What it costs alone. Of a derivative that it calls for that alone, this is counted too.
#[salsa::tracked(cycle_result = no_cost)]
pub(super) fn cost_alone<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Kept<Option<Arc<Cost>>> {
    cost_without_value(db, asked).into()
}

fn cost_without_value<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Option<Arc<Cost>> {
    let Alone { ssa, .. } = alone(db, asked).as_ref()?;
    let mut valued = HashSet::new();
    called_for_value(db, ssa, &mut valued);
    let of = |callee: &Arc<Callee>| {
        let asked = Asked::new(db, Arc::clone(callee));
        if !valued.contains(callee)
            && let Some(alone) = alone(db, asked).as_ref()
        {
            return Some((Arc::clone(&alone.ssa), cost_alone(db, asked).value()?));
        }
        Some((forms::ssa(db, asked).value()?, forms::cost(db, asked).value()?))
    };
    Some(Arc::new(crate::cost::cost(ssa, &of)))
}

fn no_cost<'db>(_: &'db dyn Database, _: Id, _: Asked<'db>) -> Kept<Option<Arc<Cost>>> {
    None.into()
}

/// The derivatives that are called for the value of their function too, in bodies of loops as well.
fn called_for_value(db: &dyn Database, ssa: &Ssa, found: &mut HashSet<Arc<Callee>>) {
    for stmt in &ssa.stmts {
        match &stmt.rhs {
            Rhs::Call { callee, part, .. } if gives_value(db, callee, *part) => {
                found.insert(Arc::clone(callee));
            }
            Rhs::Loop(of, _) => called_for_value(db, &of.body, found),
            _ => {}
        }
    }
}

/// Is this part of what a derivative gives one of the function's value?
fn gives_value(db: &dyn Database, callee: &Arc<Callee>, part: u32) -> bool {
    let primal = callee.primal().map(|primal| Asked::new(db, Arc::new(primal)));
    let ssa = primal.and_then(|primal| forms::ssa(db, primal).value());
    ssa.is_none_or(|ssa| (part as usize) < ssa.outputs.len())
}

/// How much dearer it is alone than the function.
#[salsa::tracked]
pub(super) fn bound_alone<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Kept<Option<Arc<Bound>>> {
    let bound = || {
        let primal = Asked::new(db, Arc::new(asked.callee(db).primal()?));
        let primal = forms::cost(db, primal).as_deref()?;
        Some(Arc::new(crate::cost::bound(primal, cost_alone(db, asked).as_deref()?)))
    };
    bound().into()
}

impl Session {
    /// What a derivative costs without what only the value of the function takes.
    #[must_use]
    pub fn cost_alone(&self, derived: &Arc<Callee>) -> Option<Arc<Cost>> {
        forms::prepare_cost(&self.db, derived);
        cost_alone(&self.db, Asked::new(&self.db, Arc::clone(derived))).value()
    }

    /// How much dearer that is than the function, with its certificate.
    #[must_use]
    pub fn bound_alone(&self, derived: &Arc<Callee>) -> Option<Arc<Bound>> {
        self.cost_alone(derived)?;
        bound_alone(&self.db, Asked::new(&self.db, Arc::clone(derived))).value()
    }

    /// The cost of a derivative alone by the places of the definition, and of each whether it is the value of the expression
    /// there that is computed.
    #[must_use]
    pub fn terms_alone(&self, derived: &Arc<Callee>) -> Vec<(Term, bool)> {
        let Some(cost) = self.cost_alone(derived) else { return Vec::new() };
        let Some(alone) = alone(&self.db, Asked::new(&self.db, Arc::clone(derived))).as_ref() else {
            return Vec::new();
        };
        let mut all: Vec<(Term, bool)> = Vec::new();
        for (place, amount) in &cost.parts {
            let (place, is_value) = match place {
                Place::Statement(var) => {
                    let Some(var) = alone.of.get(var.0 as usize) else { continue };
                    (self.place(derived, *var, &|of| is_rule(of, &derived.def)), self.is_value(derived, *var))
                }
                Place::Check(_) => continue,
            };
            match all.iter_mut().find(|(t, known)| t.place == place && *known == is_value) {
                Some((term, _)) => term.amount = term.amount.add(amount),
                None => all.push((Term { place, amount: amount.clone() }, is_value)),
            }
        }
        all
    }

    /// Is it the value of a statement of the function?
    fn is_value(&self, derived: &Arc<Callee>, var: Var) -> bool {
        let traced = self.traced(derived);
        let first = traced.as_ref().and_then(|t| t.origins.of(var).find(|o| o.ancestor != Ancestor::Input));
        first.is_some_and(|origin| matches!(origin.ancestor, Ancestor::Statement(_, VALUE)))
    }
}
