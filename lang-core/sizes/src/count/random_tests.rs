//! Random tests of disjoint cases, counts, sums and all operations on formulas, against enumeration
//! of a small box. Each test prints how often it reached each situation.

use super::disjoint::{Conjunction, disjoint};
use super::{DisplayNames, Formula, FormulaPiece, Ratio, UncountedReason, cases as apart, count, sum};
use crate::predicate::testing::random::*;
use crate::predicate::testing::{facts, poly};
use crate::predicate::{Atom, FactContext, Index, Poly, Pred};

const SIZES: [VarNumber; 2] = [N, M];

/// Facts about sizes: they are not negative, and a random predicate holds.
struct RandomFacts {
    pred: RandomPred,
    context: FactContext,
}

impl RandomFacts {
    fn draw(draw: &mut SplitMixRng) -> Option<Self> {
        let says = if draw.one_in(2) { RandomPred::All(Vec::new()) } else { RandomPred::draw(draw, &SIZES, 1) };
        let mut context = FactContext::new(&SIZES.map(value));
        context.assume(&says.pred(&mut CoverageTable::default())?);
        Some(Self { pred: says, context })
    }
}

fn note_uncounted(reached: &mut CoverageTable, why: Option<UncountedReason>) {
    reached.count("uncounted: data", why == Some(UncountedReason::Data));
    reached.count("uncounted: not linear", why == Some(UncountedReason::Nonlinear));
    if why == Some(UncountedReason::TooMany) {
        reached.count("uncounted: too many cases", true);
    }
}

#[test]
fn no_two_cases_hold_at_once() {
    let mut reached = CoverageTable::default();
    for (seed, mut draw) in cases(500, 1) {
        let depth = draw.below(4);
        let p = RandomPred::draw(&mut draw, &[I, J, N, M], depth);
        let (Some(pred), Some(known)) = (p.pred(&mut CoverageTable::default()), RandomFacts::draw(&mut draw)) else {
            continue;
        };
        let found = disjoint(&pred, &known.context);
        note_uncounted(&mut reached, found.as_ref().err().copied());
        let Ok(found) = found else { continue };
        reached.count("no case", found.is_empty());
        reached.count("one case", found.len() == 1);
        reached.count("some cases", found.len() > 1);
        let mut eliminated = false;
        note_existentials(&pred, &mut eliminated);
        reached.count("an existential is eliminated", eliminated);
        for at in TestPoint::all().filter(|at| known.pred.holds(at)) {
            let holds = |c: &&Conjunction| {
                c.bounds.iter().all(|p| poly_value(p, &at) >= 0) && c.equations.iter().all(|p| poly_value(p, &at) == 0)
            };
            let (here, wanted) = (found.iter().filter(holds).count(), usize::from(p.holds(&at)));
            assert_eq!(here, wanted, "seed {seed}: {p:?} is {pred}, knowing {:?}: {found:#?} at {at:?}", known.pred);
        }
    }
    reached.print_and_check("disjoint cases");
}

/// Notes whether the predicate contains an existential.
fn note_existentials(p: &Pred, found: &mut bool) {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| note_existentials(p, found)),
        _ => *found |= matches!(p, Pred::Exists(..)),
    }
}

#[test]
fn counts() {
    let mut reached = CoverageTable::default();
    for (seed, mut draw) in cases(60, 50) {
        let depth = draw.below(3);
        let p = RandomPred::draw(&mut draw, &[I, J, N, M], depth);
        let extents = [
            draw.choose(&[RandomExpr::Var(N), RandomExpr::Var(M), RandomExpr::Constant(3)]),
            match draw.below(3) {
                0 => RandomExpr::binary(
                    RandomOperator::Plus,
                    RandomExpr::Var(I),
                    RandomExpr::Constant(draw.symmetric(1)),
                ),
                1 => RandomExpr::binary(RandomOperator::Minus, RandomExpr::Var(N), RandomExpr::Constant(1)),
                _ => RandomExpr::Var(M),
            },
        ];
        let ones = draw.one_in(2);
        let of = if ones { RandomExpr::Constant(1) } else { RandomExpr::draw(&mut draw, &[I, J, N, M]) };
        let (Some(pred), Some(known)) = (p.pred(&mut CoverageTable::default()), RandomFacts::draw(&mut draw)) else {
            continue;
        };
        let indices: Vec<Index> = [I, J].into_iter().zip(&extents).map(|(i, n)| index(i, n.poly())).collect();
        let found = match ones {
            true => count(&indices, &pred, &known.context),
            false => sum(&indices, &pred, &of.poly().into(), &known.context),
        };
        note_uncounted(&mut reached, found.as_ref().err().copied());
        let Ok(found) = found else { continue };
        reached.count("counts", ones);
        reached.count("sums", !ones);
        reached.count("0 everywhere", found.pieces().is_empty());
        reached.count("one piece", found.pieces().len() == 1);
        reached.count("some pieces", found.pieces().len() > 1);
        for at in TestPoint::sizes(5).filter(|at| known.pred.holds(at)) {
            let mut wanted = 0;
            for at in (0..extents[0].value(&at)).map(|i| at.with(I, i)) {
                let inside = (0..extents[1].value(&at)).map(|j| at.with(J, j)).filter(|at| p.holds(at));
                wanted += inside.map(|at| of.value(&at)).sum::<i64>();
            }
            let shown = || format!("seed {seed}: {of:?} over {indices:?}, {p:?}: {pred}, knowing {:?}", known.pred);
            assert_eq!(formula_value(&found, &at), wanted, "{found} at {at:?}, {}", shown());
        }
    }
    reached.print_and_check("counts");
}

