//! Layout tests of each form of expression, both on one line and too long for it.

use expect_test::expect;

use super::{check, check_body};

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

/// A point directly after a digit or a bar would read as part of a number.
#[test]
fn points() {
    check_body(
        "2 . 1 + |R| . 0 + 1.5.0 + 2.name + x . 0 . 1",
        expect![[r#"
        def f(x: f64) = 2 . 1 + |R| . 0 + 1.5.0 + 2.name + x.0.1
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
        "let y = 1\n in y",
        expect![[r#"
        def f(x: f64) =
          let y = 1
          in y
    "#]],
    );
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

/// Alternative notations of the same tree, whose tokens differ from the printed ones.
#[test]
fn tokens_left_out_and_added() {
    check_body(
        "f(a, b,) + g((a, b,),) - {x: 1,}.x",
        expect![[r#"
        def f(x: f64) = f(a, b) + g((a, b)) - {x: 1}.x
    "#]],
    );
    check_body(
        "match t { (Leaf(a,)): a, (b, c,): b, (d): d, }",
        expect![[r#"
        def f(x: f64) = match t { Leaf(a): a, (b, c): b, d: d }
    "#]],
    );
    check_body(
        "\\(a: f64), (b: i64): a",
        expect![[r#"
        def f(x: f64) = \(a: f64, b: i64): a
    "#]],
    );
    check_body(
        "\\(a, b: i64), c: a",
        expect![[r#"
        def f(x: f64) = \a, (b: i64), c: a
    "#]],
    );
    check_body(
        "\\(a: i64, b), (c): a",
        expect![[r#"
        def f(x: f64) = \(a: i64), b, c: a
    "#]],
    );
    check_body(
        "\\((a, b), c: i64): a",
        expect![[r#"
        def f(x: f64) = \(a, b), (c: i64): a
    "#]],
    );
    check_body(
        "let ((a)): ((f64)) = 1 in a",
        expect![[r#"
        def f(x: f64) = let a: f64 = 1 in a
    "#]],
    );
    check_body(
        "m.Leaf()",
        expect![[r#"
        def f(x: f64) = m.Leaf()
    "#]],
    );
    check_body(
        "match t { Leaf(): a, m.Leaf(): b }",
        expect![[r#"
        def f(x: f64) = match t { Leaf(): a, m.Leaf: b }
    "#]],
    );
    check_body(
        "f( -- one\n (( -- two\n a -- three\n ) -- four\n ), -- five\n )",
        expect![[r#"
        def f(x: f64) =
          f( -- one
            (
              -- two
              a -- three
            ) -- four
          ) -- five
    "#]],
    );
    check(
        "def f(x: (f64), y: [n,](f64), ) -> ((f64, i64)) = x",
        expect![[r#"
        def f(x: f64, y: [n]f64) -> (f64, i64) = x
    "#]],
    );
    check(
        "type T = (\n -- one\n f64)",
        expect![[r#"
        -- one
        type T = f64
    "#]],
    );
    check(
        "do (a -- one\n ) -- two",
        expect![[r#"
        do
          (
            a -- one
          ) -- two
    "#]],
    );
}

/// A single bracketed argument begins on the line of its bracket.
#[test]
fn brackets_in_brackets() {
    check_body(
        "f([first_element_of_the_array + 1, second_element_of_the_array + 2, third_element_of_the_array + 3])",
        expect![[r#"
            def f(x: f64) =
              f([
                first_element_of_the_array + 1,
                second_element_of_the_array + 2,
                third_element_of_the_array + 3
              ])
        "#]],
    );
    check_body(
        "(match some_value { Leaf(a): some_function_of_leaves(a), Node(l, r): some_function_of_nodes(l, r) }).name",
        expect![[r#"
            def f(x: f64) =
              (match some_value {
                Leaf(a): some_function_of_leaves(a),
                Node(l, r): some_function_of_nodes(l, r)
              }).name
        "#]],
    );
    check_body(
        "f(for i < number_of_elements: first_operand[i] * second_operand[i] + third_operand[i] - fourth_operand)",
        expect![[r#"
            def f(x: f64) =
              f(
                for i < number_of_elements:
                  first_operand[i] * second_operand[i] + third_operand[i] - fourth_operand
              )
        "#]],
    );
    check_body(
        "let weights = [[0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]] in weights",
        expect![[r#"
            def f(x: f64) =
              let weights = [
                [0.1, 0.2, 0.3, 0.4],
                [0.1, 0.2, 0.3, 0.4],
                [0.1, 0.2, 0.3, 0.4],
                [0.5, 0.6, 0.7, 0.8]
              ]
              in weights
        "#]],
    );
    check_body(
        "let total = some_function_with_a_name(first_argument, second_argument, third_argument, fourth_argument) in total",
        expect![[r#"
            def f(x: f64) =
              let total =
                some_function_with_a_name(
                  first_argument,
                  second_argument,
                  third_argument,
                  fourth_argument
                )
              in total
        "#]],
    );
    check_body(
        "let y = some_rate_of_learning * first_operand[i] * second_operand[i] + third_operand[i] - fourth_operand in y",
        expect![[r#"
            def f(x: f64) =
              let y =
                some_rate_of_learning * first_operand[i] * second_operand[i]
                  + third_operand[i]
                  - fourth_operand
              in y
        "#]],
    );
}
