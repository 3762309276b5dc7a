//! **Integer polynomials** over atoms: the normal form of sizes and of the index expressions that
//! the compiler analyses ("Types and sizes" in the language reference). Equal normal forms are
//! equal sizes.
//!
//! A polynomial beyond the limits below becomes the single atom [`Atom::Overflow`]. Arithmetic on
//! it overflows too, even its difference with itself. Only its product with 0 and its power with
//! exponent 0 are constants. The prover proves nothing about it.

use std::cmp::Reverse;
use std::sync::Arc;

use lang_base::{GlobalName, Name};

#[cfg(test)]
mod tests;

/// The id of a local of a checked body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LocalId(pub u32);

/// The maximal degree. Sizes that people write have degree 1 to 4.
pub const MAX_DEGREE: u32 = 16;

/// The maximal number of terms.
pub const MAX_TERMS: usize = 256;

/// The maximal absolute value of a coefficient. Sums of [`MAX_TERMS`] coefficients then stay well
/// inside `i128`. Products may not, so they are checked.
pub const MAX_COEFFICIENT: i128 = 1 << 100;

/// The maximal number of atoms inside an atom. Atoms share polynomials. Without a limit, traversals
/// could visit exponentially more atoms than the source text contains.
pub const MAX_NESTED_ATOMS: usize = 128;

/// The maximal number of pairs of terms in a product. Nearly all larger products exceed
/// [`MAX_TERMS`].
const MAX_TERM_PAIRS: usize = 16 * MAX_TERMS;

/// The indeterminates of polynomials.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Atom {
    /// A size of a signature, by position in its `sizes`.
    SizeParam(u32, Name),
    /// An `i64` local (parameter, index variable, let) or an implicit size of a checked body.
    Local(LocalId, Name),
    /// An `i64` bound by a top-level `let`.
    Global(GlobalName),
    /// A named parameter of a function type: the number of function types in between, and its
    /// position.
    Arg(u32, u32),
    /// A unification variable of the checker.
    Meta(u32),
    /// The quotient, rounded down. The divisor is not the constant 0.
    Div(Arc<Poly>, Arc<Poly>),
    /// The remainder, with the sign of the divisor. The divisor is not the constant 0.
    Mod(Arc<Poly>, Arc<Poly>),
    /// The minimum of two.
    Min(Arc<Poly>, Arc<Poly>),
    /// The maximum of two.
    Max(Arc<Poly>, Arc<Poly>),
    /// An element of an array of `i64` that is known only at run time: the array and its indices. A
    /// scalar `i64` has no indices.
    Read(LocalId, Name, Arc<[Poly]>),
    /// A polynomial beyond the limits.
    Overflow,
}

/// A product of powers of atoms, sorted, powers at least 1; empty is 1. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Monomial(Arc<[(Atom, u32)]>);

impl Monomial {
    /// Returns its atoms with their powers.
    #[must_use]
    pub fn as_slice(&self) -> &[(Atom, u32)] {
        &self.0
    }
}

impl std::ops::Deref for Monomial {
    type Target = [(Atom, u32)];
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<Vec<(Atom, u32)>> for Monomial {
    fn from(factors: Vec<(Atom, u32)>) -> Self {
        Self(factors.into())
    }
}

impl<'a> IntoIterator for &'a Monomial {
    type Item = &'a (Atom, u32);
    type IntoIter = std::slice::Iter<'a, (Atom, u32)>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// A polynomial with integer coefficients. Terms are sorted by monomial and not zero. Types hold
/// many polynomials and are cloned often, so a clone only increments a reference count.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Poly {
    terms: Arc<[(Monomial, i128)]>,
}

impl Poly {
    /// Returns the constant `c`.
    #[must_use]
    pub fn constant(c: i128) -> Self {
        match c {
            0 => Self::default(),
            _ if !is_coefficient_in_range(c) => Self::overflow(),
            _ => Self::from_terms(vec![(Monomial::default(), c)]),
        }
    }

    /// Returns the atom `a` as a polynomial.
    #[must_use]
    pub fn atom(a: Atom) -> Self {
        if a.is_within_limits() { Self::from_terms(vec![(vec![(a, 1)].into(), 1)]) } else { Self::overflow() }
    }

