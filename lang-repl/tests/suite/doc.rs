//! Tests of `iverson doc`, for known and unknown names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use crate::harness::{Dir, MINE};
use expect_test::expect;

/// A file with documentation, rules, a type and imports.
const SHAPES: &str = "\
-- Shapes in the plane.
import linalg
import \"./lib/mine.iv\" as m

--| A shape.
type Shape = Disc(f64) | Square(f64)

--| The area of a shape.
--|
--| It grows with the [square](https://example.org) of its size.
--|
--| ```iverson
--| area(Square(3.0))
--| ```
--| ```output
--| 9.0
--| ```
def area(s: Shape) -> f64 = match s { Disc(r): pi * r^2, Square(a): a^2 }

def grow(
  x: f64
) = m.twice(x)
derivative grow(x; dx) = 2 * dx

let unit = Square(1.0)
";

fn files() -> Dir {
    Dir::new(&[
        ("shapes.iv", SHAPES.as_bytes()),
        ("lib/mine.iv", MINE.as_bytes()),
        ("broken.iv", b"--| Half\n--| done.\ndef f(x: f64 -> f64 = x +\n\n--| Good.\ndef g(x: f64) -> f64 = x\n"),
        ("pair.iv", b"--| Both.\nlet (a, b) = (1, 2.5)\n"),
        ("own.iv", b"--| Mine.\ndef sum(x: f64) -> f64 = x\ndef linalg() -> i64 = 1\n"),
    ])
}

#[test]
fn names_of_the_library_and_the_language() {
    files().check_all(
        &[
            &["doc", "linalg.norm"],
            &["doc", "one_hot"],
            &["doc", "map"],
            &["doc", "linalg.LU"],
            &["doc", "grad"],
            &["doc", "min"],
            &["doc", "hypot"],
            &["doc", "then"],
            &["doc", "pi"],
            &["doc", "time"],
            &["doc", "prelude"],
            &["doc"],
        ],
        expect![[r#"
            $ iverson doc linalg.norm
            linalg.norm, in the library

                def norm(x: [n]t) -> t where t: real

            The Euclidean norm, the length of a vector. The norm has a kink at the zero vector, where its
            derivative is 0 by convention. The derivative is NaN if the norm is infinite. For the square use
            `sqnorm`.

                linalg.norm([3.0, 4.0])

                5.0

            Rules:

                derivative norm(x; dx) = let r = nan_unless_finite(norm(x)) in [r != 0] * dot(x, dx) / r

                adjoint norm(x; dy) =
                  let r = nan_unless_finite(norm(x)) in for i: [r != 0] * x[i] / r * dy
            $ iverson doc one_hot
            linalg.one_hot, in the library

                def one_hot(n: i64, k: i64) -> [n]t where t: real

            The `k`-th unit vector of length `n`, counted from 0; all zeros if `k` is out of range.

                linalg.one_hot(3, 1)

                [0.0, 1.0, 0.0]

            nn.one_hot, in the library

                def one_hot(labels: [b]i64, n: i64) -> [b, n]f64

            The one-hot encoding of labels; a label out of range has a row of zeros.

                nn.one_hot([2, 0], 3)

                [[0.0, 0.0, 1.0],
                 [1.0, 0.0, 0.0]]
            $ iverson doc map
            map, in the prelude

                def map(f: (a) -> b, x: [n]a) -> [n]b

            Applies `f` to every element.

                map(\x: x * x, [1, 2, 3])

                [1, 4, 9]
            $ iverson doc linalg.LU
            linalg.LU, in the library

                type LU(n, t) = {lu: [n, n]t, rows: [n]i64, sign: i64}

            The LU factors of a square matrix with permuted rows: row `i` of `L U` is row `rows[i]` of the
            matrix. `lu` holds `U` in its upper triangle and `L`, whose diagonal is 1, below the diagonal.
            `sign` is the sign of the permutation, 1 or -1.
            $ iverson doc grad
            grad, a derivative operator

            grad(f)(a, b): the gradient of a real-valued f with respect to each argument; grad(f, wrt: a)(a, b): with respect to a only.

                def f(x: f64, y: f64) -> f64 = x^2 * y
                do grad(f)(3.0, 2.0)
                do grad(f, wrt: x)(3.0, 2.0)
                do grad(\x: x^2)(3.0)

                (12.0, 9.0)
                12.0
                6.0
            $ iverson doc min
            min, a binder

                min i < n: e, min i < n if p: e

            The least value of e. With commas, min(a, b) is the lesser of two. The range is i < n, i in a..b, or i alone if it indexes an array in e.
            The body e extends as far right as possible; enclose it in ( … ) to end it.

            min, a scalar function

                def min(x: a, y: a) -> a where a: num

            The lesser; NaN if either argument is NaN.

                let x = [1.0, 4.0, 2.0]
                do min i: x[i]
                do min(2.0, 3.0)

                1.0
                2.0

            Rules:

                with respect to x: if x <= y || x != x then 1 else 0

                with respect to y: if x <= y || x != x then 0 else 1
            $ iverson doc hypot
            hypot, a scalar function

                def hypot(x: a, y: a) -> a where a: real

            sqrt(x^2 + y^2) without intermediate overflow.

                do (sqrt(4.0), cbrt(27.0), hypot(3.0, 4.0))

                (2.0, 3.0, 5.0)

            Rules:

                with respect to x: if x == 0 && y == 0 then 0 else x / hypot(x, y)

                with respect to y: if x == 0 && y == 0 then 0 else y / hypot(x, y)
            $ iverson doc then
            then, a keyword

                if c then a else b

            A conditional; it needs both branches, with the same type.

                let x = -3
                do if x < 0 then -x else x

                3
            $ iverson doc pi
            pi, a constant

                pi

            The ratio of a circle's circumference to its diameter.

                do (pi, -inf, nan == nan)

                (3.141592653589793, -inf, false)
            $ iverson doc time
            time, a form

            time(e) is e; it also prints the elapsed time; only at top level.

                do time(sum i < 1_000_000: f64(i))
            $ iverson doc prelude
            prelude, a library module

            The names that every module can use without an import.

              reverse      The elements in reverse order.
              transpose    The transpose of a matrix: rows become columns.
              concat       Concatenates two arrays.
              replicate    `n` copies of `x`.
              map          Applies `f` to every element.
              zip_with     Applies `f` to every pair of corresponding elements.
              iota         The integers from 0 to `n - 1`.
              scatter      `base` with `vals[j]` at index `idx[j]`; the last value wins if an index is repeated.
              scatter_add  `base` with every `vals[j]` added at index `idx[j]`.
              histogram    Counts how often each integer from 0 to `n - 1` occurs in `idx`.
              total        The sum of the elements.
            $ iverson doc
              prelude  The names that every module can use without an import.
              linalg   Linear algebra: products, norms, factorisations, linear systems, eigenvalues.
              nn       Neural networks: activations, layers, attention, normalisation, losses, recurrent cells.
              ode      Ordinary differential equations: the state `x` of type `[n]f64` changes at the rate `f(t, x)` in time `t`.
              optim    Minimisation: of a function of a vector, and of sums of squares.
              rand     Random numbers as pure functions of a key: keys, distributions, permutations and samples.
              signal   Signals: convolution, stencils, windows, interpolation, Fourier transforms, running sums.
              stats    Statistics: moments, quantiles, dependence, densities.

            Keywords and operators have documentation too: for example, `iverson doc grad`.
        "#]],
    );
}

#[test]
fn names_of_a_file() {
    files().check_all(
        &[
            &["doc", "area", "-l", "shapes.iv"],
            &["doc", "Disc", "-l", "shapes.iv"],
            &["doc", "grow", "-l", "shapes.iv"],
            &["doc", "unit", "-l", "shapes.iv"],
            &["doc", "m.twice", "-l", "shapes.iv"],
            &["doc", "m", "-l", "shapes.iv"],
            &["doc", "linalg.eye", "-l", "shapes.iv"],
            &["doc", "-l", "shapes.iv"],
            &["doc", "-l", "pair.iv"],
            &["doc", "b", "-l", "pair.iv"],
            &["doc", "f", "-l", "broken.iv"],
            &["doc", "g", "-l", "broken.iv"],
            &["doc", "sum", "-l", "own.iv"],
            &["doc", "linalg", "-l", "own.iv"],
            &["doc", "f", "-l", "none.iv"],
        ],
        expect![[r#"
            $ iverson doc area -l shapes.iv
            area, in shapes.iv

                def area(s: Shape) -> f64

            The area of a shape.

            It grows with the square of its size.

                area(Square(3.0))

                9.0
            $ iverson doc Disc -l shapes.iv
            Disc, in shapes.iv

                type Shape = Disc(f64) | Square(f64)

            A shape.
            $ iverson doc grow -l shapes.iv
            grow, in shapes.iv

                def grow(x: f64) -> f64

            Rule:

                derivative grow(x; dx) = 2 * dx
            $ iverson doc unit -l shapes.iv
            unit, in shapes.iv

                let unit: Shape
            $ iverson doc m.twice -l shapes.iv
            m.twice, in lib/mine.iv

                def twice(x: f64) -> f64
            $ iverson doc m -l shapes.iv
            m, the module lib/mine.iv

              offset
              twice
            $ iverson doc linalg.eye -l shapes.iv
            linalg.eye, in the library

                def eye(n: i64) -> [n, n]t where t: real

            The identity matrix.

                linalg.eye(2)

                [[1.0, 0.0],
                 [0.0, 1.0]]
            $ iverson doc -l shapes.iv
              Shape  A shape.
              area   The area of a shape.
              grow
              unit
            $ iverson doc -l pair.iv
              a  Both.
              b  Both.
            $ iverson doc b -l pair.iv
            b, in pair.iv

                let b: f64

            Both.
            $ iverson doc f -l broken.iv
            f, in broken.iv

                def f(x: f64 -> f64 = x +

            Half
            done.
            $ iverson doc g -l broken.iv
            g, in broken.iv

                def g(x: f64) -> f64

            Good.
            $ iverson doc sum -l own.iv
            sum, in own.iv

                def sum(x: f64) -> f64

            Mine.
            $ iverson doc linalg -l own.iv
            linalg, in own.iv

                def linalg() -> i64
            $ iverson doc f -l none.iv
            --- stderr
            [E0602] Error: `none.iv` cannot be read: no such file
              Help: paths are relative to the current directory
            --- status 2
        "#]],
    );
}

#[test]
fn for_programs() {
    files().check_all(
        &[
            &["doc", "linalg.norm", "--format", "json"],
            &["doc", "sin", "--format", "json"],
            &["doc", "min", "--format", "json"],
            &["doc", "m", "-l", "shapes.iv", "--format", "json"],
            &["doc", "-l", "shapes.iv", "--format", "json"],
            &["doc", "nrom", "--format", "json"],
        ],
        expect![[r#"
            $ iverson doc linalg.norm --format json
            {"name": "norm", "module": "linalg", "kind": "def", "signature": "def norm(x: [n]t) -> t where t: real", "doc": "The Euclidean norm, the length of a vector. The norm has a kink at the zero vector, where its\nderivative is 0 by convention. The derivative is NaN if the norm is infinite. For the square use\n`sqnorm`.", "example": "```iverson\nlinalg.norm([3.0, 4.0])\n```\n```output\n5.0\n```", "rule": "derivative norm(x; dx) = let r = nan_unless_finite(norm(x)) in [r != 0] * dot(x, dx) / r\nadjoint norm(x; dy) =\n  let r = nan_unless_finite(norm(x)) in for i: [r != 0] * x[i] / r * dy"}
            $ iverson doc sin --format json
            {"name": "sin", "module": null, "kind": "scalar function", "signature": "def sin(x: a) -> a where a: real", "doc": "Sine.", "example": "```iverson\ndo (sin(0.0), cos(0.0), tan(0.0))\n```\n```output\n(0.0, 1.0, 0.0)\n```", "rule": "with respect to x: cos(x)"}
            $ iverson doc min --format json
            [{"name": "min", "module": null, "kind": "binder", "signature": "min i < n: e, min i < n if p: e", "doc": "The least value of e. With commas, min(a, b) is the lesser of two. The range is i < n, i in a..b, or i alone if it indexes an array in e.\nThe body e extends as far right as possible; enclose it in ( … ) to end it.", "example": null, "rule": null}, {"name": "min", "module": null, "kind": "scalar function", "signature": "def min(x: a, y: a) -> a where a: num", "doc": "The lesser; NaN if either argument is NaN.", "example": "```iverson\nlet x = [1.0, 4.0, 2.0]\ndo min i: x[i]\ndo min(2.0, 3.0)\n```\n```output\n1.0\n2.0\n```", "rule": "with respect to x: if x <= y || x != x then 1 else 0\nwith respect to y: if x <= y || x != x then 0 else 1"}]
            $ iverson doc m -l shapes.iv --format json
            {"name": "m", "module": "lib/mine.iv", "kind": "module", "signature": null, "doc": null, "example": null, "rule": null, "definitions": [{"name": "offset", "summary": ""}, {"name": "twice", "summary": ""}]}
            $ iverson doc -l shapes.iv --format json
            [{"name": "Shape", "module": "shapes.iv", "kind": "type", "signature": "type Shape = Disc(f64) | Square(f64)", "doc": "A shape.", "example": null, "rule": null}, {"name": "area", "module": "shapes.iv", "kind": "def", "signature": "def area(s: Shape) -> f64", "doc": "The area of a shape.\n\nIt grows with the [square](https://example.org) of its size.", "example": "```iverson\narea(Square(3.0))\n```\n```output\n9.0\n```", "rule": null}, {"name": "grow", "module": "shapes.iv", "kind": "def", "signature": "def grow(x: f64) -> f64", "doc": null, "example": null, "rule": "derivative grow(x; dx) = 2 * dx"}, {"name": "unit", "module": "shapes.iv", "kind": "let", "signature": "let unit: Shape", "doc": null, "example": null, "rule": null}]
            $ iverson doc nrom --format json
            {"error": [{"file": null, "severity": "error", "code": "E0600", "message": "no documentation for `nrom`", "line": 1, "column": 1, "endLine": 1, "endColumn": 1, "help": "did you mean `linalg.norm`?"}]}
            --- status 1
        "#]],
    );
}

#[test]
fn names_that_there_are_not() {
    files().check_all(
        &[
            &["doc", "slove"],
            &["doc", "linlg.solve"],
            &["doc", "linalg.slove"],
            &["doc", "linlg.nothing"],
            &["doc", "gard"],
            &["doc", "aera", "-l", "shapes.iv"],
            &["doc", "sin_1"],
            &["doc", "qqqqqq"],
            &["doc", ""],
            &["doc", "."],
            &["doc", "linalg.solve.x"],
            &["doc", "1 + 2"],
            &["explain", "slove"],
        ],
        expect![[r#"
            $ iverson doc slove
            --- stderr
            [E0600] Error: no documentation for `slove`
              Help: did you mean `linalg.solve`?
            --- status 1
            $ iverson doc linlg.solve
            --- stderr
            [E0600] Error: no documentation for `linlg.solve`
              Help: did you mean `linalg.solve`?
            --- status 1
            $ iverson doc linalg.slove
            --- stderr
            [E0600] Error: no documentation for `linalg.slove`
              Help: did you mean `linalg.solve`?
            --- status 1
            $ iverson doc linlg.nothing
            --- stderr
            [E0600] Error: no documentation for `linlg.nothing`
              Help: did you mean `linalg`?
            --- status 1
            $ iverson doc gard
            --- stderr
            [E0600] Error: no documentation for `gard`
              Help: did you mean `grad`?
            --- status 1
            $ iverson doc aera -l shapes.iv
            --- stderr
            [E0600] Error: no documentation for `aera`
              Help: did you mean `area`?
            --- status 1
            $ iverson doc sin_1
            --- stderr
            [E0600] Error: no documentation for `sin_1`
              Help: did you mean `sin`?
            --- status 1
            $ iverson doc qqqqqq
            --- stderr
            [E0600] Error: no documentation for `qqqqqq`
              Help: `iverson doc` lists the modules
            --- status 1
            $ iverson doc 
            --- stderr
            [E0600] Error: no documentation for ``
              Help: `iverson doc` lists the modules
            --- status 1
            $ iverson doc .
            --- stderr
            [E0600] Error: no documentation for `.`
              Help: `iverson doc` lists the modules
            --- status 1
            $ iverson doc linalg.solve.x
            --- stderr
            [E0600] Error: no documentation for `linalg.solve.x`
              Help: did you mean `linalg.solve`?
            --- status 1
            $ iverson doc 1 + 2
            --- stderr
            [E0600] Error: no documentation for `1 + 2`
              Help: `iverson doc` lists the modules
            --- status 1
            $ iverson explain slove
            --- stderr
            [E0600] Error: no documentation for `slove`
              Help: did you mean `linalg.solve`?
            --- status 1
        "#]],
    );
}

#[test]
fn codes_are_explained_too() {
    let dir = files();
    assert_eq!(dir.run(&["doc", "E0300"], b""), dir.run(&["explain", "E0300"], b""));
    assert_eq!(dir.run(&["doc", "sum"], b""), dir.run(&["explain", "sum"], b""));
}