/// Returns the value of a formula, piece by piece. It must not have overflowed.
fn formula_value(of: &Formula, at: &TestPoint) -> i64 {
    let value = |p: &FormulaPiece| {
        let (over, under) = p.value.as_fraction();
        let (over, under) = (poly_value(over, at), i64::try_from(under).unwrap());
        assert_eq!(over % under, 0, "{:?} is no integer at {at:?}", p.value);
        over / under
    };
    of.pieces().iter().filter(|p| holds(&p.pred, &mut at.clone())).map(value).sum()
}

fn too_large(of: &Formula) -> bool {
    of.has_overflowed() || of.pieces().iter().any(|p| p.pred.has_overflowed())
}

/// A random sum of pieces: a predicate, an expression, and whether the value is its triangular
/// number.
struct RandomFormula(Vec<(RandomPred, RandomExpr, bool)>);

impl RandomFormula {
    fn draw(draw: &mut SplitMixRng) -> Self {
        let one = |draw: &mut SplitMixRng| {
            let depth = draw.below(2);
            (RandomPred::draw(draw, &SIZES, depth), RandomExpr::draw(draw, &SIZES), draw.one_in(4))
        };
        Self((0..1 + draw.below(3)).map(|_| one(draw)).collect())
    }

    fn formula(&self) -> Option<Formula> {
        let one = |(pred, value, triangle): &(RandomPred, RandomExpr, bool)| {
            let (pred, p) = (pred.pred(&mut CoverageTable::default())?, value.poly());
            let value = if *triangle { Ratio::new(p.mul(&p.add_constant(1)), 2) } else { p.into() };
            Some(FormulaPiece { pred, value })
        };
        Some(Formula::from_pieces(self.0.iter().map(one).collect::<Option<Vec<_>>>()?))
    }

    fn value(&self, at: &TestPoint) -> i64 {
        let one = |(_, value, triangle): &(RandomPred, RandomExpr, bool)| {
            let v = value.value(at);
            if *triangle { v * (v + 1) / 2 } else { v }
        };
        self.0.iter().filter(|(pred, ..)| pred.holds(at)).map(one).sum()
    }
}

