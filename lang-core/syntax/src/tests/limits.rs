//! **Limit tests.** Adversarial inputs terminate in reasonable time, and excessive nesting is one
//! diagnostic.

use crate::ast::Item;
use crate::parser::{MAX_DEPTH, Parsed, parse_expr, parse_item};
use crate::split::split;
use lang_base::Code;

/// Repeats a unit to a length of one mebibyte.
fn much(unit: &str) -> String {
    unit.repeat((1 << 20) / unit.len())
}

#[track_caller]
fn too_deep(parsed: &Parsed) {
    let codes: Vec<Code> = parsed.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, [Code::E0006]);
    assert_eq!(parsed.tree.item, Item::Error);
}

#[track_caller]
fn fine(parsed: &Parsed) {
    assert_eq!(parsed.diagnostics, []);
}

#[test]
fn brackets_nested_very_deep() {
    for unit in ["(", "[", "{x: ", "f(", "x[", "\\x: (", "(x,", "match x { y: "] {
        too_deep(&parse_expr(&unit.repeat(100_000)));
    }
    too_deep(&parse_expr(&format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000))));
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
        too_deep(&parse_expr(&format!("{}1", much(unit))));
    }
    too_deep(&parse_expr(&format!("{}1", much("- "))));
    too_deep(&parse_expr(&format!("x{}", much("[0]"))));
    too_deep(&parse_expr(&format!("x{}", much(".y"))));
    too_deep(&parse_item(&format!("let x: {}f64 = 3", much("[n]"))));
    too_deep(&parse_item(&format!("let x: {}f64 = 3", much("(a) -> "))));
    too_deep(&parse_item(&format!("let {}x = 3", much("[n]"))));
}

#[test]
fn long_flat_lines_are_fine() {
    fine(&parse_expr(&format!("{}1", much("1+"))));
    fine(&parse_expr(&format!("{}1", much("a * b - c < d && "))));
    fine(&parse_expr(&format!("[{}]", much("f(x), "))));
    fine(&parse_expr(&format!("{}c", much("if a then b else "))));
    fine(&parse_expr(&format!("{} in x", much("let x = 1 "))));
    fine(&parse_expr(&format!("x {}", much("with [0] = 1 "))));
    fine(&parse_expr(&format!("match x {{ {} }}", much("1: 2, "))));
}

#[test]
fn long_wrong_lines() {
    for text in [
        much("("),
        much("(]"),
        much("([)]"),
        much(")"),
        much("@ "),
        much("let a = b\n"),
        much("a if then ) ( [ } else "),
        much("let x = ( 1 + ) "),
        much("if "),
        much("x with "),
        much("a b "),
        much("'"),
        much("\""),
        format!("[{}]", much("+,")),
        format!("{}{}{}", "(".repeat(100), much("1,"), " 2 3)".repeat(100)),
    ] {
        let parsed = parse_expr(&text);
        assert!(!parsed.diagnostics.is_empty() && parsed.diagnostics.len() < 1000);
    }
    assert_eq!(split(&much("def f() = 1\n")).len(), (1 << 20) / 12);
    assert_eq!(split(&much("-- x\n")).len(), 0);
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
        fine(&parse_expr(&format!("{}1{}", open.repeat(times), close.repeat(times))));
        // The parser does not search for an error at the bottom again at every level.
        let _ = parse_expr(&format!("{}1 +{}", open.repeat(times), close.repeat(times)));
    }
    let edge = MAX_DEPTH as usize - 1;
    fine(&parse_expr(&format!("{}1{}", "(".repeat(edge), ")".repeat(edge))));
    too_deep(&parse_expr(&format!("{}1{}", "(".repeat(edge + 1), ")".repeat(edge + 1))));
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
