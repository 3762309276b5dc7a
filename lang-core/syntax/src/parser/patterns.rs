//! **Pattern grammar.** The rules for `x`, `_`, `(a, b)`, `Node(l, r)`, `{x, y: p}`, `3` and
//! `[k] xs`.

use chumsky::prelude::*;

use super::errors::{Expected, Slip, SyntaxError};
use super::parts::{Part, Rule, field, list, maybe, name, nested, pick, token};
use super::tokens::Kind;
use crate::ast::{Ident, Pat, PatId};
use crate::lexer::Token;
use crate::token::{Sym, Word};
use lang_base::Name;

/// Returns the rule for patterns; `pat` is its recursive reference. It includes `[k] p`, which
/// [`plain`] rejects.
pub(super) fn patterns(pat: impl Part<PatId>) -> Rule<PatId> {
    let simple = pick(Expected::PATTERN, |kind| match kind {
        Kind::Sym(Sym::Underscore) => Some(Pat::Wild),
        Kind::Word(Word::True) => Some(Pat::Bool(true)),
        Kind::Word(Word::False) => Some(Pat::Bool(false)),
        Kind::Error => Some(Pat::Error),
        _ => None,
    });

    let negative = token(Kind::Sym(Sym::Minus), Expected::PATTERN).or_not().map(|sign| sign.is_some());
    let digits = pick(Expected::PATTERN, |kind| (kind == Kind::Int).then_some(()));
    let integer = negative.then_ignore(digits).map_with(|negative, e| {
        let at = e.span();
        let value = match e.state().token(at.end - 1) {
            Some(Token::Int(value)) => i64::try_from(*value).ok().map(|v| if negative { -v } else { v }),
            _ => None,
        };
        // The minimum `i64` has no positive counterpart.
        let least = negative && e.state().token(at.end - 1) == Some(&Token::Int(1 << 63));
        match value.or(least.then_some(i64::MIN)) {
            Some(value) => Pat::Int(value),
            None => {
                e.emit(SyntaxError::slip(at, Slip::IntPattern));
                Pat::Error
            }
        }
    });

    let error = |builder: &mut super::builder::Builder, span| builder.pat(Pat::Error, span);
    let first =
        pick(Expected::PATTERN, |kind| matches!(kind, Kind::Name | Kind::Binder(_)).then_some(())).map_with(|(), e| {
            let at = e.span().start;
            e.state().ident(at)
        });
    let args = list(Sym::LParen, Expected::NONE, pat.clone(), error);
    let named =
        first.then(maybe(Sym::Dot).ignore_then(name()).or_not()).then(args.or_not()).map(|((first, second), args)| {
            match (second, args) {
                (Some(name), args) => Pat::Ctor { module: Some(first), name, args: args.unwrap_or_default() },
                (None, Some(args)) => Pat::Ctor { module: None, name: first, args },
                (None, None) => Pat::Name(first.name),
            }
        });

    let record = list(
        Sym::LBrace,
        Expected::PATTERN,
        field().then(maybe(Sym::Colon).ignore_then(pat.clone()).or_not()),
        |_, span| (Ident { name: Name::default(), span }, None),
    )
    .map(Pat::Record);

    let extents = list(Sym::LBracket, Expected::PATTERN, name(), |_, span| Ident { name: Name::default(), span });
    let sized = extents.then(pat.clone()).map(|(extents, pat)| Pat::Sized(extents, pat));

    let one = choice((named, simple, integer, record, sized)).map_with(|kind, e| {
        let at: SimpleSpan = e.span();
        let span = e.state().span(at.start, at.end);
        e.state().pat(kind, span)
    });
    let parens = list(Sym::LParen, Expected::PATTERN, pat, error).map_with(|items, e| {
        let at = e.span();
        if let [one] = items.as_slice() {
            if at.end - at.start > 3 && e.state().comma_before(at.end) {
                e.emit(SyntaxError::slip(at, Slip::OneTuple));
            }
            return *one;
        }
        let span = e.state().span(at.start, at.end);
        e.state().pat(Pat::Tuple(items), span)
    });
    nested(choice((one, parens))).boxed()
}

/// A pattern outside `let`, which must not name extents.
pub(super) fn plain(pat: impl Part<PatId>) -> impl Part<PatId> {
    pat.map_with(|id, e| {
        if e.state().has_sized(id) {
            let at = e.span();
            e.emit(SyntaxError::slip(at, Slip::Sized));
        }
        id
    })
}
