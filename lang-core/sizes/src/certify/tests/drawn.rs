//! Random questions: a proved factor holds at all sampled sizes, and a refuted ratio grows.

use std::collections::BTreeMap;

use super::{Asked, nodes};
use crate::certify::{Question, Verdict, Witness, certify};
use crate::count::{Formula, Piece, Ratio};
use crate::predicate::testing::{atom, poly};
use crate::predicate::{Atom, Poly, Pred};

/// A generator that yields the same numbers in every run.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % n as u64).unwrap()
    }

    fn number(&mut self, n: usize) -> i128 {
        i128::try_from(self.below(n)).unwrap()
    }

    fn one_of<'s>(&mut self, of: &[&'s str]) -> &'s str {
        of[self.below(of.len())]
    }
}

/// Draws a polynomial that is non-negative by the known facts.
fn monomial(draw: &mut Draw, names: &[&str], degree: usize) -> Poly {
    let mut product = Poly::constant(1 + draw.number(4));
    for _ in 0..draw.below(degree + 1) {
        let a = poly(draw.one_of(names));
        product = product.mul(&match draw.below(12) {
            0 => a.div(&Poly::constant(2 + draw.number(2))).unwrap(),
            1 => a.plus(1).rem(&Poly::constant(2 + draw.number(2))).unwrap(),
            2 => a.least(&poly(draw.one_of(names))),
            3 => a.greatest(&poly(draw.one_of(names)).plus(1)),
            _ => a,
        });
    }
    product
}

/// Draws a sum of a few monomials, some of them subtracted, and occasionally a triangular number.
fn value(draw: &mut Draw, names: &[&str]) -> Ratio {
    let mut sum = monomial(draw, names, 3);
    for _ in 0..draw.below(3) {
        let other = monomial(draw, names, 2);
        sum = if draw.below(6) == 0 { sum.sub(&other) } else { sum.add(&other) };
    }
    if draw.below(4) > 0 {
        return sum.into();
    }
    let n = poly(draw.one_of(names));
    let triangle = Ratio::over(n.mul(&n.plus(draw.number(2) * 2 - 1)), 2);
    triangle.mul(&monomial(draw, names, 1).into())
}

fn guard(draw: &mut Draw, names: &[&str]) -> Pred {
    let mut all = Vec::new();
    for _ in 0..draw.below(3) {
        let (a, b) = (poly(draw.one_of(names)), poly(draw.one_of(names)));
        all.push(match draw.below(8) {
            0 => Pred::less(&a, &b),
            1 => Pred::equal(&a, &b),
            2 => Pred::nonzero(&a.plus(-draw.number(3))),
            3 => Pred::at_most(&a, &Poly::constant(draw.number(4))),
            4 => Pred::any_of([Pred::less(&a, &b), Pred::nonneg(&a.plus(-2))]),
            _ => Pred::nonneg(&a.plus(-1 - draw.number(2))),
        });
    }
    Pred::all(all)
}

fn formula(draw: &mut Draw, names: &[&str], most: usize) -> Formula {
    let pieces = 1 + draw.below(most);
    Formula::of((0..pieces).map(|_| Piece { pred: guard(draw, names), value: value(draw, names) }))
}

pub(super) fn drawn(seed: u64) -> Asked {
    of_sizes(seed, &["n", "m", "k"], 3)
}

