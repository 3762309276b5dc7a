//! Texts that are no form, and what is said of them; forms that no program of the library has.

use expect_test::{Expect, expect};

use super::{read_core, read_ssa};

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "as `expect!` gives it")]
fn refused(texts: &[&str], expected: Expect) {
    let message = |text: &&str| {
        let error = if text.contains("core") {
            read_core("t", text).map(|f| f.to_string())
        } else {
            read_ssa("t", text).map(|f| f.to_string())
        };
        format!("{text}\n  {}\n", error.map_or_else(|e| e.to_string(), |text| format!("read: {text}")))
    };
    expected.assert_eq(&texts.iter().map(message).collect::<String>());
}

#[test]
fn core_that_is_none() {
    refused(
        &[
            "",
            "core",
            "core f",
            "core f[n](x: [n]f64) -> f64",
            "core f[n](x: [n]f64) -> f64 =",
            "core f[n](x: [n]f64) -> f64 = x",
            "core f[n](x: [n]f64) -> f64 = y",
            "core f[n](x: [m]f64) -> f64 = 0.0",
            "core f[n](n: i64) -> f64 = 0.0",
            "core f[2](x: f64) -> f64 = x",
            "core f[n](bounded x: [n]f64) -> f64 = 0.0",
            "core f[](x: f64) -> f64 = x + 1",
            "core f[](x: f64) -> f64 = x + ",
            "core f[](x: f64) -> f64 = (x",
            "core f[](x: f64) -> f64 = x * x * x",
            "core f[](x: f64) -> f64 = x x",
            "core f[](x: f64) -> f64 = x.0",
            "core f[](x: {a: f64}) -> f64 = x.b",
            "core f[](x: f64) -> f64 = x[0]",
            "core f[n](x: [n]f64) -> f64 = x[x]",
            "core f[n](x: [n]f64) -> f64 = x[n / 2]",
            "core f[n](x: [n]f64) -> f64 = x[n // 0]",
            "core f[n](x: [n]f64) -> f64 = sum i < n: [x[i]] * x[i]",
            "core f[n](x: [n]f64) -> f64 = sum i < n: [i < n] + x[i]",
            "core f[n](x: [n]f64) -> f64 = sum i < n: [R(i)] * x[i]",
            "core f[](x: f64) -> f64 = sqrt(x, x)",
            "core f[](x: f64) -> f64 = g(x)",
            "core f[](x: f64) -> [2]f64 = g[](x)",
            "core f[](x: f64) -> f64 = check(0 < 1, E9999 \"no\") x",
            "core f[](x: f64) -> f64 = check(0 < 1, E0500 \"no) x",
            "core f[](x: f64) -> f64 = let y = x",
            "core f[](x: f64) -> f64 = let index y = x in y",
            "core f[](x: f64) -> f64 = g_adj{0, 1}[](x)",
            "core f[](x: f64) -> f64 = g[[n]f64;](x)",
            "core f[](x: f64) -> f64 = ~x",
            "core f[](x: f64) -> f64 = 99999999999999999999999999999999999999999999",
            "core f[](x: f64) -> f64 = `x",
            "core f[](x: f64) -> f64 = x > 0.0 && x < 1.0",
            "core f[](x: f64) -> i64 = 99999999999999999999: i64",
        ],
        expect![[""]],
    );
}

#[test]
fn ssa_that_is_none() {
    let texts = [
        "check 1: 0 < n, E0500 \"no\"\n  out X0",
        "X1: f64 = 0.0\n  out X1",
        "X0: f64 = 0\n  out X0",
        "X0: i64 = 1.5\n  out X0",
        "X0: f64 = X0\n  out X0",
        "X0: f64 = X1\n  X1: f64 = 1.0\n  out X0",
        "X0[i1 < n]: f64 = input x\n  out X0",
        "X0[i0 < n]: f64 = 1.0\n  out X0",
        "X0[i0 < n]: f64 = input y\n  out X0",
        "X0[i0 < n]: f64 = input y = x.0\n  out X0",
        "X0[i0 < n]: f64 = input x\n  out X0",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = X0[i0]\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = X0\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = sum i1 < n: X0[i0]\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = sum i0 < n: X0[i0] needs 0\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1[i0 < n]: f64 = foo(X0[i0])\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1[i0 < n]: f64 = /(X0[i0])\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = X0[0] * X0[0] + X0[0]\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = for i0: g[n](X0[i0]).0\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = g[n](X0)\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = sum i0 < n: X0[i0]\n  out X1, X1",
        "X0[i0 < n]: f64 = input x\n  X1: i64 = 1\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = sum i0 < n: X0[i0]\n  out X1 needs 3",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = X0[4294967295]\n  out X4294967295",
    ];
    let texts: Vec<String> = texts.iter().map(|t| format!("ssa f[n](x: [n]f64) -> f64 =\n  {t}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    refused(&texts, expect![[""]]);
}

/// What is printed is what was read.
#[test]
fn kept_as_they_are() {
    let core = [
        "core f[n](x: [n]f64) -> f64 =\n  sum i < n: [0 <= i - 1 && (i == 2 || i != 3)] * x[i]\n",
        "core f[n](k: [n]i64, b: [n]bool, R: rel[n, n]) -> i64 =\n  sum i < n: [b[i] && !R(i, k[i]) && (any j < n: R(i, j))] * k[i]\n",
        "core f[](bounded n: i64, data k: i64) -> i64 =\n  (n + k: i64) * k + n[]\n",
        "core f[](n: i64) -> i64 =\n  min(n, 3) + max(2 * n, n^2) + n // 2 + n % 3\n",
        "core f[](x: f32) -> (f32, f32, f32, (f64,), i64) =\n  (0.1f32, nan: f32, -inf: f32, (-0.0,), 3: i64)\n",
        "core f[](x: f64) -> f64 =\n  -(1.0) + (-2.0) * x - -3.0 + (x ^ 0.5 + -(x ^ 2)) + 1e300\n",
        "core f[f64, {a: [s0]f64, b: linalg.T(s1)}; n, s0, s1](x: [n]f64) -> f64 =\n  linalg.g_adj{0; 0, 1}_tan{2}[f64; n](x, \"a b.iv\".h#3[](x): (f64, {a: i64})).1\n",
        "core adjoint f[n](let eps: f64, let e = linalg.eps: [n]f64, let `a b` = prelude.`a b`: f64) -> f64 =\n  e[0] * eps\n",
        "core f[n](x: [n]f64) -> {a: [n]f64, b: f64} =\n  let y: [n]f64 = g[n](x)\n  let k: bool = h[](x[0])\n  in {a: for i < n: [k] * y[i], b: check(n > 0, E0500 \"a \\\"b\\\"\") y[0]}\n",
    ];
    for text in core {
        let read = read_core("t", text).map(|f| f.to_string());
        let again = read.as_ref().map(|text| read_core("t", text).map(|f| f.to_string()));
        assert_eq!(again, Ok(read.clone()), "{text}");
        println!("{}", read.unwrap_or_default());
    }
}
