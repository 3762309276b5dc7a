//! **Cost summaries** for lenses and hovers. Formats the work of a function, of its forward
//! derivative and of its adjoint as formulas in the sizes, and the certificate as one line.
//!
//! A derivative is counted as the compiler generates it, without the function's value. The text
//! that views show of it is simplified for readers and may cost less.

use lang_core::base::{GlobalName, Span};
use lang_core::certify::{CertificateVerdict, IncomparableReason};
use lang_core::cost::{CostFormulas, CostRatio, has_symbols};
use lang_core::count::{Formula, FormulaPiece, Ratio};
use lang_core::predicate::{FactContext, Pred};
use lang_core::session::{CostTerm, EvaluationCosts, Session};
use lang_core::source::callee_at_f64;
use lang_core::types::tree::TypedId;

/// The costs of a definition.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DefinitionCosts {
    /// The work, iterations and other figures of the function.
    pub primal: Option<CostDisplay>,
    /// The figures of its forward derivative, if one exists.
    pub forward: Option<CostDisplay>,
    /// The figures of its adjoint.
    pub adjoint: Option<CostDisplay>,
    /// The figures of the adjoint together with the value of the function.
    pub adjoint_with_value: Option<CostDisplay>,
    /// The certificate that bounds the adjoint by a multiple of the function.
    pub certificate: Option<CertificateSummary>,
}

/// The counts of a function, as formulas for sizes of at least 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CostDisplay {
    /// The number of real operations.
    pub work: String,
    /// The number of index tuples that are visited.
    pub iterations: String,
    /// The number of evaluated predicates about data, if there are any.
    pub tests: Option<String>,
    /// An upper bound of the bytes that are stored for the reverse pass, if there are any.
    pub stored_bytes: Option<String>,
    /// Whether a count depends on data. The formulas are then upper bounds.
    pub is_data_dependent: bool,
}

/// A bound on an adjoint's cost relative to its function's, for all sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CertificateSummary {
    /// A short form: `≤ 2× proved`.
    pub short: String,
    /// A form of one line.
    pub line: String,
    /// Whether no constant factor bounds the adjoint.
    pub is_refuted: bool,
}

/// Returns the costs of a definition, or `None` if it has no form that can be counted.
#[must_use]
pub fn costs(session: &Session, def: &GlobalName) -> Option<DefinitionCosts> {
    let callee = callee_at_f64(session, def)?;
    let primal = session.cost(&callee)?;
    let mut costs = DefinitionCosts { primal: Some(cost_formulas(&primal)), ..DefinitionCosts::default() };
    if let Some([forward, adjoint]) = session.derivatives(&callee) {
        costs.forward = session.cost_without_primal(&forward).map(|c| cost_formulas(&c));
        costs.adjoint = session.cost_without_primal(&adjoint).map(|c| cost_formulas(&c));
        costs.adjoint_with_value = session.cost(&adjoint).map(|c| cost_formulas(&c));
        costs.certificate = session.bound_without_primal(&adjoint).map(|b| summarise_certificate(&b, &primal));
    }
    Some(costs)
}

/// Returns the shares of the spans that satisfy `such` in a definition's work and in the work of
/// its adjoint.
#[must_use]
pub fn shares(session: &Session, def: &GlobalName, such: &dyn Fn(&Span) -> bool) -> (Option<String>, Option<String>) {
    let Some(callee) = callee_at_f64(session, def) else { return (None, None) };
    let adjoint = session.derivatives(&callee).and_then(|[_, adjoint]| {
        let cost = session.cost_without_primal(&adjoint)?;
        let terms = session.terms_without_primal(&adjoint).into_iter().map(|(term, _)| term);
        format_share(&work_at_spans(terms, def, such)?, &cost)
    });
    (primal_share(session, def, such), adjoint)
}

/// Returns the share of the spans that satisfy `such` in a definition's work.
#[must_use]
pub fn primal_share(session: &Session, def: &GlobalName, such: &dyn Fn(&Span) -> bool) -> Option<String> {
    let callee = callee_at_f64(session, def)?;
    let cost = session.cost(&callee)?;
    format_share(&work_at_spans(session.terms(&callee).into_iter(), def, such)?, &cost)
}

/// Returns whether these spans add less to the definition's work than all evaluations there cost.
/// That happens if they reuse results that other code computes.
#[must_use]
pub fn is_shared(session: &Session, def: &GlobalName, such: &dyn Fn(&Span) -> bool, of: &EvaluationCosts) -> bool {
    let own =
        callee_at_f64(session, def).and_then(|callee| work_at_spans(session.terms(&callee).into_iter(), def, such));
    own.is_some_and(|own| is_less_for_all_sizes(&own, of))
}

