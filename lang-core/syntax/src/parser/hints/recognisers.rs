//! **Specific syntax messages.** Mistakes whose message quotes the text, beyond the list of
//! expected tokens.

use super::foreign_notation;
use super::token_context::TokenContext;
use crate::lexer::Token;
use crate::parser::brackets::TokenClass;
use crate::parser::errors::ExpectedSet;
use crate::token::{Sym, Word};
use lang_base::{Diagnostic, Hint, Suggestion};

/// A recogniser of one mistake.
type Recogniser = fn(&TokenContext) -> Option<Diagnostic>;

/// All recognisers, including those for other languages' operators and words, the most certain
/// first.
pub(super) const RECOGNISERS: &[Recogniser] = &[
    top_let,
    missing_body,
    body_colon,
    fold_head,
    missing_range,
    format_string,
    import_path,
    foreign_notation::foreign_operator,
    assignment,
    foreign_notation::foreign_word,
    unknown_reduction,
    stray_then_else,
];

/// `let x = 1 in x` at the top level.
fn top_let(a: &TokenContext) -> Option<Diagnostic> {
    let end = a.expected.contains(ExpectedSet::END);
    (a.first_kind() == Some(TokenClass::Keyword(Word::Let)) && a.is_keyword(Word::In) && end).then(|| {
        let help = "to evaluate an expression, write `do let … in …`; indent a `let` inside a definition";
        a.diagnostic_at(a.at, a.at + 1, "a top-level `let` cannot have an `in`", help)
    })
}

/// `def f() =`
fn missing_body(a: &TokenContext) -> Option<Diagnostic> {
    (a.is_at_end() && a.follows_sym(Sym::Assign) && a.first_kind() == Some(TokenClass::Keyword(Word::Def))).then(|| {
        let help = "write the body after the `=`; indent a line that begins with `let`, because a `let` in the first column begins an item";
        a.diagnostic_at(a.at, a.at + 1, "the definition has no body", help)
    })
}

/// `def f(x: f64) -> f64: x`, and `def f(x: f64): f64 = x`.
fn body_colon(a: &TokenContext) -> Option<Diagnostic> {
    let bound = a.kind_after(1) == Some(TokenClass::Sym(Sym::Assign)) && a.is_adjacent(a.at + 1);
    if a.first_kind() != Some(TokenClass::Keyword(Word::Def))
        || !a.expects_sym(Sym::Assign)
        || !a.is_sym(Sym::Colon)
        || bound
    {
        return None;
    }
    let typed = (a.at..a.builder.kinds().len()).any(|at| a.builder.kind(at) == Some(TokenClass::Sym(Sym::Assign)));
    let (message, help, symbol) = match typed && a.expects_sym(Sym::Arrow) {
        true => ("expected `->`, found `:`", "write the result type after `->`", "->"),
        false => ("expected `=`, found `:`", "write the body of a definition after `=`", "="),
    };
    Some(a.diagnostic_at(a.at, a.at + 1, message, Hint::text(help).suggest(Suggestion::Expect(symbol))))
}

/// `fold i < n: e`, `loop x > 1: e`: no carry.
fn fold_head(a: &TokenContext) -> Option<Diagnostic> {
    let pattern = a.expected.contains(ExpectedSet::PATTERN);
    if !a.expects_sym(Sym::Assign) && !pattern {
        return None;
    }
    let at = a.last_before(|kind| matches!(kind, TokenClass::Keyword(_) | TokenClass::Sym(Sym::Assign)))?;
    let Some(TokenClass::Keyword(word)) = a.builder.kind(at) else { return None };
    let over = "acc = init for i < n: e";
    let help = match word {
        Word::Fold | Word::Scan => format!("write `{word} {over}`"),
        Word::Loop if a.is_sym(Sym::Lt) => {
            format!(
                "to iterate over a range, write `fold {over}`; under a condition, write `loop acc = init while c: e`"
            )
        }
        Word::Loop => "write `loop acc = init while c: e`".to_owned(),
        _ => return None,
    };
    // A reserved word in place of a name is a different mistake.
    if pattern && !a.is_keyword(Word::For) && !a.is_keyword(Word::While) {
        return None;
    }
    Some(a.diagnostic_at(at, at + 1, format!("this `{word}` has no carry with an initial value"), help))
}

