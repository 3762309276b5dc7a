//! **Pass pipeline.** Lowers a definition through every form to Tensor SSA, and derives the Tensor
//! SSA of its derivatives.
//!
//! The pipeline requests the forms of callees through [`CalleeForms`], so each definition is
//! lowered separately. A session implements the trait as incremental queries. It lowers a
//! definition again only after an edit that reaches the definition. [`MemoisedForms`] implements
//! the trait for one revision and also counts the applied rewrite rules.
//!
//! Debug builds assert the normal form of three stages: lifted, without tuples, and pushed out.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::ad;
use crate::norm::rule_coverage::RuleCoverage;
use crate::norm::{ElabQueries, RuleKind, elaborate, let_lifting, pair_elimination, pushout, to_ssa};
use lang_base::Span;
use lang_base::ensure_sufficient_stack;
use lang_ir::core::{CoreFunction, DerivativeKind, ExprKind, ExprRef, FunctionKey, NoCoreForm, NoCoreFormReason};
use lang_ir::flat::FlatFunction;
use lang_ir::origin::OriginTable;
use lang_ir::ssa::SsaFunction;
use lang_ir::verify::{StatementOrder, debug_assert_valid};
use lang_sizes::predicate::Atom;
use lang_syntax::ops::Scalar;
use lang_types::ty::Type;

/// A definition in all its intermediate forms.
#[derive(Clone, PartialEq, Debug)]
pub struct Stages {
    /// The core form (ATL Fig. 3).
    pub core: Arc<CoreFunction>,
    /// The form with every `let` outermost (Fig. 7).
    pub lifted: Arc<CoreFunction>,
    /// The form without tuples (Fig. 8).
    pub flat: Arc<FlatFunction>,
    /// The form with generation outermost (Fig. 9).
    pub pushed: Arc<FlatFunction>,
    /// Tensor SSA (Figs. 10-12).
    pub ssa: Arc<SsaFunction>,
    /// The source origins of the statements of `ssa`.
    pub origins: Arc<OriginTable>,
}

/// A function or a derivative in Tensor SSA, with the origins of its statements.
#[derive(Clone, PartialEq, Debug)]
pub struct SsaWithOrigins {
    /// The function.
    pub ssa: Arc<SsaFunction>,
    /// The source origins of its statements.
    pub origins: Arc<OriginTable>,
}

impl SsaWithOrigins {
    fn new((ssa, origins): (SsaFunction, OriginTable)) -> Self {
        Self { ssa: Arc::new(ssa), origins: Arc::new(origins) }
    }
}

/// The core form, or the reason why the definition has none.
pub type CoreResult = Result<Arc<CoreFunction>, Box<NoCoreForm>>;

/// All forms, or the reason why the definition has none.
pub type StagesResult = Result<Arc<Stages>, Box<NoCoreForm>>;

/// A provider of the forms of callees.
pub trait CalleeForms {
    /// Returns the core form of a definition, or of a local function of one.
    ///
    /// # Errors
    /// The construct without a core form.
    fn core(&self, callee: &Arc<FunctionKey>) -> CoreResult;

    /// Returns every form of a definition, or of a local function of one.
    ///
    /// # Errors
    /// The construct without a core form, in the callee or in a function that it calls.
    fn stages(&self, callee: &Arc<FunctionKey>) -> StagesResult;

    /// Checks that a callee has every form.
    ///
    /// # Errors
    /// As [`CalleeForms::stages`]. A query that calls only this does not depend on the contents of
    /// the forms.
    fn has_stages(&self, callee: &Arc<FunctionKey>) -> Result<(), Box<NoCoreForm>>;

    /// Returns the Tensor SSA of a callee, which may be a derivative, or `None` if it has none.
    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>>;

    /// Whether to inline larger callees than usual, because a reader wants to see their bodies.
    fn inlines_eagerly(&self) -> bool {
        false
    }
}

