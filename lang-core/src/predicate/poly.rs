//! Integer polynomials over atoms: the normal form of sizes and of understood index
//! expressions ("Types and sizes" in the language reference). Equal normal forms are equal
//! sizes. Past the limits below a polynomial becomes the lone atom [`Atom::Overflow`]; so does
//! all arithmetic on it, its difference with itself too, and nothing is ever proved about it.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::base::{GlobalName, Name};

#[cfg(test)]
mod tests;

/// The number of a local of a checked body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LocalId(pub u32);

/// Past this degree a polynomial is not kept. Sizes people write have degree 1 to 4.
pub const MAX_DEGREE: u32 = 16;

/// Past this many terms a polynomial is not kept.
pub const MAX_TERMS: usize = 256;

/// Past this size a coefficient is not kept: products of a coefficient and a 64-bit size, or
/// sums of [`MAX_TERMS`] coefficients, then stay well inside `i128`.
pub const MAX_COEFFICIENT: i128 = 1 << 100;

/// An atom that holds more atoms than this is not kept. Sharing could otherwise make a
/// polynomial exponentially larger than the text it comes from, and walks over it unbounded.
pub const MAX_NESTED: usize = 128;

/// Products of more pairs of terms than this are not tried: nearly all exceed [`MAX_TERMS`].
const MAX_PRODUCTS: usize = 16 * MAX_TERMS;

/// What a polynomial is over.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Atom {
    /// A size of a signature, by position in its `sizes`.
    Bound(u32, Name),
    /// An `i64` local (parameter, index variable, let) or an implicit size of a checked body.
    Local(LocalId, Name),
    /// An `i64` bound by a top-level `let`.
    Global(GlobalName),
    /// A named parameter of a function type: how many function types lie between, position.
    Arg(u32, u32),
    /// An unknown of the checker.
    Meta(u32),
    /// Quotient rounded down, divisor not zero.
    Div(Arc<Poly>, Arc<Poly>),
    /// Remainder with the sign of the divisor, divisor not zero.
    Mod(Arc<Poly>, Arc<Poly>),
    /// The lesser of two.
    Min(Arc<Poly>, Arc<Poly>),
    /// The greater of two.
    Max(Arc<Poly>, Arc<Poly>),
    /// An element of an array of `i64` that only the run knows: the array and its indices; of an `i64`
    /// that is no array, none.
    Read(LocalId, Name, Arc<[Poly]>),
    /// Too large to keep.
    Overflow,
}

/// A product of powers of atoms, sorted, powers at least 1; empty is 1. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Monomial(Arc<[(Atom, u32)]>);

impl Monomial {
    /// Its atoms with their powers.
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

/// A polynomial with integer coefficients: terms sorted by monomial, none zero. Types hold many
/// and are cloned much, so that a clone is a count.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Poly {
    terms: Arc<[(Monomial, i128)]>,
}

impl Poly {
    /// The constant `c`.
    #[must_use]
    pub fn constant(c: i128) -> Self {
        match c {
            0 => Self::default(),
            _ if !is_small(c) => Self::overflow(),
            _ => Self::of(vec![(Monomial::default(), c)]),
        }
    }

    /// The atom `a`.
    #[must_use]
    pub fn atom(a: Atom) -> Self {
        if a.is_kept() { Self::of(vec![(vec![(a, 1)].into(), 1)]) } else { Self::overflow() }
    }

    fn of(terms: Vec<(Monomial, i128)>) -> Self {
        Self { terms: terms.into() }
    }

    /// The polynomial of one term.
    #[must_use]
    pub fn term(monomial: impl Into<Monomial>, c: i128) -> Self {
        let monomial = monomial.into();
        if c == 0 {
            Self::default()
        } else if is_small(c) && degree(&monomial) <= MAX_DEGREE && monomial.iter().all(|(a, _)| a.is_kept()) {
            Self::of(vec![(monomial, c)])
        } else {
            Self::overflow()
        }
    }

    fn overflow() -> Self {
        Self::of(vec![(vec![(Atom::Overflow, 1)].into(), 1)])
    }

    /// Its terms, sorted by monomial, coefficients not zero.
    #[must_use]
    pub fn terms(&self) -> &[(Monomial, i128)] {
        &self.terms
    }

    /// Is it 0?
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Its value, if it is a constant.
    #[must_use]
    pub fn as_constant(&self) -> Option<i128> {
        match &*self.terms {
            [] => Some(0),
            [(m, c)] if m.is_empty() => Some(*c),
            _ => None,
        }
    }

    /// The atom, if it is just one.
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

    /// Did arithmetic on it overflow?
    #[must_use]
    pub fn overflowed(&self) -> bool {
        matches!(&*self.terms, [(m, _)] if matches!(m.as_slice(), [(Atom::Overflow, _)]))
    }

    fn combine(&self, other: &Self, sign: i128) -> Self {
        if self.overflowed() || other.overflowed() {
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
        Self::of(terms).guarded()
    }

    fn guarded(self) -> Self {
        if self.terms.len() > MAX_TERMS || !self.terms.iter().all(|t| is_small(t.1)) { Self::overflow() } else { self }
    }

    /// Sum.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        self.combine(other, 1)
    }

