//! Every form of the language and the tree it has.

use super::dump::dump;
use crate::syntax::parser::{parse_expr, parse_item};

#[test]
fn scratch() {
    for e in [
        "1 + 2 * 3 - 4",
        "-x^2",
        "2^-3^2",
        "a * [p] * b / c + d",
        "[e,]*x",
        "[1,2,3][0]",
        "-[p]*x",
        "2 * !p == q && r",
        "sum i < n, j in a..b by 2, k if i == j: x[i, j] + 1",
        "max(a, b) + max",
        "max j: x[j]",
        "2 * sum i: x[i] + 1",
        "\\x, y: x + y",
        "\\(x: f64), (y: [n]f64): x",
        "\\(a, b), c: a",
        "let p = a let (q, r): (f64, f64) = b in p + q",
        "if a then b else if c then d else e",
        "match e { Leaf(a): e1, Node(l, r): e2, m.X: 3, -3: 4, _: {x: 1} } + 1",
        "fold acc = 0 for i < n: acc + x[i] yield acc",
        "scan acc: f64 = 0 for i in 1..n: acc",
        "loop (a, b) = (0, 1) while a < 10: (b, a + b)",
        "scan s = 1 while s < 3: s + 1",
        "x with [i, _, a..b] = e + 1 with [j] += 2 with name = 3 with 0 = 4 == q",
        "|R| + |m.R(i)|",
        "x.0.1.name.type",
        "f(a, wrt: x)(b)[i][j]",
        "()",
        "(a,)",
        "(a, b)",
        "[]",
        "let [k, l] xs = load(\"a\") in k",
        "x |> f |> g(2) || a && b",
        "a < b <= c",
        "∑ i < n: x[i]·π ≤ ∞",
        "f(1 +, g(2), 3 *)",
        "x.",
        "let a = 1 a + 2",
        "let a = (1 + ) let b = ] in a",
    ] {
        let p = parse_expr(e);
        println!("{e}\n    {}", dump(&p.tree));
        for d in p.diagnostics {
            println!("    {} {:?} {} / {:?}", d.code, d.span, d.message, d.help);
        }
    }
    for e in include_str!("../../../../std/prelude.iv").split("\n\n").chain([
        "def f(x, y: f64) -> [n + m - 1]f64 where a: num, b: real = x",
        "type Tree(a) = Leaf(a) | Node(Tree(a), Tree(a))",
        "type A = | B",
        "type Net(n, h) = {w: [h, n]f64, b: [h]f64}",
        "import \"./a.iv\" as m",
        "import linalg",
        "let x: (A, n: i64) -> [n][?m]f64 = 3;",
        "derivative f(x, y; dx, dy) = dx",
        "adjoint f(x; dy) = dy",
        "def f(n: Net(784, n + 1, a, m.X), r: rel[n, m]) = 1",
        "def f(g: (f64, (a) -> b) -> (c) -> d, t: ((f64)), u: ()) = 1",
    ]) {
        let p = parse_item(e);
        println!("{e}\n    {}", dump(&p.tree));
        for d in p.diagnostics {
            println!("    {} {:?} {} / {:?}", d.code, d.span, d.message, d.help);
        }
    }
}
