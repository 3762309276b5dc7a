//! Tests of `poly`: snapshots of normal forms, and agreement of polynomial arithmetic with
//! arithmetic on values.

use proptest::prelude::*;

use super::super::testing::{atom, poly};
use super::{Atom, Poly};
use super::{MAX_COEFFICIENT, MAX_DEGREE, MAX_NESTED_ATOMS, MAX_TERMS};

#[track_caller]
fn check(text: &str, shown: &str) {
    let p = poly(text);
    assert_eq!(p.to_string(), shown, "{text}");
    // The printed form must have the same meaning.
    if !p.has_overflowed() {
        assert_eq!(poly(shown), p, "{text} read again");
    }
}

#[test]
fn normal_forms() {
    check("n + m - 1", "m + n - 1");
    check("0 * n", "0");
    check("n - n", "0");
    check("-3", "-3");
    check("1 - n", "1 - n");
    check("-n - 1", "-n - 1");
    check("m - n", "m - n");
    check("-n + m * 2", "2 * m - n");
    check("(n + 1) * (n - 1)", "n^2 - 1");
    check("(n + m) ^ 2", "2 * m * n + m^2 + n^2");
    check("1 + n + n * n", "n^2 + n + 1");
    check("n * -2 - 3 * m", "-3 * m - 2 * n");
}

#[test]
fn quotients_and_remainders() {
    check("7 // 2", "3");
    check("-7 // 2", "-4");
    check("-7 % 2", "1");
    check("7 % -2", "-1");
    check("n // 1", "n");
    check("n // -1", "-n");
    check("(4 * n + 6) // 2", "2 * n + 3");
    check("(2 * n + 1) // 2", "n");
    check("(2 * n - 1) // 2", "n - 1");
    check("(n + 5) // 4", "(n + 1) // 4 + 1");
    check("(n + 5) % 4", "(n + 1) % 4");
    check("(4 * n) % 4", "0");
    check("(6 * n + m) % 4", "(m + 2 * n) % 4");
    check("2 * (n // 2)", "2 * (n // 2)");
    check("n - n // 2", "n - n // 2");
    check("-(n // 2)", "-(n // 2)");
    check("(n // 2) ^ 2", "(n // 2)^2");
    check("n // 2 // 3", "(n // 2) // 3");
    check("n // (m % 2)", "n // (m % 2)");
    check("(n * m) // m", "(m * n) // m");
    check("m * (n // m) + n % m", "m * (n // m) + n % m");
    check("n // -3", "n // (-3)");
}

#[test]
fn least_and_greatest() {
    check("min(n, n + 1)", "n");
    check("max(n, n + 1)", "n + 1");
    check("min(m, n) - min(n, m)", "0");
    check("max(n - m, 0)", "max(0, n - m)");
    check("min(3, 4)", "3");
}

#[test]
fn overflow_absorbs() {
    check("huge - huge", "_");
    check("huge + 1 - huge", "_");
    check("huge // 2", "_");
    check("min(huge, 3)", "_");
    check("(n + huge) * m", "_");
    check("n ^ 16", "n^16");
    check("n ^ 17", "_");
    check("n ^ 9 * n ^ 8", "_");
    let big = Poly::constant(MAX_COEFFICIENT);
    assert!(!big.has_overflowed());
    assert!(big.add_constant(1).has_overflowed());
    assert!(big.scale(2).has_overflowed());
    assert!(big.scale(i128::MAX).has_overflowed());
    assert!(Poly::constant(i128::MIN).has_overflowed());
    assert!(big.mul(&poly("2 * n + 1")).has_overflowed());
    assert!(Poly::term(vec![(atom("n"), MAX_DEGREE + 1)], 1).has_overflowed());
    assert!(Poly::atom(Atom::Div(poly("huge").into(), poly("n").into())).has_overflowed());
}

#[test]
fn powers() {
    check("(-1) ^ 129", "-1");
    check("(-1) ^ 130", "1");
    check("1 ^ 1000", "1");
    check("0 ^ 0", "1");
    check("0 ^ 5", "0");
    check("2 ^ 100", "1267650600228229401496703205376");
    check("2 ^ 101", "_");
    check("3 ^ 4000000000", "_");
}

#[test]
fn sizes_are_bounded() {
    let many = (0..=MAX_TERMS).fold(Poly::default(), |p, i| p.add(&poly(&format!("x{i}"))));
    assert!(many.has_overflowed());
    // Sharing: each step doubles the number of atoms.
    let mut p = poly("n");
    let mut steps = 0;
    while !p.has_overflowed() {
        p = p.rem(&p.add_constant(3)).expect("not 0");
        steps += 1;
    }
    assert_eq!(MAX_NESTED_ATOMS.ilog2(), steps);
    // Nesting depth.
    let p = (0..1000).fold(poly("n"), |p, i| p.div(&poly(&format!("x{i}"))).expect("not 0"));
    assert!(p.has_overflowed());
    // A product of many terms by many stops at once.
    let wide = |s: &str| (0..200).fold(Poly::default(), |p, i| p.add(&poly(&format!("{s}{i}"))));
    assert!(wide("x").mul(&wide("y")).has_overflowed());
}

#[test]
fn splits() {
    let check = |p: &str, by: &str, quotient: &str, rest: &str| {
        assert_eq!(poly(p).divide_by_term(&poly(by)), (poly(quotient), poly(rest)), "{p} by {by}");
        assert_eq!(poly(p), poly(by).mul(&poly(quotient)).add(&poly(rest)));
    };
    check("i * m + j", "m", "i", "j");
    check("i * n * m + 2 * m^2 + m + 1", "m", "i * n + 2 * m + 1", "1");
    check("4 * i * m + 3 * m", "2 * m", "2 * i", "3 * m");
    check("i * m + j", "m + 1", "0", "i * m + j");
    check("a * z + b * y * z", "z", "a + b * y", "0");
}

