//! **Disjoint conjunctions** of comparisons, into which a predicate is split. Existentials are
//! eliminated exactly, by the integer form of Fourier-Motzkin elimination. A bound on a variable
//! with a constant coefficient is rounded to a floor or a ceiling. Then an integer exists between
//! the bounds exactly if each lower bound is at most each upper one.

use super::UncountedReason;
use super::quotient::{eliminate_determined_quotient, find_simpler_quotient};
use crate::predicate::{Atom, FactContext, Index, Poly, Pred};
use lang_base::check_cancelled;

/// The maximal number of cases.
const MAX_CASES: usize = 128;

/// The maximal number of prover steps, here and for a sum.
pub(super) const MAX_PROVER_STEPS: u64 = 10_000_000;

/// The maximal number of remainders by which a variable is split.
const MAX_REMAINDERS: i128 = 64;

/// A conjunction of comparisons.
#[derive(Clone, Default, Debug)]
pub(super) struct Conjunction {
    /// Polynomials that are not negative.
    pub(super) bounds: Vec<Poly>,
    /// Polynomials that are zero.
    pub(super) equations: Vec<Poly>,
}

impl Conjunction {
    fn polys(&self) -> impl Iterator<Item = &Poly> {
        self.bounds.iter().chain(&self.equations)
    }

    /// Substitutes a polynomial for an atom.
    pub(super) fn substitute(&mut self, atom: &Atom, by: &Poly) {
        let put = |a: &Atom| (a == atom).then(|| by.clone());
        self.bounds.iter_mut().chain(&mut self.equations).for_each(|p| *p = p.substitute(&put));
    }

    /// Returns a compound atom that mentions these variables.
    pub(super) fn compound_atom(&self, vars: &[Atom]) -> Option<Atom> {
        self.polys().find_map(|p| compound_atom(p, vars))
    }

    /// Splits the conjunction by a compound atom that mentions these variables. The cases are
    /// disjoint.
    fn split_by_atom(&self, compound: &Atom, vars: &[Atom]) -> Result<Vec<Self>, UncountedReason> {
        Ok(match AtomSplit::for_atom(compound, vars)? {
            AtomSplit::Cases(cases) => cases
                .into_iter()
                .map(|(is, bound)| {
                    let mut case = self.clone();
                    case.substitute(compound, &is);
                    case.bounds.push(bound);
                    case
                })
                .collect(),
            AtomSplit::Remainders(var, c) => remainder_forms(&var, c)?
                .map(|by| {
                    let mut case = self.clone();
                    case.substitute(&var, &by);
                    case
                })
                .collect(),
        })
    }

    /// Simplifies a quotient or a remainder by a size, if the facts allow it.
    fn simplify_size_quotient(&self, known: &FactContext) -> Option<Self> {
        let Some((atom, by)) = find_simpler_quotient(self.polys(), &self.extend_context(known)) else {
            return eliminate_determined_quotient(self, known);
        };
        let mut simple = self.clone();
        simple.substitute(&atom, &by);
        Some(simple)
    }

    pub(super) fn extend_context(&self, known: &FactContext) -> FactContext {
        let mut known = known.clone();
        self.bounds.iter().for_each(|p| known.assume(&Pred::nonneg(p)));
        self.equations.iter().for_each(|p| known.assume(&Pred::zero(p)));
        known
    }
}

/// Splits a predicate into disjoint conjunctions, without those that contradict the facts.
pub(super) fn disjoint(p: &Pred, known: &FactContext) -> Result<Vec<Conjunction>, UncountedReason> {
    let until = known.steps_spent().saturating_add(MAX_PROVER_STEPS);
    let mut cases = DisjointSplitter { known, conjunctions: Vec::new(), cases_left: MAX_CASES, step_limit: until };
    cases.split(vec![p.clone()], Conjunction::default())?;
    Ok(cases.conjunctions)
}

struct DisjointSplitter<'k> {
    known: &'k FactContext,
    conjunctions: Vec<Conjunction>,
    /// The number of cases that may still be visited.
    cases_left: usize,
    /// The limit on the prover's steps.
    step_limit: u64,
}

