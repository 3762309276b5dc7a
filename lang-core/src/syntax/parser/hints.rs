//! What a newcomer may have meant: recognised from the tokens around an error.
//!
//! The grammar stays free of it. Each hint is one row in order of how sure it is; the first that
//! fits is given. Habits of other languages are most of it.

use super::builder::Builder;
use super::errors::{Expected, SyntaxError};
use super::tokens::Kind;
use crate::base::{Code, Diagnostic, Span};
use crate::syntax::lexer::{Spanned, Token};
use crate::syntax::ops::BinderKind;
use crate::syntax::token::{Sym, Word};

/// The tokens around an error.
struct Around<'a> {
    builder: &'a Builder,
    at: usize,
    expected: Expected,
    here: Option<Kind>,
    before: Option<Kind>,
}

impl<'a> Around<'a> {
    fn new(error: &SyntaxError, builder: &'a Builder) -> Self {
        let at = error.at;
        let before = at.checked_sub(1).and_then(|b| builder.kind(b));
        Self { builder, at, expected: error.expected, here: builder.kind(at), before }
    }

    fn is(&self, sym: Sym) -> bool {
        self.here == Some(Kind::Sym(sym))
    }

    fn after(&self, sym: Sym) -> bool {
        self.before == Some(Kind::Sym(sym))
    }

    fn after_word(&self, word: Word) -> bool {
        self.before == Some(Kind::Word(word))
    }

    fn wants(&self, sym: Sym) -> bool {
        self.expected.has(Expected::sym(sym))
    }

    fn wants_word(&self, word: Word) -> bool {
        self.expected.has(Expected::word(word))
    }

    /// The name `back` tokens before the error.
    fn name(&self, back: usize) -> Option<&'a str> {
        match self.builder.token(self.at.checked_sub(back)?) {
            Some(Token::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Does no space stand between this token and the one before?
    fn joined(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|b| self.builder.span_at(b).end == self.builder.span_at(at).start)
    }

    /// The first token of the line.
    fn line(&self) -> usize {
        (0..=self.at).rev().find(|at| self.builder.line_start(*at)).unwrap_or(0)
    }

    /// The bracket that is open at the error.
    fn opener(&self) -> Option<usize> {
        let mut depth = 0usize;
        (0..self.at).rev().find(|at| match self.builder.kind(*at) {
            Some(kind) if kind.is_closer() => {
                depth += 1;
                false
            }
            Some(Kind::Sym(sym)) if sym.closer().is_some() => {
                let open = depth == 0;
                depth = depth.saturating_sub(1);
                open
            }
            _ => false,
        })
    }

    /// What stands before the brackets that close just before the error.
    fn called(&self) -> Option<&'a Token> {
        let close = self.at.checked_sub(1)?;
        let open = (0..close).rev().find(|at| self.builder.partner(*at) == close)?;
        self.builder.token(open.checked_sub(1)?)
    }

    fn first(&self) -> Option<Kind> {
        self.builder.kind(0)
    }

    fn at_end(&self) -> bool {
        self.here.is_none()
    }
}

/// A diagnostic of its own instead of "expected, found".
pub(super) fn special(error: &SyntaxError, builder: &Builder) -> Option<Diagnostic> {
    let a = Around::new(error, builder);
    let span = builder.span_at(error.at);
    let new = |message: &str, help: &str| Some(Diagnostic::new(Code::E0001, span, message).help(help));
    let top_let = a.first() == Some(Kind::Word(Word::Let));
    if top_let && a.here == Some(Kind::Word(Word::In)) && a.expected.has(Expected::END) {
        return new(
            "a `let` at the top level has no `in`",
            "to evaluate an expression write `do let … in …`; a `let` inside a definition is indented",
        );
    }
    if a.at_end() && a.after(Sym::Assign) && matches!(a.first(), Some(Kind::Word(Word::Def))) {
        return new(
            "the definition has no body",
            "write it after the `=`; a line of it that begins with `let` is indented, for in column 0 `let` begins an item",
        );
    }
    None
}

/// The help for an error.
pub(super) fn help(error: &SyntaxError, builder: &Builder) -> Option<String> {
    let a = Around::new(error, builder);
    [column0, spelling, words, forms, types, structure].iter().find_map(|hints| hints(&a))
}

