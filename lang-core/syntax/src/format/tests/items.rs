//! Layout tests of items and types, both on one line and too long for it.

use expect_test::expect;

use super::check;

#[test]
fn definitions() {
    check(
        "def   f( x:f64 ,y : [n,m]f64 )->f64=x",
        expect![[r#"
        def f(x: f64, y: [n, m]f64) -> f64 = x
    "#]],
    );
    check(
        "def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: sum j < m: x[i + j] * c[j] + 0.0",
        expect![[r#"
            def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 =
              for i < n: sum j < m: x[i + j] * c[j] + 0.0
        "#]],
    );
    check(
        "def a_long_name(first_parameter: [n + m - 1]f64, second_parameter: [m]f64, third: f64) -> [n]f64 = x",
        expect![[r#"
            def a_long_name(
              first_parameter: [n + m - 1]f64,
              second_parameter: [m]f64,
              third: f64
            ) -> [n]f64 =
              x
        "#]],
    );
    check(
        "def total(x: [n]a, y: [n]b) -> a where a:num,b: real = sum i: x[i]",
        expect![[r#"
        def total(x: [n]a, y: [n]b) -> a where a: num, b: real = sum i: x[i]
    "#]],
    );
    check(
        "def a_long_name_of_a_function(x: [number_of_elements]a, y: [n]b) -> a where a:num, b: real = sum i: x[i]",
        expect![[r#"
            def a_long_name_of_a_function(
              x: [number_of_elements]a,
              y: [n]b
            ) -> a where a: num, b: real =
              sum i: x[i]
        "#]],
    );
    check(
        "def nothing() = ()",
        expect![[r#"
        def nothing() = ()
    "#]],
    );
}

#[test]
fn other_items() {
    check(
        "do assert(all i < number_of_elements: abs(first_operand[i] - second_operand[i]) < 1e-4, \"they agree\")",
        expect![[r#"
            do assert(
              all i < number_of_elements: abs(first_operand[i] - second_operand[i]) < 1e-4,
              "they agree"
            )
        "#]],
    );
    check(
        "import   linalg as  la\nimport \"./mine.iv\"   as m\nimport \"x\\\\y\"",
        expect![[r#"
        import linalg as la
        import "./mine.iv" as m
        import "x\\y"
    "#]],
    );
    check(
        "let x=1;\nlet (a, b): (f64, f64) = g(x)\nlet [k] xs = load(\"a.npy\")",
        expect![[r#"
        let x = 1;
        let (a, b): (f64, f64) = g(x)
        let [k] xs = load("a.npy")
    "#]],
    );
    check(
        "do   print(x)",
        expect![[r#"
        do print(x)
    "#]],
    );
    check(
        "do let a = 1 let b = 2 in a + b",
        expect![[r#"
        do
          let a = 1
          let b = 2
          in a + b
    "#]],
    );
    check(
        "derivative f(x,y;dx,dy)=dx*y+x*dy\nadjoint  f(x; dy) = dy",
        expect![[r#"
        derivative f(x, y; dx, dy) = dx * y + x * dy
        adjoint f(x; dy) = dy
    "#]],
    );
    check(
        "adjoint a_function_with_a_name(first_parameter, second_parameter, third_one; dy_of_result) = 2",
        expect![[r#"
            adjoint a_function_with_a_name(
              first_parameter,
              second_parameter,
              third_one;
              dy_of_result
            ) =
              2
        "#]],
    );
}

#[test]
fn type_definitions() {
    check(
        "type Tree(a)=Leaf(a)|Node(Tree(a),Tree(a))",
        expect![[r#"
        type Tree(a) = Leaf(a) | Node(Tree(a), Tree(a))
    "#]],
    );
    check(
        "type T = | A | B\ntype U = | A\ntype V = A\ntype W(n) = [n, 2 * n]f64",
        expect![[r#"
        type T = A | B
        type U = | A
        type V = A
        type W(n) = [n, 2 * n]f64
    "#]],
    );
    check(
        "type Net(n, h) = {w:[h, n]f64, b: [h]f64}",
        expect![[r#"
        type Net(n, h) = {w: [h, n]f64, b: [h]f64}
    "#]],
    );
    check(
        "type Expression = Constant(f64) | Variable(i64) | Plus(Expression, Expression) | Times(Expression, Expression)",
        expect![[r#"
            type Expression =
              | Constant(f64)
              | Variable(i64)
              | Plus(Expression, Expression)
              | Times(Expression, Expression)
        "#]],
    );
    check(
        "type Camera = {rotation: [3]f64, centre: [3]f64, focal_length: f64, principal: [2]f64, radial: [2]f64}",
        expect![[r#"
            type Camera = {
              rotation: [3]f64,
              centre: [3]f64,
              focal_length: f64,
              principal: [2]f64,
              radial: [2]f64
            }
        "#]],
    );
}

#[test]
fn types() {
    check(
        "def f(a: (f64,i64)->[n]f64, b: (n:i64)->f64, c: rel[n,m], d: ()) -> ([?k]f64, m.Camera) = a",
        expect![[r#"
            def f(
              a: (f64, i64) -> [n]f64,
              b: (n: i64) -> f64,
              c: rel[n, m],
              d: ()
            ) -> ([?k]f64, m.Camera) =
              a
        "#]],
    );
    check(
        "def f(a: [n]((f64) -> f64), b: ((f64) -> f64) -> f64, c: (f64), d: Net(784, n + 1, a)) = a",
        expect![[r#"
        def f(a: [n]((f64) -> f64), b: ((f64) -> f64) -> f64, c: f64, d: Net(784, n + 1, a)) = a
    "#]],
    );
}

#[test]
fn blank_lines_between_items() {
    check(
        "\n\n\ndef f() = 1\n\n\n\ndef g() = 2\ndef h() = 3\n\n",
        expect![[r#"
        def f() = 1

        def g() = 2
        def h() = 3
    "#]],
    );
    check("", expect![[r#""#]]);
    check(
        "-- only\n\n\n-- comments   \n",
        expect![[r#"
        -- only

        -- comments
    "#]],
    );
}
