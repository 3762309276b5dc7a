//! Tests of inlay hints: inferred types and extents, and costs of definitions.

#![allow(clippy::unwrap_used, reason = "a failed expectation is a failed test")]

use crate::program::{PROGRAM, session};
use expect_test::expect;
use lang_ide::hints::{HintSelection, hints};
use lang_ide::{Session, Span};

#[test]
fn hints_tell_what_is_inferred() {
    let session = session(PROGRAM);
    let wanted = HintSelection { extents: true, sizes: true, types: true, cost: true };
    let whole = Span::new(0, u32::try_from(PROGRAM.len()).unwrap());
    let mut text = PROGRAM.to_owned();
    for hint in hints(&session, "a.iv", whole, wanted).iter().rev() {
        text.insert_str(hint.offset as usize, &format!("⟨{}⟩", hint.text));
    }
    expect![[r#"
        def conv(x: [n]f64, w: [m]f64) -> [n - m + 1]f64 =⟨work 2·n·m − 2·m² − n + 3·m − 1 · ∇ 6 cases⟩
          for i⟨ < n - m + 1⟩: sum j⟨ < m⟩: x[i + j] * w[j]

        def spread(x: [n]f64) -> f64 =⟨work 4·n − 1 · ∇ 6·n⟩
          let mean⟨: f64⟩ = total(x) / f64(n)
          let off⟨: [n]f64⟩ = x - mean
          in sum i⟨ < n⟩: off[i]^2

        def main()⟨ -> f64⟩ = spread([1.0, 2.0])⟨work 7⟩
    "#]]
    .assert_eq(&text);
}

/// Results, lambda parameters and components of tuples have types that are not written.
#[test]
fn hints_of_what_is_bound() {
    let text = "\
def parts(x: [n]f64) = (x[0], n)
def f(x: [n]f64) =
  let (first, count) = parts(x) let g = \\y: y * first in g(2.0) + f64(count)
def g(h: (f64) -> f64) -> f64 = h(1.0)
def once() = g(\\(z): z * z)
def commented(
  x: f64, -- of (x, y)
) = 2 * x
";
    let session = session(text);
    let wanted = HintSelection { extents: true, sizes: true, types: true, cost: false };
    let mut shown = text.to_owned();
    for hint in hints(&session, "a.iv", Span::new(0, u32::try_from(text.len()).unwrap()), wanted).iter().rev() {
        let mark = if hint.is_insertable { '+' } else { ' ' };
        shown.insert_str(hint.offset as usize, &format!("⟨{mark}{}⟩", hint.text));
    }
    expect![[r#"
        def parts(x: [n]f64)⟨+ -> (f64, i64)⟩ = (x[0], n)
        def f(x: [n]f64)⟨+ -> f64⟩ =
          let (first⟨ : f64⟩, count⟨ : i64⟩) = parts(x) let g = \y⟨ : f64⟩: y * first in g(2.0) + f64(count)
        def g(h: (f64) -> f64) -> f64 = h(1.0)
        def once()⟨+ -> f64⟩ = g(\(z⟨ : f64⟩): z * z)
        def commented(
          x: f64, -- of (x, y)
        )⟨+ -> f64⟩ = 2 * x
    "#]]
    .assert_eq(&shown);
}

/// A type that an error leaves undetermined produces no hint, because it cannot be inserted.
#[test]
fn no_hints_of_what_is_not_known() {
    let text = "def f(x: [n]f64, z: [n]f64) -> f64 =\n  sum i: (y[i] - z[k]^2\n";
    let mut session = Session::new();
    session.set_text("a.iv", text);
    assert!(session.diagnostics("a.iv").iter().any(|d| d.is_error()));
    let wanted = HintSelection { extents: true, sizes: true, types: true, cost: true };
    let whole = Span::new(0, u32::try_from(text.len()).unwrap());
    let found: Vec<String> = hints(&session, "a.iv", whole, wanted).into_iter().map(|h| h.text).collect();
    assert!(!found.iter().any(|text| text.contains('_')), "{found:?}");
}
