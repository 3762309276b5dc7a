//! Tests of symbols, semantic tokens, folds, selection ranges and formatting.

use std::fmt::Write;

use expect_test::{Expect, expect};
use lang_core::syntax::format::format;
use lang_core::syntax::lexer::{Token, lex};
use lang_ide::folding::folds;
use lang_ide::format::{format_module, format_range};
use lang_ide::selection::selection;
use lang_ide::symbols::{ModuleSymbol, document_symbols, workspace_symbols};
use lang_ide::tokens::{tokens, tokens_in};
use lang_ide::{Edit, Span};

use crate::navigation::support::{MAIN, applied, corpus, line_and_column, marked, session};

const PROGRAM: &str = "\
-- About
-- this.
import linalg
import stats as s

--| Squares.
--| Of many.
def squares(
  x: [n]f64, -- the vector
  k: i64,
) -> f64 =
  sum i < n:
    x[i]^2

type Pose = {at: f64, turn: f64}
type Tree(a) = Leaf | Node(Tree(a), a)

derivative squares(x, k; dx, dk) = 2 * linalg.dot(x, dx)
def untyped(x: f64) = exp(x) * x
let (a, b): (f64, f64) = (1.5, 2.0)
do grad(squares, wrt: x)([1, 2], 3)
";

fn tree(text: &str, symbols: &[ModuleSymbol], depth: usize, out: &mut String) {
    for s in symbols {
        let at = format!("{}-{}", line_and_column(text, s.span.start), line_and_column(text, s.span.end));
        let name = &text[s.selection.range()];
        let _ = writeln!(out, "{:depth$}{:?} {} {} [{at}, {name}]", "", s.kind, s.name, s.detail);
        tree(text, &s.children, depth + 2, out);
    }
}

