//! The passes in their order, each form kept, verified between: from a definition to Tensor SSA, with all that
//! it calls.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::ad;
use crate::base::Span;
use crate::interp::guarded;
use crate::ir::core::{Callee, Derivation, E, Function, Kind, Outside, Reason};
use crate::ir::flat::Flat;
use crate::ir::ssa::Ssa;
use crate::norm::hits::Hits;
use crate::norm::{Bodies, Rule, elaborate, lift, pairs, pushout, to_ssa};
use crate::syntax::ops::Scalar;
use crate::types::ty::Type;

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
    derived: RefCell<HashMap<Callee, Option<Arc<Ssa>>>>,
    hits: RefCell<Hits>,
}

impl<'a> Module<'a> {
    /// None so far.
    #[must_use]
    pub fn new(bodies: &'a dyn Bodies) -> Self {
        Self { bodies, known: RefCell::default(), derived: RefCell::default(), hits: RefCell::default() }
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
        if callee.local.is_some() {
            // It is made with the definition that it stands in.
            self.stages(&Arc::new(callee.definition()))?;
            let known = self.known.borrow().get(&**callee).cloned().flatten();
            return known.unwrap_or_else(|| Err(outside(callee, Reason::Derivative)));
        }
        self.known.borrow_mut().insert((**callee).clone(), None);
        let made = guarded(|| self.make(callee));
        self.known.borrow_mut().insert((**callee).clone(), Some(made.clone()));
        made
    }

    /// A definition, or a derivative of one, in Tensor SSA; `None` where it has no such form.
    #[must_use]
    pub fn ssa(&self, callee: &Arc<Callee>) -> Option<Arc<Ssa>> {
        let Some((last, before)) = callee.derived.split_last() else {
            return Some(self.stages(callee).ok()?.ssa.clone());
        };
        if let Some(known) = self.derived.borrow().get(&**callee) {
            return known.clone();
        }
        // A rule that takes the derivative of its own definition has none.
        self.derived.borrow_mut().insert((**callee).clone(), None);
        let of = Arc::new(Callee { derived: before.into(), ..(**callee).clone() });
        let derived = self.ssa(&of).and_then(|ssa| {
            let mut hits = Hits::default();
            let functions = |c: &Arc<Callee>| self.ssa(c);
            let derived = guarded(|| match self.rule(&of, last) {
                Some(rule) => ad::rule::derive(&ssa, &rule, last, &functions, &mut hits),
                None => ad::derive(&ssa, last, &functions, &mut hits),
            });
            self.hits.borrow_mut().add(&hits);
            derived.map(Arc::new)
        });
        self.derived.borrow_mut().insert((**callee).clone(), derived.clone());
        derived
    }

    /// The rule by which a definition is differentiated: the one for this derivative, else the other, whose
    /// transpose it is. In a rule the tangent of an `a` is an `a`, which is so of reals alone.
    fn rule(&self, of: &Callee, derivation: &Derivation) -> Option<ad::rule::Rule> {
        let real = |t: &Type| matches!(t, Type::Scalar(Scalar::F64 | Scalar::F32));
        if of.local.is_some() || !of.derived.is_empty() || !of.types.iter().all(real) {
            return None;
        }
        let written = |kind| {
            let def = self.bodies.rule(&of.def, kind)?;
            Some(ad::rule::Rule { kind, callee: Arc::new(Callee { def, ..of.clone() }) })
        };
        let (first, second) = match derivation {
            Derivation::Forward(_) => (Rule::Derivative, Rule::Adjoint),
            Derivation::Adjoint { .. } => (Rule::Adjoint, Rule::Derivative),
        };
        written(first).or_else(|| written(second))
    }

    fn make(&self, callee: &Arc<Callee>) -> Known {
        let core = Arc::new(elaborate(self.bodies, callee)?);
        for local in &core.locals {
            let made = self.normalised(local);
            self.known.borrow_mut().insert((*local.callee).clone(), Some(made));
        }
        self.normalised(&core)
    }

    /// The forms that core goes through.
    fn normalised(&self, core: &Arc<Function>) -> Known {
        let mut callees = Vec::new();
        calls(&core.body, &mut callees);
        for (called, span) in callees {
            self.stages(&Arc::new(Callee { derived: Arc::from([]), ..(*called).clone() }))?;
            if self.ssa(&called).is_none() {
                let item = core.callee.def.clone();
                return Err(Box::new(Outside { what: Reason::Derivative, item, span }));
            }
        }
        let hits = &mut *self.hits.borrow_mut();
        let lifted = lift::lift(core, hits);
        debug_assert!(lift::is_lifted(&lifted.body), "lifted: {lifted}");
        let pairs = pairs::eliminate(&lifted, hits);
        debug_assert!(pairs::is_flat(&pairs), "pairs: {pairs}");
        let pushed = pushout::push_out(&pairs, hits);
        debug_assert!(pushout::is_pushed(&pushed), "pushed: {pushed}");
        let known = |callee: &Arc<Callee>| match self.known.borrow().get(&**callee) {
            Some(Some(Ok(stages))) => Some(stages.ssa.clone()),
            _ => self.derived.borrow().get(&**callee).cloned().flatten(),
        };
        let mut ssa = to_ssa::to_ssa(&pushed, &known, hits);
        ssa.opaque = core.callee.local.is_none() && self.bodies.has_rule(&core.callee.def);
        Ok(Arc::new(Stages {
            core: Arc::clone(core),
            lifted: Arc::new(lifted),
            pairs: Arc::new(pairs),
            pushed: Arc::new(pushed),
            ssa: Arc::new(ssa),
        }))
    }
}

/// What an expression calls, and where.
fn calls(e: &E, found: &mut Vec<(Arc<Callee>, Span)>) {
    if let Kind::Call(callee, ..) = &e.kind {
        found.push((callee.clone(), e.span));
    }
    e.for_each_child(&mut |e| guarded(|| calls(e, found)));
}

fn outside(callee: &Callee, what: Reason) -> Box<Outside> {
    Box::new(Outside { what, item: callee.def.clone(), span: Span::default() })
}
