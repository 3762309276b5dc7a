//! **Grammar of forms.** The forms that extend as far right as possible: binders, lambdas, `let`,
//! `if`, folds. Also `match`, which ends at its closing brace.

use chumsky::prelude::*;

use super::builder::Builder;
use super::errors::{Expected, Slip, SyntaxError};
use super::exprs::{error, made};
use super::parts::{
    Here, Part, Rule, binds, colon, list, look, maybe, pick, place, skip_until, sym, token, variable, word,
};
use super::patterns::plain;
use super::tokens::Kind;
use crate::ast::{Arm, Expr, ExprId, IndexRange, IndexVar, LambdaParam, LetBind, Pat, PatId, TypeId};
use crate::lexer::Token;
use crate::ops::BinderKind;
use crate::token::{Sym, Word};

/// Returns the rule for all forms but `match`.
pub(super) fn forms(
    expr: impl Part<ExprId>,
    sum: impl Part<ExprId>,
    ty: impl Part<TypeId>,
    pat: impl Part<PatId>,
) -> Rule<ExprId> {
    let vars = vars(sum).boxed();
    let ty_opt = maybe(Sym::Colon).ignore_then(ty.clone()).or_not().boxed();
    choice((
        binder(expr.clone(), vars.clone()).boxed(),
        lambda(expr.clone(), ty, pat.clone()).boxed(),
        lets(expr.clone(), pat.clone(), ty_opt.clone()).boxed(),
        conditional(expr.clone()).boxed(),
        fold(expr, vars, pat, ty_opt).boxed(),
    ))
    .boxed()
}

/// `i < n, j in a..b by s, k`
fn vars(sum: impl Part<ExprId>) -> impl Part<Vec<IndexVar>> {
    let below = maybe(Sym::Lt).ignore_then(sum.clone()).map(IndexRange::Below);
    let range = token(Kind::Word(Word::In), Expected::NONE)
        .ignore_then(sum.clone())
        .then(sym(Sym::DotDot).ignore_then(sum.clone()))
        .then(token(Kind::Word(Word::By), Expected::NONE).ignore_then(sum).or_not())
        .map(|((from, to), by)| IndexRange::Range { from, to, by });
    let range = choice((below, range)).or_not().map(|range| range.unwrap_or(IndexRange::Bare));
    let var = variable().then(range).map(|(name, range)| IndexVar { name, range });
    var.separated_by(maybe(Sym::Comma)).at_least(1).collect::<Vec<_>>()
}

/// `sum i < n if p: e`
fn binder(expr: impl Part<ExprId>, vars: impl Part<Vec<IndexVar>>) -> impl Part<ExprId> {
    let kind = pick(Expected::EXPR, |kind| match kind {
        Kind::Binder(kind) => Some(kind),
        Kind::Word(Word::For) => Some(BinderKind::For),
        _ => None,
    });
    let filter = token(Kind::Word(Word::If), Expected::NONE).ignore_then(expr.clone()).or_not();
    kind.then(vars)
        .then(filter)
        .then_ignore(colon())
        .then(expr)
        .map_with(|(((kind, vars), filter), body), e| made(Expr::Binder { kind, vars, filter, body }, e))
}

/// `\x, (y: f64): e`
fn lambda(expr: impl Part<ExprId>, ty: impl Part<TypeId>, pat: impl Part<PatId>) -> impl Part<ExprId> {
    let pat = plain(pat);
    let one = pat.clone().then(maybe(Sym::Colon).ignore_then(ty).or_not());
    // `(a, b)` is one parameter, a tuple; `(x: T)` and `(x: T, y: U)` are parameters with types.
    let listed = list(Sym::LParen, Expected::PATTERN, one, |builder, span| (builder.leading_pattern(span), None))
        .map_with(|items, e| {
            let at: SimpleSpan = e.span();
            if !items.iter().any(|(_, ty)| ty.is_some()) {
                let pats: Vec<PatId> = items.iter().map(|(pat, _)| *pat).collect();
                let pat = match pats.as_slice() {
                    [one] => *one,
                    _ => {
                        let span = e.state().span(at.start, at.end);
                        e.state().pat(Pat::Tuple(pats), span)
                    }
                };
                return vec![LambdaParam { pat, ty: None }];
            }
            items.into_iter().map(|(pat, ty)| LambdaParam { pat, ty }).collect()
        });
    let untyped = pat.map(|pat| vec![LambdaParam { pat, ty: None }]);
    let params = choice((listed, untyped)).separated_by(maybe(Sym::Comma)).at_least(1).collect::<Vec<_>>();
    token(Kind::Sym(Sym::Backslash), Expected::EXPR)
        .ignore_then(params)
        .then_ignore(colon())
        .then(expr)
        .map_with(|(params, body), e| made(Expr::Lambda(params.into_iter().flatten().collect(), body), e))
}

