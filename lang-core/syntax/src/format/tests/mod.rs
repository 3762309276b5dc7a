//! Tests of layouts as users see them, and of the guarantees for large and deep texts.

mod comments;
mod exprs;
mod items;

use expect_test::{Expect, expect};

use super::{dump_tree, format_file, print_tree, same_tree};
use crate::parser::parse_item;
use crate::split::split;

/// Returns the layout of a file. Checks that it is a fixed point and that no item fails its check.
#[track_caller]
fn layout(input: &str) -> String {
    let once = format_file(input).unwrap_or_else(|errors| panic!("does not parse: {errors:?}"));
    assert_eq!(once.unformatted_items, 0, "left alone:\n{input}");
    let twice = format_file(&once.text).unwrap_or_else(|errors| panic!("{}: {errors:?}", once.text));
    assert_eq!(twice.text, once.text, "formatting twice differs");
    assert_eq!(twice.unformatted_items, 0);
    once.text
}

#[track_caller]
fn check(input: &str, expected: Expect) {
    expected.assert_eq(&layout(input));
}

/// Compares the layout of an expression as the body of a definition.
#[track_caller]
fn check_body(body: &str, expected: Expect) {
    check(&format!("def f(x: f64) = {body}"), expected);
}

#[test]
fn the_prelude_is_laid_out() {
    let prelude = include_str!("../../../../../std/prelude.iv");
    assert_eq!(layout(prelude), prelude);
}

/// The fallback of the formatter: a line of this layout would begin with an item's keyword, so the
/// item keeps its original text.
#[test]
fn what_fails_its_check_is_left_alone() {
    let fields = "field_with_a_long_name, another_field_with_a_long_name, a_third_field_with_a_name, def";
    let text = format!("do   let {{{fields}}} = r in 1 -- c\n\ndef f() =   2\n");
    let formatted = format_file(&text).unwrap();
    assert_eq!(formatted.text, text.replace("=   2", "= 2"));
    assert_eq!(formatted.unformatted_items, 1);
}

#[test]
fn errors_leave_the_text_alone() {
    let errors = format_file("def f() = 1\n\ndef g( = 2\n").unwrap_err();
    assert!(errors.iter().all(|e| e.span.start > 12), "{errors:?}");
}

/// Trees without source text get the parentheses they need.
#[test]
fn bare_trees() {
    #[track_caller]
    fn check(input: &str, expected: Expect) {
        let tree = parse_item(&format!("do {input}")).tree;
        expected.assert_eq(&print_tree(&strip(&tree)));
    }
    fn strip(tree: &crate::ast::Tree) -> crate::ast::Tree {
        use crate::ast::Expr;
        // Each parenthesised expression becomes a copy of its contents.
        let mut tree = tree.clone();
        let ids: Vec<_> = tree.exprs.iter().map(|(id, _)| id).collect();
        for id in ids {
            if let Expr::Paren(inner) = tree.exprs[id].kind {
                tree.exprs[id].kind = tree.exprs[inner].kind.clone();
            }
        }
        tree
    }
    check("(a + b) * c ^ (d + e) - (f - g)", expect!["do (a + b) * c^(d + e) - (f - g)"]);
    check("(sum i: x[i]) + (sum j: y[j])", expect!["do (sum i: x[i]) + sum j: y[j]"]);
    check("(-x) ^ 2 + (x ^ y) ^ z + -(-x)", expect!["do (-x)^2 + (x^y)^z + - -x"]);
    check("([x]) * 2 + ([p] * y) * z", expect!["do ([x]) * 2 + ([p] * y) * z"]);
    check("(f |> g)(x) + (\\x: x)(1) + (1).0", expect![[r#"do (f |> g)(x) + (\x: x)(1) + 1 . 0"#]]);
    check("if a then b else (if c then d else e)", expect!["do if a then b else (if c then d else e)"]);
    check("(x with [i] = 1).name", expect!["do (x with [i] = 1).name"]);
    check(
        "fold a = (for i < n: 0) for j: (fold b = 0 for k: b) yield a",
        expect!["do fold a = (for i < n: 0) for j: (fold b = 0 for k: b) yield a"],
    );
}

#[test]
fn long_chains() {
    let text = format!("do {}", vec!["x"; 100_000].join(" + "));
    assert_eq!(layout(&text).lines().count(), 100_001);
    let text = format!("do [{}]", vec!["1"; 100_000].join(", "));
    assert!(layout(&text).lines().count() > 1000);
    let text = format!("do {} x", "let x = 1\n ".repeat(20_000) + "in");
    assert_eq!(layout(&text).lines().count(), 20_002);
    let text = format!("do {} x", "if a then b else ".repeat(20_000));
    assert_eq!(layout(&text).lines().count(), 20_002);
}

#[test]
fn deep_trees() {
    for (open, close) in [("(", ")"), ("- ", ""), ("sum i: ", ""), ("f(", ")"), ("[", "]"), ("let x = 1 in ", "")] {
        let text = format!("do {}x{}", open.repeat(200), close.repeat(200));
        layout(&text);
    }
}

#[test]
fn trees_compare_without_places() {
    let (a, b) = (parse_item("do a+((b))").tree, parse_item("do a  +  (b)").tree);
    assert!(same_tree(&a, &b), "{}\n{}", dump_tree(&a, true), dump_tree(&b, true));
    assert!(!same_tree(&a, &parse_item("do a + b").tree));
    assert_eq!(split("do a\n").len(), 1);
}
