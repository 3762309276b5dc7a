//! **Case analysis on parameters.** If parts of a parameter with sum types are read, the derivative
//! gets one body for each combination of constructors. A tangent has the constructors of its value.

use std::collections::{HashMap, HashSet};

use super::constant_propagation::{
    ElementFact, as_constant, propagate_facts, propagate_into_poly, propagate_into_pred,
};
use super::constructor_patterns::{ArgumentNames, LeafRole, NamedPattern, constructor_patterns, contains_sum_type};
use super::constructors::{merge_equal_arms, names_in_text};
use super::definition::PrintedBody;
use super::derivative_signature::{DerivativeSignature, NamedValue, PrintRequest};
use super::entries::ScopeVariable;
use super::expression_tree::SourceExpr;
use super::merge::simplify_to_fixpoint;
use super::names::UsedNames;
use super::read_loops::{CarriedLine, LoopResultLine};
use super::read_ssa::{LineKind, SortedAxis, StatementLine, zero_of};
use super::table::StatementFacts;
use super::{DerivativeMode, PrintedDerivative};
use lang_base::Name;
use lang_ir::core::{Constant, SumType, TypeLeaf};
use lang_ir::flat::FunctionInput;
use lang_ir::ssa::{Rhs, SsaFunction, StmtId, for_each_poly_read, for_each_pred_read};
use lang_middle::norm::CONSTRUCTOR_MISMATCH;
use lang_sizes::predicate::{Atom, FactContext, Poly, Pred};
use lang_syntax::ops::Scalar;

/// The most bodies. A parameter that would need more is matched where it is read.
pub(super) const MAX_BODIES: usize = 8;

/// The most cases that are considered.
pub(super) const MAX_CASES: usize = 64;

/// A parameter of the definition, or an additional one, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ParameterRef {
    Own(usize),
    Additional(usize),
}

/// A combination of constructors: the parameters that are taken apart, each with its way.
pub(super) struct ConstructorCase(Vec<(ParameterRef, NamedPattern)>);

/// Returns at most `most` cases for the parameters that are taken apart. Names in a pattern avoid
/// the other names that the reader sees.
pub(super) fn constructor_cases(
    request: &PrintRequest<'_>,
    head: &DerivativeSignature,
    ssa: &SsaFunction,
    lines: &[StatementLine],
    argument_names: &ArgumentNames,
    (seen, most): (&[ScopeVariable], usize),
) -> Vec<ConstructorCase> {
    let read = read_inputs(ssa, lines);
    // Parts of tangents and cotangents may be results themselves.
    let results: HashSet<usize> = ssa.outputs.iter().filter_map(|(_, v)| input_number(ssa, *v)).collect();
    let reads = |of: ParameterRef| {
        let is_read = |k: &usize| read.contains(k) || matches!(of, ParameterRef::Additional(_)) && results.contains(k);
        (0..ssa.inputs.len()).any(|k| is_read(&k) && parameter_of_input(request, head, &ssa.inputs, k) == Some(of))
    };
    let mut split_parameters: Vec<(ParameterRef, Option<usize>)> = Vec::new();
    for (k, param) in head.primal_parameters.iter().enumerate() {
        let beside = head.additional_parameters.iter().position(|b| b.0 == Some(k));
        let is_result = request.mode == DerivativeMode::Adjoint && head.results.iter().any(|r| r.0 == Some(k));
        let refutable = constructor_patterns(&param.value.ty, MAX_BODIES).is_some_and(|w| w.len() > 1);
        let beside = beside.filter(|b| reads(ParameterRef::Additional(*b)));
        let wanted = reads(ParameterRef::Own(k)) || is_result || beside.is_some() && refutable;
        if contains_sum_type(&param.value.ty) {
            match (wanted, beside) {
                (true, beside) => split_parameters.push((ParameterRef::Own(k), beside)),
                (false, Some(b)) => split_parameters.push((ParameterRef::Additional(b), None)),
                (false, None) => {}
            }
        }
    }
    if let Some(b) = head.additional_parameters.iter().position(|b| b.0.is_none())
        && head.additional_parameters.get(b).is_some_and(|b| contains_sum_type(&b.1.value.ty))
        && reads(ParameterRef::Additional(b))
    {
        split_parameters.push((ParameterRef::Additional(b), None));
    }
    let mut all = vec![ConstructorCase(Vec::new())];
    for (of, tangent) in split_parameters {
        let Some(base) = parameter_value(head, of) else { continue };
        let Some(ways) = constructor_patterns(&base.ty, MAX_BODIES).filter(|w| w.len() * all.len() <= most) else {
            continue;
        };
        let mut longer = Vec::new();
        for case in &all {
            for way in &ways {
                let mut taken = used_names(request, head);
                let others = seen.iter().filter(|s| s.matched_variable.as_ref() != Some(&base.name));
                others.for_each(|other| taken.mark_used(&other.name));
                case.0.iter().flat_map(|(_, named)| named.bound_names()).for_each(|name| taken.mark_used(name));
                let tangent_of = |of: ParameterRef| match of {
                    ParameterRef::Additional(b) => head
                        .additional_parameters
                        .get(b)
                        .and_then(|b| head.primal_parameters.get(b.0?))
                        .map(|p| &p.value.name),
                    ParameterRef::Own(_) => None,
                };
                let mut parts = case.0.clone();
                let (stem, suffix) = tangent_of(of).map_or((&base.name, ""), |own| (own, "_tan"));
                parts.push((of, NamedPattern::new(way.clone(), stem, argument_names, &mut taken, suffix)));
                if let Some(b) = tangent {
                    parts.push((
                        ParameterRef::Additional(b),
                        NamedPattern::new(way.clone(), &base.name, argument_names, &mut taken, "_tan"),
                    ));
                }
                longer.push(ConstructorCase(parts));
            }
        }
        all = longer;
    }
    all
}