    /// Difference.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Self {
        self.combine(other, -1)
    }

    /// Sum with a constant.
    #[must_use]
    pub fn plus(&self, c: i128) -> Self {
        self.add(&Self::constant(c))
    }

    /// Negation.
    #[must_use]
    pub fn neg(&self) -> Self {
        self.scale(-1)
    }

    /// Product with a constant.
    #[must_use]
    pub fn scale(&self, by: i128) -> Self {
        if by == 0 {
            return Self::default();
        }
        if self.overflowed() {
            return Self::overflow();
        }
        if by == 1 {
            return self.clone();
        }
        let scaled: Option<Vec<_>> = self.terms.iter().map(|(m, c)| Some((m.clone(), c.checked_mul(by)?))).collect();
        scaled.map_or_else(Self::overflow, |terms| Self::of(terms).guarded())
    }

    /// Product.
    #[must_use]
    pub fn mul(&self, other: &Self) -> Self {
        match (self.as_constant(), other.as_constant()) {
            (Some(c), _) => return other.scale(c),
            (_, Some(c)) => return self.scale(c),
            _ => {}
        }
        let pairs = self.terms.len() * other.terms.len();
        if self.overflowed() || other.overflowed() || pairs > MAX_PRODUCTS {
            return Self::overflow();
        }
        let mut terms: Vec<(Monomial, i128)> = Vec::with_capacity(pairs);
        for (m1, c1) in self.terms() {
            for (m2, c2) in other.terms() {
                let (m, Some(c)) = (times(m1, m2), c1.checked_mul(*c2)) else {
                    return Self::overflow();
                };
                if degree(&m) > MAX_DEGREE || !is_small(c) {
                    return Self::overflow();
                }
                terms.push((m, c));
            }
        }
        terms.sort_unstable();
        // Equal neighbours add up: at most 2^12 of them below 2^100 each stay inside `i128`.
        terms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        terms.retain(|t| t.1 != 0);
        Self::of(terms).guarded()
    }

    /// Power.
    #[must_use]
    pub fn pow(&self, k: u32) -> Self {
        match self.as_constant() {
            Some(0 | 1) if k > 0 => self.clone(),
            Some(-1) => Self::constant(if k.is_multiple_of(2) { 1 } else { -1 }),
            // No other constant has a 128th power that is small.
            Some(_) => (0..k.min(128)).fold(Self::constant(1), |p, _| p.mul(self)),
            None if k > MAX_DEGREE => Self::overflow(),
            None => (0..k).fold(Self::constant(1), |p, _| p.mul(self)),
        }
    }

    /// Quotient rounded down. `None` for a divisor that is the constant 0.
    #[must_use]
    pub fn div(&self, by: &Self) -> Option<Self> {
        match (self.as_constant(), by.as_constant()) {
            (_, Some(0)) => None,
            _ if self.overflowed() || by.overflowed() => Some(Self::overflow()),
            (Some(a), Some(b)) => Some(Self::constant(floor_div(a, b))),
            (_, Some(1)) => Some(self.clone()),
            (_, Some(b)) if self.terms.iter().all(|(_, c)| c % b == 0) => {
                Some(Self { terms: self.terms.iter().map(|(m, c)| (m.clone(), c / b)).collect() })
            }
            (_, Some(b)) => {
                // (q·b + r) // b = q + r // b for integer q: the divisible terms come out.
                let (out, rest): (Vec<_>, Vec<_>) = self.terms.iter().cloned().partition(|(_, c)| c % b == 0);
                let out = Self { terms: out.into_iter().map(|(m, c)| (m, c / b)).collect() };
                let rest = Self::of(rest);
                Some(match rest.as_constant() {
                    Some(r) => out.plus(floor_div(r, b)),
                    None => {
                        // A constant part of the rest is reduced into 0..|b|.
                        let c = rest.constant_part();
                        let whole = floor_div(c, b);
                        let rest = rest.plus(-whole * b);
                        out.plus(whole).add(&Self::atom(Atom::Div(Arc::new(rest), Arc::new(by.clone()))))
                    }
                })
            }
            _ => Some(Self::atom(Atom::Div(Arc::new(self.clone()), Arc::new(by.clone())))),
        }
    }

    /// Remainder with the sign of the divisor. `None` for a divisor that is the constant 0.
    #[must_use]
    pub fn rem(&self, by: &Self) -> Option<Self> {
        match (self.as_constant(), by.as_constant()) {
            (_, Some(0)) => None,
            _ if self.overflowed() || by.overflowed() => Some(Self::overflow()),
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

    /// `self = by·quotient + rest`, where `by` is a single term and divides no term of the rest:
    /// gives `(quotient, rest)`. With any other `by` all is rest.
    #[must_use]
    pub fn split_by(&self, by: &Self) -> (Self, Self) {
        let [(divisor, d)] = &*by.terms else { return (Self::default(), self.clone()) };
        let (mut quotient, mut rest) = (Vec::new(), Vec::new());
        for (m, c) in self.terms() {
            match without(m, divisor) {
                Some(m) if c % d == 0 => quotient.push((m, c / d)),
                _ => rest.push((m.clone(), *c)),
            }
        }
        // Without a common factor the order of monomials may be another.
        quotient.sort_unstable();
        (Self::of(quotient), Self::of(rest))
    }

    /// The lesser of two.
    #[must_use]
    pub fn least(&self, other: &Self) -> Self {
        match self.sub(other).as_constant() {
            Some(d) => if d <= 0 { self } else { other }.clone(),
            None => {
                let (a, b) = if self <= other { (self, other) } else { (other, self) };
                Self::atom(Atom::Min(Arc::new(a.clone()), Arc::new(b.clone())))
            }
        }
    }

    /// The greater of two.
    #[must_use]
    pub fn greatest(&self, other: &Self) -> Self {
        match self.sub(other).as_constant() {
            Some(d) => if d >= 0 { self } else { other }.clone(),
            None => {
                let (a, b) = if self <= other { (self, other) } else { (other, self) };
                Self::atom(Atom::Max(Arc::new(a.clone()), Arc::new(b.clone())))
            }
        }
    }

    /// The coefficient of the empty monomial.
    #[must_use]
    pub fn constant_part(&self) -> i128 {
        self.terms.iter().find(|(m, _)| m.is_empty()).map_or(0, |t| t.1)
    }

    /// `self = c·a + rest` with `a` in neither `c` (a constant) nor `rest` nor inside another
    /// atom: gives `(c, rest)`.
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
        Some((found?, Self::of(rest)))
    }

    /// Every atom in it, those inside others too, outermost first; an atom may come twice.
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

    /// Does it hold the atom, inside others too?
    #[must_use]
    pub fn mentions(&self, atom: &Atom) -> bool {
        let mut found = false;
        self.for_each_atom(&mut |a| found |= a == atom);
        found
    }

    /// Replaces atoms, inside others too; `None` keeps the atom. Normalises again.
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

    /// Its value where every atom that is not built from others, or read from an array, has one. `None` where an atom
    /// has none, on overflow of `i64` and on division by zero.
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
    /// Is it `a`, or does it hold it?
    #[must_use]
    pub fn mentions(&self, a: &Self) -> bool {
        self == a
            || match self {
                Self::Div(p, q) | Self::Mod(p, q) | Self::Min(p, q) | Self::Max(p, q) => p.mentions(a) || q.mentions(a),
                Self::Read(_, _, at) => at.iter().any(|p| p.mentions(a)),
                _ => false,
            }
    }

    /// May a polynomial hold it? Not if something in it overflowed or it holds too much.
    fn is_kept(&self) -> bool {
        let mut left = MAX_NESTED;
        self.fits(&mut left)
    }

    /// Takes the atoms inside off `left`; false when there are more or one is `Overflow`.
    fn fits(&self, left: &mut usize) -> bool {
        let mut inside = |p: &Poly| {
            p.terms().iter().flat_map(|t| &t.0).all(|(a, _)| {
                let fits = *left > 0;
                *left = left.saturating_sub(1);
                fits && a.fits(left)
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
            Self::Min(p, q) => p.substitute(f).least(&q.substitute(f)),
            Self::Max(p, q) => p.substitute(f).greatest(&q.substitute(f)),
            Self::Read(array, name, at) => {
                Poly::atom(Self::Read(*array, name.clone(), at.iter().map(|p| p.substitute(f)).collect()))
            }
            _ => Poly::atom(self.clone()),
        }
    }

    /// Its value where the atoms that are made of no others have these.
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

fn is_small(c: i128) -> bool {
    (-MAX_COEFFICIENT..=MAX_COEFFICIENT).contains(&c)
}

fn degree(m: &[(Atom, u32)]) -> u32 {
    m.iter().fold(0, |sum, f| sum.saturating_add(f.1))
}

fn times(a: &Monomial, b: &Monomial) -> Monomial {
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

/// Takes the powers of one monomial out of another. `None` if they are not all in it.
fn without(whole: &[(Atom, u32)], part: &[(Atom, u32)]) -> Option<Monomial> {
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

/// Quotient rounded down. The divisor is not 0.
#[must_use]
pub fn floor_div(a: i128, b: i128) -> i128 {
    let q = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

/// As a user writes it: `n + m - 1`. Terms with a plus sign come first, among them those of
/// higher degree, and the constant last, so that a leading minus sign is rare.
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
                // Alone in its term, and not after a prefix minus, `n // 2` needs no parentheses.
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

/// As a user writes it; quotients and remainders without parentheses around them.
impl std::fmt::Display for Atom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let operand = |p: &Poly| match p.as_atom() {
            Some(Self::Div(..) | Self::Mod(..)) => format!("({p})"),
            Some(_) => format!("{p}"),
            None if p.as_constant().is_some_and(|c| c >= 0) => format!("{p}"),
            None => format!("({p})"),
        };
        match self {
            Self::Bound(_, name) | Self::Local(_, name) => write!(f, "{name}"),
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
