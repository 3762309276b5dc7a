//! **Derivative without the primal value.** Removes the statements that a derivative needs only for
//! the value of its function. A derivative printed as Iverson computes exactly the rest; a run of a
//! gradient computes the value, too.

use std::collections::HashSet;
use std::sync::Arc;

use salsa::{Database, Id};

use super::Session;
use super::costs::{CostTerm, is_rule};
use super::deferred_drop::DeferredDrop;
use super::middle_queries::{self, CalleeKey};
use lang_ir::core::FunctionKey;
use lang_ir::origin::{DceOutcome, OriginKind, VALUE};
use lang_ir::ssa::{Rhs, SsaFunction, StmtId};
use lang_middle::cost::{CostFormulas, CostRatio, CostSite};
use lang_opt::dce;

/// A derivative without the value; `of` is the statement of the whole derivative for each of its
/// statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DerivativeWithoutPrimal {
    ssa: Arc<SsaFunction>,
    original_vars: Vec<StmtId>,
}

#[salsa::tracked]
pub(super) fn without_primal<'db>(
    db: &'db dyn Database,
    key: CalleeKey<'db>,
) -> DeferredDrop<Option<DerivativeWithoutPrimal>> {
    remove_primal_outputs(db, key).into()
}

fn remove_primal_outputs<'db>(db: &'db dyn Database, key: CalleeKey<'db>) -> Option<DerivativeWithoutPrimal> {
    let primal = CalleeKey::new(db, Arc::new(key.callee(db).primal()?));
    let value = middle_queries::ssa(db, primal).as_ref()?.outputs.len();
    let whole = middle_queries::ssa(db, key).as_ref()?;
    let mut ssa = (**whole).clone();
    ssa.outputs.drain(..value.min(whole.outputs.len()));
    let mut of = vec![StmtId(0); whole.stmts.len()];
    for (old, fate) in (0..).zip(dce::eliminate_dead_code(&mut ssa)) {
        if let DceOutcome::Kept(new) = fate {
            of.get_mut(new.0 as usize).into_iter().for_each(|slot| *slot = StmtId(old));
        }
    }
    of.truncate(ssa.stmts.len());
    Some(DerivativeWithoutPrimal { ssa: Arc::new(ssa), original_vars: of })
}

/// Returns the cost of the derivative alone. A derivative that it calls without using the value is
/// counted alone, too.
#[salsa::tracked(cycle_result = no_cost_on_cycle)]
pub(super) fn cost_without_primal<'db>(
    db: &'db dyn Database,
    key: CalleeKey<'db>,
) -> DeferredDrop<Option<Arc<CostFormulas>>> {
    compute_cost_without_primal(db, key).into()
}

fn compute_cost_without_primal<'db>(db: &'db dyn Database, key: CalleeKey<'db>) -> Option<Arc<CostFormulas>> {
    let DerivativeWithoutPrimal { ssa, .. } = without_primal(db, key).as_ref()?;
    let mut valued = HashSet::new();
    collect_calls_for_primal(db, ssa, &mut valued);
    let of = |callee: &Arc<FunctionKey>| {
        let callee_key = CalleeKey::new(db, Arc::clone(callee));
        if !valued.contains(callee)
            && let Some(alone) = without_primal(db, callee_key).as_ref()
        {
            return Some((Arc::clone(&alone.ssa), cost_without_primal(db, callee_key).value()?));
        }
        Some((middle_queries::ssa(db, callee_key).value()?, middle_queries::cost(db, callee_key).value()?))
    };
    Some(Arc::new(lang_middle::cost::cost(ssa, &of)))
}

fn no_cost_on_cycle<'db>(_: &'db dyn Database, _: Id, _: CalleeKey<'db>) -> DeferredDrop<Option<Arc<CostFormulas>>> {
    None.into()
}

