//! **Simplification of sums.** Exclusive brackets become a choice, common factors move before the
//! sum, and sums over the same range fuse. In the sums of the language, a bracket that fails
//! contributes no term, whereas an expression around brackets does. The rules respect that
//! difference. [`super::rules`] calls this module for each sum.

use super::rules::{assume, clean, under};
use super::table::Table;
use super::tree::Ex;
use lang_sizes::predicate::{Context, Index, Poly, Pred};

/// Simplifies the sum of these terms.
pub(super) fn sum(terms: Vec<(bool, Ex)>, context: &mut Context, fresh: &mut Table) -> Ex {
    let terms = split(terms);
    let table = &*fresh;
    let all: [Rule; 6] = [
        &|terms, context| chosen(terms, context, table),
        &complementary,
        &disjoint,
        &|terms, _| together(terms),
        &|terms, _| factored(terms),
        &|terms, _| fused(terms),
    ];
    let found = all.iter().find_map(|rule| rule(&terms, context));
    match found {
        Some(e) => clean(&e, context, fresh),
        None => Ex::sum(terms),
    }
}

/// A rewrite rule for the terms of a sum; returns `None` if it does not apply.
type Rule<'a> = &'a dyn Fn(&[(bool, Ex)], &mut Context) -> Option<Ex>;

/// Beside other terms, splits a choice into two brackets if one of its sides may contribute no
/// term.
fn split(terms: Vec<(bool, Ex)>) -> Vec<(bool, Ex)> {
    if terms.len() < 2 {
        return terms;
    }
    let mut all = Vec::new();
    for (neg, e) in terms {
        match e {
            Ex::Choice(p, a, b) if !(a.is_term() && b.is_term()) => {
                all.extend(split(vec![(neg, Ex::guard(p.clone(), *a)), (neg, Ex::guard(p.negated(), *b))]));
            }
            e => all.push((neg, e)),
        }
    }
    all
}

/// Merges complementary brackets into a choice. Beside other terms, the choice must always
/// contribute a term.
fn chosen(terms: &[(bool, Ex)], context: &mut Context, table: &Table) -> Option<Ex> {
    let literals = terms.iter().flat_map(|(_, e)| guard_of(e).conjuncts().to_vec());
    let mut found: Vec<(usize, bool, Pred, Vec<Option<bool>>)> = Vec::new();
    for literal in literals {
        let opposite = literal.negated();
        let side = |(_, e): &(bool, Ex)| {
            let p = guard_of(e);
            let has = |q: &Pred| q.conjuncts().iter().all(|q| p.conjuncts().contains(q));
            if has(&literal) { Some(true) } else { has(&opposite).then_some(false) }
        };
        let sides: Vec<Option<bool>> = terms.iter().map(side).collect();
        // Outside the brackets the literal's reads must be in bounds.
        if sides.contains(&Some(true)) && sides.contains(&Some(false)) && table.asks(&literal, context) {
            found.push((sides.iter().filter(|s| s.is_none()).count(), denies(&literal), literal, sides));
        }
    }
    // Prefers a literal that divides all terms, then one without a negation.
    found.sort_by_key(|(rest, denies, ..)| (*rest, *denies));
    found.into_iter().find_map(|(others, _, literal, sides)| {
        let part = |which: bool| {
            let own = terms.iter().zip(&sides).filter(|(_, s)| **s == Some(which)).map(|((neg, e), _)| {
                let known = if which { literal.clone() } else { literal.negated() };
                (*neg, e.without(&known))
            });
            Ex::sum(own.collect())
        };
        let (a, b) = (part(true), part(false));
        if others > 0 && !(a.is_term() && b.is_term()) {
            return None;
        }
        let rest = terms.iter().zip(&sides).filter(|(_, s)| s.is_none()).map(|(t, _)| t.clone());
        Some(Ex::sum(rest.chain([(false, Ex::choice(literal, a, b))]).collect()))
    })
}

/// Merges two brackets that are complementary under the known facts.
fn complementary(terms: &[(bool, Ex)], context: &mut Context) -> Option<Ex> {
    let [(n, Ex::Guard(p, a)), (m, Ex::Guard(q, b))] = terms else { return None };
    let other = under(p, context, |context| context.refutes(q));
    (other && under(&p.negated(), context, |context| context.implies(q)))
        .then(|| Ex::choice(p.clone(), signed(*n, a), signed(*m, b)))
}

