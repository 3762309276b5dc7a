//! **Syntax errors**, as values of the grammar and as diagnostics.
//!
//! An error is small and needs no allocation, because the grammar creates one whenever an
//! alternative does not apply. It holds the token index and the set of expected tokens. Only the
//! errors that remain become diagnostics; [`super::hints`] adds help for newcomers' likely
//! intentions.

use chumsky::DefaultExpected;
use chumsky::error::{Error, LabelError};
use chumsky::span::SimpleSpan;
use chumsky::util::MaybeRef;

use super::TokenStream;
use super::brackets::TokenClass;
use super::builder::TreeBuilder;
use super::{fixes, hints};
use crate::lexer::Token;
use crate::token::{Sym, Word};
use lang_base::{Code, Diagnostic, Fix, Hint, Span, Suggestion};

/// A set of tokens and syntactic classes that are expected at one position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ExpectedSet(u128);

impl ExpectedSet {
    pub(super) const NONE: Self = Self(0);
    pub(super) const EXPR: Self = Self(1 << 100);
    pub(super) const TYPE: Self = Self(1 << 101);
    pub(super) const PATTERN: Self = Self(1 << 102);
    pub(super) const NAME: Self = Self(1 << 103);
    pub(super) const FIELD: Self = Self(1 << 104);
    pub(super) const VARIABLE: Self = Self(1 << 105);
    pub(super) const CLASS: Self = Self(1 << 106);
    pub(super) const ITEM: Self = Self(1 << 107);
    /// Any continuation of an operand. It is always possible, so messages list it only if nothing
    /// else is expected.
    pub(super) const OPERATOR: Self = Self(1 << 120);
    pub(super) const END: Self = Self(1 << 121);

    const CLASS_NAMES: [(Self, &'static str); 8] = [
        (Self::ITEM, "an item"),
        (Self::EXPR, "an expression"),
        (Self::TYPE, "a type"),
        (Self::PATTERN, "a pattern"),
        (Self::NAME, "a name"),
        (Self::FIELD, "a field name"),
        (Self::VARIABLE, "an index variable"),
        (Self::CLASS, "`num` or `real`"),
    ];

    pub(super) const fn sym(sym: Sym) -> Self {
        Self(1 << (sym as u32))
    }

    pub(super) const fn keyword(word: Word) -> Self {
        Self(1 << (50 + word as u32))
    }

    pub(super) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn contains(self, other: Self) -> bool {
        other.0 != 0 && self.0 & other.0 == other.0
    }

    /// Formats the set: `an expression, a type or ")"`.
    fn describe(self) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(
            Self::CLASS_NAMES.iter().filter(|(set, _)| self.contains(*set)).map(|(_, text)| (*text).to_owned()),
        );
        parts.extend(Word::ALL.iter().filter(|w| self.contains(Self::keyword(**w))).map(|w| format!("`{w}`")));
        let syms = || Sym::ALL.iter().filter(|s| self.contains(Self::sym(**s)));
        parts.extend(syms().filter(|s| !s.is_closer()).map(|s| format!("`{s}`")));
        parts.extend(syms().filter(|s| s.is_closer()).map(|s| format!("`{s}`")));
        // A continuation of an operand is always possible, so it appears only in an otherwise empty
        // list.
        if parts.is_empty() {
            let rest = [(Self::OPERATOR, "an operator"), (Self::END, "the end of the input")];
            parts.extend(rest.iter().filter(|(set, _)| self.contains(*set)).map(|(_, text)| (*text).to_owned()));
        }
        match parts.split_last() {
            None => "something else".to_owned(),
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        }
    }
}

/// A mistake that a rule of the grammar recognises itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GrammarMistake {
    /// A `let` chain without `in`, with the span of its last `let`.
    MissingIn(Span),
    /// Another language's separator between the parts of a `let` chain.
    ForeignSeparator,
    /// `sum(i: e)`
    BinderCall,
    /// `let a, b = e`
    LetWithoutTuple,
    /// `let f(x: f64) = e`
    LetFunction,
    /// A parameter without a type.
    UntypedParam,
    /// `(e,)`
    OneElementTuple,
    /// `T -> U` without parentheses around `T`.
    UnparenthesisedParams,
    /// `(x: T)` without an arrow after it.
    NamedTupleElements,
    /// `f64[n]`
    SuffixExtents,
    /// `[k] p` outside `let`.
    ExtentsOutsideLet,
    /// An integer pattern out of range.
    IntPatternOverflow,
    /// A tuple position after `.` out of range.
    TuplePositionOverflow,
    /// An empty list in a position that requires an element.
    EmptyList(&'static str),
    /// Nesting beyond the limit, which is reported separately.
    TooDeep,
}

