//! **Quick fixes** of diagnostics. Each fix on an error page of the book removes its diagnostic.
//! For common mistakes, the editor offers the expected fix.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a failed expectation is a failed test"
)]

use iverson_tests::literate::{self, BlockKind};
use lang_core::base::{Diagnostic, Fix, Span};
use lang_core::session::Session;
use lang_ide::actions::{ActionKind, actions};

fn session(text: &str) -> Session {
    let mut session = Session::new();
    session.set_text("a.iv", text);
    session
}

/// Returns the text after a fix.
fn apply_fix(text: &str, fix: &Fix) -> String {
    let new = fix.text(text).unwrap_or_else(|| panic!("{fix:?} copies what is not there"));
    format!("{}{new}{}", &text[..fix.span.range().start], &text[fix.span.range().end..])
}

/// Returns whether the diagnostic is gone. An equal one may stay before the changed text.
fn is_gone(d: &Diagnostic, fix: &Fix, after: &str) -> bool {
    let all = session(after).diagnostics("a.iv");
    let begins = d.span.start.min(fix.span.start);
    !all.iter().any(|other| other.code == d.code && other.message == d.message && other.span.start >= begins)
}

#[test]
fn pages_of_errors() {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in literate::markdown_files(&literate::repository_root().join("docs/book/src/errors")) {
        let text = std::fs::read_to_string(&page).unwrap();
        for block in literate::blocks(&text).unwrap().iter().filter(|b| b.kind == BlockKind::Program) {
            for d in session(&block.text).diagnostics("a.iv") {
                for fix in &d.fixes {
                    count += 1;
                    let after = apply_fix(&block.text, fix);
                    if !is_gone(&d, fix, &after) {
                        wrong.push(format!("{}: {} stays after\n{after}", page.display(), d.message));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 3, "{count}");
}

/// Common mistakes, many from other languages, and the texts after the expected fixes.
const COMMON_MISTAKES: &[(&str, &str)] = &[
    ("def f(x: f64) -> f64 = np.sin(x)", "def f(x: f64) -> f64 = sin(x)"),
    ("def f(x: [n]f64) -> f64 = sum(x)", "def f(x: [n]f64) -> f64 = (sum i: x[i])"),
    ("def f(x: [n]f64) -> f64 = 2 * sum(x) + 1", "def f(x: [n]f64) -> f64 = 2 * (sum i: x[i]) + 1"),
    ("def f(x: [n]f64) -> f64 = np.sum(x)", "def f(x: [n]f64) -> f64 = (sum i: x[i])"),
    ("def f(x: [n]f64) -> f64 = x.sum()", "def f(x: [n]f64) -> f64 = (sum i: x[i])"),
    ("def f(x: [n]f64) -> f64 = x.max()", "def f(x: [n]f64) -> f64 = (max i: x[i])"),
    ("def f(x: [n]f64) -> f64 = max(x)", "def f(x: [n]f64) -> f64 = (max i: x[i])"),
    ("def f(x: [n]f64) -> f64 = mean(x)", "def f(x: [n]f64) -> f64 = ((sum i: x[i]) / f64(len(x)))"),
    ("def f(x: [n]f64, y: [n]f64) -> f64 = dot(x, y)", "def f(x: [n]f64, y: [n]f64) -> f64 = (sum i: x[i] * y[i])"),
    ("def f(a: [n, m]f64) -> [m, n]f64 = a.T", "def f(a: [n, m]f64) -> [m, n]f64 = transpose(a)"),
    (
        "def f(a: [n, m]f64, b: [m, l]f64) -> [n, l]f64 = a @ b",
        "def f(a: [n, m]f64, b: [m, l]f64) -> [n, l]f64 = (for i, j: (sum k: a[i, k] * b[k, j]))",
    ),
    ("def f(n: i64) -> [n]i64 = range(n)", "def f(n: i64) -> [n]i64 = (for i < n: i)"),
    ("def f(n: i64) -> [n]f64 = zeros(n)", "def f(n: i64) -> [n]f64 = (for i < n: 0.0)"),
    ("def f(x: f64) -> f64 = pow(x, 2)", "def f(x: f64) -> f64 = (x ^ (2))"),
    ("x = 3", "let x = 3"),
    ("// a comment", "-- a comment"),
    ("def f(x: f64) -> f64 = x // a comment", "def f(x: f64) -> f64 = x -- a comment"),
    ("def f(x: [n]f64) -> [n]f64 = map(lambda t: t^2, x)", "def f(x: [n]f64) -> [n]f64 = map(\\t: t^2, x)"),
    (
        "def f(x: f64) -> f64 = if x > 0 then x",
        "def f(x: f64) -> f64 = if x > 0 then x else error(\"not implemented\")",
    ),
    ("def f(x: [n]f64, k: f64) -> f64 = x[k]", "def f(x: [n]f64, k: f64) -> f64 = x[i64(k)]"),
    ("def f(x: [n + 1]f64) -> f64 = x[-1]", "def f(x: [n + 1]f64) -> f64 = x[n]"),
    ("def f(x: [n]f64) -> f64 = x[n]", "def f(x: [n]f64) -> f64 = x[n - 1]"),
    ("def f(n: i64) -> f64 = n", "def f(n: i64) -> f64 = f64(n)"),
    ("def f(n: i64, x: f64) -> f64 = x * n", "def f(n: i64, x: f64) -> f64 = x * f64(n)"),
    ("def f(x: f64) -> i64 = x", "def f(x: f64) -> i64 = i64(x)"),
    ("def f(x: f64) -> f64 = |x|", "def f(x: f64) -> f64 = abs(x)"),
    ("def f(x: [n]f64) -> i64 = x.shape", "def f(x: [n]f64) -> i64 = len(x)"),
    ("def f(x: [n + 1]f64) -> f64 = x(0)", "def f(x: [n + 1]f64) -> f64 = x[0]"),
    ("def f(x: [n + 1]f64) -> f64 = x.0", "def f(x: [n + 1]f64) -> f64 = x[0]"),
    ("def f(x: f64) -> f64 =\n  let y = x\n  y * 2", "def f(x: f64) -> f64 =\n  let y = x\n  in y * 2"),
    ("def f(a: bool, b: bool) -> bool = a and b", "def f(a: bool, b: bool) -> bool = a && b"),
    ("def f(a: bool) -> bool = not a", "def f(a: bool) -> bool = ! a"),
    ("def f(x: f64) -> f64 = return x", "def f(x: f64) -> f64 = x"),
    ("def f(x: f64) -> f64 = x ** 2", "def f(x: f64) -> f64 = x ^ 2"),
    ("def f(x: f64) -> f64 = if x = 0 then 1.0 else x", "def f(x: f64) -> f64 = if x == 0 then 1.0 else x"),
    (
        "def f(x: f64) -> f64 = if x > 0 then x elif x < 0 then -x else 0.0",
        "def f(x: f64) -> f64 = if x > 0 then x else if x < 0 then -x else 0.0",
    ),
    ("def f(x: f64) -> f64 = x # a comment", "def f(x: f64) -> f64 = x -- a comment"),
    ("# a comment", "-- a comment"),
    ("% a comment", "-- a comment"),
    ("; a comment", "-- a comment"),
    ("let x = 3\n// comment", "let x = 3\n-- comment"),
    ("let x = 3\n% a comment", "let x = 3\n-- a comment"),
    ("def f(x: f64) -> f64 = 2 * x // twice", "def f(x: f64) -> f64 = 2 * x -- twice"),
    ("let x = 2^-1", "let x = 2.0^-1"),
    ("def f(n: i64) -> f64 = n^-2", "def f(n: i64) -> f64 = f64(n)^-2"),
    ("import linalg\nlet x = linalg.inv([[2.0]])", "import linalg\nlet x = linalg.inverse([[2.0]])"),
    ("import linalg as la\nlet x = np.linalg.inv([[2.0]])", "import linalg as la\nlet x = la.inverse([[2.0]])"),
    ("def f(p: f64) -> f64 = scipy.special.logit(p)", "def f(p: f64) -> f64 = (log(p) - log1p(-p))"),
    ("def f(x: f64) -> f64 = F.relu(x)", "def f(x: f64) -> f64 = relu(x)"),
];

#[test]
fn extensions_of_imported_files() {
    for (text, wanted) in [("import \"./lib/net\"", "import \"./lib/net.iv\""), ("import net", "import \"./net.iv\"")] {
        let mut session = session(text);
        let fixes =
            |session: &Session| session.diagnostics("a.iv").into_iter().flat_map(|d| d.fixes).collect::<Vec<_>>();
        assert_eq!(fixes(&session), []);
        session.set_text("lib/net.iv", "let x = 1\n");
        session.set_text("net.iv", "let x = 1\n");
        let [fix] = &*fixes(&session) else { panic!("no fix of `{text}`") };
        assert_eq!(apply_fix(text, fix), wanted);
        session.set_text("a.iv", &apply_fix(text, fix));
        assert_eq!(session.diagnostics("a.iv"), []);
    }
}

#[test]
fn common_mistakes() {
    let mut wrong = Vec::new();
    for (text, wanted) in COMMON_MISTAKES {
        let session = session(&format!("{text}\n"));
        let errors: Vec<Span> = session.diagnostics("a.iv").iter().filter(|d| d.is_error()).map(|d| d.span).collect();
        let mut offered = Vec::new();
        for span in errors {
            let found = session.ask(|_| (), |session| actions(session, "a.iv", span)).unwrap_or_default();
            for action in found.into_iter().filter(|action| action.kind == ActionKind::Fix) {
                let mut after = format!("{text}\n");
                let mut edits = action.edits.clone();
                edits.sort_by_key(|edit| edit.at.span.start);
                edits.iter().rev().for_each(|edit| after.replace_range(edit.at.span.range(), &edit.text));
                offered.push(after.trim_end().to_owned());
            }
        }
        if !offered.iter().any(|after| after == wanted) {
            wrong.push(format!("{text}\n  wanted {wanted}\n  offered {offered:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
