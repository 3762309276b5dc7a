//! **Row operations**: the inner loops, over elements that are contiguous or equal for all steps.
//! They gather elements with other strides first, in pieces that fit the cache.

use super::RunError;
use super::nest::LoopRow;
use super::tensor::TensorElement;

/// The number of steps of a piece.
const PIECE_LENGTH: usize = 1024;

/// The number of steps between two polls of the interrupt flag, a multiple of that of a piece.
const POLL_INTERVAL: usize = 64 * PIECE_LENGTH;

const OUT_OF_BOUNDS: RunError = RunError::Internal("an element out of bounds");

/// The elements of an operand along a piece of a row.
#[derive(Clone, Copy)]
pub(super) enum RowOperand<'a, T> {
    /// The same element at each step.
    Uniform(T),
    /// One element for each step.
    Dense(&'a [T]),
}

/// The location of a piece of a row in one operand.
#[derive(Clone, Copy)]
pub(super) enum RowPiece<'r> {
    /// From `offset` on, with a constant stride.
    Strided { offset: i64, step: i64, count: usize },
    /// At these offsets.
    Listed(&'r [i64]),
}

/// A buffer of gathered elements.
pub(super) struct GatherBuffer<T>(Vec<T>);

impl<T: TensorElement> GatherBuffer<T> {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the elements of a piece, gathered if they are not contiguous.
    pub(super) fn operand<'a>(
        &'a mut self,
        items: &'a [T],
        piece: RowPiece<'_>,
    ) -> Result<RowOperand<'a, T>, RunError> {
        let (offset, step, count) = match piece {
            RowPiece::Strided { offset, step, count } => (offset, step, count),
            RowPiece::Listed(places) => {
                self.0.clear();
                for place in places {
                    let item = usize::try_from(*place).ok().and_then(|k| items.get(k));
                    self.0.push(*item.ok_or(OUT_OF_BOUNDS)?);
                }
                return Ok(RowOperand::Dense(&self.0));
            }
        };
        let start = usize::try_from(offset).map_err(|_| OUT_OF_BOUNDS)?;
        match step {
            0 => items.get(start).map(|x| RowOperand::Uniform(*x)),
            1 => start.checked_add(count).and_then(|end| items.get(start..end)).map(RowOperand::Dense),
            step => {
                self.0.clear();
                let stride = usize::try_from(step.unsigned_abs()).map_err(|_| OUT_OF_BOUNDS)?;
                if step > 0 {
                    let from = items.get(start..).ok_or(OUT_OF_BOUNDS)?;
                    self.0.extend(from.iter().step_by(stride).take(count));
                } else {
                    let from = items.get(..=start).ok_or(OUT_OF_BOUNDS)?;
                    self.0.extend(from.iter().rev().step_by(stride).take(count));
                }
                (self.0.len() == count).then_some(RowOperand::Dense(&self.0))
            }
        }
        .ok_or(OUT_OF_BOUNDS)
    }
}

impl LoopRow<'_> {
    /// Calls `f` with the first step and the number of steps of each piece.
    pub(super) fn for_each_piece(
        &self,
        f: &mut dyn FnMut(usize, usize) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut first = 0;
        while first < self.count {
            if first.is_multiple_of(POLL_INTERVAL) {
                self.run.poll()?;
            }
            let count = PIECE_LENGTH.min(self.count - first);
            f(first, count)?;
            first += count;
        }
        Ok(())
    }

    /// Returns the piece of the operand with this number; the result has number 0.
    pub(super) fn piece(&self, nth: usize, first: usize, count: usize) -> RowPiece<'_> {
        if let Some(list) = self.offset_lists.get(nth) {
            return RowPiece::Listed(list.get(first..first.saturating_add(count)).unwrap_or_default());
        }
        let offset = self.offsets.get(nth).copied().unwrap_or(-1);
        let step = self.strides.get(nth).copied().unwrap_or(0);
        let by = step.wrapping_mul(i64::try_from(first).unwrap_or(0));
        RowPiece::Strided { offset: offset.wrapping_add(by), step, count }
    }
}

