//! Tests of the path from text to trees. They print trees as s-expressions, and diagnostics as
//! `code «marked text» message`, with related places and help below.

mod dump;
mod errors;
mod incomplete;
mod item_errors;
mod lexing;
mod limits;
mod robustness;
mod splitting;
mod trees;

use std::fmt::Write;

use expect_test::Expect;

use super::parser::ParsedItem;
use lang_base::{Diagnostic, Span};

/// Compares the result of parsing each text.
#[track_caller]
fn check(parse: fn(&str) -> ParsedItem, texts: &[&str], expected: Expect) {
    let mut out = String::new();
    for text in texts {
        let parsed = parse(text);
        writeln!(out, "{text}\n    {}", dump::dump(&parsed.tree)).unwrap();
        out.push_str(&render_diagnostics(text, &parsed.diagnostics));
    }
    expected.assert_eq(&out);
}

fn render_diagnostics(text: &str, diagnostics: &[Diagnostic]) -> String {
    let mut out = String::new();
    let place = |span: Span| match text.get(span.range()).unwrap() {
        "" if span.start as usize == text.len() => "the end".to_owned(),
        part => format!("«{part}»"),
    };
    for d in diagnostics {
        writeln!(out, "  {} {}: {}", d.code, place(d.span), d.message).unwrap();
        for related in &d.related {
            writeln!(out, "      at {}: {}", place(related.span), related.message).unwrap();
        }
        if let Some(help) = &d.help {
            writeln!(out, "      help: {help}").unwrap();
        }
    }
    out
}
