//! **Notation of other languages**, as tables: operators, words and forms without meaning here,
//! each with its replacement. A new habit is a new row.

use super::token_context::TokenContext;
use crate::lexer::COMMENT_HELP;
use crate::parser::brackets::TokenClass;
use crate::parser::errors::ExpectedSet;
use crate::token::{Sym, Word};
use lang_base::{Diagnostic, Hint, Suggestion};
use std::borrow::Cow;

/// A constant hint that suggests replacements of the marked text.
macro_rules! replacement {
    ($($code:literal)|+, $text:literal) => {
        Hint::new($text, &[$(Suggestion::Replace(Cow::Borrowed($code))),+])
    };
}

/// A constant hint that suggests a missing symbol.
macro_rules! missing {
    ($symbol:literal, $text:literal) => {
        Hint::new($text, &[Suggestion::Expect($symbol)])
    };
}

const SHIFT: Hint = Hint::text("shift bits with `shl(x, k)` and `shr(x, k)`");
const ELEMENTWISE: Hint = Hint::text("arithmetic is already elementwise: remove the dot");
const INCLUSIVE_RANGE_HELP: Hint = Hint::text("`a..b` excludes `b`; write `a..b + 1` to include it");
const INEQUALITY: Hint = replacement!("!=", "write `!=` for inequality");
const EQUALITY: Hint = replacement!("==", "write `==` for equality");

/// Pairs of adjacent symbols that form one operator in another language. None of these pairs is
/// valid here.
const SYMBOL_PAIRS: &[(Sym, Sym, Hint)] = &[
    (Sym::Star, Sym::Star, replacement!("^", "write a power with `^`")),
    (Sym::Assign, Sym::Gt, replacement!(":" | ">=", "write `:` instead of `=>`; greater or equal is `>=`")),
    (Sym::Assign, Sym::Lt, replacement!("<=", "write `<=` for less or equal")),
    (Sym::Colon, Sym::Assign, replacement!("=", "bind a name with `=`, as in `let x = 1`")),
    (Sym::Colon, Sym::Colon, replacement!(":", "write a type after a single `:`, a module's name before a dot: `m.x`")),
    (Sym::Lt, Sym::Gt, INEQUALITY),
    (Sym::Slash, Sym::Assign, INEQUALITY),
    (Sym::Ne, Sym::Assign, INEQUALITY),
    (Sym::Eq, Sym::Assign, EQUALITY),
    (Sym::Lt, Sym::Lt, SHIFT),
    (Sym::Gt, Sym::Gt, SHIFT),
    (Sym::Plus, Sym::Plus, Hint::text("increment with `x + 1`; join arrays with `concat(x, y)`")),
    (Sym::Slash, Sym::Star, replacement!("--", "a comment begins with `--` and ends at the end of its line")),
    (Sym::DotDot, Sym::Dot, INCLUSIVE_RANGE_HELP),
    (Sym::DotDot, Sym::Assign, INCLUSIVE_RANGE_HELP),
    (Sym::DotDot, Sym::Lt, Hint::text("write a range as `a..b`, which excludes `b`")),
    (Sym::Dot, Sym::Star, ELEMENTWISE),
    (Sym::Dot, Sym::Slash, ELEMENTWISE),
    (Sym::Dot, Sym::Caret, ELEMENTWISE),
    (Sym::Dot, Sym::Plus, ELEMENTWISE),
    (Sym::Dot, Sym::Minus, ELEMENTWISE),
];

/// Returns a diagnostic for another language's operator.
pub(super) fn foreign_operator(a: &TokenContext) -> Option<Diagnostic> {
    let starts = [a.at.checked_sub(1), Some(a.at)].into_iter().flatten();
    starts.filter(|at| a.is_adjacent(at + 1)).find_map(|at| {
        let (Some(TokenClass::Sym(first)), Some(TokenClass::Sym(second))) =
            (a.builder.kind(at), a.builder.kind(at + 1))
        else {
            return None;
        };
        let (.., help) = SYMBOL_PAIRS.iter().find(|(one, two, _)| (*one, *two) == (first, second))?;
        // A `=>` before the body of a definition.
        let body = (first, second) == (Sym::Assign, Sym::Gt) && at == a.at.saturating_sub(1) && a.is_head(at);
        let axes = (first, second) == (Sym::DotDot, Sym::Dot) && a.is_inside(Sym::LBracket);
        let help = match (body, axes) {
            (true, _) => replacement!("=", "write the body of a definition after `=`"),
            (_, true) => replacement!("_", "write `_` for a whole axis, as in `a[0, _]`"),
            // Without its point, an elementwise operator is the second symbol.
            _ if first == Sym::Dot => help.clone().suggest(Suggestion::Replace(second.to_string().into())),
            _ => help.clone(),
        };
        Some(a.diagnostic_at(at, at + 2, format!("`{first}{second}` is not an operator"), help))
    })
}