/// Updates each element of the result by the value at its step; `None` if an update has no value.
/// If all steps are at one element, they update it in order.
fn update_each<T: Copy, X>(
    out: &mut [T],
    at: RowPiece<'_>,
    values: impl Iterator<Item = X>,
    f: impl Fn(T, X) -> Option<T>,
) -> Option<Result<(), RunError>> {
    fn all<'o, T: Copy + 'o, X>(
        out: impl Iterator<Item = &'o mut T>,
        values: impl Iterator<Item = X>,
        f: impl Fn(T, X) -> Option<T>,
    ) -> Option<Result<(), RunError>> {
        for (out, x) in out.zip(values) {
            *out = f(*out, x)?;
        }
        Some(Ok(()))
    }
    let (offset, step, count) = match at {
        RowPiece::Strided { offset, step, count } => (offset, step, count),
        RowPiece::Listed(places) => {
            for (place, x) in places.iter().zip(values) {
                let Some(out) = usize::try_from(*place).ok().and_then(|k| out.get_mut(k)) else {
                    return Some(Err(OUT_OF_BOUNDS));
                };
                *out = f(*out, x)?;
            }
            return Some(Ok(()));
        }
    };
    let (Ok(start), Ok(step)) = (usize::try_from(offset), usize::try_from(step)) else {
        return Some(Err(OUT_OF_BOUNDS));
    };
    let Some(length) = count.saturating_sub(1).checked_mul(step) else { return Some(Err(OUT_OF_BOUNDS)) };
    let end = start.checked_add(length);
    let Some(out) = end.and_then(|end| out.get_mut(start..=end)) else { return Some(Err(OUT_OF_BOUNDS)) };
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

/// Updates each element as [`update_each`] does, by a function that always has a value.
fn update_each_total<T: Copy, X>(
    out: &mut [T],
    at: RowPiece<'_>,
    values: impl Iterator<Item = X>,
    f: impl Fn(T, X) -> T,
) -> Result<(), RunError> {
    update_each(out, at, values, |a, x| Some(f(a, x))).unwrap_or(Err(OUT_OF_BOUNDS))
}

impl RowPiece<'_> {
    /// Returns the offsets.
    pub(super) fn offsets(self) -> Vec<i64> {
        match self {
            Self::Strided { offset, step, count } => {
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
            Self::Strided { count, .. } => count,
            Self::Listed(places) => places.len(),
        }
    }
}

/// Sets every element.
pub(super) fn set<T: Copy>(out: &mut [T], at: RowPiece<'_>, to: T) -> Result<(), RunError> {
    update_each_total(out, at, std::iter::repeat_n((), at.count()), |_, ()| to)
}

/// Adds a term at each step, negated if `neg`.
pub(super) fn add<T: TensorElement>(
    out: &mut [T],
    at: RowPiece<'_>,
    terms: RowOperand<'_, T>,
    neg: bool,
) -> Result<(), RunError> {
    match (terms, neg) {
        (RowOperand::Uniform(x), _) => {
            let x = if neg { x.negated() } else { x };
            update_each_total(out, at, std::iter::repeat_n(x, at.count()), TensorElement::plus)
        }
        (RowOperand::Dense(xs), false) => update_each_total(out, at, xs.iter().copied(), TensorElement::plus),
        (RowOperand::Dense(xs), true) => update_each_total(out, at, xs.iter().copied(), |a, x| a.plus(x.negated())),
    }
}

/// Adds a product at each step.
pub(super) fn add_products<T: TensorElement>(
    out: &mut [T],
    at: RowPiece<'_>,
    a: RowOperand<'_, T>,
    b: RowOperand<'_, T>,
) -> Result<(), RunError> {
    match (a, b) {
        (RowOperand::Uniform(a), RowOperand::Uniform(b)) => add(out, at, RowOperand::Uniform(a.times(b)), false),
        (RowOperand::Uniform(a), RowOperand::Dense(b)) => {
            update_each_total(out, at, b.iter().map(|b| a.times(*b)), TensorElement::plus)
        }
        (RowOperand::Dense(a), RowOperand::Uniform(b)) => {
            update_each_total(out, at, a.iter().map(|a| a.times(b)), TensorElement::plus)
        }
        (RowOperand::Dense(a), RowOperand::Dense(b)) => {
            update_each_total(out, at, a.iter().zip(b).map(|(a, b)| a.times(*b)), TensorElement::plus)
        }
    }
}

/// Stores `f(a)` at each step; `None` if a value does not exist.
pub(super) fn put_unary<A: TensorElement, T: TensorElement>(
    out: &mut [T],
    at: RowPiece<'_>,
    a: RowOperand<'_, A>,
    f: &impl Fn(A) -> Option<T>,
) -> Option<Result<(), RunError>> {
    match a {
        RowOperand::Uniform(a) => f(a).map(|x| set(out, at, x)),
        RowOperand::Dense(a) => update_each(out, at, a.iter(), |_, a| f(*a)),
    }
}

/// Stores `f(a, b)` at each step; `None` if a value does not exist.
pub(super) fn put_binary<A: TensorElement, B: TensorElement, T: TensorElement>(
    out: &mut [T],
    at: RowPiece<'_>,
    a: RowOperand<'_, A>,
    b: RowOperand<'_, B>,
    f: &impl Fn(A, B) -> Option<T>,
) -> Option<Result<(), RunError>> {
    match (a, b) {
        (RowOperand::Uniform(a), RowOperand::Uniform(b)) => f(a, b).map(|x| set(out, at, x)),
        (RowOperand::Uniform(a), RowOperand::Dense(b)) => update_each(out, at, b.iter(), |_, b| f(a, *b)),
        (RowOperand::Dense(a), RowOperand::Uniform(b)) => update_each(out, at, a.iter(), |_, a| f(*a, b)),
        (RowOperand::Dense(a), RowOperand::Dense(b)) => update_each(out, at, a.iter().zip(b), |_, (a, b)| f(*a, *b)),
    }
}
