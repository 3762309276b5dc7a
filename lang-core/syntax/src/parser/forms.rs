//! **Grammar of forms.** The forms that extend as far right as possible: binders, lambdas, `let`,
//! `if`, folds. Also `match`, which ends at its closing brace.

use chumsky::prelude::*;

use super::brackets::TokenClass;
use super::builder::TreeBuilder;
use super::combinators::{
    BoxedRule, GrammarRule, RuleInput, assign_sym, bracketed_list, colon, keyword, lookahead, skip_until, sym, token,
    token_index, token_where, unlisted_sym, variable,
};
use super::errors::{ExpectedSet, GrammarMistake, SyntaxError};
use super::exprs::{alloc_error, alloc_expr};
use super::patterns::without_extents;
use crate::ast::{Arm, Expr, ExprId, IndexRange, IndexVar, LambdaParam, LetBind, Pat, PatId, TypeId};
use crate::lexer::Token;
use crate::ops::BinderKind;
use crate::token::{Sym, Word};

/// Returns the rule for all forms but `match`.
pub(super) fn forms(
    expr: impl GrammarRule<ExprId>,
    sum: impl GrammarRule<ExprId>,
    ty: impl GrammarRule<TypeId>,
    pat: impl GrammarRule<PatId>,
) -> BoxedRule<ExprId> {
    let vars = vars(sum).boxed();
    let ty_opt = unlisted_sym(Sym::Colon).ignore_then(ty.clone()).or_not().boxed();
    choice((
        binder(expr.clone(), vars.clone()).boxed(),
        lambda(expr.clone(), ty, pat.clone()).boxed(),
        let_chain(expr.clone(), pat.clone(), ty_opt.clone()).boxed(),
        conditional(expr.clone()).boxed(),
        fold_or_loop(expr, vars, pat, ty_opt).boxed(),
    ))
    .boxed()
}

/// `i < n, j in a..b by s, k`
fn vars(sum: impl GrammarRule<ExprId>) -> impl GrammarRule<Vec<IndexVar>> {
    let below = unlisted_sym(Sym::Lt).ignore_then(sum.clone()).map(IndexRange::Below);
    let range = token(TokenClass::Keyword(Word::In), ExpectedSet::NONE)
        .ignore_then(sum.clone())
        .then(sym(Sym::DotDot).ignore_then(sum.clone()))
        .then(token(TokenClass::Keyword(Word::By), ExpectedSet::NONE).ignore_then(sum).or_not())
        .map(|((from, to), by)| IndexRange::Range { from, to, by });
    let range = choice((below, range)).or_not().map(|range| range.unwrap_or(IndexRange::Bare));
    let var = variable().then(range).map(|(name, range)| IndexVar { name, range });
    var.separated_by(unlisted_sym(Sym::Comma)).at_least(1).collect::<Vec<_>>()
}

/// `sum i < n if p: e`
fn binder(expr: impl GrammarRule<ExprId>, vars: impl GrammarRule<Vec<IndexVar>>) -> impl GrammarRule<ExprId> {
    let kind = token_where(ExpectedSet::EXPR, |kind| match kind {
        TokenClass::Binder(kind) => Some(kind),
        TokenClass::Keyword(Word::For) => Some(BinderKind::For),
        _ => None,
    });
    let filter = token(TokenClass::Keyword(Word::If), ExpectedSet::NONE).ignore_then(expr.clone()).or_not();
    kind.then(vars)
        .then(filter)
        .then_ignore(colon())
        .then(expr)
        .map_with(|(((kind, vars), filter), body), e| alloc_expr(Expr::Binder { kind, vars, filter, body }, e))
}

