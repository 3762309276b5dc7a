//! The small parts of which the grammar is made: tokens, names, lists in brackets, recovery.
//!
//! The grammar never has to choose between two alternatives that begin alike, so each token is
//! read a bounded number of times. Lists in brackets recover element by element: an error in one
//! ends at the next comma or at the closer, which [`super::tokens::balance`] has made sure of.

use chumsky::input::{InputRef, MapExtra};
use chumsky::prelude::*;

use super::Tokens;
use super::builder::Builder;
use super::errors::{Expected, Slip, SyntaxError};
use super::tokens::Kind;
use crate::base::Span;
use crate::syntax::ast::Ident;
use crate::syntax::token::{Sym, Word};

/// What every rule carries: its errors and the state.
pub(super) type Extra = extra::Full<SyntaxError, Builder, ()>;
/// The input at a place.
pub(super) type Here<'a, 'b> = &'a mut InputRef<'static, 'b, Tokens, Extra>;
/// What a rule sees of the place it has just read.
pub(super) type At<'a> = MapExtra<'static, 'a, Tokens, Extra>;
/// A rule of the grammar.
pub(super) type Rule<O> = Boxed<'static, 'static, Tokens, O, Extra>;

/// A part of the grammar.
pub(super) trait Part<O>: Parser<'static, Tokens, O, Extra> + Clone + 'static {}
impl<O, P: Parser<'static, Tokens, O, Extra> + Clone + 'static> Part<O> for P {}

/// The number of the next token.
pub(super) fn place(inp: Here) -> usize {
    *inp.cursor().inner()
}

/// A token that `choose` wants.
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

/// A symbol that has to stand here.
pub(super) fn sym(sym: Sym) -> impl Part<()> {
    token(Kind::Sym(sym), Expected::sym(sym))
}

/// A symbol that may stand here; messages do not say so.
pub(super) fn maybe(sym: Sym) -> impl Part<()> {
    token(Kind::Sym(sym), Expected::NONE)
}

/// The `:` before a body. Where another language's sign stands for it, that is reported and the
/// body is read.
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

/// The `=` that binds a name. Where `==` stands for it, that is reported and what is bound is read.
pub(super) fn binds() -> impl Part<()> {
    sym(Sym::Assign).recover_with(via_parser(maybe(Sym::Eq)))
}

/// A reserved word that has to stand here.
pub(super) fn word(word: Word) -> impl Part<()> {
    token(Kind::Word(word), Expected::word(word))
}

/// A given token, and what messages call it.
pub(super) fn token(token: Kind, expected: Expected) -> impl Part<()> {
    pick(expected, move |kind| (kind == token).then_some(()))
}

/// Succeeds without taking anything where `here` holds for the next token, `None` at the end.
pub(super) fn look(expected: Expected, here: impl Fn(Option<Kind>) -> bool + Clone + 'static) -> impl Part<()> {
    custom(move |inp: Here| if here(inp.peek()) { Ok(()) } else { Err(SyntaxError::expected(place(inp), expected)) })
}

/// A name.
pub(super) fn name() -> impl Part<Ident> {
    ident(Expected::NAME, |kind| matches!(kind, Kind::Name | Kind::Binder(_)))
}

/// An index variable: a name or `_`.
pub(super) fn variable() -> impl Part<Ident> {
    ident(Expected::VARIABLE, |kind| matches!(kind, Kind::Name | Kind::Binder(_) | Kind::Sym(Sym::Underscore)))
}

/// A field name, which may be a reserved word.
pub(super) fn field() -> impl Part<Ident> {
    ident(Expected::FIELD, |kind| matches!(kind, Kind::Name | Kind::Binder(_) | Kind::Word(_)))
}

fn ident(expected: Expected, is: impl Fn(Kind) -> bool + Clone + 'static) -> impl Part<Ident> {
    pick(expected, move |kind| is(kind).then_some(())).map_with(|(), e| {
        let at = e.span().start;
        e.state().ident(at)
    })
}

/// The `wrt:` of an argument, if there is one.
pub(super) fn label() -> impl Part<Option<Ident>> {
    ident(Expected::NONE, |kind| kind == Kind::Name).then_ignore(maybe(Sym::Colon)).or_not()
}

/// The name that is missing: reports it, takes nothing, and is empty.
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
        // A reserved word in the place of a name is taken for it.
        let reserved = matches!(builder.kind(at), Some(Kind::Word(_)));
        if reserved && matches!(builder.kind(at + 1), Some(Kind::Sym(Sym::LParen | Sym::Assign))) {
            inp.skip();
        }
        Ok(Ident { name: crate::base::Name::default(), span })
    })
}

/// A rule that may contain itself, guarded against nesting too deeply.
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

/// Takes tokens, brackets whole, up to one where `stop` holds (it sees the state and the place),
/// the end of the enclosing bracket or the end. Gives their range. Where no errors are recovered from
/// any more it fails, and so does every recovery built on it.
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

/// `open element, element, … close`: the elements. An error in one ends at a comma or the closer;
/// what `fallback` makes of the skipped bytes stands for the element. `what` is what messages
/// call the opening bracket.
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
    // Where `;` stands for a comma, that is reported and the elements are read.
    let semi = custom(move |inp: Here| {
        let error = SyntaxError::expected(place(inp), ends);
        if !inp.state().recovers() || inp.peek() != Some(Kind::Sym(Sym::Semi)) {
            return Err(error);
        }
        inp.emit(error);
        inp.skip();
        Ok(())
    });
    // An element is tried only where there is one: recovery would make one out of a trailing comma.
    let elements = look(Expected::NONE, |kind| kind.is_some_and(|k| !k.is_closer()))
        .ignore_then(whole.recover_with(via_parser(skipped)))
        .separated_by(choice((sym(Sym::Comma), semi)))
        .allow_trailing()
        .collect::<Vec<O>>();
    token(Kind::Sym(open), what).ignore_then(elements).then_ignore(sym(close)).boxed()
}
