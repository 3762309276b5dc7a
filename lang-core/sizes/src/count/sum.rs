//! **Symbolic summation** of polynomials over the index tuples that satisfy a predicate. Indices
//! are summed out one by one, each between its bounds.

use super::disjoint::{
    AtomSplit, Conjunction, MAX_PROVER_STEPS, coefficient, compound_atom, disjoint, non_multiple_variable,
    remainder_forms, round_bound,
};
use super::quotient::find_simpler_quotient;
use super::{Formula, FormulaPiece, Ratio};
use crate::predicate::{Atom, FactContext, Index, Poly, Pred};
use lang_base::check_cancelled;

/// The reasons why there is no formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UncountedReason {
    /// The predicate depends on data.
    Data,
    /// Indices are multiplied by each other or by sizes.
    Nonlinear,
    /// There are too many cases, or numbers become too large.
    TooMany,
}

/// The maximal number of systems of comparisons.
const MAX_SYSTEMS: usize = 192;

/// Counts the tuples of these indices that satisfy the predicate. An extent may mention earlier
/// indices; an extent below 0 counts as 0. `known` are the facts about the sizes.
///
/// # Errors
/// The reason why there is no formula.
pub fn count(indices: &[Index], pred: &Pred, known: &FactContext) -> Result<Formula, UncountedReason> {
    let (groups, alone) = independent_groups(indices, pred);
    if let ([(indices, pred)], true) = (groups.as_slice(), alone.is_true()) {
        return count_group(indices, pred, known);
    }
    let mut product = sum(&[], &alone, &Ratio::constant(1), known)?;
    let mut inside = known.clone();
    inside.assume(&alone);
    for (indices, pred) in groups {
        product = product.mul(&count_group(&indices, &pred, &inside)?);
    }
    reject_overflow(product.to_cases(known))
}

fn count_group(indices: &[Index], pred: &Pred, known: &FactContext) -> Result<Formula, UncountedReason> {
    match indices {
        // A single unconstrained index takes all its values.
        [i] if pred.is_true() && !reads_data(&i.extent) && known.implies(&Pred::nonneg(&i.extent)) => {
            reject_overflow(Formula::from(i.extent.clone()).to_cases(known))
        }
        _ => sum(indices, pred, &Ratio::constant(1), known),
    }
}

fn reads_data(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(..)));
    found
}

/// Splits the indices into independent groups, each with its conjuncts, and returns the conjuncts
/// without indices too. The number of tuples is the product over the groups.
fn independent_groups(indices: &[Index], pred: &Pred) -> (Vec<(Vec<Index>, Pred)>, Pred) {
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

fn reject_overflow(sum: Formula) -> Result<Formula, UncountedReason> {
    if sum.has_overflowed() { Err(UncountedReason::TooMany) } else { Ok(sum) }
}

/// Sums a polynomial over the tuples of these indices that satisfy the predicate.
///
/// # Errors
/// The reason why there is no formula.
pub fn sum(indices: &[Index], pred: &Pred, value: &Ratio, known: &FactContext) -> Result<Formula, UncountedReason> {
    let inside = indices.iter().map(|i| Pred::in_range(&i.value(), &i.extent));
    let all = Pred::all(inside.chain([pred.clone()]));
    let until = known.steps_spent().saturating_add(MAX_PROVER_STEPS);
    let mut sums = Summation { known, pieces: Vec::new(), systems_left: MAX_SYSTEMS, step_limit: until };
    for of in disjoint(&all, known)? {
        sums.sum_system(PendingSum {
            vars: indices.iter().map(Index::atom).collect(),
            conditions: of,
            value: value.clone(),
        })?;
    }
    reject_overflow(Formula::from_pieces(sums.pieces).to_cases(known))
}

/// A remaining sum: of `value`, over these variables, where the comparisons hold.
#[derive(Clone)]
struct PendingSum {
    vars: Vec<Atom>,
    conditions: Conjunction,
    value: Ratio,
}

struct Summation<'k> {
    known: &'k FactContext,
    pieces: Vec<FormulaPiece>,
    systems_left: usize,
    /// The limit on the prover's steps.
    step_limit: u64,
}

impl PendingSum {
    fn substitute(&mut self, atom: &Atom, by: &Poly) {
        self.conditions.substitute(atom, by);
        self.value = self.value.substitute(&|a: &Atom| (a == atom).then(|| by.clone()));
    }

    fn mentions_var(&self, p: &Poly) -> bool {
        self.vars.iter().any(|v| p.mentions(v))
    }