impl TokenContext<'_> {
    /// Returns whether the `=` at `assign` belongs to the head of a definition.
    fn is_head(&self, assign: usize) -> bool {
        self.first_kind() == Some(TokenClass::Keyword(Word::Def))
            && (0..assign).all(|at| self.builder.kind(at) != Some(TokenClass::Sym(Sym::Assign)))
    }
}

const FUNCTION: Hint = Hint::text(r"write a function as `\x: e`");
const BLOCK: Hint = Hint::text("remove the word, because an expression needs no block delimiters");
const ELSE_IF: Hint = replacement!("else if", "write `else if`");

const LEAVE_OUT_RETURN: Hint = Hint::new("a body is an expression: remove `return`", &[Suggestion::Remove]);

/// Words that precede an operand in other languages. Here they read as names with an operand after
/// them.
const PREFIX_WORDS: &[(&[&str], Hint)] = &[
    (&["not"], replacement!("!", "write `!` for logical not")),
    (&["return"], LEAVE_OUT_RETURN),
    (&["lambda", "fn", "fun", "func", "function"], FUNCTION),
    (&["var", "const", "val", "mut", "set", "local"], Hint::text("bind a name with `let x = … in …`")),
    (&["switch", "case", "select"], Hint::text("write `match e { p: a, q: b }`")),
    (&["begin", "block"], BLOCK),
    (&["elif", "elseif", "elsif"], ELSE_IF),
    (&["until", "repeat"], Hint::text("write a loop as `loop x = init while c: e`")),
    (&["unless"], Hint::text("write a conditional as `if c then a else b`")),
    (
        &["try", "throw", "raise"],
        Hint::text("the language has no exceptions; end the run with `assert(p, \"…\")` or `error(\"…\")`"),
    ),
    (&["new"], Hint::text("build a value with its constructor, as in `Leaf(x)`")),
];

/// Words that separate operands in other languages, or close a construct.
const INFIX_WORDS: &[(&[&str], Hint)] = &[
    (&["and"], replacement!("&&", "write `&&` for logical and")),
    (&["or"], replacement!("||", "write `||` for logical or")),
    (&["xor"], Hint::text("write `a != b` for truth values, `bit_xor(a, b)` for integers")),
    (&["is", "eq"], EQUALITY),
    (&["ne"], INEQUALITY),
    (&["mod", "rem"], replacement!("%", "write `%` for the remainder")),
    (&["div"], replacement!("//", "write `//` for integer division")),
    (&["elif", "elseif", "elsif"], ELSE_IF),
    (&["end", "fi", "done", "od", "endif"], BLOCK),
    (&["not"], Hint::text("to test that no element equals `e`, write `all i: x[i] != e`")),
    (&["unless"], Hint::text("write a conditional as `if c then a else b`")),
    (&["to", "downto"], Hint::text("write a range as `i in a..b`, which excludes `b`")),
    (&["step"], Hint::text("write a step as `i in a..b by s`")),
];

/// Returns a diagnostic for another language's word.
pub(super) fn foreign_word(a: &TokenContext) -> Option<Diagnostic> {
    let find = |table: &'static [(&[&str], Hint)], name: &str| {
        table.iter().find(|(names, _)| names.contains(&name)).map(|(_, help)| help.clone())
    };
    let keyword_diagnostic =
        |at: usize, name: &str, help: Hint| a.diagnostic_at(at, at + 1, format!("`{name}` is not a keyword"), help);
    let operand = a.expects_operator() && a.current.is_some_and(TokenClass::starts_expr);
    if operand
        && let Some(name) = a.name_before(1)
        && let Some(help) = find(PREFIX_WORDS, name)
    {
        return Some(keyword_diagnostic(a.at - 1, name, help));
    }
    let between = a.expects_operator() || a.expects_sym(Sym::DotDot) || a.expects_keyword(Word::Else);
    let name = a.name_before(0).filter(|_| between)?;
    Some(keyword_diagnostic(a.at, name, find(INFIX_WORDS, name)?))
}

