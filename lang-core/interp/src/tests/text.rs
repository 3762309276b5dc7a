//! Tests of scalar functions, and of values as text.

use super::fixture::*;
use lang_resolve::scalar_fn::{ScalarDomain, ScalarFn};
use lang_runtime::scalar::{f32s, f64s, i64s};
use lang_runtime::{Value, json, print};
use lang_syntax::ops::BinOp;

#[test]
fn every_function_covers_its_domain() {
    for f in ScalarFn::ALL {
        let (real, int) = match f.domain() {
            ScalarDomain::Real => (true, false),
            ScalarDomain::Num => (true, true),
            ScalarDomain::Int => (false, true),
        };
        assert_eq!((f64s::function(*f).is_some(), f32s::function(*f).is_some()), (real, real), "{f:?}");
        assert_eq!(i64s::function(*f).is_some(), int, "{f:?}");
        let arity = match (f64s::function(*f), i64s::function(*f)) {
            (Some(f64s::ScalarFunction::Unary(_)), _) | (None, Some(i64s::ScalarFunction::Unary(_))) => 1,
            _ => 2,
        };
        assert_eq!(arity, f.arity(), "{f:?}");
    }
}

/// Checks `ScalarFn::is_total` at points of usual magnitude and at the edges of domains.
#[test]
fn total_functions_are_finite() {
    let points = [-700.0, -2.5, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 2.5, 700.0];
    for f in ScalarFn::ALL {
        let finite = match f64s::function(*f) {
            Some(f64s::ScalarFunction::Unary(g)) => points.iter().all(|x| g(*x).is_finite()),
            Some(f64s::ScalarFunction::Binary(g)) => {
                points.iter().all(|x| points.iter().all(|y| g(*x, *y).is_finite()))
            }
            None => continue,
        };
        assert_eq!(finite, f.is_total(), "{f:?}");
    }
}

fn f64_of(f: ScalarFn, x: f64) -> f64 {
    match f64s::function(f) {
        Some(f64s::ScalarFunction::Unary(f)) => f(x),
        _ => panic!("{f:?}"),
    }
}

#[test]
fn conventions() {
    use ScalarFn::{Relu, Round, Sigmoid, Sign, Softplus};
    let same = |a: f64, b: f64| assert!(Value::F64(a) == Value::F64(b), "{a} {b}");
    same(f64_of(Sign, -0.0), 0.0);
    same(f64_of(Sign, f64::NAN), f64::NAN);
    same(f64_of(Relu, -0.0), 0.0);
    same(f64_of(Relu, f64::NAN), f64::NAN);
    same(f64_of(Round, 2.5), 2.0);
    same(f64_of(Round, -1.5), -2.0);
    same(f64_of(Sigmoid, 1000.0), 1.0);
    same(f64_of(Sigmoid, -1000.0), 0.0);
    same(f64_of(Softplus, 1000.0), 1000.0);
    same(f64s::min(1.0, f64::NAN), f64::NAN);
    same(f64s::max(0.0, -0.0), 0.0);
    same(f64s::powi(f64::NAN, 0), 1.0);
    same(f64s::powi(-2.0, 3), -8.0);
    same(f64s::powi(2.0, i64::MIN), 0.0);
    // An even power has no sign, even for the exponent of the largest magnitude.
    same(f64s::powi(-1.5, i64::MIN), 0.0);
    same(f64s::powi(-1.5, i64::MIN + 1), -0.0);
    same(f64s::powi(-0.5, i64::MIN), f64::INFINITY);
    same(f64s::powi(-0.5, i64::MIN + 1), f64::NEG_INFINITY);
    same(f64s::powi(-1.0, i64::MIN), 1.0);
    same(f64::from(f32s::powi(-1.5, i64::MIN)), 0.0);
    same(f64s::arith(BinOp::Mod, -7.5, 2.0).unwrap(), 0.5);
    same(f64s::arith(BinOp::Mod, 4.0, -2.0).unwrap(), -0.0);
    same(f64s::arith(BinOp::FloorDiv, -7.5, 2.0).unwrap(), -4.0);
    assert_eq!(i64s::powi(2, 64), Some(0));
    match i64s::function(ScalarFn::Ushr) {
        Some(i64s::ScalarFunction::Binary(f)) => assert_eq!((f(-1, 63), f(-1, 64), f(-1, -1)), (1, -1, 1)),
        _ => panic!(),
    }
}

#[track_caller]
fn prints(value: &Value, short: &str, full: &str, json: &str) {
    assert_eq!(print::to_short_text(value), short);
    assert_eq!(print::to_full_text(value, 1 << 20).unwrap(), full);
    assert_eq!(json::to_json(value, 1 << 20).unwrap(), json);
}

#[test]
fn texts() {
    prints(&Value::F64(1e300), "1e300", "1e300", "1e300");
    prints(&Value::F64(0.1), "0.1", "0.1", "0.1");
    prints(&Value::F64(-0.0), "-0.0", "-0.0", "-0.0");
    prints(&Value::F64(123_456_789.0), "123456789.0", "123456789.0", "123456789.0");
    prints(&Value::F32(0.1), "0.1", "0.1", "0.1");
    prints(&Value::F64(f64::NAN), "nan", "nan", "\"NaN\"");
    prints(&Value::F32(f32::INFINITY), "inf", "inf", "\"Infinity\"");
    prints(&Value::F64(f64::NEG_INFINITY), "-inf", "-inf", "\"-Infinity\"");
    prints(&Value::I64(i64::MIN), "-9223372036854775808", "-9223372036854775808", "-9223372036854775808");
    prints(&Value::unit(), "()", "()", "null");
    prints(&Value::array(&[1], vec![true]).unwrap(), "[true]", "[true,]", "[true]");
    prints(&Value::array(&[2, 0], Vec::<f64>::new()).unwrap(), "[[], []]", "[[], []]", "[[], []]");
    let r = Value::record(vec![("x".into(), Value::F64(1.0)), ("y".into(), Value::Str("a\"b".into()))]);
    prints(&r, "{x: 1.0, y: \"a\\\"b\"}", "{x: 1.0, y: \"a\\\"b\"}", "{\"x\": 1.0, \"y\": \"a\\\"b\"}");
    let cons = run(|b| {
        let (x, nil) = (b.real(1.0), b.nil());
        b.ctor(1, &[x, nil])
    });
    prints(&cons.result.unwrap(), "Cons(1.0, Nil)", "Cons(1.0, Nil)", "{\"Cons\": [1.0, {\"Nil\": []}]}");
    let long = Value::array(&[100], (0..100).collect::<Vec<i64>>()).unwrap();
    assert_eq!(print::to_short_text(&long), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …, 97, 98, 99]");
}

#[test]
fn equality_is_of_bits() {
    assert!(Value::F64(f64::NAN) == Value::F64(-f64::NAN));
    assert!(Value::F64(0.0) != Value::F64(-0.0));
    assert!(Value::F64(1.0) != Value::F32(1.0));
    let record =
        |fields: &[(&str, i64)]| Value::record(fields.iter().map(|(n, i)| ((*n).into(), Value::I64(*i))).collect());
    assert!(record(&[("x", 1), ("y", 2)]) == record(&[("y", 2), ("x", 1)]));
    assert!(record(&[("x", 1)]) != record(&[("z", 1)]));
    assert!(Value::array(&[2], vec![1i64, 2]) != Value::array(&[1, 2], vec![1i64, 2]));
    assert!(Value::array(&[2], vec![1i64]).is_none());
}
