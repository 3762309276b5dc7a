//! Random questions: a proved factor holds at all sampled sizes, and a refuted ratio grows.

use std::collections::BTreeMap;

use super::{OwnedQuestion, nodes};
use crate::certify::{CertificateVerdict, CostQuestion, Witness, certify};
use crate::count::{Formula, FormulaPiece, Ratio};
use crate::predicate::testing::{atom, poly};
use crate::predicate::{Atom, Poly, Pred};

/// A generator that yields the same numbers in every run.
pub(super) struct LcgRng(pub(super) u64);

impl LcgRng {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % n as u64).unwrap()
    }

    fn number(&mut self, n: usize) -> i128 {
        i128::try_from(self.below(n)).unwrap()
    }

    fn choose<'s>(&mut self, of: &[&'s str]) -> &'s str {
        of[self.below(of.len())]
    }
}

/// Draws a polynomial that is non-negative by the known facts.
fn monomial(draw: &mut LcgRng, names: &[&str], degree: usize) -> Poly {
    let mut product = Poly::constant(1 + draw.number(4));
    for _ in 0..draw.below(degree + 1) {
        let a = poly(draw.choose(names));
        product = product.mul(&match draw.below(12) {
            0 => a.div(&Poly::constant(2 + draw.number(2))).unwrap(),
            1 => a.add_constant(1).rem(&Poly::constant(2 + draw.number(2))).unwrap(),
            2 => a.minimum(&poly(draw.choose(names))),
            3 => a.maximum(&poly(draw.choose(names)).add_constant(1)),
            _ => a,
        });
    }
    product
}

/// Draws a sum of a few monomials, some of them subtracted, and occasionally a triangular number.
fn value(draw: &mut LcgRng, names: &[&str]) -> Ratio {
    let mut sum = monomial(draw, names, 3);
    for _ in 0..draw.below(3) {
        let other = monomial(draw, names, 2);
        sum = if draw.below(6) == 0 { sum.sub(&other) } else { sum.add(&other) };
    }
    if draw.below(4) > 0 {
        return sum.into();
    }
    let n = poly(draw.choose(names));
    let triangle = Ratio::new(n.mul(&n.add_constant(draw.number(2) * 2 - 1)), 2);
    triangle.mul(&monomial(draw, names, 1).into())
}

fn guard(draw: &mut LcgRng, names: &[&str]) -> Pred {
    let mut all = Vec::new();
    for _ in 0..draw.below(3) {
        let (a, b) = (poly(draw.choose(names)), poly(draw.choose(names)));
        all.push(match draw.below(8) {
            0 => Pred::less(&a, &b),
            1 => Pred::equal(&a, &b),
            2 => Pred::nonzero(&a.add_constant(-draw.number(3))),
            3 => Pred::at_most(&a, &Poly::constant(draw.number(4))),
            4 => Pred::any_of([Pred::less(&a, &b), Pred::nonneg(&a.add_constant(-2))]),
            _ => Pred::nonneg(&a.add_constant(-1 - draw.number(2))),
        });
    }
    Pred::all(all)
}

fn formula(draw: &mut LcgRng, names: &[&str], most: usize) -> Formula {
    let pieces = 1 + draw.below(most);
    Formula::from_pieces((0..pieces).map(|_| FormulaPiece { pred: guard(draw, names), value: value(draw, names) }))
}

pub(super) fn random_question(seed: u64) -> OwnedQuestion {
    random_question_over(seed, &["n", "m", "k"], 3)
}

