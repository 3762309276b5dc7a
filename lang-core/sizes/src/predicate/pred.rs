//! **Predicates** over indices and sizes: ATL's `p` (Fig. 3). They guard the terms of the core
//! calculus, of Tensor SSA and of cost formulas, and state facts and run-time checks. The prover
//! decides whether facts imply them.
//!
//! Comparisons are of polynomials with 0, so equal ones have equal representations. A conjunction
//! is flat, sorted and without repetition. Data that are known only at run time (an element of an
//! array of truth values, a member of a relation) are opaque atoms with indices. Negation has
//! no node: [`Pred::negated`] pushes it to the leaves.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::poly::floor_div;
use super::{Atom, LocalId, Poly};
use lang_base::{Name, check_cancelled};

#[cfg(test)]
mod tests;

/// The first local of the bound variables of existentials. No function has so many variables of its
/// own.
const FIRST_BOUND: u32 = 1 << 23;

/// The locals of the bound variables of existentials while their bodies are rewritten. They differ
/// from variables of programs, and from statements and indices of Tensor SSA. The scheduler's
/// `CHUNK_BEGIN` and `CHUNK_END` variables of chunks are the last two of the range, so
/// `replace_opaque` must not see an existential that mentions them.
const OPENED_LOCALS: Range<u32> = 3 << 22..1 << 24;

/// A predicate.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Pred {
    /// A conjunction; the empty one is true.
    And(Arc<[Pred]>),
    /// A disjunction; the empty one is false.
    Or(Arc<[Pred]>),
    /// `p >= 0`
    Ge(Poly),
    /// `p = 0`, with a positive leading coefficient.
    Eq(Poly),
    /// `p != 0`, with a positive leading coefficient.
    Ne(Poly),
    /// An element of an array of truth values has this value: the array and its indices.
    Element(LocalId, Name, Arc<[Poly]>, bool),
    /// The index tuple is a member of the relation, or is not if the flag is false.
    Member(LocalId, Name, Arc<[Poly]>, bool),
    /// Some index below its extent satisfies the predicate, or none does if the flag is false.
    Exists(Index, Arc<Pred>, bool),
}

/// An opaque atom, known only at run time: an element of an array, or a member of a relation.
#[derive(Clone, Copy, Debug)]
pub struct OpaqueAtom<'a> {
    /// The array or relation.
    pub source: LocalId,
    /// Its name.
    pub name: &'a Name,
    /// The indices.
    pub indices: &'a [Poly],
    /// Whether it is an array.
    pub is_array: bool,
}

/// An index variable with its extent. It starts at 0. An extent below 0 counts as 0.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Index {
    /// The variable.
    pub local: LocalId,
    /// Its name.
    pub name: Name,
    /// The number of its values.
    pub extent: Poly,
}

impl Index {
    /// Returns the variable as an atom.
    #[must_use]
    pub fn atom(&self) -> Atom {
        Atom::Local(self.local, self.name.clone())
    }

    /// Returns its value as a polynomial.
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

/// The operands of a conjunction or disjunction, without nesting.
struct Flattened {
    /// All operands, sorted and each once.
    all: Vec<Pred>,
    /// The operands that are not in the longest nested one, whose own are consistent.
    fresh: Vec<Pred>,
}

/// Flattens nested conjunctions or disjunctions. `nested` returns the operands of one.
fn flatten(items: impl IntoIterator<Item = Pred>, nested: impl Fn(&Pred) -> Option<&Arc<[Pred]>>) -> Flattened {
    let items: Vec<Pred> = items.into_iter().collect();
    let longest = (0..items.len()).max_by_key(|k| items.get(*k).and_then(&nested).map_or(0, |inner| inner.len()));
    let (mut all, mut fresh) = (Vec::new(), Vec::new());
    for (k, item) in items.iter().enumerate() {
        let own = nested(item).map_or(std::slice::from_ref(item), |inner| &**inner);
        all.extend_from_slice(own);
        if nested(item).is_none() || Some(k) != longest {
            fresh.extend_from_slice(own);
        }
    }
    // A stable sort merges sorted runs in linear time.
    all.sort();
    all.dedup();
    Flattened { all, fresh }
}

impl Pred {
    /// Returns the predicate that always holds.
    #[must_use]
    pub fn truth() -> Self {
        Self::And(Arc::from([]))
    }

