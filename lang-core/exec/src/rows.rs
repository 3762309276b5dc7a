//! **Row operations**: the inner loops, over elements that are contiguous or the same for all
//! steps. Elements with other strides are gathered first, in pieces that fit the cache.

use super::Stopped;
use super::nest::Row;
use super::tensor::Number;

/// So many steps are made at a time.
const PIECE: usize = 1024;

/// So many steps are done without asking whether the run is to end; a multiple of that.
const LONG: usize = 64 * PIECE;

const OUTSIDE: Stopped = Stopped::Broken("an element outside");

/// The elements of an operand along a piece of a row.
#[derive(Clone, Copy)]
pub(super) enum Lane<'a, T> {
    /// The same element at each step.
    Fixed(T),
    /// One element for each step.
    Dense(&'a [T]),
}

/// The location of a piece of a row in one operand.
#[derive(Clone, Copy)]
pub(super) enum Piece<'r> {
    /// From `offset` on, with a constant stride.
    Even { offset: i64, step: i64, count: usize },
    /// At these offsets.
    Listed(&'r [i64]),
}

/// A buffer of gathered elements.
pub(super) struct Gathered<T>(Vec<T>);

impl<T: Number> Gathered<T> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the elements of a piece, gathered if they are not contiguous.
    pub(super) fn lane<'a>(&'a mut self, items: &'a [T], piece: Piece<'_>) -> Result<Lane<'a, T>, Stopped> {
        let (offset, step, count) = match piece {
            Piece::Even { offset, step, count } => (offset, step, count),
            Piece::Listed(places) => {
                self.0.clear();
                for place in places {
                    let item = usize::try_from(*place).ok().and_then(|k| items.get(k));
                    self.0.push(*item.ok_or(OUTSIDE)?);
                }
                return Ok(Lane::Dense(&self.0));
            }
        };
        let start = usize::try_from(offset).map_err(|_| OUTSIDE)?;
        match step {
            0 => items.get(start).map(|x| Lane::Fixed(*x)),
            1 => start.checked_add(count).and_then(|end| items.get(start..end)).map(Lane::Dense),
            step => {
                self.0.clear();
                let apart = usize::try_from(step.unsigned_abs()).map_err(|_| OUTSIDE)?;
                if step > 0 {
                    let from = items.get(start..).ok_or(OUTSIDE)?;
                    self.0.extend(from.iter().step_by(apart).take(count));
                } else {
                    let from = items.get(..=start).ok_or(OUTSIDE)?;
                    self.0.extend(from.iter().rev().step_by(apart).take(count));
                }
                (self.0.len() == count).then_some(Lane::Dense(&self.0))
            }
        }
        .ok_or(OUTSIDE)
    }
}

impl Row<'_> {
    /// Calls `f` with the first step and the number of steps of each piece.
    pub(super) fn pieces(&self, f: &mut dyn FnMut(usize, usize) -> Result<(), Stopped>) -> Result<(), Stopped> {
        let mut first = 0;
        while first < self.count {
            if first.is_multiple_of(LONG) {
                self.run.poll()?;
            }
            let count = PIECE.min(self.count - first);
            f(first, count)?;
            first += count;
        }
        Ok(())
    }

    /// Returns the piece of the place with this number.
    pub(super) fn piece(&self, nth: usize, first: usize, count: usize) -> Piece<'_> {
        if let Some(list) = self.lists.get(nth) {
            return Piece::Listed(list.get(first..first.saturating_add(count)).unwrap_or_default());
        }
        let offset = self.offsets.get(nth).copied().unwrap_or(-1);
        let step = self.steps.get(nth).copied().unwrap_or(0);
        let by = step.wrapping_mul(i64::try_from(first).unwrap_or(0));
        Piece::Even { offset: offset.wrapping_add(by), step, count }
    }
}

/// Changes each element of the result by the value at its step; `None` where a change has no value. Where all steps
/// are at one element it is changed step by step.
fn change<T: Copy, X>(
    out: &mut [T],
    at: Piece<'_>,
    values: impl Iterator<Item = X>,
    f: impl Fn(T, X) -> Option<T>,
) -> Option<Result<(), Stopped>> {
    fn all<'o, T: Copy + 'o, X>(
        out: impl Iterator<Item = &'o mut T>,
        values: impl Iterator<Item = X>,
        f: impl Fn(T, X) -> Option<T>,
    ) -> Option<Result<(), Stopped>> {
        for (out, x) in out.zip(values) {
            *out = f(*out, x)?;
        }
        Some(Ok(()))
    }
    let (offset, step, count) = match at {
        Piece::Even { offset, step, count } => (offset, step, count),
        Piece::Listed(places) => {
            for (place, x) in places.iter().zip(values) {
                let Some(out) = usize::try_from(*place).ok().and_then(|k| out.get_mut(k)) else {
                    return Some(Err(OUTSIDE));
                };
                *out = f(*out, x)?;
            }
            return Some(Ok(()));
        }
    };
    let (Ok(start), Ok(step)) = (usize::try_from(offset), usize::try_from(step)) else { return Some(Err(OUTSIDE)) };
    let Some(length) = count.saturating_sub(1).checked_mul(step) else { return Some(Err(OUTSIDE)) };
    let end = start.checked_add(length);
    let Some(out) = end.and_then(|end| out.get_mut(start..=end)) else { return Some(Err(OUTSIDE)) };
    match (step, out) {
        (0, [out]) => {
            let mut sum = *out;
            for x in values {
                sum = f(sum, x)?;
            }
            *out = sum;
            Some(Ok(()))
        }
        (1, out) => all(out.iter_mut(), values, f),
        (step, out) => all(out.iter_mut().step_by(step.max(1)), values, f),
    }
}

