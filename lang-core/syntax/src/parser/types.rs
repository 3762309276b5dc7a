//! **Type grammar.** The rules for `[n, m]f64`, `(A, n: i64) -> B`, `Tree(a)`, `{x: f64}` and
//! `rel[n, m]`.

use chumsky::prelude::*;

use super::brackets::TokenClass;
use super::combinators::{
    BoxedRule, GrammarRule, MapContext, RuleInput, bracketed_list, depth_checked, field, label, name, sym, token_index,
    token_where, unlisted_sym,
};
use super::errors::{ExpectedSet, GrammarMistake, SyntaxError};
use crate::ast::{Expr, ExprId, Ident, SizeExpr, TypeArg, TypeExpr, TypeId};
use crate::token::Sym;
use lang_base::Span;

/// An operand of `->`.
enum ArrowOperand {
    /// A parenthesised list: parameters, a tuple, or a group.
    List(Vec<(Option<Ident>, TypeId)>, SimpleSpan),
    Type(TypeId),
}

/// Returns the rule for types; `ty` is its recursive reference, and `sum` the rule for sizes.
pub(super) fn types(ty: impl GrammarRule<TypeId>, sum: impl GrammarRule<ExprId>) -> BoxedRule<TypeId> {
    let dims =
        sizes(ExpectedSet::TYPE, sum.clone()).map_with(|sizes, e| (sizes, e.span())).repeated().collect::<Vec<_>>();
    let operand = dims
        .then(choice((parenthesised_types(ty.clone()), record_type(ty.clone()), named_type(ty, sum))))
        .map_with(|(dims, operand), e| {
            if dims.is_empty() {
                return operand;
            }
            let whole: SimpleSpan = e.span();
            // `[n][m]T`: the dimensions precede the element type, the innermost last.
            let inner = operand_type(operand, e);
            ArrowOperand::Type(dims.into_iter().rev().fold(inner, |inner, (sizes, at)| {
                let span = e.state().span(at.start, whole.end);
                let array = if sizes.is_empty() { TypeExpr::Error } else { TypeExpr::Array(sizes, inner) };
                e.state().ty(array, span)
            }))
        });
    let arrows = operand.map_with(|operand, e| (operand, e.span())).separated_by(unlisted_sym(Sym::Arrow)).at_least(1);
    depth_checked(arrows.collect::<Vec<_>>().map_with(|mut operands, e| {
        let whole: SimpleSpan = e.span();
        let last = match operands.pop() {
            Some((operand, _)) => operand_type(operand, e),
            None => e.state().ty(TypeExpr::Error, Span::default()),
        };
        operands.into_iter().rev().fold(last, |result, (operand, at)| {
            let params = match operand {
                ArrowOperand::List(params, _) => params,
                ArrowOperand::Type(ty) => {
                    e.emit(SyntaxError::from_mistake(at, GrammarMistake::UnparenthesisedParams));
                    vec![(None, ty)]
                }
            };
            let span = e.state().span(at.start, whole.end);
            e.state().ty(TypeExpr::Fun(params, result), span)
        })
    }))
    .boxed()
}

/// Returns the type of an operand without an arrow after it.
fn operand_type(operand: ArrowOperand, e: &mut MapContext) -> TypeId {
    let (items, at) = match operand {
        ArrowOperand::Type(ty) => return ty,
        ArrowOperand::List(items, at) => (items, at),
    };
    if items.iter().any(|(name, _)| name.is_some()) {
        e.emit(SyntaxError::from_mistake(at, GrammarMistake::NamedTupleElements));
    }
    let types: Vec<TypeId> = items.into_iter().map(|(_, ty)| ty).collect();
    if let [ty] = types.as_slice() {
        if at.end - at.start > 3 && e.state().has_trailing_comma(at.end) {
            e.emit(SyntaxError::from_mistake(at, GrammarMistake::OneElementTuple));
        }
        return *ty;
    }
    let span = e.state().span(at.start, at.end);
    e.state().ty(TypeExpr::Tuple(types), span)
}

/// `[n, ?k]`
fn sizes(what: ExpectedSet, sum: impl GrammarRule<ExprId>) -> impl GrammarRule<Vec<SizeExpr>> {
    let size = choice((unknown_size(), sum.map(SizeExpr::Expr)));
    bracketed_list(Sym::LBracket, what, size, |builder, span| SizeExpr::Expr(builder.expr(Expr::Error, span))).map_with(
        |sizes, e| {
            if sizes.is_empty() {
                let at = e.span();
                e.emit(SyntaxError::from_mistake(at, GrammarMistake::EmptyList("a size")));
            }
            sizes
        },
    )
}

/// `?k`
fn unknown_size() -> impl GrammarRule<SizeExpr> {
    unlisted_sym(Sym::Question).ignore_then(name()).map(SizeExpr::Unknown)
}