fn used_names(request: &PrintRequest<'_>, head: &DerivativeSignature) -> UsedNames {
    let params = head
        .primal_parameters
        .iter()
        .chain(head.additional_parameters.iter().map(|b| &b.1))
        .map(|p| p.value.name.clone());
    let sizes = request.derivative_ssa.sizes.iter().map(|l| request.derivative_ssa.vars.name(*l));
    UsedNames::new(params.chain(sizes))
}

fn parameter_value(head: &DerivativeSignature, of: ParameterRef) -> Option<&NamedValue> {
    match of {
        ParameterRef::Own(k) => head.primal_parameters.get(k).map(|p| &p.value),
        ParameterRef::Additional(k) => head.additional_parameters.get(k).map(|b| &b.1.value),
    }
}

/// Returns the parameter that an input is a part of.
fn parameter_of_input(
    request: &PrintRequest<'_>,
    head: &DerivativeSignature,
    inputs: &[FunctionInput],
    k: usize,
) -> Option<ParameterRef> {
    let (base, _) = request.input_location(head, inputs, k).ok()?;
    let own = head.primal_parameters.iter().position(|p| p.value.name == base.name).map(ParameterRef::Own);
    own.or_else(|| {
        head.additional_parameters.iter().position(|b| b.1.value.name == base.name).map(ParameterRef::Additional)
    })
}

/// Returns the inputs that a computation reads. Passing an input on in a call does not count.
fn read_inputs(ssa: &SsaFunction, lines: &[StatementLine]) -> HashSet<usize> {
    let mut vars: Vec<StmtId> = Vec::new();
    for line in lines {
        match &line.kind {
            LineKind::Input => {}
            LineKind::Element(e) => e.for_each_use(&mut |v, _| vars.push(v)),
            LineKind::Call(call, _) => for_each_pred_read(&call.pred, &mut |v| vars.push(v)),
            LineKind::Update(_) | LineKind::Loop(_) | LineKind::Carried(_) | LineKind::Order(_) => {
                line.for_each_use(&mut |v, _| vars.push(v))
            }
        }
    }
    for check in &ssa.checks {
        [&check.guard, &check.cond].into_iter().for_each(|p| for_each_pred_read(p, &mut |v| vars.push(v)));
    }
    for stmt in &ssa.stmts {
        stmt.dims.iter().for_each(|p| for_each_poly_read(p, &mut |v| vars.push(v)));
    }
    vars.into_iter().filter_map(|v| input_number(ssa, v)).collect()
}

/// Returns the number of the input that a statement is.
fn input_number(ssa: &SsaFunction, v: StmtId) -> Option<usize> {
    match ssa.stmts.get(v.0 as usize).map(|s| &s.rhs) {
        Some(Rhs::Input(k)) => Some(*k as usize),
        _ => None,
    }
}

impl ConstructorCase {
    /// Returns the role of an input in this case.
    pub(super) fn input_role(
        &self,
        request: &PrintRequest<'_>,
        head: &DerivativeSignature,
        inputs: &[FunctionInput],
        k: usize,
    ) -> Option<LeafRole> {
        let of = parameter_of_input(request, head, inputs, k)?;
        let (_, named) = self.0.iter().find(|(o, _)| *o == of)?;
        let (_, path) = request.input_location(head, inputs, k).ok()?;
        Some(named.leaf_role(&path))
    }

