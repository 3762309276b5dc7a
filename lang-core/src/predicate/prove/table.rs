//! What the prover knows: atoms and monomials by number, and rows, which are linear facts over
//! monomials. Atoms built from others (`p // 2`, `min(p, q)`) bring rows that define them.
//! Everything grows at the end and is taken back by [`Table::truncate`].

use std::collections::BTreeMap;

use super::points::{self, Points, Values};
use crate::predicate::poly::{Poly, floor_div};
use crate::predicate::{Atom, poly};

/// Rows past this number are not kept: what they say is then not known, which is sound.
/// Scopes people write hold tens.
const MAX_ROWS: usize = 4096;

/// Atoms past this number are not looked at.
const MAX_ATOMS: usize = 2048;

/// Monomials past this number are not looked at.
const MAX_MONOMIALS: usize = 8192;

/// Rows and monomials that only goals mention are forgotten when there are more than this.
const MAX_STRAY: usize = 512;

/// The number of an atom.
pub(super) type AtomId = u32;

/// The number of a monomial other than 1. Of a product or a built atom it is larger than those
/// of the atoms in it, so that taking the largest away first ends.
pub(super) type MonoId = u32;

/// `constant + Σ c·m >= 0`, or `= 0`. It is over integers, and so is tightened: the greatest
/// common divisor of the coefficients is 1.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Monomials with coefficients, sorted, none 0.
    pub(super) terms: Vec<(MonoId, i128)>,
    /// What stands alone.
    pub(super) constant: i128,
    /// Is it an equality?
    pub(super) zero: bool,
}

impl Row {
    /// The largest monomial with its coefficient.
    pub(super) fn top(&self) -> Option<(MonoId, i128)> {
        self.terms.last().copied()
    }

    /// Divides by the greatest common divisor of the coefficients, rounding down: over integers
    /// the same. An equality that has no integer solution becomes `-1 = 0`.
    pub(super) fn tighten(mut self) -> Self {
        let g = self.terms.iter().fold(0, |g, t| gcd(g, t.1.unsigned_abs()));
        let Ok(g) = i128::try_from(g) else { return self };
        if g > 1 {
            if self.zero && self.constant % g != 0 {
                return Self { terms: Vec::new(), constant: -1, zero: true };
            }
            for t in &mut self.terms {
                t.1 /= g;
            }
            self.constant = floor_div(self.constant, g);
        }
        self
    }

    /// `-self - 1 >= 0`: what holds where `self >= 0` does not. `None` on overflow.
    pub(super) fn negated(&self) -> Option<Self> {
        let terms: Option<_> = self.terms.iter().map(|t| Some((t.0, t.1.checked_neg()?))).collect();
        Some(Self { terms: terms?, constant: self.constant.checked_neg()?.checked_sub(1)?, zero: false })
    }

    /// `self·by + other·times`. `None` on overflow.
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
        Some(Self { terms, constant, zero: self.zero && other.zero })
    }
}

