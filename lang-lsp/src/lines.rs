//! **Line index.** Converts between byte offsets and the protocol's positions. A position is a line
//! and a character in the units that server and client agreed on. All other code counts bytes.
//!
//! Every position maps to a byte and every byte to a position. A position outside the text maps to
//! the nearest one inside. A position inside a character maps to its beginning.

use std::ops::Range;
use std::sync::OnceLock;

use tower_lsp::lsp_types::{Position, PositionEncodingKind, Range as LspRange};

/// The unit of a position's character.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, the protocol's default.
    #[default]
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

impl Encoding {
    /// Returns the encoding for a client that offers these, in the order of its preference. UTF-8
    /// is chosen if it is offered.
    pub(crate) fn negotiate(offered: Option<&[PositionEncodingKind]>) -> Self {
        let offered = offered.unwrap_or_default();
        if offered.contains(&PositionEncodingKind::UTF8) {
            return Self::Utf8;
        }
        match offered.first() {
            Some(first) if *first == PositionEncodingKind::UTF32 => Self::Utf32,
            _ => Self::Utf16,
        }
    }

    /// Returns its name in the protocol.
    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
            Self::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::Utf32 => 1,
        }
    }

    /// Returns the length of a text in units.
    pub(crate) fn len(self, text: &str) -> u32 {
        let units = match self {
            Self::Utf8 => text.len(),
            Self::Utf16 if text.is_ascii() => text.len(),
            Self::Utf16 => text.chars().map(char::len_utf16).sum(),
            Self::Utf32 => text.chars().count(),
        };
        clamp(units)
    }
}

/// The approximate number of bytes that a conversion scans, regardless of the length of the line.
const BLOCK: usize = if cfg!(test) { 4 } else { 1024 };

/// The starts of a text's lines. As in the protocol, a line ends with `\n`, `\r\n` or `\r`.
#[derive(Clone, Debug)]
pub(crate) struct LineIndex {
    starts: Vec<u32>,
    /// The number of units before each block of the text. It is counted when a long line is first
    /// converted.
    blocks: OnceLock<Vec<UnitCounts>>,
}

/// The number of units before an offset.
#[derive(Clone, Copy, Default, Debug)]
struct UnitCounts {
    utf16: usize,
    utf32: usize,
}

impl PartialEq for LineIndex {
    fn eq(&self, other: &Self) -> bool {
        self.starts == other.starts
    }
}

impl LineIndex {
    /// Builds the index of a text.
    pub(crate) fn new(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(line_starts_after_breaks(text, 0..text.len()));
        Self { starts, blocks: OnceLock::new() }
    }

    /// Updates the index after `range` was replaced by `len` bytes; `text` is the result. Scans
    /// only the lines that the change touches, and shifts the others.
    pub(crate) fn update(&mut self, text: &str, range: Range<usize>, len: usize) {
        self.blocks.take();
        let mut first = self.line_of(range.start);
        // A line feed may now follow the carriage return that ended the previous line.
        if self.start(first) == range.start {
            first = first.saturating_sub(1);
        }
        // After the first line break behind the change, lines are only shifted.
        let behind = self.starts.partition_point(|s| (*s as usize) <= range.end);
        let moved = |at: usize| at.saturating_sub(range.len()).saturating_add(len);
        let until = self.starts.get(behind).map_or(text.len(), |s| moved(*s as usize));
        for start in self.starts.iter_mut().skip(behind) {
            *start = clamp(moved(*start as usize));
        }
        let from = self.start(first);
        let found: Vec<u32> = line_starts_after_breaks(text, from..until).collect();
        let behind = behind.saturating_add(1).min(self.starts.len());
        self.starts.splice(first.saturating_add(1).min(behind)..behind, found);
    }

