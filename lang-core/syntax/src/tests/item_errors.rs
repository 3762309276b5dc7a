//! Tests of the parser's diagnostics for malformed items: types, repeated names, definitions, other
//! items, and text outside items. [`check`] prints the tree and the diagnostics of each text.

use expect_test::expect;

use super::check;
use crate::parser::parse_item;

#[test]
fn malformed_types() {
    check(
        parse_item,
        &[
            "let f: f64 -> f64 = g",
            "let f: f64[n] = g",
            "let x: [n] = 3",
            "let x: Array<f64> = 3",
            "let x: (a: f64) = 3",
            "let x: (f64,) = 3",
            "let x: []f64 = 3",
            "let x: {a f64} = 3",
            "let x: 3 = 3",
        ],
        expect![[r#"
            let f: f64 -> f64 = g
                (let f:((f64) -> f64) g)
              E0001 «f64»: the parameters of a function type must be in parentheses
                  help: write the type as in `(f64) -> f64`
            let f: f64[n] = g
                (let f:ERROR g)
              E0001 «f64[n]»: the extents of an array type must precede the element type
                  help: write the type as in `[n]f64`
            let x: [n] = 3
                (let x 3)
              E0001 «=»: expected a type, found `=`
                  help: an array type must contain its element type, as in `[n]f64`
            let x: Array<f64> = 3
                (let x 3)
              E0001 «<»: expected `=`, found `<`
                  help: enclose the arguments of a type in parentheses, as in `Tree(f64)`
            let x: (a: f64) = 3
                (let x:f64 3)
              E0001 «(a: f64)»: a tuple type cannot name its components
                  help: write a record type as `{x: f64}`; write `->` after the parameters of a function type
            let x: (f64,) = 3
                (let x:f64 3)
              E0001 «(f64,)»: a tuple cannot have exactly one component
                  help: remove the comma
            let x: []f64 = 3
                (let x:ERROR 3)
              E0001 «]»: expected a size, found `]`
                  help: name the extent, as in `x: [n]f64`; any name is valid
            let x: {a f64} = 3
                (let x:(record a:ERROR) 3)
              E0001 «f64»: expected `:`, found `f64`
                  help: is a `:` missing?
            let x: 3 = 3
                (let x 3)
              E0001 «3»: expected a type, found `3`
        "#]],
    );
}

#[test]
fn repeated_names() {
    check(
        parse_item,
        &[
            "def f(x: f64, x: f64) -> f64 = x",
            "def f(x: f64) = \\a, a: let (b, b) = x in for i, i, _, _: {c: 1, c: 2}",
            "def f(x: f64) = match x { {a, a}: 1, (None, None): 2 }",
            "type T(a, a) = A | A",
            "derivative f(x; x) = 1",
            "let [k, k] {a: (b, c), b} = 1",
        ],
        expect![[r#"
            def f(x: f64, x: f64) -> f64 = x
                (def f ((x f64) (x f64)) f64 x)
              E0012 «x»: duplicate parameter `x`
                  at «x»: first occurrence
            def f(x: f64) = \a, a: let (b, b) = x in for i, i, _, _: {c: 1, c: 2}
                (def f ((x f64)) _ (fn (a a) (let ((tuple b b) x) (for i i _ _ (record c:1 c:2)))))
              E0012 «a»: duplicate variable `a`
                  at «a»: first occurrence
              E0012 «b»: duplicate variable `b`
                  at «b»: first occurrence
              E0012 «i»: duplicate index variable `i`
                  at «i»: first occurrence
              E0012 «c»: duplicate field `c`
                  at «c»: first occurrence
            def f(x: f64) = match x { {a, a}: 1, (None, None): 2 }
                (def f ((x f64)) _ (match x ((record a a) 1) ((tuple None None) 2)))
              E0012 «a»: duplicate field `a`
                  at «a»: first occurrence
            type T(a, a) = A | A
                (type (T a a) (sum (A) (A)))
              E0012 «a»: duplicate type parameter `a`
                  at «a»: first occurrence
              E0012 «A»: duplicate constructor `A`
                  at «A»: first occurrence
            derivative f(x; x) = 1
                (derivative f (x) (x) 1)
              E0012 «x»: duplicate parameter `x`
                  at «x»: first occurrence
            let [k, k] {a: (b, c), b} = 1
                (let [k k](record a:(tuple b c) b) 1)
              E0012 «k»: duplicate variable `k`
                  at «k»: first occurrence
              E0012 «b»: duplicate variable `b`
                  at «b»: first occurrence
        "#]],
    );
}

#[test]
fn malformed_definitions() {
    check(
        parse_item,
        &[
            "def f() =",
            "def f() = 1\nx + 1",
            "def x = 3",
            "def f x = 3",
            "def f<T>(x: T) = 3",
            "def f(x) = x +",
            "def f(x f64) = 3",
            "def f(x: f64): f64 = 3",
            "def f(x: f64) -> f64 { 3 }",
            "def f(x: f64) -> f64 x",
            "def f(x: f64) -> = 3",
            "def (x: f64) = 3",
            "def if(x: f64) = 3",
            "def f(x: ) = y(1 +)",
            "def f(x: f64) == 3",
            "def f(x: f64) where a = 3",
            "def f(x: f64) where a: foo = 3",
            "def f(x: f64)",
            "def",
        ],
        expect![[r#"
            def f() =
                (def f () _ ERROR)
              E0001 the end: the definition has no body
                  help: write the body after the `=`; indent a line that begins with `let`, because a `let` in the first column begins an item
            def f() = 1
            x + 1
                (def f () _ ERROR)
              E0009 «x + 1»: this text is outside all items
                  help: every item must begin with `def`, `type`, `import`, `let` or `do`; to evaluate an expression, write `do` before it
            def x = 3
                ERROR
              E0001 «=»: expected `(`, found `=`
                  help: write a constant as `let x = …`, a function without parameters as `def x() = …`
            def f x = 3
                ERROR
              E0001 «x»: expected `(`, found `x`
                  help: enclose the parameters in parentheses, as in `def f(x: f64) = …`
            def f<T>(x: T) = 3
                ERROR
              E0001 «<»: expected `(`, found `<`
                  help: types and sizes need no declaration; write their names where you use them
            def f(x) = x +
                (def f ((x ERROR)) _ ERROR)
              E0011 «x»: the parameter `x` has no type
                  help: write the type after a colon, as in `x: f64` or `x: [n]f64`
              E0001 the end: expected an expression, found the end of the input
            def f(x f64) = 3
                (def f ((x ERROR)) _ 3)
              E0001 «f64»: expected `,` or `)`, found `f64`
                  help: write a parameter as `x: T`
            def f(x: f64): f64 = 3
                (def f ((x f64)) _ 3)
              E0001 «:»: expected `->`, found `:`
                  help: write the result type after `->`
            def f(x: f64) -> f64 { 3 }
                ERROR
              E0001 «{»: expected `=`, found `{`
                  help: write the body after `=`, without braces
            def f(x: f64) -> f64 x
                (def f ((x f64)) f64 x)
              E0001 «x»: expected `=`, found `x`
                  help: write the body of a definition after `=`
            def f(x: f64) -> = 3
                (def f ((x f64)) ERROR 3)
              E0001 «=»: expected a type, found `=`
            def (x: f64) = 3
                (def  ((x f64)) _ 3)
              E0001 «(»: expected a name, found `(`
            def if(x: f64) = 3
                (def  ((x f64)) _ 3)
              E0001 «if»: expected a name, found `if`
                  help: `if` is a reserved word; choose another name
            def f(x: ) = y(1 +)
                (def f ((x ERROR)) _ (call y ERROR))
              E0001 «)»: expected a type, found `)`
              E0001 «)»: expected an expression, found `)`
            def f(x: f64) == 3
                (def f ((x f64)) _ 3)
              E0001 «==»: expected `=` or `->`, found `==`
                  help: bind a name with a single `=`
            def f(x: f64) where a = 3
                (def f ((x f64)) _ 3)
              E0001 «=»: expected `:`, found `=`
                  help: constrain a type parameter to numbers with `where a: num` or `where a: real`
            def f(x: f64) where a: foo = 3
                (def f ((x f64)) _ (a foo) 3)
            def f(x: f64)
                (def f ((x f64)) _ ERROR)
              E0001 the end: expected `=` or `->`, found the end of the input
                  help: write the body of a definition after `=`
            def
                ERROR
              E0001 the end: expected a name, found the end of the input
        "#]],
    );
}

#[test]
fn other_malformed_items() {
    check(
        parse_item,
        &[
            "type = 3",
            "type A(3) = B",
            "type A = B(3) | C",
            "type A = |",
            "type A",
            "import",
            "import a.b",
            "import a\nb",
            "let x 3",
            "let x = 1 in x",
            "let x = 1; 2",
            "do 1 2",
            "do x;",
            "derivative f(x) = 3",
            "adjoint f x = 3",
        ],
        expect![[r#"
            type = 3
                (type () ERROR)
              E0001 «=»: expected a name, found `=`
              E0001 «3»: expected a type, found `3`
            type A(3) = B
                (type (A ) B)
              E0001 «3»: expected a name, found `3`
            type A = B(3) | C
                (type (A) (sum (B ERROR) (C)))
              E0001 «3»: expected a type, found `3`
            type A = |
                (type (A) ERROR)
              E0001 the end: expected a name, found the end of the input
            type A
                (type (A) ERROR)
              E0001 the end: expected `=`, found the end of the input
                  help: write the definition after `=`
            import
                ERROR
              E0001 the end: expected a name, found the end of the input
            import a.b
                ERROR
              E0001 «a.b»: the path of a file must be in quotes
                  help: write `import "a.b"`
            import a
            b
                ERROR
              E0009 «b»: this text is outside all items
                  help: every item must begin with `def`, `type`, `import`, `let` or `do`; to evaluate an expression, write `do` before it
            let x 3
                ERROR
              E0001 «3»: expected `=`, found `3`
                  help: bind a name with `let x = e`
            let x = 1 in x
                (let x ERROR)
              E0001 «in»: a top-level `let` cannot have an `in`
                  help: to evaluate an expression, write `do let … in …`; indent a `let` inside a definition
            let x = 1; 2
                (let x ERROR)
              E0001 «2»: expected an operator or the end of the input, found `2`
                  help: write each top-level binding with its own `let` on its own line
            do 1 2
                ERROR
              E0001 «2»: expected an operator or the end of the input, found `2`
                  help: is an operator missing?
            do x;
                ERROR
              E0001 «;»: expected an operator or the end of the input, found `;`
                  help: a `do` has one expression; write another `do` on its own line
            derivative f(x) = 3
                (derivative f () () 3)
              E0001 «)»: expected `;`, found `)`
                  help: write a rule as `derivative f(x; dx) = …` or `adjoint f(x; dy) = …`
            adjoint f x = 3
                ERROR
              E0009 «adjoint f x = 3»: this text is outside all items
                  help: write a rule as `derivative f(x; dx) = …` or `adjoint f(x; dy) = …`
        "#]],
    );
}

#[test]
fn text_outside_items() {
    check(
        parse_item,
        &[
            "x + 1",
            "x = 3",
            "fn f(x) = 3",
            "// hello",
            "# hello",
            ") + 1",
            "struct A {\n  x: f64\n}",
            "from a import b",
            "",
        ],
        expect![[r#"
            x + 1
                ERROR
              E0009 «x + 1»: this text is outside all items
                  help: every item must begin with `def`, `type`, `import`, `let` or `do`; to evaluate an expression, write `do` before it
            x = 3
                ERROR
              E0009 «x = 3»: this text is outside all items
                  help: write a constant as `let x = …`
            fn f(x) = 3
                ERROR
              E0009 «fn f(x) = 3»: this text is outside all items
                  help: begin a definition with `def`
            // hello
                ERROR
              E0009 «// hello»: this text is outside all items
                  help: a comment begins with `--`
            # hello
                ERROR
              E0003 «# hello»: invalid character `#`
                  help: a comment begins with `--`
            ) + 1
                ERROR
              E0009 «) + 1»: this text is outside all items
                  help: every item must begin with `def`, `type`, `import`, `let` or `do`
            struct A {
              x: f64
            }
                ERROR
              E0009 «struct A {»: this text is outside all items
                  help: define a type with `type`
            from a import b
                ERROR
              E0009 «from a import b»: this text is outside all items
                  help: import a module with `import`

                ERROR
              E0001 the end: expected an item, found the end of the input
        "#]],
    );
}
