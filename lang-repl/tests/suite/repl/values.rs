//! Tests of printed values, the settings and options that change them, and plots.

use expect_test::expect;

use crate::harness::{Dir, session};

#[test]
fn name_and_type_come_first() {
    session(
        "\
let x = [3.0, 4.0]
let a = for i < 3, j < 2: f64(i) / f64(j + 3)
a[0]
let w = for i < 40: i * i
let big = for i < 300, j < 300: i * j
x;
let quiet = 3;
(a, {w: x, n: 2})
let f = \\(x: f64): x
relation([[0, 1], [2, 0]], 3, 3)
for i < 0, j < 3: 1.0
",
        expect![[r#"
            x: [2]f64 = [3.0, 4.0]
            a: [3, 2]f64 =
            [[0.0,      0.0],
             [0.333333, 0.25],
             [0.666667, 0.5]]
            [2]f64 = [0.0, 0.0]
            w: [40]i64 =
            [   0,    1,    4,    9,   16,   25,   36,   49,   64,   81,  100,  121,  144,
              169,  196,  225,  256,  289,  324,  361,  400,  441,  484,  529,  576,  625,
              676,  729,  784,  841,  900,  961, 1024, 1089, 1156, 1225, 1296, 1369, 1444,
             1521]
            big: [300, 300]i64 =
            [[0,   0,   0, …,     0,     0,     0],
             [0,   1,   2, …,   297,   298,   299],
             [0,   2,   4, …,   594,   596,   598],
             …,
             [0, 297, 594, …, 88209, 88506, 88803],
             [0, 298, 596, …, 88506, 88804, 89102],
             [0, 299, 598, …, 88803, 89102, 89401]]
            ([3, 2]f64, {w: [2]f64, n: i64}) =
            ([[0.0,      0.0],
              [0.333333, 0.25],
              [0.666667, 0.5]],
             {w: [3.0, 4.0], n: 2})
            f: (x: f64) -> f64 = <function>
            rel[3, 3] = relation([[0, 1], [2, 0]], 3, 3)
            [0, 3]f64 = []
        "#]],
    );
}

#[test]
fn units_are_answers_unless_something_is_done() {
    session(
        "\
grad(\\(k: i64): 3.0)(3)
()
let u = ()
for i < 2: ()
print(1)
assert(1 < 2, \"no\")
(print(1), print(2))
let y = 2 in print(y)
",
        expect![[r#"
            () = ()
            () = ()
            u: () = ()
            [2]() = [(), ()]
            1
            1
            2
            2
        "#]],
    );
}

#[test]
fn prints_and_remarks() {
    session(
        "\
print(\"a is\", [[1.0, 2.0], [3.0, 4.5]], \"and x\", [1.0, 2.0])
dbg([1.0, 2.0]);
dbg(for i < 2, j < 2: i + j);
",
        expect![[r#"
            a is [[1.0, 2.0],
                  [3.0, 4.5]]
            and x [1.0, 2.0]
            repl:1:1: [1.0, 2.0]
            repl:1:1:
            [[0, 1],
             [1, 2]]
        "#]],
    );
}

#[test]
fn settings_of_what_is_shown() {
    session(
        "\
let x = for i < 30: sqrt(f64(i))
:set digits 3
(pi, x[0..4])
print(x[0..4])
:grad x[2]^2
:set digits=all
(pi, x[0..4])
:set digits usual
:set width 40
x
:plot x, height: 8
:set width auto
:set threshold 10
x
:set threshold 1000
:set progress never
:set digits
:set digits 0
:set digits many
:set width 0
:set width -3
:set threshold few
:set progress always
:set precision 3
:digits 3
set digits 3
:set width
",
        expect![[r#"
            x: [30]f64 =
            [0.0,     1.0,     1.41421, 1.73205, 2.0,     2.23607, 2.44949, 2.64575,
             2.82843, 3.0,     3.16228, 3.31662, 3.4641,  3.60555, 3.74166, 3.87298,
             4.0,     4.12311, 4.24264, 4.3589,  4.47214, 4.58258, 4.69042, 4.79583,
             4.89898, 5.0,     5.09902, 5.19615, 5.2915,  5.38516]
            (f64, [4]f64) = (3.14, [0.0, 1.0, 1.41, 1.73])
            [0.0, 1.0, 1.41, 1.73]
            f64 = 2.0
            wrt x: [30]f64 =
            [0.0,  0.0,  2.83, 0.0,  0.0,  0.0,  0.0,  0.0,  0.0,  0.0,  0.0,  0.0,  0.0,
             0.0,  0.0,  0.0,  0.0,  0.0,  0.0,  0.0,  0.0,  0.0,  0.0,  0.0,  0.0,  0.0,
             0.0,  0.0,  0.0,  0.0]
            (f64, [4]f64) =
            (3.141592653589793, [0.0, 1.0, 1.4142135623730951, 1.7320508075688772])
            [30]f64 =
            [0.0,     1.0,     1.41421, 1.73205,
             2.0,     2.23607, 2.44949, 2.64575,
             2.82843, 3.0,     3.16228, 3.31662,
             3.4641,  3.60555, 3.74166, 3.87298,
             4.0,     4.12311, 4.24264, 4.3589,
             4.47214, 4.58258, 4.69042, 4.79583,
             4.89898, 5.0,     5.09902, 5.19615,
             5.2915,  5.38516]
            x
             5┤                         ⢀⣀⣀⠤⠤⠤⠔⠒⠒⠒⠒
              │             ⢀⣀⣀⠤⠤⠤⠔⠒⠒⠉⠉⠉⠁
              │      ⢀⡠⠤⠤⠒⠉⠉⠁
              │  ⣀⠤⠒⠊⠁
             0┤ ⠜
              └─┬───────────────────────┬───────────
                0                      20
            [30]f64 = [0.0, 1.0, 1.41421, …, 5.19615, 5.2915, 5.38516]
              digits    usual    significant digits of reals; all also prints arrays in full
              values: 1 to 17, usual or all
            [E0600] Error: `0` is not a value of `digits`; use 1 to 17, usual or all
            [E0600] Error: `many` is not a value of `digits`; use 1 to 17, usual or all
            [E0600] Error: `0` is not a value of `width`; use 20 to 1000 or auto
            [E0600] Error: `-3` is not a value of `width`; use 20 to 1000 or auto
            [E0600] Error: `few` is not a value of `threshold`; use N
            [E0600] Error: `always` is not a value of `progress`; use auto or never
            [E0600] Error: unknown setting `precision`; did you mean `digits`?
            [E0600] Error: unknown command :digits; did you mean `:set digits`?
            [E0600] Error: a command begins with a colon: write `:set digits 3`
              width     auto     line width in characters; auto is the width of the terminal
              values: 20 to 1000 or auto
            --- exit status: 1
        "#]],
    );
}

#[test]
fn plots_by_the_command() {
    session(
        "\
let x = for i < 9: f64(i) - 4
:plot x, x^2, \"points\", width: 40, height: 8
:plot(x, x^2, width: 40, height: 8);
:plot (x) + (x), width: 40, height: 8
:plot x, \"pionts\"
:plot
ans
",
        expect![[r#"
            x: [9]f64 = [-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0]
               │ •                                •
             10┤
               │     •                        •
               │         •                •
              0┤             •    •   •
               └─┬───────┬────────┬───────┬───────┬─
                -4      -2        0       2       4
                                  x
               │ ⠢⡀                              ⢀⠔
             10┤  ⠈⠒⢄                          ⡠⠊⠁
               │     ⠑⠢⣀                    ⣀⠔⠊
               │        ⠑⠢⢄⡀            ⣀⡠⠔⠊
              0┤           ⠈⠉⠒⠒⠒⠤⠤⠤⠤⠒⠒⠒⠉
               └─┬───────┬────────┬───────┬───────┬─
                -4      -2        0       2       4
                                  x
               │                              ⣀⡠⠤⠔⠒
              5┤                        ⣀⡠⠤⠒⠊⠉
               │                   ⣀⠤⠔⠒⠉
              0┤           ⢀⣀⠤⠤⠒⠒⠉⠉
             -5┤      ⣀⡠⠤⠒⠊⠁
               │ ⠤⠒⠒⠉⠉
               └─┬────────────────────┬─────────────
                 0                    5
            [E0218] Error: `pionts` is not a kind of plot
               ╭─[ repl:1:9 ]
               │
             1 │ plot(x, "pionts")
               │         ────┬───
               │             ╰───── here
               │
               │ Help: did you mean `points`?
            ───╯
            [E0600] Error: :plot needs ARGS; see :help plot
            [E0100] Error: `ans` is not defined
               ╭─[ repl:1:1 ]
               │
             1 │ ans
               │ ─┬─
               │  ╰─── here
            ───╯
            --- exit status: 1
        "#]],
    );
}

#[test]
fn digits_are_asked_for() {
    let program = "let x = for i < 1200: f64(i) / 7\ndo print(x[0..3], x[2])\ndo dbg(x[0..3]);\ndo x\ndef main() -> [3]f64 = x[0..3]\n";
    let dir = Dir::new(&[("x.iv", program.replace(";\n", "\n").as_bytes())]);
    dir.check_all(
        &[&["run", "x.iv"], &["run", "x.iv", "--digits", "3"], &["eval", "[pi]", "--digits", "all"]],
        expect![[r#"
            $ iverson run x.iv
            [0.0, 0.142857, 0.285714] 0.2857142857142857
            [0.0, 0.142857, 0.285714]
            [0.0, 0.142857, 0.285714, …, 171.0, 171.143, 171.286]
            [0.0, 0.142857, 0.285714]
            --- stderr
            x.iv:3:4: [0.0, 0.142857, 0.285714]
            $ iverson run x.iv --digits 3
            [0.0, 0.143, 0.286] 0.286
            [0.0, 0.143, 0.286]
            [0.0, 0.143, 0.286, …, 171.0, 1.71e2, 1.71e2]
            [0.0, 0.143, 0.286]
            --- stderr
            x.iv:3:4: [0.0, 0.143, 0.286]
            $ iverson eval [pi] --digits all
            [3.141592653589793]
        "#]],
    );
    let all = dir.run(&["eval", "x", "-l", "x.iv", "--digits", "all"], b"");
    assert!(!all.contains('…') && all.contains("0.14285714285714285"), "{all}");
    dir.check_all(
        &[
            &["eval", "[1.0/3]", "--digits", "0"],
            &["eval", "[1.0/3]", "--digits", "some"],
            &["eval", "[1.0/3]", "--digits", "2", "--format", "json"],
        ],
        expect![[r#"
            $ iverson eval [1.0/3] --digits 0
            --- stderr
            error: invalid value '0' for '--digits <N|all>': expected a number from 1 to 17, or `all`

            For more information, try '--help'.
            --- status 2
            $ iverson eval [1.0/3] --digits some
            --- stderr
            error: invalid value 'some' for '--digits <N|all>': expected a number from 1 to 17, or `all`

            For more information, try '--help'.
            --- status 2
            $ iverson eval [1.0/3] --digits 2 --format json
            [0.3333333333333333]
        "#]],
    );
}
