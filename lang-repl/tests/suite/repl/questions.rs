//! Tests of `?name` and `??name`.

use expect_test::expect;

use crate::harness::{Dir, session, session_in};

#[test]
fn names_are_asked_for() {
    session(
        "\
?linalg.norm1
import linalg as la
?la.norm1
??la.norm1
? sum
--| Twice as much.
--|
--| ```iverson
--| twice(2.0)
--| ```
def twice(x: f64) -> f64 =
  2 * x

derivative twice(x; dx) = 2 * dx
?twice
??twice
def twice(x: f64) -> f64 = x + x
??twice
?twic
?
??
ans
",
        expect![[r#"
            linalg.norm1, in the library

                def norm1(x: [n]t) -> t where t: num

            The 1-norm of a vector: the sum of the absolute values.

                linalg.norm1([3.0, -4.0])

                7.0
            import la
            la.norm1, in the library

                def norm1(x: [n]t) -> t where t: num

            The 1-norm of a vector: the sum of the absolute values.

                linalg.norm1([3.0, -4.0])

                7.0
            la.norm1, in the library

                def norm1(x: [n]t) -> t where t: num = sum i: abs(x[i])

            The 1-norm of a vector: the sum of the absolute values.

                linalg.norm1([3.0, -4.0])

                7.0

            Adjoint:

                def norm1_adj(x: [n]f64, y_adj: f64) -> [n]f64 = y_adj * sign(x)
            sum, a binder

                sum i < n: e, sum i < n if p: e

            The sum of the values of e; 0 over an empty range. The range is i < n, i in a..b, or i alone if it indexes an array in e.
            The body e extends as far right as possible; enclose it in ( … ) to end it.

                let x = [1.0, 2.0, 4.0]
                do sum i: x[i]
                do sum i < 10 if i % 2 == 1: i

                7.0
                25
            def twice(x: f64) -> f64
            derivative twice
            twice, defined here

                def twice(x: f64) -> f64

            Twice as much.

                twice(2.0)

            Rule:

                derivative twice(x; dx) = 2 * dx
            twice, defined here

                def twice(x: f64) -> f64 =
                  2 * x

            Twice as much.

                twice(2.0)

            Rule:

                derivative twice(x; dx) = 2 * dx

            Adjoint:

                def twice_adj(x: f64, y_adj: f64) -> f64 = 2 * y_adj
            note: the derivative of `twice` was removed, because it belonged to the previous definition
            def twice(x: f64) -> f64
            twice, defined here

                def twice(x: f64) -> f64 = x + x

            Adjoint:

                def twice_adj(x: f64, y_adj: f64) -> f64 = 2 * y_adj
            [E0600] Error: no documentation for `twic`
              Help: did you mean `twice`?
            [E0600] Error: a command begins with a colon: write :help
            [E0600] Error: a command begins with a colon: write :help
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
fn values_and_files() {
    let dir = Dir::new(&[("lib.iv", b"-- Fits.\n\n--| A fit.\ndef fit(x: [n]f64) -> f64 = x[0]\n")]);
    session_in(
        &dir,
        "\
1 + 1
??ans
let x = [1.0, 2.0]
??x
let (a, b) = (1, true)
?b
?fit
:load lib.iv
?fit
import \"./lib.iv\"
?lib
?lib.fit
",
        expect![[r#"
            i64 = 2
            ans, defined here

                let ans: i64
            x: [2]f64 = [1.0, 2.0]
            x, defined here

                let x: [2]f64

                let x = [1.0, 2.0]
            a: i64 = 1
            b: bool = true
            b, defined here

                let b: bool
            [E0600] Error: no documentation for `fit`
              Help: did you mean `filter`?
            loaded lib.iv
            fit, defined here

                def fit(x: [n]f64) -> f64

            A fit.
            import lib
            lib, the module lib.iv

            Fits.

              fit  A fit.
            lib.fit, in lib.iv

                def fit(x: [n]f64) -> f64

            A fit.
            --- exit status: 1
        "#]],
    );
}

#[test]
fn a_question_ends_what_is_unfinished() {
    session(
        "\
1 +
?pi
def few(x: [
  ?k]f64) -> i64 = 1

?few
",
        expect![[r#"
            [E0001] Error: expected an expression, found the end of the input
               ╭─[ repl:1:4 ]
               │
             1 │ 1 +
               │    ┬
               │    ╰── here
            ───╯
            pi, a constant

                pi

            The ratio of a circle's circumference to its diameter.

                do (pi, -inf, nan == nan)

                (3.141592653589793, -inf, false)
            [E0309] Error: an extent `?k` is allowed only in a result or in the type of a `let`
               ╭─[ repl:2:4 ]
               │
             2 │   ?k]f64) -> i64 = 1
               │    ┬
               │    ╰── here
               │
               │ Help: in a parameter, write the size as a name, because the argument determines it
            ───╯
            [E0600] Error: no documentation for `few`
              Help: `iverson doc` lists the modules
            --- exit status: 1
        "#]],
    );
}