/// Draws a question over some of these sizes, with a limited number of pieces in each formula.
fn of_sizes(seed: u64, sizes: &[&'static str], pieces: usize) -> Asked {
    let draw = &mut Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut names = sizes.to_vec();
    names.truncate(1 + draw.below(sizes.len()));
    let mut known: Vec<Poly> = names.iter().map(|n| poly(n).plus(-draw.number(8) / 7)).collect();
    let mut bounds = Vec::new();
    for symbol in ["s", "t"] {
        if draw.below(4) == 0 {
            known.push(poly(symbol));
            let bound = poly(draw.one_of(&names));
            match draw.below(3) {
                0 if draw.below(2) == 0 => {
                    let (pred, value) = (guard(draw, &names), monomial(draw, &names, 2));
                    let most = Formula::of([
                        Piece { pred, value: value.into() },
                        Piece { pred: Pred::truth(), value: bound.into() },
                    ]);
                    bounds.push(most.add(&poly(symbol).neg().into()));
                }
                0 => known.push(bound.sub(&poly(symbol))),
                1 => known.push(bound.mul(&poly(draw.one_of(&names))).sub(&poly(symbol))),
                _ => {}
            }
            names.push(symbol);
        }
    }
    let primal = formula(draw, &names, pieces);
    // Usually similar to the function.
    let factor = Ratio::constant(1 + draw.number(4));
    let derived = match draw.below(4) {
        0 => formula(draw, &names, pieces),
        1 => primal.times(&factor).add(&formula(draw, &names, pieces)),
        2 => primal.times(&factor).add(&monomial(draw, &names, 1).into()),
        _ => {
            let kept = primal.pieces().iter().filter(|_| draw.below(3) > 0).cloned().collect::<Vec<_>>();
            Formula::of(kept).times(&factor)
        }
    };
    let io = match draw.below(3) {
        0 => Formula::default(),
        _ => names.iter().fold(Poly::constant(draw.number(2)), |sum, n| sum.add(&poly(n))).into(),
    };
    let extra = if draw.below(5) == 0 { monomial(draw, &names, 2).into() } else { Formula::default() };
    Asked { known, bounds, primal, derived, io, extra }
}

/// The atoms of the questions: sizes and symbols.
const ATOMS: [&str; 5] = ["n", "m", "k", "s", "t"];

type Values = BTreeMap<Atom, i64>;

/// Evaluates both sides directly from the formulas; `None` if the known facts do not hold.
fn sides(question: &Question<'_>, values: &Values) -> Option<(i128, i128)> {
    let mut f = |a: &Atom| values.get(a).copied();
    if question.known.iter().any(|p| Ratio::from(p.clone()).eval(&mut f).unwrap() < 0) {
        return None;
    }
    if question.bounds.iter().any(|b| b.eval(&mut f).unwrap() < 0) {
        return None;
    }
    let [primal, derived, io, extra] =
        [question.primal, question.derived, question.io, question.extra].map(|of| of.eval(&mut f).unwrap());
    Some((derived + io, primal + io + extra))
}

/// Returns points of the box from 0 to 7, all of them if they are few, and some far beyond.
fn points(draw: &mut Draw, names: usize) -> Vec<Vec<i64>> {
    let mut all: Vec<Vec<i64>> = match names {
        0..=2 => (0..64).map(|k| vec![k / 8, k % 8]).collect(),
        _ => (0..160).map(|_| (0..names).map(|_| i64::try_from(draw.below(8)).unwrap()).collect()).collect(),
    };
    for far in [20, 100, 3000] {
        all.extend((0..12).map(|_| {
            (0..names)
                .map(|_| i64::try_from(if draw.below(4) == 0 { draw.below(4) } else { draw.below(far) }).unwrap())
                .collect()
        }));
    }
    all
}

#[derive(Default, Debug)]
struct Seen {
    proved: usize,
    checked: usize,
    refuted: usize,
    unknown: usize,
    nodes: usize,
}

/// Certifies `count` questions, and compares the verdicts with values.
fn look(count: u64, seed: u64) -> Seen {
    let mut seen = Seen::default();
    for seed in seed..seed + count {
        let asked = drawn(seed);
        let question = asked.question();
        let certificate = certify(&question);
        let shown = || format!("seed {seed}: {asked:#?}\n{certificate:#?}");
        let draw = &mut Draw(seed);
        let mut values: Values = Values::new();
        let mut put = |point: &[i64]| {
            ATOMS.iter().zip(point).for_each(|(name, n)| values.extend([(atom(name), *n)]));
            values.clone()
        };
        match &certificate.verdict {
            Verdict::Proved { factor, proof, tight } => {
                seen.proved += 1;
                seen.nodes += nodes(proof);
                let mut atoms =
                    ATOMS.iter().enumerate().filter(|(_, a)| question.known.iter().any(|p| p.mentions(&atom(a))));
                // The drawn names are the first ones, or a symbol follows.
                let last = atoms.next_back().map_or(0, |(k, _)| k + 1);
                put(&[0; 5]);
                for point in points(draw, last) {
                    if let Some((derived, primal)) = sides(&question, &put(&point)) {
                        assert!(
                            derived <= factor * primal,
                            "{derived} > {factor} * {primal} at {point:?}, {}",
                            shown()
                        );
                    }
                }
                if let Some(tight) = tight {
                    let (derived, primal) = sides(&question, &tight.iter().cloned().collect()).unwrap();
                    assert!(derived > (factor - 1) * primal, "{}", shown());
                }
            }
            Verdict::Checked { .. } => seen.checked += 1,
            Verdict::Refuted { witness, .. } => {
                seen.refuted += 1;
                for w in witness {
                    let values = w.sizes.iter().cloned().collect();
                    assert_eq!(sides(&question, &values), Some((w.derived, w.primal)), "{}", shown());
                }
                let ratio = |w: &Witness| w.derived as f64 / w.primal as f64;
                match witness.as_slice() {
                    [one] => assert!(one.primal == 0 && one.derived > 0, "{}", shown()),
                    // At the first sizes another term may still dominate a slowly growing one.
                    [one, .., last] => {
                        assert!(witness.is_sorted_by(|v, w| ratio(v) < ratio(w)), "{}", shown());
                        assert!(ratio(last) > 2.0 * ratio(one), "{}", shown());
                    }
                    [] => panic!("{}", shown()),
                }
            }
            Verdict::Unknown(_) => {
                seen.unknown += 1;
                continue;
            }
        }
        assert!(certificate.check(&question), "{}", shown());
    }
    seen
}

/// Reads an environment variable that longer test runs set.
#[expect(clippy::disallowed_methods, reason = "soaks say how often")]
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// With many sizes and pieces, the search and the grid still terminate.
#[test]
#[expect(clippy::disallowed_macros, reason = "what was drawn")]
fn large_questions_end() {
    let sizes = ["n", "m", "k", "a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let mut proved = 0;
    for seed in 0..60 {
        let asked = of_sizes(seed, &sizes, 10);
        let certificate = certify(&asked.question());
        proved += u32::from(matches!(certificate.verdict, Verdict::Proved { .. }));
        let unknown = matches!(certificate.verdict, Verdict::Unknown(_));
        assert!(unknown || certificate.check(&asked.question()), "seed {seed}");
    }
    println!("{proved} proved");
    assert!(proved > 5);
}

#[test]
#[expect(clippy::disallowed_macros, reason = "what was drawn")]
fn no_certificate_is_wrong() {
    let count = variable("IVERSON_COUNT").unwrap_or(2000);
    let seen = look(count, variable("IVERSON_SEED").unwrap_or(0));
    println!("{seen:?}");
    let share = |n: usize, least: u64| assert!(n as u64 * 100 >= count * least, "{seen:?}");
    share(seen.proved, 20);
    share(seen.refuted, 20);
    assert!(seen.checked * 10 <= seen.proved, "{seen:?}");
}
