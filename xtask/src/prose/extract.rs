//! **Extraction.** Reads the prose of a file: comments of Rust and of Iverson, and the text of
//! Markdown pages.
//!
//! Code is left out: fenced blocks, tables, and text in backticks, which becomes the word `CODE`.

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

use crate::tidy::RepositoryFile;

/// One paragraph or list item, without line breaks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Paragraph {
    /// The line that it begins in, counted from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
    /// Its lines that are wider than comments may be.
    pub(crate) wide_lines: Vec<usize>,
}

/// The widest line of a comment, in columns.
pub(crate) const MAX_WIDTH: usize = 100;

/// One line of prose without its comment marks.
struct CommentLine<'a> {
    number: usize,
    text: &'a str,
    is_wide: bool,
    /// Comments of different kinds are different paragraphs.
    mark: &'a str,
}

/// Pages that are printed from the documentation of `std/`, which is counted there.
const GENERATED_PAGES: &str = "docs/book/src/library/";

/// The paragraphs of a file; none if it is no kind of file that has prose.
pub(crate) fn paragraphs(file: &RepositoryFile) -> Vec<Paragraph> {
    if file.path.starts_with(GENERATED_PAGES) {
        return Vec::new();
    }
    match file.path.rsplit_once('.') {
        Some((_, "rs")) => join_paragraphs(rust_comments(&file.text)),
        Some((_, "iv")) => join_paragraphs(iverson_comments(&file.text)),
        Some((_, "md")) => join_paragraphs(markdown_lines(&file.text)),
        _ => Vec::new(),
    }
}

/// The tokens of a Rust file: the line, the column, the kind and the text of each.
pub(crate) fn rust_tokens(text: &str) -> impl Iterator<Item = (usize, usize, TokenKind, &str)> {
    let (mut at, mut number, mut begin) = (0_usize, 1_usize, 0_usize);
    tokenize(text, FrontmatterAllowed::No).map(move |token| {
        let end = at.saturating_add(token.len as usize);
        let content = text.get(at..end).unwrap_or_default();
        let column = text.get(begin..at).unwrap_or_default().chars().count();
        let found = (number, column, token.kind, content);
        if let Some(last) = content.rfind('\n') {
            begin = at.saturating_add(last).saturating_add(1);
            number += content.matches('\n').count();
        }
        at = end;
        found
    })
}

/// The line comments of a Rust file.
fn rust_comments(text: &str) -> Vec<CommentLine<'_>> {
    let mut lines = Vec::new();
    // The last line that has code.
    let mut code = 0;
    for (number, column, kind, content) in rust_tokens(text) {
        match kind {
            TokenKind::LineComment { .. } => {
                let wide = code != number && column + content.chars().count() > MAX_WIDTH;
                lines.push(comment_line(number, content, wide));
            }
            TokenKind::Whitespace => {}
            _ => code = number + content.matches('\n').count(),
        }
    }
    lines
}

/// The comments of an Iverson program that have a line of their own.
fn iverson_comments(text: &str) -> Vec<CommentLine<'_>> {
    let numbered = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("--"));
    numbered.map(|(k, line)| comment_line(k + 1, line.trim_start(), false)).collect()
}

/// A comment, split into its mark and its text.
fn comment_line(number: usize, content: &str, wide: bool) -> CommentLine<'_> {
    let length =
        ["//!", "///", "//", "--|", "--"].iter().find(|mark| content.starts_with(**mark)).map_or(0, |m| m.len());
    let (mark, text) = content.split_at(length);
    CommentLine { number, text: text.strip_prefix(' ').unwrap_or(text), is_wide: wide && !text.contains("http"), mark }
}

fn markdown_lines(text: &str) -> Vec<CommentLine<'_>> {
    text.lines().enumerate().map(|(k, text)| CommentLine { number: k + 1, text, is_wide: false, mark: "" }).collect()
}

/// Joins consecutive lines to paragraphs, without code.
fn join_paragraphs(lines: Vec<CommentLine<'_>>) -> Vec<Paragraph> {
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    let (mut fenced, mut open, mut before) = (false, false, (0, ""));
    for line in lines {
        if (line.number, line.mark) != (before.0 + 1, before.1) {
            (fenced, open) = (false, false);
        }
        before = (line.number, line.mark);
        let text = line.text.trim();
        if text.starts_with("```") || text.starts_with("~~~") {
            (fenced, open) = (!fenced, false);
            continue;
        }
        if fenced || text.is_empty() || text.starts_with(['|', '#']) || line.text.starts_with("    ") {
            open = false;
            continue;
        }
        let item = ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark));
        let (text, first) = item.map_or((text, !open), |rest| (rest, true));
        let wide = line.is_wide.then_some(line.number);
        match paragraphs.last_mut().filter(|_| !first) {
            Some(last) => {
                last.text.push(' ');
                last.text.push_str(text);
                last.wide_lines.extend(wide);
            }
            None => {
                let wide = wide.into_iter().collect();
                paragraphs.push(Paragraph { line: line.number, text: text.into(), wide_lines: wide });
            }
        }
        open = true;
    }
    for paragraph in &mut paragraphs {
        paragraph.text = without_code(&paragraph.text);
    }
    paragraphs
}

/// The text with `CODE` for each part in backticks, and without the marks of bold text.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(k, part)| if k % 2 == 0 { part.replace("**", "") } else { "CODE".into() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[(usize, &str)]) {
        let found = paragraphs(&RepositoryFile { path: path.into(), text: text.into() });
        let found: Vec<(usize, &str)> = found.iter().map(|p| (p.line, p.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn comments_are_joined_and_strings_are_not_comments() {
        let text = "//! One\n//! two `x + y`.\n\nlet s = \"// no\"; // Three.\n/// Four.\n// Five.\n";
        check("a.rs", text, &[(1, "One two CODE."), (4, "Three."), (5, "Four."), (6, "Five.")]);
    }

    #[test]
    fn code_and_tables_are_left_out() {
        let text = "# Title\n\nText.\n\n```iverson\n-- not this\n```\n\n| a | b |\n\n- one\n  more\n- two\n";
        check("a.md", text, &[(3, "Text."), (11, "one more"), (13, "two")]);
    }

    #[test]
    fn documentation_of_programs_is_prose() {
        check(
            "a.iv",
            "--| The mean.\n--| Of all.\nlet x = 1 -- not this\n-- Why.\n",
            &[(1, "The mean. Of all."), (4, "Why.")],
        );
    }

    #[test]
    fn wide_comments_are_found_but_not_wide_code() {
        let wide = "x".repeat(100);
        let text = format!("// {wide}\n\nlet a = \"{wide}\"; // Why.\n");
        let found = paragraphs(&RepositoryFile { path: "a.rs".into(), text });
        assert_eq!(found.iter().map(|p| p.wide_lines.as_slice()).collect::<Vec<_>>(), [&[1][..], &[]]);
    }
}
