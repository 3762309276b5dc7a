//! **Syntax highlighting** of the line being typed, by the tokens of the language's own lexer.
//! Marks the bracket that matches the one at the cursor, and closing brackets without a match.

use std::collections::HashSet;
use std::sync::OnceLock;

use lang_core::resolve::vocabulary;
use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::token::Sym;

use super::commands;
use super::margin::{CONTINUATION_PROMPT, MARGIN};

/// The most bytes that are coloured, because each key lexes the text again.
const MAX_TEXT: usize = 64 << 10;

const RESET: &str = "\x1b[0m";
/// Keywords and commands.
const KEYWORD: &str = "\x1b[35m";
/// Built-in names: binders, functions, constants.
const BUILTIN: &str = "\x1b[34m";
const NUMBER: &str = "\x1b[36m";
const STRING: &str = "\x1b[32m";
const COMMENT: &str = "\x1b[2m";
/// Invalid tokens, and closing brackets without a match.
const INVALID: &str = "\x1b[31m";
/// The bracket at the cursor and its match.
const MATCHED: &str = "\x1b[1;4m";
/// Prompts of continuation lines, and hints.
pub(crate) const DIM: &str = "\x1b[2m";
/// The prompt, and the current parameter in a hint.
pub(crate) const BOLD: &str = "\x1b[1m";

/// Wraps text in a style.
pub(crate) fn styled(style: &str, text: &str) -> String {
    format!("{style}{text}{RESET}")
}

/// Renders the text: margins become prompts, and tokens are coloured if `color` is true. `cursor`
/// is the position at which brackets are matched, if any.
pub(crate) fn highlight(text: &str, cursor: Option<usize>, color: bool) -> String {
    if !color || text.len() > MAX_TEXT {
        return with_prompts(text, color);
    }
    let mut styles: Vec<(usize, usize, &str)> = Vec::new();
    let command = command_end(text);
    if let Some(end) = command {
        styles.push((0, end, KEYWORD));
    }
    let lexed = lex(text);
    let shown = |start: u32| command.is_none_or(|end| start as usize >= end);
    let mut brackets: Vec<(&Sym, usize, usize)> = Vec::new();
    for token in lexed.tokens.iter().filter(|t| shown(t.span.start)) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        let style = match &token.token {
            Token::Int(_) | Token::Float(_) => NUMBER,
            Token::Str(_) => STRING,
            Token::Keyword(_) => KEYWORD,
            Token::Name(name) if is_builtin(name) => BUILTIN,
            Token::Error => INVALID,
            Token::Sym(sym) if sym.closer().is_some() || sym.is_closer() => {
                brackets.push((sym, start, end));
                continue;
            }
            Token::Name(_) | Token::Sym(_) => continue,
        };
        styles.push((start, end, style));
    }
    styles.extend(lexed.comments.iter().map(|c| (c.span.start as usize, c.span.end as usize, COMMENT)));
    styles.extend(bracket_styles(&brackets, cursor));
    styles.sort_unstable();
    let mut out = String::with_capacity(text.len() * 2);
    let mut at = 0;
    for (start, end, style) in styles {
        if start < at {
            continue;
        }
        out.push_str(&with_prompts(text.get(at..start).unwrap_or_default(), true));
        out.push_str(&styled(style, text.get(start..end).unwrap_or_default()));
        at = end;
    }
    out.push_str(&with_prompts(text.get(at..).unwrap_or_default(), true));
    out
}

/// Whether the name is built in.
fn is_builtin(name: &str) -> bool {
    static WORDS: OnceLock<HashSet<&str>> = OnceLock::new();
    WORDS.get_or_init(|| vocabulary::all_words().collect()).contains(name)
}

