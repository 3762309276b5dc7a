//! **Sorting** along the last axis. Reals and integers are sorted together with their positions;
//! truth values are partitioned in one pass each.

use std::cmp::Ordering;

use super::nest::{Nest, Space};
use super::statement::Shape;
use super::tensor::{Number, Room, Tensor};
use super::{Run, Stopped};
use lang_ir::order::Order;
use lang_syntax::ops::Scalar;

/// So many elements are sorted between two looks at whether the run is to end.
const RUN: usize = 1 << 20;

/// Returns the bytes that sorting rows of `count` elements needs, beside its keys and its result.
pub(super) fn beside(count: u64) -> u64 {
    let pairs = count.saturating_mul(u64::try_from(size_of::<(f64, i64)>()).unwrap_or(u64::MAX));
    // What is merged is there twice.
    if usize::try_from(count).is_ok_and(|count| count <= RUN) { pairs } else { pairs.saturating_mul(2) }
}

/// Elements with their positions.
type Pairs<K> = Vec<(K, i64)>;

/// What has an order.
trait Key: Number {
    fn compared(self, other: Self) -> Ordering;

    /// The positions of a row, by way of pairs.
    fn positions(run: &Run<'_>, keys: &[Self], pairs: &mut Pairs<Self>, out: &mut [i64]) -> Result<(), Stopped> {
        pairs.clear();
        for (nth, part) in keys.chunks(RUN).enumerate() {
            run.poll()?;
            let begin = pairs.len();
            let first = i64::try_from(nth.saturating_mul(RUN)).unwrap_or(i64::MAX);
            pairs.extend(part.iter().copied().zip(first..));
            // By the positions, too, those that are equal stay in their order, and no memory is taken for that.
            let order = |a: &(Self, i64), b: &(Self, i64)| a.0.compared(b.0).then(a.1.cmp(&b.1));
            pairs.get_mut(begin..).unwrap_or_default().sort_unstable_by(order);
        }
        let mut width = RUN;
        let beside = if width < pairs.len() { pairs.len() } else { 0 };
        let (mut merged, _charge) = run.memory.vec(beside).map_err(Stopped::TooLarge)?;
        while width < pairs.len() {
            for two in pairs.chunks(width.saturating_mul(2)) {
                let (left, right) = two.split_at(width.min(two.len()));
                merge(run, left, right, &mut merged)?;
            }
            std::mem::swap(pairs, &mut merged);
            merged.clear();
            width = width.saturating_mul(2);
        }
        for (out, pairs) in out.chunks_mut(RUN).zip(pairs.chunks(RUN)) {
            run.poll()?;
            out.iter_mut().zip(pairs).for_each(|(slot, (_, at))| *slot = *at);
        }
        Ok(())
    }
}

fn merge<K: Key>(
    run: &Run<'_>,
    mut left: &[(K, i64)],
    mut right: &[(K, i64)],
    out: &mut Pairs<K>,
) -> Result<(), Stopped> {
    while let ([_, ..], [_, ..]) = (left, right) {
        run.poll()?;
        for _ in 0..RUN {
            let ([a, behind_a @ ..], [b, behind_b @ ..]) = (left, right) else { break };
            if a.0.compared(b.0) == Ordering::Greater {
                out.push(*b);
                right = behind_b;
            } else {
                out.push(*a);
                left = behind_a;
            }
        }
    }
    for part in left.chunks(RUN).chain(right.chunks(RUN)) {
        run.poll()?;
        out.extend_from_slice(part);
    }
    Ok(())
}

macro_rules! reals {
    ($($t:ident),*) => {$(
        impl Key for $t {
            fn compared(self, other: Self) -> Ordering {
                self.partial_cmp(&other).unwrap_or_else(|| self.is_nan().cmp(&other.is_nan()))
            }
        }
    )*};
}
reals!(f64, f32);

impl Key for i64 {
    fn compared(self, other: Self) -> Ordering {
        self.cmp(&other)
    }
}

/// Those that hold come first.
impl Key for bool {
    fn compared(self, other: Self) -> Ordering {
        other.cmp(&self)
    }

    fn positions(run: &Run<'_>, keys: &[Self], _: &mut Pairs<Self>, out: &mut [i64]) -> Result<(), Stopped> {
        let mut slots = out.iter_mut();
        for wanted in [true, false] {
            let mut places = 0..;
            for part in keys.chunks(RUN) {
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

impl Run<'_> {
    /// Computes the sorted positions, for keys of this type.
    pub(super) fn order(&self, shape: Shape, of: Scalar, o: &Order) -> Result<Tensor, Stopped> {
        match of {
            Scalar::F64 => self.order_of::<f64>(shape, o),
            Scalar::F32 => self.order_of::<f32>(shape, o),
            Scalar::I64 => self.order_of::<i64>(shape, o),
            Scalar::Bool => self.order_of::<bool>(shape, o),
        }
    }

    fn order_of<K: Key>(&self, shape: Shape, o: &Order) -> Result<Tensor, Stopped> {
        let mut room = Room::filled(self, shape.dims.clone(), 0_i64)?;
        let count = shape.dims.last().copied().unwrap_or(0).max(1);
        let present = self.rows(&shape, o)?;
        let (mut pairs, _charge) = self.memory.vec(count).map_err(Stopped::TooLarge)?;
        let keys = self.read_through::<K>(shape, &o.pred, &o.of)?;
        let keys = keys.items::<K>().ok_or(Stopped::Broken("what is put in order"))?;
        let rows = room.items.chunks_mut(count).zip(keys.chunks(count)).enumerate();
        for (k, (out, keys)) in rows {
            if present.as_ref().is_none_or(|p| p.items.get(k) == Some(&true)) {
                K::positions(self, keys, &mut pairs, out)?;
            }
        }
        Ok(room.done())
    }

    /// For which tuples of the other indices the order is computed, if not for all.
    fn rows(&self, shape: &Shape, o: &Order) -> Result<Option<Room<bool>>, Stopped> {
        if o.pred.is_true() {
            return Ok(None);
        }
        let outer = |all: &[usize]| all.get(..all.len().saturating_sub(1)).unwrap_or_default().to_vec();
        let rows = Shape {
            dims: outer(&shape.dims),
            extents: shape.extents.get(..shape.extents.len().saturating_sub(1)).unwrap_or_default().to_vec(),
        };
        let mut present = Room::filled(self, rows.dims.clone(), false)?;
        let space = Space { extents: rows.extents.clone(), free: rows.dims.len(), pred: &o.pred, by_index: false };
        Nest::new(self, &space, &[rows.place()])?.visit(self, &mut |row| {
            row.pieces(&mut |first, count| {
                for at in row.piece(0, first, count).places() {
                    let slot = usize::try_from(at).ok().and_then(|at| present.items.get_mut(at));
                    *slot.ok_or(Stopped::Broken("an element outside"))? = true;
                }
                Ok(())
            })
        })?;
        Ok(Some(present))
    }
}
