//! **Unbounded growth.** Refutes a question along a ray of sizes, on which each atom is a multiple
//! of a power of `t`, or a constant. From some `t` on, both sides are polynomials in `t`. No factor
//! suffices if the derivative's has the larger degree.

use super::claim::{both_sides, guarded_terms};
use super::grid::{CompiledQuestion, SideValues, basic_atoms};
use super::packed::lcm;
use super::proof::{ClaimTerm, SignComparison};
use super::{CostQuestion, SizeAssignment, Witness, simplex};
use crate::count::{Formula, Ratio};
use crate::predicate::poly::Monomial;
use crate::predicate::{Atom, LocalId, Poly};

/// The largest number of rays tried.
const MAX_RAYS: usize = 1500;

/// The first `t` of a witness, and the factor between successive ones.
const FIRST_T: i64 = 8;

/// The budget of the simplex method.
const MAX_SIMPLEX_STEPS: usize = 100_000;

/// The number of witnesses.
const WITNESSES: usize = 3;

/// The greatest power of `t` tried.
const MAX_POWER: i128 = 6;

/// A ray: for each atom, a coefficient and a power of `t`.
#[derive(Clone, PartialEq, Eq)]
struct Ray(Vec<(i64, u32)>);

impl Ray {
    fn at(&self, t: i64) -> Option<Vec<i64>> {
        self.0.iter().map(|(times, power)| t.checked_pow(*power)?.checked_mul(*times)).collect()
    }
}

/// If no factor suffices, returns sizes at which the ratio grows, and the term of the derivative
/// that causes the growth.
pub(super) fn refute(question: &CostQuestion<'_>) -> Option<(Vec<Witness>, Poly)> {
    let atoms = basic_atoms(question);
    let mut sides = CompiledQuestion::compile(question, &atoms).ok()?;
    rays(&growth_directions(question, &atoms)).into_iter().find_map(|ray| {
        check_growth(&mut sides, &ray)?;
        let term = RaySubstitution::new(&atoms, &ray, question)?.outgrowing_term(question)?;
        Some((witnesses(&mut sides, &atoms, &ray)?, term))
    })
}

/// Returns powers of `t` along which the ratio may grow. The first are directions in which one term
/// of the derivative outgrows all terms of the function, if all terms count. Such a term is a
/// vertex of the Newton polytope, and the simplex method finds the direction. Small powers follow.
fn growth_directions(question: &CostQuestion<'_>, atoms: &[Atom]) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![vec![1; atoms.len()]];
    let (more, less) = both_sides(question);
    let mut found = outgrowing_directions(&more, &less, question, atoms);
    all.append(&mut found);
    if atoms.len() <= 4 {
        let mut small = vec![Vec::new()];
        for _ in atoms {
            let more = |p: &Vec<u32>| (0..3).map(|k| p.iter().copied().chain([k]).collect()).collect::<Vec<_>>();
            small = small.iter().flat_map(more).collect();
        }
        small.sort_by_key(|p: &Vec<u32>| (p.iter().max().copied(), p.iter().sum::<u32>()));
        all.append(&mut small);
    } else {
        for other in 0..atoms.len() {
            all.extend([true, false].map(|grows| (0..atoms.len()).map(|k| u32::from((k == other) == grows)).collect()));
        }
    }
    all.retain(|p| p.iter().any(|k| *k > 0));
    all
}

