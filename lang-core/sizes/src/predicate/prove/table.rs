//! **Fact table** of the prover: numbered atoms and monomials, and rows, which are linear facts
//! over monomials. A compound atom (`p // 2`, `min(p, q)`) adds rows that define it. All tables
//! grow at the end, and [`FactTable::truncate`] shrinks them.

use std::collections::BTreeMap;

use super::points::{self, CounterexamplePoints, PointValues};
use crate::predicate::poly::{Poly, floor_div};
use crate::predicate::{Atom, poly};

/// The maximal number of rows. Further facts are dropped, which is sound. Scopes that people write
/// hold tens.
const MAX_ROWS: usize = 4096;

/// The maximal number of atoms.
const MAX_ATOMS: usize = 2048;

/// The maximal number of monomials.
const MAX_MONOMIALS: usize = 8192;

/// The maximal number of rows, and of monomials, that are kept although only goals mention them.
const MAX_GOAL_ENTRIES: usize = 512;

/// The number of an atom.
pub(super) type AtomId = u32;

/// The number of a monomial other than 1. The number of a product or a compound atom exceeds those
/// of the atoms in it, so repeatedly removing the largest terminates.
pub(super) type MonoId = u32;

/// `constant + Σ c·m >= 0`, or `= 0`. Rows are tightened, because the values are integers: the
/// greatest common divisor of the coefficients is 1.
#[derive(Clone, Debug)]
pub(super) struct LinearRow {
    /// Monomials with their coefficients, sorted. No coefficient is 0.
    pub(super) terms: Vec<(MonoId, i128)>,
    /// The constant term.
    pub(super) constant: i128,
    /// Whether it is an equality.
    pub(super) is_equality: bool,
}

impl LinearRow {
    /// Returns the largest monomial with its coefficient.
    pub(super) fn leading_term(&self) -> Option<(MonoId, i128)> {
        self.terms.last().copied()
    }

    /// Divides by the greatest common divisor of the coefficients and rounds the constant down,
    /// which is equivalent over the integers. An equality without integer solutions becomes
    /// `-1 = 0`.
    pub(super) fn tighten(mut self) -> Self {
        let g = self.terms.iter().fold(0, |g, t| gcd(g, t.1.unsigned_abs()));
        let Ok(g) = i128::try_from(g) else { return self };
        if g > 1 {
            if self.is_equality && self.constant % g != 0 {
                return Self { terms: Vec::new(), constant: -1, is_equality: true };
            }
            for t in &mut self.terms {
                t.1 /= g;
            }
            self.constant = floor_div(self.constant, g);
        }
        self
    }

    /// Returns `-self - 1 >= 0`, the negation of `self >= 0`. `None` on overflow.
    pub(super) fn negated(&self) -> Option<Self> {
        let terms: Option<_> = self.terms.iter().map(|t| Some((t.0, t.1.checked_neg()?))).collect();
        Some(Self { terms: terms?, constant: self.constant.checked_neg()?.checked_sub(1)?, is_equality: false })
    }

    /// Returns `self·by + other·times`. `None` on overflow.
    pub(super) fn combine(&self, by: i128, other: &Self, times: i128) -> Option<Self> {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let m = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(t), None) | (None, Some(t)) => t.0,
                (Some(l), Some(r)) => l.0.min(r.0),
            };
            let l = left.next_if(|t| t.0 == m).map_or(0, |t| t.1);
            let r = right.next_if(|t| t.0 == m).map_or(0, |t| t.1);
            let c = mul(l, by)?.checked_add(mul(r, times)?)?;
            if c != 0 {
                terms.push((m, c));
            }
        }
        let constant = mul(self.constant, by)?.checked_add(mul(other.constant, times)?)?;
        Some(Self { terms, constant, is_equality: self.is_equality && other.is_equality })
    }
}