    fn from_terms(terms: Vec<(Monomial, i128)>) -> Self {
        Self { terms: terms.into() }
    }

    /// Returns the polynomial of one term.
    #[must_use]
    pub fn term(monomial: impl Into<Monomial>, c: i128) -> Self {
        let monomial = monomial.into();
        if c == 0 {
            Self::default()
        } else if is_coefficient_in_range(c)
            && degree(&monomial) <= MAX_DEGREE
            && monomial.iter().all(|(a, _)| a.is_within_limits())
        {
            Self::from_terms(vec![(monomial, c)])
        } else {
            Self::overflow()
        }
    }

    fn overflow() -> Self {
        Self::from_terms(vec![(vec![(Atom::Overflow, 1)].into(), 1)])
    }

    /// Returns its terms, sorted by monomial. No coefficient is zero.
    #[must_use]
    pub fn terms(&self) -> &[(Monomial, i128)] {
        &self.terms
    }

    /// Whether it is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns its value, if it is a constant.
    #[must_use]
    pub fn as_constant(&self) -> Option<i128> {
        match &*self.terms {
            [] => Some(0),
            [(m, c)] if m.is_empty() => Some(*c),
            _ => None,
        }
    }

    /// Returns the atom, if it is a single one.
    #[must_use]
    pub fn as_atom(&self) -> Option<&Atom> {
        match &*self.terms {
            [(m, 1)] => match m.as_slice() {
                [(a, 1)] => Some(a),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it is [`Atom::Overflow`], because it or an operand was beyond the limits.
    #[must_use]
    pub fn has_overflowed(&self) -> bool {
        matches!(&*self.terms, [(m, _)] if matches!(m.as_slice(), [(Atom::Overflow, _)]))
    }

    fn combine(&self, other: &Self, sign: i128) -> Self {
        if self.has_overflowed() || other.has_overflowed() {
            return Self::overflow();
        }
        if other.is_zero() {
            return self.clone();
        }
        if self.is_zero() && sign == 1 {
            return other.clone();
        }
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(l), Some(r)) => l.0.cmp(&r.0),
            };
            let left_term = if order.is_le() { left.next() } else { None };
            let right_term = if order.is_ge() { right.next() } else { None };
            let c = left_term.map_or(0, |t| t.1).checked_add(right_term.map_or(0, |t| t.1 * sign));
            let (Some(c), Some((m, _))) = (c, left_term.or(right_term)) else {
                return Self::overflow();
            };
            if c != 0 {
                terms.push((m.clone(), c));
            }
        }
        Self::from_terms(terms).check_limits()
    }

    fn check_limits(self) -> Self {
        if self.terms.len() > MAX_TERMS || !self.terms.iter().all(|t| is_coefficient_in_range(t.1)) {
            Self::overflow()
        } else {
            self
        }
    }

    /// Returns the sum.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        self.combine(other, 1)
    }