    /// Returns the predicate that never holds.
    #[must_use]
    pub fn falsity() -> Self {
        Self::Or(Arc::from([]))
    }

    /// Whether it is the trivially true predicate.
    #[must_use]
    pub fn is_true(&self) -> bool {
        matches!(self, Self::And(items) if items.is_empty())
    }

    /// Whether it is the trivially false predicate.
    #[must_use]
    pub fn is_false(&self) -> bool {
        matches!(self, Self::Or(items) if items.is_empty())
    }

    fn constant(holds: bool) -> Self {
        if holds { Self::truth() } else { Self::falsity() }
    }

    /// `p >= 0`. Common factors of the coefficients are divided out, because the values are
    /// integers.
    #[must_use]
    pub fn nonneg(p: &Poly) -> Self {
        if let Some(c) = p.as_constant() {
            return Self::constant(c >= 0);
        }
        let g = common_factor(p);
        if g <= 1 || p.has_overflowed() {
            return Self::Ge(p.clone());
        }
        let whole = p.add_constant(-p.constant_part());
        Self::Ge(divide_coefficients(&whole, g).add_constant(floor_div(p.constant_part(), g)))
    }

    /// `p = 0`
    #[must_use]
    pub fn zero(p: &Poly) -> Self {
        match normalise_equation(p) {
            Ok(p) => Self::Eq(p),
            Err(holds) => Self::constant(holds),
        }
    }

    /// `p != 0`
    #[must_use]
    pub fn nonzero(p: &Poly) -> Self {
        match normalise_equation(p) {
            Ok(p) => Self::Ne(p),
            Err(holds) => Self::constant(!holds),
        }
    }

    /// `a < b`
    #[must_use]
    pub fn less(a: &Poly, b: &Poly) -> Self {
        Self::nonneg(&b.sub(a).add_constant(-1))
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
    pub fn in_range(a: &Poly, n: &Poly) -> Self {
        Self::all([Self::nonneg(a), Self::less(a, n)])
    }

    /// Returns the conjunction.
    #[must_use]
    pub fn all(items: impl IntoIterator<Item = Self>) -> Self {
        let Flattened { all, fresh } = flatten(items, |p| if let Self::And(inner) = p { Some(inner) } else { None });
        if fresh.iter().any(|p| p.is_false() || p.is_negated_in(&all)) {
            return Self::falsity();
        }
        match <[Self; 1]>::try_from(all) {
            Ok([one]) => one,
            Err(all) => Self::And(all.into()),
        }
    }

    /// Returns the disjunction.
    #[must_use]
    pub fn any_of(items: impl IntoIterator<Item = Self>) -> Self {
        let Flattened { all, fresh } = flatten(items, |p| if let Self::Or(inner) = p { Some(inner) } else { None });
        if fresh.iter().any(|p| p.is_true() || p.is_negated_in(&all)) {
            return Self::truth();
        }
        match <[Self; 1]>::try_from(all) {
            Ok([one]) => one,
            Err(all) => Self::Or(all.into()),
        }
    }

    /// Whether its negation is among these predicates, which must be sorted. An overflowed
    /// predicate proves nothing, so it counts as not negated.
    fn is_negated_in(&self, among: &[Self]) -> bool {
        among.len() > 1 && among.binary_search(&self.negated()).is_ok() && !self.has_overflowed()
    }

    /// Returns the conjunction of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self::all([self.clone(), other.clone()])
    }

