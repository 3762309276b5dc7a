//! Tests of the condition under which the REPL reads more lines.

use crate::parser::is_incomplete;

#[test]
fn more_lines_make_sense() {
    for text in [
        "(",
        "f(1,",
        "[1, 2",
        "{x: 1,",
        "1 +",
        "x |>",
        "let y = 1\nlet z =",
        "let y = 1 in",
        "let y = 1 in y +",
        "def f(x: f64) -> f64",
        "def f(x: f64)",
        "def f(x: f64) -> f64 =",
        "def f(x: f64) = -- why",
        "def f(x: f64) =\n  let y = x",
        "def f(x: f64) =\n  let y = x in",
        "do let y = 1",
        "def",
        "def f",
        "def f(",
        "type Tree =",
        "type Tree = Leaf |",
        "import",
        "let x =",
        "do",
        "if a",
        "if a then",
        "if a then b",
        "if a then b else",
        "sum i < n",
        "sum i < n:",
        "sum i:",
        "sum i,",
        "sum i",
        "for i",
        "for i in",
        "\\x",
        "\\x:",
        "match e",
        "match e {",
        "match e { a: 1,",
        "fold a = 0",
        "fold a = 0 for i < n",
        "fold a = 0 for i < n:",
        "loop a = 0 while",
        "x with",
        "x with [0] =",
        "x.",
        "a ==",
        "!",
        "-",
    ] {
        assert!(is_incomplete(text), "{text}");
    }
}

#[test]
fn more_lines_make_no_sense() {
    for text in [
        "",
        "-- comment",
        "1 + 2",
        "let x = 1",
        "def f(x: f64) = x",
        "f(1))",
        "x y",
        ") + (",
        "\"no end",
        "1 @",
        "def f(x) = x +",
        "type T = A",
        "x[1]",
        "if a then b else c",
        "x = ",
        "sum y",
        "2 * (max y)",
        "def f(y: [n]f64) -> f64 = sum y",
    ] {
        assert!(!is_incomplete(text), "{text}");
    }
    assert!(!is_incomplete(&"(".repeat(1000)));
}
