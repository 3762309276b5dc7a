//! **Rendering.** Writes the laid-out document of an item as text: lines without trailing blanks,
//! with their comments. `super::render_layout` runs [`LineWriter`] as the output of crate `pretty`.
//!
//! A comment without a line of its own in the layout is a zero-width [`CommentMark`] inside a line.
//! The writer places the comment when that line is complete.

use pretty::{Render, RenderAnnotated};

/// One step of indentation.
pub(super) const INDENT: usize = 2;

/// A comment, by index, that the writer places when its line is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CommentMark {
    /// A break follows directly: the comment ends this line.
    Suffix(usize),
    /// No break follows: the comment goes above this line. It ends the line instead if it is the
    /// line's only comment and followed code on its line in the source.
    Loose(usize),
}

/// The output of the document renderer, which receives text, newlines and marks.
pub(super) struct LineWriter<'a> {
    /// The texts of the comments, and whether each was on a line of its own.
    comments: &'a [(&'a str, bool)],
    /// The complete lines.
    output: String,
    /// The comments for the space above the first line.
    leading_comments: Vec<&'a str>,
    /// The current line, without its comments.
    line: String,
    /// The marks in the current line.
    marks: Vec<CommentMark>,
}

/// The rendered text.
pub(super) struct RenderedText<'a> {
    /// The comments for the space above the first line.
    pub(super) leading_comments: Vec<&'a str>,
    /// The lines, without a newline at the end.
    pub(super) text: String,
}

impl<'a> LineWriter<'a> {
    pub(super) fn new(comments: &'a [(&'a str, bool)]) -> Self {
        Self { comments, output: String::new(), leading_comments: Vec::new(), line: String::new(), marks: Vec::new() }
    }

    pub(super) fn finish(mut self) -> RenderedText<'a> {
        self.end_line();
        RenderedText { leading_comments: self.leading_comments, text: self.output }
    }

    /// Writes the current line, and places its comments above it or at its end.
    fn end_line(&mut self) {
        let line = self.line.trim_end_matches(' ');
        let code = line.trim_start_matches(' ');
        // Comments above a closing bracket have the indentation of the block, as in
        // `Printer::closing_break`.
        let block_indent = if code.starts_with([')', ']', '}']) { INDENT } else { 0 };
        let indent = line.len() - code.len() + block_indent;
        let comment = |at: usize| self.comments.get(at).copied().unwrap_or_default();
        let mut suffix = None;
        for (nth, mark) in self.marks.iter().enumerate() {
            let (text, own_line, at_end) = match *mark {
                CommentMark::Suffix(at) => (comment(at).0, false, true),
                CommentMark::Loose(at) => (comment(at).0, comment(at).1, self.marks.len() == 1),
            };
            if at_end && !own_line && nth + 1 == self.marks.len() {
                suffix = Some(text);
            } else if self.output.is_empty() {
                self.leading_comments.push(text);
            } else {
                self.output.extend(std::iter::repeat_n(' ', indent));
                self.output.push_str(text);
                self.output.push('\n');
            }
        }
        self.output.push_str(line);
        if let Some(text) = suffix {
            self.output.push(' ');
            self.output.push_str(text);
        }
        self.line.clear();
        self.marks.clear();
    }
}

impl Render for LineWriter<'_> {
    type Error = std::fmt::Error;

    fn write_str(&mut self, text: &str) -> Result<usize, Self::Error> {
        if text == "\n" {
            self.end_line();
            self.output.push('\n');
        } else {
            self.line.push_str(text);
        }
        Ok(text.len())
    }

    fn fail_doc(&self) -> Self::Error {
        std::fmt::Error
    }
}

impl RenderAnnotated<'_, CommentMark> for LineWriter<'_> {
    fn push_annotation(&mut self, mark: &CommentMark) -> Result<(), Self::Error> {
        self.marks.push(*mark);
        Ok(())
    }

    fn pop_annotation(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
