//! **Syntax hints.** Guesses a newcomer's intention from the tokens around an error.
//!
//! The grammar itself contains no hints. [`habits`] holds tables of other languages' notation,
//! [`quoted`] the mistakes with messages of their own. This module adds hints based on the expected
//! tokens. The first matching row wins.

mod around;
mod habits;
mod quoted;

use self::around::Around;
use super::builder::Builder;
use super::errors::{Expected, SyntaxError};
use super::tokens::Kind;
use crate::lexer::{COMMENT, DOCSTRING, Spanned, Token};
use crate::ops::BinderKind;
use crate::token::{Sym, Word};
use lang_base::{Code, Diagnostic, Fix, Span};

/// Returns a specific diagnostic instead of "expected, found".
pub(super) fn special(error: &SyntaxError, builder: &Builder) -> Option<Diagnostic> {
    let a = Around::new(error, builder);
    if column0(&a) {
        return Some(junk(builder.tokens().get(a.at..).unwrap_or_default()));
    }
    quoted::QUOTED.iter().find_map(|slip| slip(&a))
}

/// Returns the help text for an error.
pub(super) fn help(error: &SyntaxError, builder: &Builder) -> Option<String> {
    let a = Around::new(error, builder);
    let habit = || habits::FORMS.iter().find(|(fits, _)| fits(&a)).and_then(|(_, help)| say(help));
    reserved(&a)
        .or_else(|| reduced(&a))
        .or_else(habit)
        .or_else(|| [forms, types, structure].iter().find_map(|hints| hints(&a)))
}