/// A syntax error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SyntaxError {
    /// The first token that does not fit.
    pub(super) at: usize,
    /// For a slip, the end of its tokens, exclusive.
    pub(super) end: usize,
    pub(super) expected: ExpectedSet,
    pub(super) mistake: Option<GrammarMistake>,
}

impl SyntaxError {
    pub(super) fn expected(at: usize, expected: ExpectedSet) -> Self {
        Self { at, end: at + 1, expected, mistake: None }
    }

    pub(super) fn from_mistake(span: SimpleSpan, slip: GrammarMistake) -> Self {
        Self { at: span.start, end: span.end, expected: ExpectedSet::NONE, mistake: Some(slip) }
    }

    /// Merges two errors. A slip wins, otherwise the one further into the text. At the same
    /// position their expected sets unite.
    fn merge_further(self, other: Self) -> Self {
        match self.at.cmp(&other.at) {
            _ if self.mistake.is_some() => self,
            _ if other.mistake.is_some() => other,
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Equal => Self { expected: self.expected.union(other.expected), ..self },
        }
    }
}

impl Error<'static, TokenStream> for SyntaxError {
    fn merge(self, other: Self) -> Self {
        self.merge_further(other)
    }
}

impl LabelError<'static, TokenStream, DefaultExpected<'static, TokenClass>> for SyntaxError {
    fn expected_found<E: IntoIterator<Item = DefaultExpected<'static, TokenClass>>>(
        expected: E,
        _: Option<MaybeRef<'static, TokenClass>>,
        span: SimpleSpan,
    ) -> Self {
        let set = expected.into_iter().fold(ExpectedSet::NONE, |set, one| {
            set.union(match one {
                DefaultExpected::EndOfInput => ExpectedSet::END,
                _ => ExpectedSet::NONE,
            })
        });
        Self::expected(span.start, set)
    }

    fn replace_expected_found<E: IntoIterator<Item = DefaultExpected<'static, TokenClass>>>(
        self,
        expected: E,
        found: Option<MaybeRef<'static, TokenClass>>,
        span: SimpleSpan,
    ) -> Self {
        self.merge_further(Self::expected_found(expected, found, span))
    }
}

/// Returns the diagnostic for an error, or `None` if the lexer has already reported the token.
pub(super) fn diagnostic(error: &SyntaxError, builder: &TreeBuilder) -> Option<Diagnostic> {
    if let Some(slip) = error.mistake {
        return mistake_diagnostic(slip, error, builder);
    }
    let unread = |at: usize| builder.token(at) == Some(&Token::Error);
    if unread(error.at) || error.at.checked_sub(1).is_some_and(unread) {
        return None;
    }
    let mut diagnostic = match hints::specific_diagnostic(error, builder) {
        Some(diagnostic) => diagnostic,
        None => {
            let message =
                format!("expected {}, found {}", error.expected.describe(), describe_token(builder, error.at));
            Diagnostic::new(Code::E0001, builder.span_at(error.at), message)
        }
    };
    if diagnostic.help.is_none() {
        diagnostic.help = hints::hint(error, builder);
    }
    diagnostic.fixes = fixes::fixes(error, builder);
    Some(diagnostic)
}

/// Returns the description of a token for a message.
pub(super) fn describe_token(builder: &TreeBuilder, at: usize) -> String {
    match builder.token(at) {
        None => "the end of the input".to_owned(),
        Some(Token::Name(name)) => format!("`{name}`"),
        Some(Token::Keyword(word)) => format!("`{word}`"),
        Some(Token::Sym(sym)) => format!("`{sym}`"),
        Some(Token::Int(value)) => format!("`{value}`"),
        Some(Token::Float(_)) => "a number".to_owned(),
        Some(Token::Str(_)) => "a string".to_owned(),
        Some(Token::Error) => "an invalid character".to_owned(),
    }
}

