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

use super::lp::{Lp, Verdict, float, spend};
use super::reduce;
use super::table::{AtomId, MonoId, Row, Table};
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
pub(super) fn proves(table: &mut Table, goal: Option<&Row>, spent: &Cell<u64>) -> bool {
    let mut search = Search { table, work: MAX_WORK, nested: false, signs: BTreeMap::new() };
    let proved = search.proves(goal);
    spent.set(spent.get().saturating_add((MAX_WORK - search.work).into()));
    proved
}

struct Search<'t> {
    table: &'t mut Table,
    work: u32,
    /// Whether it runs inside another search.
    nested: bool,
    /// The signs of atoms that follow from the facts alone.
    signs: BTreeMap<AtomId, Option<i128>>,
}

/// A row of the table, or one derived for this goal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum RowRef {
    Known(u32),
    Extra(u32),
}

/// The factors of a product: two rows, or a row and a monomial.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Factors {
    Rows(RowRef, RowRef),
    RowAndMono(RowRef, MonoId),
    Mono(MonoId),
}

#[derive(Clone, Default)]
struct State {
    lp: Lp,
    /// The negated goal, products, definitions, and assumptions of cases.
    extra: Vec<Row>,
    /// The rows of the table, and the extra ones, that are in `lp`.
    used: [Marks; 2],
    /// The relevant monomials. Rows that mention none of them are ignored, unless `everything` is
    /// set.
    active: Marks,
    everything: bool,
    /// The products computed so far.
    made: BTreeSet<Factors>,
    /// Atoms whose definition or cases have been added.
    seen: BTreeSet<AtomId>,
    /// The maximal degree of products: that of the active monomials.
    degree: usize,
    splits: usize,
    cuts: u32,
    rounds: u32,
}

/// A set of small numbers.
#[derive(Clone, Default)]
struct Marks {
    flags: Vec<bool>,
    list: Vec<u32>,
}

impl Marks {
    /// Adds a number and returns whether it is new.
    fn add(&mut self, number: u32) -> bool {
        let at = number as usize;
        if self.flags.len() <= at {
            self.flags.resize(at + 1, false);
        }
        let new = self.flags.get_mut(at).is_some_and(|f| !std::mem::replace(f, true));
        if new {
            self.list.push(number);
        }
        new
    }

    fn has(&self, number: u32) -> bool {
        self.flags.get(number as usize).copied().unwrap_or(false)
    }
}

impl State {
    /// Returns by how much the current point violates a row; at most 0 if it does not.
    fn breach(&self, row: &Row) -> f64 {
        let (mut value, mut size) = (float(row.constant), float(row.constant).abs());
        for &(m, c) in &row.terms {
            let term = float(c) * self.lp.value(m);
            value += term;
            size += term.abs();
        }
        let breach = if row.zero { value.abs() } else { -value };
        breach - TOLERANCE * (1.0 + size)
    }

    fn is_eligible(&self, row: &Row) -> bool {
        self.everything || row.terms.iter().any(|&(m, _)| self.active.has(m))
    }
}

