//! Proofs with deliberate errors: the checker rejects a changed number, and an accepted proof
//! proves a true claim.

use std::collections::BTreeMap;

use super::random_questions::{LcgRng, random_question};
use crate::certify::proof::{AtomProperty, Claim, ClaimTerm, Combination, Proof, ProofFact, SignComparison};
use crate::certify::{CertificateVerdict, certify, check, claim};
use crate::predicate::testing::atom;
use crate::predicate::{Atom, Poly};

/// Collects all combinations in a proof.
fn combinations<'p>(proof: &'p mut Proof, all: &mut Vec<&'p mut Combination>) {
    match proof {
        Proof::Split(_, sides) => sides.iter_mut().for_each(|p| combinations(p, all)),
        Proof::Decide(decision, rest) => {
            all.extend(&mut decision.combinations);
            combinations(rest, all);
        }
        Proof::Sum(why) | Proof::Contradiction(why) => all.push(why),
    }
}

/// Visits the nodes of a proof in order, and changes the node at position `at`.
fn change_node(proof: &mut Proof, at: &mut usize, f: &mut dyn FnMut(&mut Proof)) {
    if *at == 0 {
        f(proof);
        *at = usize::MAX;
        return;
    }
    *at -= 1;
    match proof {
        Proof::Split(_, sides) => sides.iter_mut().for_each(|p| change_node(p, at, f)),
        Proof::Decide(_, rest) => change_node(rest, at, f),
        Proof::Sum(_) | Proof::Contradiction(_) => {}
    }
}

/// A kind of deliberate error in a proof.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Tampering {
    Coefficient,
    GoalFactor,
    ProductLost,
    FactLost,
    FactAdded,
    FactOther,
    Negative,
    SidesSwapped,
    SplitMoved,
    DecisionFlipped,
    DecisionLost,
    LeafKindChanged,
    SideLost,
}

fn tamper(proof: &mut Proof, draw: &mut LcgRng) -> Option<Tampering> {
    let nodes = super::nodes(proof);
    if draw.below(3) > 0 {
        let mut all = Vec::new();
        combinations(proof, &mut all);
        let which = draw.below(all.len());
        let Combination { goal_factor: by, products: parts } = &mut *all[which];
        if parts.is_empty() || draw.below(10) == 0 {
            *by += 1;
            return (!parts.is_empty()).then_some(Tampering::GoalFactor);
        }
        let which = draw.below(parts.len());
        let part = &mut parts[which];
        return Some(match draw.below(6) {
            0 => {
                part.0 += 1;
                Tampering::Coefficient
            }
            1 => {
                parts.remove(which);
                Tampering::ProductLost
            }
            2 if !part.1.is_empty() => {
                part.1.pop();
                Tampering::FactLost
            }
            3 => {
                part.1.push(ProofFact::Assumption(0));
                Tampering::FactAdded
            }
            4 if !part.1.is_empty() => {
                let which = draw.below(part.1.len());
                part.1[which] = match &part.1[which] {
                    ProofFact::Assumption(k) => ProofFact::Assumption(k + 1),
                    ProofFact::BoundSum(k) => ProofFact::Assumption(*k),
                    ProofFact::SplitSide(k) => ProofFact::SplitSide(if *k > 0 { k - 1 } else { 1 }),
                    ProofFact::Property(a, AtomProperty::First) => ProofFact::Property(a.clone(), AtomProperty::Second),
                    ProofFact::Property(a, _) => ProofFact::Property(a.clone(), AtomProperty::First),
                };
                Tampering::FactOther
            }
            _ => {
                part.0 = -part.0;
                Tampering::Negative
            }
        });
    }
    let mut done = None;
    let (kind, mut at) = (draw.below(3), draw.below(nodes));
    change_node(proof, &mut at, &mut |proof| {
        done = Some(match proof {
            Proof::Split(p, sides) => match kind {
                0 => {
                    sides.reverse();
                    Tampering::SidesSwapped
                }
                1 => {
                    *p = p.add_constant(1);
                    Tampering::SplitMoved
                }
                _ => {
                    *proof = sides[0].clone();
                    Tampering::SideLost
                }
            },
            Proof::Decide(decision, rest) => {
                if kind == 0 {
                    *proof = (**rest).clone();
                    Tampering::DecisionLost
                } else {
                    decision.holds = !decision.holds;
                    Tampering::DecisionFlipped
                }
            }
            Proof::Sum(why) => {
                *proof = Proof::Contradiction(why.clone());
                Tampering::LeafKindChanged
            }
            Proof::Contradiction(why) => {
                *proof = Proof::Sum(why.clone());
                Tampering::LeafKindChanged
            }
        });
    });
    done
}