/// `for i in range(3): e`, `for x in xs: e`: no range after `in`.
fn missing_range(a: &TokenContext) -> Option<Diagnostic> {
    if !a.expects_sym(Sym::DotDot) || !a.is_sym(Sym::Colon) {
        return None;
    }
    let from = a.last_before(|kind| kind == TokenClass::Keyword(Word::In))? + 1;
    let name = a.name_at(from.checked_sub(2)?).unwrap_or("i");
    let called = matches!(a.name_at(from), Some("range" | "arange" | "iota" | "prange"));
    let bound = match (a.at - from, a.builder.token(from + 2)) {
        (4, Some(Token::Int(value))) if called => Some(value.to_string()),
        (4, Some(Token::Name(bound))) if called => Some(bound.to_string()),
        _ => None,
    };
    let help = match bound {
        Some(bound) => format!("write `{name} < {bound}`"),
        None if called => format!("write `{name} < n`, or `{name} in a..b`"),
        None => "write a range as `i < n` or `i in a..b`; access the elements of an array with `x[i]`".to_owned(),
    };
    (from < a.at).then(|| a.diagnostic_at(from, a.at, "expected a range after `in`", help))
}

/// `import ./kernels.iv`
fn import_path(a: &TokenContext) -> Option<Diagnostic> {
    if a.first_kind() != Some(TokenClass::Keyword(Word::Import)) || a.at > 2 {
        return None;
    }
    let mut path = String::new();
    let mut end = 1;
    while let Some(token) = a.builder.token(end) {
        match token {
            Token::Name(name) => path.push_str(name),
            Token::Sym(Sym::Dot) => path.push('.'),
            Token::Sym(Sym::DotDot) => path.push_str(".."),
            Token::Sym(Sym::Slash) => path.push('/'),
            _ => break,
        }
        end += 1;
    }
    path.contains(['/', '.'])
        .then(|| a.diagnostic_at(1, end, "the path of a file must be in quotes", format!("write `import \"{path}\"`")))
}

/// `f"max = {m}"`
fn format_string(a: &TokenContext) -> Option<Diagnostic> {
    let prefix = a.name_before(1).is_some_and(|name| matches!(name, "f" | "F" | "fr" | "r" | "b" | "s"));
    (prefix && a.current == Some(TokenClass::Str) && a.is_adjacent(a.at)).then(|| {
        let help = "`print` accepts several values, as in `print(\"max =\", m)`";
        a.diagnostic_at(a.at - 1, a.at + 1, "the language has no format strings", help)
    })
}

/// Names that are not reductions here, and their replacements.
const REDUCTIONS: &[(&[&str], &str)] = &[
    (&["mean", "average", "avg"], "write `(sum i: …) / f64(n)`"),
    (&["product", "times"], "write `prod i: …`"),
    (&["maximum", "amax", "greatest", "sup"], "write `max i: …`"),
    (&["minimum", "amin", "least", "inf"], "write `min i: …`"),
    (&["exists", "some"], "write `any i: …`"),
    (&["forall", "every"], "write `all i: …`"),
    (&["count"], "write `sum i: [p] * 1`"),
    (&["norm"], "write `sqrt(sum i: x[i]^2)`"),
    (&["argsort"], "write `argsort(for i: …)`"),
    (&["sort", "sorted"], "write `sort(for i: …)`"),
    (&["map", "foreach", "each", "array", "table", "generate"], "build an array with `for i: …`"),
    (&["reduce", "foldl", "foldr", "accumulate"], "write `fold acc = init for i < n: …`"),
];

