//! Every name has one meaning.

use std::fmt::Write;

use expect_test::{Expect, expect};
use lang_core::syntax::lexer::{Token, lex};
use lang_ide::names::{Role, What, untyped_uses, uses};

use crate::support::{MAIN, corpus, place, session};

fn shown(what: &What) -> String {
    match what {
        What::Local(item, id) => format!("local {} of {item}", id.0),
        What::Value(name) => format!("value {name}"),
        What::Type(name) => format!("type {name}"),
        What::Ctor(ty, k) => format!("constructor {k} of {ty}"),
        What::TypeParam(item, k) => format!("type parameter {k} of {item}"),
        What::Field(names) => format!("field of {{{}}}", names.join(", ")),
        What::Module(module) => format!("module {module}"),
        What::Word(word) => format!("word {word:?}"),
        What::Unknown => "unknown".to_owned(),
    }
}

#[track_caller]
fn check(text: &str, expected: &Expect) {
    let session = session(text);
    let mut out = String::new();
    for item in session.items(MAIN) {
        for found in uses(&session, &item).iter().filter(|u| u.what != What::Word(lang_ide::names::Word::Keyword)) {
            let role = match found.role {
                Role::Use => String::new(),
                role => format!(", {role:?}"),
            };
            let kind = found.kind.map_or_else(String::new, |kind| format!(" ({kind:?})"));
            let at = place(text, found.span.start);
            let _ = writeln!(out, "{at:<5} {:<6} {}{kind}{role}", found.name, shown(&found.what));
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn of_a_definition() {
    check("def f(x: [n]a, k: i64) -> [n]a where a: num = let y = x in for i < n: y[i] + x[i + k]\n", &expect![]);
}

#[test]
fn of_types_and_records() {
    check(
        "type Pose = {at: f64, turn: f64}
type Tree(a) = Leaf | Node(Tree(a), a, Tree(a))
type Cam(n) = Cam([n]f64)
def f(p: Pose, t: Tree(Pose)) -> f64 = match t { Leaf: p.at, Node(_, {at, turn: s}, _): (p with turn = s).turn + at }
let {at, turn: u} = {at: 1.0, turn: 2.0}
",
        &expect![],
    );
}

#[test]
fn of_modules_rules_and_words() {
    check(
        "import linalg
import stats as s
def sq(x: [n]f64) -> f64 = (sum i: x[i]^2) + 0 * s.mean(x)
derivative sq(x; dx) = 2 * (sum i < n: x[i] * dx[i])
def g(x: [n]f64) = grad(sq, wrt: x)(x) + linalg.dot(x, x) * exp(pi)
do grad(\\u, v: u * v, wrt: (u, v))(1.0, 2.0)
",
        &expect![],
    );
}

#[test]
fn of_a_text_with_mistakes() {
    check("def f(x: f64) -> f64 = y + nope.z + \ndef g( = q\nlet a = (\n", &expect![]);
}

#[test]
fn every_name_of_every_program_has_one_meaning() {
    let (session, modules) = corpus();
    for module in modules {
        for item in session.items(&module) {
            let all = uses(&session, &item);
            let untyped = untyped_uses(&session, &item);
            assert_eq!(all.len(), untyped.len());
            let mut last = item.start;
            for found in all.iter().filter(|u| u.role != Role::Shorthand) {
                let at = format!("{module}:{}: {found:?}", place(&session.text(&module).unwrap(), found.span.start));
                assert!(found.span.start >= last, "{at}");
                last = found.span.end;
                assert!(found.what != What::Unknown && found.what != What::Field(Vec::new()), "{at}");
            }
            for token in lex(&item.text).tokens {
                let (Token::Name(name), span) = (token.token, token.span.shift(item.start)) else { continue };
                let found: Vec<_> = all.iter().filter(|u| u.span == span).collect();
                assert!(name == "_" || !found.is_empty(), "{module} {span:?} {name}");
                assert!(found.iter().all(|u| u.name == name), "{module} {span:?} {name} {found:?}");
            }
        }
    }
}
