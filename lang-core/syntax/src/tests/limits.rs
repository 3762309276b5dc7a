//! **Limit tests.** Adversarial inputs terminate in reasonable time, and excessive nesting is one
//! diagnostic.

use crate::ast::Item;
use crate::parser::{MAX_DEPTH, ParsedItem, parse_expr, parse_item};
use crate::split::split;
use lang_base::Code;

/// Repeats a unit to a length of one mebibyte.
fn repeat_to_mebibyte(unit: &str) -> String {
    unit.repeat((1 << 20) / unit.len())
}

#[track_caller]
fn assert_too_deep(parsed: &ParsedItem) {
    let codes: Vec<Code> = parsed.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, [Code::E0006]);
    assert_eq!(parsed.tree.item, Item::Error);
}

#[track_caller]
fn assert_no_errors(parsed: &ParsedItem) {
    assert_eq!(parsed.diagnostics, []);
}

#[test]
fn brackets_nested_very_deep() {
    for unit in ["(", "[", "{x: ", "f(", "x[", "\\x: (", "(x,", "match x { y: "] {
        assert_too_deep(&parse_expr(&unit.repeat(100_000)));
    }
    assert_too_deep(&parse_expr(&format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000))));
}

#[test]
fn long_lines_of_nesting() {
    for unit in [
        "\\x: ",
        "2^",
        "-(",
        "[p] * ",
        "let x = ",
        "if a then ",
        "sum i: ",
        "fold a = b for i < n: ",
        "match ",
        "a == !",
        "x with [0] = sum i: ",
        "a * -[p] * ",
    ] {
        assert_too_deep(&parse_expr(&format!("{}1", repeat_to_mebibyte(unit))));
    }
    assert_too_deep(&parse_expr(&format!("{}1", repeat_to_mebibyte("- "))));
    assert_too_deep(&parse_expr(&format!("x{}", repeat_to_mebibyte("[0]"))));
    assert_too_deep(&parse_expr(&format!("x{}", repeat_to_mebibyte(".y"))));
    assert_too_deep(&parse_item(&format!("let x: {}f64 = 3", repeat_to_mebibyte("[n]"))));
    assert_too_deep(&parse_item(&format!("let x: {}f64 = 3", repeat_to_mebibyte("(a) -> "))));
    assert_too_deep(&parse_item(&format!("let {}x = 3", repeat_to_mebibyte("[n]"))));
}

#[test]
fn long_flat_lines_are_fine() {
    assert_no_errors(&parse_expr(&format!("{}1", repeat_to_mebibyte("1+"))));
    assert_no_errors(&parse_expr(&format!("{}1", repeat_to_mebibyte("a * b - c < d && "))));
    assert_no_errors(&parse_expr(&format!("[{}]", repeat_to_mebibyte("f(x), "))));
    assert_no_errors(&parse_expr(&format!("{}c", repeat_to_mebibyte("if a then b else "))));
    assert_no_errors(&parse_expr(&format!("{} in x", repeat_to_mebibyte("let x = 1 "))));
    assert_no_errors(&parse_expr(&format!("x {}", repeat_to_mebibyte("with [0] = 1 "))));
    assert_no_errors(&parse_expr(&format!("match x {{ {} }}", repeat_to_mebibyte("1: 2, "))));
}

#[test]
fn long_wrong_lines() {
    for text in [
        repeat_to_mebibyte("("),
        repeat_to_mebibyte("(]"),
        repeat_to_mebibyte("([)]"),
        repeat_to_mebibyte(")"),
        repeat_to_mebibyte("@ "),
        repeat_to_mebibyte("let a = b\n"),
        repeat_to_mebibyte("a if then ) ( [ } else "),
        repeat_to_mebibyte("let x = ( 1 + ) "),
        repeat_to_mebibyte("if "),
        repeat_to_mebibyte("x with "),
        repeat_to_mebibyte("a b "),
        repeat_to_mebibyte("'"),
        repeat_to_mebibyte("\""),
        format!("[{}]", repeat_to_mebibyte("+,")),
        format!("{}{}{}", "(".repeat(100), repeat_to_mebibyte("1,"), " 2 3)".repeat(100)),
    ] {
        let parsed = parse_expr(&text);
        assert!(!parsed.diagnostics.is_empty() && parsed.diagnostics.len() < 1000);
    }
    assert_eq!(split(&repeat_to_mebibyte("def f() = 1\n")).len(), (1 << 20) / 12);
    assert_eq!(split(&repeat_to_mebibyte("-- x\n")).len(), 0);
}

#[test]
fn depth_in_reach_is_quick() {
    for (open, close) in [
        ("(", ")"),
        ("f(", ")"),
        ("x[", "]"),
        ("[1, ", "]"),
        ("{x: ", "}"),
        ("- ", ""),
        ("2^", ""),
        ("[p] * ", ""),
        ("\\x: ", ""),
        ("sum i < n if p: ", ""),
        ("let x = 1 in ", ""),
        ("let x = ", " in x"),
        ("if a then ", " else b"),
        ("if a then b else (", ")"),
        ("match x { y: ", "}"),
        ("fold a = ", " for i < n: a"),
    ] {
        let times = if open.ends_with("else (") { 100 } else { 200 };
        assert_no_errors(&parse_expr(&format!("{}1{}", open.repeat(times), close.repeat(times))));
        // The parser does not search for an error at the bottom again at every level.
        let _ = parse_expr(&format!("{}1 +{}", open.repeat(times), close.repeat(times)));
    }
    let edge = MAX_DEPTH as usize - 1;
    assert_no_errors(&parse_expr(&format!("{}1{}", "(".repeat(edge), ")".repeat(edge))));
    assert_too_deep(&parse_expr(&format!("{}1{}", "(".repeat(edge + 1), ")".repeat(edge + 1))));
}

#[test]
fn errors_at_every_level_are_not_searched_for_again_at_each() {
    let chain = |unit: &str, times: usize, end: &str| format!("let = \n{}{end}", unit.repeat(times));
    for text in [
        // An input that once took a minute.
        chain("let = if\n", 21, "let =  a[i]) in k"),
        chain("let = if\n", 2_000, "1"),
        chain("let = if\n", 80, "let = a[i] in k"),
        chain("if let x = if ", 2_000, "1"),
        chain("if let x = if ", 60, "1 in"),
        chain("let = [1, ", 100, "1 +"),
        chain("[let = (if , ", 100, "1 +"),
        chain("f(let = for i < n if , ", 100, "1 +"),
        chain("match x { let = if : ", 100, "1 +"),
        chain("let x = fold = if ", 80, "1 in 2"),
        chain("\\(x: if let = ", 80, "1 in 2"),
        chain("let x: [if let = ", 80, "1 in 2"),
    ] {
        for parsed in [parse_expr(&text), parse_item(&format!("do {text}")), parse_item(&text)] {
            assert!(!parsed.diagnostics.is_empty(), "nothing is told of {text}");
        }
    }
}
