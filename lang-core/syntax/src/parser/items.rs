//! **Item grammar.** The rules for `def`, `type`, `import`, `let`, `do`, `derivative` and
//! `adjoint`.
//!
//! Recovery keeps the readable parts of an item: an error in the head leaves the body intact, and
//! conversely.

use chumsky::prelude::*;

use super::brackets::TokenClass;
use super::builder::TreeBuilder;
use super::combinators::{
    BoxedRule, GrammarRule, RuleInput, assign_sym, bracketed_list, lookahead, missing_name, name, skip_until, sym,
    token, token_index, token_where, unlisted_sym,
};
use super::errors::{ExpectedSet, GrammarMistake, SyntaxError};
use super::exprs::alloc_error;
use super::forms::{let_function, let_without_tuple};
use crate::ast::{
    Constraint, Ctor, Def, ExprId, Ident, Import, Item, Param, PatId, RuleDef as Derivative, TopLet, TypeBody, TypeDef,
    TypeExpr, TypeId,
};
use crate::token::{Sym, Word};
use lang_base::{Name, Span};

/// Returns the rule for any item.
pub(super) fn items(
    expr: impl GrammarRule<ExprId>,
    ty: impl GrammarRule<TypeId>,
    pat: impl GrammarRule<PatId>,
) -> BoxedRule<Item> {
    let body = item_body(expr.clone()).boxed();
    let defined = assign().ignore_then(body.clone());
    choice((
        def_head(ty.clone()).then(defined.clone()).map(|(head, body)| Item::Def(Def { body, ..head })).boxed(),
        type_def(ty.clone()).map(Item::Type).boxed(),
        import().map(Item::Import).boxed(),
        top_let(expr, ty, pat).map(Item::Let).boxed(),
        token(TokenClass::Keyword(Word::Do), ExpectedSet::ITEM).ignore_then(body).map(Item::Do).boxed(),
        rule_head().then(defined).map(|(head, body)| Item::DerivativeRule(Derivative { body, ..head })).boxed(),
    ))
    .boxed()
}

/// Returns the rule for `def f(x: T) -> U where a: num` without a body.
pub(super) fn signatures(ty: impl GrammarRule<TypeId>) -> BoxedRule<Item> {
    let rest = lookahead(ExpectedSet::END, |kind| kind.is_none());
    def_head(ty)
        .then_ignore(rest)
        .map_with(|head, e| {
            let body = e.state().expr(crate::ast::Expr::Error, Span::default());
            Item::Def(Def { body, ..head })
        })
        .boxed()
}

/// Returns the rule for an expression up to the end of the item. Unreadable text becomes an error
/// node.
pub(super) fn item_body(expr: impl GrammarRule<ExprId>) -> impl GrammarRule<ExprId> {
    let end = lookahead(ExpectedSet::OPERATOR.union(ExpectedSet::END), |kind| kind.is_none());
    let skipped = skip_rest().map_with(|(start, end), e| {
        let span = e.state().span(start, end);
        alloc_error(e.state(), span)
    });
    expr.then_ignore(end).recover_with(via_parser(skipped))
}

/// Skips the remaining tokens.
fn skip_rest() -> impl GrammarRule<(usize, usize)> {
    skip_until(|_, _| false)
}

/// Reads the `=` of a definition. If it is missing and a body seems to follow, the rule reports it
/// and continues with the body.
fn assign() -> impl GrammarRule<()> {
    let expected = ExpectedSet::sym(Sym::Assign);
    let skipped = skip_until(|builder, at| builder.kind(at) == Some(TokenClass::Sym(Sym::Assign)));
    let found = skipped.then_ignore(sym(Sym::Assign)).ignored();
    let absent = |body: fn(TokenClass) -> bool| {
        custom(move |inp: RuleInput| {
            let at = token_index(inp);
            let builder = inp.state();
            let body = builder.kind(at).is_none_or(body);
            if body && builder.can_recover() { Ok(()) } else { Err(SyntaxError::expected(at, expected)) }
        })
    };
    // No type begins with these tokens, so a later `=` belongs to the body.
    let surely = absent(|k| matches!(k, TokenClass::Keyword(_) | TokenClass::Binder(_)) && k.starts_expr()).boxed();
    let perhaps = absent(|k| k.starts_expr() && k != TokenClass::Sym(Sym::LBrace));
    let line = custom(|inp: RuleInput| {
        let at = token_index(inp);
        if inp.state().is_line_start(at) { Ok(()) } else { Err(SyntaxError::expected(at, ExpectedSet::NONE)) }
    });
    let colon = unlisted_sym(Sym::Colon);
    let colon_body = colon.clone().then_ignore(choice((surely.clone(), line)));
    assign_sym().recover_with(via_parser(choice((surely, colon_body, found, colon, perhaps))))
}