    fn polys(&self) -> impl Iterator<Item = &Poly> {
        self.conditions.bounds.iter().chain(&self.conditions.equations).chain([self.value.as_fraction().0])
    }

    /// Returns a compound atom that mentions variables.
    fn compound_atom(&self) -> Option<Atom> {
        self.conditions.compound_atom(&self.vars).or_else(|| compound_atom(self.value.as_fraction().0, &self.vars))
    }
}

impl Summation<'_> {
    fn sum_system(&mut self, mut system: PendingSum) -> Result<(), UncountedReason> {
        check_cancelled();
        self.systems_left = self.systems_left.checked_sub(1).ok_or(UncountedReason::TooMany)?;
        if self.known.steps_spent() > self.step_limit || system.polys().any(Poly::has_overflowed) {
            return Err(UncountedReason::TooMany);
        }
        if system.polys().any(reads_data) {
            return Err(UncountedReason::Data);
        }
        self.drop_implied_bounds(&mut system);
        if let Some(atom) = system.compound_atom() {
            return self.split_by_atom(&system, &atom);
        }
        // An equation determines a variable.
        let vars = system.vars.clone();
        for (k, p) in system.conditions.equations.iter().enumerate().filter(|(_, p)| system.mentions_var(p)) {
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
            if let Some(other) = non_multiple_variable(&r, c, &system.vars) {
                return self.split_by_remainders(&system, &other, c);
            }
            system.conditions.equations.remove(k);
            let divisor = Poly::constant(c);
            system.conditions.equations.push(r.rem(&divisor).ok_or(UncountedReason::Nonlinear)?);
            system.vars.retain(|v| *v != var);
            system.substitute(&var, &r.div(&divisor).ok_or(UncountedReason::Nonlinear)?);
            return self.sum_system(system);
        }
        if system.conditions.equations.iter().any(|p| system.mentions_var(p)) {
            return Err(UncountedReason::Nonlinear);
        }
        match self.choose_variable(&system)? {
            None => self.emit_piece(&system),
            Some(var) => self.sum_between_bounds(system, &var),
        }
    }

    /// Drops nonlinear bounds that follow from the others, such as `p·i + j < n·p` if `i < n` and
    /// `j < p`.
    fn drop_implied_bounds(&self, system: &mut PendingSum) {
        let uneven = |p: &Poly| system.vars.iter().any(|v| coefficient(p, v).is_err());
        let (of, mut kept): (Vec<Poly>, Vec<Poly>) = system.conditions.bounds.iter().cloned().partition(uneven);
        if of.is_empty() {
            return;
        }
        let mut inside = self.known.clone();
        kept.iter().for_each(|p| inside.assume(&Pred::nonneg(p)));
        kept.extend(of.into_iter().filter(|p| !inside.implies(&Pred::nonneg(p))));
        system.conditions.bounds = kept;
    }

    /// Emits a piece, after all variables are summed out.
    fn emit_piece(&mut self, system: &PendingSum) -> Result<(), UncountedReason> {
        let bounds = system.conditions.bounds.iter().map(Pred::nonneg);
        let pred = Pred::all(bounds.chain(system.conditions.equations.iter().map(Pred::zero)));
        let pred = self.known.simplify(&pred);
        if !pred.is_false() && !system.value.is_zero() {
            self.pieces.push(FormulaPiece { pred, value: system.value.clone() });
        }
        Ok(())
    }

    /// Chooses the next variable to sum out: one without divisors in its bounds if possible, and
    /// with few pairs of bounds.
    fn choose_variable(&self, system: &PendingSum) -> Result<Option<Atom>, UncountedReason> {
        let mut best: Option<((bool, usize), &Atom)> = None;
        let mut why = None;
        for var in system.vars.iter().rev() {
            let (mut lower, mut upper, mut divided) = (0, 0, false);
            let mut linear = true;
            for p in &system.conditions.bounds {
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
    fn sum_between_bounds(&mut self, mut system: PendingSum, var: &Atom) -> Result<(), UncountedReason> {
        let (mut lower, mut upper, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for p in &system.conditions.bounds {
            let Some((c, r)) = coefficient(p, var)? else {
                others.push(p.clone());
                continue;
            };
            if let Some(other) = non_multiple_variable(&r, c, &system.vars) {
                return self.split_by_remainders(&system, &other, c);
            }
            match round_bound(c, &r)? {
                (first, true) => lower.push(first),
                (last, false) => upper.push(last),
            }
        }
        system.vars.retain(|v| v != var);
        system.conditions.bounds = others;
        let mut known = self.known.clone();
        system.conditions.bounds.iter().for_each(|p| known.assume(&Pred::nonneg(p)));
        // The maximum is the negated minimum of the negated bounds.
        let lower = possible_minima(&known, &lower.iter().map(Poly::neg).collect::<Vec<_>>());
        let upper = possible_minima(&known, &upper);
        if lower.is_empty() || upper.is_empty() {
            return Err(UncountedReason::Nonlinear);
        }
        for (first, above) in &lower {
            for (last, below) in &upper {
                let first = first.neg();
                let mut next = system.clone();
                next.conditions.bounds.extend(above.iter().chain(below).cloned());
                // If the range is just empty, the sum is 0, so the case may include it.
                next.conditions.bounds.push(last.sub(&first).add_constant(1));
                next.value = system.value.sum_over(var, &first, last).ok_or(UncountedReason::Nonlinear)?;
                let mut inside = self.known.clone();
                next.conditions.bounds.iter().for_each(|p| inside.assume(&Pred::nonneg(p)));
                if !inside.is_contradictory() {
                    self.sum_system(next)?;
                }
            }
        }
        Ok(())
    }

    /// Splits a variable by its remainders: it is `c·x + r`, for each `r` in turn.
    fn split_by_remainders(&mut self, system: &PendingSum, var: &Atom, c: i128) -> Result<(), UncountedReason> {
        for by in remainder_forms(var, c)? {
            let mut next = system.clone();
            next.substitute(var, &by);
            self.sum_system(next)?;
        }
        Ok(())
    }

    /// Eliminates an atom that cannot be split, such as `i // n`. It may simplify to `j + k // n`,
    /// an equation may determine a variable from it, or its bounds may follow from the others.
    fn eliminate_atom(
        &mut self,
        system: &PendingSum,
        compound: &Atom,
        why: UncountedReason,
    ) -> Result<(), UncountedReason> {
        let mut next = system.clone();
        if let Some((atom, by)) = find_simpler_quotient(system.polys(), &system.conditions.extend_context(self.known)) {
            next.substitute(&atom, &by);
            return self.sum_system(next);
        }
        for (k, p) in system.conditions.equations.iter().enumerate().filter(|(_, p)| p.mentions(compound)) {
            let solution =
                system.vars.iter().find_map(|var| Some((var, p.linear_in(var).filter(|(c, _)| c.abs() == 1)?)));
            if let Some((var, (c, rest))) = solution {
                next.conditions.equations.remove(k);
                next.vars.retain(|v| v != var);
                let by = if c > 0 { rest.neg() } else { rest };
                next.substitute(var, &by);
                return self.sum_system(next);
            }
        }
        let (of, mut kept): (Vec<Poly>, Vec<Poly>) =
            next.conditions.bounds.iter().cloned().partition(|p| p.mentions(compound));
        let mut inside = self.known.clone();
        kept.iter().for_each(|p| inside.assume(&Pred::nonneg(p)));
        let count = of.len();
        let of: Vec<Poly> = of.into_iter().filter(|p| !inside.implies(&Pred::nonneg(p))).collect();
        if of.len() == count {
            return Err(why);
        }
        kept.extend(of);
        next.conditions.bounds = kept;
        self.sum_system(next)
    }

    /// Splits by a compound atom that mentions variables.
    fn split_by_atom(&mut self, system: &PendingSum, compound: &Atom) -> Result<(), UncountedReason> {
        match AtomSplit::for_atom(compound, &system.vars) {
            Err(why) => self.eliminate_atom(system, compound, why),
            Ok(AtomSplit::Remainders(var, c)) => self.split_by_remainders(system, &var, c),
            Ok(AtomSplit::Cases(cases)) => cases.into_iter().try_for_each(|(is, bound)| {
                let mut next = system.clone();
                next.substitute(compound, &is);
                next.conditions.bounds.push(bound);
                self.sum_system(next)
            }),
        }
    }
}

/// Returns the polynomials that may be the minimum. Each comes with the polynomials that are
/// nonnegative exactly where it is the first minimum.
fn possible_minima(known: &FactContext, of: &[Poly]) -> Vec<(Poly, Vec<Poly>)> {
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
        let least = others.map(|(j, other)| other.sub(p).add_constant(if j < k { -1 } else { 0 })).collect();
        all.push(((*p).clone(), least));
    }
    all
}
