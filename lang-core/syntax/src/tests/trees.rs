//! Tests of the tree of every form of the language.

use expect_test::expect;

use super::{check, dump::dump};
use crate::ast::Item;
use crate::lexer::lex;
use crate::parser::{parse_expr, parse_item, parse_signature};
use crate::split::split;

#[test]
fn precedence() {
    check(
        parse_expr,
        &[
            "1 + 2 * 3 - 4 / 5 // 6 % 7",
            "a |> f || b && c == d + e * -f ^ g",
            "a < b <= c != d",
            "-x^2",
            "2^-3^2",
            "- -x",
            "!a == b && c",
            "2 * !p == q && r",
            "a * -b * c",
            "x |> f |> g(2)",
        ],
        expect![[r#"
            1 + 2 * 3 - 4 / 5 // 6 % 7
                (1 + (2 * 3) - (4 / 5 // 6 % 7))
            a |> f || b && c == d + e * -f ^ g
                (a |> (f || (b && (c == (d + (e * (Neg (f ^ g))))))))
            a < b <= c != d
                (a < b <= c != d)
            -x^2
                (Neg (x ^ 2))
            2^-3^2
                (2 ^ (Neg (3 ^ 2)))
            - -x
                (Neg (Neg x))
            !a == b && c
                ((Not (a == b)) && c)
            2 * !p == q && r
                ((2 * (Not (p == q))) && r)
            a * -b * c
                (a * (Neg b) * c)
            x |> f |> g(2)
                (x |> f |> (call g 2))
        "#]],
    );
}

#[test]
fn iverson_brackets() {
    check(
        parse_expr,
        &[
            "a * [p] * b / c + d",
            "[p] * [q] * x",
            "-[p] * x",
            "[0 <= k < n] * x[k]",
            "[e,] * x",
            "[e][0] * x",
            "([e]) * x",
            "x * [e]",
            "[e] / x",
            "2^[e] * x",
            "[p] * sum i: x[i] * y",
            "[p] * x with [i] = 1",
        ],
        expect![[r#"
            a * [p] * b / c + d
                ((a * (guard p (b / c))) + d)
            [p] * [q] * x
                (guard p (guard q x))
            -[p] * x
                (Neg (guard p x))
            [0 <= k < n] * x[k]
                (guard (0 <= k < n) (index x k))
            [e,] * x
                ((array e ,) * x)
            [e][0] * x
                ((index (array e) 0) * x)
            ([e]) * x
                ((paren (array e)) * x)
            x * [e]
                (x * (array e))
            [e] / x
                ((array e) / x)
            2^[e] * x
                ((2 ^ (array e)) * x)
            [p] * sum i: x[i] * y
                (guard p (sum i ((index x i) * y)))
            [p] * x with [i] = 1
                (guard p (with x ([i] = 1)))
        "#]],
    );
}

#[test]
fn operands() {
    check(
        parse_expr,
        &[
            "[1, 2.5, 1e-3,]",
            "[]",
            "()",
            "(a)",
            "(a, b,)",
            "{x: 1, type: true}",
            "\"text\\n\"",
            "f(a, wrt: x)(b)[i, a..b, _][j].0.1.name.in",
            "|R| + |m.R(i)|[0]",
            "max(a, b) + max * sum",
            "m.sum(x)",
        ],
        expect![[r#"
            [1, 2.5, 1e-3,]
                (array 1 2.5 0.001 ,)
            []
                (array)
            ()
                (tuple)
            (a)
                (paren a)
            (a, b,)
                (tuple a b)
            {x: 1, type: true}
                (record x:1 type:true)
            "text\n"
                "text\n"
            f(a, wrt: x)(b)[i, a..b, _][j].0.1.name.in
                (((((index (index (call (call f a wrt:x) b) i a..b _) j).0).1).name).in)
            |R| + |m.R(i)|[0]
                ((card R) + (index (card (call (m.R) i)) 0))
            max(a, b) + max * sum
                ((call max a b) + (max * sum))
            m.sum(x)
                (call (m.sum) x)
        "#]],
    );
}

#[test]
fn binders() {
    check(
        parse_expr,
        &[
            "for i: x[i]",
            "sum i < n + 1, j in a..b - 1 by 2, _, k if i == j: x[i, j] + 1",
            "2 * sum i: x[i] + 1",
            "max j < n if p: e",
            "argmax sum: 1",
            "any i: all j: R(i, j)",
            "rel i, j: i < j",
            "for i < (if a then b else c): i",
        ],
        expect![[r#"
            for i: x[i]
                (for i (index x i))
            sum i < n + 1, j in a..b - 1 by 2, _, k if i == j: x[i, j] + 1
                (sum i<(n + 1) j=a..(b - 1)by2 _ k if (i == j) ((index x i j) + 1))
            2 * sum i: x[i] + 1
                (2 * (sum i ((index x i) + 1)))
            max j < n if p: e
                (max j<n if p e)
            argmax sum: 1
                (argmax sum 1)
            any i: all j: R(i, j)
                (any i (all j (call R i j)))
            rel i, j: i < j
                (rel i j (i < j))
            for i < (if a then b else c): i
                (for i<(paren (if (a b) c)) i)
        "#]],
    );
}

#[test]
fn control() {
    check(
        parse_expr,
        &[
            "if a then b else if c then d else e",
            "1 + if a then b else c + 1",
            "match e { Leaf(a): e1, Node(l, _): e2, m.Pair({x, y: (p, q)}): 3, -3: 4, true: 5, (x): 6, (): 7, } + 1",
            "match match a { b: c } { d: e }",
            "fold acc = 0 for i < n, j: acc + x[i] yield acc",
            "fold acc: [n]f64 = x for i in 0..n by 2: acc",
            "scan s = 0 for i < n: s + i",
            "loop (a, b) = (0, 1) while a < 10: (b, a + b)",
            "scan s = 1 while s < 3: s + 1",
            "fold a = b for i < n: fold c = d for j: c yield e yield f",
        ],
        expect![[r#"
            if a then b else if c then d else e
                (if (a b) (c d) e)
            1 + if a then b else c + 1
                (1 + (if (a b) (c + 1)))
            match e { Leaf(a): e1, Node(l, _): e2, m.Pair({x, y: (p, q)}): 3, -3: 4, true: 5, (x): 6, (): 7, } + 1
                ((match e ((Leaf a) e1) ((Node l _) e2) ((m.Pair (record x y:(tuple p q))) 3) (-3 4) (true 5) (x 6) ((tuple) 7)) + 1)
            match match a { b: c } { d: e }
                (match (match a (b c)) (d e))
            fold acc = 0 for i < n, j: acc + x[i] yield acc
                (fold acc 0 i<n j (acc + (index x i)) yield acc)
            fold acc: [n]f64 = x for i in 0..n by 2: acc
                (fold acc:[n]f64 x i=0..nby2 acc)
            scan s = 0 for i < n: s + i
                (scan s 0 i<n (s + i))
            loop (a, b) = (0, 1) while a < 10: (b, a + b)
                (loop (tuple a b) (tuple 0 1) (a < 10) (tuple b (a + b)))
            scan s = 1 while s < 3: s + 1
                (scan-while s 1 (s < 3) (s + 1))
            fold a = b for i < n: fold c = d for j: c yield e yield f
                (fold a b i<n (fold c d j c yield e) yield f)
        "#]],
    );
}

#[test]
fn functions_and_lets() {
    check(
        parse_expr,
        &[
            "\\x, y: x + y",
            "\\(x: f64), (y: [n]f64): x",
            "\\(x: f64, y: f64): x",
            "\\(a, b), {c}, _: a",
            "let p = a let (q, r): (f64, f64) = b in p + q",
            "let [k, l] xs = load(\"a\") in k",
            "let x = let y = 1 in y in x",
            "f(let x = 1 in x, \\y: y, sum i: i)",
        ],
        expect![[r#"
            \x, y: x + y
                (fn (x y) (x + y))
            \(x: f64), (y: [n]f64): x
                (fn (x:f64 y:[n]f64) x)
            \(x: f64, y: f64): x
                (fn (x:f64 y:f64) x)
            \(a, b), {c}, _: a
                (fn ((tuple a b) (record c) _) a)
            let p = a let (q, r): (f64, f64) = b in p + q
                (let (p a) ((tuple q r):(tuple f64 f64) b) (p + q))
            let [k, l] xs = load("a") in k
                (let ([k l]xs (call load "a")) k)
            let x = let y = 1 in y in x
                (let (x (let (y 1) y)) x)
            f(let x = 1 in x, \y: y, sum i: i)
                (call f (let (x 1) x) (fn (y) y) (sum i i))
        "#]],
    );
}

#[test]
fn updates() {
    check(
        parse_expr,
        &[
            "x with [i, _, a..b] = e + 1 with [j] += 2 with name = 3 with 0 = 4 == q",
            "a + x with [i] = b * c |> f",
            "-x with [i] = !p",
            "x with [i] = (y with [j] = 1)",
            "f(x).y with [i] = sum j: z with [j] = 1",
        ],
        expect![[r#"
            x with [i, _, a..b] = e + 1 with [j] += 2 with name = 3 with 0 = 4 == q
                ((with x ([i _ a..b] = (e + 1)) ([j] += 2) (name = 3) (0 = 4)) == q)
            a + x with [i] = b * c |> f
                ((a + (with x ([i] = (b * c)))) |> f)
            -x with [i] = !p
                (Neg (with x ([i] = (Not p))))
            x with [i] = (y with [j] = 1)
                (with x ([i] = (paren (with y ([j] = 1)))))
            f(x).y with [i] = sum j: z with [j] = 1
                (with ((call f x).y) ([i] = (sum j (with z ([j] = 1)))))
        "#]],
    );
}

#[test]
fn types() {
    let ty = |ty: &str| dump(&parse_item(&format!("let x: {ty} = e")).tree);
    let types = [
        "f64",
        "[n, m + 1]f64",
        "[n][m](f64, a)",
        "()",
        "((f64))",
        "{x: f64, type: [2]i64}",
        "() -> f64",
        "(f64, n: i64) -> [n]f64",
        "(a) -> (b) -> c",
        "((a) -> b, [n](a, b)) -> ((c) -> d)",
        "Tree(a)",
        "m.Net(784, n + 1, -n, (n + 1) * 2, [n]f64, (a) -> b, m.Camera, n)",
        "rel[n, 2 * m]",
        "[?n][n // 2]f64",
    ];
    let out: String = types.iter().map(|t| format!("{}\n", ty(t))).collect();
    expect![[r#"
        (let x:f64 e)
        (let x:[n (m + 1)]f64 e)
        (let x:[n][m](tuple f64 a) e)
        (let x:(tuple) e)
        (let x:f64 e)
        (let x:(record x:f64 type:[2]i64) e)
        (let x:(() -> f64) e)
        (let x:((f64 n:i64) -> [n]f64) e)
        (let x:((a) -> ((b) -> c)) e)
        (let x:((((a) -> b) [n](tuple a b)) -> ((c) -> d)) e)
        (let x:(Tree a) e)
        (let x:(m.Net size:784 size:(n + 1) size:(Neg n) size:((paren (n + 1)) * 2) [n]f64 ((a) -> b) m.Camera n) e)
        (let x:(rel n (2 * m)) e)
        (let x:[?n][(n // 2)]f64 e)
    "#]]
    .assert_eq(&out);
}

#[test]
fn items() {
    check(
        parse_item,
        &[
            "def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 =\n  for i < n: sum j < m: x[i + j] * c[j]",
            "def f(x: a, y: b) -> a where a: num, b: real = x",
            "def f() = 1",
            "type Tree(a) = Leaf(a) | Node(Tree(a), Tree(a))",
            "type Unit = | Unit",
            "type Colour =\n  | Red\n  | Green",
            "type Net(n, h) = {w: [h, n]f64, b: [h]f64}",
            "type Point = Point(f64, f64)",
            "import linalg",
            "import \"./a.iv\" as m",
            "let x: i64 = 3;",
            "let (a, [k] b) = e",
            "do print(1)",
            "derivative f(x, y; dx, dy) = dx * y + x * dy",
            "adjoint f(x; dy) = dy",
        ],
        expect![[r#"
            def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 =
              for i < n: sum j < m: x[i + j] * c[j]
                (def conv ((x [(n + m - 1)]f64) (c [m]f64)) [n]f64 (for i<n (sum j<m ((index x (i + j)) * (index c j)))))
            def f(x: a, y: b) -> a where a: num, b: real = x
                (def f ((x a) (y b)) a (a num) (b real) x)
            def f() = 1
                (def f () _ 1)
            type Tree(a) = Leaf(a) | Node(Tree(a), Tree(a))
                (type (Tree a) (sum (Leaf a) (Node (Tree a) (Tree a))))
            type Unit = | Unit
                (type (Unit) (sum (Unit)))
            type Colour =
              | Red
              | Green
                (type (Colour) (sum (Red) (Green)))
            type Net(n, h) = {w: [h, n]f64, b: [h]f64}
                (type (Net n h) (record w:[h n]f64 b:[h]f64))
            type Point = Point(f64, f64)
                (type (Point) (Point f64 f64))
            import linalg
                (import linalg)
            import "./a.iv" as m
                (import file ./a.iv as m)
            let x: i64 = 3;
                (let x:i64 3 quiet)
            let (a, [k] b) = e
                (let (tuple a [k]b) e)
            do print(1)
                (call print 1)
            derivative f(x, y; dx, dy) = dx * y + x * dy
                (derivative f (x y) (dx dy) ((dx * y) + (x * dy)))
            adjoint f(x; dy) = dy
                (adjoint f (x) (dy) dy)
        "#]],
    );
}

#[test]
fn docs_stand_above() {
    let docs = |text: &str| parse_item(text).tree.docs;
    assert_eq!(docs("--| One.\n--|  Two.\n--|\ndef f() = 1 --| not this"), "One.\n Two.\n");
    assert_eq!(docs("--| Not this.\n\n-- nor this\n--| This.\r\ndef f() = 1"), "This.");
    assert_eq!(docs("--| Not this.\n\ndef f() = 1"), "");
    let tree = parse_item("--| Doc.\ndef f() = 1 -- end").tree;
    assert_eq!((tree.span.start, tree.span.end), (9, 20));
}

#[test]
fn signatures() {
    let parsed = parse_signature("def sort(x: [n]a) -> [n]a where a: num");
    assert_eq!(parsed.diagnostics, []);
    expect!["(def sort ((x [n]a)) [n]a (a num) ERROR)"].assert_eq(&dump(&parsed.tree));
    assert!(!parse_signature("def f(x: f64) = 1").diagnostics.is_empty());
}

#[test]
fn the_prelude_parses() {
    let text = include_str!("../../../../std/prelude.iv");
    for item in split(text) {
        let parsed = parse_item(&item.text);
        assert_eq!(parsed.diagnostics, []);
        assert!(matches!(&parsed.tree.item, Item::Def(def) if def.name.name == item.name));
        assert!(!parsed.tree.docs.is_empty());
    }
}

#[test]
fn spans_hold_what_they_should() {
    let text = "a * [p] * (b + c)[i].x";
    let parsed = parse_expr(text);
    let spans: Vec<&str> = parsed.tree.exprs.iter().filter_map(|(_, n)| text.get(n.span.range())).collect();
    expect![[r#"
        [
            "a",
            "p",
            "b",
            "c",
            "b + c",
            "(b + c)",
            "i",
            "(b + c)[i]",
            "(b + c)[i].x",
            "[p] * (b + c)[i].x",
            "a * [p] * (b + c)[i].x",
        ]
    "#]]
    .assert_debug_eq(&spans);
    assert_eq!(lex(text).tokens.len(), 16);
}
