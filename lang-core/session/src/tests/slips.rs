//! Tests of the diagnostics after one mistake (a slip). A slip replaces one text of a correct
//! program. It must cause one error, at most two.

use std::fmt::Write;

use expect_test::{Expect, expect};

use super::{FILE, session};
use lang_base::Diagnostic;

/// The correct program, in which each slip replaces a text.
const PROGRAM: &str = include_str!("../../../../examples/deconvolution.iv");

/// Compares all errors of each slip. A slip is a text that occurs once in [`PROGRAM`], and its
/// replacement.
#[track_caller]
fn slips(slips: &[(&str, &str)], expected: Expect) {
    let mut out = String::new();
    for (from, to) in slips {
        assert_eq!(PROGRAM.matches(from).count(), 1, "{from}");
        let text = PROGRAM.replace(from, to);
        let errors: Vec<_> = session(&text).diagnostics(FILE).into_iter().filter(Diagnostic::is_error).collect();
        let _ = writeln!(out, "{to}");
        for d in &errors {
            let place = text.get(d.span.range()).expect("spans lie in the text");
            let line = text.get(..d.span.range().start).expect("a place").matches('\n').count() + 1;
            let _ = writeln!(out, "    {line}: {} `{place}` {}", d.code, d.message);
            if !d.label.is_empty() {
                let _ = writeln!(out, "      {}", d.label);
            }
            let _ = d.help.iter().try_for_each(|help| writeln!(out, "      help: {help}"));
        }
        assert!(matches!(errors.len(), 1 | 2), "{} errors:\n{out}", errors.len());
    }
    expected.assert_eq(&out);
}