/// Changes the claim: weakens an assumption, strengthens the goal, or changes a guard.
fn change_claim(claim: &mut Claim, draw: &mut LcgRng) {
    match draw.below(4) {
        0 => {
            let k = draw.below(claim.assumptions.len());
            claim.assumptions[k] = claim.assumptions[k].add_constant(1);
        }
        1 if !claim.sum.is_empty() => {
            let k = draw.below(claim.sum.len());
            let term = &mut claim.sum[k];
            let monomials: Vec<Poly> = term.numerator.terms().iter().map(|(m, _)| Poly::term(m.clone(), 1)).collect();
            term.numerator = term.numerator.sub(&monomials[draw.below(monomials.len())]);
        }
        2 if claim.sum.iter().any(|t| !t.guards.is_empty()) => {
            let term = claim.sum.iter_mut().find(|t| !t.guards.is_empty()).unwrap();
            let k = draw.below(term.guards.len());
            term.guards[k] = match &term.guards[k] {
                SignComparison::Ge(p) => SignComparison::Ge(p.add_constant(-1)),
                SignComparison::Eq(p) => SignComparison::Ne(p.clone()),
                SignComparison::Ne(p) => SignComparison::Eq(p.clone()),
            };
        }
        _ => {
            if let Some(term) = claim.sum.iter_mut().find(|t| !t.guards.is_empty()) {
                term.guards.pop();
            }
        }
    }
}

/// Whether the claim holds at small integers.
fn holds(claim: &Claim, draw: &mut LcgRng) -> bool {
    (0..80).all(|_| {
        let values: BTreeMap<Atom, i64> = ["n", "m", "k", "s", "t"]
            .map(|name| (atom(name), i64::try_from(draw.below(9)).unwrap() - 2))
            .into_iter()
            .collect();
        let mut f = |a: &Atom| values.get(a).copied();
        if claim.assumptions.iter().any(|p| p.eval(&mut f).unwrap() < 0) {
            return true;
        }
        let mut sum = |terms: &[ClaimTerm]| {
            let under: i128 = terms.iter().map(|t| t.denominator).product();
            let mut sum = 0;
            for term in terms {
                let counts = term.guards.iter().all(|c| match c {
                    SignComparison::Ge(p) => p.eval(&mut f).unwrap() >= 0,
                    SignComparison::Eq(p) => p.eval(&mut f).unwrap() == 0,
                    SignComparison::Ne(p) => p.eval(&mut f).unwrap() != 0,
                });
                if counts {
                    sum += i128::from(term.numerator.eval(&mut f).unwrap()) * (under / term.denominator);
                }
            }
            sum
        };
        claim.bounds.iter().any(|b| sum(b) < 0) || sum(&claim.sum) >= 0
    })
}

#[test]
#[expect(clippy::disallowed_macros, reason = "what was tampered with")]
fn no_wrong_proof_is_accepted() {
    let (mut rejected, mut accepted) = (BTreeMap::<Tampering, u32>::new(), BTreeMap::<Tampering, u32>::new());
    let (mut others, mut still) = (0, 0);
    for seed in 0..500 {
        let owned_question = random_question(seed);
        let question = owned_question.question();
        let CertificateVerdict::Proved { factor, proof, tight_sizes: tight } = certify(&question).verdict else {
            continue;
        };
        let right = claim(&question, factor).unwrap();
        assert!(check(&right, &proof));
        let draw = &mut LcgRng(seed);
        let less = tight.map(|_| claim(&question, factor - 1).unwrap());
        assert!(less.iter().all(|less| !check(less, &proof)), "seed {seed}");
        for _ in 0..12 {
            let mut wrong = proof.clone();
            let Some(done) = tamper(&mut wrong, draw) else { continue };
            // A proof with an error is never accepted for a smaller factor.
            assert!(less.iter().all(|less| !check(less, &wrong)), "seed {seed}");
            if wrong == proof {
                continue;
            }
            if !check(&right, &wrong) {
                *rejected.entry(done).or_default() += 1;
                continue;
            }
            *accepted.entry(done).or_default() += 1;
            let numbers = [Tampering::Coefficient, Tampering::GoalFactor, Tampering::ProductLost, Tampering::Negative];
            assert!(!numbers.contains(&done), "seed {seed}: {done:?} in {wrong:#?}");
        }
        for _ in 0..6 {
            let mut about = right.clone();
            change_claim(&mut about, draw);
            let mut proof = proof.clone();
            if draw.below(2) == 0 {
                tamper(&mut proof, draw);
            }
            others += 1;
            if check(&about, &proof) {
                still += 1;
                assert!(holds(&about, draw), "seed {seed}: {about:#?} {proof:#?}");
            }
        }
    }
    println!("rejected {rejected:?}, accepted {accepted:?}; of {others} others still {still}");
    assert!(rejected.len() > 11, "{rejected:?}");
    assert!(rejected.values().all(|n| *n > 5), "{rejected:?}");
}