    /// Returns the predicate that `body` holds for some value of the index. If an equation
    /// determines the index, its value is substituted.
    #[must_use]
    pub fn exists(index: &Index, body: &Self) -> Self {
        check_cancelled();
        if let Self::Or(items) = body {
            return Self::any_of(items.iter().map(|p| Self::exists(index, p)));
        }
        if let Some(solution) = body.solve_for(&index.atom()) {
            let atom = index.atom();
            let put = body.substitute(&|a| (*a == atom).then(|| solution.clone()));
            return Self::all([Self::in_range(&solution, &index.extent), put]);
        }
        let (with, without): (Vec<_>, Vec<_>) =
            body.conjuncts().iter().cloned().partition(|p| p.mentions(&index.atom()));
        let rest = shadow(index, &with).unwrap_or_else(|| Self::canonical_exists(index, &Self::all(with)));
        Self::all(without.into_iter().chain([rest]))
    }

    /// Returns the existential itself, without solving it or moving conjuncts out.
    #[must_use]
    pub fn raw_exists(index: &Index, body: &Self) -> Self {
        if body.is_false() { Self::falsity() } else { Self::canonical_exists(index, body) }
    }

    /// Returns an existential whose variable is numbered by the nesting depth of existentials in
    /// its body. So it clashes with no variable of a function, and existentials that differ only in
    /// the number of their variable become equal.
    fn canonical_exists(index: &Index, body: &Self) -> Self {
        let own = Index { local: LocalId(FIRST_BOUND + body.depth()), ..index.clone() };
        if own == *index {
            return Self::Exists(own, Arc::new(body.clone()), true);
        }
        let body = body.substitute(&|a| (*a == index.atom()).then(|| own.value()));
        Self::Exists(own, Arc::new(body), true)
    }

    /// Renames the variable of an existential to one that occurs nowhere else in its body, because
    /// a replacement in the body may add existentials, whose variables would clash.
    fn open_exists(index: &Index, body: &Self) -> (Index, Self) {
        let mut open = OPENED_LOCALS.start;
        let mut above = |a: &Atom| match a {
            Atom::Local(LocalId(k), _) if OPENED_LOCALS.contains(k) && *k >= open => open = k + 1,
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
            Self::Exists(_, body, _) => body.depth() + 1,
            _ => 0,
        }
    }

    /// Returns the negation.
    #[must_use]
    pub fn negated(&self) -> Self {
        match self {
            Self::And(items) => Self::any_of(items.iter().map(Self::negated)),
            Self::Or(items) => Self::all(items.iter().map(Self::negated)),
            Self::Ge(p) => Self::nonneg(&p.neg().add_constant(-1)),
            Self::Eq(p) => Self::Ne(p.clone()),
            Self::Ne(p) => Self::Eq(p.clone()),
            Self::Element(x, name, at, holds) => Self::Element(*x, name.clone(), at.clone(), !holds),
            Self::Member(x, name, at, holds) => Self::Member(*x, name.clone(), at.clone(), !holds),
            Self::Exists(index, body, holds) => Self::Exists(index.clone(), body.clone(), !holds),
        }
    }

    /// Returns the conjuncts, or the predicate itself if it is not a conjunction.
    #[must_use]
    pub fn conjuncts(&self) -> &[Self] {
        match self {
            Self::And(items) => items,
            other => std::slice::from_ref(other),
        }
    }

