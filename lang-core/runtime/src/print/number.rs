//! **Number formatting** for people: a number of significant digits, with a point, and an exponent
//! for very large or very small numbers.
//!
//! Every shown digit is correct. Zeros never replace omitted digits; an exponent does
//! (`1.23457e5`). Whole numbers keep all their digits.

use std::fmt::{Debug, LowerExp};

/// The number of significant digits of reals.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Digits {
    /// All digits for a single number, and at most [`ELEMENT_DIGITS`] for elements of arrays.
    #[default]
    Usual,
    /// At most this many.
    AtMost(usize),
    /// The shortest digits that identify a number. Arrays are not elided either, so the output
    /// reads back as the same value.
    All,
}

/// The default number of significant digits of array elements.
const ELEMENT_DIGITS: usize = 6;

/// A number of digits that no real exceeds.
const MAX_DIGITS: usize = 20;

/// The bound below which whole numbers are shown with all their digits.
const INTEGER_BOUND: f64 = 1e15;

/// The maximal number of trailing zeros before the point of an exact number; beyond it, an exponent
/// is used.
const MAX_TRAILING_ZEROS: usize = 6;

impl Digits {
    /// Returns the number of digits of a single number; `None` is all.
    pub fn for_single(self) -> Option<usize> {
        match self {
            Self::AtMost(n) => Some(n.clamp(1, MAX_DIGITS)),
            Self::Usual | Self::All => None,
        }
    }

    /// Returns the number of digits of an array element; `None` is all.
    pub fn for_element(self) -> Option<usize> {
        if self == Self::Usual { Some(ELEMENT_DIGITS) } else { self.for_single() }
    }
}

/// Formats a real with at most this many digits, or as `inf`, `-inf` or `nan`.
pub(super) fn format_real<T: Debug + LowerExp + Into<f64> + Copy>(x: T, digits: Option<usize>) -> String {
    let value: f64 = x.into();
    if !value.is_finite() {
        return (if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        })
        .to_owned();
    }
    let Some(most) = digits else { return format!("{x:?}") };
    let shortest = Decimal::parse(&format!("{x:e}"));
    // Whole numbers keep their digits, because counts and times differ in the last ones.
    let whole = value.fract() == 0.0 && value.abs() < INTEGER_BOUND;
    let exact = whole || shortest.digits.len() <= most;
    let decimal = if exact { shortest } else { Decimal::parse(&format!("{x:.*e}", most.saturating_sub(1))) };
    decimal.format(exact, most)
}

/// A decimal number: `digits` with a point after the first, times ten to the `exponent`.
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i32,
}

impl Decimal {
    /// Parses text such as `-1.25e-7`.
    fn parse(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let kept = digits.trim_end_matches('0');
        Self {
            negative: mantissa.starts_with('-'),
            digits: if kept.is_empty() { "0".to_owned() } else { kept.to_owned() },
            exponent: exponent.parse().unwrap_or(0),
        }
    }

    fn format(&self, exact: bool, most: usize) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits = self.digits.as_str();
        // The number of digits before the point.
        let whole = usize::try_from(self.exponent.saturating_add(1)).unwrap_or(0);
        let fits = if exact { whole.saturating_sub(digits.len()) <= MAX_TRAILING_ZEROS } else { whole < most.max(2) };
        if self.exponent < -4 || whole > 16 || !fits {
            let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
            let point = if rest.is_empty() { "" } else { "." };
            return format!("{sign}{first}{point}{rest}e{}", self.exponent);
        }
        if whole == 0 {
            let zeros = usize::try_from(-1 - self.exponent).unwrap_or(0);
            return format!("{sign}0.{}{digits}", "0".repeat(zeros));
        }
        match digits.split_at_checked(whole) {
            Some((before, after)) => format!("{sign}{before}.{}", if after.is_empty() { "0" } else { after }),
            None => format!("{sign}{digits:0<whole$}.0"),
        }
    }
}

/// The text of an array element in a column. Reals are aligned at the point.
pub(super) struct TableCell {
    pub text: String,
    /// The number of characters before the alignment point.
    before_point: usize,
    alignment: CellAlignment,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CellAlignment {
    /// A real, aligned at its point, or at its exponent if it has no point.
    Point,
    /// Integers, truth values, `inf`, `nan`: aligned at the right.
    Right,
    /// All other texts: aligned at the left.
    Left,
}

impl TableCell {
    /// Builds the cell of a real.
    pub(super) fn real(text: String) -> Self {
        match text.find(['.', 'e']) {
            Some(before) => Self { text, before_point: before, alignment: CellAlignment::Point },
            None => Self::right(text),
        }
    }

    /// Builds a cell that is aligned at the right.
    pub(super) fn right(text: String) -> Self {
        Self { text, before_point: 0, alignment: CellAlignment::Right }
    }

    /// Builds a cell that is aligned at the left.
    pub(super) fn left(text: String) -> Self {
        Self { text, before_point: 0, alignment: CellAlignment::Left }
    }

    /// Returns the width in characters.
    pub(super) fn width(&self) -> usize {
        self.text.chars().count()
    }
}

/// The widths of a column of cells.
#[derive(Clone, Copy, Default)]
pub(super) struct ColumnWidths {
    before_point: usize,
    after_point: usize,
    unaligned: usize,
}

impl ColumnWidths {
    /// Widens the column for a cell.
    pub(super) fn widen_for(&mut self, cell: &TableCell) {
        let width = cell.width();
        if cell.alignment == CellAlignment::Point {
            self.before_point = self.before_point.max(cell.before_point);
            self.after_point = self.after_point.max(width - cell.before_point);
        } else {
            self.unaligned = self.unaligned.max(width);
        }
    }

    /// Returns the width of the cells in characters.
    pub(super) fn width(self) -> usize {
        self.unaligned.max(self.before_point + self.after_point)
    }

    /// Returns the number of spaces before a cell.
    pub(super) fn indent(self, cell: &TableCell) -> usize {
        match cell.alignment {
            CellAlignment::Left => 0,
            CellAlignment::Right => self.width().saturating_sub(cell.width()),
            CellAlignment::Point => self.width().saturating_sub(self.after_point + cell.before_point),
        }
    }
}