/// Collects the derivatives that are called also for the value of their function, those in loop
/// bodies included.
fn collect_calls_for_primal(db: &dyn Database, ssa: &SsaFunction, found: &mut HashSet<Arc<FunctionKey>>) {
    for stmt in &ssa.stmts {
        match &stmt.rhs {
            Rhs::CallResult(producer, part) => {
                if let Some(Rhs::Call { callee, .. }) = ssa.stmts.get(producer.0 as usize).map(|s| &s.rhs)
                    && is_primal_part(db, callee, *part)
                {
                    found.insert(Arc::clone(callee));
                }
            }
            Rhs::Loop(of) => collect_calls_for_primal(db, &of.body, found),
            _ => {}
        }
    }
}

/// Returns whether this part of a derivative's result belongs to the function's value.
fn is_primal_part(db: &dyn Database, callee: &Arc<FunctionKey>, part: u32) -> bool {
    let primal = callee.primal().map(|primal| CalleeKey::new(db, Arc::new(primal)));
    let ssa = primal.and_then(|primal| middle_queries::ssa(db, primal).value());
    ssa.is_none_or(|ssa| (part as usize) < ssa.outputs.len())
}

/// Returns the bound of its cost alone by that of the function.
#[salsa::tracked]
pub(super) fn bound_without_primal<'db>(
    db: &'db dyn Database,
    key: CalleeKey<'db>,
) -> DeferredDrop<Option<Arc<CostRatio>>> {
    let bound = || {
        let primal = CalleeKey::new(db, Arc::new(key.callee(db).primal()?));
        let primal = middle_queries::cost(db, primal).as_deref()?;
        Some(Arc::new(lang_middle::cost::certify_ratio(primal, cost_without_primal(db, key).as_deref()?)))
    };
    bound().into()
}

impl Session {
    /// Returns the cost of a derivative without the cost that only the function's value needs.
    #[must_use]
    pub fn cost_without_primal(&self, derived: &Arc<FunctionKey>) -> Option<Arc<CostFormulas>> {
        middle_queries::prepare_cost(&self.db, derived);
        cost_without_primal(&self.db, CalleeKey::new(&self.db, Arc::clone(derived))).value()
    }

    /// Returns the bound of that cost by the function's, with the certificate.
    #[must_use]
    pub fn bound_without_primal(&self, derived: &Arc<FunctionKey>) -> Option<Arc<CostRatio>> {
        self.cost_without_primal(derived)?;
        bound_without_primal(&self.db, CalleeKey::new(&self.db, Arc::clone(derived))).value()
    }

    /// Returns the cost of a derivative alone by the places of the definition. The flag is true if
    /// the cost is for the value of the expression at that place.
    #[must_use]
    pub fn terms_without_primal(&self, derived: &Arc<FunctionKey>) -> Vec<(CostTerm, bool)> {
        let Some(cost) = self.cost_without_primal(derived) else { return Vec::new() };
        let Some(alone) = without_primal(&self.db, CalleeKey::new(&self.db, Arc::clone(derived))).as_ref() else {
            return Vec::new();
        };
        let mut all: Vec<(CostTerm, bool)> = Vec::new();
        for (place, amount) in &cost.statement_amounts {
            let (place, is_value) = match place {
                CostSite::Statement(var) => {
                    let Some(var) = alone.original_vars.get(var.0 as usize) else { continue };
                    (
                        self.attributed_span(derived, *var, &|of| is_rule(of, &derived.def)),
                        self.is_primal_value(derived, *var),
                    )
                }
                CostSite::Check(_) => continue,
            };
            match all.iter_mut().find(|(t, known)| t.location == place && *known == is_value) {
                Some((term, _)) => term.amount = term.amount.add(amount),
                None => all.push((CostTerm { location: place, amount: amount.clone() }, is_value)),
            }
        }
        all
    }

    /// Returns whether it is the value of a statement of the function.
    fn is_primal_value(&self, derived: &Arc<FunctionKey>, var: StmtId) -> bool {
        let traced = self.traced(derived);
        let first = traced.as_ref().and_then(|t| t.origins.origins_of(var).find(|o| o.kind != OriginKind::Input));
        first.is_some_and(|origin| matches!(origin.kind, OriginKind::PrimalStatement(_, VALUE)))
    }
}