fn outgrowing_directions(more: &Formula, less: &Formula, question: &CostQuestion<'_>, atoms: &[Atom]) -> Vec<Vec<u32>> {
    let terms = |of: &Formula| -> Vec<Vec<i128>> {
        let polys = of.pieces().iter().map(|p| p.value.as_fraction().0);
        let mut all: Vec<_> = polys.flat_map(|p| p.terms().iter().map(|(m, _)| exponents(m, atoms))).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let minus = |a: &[i128], b: &[i128]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>();
    // A bound such as `s <= n * m` limits the power of `s` to the sum of the powers of `n` and `m`.
    let known = question.assumptions.iter().map(|p| vec![p]);
    let of_bounds = |b: &'_ Formula| b.pieces().iter().map(|p| p.value.as_fraction().0.clone()).collect::<Vec<_>>();
    let of_bounds: Vec<Vec<Poly>> = question.bounds.iter().map(of_bounds).collect();
    let mut bounds = Vec::new();
    for polys in known.chain(of_bounds.iter().map(|b| b.iter().collect())) {
        let terms = || polys.iter().flat_map(|p| p.terms());
        let more = terms().filter(|(_, c)| *c > 0).max_by_key(|(m, _)| m.iter().map(|(_, k)| *k).sum::<u32>());
        let Some((m, _)) = more else { continue };
        let less = terms().filter(|(m, c)| *c < 0 && !m.is_empty());
        bounds.extend(less.map(|(n, _)| (0, minus(&exponents(m, atoms), &exponents(n, atoms)))));
    }
    let primal = terms(more);
    let mut left = MAX_SIMPLEX_STEPS;
    let mut all = Vec::new();
    for term in terms(less).iter().filter(|t| !primal.contains(t)) {
        let rows = primal.iter().map(|other| (-1, minus(term, other))).chain(bounds.iter().cloned()).collect();
        let Some(found) = simplex::solve(atoms.len(), rows, &mut left) else { continue };
        let whole = || {
            let by = found.iter().try_fold(1, |by, (_, under)| lcm(by, *under))?;
            let power = |(over, under): &(i128, i128)| {
                let power = over.checked_mul(by / under).filter(|k| *k <= MAX_POWER)?;
                u32::try_from(power).ok()
            };
            found.iter().map(power).collect::<Option<Vec<u32>>>()
        };
        all.extend(whole().filter(|powers| !all.contains(powers)).into_iter().collect::<Vec<_>>());
    }
    all
}

/// Returns the powers of the atoms in a monomial. A quotient counts as its dividend, and a minimum
/// or maximum as its first operand, as far as these are powers.
fn exponents(m: &Monomial, atoms: &[Atom]) -> Vec<i128> {
    let mut all = vec![0; atoms.len()];
    for (atom, power) in m {
        let mut of = atom;
        while let Atom::Div(p, _) | Atom::Min(p, _) | Atom::Max(p, _) = of {
            let Some((inner, _)) = p.terms().iter().flat_map(|(m, _)| m).next() else { break };
            of = inner;
        }
        if let Some(slot) = atoms.iter().position(|a| a == of).and_then(|k| all.get_mut(k)) {
            *slot += i128::from(*power);
        }
    }
    all
}

/// Returns rays of these powers: with equal coefficients, and with different ones, because
/// comparisons may require them.
fn rays(powers: &[Vec<u32>]) -> Vec<Ray> {
    let mut all: Vec<Ray> = Vec::new();
    let atoms = powers.first().map_or(0, Vec::len);
    let count = i64::try_from(atoms).unwrap_or(0);
    let up: Vec<i64> = (1..=count).collect();
    let down: Vec<i64> = (1..=count).rev().collect();
    let mut factors =
        vec![(vec![1; atoms], 0), (vec![2; atoms], 0), (vec![1; atoms], 1), (up.clone(), 0), (down.clone(), 0)];
    factors.extend([(up, 1), (down, 1)]);
    factors.extend((0..atoms).map(|one| ((0..atoms).map(|k| if k == one { 2 } else { 1 }).collect(), 0)));
    // Constants may be less by one.
    for (factors, less) in factors {
        for powers in powers {
            let of = |(times, power): (&i64, &u32)| (if *power == 0 { times - less } else { *times }, *power);
            let ray = Ray(factors.iter().zip(powers).map(of).collect());
            if all.len() < MAX_RAYS {
                all.push(ray);
            }
        }
    }
    all
}

/// Tests whether the ratio grows between two sizes.
fn check_growth(sides: &mut CompiledQuestion, ray: &Ray) -> Option<()> {
    let mut value = |t| match sides.evaluate(&ray.at(t)?) {
        SideValues::Values(derived, primal) if derived > 0 && primal > 0 => Some((derived, primal)),
        _ => None,
    };
    let (near, far) = (value(1 << 6)?, value(1 << 9)?);
    let grown = far.0.checked_mul(near.1)? / near.0.checked_mul(far.1)?.max(1);
    (grown >= 2).then_some(())
}

fn witnesses(sides: &mut CompiledQuestion, atoms: &[Atom], ray: &Ray) -> Option<Vec<Witness>> {
    let mut found: Vec<Witness> = Vec::new();
    let mut t = FIRST_T;
    while found.len() < WITNESSES {
        let point = ray.at(t)?;
        if let SideValues::Values(derived, primal) = sides.evaluate(&point) {
            let sizes = atoms.iter().cloned().zip(point).collect();
            let witness = Witness { sizes, derived, primal };
            // At smaller sizes the growth may not be visible yet.
            if found.last().is_some_and(|last| !is_ratio_less(last, &witness)) {
                found.clear();
            }
            found.push(witness);
        }
        t = t.checked_mul(FIRST_T)?;
    }
    Some(found)
}

/// Whether the first ratio is less than the second.
fn is_ratio_less(one: &Witness, other: &Witness) -> bool {
    let products = one.derived.checked_mul(other.primal).zip(other.derived.checked_mul(one.primal));
    products.is_some_and(|(a, b)| a < b)
}

/// Returns the values of both sides at sizes, if these are possible.
pub(super) fn witness(question: &CostQuestion<'_>, sizes: &SizeAssignment) -> Option<Witness> {
    let (atoms, point): (Vec<Atom>, Vec<i64>) = sizes.iter().cloned().unzip();
    match CompiledQuestion::compile(question, &atoms).ok()?.evaluate(&point) {
        SideValues::Values(derived, primal) => Some(Witness { sizes: sizes.clone(), derived, primal }),
        _ => None,
    }
}

/// Returns whether the witnesses are correct and grow.
pub(super) fn do_witnesses_grow(question: &CostQuestion<'_>, witnesses: &[Witness]) -> bool {
    let right = witnesses.iter().all(|w| witness(question, &w.sizes).as_ref() == Some(w));
    right
        && match witnesses {
            [one] => one.primal == 0 && one.derived > 0,
            [_, _, ..] => witnesses.iter().zip(witnesses.iter().skip(1)).all(|(a, b)| is_ratio_less(a, b)),
            [] => false,
        }
}

/// Returns the term of the derivative with the largest value at some sizes.
pub(super) fn largest_term(question: &CostQuestion<'_>, sizes: &SizeAssignment) -> Option<Poly> {
    let mut size = |a: &Atom| sizes.iter().find(|(b, _)| b == a).map(|(_, n)| *n);
    let mut value = |p: &Poly| Ratio::from(p.clone()).eval(&mut size);
    let mut best: Option<(i128, Poly)> = None;
    for term in guarded_terms(question.derived).ok()? {
        let mut counts = true;
        for comparison in &term.guards {
            counts = counts
                && match comparison {
                    SignComparison::Ge(p) => value(p)? >= 0,
                    SignComparison::Eq(p) => value(p)? == 0,
                    SignComparison::Ne(p) => value(p)? != 0,
                };
        }
        for (monomial, c) in term.numerator.terms().iter().filter(|_| counts) {
            let one = Poly::term(monomial.clone(), *c);
            let value = value(&one)?;
            if best.as_ref().is_none_or(|(most, _)| value > *most) {
                best = Some((value, display_term(monomial, *c, term.denominator)));
            }
        }
    }
    best.map(|(_, term)| term)
}

/// Returns a term for display: its coefficient is rounded, and at least 1.
fn display_term(monomial: &Monomial, c: i128, under: i128) -> Poly {
    Poly::term(monomial.clone(), (c / under).max(1))
}

/// The substitution of a ray in polynomials.
struct RaySubstitution<'r> {
    atoms: &'r [Atom],
    ray: &'r Ray,
    /// The factor from the unknown to `t`, chosen so that quotients are exact.
    unknown_scale: i128,
    unknown: Atom,
}

