//! Tests of `iverson bench`: its output without the times, and its errors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use crate::harness::Dir;
use expect_test::{Expect, expect};

const PROGRAM: &str = "\
--| Valid convolution of a signal with a kernel.
def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: sum j < m: x[i + j] * c[j]
def loss(x: [n + m - 1]f64, c: [m]f64, z: [n]f64) -> f64 = let y = conv(x, c) in sum i: (y[i] - z[i])^2
let scale = 2.0
def power(x: f64, steps: i64) -> f64 = fold p = scale for _ < steps: p * x
def apply(f: (f64) -> f64) -> f64 = f(1.0)
def bad(x: [n]f64, k: i64) -> f64 = x[n + k]
";

fn dir() -> Dir {
    Dir::new(&[("conv.iv", PROGRAM.as_bytes())])
}

/// Removes times and numbers of runs from the text.
fn without_times(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        lines.push(match words.first() {
            Some(first @ (&"value" | &"gradient")) => format!("{first}: {} words", words.len() - 1),
            Some(&"compile") => words.join(" "),
            _ if line.starts_with("the gradient takes") => "the gradient takes … times as long as the value".to_owned(),
            // Whether such short times contradict the certificate depends on the machine.
            _ if line.starts_with("the measured ratio exceeds the certified one") => continue,
            _ => line.to_owned(),
        });
    }
    lines.join("\n") + "\n"
}

#[track_caller]
fn check(args: &[&str], expected: Expect) {
    let args: Vec<&str> = ["bench"].iter().chain(args).chain(&["--seconds", "0.001"]).copied().collect();
    expected.assert_eq(&without_times(&dir().run(&args, b"")));
}