/// `let p: T = a let q = b in e`
fn lets(expr: impl Part<ExprId>, pat: impl Part<PatId>, ty: impl Part<Option<TypeId>>) -> impl Part<ExprId> {
    // Recovery: an error in a pattern ends at its `=`, an error in a value at the next `let` or
    // `in`.
    let skip_head = skip_until(|builder, at| {
        matches!(builder.kind(at), Some(Kind::Sym(Sym::Assign) | Kind::Word(Word::Let | Word::In)))
    });
    let head = pat.then(ty).then_ignore(binds()).recover_with(via_parser(
        skip_head.then_ignore(sym(Sym::Assign)).map_with(|(start, end), e| {
            let span = e.state().span(start, end);
            (e.state().leading_pattern(span), None)
        }),
    ));
    let skip_value = skip_until(|builder, at| match builder.kind(at) {
        // A `let` that begins the value was already tried as part of it. It must not count as the
        // next `let` of this chain, because the rest would then be searched twice at each level.
        Some(Kind::Word(Word::Let)) => at.checked_sub(1).and_then(|b| builder.kind(b)) != Some(Kind::Sym(Sym::Assign)),
        // The `in` of an index variable's range does not end the chain.
        Some(Kind::Word(Word::In)) => !is_range(builder, at),
        _ => false,
    });
    let ends = Expected::OPERATOR.or(Expected::word(Word::In));
    let skipped = skip_value
        .then_ignore(look(ends, |kind| matches!(kind, Some(Kind::Word(Word::Let | Word::In)))))
        .map_with(|(start, end), e| {
            let span = e.state().span(start, end);
            error(e.state(), span)
        });
    let value = expr.clone().then_ignore(after_value(ends)).recover_with(via_parser(skipped.clone()));
    let bound =
        choice((choice((let_function(), let_several())).map(|pat| (pat, None)).then(skipped), head.then(value)))
            .map(|((pat, ty), value)| LetBind { pat, ty, value })
            .boxed();
    let first = token(Kind::Word(Word::Let), Expected::EXPR).ignore_then(bound.clone());
    let more = choice((token(Kind::Word(Word::Let), Expected::NONE), chain(Word::Let))).ignore_then(bound);
    let binds = first.then(more.repeated().collect::<Vec<_>>()).map(|(first, mut rest)| {
        rest.insert(0, first);
        rest
    });
    let result = choice((
        look(Expected::NONE, |kind| kind.is_some_and(Kind::starts_expr)).ignore_then(expr.clone()),
        look(Expected::EXPR, |kind| kind.is_none_or(Kind::is_closer)).map_with(|(), e| made(Expr::Error, e)),
    ));
    // An error in the result ends at the end of the chain, so that the bound names stay declared.
    let ends = |kind: Option<Kind>| match kind {
        None => true,
        Some(Kind::Sym(sym)) => sym.is_closer() || matches!(sym, Sym::Comma | Sym::Semi | Sym::Colon | Sym::DotDot),
        Some(Kind::Word(_)) => true,
        _ => false,
    };
    let skip_result = skip_until(|builder, at| {
        matches!(builder.kind(at), Some(Kind::Sym(Sym::Comma | Sym::Semi) | Kind::Word(Word::Then | Word::Else)))
    });
    let told = expr.then_ignore(look(Expected::OPERATOR, ends)).recover_with(via_parser(skip_result.map_with(
        |(start, end), e| {
            let span = e.state().span(start, end);
            error(e.state(), span)
        },
    )));
    let ended = choice((word(Word::In), chain(Word::In)));
    let body = choice((ended.ignore_then(told), no_in().ignore_then(result)));
    binds.then(body).map_with(|(binds, body), e| made(Expr::Let(binds, body), e))
}

/// `a, b =` after `let`: reports the mistake and keeps the names declared.
pub(super) fn let_several() -> impl Part<PatId> {
    custom(|inp: Here| {
        let start = place(inp);
        let builder = inp.state();
        let mut end = start + 1;
        let mut names = vec![start];
        while (builder.kind(end), builder.kind(end + 1)) == (Some(Kind::Sym(Sym::Comma)), Some(Kind::Name)) {
            names.push(end + 1);
            end += 2;
        }
        let binds = builder.kind(start) == Some(Kind::Name) && builder.kind(end) == Some(Kind::Sym(Sym::Assign));
        if names.len() < 2 || !binds || !builder.recovers() {
            return Err(SyntaxError::expected(start, Expected::NONE));
        }
        let idents: Vec<_> = names.into_iter().map(|at| builder.ident(at)).collect();
        let parts = idents.into_iter().map(|ident| builder.pat(Pat::Name(ident.name), ident.span)).collect();
        let span = builder.span(start, end);
        let pat = builder.pat(Pat::Tuple(parts), span);
        inp.emit(SyntaxError { at: start, end, expected: Expected::NONE, slip: Some(Slip::LetSeveral) });
        (start..end).for_each(|_| inp.skip());
        Ok(pat)
    })
}