    /// Returns the number of lines; an empty text has one.
    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|s| (*s as usize) <= at).saturating_sub(1)
    }

    fn start(&self, line: usize) -> usize {
        self.starts.get(line).map_or(0, |s| *s as usize)
    }

    /// Returns the text of a line without its line break; empty after the last line.
    fn text<'t>(&self, text: &'t str, line: usize) -> &'t str {
        let Some(start) = self.starts.get(line) else { return "" };
        let end = self.starts.get(line.saturating_add(1)).map_or(text.len(), |s| *s as usize);
        let line = text.get(*start as usize..end).unwrap_or_default();
        line.trim_end_matches(['\r', '\n'])
    }

    /// Converts a position to an offset.
    pub(crate) fn offset(&self, text: &str, at: Position, encoding: Encoding) -> usize {
        let line = at.line as usize;
        if line >= self.count() {
            return text.len();
        }
        let content = self.text(text, line);
        let (start, wanted) = (self.start(line), at.character as usize);
        let end = start.saturating_add(content.len());
        if encoding == Encoding::Utf8 {
            return text.floor_char_boundary(start.saturating_add(wanted).min(end));
        }
        let (from, mut units) = match content.len() > BLOCK {
            true => self.last_block_before(text, start, wanted, encoding),
            false => (start, 0),
        };
        // If more units are wanted than the line has, the block may begin after its end.
        let from = from.min(end);
        let rest = text.get(from..end).unwrap_or_default();
        let within = rest.char_indices().find_map(|(byte, c)| {
            units = units.saturating_add(encoding.width(c));
            (units > wanted).then_some(byte)
        });
        from.saturating_add(within.unwrap_or(rest.len()))
    }

    /// Converts a range to offsets, with the ends in order.
    pub(crate) fn byte_range(&self, text: &str, range: LspRange, encoding: Encoding) -> Range<usize> {
        let (a, b) = (self.offset(text, range.start, encoding), self.offset(text, range.end, encoding));
        a.min(b)..a.max(b)
    }

    /// Converts an offset to a position.
    pub(crate) fn position(&self, text: &str, at: usize, encoding: Encoding) -> Position {
        let at = text.floor_char_boundary(at);
        let line = self.line_of(at);
        let start = self.start(line);
        // An offset between `\r` and `\n` is at the end of the line.
        let before = text.get(start..at).unwrap_or_default().trim_end_matches(['\r', '\n']);
        let character = match before.len() > BLOCK && encoding != Encoding::Utf8 {
            true => {
                let units = |at| self.units(text, at, encoding);
                clamp(units(start.saturating_add(before.len())).saturating_sub(units(start)))
            }
            false => encoding.len(before),
        };
        Position { line: clamp(line), character }
    }

    /// Returns the unit counts of the text's blocks.
    fn blocks(&self, text: &str) -> &[UnitCounts] {
        self.blocks.get_or_init(|| {
            let mut all = vec![UnitCounts::default()];
            let (mut before, mut rest) = (UnitCounts::default(), text);
            let mut at = 0;
            while let Some((block, behind)) = rest.split_at_checked(block_start(text, all.len()).saturating_sub(at))
                && !behind.is_empty()
            {
                at = at.saturating_add(block.len());
                before.utf16 = before.utf16.saturating_add(Encoding::Utf16.len(block) as usize);
                before.utf32 = before.utf32.saturating_add(Encoding::Utf32.len(block) as usize);
                all.push(before);
                rest = behind;
            }
            all
        })
    }

    /// Returns the number of units from the beginning of the text to an offset.
    fn units(&self, text: &str, at: usize, encoding: Encoding) -> usize {
        let blocks = self.blocks(text);
        let block = (at / BLOCK).min(blocks.len().saturating_sub(1));
        let before = blocks.get(block).map_or(0, |before| before.in_units(encoding));
        let rest = text.get(block_start(text, block)..at).unwrap_or_default();
        before.saturating_add(encoding.len(rest) as usize)
    }

    /// Returns the last block that begins at most `wanted` units after the start of a line, as its
    /// offset and the units between. If no such block begins inside the line, returns the start of
    /// the line.
    fn last_block_before(&self, text: &str, start: usize, wanted: usize, encoding: Encoding) -> (usize, usize) {
        let line = self.units(text, start, encoding);
        let blocks = self.blocks(text);
        let behind = blocks.partition_point(|before| before.in_units(encoding) <= line.saturating_add(wanted));
        let block = behind.saturating_sub(1);
        match block_start(text, block) {
            from if from > start => {
                let before = blocks.get(block).map_or(0, |before| before.in_units(encoding));
                (from, before.saturating_sub(line))
            }
            _ => (start, 0),
        }
    }
}

/// Returns the offset of a block.
fn block_start(text: &str, block: usize) -> usize {
    text.floor_char_boundary(block.saturating_mul(BLOCK))
}

