//! Random integer expressions and predicates for tests: trees with their own semantics, and the
//! polynomials and predicates built from them. Their values at a point are computed by enumeration
//! of every index.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::predicate::{Atom, FactContext, Index, LocalId, Poly, Pred};

/// A deterministic random number generator (splitmix64).
pub(crate) struct SplitMixRng(pub(crate) u64);

impl SplitMixRng {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }

    /// Returns a number from `-most` to `most`.
    pub(crate) fn symmetric(&mut self, most: usize) -> i64 {
        i64::try_from(self.below(2 * most + 1)).unwrap() - i64::try_from(most).unwrap()
    }

    pub(crate) fn choose<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// Returns true with probability `1 / n`.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Reads an environment variable that soak tests set.
#[expect(clippy::disallowed_methods, reason = "soaks say how often")]
fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Returns the cases of a test with their generators: `usual` of them, or more if `IVERSON_COUNT`
/// is set, starting at `IVERSON_SEED`. Slow tests divide the requested number by `part`.
pub(crate) fn cases(usual: u64, part: u64) -> impl Iterator<Item = (u64, SplitMixRng)> {
    let first = env_number("IVERSON_SEED").unwrap_or(0);
    let count = (env_number("IVERSON_COUNT").unwrap_or(0) / part).max(usual);
    (first..first + count).map(|seed| (seed, SplitMixRng(seed.wrapping_mul(0xA24B_AED4_963E_E407))))
}

/// Counters of the situations that a test reached.
#[derive(Default)]
pub(crate) struct CoverageTable(BTreeMap<&'static str, u64>);

impl CoverageTable {
    /// Counts the situation if `is` holds.
    pub(crate) fn count(&mut self, what: &'static str, is: bool) {
        *self.0.entry(what).or_default() += u64::from(is);
    }

    /// Prints the table. Fails if a situation never occurred.
    #[expect(clippy::disallowed_macros, reason = "what was reached")]
    pub(crate) fn print_and_check(&self, title: &str) {
        println!("{title}");
        self.0.iter().for_each(|(what, n)| println!("{n:9}  {what}"));
        let never: Vec<_> = self.0.iter().filter(|(_, n)| **n == 0).map(|(what, _)| what).collect();
        assert!(never.is_empty(), "{title}: never reached: {never:?}");
    }
}

/// The number of a variable. Indices and sizes always exist; existentials bind the others.
pub(crate) type VarNumber = usize;

pub(crate) const I: VarNumber = 0;
pub(crate) const J: VarNumber = 1;
pub(crate) const N: VarNumber = 2;
pub(crate) const M: VarNumber = 3;

/// The first variable of an existential.
const FIRST_BOUND_VAR: VarNumber = 4;

/// The limit for variables of existentials, which bounds their depth.
const MAX_VARS: VarNumber = 10;

/// Returns the atom of a variable. All variables of existentials share one name, so only their
/// numbers differ.
pub(crate) fn atom(var: VarNumber) -> Atom {
    let name = ["i", "j", "n", "m"].get(var).copied().unwrap_or("e");
    Atom::Local(LocalId(u32::try_from(var).unwrap()), name.into())
}

pub(crate) fn value(var: VarNumber) -> Poly {
    Poly::atom(atom(var))
}

/// Returns a variable as an index with an extent.
pub(crate) fn index(var: VarNumber, extent: Poly) -> Index {
    let Atom::Local(local, name) = atom(var) else { unreachable!() };
    Index { local, name, extent }
}

/// The world in which the array of truth values holds at the first few even numbers, as in
/// [`even`].
pub(crate) const EVEN_WORLD: i64 = -1;

/// Returns the predicate that `p` is one of the first few even numbers.
pub(crate) fn even(p: &Poly) -> Pred {
    let half = MAX_VARS - 1;
    Pred::raw_exists(&index(half, Poly::constant(3)), &Pred::equal(p, &value(half).scale(2)))
}

const ARRAY: LocalId = LocalId(20);
const RELATION: LocalId = LocalId(21);
const DATA: LocalId = LocalId(22);

/// The values of all variables, and the number of a world. Data differ between worlds.
#[derive(Clone, Debug)]
pub(crate) struct TestPoint {
    vars: [i64; MAX_VARS],
    world: i64,
    /// The bound variables of the enclosing existentials, innermost last.
    bound_values: Vec<(Atom, i64)>,
}

impl TestPoint {
    /// Returns the point with these sizes, and all else 0.
    pub(crate) fn from_sizes(n: i64, m: i64) -> Self {
        let mut vars = [0; MAX_VARS];
        vars[N] = n;
        vars[M] = m;
        Self { vars, world: 0, bound_values: Vec::new() }
    }

    /// Iterates over sizes from 0 to 2 and indices from -1 to 2.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Self::sizes(3).flat_map(|at| (0..16).map(move |k| at.with(I, k / 4 - 1).with(J, k % 4 - 1)))
    }

    pub(crate) fn var(&self, var: VarNumber) -> i64 {
        self.vars[var]
    }

    pub(crate) fn with(&self, var: VarNumber, value: i64) -> Self {
        let mut point = self.clone();
        point.vars[var] = value;
        point
    }

    /// Iterates over sizes below `most`, with indices 0.
    pub(crate) fn sizes(most: i64) -> impl Iterator<Item = Self> {
        (0..most).flat_map(move |n| (0..most).map(move |m| Self::from_sizes(n, m)))
    }

    pub(crate) fn in_world(&self, world: i64) -> Self {
        Self { world, ..self.clone() }
    }

    /// Returns the value of an atom that is not compound.
    pub(crate) fn atom(&self, a: &Atom) -> Option<i64> {
        match a {
            Atom::Local(LocalId(k), _) if (*k as usize) < MAX_VARS => Some(self.vars[*k as usize]),
            _ => self.bound_values.iter().rev().find(|(b, _)| a == b).map(|(_, v)| *v),
        }
    }

    fn truth(&self, of: LocalId, at: &[i64]) -> bool {
        if self.world == EVEN_WORLD && of == ARRAY {
            return [0, 2, 4].contains(&at[0]);
        }
        at.iter().fold(i64::from(of.0) + self.world.max(0) * 5, |sum, v| 3 * sum + v * v + v).rem_euclid(7) < 4
    }

    fn data(&self, at: &[i64]) -> i64 {
        at.iter().fold(self.world.max(0), |sum, v| 2 * sum + 3 * v).rem_euclid(5) - 1
    }
}