impl Search<'_> {
    fn proves(&mut self, goal: Option<&Row>) -> bool {
        let mut state = State { everything: goal.is_none(), ..State::default() };
        match goal.map(Row::negated) {
            Some(Some(negated)) => self.add_extra(&mut state, negated) && self.is_empty(state),
            Some(None) => false,
            None => self.is_empty(state),
        }
    }

    /// Whether no integer point satisfies all rows. Returns false if the search cannot decide.
    fn is_empty(&mut self, mut state: State) -> bool {
        loop {
            match state.lp.solve(&mut self.work) {
                Verdict::Empty => return true,
                Verdict::Unknown => return false,
                Verdict::Point => {}
            }
            match self.most_broken(&state) {
                Some(Some(at)) => {
                    if !self.add(&mut state, at) {
                        return false;
                    }
                    continue;
                }
                Some(None) => {}
                None => return false,
            }
            if self.reach(&mut state) || self.define(&mut state) {
                continue;
            }
            match state.lp.bind_columns(&mut self.work) {
                Some(true) => continue,
                Some(false) => {}
                None => return false,
            }
            if state.cuts < MAX_CUTS {
                match state.lp.cut() {
                    Some(true) => {
                        state.cuts += 1;
                        continue;
                    }
                    Some(false) => {}
                    None => return false,
                }
            }
            if state.rounds < MAX_ROUNDS && self.multiply(&mut state) {
                state.rounds += 1;
                continue;
            }
            if let Some([first, second]) = self.cases(&mut state) {
                let mut other = state.clone();
                if spend(&mut self.work, state.extra.len() * 4).is_none() {
                    return false;
                }
                return self.add_extra(&mut state, first)
                    && self.is_empty(state)
                    && self.add_extra(&mut other, second)
                    && self.is_empty(other);
            }
            if state.everything {
                return false;
            }
            state.everything = true;
        }
    }

    fn row<'a>(&'a self, state: &'a State, at: RowRef) -> Option<&'a Row> {
        match at {
            RowRef::Known(at) => self.table.row(at),
            RowRef::Extra(at) => state.extra.get(at as usize),
        }
    }

    /// Iterates over all rows, those derived for this goal first.
    fn rows<'a>(&'a self, state: &'a State) -> impl Iterator<Item = (RowRef, &'a Row)> {
        let extra = (0..).zip(&state.extra).map(|(at, row)| (RowRef::Extra(at), row));
        let known = (0..).zip(self.table.rows()).map(|(at, row)| (RowRef::Known(at), row));
        extra.chain(known)
    }

    /// Returns the row that the current point violates most. `None` if no work is left.
    fn most_broken(&mut self, state: &State) -> Option<Option<RowRef>> {
        let mut worst = None;
        let mut breach = 0.0;
        let mut looked = 0;
        for (at, row) in self.rows(state) {
            let used = match at {
                RowRef::Known(at) => state.used[0].has(at),
                RowRef::Extra(at) => state.used[1].has(at),
            };
            looked += 1;
            if !used && state.is_eligible(row) {
                looked += 2 * row.terms.len();
                let by = state.breach(row);
                if by > breach {
                    (worst, breach) = (Some(at), by);
                }
            }
        }
        spend(&mut self.work, looked)?;
        Some(worst)
    }

    /// Adds a row to the dictionary. Returns false past the limits.
    fn add(&mut self, state: &mut State, at: RowRef) -> bool {
        let row = match at {
            RowRef::Known(at) => {
                state.used[0].add(at);
                self.table.row(at)
            }
            RowRef::Extra(at) => {
                state.used[1].add(at);
                state.extra.get(at as usize)
            }
        };
        let Some(row) = row else { return false };
        activate(self.table, &mut state.active, row);
        state.lp.add(row, &mut self.work).is_some()
    }

    /// Adds a derived row, also to the dictionary. Returns false past the limits.
    fn add_extra(&mut self, state: &mut State, row: Row) -> bool {
        let at = state.extra.len();
        state.extra.push(row.tighten());
        u32::try_from(at).is_ok_and(|at| self.add(state, RowRef::Extra(at)))
    }

    /// Activates the monomials of eligible rows that mention a product or a compound atom. The
    /// current point may satisfy such a row and still be impossible. Returns whether there are new
    /// ones.
    fn reach(&mut self, state: &mut State) -> bool {
        let State { extra, active, everything, .. } = state;
        let before = active.list.len();
        if spend(&mut self.work, (extra.len() + self.table.rows().len()) * 2).is_none() {
            return false;
        }
        for row in extra.iter().chain(self.table.rows()) {
            let more = |m| match self.table.as_atom(m) {
                Some(Atom::Div(_, q) | Atom::Mod(_, q)) => q.as_constant().is_none(),
                Some(Atom::Min(..) | Atom::Max(..)) | None => true,
                Some(_) => false,
            };
            let eligible = |(m, _): &(MonoId, i128)| *everything || active.has(*m);
            if row.terms.iter().any(|t| more(t.0)) && row.terms.iter().any(eligible) {
                activate(self.table, active, row);
            }
        }
        active.list.len() > before
    }

    /// Returns the active monomial at this position in the list, if it is an atom.
    fn active_atom(&self, state: &State, k: usize) -> Option<(AtomId, Atom)> {
        match self.table.factors(*state.active.list.get(k)?) {
            [a] => Some((*a, self.table.atom(*a)?.clone())),
            _ => None,
        }
    }

    /// Adds rows that define quotients and remainders with symbolic divisors. Returns whether there
    /// were any.
    fn define(&mut self, state: &mut State) -> bool {
        let mut any = false;
        for k in 0..state.active.list.len() {
            let Some((a, atom)) = self.active_atom(state, k) else { continue };
            let (Atom::Div(p, q) | Atom::Mod(p, q)) = &atom else { continue };
            if q.as_constant().is_some() || !state.seen.insert(a) {
                continue;
            }
            // By the sign of the divisor d: p = d·quotient + rest, with the rest from 0 towards d.
            let sign = if self.holds(&q.plus(-1)) {
                1
            } else if self.holds(&q.neg().plus(-1)) {
                -1
            } else {
                continue;
            };
            let value = Poly::atom(atom.clone());
            let is_quotient = matches!(atom, Atom::Div(..));
            let (quotient, rest) =
                if is_quotient { (value.clone(), p.sub(&value.mul(q))) } else { (Poly::default(), value.clone()) };
            let mut facts = vec![(rest.scale(sign), false), (q.sub(&rest).scale(sign).plus(-1), false)];
            if !is_quotient
                && let Some(quotient) = p.div(q)
                && quotient.as_atom().is_some_and(|a| self.table.knows(a))
            {
                facts.push((p.sub(&quotient.mul(q)).sub(&value), true));
            }
            if sign == 1 {
                // (d·a + b) // d = a + b // d, which is a if 0 <= b < d.
                let (whole, part) = p.split_by(q);
                let nonneg = self.holds(&part);
                if nonneg && self.holds(&q.sub(&part).plus(-1)) {
                    facts.push((value.sub(if is_quotient { &whole } else { &part }), true));
                } else if nonneg && is_quotient {
                    facts.push((quotient.sub(&whole), false));
                }
            }
            for (fact, zero) in facts {
                if let Some(row) = self.table.linear(&fact, zero)
                    && state.extra.len() < MAX_EXTRA
                {
                    state.extra.push(row);
                    any = true;
                }
            }
        }
        any
    }

    /// Whether `p >= 0` follows from the facts. This is for side conditions, and nests only one
    /// level.
    fn holds(&mut self, p: &Poly) -> bool {
        self.table.linear(p, false).is_some_and(|row| self.row_holds(&row))
    }

    fn row_holds(&mut self, row: &Row) -> bool {
        if reduce::proves(self.table, row) {
            return true;
        }
        if self.nested {
            return false;
        }
        let work = self.work / 4;
        let mut nested = Search { work, table: self.table, nested: true, signs: BTreeMap::new() };
        let holds = nested.proves(Some(row));
        self.work -= work - nested.work;
        holds
    }

    /// Adds products of rows for monomials whose value is not the product of the values of their
    /// atoms. It first multiplies rows by monomials of known sign. Only if that yields nothing new
    /// does it multiply two rows. Returns whether there were new products.
    fn multiply(&mut self, state: &mut State) -> bool {
        let before = state.extra.len();
        state.degree = state.active.list.iter().map(|m| self.table.factors(*m).len()).max().unwrap_or(0);
        for of_rows in [false, true] {
            for m in state.active.list.clone() {
                let wrong = self.table.factors(m).len() > 1 && !self.is_consistent(state, m);
                if wrong && self.multiply_for(state, m, of_rows).is_none() {
                    break;
                }
            }
            if state.extra.len() > before {
                return true;
            }
        }
        false
    }

    fn is_consistent(&self, state: &State, m: MonoId) -> bool {
        let value = state.lp.value(m);
        let product: f64 = self.table.factors(m).iter().map(|a| state.lp.value(self.table.mono_of(*a))).product();
        (value - product).abs() <= TOLERANCE * (1.0 + value.abs() + product.abs())
    }

    /// Adds products in which the monomial occurs because one factor has a part of it and the other
    /// factor the rest. Returns `None` past the limits.
    fn multiply_for(&mut self, state: &mut State, m: MonoId, of_rows: bool) -> Option<()> {
        let parts = self.parts(m);
        spend(&mut self.work, 8 * parts.len())?;
        if !of_rows
            && state.made.insert(Factors::Mono(m))
            && let Some(sign) = self.mono_sign(state, m)
        {
            state.extra.push(Row { terms: vec![(m, sign)], constant: 0, zero: false });
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
        spend(&mut self.work, looked)?;
        if !of_rows {
            for (at, _, rest) in found {
                let zero = self.row(state, at)?.zero;
                if let Some(sign) = if zero { Some(1) } else { self.sign(state, rest) } {
                    let rest = self.table.mono(rest.to_vec())?;
                    if state.made.insert(Factors::RowAndMono(at, rest)) {
                        let factor = Row { terms: vec![(rest, sign)], constant: 0, zero: false };
                        self.push_product(state, at, &factor)?;
                    }
                }
            }
            return Some(());
        }
        found.retain(|(at, ..)| self.is_factor(state, *at));
        for (k, (at, _, rest)) in found.iter().enumerate() {
            let Some(rest) = self.table.find(rest) else { continue };
            for (other, part, _) in found.iter().skip(k) {
                if *part == rest && state.made.insert(Factors::Rows(*at, *other)) {
                    let factor = self.row(state, *other)?.clone();
                    self.push_product(state, *at, &factor)?;
                }
            }
        }
        Some(())
    }

    /// Returns the ways to split a monomial in two: the interned parts, each with its complement.
    fn parts(&self, m: MonoId) -> Vec<(MonoId, Vec<AtomId>)> {
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
            if let Some(part) = self.table.find(&side(true).collect::<Vec<_>>())
                && !parts.iter().any(|p| p.0 == part)
            {
                parts.push((part, side(false).collect()));
            }
        }
        parts
    }

    /// Whether the row is an inequality that is stronger than the sign of an atom.
    fn is_factor(&self, state: &State, at: RowRef) -> bool {
        self.row(state, at).is_some_and(|row| !row.zero && (row.terms.len() > 1 || row.constant != 0))
    }

    fn push_product(&mut self, state: &mut State, at: RowRef, factor: &Row) -> Option<()> {
        let row = self.row(state, at)?.clone();
        spend(&mut self.work, 16 * (row.terms.len() + 1) * (factor.terms.len() + 1))?;
        if state.extra.len() >= MAX_EXTRA {
            return None;
        }
        if let Some(product) = self.table.product(&row, factor, state.degree) {
            activate(self.table, &mut state.active, &product);
            state.extra.push(product.tighten());
        }
        Some(())
    }

    /// Returns 1 if a product of atoms is known to be nonnegative, and -1 if nonpositive.
    fn sign(&mut self, state: &State, factors: &[AtomId]) -> Option<i128> {
        factors.iter().try_fold(1, |sign, a| Some(sign * self.atom_sign(state, *a)?))
    }

    fn mono_sign(&mut self, state: &State, m: MonoId) -> Option<i128> {
        let factors = self.table.factors(m).to_vec();
        self.sign(state, &factors)
    }

    fn atom_sign(&mut self, state: &State, a: AtomId) -> Option<i128> {
        let m = self.table.mono_of(a);
        let says = |row: &Row| match row.terms.as_slice() {
            [t] if t.0 == m && row.constant <= 0 => Some(t.1.signum()),
            _ => None,
        };
        if let Some(sign) = state.extra.iter().find_map(says) {
            return Some(sign);
        }
        if let Some(known) = self.signs.get(&a) {
            return *known;
        }
        let atom = |c| Row { terms: vec![(m, c)], constant: 0, zero: false };
        let sign = if self.row_holds(&atom(1)) {
            Some(1)
        } else if self.row_holds(&atom(-1)) {
            Some(-1)
        } else {
            None
        };
        self.signs.insert(a, sign);
        sign
    }

    /// Finds a minimum or maximum whose value equals neither operand, and returns the two rows that
    /// equate it with them.
    fn cases(&mut self, state: &mut State) -> Option<[Row; 2]> {
        if state.splits >= MAX_SPLITS {
            return None;
        }
        for k in 0..state.active.list.len() {
            let Some((a, atom)) = self.active_atom(state, k) else { continue };
            let (Atom::Min(p, q) | Atom::Max(p, q)) = &atom else { continue };
            if state.seen.contains(&a) {
                continue;
            }
            let value = Poly::atom(atom.clone());
            let rows = [p, q].map(|p| self.table.linear(&value.sub(p), true));
            if let [Some(first), Some(second)] = rows
                && state.breach(&first) > 0.0
                && state.breach(&second) > 0.0
            {
                state.seen.insert(a);
                state.splits += 1;
                return Some([first, second]);
            }
        }
        None
    }
}

/// Activates the monomials of the row, and their atoms.
fn activate(table: &Table, active: &mut Marks, row: &Row) {
    for &(m, _) in &row.terms {
        if active.add(m) {
            for &a in table.factors(m) {
                active.add(table.mono_of(a));
            }
        }
    }
}
