//! Tests of the parser's diagnostics for wrong items: types, heads, text outside items.

use expect_test::expect;

use super::check;
use crate::parser::parse_item;

#[test]
fn types() {
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
              E0001 «f64»: the parameters of a function type stand in parentheses
                  help: write it as in `(f64) -> f64`
            let f: f64[n] = g
                (let f:ERROR g)
              E0001 «f64[n]»: the extents of an array type stand before the element type
                  help: write it as in `[n]f64`
            let x: [n] = 3
                (let x 3)
              E0001 «=»: expected a type, found `=`
                  help: an array type names its elements' type, as in `[n]f64`
            let x: Array<f64> = 3
                (let x 3)
              E0001 «<»: expected `=`, found `<`
                  help: the arguments of a type stand in parentheses, as in `Tree(f64)`
            let x: (a: f64) = 3
                (let x:f64 3)
              E0001 «(a: f64)»: a tuple type has no names
                  help: a record type is written `{x: f64}`; after the parameters of a function type follows `->`
            let x: (f64,) = 3
                (let x:f64 3)
              E0001 «(f64,)»: there is no tuple of one element
                  help: leave the comma out
            let x: []f64 = 3
                (let x:ERROR 3)
              E0001 «]»: expected a size, found `]`
                  help: the length of a parameter has a name, as in `x: [n]f64`; any name does
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
fn names_twice() {
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
              E0012 «x»: `x` is a parameter twice
                  at «x»: first here
            def f(x: f64) = \a, a: let (b, b) = x in for i, i, _, _: {c: 1, c: 2}
                (def f ((x f64)) _ (fn (a a) (let ((tuple b b) x) (for i i _ _ (record c:1 c:2)))))
              E0012 «a»: `a` is bound twice
                  at «a»: first here
              E0012 «b»: `b` is bound twice
                  at «b»: first here
              E0012 «i»: `i` is an index variable twice
                  at «i»: first here
              E0012 «c»: `c` is a field twice
                  at «c»: first here
            def f(x: f64) = match x { {a, a}: 1, (None, None): 2 }
                (def f ((x f64)) _ (match x ((record a a) 1) ((tuple None None) 2)))
              E0012 «a»: `a` is a field twice
                  at «a»: first here
            type T(a, a) = A | A
                (type (T a a) (sum (A) (A)))
              E0012 «a»: `a` is a type parameter twice
                  at «a»: first here
              E0012 «A»: `A` is a constructor twice
                  at «A»: first here
            derivative f(x; x) = 1
                (derivative f (x) (x) 1)
              E0012 «x»: `x` is a parameter twice
                  at «x»: first here
            let [k, k] {a: (b, c), b} = 1
                (let [k k](record a:(tuple b c) b) 1)
              E0012 «k»: `k` is bound twice
                  at «k»: first here
              E0012 «b»: `b` is bound twice
                  at «b»: first here
        "#]],
    );
}

#[test]
fn definitions() {
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
                  help: write it after the `=`; a line of it that begins with `let` is indented, for in column 0 `let` begins an item
            def f() = 1
            x + 1
                (def f () _ ERROR)
              E0009 «x + 1»: this stands in no item
                  help: every item starts with `def`, `type`, `import`, `let` or `do`; to evaluate an expression write `do` before it
            def x = 3
                ERROR
              E0001 «=»: expected `(`, found `=`
                  help: a constant is written `let x = …`, a function of nothing `def x() = …`
            def f x = 3
                ERROR
              E0001 «x»: expected `(`, found `x`
                  help: the parameters stand in parentheses, as in `def f(x: f64) = …`
            def f<T>(x: T) = 3
                ERROR
              E0001 «<»: expected `(`, found `<`
                  help: types and sizes are not declared: write their names where they are used
            def f(x) = x +
                (def f ((x ERROR)) _ ERROR)
              E0011 «x»: the parameter `x` has no type
                  help: write the type after a colon, as in `x: f64` or `x: [n]f64`
              E0001 the end: expected an expression, found the end
            def f(x f64) = 3
                (def f ((x ERROR)) _ 3)
              E0001 «f64»: expected `,` or `)`, found `f64`
                  help: a parameter is written `x: T`
            def f(x: f64): f64 = 3
                (def f ((x f64)) _ 3)
              E0001 «:»: expected `->`, found `:`
                  help: the type of the result stands after `->`
            def f(x: f64) -> f64 { 3 }
                ERROR
              E0001 «{»: expected `=`, found `{`
                  help: the body stands after `=`, without braces
            def f(x: f64) -> f64 x
                (def f ((x f64)) f64 x)
              E0001 «x»: expected `=`, found `x`
                  help: the body of a definition stands after `=`
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
                  help: a name is bound with one `=`
            def f(x: f64) where a = 3
                (def f ((x f64)) _ 3)
              E0001 «=»: expected `:`, found `=`
                  help: a type parameter may be limited to numbers: `where a: num` or `where a: real`
            def f(x: f64) where a: foo = 3
                (def f ((x f64)) _ (a foo) 3)
            def f(x: f64)
                (def f ((x f64)) _ ERROR)
              E0001 the end: expected `=` or `->`, found the end
                  help: the body of a definition stands after `=`
            def
                ERROR
              E0001 the end: expected a name, found the end
        "#]],
    );
}

