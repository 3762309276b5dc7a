//! **Parser combinators.** The building blocks of the grammar: tokens, names, bracketed lists,
//! recovery.
//!
//! First tokens or a lookahead select almost every alternative of the grammar, so each token is
//! read a bounded number of times. Bracketed lists recover element by element: an error in one ends
//! at the next comma or at the closer, which [`super::tokens::balance`] guarantees.

use chumsky::input::{InputRef, MapExtra};
use chumsky::prelude::*;

use super::Tokens;
use super::builder::Builder;
use super::errors::{Expected, Slip, SyntaxError};
use super::tokens::Kind;
use crate::ast::Ident;
use crate::token::{Sym, Word};
use lang_base::Span;

/// The error and state types of every rule.
pub(super) type Extra = extra::Full<SyntaxError, Builder, ()>;
/// The input at the current position.
pub(super) type Here<'a, 'b> = &'a mut InputRef<'static, 'b, Tokens, Extra>;
/// The position and state that a rule's mapping function receives.
pub(super) type At<'a> = MapExtra<'static, 'a, Tokens, Extra>;
/// A rule of the grammar.
pub(super) type Rule<O> = Boxed<'static, 'static, Tokens, O, Extra>;

/// An unboxed rule of the grammar.
pub(super) trait Part<O>: Parser<'static, Tokens, O, Extra> + Clone + 'static {}
impl<O, P: Parser<'static, Tokens, O, Extra> + Clone + 'static> Part<O> for P {}

/// Returns the index of the next token.
pub(super) fn place(inp: Here) -> usize {
    *inp.cursor().inner()
}

/// Reads a token that `choose` accepts.
pub(super) fn pick<O: 'static>(
    expected: Expected,
    choose: impl Fn(Kind) -> Option<O> + Clone + 'static,
) -> impl Part<O> {
    custom(move |inp: Here| match inp.peek().and_then(&choose) {
        Some(out) => {
            inp.skip();
            Ok(out)
        }
        None => Err(SyntaxError::expected(place(inp), expected)),
    })
}

/// Reads a required symbol.
pub(super) fn sym(sym: Sym) -> impl Part<()> {
    token(Kind::Sym(sym), Expected::sym(sym))
}

/// Reads an optional symbol, which messages do not list.
pub(super) fn maybe(sym: Sym) -> impl Part<()> {
    token(Kind::Sym(sym), Expected::NONE)
}

/// Reads the `:` before a body. It reports another language's sign in its place, and continues with
/// the body.
pub(super) fn colon() -> impl Part<()> {
    let expected = Expected::sym(Sym::Colon);
    let other = custom(move |inp: Here| {
        let at = place(inp);
        let error = SyntaxError::expected(at, expected);
        let builder = inp.state();
        let tokens = match (builder.kind(at), builder.kind(at + 1)) {
            (Some(Kind::Sym(Sym::Arrow) | Kind::Word(Word::Do)), _) => 1,
            (Some(Kind::Sym(Sym::Assign)), Some(Kind::Sym(Sym::Gt))) => 2,
            _ => return Err(error),
        };
        if !builder.recovers() {
            return Err(error);
        }
        inp.emit(error);
        (0..tokens).for_each(|_| inp.skip());
        Ok(())
    });
    choice((sym(Sym::Colon), other))
}

/// Reads the `=` of a binding. It reports `==` in its place, and continues with the value.
pub(super) fn binds() -> impl Part<()> {
    sym(Sym::Assign).recover_with(via_parser(maybe(Sym::Eq)))
}

/// Reads a required reserved word.
pub(super) fn word(word: Word) -> impl Part<()> {
    token(Kind::Word(word), Expected::word(word))
}

/// Reads the token `token`, which messages list as `expected`.
pub(super) fn token(token: Kind, expected: Expected) -> impl Part<()> {
    pick(expected, move |kind| (kind == token).then_some(()))
}

/// Succeeds without consuming a token if `here` holds for the next one (`None` at the end).
pub(super) fn look(expected: Expected, here: impl Fn(Option<Kind>) -> bool + Clone + 'static) -> impl Part<()> {
    custom(move |inp: Here| if here(inp.peek()) { Ok(()) } else { Err(SyntaxError::expected(place(inp), expected)) })
}

/// Reads a name.
pub(super) fn name() -> impl Part<Ident> {
    ident(Expected::NAME, |kind| matches!(kind, Kind::Name | Kind::Binder(_)))
}

/// Reads an index variable: a name or `_`.
pub(super) fn variable() -> impl Part<Ident> {
    ident(Expected::VARIABLE, |kind| matches!(kind, Kind::Name | Kind::Binder(_) | Kind::Sym(Sym::Underscore)))
}

/// Reads a field name, which may be a reserved word.
pub(super) fn field() -> impl Part<Ident> {
    ident(Expected::FIELD, |kind| matches!(kind, Kind::Name | Kind::Binder(_) | Kind::Word(_)))
}

