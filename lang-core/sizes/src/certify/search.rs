//! **Proof search.** Splits on comparisons that no facts decide, and on sizes near their least
//! values. At the leaves it combines facts (`combine`). A budget bounds all work; the search fails
//! when it is exhausted.

use super::combine::ShiftedFacts;
use super::packed::{AtomNumbering, PackedPoly, lcm, powers, quotient, single};
use super::proof::{self, AtomProperty, Claim, Combination, Decision, Proof, ProofFact, SignComparison};
use crate::predicate::{Atom, Poly};
use lang_base::check_cancelled;

/// The largest depth of a proof.
const MAX_DEPTH: usize = 28;

/// How often one fact is split on a path.
const MAX_SHIFTS: u8 = 4;

/// The remaining work of a search.
#[derive(Clone, Copy)]
pub(super) struct SearchBudget {
    /// The nodes of proofs, successful or not.
    nodes: usize,
    /// The steps of the simplex method, each weighted by the number of coefficients.
    work: usize,
}

impl Default for SearchBudget {
    fn default() -> Self {
        Self { nodes: 400, work: 1_500_000 }
    }
}

impl SearchBudget {
    /// Splits off half of the budget.
    fn split_half(&mut self) -> Self {
        let part = Self { nodes: self.nodes / 2, work: self.work / 2 };
        (self.nodes, self.work) = (self.nodes - part.nodes, self.work - part.work);
        part
    }

    fn refund(&mut self, part: Self) {
        (self.nodes, self.work) = (self.nodes + part.nodes, self.work + part.work);
    }
}

struct PackedComparison {
    comparison: SignComparison,
    packed: PackedPoly,
}

struct PackedTerm {
    /// The numbers of the comparisons.
    guards: Vec<usize>,
    value: PackedPoly,
}

struct ProofSearch {
    names: AtomNumbering,
    comparisons: Vec<PackedComparison>,
    terms: Vec<PackedTerm>,
    /// The bounds of the claim, and whether each is a fact already.
    bounds: Vec<(Vec<PackedTerm>, bool)>,
    facts: Vec<(ProofFact, PackedPoly)>,
    /// For each minimum and maximum: the number of the atom, and the difference of its operands.
    min_max_differences: Vec<(usize, PackedPoly)>,
    /// The splits on the path.
    split_sides: Vec<PackedPoly>,
    decided: Vec<Option<bool>>,
    /// Whether a remainder is equated with its definition even if the quotient does not occur.
    defines_remainders: bool,
    budget: SearchBudget,
}

/// Returns a proof of the claim, if one is found.
#[must_use]
pub fn search(claim: &Claim) -> Option<Proof> {
    search_within(claim, &mut SearchBudget::default())
}

/// Returns a proof of the claim, if one is found within half of the budget. A claim with remainders
/// has a second attempt.
pub(super) fn search_within(claim: &Claim, budget: &mut SearchBudget) -> Option<Proof> {
    let mut first = ProofSearch::new(false, budget.split_half());
    let found = first.run(claim);
    budget.refund(first.budget);
    // The definition of a remainder makes the search longer, and its bounds usually suffice.
    let remainders = first.names.atoms().iter().any(|a| matches!(a, Atom::Mod(..)));
    if found.is_some() || !remainders {
        return found;
    }
    let mut second = ProofSearch::new(true, budget.split_half());
    let found = second.run(claim);
    budget.refund(second.budget);
    found
}

impl ProofSearch {
    fn new(remainders: bool, left: SearchBudget) -> Self {
        Self {
            names: AtomNumbering::default(),
            comparisons: Vec::new(),
            terms: Vec::new(),
            bounds: Vec::new(),
            facts: Vec::new(),
            min_max_differences: Vec::new(),
            split_sides: Vec::new(),
            decided: Vec::new(),
            defines_remainders: remainders,
            budget: left,
        }
    }

    fn run(&mut self, claim: &Claim) -> Option<Proof> {
        self.load_claim(claim)?;
        let mut first = self.add_derived_facts()?;
        self.decided = vec![None; self.comparisons.len()];
        first.reverse();
        self.search_node(&mut first, MAX_DEPTH, &mut Vec::new())
    }

