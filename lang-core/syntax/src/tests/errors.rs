//! Tests of the parser's diagnostics for wrong expressions. Users read every message here.

use expect_test::expect;

use super::check;
use crate::parser::parse_expr;

#[test]
fn something_is_missing() {
    check(
        parse_expr,
        &[
            "",
            "1 +",
            "a + * b",
            "f(,a)",
            "f(a,,b)",
            "(,)",
            "x.",
            "x. + 1",
            "x[]",
            "{}",
            "x with = 3",
            "x with [i] e",
            "|x",
            "|x + 1|",
            "[1 2 3]",
            "f(x y)",
            "2 x",
            "f x",
            "{a 1}",
            "{1: 2}",
        ],
        expect![[r#"

                ERROR
              E0001 the end: expected an expression, found the end of the input
            1 +
                ERROR
              E0001 the end: expected an expression, found the end of the input
            a + * b
                ERROR
              E0001 «*»: expected an expression, found `*`
            f(,a)
                (call f ERROR a)
              E0001 «,»: expected an expression, found `,`
            f(a,,b)
                (call f a ERROR b)
              E0001 «,»: expected an expression, found `,`
            (,)
                (paren ERROR)
              E0001 «,»: expected an expression, found `,`
            x.
                (x.)
              E0001 the end: expected a field name, found the end of the input
            x. + 1
                ((x.) + 1)
              E0001 «+»: expected a field name, found `+`
            x[]
                (index x)
              E0001 «]»: expected an index, found `]`
            {}
                (record)
              E0001 «}»: expected a field name, found `}`
            x with = 3
                ERROR
              E0001 «=»: expected a field name or `[`, found `=`
            x with [i] e
                ERROR
              E0001 «e»: expected `=` or `+=`, found `e`
                  help: write an update as `x with [i] = e`, a pattern match as `match e { p: a, q: b }`
            |x
                ERROR
              E0001 the end: expected `|`, found the end of the input
            |x + 1|
                ERROR
              E0001 «+»: expected `|`, found `+`
            [1 2 3]
                (array ERROR)
              E0001 «2»: expected `,` or `]`, found `2`
                  help: is a comma missing?
            f(x y)
                (call f ERROR)
              E0001 «y»: expected `,` or `)`, found `y`
                  help: is a comma missing?
            2 x
                ERROR
              E0001 «x»: expected an operator or the end of the input, found `x`
                  help: write a product with `*`, as in `2 * x`
            f x
                ERROR
              E0001 «x»: expected an operator or the end of the input, found `x`
                  help: write a call as `f(x)`, a product as `a * b`
            {a 1}
                (record a:ERROR)
              E0001 «1»: expected `:`, found `1`
                  help: is a `:` missing?
            {1: 2}
                ERROR
              E0001 «1»: expected a field name, found `1`
                  help: braces enclose the fields of a record, `{x: e}`; parentheses group: `(e)`
        "#]],
    );
}

#[test]
fn several_slips_are_told_apart() {
    check(
        parse_expr,
        &[
            "f(1 +, g(2), 3 *)",
            "g(1 + ) + h(2 * )",
            "let a = (1 + ) let b = * in a b",
            "f(\n  a,\n  b c,\n  d +,\n  e)",
            "match e { a -> 1, b => 2, c: 3 }",
            "f(@, 1 +)",
            "@ x + 1",
        ],
        expect![[r#"
            f(1 +, g(2), 3 *)
                (call f ERROR (call g 2) ERROR)
              E0001 «,»: expected an expression, found `,`
              E0001 «)»: expected an expression, found `)`
            g(1 + ) + h(2 * )
                ((call g ERROR) + (call h ERROR))
              E0001 «)»: expected an expression, found `)`
              E0001 «)»: expected an expression, found `)`
            let a = (1 + ) let b = * in a b
                (let (a (paren ERROR)) (b ERROR) ERROR)
              E0001 «)»: expected an expression, found `)`
              E0001 «*»: expected an expression, found `*`
              E0001 «b»: expected an operator, found `b`
                  help: write a call as `f(x)`, a product as `a * b`
            f(
              a,
              b c,
              d +,
              e)
                (call f a ERROR ERROR e)
              E0001 «c»: expected `,` or `)`, found `c`
                  help: is a comma missing?
              E0001 «,»: expected an expression, found `,`
            match e { a -> 1, b => 2, c: 3 }
                (match e (a 1) (b 2) (c 3))
              E0001 «->»: expected `:`, found `->`
                  help: write `:` instead of `->`
              E0001 «=>»: `=>` is not an operator
                  help: write `:` instead of `=>`; greater or equal is `>=`
            f(@, 1 +)
                (call f ERROR ERROR)
              E0003 «@»: invalid character `@`
                  help: write a matrix product as `for i, j: (sum k: a[i, k] * b[k, j])`, a matrix-vector product as `for i: (sum j: a[i, j] * x[j])`
              E0001 «)»: expected an expression, found `)`
            @ x + 1
                ERROR
              E0003 «@»: invalid character `@`
                  help: write a matrix product as `for i, j: (sum k: a[i, k] * b[k, j])`, a matrix-vector product as `for i: (sum j: a[i, j] * x[j])`
        "#]],
    );
}