/// Division by 0 yields 0, as in the forms.
fn quotient(a: i64, b: i64) -> i64 {
    if b == 0 { 0 } else { a.div_euclid(b.abs()) * b.signum() - i64::from(b < 0 && a.rem_euclid(b) != 0) }
}

fn remainder(a: i64, b: i64) -> i64 {
    if b == 0 { 0 } else { a - b * quotient(a, b) }
}

/// Returns the value of a polynomial at a point, term by term. It must not have overflowed.
pub(crate) fn poly_value(p: &Poly, at: &TestPoint) -> i64 {
    p.terms()
        .iter()
        .map(|(m, c)| m.iter().fold(i64::try_from(*c).unwrap(), |v, (a, k)| v * atom_value(a, at).pow(*k)))
        .sum()
}

fn atom_value(a: &Atom, at: &TestPoint) -> i64 {
    let two = |p: &Poly, q: &Poly| (poly_value(p, at), poly_value(q, at));
    match a {
        Atom::Div(p, q) => quotient(poly_value(p, at), poly_value(q, at)),
        Atom::Mod(p, q) => remainder(poly_value(p, at), poly_value(q, at)),
        Atom::Min(p, q) => Ord::min(two(p, q).0, two(p, q).1),
        Atom::Max(p, q) => Ord::max(two(p, q).0, two(p, q).1),
        Atom::Read(_, _, indices) => at.data(&poly_values(indices, at)),
        Atom::Overflow => panic!("overflow"),
        _ => at.atom(a).unwrap_or_else(|| panic!("{a:?} at {at:?}")),
    }
}

