//! **Expression grammar.** Operands, their suffixes (calls, indices, fields, updates), and
//! sequences of operands with operators. [`group`] turns a sequence into a tree.

use chumsky::prelude::*;

use super::brackets::TokenClass;
use super::builder::TreeBuilder;
use super::chain::{ChainOperand, Infix, PrefixedOperand, group};
use super::combinators::{
    BoxedRule, GrammarRule, MapContext, RuleInput, bracketed_list, field, label, missing_name, sym, token, token_index,
    token_where, unlisted_sym,
};
use super::errors::{ExpectedSet, GrammarMistake, SyntaxError};
use super::forms::{forms, match_expr};
use crate::ast::{CallArg, Expr, ExprId, Ident, PatId, Subscript, TypeId, UpdateTarget, WithUpdate};
use crate::lexer::Token;
use crate::ops::{BinOp, BinderKind, UnOp};
use crate::token::{Sym, Word};
use lang_base::Span;

/// Two rules: full expressions, and sequences at sum level. The latter are the bounds of ranges,
/// the sizes in types and the values of updates. They leave `with`, comparisons and looser
/// operators to the enclosing rule.
pub(super) struct ExprRules {
    pub(super) expr: BoxedRule<ExprId>,
    pub(super) sum: BoxedRule<ExprId>,
}

/// Returns both rules; `expr` and `sum` are their recursive references.
pub(super) fn expr_rules(
    expr: impl GrammarRule<ExprId>,
    sum: impl GrammarRule<ExprId>,
    ty: impl GrammarRule<TypeId>,
    pat: impl GrammarRule<PatId>,
) -> ExprRules {
    let forms = forms(expr.clone(), sum.clone(), ty, pat.clone());
    let postfix = postfix(expr.clone(), pat).boxed();
    let updated =
        postfix.clone().then(update(expr, sum).repeated().collect::<Vec<_>>()).map_with(|(operand, updates), e| {
            if updates.is_empty() {
                return operand;
            }
            let base = operand.node(e.state());
            ChainOperand::Node(alloc_expr(Expr::With(base, updates), e))
        });
    let form = forms.map(ChainOperand::Node).boxed();
    ExprRules {
        expr: sequence(choice((updated, form.clone())), |_| true),
        sum: sequence(choice((postfix, form)), |infix| match infix {
            Infix::Chain(op) => op.precedence() >= crate::ops::Precedence::Sum,
            Infix::Power => true,
        }),
    }
}

/// Allocates a node over the tokens just read. A bracket whose closer was inserted becomes an error
/// node.
pub(super) fn alloc_expr(kind: Expr, e: &mut MapContext) -> ExprId {
    let at: SimpleSpan = e.span();
    let span = e.state().span(at.start, at.end);
    let bracket =
        matches!(kind, Expr::Paren(_) | Expr::Tuple(_) | Expr::Array { .. } | Expr::Record(_) | Expr::Match(..));
    let kind = if bracket && e.state().is_inserted_closer(at.end) { Expr::Error } else { kind };
    e.state().expr(kind, span)
}

/// Allocates the node of an unreadable expression.
pub(super) fn alloc_error(builder: &mut TreeBuilder, span: Span) -> ExprId {
    builder.expr(Expr::Error, span)
}

