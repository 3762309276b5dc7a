//! Tests of definition, references and highlights.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use expect_test::{Expect, expect};
use lang_ide::definition::{declaration, definition, implementation, type_definition};
use lang_ide::highlight::highlights;
use lang_ide::names::{LanguageWord, NameRole, NameTarget, NameUse, uses};
use lang_ide::references::references;
use lang_ide::{Location, Session};

use crate::navigation::support::{MAIN, corpus, line_and_column, marked, session};

fn shown(session: &Session, all: &[Location]) -> String {
    let show = |l: &Location| {
        let text = session.text(&l.module).expect("a module");
        let code = &text[l.span.range()];
        let module = if l.module == MAIN { String::new() } else { format!("{} ", l.module) };
        format!("{module}{} {}", line_and_column(&text, l.span.start), code.lines().next().unwrap_or_default())
    };
    if all.is_empty() { "nothing".to_owned() } else { all.iter().map(show).collect::<Vec<_>>().join("; ") }
}

#[track_caller]
fn check(text: &str, expected: &Expect) {
    let (text, at) = marked(text);
    let session = session(&text);
    let mut out = String::new();
    let mut tell = |what: &str, all: &[Location]| {
        let _ = writeln!(out, "{what}: {}", shown(&session, all));
    };
    tell("definition", &definition(&session, MAIN, at));
    if declaration(&session, MAIN, at) != definition(&session, MAIN, at) {
        tell("declaration", &declaration(&session, MAIN, at));
    }
    tell("type", &type_definition(&session, MAIN, at));
    tell("rules", &implementation(&session, MAIN, at));
    let all: Vec<Location> = references(&session, MAIN, at, true).into_iter().filter(|l| l.module == MAIN).collect();
    tell("references", &all);
    let marks = highlights(&session, MAIN, at);
    let written: Vec<String> = marks.iter().filter(|h| h.write).map(|h| line_and_column(&text, h.span.start)).collect();
    let _ = writeln!(out, "written: {}", written.join(", "));
    expected.assert_eq(&out);
}

