//! **Exact simplex method** without an objective: decides whether a rational point satisfies some
//! rows. The refutation search ([`super::search`]) proves a goal if no point satisfies its negation
//! and the facts. The arithmetic is exact, because a rounded result would prove nothing.
//!
//! The state is a dictionary: row variables are linear functions of column variables, which are all
//! 0 at the current point. Rows can be added at any time, so the search adds only those
//! that its point violates. Gomory cuts, which hold at all integer points, are such rows too.

use super::table::{LinearRow, MonoId, gcd, mul};

/// The maximal number of columns.
const MAX_COLUMNS: usize = 96;

/// The maximal number of rows.
const MAX_ROWS: usize = 192;

/// The sign constraint of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum VarKind {
    /// Any number: a monomial.
    Free,
    /// At least 0: the slack of an inequality.
    Nonneg,
    /// Only 0: the slack of an equality. Such a column contributes nothing, and its position may be
    /// reused.
    Zero,
}

#[derive(Clone, Copy, Debug)]
struct DictColumn {
    var: u32,
    kind: VarKind,
}

/// `den · var = constant + Σ coefs[c] · columns[c]`, in lowest terms, with `den > 0`. Missing
/// coefficients are 0.
#[derive(Clone, Debug)]
struct DictRow {
    var: u32,
    kind: VarKind,
    den: i128,
    constant: i128,
    coefs: Vec<i128>,
}

#[derive(Clone, Copy, Debug)]
enum VarPosition {
    Column(usize),
    Line(usize),
}

/// The result of the search for a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LpResult {
    /// No rational point satisfies all rows.
    Infeasible,
    /// The current point satisfies all rows.
    Feasible,
    /// A limit was reached.
    LimitReached,
}

/// A dictionary of rows; see the module documentation.
#[derive(Clone, Default, Debug)]
pub(super) struct LinearProgram {
    columns: Vec<DictColumn>,
    rows: Vec<DictRow>,
    /// The position of each variable.
    positions: Vec<VarPosition>,
    /// The variable of each monomial.
    vars: Vec<Option<u32>>,
    /// The value of each monomial at the last point.
    values: Vec<f64>,
}

impl LinearProgram {
    /// Returns the value of a monomial at the last point found; 0 if no row mentions it.
    pub(super) fn value(&self, m: MonoId) -> f64 {
        self.values.get(m as usize).copied().unwrap_or(0.0)
    }

    fn record_values(&mut self) {
        self.values.clear();
        self.values.extend(self.vars.iter().map(|var| match var.and_then(|var| self.positions.get(var as usize)) {
            Some(VarPosition::Line(at)) => self.rows.get(*at).map_or(0.0, DictRow::value),
            _ => 0.0,
        }));
    }

    fn new_var(&mut self, place: VarPosition) -> Option<u32> {
        let var = u32::try_from(self.positions.len()).ok()?;
        self.positions.push(place);
        Some(var)
    }

    fn var(&mut self, m: MonoId) -> Option<u32> {
        let at = m as usize;
        if self.vars.len() <= at {
            self.vars.resize(at + 1, None);
        }
        if let Some(Some(var)) = self.vars.get(at) {
            return Some(*var);
        }
        let dead = self.columns.iter().position(|c| c.kind == VarKind::Zero);
        let column = dead.unwrap_or(self.columns.len());
        if column >= MAX_COLUMNS {
            return None;
        }
        let var = self.new_var(VarPosition::Column(column))?;
        let entry = DictColumn { var, kind: VarKind::Free };
        match self.columns.get_mut(column) {
            Some(c) => *c = entry,
            None => self.columns.push(entry),
        }
        *self.vars.get_mut(at)? = Some(var);
        Some(var)
    }

    /// Adds a row. Returns `None` past the limits. The dictionary must not be used after `None`.
    pub(super) fn add_row(&mut self, row: &LinearRow, work: &mut u32) -> Option<()> {
        let mut line = DictRow {
            var: 0,
            kind: if row.is_equality { VarKind::Zero } else { VarKind::Nonneg },
            den: 1,
            constant: row.constant,
            coefs: Vec::with_capacity(self.columns.len() + row.terms.len()),
        };
        for &(m, c) in &row.terms {
            let var = self.var(m)?;
            match *self.positions.get(var as usize)? {
                VarPosition::Column(at) => line.add_coefficient(at, mul(c, line.den)?)?,
                VarPosition::Line(at) => {
                    let of = self.rows.get(at)?;
                    let used: Vec<_> = of.coefs.iter().copied().enumerate().filter(|(_, a)| *a != 0).collect();
                    line.add_scaled(mul(c, line.den)?, of.den, of.constant, &used, work)?;
                }
            }
        }
        self.push(line)
    }

