//! **Tests of the readers.** Checks the errors for invalid texts, and the round trip from text to
//! form to text for forms that no library program produces.

mod loops;

use expect_test::{Expect, expect};

use super::{read_core, read_ssa};

/// Compares the reading of each text, an error or the printed form, with the expectation. A text
/// that contains `core` is read as core, any other as Tensor SSA.
#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "`expect!` creates an owned value")]
fn assert_rejected(texts: &[&str], expected: Expect) {
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
fn invalid_core_texts() {
    assert_rejected(
        &[
            "",
            "core",
            "core f",
            "core f[n](x: [n]f64) -> f64",
            "core f[n](x: [n]f64) -> f64 =",
            "core f[n](x: [n]f64) -> f64 = x",
            "core f[n](x: [n]f64) -> f64 = y",
            "core m.f[n](x: [n]f64) -> f64 = 0.0",
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
        expect![[r#"

              1:1: expected `ssa`, found the end of the text
            core
              1:5: expected a definition, found the end of the text
            core f
              1:7: expected `[`, found the end of the text
            core f[n](x: [n]f64) -> f64
              1:28: expected `=`, found the end of the text
            core f[n](x: [n]f64) -> f64 =
              1:30: expected an expression, found the end of the text
            core f[n](x: [n]f64) -> f64 = x
              1:31: found type `[n]f64`, expected `f64`
            core f[n](x: [n]f64) -> f64 = y
              1:31: unknown name `y`
            core m.f[n](x: [n]f64) -> f64 = 0.0
              1:6: expected a name without a module, found `m`
            core f[n](x: [m]f64) -> f64 = 0.0
              1:15: unknown name `m`
            core f[n](n: i64) -> f64 = 0.0
              1:11: duplicate name `n`
            core f[2](x: f64) -> f64 = x
              1:8: expected the name of a size
            core f[n](bounded x: [n]f64) -> f64 = 0.0
              1:22: only an `i64` parameter may be `bounded` or `data`
            core f[](x: f64) -> f64 = x + 1
              1:27: cannot add `f64` and `i64`
            core f[](x: f64) -> f64 = x + 
              1:31: expected an expression, found the end of the text
            core f[](x: f64) -> f64 = (x
              1:29: expected `,` or `)`, found the end of the text
            core f[](x: f64) -> f64 = x * x * x
              1:27: a product of more than two factors needs parentheses
            core f[](x: f64) -> f64 = x x
              1:29: expected the end of the text, found `x`
            core f[](x: f64) -> f64 = x.0
              1:27: `f64` has no component 0
            core f[](x: {a: f64}) -> f64 = x.b
              1:32: `{a: f64}` has no field `b`
            core f[](x: f64) -> f64 = x[0]
              1:29: `f64` cannot be indexed
            core f[n](x: [n]f64) -> f64 = x[x]
              1:33: `x` has type `[n]f64`, expected an integer
            core f[n](x: [n]f64) -> f64 = x[n / 2]
              1:37: `/` requires reals; use `//` for integers
            core f[n](x: [n]f64) -> f64 = x[n // 0]
              1:38: division by zero
            core f[n](x: [n]f64) -> f64 = sum i < n: [x[i]] * x[i]
              1:43: `x` has no element of type `bool` with 1 index
            core f[n](x: [n]f64) -> f64 = sum i < n: [i < n] + x[i]
              1:50: expected `*` after a bracket, found `+`
            core f[n](x: [n]f64) -> f64 = sum i < n: [R(i)] * x[i]
              1:43: unknown name `R`
            core f[](x: f64) -> f64 = sqrt(x, x)
              1:27: `sqrt` takes 1 argument, found 2
            core f[](x: f64) -> f64 = g(x)
              1:27: unknown operation `g`; call a definition as `g[…](…)`
            core f[](x: f64) -> [2]f64 = g[](x)
              1:30: found type `f64`, expected `[2]f64`
            core f[](x: f64) -> f64 = check(0 < 1, E9999 "no") x
              1:40: expected an error code, found `E9999`
            core f[](x: f64) -> f64 = check(0 < 1, E0500 "no) x
              1:46: unterminated string, or unknown escape
            core f[](x: f64) -> f64 = let y = x
              1:36: expected `in`, found the end of the text
            core f[](x: f64) -> f64 = let index y = x in y
              1:41: an index must have type `i64`
            core f[](x: f64) -> f64 = g_adj{0, 1}[](x)
              1:37: expected `;`, found `}`
            core f[](x: f64) -> f64 = g[[n]f64;](x)
              1:30: an extent in a type argument must be `s0`, `s1`, …
            core f[](x: f64) -> f64 = ~x
              1:27: unexpected character '~'
            core f[](x: f64) -> f64 = 99999999999999999999999999999999999999999999
              1:27: the number is too large
            core f[](x: f64) -> f64 = `x
              1:27: missing closing backquote
            core f[](x: f64) -> f64 = x > 0.0 && x < 1.0
              1:27: `&&` and `||` must be in brackets
            core f[](x: f64) -> i64 = 99999999999999999999: i64
              1:27: 99999999999999999999 does not fit in `i64`
        "#]],
    );
}

#[test]
fn invalid_ssa_texts() {
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
        "X0[i0 < n]: f64 = input x\n  X1[i0 < n] = g[n](X0[i0])\n  X2: f64 = X1.0\n  out X2",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = g[n](X0)\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = sum i0 < n: X0[i0]\n  out X1, X1",
        "X0[i0 < n]: f64 = input x\n  X1: i64 = 1\n  out X1",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = sum i0 < n: X0[i0]\n  out X1 needs 3",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = X0[4294967295]\n  out X4294967295",
        "X0[i0 < n]: f64 = input x\n  X1: f64 = sum i0 < n: [x[i0] == 0] * X0[i0]\n  out X1",
    ];
    let texts: Vec<String> = texts.iter().map(|t| format!("ssa f[n](x: [n]f64) -> f64 =\n  {t}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_rejected(
        &texts,
        expect![[r#"
            ssa f[n](x: [n]f64) -> f64 =
              check 1: 0 < n, E0500 "no"
              out X0
              2:9: expected check 0
            ssa f[n](x: [n]f64) -> f64 =
              X1: f64 = 0.0
              out X1
              2:3: expected `X0` or `out`, found `X1`
            ssa f[n](x: [n]f64) -> f64 =
              X0: f64 = 0
              out X0
              2:13: expected a constant of type `f64`, found `0`
            ssa f[n](x: [n]f64) -> f64 =
              X0: i64 = 1.5
              out X0
              2:13: expected a constant of type `i64`, found `1.5`
            ssa f[n](x: [n]f64) -> f64 =
              X0: f64 = X0
              out X0
              2:13: `X0` is not an earlier statement
            ssa f[n](x: [n]f64) -> f64 =
              X0: f64 = X1
              X1: f64 = 1.0
              out X0
              2:13: `X1` is not an earlier statement
            ssa f[n](x: [n]f64) -> f64 =
              X0[i1 < n]: f64 = input x
              out X0
              2:6: expected `i0`, found `i1`
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = 1.0
              out X0
              2:3: a constant has no indices
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input y
              out X0
              2:3: unknown parameter `y`
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input y = x.0
              out X0
              2:3: `x` has no such component
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              out X0
              3:7: `X0` does not have type `f64`
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = X0[i0]
              out X1
              3:16: unknown name `i0`
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = X0
              out X1
              3:13: `X0` has 1 index, found 0
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = sum i1 < n: X0[i0]
              out X1
              3:17: expected `i0`, found `i1`
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = sum i0 < n: X0[i0] needs 0
              out X1
              3:38: unknown check 0
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1[i0 < n]: f64 = foo(X0[i0])
              out X1
              3:3: unknown operation `foo`
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1[i0 < n]: f64 = /(X0[i0])
              out X1
              3:3: `/` takes 2 arguments, found 1
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = X0[0] * X0[0] + X0[0]
              out X1
              3:27: expected the end of the product, found `+`
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1[i0 < n] = g[n](X0[i0])
              X2: f64 = X1.0
              out X2
              4:3: the result has fewer indices than the call
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = g[n](X0)
              out X1
              3:13: a call or a loop has no type
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = sum i0 < n: X0[i0]
              out X1, X1
              4:7: found 2 outputs, but the result has 1 components
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: i64 = 1
              out X1
              4:7: `X1` does not have type `f64`
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = sum i0 < n: X0[i0]
              out X1 needs 3
              4:16: unknown check 3
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = X0[4294967295]
              out X4294967295
              4:7: `X4294967295` is not an earlier statement
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = sum i0 < n: [x[i0] == 0] * X0[i0]
              out X1
              3:26: `x` has no element of type `i64` with 1 index
        "#]],
    );
}

/// The first print normalises the order of terms and conditions, the names of locals, and the `let`
/// inputs. After that, reading and printing change nothing.
#[test]
fn core_round_trip() {
    let core = [
        "core f[n](x: [n]f64) -> f64 =\n  sum i < n: [0 <= i - 1 && (i == 2 || i != 3)] * x[i]",
        "core f[n](k: [n]i64, b: [n]bool, R: rel[n, n]) -> i64 =
  sum i < n: [b[i] && !R(i, k[i]) && (any j < n: R(i, j))] * k[i]",
        "core f[](bounded n: i64, data k: i64) -> i64 = (n + k: i64) * k + n[]",
        "core f[](n: i64) -> i64 = min(n, 3) + max(2 * n, n^2) + n // 2 + n % 3",
        "core f[](x: f32) -> (f32, f32, f32, (f64,), i64) = (0.1f32, nan: f32, -inf: f32, (-0.0,), 3: i64)",
        "core f[](x: f64) -> f64 = -(1.0) + (-2.0) * x - -3.0 + (x ^ 0.5 + -(x ^ 2)) + 1e300",
        "core f[f64, {a: [s0]f64, b: linalg.T(s1)}; n, s0, s1](x: [n]f64) -> f64 =
  (linalg.g_adj{0; 0, 1}_tan{2}[f64; n](x, \"a b.iv\".h#3[](x): (f64, {a: i64})): (f64, f64)).1",
        "core adjoint f[n](let eps: f64, let e = linalg.eps: [n]f64, let x = prelude.`a b`: f64) -> f64 = e[0] * eps",
        "core f[n](x: [n]f64) -> {a: [n]f64, b: f64} =
  let y: [n]f64 = g[n](x)
  let k: bool = h[](x[0])
  in {a: for i < n: [k] * y[i], b: check(n > 0, E0500 \"a \\\"b\\\"\") y[0]}",
        "core f[n](x: [n]f64) -> f64 =
  (sum i < n: x[i]) + (sum i < n: sum i < i: x[i]) + (let n = 2.0 in n) + (let sum = x[0] in sum * sum)",
    ];
    let mut texts = String::new();
    for text in core {
        let once = read_core("t", text).map(|f| f.to_string()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let reprinted = read_core("t", &once).map(|f| f.to_string());
        assert_eq!(reprinted.as_ref(), Ok(&once), "{text}");
        texts += &once;
    }
    expect![[r#"
        core f[n](x: [n]f64) -> f64 =
          sum i < n: [(i == 2 || i != 3) && 0 < i] * x[i]
        core f[n](k: [n]i64, b: [n]bool, R: rel[n, n]) -> i64 =
          sum i < n: [b[i] && !R(i, k[i]) && (any j < n: R(i, j))] * k[i]
        core f[](bounded n: i64, data k: i64) -> i64 =
          (n + k: i64) * k + n[]
        core f[](n: i64) -> i64 =
          n // 2 + n % 3 + min(3, n) + max(2 * n, n^2)
        core f[](x: f32) -> (f32, f32, f32, (f64,), i64) =
          (0.1f32, nan: f32, -inf: f32, (-0.0,), 3: i64)
        core f[](x: f64) -> f64 =
          -(1.0) + (-2.0) * x - (-3.0) + ((x ^ 0.5) - (x ^ 2)) + 1e300
        core f[f64, {a: [s0]f64, b: linalg.T(s1)}; n, s0, s1](x: [n]f64) -> f64 =
          (linalg.g_adj{0; 0, 1}_tan{2}[f64; n](x, "a b.iv".h#3[](x): (f64, {a: i64})): (f64, f64)).1
        core adjoint f[n](let eps = linalg.eps: [n]f64, let eps'1 = eps: f64) -> f64 =
          eps[0] * eps'1
        core f[n](x: [n]f64) -> {a: [n]f64, b: f64} =
          let y: [n]f64 = g[n](x)
          let k: bool = h[](x[0])
          in {a: for i < n: [k] * y[i], b: check(0 < n, E0500 "a \"b\"") y[0]}
        core f[n](x: [n]f64) -> f64 =
          (sum i < n: x[i]) + (sum i < n: sum i'1 < i: x[i'1]) + (
            let n'1 = 2.0
            in n'1) + (
            let sum = x[0]
            in sum * sum)
    "#]]
    .assert_eq(&texts);
}

/// Forms that the passes do not produce together: every kind of input, a batched call, and
/// component paths such as `0.1`.
#[test]
fn ssa_round_trip() {
    let text = "opaque ssa f_tan{0}[n, m](bounded k: i64, p: {a: [n]f64, b: i64}, R: rel[n, m], let q: i64) -> ([n, m]f64, f32) =
  check 0[i0 < n, i1 < m]: (any j < q: X3(i0, j)) => X1[i0] < k + p_b, E0502 \"as \\\"told\\\"\"
  X0: i64 = input k
  X1[i0 < n]: i64 = input p_a = p.0  -- p_a
  X2: i64 = input bounded p_b = p.1
  X3[i0 < n, i1 < m]: rel = input R
  X4[i0 < 3]: f64 = input eps = let linalg.eps.0.1
  X5: i64 = input k_tan = tan 0
  X6: f64 = input y_adj = adj 1 at 0.1
  X7[i0 < n] = [i0 < k] * linalg.g[f64; n, m](X1[i0], X4)  needs 0  -- batch
  X8[i0 < n, i1 < m]: f64 = X7.0
  X9[i0 < n]: i64 = index i0 + 2 * X1[i0]
  X10: f32 = 0.1
  X11: f32 = -sum i0 < n, i1 < m: [X3(i0, i1)] * X10 * X10  needs 0
  X12: bool = true
  X13: bool = !(X12)
  out X8 at 1, X11  needs 0
";
    assert_eq!(read_ssa("t", text).map(|f| f.to_string()), Ok(text.to_owned()));
}

#[test]
fn reductions() {
    assert_rejected(
        &[
            "core f[n](x: [n]f64) -> f64 = max i < n: x[i]",
            "core f[n, m](a: [n, m]f64) -> i64 = argmin i < n, j < m if i < j at m * i + j: a[i, j]",
            "core f[n](x: [n]f64) -> f64 = (prod i < n: x[i]) + max(x[0], min j < n if 0 < j: x[j])",
            "core f[n](x: [n]f64) -> f64 = max i < n if: x[i]",
            "core f[n](x: [n]f64) -> f64 = max i < n at i: x[i]",
            "core f[n](x: [n]f64) -> i64 = argmax i < n: x[i]",
            "core f[n, m](a: [n, m]f64) -> f64 = max i < n: a[i]",
            "ssa f[n](x: [n]f64) -> f64 =\n  X0[i0 < n]: f64 = input x\n  X1: f64 = [0 < n] * max i0 < n if i0 < 3: X0[i0]\n  out X1",
            "ssa f[n](x: [n]f64) -> i64 =\n  X0[i0 < n]: f64 = input x\n  X1: i64 = argmax i0 < n at i0 + 1: X0[i0]\n  out X1",
            "ssa f[n](b: [n]bool, x: [n]f64) -> [n]f64 =\n  X0[i0 < n]: bool = input b\n  X1[i0 < n]: f64 = input x\n  X2[i0 < n]: f64 = min if X0[i0]: X1[i0]\n  out X2",
            "ssa f[n](x: [n]f64) -> f64 =\n  X0[i0 < n]: f64 = input x\n  X1: f64 = max i1 < n: X0[i1]\n  out X1",
            "ssa f[n](x: [n]f64) -> i64 =\n  X0[i0 < n]: f64 = input x\n  X1: i64 = argmax i0 < n: X0[i0]\n  out X1",
        ],
        expect![[r#"
            core f[n](x: [n]f64) -> f64 = max i < n: x[i]
              read: core f[n](x: [n]f64) -> f64 =
              max i < n: x[i]

            core f[n, m](a: [n, m]f64) -> i64 = argmin i < n, j < m if i < j at m * i + j: a[i, j]
              read: core f[n, m](a: [n, m]f64) -> i64 =
              argmin i < n, j < m if i < j at m * i + j: a[i, j]

            core f[n](x: [n]f64) -> f64 = (prod i < n: x[i]) + max(x[0], min j < n if 0 < j: x[j])
              read: core f[n](x: [n]f64) -> f64 =
              (prod i < n: x[i]) + max(x[0], min j < n if 0 < j: x[j])

            core f[n](x: [n]f64) -> f64 = max i < n if: x[i]
              1:43: expected an expression, found `:`
            core f[n](x: [n]f64) -> f64 = max i < n at i: x[i]
              1:41: expected `:`, found `at`
            core f[n](x: [n]f64) -> i64 = argmax i < n: x[i]
              1:43: expected `at`, found `:`
            core f[n, m](a: [n, m]f64) -> f64 = max i < n: a[i]
              1:48: expected a scalar, found `[m]f64`
            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = [0 < n] * max i0 < n if i0 < 3: X0[i0]
              out X1
              read: ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = [0 < n] * max i0 < n if i0 <= 2: X0[i0]
              out X1

            ssa f[n](x: [n]f64) -> i64 =
              X0[i0 < n]: f64 = input x
              X1: i64 = argmax i0 < n at i0 + 1: X0[i0]
              out X1
              read: ssa f[n](x: [n]f64) -> i64 =
              X0[i0 < n]: f64 = input x
              X1: i64 = argmax i0 < n at i0 + 1: X0[i0]
              out X1

            ssa f[n](b: [n]bool, x: [n]f64) -> [n]f64 =
              X0[i0 < n]: bool = input b
              X1[i0 < n]: f64 = input x
              X2[i0 < n]: f64 = min if X0[i0]: X1[i0]
              out X2
              read: ssa f[n](b: [n]bool, x: [n]f64) -> [n]f64 =
              X0[i0 < n]: bool = input b
              X1[i0 < n]: f64 = input x
              X2[i0 < n]: f64 = min if X0[i0]: X1[i0]
              out X2

            ssa f[n](x: [n]f64) -> f64 =
              X0[i0 < n]: f64 = input x
              X1: f64 = max i1 < n: X0[i1]
              out X1
              3:17: expected `i0`, found `i1`
            ssa f[n](x: [n]f64) -> i64 =
              X0[i0 < n]: f64 = input x
              X1: i64 = argmax i0 < n: X0[i0]
              out X1
              3:26: expected `at`, found `:`
        "#]],
    );
}
