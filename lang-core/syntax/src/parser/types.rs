//! **Type grammar.** The rules for `[n, m]f64`, `(A, n: i64) -> B`, `Tree(a)`, `{x: f64}` and
//! `rel[n, m]`.

use chumsky::prelude::*;

use super::errors::{Expected, Slip, SyntaxError};
use super::parts::{At, Here, Part, Rule, field, label, list, maybe, name, nested, pick, place, sym};
use super::tokens::Kind;
use crate::ast::{Expr, ExprId, Ident, SizeExpr, TypeArg, TypeExpr, TypeId};
use crate::token::Sym;
use lang_base::Span;

/// An operand of `->`.
enum Operand {
    /// A parenthesised list: parameters, a tuple, or a group.
    List(Vec<(Option<Ident>, TypeId)>, SimpleSpan),
    Type(TypeId),
}

/// Returns the rule for types; `ty` is its recursive reference, and `sum` the rule for sizes.
pub(super) fn types(ty: impl Part<TypeId>, sum: impl Part<ExprId>) -> Rule<TypeId> {
    let dims = sizes(Expected::TYPE, sum.clone()).map_with(|sizes, e| (sizes, e.span())).repeated().collect::<Vec<_>>();
    let operand =
        dims.then(choice((listed(ty.clone()), record(ty.clone()), named(ty, sum)))).map_with(|(dims, operand), e| {
            if dims.is_empty() {
                return operand;
            }
            let whole: SimpleSpan = e.span();
            // `[n][m]T`: the dimensions precede the element type, the innermost last.
            let inner = alone(operand, e);
            Operand::Type(dims.into_iter().rev().fold(inner, |inner, (sizes, at)| {
                let span = e.state().span(at.start, whole.end);
                let array = if sizes.is_empty() { TypeExpr::Error } else { TypeExpr::Array(sizes, inner) };
                e.state().ty(array, span)
            }))
        });
    let arrows = operand.map_with(|operand, e| (operand, e.span())).separated_by(maybe(Sym::Arrow)).at_least(1);
    nested(arrows.collect::<Vec<_>>().map_with(|mut operands, e| {
        let whole: SimpleSpan = e.span();
        let last = match operands.pop() {
            Some((operand, _)) => alone(operand, e),
            None => e.state().ty(TypeExpr::Error, Span::default()),
        };
        operands.into_iter().rev().fold(last, |result, (operand, at)| {
            let params = match operand {
                Operand::List(params, _) => params,
                Operand::Type(ty) => {
                    e.emit(SyntaxError::slip(at, Slip::BareFunction));
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
fn alone(operand: Operand, e: &mut At) -> TypeId {
    let (items, at) = match operand {
        Operand::Type(ty) => return ty,
        Operand::List(items, at) => (items, at),
    };
    if items.iter().any(|(name, _)| name.is_some()) {
        e.emit(SyntaxError::slip(at, Slip::NamedNoFunction));
    }
    let types: Vec<TypeId> = items.into_iter().map(|(_, ty)| ty).collect();
    if let [ty] = types.as_slice() {
        if at.end - at.start > 3 && e.state().comma_before(at.end) {
            e.emit(SyntaxError::slip(at, Slip::OneTuple));
        }
        return *ty;
    }
    let span = e.state().span(at.start, at.end);
    e.state().ty(TypeExpr::Tuple(types), span)
}

/// `[n, ?k]`
fn sizes(what: Expected, sum: impl Part<ExprId>) -> impl Part<Vec<SizeExpr>> {
    let size = choice((unknown(), sum.map(SizeExpr::Expr)));
    list(Sym::LBracket, what, size, |builder, span| SizeExpr::Expr(builder.expr(Expr::Error, span))).map_with(
        |sizes, e| {
            if sizes.is_empty() {
                let at = e.span();
                e.emit(SyntaxError::slip(at, Slip::Empty("a size")));
            }
            sizes
        },
    )
}

/// `?k`
fn unknown() -> impl Part<SizeExpr> {
    maybe(Sym::Question).ignore_then(name()).map(SizeExpr::Unknown)
}

/// `(A, n: B)`
fn listed(ty: impl Part<TypeId>) -> impl Part<Operand> {
    let label = label();
    list(Sym::LParen, Expected::TYPE, label.then(ty), |builder, span| (None, builder.ty(TypeExpr::Error, span)))
        .map_with(|items, e| Operand::List(items, e.span()))
}

/// `{x: A, y: B}`
fn record(ty: impl Part<TypeId>) -> impl Part<Operand> {
    let entry = field().then_ignore(sym(Sym::Colon)).then(ty);
    let missing =
        |builder: &mut super::builder::Builder, span| (builder.leading_name(span), builder.ty(TypeExpr::Error, span));
    list(Sym::LBrace, Expected::TYPE, entry, missing).map_with(|fields, e| {
        let at = e.span();
        if fields.is_empty() {
            e.emit(SyntaxError::slip(at, Slip::Empty("a field name")));
        }
        let span = e.state().span(at.start, at.end);
        Operand::Type(e.state().ty(TypeExpr::Record(fields), span))
    })
}

/// A suffix of a type name.
enum After {
    Args(Vec<TypeArg>),
    Sizes(Vec<SizeExpr>),
}

/// `f64`, `m.Net(n, a)`, `rel[n, m]`
fn named(ty: impl Part<TypeId>, sum: impl Part<ExprId>) -> impl Part<Operand> {
    let is_size = custom(|inp: Here| {
        let at = place(inp);
        if starts_size(inp, at) { Ok(()) } else { Err(SyntaxError::expected(at, Expected::NONE)) }
    });
    let arg = choice((
        unknown().map(TypeArg::Size),
        is_size.ignore_then(sum.clone()).map(SizeExpr::Expr).map(TypeArg::Size),
        ty.map(TypeArg::Type),
    ));
    let args = list(Sym::LParen, Expected::NONE, arg, |builder, span| TypeArg::Type(builder.ty(TypeExpr::Error, span)));
    let after = choice((args.map(After::Args), sizes(Expected::NONE, sum).map(After::Sizes))).or_not();
    // A token that the lexer has reported counts as a type and produces no further error.
    let unread = pick(Expected::NONE, |kind| (kind == Kind::Error).then_some(())).map_with(|(), e| {
        let at: SimpleSpan = e.span();
        let span = e.state().span(at.start, at.end);
        Operand::Type(e.state().ty(TypeExpr::Error, span))
    });
    let first =
        pick(Expected::TYPE, |kind| matches!(kind, Kind::Name | Kind::Binder(_)).then_some(())).map_with(|(), e| {
            let at = e.span().start;
            e.state().ident(at)
        });
    let second = maybe(Sym::Dot).ignore_then(name()).or_not();
    let known = first.then(second).then(after).map_with(|((first, second), after), e| {
        let at = e.span();
        let span = e.state().span(at.start, at.end);
        let (module, name) = match second {
            Some(name) => (Some(first), name),
            None => (None, first),
        };
        let kind = match after {
            Some(After::Sizes(sizes)) if module.is_none() && name.name == "rel" => TypeExpr::Rel(sizes),
            Some(After::Sizes(_)) => {
                e.emit(SyntaxError::slip(at, Slip::SuffixArray));
                TypeExpr::Error
            }
            Some(After::Args(args)) => TypeExpr::Name { module, name, args },
            None => TypeExpr::Name { module, name, args: Vec::new() },
        };
        Operand::Type(e.state().ty(kind, span))
    });
    choice((known, unread))
}

/// Returns whether the type argument at `at` is a size for certain. It is if it begins with a
/// number or a sign, or contains arithmetic outside brackets.
fn starts_size(inp: Here, at: usize) -> bool {
    let builder = inp.state();
    let mut here = at;
    while let Some(kind) = builder.kind(here) {
        match kind {
            Kind::Int if here == at => return true,
            Kind::Sym(Sym::Plus | Sym::Minus | Sym::Star | Sym::Slash | Sym::FloorDiv | Sym::Percent | Sym::Caret) => {
                return true;
            }
            Kind::Sym(Sym::Comma | Sym::Arrow) => return false,
            // A leading bracket begins an array type, whose element type contains no arithmetic.
            Kind::Sym(Sym::LBracket) if here == at => return false,
            Kind::Sym(open) if open.closer().is_some() => here = builder.partner(here).max(here),
            _ if kind.is_closer() => return false,
            _ => {}
        }
        here += 1;
    }
    false
}
