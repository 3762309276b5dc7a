//! **Derivative without the primal value.** Removes the statements that a derivative needs only for
//! the value of its function. A derivative printed as Iverson computes exactly the rest; a run of a
//! gradient computes the value, too.

use std::collections::HashSet;
use std::sync::Arc;

use salsa::{Database, Id};

use super::Session;
use super::costs::{Term, is_rule};
use super::forms::{self, Asked};
use super::kept::Kept;
use lang_ir::core::Callee;
use lang_ir::origin::{Ancestor, Fate, VALUE};
use lang_ir::ssa::{Rhs, Ssa, Var};
use lang_middle::cost::{Bound, Cost, Place};
use lang_middle::norm::dead;

/// A derivative without the value; `of` is the statement of the whole derivative for each of its
/// statements.
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

/// Returns the cost of the derivative alone. A derivative that it calls without using the value is
/// counted alone, too.
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
    Some(Arc::new(lang_middle::cost::cost(ssa, &of)))
}

fn no_cost<'db>(_: &'db dyn Database, _: Id, _: Asked<'db>) -> Kept<Option<Arc<Cost>>> {
    None.into()
}

/// Collects the derivatives that are called also for the value of their function, those in loop
/// bodies included.
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

/// Returns whether this part of a derivative's result belongs to the function's value.
fn gives_value(db: &dyn Database, callee: &Arc<Callee>, part: u32) -> bool {
    let primal = callee.primal().map(|primal| Asked::new(db, Arc::new(primal)));
    let ssa = primal.and_then(|primal| forms::ssa(db, primal).value());
    ssa.is_none_or(|ssa| (part as usize) < ssa.outputs.len())
}

/// Returns the bound of its cost alone by that of the function.
#[salsa::tracked]
pub(super) fn bound_alone<'db>(db: &'db dyn Database, asked: Asked<'db>) -> Kept<Option<Arc<Bound>>> {
    let bound = || {
        let primal = Asked::new(db, Arc::new(asked.callee(db).primal()?));
        let primal = forms::cost(db, primal).as_deref()?;
        Some(Arc::new(lang_middle::cost::bound(primal, cost_alone(db, asked).as_deref()?)))
    };
    bound().into()
}

impl Session {
    /// Returns the cost of a derivative without the cost that only the function's value needs.
    #[must_use]
    pub fn cost_alone(&self, derived: &Arc<Callee>) -> Option<Arc<Cost>> {
        forms::prepare_cost(&self.db, derived);
        cost_alone(&self.db, Asked::new(&self.db, Arc::clone(derived))).value()
    }

    /// Returns the bound of that cost by the function's, with the certificate.
    #[must_use]
    pub fn bound_alone(&self, derived: &Arc<Callee>) -> Option<Arc<Bound>> {
        self.cost_alone(derived)?;
        bound_alone(&self.db, Asked::new(&self.db, Arc::clone(derived))).value()
    }

    /// Returns the cost of a derivative alone by the places of the definition. The flag is true if
    /// the cost is for the value of the expression at that place.
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

    /// Returns whether it is the value of a statement of the function.
    fn is_value(&self, derived: &Arc<Callee>, var: Var) -> bool {
        let traced = self.traced(derived);
        let first = traced.as_ref().and_then(|t| t.origins.of(var).find(|o| o.ancestor != Ancestor::Input));
        first.is_some_and(|origin| matches!(origin.ancestor, Ancestor::Statement(_, VALUE)))
    }
}