#[test]
fn linear_parts() {
    let check = |p: &str, a: &str, found: Option<(i128, &str)>| {
        assert_eq!(poly(p).linear_in(&atom(a)), found.map(|(c, rest)| (c, poly(rest))), "{p} in {a}");
    };
    check("2 * n + m - 1", "n", Some((2, "m - 1")));
    check("m - 1", "n", None);
    check("n * m + n", "n", None);
    check("n + n // 2", "n", None);
    check("n^2", "n", None);
    check("m // 2 - n", "n", Some((-1, "m // 2")));
}

/// Text of random polynomials over `a b c`.
fn text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (-4..5_i32).prop_map(|c| format!("({c})")),
        prop::sample::select(vec!["a", "b", "c"]).prop_map(String::from),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            (inner.clone(), prop::sample::select(vec!["+", "-", "*"]), inner.clone())
                .prop_map(|(p, op, q)| format!("({p} {op} {q})")),
            (inner.clone(), prop::sample::select(vec!["//", "%"]), 1..5_i32, any::<bool>())
                .prop_map(|(p, op, d, neg)| format!("({p} {op} {})", if neg { -d } else { d })),
            // A divisor that may have the value 0 but is not the constant 0.
            (inner.clone(), prop::sample::select(vec!["//", "%"]))
                .prop_map(|(p, op)| format!("({p} {op} (2 * b + 1))")),
            (prop::sample::select(vec!["min", "max"]), two).prop_map(|(f, (p, q))| format!("{f}({p}, {q})")),
        ]
    })
}

fn point_values(point: [i64; 3]) -> impl Fn(&Atom) -> Option<i64> {
    let names = ["a", "b", "c"].map(atom);
    move |a| names.iter().position(|n| n == a).and_then(|i| point.get(i).copied())
}

fn value(p: &Poly, point: [i64; 3]) -> i128 {
    i128::from(p.eval(&mut point_values(point)).expect("small"))
}

fn point() -> impl Strategy<Value = [i64; 3]> {
    [-9..10_i64, -9..10_i64, -9..10_i64]
}

fn floor_quotient(a: i128, b: i128) -> i128 {
    a.div_euclid(b.abs()) * b.signum() + if b < 0 && a.rem_euclid(b.abs()) != 0 { -1 } else { 0 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arithmetic_agrees_with_values(p in text(), q in text(), d in prop_oneof![-5..0_i64, 1..6_i64], at in point()) {
        let (p, q) = (poly(&p), poly(&q));
        prop_assume!(!p.has_overflowed() && !q.has_overflowed());
        let (x, y) = (value(&p, at), value(&q, at));
        prop_assert_eq!(value(&p.add(&q), at), x + y);
        prop_assert_eq!(value(&p.sub(&q), at), x - y);
        prop_assert_eq!(value(&p.neg(), at), -x);
        prop_assert_eq!(value(&p.scale(d.into()), at), x * i128::from(d));
        let product = p.mul(&q);
        if !product.has_overflowed() && let Ok(xy) = i64::try_from(x * y) {
            prop_assert_eq!(value(&product, at), i128::from(xy));
        }
        prop_assert_eq!(value(&p.minimum(&q), at), x.min(y));
        prop_assert_eq!(value(&p.maximum(&q), at), x.max(y));
        let by = Poly::constant(d.into());
        prop_assert_eq!(value(&p.div(&by).expect("not 0"), at), floor_quotient(x, d.into()));
        prop_assert_eq!(value(&p.rem(&by).expect("not 0"), at), x - floor_quotient(x, d.into()) * i128::from(d));
        if y != 0 {
            prop_assert_eq!(value(&p.div(&q).expect("not 0"), at), floor_quotient(x, y));
            prop_assert_eq!(value(&p.rem(&q).expect("not 0"), at), x - floor_quotient(x, y) * y);
        }
    }

    #[test]
    fn ring_laws(p in text(), q in text(), r in text()) {
        let (p, q, r) = (poly(&p), poly(&q), poly(&r));
        prop_assert_eq!(p.add(&q), q.add(&p));
        prop_assert_eq!(p.mul(&q), q.mul(&p));
        prop_assert_eq!(p.add(&q).add(&r), p.add(&q.add(&r)));
        prop_assert!(p.sub(&p).is_zero());
        prop_assert_eq!(p.minimum(&q), q.minimum(&p));
        let (left, right) = (p.mul(&q.add(&r)), p.mul(&q).add(&p.mul(&r)));
        prop_assert!(left == right || left.has_overflowed() || right.has_overflowed());
        let (left, right) = (p.mul(&q).mul(&r), p.mul(&q.mul(&r)));
        prop_assert!(left == right || left.has_overflowed() || right.has_overflowed());
    }

    #[test]
    fn substitution_agrees_with_values(p in text(), q in text(), at in point()) {
        let (p, q) = (poly(&p), poly(&q));
        let replaced = p.substitute(&|a| (*a == atom("a")).then(|| q.clone()));
        prop_assume!(!replaced.has_overflowed());
        let a = i64::try_from(value(&q, at)).expect("small");
        // A quotient by a polynomial may simplify if its divisor becomes constant.
        if let Some(v) = p.eval(&mut point_values([a, at[1], at[2]])) {
            prop_assert_eq!(value(&replaced, at), i128::from(v));
        }
    }

    #[test]
    fn shown_text_means_the_same(p in text()) {
        let p = poly(&p);
        prop_assume!(!p.has_overflowed());
        prop_assert_eq!(poly(&p.to_string()), p);
    }
}
