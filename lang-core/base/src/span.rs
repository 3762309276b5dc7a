//! **Byte ranges.** Inside a definition they are relative to the first byte of its text, so that
//! moving a definition changes nothing in its trees.

/// A half-open byte range `start..end`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Returns the range `start..end`.
    #[must_use]
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Returns the smallest range that contains both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Returns the range moved by `by` bytes.
    #[must_use]
    pub fn shift(self, by: u32) -> Self {
        Self { start: self.start.saturating_add(by), end: self.end.saturating_add(by) }
    }

    /// Returns the empty range at the end of this one.
    #[must_use]
    pub fn end_point(self) -> Self {
        Self { start: self.end, end: self.end }
    }

    /// Returns the range as `usize`, for slicing text with `str::get`.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Whether the range contains the byte `at`. Its end counts too, because a cursor may be there.
    #[must_use]
    pub fn contains_inclusive(self, at: u32) -> bool {
        self.start <= at && at <= self.end
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
