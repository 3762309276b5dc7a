//! **Expression grammar.** Operands, their suffixes (calls, indices, fields, updates), and
//! sequences of operands with operators. [`group`] turns a sequence into a tree.

use chumsky::prelude::*;

use super::builder::Builder;
use super::chain::{Infix, Operand, Term, group};
use super::errors::{Expected, Slip, SyntaxError};
use super::forms::{forms, matching};
use super::parts::{At, Here, Part, Rule, field, label, list, maybe, missing, pick, place, sym, token};
use super::tokens::Kind;
use crate::ast::{Arg, Expr, ExprId, Ident, PatId, Place, Subscript, TypeId, Update};
use crate::lexer::Token;
use crate::ops::{BinOp, BinderKind, UnOp};
use crate::token::{Sym, Word};
use lang_base::Span;

/// Two rules: full expressions, and sequences at sum level. The latter are the bounds of ranges,
/// the sizes in types and the values of updates. They leave `with`, comparisons and looser
/// operators to the enclosing rule.
pub(super) struct Exprs {
    pub(super) expr: Rule<ExprId>,
    pub(super) sum: Rule<ExprId>,
}

/// Returns both rules; `expr` and `sum` are their recursive references.
pub(super) fn exprs(
    expr: impl Part<ExprId>,
    sum: impl Part<ExprId>,
    ty: impl Part<TypeId>,
    pat: impl Part<PatId>,
) -> Exprs {
    let forms = forms(expr.clone(), sum.clone(), ty, pat.clone());
    let postfix = postfix(expr.clone(), pat).boxed();
    let updated =
        postfix.clone().then(update(expr, sum).repeated().collect::<Vec<_>>()).map_with(|(operand, updates), e| {
            if updates.is_empty() {
                return operand;
            }
            let base = operand.node(e.state());
            Operand::Node(made(Expr::With(base, updates), e))
        });
    let form = forms.map(Operand::Node).boxed();
    Exprs {
        expr: sequence(choice((updated, form.clone())), |_| true),
        sum: sequence(choice((postfix, form)), |infix| match infix {
            Infix::Chain(op) => op.level() >= crate::ops::Level::Sum,
            Infix::Power => true,
        }),
    }
}

/// Allocates a node over the tokens just read. A bracket whose closer was inserted becomes an error
/// node.
pub(super) fn made(kind: Expr, e: &mut At) -> ExprId {
    let at: SimpleSpan = e.span();
    let span = e.state().span(at.start, at.end);
    let bracket =
        matches!(kind, Expr::Paren(_) | Expr::Tuple(_) | Expr::Array { .. } | Expr::Record(_) | Expr::Match(..));
    let kind = if bracket && e.state().is_guess(at.end) { Expr::Error } else { kind };
    e.state().expr(kind, span)
}

/// Allocates the node of an unreadable expression.
pub(super) fn error(builder: &mut Builder, span: Span) -> ExprId {
    builder.expr(Expr::Error, span)
}

fn sequence(operand: impl Part<Operand>, takes: fn(Infix) -> bool) -> Rule<ExprId> {
    let prefix = pick(Expected::EXPR, |kind| match kind {
        Kind::Sym(Sym::Minus) => Some(UnOp::Neg),
        Kind::Sym(Sym::Bang) => Some(UnOp::Not),
        _ => None,
    })
    .map_with(|op, e| {
        let at = e.span().start;
        (op, e.state().span_at(at))
    });
    let term = prefix
        .repeated()
        .collect::<Vec<_>>()
        .then(operand)
        .map(|(prefixes, operand)| Term { prefixes, operand })
        .boxed();
    let own = pick(Expected::OPERATOR, move |kind| {
        let infix = match kind {
            Kind::Sym(Sym::Caret) => Infix::Power,
            _ => Infix::Chain(kind.bin_op()?),
        };
        takes(infix).then_some(infix)
    });
    // Another language's operator is reported, and its operands are read.
    let other = custom(move |inp: Here| {
        let at = place(inp);
        let error = SyntaxError::expected(at, Expected::OPERATOR);
        let infix = other_infix(inp.state(), at).filter(|infix| takes(*infix) && inp.state().recovers());
        let Some(infix) = infix else { return Err(error) };
        inp.emit(error);
        (0..2).for_each(|_| inp.skip());
        Ok(infix)
    });
    let infix = choice((other, own)).map_with(|infix, e| {
        let at: SimpleSpan = e.span();
        (infix, e.state().span(at.start, at.end))
    });
    let rest = infix.then(term.clone()).map(|((infix, at), term)| (infix, at, term)).repeated().collect::<Vec<_>>();
    term.then(rest).map_with(|(first, rest), e| group(first, rest, e.state())).boxed()
}