    /// Substitutes the facts of this case in lines and checks.
    pub(super) fn substitute_case(
        &self,
        request: &PrintRequest<'_>,
        head: &DerivativeSignature,
        ssa: &mut SsaFunction,
        lines: &mut [StatementLine],
    ) {
        let mut known: HashMap<StmtId, ElementFact> = HashMap::new();
        for (k, line) in (0..).zip(lines) {
            let stmt = ssa.stmts.get(k as usize);
            let facts = |v: StmtId, _: &[Poly]| known.get(&v).cloned();
            line.indices.iter_mut().for_each(|i| i.extent = propagate_into_poly(&i.extent, &facts));
            let fact = match &line.kind {
                LineKind::Input => {
                    let Some(Rhs::Input(input)) = stmt.map(|s| &s.rhs) else { continue };
                    match self.input_role(request, head, &ssa.inputs, *input as usize) {
                        Some(LeafRole::Tag(of)) => {
                            ElementFact::Constant(Constant::Int(i64::try_from(of).unwrap_or(i64::MAX)))
                        }
                        Some(LeafRole::OtherConstructor) => {
                            ElementFact::OtherConstructor(zero_of(line.scalar.unwrap_or(Scalar::F64)))
                        }
                        Some(LeafRole::Part(..)) | None => continue,
                    }
                }
                LineKind::Element(e) => {
                    let (e, absent) = propagate_facts(e, &facts);
                    let fact = if absent {
                        Some(ElementFact::OtherConstructor(e.clone()))
                    } else {
                        as_constant(&e, line.scalar.unwrap_or(Scalar::F64)).map(ElementFact::Constant)
                    };
                    line.kind = LineKind::Element(e);
                    let Some(fact) = fact else { continue };
                    fact
                }
                LineKind::Call(call, part) => {
                    line.kind = LineKind::Call(call.with_facts(&facts), *part);
                    continue;
                }
                LineKind::Update(of) => {
                    line.kind = LineKind::Update(Box::new(of.with_facts(&facts)));
                    continue;
                }
                LineKind::Loop(of) => {
                    line.kind = LineKind::Loop(Box::new(LoopResultLine {
                        pred: propagate_into_pred(&of.pred, &facts),
                        trips: of.trips.as_ref().map(|p| propagate_into_poly(p, &facts)),
                        ..(**of).clone()
                    }));
                    continue;
                }
                LineKind::Order(of) => {
                    let (pred, key) = (propagate_into_pred(&of.pred, &facts), propagate_facts(&of.key, &facts).0);
                    line.kind = LineKind::Order(Box::new(SortedAxis { pred, key, ..(**of).clone() }));
                    continue;
                }
                LineKind::Carried(of) => {
                    line.kind = LineKind::Carried(Box::new(CarriedLine {
                        init: propagate_facts(&of.init, &facts).0,
                        ..(**of).clone()
                    }));
                    continue;
                }
            };
            line.kind = LineKind::Element(match &fact {
                ElementFact::Constant(Constant::Real(x)) => SourceExpr::real(*x),
                ElementFact::Constant(c) => SourceExpr::Constant(*c),
                ElementFact::OtherConstructor(zero) => zero.clone(),
            });
            known.insert(StmtId(k), fact);
        }
        let facts = |v: StmtId, _: &[Poly]| known.get(&v).cloned();
        for check in &mut ssa.checks {
            (check.guard, check.cond) =
                (propagate_into_pred(&check.guard, &facts), propagate_into_pred(&check.cond, &facts));
        }
    }