/// `mean i: x[i]`
fn unknown_reduction(a: &TokenContext) -> Option<Diagnostic> {
    // After an index variable, another one may follow.
    let name = a.name_before(1).filter(|_| a.expects_operator() && !a.expects_sym(Sym::Colon))?;
    let variable = matches!(a.current, Some(TokenClass::Name | TokenClass::Sym(Sym::Underscore)));
    let range = match a.kind_after(1)? {
        TokenClass::Sym(Sym::Colon) => true,
        TokenClass::Sym(Sym::Lt | Sym::Comma) | TokenClass::Keyword(Word::In) => colon_follows(a),
        _ => false,
    };
    if !variable || !range || a.kind_before(2) == Some(TokenClass::Sym(Sym::Dot)) {
        return None;
    }
    let known = REDUCTIONS.iter().find(|(names, _)| names.contains(&name));
    let help = known.map_or(
        "the reductions are `sum`, `prod`, `max`, `min`, `argmax`, `argmin`, `any` and `all`; `for i: …` builds an array",
        |(_, help)| *help,
    );
    Some(a.diagnostic_at(a.at - 1, a.at, format!("unknown reduction `{name}`"), help))
}

/// The search distance, in tokens, for the `:` after index variables.
const MAX_COLON_DISTANCE: usize = 64;

/// Returns whether a `:` follows in the same bracket.
fn colon_follows(a: &TokenContext) -> bool {
    let mut at = a.at;
    while at < a.at + MAX_COLON_DISTANCE {
        match a.builder.kind(at) {
            Some(TokenClass::Sym(Sym::Colon)) => return true,
            Some(TokenClass::Sym(sym)) if sym.closer().is_some() => at = a.builder.matching_closer(at).max(at),
            Some(kind) if kind.is_closer() => return false,
            None => return false,
            _ => {}
        }
        at += 1;
    }
    false
}

/// `x = 3`, `x[0] = 3`, `x += 1`, `x *= 2` in the position of an expression.
fn assignment(a: &TokenContext) -> Option<Diagnostic> {
    let operator = [Sym::Plus, Sym::Minus, Sym::Star, Sym::Percent, Sym::Caret, Sym::FloorDiv];
    let compound = a.is_sym(Sym::Assign) && a.is_adjacent(a.at) && operator.iter().any(|sym| a.follows_sym(*sym));
    let start = a.at - usize::from(compound);
    let updates = compound || a.is_sym(Sym::PlusAssign);
    let asks = a.expects_keyword(Word::Then) || a.opener().is_some();
    if !updates && (!a.is_sym(Sym::Assign) || !a.expects_operator() || asks) {
        return None;
    }
    let help = assignment_help(a, start, updates)?;
    Some(a.diagnostic_at(start, a.at + 1, "the language has no assignment", help))
}

/// Returns the replacement for an assignment whose target ends before `end`.
fn assignment_help(a: &TokenContext, end: usize, updates: bool) -> Option<String> {
    let target = end.checked_sub(1)?;
    if a.builder.kind(target) == Some(TokenClass::Sym(Sym::RBracket)) {
        let open = a.opener_of(target)?;
        let name = a.name_at(open.checked_sub(1)?)?;
        let index = match (target - open, a.builder.token(open + 1)) {
            (2, Some(Token::Int(value))) => value.to_string(),
            (2, Some(Token::Name(index))) => index.to_string(),
            _ => "…".to_owned(),
        };
        let sign = if updates { "+=" } else { "=" };
        return Some(format!("values are immutable; write a changed array as `{name} with [{index}] {sign} e`"));
    }
    let name = a.name_at(target)?;
    match target.checked_sub(1).and_then(|b| a.builder.kind(b)) {
        Some(TokenClass::Sym(Sym::Dot)) => {
            Some(format!("values are immutable; write a changed record as `r with {name} = e`"))
        }
        _ if updates => Some(format!(
            "values are immutable; write a total as `sum i: e`, a running value as `fold {name} = init for i < n: e`"
        )),
        _ if target == 0 => Some(format!("bind a name with `let {name} = …`")),
        _ if a.builder.is_line_start(target) => Some(format!("bind a name with `let {name} = … in …`")),
        _ => None,
    }
}

/// A `then` or `else` without an `if`.
fn stray_then_else(a: &TokenContext) -> Option<Diagnostic> {
    let Some(TokenClass::Keyword(word @ (Word::Then | Word::Else))) = a.current.filter(|_| a.expects_operator()) else {
        return None;
    };
    (!a.expects_keyword(Word::Then) && !a.expects_keyword(Word::Else)).then(|| {
        a.diagnostic_at(
            a.at,
            a.at + 1,
            format!("`{word}` without an `if`"),
            "write a conditional as `if c then a else b`",
        )
    })
}
