//! Tests of the pretty-printer: numbers and arrays.

mod compound_values;

use expect_test::{Expect, expect};

use super::{Digits, Layout};
use crate::Value;

fn usual() -> Layout {
    Layout { width: 60, ..Layout::default() }
}

fn with(digits: Digits) -> Layout {
    Layout { digits, ..usual() }
}

#[track_caller]
fn check(value: &Value, expected: Expect) {
    check_as(usual(), value, expected);
}

#[track_caller]
fn check_as(layout: Layout, value: &Value, expected: Expect) {
    expected.assert_eq(&(layout.show(value) + "\n"));
}

/// Prints several values, each on its own.
#[track_caller]
fn check_each(layout: Layout, values: &[Value], expected: Expect) {
    let shown: String = values.iter().map(|value| layout.show(value) + "\n").collect();
    expected.assert_eq(&shown);
}

fn reals(dims: &[usize], elements: &[f64]) -> Value {
    Value::array(dims, elements.to_vec()).unwrap()
}

fn filled(dims: &[usize], f: impl Fn(usize) -> f64) -> Value {
    Value::array(dims, (0..dims.iter().product()).map(f).collect::<Vec<_>>()).unwrap()
}

fn ints(dims: &[usize], elements: &[i64]) -> Value {
    Value::array(dims, elements.to_vec()).unwrap()
}

fn record(fields: &[(&str, Value)]) -> Value {
    Value::record(fields.iter().map(|(name, value)| ((*name).into(), value.clone())).collect())
}

