//! **Disjoint conjunctions** of comparisons, into which a predicate is split. Existentials are
//! eliminated exactly, by the integer form of Fourier-Motzkin elimination. A bound on a variable
//! with a constant coefficient is rounded to a floor or a ceiling. Then an integer exists between
//! the bounds exactly if each lower bound is at most each upper one.

use super::Uncounted;
use super::quotient::{simpler, told};
use crate::predicate::{Atom, Context, Index, Poly, Pred};
use lang_base::pause;

/// The maximal number of cases.
const MOST: usize = 128;

/// The maximal number of prover steps, here and for a sum.
pub(super) const MOST_STEPS: u64 = 10_000_000;

/// The maximal number of remainders by which a variable is split.
const REMAINDERS: i128 = 64;

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
    pub(super) fn put(&mut self, atom: &Atom, by: &Poly) {
        let put = |a: &Atom| (a == atom).then(|| by.clone());
        self.bounds.iter_mut().chain(&mut self.equations).for_each(|p| *p = p.substitute(&put));
    }

    /// Returns a compound atom that mentions these variables.
    pub(super) fn made_of(&self, vars: &[Atom]) -> Option<Atom> {
        self.polys().find_map(|p| made_of(p, vars))
    }

    /// Splits the conjunction by a compound atom that mentions these variables. The cases are
    /// disjoint.
    fn apart(&self, made: &Atom, vars: &[Atom]) -> Result<Vec<Self>, Uncounted> {
        Ok(match Cut::of(made, vars)? {
            Cut::Cases(cases) => cases
                .into_iter()
                .map(|(is, bound)| {
                    let mut case = self.clone();
                    case.put(made, &is);
                    case.bounds.push(bound);
                    case
                })
                .collect(),
            Cut::Remainders(var, c) => remainders(&var, c)?
                .map(|by| {
                    let mut case = self.clone();
                    case.put(&var, &by);
                    case
                })
                .collect(),
        })
    }

    /// Simplifies a quotient or a remainder by a size, if the facts allow it.
    fn by_sizes(&self, known: &Context) -> Option<Self> {
        let Some((atom, by)) = simpler(self.polys(), &self.assumed(known)) else { return told(self, known) };
        let mut simple = self.clone();
        simple.put(&atom, &by);
        Some(simple)
    }

    pub(super) fn assumed(&self, known: &Context) -> Context {
        let mut known = known.clone();
        self.bounds.iter().for_each(|p| known.assume(&Pred::nonneg(p)));
        self.equations.iter().for_each(|p| known.assume(&Pred::zero(p)));
        known
    }
}

/// Splits a predicate into disjoint conjunctions, without those that contradict the facts.
pub(super) fn disjoint(p: &Pred, known: &Context) -> Result<Vec<Conjunction>, Uncounted> {
    let until = known.spent().saturating_add(MOST_STEPS);
    let mut cases = Cases { known, all: Vec::new(), left: MOST, until };
    cases.split(vec![p.clone()], Conjunction::default())?;
    Ok(cases.all)
}

struct Cases<'k> {
    known: &'k Context,
    all: Vec<Conjunction>,
    /// The number of cases that may still be visited.
    left: usize,
    /// The limit on the prover's steps.
    until: u64,
}

impl Cases<'_> {
    /// Adds the conjunctions of `taken` and all of `open`.
    fn split(&mut self, mut open: Vec<Pred>, mut taken: Conjunction) -> Result<(), Uncounted> {
        pause();
        self.left = self.left.checked_sub(1).ok_or(Uncounted::TooMany)?;
        if self.known.spent() > self.until {
            return Err(Uncounted::TooMany);
        }
        let mut later = Vec::new();
        while let Some(p) = open.pop() {
            match p {
                Pred::And(items) => open.extend(items.iter().rev().cloned()),
                Pred::Ge(p) => taken.bounds.push(p),
                Pred::Eq(p) => taken.equations.push(p),
                Pred::Any(index, body, holds) => {
                    let some = eliminated(&index, &body, self.known)?;
                    open.push(if holds { some } else { some.negated() });
                }
                Pred::Or(_) | Pred::Ne(_) => later.push(p),
                Pred::Is(..) | Pred::Member(..) => return Err(Uncounted::Data),
            }
        }
        if taken.assumed(self.known).contradictory() {
            return Ok(());
        }
        let Some(next) = later.pop() else {
            self.all.push(taken);
            return Ok(());
        };
        let cases: Vec<Pred> = match &next {
            Pred::Or(items) => items.to_vec(),
            Pred::Ne(p) => vec![Pred::nonneg(&p.plus(-1)), Pred::nonneg(&p.neg().plus(-1))],
            _ => Vec::new(),
        };
        let apart = matches!(next, Pred::Ne(_));
        for (k, case) in cases.iter().enumerate() {
            let mut open = later.clone();
            open.extend(cases.iter().take(if apart { 0 } else { k }).map(Pred::negated));
            open.push(case.clone());
            self.split(open, taken.clone())?;
        }
        Ok(())
    }
}

