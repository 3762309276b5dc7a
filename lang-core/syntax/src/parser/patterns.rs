//! **Pattern grammar.** The rules for `x`, `_`, `(a, b)`, `Node(l, r)`, `{x, y: p}`, `3` and
//! `[k] xs`.

use chumsky::prelude::*;

use super::brackets::TokenClass;
use super::combinators::{
    BoxedRule, GrammarRule, bracketed_list, depth_checked, field, name, token, token_where, unlisted_sym,
};
use super::errors::{ExpectedSet, GrammarMistake, SyntaxError};
use crate::ast::{Ident, Pat, PatId};
use crate::lexer::Token;
use crate::token::{Sym, Word};
use lang_base::Name;

/// Returns the rule for patterns; `pat` is its recursive reference. It includes `[k] p`, which
/// [`without_extents`] rejects.
pub(super) fn patterns(pat: impl GrammarRule<PatId>) -> BoxedRule<PatId> {
    let simple = token_where(ExpectedSet::PATTERN, |kind| match kind {
        TokenClass::Sym(Sym::Underscore) => Some(Pat::Wild),
        TokenClass::Keyword(Word::True) => Some(Pat::Bool(true)),
        TokenClass::Keyword(Word::False) => Some(Pat::Bool(false)),
        TokenClass::Error => Some(Pat::Error),
        _ => None,
    });

    let negative = token(TokenClass::Sym(Sym::Minus), ExpectedSet::PATTERN).or_not().map(|sign| sign.is_some());
    let digits = token_where(ExpectedSet::PATTERN, |kind| (kind == TokenClass::Int).then_some(()));
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
                e.emit(SyntaxError::from_mistake(at, GrammarMistake::IntPatternOverflow));
                Pat::Error
            }
        }
    });

    let error = |builder: &mut super::builder::TreeBuilder, span| builder.pat(Pat::Error, span);
    let first = token_where(ExpectedSet::PATTERN, |kind| {
        matches!(kind, TokenClass::Name | TokenClass::Binder(_)).then_some(())
    })
    .map_with(|(), e| {
        let at = e.span().start;
        e.state().ident(at)
    });
    let args = bracketed_list(Sym::LParen, ExpectedSet::NONE, pat.clone(), error);
    let named = first.then(unlisted_sym(Sym::Dot).ignore_then(name()).or_not()).then(args.or_not()).map(
        |((first, second), args)| match (second, args) {
            (Some(name), args) => Pat::Ctor { module: Some(first), name, args: args.unwrap_or_default() },
            (None, Some(args)) => Pat::Ctor { module: None, name: first, args },
            (None, None) => Pat::Name(first.name),
        },
    );

    let record = bracketed_list(
        Sym::LBrace,
        ExpectedSet::PATTERN,
        field().then(unlisted_sym(Sym::Colon).ignore_then(pat.clone()).or_not()),
        |_, span| (Ident { name: Name::default(), span }, None),
    )
    .map(Pat::Record);

    let extents =
        bracketed_list(Sym::LBracket, ExpectedSet::PATTERN, name(), |_, span| Ident { name: Name::default(), span });
    let sized = extents.then(pat.clone()).map(|(extents, pat)| Pat::Sized(extents, pat));

    let one = choice((named, simple, integer, record, sized)).map_with(|kind, e| {
        let at: SimpleSpan = e.span();
        let span = e.state().span(at.start, at.end);
        e.state().pat(kind, span)
    });
    let parens = bracketed_list(Sym::LParen, ExpectedSet::PATTERN, pat, error).map_with(|items, e| {
        let at = e.span();
        if let [one] = items.as_slice() {
            if at.end - at.start > 3 && e.state().has_trailing_comma(at.end) {
                e.emit(SyntaxError::from_mistake(at, GrammarMistake::OneElementTuple));
            }
            return *one;
        }
        let span = e.state().span(at.start, at.end);
        e.state().pat(Pat::Tuple(items), span)
    });
    depth_checked(choice((one, parens))).boxed()
}

/// A pattern outside `let`, which must not name extents.
pub(super) fn without_extents(pat: impl GrammarRule<PatId>) -> impl GrammarRule<PatId> {
    pat.map_with(|id, e| {
        if e.state().names_extents(id) {
            let at = e.span();
            e.emit(SyntaxError::from_mistake(at, GrammarMistake::ExtentsOutsideLet));
        }
        id
    })
}
