//! **Quick fixes** for syntax errors. The tokens around the error determine the fix, which replaces
//! another language's notation in place.

use super::builder::TreeBuilder;
use super::errors::{ExpectedSet, SyntaxError};
use crate::lexer::{SpannedToken, Token};
use crate::token::{Sym, Word};
use lang_base::{Code, Diagnostic, Fix, FixPiece, Span};

/// Words that introduce a lambda in other languages.
const FOREIGN_LAMBDA_WORDS: [&str; 5] = ["lambda", "fn", "fun", "func", "function"];

/// The placeholder for a missing value.
const MISSING_VALUE: &str = "error(\"not implemented\")";

/// Returns the fixes for an error.
pub(super) fn fixes(error: &SyntaxError, builder: &TreeBuilder) -> Vec<Fix> {
    let at = error.at;
    let found = [lambda_fix(at, builder), comment_fix(at, builder), missing_else_fix(error, builder)];
    found.into_iter().flatten().collect()
}

/// Replaces `lambda x: e` by `\x: e`.
fn lambda_fix(at: usize, builder: &TreeBuilder) -> Option<Fix> {
    let is_word = |at: &usize| matches!(builder.token(*at), Some(Token::Name(name)) if FOREIGN_LAMBDA_WORDS.contains(&name.as_str()));
    let word = [Some(at), at.checked_sub(1)].into_iter().flatten().find(is_word)?;
    builder.token(word + 1)?;
    Some(Fix::replace(Span::new(builder.span_at(word).start, builder.span_at(word + 1).start), "\\"))
}

/// Replaces the comment sign in `x // text`, or a leading `%` or `;`, on the line of the error.
fn comment_fix(at: usize, builder: &TreeBuilder) -> Option<Fix> {
    let line = (0..=at).rev().find(|k| builder.is_line_start(*k)).unwrap_or(0);
    let begins = matches!(builder.token(line), Some(Token::Sym(Sym::Percent | Sym::Semi)));
    let slashes = |k: &usize| builder.token(*k) == Some(&Token::Sym(Sym::FloorDiv));
    let mark = if begins { line } else { (line..=at).find(slashes)? };
    Some(Fix::replace(builder.span_at(mark), "--"))
}

/// Inserts the missing `else` of an `if` at the end of the text.
fn missing_else_fix(error: &SyntaxError, builder: &TreeBuilder) -> Option<Fix> {
    let wants = error.expected.contains(ExpectedSet::keyword(Word::Else));
    let ends = builder.token(error.at).is_none();
    let last = builder.span_at(error.at.checked_sub(1)?);
    (wants && ends).then(|| Fix::insert(last.end, format!(" else {MISSING_VALUE}")))
}

/// Adds a fix for `a @ b` of two names, which is outside the language. Names that equal an index
/// variable of the replacement are excluded.
pub(super) fn add_matrix_product_fixes(text: &str, tokens: &[SpannedToken], diagnostics: &mut [Diagnostic]) {
    for d in diagnostics.iter_mut().filter(|d| d.code == Code::E0003 && d.span.end == d.span.start + 1) {
        let before = tokens.iter().rfind(|t| t.span.end <= d.span.start);
        let after = tokens.iter().find(|t| t.span.start >= d.span.end);
        let (Some(before), Some(after)) = (before, after) else { continue };
        let is_factor = |t: &SpannedToken| t.name().is_some_and(|name| !matches!(name.as_str(), "i" | "j" | "k"));
        if !(text.get(d.span.range()) == Some("@") && is_factor(before) && is_factor(after)) {
            continue;
        }
        let own = |text: &str| FixPiece::Text(text.to_owned());
        let pieces = vec![
            own("(for i, j: (sum k: "),
            FixPiece::Source(before.span),
            own("[i, k] * "),
            FixPiece::Source(after.span),
            own("[k, j]))"),
        ];
        d.fixes.push(Fix { span: before.span.to(after.span), pieces });
    }
}