/// A row: the condition and the hint.
type HintRow = (fn(&TokenContext) -> bool, Hint);

const UNKNOWN_EXTENT_HELP: Hint = Hint::text(
    "only a result or a `let` can have an extent that is known only at run time: `[?k]f64` in an array type, `Net(?k)` as a type argument",
);
const WRITTEN_TYPE_HELP: Hint = Hint::text("write the whole type, as in `x: [n]f64`; a `let` can omit it with its `:`");
const CONDITIONAL_HELP: Hint = Hint::text("write a conditional as `if c then a else b`");
const MATCH: Hint = Hint::text("write `match e { p: a, q: b }`");
const RANGE: Hint = Hint::text("write a range as `i < n` or `i in a..b`");
const RECORD: Hint = Hint::text("braces enclose the fields of a record, `{x: e}`; parentheses group: `(e)`");

/// Forms of other languages, the most certain first.
pub(super) const FORMS: &[HintRow] = &[
    // Comments.
    (
        |a| matches!(a.builder.kind(a.line_start()), Some(TokenClass::Sym(Sym::FloorDiv | Sym::Percent | Sym::Semi))),
        Hint::text(COMMENT_HELP),
    ),
    (
        |a| are_words_adjacent(a) && a.is_on_line(TokenClass::Sym(Sym::FloorDiv)),
        Hint::text("a comment begins with `--`; `//` divides integers"),
    ),
    (
        |a| are_words_adjacent(a) && a.is_on_line(TokenClass::Sym(Sym::Percent)),
        Hint::text("a comment begins with `--`; `%` is the remainder"),
    ),
    // Choices.
    (|a| a.is_sym(Sym::Question) && a.expected.contains(ExpectedSet::TYPE), UNKNOWN_EXTENT_HELP),
    (|a| a.is_sym(Sym::Underscore) && a.expected.contains(ExpectedSet::TYPE), WRITTEN_TYPE_HELP),
    (|a| a.is_sym(Sym::Question), CONDITIONAL_HELP),
    (|a| a.is_keyword(Word::If) && a.expects_operator(), CONDITIONAL_HELP),
    (|a| a.is_sym(Sym::Colon) && a.follows_keyword(Word::Else), Hint::text("remove the colon after `else`")),
    (|a| a.is_keyword(Word::Match) && a.expects_operator(), MATCH),
    (|a| a.follows_keyword(Word::With) && a.is_sym(Sym::Bar), MATCH),
    (|a| a.expects_sym(Sym::LBrace), MATCH),
    (
        |a| a.expects_sym(Sym::Colon) && a.name_before(1) == Some("case") && !a.expects_operator(),
        Hint::text("remove the `case` before the pattern: `match e { p: a, q: b }`"),
    ),
    (|a| a.is_sym(Sym::Semi) && a.is_inside(Sym::LBrace), Hint::text("separate arms and fields with commas")),
    // Loops.
    (
        |a| a.is_keyword(Word::While) && a.expected.contains(ExpectedSet::EXPR),
        Hint::text("write a loop as `loop x = init while c: e`"),
    ),
    (
        |a| a.is_keyword(Word::While) && a.expects_keyword(Word::For),
        Hint::text("`fold` iterates over a range; iterate under a condition with `loop acc = init while c: body`"),
    ),
    (
        |a| a.is_keyword(Word::For) && a.expects_keyword(Word::While),
        Hint::text("`loop` iterates under a condition; iterate over a range with `fold acc = init for i < n: body`"),
    ),
    (
        |a| a.expects_keyword(Word::For),
        Hint::text("write the range after the carry: `fold acc = init for i < n: body`"),
    ),
    (
        |a| a.expects_keyword(Word::While),
        Hint::text("write the condition after the carry: `loop acc = init while c: body`"),
    ),
    (|a| a.is_keyword(Word::For) && a.expects_operator(), Hint::text("write the body after the `for`: `for i < n: e`")),
    // Index variables and ranges.
    (
        |a| {
            a.expects_sym(Sym::DotDot)
                && a.is_sym(Sym::Colon)
                && a.kind_before(2) == Some(TokenClass::Keyword(Word::In))
        },
        Hint::text("`in` needs a range: `i < n` or `i in 0..n`; access the elements of an array with `x[i]`"),
    ),
    (|a| a.expects_sym(Sym::DotDot), RANGE),
    (|a| a.expected.contains(ExpectedSet::VARIABLE) && a.is_sym(Sym::LParen), NO_PARENTHESES),
    (|a| a.expected.contains(ExpectedSet::VARIABLE), RANGE),
    (
        |a| follows_index_var(a) && a.is_sym(Sym::Le),
        Hint::text("write `i < n + 1`, because the range excludes its bound"),
    ),
    (|a| follows_index_var(a) && a.is_sym(Sym::Assign), RANGE),
    (
        |a| follows_index_var(a) && is_next_variable(a),
        Hint::text("separate index variables with commas: `for i, j: e`"),
    ),
    (|a| follows_index_var(a) && a.is_at_end(), missing!(":", "write the body after `:`, as in `sum i: x[i]`")),
    (|a| follows_index_var(a) && a.is_sym(Sym::LBrace), missing!(":", "write the body after `:`, without braces")),
    // Indices and extents.
    (
        |a| a.is_sym(Sym::Semi) && a.is_inside(Sym::LBracket),
        Hint::text("write each row of a matrix as an array: `[[1, 2], [3, 4]]`"),
    ),
    (
        |a| is_unnamed_extent(a) && a.first_kind() == Some(TokenClass::Keyword(Word::Let)),
        Hint::text("write an extent that the value determines as `[?n]f64`, `[?n, ?m]f64`"),
    ),
    (|a| is_unnamed_extent(a), Hint::text("name every extent, as in `[n]f64`, `[n, m]f64`; any name is valid")),
    (
        |a| a.is_sym(Sym::Colon) && a.is_inside(Sym::LBracket) && is_whole_axis(a),
        missing!("_", "write `_` for a whole axis, as in `a[_, 0]`; write a slice as `x[a..b]`"),
    ),
    (|a| a.is_sym(Sym::Colon) && a.is_inside(Sym::LBracket), Hint::text("write a slice as `x[a..b]`")),
    (
        |a| {
            (a.is_sym(Sym::DotDot) || a.follows_sym(Sym::DotDot) && a.current.is_some_and(TokenClass::is_closer))
                && !a.expects_operator()
        },
        Hint::text("a slice must have both bounds, as in `x[0..n]`"),
    ),
    (
        |a| a.is_sym(Sym::DotDot),
        Hint::text("use a range only in a binder, as in `i in a..b`, or in brackets, as in `x[a..b]`"),
    ),
    // Functions.
    (|a| a.is_keyword(Word::Do) && a.expects_sym(Sym::Colon), Hint::text("write `:` instead of `do`")),
    (|a| a.is_sym(Sym::Arrow) && a.expects_sym(Sym::Colon), Hint::text("write `:` instead of `->`")),
    (
        |a| a.is_sym(Sym::Arrow) && a.expects_operator(),
        Hint::text(r"`->` is valid only in types; write a function as `\x: e`"),
    ),
    // `\x. e` reads as the constructor `e` of a module `x`.
    (
        |a| {
            let point = a.kind_before(2) == Some(TokenClass::Sym(Sym::Dot));
            a.expects_sym(Sym::Colon) && point && a.kind_before(4) == Some(TokenClass::Sym(Sym::Backslash))
        },
        FUNCTION,
    ),
    (
        |a| a.kind_before(3) == Some(TokenClass::Sym(Sym::Bar)) && a.follows_sym(Sym::Bar) && a.expects_operator(),
        FUNCTION,
    ),
    (
        |a| a.is_keyword(Word::Def) && a.expected.contains(ExpectedSet::EXPR),
        Hint::text(r"write a local function as `let f = \x: e in …`"),
    ),
    // Brackets.
    (
        |a| a.follows_keyword(Word::Let) && a.is_inside(Sym::LBrace),
        Hint::text("group an expression with parentheses: `(let x = … in …)`"),
    ),
    (
        |a| a.is_inside(Sym::LBrace) && a.expects_sym(Sym::Colon) && !a.is_sym(Sym::Assign) && is_expr_in_braces(a),
        RECORD,
    ),
    (|a| a.is_inside(Sym::LBrace) && a.expected.contains(ExpectedSet::FIELD) && a.follows_sym(Sym::LBrace), RECORD),
    // Names and values.
    (|a| a.is_sym(Sym::Plus) && a.expected.contains(ExpectedSet::EXPR), Hint::text("the language has no prefix `+`")),
    (
        |a| a.is_sym(Sym::Bar) && a.expects_operator(),
        missing!("||", "write `||` for logical or, `bit_or` for bitwise or"),
    ),
    (
        |a| a.is_keyword(Word::In) && a.expects_operator(),
        Hint::text("`in` must end a chain of `let`; to test that some element equals `e`, write `any i: x[i] == e`"),
    ),
    (
        |a| {
            a.is_keyword(Word::Where)
                && a.expected.contains(ExpectedSet::EXPR)
                && a.kind_after(1) == Some(TokenClass::Sym(Sym::LParen))
        },
        ELEMENTWISE_CONDITIONAL_HELP,
    ),
    (|a| a.is_keyword(Word::Where) && a.expects_operator(), Hint::text("bind a name before its use: `let x = … in …`")),
    (|a| a.expects_keyword(Word::In), Hint::text("write `in` and the result after the last `let`")),
    (
        |a| a.is_sym(Sym::Semi) && a.expects_operator() && a.first_kind() == Some(TokenClass::Keyword(Word::Do)),
        Hint::text("a `do` has one expression; write another `do` on its own line"),
    ),
    (
        |a| a.is_sym(Sym::Semi) && a.expects_operator(),
        Hint::text("name values with `let … in …`; `;` can only end a top-level `let`"),
    ),
    (
        |a| a.follows_sym(Sym::Semi) && a.expects_operator(),
        Hint::text("write each top-level binding with its own `let` on its own line"),
    ),
];

