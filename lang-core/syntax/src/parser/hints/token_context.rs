//! **Token context.** The tokens around an error, as the tables of hints query them.

use crate::lexer::Token;
use crate::parser::brackets::TokenClass;
use crate::parser::builder::TreeBuilder;
use crate::parser::errors::{ExpectedSet, SyntaxError};
use crate::token::{Sym, Word};
use lang_base::{Code, Diagnostic, Hint};

/// The tokens around an error.
pub(super) struct TokenContext<'a> {
    pub(super) builder: &'a TreeBuilder,
    pub(super) at: usize,
    pub(super) expected: ExpectedSet,
    pub(super) current: Option<TokenClass>,
    pub(super) previous: Option<TokenClass>,
}

impl<'a> TokenContext<'a> {
    pub(super) fn new(error: &SyntaxError, builder: &'a TreeBuilder) -> Self {
        let at = error.at;
        let before = at.checked_sub(1).and_then(|b| builder.kind(b));
        Self { builder, at, expected: error.expected, current: builder.kind(at), previous: before }
    }

    // Tokens by their distance from the error.

    pub(super) fn kind_before(&self, tokens: usize) -> Option<TokenClass> {
        self.builder.kind(self.at.checked_sub(tokens)?)
    }

    pub(super) fn kind_after(&self, tokens: usize) -> Option<TokenClass> {
        self.builder.kind(self.at + tokens)
    }

    pub(super) fn is_sym(&self, sym: Sym) -> bool {
        self.current == Some(TokenClass::Sym(sym))
    }

    pub(super) fn is_keyword(&self, word: Word) -> bool {
        self.current == Some(TokenClass::Keyword(word))
    }

    pub(super) fn follows_sym(&self, sym: Sym) -> bool {
        self.previous == Some(TokenClass::Sym(sym))
    }

    pub(super) fn follows_keyword(&self, word: Word) -> bool {
        self.previous == Some(TokenClass::Keyword(word))
    }

    /// Returns the name `back` tokens before the error.
    pub(super) fn name_before(&self, back: usize) -> Option<&'a str> {
        self.name_at(self.at.checked_sub(back)?)
    }

    pub(super) fn name_at(&self, at: usize) -> Option<&'a str> {
        match self.builder.token(at) {
            Some(Token::Name(name)) => Some(name),
            _ => None,
        }
    }

    pub(super) fn first_kind(&self) -> Option<TokenClass> {
        self.builder.kind(0)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.current.is_none()
    }

    // Expected tokens.

    pub(super) fn expects_sym(&self, sym: Sym) -> bool {
        self.expected.contains(ExpectedSet::sym(sym))
    }

    pub(super) fn expects_keyword(&self, word: Word) -> bool {
        self.expected.contains(ExpectedSet::keyword(word))
    }

    pub(super) fn expects_operator(&self) -> bool {
        self.expected.contains(ExpectedSet::OPERATOR)
    }

    // Lines and brackets.

    /// Returns whether no space separates this token from the preceding one.
    pub(super) fn is_adjacent(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|b| self.builder.span_at(b).end == self.builder.span_at(at).start)
    }

    /// Returns the first token of the line.
    pub(super) fn line_start(&self) -> usize {
        (0..=self.at).rev().find(|at| self.builder.is_line_start(*at)).unwrap_or(0)
    }

    /// Returns whether a token of this kind precedes the error on its line.
    pub(super) fn is_on_line(&self, kind: TokenClass) -> bool {
        (self.line_start()..self.at).any(|at| self.builder.kind(at) == Some(kind))
    }

    /// Returns the last token before the error, in the same bracket, for which `stop` holds.
    pub(super) fn last_before(&self, stop: impl Fn(TokenClass) -> bool) -> Option<usize> {
        let mut depth = 0usize;
        for at in (0..self.at).rev() {
            match self.builder.kind(at)? {
                kind if kind.is_closer() => depth += 1,
                TokenClass::Sym(sym) if sym.closer().is_some() => depth = depth.checked_sub(1)?,
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
            Some(TokenClass::Sym(sym)) if sym.closer().is_some() => {
                let open = depth == 0;
                depth = depth.saturating_sub(1);
                open
            }
            _ => false,
        })
    }

    pub(super) fn is_inside(&self, bracket: Sym) -> bool {
        self.opener().is_some_and(|at| self.builder.kind(at) == Some(TokenClass::Sym(bracket)))
    }

    /// Returns the opener of the closer at `close`.
    pub(super) fn opener_of(&self, close: usize) -> Option<usize> {
        (0..close).rev().find(|at| self.builder.matching_closer(*at) == close)
    }

    /// Returns the token before the bracket that closes directly before the error.
    pub(super) fn callee_token(&self) -> Option<&'a Token> {
        let open = self.opener_of(self.at.checked_sub(1)?)?;
        self.builder.token(open.checked_sub(1)?)
    }

    /// Returns a diagnostic for the tokens `from..to`.
    pub(super) fn diagnostic_at(
        &self,
        from: usize,
        to: usize,
        message: impl Into<String>,
        help: impl Into<Hint>,
    ) -> Diagnostic {
        Diagnostic::new(Code::E0001, self.builder.span(from, to), message).help(help)
    }
}