/// Returns the core form of a callee that is not a derivative.
///
/// # Errors
/// The construct without a core form.
pub fn core_form(bodies: &dyn ElabQueries, callees: &dyn CalleeForms, callee: &Arc<FunctionKey>) -> CoreResult {
    let Some(local) = callee.local else {
        return ensure_sufficient_stack(|| elaborate(bodies, callee)).map(Arc::new);
    };
    // Elaboration of the enclosing definition also produces its local functions.
    let definition = callees.core(&Arc::new(callee.enclosing_function()))?;
    let local = definition.local_functions.get(local as usize).cloned();
    local.ok_or_else(|| unsupported_error(callee, NoCoreFormReason::Derivative))
}

/// Lowers the core form of a callee through all later forms.
///
/// # Errors
/// The construct without a core form, in the callee or in a function that it calls.
pub fn lower(
    bodies: &dyn ElabQueries,
    callees: &dyn CalleeForms,
    callee: &Arc<FunctionKey>,
    hits: &mut RuleCoverage,
) -> StagesResult {
    let core = callees.core(callee)?;
    for (called, span) in collect_calls(&core) {
        callees.has_stages(&Arc::new(FunctionKey { derivatives: Arc::from([]), ..(*called).clone() }))?;
        if callees.ssa(&called).is_none() {
            let item = core.callee.def.clone();
            return Err(Box::new(NoCoreForm { reason: NoCoreFormReason::Derivative, item, span }));
        }
    }
    ensure_sufficient_stack(|| {
        let lifted = let_lifting::lift_lets(&core, hits);
        debug_assert!(let_lifting::is_lifted(&lifted.body), "lifted: {lifted}");
        let flat = pair_elimination::eliminate_pairs(&lifted, hits);
        debug_assert!(pair_elimination::is_flat(&flat), "pairs: {flat}");
        let pushed = pushout::push_out_generations(&flat, hits);
        debug_assert!(pushout::is_pushed(&pushed), "pushed: {pushed}");
        let (mut ssa, origins) = to_ssa::to_ssa(&pushed, &|c| callees.ssa(c), callees.inlines_eagerly(), hits);
        propagate_bounded(&core.body, callees, &mut ssa);
        ssa.is_opaque = match callee.local {
            Some(_) => core.rule_of.is_some(),
            None => callee.rules.is_empty() && callee.runtime_request.is_none() && bodies.has_rule(&callee.def),
        };
        debug_assert_valid("to_ssa", &ssa, StatementOrder::Dominance, &|c| callees.ssa(c));
        let (lifted, flat, pushed) = (Arc::new(lifted), Arc::new(flat), Arc::new(pushed));
        let (ssa, origins) = (Arc::new(ssa), Arc::new(origins));
        Ok(Arc::new(Stages { core, lifted, flat, pushed, ssa, origins }))
    })
}

/// Returns the Tensor SSA of a callee and the origins of its statements. Differentiates the primal
/// if the callee is a derivative. Returns `None` if a form or the derivative does not exist.
#[must_use]
pub fn derive_with_origins(
    bodies: &dyn ElabQueries,
    callees: &dyn CalleeForms,
    callee: &Arc<FunctionKey>,
    hits: &mut RuleCoverage,
) -> Option<SsaWithOrigins> {
    let (Some(last), Some(primal)) = (callee.derivatives.last(), callee.primal()) else {
        let stages = callees.stages(callee).ok()?;
        return Some(SsaWithOrigins { ssa: stages.ssa.clone(), origins: stages.origins.clone() });
    };
    let primal = Arc::new(primal);
    let ssa = callees.ssa(&primal)?;
    let functions = |c: &Arc<FunctionKey>| callees.ssa(c);
    let derived = ensure_sufficient_stack(|| match user_rules(bodies, callees, &primal, last).as_slice() {
        [] => ad::derive(&ssa, last, &functions, hits),
        rules => rules.iter().find_map(|rule| ad::rule::derive(&ssa, rule, last, &functions, hits)),
    });
    let derived = derived.map(SsaWithOrigins::new)?;
    debug_assert_valid("ad", &derived.ssa, StatementOrder::Dominance, &functions);
    Some(derived)
}