/// `f(x: f64) =` after `let`, a function in the notation of a `def`: reports the mistake and keeps
/// the name declared. The body is skipped, because its parameters are unknown.
pub(super) fn let_function() -> impl Part<PatId> {
    custom(|inp: Here| {
        let at = place(inp);
        let builder = inp.state();
        let close = builder.partner(at + 1);
        let shape = (builder.kind(at), builder.kind(at + 1)) == (Some(Kind::Name), Some(Kind::Sym(Sym::LParen)));
        let typed = shape && builder.kind(at + 3) == Some(Kind::Sym(Sym::Colon));
        let ends = matches!(builder.kind(close + 1), Some(Kind::Sym(Sym::Assign | Sym::Arrow)));
        if !typed || !ends || !builder.recovers() {
            return Err(SyntaxError::expected(at, Expected::NONE));
        }
        let name = builder.ident(at);
        let pat = builder.pat(Pat::Name(name.name), name.span);
        inp.emit(SyntaxError { at, end: at + 1, expected: Expected::NONE, slip: Some(Slip::LetFunction) });
        (at..=close).for_each(|_| inp.skip());
        Ok(pat)
    })
}

/// Checks the token after the value of a `let`: `in`, the next `let`, or a position at which `in`
/// is certainly missing. Such a position is a new line that begins an expression, or the end of an
/// enclosing form.
fn after_value(ends: Expected) -> impl Part<()> {
    custom(move |inp: Here| {
        let at = place(inp);
        let builder = inp.state();
        let fits = match builder.kind(at) {
            None | Some(Kind::Sym(Sym::Comma) | Kind::Word(_)) => true,
            Some(kind) => {
                let separated = separator(builder, at).is_some();
                separated || kind.is_closer() || builder.line_start(at) && kind.starts_expr()
            }
        };
        if fits { Ok(()) } else { Err(SyntaxError::expected(at, ends)) }
    })
}

/// Recognises another language's separator between the parts of a `let` chain. Returns its length
/// in tokens (0 if a name begins a line) and the word that belongs there.
fn separator(builder: &Builder, at: usize) -> Option<(usize, Word)> {
    let binds = |at| (builder.kind(at), builder.kind(at + 1)) == (Some(Kind::Name), Some(Kind::Sym(Sym::Assign)));
    let and = matches!(builder.token(at), Some(Token::Name(name)) if name == "and");
    let sign = and || matches!(builder.kind(at), Some(Kind::Sym(Sym::Semi | Sym::Comma)));
    match builder.kind(at + 1) {
        _ if builder.line_start(at) && binds(at) => Some((0, Word::Let)),
        Some(Kind::Word(word @ (Word::Let | Word::In))) if sign => Some((1, word)),
        _ if sign && binds(at + 1) => Some((1, Word::Let)),
        _ => None,
    }
}

/// Reads `let` or `in` with a foreign separator before it or in its place, and reports the
/// separator.
fn chain(part: Word) -> impl Part<()> {
    custom(move |inp: Here| {
        let at = place(inp);
        let builder = inp.state();
        let found = separator(builder, at).filter(|(_, word)| *word == part);
        let Some((tokens, _)) = found.filter(|_| builder.recovers()) else {
            return Err(SyntaxError::expected(at, Expected::NONE));
        };
        let written = tokens + usize::from(builder.kind(at + tokens) == Some(Kind::Word(part)));
        inp.emit(SyntaxError { at, end: at + tokens, expected: Expected::NONE, slip: Some(Slip::Chain) });
        (0..written).for_each(|_| inp.skip());
        Ok(())
    })
}

/// Returns whether the `in` at `at` belongs to an index variable.
fn is_range(builder: &Builder, at: usize) -> bool {
    let back = |tokens: usize| at.checked_sub(tokens).and_then(|b| builder.kind(b));
    matches!((back(2), back(1)), (Some(Kind::Binder(_) | Kind::Word(Word::For)), Some(Kind::Name)))
}

