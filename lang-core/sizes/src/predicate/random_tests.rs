//! Random tests of all operations on polynomials, predicates and contexts, against enumeration of a
//! small box. Each test prints how often it reached each situation.

use super::testing::random::*;
use super::{FactContext, Poly, Pred, poly};

/// The variables of random expressions.
const ALL_VARS: [VarNumber; 4] = [I, J, N, M];

/// Fails if the predicate differs from `says` at one of the points. An overflowed predicate, such
/// as one with a division by the constant 0, is skipped.
#[track_caller]
fn assert_equivalent(pred: &Pred, points: &[TestPoint], says: impl Fn(&TestPoint) -> bool, from: &dyn Fn() -> String) {
    let points = if pred.has_overflowed() { &[] } else { points };
    for at in points {
        assert_eq!(holds(pred, &mut at.clone()), says(at), "{pred} at {at:?}, {}", from());
    }
}

#[test]
fn polynomials() {
    let mut reached = CoverageTable::default();
    let points: Vec<TestPoint> = TestPoint::all().collect();
    for (seed, mut draw) in cases(1500, 1) {
        let a = RandomExpr::draw(&mut draw, &ALL_VARS);
        let b = if draw.one_in(6) { RandomExpr::Constant(0) } else { RandomExpr::draw(&mut draw, &ALL_VARS) };
        let [p, q] = [a.poly(), b.poly()];
        let (c, k, var) = (draw.symmetric(4), draw.below(4), draw.choose(&ALL_VARS));
        let (put, of_p, of_q) = (p.substitute(&|x| (*x == atom(var)).then(|| q.clone())), p.div(&q), p.rem(&q));
        let by = draw.choose(&[value(var), value(var).scale(2), value(I).mul(&value(var)), q.clone()]);
        let (quotient, rest) = p.divide_by_term(&by);
        let linear = p.linear_in(&atom(var));
        let results: [(&str, Poly); 13] = [
            ("add", p.add(&q)),
            ("sub", p.sub(&q)),
            ("mul", p.mul(&q)),
            ("neg", p.neg()),
            ("plus", p.add_constant(c.into())),
            ("scale", p.scale(c.into())),
            ("pow", p.pow(u32::try_from(k).unwrap())),
            ("least", p.minimum(&q)),
            ("greatest", p.maximum(&q)),
            ("div", of_p.clone().unwrap_or_default()),
            ("rem", of_q.clone().unwrap_or_default()),
            ("split_by", by.mul(&quotient).add(&rest)),
            ("linear_in", linear.clone().map_or_else(|| p.clone(), |(c, rest)| value(var).scale(c).add(&rest))),
        ];
        reached.count("div", of_p.is_some());
        reached.count("div: by the constant 0", of_p.is_none());
        assert_eq!((of_p.is_none(), of_q.is_none()), (q.is_zero(), q.is_zero()));
        reached.count("split_by: something is divided", !quotient.is_zero() && !rest.is_zero());
        reached.count("linear_in: it is", linear.is_some());
        reached.count("linear_in: it is not", linear.is_none() && p.mentions(&atom(var)));
        reached.count("substitute", p.mentions(&atom(var)) && !put.has_overflowed());
        if put.has_overflowed() {
            reached.count("substitute: divides by the constant 0", true);
        }
        assert!(linear.is_none_or(|(c, rest)| c != 0 && !rest.mentions(&atom(var))));
        for at in &points {
            let (x, y) = (a.value(at), b.value(at));
            let shown = |what: &str| format!("seed {seed}: {what} of {p} and {q} at {at:?}");
            let by_zero = |p: &Poly| p.eval(&mut |a| at.atom(a)).is_none();
            for (what, result) in &results {
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
                assert_eq!(poly_value(result, at), wanted, "{}", shown(what));
            }
            if !put.has_overflowed() {
                assert_eq!(poly_value(&put, at), a.value(&at.with(var, y)), "{}", shown("substitute"));
            }
            if !p.mentions(&atom(var)) {
                assert_eq!(a.value(&at.with(var, 7)), x, "{}", shown("mentions"));
            }
            let evaluated = p.eval(&mut |a| at.atom(a));
            reached.count("eval", evaluated.is_some());
            reached.count("eval: none", by_zero(&p));
            assert!(evaluated.is_none_or(|v| v == x), "{}", shown("eval"));
        }
    }
    for (a, b) in (-9..10).flat_map(|a| (-4..5).filter(|b| *b != 0).map(move |b| (a, b))) {
        let rest = a - b * poly::floor_div(a, b);
        reached.count("floor_div", true);
        assert!((0..b.abs()).contains(&(rest * b.signum())), "{a} // {b}");
    }
    reached.print_and_check("polynomials");
}

