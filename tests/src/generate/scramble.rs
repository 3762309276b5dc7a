//! **Layout noise.** Rewrites a text to one with the same tokens but other blanks, line ends and
//! comments between them.

use lang_core::syntax::lexer::{SpannedToken, Token, lex};
use lang_core::syntax::token::Sym;

use crate::random::Random;

/// Returns the same tokens with other blanks and comments between them.
pub fn scramble(random: &mut Random, text: &str, comments: usize) -> String {
    let tokens = lex(text).tokens;
    let mut out = String::new();
    let mut number = 0;
    for (nth, token) in tokens.iter().enumerate() {
        let before = nth.checked_sub(1).and_then(|nth| tokens.get(nth));
        let touching = before.is_none_or(|b| b.span.end == token.span.start);
        if must_touch(&tokens, nth) {
            out.push_str(if touching { "" } else { " " });
        } else {
            match random.number_below(12 + comments) {
                0 if nth > 0 => out.push_str("\n   "),
                1 if nth > 0 => out.push_str("\n\n "),
                2 if nth > 0 => out.push_str("   "),
                n if n >= 12 => {
                    number += 1;
                    if before.is_some_and(|_| random.once_in(2)) {
                        out.push_str(&format!(" -- c{number}\n  "));
                    } else {
                        // The documentation above an item is not a token.
                        let start = if nth == 0 { "" } else { "\n  " };
                        out.push_str(&format!("{start}-- own {number}\n{}", if nth == 0 { "" } else { " " }));
                    }
                }
                _ if !touching => out.push(' '),
                _ => {}
            }
        }
        out.push_str(text.get(token.span.range()).unwrap_or_default());
    }
    match random.number_below(6) {
        0 => out.push_str(" -- last"),
        1 => out.push_str("\n  -- below\n-- and below"),
        _ => {}
    }
    out
}

/// Joins several items to a file, with comments and empty lines between them.
pub fn scramble_all(random: &mut Random, texts: &[String]) -> String {
    let mut out = String::new();
    for (nth, text) in texts.iter().enumerate() {
        out.push_str(
            random.pick_or(&["", "\n\n", "-- block\n", "-- apart\n\n\n", "--| Docs.\n", "  -- c\n--| Docs.\n"], ""),
        );
        // No comments, some, or one between nearly all tokens.
        let comments = random.pick_or(&[0, 1, 4, 40], 0);
        out.push_str(&scramble(random, text, comments));
        if nth + 1 < texts.len() || random.once_in(2) {
            out.push_str(random.pick_or(&["\n", "\n", "\n\n", "\n\n\n"], "\n"));
        }
    }
    out
}

/// Removes, doubles or exchanges a few tokens. The result is mostly wrong, sometimes unusual.
pub fn damage(random: &mut Random, text: &str) -> String {
    let mut tokens: Vec<&str> = lex(text).tokens.iter().filter_map(|t| text.get(t.span.range())).collect();
    for _ in 0..=random.number_below(3) {
        let (at, other) = (random.number_below(tokens.len()), random.number_below(tokens.len()));
        match random.number_below(5) {
            0 if !tokens.is_empty() => drop(tokens.remove(at)),
            1 => tokens.insert(at, random.pick_or(&[",", "(", ")", "|", "\n--| c\n", "\n-- c\n", "()", "with"], ",")),
            2 => {
                let copy = tokens.get(other).copied().unwrap_or_default();
                tokens.insert(at, copy);
            }
            3 if other < tokens.len() => tokens.swap(at, other),
            // Parentheses around a token.
            _ => {
                tokens.insert((at + 1).min(tokens.len()), ")");
                tokens.insert(at, "(");
            }
        }
    }
    tokens.join(" ")
}

/// Returns whether the token must touch the one before it, because `.0` and `1.` would otherwise be
/// numbers.
fn must_touch(tokens: &[SpannedToken], at: usize) -> bool {
    let token = |at: usize| tokens.get(at).map(|t| &t.token);
    let dot = |at: usize| token(at) == Some(&Token::Sym(Sym::Dot));
    let int = |at: usize| matches!(token(at), Some(Token::Int(_)));
    let before = |n: usize| at.checked_sub(n);
    (dot(at) && (int(at + 1) || before(1).is_some_and(int)))
        || (before(1).is_some_and(dot) && (int(at) || before(2).is_some_and(int)))
}
