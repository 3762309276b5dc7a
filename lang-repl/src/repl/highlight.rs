//! A line that is being typed, in colours: by the tokens of the language's own lexer, so that what is
//! coloured as a number is one. The bracket that belongs to the one at the cursor stands out, and so does
//! one that closes nothing.

use std::collections::HashSet;
use std::sync::OnceLock;

use lang_core::resolve::words;
use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::token::Sym;

use super::commands;
use super::margin::{GOES_ON, MARGIN};

/// Longer texts have no colours: each key would read them anew.
const MAX_TEXT: usize = 64 << 10;

const RESET: &str = "\x1b[0m";
/// Keywords, and commands.
const WORD: &str = "\x1b[35m";
/// What the language gives: binders, functions, constants.
const OWN: &str = "\x1b[34m";
const NUMBER: &str = "\x1b[36m";
const STRING: &str = "\x1b[32m";
const COMMENT: &str = "\x1b[2m";
/// What means nothing, and brackets that close nothing.
const WRONG: &str = "\x1b[31m";
/// The bracket at the cursor and the one that belongs to it.
const PAIR: &str = "\x1b[1;4m";
/// Prompts of lines that go on, hints.
pub(crate) const DIM: &str = "\x1b[2m";
/// The prompt, and the parameter in a hint.
pub(crate) const BOLD: &str = "\x1b[1m";

/// Text in a style.
pub(crate) fn styled(style: &str, text: &str) -> String {
    format!("{style}{text}{RESET}")
}

/// The text as it is shown: margins as prompts, and colours if they are wanted. `cursor` is where it stands
/// if brackets are to be looked for there.
pub(crate) fn paint(text: &str, cursor: Option<usize>, color: bool) -> String {
    if !color || text.len() > MAX_TEXT {
        return prompts(text, color);
    }
    let mut styles: Vec<(usize, usize, &str)> = Vec::new();
    let command = command(text);
    if let Some(end) = command {
        styles.push((0, end, WORD));
    }
    let lexed = lex(text);
    let shown = |start: u32| command.is_none_or(|end| start as usize >= end);
    let mut brackets: Vec<(&Sym, usize, usize)> = Vec::new();
    for token in lexed.tokens.iter().filter(|t| shown(t.span.start)) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        let style = match &token.token {
            Token::Int(_) | Token::Float(_) => NUMBER,
            Token::Str(_) => STRING,
            Token::Word(_) => WORD,
            Token::Name(name) if own(name) => OWN,
            Token::Error => WRONG,
            Token::Sym(sym) if sym.closer().is_some() || sym.is_closer() => {
                brackets.push((sym, start, end));
                continue;
            }
            Token::Name(_) | Token::Sym(_) => continue,
        };
        styles.push((start, end, style));
    }
    styles.extend(lexed.comments.iter().map(|c| (c.span.start as usize, c.span.end as usize, COMMENT)));
    styles.extend(pairs(&brackets, cursor));
    styles.sort_unstable();
    let mut out = String::with_capacity(text.len() * 2);
    let mut at = 0;
    for (start, end, style) in styles {
        if start < at {
            continue;
        }
        out.push_str(&prompts(text.get(at..start).unwrap_or_default(), true));
        out.push_str(&styled(style, text.get(start..end).unwrap_or_default()));
        at = end;
    }
    out.push_str(&prompts(text.get(at..).unwrap_or_default(), true));
    out
}

/// Does the language give that name?
fn own(name: &str) -> bool {
    static WORDS: OnceLock<HashSet<&str>> = OnceLock::new();
    WORDS.get_or_init(|| words::all().collect()).contains(name)
}

/// Where the word of a command ends; `None` if the text is none.
fn command(text: &str) -> Option<usize> {
    let start = text.len() - text.trim_start().len();
    let word = text.get(start..)?;
    let end = word.find(char::is_whitespace).unwrap_or(word.len());
    if word.starts_with('?') {
        return Some(text.len());
    }
    (word.starts_with(':') && commands::parse(word.get(..end)?).is_some()).then_some(start + end)
}

/// Margins between tokens as prompts of lines that go on.
fn prompts(text: &str, color: bool) -> String {
    let prompt = if color { styled(DIM, GOES_ON) } else { GOES_ON.to_owned() };
    text.replace(&format!("\n{MARGIN}"), &format!("\n{prompt}"))
}

/// The styles of brackets: of those that close nothing, and of the pair at the cursor.
fn pairs<'s>(brackets: &[(&Sym, usize, usize)], cursor: Option<usize>) -> Vec<(usize, usize, &'s str)> {
    let mut styles = Vec::new();
    let mut open: Vec<(&Sym, usize, usize)> = Vec::new();
    for (sym, start, end) in brackets {
        if sym.closer().is_some() {
            open.push((sym, *start, *end));
            continue;
        }
        match open.pop() {
            Some((opener, from, to)) if opener.closer() == Some(**sym) => {
                // The cursor is on either, or behind the closing one.
                if cursor.is_some_and(|at| at == from || at == *start || at == *end) {
                    styles.extend([(from, to, PAIR), (*start, *end, PAIR)]);
                }
            }
            Some(opener) => {
                open.push(opener);
                styles.push((*start, *end, WRONG));
            }
            None => styles.push((*start, *end, WRONG)),
        }
    }
    styles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, cursor: Option<usize>, expected: &str) {
        let names = [(WORD, "W"), (OWN, "O"), (NUMBER, "N"), (STRING, "S"), (COMMENT, "C"), (WRONG, "X"), (PAIR, "P")];
        let mut shown = paint(text, cursor, true).replace(RESET, "}");
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
        assert_eq!(paint(&format!("f(\n{MARGIN}1)"), None, false), "f(\n     ..  1)");
    }

    /// What is shown is as wide as what is typed, whatever that is.
    #[test]
    fn colours_take_no_room() {
        let plain = |text: &str| {
            let mut out = String::new();
            let mut rest = text;
            while let Some((before, after)) = rest.split_once("\x1b[") {
                out.push_str(before);
                rest = after.split_once('m').map_or("", |(_, after)| after);
            }
            (out + rest).replace(GOES_ON, MARGIN)
        };
        let block = format!("--| doc\n{MARGIN}def f() = 1");
        for text in ["", ":", ":x y", "\"open", "§ ≤ ∑", "))((", &block, "\u{feff}1", "1e+ 2."] {
            for cursor in 0..=text.len() {
                assert_eq!(plain(&paint(text, Some(cursor), true)), *text);
            }
        }
        let long = "(".repeat(MAX_TEXT + 1);
        assert_eq!(paint(&long, Some(0), true), long);
    }
}
