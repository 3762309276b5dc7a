//! Random tests of all operations on polynomials, predicates and contexts, against enumeration of a
//! small box. Each test prints how often it reached each situation.

use super::testing::drawn::*;
use super::{Context, Poly, Pred, poly};

/// The variables of random expressions.
const ALL: [Var; 4] = [I, J, N, M];

/// Fails if the predicate differs from `says` at one of the points. An overflowed predicate, such
/// as one with a division by the constant 0, is skipped.
#[track_caller]
fn judge(made: &Pred, points: &[Point], says: impl Fn(&Point) -> bool, from: &dyn Fn() -> String) {
    let points = if made.overflowed() { &[] } else { points };
    for at in points {
        assert_eq!(holds(made, &mut at.clone()), says(at), "{made} at {at:?}, {}", from());
    }
}

#[test]
fn polynomials() {
    let mut reached = Reached::default();
    let points: Vec<Point> = Point::all().collect();
    for (seed, mut draw) in cases(1500, 1) {
        let a = Expr::draw(&mut draw, &ALL);
        let b = if draw.once_in(6) { Expr::Constant(0) } else { Expr::draw(&mut draw, &ALL) };
        let [p, q] = [a.poly(), b.poly()];
        let (c, k, var) = (draw.small(4), draw.below(4), draw.one_of(&ALL));
        let (put, of_p, of_q) = (p.substitute(&|x| (*x == atom(var)).then(|| q.clone())), p.div(&q), p.rem(&q));
        let by = draw.one_of(&[value(var), value(var).scale(2), value(I).mul(&value(var)), q.clone()]);
        let (quotient, rest) = p.split_by(&by);
        let linear = p.linear_in(&atom(var));
        let made: [(&str, Poly); 13] = [
            ("add", p.add(&q)),
            ("sub", p.sub(&q)),
            ("mul", p.mul(&q)),
            ("neg", p.neg()),
            ("plus", p.plus(c.into())),
            ("scale", p.scale(c.into())),
            ("pow", p.pow(u32::try_from(k).unwrap())),
            ("least", p.least(&q)),
            ("greatest", p.greatest(&q)),
            ("div", of_p.clone().unwrap_or_default()),
            ("rem", of_q.clone().unwrap_or_default()),
            ("split_by", by.mul(&quotient).add(&rest)),
            ("linear_in", linear.clone().map_or_else(|| p.clone(), |(c, rest)| value(var).scale(c).add(&rest))),
        ];
        reached.note("div", of_p.is_some());
        reached.note("div: by the constant 0", of_p.is_none());
        assert_eq!((of_p.is_none(), of_q.is_none()), (q.is_zero(), q.is_zero()));
        reached.note("split_by: something is divided", !quotient.is_zero() && !rest.is_zero());
        reached.note("linear_in: it is", linear.is_some());
        reached.note("linear_in: it is not", linear.is_none() && p.mentions(&atom(var)));
        reached.note("substitute", p.mentions(&atom(var)) && !put.overflowed());
        if put.overflowed() {
            reached.note("substitute: divides by the constant 0", true);
        }
        assert!(linear.is_none_or(|(c, rest)| c != 0 && !rest.mentions(&atom(var))));
        for at in &points {
            let (x, y) = (a.value(at), b.value(at));
            let shown = |what: &str| format!("seed {seed}: {what} of {p} and {q} at {at:?}");
            let by_zero = |p: &Poly| p.eval(&mut |a| at.atom(a)).is_none();
            for (what, made) in &made {
                let wanted = match *what {
                    "add" => x + y,
                    "sub" => x - y,
                    "mul" => x * y,
                    "neg" => -x,
                    "plus" => x + c,
                    "scale" => x * c,
                    "pow" => (0..k).fold(1, |power, _| power * x),
                    "least" => Ord::min(x, y),
                    "greatest" => Ord::max(x, y),
                    // The greatest integer not above the quotient, and the remainder.
                    "div" | "rem" if y == 0 => 0,
                    "div" => (-1000..1000).rev().find(|z| if y > 0 { z * y <= x } else { z * y >= x }).unwrap(),
                    "rem" => (0..y.abs()).map(|r| r * y.signum()).find(|r| (x - r) % y == 0).unwrap(),
                    _ => x,
                };
                assert_eq!(number(made, at), wanted, "{}", shown(what));
            }
            if !put.overflowed() {
                assert_eq!(number(&put, at), a.value(&at.with(var, y)), "{}", shown("substitute"));
            }
            if !p.mentions(&atom(var)) {
                assert_eq!(a.value(&at.with(var, 7)), x, "{}", shown("mentions"));
            }
            let evaluated = p.eval(&mut |a| at.atom(a));
            reached.note("eval", evaluated.is_some());
            reached.note("eval: none", by_zero(&p));
            assert!(evaluated.is_none_or(|v| v == x), "{}", shown("eval"));
        }
    }
    for (a, b) in (-9..10).flat_map(|a| (-4..5).filter(|b| *b != 0).map(move |b| (a, b))) {
        let rest = a - b * poly::floor_div(a, b);
        reached.note("floor_div", true);
        assert!((0..b.abs()).contains(&(rest * b.signum())), "{a} // {b}");
    }
    reached.show("polynomials");
}