    /// Returns the condition under which the result has the constructors of its cotangent, or
    /// `None` if that is impossible. `result_tags` holds the tags of the result, by path.
    pub(super) fn result_condition(
        &self,
        head: &DerivativeSignature,
        result_tags: &[(TypeLeaf, StmtId)],
        lines: &[StatementLine],
    ) -> Option<Pred> {
        let beside = |of: &ParameterRef| matches!(of, ParameterRef::Additional(b) if head.additional_parameters.get(*b).is_some_and(|b| b.0.is_none()));
        let Some((_, named)) = self.0.iter().find(|(of, _)| beside(of)) else { return Some(Pred::truth()) };
        let mut all = Pred::truth();
        for (leaf, v) in result_tags {
            let LeafRole::Tag(k) = named.leaf_role(&leaf.path) else { continue };
            // The tag in the result of a call is read from there.
            let e = lines
                .get(v.0 as usize)
                .and_then(StatementLine::element)
                .cloned()
                .unwrap_or(SourceExpr::Read(*v, Vec::new()));
            let e = simplify_to_fixpoint(e, &mut FactContext::default(), &mut StatementFacts::default());
            let number = |e: &SourceExpr| match as_constant(e, Scalar::I64) {
                Some(Constant::Int(of)) => usize::try_from(of).ok(),
                _ => None,
            };
            let wanted = |p: &Pred, a: usize, b: usize| match (a == k, b == k) {
                (true, true) => Pred::truth(),
                (true, false) => p.clone(),
                (false, true) => p.negated(),
                (false, false) => Pred::falsity(),
            };
            let fits = match &e {
                SourceExpr::Guard(p, a) => number(a).map(|a| wanted(p, a, 0)),
                SourceExpr::Choice(p, a, b) => number(a).zip(number(b)).map(|(a, b)| wanted(p, a, b)),
                e => number(e).map(|a| wanted(&Pred::truth(), a, 0)),
            };
            let read = || Poly::atom(Atom::Read(v.local(), v.name(), std::sync::Arc::from([])));
            all =
                all.and(&fits.unwrap_or_else(|| Pred::equal(&read(), &Poly::constant(i128::try_from(k).unwrap_or(0)))));
        }
        (!all.is_false()).then_some(all)
    }

    /// Returns the patterns of the refutable parameters, and `let`s that destructure the others as
    /// far as they are used. `None` if a constructor has no name in this module.
    pub(super) fn destructure_parameters(
        &self,
        request: &PrintRequest<'_>,
        head: &DerivativeSignature,
        used: &HashSet<String>,
        refutable: &[ParameterRef],
    ) -> Option<(Vec<String>, Vec<String>)> {
        let mut missing = false;
        let mut spelled = |sum: &SumType, k: usize| {
            let text = request.constructor_spelling(sum, k);
            missing |= text.is_none();
            text.unwrap_or_default()
        };
        let (mut patterns, mut lets) = (Vec::new(), Vec::new());
        for (of, named) in self.in_parameter_order() {
            let pattern = named.print_used(&|name| used.contains(name), &mut spelled);
            if refutable.contains(of) {
                patterns.push(pattern);
            } else if named.bound_names().any(|name| used.contains(name.as_str())) {
                lets.push(format!("let {pattern} = {}", parameter_value(head, *of)?.name));
            }
        }
        (!missing).then_some((patterns, lets))
    }

    /// Returns a text for the constructor of each refutable parameter: `s is Circle(r)`. `None` as
    /// for [`Self::destructure_parameters`].
    pub(super) fn constructor_conditions(
        &self,
        request: &PrintRequest<'_>,
        head: &DerivativeSignature,
        used: &HashSet<String>,
        refutable: &[ParameterRef],
    ) -> Option<Vec<String>> {
        let (patterns, _) = self.destructure_parameters(request, head, used, refutable)?;
        let of = self.in_parameter_order().map(|(of, _)| of).filter(|of| refutable.contains(of));
        let one =
            |(of, pattern): (&ParameterRef, String)| Some(format!("{} is {pattern}", parameter_value(head, *of)?.name));
        of.zip(patterns).map(one).collect()
    }

    /// Returns the role of a leaf of a parameter, if it is taken apart.
    pub(super) fn leaf_role(&self, param: usize, path: &[u32]) -> Option<LeafRole> {
        self.0.iter().find(|(of, _)| *of == ParameterRef::Own(param)).map(|(_, named)| named.leaf_role(path))
    }

    /// Returns the names of tangents in its patterns, with the values that they are tangents of.
    pub(super) fn tangent_names(&self, head: &DerivativeSignature) -> Vec<(Name, NamedValue)> {
        let mut pairs = Vec::new();
        for (of, tangent) in &self.0 {
            let ParameterRef::Additional(b) = of else { continue };
            let own = head.additional_parameters.get(*b).and_then(|b| b.0);
            if let Some((_, own)) = self.0.iter().find(|(of, _)| own.is_some_and(|k| *of == ParameterRef::Own(k))) {
                pairs.extend(tangent.pair_with_values(own));
            }
        }
        pairs
    }

    /// Returns for each parameter that is taken apart the text that rebuilds it, and its name.
    pub(super) fn rebuilt_parameters(
        &self,
        request: &PrintRequest<'_>,
        head: &DerivativeSignature,
    ) -> Vec<(String, Name)> {
        let mut spelled = |sum: &SumType, k: usize| request.constructor_spelling(sum, k).unwrap_or_default();
        let whole = |(of, named): &(ParameterRef, NamedPattern)| {
            let name = parameter_value(head, *of)?.name.clone();
            named.bound_names().next().map(|_| (named.print_used(&|_| true, &mut spelled), name))
        };
        self.0.iter().filter_map(whole).collect()
    }

