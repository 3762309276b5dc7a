//! Tests of the end of an input in the REPL, and of requests for types and explanations.

use expect_test::expect;

use crate::harness::{Dir, session, session_in};

#[test]
fn a_reduction_without_a_body_is_told_at_once() {
    session(
        "let y = [1.0, 2.0]\nsum y\n1 + 1\nsum i:\n  y[i]\nsum i < 2\n: y[i]\n",
        expect![[r#"
            y: [2]f64 = [1.0, 2.0]
            [E0001] Error: expected `:`, found the end of the input
               ╭─[ repl:1:6 ]
               │
             1 │ sum y
               │      ┬
               │      ╰── here
               │
               │ Help: `y` is an index variable here; to reduce the elements of an array, write `sum i: y[i]`
            ───╯
            i64 = 2
            f64 = 3.0
            f64 = 3.0
            --- exit status: 1
        "#]],
    );
}

#[test]
fn commands_and_empty_lines_end_what_is_unfinished() {
    session(
        "(1 +\n:type 2\nlet x = 1 in\n\n3\ndef f(x: f64) -> f64 =\n  :type 4\n--| What it does.\n:type 5\n",
        expect![[r#"
            [E0002] Error: unclosed bracket `(`
               ╭─[ repl:1:1 ]
               │
             1 │ (1 +
               │ ┬
               │ ╰── here
            ───╯
            i64
            [E0001] Error: a top-level `let` cannot have an `in`
               ╭─[ repl:1:11 ]
               │
             1 │ let x = 1 in
               │           ─┬
               │            ╰── here
               │
               │ Help: to evaluate an expression, write `do let … in …`; indent a `let` inside a definition
            ───╯
            i64 = 3
            [E0001] Error: the definition has no body
               ╭─[ repl:1:23 ]
               │
             1 │ def f(x: f64) -> f64 =
               │                       ┬
               │                       ╰── here
               │
               │ Help: write the body after the `=`; indent a line that begins with `let`, because a `let` in the first column begins an item
            ───╯
            i64
            i64
            --- exit status: 1
        "#]],
    );
}

#[test]
fn types_and_explanations_are_asked_for() {
    let dir = Dir::new(&[("lib.iv", b"def fit(x: [n]f64, y: [n]f64) -> f64 = sum i: x[i] * y[i]\n")]);
    assert!(dir.run(&[], b":explain E0010\n").starts_with("E0010: "));
    session_in(
        &dir,
        "\
:load lib
:load lib.iv
fit
type fit
type fit(2)
let g = fit
sort
:explain E9999
:explain sum
",
        expect![[r#"
            [E0602] Error: `lib` cannot be read: no such file
              Help: did you mean `:load lib.iv`?
            loaded lib.iv
            fit(x: [n]f64, y: [n]f64) -> f64
            [E0600] Error: a command begins with a colon: write `:type fit`
            [E0600] Error: a command begins with a colon: write `:type fit(2)`
            [E0301] Error: the size `n` of `fit` cannot be inferred here
               ╭─[ repl:1:9 ]
               │
             1 │ let g = fit
               │         ─┬─
               │          ╰─── here
               │
               │ Help: write the type of the argument or of the result, so that its extents are known
            ───╯
            sort(x: [n]a) -> [n]a where a: num
            [E0600] Error: `E9999` is not an error code
              Help: `iverson explain` lists all codes
            sum, a binder

                sum i < n: e, sum i < n if p: e

            The sum of the values of e; 0 over an empty range. The range is i < n, i in a..b, or i alone if it indexes an array in e.
            The body e extends as far right as possible; enclose it in ( … ) to end it.

                let x = [1.0, 2.0, 4.0]
                do sum i: x[i]
                do sum i < 10 if i % 2 == 1: i

                7.0
                25
            --- exit status: 1
        "#]],
    );
}
