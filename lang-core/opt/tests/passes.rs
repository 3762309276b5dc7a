//! Each pass of the table, from text to text.

use expect_test::{Expect, expect};
use lang_opt::{Optimised, PASSES};
use lang_reader::read_ssa;
use std::sync::Arc;

/// Applies one pass to a function, and compares the statements that it leaves.
#[track_caller]
fn check(pass: &str, text: &str, expected: Expect) {
    let ssa = read_ssa("a.iv", text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let pass = PASSES.iter().find(|p| p.name == pass).expect("a pass of the table");
    let mut optimised = Optimised::unchanged(Arc::new(ssa));
    let is_changed = optimised.apply(pass, &|_| None);
    let text = optimised.ssa.to_string();
    let lines: String = text.lines().skip(1).map(|line| format!("{}\n", line.trim_start())).collect();
    expected.assert_eq(if is_changed { &lines } else { "unchanged\n" });
}

#[test]
fn redundant_guards() {
    check(
        "redundant_guards",
        "ssa f[n, m](x: [n]f64, k: [m]i64) -> [n]f64 =
  X0[i0 < n]: f64 = input x
  X1[i0 < m]: i64 = input k
  X2[i0 < n]: f64 = sum i1 < m: [i0 == X1[i1]] * X0[i0]
  X3[i0 < n]: f64 = X0[i0] + [any i1 < m: i0 == X1[i1]] * X2[i0]
  out X3
",
        expect![[]],
    );
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
        expect![[]],
    );
}

#[test]
fn count_existentials() {
    check(
        "count_existentials",
        "ssa f[n, m](x: [n]f64, y: [m]f64) -> [n]f64 =
  X0[i0 < n]: f64 = input x
  X1[i0 < m]: f64 = input y
  X2[i0 < n, i1 < m]: bool = <(X0[i0], X1[i1])
  X3[i0 < n]: f64 = [any j < m: X2[i0, j]] * X0[i0]
  out X3
",
        expect![[]],
    );
}

#[test]
fn arg_reductions() {
    check(
        "arg_reductions",
        "ssa f[n](x: [n]f64) -> (f64, i64) =
  X0[i0 < n]: f64 = input x
  X1: f64 = max i0 < n: X0[i0]
  X2: i64 = argmax i0 < n: X0[i0]
  out X1, X2
",
        expect![[]],
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
        expect![[]],
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
        expect![[]],
    );
}

#[test]
fn hoist_gathers() {
    check(
        "hoist_gathers",
        "ssa f[n, m](x: [m]f64, p: [n]i64, b: [n, n]f64) -> [n]f64 =
  X0[i0 < m]: f64 = input x
  X1[i0 < n]: i64 = input p
  X2[i0 < n, i1 < n]: f64 = input b
  X3[i0 < n]: f64 = sum i1 < n: [i1 + 1 < n] * X0[X1[i1]] * X2[i0, i1]
  out X3
",
        expect![[]],
    );
}

#[test]
fn forward_views() {
    check(
        "forward_views",
        "ssa f[n, m](x: [n]f64, a: [m]f64) -> [m]f64 =
  X0[i0 < n]: f64 = input x
  X1[i0 < m]: f64 = input a
  X2[i0 < m, i1 < n]: f64 = X0[i1]
  X3 = for j0 < m: loop j1 < n with n, t = j1 {
    Y0[i0 < n]: f64 = given X2[j0]
    Y1: f64 = carried X1[j0] then Y2
    Y2: f64 = Y1 + Y0[t]
  }
  X4[i0 < m]: f64 = X3.last Y1
  out X4
",
        expect![[]],
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
