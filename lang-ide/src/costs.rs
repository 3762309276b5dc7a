//! What a definition costs, in the words of a lens and of a hover: the work of the function, of its forward derivative
//! and of its adjoint as formulas in the sizes, and the certificate in one line. Derivatives are counted as they are
//! generated, without the value of the function; their texts are written for a reader, and may take less.

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
    /// Work, iterations and more of the function.
    pub primal: Option<Figures>,
    /// The same of its forward derivative, if it has one.
    pub forward: Option<Figures>,
    /// And of its adjoint.
    pub adjoint: Option<Figures>,
    /// The same of the adjoint with the value of the function.
    pub valued: Option<Figures>,
    /// The certificate: how much dearer the adjoint is.
    pub certificate: Option<Certificate>,
}

/// What is counted of a function, as formulas for sizes of at least 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figures {
    /// Real operations.
    pub work: String,
    /// Tuples of indices that are visited.
    pub iterations: String,
    /// Predicates about data that are evaluated, if there are any.
    pub tests: Option<String>,
    /// No more bytes than this are kept for a reverse, if any are.
    pub kept: Option<String>,
    /// Do data decide a part of it? Then the formulas are bounds.
    pub data: bool,
}

/// How much dearer an adjoint is than its function, for all sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    /// In a few characters: `≤ 2× proved`.
    pub short: String,
    /// In a line.
    pub line: String,
    /// Is there no factor?
    pub refuted: bool,
}

/// The costs of a definition; `None` where it has no forms that are counted.
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

/// What such places of the text of a definition add to its work and to that of its adjoint.
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

/// What such places of the text of a definition add to its work.
#[must_use]
pub fn primal_share(session: &Session, def: &GlobalName, such: &dyn Fn(&Span) -> bool) -> Option<String> {
    let callee = shown_callee(session, def)?;
    let cost = session.cost(&callee)?;
    shown(&share(session.terms(&callee).into_iter(), def, such)?, &cost)
}

/// Is it less what such places of the text of a definition add to its work than what all evaluations there cost? So it is
/// where they compute what others have computed.
#[must_use]
pub fn is_shared(session: &Session, def: &GlobalName, such: &dyn Fn(&Span) -> bool, of: &Evaluations) -> bool {
    let own = shown_callee(session, def).and_then(|callee| share(session.terms(&callee).into_iter(), def, such));
    own.is_some_and(|own| is_less(&own, of))
}

/// Is this work less than that of all evaluations, as far as sizes tell both?
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

/// The work of the terms at such places of a definition.
fn share(terms: impl Iterator<Item = Term>, def: &GlobalName, such: &dyn Fn(&Span) -> bool) -> Option<Formula> {
    let inside = |(item, at): &(GlobalName, Span)| item == def && such(at);
    let terms = terms.filter(|t| t.place.as_ref().is_some_and(inside));
    terms.map(|t| t.amount.work).reduce(|a, b| a.add(&b))
}

/// A part of a cost; of a whole that sizes tell, a part that they do not is not told.
fn shown(work: &Formula, cost: &Cost) -> Option<String> {
    let told = !has_symbols(work) || has_symbols(&cost.total.work) || cost.at_most(work, &cost.positive()).is_some();
    (told && !work.pieces().is_empty()).then(|| formula(work, cost))
}

/// The work of a product that a sum adds up.
pub struct OfProduct {
    /// All evaluations of it.
    pub all: Option<String>,
    /// Is that less than one evaluation times their number, because what is equal is computed once?
    pub shared: bool,
    /// What the adjoint computes for it.
    pub adjoint: Option<String>,
}

/// What all evaluations of a product that the sum at `sum` multiplies as it adds cost, and what the adjoint computes for it.
/// There the product has all that the sum costs but additions. `within`: the places of the product and its factors.
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
    // One multiplication each, and what the factors add to the definition.
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

/// What all evaluations of an expression in the body of a loop cost: one, and all; and the same of its adjoint.
#[must_use]
pub fn repeated(of: &Evaluations) -> (Option<String>, Option<String>) {
    let told = |both: &Option<(Formula, Formula)>| {
        let (one, all) = both.as_ref().filter(|(one, _)| !one.pieces().is_empty())?;
        Some(format!("{}, in all {}", formula(one, &of.cost), at_most(of, all)))
    };
    (told(&of.work), told(&of.adjoint))
}

/// What all evaluations of an expression cost.
#[must_use]
pub fn in_all(of: &Evaluations) -> Option<String> {
    Some(at_most(of, &of.work.as_ref()?.1))
}

/// A formula of all evaluations.
fn at_most(of: &Evaluations, all: &Formula) -> String {
    format!("{}{}", if of.most { "≤ " } else { "" }, formula(all, &of.cost))
}

/// A longer formula does not stand in a line of code.
const LONGEST: usize = 60;

/// A formula in a line of code: how many cases it has, if it is long.
#[must_use]
pub fn brief(formula: &str) -> String {
    let cases = formula.matches(" where ").count();
    match formula.chars().count() {
        0..=LONGEST => formula.to_owned(),
        _ if cases > 1 => format!("in {cases} cases"),
        _ => formula.chars().take(LONGEST).chain(['…']).collect(),
    }
}

/// The cases of a formula that is written out.
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

/// A formula of a cost as people write it, in sizes alone: where data decide a part of it, what it is at most.
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
