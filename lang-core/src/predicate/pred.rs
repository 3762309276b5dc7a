//! Predicates over indices and sizes: ATL's `p` (Fig. 3), as the compiler's forms hold them.
//!
//! Comparisons are of polynomials with 0, so that equal ones look equal; a conjunction is flat, sorted
//! and without repetition. What the run alone knows (an element of an array of truth values, a member
//! of a relation) is an opaque atom with indices. Negation is pushed inwards as a predicate is made.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::poly::floor_div;
use super::{Atom, LocalId, Poly};
use crate::base::{Name, pause};

#[cfg(test)]
mod tests;

/// The variables of existentials are the locals of this number and above; no form has so many of its own.
const FIRST_BOUND: u32 = 1 << 23;

/// The variables of existentials that are being worked on are those of these numbers: nothing else is called so, neither a
/// variable of a program nor a statement or an index of Tensor SSA.
const OPEN: Range<u32> = 3 << 22..1 << 24;

/// A predicate.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Pred {
    /// All of them; of none: true.
    And(Arc<[Pred]>),
    /// One of them at least; of none: false.
    Or(Arc<[Pred]>),
    /// `p >= 0`
    Ge(Poly),
    /// `p = 0`, the leading coefficient positive.
    Eq(Poly),
    /// `p != 0`, likewise.
    Ne(Poly),
    /// An element of an array of truth values is this: the array and its indices.
    Is(LocalId, Name, Arc<[Poly]>, bool),
    /// The index tuple is in the relation, or is not.
    Member(LocalId, Name, Arc<[Poly]>, bool),
    /// Some index below an extent satisfies the predicate, or none does.
    Any(Index, Arc<Pred>, bool),
}

/// What only the run knows: an element of an array, or a member of a relation.
#[derive(Clone, Copy, Debug)]
pub struct Opaque<'a> {
    /// The array or relation.
    pub of: LocalId,
    /// Its name.
    pub name: &'a Name,
    /// The indices.
    pub at: &'a [Poly],
    /// Is it an array?
    pub array: bool,
}

/// An index variable with its extent: it runs from 0. An extent below 0 is as good as 0.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Index {
    /// The variable.
    pub local: LocalId,
    /// Its name.
    pub name: Name,
    /// How many values it takes.
    pub extent: Poly,
}

impl Index {
    /// The variable in a polynomial.
    #[must_use]
    pub fn atom(&self) -> Atom {
        Atom::Local(self.local, self.name.clone())
    }

    /// Its value as a polynomial.
    #[must_use]
    pub fn value(&self) -> Poly {
        Poly::atom(self.atom())
    }
}

impl Default for Pred {
    fn default() -> Self {
        Self::truth()
    }
}

impl Pred {
    /// What always holds.
    #[must_use]
    pub fn truth() -> Self {
        Self::And(Arc::from([]))
    }

    /// What never holds.
    #[must_use]
    pub fn falsity() -> Self {
        Self::Or(Arc::from([]))
    }

    /// Does it always hold, as it stands?
    #[must_use]
    pub fn is_true(&self) -> bool {
        matches!(self, Self::And(items) if items.is_empty())
    }

    /// Does it never hold, as it stands?
    #[must_use]
    pub fn is_false(&self) -> bool {
        matches!(self, Self::Or(items) if items.is_empty())
    }

    fn constant(holds: bool) -> Self {
        if holds { Self::truth() } else { Self::falsity() }
    }

    /// `p >= 0`: over integers, so that common factors of the coefficients go.
    #[must_use]
    pub fn nonneg(p: &Poly) -> Self {
        if let Some(c) = p.as_constant() {
            return Self::constant(c >= 0);
        }
        let g = common_factor(p);
        if g <= 1 || p.overflowed() {
            return Self::Ge(p.clone());
        }
        let whole = p.plus(-p.constant_part());
        Self::Ge(divided(&whole, g).plus(floor_div(p.constant_part(), g)))
    }

