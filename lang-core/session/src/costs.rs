//! **Costs by place.** Attributes each term of a definition's cost to a place in its text. Also
//! warns about an adjoint whose cost is not bounded by a multiple of its function's, at the place
//! that causes it.

use std::collections::HashSet;
use std::sync::Arc;

use super::overlay::OverlayProgram;
use super::{Session, queries};
use lang_base::{Code, Diagnostic, GlobalName, RelatedLabel, Span};
use lang_ir::core::{DerivativeKind, FunctionKey};
use lang_ir::origin::OriginKind;
use lang_ir::ssa::{SsaFunction, StmtId};
use lang_middle::ad::{real_inputs, real_outputs};
use lang_middle::cost::{Amount, CostFormulas, CostSite, symbol_number};
use lang_middle::norm::{ElabQueries, RuleKind};
use lang_sizes::certify::{CertificateVerdict, SizeAssignment};
use lang_sizes::count::Formula;
use lang_sizes::predicate::{Atom, FactContext};
use lang_source::callee_at_f64;
use lang_syntax::split::ItemKind;
use lang_types::tree::TypedBody;
use lang_types::ty::Signature;

/// The cost of a place in a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CostTerm {
    /// The place in the text of the definition, or of a rule by which it is differentiated. A
    /// condition checked in a callee has its place there. `None` if no text corresponds.
    pub location: Option<(GlobalName, Span)>,
    /// The cost of all statements that originate there.
    pub amount: Amount,
}

impl Session {
    /// Returns the forward derivative and the adjoint of a definition by all its real inputs;
    /// `None` if no input or no output is real.
    #[must_use]
    pub fn derivatives(&self, callee: &Arc<FunctionKey>) -> Option<[Arc<FunctionKey>; 2]> {
        let ssa = self.ssa(callee)?;
        let (wrt, of) = (real_inputs(&ssa), real_outputs(&ssa));
        let adjoint = DerivativeKind::Adjoint { outputs: of.clone().into(), wrt: wrt.clone().into() };
        let both = [DerivativeKind::Forward(wrt.clone().into()), adjoint];
        (!wrt.is_empty() && !of.is_empty()).then(|| both.map(|d| Arc::new(callee.derivative(d))))
    }

    /// Returns the cost of a definition or of a derivative by the places of the definition, in the
    /// order of the text.
    #[must_use]
    pub fn terms(&self, callee: &Arc<FunctionKey>) -> Vec<CostTerm> {
        let Some(cost) = self.cost(callee) else { return Vec::new() };
        let mut all: Vec<CostTerm> = Vec::new();
        for (place, amount) in &cost.statement_amounts {
            let place = match place {
                CostSite::Statement(var) => self.attributed_span(callee, *var, &|of| is_rule(of, &callee.def)),
                CostSite::Check(check) => self.check_span(callee, *check),
            };
            match all.iter_mut().find(|t| t.location == place) {
                Some(term) => term.amount = term.amount.add(amount),
                None => all.push(CostTerm { location: place, amount: amount.clone() }),
            }
        }
        let in_rule = |item: &GlobalName| *item != callee.def;
        all.sort_by_key(|t| t.location.as_ref().map(|(item, s)| (in_rule(item), s.start, s.end)));
        all
    }

    /// Returns the Tensor SSA and the cost of the body of an input. The cost is in terms of
    /// top-level `let`s.
    #[must_use]
    pub fn cost_of_body(
        &self,
        name: &GlobalName,
        body: &Arc<TypedBody>,
    ) -> Option<(Arc<SsaFunction>, Arc<CostFormulas>)> {
        let result = body.nodes[body.root?].ty.clone();
        let signature = Signature { type_params: Vec::new(), sizes: Vec::new(), params: Vec::new(), result };
        let callee = Arc::new(FunctionKey::new(name.clone(), Vec::new()));
        OverlayProgram::new(&self.db, name.clone(), Arc::clone(body), Arc::new(signature)).cost(&callee)
    }

    /// Returns the warnings about the adjoints of a module's definitions, in the form of
    /// [`Self::diagnostics`].
    #[must_use]
    pub fn adjoint_cost_warnings(&self, module: &str) -> Vec<Diagnostic> {
        let defs = self.items(module).into_iter().filter(|i| i.kind == ItemKind::Def);
        let mut all: Vec<Diagnostic> = defs.filter_map(|def| self.adjoint_cost_warning(&def.global)).collect();
        // A place that several definitions share is reported once.
        let mut reported_spans = HashSet::new();
        all.retain(|d| reported_spans.insert(d.span));
        all.sort_by_key(|d| (d.span.start, d.span.end));
        all
    }