#[test]
fn formulas() {
    let mut reached = CoverageTable::default();
    let points: Vec<TestPoint> = TestPoint::sizes(7).collect();
    for (seed, mut draw) in cases(500, 10) {
        let (a, b, p) =
            (RandomFormula::draw(&mut draw), RandomFormula::draw(&mut draw), RandomPred::draw(&mut draw, &SIZES, 1));
        let (by, var) = (RandomExpr::draw(&mut draw, &SIZES), draw.choose(&SIZES));
        let (Some(f), Some(g), Some(pred), Some(known)) =
            (a.formula(), b.formula(), p.pred(&mut CoverageTable::default()), RandomFacts::draw(&mut draw))
        else {
            continue;
        };
        let context = &known.context;
        let cases = apart::split_cases(&f, context);
        reached.count("cases", cases.is_some());
        reached.count("cases: fewer pieces", cases.as_ref().is_some_and(|c| c.pieces().len() < f.pieces().len()));
        reached.count("cases: more pieces", cases.as_ref().is_some_and(|c| c.pieces().len() > f.pieces().len()));
        let put = by.poly();
        // Each result with its expected value, and whether it is exact only where the facts hold.
        type Says<'s> = Box<dyn Fn(&TestPoint) -> i64 + 's>;
        let (of_a, of_b) = (|at: &TestPoint| a.value(at), |at: &TestPoint| b.value(at));
        let results: [(&'static str, Formula, bool, Says<'_>); 9] = [
            ("of", f.clone(), false, Box::new(of_a)),
            ("add", f.add(&g), false, Box::new(|at| of_a(at) + of_b(at))),
            ("times", f.mul_ratio(&put.clone().into()), false, Box::new(|at| of_a(at) * by.value(at))),
            ("product", f.mul(&g), false, Box::new(|at| of_a(at) * of_b(at))),
            ("guarded", f.restrict(&pred), false, Box::new(|at| if p.holds(at) { of_a(at) } else { 0 })),
            (
                "substitute",
                f.substitute(&|x| (*x == atom(var)).then(|| put.clone())),
                false,
                Box::new(|at| of_a(&at.with(var, by.value(at)))),
            ),
            ("from a polynomial", put.clone().into(), false, Box::new(|at| by.value(at))),
            ("simplify", f.simplify(context), true, Box::new(of_a)),
            ("cases", f.to_cases(context), true, Box::new(of_a)),
        ];
        for (what, result, only_known, says) in &results {
            if too_large(result) {
                reached.count("an operation overflows", true);
                continue;
            }
            reached.count(what, true);
            for at in points.iter().filter(|at| !only_known || known.pred.holds(at)) {
                let shown = || format!("seed {seed}: {what} of {f}, by {put}, knowing {:?}", known.pred);
                assert_eq!(formula_value(result, at), says(at), "{result} at {at:?}, {}", shown());
                let evaluated = result.eval(&mut |a| at.atom(a));
                reached.count("eval", evaluated.is_some());
                assert!(evaluated.is_none_or(|v| v == says(at).into()), "eval, {}", shown());
            }
        }
        for at in points.iter().filter(|at| known.pred.holds(at)) {
            let here = |c: &Formula| c.pieces().iter().filter(|p| holds(&p.pred, &mut at.clone())).count();
            let one = cases.as_ref().is_none_or(|c| too_large(c) || here(c) <= 1);
            assert!(one, "seed {seed}: {cases:#?} at {at:?}, knowing {:?}", known.pred);
        }
        let text = f.math_text(context, &DisplayNames::empty());
        let read = parse_cases(&text);
        reached.count("shown: read again", read.is_some());
        for at in points.iter().filter(|at| known.pred.holds(at)) {
            let Some(read) = &read else { break };
            assert_eq!(
                evaluate_cases(read, at),
                a.value(at),
                "seed {seed}: {text} of {f} at {at:?}, knowing {:?}",
                known.pred
            );
        }
    }
    reached.print_and_check("formulas");
}

/// A case as printed: a polynomial, its denominator, and the comparisons that must hold.
type ParsedCase = (Poly, i64, Vec<(Poly, bool)>);

/// Parses a printed formula, if it contains only sums of products and comparisons.
fn parse_cases(text: &str) -> Option<Vec<ParsedCase>> {
    let beyond = ["⌊", "≠", "mod", "min", "max", "[", "any", "!", "||", "x", "r(", "_", "//", "%"];
    if beyond.iter().any(|sign| text.contains(sign)) {
        return None;
    }
    let plain = |text: &str| {
        let power = |text: String, (k, digit)| text.replace(digit, &format!("^{k}"));
        let text = text.replace('·', "*").replace('−', "-").replace('≤', "<=").replace("&&", ",");
        (0..).zip("⁰¹²³⁴⁵⁶⁷⁸⁹".chars()).fold(text, power)
    };
    let case = |case: &str| {
        let (value, pred) = case.split_once(" where ").unwrap_or((case, ""));
        let (over, under) = value.rsplit_once('/').unwrap_or((value, "1"));
        Some((poly(&plain(over)), under.parse().ok()?, facts(&plain(pred))))
    };
    text.split(", ").map(case).collect()
}

/// Evaluates the cases at sizes, by name.
fn evaluate_cases(cases: &[ParsedCase], at: &TestPoint) -> i64 {
    let size = |a: &Atom| match a {
        Atom::Local(_, name) => Some(at.var(if name == "n" { N } else { M })),
        _ => None,
    };
    let number = |p: &Poly| p.eval(&mut |a| size(a)).unwrap();
    let here = |case: &&ParsedCase| case.2.iter().all(|(p, zero)| number(p) == 0 || !zero && number(p) > 0);
    cases.iter().filter(here).map(|(over, under, _)| number(over) / under).sum()
}
