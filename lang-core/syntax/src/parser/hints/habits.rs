//! **Notation of other languages**, as tables: operators, words and forms without meaning here,
//! each with its replacement. A new habit is a new row.

use super::around::Around;
use crate::lexer::COMMENT;
use crate::parser::errors::Expected;
use crate::parser::tokens::Kind;
use crate::token::{Sym, Word};
use lang_base::Diagnostic;

const SHIFT: &str = "bits are shifted with `shl(x, k)` and `shr(x, k)`";
const ELEMENTWISE: &str = "arithmetic works on each element as it is: leave the point out";
const LAST: &str = "`a..b` ends before `b`; with it the range is `a..b + 1`";

/// Pairs of adjacent symbols that form one operator in another language. None of these pairs is
/// valid here.
const PAIRS: &[(Sym, Sym, &str)] = &[
    (Sym::Star, Sym::Star, "a power is written `^`"),
    (Sym::Assign, Sym::Gt, "write `:` instead of `=>`; greater or equal is `>=`"),
    (Sym::Assign, Sym::Lt, "less or equal is written `<=`"),
    (Sym::Colon, Sym::Assign, "a name is bound with `=`, as in `let x = 1`"),
    (Sym::Colon, Sym::Colon, "a type stands after one `:`, a module's name before a point: `m.x`"),
    (Sym::Lt, Sym::Gt, "not equal is written `!=`"),
    (Sym::Slash, Sym::Assign, "not equal is written `!=`"),
    (Sym::Ne, Sym::Assign, "not equal is written `!=`"),
    (Sym::Eq, Sym::Assign, "equality is written `==`"),
    (Sym::Lt, Sym::Lt, SHIFT),
    (Sym::Gt, Sym::Gt, SHIFT),
    (Sym::Plus, Sym::Plus, "one more is `x + 1`; arrays are joined by `concat(x, y)`"),
    (Sym::Slash, Sym::Star, "a comment begins with `--` and ends with its line"),
    (Sym::DotDot, Sym::Dot, LAST),
    (Sym::DotDot, Sym::Assign, LAST),
    (Sym::DotDot, Sym::Lt, "a range is written `a..b`; it ends before `b`"),
    (Sym::Dot, Sym::Star, ELEMENTWISE),
    (Sym::Dot, Sym::Slash, ELEMENTWISE),
    (Sym::Dot, Sym::Caret, ELEMENTWISE),
    (Sym::Dot, Sym::Plus, ELEMENTWISE),
    (Sym::Dot, Sym::Minus, ELEMENTWISE),
];

/// Returns a diagnostic for another language's operator.
pub(super) fn pair(a: &Around) -> Option<Diagnostic> {
    let starts = [a.at.checked_sub(1), Some(a.at)].into_iter().flatten();
    starts.filter(|at| a.joined(at + 1)).find_map(|at| {
        let (Some(Kind::Sym(first)), Some(Kind::Sym(second))) = (a.builder.kind(at), a.builder.kind(at + 1)) else {
            return None;
        };
        let (.., help) = PAIRS.iter().find(|(one, two, _)| (*one, *two) == (first, second))?;
        // A `=>` before the body of a definition.
        let body = (first, second) == (Sym::Assign, Sym::Gt) && at == a.at.saturating_sub(1) && a.is_head(at);
        let axes = (first, second) == (Sym::DotDot, Sym::Dot) && a.inside(Sym::LBracket);
        let help = match (body, axes) {
            (true, _) => "the body of a definition stands after `=`",
            (_, true) => "a whole axis is written `_`, as in `a[0, _]`",
            _ => *help,
        };
        Some(a.mark(at, at + 2, format!("`{first}{second}` means nothing here"), help))
    })
}

impl Around<'_> {
    /// Returns whether the `=` at `assign` belongs to the head of a definition.
    fn is_head(&self, assign: usize) -> bool {
        self.first() == Some(Kind::Word(Word::Def))
            && (0..assign).all(|at| self.builder.kind(at) != Some(Kind::Sym(Sym::Assign)))
    }
}

const FUNCTION: &str = r"a function is written `\x: e`";
const BLOCK: &str = "an expression needs no words around it: it ends where it ends";
const ELSE_IF: &str = "write `else if`";

