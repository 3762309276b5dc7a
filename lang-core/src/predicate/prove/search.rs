//! The thorough way: to prove a goal, show that no point satisfies its negation and the facts.
//! The search keeps a point where all rows added so far hold, and adds a row that the point
//! breaks, until no point is left (proved) or no known row is broken. Then it looks for rows
//! that follow from what it knows and break the point: what defines quotients with symbolic
//! divisors, cuts, products of rows where the value of a monomial is not the product of the
//! values of its atoms, and the two cases of a minimum. When there are none it gives up.

use std::collections::BTreeSet;

use super::lp::{Lp, Verdict, spend};
use super::reduce;
use super::table::{AtomId, MonoId, Row, Table};
use crate::predicate::{Atom, Poly};

/// Steps of inner loops for one goal, cases included; about 10 ns each.
const MAX_WORK: u32 = 60_000;

/// Cuts for one goal. Those that help come early; many make numbers large.
const MAX_CUTS: u32 = 8;

/// Rounds of products. Each raises the degree of what can be proved by at least one.
const MAX_ROUNDS: u32 = 4;

/// Rows made for one goal.
const MAX_EXTRA: usize = 512;

/// Minima and maxima of which both cases are looked at, one inside the other.
const MAX_SPLITS: usize = 4;

/// A point breaks a row if it does by more than this, relative to the numbers in it. It only
/// guides the search.
const TOLERANCE: f64 = 1e-9;

/// Do the facts of the table imply the goal? Without a goal: do they contradict each other?
pub(super) fn proves(table: &mut Table, goal: Option<&Row>) -> bool {
    Search { table, work: MAX_WORK, nested: false }.proves(goal)
}

struct Search<'t> {
    table: &'t mut Table,
    work: u32,
    /// Is it run for another search?
    nested: bool,
}

/// A row: of the table or made for this goal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum RowRef {
    Known(u32),
    Extra(u32),
}

/// What a product is of: two rows, or a row and a monomial.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Factors {
    Rows(RowRef, RowRef),
    RowAndMono(RowRef, MonoId),
    Mono(MonoId),
}

#[derive(Clone, Default)]
struct State {
    lp: Lp,
    /// The negated goal, products, definitions, assumptions of cases.
    extra: Vec<Row>,
    /// Which rows of the table, and which extra ones, are in `lp`.
    used: [Marks; 2],
    /// Which monomials count: rows that mention none are left alone, unless `everything` is set.
    active: Marks,
    everything: bool,
    /// Products made.
    made: BTreeSet<Factors>,
    /// Atoms that have their definition or their cases.
    seen: BTreeSet<AtomId>,
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
    /// Adds a number. Is it new?
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

#[expect(clippy::cast_precision_loss, reason = "only guides the search")]
fn float(c: i128) -> f64 {
    c as f64
}

impl State {
    /// By how much the current point breaks a row; at most 0 if it does not.
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

    /// Is there no integer point where all rows hold? False also if that is not found out.
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
            if self.define(&mut state) {
                continue;
            }
            if state.cuts < MAX_CUTS && state.lp.cut() {
                state.cuts += 1;
                continue;
            }
            if state.rounds < MAX_ROUNDS {
                state.rounds += 1;
                if self.multiply(&mut state) {
                    continue;
                }
            }
            if let Some([first, second]) = self.cases(&mut state) {
                let mut other = state.clone();
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

    /// All rows that have numbers, youngest first.
    fn rows<'a>(&'a self, state: &'a State) -> impl Iterator<Item = (RowRef, &'a Row)> {
        let extra = (0..).zip(&state.extra).map(|(at, row)| (RowRef::Extra(at), row));
        let known = (0..).zip(self.table.rows()).map(|(at, row)| (RowRef::Known(at), row));
        extra.chain(known)
    }

