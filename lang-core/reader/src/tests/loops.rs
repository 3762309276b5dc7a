//! **Tests of the readers on loops and array updates.** Checks the errors for invalid texts, and
//! the round trip from text to form to text.

use expect_test::expect;

use super::{assert_rejected, read_ssa};

#[test]
fn invalid_ssa_loops() {
    let invalid_tails = [
        "X3 = loop j0 < n {\n  }\n  out X1",
        "X2: f64 = X3.last Y1\n  out X2",
        "X2: f64 = X1.last Y1\n  out X2",
        "X2 = loop j0 < n {\n    Y0: f64 = given X0[j0]\n  }\n  X3: f64 = X2.last Y0\n  out X3",
        "X2 = loop j0 < n {\n    Y0: f64 = given X0[j0]\n  }\n  X3: f64 = X2.every Y0\n  out X3",
        "X2 = loop j0 < n {\n    Y0: f64 = given X0[j0]\n  }\n  X3[i0 < n]: f64 = X2.every Y1\n  out X3",
        "X2 = loop j0 < n {\n    Y0: f64 = given X0[i0]\n  }\n  X3[i0 < n]: f64 = X2.every Y0\n  out X3",
        "X2 = loop j0 < n {\n    Y0: f64 = given X0\n  }\n  X3[i0 < n]: f64 = X2.every Y0\n  out X3",
        "X2 = loop j0 < n {\n    Y0: f64 = given X3\n  }\n  X3[i0 < n]: f64 = X2.every Y0\n  out X3",
        "X2 = loop j0 < n {\n    Y0: f64 = X1\n  }\n  X3[i0 < n]: f64 = X2.every Y0\n  out X3",
        "X2 = loop j0 < n {\n    Y0: f64 = input x\n  }\n  X3[i0 < n]: f64 = X2.every Y0\n  out X3",
        "X2 = loop j0 < n {\n    Y0[i0 < n]: f64 = given X0\n  }\n  X3[i0 < n, i1 < n]: f64 = X2.every Y0\n  out X1",
        "X2 = loop j0 < n with n, n {\n  }\n  out X1",
        "X2 = loop j0 < n with m {\n  }\n  out X1",
        "X2 = loop j0 < n {\n    Y0: f64 = given k = X1\n  }\n  out X1",
        "X2 = loop j0 < n {\n    Y0: f64 = carried X1 then Y1\n  }\n  out X1",
        "X2 = loop j0 < n {\n    Y0: f64 = carried X1 then Y1\n    Y1: i64 = 1\n  }\n  out X1",
        "X2 = loop j0 < n {\n    Y0: f64 = carried X1\n  }\n  out X1",
        "X2 = loop j0 while Y0 {\n    Y0: f64 = given X1\n  }\n  out X1",
        "X2 = loop j0 < n {\n    all\n  }\n  out X1",
        "X2 = loop j0 < n {\n    all needs 0\n  }\n  out X1",
        "X2 = loop j1 < n {\n  }\n  out X1",
        "X2 = loop j0 < n {\n  out X1",
        "X2 = loop j0 < n {\n  }\n  X3: i64 = X2.trip\n  out X1",
        "X2 = loop j0 < n {\n  }\n  X3: f64 = X2.0\n  out X1",
        "X2 = loop j0 < n {\n  }\n  X3: f64 = X1 + X2\n  out X1",
        "X2 = loop j0 < n {\n  }\n  X3: i64 = index X2\n  out X1",
        "X2 = loop j0 < n {\n  }\n  out X2",
        "X2: i64 = loop j0 < n {\n  }\n  out X1",
        "X2[i0 < n] = loop j0 < n {\n  }\n  out X1",
        "X2 = for j0 < n: X0[j0]\n  out X1",
        "X2 = X1\n  out X1",
        "X2 X1\n  out X1",
        "X2[i0 < n] = g[](X0[i0])\n  X3: f64 = X2.0\n  out X1",
        "X2 = g[](X1)\n  X3: i64 = X2.trips\n  out X1",
        "X2: f64 = given X1\n  out X2",
        "X2: f64 = input 2: y = let y\n  out X2",
        "X2[i0 < n]: f64 = X0 with [0, 1] = X1\n  out X1",
        "X2[i0 < n]: f64 = X0 with [i0] = X1\n  out X1",
        "X2[i0 < n]: f64 = X0 with [i1] = X0[i1] for i0 < n\n  out X1",
        "X2[i0 < n]: i64 = X0 with [0] = X1\n  out X1",
        "X2[i0 < n]: f64 = for i0: X0[i0] with [] = X1\n  X3: f64 = X0[0] with [0] = X1\n  out X1",
    ];
    let head = "ssa f[n](x: [n]f64) -> f64 =\n  X0[i0 < n]: f64 = input x\n  X1: f64 = 1.0\n";
    let texts: Vec<String> = invalid_tails.iter().map(|t| format!("{head}  {t}")).collect();
    let message = |text: &String| {
        let error = read_ssa("t", text).map(|f| f.to_string());
        let text = text.strip_prefix(head).unwrap_or_default();
        format!("of\n{text}\n  {}\n", error.map_or_else(|e| e.to_string(), |text| format!("read: {text}")))
    };
    expect![[r#"
        of
          X3 = loop j0 < n {
          }
          out X1
          4:3: expected `X2` or `out`, found `X3`
        of
          X2: f64 = X3.last Y1
          out X2
          4:13: `X3` is not an earlier statement
        of
          X2: f64 = X1.last Y1
          out X2
          4:13: `X1` is not a loop
        of
          X2 = loop j0 < n {
            Y0: f64 = given X0[j0]
          }
          X3: f64 = X2.last Y0
          out X3
          7:3: `Y0` is not carried
        of
          X2 = loop j0 < n {
            Y0: f64 = given X0[j0]
          }
          X3: f64 = X2.every Y0
          out X3
          7:3: this result has 1 index and type `f64`
        of
          X2 = loop j0 < n {
            Y0: f64 = given X0[j0]
          }
          X3[i0 < n]: f64 = X2.every Y1
          out X3
          7:3: `Y1` is not an earlier statement
        of
          X2 = loop j0 < n {
            Y0: f64 = given X0[i0]
          }
          X3[i0 < n]: f64 = X2.every Y0
          out X3
          5:24: unknown name `i0`
        of
          X2 = loop j0 < n {
            Y0: f64 = given X0
          }
          X3[i0 < n]: f64 = X2.every Y0
          out X3
          5:5: the operand has 1 index and type `f64`
        of
          X2 = loop j0 < n {
            Y0: f64 = given X3
          }
          X3[i0 < n]: f64 = X2.every Y0
          out X3
          5:21: `X3` is not an earlier statement
        of
          X2 = loop j0 < n {
            Y0: f64 = X1
          }
          X3[i0 < n]: f64 = X2.every Y0
          out X3
          5:15: `X1` is not an earlier statement
        of
          X2 = loop j0 < n {
            Y0: f64 = input x
          }
          X3[i0 < n]: f64 = X2.every Y0
          out X3
          5:5: a function must use `input`, a loop `given` or `carried`
        of
          X2 = loop j0 < n {
            Y0[i0 < n]: f64 = given X0
          }
          X3[i0 < n, i1 < n]: f64 = X2.every Y0
          out X1
          5:13: unknown name `n`
        of
          X2 = loop j0 < n with n, n {
          }
          out X1
          4:28: duplicate name `n`
        of
          X2 = loop j0 < n with m {
          }
          out X1
          4:25: unknown name `m`
        of
          X2 = loop j0 < n {
            Y0: f64 = given k = X1
          }
          out X1
          5:5: only an integer may have a name here
        of
          X2 = loop j0 < n {
            Y0: f64 = carried X1 then Y1
          }
          out X1
          5:31: `Y1` is not an earlier statement
        of
          X2 = loop j0 < n {
            Y0: f64 = carried X1 then Y1
            Y1: i64 = 1
          }
          out X1
          5:31: `Y1` does not have the type of the carried value
        of
          X2 = loop j0 < n {
            Y0: f64 = carried X1
          }
          out X1
          6:3: expected `then`, found `}`
        of
          X2 = loop j0 while Y0 {
            Y0: f64 = given X1
          }
          out X1
          4:22: `Y0` is not a carried truth value
        of
          X2 = loop j0 < n {
            all
          }
          out X1
          6:3: expected `needs`, found `}`
        of
          X2 = loop j0 < n {
            all needs 0
          }
          out X1
          5:15: unknown check 0
        of
          X2 = loop j1 < n {
          }
          out X1
          4:13: expected `j0`, found `j1`
        of
          X2 = loop j0 < n {
          out X1
          5:3: expected `Y0` or `}`, found `out`
        of
          X2 = loop j0 < n {
          }
          X3: i64 = X2.trip
          out X1
          6:16: expected `last`, `every`, `state`, `trips` or an output number, found `trip`
        of
          X2 = loop j0 < n {
          }
          X3: f64 = X2.0
          out X1
          6:13: `X2` is not a call
        of
          X2 = loop j0 < n {
          }
          X3: f64 = X1 + X2
          out X1
          6:18: `X2` is a call or a loop, which has no elements
        of
          X2 = loop j0 < n {
          }
          X3: i64 = index X2
          out X1
          6:19: `X2` has type `()`, expected an integer
        of
          X2 = loop j0 < n {
          }
          out X2
          6:7: `X2` is a call or a loop, which has no elements
        of
          X2: i64 = loop j0 < n {
          }
          out X1
          4:13: a call or a loop has no type
        of
          X2[i0 < n] = loop j0 < n {
          }
          out X1
          4:16: expected a call, found `loop`
        of
          X2 = for j0 < n: X0[j0]
          out X1
          4:20: expected `loop`, found `X0`
        of
          X2 = X1
          out X1
          4:8: expected a call or a loop, found `X1`
        of
          X2 X1
          out X1
          4:6: expected `:` or `=`, found `X1`
        of
          X2[i0 < n] = g[](X0[i0])
          X3: f64 = X2.0
          out X1
          5:3: the result has fewer indices than the call
        of
          X2 = g[](X1)
          X3: i64 = X2.trips
          out X1
          5:13: `X2` is not a loop
        of
          X2: f64 = given X1
          out X2
          4:3: a function must use `input`, a loop `given` or `carried`
        of
          X2: f64 = input 2: y = let y
          out X2
          4:3: expected input 1
        of
          X2[i0 < n]: f64 = X0 with [0, 1] = X1
          out X1
          4:3: an update with 2 indices does not match the rank
        of
          X2[i0 < n]: f64 = X0 with [i0] = X1
          out X1
          4:3: an update must not use index `i0`
        of
          X2[i0 < n]: f64 = X0 with [i1] = X0[i1] for i0 < n
          out X1
          4:47: expected `i1`, found `i0`
        of
          X2[i0 < n]: i64 = X0 with [0] = X1
          out X1
          4:3: the update has a different type
        of
          X2[i0 < n]: f64 = for i0: X0[i0] with [] = X1
          X3: f64 = X0[0] with [0] = X1
          out X1
          5:3: an update with 1 index does not match the rank
    "#]]
    .assert_eq(&texts.iter().map(message).collect::<String>());
}

#[test]
fn core_loops_and_updates() {
    assert_rejected(
        &[
            "core f[n](x: [n]f64) -> f64 =\n  (loop k < n from 1.0: f#0[n, k](x): (f64, [0](), i64)).0",
            "core f[](x: f64) -> f64 =\n  (loop k from (x > 0.0, x) while .0: f#0[](): ((bool, f64), [_]f64, i64)).0.1",
            "core f[n](x: [n]f64, v: [n]f64) -> [n]f64 =\n  update(update(x, [n - 1] += 1.0), [i + 1] = v[i] for i < n - 1 if 0 < n)",
            "core f[n](x: [n]f64) -> f64 = loop k < n from 1.0: f#0[n, k](x)",
            "core f[n](x: [n]f64) -> f64 = (loop k < n from 1.0: f#0[n, k](x): (f64, f64, i64)).0",
            "core f[n](x: [n]f64) -> f64 = (loop k < n from 1.0: f#0[n, k](x): (i64, [0](), i64)).0",
            "core f[n](x: [n]f64) -> f64 = (loop k < n: f#0[n, k](x): (f64, [0](), i64)).0",
            "core f[n](x: [n]f64) -> f64 = (loop k from 1.0 while .1: f#0[n](x): (f64, [0](), i64)).0",
            "core f[n](x: [n]f64) -> [n]f64 = update(x, [0, 1] = 1.0)",
            "core f[n](x: [n]f64) -> [n]f64 = update(x, [0] = x)",
            "core f[n](x: [n]f64) -> [n]f64 = update(x, [i] = x for i < n)",
            "core f[n](x: [n]f64) -> [n]f64 = update(x, [i] = x[j] for i < n)",
            "core f[n](x: [n]f64) -> [n]f64 = update(x, [i] = 1.0)",
        ],
        expect![[r#"
            core f[n](x: [n]f64) -> f64 =
              (loop k < n from 1.0: f#0[n, k](x): (f64, [0](), i64)).0
              read: core f[n](x: [n]f64) -> f64 =
              (loop k < n from 1.0: f#0[n, k](x): (f64, [0](), i64)).0

            core f[](x: f64) -> f64 =
              (loop k from (x > 0.0, x) while .0: f#0[](): ((bool, f64), [_]f64, i64)).0.1
              read: core f[](x: f64) -> f64 =
              (loop k from (x > 0.0, x) while .0: f#0[](): ((bool, f64), [_]f64, i64)).0.1

            core f[n](x: [n]f64, v: [n]f64) -> [n]f64 =
              update(update(x, [n - 1] += 1.0), [i + 1] = v[i] for i < n - 1 if 0 < n)
              read: core f[n](x: [n]f64, v: [n]f64) -> [n]f64 =
              update(update(x, [n - 1] += 1.0), [i + 1] = v[i] for i < n - 1 if 0 < n)

            core f[n](x: [n]f64) -> f64 = loop k < n from 1.0: f#0[n, k](x)
              1:31: a loop must be followed by its type
            core f[n](x: [n]f64) -> f64 = (loop k < n from 1.0: f#0[n, k](x): (f64, f64, i64)).0
              1:32: `(f64, f64, i64)` is not a loop type
            core f[n](x: [n]f64) -> f64 = (loop k < n from 1.0: f#0[n, k](x): (i64, [0](), i64)).0
              1:48: the initial value has type `f64`, which is not the carry type
            core f[n](x: [n]f64) -> f64 = (loop k < n: f#0[n, k](x): (f64, [0](), i64)).0
              1:42: expected `from`, found `:`
            core f[n](x: [n]f64) -> f64 = (loop k from 1.0 while .1: f#0[n](x): (f64, [0](), i64)).0
              1:56: expected component 0, found `:`
            core f[n](x: [n]f64) -> [n]f64 = update(x, [0, 1] = 1.0)
              1:53: `f64` cannot be indexed
            core f[n](x: [n]f64) -> [n]f64 = update(x, [0] = x)
              1:50: found type `[n]f64`, expected `f64`
            core f[n](x: [n]f64) -> [n]f64 = update(x, [i] = x for i < n)
              1:50: expected an element at the indices of the update
            core f[n](x: [n]f64) -> [n]f64 = update(x, [i] = x[j] for i < n)
              1:50: expected an element at the indices of the update
            core f[n](x: [n]f64) -> [n]f64 = update(x, [i] = 1.0)
              1:45: unknown name `i`
        "#]],
    );
}

/// Nested and batched loops with their inputs, array updates, and inputs in an order of their own.
#[test]
fn ssa_loops_round_trip() {
    let text = "ssa f_tan{0, 2}[n, m](a: [n, m]f64, data k: i64, b: [k]f64) -> ([n, m]f64, [k]f64, i64) =
  X0[i0 < n, i1 < m]: f64 = input a  -- a
  X1: i64 = input k
  X2[i0 < X1]: f64 = input b
  X3[i0 < X1]: f64 = input 4: b_tan = tan 2
  X4[i0 < n, i1 < m]: f64 = input 3: a_tan = tan 0
  X5: bool = true
  X6: f64 = 0.5
  X7 = for j0 < n, j1 < m: [j0 < j1] * loop j2 < m - j1 with n, m, k = j0, l = m - j2 - 1 {
    check 0[i0 < k]: Y1 => i0 < n, E0502 \"inside\"
    Y0: i64 = given p = X1
    Y1: bool = given X5
    Y2[i0 < m]: f64 = given X0[j0]  -- row
    Y3: f64 = carried X6 then Y7
    Y4 = loop j0 while Z1 with k = k + p {
      Z0: f64 = given Y2[j0]
      Z1: bool = carried Y1 then Z5
      Z2 = loop j0 < k {
        XX0: f64 = given Z0
        XX1: f64 = XX0 * XX0
      }
      Z3[i0 < k]: f64 = Z2.every XX1
      Z4: f64 = sum i0 < k: Z3[i0]
      Z5: bool = >(Z4, Z0)
    }  needs 0  -- search
    Y5: i64 = Y4.trips
    Y6: f64 = sum i0 < l: [i0 < Y5] * Y2[i0]
    Y7: f64 = Y3 + Y6
    all needs 0
  }
  X8[i0 < n, i1 < m]: f64 = X7.last Y3
  X9[i0 < n, i1 < m, i2 < m]: i64 = X7.every Y5
  X10[i0 < n, i1 < m]: f64 = for i0: X8[i0] with [i2 + 1] += X0[i0, i2] for i2 < m - 1 if X5
  X11[i0 < n, i1 < m]: f64 = X10 with [X9[0, 0, 0], 1] = X6
  X12 = [0 < m] * loop j0 < n checkpoint 2 with n, m {
    Y0: f64 = carried X6 then Y3
    Y1[i0 < n] = [i0 < m] * g[n](Y0)
    Y2[i0 < n]: f64 = Y1.0
    Y3: f64 = sum i0 < n: Y2[i0]
  }
  X13[i0 < n]: f64 = X12.state Y0
  out X11, X3, X1
";
    assert_eq!(read_ssa("t", text).map(|f| f.to_string()), Ok(text.to_owned()));
}