    fn load_claim(&mut self, claim: &Claim) -> Option<()> {
        for (k, p) in claim.assumptions.iter().enumerate() {
            let p = self.names.pack(p)?;
            self.facts.push((ProofFact::Assumption(k), p));
        }
        self.terms = self.pack_sum(&claim.sum)?;
        for bound in &claim.bounds {
            let bound = self.pack_sum(bound)?;
            self.bounds.push((bound, false));
        }
        Some(())
    }

    fn pack_sum(&mut self, of: &[proof::ClaimTerm]) -> Option<Vec<PackedTerm>> {
        let under = of.iter().try_fold(1, |all, t| lcm(all, t.denominator))?;
        let mut terms = Vec::with_capacity(of.len());
        for term in of {
            let value = self.names.pack(&term.numerator)?.scale(under / term.denominator)?;
            let mut at = Vec::new();
            for comparison in &term.guards {
                let known = self.comparisons.iter().position(|a| a.comparison == *comparison);
                if known.is_none() {
                    let (SignComparison::Ge(p) | SignComparison::Eq(p) | SignComparison::Ne(p)) = comparison;
                    let packed = self.names.pack(p)?;
                    self.comparisons.push(PackedComparison { comparison: comparison.clone(), packed });
                }
                at.push(known.unwrap_or(self.comparisons.len() - 1));
            }
            terms.push(PackedTerm { guards: at, value });
        }
        Some(terms)
    }

    /// Iterates over all terms of the sums.
    fn all_terms(&self) -> impl Iterator<Item = &PackedTerm> {
        self.terms.iter().chain(self.bounds.iter().flat_map(|(b, _)| b))
    }

    /// Returns whether the comparison holds, if it is decided.
    fn decision(&self, comparison: usize) -> Option<bool> {
        self.decided.get(comparison).copied().flatten()
    }

    /// Whether it is still undecided whether the term counts.
    fn is_open(&self, term: &PackedTerm) -> bool {
        let decisions = || term.guards.iter().map(|c| self.decision(*c));
        decisions().all(|decision| decision != Some(false)) && decisions().any(|told| told.is_none())
    }

    /// Returns the sum of the terms that count.
    fn sum_of_holding_terms(&self, terms: &[PackedTerm]) -> Option<PackedPoly> {
        let counts = |t: &&PackedTerm| t.guards.iter().all(|c| self.decision(*c) == Some(true));
        terms.iter().filter(counts).try_fold(PackedPoly::default(), |sum, t| sum.add_scaled(&t.value, 1))
    }

    /// Adds facts about derived atoms. Returns polynomials to split on first.
    fn add_derived_facts(&mut self) -> Option<Vec<PackedPoly>> {
        let (mut first, mut k) = (Vec::new(), 0);
        while let Some(atom) = self.names.atoms().get(k).cloned() {
            let a = PackedPoly::term(single(k), 1);
            match &atom {
                Atom::Div(p, q) | Atom::Mod(p, q) => {
                    let Some(divisor) = q.as_constant().filter(|q| *q > 0) else {
                        k += 1;
                        continue;
                    };
                    let quotient = p.div(q)?;
                    let p = self.names.pack(p)?;
                    // The remainder of `p` is between 0 and the divisor minus 1.
                    let rest = match &atom {
                        Atom::Div(..) => p.add_scaled(&a, divisor.checked_neg()?)?,
                        _ => a.clone(),
                    };
                    self.push_property(&atom, AtomProperty::First, rest.clone());
                    self.push_property(
                        &atom,
                        AtomProperty::Second,
                        rest.negated()?.add_scaled(&PackedPoly::constant(divisor), 1)?,
                    );
                    if matches!(atom, Atom::Div(..)) {
                        first.push(a);
                    } else if self.defines_remainders || self.contains_all_atoms(&quotient) {
                        let whole = self.names.pack(&quotient)?;
                        let zero = p.add_scaled(&whole, divisor.checked_neg()?)?.add_scaled(&a, -1)?;
                        self.push_property(&atom, AtomProperty::RemainderIdentity(true), zero.clone());
                        self.push_property(&atom, AtomProperty::RemainderIdentity(false), zero.scale(-1)?);
                    }
                }
                Atom::Min(p, q) | Atom::Max(p, q) => {
                    let (p, q) = (self.names.pack(p)?, self.names.pack(q)?);
                    let sign = if matches!(atom, Atom::Min(..)) { 1 } else { -1 };
                    self.push_property(&atom, AtomProperty::First, p.add_scaled(&a, -1)?.scale(sign)?);
                    self.push_property(&atom, AtomProperty::Second, q.add_scaled(&a, -1)?.scale(sign)?);
                    let between = p.add_scaled(&q, -1)?;
                    self.min_max_differences.push((k, between.clone()));
                    if !first.contains(&between) {
                        first.push(between);
                    }
                }
                _ => {}
            }
            k += 1;
        }
        Some(first)
    }