    /// The row that the current point breaks most. `None` when out of work.
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
                looked += row.terms.len();
                let by = state.breach(row);
                if by > breach {
                    (worst, breach) = (Some(at), by);
                }
            }
        }
        spend(&mut self.work, looked)?;
        Some(worst)
    }

    /// Adds a row to the dictionary. False past the limits.
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
        for &(m, _) in &row.terms {
            if state.active.add(m) {
                for &a in self.table.factors(m) {
                    state.active.add(self.table.mono_of(a));
                }
            }
        }
        state.lp.add(row, &mut self.work).is_some()
    }

    /// Adds a row made for this goal, to the dictionary too.
    fn add_extra(&mut self, state: &mut State, row: Row) -> bool {
        let at = state.extra.len();
        state.extra.push(row.tighten());
        u32::try_from(at).is_ok_and(|at| self.add(state, RowRef::Extra(at)))
    }

    /// The active monomial of that place in the list, if it is an atom.
    fn active_atom(&self, state: &State, k: usize) -> Option<(AtomId, Atom)> {
        match self.table.factors(*state.active.list.get(k)?) {
            [a] => Some((*a, self.table.atom(*a)?.clone())),
            _ => None,
        }
    }

    /// Rows that define quotients and remainders with symbolic divisors. Were there any?
    fn define(&mut self, state: &mut State) -> bool {
        let mut any = false;
        for k in 0..state.active.list.len() {
            let Some((a, atom)) = self.active_atom(state, k) else { continue };
            let (Atom::Div(p, q) | Atom::Mod(p, q)) = &atom else { continue };
            if q.as_constant().is_some() || !state.seen.insert(a) {
                continue;
            }
            // By the sign of the divisor d: p = d·quotient + rest, rest from 0 towards d.
            let sign = if self.holds(&q.plus(-1)) {
                1
            } else if self.holds(&q.neg().plus(-1)) {
                -1
            } else {
                continue;
            };
            let value = Poly::atom(atom.clone());
            let (quotient, rest) = match atom {
                Atom::Div(..) => (value.clone(), p.sub(&value.mul(q))),
                _ => (Poly::default(), value.clone()),
            };
            let mut facts = vec![(rest.scale(sign), false), (q.sub(&rest).scale(sign).plus(-1), false)];
            if quotient.is_zero() {
                if let Some(quotient) = p.div(q)
                    && quotient.as_atom().is_some_and(|a| self.table.knows(a))
                {
                    facts.push((p.sub(&quotient.mul(q)).sub(&value), true));
                }
            } else if sign == 1 && self.holds(p) {
                facts.push((quotient, false));
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

    /// Is `p >= 0` by the facts? Used for side conditions, one level deep.
    fn holds(&mut self, p: &Poly) -> bool {
        let Some(row) = self.table.linear(p, false) else { return false };
        if reduce::proves(self.table, &row) {
            return true;
        }
        if self.nested {
            return false;
        }
        let mut nested = Search { work: self.work / 2, table: self.table, nested: true };
        let holds = nested.proves(Some(&row));
        self.work -= self.work / 2 - nested.work;
        holds
    }

    /// Products of rows for monomials whose value is not the product of the values of their
    /// atoms. Were there new ones?
    fn multiply(&mut self, state: &mut State) -> bool {
        let before = state.extra.len();
        for m in state.active.list.clone() {
            let wrong = self.table.factors(m).len() > 1 && !self.is_consistent(state, m);
            if wrong && self.multiply_for(state, m).is_none() {
                break;
            }
        }
        state.extra.len() > before
    }

    fn is_consistent(&self, state: &State, m: MonoId) -> bool {
        let value = state.lp.value(m);
        let product: f64 = self.table.factors(m).iter().map(|a| state.lp.value(self.table.mono_of(*a))).product();
        (value - product).abs() <= TOLERANCE * (1.0 + value.abs() + product.abs())
    }

    /// Products in which the monomial occurs because one row has a part of it and the other the
    /// rest. `None` past the limits.
    fn multiply_for(&mut self, state: &mut State, m: MonoId) -> Option<()> {
        let target = self.table.factors(m).to_vec();
        if let Some(sign) = self.sign(state, &target)
            && state.made.insert(Factors::Mono(m))
        {
            state.extra.push(Row { terms: vec![(m, sign)], constant: 0, zero: false });
        }
        // Rows with a part of it, and what is missing.
        let mut parts: Vec<(RowRef, MonoId, Vec<AtomId>)> = Vec::new();
        let mut looked = 0;
        for (at, row) in self.rows(state) {
            looked += row.terms.len();
            for &(part, _) in &row.terms {
                if part != m
                    && let Some(rest) = without(&target, self.table.factors(part))
                {
                    parts.push((at, part, rest));
                }
            }
        }
        spend(&mut self.work, looked)?;
        for (at, _, rest) in &parts {
            let zero = self.row(state, *at)?.zero;
            let sign = if zero { Some(1) } else { self.sign(state, rest) };
            if let Some(sign) = sign {
                let rest = self.table.mono(rest.clone())?;
                if state.made.insert(Factors::RowAndMono(*at, rest)) {
                    let factor = Row { terms: vec![(rest, sign)], constant: 0, zero: false };
                    self.push_product(state, *at, &factor)?;
                }
            }
        }
        for (k, (at, _, rest)) in parts.iter().enumerate() {
            let Some(rest) = self.table.find(rest) else { continue };
            for (other, part, _) in parts.iter().skip(k) {
                let both = |s: &Self| s.is_factor(state, *at) && s.is_factor(state, *other);
                if *part == rest && both(self) && state.made.insert(Factors::Rows(*at, *other)) {
                    let factor = self.row(state, *other)?.clone();
                    self.push_product(state, *at, &factor)?;
                }
            }
        }
        Some(())
    }

    /// Is it an inequality that says more than the sign of an atom?
    fn is_factor(&self, state: &State, at: RowRef) -> bool {
        self.row(state, at).is_some_and(|row| !row.zero && (row.terms.len() > 1 || row.constant != 0))
    }

    fn push_product(&mut self, state: &mut State, at: RowRef, factor: &Row) -> Option<()> {
        let row = self.row(state, at)?.clone();
        spend(&mut self.work, 8 * (row.terms.len() + 1) * (factor.terms.len() + 1))?;
        if state.extra.len() >= MAX_EXTRA {
            return None;
        }
        if let Some(product) = self.table.product(&row, factor) {
            state.extra.push(product.tighten());
        }
        Some(())
    }

    /// 1 if a product of atoms is known not to be negative, -1 if not positive.
    fn sign(&mut self, state: &State, factors: &[AtomId]) -> Option<i128> {
        let mut sign = 1;
        for &a in factors {
            let m = self.table.mono_of(a);
            let is = |c| {
                let row = Row { terms: vec![(m, c)], constant: 0, zero: false };
                let says = |row: &Row| row.constant <= 0 && matches!(row.terms.as_slice(), [t] if *t == (m, c));
                reduce::proves(self.table, &row) || state.extra.iter().any(says)
            };
            spend(&mut self.work, 16)?;
            if is(-1) {
                sign = -sign;
            } else if !is(1) {
                return None;
            }
        }
        Some(sign)
    }

    /// A minimum or maximum whose value is neither of its operands', with the rows that say it is.
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

/// Takes the parts out of the whole, both sorted. `None` if they are not all in it, or are all
/// of it.
fn without(whole: &[AtomId], parts: &[AtomId]) -> Option<Vec<AtomId>> {
    let mut parts = parts.iter().peekable();
    let rest: Vec<_> = whole.iter().copied().filter(|a| parts.next_if(|p| *p == a).is_none()).collect();
    (parts.peek().is_none() && !rest.is_empty()).then_some(rest)
}
