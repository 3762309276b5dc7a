//! **Proof checker.** It shares nothing with the search except the polynomials. It multiplies out
//! every combination and compares it with its goal. It rejects a proof if any arithmetic overflows.

use super::proof::{Claim, Combination, Comparison, Fact, Made, Proof, Term, Told};
use crate::predicate::{Atom, Poly};

/// The depth beyond which a proof is rejected.
const DEEPEST: usize = 400;

/// Returns whether the proof proves the claim.
#[must_use]
pub fn check(claim: &Claim, proof: &Proof) -> bool {
    let terms = || claim.sum.iter().chain(claim.bounds.iter().flatten());
    let asked = terms().flat_map(|t| &t.at).map(asked);
    let mut polys = claim.known.iter().chain(terms().map(|t| &t.over)).chain(asked);
    if polys.any(Poly::overflowed) || terms().any(|t| t.under <= 0) {
        return false;
    }
    Checker { claim, sides: Vec::new(), told: Vec::new() }.holds(proof, DEEPEST).is_some()
}

fn asked(comparison: &Comparison) -> &Poly {
    match comparison {
        Comparison::Ge(p) | Comparison::Eq(p) | Comparison::Ne(p) => p,
    }
}

/// The facts that hold at a node of the proof. Every method returns `None` if a step of the proof
/// is wrong.
struct Checker<'c> {
    claim: &'c Claim,
    /// The sides of the splits on the path.
    sides: Vec<Poly>,
    told: Vec<(&'c Comparison, bool)>,
}

impl<'c> Checker<'c> {
    fn holds(&mut self, proof: &'c Proof, deepest: usize) -> Option<()> {
        let deepest = deepest.checked_sub(1)?;
        match proof {
            Proof::Split(p, sides) => {
                let [yes, no] = &**sides;
                for (side, proof) in [(p.clone(), yes), (p.neg().plus(-1), no)] {
                    self.sides.push(exact(side)?);
                    self.holds(proof, deepest)?;
                    self.sides.pop();
                }
                Some(())
            }
            Proof::Told(told, proof) => {
                self.tells(told)?;
                self.told.push((&told.comparison, told.holds));
                self.holds(proof, deepest)?;
                self.told.pop();
                Some(())
            }
            Proof::Sum(why) => self.shows(why, &self.counting(&self.claim.sum)?),
            Proof::Contradiction(why) => self.shows(why, &Poly::constant(-1)),
        }
    }

    /// Returns the sum of the terms that count, times the least common multiple of all
    /// denominators.
    fn counting(&self, terms: &[Term]) -> Option<Poly> {
        let mut under = 1_i128;
        for term in terms {
            under = (under / gcd(under, term.under)).checked_mul(term.under)?;
        }
        let mut sum = Poly::default();
        for term in terms {
            if term.at.iter().any(|c| self.told.contains(&(c, false))) {
                continue;
            }
            term.at.iter().all(|c| self.told.contains(&(c, true))).then_some(())?;
            sum = exact(sum.add(&exact(term.over.scale(under / term.under))?))?;
        }
        Some(sum)
    }

    fn tells(&self, told: &Told) -> Option<()> {
        let (p, zero) = match &told.comparison {
            Comparison::Ge(p) => {
                let side = if told.holds { p.clone() } else { p.neg().plus(-1) };
                let [why] = told.why.as_slice() else { return None };
                return self.shows(why, &side);
            }
            Comparison::Eq(p) => (p, told.holds),
            Comparison::Ne(p) => (p, !told.holds),
        };
        match told.why.as_slice() {
            [above, below] if zero => {
                self.shows(above, p)?;
                self.shows(below, &p.neg())
            }
            [why] if !zero => self.shows(why, &p.plus(-1)).or_else(|| self.shows(why, &p.neg().plus(-1))),
            _ => None,
        }
    }

    /// Verifies that the combination equals `by · goal`.
    fn shows(&self, why: &Combination, goal: &Poly) -> Option<()> {
        let mut sum = Poly::default();
        for (c, facts) in &why.parts {
            let mut product = Poly::constant(1);
            for fact in facts {
                product = exact(product.mul(&self.fact(fact)?))?;
            }
            sum = exact(sum.add(&exact(product.scale(*c))?))?;
            (*c >= 0).then_some(())?;
        }
        (why.by > 0 && exact(exact(goal.clone())?.scale(why.by))? == sum).then_some(())
    }

    fn fact(&self, fact: &Fact) -> Option<Poly> {
        exact(match fact {
            Fact::Known(k) => self.claim.known.get(*k)?.clone(),
            Fact::Bound(k) => self.counting(self.claim.bounds.get(*k)?)?,
            Fact::Side(k) => self.sides.get(*k)?.clone(),
            Fact::Made(atom, made) => self.made(atom, *made)?,
        })
    }

    fn made(&self, atom: &Atom, made: Made) -> Option<Poly> {
        let a = exact(Poly::atom(atom.clone()))?;
        let divisor = |q: &Poly| q.as_constant().filter(|q| *q > 0);
        Some(match (atom, made) {
            (Atom::Div(p, q), Made::First) => p.sub(&a.scale(divisor(q)?)),
            (Atom::Div(p, q), Made::Second) => a.scale(divisor(q)?).sub(p).plus(divisor(q)? - 1),
            (Atom::Mod(_, q), Made::First) => divisor(q).map(|_| a)?,
            (Atom::Mod(_, q), Made::Second) => a.neg().plus(divisor(q)? - 1),
            (Atom::Mod(p, q), Made::Rest(more)) => {
                let zero = p.sub(&exact(p.div(q)?)?.scale(divisor(q)?)).sub(&a);
                if more { zero } else { zero.neg() }
            }
            (Atom::Min(p, _), Made::First) | (Atom::Min(_, p), Made::Second) => p.sub(&a),
            (Atom::Max(p, _), Made::First) | (Atom::Max(_, p), Made::Second) => a.sub(p),
            (Atom::Min(p, q) | Atom::Max(p, q), Made::Chosen(side, more)) => {
                let (side, between) = (self.sides.get(side)?, exact(p.sub(q))?);
                let first_is_greater = if *side == between {
                    true
                } else if *side == between.neg().plus(-1) {
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
fn exact(p: Poly) -> Option<Poly> {
    (!p.overflowed()).then_some(p)
}

/// Returns the greatest common divisor of two positive numbers.
fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