/// Words that precede an operand in other languages. Here they read as names with an operand after
/// them.
const BEFORE: &[(&[&str], &str)] = &[
    (&["not"], "not is written `!`"),
    (&["return"], "a body is an expression: leave `return` out"),
    (&["lambda", "fn", "fun", "func", "function"], FUNCTION),
    (&["var", "const", "val", "mut", "set", "local"], "a name is bound with `let x = … in …`"),
    (&["switch", "case", "select"], "write `match e { p: a, q: b }`"),
    (&["begin", "block"], BLOCK),
    (&["elif", "elseif", "elsif"], ELSE_IF),
    (&["until", "repeat"], "a loop is written `loop x = init while c: e`"),
    (&["unless"], "a choice is written `if c then a else b`"),
    (&["try", "throw", "raise"], "there are no exceptions: `assert(p, \"…\")` and `error(\"…\")` end the run"),
    (&["new"], "a value is made by its constructor, as in `Leaf(x)`"),
];

/// Words that separate operands in other languages, or close a construct.
const BETWEEN: &[(&[&str], &str)] = &[
    (&["and"], "and is written `&&`"),
    (&["or"], "or is written `||`"),
    (&["xor"], "of truth values write `a != b`, of integers `bit_xor(a, b)`"),
    (&["is", "eq"], "equality is written `==`"),
    (&["ne"], "not equal is written `!=`"),
    (&["mod", "rem"], "the remainder is written `%`"),
    (&["div"], "integer division is written `//`"),
    (&["elif", "elseif", "elsif"], ELSE_IF),
    (&["end", "fi", "done", "od", "endif"], BLOCK),
    (&["not"], "whether no element is `e`: `all i: x[i] != e`"),
    (&["unless"], "a choice is written `if c then a else b`"),
    (&["to", "downto"], "a range is written `i in a..b`; it ends before `b`"),
    (&["step"], "a step is written `i in a..b by s`"),
];

