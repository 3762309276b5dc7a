//! **Grid evaluation.** Evaluates both sides of a question at many sizes, and returns the least
//! factor that satisfies all of them. The search then tries to prove that factor.

use std::collections::HashMap;

use super::claim::{both_sides, guarded_terms};
use super::packed::{AtomNumbering, PackedMono, PackedPoly, lcm, powers};
use super::proof::{ClaimTerm, SignComparison};
use super::{CostQuestion, IncomparableReason, SizeAssignment, SizeGrid, Witness};
use crate::count::Formula;
use crate::predicate::{Atom, Poly};
use lang_base::check_cancelled;

/// The approximate number of combinations of sizes.
const GRID_POINTS: usize = 500;

/// A size far beyond the grid.
const FAR_SIZE: i64 = 1000;

/// The largest factor that is never steep. A larger factor is steep if the small sizes need less
/// than half of it.
const MAX_GENTLE_FACTOR: i128 = 24;

/// The least whole factor, at least 1, with sizes at which the factor minus 1 fails. Or a witness
/// that no factor exists, because the function costs nothing where its derivative costs something.
pub(super) enum LeastFactor {
    Least(i128, Option<SizeAssignment>),
    Unbounded(Witness),
}

/// The result of a grid evaluation.
pub(super) struct GridResult {
    pub(super) grid: SizeGrid,
    pub(super) factor: LeastFactor,
    /// Whether it is likely that no factor exists.
    pub(super) is_steep: bool,
}

impl GridResult {
    pub(super) fn evaluate(question: &CostQuestion<'_>) -> Result<Self, IncomparableReason> {
        let atoms = basic_atoms(question);
        let mut sides = CompiledQuestion::compile(question, &atoms)?;
        let (most, drawn, near) = near_points(atoms.len());
        let mut grid = SizeGrid { atoms, max_size: most, is_sampled: drawn, points: 0 };
        let (mut least, mut tight, mut before) = (1, None, 1);
        let far = far_points(grid.atoms.len());
        let count = near.len();
        for (k, point) in near.into_iter().chain(far).enumerate() {
            check_cancelled();
            if k == count {
                before = least;
            }
            // Far points at which the arithmetic overflows are skipped.
            let values = match sides.evaluate(&point) {
                SideValues::Values(derived, primal) => (derived, primal),
                SideValues::Impossible => continue,
                SideValues::NoValue if k >= count => continue,
                SideValues::NoValue => return Err(IncomparableReason::NoValue),
            };
            grid.points += 1;
            let (derived, primal) = values;
            let sizes = || grid.atoms.iter().cloned().zip(point.iter().copied()).collect::<SizeAssignment>();
            if derived < 0 || primal < 0 {
                return Err(IncomparableReason::Negative);
            }
            if primal == 0 && derived > 0 {
                let factor = LeastFactor::Unbounded(Witness { sizes: sizes(), derived, primal });
                return Ok(Self { grid, factor, is_steep: true });
            }
            let needed = if derived == 0 { 0 } else { (derived - 1) / primal + 1 };
            if needed > least || needed == least && tight.is_none() {
                least = needed;
                tight = Some(sizes());
            }
        }
        if grid.points == 0 {
            return Err(IncomparableReason::NoValue);
        }
        let steep = least > MAX_GENTLE_FACTOR && least / 2 > before;
        Ok(Self { grid, factor: LeastFactor::Least(least, tight), is_steep: steep })
    }
}

/// Returns the atoms of a question that are not derived from others.
pub(super) fn basic_atoms(question: &CostQuestion<'_>) -> Vec<Atom> {
    let mut all = Vec::new();
    question.assumptions.iter().for_each(|p| collect_basic_atoms(p, &mut all));
    for formula in [question.primal, question.derived, question.io, question.extra].into_iter().chain(question.bounds) {
        for piece in formula.pieces() {
            collect_basic_atoms(piece.value.as_fraction().0, &mut all);
            piece.pred.visit(&mut |p| collect_basic_atoms(p, &mut all), &mut |_| {});
        }
    }
    all
}

