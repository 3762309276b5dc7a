//! **Costs by place.** Attributes each term of a definition's cost to a place in its text. Also
//! warns about an adjoint whose cost is not bounded by a multiple of its function's, at the place
//! that causes it.

use std::collections::HashSet;
use std::sync::Arc;

use super::within::Within;
use super::{Session, queries};
use lang_base::{Code, Diagnostic, GlobalName, Label, Span};
use lang_ir::core::{Callee, Derivation};
use lang_ir::origin::Ancestor;
use lang_ir::ssa::{Ssa, Var};
use lang_middle::ad::{real_inputs, real_outputs};
use lang_middle::cost::{Amount, Cost, Place, number};
use lang_middle::norm::{Bodies, Rule};
use lang_sizes::certify::{Sizes, Verdict};
use lang_sizes::count::Formula;
use lang_sizes::predicate::{Atom, Context};
use lang_source::shown_callee;
use lang_syntax::split::ItemKind;
use lang_types::tree::Body;
use lang_types::ty::Signature;

/// The cost of a place in a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// The place in the text of the definition, or of a rule by which it is differentiated. A
    /// condition checked in a callee has its place there. `None` if no text corresponds.
    pub place: Option<(GlobalName, Span)>,
    /// The cost of all statements that originate there.
    pub amount: Amount,
}

impl Session {
    /// Returns the forward derivative and the adjoint of a definition by all its real inputs;
    /// `None` if no input or no output is real.
    #[must_use]
    pub fn derivatives(&self, callee: &Arc<Callee>) -> Option<[Arc<Callee>; 2]> {
        let ssa = self.ssa(callee)?;
        let (wrt, of) = (real_inputs(&ssa), real_outputs(&ssa));
        let adjoint = Derivation::Adjoint { of: of.clone().into(), wrt: wrt.clone().into() };
        let both = [Derivation::Forward(wrt.clone().into()), adjoint];
        (!wrt.is_empty() && !of.is_empty()).then(|| both.map(|d| Arc::new(callee.derive(d))))
    }

    /// Returns the cost of a definition or of a derivative by the places of the definition, in the
    /// order of the text.
    #[must_use]
    pub fn terms(&self, callee: &Arc<Callee>) -> Vec<Term> {
        let Some(cost) = self.cost(callee) else { return Vec::new() };
        let mut all: Vec<Term> = Vec::new();
        for (place, amount) in &cost.parts {
            let place = match place {
                Place::Statement(var) => self.place(callee, *var, &|of| is_rule(of, &callee.def)),
                Place::Check(check) => self.checked_at(callee, *check),
            };
            match all.iter_mut().find(|t| t.place == place) {
                Some(term) => term.amount = term.amount.add(amount),
                None => all.push(Term { place, amount: amount.clone() }),
            }
        }
        let in_rule = |item: &GlobalName| *item != callee.def;
        all.sort_by_key(|t| t.place.as_ref().map(|(item, s)| (in_rule(item), s.start, s.end)));
        all
    }

    /// Returns the Tensor SSA and the cost of the body of an input. The cost is in terms of
    /// top-level `let`s.
    #[must_use]
    pub fn cost_of_body(&self, name: &GlobalName, body: &Arc<Body>) -> Option<(Arc<Ssa>, Arc<Cost>)> {
        let result = body.nodes[body.root?].ty.clone();
        let signature = Signature { type_params: Vec::new(), sizes: Vec::new(), params: Vec::new(), result };
        let callee = Arc::new(Callee::new(name.clone(), Vec::new()));
        Within::new(&self.db, name.clone(), Arc::clone(body), Arc::new(signature)).cost(&callee)
    }

    /// Returns the warnings about the adjoints of a module's definitions, in the form of
    /// [`Self::diagnostics`].
    #[must_use]
    pub fn grad_costs(&self, module: &str) -> Vec<Diagnostic> {
        let defs = self.items(module).into_iter().filter(|i| i.kind == ItemKind::Def);
        let mut all: Vec<Diagnostic> = defs.filter_map(|def| self.grad_cost(&def.global)).collect();
        // A place that several definitions share is reported once.
        let mut told = HashSet::new();
        all.retain(|d| told.insert(d.span));
        all.sort_by_key(|d| (d.span.start, d.span.end));
        all
    }

