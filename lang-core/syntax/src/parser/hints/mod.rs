//! **Syntax hints.** Guesses a newcomer's intention from the tokens around an error.
//!
//! The grammar itself contains no hints. [`foreign_notation`] holds tables of other languages'
//! notation, [`recognisers`] the mistakes with messages of their own. This module adds hints based
//! on the expected tokens. The first matching row wins.

mod foreign_notation;
mod recognisers;
mod token_context;

use self::token_context::TokenContext;
use super::brackets::TokenClass;
use super::builder::TreeBuilder;
use super::errors::{ExpectedSet, SyntaxError};
use crate::lexer::{COMMENT_HELP, DOCSTRING_HELP, SpannedToken, Token};
use crate::ops::BinderKind;
use crate::token::{Sym, Word};
use lang_base::{Code, Diagnostic, Fix, Hint, Span, Suggestion};

/// Returns a specific diagnostic instead of "expected, found".
pub(super) fn specific_diagnostic(error: &SyntaxError, builder: &TreeBuilder) -> Option<Diagnostic> {
    let a = TokenContext::new(error, builder);
    if is_stray_line(&a) {
        return Some(stray_text(builder.tokens().get(a.at..).unwrap_or_default()));
    }
    recognisers::RECOGNISERS.iter().find_map(|slip| slip(&a))
}

/// Returns the hint for an error.
pub(super) fn hint(error: &SyntaxError, builder: &TreeBuilder) -> Option<Hint> {
    let a = TokenContext::new(error, builder);
    let habit = || foreign_notation::FORMS.iter().find(|(fits, _)| fits(&a)).map(|(_, help)| help.clone());
    reserved_word_help(&a)
        .or_else(|| array_reduction_help(&a))
        .or_else(habit)
        .or_else(|| [form_help, type_help, structure_help].iter().find_map(|hints| hints(&a)))
}

fn some_text(text: &'static str) -> Option<Hint> {
    Some(Hint::text(text))
}

/// Returns a hint that suggests a missing symbol.
fn missing_symbol(symbol: &'static str, text: &'static str) -> Option<Hint> {
    Some(Hint::text(text).suggest(Suggestion::Expect(symbol)))
}

/// Returns whether a line in column 0 follows the item but does not begin one.
fn is_stray_line(a: &TokenContext) -> bool {
    let stands = a.builder.tokens().get(a.at).is_some_and(|t| t.is_in_column0);
    let part =
        matches!(a.current, Some(TokenClass::Keyword(Word::In | Word::Then | Word::Else | Word::With | Word::Where)));
    a.at > 0 && stands && !part && a.expected.contains(ExpectedSet::END)
}

/// Help for a reserved word in the position of a name.
fn reserved_word_help(a: &TokenContext) -> Option<Hint> {
    let Some(TokenClass::Keyword(word)) = a.current else { return None };
    let names = [ExpectedSet::NAME, ExpectedSet::PATTERN];
    names
        .iter()
        .any(|set| a.expected.contains(*set))
        .then(|| format!("`{word}` is a reserved word; choose another name").into())
}

/// Returns whether the error is a reduction over a whole array (`sum y`). Further lines cannot
/// complete such a text.
pub(super) fn reduces_array(error: &SyntaxError, builder: &TreeBuilder) -> bool {
    array_reduction_help(&TokenContext::new(error, builder)).is_some()
}

/// Help for a reduction with an array in place of its index variable: `sum y`.
fn array_reduction_help(a: &TokenContext) -> Option<Hint> {
    let Some(TokenClass::Binder(binder)) = a.kind_before(2) else { return None };
    let word = binder.keyword();
    let reduction = !matches!(binder, BinderKind::For | BinderKind::Rel);
    let operator =
        matches!(a.current, Some(TokenClass::Sym(Sym::Plus | Sym::Minus | Sym::Star | Sym::Slash | Sym::Caret)));
    let ends = a.is_at_end() || a.current.is_some_and(TokenClass::is_closer) || a.builder.is_line_start(a.at);
    let array = a.name_before(1).filter(|_| reduction && a.expects_sym(Sym::Colon) && (operator || ends))?;
    // The name suggests an index, so the body is missing.
    if matches!(array, "i" | "j" | "k") {
        return None;
    }
    Some(
        format!(
            "`{array}` is an index variable here; to reduce the elements of an array, write `{word} i: {array}[i]`"
        )
        .into(),
    )
}