fn poly_values(of: &[Poly], at: &TestPoint) -> Vec<i64> {
    of.iter().map(|p| poly_value(p, at)).collect()
}

/// Evaluates a predicate at a point, by its structure. Nothing in it may have overflowed.
pub(crate) fn holds(p: &Pred, at: &mut TestPoint) -> bool {
    match p {
        Pred::And(items) => items.iter().all(|p| holds(p, at)),
        Pred::Or(items) => items.iter().any(|p| holds(p, at)),
        Pred::Ge(p) => poly_value(p, at) >= 0,
        Pred::Eq(p) => poly_value(p, at) == 0,
        Pred::Ne(p) => poly_value(p, at) != 0,
        Pred::Element(of, _, indices, is) | Pred::Member(of, _, indices, is) => {
            at.truth(*of, &poly_values(indices, at)) == *is
        }
        Pred::Exists(index, body, is) => {
            let found = (0..poly_value(&index.extent, at)).any(|v| {
                at.bound_values.push((index.atom(), v));
                let holds = holds(body, at);
                at.bound_values.pop();
                holds
            });
            found == *is
        }
    }
}

/// A random expression.
#[derive(Clone, Debug)]
pub(crate) enum RandomExpr {
    Constant(i64),
    Var(VarNumber),
    Binary(RandomOperator, Box<[RandomExpr; 2]>),
    Read(Box<RandomExpr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RandomOperator {
    Plus,
    Minus,
    Times,
    Quotient,
    Remainder,
    Least,
    Greatest,
}

impl RandomExpr {
    pub(crate) fn binary(operator: RandomOperator, a: Self, b: Self) -> Self {
        Self::Binary(operator, Box::new([a, b]))
    }

    /// Draws a sum of these variables with small factors.
    pub(crate) fn affine(draw: &mut SplitMixRng, over: &[VarNumber]) -> Self {
        let mut sum = Self::Constant(draw.symmetric(3));
        for var in over {
            let most = if [N, M].contains(var) { 1 } else { 2 };
            let c = if draw.one_in(3) { 0 } else { draw.symmetric(most) };
            if c != 0 {
                let term = Self::binary(RandomOperator::Times, Self::Constant(c), Self::Var(*var));
                sum = Self::binary(RandomOperator::Plus, sum, term);
            }
        }
        sum
    }

    /// Draws an expression, mostly affine, sometimes with other operators.
    pub(crate) fn draw(draw: &mut SplitMixRng, over: &[VarNumber]) -> Self {
        match draw.below(16) {
            0..=8 => Self::affine(draw, over),
            9 => Self::binary(RandomOperator::Times, Self::Var(draw.choose(over)), Self::affine(draw, over)),
            10 => Self::Read(Box::new(Self::affine(draw, over))),
            11 | 12 => {
                let operator = draw.choose(&[RandomOperator::Quotient, RandomOperator::Remainder]);
                let by = match draw.below(3) {
                    0 => Self::Var(draw.choose(over)),
                    _ => Self::Constant(draw.choose(&[2, 3, 4, -2])),
                };
                let whole = Self::binary(operator, Self::affine(draw, over), by);
                Self::binary(RandomOperator::Minus, whole, Self::Constant(draw.symmetric(1)))
            }
            13 | 14 => {
                let operator = draw.choose(&[RandomOperator::Least, RandomOperator::Greatest]);
                Self::binary(operator, Self::affine(draw, over), Self::affine(draw, over))
            }
            _ => {
                let operator = draw.choose(&[RandomOperator::Plus, RandomOperator::Minus]);
                Self::binary(operator, Self::draw(draw, over), Self::draw(draw, over))
            }
        }
    }

    pub(crate) fn value(&self, at: &TestPoint) -> i64 {
        match self {
            Self::Constant(c) => *c,
            Self::Var(var) => at.vars[*var],
            Self::Read(index) => at.data(&[index.value(at)]),
            Self::Binary(operator, two) => {
                let [a, b] = two.each_ref().map(|e| e.value(at));
                match operator {
                    RandomOperator::Plus => a + b,
                    RandomOperator::Minus => a - b,
                    RandomOperator::Times => a * b,
                    RandomOperator::Quotient => quotient(a, b),
                    RandomOperator::Remainder => remainder(a, b),
                    RandomOperator::Least => Ord::min(a, b),
                    RandomOperator::Greatest => Ord::max(a, b),
                }
            }
        }
    }

    pub(crate) fn poly(&self) -> Poly {
        match self {
            Self::Constant(c) => Poly::constant((*c).into()),
            Self::Var(var) => value(*var),
            Self::Read(index) => Poly::atom(Atom::Read(DATA, "d".into(), Arc::from([index.poly()]))),
            Self::Binary(operator, two) => {
                let [a, b] = two.each_ref().map(Self::poly);
                match operator {
                    RandomOperator::Plus => a.add(&b),
                    RandomOperator::Minus => a.sub(&b),
                    RandomOperator::Times => a.mul(&b),
                    RandomOperator::Quotient => a.div(&b).expect("divisor"),
                    RandomOperator::Remainder => a.rem(&b).expect("divisor"),
                    RandomOperator::Least => a.minimum(&b),
                    RandomOperator::Greatest => a.maximum(&b),
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ComparisonKind {
    Less,
    AtMost,
    Equal,
    /// The first operand is at least 0 and less than the second.
    InRange,
    /// The difference is not negative.
    Nonneg,
    Zero,
    Nonzero,
}

/// A random predicate, built by operations that are counted separately in [`CoverageTable`].
#[derive(Clone, Debug)]
pub(crate) enum RandomPred {
    Compare(ComparisonKind, RandomExpr, RandomExpr),
    Element(RandomExpr, bool),
    Member(RandomExpr, RandomExpr, bool),
    All(Vec<RandomPred>),
    And(Box<[RandomPred; 2]>),
    AnyOf(Vec<RandomPred>),
    Not(Box<RandomPred>),
    /// An existential; the flag selects [`exists`] over [`raw_exists`].
    Exists(VarNumber, RandomExpr, Box<RandomPred>, bool),
    /// Substitution of an expression for a variable.
    Substitute(VarNumber, RandomExpr, Box<RandomPred>),
    /// Simplification without facts.
    Simplify(Box<RandomPred>),
}

impl RandomPred {
    /// Draws a predicate over these variables, with operations nested up to this depth.
    pub(crate) fn draw(draw: &mut SplitMixRng, over: &[VarNumber], depth: usize) -> Self {
        if depth == 0 || draw.one_in(4) {
            return Self::draw_atom(draw, over);
        }
        let some = |draw: &mut SplitMixRng| -> Vec<Self> {
            let mut all: Vec<Self> = (0..1 + draw.below(3)).map(|_| Self::draw(draw, over, depth - 1)).collect();
            if draw.one_in(8) {
                all.push(Self::Not(Box::new(all[0].clone())));
            }
            all
        };
        match draw.below(13) {
            0 | 1 => Self::All(some(draw)),
            2 => Self::And(Box::new([Self::draw(draw, over, depth - 1), Self::draw(draw, over, depth - 1)])),
            3 | 4 => Self::AnyOf(some(draw)),
            5 => Self::Not(Box::new(Self::draw(draw, over, depth - 1))),
            6..=8 => {
                let var = over.iter().copied().max().unwrap_or(0).max(FIRST_BOUND_VAR - 1) + 1;
                assert!(var < MAX_VARS, "too deep");
                let extent = match draw.below(5) {
                    0 => Self::extent(draw, over),
                    1 => RandomExpr::Constant(3),
                    _ => RandomExpr::Var(draw.choose(&[N, M])),
                };
                let inside: Vec<VarNumber> = over.iter().copied().chain([var]).collect();
                Self::Exists(var, extent, Box::new(Self::draw(draw, &inside, depth - 1)), !draw.one_in(3))
            }
            9 | 10 => {
                let by = if draw.one_in(3) { RandomExpr::draw(draw, over) } else { RandomExpr::affine(draw, over) };
                Self::Substitute(draw.choose(over), by, Box::new(Self::draw(draw, over, depth - 1)))
            }
            _ => Self::Simplify(Box::new(Self::draw(draw, over, depth - 1))),
        }
    }

    /// Draws an extent that stays small: `n + i`.
    fn extent(draw: &mut SplitMixRng, over: &[VarNumber]) -> RandomExpr {
        RandomExpr::binary(
            RandomOperator::Plus,
            RandomExpr::Var(draw.choose(&[N, M])),
            RandomExpr::Var(draw.choose(over)),
        )
    }

    fn draw_atom(draw: &mut SplitMixRng, over: &[VarNumber]) -> Self {
        if draw.one_in(8) {
            let is = draw.one_in(2);
            return match draw.one_in(2) {
                true => Self::Element(RandomExpr::affine(draw, over), is),
                false => Self::Member(RandomExpr::Var(draw.choose(over)), RandomExpr::affine(draw, over), is),
            };
        }
        use ComparisonKind::{AtMost, Equal, InRange, Less, Nonneg, Nonzero, Zero};
        let relation = draw.choose(&[Less, AtMost, Equal, Equal, InRange, Nonneg, Nonneg, Zero, Nonzero]);
        let right = match draw.below(3) {
            0 => RandomExpr::Constant(draw.symmetric(2)),
            1 => RandomExpr::Var(draw.choose(over)),
            _ => RandomExpr::affine(draw, over),
        };
        Self::Compare(relation, RandomExpr::draw(draw, over), right)
    }

    /// Evaluates the predicate at a point.
    pub(crate) fn holds(&self, at: &TestPoint) -> bool {
        match self {
            Self::Compare(relation, a, b) => {
                let (a, b) = (a.value(at), b.value(at));
                match relation {
                    ComparisonKind::Less => a < b,
                    ComparisonKind::AtMost => a <= b,
                    ComparisonKind::Equal | ComparisonKind::Zero => a == b,
                    ComparisonKind::InRange => 0 <= a && a < b,
                    ComparisonKind::Nonneg => a >= b,
                    ComparisonKind::Nonzero => a != b,
                }
            }
            Self::Element(e, is) => at.truth(ARRAY, &[e.value(at)]) == *is,
            Self::Member(a, b, is) => at.truth(RELATION, &[a.value(at), b.value(at)]) == *is,
            Self::All(items) => items.iter().all(|p| p.holds(at)),
            Self::And(two) => two.iter().all(|p| p.holds(at)),
            Self::AnyOf(items) => items.iter().any(|p| p.holds(at)),
            Self::Not(p) => !p.holds(at),
            Self::Exists(var, extent, body, _) => (0..extent.value(at)).any(|v| body.holds(&at.with(*var, v))),
            Self::Substitute(var, by, body) => body.holds(&at.with(*var, by.value(at))),
            Self::Simplify(p) => p.holds(at),
        }
    }

    /// Builds the predicate by the operations. Returns `None` if a polynomial overflows or is
    /// divided by 0.
    pub(crate) fn pred(&self, reached: &mut CoverageTable) -> Option<Pred> {
        let each = |items: &[Self], reached: &mut CoverageTable| -> Option<Vec<Pred>> {
            items.iter().map(|p| p.pred(reached)).collect()
        };
        let pred = match self {
            Self::Compare(relation, a, b) => {
                let (a, b) = (a.poly(), b.poly());
                let (p, over) = (a.sub(&b), a.sub(&b).as_constant().is_none());
                match relation {
                    ComparisonKind::Less => {
                        reached.count("less", true);
                        Pred::less(&a, &b)
                    }
                    ComparisonKind::AtMost => {
                        reached.count("at_most", true);
                        Pred::at_most(&a, &b)
                    }
                    ComparisonKind::Equal => {
                        reached.count("equal", true);
                        Pred::equal(&a, &b)
                    }
                    ComparisonKind::InRange => {
                        reached.count("inside", true);
                        Pred::in_range(&a, &b)
                    }
                    ComparisonKind::Nonneg => {
                        let normalised = Pred::nonneg(&p);
                        reached.count("nonneg", true);
                        reached.count("nonneg: a common factor goes", over && normalised != Pred::Ge(p));
                        normalised
                    }
                    ComparisonKind::Zero => {
                        let normalised = Pred::zero(&p);
                        reached.count("zero", true);
                        reached.count("zero: at no integer", over && normalised.is_false());
                        normalised
                    }
                    ComparisonKind::Nonzero => {
                        let normalised = Pred::nonzero(&p);
                        reached.count("nonzero", true);
                        reached.count("nonzero: at all integers", over && normalised.is_true());
                        normalised
                    }
                }
            }
            Self::Element(e, is) => Pred::Element(ARRAY, "x".into(), Arc::from([e.poly()]), *is),
            Self::Member(a, b, is) => Pred::Member(RELATION, "r".into(), Arc::from([a.poly(), b.poly()]), *is),
            Self::All(items) => {
                let items = each(items, reached)?;
                let conjunction = Pred::all(items.clone());
                reached.count("all", true);
                reached.count("all: one denies another", conjunction.is_false() && !items.iter().any(Pred::is_false));
                conjunction
            }
            Self::And(two) => {
                reached.count("and", true);
                two[0].pred(reached)?.and(&two[1].pred(reached)?)
            }
            Self::AnyOf(items) => {
                let items = each(items, reached)?;
                let disjunction = Pred::any_of(items.clone());
                reached.count("any_of", true);
                reached.count("any_of: one denies another", disjunction.is_true() && !items.iter().any(Pred::is_true));
                disjunction
            }
            Self::Not(p) => {
                reached.count("negated", true);
                p.pred(reached)?.negated()
            }
            Self::Exists(var, extent, body, worked_on) => {
                let (index, body) = (index(*var, extent.poly()), body.pred(reached)?);
                if *worked_on { exists(&index, &body, reached) } else { raw_exists(&index, &body, reached) }
            }
            Self::Substitute(var, by, body) => {
                let (put, by, body) = (atom(*var), by.poly(), body.pred(reached)?);
                reached.count("substitute", true);
                reached.count(
                    "substitute: inside an existential",
                    matches!(body, Pred::Exists(..)) && body.mentions(&put),
                );
                body.substitute(&|a| (*a == put).then(|| by.clone()))
            }
            Self::Simplify(p) => {
                reached.count("simplify: where nothing is known", true);
                FactContext::default().simplify(&p.pred(reached)?)
            }
        };
        (!pred.has_overflowed()).then_some(pred)
    }
}

/// Returns the existential after elimination.
pub(crate) fn exists(index: &Index, body: &Pred, reached: &mut CoverageTable) -> Pred {
    let existential = Pred::exists(index, body);
    let solved = body.solve_for(&index.atom()).is_some();
    let left = |p: &Pred| matches!(p, Pred::Exists(..));
    reached.count("exists", true);
    reached.count("exists: over a union", matches!(body, Pred::Or(items) if items.len() > 1));
    reached.count("exists: an equation tells the index", solved);
    let bounds = !solved && !matches!(body, Pred::Or(_)) && body.mentions(&index.atom());
    reached.count("exists: bounds meet", bounds && !existential.conjuncts().iter().any(left));
    reached.count("exists: left as it is", bounds && existential.conjuncts().iter().any(left));
    existential
}

/// Returns the existential without elimination.
pub(crate) fn raw_exists(index: &Index, body: &Pred, reached: &mut CoverageTable) -> Pred {
    let existential = Pred::raw_exists(index, body);
    reached.count("some", true);
    assert!(matches!(existential, Pred::Exists(_, _, true)) || body.is_false(), "{existential}");
    existential
}
