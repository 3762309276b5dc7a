//! **Lexer.** A hand-written scanner from text to tokens, total and linear. Unicode spellings from
//! the papers produce the same tokens as their ASCII spellings. Comments go to a separate list,
//! which the formatter and the documentation read.
//!
//! If a foreign character has an obvious meaning (`&`, `#` before a comment, curly quotes), the
//! lexer reports it. It then continues with the intended token, so that one mistake produces one
//! diagnostic.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use super::token::{Sym, Word};
use lang_base::{Code, Diagnostic, Fix, Hint, Name, Span, Suggestion};

/// The help text for comments.
pub const COMMENT_HELP: &str = "a comment begins with `--`";

/// The help text for comments and documentation, used for a triple-quoted text.
pub(super) const DOCSTRING_HELP: &str =
    "a comment begins with `--`; documentation begins with `--|`, on the lines above its definition";

/// A lexical token.
#[derive(Clone, PartialEq, Debug)]
pub enum Token {
    /// `12`, `1_000`; at most 2^63.
    Int(u64),
    /// `1.5`, `1e-14`.
    Float(f64),
    /// `"text"`, with its escapes resolved.
    Str(Name),
    /// An identifier. Unicode spellings of names (`∑`, `π`) become the ASCII name.
    Name(Name),
    /// A reserved word.
    Keyword(Word),
    /// An operator, a bracket or other punctuation.
    Sym(Sym),
    /// Characters outside the language. The lexer has reported them.
    Error,
}

/// A token with its position.
#[derive(Clone, PartialEq, Debug)]
pub struct SpannedToken {
    /// The token.
    pub token: Token,
    /// The byte range of the token.
    pub span: Span,
    /// Whether it is the first token on its line.
    pub is_line_start: bool,
    /// Whether it begins in column 0 of its line.
    pub is_in_column0: bool,
}

impl SpannedToken {
    /// Returns the name if the token is an identifier.
    #[must_use]
    pub fn name(&self) -> Option<&Name> {
        match &self.token {
            Token::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// A comment, without the line ending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comment {
    /// The byte range of the comment, with the dashes.
    pub span: Span,
    /// Whether it is documentation (`--|`).
    pub is_doc: bool,
    /// Whether no token or comment precedes it on its line.
    pub is_own_line: bool,
}

/// The result of [`lex`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LexedText {
    /// The tokens, in source order.
    pub tokens: Vec<SpannedToken>,
    /// The comments, in source order.
    pub comments: Vec<Comment>,
    /// The lexical errors.
    pub diagnostics: Vec<Diagnostic>,
}

/// The maximum size of a text in bytes. It leaves ample room in the `u32` offsets of spans.
pub const MAX_TEXT_BYTES: usize = 64 << 20;

/// The maximum number of diagnostics for one text, because a file with more is not a program.
pub(crate) const MAX_DIAGNOSTICS: usize = 256;

/// Scans a text into tokens and comments. A text over [`MAX_TEXT_BYTES`] yields one diagnostic and
/// no tokens.
#[must_use]
pub fn lex(text: &str) -> LexedText {
    let mut out = LexedText::default();
    if text.len() > MAX_TEXT_BYTES {
        let message = format!("the text has {} MiB, but the limit is {} MiB", text.len() >> 20, MAX_TEXT_BYTES >> 20);
        out.diagnostics.push(
            Diagnostic::new(Code::E0008, Span::new(0, 0), message)
                .help("read large data with `load` instead of writing it into the program"),
        );
        return out;
    }
    out.tokens.reserve(text.len() / 4);
    let mut lexer = Lexer { text, offset: 0, line_offset: 0, is_line_empty: true, out };
    if text.starts_with('\u{feff}') {
        lexer.offset = '\u{feff}'.len_utf8();
        lexer.line_offset = lexer.offset;
    }
    while lexer.lex_token() {}
    lexer.out
}

/// Whether a name may begin with `c`.
#[must_use]
pub fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || (!c.is_ascii() && c.is_alphabetic())
}

/// Whether `c` may continue a name: letters, underscores, digits, primes, subscript digits,
/// combining accents.
#[must_use]
pub fn is_name_continue(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit() || matches!(c, '\'' | '₀'..='₉' | '\u{300}'..='\u{36f}')
}

