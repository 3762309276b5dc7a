//! **Grid evaluation.** Evaluates both sides of a question at many sizes, and returns the least
//! factor that satisfies all of them. The search then tries to prove that factor.

use std::collections::HashMap;

use super::claim::{sides, terms};
use super::packed::{Mono, Names, Packed, lcm, powers};
use super::proof::{Comparison, Term};
use super::{Grid, Question, Sizes, Why, Witness};
use crate::count::Formula;
use crate::predicate::{Atom, Poly};
use lang_base::pause;

/// The approximate number of combinations of sizes.
const POINTS: usize = 500;

/// A size far beyond the grid.
const FAR: i64 = 1000;

/// The largest factor that is never steep. A larger factor is steep if the small sizes need less
/// than half of it.
const STEEP: i128 = 24;

/// The least whole factor, at least 1, with sizes at which the factor minus 1 fails. Or a witness
/// that no factor exists, because the function costs nothing where its derivative costs something.
pub(super) enum Factor {
    Least(i128, Option<Sizes>),
    None(Witness),
}

/// The result of a grid evaluation.
pub(super) struct Points {
    pub(super) grid: Grid,
    pub(super) factor: Factor,
    /// Whether it is likely that no factor exists.
    pub(super) steep: bool,
}

impl Points {
    pub(super) fn of(question: &Question<'_>) -> Result<Self, Why> {
        let atoms = atoms(question);
        let mut sides = Sides::of(question, &atoms)?;
        let (most, drawn, near) = near(atoms.len());
        let mut grid = Grid { atoms, most, drawn, points: 0 };
        let (mut least, mut tight, mut before) = (1, None, 1);
        let far = far(grid.atoms.len());
        let count = near.len();
        for (k, point) in near.into_iter().chain(far).enumerate() {
            pause();
            if k == count {
                before = least;
            }
            // Far points at which the arithmetic overflows are skipped.
            let values = match sides.at(&point) {
                Found::Values(derived, primal) => (derived, primal),
                Found::Impossible => continue,
                Found::None if k >= count => continue,
                Found::None => return Err(Why::NoValue),
            };
            grid.points += 1;
            let (derived, primal) = values;
            let sizes = || grid.atoms.iter().cloned().zip(point.iter().copied()).collect::<Sizes>();
            if derived < 0 || primal < 0 {
                return Err(Why::Negative);
            }
            if primal == 0 && derived > 0 {
                let factor = Factor::None(Witness { sizes: sizes(), derived, primal });
                return Ok(Self { grid, factor, steep: true });
            }
            let needed = if derived == 0 { 0 } else { (derived - 1) / primal + 1 };
            if needed > least || needed == least && tight.is_none() {
                least = needed;
                tight = Some(sizes());
            }
        }
        if grid.points == 0 {
            return Err(Why::NoValue);
        }
        let steep = least > STEEP && least / 2 > before;
        Ok(Self { grid, factor: Factor::Least(least, tight), steep })
    }
}

/// Returns the atoms of a question that are not derived from others.
pub(super) fn atoms(question: &Question<'_>) -> Vec<Atom> {
    let mut all = Vec::new();
    question.known.iter().for_each(|p| leaves(p, &mut all));
    for formula in [question.primal, question.derived, question.io, question.extra].into_iter().chain(question.bounds) {
        for piece in formula.pieces() {
            leaves(piece.value.parts().0, &mut all);
            piece.pred.visit(&mut |p| leaves(p, &mut all), &mut |_| {});
        }
    }
    all
}

fn leaves(p: &Poly, all: &mut Vec<Atom>) {
    for (atom, _) in p.terms().iter().flat_map(|(m, _)| m) {
        match atom {
            Atom::Div(p, q) | Atom::Mod(p, q) | Atom::Min(p, q) | Atom::Max(p, q) => {
                leaves(p, all);
                leaves(q, all);
            }
            other if !all.contains(other) => all.push(other.clone()),
            _ => {}
        }
    }
}

/// Returns the largest small size, whether combinations are sampled, and the combinations.
fn near(atoms: usize) -> (i64, bool, Vec<Vec<i64>>) {
    let side = match atoms {
        0 => 1,
        1 => 64,
        2 => 20,
        3 => 8,
        4 => 5,
        5 | 6 => 3,
        _ => {
            // The generator yields the same numbers in every run.
            let mut state = 1_u64;
            let mut draw = |_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                i64::try_from(state >> 61).unwrap_or(0)
            };
            let drawn = (0..POINTS).map(|_| (0..atoms).map(&mut draw).collect());
            let same = (0..8).map(|n| vec![n; atoms]);
            return (7, true, same.chain(drawn).collect());
        }
    };
    let mut points = vec![Vec::new()];
    for _ in 0..atoms {
        let more = |p: &Vec<i64>| (0..side).map(|n| p.iter().copied().chain([n]).collect()).collect::<Vec<_>>();
        points = points.iter().flat_map(more).collect();
    }
    (side - 1, false, points)
}

/// Returns combinations of 1 and a large size; for many atoms, those with one large or one small
/// size.
fn far(atoms: usize) -> Vec<Vec<i64>> {
    let size = |large: bool| if large { FAR } else { 1 };
    let mut all: Vec<Vec<i64>> = vec![vec![FAR * FAR; atoms]];
    if atoms <= 6 {
        all.extend((0..1_u32 << atoms).map(|set| (0..atoms).map(|k| size(set >> k & 1 == 1)).collect()));
    } else {
        all.push(vec![FAR; atoms]);
        for other in 0..atoms {
            all.extend([true, false].map(|large| (0..atoms).map(|k| size((k == other) == large)).collect()));
        }
    }
    all
}

