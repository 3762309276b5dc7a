//! Each form as it is laid out, short and too long, and comments in every place.

use expect_test::{Expect, expect};

use super::{format_file, outline, print_tree, same_tree};
use crate::syntax::parser::parse_item;
use crate::syntax::split::split;

/// The layout of a file; it must be that of itself, and all items must pass their check.
#[track_caller]
fn layout(input: &str) -> String {
    let once = format_file(input).unwrap_or_else(|errors| panic!("does not parse: {errors:?}"));
    assert_eq!(once.left_alone, 0, "left alone:\n{input}");
    let twice = format_file(&once.text).unwrap_or_else(|errors| panic!("{}: {errors:?}", once.text));
    assert_eq!(twice.text, once.text, "formatting twice differs");
    assert_eq!(twice.left_alone, 0);
    once.text
}

#[track_caller]
fn check(input: &str, expected: Expect) {
    expected.assert_eq(&layout(input));
}

/// The layout of an expression as the body of a definition.
#[track_caller]
fn check_body(body: &str, expected: Expect) {
    check(&format!("def f(x: f64) = {body}"), expected);
}

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
fn operators() {
    check_body(
        "a+b*c-d/e//f%g^-h^2",
        expect![[r#"
        def f(x: f64) = a + b * c - d / e // f % g^-h^2
    "#]],
    );
    check_body(
        "-x ^ 2 + !p && - -y < z || a<=b<c",
        expect![[r#"
        def f(x: f64) = -x^2 + !p && - -y < z || a <= b < c
    "#]],
    );
    check_body(
        "x |> f |> \\y: y+1",
        expect![[r#"
        def f(x: f64) = x |> f |> \y: y + 1
    "#]],
    );
    check_body(
        "[0<=k<n]*x[k]*2 + a * [p] * b/c",
        expect![[r#"
        def f(x: f64) = [0 <= k < n] * x[k] * 2 + a * [p] * b / c
    "#]],
    );
    check_body(
        "((a+b))*(((c)))",
        expect![[r#"
        def f(x: f64) = (a + b) * (c)
    "#]],
    );
    check_body(
        "|R| + |neighbours.edges|",
        expect![[r#"
        def f(x: f64) = |R| + |neighbours.edges|
    "#]],
    );
    check_body(
        "first_operand * second_operand + third_operand * fourth_operand - fifth_operand / sixth_operand + seventh",
        expect![[r#"
            def f(x: f64) =
              first_operand * second_operand
                + third_operand * fourth_operand
                - fifth_operand / sixth_operand
                + seventh
        "#]],
    );
    check_body(
        "first_operand * [0 <= index_of_element < number_of_elements] * second_operand / third_operand * fourth",
        expect![[r#"
            def f(x: f64) =
              first_operand
                * [0 <= index_of_element < number_of_elements]
                * second_operand
                / third_operand
                * fourth
        "#]],
    );
    check_body(
        "2 * sum index < number_of_elements: first_operand[index] * second_operand[index] * third_operand[index]",
        expect![[r#"
            def f(x: f64) =
              2 * sum index < number_of_elements:
                first_operand[index] * second_operand[index] * third_operand[index]
        "#]],
    );
    check_body(
        "(first_operand + second_operand + third_operand) * (fourth_operand + fifth_operand + sixth_operand)",
        expect![[r#"
            def f(x: f64) =
              (first_operand + second_operand + third_operand)
                * (fourth_operand + fifth_operand + sixth_operand)
        "#]],
    );
}

#[test]
fn unicode_spellings() {
    check_body(
        "∑ i: x[i] · y[i]",
        expect![[r#"
        def f(x: f64) = sum i: x[i] * y[i]
    "#]],
    );
    check_body(
        "⊞ i < n: [0 ≤ i ∧ i ≠ m ∨ ¬(i ≥ k)] * θ₀",
        expect![[r#"
        def f(x: f64) = for i < n: [0 <= i && i != m || !(i >= k)] * θ₀
    "#]],
    );
    check_body(
        "∇(f)(x) + π - ∞",
        expect![[r#"
        def f(x: f64) = grad(f)(x) + pi - inf
    "#]],
    );
}

#[test]
fn numbers_and_strings() {
    check_body(
        "[1_000, 1e-14, 0.10, 9223372036854775807, 1E5]",
        expect![[r#"
        def f(x: f64) = [1_000, 1e-14, 0.10, 9223372036854775807, 1E5]
    "#]],
    );
    check(
        "do print(\"a\\tb\\\"c\\\\ -- no comment\", true, false)",
        expect![[r#"
        do print("a\tb\"c\\ -- no comment", true, false)
    "#]],
    );
}

#[test]
fn brackets() {
    check_body(
        "[ 1,2 , 3 ]",
        expect![[r#"
        def f(x: f64) = [1, 2, 3]
    "#]],
    );
    check_body(
        "[x,]",
        expect![[r#"
        def f(x: f64) = [x,]
    "#]],
    );
    check_body(
        "{x:1,y : {z: 2}}",
        expect![[r#"
        def f(x: f64) = {x: 1, y: {z: 2}}
    "#]],
    );
    check_body(
        "(1, (2, 3), ())",
        expect![[r#"
        def f(x: f64) = (1, (2, 3), ())
    "#]],
    );
    check_body(
        "x[i,a..b,_][0].name.0.1",
        expect![[r#"
        def f(x: f64) = x[i, a..b, _][0].name.0.1
    "#]],
    );
    check_body(
        "vjp( f , wrt:x )((a,b), dc)()",
        expect![[r#"
        def f(x: f64) = vjp(f, wrt: x)((a, b), dc)()
    "#]],
    );
    check_body(
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30]",
        expect![[r#"
            def f(x: f64) =
              [
                1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                24, 25, 26, 27, 28, 29, 30
              ]
        "#]],
    );
    check_body(
        "[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]",
        expect![[r#"
            def f(x: f64) =
              [
                [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
                [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
                [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
              ]
        "#]],
    );
    check_body(
        "a_function_with_a_name(first_argument + 1, second_argument[i, j], name: third_argument, fourth_argument)",
        expect![[r#"
            def f(x: f64) =
              a_function_with_a_name(
                first_argument + 1,
                second_argument[i, j],
                name: third_argument,
                fourth_argument
              )
        "#]],
    );
    check_body(
        "{first_field: first_value + 1, second_field: second_value + 2, third_field: [1, 2, 3], fourth: 17}",
        expect![[r#"
            def f(x: f64) =
              {
                first_field: first_value + 1,
                second_field: second_value + 2,
                third_field: [1, 2, 3],
                fourth: 17
              }
        "#]],
    );
    check_body(
        "an_array_with_a_long_name[first_index + 1, second_index_from..second_index_to, _, fourth_index - 1]",
        expect![[r#"
            def f(x: f64) =
              an_array_with_a_long_name[
                first_index + 1,
                second_index_from..second_index_to,
                _,
                fourth_index - 1
              ]
        "#]],
    );
    check_body(
        "f(((a, b)), (c))",
        expect![[r#"
        def f(x: f64) = f(((a, b)), (c))
    "#]],
    );
}

#[test]
fn binders() {
    check_body(
        "for i<n,j:x[i,j]",
        expect![[r#"
        def f(x: f64) = for i < n, j: x[i, j]
    "#]],
    );
    check_body(
        "sum i in 0..n-1 by 2, _ < m: 1",
        expect![[r#"
        def f(x: f64) = sum i in 0..n - 1 by 2, _ < m: 1
    "#]],
    );
    check_body(
        "max j<n if x[j]>0:x[j]",
        expect![[r#"
        def f(x: f64) = max j < n if x[j] > 0: x[j]
    "#]],
    );
    check_body(
        "sum(x) + max(a, b)",
        expect![[r#"
        def f(x: f64) = sum(x) + max(a, b)
    "#]],
    );
    check_body(
        "for i < number_of_rows, j < number_of_columns: sum k < number_of_inner: first[i, k] * second[k, j]",
        expect![[r#"
            def f(x: f64) =
              for i < number_of_rows, j < number_of_columns:
                sum k < number_of_inner: first[i, k] * second[k, j]
        "#]],
    );
    check_body(
        "max first_index < number_of_elements, second_index < number_of_others if is_wanted(first_index, second_index): 1",
        expect![[r#"
            def f(x: f64) =
              max first_index < number_of_elements, second_index < number_of_others
                  if is_wanted(first_index, second_index):
                1
        "#]],
    );
    check_body(
        "\\x,(y:f64): x + y",
        expect![[r#"
        def f(x: f64) = \x, (y: f64): x + y
    "#]],
    );
    check_body(
        "\\first_parameter, (second_parameter: [n]f64): first_parameter + second_parameter[0] * third_parameter",
        expect![[r#"
            def f(x: f64) =
              \first_parameter, (second_parameter: [n]f64):
                first_parameter + second_parameter[0] * third_parameter
        "#]],
    );
}

#[test]
fn folds() {
    check_body(
        "fold acc=0 for i<n: acc+x[i]",
        expect![[r#"
        def f(x: f64) = fold acc = 0 for i < n: acc + x[i]
    "#]],
    );
    check_body(
        "fold (a, b): (f64, f64) = (0.0, 1.0) for i: (b, a + b) yield a",
        expect![[r#"
        def f(x: f64) = fold (a, b): (f64, f64) = (0.0, 1.0) for i: (b, a + b) yield a
    "#]],
    );
    check_body(
        "scan s = s0 for i: s + x[i]",
        expect![[r#"
        def f(x: f64) = scan s = s0 for i: s + x[i]
    "#]],
    );
    check_body(
        "loop x = x0 while x > 1: x / 2",
        expect![[r#"
        def f(x: f64) = loop x = x0 while x > 1: x / 2
    "#]],
    );
    check_body(
        "scan x = x0 while x > 1: x / 2",
        expect![[r#"
        def f(x: f64) = scan x = x0 while x > 1: x / 2
    "#]],
    );
    check_body(
        "fold accumulator = initial_value for i < number_of_steps: accumulator + step_function(i) yield accumulator[0]",
        expect![[r#"
            def f(x: f64) =
              fold accumulator = initial_value for i < number_of_steps:
                accumulator + step_function(i)
              yield accumulator[0]
        "#]],
    );
    check_body(
        "fold accumulator = some_initial_value_function(first, second) for i < number_of_steps, j < number_of_substeps: a",
        expect![[r#"
            def f(x: f64) =
              fold accumulator = some_initial_value_function(first, second)
              for i < number_of_steps, j < number_of_substeps:
                a
        "#]],
    );
    check_body(
        "loop (position, velocity) = (start_position, start_velocity) while norm(velocity) > tolerance: step(position)",
        expect![[r#"
            def f(x: f64) =
              loop (position, velocity) = (start_position, start_velocity)
              while norm(velocity) > tolerance:
                step(position)
        "#]],
    );
}

#[test]
fn lets() {
    check_body(
        "let y = 1 in y",
        expect![[r#"
        def f(x: f64) = let y = 1 in y
    "#]],
    );
    check_body(
        "let y = 1 let [k] z: [k]f64 = g(y) let {a: b, c} = r in y + z",
        expect![[r#"
        def f(x: f64) =
          let y = 1
          let [k] z: [k]f64 = g(y)
          let {a: b, c} = r
          in y + z
    "#]],
    );
    check_body(
        "let y = 1\n\n\n let z = 2\n let w = 3\n\n in y",
        expect![[r#"
        def f(x: f64) =
          let y = 1

          let z = 2
          let w = 3

          in y
    "#]],
    );
    check_body(
        "let y = let z = 1 in z in let w = 2 in w",
        expect![[r#"
        def f(x: f64) = let y = let z = 1 in z in let w = 2 in w
    "#]],
    );
    check_body(
        "let residual = for i < number_of_elements: prediction[i] - observation[i] * weight_of_observation[i] in residual",
        expect![[r#"
            def f(x: f64) =
              let residual = for i < number_of_elements:
                prediction[i] - observation[i] * weight_of_observation[i]
              in residual
        "#]],
    );
    check_body(
        "let a = 1 let b = 2 in if condition_one(a) then first_value_of_result + a else second_value_of_result + b",
        expect![[r#"
            def f(x: f64) =
              let a = 1
              let b = 2
              in if condition_one(a) then first_value_of_result + a else second_value_of_result + b
        "#]],
    );
    check_body(
        "sum i: let a = 1 let b = 2 in a",
        expect![[r#"
        def f(x: f64) =
          sum i:
            let a = 1
            let b = 2
            in a
    "#]],
    );
    check_body(
        "g(let a = 1 let b = 2 in a, 2)",
        expect![[r#"
        def f(x: f64) =
          g(
            let a = 1
            let b = 2
            in a,
            2
          )
    "#]],
    );
}

#[test]
fn choices() {
    check_body(
        "if a then b else if c then d else e",
        expect![[r#"
        def f(x: f64) = if a then b else if c then d else e
    "#]],
    );
    check_body(
        "if first_condition(x) then first_value(x) else if second_condition(x) then second_value(x) else third_value(x)",
        expect![[r#"
            def f(x: f64) =
              if first_condition(x) then first_value(x)
              else if second_condition(x) then second_value(x)
              else third_value(x)
        "#]],
    );
    check_body(
        "if first_condition(x) then for i < number_of_elements: first_operand[i] * second_operand[i] + third_operand[i] else y",
        expect![[r#"
            def f(x: f64) =
              if first_condition(x) then for i < number_of_elements:
                first_operand[i] * second_operand[i] + third_operand[i]
              else y
        "#]],
    );
    check_body(
        "match t{Leaf(a):a,Node(l,r): g(l)+g(r)}",
        expect![[r#"
        def f(x: f64) = match t { Leaf(a): a, Node(l, r): g(l) + g(r) }
    "#]],
    );
    check_body(
        "match t { m.Leaf(a): some_function(a), Node(left, right): f(left) + f(right), (1, -2, true): 0, {x: _, y}: y }",
        expect![[r#"
            def f(x: f64) =
              match t {
                m.Leaf(a): some_function(a),
                Node(left, right): f(left) + f(right),
                (1, -2, true): 0,
                {x: _, y}: y
              }
        "#]],
    );
    check_body(
        "let r = match t { Leaf(a): some_function_of_leaves(a), Node(left, right): f(left) + f(right) + 1 } in r",
        expect![[r#"
            def f(x: f64) =
              let r = match t {
                Leaf(a): some_function_of_leaves(a),
                Node(left, right): f(left) + f(right) + 1
              }
              in r
        "#]],
    );
}

#[test]
fn updates() {
    check_body(
        "x with [i,j]=e with [i] += 1 with name = 2 with 0 = 3",
        expect![[r#"
        def f(x: f64) = x with [i, j] = e with [i] += 1 with name = 2 with 0 = 3
    "#]],
    );
    check_body(
        "accumulator with [index_of_element[j], _] += values[j] * weights[j] with counter = counter_before + 1",
        expect![[r#"
            def f(x: f64) =
              accumulator
                with [index_of_element[j], _] += values[j] * weights[j]
                with counter = counter_before + 1
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

#[test]
fn comments_around_items() {
    check(
        "-- header\n\n\n--| Docs.\n--| More.\ndef f() = 1 -- trailing\n-- after, same block\n\n-- before g\ndef g() =\n 2\n    -- about its end\n\n-- far\n",
        expect![[r#"
            -- header

            --| Docs.
            --| More.
            def f() = 1 -- trailing
            -- after, same block

            -- before g
            def g() = 2
              -- about its end

            -- far
        "#]],
    );
}

#[test]
fn comments_inside() {
    check(
        "def f( -- params\n  x: f64, -- the x\n  -- before y\n  y: f64 -- the y\n  -- at the end\n) -> f64 = x",
        expect![[r#"
            def f( -- params
              x: f64, -- the x
              -- before y
              y: f64 -- the y
              -- at the end
            ) -> f64 =
              x
        "#]],
    );
    check(
        "def f(x: f64) -> f64 = -- why\n x + 1",
        expect![[r#"
        def f(x: f64) -> f64 = -- why
          x + 1
    "#]],
    );
    check(
        "def f(x: f64) =\n  -- why\n x + 1 -- end",
        expect![[r#"
        def f(x: f64) =
          -- why
          x + 1 -- end
    "#]],
    );
    check_body(
        "a -- one\n + b -- two\n -- three\n + c",
        expect![[r#"
        def f(x: f64) =
          a -- one
            + b -- two
            -- three
            + c
    "#]],
    );
    check_body(
        "a + -- after the operator\n b * c",
        expect![[r#"
        def f(x: f64) = a + b * c -- after the operator
    "#]],
    );
    check_body(
        "[1, -- one\n 2, 3,\n -- four\n 4]",
        expect![[r#"
        def f(x: f64) =
          [
            1, -- one
            2, 3,
            -- four
            4
          ]
    "#]],
    );
    check_body(
        "g(a, -- first\n b)",
        expect![[r#"
        def f(x: f64) =
          g(
            a, -- first
            b
          )
    "#]],
    );
    check_body(
        "g(a, b -- last\n )",
        expect![[r#"
        def f(x: f64) =
          g(
            a,
            b -- last
          )
    "#]],
    );
    check_body(
        "let y = 1 -- first\n -- second\n let z = 2\n\n -- third\n\n -- fourth\n in -- fifth\n y",
        expect![[r#"
        def f(x: f64) =
          let y = 1 -- first
          -- second
          let z = 2

          -- third

          -- fourth
          in -- fifth
            y
    "#]],
    );
    check_body(
        "if a -- cond\n then b -- yes\n else c -- no",
        expect![[r#"
        def f(x: f64) =
          -- cond
          if a then b -- yes
          else c -- no
    "#]],
    );
    check_body(
        "match t { -- arms\n Leaf(a): a, -- leaf\n -- node\n Node(l, r): -- body\n l\n -- end\n }",
        expect![[r#"
        def f(x: f64) =
          match t { -- arms
            Leaf(a): a, -- leaf
            -- node
            Node(l, r): -- body
              l
            -- end
          }
    "#]],
    );
    check_body(
        "for i < n: -- body\n x[i]",
        expect![[r#"
        def f(x: f64) =
          for i < n: -- body
            x[i]
    "#]],
    );
    check_body(
        "for -- one\n i < -- two\n n: x",
        expect![[r#"
        -- one
        -- two
        def f(x: f64) = for i < n: x
    "#]],
    );
    check_body(
        "x -- one\n . -- two\n name",
        expect![[r#"
        -- one
        -- two
        def f(x: f64) = x.name
    "#]],
    );
    check_body(
        "(-- open\n a -- close\n )",
        expect![[r#"
        def f(x: f64) =
          ( -- open
            a -- close
          )
    "#]],
    );
    check_body(
        "((-- open\n a) -- between\n ) -- end",
        expect![[r#"
        -- open
        def f(x: f64) = (a) -- between
          -- end
    "#]],
    );
    check_body(
        "fold acc = -- init\n 0 -- for\n for i < n: -- body\n acc -- yield\n yield -- value\n acc",
        expect![[r#"
        def f(x: f64) =
          fold acc = -- init
            0 -- for
          for i < n: -- body
            acc -- yield
          yield -- value
            acc
    "#]],
    );
    check(
        "type T = -- type\n -- a\n | A -- first\n | -- second\n B",
        expect![[r#"
        type T = -- type
          -- a
          | A -- first
          | B -- second
    "#]],
    );
    check(
        "import -- one\n linalg -- two",
        expect![[r#"
        -- one
        import linalg -- two
    "#]],
    );
    check(
        "do -- one\n print(x) -- two",
        expect![[r#"
        do -- one
          print(x) -- two
    "#]],
    );
}

#[test]
fn errors_leave_the_text_alone() {
    let errors = format_file("def f() = 1\n\ndef g( = 2\n").unwrap_err();
    assert!(errors.iter().all(|e| e.span.start > 12), "{errors:?}");
}

/// Trees without text get the parentheses they need.
#[test]
fn bare_trees() {
    #[track_caller]
    fn check(input: &str, expected: Expect) {
        let tree = parse_item(&format!("do {input}")).tree;
        expected.assert_eq(&print_tree(&strip(&tree)));
    }
    fn strip(tree: &crate::syntax::ast::Tree) -> crate::syntax::ast::Tree {
        use crate::syntax::ast::Expr;
        // Each pair of parentheses becomes a copy of what it holds.
        let mut tree = tree.clone();
        let ids: Vec<_> = tree.exprs.iter().map(|(id, _)| id).collect();
        for id in ids {
            if let Expr::Paren(inner) = tree.exprs[id].kind {
                tree.exprs[id].kind = tree.exprs[inner].kind.clone();
            }
        }
        tree
    }
    check("(a + b) * c ^ (d + e) - (f - g)", expect!["do (a + b) * c^(d + e) - (f - g)"]);
    check("(sum i: x[i]) + (sum j: y[j])", expect!["do (sum i: x[i]) + sum j: y[j]"]);
    check("(-x) ^ 2 + (x ^ y) ^ z + -(-x)", expect!["do (-x)^2 + (x^y)^z + - -x"]);
    check("([x]) * 2 + ([p] * y) * z", expect!["do ([x]) * 2 + ([p] * y) * z"]);
    check("(f |> g)(x) + (\\x: x)(1) + (1).0", expect![[r#"do (f |> g)(x) + (\x: x)(1) + (1).0"#]]);
    check("if a then b else (if c then d else e)", expect!["do if a then b else (if c then d else e)"]);
    check("(x with [i] = 1).name", expect!["do (x with [i] = 1).name"]);
    check(
        "fold a = (for i < n: 0) for j: (fold b = 0 for k: b) yield a",
        expect!["do fold a = (for i < n: 0) for j: (fold b = 0 for k: b) yield a"],
    );
}

#[test]
fn long_chains() {
    let text = format!("do {}", vec!["x"; 100_000].join(" + "));
    assert_eq!(layout(&text).lines().count(), 100_001);
    let text = format!("do [{}]", vec!["1"; 100_000].join(", "));
    assert!(layout(&text).lines().count() > 1000);
    let text = format!("do {} x", "let x = 1\n ".repeat(20_000) + "in");
    assert_eq!(layout(&text).lines().count(), 20_002);
    let text = format!("do {} x", "if a then b else ".repeat(20_000));
    assert_eq!(layout(&text).lines().count(), 20_002);
}

#[test]
fn deep_trees() {
    for (open, close) in [("(", ")"), ("- ", ""), ("sum i: ", ""), ("f(", ")"), ("[", "]"), ("let x = 1 in ", "")] {
        let text = format!("do {}x{}", open.repeat(200), close.repeat(200));
        layout(&text);
    }
}

#[test]
fn trees_compare_without_places() {
    let (a, b) = (parse_item("do a+((b))").tree, parse_item("do a  +  (b)").tree);
    assert!(same_tree(&a, &b), "{}\n{}", outline(&a, true), outline(&b, true));
    assert!(!same_tree(&a, &parse_item("do a + b").tree));
    assert_eq!(split("do a\n").len(), 1);
}
