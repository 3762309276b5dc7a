//! **Item grammar.** The rules for `def`, `type`, `import`, `let`, `do`, `derivative` and
//! `adjoint`.
//!
//! Recovery keeps the readable parts of an item: an error in the head leaves the body intact, and
//! conversely.

use chumsky::prelude::*;

use super::builder::Builder;
use super::errors::{Expected, Slip, SyntaxError};
use super::exprs::error;
use super::forms::{let_function, let_several};
use super::parts::{Here, Part, Rule, binds, list, look, maybe, missing, name, pick, place, skip_until, sym, token};
use super::tokens::Kind;
use crate::ast::{
    Constraint, Ctor, Def, ExprId, Ident, Import, Item, Param, PatId, Rule as Derivative, TopLet, TypeBody, TypeDef,
    TypeExpr, TypeId,
};
use crate::token::{Sym, Word};
use lang_base::{Name, Span};

/// Returns the rule for any item.
pub(super) fn items(expr: impl Part<ExprId>, ty: impl Part<TypeId>, pat: impl Part<PatId>) -> Rule<Item> {
    let body = body(expr.clone()).boxed();
    let defined = assign().ignore_then(body.clone());
    choice((
        head(ty.clone()).then(defined.clone()).map(|(head, body)| Item::Def(Def { body, ..head })).boxed(),
        type_def(ty.clone()).map(Item::Type).boxed(),
        import().map(Item::Import).boxed(),
        top_let(expr, ty, pat).map(Item::Let).boxed(),
        token(Kind::Word(Word::Do), Expected::ITEM).ignore_then(body).map(Item::Do).boxed(),
        derivative().then(defined).map(|(head, body)| Item::Rule(Derivative { body, ..head })).boxed(),
    ))
    .boxed()
}

/// Returns the rule for `def f(x: T) -> U where a: num` without a body.
pub(super) fn signatures(ty: impl Part<TypeId>) -> Rule<Item> {
    let rest = look(Expected::END, |kind| kind.is_none());
    head(ty)
        .then_ignore(rest)
        .map_with(|head, e| {
            let body = e.state().expr(crate::ast::Expr::Error, Span::default());
            Item::Def(Def { body, ..head })
        })
        .boxed()
}

/// Returns the rule for an expression up to the end of the item. Unreadable text becomes an error
/// node.
pub(super) fn body(expr: impl Part<ExprId>) -> impl Part<ExprId> {
    let end = look(Expected::OPERATOR.or(Expected::END), |kind| kind.is_none());
    let skipped = rest().map_with(|(start, end), e| {
        let span = e.state().span(start, end);
        error(e.state(), span)
    });
    expr.then_ignore(end).recover_with(via_parser(skipped))
}

/// Skips the remaining tokens.
fn rest() -> impl Part<(usize, usize)> {
    skip_until(|_, _| false)
}

/// Reads the `=` of a definition. If it is missing and a body seems to follow, the rule reports it
/// and continues with the body.
fn assign() -> impl Part<()> {
    let expected = Expected::sym(Sym::Assign);
    let skipped = skip_until(|builder, at| builder.kind(at) == Some(Kind::Sym(Sym::Assign)));
    let found = skipped.then_ignore(sym(Sym::Assign)).ignored();
    let absent = |body: fn(Kind) -> bool| {
        custom(move |inp: Here| {
            let at = place(inp);
            let builder = inp.state();
            let body = builder.kind(at).is_none_or(body);
            if body && builder.recovers() { Ok(()) } else { Err(SyntaxError::expected(at, expected)) }
        })
    };
    // No type begins with these tokens, so a later `=` belongs to the body.
    let surely = absent(|k| matches!(k, Kind::Word(_) | Kind::Binder(_)) && k.starts_expr()).boxed();
    let perhaps = absent(|k| k.starts_expr() && k != Kind::Sym(Sym::LBrace));
    let line = custom(|inp: Here| {
        let at = place(inp);
        if inp.state().line_start(at) { Ok(()) } else { Err(SyntaxError::expected(at, Expected::NONE)) }
    });
    let colon = maybe(Sym::Colon);
    let colon_body = colon.clone().then_ignore(choice((surely.clone(), line)));
    binds().recover_with(via_parser(choice((surely, colon_body, found, colon, perhaps))))
}

