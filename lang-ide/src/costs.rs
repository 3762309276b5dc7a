//! What a definition costs, in the words of a lens and of a hover: the work of the function, of its forward derivative
//! and of its adjoint as formulas in the sizes, and the certificate in one line.

use std::collections::BTreeMap;
use std::sync::Arc;

use lang_core::base::{GlobalName, Span};
use lang_core::certify::{Verdict, Why};
use lang_core::cost::{Bound, Cost, number};
use lang_core::count::{Formula, Piece, Ratio};
use lang_core::ir::core::Callee;
use lang_core::predicate::{Atom, Context, Poly, Pred};
use lang_core::session::Session;
use lang_core::source::shown_callee;

/// The costs of a definition.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Costs {
    /// Work, iterations and more of the function.
    pub primal: Option<Figures>,
    /// The same of its forward derivative, if it has one.
    pub forward: Option<Figures>,
    /// And of its adjoint.
    pub adjoint: Option<Figures>,
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
        costs.forward = session.cost(&forward).map(|c| figures(&c));
        costs.adjoint = session.cost(&adjoint).map(|c| figures(&c));
        costs.certificate = session.bound(&adjoint).map(|b| certificate(&b, &primal));
    }
    Some(costs)
}

/// What such places of the text of a definition add to its work and to that of its adjoint.
#[must_use]
pub fn shares(session: &Session, def: &GlobalName, such: &dyn Fn(&Span) -> bool) -> (Option<String>, Option<String>) {
    let Some(callee) = shown_callee(session, def) else { return (None, None) };
    let share = |callee: &Arc<Callee>| {
        let cost = session.cost(callee)?;
        let inside = |(item, at): &(GlobalName, Span)| item == def && such(at);
        let terms = session.terms(callee).into_iter().filter(|t| t.place.as_ref().is_some_and(inside));
        let work = terms.map(|t| t.amount.work).reduce(|a, b| a.add(&b))?;
        // Of a whole that sizes tell, a part that they do not is not told.
        let told = !has_symbols(&work) || has_symbols(&cost.total.work) || bounded(&work, &cost).is_some();
        (told && !work.pieces().is_empty()).then(|| formula(&work, &cost))
    };
    let adjoint = session.derivatives(&callee).and_then(|[_, adjoint]| share(&adjoint));
    (share(&callee), adjoint)
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

/// A formula of a cost as people write it, in sizes alone: where data decide a part of it, what it is at most.
#[must_use]
pub fn formula(of: &Formula, cost: &Cost) -> String {
    let known = cost.positive();
    if !has_symbols(of) {
        return of.shown(&known);
    }
    match bounded(of, cost) {
        Some(most) => format!("≤ {}", most.cases(&known).shown(&known)),
        None => "not by sizes alone".to_owned(),
    }
}

/// What it is at most: each number that data decide is as much as it may be, or nothing, whichever gives more.
fn bounded(of: &Formula, cost: &Cost) -> Option<Formula> {
    let known = cost.positive();
    let mut all = Formula::default();
    for piece in of.pieces() {
        let mut told = true;
        piece.pred.visit(&mut |p| p.for_each_atom(&mut |a| told &= number(a).is_none()), &mut |_| {});
        if !told {
            return None;
        }
        let (over, under) = piece.value.parts();
        let (mut sizes, mut by_symbol) = (Poly::default(), BTreeMap::<usize, Poly>::new());
        for (monomial, c) in over.terms() {
            let mut rest = Poly::constant(*c);
            let mut symbols = Vec::new();
            for (a, power) in monomial {
                match number(a) {
                    Some(k) => symbols.extend((0..*power).map(|_| k)),
                    None => (0..*power).for_each(|_| rest = rest.mul(&Poly::atom(a.clone()))),
                }
            }
            match symbols.as_slice() {
                [] => sizes = sizes.add(&rest),
                [k] => {
                    let of = by_symbol.entry(*k).or_default();
                    *of = of.add(&rest);
                }
                _ if *c < 0 => {}
                _ => return None,
            }
        }
        let mut most = Formula::of([Piece { pred: Pred::truth(), value: Ratio::over(sizes, under) }]);
        for (k, by) in by_symbol {
            let by = over_nothing(&by, &known);
            if !by.is_zero() {
                let symbol = cost.symbols.get(k)?.most.clone().filter(|most| !has_symbols(most))?;
                most = most.add(&symbol.times(&Ratio::over(by, under)));
            }
        }
        all = all.add(&most.guarded(&piece.pred));
    }
    Some(all)
}

/// A polynomial where it is positive, and nothing elsewhere; what is subtracted goes where that is not decided.
fn over_nothing(p: &Poly, known: &Context) -> Poly {
    if known.implies(&Pred::nonneg(p)) {
        return p.clone();
    }
    if known.implies(&Pred::nonneg(&p.neg())) {
        return Poly::default();
    }
    p.terms().iter().filter(|(_, c)| *c > 0).fold(Poly::default(), |sum, (monomial, c)| {
        let powers = monomial.iter().flat_map(|(a, power)| (0..*power).map(move |_| a));
        sum.add(&powers.fold(Poly::constant(*c), |p, a| p.mul(&Poly::atom(a.clone()))))
    })
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

fn has_symbols(of: &Formula) -> bool {
    let mut found = false;
    for piece in of.pieces() {
        let mut note = |a: &Atom| found |= number(a).is_some();
        piece.value.parts().0.for_each_atom(&mut note);
        piece.pred.visit(&mut |p| p.for_each_atom(&mut note), &mut |_| {});
    }
    found
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
            let term = Formula::from(term.clone()).shown(&Context::new(bound.question().known));
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