fn sequence(operand: impl GrammarRule<ChainOperand>, takes: fn(Infix) -> bool) -> BoxedRule<ExprId> {
    let prefix = token_where(ExpectedSet::EXPR, |kind| match kind {
        TokenClass::Sym(Sym::Minus) => Some(UnOp::Neg),
        TokenClass::Sym(Sym::Bang) => Some(UnOp::Not),
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
        .map(|(prefixes, operand)| PrefixedOperand { prefixes, operand })
        .boxed();
    let own = token_where(ExpectedSet::OPERATOR, move |kind| {
        let infix = match kind {
            TokenClass::Sym(Sym::Caret) => Infix::Power,
            _ => Infix::Chain(kind.bin_op()?),
        };
        takes(infix).then_some(infix)
    });
    // Another language's operator is reported, and its operands are read.
    let other = custom(move |inp: RuleInput| {
        let at = token_index(inp);
        let error = SyntaxError::expected(at, ExpectedSet::OPERATOR);
        let infix = foreign_infix(inp.state(), at).filter(|infix| takes(*infix) && inp.state().can_recover());
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
fn foreign_infix(builder: &TreeBuilder, at: usize) -> Option<Infix> {
    let (TokenClass::Sym(first), TokenClass::Sym(second)) = (builder.kind(at)?, builder.kind(at + 1)?) else {
        return None;
    };
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
enum OperandSuffix {
    Call(Vec<CallArg>),
    Index(Vec<Subscript>),
    Field(Ident),
    Proj(u32, Span),
}

fn postfix(expr: impl GrammarRule<ExprId>, pat: impl GrammarRule<PatId>) -> impl GrammarRule<ChainOperand> {
    let index = subscripts(ExpectedSet::OPERATOR, expr.clone()).map(OperandSuffix::Index);
    let call = bracketed_list(Sym::LParen, ExpectedSet::OPERATOR, arg(expr.clone()), |builder, span| CallArg {
        name: None,
        value: alloc_error(builder, span),
    })
    .map(OperandSuffix::Call);
    let dot = token(TokenClass::Sym(Sym::Dot), ExpectedSet::OPERATOR).ignore_then(choice((
        tuple_position().map(|(at, span)| OperandSuffix::Proj(at, span)),
        field().map(OperandSuffix::Field),
        missing_name(ExpectedSet::FIELD).map(OperandSuffix::Field),
    )));
    let suffix = choice((call, index, dot)).boxed();
    let suffixed = |atom: BoxedRule<ChainOperand>| {
        atom.foldl_with(suffix.clone().repeated(), |operand, suffix, e| {
            let base = operand.node(e.state());
            let kind = match suffix {
                OperandSuffix::Call(args) => Expr::Call(base, args),
                OperandSuffix::Index(subscripts) => Expr::Index(base, subscripts),
                OperandSuffix::Field(name) => Expr::Field(base, name),
                OperandSuffix::Proj(at, span) => Expr::Proj(base, at, span),
            };
            let at: SimpleSpan = e.span();
            let end = e.state().span_at(at.end.saturating_sub(1));
            let span = e.state().expr_span(base).to(end);
            let binder = matches!(kind, Expr::Call(..)) && is_binder_call(e.state(), at.start, at.end);
            // If a range precedes the `:`, that `:` has already been reported.
            if binder && e.state().kind(at.start + 3) == Some(TokenClass::Sym(Sym::Colon)) {
                e.emit(SyntaxError::from_mistake(at, GrammarMistake::BinderCall));
            }
            let kind = if binder || e.state().is_inserted_closer(at.end) { Expr::Error } else { kind };
            ChainOperand::Node(e.state().expr(kind, span))
        })
        .boxed()
    };
    let atom = atom(expr, pat);
    // `|R|` contains a postfix expression only, because in a full expression a bar would read as an
    // operator.
    let inside = suffixed(atom.clone());
    let card = token(TokenClass::Sym(Sym::Bar), ExpectedSet::EXPR)
        .ignore_then(inside)
        .then_ignore(sym(Sym::Bar))
        .map_with(|inner, e| {
            let inner = inner.node(e.state());
            ChainOperand::Node(alloc_expr(Expr::Card(inner), e))
        });
    suffixed(choice((atom, card)).boxed())
}

/// Returns whether the call in `start..end` is a reduction in call notation: `sum(i: e)`.
fn is_binder_call(builder: &TreeBuilder, start: usize, end: usize) -> bool {
    let binder =
        matches!(builder.token(start), Some(Token::Name(name)) if BinderKind::ALL.iter().any(|b| b.keyword() == name));
    let labelled = matches!(builder.token(start + 2), Some(Token::Name(name)) if name != "wrt");
    let ranged =
        matches!(builder.kind(start + 3), Some(TokenClass::Sym(Sym::Colon | Sym::Lt) | TokenClass::Keyword(Word::In)));
    let goes_on = |at: usize| builder.kind(at).is_some_and(|k| !k.is_closer() && k != TokenClass::Sym(Sym::Comma));
    let mut at = start + 3;
    while goes_on(at) && builder.kind(at) != Some(TokenClass::Sym(Sym::Colon)) {
        at = builder.matching_closer(at).max(at) + 1;
    }
    binder && labelled && ranged && goes_on(at) && builder.matching_closer(start + 1) + 1 == end
}

fn atom(expr: impl GrammarRule<ExprId>, pat: impl GrammarRule<PatId>) -> BoxedRule<ChainOperand> {
    let leaf = token_where(ExpectedSet::EXPR, |kind| {
        matches!(
            kind,
            TokenClass::Name
                | TokenClass::Int
                | TokenClass::Float
                | TokenClass::Str
                | TokenClass::Keyword(Word::True | Word::False)
                | TokenClass::Error
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
            Some(Token::Keyword(word)) => Expr::Bool(*word == Word::True),
            // The lexer has reported it.
            _ => Expr::Error,
        };
        ChainOperand::Node(alloc_expr(kind, e))
    });

    let parens = bracketed_list(Sym::LParen, ExpectedSet::EXPR, expr.clone(), alloc_error).map_with(|items, e| {
        let kind = match items.as_slice() {
            [one] => {
                let at: SimpleSpan = e.span();
                if at.end - at.start > 3 && e.state().has_trailing_comma(at.end) {
                    e.emit(SyntaxError::from_mistake(at, GrammarMistake::OneElementTuple));
                }
                Expr::Paren(*one)
            }
            _ => Expr::Tuple(items),
        };
        ChainOperand::Node(alloc_expr(kind, e))
    });

    let bracket = bracketed_list(Sym::LBracket, ExpectedSet::EXPR, expr.clone(), alloc_error).map_with(|items, e| {
        let at: SimpleSpan = e.span();
        let comma = e.state().has_trailing_comma(at.end);
        match items.as_slice() {
            [one] if !comma && !e.state().is_inserted_closer(at.end) => {
                ChainOperand::Bracket(*one, e.state().span(at.start, at.end))
            }
            _ => ChainOperand::Node(alloc_expr(Expr::Array { items, has_trailing_comma: comma }, e)),
        }
    });

    let entry = field().then_ignore(sym(Sym::Colon)).then(expr.clone());
    let record = bracketed_list(Sym::LBrace, ExpectedSet::EXPR, entry, |builder, span| {
        (builder.leading_field(span), alloc_error(builder, span))
    })
    .map_with(|fields, e| {
        // Braces without field names, around some other expression, do not form a record.
        if fields.iter().any(|(name, _)| name.name.is_empty()) {
            return ChainOperand::Node(alloc_expr(Expr::Error, e));
        }
        if fields.is_empty() {
            let at = e.span();
            e.emit(SyntaxError::from_mistake(at, GrammarMistake::EmptyList("a field name")));
        }
        ChainOperand::Node(alloc_expr(Expr::Record(fields), e))
    });

    choice((leaf, parens, bracket, record, match_expr(expr, pat).map(ChainOperand::Node))).boxed()
}

/// `a`, `wrt: x`
fn arg(expr: impl GrammarRule<ExprId>) -> impl GrammarRule<CallArg> {
    label().then(expr).map(|(name, value)| CallArg { name, value })
}

/// `[i, a..b, _]`
fn subscripts(what: ExpectedSet, expr: impl GrammarRule<ExprId>) -> impl GrammarRule<Vec<Subscript>> {
    let whole = unlisted_sym(Sym::Underscore).map_with(|(), e| {
        let at = e.span().start;
        Subscript::FullAxis(e.state().span_at(at))
    });
    let range = expr.clone().then(unlisted_sym(Sym::DotDot).ignore_then(expr).or_not()).map(|(from, to)| match to {
        Some(to) => Subscript::Range(from, to),
        None => Subscript::Index(from),
    });
    bracketed_list(Sym::LBracket, what, choice((whole, range)), |builder, span| {
        Subscript::Index(alloc_error(builder, span))
    })
    .map_with(|subscripts, e| {
        if subscripts.is_empty() {
            let at = e.span();
            e.emit(SyntaxError::from_mistake(at, GrammarMistake::EmptyList("an index")));
        }
        subscripts
    })
}

/// The `0` of `e.0`.
fn tuple_position() -> impl GrammarRule<(u32, Span)> {
    token_where(ExpectedSet::NONE, |kind| (kind == TokenClass::Int).then_some(())).map_with(|(), e| {
        let at: SimpleSpan = e.span();
        let value = match e.state().token(at.start) {
            Some(Token::Int(value)) => u32::try_from(*value).ok(),
            _ => None,
        };
        if value.is_none() {
            e.emit(SyntaxError::from_mistake(at, GrammarMistake::TuplePositionOverflow));
        }
        (value.unwrap_or(0), e.state().span_at(at.start))
    })
}

/// `with [i] += e`
fn update(expr: impl GrammarRule<ExprId>, sum: impl GrammarRule<ExprId>) -> impl GrammarRule<WithUpdate> {
    let index = subscripts(ExpectedSet::sym(Sym::LBracket), expr).map_with(|subscripts, e| {
        let at: SimpleSpan = e.span();
        UpdateTarget::Index(subscripts, e.state().span(at.start, at.end))
    });
    let place = choice((
        index,
        tuple_position().map(|(at, span)| UpdateTarget::Proj(at, span)),
        field().map(UpdateTarget::Field),
    ));
    let sign = choice((sym(Sym::Assign).to(false), sym(Sym::PlusAssign).to(true)));
    token(TokenClass::Keyword(Word::With), ExpectedSet::OPERATOR)
        .ignore_then(place)
        .then(sign)
        .then(sum)
        .map(|((place, add), value)| WithUpdate { target: place, is_add: add, value })
        .boxed()
}
