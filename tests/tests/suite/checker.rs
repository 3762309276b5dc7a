//! **Type inference and bounds proofs**, as tables. Checks the inferred signature of a definition,
//! and which of its accesses are proved in bounds (`proved`) and which are checked at run time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use lang_core::base::GlobalName;
use lang_core::session::Session;
use lang_core::types::tree::{TypedExpr, TypedSubscript, TypedUpdateTarget};

fn session(text: &str) -> Session {
    let mut s = Session::new();
    s.set_text("t.iv", text);
    let errors: Vec<_> = s.diagnostics("t.iv").into_iter().filter(lang_core::base::Diagnostic::is_error).collect();
    assert!(errors.is_empty(), "{text}\n{errors:#?}");
    s
}

/// Checks the inferred signature of `f`.
#[track_caller]
fn infers(text: &str, signature: &str) {
    let s = session(text);
    let found = s.signature(&GlobalName::new("t.iv", "f")).map(|s| s.to_string());
    assert_eq!(found.as_deref(), Some(signature), "{text}");
}

/// Checks for every access of `f`, in the order of its nodes, whether it is proved.
#[track_caller]
fn proves(text: &str, wanted: &[bool]) {
    let s = session(text);
    let checked = s.checked(&GlobalName::new("t.iv", "f")).expect("it has a body");
    let mut found = Vec::new();
    let mut subscripts = |subs: &[TypedSubscript]| {
        for s in subs {
            match s {
                TypedSubscript::Index { is_proved: proved, .. } | TypedSubscript::Range { is_proved: proved, .. } => {
                    found.push(*proved)
                }
                TypedSubscript::FullAxis => {}
            }
        }
    };
    for (_, node) in checked.body.nodes.iter() {
        match &node.kind {
            TypedExpr::Index(_, subs) => subscripts(subs),
            TypedExpr::With(_, updates) => updates.iter().for_each(|u| {
                if let TypedUpdateTarget::Index(subs) = &u.target {
                    subscripts(subs);
                }
            }),
            _ => {}
        }
    }
    assert_eq!(found, wanted, "{text}");
}

/// Checks the number of sizes that are verified when `f` runs.
#[track_caller]
fn verifies(text: &str, count: usize) {
    let s = session(text);
    let checked = s.checked(&GlobalName::new("t.iv", "f")).expect("it has a body");
    let checks =
        checked.body.nodes.iter().map(|(_, n)| if let TypedExpr::Checked(c, _) = &n.kind { c.len() } else { 0 });
    assert_eq!(checks.sum::<usize>(), count, "{text}");
}

#[test]
fn inferred_results() {
    infers("def f(x: [n]f64) = x", "(x: [n]f64) -> [n]f64");
    infers("def f(x: [n]f64, y: [m]f64) = concat(x, y)", "(x: [n]f64, y: [m]f64) -> [n + m]f64");
    infers(
        "def f(a: [n, k]f64, b: [k, m]f64) = for i, j: sum l: a[i, l] * b[l, j]",
        "(a: [n, k]f64, b: [k, m]f64) -> [n, m]f64",
    );
    infers("def f(x: [n]a) = (x, len(x))", "(x: [n]a) -> ([n]a, i64)");
    infers("def f(x: [n]a, y: a) where a: num = for i: x[i] + y * y", "(x: [n]a, y: a) -> [n]a where a: num");
    infers("def f(n: i64) = for i < n + 1: i", "(n: i64) -> [n + 1]i64");
    infers("def f(x: [n]f64) = filter(\\v: v > 0, x)", "(x: [n]f64) -> [?k]f64");
    infers("def f(x: [n]f64) = x[1..n - 1]", "(x: [n]f64) -> [n - 2]f64");
    infers("def f(x: [n]f64) = scan s = 0 for i < n: s + x[i]", "(x: [n]f64) -> [n + 1]f64");
    infers("def f(x: [n]f64) = fold s = 0.0 for i < n: s + x[i] yield s", "(x: [n]f64) -> (f64, [n]f64)");
    infers("def f(x: f64) = scan y = x while y > 1: y / 2", "(x: f64) -> [?trips]f64");
    infers("def f(x: [n]f64) = grad(\\v: sum i: v[i]^2)(x)", "(x: [n]f64) -> [n]f64");
    infers(
        "def f(x: [n]f64, k: i64) = jacobian(\\v, j: for i < k: v[j])(x, 0)",
        "(x: [n]f64, k: i64) -> ([k, n]f64, ())",
    );
    infers("def f(n: i64) = \\x: f64(n) * x", "(n: i64) -> (x: f64) -> f64");
    infers("def f(x: [n]f64) = argmax i, j: x[i] * x[j]", "(x: [n]f64) -> (i64, i64)");
    infers("def f(x: f32) = (2 * x, 2 // 3, 1 / 2)", "(x: f32) -> (f32, i64, f64)");
    infers("def f(x: [2 * n, m]f64, n: i64) = reshape(x, n, 2 * m)", "(x: [2 * n, m]f64, n: i64) -> [n, 2 * m]f64");
    infers("type T(a, n) = A([n]a) | B\ndef f(x: [m]f64) = A(x)", "(x: [m]f64) -> T(f64, m)");
    infers("type P(n) = {x: [n]f64, y: f64}\ndef f(p: P(n + 1)) = p.x", "(p: {x: [n + 1]f64, y: f64}) -> [n + 1]f64");
}

