//! **Source map.** The texts that reports point into: files, the library, inputs of the REPL,
//! arguments of the command line. Positions are byte offsets; only this module computes lines and
//! columns.

use std::cell::OnceCell;
use std::sync::Arc;

use lang_core::base::Span;

/// The index of a text in [`Sources`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SourceId(usize);

/// A text and its display name.
#[derive(Debug)]
pub(crate) struct SourceText {
    /// The name before `:line:column`.
    pub(crate) name: String,
    /// The whole text.
    pub(crate) text: Arc<str>,
    line_starts: OnceCell<Vec<usize>>,
}

/// A line and a column, from 1. Columns count Unicode scalar values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl SourceText {
    fn new(name: String, text: Arc<str>) -> Self {
        Self { name, text, line_starts: OnceCell::new() }
    }

    fn line_starts(&self) -> &[usize] {
        self.line_starts.get_or_init(|| {
            std::iter::once(0)
                .chain(self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1))
                .collect()
        })
    }

    /// Returns the line, from 0, that contains byte `at`.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.line_starts().partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Returns the start of line `line`, from 0, or the end of the text if no such line exists.
    pub(crate) fn line_start(&self, line: usize) -> usize {
        self.line_starts().get(line).copied().unwrap_or(self.text.len())
    }

    /// Returns the text of line `line`, from 0, without its line end.
    pub(crate) fn line_text(&self, line: usize) -> &str {
        let start = self.line_start(line);
        let end = self.line_starts().get(line + 1).map_or(self.text.len(), |next| next.saturating_sub(1));
        let text = self.text.get(start..end).unwrap_or_default();
        text.strip_suffix('\r').unwrap_or(text)
    }

    /// Returns the last character boundary at or before `at`.
    pub(crate) fn clamp(&self, at: usize) -> usize {
        floor_boundary(&self.text, at)
    }

    /// Returns the line and column of byte `at`.
    pub(crate) fn position(&self, at: usize) -> Position {
        let at = self.clamp(at);
        let line = self.line_of(at);
        let before = self.text.get(self.line_start(line)..at).unwrap_or_default();
        Position { line: line + 1, column: before.chars().count() + 1 }
    }

    /// Returns the span as a byte range on character boundaries, with its ends in order.
    pub(crate) fn range(&self, span: Span) -> std::ops::Range<usize> {
        let range = span.range();
        let start = self.clamp(range.start);
        start..self.clamp(range.end).max(start)
    }
}

/// Returns the last character boundary of `text` at or before `at`.
pub(crate) fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// All texts that a report can point into.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    sources: Vec<SourceText>,
}

impl Sources {
    /// Adds a text. A text with the same name and content is stored once.
    pub(crate) fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> SourceId {
        let (name, text) = (name.into(), text.into());
        let known = self.sources.iter().rposition(|s| s.name == name && s.text == text);
        SourceId(known.unwrap_or_else(|| {
            self.sources.push(SourceText::new(name, text));
            self.sources.len() - 1
        }))
    }

    /// Returns the text with that index.
    pub(crate) fn get(&self, id: SourceId) -> Option<&SourceText> {
        self.sources.get(id.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, at: usize, expected: (usize, usize)) {
        let mut sources = Sources::default();
        let id = sources.add("t", text);
        let p = sources.get(id).unwrap().position(at);
        assert_eq!((p.line, p.column), expected);
    }

    #[test]
    fn positions_count_characters() {
        check("", 0, (1, 1));
        check("", 9, (1, 1));
        check("ab\ncd", 1, (1, 2));
        check("ab\ncd", 2, (1, 3));
        check("ab\ncd", 3, (2, 1));
        check("ab\n", 3, (2, 1));
        check("μμ x", 5, (1, 4));
        check("μμ x", 3, (1, 2));
        check("a\r\nb", 3, (2, 1));
    }

    #[test]
    fn lines_without_their_ends() {
        let mut sources = Sources::default();
        let id = sources.add("t", "a\r\nbc\n");
        let s = sources.get(id).unwrap();
        assert_eq!((s.line_text(0), s.line_text(1), s.line_text(2), s.line_text(9)), ("a", "bc", "", ""));
    }
}
