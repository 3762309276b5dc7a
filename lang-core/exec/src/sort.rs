//! **Sorting** along the last axis. Sorts reals and integers together with their positions, and
//! partitions truth values in two passes.

use std::cmp::Ordering;

use super::nest::{IndexSpace, RowNest};
use super::statement::StatementExtents;
use super::tensor::{Tensor, TensorBuilder, TensorElement};
use super::{RunError, RunState};
use lang_ir::argsort::Argsort;
use lang_syntax::ops::Scalar;

/// The number of elements sorted between two polls of the interrupt flag. A longer row is sorted in
/// runs of this length, which are then merged.
const SORTED_RUN: usize = 1 << 20;

/// Returns the bytes that sorting rows of `count` elements needs, beside its keys and its result.
pub(super) fn sorting_bytes(count: u64) -> u64 {
    let pairs = count.saturating_mul(u64::try_from(size_of::<(f64, i64)>()).unwrap_or(u64::MAX));
    // Merging needs a second buffer.
    if usize::try_from(count).is_ok_and(|count| count <= SORTED_RUN) { pairs } else { pairs.saturating_mul(2) }
}

/// Elements with their positions.
type KeyedPositions<K> = Vec<(K, i64)>;

/// A type of sorting keys. NaN comes after all numbers.
trait SortKey: TensorElement {
    fn compare_keys(self, other: Self) -> Ordering;

    /// Computes the sorted positions of a row. `pairs` is a buffer.
    fn sort_positions(
        run: &RunState<'_>,
        keys: &[Self],
        pairs: &mut KeyedPositions<Self>,
        out: &mut [i64],
    ) -> Result<(), RunError> {
        pairs.clear();
        for (nth, part) in keys.chunks(SORTED_RUN).enumerate() {
            run.poll()?;
            let begin = pairs.len();
            let first = i64::try_from(nth.saturating_mul(SORTED_RUN)).unwrap_or(i64::MAX);
            pairs.extend(part.iter().copied().zip(first..));
            // Ties compare by position. So an unstable sort, which allocates nothing, keeps the
            // order of equal elements.
            let order = |a: &(Self, i64), b: &(Self, i64)| a.0.compare_keys(b.0).then(a.1.cmp(&b.1));
            pairs.get_mut(begin..).unwrap_or_default().sort_unstable_by(order);
        }
        let mut width = SORTED_RUN;
        let beside = if width < pairs.len() { pairs.len() } else { 0 };
        let (mut merged, _charge) = run.memory.vec_with_capacity(beside).map_err(RunError::TooLarge)?;
        while width < pairs.len() {
            for two in pairs.chunks(width.saturating_mul(2)) {
                let (left, right) = two.split_at(width.min(two.len()));
                merge_runs(run, left, right, &mut merged)?;
            }
            std::mem::swap(pairs, &mut merged);
            merged.clear();
            width = width.saturating_mul(2);
        }
        for (out, pairs) in out.chunks_mut(SORTED_RUN).zip(pairs.chunks(SORTED_RUN)) {
            run.poll()?;
            out.iter_mut().zip(pairs).for_each(|(slot, (_, at))| *slot = *at);
        }
        Ok(())
    }
}

/// Merges two sorted runs.
fn merge_runs<K: SortKey>(
    run: &RunState<'_>,
    mut left: &[(K, i64)],
    mut right: &[(K, i64)],
    out: &mut KeyedPositions<K>,
) -> Result<(), RunError> {
    while let ([_, ..], [_, ..]) = (left, right) {
        run.poll()?;
        for _ in 0..SORTED_RUN {
            let ([a, behind_a @ ..], [b, behind_b @ ..]) = (left, right) else { break };
            if a.0.compare_keys(b.0) == Ordering::Greater {
                out.push(*b);
                right = behind_b;
            } else {
                out.push(*a);
                left = behind_a;
            }
        }
    }
    for part in left.chunks(SORTED_RUN).chain(right.chunks(SORTED_RUN)) {
        run.poll()?;
        out.extend_from_slice(part);
    }
    Ok(())
}

