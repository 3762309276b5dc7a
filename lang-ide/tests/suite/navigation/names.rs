//! Tests that every name has exactly one meaning.

use std::fmt::Write;

use expect_test::{Expect, expect};
use lang_core::syntax::lexer::{Token, lex};
use lang_ide::names::{NameRole, NameTarget, untyped_uses, uses};

use crate::navigation::support::{MAIN, corpus, line_and_column, session};

fn shown(what: &NameTarget) -> String {
    match what {
        NameTarget::Local(item, id) => format!("local {} of {item}", id.0),
        NameTarget::Value(name) => format!("value {name}"),
        NameTarget::Type(name) => format!("type {name}"),
        NameTarget::Ctor(ty, k) => format!("constructor {k} of {ty}"),
        NameTarget::TypeParam(item, k) => format!("type parameter {k} of {item}"),
        NameTarget::Field(names, _) => format!("field of {{{}}}", names.join(", ")),
        NameTarget::Module(module) => format!("module {module}"),
        NameTarget::Word(word) => format!("word {word:?}"),
        NameTarget::Unknown => "unknown".to_owned(),
    }
}

#[track_caller]
fn check(text: &str, expected: &Expect) {
    let session = session(text);
    let mut out = String::new();
    for item in session.items(MAIN) {
        for found in uses(&session, &item)
            .iter()
            .filter(|u| u.meaning != NameTarget::Word(lang_ide::names::LanguageWord::Keyword))
        {
            let role = match found.role {
                NameRole::Use => String::new(),
                role => format!(", {role:?}"),
            };
            let kind = found.kind.map_or_else(String::new, |kind| format!(" ({kind:?})"));
            let at = line_and_column(text, found.span.start);
            let _ = writeln!(out, "{at:<5} {:<6} {}{kind}{role}", found.name, shown(&found.meaning));
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn of_a_definition() {
    check(
        "def f(x: [n]a, k: i64) -> [n]a where a: num = let y = x in for i < n: y[i] + x[i + k]\n",
        &expect![[r#"
        1:5   f      value f, Declaration
        1:7   x      local 0 of f (Param), Declaration
        1:11  n      local 2 of f (ImplicitSize), Declaration
        1:13  a      type parameter 0 of f, Declaration
        1:16  k      local 1 of f (Param), Declaration
        1:19  i64    word Type
        1:28  n      local 2 of f (ImplicitSize)
        1:30  a      type parameter 0 of f
        1:38  a      type parameter 0 of f
        1:41  num    word Type
        1:51  y      local 3 of f (Let), Declaration
        1:55  x      local 0 of f (Param)
        1:64  i      local 4 of f (Index), Declaration
        1:68  n      local 2 of f (ImplicitSize)
        1:71  y      local 3 of f (Let)
        1:73  i      local 4 of f (Index)
        1:78  x      local 0 of f (Param)
        1:80  i      local 4 of f (Index)
        1:84  k      local 1 of f (Param)
    "#]],
    );
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
        &expect![[r#"
            1:6   Pose   type Pose, Declaration
            1:14  at     field of {at, turn}, Declaration
            1:18  f64    word Type
            1:23  turn   field of {at, turn}, Declaration
            1:29  f64    word Type
            2:6   Tree   type Tree, Declaration
            2:11  a      type parameter 0 of Tree, Declaration
            2:16  Leaf   constructor 0 of Tree, Declaration
            2:23  Node   constructor 1 of Tree, Declaration
            2:28  Tree   type Tree
            2:33  a      type parameter 0 of Tree
            2:37  a      type parameter 0 of Tree
            2:40  Tree   type Tree
            2:45  a      type parameter 0 of Tree
            3:6   Cam    type Cam, Declaration
            3:10  n      local 0 of Cam (ImplicitSize), Declaration
            3:15  Cam    constructor 0 of Cam, Declaration
            3:20  n      local 0 of Cam (ImplicitSize)
            3:22  f64    word Type
            4:5   f      value f, Declaration
            4:7   p      local 0 of f (Param), Declaration
            4:10  Pose   type Pose
            4:16  t      local 1 of f (Param), Declaration
            4:19  Tree   type Tree
            4:24  Pose   type Pose
            4:34  f64    word Type
            4:46  t      local 1 of f (Param)
            4:50  Leaf   constructor 0 of Tree
            4:56  p      local 0 of f (Param)
            4:58  at     field of {at, turn}
            4:62  Node   constructor 1 of Tree
            4:71  at     local 2 of f (Pattern), Declaration
            4:71  at     field of {at, turn}, Shorthand
            4:75  turn   field of {at, turn}
            4:81  s      local 3 of f (Pattern), Declaration
            4:90  p      local 0 of f (Param)
            4:97  turn   field of {at, turn}, Write
            4:104 s      local 3 of f (Pattern)
            4:107 turn   field of {at, turn}
            4:114 at     local 2 of f (Pattern)
            5:6   at     value at, Declaration
            5:6   at     field of {}, Shorthand
            5:10  turn   field of {}
            5:16  u      value u, Declaration
            5:22  at     field of {at, turn}
            5:31  turn   field of {at, turn}
        "#]],
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
        &expect![[r#"
            1:8   linalg module linalg, Import
            2:8   stats  module stats, Import
            2:17  s      module stats, Declaration
            3:5   sq     value sq, Declaration
            3:8   x      local 0 of sq (Param), Declaration
            3:12  n      local 1 of sq (ImplicitSize), Declaration
            3:14  f64    word Type
            3:22  f64    word Type
            3:33  i      local 2 of sq (Index), Declaration
            3:36  x      local 0 of sq (Param)
            3:38  i      local 2 of sq (Index)
            3:50  s      module stats
            3:52  mean   value mean
            3:57  x      local 0 of sq (Param)
            4:12  sq     value sq, Rule
            4:15  x      local 1 of derivative sq (Param), Declaration
            4:18  dx     local 2 of derivative sq (Param), Declaration
            4:33  i      local 3 of derivative sq (Index), Declaration
            4:37  n      local 1 of sq (ImplicitSize)
            4:40  x      local 1 of derivative sq (Param)
            4:42  i      local 3 of derivative sq (Index)
            4:47  dx     local 2 of derivative sq (Param)
            4:50  i      local 3 of derivative sq (Index)
            5:5   g      value g, Declaration
            5:7   x      local 0 of g (Param), Declaration
            5:11  n      local 1 of g (ImplicitSize), Declaration
            5:13  f64    word Type
            5:20  grad   word Derivative
            5:25  sq     value sq
            5:29  wrt    word Argument
            5:34  x      local 0 of sq (Param)
            5:37  x      local 0 of g (Param)
            5:42  linalg module linalg
            5:49  dot    value dot
            5:53  x      local 0 of g (Param)
            5:56  x      local 0 of g (Param)
            5:61  exp    word Function
            5:65  pi     word Constant
            6:4   grad   word Derivative
            6:10  u      local 0 of do 1 (Lambda), Declaration
            6:13  v      local 1 of do 1 (Lambda), Declaration
            6:16  u      local 0 of do 1 (Lambda)
            6:20  v      local 1 of do 1 (Lambda)
            6:23  wrt    word Argument
            6:29  u      local 0 of do 1 (Lambda)
            6:32  v      local 1 of do 1 (Lambda)
        "#]],
    );
}

#[test]
fn of_a_text_with_mistakes() {
    check(
        "def f(x: f64) -> f64 = y + nope.z + \ndef g( = q\nlet a = (\n",
        &expect![[r#"
        1:5   f      value f, Declaration
        1:7   x      local 0 of f (Param), Declaration
        1:10  f64    word Type
        1:18  f64    word Type
        1:24  y      unknown
        1:28  nope   unknown
        1:33  z      unknown
        2:5   g      value g, Declaration
        2:10  q      unknown
        3:5   a      value a, Declaration
    "#]],
    );
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
            for found in all.iter().filter(|u| u.role != NameRole::Shorthand) {
                let at = format!(
                    "{module}:{}: {found:?}",
                    line_and_column(&session.text(&module).unwrap(), found.span.start)
                );
                assert!(found.span.start >= last, "{at}");
                last = found.span.end;
                assert!(
                    found.meaning != NameTarget::Unknown
                        && !matches!(&found.meaning, NameTarget::Field(all, _) if all.is_empty()),
                    "{at}"
                );
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
