//! Random tests of disjoint cases, counts, sums and all operations on formulas, against enumeration
//! of a small box. Each test prints how often it reached each situation.

use super::disjoint::{Conjunction, disjoint};
use super::{Formula, Names, Piece, Ratio, Uncounted, cases as apart, count, sum};
use crate::predicate::testing::drawn::*;
use crate::predicate::testing::{facts, poly};
use crate::predicate::{Atom, Context, Index, Poly, Pred};

const SIZES: [Var; 2] = [N, M];

/// Facts about sizes: they are not negative, and a random predicate holds.
struct Known {
    says: Drawn,
    context: Context,
}

impl Known {
    fn draw(draw: &mut Draw) -> Option<Self> {
        let says = if draw.once_in(2) { Drawn::All(Vec::new()) } else { Drawn::draw(draw, &SIZES, 1) };
        let mut context = Context::new(&SIZES.map(value));
        context.assume(&says.pred(&mut Reached::default())?);
        Some(Self { says, context })
    }
}

fn note_uncounted(reached: &mut Reached, why: Option<Uncounted>) {
    reached.note("uncounted: data", why == Some(Uncounted::Data));
    reached.note("uncounted: not linear", why == Some(Uncounted::Nonlinear));
    if why == Some(Uncounted::TooMany) {
        reached.note("uncounted: too many cases", true);
    }
}

#[test]
fn no_two_cases_hold_at_once() {
    let mut reached = Reached::default();
    for (seed, mut draw) in cases(500, 1) {
        let depth = draw.below(4);
        let p = Drawn::draw(&mut draw, &[I, J, N, M], depth);
        let (Some(made), Some(known)) = (p.pred(&mut Reached::default()), Known::draw(&mut draw)) else { continue };
        let found = disjoint(&made, &known.context);
        note_uncounted(&mut reached, found.as_ref().err().copied());
        let Ok(found) = found else { continue };
        reached.note("no case", found.is_empty());
        reached.note("one case", found.len() == 1);
        reached.note("some cases", found.len() > 1);
        let mut eliminated = false;
        any(&made, &mut eliminated);
        reached.note("an existential is eliminated", eliminated);
        for at in Point::all().filter(|at| known.says.holds(at)) {
            let holds = |c: &&Conjunction| {
                c.bounds.iter().all(|p| number(p, &at) >= 0) && c.equations.iter().all(|p| number(p, &at) == 0)
            };
            let (here, wanted) = (found.iter().filter(holds).count(), usize::from(p.holds(&at)));
            assert_eq!(here, wanted, "seed {seed}: {p:?} is {made}, knowing {:?}: {found:#?} at {at:?}", known.says);
        }
    }
    reached.show("disjoint cases");
}

/// Notes whether the predicate contains an existential.
fn any(p: &Pred, found: &mut bool) {
    match p {
        Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| any(p, found)),
        _ => *found |= matches!(p, Pred::Any(..)),
    }
}

