//! **Symbolic summation** of polynomials over the index tuples that satisfy a predicate. Indices
//! are summed out one by one, each between its bounds.

use super::disjoint::{Conjunction, Cut, MOST_STEPS, bound, coefficient, disjoint, made_of, remainders, uneven};
use super::quotient::simpler;
use super::{Formula, Piece, Ratio};
use crate::predicate::{Atom, Context, Index, Poly, Pred};
use lang_base::pause;

/// The reasons why there is no formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uncounted {
    /// The predicate depends on data.
    Data,
    /// Indices are multiplied by each other or by sizes.
    Nonlinear,
    /// There are too many cases, or numbers become too large.
    TooMany,
}

/// The maximal number of systems of comparisons.
const MOST: usize = 192;

/// Counts the tuples of these indices that satisfy the predicate. An extent may mention earlier
/// indices; an extent below 0 counts as 0. `known` are the facts about the sizes.
///
/// # Errors
/// The reason why there is no formula.
pub fn count(indices: &[Index], pred: &Pred, known: &Context) -> Result<Formula, Uncounted> {
    let (groups, alone) = apart(indices, pred);
    if let ([(indices, pred)], true) = (groups.as_slice(), alone.is_true()) {
        return count_group(indices, pred, known);
    }
    let mut product = sum(&[], &alone, &Ratio::constant(1), known)?;
    let mut inside = known.clone();
    inside.assume(&alone);
    for (indices, pred) in groups {
        product = product.product(&count_group(&indices, &pred, &inside)?);
    }
    finished(product.cases(known))
}

fn count_group(indices: &[Index], pred: &Pred, known: &Context) -> Result<Formula, Uncounted> {
    match indices {
        // A single unconstrained index takes all its values.
        [i] if pred.is_true() && !reads(&i.extent) && known.implies(&Pred::nonneg(&i.extent)) => {
            finished(Formula::from(i.extent.clone()).cases(known))
        }
        _ => sum(indices, pred, &Ratio::constant(1), known),
    }
}

fn reads(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(..)));
    found
}

/// Splits the indices into independent groups, each with its conjuncts, and returns the conjuncts
/// without indices too. The number of tuples is the product over the groups.
fn apart(indices: &[Index], pred: &Pred) -> (Vec<(Vec<Index>, Pred)>, Pred) {
    let mut group: Vec<usize> = (0..indices.len()).collect();
    let mut join = |of: &dyn Fn(&Atom) -> bool, also: Option<usize>| {
        let mut all = indices.iter().enumerate().filter(|(k, i)| also == Some(*k) || of(&i.atom())).map(|(k, _)| k);
        let Some(first) = all.next().and_then(|k| group.get(k).copied()) else { return };
        let others: Vec<usize> = all.filter_map(|k| group.get(k).copied()).collect();
        group.iter_mut().filter(|g| others.contains(g)).for_each(|g| *g = first);
    };
    for (k, i) in indices.iter().enumerate() {
        join(&|a| i.extent.mentions(a), Some(k));
    }
    for p in pred.conjuncts() {
        join(&|a| p.mentions(a), None);
    }
    let of = |p: &Pred| indices.iter().zip(&group).find(|(i, _)| p.mentions(&i.atom())).map(|(_, g)| *g);
    let mut names = group.clone();
    names.sort_unstable();
    names.dedup();
    let part = |g: Option<usize>| Pred::all(pred.conjuncts().iter().filter(|p| of(p) == g).cloned());
    let groups = names.into_iter().map(|g| {
        let own = indices.iter().zip(&group).filter(|(_, h)| **h == g).map(|(i, _)| i.clone());
        (own.collect(), part(Some(g)))
    });
    (groups.collect(), part(None))
}

fn finished(sum: Formula) -> Result<Formula, Uncounted> {
    if sum.overflowed() { Err(Uncounted::TooMany) } else { Ok(sum) }
}

/// Sums a polynomial over the tuples of these indices that satisfy the predicate.
///
/// # Errors
/// The reason why there is no formula.
pub fn sum(indices: &[Index], pred: &Pred, value: &Ratio, known: &Context) -> Result<Formula, Uncounted> {
    let inside = indices.iter().map(|i| Pred::inside(&i.value(), &i.extent));
    let all = Pred::all(inside.chain([pred.clone()]));
    let until = known.spent().saturating_add(MOST_STEPS);
    let mut sums = Sums { known, pieces: Vec::new(), left: MOST, until };
    for of in disjoint(&all, known)? {
        sums.add(System { vars: indices.iter().map(Index::atom).collect(), of, value: value.clone() })?;
    }
    finished(Formula::of(sums.pieces).cases(known))
}

/// A remaining sum: of `value`, over these variables, where the comparisons hold.
#[derive(Clone)]
struct System {
    vars: Vec<Atom>,
    of: Conjunction,
    value: Ratio,
}

struct Sums<'k> {
    known: &'k Context,
    pieces: Vec<Piece>,
    left: usize,
    /// The limit on the prover's steps.
    until: u64,
}

