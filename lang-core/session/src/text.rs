//! **Text of a file.** Holds the text and its items with their positions. After an edit only the
//! part that it may affect is split again. The queries see the texts of items alone; positions are
//! kept here, out of their reach.

use std::ops::Range;
use std::sync::Arc;

use lang_base::Name;
use lang_syntax::lexer::MAX_TEXT_BYTES;
use lang_syntax::split::{ItemKind, ItemText, resplit, split};

/// The text of a file and its items.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct FileText {
    text: Arc<str>,
    pieces: Vec<ItemPiece>,
}

/// An item as text. It excludes the comments before and after the item, so that editing one affects
/// no item. Documentation comments stay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ItemPiece {
    /// Its kind.
    pub(super) kind: ItemKind,
    /// Its name, as the splitter found it.
    pub(super) name: Name,
    /// Its text.
    pub(super) text: Arc<str>,
    /// The position of the text.
    pub(super) start: u32,
    /// The position of the comments before it.
    comment_start: u32,
    /// The offset of its first word, if an item begins there regardless of the text before.
    certain_start: Option<u32>,
}

impl ItemPiece {
    fn new(item: ItemText) -> Self {
        let (skipped, text) = without_comments(&item.text);
        let start = item.start.saturating_add(u32::try_from(skipped).unwrap_or(u32::MAX));
        let text = if text.len() < item.text.len() { text.into() } else { Arc::clone(&item.text) };
        Self {
            kind: item.kind,
            name: item.name,
            text,
            start,
            comment_start: item.start,
            certain_start: item.stable_start,
        }
    }
}

impl FileText {
    /// Splits a text.
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.into(), pieces: split(text).into_iter().map(ItemPiece::new).collect() }
    }

    /// Returns the whole text.
    pub(super) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns its items, in order.
    pub(super) fn pieces(&self) -> &[ItemPiece] {
        &self.pieces
    }

    /// Returns whether the text is too long to be parsed.
    pub(super) fn is_too_long(&self) -> bool {
        self.text.len() > MAX_TEXT_BYTES
    }

    /// Returns the last item whose text begins at or before `at`.
    pub(super) fn last_piece_before(&self, at: u32) -> Option<usize> {
        self.pieces.partition_point(|piece| piece.start <= at).checked_sub(1)
    }

    /// Replaces the whole text, as [`Self::replace`] does. The common prefix and suffix count as
    /// unchanged.
    pub(super) fn set(&mut self, text: &str) -> (Range<usize>, Vec<ItemPiece>) {
        let old = Arc::clone(&self.text);
        let (a, b) = (old.as_bytes(), text.as_bytes());
        let start = text.floor_char_boundary(common_prefix_length(a, b));
        let end = common_suffix_length(a.get(start..).unwrap_or_default(), b.get(start..).unwrap_or_default());
        // Both texts have the same bytes after that position.
        let end = text.len() - text.ceil_char_boundary(text.len() - end);
        self.replace(start..old.len() - end, text.len() - end - start, text.into())
    }

    /// Replaces a range of bytes, which shrinks until it fits.
    pub(super) fn edit(&mut self, range: Range<usize>, text: &str) -> (Range<usize>, Vec<ItemPiece>) {
        let old = &self.text;
        let end = old.floor_char_boundary(range.end);
        let start = old.floor_char_boundary(range.start.min(end));
        let (before, after) = (old.get(..start).unwrap_or_default(), old.get(end..).unwrap_or_default());
        let new = [before, text, after].concat();
        self.replace(start..end, text.len(), new.into())
    }

    /// Replaces the bytes `edited`, which must lie on character boundaries. `text` is the whole new
    /// text, with `inserted` bytes in their place. Returns the changed items by their old
    /// positions, and the old items.
    pub(super) fn replace(
        &mut self,
        edited: Range<usize>,
        inserted: usize,
        text: Arc<str>,
    ) -> (Range<usize>, Vec<ItemPiece>) {
        let places: Vec<(u32, Option<u32>)> = self.pieces.iter().map(|p| (p.comment_start, p.certain_start)).collect();
        let (old, new) = resplit(&places, edited.clone(), inserted, &text);
        self.text = text;
        // Texts have at most `MAX_TEXT_BYTES` bytes, or no items.
        let moved = |at: u32| u32::try_from((at as usize + inserted).saturating_sub(edited.len())).unwrap_or(u32::MAX);
        for piece in self.pieces.iter_mut().skip(old.end) {
            piece.start = moved(piece.start);
            piece.comment_start = moved(piece.comment_start);
            piece.certain_start = piece.certain_start.map(moved);
        }
        let was = self.pieces.splice(old.clone(), new.into_iter().map(ItemPiece::new)).collect();
        (old, was)
    }
}

/// The number of bytes that one comparison takes.
const BLOCK: usize = 64;

/// Returns the length of the common prefix.
fn common_prefix_length(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    blocks + a.iter().zip(b).skip(blocks).take_while(|(a, b)| a == b).count()
}

/// Returns the length of the common suffix.
fn common_suffix_length(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    blocks + a.iter().rev().zip(b.iter().rev()).skip(blocks).take_while(|(a, b)| a == b).count()
}

/// Returns an item's text without the comment lines before and after it, and the number of bytes
/// omitted before it.
fn without_comments(text: &str) -> (usize, &str) {
    let is_comment = |line: &str| line.starts_with("--") && !line.starts_with("--|");
    let mut rest = text.trim_start();
    while is_comment(rest) {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    let skipped = text.len() - rest.len();
    rest = rest.trim_end();
    while let Some((before, line)) = rest.rsplit_once('\n')
        && is_comment(line.trim_start())
    {
        rest = before.trim_end();
    }
    (skipped, rest)
}