/// Returns the predicate that an index exists for which the body holds.
fn eliminated(index: &Index, body: &Pred, known: &Context) -> Result<Pred, Uncounted> {
    let atom = index.atom();
    let range = Pred::inside(&index.value(), &index.extent);
    let mut open = disjoint(&body.and(&range), known)?;
    let (mut cases, mut left) = (Vec::new(), MOST);
    while let Some(case) = open.pop() {
        left = left.checked_sub(1).ok_or(Uncounted::TooMany)?;
        let Some(made) = case.made_of(std::slice::from_ref(&atom)) else {
            cases.push(without(&case, &atom)?);
            continue;
        };
        match case.apart(&made, std::slice::from_ref(&atom)) {
            Ok(apart) => open.extend(apart),
            Err(why) => open.push(case.by_sizes(known).ok_or(why)?),
        }
    }
    Ok(Pred::any_of(cases))
}

/// Returns the predicate that an integer exists for which the whole conjunction holds.
fn without(of: &Conjunction, atom: &Atom) -> Result<Pred, Uncounted> {
    let mut rest: Vec<Pred> = Vec::new();
    let mut told: Option<(usize, i128, Poly)> = None;
    for (k, p) in of.equations.iter().enumerate() {
        match coefficient(p, atom)? {
            None => rest.push(Pred::zero(p)),
            // c·x + r = 0
            Some((c, r)) => {
                let (c, r) = if c < 0 { (c.checked_neg().ok_or(Uncounted::Nonlinear)?, r) } else { (c, r.neg()) };
                if told.as_ref().is_none_or(|(_, least, _)| c < *least) {
                    told = Some((k, c, r));
                }
            }
        }
    }
    if let Some((k, c, r)) = told {
        // x is r / c, if that is an integer.
        let divisor = Poly::constant(c);
        let value = r.div(&divisor).ok_or(Uncounted::Nonlinear)?;
        let put = |p: &Poly| p.substitute(&|a| (a == atom).then(|| value.clone()));
        let others = of.equations.iter().enumerate().filter(|(j, p)| *j != k && p.mentions(atom));
        let mut rest: Vec<Pred> = rest.into_iter().chain(others.map(|(_, p)| Pred::zero(&put(p)))).collect();
        rest.push(Pred::zero(&r.rem(&divisor).ok_or(Uncounted::Nonlinear)?));
        rest.extend(of.bounds.iter().map(|p| Pred::nonneg(&put(p))));
        return Ok(Pred::all(rest));
    }
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for p in &of.bounds {
        match coefficient(p, atom)? {
            None => rest.push(Pred::nonneg(p)),
            Some((c, r)) => match bound(c, &r)? {
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
pub(super) fn coefficient(p: &Poly, x: &Atom) -> Result<Option<(i128, Poly)>, Uncounted> {
    if !p.mentions(x) {
        return Ok(None);
    }
    p.linear_in(x).map(Some).ok_or(Uncounted::Nonlinear)
}

/// Returns the bound of `x` from `c·x + r >= 0`, and whether it is a lower one.
pub(super) fn bound(c: i128, r: &Poly) -> Result<(Poly, bool), Uncounted> {
    let by = |p: &Poly, c: i128| p.div(&Poly::constant(c)).ok_or(Uncounted::Nonlinear);
    if c > 0 {
        // The ceiling of -r / c is minus the floor of r / c.
        Ok((by(r, c)?.neg(), true))
    } else {
        Ok((by(r, c.checked_neg().ok_or(Uncounted::Nonlinear)?)?, false))
    }
}

/// Returns a compound atom that mentions these variables, innermost first: a quotient, a remainder,
/// a minimum or a maximum.
pub(super) fn made_of(p: &Poly, vars: &[Atom]) -> Option<Atom> {
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
pub(super) enum Cut {
    /// Two cases: the value of the atom, and a polynomial that is nonnegative in that case.
    Cases([(Poly, Poly); 2]),
    /// The remainders of a variable by a constant.
    Remainders(Atom, i128),
}

impl Cut {
    pub(super) fn of(made: &Atom, vars: &[Atom]) -> Result<Self, Uncounted> {
        match made {
            Atom::Min(p, q) | Atom::Max(p, q) => {
                let (p, q) = (p.as_ref(), q.as_ref());
                let over = if matches!(made, Atom::Min(..)) { q.sub(p) } else { p.sub(q) };
                Ok(Self::Cases([(p.clone(), over.clone()), (q.clone(), over.neg().plus(-1))]))
            }
            Atom::Div(p, q) | Atom::Mod(p, q) => {
                let c = q.as_constant().filter(|c| *c != 0).ok_or(Uncounted::Nonlinear)?;
                let var = uneven(p, c, vars).ok_or(Uncounted::Nonlinear)?;
                Ok(Self::Remainders(var, c))
            }
            _ => Err(Uncounted::Nonlinear),
        }
    }
}

/// Returns one of these variables that occurs in `p` with a coefficient that is not a multiple of
/// `c`.
pub(super) fn uneven(p: &Poly, c: i128, vars: &[Atom]) -> Option<Atom> {
    let uneven = p.terms().iter().filter(|(_, d)| d % c != 0);
    uneven.flat_map(|(m, _)| m).find(|(a, _)| vars.contains(a)).map(|(a, _)| a.clone())
}

/// Returns the forms of a variable by its remainders: `c·x + r` for all `r`.
pub(super) fn remainders(var: &Atom, c: i128) -> Result<impl Iterator<Item = Poly>, Uncounted> {
    let c = c.checked_abs().filter(|c| *c <= REMAINDERS).ok_or(Uncounted::TooMany)?;
    let var = Poly::atom(var.clone());
    Ok((0..c).map(move |r| var.scale(c).plus(r)))
}
