//! Tests of `iverson run`: arguments of `main` that fit or do not, and programs that fail.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use crate::harness::{CONV, Dir, MINE, SCRIPT};
use expect_test::{Expect, expect};

const POINT: &str = "\
type Shape(n, a) = Circle({r: a}) | Dots([n]a, Shape(n, a)) | Empty
def main(p: {x: f64, y: (i64, bool)}, s: Shape(n, f64), k: i64, a: [k, 2]i64) -> (f64, i64) =
  (p.x, p.y.0 + k + sum i, j: a[i, j])
";

const FAILS: &str = "\
def pick(x: [n]f64, i: i64) -> f64 = x[i]
def main(i: i64) -> f64 = 1 + pick([1, 2, 3], i)
";

/// A program with a size that is only known when it runs.
const SIZED: &str = "\
let n = 2 + 1
do print(\"runs\")
do n * n
def main(x: [n]f64) -> f64 = sum i: x[i]
";

#[track_caller]
fn check_all(lines: &[&[&str]], expected: Expect) {
    let dir = Dir::new(&[
        ("conv.iv", CONV.as_bytes()),
        ("point.iv", POINT.as_bytes()),
        ("script.iv", SCRIPT.as_bytes()),
        ("lib/mine.iv", MINE.as_bytes()),
        ("fails.iv", FAILS.as_bytes()),
        (
            "inside.iv",
            b"import linalg\ndef f(a: [n, n]f64) -> f64 = linalg.logdet(a)\ndo f([[1.0, 2.0], [2.0, 1.0]])\n",
        ),
        ("sized.iv", SIZED.as_bytes()),
        ("empty.iv", b""),
        ("x.json", b"[1, 2.5, 3, -4e0]"),
        ("bad.json", b"[1, 2,\n 3"),
        ("p.json", br#"{"x": "NaN", "y": [3, true]}"#),
        ("loop.iv", b"do print(1)\ndo print(1 // 0)\ndo print(2)\n"),
    ]);
    dir.check_all(lines, expected);
}

#[test]
fn run_calls_main() {
    check_all(
        &[
            &["run", "conv.iv", "x=[1, 2, 3]", "c=[1, -1]"],
            &["run", "conv.iv", "c=[1]", "x=@x.json"],
            &["run", "./lib/../conv.iv", "x=[1, 2, inf]", "c=[1]", "--format", "json"],
            &["run", "point.iv", "p={y: (1, true), x: 1}", "s=Circle({r: 2})", "k=2", "a=[[1, 2], [3, 4]]"],
            &["run", "point.iv", "p={x: -pi, y: (0, false)}", "s=Dots([1, 2], Dots([3, 4], Empty))", "k=0", "a=[]"],
            &["run", "point.iv", "p=@p.json", "s=Empty", "k=0", "a=[]", "--format", "json"],
            &["run", "script.iv"],
            &["run", "sized.iv", "x=[1, 2, 3]"],
            &["run", "sized.iv", "x=[1, 2, 3]", "--format", "json"],
            &["run", "script.iv", "--format", "json"],
            &["run", "script.iv", "--count", "--format", "json"],
            &["run", "--count", "conv.iv", "x=[1, 2, 3]", "c=[1, -1]"],
        ],
        expect![[r#"
            $ iverson run conv.iv x=[1, 2, 3] c=[1, -1]
            [-1.0, -1.0]
            $ iverson run conv.iv c=[1] x=@x.json
            [1.0, 2.5, 3.0, -4.0]
            $ iverson run ./lib/../conv.iv x=[1, 2, inf] c=[1] --format json
            [1.0, 2.0, "Infinity"]
            $ iverson run point.iv p={y: (1, true), x: 1} s=Circle({r: 2}) k=2 a=[[1, 2], [3, 4]]
            (1.0, 13)
            $ iverson run point.iv p={x: -pi, y: (0, false)} s=Dots([1, 2], Dots([3, 4], Empty)) k=0 a=[]
            (-3.141592653589793, 0)
            $ iverson run point.iv p=@p.json s=Empty k=0 a=[] --format json
            ["NaN", 3]
            $ iverson run script.iv
            a is 42.0
            42.5
            $ iverson run sized.iv x=[1, 2, 3]
            runs
            9
            6.0
            $ iverson run sized.iv x=[1, 2, 3] --format json
            6.0
            --- stderr
            runs
            9
            $ iverson run script.iv --format json
            42.5
            --- stderr
            a is 42.0
            $ iverson run script.iv --count --format json
            {"value": 42.5, "counts": {"work": 2, "tests": 0, "iterations": 0}}
            --- stderr
            a is 42.0
            $ iverson run --count conv.iv x=[1, 2, 3] c=[1, -1]
            [-1.0, -1.0]
            --- stderr
            work 6, tests 0, iterations 6
        "#]],
    );
}

#[test]
fn arguments_that_do_not_fit() {
    check_all(
        &[
            &["run", "conv.iv", "x=[1, 2, 3]"],
            &["run", "conv.iv", "x=[1, 2, 3]", "cc=[1]"],
            &["run", "conv.iv", "x=[1, 2, 3]", "x=[1]", "c=[1]"],
            &["run", "conv.iv", "[1, 2]"],
            &["run", "conv.iv", "x=[1, 2", "c=[1]"],
            &["run", "fails.iv", "i='abc'"],
            &["run", "fails.iv", "i=\"abc\""],
            &["run", "fails.iv", "i=abc"],
            &["run", "fails.iv", "i=-1.5"],
            &["run", "conv.iv", "x=[1 + 2]", "c=[1]"],
            &["run", "conv.iv", "x=[true]", "c=[[1], [2]]"],
            &["run", "conv.iv", "x=[1, 2]", "c=[1, 2, 3, 4]"],
            &["run", "conv.iv", "x=@bad.json", "c=@none.json"],
            &["run", "conv.iv", "x=@x.npy", "c=@x.txt"],
            &["run", "point.iv", "p={x: 1, z: 2}", "s=Circl({r: 2})", "k=1.5", "a=[[1, 2], [3]]"],
            &["run", "point.iv", "p={x: 1, y: [1, true]}", "s=Circle(1, 2)", "k=9223372036854775808", "a=[]"],
            &["run", "point.iv", "p={x: 1, y: (1, true)}", "s=Empty", "k=3", "a=[[1, 2]]"],
            &["run", "point.iv", "p={x: 1, y: (1, true)}", "s=Dots([1], Dots([1, 2], Empty))", "k=0", "a=[]"],
            &["run", "point.iv", "p={x: 1, y: (1, true)}", "s=Empty", "k=1", "a=[[1, 2, 3]]", "--format", "json"],
            &["run", "sized.iv", "x=[1, 2]"],
            &["run", "script.iv", "x=1"],
        ],
        expect![[r#"
            $ iverson run conv.iv x=[1, 2, 3]
            --- stderr
            [E0600] Error: the argument `c` is missing
              Help: write `iverson run conv.iv c=…`
                    the program has `main(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`
            --- status 2
            $ iverson run conv.iv x=[1, 2, 3] cc=[1]
            --- stderr
            [E0600] Error: `main` has no parameter `cc`
              Help: did you mean `c`?
                    the program has `main(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`
            --- status 2
            $ iverson run conv.iv x=[1, 2, 3] x=[1] c=[1]
            --- stderr
            [E0600] Error: duplicate argument `x`
              Help: the program has `main(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`
            --- status 2
            $ iverson run conv.iv [1, 2]
            --- stderr
            [E0600] Error: the argument `[1, 2]` has no name
              Help: write arguments as name=value
                    the program has `main(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`
            --- status 2
            $ iverson run conv.iv x=[1, 2 c=[1]
            --- stderr
            [E0002] Error: unclosed bracket `[`
               ╭─[ argument x:1:1 ]
               │
             1 │ [1, 2
               │ ┬
               │ ╰── here
               │
               │ Help: argument `x` must have type `[n + m - 1]f64`, as in `x=[1.5, 1.5]`
               │       the program has `main(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`
            ───╯
            --- status 2
            $ iverson run fails.iv i='abc'
            --- stderr
            [E0003] Error: invalid character `'`
               ╭─[ argument i:1:1 ]
               │
             1 │ 'abc'
               │ ──┬──
               │   ╰──── here
               │
               │ Help: enclose a string in double quotes: `"text"`
               │       argument `i` must have type `i64`, as in `i=3`
               │       the program has `main(i: i64) -> f64`
            ───╯
            --- status 2
            $ iverson run fails.iv i="abc"
            --- stderr
            [E0600] Error: argument `i` is the string "abc", not of type `i64`
               ╭─[ argument i:1:1 ]
               │
             1 │ "abc"
               │ ──┬──
               │   ╰──── expected `i64`
               │
               │ Help: write a value of type `i64` as in `3`
               │       the program has `main(i: i64) -> f64`
            ───╯
            --- status 2
            $ iverson run fails.iv i=abc
            --- stderr
            [E0600] Error: argument `i` is `abc`, not of type `i64`
               ╭─[ argument i:1:1 ]
               │
             1 │ abc
               │ ─┬─
               │  ╰─── expected `i64`
               │
               │ Help: write a value of type `i64` as in `3`
               │       the program has `main(i: i64) -> f64`
            ───╯
            --- status 2
            $ iverson run fails.iv i=-1.5
            --- stderr
            [E0600] Error: argument `i` is the real number -1.5, not of type `i64`
               ╭─[ argument i:1:1 ]
               │
             1 │ -1.5
               │ ──┬─
               │   ╰─── expected `i64`
               │
               │ Help: write an integer without a point or an exponent
               │       the program has `main(i: i64) -> f64`
            ───╯
            --- status 2
            $ iverson run conv.iv x=[1 + 2] c=[1]
            --- stderr
            [E0600] Error: an argument must be a literal
               ╭─[ argument x:1:2 ]
               │
             1 │ [1 + 2]
               │  ──┬──
               │    ╰──── not a literal
               │
               │ Help: to pass expressions, use `iverson eval 'main(…)' -l FILE`
               │       argument `x` must have type `[n + m - 1]f64`, as in `x=[1.5, 1.5]`
               │       the program has `main(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`
            ───╯
            --- status 2
            $ iverson run conv.iv x=[true] c=[[1], [2]]
            --- stderr
            [E0600] Error: argument `x[0]` is `true`, not of type `f64`
               ╭─[ argument x:1:2 ]
               │
             1 │ [true]
               │  ──┬─
               │    ╰─── expected `f64`
               │
               │ Help: write a value of type `f64` as in `1.5`
            ───╯
            [E0600] Error: argument `c[0]` is an array of length 1, not of type `f64`
               ╭─[ argument c:1:2 ]
               │
             1 │ [[1], [2]]
               │  ─┬─
               │   ╰─── expected `f64`
               │
               │ Help: write a value of type `f64` as in `1.5`
               │       the program has `main(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`
            ───╯
            --- status 2
            $ iverson run conv.iv x=[1, 2] c=[1, 2, 3, 4]
            --- stderr
            [E0600] Error: axis 0 of argument `x` has 2 elements, which would make the size `n` negative
               ╭─[ argument x:1:1 ]
               │
             1 │ [1, 2]
               │ ───┬──
               │    ╰──── here
               │
               │ Help: the program has `main(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`
            ───╯
            --- status 2
            $ iverson run conv.iv x=@bad.json c=@none.json
            --- stderr
            [E0603] Error: `bad.json`: this is not JSON: expected `,` or `]` but found the end at line 2 column 3
               ╭─[ bad.json:2:3 ]
               │
             2 │  3
               │   ┬
               │   ╰── here
            ───╯
            [E0602] Error: `none.json` cannot be read: no such file
              Help: paths are relative to the current directory
                    the program has `main(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`
            --- status 2
            $ iverson run conv.iv x=@x.npy c=@x.txt
            --- stderr
            [E0602] Error: `x.npy` cannot be read: no such file
              Help: paths are relative to the current directory
            [E0600] Error: `x.txt` is not a data file
              Help: data files end in .npy, .npz, .csv, .json or .png
                    the program has `main(x: [n + m - 1]f64, c: [m]f64) -> [n]f64`
            --- status 2
            $ iverson run point.iv p={x: 1, z: 2} s=Circl({r: 2}) k=1.5 a=[[1, 2], [3]]
            --- stderr
            [E0600] Error: argument `p` has a field `z` that its type does not have
               ╭─[ argument p:1:11 ]
               │
             1 │ {x: 1, z: 2}
               │           ┬
               │           ╰── unknown field
            ───╯
            [E0600] Error: `Shape(n, f64)` has no constructor `Circl`
               ╭─[ argument s:1:1 ]
               │
             1 │ Circl({r: 2})
               │ ──────┬──────
               │       ╰──────── in argument `s`
               │
               │ Help: did you mean `Circle`?
            ───╯
            [E0600] Error: argument `k` is the real number 1.5, not of type `i64`
               ╭─[ argument k:1:1 ]
               │
             1 │ 1.5
               │ ─┬─
               │  ╰─── expected `i64`
               │
               │ Help: write an integer without a point or an exponent
            ───╯
            [E0600] Error: argument `a` is ragged: axis 1 of argument `a` has 2 and 1 element
               ╭─[ argument a:1:10 ]
               │
             1 │ [[1, 2], [3]]
               │          ─┬─
               │           ╰─── 1 here, 2 before
               │
               │ Help: the program has `main(p: {x: f64, y: (i64, bool)}, s: Shape(n, f64), k: i64, a: [k, 2]i64) -> (f64, i64)`
            ───╯
            --- status 2
            $ iverson run point.iv p={x: 1, y: [1, true]} s=Circle(1, 2) k=9223372036854775808 a=[]
            --- stderr
            [E0004] Error: the number is too large for `i64`
               ╭─[ argument k:1:1 ]
               │
             1 │ 9223372036854775808
               │ ─────────┬─────────
               │          ╰─────────── here
               │
               │ Help: the maximum is 9223372036854775807; write a real number with a decimal point or an exponent
               │       argument `k` must have type `i64`, as in `k=3`
               │       the program has `main(p: {x: f64, y: (i64, bool)}, s: Shape(n, f64), k: i64, a: [k, 2]i64) -> (f64, i64)`
            ───╯
            --- status 2
            $ iverson run point.iv p={x: 1, y: (1, true)} s=Empty k=3 a=[[1, 2]]
            --- stderr
            [E0600] Error: axis 0 of argument `a` has 1 element, but must have 3
               ╭─[ argument a:1:1 ]
               │
             1 │ [[1, 2]]
               │ ────┬───
               │     ╰───── 1 element
               │
               │ Help: `k` is 3
               │       the program has `main(p: {x: f64, y: (i64, bool)}, s: Shape(n, f64), k: i64, a: [k, 2]i64) -> (f64, i64)`
            ───╯
            --- status 2
            $ iverson run point.iv p={x: 1, y: (1, true)} s=Dots([1], Dots([1, 2], Empty)) k=0 a=[]
            --- stderr
            [E0600] Error: axis 0 of argument `s.Dots.1.Dots.0` has 2 elements, but must have 1
               ╭─[ argument s:1:16 ]
               │
             1 │ Dots([1], Dots([1, 2], Empty))
               │                ───┬──
               │                   ╰──── 2 elements
               │
               │ Help: `n` is 1 because of axis 0 of argument `s.Dots.0`
               │       the program has `main(p: {x: f64, y: (i64, bool)}, s: Shape(n, f64), k: i64, a: [k, 2]i64) -> (f64, i64)`
            ───╯
            --- status 2
            $ iverson run point.iv p={x: 1, y: (1, true)} s=Empty k=1 a=[[1, 2, 3]] --format json
            {"error": [{"file": "argument a", "severity": "error", "code": "E0600", "message": "axis 1 of argument `a` has 3 elements, but must have 2", "line": 1, "column": 2, "endLine": 1, "endColumn": 11, "help": "the program has `main(p: {x: f64, y: (i64, bool)}, s: Shape(n, f64), k: i64, a: [k, 2]i64) -> (f64, i64)`"}]}
            --- status 2
            $ iverson run sized.iv x=[1, 2]
            runs
            9
            3.0
            $ iverson run script.iv x=1
            --- stderr
            [E0600] Error: `main` has no parameter `x`
              Help: the program has `main() -> f64`
            --- status 2
        "#]],
    );
}

#[test]
fn programs_that_fail() {
    check_all(
        &[
            &["run", "fails.iv", "i=1"],
            &["run", "fails.iv", "i=3"],
            &["run", "fails.iv", "i=-1", "--format", "short"],
            &["run", "fails.iv", "i=-1", "--format", "json"],
            &["run", "inside.iv"],
            &["run", "inside.iv", "--format", "short"],
            &["run", "loop.iv"],
            &["run", "empty.iv"],
            &["run", "empty.iv", "x=1"],
        ],
        expect![[r#"
            $ iverson run fails.iv i=1
            3.0
            $ iverson run fails.iv i=3
            --- stderr
            [E0500] Error: index 3 is out of bounds for axis 0 of extent 3
               ╭─[ fails.iv:1:40 ]
               │
             1 │ def pick(x: [n]f64, i: i64) -> f64 = x[i]
               │                                        ┬
               │                                        ╰── here
               │
               │ Help: guard the access with `[0 <= i < n] * x[i]`, or shorten the index range
               │
               │ Note: called from main at fails.iv:2:31
            ───╯
            --- status 1
            $ iverson run fails.iv i=-1 --format short
            --- stderr
            fails.iv:1:40: error[E0500]: index -1 is out of bounds for axis 0 of extent 3
            --- status 1
            $ iverson run fails.iv i=-1 --format json
            {"error": [{"file": "fails.iv", "severity": "error", "code": "E0500", "message": "index -1 is out of bounds for axis 0 of extent 3", "line": 1, "column": 40, "endLine": 1, "endColumn": 41, "help": "guard the access with `[0 <= i < n] * x[i]`, or shorten the index range"}]}
            --- status 1
            $ iverson run inside.iv
            --- stderr
            [E0502] Error: assertion failed: the matrix is not positive definite
                 ╭─[ inside.iv:2:30 ]
                 │
               2 │ def f(a: [n, n]f64) -> f64 = linalg.logdet(a)
                 │                              ────────┬───────
                 │                                      ╰───────── in this call of `linalg.logdet`
                 │
                 ├─[ <linalg>:996:15 ]
                 │
             996 │       let _ = assert(c[j] > 0, "the matrix is not positive definite")
                 │               ───────────────────────────┬───────────────────────────
                 │                                          ╰───────────────────────────── fails here, in the library
                 │
                 │ Note: called from do at inside.iv:3:4
            ─────╯
            --- status 1
            $ iverson run inside.iv --format short
            --- stderr
            inside.iv:2:30: error[E0502]: assertion failed: the matrix is not positive definite
            --- status 1
            $ iverson run loop.iv
            1
            --- stderr
            [E0505] Error: integer division by zero
               ╭─[ loop.iv:2:10 ]
               │
             2 │ do print(1 // 0)
               │          ───┬──
               │             ╰──── here
            ───╯
            --- status 1
            $ iverson run empty.iv
            --- stderr
            [E0601] Error: `empty.iv` has nothing to run: no `do` and no `main`
              Help: `do e` shows a value, `def main(…) = …` takes arguments; `iverson eval EXPR -l FILE` evaluates anything else
            --- status 1
            $ iverson run empty.iv x=1
            --- stderr
            [E0601] Error: `empty.iv` has no `main` to take the arguments
              Help: `do e` shows a value, `def main(…) = …` takes arguments; `iverson eval EXPR -l FILE` evaluates anything else
            --- status 1
        "#]],
    );
}

/// The `let`s of an imported module are computed when the first item that needs them runs. Its
/// unneeded `let`s and its `do` items never run.
#[test]
fn imported_lets_are_computed_when_they_are_needed() {
    let dir = Dir::new(&[
        (
            "lib.iv",
            b"let used = let y = 2.0 in dbg(y)\nlet unused = error(\"never\")\nlet twice = 2.0 * used\ndo print(\"no\")\n\
              def f(x: f64) -> f64 = x * twice\ndef g(x: f64) -> f64 = x\n",
        ),
        ("without.iv", b"import \"./lib.iv\"\ndo print(\"first\")\ndo lib.g(1.0)\n"),
        ("with.iv", b"import \"./lib.iv\"\ndo print(\"first\")\ndo lib.f(3.0)\ndo lib.twice\n"),
        ("main.iv", b"import \"./lib.iv\"\ndo print(\"first\")\ndef main() = lib.f(3.0)\n"),
        ("fails.iv", b"import \"./lib.iv\"\ndo print(\"first\")\ndo lib.unused + 1.0\n"),
    ]);
    dir.check_all(
        &[&["run", "without.iv"], &["run", "with.iv"], &["run", "main.iv"], &["run", "fails.iv"]],
        expect![[r#"
            $ iverson run without.iv
            first
            1.0
            $ iverson run with.iv
            first
            12.0
            4.0
            --- stderr
            lib.iv:1:27: 2.0
            $ iverson run main.iv
            first
            12.0
            --- stderr
            lib.iv:1:27: 2.0
            $ iverson run fails.iv
            --- stderr
            [E0209] Error: `+` works on numbers and arrays of numbers, not on `()`
               ╭─[ fails.iv:3:4 ]
               │
             3 │ do lib.unused + 1.0
               │    ─────┬──┬───────
               │         ╰──────────── `()`
               │            │
               │            ╰───────── here
            ───╯
            --- status 1
        "#]],
    );
}

/// An error in a file stops only those evaluations of `eval` that need it; `run` refuses the file.
#[test]
fn mistakes_stop_what_needs_them() {
    let dir = Dir::new(&[
        (
            "part.iv",
            b"def good(x: f64) -> f64 = 2.0 * x\ndef bad(x: f64) -> f64 = x + nothing\n\
              def needs(x: f64) -> f64 = bad(x)\nlet a = good(1.0)\nlet b = needs(1.0)\ndef open(x: f64) = (x\n",
        ),
        ("lost.iv", b"import \"./nowhere.iv\"\ndef f(x: f64) -> f64 = nowhere.g(x)\ndef g(x: f64) -> f64 = x\n"),
    ]);
    dir.check_all(
        &[
            &["eval", "good(2.0) + a", "-l", "part.iv"],
            &["eval", "needs(2.0)", "-l", "part.iv"],
            &["eval", "b", "-l", "part.iv"],
            &["eval", "good(2.0)", "-l", "part.iv", "--format", "json"],
            &["run", "part.iv"],
            &["eval", "g(2.0)", "-l", "lost.iv"],
            &["eval", "f(2.0)", "-l", "lost.iv"],
        ],
        expect![[r#"
            $ iverson eval good(2.0) + a -l part.iv
            6.0
            --- stderr
            note: this error does not affect the value: `nothing` is not defined (part.iv:2:30)
            note: this error does not affect the value: unclosed bracket `(` (part.iv:6:20)
            $ iverson eval needs(2.0) -l part.iv
            --- stderr
            [E0100] Error: `nothing` is not defined
               ╭─[ part.iv:2:30 ]
               │
             2 │ def bad(x: f64) -> f64 = x + nothing
               │                              ───┬───
               │                                 ╰───── here
            ───╯
            --- status 1
            $ iverson eval b -l part.iv
            --- stderr
            [E0100] Error: `nothing` is not defined
               ╭─[ part.iv:2:30 ]
               │
             2 │ def bad(x: f64) -> f64 = x + nothing
               │                              ───┬───
               │                                 ╰───── here
            ───╯
            --- status 1
            $ iverson eval good(2.0) -l part.iv --format json
            4.0
            $ iverson run part.iv
            --- stderr
            [E0100] Error: `nothing` is not defined
               ╭─[ part.iv:2:30 ]
               │
             2 │ def bad(x: f64) -> f64 = x + nothing
               │                              ───┬───
               │                                 ╰───── here
            ───╯
            [E0002] Error: unclosed bracket `(`
               ╭─[ part.iv:6:20 ]
               │
             6 │ def open(x: f64) = (x
               │                    ┬
               │                    ╰── here
            ───╯
            --- status 1
            $ iverson eval g(2.0) -l lost.iv
            2.0
            --- stderr
            note: this error does not affect the value: `nowhere.iv` cannot be read: no such file (lost.iv:1:8)
            $ iverson eval f(2.0) -l lost.iv
            --- stderr
            [E0602] Error: `nowhere.iv` cannot be read: no such file
               ╭─[ lost.iv:1:8 ]
               │
             1 │ import "./nowhere.iv"
               │        ───────┬──────
               │               ╰──────── here
               │
               │ Help: write the path relative to the importing file
            ───╯
            --- status 1
        "#]],
    );
}

/// An expression on the command line can use library modules without an import; a file must import
/// them.
#[test]
fn eval_knows_the_library() {
    let dir = Dir::new(&[("own.iv", b"def nn(x: f64) -> f64 = x\ndo rand.key(0)\n")]);
    dir.check_all(
        &[
            &["eval", "stats.mean([1.0, 3.0])"],
            &["eval", "stats.mean([nn(1.0), 3.0])", "-l", "own.iv"],
            &["eval", "mean([1.0, 3.0])"],
            &["run", "own.iv"],
        ],
        expect![[r#"
            $ iverson eval stats.mean([1.0, 3.0])
            2.0
            $ iverson eval stats.mean([nn(1.0), 3.0]) -l own.iv
            2.0
            --- stderr
            note: this error does not affect the value: `rand` is not defined (own.iv:2:4)
            $ iverson eval mean([1.0, 3.0])
            --- stderr
            [E0100] Error: `mean` is not defined
               ╭─[ <eval>:1:1 ]
               │
             1 │ mean([1.0, 3.0])
               │ ──┬─
               │   ╰─── here
               │
               │ Help: an imported module defines it: write `stats.mean`
            ───╯
            --- status 1
            $ iverson run own.iv
            --- stderr
            [E0100] Error: `rand` is not defined
               ╭─[ own.iv:2:4 ]
               │
             2 │ do rand.key(0)
               │    ──┬─
               │      ╰─── here
               │
               │ Help: `rand` is a library module: add `import rand`
            ───╯
            --- status 1
        "#]],
    );
}