/// Merges three or more mutually exclusive brackets into a chain of choices. A sum of brackets that
/// all fail would contribute its zero as a term.
fn disjoint(terms: &[(bool, Ex)], context: &mut Context) -> Option<Ex> {
    let mut rest = Vec::new();
    for (neg, e) in terms {
        let Ex::Guard(p, e) = e else { return None };
        rest.push((p.clone(), signed(*neg, e)));
    }
    let apart = |k: usize, context: &mut Context| {
        let Some(((p, _), others)) = rest.get(k..).and_then(|rest| rest.split_first()) else { return true };
        under(p, context, |context| others.iter().all(|(q, _)| context.refutes(q)))
    };
    if rest.len() < 3 || !(0..rest.len()).all(|k| apart(k, context)) {
        return None;
    }
    if let Some((_, one)) = rest.first().cloned()
        && rest.iter().all(|(_, e)| *e == one)
    {
        return Some(Ex::guard(Pred::any_of(rest.into_iter().map(|(p, _)| p)), one));
    }
    let mark = context.mark();
    let mut chain = Vec::new();
    while !rest.is_empty() {
        rest.iter_mut().for_each(|(p, _)| *p = context.simplify(p));
        let first = (0..rest.len()).min_by_key(|k| rest.get(*k).map(|(p, _)| place(p))).unwrap_or(0);
        let (p, e) = rest.remove(first);
        assume(&p.negated(), context);
        chain.push((p, e));
    }
    context.release(mark);
    let (last, e) = chain.pop()?;
    Some(chain.into_iter().rev().fold(Ex::guard(last, e), |rest, (p, e)| Ex::choice(p, e, rest)))
}

/// Returns the sort key of a test in the chain: upper bounds come first, then equations, and
/// conjunctions last.
fn place(p: &Pred) -> (u32, i128) {
    match p {
        Pred::Ge(p) if p.terms().iter().any(|(m, c)| !m.is_empty() && *c < 0) => (0, 0),
        // `i == 0`, then `i == 1`.
        Pred::Eq(p) if p.plus(-p.constant_part()).as_atom().is_some() => (1, -p.constant_part()),
        Pred::Eq(_) => (1, 0),
        Pred::And(_) => (3, 0),
        _ => (2, 0),
    }
}

/// Merges the terms under the same bracket.
fn together(terms: &[(bool, Ex)]) -> Option<Ex> {
    let mut groups: Vec<(Pred, Vec<(bool, Ex)>)> = Vec::new();
    for (neg, e) in terms {
        let (p, e) = (guard_of(e), (*neg, bare(e).clone()));
        match groups.iter_mut().find(|(q, _)| p == *q) {
            Some((_, group)) => group.push(e),
            None => groups.push((p, vec![e])),
        }
    }
    let any = groups.iter().any(|(p, group)| !p.is_true() && group.len() > 1);
    let joined = groups.into_iter().flat_map(|(p, group)| match <[(bool, Ex); 1]>::try_from(group) {
        Ok([(neg, e)]) => vec![(neg, Ex::guard(p, e))],
        Err(group) if p.is_true() => group,
        Err(group) => vec![(false, Ex::guard(p, Ex::sum(group)))],
    });
    any.then(|| Ex::sum(joined.collect()))
}

/// Returns whether the predicate is negated or a disjunction.
fn denies(p: &Pred) -> bool {
    matches!(p, Pred::Is(.., false) | Pred::Member(.., false) | Pred::Any(.., false) | Pred::Ne(_) | Pred::Or(_))
}

fn signed(neg: bool, e: &Ex) -> Ex {
    if neg { e.clone().negated() } else { e.clone() }
}