    /// Returns the difference.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Self {
        self.combine(other, -1)
    }

    /// Returns the sum with a constant.
    #[must_use]
    pub fn add_constant(&self, c: i128) -> Self {
        self.add(&Self::constant(c))
    }

    /// Returns the negation.
    #[must_use]
    pub fn neg(&self) -> Self {
        self.scale(-1)
    }

    /// Returns the product with a constant.
    #[must_use]
    pub fn scale(&self, by: i128) -> Self {
        if by == 0 {
            return Self::default();
        }
        if self.has_overflowed() {
            return Self::overflow();
        }
        if by == 1 {
            return self.clone();
        }
        let scaled: Option<Vec<_>> = self.terms.iter().map(|(m, c)| Some((m.clone(), c.checked_mul(by)?))).collect();
        scaled.map_or_else(Self::overflow, |terms| Self::from_terms(terms).check_limits())
    }

    /// Returns the product.
    #[must_use]
    pub fn mul(&self, other: &Self) -> Self {
        match (self.as_constant(), other.as_constant()) {
            (Some(c), _) => return other.scale(c),
            (_, Some(c)) => return self.scale(c),
            _ => {}
        }
        let pairs = self.terms.len() * other.terms.len();
        if self.has_overflowed() || other.has_overflowed() || pairs > MAX_TERM_PAIRS {
            return Self::overflow();
        }
        let mut terms: Vec<(Monomial, i128)> = Vec::with_capacity(pairs);
        for (m1, c1) in self.terms() {
            for (m2, c2) in other.terms() {
                let (m, Some(c)) = (monomial_product(m1, m2), c1.checked_mul(*c2)) else {
                    return Self::overflow();
                };
                if degree(&m) > MAX_DEGREE || !is_coefficient_in_range(c) {
                    return Self::overflow();
                }
                terms.push((m, c));
            }
        }
        terms.sort_unstable();
        // Equal neighbours are added. The sum of 2^12 coefficients of at most 2^100 fits in `i128`.
        terms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        terms.retain(|t| t.1 != 0);
        Self::from_terms(terms).check_limits()
    }

    /// Returns the power.
    #[must_use]
    pub fn pow(&self, k: u32) -> Self {
        match self.as_constant() {
            Some(0 | 1) if k > 0 => self.clone(),
            Some(-1) => Self::constant(if k.is_multiple_of(2) { 1 } else { -1 }),
            // No other constant has a 128th power within the limit.
            Some(_) => (0..k.min(128)).fold(Self::constant(1), |p, _| p.mul(self)),
            None if k > MAX_DEGREE => Self::overflow(),
            None => (0..k).fold(Self::constant(1), |p, _| p.mul(self)),
        }
    }

    /// Returns the quotient, rounded down, or `None` if the divisor is the constant 0.
    #[must_use]
    pub fn div(&self, by: &Self) -> Option<Self> {
        match (self.as_constant(), by.as_constant()) {
            (_, Some(0)) => None,
            _ if self.has_overflowed() || by.has_overflowed() => Some(Self::overflow()),
            (Some(a), Some(b)) => Some(Self::constant(floor_div(a, b))),
            (_, Some(1)) => Some(self.clone()),
            (_, Some(b)) if self.terms.iter().all(|(_, c)| c % b == 0) => {
                Some(Self { terms: self.terms.iter().map(|(m, c)| (m.clone(), c / b)).collect() })
            }
            (_, Some(b)) => {
                // (q·b + r) // b = q + r // b for integer q, so the divisible terms move out.
                let (out, rest): (Vec<_>, Vec<_>) = self.terms.iter().cloned().partition(|(_, c)| c % b == 0);
                let out = Self { terms: out.into_iter().map(|(m, c)| (m, c / b)).collect() };
                let rest = Self::from_terms(rest);
                Some(match rest.as_constant() {
                    Some(r) => out.add_constant(floor_div(r, b)),
                    None => {
                        // The constant part of the rest is replaced by its remainder by b.
                        let c = rest.constant_part();
                        let whole = floor_div(c, b);
                        let rest = rest.add_constant(-whole * b);
                        out.add_constant(whole).add(&Self::atom(Atom::Div(Arc::new(rest), Arc::new(by.clone()))))
                    }
                })
            }
            _ => Some(Self::atom(Atom::Div(Arc::new(self.clone()), Arc::new(by.clone())))),
        }
    }

    /// Returns the remainder, with the sign of the divisor, or `None` if the divisor is the
    /// constant 0.
    #[must_use]
    pub fn rem(&self, by: &Self) -> Option<Self> {
        match (self.as_constant(), by.as_constant()) {
            (_, Some(0)) => None,
            _ if self.has_overflowed() || by.has_overflowed() => Some(Self::overflow()),
            (Some(a), Some(b)) => Some(Self::constant(a - floor_div(a, b) * b)),
            (_, Some(b)) if self.terms.iter().all(|(_, c)| c % b == 0) => Some(Self::default()),
            (_, Some(b)) => {
                let terms = self.terms.iter().map(|(m, c)| (m.clone(), c - floor_div(*c, b) * b)).filter(|t| t.1 != 0);
                let rest = Self { terms: terms.collect() };
                Some(match rest.as_constant() {
                    Some(r) => Self::constant(r),
                    None => Self::atom(Atom::Mod(Arc::new(rest), Arc::new(by.clone()))),
                })
            }
            _ => Some(Self::atom(Atom::Mod(Arc::new(self.clone()), Arc::new(by.clone())))),
        }
    }

    /// Splits `self = by·quotient + rest`, if `by` is a single term; it then divides no term of the
    /// rest. Returns `(quotient, rest)`. For any other `by`, the quotient is 0.
    #[must_use]
    pub fn divide_by_term(&self, by: &Self) -> (Self, Self) {
        let [(divisor, d)] = &*by.terms else { return (Self::default(), self.clone()) };
        let (mut quotient, mut rest) = (Vec::new(), Vec::new());
        for (m, c) in self.terms() {
            match monomial_quotient(m, divisor) {
                Some(m) if c % d == 0 => quotient.push((m, c / d)),
                _ => rest.push((m.clone(), *c)),
            }
        }
        // Dividing by the common factor can change the order of the monomials.
        quotient.sort_unstable();
        (Self::from_terms(quotient), Self::from_terms(rest))
    }

    /// Returns the minimum of two.
    #[must_use]
    pub fn minimum(&self, other: &Self) -> Self {
        match self.sub(other).as_constant() {
            Some(d) => if d <= 0 { self } else { other }.clone(),
            None => {
                let (a, b) = if self <= other { (self, other) } else { (other, self) };
                Self::atom(Atom::Min(Arc::new(a.clone()), Arc::new(b.clone())))
            }
        }
    }

    /// Returns the maximum of two.
    #[must_use]
    pub fn maximum(&self, other: &Self) -> Self {
        match self.sub(other).as_constant() {
            Some(d) => if d >= 0 { self } else { other }.clone(),
            None => {
                let (a, b) = if self <= other { (self, other) } else { (other, self) };
                Self::atom(Atom::Max(Arc::new(a.clone()), Arc::new(b.clone())))
            }
        }
    }

    /// Returns the coefficient of the empty monomial.
    #[must_use]
    pub fn constant_part(&self) -> i128 {
        self.terms.iter().find(|(m, _)| m.is_empty()).map_or(0, |t| t.1)
    }

    /// Splits `self = c·a + rest` with a constant `c`, and returns `(c, rest)`. Returns `None` if
    /// `a` does not occur, or if it occurs in another way, such as inside another atom.
    #[must_use]
    pub fn linear_in(&self, a: &Atom) -> Option<(i128, Self)> {
        let mut found = None;
        let mut rest = Vec::new();
        for (m, c) in self.terms() {
            if matches!(m.as_slice(), [(b, 1)] if b == a) {
                found = Some(*c);
            } else if m.iter().any(|(b, _)| b.mentions(a)) {
                return None;
            } else {
                rest.push((m.clone(), *c));
            }
        }
        Some((found?, Self::from_terms(rest)))
    }

    /// Visits every atom, including those inside other atoms, outermost first. An atom may occur
    /// twice.
    pub fn for_each_atom(&self, f: &mut impl FnMut(&Atom)) {
        for (a, _) in self.terms.iter().flat_map(|(m, _)| m) {
            f(a);
            match a {
                Atom::Div(p, q) | Atom::Mod(p, q) | Atom::Min(p, q) | Atom::Max(p, q) => {
                    p.for_each_atom(f);
                    q.for_each_atom(f);
                }
                Atom::Read(_, _, at) => at.iter().for_each(|p| p.for_each_atom(f)),
                _ => {}
            }
        }
    }

    /// Whether it contains the atom, possibly inside others.
    #[must_use]
    pub fn mentions(&self, atom: &Atom) -> bool {
        let mut found = false;
        self.for_each_atom(&mut |a| found |= a == atom);
        found
    }

    /// Replaces atoms, also inside others; `None` keeps the atom. The result is normalised.
    #[must_use]
    pub fn substitute(&self, f: &impl Fn(&Atom) -> Option<Self>) -> Self {
        let mut sum = Self::default();
        for (m, c) in self.terms() {
            let mut product = Self::constant(*c);
            for (a, k) in m {
                product = product.mul(&a.substitute(f).pow(*k));
            }
            sum = sum.add(&product);
        }
        sum
    }

    /// Evaluates it. `f` returns the values of atoms other than quotients, remainders, minima and
    /// maxima. The result is `None` if an atom has no value, on overflow of `i64`, and on division
    /// by zero.
    pub fn eval(&self, f: &mut impl FnMut(&Atom) -> Option<i64>) -> Option<i64> {
        let mut sum: i128 = 0;
        for (m, c) in self.terms() {
            let mut product = *c;
            for (a, k) in m {
                let v = i128::from(a.eval(f)?);
                for _ in 0..*k {
                    product = product.checked_mul(v)?;
                }
            }
            sum = sum.checked_add(product)?;
        }
        i64::try_from(sum).ok()
    }
}