    /// `p = 0`
    #[must_use]
    pub fn zero(p: &Poly) -> Self {
        match equation(p) {
            Ok(p) => Self::Eq(p),
            Err(holds) => Self::constant(holds),
        }
    }

    /// `p != 0`
    #[must_use]
    pub fn nonzero(p: &Poly) -> Self {
        match equation(p) {
            Ok(p) => Self::Ne(p),
            Err(holds) => Self::constant(!holds),
        }
    }

    /// `a < b`
    #[must_use]
    pub fn less(a: &Poly, b: &Poly) -> Self {
        Self::nonneg(&b.sub(a).plus(-1))
    }

    /// `a <= b`
    #[must_use]
    pub fn at_most(a: &Poly, b: &Poly) -> Self {
        Self::nonneg(&b.sub(a))
    }

    /// `a = b`
    #[must_use]
    pub fn equal(a: &Poly, b: &Poly) -> Self {
        Self::zero(&a.sub(b))
    }

    /// `0 <= a < n`
    #[must_use]
    pub fn inside(a: &Poly, n: &Poly) -> Self {
        Self::all([Self::nonneg(a), Self::less(a, n)])
    }

    /// Conjunction.
    #[must_use]
    pub fn all(items: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for item in items {
            match item {
                Self::And(inner) => flat.extend(inner.iter().cloned()),
                other => flat.push(other),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        if flat.iter().any(|p| p.is_false() || p.is_denied(&flat)) {
            return Self::falsity();
        }
        match <[Self; 1]>::try_from(flat) {
            Ok([one]) => one,
            Err(flat) => Self::And(flat.into()),
        }
    }

    /// Disjunction.
    #[must_use]
    pub fn any_of(items: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for item in items {
            match item {
                Self::Or(inner) => flat.extend(inner.iter().cloned()),
                other => flat.push(other),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        if flat.iter().any(|p| p.is_true() || p.is_denied(&flat)) {
            return Self::truth();
        }
        match <[Self; 1]>::try_from(flat) {
            Ok([one]) => one,
            Err(flat) => Self::Or(flat.into()),
        }
    }

    /// Does its negation stand among these, which are sorted? Not of what is too large: that says nothing.
    fn is_denied(&self, among: &[Self]) -> bool {
        among.len() > 1 && among.binary_search(&self.negated()).is_ok() && !self.overflowed()
    }

    /// Both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self::all([self.clone(), other.clone()])
    }

    /// Is there an index for which it holds? Where an equation tells the index, it is put in its place.
    #[must_use]
    pub fn exists(index: &Index, body: &Self) -> Self {
        pause();
        if let Self::Or(items) = body {
            return Self::any_of(items.iter().map(|p| Self::exists(index, p)));
        }
        if let Some(solution) = body.solution(&index.atom()) {
            let atom = index.atom();
            let put = body.substitute(&|a| (*a == atom).then(|| solution.clone()));
            return Self::all([Self::inside(&solution, &index.extent), put]);
        }
        let (with, without): (Vec<_>, Vec<_>) =
            body.conjuncts().iter().cloned().partition(|p| p.mentions(&index.atom()));
        let rest = shadow(index, &with).unwrap_or_else(|| Self::bound(index, &Self::all(with)));
        Self::all(without.into_iter().chain([rest]))
    }

    /// The existential as it stands: nothing in it is solved or taken out.
    #[must_use]
    pub fn some(index: &Index, body: &Self) -> Self {
        if body.is_false() { Self::falsity() } else { Self::bound(index, body) }
    }

    /// An existential whose variable is numbered by how deep existentials nest in it, so that it is no variable
    /// of any form, and equal ones are equal.
    fn bound(index: &Index, body: &Self) -> Self {
        let own = Index { local: LocalId(FIRST_BOUND + body.depth()), ..index.clone() };
        if own == *index {
            return Self::Any(own, Arc::new(body.clone()), true);
        }
        let body = body.substitute(&|a| (*a == index.atom()).then(|| own.value()));
        Self::Any(own, Arc::new(body), true)
    }

    /// An existential with a variable that none in its body can be: what is put into the body may have existentials of
    /// its own.
    fn opened(index: &Index, body: &Self) -> (Index, Self) {
        let mut open = OPEN.start;
        let mut above = |a: &Atom| match a {
            Atom::Local(LocalId(k), _) if OPEN.contains(k) && *k >= open => open = k + 1,
            _ => {}
        };
        body.visit(&mut |p| p.for_each_atom(&mut above), &mut |_| {});
        let own = Index { local: LocalId(open), ..index.clone() };
        let body = body.substitute(&|a| (*a == index.atom()).then(|| own.value()));
        (own, body)
    }

    fn depth(&self) -> u32 {
        match self {
            Self::And(items) | Self::Or(items) => items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Any(_, body, _) => body.depth() + 1,
            _ => 0,
        }
    }

    /// What holds where this does not.
    #[must_use]
    pub fn negated(&self) -> Self {
        match self {
            Self::And(items) => Self::any_of(items.iter().map(Self::negated)),
            Self::Or(items) => Self::all(items.iter().map(Self::negated)),
            Self::Ge(p) => Self::nonneg(&p.neg().plus(-1)),
            Self::Eq(p) => Self::Ne(p.clone()),
            Self::Ne(p) => Self::Eq(p.clone()),
            Self::Is(x, name, at, holds) => Self::Is(*x, name.clone(), at.clone(), !holds),
            Self::Member(x, name, at, holds) => Self::Member(*x, name.clone(), at.clone(), !holds),
            Self::Any(index, body, holds) => Self::Any(index.clone(), body.clone(), !holds),
        }
    }

    /// The parts of a conjunction; of anything else itself.
    #[must_use]
    pub fn conjuncts(&self) -> &[Self] {
        match self {
            Self::And(items) => items,
            other => std::slice::from_ref(other),
        }
    }

    /// What an equation of the conjunction says that an atom is, in terms that do not mention it.
    #[must_use]
    pub fn solution(&self, atom: &Atom) -> Option<Poly> {
        self.conjuncts().iter().find_map(|p| {
            let Self::Eq(p) = p else { return None };
            let (c, rest) = p.linear_in(atom)?;
            match c {
                1 => Some(rest.neg()),
                -1 => Some(rest),
                _ => None,
            }
        })
    }

    /// Replaces atoms in its polynomials; `None` keeps an atom. Of an array that is asked for its
    /// elements only the indices change.
    #[must_use]
    pub fn substitute(&self, f: &impl Fn(&Atom) -> Option<Poly>) -> Self {
        self.map(&|p| p.substitute(f))
    }

    /// The predicate with every polynomial replaced, and normalised again.
    #[must_use]
    pub fn map(&self, f: &dyn Fn(&Poly) -> Poly) -> Self {
        let all = |at: &Arc<[Poly]>| at.iter().map(f).collect::<Arc<[Poly]>>();
        match self {
            Self::And(items) => Self::all(items.iter().map(|p| p.map(f))),
            Self::Or(items) => Self::any_of(items.iter().map(|p| p.map(f))),
            Self::Ge(p) => Self::nonneg(&f(p)),
            Self::Eq(p) => Self::zero(&f(p)),
            Self::Ne(p) => Self::nonzero(&f(p)),
            Self::Is(x, name, at, holds) => Self::Is(*x, name.clone(), all(at), *holds),
            Self::Member(x, name, at, holds) => Self::Member(*x, name.clone(), all(at), *holds),
            Self::Any(index, body, holds) => {
                let index = Index { extent: f(&index.extent), ..index.clone() };
                let any = Self::some(&index, &body.map(f));
                if *holds { any } else { any.negated() }
            }
        }
    }

    /// The predicate with every opaque atom replaced; the result stands for "it holds". `None` keeps it.
    #[must_use]
    pub fn replace_opaque(&self, f: &dyn Fn(Opaque<'_>) -> Option<Self>) -> Self {
        let sign = |p: Self, holds: bool| if holds { p } else { p.negated() };
        match self {
            Self::And(items) => Self::all(items.iter().map(|p| p.replace_opaque(f))),
            Self::Or(items) => Self::any_of(items.iter().map(|p| p.replace_opaque(f))),
            Self::Is(of, name, at, holds) | Self::Member(of, name, at, holds) => {
                let array = matches!(self, Self::Is(..));
                f(Opaque { of: *of, name, at, array }).map_or_else(|| self.clone(), |p| sign(p, *holds))
            }
            Self::Any(index, body, holds) => {
                let (index, body) = Self::opened(index, body);
                sign(Self::exists(&index, &body.replace_opaque(f)), *holds)
            }
            Self::Ge(_) | Self::Eq(_) | Self::Ne(_) => self.clone(),
        }
    }

    /// Calls `poly` on every polynomial and `opaque` on every array or relation that it asks.
    pub fn visit(&self, poly: &mut dyn FnMut(&Poly), opaque: &mut dyn FnMut(LocalId)) {
        match self {
            Self::And(items) | Self::Or(items) => items.iter().for_each(|p| p.visit(poly, opaque)),
            Self::Ge(p) | Self::Eq(p) | Self::Ne(p) => poly(p),
            Self::Is(x, _, at, _) | Self::Member(x, _, at, _) => {
                opaque(*x);
                at.iter().for_each(poly);
            }
            Self::Any(index, body, _) => {
                poly(&index.extent);
                body.visit(poly, opaque);
            }
        }
    }

    /// Does it mention the atom?
    #[must_use]
    pub fn mentions(&self, atom: &Atom) -> bool {
        let mut found = false;
        self.visit(&mut |p| found |= p.mentions(atom), &mut |_| {});
        found
    }

    /// Did arithmetic in it overflow?
    #[must_use]
    pub fn overflowed(&self) -> bool {
        let mut found = false;
        self.visit(&mut |p| found |= p.overflowed(), &mut |_| {});
        found
    }

    /// What indices and sizes alone tell of it: it follows from the predicate.
    #[must_use]
    pub fn known(&self) -> Self {
        match self {
            Self::And(items) => Self::all(items.iter().map(Self::known)),
            Self::Or(items) => Self::any_of(items.iter().map(Self::known)),
            Self::Any(index, body, true) => {
                let some = Self::exists(index, &body.known());
                // The extent may be told by the run.
                Self::all(some.conjuncts().iter().filter(|p| !p.is_opaque()).cloned())
            }
            other if other.is_opaque() => Self::truth(),
            other => other.clone(),
        }
    }

    /// How many predicates it is made of.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::And(items) | Self::Or(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Self::Any(_, body, _) => 1 + body.size(),
            _ => 1,
        }
    }

    /// Is its value told by the run alone?
    #[must_use]
    pub fn is_opaque(&self) -> bool {
        let (mut reads, mut asks) = (false, false);
        self.visit(&mut |p| p.for_each_atom(&mut |a| reads |= matches!(a, Atom::Read(..))), &mut |_| asks = true);
        reads || asks
    }
}

/// For which values of all else is there an index between these bounds? Fourier and Motzkin's elimination,
/// which is exact over integers where all lower bounds, or all upper ones, have the coefficient 1;
/// elsewhere, and where there is more than bounds, `None`.
fn shadow(index: &Index, bounds: &[Pred]) -> Option<Pred> {
    let range = [index.value(), index.extent.plus(-1).sub(&index.value())];
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    let given = bounds.iter().map(|p| if let Pred::Ge(p) = p { Some(p) } else { None });
    for p in given.chain(range.iter().map(Some)) {
        let (c, rest) = p?.linear_in(&index.atom())?;
        if c > 0 { &mut lower } else { &mut upper }.push((c, rest));
    }
    let exact = lower.iter().all(|b| b.0 == 1) || upper.iter().all(|b| b.0 == -1);
    let pairs = lower.iter().flat_map(|l| upper.iter().map(move |u| (l, u)));
    let meet = pairs.map(|((c, l), (d, u))| Pred::nonneg(&l.scale(-d).add(&u.scale(*c))));
    exact.then(|| Pred::all(meet))
}

/// `p = 0` with its factor common to all coefficients taken out and the leading one positive; `Err` where
/// it is known whether it holds.
fn equation(p: &Poly) -> Result<Poly, bool> {
    if let Some(c) = p.as_constant() {
        return Err(c == 0);
    }
    if p.overflowed() {
        return Ok(p.clone());
    }
    let g = common_factor(p).max(1);
    if p.constant_part() % g != 0 {
        return Err(false);
    }
    let p = divided(p, g);
    let leads = p.terms().iter().find(|(m, _)| !m.is_empty()).is_none_or(|t| t.1 > 0);
    Ok(if leads { p } else { p.neg() })
}

/// The greatest common divisor of the coefficients but for the constant.
fn common_factor(p: &Poly) -> i128 {
    let gcd = |mut a: u128, mut b: u128| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let terms = p.terms().iter().filter(|(m, _)| !m.is_empty());
    i128::try_from(terms.fold(0, |g, t| gcd(g, t.1.unsigned_abs()))).unwrap_or(1)
}

/// The quotient by a divisor of all coefficients.
fn divided(p: &Poly, by: i128) -> Poly {
    if by == 1 { p.clone() } else { p.div(&Poly::constant(by)).unwrap_or_default() }
}

/// As Iverson spells it. The side that is subtracted stands on the other side of the comparison.
impl fmt::Display for Pred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, items: &[Self], sep: &str, inside: fn(&Self) -> bool| {
            for (k, p) in items.iter().enumerate() {
                if k > 0 {
                    f.write_str(sep)?;
                }
                if inside(p) { write!(f, "({p})")? } else { write!(f, "{p}")? }
            }
            Ok(())
        };
        let args = |f: &mut fmt::Formatter<'_>, at: &[Poly]| {
            for (k, p) in at.iter().enumerate() {
                write!(f, "{}{p}", if k > 0 { ", " } else { "" })?;
            }
            Ok(())
        };
        match self {
            Self::And(items) if items.is_empty() => f.write_str("true"),
            Self::Or(items) if items.is_empty() => f.write_str("false"),
            Self::And(items) => list(f, items, " && ", |p| matches!(p, Self::Or(_))),
            Self::Or(items) => list(f, items, " || ", |_| false),
            Self::Ge(p) => {
                let (left, right) = sides(p);
                // `a - b - 1 >= 0` over integers is `b < a`.
                match right.constant_part() {
                    c if c > 0 => write!(f, "{} < {left}", right.plus(-1)),
                    _ => write!(f, "{right} <= {left}"),
                }
            }
            Self::Eq(p) => {
                let (left, right) = sides(p);
                write!(f, "{left} == {right}")
            }
            Self::Ne(p) => {
                let (left, right) = sides(p);
                write!(f, "{left} != {right}")
            }
            Self::Is(_, name, at, holds) => {
                write!(f, "{}{name}", if *holds { "" } else { "!" })?;
                if at.is_empty() {
                    return Ok(());
                }
                f.write_str("[")?;
                args(f, at)?;
                f.write_str("]")
            }
            Self::Member(_, name, at, holds) => {
                write!(f, "{}{name}(", if *holds { "" } else { "!" })?;
                args(f, at)?;
                f.write_str(")")
            }
            Self::Any(index, body, holds) => {
                let not = if *holds { "" } else { "!" };
                write!(f, "{not}(any {} < {}: {body})", index.name, index.extent)
            }
        }
    }
}

/// What is added and what is subtracted.
fn sides(p: &Poly) -> (Poly, Poly) {
    let mut sides = (Poly::default(), Poly::default());
    for (m, c) in p.terms() {
        if *c > 0 {
            sides.0 = sides.0.add(&Poly::term(m.clone(), *c));
        } else {
            sides.1 = sides.1.add(&Poly::term(m.clone(), c.saturating_neg()));
        }
    }
    sides
}
