//! **Polynomials with rational coefficients.** Sums of integer polynomials over ranges have such
//! coefficients, but their values are integers.

use crate::predicate::{Atom, Poly};

/// An integer polynomial divided by a positive integer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ratio {
    numerator: Poly,
    denominator: i128,
}

impl From<Poly> for Ratio {
    fn from(over: Poly) -> Self {
        Self { numerator: over, denominator: 1 }
    }
}

impl Ratio {
    /// Returns the polynomial divided by an integer, which must be positive.
    #[must_use]
    pub fn new(p: Poly, under: i128) -> Self {
        Self::in_lowest_terms(p, under.max(1))
    }

    /// Returns the polynomial divided by a positive integer, in lowest terms.
    fn in_lowest_terms(over: Poly, under: i128) -> Self {
        let common = over.terms().iter().fold(under, |d, (_, c)| gcd(d, *c));
        if common <= 1 || over.has_overflowed() {
            return Self { numerator: over, denominator: under };
        }
        match over.div(&Poly::constant(common)) {
            Some(over) => Self { numerator: over, denominator: under / common },
            None => Self { numerator: over, denominator: under },
        }
    }

    /// Returns a constant.
    #[must_use]
    pub fn constant(c: i128) -> Self {
        Poly::constant(c).into()
    }

    /// Returns the numerator, and the denominator, which is positive.
    #[must_use]
    pub fn as_fraction(&self) -> (&Poly, i128) {
        (&self.numerator, self.denominator)
    }

    /// Whether it is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.numerator.is_zero()
    }

    /// Whether arithmetic on it overflowed.
    #[must_use]
    pub fn has_overflowed(&self) -> bool {
        self.numerator.has_overflowed()
    }

    /// Returns the sum.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        if self.denominator == 1 && other.denominator == 1 {
            return self.numerator.add(&other.numerator).into();
        }
        let common = gcd(self.denominator, other.denominator).max(1);
        let (a, b) = (other.denominator / common, self.denominator / common);
        let over = self.numerator.scale(a).add(&other.numerator.scale(b));
        match self.denominator.checked_mul(a) {
            Some(under) => Self::in_lowest_terms(over, under),
            None => Self::overflow(),
        }
    }

    /// Returns the difference.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Self {
        self.add(&Self { numerator: other.numerator.neg(), denominator: other.denominator })
    }

    /// Returns the product.
    #[must_use]
    pub fn mul(&self, other: &Self) -> Self {
        match self.denominator.checked_mul(other.denominator) {
            Some(under) => Self::in_lowest_terms(self.numerator.mul(&other.numerator), under),
            None => Self::overflow(),
        }
    }

    fn overflow() -> Self {
        Poly::atom(Atom::Overflow).into()
    }

    /// Substitutes polynomials for atoms; `None` keeps an atom.
    #[must_use]
    pub fn substitute(&self, f: &impl Fn(&Atom) -> Option<Poly>) -> Self {
        Self::in_lowest_terms(self.numerator.substitute(f), self.denominator)
    }

    /// Evaluates it at these values of atoms. Returns `None` if an atom has no value, on overflow,
    /// and if the result is not an integer.
    pub fn eval(&self, f: &mut impl FnMut(&Atom) -> Option<i64>) -> Option<i128> {
        let mut sum: i128 = 0;
        for (monomial, c) in self.numerator.terms() {
            let mut product = *c;
            for (atom, power) in monomial {
                let value = value(atom, f)?;
                for _ in 0..*power {
                    product = product.checked_mul(value.into())?;
                }
            }
            sum = sum.checked_add(product)?;
        }
        (sum % self.denominator == 0).then(|| sum / self.denominator)
    }

    /// Sums it over the values of the index from `first` to `last`, both included. The sum is 0 if
    /// `last` is `first - 1`. Returns `None` if the index occurs inside another atom.
    #[must_use]
    pub fn sum_over(&self, index: &Atom, first: &Poly, last: &Poly) -> Option<Self> {
        let powers = power_coefficients(&self.numerator, index)?;
        let mut sum = Self::constant(0);
        for (k, of) in powers.iter().enumerate().filter(|(_, of)| !of.is_zero()) {
            let s = power_sum(u32::try_from(k).ok()?)?;
            let range = evaluate_at(&s, last).sub(&evaluate_at(&s, &first.add_constant(-1)));
            sum = sum.add(&Self::in_lowest_terms(of.clone(), self.denominator).mul(&range));
        }
        Some(sum)
    }
}