#[test]
fn brackets() {
    check(
        parse_expr,
        &[
            "(1 + 2",
            "f(g(x, [1",
            "f(x[i)",
            "a)",
            "(a + b]",
            "[(])",
            "let a = (1 +\nlet b = 2\nin a",
            "f(a b, (c",
            "let x: [n f64 = 3 in x",
        ],
        expect![[r#"
            (1 + 2
                ERROR
              E0002 «(»: unclosed bracket `(`
            f(g(x, [1
                ERROR
              E0002 «[»: unclosed bracket `[`
                  at «(»: `(` is also unclosed
                  at «(»: `(` is also unclosed
            f(x[i)
                (call f ERROR)
              E0002 «[»: unclosed bracket `[`
                  at «)»: before this `)`
            a)
                a
              E0002 «)»: unmatched closing bracket `)`
            (a + b]
                ERROR
              E0002 «]»: `(` has the wrong closing bracket `]`
                  at «(»: `(` opens here
            [(])
                (array ERROR)
              E0002 «(»: unclosed bracket `(`
                  at «]»: before this `]`
            let a = (1 +
            let b = 2
            in a
                (let (a ERROR) ERROR)
              E0002 «(»: unclosed bracket `(`
            f(a b, (c
                ERROR
              E0001 «b»: expected `,` or `)`, found `b`
                  help: is a comma missing?
              E0002 «(»: unclosed bracket `(`
                  at «(»: `(` is also unclosed
            let x: [n f64 = 3 in x
                ERROR
              E0002 «[»: unclosed bracket `[`
        "#]],
    );
}

#[test]
fn lets() {
    check(
        parse_expr,
        &[
            "let a = 1\na + 2",
            "let a = 1\nlet b = 2",
            "let a = 1 a + 2",
            "let a = f(x)\nlet b = sum i in 0..n: x[i]\n[b, a]",
            "let x := 1 in x",
            "let = 3 in x",
            "let x = in c",
            "let in = 3 in x",
            "let f(x: f64) = x in f",
            "let x = 1\n// hello world\nin x",
            "x = 1",
        ],
        expect![[r#"
            let a = 1
            a + 2
                (let (a 1) (a + 2))
              E0010 «a»: this `let` has no `in`
                  at «let»: the `let`
                  help: write `in` before `a`
            let a = 1
            let b = 2
                (let (a 1) (b 2) ERROR)
              E0010 the end: this `let` has no `in`
                  at «let»: the `let`
                  help: write `in` and the result after the last `let`
            let a = 1 a + 2
                ERROR
              E0001 «a»: expected `in`, found `a`
                  help: write `in` and the result after the last `let`
            let a = f(x)
            let b = sum i in 0..n: x[i]
            [b, a]
                (let (a (call f x)) (b (sum i=0..n (index (index x i) b a))) ERROR)
              E0010 the end: this `let` has no `in`
                  at «let»: the `let`
                  help: write `in` and the result after the last `let`
            let x := 1 in x
                (let (x 1) x)
              E0001 «:=»: `:=` is not an operator
                  help: bind a name with `=`, as in `let x = 1`
            let = 3 in x
                (let (ERROR 3) x)
              E0001 «=»: expected a pattern, found `=`
            let x = in c
                (let (x ERROR) c)
              E0001 «in»: expected an expression, found `in`
            let in = 3 in x
                ERROR
              E0001 «in»: expected a pattern, found `in`
                  help: `in` is a reserved word; choose another name
            let f(x: f64) = x in f
                (let (f ERROR) f)
              E0001 «f»: `let` cannot define a function with parameters
                  help: define a function with `def f(x: f64) = …`, a local one with `let f = \(x: f64): e in …`
            let x = 1
            // hello world
            in x
                (let (x ERROR) x)
              E0001 «world»: expected `in`, found `world`
                  help: a comment begins with `--`
            x = 1
                ERROR
              E0001 «=»: the language has no assignment
                  help: bind a name with `let x = …`
        "#]],
    );
}

#[test]
fn choices() {
    check(
        parse_expr,
        &[
            "if x = 1 then 2 else 3",
            "if x == 1: 2",
            "if x then 2",
            "if x { 2 }",
            "if a then b elif c then d else e",
            "if a then b else",
            "if a then b else: c",
            "x ? 1 : 2",
            "match e { a: 1 b: 2 }",
            "match e: 1",
            "match x { 1.5: 2 }",
        ],
        expect![[r#"
            if x = 1 then 2 else 3
                ERROR
              E0001 «=»: expected `then`, found `=`
                  help: write `==` for equality
            if x == 1: 2
                ERROR
              E0001 «:»: expected `then`, found `:`
                  help: write a conditional as `if c then a else b`
            if x then 2
                ERROR
              E0001 the end: expected `else`, found the end of the input
                  help: an `if` must have an `else`, because it is an expression
            if x { 2 }
                ERROR
              E0001 «{»: expected `then`, found `{`
                  help: write a conditional as `if c then a else b`
            if a then b elif c then d else e
                ERROR
              E0001 «elif»: `elif` is not a keyword
                  help: write `else if`
            if a then b else
                ERROR
              E0001 the end: expected an expression, found the end of the input
            if a then b else: c
                ERROR
              E0001 «:»: expected an expression, found `:`
                  help: remove the colon after `else`
            x ? 1 : 2
                ERROR
              E0001 «?»: expected an operator or the end of the input, found `?`
                  help: write a conditional as `if c then a else b`
            match e { a: 1 b: 2 }
                (match e (ERROR ERROR))
              E0001 «b»: expected `,` or `}`, found `b`
                  help: is a comma missing?
            match e: 1
                ERROR
              E0001 «:»: expected `{`, found `:`
                  help: write `match e { p: a, q: b }`
            match x { 1.5: 2 }
                (match x (ERROR ERROR))
              E0001 «1.5»: expected a pattern, found a number
        "#]],
    );
}

#[test]
fn binders_and_functions() {
    check(
        parse_expr,
        &[
            "for i in n: x[i]",
            "sum i < n x[i]",
            "for i x[i]",
            "sum i",
            "sum i < n, : 3",
            "sum(i < n): x",
            "for (i < n): x",
            "[x for i in 0..n]",
            "1..n",
            "x[..n]",
            "x[1..]",
            "x[1:3]",
            "\\x -> x",
            "\\x. x",
            "\\x => x",
            "\\def: 3",
            "\\[k] x: 3",
            "lambda x: x",
            "fold a = 0 while c: d",
            "loop a = 0 for i < n: a",
            "fold a = 0: a",
            "def f() = 3",
        ],
        expect![[r#"
            for i in n: x[i]
                ERROR
              E0001 «n»: expected a range after `in`
                  help: write a range as `i < n` or `i in a..b`; access the elements of an array with `x[i]`
            sum i < n x[i]
                ERROR
              E0001 «x»: expected `:`, found `x`
                  help: is a `:` missing?
            for i x[i]
                ERROR
              E0001 «x»: expected `:`, found `x`
                  help: is a `:` missing?
            sum i
                ERROR
              E0001 the end: expected `:`, found the end of the input
                  help: write the body after `:`, as in `sum i: x[i]`
            sum i < n, : 3
                ERROR
              E0001 «:»: expected an index variable, found `:`
                  help: write a range as `i < n` or `i in a..b`
            sum(i < n): x
                ERROR
              E0001 «:»: expected an operator or the end of the input, found `:`
                  help: remove the parentheses around the index variables: `sum i < n: e`
            for (i < n): x
                ERROR
              E0001 «(»: expected an index variable, found `(`
                  help: remove the parentheses around the index variables: `for i < n: e`
            [x for i in 0..n]
                (array ERROR)
              E0001 «for»: expected `,` or `]`, found `for`
                  help: write the body after the `for`: `for i < n: e`
            1..n
                ERROR
              E0001 «..»: expected an operator or the end of the input, found `..`
                  help: use a range only in a binder, as in `i in a..b`, or in brackets, as in `x[a..b]`
            x[..n]
                (index x ERROR)
              E0001 «..»: expected an expression, found `..`
                  help: a slice must have both bounds, as in `x[0..n]`
            x[1..]
                (index x ERROR)
              E0001 «]»: expected an expression, found `]`
                  help: a slice must have both bounds, as in `x[0..n]`
            x[1:3]
                (index x ERROR)
              E0001 «:»: expected `,` or `]`, found `:`
                  help: write a slice as `x[a..b]`
            \x -> x
                (fn (x) x)
              E0001 «->»: expected `:`, found `->`
                  help: write `:` instead of `->`
            \x. x
                ERROR
              E0001 the end: expected `:`, found the end of the input
                  help: write a function as `\x: e`
            \x => x
                (fn (x) x)
              E0001 «=>»: `=>` is not an operator
                  help: write `:` instead of `=>`; greater or equal is `>=`
            \def: 3
                ERROR
              E0001 «def»: expected a pattern, found `def`
                  help: `def` is a reserved word; choose another name
            \[k] x: 3
                (fn ([k]x) 3)
              E0001 «[k] x»: only `let` can name extents
                  help: bind the array first: `let [k] xs = …`
            lambda x: x
                ERROR
              E0001 «lambda»: `lambda` is not a keyword
                  help: write a function as `\x: e`
            fold a = 0 while c: d
                ERROR
              E0001 «while»: expected `for`, found `while`
                  help: `fold` iterates over a range; iterate under a condition with `loop acc = init while c: body`
            loop a = 0 for i < n: a
                ERROR
              E0001 «for»: expected `while`, found `for`
                  help: `loop` iterates under a condition; iterate over a range with `fold acc = init for i < n: body`
            fold a = 0: a
                ERROR
              E0001 «:»: expected `for`, found `:`
                  help: write the range after the carry: `fold acc = init for i < n: body`
            def f() = 3
                ERROR
              E0001 «def»: expected an expression, found `def`
                  help: write a local function as `let f = \x: e in …`
        "#]],
    );
}

#[test]
fn operators_of_other_languages() {
    check(
        parse_expr,
        &[
            "2 ** 3",
            "x <> y",
            "x /= y",
            "x =< y",
            "a and b",
            "a or b",
            "not a",
            "a & b",
            "x mod 2",
            "x += 1",
            "x *= 2",
            "+x",
            "return x",
            "x; y",
            "f(x = 1)",
            "{x = 1}",
            "x.99999999999",
            "(a,)",
            "2 = 3",
        ],
        expect![[r#"
            2 ** 3
                (2 ^ 3)
              E0001 «**»: `**` is not an operator
                  help: write a power with `^`
            x <> y
                (x != y)
              E0001 «<>»: `<>` is not an operator
                  help: write `!=` for inequality
            x /= y
                ERROR
              E0001 «/=»: `/=` is not an operator
                  help: write `!=` for inequality
            x =< y
                (x <= y)
              E0001 «=<»: `=<` is not an operator
                  help: write `<=` for less or equal
            a and b
                ERROR
              E0001 «and»: `and` is not a keyword
                  help: write `&&` for logical and
            a or b
                ERROR
              E0001 «or»: `or` is not a keyword
                  help: write `||` for logical or
            not a
                ERROR
              E0001 «not»: `not` is not a keyword
                  help: write `!` for logical not
            a & b
                (a && b)
              E0003 «&»: invalid character `&`
                  help: write `&&` for logical and, `bit_and` for bitwise and
            x mod 2
                ERROR
              E0001 «mod»: `mod` is not a keyword
                  help: write `%` for the remainder
            x += 1
                ERROR
              E0001 «+=»: the language has no assignment
                  help: values are immutable; write a total as `sum i: e`, a running value as `fold x = init for i < n: e`
            x *= 2
                ERROR
              E0001 «*=»: the language has no assignment
                  help: values are immutable; write a total as `sum i: e`, a running value as `fold x = init for i < n: e`
            +x
                ERROR
              E0001 «+»: expected an expression, found `+`
                  help: the language has no prefix `+`
            return x
                ERROR
              E0001 «return»: `return` is not a keyword
                  help: a body is an expression: remove `return`
            x; y
                ERROR
              E0001 «;»: expected an operator or the end of the input, found `;`
                  help: name values with `let … in …`; `;` can only end a top-level `let`
            f(x = 1)
                (call f ERROR)
              E0001 «=»: expected `,` or `)`, found `=`
                  help: write `==` for equality, `name: e` for a named argument
            {x = 1}
                (record x:ERROR)
              E0001 «=»: expected `:`, found `=`
                  help: write a field as `x: e`
            x.99999999999
                (x.0)
              E0001 «99999999999»: the component number is too large
                  help: the components of a tuple are counted from 0
            (a,)
                (paren a)
              E0001 «(a,)»: a tuple cannot have exactly one component
                  help: remove the comma
            2 = 3
                ERROR
              E0001 «=»: expected an operator or the end of the input, found `=`
                  help: write `==` for equality
        "#]],
    );
}