    /// Returns its patterns in the order of the parameters.
    fn in_parameter_order(&self) -> impl Iterator<Item = &(ParameterRef, NamedPattern)> {
        let (own, beside): (Vec<_>, Vec<_>) = self.0.iter().partition(|(of, _)| matches!(of, ParameterRef::Own(_)));
        own.into_iter().chain(beside)
    }

    /// Returns the names in its patterns.
    pub(super) fn bound_names(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().flat_map(|(_, named)| named.bound_names())
    }
}

/// Returns the text of the failure if a tangent or cotangent has another constructor than its
/// value.
pub(super) fn constructor_mismatch_text() -> String {
    format!("error(\"{CONSTRUCTOR_MISMATCH}\")")
}

/// Returns the parameters with several ways, if several cases exist.
pub(super) fn refutable_parameters(head: &DerivativeSignature, cases: &[ConstructorCase]) -> Vec<ParameterRef> {
    match cases {
        [] | [_] => Vec::new(),
        [first, ..] => {
            let ways = |of: ParameterRef| {
                parameter_value(head, of).and_then(|b| constructor_patterns(&b.ty, MAX_BODIES)).map_or(0, |w| w.len())
            };
            // A tangent has the ways of its value.
            first.in_parameter_order().map(|(of, _)| *of).filter(|of| ways(*of) > 1).collect()
        }
    }
}

/// Joins the bodies of all cases into a `match`. A single case needs none.
pub(super) fn match_over_cases(
    request: &PrintRequest<'_>,
    head: &DerivativeSignature,
    cases: &[ConstructorCase],
    bodies: &[Option<PrintedBody>],
) -> Option<PrintedBody> {
    let refutable = refutable_parameters(head, cases);
    let mut arms: Vec<(Vec<String>, String)> = Vec::new();
    let mut only = None;
    let never = PrintedBody {
        lets: Vec::new(),
        let_statements: Vec::new(),
        value: constructor_mismatch_text(),
        prerequisites: Vec::new(),
    };
    let mut before: Vec<PrintedDerivative> = Vec::new();
    let mut all_named = Vec::new();
    for (case, body) in cases.iter().zip(bodies) {
        let PrintedBody { lets, let_statements: own, value, prerequisites: called } = body.as_ref().unwrap_or(&never);
        all_named.extend(own.iter().cloned());
        for prerequisite in called {
            if !before.contains(prerequisite) {
                before.push(prerequisite.clone());
            }
        }
        let used: HashSet<String> = lets.iter().chain([value]).flat_map(|text| names_in_text(text)).collect();
        let (patterns, first) = case.destructure_parameters(request, head, &used, &refutable)?;
        let lets: Vec<String> = first.into_iter().chain(lets.iter().cloned()).collect();
        if cases.len() == 1 {
            only = Some(PrintedBody {
                lets,
                let_statements: own.clone(),
                value: value.clone(),
                prerequisites: called.clone(),
            });
        } else {
            let body = if lets.is_empty() { value.clone() } else { format!("{} in {value}", lets.join(" ")) };
            arms.push((patterns, body));
        }
    }
    if only.is_some() {
        return only;
    }
    let tuple = |items: &[String]| if let [one] = items { one.clone() } else { format!("({})", items.join(", ")) };
    let of: Vec<String> =
        refutable.iter().filter_map(|of| Some(parameter_value(head, *of)?.name.to_string())).collect();
    let tangents =
        refutable.iter().any(|of| matches!(of, ParameterRef::Additional(b) if head.additional_parameters.get(*b).is_some_and(|b| b.0.is_some())));
    let mut texts: Vec<(String, String)> = arms.iter().map(|(p, body)| (tuple(p), body.clone())).collect();
    let never = constructor_mismatch_text();
    if tangents || texts.iter().any(|(_, text)| *text == never) {
        texts.retain(|(_, text)| *text != never);
        texts.push(("_".to_owned(), never));
    } else {
        merge_equal_arms(&mut texts);
    }
    let arms: Vec<String> = texts.iter().map(|(p, body)| format!("{p}: {body}")).collect();
    let value = format!("match {} {{ {} }}", tuple(&of), arms.join(", "));
    Some(PrintedBody { lets: Vec::new(), let_statements: all_named, value, prerequisites: before })
}