    /// Whether all atoms of the polynomial occur in the claim.
    fn contains_all_atoms(&self, p: &Poly) -> bool {
        p.terms().iter().flat_map(|(m, _)| m).all(|(a, _)| self.names.atoms().contains(a))
    }

    fn push_property(&mut self, atom: &Atom, property: AtomProperty, p: PackedPoly) {
        self.facts.push((ProofFact::Property(atom.clone(), property), p));
    }

    /// Searches the proof of a node. `first` holds the initial splits still to make, and `shifts`
    /// how often each fact was split.
    fn search_node(
        &mut self,
        first: &mut Vec<PackedPoly>,
        deepest: usize,
        shifts: &mut Vec<(PackedPoly, u8)>,
    ) -> Option<Proof> {
        check_cancelled();
        self.budget.nodes = self.budget.nodes.checked_sub(1)?;
        let deepest = deepest.checked_sub(1)?;
        let before = (self.decided.clone(), self.bounds.iter().map(|(_, used)| *used).collect::<Vec<_>>());
        let count = self.facts.len();
        let mut facts = std::mem::take(&mut self.facts);
        let step = self.search_step(&mut facts, first, shifts);
        self.facts = facts;
        let found = match step {
            Some((tells, SearchStep::Done(proof))) => Some((tells, proof)),
            Some((tells, SearchStep::Split(p))) => self.split(p, first, deepest, shifts).map(|proof| (tells, proof)),
            None => None,
        };
        self.facts.truncate(count);
        self.decided = before.0;
        self.bounds.iter_mut().zip(before.1).for_each(|((_, used), before)| *used = before);
        let (tells, proof) = found?;
        let wrap = |proof, decision: Decision| Proof::Decide(Box::new(decision), Box::new(proof));
        Some(tells.into_iter().rev().fold(proof, wrap))
    }

