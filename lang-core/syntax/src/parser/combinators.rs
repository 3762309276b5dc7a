//! **Parser combinators.** The building blocks of the grammar: tokens, names, bracketed lists,
//! recovery.
//!
//! First tokens or a lookahead select almost every alternative of the grammar, so each token is
//! read a bounded number of times. Bracketed lists recover element by element: an error in one ends
//! at the next comma or at the closer, which [`super::brackets::balance`] guarantees.

use chumsky::input::{InputRef, MapExtra};
use chumsky::prelude::*;

use super::TokenStream;
use super::brackets::TokenClass;
use super::builder::TreeBuilder;
use super::errors::{ExpectedSet, GrammarMistake, SyntaxError};
use crate::ast::Ident;
use crate::token::{Sym, Word};
use lang_base::Span;

/// The error and state types of every rule.
pub(super) type Extra = extra::Full<SyntaxError, TreeBuilder, ()>;
/// The input at the current position.
pub(super) type RuleInput<'a, 'b> = &'a mut InputRef<'static, 'b, TokenStream, Extra>;
/// The position and state that a rule's mapping function receives.
pub(super) type MapContext<'a> = MapExtra<'static, 'a, TokenStream, Extra>;
/// A rule of the grammar.
pub(super) type BoxedRule<O> = Boxed<'static, 'static, TokenStream, O, Extra>;

/// An unboxed rule of the grammar.
pub(super) trait GrammarRule<O>: Parser<'static, TokenStream, O, Extra> + Clone + 'static {}
impl<O, P: Parser<'static, TokenStream, O, Extra> + Clone + 'static> GrammarRule<O> for P {}

/// Returns the index of the next token.
pub(super) fn token_index(inp: RuleInput) -> usize {
    *inp.cursor().inner()
}

/// Reads a token that `choose` accepts.
pub(super) fn token_where<O: 'static>(
    expected: ExpectedSet,
    choose: impl Fn(TokenClass) -> Option<O> + Clone + 'static,
) -> impl GrammarRule<O> {
    custom(move |inp: RuleInput| match inp.peek().and_then(&choose) {
        Some(out) => {
            inp.skip();
            Ok(out)
        }
        None => Err(SyntaxError::expected(token_index(inp), expected)),
    })
}

/// Reads a required symbol.
pub(super) fn sym(sym: Sym) -> impl GrammarRule<()> {
    token(TokenClass::Sym(sym), ExpectedSet::sym(sym))
}

/// Reads an optional symbol, which messages do not list.
pub(super) fn unlisted_sym(sym: Sym) -> impl GrammarRule<()> {
    token(TokenClass::Sym(sym), ExpectedSet::NONE)
}

/// Reads the `:` before a body. It reports another language's sign in its place, and continues with
/// the body.
pub(super) fn colon() -> impl GrammarRule<()> {
    let expected = ExpectedSet::sym(Sym::Colon);
    let other = custom(move |inp: RuleInput| {
        let at = token_index(inp);
        let error = SyntaxError::expected(at, expected);
        let builder = inp.state();
        let tokens = match (builder.kind(at), builder.kind(at + 1)) {
            (Some(TokenClass::Sym(Sym::Arrow) | TokenClass::Keyword(Word::Do)), _) => 1,
            (Some(TokenClass::Sym(Sym::Assign)), Some(TokenClass::Sym(Sym::Gt))) => 2,
            _ => return Err(error),
        };
        if !builder.can_recover() {
            return Err(error);
        }
        inp.emit(error);
        (0..tokens).for_each(|_| inp.skip());
        Ok(())
    });
    choice((sym(Sym::Colon), other))
}

/// Reads the `=` of a binding. It reports `==` in its place, and continues with the value.
pub(super) fn assign_sym() -> impl GrammarRule<()> {
    sym(Sym::Assign).recover_with(via_parser(unlisted_sym(Sym::Eq)))
}

/// Reads a required reserved word.
pub(super) fn keyword(word: Word) -> impl GrammarRule<()> {
    token(TokenClass::Keyword(word), ExpectedSet::keyword(word))
}

/// Reads the token `token`, which messages list as `expected`.
pub(super) fn token(token: TokenClass, expected: ExpectedSet) -> impl GrammarRule<()> {
    token_where(expected, move |kind| (kind == token).then_some(()))
}

/// Succeeds without consuming a token if `here` holds for the next one (`None` at the end).
pub(super) fn lookahead(
    expected: ExpectedSet,
    here: impl Fn(Option<TokenClass>) -> bool + Clone + 'static,
) -> impl GrammarRule<()> {
    custom(
        move |inp: RuleInput| {
            if here(inp.peek()) { Ok(()) } else { Err(SyntaxError::expected(token_index(inp), expected)) }
        },
    )
}

/// Reads a name.
pub(super) fn name() -> impl GrammarRule<Ident> {
    ident(ExpectedSet::NAME, |kind| matches!(kind, TokenClass::Name | TokenClass::Binder(_)))
}

/// Reads an index variable: a name or `_`.
pub(super) fn variable() -> impl GrammarRule<Ident> {
    ident(ExpectedSet::VARIABLE, |kind| {
        matches!(kind, TokenClass::Name | TokenClass::Binder(_) | TokenClass::Sym(Sym::Underscore))
    })
}