#[test]
fn counts() {
    let mut reached = Reached::default();
    for (seed, mut draw) in cases(60, 50) {
        let depth = draw.below(3);
        let p = Drawn::draw(&mut draw, &[I, J, N, M], depth);
        let extents = [
            draw.one_of(&[Expr::Var(N), Expr::Var(M), Expr::Constant(3)]),
            match draw.below(3) {
                0 => Expr::two(Operator::Plus, Expr::Var(I), Expr::Constant(draw.small(1))),
                1 => Expr::two(Operator::Minus, Expr::Var(N), Expr::Constant(1)),
                _ => Expr::Var(M),
            },
        ];
        let ones = draw.once_in(2);
        let of = if ones { Expr::Constant(1) } else { Expr::draw(&mut draw, &[I, J, N, M]) };
        let (Some(made), Some(known)) = (p.pred(&mut Reached::default()), Known::draw(&mut draw)) else { continue };
        let indices: Vec<Index> = [I, J].into_iter().zip(&extents).map(|(i, n)| index(i, n.poly())).collect();
        let found = match ones {
            true => count(&indices, &made, &known.context),
            false => sum(&indices, &made, &of.poly().into(), &known.context),
        };
        note_uncounted(&mut reached, found.as_ref().err().copied());
        let Ok(found) = found else { continue };
        reached.note("counts", ones);
        reached.note("sums", !ones);
        reached.note("0 everywhere", found.pieces().is_empty());
        reached.note("one piece", found.pieces().len() == 1);
        reached.note("some pieces", found.pieces().len() > 1);
        for at in Point::sizes(5).filter(|at| known.says.holds(at)) {
            let mut wanted = 0;
            for at in (0..extents[0].value(&at)).map(|i| at.with(I, i)) {
                let inside = (0..extents[1].value(&at)).map(|j| at.with(J, j)).filter(|at| p.holds(at));
                wanted += inside.map(|at| of.value(&at)).sum::<i64>();
            }
            let shown = || format!("seed {seed}: {of:?} over {indices:?}, {p:?}: {made}, knowing {:?}", known.says);
            assert_eq!(total(&found, &at), wanted, "{found} at {at:?}, {}", shown());
        }
    }
    reached.show("counts");
}

/// Returns the value of a formula, piece by piece. It must not have overflowed.
fn total(of: &Formula, at: &Point) -> i64 {
    let value = |p: &Piece| {
        let (over, under) = p.value.parts();
        let (over, under) = (number(over, at), i64::try_from(under).unwrap());
        assert_eq!(over % under, 0, "{:?} is no integer at {at:?}", p.value);
        over / under
    };
    of.pieces().iter().filter(|p| holds(&p.pred, &mut at.clone())).map(value).sum()
}

fn too_large(of: &Formula) -> bool {
    of.overflowed() || of.pieces().iter().any(|p| p.pred.overflowed())
}

/// A random sum of pieces: a predicate, an expression, and whether the value is its triangular
/// number.
struct Sum(Vec<(Drawn, Expr, bool)>);

impl Sum {
    fn draw(draw: &mut Draw) -> Self {
        let one = |draw: &mut Draw| {
            let depth = draw.below(2);
            (Drawn::draw(draw, &SIZES, depth), Expr::draw(draw, &SIZES), draw.once_in(4))
        };
        Self((0..1 + draw.below(3)).map(|_| one(draw)).collect())
    }

    fn formula(&self) -> Option<Formula> {
        let one = |(pred, value, triangle): &(Drawn, Expr, bool)| {
            let (pred, p) = (pred.pred(&mut Reached::default())?, value.poly());
            let value = if *triangle { Ratio::over(p.mul(&p.plus(1)), 2) } else { p.into() };
            Some(Piece { pred, value })
        };
        Some(Formula::of(self.0.iter().map(one).collect::<Option<Vec<_>>>()?))
    }

    fn value(&self, at: &Point) -> i64 {
        let one = |(_, value, triangle): &(Drawn, Expr, bool)| {
            let v = value.value(at);
            if *triangle { v * (v + 1) / 2 } else { v }
        };
        self.0.iter().filter(|(pred, ..)| pred.holds(at)).map(one).sum()
    }
}

