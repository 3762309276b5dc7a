//! **Formatter.** Rewrites a file in the one canonical layout, comments included, without a change
//! of meaning.
//!
//! The formatter parses each item, prints it as a document of the `pretty` crate and lays that out.
//! `printer` keeps documents and comments in step with the source tokens. `items`, `types`, `expr`
//! and `forms` define the layout of each form. `render` turns layouts into text, and `prec` inserts
//! the parentheses that a tree without source text needs.
//!
//! Guarantees: formatting is idempotent; the result parses to the same tree, up to doubled
//! parentheses; every comment is kept. The formatter checks the last two for each item, and that
//! the layout is still one item. If a check fails, it keeps the item's original text. The only
//! known case is a line that would begin with an item's keyword, such as a field named `def`.
//!
//! The command line, the language server and the printer of derived forms call it.

mod expr;
mod forms;
mod items;
mod prec;
mod printer;
mod render;
mod tree_dump;
mod types;

#[cfg(test)]
mod tests;

use pretty::Arena;
use printer::{LayoutDoc, Printer};
use render::{LineWriter, RenderedText};
pub use tree_dump::{dump_tree, same_meaning, same_tree};

use super::ast::{Item, Tree};
use super::lexer::{Comment, LexedText, lex};
use super::parser::{parse_item, parse_split};
use super::split::split;
use lang_base::{Diagnostic, Span};

/// The preferred maximum line width. Two files side by side on a common screen, and the listings of
/// the book, have this many columns.
pub const WIDTH: usize = 88;

/// A formatted file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormattedFile {
    /// The formatted text.
    pub text: String,
    /// The number of items left unchanged because their layout failed its check, which is a defect
    /// of the formatter.
    pub unformatted_items: usize,
}

/// Formats a file.
///
/// # Errors
/// Returns the lexer and parser errors of the file, with absolute spans.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    format_file(text).map(|formatted| formatted.text)
}

/// Formats a file like [`format()`], and also returns the number of items left unchanged.
///
/// # Errors
/// Returns the lexer and parser errors of the file, with absolute spans.
pub fn format_file(text: &str) -> Result<FormattedFile, Vec<Diagnostic>> {
    let items = split(text);
    let mut out = FormattedFile { text: String::with_capacity(text.len()), unformatted_items: 0 };
    if items.is_empty() {
        let lexed = lex(text);
        out.text = comment_block(text, &lexed.comments, 0);
        return if lexed.diagnostics.is_empty() { Ok(out) } else { Err(lexed.diagnostics) };
    }
    let mut errors = Vec::new();
    let mut end = 0;
    for item in items {
        let parsed = parse_split(item.kind, &item.text);
        if parsed.diagnostics.iter().any(Diagnostic::is_error) {
            errors.extend(parsed.diagnostics.into_iter().map(|d| d.shift(item.start)));
        }
        if !out.text.is_empty() && has_blank_line_between(text, end, item.start) {
            out.text.push('\n');
        }
        end = item.start.saturating_add(u32::try_from(item.text.len()).unwrap_or(u32::MAX));
        if errors.is_empty() {
            match format_item(&parsed.tree, &item.text) {
                Some(laid_out) => out.text.push_str(&laid_out),
                None => {
                    out.unformatted_items += 1;
                    out.text.push_str(item.text.trim_end());
                }
            }
            out.text.push('\n');
        }
    }
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}

/// Formats an item with its comments, without a newline at its end. `tree` must be the error-free
/// tree of `text`. Returns `None` if the layout fails its check.
#[must_use]
pub fn format_item(tree: &Tree, text: &str) -> Option<String> {
    let lexed = lex(text);
    if tree.item == Item::Error {
        return None;
    }
    let laid_out = layout_item(tree, text, &lexed)?;
    // A text already in the canonical layout has its own tree, so the check would always pass.
    if laid_out == text.trim_end() && split(&laid_out).len() == 1 {
        return Some(laid_out);
    }
    let relexed = lex(&laid_out);
    let parsed = parse_item(&laid_out);
    // The comparison ignores order, because a comment on the item's first line may move above its
    // documentation.
    let comments = |text: &str, lexed: &LexedText| {
        let mut all: Vec<String> = lexed.comments.iter().map(|c| comment_text(text, c).to_owned()).collect();
        all.sort_unstable();
        all
    };
    let same = !parsed.diagnostics.iter().any(Diagnostic::is_error)
        && comments(text, &lexed) == comments(&laid_out, &relexed)
        && same_tree(tree, &parsed.tree)
        // No line of the result may begin another item.
        && split(&laid_out).len() == 1;
    same.then_some(laid_out)
}

