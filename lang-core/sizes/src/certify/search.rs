//! **Proof search.** Splits on comparisons that no facts decide, and on sizes near their least
//! values. At the leaves it combines facts (`combine`). A budget bounds all work; the search fails
//! when it is exhausted.

use super::combine::Frame;
use super::packed::{Names, Packed, lcm, powers, quotient, single};
use super::proof::{self, Claim, Combination, Comparison, Fact, Made, Proof, Told};
use crate::predicate::{Atom, Poly};
use lang_base::pause;

/// The largest depth of a proof.
const DEEPEST: usize = 28;

/// How often one fact is split on a path.
const MOST_SHIFTS: u8 = 4;

/// The remaining work of a search.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    /// The nodes of proofs, successful or not.
    nodes: usize,
    /// The steps of the simplex method, each weighted by the number of coefficients.
    work: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { nodes: 400, work: 1_500_000 }
    }
}

impl Budget {
    /// Splits off half of the budget.
    fn part(&mut self) -> Self {
        let part = Self { nodes: self.nodes / 2, work: self.work / 2 };
        (self.nodes, self.work) = (self.nodes - part.nodes, self.work - part.work);
        part
    }

    fn give_back(&mut self, part: Self) {
        (self.nodes, self.work) = (self.nodes + part.nodes, self.work + part.work);
    }
}

struct Asked {
    comparison: Comparison,
    packed: Packed,
}

struct Term {
    /// The numbers of the comparisons.
    at: Vec<usize>,
    value: Packed,
}

struct Search {
    names: Names,
    asked: Vec<Asked>,
    terms: Vec<Term>,
    /// The bounds of the claim, and whether each is a fact already.
    bounds: Vec<(Vec<Term>, bool)>,
    facts: Vec<(Fact, Packed)>,
    /// For each minimum and maximum: the number of the atom, and the difference of its operands.
    chosen: Vec<(usize, Packed)>,
    /// The splits on the path.
    sides: Vec<Packed>,
    told: Vec<Option<bool>>,
    /// Whether a remainder is equated with its definition even if the quotient does not occur.
    remainders: bool,
    left: Budget,
}

/// Returns a proof of the claim, if one is found.
#[must_use]
pub fn search(claim: &Claim) -> Option<Proof> {
    within(claim, &mut Budget::default())
}

/// Returns a proof of the claim, if one is found within half of the budget. A claim with remainders
/// has a second attempt.
pub(super) fn within(claim: &Claim, budget: &mut Budget) -> Option<Proof> {
    let mut first = Search::new(false, budget.part());
    let found = first.run(claim);
    budget.give_back(first.left);
    // The definition of a remainder makes the search longer, and its bounds usually suffice.
    let remainders = first.names.atoms().iter().any(|a| matches!(a, Atom::Mod(..)));
    if found.is_some() || !remainders {
        return found;
    }
    let mut second = Search::new(true, budget.part());
    let found = second.run(claim);
    budget.give_back(second.left);
    found
}

impl Search {
    fn new(remainders: bool, left: Budget) -> Self {
        Self {
            names: Names::default(),
            asked: Vec::new(),
            terms: Vec::new(),
            bounds: Vec::new(),
            facts: Vec::new(),
            chosen: Vec::new(),
            sides: Vec::new(),
            told: Vec::new(),
            remainders,
            left,
        }
    }

    fn run(&mut self, claim: &Claim) -> Option<Proof> {
        self.read(claim)?;
        let mut first = self.made()?;
        self.told = vec![None; self.asked.len()];
        first.reverse();
        self.node(&mut first, DEEPEST, &mut Vec::new())
    }

    fn read(&mut self, claim: &Claim) -> Option<()> {
        for (k, p) in claim.known.iter().enumerate() {
            let p = self.names.pack(p)?;
            self.facts.push((Fact::Known(k), p));
        }
        self.terms = self.sum(&claim.sum)?;
        for bound in &claim.bounds {
            let bound = self.sum(bound)?;
            self.bounds.push((bound, false));
        }
        Some(())
    }