#[test]
fn values_and_gradients_are_timed() {
    check(
        &["conv.iv", "loss", "n=100", "m=8"],
        expect![[r#"
            loss at n = 100, m = 8

            compile median interquartile range runs
            value: 10 words
            gradient: 10 words

            the gradient takes … times as long as the value
            certificate: adjoint + io ≤ 3 · (primal + io), proved for all sizes; 3 is the least factor, at n = 3, m = 4
        "#]],
    );
    check(
        &["conv.iv", "power", "steps=10"],
        expect![[r#"
            power at steps = 10

            compile median interquartile range runs
            value: 10 words
            gradient: 10 words

            the gradient takes … times as long as the value
            certificate: adjoint + io ≤ 4 · (primal + io), proved for all sizes; 4 is the least factor, at steps = 7
        "#]],
    );
    check(
        &["conv.iv", "conv", "n=100,m=8", "--backend", "interp"],
        expect![[r#"
            conv at n = 100, m = 8

            compile median interquartile range runs
            value: 10 words

            there is no gradient: `grad` needs a function with one real result, but this one returns `[_]f64`
        "#]],
    );
}

#[test]
fn a_definition_is_called_as_its_arguments_would_be() {
    let dir = Dir::new(&[("named.iv", b"def a1(x: [n]f64, y: f64) -> f64 = y * (sum i: x[i]^2)\n")]);
    let text = dir.run(&["bench", "named.iv", "a1", "n=10", "--seconds", "0.001"], b"");
    assert!(text.contains("\ngradient ") && !text.contains("there is no gradient"), "{text}");
}

#[test]
fn times_are_compared_with_the_certificate() {
    // The gradient of these nested loops takes more time per operation than the value, because its
    // steps are no kernel.
    let program = "\
def toy(c: [n, m]f64) -> f64 =
  let last = fold row = replicate(m + 1, 1.0) for i < n:
    fold next = replicate(m + 1, 1.0) for j < m:
      next with [j + 1] = c[i, j] * row[j] + next[j]
  in last[m]
";
    let dir = Dir::new(&[("toy.iv", program.as_bytes())]);
    let args = ["bench", "toy.iv", "toy", "n=50", "m=50", "--seconds", "0.001"];
    let text = dir.run(&args, b"");
    assert!(text.contains("certificate: adjoint + io ≤ "), "{text}");
    let json = dir.run(&[&args[..], &["--format", "json"]].concat(), b"");
    let report: serde_json::Value = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {json}"));
    let (ratio, factor) = (report["ratio"].as_f64().unwrap(), report["certifiedFactor"].as_i64().unwrap());
    assert_eq!(report["disagrees"], serde_json::Value::Bool(ratio > 3.0 * factor as f64), "{json}");
}

#[test]
fn what_is_wrong_is_told() {
    check(
        &["conv.iv", "loss", "n=100"],
        expect![[r#"
            --- stderr
            [E0600] Error: missing size: m
              Help: the time depends on every size; write sizes as n=8 m=8
            --- status 2
        "#]],
    );
    check(
        &["conv.iv", "loss", "n=100", "m=8", "k=3"],
        expect![[r#"
        --- stderr
        [E0600] Error: the definition has no size `k`
          Help: its sizes: n, m
        --- status 2
    "#]],
    );
    check(
        &["conv.iv", "loss", "100", "8"],
        expect![[r#"
        --- stderr
        [E0600] Error: `100` is not a size
          Help: write sizes as n=8 m=8
        --- status 2
    "#]],
    );
    check(
        &["conv.iv", "nothing"],
        expect![[r#"
            --- stderr
            [E0600] Error: unknown definition `nothing`
              Help: available: conv, loss, power, apply, bad
            --- status 2
        "#]],
    );
    check(
        &["conv.iv", "apply"],
        expect![[r#"
        --- stderr
        [E0510] Error: cannot generate a value for `f` of type `(f64) -> f64`
        --- status 1
    "#]],
    );
    check(
        &["conv.iv", "bad", "n=3", "k=0"],
        expect![[r#"
            --- stderr
            [E0500] Error: index 3 is out of bounds for axis 0 of extent 3
               ╭─[ conv.iv:7:39 ]
               │
             7 │ def bad(x: [n]f64, k: i64) -> f64 = x[n + k]
               │                                       ──┬──
               │                                         ╰──── here
               │
               │ Help: guard the access with `[0 <= n + k < n] * x[n + k]`, or shorten the index range
            ───╯
            --- status 1
        "#]],
    );
    check(
        &["missing.iv", "loss"],
        expect![[r#"
            --- stderr
            [E0602] Error: `missing.iv` cannot be read: no such file
              Help: paths are relative to the current directory
            --- status 2
        "#]],
    );
    check(
        &["conv.iv", "loss", "n=100000000000", "m=8"],
        expect![[r#"
        --- stderr
        [E0508] Error: `x` of type `[100000000007]f64` has too many elements for a synthetic value
          Help: use smaller sizes; a synthetic array has at most 67108864 elements
        --- status 1
    "#]],
    );
    check(
        &["conv.iv", "loss", "n=99999999999999999999", "m=8"],
        expect![[r#"
        --- stderr
        [E0600] Error: `n=99999999999999999999` is not a 64-bit integer
          Help: integers range from -9223372036854775808 to 9223372036854775807
        --- status 2
    "#]],
    );
    check(
        &["conv.iv", "loss", "n=ten", "m=8"],
        expect![[r#"
        --- stderr
        [E0600] Error: `n=ten` is not a size
          Help: write sizes as n=8 m=8
        --- status 2
    "#]],
    );
    check(
        &["conv.iv", "lss", "n=5"],
        expect![[r#"
            --- stderr
            [E0600] Error: unknown definition `lss`
              Help: did you mean `loss`?
            --- status 2
        "#]],
    );
    check(
        &["conv.iv", "loss", "n=-5", "m=8"],
        expect![[r#"
            --- stderr
            [E0600] Error: the size `n` cannot be -5
              Help: it is the number of elements along an axis, which is 0 or more
            --- status 2
        "#]],
    );
}

#[test]
fn times_for_programs() {
    let text = dir().run(&["bench", "conv.iv", "loss", "n=10", "m=3", "--seconds", "0.001", "--format", "json"], b"");
    let report: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!((&report["def"], &report["at"]["n"], &report["at"]["m"]), (&"loss".into(), &10.into(), &3.into()));
    for of in ["value", "gradient"] {
        let number = |name: &str| report[of][name].as_u64().unwrap_or_else(|| panic!("{name}: {text}"));
        let quartiles = ["lowerQuartileNanoseconds", "medianNanoseconds", "upperQuartileNanoseconds"].map(number);
        assert!(quartiles.is_sorted() && quartiles[0] > 0 && number("runs") >= 5, "{text}");
    }
    assert!(report["gradient"]["compileNanoseconds"].as_u64().is_some_and(|n| n > 0), "{text}");
}
