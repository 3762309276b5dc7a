//! **Lexer** for the texts of forms.

use super::FormSyntaxError;
use lang_syntax::lexer::{is_name_continue, is_name_start};

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum FormToken {
    /// A word.
    Name(String),
    /// A name in backquotes.
    Quoted(String),
    /// A text in double quotes.
    Text(String),
    /// An integer.
    Int(i128),
    /// A real number; true if it has the suffix `f32`.
    Real(f64, bool),
    /// A comment, without its `--`.
    Comment(String),
    /// An operator or a punctuation mark.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

impl FormToken {
    /// Returns the token as messages print it.
    pub(super) fn display(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Quoted(name) => format!("`` `{name}` ``"),
            Self::Text(_) => "a string".to_owned(),
            Self::Int(i) => format!("`{i}`"),
            Self::Real(x, _) => format!("`{x:?}`"),
            Self::Comment(_) => "`--`".to_owned(),
            Self::Symbol(sign) => format!("`{sign}`"),
            Self::End => "the end of the text".to_owned(),
        }
    }
}

/// Longer signs come first, because the lexer takes the first match.
const SYMBOLS: &[&str] = &[
    "&&", "||", "==", "!=", "<=", ">=", "->", "=>", "+=", "//", "+", "-", "*", "/", "%", "^", "<", ">", "=", "!", "(",
    ")", "[", "]", "{", "}", ",", ";", ":", ".", "#",
];

/// The tokens with their start offsets, [`FormToken::End`] last. `partners` holds the position of
/// the closing bracket for each opening one.
pub(super) struct FormTokens {
    pub(super) tokens: Vec<(FormToken, usize)>,
    pub(super) partners: Vec<Option<usize>>,
}

pub(super) fn tokens(text: &str) -> Result<FormTokens, FormSyntaxError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        // A digit sequence here is the number of a component, which another dot may follow.
        let after_dot = match tokens.last() {
            Some((FormToken::Symbol(sign), _)) => *sign == ".",
            Some((FormToken::Name(word), _)) => word == "at",
            _ => false,
        };
        let Some(first) = rest.chars().next() else { break };
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = if let Some(rest) = rest.strip_prefix("--") {
            let line = rest.lines().next().unwrap_or_default();
            (FormToken::Comment(line.trim().to_owned()), line.len() + 2)
        } else if is_name_start(first) {
            let length = rest.find(|c| !is_name_continue(c)).unwrap_or(rest.len());
            (FormToken::Name(rest.get(..length).unwrap_or_default().to_owned()), length)
        } else if first.is_ascii_digit() {
            number(rest, after_dot).ok_or_else(|| FormSyntaxError::new(at, "the number is too large"))?
        } else if first == '"' {
            string(rest).ok_or_else(|| FormSyntaxError::new(at, "unterminated string, or unknown escape"))?
        } else if first == '`' {
            let inner = rest.get(1..).unwrap_or_default();
            let length = inner.find(['`', '\n']).filter(|k| inner.get(*k..).is_some_and(|r| r.starts_with('`')));
            let length = length.ok_or_else(|| FormSyntaxError::new(at, "missing closing backquote"))?;
            (FormToken::Quoted(inner.get(..length).unwrap_or_default().to_owned()), length + 2)
        } else if let Some(sign) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            (FormToken::Symbol(sign), sign.len())
        } else {
            return Err(FormSyntaxError::new(at, format!("unexpected character {first:?}")));
        };
        tokens.push((token, at));
        at += length;
    }
    tokens.push((FormToken::End, text.len()));
    let mut partners = vec![None; tokens.len()];
    let mut open = Vec::new();
    for (k, (token, _)) in tokens.iter().enumerate() {
        match token {
            FormToken::Symbol(sign @ ("(" | "[" | "{")) => open.push((*sign, k)),
            FormToken::Symbol(close @ (")" | "]" | "}")) => {
                let Some((sign, first)) = open.pop() else { continue };
                if matches!((sign, *close), ("(", ")") | ("[", "]") | ("{", "}"))
                    && let Some(slot) = partners.get_mut(first)
                {
                    *slot = Some(k);
                }
            }
            _ => {}
        }
    }
    Ok(FormTokens { tokens, partners })
}

/// Lexes a number and returns its length. After a dot, or `at`, it is the number of a component.
fn number(text: &str, after_dot: bool) -> Option<(FormToken, usize)> {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
    };
    let whole = digits(0);
    let mut end = whole;
    if !after_dot {
        if text.get(end..).is_some_and(|r| r.starts_with('.')) && digits(end + 1) > end + 1 {
            end = digits(end + 1);
        }
        if text.get(end..).is_some_and(|r| r.starts_with(['e', 'E'])) {
            let signed = text.get(end + 1..).is_some_and(|r| r.starts_with(['+', '-']));
            let first = end + 1 + usize::from(signed);
            if digits(first) > first {
                end = digits(first);
            }
        }
    }
    let written = text.get(..end)?;
    let single = !after_dot
        && text.get(end..).and_then(|r| r.strip_prefix("f32")).is_some_and(|r| !r.starts_with(is_name_continue));
    if single {
        return Some((FormToken::Real(f64::from(written.parse::<f32>().ok()?), true), end + 3));
    }
    let token = if end == whole {
        FormToken::Int(written.parse().ok()?)
    } else {
        FormToken::Real(written.parse().ok()?, false)
    };
    Some((token, end))
}

/// Lexes a string as Rust's `{:?}` prints it, and returns its length.
fn string(text: &str) -> Option<(FormToken, usize)> {
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((FormToken::Text(out), at + 1)),
            '\\' => out.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '0' => '\0',
                'u' => {
                    let (_, '{') = chars.next()? else { return None };
                    let mut code = 0_u32;
                    loop {
                        match chars.next()?.1 {
                            '}' => break,
                            digit => code = code.checked_mul(16)?.checked_add(digit.to_digit(16)?)?,
                        }
                    }
                    char::from_u32(code)?
                }
                c @ ('"' | '\\' | '\'') => c,
                _ => return None,
            }),
            '\n' => return None,
            c => out.push(c),
        }
    }
    None
}
