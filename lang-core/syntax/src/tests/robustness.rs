//! **Robustness tests.** No text makes the lexer, the splitter or the parser panic. Their results
//! satisfy invariants: spans lie in the text, every token is in an item, errors have diagnostics.

use proptest::prelude::*;

use crate::ast::{Expr, Item, Tree};
use crate::lexer::lex;
use crate::parser::{is_incomplete, parse_expr, parse_item, parse_signature};
use crate::split::split;
use crate::token::{Sym, Word};
use lang_base::{Diagnostic, Span};

/// Checks the invariants of every text.
fn check_invariants(text: &str) {
    let lexed = lex(text);
    let inside = |span: Span| span.start <= span.end && text.get(span.range()).is_some();
    assert!(lexed.tokens.iter().all(|t| inside(t.span)));
    assert!(lexed.tokens.windows(2).all(|w| w[0].span.end <= w[1].span.start));
    assert!(lexed.comments.iter().all(|c| inside(c.span)));
    check_diagnostics(text, &lexed.diagnostics);

    let items = split(text);
    let mut held = 0;
    for item in &items {
        let start = item.start as usize;
        assert_eq!(text.get(start..start + item.text.len()), Some(&*item.text));
        held += lex(&item.text).tokens.len();
        let parsed = parse_item(&item.text);
        check_tree(&item.text, &parsed.tree);
        check_diagnostics(&item.text, &parsed.diagnostics);
    }
    assert_eq!(held, lexed.tokens.len(), "every token is in an item");
    assert!(items.windows(2).all(|w| w[0].start as usize + w[0].text.len() <= w[1].start as usize));

    for parsed in [parse_item(text), parse_expr(text), parse_signature(text)] {
        check_tree(text, &parsed.tree);
        check_diagnostics(text, &parsed.diagnostics);
        let broken = parsed.tree.exprs.iter().any(|(_, n)| n.kind == Expr::Error) || parsed.tree.item == Item::Error;
        // The body of a signature is an error node without a diagnostic.
        let body = matches!(&parsed.tree.item, Item::Def(_));
        assert!(!broken || body || !parsed.diagnostics.is_empty(), "an error node without a diagnostic");
    }
    let _ = is_incomplete(text);
}

fn check_diagnostics(text: &str, diagnostics: &[Diagnostic]) {
    for d in diagnostics {
        assert!(text.get(d.span.range()).is_some(), "{d:?}");
        assert!(d.related.iter().all(|r| text.get(r.span.range()).is_some()), "{d:?}");
        assert!(!d.message.is_empty() && !d.message.ends_with('.'), "{d:?}");
    }
}

fn check_tree(text: &str, tree: &Tree) {
    let inside = |span: Span| assert!(span.start <= span.end && text.get(span.range()).is_some(), "{span:?}");
    inside(tree.span);
    tree.exprs.iter().for_each(|(_, n)| inside(n.span));
    tree.pats.iter().for_each(|(_, n)| inside(n.span));
    tree.types.iter().for_each(|(_, n)| inside(n.span));
    // Visits every node that the item reaches.
    let _ = super::dump::dump(tree);
}

/// Generates a token as text, with a bias towards meaningful ones.
fn token() -> impl Strategy<Value = String> {
    let word = proptest::sample::select(Word::ALL).prop_map(|w| w.text().to_owned());
    let sym = proptest::sample::select(Sym::ALL).prop_map(|s| s.text().to_owned());
    let bracket = proptest::sample::select(vec!["(", ")", "[", "]", "{", "}"]).prop_map(str::to_owned);
    let other = proptest::sample::select(vec![
        "x",
        "y",
        "f",
        "n",
        "sum",
        "max",
        "rel",
        "f64",
        "a",
        "1",
        "2.5",
        "0",
        "\"s\"",
        "derivative f(",
        "adjoint",
        "i",
        "@",
        "\n",
        "\nlet",
        "\ndef",
        "--| d\n",
        "\n  ",
        "∑",
        "3.",
        "9999999999999999999999",
        "def f(x: f64) = ",
        "let x = ",
        "for i: ",
        "[i] * ",
    ])
    .prop_map(str::to_owned);
    prop_oneof![2 => word, 3 => sym, 3 => bracket, 5 => other]
}

proptest! {
    #[test]
    fn tokens(soup in proptest::collection::vec(token(), 0..40)) {
        check_invariants(&soup.join(" "));
    }

    #[test]
    fn tokens_joined(soup in proptest::collection::vec(token(), 0..20)) {
        check_invariants(&soup.concat());
    }

    #[test]
    fn bodies(soup in proptest::collection::vec(token(), 0..20)) {
        check_invariants(&format!("def f(x: f64) -> f64 = {}", soup.join(" ")));
    }

    #[test]
    fn characters(text in ".{0,60}") {
        check_invariants(&text);
    }

    #[test]
    fn bytes(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        check_invariants(&String::from_utf8_lossy(&bytes));
    }
}