fn ident(expected: Expected, is: impl Fn(Kind) -> bool + Clone + 'static) -> impl Part<Ident> {
    pick(expected, move |kind| is(kind).then_some(())).map_with(|(), e| {
        let at = e.span().start;
        e.state().ident(at)
    })
}

/// Reads the label of an argument (`wrt:`), if one is present.
pub(super) fn label() -> impl Part<Option<Ident>> {
    ident(Expected::NONE, |kind| kind == Kind::Name).then_ignore(maybe(Sym::Colon)).or_not()
}

/// Reports a missing name and returns an empty one.
pub(super) fn missing(expected: Expected) -> impl Part<Ident> {
    custom(move |inp: Here| {
        let at = place(inp);
        let error = SyntaxError::expected(at, expected);
        if !inp.state().recovers() {
            return Err(error);
        }
        inp.emit(error);
        let builder = inp.state();
        let span = builder.span_at(at.saturating_sub(1)).after();
        // Skip a reserved word in the position of the name.
        let reserved = matches!(builder.kind(at), Some(Kind::Word(_)));
        if reserved && matches!(builder.kind(at + 1), Some(Kind::Sym(Sym::LParen | Sym::Assign))) {
            inp.skip();
        }
        Ok(Ident { name: lang_base::Name::default(), span })
    })
}

/// A recursive rule with a check of the nesting depth.
pub(super) fn nested<O: 'static>(rule: impl Part<O>) -> impl Part<O> {
    custom(|inp: Here| {
        let at = place(inp);
        if inp.state().enter(at) { Ok(()) } else { Err(deep(at)) }
    })
    .ignore_then(rule)
    .map_with(|out, e| {
        e.state().leave();
        out
    })
}

fn deep(at: usize) -> SyntaxError {
    SyntaxError { at, end: at + 1, expected: Expected::NONE, slip: Some(Slip::Deep) }
}

/// Skips tokens, and brackets as a whole. It stops at a token for which `stop` holds, at the closer
/// of the enclosing bracket, or at the end. Returns the range of the skipped tokens. It fails if
/// the parser no longer recovers from errors, and so does every recovery built on it.
pub(super) fn skip_until(stop: impl Fn(&Builder, usize) -> bool + Clone + 'static) -> impl Part<(usize, usize)> {
    custom(move |inp: Here| {
        let start = place(inp);
        if !inp.state().recovers() {
            return Err(deep(start));
        }
        let mut depth = 0usize;
        while let Some(kind) = inp.peek() {
            let at = place(inp);
            match kind {
                Kind::Sym(sym) if sym.closer().is_some() => depth += 1,
                _ if kind.is_closer() && depth == 0 => break,
                _ if kind.is_closer() => depth -= 1,
                _ if depth == 0 && stop(inp.state(), at) => break,
                _ => {}
            }
            inp.skip();
        }
        let end = place(inp);
        inp.state().skip(start, end);
        Ok((start, end))
    })
}

/// Reads `open element, element, … close` and returns the elements. An error in an element ends at
/// a comma or at the closer. Then `fallback` builds the element from the span of the skipped text.
/// Messages list the opening bracket as `what`.
pub(super) fn list<O: 'static>(
    open: Sym,
    what: Expected,
    element: impl Part<O>,
    fallback: impl Fn(&mut Builder, Span) -> O + Clone + 'static,
) -> impl Part<Vec<O>> {
    let close = open.closer().unwrap_or(open);
    let ends = Expected::sym(Sym::Comma).or(Expected::sym(close));
    let whole = element.then_ignore(look(ends, |kind| {
        kind.is_none_or(|k| k.is_closer() || matches!(k, Kind::Sym(Sym::Comma | Sym::Semi)))
    }));
    let skipped =
        skip_until(|builder, at| builder.kind(at) == Some(Kind::Sym(Sym::Comma))).map_with(move |(start, end), e| {
            let span = e.state().span(start, end);
            fallback(e.state(), span)
        });
    // Reports a `;` in place of a comma, and continues with the elements.
    let semi = custom(move |inp: Here| {
        let error = SyntaxError::expected(place(inp), ends);
        if !inp.state().recovers() || inp.peek() != Some(Kind::Sym(Sym::Semi)) {
            return Err(error);
        }
        inp.emit(error);
        inp.skip();
        Ok(())
    });
    // Try an element only if one is present, because recovery would create one after a trailing
    // comma.
    let elements = look(Expected::NONE, |kind| kind.is_some_and(|k| !k.is_closer()))
        .ignore_then(whole.recover_with(via_parser(skipped)))
        .separated_by(choice((sym(Sym::Comma), semi)))
        .allow_trailing()
        .collect::<Vec<O>>();
    token(Kind::Sym(open), what).ignore_then(elements).then_ignore(sym(close)).boxed()
}