#[test]
fn other_items() {
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
              E0001 the end: expected a name, found the end
            type A
                (type (A) ERROR)
              E0001 the end: expected `=`, found the end
                  help: what is defined stands after `=`
            import
                ERROR
              E0001 the end: expected a name, found the end
            import a.b
                ERROR
              E0001 «a.b»: the path of a file stands in quotes
                  help: write `import "a.b"`
            import a
            b
                ERROR
              E0009 «b»: this stands in no item
                  help: every item starts with `def`, `type`, `import`, `let` or `do`; to evaluate an expression write `do` before it
            let x 3
                ERROR
              E0001 «3»: expected `=`, found `3`
                  help: a name is bound with `let x = e`
            let x = 1 in x
                (let x ERROR)
              E0001 «in»: a `let` at the top level has no `in`
                  help: to evaluate an expression write `do let … in …`; a `let` inside a definition is indented
            let x = 1; 2
                (let x ERROR)
              E0001 «2»: expected an operator or the end, found `2`
                  help: every name of the top level has its own `let`, on a line of its own
            do 1 2
                ERROR
              E0001 «2»: expected an operator or the end, found `2`
                  help: is an operator missing?
            do x;
                ERROR
              E0001 «;»: expected an operator or the end, found `;`
                  help: a `do` has one expression: write another `do` on a line of its own
            derivative f(x) = 3
                (derivative f () () 3)
              E0001 «)»: expected `;`, found `)`
                  help: a rule is written `derivative f(x; dx) = …` or `adjoint f(x; dy) = …`
            adjoint f x = 3
                ERROR
              E0009 «adjoint f x = 3»: this stands in no item
                  help: a rule is written `derivative f(x; dx) = …` or `adjoint f(x; dy) = …`
        "#]],
    );
}

#[test]
fn text_in_no_item() {
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
              E0009 «x + 1»: this stands in no item
                  help: every item starts with `def`, `type`, `import`, `let` or `do`; to evaluate an expression write `do` before it
            x = 3
                ERROR
              E0009 «x = 3»: this stands in no item
                  help: a constant is written `let x = …`
            fn f(x) = 3
                ERROR
              E0009 «fn f(x) = 3»: this stands in no item
                  help: a definition begins with `def`
            // hello
                ERROR
              E0009 «// hello»: this stands in no item
                  help: a comment begins with `--`
            # hello
                ERROR
              E0003 «# hello»: `#` is outside the language
                  help: a comment begins with `--`
            ) + 1
                ERROR
              E0009 «) + 1»: this stands in no item
                  help: every item starts with `def`, `type`, `import`, `let` or `do`
            struct A {
              x: f64
            }
                ERROR
              E0009 «struct A {»: this stands in no item
                  help: a type is defined with `type`
            from a import b
                ERROR
              E0009 «from a import b»: this stands in no item
                  help: a module is read with `import`

                ERROR
              E0001 the end: expected an item, found the end
        "#]],
    );
}