impl<'r> RaySubstitution<'r> {
    fn new(atoms: &'r [Atom], ray: &'r Ray, question: &CostQuestion<'_>) -> Option<Self> {
        let mut by = Some(1);
        let mut divisors = |p: &Poly| {
            p.for_each_atom(&mut |a| {
                if let Atom::Div(_, q) | Atom::Mod(_, q) = a {
                    let q = q.as_constant().filter(|q| *q > 0);
                    by = by.zip(q).and_then(|(by, q)| lcm(by, q));
                }
            });
        };
        let (more, less) = both_sides(question);
        for piece in question.bounds.iter().chain([&more, &less]).flat_map(Formula::pieces) {
            divisors(piece.value.as_fraction().0);
            piece.pred.visit(&mut divisors, &mut |_| {});
        }
        question.assumptions.iter().for_each(&mut divisors);
        Some(Self { atoms, ray, unknown_scale: by?, unknown: Atom::Local(LocalId(0), "t".into()) })
    }

    /// Returns the term by which the derivative outgrows the function.
    fn outgrowing_term(&self, question: &CostQuestion<'_>) -> Option<Poly> {
        for p in question.assumptions {
            (leading_sign(&self.substitute_ray(p)?) >= 0).then_some(())?;
        }
        for bound in question.bounds {
            let (sum, _) = self.sum(&guarded_terms(bound).ok()?)?;
            (leading_sign(&sum) >= 0).then_some(())?;
        }
        let (more, less) = both_sides(question);
        let (primal, _) = self.sum(&guarded_terms(&more).ok()?)?;
        let (derived, _) = self.sum(&guarded_terms(&less).ok()?)?;
        (derived.len() > primal.len() && leading_sign(&derived) > 0).then_some(())?;
        // If terms cancel, no single term has the degree of the sum. The largest term is returned
        // all the same.
        self.sum(&guarded_terms(question.derived).ok()?)?.1
    }

