//! **Bound substitution**, the fast path of the prover: replaces variables by their bounds, the
//! youngest first, as in a proof by hand. From `n + m - 2 - i - j >= 0`, the bound `j <= m - 1`
//! leaves `n - 1 - i >= 0`, and `i <= n - 1` leaves `0 >= 0`. It allocates one short row for each
//! step and gives up early.

use super::table::{FactTable, LinearRow, gcd};
use crate::predicate::Atom;

/// The maximal number of bounds tried for one goal. Goals that are proved here take few; the others
/// must reach the search soon.
const MAX_STEPS: u32 = 48;

/// Whether the goal follows by substitution of bounds.
pub(super) fn proves(table: &FactTable, goal: &LinearRow) -> bool {
    prove_by_bounds(table, goal, &mut { MAX_STEPS })
}

fn prove_by_bounds(table: &FactTable, goal: &LinearRow, steps: &mut u32) -> bool {
    let Some((top, c)) = goal.leading_term() else {
        return goal.constant >= 0;
    };
    for &at in table.leading_rows(top).iter().rev() {
        let Some(row) = table.row(at) else { continue };
        let Some((_, a)) = row.leading_term() else { continue };
        if !row.is_equality && (a > 0) != (c > 0) {
            continue;
        }
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        if substitute(goal, c, row, a).is_some_and(|next| prove_by_bounds(table, &next, steps)) {
            return true;
        }
    }
    // A lower bound of a minimum, or an upper bound of a maximum, must hold for both operands.
    match table.as_atom(top) {
        Some(Atom::Min(..)) if c > 0 => prove_both_operands(table, goal, c, steps),
        Some(Atom::Max(..)) if c < 0 => prove_both_operands(table, goal, c, steps),
        _ => drop_nonneg_product(table, goal, c, steps),
    }
}

/// Substitutes a bound. From `goal = c·x + …` and the fact `a·x + … >= 0`, it returns a row that,
/// if nonnegative, implies that the goal is nonnegative.
fn substitute(goal: &LinearRow, c: i128, row: &LinearRow, a: i128) -> Option<LinearRow> {
    let g = i128::try_from(gcd(a.unsigned_abs(), c.unsigned_abs())).ok()?;
    let (by, times) = ((a / g).checked_abs()?, (c / g).checked_mul(-a.signum())?);
    let mut next = goal.combine(by, row, times)?;
    // `by·goal >= next`, and `by·goal > -by` suffices, because the goal is an integer.
    next.constant = next.constant.checked_add(by - 1)?;
    next.is_equality = false;
    Some(next.tighten())
}

/// Proves the goal with each operand of a minimum or maximum, as if the row that compares them were
/// an equality.
fn prove_both_operands(table: &FactTable, goal: &LinearRow, c: i128, steps: &mut u32) -> bool {
    let Some(operands) = goal.leading_term().and_then(|(top, _)| table.operands(top)) else {
        return false;
    };
    operands.iter().all(|&at| {
        let Some(row) = table.row(at) else { return false };
        let Some((_, a)) = row.leading_term() else { return false };
        *steps = steps.saturating_sub(1);
        *steps > 0 && substitute(goal, c, row, a).is_some_and(|next| prove_by_bounds(table, &next, steps))
    })
}

/// Drops a product of factors that are not negative.
fn drop_nonneg_product(table: &FactTable, goal: &LinearRow, c: i128, steps: &mut u32) -> bool {
    let Some(((top, _), rest)) = goal.terms.split_last() else { return false };
    let factors = table.factors(*top);
    c > 0
        && factors.len() > 1
        && factors.iter().all(|&a| {
            let atom = LinearRow { terms: vec![(table.atom_mono(a), 1)], constant: 0, is_equality: false };
            *steps = steps.saturating_sub(1);
            *steps > 0 && prove_by_bounds(table, &atom, steps)
        })
        && prove_by_bounds(
            table,
            &LinearRow { terms: rest.to_vec(), constant: goal.constant, is_equality: false },
            steps,
        )
}