fn idents(at: &'static str) -> impl Part<Vec<Ident>> {
    list(Sym::LParen, Expected::NONE, name(), |_, span| Ident { name: Name::default(), span }).map_with(
        move |names, e| {
            if names.is_empty() {
                let here = e.span();
                e.emit(SyntaxError::slip(here, Slip::Empty(at)));
            }
            names
        },
    )
}

/// Reads the name of a `def` or `type`. If parameters or `=` follow without a name, the rule
/// reports that and returns an empty name.
fn declared() -> impl Part<Ident> {
    let goes_on =
        look(Expected::NONE, |kind| matches!(kind, Some(Kind::Word(_) | Kind::Sym(Sym::LParen | Sym::Assign))));
    choice((name(), goes_on.ignore_then(missing(Expected::NAME))))
}

/// Reads a `def` up to its `=`. The caller fills in the body.
fn head(ty: impl Part<TypeId>) -> impl Part<Def> {
    let typed = maybe(Sym::Colon).ignore_then(ty.clone()).or_not();
    let param = name().then(typed).map_with(|(name, ty), e| {
        let at = e.span();
        let ty = ty.unwrap_or_else(|| {
            e.emit(SyntaxError::slip(at, Slip::Untyped));
            let span = name.span.after();
            e.state().ty(TypeExpr::Error, span)
        });
        Param { name, ty }
    });
    let params = list(Sym::LParen, Expected::sym(Sym::LParen), param, |builder: &mut Builder, span| Param {
        name: builder.leading_param(span),
        ty: builder.ty(TypeExpr::Error, span),
    });
    let after_head =
        |builder: &Builder, at| matches!(builder.kind(at), Some(Kind::Sym(Sym::Assign) | Kind::Word(Word::Where)));
    let result = sym(Sym::Arrow)
        .ignore_then(
            ty.then_ignore(look(Expected::sym(Sym::Assign), |kind| {
                kind.is_none_or(|k| !matches!(k, Kind::Sym(Sym::Comma | Sym::Lt)))
            }))
            .recover_with(via_parser(skip_until(after_head).map_with(|(start, end), e| {
                let span = e.state().span(start, end);
                e.state().ty(TypeExpr::Error, span)
            }))),
        )
        .or_not();
    let class = pick(Expected::CLASS, |kind| (kind == Kind::Name).then_some(())).map_with(|(), e| {
        let at = e.span().start;
        e.state().ident(at)
    });
    let constraint = name().then_ignore(sym(Sym::Colon)).then(class).map(|(var, class)| Constraint { var, class });
    let constraints = token(Kind::Word(Word::Where), Expected::NONE)
        .ignore_then(constraint.separated_by(maybe(Sym::Comma)).at_least(1).collect::<Vec<_>>())
        .or_not();
    token(Kind::Word(Word::Def), Expected::ITEM)
        .ignore_then(declared())
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
fn type_def(ty: impl Part<TypeId>) -> impl Part<TypeDef> {
    let is_sum = custom(|inp: Here| {
        let at = place(inp);
        let builder = inp.state();
        let mut here = at;
        while let Some(kind) = builder.kind(here) {
            match kind {
                Kind::Sym(Sym::Bar) => return Ok(()),
                Kind::Sym(open) if open.closer().is_some() => here = builder.partner(here).max(here),
                _ => {}
            }
            here += 1;
        }
        Err(SyntaxError::expected(at, Expected::NONE))
    });
    let args = list(Sym::LParen, Expected::NONE, ty.clone(), |builder, span| builder.ty(TypeExpr::Error, span));
    let ctor = name().then(args.or_not()).map(|(name, args)| Ctor { name, args: args.unwrap_or_default() });
    let ctors = ctor.separated_by(maybe(Sym::Bar)).allow_leading().at_least(1).collect::<Vec<_>>();
    let sum = is_sum.ignore_then(ctors).map(TypeBody::Sum);
    let single = ty.map(TypeBody::Single);
    let end = look(Expected::END, |kind| kind.is_none());
    let body = choice((sum, single)).then_ignore(end).recover_with(via_parser(rest().map_with(|(start, end), e| {
        let span = e.state().span(start, end);
        TypeBody::Single(e.state().ty(TypeExpr::Error, span))
    })));
    token(Kind::Word(Word::Type), Expected::ITEM)
        .ignore_then(declared())
        .then(idents("a type parameter").or_not())
        .then_ignore(assign())
        .then(body)
        .map(|((name, params), body)| TypeDef { name, params: params.unwrap_or_default(), body })
}

/// `import linalg`, `import "./mine.iv" as m`
fn import() -> impl Part<Import> {
    let path = pick(Expected::NAME, |kind| match kind {
        Kind::Name => Some(false),
        Kind::Str => Some(true),
        _ => None,
    })
    .map_with(|is_file, e| {
        let at = e.span().start;
        (e.state().ident(at), is_file)
    });
    let alias = token(Kind::Word(Word::As), Expected::NONE).ignore_then(name()).or_not();
    token(Kind::Word(Word::Import), Expected::ITEM)
        .ignore_then(path)
        .then(alias)
        .then_ignore(look(Expected::END, |kind| kind.is_none()))
        .map(|((path, is_file), alias)| Import { path, is_file, alias })
}

/// `let x: T = e`, perhaps with `;`
fn top_let(expr: impl Part<ExprId>, ty: impl Part<TypeId>, pat: impl Part<PatId>) -> impl Part<TopLet> {
    let skip_head = skip_until(|builder, at| builder.kind(at) == Some(Kind::Sym(Sym::Assign)));
    let head = pat.then(maybe(Sym::Colon).ignore_then(ty).or_not()).then_ignore(binds()).recover_with(via_parser(
        skip_head.then_ignore(sym(Sym::Assign)).map_with(|(start, end), e| {
            let span = e.state().span(start, end);
            (e.state().leading_pattern(span), None)
        }),
    ));
    let quiet = maybe(Sym::Semi).or_not().map(|semi| semi.is_some());
    let end = look(Expected::OPERATOR.or(Expected::END), |kind| kind.is_none());
    let skipped = rest().map_with(|(start, end), e| {
        let span = e.state().span(start, end);
        (error(e.state(), span), false)
    });
    let value = expr.then(quiet).then_ignore(end).recover_with(via_parser(skipped.clone()));
    let bound =
        choice((choice((let_function(), let_several())).map(|pat| (pat, None)).then(skipped), head.then(value)));
    token(Kind::Word(Word::Let), Expected::ITEM).ignore_then(bound).map(|((pat, ty), (value, quiet))| TopLet {
        pat,
        ty,
        value,
        quiet,
    })
}

/// `derivative f(x; dx)` or `adjoint f(x; dy)`
fn derivative() -> impl Part<Derivative> {
    let which = custom(|inp: Here| {
        let at = place(inp);
        match inp.state().ident(at).name.as_str() {
            "derivative" => Ok(false),
            "adjoint" => Ok(true),
            _ => Err(SyntaxError::expected(at, Expected::ITEM)),
        }
    })
    .then_ignore(pick(Expected::ITEM, |kind| (kind == Kind::Name).then_some(())));
    let names = || name().separated_by(maybe(Sym::Comma)).collect::<Vec<_>>();
    let both = names().then_ignore(sym(Sym::Semi)).then(names());
    let both = both.then_ignore(look(Expected::sym(Sym::RParen), |kind| kind.is_some_and(Kind::is_closer)));
    let skipped = rest().map(|_| (Vec::new(), Vec::new()));
    let params = sym(Sym::LParen).ignore_then(both.recover_with(via_parser(skipped))).then_ignore(sym(Sym::RParen));
    which.then(name()).then(params).map(|((adjoint, name), (params, deltas))| Derivative {
        adjoint,
        name,
        params,
        deltas,
        body: ExprId::from_raw(0),
    })
}