#[test]
fn predicates() {
    let mut reached = CoverageTable::default();
    let points: Vec<TestPoint> = TestPoint::all().collect();
    for (seed, mut draw) in cases(800, 1) {
        let depth = draw.below(4);
        let [p, q] = [(); 2].map(|()| RandomPred::draw(&mut draw, &ALL_VARS, depth));
        let (Some(pred), Some(other)) = (p.pred(&mut reached), q.pred(&mut reached)) else {
            reached.count("a polynomial overflows", true);
            continue;
        };
        let from = || format!("seed {seed}: {p:?} is {pred}; {q:?} is {other}");
        assert_equivalent(&pred, &points, |at| p.holds(at), &from);
        assert_equivalent(&pred.negated(), &points, |at| !p.holds(at), &from);
        assert_equivalent(&pred.negated().negated(), &points, |at| p.holds(at), &from);
        assert_equivalent(&pred.and(&other), &points, |at| p.holds(at) && q.holds(at), &from);
        assert_equivalent(
            &Pred::all([other.clone(), pred.negated()]),
            &points,
            |at| !p.holds(at) && q.holds(at),
            &from,
        );
        assert_equivalent(
            &Pred::any_of([pred.clone(), other.clone()]),
            &points,
            |at| p.holds(at) || q.holds(at),
            &from,
        );
        assert_equivalent(&pred.map(&Poly::clone), &points, |at| p.holds(at), &from);
        for at in &points {
            assert_eq!(pred.conjuncts().iter().all(|c| holds(c, &mut at.clone())), p.holds(at), "{}", from());
        }

        // An index whose range the box contains completely.
        let (var, extent) = (draw.choose(&[I, J]), draw.choose(&[N, M]));
        let own = index(var, value(extent));
        let found = |at: &TestPoint| (0..at.var(extent)).any(|v| p.holds(&at.with(var, v)));
        for (some, what) in
            [(exists(&own, &pred, &mut reached), "exists"), (raw_exists(&own, &pred, &mut reached), "some")]
        {
            assert!(!some.mentions(&atom(var)), "{what}: {some}, {}", from());
            assert_equivalent(&some, &points, found, &|| format!("{what}, {}", from()));
            assert_equivalent(&some.negated(), &points, |at| !found(at), &|| format!("not {what}, {}", from()));
        }

        let by = RandomExpr::draw(&mut draw, &ALL_VARS);
        let put = pred.substitute(&|a| (*a == atom(var)).then(|| by.poly()));
        if !put.has_overflowed() {
            assert_equivalent(&put, &points, |at| p.holds(&at.with(var, by.value(at))), &|| {
                format!("{by:?}, {}", from())
            });
        }
        if let Some(solution) = pred.solve_for(&atom(var)) {
            reached.count("solution", true);
            assert!(!solution.mentions(&atom(var)), "{}", from());
            for at in points.iter().filter(|at| p.holds(at)) {
                assert_eq!(poly_value(&solution, at), at.var(var), "{solution} at {at:?}, {}", from());
            }
        }
        if !pred.mentions(&atom(var)) {
            reached.count("mentions: not", true);
            assert_equivalent(&pred, &points, |at| p.holds(&at.with(var, 5)), &from);
        }
        check_data_operations(&p, &pred, &points, &mut reached, &from);
        reached.count("is_true", pred.is_true());
        reached.count("is_false", pred.is_false());
    }
    reached.print_and_check("predicates");
}

/// Checks the operations that concern data.
fn check_data_operations(
    p: &RandomPred,
    pred: &Pred,
    points: &[TestPoint],
    reached: &mut CoverageTable,
    from: &dyn Fn() -> String,
) {
    let worlds: Vec<TestPoint> = points.iter().flat_map(|at| (0..3).map(|world| at.in_world(world))).collect();
    let known = pred.data_independent_part();
    reached.count("known", true);
    reached.count("known: leaves something out", known != *pred && !known.is_true());
    assert!(!known.depends_on_data(), "{known}, {}", from());
    for at in worlds.iter().filter(|at| p.holds(at) && !known.has_overflowed()) {
        assert!(holds(&known, &mut at.clone()), "known: {known} at {at:?}, {}", from());
    }
    reached.count("is_opaque", pred.depends_on_data());
    if !pred.depends_on_data() {
        assert_equivalent(pred, &worlds, |at| p.holds(&at.in_world(0)), from);
        assert_equivalent(&known, points, |at| p.holds(at), from);
    }
    let asks = |p: &Pred| {
        let mut found = false;
        p.visit(&mut |_| {}, &mut |_| found = true);
        found
    };
    let replaced = pred.replace_opaque(&|x| x.is_array.then(|| even(&x.indices[0])));
    reached.count("replace_opaque", replaced != *pred);
    reached.count("replace_opaque: all of them", asks(pred) && !asks(&replaced));
    assert_equivalent(&replaced, points, |at| p.holds(&at.in_world(EVEN_WORLD)), &|| format!("told, {}", from()));
}