impl Atom {
    /// Whether it is `a` or contains it.
    #[must_use]
    pub fn mentions(&self, a: &Self) -> bool {
        self == a
            || match self {
                Self::Div(p, q) | Self::Mod(p, q) | Self::Min(p, q) | Self::Max(p, q) => p.mentions(a) || q.mentions(a),
                Self::Read(_, _, at) => at.iter().any(|p| p.mentions(a)),
                _ => false,
            }
    }

    /// Whether a polynomial may contain it: nothing in it overflowed, and it does not contain too
    /// many atoms.
    fn is_within_limits(&self) -> bool {
        let mut left = MAX_NESTED_ATOMS;
        self.fits_within(&mut left)
    }

    /// Subtracts the number of atoms inside from `left`. Returns false if there are more, or if one
    /// is `Overflow`.
    fn fits_within(&self, left: &mut usize) -> bool {
        let mut inside = |p: &Poly| {
            p.terms().iter().flat_map(|t| &t.0).all(|(a, _)| {
                let fits = *left > 0;
                *left = left.saturating_sub(1);
                fits && a.fits_within(left)
            })
        };
        match self {
            Self::Overflow => false,
            Self::Div(p, q) | Self::Mod(p, q) | Self::Min(p, q) | Self::Max(p, q) => inside(p) && inside(q),
            Self::Read(_, _, at) => at.iter().all(inside),
            _ => true,
        }
    }