/// Returns the user-written rules that can differentiate a definition, the preferred one first. The
/// second is the rule of the other kind: its transpose serves if the first is missing or has no
/// Tensor SSA.
///
/// A rule of a generic definition types the tangent of an `a` as an `a`, which holds for reals
/// alone. So every type argument must be a real scalar. A definition that takes functions becomes a
/// local function at each application, so it has the rule of a local function.
fn user_rules(
    bodies: &dyn ElabQueries,
    callees: &dyn CalleeForms,
    of: &Arc<FunctionKey>,
    derivation: &DerivativeKind,
) -> Vec<ad::rule::CustomRule> {
    let real = |t: &Type| matches!(t, Type::Scalar(Scalar::F64 | Scalar::F32));
    if !of.derivatives.is_empty() {
        return Vec::new();
    }
    let written = |kind| {
        let callee = match of.local {
            Some(local) => {
                let definition = callees.core(of).ok()?.rule_of.clone()?;
                bodies.rule(&definition, kind)?;
                of.local_rule(local, kind)
            }
            None if of.rules.is_empty() && of.runtime_request.is_none() && of.types.iter().all(real) => {
                FunctionKey { def: bodies.rule(&of.def, kind)?, ..(**of).clone() }
            }
            None => return None,
        };
        Some(ad::rule::CustomRule { kind, callee: Arc::new(callee) })
    };
    let (first, second) = match derivation {
        DerivativeKind::Forward(_) => (RuleKind::Derivative, RuleKind::Adjoint),
        DerivativeKind::Adjoint { .. } => (RuleKind::Adjoint, RuleKind::Derivative),
    };
    [first, second].into_iter().filter_map(written).collect()
}

/// Marks as bounded the integer parameters that a function passes to bounded parameters of a
/// callee. A bounded parameter occurs in index expressions. An inlined call moves those into the
/// caller.
fn propagate_bounded(e: &ExprRef, callees: &dyn CalleeForms, ssa: &mut SsaFunction) {
    if let ExprKind::Call(callee, _, args) = &e.kind
        && args.iter().any(|arg| matches!(arg.kind, ExprKind::Index(_)))
        && let Some(called) = callees.ssa(callee)
    {
        let bounded = called.params.iter().zip(args).filter(|((local, _), _)| called.bounded.contains(local));
        for (_, arg) in bounded {
            let ExprKind::Index(p) = &arg.kind else { continue };
            p.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a
                    && ssa.params.iter().any(|(param, _)| param == l)
                {
                    ssa.bounded.insert(*l);
                }
            });
        }
    }
    e.for_each_child(&mut |e| ensure_sufficient_stack(|| propagate_bounded(e, callees, ssa)));
}

/// Returns the callees of a function, with the span of each call. The body of a loop counts as one.
#[must_use]
pub fn collect_calls(function: &CoreFunction) -> Vec<(Arc<FunctionKey>, Span)> {
    fn visit_calls(e: &ExprRef, found: &mut Vec<(Arc<FunctionKey>, Span)>) {
        match &e.kind {
            ExprKind::Call(callee, ..) => found.push((callee.clone(), e.span)),
            ExprKind::Loop(repeat, _) => found.push((repeat.body.clone(), e.span)),
            _ => {}
        }
        e.for_each_child(&mut |e| ensure_sufficient_stack(|| visit_calls(e, found)));
    }
    let mut found = Vec::new();
    visit_calls(&function.body, &mut found);
    found
}

/// Returns the error of a callee that calls itself, directly or not.
#[must_use]
pub fn recursion_error(callee: &FunctionKey) -> Box<NoCoreForm> {
    unsupported_error(callee, NoCoreFormReason::Recursion)
}

