//! **Pass pipeline.** Lowers a definition through every form to Tensor SSA, and derives the Tensor
//! SSA of its derivatives.
//!
//! Callees take the same way on their own, through [`Callees`]. A session implements the trait as
//! incremental queries. It lowers a definition once, and again only after an edit that reaches the
//! definition. [`Module`] implements the trait for one revision and also counts the applied rewrite
//! rules. Debug builds assert the normal form of three of the stages: lifted, without tuples, and
//! pushed out.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::ad;
use crate::norm::hits::Hits;
use crate::norm::{Bodies, Rule, elaborate, lift, pairs, pushout, to_ssa};
use lang_base::Span;
use lang_base::guarded;
use lang_ir::core::{Callee, Derivation, E, Function, Kind, Outside, Reason};
use lang_ir::flat::Flat;
use lang_ir::origin::Origins;
use lang_ir::ssa::Ssa;
use lang_sizes::predicate::Atom;
use lang_syntax::ops::Scalar;
use lang_types::ty::Type;

/// A definition in all its intermediate forms.
#[derive(Clone, PartialEq, Debug)]
pub struct Stages {
    /// The core form (ATL Fig. 3).
    pub core: Arc<Function>,
    /// The form with every `let` outermost (Fig. 7).
    pub lifted: Arc<Function>,
    /// The form without tuples (Fig. 8).
    pub pairs: Arc<Flat>,
    /// The form with generation outermost (Fig. 9).
    pub pushed: Arc<Flat>,
    /// Tensor SSA (Figs. 10-12).
    pub ssa: Arc<Ssa>,
    /// The source origins of the statements of `ssa`.
    pub origins: Arc<Origins>,
}

/// A function or a derivative in Tensor SSA, with the origins of its statements.
#[derive(Clone, PartialEq, Debug)]
pub struct Traced {
    /// The function.
    pub ssa: Arc<Ssa>,
    /// The source origins of its statements.
    pub origins: Arc<Origins>,
}

impl Traced {
    fn new((ssa, origins): (Ssa, Origins)) -> Self {
        Self { ssa: Arc::new(ssa), origins: Arc::new(origins) }
    }
}

/// The core form, or the reason why the definition has none.
pub type InCore = Result<Arc<Function>, Box<Outside>>;

/// All forms, or the reason why the definition has none.
pub type InStages = Result<Arc<Stages>, Box<Outside>>;

/// A provider of the forms of callees.
pub trait Callees {
    /// Returns the core form of a definition, or of a local function of one.
    ///
    /// # Errors
    /// The construct without a core form.
    fn core(&self, callee: &Arc<Callee>) -> InCore;

    /// Returns every form of a definition, or of a local function of one.
    ///
    /// # Errors
    /// The construct without a core form, in the callee or in a function that it calls.
    fn stages(&self, callee: &Arc<Callee>) -> InStages;

    /// Checks that a callee has every form.
    ///
    /// # Errors
    /// As [`Callees::stages`]. A query that calls only this does not depend on the contents of the
    /// forms.
    fn has_stages(&self, callee: &Arc<Callee>) -> Result<(), Box<Outside>>;

    /// Returns the Tensor SSA of a callee, which may be a derivative, or `None` if it has none.
    fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>>;

    /// Whether to inline larger callees than usual, because a reader wants to see their bodies.
    fn in_place(&self) -> bool {
        false
    }
}

/// Returns the core form of a callee that is not a derivative.
///
/// # Errors
/// The construct without a core form.
pub fn core(bodies: &dyn Bodies, callees: &dyn Callees, callee: &Arc<Callee>) -> InCore {
    let Some(local) = callee.local else {
        return guarded(|| elaborate(bodies, callee)).map(Arc::new);
    };
    // Elaboration of the enclosing definition also produces its local functions.
    let definition = callees.core(&Arc::new(callee.definition()))?;
    let local = definition.locals.get(local as usize).cloned();
    local.ok_or_else(|| outside(callee, Reason::Derivative))
}

