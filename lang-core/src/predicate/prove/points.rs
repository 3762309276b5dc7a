//! Integer points at which the facts hold. What is false at one of them does not follow: most goals that do not are found
//! out so, without a search. A point that breaks a row is left alone until that row is taken back.

use super::table::{AtomId, Row};
use crate::predicate::Atom;

/// How many points there are.
const POINTS: usize = 12;

/// The values of a monomial at the points; `None` where it has none, or a large one.
pub(super) type Values = [Option<i64>; POINTS];

/// The points, each with the first row that it breaks.
#[derive(Clone, Default, Debug)]
pub(super) struct Points {
    broken: [Option<u32>; POINTS],
}

/// The values of an atom of this number that is made of no others. Younger atoms are mostly indices below older ones,
/// which are sizes.
pub(super) fn of_atom(id: AtomId) -> Values {
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

/// The values of an atom that is made of others, whose values these are.
pub(super) fn of_built(atom: &Atom, value: &dyn Fn(&Atom, usize) -> Option<i64>) -> Values {
    std::array::from_fn(|at| atom.value(&mut |a| value(a, at)))
}

/// The values of a product.
pub(super) fn of_product<'v>(factors: impl Iterator<Item = &'v Values> + Clone) -> Values {
    std::array::from_fn(|at| {
        let mut factors = factors.clone();
        factors.try_fold(1_i64, |product, f| product.checked_mul((*f.get(at)?)?))
    })
}

/// The value of the left side of a row at a point.
fn at<'v>(row: &Row, values: &impl Fn(u32) -> Option<&'v Values>, point: usize) -> Option<i128> {
    row.terms
        .iter()
        .try_fold(row.constant, |sum, (m, c)| sum.checked_add(c.checked_mul(i128::from((*values(*m)?.get(point)?)?))?))
}

impl Points {
    /// Notes which points break this row.
    pub(super) fn add<'v>(&mut self, row: &Row, number: u32, values: &impl Fn(u32) -> Option<&'v Values>) {
        for (point, broken) in self.broken.iter_mut().enumerate().filter(|(_, broken)| broken.is_none()) {
            let holds = at(row, values, point).is_some_and(|v| if row.zero { v == 0 } else { v >= 0 });
            if !holds {
                *broken = Some(number);
            }
        }
    }

    /// Takes back all rows from this number on.
    pub(super) fn truncate(&mut self, rows: usize) {
        for broken in &mut self.broken {
            *broken = broken.filter(|row| (*row as usize) < rows);
        }
    }

    /// Do the rows hold at one of the points?
    pub(super) fn any(&self) -> bool {
        self.broken.iter().any(Option::is_none)
    }

    /// Is it negative at a point at which the rows hold?
    pub(super) fn refute<'v>(&self, goal: &Row, values: &impl Fn(u32) -> Option<&'v Values>) -> bool {
        let mut good = self.broken.iter().enumerate().filter(|(_, broken)| broken.is_none());
        good.any(|(point, _)| at(goal, values, point).is_some_and(|v| v < 0))
    }
}