/// Moves the factors and divisors that all terms share before the sum of the rest.
fn factored(terms: &[(bool, Ex)]) -> Option<Ex> {
    let parts = |e: &Ex| match e {
        Ex::Product(p) => (p.over.clone(), p.under.clone()),
        other => (vec![other.clone()], Vec::new()),
    };
    if terms.iter().any(|(_, e)| matches!(e, Ex::Guard(..))) {
        return None;
    }
    let (over, under) = parts(&terms.first()?.1);
    let common = |items: Vec<Ex>, divisors: bool| -> Vec<Ex> {
        let in_all = |f: &Ex| {
            !is_number(f)
                && terms.iter().all(|(_, e)| {
                    let (over, under) = parts(e);
                    if divisors { under.contains(f) } else { over.contains(f) }
                })
        };
        items.into_iter().filter(in_all).collect()
    };
    let (over, under) = (common(over, false), common(under, true));
    let numbers: Vec<f64> = terms.iter().map(|(_, e)| number(e)).collect();
    let by = numbers.first().copied().filter(|by| numbers.iter().all(|n| n == by)).unwrap_or(1.0);
    if over.is_empty() && under.is_empty() && by == 1.0 {
        return None;
    }
    let rest = Ex::sum(terms.iter().map(|(neg, e)| (*neg, divided(e, by, &over, &under))).collect());
    Some(Ex::product(by, over.into_iter().chain([rest]).collect(), under))
}

/// Returns the positive constant of which the term is a multiple.
fn number(e: &Ex) -> f64 {
    match e {
        Ex::Product(p) if p.per == 1.0 && p.by > 0.0 && !(p.over.is_empty() && p.under.is_empty()) => p.by,
        _ => 1.0,
    }
}

fn is_number(e: &Ex) -> bool {
    e.as_real().is_some() || matches!(e, Ex::Constant(_))
}

fn guard_of(e: &Ex) -> Pred {
    if let Ex::Guard(p, _) = e { p.clone() } else { Pred::truth() }
}

fn bare(e: &Ex) -> &Ex {
    if let Ex::Guard(_, inner) = e { inner } else { e }
}

/// Returns the term without these factors and divisors.
fn divided(e: &Ex, by: f64, over: &[Ex], under: &[Ex]) -> Ex {
    let Ex::Product(p) = e else {
        return if over.contains(e) { Ex::real(1.0) } else { e.clone() };
    };
    let rest = |items: &[Ex], gone: &[Ex]| items.iter().filter(|e| !gone.contains(e)).cloned().collect::<Vec<Ex>>();
    let mut divisors = rest(&p.under, under);
    if p.per.to_bits() != 1.0_f64.to_bits() {
        divisors.push(Ex::real(p.per));
    }
    Ex::product(if p.by == by { 1.0 } else { p.by }, rest(&p.over, over), divisors)
}

/// Fuses two sums over the same range.
fn fused(terms: &[(bool, Ex)]) -> Option<Ex> {
    for (k, (m, a)) in terms.iter().enumerate() {
        for (j, (n, b)) in terms.iter().enumerate().skip(k + 1) {
            if let Some(both) = one_total(*m, a, *n, b) {
                let mut terms = terms.to_vec();
                terms.remove(j);
                if let Some(slot) = terms.get_mut(k) {
                    *slot = (false, both);
                }
                return Some(Ex::sum(terms));
            }
        }
    }
    None
}

fn one_total(m: bool, a: &Ex, n: bool, b: &Ex) -> Option<Ex> {
    let (p, a, q, b) = (guard_of(a), bare(a), guard_of(b), bare(b));
    let (Ex::Total(i, s, x), Ex::Total(j, t, y)) = (a, b) else { return None };
    let extents = |i: &[Index]| i.iter().map(|i| i.extent.clone()).collect::<Vec<Poly>>();
    if p != q || extents(i) != extents(j) {
        return None;
    }
    // Tries the index orders in which the predicates may agree: the same order, or for two indices
    // the swapped one.
    let orders: &[&[usize]] = if i.len() == 2 { &[&[0, 1], &[1, 0]] } else { &[&[]] };
    orders.iter().find_map(|order| {
        let target = |k: usize| i.get(order.get(k).copied().unwrap_or(k)).map(Index::value);
        let put = |p: &Poly| p.substitute(&|a| j.iter().position(|j| j.atom() == *a).and_then(target));
        let same = t.map(&put) == *s;
        let y = y.map_polys(&put);
        same.then(|| {
            let body = Ex::sum(vec![(m, x.as_ref().clone()), (n, y.clone())]);
            Ex::guard(p.clone(), Ex::total(i.clone(), s.clone(), body))
        })
    })
}