#[test]
fn formulas() {
    let mut reached = Reached::default();
    let points: Vec<Point> = Point::sizes(7).collect();
    for (seed, mut draw) in cases(500, 10) {
        let (a, b, p) = (Sum::draw(&mut draw), Sum::draw(&mut draw), Drawn::draw(&mut draw, &SIZES, 1));
        let (by, var) = (Expr::draw(&mut draw, &SIZES), draw.one_of(&SIZES));
        let (Some(f), Some(g), Some(pred), Some(known)) =
            (a.formula(), b.formula(), p.pred(&mut Reached::default()), Known::draw(&mut draw))
        else {
            continue;
        };
        let context = &known.context;
        let cases = apart::cases(&f, context);
        reached.note("cases", cases.is_some());
        reached.note("cases: fewer pieces", cases.as_ref().is_some_and(|c| c.pieces().len() < f.pieces().len()));
        reached.note("cases: more pieces", cases.as_ref().is_some_and(|c| c.pieces().len() > f.pieces().len()));
        let put = by.poly();
        // Each result with its expected value, and whether it is exact only where the facts hold.
        type Says<'s> = Box<dyn Fn(&Point) -> i64 + 's>;
        let (of_a, of_b) = (|at: &Point| a.value(at), |at: &Point| b.value(at));
        let made: [(&'static str, Formula, bool, Says<'_>); 9] = [
            ("of", f.clone(), false, Box::new(of_a)),
            ("add", f.add(&g), false, Box::new(|at| of_a(at) + of_b(at))),
            ("times", f.times(&put.clone().into()), false, Box::new(|at| of_a(at) * by.value(at))),
            ("product", f.product(&g), false, Box::new(|at| of_a(at) * of_b(at))),
            ("guarded", f.guarded(&pred), false, Box::new(|at| if p.holds(at) { of_a(at) } else { 0 })),
            (
                "substitute",
                f.substitute(&|x| (*x == atom(var)).then(|| put.clone())),
                false,
                Box::new(|at| of_a(&at.with(var, by.value(at)))),
            ),
            ("from a polynomial", put.clone().into(), false, Box::new(|at| by.value(at))),
            ("simplify", f.simplify(context), true, Box::new(of_a)),
            ("cases", f.cases(context), true, Box::new(of_a)),
        ];
        for (what, made, only_known, says) in &made {
            if too_large(made) {
                reached.note("an operation overflows", true);
                continue;
            }
            reached.note(what, true);
            for at in points.iter().filter(|at| !only_known || known.says.holds(at)) {
                let shown = || format!("seed {seed}: {what} of {f}, by {put}, knowing {:?}", known.says);
                assert_eq!(total(made, at), says(at), "{made} at {at:?}, {}", shown());
                let evaluated = made.eval(&mut |a| at.atom(a));
                reached.note("eval", evaluated.is_some());
                assert!(evaluated.is_none_or(|v| v == says(at).into()), "eval, {}", shown());
            }
        }
        for at in points.iter().filter(|at| known.says.holds(at)) {
            let here = |c: &Formula| c.pieces().iter().filter(|p| holds(&p.pred, &mut at.clone())).count();
            let one = cases.as_ref().is_none_or(|c| too_large(c) || here(c) <= 1);
            assert!(one, "seed {seed}: {cases:#?} at {at:?}, knowing {:?}", known.says);
        }
        let text = f.shown(context, &Names::own());
        let read = read(&text);
        reached.note("shown: read again", read.is_some());
        for at in points.iter().filter(|at| known.says.holds(at)) {
            let Some(read) = &read else { break };
            assert_eq!(told(read, at), a.value(at), "seed {seed}: {text} of {f} at {at:?}, knowing {:?}", known.says);
        }
    }
    reached.show("formulas");
}

/// A case as printed: a polynomial, its denominator, and the comparisons that must hold.
type Told = (Poly, i64, Vec<(Poly, bool)>);

/// Parses a printed formula, if it contains only sums of products and comparisons.
fn read(text: &str) -> Option<Vec<Told>> {
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
fn told(cases: &[Told], at: &Point) -> i64 {
    let size = |a: &Atom| match a {
        Atom::Local(_, name) => Some(at.var(if name == "n" { N } else { M })),
        _ => None,
    };
    let number = |p: &Poly| p.eval(&mut |a| size(a)).unwrap();
    let here = |case: &&Told| case.2.iter().all(|(p, zero)| number(p) == 0 || !zero && number(p) > 0);
    cases.iter().filter(here).map(|(over, under, _)| number(over) / under).sum()
}