fn unsupported_error(callee: &FunctionKey, reason: NoCoreFormReason) -> Box<NoCoreForm> {
    Box::new(NoCoreForm { reason, item: callee.def.clone(), span: Span::default() })
}

/// **Memoised** [`CalleeForms`] for one revision. Computes each form at its first use. A form in
/// progress reads as missing, so recursion becomes an error and not an endless computation.
pub struct MemoisedForms<'a> {
    bodies: &'a dyn ElabQueries,
    core: RefCell<HashMap<FunctionKey, CoreResult>>,
    stages: RefCell<HashMap<FunctionKey, Option<StagesResult>>>,
    derived: RefCell<HashMap<FunctionKey, Option<SsaWithOrigins>>>,
    hits: RefCell<RuleCoverage>,
}

impl<'a> MemoisedForms<'a> {
    /// Creates an empty cache over these bodies.
    #[must_use]
    pub fn new(bodies: &'a dyn ElabQueries) -> Self {
        let (core, stages, derived) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { bodies, core, stages, derived, hits: RefCell::default() }
    }

    /// Returns how often each rewrite rule has been applied.
    #[must_use]
    pub fn rule_coverage(&self) -> RuleCoverage {
        self.hits.borrow().clone()
    }

    /// Returns a definition in all its forms.
    ///
    /// # Errors
    /// The construct without a core form, in the definition or in a function that it calls.
    pub fn stages(&self, callee: &Arc<FunctionKey>) -> StagesResult {
        CalleeForms::stages(self, callee)
    }

    /// Returns the Tensor SSA of a definition or derivative, or `None` if it has none.
    #[must_use]
    pub fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        CalleeForms::ssa(self, callee)
    }

    /// Returns the Tensor SSA of a definition or derivative with the origins of its statements, or
    /// `None` if it has none.
    #[must_use]
    pub fn ssa_with_origins(&self, callee: &Arc<FunctionKey>) -> Option<SsaWithOrigins> {
        if let Some(known) = self.derived.borrow().get(&**callee) {
            return known.clone();
        }
        if callee.derivatives.is_empty() {
            return derive_with_origins(self.bodies, self, callee, &mut RuleCoverage::default());
        }
        self.derived.borrow_mut().insert((**callee).clone(), None);
        let mut hits = RuleCoverage::default();
        let result = ensure_sufficient_stack(|| derive_with_origins(self.bodies, self, callee, &mut hits));
        self.hits.borrow_mut().merge(&hits);
        self.derived.borrow_mut().insert((**callee).clone(), result.clone());
        result
    }
}

impl CalleeForms for MemoisedForms<'_> {
    fn core(&self, callee: &Arc<FunctionKey>) -> CoreResult {
        if let Some(known) = self.core.borrow().get(&**callee) {
            return known.clone();
        }
        let result = core_form(self.bodies, self, callee);
        self.core.borrow_mut().insert((**callee).clone(), result.clone());
        result
    }

    fn stages(&self, callee: &Arc<FunctionKey>) -> StagesResult {
        if let Some(known) = self.stages.borrow().get(&**callee) {
            return known.clone().unwrap_or_else(|| Err(recursion_error(callee)));
        }
        self.stages.borrow_mut().insert((**callee).clone(), None);
        let mut hits = RuleCoverage::default();
        let result = ensure_sufficient_stack(|| lower(self.bodies, self, callee, &mut hits));
        self.hits.borrow_mut().merge(&hits);
        self.stages.borrow_mut().insert((**callee).clone(), Some(result.clone()));
        result
    }

    fn has_stages(&self, callee: &Arc<FunctionKey>) -> Result<(), Box<NoCoreForm>> {
        self.stages(callee).map(|_| ())
    }

    fn ssa(&self, callee: &Arc<FunctionKey>) -> Option<Arc<SsaFunction>> {
        Some(self.ssa_with_origins(callee)?.ssa)
    }
}
