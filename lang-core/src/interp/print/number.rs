//! Numbers as people read them: so many significant digits, with a point, and an exponent where
//! the number is very large or very small.
//!
//! Digits that are shown are true: a number that has more of them than are shown is never written
//! with zeros in their place, but with an exponent (`1.23457e5`); whole numbers keep theirs.

use std::fmt::{Debug, LowerExp};

/// How many significant digits reals are shown with.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Digits {
    /// A number by itself with all it has, elements of arrays with at most [`ELEMENT`].
    #[default]
    Usual,
    /// At most so many.
    AtMost(usize),
    /// As many as tell a number from its neighbours. Nothing is left out of arrays either, so
    /// that what is shown reads back as the same value.
    All,
}

/// So many significant digits an element of an array has, unless another number is set.
const ELEMENT: usize = 6;

/// More digits than a real has.
const MOST: usize = 20;

/// Whole numbers below this one are shown with all their digits.
const WHOLE: f64 = 1e15;

/// An exact number ends in so many zeros before the point at the most; more are an exponent.
const ZEROS: usize = 6;

impl Digits {
    /// How many a number by itself has; `None` is all.
    pub(super) fn alone(self) -> Option<usize> {
        match self {
            Self::AtMost(n) => Some(n.clamp(1, MOST)),
            Self::Usual | Self::All => None,
        }
    }

    /// How many an element of an array has; `None` is all.
    pub(super) fn element(self) -> Option<usize> {
        if self == Self::Usual { Some(ELEMENT) } else { self.alone() }
    }
}

/// A real with at most so many digits; `inf` and `nan`.
pub(super) fn real<T: Debug + LowerExp + Into<f64> + Copy>(x: T, digits: Option<usize>) -> String {
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
    let shortest = Decimal::read(&format!("{x:e}"));
    // Whole numbers keep their digits, as counts and times are told apart by the last.
    let whole = value.fract() == 0.0 && value.abs() < WHOLE;
    let exact = whole || shortest.digits.len() <= most;
    let decimal = if exact { shortest } else { Decimal::read(&format!("{x:.*e}", most.saturating_sub(1))) };
    decimal.text(exact, most)
}

/// `digits` with a point after the first, times ten to the `exponent`.
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i32,
}

impl Decimal {
    /// Reads `-1.25e-7`.
    fn read(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let kept = digits.trim_end_matches('0');
        Self {
            negative: mantissa.starts_with('-'),
            digits: if kept.is_empty() { "0".to_owned() } else { kept.to_owned() },
            exponent: exponent.parse().unwrap_or(0),
        }
    }

    fn text(&self, exact: bool, most: usize) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits = self.digits.as_str();
        // How many digits stand before the point.
        let whole = usize::try_from(self.exponent.saturating_add(1)).unwrap_or(0);
        let fits = if exact { whole.saturating_sub(digits.len()) <= ZEROS } else { whole < most.max(2) };
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

/// The text of an element that stands below others: numbers are aligned at the point.
pub(super) struct Cell {
    pub(super) text: String,
    /// So many characters stand before what is aligned.
    before: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A real: aligned at its point, or where its point would be.
    Point,
    /// Integers, truth values, `inf`, `nan`: aligned at the right.
    Right,
    /// Anything else: aligned at the left.
    Left,
}

impl Cell {
    /// A real.
    pub(super) fn real(text: String) -> Self {
        match text.find(['.', 'e']) {
            Some(before) => Self { text, before, kind: Kind::Point },
            None => Self::right(text),
        }
    }

    /// What is aligned at the right.
    pub(super) fn right(text: String) -> Self {
        Self { text, before: 0, kind: Kind::Right }
    }

    /// What is aligned at the left.
    pub(super) fn left(text: String) -> Self {
        Self { text, before: 0, kind: Kind::Left }
    }

    /// How wide it is.
    pub(super) fn width(&self) -> usize {
        self.text.chars().count()
    }
}

/// Cells below one another.
#[derive(Clone, Copy, Default)]
pub(super) struct Column {
    before: usize,
    after: usize,
    other: usize,
}

impl Column {
    /// Takes a cell into account.
    pub(super) fn see(&mut self, cell: &Cell) {
        let width = cell.width();
        if cell.kind == Kind::Point {
            self.before = self.before.max(cell.before);
            self.after = self.after.max(width - cell.before);
        } else {
            self.other = self.other.max(width);
        }
    }

    /// How wide its cells are.
    pub(super) fn width(self) -> usize {
        self.other.max(self.before + self.after)
    }

    /// So many spaces stand before a cell.
    pub(super) fn indent(self, cell: &Cell) -> usize {
        match cell.kind {
            Kind::Left => 0,
            Kind::Right => self.width().saturating_sub(cell.width()),
            Kind::Point => self.width().saturating_sub(self.after + cell.before),
        }
    }
}
