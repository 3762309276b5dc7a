//! The text of a file and those of its items, with their places. After an edit only what it may have changed is split
//! again. Queries see the texts of items alone: where they stand is known here, and is nothing they could ask for.

use std::ops::Range;
use std::sync::Arc;

use crate::base::Name;
use crate::syntax::lexer::MAX_TEXT;
use crate::syntax::split::{ItemKind, ItemText, resplit, split};

/// A file's text and its items.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct FileText {
    text: Arc<str>,
    pieces: Vec<Piece>,
}

/// An item as text. Comments before and after it are left out, so that editing one touches no item; those of
/// documentation stay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    /// What it is.
    pub(super) kind: ItemKind,
    /// Its name, as the split found it.
    pub(super) name: Name,
    /// Its text.
    pub(super) text: Arc<str>,
    /// Where that begins.
    pub(super) start: u32,
    /// Where its comments begin.
    begin: u32,
    /// Where it is sure to begin, whatever stands before.
    sure: Option<u32>,
}

impl Piece {
    fn new(item: ItemText) -> Self {
        let (skipped, text) = without_comments(&item.text);
        let start = item.start.saturating_add(u32::try_from(skipped).unwrap_or(u32::MAX));
        let text = if text.len() < item.text.len() { text.into() } else { Arc::clone(&item.text) };
        Self { kind: item.kind, name: item.name, text, start, begin: item.start, sure: item.sure }
    }
}

impl FileText {
    /// A text, split.
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.into(), pieces: split(text).into_iter().map(Piece::new).collect() }
    }

    /// All of it.
    pub(super) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Its items, in order.
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Is it too long to be read?
    pub(super) fn is_too_long(&self) -> bool {
        self.text.len() > MAX_TEXT
    }

    /// The item whose text begins last before `at`, or there.
    pub(super) fn before(&self, at: u32) -> Option<usize> {
        self.pieces.partition_point(|piece| piece.start <= at).checked_sub(1)
    }

    /// Puts another text in place of all; of what both begin and end with, nothing changes. See [`Self::replace`].
    pub(super) fn set(&mut self, text: &str) -> (Range<usize>, Vec<Piece>) {
        let old = Arc::clone(&self.text);
        let (a, b) = (old.as_bytes(), text.as_bytes());
        let start = text.floor_char_boundary(common(a, b));
        let end = common_end(a.get(start..).unwrap_or_default(), b.get(start..).unwrap_or_default());
        // Both texts have the same bytes from there on.
        let end = text.len() - text.ceil_char_boundary(text.len() - end);
        self.replace(start..old.len() - end, text.len() - end - start, text.into())
    }

    /// Replaces a range of bytes, made smaller until it fits.
    pub(super) fn edit(&mut self, range: Range<usize>, text: &str) -> (Range<usize>, Vec<Piece>) {
        let old = &self.text;
        let end = old.floor_char_boundary(range.end);
        let start = old.floor_char_boundary(range.start.min(end));
        let (before, after) = (old.get(..start).unwrap_or_default(), old.get(end..).unwrap_or_default());
        let new = [before, text, after].concat();
        self.replace(start..end, text.len(), new.into())
    }

    /// Replaces bytes, which begin and end between characters, by others, `inserted` many of the text that it is then.
    /// Gives the items that are others, by their positions in what there was, and what was there.
    pub(super) fn replace(
        &mut self,
        edited: Range<usize>,
        inserted: usize,
        text: Arc<str>,
    ) -> (Range<usize>, Vec<Piece>) {
        let places: Vec<(u32, Option<u32>)> = self.pieces.iter().map(|p| (p.begin, p.sure)).collect();
        let (old, new) = resplit(&places, edited.clone(), inserted, &text);
        self.text = text;
        // Texts have at most `MAX_TEXT` bytes, or no items.
        let moved = |at: u32| u32::try_from((at as usize + inserted).saturating_sub(edited.len())).unwrap_or(u32::MAX);
        for piece in self.pieces.iter_mut().skip(old.end) {
            piece.start = moved(piece.start);
            piece.begin = moved(piece.begin);
            piece.sure = piece.sure.map(moved);
        }
        let was = self.pieces.splice(old.clone(), new.into_iter().map(Piece::new)).collect();
        (old, was)
    }
}

/// Bytes are compared so many at a time.
const BLOCK: usize = 64;

/// With how many of the same bytes both begin.
fn common(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    blocks + a.iter().zip(b).skip(blocks).take_while(|(a, b)| a == b).count()
}

/// With how many of the same bytes both end.
fn common_end(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    blocks + a.iter().rev().zip(b.iter().rev()).skip(blocks).take_while(|(a, b)| a == b).count()
}

/// An item's text without the lines of comment before and after it, and how many bytes of it were left out before.
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
