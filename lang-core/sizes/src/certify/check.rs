//! **Proof checker.** It shares nothing with the search except the polynomials. It multiplies out
//! every combination and compares it with its goal. It rejects a proof if any arithmetic overflows.

use super::proof::{AtomProperty, Claim, ClaimTerm, Combination, Decision, Proof, ProofFact, SignComparison};
use crate::predicate::{Atom, Poly};

/// The depth beyond which a proof is rejected.
const MAX_PROOF_DEPTH: usize = 400;

/// Returns whether the proof proves the claim.
#[must_use]
pub fn check(claim: &Claim, proof: &Proof) -> bool {
    let terms = || claim.sum.iter().chain(claim.bounds.iter().flatten());
    let guard_polys = terms().flat_map(|t| &t.guards).map(compared_poly);
    let mut polys = claim.assumptions.iter().chain(terms().map(|t| &t.numerator)).chain(guard_polys);
    if polys.any(Poly::has_overflowed) || terms().any(|t| t.denominator <= 0) {
        return false;
    }
    ProofChecker { claim, split_sides: Vec::new(), decided: Vec::new() }.check_proof(proof, MAX_PROOF_DEPTH).is_some()
}

fn compared_poly(comparison: &SignComparison) -> &Poly {
    match comparison {
        SignComparison::Ge(p) | SignComparison::Eq(p) | SignComparison::Ne(p) => p,
    }
}

/// The facts that hold at a node of the proof. Every method returns `None` if a step of the proof
/// is wrong.
struct ProofChecker<'c> {
    claim: &'c Claim,
    /// The sides of the splits on the path.
    split_sides: Vec<Poly>,
    decided: Vec<(&'c SignComparison, bool)>,
}

impl<'c> ProofChecker<'c> {
    fn check_proof(&mut self, proof: &'c Proof, deepest: usize) -> Option<()> {
        let deepest = deepest.checked_sub(1)?;
        match proof {
            Proof::Split(p, sides) => {
                let [yes, no] = &**sides;
                for (side, proof) in [(p.clone(), yes), (p.neg().add_constant(-1), no)] {
                    self.split_sides.push(without_overflow(side)?);
                    self.check_proof(proof, deepest)?;
                    self.split_sides.pop();
                }
                Some(())
            }
            Proof::Decide(decision, proof) => {
                self.check_decision(decision)?;
                self.decided.push((&decision.comparison, decision.holds));
                self.check_proof(proof, deepest)?;
                self.decided.pop();
                Some(())
            }
            Proof::Sum(why) => self.check_combination(why, &self.sum_of_holding_terms(&self.claim.sum)?),
            Proof::Contradiction(why) => self.check_combination(why, &Poly::constant(-1)),
        }
    }

    /// Returns the sum of the terms that count, times the least common multiple of all
    /// denominators.
    fn sum_of_holding_terms(&self, terms: &[ClaimTerm]) -> Option<Poly> {
        let mut under = 1_i128;
        for term in terms {
            under = (under / gcd(under, term.denominator)).checked_mul(term.denominator)?;
        }
        let mut sum = Poly::default();
        for term in terms {
            if term.guards.iter().any(|c| self.decided.contains(&(c, false))) {
                continue;
            }
            term.guards.iter().all(|c| self.decided.contains(&(c, true))).then_some(())?;
            sum = without_overflow(sum.add(&without_overflow(term.numerator.scale(under / term.denominator))?))?;
        }
        Some(sum)
    }

    fn check_decision(&self, decision: &Decision) -> Option<()> {
        let (p, zero) = match &decision.comparison {
            SignComparison::Ge(p) => {
                let side = if decision.holds { p.clone() } else { p.neg().add_constant(-1) };
                let [why] = decision.combinations.as_slice() else { return None };
                return self.check_combination(why, &side);
            }
            SignComparison::Eq(p) => (p, decision.holds),
            SignComparison::Ne(p) => (p, !decision.holds),
        };
        match decision.combinations.as_slice() {
            [above, below] if zero => {
                self.check_combination(above, p)?;
                self.check_combination(below, &p.neg())
            }
            [why] if !zero => self
                .check_combination(why, &p.add_constant(-1))
                .or_else(|| self.check_combination(why, &p.neg().add_constant(-1))),
            _ => None,
        }
    }

    /// Verifies that the combination equals `by · goal`.
    fn check_combination(&self, why: &Combination, goal: &Poly) -> Option<()> {
        let mut sum = Poly::default();
        for (c, facts) in &why.products {
            let mut product = Poly::constant(1);
            for fact in facts {
                product = without_overflow(product.mul(&self.fact_poly(fact)?))?;
            }
            sum = without_overflow(sum.add(&without_overflow(product.scale(*c))?))?;
            (*c >= 0).then_some(())?;
        }
        (why.goal_factor > 0 && without_overflow(without_overflow(goal.clone())?.scale(why.goal_factor))? == sum)
            .then_some(())
    }

    fn fact_poly(&self, fact: &ProofFact) -> Option<Poly> {
        without_overflow(match fact {
            ProofFact::Assumption(k) => self.claim.assumptions.get(*k)?.clone(),
            ProofFact::BoundSum(k) => self.sum_of_holding_terms(self.claim.bounds.get(*k)?)?,
            ProofFact::SplitSide(k) => self.split_sides.get(*k)?.clone(),
            ProofFact::Property(atom, property) => self.property_poly(atom, *property)?,
        })
    }

    fn property_poly(&self, atom: &Atom, property: AtomProperty) -> Option<Poly> {
        let a = without_overflow(Poly::atom(atom.clone()))?;
        let divisor = |q: &Poly| q.as_constant().filter(|q| *q > 0);
        Some(match (atom, property) {
            (Atom::Div(p, q), AtomProperty::First) => p.sub(&a.scale(divisor(q)?)),
            (Atom::Div(p, q), AtomProperty::Second) => a.scale(divisor(q)?).sub(p).add_constant(divisor(q)? - 1),
            (Atom::Mod(_, q), AtomProperty::First) => divisor(q).map(|_| a)?,
            (Atom::Mod(_, q), AtomProperty::Second) => a.neg().add_constant(divisor(q)? - 1),
            (Atom::Mod(p, q), AtomProperty::RemainderIdentity(more)) => {
                let zero = p.sub(&without_overflow(p.div(q)?)?.scale(divisor(q)?)).sub(&a);
                if more { zero } else { zero.neg() }
            }
            (Atom::Min(p, _), AtomProperty::First) | (Atom::Min(_, p), AtomProperty::Second) => p.sub(&a),
            (Atom::Max(p, _), AtomProperty::First) | (Atom::Max(_, p), AtomProperty::Second) => a.sub(p),
            (Atom::Min(p, q) | Atom::Max(p, q), AtomProperty::ChosenOperand(side, more)) => {
                let (side, between) = (self.split_sides.get(side)?, without_overflow(p.sub(q))?);
                let first_is_greater = if *side == between {
                    true
                } else if *side == between.neg().add_constant(-1) {
                    false
                } else {
                    return None;
                };
                let is = if first_is_greater == matches!(atom, Atom::Max(..)) { p } else { q };
                if more { a.sub(is) } else { is.sub(&a) }
            }
            _ => return None,
        })
    }
}

/// Returns the polynomial, if no arithmetic on it overflowed.
fn without_overflow(p: Poly) -> Option<Poly> {
    (!p.has_overflowed()).then_some(p)
}

/// Returns the greatest common divisor of two positive numbers.
fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