/// Returns the operator that two adjacent symbols denote in another language: `**`, `<>`, `=<`.
fn other_infix(builder: &Builder, at: usize) -> Option<Infix> {
    let (Kind::Sym(first), Kind::Sym(second)) = (builder.kind(at)?, builder.kind(at + 1)?) else { return None };
    let joined = builder.span_at(at).end == builder.span_at(at + 1).start;
    match (first, second) {
        _ if !joined => None,
        (Sym::Star, Sym::Star) => Some(Infix::Power),
        (Sym::Lt, Sym::Gt) => Some(Infix::Chain(BinOp::Ne)),
        (Sym::Assign, Sym::Lt) => Some(Infix::Chain(BinOp::Le)),
        _ => None,
    }
}

/// A suffix of an operand.
enum Suffix {
    Call(Vec<Arg>),
    Index(Vec<Subscript>),
    Field(Ident),
    Proj(u32, Span),
}

fn postfix(expr: impl Part<ExprId>, pat: impl Part<PatId>) -> impl Part<Operand> {
    let index = subscripts(Expected::OPERATOR, expr.clone()).map(Suffix::Index);
    let call = list(Sym::LParen, Expected::OPERATOR, arg(expr.clone()), |builder, span| Arg {
        name: None,
        value: error(builder, span),
    })
    .map(Suffix::Call);
    let dot = token(Kind::Sym(Sym::Dot), Expected::OPERATOR).ignore_then(choice((
        position().map(|(at, span)| Suffix::Proj(at, span)),
        field().map(Suffix::Field),
        missing(Expected::FIELD).map(Suffix::Field),
    )));
    let suffix = choice((call, index, dot)).boxed();
    let suffixed = |atom: Rule<Operand>| {
        atom.foldl_with(suffix.clone().repeated(), |operand, suffix, e| {
            let base = operand.node(e.state());
            let kind = match suffix {
                Suffix::Call(args) => Expr::Call(base, args),
                Suffix::Index(subscripts) => Expr::Index(base, subscripts),
                Suffix::Field(name) => Expr::Field(base, name),
                Suffix::Proj(at, span) => Expr::Proj(base, at, span),
            };
            let at: SimpleSpan = e.span();
            let end = e.state().span_at(at.end.saturating_sub(1));
            let span = e.state().expr_span(base).to(end);
            let binder = matches!(kind, Expr::Call(..)) && is_binder_call(e.state(), at.start, at.end);
            // If a range precedes the `:`, that `:` has already been reported.
            if binder && e.state().kind(at.start + 3) == Some(Kind::Sym(Sym::Colon)) {
                e.emit(SyntaxError::slip(at, Slip::BinderCall));
            }
            let kind = if binder || e.state().is_guess(at.end) { Expr::Error } else { kind };
            Operand::Node(e.state().expr(kind, span))
        })
        .boxed()
    };
    let atom = atom(expr, pat);
    // `|R|` contains a postfix expression only, because in a full expression a bar would read as an
    // operator.
    let inside = suffixed(atom.clone());
    let card = token(Kind::Sym(Sym::Bar), Expected::EXPR).ignore_then(inside).then_ignore(sym(Sym::Bar)).map_with(
        |inner, e| {
            let inner = inner.node(e.state());
            Operand::Node(made(Expr::Card(inner), e))
        },
    );
    suffixed(choice((atom, card)).boxed())
}

/// Returns whether the call in `start..end` is a reduction in call notation: `sum(i: e)`.
fn is_binder_call(builder: &Builder, start: usize, end: usize) -> bool {
    let binder =
        matches!(builder.token(start), Some(Token::Name(name)) if BinderKind::ALL.iter().any(|b| b.word() == name));
    let labelled = matches!(builder.token(start + 2), Some(Token::Name(name)) if name != "wrt");
    let ranged = matches!(builder.kind(start + 3), Some(Kind::Sym(Sym::Colon | Sym::Lt) | Kind::Word(Word::In)));
    let goes_on = |at: usize| builder.kind(at).is_some_and(|k| !k.is_closer() && k != Kind::Sym(Sym::Comma));
    let mut at = start + 3;
    while goes_on(at) && builder.kind(at) != Some(Kind::Sym(Sym::Colon)) {
        at = builder.partner(at).max(at) + 1;
    }
    binder && labelled && ranged && goes_on(at) && builder.partner(start + 1) + 1 == end
}