#[test]
fn symbols_of_a_module() {
    let session = session(PROGRAM);
    let mut out = String::new();
    tree(PROGRAM, &document_symbols(&session, MAIN), 0, &mut out);
    expect![[r#"
        Module linalg  [3:1-3:14, linalg]
        Module s stats [4:1-4:18, s]
        Function squares (x: [n]f64, k: i64) -> f64 [6:1-13:11, squares]
          Rule derivative squares (x, k; dx, dk) [18:1-18:57, squares]
        Type Pose  [15:1-15:33, Pose]
          Field at f64 [15:14-15:21, at]
          Field turn f64 [15:23-15:32, turn]
        Type Tree (a) [16:1-16:39, Tree]
          Constructor Leaf  [16:16-16:20, Leaf]
          Constructor Node (Tree(a), a) [16:23-16:39, Node]
        Function untyped (x: f64) [19:1-19:33, untyped]
        Value a (f64, f64) [20:1-20:36, a]
        Value b (f64, f64) [20:1-20:36, b]
    "#]]
    .assert_eq(&out);
}

#[test]
fn symbols_of_all_modules() {
    let session = session(PROGRAM);
    let mut out = String::new();
    for query in ["sq", "linalg.sol", "wmean", "tree", "Lea"] {
        let found = workspace_symbols(&session, query);
        let shown: Vec<String> = found.iter().take(4).map(|s| format!("{}:{}", s.location.module, s.name)).collect();
        let _ = writeln!(out, "{query}: {}", shown.join(", "));
    }
    expect![[r#"
        sq: main.iv:squares, linalg:sqrtm, linalg:sqnorm, optim:square
        linalg.sol: linalg:solve, linalg:solve_lower, linalg:solve_upper, linalg:solve_matrix
        wmean: stats:weighted_mean
        tree: main.iv:Tree, rand:threefry, linalg:curvature_second, stats:interquartile_range
        Lea: main.iv:Leaf
    "#]]
    .assert_eq(&out);
    assert!(workspace_symbols(&session, "").len() == 256);
    assert!(workspace_symbols(&session, "qqqq").is_empty());
}

#[test]
fn tokens_by_meaning() {
    let session = session(PROGRAM);
    let mut out = String::new();
    for t in tokens(&session, MAIN) {
        let flags = [(t.declaration, " declared"), (t.library, " library"), (t.documentation, " doc")];
        let flags: String = flags.iter().filter(|f| f.0).map(|f| f.1).collect();
        let _ = writeln!(
            out,
            "{:<6} {:?}{flags} {}",
            line_and_column(PROGRAM, t.span.start),
            t.kind,
            &PROGRAM[t.span.range()]
        );
    }
    expect![[r#"
        1:1    Comment -- About
        2:1    Comment -- this.
        3:1    Keyword import
        3:8    Module library linalg
        4:1    Keyword import
        4:8    Module library stats
        4:14   Keyword as
        4:17   Module declared library s
        6:1    Comment doc --| Squares.
        7:1    Comment doc --| Of many.
        8:1    Keyword def
        8:5    Function declared squares
        9:3    Parameter declared x
        9:7    Size declared n
        9:9    Type library f64
        9:14   Comment -- the vector
        10:3   Parameter declared k
        10:6   Type library i64
        11:6   Type library f64
        12:3   Keyword sum
        12:7   Index declared i
        12:11  Size n
        13:5   Parameter x
        13:7   Index i
        13:10  Number 2
        15:1   Keyword type
        15:6   Type declared Pose
        15:14  Field declared at
        15:18  Type library f64
        15:23  Field declared turn
        15:29  Type library f64
        16:1   Keyword type
        16:6   Type declared Tree
        16:11  TypeParameter declared a
        16:16  Constructor declared Leaf
        16:23  Constructor declared Node
        16:28  Type Tree
        16:33  TypeParameter a
        16:37  TypeParameter a
        18:1   Keyword derivative
        18:12  Function squares
        18:20  Parameter declared x
        18:23  Parameter declared k
        18:26  Parameter declared dx
        18:30  Parameter declared dk
        18:36  Number 2
        18:40  Module library linalg
        18:47  Function library dot
        18:51  Parameter x
        18:54  Parameter dx
        19:1   Keyword def
        19:5   Function declared untyped
        19:13  Parameter declared x
        19:16  Type library f64
        19:23  Function library exp
        19:27  Parameter x
        19:32  Parameter x
        20:1   Keyword let
        20:6   Value declared a
        20:9   Value declared b
        20:14  Type library f64
        20:19  Type library f64
        20:27  Number 1.5
        20:32  Number 2.0
        21:1   Keyword do
        21:4   Derivative library grad
        21:9   Function squares
        21:18  Argument library wrt
        21:23  Parameter x
        21:27  Number 1
        21:30  Number 2
        21:34  Number 3
    "#]]
    .assert_eq(&out);
}

#[test]
fn folds_of_a_module() {
    let session = session(PROGRAM);
    let mut out = String::new();
    for fold in folds(&session, MAIN) {
        let (from, to) = (line_and_column(PROGRAM, fold.span.start), line_and_column(PROGRAM, fold.span.end));
        let _ = writeln!(out, "{:?} {from} to {to}", fold.kind);
    }
    expect![[r#"
        Comment 1:1 to 2:9
        Imports 3:1 to 4:18
        Comment 6:1 to 7:13
        Code 8:1 to 13:11
        Code 12:3 to 13:11
    "#]]
    .assert_eq(&out);
}

#[track_caller]
fn check_selection(text: &str, expected: &Expect) {
    let (text, at) = marked(text);
    let session = session(&text);
    let mut out = String::new();
    for span in selection(&session, MAIN, at) {
        let _ = writeln!(out, "{}", text[span.range()].replace('\n', "⏎"));
    }
    expected.assert_eq(&out);
}

#[test]
fn selections_in_a_long_sum() {
    let text = format!("def f(x: f64) -> f64 =\n  x{}\n", " + x".repeat(20_000));
    let session = session(&text);
    let at = u32::try_from(text.find(" + ").expect("a sum")).expect("a place");
    let found = selection(&session, MAIN, at);
    assert!((10..200).contains(&found.len()), "{}", found.len());
    assert!(found.windows(2).all(|pair| pair[1].to(pair[0]) == pair[1] && pair[0] != pair[1]));
    assert_eq!(found.last().map(|all| all.range()), Some(0..text.len()));
}

#[test]
fn selections_grow() {
    check_selection(
        "def f(x: f64, y: [n]f64) -> f64 = sum i: g(x + y[$0i] * 2, x)\ndo 1\n",
        &expect![[r#"
        i
        y[i]
        y[i] * 2
        x + y[i] * 2
        x + y[i] * 2, x
        g(x + y[i] * 2, x)
        sum i: g(x + y[i] * 2, x)
        def f(x: f64, y: [n]f64) -> f64 = sum i: g(x + y[i] * 2, x)
        def f(x: f64, y: [n]f64) -> f64 = sum i: g(x + y[i] * 2, x)⏎do 1⏎
    "#]],
    );
    check_selection(
        "--| Do$0cs.\ndef f() -> f64 = 1\n",
        &expect![[r#"
        --| Docs.
        --| Docs.⏎def f() -> f64 = 1
        --| Docs.⏎def f() -> f64 = 1⏎
    "#]],
    );
    check_selection(
        "def f() -> f64 =$0\n",
        &expect![[r#"
            =
            def f() -> f64 =
            def f() -> f64 =⏎
        "#]],
    );
}

#[test]
fn layout_by_edits() {
    let text = "def f( x:f64 )->f64=x\n\n\n\ndef g(x: f64) -> f64 = x\ndef  h(x:f64) -> f64 =\n  x\n";
    let session = session(text);
    let edits = format_module(&session, MAIN);
    assert_eq!(applied(text, &edits), format(text).expect("no errors"));
    let shown: Vec<(&str, &str)> = edits.iter().map(|e| (&text[e.at.span.range()], e.text.as_str())).collect();
    expect![[r#"
        [
            (
                "def f( x:f64 )->f64=x\n\n\n",
                "def f(x: f64) -> f64 = x\n",
            ),
            (
                "def  h(x:f64) -> f64 =\n  x\n",
                "def h(x: f64) -> f64 = x\n",
            ),
        ]
    "#]]
    .assert_debug_eq(&shown);
    let only = format_range(&session, MAIN, Span::new(30, 60));
    assert_eq!(only.len(), 1, "{only:?}");
    // Items with syntax errors stay unchanged; the others are formatted.
    let text = "def f( x:f64 )->f64=x\n\n\ndef g(x: f64 -> f64 = x\n";
    let session = self::session(text);
    let laid_out = applied(text, &format_module(&session, MAIN));
    assert_eq!(laid_out, "def f(x: f64) -> f64 = x\n\n\ndef g(x: f64 -> f64 = x\n");
}

#[test]
fn every_program_is_covered_by_tokens() {
    let (session, modules) = corpus();
    for module in modules {
        let text = session.text(&module).expect("a module");
        let all = tokens(&session, &module);
        assert!(all.windows(2).all(|w| w[0].span.end <= w[1].span.start), "{module}");
        assert!(all.iter().all(|t| !text[t.span.range()].contains('\n')), "{module}");
        let lexed = lex(&text);
        for token in &lexed.tokens {
            if !matches!(token.token, Token::Sym(_)) {
                assert!(all.binary_search_by_key(&token.span, |t| t.span).is_ok(), "{module} {token:?}");
            }
        }
        for comment in &lexed.comments {
            assert!(all.binary_search_by_key(&comment.span, |t| t.span).is_ok(), "{module} {comment:?}");
        }
        // A range has exactly those tokens of the module that overlap it.
        let length = u32::try_from(text.len()).expect("a short text");
        for k in 0..7 {
            let range = Span::new(length / 8 * k, (length / 8 * (k + 1) + 13).min(length));
            let mut expected = all.clone();
            expected.retain(|t| t.span.start < range.end && range.start < t.span.end);
            assert!(tokens_in(&session, &module, range) == expected, "{module} {range:?}");
        }
    }
}

#[test]
fn every_program_has_symbols_folds_and_selections() {
    let (session, modules) = corpus();
    fn hold(symbols: &[ModuleSymbol], text: &str) {
        for s in symbols {
            assert!(s.span.start <= s.selection.start && s.selection.end <= s.span.end, "{s:?}");
            assert!(
                s.name.contains(&text[s.selection.range()])
                    || text[s.selection.range()].starts_with('"')
                    || s.name.contains(' '),
                "{s:?}"
            );
            hold(&s.children, text);
        }
    }
    for module in modules {
        let text = session.text(&module).expect("a module");
        hold(&document_symbols(&session, &module), &text);
        for fold in folds(&session, &module) {
            assert!(text[fold.span.range()].contains('\n'), "{module} {fold:?}");
        }
        for at in (0..=text.len()).step_by(7) {
            let ranges = selection(&session, &module, u32::try_from(at).expect("a short text"));
            let within = |w: &[Span]| w[1].start <= w[0].start && w[0].end <= w[1].end && w[0] != w[1];
            assert!(ranges.windows(2).all(within), "{module} {at} {ranges:?}");
            assert!(ranges.iter().all(|r| r.start as usize <= at && at <= r.end as usize), "{module} {at}");
        }
        if let Ok(laid_out) = format(&text) {
            assert_eq!(applied(&text, &format_module(&session, &module)), laid_out, "{module}");
        }
        let all: Vec<Edit> = format_range(&session, &module, Span::new(0, u32::try_from(text.len()).expect("short")));
        let laid_out = applied(&text, &all);
        assert_eq!(format(&laid_out).ok(), format(&text).ok(), "{module}");
    }
}