fn collect_basic_atoms(p: &Poly, all: &mut Vec<Atom>) {
    for (atom, _) in p.terms().iter().flat_map(|(m, _)| m) {
        match atom {
            Atom::Div(p, q) | Atom::Mod(p, q) | Atom::Min(p, q) | Atom::Max(p, q) => {
                collect_basic_atoms(p, all);
                collect_basic_atoms(q, all);
            }
            other if !all.contains(other) => all.push(other.clone()),
            _ => {}
        }
    }
}

/// Returns the largest small size, whether combinations are sampled, and the combinations.
fn near_points(atoms: usize) -> (i64, bool, Vec<Vec<i64>>) {
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
            let drawn = (0..GRID_POINTS).map(|_| (0..atoms).map(&mut draw).collect());
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
fn far_points(atoms: usize) -> Vec<Vec<i64>> {
    let size = |large: bool| if large { FAR_SIZE } else { 1 };
    let mut all: Vec<Vec<i64>> = vec![vec![FAR_SIZE * FAR_SIZE; atoms]];
    if atoms <= 6 {
        all.extend((0..1_u32 << atoms).map(|set| (0..atoms).map(|k| size(set >> k & 1 == 1)).collect()));
    } else {
        all.push(vec![FAR_SIZE; atoms]);
        for other in 0..atoms {
            all.extend([true, false].map(|large| (0..atoms).map(|k| size((k == other) == large)).collect()));
        }
    }
    all
}

/// The values of both sides at a point.
pub(super) enum SideValues {
    Values(i128, i128),
    /// The point violates `known` or `bounds`.
    Impossible,
    /// A formula has no value, or none that is whole.
    NoValue,
}

/// Both sides of a question, compiled for evaluation at many sizes.
pub(super) struct CompiledQuestion {
    names: AtomNumbering,
    /// The number of basic atoms; the other atoms are derived from them.
    basic_atoms: usize,
    products: ProductTable,
    known: Vec<CompiledPoly>,
    bounds: Vec<CompiledFormula>,
    primal: CompiledFormula,
    derived: CompiledFormula,
    values: Vec<i128>,
}

/// The products of powers in the polynomials, each with its value at a point.
#[derive(Default)]
struct ProductTable {
    numbers: HashMap<PackedMono, usize>,
    factors: Vec<Vec<usize>>,
    values: Vec<Option<i128>>,
}

/// A polynomial: the numbers of its products, with coefficients.
struct CompiledPoly(Vec<(usize, i128)>);

/// A sum of pieces over one denominator.
struct CompiledFormula {
    under: i128,
    pieces: Vec<CompiledPiece>,
}

/// A test of a number against a comparison with zero.
type SignTest = fn(i128) -> bool;

/// A polynomial, guarded by comparisons.
struct CompiledPiece {
    tests: Vec<(CompiledPoly, SignTest)>,
    value: CompiledPoly,
}

impl ProductTable {
    fn compile(&mut self, p: &PackedPoly) -> CompiledPoly {
        let number = |(m, c): &(PackedMono, i128)| {
            let number = *self.numbers.entry(*m).or_insert_with(|| {
                let factors = powers(*m).flat_map(|(atom, power)| (0..power).map(move |_| atom));
                self.factors.push(factors.collect());
                self.factors.len() - 1
            });
            (number, *c)
        };
        CompiledPoly(p.terms().iter().map(number).collect())
    }

    /// Evaluates all products at these values of the atoms.
    fn evaluate(&mut self, atoms: &[i128]) {
        let product = |factors: &Vec<usize>| {
            factors.iter().try_fold(1_i128, |product, atom| product.checked_mul(*atoms.get(*atom)?))
        };
        self.values.clear();
        self.values.extend(self.factors.iter().map(product));
    }

    fn value(&self, CompiledPoly(terms): &CompiledPoly) -> Option<i128> {
        terms.iter().try_fold(0_i128, |sum, (k, c)| sum.checked_add(c.checked_mul((*self.values.get(*k)?)?)?))
    }
}

impl CompiledQuestion {
    pub(super) fn compile(question: &CostQuestion<'_>, atoms: &[Atom]) -> Result<Self, IncomparableReason> {
        let (mut names, mut products) = (AtomNumbering::default(), ProductTable::default());
        for atom in atoms {
            names.number(atom).ok_or(IncomparableReason::TooLarge)?;
        }
        let known: Option<_> = question.assumptions.iter().map(|p| Some(products.compile(&names.pack(p)?))).collect();
        let known = known.ok_or(IncomparableReason::TooLarge)?;
        let mut side = |formula: &Formula| CompiledFormula::compile(formula, &mut names, &mut products);
        let bounds = question.bounds.iter().map(&mut side).collect::<Result<_, _>>()?;
        let (primal, derived) = both_sides(question);
        let (primal, derived) = (side(&primal)?, side(&derived)?);
        Ok(Self { names, basic_atoms: atoms.len(), products, known, bounds, primal, derived, values: Vec::new() })
    }

    pub(super) fn evaluate(&mut self, point: &[i64]) -> SideValues {
        self.values.clear();
        self.values.extend(point.iter().map(|n| i128::from(*n)));
        let atoms = self.names.atoms();
        for compound_atom in atoms.iter().skip(self.basic_atoms) {
            let mut value = |a: &Atom| atoms.iter().zip(point).find(|(b, _)| *b == a).map(|(_, n)| *n);
            match Poly::atom(compound_atom.clone()).eval(&mut value) {
                Some(n) => self.values.push(n.into()),
                None => return SideValues::NoValue,
            }
        }
        self.products.evaluate(&self.values);
        let products = &self.products;
        let known = self.known.iter().map(|p| products.value(p));
        for known in known.chain(self.bounds.iter().map(|b| b.evaluate_scaled(products))) {
            match known {
                Some(n) if n >= 0 => {}
                Some(_) => return SideValues::Impossible,
                None => return SideValues::NoValue,
            }
        }
        match (self.derived.evaluate(products), self.primal.evaluate(products)) {
            (Some(derived), Some(primal)) => SideValues::Values(derived, primal),
            _ => SideValues::NoValue,
        }
    }
}

impl CompiledFormula {
    fn compile(
        formula: &Formula,
        names: &mut AtomNumbering,
        products: &mut ProductTable,
    ) -> Result<Self, IncomparableReason> {
        let terms: Vec<ClaimTerm> = guarded_terms(formula)?;
        let under = terms.iter().try_fold(1, |all, t| lcm(all, t.denominator)).ok_or(IncomparableReason::TooLarge)?;
        let mut piece = |term: &ClaimTerm| {
            let mut at = Vec::new();
            for comparison in &term.guards {
                let (p, holds): (&Poly, SignTest) = match comparison {
                    SignComparison::Ge(p) => (p, |n| n >= 0),
                    SignComparison::Eq(p) => (p, |n| n == 0),
                    SignComparison::Ne(p) => (p, |n| n != 0),
                };
                at.push((products.compile(&names.pack(p)?), holds));
            }
            let value = names.pack(&term.numerator)?.scale(under / term.denominator)?;
            Some(CompiledPiece { tests: at, value: products.compile(&value) })
        };
        let pieces = terms.iter().map(&mut piece).collect::<Option<_>>().ok_or(IncomparableReason::TooLarge)?;
        Ok(Self { under, pieces })
    }

    /// Returns the value, if it is whole.
    fn evaluate(&self, products: &ProductTable) -> Option<i128> {
        let sum = self.evaluate_scaled(products)?;
        (sum % self.under == 0).then(|| sum / self.under)
    }

    /// Returns the value times the denominator.
    fn evaluate_scaled(&self, products: &ProductTable) -> Option<i128> {
        let mut sum = 0_i128;
        for CompiledPiece { tests: at, value } in &self.pieces {
            let mut holds = true;
            for (p, test) in at {
                holds = holds && test(products.value(p)?);
            }
            if holds {
                sum = sum.checked_add(products.value(value)?)?;
            }
        }
        Some(sum)
    }
}