impl DisjointSplitter<'_> {
    /// Adds the conjunctions of `taken` and all of `open`.
    fn split(&mut self, mut open: Vec<Pred>, mut taken: Conjunction) -> Result<(), UncountedReason> {
        check_cancelled();
        self.cases_left = self.cases_left.checked_sub(1).ok_or(UncountedReason::TooMany)?;
        if self.known.steps_spent() > self.step_limit {
            return Err(UncountedReason::TooMany);
        }
        let mut later = Vec::new();
        while let Some(p) = open.pop() {
            match p {
                Pred::And(items) => open.extend(items.iter().rev().cloned()),
                Pred::Ge(p) => taken.bounds.push(p),
                Pred::Eq(p) => taken.equations.push(p),
                Pred::Exists(index, body, holds) => {
                    let some = eliminate_index(&index, &body, self.known)?;
                    open.push(if holds { some } else { some.negated() });
                }
                Pred::Or(_) | Pred::Ne(_) => later.push(p),
                Pred::Element(..) | Pred::Member(..) => return Err(UncountedReason::Data),
            }
        }
        if taken.extend_context(self.known).is_contradictory() {
            return Ok(());
        }
        let Some(next) = later.pop() else {
            self.conjunctions.push(taken);
            return Ok(());
        };
        let cases: Vec<Pred> = match &next {
            Pred::Or(items) => items.to_vec(),
            Pred::Ne(p) => vec![Pred::nonneg(&p.add_constant(-1)), Pred::nonneg(&p.neg().add_constant(-1))],
            _ => Vec::new(),
        };
        let is_disjoint = matches!(next, Pred::Ne(_));
        for (k, case) in cases.iter().enumerate() {
            let mut open = later.clone();
            open.extend(cases.iter().take(if is_disjoint { 0 } else { k }).map(Pred::negated));
            open.push(case.clone());
            self.split(open, taken.clone())?;
        }
        Ok(())
    }
}

/// Returns the predicate that an index exists for which the body holds.
fn eliminate_index(index: &Index, body: &Pred, known: &FactContext) -> Result<Pred, UncountedReason> {
    let atom = index.atom();
    let range = Pred::in_range(&index.value(), &index.extent);
    let mut open = disjoint(&body.and(&range), known)?;
    let (mut cases, mut left) = (Vec::new(), MAX_CASES);
    while let Some(case) = open.pop() {
        left = left.checked_sub(1).ok_or(UncountedReason::TooMany)?;
        let Some(compound) = case.compound_atom(std::slice::from_ref(&atom)) else {
            cases.push(eliminate_variable(&case, &atom)?);
            continue;
        };
        match case.split_by_atom(&compound, std::slice::from_ref(&atom)) {
            Ok(parts) => open.extend(parts),
            Err(why) => open.push(case.simplify_size_quotient(known).ok_or(why)?),
        }
    }
    Ok(Pred::any_of(cases))
}

/// Returns the predicate that an integer exists for which the whole conjunction holds.
fn eliminate_variable(of: &Conjunction, atom: &Atom) -> Result<Pred, UncountedReason> {
    let mut rest: Vec<Pred> = Vec::new();
    let mut solution: Option<(usize, i128, Poly)> = None;
    for (k, p) in of.equations.iter().enumerate() {
        match coefficient(p, atom)? {
            None => rest.push(Pred::zero(p)),
            // c·x + r = 0
            Some((c, r)) => {
                let (c, r) = if c < 0 { (c.checked_neg().ok_or(UncountedReason::Nonlinear)?, r) } else { (c, r.neg()) };
                if solution.as_ref().is_none_or(|(_, least, _)| c < *least) {
                    solution = Some((k, c, r));
                }
            }
        }
    }
    if let Some((k, c, r)) = solution {
        // x is r / c, if that is an integer.
        let divisor = Poly::constant(c);
        let value = r.div(&divisor).ok_or(UncountedReason::Nonlinear)?;
        let put = |p: &Poly| p.substitute(&|a| (a == atom).then(|| value.clone()));
        let others = of.equations.iter().enumerate().filter(|(j, p)| *j != k && p.mentions(atom));
        let mut rest: Vec<Pred> = rest.into_iter().chain(others.map(|(_, p)| Pred::zero(&put(p)))).collect();
        rest.push(Pred::zero(&r.rem(&divisor).ok_or(UncountedReason::Nonlinear)?));
        rest.extend(of.bounds.iter().map(|p| Pred::nonneg(&put(p))));
        return Ok(Pred::all(rest));
    }
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for p in &of.bounds {
        match coefficient(p, atom)? {
            None => rest.push(Pred::nonneg(p)),
            Some((c, r)) => match round_bound(c, &r)? {
                (first, true) => lower.push(first),
                (last, false) => upper.push(last),
            },
        }
    }
    for first in &lower {
        rest.extend(upper.iter().map(|last| Pred::at_most(first, last)));
    }
    Ok(Pred::all(rest))
}

