//! The front end under any text: what it promises to hold for a program holds for noise too.

use lang_core::base::{Diagnostic, Span};
use lang_core::session::Session;
use lang_core::syntax::format::format;
use lang_core::syntax::lexer::lex;

/// The module that single programs are.
pub const MODULE: &str = "main.iv";

/// The diagnostics of a program by itself.
#[must_use]
pub fn diagnostics(text: &str) -> Vec<Diagnostic> {
    let mut session = Session::new();
    session.set_text(MODULE, text);
    session.diagnostics(MODULE)
}

/// Checks what holds for every text: no pass panics, every place lies in the text between
/// characters, and formatting changes neither a formatted text nor what the checker says.
///
/// # Panics
/// If it does not hold.
pub fn check(text: &str) {
    let lexed = lex(text);
    for token in &lexed.tokens {
        inside(text, token.span, "a token");
    }
    let found = diagnostics(text);
    places(text, &found);
    if let Ok(formatted) = format(text) {
        let again = format(&formatted);
        assert_eq!(again.as_deref(), Ok(formatted.as_str()), "formatting changes what it made of:\n{text}");
        let codes = |list: &[Diagnostic]| list.iter().map(|d| d.code).collect::<Vec<_>>();
        let after = diagnostics(&formatted);
        assert_eq!(codes(&after), codes(&found), "formatting changes what is wrong:\n{text}\n---\n{formatted}");
    }
}

/// All places of diagnostics lie in the text.
///
/// # Panics
/// If one does not.
pub fn places(text: &str, found: &[Diagnostic]) {
    for diagnostic in found {
        inside(text, diagnostic.span, diagnostic.code.name());
        for label in diagnostic.related.iter().filter(|label| label.module.is_none()) {
            inside(text, label.span, diagnostic.code.name());
        }
    }
}

fn inside(text: &str, span: Span, what: &str) {
    assert!(text.get(span.range()).is_some(), "{what} points outside, at {span:?} of:\n{text}");
}