    fn adjoint_cost_warning(&self, def: &GlobalName) -> Option<Diagnostic> {
        let callee = callee_at_f64(&super::middle_queries::MiddleQueries { db: &self.db }, def)?;
        let [_, adjoint] = self.derivatives(&callee)?;
        let bound = self.bound(&adjoint)?;
        let CertificateVerdict::Refuted { witness, term } = &bound.certificate.verdict else { return None };
        let at = witness.last()?;
        let item = self.find_item(def)?;
        let start = self.item(def)?.start;
        let name = queries::name_span(&self.db, item).shift(start);
        let var = most_expensive_statement(&*self.cost(&adjoint)?, &at.sizes)?;
        let place = self.attributed_span(&adjoint, var, &|_| true).filter(|(item, _)| item.module == def.module);
        let span = place.and_then(|(item, span)| Some(span.shift(self.item(&item)?.start)));
        let short = &def.name;
        let message =
            format!("the cost of the adjoint of `{short}` exceeds every constant multiple of the cost of `{short}`");
        let formula = |f: &Formula| f.math_text(&FactContext::new(bound.question().assumptions), &bound.names);
        let grows = format!("as {}", formula(&term.clone().into()));
        let mut d = Diagnostic::new(Code::W0700, span.unwrap_or(name), message);
        match span {
            Some(_) => {
                let primal = self.cost(&callee)?;
                d.label = format!("this cost grows {grows}");
                let message = format!("`{short}` costs {}", formula(&primal.total.work));
                d.related.push(RelatedLabel { span: name, message, module: None });
            }
            None => d.label = format!("its cost grows {grows}"),
        }
        let sizes: Vec<String> = at.sizes.iter().map(|(a, n)| bound.names.assignment_text(a, *n)).collect();
        let numbers =
            format!("at {}, the adjoint costs {} and the function costs {}", sizes.join(", "), at.derived, at.primal);
        Some(d.help(format!("{numbers}, with inputs and outputs; `iverson cost` prints the formulas")))
    }

    /// Returns the place of a check.
    fn check_span(&self, callee: &Arc<FunctionKey>, check: u32) -> Option<(GlobalName, Span)> {
        let ssa = self.ssa(callee)?;
        let what = &ssa.checks.get(check as usize)?.failure;
        let body = ElabQueries::body(self, &what.item)?;
        let node = what.node.filter(|node| node.index() < body.nodes.len())?;
        Some((what.item.clone(), body.nodes[node].span))
    }

    /// Returns all places of the program from which a statement originates, each with its item.
    #[must_use]
    pub fn source_spans(&self, callee: &Arc<FunctionKey>, var: StmtId) -> Vec<(GlobalName, Span)> {
        let (mut open, mut found) = (vec![(Arc::clone(callee), var)], Vec::new());
        let mut seen = HashSet::new();
        while let Some((callee, var)) = open.pop() {
            if !seen.insert((Arc::clone(&callee), var)) {
                continue;
            }
            let Some(traced) = self.traced(&callee) else { continue };
            for origin in traced.origins.origins_of(var) {
                match origin.kind {
                    OriginKind::SourceExpr(span) => found.push((callee.def.clone(), span)),
                    OriginKind::PrimalStatement(of, _) => {
                        open.extend(callee.primal().map(|primal| (Arc::new(primal), of)))
                    }
                    OriginKind::Input => {}
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
    pub(super) fn attributed_span(
        &self,
        callee: &Arc<FunctionKey>,
        var: StmtId,
        inside: &dyn Fn(&FunctionKey) -> bool,
    ) -> Option<(GlobalName, Span)> {
        let (mut callee, mut var) = (Arc::clone(callee), var);
        loop {
            let traced = self.traced(&callee)?;
            let origin = traced.origins.origins_of(var).find(|o| o.kind != OriginKind::Input)?;
            if let Some((of, inner)) = traced.origins.inlined(origin).filter(|(of, _)| inside(of)) {
                (callee, var) = (Arc::clone(of), inner);
                continue;
            }
            match origin.kind {
                OriginKind::SourceExpr(span) => return Some((callee.def.clone(), span)),
                OriginKind::Input => return None,
                OriginKind::PrimalStatement(of, _) => (callee, var) = (Arc::new(callee.primal()?), of),
            }
        }
    }
}

/// Returns whether it is a rule by which the definition is differentiated.
pub(super) fn is_rule(callee: &FunctionKey, def: &GlobalName) -> bool {
    callee.def.module == def.module
        && RuleKind::parse_item_name(&callee.def.name).is_some_and(|(_, of)| of == &*def.name)
}

/// Returns the statement with the highest cost at these sizes.
fn most_expensive_statement(cost: &CostFormulas, sizes: &SizeAssignment) -> Option<StmtId> {
    let mut size = |a: &Atom| match symbol_number(a) {
        Some(_) => None,
        None => Some(sizes.iter().find(|(b, _)| a == b).map_or(1, |(_, n)| *n)),
    };
    let statements = cost.statement_amounts.iter().filter_map(|(place, amount)| match place {
        CostSite::Statement(var) => Some((*var, amount.work.eval(&mut size)?)),
        CostSite::Check(_) => None,
    });
    // Ties go to the first.
    statements.max_by_key(|(var, work)| (*work, std::cmp::Reverse(*var))).map(|(var, _)| var)
}