/// The same with what always has a value.
fn each<T: Copy, X>(
    out: &mut [T],
    at: Piece<'_>,
    values: impl Iterator<Item = X>,
    f: impl Fn(T, X) -> T,
) -> Result<(), Stopped> {
    change(out, at, values, |a, x| Some(f(a, x))).unwrap_or(Err(OUTSIDE))
}

impl Piece<'_> {
    /// Returns the offsets.
    pub(super) fn places(self) -> Vec<i64> {
        match self {
            Self::Even { offset, step, count } => {
                let mut next = offset;
                let places = std::iter::repeat_with(|| {
                    let place = next;
                    next = next.wrapping_add(step);
                    place
                });
                places.take(count).collect()
            }
            Self::Listed(places) => places.to_vec(),
        }
    }

    fn count(self) -> usize {
        match self {
            Self::Even { count, .. } => count,
            Self::Listed(places) => places.len(),
        }
    }
}

/// Sets every element.
pub(super) fn set<T: Copy>(out: &mut [T], at: Piece<'_>, to: T) -> Result<(), Stopped> {
    each(out, at, std::iter::repeat_n((), at.count()), |_, ()| to)
}

/// Adds a term at each step, negated if `neg`.
pub(super) fn add<T: Number>(out: &mut [T], at: Piece<'_>, terms: Lane<'_, T>, neg: bool) -> Result<(), Stopped> {
    match (terms, neg) {
        (Lane::Fixed(x), _) => {
            let x = if neg { x.negated() } else { x };
            each(out, at, std::iter::repeat_n(x, at.count()), Number::plus)
        }
        (Lane::Dense(xs), false) => each(out, at, xs.iter().copied(), Number::plus),
        (Lane::Dense(xs), true) => each(out, at, xs.iter().copied(), |a, x| a.plus(x.negated())),
    }
}

/// Adds a product at each step.
pub(super) fn add_products<T: Number>(
    out: &mut [T],
    at: Piece<'_>,
    a: Lane<'_, T>,
    b: Lane<'_, T>,
) -> Result<(), Stopped> {
    match (a, b) {
        (Lane::Fixed(a), Lane::Fixed(b)) => add(out, at, Lane::Fixed(a.times(b)), false),
        (Lane::Fixed(a), Lane::Dense(b)) => each(out, at, b.iter().map(|b| a.times(*b)), Number::plus),
        (Lane::Dense(a), Lane::Fixed(b)) => each(out, at, a.iter().map(|a| a.times(b)), Number::plus),
        (Lane::Dense(a), Lane::Dense(b)) => each(out, at, a.iter().zip(b).map(|(a, b)| a.times(*b)), Number::plus),
    }
}

/// Stores `f(a)` at each step; `None` if a value does not exist.
pub(super) fn put_unary<A: Number, T: Number>(
    out: &mut [T],
    at: Piece<'_>,
    a: Lane<'_, A>,
    f: &impl Fn(A) -> Option<T>,
) -> Option<Result<(), Stopped>> {
    match a {
        Lane::Fixed(a) => f(a).map(|x| set(out, at, x)),
        Lane::Dense(a) => change(out, at, a.iter(), |_, a| f(*a)),
    }
}

/// Stores `f(a, b)` at each step; `None` if a value does not exist.
pub(super) fn put_binary<A: Number, B: Number, T: Number>(
    out: &mut [T],
    at: Piece<'_>,
    a: Lane<'_, A>,
    b: Lane<'_, B>,
    f: &impl Fn(A, B) -> Option<T>,
) -> Option<Result<(), Stopped>> {
    match (a, b) {
        (Lane::Fixed(a), Lane::Fixed(b)) => f(a, b).map(|x| set(out, at, x)),
        (Lane::Fixed(a), Lane::Dense(b)) => change(out, at, b.iter(), |_, b| f(a, *b)),
        (Lane::Dense(a), Lane::Fixed(b)) => change(out, at, a.iter(), |_, a| f(*a, b)),
        (Lane::Dense(a), Lane::Dense(b)) => change(out, at, a.iter().zip(b), |_, (a, b)| f(*a, *b)),
    }
}
