//! **Packed polynomials** for the search and the grid. Atoms have numbers, and a monomial packs
//! their powers into four bits each. All arithmetic is checked: a result that does not fit is
//! `None`, and the caller then gives up on that step.

use crate::predicate::{Atom, Poly};

/// The largest number of atoms.
pub(super) const MAX_ATOMS: usize = 32;

/// The largest degree. It guarantees that no power exceeds its four bits.
const MAX_DEGREE: u32 = 15;

/// A product of powers of atoms.
pub(super) type PackedMono = u128;

/// Returns the monomial of one atom.
pub(super) fn single(atom: usize) -> PackedMono {
    1 << (4 * atom)
}

/// Iterates over the atoms of a monomial with their powers.
pub(super) fn powers(mut m: PackedMono) -> impl Iterator<Item = (usize, u32)> {
    std::iter::from_fn(move || {
        let atom = (m != 0).then(|| m.trailing_zeros() / 4)?;
        let power = u32::try_from((m >> (4 * atom)) & 15).ok()?;
        m &= !(15 << (4 * atom));
        Some((usize::try_from(atom).ok()?, power))
    })
}

/// Returns the degree.
pub(super) fn degree(m: PackedMono) -> u32 {
    powers(m).map(|(_, k)| k).sum()
}

/// Returns the quotient, if `by` divides the monomial.
pub(super) fn quotient(m: PackedMono, by: PackedMono) -> Option<PackedMono> {
    powers(by).all(|(a, k)| u32::try_from((m >> (4 * a)) & 15).is_ok_and(|has| has >= k)).then(|| m - by)
}

/// Terms sorted by monomial, without zero coefficients.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct PackedPoly(Vec<(PackedMono, i128)>);

impl PackedPoly {
    pub(super) fn constant(c: i128) -> Self {
        Self::term(0, c)
    }

    pub(super) fn term(m: PackedMono, c: i128) -> Self {
        Self(if c == 0 { Vec::new() } else { vec![(m, c)] })
    }

    pub(super) fn terms(&self) -> &[(PackedMono, i128)] {
        &self.0
    }

    pub(super) fn degree(&self) -> u32 {
        self.0.iter().map(|(m, _)| degree(*m)).max().unwrap_or(0)
    }

    /// Returns the terms whose monomial is `wanted`.
    pub(super) fn filter_terms(&self, wanted: impl Fn(PackedMono) -> bool) -> Self {
        Self(self.0.iter().filter(|(m, _)| wanted(*m)).copied().collect())
    }

    /// Returns `self + by·other`.
    pub(super) fn add_scaled(&self, other: &Self, by: i128) -> Option<Self> {
        let mut terms = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            let m = match (left.peek(), right.peek()) {
                (None, None) => return Some(Self(terms)),
                (Some(t), None) | (None, Some(t)) => t.0,
                (Some(l), Some(r)) => l.0.min(r.0),
            };
            let l = left.next_if(|t| t.0 == m).map_or(0, |t| t.1);
            let r = right.next_if(|t| t.0 == m).map_or(0, |t| t.1);
            let c = l.checked_add(r.checked_mul(by)?)?;
            if c != 0 {
                terms.push((m, c));
            }
        }
    }

    pub(super) fn scale(&self, by: i128) -> Option<Self> {
        Self::default().add_scaled(self, by)
    }

    /// Returns `-self - 1`.
    pub(super) fn negated(&self) -> Option<Self> {
        Self::constant(-1).add_scaled(self, -1)
    }

    pub(super) fn mul(&self, other: &Self) -> Option<Self> {
        if self.degree() + other.degree() > MAX_DEGREE {
            return None;
        }
        let mut terms = Vec::with_capacity(self.0.len() * other.0.len());
        for (m, c) in &self.0 {
            for (n, d) in &other.0 {
                terms.push((m + n, c.checked_mul(*d)?));
            }
        }
        terms.sort_unstable_by_key(|t| t.0);
        let mut sums: Vec<(PackedMono, i128)> = Vec::with_capacity(terms.len());
        for (m, c) in terms {
            match sums.last_mut() {
                Some(last) if last.0 == m => last.1 = last.1.checked_add(c)?,
                _ => sums.push((m, c)),
            }
        }
        sums.retain(|t| t.1 != 0);
        Some(Self(sums))
    }

    /// Substitutes polynomials for all atoms.
    pub(super) fn substitute(&self, values: &[Self]) -> Option<Self> {
        let mut sum = Self::default();
        for (m, c) in &self.0 {
            let mut product = Self::constant(*c);
            for (atom, power) in powers(*m) {
                for _ in 0..power {
                    product = product.mul(values.get(atom)?)?;
                }
            }
            sum = sum.add_scaled(&product, 1)?;
        }
        Some(sum)
    }
}

/// The numbering of atoms.
#[derive(Clone, Default, Debug)]
pub(super) struct AtomNumbering(Vec<Atom>);

impl AtomNumbering {
    pub(super) fn atoms(&self) -> &[Atom] {
        &self.0
    }

    pub(super) fn number(&mut self, atom: &Atom) -> Option<usize> {
        let known = self.0.iter().position(|a| a == atom);
        if known.is_none() {
            self.0.push(atom.clone());
        }
        known.or(Some(self.0.len() - 1)).filter(|number| *number < MAX_ATOMS)
    }

    pub(super) fn pack(&mut self, p: &Poly) -> Option<PackedPoly> {
        if p.has_overflowed() {
            return None;
        }
        let mut terms = Vec::with_capacity(p.terms().len());
        for (monomial, c) in p.terms() {
            if monomial.iter().map(|(_, power)| *power).sum::<u32>() > MAX_DEGREE {
                return None;
            }
            let mut packed = 0;
            for (atom, power) in monomial {
                packed += single(self.number(atom)?) * PackedMono::from(*power);
            }
            terms.push((packed, *c));
        }
        terms.sort_unstable_by_key(|t| t.0);
        Some(PackedPoly(terms))
    }

    /// Converts back to a polynomial of the crate.
    pub(super) fn unpack(&self, p: &PackedPoly) -> Poly {
        p.0.iter().fold(Poly::default(), |sum, (m, c)| {
            let mut factors: Vec<_> =
                powers(*m).filter_map(|(atom, power)| Some((self.0.get(atom)?.clone(), power))).collect();
            factors.sort_unstable();
            sum.add(&Poly::term(factors, *c))
        })
    }
}

/// Returns the greatest common divisor, which is non-negative.
pub(super) fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1)
}

/// Returns the least common multiple of two positive numbers.
pub(super) fn lcm(a: i128, b: i128) -> Option<i128> {
    (a / gcd(a, b).max(1)).checked_mul(b)
}
