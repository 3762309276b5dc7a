//! **Cost summaries** for lenses and hovers. Formats the work of a function, of its forward
//! derivative and of its adjoint as formulas in the sizes, and the certificate as one line.
//!
//! A derivative is counted as the compiler generates it, without the function's value. The text
//! that views show of it is simplified for readers and may cost less.

use lang_core::base::{GlobalName, Span};
use lang_core::certify::{Verdict, Why};
use lang_core::cost::{Bound, Cost, has_symbols};
use lang_core::count::{Formula, Piece, Ratio};
use lang_core::predicate::{Context, Pred};
use lang_core::session::{Evaluations, Session, Term};
use lang_core::source::shown_callee;
use lang_core::types::tree::TId;

/// The costs of a definition.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Costs {
    /// The work, iterations and other figures of the function.
    pub primal: Option<Figures>,
    /// The figures of its forward derivative, if one exists.
    pub forward: Option<Figures>,
    /// The figures of its adjoint.
    pub adjoint: Option<Figures>,
    /// The figures of the adjoint together with the value of the function.
    pub valued: Option<Figures>,
    /// The certificate that bounds the adjoint by a multiple of the function.
    pub certificate: Option<Certificate>,
}

/// The counts of a function, as formulas for sizes of at least 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figures {
    /// The number of real operations.
    pub work: String,
    /// The number of index tuples that are visited.
    pub iterations: String,
    /// The number of evaluated predicates about data, if there are any.
    pub tests: Option<String>,
    /// An upper bound of the bytes that are stored for the reverse pass, if there are any.
    pub kept: Option<String>,
    /// Whether a count depends on data. The formulas are then upper bounds.
    pub data: bool,
}

/// A bound on an adjoint's cost relative to its function's, for all sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// A short form: `≤ 2× proved`.
    pub short: String,
    /// A form of one line.
    pub line: String,
    /// Whether no constant factor bounds the adjoint.
    pub refuted: bool,
}

/// Returns the costs of a definition, or `None` if it has no form that can be counted.
#[must_use]
pub fn costs(session: &Session, def: &GlobalName) -> Option<Costs> {
    let callee = shown_callee(session, def)?;
    let primal = session.cost(&callee)?;
    let mut costs = Costs { primal: Some(figures(&primal)), ..Costs::default() };
    if let Some([forward, adjoint]) = session.derivatives(&callee) {
        costs.forward = session.cost_alone(&forward).map(|c| figures(&c));
        costs.adjoint = session.cost_alone(&adjoint).map(|c| figures(&c));
        costs.valued = session.cost(&adjoint).map(|c| figures(&c));
        costs.certificate = session.bound_alone(&adjoint).map(|b| certificate(&b, &primal));
    }
    Some(costs)
}

/// Returns the shares of the spans that satisfy `such` in a definition's work and in the work of
/// its adjoint.
#[must_use]
pub fn shares(session: &Session, def: &GlobalName, such: &dyn Fn(&Span) -> bool) -> (Option<String>, Option<String>) {
    let Some(callee) = shown_callee(session, def) else { return (None, None) };
    let adjoint = session.derivatives(&callee).and_then(|[_, adjoint]| {
        let cost = session.cost_alone(&adjoint)?;
        let terms = session.terms_alone(&adjoint).into_iter().map(|(term, _)| term);
        shown(&share(terms, def, such)?, &cost)
    });
    (primal_share(session, def, such), adjoint)
}

/// Returns the share of the spans that satisfy `such` in a definition's work.
#[must_use]
pub fn primal_share(session: &Session, def: &GlobalName, such: &dyn Fn(&Span) -> bool) -> Option<String> {
    let callee = shown_callee(session, def)?;
    let cost = session.cost(&callee)?;
    shown(&share(session.terms(&callee).into_iter(), def, such)?, &cost)
}

/// Returns whether these spans add less to the definition's work than all evaluations there cost.
/// That happens if they reuse results that other code computes.
#[must_use]
pub fn is_shared(session: &Session, def: &GlobalName, such: &dyn Fn(&Span) -> bool, of: &Evaluations) -> bool {
    let own = shown_callee(session, def).and_then(|callee| share(session.terms(&callee).into_iter(), def, such));
    own.is_some_and(|own| is_less(&own, of))
}