/// Splits `p = c·x + r` with a constant `c`. Returns `None` if `x` does not occur in `p`.
pub(super) fn coefficient(p: &Poly, x: &Atom) -> Result<Option<(i128, Poly)>, UncountedReason> {
    if !p.mentions(x) {
        return Ok(None);
    }
    p.linear_in(x).map(Some).ok_or(UncountedReason::Nonlinear)
}

/// Returns the bound of `x` from `c·x + r >= 0`, and whether it is a lower one.
pub(super) fn round_bound(c: i128, r: &Poly) -> Result<(Poly, bool), UncountedReason> {
    let by = |p: &Poly, c: i128| p.div(&Poly::constant(c)).ok_or(UncountedReason::Nonlinear);
    if c > 0 {
        // The ceiling of -r / c is minus the floor of r / c.
        Ok((by(r, c)?.neg(), true))
    } else {
        Ok((by(r, c.checked_neg().ok_or(UncountedReason::Nonlinear)?)?, false))
    }
}

/// Returns a compound atom that mentions these variables, innermost first: a quotient, a remainder,
/// a minimum or a maximum.
pub(super) fn compound_atom(p: &Poly, vars: &[Atom]) -> Option<Atom> {
    let has = |p: &Poly| vars.iter().any(|v| p.mentions(v));
    let mut found = None;
    p.for_each_atom(&mut |a| match a {
        Atom::Div(p, q) | Atom::Mod(p, q) | Atom::Min(p, q) | Atom::Max(p, q) if has(p) || has(q) => {
            found = Some(a.clone());
        }
        _ => {}
    });
    found
}

/// The way to split by a compound atom.
pub(super) enum AtomSplit {
    /// Two cases: the value of the atom, and a polynomial that is nonnegative in that case.
    Cases([(Poly, Poly); 2]),
    /// The remainders of a variable by a constant.
    Remainders(Atom, i128),
}

impl AtomSplit {
    pub(super) fn for_atom(compound: &Atom, vars: &[Atom]) -> Result<Self, UncountedReason> {
        match compound {
            Atom::Min(p, q) | Atom::Max(p, q) => {
                let (p, q) = (p.as_ref(), q.as_ref());
                let over = if matches!(compound, Atom::Min(..)) { q.sub(p) } else { p.sub(q) };
                Ok(Self::Cases([(p.clone(), over.clone()), (q.clone(), over.neg().add_constant(-1))]))
            }
            Atom::Div(p, q) | Atom::Mod(p, q) => {
                let c = q.as_constant().filter(|c| *c != 0).ok_or(UncountedReason::Nonlinear)?;
                let var = non_multiple_variable(p, c, vars).ok_or(UncountedReason::Nonlinear)?;
                Ok(Self::Remainders(var, c))
            }
            _ => Err(UncountedReason::Nonlinear),
        }
    }
}

/// Returns one of these variables that occurs in `p` with a coefficient that is not a multiple of
/// `c`.
pub(super) fn non_multiple_variable(p: &Poly, c: i128, vars: &[Atom]) -> Option<Atom> {
    let uneven = p.terms().iter().filter(|(_, d)| d % c != 0);
    uneven.flat_map(|(m, _)| m).find(|(a, _)| vars.contains(a)).map(|(a, _)| a.clone())
}

/// Returns the forms of a variable by its remainders: `c·x + r` for all `r`.
pub(super) fn remainder_forms(var: &Atom, c: i128) -> Result<impl Iterator<Item = Poly>, UncountedReason> {
    let c = c.checked_abs().filter(|c| *c <= MAX_REMAINDERS).ok_or(UncountedReason::TooMany)?;
    let var = Poly::atom(var.clone());
    Ok((0..c).map(move |r| var.scale(c).add_constant(r)))
}
