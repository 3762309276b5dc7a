//! Tests of rename: the edits, the refusals, and that no other meaning changes.

use std::collections::{BTreeMap, HashMap};

use expect_test::{Expect, expect};
use lang_ide::names::{NameRole, NameTarget, uses};
use lang_ide::rename::{prepare_rename, rename};
use lang_ide::{Edit, Session};

use crate::navigation::support::{MAIN, applied, corpus, marked, session};

#[track_caller]
fn check(text: &str, new: &str, expected: &Expect) {
    let (text, at) = marked(text);
    let session = session(&text);
    let out = match rename(&session, MAIN, at, new) {
        Ok(edits) => applied(&text, &edits),
        Err(message) => format!("! {message}\n"),
    };
    expected.assert_eq(&out);
}

#[test]
fn a_definition_with_its_rules_and_uses() {
    check(
        "def sq(x: [n]f64) -> f64 = sum i: x[i]^2
derivative sq(x; dx) = 2 * (sum i < n: x[i] * dx[i])
do grad($0sq, wrt: x)([1.0, 2.0])
",
        "norm2",
        &expect![[r#"
            def norm2(x: [n]f64) -> f64 = sum i: x[i]^2
            derivative norm2(x; dx) = 2 * (sum i < n: x[i] * dx[i])
            do grad(norm2, wrt: x)([1.0, 2.0])
        "#]],
    );
}

#[test]
fn names_in_documentation() {
    let text = "--| Squares `x`, with `sq` of `xs`.
def sq(x: f64) -> f64 = x * x
--| As `sq`, by another `x`; sq without backticks stays.
def other(x: f64) -> f64 = sq(x)
--| `sq` is its parameter.
def own(sq: f64) -> f64 = sq
-- `sq` in a comment.
";
    let at = |marked: &str| text.replacen(&marked.replace("$0", ""), marked, 1);
    check(
        &at("def $0sq"),
        "square",
        &expect![[r#"
            --| Squares `x`, with `square` of `xs`.
            def square(x: f64) -> f64 = x * x
            --| As `square`, by another `x`; sq without backticks stays.
            def other(x: f64) -> f64 = square(x)
            --| `sq` is its parameter.
            def own(sq: f64) -> f64 = sq
            -- `sq` in a comment.
        "#]],
    );
    check(
        &at("def sq($0x"),
        "y",
        &expect![[r#"
            --| Squares `y`, with `sq` of `xs`.
            def sq(y: f64) -> f64 = y * y
            --| As `sq`, by another `x`; sq without backticks stays.
            def other(x: f64) -> f64 = sq(x)
            --| `sq` is its parameter.
            def own(sq: f64) -> f64 = sq
            -- `sq` in a comment.
        "#]],
    );
}

/// Examples and evaluated comments stay valid. Variables that they bind, fields and argument labels
/// of the same name are not renamed.
#[test]
fn names_in_the_code_of_comments() {
    check(
        "--| The square.
--|
--| ```iverson
--| let y = sq(2.0)
--| in sq(y) + r.sq
--| ```
--| ```output
--| sq(4.0)
--| ```
def $0sq(x: f64) -> f64 = x * x
-- >>> sq(3.0) + other(sq: 1.0)
  -- >>> sum sq < 3: f64(sq)
-- sq(3.0)
",
        "square",
        &expect![[r#"
            --| The square.
            --|
            --| ```iverson
            --| let y = square(2.0)
            --| in square(y) + r.sq
            --| ```
            --| ```output
            --| sq(4.0)
            --| ```
            def square(x: f64) -> f64 = x * x
            -- >>> square(3.0) + other(sq: 1.0)
              -- >>> sum sq < 3: f64(sq)
            -- sq(3.0)
        "#]],
    );
}

#[test]
fn a_parameter_where_it_is_differentiated_by() {
    check(
        "def f(x$0: f64, y: f64) -> f64 = x * y\ndo grad(f, wrt: x)(1, 2)\ndo grad(\\x: x * x, wrt: x)(2)\n",
        "z",
        &expect![[r#"
            def f(z: f64, y: f64) -> f64 = z * y
            do grad(f, wrt: z)(1, 2)
            do grad(\x: x * x, wrt: x)(2)
        "#]],
    );
}

#[test]
fn a_size_in_signature_and_rule() {
    check(
        "def f(x: [n]f64) -> f64 = sum i < n$0: x[i]\nderivative f(x; dx) = sum i < n: dx[i]\n",
        "k",
        &expect![[r#"
        def f(x: [k]f64) -> f64 = sum i < k: x[i]
        derivative f(x; dx) = sum i < k: dx[i]
    "#]],
    );
}

#[test]
fn fields_and_variables_of_one_name() {
    let text = "type P = {at: f64, turn: f64}\ndef f(p: P) -> f64 = let {at, turn: t} = p in at + t + p.at\n";
    check(
        &text.replace("in at", "in $0at"),
        "x",
        &expect![[r#"
        type P = {at: f64, turn: f64}
        def f(p: P) -> f64 = let {at: x, turn: t} = p in x + t + p.at
    "#]],
    );
    check(
        &text.replace("p.at", "p.$0at"),
        "x",
        &expect![[r#"
        type P = {x: f64, turn: f64}
        def f(p: P) -> f64 = let {x: at, turn: t} = p in at + t + p.x
    "#]],
    );
    check(
        &text.replace("p.at", "p.$0at"),
        "turn",
        &expect![[r#"
            ! `turn` has another meaning in line 1
        "#]],
    );
    check(
        &text.replace("p.at", "p.$0at"),
        "type",
        &expect![[r#"
        type P = {type: f64, turn: f64}
        def f(p: P) -> f64 = let {type: at, turn: t} = p in at + t + p.type
    "#]],
    );
}

#[test]
fn modules() {
    check(
        "import linalg\ndef f(x: [n]f64) -> f64 = $0linalg.dot(x, x)\n",
        "la",
        &expect![[r#"
        import linalg as la
        def f(x: [n]f64) -> f64 = la.dot(x, x)
    "#]],
    );
    check(
        "import linalg as l\ndef f(x: [n]f64) -> f64 = $0l.dot(x, x)\n",
        "la",
        &expect![[r#"
        import linalg as la
        def f(x: [n]f64) -> f64 = la.dot(x, x)
    "#]],
    );
    check(
        "import linalg as l\ndef f(x: [n]f64, m: f64) -> f64 = m * $0l.dot(x, x)\n",
        "m",
        &expect![[r#"
            ! `l` in line 2 would change its meaning
        "#]],
    );
}

#[test]
fn types_and_constructors() {
    let text = "type T(a) = T(a) | Leaf\ndef f(t: T(f64)) -> f64 = match t { T(x): x, Leaf: 0.0 }\n";
    check(
        &text.replace("type T", "type $0T"),
        "Tree",
        &expect![[r#"
        type Tree(a) = T(a) | Leaf
        def f(t: Tree(f64)) -> f64 = match t { T(x): x, Leaf: 0.0 }
    "#]],
    );
    check(
        &text.replace("{ T(", "{ $0T("),
        "Node",
        &expect![[r#"
        type T(a) = Node(a) | Leaf
        def f(t: T(f64)) -> f64 = match t { Node(x): x, Leaf: 0.0 }
    "#]],
    );
    check(
        &text.replace("| Leaf", "| $0Leaf"),
        "T",
        &expect![[r#"
            ! `T` already exists
        "#]],
    );
    check(
        &text.replace("type T(a)", "type T($0a)"),
        "b",
        &expect![[r#"
        type T(b) = T(b) | Leaf
        def f(t: T(f64)) -> f64 = match t { T(x): x, Leaf: 0.0 }
    "#]],
    );
}

#[test]
fn what_is_refused() {
    check(
        "def f(x: f64) -> f64 = let y = x in y * $0x\n",
        "y",
        &expect![[r#"
            ! `x` in line 1 would change its meaning
        "#]],
    );
    check(
        "def f(x: f64, y: f64) -> f64 = y$0\n",
        "x",
        &expect![[r#"
            ! `x` has another meaning in line 1
        "#]],
    );
    check(
        "def f(x$0: f64, y: f64) -> f64 = y\n",
        "y",
        &expect![[r#"
            ! `y` has another meaning in line 1
        "#]],
    );
    check(
        "def f(x: f64) -> f64 = x\ndef g$0(x: f64) -> f64 = x\n",
        "f",
        &expect![[r#"
            ! `f` already exists
        "#]],
    );
    check(
        "def g$0(x: f64) -> f64 = exp(x)\n",
        "exp",
        &expect![[r#"
            ! `exp` in line 1 would change its meaning
        "#]],
    );
    check(
        "def g$0(x: f64) -> f64 = x\ndef h(x: [n]f64) -> [n]f64 = map(g, x)\n",
        "map",
        &expect![[r#"
            ! `map` in line 2 would change its meaning
        "#]],
    );
    check(
        "def g$0(x: f64) -> f64 = x\n",
        "let",
        &expect![[r#"
        ! `let` is a reserved word
    "#]],
    );
    check(
        "def g$0(x: f64) -> f64 = x\n",
        "2g",
        &expect![[r#"
        ! `2g` is not a name: a name consists of letters, digits, `_` and `'`, and must not begin with a digit
    "#]],
    );
    check(
        "def g$0(x: f64) -> f64 = x\n",
        "π",
        &expect![[r#"
        ! `π` is another spelling of `pi`
    "#]],
    );
    check(
        "def g(x: f64) -> f64 = $0exp(x)\n",
        "e",
        &expect![[r#"
        ! `exp` is a word of the language
    "#]],
    );
    check(
        "import linalg\ndo linalg.$0dot([1.0], [2.0])\n",
        "e",
        &expect![[r#"
        ! `dot` belongs to the library
    "#]],
    );
    check(
        "do nope$0\n",
        "e",
        &expect![[r#"
        ! `nope` is not defined
    "#]],
    );
    assert_eq!(prepare_rename(&session("def f() -> i64 = 1\n"), MAIN, 16).unwrap_err(), "no name at the cursor");
}

#[test]
fn across_modules() {
    let mut session = Session::new();
    session.set_text("lib/a.iv", "def twice(x: f64) -> f64 = 2 * x\ntype P = {at: f64}\n");
    session.set_text("b.iv", "import \"./lib/a.iv\"\ndef f(p: a.P) -> f64 = a.twice(p.at)\n");
    session.set_text("c.iv", "import \"./lib/a.iv\" as q\ndo q.twice(1)\ndef twice(x: f64) -> f64 = x\n");
    let at = |code: &str, on: usize| {
        u32::try_from(session.text("b.iv").unwrap().find(code).expect("the code") + on).unwrap()
    };
    let all = |edits: Vec<Edit>| {
        let mut by: BTreeMap<String, Vec<Edit>> = BTreeMap::new();
        edits.into_iter().for_each(|e| by.entry(e.at.module.to_string()).or_default().push(e));
        by.into_iter().map(|(m, e)| format!("{m}:\n{}", applied(&session.text(&m).unwrap(), &e))).collect::<String>()
    };
    expect![[r#"
        b.iv:
        import "./lib/a.iv"
        def f(p: a.P) -> f64 = a.double(p.at)
        c.iv:
        import "./lib/a.iv" as q
        do q.double(1)
        def twice(x: f64) -> f64 = x
        lib/a.iv:
        def double(x: f64) -> f64 = 2 * x
        type P = {at: f64}
    "#]]
    .assert_eq(&all(rename(&session, "lib/a.iv", 5, "double").unwrap()));
    expect![[r#"
        b.iv:
        import "./lib/a.iv"
        def f(p: a.P) -> f64 = a.twice(p.place)
        lib/a.iv:
        def twice(x: f64) -> f64 = 2 * x
        type P = {place: f64}
    "#]]
    .assert_eq(&all(rename(&session, "b.iv", at("p.at)", 2), "place").unwrap_or_else(|e| panic!("{e}"))));
    // The parameter must not capture the name of the imported module.
    expect!["`a` in line 2 would change its meaning"]
        .assert_eq(&rename(&session, "b.iv", at("p: a.P", 0), "a").map_or_else(|e| e.to_string(), all));
}

/// Renaming to a fresh name leaves the diagnostics unchanged.
#[test]
fn fresh_names_change_nothing_else() {
    let (session, modules) = corpus();
    let own: Vec<&String> = modules.iter().filter(|m| m.ends_with(".iv")).collect();
    let mut by_kind: HashMap<(&str, std::mem::Discriminant<NameTarget>), usize> = HashMap::new();
    let mut renamed = 0;
    // A third of the programs suffices.
    for module in own.into_iter().step_by(3) {
        for item in session.items(module) {
            for found in uses(&session, &item).iter().filter(|u| u.role == NameRole::Declaration) {
                let count = by_kind.entry((module.as_str(), std::mem::discriminant(&found.meaning))).or_default();
                *count += 1;
                // Renames only the second declaration of each kind in each program.
                if *count != 2 {
                    continue;
                }
                let edits = match rename(&session, module, found.span.start, "freshly") {
                    Ok(edits) => edits,
                    Err(message) if message.contains("library") => continue,
                    Err(message) => panic!("{module} {found:?}: {message}"),
                };
                renamed += 1;
                let mut after = Session::new();
                for m in session.modules().iter().filter(|m| m.ends_with(".iv")) {
                    let own: Vec<Edit> = edits.iter().filter(|e| e.at.module == *m).cloned().collect();
                    after.set_text(m, &applied(&session.text(m).unwrap(), &own));
                }
                let codes = |s: &Session| s.diagnostics(module).iter().map(|d| d.code).collect::<Vec<_>>();
                assert_eq!(codes(&session), codes(&after), "{module} {found:?}");
            }
        }
    }
    assert!(renamed > 100, "{renamed}");
}

/// Two records are the same if they have the same fields and a value can flow from one to the
/// other. A record in the library with these fields matters only if the program uses it.
#[test]
fn fields_that_the_library_has_too() {
    let text =
        "def score(w: {weights: [d]f64, $0bias: f64}, x: [d]f64) -> f64 = w.bias + (sum i: w.weights[i] * x[i])\n";
    check(
        text,
        "offset",
        &expect![[r#"
            def score(w: {weights: [d]f64, offset: f64}, x: [d]f64) -> f64 = w.offset + (sum i: w.weights[i] * x[i])
        "#]],
    );
    let imported = format!("import nn\n{text}def soft(x: [n]f64) -> [n]f64 = nn.softmax(x)\n");
    check(
        &imported,
        "offset",
        &expect![[r#"
            import nn
            def score(w: {weights: [d]f64, offset: f64}, x: [d]f64) -> f64 = w.offset + (sum i: w.weights[i] * x[i])
            def soft(x: [n]f64) -> [n]f64 = nn.softmax(x)
        "#]],
    );
    check(
        "import nn\ndef run(w: {weights: [m, n]f64, $0bias: [m]f64}, x: [n]f64) -> [m]f64 = nn.dense(w, x)\n",
        "offset",
        &expect![[r#"
            ! `bias` belongs to the library, in nn
        "#]],
    );
}

/// Files that do not import each other have separate records.
#[test]
fn fields_of_unrelated_files() {
    let mut session = Session::new();
    session.set_text("a.iv", "def f(p: {at: f64, by: f64}) -> f64 = p.at\n");
    session.set_text("b.iv", "import \"a.iv\"\ndef g(p: {at: f64, by: f64}) -> f64 = a.f(p) + p.at\n");
    session.set_text("c.iv", "def h(p: {at: f64, by: f64}) -> f64 = p.at\n");
    let edits = rename(&session, "a.iv", 10, "place").unwrap_or_else(|e| panic!("{e}"));
    let modules: std::collections::BTreeSet<&str> = edits.iter().map(|e| e.at.module.as_str()).collect();
    assert_eq!(modules.into_iter().collect::<Vec<_>>(), ["a.iv", "b.iv"]);
}