const ELEMENTWISE_CONDITIONAL_HELP: Hint = Hint::text(
    "write a conditional as `if c then a else b`, an elementwise one as `for i: if c[i] then a[i] else b[i]`",
);
const NO_PARENTHESES: Hint = Hint::text("remove the parentheses around the index variables: `for i < n: e`");

/// Returns whether the error follows an index variable of a binder whose `:` is expected.
fn follows_index_var(a: &TokenContext) -> bool {
    let begins =
        |kind| matches!(kind, TokenClass::Binder(_) | TokenClass::Keyword(Word::For) | TokenClass::Sym(Sym::Colon));
    a.expects_sym(Sym::Colon)
        && a.last_before(begins).is_some_and(|at| a.builder.kind(at) != Some(TokenClass::Sym(Sym::Colon)))
}

/// Returns whether the error is at an index variable without its comma.
fn is_next_variable(a: &TokenContext) -> bool {
    a.current == Some(TokenClass::Name)
        && matches!(
            a.kind_after(1),
            Some(TokenClass::Sym(Sym::Colon | Sym::Lt | Sym::Comma) | TokenClass::Keyword(Word::In))
        )
}

/// Returns whether `:` or `_` takes the place of an extent in a written type.
fn is_unnamed_extent(a: &TokenContext) -> bool {
    let head = matches!(a.first_kind(), Some(TokenClass::Keyword(Word::Let | Word::Def | Word::Type)));
    let before_value = (0..a.at).all(|at| a.builder.kind(at) != Some(TokenClass::Sym(Sym::Assign)));
    head && before_value
        && a.is_inside(Sym::LBracket)
        && (a.is_sym(Sym::Underscore) || a.is_sym(Sym::Colon))
        && is_whole_axis(a)
}

/// Returns whether commas or brackets enclose the token on both sides.
fn is_whole_axis(a: &TokenContext) -> bool {
    let alone =
        |kind: Option<TokenClass>| matches!(kind, Some(TokenClass::Sym(Sym::LBracket | Sym::RBracket | Sym::Comma)));
    alone(a.previous) && alone(a.kind_after(1))
}

/// Returns whether two words are adjacent, as in prose.
fn are_words_adjacent(a: &TokenContext) -> bool {
    matches!(
        (a.previous, a.current),
        (Some(TokenClass::Name), Some(TokenClass::Name | TokenClass::Keyword(_) | TokenClass::Int))
    )
}

/// Returns whether a brace contains an expression instead of a field.
fn is_expr_in_braces(a: &TokenContext) -> bool {
    a.kind_before(2) == Some(TokenClass::Sym(Sym::LBrace)) && matches!(a.current, Some(TokenClass::Sym(_)))
}
