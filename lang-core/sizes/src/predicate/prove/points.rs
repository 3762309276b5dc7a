//! **Counterexamples**: integer points at which the facts hold. A goal that is false at one of them
//! does not follow. Most such goals are refuted this way, without a search. A point that violates a
//! row is ignored until that row is removed.

use super::table::{AtomId, LinearRow};
use crate::predicate::Atom;

/// The number of points.
const POINTS: usize = 12;

/// The values of a monomial at the points; `None` if it has no value, or one outside `i64`.
pub(super) type PointValues = [Option<i64>; POINTS];

/// The points, each with the first row that it violates.
#[derive(Clone, Default, Debug)]
pub(super) struct CounterexamplePoints {
    first_violated: [Option<u32>; POINTS],
}

/// Returns the values of the atom with this number, which is not compound. Younger atoms are mostly
/// indices below older ones, which are sizes.
pub(super) fn atom_values(id: AtomId) -> PointValues {
    let k = i64::from(id);
    let small = |seed: i64, most: i64| (k * 5 + seed * 7 + k * k * seed) % most;
    [
        0,
        1,
        1000,
        3 * k + 2,
        2_000_000 >> (3 * k).min(62),
        5_000 - 7 * k.min(700),
        5 * (k % 2),
        5 * ((k + 1) % 2),
        small(1, 3),
        small(2, 4),
        1 + small(3, 4),
        2 + small(4, 7),
    ]
    .map(Some)
}

/// Returns the values of a compound atom, from those of the atoms in it.
pub(super) fn compound_values(atom: &Atom, value: &dyn Fn(&Atom, usize) -> Option<i64>) -> PointValues {
    std::array::from_fn(|at| atom.value(&mut |a| value(a, at)))
}

/// Returns the values of a product.
pub(super) fn product_values<'v>(factors: impl Iterator<Item = &'v PointValues> + Clone) -> PointValues {
    std::array::from_fn(|at| {
        let mut factors = factors.clone();
        factors.try_fold(1_i64, |product, f| product.checked_mul((*f.get(at)?)?))
    })
}

/// Returns the value of the left side of a row at a point.
fn evaluate_row<'v>(row: &LinearRow, values: &impl Fn(u32) -> Option<&'v PointValues>, point: usize) -> Option<i128> {
    row.terms
        .iter()
        .try_fold(row.constant, |sum, (m, c)| sum.checked_add(c.checked_mul(i128::from((*values(*m)?.get(point)?)?))?))
}

impl CounterexamplePoints {
    /// Records which points violate this row.
    pub(super) fn add_row<'v>(
        &mut self,
        row: &LinearRow,
        number: u32,
        values: &impl Fn(u32) -> Option<&'v PointValues>,
    ) {
        for (point, broken) in self.first_violated.iter_mut().enumerate().filter(|(_, broken)| broken.is_none()) {
            let holds = evaluate_row(row, values, point).is_some_and(|v| if row.is_equality { v == 0 } else { v >= 0 });
            if !holds {
                *broken = Some(number);
            }
        }
    }

    /// Removes all rows from this number on.
    pub(super) fn truncate(&mut self, rows: usize) {
        for broken in &mut self.first_violated {
            *broken = broken.filter(|row| (*row as usize) < rows);
        }
    }

    /// Whether the rows hold at one of the points.
    pub(super) fn any_satisfies(&self) -> bool {
        self.first_violated.iter().any(Option::is_none)
    }

    /// Whether the goal is negative at a point at which the rows hold.
    pub(super) fn refutes<'v>(&self, goal: &LinearRow, values: &impl Fn(u32) -> Option<&'v PointValues>) -> bool {
        let mut good = self.first_violated.iter().enumerate().filter(|(_, broken)| broken.is_none());
        good.any(|(point, _)| evaluate_row(goal, values, point).is_some_and(|v| v < 0))
    }
}