#[test]
fn brackets() {
    slips(
        &[
            ("x[i + j] * c[j]", "x[i + j]] * c[j]"),
            ("x[i + j] * c[j]", "x[i + j * c[j]"),
            ("x[i + j] * c[j]", "x[[i + j] * c[j]"),
            ("x[i + j] * c[j]", "x[i + j] * cj]"),
            ("let y = conv(x, c) in", "let y = conv(x, c)) in"),
            ("let y = conv(x, c) in", "let y = conv(x, c in"),
            ("let y = conv(x, c) in", "let y = convx, c) in"),
            ("(2 * h)", "2 * h)"),
            ("let x: [32]f64", "let x: [32f64"),
            ("def conv(x: [n + m - 1]f64, c", "def conv(x: [n + m - 1]]f64, c"),
            ("0.125, 0.375]", "0.125, 0.375"),
        ],
        expect![[r#"
            x[i + j]] * c[j]
                2: E0002 `]` unmatched closing bracket `]`
            x[i + j * c[j]
                2: E0002 `[` unclosed bracket `[`
            x[[i + j] * c[j]
                2: E0002 `[` unclosed bracket `[`
            x[i + j] * cj]
                2: E0002 `]` unmatched closing bracket `]`
            let y = conv(x, c)) in
                6: E0002 `)` unmatched closing bracket `)`
            let y = conv(x, c in
                6: E0002 `(` unclosed bracket `(`
            let y = convx, c) in
                6: E0001 `,` expected an expression or `in`, found `,`
                  help: write `in` and the result after the last `let`
            2 * h)
                11: E0002 `)` unmatched closing bracket `)`
            let x: [32f64
                24: E0002 `[` unclosed bracket `[`
            def conv(x: [n + m - 1]]f64, c
                2: E0002 `]` unmatched closing bracket `]`
            0.125, 0.375
                25: E0002 `[` unclosed bracket `[`
        "#]],
    );
}

#[test]
fn signs_and_words() {
    slips(
        &[
            ("let h = 1e-6", "let h 1e-6"),
            ("let h = 1e-6", "let h == 1e-6"),
            ("let hidden =", "let hidden = ="),
            ("deconvolve(x, z, start, 400", "deconvolve(x z, start, 400"),
            ("deconvolve(x, z, start, 400", "deconvolve(x,, z, start, 400"),
            ("deconvolve(x, z, start, 400", "deconvolve(x; z, start, 400"),
            ("  in for j: (loss", "  for j: (loss"),
            ("in for j: (loss", "in in for j: (loss"),
            ("= for i < n: sum j", "= i < n: sum j"),
            ("for i < n: sum j < m:", "for i < n: for sum j < m:"),
            ("def conv(x", "conv(x"),
            ("def conv(x", "def def conv(x"),
            ("  all j: abs", "  j: abs"),
            ("(y[i] - z[i])^2", "(y[i] - z[i])**2"),
        ],
        expect![[r#"
            let h 1e-6
                10: E0001 `1e-6` expected `=`, found a number
                  help: bind a name with `let x = e`
            let h == 1e-6
                10: E0001 `==` expected `=`, found `==`
                  help: bind a name with a single `=`
            let hidden = =
                25: E0001 `=` expected an expression, found `=`
            deconvolve(x z, start, 400
                29: E0001 `z` expected `,` or `)`, found `z`
                  help: is a comma missing?
            deconvolve(x,, z, start, 400
                29: E0001 `,` expected an expression, found `,`
            deconvolve(x; z, start, 400
                29: E0001 `;` expected `,` or `)`, found `;`
              for j: (loss
                11: E0010 `for` this `let` has no `in`
                  `in` is missing here
                  help: write `in` before the result
            in in for j: (loss
                11: E0001 `in` expected an expression, found `in`
            = i < n: sum j
                2: E0001 `:` expected an operator or the end of the input, found `:`
                  help: write an index after a binder such as `for` or `sum`: `for i < n: e`
            for i < n: for sum j < m:
                2: E0001 `j` expected `:`, found `j`
                  help: separate index variables with commas: `for i, j: e`
            conv(x
                2: E0009 `conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: sum j < m: x[i + j] * c[j]` this text is outside all items
                  help: every item must begin with `def`, `type`, `import`, `let` or `do`; to call it here, write `do conv(…)`
            def def conv(x
                2: E0001 `def` expected a name or `(`, found `def`
                  help: `def` is a reserved word; choose another name
              j: abs
                39: E0217 `j` `j:` does not name an argument here
                  help: write an index after a binder such as `for` or `sum`: `sum j: e`
            (y[i] - z[i])**2
                6: E0001 `**` `**` is not an operator
                  help: write a power with `^`
        "#]],
    );
}

#[test]
fn names() {
    slips(
        &[
            ("let y = conv(x, c) in", "let y = cnov(x, c) in"),
            ("let y = conv(x, c) in", "let y = conv(xx, c) in"),
            ("let y = conv(x, c) in", "let y = conv conv(x, c) in"),
            ("let y = conv(x, c) in", "let y = conv(c, x) in"),
            ("let slope = grad(", "let slope = gard("),
            ("def conv(x: [n + m - 1]f64, c: [m]f64)", "def conv(x: [n + m - 1]f64, c: [mm]f64)"),
            ("let z = conv(x, hidden)", "let z = conv(x, hiden)"),
            ("  rate: f64\n", "  rate: f46\n"),
            ("  rate: f64\n", "  rate: float\n"),
            ("  steps: i64,\n", "  steps: _,\n"),
            ("\"the gradient is what differences tend to\"\n)", "\"the gradient is what differences tend to\"\n"),
        ],
        expect![[r#"
            let y = cnov(x, c) in
                6: E0100 `cnov` `cnov` is not defined
                  help: did you mean `conv`?
            let y = conv(xx, c) in
                6: E0100 `xx` `xx` is not defined
                  help: did you mean `x`?
            let y = conv conv(x, c) in
                6: E0001 `conv` expected `in`, found `conv`
                  help: write `in` and the result after the last `let`
            let y = conv(c, x) in
                6: E0304 `i` the index `i` runs over an axis of extent `n` here, and of extent `2 - n` elsewhere
                  help: swap the arguments for `x` and `c`
            let slope = gard(
                36: E0100 `gard` `gard` is not defined
                  help: did you mean `grad`?
            def conv(x: [n + m - 1]f64, c: [mm]f64)
                2: E0301 `mm` the size `n` cannot be inferred from the arguments
                  this is not the size `m`
                  help: `mm` is a separate size here; did you mean `m`?
            let z = conv(x, hiden)
                26: E0100 `hiden` `hiden` is not defined
                  help: did you mean `hidden`?
              rate: f46

                19: E0101 `f46` there is no type `f46`
                  help: did you mean `f64`?
              rate: float

                19: E0101 `float` there is no type `float`
                  help: the default real is `f64`
              steps: _,

                18: E0001 `_` expected a type, found `_`
                  help: write the whole type, as in `x: [n]f64`; a `let` can omit it with its `:`
            "the gradient is what differences tend to"

                38: E0002 `(` unclosed bracket `(`
        "#]],
    );
}
