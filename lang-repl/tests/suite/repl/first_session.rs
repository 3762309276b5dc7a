//! Tests of common difficulties in a first session with data. They cover sizes from two files,
//! column names that are no identifiers, empty plots, and settings out of range.

use expect_test::expect;

use crate::harness::{Dir, session, session_in};

#[test]
fn extents_of_files_have_names_that_can_be_written() {
    let dir = Dir::new(&[("a.csv", b"age,bmi\n1,2\n3,4\n5,6\n"), ("b.csv", b"age,bmi\n1,2\n3,4\n")]);
    session_in(
        &dir,
        "\
let t: {age: [?n]f64, bmi: [?n]f64} = load(\"a.csv\");
let (t2, m): ({age: [?n]f64}, f64) = let u: {age: [?n]f64} = load(\"b.csv\") in (u, 1.0);
let x: [?n, ?m]f64 = load(\"a.csv\");
sum i: t.age[i] * t2.age[i]
sum i < len(t2.age): t.age[i] * t2.age[i]
for i: t.age[i] + x[0, i]
sum i < len(x[0]): x[0, i]
t.age + t2.age
:type (t, t2)
",
        expect![[r#"
            [E0501] Error: sizes differ for the index `i`: found len(t2.age) = 2, expected len(t.age) = 3
               ╭─[ repl:1:26 ]
               │
             1 │ sum i: t.age[i] * t2.age[i]
               │                          ┬
               │                          ╰── here
            ───╯
            f64 = 10.0
            [E0501] Error: sizes differ for the index `i`: found len(x[0]) = 2, expected len(t.age) = 3
               ╭─[ repl:1:24 ]
               │
             1 │ for i: t.age[i] + x[0, i]
               │                        ┬
               │                        ╰── here
            ───╯
            f64 = 3.0
            [E0501] Error: sizes differ for the operands of `+`: found len(t2.age) = 2, expected len(t.age) = 3
               ╭─[ repl:1:9 ]
               │
             1 │ t.age + t2.age
               │         ───┬──
               │            ╰──── here
            ───╯
            ({age: [3]f64, bmi: [3]f64}, {age: [2]f64})
            --- exit status: 1
        "#]],
    );
}

#[test]
fn columns_have_names_that_can_be_written() {
    let dir = Dir::new(&[("iris.csv", b"sepal length,2nd,in,sepal-length,x\n1,2,3,4,5\n6,7,8,9,10\n")]);
    session_in(
        &dir,
        "\
let t: {sepal: [?n]f64} = load(\"iris.csv\");
let t: {sepal_length: [?n]f64, _2nd: [?n]f64, in: [?n]f64, sepal_length_1: [?n]i64, x: [?n]f64} = load(\"iris.csv\");
t.sepal_length_1
save(t, \"again.csv\")
let u: {sepal_length: [?n]f64, _2nd: [?n]f64} = load(\"again.csv\")
let rows: [?n]{_2nd: f64, x: f64} = load(\"iris.csv\")
save({x: [1, 2], y: [1, 2, 3]}, \"uneven.csv\")
",
        expect![[r#"
            [E0604] Error: `iris.csv`: the file has no column `sepal`
               ╭─[ repl:1:27 ]
               │
             1 │ let t: {sepal: [?n]f64} = load("iris.csv");
               │                           ────────┬───────
               │                                   ╰───────── here
               │
               │ Help: did you mean `sepal_length`?
            ───╯
            [W0606] Warning: `iris.csv`: column `sepal length` is read as `sepal_length`, `2nd` as `_2nd`, `sepal-length` as `sepal_length_1`
               ╭─[ repl:1:99 ]
               │
             1 │ let t: {sepal_length: [?n]f64, _2nd: [?n]f64, in: [?n]f64, sepal_length_1: [?n]i64, x: [?n]f64} = load("iris.csv");
               │                                                                                                   ────────┬───────
               │                                                                                                           ╰───────── here
            ───╯
            [2]i64 = [4, 9]
            u: {sepal_length: [2]f64, _2nd: [2]f64} =
            {sepal_length: [1.0, 6.0], _2nd: [2.0, 7.0]}
            [W0606] Warning: `iris.csv`: column `2nd` is read as `_2nd`
               ╭─[ repl:1:37 ]
               │
             1 │ let rows: [?n]{_2nd: f64, x: f64} = load("iris.csv")
               │                                     ────────┬───────
               │                                             ╰───────── here
            ───╯
            rows: [2]{_2nd: f64, x: f64} = [{_2nd: 2.0, x: 5.0}, {_2nd: 7.0, x: 10.0}]
            [E0605] Error: `uneven.csv`: the columns differ in length: `x` has 2, `y` has 3
               ╭─[ repl:1:6 ]
               │
             1 │ save({x: [1, 2], y: [1, 2, 3]}, "uneven.csv")
               │      ────────────┬────────────
               │                  ╰────────────── this has type `{x: [2]i64, y: [3]i64}`
               │
               │ Help: a table is a matrix, a vector, a record of equally long vectors, or a vector of records; write other values as .json
            ───╯
            --- exit status: 1
        "#]],
    );
}

#[test]
fn plots_of_nothing_say_so() {
    session_in(
        &Dir::new(&[]),
        "\
let none: [?n]f64 = filter(\\x: x > 1, [0.0, 1.0]);
plot(none)
plot([nan, nan, inf], \"points\", title: \"Nothing\")
plot([[nan]])
plot([-1, 0], yscale: \"log\")
plot([1, 2], title: \"日本 und Ω\", file: \"latin.png\")
plot([1, 2], title: \"日本 und Ω\", file: \"latin.svg\")
plot([nan], file: \"none.svg\")
",
        expect![[r#"
            nothing to plot
            note: the plot has no values
            nothing to plot
            note: all 3 values are NaN or infinite and not drawn
            nothing to plot
            note: the only value is NaN or infinite and not drawn
            nothing to plot
            note: all 2 values are not positive and not drawn on a logarithmic axis
            [W0606] Warning: `latin.png`: the font has no glyphs for `日本`, which are drawn as boxes; an .svg plot keeps its text
               ╭─[ repl:1:1 ]
               │
             1 │ plot([1, 2], title: "日本 und Ω", file: "latin.png")
               │ ───────────────────────────┬────────────────────────
               │                            ╰────────────────────────── here
            ───╯
            [W0606] Warning: `none.svg`: the only value is NaN or infinite and not drawn
               ╭─[ repl:1:1 ]
               │
             1 │ plot([nan], file: "none.svg")
               │ ──────────────┬──────────────
               │               ╰──────────────── here
            ───╯
        "#]],
    );
}

#[test]
fn what_is_not_taken_says_what_is() {
    session_in(
        &Dir::new(&[]),
        "\
:set width 5
:set width 5000
:set digits 99
:r
:re
:help s
:rel
:t 1
np.isnan(nan)
stats.mean([1.0])
is_inf(1.0)
let v = [nan, 1.0]
(v != v, abs(v) < inf)
let f = \\(x: f64): x + 1
(f, sqrt, grad(f))
v[2]
let i = 5;
v[i + 1]
",
        expect![[r#"
            [E0600] Error: `5` is not a value of `width`; use 20 to 1000 or auto
            [E0600] Error: `5000` is not a value of `width`; use 20 to 1000 or auto
            [E0600] Error: `99` is not a value of `digits`; use 1 to 17, usual or all
            [E0600] Error: `:r` is ambiguous: :reload, :reset
            [E0600] Error: `:re` is ambiguous: :reload, :reset
            `:s` is ambiguous: :save, :ssa, :set
            i64
            [E0100] Error: `np` is not defined
               ╭─[ repl:1:1 ]
               │
             1 │ np.isnan(nan)
               │ ─┬
               │  ╰── here
               │
               │ Help: write `x != x`, also for a whole array, because only NaN differs from itself
            ───╯
            f64 = 1.0
            [E0100] Error: `is_inf` is not defined
               ╭─[ repl:1:1 ]
               │
             1 │ is_inf(1.0)
               │ ───┬──
               │    ╰──── here
               │
               │ Help: write `abs(x) == inf`, or `x == inf` for one sign only
            ───╯
            v: [2]f64 = [nan, 1.0]
            ([2]bool, [2]bool) = ([true, false], [false, true])
            f: (x: f64) -> f64 = <function>
            ((x: f64) -> f64, (f64) -> f64, (x: f64) -> f64) =
            (<function (x: f64) -> f64>, <function sqrt>, <function>)
            [E0306] Error: the index `2` is always out of bounds: axis 0 has extent `2`
               ╭─[ repl:1:3 ]
               │
             1 │ v[2]
               │   ┬
               │   ╰── here
               │
               │ Help: indices run from 0 to `1`
            ───╯
            [E0306] Error: the index `i + 1` is always out of bounds: axis 0 has extent `2`
               ╭─[ repl:1:3 ]
               │
             1 │ v[i + 1]
               │   ──┬──
               │     ╰──── here
               │
               │ Help: indices run from 0 to `1`
               │       here `i` is 5
            ───╯
            --- exit status: 1
        "#]],
    );
}

#[test]
fn the_type_of_what_is_loaded_is_told_by_the_file() {
    let dir = Dir::new(&[
        ("a.csv", b"sepal length,n,gaps,all,name\n1.5,2,,true,x\n6,7,8,false,y\n"),
        ("m.csv", b"1,2.5\n3,4\n"),
        ("v.csv", b"1\n2\n"),
        ("bits.png", include_bytes!("../../data/bits.png")),
        ("kinds.npz", include_bytes!("../../data/kinds.npz")),
        ("sub/f.iv", b"let xs = load(\"v.csv\")\n"),
        ("v.csv", b"1\n2\n"),
        ("sub/v.csv", b"true\nfalse\n"),
    ]);
    session_in(
        &dir,
        "\
let t = load(\"a.csv\")
let t: {sepal_length: [?n]f64, n: [?n]i64, gaps: [?n]f64, all: [?n]bool} = load(\"a.csv\");
load(\"m.csv\")
load(\"v.csv\")
load(\"bits.png\")
load(\"kinds.npz\")
load(\"none.csv\")
:load sub/f.iv
",
        expect![[r#"
            [E0210] Error: a loaded value must have a written type
               ╭─[ repl:1:9 ]
               │
             1 │ let t = load("a.csv")
               │         ──────┬──────
               │               ╰──────── here
               │
               │ Help: declare the type of the file's contents: `let t: {sepal_length: [?n]f64, n: [?n]i64, gaps: [?n]f64, all: [?n]bool} = load("a.csv")`
               │       the type omits `name` (not numeric)
            ───╯
            [W0606] Warning: `a.csv`: column `sepal length` is read as `sepal_length`
               ╭─[ repl:1:76 ]
               │
             1 │ let t: {sepal_length: [?n]f64, n: [?n]i64, gaps: [?n]f64, all: [?n]bool} = load("a.csv");
               │                                                                            ──────┬──────
               │                                                                                  ╰──────── here
               │
               │ Help: also column `gaps` has no value in line 2; it is read as NaN
            ───╯
            [E0210] Error: a loaded value must have a written type
               ╭─[ repl:1:1 ]
               │
             1 │ load("m.csv")
               │ ──────┬──────
               │       ╰──────── here
               │
               │ Help: declare the type of the file's contents: `let x: [?n, ?m]f64 = load("m.csv")`
            ───╯
            [E0210] Error: a loaded value must have a written type
               ╭─[ repl:1:1 ]
               │
             1 │ load("v.csv")
               │ ──────┬──────
               │       ╰──────── here
               │
               │ Help: declare the type of the file's contents: `let x: [?n]i64 = load("v.csv")`
            ───╯
            [E0210] Error: a loaded value must have a written type
               ╭─[ repl:1:1 ]
               │
             1 │ load("bits.png")
               │ ────────┬───────
               │         ╰───────── here
               │
               │ Help: declare the type of the file's contents: `let x: [?h, ?w]f64 = load("bits.png")`
            ───╯
            [E0210] Error: a loaded value must have a written type
               ╭─[ repl:1:1 ]
               │
             1 │ load("kinds.npz")
               │ ────────┬────────
               │         ╰────────── here
               │
               │ Help: declare the type of the file's contents: `let x: {b1_one_C_0d: bool, b1_one_F_0d: bool, b1_one_C_0: [?n]bool, b1_one_F_0: [?n]bool, b1_one_C_3: [?m]bool, b1_one_F_3: [?m]bool, b1_one_C_2x0x3: [?k, ?n, ?m]bool, b1_one_F_2x0x3: [?k, ?n, ?m]bool, b1_one_C_2x3x4: [?k, ?m, ?l]bool, b1_one_F_2x3x4: [?k, ?m, ?l]bool, i1_one_C_0d: i64, i1_one_F_0d: i64} = load("kinds.npz")`
               │       the type omits `i1_one_C_0`, `i1_one_F_0`, `i1_one_C_3`, `i1_one_F_3`, `i1_one_C_2x0x3`, `i1_one_F_2x0x3`, `i1_one_C_2x3x4`, `i1_one_F_2x3x4`, `u1_one_C_0d`, `u1_one_F_0d`, `u1_one_C_0`, `u1_one_F_0` and 186 more
            ───╯
            [E0210] Error: a loaded value must have a written type
               ╭─[ repl:1:1 ]
               │
             1 │ load("none.csv")
               │ ────────┬───────
               │         ╰───────── here
               │
               │ Help: there is no file `none.csv`
            ───╯
            [E0210] Error: a loaded value must have a written type
               ╭─[ sub/f.iv:1:10 ]
               │
             1 │ let xs = load("v.csv")
               │          ──────┬──────
               │                ╰──────── here
               │
               │ Help: declare the type of the file's contents: `let xs: [?n]bool = load("v.csv")`
            ───╯
            loaded sub/f.iv, without `xs`, because of errors
            --- exit status: 1
        "#]],
    );
}

/// `:load` leaves out definitions with errors, and those that need them.
#[test]
fn a_file_with_a_mistake_is_loaded_without_it() {
    let dir = Dir::new(&[(
        "part.iv",
        b"def good(x: f64) -> f64 = 2.0 * x\ndef bad(x: f64) -> f64 = x + nothing\ndef needs(x: f64) -> f64 = bad(x)\n\
          let a = good(1.0)\ndo a\ndo needs(a)\n",
    )]);
    session_in(
        &dir,
        "\
:load part.iv
good(2.0)
needs(2.0)
",
        expect![[r#"
            [E0100] Error: `nothing` is not defined
               ╭─[ part.iv:2:30 ]
               │
             2 │ def bad(x: f64) -> f64 = x + nothing
               │                              ───┬───
               │                                 ╰───── here
            ───╯
            f64 = 2.0
            loaded part.iv, without `bad`, `needs`, because of errors
            f64 = 4.0
            [E0100] Error: `needs` is not defined
               ╭─[ repl:1:1 ]
               │
             1 │ needs(2.0)
               │ ──┬──
               │   ╰──── here
            ───╯
            --- exit status: 1
        "#]],
    );
}

/// Comments of other languages, a value that shadows a module, a value defined by its old self, a
/// failure inside the library.
#[test]
fn a_newcomer_at_the_prompt() {
    session(
        "\
# a comment
// a comment
% a comment
let stats = 3.0
stats.mean([1.0])
let x = 1
let x = x + 1
2^-x
2^-1
linalg.cholesky([[1.0, 2.0], [2.0, 1.0]])
grad(linalg.norm)([inf, 1.0])
",
        expect![[r#"
            [E0003] Error: invalid character `#`
               ╭─[ repl:1:1 ]
               │
             1 │ # a comment
               │ ─────┬─────
               │      ╰─────── here
               │
               │ Help: a comment begins with `--`
            ───╯
            [E0001] Error: expected an expression, found `//`
               ╭─[ repl:1:1 ]
               │
             1 │ // a comment
               │ ─┬
               │  ╰── here
               │
               │ Help: a comment begins with `--`
            ───╯
            [E0001] Error: expected an expression, found `%`
               ╭─[ repl:1:1 ]
               │
             1 │ % a comment
               │ ┬
               │ ╰── here
               │
               │ Help: a comment begins with `--`
            ───╯
            stats: f64 = 3.0
            [E0106] Error: `stats` is a value here, not the module `stats`
               ╭─[ repl:1:1 ]
               │
             1 │ stats.mean([1.0])
               │ ──┬──
               │   ╰──── here
               │
               │ Help: rename the value or the module: `import stats as st`, then write `st.mean`
            ───╯
            x: i64 = 1
            [E0211] Error: `x` uses itself
               ╭─[ repl:1:9 ]
               │
             1 │ let x = x + 1
               │     ┬   ┬
               │     ╰────── bound here
               │         │
               │         ╰── this use depends on the value itself
               │
               │ Help: give the new value another name, as in `let y = x + 1`; use `scan` or `fold` to accumulate
            ───╯
            [E0513] Error: an integer has no negative power
               ╭─[ repl:1:1 ]
               │
             1 │ 2^-x
               │ ──┬─
               │   ╰─── here
               │
               │ Help: write the base as a real number: `2.0^k`, `f64(n)^k`
            ───╯
            [E0209] Error: an integer has no negative power
               ╭─[ repl:1:1 ]
               │
             1 │ 2^-1
               │ ──┬─
               │   ╰─── the result would be a fraction
               │
               │ Help: write the base as a real number: `2.0^-1`
            ───╯
            [E0502] Error: assertion failed: the matrix is not positive definite
                 ╭─[ repl:1:1 ]
                 │
               1 │ linalg.cholesky([[1.0, 2.0], [2.0, 1.0]])
                 │ ────────────────────┬────────────────────
                 │                     ╰────────────────────── in this call of `linalg.cholesky`
                 │
                 ├─[ <linalg>:996:15 ]
                 │
             996 │       let _ = assert(c[j] > 0, "the matrix is not positive definite")
                 │               ───────────────────────────┬───────────────────────────
                 │                                          ╰───────────────────────────── fails here, in the library
            ─────╯
            [2]f64 = [nan, nan]
            --- exit status: 1
        "#]],
    );
}
