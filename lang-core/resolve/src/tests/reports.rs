//! Tests of the diagnostics for unknown names.

use expect_test::expect;

use super::{check_diagnostics, check_help};

#[test]
fn one_diagnostic_for_one_unknown_name() {
    check_diagnostics(
        "def f(lenght: i64) -> i64 = lengt + lengt + q",
        expect![[r#"
            E0100 `lengt` `lengt` is not defined
              at 36 here too
              help: did you mean `lenght`?
            E0100 `q` `q` is not defined
        "#]],
    );
    check_diagnostics(
        "def f(x: f64) -> f64 where b: real = let y: b = x in y",
        expect![[r#"
            E0101 `b` `b` is not a type parameter of this definition
              at 44 here too
              help: a type parameter is a lower-case name in the signature, as in `x: b`
        "#]],
    );
    check_diagnostics(
        "def f(x: Tre) -> [n]Flot = x",
        expect![[r#"
        E0101 `Tre` there is no type `Tre`
        E0101 `Flot` there is no type `Flot`
    "#]],
    );
    check_diagnostics(
        "let x: a = m",
        expect![[r#"
            E0101 `a` there is no type `a`
            E0100 `m` `m` is not defined
              help: `m` is a module; write `m.…` for its definitions
        "#]],
    );
    check_diagnostics(
        "type T = T(f64)\ndo T2(1.0) + t + T",
        expect![[r#"
            E0100 `T2` `T2` is not defined
            E0100 `t` `t` is not defined
              help: did you mean `T`?
        "#]],
    );
}

#[test]
fn habits_of_other_languages() {
    check_help("dot(x, y)", "write `sum i: x[i] * y[i]`");
    check_help("np.dot(x, y)", "write `sum i: x[i] * y[i]`");
    check_help("np.exp(x[0])", "write `exp` without a module");
    check_help("np.isnan(x[0])", "write `x != x`, also for a whole array, because only NaN differs from itself");
    check_help("is_finite(x[0])", "write `abs(x) < inf`, which is false for NaN");
    check_help("range(n)[0]", "write `for i < n: i`, or `iota(n)`");
    check_help("zeros(n)[0]", "write `for i < n: 0.0`, or `replicate(n, 0.0)`");
    check_help("if True then 1.0 else 0.0", "write `true`");
    check_help("sum(x)", "write `sum i: x[i]`");
    check_help("float(n)", "write `f64(x)` to convert to the default real type");
    check_help("exp2(x[0])", "write `2.0 ^ x`");
    check_help("totl(x)", "did you mean `total`?");
    check_help("sqr(x[0])", "write `x^2`");
    check_diagnostics(
        "def f(x: float, y: [n]double, z: real) -> Vec = x",
        expect![[r#"
        E0101 `float` there is no type `float`
          help: the default real is `f64`
        E0101 `double` there is no type `double`
          help: the default real is `f64`
        E0101 `real` there is no type `real`
          help: `real` is a type class: write `a` here and `where a: real` after the result; the default real is `f64`
        E0101 `Vec` there is no type `Vec`
          help: write an array type as `[n]f64`, or `[n, m]f64` with two axes
    "#]],
    );
}