/// Returns the product, checked; fast for 64-bit numbers.
pub(super) fn mul(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

/// Returns the greatest common divisor; of 0 and `b` it is `b`.
pub(super) fn gcd(mut a: u128, mut b: u128) -> u128 {
    if let (Ok(mut a), Ok(mut b)) = (u64::try_from(a), u64::try_from(b)) {
        while b != 0 && a != 1 {
            (a, b) = (b, a % b);
        }
        return u128::from(a);
    }
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[derive(Clone, Debug)]
struct AtomEntry {
    atom: Atom,
    mono: MonoId,
}

#[derive(Clone, Debug)]
struct MonoEntry {
    /// The atoms, sorted, with repetition.
    factors: Vec<AtomId>,
    /// The rows whose largest monomial it is, ascending.
    leading_rows: Vec<u32>,
    /// For a minimum or maximum: the rows that compare it with its operands.
    operands: Option<[u32; 2]>,
    /// Its values at the points.
    values: PointValues,
}

/// The numbers of atoms and monomials when a row was added.
#[derive(Clone, Copy, Default, Debug)]
struct TableExtent {
    atoms: usize,
    monos: usize,
}

/// A fact table; see the module documentation.
#[derive(Clone, Default, Debug)]
pub(super) struct FactTable {
    atoms: Vec<AtomEntry>,
    atom_ids: BTreeMap<Atom, AtomId>,
    monos: Vec<MonoEntry>,
    /// The monomials of two or more factors.
    mono_ids: BTreeMap<Vec<AtomId>, MonoId>,
    rows: Vec<LinearRow>,
    extents: Vec<TableExtent>,
    /// The number of rows without monomials, which are false.
    false_rows: usize,
    /// The number of rows that are facts or define atoms of facts.
    fact_rows: usize,
    points: CounterexamplePoints,
}

impl FactTable {
    pub(super) fn rows(&self) -> &[LinearRow] {
        &self.rows
    }

    pub(super) fn row(&self, at: u32) -> Option<&LinearRow> {
        self.rows.get(at as usize)
    }

    /// Returns the number of entries.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.rows.len() + self.atoms.len() + self.monos.len()
    }

    /// Whether one of the facts is false without any variable.
    pub(super) fn has_false_row(&self) -> bool {
        self.false_rows > 0
    }

    /// Whether the rows hold at a known point.
    pub(super) fn is_satisfied_at_point(&self) -> bool {
        self.points.any_satisfies()
    }

    /// Whether a goal is false at a known point where the rows hold.
    pub(super) fn refutes(&self, goal: &LinearRow) -> bool {
        self.points.refutes(goal, &|m| self.monos.get(m as usize).map(|m| &m.values))
    }

    /// Returns the atoms of a monomial, sorted, with repetition.
    pub(super) fn factors(&self, m: MonoId) -> &[AtomId] {
        self.monos.get(m as usize).map_or(&[], |m| &m.factors)
    }

    /// Returns the rows whose largest monomial it is, in insertion order.
    pub(super) fn leading_rows(&self, m: MonoId) -> &[u32] {
        self.monos.get(m as usize).map_or(&[], |m| &m.leading_rows)
    }

    /// For a minimum or maximum, returns the rows that compare it with its operands.
    pub(super) fn operands(&self, m: MonoId) -> Option<[u32; 2]> {
        self.monos.get(m as usize).and_then(|m| m.operands)
    }

    /// Returns the atom, if the monomial is a single one.
    pub(super) fn as_atom(&self, m: MonoId) -> Option<&Atom> {
        match self.factors(m) {
            [a] => self.atom(*a),
            _ => None,
        }
    }

    pub(super) fn atom(&self, a: AtomId) -> Option<&Atom> {
        self.atoms.get(a as usize).map(|e| &e.atom)
    }

    /// Whether the atom has a number.
    pub(super) fn contains_atom(&self, atom: &Atom) -> bool {
        self.atom_ids.contains_key(atom)
    }

    /// Returns the monomial that is only this atom.
    pub(super) fn atom_mono(&self, a: AtomId) -> MonoId {
        self.atoms.get(a as usize).map_or(0, |e| e.mono)
    }

    /// Marks all rows as facts. Later rows belong to goals, until the next
    /// [`Self::discard_goal_entries`].
    pub(super) fn mark_as_facts(&mut self) {
        self.fact_rows = self.rows.len();
    }

    /// Returns the number of rows that are facts.
    pub(super) fn fact_count(&self) -> usize {
        self.fact_rows
    }

    /// Removes the entries that only goals mention.
    pub(super) fn discard_goal_entries(&mut self) {
        self.truncate(self.fact_rows);
    }

    /// Removes the entries that only goals mention if there are many.
    pub(super) fn discard_many_goal_entries(&mut self) {
        let keep = self.extents.last().copied().unwrap_or_default();
        if self.rows.len() - self.fact_rows.min(self.rows.len()) > MAX_GOAL_ENTRIES
            || self.monos.len() - keep.monos > MAX_GOAL_ENTRIES
        {
            self.discard_goal_entries();
        }
    }

    /// Removes all rows from this number on, and the atoms and monomials that no other row needs.
    pub(super) fn truncate(&mut self, rows: usize) {
        while self.rows.len() > rows {
            self.extents.pop();
            match self.rows.pop().map(|row| row.leading_term()) {
                Some(Some((top, _))) => {
                    if let Some(m) = self.monos.get_mut(top as usize) {
                        m.leading_rows.pop();
                    }
                }
                Some(None) => self.false_rows -= 1,
                None => {}
            }
        }
        self.fact_rows = self.fact_rows.min(self.rows.len());
        self.points.truncate(self.rows.len());
        let keep = self.extents.last().copied().unwrap_or_default();
        for entry in self.atoms.drain(keep.atoms..) {
            self.atom_ids.remove(&entry.atom);
        }
        for mono in self.monos.drain(keep.monos..) {
            if mono.factors.len() > 1 {
                self.mono_ids.remove(&mono.factors);
            }
        }
    }

    /// Adds a fact and returns its number. A trivially true fact, or one past the limit, is
    /// dropped.
    fn push(&mut self, row: LinearRow) -> Option<u32> {
        let row = row.tighten();
        let number = u32::try_from(self.rows.len()).ok()?;
        match row.leading_term() {
            _ if self.rows.len() >= MAX_ROWS => return None,
            None if row.constant == 0 || row.constant > 0 && !row.is_equality => return None,
            None => self.false_rows += 1,
            Some((top, _)) => {
                if let Some(m) = self.monos.get_mut(top as usize) {
                    m.leading_rows.push(number);
                }
            }
        }
        self.points.add_row(&row, number, &|m| self.monos.get(m as usize).map(|m| &m.values));
        self.rows.push(row);
        self.extents.push(TableExtent { atoms: self.atoms.len(), monos: self.monos.len() });
        Some(number)
    }

    /// Returns the polynomial as a tightened row over numbered monomials. `None` past the limits.
    pub(super) fn linearise(&mut self, p: &Poly, zero: bool) -> Option<LinearRow> {
        let mut row = LinearRow { terms: Vec::with_capacity(p.terms().len()), constant: 0, is_equality: zero };
        for (m, c) in p.terms() {
            match m.as_slice() {
                [] => row.constant = *c,
                [(a, 1)] => {
                    let a = self.intern_atom(a)?;
                    row.terms.push((self.atom_mono(a), *c));
                }
                _ => {
                    let mut factors = Vec::new();
                    for (a, k) in m {
                        let a = self.intern_atom(a)?;
                        factors.extend((0..*k).map(|_| a));
                    }
                    factors.sort_unstable();
                    row.terms.push((self.intern_mono(factors)?, *c));
                }
            }
        }
        row.terms.sort_unstable();
        Some(row.tighten())
    }

    /// Returns the degree of a row.
    fn degree(&self, row: &LinearRow) -> usize {
        row.terms.iter().map(|t| self.factors(t.0).len()).max().unwrap_or(0)
    }

    /// Returns the product of two rows, not tightened. `None` past the limits, or if its degree
    /// exceeds `degree`.
    pub(super) fn product(&mut self, p: &LinearRow, q: &LinearRow, degree: usize) -> Option<LinearRow> {
        if self.degree(p) + self.degree(q) > degree {
            return None;
        }
        let mut terms = Vec::with_capacity((p.terms.len() + 1) * (q.terms.len() + 1));
        for &(m, c) in &p.terms {
            terms.push((m, mul(c, q.constant)?));
        }
        for &(m, c) in &q.terms {
            terms.push((m, mul(c, p.constant)?));
        }
        for &(m1, c1) in &p.terms {
            for &(m2, c2) in &q.terms {
                terms.push((self.mono_product(m1, m2)?, mul(c1, c2)?));
            }
        }
        let constant = mul(p.constant, q.constant)?;
        terms.sort_unstable();
        let mut sums: Vec<(MonoId, i128)> = Vec::with_capacity(terms.len());
        for (m, c) in terms {
            match sums.last_mut() {
                Some(last) if last.0 == m => last.1 = last.1.checked_add(c)?,
                _ => sums.push((m, c)),
            }
        }
        sums.retain(|t| t.1 != 0);
        Some(LinearRow { terms: sums, constant, is_equality: p.is_equality || q.is_equality })
    }

    /// Returns the product of two monomials. `None` past the limits.
    pub(super) fn mono_product(&mut self, a: MonoId, b: MonoId) -> Option<MonoId> {
        let mut factors = self.factors(a).to_vec();
        factors.extend_from_slice(self.factors(b));
        factors.sort_unstable();
        self.intern_mono(factors)
    }

    /// Returns the monomial with these factors, if it has a number.
    pub(super) fn find_mono(&self, factors: &[AtomId]) -> Option<MonoId> {
        match factors {
            [a] => Some(self.atom_mono(*a)),
            _ => self.mono_ids.get(factors).copied(),
        }
    }

    /// Returns the monomial with these factors, which must be sorted and at least one. `None` past
    /// the limits.
    pub(super) fn intern_mono(&mut self, factors: Vec<AtomId>) -> Option<MonoId> {
        if let Some(m) = self.find_mono(&factors) {
            return Some(m);
        }
        if factors.len() > poly::MAX_DEGREE as usize || self.monos.len() >= MAX_MONOMIALS {
            return None;
        }
        let id = MonoId::try_from(self.monos.len()).ok()?;
        self.mono_ids.insert(factors.clone(), id);
        let squares = factors.chunks_exact(2).all(|f| f.first() == f.last()) && factors.len().is_multiple_of(2);
        let root: Vec<_> = factors.iter().copied().step_by(2).collect();
        let of_factors = factors.iter().filter_map(|a| self.monos.get(self.atom_mono(*a) as usize)).map(|m| &m.values);
        let values = points::product_values(of_factors);
        self.monos.push(MonoEntry { factors, leading_rows: Vec::new(), operands: None, values });
        // r·r >= |r| for every integer r.
        if squares && let Some(root) = self.find_mono(&root) {
            for sign in [1, -1] {
                self.push(LinearRow { terms: vec![(root, sign), (id, 1)], constant: 0, is_equality: false });
            }
        }
        Some(id)
    }

    fn intern_atom(&mut self, atom: &Atom) -> Option<AtomId> {
        if let Some(&id) = self.atom_ids.get(atom) {
            return Some(id);
        }
        // Inner atoms come first, so that they have smaller numbers.
        let inside = match atom {
            Atom::Div(p, q) | Atom::Mod(p, q) | Atom::Min(p, q) | Atom::Max(p, q) => {
                Some((self.linearise(p, false)?, self.linearise(q, false)?))
            }
            Atom::Overflow => return None,
            _ => None,
        };
        if self.atoms.len() >= MAX_ATOMS {
            return None;
        }
        let id = AtomId::try_from(self.atoms.len()).ok()?;
        let mono = MonoId::try_from(self.monos.len()).ok()?;
        let values = match inside {
            None => points::atom_values(id),
            Some(_) => points::compound_values(atom, &|a, point| {
                let mono = self.atom_mono(*self.atom_ids.get(a)?);
                *self.monos.get(mono as usize)?.values.get(point)?
            }),
        };
        self.atoms.push(AtomEntry { atom: atom.clone(), mono });
        self.atom_ids.insert(atom.clone(), id);
        self.monos.push(MonoEntry { factors: vec![id], leading_rows: Vec::new(), operands: None, values });
        if inside.is_some() {
            self.assume_definition(atom, mono);
        }
        Some(id)
    }

    /// Adds the facts that define a compound atom.
    fn assume_definition(&mut self, atom: &Atom, mono: MonoId) {
        let a = Poly::atom(atom.clone());
        match atom {
            Atom::Div(p, q) => {
                if let Some(d) = q.as_constant() {
                    // For q = floor(p / d), with the sign of d moved into p: d·q <= p <= d·q + d -
                    // 1.
                    let (p, d) = if d < 0 { (p.neg(), -d) } else { ((**p).clone(), d) };
                    let rest = p.sub(&a.scale(d));
                    self.assume(&rest, false);
                    self.assume(&rest.neg().add_constant(d - 1), false);
                    self.assume_remainder_identity(&p, &a, d);
                }
            }
            Atom::Mod(p, q) => {
                if let Some(d) = q.as_constant() {
                    let (lo, hi) = if d > 0 { (0, d - 1) } else { (d + 1, 0) };
                    self.assume(&a.add_constant(-lo), false);
                    self.assume(&a.neg().add_constant(hi), false);
                    if let Some(whole) = p.div(q) {
                        self.assume(&p.sub(&a).sub(&whole.scale(d)), true);
                    }
                }
            }
            Atom::Min(p, q) => self.assume_comparisons(mono, [p.sub(&a), q.sub(&a)]),
            Atom::Max(p, q) => self.assume_comparisons(mono, [a.sub(p), a.sub(q)]),
            _ => {}
        }
    }

    fn assume_comparisons(&mut self, mono: MonoId, with: [Poly; 2]) {
        let rows = with.map(|p| self.assume(&p, false));
        if let ([Some(first), Some(second)], Some(m)) = (rows, self.monos.get_mut(mono as usize)) {
            m.operands = Some([first, second]);
        }
    }

    /// Adds `p = d·(p // d) + p % d`, if the remainder has a number.
    fn assume_remainder_identity(&mut self, p: &Poly, quotient: &Poly, d: i128) {
        if let Some(rest) = p.rem(&Poly::constant(d))
            && rest.as_atom().is_none_or(|a| self.atom_ids.contains_key(a))
        {
            self.assume(&p.sub(&rest).sub(&quotient.scale(d)), true);
        }
    }

    /// Adds `p >= 0` or `p = 0`. Returns the number of the row, if it is kept.
    pub(super) fn assume(&mut self, p: &Poly, zero: bool) -> Option<u32> {
        if p.has_overflowed() {
            return None;
        }
        let row = self.linearise(p, zero)?;
        self.push(row)
    }
}
