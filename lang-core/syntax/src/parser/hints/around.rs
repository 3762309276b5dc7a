//! **Token context.** The tokens around an error, as the tables of hints query them.

use crate::lexer::Token;
use crate::parser::builder::Builder;
use crate::parser::errors::{Expected, SyntaxError};
use crate::parser::tokens::Kind;
use crate::token::{Sym, Word};
use lang_base::{Code, Diagnostic};

/// The tokens around an error.
pub(super) struct Around<'a> {
    pub(super) builder: &'a Builder,
    pub(super) at: usize,
    pub(super) expected: Expected,
    pub(super) here: Option<Kind>,
    pub(super) before: Option<Kind>,
}

impl<'a> Around<'a> {
    pub(super) fn new(error: &SyntaxError, builder: &'a Builder) -> Self {
        let at = error.at;
        let before = at.checked_sub(1).and_then(|b| builder.kind(b));
        Self { builder, at, expected: error.expected, here: builder.kind(at), before }
    }

    // Tokens by their distance from the error.

    pub(super) fn back(&self, tokens: usize) -> Option<Kind> {
        self.builder.kind(self.at.checked_sub(tokens)?)
    }

    pub(super) fn ahead(&self, tokens: usize) -> Option<Kind> {
        self.builder.kind(self.at + tokens)
    }

    pub(super) fn is(&self, sym: Sym) -> bool {
        self.here == Some(Kind::Sym(sym))
    }

    pub(super) fn is_word(&self, word: Word) -> bool {
        self.here == Some(Kind::Word(word))
    }

    pub(super) fn after(&self, sym: Sym) -> bool {
        self.before == Some(Kind::Sym(sym))
    }

    pub(super) fn after_word(&self, word: Word) -> bool {
        self.before == Some(Kind::Word(word))
    }

    /// Returns the name `back` tokens before the error.
    pub(super) fn name(&self, back: usize) -> Option<&'a str> {
        self.name_at(self.at.checked_sub(back)?)
    }

    pub(super) fn name_at(&self, at: usize) -> Option<&'a str> {
        match self.builder.token(at) {
            Some(Token::Name(name)) => Some(name),
            _ => None,
        }
    }

    pub(super) fn first(&self) -> Option<Kind> {
        self.builder.kind(0)
    }

    pub(super) fn at_end(&self) -> bool {
        self.here.is_none()
    }

    // Expected tokens.

    pub(super) fn wants(&self, sym: Sym) -> bool {
        self.expected.has(Expected::sym(sym))
    }

    pub(super) fn wants_word(&self, word: Word) -> bool {
        self.expected.has(Expected::word(word))
    }

    pub(super) fn operator(&self) -> bool {
        self.expected.has(Expected::OPERATOR)
    }

    // Lines and brackets.

    /// Returns whether no space separates this token from the preceding one.
    pub(super) fn joined(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|b| self.builder.span_at(b).end == self.builder.span_at(at).start)
    }

    /// Returns the first token of the line.
    pub(super) fn line(&self) -> usize {
        (0..=self.at).rev().find(|at| self.builder.line_start(*at)).unwrap_or(0)
    }

    /// Returns whether a token of this kind precedes the error on its line.
    pub(super) fn on_line(&self, kind: Kind) -> bool {
        (self.line()..self.at).any(|at| self.builder.kind(at) == Some(kind))
    }

    /// Returns the last token before the error, in the same bracket, for which `stop` holds.
    pub(super) fn last(&self, stop: impl Fn(Kind) -> bool) -> Option<usize> {
        let mut depth = 0usize;
        for at in (0..self.at).rev() {
            match self.builder.kind(at)? {
                kind if kind.is_closer() => depth += 1,
                Kind::Sym(sym) if sym.closer().is_some() => depth = depth.checked_sub(1)?,
                kind if depth == 0 && stop(kind) => return Some(at),
                _ => {}
            }
        }
        None
    }

    /// Returns the innermost bracket that is open at the error.
    pub(super) fn opener(&self) -> Option<usize> {
        let mut depth = 0usize;
        (0..self.at).rev().find(|at| match self.builder.kind(*at) {
            Some(kind) if kind.is_closer() => {
                depth += 1;
                false
            }
            Some(Kind::Sym(sym)) if sym.closer().is_some() => {
                let open = depth == 0;
                depth = depth.saturating_sub(1);
                open
            }
            _ => false,
        })
    }

    pub(super) fn inside(&self, bracket: Sym) -> bool {
        self.opener().is_some_and(|at| self.builder.kind(at) == Some(Kind::Sym(bracket)))
    }

    /// Returns the opener of the closer at `close`.
    pub(super) fn opener_of(&self, close: usize) -> Option<usize> {
        (0..close).rev().find(|at| self.builder.partner(*at) == close)
    }

    /// Returns the token before the bracket that closes directly before the error.
    pub(super) fn called(&self) -> Option<&'a Token> {
        let open = self.opener_of(self.at.checked_sub(1)?)?;
        self.builder.token(open.checked_sub(1)?)
    }

    /// Returns a diagnostic for the tokens `from..to`.
    pub(super) fn mark(
        &self,
        from: usize,
        to: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(Code::E0001, self.builder.span(from, to), message).help(help)
    }
}
