//! **Session tests**: the queries that run again after edits, and the diagnostics of whole modules.

mod costs;
mod origins;
mod slips;
mod texts;

use std::fmt::Write;
use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{PRELUDE, Session, Snapshot};
use lang_base::{GlobalName, Span};
use lang_ir::core::{DerivativeKind, FunctionKey, NoCoreFormReason};
use lang_resolve::partials::{self, DifferentiableOp};
use lang_resolve::scalar_fn::{ScalarDomain, ScalarFn};
use lang_syntax::format::format_file;
use lang_syntax::split::ItemKind;

const FILE: &str = "a.iv";

fn session(text: &str) -> Session {
    let mut session = Session::with_query_log();
    session.set_text(FILE, text);
    session
}

fn report(session: &Session, module: &str) -> String {
    let text = session.text(module).unwrap_or_default();
    let mut out = String::new();
    for d in session.diagnostics(module) {
        let at = text.get(d.span.range()).expect("spans lie in the text");
        let line = |span: Span| text.get(..span.range().start).expect("a place").matches('\n').count() + 1;
        let _ = writeln!(out, "{}: {} `{at}` {}", line(d.span), d.code, d.message);
        for label in &d.related {
            let _ = writeln!(out, "   {}: {}", line(label.span), label.message);
        }
    }
    out
}

/// Compares the diagnostics of a module.
#[track_caller]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&report(&session(text), FILE));
}

/// Compares the diagnostics of several modules.
#[track_caller]
fn check_modules(modules: &[(&str, &str)], expected: Expect) {
    let mut session = Session::new();
    for (module, text) in modules {
        session.set_text(module, text);
    }
    let mut out = String::new();
    for (module, _) in modules {
        let _ = writeln!(out, "{module}:\n{}", report(&session, module));
    }
    expected.assert_eq(&out);
}

/// Returns a module of 300 definitions: `f0`, `f1`, …, where `f7` and `g7` call `f3`, and the
/// results of `g0`, `g1`, … are not written.
fn three_hundred() -> String {
    let mut text = "--| A module.\n".to_owned();
    for i in 0..150 {
        let call = if i == 0 { "1.0".to_owned() } else { format!("f{}(x)", i / 2) };
        let _ = writeln!(text, "-- About f{i}.\ndef f{i}(x: [n]f64) -> f64 = (sum i: x[i]) + {call}\n");
        let _ = writeln!(text, "def g{i}(x: [n]f64) = for i: x[i] * {call}\n");
    }
    text
}

/// Compares the queries about items that run if all diagnostics are requested after a change.
#[track_caller]
fn recomputed(text: &str, change: impl FnOnce(&mut Session), expected: Expect) {
    let mut session = session(text);
    assert_eq!(report(&session, FILE), "");
    let _ = session.ran_queries();
    change(&mut session);
    let _ = session.diagnostics(FILE);
    let mut ran = session.ran_queries();
    ran.sort();
    ran.dedup();
    if ran.is_empty() {
        ran.push("nothing".to_owned());
    }
    expected.assert_eq(&(ran.join("\n") + "\n"));
}

/// Replaces the first occurrence of `from`.
#[track_caller]
fn replace(session: &mut Session, from: &str, to: &str) {
    let at = session.text(FILE).and_then(|t| t.find(from)).expect("the text to replace");
    session.edit(FILE, at..at + from.len(), to);
}