#[test]
fn predicates() {
    let mut reached = Reached::default();
    let points: Vec<Point> = Point::all().collect();
    for (seed, mut draw) in cases(800, 1) {
        let depth = draw.below(4);
        let [p, q] = [(); 2].map(|()| Drawn::draw(&mut draw, &ALL, depth));
        let (Some(made), Some(other)) = (p.pred(&mut reached), q.pred(&mut reached)) else {
            reached.note("a polynomial overflows", true);
            continue;
        };
        let from = || format!("seed {seed}: {p:?} is {made}; {q:?} is {other}");
        judge(&made, &points, |at| p.holds(at), &from);
        judge(&made.negated(), &points, |at| !p.holds(at), &from);
        judge(&made.negated().negated(), &points, |at| p.holds(at), &from);
        judge(&made.and(&other), &points, |at| p.holds(at) && q.holds(at), &from);
        judge(&Pred::all([other.clone(), made.negated()]), &points, |at| !p.holds(at) && q.holds(at), &from);
        judge(&Pred::any_of([made.clone(), other.clone()]), &points, |at| p.holds(at) || q.holds(at), &from);
        judge(&made.map(&Poly::clone), &points, |at| p.holds(at), &from);
        for at in &points {
            assert_eq!(made.conjuncts().iter().all(|c| holds(c, &mut at.clone())), p.holds(at), "{}", from());
        }

        // An index whose range the box contains completely.
        let (var, extent) = (draw.one_of(&[I, J]), draw.one_of(&[N, M]));
        let own = index(var, value(extent));
        let found = |at: &Point| (0..at.var(extent)).any(|v| p.holds(&at.with(var, v)));
        for (some, what) in [(exists(&own, &made, &mut reached), "exists"), (some(&own, &made, &mut reached), "some")] {
            assert!(!some.mentions(&atom(var)), "{what}: {some}, {}", from());
            judge(&some, &points, found, &|| format!("{what}, {}", from()));
            judge(&some.negated(), &points, |at| !found(at), &|| format!("not {what}, {}", from()));
        }

        let by = Expr::draw(&mut draw, &ALL);
        let put = made.substitute(&|a| (*a == atom(var)).then(|| by.poly()));
        if !put.overflowed() {
            judge(&put, &points, |at| p.holds(&at.with(var, by.value(at))), &|| format!("{by:?}, {}", from()));
        }
        if let Some(solution) = made.solution(&atom(var)) {
            reached.note("solution", true);
            assert!(!solution.mentions(&atom(var)), "{}", from());
            for at in points.iter().filter(|at| p.holds(at)) {
                assert_eq!(number(&solution, at), at.var(var), "{solution} at {at:?}, {}", from());
            }
        }
        if !made.mentions(&atom(var)) {
            reached.note("mentions: not", true);
            judge(&made, &points, |at| p.holds(&at.with(var, 5)), &from);
        }
        data(&p, &made, &points, &mut reached, &from);
        reached.note("is_true", made.is_true());
        reached.note("is_false", made.is_false());
    }
    reached.show("predicates");
}

/// Checks the operations that concern data.
fn data(p: &Drawn, made: &Pred, points: &[Point], reached: &mut Reached, from: &dyn Fn() -> String) {
    let worlds: Vec<Point> = points.iter().flat_map(|at| (0..3).map(|world| at.in_world(world))).collect();
    let known = made.known();
    reached.note("known", true);
    reached.note("known: leaves something out", known != *made && !known.is_true());
    assert!(!known.is_opaque(), "{known}, {}", from());
    for at in worlds.iter().filter(|at| p.holds(at) && !known.overflowed()) {
        assert!(holds(&known, &mut at.clone()), "known: {known} at {at:?}, {}", from());
    }
    reached.note("is_opaque", made.is_opaque());
    if !made.is_opaque() {
        judge(made, &worlds, |at| p.holds(&at.in_world(0)), from);
        judge(&known, points, |at| p.holds(at), from);
    }
    let asks = |p: &Pred| {
        let mut found = false;
        p.visit(&mut |_| {}, &mut |_| found = true);
        found
    };
    let told = made.replace_opaque(&|x| x.array.then(|| even(&x.at[0])));
    reached.note("replace_opaque", told != *made);
    reached.note("replace_opaque: all of them", asks(made) && !asks(&told));
    judge(&told, points, |at| p.holds(&at.in_world(EVEN)), &|| format!("told, {}", from()));
}