fn mistake_diagnostic(slip: GrammarMistake, error: &SyntaxError, builder: &TreeBuilder) -> Option<Diagnostic> {
    let span = builder.span(error.at, error.end);
    let one = |message: &str, help: &'static str| Some(Diagnostic::new(Code::E0001, span, message).help(help));
    match slip {
        GrammarMistake::MissingIn(start) => {
            let diagnostic = Diagnostic::new(Code::E0010, builder.span_at(error.at), "this `let` has no `in`");
            let help = match builder.token(error.at) {
                Some(token) if builder.kind(error.at).is_some_and(TokenClass::starts_expr) => match token {
                    Token::Name(name) => format!("write `in` before `{name}`"),
                    _ => "write `in` before the result".to_owned(),
                },
                _ => "write `in` and the result after the last `let`".to_owned(),
            };
            let diagnostic = diagnostic.label("`in` is missing here").related(start, "the `let`").help(help);
            // The fix needs a result to precede; without one, the position of `in` is unknown.
            Some(match builder.kind(error.at) {
                Some(kind) if kind.starts_expr() => diagnostic.fix(Fix::insert(span.start, "in ")),
                _ => diagnostic,
            })
        }
        GrammarMistake::ForeignSeparator => Some(separator_diagnostic(error, builder)),
        GrammarMistake::UntypedParam => {
            let message = match builder.token(error.at) {
                Some(Token::Name(name)) => format!("the parameter `{name}` has no type"),
                _ => "the parameter has no type".to_owned(),
            };
            let help = "write the type after a colon, as in `x: f64` or `x: [n]f64`";
            Some(Diagnostic::new(Code::E0011, span, message).help(help))
        }
        GrammarMistake::LetFunction => one(
            "`let` cannot define a function with parameters",
            r"define a function with `def f(x: f64) = …`, a local one with `let f = \(x: f64): e in …`",
        ),
        GrammarMistake::LetWithoutTuple => {
            let names: Vec<String> = (error.at..error.end)
                .filter_map(|at| match builder.token(at) {
                    Some(Token::Name(name)) => Some(name.to_string()),
                    _ => None,
                })
                .collect();
            let help = format!("write `let ({}) = …`, with a tuple after the `=`", names.join(", "));
            Some(Diagnostic::new(Code::E0001, span, "a `let` must bind exactly one pattern").help(help))
        }
        GrammarMistake::BinderCall => {
            let name = |at: usize| match builder.token(at) {
                Some(Token::Name(name)) => name.to_string(),
                _ => String::new(),
            };
            let help = format!("write `({} {}: …)`", name(error.at), name(error.at + 2));
            let head = Span::new(builder.span_at(error.at).start, builder.span_at(error.at + 2).start);
            let fix = Fix::replace(head, format!("({} ", name(error.at)));
            let message = "parentheses must enclose the whole reduction, not its index";
            Some(Diagnostic::new(Code::E0001, span, message).help(help).fix(fix))
        }
        GrammarMistake::OneElementTuple => one("a tuple cannot have exactly one component", "remove the comma"),
        GrammarMistake::UnparenthesisedParams => {
            one("the parameters of a function type must be in parentheses", "write the type as in `(f64) -> f64`")
        }
        GrammarMistake::NamedTupleElements => one(
            "a tuple type cannot name its components",
            "write a record type as `{x: f64}`; write `->` after the parameters of a function type",
        ),
        GrammarMistake::SuffixExtents => {
            one("the extents of an array type must precede the element type", "write the type as in `[n]f64`")
        }
        GrammarMistake::ExtentsOutsideLet => {
            one("only `let` can name extents", "bind the array first: `let [k] xs = …`")
        }
        GrammarMistake::IntPatternOverflow => {
            one("the number is too large for `i64`", "the maximum is 9223372036854775807")
        }
        GrammarMistake::TuplePositionOverflow => {
            one("the component number is too large", "the components of a tuple are counted from 0")
        }
        GrammarMistake::EmptyList(what) => {
            let inside = builder.span_at(error.end.saturating_sub(1));
            let message = format!("expected {what}, found {}", describe_token(builder, error.end.saturating_sub(1)));
            let mut d = Diagnostic::new(Code::E0001, inside, message);
            if what == "a size" {
                d = d.help("name the extent, as in `x: [n]f64`; any name is valid");
            }
            Some(d)
        }
        GrammarMistake::TooDeep => None,
    }
}

/// Returns the diagnostic for a `let` chain with another language's separators:
/// `let x = 1; y = 2 in …`.
fn separator_diagnostic(error: &SyntaxError, builder: &TreeBuilder) -> Diagnostic {
    let sign = (error.end > error.at).then(|| describe_token(builder, error.at));
    let (message, help) = match (builder.token(error.end), sign) {
        (Some(Token::Keyword(word @ (Word::Let | Word::In))), Some(sign)) => (
            format!("unexpected separator before the `{word}` of a `let` chain"),
            Hint::from(format!("remove {sign}")).suggest(Suggestion::Remove),
        ),
        (Some(Token::Name(name)), sign) => {
            let instead = sign.map_or_else(String::new, |sign| format!(" instead of {sign}"));
            (
                "every binding of a chain must have its own `let`".to_owned(),
                format!("write `let {name} = …`{instead}").into(),
            )
        }
        _ => ("every binding of a chain must have its own `let`".to_owned(), "write `let x = 1 let y = 2 in …`".into()),
    };
    Diagnostic::new(Code::E0001, builder.span_at(error.at), message).help(help)
}