fn atom(expr: impl Part<ExprId>, pat: impl Part<PatId>) -> Rule<Operand> {
    let leaf = pick(Expected::EXPR, |kind| {
        matches!(
            kind,
            Kind::Name | Kind::Int | Kind::Float | Kind::Str | Kind::Word(Word::True | Word::False) | Kind::Error
        )
        .then_some(())
    })
    .map_with(|(), e| {
        let at = e.span().start;
        let kind = match e.state().token(at) {
            Some(Token::Name(name)) => Expr::Name(name.clone()),
            Some(Token::Int(value)) => Expr::Int(*value),
            Some(Token::Float(value)) => Expr::Float(*value),
            Some(Token::Str(text)) => Expr::Str(text.clone()),
            Some(Token::Word(word)) => Expr::Bool(*word == Word::True),
            // The lexer has reported it.
            _ => Expr::Error,
        };
        Operand::Node(made(kind, e))
    });

    let parens = list(Sym::LParen, Expected::EXPR, expr.clone(), error).map_with(|items, e| {
        let kind = match items.as_slice() {
            [one] => {
                let at: SimpleSpan = e.span();
                if at.end - at.start > 3 && e.state().comma_before(at.end) {
                    e.emit(SyntaxError::slip(at, Slip::OneTuple));
                }
                Expr::Paren(*one)
            }
            _ => Expr::Tuple(items),
        };
        Operand::Node(made(kind, e))
    });

    let bracket = list(Sym::LBracket, Expected::EXPR, expr.clone(), error).map_with(|items, e| {
        let at: SimpleSpan = e.span();
        let comma = e.state().comma_before(at.end);
        match items.as_slice() {
            [one] if !comma && !e.state().is_guess(at.end) => Operand::Bracket(*one, e.state().span(at.start, at.end)),
            _ => Operand::Node(made(Expr::Array { items, comma }, e)),
        }
    });

    let entry = field().then_ignore(sym(Sym::Colon)).then(expr.clone());
    let record =
        list(Sym::LBrace, Expected::EXPR, entry, |builder, span| (builder.leading_field(span), error(builder, span)))
            .map_with(|fields, e| {
                // Braces without field names, around some other expression, do not form a record.
                if fields.iter().any(|(name, _)| name.name.is_empty()) {
                    return Operand::Node(made(Expr::Error, e));
                }
                if fields.is_empty() {
                    let at = e.span();
                    e.emit(SyntaxError::slip(at, Slip::Empty("a field name")));
                }
                Operand::Node(made(Expr::Record(fields), e))
            });

    choice((leaf, parens, bracket, record, matching(expr, pat).map(Operand::Node))).boxed()
}

/// `a`, `wrt: x`
fn arg(expr: impl Part<ExprId>) -> impl Part<Arg> {
    label().then(expr).map(|(name, value)| Arg { name, value })
}

/// `[i, a..b, _]`
fn subscripts(what: Expected, expr: impl Part<ExprId>) -> impl Part<Vec<Subscript>> {
    let whole = maybe(Sym::Underscore).map_with(|(), e| {
        let at = e.span().start;
        Subscript::Whole(e.state().span_at(at))
    });
    let range = expr.clone().then(maybe(Sym::DotDot).ignore_then(expr).or_not()).map(|(from, to)| match to {
        Some(to) => Subscript::Range(from, to),
        None => Subscript::At(from),
    });
    list(Sym::LBracket, what, choice((whole, range)), |builder, span| Subscript::At(error(builder, span))).map_with(
        |subscripts, e| {
            if subscripts.is_empty() {
                let at = e.span();
                e.emit(SyntaxError::slip(at, Slip::Empty("an index")));
            }
            subscripts
        },
    )
}

/// The `0` of `e.0`.
fn position() -> impl Part<(u32, Span)> {
    pick(Expected::NONE, |kind| (kind == Kind::Int).then_some(())).map_with(|(), e| {
        let at: SimpleSpan = e.span();
        let value = match e.state().token(at.start) {
            Some(Token::Int(value)) => u32::try_from(*value).ok(),
            _ => None,
        };
        if value.is_none() {
            e.emit(SyntaxError::slip(at, Slip::Position));
        }
        (value.unwrap_or(0), e.state().span_at(at.start))
    })
}

/// `with [i] += e`
fn update(expr: impl Part<ExprId>, sum: impl Part<ExprId>) -> impl Part<Update> {
    let index = subscripts(Expected::sym(Sym::LBracket), expr).map_with(|subscripts, e| {
        let at: SimpleSpan = e.span();
        Place::Index(subscripts, e.state().span(at.start, at.end))
    });
    let place = choice((index, position().map(|(at, span)| Place::Proj(at, span)), field().map(Place::Field)));
    let sign = choice((sym(Sym::Assign).to(false), sym(Sym::PlusAssign).to(true)));
    token(Kind::Word(Word::With), Expected::OPERATOR)
        .ignore_then(place)
        .then(sign)
        .then(sum)
        .map(|((place, add), value)| Update { place, add, value })
        .boxed()
}