#[test]
fn affine_accesses_are_proved() {
    proves("def f(x: [n + m - 1]f64, c: [m]f64) = for i < n: sum j < m: x[i + j] * c[j]", &[true, true]);
    proves("def f(x: [n]f64) = for i < n: x[n - 1 - i]", &[true]);
    proves("def f(x: [n]f64) = sum i in 1..n: x[i] - x[i - 1]", &[true, true]);
    proves("def f(x: [n]f64) = for i < n: if i > 0 then x[i - 1] else 0.0", &[true]);
    proves("def f(x: [n]f64) = for i < n: [i > 0] * x[i - 1]", &[true]);
    proves("def f(x: [n]f64) = for i < n: if i == 0 then 0.0 else x[i - 1]", &[true]);
    proves("def f(x: [n]f64) = for i < n: [i != n - 1] * x[i + 1]", &[true]);
    proves("def f(x: [n]f64) = sum i < n + 5 if i < n: x[i]", &[true]);
    proves("def f(x: [n]f64, k: i64) = [0 <= k < n] * x[k]", &[true]);
    proves("def f(x: [n]f64, k: i64) = if k < 0 || k >= n then 0.0 else x[k]", &[true]);
    proves("def f(a: [n, n]f64) = sum i < n, j < i: a[i, j] - a[j, i]", &[true, true, true, true]);
    proves("def f(x: [n]f64) = let m = n // 2 in for i < m: x[2 * i] + x[2 * i + 1]", &[true, true]);
    proves("def f(x: [n * m]f64, n: i64, m: i64) = for i < n, j < m: x[i * m + j]", &[true]);
}

#[test]
fn data_dependent_accesses_are_not() {
    proves("def f(x: [n]f64, idx: [k]i64) = for j: x[idx[j]]", &[true, false]);
    proves("def f(x: [n]f64) = x[0]", &[false]);
    proves("def f(x: [n]f64, k: i64) = x[k]", &[false]);
    proves("def f(x: [n]f64, k: i64) = [k != 0] * x[k]", &[false]);
    proves("def f(x: [n]f64) = for i < n: if i == 1 then 0.0 else x[i - 1]", &[false]);
    // `k + 1` may wrap, so the comparison implies nothing about the index.
    proves("def f(x: [n]f64, k: i64) = [0 <= k + 1 < n] * x[k + 1]", &[false]);
    proves("def f(x: [n]f64, k: i64) = let s = n - k in for i < n: [s < n] * x[s]", &[false]);
}

#[test]
fn sizes_are_verified_when_they_run_only_where_nothing_is_known() {
    verifies("def f(x: [n]f64, y: [n]f64) = x + y", 0);
    verifies("def f(x: [n]f64, y: [m]f64) = x + y", 1);
    verifies("def f(x: [n]f64, y: [m]f64) = if n == m then x + y else x", 0);
    verifies("def f(x: [n]f64, y: [n]f64) = for i: x[i] + (y + x)[i]", 0);
}

#[test]
fn a_match_that_is_too_large_is_told_as_that() {
    let ctors = |sep: &str, after: &str| (0..3000).map(|k| format!("C{k}{after}")).collect::<Vec<_>>().join(sep);
    let check = |arms: String| {
        let mut s = Session::new();
        s.set_text("t.iv", &format!("type T = {}\ndef f(t: T) -> f64 = match t {{ {arms} }}", ctors(" | ", "")));
        s.diagnostics("t.iv").into_iter().map(|d| format!("{}: {}", d.code, d.message)).collect::<Vec<_>>()
    };
    let message = "E0404: this `match` is too large for the exhaustiveness check";
    assert_eq!(check(ctors(", ", ": 1.0")), [message]);
    assert_eq!(check(ctors(", ", ": 1.0") + ", _: 2.0"), Vec::<String>::new());
}