/// Help for incomplete forms of the language.
fn form_help(a: &TokenContext) -> Option<Hint> {
    if a.expects_keyword(Word::Then) {
        return some_text("write a conditional as `if c then a else b`")
            .filter(|_| !a.is_sym(Sym::Assign))
            .or_else(|| equality_help(a));
    }
    if a.expects_keyword(Word::Else) {
        return some_text("an `if` must have an `else`, because it is an expression");
    }
    if a.is_sym(Sym::Colon)
        && a.follows_sym(Sym::RParen)
        && a.expects_operator()
        && let Some(Token::Name(name)) = a.callee_token()
        && BinderKind::ALL.iter().any(|b| b.keyword() == name)
    {
        return Some(format!("remove the parentheses around the index variables: `{name} i < n: e`").into());
    }
    if a.is_sym(Sym::Colon)
        && let Some(open) = a.opener()
        && let (Some(name), Some(index)) = (open.checked_sub(1).and_then(|b| a.name_at(b)), a.name_at(open + 1))
        && BinderKind::ALL.iter().any(|b| b.keyword() == name)
    {
        return Some(format!("enclose the whole reduction in parentheses: `({name} {index} < n: …)`").into());
    }
    if a.is_sym(Sym::Colon)
        && a.expects_operator()
        && a.kind_before(2) == Some(TokenClass::Sym(Sym::Lt))
        && a.kind_before(3) == Some(TokenClass::Name)
    {
        return some_text("write an index after a binder such as `for` or `sum`: `for i < n: e`");
    }
    if a.expects_sym(Sym::Semi) {
        return some_text("write a rule as `derivative f(x; dx) = …` or `adjoint f(x; dy) = …`");
    }
    if a.is_sym(Sym::Eq) && a.expects_sym(Sym::Assign) {
        return missing_symbol("=", "bind a name with a single `=`");
    }
    if a.is_sym(Sym::Assign) && a.follows_sym(Sym::RBracket) && a.expected.contains(ExpectedSet::PATTERN) {
        return some_text(
            "the language has no array patterns: write `let x = …`, then `x[0]`; `let [n] x = …` names the extent",
        );
    }
    if a.is_sym(Sym::Assign) {
        return equality_help(a);
    }
    None
}

/// Help for an unexpected `=`.
fn equality_help(a: &TokenContext) -> Option<Hint> {
    if a.kind_before(2) == Some(TokenClass::Keyword(Word::Where)) {
        return some_text("constrain a type parameter to numbers with `where a: num` or `where a: real`");
    }
    if a.expects_sym(Sym::Colon) && !a.expects_operator() {
        return some_text("write a field as `x: e`");
    }
    if a.expects_sym(Sym::RParen) && a.first_kind() == Some(TokenClass::Keyword(Word::Def)) && a.opener() == Some(2) {
        return some_text("a parameter cannot have a default; every call must pass all arguments");
    }
    if a.expects_sym(Sym::RParen) {
        return missing_symbol("==", "write `==` for equality, `name: e` for a named argument");
    }
    missing_symbol("==", "write `==` for equality").filter(|_| a.expects_operator())
}