/// Prints a tree without source text: its documentation, then the item with the parentheses it
/// needs, without a newline at its end.
#[must_use]
pub fn print_tree(tree: &Tree) -> String {
    let arena = Arena::new();
    let item = Printer::bare(tree, &arena).item();
    let mut out = String::new();
    for line in tree.docs.split('\n').filter(|_| !tree.docs.is_empty()) {
        out.push_str(format!("--| {line}").trim_end());
        out.push('\n');
    }
    // Rendering fails only on a document without a valid layout, and every break here has one.
    out.push_str(&render_layout(item, &[]).map_or_else(String::new, |written| written.text));
    out
}

fn layout_item(tree: &Tree, text: &str, lexed: &LexedText) -> Option<String> {
    let first = lexed.tokens.first()?.span.start;
    let last = lexed.tokens.last()?.span.end;
    let (above, rest) = lexed.comments.split_at(lexed.comments.partition_point(|c| c.span.start < first));
    let arena = Arena::new();
    let mut printer = Printer::with_source(tree, &arena, text, lexed);
    let item = printer.item();
    let item = printer.append_suffix_comment(item);
    let shown: Vec<(&str, bool)> = lexed.comments.iter().map(|c| (comment_text(text, c), c.is_own_line)).collect();
    let written = render_layout(item, &shown)?;

    // Comments moved out of the first line go above the documentation, which must stay adjacent to
    // the item.
    let (other, docs) = above.split_at(above.len() - above.iter().rev().take_while(|c| c.is_doc).count());
    let mut out = comment_block(text, other, docs.first().map_or(first, |c| c.span.start));
    // A blank line keeps a `--|` comment that was not documentation from becoming it.
    let needs_blank_line = written.leading_comments.iter().any(|comment| comment.starts_with("--|"));
    for comment in written.leading_comments {
        out.push_str(comment);
        out.push('\n');
    }
    if needs_blank_line {
        out.push('\n');
    }
    out.push_str(&comment_block(text, docs, first));
    out.push_str(&written.text);

    // The comments after the item. An indented one seems to describe the item's end.
    let below = rest.get(printer.printed_comments().checked_sub(above.len())?..)?;
    let mut end = last;
    for comment in below {
        let start = comment.span.start;
        let column0 = start == 0 || text.as_bytes().get(start as usize - 1) == Some(&b'\n');
        out.push_str(if has_blank_line_between(text, end, start) { "\n\n" } else { "\n" });
        out.push_str(if column0 { "" } else { "  " });
        out.push_str(comment_text(text, comment));
        end = comment.span.end;
    }
    Some(out)
}

fn render_layout<'c>(piece: LayoutDoc<'_>, comments: &'c [(&'c str, bool)]) -> Option<RenderedText<'c>> {
    let mut writer = LineWriter::new(comments);
    piece.render_raw(WIDTH, &mut writer).ok()?;
    Some(writer.finish())
}

/// Returns comments on lines of their own, up to the position `next`. Single blank lines are kept.
fn comment_block(text: &str, comments: &[Comment], next: u32) -> String {
    let mut out = String::new();
    for (nth, comment) in comments.iter().enumerate() {
        out.push_str(comment_text(text, comment));
        out.push('\n');
        let below = comments.get(nth + 1).map_or(next, |c| c.span.start);
        if has_blank_line_between(text, comment.span.end, below) {
            out.push('\n');
        }
    }
    out
}

fn comment_text<'a>(text: &'a str, comment: &Comment) -> &'a str {
    text.get(comment.span.range()).unwrap_or_default().trim_end()
}

/// Whether a blank line separates two positions.
fn has_blank_line_between(text: &str, from: u32, to: u32) -> bool {
    let between = text.get(Span::new(from, to).range()).unwrap_or_default();
    between.bytes().filter(|b| *b == b'\n').count() > 1
}