    fn substitute(&self, f: &impl Fn(&Self) -> Option<Poly>) -> Poly {
        if let Some(p) = f(self) {
            return p;
        }
        match self {
            Self::Div(p, q) => p.substitute(f).div(&q.substitute(f)).unwrap_or_else(Poly::overflow),
            Self::Mod(p, q) => p.substitute(f).rem(&q.substitute(f)).unwrap_or_else(Poly::overflow),
            Self::Min(p, q) => p.substitute(f).minimum(&q.substitute(f)),
            Self::Max(p, q) => p.substitute(f).maximum(&q.substitute(f)),
            Self::Read(array, name, at) => {
                Poly::atom(Self::Read(*array, name.clone(), at.iter().map(|p| p.substitute(f)).collect()))
            }
            _ => Poly::atom(self.clone()),
        }
    }

    /// Returns its value. `f` returns the values of atoms as for [`Poly::eval`].
    pub(super) fn value(&self, f: &mut dyn FnMut(&Self) -> Option<i64>) -> Option<i64> {
        self.eval(&mut |a: &Self| f(a))
    }

    fn eval(&self, f: &mut impl FnMut(&Self) -> Option<i64>) -> Option<i64> {
        let two = |p: &Poly, q: &Poly, f: &mut _| Some((p.eval(f)?, q.eval(f)?));
        match self {
            Self::Div(p, q) => {
                let (a, b) = two(p, q, f)?;
                i64::try_from(floor_div(a.into(), if b == 0 { return None } else { b.into() })).ok()
            }
            Self::Mod(p, q) => {
                let (a, b) = two(p, q, f)?;
                let (a, b) = (i128::from(a), if b == 0 { return None } else { i128::from(b) });
                i64::try_from(a - floor_div(a, b) * b).ok()
            }
            Self::Min(p, q) => two(p, q, f).map(|(a, b)| a.min(b)),
            Self::Max(p, q) => two(p, q, f).map(|(a, b)| a.max(b)),
            Self::Overflow => None,
            _ => f(self),
        }
    }
}

fn is_coefficient_in_range(c: i128) -> bool {
    (-MAX_COEFFICIENT..=MAX_COEFFICIENT).contains(&c)
}

fn degree(m: &[(Atom, u32)]) -> u32 {
    m.iter().fold(0, |sum, f| sum.saturating_add(f.1))
}

fn monomial_product(a: &Monomial, b: &Monomial) -> Monomial {
    if a.is_empty() || b.is_empty() {
        return if b.is_empty() { a } else { b }.clone();
    }
    let mut m = a.to_vec();
    for (atom, k) in b {
        match m.binary_search_by(|f| f.0.cmp(atom)) {
            Ok(i) => {
                if let Some(f) = m.get_mut(i) {
                    f.1 += k;
                }
            }
            Err(i) => m.insert(i, (atom.clone(), *k)),
        }
    }
    m.into()
}