/// Help for types and heads of items.
fn type_help(a: &TokenContext) -> Option<Hint> {
    let def = a.first_kind() == Some(TokenClass::Keyword(Word::Def));
    if def && a.expects_sym(Sym::LParen) && a.at == 2 {
        return match a.current {
            Some(TokenClass::Sym(Sym::Assign)) => {
                let name = a.name_before(1).unwrap_or("x");
                Some(
                    format!(
                        "write a constant as `let {name} = …`, a function without parameters as `def {name}() = …`"
                    )
                    .into(),
                )
            }
            Some(TokenClass::Sym(Sym::Lt | Sym::LBracket)) => {
                some_text("types and sizes need no declaration; write their names where you use them")
            }
            _ => some_text("enclose the parameters in parentheses, as in `def f(x: f64) = …`"),
        };
    }
    let named = matches!(
        (a.previous, a.current),
        (Some(TokenClass::Name), Some(TokenClass::Name | TokenClass::Sym(Sym::LBracket)))
    );
    if def && a.expects_sym(Sym::RParen) && named && !a.expects_operator() {
        return some_text("write a parameter as `x: T`");
    }
    if a.is_sym(Sym::Lt) && !a.expects_operator() && matches!(a.previous, Some(TokenClass::Name)) {
        return some_text("enclose the arguments of a type in parentheses, as in `Tree(f64)`");
    }
    if a.is_sym(Sym::LBrace)
        && !a.expects_operator()
        && a.previous == Some(TokenClass::Name)
        && !a.expects_sym(Sym::Assign)
    {
        return some_text(
            "write an array as `[n]f64`, a matrix as `[n, m]f64`; enclose the arguments of a type in parentheses",
        );
    }
    if def && a.expects_sym(Sym::Assign) && a.is_sym(Sym::LBrace) {
        return missing_symbol("=", "write the body after `=`, without braces");
    }
    if a.expects_sym(Sym::PlusAssign) {
        return some_text("write an update as `x with [i] = e`, a pattern match as `match e { p: a, q: b }`");
    }
    if a.expects_sym(Sym::Assign) {
        return match a.last_before(|kind| matches!(kind, TokenClass::Keyword(Word::Let | Word::Def | Word::Type)))? {
            at if a.builder.kind(at) == Some(TokenClass::Keyword(Word::Let)) => {
                some_text("bind a name with `let x = e`")
            }
            0 if def => missing_symbol("=", "write the body of a definition after `=`"),
            _ => missing_symbol("=", "write the definition after `=`"),
        };
    }
    if a.first_kind() == Some(TokenClass::Keyword(Word::Type)) && a.expected.contains(ExpectedSet::END) {
        return match a.current {
            Some(TokenClass::Sym(Sym::Comma)) => missing_symbol("|", "separate the constructors of a type with `|`"),
            Some(TokenClass::Sym(Sym::LBrace)) => {
                some_text("write a record type as `{x: f64}`, without a name before it")
            }
            _ => None,
        };
    }
    if a.expected.contains(ExpectedSet::TYPE) && a.follows_sym(Sym::RBracket) {
        return some_text("an array type must contain its element type, as in `[n]f64`");
    }
    if a.expected.contains(ExpectedSet::CLASS) {
        return some_text("constrain a type parameter to numbers with `where a: num` or `where a: real`");
    }
    let import = a.first_kind() == Some(TokenClass::Keyword(Word::Import));
    if import && a.expected.contains(ExpectedSet::END) {
        return some_text("write `import linalg` or `import \"./file.iv\" as name`");
    }
    None
}

/// Help for missing commas, operators and items.
fn structure_help(a: &TokenContext) -> Option<Hint> {
    let starts = a.current.is_some_and(TokenClass::starts_expr);
    let operand = a
        .previous
        .is_some_and(|k| k.is_closer() || matches!(k, TokenClass::Name | TokenClass::Int | TokenClass::Float));
    if a.expects_sym(Sym::Colon) && starts {
        return missing_symbol(":", "is a `:` missing?");
    }
    if !(a.expects_operator() && starts && operand) {
        return None;
    }
    let item = matches!(a.first_kind(), Some(TokenClass::Keyword(Word::Def | Word::Do)));
    let next = item && a.builder.is_line_start(a.at) && a.opener().is_none();
    match (a.previous, a.current) {
        _ if next => some_text(STATEMENTS),
        _ if a.expects_sym(Sym::Comma) => some_text("is a comma missing?"),
        (Some(TokenClass::Name), Some(TokenClass::Str)) => {
            Some(format!("write a call with parentheses: `{}(\"…\")`", a.name_before(1).unwrap_or("f")).into())
        }
        (Some(TokenClass::Int | TokenClass::Float), Some(TokenClass::Name)) => {
            missing_symbol("*", "write a product with `*`, as in `2 * x`")
        }
        (Some(TokenClass::Name), Some(TokenClass::Name | TokenClass::Int | TokenClass::Float)) => {
            some_text("write a call as `f(x)`, a product as `a * b`")
        }
        _ => some_text("is an operator missing?"),
    }
}

const STATEMENTS: &str =
    "a body is one expression: name its parts with `let … in …`; print each value with its own `do print(…)`";