/// Returns whether this work is at most that of all evaluations for all sizes, and not the same
/// formula. `false` if either depends on data.
fn is_less(own: &Formula, of: &Evaluations) -> bool {
    let Some((_, all)) = &of.work else { return false };
    if of.most || has_symbols(own) || has_symbols(all) {
        return false;
    }
    let known = of.cost.positive();
    let more = all.add(&own.times(&Ratio::constant(-1))).cases(&known);
    let never_negative = |piece: &Piece| {
        let mut here = known.clone();
        here.assume(&piece.pred);
        here.implies(&Pred::nonneg(piece.value.parts().0))
    };
    !more.pieces().is_empty() && more.pieces().iter().all(never_negative)
}

/// Returns the work of the terms at these spans of a definition.
fn share(terms: impl Iterator<Item = Term>, def: &GlobalName, such: &dyn Fn(&Span) -> bool) -> Option<Formula> {
    let inside = |(item, at): &(GlobalName, Span)| item == def && such(at);
    let terms = terms.filter(|t| t.place.as_ref().is_some_and(inside));
    terms.map(|t| t.amount.work).reduce(|a, b| a.add(&b))
}

/// Formats a share of a cost. `None` if it is empty, or if the share depends on data without a
/// bound in sizes while the total does not depend on data.
fn shown(work: &Formula, cost: &Cost) -> Option<String> {
    let told = !has_symbols(work) || has_symbols(&cost.total.work) || cost.at_most(work, &cost.positive()).is_some();
    (told && !work.pieces().is_empty()).then(|| formula(work, cost))
}

/// The work of a product that a sum adds up.
pub struct OfProduct {
    /// The work of all evaluations.
    pub all: Option<String>,
    /// Whether that is less than the work of one evaluation times their number, because equal
    /// results are computed once.
    pub shared: bool,
    /// The work of the adjoint for the product.
    pub adjoint: Option<String>,
}

/// Returns the work of a product inside a contraction, the sum at `sum`, and the adjoint's work for
/// it. A contraction multiplies while it adds, so all its work except the additions belongs to the
/// product. `within` selects the spans of the product and its factors.
#[must_use]
pub fn shares_of_product(
    session: &Session,
    def: &GlobalName,
    node: TId,
    sum: Span,
    within: &dyn Fn(&Span) -> bool,
) -> OfProduct {
    let found = session.evaluations(def, node);
    let all = found.as_ref().and_then(|of| Some((of.work.as_ref()?.1.clone(), of)));
    // One multiplication for each evaluation, and the share of the factors in the definition.
    let once = all.as_ref().and_then(|(_, of)| {
        let callee = shown_callee(session, def)?;
        let factors = share(session.terms(&callee).into_iter(), def, within)?;
        let own = factors.add(of.count.as_ref()?).cases(&of.cost.positive());
        is_less(&own, of).then_some(own)
    });
    let shared = once.is_some();
    let all = all.map(|(all, of)| (once.unwrap_or(all), of));
    let adjoint = || {
        let [_, adjoint] = session.derivatives(&shown_callee(session, def)?)?;
        let cost = session.cost_alone(&adjoint)?;
        let (values, own): (Vec<_>, Vec<_>) = session.terms_alone(&adjoint).into_iter().partition(|(_, value)| *value);
        let here = |terms: Vec<(Term, bool)>| share(terms.into_iter().map(|(term, _)| term), def, &|at| *at == sum);
        let own = here(own).unwrap_or_default();
        let again = here(values).filter(|of| !of.pieces().is_empty());
        let work = match (again, &all) {
            (None, _) => own,
            (Some(_), Some((all, of))) if !of.most => own.add(all),
            (Some(again), _) => own.add(&again),
        };
        shown(&work, &cost)
    };
    let adjoint = adjoint();
    OfProduct { all: all.as_ref().map(|(all, of)| at_most(of, all)), shared, adjoint }
}

