//! **Bound substitution**, the fast path of the prover: replaces variables by their bounds, the
//! youngest first, as in a proof by hand. From `n + m - 2 - i - j >= 0`, the bound `j <= m - 1`
//! leaves `n - 1 - i >= 0`, and `i <= n - 1` leaves `0 >= 0`. It allocates one short row for each
//! step and gives up early.

use super::table::{Row, Table, gcd};
use crate::predicate::Atom;

/// The maximal number of bounds tried for one goal. Goals that are proved here take few; the others
/// must reach the search soon.
const MAX_STEPS: u32 = 48;

/// Whether the goal follows by substitution of bounds.
pub(super) fn proves(table: &Table, goal: &Row) -> bool {
    reduce(table, goal, &mut { MAX_STEPS })
}

fn reduce(table: &Table, goal: &Row, steps: &mut u32) -> bool {
    let Some((top, c)) = goal.top() else {
        return goal.constant >= 0;
    };
    for &at in table.tops(top).iter().rev() {
        let Some(row) = table.row(at) else { continue };
        let Some((_, a)) = row.top() else { continue };
        if !row.zero && (a > 0) != (c > 0) {
            continue;
        }
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        if substitute(goal, c, row, a).is_some_and(|next| reduce(table, &next, steps)) {
            return true;
        }
    }
    // A lower bound of a minimum, or an upper bound of a maximum, must hold for both operands.
    match table.as_atom(top) {
        Some(Atom::Min(..)) if c > 0 => both(table, goal, c, steps),
        Some(Atom::Max(..)) if c < 0 => both(table, goal, c, steps),
        _ => all_nonneg(table, goal, c, steps),
    }
}

/// Substitutes a bound. From `goal = c·x + …` and the fact `a·x + … >= 0`, it returns a row that,
/// if nonnegative, implies that the goal is nonnegative.
fn substitute(goal: &Row, c: i128, row: &Row, a: i128) -> Option<Row> {
    let g = i128::try_from(gcd(a.unsigned_abs(), c.unsigned_abs())).ok()?;
    let (by, times) = ((a / g).checked_abs()?, (c / g).checked_mul(-a.signum())?);
    let mut next = goal.combine(by, row, times)?;
    // `by·goal >= next`, and `by·goal > -by` suffices, because the goal is an integer.
    next.constant = next.constant.checked_add(by - 1)?;
    next.zero = false;
    Some(next.tighten())
}

/// Proves the goal with each operand of a minimum or maximum, as if the row that compares them were
/// an equality.
fn both(table: &Table, goal: &Row, c: i128, steps: &mut u32) -> bool {
    let Some(operands) = goal.top().and_then(|(top, _)| table.operands(top)) else {
        return false;
    };
    operands.iter().all(|&at| {
        let Some(row) = table.row(at) else { return false };
        let Some((_, a)) = row.top() else { return false };
        *steps = steps.saturating_sub(1);
        *steps > 0 && substitute(goal, c, row, a).is_some_and(|next| reduce(table, &next, steps))
    })
}

/// Drops a product of factors that are not negative.
fn all_nonneg(table: &Table, goal: &Row, c: i128, steps: &mut u32) -> bool {
    let Some(((top, _), rest)) = goal.terms.split_last() else { return false };
    let factors = table.factors(*top);
    c > 0
        && factors.len() > 1
        && factors.iter().all(|&a| {
            let atom = Row { terms: vec![(table.mono_of(a), 1)], constant: 0, zero: false };
            *steps = steps.saturating_sub(1);
            *steps > 0 && reduce(table, &atom, steps)
        })
        && reduce(table, &Row { terms: rest.to_vec(), constant: goal.constant, zero: false }, steps)
}