    fn push(&mut self, mut line: DictRow) -> Option<()> {
        if self.rows.len() >= MAX_ROWS {
            return None;
        }
        line.var = self.new_var(VarPosition::Line(self.rows.len()))?;
        self.rows.push(line);
        Some(())
    }

    /// Moves to a point that satisfies all rows, if one exists. It terminates by Bland's rule,
    /// which selects the oldest candidate variable.
    pub(super) fn solve(&mut self, work: &mut u32) -> LpResult {
        loop {
            let broken = self.rows.iter().enumerate().filter(|(_, l)| l.is_violated()).min_by_key(|(_, l)| l.var);
            let Some((at, line)) = broken else {
                self.record_values();
                return LpResult::Feasible;
            };
            // The variable must increase, or decrease if it must be 0 and is positive.
            let direction = -line.constant.signum();
            let mut entering: Option<(usize, (bool, bool, u32))> = None;
            for (c, (column, coef)) in self.columns.iter().zip(&line.coefs).enumerate() {
                let helps = match column.kind {
                    VarKind::Free => *coef != 0,
                    VarKind::Nonneg => *coef != 0 && coef.signum() == direction,
                    VarKind::Zero => false,
                };
                // A free variable never leaves again, so it is preferred. A unit coefficient keeps
                // numbers small.
                let key = match column.kind {
                    VarKind::Free => (false, coef.unsigned_abs() != line.den.unsigned_abs(), column.var),
                    _ => (true, true, column.var),
                };
                if helps && entering.is_none_or(|(_, best)| key < best) {
                    entering = Some((c, key));
                }
            }
            let Some((column, _)) = entering else { return LpResult::Infeasible };
            if self.pivot(at, column, work).is_none() {
                return LpResult::LimitReached;
            }
        }
    }

    /// Exchanges the variables of a line and a column with a nonzero coefficient.
    fn pivot(&mut self, at: usize, column: usize, work: &mut u32) -> Option<()> {
        let (line, entry) = (self.rows.get_mut(at)?, self.columns.get_mut(column)?);
        spend_work(work, line.coefs.len())?;
        let p = *line.coefs.get(column)?;
        // den·x = k + Σ a·y + p·z yields |p|·z = ∓(k + Σ a·y) ± den·x.
        if p > 0 {
            line.constant = line.constant.checked_neg()?;
            for a in &mut line.coefs {
                *a = a.checked_neg()?;
            }
        }
        let den = line.den;
        line.den = p.checked_abs()?;
        *line.coefs.get_mut(column)? = match line.kind {
            VarKind::Zero => 0,
            _ => den * p.signum(),
        };
        std::mem::swap(&mut line.var, &mut entry.var);
        std::mem::swap(&mut line.kind, &mut entry.kind);
        line.reduce();
        *self.positions.get_mut(line.var as usize)? = VarPosition::Line(at);
        *self.positions.get_mut(entry.var as usize)? = VarPosition::Column(column);
        let (before, rest) = self.rows.split_at_mut_checked(at)?;
        let (line, after) = rest.split_first_mut()?;
        spend_work(work, (before.len() + after.len()) / 4)?;
        let used: Vec<_> = line.coefs.iter().copied().enumerate().filter(|(_, a)| *a != 0).collect();
        for other in before.iter_mut().chain(after) {
            let k = other.coefs.get(column).copied().unwrap_or(0);
            if k != 0 {
                *other.coefs.get_mut(column)? = 0;
                // den'·y = … + k·z, where the line defines z.
                other.add_scaled(k, line.den, line.constant, &used, work)?;
            }
        }
        Some(())
    }

    /// Adds one Gomory cut that the current point violates. In a line `den·x = k + Σ a·y` with
    /// integer variables and nonnegative `y`, `Σ (-a mod den)·y` is congruent to `k` modulo `den`.
    /// So it is at least `k mod den`. Returns false if no line that must be an integer is
    /// fractional, and `None` past the limits.
    pub(super) fn add_gomory_cut(&mut self) -> Option<bool> {
        let cut = self.rows.iter().find_map(|line| {
            let fraction = line.constant.rem_euclid(line.den);
            let integer = self.columns.iter().zip(&line.coefs).all(|(c, a)| match c.kind {
                VarKind::Nonneg => true,
                // The term vanishes modulo `den`.
                VarKind::Free => a % line.den == 0,
                VarKind::Zero => true,
            });
            let coefs = line.coefs.iter().map(|a| match a.rem_euclid(line.den) {
                0 => 0,
                r => line.den - r,
            });
            (fraction != 0 && integer).then(|| DictRow {
                var: 0,
                kind: VarKind::Nonneg,
                den: line.den,
                constant: -fraction,
                coefs: coefs.collect(),
            })
        });
        match cut {
            Some(mut line) => {
                line.reduce();
                self.push(line).map(|()| true)
            }
            None => Some(false),
        }
    }