    /// Returns the value of an atom that an equation of the conjunction determines. The value does
    /// not mention the atom.
    #[must_use]
    pub fn solve_for(&self, atom: &Atom) -> Option<Poly> {
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

    /// Replaces atoms in its polynomials; `None` keeps an atom. An opaque atom keeps its array or
    /// relation; only its indices change.
    #[must_use]
    pub fn substitute(&self, f: &impl Fn(&Atom) -> Option<Poly>) -> Self {
        self.map(&|p| p.substitute(f))
    }

    /// Maps every polynomial and normalises the result.
    #[must_use]
    pub fn map(&self, f: &dyn Fn(&Poly) -> Poly) -> Self {
        let all = |at: &Arc<[Poly]>| at.iter().map(f).collect::<Arc<[Poly]>>();
        match self {
            Self::And(items) => Self::all(items.iter().map(|p| p.map(f))),
            Self::Or(items) => Self::any_of(items.iter().map(|p| p.map(f))),
            Self::Ge(p) => Self::nonneg(&f(p)),
            Self::Eq(p) => Self::zero(&f(p)),
            Self::Ne(p) => Self::nonzero(&f(p)),
            Self::Element(x, name, at, holds) => Self::Element(*x, name.clone(), all(at), *holds),
            Self::Member(x, name, at, holds) => Self::Member(*x, name.clone(), all(at), *holds),
            Self::Exists(index, body, holds) => {
                let index = Index { extent: f(&index.extent), ..index.clone() };
                let any = Self::raw_exists(&index, &body.map(f));
                if *holds { any } else { any.negated() }
            }
        }
    }

    /// Replaces every opaque atom by a predicate that holds if and only if the atom does; `None`
    /// keeps the atom.
    #[must_use]
    pub fn replace_opaque(&self, f: &dyn Fn(OpaqueAtom<'_>) -> Option<Self>) -> Self {
        let sign = |p: Self, holds: bool| if holds { p } else { p.negated() };
        match self {
            Self::And(items) => Self::all(items.iter().map(|p| p.replace_opaque(f))),
            Self::Or(items) => Self::any_of(items.iter().map(|p| p.replace_opaque(f))),
            Self::Element(of, name, at, holds) | Self::Member(of, name, at, holds) => {
                let array = matches!(self, Self::Element(..));
                f(OpaqueAtom { source: *of, name, indices: at, is_array: array })
                    .map_or_else(|| self.clone(), |p| sign(p, *holds))
            }
            Self::Exists(index, body, holds) => {
                let (index, body) = Self::open_exists(index, body);
                sign(Self::exists(&index, &body.replace_opaque(f)), *holds)
            }
            Self::Ge(_) | Self::Eq(_) | Self::Ne(_) => self.clone(),
        }
    }

    /// Visits every polynomial with `poly`, and every array or relation of an opaque atom with
    /// `opaque`.
    pub fn visit(&self, poly: &mut dyn FnMut(&Poly), opaque: &mut dyn FnMut(LocalId)) {
        match self {
            Self::And(items) | Self::Or(items) => items.iter().for_each(|p| p.visit(poly, opaque)),
            Self::Ge(p) | Self::Eq(p) | Self::Ne(p) => poly(p),
            Self::Element(x, _, at, _) | Self::Member(x, _, at, _) => {
                opaque(*x);
                at.iter().for_each(poly);
            }
            Self::Exists(index, body, _) => {
                poly(&index.extent);
                body.visit(poly, opaque);
            }
        }
    }

    /// Whether it mentions the atom.
    #[must_use]
    pub fn mentions(&self, atom: &Atom) -> bool {
        let mut found = false;
        self.visit(&mut |p| found |= p.mentions(atom), &mut |_| {});
        found
    }

    /// Whether arithmetic in it overflowed.
    #[must_use]
    pub fn has_overflowed(&self) -> bool {
        let mut found = false;
        self.visit(&mut |p| found |= p.has_overflowed(), &mut |_| {});
        found
    }

    /// Returns a predicate over indices and sizes alone that follows from this one.
    #[must_use]
    pub fn data_independent_part(&self) -> Self {
        match self {
            Self::And(items) => Self::all(items.iter().map(Self::data_independent_part)),
            Self::Or(items) => Self::any_of(items.iter().map(Self::data_independent_part)),
            Self::Exists(index, body, true) => {
                let some = Self::exists(index, &body.data_independent_part());
                // The extent may depend on data.
                Self::all(some.conjuncts().iter().filter(|p| !p.depends_on_data()).cloned())
            }
            other if other.depends_on_data() => Self::truth(),
            other => other.clone(),
        }
    }

    /// Returns the number of nodes of the predicate.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::And(items) | Self::Or(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Self::Exists(_, body, _) => 1 + body.size(),
            _ => 1,
        }
    }