/// Returns a diagnostic for another language's word.
pub(super) fn word(a: &Around) -> Option<Diagnostic> {
    let find = |table: &[(&[&str], &'static str)], name: &str| {
        table.iter().find(|(names, _)| names.contains(&name)).map(|(_, help)| *help)
    };
    let told = |at: usize, name: &str, help: &str| a.mark(at, at + 1, format!("`{name}` means nothing here"), help);
    let operand = a.operator() && a.here.is_some_and(Kind::starts_expr);
    if operand
        && let Some(name) = a.name(1)
        && let Some(help) = find(BEFORE, name)
    {
        return Some(told(a.at - 1, name, help));
    }
    let between = a.operator() || a.wants(Sym::DotDot) || a.wants_word(Word::Else);
    let name = a.name(0).filter(|_| between)?;
    Some(told(a.at, name, find(BETWEEN, name)?))
}

/// A row: the condition and the help text.
type Row = (fn(&Around) -> bool, &'static str);

const UNKNOWN: &str = "an extent that is known only in the run stands in a result or a `let`, between the brackets of an array, `[?k]f64`, or where a type takes a size, `Net(?k)`";
const ANY: &str = "a type is written out, as in `x: [n]f64`; at a `let` it may be left out, with its `:`";
const CHOICE: &str = "a choice is written `if c then a else b`";
const MATCH: &str = "write `match e { p: a, q: b }`";
const RANGE: &str = "a range is written `i < n` or `i in a..b`";
const RECORD: &str = "braces hold the fields of a record, `{x: e}`; parentheses group: `(e)`";

/// Forms of other languages, the most certain first.
pub(super) const FORMS: &[Row] = &[
    // Comments.
    (|a| matches!(a.builder.kind(a.line()), Some(Kind::Sym(Sym::FloorDiv | Sym::Percent | Sym::Semi))), COMMENT),
    (|a| words_follow(a) && a.on_line(Kind::Sym(Sym::FloorDiv)), "a comment begins with `--`; `//` divides integers"),
    (|a| words_follow(a) && a.on_line(Kind::Sym(Sym::Percent)), "a comment begins with `--`; `%` is the remainder"),
    // Choices.
    (|a| a.is(Sym::Question) && a.expected.has(Expected::TYPE), UNKNOWN),
    (|a| a.is(Sym::Underscore) && a.expected.has(Expected::TYPE), ANY),
    (|a| a.is(Sym::Question), CHOICE),
    (|a| a.is_word(Word::If) && a.operator(), CHOICE),
    (|a| a.is(Sym::Colon) && a.after_word(Word::Else), "no colon stands after `else`"),
    (|a| a.is_word(Word::Match) && a.operator(), MATCH),
    (|a| a.after_word(Word::With) && a.is(Sym::Bar), MATCH),
    (|a| a.wants(Sym::LBrace), MATCH),
    (
        |a| a.wants(Sym::Colon) && a.name(1) == Some("case") && !a.operator(),
        "no `case` stands before a pattern: `match e { p: a, q: b }`",
    ),
    (|a| a.is(Sym::Semi) && a.inside(Sym::LBrace), "a comma stands between arms and between fields"),
    // Loops.
    (|a| a.is_word(Word::While) && a.expected.has(Expected::EXPR), "a loop is written `loop x = init while c: e`"),
    (
        |a| a.is_word(Word::While) && a.wants_word(Word::For),
        "`fold` runs over a range; with a condition it is `loop acc = init while c: body`",
    ),
    (
        |a| a.is_word(Word::For) && a.wants_word(Word::While),
        "`loop` runs while a condition holds; over a range it is `fold acc = init for i < n: body`",
    ),
    (|a| a.wants_word(Word::For), "after what it carries stands the range: `fold acc = init for i < n: body`"),
    (|a| a.wants_word(Word::While), "after what it carries stands the condition: `loop acc = init while c: body`"),
    (|a| a.is_word(Word::For) && a.operator(), "`for` stands before its body: `for i < n: e`"),
    // Index variables and ranges.
    (
        |a| a.wants(Sym::DotDot) && a.is(Sym::Colon) && a.back(2) == Some(Kind::Word(Word::In)),
        "`in` takes a range: `i < n` or `i in 0..n`; the elements of an array are `x[i]`",
    ),
    (|a| a.wants(Sym::DotDot), RANGE),
    (|a| a.expected.has(Expected::VARIABLE) && a.is(Sym::LParen), NO_PARENTHESES),
    (|a| a.expected.has(Expected::VARIABLE), RANGE),
    (|a| range_head(a) && a.is(Sym::Le), "write `i < n + 1`: the indices are those from 0 to before the bound"),
    (|a| range_head(a) && a.is(Sym::Assign), RANGE),
    (|a| range_head(a) && next_variable(a), "index variables are separated by commas: `for i, j: e`"),
    (|a| range_head(a) && a.at_end(), "the body stands after `:`, as in `sum i: x[i]`"),
    (|a| range_head(a) && a.is(Sym::LBrace), "the body stands after `:`, without braces"),
    // Indices and extents.
    (|a| a.is(Sym::Semi) && a.inside(Sym::LBracket), "the rows of a matrix are arrays: `[[1, 2], [3, 4]]`"),
    (
        |a| unnamed_extent(a) && a.first() == Some(Kind::Word(Word::Let)),
        "an extent that the value tells is `[?n]f64`, `[?n, ?m]f64`",
    ),
    (|a| unnamed_extent(a), "an extent has a name, as in `[n]f64`, `[n, m]f64`; any name does"),
    (
        |a| a.is(Sym::Colon) && a.inside(Sym::LBracket) && whole(a),
        "a whole axis is written `_`, as in `a[_, 0]`; a slice is `x[a..b]`",
    ),
    (|a| a.is(Sym::Colon) && a.inside(Sym::LBracket), "a slice is written `x[a..b]`"),
    (
        |a| (a.is(Sym::DotDot) || a.after(Sym::DotDot) && a.here.is_some_and(Kind::is_closer)) && !a.operator(),
        "a slice has both ends, as in `x[0..n]`",
    ),
    (|a| a.is(Sym::DotDot), "a range stands in a binder, as in `i in a..b`, or in brackets, as in `x[a..b]`"),
    // Functions.
    (|a| a.is_word(Word::Do) && a.wants(Sym::Colon), "write `:` instead of `do`"),
    (|a| a.is(Sym::Arrow) && a.wants(Sym::Colon), "write `:` instead of `->`"),
    (|a| a.is(Sym::Arrow) && a.operator(), r"`->` stands in types; a function is written `\x: e`"),
    // `\x. e` reads as the constructor `e` of a module `x`.
    (
        |a| {
            let point = a.back(2) == Some(Kind::Sym(Sym::Dot));
            a.wants(Sym::Colon) && point && a.back(4) == Some(Kind::Sym(Sym::Backslash))
        },
        FUNCTION,
    ),
    (|a| a.back(3) == Some(Kind::Sym(Sym::Bar)) && a.after(Sym::Bar) && a.operator(), FUNCTION),
    (|a| a.is_word(Word::Def) && a.expected.has(Expected::EXPR), r"a local function is written `let f = \x: e in …`"),
    // Brackets.
    (|a| a.after_word(Word::Let) && a.inside(Sym::LBrace), "parentheses group an expression: `(let x = … in …)`"),
    (|a| a.inside(Sym::LBrace) && a.wants(Sym::Colon) && !a.is(Sym::Assign) && one_name(a), RECORD),
    (|a| a.inside(Sym::LBrace) && a.expected.has(Expected::FIELD) && a.after(Sym::LBrace), RECORD),
    // Names and values.
    (|a| a.is(Sym::Plus) && a.expected.has(Expected::EXPR), "there is no prefix `+`"),
    (|a| a.is(Sym::Bar) && a.operator(), "or is written `||`; bits of integers are combined with `bit_or`"),
    (
        |a| a.is_word(Word::In) && a.operator(),
        "`in` ends a chain of `let`, and none is open here; whether some element is `e`: `any i: x[i] == e`",
    ),
    (
        |a| a.is_word(Word::Where) && a.expected.has(Expected::EXPR) && a.ahead(1) == Some(Kind::Sym(Sym::LParen)),
        CHOICES,
    ),
    (|a| a.is_word(Word::Where) && a.operator(), "a name is bound before it is used: `let x = … in …`"),
    (|a| a.wants_word(Word::In), "after the last `let` stand `in` and the result"),
    (
        |a| a.is(Sym::Semi) && a.operator() && a.first() == Some(Kind::Word(Word::Do)),
        "a `do` has one expression: write another `do` on a line of its own",
    ),
    (|a| a.is(Sym::Semi) && a.operator(), "values are named with `let … in …`; `;` ends only a `let` at the top level"),
    (|a| a.after(Sym::Semi) && a.operator(), "every name of the top level has its own `let`, on a line of its own"),
];

const CHOICES: &str =
    "a choice is written `if c then a else b`, for every element `for i: if c[i] then a[i] else b[i]`";
const NO_PARENTHESES: &str = "no parentheses stand around index variables: `for i < n: e`";

/// Returns whether the error follows an index variable of a binder whose `:` is expected.
fn range_head(a: &Around) -> bool {
    let begins = |kind| matches!(kind, Kind::Binder(_) | Kind::Word(Word::For) | Kind::Sym(Sym::Colon));
    a.wants(Sym::Colon) && a.last(begins).is_some_and(|at| a.builder.kind(at) != Some(Kind::Sym(Sym::Colon)))
}

/// Returns whether the error is at an index variable without its comma.
fn next_variable(a: &Around) -> bool {
    a.here == Some(Kind::Name)
        && matches!(a.ahead(1), Some(Kind::Sym(Sym::Colon | Sym::Lt | Sym::Comma) | Kind::Word(Word::In)))
}

/// Returns whether `:` or `_` takes the place of an extent in a written type.
fn unnamed_extent(a: &Around) -> bool {
    let head = matches!(a.first(), Some(Kind::Word(Word::Let | Word::Def | Word::Type)));
    let before_value = (0..a.at).all(|at| a.builder.kind(at) != Some(Kind::Sym(Sym::Assign)));
    head && before_value && a.inside(Sym::LBracket) && (a.is(Sym::Underscore) || a.is(Sym::Colon)) && whole(a)
}

/// Returns whether commas or brackets enclose the token on both sides.
fn whole(a: &Around) -> bool {
    let alone = |kind: Option<Kind>| matches!(kind, Some(Kind::Sym(Sym::LBracket | Sym::RBracket | Sym::Comma)));
    alone(a.before) && alone(a.ahead(1))
}

/// Returns whether two words are adjacent, as in prose.
fn words_follow(a: &Around) -> bool {
    matches!((a.before, a.here), (Some(Kind::Name), Some(Kind::Name | Kind::Word(_) | Kind::Int)))
}

/// Returns whether a brace contains an expression instead of a field.
fn one_name(a: &Around) -> bool {
    a.back(2) == Some(Kind::Sym(Sym::LBrace)) && matches!(a.here, Some(Kind::Sym(_)))
}