/// Returns a name in Unicode NFC, the form in which names are compared. The precomposed `ö` and the
/// letter with a combining diaeresis are therefore the same name.
#[must_use]
pub fn to_nfc(name: &str) -> Cow<'_, str> {
    match is_nfc_quick(name.chars()) {
        IsNormalized::Yes => Cow::Borrowed(name),
        _ => Cow::Owned(name.nfc().collect()),
    }
}

struct Lexer<'a> {
    text: &'a str,
    /// The offset of the next byte to read, always on a character boundary.
    offset: usize,
    /// The offset of the first byte of the current line.
    line_offset: usize,
    /// Whether the current line has no token or comment yet.
    is_line_empty: bool,
    out: LexedText,
}

impl<'a> Lexer<'a> {
    fn remaining_text(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    fn peek_byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.offset + ahead).copied().unwrap_or(0)
    }

    fn span_from(&self, start: usize) -> Span {
        // Both conversions succeed, because a text has at most `MAX_TEXT_BYTES` bytes.
        Span::new(u32::try_from(start).unwrap_or(u32::MAX), u32::try_from(self.offset).unwrap_or(u32::MAX))
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let rest = self.remaining_text();
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.offset += end;
        rest.get(..end).unwrap_or_default()
    }

    fn push(&mut self, token: Token, start: usize) {
        let span = self.span_from(start);
        self.out.tokens.push(SpannedToken {
            token,
            span,
            is_line_start: self.is_line_empty,
            is_in_column0: start == self.line_offset,
        });
        self.is_line_empty = false;
    }

    fn report(&mut self, code: Code, start: usize, message: impl Into<String>, help: Option<Hint>) {
        self.report_with_fixes(code, start, message, help, Vec::new());
    }

    fn report_with_fixes(
        &mut self,
        code: Code,
        start: usize,
        message: impl Into<String>,
        help: Option<Hint>,
        fixes: Vec<Fix>,
    ) {
        if self.out.diagnostics.len() >= MAX_DIAGNOSTICS {
            return;
        }
        let mut diagnostic = Diagnostic::new(code, self.span_from(start), message);
        diagnostic.help = help;
        diagnostic.fixes = fixes;
        self.out.diagnostics.push(diagnostic);
    }

    /// Reads one token, comment or whitespace character. Returns false at the end of the text.
    fn lex_token(&mut self) -> bool {
        let start = self.offset;
        let Some(c) = self.remaining_text().chars().next() else { return false };
        match c {
            '\n' => {
                self.offset += 1;
                self.line_offset = self.offset;
                self.is_line_empty = true;
            }
            ' ' | '\t' | '\r' => self.offset += 1,
            '-' if self.peek_byte(1) == b'-' => self.lex_comment(),
            '0'..='9' => self.lex_number(),
            '.' if self.peek_byte(1).is_ascii_digit() && !self.follows_operand() => self.lex_number(),
            '"' => self.lex_string(),
            _ if is_name_start(c) => self.lex_name(),
            // A byte order mark is whitespace anywhere, because concatenated files contain it in
            // the middle.
            _ if c.is_whitespace() || c == '\u{feff}' => self.offset += c.len_utf8(),
            _ => {
                if let Some((sym, len)) = symbol(self.remaining_text().as_bytes()) {
                    self.offset += len;
                    self.push(Token::Sym(sym), start);
                } else if let Some(token) = unicode_token(c) {
                    self.offset += c.len_utf8();
                    self.push(token, start);
                } else {
                    self.lex_foreign_char(c);
                }
            }
        }
        true
    }

    fn lex_comment(&mut self) {
        let start = self.offset;
        let body = self.take_while(|c| c != '\n');
        // The carriage return of a CRLF line ending is not part of the comment.
        self.offset -= body.len() - body.trim_end_matches('\r').len();
        let doc = body.starts_with("--|");
        let span = self.span_from(start);
        self.out.comments.push(Comment { span, is_doc: doc, is_own_line: self.is_line_empty });
    }

    fn lex_name(&mut self) {
        let start = self.offset;
        // A fast path over bytes, because nearly all names are ASCII.
        let ascii = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'\'');
        self.offset += self.remaining_text().as_bytes().iter().take_while(ascii).count();
        if !self.peek_byte(0).is_ascii() {
            self.take_while(is_name_continue);
        }
        let text = self.text.get(start..self.offset).unwrap_or_default();
        let token = match text {
            "_" => Token::Sym(Sym::Underscore),
            "π" => Token::Name(Name::new_static("pi")),
            _ => match Word::from_text(text) {
                Some(word) => Token::Keyword(word),
                None => Token::Name(Name::new(to_nfc(text))),
            },
        };
        self.push(token, start);
    }

    /// Returns whether the preceding token ends an operand directly here. Then `.5` is a
    /// projection.
    fn follows_operand(&self) -> bool {
        self.out.tokens.last().is_some_and(|last| {
            last.span.end as usize == self.offset
                && match &last.token {
                    Token::Sym(sym) => sym.is_closer() || *sym == Sym::Dot,
                    _ => true,
                }
        })
    }

    fn lex_number(&mut self) {
        let start = self.offset;
        let digits = |c: char| c.is_ascii_digit() || c == '_';
        // The digits of `x.0.1` are two positions, not one real number.
        let position = self.out.tokens.last().is_some_and(|t| t.token == Token::Sym(Sym::Dot));
        self.take_while(digits);
        let mut real = false;
        let mut wrong = None;
        if !position && self.peek_byte(0) == b'.' && self.peek_byte(1) != b'.' {
            if self.peek_byte(1).is_ascii_digit() {
                real = true;
                if self.offset == start {
                    wrong = Some(("a number must not begin with a decimal point", "write a `0` before the point"));
                }
                self.offset += 1;
                self.take_while(digits);
            } else if !self.remaining_text().chars().nth(1).is_some_and(is_name_start) {
                real = true;
                self.offset += 1;
                wrong =
                    Some(("a number must not end with a decimal point", "write a `0` after the point, as in `2.0`"));
            }
        }
        if !position && matches!(self.peek_byte(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek_byte(1), b'+' | b'-'));
            if self.peek_byte(1 + sign).is_ascii_digit() {
                real = true;
                self.offset += 1 + sign;
                self.take_while(digits);
            } else if sign == 1 {
                self.offset += 2;
                wrong = Some(("the exponent has no digits", "write the exponent as in `1e-14`"));
            }
        }
        let text = self.text.get(start..self.offset).unwrap_or_default();
        let tail = self.take_while(is_name_continue);
        if text == "0" && tail.starts_with(['x', 'b', 'o']) {
            wrong = Some(("a number must be decimal", "write the decimal value"));
        } else if !tail.is_empty() {
            wrong = Some(("a letter must not directly follow a number", "write a product with `*`, as in `2 * x`"));
        } else if text.ends_with('_') {
            wrong = Some(("a number must not end with `_`", "use `_` only between digits, as in `1_000`"));
        }
        if let Some((message, help)) = wrong {
            self.report(Code::E0004, start, message, Some(Hint::text(help)));
        }
        let plain: String = text.chars().filter(|c| *c != '_').collect();
        let token = if real {
            let value = plain.trim_end_matches("e-").trim_end_matches("e+").parse().unwrap_or(0.0);
            if f64::is_infinite(value) {
                self.report(
                    Code::E0004,
                    start,
                    "the number is too large for `f64`",
                    Some("write infinity as `inf`".into()),
                );
            }
            Token::Float(value)
        } else {
            let negated = self.out.tokens.last().is_some_and(|t| t.token == Token::Sym(Sym::Minus));
            let limit = (1u64 << 63) - u64::from(!negated);
            let value = plain.parse().ok().filter(|value| *value <= limit);
            if value.is_none() && wrong.is_none() {
                let help =
                    "the maximum is 9223372036854775807; write a real number with a decimal point or an exponent";
                self.report(Code::E0004, start, "the number is too large for `i64`", Some(Hint::text(help)));
            }
            Token::Int(value.unwrap_or(0))
        };
        self.push(token, start);
    }

    fn lex_string(&mut self) {
        let start = self.offset;
        let mut value = String::new();
        self.offset += 1;
        loop {
            value.push_str(self.take_while(|c| !matches!(c, '"' | '\\' | '\n' | '\r')));
            match self.peek_byte(0) {
                b'"' => {
                    self.offset += 1;
                    break;
                }
                b'\\' => self.lex_escape(&mut value),
                _ => {
                    // In other languages, three quotes open a multi-line text.
                    let triple = start.checked_sub(2).and_then(|at| self.text.get(at..start)) == Some("\"\"");
                    let help = if triple { DOCSTRING_HELP } else { "a string must end on the line where it begins" };
                    self.report(Code::E0005, start, "the string has no closing `\"`", Some(Hint::text(help)));
                    return self.push(Token::Error, start);
                }
            }
        }
        self.push(Token::Str(Name::from(value)), start);
    }

    fn lex_escape(&mut self, value: &mut String) {
        let start = self.offset;
        self.offset += 1;
        let Some(c) = self.remaining_text().chars().next().filter(|c| !matches!(c, '\n' | '\r')) else { return };
        self.offset += c.len_utf8();
        match c {
            'n' => value.push('\n'),
            't' => value.push('\t'),
            '"' | '\\' => value.push(c),
            _ => {
                let help = r#"the escapes are `\n`, `\t`, `\"` and `\\`"#;
                self.report(Code::E0003, start, format!("unknown escape `\\{c}`"), Some(Hint::text(help)));
                value.push(c);
            }
        }
    }

    /// Reports a character outside the language, and emits the intended token if it is obvious.
    fn lex_foreign_char(&mut self, first: char) {
        let start = self.offset;
        self.offset += first.len_utf8();
        let token = match first {
            '&' => Some(Token::Sym(Sym::And)),
            '~' if self.peek_byte(0) == b'=' => {
                self.offset += 1;
                Some(Token::Sym(Sym::Ne))
            }
            '~' => Some(Token::Sym(Sym::Bang)),
            '#' => {
                self.take_while(|c| c != '\n' && c != '\r');
                // Recorded as a comment, because the text of an item includes its comments. Without
                // it, no item would contain the `#` and report it.
                let comment = Comment { span: self.span_from(start), is_doc: false, is_own_line: self.is_line_empty };
                self.out.comments.push(comment);
                None
            }
            _ if is_quote(first) => {
                let closing =
                    self.remaining_text().char_indices().find(|(_, c)| *c == '\n' || *c == '"' || is_quote(*c));
                let closing = closing.filter(|(_, c)| *c != '\n');
                self.offset += closing.map_or(0, |(at, c)| at + c.len_utf8());
                Some(if closing.is_some() { Token::Str(Name::default()) } else { Token::Error })
            }
            _ if foreign_char_help(first).is_some() => Some(Token::Error),
            _ => {
                self.take_while(|c| !is_recognised(c));
                Some(Token::Error)
            }
        };
        let single = self.offset == start + first.len_utf8();
        let message = match (first, foreign_char_help(first)) {
            ('~', _) if !single => "invalid operator `~=`".to_owned(),
            (_, None) if !single => "invalid characters".to_owned(),
            (c, None) if c.is_control() => "invalid character".to_owned(),
            (c, _) => format!("invalid character `{c}`"),
        };
        let help = match (first, single) {
            ('~', false) => Some(replacement("!=", "write `!=` for inequality")),
            ('@', true) => Some(Hint::text(
                "write a matrix product as `for i, j: (sum k: a[i, k] * b[k, j])`, a matrix-vector product as `for i: (sum j: a[i, j] * x[j])`",
            )),
            _ => foreign_char_help(first),
        };
        let begin = self.span_from(start).start;
        let fixes = if first == '#' { vec![Fix::replace(Span::new(begin, begin + 1), "--")] } else { Vec::new() };
        self.report_with_fixes(Code::E0003, start, message, help, fixes);
        if let Some(token) = token {
            self.push(token, start);
        }
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '\'' | '‘' | '’' | '`' | '“' | '”' | '„')
}

