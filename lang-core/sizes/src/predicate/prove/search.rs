//! **Refutation search**, the thorough path of the prover: a goal follows if no point satisfies its
//! negation and the facts. The search keeps a point that satisfies all rows added so far. It adds a
//! row that the point violates, until no point remains (proved) or the point violates no known row.
//!
//! In the second case it derives new rows that the point violates:
//!
//! - the definitions of quotients with symbolic divisors;
//! - cuts;
//! - products of rows, if the value of a monomial is not the product of the values of its atoms;
//! - the two cases of a minimum.
//!
//! If it derives none, it gives up.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::lp::{LinearProgram, LpResult, approximate, spend_work};
use super::reduce;
use super::table::{AtomId, FactTable, LinearRow, MonoId};
use crate::predicate::{Atom, Poly};

/// The maximal number of inner-loop steps for one goal, including its cases. A step is about 10 ns.
const MAX_WORK: u32 = 60_000;

/// The maximal number of cuts for one goal. Useful cuts come early; many make numbers large.
const MAX_CUTS: u32 = 8;

/// The maximal number of rounds of products. Each round raises the provable degree by at least one.
const MAX_ROUNDS: u32 = 6;

/// The maximal number of rows derived for one goal.
const MAX_EXTRA: usize = 512;

/// The maximal number of nested case distinctions over minima and maxima.
const MAX_SPLITS: usize = 4;

/// The maximal degree of a monomial that is split in all ways.
const MAX_SPLIT_DEGREE: usize = 4;

/// The tolerance, relative to the numbers in a row, by which a point may violate it. It only guides
/// the search.
const TOLERANCE: f64 = 1e-9;

/// Whether the facts of the table imply the goal or, without a goal, contradict each other. The
/// steps are added to `spent`.
pub(super) fn proves(table: &mut FactTable, goal: Option<&LinearRow>, spent: &Cell<u64>) -> bool {
    let mut search = RefutationSearch { table, work: MAX_WORK, is_nested: false, signs: BTreeMap::new() };
    let proved = search.proves(goal);
    spent.set(spent.get().saturating_add((MAX_WORK - search.work).into()));
    proved
}

struct RefutationSearch<'t> {
    table: &'t mut FactTable,
    work: u32,
    /// Whether it runs inside another search.
    is_nested: bool,
    /// The signs of atoms that follow from the facts alone.
    signs: BTreeMap<AtomId, Option<i128>>,
}

/// A row of the table, or one derived for this goal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum RowRef {
    Fact(u32),
    Derived(u32),
}

/// The factors of a product: two rows, or a row and a monomial.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ProductFactors {
    Rows(RowRef, RowRef),
    RowAndMono(RowRef, MonoId),
    Mono(MonoId),
}

#[derive(Clone, Default)]
struct SearchState {
    lp: LinearProgram,
    /// The negated goal, products, definitions, and assumptions of cases.
    derived_rows: Vec<LinearRow>,
    /// The rows of the table, and the extra ones, that are in `lp`.
    rows_in_lp: [NumberSet; 2],
    /// The relevant monomials. Rows that mention none of them are ignored, unless `everything` is
    /// set.
    active: NumberSet,
    uses_all_rows: bool,
    /// The products computed so far.
    computed_products: BTreeSet<ProductFactors>,
    /// Atoms whose definition or cases have been added.
    expanded_atoms: BTreeSet<AtomId>,
    /// The maximal degree of products: that of the active monomials.
    degree: usize,
    splits: usize,
    cuts: u32,
    rounds: u32,
}

/// A set of small numbers.
#[derive(Clone, Default)]
struct NumberSet {
    flags: Vec<bool>,
    members: Vec<u32>,
}

impl NumberSet {
    /// Adds a number and returns whether it is new.
    fn add(&mut self, number: u32) -> bool {
        let at = number as usize;
        if self.flags.len() <= at {
            self.flags.resize(at + 1, false);
        }
        let new = self.flags.get_mut(at).is_some_and(|f| !std::mem::replace(f, true));
        if new {
            self.members.push(number);
        }
        new
    }

    fn contains(&self, number: u32) -> bool {
        self.flags.get(number as usize).copied().unwrap_or(false)
    }
}