    /// Makes one step of the search: decides comparisons, and returns a leaf or a split. A bound
    /// becomes a fact when all its comparisons are decided.
    fn search_step(
        &mut self,
        facts: &mut Vec<(ProofFact, PackedPoly)>,
        first: &mut Vec<PackedPoly>,
        shifts: &mut Vec<(PackedPoly, u8)>,
    ) -> Option<(Vec<Decision>, SearchStep)> {
        let frame = ShiftedFacts::new(facts, self.names.atoms().len())?;
        if let Some(why) = frame.combine(&PackedPoly::constant(-1), &mut self.budget.work) {
            return Some((Vec::new(), SearchStep::Done(Proof::Contradiction(why))));
        }
        while let Some(p) = first.pop() {
            if frame.combine_directly(&p).is_none() || self.min_max_differences.iter().any(|(_, between)| *between == p)
            {
                return Some((Vec::new(), SearchStep::Split(p)));
            }
        }
        let mut tells = Vec::new();
        let mut split: Option<PackedPoly> = None;
        for k in 0..self.comparisons.len() {
            let (Some(comparison), None) = (self.comparisons.get(k), self.decision(k)) else { continue };
            if !self.all_terms().any(|t| t.guards.contains(&k) && self.is_open(t)) {
                continue;
            }
            match decide(&frame, comparison)? {
                Ok(decision) => {
                    *self.decided.get_mut(k)? = Some(decision.holds);
                    tells.push(decision);
                }
                Err(at) => split = split.or(Some(at)),
            }
        }
        let known = facts.len();
        for k in 0..self.bounds.len() {
            let Some((terms, false)) = self.bounds.get(k) else { continue };
            if !terms.iter().any(|t| self.is_open(t)) {
                facts.push((ProofFact::BoundSum(k), self.sum_of_holding_terms(terms)?));
                self.bounds.get_mut(k)?.1 = true;
            }
        }
        // The comparisons decided above may rule out the terms that were open.
        if let (true, Some(split)) = (self.all_terms().any(|t| self.is_open(t)), split) {
            return Some((tells, SearchStep::Split(split)));
        }
        let frame = ShiftedFacts::new(facts, self.names.atoms().len())?;
        if facts.len() > known
            && let Some(why) = frame.combine(&PackedPoly::constant(-1), &mut self.budget.work)
        {
            return Some((tells, SearchStep::Done(Proof::Contradiction(why))));
        }
        let goal = self.sum_of_holding_terms(&self.terms)?;
        if let Some(why) = frame.combine(&goal, &mut self.budget.work) {
            return Some((tells, SearchStep::Done(Proof::Sum(why))));
        }
        let next = next_split(&frame, &goal, shifts, &self.names)?;
        Some((tells, SearchStep::Split(next)))
    }

    fn split(
        &mut self,
        p: PackedPoly,
        first: &[PackedPoly],
        deepest: usize,
        shifts: &[(PackedPoly, u8)],
    ) -> Option<Proof> {
        let poly = self.names.unpack(&p);
        let mut proofs = Vec::new();
        for (side, holds) in [(p.clone(), true), (p.negated()?, false)] {
            let before = self.facts.len();
            let number = self.split_sides.len();
            self.add_chosen_operands(&p, number, holds)?;
            self.facts.push((ProofFact::SplitSide(number), side.clone()));
            self.split_sides.push(side);
            let proof = self.search_node(&mut first.to_vec(), deepest, &mut shifts.to_vec());
            self.split_sides.pop();
            self.facts.truncate(before);
            proofs.push(proof?);
        }
        Some(Proof::Split(poly, Box::new(<[Proof; 2]>::try_from(proofs).ok()?)))
    }

    /// If a split decides which operand is less, adds the values of the minimum and the maximum.
    fn add_chosen_operands(&mut self, p: &PackedPoly, side: usize, holds: bool) -> Option<()> {
        for (k, between) in self.min_max_differences.clone() {
            if between != *p {
                continue;
            }
            let atom = self.names.atoms().get(k)?.clone();
            let (Atom::Min(one, other) | Atom::Max(one, other)) = &atom else { continue };
            let is: &Poly = if holds == matches!(atom, Atom::Max(..)) { one } else { other };
            let zero = PackedPoly::term(single(k), 1).add_scaled(&self.names.pack(is)?, -1)?;
            self.push_property(&atom, AtomProperty::ChosenOperand(side, true), zero.clone());
            self.push_property(&atom, AtomProperty::ChosenOperand(side, false), zero.scale(-1)?);
        }
        Some(())
    }
}

enum SearchStep {
    Done(Proof),
    Split(PackedPoly),
}