/// Returns whether this work is at most that of all evaluations for all sizes, and not the same
/// formula. `false` if either depends on data.
fn is_less_for_all_sizes(own: &Formula, of: &EvaluationCosts) -> bool {
    let Some((_, all)) = &of.work else { return false };
    if of.is_upper_bound || has_symbols(own) || has_symbols(all) {
        return false;
    }
    let known = of.cost.positive_context();
    let more = all.add(&own.mul_ratio(&Ratio::constant(-1))).to_cases(&known);
    let never_negative = |piece: &FormulaPiece| {
        let mut here = known.clone();
        here.assume(&piece.pred);
        here.implies(&Pred::nonneg(piece.value.as_fraction().0))
    };
    !more.pieces().is_empty() && more.pieces().iter().all(never_negative)
}

/// Returns the work of the terms at these spans of a definition.
fn work_at_spans(
    terms: impl Iterator<Item = CostTerm>,
    def: &GlobalName,
    such: &dyn Fn(&Span) -> bool,
) -> Option<Formula> {
    let inside = |(item, at): &(GlobalName, Span)| item == def && such(at);
    let terms = terms.filter(|t| t.location.as_ref().is_some_and(inside));
    terms.map(|t| t.amount.work).reduce(|a, b| a.add(&b))
}

/// Formats a share of a cost. `None` if it is empty, or if the share depends on data without a
/// bound in sizes while the total does not depend on data.
fn format_share(work: &Formula, cost: &CostFormulas) -> Option<String> {
    let is_bounded = !has_symbols(work)
        || has_symbols(&cost.total.work)
        || cost.upper_bound(work, &cost.positive_context()).is_some();
    (is_bounded && !work.pieces().is_empty()).then(|| format_formula(work, cost))
}

/// The work of a product that a sum adds up.
pub struct ProductWork {
    /// The work of all evaluations.
    pub total_work: Option<String>,
    /// Whether that is less than the work of one evaluation times their number, because equal
    /// results are computed once.
    pub is_shared: bool,
    /// The work of the adjoint for the product.
    pub adjoint: Option<String>,
}

/// Returns the work of a product inside a contraction, the sum at `sum`, and the adjoint's work for
/// it. A contraction multiplies while it adds, so all its work except the additions belongs to the
/// product. `within` selects the spans of the product and its factors.
#[must_use]
pub fn product_work(
    session: &Session,
    def: &GlobalName,
    node: TypedId,
    sum: Span,
    within: &dyn Fn(&Span) -> bool,
) -> ProductWork {
    let found = session.evaluation_costs(def, node);
    let all = found.as_ref().and_then(|of| Some((of.work.as_ref()?.1.clone(), of)));
    // One multiplication for each evaluation, and the share of the factors in the definition.
    let once = all.as_ref().and_then(|(_, of)| {
        let callee = callee_at_f64(session, def)?;
        let factors = work_at_spans(session.terms(&callee).into_iter(), def, within)?;
        let own = factors.add(of.count.as_ref()?).to_cases(&of.cost.positive_context());
        is_less_for_all_sizes(&own, of).then_some(own)
    });
    let shared = once.is_some();
    let all = all.map(|(all, of)| (once.unwrap_or(all), of));
    let adjoint = || {
        let [_, adjoint] = session.derivatives(&callee_at_f64(session, def)?)?;
        let cost = session.cost_without_primal(&adjoint)?;
        let (values, own): (Vec<_>, Vec<_>) =
            session.terms_without_primal(&adjoint).into_iter().partition(|(_, value)| *value);
        let here = |terms: Vec<(CostTerm, bool)>| {
            work_at_spans(terms.into_iter().map(|(term, _)| term), def, &|at| *at == sum)
        };
        let own = here(own).unwrap_or_default();
        let value_work = here(values).filter(|of| !of.pieces().is_empty());
        let work = match (value_work, &all) {
            (None, _) => own,
            (Some(_), Some((all, of))) if !of.is_upper_bound => own.add(all),
            (Some(value_share), _) => own.add(&value_share),
        };
        format_share(&work, &cost)
    };
    let adjoint = adjoint();
    ProductWork { total_work: all.as_ref().map(|(all, of)| format_total(of, all)), is_shared: shared, adjoint }
}

/// Returns the work of an expression in the body of a loop, of one evaluation and of all, and the
/// same for its adjoint.
#[must_use]
pub fn repeated_work(of: &EvaluationCosts) -> (Option<String>, Option<String>) {
    let work_text = |both: &Option<(Formula, Formula)>| {
        let (one, all) = both.as_ref().filter(|(one, _)| !one.pieces().is_empty())?;
        Some(format!("{}, in all {}", format_formula(one, &of.cost), format_total(of, all)))
    };
    (work_text(&of.work), work_text(&of.adjoint))
}