/// Whether `c` is whitespace, may be part of a token, or has a hint in [`foreign_char_help`].
fn is_recognised(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '"' | '\u{feff}')
        || is_name_continue(c)
        || u8::try_from(c).is_ok_and(|byte| symbol(&[byte]).is_some())
        || unicode_token(c).is_some()
        || foreign_char_help(c).is_some()
}

/// Returns the hint for a character that has a meaning in other languages.
fn foreign_char_help(c: char) -> Option<Hint> {
    let power = |exponent| replacement(exponent, "write a power with `^`, as in `x^2`");
    match c {
        '&' => Some(replacement("&&", "write `&&` for logical and, `bit_and` for bitwise and")),
        '~' => Some(replacement("!", "write `!` for logical not, `bit_not` for bitwise not")),
        '#' => Some(Hint::text(COMMENT_HELP)),
        '¹' => Some(power("^1")),
        '²' => Some(power("^2")),
        '³' => Some(power("^3")),
        _ if is_quote(c) => Some(Hint::text("enclose a string in double quotes: `\"text\"`")),
        _ => None,
    }
}

/// Returns a hint that suggests a replacement of the marked text.
fn replacement(code: &'static str, text: &'static str) -> Hint {
    Hint::text(text).suggest(Suggestion::Replace(code.into()))
}