/// Lowers the core form of a callee through all later forms.
///
/// # Errors
/// The construct without a core form, in the callee or in a function that it calls.
pub fn stages(bodies: &dyn Bodies, callees: &dyn Callees, callee: &Arc<Callee>, hits: &mut Hits) -> InStages {
    let core = callees.core(callee)?;
    for (called, span) in calls(&core) {
        callees.has_stages(&Arc::new(Callee { derived: Arc::from([]), ..(*called).clone() }))?;
        if callees.ssa(&called).is_none() {
            let item = core.callee.def.clone();
            return Err(Box::new(Outside { what: Reason::Derivative, item, span }));
        }
    }
    guarded(|| {
        let lifted = lift::lift(&core, hits);
        debug_assert!(lift::is_lifted(&lifted.body), "lifted: {lifted}");
        let pairs = pairs::eliminate(&lifted, hits);
        debug_assert!(pairs::is_flat(&pairs), "pairs: {pairs}");
        let pushed = pushout::push_out(&pairs, hits);
        debug_assert!(pushout::is_pushed(&pushed), "pushed: {pushed}");
        let (mut ssa, origins) = to_ssa::to_ssa(&pushed, &|c| callees.ssa(c), callees.in_place(), hits);
        passed_on(&core.body, callees, &mut ssa);
        ssa.opaque = match callee.local {
            Some(_) => core.rule_of.is_some(),
            None => callee.rules.is_empty() && callee.applied.is_none() && bodies.has_rule(&callee.def),
        };
        let (lifted, pairs, pushed) = (Arc::new(lifted), Arc::new(pairs), Arc::new(pushed));
        let (ssa, origins) = (Arc::new(ssa), Arc::new(origins));
        Ok(Arc::new(Stages { core, lifted, pairs, pushed, ssa, origins }))
    })
}

/// Returns the Tensor SSA of a callee and the origins of its statements. Differentiates the primal
/// if the callee is a derivative. Returns `None` if a form or the derivative does not exist.
#[must_use]
pub fn traced(bodies: &dyn Bodies, callees: &dyn Callees, callee: &Arc<Callee>, hits: &mut Hits) -> Option<Traced> {
    let (Some(last), Some(of)) = (callee.derived.last(), callee.primal()) else {
        let stages = callees.stages(callee).ok()?;
        return Some(Traced { ssa: stages.ssa.clone(), origins: stages.origins.clone() });
    };
    let of = Arc::new(of);
    let ssa = callees.ssa(&of)?;
    let functions = |c: &Arc<Callee>| callees.ssa(c);
    let derived = guarded(|| match rules(bodies, callees, &of, last).as_slice() {
        [] => ad::derive(&ssa, last, &functions, hits),
        rules => rules.iter().find_map(|rule| ad::rule::derive(&ssa, rule, last, &functions, hits)),
    });
    derived.map(Traced::new)
}

/// Returns the user-written rules that can differentiate a definition, the preferred one first. The
/// second is the rule of the other kind: its transpose serves if the first is missing or has no
/// Tensor SSA.
///
/// A rule types the tangent of an `a` as an `a`, which holds for reals alone. So every type
/// argument must be a real scalar. A definition that takes functions is a local function at each
/// application, so the first branch handles it.
fn rules(bodies: &dyn Bodies, callees: &dyn Callees, of: &Arc<Callee>, derivation: &Derivation) -> Vec<ad::rule::Rule> {
    let real = |t: &Type| matches!(t, Type::Scalar(Scalar::F64 | Scalar::F32));
    if !of.derived.is_empty() {
        return Vec::new();
    }
    let written = |kind| {
        let callee = match of.local {
            Some(local) => {
                let definition = callees.core(of).ok()?.rule_of.clone()?;
                bodies.rule(&definition, kind)?;
                of.local_rule(local, kind)
            }
            None if of.rules.is_empty() && of.applied.is_none() && of.types.iter().all(real) => {
                Callee { def: bodies.rule(&of.def, kind)?, ..(**of).clone() }
            }
            None => return None,
        };
        Some(ad::rule::Rule { kind, callee: Arc::new(callee) })
    };
    let (first, second) = match derivation {
        Derivation::Forward(_) => (Rule::Derivative, Rule::Adjoint),
        Derivation::Adjoint { .. } => (Rule::Adjoint, Rule::Derivative),
    };
    [first, second].into_iter().filter_map(written).collect()
}

/// Marks as bounded the integer parameters that a function passes on to bounded parameters of a
/// callee. They appear in indices here too, because the call may be inlined.
fn passed_on(e: &E, callees: &dyn Callees, ssa: &mut Ssa) {
    if let Kind::Call(callee, _, args) = &e.kind
        && args.iter().any(|arg| matches!(arg.kind, Kind::Index(_)))
        && let Some(called) = callees.ssa(callee)
    {
        let bounded = called.params.iter().zip(args).filter(|((local, _), _)| called.bounded.contains(local));
        for (_, arg) in bounded {
            let Kind::Index(p) = &arg.kind else { continue };
            p.for_each_atom(&mut |a| {
                if let Atom::Local(l, _) = a
                    && ssa.params.iter().any(|(param, _)| param == l)
                {
                    ssa.bounded.insert(*l);
                }
            });
        }
    }
    e.for_each_child(&mut |e| guarded(|| passed_on(e, callees, ssa)));
}