/// Formats the work of all evaluations of an expression.
#[must_use]
pub fn total_work(of: &EvaluationCosts) -> Option<String> {
    Some(format_total(of, &of.work.as_ref()?.1))
}

/// Formats a formula for all evaluations; it is an upper bound if conditions surround the
/// expression.
fn format_total(of: &EvaluationCosts, all: &Formula) -> String {
    format!("{}{}", if of.is_upper_bound { "≤ " } else { "" }, format_formula(all, &of.cost))
}

/// The maximal length of a formula in a line of code, in characters.
const MAX_FORMULA_LENGTH: usize = 60;

/// Shortens a formula for a line of code. A long formula is replaced by the number of its cases, or
/// cut if it has only one.
#[must_use]
pub fn abbreviate_formula(formula: &str) -> String {
    let cases = formula.matches(" where ").count();
    match formula.chars().count() {
        0..=MAX_FORMULA_LENGTH => formula.to_owned(),
        _ if cases > 1 => format!("{cases} cases"),
        _ => formula.chars().take(MAX_FORMULA_LENGTH).chain(['…']).collect(),
    }
}

/// Splits a formatted formula into its cases.
#[must_use]
pub fn split_cases(formula: &str) -> Vec<&str> {
    let (mut all, mut from, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, c) in formula.char_indices() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 && formula.get(at..).is_some_and(|rest| rest.starts_with(", ") && !rest.starts_with(", in all")) {
            all.extend(formula.get(from..at));
            from = at + 2;
        }
    }
    all.extend(formula.get(from..));
    all
}

/// Formats a formula of a cost in sizes alone. If part of it depends on data, formats an upper
/// bound, or "not determined by sizes alone" if none exists.
#[must_use]
pub fn format_formula(of: &Formula, cost: &CostFormulas) -> String {
    let known = cost.positive_context();
    if !has_symbols(of) {
        return of.math_text(&known, &cost.names);
    }
    match cost.upper_bound(of, &known) {
        Some(most) => format!("≤ {}", most.to_cases(&known).math_text(&known, &cost.names)),
        None => "not determined by sizes alone".to_owned(),
    }
}

fn cost_formulas(cost: &CostFormulas) -> CostDisplay {
    let shown = |of: &Formula| format_formula(of, cost);
    let kept: Vec<String> = cost.stored_bytes.formulas().iter().map(shown).collect();
    let total = &cost.total;
    let tests = (!total.tests.pieces().is_empty()).then(|| shown(&total.tests));
    let kept = match kept.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        all => Some(format!("max({})", all.join(", "))),
    };
    let data = [&total.work, &total.tests, &total.iterations].into_iter().any(has_symbols);
    CostDisplay {
        work: shown(&total.work),
        iterations: shown(&total.iterations),
        tests,
        stored_bytes: kept,
        is_data_dependent: data,
    }
}

fn summarise_certificate(bound: &CostRatio, primal: &CostFormulas) -> CertificateSummary {
    let (extra, plus) = match bound.allowance.pieces().is_empty() {
        true => (String::new(), ""),
        false => (format!(" + {}", format_formula(&bound.allowance, primal)), " +"),
    };
    let right = format!("(primal + io{extra})");
    let all = if bound.requires_positive_sizes { "all sizes of at least 1" } else { "all sizes" };
    let (short, line, refuted) = match &bound.certificate.verdict {
        CertificateVerdict::Proved { factor, .. } => {
            (format!("≤ {factor}×{plus} proved"), format!("adjoint + io ≤ {factor} · {right}, proved for {all}"), false)
        }
        CertificateVerdict::Checked { factor, grid, .. } => {
            let line = format!("adjoint + io ≤ {factor} · {right}, checked at {} sizes, not proved", grid.points);
            (format!("≤ {factor}×{plus} checked"), line, false)
        }
        CertificateVerdict::Refuted { term, .. } => {
            let term =
                Formula::from(term.clone()).math_text(&FactContext::new(bound.question().assumptions), &bound.names);
            let line = format!("adjoint + io exceeds every multiple of {right}, because it grows as {term}");
            ("no constant factor".to_owned(), line, true)
        }
        CertificateVerdict::Unknown(why) => {
            let why = match why {
                IncomparableReason::Data => "the work does not depend on sizes alone",
                IncomparableReason::NoValue => "its cost formula has no value at the sampled sizes",
                IncomparableReason::Negative => "the known facts about the data allow a negative cost",
                IncomparableReason::TooLarge => "its cost formula is too large",
            };
            ("not compared".to_owned(), format!("cannot compare the adjoint with the function: {why}"), false)
        }
    };
    CertificateSummary { short, line, is_refuted: refuted }
}