    /// Returns the sum of the terms that count from some `t` on, times a positive number, and the
    /// term that grows most.
    fn sum(&self, terms: &[ClaimTerm]) -> Option<(Vec<i128>, Option<Poly>)> {
        let under = terms.iter().try_fold(1, |all, t| lcm(all, t.denominator))?;
        let mut sum = Vec::new();
        let mut largest: Option<((usize, i128), Poly)> = None;
        for term in terms {
            let mut counts = true;
            for comparison in &term.guards {
                counts = counts
                    && match comparison {
                        SignComparison::Ge(p) => leading_sign(&self.substitute_ray(p)?) >= 0,
                        SignComparison::Eq(p) => leading_sign(&self.substitute_ray(p)?) == 0,
                        SignComparison::Ne(p) => leading_sign(&self.substitute_ray(p)?) != 0,
                    };
            }
            if !counts {
                continue;
            }
            let scale = under / term.denominator;
            sum = add_scaled(&sum, &self.substitute_ray(&term.numerator)?, scale)?;
            for (monomial, c) in term.numerator.terms() {
                let grown = self.substitute_ray(&Poly::term(monomial.clone(), *c))?;
                let key = (grown.len(), grown.last().copied().unwrap_or(0).checked_mul(scale)?);
                if *c > 0 && largest.as_ref().is_none_or(|(most, _)| key > *most) {
                    largest = Some((key, display_term(monomial, *c, term.denominator)));
                }
            }
        }
        Some((sum, largest.map(|(_, term)| term)))
    }

    /// Returns the coefficients of the powers of the unknown from 0 on. The last one is not 0.
    fn substitute_ray(&self, p: &Poly) -> Option<Vec<i128>> {
        let put = |a: &Atom| {
            let k = self.atoms.iter().position(|b| b == a)?;
            let (times, power) = *self.ray.0.get(k)?;
            let t = Poly::atom(self.unknown.clone()).scale(self.unknown_scale);
            Some(if power == 0 { Poly::constant(times.into()) } else { t.pow(power).scale(times.into()) })
        };
        self.coefficients(&p.substitute(&put))
    }

    fn coefficients(&self, p: &Poly) -> Option<Vec<i128>> {
        let mut sum = Vec::new();
        for (monomial, c) in p.terms() {
            let mut product = vec![*c];
            for (atom, power) in monomial {
                let factor = match atom {
                    a if *a == self.unknown => vec![0, 1],
                    Atom::Min(p, q) | Atom::Max(p, q) => {
                        let (p, q) = (self.coefficients(p)?, self.coefficients(q)?);
                        let first = leading_sign(&add_scaled(&p, &q, -1)?) < 0;
                        if first == matches!(atom, Atom::Min(..)) { p } else { q }
                    }
                    _ => return None,
                };
                for _ in 0..*power {
                    product = multiply(&product, &factor)?;
                }
            }
            sum = add_scaled(&sum, &product, 1)?;
        }
        Some(sum)
    }
}

/// Returns the sign from some value of the unknown on.
fn leading_sign(p: &[i128]) -> i128 {
    p.last().map_or(0, |c| c.signum())
}

fn add_scaled(a: &[i128], b: &[i128], by: i128) -> Option<Vec<i128>> {
    let at = |p: &[i128], k: usize| p.get(k).copied().unwrap_or(0);
    let sum = (0..a.len().max(b.len())).map(|k| at(a, k).checked_add(at(b, k).checked_mul(by)?));
    let mut sum: Vec<i128> = sum.collect::<Option<_>>()?;
    while sum.last() == Some(&0) {
        sum.pop();
    }
    Some(sum)
}

fn multiply(a: &[i128], b: &[i128]) -> Option<Vec<i128>> {
    let mut product: Vec<i128> = vec![0; (a.len() + b.len()).saturating_sub(1)];
    for (j, x) in a.iter().enumerate() {
        for (k, y) in b.iter().enumerate() {
            let slot = product.get_mut(j + k)?;
            *slot = slot.checked_add(x.checked_mul(*y)?)?;
        }
    }
    while product.last() == Some(&0) {
        product.pop();
    }
    Some(product)
}
