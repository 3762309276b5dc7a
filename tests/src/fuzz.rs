//! What has to hold for every text, program or noise: the front end does not panic, its places lie
//! in the text, formatting is stable and keeps the meaning, edits give what a fresh start gives,
//! and what is a program runs to a value or a failure within its limits.

use lang_core::base::{Diagnostic, Span};
use lang_core::session::Session;
use lang_core::syntax::lexer::lex;

use crate::mutate::mutant;
use crate::random::Random;
use crate::run::MAIN;

/// Checks the front end on a text by itself.
///
/// # Panics
/// If something does not hold.
pub fn check_front(text: &str) {
    for token in &lex(text).tokens {
        inside(text, token.span, "a token");
    }
    let found = diagnostics(text);
    for diagnostic in &found {
        inside(text, diagnostic.span, diagnostic.code.name());
        for label in diagnostic.related.iter().filter(|l| l.module.as_ref().is_none_or(|m| m == MAIN)) {
            inside(text, label.span, diagnostic.code.name());
        }
    }
}

/// Checks mutants of the corpus: each by itself, and each as an edit of the one before it. A
/// failure prints the text it is about.
///
/// # Panics
/// If something does not hold for one of them.
pub fn check_mutants(corpus: &[String], seed: u64, count: u64) {
    let mut random = Random::new(seed);
    let mut edited = Session::new();
    for number in 0..count {
        let text = mutant(&mut random, corpus);
        let _told = Told { seed, number, text: &text };
        check_front(&text);
        edited.set_text(MAIN, &text);
        let (after_edit, fresh) = (edited.diagnostics(MAIN), diagnostics(&text));
        assert!(after_edit == fresh, "an edit tells {after_edit:?}, a fresh start {fresh:?}");
    }
}

/// Tells, when a panic passes through, which mutant it was.
struct Told<'a> {
    seed: u64,
    number: u64,
    text: &'a str,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("mutant {} of seed {}:\n--------\n{}\n--------", self.number, self.seed, self.text);
        }
    }
}

fn diagnostics(text: &str) -> Vec<Diagnostic> {
    let mut session = Session::new();
    session.set_text(MAIN, text);
    session.diagnostics(MAIN)
}

fn inside(text: &str, span: Span, what: &str) {
    assert!(text.get(span.range()).is_some(), "{what} points outside the text, at {span:?}");
}