/// Contexts of random predicates, with or without the ranges of indices: checks their answers about
/// other predicates.
#[test]
fn contexts() {
    let mut reached = CoverageTable::default();
    for (seed, mut draw) in cases(800, 1) {
        let depth = draw.below(3);
        let [k, p] = [(); 2].map(|()| RandomPred::draw(&mut draw, &ALL_VARS, depth));
        let (Some(known), Some(pred)) = (k.pred(&mut reached), p.pred(&mut reached)) else {
            reached.count("a polynomial overflows", true);
            continue;
        };
        let mut context = FactContext::new(&[value(N), value(M)]);
        let (entered, boxed) = (draw.one_in(2), draw.one_in(2));
        if entered {
            reached.count("enter", true);
            context.assume_in_range(&index(I, value(N)));
        }
        if boxed {
            // Assume that all points are in the box.
            context.assume(&Pred::all([N, M].map(|n| Pred::at_most(&value(n), &Poly::constant(2)))));
            context.assume(&Pred::all([I, J].map(|i| Pred::in_range(&value(i).add_constant(1), &Poly::constant(4)))));
        }
        let outside = (context.clone(), context.mark());
        let range = |at: &&TestPoint| !entered || (0..at.var(N)).contains(&at.var(I));
        let around: Vec<TestPoint> = TestPoint::all().filter(|at| range(&at)).collect();
        context.assume(&known);
        let inside: Vec<TestPoint> = around.iter().filter(|at| k.holds(at)).cloned().collect();
        let from = || format!("seed {seed}, entered {entered}, boxed {boxed}: {p:?} is {pred}, knowing {k:?}: {known}");

        let contradictory = context.is_contradictory();
        assert!(!contradictory || inside.is_empty(), "contradictory, {}", from());
        reached.count("contradictory", contradictory);
        reached.count("holds nowhere in the box", boxed && inside.is_empty());
        reached.count("holds nowhere in the box: told", boxed && contradictory);
        check_answers(&context, &pred, &inside, &|at| p.holds(at), boxed, &mut reached, &from);

        // Tight bounds.
        let form = RandomExpr::draw(&mut draw, &ALL_VARS);
        if let Some(least) = inside.iter().map(|at| form.value(at)).min() {
            let above = |by: i64| Pred::nonneg(&form.poly().add_constant(i128::from(-least - by)));
            let (so, beyond) = (context.implies(&above(0)), context.implies(&above(1)));
            assert!(!beyond, "{} at no point, {}", above(1), from());
            assert!(!context.refutes(&above(0)), "{} at a point, {}", above(0), from());
            reached.count("a least value in the box", boxed);
            reached.count("a least value in the box: proved", boxed && so);
        }

        // The assumption is released.
        context.release(outside.1);
        reached.count("release", true);
        check_answers(&context, &pred, &around, &|at| p.holds(at), boxed, &mut CoverageTable::default(), &from);
        check_answers(&outside.0, &pred, &around, &|at| p.holds(at), boxed, &mut reached, &from);
    }
    reached.print_and_check("contexts");
}

/// Checks that the answers of a context about a predicate are true at all points where its facts
/// hold.
fn check_answers(
    context: &FactContext,
    pred: &Pred,
    inside: &[TestPoint],
    says: &dyn Fn(&TestPoint) -> bool,
    boxed: bool,
    reached: &mut CoverageTable,
    from: &dyn Fn() -> String,
) {
    let (always, never) = (inside.iter().all(says), !inside.iter().any(says));
    let (implied, refuted) = (context.implies(pred), context.refutes(pred));
    assert!(!implied || always, "implied, {}", from());
    assert!(!refuted || never, "refuted, {}", from());
    // If the predicate depends on data, a fact in one world need not hold in all, so completeness
    // is not measured.
    let is_measured = boxed && !pred.depends_on_data();
    reached.count("implies", implied);
    reached.count("so everywhere in the box", is_measured && always);
    reached.count("so everywhere in the box: implied", is_measured && implied);
    reached.count("refutes", refuted);
    reached.count("so nowhere in the box", is_measured && never);
    reached.count("so nowhere in the box: refuted", is_measured && refuted);
    let simple = context.simplify(pred);
    assert_equivalent(&simple, inside, says, &|| format!("simplify, {}", from()));
    let constant = |p: &Pred| p.is_true() || p.is_false();
    reached.count("simplify", true);
    reached.count("simplify: to a constant", constant(&simple) && !constant(pred));
    reached.count("simplify: to less", simple.size() < pred.size() && !constant(&simple));
}