    fn grad_cost(&self, def: &GlobalName) -> Option<Diagnostic> {
        let callee = shown_callee(&super::forms::Forms { db: &self.db }, def)?;
        let [_, adjoint] = self.derivatives(&callee)?;
        let bound = self.bound(&adjoint)?;
        let Verdict::Refuted { witness, term } = &bound.certificate.verdict else { return None };
        let at = witness.last()?;
        let item = self.find(def)?;
        let start = self.item(def)?.start;
        let name = queries::name_span(&self.db, item).shift(start);
        let var = dearest(&*self.cost(&adjoint)?, &at.sizes)?;
        let place = self.place(&adjoint, var, &|_| true).filter(|(item, _)| item.module == def.module);
        let span = place.and_then(|(item, span)| Some(span.shift(self.item(&item)?.start)));
        let short = &def.name;
        let message = format!("the adjoint of `{short}` grows beyond every multiple of `{short}`");
        let formula = |f: &Formula| f.shown(&Context::new(bound.question().known), &bound.names);
        let grows = format!("as {} does", formula(&term.clone().into()));
        let mut d = Diagnostic::new(Code::W0700, span.unwrap_or(name), message);
        match span {
            Some(_) => {
                let primal = self.cost(&callee)?;
                d.label = format!("this grows {grows}");
                let message = format!("`{short}` costs {}", formula(&primal.total.work));
                d.related.push(Label { span: name, message, module: None });
            }
            None => d.label = format!("it grows {grows}"),
        }
        let sizes: Vec<String> = at.sizes.iter().map(|(a, n)| bound.names.value(a, *n)).collect();
        let numbers = format!("at {} it costs {}, the function {}", sizes.join(", "), at.derived, at.primal);
        Some(d.help(format!("{numbers}, inputs and outputs included; `iverson cost` tells the formulas")))
    }

    /// Returns the place of a check.
    fn checked_at(&self, callee: &Arc<Callee>, check: u32) -> Option<(GlobalName, Span)> {
        let ssa = self.ssa(callee)?;
        let what = &ssa.checks.get(check as usize)?.what;
        let body = Bodies::body(self, &what.item)?;
        let node = what.node.filter(|node| node.index() < body.nodes.len())?;
        Some((what.item.clone(), body.nodes[node].span))
    }

    /// Returns all places of the program from which a statement originates, each with its item.
    #[must_use]
    pub fn places(&self, callee: &Arc<Callee>, var: Var) -> Vec<(GlobalName, Span)> {
        let (mut open, mut found) = (vec![(Arc::clone(callee), var)], Vec::new());
        let mut seen = HashSet::new();
        while let Some((callee, var)) = open.pop() {
            if !seen.insert((Arc::clone(&callee), var)) {
                continue;
            }
            let Some(traced) = self.traced(&callee) else { continue };
            for origin in traced.origins.of(var) {
                match origin.ancestor {
                    Ancestor::Text(span) => found.push((callee.def.clone(), span)),
                    Ancestor::Statement(of, _) => open.extend(callee.primal().map(|primal| (Arc::new(primal), of))),
                    Ancestor::Input => {}
                }
            }
        }
        found.sort_unstable_by_key(|(_, span)| (span.start, span.end));
        found.dedup();
        found.retain(|(_, span)| span.start < span.end);
        found
    }

    /// Returns the place that a statement represents. For a statement inlined from a callee that
    /// `inside` rejects, it is the call.
    pub(super) fn place(
        &self,
        callee: &Arc<Callee>,
        var: Var,
        inside: &dyn Fn(&Callee) -> bool,
    ) -> Option<(GlobalName, Span)> {
        let (mut callee, mut var) = (Arc::clone(callee), var);
        loop {
            let traced = self.traced(&callee)?;
            let origin = traced.origins.of(var).find(|o| o.ancestor != Ancestor::Input)?;
            if let Some((of, inner)) = traced.origins.inlined(origin).filter(|(of, _)| inside(of)) {
                (callee, var) = (Arc::clone(of), inner);
                continue;
            }
            match origin.ancestor {
                Ancestor::Text(span) => return Some((callee.def.clone(), span)),
                Ancestor::Input => return None,
                Ancestor::Statement(of, _) => (callee, var) = (Arc::new(callee.primal()?), of),
            }
        }
    }
}

/// Returns whether it is a rule by which the definition is differentiated.
pub(super) fn is_rule(callee: &Callee, def: &GlobalName) -> bool {
    callee.def.module == def.module && Rule::named(&callee.def.name).is_some_and(|(_, of)| of == &*def.name)
}

/// Returns the statement with the highest cost at these sizes.
fn dearest(cost: &Cost, sizes: &Sizes) -> Option<Var> {
    let mut size = |a: &Atom| match number(a) {
        Some(_) => None,
        None => Some(sizes.iter().find(|(b, _)| a == b).map_or(1, |(_, n)| *n)),
    };
    let statements = cost.parts.iter().filter_map(|(place, amount)| match place {
        Place::Statement(var) => Some((*var, amount.work.eval(&mut size)?)),
        Place::Check(_) => None,
    });
    // Ties go to the first.
    statements.max_by_key(|(var, work)| (*work, std::cmp::Reverse(*var))).map(|(var, _)| var)
}