/// Product, checked, fast for numbers of 64 bits.
pub(super) fn mul(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

/// Greatest common divisor; of 0 and `b` it is `b`.
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
struct Mono {
    /// Sorted, with repetition.
    factors: Vec<AtomId>,
    /// The rows of which it is the largest monomial, ascending.
    tops: Vec<u32>,
    /// Of a minimum or maximum: the rows that compare it with its operands.
    operands: Option<[u32; 2]>,
    /// Its values at the points.
    values: Values,
}

/// How much of the table a row needs.
#[derive(Clone, Copy, Default, Debug)]
struct Extent {
    atoms: usize,
    monos: usize,
}

/// See the head of the file.
#[derive(Clone, Default, Debug)]
pub(super) struct Table {
    atoms: Vec<AtomEntry>,
    atom_ids: BTreeMap<Atom, AtomId>,
    monos: Vec<Mono>,
    /// Monomials of two and more factors.
    mono_ids: BTreeMap<Vec<AtomId>, MonoId>,
    rows: Vec<Row>,
    extents: Vec<Extent>,
    /// How many rows have no monomials, and so are false.
    falsehoods: usize,
    /// How many rows are facts or define what facts mention.
    kept: usize,
    points: Points,
}

impl Table {
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(super) fn row(&self, at: u32) -> Option<&Row> {
        self.rows.get(at as usize)
    }

    /// How much it holds.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.rows.len() + self.atoms.len() + self.monos.len()
    }

    /// Is one of the facts a false number?
    pub(super) fn is_false(&self) -> bool {
        self.falsehoods > 0
    }

    /// Do the rows hold at a point that is known?
    pub(super) fn holds_somewhere(&self) -> bool {
        self.points.any()
    }

    /// Is a goal false at a point where the rows hold?
    pub(super) fn refutes(&self, goal: &Row) -> bool {
        self.points.refute(goal, &|m| self.monos.get(m as usize).map(|m| &m.values))
    }

    /// Its atoms, sorted, with repetition.
    pub(super) fn factors(&self, m: MonoId) -> &[AtomId] {
        self.monos.get(m as usize).map_or(&[], |m| &m.factors)
    }

    /// The rows whose largest monomial it is, in the order they were added.
    pub(super) fn tops(&self, m: MonoId) -> &[u32] {
        self.monos.get(m as usize).map_or(&[], |m| &m.tops)
    }

    /// Of a minimum or maximum, the rows that compare it with its operands.
    pub(super) fn operands(&self, m: MonoId) -> Option<[u32; 2]> {
        self.monos.get(m as usize).and_then(|m| m.operands)
    }

    /// The atom, if the monomial is just one.
    pub(super) fn as_atom(&self, m: MonoId) -> Option<&Atom> {
        match self.factors(m) {
            [a] => self.atom(*a),
            _ => None,
        }
    }

    pub(super) fn atom(&self, a: AtomId) -> Option<&Atom> {
        self.atoms.get(a as usize).map(|e| &e.atom)
    }

    /// Has the atom a number?
    pub(super) fn knows(&self, atom: &Atom) -> bool {
        self.atom_ids.contains_key(atom)
    }

    /// The monomial that is just this atom.
    pub(super) fn mono_of(&self, a: AtomId) -> MonoId {
        self.atoms.get(a as usize).map_or(0, |e| e.mono)
    }

    /// From here on what is added is for a goal, until the next [`Self::settle`].
    pub(super) fn keep(&mut self) {
        self.kept = self.rows.len();
    }

    /// How many rows are kept.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// Forgets what only goals mention.
    pub(super) fn settle(&mut self) {
        self.truncate(self.kept);
    }

    /// Forgets what only goals mention if it is much.
    pub(super) fn settle_if_large(&mut self) {
        let keep = self.extents.last().copied().unwrap_or_default();
        if self.rows.len() - self.kept.min(self.rows.len()) > MAX_STRAY || self.monos.len() - keep.monos > MAX_STRAY {
            self.settle();
        }
    }

    /// Forgets all rows from this number on, and what no other row mentions.
    pub(super) fn truncate(&mut self, rows: usize) {
        while self.rows.len() > rows {
            self.extents.pop();
            match self.rows.pop().map(|row| row.top()) {
                Some(Some((top, _))) => {
                    if let Some(m) = self.monos.get_mut(top as usize) {
                        m.tops.pop();
                    }
                }
                Some(None) => self.falsehoods -= 1,
                None => {}
            }
        }
        self.kept = self.kept.min(self.rows.len());
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

    /// Adds a fact. One that is always true, or too many, is not kept.
    fn push(&mut self, row: Row) -> Option<u32> {
        let row = row.tighten();
        let number = u32::try_from(self.rows.len()).ok()?;
        match row.top() {
            _ if self.rows.len() >= MAX_ROWS => return None,
            None if row.constant == 0 || row.constant > 0 && !row.zero => return None,
            None => self.falsehoods += 1,
            Some((top, _)) => {
                if let Some(m) = self.monos.get_mut(top as usize) {
                    m.tops.push(number);
                }
            }
        }
        self.points.add(&row, number, &|m| self.monos.get(m as usize).map(|m| &m.values));
        self.rows.push(row);
        self.extents.push(Extent { atoms: self.atoms.len(), monos: self.monos.len() });
        Some(number)
    }

    /// The polynomial over numbered monomials, tightened. `None` past the limits.
    pub(super) fn linear(&mut self, p: &Poly, zero: bool) -> Option<Row> {
        let mut row = Row { terms: Vec::with_capacity(p.terms().len()), constant: 0, zero };
        for (m, c) in p.terms() {
            match m.as_slice() {
                [] => row.constant = *c,
                [(a, 1)] => {
                    let a = self.intern(a)?;
                    row.terms.push((self.mono_of(a), *c));
                }
                _ => {
                    let mut factors = Vec::new();
                    for (a, k) in m {
                        let a = self.intern(a)?;
                        factors.extend((0..*k).map(|_| a));
                    }
                    factors.sort_unstable();
                    row.terms.push((self.mono(factors)?, *c));
                }
            }
        }
        row.terms.sort_unstable();
        Some(row.tighten())
    }

    /// How many factors the largest monomial of a row has.
    fn degree(&self, row: &Row) -> usize {
        row.terms.iter().map(|t| self.factors(t.0).len()).max().unwrap_or(0)
    }

    /// The product of two rows, not tightened. `None` past the limits and that degree.
    pub(super) fn product(&mut self, p: &Row, q: &Row, degree: usize) -> Option<Row> {
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
                terms.push((self.times(m1, m2)?, mul(c1, c2)?));
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
        Some(Row { terms: sums, constant, zero: p.zero || q.zero })
    }

    /// The product of two monomials. `None` past the limits.
    pub(super) fn times(&mut self, a: MonoId, b: MonoId) -> Option<MonoId> {
        let mut factors = self.factors(a).to_vec();
        factors.extend_from_slice(self.factors(b));
        factors.sort_unstable();
        self.mono(factors)
    }

    /// The monomial with these factors if it is known.
    pub(super) fn find(&self, factors: &[AtomId]) -> Option<MonoId> {
        match factors {
            [a] => Some(self.mono_of(*a)),
            _ => self.mono_ids.get(factors).copied(),
        }
    }

    /// The monomial with these factors, sorted and at least one.
    pub(super) fn mono(&mut self, factors: Vec<AtomId>) -> Option<MonoId> {
        if let Some(m) = self.find(&factors) {
            return Some(m);
        }
        if factors.len() > poly::MAX_DEGREE as usize || self.monos.len() >= MAX_MONOMIALS {
            return None;
        }
        let id = MonoId::try_from(self.monos.len()).ok()?;
        self.mono_ids.insert(factors.clone(), id);
        let squares = factors.chunks_exact(2).all(|f| f.first() == f.last()) && factors.len().is_multiple_of(2);
        let root: Vec<_> = factors.iter().copied().step_by(2).collect();
        let of_factors = factors.iter().filter_map(|a| self.monos.get(self.mono_of(*a) as usize)).map(|m| &m.values);
        let values = points::of_product(of_factors);
        self.monos.push(Mono { factors, tops: Vec::new(), operands: None, values });
        // Of an integer r, r·r >= |r|.
        if squares && let Some(root) = self.find(&root) {
            for sign in [1, -1] {
                self.push(Row { terms: vec![(root, sign), (id, 1)], constant: 0, zero: false });
            }
        }
        Some(id)
    }

    fn intern(&mut self, atom: &Atom) -> Option<AtomId> {
        if let Some(&id) = self.atom_ids.get(atom) {
            return Some(id);
        }
        // What is inside comes first, so that it has smaller numbers.
        let inside = match atom {
            Atom::Div(p, q) | Atom::Mod(p, q) | Atom::Min(p, q) | Atom::Max(p, q) => {
                Some((self.linear(p, false)?, self.linear(q, false)?))
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
            None => points::of_atom(id),
            Some(_) => points::of_built(atom, &|a, point| {
                let mono = self.mono_of(*self.atom_ids.get(a)?);
                *self.monos.get(mono as usize)?.values.get(point)?
            }),
        };
        self.atoms.push(AtomEntry { atom: atom.clone(), mono });
        self.atom_ids.insert(atom.clone(), id);
        self.monos.push(Mono { factors: vec![id], tops: Vec::new(), operands: None, values });
        if inside.is_some() {
            self.define(atom, mono);
        }
        Some(id)
    }

    /// Adds what is always true of an atom built from others.
    fn define(&mut self, atom: &Atom, mono: MonoId) {
        let a = Poly::atom(atom.clone());
        match atom {
            Atom::Div(p, q) => {
                if let Some(d) = q.as_constant() {
                    // Of floor(p / d), with the sign of d moved into p: d·q <= p <= d·q + d - 1.
                    let (p, d) = if d < 0 { (p.neg(), -d) } else { ((**p).clone(), d) };
                    let rest = p.sub(&a.scale(d));
                    self.assume(&rest, false);
                    self.assume(&rest.neg().plus(d - 1), false);
                    self.link(&p, &a, d);
                }
            }
            Atom::Mod(p, q) => {
                if let Some(d) = q.as_constant() {
                    let (lo, hi) = if d > 0 { (0, d - 1) } else { (d + 1, 0) };
                    self.assume(&a.plus(-lo), false);
                    self.assume(&a.neg().plus(hi), false);
                    if let Some(whole) = p.div(q) {
                        self.assume(&p.sub(&a).sub(&whole.scale(d)), true);
                    }
                }
            }
            Atom::Min(p, q) => self.compare(mono, [p.sub(&a), q.sub(&a)]),
            Atom::Max(p, q) => self.compare(mono, [a.sub(p), a.sub(q)]),
            _ => {}
        }
    }

    fn compare(&mut self, mono: MonoId, with: [Poly; 2]) {
        let rows = with.map(|p| self.assume(&p, false));
        if let ([Some(first), Some(second)], Some(m)) = (rows, self.monos.get_mut(mono as usize)) {
            m.operands = Some([first, second]);
        }
    }

    /// `p = d·(p // d) + p % d`, if the remainder is spoken of.
    fn link(&mut self, p: &Poly, quotient: &Poly, d: i128) {
        if let Some(rest) = p.rem(&Poly::constant(d))
            && rest.as_atom().is_none_or(|a| self.atom_ids.contains_key(a))
        {
            self.assume(&p.sub(&rest).sub(&quotient.scale(d)), true);
        }
    }

    /// Adds `p >= 0` or `p = 0`. The number of the row, if it is kept.
    pub(super) fn assume(&mut self, p: &Poly, zero: bool) -> Option<u32> {
        if p.overflowed() {
            return None;
        }
        let row = self.linear(p, zero)?;
        self.push(row)
    }
}