fn name_list(at: &'static str) -> impl GrammarRule<Vec<Ident>> {
    bracketed_list(Sym::LParen, ExpectedSet::NONE, name(), |_, span| Ident { name: Name::default(), span }).map_with(
        move |names, e| {
            if names.is_empty() {
                let here = e.span();
                e.emit(SyntaxError::from_mistake(here, GrammarMistake::EmptyList(at)));
            }
            names
        },
    )
}

/// Reads the name of a `def` or `type`. If parameters or `=` follow without a name, the rule
/// reports that and returns an empty name.
fn declared_name() -> impl GrammarRule<Ident> {
    let goes_on = lookahead(ExpectedSet::NONE, |kind| {
        matches!(kind, Some(TokenClass::Keyword(_) | TokenClass::Sym(Sym::LParen | Sym::Assign)))
    });
    choice((name(), goes_on.ignore_then(missing_name(ExpectedSet::NAME))))
}

/// Reads a `def` up to its `=`. The caller fills in the body.
fn def_head(ty: impl GrammarRule<TypeId>) -> impl GrammarRule<Def> {
    let typed = unlisted_sym(Sym::Colon).ignore_then(ty.clone()).or_not();
    let param = name().then(typed).map_with(|(name, ty), e| {
        let at = e.span();
        let ty = ty.unwrap_or_else(|| {
            e.emit(SyntaxError::from_mistake(at, GrammarMistake::UntypedParam));
            let span = name.span.end_point();
            e.state().ty(TypeExpr::Error, span)
        });
        Param { name, ty }
    });
    let params =
        bracketed_list(Sym::LParen, ExpectedSet::sym(Sym::LParen), param, |builder: &mut TreeBuilder, span| Param {
            name: builder.leading_param(span),
            ty: builder.ty(TypeExpr::Error, span),
        });
    let after_head = |builder: &TreeBuilder, at| {
        matches!(builder.kind(at), Some(TokenClass::Sym(Sym::Assign) | TokenClass::Keyword(Word::Where)))
    };
    let result = sym(Sym::Arrow)
        .ignore_then(
            ty.then_ignore(lookahead(ExpectedSet::sym(Sym::Assign), |kind| {
                kind.is_none_or(|k| !matches!(k, TokenClass::Sym(Sym::Comma | Sym::Lt)))
            }))
            .recover_with(via_parser(skip_until(after_head).map_with(|(start, end), e| {
                let span = e.state().span(start, end);
                e.state().ty(TypeExpr::Error, span)
            }))),
        )
        .or_not();
    let class = token_where(ExpectedSet::CLASS, |kind| (kind == TokenClass::Name).then_some(())).map_with(|(), e| {
        let at = e.span().start;
        e.state().ident(at)
    });
    let constraint = name().then_ignore(sym(Sym::Colon)).then(class).map(|(var, class)| Constraint { var, class });
    let constraints = token(TokenClass::Keyword(Word::Where), ExpectedSet::NONE)
        .ignore_then(constraint.separated_by(unlisted_sym(Sym::Comma)).at_least(1).collect::<Vec<_>>())
        .or_not();
    token(TokenClass::Keyword(Word::Def), ExpectedSet::ITEM)
        .ignore_then(declared_name())
        .then(params)
        .then(result)
        .then(constraints)
        .map(|(((name, params), result), constraints)| Def {
            name,
            params,
            result,
            constraints: constraints.unwrap_or_default(),
            body: ExprId::from_raw(0),
        })
}

/// `type T(a) = A(a) | B`
fn type_def(ty: impl GrammarRule<TypeId>) -> impl GrammarRule<TypeDef> {
    let is_sum = custom(|inp: RuleInput| {
        let at = token_index(inp);
        let builder = inp.state();
        let mut here = at;
        while let Some(kind) = builder.kind(here) {
            match kind {
                TokenClass::Sym(Sym::Bar) => return Ok(()),
                TokenClass::Sym(open) if open.closer().is_some() => here = builder.matching_closer(here).max(here),
                _ => {}
            }
            here += 1;
        }
        Err(SyntaxError::expected(at, ExpectedSet::NONE))
    });
    let args =
        bracketed_list(Sym::LParen, ExpectedSet::NONE, ty.clone(), |builder, span| builder.ty(TypeExpr::Error, span));
    let ctor = name().then(args.or_not()).map(|(name, args)| Ctor { name, args: args.unwrap_or_default() });
    let ctors = ctor.separated_by(unlisted_sym(Sym::Bar)).allow_leading().at_least(1).collect::<Vec<_>>();
    let sum = is_sum.ignore_then(ctors).map(TypeBody::Sum);
    let single = ty.map(TypeBody::Single);
    let end = lookahead(ExpectedSet::END, |kind| kind.is_none());
    let body =
        choice((sum, single)).then_ignore(end).recover_with(via_parser(skip_rest().map_with(|(start, end), e| {
            let span = e.state().span(start, end);
            TypeBody::Single(e.state().ty(TypeExpr::Error, span))
        })));
    token(TokenClass::Keyword(Word::Type), ExpectedSet::ITEM)
        .ignore_then(declared_name())
        .then(name_list("a type parameter").or_not())
        .then_ignore(assign())
        .then(body)
        .map(|((name, params), body)| TypeDef { name, params: params.unwrap_or_default(), body })
}