impl SearchState {
    /// Returns by how much the current point violates a row; at most 0 if it does not.
    fn violation(&self, row: &LinearRow) -> f64 {
        let (mut value, mut size) = (approximate(row.constant), approximate(row.constant).abs());
        for &(m, c) in &row.terms {
            let term = approximate(c) * self.lp.value(m);
            value += term;
            size += term.abs();
        }
        let breach = if row.is_equality { value.abs() } else { -value };
        breach - TOLERANCE * (1.0 + size)
    }

    fn is_eligible(&self, row: &LinearRow) -> bool {
        self.uses_all_rows || row.terms.iter().any(|&(m, _)| self.active.contains(m))
    }
}

impl RefutationSearch<'_> {
    fn proves(&mut self, goal: Option<&LinearRow>) -> bool {
        let mut state = SearchState { uses_all_rows: goal.is_none(), ..SearchState::default() };
        match goal.map(LinearRow::negated) {
            Some(Some(negated)) => self.add_derived_row(&mut state, negated) && self.is_infeasible(state),
            Some(None) => false,
            None => self.is_infeasible(state),
        }
    }

    /// Whether no integer point satisfies all rows. Returns false if the search cannot decide.
    fn is_infeasible(&mut self, mut state: SearchState) -> bool {
        loop {
            match state.lp.solve(&mut self.work) {
                LpResult::Infeasible => return true,
                LpResult::LimitReached => return false,
                LpResult::Feasible => {}
            }
            match self.most_violated(&state) {
                Some(Some(at)) => {
                    if !self.add_row(&mut state, at) {
                        return false;
                    }
                    continue;
                }
                Some(None) => {}
                None => return false,
            }
            if self.activate_row_monomials(&mut state) || self.add_divisor_definitions(&mut state) {
                continue;
            }
            match state.lp.pivot_free_columns(&mut self.work) {
                Some(true) => continue,
                Some(false) => {}
                None => return false,
            }
            if state.cuts < MAX_CUTS {
                match state.lp.add_gomory_cut() {
                    Some(true) => {
                        state.cuts += 1;
                        continue;
                    }
                    Some(false) => {}
                    None => return false,
                }
            }
            if state.rounds < MAX_ROUNDS && self.add_products(&mut state) {
                state.rounds += 1;
                continue;
            }
            if let Some([first, second]) = self.split_min_max(&mut state) {
                let mut other = state.clone();
                if spend_work(&mut self.work, state.derived_rows.len() * 4).is_none() {
                    return false;
                }
                return self.add_derived_row(&mut state, first)
                    && self.is_infeasible(state)
                    && self.add_derived_row(&mut other, second)
                    && self.is_infeasible(other);
            }
            if state.uses_all_rows {
                return false;
            }
            state.uses_all_rows = true;
        }
    }

    fn row<'a>(&'a self, state: &'a SearchState, at: RowRef) -> Option<&'a LinearRow> {
        match at {
            RowRef::Fact(at) => self.table.row(at),
            RowRef::Derived(at) => state.derived_rows.get(at as usize),
        }
    }

    /// Iterates over all rows, those derived for this goal first.
    fn rows<'a>(&'a self, state: &'a SearchState) -> impl Iterator<Item = (RowRef, &'a LinearRow)> {
        let extra = (0..).zip(&state.derived_rows).map(|(at, row)| (RowRef::Derived(at), row));
        let known = (0..).zip(self.table.rows()).map(|(at, row)| (RowRef::Fact(at), row));
        extra.chain(known)
    }

    /// Returns the row that the current point violates most. `None` if no work is left.
    fn most_violated(&mut self, state: &SearchState) -> Option<Option<RowRef>> {
        let mut worst = None;
        let mut breach = 0.0;
        let mut looked = 0;
        for (at, row) in self.rows(state) {
            let used = match at {
                RowRef::Fact(at) => state.rows_in_lp[0].contains(at),
                RowRef::Derived(at) => state.rows_in_lp[1].contains(at),
            };
            looked += 1;
            if !used && state.is_eligible(row) {
                looked += 2 * row.terms.len();
                let by = state.violation(row);
                if by > breach {
                    (worst, breach) = (Some(at), by);
                }
            }
        }
        spend_work(&mut self.work, looked)?;
        Some(worst)
    }

    /// Adds a row to the dictionary. Returns false past the limits.
    fn add_row(&mut self, state: &mut SearchState, at: RowRef) -> bool {
        let row = match at {
            RowRef::Fact(at) => {
                state.rows_in_lp[0].add(at);
                self.table.row(at)
            }
            RowRef::Derived(at) => {
                state.rows_in_lp[1].add(at);
                state.derived_rows.get(at as usize)
            }
        };
        let Some(row) = row else { return false };
        activate_monomials(self.table, &mut state.active, row);
        state.lp.add_row(row, &mut self.work).is_some()
    }

    /// Adds a derived row, also to the dictionary. Returns false past the limits.
    fn add_derived_row(&mut self, state: &mut SearchState, row: LinearRow) -> bool {
        let at = state.derived_rows.len();
        state.derived_rows.push(row.tighten());
        u32::try_from(at).is_ok_and(|at| self.add_row(state, RowRef::Derived(at)))
    }

    /// Activates the monomials of eligible rows that mention a product or a compound atom. The
    /// current point may satisfy such a row and still be impossible. Returns whether there are new
    /// ones.
    fn activate_row_monomials(&mut self, state: &mut SearchState) -> bool {
        let SearchState { derived_rows: extra, active, uses_all_rows: everything, .. } = state;
        let before = active.members.len();
        if spend_work(&mut self.work, (extra.len() + self.table.rows().len()) * 2).is_none() {
            return false;
        }
        for row in extra.iter().chain(self.table.rows()) {
            let more = |m| match self.table.as_atom(m) {
                Some(Atom::Div(_, q) | Atom::Mod(_, q)) => q.as_constant().is_none(),
                Some(Atom::Min(..) | Atom::Max(..)) | None => true,
                Some(_) => false,
            };
            let eligible = |(m, _): &(MonoId, i128)| *everything || active.contains(*m);
            if row.terms.iter().any(|t| more(t.0)) && row.terms.iter().any(eligible) {
                activate_monomials(self.table, active, row);
            }
        }
        active.members.len() > before
    }

    /// Returns the active monomial at this position in the list, if it is an atom.
    fn active_atom(&self, state: &SearchState, k: usize) -> Option<(AtomId, Atom)> {
        match self.table.factors(*state.active.members.get(k)?) {
            [a] => Some((*a, self.table.atom(*a)?.clone())),
            _ => None,
        }
    }

    /// Adds rows that define quotients and remainders with symbolic divisors. Returns whether there
    /// were any.
    fn add_divisor_definitions(&mut self, state: &mut SearchState) -> bool {
        let mut any = false;
        for k in 0..state.active.members.len() {
            let Some((a, atom)) = self.active_atom(state, k) else { continue };
            let (Atom::Div(p, q) | Atom::Mod(p, q)) = &atom else { continue };
            if q.as_constant().is_some() || !state.expanded_atoms.insert(a) {
                continue;
            }
            // By the sign of the divisor d: p = d·quotient + rest, with the rest from 0 towards d.
            let sign = if self.proves_nonneg(&q.add_constant(-1)) {
                1
            } else if self.proves_nonneg(&q.neg().add_constant(-1)) {
                -1
            } else {
                continue;
            };
            let value = Poly::atom(atom.clone());
            let is_quotient = matches!(atom, Atom::Div(..));
            let (quotient, rest) =
                if is_quotient { (value.clone(), p.sub(&value.mul(q))) } else { (Poly::default(), value.clone()) };
            let mut facts = vec![(rest.scale(sign), false), (q.sub(&rest).scale(sign).add_constant(-1), false)];
            if !is_quotient
                && let Some(quotient) = p.div(q)
                && quotient.as_atom().is_some_and(|a| self.table.contains_atom(a))
            {
                facts.push((p.sub(&quotient.mul(q)).sub(&value), true));
            }
            if sign == 1 {
                // (d·a + b) // d = a + b // d, which is a if 0 <= b < d.
                let (whole, part) = p.divide_by_term(q);
                let nonneg = self.proves_nonneg(&part);
                if nonneg && self.proves_nonneg(&q.sub(&part).add_constant(-1)) {
                    facts.push((value.sub(if is_quotient { &whole } else { &part }), true));
                } else if nonneg && is_quotient {
                    facts.push((quotient.sub(&whole), false));
                }
            }
            for (fact, zero) in facts {
                if let Some(row) = self.table.linearise(&fact, zero)
                    && state.derived_rows.len() < MAX_EXTRA
                {
                    state.derived_rows.push(row);
                    any = true;
                }
            }
        }
        any
    }

    /// Whether `p >= 0` follows from the facts. This is for side conditions, and nests only one
    /// level.
    fn proves_nonneg(&mut self, p: &Poly) -> bool {
        self.table.linearise(p, false).is_some_and(|row| self.proves_row(&row))
    }

    fn proves_row(&mut self, row: &LinearRow) -> bool {
        if reduce::proves(self.table, row) {
            return true;
        }
        if self.is_nested {
            return false;
        }
        let work = self.work / 4;
        let mut nested = RefutationSearch { work, table: self.table, is_nested: true, signs: BTreeMap::new() };
        let holds = nested.proves(Some(row));
        self.work -= work - nested.work;
        holds
    }

    /// Adds products of rows for monomials whose value is not the product of the values of their
    /// atoms. It first multiplies rows by monomials of known sign. Only if that yields nothing new
    /// does it multiply two rows. Returns whether there were new products.
    fn add_products(&mut self, state: &mut SearchState) -> bool {
        let before = state.derived_rows.len();
        state.degree = state.active.members.iter().map(|m| self.table.factors(*m).len()).max().unwrap_or(0);
        for of_rows in [false, true] {
            for m in state.active.members.clone() {
                let wrong = self.table.factors(m).len() > 1 && !self.is_consistent(state, m);
                if wrong && self.add_products_for(state, m, of_rows).is_none() {
                    break;
                }
            }
            if state.derived_rows.len() > before {
                return true;
            }
        }
        false
    }

    fn is_consistent(&self, state: &SearchState, m: MonoId) -> bool {
        let value = state.lp.value(m);
        let product: f64 = self.table.factors(m).iter().map(|a| state.lp.value(self.table.atom_mono(*a))).product();
        (value - product).abs() <= TOLERANCE * (1.0 + value.abs() + product.abs())
    }

    /// Adds products in which the monomial occurs because one factor has a part of it and the other
    /// factor the rest. Returns `None` past the limits.
    fn add_products_for(&mut self, state: &mut SearchState, m: MonoId, of_rows: bool) -> Option<()> {
        let parts = self.factor_splits(m);
        spend_work(&mut self.work, 8 * parts.len())?;
        if !of_rows
            && state.computed_products.insert(ProductFactors::Mono(m))
            && let Some(sign) = self.mono_sign(state, m)
        {
            state.derived_rows.push(LinearRow { terms: vec![(m, sign)], constant: 0, is_equality: false });
        }
        // The rows that contain a part, with the part and the rest.
        let mut found: Vec<(RowRef, MonoId, &[AtomId])> = Vec::new();
        let mut looked = 0;
        for (at, row) in self.rows(state) {
            looked += row.terms.len() * parts.len() / 4 + 2;
            for (part, rest) in &parts {
                if row.terms.iter().any(|t| t.0 == *part) {
                    found.push((at, *part, rest));
                }
            }
        }
        spend_work(&mut self.work, looked)?;
        if !of_rows {
            for (at, _, rest) in found {
                let zero = self.row(state, at)?.is_equality;
                if let Some(sign) = if zero { Some(1) } else { self.product_sign(state, rest) } {
                    let rest = self.table.intern_mono(rest.to_vec())?;
                    if state.computed_products.insert(ProductFactors::RowAndMono(at, rest)) {
                        let factor = LinearRow { terms: vec![(rest, sign)], constant: 0, is_equality: false };
                        self.push_product(state, at, &factor)?;
                    }
                }
            }
            return Some(());
        }
        found.retain(|(at, ..)| self.is_factor(state, *at));
        for (k, (at, _, rest)) in found.iter().enumerate() {
            let Some(rest) = self.table.find_mono(rest) else { continue };
            for (other, part, _) in found.iter().skip(k) {
                if *part == rest && state.computed_products.insert(ProductFactors::Rows(*at, *other)) {
                    let factor = self.row(state, *other)?.clone();
                    self.push_product(state, *at, &factor)?;
                }
            }
        }
        Some(())
    }

    /// Returns the ways to split a monomial in two: the interned parts, each with its complement.
    fn factor_splits(&self, m: MonoId) -> Vec<(MonoId, Vec<AtomId>)> {
        let whole = self.table.factors(m);
        let mut parts: Vec<(MonoId, Vec<AtomId>)> = Vec::new();
        // For large monomials only single atoms and their complements are tried.
        let all = (1_u32 << whole.len()) - 1;
        let single = (0..whole.len()).map(|k| 1 << k);
        let masks: Vec<u32> = match whole.len() {
            0..=MAX_SPLIT_DEGREE => (1..all).collect(),
            _ => single.clone().chain(single.map(|mask| all - mask)).collect(),
        };
        for mask in masks {
            let side =
                |wanted: bool| (0..).zip(whole).filter(move |(k, _)| (mask >> k & 1 == 1) == wanted).map(|f| *f.1);
            if let Some(part) = self.table.find_mono(&side(true).collect::<Vec<_>>())
                && !parts.iter().any(|p| p.0 == part)
            {
                parts.push((part, side(false).collect()));
            }
        }
        parts
    }

    /// Whether the row is an inequality that is stronger than the sign of an atom.
    fn is_factor(&self, state: &SearchState, at: RowRef) -> bool {
        self.row(state, at).is_some_and(|row| !row.is_equality && (row.terms.len() > 1 || row.constant != 0))
    }

    fn push_product(&mut self, state: &mut SearchState, at: RowRef, factor: &LinearRow) -> Option<()> {
        let row = self.row(state, at)?.clone();
        spend_work(&mut self.work, 16 * (row.terms.len() + 1) * (factor.terms.len() + 1))?;
        if state.derived_rows.len() >= MAX_EXTRA {
            return None;
        }
        if let Some(product) = self.table.product(&row, factor, state.degree) {
            activate_monomials(self.table, &mut state.active, &product);
            state.derived_rows.push(product.tighten());
        }
        Some(())
    }

    /// Returns 1 if a product of atoms is known to be nonnegative, and -1 if nonpositive.
    fn product_sign(&mut self, state: &SearchState, factors: &[AtomId]) -> Option<i128> {
        factors.iter().try_fold(1, |sign, a| Some(sign * self.atom_sign(state, *a)?))
    }

    fn mono_sign(&mut self, state: &SearchState, m: MonoId) -> Option<i128> {
        let factors = self.table.factors(m).to_vec();
        self.product_sign(state, &factors)
    }

    fn atom_sign(&mut self, state: &SearchState, a: AtomId) -> Option<i128> {
        let m = self.table.atom_mono(a);
        let says = |row: &LinearRow| match row.terms.as_slice() {
            [t] if t.0 == m && row.constant <= 0 => Some(t.1.signum()),
            _ => None,
        };
        if let Some(sign) = state.derived_rows.iter().find_map(says) {
            return Some(sign);
        }
        if let Some(known) = self.signs.get(&a) {
            return *known;
        }
        let atom = |c| LinearRow { terms: vec![(m, c)], constant: 0, is_equality: false };
        let sign = if self.proves_row(&atom(1)) {
            Some(1)
        } else if self.proves_row(&atom(-1)) {
            Some(-1)
        } else {
            None
        };
        self.signs.insert(a, sign);
        sign
    }

    /// Finds a minimum or maximum whose value equals neither operand, and returns the two rows that
    /// equate it with them.
    fn split_min_max(&mut self, state: &mut SearchState) -> Option<[LinearRow; 2]> {
        if state.splits >= MAX_SPLITS {
            return None;
        }
        for k in 0..state.active.members.len() {
            let Some((a, atom)) = self.active_atom(state, k) else { continue };
            let (Atom::Min(p, q) | Atom::Max(p, q)) = &atom else { continue };
            if state.expanded_atoms.contains(&a) {
                continue;
            }
            let value = Poly::atom(atom.clone());
            let rows = [p, q].map(|p| self.table.linearise(&value.sub(p), true));
            if let [Some(first), Some(second)] = rows
                && state.violation(&first) > 0.0
                && state.violation(&second) > 0.0
            {
                state.expanded_atoms.insert(a);
                state.splits += 1;
                return Some([first, second]);
            }
        }
        None
    }
}

/// Activates the monomials of the row, and their atoms.
fn activate_monomials(table: &FactTable, active: &mut NumberSet, row: &LinearRow) {
    for &(m, _) in &row.terms {
        if active.add(m) {
            for &a in table.factors(m) {
                active.add(table.atom_mono(a));
            }
        }
    }
}