/// Returns the end of the command word; `None` if the text is no command.
fn command_end(text: &str) -> Option<usize> {
    let start = text.len() - text.trim_start().len();
    let word = text.get(start..)?;
    let end = word.find(char::is_whitespace).unwrap_or(word.len());
    if word.starts_with('?') {
        return Some(text.len());
    }
    (word.starts_with(':') && commands::parse_command(word.get(..end)?).is_some()).then_some(start + end)
}

/// Replaces the margins in the text between tokens by continuation prompts.
fn with_prompts(text: &str, color: bool) -> String {
    let prompt = if color { styled(DIM, CONTINUATION_PROMPT) } else { CONTINUATION_PROMPT.to_owned() };
    text.replace(&format!("\n{MARGIN}"), &format!("\n{prompt}"))
}

/// Returns the styles of closing brackets without a match, and of the pair at the cursor.
fn bracket_styles<'s>(brackets: &[(&Sym, usize, usize)], cursor: Option<usize>) -> Vec<(usize, usize, &'s str)> {
    let mut styles = Vec::new();
    let mut open: Vec<(&Sym, usize, usize)> = Vec::new();
    for (sym, start, end) in brackets {
        if sym.closer().is_some() {
            open.push((sym, *start, *end));
            continue;
        }
        match open.pop() {
            Some((opener, from, to)) if opener.closer() == Some(**sym) => {
                // The cursor is on either bracket, or just after the closing one.
                if cursor.is_some_and(|at| at == from || at == *start || at == *end) {
                    styles.extend([(from, to, MATCHED), (*start, *end, MATCHED)]);
                }
            }
            Some(opener) => {
                open.push(opener);
                styles.push((*start, *end, INVALID));
            }
            None => styles.push((*start, *end, INVALID)),
        }
    }
    styles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, cursor: Option<usize>, expected: &str) {
        let names = [
            (KEYWORD, "W"),
            (BUILTIN, "O"),
            (NUMBER, "N"),
            (STRING, "S"),
            (COMMENT, "C"),
            (INVALID, "X"),
            (MATCHED, "P"),
        ];
        let mut shown = highlight(text, cursor, true).replace(RESET, "}");
        for (style, name) in names {
            shown = shown.replace(style, &format!("{name}{{"));
        }
        assert_eq!(shown, expected);
    }

    #[test]
    fn tokens_have_colours() {
        check("let x = 1.5 -- one", None, "W{let} x = N{1.5} C{-- one}");
        check("sum i < n: sin(y[i])", None, "O{sum} i < n: O{sin}(y[i])");
        check("load(\"a\")", None, "O{load}(S{\"a\"})");
        check(":type 1", None, "W{:type} N{1}");
        check("?let", None, "W{?let}");
        check("(1]", None, "(N{1}X{]}");
        check("f(1)", Some(4), "fP{(}N{1}P{)}");
        check(&format!("1 +\n{MARGIN}2"), None, "N{1} +\nC{     ..  }N{2}");
    }

    #[test]
    fn without_colours_lines_have_prompts() {
        assert_eq!(highlight(&format!("f(\n{MARGIN}1)"), None, false), "f(\n     ..  1)");
    }

    /// The rendered text has the same width as the typed text, for any input.
    #[test]
    fn colours_take_no_room() {
        let plain = |text: &str| {
            let mut out = String::new();
            let mut rest = text;
            while let Some((before, after)) = rest.split_once("\x1b[") {
                out.push_str(before);
                rest = after.split_once('m').map_or("", |(_, after)| after);
            }
            (out + rest).replace(CONTINUATION_PROMPT, MARGIN)
        };
        let block = format!("--| doc\n{MARGIN}def f() = 1");
        for text in ["", ":", ":x y", "\"open", "§ ≤ ∑", "))((", &block, "\u{feff}1", "1e+ 2."] {
            for cursor in 0..=text.len() {
                assert_eq!(plain(&highlight(text, Some(cursor), true)), *text);
            }
        }
        let long = "(".repeat(MAX_TEXT + 1);
        assert_eq!(highlight(&long, Some(0), true), long);
    }
}