#[test]
fn an_edit_of_a_body_recomputes_that_definition_alone() {
    recomputed(
        &three_hundred(),
        |s| replace(s, "def f3(x: [n]f64) -> f64 = (sum i: x[i])", "def f3(x: [n]f64) -> f64 = (sum i: 2.0 * x[i])"),
        expect![[r#"
            checked(f3)
            item_dependencies(f3)
            resolved(f3)
            signature(f3)
            tree(f3)
        "#]],
    );
}

#[test]
fn an_edit_of_a_signature_recomputes_its_callers() {
    recomputed(
        &three_hundred(),
        |s| replace(s, "def f70(x: [n]f64)", "def f70(x: [n + 0 * n]f64)"),
        expect![[r#"
            checked(f70)
            item_dependencies(f70)
            resolved(f70)
            signature(f70)
            tree(f70)
        "#]],
    );
    recomputed(
        &three_hundred(),
        |s| replace(s, "def f70(x: [n]f64)", "def f70(x: [m]f64)"),
        expect![[r#"
            checked(f140)
            checked(f141)
            checked(f70)
            checked(g140)
            checked(g141)
            item_dependencies(f70)
            resolved(f70)
            signature(f70)
            signature(g140)
            signature(g141)
            tree(f70)
            types_prepared(a.iv)
        "#]],
    );
}

#[test]
fn an_edit_of_an_inferred_body_reaches_callers_only_by_its_type() {
    let text = "def g(x: f64) = x + 1.0\ndef h(x: f64) -> f64 = g(x)\ndef k(x: f64) -> f64 = h(x)";
    recomputed(
        text,
        |s| replace(s, "x + 1.0", "x + 2.0"),
        expect![[r#"
            checked(g)
            item_dependencies(g)
            resolved(g)
            signature(g)
            tree(g)
        "#]],
    );
    recomputed(
        text,
        |s| replace(s, "x + 1.0", "(x, 1.0)"),
        expect![[r#"
            checked(g)
            checked(h)
            item_dependencies(g)
            resolved(g)
            signature(g)
            tree(g)
            types_prepared(a.iv)
        "#]],
    );
}

#[test]
fn text_before_a_definition_does_not_matter_to_it() {
    recomputed(
        &three_hundred(),
        |s| s.edit(FILE, 0..0, "\n\n  "),
        expect![[r#"
            nothing
        "#]],
    );
    let text = "-- One.\n--|Two.\n-- Three.\ndef f(x: f64) -> f64 = x\n-- Four.\n\n  -- Five.\n\ndo f(1.0) -- Six.";
    recomputed(
        text,
        |s| replace(s, "-- One.", ""),
        expect![[r#"
            nothing
        "#]],
    );
    recomputed(
        text,
        |s| replace(s, "-- Three.", ""),
        expect![[r#"
            checked(f)
            item_dependencies(f)
            resolved(f)
            signature(f)
            tree(f)
        "#]],
    );
    recomputed(
        text,
        |s| replace(s, "-- Five.", "-- 5."),
        expect![[r#"
            nothing
        "#]],
    );
    recomputed(
        text,
        |s| replace(s, "-- Six.", ""),
        expect![[r#"
            tree(do 1)
        "#]],
    );
    recomputed(
        &three_hundred(),
        |s| replace(s, "-- About f9.", "-- Something about f9."),
        expect![[r#"
            nothing
        "#]],
    );
}

#[test]
fn a_new_definition_disturbs_only_those_who_ask_for_its_name() {
    recomputed(
        &three_hundred(),
        |s| s.edit(FILE, 0..0, "def len(x: [n]f64) -> f64 = 1.0\n"),
        expect![[r#"
            checked(len)
            cyclic(a.iv)
            dependency_order(a.iv)
            duplicate_bindings(a.iv)
            item_dependencies(len)
            resolved(len)
            signature(len)
            tree(len)
            types_by_name(a.iv)
            types_prepared(a.iv)
            value_named()
            values_by_name(a.iv)
        "#]],
    );
}

#[test]
fn an_edit_in_an_imported_module_reaches_those_who_use_it() {
    let mut session = Session::with_query_log();
    session.set_text("b.iv", "def b(x: f64) -> f64 = x\ndef c(x: f64) -> f64 = x");
    session.set_text(FILE, "import \"./b.iv\"\ndef f(x: f64) -> f64 = b.b(x)\ndef g(x: f64) -> f64 = b.c(x)");
    assert_eq!(report(&session, FILE), "");
    let _ = session.ran_queries();
    session.set_text("b.iv", "def b(y: f64) -> (f64, f64) = (y, y)\ndef c(x: f64) -> f64 = x");
    let _ = session.diagnostics(FILE);
    let ran = session.ran_queries();
    assert!(ran.contains(&"checked(f)".to_owned()), "{ran:?}");
    assert!(!ran.contains(&"checked(g)".to_owned()), "{ran:?}");
}

#[test]
fn names_defined_twice() {
    check(
        "def f(x: f64) -> f64 = x\ntype T = f64\nlet (a, b) = (1, 2)\ntype T = A | f\nlet b = 3\ndef b(x: f64) -> f64 = x",
        expect![[r#"
            4: E0104 `T` the type `T` is defined twice
               2: first defined here
            4: E0104 `f` `f` is defined twice
               1: first defined here
            5: E0104 `b` `b` is defined twice
               3: first defined here
            6: E0104 `b` `b` is defined twice
               3: first defined here
        "#]],
    );
    check(
        "def f(x: f64) -> f64 = x\nderivative f(x; dx) = dx\nderivative f(x; dx) = dx",
        expect![[r#"
            3: E0104 `f` the derivative of `f` is defined twice
               2: first defined here
        "#]],
    );
}

#[test]
fn definitions_that_need_their_own_type() {
    check(
        "def f(x: f64) = f(x)",
        expect![[r#"
            1: E0211 `f` the result type of `f` must be written
        "#]],
    );
    check(
        "def f(x: f64) = g(x)\ndef g(x: f64) = f(x)\ndef h(x: f64) = g(x)",
        expect![[r#"
            1: E0211 `f` the result type of `f` must be written
            2: E0211 `g` the result type of `g` must be written
        "#]],
    );
    check("def f(x: f64) -> f64 = g(x)\ndef g(x: f64) = f(x)", expect![[""]]);
    check(
        "let x = y\nlet y = x + 1",
        expect![[r#"
            1: E0211 `y` `x` uses itself, through `y`
               1: bound here
            2: E0211 `x` `y` uses itself, through `x`
               2: bound here
        "#]],
    );
    check(
        "type T = U\ntype U = (T, f64)\ntype S = S(T, R) | N\ntype R = R(S)",
        expect![[r#"
            1: E0109 `T` the definition of `T` is circular
            2: E0109 `U` the definition of `U` is circular
        "#]],
    );
    check(
        "type T = [n]f64\nlet n = len(f(1.0))\ndef f(x: f64) -> T = [x]",
        expect![[r#"
            1: E0109 `T` the definition of `T` is circular
            2: E0211 `f` `n` uses itself, through `f`
               2: bound here
            3: E0211 `f` the signature of `f` depends on itself
        "#]],
    );
}

#[test]
fn imports() {
    check_modules(
        &[
            ("d/a.iv", "import \"./b.iv\"\nimport \"../c.iv\" as b\ndef f(x: f64) -> f64 = b.g(x)"),
            (
                "d/b.iv",
                "import \"a.iv\"\nimport nowhere\nimport \"./b.iv\" as me\ndef g(x: f64) -> f64 = a.f(x) + me.g(x)",
            ),
        ],
        expect![[r#"
            d/a.iv:
            1: E0103 `"./b.iv"` `d/b.iv` imports this module, directly or through other modules
            2: E0102 `"../c.iv"` cannot find module `c.iv`
            2: E0104 `b` the module name `b` is defined twice
               1: first defined here

            d/b.iv:
            1: E0103 `"a.iv"` `d/a.iv` imports this module, directly or through other modules
            2: E0102 `nowhere` cannot find module `nowhere`
            3: E0103 `"./b.iv"` this module imports itself

        "#]],
    );
    let mut session = Session::new();
    session.set_text("d/a.iv", "import \"./b.iv\"\nimport nowhere\nimport \"../c.iv\" as b");
    let missing: Vec<_> = session.missing_imports().into_iter().map(|m| m.module).collect();
    assert_eq!(missing, ["d/b.iv", "c.iv"]);
    session.set_text("./d/../c.iv", "");
    assert_eq!(session.missing_imports().len(), 1);
    session.remove("c.iv");
    assert_eq!(session.missing_imports().len(), 2);
    session.set_text("c.iv", "let x = 1");
    assert_eq!(session.items("c.iv").len(), 1);
}

#[test]
fn items_by_name_and_place() {
    let text =
        "-- a\ndef f(x: f64) -> f64 = x\nderivative f(x; dx) = dx\n\n\nlet (a, b) = (1, 2)\ndo 1\ndo 2\nlet _ = 1
import linalg\nlet _ = 2\nadjoint f(x; r) = r\ntype T = C(f64)\ndef C(x: f64) -> f64 = x\n";
    let session = session(text);
    let mut out = String::new();
    for item in session.items(FILE) {
        let _ = writeln!(out, "{} {:?} {:?}", item.start, item.kind, item.global);
        assert_eq!(session.item_at(FILE, item.start).as_ref(), Some(&item));
        let known =
            if item.kind == ItemKind::Type { session.type_item(&item.global) } else { session.item(&item.global) };
        assert_eq!(known.as_ref(), Some(&item));
    }
    expect![[r#"
        5 Def a.iv::f
        30 Derivative a.iv::derivative f
        57 Let a.iv::a
        77 Do a.iv::do 1
        82 Do a.iv::do 2
        87 Let a.iv::let 1
        97 Import a.iv::import linalg
        111 Let a.iv::let 2
        121 Adjoint a.iv::adjoint f
        141 Type a.iv::T
        157 Def a.iv::C
    "#]]
    .assert_eq(&out);
    assert_eq!(session.item(&GlobalName::new(FILE, "b")).map(|i| i.global), Some(GlobalName::new(FILE, "a")));
    assert_eq!(session.item_at(FILE, 55), None);
    for unknown in ["do 0", "do 3", "do x", "let 3", "derivative g", "import stats", "text", "T"] {
        assert_eq!(session.item(&GlobalName::new(FILE, unknown)), None, "{unknown}");
    }
}

#[test]
fn expressions_in_the_scope_of_a_module() {
    let session = session("def f(x: f64) = x\nlet a = 2.0");
    let check = |text: &str, expected: &str| {
        let found = session.check_expression(FILE, text).diagnostics;
        assert_eq!(found.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; "), expected);
    };
    check("f(a) + total([1.0])", "");
    check("g(1.0)", "`g` is not defined");
}

#[test]
fn the_library_has_no_errors() {
    assert_eq!(report(&Session::new(), ""), "");
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "that is what is tested")]
fn edits_fit_themselves_to_the_text() {
    let mut session = session("def f(é: f64) -> f64 = é");
    session.edit(FILE, 7..7, "x");
    session.edit(FILE, 400..300, "y");
    session.edit(FILE, 3..1, "z");
    session.edit("nowhere.iv", 0..1, "z");
    assert_eq!(session.text(FILE).as_deref(), Some("dzef f(xé: f64) -> f64 = éy"));
}

#[test]
fn a_snapshot_answers_on_another_thread_until_an_edit() {
    fn is_send<T: Send>(_: &T) {}
    let mut session = session(&three_hundred());
    let snapshot: Snapshot = session.snapshot();
    is_send(&snapshot);
    let thread = std::thread::Builder::new()
        .spawn(move || {
            let mut answers = 0;
            while snapshot.ask(|s| s.diagnostics(FILE)).is_some() {
                answers += 1;
            }
            answers
        })
        .unwrap();
    session.edit(FILE, 0..0, "\n");
    // The edit returned, so the reader has released the database.
    assert!(thread.join().is_ok());
}

#[test]
fn chains_may_be_as_long_as_a_file() {
    let mut text = String::new();
    for i in 0..3000 {
        let _ = writeln!(text, "def f{i}(x: f64) = f{}(x)\ntype T{i} = T{}", i + 1, i + 1);
    }
    text += "def f3000(x: f64) = x\ntype T3000 = f64";
    let mut session = session(&text);
    assert_eq!(report(&session, FILE), "");
    replace(&mut session, "def f3000(x: f64) = x", "def f3000(x: f64) = (x, x)");
    assert_eq!(report(&session, FILE), "");
    replace(&mut session, "def f3000(x: f64) = (x, x)", "def f3000(x: f64) = f0(x)");
    assert_eq!(session.diagnostics(FILE).len(), 3001);
}

#[test]
fn types_that_grow_without_bound_are_refused() {
    let grow = |item: &dyn Fn(usize) -> String| (0..60).map(item).collect::<Vec<_>>().join("\n");
    let check = |text: String, place: &str| {
        let found = report(&session(&text), FILE);
        assert!(found.lines().all(|line| line.contains("E0006")), "{found}");
        assert!(found.contains(&format!("E0006 `{place}` the type ")), "{found}");
    };
    let aliases = grow(&|i| format!("type T{i} = (T{}, T{})", i + 1, i + 1)) + "\ntype T60 = f64";
    check(aliases, "T47");
    let results = grow(&|i| format!("def f{i}(x: f64) = (f{}(x), f{}(x))", i + 1, i + 1)) + "\ndef f60(x: f64) = x";
    check(results, "(f48(x), f48(x))");
    let lets = "let a60 = 1.0\n".to_owned() + &grow(&|i| format!("let a{i} = (a{}, a{})", i + 1, i + 1));
    check(lets, "(a48, a48)");
    let deep: String = (0..3000).map(|i| format!("type T{i} = [2]T{}\n", i + 1)).collect();
    check(deep + "type T3000 = f64", "T2743");
}

/// A diagnostic in a partial derivative is a mistake in the table of scalar functions.
#[test]
fn partial_derivatives_are_sound() {
    let text = partials::SOURCE.as_str();
    assert_eq!(Session::new().diagnostics(partials::MODULE), [], "{text}");
    let formatted = format_file(text).unwrap();
    assert_eq!(formatted.text, text);
    for f in ScalarFn::ALL {
        assert_eq!(f.accuracy().is_some(), f.domain() != ScalarDomain::Int, "{f:?}");
        for (k, x) in f.arguments().iter().enumerate() {
            let name = partials::partial_name(DifferentiableOp::Scalar(*f), k);
            let head = format!("def {}(", name.name);
            assert_eq!(text.contains(&head), f.domain() != ScalarDomain::Int, "{f:?} by {}", x.name);
        }
    }
}

/// Pieces for edits: items, halves of items, names.
const PIECES: &[&str] = &[
    "def f(x: f64) -> f64 = g(x)\n",
    "def g(x: f64) = f(x) + a\n",
    "def g(x: f64) = x\n",
    "type T = A(U) | B\n",
    "type U = [n]T\n",
    "type U(n) = (T, [n]f64)\n",
    "let a = f(1.0)\n",
    "let n = 3\n",
    "let (a, n) = (1.0, 2)\n",
    "import \"./b.iv\"\n",
    "import \"./a.iv\" as b\n",
    "do b.g(a)\n",
    "derivative f(x; dx) = dx\n",
    "def h(x: U(3)) -> [n]T = match x { (B, y): [A(x)] }\n",
    "(",
    "\n",
    "-- c\n",
    "def ",
    "f",
    "é",
];

proptest! {
    /// The diagnostics of a text do not depend on the edits that produced it.
    #[test]
    fn edits_end_where_a_new_session_begins(
        edits in prop::collection::vec((any::<bool>(), 0..200_usize, 0..30_usize, 0..PIECES.len()), 1..12)
    ) {
        let modules = [FILE, "b.iv"];
        let mut edited = Session::new();
        for module in modules {
            edited.set_text(module, "");
        }
        for (first, at, length, piece) in edits {
            let module = modules[usize::from(first)];
            edited.edit(module, at..at + length, PIECES[piece]);
            let _ = edited.diagnostics(module);
        }
        let mut new = Session::new();
        for module in modules {
            new.set_text(module, &edited.text(module).unwrap());
        }
        for module in modules {
            prop_assert_eq!(edited.diagnostics(module), new.diagnostics(module));
        }
    }
}

/// Compares the forms that are recomputed if an adjoint is requested after a change.
#[track_caller]
fn made_again(text: &str, change: impl FnOnce(&mut Session), expected: Expect) {
    let mut session = session(text);
    assert_eq!(report(&session, FILE), "");
    let adjoint = |session: &Session| {
        let callee = Arc::new(FunctionKey::new(GlobalName::new(FILE, "loss"), Vec::new()));
        let of = DerivativeKind::Adjoint { outputs: Arc::from([0]), wrt: Arc::from([0]) };
        session.ssa(&Arc::new(callee.derivative(of))).map(|ssa| ssa.to_string())
    };
    assert!(adjoint(&session).is_some());
    let _ = session.ran_queries();
    change(&mut session);
    assert!(adjoint(&session).is_some());
    let mut ran = session.ran_queries();
    ran.retain(|query| ["core(", "stages(", "ssa("].iter().any(|form| query.starts_with(form)));
    ran.sort();
    expected.assert_eq(&if ran.is_empty() { "nothing".to_owned() } else { ran.join(" ") });
}

const LOSS: &str = "\
def scale(x: [n]f64) -> [n]f64 = for i: 2.0 * x[i]

def other(x: [n]f64) -> [n]f64 = scale(x)

def square(x: [n]f64) -> [n]f64 = for i: x[i] * x[i]

def loss(x: [n]f64) -> f64 = let y = square(scale(x)) in sum i: y[i]
";

#[test]
fn an_edit_makes_the_forms_again_that_it_reaches() {
    // The definition's computation changes, and the forms of its callers contain it.
    made_again(
        LOSS,
        |s| replace(s, "2.0 * x[i]", "3.0 * x[i]"),
        expect!["core(scale) ssa(loss) ssa(loss_adj{0; 0}) ssa(scale) stages(loss) stages(scale)"],
    );
    // Only the spelling changes, so the forms of its callers stay.
    made_again(
        LOSS,
        |s| replace(s, "for i: x[i] * x[i]", "for i: (x[i] * x[i])"),
        expect!["core(square) ssa(square) stages(square)"],
    );
    // The adjoint does not depend on it.
    made_again(LOSS, |s| replace(s, "= scale(x)", "= 2 * scale(x)"), expect!["nothing"]);
    // Text before an item does not affect it.
    made_again(LOSS, |s| replace(s, "def scale", "-- A comment.\n\ndef scale"), expect!["nothing"]);
}

#[test]
fn definitions_that_need_themselves_have_no_form() {
    let text = "\
def even(n: i64) -> bool = if n == 0 then true else odd(n - 1)
def odd(n: i64) -> bool = if n == 0 then false else even(n - 1)
def asks(n: i64) -> bool = even(n)
";
    let session = session(text);
    for name in ["even", "odd", "asks"] {
        let callee = Arc::new(FunctionKey::new(GlobalName::new(FILE, name), Vec::new()));
        let why = session.stages(&callee).map_err(|why| why.reason);
        assert_eq!(why.err(), Some(NoCoreFormReason::Recursion), "{name}");
    }
}

#[test]
fn long_chains_of_calls_have_forms() {
    let mut text = "def f0(x: [n]f64) -> [n]f64 = for i: x[i] * x[i]\n".to_owned();
    for k in 1..3000 {
        let _ = writeln!(text, "def f{k}(x: [n]f64) -> [n]f64 = for i: sin(f{}(x)[i] + {k})", k - 1);
    }
    let mut session = session(&text);
    let callee = Arc::new(FunctionKey::new(GlobalName::new(FILE, "f2999"), Vec::new()));
    assert!(session.stages(&callee).is_ok());
    // The validation of unchanged results nests as deep.
    replace(&mut session, "x[i] * x[i]", "x[i] + x[i]");
    assert!(session.stages(&callee).is_ok());
}

/// Returns the words of a text before a parenthesis, with their modules.
fn called_in(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let pieces: Vec<&str> = text.split('(').collect();
    let before = pieces.split_last().map_or(&[][..], |(_, before)| before);
    let words = before.iter().filter_map(|before| before.rsplit(|c: char| !is_part(c)).next());
    // In a range, the end is called.
    let words = words.filter_map(|word| word.rsplit("..").next());
    words.map(|word| word.trim_matches('.').to_owned()).filter(|word| !word.is_empty()).collect()
}

#[test]
fn suggested_names_exist() {
    let session = Session::new();
    let exists = |module: &str, value: &str| session.item(&GlobalName::new(module, value)).is_some();
    for name in lang_resolve::foreign_names::all_library_names() {
        let (module, value) = name.split_once('.').unwrap();
        assert!(exists(module, value), "the library has no `{name}`");
    }
    for (name, help) in lang_resolve::suggest::all_value_helps() {
        for code in help.split('`').skip(1).step_by(2) {
            for called in called_in(code) {
                let known = match called.split_once('.') {
                    Some((module, value)) => exists(module, value),
                    // Names of one letter and `acc` represent those of the program.
                    None => {
                        let words = lang_resolve::vocabulary::describe(&called);
                        called.len() == 1 || !words.is_empty() || exists(PRELUDE, &called)
                    }
                };
                assert!(known, "of `{name}` the help calls `{called}`, which does not exist");
            }
        }
    }
}