#[test]
fn numbers_alone() {
    let f = Value::F64;
    let values = [
        f(0.1 + 0.2),
        f(1.0 / 3.0),
        f(-0.0),
        f(1e300),
        f(123_456_789.0),
        f(1e-7),
        f(f64::NAN),
        f(f64::NEG_INFINITY),
        Value::F32(0.1),
        Value::F32(1.0 / 3.0),
        Value::I64(i64::MIN),
        Value::Bool(true),
        Value::Str("a\n\"b\"".into()),
        Value::unit(),
    ];
    check_each(
        usual(),
        &values,
        expect![[r#"
        0.30000000000000004
        0.3333333333333333
        -0.0
        1e300
        123456789.0
        1e-7
        nan
        -inf
        0.1
        0.33333334
        -9223372036854775808
        true
        "a\n\"b\""
        ()
    "#]],
    );
    check_each(
        with(Digits::AtMost(3)),
        &values[..5],
        expect![[r#"
            0.3
            0.333
            -0.0
            1e300
            123456789.0
        "#]],
    );
}

/// Array elements have six digits, and every one of them is correct.
#[test]
fn digits_of_elements() {
    let each = |values: &[f64]| values.iter().map(|x| reals(&[1], &[*x])).collect::<Vec<_>>();
    let values = [
        1.0 / 3.0,
        2.0 / 3.0,
        12_345.678,
        123_456.7,
        123_456.0,
        1_234_567.0,
        3_628_800.0,
        1e6,
        1e8,
        999_999.7,
        0.000_123_456_7,
        0.000_012,
        1.5e-300,
        5e-324,
        f64::MAX,
        -0.0,
        -1.0 / 3.0,
    ];
    check_each(
        usual(),
        &each(&values),
        expect![[r#"
            [0.333333]
            [0.666667]
            [12345.7]
            [1.23457e5]
            [123456.0]
            [1234567.0]
            [3628800.0]
            [1000000.0]
            [1e8]
            [1e6]
            [0.000123457]
            [1.2e-5]
            [1.5e-300]
            [5e-324]
            [1.79769e308]
            [-0.0]
            [-0.333333]
        "#]],
    );
    check_each(
        with(Digits::AtMost(1)),
        &each(&values[..5]),
        expect![[r#"
            [0.3]
            [0.7]
            [1e4]
            [1e5]
            [123456.0]
        "#]],
    );
    check_each(
        with(Digits::AtMost(2)),
        &each(&values[..5]),
        expect![[r#"
            [0.33]
            [0.67]
            [1.2e4]
            [1.2e5]
            [123456.0]
        "#]],
    );
    check_each(
        with(Digits::AtMost(99)),
        &each(&values[..3]),
        expect![[r#"
        [0.3333333333333333]
        [0.6666666666666666]
        [12345.678]
    "#]],
    );
    check_each(
        with(Digits::All),
        &each(&values[..3]),
        expect![[r#"
        [0.3333333333333333]
        [0.6666666666666666]
        [12345.678]
    "#]],
    );
    check(
        &Value::array(&[3], vec![0.1f32, 1.0 / 3.0, 16_777_216.0]).unwrap(),
        expect![[r#"
            [0.1, 0.333333, 16777216.0]
        "#]],
    );
    check_as(
        with(Digits::All),
        &Value::array(&[2], vec![0.1f32, 1.0 / 3.0]).unwrap(),
        expect![[r#"
        [0.1, 0.33333334]
    "#]],
    );
}

#[test]
fn vectors() {
    check(
        &reals(&[3], &[1.0, 2.5, -0.25]),
        expect![[r#"
        [1.0, 2.5, -0.25]
    "#]],
    );
    check(
        &reals(&[0], &[]),
        expect![[r#"
        []
    "#]],
    );
    check(
        &filled(&[30], |i| (i as f64).sqrt()),
        expect![[r#"
        [0.0,     1.0,     1.41421, 1.73205, 2.0,     2.23607,
         2.44949, 2.64575, 2.82843, 3.0,     3.16228, 3.31662,
         3.4641,  3.60555, 3.74166, 3.87298, 4.0,     4.12311,
         4.24264, 4.3589,  4.47214, 4.58258, 4.69042, 4.79583,
         4.89898, 5.0,     5.09902, 5.19615, 5.2915,  5.38516]
    "#]],
    );
    check(
        &Value::array(&[40], (0..40).map(|i| i * i * i).collect::<Vec<i64>>()).unwrap(),
        expect![[r#"
        [    0,     1,     8,    27,    64,   125,   216,   343,
           512,   729,  1000,  1331,  1728,  2197,  2744,  3375,
          4096,  4913,  5832,  6859,  8000,  9261, 10648, 12167,
         13824, 15625, 17576, 19683, 21952, 24389, 27000, 29791,
         32768, 35937, 39304, 42875, 46656, 50653, 54872, 59319]
    "#]],
    );
    check(
        &Value::array(&[14], (0..14).map(|i| i % 3 == 0).collect::<Vec<bool>>()).unwrap(),
        expect![[r#"
        [ true, false, false,  true, false, false,  true, false,
         false,  true, false, false,  true, false]
    "#]],
    );
    // The longest vector that is not elided.
    assert_eq!(usual().show(&filled(&[1000], |i| i as f64)).lines().count(), 125);
    check(
        &filled(&[1001], |i| i as f64 / 8.0),
        expect![[r#"
        [0.0, 0.125, 0.25, …, 124.75, 124.875, 125.0]
    "#]],
    );
}

#[test]
fn matrices() {
    check(
        &reals(&[2, 2], &[1.0, 0.0, 0.0, 1.0]),
        expect![[r#"
        [[1.0, 0.0],
         [0.0, 1.0]]
    "#]],
    );
    check(
        &reals(&[3, 3], &[1.0, -2.25, 100.0, 0.125, 3.0, 1e-9, -1.5, 22.0, 1e20]),
        expect![[r#"
        [[ 1.0,   -2.25, 100.0],
         [ 0.125,  3.0,    1e-9],
         [-1.5,   22.0,    1e20]]
    "#]],
    );
    check(
        &reals(&[2, 3], &[1.0, f64::NAN, f64::INFINITY, 2.25, 0.5, -f64::INFINITY]),
        expect![[r#"
        [[1.0,  nan,  inf],
         [2.25, 0.5, -inf]]
    "#]],
    );
    check(
        &ints(&[2, 3], &[1, -20, 300, 4000, 5, -6]),
        expect![[r#"
        [[   1, -20, 300],
         [4000,   5,  -6]]
    "#]],
    );
    check(
        &Value::array(&[2, 2], vec![true, false, false, false]).unwrap(),
        expect![[r#"
        [[ true, false],
         [false, false]]
    "#]],
    );
    // One row; one column.
    check(
        &reals(&[1, 3], &[1.0, 2.0, 3.0]),
        expect![[r#"
        [[1.0, 2.0, 3.0]]
    "#]],
    );
    check(
        &reals(&[3, 1], &[1.0, 20.0, 3.5]),
        expect![[r#"
        [[ 1.0],
         [20.0],
         [ 3.5]]
    "#]],
    );
    check(
        &filled(&[1, 12], |i| 1.0 / (i as f64 + 3.0)),
        expect![[r#"
        [[0.333333,  0.25,      0.2,       0.166667,  0.142857,
          0.125,     0.111111,  0.1,       0.0909091, 0.0833333,
          0.0769231, 0.0714286]]
    "#]],
    );
    // Rows that do not fit break at the same columns.
    check(
        &filled(&[2, 12], |i| 1.0 / (i as f64 + 3.0)),
        expect![[r#"
        [[0.333333,  0.25,      0.2,       0.166667,  0.142857,
          0.125,     0.111111,  0.1,       0.0909091, 0.0833333,
          0.0769231, 0.0714286],
         [0.0666667, 0.0625,    0.0588235, 0.0555556, 0.0526316,
          0.05,      0.047619,  0.0454545, 0.0434783, 0.0416667,
          0.04,      0.0384615]]
    "#]],
    );
}

#[test]
fn without_elements() {
    for dims in [&[0, 3][..], &[3, 0], &[2, 0, 2], &[1, 0]] {
        let none = reals(dims, &[]);
        check(
            &none,
            match dims {
                [0, 3] => expect![[r#"
                []
            "#]],
                [3, 0] => expect![[r#"
                [[], [], []]
            "#]],
                [2, 0, 2] => expect![[r#"
                [[], []]
            "#]],
                _ => expect![[r#"
                [[]]
            "#]],
            },
        );
    }
    check(
        &reals(&[5000, 0], &[]),
        expect![[r#"
        [[], [], [], …, [], [], []]
    "#]],
    );
    check(
        &reals(&[25, 0], &[]),
        expect![[r#"
        [[], [], [], …, [], [], []]
    "#]],
    );
}

#[test]
fn blocks() {
    check(
        &filled(&[2, 2, 3], |i| i as f64),
        expect![[r#"
        [[[0.0,  1.0,  2.0],
          [3.0,  4.0,  5.0]],

         [[6.0,  7.0,  8.0],
          [9.0, 10.0, 11.0]]]
    "#]],
    );
    check(
        &filled(&[2, 1, 2, 2], |i| i as f64 / 4.0),
        expect![[r#"
        [[[[0.0, 0.25],
           [0.5, 0.75]]],

         [[[1.0, 1.25],
           [1.5, 1.75]]]]
    "#]],
    );
    check(
        &filled(&[2, 1, 1], |i| i as f64),
        expect![[r#"
        [[[0.0]],

         [[1.0]]]
    "#]],
    );
}

#[test]
fn left_out_in_the_middle() {
    check(
        &filled(&[200, 200], |i| i as f64),
        expect![[r#"
        [[    0.0,     1.0,     2.0, …,   197.0,   198.0,   199.0],
         [  200.0,   201.0,   202.0, …,   397.0,   398.0,   399.0],
         [  400.0,   401.0,   402.0, …,   597.0,   598.0,   599.0],
         …,
         [39400.0, 39401.0, 39402.0, …, 39597.0, 39598.0, 39599.0],
         [39600.0, 39601.0, 39602.0, …, 39797.0, 39798.0, 39799.0],
         [39800.0, 39801.0, 39802.0, …, 39997.0, 39998.0, 39999.0]]
    "#]],
    );
    check(
        &filled(&[500, 3], |i| i as f64 / 7.0),
        expect![[r#"
        [[  0.0,        0.142857,   0.285714],
         [  0.428571,   0.571429,   0.714286],
         [  0.857143,   1.0,        1.14286],
         …,
         [213.0,      213.143,    213.286],
         [213.429,    213.571,    213.714],
         [213.857,    214.0,      214.143]]
    "#]],
    );
    // Columns that do not fit are elided too.
    check(
        &filled(&[200, 200], |i| (i as f64 + 0.1).ln() * 1e-5),
        expect![[r#"
        [[-2.30259e-5,  9.53102e-7,  …, 5.28877e-5,  5.29381e-5],
         [ 5.29882e-5,  5.3038e-5,   …, 5.9867e-5,   5.98921e-5],
         [ 5.99171e-5,  5.99421e-5,  …, 6.39376e-5,  6.39543e-5],
         …,
         [ 0.000105815, 0.000105815, …, 0.000105865, 0.000105866],
         [ 0.000105866, 0.000105866, …, 0.000105916, 0.000105916],
         [ 0.000105916, 0.000105916, …, 0.000105966, 0.000105966]]
    "#]],
    );
    check_as(
        Layout { threshold: 4, ..usual() },
        &filled(&[9, 8, 20], |i| i as f64),
        expect![[r#"
        [[[   0.0, …,   19.0],
          …,
          [ 140.0, …,  159.0]],

         …,

         [[1280.0, …, 1299.0],
          …,
          [1420.0, …, 1439.0]]]
    "#]],
    );
    check_as(
        Layout { threshold: 4, ..usual() },
        &ints(&[9], &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
        expect![[r#"
        [1, 2, 3, …, 7, 8, 9]
    "#]],
    );
    check_as(
        Layout { threshold: 4, ..usual() },
        &ints(&[7], &[1, 2, 3, 4, 5, 6, 7]),
        expect![[r#"
        [1, 2, 3, 4, 5, 6, 7]
    "#]],
    );
}