/// `\x, (y: f64): e`
fn lambda(
    expr: impl GrammarRule<ExprId>,
    ty: impl GrammarRule<TypeId>,
    pat: impl GrammarRule<PatId>,
) -> impl GrammarRule<ExprId> {
    let pat = without_extents(pat);
    let one = pat.clone().then(unlisted_sym(Sym::Colon).ignore_then(ty).or_not());
    // `(a, b)` is one parameter, a tuple; `(x: T)` and `(x: T, y: U)` are parameters with types.
    let listed =
        bracketed_list(Sym::LParen, ExpectedSet::PATTERN, one, |builder, span| (builder.leading_pattern(span), None))
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
    let params = choice((listed, untyped)).separated_by(unlisted_sym(Sym::Comma)).at_least(1).collect::<Vec<_>>();
    token(TokenClass::Sym(Sym::Backslash), ExpectedSet::EXPR)
        .ignore_then(params)
        .then_ignore(colon())
        .then(expr)
        .map_with(|(params, body), e| alloc_expr(Expr::Lambda(params.into_iter().flatten().collect(), body), e))
}

/// `let p: T = a let q = b in e`
fn let_chain(
    expr: impl GrammarRule<ExprId>,
    pat: impl GrammarRule<PatId>,
    ty: impl GrammarRule<Option<TypeId>>,
) -> impl GrammarRule<ExprId> {
    // Recovery: an error in a pattern ends at its `=`, an error in a value at the next `let` or
    // `in`.
    let skip_head = skip_until(|builder, at| {
        matches!(builder.kind(at), Some(TokenClass::Sym(Sym::Assign) | TokenClass::Keyword(Word::Let | Word::In)))
    });
    let head = pat.then(ty).then_ignore(assign_sym()).recover_with(via_parser(
        skip_head.then_ignore(sym(Sym::Assign)).map_with(|(start, end), e| {
            let span = e.state().span(start, end);
            (e.state().leading_pattern(span), None)
        }),
    ));
    let skip_value = skip_until(|builder, at| match builder.kind(at) {
        // A `let` that begins the value was already tried as part of it. It must not count as the
        // next `let` of this chain, because the rest would then be searched twice at each level.
        Some(TokenClass::Keyword(Word::Let)) => {
            at.checked_sub(1).and_then(|b| builder.kind(b)) != Some(TokenClass::Sym(Sym::Assign))
        }
        // The `in` of an index variable's range does not end the chain.
        Some(TokenClass::Keyword(Word::In)) => !is_range_in(builder, at),
        _ => false,
    });
    let ends = ExpectedSet::OPERATOR.union(ExpectedSet::keyword(Word::In));
    let skipped = skip_value
        .then_ignore(lookahead(ends, |kind| matches!(kind, Some(TokenClass::Keyword(Word::Let | Word::In)))))
        .map_with(|(start, end), e| {
            let span = e.state().span(start, end);
            alloc_error(e.state(), span)
        });
    let value = expr.clone().then_ignore(let_value_end(ends)).recover_with(via_parser(skipped.clone()));
    let bound =
        choice((choice((let_function(), let_without_tuple())).map(|pat| (pat, None)).then(skipped), head.then(value)))
            .map(|((pat, ty), value)| LetBind { pat, ty, value })
            .boxed();
    let first = token(TokenClass::Keyword(Word::Let), ExpectedSet::EXPR).ignore_then(bound.clone());
    let more =
        choice((token(TokenClass::Keyword(Word::Let), ExpectedSet::NONE), chain_word(Word::Let))).ignore_then(bound);
    let binds = first.then(more.repeated().collect::<Vec<_>>()).map(|(first, mut rest)| {
        rest.insert(0, first);
        rest
    });
    let result = choice((
        lookahead(ExpectedSet::NONE, |kind| kind.is_some_and(TokenClass::starts_expr)).ignore_then(expr.clone()),
        lookahead(ExpectedSet::EXPR, |kind| kind.is_none_or(TokenClass::is_closer))
            .map_with(|(), e| alloc_expr(Expr::Error, e)),
    ));
    // An error in the result ends at the end of the chain, so that the bound names stay declared.
    let ends = |kind: Option<TokenClass>| match kind {
        None => true,
        Some(TokenClass::Sym(sym)) => {
            sym.is_closer() || matches!(sym, Sym::Comma | Sym::Semi | Sym::Colon | Sym::DotDot)
        }
        Some(TokenClass::Keyword(_)) => true,
        _ => false,
    };
    let skip_result = skip_until(|builder, at| {
        matches!(
            builder.kind(at),
            Some(TokenClass::Sym(Sym::Comma | Sym::Semi) | TokenClass::Keyword(Word::Then | Word::Else))
        )
    });
    let recovering_result = expr.then_ignore(lookahead(ExpectedSet::OPERATOR, ends)).recover_with(via_parser(
        skip_result.map_with(|(start, end), e| {
            let span = e.state().span(start, end);
            alloc_error(e.state(), span)
        }),
    ));
    let ended = choice((keyword(Word::In), chain_word(Word::In)));
    let body = choice((ended.ignore_then(recovering_result), missing_in().ignore_then(result)));
    binds.then(body).map_with(|(binds, body), e| alloc_expr(Expr::Let(binds, body), e))
}