macro_rules! reals {
    ($($t:ident),*) => {$(
        impl SortKey for $t {
            fn compare_keys(self, other: Self) -> Ordering {
                self.partial_cmp(&other).unwrap_or_else(|| self.is_nan().cmp(&other.is_nan()))
            }
        }
    )*};
}
reals!(f64, f32);

impl SortKey for i64 {
    fn compare_keys(self, other: Self) -> Ordering {
        self.cmp(&other)
    }
}

/// True elements come first.
impl SortKey for bool {
    fn compare_keys(self, other: Self) -> Ordering {
        other.cmp(&self)
    }

    fn sort_positions(
        run: &RunState<'_>,
        keys: &[Self],
        _: &mut KeyedPositions<Self>,
        out: &mut [i64],
    ) -> Result<(), RunError> {
        let mut slots = out.iter_mut();
        for wanted in [true, false] {
            let mut places = 0..;
            for part in keys.chunks(SORTED_RUN) {
                run.poll()?;
                let places = places.by_ref().take(part.len()).zip(part).filter(|(_, key)| **key == wanted);
                for ((at, _), slot) in places.zip(slots.by_ref()) {
                    *slot = at;
                }
            }
        }
        Ok(())
    }
}

impl RunState<'_> {
    /// Computes the sorted positions, for keys of this type.
    pub(super) fn sort(&self, shape: StatementExtents, of: Scalar, o: &Argsort) -> Result<Tensor, RunError> {
        match of {
            Scalar::F64 => self.sort_keys::<f64>(shape, o),
            Scalar::F32 => self.sort_keys::<f32>(shape, o),
            Scalar::I64 => self.sort_keys::<i64>(shape, o),
            Scalar::Bool => self.sort_keys::<bool>(shape, o),
        }
    }

    fn sort_keys<K: SortKey>(&self, shape: StatementExtents, o: &Argsort) -> Result<Tensor, RunError> {
        let mut room = TensorBuilder::filled(self, shape.dims.clone(), 0_i64)?;
        let count = shape.dims.last().copied().unwrap_or(0).max(1);
        let present = self.sorted_rows(&shape, o)?;
        let (mut pairs, _charge) = self.memory.vec_with_capacity(count).map_err(RunError::TooLarge)?;
        let keys = self.read_where::<K>(shape, &o.pred, &o.keys)?;
        let keys = keys.items::<K>().ok_or(RunError::Internal("the keys of a sort"))?;
        let rows = room.items.chunks_mut(count).zip(keys.chunks(count)).enumerate();
        for (k, (out, keys)) in rows {
            if present.as_ref().is_none_or(|p| p.items.get(k) == Some(&true)) {
                K::sort_positions(self, keys, &mut pairs, out)?;
            }
        }
        Ok(room.finish())
    }

    /// Returns for each row whether it is sorted, or `None` if all are.
    fn sorted_rows(&self, shape: &StatementExtents, o: &Argsort) -> Result<Option<TensorBuilder<bool>>, RunError> {
        if o.pred.is_true() {
            return Ok(None);
        }
        let outer = |all: &[usize]| all.get(..all.len().saturating_sub(1)).unwrap_or_default().to_vec();
        let rows = StatementExtents {
            dims: outer(&shape.dims),
            extents: shape.extents.get(..shape.extents.len().saturating_sub(1)).unwrap_or_default().to_vec(),
        };
        let mut present = TensorBuilder::filled(self, rows.dims.clone(), false)?;
        let space =
            IndexSpace { extents: rows.extents.clone(), free: rows.dims.len(), pred: &o.pred, needs_indices: false };
        RowNest::new(self, &space, &[rows.element_offset()])?.visit(self, &mut |row| {
            row.for_each_piece(&mut |first, count| {
                for at in row.piece(0, first, count).offsets() {
                    let slot = usize::try_from(at).ok().and_then(|at| present.items.get_mut(at));
                    *slot.ok_or(RunError::Internal("an element out of bounds"))? = true;
                }
                Ok(())
            })
        })?;
        Ok(Some(present))
    }
}
