//! **Signature help** below the line being typed: inside the parentheses of a call, the signature
//! with the current parameter. It reads the snapshot in `editor_snapshot` and computes nothing.

use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::token::Sym;

use super::editor_snapshot::EditorSnapshot;

/// The most bytes of a text with a hint, because each key lexes the text again.
const MAX_TEXT: usize = 16 << 10;

/// A signature, and the byte range of the current parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SignatureHint {
    pub(crate) text: String,
    pub(crate) current_parameter: Option<(usize, usize)>,
}

/// Returns the signature for the innermost open call at the end of the text.
pub(crate) fn signature_hint(before: &str, known: &EditorSnapshot) -> Option<SignatureHint> {
    if before.len() > MAX_TEXT || before.trim_start().starts_with('?') {
        return None;
    }
    let (name, position, argument) = open_call(before)?;
    let text = known.signature(&name)?;
    let parameters = parameter_ranges(&text);
    let by_name = |wanted: &str| {
        parameters.iter().find(|(start, end)| {
            let parameter = text.get(*start..*end).unwrap_or_default();
            parameter.split(':').next().is_some_and(|own| own.trim() == wanted)
        })
    };
    let parameter = argument.as_deref().and_then(by_name).or_else(|| parameters.get(position)).copied();
    Some(SignatureHint { text, current_parameter: parameter })
}

/// Returns the name before the innermost open parenthesis of a call, and the index of the current
/// argument. Also returns the argument's name if it is a named argument.
fn open_call(before: &str) -> Option<(String, usize, Option<String>)> {
    let tokens = lex(before).tokens;
    // For every open bracket: its token, the number of commas since, and the token after the last
    // comma.
    let mut open: Vec<(usize, usize, usize)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::Sym(sym) if sym.closer().is_some() => open.push((at, 0, at + 1)),
            Token::Sym(sym) if sym.is_closer() => drop(open.pop()),
            Token::Sym(Sym::Comma) => {
                if let Some(last) = open.last_mut() {
                    *last = (last.0, last.1 + 1, at + 1);
                }
            }
            _ => {}
        }
    }
    let called = |at: usize| -> Option<String> {
        let paren = tokens.get(at).filter(|t| t.token == Token::Sym(Sym::LParen))?;
        let mut first = at.checked_sub(1)?;
        // A call has no space before its parenthesis.
        let last = tokens.get(first).filter(|t| t.span.end == paren.span.start)?;
        let name = |at: usize| tokens.get(at).filter(|t| matches!(t.token, Token::Name(_) | Token::Keyword(_)));
        name(first)?;
        let dot = |at: usize| tokens.get(at).is_some_and(|t| t.token == Token::Sym(Sym::Dot));
        if let Some(prefix) = first.checked_sub(2).filter(|_| dot(first - 1)).filter(|at| name(*at).is_some()) {
            first = prefix;
        }
        // `def f(` declares parameters; it is no call.
        let defines = first.checked_sub(1).and_then(|at| tokens.get(at)).is_some_and(|t| {
            matches!(&t.token, Token::Keyword(word) if matches!(word.text(), "def" | "derivative" | "adjoint" | "type"))
        });
        let start = tokens.get(first)?.span.start as usize;
        (!defines).then(|| before.get(start..last.span.end as usize).unwrap_or_default().to_owned())
    };
    // Other brackets inside an argument do not end the enclosing call.
    open.iter().rev().find_map(|(at, commas, argument)| {
        let name = called(*at)?;
        let own = match (tokens.get(*argument).map(|t| &t.token), tokens.get(argument + 1).map(|t| &t.token)) {
            (Some(Token::Name(own)), Some(Token::Sym(Sym::Colon))) => Some(own.to_string()),
            _ => None,
        };
        Some((name, *commas, own))
    })
}

/// Returns the byte range of each parameter between the first parenthesis and its match.
fn parameter_ranges(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => {
                depth += 1;
                if depth == 1 {
                    start = at + 1;
                }
            }
            ',' if depth == 1 => {
                found.push((start, at));
                start = at + 1;
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    if !text.get(start..at).unwrap_or_default().trim().is_empty() {
                        found.push((start, at));
                    }
                    break;
                }
            }
            _ => {}
        }
    }
    let blanks = |(start, end): (usize, usize)| {
        let own = text.get(start..end).unwrap_or_default();
        (start + own.len() - own.trim_start().len(), end)
    };
    found.into_iter().map(blanks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, expected: Option<&str>) {
        let mut known = EditorSnapshot::default();
        known.signatures.insert("conv".to_owned(), "(x: [n + m - 1]f64, c: [m]f64) -> [n]f64".to_owned());
        known.modules.insert("la".to_owned(), "linalg".to_owned());
        let shown = signature_hint(before, &known).map(|s| {
            let Some((start, end)) = s.current_parameter else { return s.text };
            let (before, rest) = s.text.split_at(start);
            let (parameter, after) = rest.split_at(end - start);
            format!("{before}‹{parameter}›{after}")
        });
        assert_eq!(shown.as_deref(), expected);
    }

    #[test]
    fn signatures_while_typing() {
        check("conv", None);
        check("conv(", Some("conv(‹x: [n + m - 1]f64›, c: [m]f64) -> [n]f64"));
        check("1 + conv([1, 2], ", Some("conv(x: [n + m - 1]f64, ‹c: [m]f64›) -> [n]f64"));
        check("conv(c: [1], x: [", Some("conv(‹x: [n + m - 1]f64›, c: [m]f64) -> [n]f64"));
        check("conv([1], [2])", None);
        check("conv(sin(", Some("sin(‹x: a›) -> a where a: real"));
        check("conv((", Some("conv(‹x: [n + m - 1]f64›, c: [m]f64) -> [n]f64"));
        check("la.dot(x, ", Some("la.dot(x: [n]t, ‹y: [n]t›) -> t where t: num"));
        check("reverse(", Some("reverse(‹x: [n]a›) -> [n]a"));
        check("la.trace(", Some("la.trace(‹a: [n, n]t›) -> t where t: num"));
        check("def conv(", None);
        check("nothing(", None);
        check("(1, ", None);
    }
}