/// The values of both sides at a point.
pub(super) enum Found {
    Values(i128, i128),
    /// The point violates `known` or `bounds`.
    Impossible,
    /// A formula has no value, or none that is whole.
    None,
}

/// Both sides of a question, compiled for evaluation at many sizes.
pub(super) struct Sides {
    names: Names,
    /// The number of basic atoms; the other atoms are derived from them.
    given: usize,
    products: Products,
    known: Vec<Line>,
    bounds: Vec<Side>,
    primal: Side,
    derived: Side,
    values: Vec<i128>,
}

/// The products of powers in the polynomials, each with its value at a point.
#[derive(Default)]
struct Products {
    numbers: HashMap<Mono, usize>,
    factors: Vec<Vec<usize>>,
    values: Vec<Option<i128>>,
}

/// A polynomial: the numbers of its products, with coefficients.
struct Line(Vec<(usize, i128)>);

/// A sum of pieces over one denominator.
struct Side {
    under: i128,
    pieces: Vec<Part>,
}

/// A test of a number against a comparison with zero.
type Asked = fn(i128) -> bool;

/// A polynomial, guarded by comparisons.
struct Part {
    at: Vec<(Line, Asked)>,
    value: Line,
}

impl Products {
    fn line(&mut self, p: &Packed) -> Line {
        let number = |(m, c): &(Mono, i128)| {
            let number = *self.numbers.entry(*m).or_insert_with(|| {
                let factors = powers(*m).flat_map(|(atom, power)| (0..power).map(move |_| atom));
                self.factors.push(factors.collect());
                self.factors.len() - 1
            });
            (number, *c)
        };
        Line(p.terms().iter().map(number).collect())
    }

    /// Evaluates all products at these values of the atoms.
    fn evaluate(&mut self, atoms: &[i128]) {
        let product = |factors: &Vec<usize>| {
            factors.iter().try_fold(1_i128, |product, atom| product.checked_mul(*atoms.get(*atom)?))
        };
        self.values.clear();
        self.values.extend(self.factors.iter().map(product));
    }

    fn of(&self, Line(terms): &Line) -> Option<i128> {
        terms.iter().try_fold(0_i128, |sum, (k, c)| sum.checked_add(c.checked_mul((*self.values.get(*k)?)?)?))
    }
}

impl Sides {
    pub(super) fn of(question: &Question<'_>, atoms: &[Atom]) -> Result<Self, Why> {
        let (mut names, mut products) = (Names::default(), Products::default());
        for atom in atoms {
            names.number(atom).ok_or(Why::TooLarge)?;
        }
        let known: Option<_> = question.known.iter().map(|p| Some(products.line(&names.pack(p)?))).collect();
        let known = known.ok_or(Why::TooLarge)?;
        let mut side = |formula: &Formula| Side::of(formula, &mut names, &mut products);
        let bounds = question.bounds.iter().map(&mut side).collect::<Result<_, _>>()?;
        let (primal, derived) = sides(question);
        let (primal, derived) = (side(&primal)?, side(&derived)?);
        Ok(Self { names, given: atoms.len(), products, known, bounds, primal, derived, values: Vec::new() })
    }

    pub(super) fn at(&mut self, point: &[i64]) -> Found {
        self.values.clear();
        self.values.extend(point.iter().map(|n| i128::from(*n)));
        let atoms = self.names.atoms();
        for made in atoms.iter().skip(self.given) {
            let mut value = |a: &Atom| atoms.iter().zip(point).find(|(b, _)| *b == a).map(|(_, n)| *n);
            match Poly::atom(made.clone()).eval(&mut value) {
                Some(n) => self.values.push(n.into()),
                None => return Found::None,
            }
        }
        self.products.evaluate(&self.values);
        let products = &self.products;
        let known = self.known.iter().map(|p| products.of(p));
        for known in known.chain(self.bounds.iter().map(|b| b.scaled(products))) {
            match known {
                Some(n) if n >= 0 => {}
                Some(_) => return Found::Impossible,
                None => return Found::None,
            }
        }
        match (self.derived.at(products), self.primal.at(products)) {
            (Some(derived), Some(primal)) => Found::Values(derived, primal),
            _ => Found::None,
        }
    }
}

impl Side {
    fn of(formula: &Formula, names: &mut Names, products: &mut Products) -> Result<Self, Why> {
        let terms: Vec<Term> = terms(formula)?;
        let under = terms.iter().try_fold(1, |all, t| lcm(all, t.under)).ok_or(Why::TooLarge)?;
        let mut piece = |term: &Term| {
            let mut at = Vec::new();
            for comparison in &term.at {
                let (p, holds): (&Poly, Asked) = match comparison {
                    Comparison::Ge(p) => (p, |n| n >= 0),
                    Comparison::Eq(p) => (p, |n| n == 0),
                    Comparison::Ne(p) => (p, |n| n != 0),
                };
                at.push((products.line(&names.pack(p)?), holds));
            }
            let value = names.pack(&term.over)?.scaled(under / term.under)?;
            Some(Part { at, value: products.line(&value) })
        };
        let pieces = terms.iter().map(&mut piece).collect::<Option<_>>().ok_or(Why::TooLarge)?;
        Ok(Self { under, pieces })
    }

    /// Returns the value, if it is whole.
    fn at(&self, products: &Products) -> Option<i128> {
        let sum = self.scaled(products)?;
        (sum % self.under == 0).then(|| sum / self.under)
    }

    /// Returns the value times the denominator.
    fn scaled(&self, products: &Products) -> Option<i128> {
        let mut sum = 0_i128;
        for Part { at, value } in &self.pieces {
            let mut holds = true;
            for (p, asked) in at {
                holds = holds && asked(products.of(p)?);
            }
            if holds {
                sum = sum.checked_add(products.of(value)?)?;
            }
        }
        Some(sum)
    }
}