    fn sum(&mut self, of: &[proof::Term]) -> Option<Vec<Term>> {
        let under = of.iter().try_fold(1, |all, t| lcm(all, t.under))?;
        let mut terms = Vec::with_capacity(of.len());
        for term in of {
            let value = self.names.pack(&term.over)?.scaled(under / term.under)?;
            let mut at = Vec::new();
            for comparison in &term.at {
                let known = self.asked.iter().position(|a| a.comparison == *comparison);
                if known.is_none() {
                    let (Comparison::Ge(p) | Comparison::Eq(p) | Comparison::Ne(p)) = comparison;
                    let packed = self.names.pack(p)?;
                    self.asked.push(Asked { comparison: comparison.clone(), packed });
                }
                at.push(known.unwrap_or(self.asked.len() - 1));
            }
            terms.push(Term { at, value });
        }
        Some(terms)
    }

    /// Iterates over all terms of the sums.
    fn all_terms(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter().chain(self.bounds.iter().flat_map(|(b, _)| b))
    }

    /// Returns whether the comparison holds, if it is decided.
    fn tells(&self, comparison: usize) -> Option<bool> {
        self.told.get(comparison).copied().flatten()
    }

    /// Whether it is still undecided whether the term counts.
    fn open(&self, term: &Term) -> bool {
        let told = || term.at.iter().map(|c| self.tells(*c));
        told().all(|told| told != Some(false)) && told().any(|told| told.is_none())
    }

    /// Returns the sum of the terms that count.
    fn counting(&self, terms: &[Term]) -> Option<Packed> {
        let counts = |t: &&Term| t.at.iter().all(|c| self.tells(*c) == Some(true));
        terms.iter().filter(counts).try_fold(Packed::default(), |sum, t| sum.plus(&t.value, 1))
    }