/// Returns whether the string is the first of the three that the lexer reads for `"""text"""`.
fn is_docstring(first: &str, tokens: &[SpannedToken]) -> bool {
    first.is_empty()
        && matches!(tokens, [a, b, ..] if a.span.end == b.span.start && matches!(b.token, Token::Str(_) | Token::Error))
}

const ITEM_KEYWORDS_HELP: &str = "every item must begin with `def`, `type`, `import`, `let` or `do`";

/// First words of items in other languages.
const FOREIGN_ITEM_WORDS: &[(&[&str], &str)] = &[
    (&["fn", "fun", "func", "function", "define", "defn"], "begin a definition with `def`"),
    (&["struct", "enum", "data", "class", "record"], "define a type with `type`"),
    (&["use", "from", "include", "using", "open", "require"], "import a module with `import`"),
    (&["const", "var", "val"], "write a constant as `let x = …`"),
    (&["derivative", "adjoint"], "write a rule as `derivative f(x; dx) = …` or `adjoint f(x; dy) = …`"),
    (&["end", "done", "fi"], "remove the word, because a definition ends where the next item begins"),
    (&["return"], "a body is an expression: remove `return`"),
];

/// Returns the diagnostic for text outside all items. It marks the first line.
pub(super) fn stray_text(tokens: &[SpannedToken]) -> Diagnostic {
    let Some(first) = tokens.first() else {
        return Diagnostic::new(Code::E0001, Span::default(), "expected an item, found the end of the input");
    };
    let end = tokens.iter().skip(1).position(|t| t.is_line_start).map_or(tokens.len(), |at| at + 1);
    let line = tokens.get(..end).unwrap_or_default();
    let span = line.last().map_or(first.span, |last| first.span.to(last.span));
    let sym = |at: usize| match line.get(at).map(|t| &t.token) {
        Some(Token::Sym(sym)) => Some(*sym),
        _ => None,
    };
    let set = |at: usize| matches!(sym(at), Some(Sym::Assign | Sym::PlusAssign));
    let element = sym(1) == Some(Sym::LBracket) && (1..line.len()).any(set);
    let help = match (&first.token, sym(1)) {
        (Token::Sym(Sym::FloorDiv | Sym::Slash | Sym::Percent | Sym::Semi), _) => COMMENT_HELP.to_owned(),
        (Token::Str(text), _) if is_docstring(text, tokens) => DOCSTRING_HELP.to_owned(),
        (Token::Name(name), Some(Sym::Assign | Sym::Colon)) => format!("write a constant as `let {name} = …`"),
        (Token::Name(name), _) => match FOREIGN_ITEM_WORDS.iter().find(|(names, _)| names.contains(&name.as_str())) {
            Some((_, help)) => (*help).to_owned(),
            None if element || set(1) || set(2) => {
                let changed = if element { "with [i] = e" } else { "+ 1" };
                format!("values are immutable; bind a new one with `let`, as in `let y = {name} {changed}`")
            }
            None if sym(1) == Some(Sym::LParen)
                && (2..line.len()).any(|at| sym(at) == Some(Sym::RParen) && set(at + 1)) =>
            {
                format!("write a definition as `def {name}(x: f64) = …`, with a type for every parameter")
            }
            None if sym(1) == Some(Sym::LParen) => {
                format!("{ITEM_KEYWORDS_HELP}; to call it here, write `do {name}(…)`")
            }
            None => format!("{ITEM_KEYWORDS_HELP}; to evaluate an expression, write `do` before it"),
        },
        _ if super::brackets::token_classes(std::slice::from_ref(first)).first().is_some_and(|k| k.starts_expr()) => {
            format!("{ITEM_KEYWORDS_HELP}; to evaluate an expression, write `do` before it")
        }
        _ => ITEM_KEYWORDS_HELP.to_owned(),
    };
    let diagnostic = Diagnostic::new(Code::E0009, span, "this text is outside all items").help(help);
    match (&first.token, sym(1)) {
        (Token::Sym(Sym::Slash), Some(Sym::Star)) => diagnostic,
        (Token::Sym(Sym::FloorDiv | Sym::Percent | Sym::Semi), _) => diagnostic.fix(Fix::replace(first.span, "--")),
        (Token::Name(_), Some(Sym::Assign | Sym::Colon)) => diagnostic.fix(Fix::insert(first.span.start, "let ")),
        _ => diagnostic,
    }
}