impl UnitCounts {
    /// Returns the count in units of an encoding other than UTF-8.
    fn in_units(self, encoding: Encoding) -> usize {
        match encoding {
            Encoding::Utf16 => self.utf16,
            Encoding::Utf32 | Encoding::Utf8 => self.utf32,
        }
    }
}

/// Returns the offsets after the line breaks that begin in a range.
fn line_starts_after_breaks(text: &str, range: Range<usize>) -> impl Iterator<Item = u32> {
    let (bytes, from) = (text.as_bytes(), range.start);
    let inside = bytes.get(range).unwrap_or_default();
    inside.iter().enumerate().filter_map(move |(i, b)| {
        let next = from.saturating_add(i).saturating_add(1);
        let ends = *b == b'\n' || (*b == b'\r' && bytes.get(next) != Some(&b'\n'));
        ends.then(|| clamp(next))
    })
}

/// Converts to a number of the protocol. No text reaches its maximum.
pub(crate) fn clamp(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn agreeing() {
        use PositionEncodingKind as K;
        let check = |offered: &[K], expected| assert_eq!(Encoding::negotiate(Some(offered)), expected);
        check(&[], Encoding::Utf16);
        check(&[K::UTF16, K::UTF8], Encoding::Utf8);
        check(&[K::UTF32, K::UTF16], Encoding::Utf32);
        check(&[K::UTF16, K::UTF32], Encoding::Utf16);
        assert_eq!(Encoding::negotiate(None), Encoding::Utf16);
    }

    #[test]
    fn places_in_characters_and_outside() {
        let text = "aμ𝛼b\r\nz";
        let lines = LineIndex::new(text);
        let check = |p, encoding, expected| assert_eq!(lines.offset(text, p, encoding), expected, "{p:?} {encoding:?}");
        check(at(0, 2), Encoding::Utf16, 3);
        // Inside the surrogate pair, and inside the bytes of a character.
        check(at(0, 3), Encoding::Utf16, 3);
        check(at(0, 4), Encoding::Utf16, 7);
        check(at(0, 2), Encoding::Utf8, 1);
        check(at(0, 3), Encoding::Utf32, 7);
        // After the end of the line, and after the end of the text.
        check(at(0, 99), Encoding::Utf16, 8);
        check(at(1, 99), Encoding::Utf16, 11);
        check(at(7, 0), Encoding::Utf8, 11);
        assert_eq!(lines.position(text, 9, Encoding::Utf16), at(0, 5));
        assert_eq!(lines.position(text, 99, Encoding::Utf16), at(1, 1));
    }

    fn texts() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "μ", "𝛼", "\n", "\r", "\r\n", "def f", " "]), 0..24)
            .prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn every_byte_has_a_position(text in texts()) {
            let lines = LineIndex::new(&text);
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                for (byte, c) in text.char_indices().chain([(text.len(), ' ')]) {
                    let place = lines.position(&text, byte, encoding);
                    let line = lines.text(&text, place.line as usize);
                    let before = byte.saturating_sub(lines.start(place.line as usize)).min(line.len());
                    prop_assert_eq!(Some(place.character), line.get(..before).map(|before| encoding.len(before)));
                    let found = lines.offset(&text, place, encoding);
                    // A line break may have two characters. The position before the second is that
                    // before the first.
                    let split = c == '\n' && text.get(..byte).is_some_and(|t| t.ends_with('\r'));
                    prop_assert_eq!(found, byte - usize::from(split));
                }
            }
        }

        #[test]
        fn edits_keep_the_lines(text in texts(), new in texts(), a in 0usize..60, b in 0usize..60) {
            let (a, b) = (text.floor_char_boundary(a.min(b)), text.floor_char_boundary(a.max(b)));
            let mut lines = LineIndex::new(&text);
            let mut changed = text.clone();
            changed.replace_range(a..b, &new);
            lines.update(&changed, a..b, new.len());
            prop_assert_eq!(lines, LineIndex::new(&changed), "{:?} {}..{} by {:?}", text, a, b, new);
        }

        #[test]
        fn any_position_is_a_place(text in texts(), line in 0u32..30, character in 0u32..30) {
            let lines = LineIndex::new(&text);
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                prop_assert!(text.is_char_boundary(lines.offset(&text, at(line, character), encoding)));
            }
        }
    }
}