/// Divides a monomial by another. Returns `None` if it is not divisible.
fn monomial_quotient(whole: &[(Atom, u32)], part: &[(Atom, u32)]) -> Option<Monomial> {
    let mut rest = whole.to_vec();
    for (atom, k) in part {
        let at = rest.binary_search_by(|f| f.0.cmp(atom)).ok()?;
        let power = &mut rest.get_mut(at)?.1;
        *power = power.checked_sub(*k)?;
        if *power == 0 {
            rest.remove(at);
        }
    }
    Some(rest.into())
}

/// Returns the quotient, rounded down. The divisor must not be 0.
#[must_use]
pub fn floor_div(a: i128, b: i128) -> i128 {
    let q = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

/// Prints it as a user writes it: `n + m - 1`. Positive terms come first, those of higher degree
/// before others, and the constant last. A constant that is the only positive term comes first, as
/// in `1 - n`, so that a leading minus sign is rare.
impl std::fmt::Display for Poly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut terms: Vec<_> = self.terms.iter().collect();
        let leads = self.terms.iter().any(|(m, c)| !m.is_empty() && *c > 0);
        terms.sort_by_key(|(m, c)| match m.is_empty() {
            true => {
                if leads || *c < 0 {
                    (3, Reverse(0))
                } else {
                    (0, Reverse(0))
                }
            }
            false => (if *c > 0 { 1 } else { 2 }, Reverse(degree(m))),
        });
        for (i, (m, c)) in terms.iter().enumerate() {
            let size = c.unsigned_abs();
            match (i, *c < 0) {
                (0, true) => write!(f, "-")?,
                (0, false) => {}
                (_, true) => write!(f, " - ")?,
                (_, false) => write!(f, " + ")?,
            }
            match m.as_slice() {
                [] => write!(f, "{size}")?,
                // A term that is only `n // 2`, not after a prefix minus, needs no parentheses.
                [(a, 1)] if size == 1 && (i > 0 || *c > 0) => write!(f, "{a}")?,
                _ => {
                    if size != 1 {
                        write!(f, "{size} * ")?;
                    }
                    for (j, (a, k)) in m.iter().enumerate() {
                        let times = if j > 0 { " * " } else { "" };
                        match a {
                            Atom::Div(..) | Atom::Mod(..) => write!(f, "{times}({a})")?,
                            _ => write!(f, "{times}{a}")?,
                        }
                        if *k != 1 {
                            write!(f, "^{k}")?;
                        }
                    }
                }
            }
        }
        if terms.is_empty() { write!(f, "0") } else { Ok(()) }
    }
}

/// Prints it as a user writes it, without outer parentheses around quotients and remainders.
impl std::fmt::Display for Atom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let operand = |p: &Poly| match p.as_atom() {
            Some(Self::Div(..) | Self::Mod(..)) => format!("({p})"),
            Some(_) => format!("{p}"),
            None if p.as_constant().is_some_and(|c| c >= 0) => format!("{p}"),
            None => format!("({p})"),
        };
        match self {
            Self::SizeParam(_, name) | Self::Local(_, name) => write!(f, "{name}"),
            Self::Global(name) => write!(f, "{name}"),
            Self::Arg(_, k) => write!(f, "argument {}", k + 1),
            Self::Meta(_) | Self::Overflow => write!(f, "_"),
            Self::Div(p, q) => write!(f, "{} // {}", operand(p), operand(q)),
            Self::Mod(p, q) => write!(f, "{} % {}", operand(p), operand(q)),
            Self::Min(p, q) => write!(f, "min({p}, {q})"),
            Self::Max(p, q) => write!(f, "max({p}, {q})"),
            Self::Read(_, name, at) if at.is_empty() => write!(f, "{name}"),
            Self::Read(_, name, at) => {
                write!(f, "{name}[")?;
                for (k, p) in at.iter().enumerate() {
                    write!(f, "{}{p}", if k > 0 { ", " } else { "" })?;
                }
                write!(f, "]")
            }
        }
    }
}