fn say(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Returns whether a line in column 0 follows the item but does not begin one.
fn column0(a: &Around) -> bool {
    let stands = a.builder.tokens().get(a.at).is_some_and(|t| t.column0);
    let part = matches!(a.here, Some(Kind::Word(Word::In | Word::Then | Word::Else | Word::With | Word::Where)));
    a.at > 0 && stands && !part && a.expected.has(Expected::END)
}

/// Help for a reserved word in the position of a name.
fn reserved(a: &Around) -> Option<String> {
    let Some(Kind::Word(word)) = a.here else { return None };
    let names = [Expected::NAME, Expected::PATTERN];
    names.iter().any(|set| a.expected.has(*set)).then(|| format!("`{word}` is a reserved word; choose another name"))
}

/// Returns whether the error is a reduction over a whole array (`sum y`). Further lines cannot
/// complete such a text.
pub(super) fn reduces_array(error: &SyntaxError, builder: &Builder) -> bool {
    reduced(&Around::new(error, builder)).is_some()
}

/// Help for a reduction with an array in place of its index variable: `sum y`.
fn reduced(a: &Around) -> Option<String> {
    let Some(Kind::Binder(binder)) = a.back(2) else { return None };
    let word = binder.word();
    let reduction = !matches!(binder, BinderKind::For | BinderKind::Rel);
    let operator = matches!(a.here, Some(Kind::Sym(Sym::Plus | Sym::Minus | Sym::Star | Sym::Slash | Sym::Caret)));
    let ends = a.at_end() || a.here.is_some_and(Kind::is_closer) || a.builder.line_start(a.at);
    let array = a.name(1).filter(|_| reduction && a.wants(Sym::Colon) && (operator || ends))?;
    // The name suggests an index, so the body is missing.
    if matches!(array, "i" | "j" | "k") {
        return None;
    }
    Some(format!("`{array}` is read as an index variable; over the elements of an array write `{word} i: {array}[i]`"))
}

/// Help for incomplete forms of the language.
fn forms(a: &Around) -> Option<String> {
    if a.wants_word(Word::Then) {
        return say("a choice is written `if c then a else b`").filter(|_| !a.is(Sym::Assign)).or_else(|| equality(a));
    }
    if a.wants_word(Word::Else) {
        return say("an `if` is a value, so it needs its `else`");
    }
    if a.is(Sym::Colon)
        && a.after(Sym::RParen)
        && a.operator()
        && let Some(Token::Name(name)) = a.called()
        && BinderKind::ALL.iter().any(|b| b.word() == name)
    {
        return Some(format!("no parentheses stand around index variables: `{name} i < n: e`"));
    }
    if a.is(Sym::Colon)
        && let Some(open) = a.opener()
        && let (Some(name), Some(index)) = (open.checked_sub(1).and_then(|b| a.name_at(b)), a.name_at(open + 1))
        && BinderKind::ALL.iter().any(|b| b.word() == name)
    {
        return Some(format!("the parentheses stand around the whole: `({name} {index} < n: …)`"));
    }
    if a.is(Sym::Colon) && a.operator() && a.back(2) == Some(Kind::Sym(Sym::Lt)) && a.back(3) == Some(Kind::Name) {
        return say("an index stands after `for`, `sum` or the like: `for i < n: e`");
    }
    if a.wants(Sym::Semi) {
        return say("a rule is written `derivative f(x; dx) = …` or `adjoint f(x; dy) = …`");
    }
    if a.is(Sym::Eq) && a.wants(Sym::Assign) {
        return say("a name is bound with one `=`");
    }
    if a.is(Sym::Assign) && a.after(Sym::RBracket) && a.expected.has(Expected::PATTERN) {
        return say(
            "the elements of an array have no patterns: `let x = …`, then `x[0]`; `let [n] x = …` names its extent",
        );
    }
    if a.is(Sym::Assign) {
        return equality(a);
    }
    None
}

/// Help for an unexpected `=`.
fn equality(a: &Around) -> Option<String> {
    if a.back(2) == Some(Kind::Word(Word::Where)) {
        return say("a type parameter may be limited to numbers: `where a: num` or `where a: real`");
    }
    if a.wants(Sym::Colon) && !a.operator() {
        return say("a field is written `x: e`");
    }
    if a.wants(Sym::RParen) && a.first() == Some(Kind::Word(Word::Def)) && a.opener() == Some(2) {
        return say("a parameter has no default: every call gives all arguments");
    }
    if a.wants(Sym::RParen) {
        return say("equality is written `==`, a named argument `name: e`");
    }
    a.operator().then(|| "equality is written `==`".to_owned())
}

/// Help for types and heads of items.
fn types(a: &Around) -> Option<String> {
    let def = a.first() == Some(Kind::Word(Word::Def));
    if def && a.wants(Sym::LParen) && a.at == 2 {
        return match a.here {
            Some(Kind::Sym(Sym::Assign)) => {
                let name = a.name(1).unwrap_or("x");
                Some(format!("a constant is written `let {name} = …`, a function of nothing `def {name}() = …`"))
            }
            Some(Kind::Sym(Sym::Lt | Sym::LBracket)) => {
                say("types and sizes are not declared: write their names where they are used")
            }
            _ => say("the parameters stand in parentheses, as in `def f(x: f64) = …`"),
        };
    }
    let named = matches!((a.before, a.here), (Some(Kind::Name), Some(Kind::Name | Kind::Sym(Sym::LBracket))));
    if def && a.wants(Sym::RParen) && named && !a.operator() {
        return say("a parameter is written `x: T`");
    }
    if a.is(Sym::Lt) && !a.operator() && matches!(a.before, Some(Kind::Name)) {
        return say("the arguments of a type stand in parentheses, as in `Tree(f64)`");
    }
    if a.is(Sym::LBrace) && !a.operator() && a.before == Some(Kind::Name) && !a.wants(Sym::Assign) {
        return say("an array is written `[n]f64`, a matrix `[n, m]f64`; the arguments of a type stand in parentheses");
    }
    if def && a.wants(Sym::Assign) && a.is(Sym::LBrace) {
        return say("the body stands after `=`, without braces");
    }
    if a.wants(Sym::PlusAssign) {
        return say("an update is written `x with [i] = e`, a choice by patterns `match e { p: a, q: b }`");
    }
    if a.wants(Sym::Assign) {
        return match a.last(|kind| matches!(kind, Kind::Word(Word::Let | Word::Def | Word::Type)))? {
            at if a.builder.kind(at) == Some(Kind::Word(Word::Let)) => say("a name is bound with `let x = e`"),
            0 if def => say("the body of a definition stands after `=`"),
            _ => say("what is defined stands after `=`"),
        };
    }
    if a.first() == Some(Kind::Word(Word::Type)) && a.expected.has(Expected::END) {
        return match a.here {
            Some(Kind::Sym(Sym::Comma)) => say("the cases of a type are separated by `|`"),
            Some(Kind::Sym(Sym::LBrace)) => say("a record type is written `{x: f64}`, with no word before it"),
            _ => None,
        };
    }
    if a.expected.has(Expected::TYPE) && a.after(Sym::RBracket) {
        return say("an array type names its elements' type, as in `[n]f64`");
    }
    if a.expected.has(Expected::CLASS) {
        return say("a type parameter may be limited to numbers: `where a: num` or `where a: real`");
    }
    let import = a.first() == Some(Kind::Word(Word::Import));
    if import && a.expected.has(Expected::END) {
        return say("write `import linalg` or `import \"./file.iv\" as name`");
    }
    None
}

/// Help for missing commas, operators and items.
fn structure(a: &Around) -> Option<String> {
    let starts = a.here.is_some_and(Kind::starts_expr);
    let operand = a.before.is_some_and(|k| k.is_closer() || matches!(k, Kind::Name | Kind::Int | Kind::Float));
    if a.wants(Sym::Colon) && starts {
        return say("is a `:` missing?");
    }
    if !(a.operator() && starts && operand) {
        return None;
    }
    let item = matches!(a.first(), Some(Kind::Word(Word::Def | Word::Do)));
    let next = item && a.builder.line_start(a.at) && a.opener().is_none();
    match (a.before, a.here) {
        _ if next => say(STATEMENTS),
        _ if a.wants(Sym::Comma) => say("is a comma missing?"),
        (Some(Kind::Name), Some(Kind::Str)) => {
            Some(format!("a call is written with parentheses: `{}(\"…\")`", a.name(1).unwrap_or("f")))
        }
        (Some(Kind::Int | Kind::Float), Some(Kind::Name)) => say("a product is written with `*`, as in `2 * x`"),
        (Some(Kind::Name), Some(Kind::Name | Kind::Int | Kind::Float)) => {
            say("a call is written `f(x)`, a product `a * b`")
        }
        _ => say("is an operator missing?"),
    }
}

const STATEMENTS: &str =
    "a body is one expression: name its parts with `let … in …`; to show several values write a `do print(…)` for each";

/// Returns whether the string is the first of the three that the lexer reads for `"""text"""`.
fn is_docstring(first: &str, tokens: &[Spanned]) -> bool {
    first.is_empty()
        && matches!(tokens, [a, b, ..] if a.span.end == b.span.start && matches!(b.token, Token::Str(_) | Token::Error))
}

const USUAL: &str = "every item starts with `def`, `type`, `import`, `let` or `do`";

/// First words of items in other languages.
const ITEMS: &[(&[&str], &str)] = &[
    (&["fn", "fun", "func", "function", "define", "defn"], "a definition begins with `def`"),
    (&["struct", "enum", "data", "class", "record"], "a type is defined with `type`"),
    (&["use", "from", "include", "using", "open", "require"], "a module is read with `import`"),
    (&["const", "var", "val"], "a constant is written `let x = …`"),
    (&["derivative", "adjoint"], "a rule is written `derivative f(x; dx) = …` or `adjoint f(x; dy) = …`"),
    (&["end", "done", "fi"], "a definition ends where the next item begins: leave the word out"),
    (&["return"], "a body is an expression: leave `return` out"),
];

/// Returns the diagnostic for text outside all items. It marks the first line.
pub(super) fn junk(tokens: &[Spanned]) -> Diagnostic {
    let Some(first) = tokens.first() else {
        return Diagnostic::new(Code::E0001, Span::default(), "expected an item, found the end");
    };
    let end = tokens.iter().skip(1).position(|t| t.line_start).map_or(tokens.len(), |at| at + 1);
    let line = tokens.get(..end).unwrap_or_default();
    let span = line.last().map_or(first.span, |last| first.span.to(last.span));
    let sym = |at: usize| match line.get(at).map(|t| &t.token) {
        Some(Token::Sym(sym)) => Some(*sym),
        _ => None,
    };
    let set = |at: usize| matches!(sym(at), Some(Sym::Assign | Sym::PlusAssign));
    let element = sym(1) == Some(Sym::LBracket) && (1..line.len()).any(set);
    let help = match (&first.token, sym(1)) {
        (Token::Sym(Sym::FloorDiv | Sym::Slash | Sym::Percent | Sym::Semi), _) => COMMENT.to_owned(),
        (Token::Str(text), _) if is_docstring(text, tokens) => DOCSTRING.to_owned(),
        (Token::Name(name), Some(Sym::Assign | Sym::Colon)) => format!("a constant is written `let {name} = …`"),
        (Token::Name(name), _) => match ITEMS.iter().find(|(names, _)| names.contains(&name.as_str())) {
            Some((_, help)) => (*help).to_owned(),
            None if element || set(1) || set(2) => {
                let changed = if element { "with [i] = e" } else { "+ 1" };
                format!("values do not change: bind a new one with `let`, as in `let y = {name} {changed}`")
            }
            None if sym(1) == Some(Sym::LParen)
                && (2..line.len()).any(|at| sym(at) == Some(Sym::RParen) && set(at + 1)) =>
            {
                format!("a definition is written `def {name}(x: f64) = …`, with a type for every parameter")
            }
            None if sym(1) == Some(Sym::LParen) => format!("{USUAL}; to call it here write `do {name}(…)`"),
            None => format!("{USUAL}; to evaluate an expression write `do` before it"),
        },
        _ if super::tokens::kinds(std::slice::from_ref(first)).first().is_some_and(|k| k.starts_expr()) => {
            format!("{USUAL}; to evaluate an expression write `do` before it")
        }
        _ => USUAL.to_owned(),
    };
    let diagnostic = Diagnostic::new(Code::E0009, span, "this stands in no item").help(help);
    match (&first.token, sym(1)) {
        (Token::Sym(Sym::Slash), Some(Sym::Star)) => diagnostic,
        (Token::Sym(Sym::FloorDiv | Sym::Percent | Sym::Semi), _) => diagnostic.fix(Fix::replace(first.span, "--")),
        (Token::Name(_), Some(Sym::Assign | Sym::Colon)) => diagnostic.fix(Fix::insert(first.span.start, "let ")),
        _ => diagnostic,
    }
}