/// Draws a question over some of these sizes, with a limited number of pieces in each formula.
fn random_question_over(seed: u64, sizes: &[&'static str], pieces: usize) -> OwnedQuestion {
    let draw = &mut LcgRng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut names = sizes.to_vec();
    names.truncate(1 + draw.below(sizes.len()));
    let mut known: Vec<Poly> = names.iter().map(|n| poly(n).add_constant(-draw.number(8) / 7)).collect();
    let mut bounds = Vec::new();
    for symbol in ["s", "t"] {
        if draw.below(4) == 0 {
            known.push(poly(symbol));
            let bound = poly(draw.choose(&names));
            match draw.below(3) {
                0 if draw.below(2) == 0 => {
                    let (pred, value) = (guard(draw, &names), monomial(draw, &names, 2));
                    let most = Formula::from_pieces([
                        FormulaPiece { pred, value: value.into() },
                        FormulaPiece { pred: Pred::truth(), value: bound.into() },
                    ]);
                    bounds.push(most.add(&poly(symbol).neg().into()));
                }
                0 => known.push(bound.sub(&poly(symbol))),
                1 => known.push(bound.mul(&poly(draw.choose(&names))).sub(&poly(symbol))),
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
        1 => primal.mul_ratio(&factor).add(&formula(draw, &names, pieces)),
        2 => primal.mul_ratio(&factor).add(&monomial(draw, &names, 1).into()),
        _ => {
            let kept = primal.pieces().iter().filter(|_| draw.below(3) > 0).cloned().collect::<Vec<_>>();
            Formula::from_pieces(kept).mul_ratio(&factor)
        }
    };
    let io = match draw.below(3) {
        0 => Formula::default(),
        _ => names.iter().fold(Poly::constant(draw.number(2)), |sum, n| sum.add(&poly(n))).into(),
    };
    let extra = if draw.below(5) == 0 { monomial(draw, &names, 2).into() } else { Formula::default() };
    OwnedQuestion { known, bounds, primal, derived, io, extra }
}

/// The atoms of the questions: sizes and symbols.
const ATOMS: [&str; 5] = ["n", "m", "k", "s", "t"];

type AtomValues = BTreeMap<Atom, i64>;

/// Evaluates both sides directly from the formulas; `None` if the known facts do not hold.
fn sides(question: &CostQuestion<'_>, values: &AtomValues) -> Option<(i128, i128)> {
    let mut f = |a: &Atom| values.get(a).copied();
    if question.assumptions.iter().any(|p| Ratio::from(p.clone()).eval(&mut f).unwrap() < 0) {
        return None;
    }
    if question.bounds.iter().any(|b| b.eval(&mut f).unwrap() < 0) {
        return None;
    }
    let [primal, derived, io, extra] =
        [question.primal, question.derived, question.io, question.extra].map(|of| of.eval(&mut f).unwrap());
    Some((derived + io, primal + io + extra))
}

/// Returns points of the box from 0 to 7, all of them if there must be at most MAX_SCALAR_WORDS
/// words and integers, and some far beyond.
fn points(draw: &mut LcgRng, names: usize) -> Vec<Vec<i64>> {
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
struct VerdictCounts {
    proved: usize,
    checked: usize,
    refuted: usize,
    unknown: usize,
    nodes: usize,
}

/// Certifies `count` questions, and compares the verdicts with values.
fn certify_and_compare(count: u64, seed: u64) -> VerdictCounts {
    let mut seen = VerdictCounts::default();
    for seed in seed..seed + count {
        let owned_question = random_question(seed);
        let question = owned_question.question();
        let certificate = certify(&question);
        let shown = || format!("seed {seed}: {owned_question:#?}\n{certificate:#?}");
        let draw = &mut LcgRng(seed);
        let mut values: AtomValues = AtomValues::new();
        let mut put = |point: &[i64]| {
            ATOMS.iter().zip(point).for_each(|(name, n)| values.extend([(atom(name), *n)]));
            values.clone()
        };
        match &certificate.verdict {
            CertificateVerdict::Proved { factor, proof, tight_sizes: tight } => {
                seen.proved += 1;
                seen.nodes += nodes(proof);
                let mut atoms =
                    ATOMS.iter().enumerate().filter(|(_, a)| question.assumptions.iter().any(|p| p.mentions(&atom(a))));
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
            CertificateVerdict::Checked { .. } => seen.checked += 1,
            CertificateVerdict::Refuted { witness, .. } => {
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
            CertificateVerdict::Unknown(_) => {
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
fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// With many sizes and pieces, the search and the grid still terminate.
#[test]
#[expect(clippy::disallowed_macros, reason = "what was drawn")]
fn large_questions_end() {
    let sizes = ["n", "m", "k", "a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let mut proved = 0;
    for seed in 0..60 {
        let owned_question = random_question_over(seed, &sizes, 10);
        let certificate = certify(&owned_question.question());
        proved += u32::from(matches!(certificate.verdict, CertificateVerdict::Proved { .. }));
        let unknown = matches!(certificate.verdict, CertificateVerdict::Unknown(_));
        assert!(unknown || certificate.check(&owned_question.question()), "seed {seed}");
    }
    println!("{proved} proved");
    assert!(proved > 5);
}

#[test]
#[expect(clippy::disallowed_macros, reason = "what was drawn")]
fn no_certificate_is_wrong() {
    let count = env_number("IVERSON_COUNT").unwrap_or(2000);
    let seen = certify_and_compare(count, env_number("IVERSON_SEED").unwrap_or(0));
    println!("{seen:?}");
    let share = |n: usize, least: u64| assert!(n as u64 * 100 >= count * least, "{seen:?}");
    share(seen.proved, 20);
    share(seen.refuted, 20);
    assert!(seen.checked * 10 <= seen.proved, "{seen:?}");
}