/// Returns the callees of a function, with the span of each call. The body of a loop counts as one.
#[must_use]
pub fn calls(function: &Function) -> Vec<(Arc<Callee>, Span)> {
    fn inside(e: &E, found: &mut Vec<(Arc<Callee>, Span)>) {
        match &e.kind {
            Kind::Call(callee, ..) => found.push((callee.clone(), e.span)),
            Kind::Loop(repeat, _) => found.push((repeat.body.clone(), e.span)),
            _ => {}
        }
        e.for_each_child(&mut |e| guarded(|| inside(e, found)));
    }
    let mut found = Vec::new();
    inside(&function.body, &mut found);
    found
}

/// Returns the error of a callee that calls itself, directly or not.
#[must_use]
pub fn recursive(callee: &Callee) -> Box<Outside> {
    outside(callee, Reason::Recursion)
}

fn outside(callee: &Callee, what: Reason) -> Box<Outside> {
    Box::new(Outside { what, item: callee.def.clone(), span: Span::default() })
}

/// **Memoised** [`Callees`] for one revision. Computes each form at its first use. A form in
/// progress reads as missing, which is how recursion is detected.
pub struct Module<'a> {
    bodies: &'a dyn Bodies,
    core: RefCell<HashMap<Callee, InCore>>,
    stages: RefCell<HashMap<Callee, Option<InStages>>>,
    derived: RefCell<HashMap<Callee, Option<Traced>>>,
    hits: RefCell<Hits>,
}

impl<'a> Module<'a> {
    /// Creates an empty cache over these bodies.
    #[must_use]
    pub fn new(bodies: &'a dyn Bodies) -> Self {
        let (core, stages, derived) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { bodies, core, stages, derived, hits: RefCell::default() }
    }

    /// Returns how often each rewrite rule has been applied.
    #[must_use]
    pub fn hits(&self) -> Hits {
        self.hits.borrow().clone()
    }

    /// Returns a definition in all its forms.
    ///
    /// # Errors
    /// The construct without a core form, in the definition or in a function that it calls.
    pub fn stages(&self, callee: &Arc<Callee>) -> InStages {
        Callees::stages(self, callee)
    }

    /// Returns the Tensor SSA of a definition or derivative, or `None` if it has none.
    #[must_use]
    pub fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        Callees::ssa(self, callee)
    }

    /// Returns the Tensor SSA of a definition or derivative with the origins of its statements, or
    /// `None` if it has none.
    #[must_use]
    pub fn traced(&self, callee: &Arc<Callee>) -> Option<Traced> {
        if let Some(known) = self.derived.borrow().get(&**callee) {
            return known.clone();
        }
        if callee.derived.is_empty() {
            return traced(self.bodies, self, callee, &mut Hits::default());
        }
        self.derived.borrow_mut().insert((**callee).clone(), None);
        let mut hits = Hits::default();
        let made = guarded(|| traced(self.bodies, self, callee, &mut hits));
        self.hits.borrow_mut().add(&hits);
        self.derived.borrow_mut().insert((**callee).clone(), made.clone());
        made
    }
}

impl Callees for Module<'_> {
    fn core(&self, callee: &Arc<Callee>) -> InCore {
        if let Some(known) = self.core.borrow().get(&**callee) {
            return known.clone();
        }
        let made = core(self.bodies, self, callee);
        self.core.borrow_mut().insert((**callee).clone(), made.clone());
        made
    }

    fn stages(&self, callee: &Arc<Callee>) -> InStages {
        if let Some(known) = self.stages.borrow().get(&**callee) {
            return known.clone().unwrap_or_else(|| Err(recursive(callee)));
        }
        self.stages.borrow_mut().insert((**callee).clone(), None);
        let mut hits = Hits::default();
        let made = guarded(|| stages(self.bodies, self, callee, &mut hits));
        self.hits.borrow_mut().add(&hits);
        self.stages.borrow_mut().insert((**callee).clone(), Some(made.clone()));
        made
    }

    fn has_stages(&self, callee: &Arc<Callee>) -> Result<(), Box<Outside>> {
        self.stages(callee).map(|_| ())
    }

    fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        Some(self.traced(callee)?.ssa)
    }
}