/// `a, b =` after `let`: reports the mistake and keeps the names declared.
pub(super) fn let_without_tuple() -> impl GrammarRule<PatId> {
    custom(|inp: RuleInput| {
        let start = token_index(inp);
        let builder = inp.state();
        let mut end = start + 1;
        let mut names = vec![start];
        while (builder.kind(end), builder.kind(end + 1)) == (Some(TokenClass::Sym(Sym::Comma)), Some(TokenClass::Name))
        {
            names.push(end + 1);
            end += 2;
        }
        let binds =
            builder.kind(start) == Some(TokenClass::Name) && builder.kind(end) == Some(TokenClass::Sym(Sym::Assign));
        if names.len() < 2 || !binds || !builder.can_recover() {
            return Err(SyntaxError::expected(start, ExpectedSet::NONE));
        }
        let idents: Vec<_> = names.into_iter().map(|at| builder.ident(at)).collect();
        let parts = idents.into_iter().map(|ident| builder.pat(Pat::Name(ident.name), ident.span)).collect();
        let span = builder.span(start, end);
        let pat = builder.pat(Pat::Tuple(parts), span);
        inp.emit(SyntaxError {
            at: start,
            end,
            expected: ExpectedSet::NONE,
            mistake: Some(GrammarMistake::LetWithoutTuple),
        });
        (start..end).for_each(|_| inp.skip());
        Ok(pat)
    })
}

/// `f(x: f64) =` after `let`, a function in the notation of a `def`: reports the mistake and keeps
/// the name declared. The body is skipped, because its parameters are unknown.
pub(super) fn let_function() -> impl GrammarRule<PatId> {
    custom(|inp: RuleInput| {
        let at = token_index(inp);
        let builder = inp.state();
        let close = builder.matching_closer(at + 1);
        let shape =
            (builder.kind(at), builder.kind(at + 1)) == (Some(TokenClass::Name), Some(TokenClass::Sym(Sym::LParen)));
        let typed = shape && builder.kind(at + 3) == Some(TokenClass::Sym(Sym::Colon));
        let ends = matches!(builder.kind(close + 1), Some(TokenClass::Sym(Sym::Assign | Sym::Arrow)));
        if !typed || !ends || !builder.can_recover() {
            return Err(SyntaxError::expected(at, ExpectedSet::NONE));
        }
        let name = builder.ident(at);
        let pat = builder.pat(Pat::Name(name.name), name.span);
        inp.emit(SyntaxError {
            at,
            end: at + 1,
            expected: ExpectedSet::NONE,
            mistake: Some(GrammarMistake::LetFunction),
        });
        (at..=close).for_each(|_| inp.skip());
        Ok(pat)
    })
}

/// Checks the token after the value of a `let`: `in`, the next `let`, or a position at which `in`
/// is certainly missing. Such a position is a new line that begins an expression, or the end of an
/// enclosing form.
fn let_value_end(ends: ExpectedSet) -> impl GrammarRule<()> {
    custom(move |inp: RuleInput| {
        let at = token_index(inp);
        let builder = inp.state();
        let fits = match builder.kind(at) {
            None | Some(TokenClass::Sym(Sym::Comma) | TokenClass::Keyword(_)) => true,
            Some(kind) => {
                let separated = foreign_separator(builder, at).is_some();
                separated || kind.is_closer() || builder.is_line_start(at) && kind.starts_expr()
            }
        };
        if fits { Ok(()) } else { Err(SyntaxError::expected(at, ends)) }
    })
}

