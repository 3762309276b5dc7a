//! Proofs with deliberate errors: the checker rejects a changed number, and an accepted proof
//! proves a true claim.

use std::collections::BTreeMap;

use super::drawn::{Draw, drawn};
use crate::certify::proof::{Claim, Combination, Comparison, Fact, Made, Proof, Term};
use crate::certify::{Verdict, certify, check, claim};
use crate::predicate::testing::atom;
use crate::predicate::{Atom, Poly};

/// Collects all combinations in a proof.
fn combinations<'p>(proof: &'p mut Proof, all: &mut Vec<&'p mut Combination>) {
    match proof {
        Proof::Split(_, sides) => sides.iter_mut().for_each(|p| combinations(p, all)),
        Proof::Told(told, rest) => {
            all.extend(&mut told.why);
            combinations(rest, all);
        }
        Proof::Sum(why) | Proof::Contradiction(why) => all.push(why),
    }
}

/// Visits the nodes of a proof in order, and changes the node at position `at`.
fn change(proof: &mut Proof, at: &mut usize, f: &mut dyn FnMut(&mut Proof)) {
    if *at == 0 {
        f(proof);
        *at = usize::MAX;
        return;
    }
    *at -= 1;
    match proof {
        Proof::Split(_, sides) => sides.iter_mut().for_each(|p| change(p, at, f)),
        Proof::Told(_, rest) => change(rest, at, f),
        Proof::Sum(_) | Proof::Contradiction(_) => {}
    }
}

/// The kind of change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Done {
    Coefficient,
    By,
    PartLost,
    FactLost,
    FactAdded,
    FactOther,
    Negative,
    Swapped,
    Moved,
    Flipped,
    Untold,
    Other,
    SideLost,
}

fn tamper(proof: &mut Proof, draw: &mut Draw) -> Option<Done> {
    let nodes = super::nodes(proof);
    if draw.below(3) > 0 {
        let mut all = Vec::new();
        combinations(proof, &mut all);
        let which = draw.below(all.len());
        let Combination { by, parts } = &mut *all[which];
        if parts.is_empty() || draw.below(10) == 0 {
            *by += 1;
            return (!parts.is_empty()).then_some(Done::By);
        }
        let which = draw.below(parts.len());
        let part = &mut parts[which];
        return Some(match draw.below(6) {
            0 => {
                part.0 += 1;
                Done::Coefficient
            }
            1 => {
                parts.remove(which);
                Done::PartLost
            }
            2 if !part.1.is_empty() => {
                part.1.pop();
                Done::FactLost
            }
            3 => {
                part.1.push(Fact::Known(0));
                Done::FactAdded
            }
            4 if !part.1.is_empty() => {
                let which = draw.below(part.1.len());
                part.1[which] = match &part.1[which] {
                    Fact::Known(k) => Fact::Known(k + 1),
                    Fact::Bound(k) => Fact::Known(*k),
                    Fact::Side(k) => Fact::Side(if *k > 0 { k - 1 } else { 1 }),
                    Fact::Made(a, Made::First) => Fact::Made(a.clone(), Made::Second),
                    Fact::Made(a, _) => Fact::Made(a.clone(), Made::First),
                };
                Done::FactOther
            }
            _ => {
                part.0 = -part.0;
                Done::Negative
            }
        });
    }
    let mut done = None;
    let (kind, mut at) = (draw.below(3), draw.below(nodes));
    change(proof, &mut at, &mut |proof| {
        done = Some(match proof {
            Proof::Split(p, sides) => match kind {
                0 => {
                    sides.reverse();
                    Done::Swapped
                }
                1 => {
                    *p = p.plus(1);
                    Done::Moved
                }
                _ => {
                    *proof = sides[0].clone();
                    Done::SideLost
                }
            },
            Proof::Told(told, rest) => {
                if kind == 0 {
                    *proof = (**rest).clone();
                    Done::Untold
                } else {
                    told.holds = !told.holds;
                    Done::Flipped
                }
            }
            Proof::Sum(why) => {
                *proof = Proof::Contradiction(why.clone());
                Done::Other
            }
            Proof::Contradiction(why) => {
                *proof = Proof::Sum(why.clone());
                Done::Other
            }
        });
    });
    done
}

/// Changes the claim: weakens an assumption, strengthens the goal, or changes a guard.
fn other(claim: &mut Claim, draw: &mut Draw) {
    match draw.below(4) {
        0 => {
            let k = draw.below(claim.known.len());
            claim.known[k] = claim.known[k].plus(1);
        }
        1 if !claim.sum.is_empty() => {
            let k = draw.below(claim.sum.len());
            let term = &mut claim.sum[k];
            let monomials: Vec<Poly> = term.over.terms().iter().map(|(m, _)| Poly::term(m.clone(), 1)).collect();
            term.over = term.over.sub(&monomials[draw.below(monomials.len())]);
        }
        2 if claim.sum.iter().any(|t| !t.at.is_empty()) => {
            let term = claim.sum.iter_mut().find(|t| !t.at.is_empty()).unwrap();
            let k = draw.below(term.at.len());
            term.at[k] = match &term.at[k] {
                Comparison::Ge(p) => Comparison::Ge(p.plus(-1)),
                Comparison::Eq(p) => Comparison::Ne(p.clone()),
                Comparison::Ne(p) => Comparison::Eq(p.clone()),
            };
        }
        _ => {
            if let Some(term) = claim.sum.iter_mut().find(|t| !t.at.is_empty()) {
                term.at.pop();
            }
        }
    }
}

/// Whether the claim holds at small integers.
fn holds(claim: &Claim, draw: &mut Draw) -> bool {
    (0..80).all(|_| {
        let values: BTreeMap<Atom, i64> = ["n", "m", "k", "s", "t"]
            .map(|name| (atom(name), i64::try_from(draw.below(9)).unwrap() - 2))
            .into_iter()
            .collect();
        let mut f = |a: &Atom| values.get(a).copied();
        if claim.known.iter().any(|p| p.eval(&mut f).unwrap() < 0) {
            return true;
        }
        let mut sum = |terms: &[Term]| {
            let under: i128 = terms.iter().map(|t| t.under).product();
            let mut sum = 0;
            for term in terms {
                let counts = term.at.iter().all(|c| match c {
                    Comparison::Ge(p) => p.eval(&mut f).unwrap() >= 0,
                    Comparison::Eq(p) => p.eval(&mut f).unwrap() == 0,
                    Comparison::Ne(p) => p.eval(&mut f).unwrap() != 0,
                });
                if counts {
                    sum += i128::from(term.over.eval(&mut f).unwrap()) * (under / term.under);
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
    let (mut rejected, mut accepted) = (BTreeMap::<Done, u32>::new(), BTreeMap::<Done, u32>::new());
    let (mut others, mut still) = (0, 0);
    for seed in 0..500 {
        let asked = drawn(seed);
        let question = asked.question();
        let Verdict::Proved { factor, proof, tight } = certify(&question).verdict else { continue };
        let right = claim(&question, factor).unwrap();
        assert!(check(&right, &proof));
        let draw = &mut Draw(seed);
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
            let numbers = [Done::Coefficient, Done::By, Done::PartLost, Done::Negative];
            assert!(!numbers.contains(&done), "seed {seed}: {done:?} in {wrong:#?}");
        }
        for _ in 0..6 {
            let mut about = right.clone();
            other(&mut about, draw);
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