/// `import linalg`, `import "./mine.iv" as m`
fn import() -> impl GrammarRule<Import> {
    let path = token_where(ExpectedSet::NAME, |kind| match kind {
        TokenClass::Name => Some(false),
        TokenClass::Str => Some(true),
        _ => None,
    })
    .map_with(|is_file, e| {
        let at = e.span().start;
        (e.state().ident(at), is_file)
    });
    let alias = token(TokenClass::Keyword(Word::As), ExpectedSet::NONE).ignore_then(name()).or_not();
    token(TokenClass::Keyword(Word::Import), ExpectedSet::ITEM)
        .ignore_then(path)
        .then(alias)
        .then_ignore(lookahead(ExpectedSet::END, |kind| kind.is_none()))
        .map(|((path, is_file), alias)| Import { path, is_file, alias })
}

/// `let x: T = e`, perhaps with `;`
fn top_let(
    expr: impl GrammarRule<ExprId>,
    ty: impl GrammarRule<TypeId>,
    pat: impl GrammarRule<PatId>,
) -> impl GrammarRule<TopLet> {
    let skip_head = skip_until(|builder, at| builder.kind(at) == Some(TokenClass::Sym(Sym::Assign)));
    let head = pat.then(unlisted_sym(Sym::Colon).ignore_then(ty).or_not()).then_ignore(assign_sym()).recover_with(
        via_parser(skip_head.then_ignore(sym(Sym::Assign)).map_with(|(start, end), e| {
            let span = e.state().span(start, end);
            (e.state().leading_pattern(span), None)
        })),
    );
    let quiet = unlisted_sym(Sym::Semi).or_not().map(|semi| semi.is_some());
    let end = lookahead(ExpectedSet::OPERATOR.union(ExpectedSet::END), |kind| kind.is_none());
    let skipped = skip_rest().map_with(|(start, end), e| {
        let span = e.state().span(start, end);
        (alloc_error(e.state(), span), false)
    });
    let value = expr.then(quiet).then_ignore(end).recover_with(via_parser(skipped.clone()));
    let bound =
        choice((choice((let_function(), let_without_tuple())).map(|pat| (pat, None)).then(skipped), head.then(value)));
    token(TokenClass::Keyword(Word::Let), ExpectedSet::ITEM)
        .ignore_then(bound)
        .map(|((pat, ty), (value, quiet))| TopLet { pat, ty, value, is_quiet: quiet })
}

/// `derivative f(x; dx)` or `adjoint f(x; dy)`
fn rule_head() -> impl GrammarRule<Derivative> {
    let which = custom(|inp: RuleInput| {
        let at = token_index(inp);
        match inp.state().ident(at).name.as_str() {
            "derivative" => Ok(false),
            "adjoint" => Ok(true),
            _ => Err(SyntaxError::expected(at, ExpectedSet::ITEM)),
        }
    })
    .then_ignore(token_where(ExpectedSet::ITEM, |kind| (kind == TokenClass::Name).then_some(())));
    let names = || name().separated_by(unlisted_sym(Sym::Comma)).collect::<Vec<_>>();
    let both = names().then_ignore(sym(Sym::Semi)).then(names());
    let both =
        both.then_ignore(lookahead(ExpectedSet::sym(Sym::RParen), |kind| kind.is_some_and(TokenClass::is_closer)));
    let skipped = skip_rest().map(|_| (Vec::new(), Vec::new()));
    let params = sym(Sym::LParen).ignore_then(both.recover_with(via_parser(skipped))).then_ignore(sym(Sym::RParen));
    which.then(name()).then(params).map(|((adjoint, name), (params, deltas))| Derivative {
        is_adjoint: adjoint,
        name,
        params,
        tangents: deltas,
        body: ExprId::from_raw(0),
    })
}