/// Returns the value of an atom. As in the forms, division by 0 yields 0.
fn value(atom: &Atom, f: &mut impl FnMut(&Atom) -> Option<i64>) -> Option<i64> {
    if let Atom::Div(_, q) | Atom::Mod(_, q) = atom
        && q.eval(f)? == 0
    {
        return Some(0);
    }
    Poly::atom(atom.clone()).eval(f)
}

/// Returns the coefficients of the powers of an atom, from power 0.
fn power_coefficients(p: &Poly, atom: &Atom) -> Option<Vec<Poly>> {
    let mut powers = vec![Poly::default()];
    for (monomial, c) in p.terms() {
        let mut power = 0;
        let mut rest = Vec::new();
        for (a, k) in monomial {
            if a == atom {
                power = *k as usize;
            } else if a.mentions(atom) {
                return None;
            } else {
                rest.push((a.clone(), *k));
            }
        }
        powers.resize(powers.len().max(power + 1), Poly::default());
        if let Some(slot) = powers.get_mut(power) {
            *slot = slot.add(&Poly::term(rest, *c));
        }
    }
    Some(powers)
}

/// A polynomial in one unknown: the numerators of its powers from 0, and the common denominator.
struct UnivariatePoly {
    numerators: Vec<i128>,
    denominator: i128,
}

/// Returns `1ᵏ + 2ᵏ + … + xᵏ` as a polynomial in `x`, by the recurrence
/// `(x + 1)ᵏ⁺¹ - 1 = Σⱼ (k + 1 over j) · Sⱼ(x)`.
fn power_sum(k: u32) -> Option<UnivariatePoly> {
    let mut known: Vec<UnivariatePoly> = Vec::new();
    for k in 0..=k {
        let degree = usize::try_from(k).ok()? + 1;
        // (x + 1)ᵏ⁺¹ - 1
        let mut over: Vec<i128> = (0..=degree).map(|j| choose(degree, j)).collect::<Option<_>>()?;
        *over.first_mut()? = 0;
        let mut under: i128 = 1;
        for (j, s) in known.iter().enumerate() {
            let all = (under / gcd(under, s.denominator)).checked_mul(s.denominator)?;
            let (a, b) = (all / under, choose(degree, j)?.checked_mul(all / s.denominator)?);
            for (power, slot) in over.iter_mut().enumerate() {
                let other = s.numerators.get(power).copied().unwrap_or(0);
                *slot = slot.checked_mul(a)?.checked_sub(other.checked_mul(b)?)?;
            }
            under = all;
        }
        under = under.checked_mul(i128::try_from(degree).ok()?)?;
        let common = over.iter().fold(under, |d, c| gcd(d, *c)).max(1);
        over.iter_mut().for_each(|c| *c /= common);
        known.push(UnivariatePoly { numerators: over, denominator: under / common });
    }
    known.pop()
}

fn evaluate_at(s: &UnivariatePoly, x: &Poly) -> Ratio {
    let value = s.numerators.iter().rev().fold(Poly::default(), |sum, c| sum.mul(x).add_constant(*c));
    Ratio::in_lowest_terms(value, s.denominator)
}

fn choose(n: usize, k: usize) -> Option<i128> {
    (0..k).try_fold(1_i128, |c, j| Some(c.checked_mul(i128::try_from(n - j).ok()?)? / (i128::try_from(j).ok()? + 1)))
}

/// Returns the greatest common divisor, which is not negative.
fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1)
}