#[test]
fn a_definition_and_its_rule() {
    check(
        "def sq(x: [n]f64) -> f64 = sum i: x[i]^2
derivative sq(x; dx) = 2 * (sum i < n: x[i] * dx[i])
def g(y: [k]f64) -> f64 = $0sq(y) + sq(y)
",
        &expect![[r#"
            definition: 1:5 sq
            type: nothing
            rules: 2:1 derivative sq(x; dx) = 2 * (sum i < n: x[i] * dx[i])
            references: 1:5 sq; 2:12 sq; 3:27 sq; 3:35 sq
            written: 1:5
        "#]],
    );
}

#[test]
fn a_size_in_signature_body_and_rule() {
    check(
        "def sq(x: [n]f64, y: [n]f64) -> f64 = sum i < n: x[i] * y[i]
derivative sq(x, y; dx, dy) = sum i < $0n: x[i] * dy[i] + dx[i] * y[i]
",
        &expect![[r#"
            definition: 1:12 n
            type: nothing
            rules: nothing
            references: 1:12 n; 1:23 n; 1:47 n; 2:39 n
            written: 1:12
        "#]],
    );
}

#[test]
fn a_parameter_by_which_is_differentiated() {
    check(
        "def f(x$0: f64, y: f64) -> f64 = x * y\ndef g(a: f64) -> f64 = grad(f, wrt: x)(a, a)\n",
        &expect![[r#"
        definition: 1:7 x
        type: nothing
        rules: nothing
        references: 1:7 x; 1:32 x; 2:37 x
        written: 1:7
    "#]],
    );
}

#[test]
fn fields_of_a_record() {
    check(
        "type Pose = {at: f64, turn: f64}
type Other = {at: f64}
def f(p: Pose, q: Other) -> Pose = {at: p.turn + q.at, turn: p.at$0}
def g(p: Pose) -> Pose = let {at, turn: t} = p in p with at = at + t
",
        &expect![[r#"
            definition: 1:14 at
            type: nothing
            rules: nothing
            references: 1:14 at; 3:37 at; 3:64 at; 4:31 at; 4:58 at
            written: 1:14, 4:31, 4:58
        "#]],
    );
}

#[test]
fn a_constructor() {
    check(
        "type T(a) = Leaf(a) | Two(T(a), T(a))\ndef f(t: T(f64)) -> f64 = match t { Le$0af(x): x, Two(_, _): 0.0 }\ndef g() -> T(f64) = Leaf(1)\n",
        &expect![[r#"
            definition: 1:13 Leaf
            type: 1:6 T
            rules: nothing
            references: 1:13 Leaf; 2:37 Leaf; 3:21 Leaf
            written: 1:13
        "#]],
    );
}

#[test]
fn a_module() {
    check(
        "import linalg as l\ndef f(x: [n]f64) -> f64 = l$0.dot(x, x)\n",
        &expect![[r#"
        definition: linalg 1:1 
        declaration: 1:18 l
        type: nothing
        rules: nothing
        references: 1:8 linalg; 1:18 l; 2:27 l
        written: 1:18
    "#]],
    );
}

#[test]
fn a_definition_of_the_library() {
    check(
        "import linalg\ndef f(x: [n]f64) -> f64 = linalg.do$0t(x, x)\n",
        &expect![[r#"
        definition: linalg 214:5 dot
        type: nothing
        rules: nothing
        references: 2:34 dot
        written: 
    "#]],
    );
}

#[test]
fn a_carry_of_a_fold() {
    check(
        "type S = {a: f64, b: f64}
def f(x: [n]f64) -> S = fold s = {a: 0.0, b: 1.0} for i < n: {a: s.a + x[i], b: $0s.b}
",
        &expect![[r#"
            definition: 2:30 s
            type: 1:6 S
            rules: nothing
            references: 2:30 s; 2:66 s; 2:81 s
            written: 2:30
        "#]],
    );
}

#[test]
fn a_top_level_pattern() {
    check(
        "let (a, b) = (1.0, 2.0)\ndo a + $0b\ndef f(b: f64) -> f64 = b\n",
        &expect![[r#"
        definition: 1:9 b
        type: nothing
        rules: nothing
        references: 1:9 b; 2:8 b
        written: 1:9
    "#]],
    );
}

#[test]
fn each_type_of_a_tuple_is_declared_once() {
    check(
        "type A = {a: f64}
type B = {b: f64}
def f(x: (A, B, A)) -> f64 = let (p, q, r) = $0x in p.a + q.b + r.a
",
        &expect![[r#"
            definition: 3:7 x
            type: 1:6 A; 2:6 B
            rules: nothing
            references: 3:7 x; 3:46 x
            written: 3:7
        "#]],
    );
}

/// The references of a name are exactly the names with the same meaning. Every name has a
/// definition, which is one of them.
#[test]
fn references_are_the_names_of_one_meaning() {
    let (session, modules) = corpus();
    let mut meant: HashMap<NameTarget, (String, NameUse, HashSet<Location>)> = HashMap::new();
    let mut all: Vec<String> = modules;
    all.push("partials".to_owned());
    for module in &all {
        for item in session.items(module) {
            for found in uses(&session, &item) {
                let place = Location { module: module.as_str().into(), span: found.span };
                let entry = meant.entry(found.meaning.clone());
                let kept = entry.or_insert_with(|| (module.clone(), found.clone(), HashSet::new()));
                kept.2.insert(place);
                // If a field also names a variable, the variable is looked up.
                if kept.1.role == NameRole::Shorthand {
                    (kept.0, kept.1) = (module.clone(), found);
                }
            }
        }
    }
    let mut counted = 0;
    for (what, (module, found, places)) in &meant {
        if matches!(what, NameTarget::Word(_)) || module == "partials" || found.role == NameRole::Shorthand {
            continue;
        }
        let at = format!("{module}:{} {found:?}", line_and_column(&session.text(module).unwrap(), found.span.start));
        let defined = definition(&session, module, found.span.start);
        assert!(!defined.is_empty(), "{at}");
        match what {
            NameTarget::Module(_) => {}
            // The language's own record has no `type` item.
            _ => assert!(defined.iter().all(|d| places.contains(d)), "{at}: {defined:?}"),
        }
        // A sample of the many locals suffices.
        counted += 1;
        if matches!(what, NameTarget::Local(..)) && counted % 7 > 0 {
            continue;
        }
        let locations: HashSet<Location> = references(&session, module, found.span.start, true).into_iter().collect();
        match what {
            NameTarget::Module(_) => assert!(locations.is_subset(places), "{at}"),
            // Programs that do not import each other have separate records, even with the same
            // fields.
            NameTarget::Field(..) => {
                let own = Location { module: module.as_str().into(), span: found.span };
                assert!(locations.is_subset(places) && locations.contains(&own), "{at}");
            }
            _ => assert_eq!(locations, *places, "{at}"),
        }
    }
    assert!(meant.contains_key(&NameTarget::Word(LanguageWord::Derivative)));
}
