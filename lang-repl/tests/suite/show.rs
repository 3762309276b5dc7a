//! Tests of `iverson show`: origins of lines, loop nests and their code.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use crate::harness::Dir;
use expect_test::expect;

#[test]
fn show_tells_where_lines_come_from() {
    let text =
        "import stats\n\ndef spread(x: [n]f64, at: [m]i64) -> f64 =\n  let y = for j: 2 * x[at[j]]\n  in stats.mean(y)";
    let dir = Dir::new(&[("spread.iv", text.as_bytes())]);
    let lines: [&[&str]; 4] = [
        &["show", "ssa", "spread.iv", "spread", "--origins"],
        &["show", "forward", "spread.iv", "spread", "--origins"],
        &["show", "ssa", "spread.iv", "spread_adj_tan", "--origins"],
        &["show", "core", "spread.iv", "spread", "--origins"],
    ];
    dir.check_all(
        &lines,
        expect![[r#"
            $ iverson show ssa spread.iv spread --origins
            ssa spread[n, m](x: [n]f64, at: [m]i64) -> f64 =
              check 0[i0 < m]: X1[i0] < n && 0 <= X1[i0], E0500 "index out of bounds"
              X0[i0 < n]: f64 = input x  -- x; 4:22 x
              X1[i0 < m]: i64 = input at  -- at
              X2: f64 = 2.0  -- 4:18 2
              X3[i0 < m]: f64 = X0[X1[i0]] * X2  needs 0  -- y; 4:18 2 * x[at[j]]; 4:11 for j: 2 * x[at[j]]; 5:17 y
              X4: f64 = sum i0 < m: X3[i0]  -- 5:6 stats.mean(y), in mean: sum i: x[i]
              X5: i64 = index m  -- 5:6 stats.mean(y), in mean: f64(n)
              X6: f64 = f64(X5)  -- 5:6 stats.mean(y), in mean: f64(n)
              X7: f64 = /(X4, X6)  -- 5:6 stats.mean(y), in mean: (sum i: x[i]) / f64(n)
              out X7
            $ iverson show forward spread.iv spread --origins
            ssa spread_tan{0}[n, m](x: [n]f64, at: [m]i64) -> (f64, f64) =
              check 0[i0 < m]: X1[i0] < n && 0 <= X1[i0], E0500 "index out of bounds"
              X0[i0 < n]: f64 = input x  -- x; value of X0: x
              X1[i0 < m]: i64 = input at  -- at; value of X1: at
              X2: f64 = 2.0  -- value of X2: 2
              X3[i0 < m]: f64 = X0[X1[i0]] * X2  needs 0  -- y; value of X3: 2 * x[at[j]]
              X4: f64 = sum i0 < m: X3[i0]  -- value of X4: sum i: x[i]
              X5: i64 = index m  -- value of X5: f64(n)
              X6: f64 = f64(X5)  -- value of X6: f64(n)
              X7: f64 = /(X4, X6)  -- value of X7: (sum i: x[i]) / f64(n)
              X8[i0 < n]: f64 = input x_tan = tan 0  -- x_tan; 6.1 of X0: x
              X9[i0 < m]: f64 = X2 * X8[X1[i0]]  needs 0  -- 6.5 of X3: 2 * x[at[j]]
              X10: f64 = sum i0 < m: X9[i0]  -- 6.10 of X4: sum i: x[i]
              X11: f64 = [0 < m] * /(X10, X6)  -- 6.6 of X7: (sum i: x[i]) / f64(n)
              out X7, X11
            $ iverson show ssa spread.iv spread_adj_tan --origins
            ssa spread_adj{0; 0}_tan{0}[n, m](x: [n]f64, at: [m]i64) -> (f64, [n]f64, f64, [n]f64) =
              check 0[i0 < m]: X1[i0] < n && 0 <= X1[i0], E0500 "index out of bounds"
              X0[i0 < n]: f64 = input x  -- x; value of X0: x
              X1[i0 < m]: i64 = input at  -- at; value of X1: at
              X2: f64 = 2.0  -- value of X2: 2
              X3[i0 < m]: f64 = X0[X1[i0]] * X2  needs 0  -- y; value of X3: 2 * x[at[j]]
              X4: f64 = sum i0 < m: X3[i0]  -- value of X4: sum i: x[i]
              X5: i64 = index m  -- value of X5: f64(n)
              X6: f64 = f64(X5)  -- value of X6: f64(n)
              X7: f64 = /(X4, X6)  -- value of X7: (sum i: x[i]) / f64(n)
              X8: f64 = input y_adj = adj 0  -- y_adj; value of X8: y_adj
              X9: f64 = /(X8, X6)  -- value of X9: 6.27 of X7: (sum i: x[i]) / f64(n)
              X10[i0 < n]: f64 = sum i1 < m: [i0 == X1[i1]] * X2 * X9  needs 0  -- x_adj; value of X10: 6.28 of X3: 2 * x[at[j]]
              X11[i0 < n]: f64 = input x_tan = tan 0  -- x_tan; 6.1 of X0: x
              X12[i0 < m]: f64 = X2 * X11[X1[i0]]  needs 0  -- 6.5 of X3: 2 * x[at[j]]
              X13: f64 = sum i0 < m: X12[i0]  -- 6.10 of X4: sum i: x[i]
              X14: f64 = [0 < m] * /(X13, X6)  -- 6.6 of X7: (sum i: x[i]) / f64(n)
              X15[i0 < n]: f64 = zero  -- zero of X10: 6.28 of X3: 2 * x[at[j]]
              out X7, X10, X14, X15
            $ iverson show core spread.iv spread --origins
            --- stderr
            [E0600] Error: this form has no origins
              Help: use `--origins` with `ssa`, `forward` or `adjoint`
            --- status 2
        "#]],
    );
}

/// Passes change the form, and may be switched off.
#[test]
fn show_opt() {
    let text = "def total(a: [m]f64, b: [n, m]f64) -> f64 = sum i, j: a[j] * b[i, j]\n";
    let dir = Dir::new(&[("total.iv", text.as_bytes())]);
    dir.check_all(
        &[
            &["show", "opt", "total.iv", "total", "--stats"],
            &["show", "opt", "total.iv", "total_adj"],
            &["show", "opt", "total.iv", "total", "--after", "arg_reductions"],
            &["show", "opt", "total.iv", "total", "--passes=-factor_sums"],
            &["show", "opt", "total.iv", "total", "--origins", "--passes", "factor_sums"],
            &["eval", "total([1, 2], [[3, 4], [5, 6]])", "-l", "total.iv", "--passes", "none"],
            &["show", "ssa", "total.iv", "total", "--stats"],
            &["show", "opt", "total.iv", "total", "--after", "factor_sum"],
            &["show", "opt", "total.iv", "total", "--passes=-factor_sum"],
        ],
        expect![[r#"
            $ iverson show opt total.iv total --stats
            redundant_guards      3, unchanged     removes guards that an empty sum makes redundant
            invariant_axes        3, unchanged     removes axes along which all elements are equal
            count_existentials    3, unchanged     computes existential predicates as counts, once for all readers
            arg_reductions        3, unchanged     reads a maximum at the index that an argmax computes
            factor_sums           3 -> 4           moves factors that do not depend on an index out of its sum
            inline_batched_calls  4, unchanged     inlines calls that happen once per element
            invariant_axes        4, unchanged     removes axes along which all elements are equal
            scalarise_axes        4, unchanged     makes a statement of each element of a short axis
            hoist_gathers         4, unchanged     gathers elements at data-dependent indices once
            forward_views         4, unchanged     passes the sources of views to loops
            $ iverson show opt total.iv total_adj
            ssa total_adj{0; 0, 1}[m, n](a: [m]f64, b: [n, m]f64) -> (f64, [m]f64, [n, m]f64) =
              X0[i0 < m]: f64 = input a  -- a
              X1[i0 < n, i1 < m]: f64 = input b  -- b
              X2[i0 < m]: f64 = sum i1 < n: X1[i1, i0]
              X3: f64 = sum i0 < m: X0[i0] * X2[i0]
              X4: f64 = input y_adj = adj 0  -- y_adj
              X5[i0 < m]: f64 = X2[i0] * X4  -- a_adj
              X6[i0 < m]: f64 = [0 < n] * X0[i0] * X4
              X7[i0 < n, i1 < m]: f64 = X6[i1]  -- b_adj
              out X3, X5, X7
            $ iverson show opt total.iv total --after arg_reductions
            ssa total[m, n](a: [m]f64, b: [n, m]f64) -> f64 =
              X0[i0 < m]: f64 = input a  -- a
              X1[i0 < n, i1 < m]: f64 = input b  -- b
              X2: f64 = sum i0 < n, i1 < m: X0[i1] * X1[i0, i1]
              out X2
            $ iverson show opt total.iv total --passes=-factor_sums
            ssa total[m, n](a: [m]f64, b: [n, m]f64) -> f64 =
              X0[i0 < m]: f64 = input a  -- a
              X1[i0 < n, i1 < m]: f64 = input b  -- b
              X2: f64 = sum i0 < n, i1 < m: X0[i1] * X1[i0, i1]
              out X2
            $ iverson show opt total.iv total --origins --passes factor_sums
            ssa total[m, n](a: [m]f64, b: [n, m]f64) -> f64 =
              X0[i0 < m]: f64 = input a  -- a; 1:55 a[j]
              X1[i0 < n, i1 < m]: f64 = input b  -- b; 1:62 b[i, j]
              X2[i0 < m]: f64 = sum i1 < n: X1[i1, i0]  -- 1:45 sum i, j: a[j] * b[i, j]
              X3: f64 = sum i0 < m: X0[i0] * X2[i0]  -- 1:45 sum i, j: a[j] * b[i, j]
              out X3
            $ iverson eval total([1, 2], [[3, 4], [5, 6]]) -l total.iv --passes none
            28.0
            $ iverson show ssa total.iv total --stats
            --- stderr
            [E0600] Error: `--after` and `--stats` apply to the form `opt` only
              Help: use them with `iverson show opt`
            --- status 2
            $ iverson show opt total.iv total --after factor_sum
            --- stderr
            error: invalid value 'factor_sum' for '--after <PASS>': no pass is named `factor_sum`; the passes are arg_reductions, count_existentials, factor_sums, forward_views, hoist_gathers, inline_batched_calls, invariant_axes, redundant_guards, scalarise_axes

            For more information, try '--help'.
            --- status 2
            $ iverson show opt total.iv total --passes=-factor_sum
            --- stderr
            error: invalid value '-factor_sum' for '--passes <LIST>': no pass is named `factor_sum`; the passes are arg_reductions, count_existentials, factor_sums, forward_views, hoist_gathers, inline_batched_calls, invariant_axes, redundant_guards, scalarise_axes

            For more information, try '--help'.
            --- status 2
        "#]],
    );
}

/// A loop that is a kernel names its source loop once; its code uses vectors.
#[test]
fn show_loops_and_their_code() {
    let text =
        "def smoothed(x: [n]f64, k: i64) -> [n]f64 =\n  fold y = x for _ < k: for i: 0.5 * (y[i] + x[n - 1 - i])\n";
    let dir = Dir::new(&[("smoothed.iv", text.as_bytes())]);
    dir.check_all(
        &[&["show", "loops", "smoothed.iv", "smoothed"]],
        expect![[r#"
            $ iverson show loops smoothed.iv smoothed
            X6 is 0.5
            kernel reads X0[n]; writes X3[n]
              for i < n, in chunks:  -- n times
                X4[i] = X0[i]  -- 2:3 fold y = x for _ < k: for i: 0.5 * (y[i] + x[n - …
                for j < k, in order:  -- at most n * k times
                  X5[j, i] = X4[i]
                  X7[j, i] = X5[j, i] + X0[n - i - 1]
                  X8[j, i] = X6 * X7[j, i]
                  X4[i] = X8[j, i]
                X3[i] = X4[i]  -- 2:3 fold y = x for _ < k: for i: 0.5 * (y[i] + x[n - …
        "#]],
    );
    let dir = Dir::new(&[("scaled.iv", b"def scaled(x: [n]f64) -> [n]f64 = for i: 0.5 * x[i] + 1\n")]);
    let code = dir.run(&["show", "clif", "scaled.iv", "scaled"], b"");
    assert!(code.contains("function u0:0(i64) -> i32"), "{code}");
    assert!(code.contains("f64x2") && code.contains("fmul"), "{code}");
}
