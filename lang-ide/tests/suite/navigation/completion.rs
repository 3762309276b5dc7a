//! Tests of completion and signature help.

use std::fmt::Write;

use expect_test::{Expect, expect};
use lang_ide::completion::{CompletionKind, complete};
use lang_ide::name_docs::DocumentedName;
use lang_ide::names::{LanguageWord, NameRole, NameTarget, uses};
use lang_ide::signature::signature_help;

use crate::navigation::support::{MAIN, applied, corpus, line_and_column, marked, session};

/// Prints the first eight candidates at the mark.
#[track_caller]
fn check(text: &str, expected: &Expect) {
    let (text, at) = marked(text);
    let session = session(&text);
    let found = complete(&session, MAIN, at);
    let mut out = String::new();
    for item in found.items.iter().take(8) {
        let edits: Vec<&str> = item.edits.iter().map(|e| e.text.trim_end()).collect();
        let insert = if item.insert == item.label { String::new() } else { format!(" => {:?}", item.insert) };
        let edits = if edits.is_empty() { String::new() } else { format!(" + {edits:?}") };
        let _ = writeln!(out, "{} ({:?}) {}{insert}{edits}", item.label, item.kind, item.detail);
    }
    if found.items.len() > 8 {
        let _ = writeln!(out, "…");
    }
    expected.assert_eq(&out);
}

