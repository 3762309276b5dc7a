//! Tests of `:adjoint`, `:forward`, `:ssa`, and the adjoint that `??name` shows.

use expect_test::expect;

use crate::harness::session;

#[test]
fn derivatives_are_shown_as_source() {
    session(
        "\
def dot(a: [n]f64, b: [n]f64) -> f64 = sum i: a[i] * b[i]
:adjoint dot
:forward dot
:ssa dot_adj
??dot
def dot_adj(a: [n]f64, b: [n]f64, y_adj: f64) -> ([n]f64, [n]f64) = (y_adj * b, y_adj * a)
dot_adj([1.0, 2.0], [3.0, 4.0], 0.5)
:adjoint linalg.trace
:adj trace
adjoint dot(a, b; dy) = (dy * b, dy * a)
",
        expect![[r#"
            def dot(a: [n]f64, b: [n]f64) -> f64
            def dot_adj(a: [n]f64, b: [n]f64, y_adj: f64) -> ([n]f64, [n]f64) =
              (y_adj * b, y_adj * a)
            def dot_tan(a: [n]f64, b: [n]f64, a_tan: [n]f64, b_tan: [n]f64) -> f64 =
              sum i: b[i] * a_tan[i] + a[i] * b_tan[i]
            ssa dot_adj{0; 0, 1}[n](a: [n]f64, b: [n]f64) -> (f64, [n]f64, [n]f64) =
              X0[i0 < n]: f64 = input a  -- a
              X1[i0 < n]: f64 = input b  -- b
              X2: f64 = sum i0 < n: X0[i0] * X1[i0]
              X3: f64 = input y_adj = adj 0  -- y_adj
              X4[i0 < n]: f64 = X1[i0] * X3  -- a_adj
              X5[i0 < n]: f64 = X0[i0] * X3  -- b_adj
              out X2, X4, X5
            dot, defined here

                def dot(a: [n]f64, b: [n]f64) -> f64 = sum i: a[i] * b[i]

            Adjoint:

                def dot_adj(a: [n]f64, b: [n]f64, y_adj: f64) -> ([n]f64, [n]f64) =
                  (y_adj * b, y_adj * a)
            def dot_adj(a: [n]f64, b: [n]f64, y_adj: f64) -> ([n]f64, [n]f64)
            ([2]f64, [2]f64) = ([1.5, 2.0], [0.5, 1.0])
            def trace_adj(a: [n, n]f64, y_adj: f64) -> [n, n]f64 = for i, j: [i == j] * y_adj
            def trace_adj(a: [n, n]f64, y_adj: f64) -> [n, n]f64 = for i, j: [i == j] * y_adj
            adjoint dot
        "#]],
    );
}

#[test]
fn derivatives_of_what_is_called_stand_before() {
    session(
        "\
def turns(u: f64, v: f64) -> f64 = u - f64(i64(floor(u / v))) * v
def wave(x: f64) -> f64 = let y = if turns(x, 2 * pi) < pi then sin(x) else (2 - 2 / pi * turns(x - 2, 2 * pi))^6 - 1 in y * y
def waves(a: [n]f64) -> f64 = sum i: wave(a[i])
:adjoint waves
def wave_adj(x: f64) -> f64 = x
:adjoint waves
",
        expect![[r#"
            def turns(u: f64, v: f64) -> f64
            def wave(x: f64) -> f64
            def waves(a: [n]f64) -> f64
            def wave_adj(x: f64, out_adj: f64) -> f64 =
              let t = x - 6.283185307179586 * f64(i64(floor(x / 6.283185307179586))) < pi
              let t2 = [!t] * (x - 2)
              let t3 =
                [!t]
                  * (
                    2
                      - 0.6366197723675814
                        * (t2 - 6.283185307179586 * f64(i64(floor(t2 / 6.283185307179586))))
                  )
              let y = if t then sin(x) else t3^6 - 1
              let y_adj = 2 * y * out_adj
              in if t then y_adj * cos(x) else -3.819718634205488 * y_adj * t3^5

            def waves_adj(a: [n]f64, y_adj: f64) -> [n]f64 = for i < n: wave_adj(a[i], y_adj)
            def wave_adj(x: f64) -> f64
            def waves_adj(a: [n]f64, y_adj: f64) -> [n]f64 = for i < n: vjp(wave)(a[i], y_adj)
        "#]],
    );
}

#[test]
fn what_has_no_derivative_says_why() {
    session(
        "\
type Shape = Circle(f64) | Box(f64, f64)
def area(s: Shape) -> f64 = match s { Circle(r): pi * r * r, Box(a, b): a * b }
:adjoint area
def count(n: i64) -> i64 = n + 1
:adjoint count
:forward cuont
def power(x: f64, n: i64) -> f64 = fold acc = 1.0 for _ < n: acc * x
:adjoint power
:ssa count_adj
adjoint area
",
        expect![[r#"
            type Shape
            def area(s: Shape) -> f64
            def area_adj(s: Shape, y_adj: f64) -> Shape =
              match s {
                Circle(r): Circle(6.283185307179586 * r * y_adj),
                Box(a, b): Box(b * y_adj, a * y_adj)
              }
            def count(n: i64) -> i64
            [E0510] Error: `count` has no derivative, because it has no real argument or no real result
            [E0600] Error: unknown definition `cuont`
              Help: did you mean `count`?
            def power(x: f64, n: i64) -> f64
            def power_adj(x: f64, n: i64, y_adj: f64) -> f64 =
              let (_, acc_at) =
                fold (acc, acc_at) = (1.0, for j < max(0, n): 0.0) for i < n: (
                  x * acc,
                  acc_at with [i] = acc
                )
              let (_, x_adj) =
                fold (acc_adj, x_adj) = (y_adj, 0.0) for j < n:
                  let i = n - 1 - j in (x * acc_adj, x_adj + acc_adj * acc_at[i])
              in x_adj
            [E0510] Error: `count` has no derivative, because it has no real argument or no real result
            [E0600] Error: a command begins with a colon: write `:adjoint area`
            --- exit status: 1
        "#]],
    );
}