/// Contexts of random predicates, with or without the ranges of indices: checks their answers about
/// other predicates.
#[test]
fn contexts() {
    let mut reached = Reached::default();
    for (seed, mut draw) in cases(800, 1) {
        let depth = draw.below(3);
        let [k, p] = [(); 2].map(|()| Drawn::draw(&mut draw, &ALL, depth));
        let (Some(known), Some(made)) = (k.pred(&mut reached), p.pred(&mut reached)) else {
            reached.note("a polynomial overflows", true);
            continue;
        };
        let mut context = Context::new(&[value(N), value(M)]);
        let (entered, boxed) = (draw.once_in(2), draw.once_in(2));
        if entered {
            reached.note("enter", true);
            context.enter(&index(I, value(N)));
        }
        if boxed {
            // Assume that all points are in the box.
            context.assume(&Pred::all([N, M].map(|n| Pred::at_most(&value(n), &Poly::constant(2)))));
            context.assume(&Pred::all([I, J].map(|i| Pred::inside(&value(i).plus(1), &Poly::constant(4)))));
        }
        let outside = (context.clone(), context.mark());
        let range = |at: &&Point| !entered || (0..at.var(N)).contains(&at.var(I));
        let around: Vec<Point> = Point::all().filter(|at| range(&at)).collect();
        context.assume(&known);
        let inside: Vec<Point> = around.iter().filter(|at| k.holds(at)).cloned().collect();
        let from = || format!("seed {seed}, entered {entered}, boxed {boxed}: {p:?} is {made}, knowing {k:?}: {known}");

        let contradictory = context.contradictory();
        assert!(!contradictory || inside.is_empty(), "contradictory, {}", from());
        reached.note("contradictory", contradictory);
        reached.note("holds nowhere in the box", boxed && inside.is_empty());
        reached.note("holds nowhere in the box: told", boxed && contradictory);
        ask(&context, &made, &inside, &|at| p.holds(at), boxed, &mut reached, &from);

        // Tight bounds.
        let form = Expr::draw(&mut draw, &ALL);
        if let Some(least) = inside.iter().map(|at| form.value(at)).min() {
            let above = |by: i64| Pred::nonneg(&form.poly().plus(i128::from(-least - by)));
            let (so, beyond) = (context.implies(&above(0)), context.implies(&above(1)));
            assert!(!beyond, "{} at no point, {}", above(1), from());
            assert!(!context.refutes(&above(0)), "{} at a point, {}", above(0), from());
            reached.note("a least value in the box", boxed);
            reached.note("a least value in the box: proved", boxed && so);
        }

        // The assumption is released.
        context.release(outside.1);
        reached.note("release", true);
        ask(&context, &made, &around, &|at| p.holds(at), boxed, &mut Reached::default(), &from);
        ask(&outside.0, &made, &around, &|at| p.holds(at), boxed, &mut reached, &from);
    }
    reached.show("contexts");
}

/// Checks that the answers of a context about a predicate are true at all points where its facts
/// hold.
fn ask(
    context: &Context,
    made: &Pred,
    inside: &[Point],
    says: &dyn Fn(&Point) -> bool,
    boxed: bool,
    reached: &mut Reached,
    from: &dyn Fn() -> String,
) {
    let (always, never) = (inside.iter().all(says), !inside.iter().any(says));
    let (implied, refuted) = (context.implies(made), context.refutes(made));
    assert!(!implied || always, "implied, {}", from());
    assert!(!refuted || never, "refuted, {}", from());
    // If the predicate depends on data, a fact in one world need not hold in all, so completeness
    // is not measured.
    let told = boxed && !made.is_opaque();
    reached.note("implies", implied);
    reached.note("so everywhere in the box", told && always);
    reached.note("so everywhere in the box: implied", told && implied);
    reached.note("refutes", refuted);
    reached.note("so nowhere in the box", told && never);
    reached.note("so nowhere in the box: refuted", told && refuted);
    let simple = context.simplify(made);
    judge(&simple, inside, says, &|| format!("simplify, {}", from()));
    let constant = |p: &Pred| p.is_true() || p.is_false();
    reached.note("simplify", true);
    reached.note("simplify: to a constant", constant(&simple) && !constant(made));
    reached.note("simplify: to less", simple.size() < made.size() && !constant(&simple));
}