#[test]
fn names_that_begin_so_come_first() {
    check(
        "def f(x: [n]f64) -> f64 = su$0\n",
        &expect![[r#"
            sum (Form) sum i < n: … => "sum ${1:i} < ${2:n}: $0"
            sum_of_squares (Function) import linalg => "linalg.sum_of_squares" + ["import linalg"]
            cumulative_sum (Function) import signal => "signal.cumulative_sum" + ["import signal"]
            solve_upper (Function) import linalg => "linalg.solve_upper" + ["import linalg"]
            solve_upper_matrix (Function) import linalg => "linalg.solve_upper_matrix" + ["import linalg"]
            softplus (Function) 
            exp_square (Function) import stats => "stats.exp_square" + ["import stats"]
            log1p_square (Function) import stats => "stats.log1p_square" + ["import stats"]
            …
        "#]],
    );
}

#[test]
fn locals_come_first() {
    check(
        "def f(x: [n]f64, k: i64) -> f64 =\n  let y = x[k]\n  in sum i < n: $0",
        &expect![[r#"
            i (Local(Index)) i64
            y (Local(Let)) f64
            n (Local(ImplicitSize)) i64
            k (Local(Param)) i64
            x (Local(Param)) [n]f64
            f (Function) 
            concat (Function) 
            histogram (Function) 
            …
        "#]],
    );
    check(
        "def f(x: [n]f64, k: i64) -> f64 =\n  let kk = $0 in 1.0\n",
        &expect![[r#"
        n (Local(ImplicitSize)) i64
        k (Local(Param)) i64
        x (Local(Param)) [n]f64
        f (Function) 
        concat (Function) 
        histogram (Function) 
        iota (Function) 
        map (Function) 
        …
    "#]],
    );
    check(
        "def f(x: [n]f64) -> f64 = (sum i: x[i]) + $0\n",
        &expect![[r#"
        n (Local(ImplicitSize)) i64
        x (Local(Param)) [n]f64
        f (Function) 
        concat (Function) 
        histogram (Function) 
        iota (Function) 
        map (Function) 
        replicate (Function) 
        …
    "#]],
    );
}

#[test]
fn arguments_that_fit_come_first() {
    check(
        "def g(a: f64, b: [n]f64) -> f64 = a * b[0]\ndef f(s: f64, v: [n]f64) -> f64 = g(s, $0)\n",
        &expect![[r#"
        v (Local(Param)) [n]f64
        n (Local(ImplicitSize)) i64
        s (Local(Param)) f64
        f (Function) 
        g (Function) 
        concat (Function) 
        histogram (Function) 
        iota (Function) 
        …
    "#]],
    );
}

#[test]
fn members_of_modules_and_records() {
    check(
        "import linalg as l\ndef f(x: [n]f64) -> f64 = l.so$0\n",
        &expect![[r#"
        solve (Function) 
        solve_lower (Function) 
        solve_lower_matrix (Function) 
        solve_matrix (Function) 
        solve_positive (Function) 
        solve_upper (Function) 
        solve_upper_matrix (Function) 
        cholesky_solve (Function) 
        …
    "#]],
    );
    check(
        "type P = {at: f64, turn: f64}\ndef f(p: P) -> f64 = p.$0\n",
        &expect![[r#"
        at (Field) f64
        turn (Field) f64
    "#]],
    );
    check(
        "type P = {at: f64, turn: f64}\ndef f(p: [n]P) -> f64 = sum i: p[i].$0 + 1\ndef g() -> i64 = 1\n",
        &expect![[r#"
            at (Field) f64
            turn (Field) f64
        "#]],
    );
    check(
        "let t = (1.0, [2])\ndo t.$0\n",
        &expect![[r#"
        0 (Field) f64
        1 (Field) [1]i64
    "#]],
    );
}

#[test]
fn types_and_sizes() {
    check(
        "type Tree = Leaf\ndef f(x: $0",
        &expect![[r#"
            Tree (Type) 
            bool (Type) 
            f32 (Type) 
            f64 (Type) 
            i64 (Type) 
            rel (Keyword) rel[n, m]
        "#]],
    );
    check(
        "type Tree = Leaf\ndef f(x: [n, m]f64, y: [$0",
        &expect![[r#"
            m (Local(ImplicitSize)) i64
            n (Local(ImplicitSize)) i64
            max (Function) 
            min (Function) 
        "#]],
    );
    check(
        "def f(x: f64) -> $0",
        &expect![[r#"
        bool (Type) 
        f32 (Type) 
        f64 (Type) 
        i64 (Type) 
        rel (Keyword) rel[n, m]
    "#]],
    );
    check(
        "def f(x: a) -> a where a: $0",
        &expect![[r#"
        num (Keyword) 
        real (Keyword) 
    "#]],
    );
}

#[test]
fn arguments_by_name() {
    check(
        "def f(x: f64, y: f64) -> f64 = x * y\ndo grad(f, w$0",
        &expect![[r#"
            wrt (Argument) the parameters to differentiate with respect to => "wrt: "
            zip_with (Function) 
            while (Keyword) 
            with (Keyword) 
        "#]],
    );
    check(
        "def f(x: f64, y: f64) -> f64 = x * y\ndo grad(f, wrt: $0",
        &expect![[r#"
        x (Local(Param)) parameter
        y (Local(Param)) parameter
    "#]],
    );
    check(
        "def f(x: f64, y: f64) -> f64 = x * y\ndo grad(f, wrt: (x, $0))(1, 2)",
        &expect![[r#"
        x (Local(Param)) parameter
        y (Local(Param)) parameter
    "#]],
    );
    check(
        "do plot([1.0], \"hist$0\")\n",
        &expect![[r#"
        histogram (Text) x: the number of values in each of several intervals of equal width.
    "#]],
    );
}

#[test]
fn words_imports_and_symbols() {
    check(
        "d$0",
        &expect![[r#"
        def (Form) def f(x: T) -> U = … => "def ${1:f}(${2:x}: ${3:[n]f64}) -> ${4:f64} =\n  $0"
        derivative (Form) derivative f(x; dx) = … => "derivative ${1:f}(${2:x}; ${3:dx}) = $0"
        do (Form) do … => "do $0"
        adjoint (Form) adjoint f(x; dy) = … => "adjoint ${1:f}(${2:x}; ${3:dy}) = $0"
    "#]],
    );
    // A module that is not imported yet.
    check(
        "def f(x: [n]f64) -> f64 = stats.med$0\n",
        &expect![[r#"
        median (Function)  + ["import stats"]
        multivariate_normal_log_likelihood (Function)  + ["import stats"]
        multivariate_normal_logpdf (Function)  + ["import stats"]
        normal_log_likelihood (Function)  + ["import stats"]
        sample_sd (Function)  + ["import stats"]
    "#]],
    );
    check("def f(stats: {a: f64}) -> f64 = stats.m$0\n", &expect![[r#""#]]);
    check(
        "import $0",
        &expect![[r#"
        linalg (Module) 
        nn (Module) 
        ode (Module) 
        optim (Module) 
        rand (Module) 
        signal (Module) 
        stats (Module) 
    "#]],
    );
    check(
        "-- Mine.\n\ndef f(x: [n]f64) -> f64 = solve$0\n",
        &expect![[r#"
        solve (Function) import linalg => "linalg.solve" + ["import linalg"]
        solve_downhill (Function) import optim => "optim.solve_downhill" + ["import optim"]
        solve_lower (Function) import linalg => "linalg.solve_lower" + ["import linalg"]
        solve_lower_matrix (Function) import linalg => "linalg.solve_lower_matrix" + ["import linalg"]
        solve_matrix (Function) import linalg => "linalg.solve_matrix" + ["import linalg"]
        solve_positive (Function) import linalg => "linalg.solve_positive" + ["import linalg"]
        solve_upper (Function) import linalg => "linalg.solve_upper" + ["import linalg"]
        solve_upper_matrix (Function) import linalg => "linalg.solve_upper_matrix" + ["import linalg"]
        …
    "#]],
    );
    check(
        "import stats\ndef f(x: [n]f64) -> f64 = linal$0\n",
        &expect![[r#"
        linalg (Module) import linalg + ["import linalg"]
        multivariate_normal_log_likelihood (Function) stats => "stats.multivariate_normal_log_likelihood"
        multivariate_normal_logpdf (Function) stats => "stats.multivariate_normal_logpdf"
    "#]],
    );
    check(
        "def f() -> f64 = \\alp$0\n",
        &expect![[r#"
        \alpha (Symbol) α => "α"
    "#]],
    );
    check("-- a comm$0\n", &expect![]);
    check("def $0", &expect![]);
}

#[test]
fn more_is_said_when_asked() {
    let session = session("--| Doubles.\ndef f(x: f64) = 2 * x\n");
    let found = complete(&session, MAIN, 30);
    for item in found.items {
        if let Some(subject) = item.subject {
            assert_eq!(DocumentedName::from_key(&subject.key()), Some(subject.clone()));
            assert!(subject.docs(&session).is_some(), "{subject:?}");
        }
    }
    let said = DocumentedName::from_key("value\nmain.iv\nf").and_then(|s| s.docs(&session)).expect("a definition");
    assert_eq!((said.signature.as_str(), said.docs.as_str()), ("def f(x: f64) -> f64", "Doubles."));
}

#[test]
fn an_import_that_is_added_is_there() {
    let text = "-- Mine.\n\n--| Docs.\ndef f(x: [n]f64) -> f64 = dot";
    let found = complete(&session(text), MAIN, u32::try_from(text.len()).unwrap());
    let dot = found.items.iter().find(|i| i.insert == "linalg.dot").expect("a definition in the library");
    assert_eq!(applied(text, &dot.edits), "-- Mine.\n\nimport linalg\n\n--| Docs.\ndef f(x: [n]f64) -> f64 = dot");
}

#[track_caller]
fn check_call(text: &str, expected: &Expect) {
    let (text, at) = marked(text);
    let session = session(&text);
    let mut out = String::new();
    for help in signature_help(&session, MAIN, at) {
        let active = help.active.map_or("", |nth| &help.label[help.parameters[nth].range()]);
        let _ = writeln!(out, "{} [{active}] {}", help.label, help.docs.lines().next().unwrap_or_default());
    }
    expected.assert_eq(&out);
}

#[test]
fn signatures() {
    check_call(
        "--| Weighs.\ndef g(a: f64, b: [n]f64) -> f64 = a * b[0]\ndo g(1.0, [2$0])\n",
        &expect![[r#"
        g(a: f64, b: [n]f64) -> f64 [b: [n]f64] Weighs.
    "#]],
    );
    check_call(
        "import linalg\ndo linalg.solve($0",
        &expect![[r#"
            solve(a: [n, n]t, b: [n]t) -> [n]t where t: real [a: [n, n]t] Solves `a x = b` by LU factorisation. Fails if `a` is singular.
        "#]],
    );
    check_call(
        "do max(1, $0)",
        &expect![[r#"
        max(x: a, y: a) -> a where a: num [y: a] The greater; NaN if either argument is NaN.
    "#]],
    );
    check_call(
        "do assert(1 < 2, $0",
        &expect![[r#"
            assert(p, "text") ["text"] It is (); it fails with the text if p is false.
        "#]],
    );
    check_call(
        "do grad($0)",
        &expect![[r#"
            grad(f)(a, b) [f] The gradient of a real-valued f with respect to each argument; grad(f, wrt: a)(a, b): with respect to a only.
        "#]],
    );
    check_call(
        "def g(a: f64, b: f64) -> f64 = a * b\ndo grad(g)(1, $0)",
        &expect![[r#"
            grad(g)(a: f64, b: f64) [b: f64] grad(f)(a, b): the gradient of a real-valued f with respect to each argument; grad(f, wrt: a)(a, b): with respect to a only.
        "#]],
    );
    check_call(
        "type T(a) = Leaf | Node(a, T(a))\ndo Node(1, $0",
        &expect![[r#"
        Node(a, T(a)) -> T(a) [T(a)] 
    "#]],
    );
    check_call(
        "def f(h: (f64, f64) -> f64) -> f64 = h(1, $0)\n",
        &expect![[r#"
        h(f64, f64) -> f64 [f64] 
    "#]],
    );
    check_call(
        "def g(a: f64, b: f64) -> f64 = a * b\ndo g((sum i < 2, j < 3: 1.0), $0)",
        &expect![[r#"
        g(a: f64, b: f64) -> f64 [b: f64] 
    "#]],
    );
    check_call("do 1 + $0", &expect![]);
    check_call("def f(x: $0", &expect![]);
    check_call("def g(a: f64, b: f64) -> f64 = a\ndo [g(1, 2), $0]", &expect![]);
}

/// A name is offered wherever it is used, before and after its first letter.
#[test]
fn every_name_is_offered_where_it_is_used() {
    let (session, modules) = corpus();
    let mut use_count = 0;
    let mut missing = Vec::new();
    for module in modules {
        let text = session.text(&module).expect("a module");
        for item in session.items(&module) {
            for found in uses(&session, &item).iter().filter(|u| u.role == NameRole::Use) {
                use_count += 1;
                if matches!(found.meaning, NameTarget::Word(LanguageWord::Keyword))
                    || text[found.span.range()] != *found.name
                    || use_count % 5 > 0
                {
                    continue;
                }
                let inside = text[found.span.range()].chars().next().map_or(0, char::len_utf8);
                for at in [found.span.start, found.span.start + u32::try_from(inside).unwrap()] {
                    let offered = complete(&session, &module, at);
                    let known = offered.items.iter().any(|i| i.label == *found.name);
                    // The fields of a record literal are offered only if a type declares them.
                    let literal = matches!(found.meaning, NameTarget::Field(..))
                        && !text[..found.span.start as usize].ends_with('.');
                    // After `?` a name is usually new.
                    let unknown = text[..found.span.start as usize].ends_with('?');
                    if !known && !literal && !unknown {
                        let line = text.lines().nth(text[..at as usize].matches('\n').count()).unwrap_or_default();
                        missing.push(format!(
                            "{module}:{} {} {:?} in {line}",
                            line_and_column(&text, at),
                            found.name,
                            found.meaning
                        ));
                    }
                    assert!(offered.items.iter().all(|i| !matches!(i.kind, CompletionKind::Symbol)));
                }
            }
        }
    }
    let shown: Vec<&String> = missing.iter().take(25).collect();
    assert!(missing.is_empty(), "{} of {use_count}: {shown:#?}", missing.len());
}
