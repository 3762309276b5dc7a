//! Tests of the diagnostics for unknown names.

use expect_test::expect;

use super::{errors, hint};

#[test]
fn one_diagnostic_for_one_unknown_name() {
    errors(
        "def f(lenght: i64) -> i64 = lengt + lengt + q",
        expect![[r#"
            E0100 `lengt` `lengt` is not defined
              at 36 here too
              help: did you mean `lenght`?
            E0100 `q` `q` is not defined
        "#]],
    );
    errors(
        "def f(x: f64) -> f64 where b: real = let y: b = x in y",
        expect![[r#"
            E0101 `b` `b` is not a type parameter of this definition
              at 44 here too
              help: a type parameter is a lower-case name in the signature, as in `x: b`
        "#]],
    );
    errors(
        "def f(x: Tre) -> [n]Flot = x",
        expect![[r#"
        E0101 `Tre` there is no type `Tre`
        E0101 `Flot` there is no type `Flot`
    "#]],
    );
    errors(
        "let x: a = m",
        expect![[r#"
            E0101 `a` there is no type `a`
            E0100 `m` `m` is not defined
              help: `m` is a module; what it defines is written `m.…`
        "#]],
    );
    errors(
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
    hint("dot(x, y)", "write `sum i: x[i] * y[i]`");
    hint("np.dot(x, y)", "write `sum i: x[i] * y[i]`");
    hint("np.exp(x[0])", "no module is needed: write `exp`");
    hint("np.isnan(x[0])", "a NaN is the only number that differs from itself: write `x != x`, of a whole array too");
    hint("is_finite(x[0])", "write `abs(x) < inf`, which no NaN is either");
    hint("range(n)[0]", "write `for i < n: i`, or `iota(n)`");
    hint("zeros(n)[0]", "write `for i < n: 0.0`, or `replicate(n, 0.0)`");
    hint("if True then 1.0 else 0.0", "truth is written `true`");
    hint("sum(x)", "write `sum i: x[i]`");
    hint("float(n)", "conversion to the default real is written `f64(x)`");
    hint("exp2(x[0])", "write `2.0 ^ x`");
    hint("totl(x)", "did you mean `total`?");
    hint("sqr(x[0])", "write `x^2`");
    errors(
        "def f(x: float, y: [n]double, z: real) -> Vec = x",
        expect![[r#"
        E0101 `float` there is no type `float`
          help: the default real is `f64`
        E0101 `double` there is no type `double`
          help: the default real is `f64`
        E0101 `real` there is no type `real`
          help: `real` is a class of types: for any real type write `a` here and `where a: real` after the result; the default real is `f64`
        E0101 `Vec` there is no type `Vec`
          help: an array is written `[n]f64`, with more axes `[n, m]f64`
    "#]],
    );
}
