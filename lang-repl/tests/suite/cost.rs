//! Tests of `iverson cost` and of the warning by `iverson check`: formulas, numbers at sizes, and
//! adjoints that are too expensive.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use crate::harness::{CONV, Dir};
use expect_test::{Expect, expect};

/// A rule that forms a Jacobian, data-dependent costs in a function and its adjoint, and an array
/// literal.
const MODELS: &str = "\
def squares(x: [n]f64) -> [n]f64 = for i: x[i]^2
adjoint squares(x; dy) =
  let jacobian = for i < n, j < n: [i == j] * x[i] + [i == j] * x[j]
  in for j: sum i: jacobian[i, j] * dy[i]
def positive(x: [n]f64) -> f64 = sum i: if x[i] > 0.0 then x[i] * x[i] else 0.0
def weighted(x: [3]f64) -> f64 = let w = [0.5, 1.5, 2.5] in sum i: w[i] * x[i]
";

#[track_caller]
fn check_all(lines: &[&[&str]], expected: Expect) {
    Dir::new(&[("conv.iv", CONV.as_bytes()), ("models.iv", MODELS.as_bytes())]).check_all(lines, expected);
}

#[test]
fn formulas_and_costs_at_sizes() {
    check_all(
        &[
            &["cost", "conv.iv", "conv"],
            &["cost", "conv.iv", "--format", "json"],
            &["cost", "conv.iv", "conv", "--at", "n=5,m=2", "--measure"],
            &["cost", "conv.iv", "conv", "--at", "n=5", "--at", "m=2", "--format", "json"],
            &["cost", "conv.iv", "conv", "--at", "n=5"],
            &["cost", "conv.iv", "conv", "--at", "n=0,m=0"],
            &["cost", "conv.iv", "conv", "--at", "n=5,m=2,k=1"],
            &["cost", "conv.iv", "conv", "--at", "n=many"],
            &["cost", "conv.iv", "conv", "--at", "n=1_000_000,m=1_000"],
            &["cost", "conv.iv", "conv", "n=5", "m=2"],
            &["cost", "conv.iv", "conv", "--at", "n=5", "m=-1"],
            &["cost", "conv.iv", "--at", "n=5"],
            &["cost", "conv.iv", "n=5"],
            &["cost", "conv.iv", "nothing"],
            &["cost", "conv.iv", "cnov"],
            &["cost", "missing.iv", "conv"],
        ],
        expect![[r#"
            $ iverson cost conv.iv conv
            conv, for n, m of at least 1

            primal   work        2·n·m − n
                     iterations  n·m
                     span        ≤ m
                     io          2·n + 2·m − 1
            forward  work        6·n·m − 2·n
                     iterations  3·n·m + 2·n
                     span        ≤ m + 1
            adjoint  work        6·n·m − 2·n − 2·m + 1
                     iterations  3·n·m
                     span        ≤ max(m, n)

            adjoint + io ≤ 3 · (primal + io), proved for all sizes; 3 is the least factor, at n = 3, m = 3

            work by source expression
              primal   2·n·m − n              2:63 sum j < m: x[i + j] * c[j]
              adjoint  6·n·m − 2·n − 2·m + 1  2:63 sum j < m: x[i + j] * c[j]
            $ iverson cost conv.iv --format json
            [{"def": "conv", "sizes": ["n", "m"], "work": {"primal": {"formula": "(2*n*m - n)*[0 < m]"}, "forward": {"formula": "(6*n*m - 2*n)*[0 < m]"}, "adjoint": {"formula": "(6*n*m + 1 - 2*n - 2*m)*[1 < n && 0 < m] + (4*m - 1)*[1 < m && 0 < n && n <= 1] + 3*[0 < n && 0 < m && n <= 1 && m <= 1]"}}, "tests": {"primal": {"formula": "0"}, "forward": {"formula": "0"}, "adjoint": {"formula": "0"}}, "iterations": {"primal": {"formula": "n*m"}, "forward": {"formula": "(3*n*m + 2*n)*[0 < m]"}, "adjoint": {"formula": "3*n*m*[1 < n] + 3*m*[1 < m && 0 < n && n <= 1] + 3*[0 < n && m <= 1 && n <= m]"}}, "span": {"primal": {"formula": "m*[0 < m]"}, "forward": {"formula": "m*[0 < m] + 1"}, "adjoint": {"formula": "max(m*[0 < m], n*[0 < n])"}}, "kept": {"primal": {"formula": "0"}, "forward": {"formula": "0"}, "adjoint": {"formula": "0"}}, "io": {"formula": "2*n + 2*m - 1"}, "optimised": [], "terms": [{"of": "primal", "line": 2, "column": 63, "text": "sum j < m: x[i + j] * c[j]", "work": {"formula": "2*n*m - n*[0 < m]"}, "tests": {"formula": "0"}, "iterations": {"formula": "n*m"}}, {"of": "forward", "line": 2, "column": 63, "text": "sum j < m: x[i + j] * c[j]", "work": {"formula": "6*n*m - 2*n*[0 < m]"}, "tests": {"formula": "0"}, "iterations": {"formula": "3*n*m + 2*n*[0 < m]"}}, {"of": "adjoint", "line": 2, "column": 63, "text": "sum j < m: x[i + j] * c[j]", "work": {"formula": "4*n*m - n*[0 < m] + 2*n*m*[1 < n] + 2*m*[1 < m && 0 < n && n <= 1] + 2*[m <= 1 && n <= m && m <= n] + (1 - n - m)*[0 < n && 0 < m] - m*[0 < n]"}, "tests": {"formula": "0"}, "iterations": {"formula": "2*n*m + n*m*[1 < n] + m*[1 < m && 0 < n && n <= 1] + [m <= 1 && n <= m && m <= n]"}}], "symbols": [], "bound": {"verdict": "proved", "factor": 3, "tight": {"n": 3, "m": 3}, "sizes": "all"}}, {"def": "main", "sizes": ["n", "m"], "work": {"primal": {"formula": "(2*n*m - n)*[0 < m]"}, "forward": {"formula": "(6*n*m - 2*n)*[0 < m]"}, "adjoint": {"formula": "(6*n*m + 1 - 2*n - 2*m)*[1 < n && 0 < m] + (4*m - 1)*[1 < m && 0 < n && n <= 1] + 3*[0 < n && 0 < m && n <= 1 && m <= 1]"}}, "tests": {"primal": {"formula": "0"}, "forward": {"formula": "0"}, "adjoint": {"formula": "0"}}, "iterations": {"primal": {"formula": "n*m"}, "forward": {"formula": "(3*n*m + 2*n)*[0 < m]"}, "adjoint": {"formula": "3*n*m*[1 < n] + 3*m*[1 < m && 0 < n && n <= 1] + 3*[0 < n && m <= 1 && n <= m]"}}, "span": {"primal": {"formula": "m*[0 < m]"}, "forward": {"formula": "m*[0 < m] + 1"}, "adjoint": {"formula": "max(m*[0 < m], n*[0 < n])"}}, "kept": {"primal": {"formula": "0"}, "forward": {"formula": "0"}, "adjoint": {"formula": "0"}}, "io": {"formula": "2*n + 2*m - 1"}, "optimised": [], "terms": [{"of": "primal", "line": 4, "column": 52, "text": "conv(x, c)", "work": {"formula": "2*n*m - n*[0 < m]"}, "tests": {"formula": "0"}, "iterations": {"formula": "n*m"}}, {"of": "forward", "line": 4, "column": 52, "text": "conv(x, c)", "work": {"formula": "6*n*m - 2*n*[0 < m]"}, "tests": {"formula": "0"}, "iterations": {"formula": "3*n*m + 2*n*[0 < m]"}}, {"of": "adjoint", "line": 4, "column": 52, "text": "conv(x, c)", "work": {"formula": "4*n*m - n*[0 < m] + 2*n*m*[1 < n] + 2*m*[1 < m && 0 < n && n <= 1] + 2*[m <= 1 && n <= m && m <= n] + (1 - n - m)*[0 < n && 0 < m] - m*[0 < n]"}, "tests": {"formula": "0"}, "iterations": {"formula": "2*n*m + n*m*[1 < n] + m*[1 < m && 0 < n && n <= 1] + [m <= 1 && n <= m && m <= n]"}}], "symbols": [], "bound": {"verdict": "proved", "factor": 3, "tight": {"n": 3, "m": 3}, "sizes": "all"}}]
            $ iverson cost conv.iv conv --at n=5,m=2 --measure
            conv at n = 5, m = 2

                      work   iterations   io   bytes
            primal      15           10   13     104
            forward     50           40   26     208
            adjoint     47           30   26     208

            adjoint + io is 2.14 times primal + io

            measured   in           work   tests   iterations
            primal     program        15       0           15
            primal     core           15       0           10
            primal     Tensor SSA     15       0           10
            forward    Tensor SSA     50       0           40
            adjoint    Tensor SSA     47       0           30
            $ iverson cost conv.iv conv --at n=5 --at m=2 --format json
            {"def": "conv", "at": {"n": 5, "m": 2}, "work": {"primal": {"value": 15}, "forward": {"value": 50}, "adjoint": {"value": 47}}, "iterations": {"primal": {"value": 10}, "forward": {"value": 40}, "adjoint": {"value": 30}}, "io": {"primal": {"value": 13}, "forward": {"value": 26}, "adjoint": {"value": 26}}, "kept": {"primal": {"value": 0}, "forward": {"value": 0}, "adjoint": {"value": 0}}, "bytes": {"primal": {"value": 104, "exact": true}, "forward": {"value": 208, "exact": true}, "adjoint": {"value": 208, "exact": true}}, "exact": true}
            $ iverson cost conv.iv conv --at n=5
            --- stderr
            [E0600] Error: missing size: m
              Help: the cost depends on every size; write sizes as --at n=8,m=8
            --- status 2
            $ iverson cost conv.iv conv --at n=0,m=0
            --- stderr
            [E0600] Error: no `x` can have these sizes, because its extent n + m - 1 is -1
            --- status 2
            $ iverson cost conv.iv conv --at n=5,m=2,k=1
            --- stderr
            [E0600] Error: the definition has no size `k`
              Help: its sizes: n, m
            --- status 2
            $ iverson cost conv.iv conv --at n=many
            --- stderr
            [E0600] Error: `n=many` is not a size
              Help: write sizes as --at n=8,m=8
            --- status 2
            $ iverson cost conv.iv conv --at n=1_000_000,m=1_000
            conv at n = 1000000, m = 1000

                            work   iterations        io      bytes
            primal    1999000000   1000000000   2001999   16015992
            forward   5998000000   3002000000   4003998   32031984
            adjoint   5997998001   3000000000   4003998   48063968

            adjoint + io is 3.00 times primal + io
            $ iverson cost conv.iv conv n=5 m=2
            conv at n = 5, m = 2

                      work   iterations   io   bytes
            primal      15           10   13     104
            forward     50           40   26     208
            adjoint     47           30   26     208

            adjoint + io is 2.14 times primal + io
            $ iverson cost conv.iv conv --at n=5 m=-1
            --- stderr
            [E0600] Error: the size `m` cannot be -1
              Help: it is the number of elements along an axis, which is 0 or more
            --- status 2
            $ iverson cost conv.iv --at n=5
            --- stderr
            [E0600] Error: sizes require the name of a definition
              Help: name the definition, as in `iverson cost conv.iv conv --at …`
            --- status 2
            $ iverson cost conv.iv n=5
            --- stderr
            [E0600] Error: sizes require the name of a definition
              Help: name the definition, as in `iverson cost conv.iv conv --at …`
            --- status 2
            $ iverson cost conv.iv nothing
            --- stderr
            [E0600] Error: unknown definition `nothing`
              Help: available: conv, main
            --- status 2
            $ iverson cost conv.iv cnov
            --- stderr
            [E0600] Error: unknown definition `cnov`
              Help: did you mean `conv`?
            --- status 2
            $ iverson cost missing.iv conv
            --- stderr
            [E0602] Error: `missing.iv` cannot be read: no such file
              Help: paths are relative to the current directory
            --- status 2
        "#]],
    );
}

#[test]
fn what_data_decide_and_what_grows() {
    check_all(
        &[
            &["cost", "models.iv", "squares"],
            &["cost", "models.iv", "positive"],
            &["cost", "models.iv", "positive", "--format", "json"],
            &["cost", "models.iv", "weighted"],
            &["check", "models.iv"],
        ],
        expect![[r#"
            $ iverson cost models.iv squares
            squares, for n of at least 1

            primal   work        n
                     iterations  n
                     span        ≤ 1
                     io          2·n
            forward  work        2·n² + n
                     iterations  n² + 3·n
                     span        ≤ n + 1
            adjoint  work        2·n² + n
                     iterations  n² + 3·n
                     span        ≤ n + 1

            adjoint + io exceeds every multiple of (primal + io), because of 2·n²
              152 against 24 at n = 8
              8384 against 192 at n = 64
              525824 against 1536 at n = 512

            work by source expression
              primal   n         1:43 x[i]^2
              adjoint  n         1:43 x[i]^2
                       n         3:36 [i == j] * x[i] + [i == j] * x[j]
                       2·n² − n  4:13 sum i: jacobian[i, j] * dy[i]
            $ iverson cost models.iv positive
            positive, for n of at least 1

            primal   work        n + p0 − 1
                     iterations  3·n + p0
                     tests       3·n
                     span        ≤ max(2, n + 1)
                     io          n + 1
            forward  work        n − t2 + 4·p0 − 1
                     iterations  3·n + 5·p0
                     tests       7·n
                     span        ≤ max(2, n + 1)
            adjoint  work        n + 3·p0 − 1
                     iterations  3·n + 4·p0
                     tests       6·n
                     span        ≤ max(2, n + 1)

            adjoint + io ≤ 2 · (primal + io), proved for all sizes

            work by source expression
              primal   n − 1  5:34 sum i: if x[i] > 0.0 then x[i] * x[i] else 0.0
                       p0     5:60 x[i] * x[i]
              adjoint  n − 1  5:34 sum i: if x[i] > 0.0 then x[i] * x[i] else 0.0
                       p0     5:44 x[i]
                       2·p0   5:60 x[i] * x[i]

            symbols that depend on data
              p0  number of terms: 5:60 x[i] * x[i], at most n
              t2  number of elements with a term: 5:34 sum i: if x[i] > 0.0 then x[i] * x[i] else 0.0, at most 1
            $ iverson cost models.iv positive --format json
            {"def": "positive", "sizes": ["n"], "work": {"primal": {"formula": "(n + p0 - 1)*[0 < n] + p0*[n <= 0]"}, "forward": {"formula": "(n + 4*p0 - t2 - 1)*[0 < n] + (4*p0 - t2)*[n <= 0]"}, "adjoint": {"formula": "(n + 3*p0 - 1)*[0 < n] + 3*p0*[n <= 0]"}}, "tests": {"primal": {"formula": "3*n"}, "forward": {"formula": "7*n"}, "adjoint": {"formula": "6*n"}}, "iterations": {"primal": {"formula": "3*n + p0"}, "forward": {"formula": "3*n + 5*p0"}, "adjoint": {"formula": "3*n + 4*p0"}}, "span": {"primal": {"formula": "max(2, 2 + (n - 1)*[0 < n])"}, "forward": {"formula": "max(2, 2 + (n - 1)*[0 < n])"}, "adjoint": {"formula": "max(2, 2 + (n - 1)*[0 < n])"}}, "kept": {"primal": {"formula": "0"}, "forward": {"formula": "0"}, "adjoint": {"formula": "0"}}, "io": {"formula": "n + 1"}, "optimised": [], "terms": [{"of": "primal", "line": 5, "column": 34, "text": "sum i: if x[i] > 0.0 then x[i] * x[i] else 0.0", "work": {"formula": "n - [0 < n]"}, "tests": {"formula": "0"}, "iterations": {"formula": "n"}}, {"of": "primal", "line": 5, "column": 41, "text": "if x[i] > 0.0 then x[i] * x[i] else 0.0", "work": {"formula": "0"}, "tests": {"formula": "2*n*[0 < n]"}, "iterations": {"formula": "n"}}, {"of": "primal", "line": 5, "column": 44, "text": "x[i] > 0.0", "work": {"formula": "0"}, "tests": {"formula": "0"}, "iterations": {"formula": "n"}}, {"of": "primal", "line": 5, "column": 60, "text": "x[i] * x[i]", "work": {"formula": "p0"}, "tests": {"formula": "n*[0 < n]"}, "iterations": {"formula": "p0"}}, {"of": "forward", "line": 5, "column": 34, "text": "sum i: if x[i] > 0.0 then x[i] * x[i] else 0.0", "work": {"formula": "n - t2 + p0 - [0 < n]"}, "tests": {"formula": "n*[0 < n]"}, "iterations": {"formula": "n + p0"}}, {"of": "forward", "line": 5, "column": 41, "text": "if x[i] > 0.0 then x[i] * x[i] else 0.0", "work": {"formula": "0"}, "tests": {"formula": "2*n*[0 < n]"}, "iterations": {"formula": "n"}}, {"of": "forward", "line": 5, "column": 44, "text": "x[i] > 0.0", "work": {"formula": "0"}, "tests": {"formula": "0"}, "iterations": {"formula": "n"}}, {"of": "forward", "line": 5, "column": 60, "text": "x[i] * x[i]", "work": {"formula": "3*p0"}, "tests": {"formula": "4*n*[0 < n]"}, "iterations": {"formula": "4*p0"}}, {"of": "adjoint", "line": 5, "column": 34, "text": "sum i: if x[i] > 0.0 then x[i] * x[i] else 0.0", "work": {"formula": "n - [0 < n]"}, "tests": {"formula": "0"}, "iterations": {"formula": "n"}}, {"of": "adjoint", "line": 5, "column": 41, "text": "if x[i] > 0.0 then x[i] * x[i] else 0.0", "work": {"formula": "0"}, "tests": {"formula": "2*n*[0 < n]"}, "iterations": {"formula": "n"}}, {"of": "adjoint", "line": 5, "column": 44, "text": "x[i]", "work": {"formula": "p0"}, "tests": {"formula": "2*n*[0 < n]"}, "iterations": {"formula": "2*p0"}}, {"of": "adjoint", "line": 5, "column": 44, "text": "x[i] > 0.0", "work": {"formula": "0"}, "tests": {"formula": "0"}, "iterations": {"formula": "n"}}, {"of": "adjoint", "line": 5, "column": 60, "text": "x[i] * x[i]", "work": {"formula": "2*p0"}, "tests": {"formula": "2*n*[0 < n]"}, "iterations": {"formula": "2*p0"}}], "symbols": [{"name": "p0", "is": "number of terms: 5:60 x[i] * x[i], at most n"}, {"name": "t2", "is": "number of elements with a term: 5:34 sum i: if x[i] > 0.0 then x[i] * x[i] else 0.0, at most 1"}], "bound": {"verdict": "proved", "factor": 2, "tight": {"n": 1, "p0": 1}, "sizes": "all"}}
            $ iverson cost models.iv weighted
            weighted

            primal   work        5
                     iterations  6
                     span        ≤ 5
                     io          4
            forward  work        10
                     iterations  9
                     span        ≤ 5
            adjoint  work        8
                     iterations  9
                     span        ≤ 5

            adjoint + io ≤ 2 · (primal + io), proved for all sizes

            after the passes of the optimiser
              forward  work        10
                       iterations  12
              adjoint  work        8
                       iterations  12

            work by source expression
              primal   5  6:61 sum i: w[i] * x[i]
              adjoint  8  6:61 sum i: w[i] * x[i]
            $ iverson check models.iv
            --- stderr
            [W0700] Warning: the cost of the adjoint of `squares` exceeds every constant multiple of the cost of `squares`
               ╭─[ models.iv:4:13 ]
               │
             1 │ def squares(x: [n]f64) -> [n]f64 = for i: x[i]^2
               │     ───┬───
               │        ╰───── `squares` costs n
               │
             4 │   in for j: sum i: jacobian[i, j] * dy[i]
               │             ──────────────┬──────────────
               │                           ╰──────────────── this cost grows as 2·n²
               │
               │ Help: at n = 512, the adjoint costs 525824 and the function costs 1536, with inputs and outputs; `iverson cost` prints the formulas
            ───╯
            1 warning
        "#]],
    );
}

/// The elements of a long literal are not compared with each other.
#[test]
fn a_long_array_is_costed() {
    let items: Vec<String> = (0..5000).map(|k| format!("{k}.5")).collect();
    let text = format!("def long() -> [5000]f64 = [{}]\n", items.join(", "));
    let dir = Dir::new(&[("long.iv", text.as_bytes())]);
    dir.check_all(
        &[&["cost", "long.iv", "long", "--at", ""]],
        expect![[r#"
            $ iverson cost long.iv long --at 
            long

                     work   iterations     io   bytes
            primal      0         5000   5000   40000
        "#]],
    );
}
