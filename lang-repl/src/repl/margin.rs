//! **Margins** of inputs with several lines. The line editor has a single prompt, before the first
//! line. So every other line begins with a margin of the same width, which is part of the edited
//! text and is shown as a prompt.
//!
//! A margin is inserted when a line begins or an input is recalled, and removed before the input is
//! read.

use lang_core::syntax::lexer::{Token, lex};
use lang_core::syntax::token::{Sym, Word};

/// The prompt of the first line.
pub(crate) const PROMPT: &str = "iverson> ";
/// The prompt of continuation lines, of the same width.
pub(crate) const CONTINUATION_PROMPT: &str = "     ..  ";
/// The margin of continuation lines. Its last character is a no-break space, which users do not
/// type, so a margin can be recognised.
pub(crate) const MARGIN: &str = "        \u{a0}";
/// The last character of a margin.
pub(crate) const MARGIN_END: char = '\u{a0}';

/// One step of indentation.
const INDENTATION: &str = "  ";

/// Inserts margins.
pub(crate) fn with_margins(text: &str) -> String {
    text.replace('\n', &format!("\n{MARGIN}"))
}

/// Removes margins. Pasted lines have none.
pub(crate) fn without_margins(text: &str) -> String {
    text.replace(&format!("\n{MARGIN}"), "\n")
}

/// Returns the beginning of a new line after this text: the margin and the indentation of the line
/// above. The indentation grows by one step if that line leaves a construct open. It does not grow
/// if that line and the one above it both end in an operator.
pub(crate) fn next_line(before: &str) -> String {
    let mut lines = before.rsplit('\n').map(|line| line.strip_prefix(MARGIN).unwrap_or(line));
    let line = lines.next().unwrap_or_default();
    let indentation: String = line.chars().take_while(|c| *c == ' ').collect();
    let above = lines.next().map_or(LineEnd::Closed, LineEnd::of_line);
    let deeper = match LineEnd::of_line(line) {
        LineEnd::OpensBlock => true,
        LineEnd::Operator => above != LineEnd::Operator,
        LineEnd::Closed => false,
    };
    format!("\n{MARGIN}{indentation}{}", if deeper { INDENTATION } else { "" })
}

/// The construct that the end of a line leaves open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    /// A body, a branch or a bracket.
    OpensBlock,
    /// The right operand of an operator.
    Operator,
    Closed,
}

impl LineEnd {
    fn of_line(line: &str) -> Self {
        match lex(line).tokens.last().map(|t| &t.token) {
            Some(Token::Keyword(
                Word::In | Word::Then | Word::Else | Word::Yield | Word::While | Word::For | Word::If | Word::Do,
            )) => Self::OpensBlock,
            Some(Token::Sym(sym)) => match sym {
                Sym::Assign | Sym::PlusAssign | Sym::Colon => Self::OpensBlock,
                Sym::LParen | Sym::LBracket | Sym::LBrace => Self::OpensBlock,
                Sym::RParen | Sym::RBracket | Sym::RBrace | Sym::Comma | Sym::Semi => Self::Closed,
                Sym::Underscore | Sym::Question | Sym::Dot | Sym::Arrow => Self::Closed,
                _ => Self::Operator,
            },
            _ => Self::Closed,
        }
    }
}

/// Extracts the typed lines from a pasted piece of a session, prompts included. Lines without a
/// prompt are output and are dropped. The first line is kept, because the selection may begin after
/// a prompt. A text without prompts is returned unchanged.
pub(crate) fn strip_prompts(text: &str) -> String {
    let first =
        |line: &str| line.strip_prefix(PROMPT).or_else(|| (line == PROMPT.trim_end()).then_some("")).map(str::to_owned);
    if !text.lines().any(|line| first(line).is_some() || continuation_text(line).is_some()) {
        return text.to_owned();
    }
    let mut out: Vec<String> = Vec::new();
    // The selection may begin after a prompt.
    let mut in_input = true;
    for (n, line) in text.lines().enumerate() {
        if let Some(input) = first(line) {
            out.push(input);
            in_input = true;
        } else if let Some(more) = continuation_text(line).filter(|_| in_input) {
            out.push(more);
        } else if n == 0 {
            out.push(line.to_owned());
        } else {
            in_input = false;
        }
    }
    out.join("\n")
}

/// Returns the text after a continuation prompt.
fn continuation_text(line: &str) -> Option<String> {
    if let Some(rest) = line.strip_prefix(CONTINUATION_PROMPT) {
        return Some(rest.to_owned());
    }
    (line.trim_end() == CONTINUATION_PROMPT.trim_end()).then(String::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_come_and_go() {
        assert_eq!(PROMPT.len(), CONTINUATION_PROMPT.len());
        assert_eq!(PROMPT.len(), MARGIN.chars().count());
        assert!(MARGIN.ends_with(MARGIN_END));
        for text in ["", "1", "f(1,\n  2)", "a\n\nb", "a\n"] {
            assert_eq!(without_margins(&with_margins(text)), text);
        }
        assert_eq!(without_margins("a +\n         b"), "a +\n         b");
    }

    #[test]
    fn lines_are_indented() {
        assert_eq!(next_line("def f(x: f64) -> f64 ="), format!("\n{MARGIN}  "));
        assert_eq!(next_line(&with_margins("def f(x: f64) -> f64 =\n  let y = x")), format!("\n{MARGIN}  "));
        assert_eq!(next_line(&with_margins("f(\n  g(")), format!("\n{MARGIN}    "));
        for opens in
            ["let x = 1 in", "if p then", "else", "1 +", "x |>", "p &&", "-- a remark\nlet a = [", "let x = -- so"]
        {
            assert_eq!(next_line(&with_margins(opens)), format!("\n{MARGIN}  "), "{opens}");
        }
        for stays in ["1 + 2", "f(x)", "  ", "", "let x = 1 in\nx", "a +\nb +", "f(1,"] {
            let blanks = if stays == "  " { "  " } else { "" };
            assert_eq!(next_line(&with_margins(stays)), format!("\n{MARGIN}{blanks}"), "{stays}");
        }
    }

    #[track_caller]
    fn check(pasted: &str, expected: &str) {
        assert_eq!(strip_prompts(pasted), expected);
    }

    #[test]
    fn prompts_are_taken_off() {
        check("1 + 2\n3", "1 + 2\n3");
        check(
            "iverson> 1 + 2\ni64 = 3\niverson> let x =\n     ..    5\nx: i64 = 5\niverson>\n",
            "1 + 2\nlet x =\n  5\n",
        );
        check("let x = 1\nx: i64 = 1\niverson> x + 1\n", "let x = 1\nx + 1");
        // Output may look like a continuation line.
        check("iverson> f()\nout\n     ..  more\niverson> 2", "f()\n2");
    }
}