/// Reads a field name, which may be a reserved word.
pub(super) fn field() -> impl GrammarRule<Ident> {
    ident(ExpectedSet::FIELD, |kind| matches!(kind, TokenClass::Name | TokenClass::Binder(_) | TokenClass::Keyword(_)))
}

fn ident(expected: ExpectedSet, is: impl Fn(TokenClass) -> bool + Clone + 'static) -> impl GrammarRule<Ident> {
    token_where(expected, move |kind| is(kind).then_some(())).map_with(|(), e| {
        let at = e.span().start;
        e.state().ident(at)
    })
}

/// Reads the label of an argument (`wrt:`), if one is present.
pub(super) fn label() -> impl GrammarRule<Option<Ident>> {
    ident(ExpectedSet::NONE, |kind| kind == TokenClass::Name).then_ignore(unlisted_sym(Sym::Colon)).or_not()
}

/// Reports a missing name and returns an empty one.
pub(super) fn missing_name(expected: ExpectedSet) -> impl GrammarRule<Ident> {
    custom(move |inp: RuleInput| {
        let at = token_index(inp);
        let error = SyntaxError::expected(at, expected);
        if !inp.state().can_recover() {
            return Err(error);
        }
        inp.emit(error);
        let builder = inp.state();
        let span = builder.span_at(at.saturating_sub(1)).end_point();
        // Skip a reserved word in the position of the name.
        let reserved = matches!(builder.kind(at), Some(TokenClass::Keyword(_)));
        if reserved && matches!(builder.kind(at + 1), Some(TokenClass::Sym(Sym::LParen | Sym::Assign))) {
            inp.skip();
        }
        Ok(Ident { name: lang_base::Name::default(), span })
    })
}

/// A recursive rule with a check of the nesting depth.
pub(super) fn depth_checked<O: 'static>(rule: impl GrammarRule<O>) -> impl GrammarRule<O> {
    custom(|inp: RuleInput| {
        let at = token_index(inp);
        if inp.state().enter(at) { Ok(()) } else { Err(too_deep_error(at)) }
    })
    .ignore_then(rule)
    .map_with(|out, e| {
        e.state().leave();
        out
    })
}

fn too_deep_error(at: usize) -> SyntaxError {
    SyntaxError { at, end: at + 1, expected: ExpectedSet::NONE, mistake: Some(GrammarMistake::TooDeep) }
}

/// Skips tokens, and brackets as a whole. It stops at a token for which `stop` holds, at the closer
/// of the enclosing bracket, or at the end. Returns the range of the skipped tokens. It fails if
/// the parser no longer recovers from errors, and so does every recovery built on it.
pub(super) fn skip_until(
    stop: impl Fn(&TreeBuilder, usize) -> bool + Clone + 'static,
) -> impl GrammarRule<(usize, usize)> {
    custom(move |inp: RuleInput| {
        let start = token_index(inp);
        if !inp.state().can_recover() {
            return Err(too_deep_error(start));
        }
        let mut depth = 0usize;
        while let Some(kind) = inp.peek() {
            let at = token_index(inp);
            match kind {
                TokenClass::Sym(sym) if sym.closer().is_some() => depth += 1,
                _ if kind.is_closer() && depth == 0 => break,
                _ if kind.is_closer() => depth -= 1,
                _ if depth == 0 && stop(inp.state(), at) => break,
                _ => {}
            }
            inp.skip();
        }
        let end = token_index(inp);
        inp.state().record_skipped(start, end);
        Ok((start, end))
    })
}

/// Reads `open element, element, … close` and returns the elements. An error in an element ends at
/// a comma or at the closer. Then `fallback` builds the element from the span of the skipped text.
/// Messages list the opening bracket as `what`.
pub(super) fn bracketed_list<O: 'static>(
    open: Sym,
    what: ExpectedSet,
    element: impl GrammarRule<O>,
    fallback: impl Fn(&mut TreeBuilder, Span) -> O + Clone + 'static,
) -> impl GrammarRule<Vec<O>> {
    let close = open.closer().unwrap_or(open);
    let ends = ExpectedSet::sym(Sym::Comma).union(ExpectedSet::sym(close));
    let whole = element.then_ignore(lookahead(ends, |kind| {
        kind.is_none_or(|k| k.is_closer() || matches!(k, TokenClass::Sym(Sym::Comma | Sym::Semi)))
    }));
    let skipped = skip_until(|builder, at| builder.kind(at) == Some(TokenClass::Sym(Sym::Comma))).map_with(
        move |(start, end), e| {
            let span = e.state().span(start, end);
            fallback(e.state(), span)
        },
    );
    // Reports a `;` in place of a comma, and continues with the elements.
    let semi = custom(move |inp: RuleInput| {
        let error = SyntaxError::expected(token_index(inp), ends);
        if !inp.state().can_recover() || inp.peek() != Some(TokenClass::Sym(Sym::Semi)) {
            return Err(error);
        }
        inp.emit(error);
        inp.skip();
        Ok(())
    });
    // Try an element only if one is present, because recovery would create one after a trailing
    // comma.
    let elements = lookahead(ExpectedSet::NONE, |kind| kind.is_some_and(|k| !k.is_closer()))
        .ignore_then(whole.recover_with(via_parser(skipped)))
        .separated_by(choice((sym(Sym::Comma), semi)))
        .allow_trailing()
        .collect::<Vec<O>>();
    token(TokenClass::Sym(open), what).ignore_then(elements).then_ignore(sym(close)).boxed()
}