    /// Whether it depends on data.
    #[must_use]
    pub fn depends_on_data(&self) -> bool {
        let (mut reads, mut asks) = (false, false);
        self.visit(&mut |p| p.for_each_atom(&mut |a| reads |= matches!(a, Atom::Read(..))), &mut |_| asks = true);
        reads || asks
    }
}

/// Eliminates the index from its bounds by Fourier-Motzkin. This is exact over the integers if all
/// lower bounds, or all upper ones, have coefficient 1. Returns `None` otherwise, or if a conjunct
/// is not a bound.
fn shadow(index: &Index, bounds: &[Pred]) -> Option<Pred> {
    let range = [index.value(), index.extent.add_constant(-1).sub(&index.value())];
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    let bound_polys = bounds.iter().map(|p| if let Pred::Ge(p) = p { Some(p) } else { None });
    for p in bound_polys.chain(range.iter().map(Some)) {
        let (c, rest) = p?.linear_in(&index.atom())?;
        if c > 0 { &mut lower } else { &mut upper }.push((c, rest));
    }
    let exact = lower.iter().all(|b| b.0 == 1) || upper.iter().all(|b| b.0 == -1);
    let pairs = lower.iter().flat_map(|l| upper.iter().map(move |u| (l, u)));
    let meet = pairs.map(|((c, l), (d, u))| Pred::nonneg(&l.scale(-d).add(&u.scale(*c))));
    exact.then(|| Pred::all(meet))
}

/// Normalises `p = 0`: divides by the common factor of the coefficients and makes the leading one
/// positive. `Err` has the truth value if it is already decided.
fn normalise_equation(p: &Poly) -> Result<Poly, bool> {
    if let Some(c) = p.as_constant() {
        return Err(c == 0);
    }
    if p.has_overflowed() {
        return Ok(p.clone());
    }
    let g = common_factor(p).max(1);
    if p.constant_part() % g != 0 {
        return Err(false);
    }
    let p = divide_coefficients(p, g);
    let leads = p.terms().iter().find(|(m, _)| !m.is_empty()).is_none_or(|t| t.1 > 0);
    Ok(if leads { p } else { p.neg() })
}

/// Returns the greatest common divisor of the coefficients, except the constant.
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

/// Divides by a common divisor of all coefficients.
fn divide_coefficients(p: &Poly, by: i128) -> Poly {
    if by == 1 { p.clone() } else { p.div(&Poly::constant(by)).unwrap_or_default() }
}

/// Prints the predicate in Iverson syntax. Subtracted terms move to the other side of the
/// comparison.
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
                let (left, right) = split_by_sign(p);
                // `a - b - 1 >= 0` over integers is `b < a`.
                match right.constant_part() {
                    c if c > 0 => write!(f, "{} < {left}", right.add_constant(-1)),
                    _ => write!(f, "{right} <= {left}"),
                }
            }
            Self::Eq(p) => {
                let (left, right) = split_by_sign(p);
                write!(f, "{left} == {right}")
            }
            Self::Ne(p) => {
                let (left, right) = split_by_sign(p);
                write!(f, "{left} != {right}")
            }
            Self::Element(_, name, at, holds) => {
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
            Self::Exists(index, body, holds) => {
                let not = if *holds { "" } else { "!" };
                write!(f, "{not}(any {} < {}: {body})", index.name, index.extent)
            }
        }
    }
}

/// Returns the added terms and the subtracted terms.
fn split_by_sign(p: &Poly) -> (Poly, Poly) {
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