/// Reports that the `in` of a `let` chain is missing. Consumes nothing.
fn no_in() -> impl Part<()> {
    custom(|inp: Here| {
        let at = place(inp);
        let builder = inp.state();
        // Search backwards for the `let`, skipping brackets and chains that have their `in`.
        let (mut depth, mut chains) = (0usize, 0usize);
        let start = (0..at).rev().find(|here| {
            match builder.kind(*here) {
                Some(Kind::Sym(sym)) if sym.is_closer() => depth += 1,
                Some(Kind::Sym(sym)) if sym.closer().is_some() => depth = depth.saturating_sub(1),
                Some(Kind::Word(Word::In)) if depth == 0 && !is_range(builder, *here) => chains += 1,
                Some(Kind::Word(Word::Let)) if depth == 0 && chains == 0 => return true,
                // A `let` after an operand continues a chain; any other begins one.
                Some(Kind::Word(Word::Let)) if depth == 0 => {
                    let before = here.checked_sub(1).and_then(|b| builder.kind(b));
                    let goes_on = before.is_some_and(|k| k.is_closer() || k.is_leaf());
                    chains -= usize::from(!goes_on);
                }
                _ => {}
            }
            false
        });
        let start = builder.span_at(start.unwrap_or(at));
        let error = SyntaxError { slip: Some(Slip::NoIn(start)), ..SyntaxError::expected(at, Expected::NONE) };
        if !builder.recovers() {
            return Err(error);
        }
        inp.emit(error);
        Ok(())
    })
}

/// `if c then a else if d then b else e`
fn conditional(expr: impl Part<ExprId>) -> impl Part<ExprId> {
    let branch = expr.clone().then_ignore(word(Word::Then)).then(expr.clone());
    let more = word(Word::Else).then_ignore(token(Kind::Word(Word::If), Expected::NONE)).ignore_then(branch.clone());
    // An `if` after `else` continues the chain. It must not be tried again as an expression,
    // because an error in it would then be searched for twice at each level.
    let other =
        word(Word::Else).ignore_then(look(Expected::NONE, |kind| kind != Some(Kind::Word(Word::If)))).ignore_then(expr);
    token(Kind::Word(Word::If), Expected::EXPR)
        .ignore_then(branch)
        .then(more.repeated().collect::<Vec<_>>())
        .then(other)
        .map_with(|((first, mut rest), other), e| {
            rest.insert(0, first);
            made(Expr::If(rest, other), e)
        })
}

/// `fold acc = init for i < n: body yield e`, `loop acc = init while c: body`, `scan` in both
/// forms; `checkpoint k:` before any of them.
fn fold(
    expr: impl Part<ExprId>,
    vars: impl Part<Vec<IndexVar>>,
    pat: impl Part<PatId>,
    ty: impl Part<Option<TypeId>>,
) -> impl Part<ExprId> {
    let carry = plain(pat).then(ty).then_ignore(binds()).then(expr.clone()).boxed();
    let body = colon().ignore_then(expr.clone()).boxed();
    let range = word(Word::For).ignore_then(vars).then(body.clone()).boxed();
    let condition = word(Word::While).ignore_then(expr.clone()).then(body).boxed();
    let start = |start: Word| token(Kind::Word(start), Expected::EXPR);

    let over = |scan: bool| {
        move |(((acc, ty), init), ((vars, body), yields))| Expr::Fold { scan, acc, ty, init, vars, body, yields }
    };
    let whilst = |scan: bool| move |(((acc, ty), init), (cond, body))| Expr::Loop { scan, acc, ty, init, cond, body };

    let spacing = expr.clone();
    let yields = token(Kind::Word(Word::Yield), Expected::NONE).ignore_then(expr).or_not();
    let fold = start(Word::Fold).ignore_then(carry.clone()).then(range.clone().then(yields)).map(over(false));
    let loops = start(Word::Loop).ignore_then(carry.clone()).then(condition.clone()).map(whilst(false));
    let scan = start(Word::Scan).ignore_then(carry).then(choice((range.map(Ok), condition.map(Err)))).map(
        move |(carry, rest)| match rest {
            Ok(range) => over(true)((carry, (range, None))),
            Err(condition) => whilst(true)((carry, condition)),
        },
    );
    let plain = choice((fold, scan, loops)).map_with(made).boxed();
    let every = start(Word::Checkpoint).ignore_then(spacing.or_not()).then_ignore(colon()).then(plain.clone());
    choice((every.map(|(every, of)| Expr::Checkpoint { every, of }).map_with(made), plain))
}

/// `match e { p: a, q: b }`
pub(super) fn matching(expr: impl Part<ExprId>, pat: impl Part<PatId>) -> impl Part<ExprId> {
    let arm = plain(pat).then_ignore(colon()).then(expr.clone()).map(|(pat, body)| Arm { pat, body });
    let arms = list(Sym::LBrace, Expected::sym(Sym::LBrace), arm, |builder, span| Arm {
        pat: builder.pat(Pat::Error, span),
        body: error(builder, span),
    });
    token(Kind::Word(Word::Match), Expected::EXPR)
        .ignore_then(expr)
        .then(arms)
        .map_with(|(value, arms), e| made(Expr::Match(value, arms), e))
        .boxed()
}