/// Recognises another language's separator between the parts of a `let` chain. Returns its length
/// in tokens (0 if a name begins a line) and the word that belongs there.
fn foreign_separator(builder: &TreeBuilder, at: usize) -> Option<(usize, Word)> {
    let binds =
        |at| (builder.kind(at), builder.kind(at + 1)) == (Some(TokenClass::Name), Some(TokenClass::Sym(Sym::Assign)));
    let and = matches!(builder.token(at), Some(Token::Name(name)) if name == "and");
    let sign = and || matches!(builder.kind(at), Some(TokenClass::Sym(Sym::Semi | Sym::Comma)));
    match builder.kind(at + 1) {
        _ if builder.is_line_start(at) && binds(at) => Some((0, Word::Let)),
        Some(TokenClass::Keyword(word @ (Word::Let | Word::In))) if sign => Some((1, word)),
        _ if sign && binds(at + 1) => Some((1, Word::Let)),
        _ => None,
    }
}

/// Reads `let` or `in` with a foreign separator before it or in its place, and reports the
/// separator.
fn chain_word(part: Word) -> impl GrammarRule<()> {
    custom(move |inp: RuleInput| {
        let at = token_index(inp);
        let builder = inp.state();
        let found = foreign_separator(builder, at).filter(|(_, word)| *word == part);
        let Some((tokens, _)) = found.filter(|_| builder.can_recover()) else {
            return Err(SyntaxError::expected(at, ExpectedSet::NONE));
        };
        let written = tokens + usize::from(builder.kind(at + tokens) == Some(TokenClass::Keyword(part)));
        inp.emit(SyntaxError {
            at,
            end: at + tokens,
            expected: ExpectedSet::NONE,
            mistake: Some(GrammarMistake::ForeignSeparator),
        });
        (0..written).for_each(|_| inp.skip());
        Ok(())
    })
}

/// Returns whether the `in` at `at` belongs to an index variable.
fn is_range_in(builder: &TreeBuilder, at: usize) -> bool {
    let back = |tokens: usize| at.checked_sub(tokens).and_then(|b| builder.kind(b));
    matches!((back(2), back(1)), (Some(TokenClass::Binder(_) | TokenClass::Keyword(Word::For)), Some(TokenClass::Name)))
}

/// Reports that the `in` of a `let` chain is missing. Consumes nothing.
fn missing_in() -> impl GrammarRule<()> {
    custom(|inp: RuleInput| {
        let at = token_index(inp);
        let builder = inp.state();
        // Search backwards for the `let`, skipping brackets and chains that have their `in`.
        let (mut depth, mut chains) = (0usize, 0usize);
        let start = (0..at).rev().find(|here| {
            match builder.kind(*here) {
                Some(TokenClass::Sym(sym)) if sym.is_closer() => depth += 1,
                Some(TokenClass::Sym(sym)) if sym.closer().is_some() => depth = depth.saturating_sub(1),
                Some(TokenClass::Keyword(Word::In)) if depth == 0 && !is_range_in(builder, *here) => chains += 1,
                Some(TokenClass::Keyword(Word::Let)) if depth == 0 && chains == 0 => return true,
                // A `let` after an operand continues a chain; any other begins one.
                Some(TokenClass::Keyword(Word::Let)) if depth == 0 => {
                    let before = here.checked_sub(1).and_then(|b| builder.kind(b));
                    let goes_on = before.is_some_and(|k| k.is_closer() || k.is_leaf());
                    chains -= usize::from(!goes_on);
                }
                _ => {}
            }
            false
        });
        let start = builder.span_at(start.unwrap_or(at));
        let error = SyntaxError {
            mistake: Some(GrammarMistake::MissingIn(start)),
            ..SyntaxError::expected(at, ExpectedSet::NONE)
        };
        if !builder.can_recover() {
            return Err(error);
        }
        inp.emit(error);
        Ok(())
    })
}