impl System {
    fn put(&mut self, atom: &Atom, by: &Poly) {
        self.of.put(atom, by);
        self.value = self.value.substitute(&|a: &Atom| (a == atom).then(|| by.clone()));
    }

    fn has(&self, p: &Poly) -> bool {
        self.vars.iter().any(|v| p.mentions(v))
    }

    fn polys(&self) -> impl Iterator<Item = &Poly> {
        self.of.bounds.iter().chain(&self.of.equations).chain([self.value.parts().0])
    }

    /// Returns a compound atom that mentions variables.
    fn made(&self) -> Option<Atom> {
        self.of.made_of(&self.vars).or_else(|| made_of(self.value.parts().0, &self.vars))
    }
}

impl Sums<'_> {
    fn add(&mut self, mut system: System) -> Result<(), Uncounted> {
        pause();
        self.left = self.left.checked_sub(1).ok_or(Uncounted::TooMany)?;
        if self.known.spent() > self.until || system.polys().any(Poly::overflowed) {
            return Err(Uncounted::TooMany);
        }
        if system.polys().any(reads) {
            return Err(Uncounted::Data);
        }
        self.without_needless(&mut system);
        if let Some(atom) = system.made() {
            return self.apart(&system, &atom);
        }
        // An equation determines a variable.
        let vars = system.vars.clone();
        for (k, p) in system.of.equations.iter().enumerate().filter(|(_, p)| system.has(p)) {
            let mut least: Option<(i128, &Atom, Poly)> = None;
            for var in &vars {
                if let Ok(Some((c, r))) = coefficient(p, var)
                    && least.as_ref().is_none_or(|(d, ..)| c.abs() < d.abs())
                {
                    least = Some((c, var, r));
                }
            }
            let Some((c, var, r)) = least else { continue };
            let (var, c, r) = (var.clone(), c.abs(), if c > 0 { r.neg() } else { r });
            // c·x = r
            if let Some(other) = uneven(&r, c, &system.vars) {
                return self.by_remainders(&system, &other, c);
            }
            system.of.equations.remove(k);
            let divisor = Poly::constant(c);
            system.of.equations.push(r.rem(&divisor).ok_or(Uncounted::Nonlinear)?);
            system.vars.retain(|v| *v != var);
            system.put(&var, &r.div(&divisor).ok_or(Uncounted::Nonlinear)?);
            return self.add(system);
        }
        if system.of.equations.iter().any(|p| system.has(p)) {
            return Err(Uncounted::Nonlinear);
        }
        match self.choose(&system)? {
            None => self.done(&system),
            Some(var) => self.between(system, &var),
        }
    }

    /// Drops nonlinear bounds that follow from the others, such as `p·i + j < n·p` if `i < n` and
    /// `j < p`.
    fn without_needless(&self, system: &mut System) {
        let uneven = |p: &Poly| system.vars.iter().any(|v| coefficient(p, v).is_err());
        let (of, mut kept): (Vec<Poly>, Vec<Poly>) = system.of.bounds.iter().cloned().partition(uneven);
        if of.is_empty() {
            return;
        }
        let mut inside = self.known.clone();
        kept.iter().for_each(|p| inside.assume(&Pred::nonneg(p)));
        kept.extend(of.into_iter().filter(|p| !inside.implies(&Pred::nonneg(p))));
        system.of.bounds = kept;
    }

    /// Emits a piece, after all variables are summed out.
    fn done(&mut self, system: &System) -> Result<(), Uncounted> {
        let bounds = system.of.bounds.iter().map(Pred::nonneg);
        let pred = Pred::all(bounds.chain(system.of.equations.iter().map(Pred::zero)));
        let pred = self.known.simplify(&pred);
        if !pred.is_false() && !system.value.is_zero() {
            self.pieces.push(Piece { pred, value: system.value.clone() });
        }
        Ok(())
    }

    /// Chooses the next variable to sum out: one without divisors in its bounds if possible, and
    /// with few pairs of bounds.
    fn choose(&self, system: &System) -> Result<Option<Atom>, Uncounted> {
        let mut best: Option<((bool, usize), &Atom)> = None;
        let mut why = None;
        for var in system.vars.iter().rev() {
            let (mut lower, mut upper, mut divided) = (0, 0, false);
            let mut linear = true;
            for p in &system.of.bounds {
                match coefficient(p, var) {
                    Ok(None) => {}
                    Ok(Some((c, _))) => {
                        divided |= c.abs() != 1;
                        *(if c > 0 { &mut lower } else { &mut upper }) += 1;
                    }
                    Err(error) => {
                        linear = false;
                        why = Some(error);
                    }
                }
            }
            let rank = (divided, lower * upper);
            if linear && best.as_ref().is_none_or(|(known, _)| rank < *known) {
                best = Some((rank, var));
            }
        }
        match (best, why) {
            (Some((_, var)), _) => Ok(Some(var.clone())),
            (None, Some(why)) => Err(why),
            (None, None) => Ok(None),
        }
    }

    /// Sums over a variable from its greatest lower bound to its least upper bound. Each pair of
    /// bounds that may be these is a case.
    fn between(&mut self, mut system: System, var: &Atom) -> Result<(), Uncounted> {
        let (mut lower, mut upper, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for p in &system.of.bounds {
            let Some((c, r)) = coefficient(p, var)? else {
                others.push(p.clone());
                continue;
            };
            if let Some(other) = uneven(&r, c, &system.vars) {
                return self.by_remainders(&system, &other, c);
            }
            match bound(c, &r)? {
                (first, true) => lower.push(first),
                (last, false) => upper.push(last),
            }
        }
        system.vars.retain(|v| v != var);
        system.of.bounds = others;
        let mut known = self.known.clone();
        system.of.bounds.iter().for_each(|p| known.assume(&Pred::nonneg(p)));
        // The maximum is the negated minimum of the negated bounds.
        let lower = extreme(&known, &lower.iter().map(Poly::neg).collect::<Vec<_>>());
        let upper = extreme(&known, &upper);
        if lower.is_empty() || upper.is_empty() {
            return Err(Uncounted::Nonlinear);
        }
        for (first, above) in &lower {
            for (last, below) in &upper {
                let first = first.neg();
                let mut next = system.clone();
                next.of.bounds.extend(above.iter().chain(below).cloned());
                // If the range is just empty, the sum is 0, so the case may include it.
                next.of.bounds.push(last.sub(&first).plus(1));
                next.value = system.value.sum_over(var, &first, last).ok_or(Uncounted::Nonlinear)?;
                let mut inside = self.known.clone();
                next.of.bounds.iter().for_each(|p| inside.assume(&Pred::nonneg(p)));
                if !inside.contradictory() {
                    self.add(next)?;
                }
            }
        }
        Ok(())
    }

    /// Splits a variable by its remainders: it is `c·x + r`, for each `r` in turn.
    fn by_remainders(&mut self, system: &System, var: &Atom, c: i128) -> Result<(), Uncounted> {
        for by in remainders(var, c)? {
            let mut next = system.clone();
            next.put(var, &by);
            self.add(next)?;
        }
        Ok(())
    }

    /// Eliminates an atom that cannot be split, such as `i // n`. It may simplify to `j + k // n`,
    /// an equation may determine a variable from it, or its bounds may follow from the others.
    fn without(&mut self, system: &System, made: &Atom, why: Uncounted) -> Result<(), Uncounted> {
        let mut next = system.clone();
        if let Some((atom, by)) = simpler(system.polys(), &system.of.assumed(self.known)) {
            next.put(&atom, &by);
            return self.add(next);
        }
        for (k, p) in system.of.equations.iter().enumerate().filter(|(_, p)| p.mentions(made)) {
            let told = system.vars.iter().find_map(|var| Some((var, p.linear_in(var).filter(|(c, _)| c.abs() == 1)?)));
            if let Some((var, (c, rest))) = told {
                next.of.equations.remove(k);
                next.vars.retain(|v| v != var);
                let by = if c > 0 { rest.neg() } else { rest };
                next.put(var, &by);
                return self.add(next);
            }
        }
        let (of, mut kept): (Vec<Poly>, Vec<Poly>) = next.of.bounds.iter().cloned().partition(|p| p.mentions(made));
        let mut inside = self.known.clone();
        kept.iter().for_each(|p| inside.assume(&Pred::nonneg(p)));
        let count = of.len();
        let of: Vec<Poly> = of.into_iter().filter(|p| !inside.implies(&Pred::nonneg(p))).collect();
        if of.len() == count {
            return Err(why);
        }
        kept.extend(of);
        next.of.bounds = kept;
        self.add(next)
    }

    /// Splits by a compound atom that mentions variables.
    fn apart(&mut self, system: &System, made: &Atom) -> Result<(), Uncounted> {
        match Cut::of(made, &system.vars) {
            Err(why) => self.without(system, made, why),
            Ok(Cut::Remainders(var, c)) => self.by_remainders(system, &var, c),
            Ok(Cut::Cases(cases)) => cases.into_iter().try_for_each(|(is, bound)| {
                let mut next = system.clone();
                next.put(made, &is);
                next.of.bounds.push(bound);
                self.add(next)
            }),
        }
    }
}

/// Returns the polynomials that may be the minimum. Each comes with the polynomials that are
/// nonnegative exactly where it is the first minimum.
fn extreme(known: &Context, of: &[Poly]) -> Vec<(Poly, Vec<Poly>)> {
    let mut few: Vec<&Poly> = Vec::new();
    for (k, p) in of.iter().enumerate() {
        let others = few.iter().copied().chain(of.iter().skip(k + 1));
        // If two polynomials are equal everywhere, the last one stays.
        let needless = others.into_iter().any(|other| known.implies(&Pred::nonneg(&p.sub(other))));
        if !needless {
            few.push(p);
        }
    }
    let mut all = Vec::new();
    for (k, p) in few.iter().enumerate() {
        let others = few.iter().enumerate().filter(|(j, _)| *j != k);
        let least = others.map(|(j, other)| other.sub(p).plus(if j < k { -1 } else { 0 })).collect();
        all.push(((*p).clone(), least));
    }
    all
}