/// Returns the longest symbol at the start of a text, and its length in bytes.
fn symbol(rest: &[u8]) -> Option<(Sym, usize)> {
    let one = *rest.first()?;
    let two = rest.get(1).copied().unwrap_or(0);
    let pair = match (one, two) {
        (b'.', b'.') => Some(Sym::DotDot),
        (b'+', b'=') => Some(Sym::PlusAssign),
        (b'-', b'>') => Some(Sym::Arrow),
        (b'|', b'>') => Some(Sym::Pipe),
        (b'|', b'|') => Some(Sym::Or),
        (b'&', b'&') => Some(Sym::And),
        (b'=', b'=') => Some(Sym::Eq),
        (b'!', b'=') => Some(Sym::Ne),
        (b'<', b'=') => Some(Sym::Le),
        (b'>', b'=') => Some(Sym::Ge),
        (b'/', b'/') => Some(Sym::FloorDiv),
        _ => None,
    };
    if let Some(sym) = pair {
        return Some((sym, 2));
    }
    let sym = match one {
        b'(' => Sym::LParen,
        b')' => Sym::RParen,
        b'[' => Sym::LBracket,
        b']' => Sym::RBracket,
        b'{' => Sym::LBrace,
        b'}' => Sym::RBrace,
        b',' => Sym::Comma,
        b';' => Sym::Semi,
        b':' => Sym::Colon,
        b'.' => Sym::Dot,
        b'=' => Sym::Assign,
        b'\\' => Sym::Backslash,
        b'?' => Sym::Question,
        b'|' => Sym::Bar,
        b'!' => Sym::Bang,
        b'<' => Sym::Lt,
        b'>' => Sym::Gt,
        b'+' => Sym::Plus,
        b'-' => Sym::Minus,
        b'*' => Sym::Star,
        b'/' => Sym::Slash,
        b'%' => Sym::Percent,
        b'^' => Sym::Caret,
        _ => return None,
    };
    Some((sym, 1))
}

/// Returns the token of a Unicode symbol from the papers. A Greek `Σ` or `Π` is a letter, hence a
/// name.
fn unicode_token(c: char) -> Option<Token> {
    let name = |text: &'static str| Some(Token::Name(Name::new_static(text)));
    match c {
        '⊞' => Some(Token::Keyword(Word::For)),
        '∑' => name("sum"),
        '∏' => name("prod"),
        '∃' => name("any"),
        '∀' => name("all"),
        '∇' => name("grad"),
        '∞' => name("inf"),
        '≤' => Some(Token::Sym(Sym::Le)),
        '≥' => Some(Token::Sym(Sym::Ge)),
        '≠' => Some(Token::Sym(Sym::Ne)),
        '∧' => Some(Token::Sym(Sym::And)),
        '∨' => Some(Token::Sym(Sym::Or)),
        '¬' => Some(Token::Sym(Sym::Bang)),
        '·' | '⋅' | '×' => Some(Token::Sym(Sym::Star)),
        '−' => Some(Token::Sym(Sym::Minus)),
        '→' => Some(Token::Sym(Sym::Arrow)),
        _ => None,
    }
}