/// Returns the work of an expression in the body of a loop, of one evaluation and of all, and the
/// same for its adjoint.
#[must_use]
pub fn repeated(of: &Evaluations) -> (Option<String>, Option<String>) {
    let told = |both: &Option<(Formula, Formula)>| {
        let (one, all) = both.as_ref().filter(|(one, _)| !one.pieces().is_empty())?;
        Some(format!("{}, in all {}", formula(one, &of.cost), at_most(of, all)))
    };
    (told(&of.work), told(&of.adjoint))
}

/// Formats the work of all evaluations of an expression.
#[must_use]
pub fn in_all(of: &Evaluations) -> Option<String> {
    Some(at_most(of, &of.work.as_ref()?.1))
}

/// Formats a formula for all evaluations; it is an upper bound if conditions surround the
/// expression.
fn at_most(of: &Evaluations, all: &Formula) -> String {
    format!("{}{}", if of.most { "≤ " } else { "" }, formula(all, &of.cost))
}

/// The maximal length of a formula in a line of code, in characters.
const LONGEST: usize = 60;

/// Shortens a formula for a line of code. A long formula is replaced by the number of its cases, or
/// cut if it has only one.
#[must_use]
pub fn brief(formula: &str) -> String {
    let cases = formula.matches(" where ").count();
    match formula.chars().count() {
        0..=LONGEST => formula.to_owned(),
        _ if cases > 1 => format!("in {cases} cases"),
        _ => formula.chars().take(LONGEST).chain(['…']).collect(),
    }
}

/// Splits a formatted formula into its cases.
#[must_use]
pub fn cases(formula: &str) -> Vec<&str> {
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
/// bound, or "not by sizes alone" if none exists.
#[must_use]
pub fn formula(of: &Formula, cost: &Cost) -> String {
    let known = cost.positive();
    if !has_symbols(of) {
        return of.shown(&known, &cost.names);
    }
    match cost.at_most(of, &known) {
        Some(most) => format!("≤ {}", most.cases(&known).shown(&known, &cost.names)),
        None => "not by sizes alone".to_owned(),
    }
}

fn figures(cost: &Cost) -> Figures {
    let shown = |of: &Formula| formula(of, cost);
    let kept: Vec<String> = cost.kept.formulas().iter().map(shown).collect();
    let total = &cost.total;
    let tests = (!total.tests.pieces().is_empty()).then(|| shown(&total.tests));
    let kept = match kept.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        all => Some(format!("max({})", all.join(", "))),
    };
    let data = [&total.work, &total.tests, &total.iterations].into_iter().any(has_symbols);
    Figures { work: shown(&total.work), iterations: shown(&total.iterations), tests, kept, data }
}

fn certificate(bound: &Bound, primal: &Cost) -> Certificate {
    let (extra, plus) = match bound.extra.pieces().is_empty() {
        true => (String::new(), ""),
        false => (format!(" + {}", formula(&bound.extra, primal)), " +"),
    };
    let right = format!("(primal + io{extra})");
    let all = if bound.positive { "all sizes of at least 1" } else { "all sizes" };
    let (short, line, refuted) = match &bound.certificate.verdict {
        Verdict::Proved { factor, .. } => {
            (format!("≤ {factor}×{plus} proved"), format!("adjoint + io ≤ {factor} · {right}, proved for {all}"), false)
        }
        Verdict::Checked { factor, grid, .. } => {
            let line = format!("adjoint + io ≤ {factor} · {right}, checked at {} sizes, not proved", grid.points);
            (format!("≤ {factor}×{plus} checked"), line, false)
        }
        Verdict::Refuted { term, .. } => {
            let term = Formula::from(term.clone()).shown(&Context::new(bound.question().known), &bound.names);
            let line = format!("adjoint + io grows beyond every multiple of {right}, by {term}");
            ("no factor".to_owned(), line, true)
        }
        Verdict::Unknown(why) => {
            let why = match why {
                Why::Data => "sizes alone do not decide how much each of them does",
                Why::NoValue => "its formula has no value at the sizes that were tried",
                Why::Negative => "what is known of the data allows a negative cost",
                Why::TooLarge => "its formula is too large",
            };
            ("not compared".to_owned(), format!("the adjoint is not compared: {why}"), false)
        }
    };
    Certificate { short, line, refuted }
}