    /// Adds facts about derived atoms. Returns polynomials to split on first.
    fn made(&mut self) -> Option<Vec<Packed>> {
        let (mut first, mut k) = (Vec::new(), 0);
        while let Some(atom) = self.names.atoms().get(k).cloned() {
            let a = Packed::term(single(k), 1);
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
                        Atom::Div(..) => p.plus(&a, divisor.checked_neg()?)?,
                        _ => a.clone(),
                    };
                    self.fact(&atom, Made::First, rest.clone());
                    self.fact(&atom, Made::Second, rest.denied()?.plus(&Packed::constant(divisor), 1)?);
                    if matches!(atom, Atom::Div(..)) {
                        first.push(a);
                    } else if self.remainders || self.knows(&quotient) {
                        let whole = self.names.pack(&quotient)?;
                        let zero = p.plus(&whole, divisor.checked_neg()?)?.plus(&a, -1)?;
                        self.fact(&atom, Made::Rest(true), zero.clone());
                        self.fact(&atom, Made::Rest(false), zero.scaled(-1)?);
                    }
                }
                Atom::Min(p, q) | Atom::Max(p, q) => {
                    let (p, q) = (self.names.pack(p)?, self.names.pack(q)?);
                    let sign = if matches!(atom, Atom::Min(..)) { 1 } else { -1 };
                    self.fact(&atom, Made::First, p.plus(&a, -1)?.scaled(sign)?);
                    self.fact(&atom, Made::Second, q.plus(&a, -1)?.scaled(sign)?);
                    let between = p.plus(&q, -1)?;
                    self.chosen.push((k, between.clone()));
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
    fn knows(&self, p: &Poly) -> bool {
        p.terms().iter().flat_map(|(m, _)| m).all(|(a, _)| self.names.atoms().contains(a))
    }

    fn fact(&mut self, atom: &Atom, made: Made, p: Packed) {
        self.facts.push((Fact::Made(atom.clone(), made), p));
    }

    /// Searches the proof of a node. `first` holds the initial splits still to make, and `shifts`
    /// how often each fact was split.
    fn node(&mut self, first: &mut Vec<Packed>, deepest: usize, shifts: &mut Vec<(Packed, u8)>) -> Option<Proof> {
        pause();
        self.left.nodes = self.left.nodes.checked_sub(1)?;
        let deepest = deepest.checked_sub(1)?;
        let before = (self.told.clone(), self.bounds.iter().map(|(_, used)| *used).collect::<Vec<_>>());
        let count = self.facts.len();
        let mut facts = std::mem::take(&mut self.facts);
        let step = self.step(&mut facts, first, shifts);
        self.facts = facts;
        let found = match step {
            Some((tells, Step::Done(proof))) => Some((tells, proof)),
            Some((tells, Step::Split(p))) => self.split(p, first, deepest, shifts).map(|proof| (tells, proof)),
            None => None,
        };
        self.facts.truncate(count);
        self.told = before.0;
        self.bounds.iter_mut().zip(before.1).for_each(|((_, used), before)| *used = before);
        let (tells, proof) = found?;
        let wrap = |proof, told: Told| Proof::Told(Box::new(told), Box::new(proof));
        Some(tells.into_iter().rev().fold(proof, wrap))
    }

    /// Makes one step of the search: decides comparisons, and returns a leaf or a split. A bound
    /// becomes a fact when all its comparisons are decided.
    fn step(
        &mut self,
        facts: &mut Vec<(Fact, Packed)>,
        first: &mut Vec<Packed>,
        shifts: &mut Vec<(Packed, u8)>,
    ) -> Option<(Vec<Told>, Step)> {
        let frame = Frame::new(facts, self.names.atoms().len())?;
        if let Some(why) = frame.combine(&Packed::constant(-1), &mut self.left.work) {
            return Some((Vec::new(), Step::Done(Proof::Contradiction(why))));
        }
        while let Some(p) = first.pop() {
            if frame.directly(&p).is_none() || self.chosen.iter().any(|(_, between)| *between == p) {
                return Some((Vec::new(), Step::Split(p)));
            }
        }
        let mut tells = Vec::new();
        let mut split: Option<Packed> = None;
        for k in 0..self.asked.len() {
            let (Some(asked), None) = (self.asked.get(k), self.tells(k)) else { continue };
            if !self.all_terms().any(|t| t.at.contains(&k) && self.open(t)) {
                continue;
            }
            match decide(&frame, asked)? {
                Ok(told) => {
                    *self.told.get_mut(k)? = Some(told.holds);
                    tells.push(told);
                }
                Err(at) => split = split.or(Some(at)),
            }
        }
        let known = facts.len();
        for k in 0..self.bounds.len() {
            let Some((terms, false)) = self.bounds.get(k) else { continue };
            if !terms.iter().any(|t| self.open(t)) {
                facts.push((Fact::Bound(k), self.counting(terms)?));
                self.bounds.get_mut(k)?.1 = true;
            }
        }
        // The comparisons decided above may rule out the terms that were open.
        if let (true, Some(split)) = (self.all_terms().any(|t| self.open(t)), split) {
            return Some((tells, Step::Split(split)));
        }
        let frame = Frame::new(facts, self.names.atoms().len())?;
        if facts.len() > known
            && let Some(why) = frame.combine(&Packed::constant(-1), &mut self.left.work)
        {
            return Some((tells, Step::Done(Proof::Contradiction(why))));
        }
        let goal = self.counting(&self.terms)?;
        if let Some(why) = frame.combine(&goal, &mut self.left.work) {
            return Some((tells, Step::Done(Proof::Sum(why))));
        }
        let next = next_split(&frame, &goal, shifts, &self.names)?;
        Some((tells, Step::Split(next)))
    }

    fn split(&mut self, p: Packed, first: &[Packed], deepest: usize, shifts: &[(Packed, u8)]) -> Option<Proof> {
        let poly = self.names.unpack(&p);
        let mut proofs = Vec::new();
        for (side, holds) in [(p.clone(), true), (p.denied()?, false)] {
            let before = self.facts.len();
            let number = self.sides.len();
            self.chosen_here(&p, number, holds)?;
            self.facts.push((Fact::Side(number), side.clone()));
            self.sides.push(side);
            let proof = self.node(&mut first.to_vec(), deepest, &mut shifts.to_vec());
            self.sides.pop();
            self.facts.truncate(before);
            proofs.push(proof?);
        }
        Some(Proof::Split(poly, Box::new(<[Proof; 2]>::try_from(proofs).ok()?)))
    }

    /// If a split decides which operand is less, adds the values of the minimum and the maximum.
    fn chosen_here(&mut self, p: &Packed, side: usize, holds: bool) -> Option<()> {
        for (k, between) in self.chosen.clone() {
            if between != *p {
                continue;
            }
            let atom = self.names.atoms().get(k)?.clone();
            let (Atom::Min(one, other) | Atom::Max(one, other)) = &atom else { continue };
            let is: &Poly = if holds == matches!(atom, Atom::Max(..)) { one } else { other };
            let zero = Packed::term(single(k), 1).plus(&self.names.pack(is)?, -1)?;
            self.fact(&atom, Made::Chosen(side, true), zero.clone());
            self.fact(&atom, Made::Chosen(side, false), zero.scaled(-1)?);
        }
        Some(())
    }
}

enum Step {
    Done(Proof),
    Split(Packed),
}

/// Decides a comparison by facts, or returns the polynomial to split on for it.
fn decide(frame: &Frame<'_>, asked: &Asked) -> Option<Result<Told, Packed>> {
    let p = &asked.packed;
    let (neg, below) = (p.scaled(-1)?, p.denied()?);
    let tell = |holds, why: Vec<Combination>| Ok(Told { comparison: asked.comparison.clone(), holds, why });
    let zero = match asked.comparison {
        Comparison::Ge(_) => {
            let yes = frame.directly(p).map(|why| tell(true, vec![why]));
            let no = || frame.directly(&below).map(|why| tell(false, vec![why]));
            return Some(yes.or_else(no).unwrap_or_else(|| Err(p.clone())));
        }
        Comparison::Eq(_) => true,
        Comparison::Ne(_) => false,
    };
    let above = p.plus(&Packed::constant(-1), 1)?;
    if let Some(why) = frame.directly(&above).or_else(|| frame.directly(&below)) {
        return Some(tell(!zero, vec![why]));
    }
    Some(match (frame.directly(p), frame.directly(&neg)) {
        (Some(more), Some(less)) => tell(zero, vec![more, less]),
        (Some(_), None) => Err(above),
        (None, Some(_)) => Err(below),
        (None, None) => Err(p.clone()),
    })
}

/// Returns the next polynomial to split on: a fact minus 1, which separates 0 from larger values,
/// or the difference of two facts.
fn next_split(frame: &Frame<'_>, goal: &Packed, shifts: &mut Vec<(Packed, u8)>, names: &Names) -> Option<Packed> {
    let atoms = names.atoms().len();
    let quotients: Vec<usize> = (0..atoms).filter(|a| matches!(names.atoms().get(*a), Some(Atom::Div(..)))).collect();
    let goal = frame.shifted(goal)?;
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
    let shape = |p: &Packed| p.only(|m| m != 0);
    let count = |p: &Packed| shifts.iter().find(|(q, _)| *q == shape(p)).map_or(0, |(_, count)| *count);
    let occurs = |atom: usize| goal.terms().iter().any(|(m, _)| powers(*m).any(|(a, _)| a == atom));
    // A split on a quotient separates remainders, even if the goal does not contain the quotient.
    let of_atoms = scores.iter().enumerate().filter(|(atom, _)| occurs(*atom) || quotients.contains(atom));
    let of_atoms = of_atoms.filter_map(|(atom, score)| Some((frame.base(atom)?, *score)));
    let shifts_of = of_atoms.chain(frame.extra().map(|p| (p, 0))).filter(|(p, _)| p.degree() <= 1);
    let shifts_of = shifts_of.filter(|(p, _)| count(p) < MOST_SHIFTS).map(|(p, score)| (p.clone(), score));
    let best = shifts_of.max_by_key(|(p, score)| (*score > 0, std::cmp::Reverse(count(p)), *score));
    // Squares may compensate a product with a negative coefficient. The proof then depends on which
    // factor is less.
    let pairs = less.iter().filter_map(|(m, _)| {
        let mut atoms = powers(*m).filter_map(|(a, _)| frame.base(a));
        atoms.next()?.plus(atoms.next()?, -1)
    });
    let mut pairs = pairs.filter(|p| p.degree() <= 1 && count(p) == 0);
    let (best, next) = match best {
        Some((best, score)) if score > 0 => (best.clone(), best.plus(&Packed::constant(-1), 1)?),
        other => match (pairs.next(), other) {
            (Some(pair), _) => (pair.clone(), pair),
            (None, other) => {
                let (best, _) = other?;
                (best.clone(), best.plus(&Packed::constant(-1), 1)?)
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
