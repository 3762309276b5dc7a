//! Tests of the pretty-printer: compound values, and bounds on the output.

use std::sync::Arc;

use expect_test::expect;

use super::*;
use crate::print::to_full_text;
use crate::{ConstructorTag, Relation};
use lang_base::GlobalName;

fn constructed(name: &str, args: Vec<Value>) -> Value {
    let tag = ConstructorTag { ty: GlobalName::new("m", "T"), index: 0, name: name.into(), arity: args.len() };
    Value::data(Arc::new(tag), args)
}

#[test]
fn tuples_and_records() {
    let eye = reals(&[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    let long = filled(&[12], |i| i as f64 / 7.0);
    check(
        &Value::tuple(vec![Value::F64(1.0), Value::Bool(true), reals(&[2], &[0.5, 1.0 / 3.0])]),
        expect![[r#"
        (1.0, true, [0.5, 0.333333])
    "#]],
    );
    check(
        &Value::tuple(vec![eye.clone(), Value::F64(2.0)]),
        expect![[r#"
        ([[1.0, 0.0],
          [0.0, 1.0]],
         2.0)
    "#]],
    );
    check(
        &record(&[("w", eye.clone()), ("bias", long.clone()), ("n", Value::I64(3))]),
        expect![[r#"
        {w: [[1.0, 0.0],
             [0.0, 1.0]],
         bias: [0.0,      0.142857, 0.285714, 0.428571, 0.571429,
                0.714286, 0.857143, 1.0,      1.14286,  1.28571,
                1.42857,  1.57143],
         n: 3}
    "#]],
    );
    let inner = record(&[("weights_of_the_first_layer", eye.clone()), ("b", Value::F64(0.0))]);
    check(
        &record(&[("model", inner), ("steps", Value::I64(10))]),
        expect![[r#"
        {model: {weights_of_the_first_layer:
                   [[1.0, 0.0],
                    [0.0, 1.0]],
                 b: 0.0},
         steps: 10}
    "#]],
    );
    check(
        &Value::array(&[2], vec![record(&[("x", eye.clone())]), record(&[("x", eye)])]).unwrap(),
        expect![[r#"
        [{x: [[1.0, 0.0],
              [0.0, 1.0]]},
         {x: [[1.0, 0.0],
              [0.0, 1.0]]}]
    "#]],
    );
    let points: Vec<Value> = (0..9).map(|i| Value::tuple(vec![Value::I64(i), Value::F64(0.5)])).collect();
    check(
        &Value::array(&[9], points.clone()).unwrap(),
        expect![[r#"
        [(0, 0.5), (1, 0.5), (2, 0.5), (3, 0.5), (4, 0.5),
         (5, 0.5), (6, 0.5), (7, 0.5), (8, 0.5)]
    "#]],
    );
    check(
        &Value::array(&[3, 3], points).unwrap(),
        expect![[r#"
        [[(0, 0.5), (1, 0.5), (2, 0.5)],
         [(3, 0.5), (4, 0.5), (5, 0.5)],
         [(6, 0.5), (7, 0.5), (8, 0.5)]]
    "#]],
    );
}

fn tree(depth: usize) -> Value {
    match depth {
        0 => constructed("Leaf", vec![Value::F64(1.0)]),
        _ => constructed("Node", vec![tree(depth - 1), tree(depth - 1)]),
    }
}

fn list(n: usize, item: impl Fn(usize) -> Value) -> Value {
    let nil = constructed("Nil", vec![]);
    (0..n).rev().fold(nil, |rest, i| constructed("Cons", vec![item(i), rest]))
}

#[test]
fn trees_and_lists() {
    check(
        &tree(2),
        expect![[r#"
        Node(Node(Leaf(1.0), Leaf(1.0)), Node(Leaf(1.0), Leaf(1.0)))
    "#]],
    );
    check(
        &tree(4),
        expect![[r#"
        Node(Node(Node(Node(Leaf(1.0), Leaf(1.0)),
                       Node(Leaf(1.0), Leaf(1.0))),
                  Node(Node(Leaf(1.0), Leaf(1.0)),
                       Node(Leaf(1.0), Leaf(1.0)))),
             Node(Node(Node(Leaf(1.0), Leaf(1.0)),
                       Node(Leaf(1.0), Leaf(1.0))),
                  Node(Node(Leaf(1.0), Leaf(1.0)),
                       Node(Leaf(1.0), Leaf(1.0)))))
    "#]],
    );
    check(
        &list(3, |i| Value::F64(i as f64)),
        expect![[r#"
        Cons(0.0, Cons(1.0, Cons(2.0, Nil)))
    "#]],
    );
    check(
        &list(20, |i| Value::F64(i as f64)),
        expect![[r#"
        Cons(0.0, Cons(1.0, Cons(2.0, Cons(3.0, Cons(4.0, Cons(5.0,
          Cons(6.0, Cons(7.0, Cons(8.0, Cons(9.0, Cons(10.0,
          Cons(11.0, Cons(12.0, Cons(13.0, Cons(14.0, Cons(15.0,
          Cons(16.0, Cons(17.0, Cons(18.0, Cons(19.0, Nil)))))))))))
          )))))))))
    "#]],
    );
    check(
        &list(101, |i| Value::I64(i64::try_from(i).unwrap())),
        expect![[r#"
        Cons(0, Cons(1, Cons(2, Cons(3, Cons(4, Cons(5, Cons(6,
          Cons(7, Cons(8, Cons(9, Cons(10, Cons(11, Cons(12,
          Cons(13, Cons(14, Cons(15, Cons(16, Cons(17, Cons(18,
          Cons(19, …))))))))))))))))))))
    "#]],
    );
    check(
        &list(2, |_| reals(&[2, 2], &[1.0, 0.0, 0.0, 1.0])),
        expect![[r#"
        Cons([[1.0, 0.0],
              [0.0, 1.0]],
             Cons([[1.0, 0.0],
                   [0.0, 1.0]],
                  Nil))
    "#]],
    );
    check(
        &Value::tuple(vec![list(8, |_| Value::F64(1.0)), Value::I64(1)]),
        expect![[r#"
        (Cons(1.0, Cons(1.0, Cons(1.0, Cons(1.0, Cons(1.0,
           Cons(1.0, Cons(1.0, Cons(1.0, Nil)))))))),
         1)
    "#]],
    );
    // Deep parts are elided, unless all digits are requested.
    let left =
        (0..12).fold(constructed("Nil", vec![]), |l, i| constructed("Snoc", vec![l, Value::I64(i * 1_000_000_000)]));
    check(
        &left,
        expect![[r#"
        Snoc(Snoc(Snoc(Snoc(Snoc(Snoc(Snoc(
                                      Snoc(
                                      …,
                                      4000000000),
                                      5000000000),
                                      6000000000),
                                 7000000000),
                            8000000000),
                       9000000000),
                  10000000000),
             11000000000)
    "#]],
    );
    check_as(
        with(Digits::All),
        &left,
        expect![[r#"
        Snoc(Snoc(Snoc(Snoc(Snoc(Snoc(Snoc(
                                      Snoc(
                                      Snoc(
                                      Snoc(
                                      Snoc(Snoc(Nil, 0),
                                      1000000000),
                                      2000000000),
                                      3000000000),
                                      4000000000),
                                      5000000000),
                                      6000000000),
                                 7000000000),
                            8000000000),
                       9000000000),
                  10000000000),
             11000000000)
    "#]],
    );
}

#[test]
fn relations() {
    let of = |n: i64| {
        let rows: Vec<i64> = (0..n).flat_map(|i| [i, 2 * i]).collect();
        Value::Rel(Arc::new(Relation::new(vec![n, 2 * n], rows, crate::memory::MemoryCharge::default())))
    };
    check(
        &of(3),
        expect![[r#"
        relation([[0, 0], [1, 2], [2, 4]], 3, 6)
    "#]],
    );
    check(
        &of(12),
        expect![[r#"
        relation([[0, 0],   [1, 2],   [2, 4],   [3, 6],   [4, 8],
                  [5, 10],  [6, 12],  [7, 14],  [8, 16],  [9, 18],
                  [10, 20], [11, 22]], 12, 24)
    "#]],
    );
    check(
        &of(2000),
        expect![[r#"
        relation([[0, 0], [1, 2], [2, 4], …], 2000, 4000)
    "#]],
    );
}

#[test]
fn after_a_name() {
    let shown = |head: &str, value: &Value| usual().show_after(head, value) + "\n";
    let eye = reals(&[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    let mut text = shown("x: [2]f64 =", &reals(&[2], &[3.0, 4.0]));
    text += &shown("a: [2, 2]f64 =", &eye);
    text += &shown("y: [12]f64 =", &filled(&[12], |i| i as f64 / 7.0));
    text += &shown("f64 =", &Value::F64(5.0));
    expect![[r#"
        x: [2]f64 = [3.0, 4.0]
        a: [2, 2]f64 =
        [[1.0, 0.0],
         [0.0, 1.0]]
        y: [12]f64 =
        [0.0,      0.142857, 0.285714, 0.428571, 0.571429,
         0.714286, 0.857143, 1.0,      1.14286,  1.28571,
         1.42857,  1.57143]
        f64 = 5.0
    "#]]
    .assert_eq(&text);
}

#[test]
fn messages() {
    let shown = |values: &[Value]| usual().message(values) + "\n";
    let text = |text: &str| Value::Str(text.into());
    let eye = reals(&[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    let mut all = shown(&[text("a is"), Value::F64(1.5), text("b"), reals(&[2], &[1.0, 2.0])]);
    all += &shown(&[text("centres"), eye.clone(), text("and"), eye.clone()]);
    all += &shown(&[text("a sentence before the matrix that is shown"), eye]);
    all += &shown(&[text("two\nlines"), Value::I64(1), text("\"as is\"")]);
    all += &shown(&[]);
    expect![[r#"
        a is 1.5 b [1.0, 2.0]
        centres [[1.0, 0.0],
                 [0.0, 1.0]]
        and [[1.0, 0.0],
             [0.0, 1.0]]
        a sentence before the matrix that is shown
        [[1.0, 0.0],
         [0.0, 1.0]]
        two
        lines 1 "as is"

    "#]]
    .assert_eq(&all);
}

/// The output is short and fast, however large or deep the value is.
#[test]
fn bounded() {
    let deep = list(1_000_000, |i| Value::F64(i as f64));
    let shown = usual().show(&deep);
    assert!(shown.len() < 1000, "{}", shown.len());
    let left = (0..1_000_000).fold(constructed("Nil", vec![]), |l, i| constructed("Snoc", vec![l, Value::I64(i)]));
    assert!(usual().show(&left).len() < 1000);
    let mut nested = Value::unit();
    for _ in 0..300_000 {
        nested = Value::array(&[1], vec![Value::tuple(vec![nested, Value::I64(1)])]).unwrap();
    }
    assert!(usual().show(&nested).len() < 2000);
    assert!(usual().show(&filled(&[1 << 20], |i| i as f64)).len() < 200);
    assert!(usual().show(&filled(&[2; 18], |i| i as f64)).len() < 200_000);
    assert!(usual().show(&Value::Str("x".repeat(1 << 20).into())).len() < 2000);
    let wide = Value::array(
        &[1000],
        vec![filled(&[1000], |i| i as f64); 1000].into_iter().map(|v| Value::tuple(vec![v])).collect::<Vec<_>>(),
    )
    .unwrap();
    assert!(usual().show(&wide).len() < 200_000);
    assert!(usual().show(&tree(16)).len() < 200_000);
    // Complete output has its full length, and uses no stack.
    let whole = with(Digits::All);
    assert!(whole.show(&deep).len() > 10_000_000);
    assert!(whole.show(&left).ends_with("999999)"));
    assert!(whole.show(&nested).ends_with(']'));
}

/// With all digits nothing is elided: without white space, the output equals the text that reads
/// back.
#[test]
fn all_of_it() {
    let values = [
        filled(&[40, 50], |i| (i as f64).sin()),
        filled(&[3, 2, 2], |i| (i as f64).exp()),
        Value::array(&[2, 1], vec![true, false]).unwrap(),
        Value::array(&[1], vec![true]).unwrap(),
        list(200, |i| Value::F64(i as f64 / 3.0)),
        tree(9),
        record(&[("a", filled(&[30], |i| i as f64)), ("b", Value::Str("x y".repeat(600).into()))]),
        reals(&[3, 0], &[]),
    ];
    let bare = |text: &str| text.replace(char::is_whitespace, "");
    for value in values {
        let text = with(Digits::All).show(&value);
        assert_eq!(bare(&text), bare(&to_full_text(&value, 1 << 30).unwrap()));
        assert!(value.as_array().is_none() || text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }
}