/// `if c then a else if d then b else e`
fn conditional(expr: impl GrammarRule<ExprId>) -> impl GrammarRule<ExprId> {
    let branch = expr.clone().then_ignore(keyword(Word::Then)).then(expr.clone());
    let more = keyword(Word::Else)
        .then_ignore(token(TokenClass::Keyword(Word::If), ExpectedSet::NONE))
        .ignore_then(branch.clone());
    // An `if` after `else` continues the chain. It must not be tried again as an expression,
    // because an error in it would then be searched for twice at each level.
    let other = keyword(Word::Else)
        .ignore_then(lookahead(ExpectedSet::NONE, |kind| kind != Some(TokenClass::Keyword(Word::If))))
        .ignore_then(expr);
    token(TokenClass::Keyword(Word::If), ExpectedSet::EXPR)
        .ignore_then(branch)
        .then(more.repeated().collect::<Vec<_>>())
        .then(other)
        .map_with(|((first, mut rest), other), e| {
            rest.insert(0, first);
            alloc_expr(Expr::If(rest, other), e)
        })
}

/// `fold acc = init for i < n: body yield e`, `loop acc = init while c: body`, `scan` in both
/// forms; `checkpoint k:` before any of them.
fn fold_or_loop(
    expr: impl GrammarRule<ExprId>,
    vars: impl GrammarRule<Vec<IndexVar>>,
    pat: impl GrammarRule<PatId>,
    ty: impl GrammarRule<Option<TypeId>>,
) -> impl GrammarRule<ExprId> {
    let carry = without_extents(pat).then(ty).then_ignore(assign_sym()).then(expr.clone()).boxed();
    let body = colon().ignore_then(expr.clone()).boxed();
    let range = keyword(Word::For).ignore_then(vars).then(body.clone()).boxed();
    let condition = keyword(Word::While).ignore_then(expr.clone()).then(body).boxed();
    let start = |start: Word| token(TokenClass::Keyword(start), ExpectedSet::EXPR);

    let over = |scan: bool| {
        move |(((acc, ty), init), ((vars, body), yields))| Expr::Fold {
            is_scan: scan,
            acc,
            ty,
            init,
            vars,
            body,
            yields,
        }
    };
    let whilst =
        |scan: bool| move |(((acc, ty), init), (cond, body))| Expr::Loop { is_scan: scan, acc, ty, init, cond, body };

    let spacing = expr.clone();
    let yields = token(TokenClass::Keyword(Word::Yield), ExpectedSet::NONE).ignore_then(expr).or_not();
    let fold = start(Word::Fold).ignore_then(carry.clone()).then(range.clone().then(yields)).map(over(false));
    let loops = start(Word::Loop).ignore_then(carry.clone()).then(condition.clone()).map(whilst(false));
    let scan = start(Word::Scan).ignore_then(carry).then(choice((range.map(Ok), condition.map(Err)))).map(
        move |(carry, rest)| match rest {
            Ok(range) => over(true)((carry, (range, None))),
            Err(condition) => whilst(true)((carry, condition)),
        },
    );
    let plain = choice((fold, scan, loops)).map_with(alloc_expr).boxed();
    let every = start(Word::Checkpoint).ignore_then(spacing.or_not()).then_ignore(colon()).then(plain.clone());
    choice((every.map(|(every, of)| Expr::Checkpoint { spacing: every, body: of }).map_with(alloc_expr), plain))
}

/// `match e { p: a, q: b }`
pub(super) fn match_expr(expr: impl GrammarRule<ExprId>, pat: impl GrammarRule<PatId>) -> impl GrammarRule<ExprId> {
    let arm = without_extents(pat).then_ignore(colon()).then(expr.clone()).map(|(pat, body)| Arm { pat, body });
    let arms = bracketed_list(Sym::LBrace, ExpectedSet::sym(Sym::LBrace), arm, |builder, span| Arm {
        pat: builder.pat(Pat::Error, span),
        body: alloc_error(builder, span),
    });
    token(TokenClass::Keyword(Word::Match), ExpectedSet::EXPR)
        .ignore_then(expr)
        .then(arms)
        .map_with(|(value, arms), e| alloc_expr(Expr::Match(value, arms), e))
        .boxed()
}
