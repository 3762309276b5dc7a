//! **Cache of derived functions of numbers.** A function that is differentiated repeatedly is
//! identified by the operator's position and operand. The cached function is reused only if these
//! determine it completely.

#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use iverson_tests::golden::{Tolerances, json_of};
use iverson_tests::run::{CompiledEvaluation, value_of_main, value_of_main_compiled};
use lang_core::session::Session;

/// Programs, with the number of derivatives whose function comes from the cache.
const PROGRAMS: &[(&str, u64)] = &[
    // A definition.
    (
        "def f(x: f64) -> f64 = sin(x) * x\ndef main() -> [4]f64 = [grad(f)(0.1), grad(f)(0.2), at(0.3), at(0.4)]\ndef at(x: f64) -> f64 = grad(f)(x)",
        1,
    ),
    // Several arguments, some of them constant, and an integer.
    (
        "def f(x: f64, y: f64, k: i64) -> f64 = x^2 * y + sin(y) * f64(k)\n\
      def at(x: f64, k: i64) -> (f64, f64) = grad(f, wrt: (x, y))(x, 2 * x, k)\n\
      def main() -> [3](f64, f64) = [at(0.1, 2), at(0.2, 3), at(0.3, -4)]",
        2,
    ),
    // One operator with several functions: each is cached until another occurs.
    (
        "def slope(f: (f64) -> f64, x: f64) -> f64 = grad(f)(x)\n\
      def square(x: f64) -> f64 = x^2\n\
      def main() -> [6]f64 = [slope(square, 1.0), slope(square, 2.0), slope(exp, 1.0), slope(exp, 2.0), slope(square, 3.0), slope(\\x: x * sin(x), 3.0)]",
        2,
    ),
    // A closure over other data is another function.
    (
        "def slope(a: f64, x: f64) -> f64 = grad(\\y: a * y^2)(x)\n\
      def main() -> [3]f64 = [slope(1.0, 1.0), slope(2.0, 1.0), slope(3.0, 1.0)]",
        0,
    ),
    // Nested operators, tangents, values with gradients.
    (
        "def f(x: f64) -> f64 = x^3 * exp(x)\n\
      def second(x: f64) -> f64 = grad(grad(f))(x)\n\
      def along(x: f64, v: f64) -> (f64, f64) = jvp2(f)(x, v)\n\
      def both(x: f64) -> (f64, f64) = value_and_grad(f)(x)\n\
      def main() -> [2](f64, (f64, f64), (f64, f64)) = [(second(0.5), along(0.5, 2.0), both(0.5)), (second(0.7), along(0.7, 3.0), both(0.7))]",
        3,
    ),
    // Single precision, and a truth value in a condition.
    (
        "def f(x: f32, up: bool) -> f32 = if up then x * x else -x\n\
      def at(x: f32, up: bool) -> f32 = grad(f, wrt: x)(x, up)\n\
      def main() -> [4]f32 = [at(1.5, true), at(2.5, true), at(3.5, false), at(-4.5, true)]",
        3,
    ),
    // A global value, an array, and a size: none is a number that is passed.
    (
        "let c = 2.5\ndef f(x: f64) -> f64 = c * x^2\ndef at(x: f64) -> f64 = grad(f)(x)\ndef main() -> [2]f64 = [at(1.0), at(2.0)]",
        0,
    ),
    (
        "def f(x: [n]f64) -> f64 = sum i: x[i]^2\ndef at(x: f64) -> [1]f64 = grad(f)([x])\ndef main() -> [2][1]f64 = [at(1.0), at(2.0)]",
        0,
    ),
];

#[test]
fn functions_of_numbers_are_known_again() {
    let tolerance = Tolerances::of("derivatives").expect("tolerances").get("numbers");
    for (program, known) in PROGRAMS {
        let mut session = Session::new();
        session.set_text("main.iv", program);
        let wrong = session.diagnostics("main.iv");
        assert!(wrong.iter().all(|d| !d.is_error()), "{program}\n{wrong:?}");
        let ways = CompiledEvaluation::native();
        let found = value_of_main_compiled(&session, "main.iv", &ways).expect("a value");
        let wanted = value_of_main(&session, "main.iv").expect("a value");
        let [found, wanted] = [found, wanted].map(|value| json_of(&value).expect("numbers"));
        assert_eq!(tolerance.normwise(&wanted).difference(&found, &wanted, program), None);
        assert_eq!(ways.tally.get().fast_path, *known, "{program}");
    }
}