    /// Moves every free column to the first row that stops it, because cuts need columns that are
    /// not free. All rows hold before and after. Returns whether any moved, and `None` past the
    /// limits.
    pub(super) fn pivot_free_columns(&mut self, work: &mut u32) -> Option<bool> {
        let mut moved = false;
        for column in 0..self.columns.len() {
            if self.columns.get(column)?.kind != VarKind::Free {
                continue;
            }
            // The distance is constant / |coefficient|, compared by cross products.
            let mut nearest: Option<(usize, i128, i128)> = None;
            let mut direction = 0;
            for (at, line) in self.rows.iter().enumerate() {
                let a = line.coefs.get(column).copied().unwrap_or(0);
                if line.kind == VarKind::Zero && a != 0 {
                    nearest = Some((at, 0, 1));
                    break;
                }
                if line.kind != VarKind::Nonneg || a == 0 || direction == a.signum() {
                    continue;
                }
                let size = a.checked_abs()?;
                let nearer = match nearest {
                    None => true,
                    Some((_, constant, of)) => mul(line.constant, of)? < mul(constant, size)?,
                };
                if nearer {
                    nearest = Some((at, line.constant, size));
                }
                direction = -a.signum();
            }
            if let Some((at, ..)) = nearest {
                self.pivot(at, column, work)?;
                moved = true;
            }
        }
        Some(moved)
    }
}

impl DictRow {
    fn value(&self) -> f64 {
        approximate(self.constant) / approximate(self.den)
    }

    fn is_violated(&self) -> bool {
        match self.kind {
            VarKind::Free => false,
            VarKind::Nonneg => self.constant < 0,
            VarKind::Zero => self.constant != 0,
        }
    }

    fn add_coefficient(&mut self, at: usize, by: i128) -> Option<()> {
        if self.coefs.len() <= at {
            self.coefs.resize(at + 1, 0);
        }
        let coef = self.coefs.get_mut(at)?;
        *coef = coef.checked_add(by)?;
        Some(())
    }

    /// Adds `k` times the variable of another line to the right side of this line's equation. The
    /// other line is passed as its denominator, its constant and its nonzero coefficients.
    fn add_scaled(
        &mut self,
        k: i128,
        of_den: i128,
        of_constant: i128,
        of_coefs: &[(usize, i128)],
        work: &mut u32,
    ) -> Option<()> {
        let g = i128::try_from(gcd(k.unsigned_abs(), of_den.unsigned_abs())).ok()?;
        let (k, by) = (k / g, of_den / g);
        if by != 1 {
            spend_work(work, self.coefs.len())?;
            self.den = mul(self.den, by)?;
            self.constant = mul(self.constant, by)?;
            for a in &mut self.coefs {
                *a = mul(*a, by)?;
            }
        }
        spend_work(work, of_coefs.len())?;
        self.constant = self.constant.checked_add(mul(of_constant, k)?)?;
        for &(at, a) in of_coefs {
            self.add_coefficient(at, mul(a, k)?)?;
        }
        if self.den != 1 {
            spend_work(work, self.coefs.len())?;
            self.reduce();
        }
        Some(())
    }

    /// Reduces the line to lowest terms.
    fn reduce(&mut self) {
        if self.den == 1 {
            return;
        }
        let mut g = gcd(self.den.unsigned_abs(), self.constant.unsigned_abs());
        for a in &self.coefs {
            if g == 1 {
                return;
            }
            g = gcd(g, a.unsigned_abs());
        }
        if let Ok(g) = i128::try_from(g)
            && g > 1
        {
            self.den /= g;
            self.constant /= g;
            for a in &mut self.coefs {
                *a /= g;
            }
        }
    }
}

/// Returns an approximation, which only guides the search.
#[expect(clippy::cast_precision_loss, reason = "only guides the search")]
pub(super) fn approximate(c: i128) -> f64 {
    // Converting 64 bits is one instruction, and larger numbers are rare.
    i64::try_from(c).unwrap_or(if c < 0 { i64::MIN } else { i64::MAX }) as f64
}

/// Subtracts work from the remaining budget. Returns `None` if it does not suffice.
pub(super) fn spend_work(work: &mut u32, by: usize) -> Option<()> {
    *work = work.checked_sub(u32::try_from(by).ok()?.saturating_add(1))?;
    Some(())
}
