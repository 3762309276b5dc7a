//! **Exact simplex method** without an objective: finds non-negative numbers for which some linear
//! functions are non-negative too. [`super::combine`] finds the multipliers of facts by it, and
//! [`super::growth`] the powers of `t` along a ray. It uses dictionaries and Bland's rule, which
//! prevents cycles.

use super::packed::gcd;

/// A row of the dictionary: `den · var = constant + Σ coefs[c] · columns[c]`, in lowest terms, with
/// `den > 0`.
struct SimplexRow {
    var: usize,
    den: i128,
    constant: i128,
    coefs: Vec<i128>,
}

/// Returns values of the unknowns as numerators and denominators, for which each row (a constant
/// plus coefficients times the values) is non-negative. `None` if no values exist, on overflow, or
/// if the work exceeds `left`.
pub(super) fn solve(unknowns: usize, rows: Vec<(i128, Vec<i128>)>, left: &mut usize) -> Option<Vec<(i128, i128)>> {
    let mut columns: Vec<usize> = (0..unknowns).collect();
    let numbered = rows.into_iter().enumerate();
    let mut lines: Vec<SimplexRow> =
        numbered.map(|(k, (constant, coefs))| SimplexRow { var: unknowns + k, den: 1, constant, coefs }).collect();
    loop {
        let broken = lines.iter().enumerate().filter(|(_, l)| l.constant < 0).min_by_key(|(_, l)| l.var);
        let Some((at, line)) = broken else { break };
        let helps = columns.iter().zip(&line.coefs).enumerate().filter(|(_, (_, coef))| **coef > 0);
        let (column, _) = helps.min_by_key(|(_, (var, _))| **var)?;
        *left = left.checked_sub(lines.len() * columns.len())?;
        pivot(&mut lines, &mut columns, at, column)?;
    }
    let value = |var| lines.iter().find(|l| l.var == var).map_or((0, 1), |l| (l.constant, l.den));
    Some((0..unknowns).map(value).collect())
}

/// Exchanges the variables of a row and a column, whose coefficient in the row is positive.
fn pivot(lines: &mut [SimplexRow], columns: &mut [usize], at: usize, column: usize) -> Option<()> {
    let line = lines.get_mut(at)?;
    // From `den·x = k + Σ a·y + p·z` follows `p·z = -k - Σ a·y + den·x`.
    let slot = line.coefs.get_mut(column)?;
    let p = std::mem::replace(slot, line.den.checked_neg()?);
    for a in &mut line.coefs {
        *a = a.checked_neg()?;
    }
    line.constant = line.constant.checked_neg()?;
    line.den = p;
    std::mem::swap(&mut line.var, columns.get_mut(column)?);
    line.reduce();
    let (before, rest) = lines.split_at_mut_checked(at)?;
    let (line, after) = rest.split_first_mut()?;
    for other in before.iter_mut().chain(after) {
        let slot = other.coefs.get_mut(column)?;
        let k = std::mem::take(slot);
        if k == 0 {
            continue;
        }
        // Replaces `z` in `den'·y = … + k·z` by its value from the pivot row.
        let common = gcd(k, line.den);
        let (k, by) = (k / common, line.den / common);
        other.den = other.den.checked_mul(by)?;
        other.constant = other.constant.checked_mul(by)?.checked_add(line.constant.checked_mul(k)?)?;
        for (a, b) in other.coefs.iter_mut().zip(&line.coefs) {
            *a = a.checked_mul(by)?.checked_add(b.checked_mul(k)?)?;
        }
        other.reduce();
    }
    Some(())
}

impl SimplexRow {
    /// Reduces to lowest terms.
    fn reduce(&mut self) {
        let mut common = gcd(self.den, self.constant);
        for a in &self.coefs {
            if common == 1 {
                return;
            }
            common = gcd(common, *a);
        }
        if common > 1 {
            self.den /= common;
            self.constant /= common;
            self.coefs.iter_mut().for_each(|a| *a /= common);
        }
    }
}
