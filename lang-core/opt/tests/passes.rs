//! Passes of the table, from text to text. Other passes have such tests in their files.

#![expect(clippy::expect_used, clippy::panic, reason = "a text that cannot be read fails the test")]

use std::sync::Arc;

use expect_test::{Expect, expect};
use lang_opt::{Optimised, PASSES};
use lang_reader::read_ssa;

/// Applies one pass to a function, and compares the statements that it leaves.
#[track_caller]
fn check(pass: &str, text: &str, expected: Expect) {
    check_with_callee(pass, text, None, expected);
}

/// The same for a function that calls another one.
#[track_caller]
fn check_with_callee(pass: &str, text: &str, callee: Option<&str>, expected: Expect) {
    let read = |text: &str| read_ssa("a.iv", text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let (ssa, callee) = (read(text), callee.map(|text| Arc::new(read(text))));
    let pass = PASSES.iter().find(|p| p.name == pass).expect("a pass of the table");
    let mut optimised = Optimised::unchanged(Arc::new(ssa));
    let is_changed = optimised.apply(pass, &|_| callee.clone());
    let text = optimised.ssa.to_string();
    let lines: String = text.lines().skip(1).map(|line| format!("{}\n", line.trim_start())).collect();
    expected.assert_eq(if is_changed { &lines } else { "unchanged\n" });
}

#[test]
fn invariant_axes() {
    // The reader implies the guard of `X2`, so that all rows of `X2` are equal.
    check(
        "invariant_axes",
        "ssa f[n](a: [n, n]f64, b: [n]f64) -> [n]f64 =
  X0[i0 < n, i1 < n]: f64 = input a
  X1[i0 < n]: f64 = input b
  X2[i0 < n, i1 < n]: f64 = [i1 < i0] * X1[i1]
  X3[i0 < n]: f64 = sum i1 < n: [i1 < i0] * X0[i0, i1] * X2[i0, i1]
  out X3
",
        expect![[r#"
            X0[i0 < n, i1 < n]: f64 = input a
            X1[i0 < n]: f64 = input b
            X2[i0 < n]: f64 = X1[i0]
            X3[i0 < n]: f64 = sum i1 < n: [i1 < i0] * X0[i0, i1] * X2[i1]
            out X3
        "#]],
    );
}

#[test]
fn arg_reductions() {
    check(
        "arg_reductions",
        "ssa f[n](x: [n]f64) -> (f64, i64) =
  X0[i0 < n]: f64 = input x
  X1: f64 = max i0 < n: X0[i0]
  X2: i64 = argmax i0 < n at i0: X0[i0]
  out X1, X2
",
        expect![[r#"
            X0[i0 < n]: f64 = input x
            X1: f64 = -inf
            X2: i64 = argmax i0 < n at i0: X0[i0]
            X3: f64 = [0 < n] * X0[X2] + [n <= 0] * X1
            out X3, X2
        "#]],
    );
}

#[test]
fn factor_sums() {
    check(
        "factor_sums",
        "ssa f[n, m](a: [m]f64, b: [n, m]f64) -> f64 =
  X0[i0 < m]: f64 = input a
  X1[i0 < n, i1 < m]: f64 = input b
  X2: f64 = sum i0 < n, i1 < m: X0[i1] * X1[i0, i1]
  out X2
",
        expect![[r#"
            X0[i0 < m]: f64 = input a
            X1[i0 < n, i1 < m]: f64 = input b
            X2[i0 < m]: f64 = sum i1 < n: X1[i1, i0]
            X3: f64 = sum i0 < m: X0[i0] * X2[i0]
            out X3
        "#]],
    );
}

#[test]
fn inline_batched_calls() {
    check_with_callee(
        "inline_batched_calls",
        "ssa f[n, m](x: [n, m]f64) -> [n]f64 =
  X0[i0 < n, i1 < m]: f64 = input x
  X1[i0 < n] = norm[m](X0[i0])
  X2[i0 < n]: f64 = X1.0
  X3[i0 < n]: f64 = exp(X2[i0])
  out X3
",
        Some(
            "ssa norm[m](x: [m]f64) -> f64 =
  X0[i0 < m]: f64 = input x
  X1: f64 = sum i0 < m: X0[i0] * X0[i0]
  X2: f64 = sqrt(X1)
  out X2
",
        ),
        expect![[r#"
            X0[i0 < n, i1 < m]: f64 = input x
            X1[i0 < n]: f64 = sum i1 < m: X0[i0, i1] * X0[i0, i1]
            X2[i0 < n]: f64 = sqrt(X1[i0])
            X3[i0 < n]: f64 = X2[i0]
            X4[i0 < n]: f64 = exp(X3[i0])
            out X4
        "#]],
    );
}

#[test]
fn scalarise_axes() {
    check(
        "scalarise_axes",
        "ssa f[n](x: [n, 2]f64) -> [n]f64 =
  X0[i0 < n, i1 < 2]: f64 = input x
  X1[i0 < n, i1 < 2]: f64 = exp(X0[i0, i1])
  X2[i0 < n]: f64 = X1[i0, 0] - X1[i0, 1]
  out X2
",
        expect![[r#"
            X0[i0 < n, i1 < 2]: f64 = input x
            X1[i0 < n]: f64 = exp(X0[i0, 0])
            X2[i0 < n]: f64 = exp(X0[i0, 1])
            X3[i0 < n]: f64 = X1[i0] - X2[i0]
            out X3
        "#]],
    );
}

#[test]
fn a_pass_without_effect_leaves_a_function_as_it_is() {
    let text = "ssa f[n](x: [n]f64) -> f64 =
  X0[i0 < n]: f64 = input x
  X1: f64 = sum i0 < n: X0[i0]
  out X1
";
    for pass in PASSES {
        check(pass.name, text, expect!["unchanged\n"]);
    }
}