/// `(A, n: B)`
fn parenthesised_types(ty: impl GrammarRule<TypeId>) -> impl GrammarRule<ArrowOperand> {
    let label = label();
    bracketed_list(Sym::LParen, ExpectedSet::TYPE, label.then(ty), |builder, span| {
        (None, builder.ty(TypeExpr::Error, span))
    })
    .map_with(|items, e| ArrowOperand::List(items, e.span()))
}

/// `{x: A, y: B}`
fn record_type(ty: impl GrammarRule<TypeId>) -> impl GrammarRule<ArrowOperand> {
    let entry = field().then_ignore(sym(Sym::Colon)).then(ty);
    let missing = |builder: &mut super::builder::TreeBuilder, span| {
        (builder.leading_name(span), builder.ty(TypeExpr::Error, span))
    };
    bracketed_list(Sym::LBrace, ExpectedSet::TYPE, entry, missing).map_with(|fields, e| {
        let at = e.span();
        if fields.is_empty() {
            e.emit(SyntaxError::from_mistake(at, GrammarMistake::EmptyList("a field name")));
        }
        let span = e.state().span(at.start, at.end);
        ArrowOperand::Type(e.state().ty(TypeExpr::Record(fields), span))
    })
}

/// A suffix of a type name.
enum TypeNameSuffix {
    Args(Vec<TypeArg>),
    Sizes(Vec<SizeExpr>),
}

/// `f64`, `m.Net(n, a)`, `rel[n, m]`
fn named_type(ty: impl GrammarRule<TypeId>, sum: impl GrammarRule<ExprId>) -> impl GrammarRule<ArrowOperand> {
    let is_size = custom(|inp: RuleInput| {
        let at = token_index(inp);
        if starts_size(inp, at) { Ok(()) } else { Err(SyntaxError::expected(at, ExpectedSet::NONE)) }
    });
    let arg = choice((
        unknown_size().map(TypeArg::Size),
        is_size.ignore_then(sum.clone()).map(SizeExpr::Expr).map(TypeArg::Size),
        ty.map(TypeArg::Type),
    ));
    let args = bracketed_list(Sym::LParen, ExpectedSet::NONE, arg, |builder, span| {
        TypeArg::Type(builder.ty(TypeExpr::Error, span))
    });
    let after =
        choice((args.map(TypeNameSuffix::Args), sizes(ExpectedSet::NONE, sum).map(TypeNameSuffix::Sizes))).or_not();
    // A token that the lexer has reported counts as a type and produces no further error.
    let unread = token_where(ExpectedSet::NONE, |kind| (kind == TokenClass::Error).then_some(())).map_with(|(), e| {
        let at: SimpleSpan = e.span();
        let span = e.state().span(at.start, at.end);
        ArrowOperand::Type(e.state().ty(TypeExpr::Error, span))
    });
    let first =
        token_where(ExpectedSet::TYPE, |kind| matches!(kind, TokenClass::Name | TokenClass::Binder(_)).then_some(()))
            .map_with(|(), e| {
                let at = e.span().start;
                e.state().ident(at)
            });
    let second = unlisted_sym(Sym::Dot).ignore_then(name()).or_not();
    let known = first.then(second).then(after).map_with(|((first, second), after), e| {
        let at = e.span();
        let span = e.state().span(at.start, at.end);
        let (module, name) = match second {
            Some(name) => (Some(first), name),
            None => (None, first),
        };
        let kind = match after {
            Some(TypeNameSuffix::Sizes(sizes)) if module.is_none() && name.name == "rel" => TypeExpr::Rel(sizes),
            Some(TypeNameSuffix::Sizes(_)) => {
                e.emit(SyntaxError::from_mistake(at, GrammarMistake::SuffixExtents));
                TypeExpr::Error
            }
            Some(TypeNameSuffix::Args(args)) => TypeExpr::Name { module, name, args },
            None => TypeExpr::Name { module, name, args: Vec::new() },
        };
        ArrowOperand::Type(e.state().ty(kind, span))
    });
    choice((known, unread))
}

/// Returns whether the type argument at `at` is a size for certain. It is if it begins with a
/// number or a sign, or contains arithmetic outside brackets.
fn starts_size(inp: RuleInput, at: usize) -> bool {
    let builder = inp.state();
    let mut here = at;
    while let Some(kind) = builder.kind(here) {
        match kind {
            TokenClass::Int if here == at => return true,
            TokenClass::Sym(
                Sym::Plus | Sym::Minus | Sym::Star | Sym::Slash | Sym::FloorDiv | Sym::Percent | Sym::Caret,
            ) => {
                return true;
            }
            TokenClass::Sym(Sym::Comma | Sym::Arrow) => return false,
            // A leading bracket begins an array type, whose element type contains no arithmetic.
            TokenClass::Sym(Sym::LBracket) if here == at => return false,
            TokenClass::Sym(open) if open.closer().is_some() => here = builder.matching_closer(here).max(here),
            _ if kind.is_closer() => return false,
            _ => {}
        }
        here += 1;
    }
    false
}