/// Decides a comparison by facts, or returns the polynomial to split on for it.
fn decide(frame: &ShiftedFacts<'_>, goal: &PackedComparison) -> Option<Result<Decision, PackedPoly>> {
    let p = &goal.packed;
    let (neg, below) = (p.scale(-1)?, p.negated()?);
    let tell =
        |holds, why: Vec<Combination>| Ok(Decision { comparison: goal.comparison.clone(), holds, combinations: why });
    let zero = match goal.comparison {
        SignComparison::Ge(_) => {
            let yes = frame.combine_directly(p).map(|why| tell(true, vec![why]));
            let no = || frame.combine_directly(&below).map(|why| tell(false, vec![why]));
            return Some(yes.or_else(no).unwrap_or_else(|| Err(p.clone())));
        }
        SignComparison::Eq(_) => true,
        SignComparison::Ne(_) => false,
    };
    let above = p.add_scaled(&PackedPoly::constant(-1), 1)?;
    if let Some(why) = frame.combine_directly(&above).or_else(|| frame.combine_directly(&below)) {
        return Some(tell(!zero, vec![why]));
    }
    Some(match (frame.combine_directly(p), frame.combine_directly(&neg)) {
        (Some(more), Some(less)) => tell(zero, vec![more, less]),
        (Some(_), None) => Err(above),
        (None, Some(_)) => Err(below),
        (None, None) => Err(p.clone()),
    })
}

/// Returns the next polynomial to split on: a fact minus 1, which separates 0 from larger values,
/// or the difference of two facts.
fn next_split(
    frame: &ShiftedFacts<'_>,
    goal: &PackedPoly,
    shifts: &mut Vec<(PackedPoly, u8)>,
    names: &AtomNumbering,
) -> Option<PackedPoly> {
    let atoms = names.atoms().len();
    let quotients: Vec<usize> = (0..atoms).filter(|a| matches!(names.atoms().get(*a), Some(Atom::Div(..)))).collect();
    let goal = frame.shift_poly(goal)?;
    // An atom scores if a positive term is a multiple of a negative one and the quotient contains
    // the atom.
    let (more, less): (Vec<_>, Vec<_>) = goal.terms().iter().partition(|(_, c)| *c > 0);
    let mut scores = vec![0_usize; atoms];
    for (n, _) in &less {
        for by in more.iter().filter_map(|(m, _)| quotient(*m, *n)) {
            for (atom, _) in powers(by) {
                *scores.get_mut(atom)? += 1;
            }
        }
    }
    // How often a fact was split. Facts that differ only in their constants count as the same.
    let shape = |p: &PackedPoly| p.filter_terms(|m| m != 0);
    let count = |p: &PackedPoly| shifts.iter().find(|(q, _)| *q == shape(p)).map_or(0, |(_, count)| *count);
    let occurs = |atom: usize| goal.terms().iter().any(|(m, _)| powers(*m).any(|(a, _)| a == atom));
    // A split on a quotient separates remainders, even if the goal does not contain the quotient.
    let of_atoms = scores.iter().enumerate().filter(|(atom, _)| occurs(*atom) || quotients.contains(atom));
    let of_atoms = of_atoms.filter_map(|(atom, score)| Some((frame.base(atom)?, *score)));
    let shifts_of = of_atoms.chain(frame.unused_facts().map(|p| (p, 0))).filter(|(p, _)| p.degree() <= 1);
    let shifts_of = shifts_of.filter(|(p, _)| count(p) < MAX_SHIFTS).map(|(p, score)| (p.clone(), score));
    let best = shifts_of.max_by_key(|(p, score)| (*score > 0, std::cmp::Reverse(count(p)), *score));
    // Squares may compensate a product with a negative coefficient. The proof then depends on which
    // factor is less.
    let pairs = less.iter().filter_map(|(m, _)| {
        let mut atoms = powers(*m).filter_map(|(a, _)| frame.base(a));
        atoms.next()?.add_scaled(atoms.next()?, -1)
    });
    let mut pairs = pairs.filter(|p| p.degree() <= 1 && count(p) == 0);
    let (best, next) = match best {
        Some((best, score)) if score > 0 => (best.clone(), best.add_scaled(&PackedPoly::constant(-1), 1)?),
        other => match (pairs.next(), other) {
            (Some(pair), _) => (pair.clone(), pair),
            (None, other) => {
                let (best, _) = other?;
                (best.clone(), best.add_scaled(&PackedPoly::constant(-1), 1)?)
            }
        },
    };
    let shape = shape(&best);
    match shifts.iter_mut().find(|(q, _)| *q == shape) {
        Some((_, count)) => *count += 1,
        None => shifts.push((shape, 1)),
    }
    Some(next)
}