fn say(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// A line in column 0 that is no item.
fn column0(a: &Around) -> Option<String> {
    let ended = a.expected.has(Expected::END) && a.builder.tokens().get(a.at).is_some_and(|t| t.column0);
    let comment = a.is(Sym::FloorDiv);
    (ended && a.at > 0 && !comment).then(|| {
        "every item starts with `def`, `type`, `import`, `let` or `do`; to evaluate an expression write `do` before it"
            .to_owned()
    })
}

/// Operators of other languages.
fn spelling(a: &Around) -> Option<String> {
    let next = |sym: Sym| a.builder.kind(a.at + 1) == Some(Kind::Sym(sym)) && a.joined(a.at + 1);
    let pair = |first: Sym, second: Sym| a.is(second) && a.after(first) && a.joined(a.at);
    if matches!(a.builder.kind(a.line()), Some(Kind::Sym(Sym::FloorDiv))) {
        return say("a comment begins with `--`");
    }
    if a.is(Sym::Assign) && next(Sym::Gt) || pair(Sym::Assign, Sym::Gt) {
        return say("write `:` instead of `=>`; greater or equal is `>=`");
    }
    if a.is(Sym::Assign) && next(Sym::Lt) || pair(Sym::Assign, Sym::Lt) {
        return say("less or equal is written `<=`");
    }
    if pair(Sym::Colon, Sym::Assign) {
        return say("a name is bound with `=`, as in `let x = 1`");
    }
    if pair(Sym::Lt, Sym::Gt) || pair(Sym::Slash, Sym::Assign) || pair(Sym::Bang, Sym::Assign) {
        return say("not equal is written `!=`");
    }
    if pair(Sym::Star, Sym::Star) {
        return say("a power is written `^`");
    }
    if a.is(Sym::PlusAssign)
        || a.is(Sym::Assign) && matches!(a.before, Some(Kind::Sym(Sym::Star | Sym::Minus | Sym::Percent)))
    {
        return say("values do not change: an update is written `x with [i] += e`, a total `sum i: e`");
    }
    if a.is(Sym::Plus) && a.expected.has(Expected::EXPR) {
        return say("there is no prefix `+`");
    }
    if a.is(Sym::Question) {
        return say("a choice is written `if c then a else b`");
    }
    None
}

/// Words of other languages.
fn words(a: &Around) -> Option<String> {
    if let Some(text) = match a.name(0) {
        Some("and") => Some("and is written `&&`"),
        Some("or") => Some("or is written `||`"),
        Some("is") => Some("equality is written `==`"),
        Some("mod") => Some("the remainder is written `%`"),
        Some("div") => Some("integer division is written `//`"),
        Some("elif" | "elseif" | "elsif") => Some("write `else if`"),
        _ => None,
    } {
        return say(text);
    }
    if a.expected.has(Expected::OPERATOR) {
        let text = match a.name(1) {
            Some("not") => "not is written `!`",
            Some("return") => "a body is an expression: leave `return` out",
            Some("lambda" | "fn" | "fun" | "func" | "function") => r"a function is written `\x: e`",
            Some("var" | "const" | "val" | "mut") => "a name is bound with `let x = … in …`",
            Some("case" | "switch") => "write `match e { p: a, q: b }`",
            _ if a.is(Sym::Colon) && matches!(a.name(2), Some("lambda" | "fn")) => r"a function is written `\x: e`",
            _ => return None,
        };
        return say(text);
    }
    if let Some(Kind::Word(word)) = a.here {
        let name = Expected::NAME.or(Expected::VARIABLE);
        if a.expected.has(Expected::PATTERN) || a.expected.has(Expected::NAME) || a.expected.has(name) {
            return Some(format!("`{word}` is a reserved word; choose another name"));
        }
        if word == Word::Def && a.expected.has(Expected::EXPR) {
            return say(r"a local function is written `let f = \x: e in …`");
        }
    }
    None
}

/// The parts of the language's forms.
fn forms(a: &Around) -> Option<String> {
    if a.wants_word(Word::Then) {
        return say("a choice is written `if c then a else b`").filter(|_| !a.is(Sym::Assign)).or_else(|| equality(a));
    }
    if a.wants_word(Word::Else) {
        return say("an `if` is a value, so it needs its `else`");
    }
    if a.is(Sym::Colon) && a.after_word(Word::Else) {
        return say("no colon stands after `else`");
    }
    if a.wants(Sym::DotDot) {
        return say("a range is written `i < n` or `i in 0..n`");
    }
    if a.is(Sym::DotDot) || a.after(Sym::DotDot) && a.here.is_some_and(Kind::is_closer) {
        return match a.expected.has(Expected::EXPR) {
            true => say("a slice has both ends, as in `x[0..n]`"),
            false => say("a range stands in a binder, as in `i in a..b`, or in brackets, as in `x[a..b]`"),
        };
    }
    if a.is(Sym::Colon) && a.wants(Sym::RBracket) {
        return say("a slice is written `x[a..b]`");
    }
    if a.is(Sym::Arrow) && a.wants(Sym::Colon) {
        return say("write `:` instead of `->`");
    }
    if a.is(Sym::Arrow) && a.expected.has(Expected::OPERATOR) {
        return say(r"`->` stands in types; a function is written `\x: e`");
    }
    // `\x. e` reads as the constructor `e` of a module `x`.
    let back = |n: usize| a.at.checked_sub(n).and_then(|b| a.builder.kind(b));
    if a.wants(Sym::Colon) && back(4) == Some(Kind::Sym(Sym::Backslash)) && back(2) == Some(Kind::Sym(Sym::Dot)) {
        return say(r"a function is written `\x: e`");
    }
    if a.is(Sym::Colon) && a.wants(Sym::RParen) && a.opener().is_some_and(|o| is_let(a, o)) {
        return say(r"a function is defined by `def f(x: f64) = …`, a local one by `let f = \x: e in …`");
    }
    if a.is(Sym::Colon)
        && a.after(Sym::RParen)
        && a.expected.has(Expected::OPERATOR)
        && let Some(Token::Name(name)) = a.called()
        && BinderKind::ALL.iter().any(|b| b.word() == name)
    {
        return Some(format!("no parentheses stand around index variables: `{name} i < n: e`"));
    }
    if a.is(Sym::LParen) && a.expected.has(Expected::VARIABLE) {
        return say("no parentheses stand around index variables: `for i < n: e`");
    }
    if a.wants(Sym::Semi) {
        return say("a rule is written `derivative f(x; dx) = …` or `adjoint f(x; dy) = …`");
    }
    if a.is(Sym::Eq) && a.wants(Sym::Assign) {
        return say("a name is bound with one `=`");
    }
    if a.is(Sym::Assign) {
        return equality(a);
    }
    if a.here == Some(Kind::Word(Word::While)) && a.wants_word(Word::For) {
        return say("`fold` runs over a range; with a condition it is `loop acc = e while c: body`");
    }
    if a.here == Some(Kind::Word(Word::For)) && a.wants_word(Word::While) {
        return say("`loop` runs while a condition holds; over a range it is `fold acc = e for i < n: body`");
    }
    if a.here == Some(Kind::Word(Word::For)) && a.expected.has(Expected::OPERATOR) {
        return say("an array is written `for i < n: e`");
    }
    if a.wants(Sym::LBrace) {
        return say("write `match e { p: a, q: b }`");
    }
    if a.wants_word(Word::In) {
        return say("after the last `let` stand `in` and the result");
    }
    if a.is(Sym::Semi) && a.expected.has(Expected::OPERATOR) {
        return say("values are named with `let … in …`; `;` ends only a `let` at the top level");
    }
    None
}

/// Does the bracket that opens there hold the arguments of a `let`?
fn is_let(a: &Around, opener: usize) -> bool {
    opener.checked_sub(2).and_then(|b| a.builder.kind(b)) == Some(Kind::Word(Word::Let))
}

/// An `=` that does not belong.
fn equality(a: &Around) -> Option<String> {
    let alone = matches!(a.before, Some(Kind::Name)) && a.at.checked_sub(1).is_some_and(|b| a.builder.line_start(b));
    if alone && a.expected.has(Expected::OPERATOR) {
        return say("a name is bound with `let x = … in …`");
    }
    if a.at.checked_sub(2).and_then(|b| a.builder.kind(b)) == Some(Kind::Word(Word::Where)) {
        return say("a type parameter may be limited to numbers: `where a: num` or `where a: real`");
    }
    if a.wants(Sym::Colon) && !a.expected.has(Expected::OPERATOR) {
        return say("a field is written `x: e`");
    }
    if a.wants(Sym::RParen) {
        return say("equality is written `==`, a named argument `name: e`");
    }
    a.expected.has(Expected::OPERATOR).then(|| "equality is written `==`".to_owned())
}

/// Types and heads of items.
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
    if def && a.wants(Sym::RParen) && named && !a.expected.has(Expected::OPERATOR) {
        return say("a parameter is written `x: T`");
    }
    if def && a.wants(Sym::Assign) && a.is(Sym::Colon) {
        return say("the type of the result stands after `->`");
    }
    if a.wants(Sym::Assign) && a.is(Sym::LBrace) {
        return say("the body stands after `=`, without braces");
    }
    if a.is(Sym::Lt) && !a.expected.has(Expected::OPERATOR) && matches!(a.before, Some(Kind::Name)) {
        return say("the arguments of a type stand in parentheses, as in `Tree(f64)`");
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

/// Missing commas, operators, items.
fn structure(a: &Around) -> Option<String> {
    let starts = a.here.is_some_and(Kind::starts_expr);
    let operand = a.before.is_some_and(|k| k.is_closer() || matches!(k, Kind::Name | Kind::Int | Kind::Float));
    if a.wants(Sym::Colon) && starts {
        return say("is a `:` missing?");
    }
    if !(a.expected.has(Expected::OPERATOR) && starts && operand) {
        return None;
    }
    match (a.before, a.here) {
        _ if a.wants(Sym::Comma) => say("is a comma missing?"),
        (Some(Kind::Int | Kind::Float), Some(Kind::Name)) => say("a product is written with `*`, as in `2 * x`"),
        (Some(Kind::Name), Some(Kind::Name | Kind::Int | Kind::Float)) => {
            say("a call is written `f(x)`, a product `a * b`")
        }
        _ => say("is an operator missing?"),
    }
}

/// Text that stands in no item.
pub(super) fn junk(tokens: &[Spanned]) -> Diagnostic {
    let Some(first) = tokens.first() else {
        return Diagnostic::new(Code::E0001, Span::default(), "expected an item, found the end");
    };
    let line = tokens.iter().skip(1).position(|t| t.line_start).map_or(tokens.len(), |at| at + 1);
    let span = tokens.get(line - 1).map_or(first.span, |last| first.span.to(last.span));
    let second = tokens.get(1).map(|t| &t.token);
    let usual = "every item starts with `def`, `type`, `import`, `let` or `do`";
    let help = match (&first.token, second) {
        (Token::Sym(Sym::FloorDiv | Sym::Slash), _) => "a comment begins with `--`".to_owned(),
        (Token::Name(name), Some(Token::Sym(Sym::Assign | Sym::Colon))) => {
            format!("a constant is written `let {name} = …`")
        }
        (Token::Name(name), _) => match name.as_str() {
            "fn" | "fun" | "func" | "function" | "define" | "defn" => "a definition begins with `def`".to_owned(),
            "struct" | "enum" | "data" | "class" | "record" => "a type is defined with `type`".to_owned(),
            "use" | "from" | "include" | "using" | "open" | "require" => "a module is read with `import`".to_owned(),
            "const" | "var" | "val" => "a constant is written `let x = …`".to_owned(),
            "derivative" | "adjoint" => {
                "a rule is written `derivative f(x; dx) = …` or `adjoint f(x; dy) = …`".to_owned()
            }
            _ => format!("{usual}; to evaluate an expression write `do` before it"),
        },
        (token, _) => {
            let starts = super::tokens::kinds(std::slice::from_ref(first)).first().is_some_and(|k| k.starts_expr());
            match token {
                _ if starts => format!("{usual}; to evaluate an expression write `do` before it"),
                _ => usual.to_owned(),
            }
        }
    };
    Diagnostic::new(Code::E0009, span, "this stands in no item").help(help)
}
