//! Expressions simplified where they stand: predicates by what is known there, sums by equations, what does not
//! depend on a sum's indices before it, choices in place of complementary brackets, common factors once. None
//! of this costs work. What is assumed of arithmetic is that sums and products may be put together in another
//! order, that products distribute over sums, and the identities of [`super::tree`].

use super::table::Table;
use super::tree::Ex;
use crate::ir::core::Operation;
use crate::predicate::{Context, Index, Poly, Pred};
use crate::syntax::ops::Scalar;

/// A sum over a range of at most so many indices, at places that move with another index, is over that range.
const WINDOW: i128 = 64;

/// The expression, simplified.
pub(super) fn clean(e: &Ex, context: &mut Context, fresh: &mut Table) -> Ex {
    crate::interp::guarded(|| clean_node(e, context, fresh))
}

fn clean_node(e: &Ex, context: &mut Context, fresh: &mut Table) -> Ex {
    match e {
        Ex::Guard(p, inner) => {
            let p = context.simplify(p);
            if p.is_false() {
                return inner.zero_like();
            }
            let inner = under(&p, context, |context| clean(inner, context, fresh));
            let said = p.conjuncts().iter().filter(|q| !empty_without(&inner, q, context, fresh));
            Ex::guard(Pred::all(said.cloned()), inner)
        }
        Ex::Choice(p, a, b) => {
            let p = context.simplify(p);
            let a = under(&p, context, |context| clean(a, context, fresh));
            let b = under(&p.negated(), context, |context| clean(b, context, fresh));
            match (a, b) {
                _ if p.is_true() => clean(&choice_side(e, true), context, fresh),
                _ if p.is_false() => clean(&choice_side(e, false), context, fresh),
                (a, b) => Ex::choice(p, a, b),
            }
        }
        Ex::Total(indices, p, inner) => total(indices, p, inner, context, fresh),
        Ex::Sum(_) => match e.rebuilt(&mut |e| clean(e, context, fresh)) {
            Ex::Sum(terms) => sum(terms, context, fresh),
            other => other,
        },
        other => other.rebuilt(&mut |e| clean(e, context, fresh)),
    }
}

/// Is it zero where the predicate does not hold, as sums then have no terms?
fn empty_without(e: &Ex, p: &Pred, context: &mut Context, table: &Table) -> bool {
    under(&p.negated(), context, |context| vanishes(e, context, table)) && table.in_bounds(e, context)
}

fn vanishes(e: &Ex, context: &mut Context, table: &Table) -> bool {
    match e {
        Ex::Total(indices, q, _) => inside(indices, context, |context| {
            context.assume(q);
            context.contradictory()
        }),
        Ex::Product(p) => {
            let (zeros, others): (Vec<&Ex>, Vec<&Ex>) = p.over.iter().partition(|e| vanishes(e, context, table));
            !zeros.is_empty() && table.is_tame(e) && others.iter().all(|e| table.is_tame(e))
        }
        Ex::Sum(terms) => terms.iter().all(|(_, e)| vanishes(e, context, table)),
        Ex::Apply(Operation::Convert(_), args) => {
            matches!(args.as_slice(), [Ex::Index(n)] if context.implies(&Pred::zero(n)))
        }
        Ex::Guard(q, inner) => context.refutes(q) || vanishes(inner, context, table),
        _ => false,
    }
}

fn choice_side(e: &Ex, first: bool) -> Ex {
    match e {
        Ex::Choice(_, a, b) => if first { a } else { b }.as_ref().clone(),
        other => other.clone(),
    }
}

/// What is done where a predicate holds.
pub(super) fn under<T>(p: &Pred, context: &mut Context, f: impl FnOnce(&mut Context) -> T) -> T {
    let mark = context.mark();
    context.assume(p);
    let value = f(context);
    context.release(mark);
    value
}

/// What is done inside the ranges of indices.
pub(super) fn inside<T>(indices: &[Index], context: &mut Context, f: impl FnOnce(&mut Context) -> T) -> T {
    let mark = context.mark();
    indices.iter().for_each(|i| context.enter(i));
    let value = f(context);
    context.release(mark);
    value
}

fn total(indices: &[Index], p: &Pred, inner: &Ex, context: &mut Context, fresh: &mut Table) -> Ex {
    let mut indices = indices.to_vec();
    let mut p = inside(&indices, context, |context| context.simplify(p));
    let mut inner = inner.clone();
    // An index that an equation tells goes.
    while let Some((k, value)) = (0..indices.len()).rev().find_map(|k| Some((k, p.solution(&indices.get(k)?.atom())?)))
    {
        let gone = indices.remove(k);
        let atom = gone.atom();
        let put = |p: &Poly| p.substitute(&|a| (*a == atom).then(|| value.clone()));
        p = Pred::inside(&value, &gone.extent).and(&p.map(&put));
        inner = inner.map_polys(&put);
        p = inside(&indices, context, |context| context.simplify(&p));
    }
    if p.is_false() {
        return inner.zero_like();
    }
    for k in 0..indices.len() {
        if let Some((index, from)) = indices.get(k).and_then(|i| window(i, &p, fresh)) {
            let Some(slot) = indices.get_mut(k) else { continue };
            let (atom, extent) = (slot.atom(), slot.extent.clone());
            let value = from.add(&index.value());
            let put = |p: &Poly| p.substitute(&|a| (*a == atom).then(|| value.clone()));
            *slot = index;
            p = Pred::inside(&value, &extent).and(&p.map(&put));
            inner = inner.map_polys(&put);
            p = inside(&indices, context, |context| context.simplify(&p));
        }
    }
    let inner = inside(&indices, context, |context| under(&p, context, |context| clean(&inner, context, fresh)));
    // What came to stand in the sum may be a sum or a bracket.
    match Ex::total(indices.clone(), p.clone(), inner.clone()) {
        Ex::Total(all, q, body) if all.len() != indices.len() || q != p => total(&all, &q, &body, context, fresh),
        Ex::Total(all, q, body) => hoist(all, &q, *body, context, fresh),
        other => other,
    }
}

/// An index over the places where the predicate lets one be, if these are a few that move with others: the new
/// index and where it begins.
fn window(index: &Index, p: &Pred, fresh: &mut Table) -> Option<(Index, Poly)> {
    let bounds: Vec<(i128, Poly)> = p
        .conjuncts()
        .iter()
        .filter_map(|p| if let Pred::Ge(p) = p { p.linear_in(&index.atom()) } else { None })
        .collect();
    let (below, above): (Vec<_>, Vec<_>) = bounds.iter().partition(|b| b.0 > 0);
    let ([(1, low)], [(-1, high)]) = (below.as_slice(), above.as_slice()) else { return None };
    // -low <= i <= high
    let width = high.add(low).as_constant()?;
    let known = index.extent.as_constant().is_some_and(|n| n <= width + 1);
    (0..WINDOW).contains(&width).then_some(())?;
    (!known).then(|| (fresh.index(Poly::constant(width + 1)), low.neg()))
}

/// Out of a sum goes what does not depend on its indices.
fn hoist(mut indices: Vec<Index>, p: &Pred, body: Ex, context: &mut Context, table: &Table) -> Ex {
    // What might fail or not be finite stays where there may be no term.
    let some = p.is_true()
        && indices
            .iter()
            .all(|i| table.reached.contains(&i.extent) || context.implies(&Pred::less(&Poly::default(), &i.extent)));
    let free = |e: &Ex, indices: &[Index], context: &mut Context| {
        !indices.iter().any(|i| e.mentions(&i.atom())) && (some || table.is_tame(e)) && table.in_bounds(e, context)
    };
    let (outer, own): (Vec<Pred>, Vec<Pred>) =
        p.conjuncts().iter().cloned().partition(|q| !indices.iter().any(|i| q.mentions(&i.atom())));
    let (outer, own) = (Pred::all(outer), Pred::all(own));
    let (mut factors, mut divisors) = (Vec::new(), Vec::new());
    let mut by = 1.0;
    let body = match body {
        Ex::Product(mut product) => {
            by = std::mem::replace(&mut product.by, 1.0);
            if product.per.to_bits() != 1.0_f64.to_bits() {
                divisors.push(Ex::real(std::mem::replace(&mut product.per, 1.0)));
            }
            let (out, rest): (Vec<Ex>, Vec<Ex>) = product.over.into_iter().partition(|e| free(e, &indices, context));
            factors = out;
            let (out, under): (Vec<Ex>, Vec<Ex>) =
                product.under.into_iter().partition(|e| some && free(e, &indices, context));
            divisors.extend(out);
            Ex::product(1.0, rest, under)
        }
        // A number is counted, if there is a number.
        other => other,
    };
    // An index that only counts is counted.
    let counts = |i: &Index, indices: &[Index]| {
        !body.mentions(&i.atom())
            && !own.mentions(&i.atom())
            && !indices.iter().any(|j| j.extent.mentions(&i.atom()))
            && context.implies(&Pred::nonneg(&i.extent))
    };
    let real = !matches!(body, Ex::Constant(_) | Ex::Index(_));
    if real {
        while let Some(k) = indices.iter().position(|i| counts(i, &indices)) {
            let extent = indices.remove(k).extent;
            factors.push(match extent.as_constant().and_then(|n| i32::try_from(n).ok()) {
                Some(n) => Ex::real(f64::from(n)),
                None => Ex::Apply(Operation::Convert(Scalar::F64), vec![Ex::Index(extent)]),
            });
        }
    }
    let inner = if indices.is_empty() { Ex::guard(own, body) } else { Ex::total(indices, own, body) };
    let product = factors.into_iter().chain([inner]).collect();
    Ex::guard(outer, Ex::product(by, product, divisors))
}

// ---- sums ----

fn sum(terms: Vec<(bool, Ex)>, context: &mut Context, fresh: &mut Table) -> Ex {
    let terms = match chosen(terms, context, fresh) {
        Ok(e) => return e,
        Err(terms) => terms,
    };
    let terms = match factored(terms) {
        Ok(product) => return clean(&product, context, fresh),
        Err(terms) => terms,
    };
    match fused(terms) {
        Ok(e) => clean(&e, context, fresh),
        Err(terms) => Ex::sum(terms),
    }
}

/// Complementary brackets are a choice.
fn chosen(terms: Vec<(bool, Ex)>, context: &mut Context, fresh: &mut Table) -> Result<Ex, Vec<(bool, Ex)>> {
    let guards: Vec<Option<Pred>> =
        terms.iter().map(|(_, e)| if let Ex::Guard(p, _) = e { Some(p.clone()) } else { None }).collect();
    let literals = guards.iter().flatten().flat_map(|p| p.conjuncts().to_vec());
    // What is said without "not" is what is asked.
    let mut literals: Vec<Pred> = literals.collect();
    literals.sort_by_key(denies);
    let side = |p: &Pred, literal: &Pred| {
        let has = |q: &Pred| p.conjuncts().contains(q);
        match (has(literal), has(&literal.negated())) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    };
    for literal in literals {
        let sides: Vec<Option<bool>> = guards.iter().map(|p| p.as_ref().and_then(|p| side(p, &literal))).collect();
        if !(sides.contains(&Some(true)) && sides.contains(&Some(false))) {
            continue;
        }
        let part = |which: bool| {
            let own = terms.iter().zip(&sides).filter(|(_, s)| **s == Some(which)).map(|((neg, e), _)| {
                let known = if which { literal.clone() } else { literal.negated() };
                (*neg, without(e, &known))
            });
            Ex::sum(own.collect())
        };
        let choice = Ex::choice(literal.clone(), part(true), part(false));
        let rest = terms.iter().zip(&sides).filter(|(_, s)| s.is_none()).map(|(t, _)| t.clone());
        let all: Vec<(bool, Ex)> = rest.chain([(false, choice)]).collect();
        return Ok(clean(&Ex::sum(all), context, fresh));
    }
    // Two that are complementary by what is known here.
    if let [(n, Ex::Guard(p, a)), (m, Ex::Guard(q, b))] = terms.as_slice() {
        let other = under(p, context, |context| context.refutes(q));
        if other && under(&p.negated(), context, |context| context.implies(q)) {
            let sign = |neg: &bool, e: &Ex| if *neg { e.clone().negated() } else { e.clone() };
            return Ok(clean(&Ex::choice(p.clone(), sign(n, a), sign(m, b)), context, fresh));
        }
    }
    Err(terms)
}

/// Does it say that something is not so?
fn denies(p: &Pred) -> bool {
    matches!(p, Pred::Is(.., false) | Pred::Member(.., false) | Pred::Any(.., false) | Pred::Ne(_) | Pred::Or(_))
}

fn without(e: &Ex, known: &Pred) -> Ex {
    let Ex::Guard(p, inner) = e else { return e.clone() };
    let rest = p.conjuncts().iter().filter(|q| *q != known && !known.conjuncts().contains(q));
    Ex::guard(Pred::all(rest.cloned()), inner.as_ref().clone())
}

/// The factors that all terms have, before the sum of the rest.
fn factored(terms: Vec<(bool, Ex)>) -> Result<Ex, Vec<(bool, Ex)>> {
    let parts = |e: &Ex| match e {
        Ex::Product(p) => (p.over.clone(), p.under.clone()),
        other => (vec![other.clone()], Vec::new()),
    };
    let guards: Vec<Pred> = terms.iter().map(|(_, e)| guard_of(e)).collect();
    let Some(guard) = guards.first().filter(|g| guards.iter().all(|p| p == *g)).cloned() else {
        return Err(terms);
    };
    let Some((_, first)) = terms.first() else { return Err(terms) };
    let (over, under) = parts(bare(first));
    let common = |items: Vec<Ex>, divisors: bool| -> Vec<Ex> {
        let in_all = |f: &Ex| {
            !is_number(f)
                && terms.iter().all(|(_, e)| {
                    let (over, under) = parts(bare(e));
                    if divisors { under.contains(f) } else { over.contains(f) }
                })
        };
        items.into_iter().filter(in_all).collect()
    };
    let (over, under) = (common(over, false), common(under, true));
    let numbers: Vec<f64> = terms.iter().map(|(_, e)| number(bare(e))).collect();
    let by = numbers.first().copied().filter(|by| numbers.iter().all(|n| n == by)).unwrap_or(1.0);
    if over.is_empty() && under.is_empty() && by == 1.0 {
        return Err(terms);
    }
    let rest = terms.iter().map(|(neg, e)| (*neg, divided(bare(e), by, &over, &under)));
    let rest = Ex::sum(rest.collect());
    let factors = over.into_iter().chain([rest]).collect();
    Ok(Ex::guard(guard, Ex::product(by, factors, under)))
}

/// The number that a term is a multiple of.
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

/// A term without these of its factors and divisors.
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

/// Two sums over the same range are one.
fn fused(mut terms: Vec<(bool, Ex)>) -> Result<Ex, Vec<(bool, Ex)>> {
    for k in 0..terms.len() {
        for j in k + 1..terms.len() {
            let (Some((m, a)), Some((n, b))) = (terms.get(k), terms.get(j)) else { continue };
            let Some(both) = one_total(*m, a, *n, b) else { continue };
            terms.remove(j);
            if let Some(slot) = terms.get_mut(k) {
                *slot = (false, both);
            }
            return Ok(Ex::sum(terms));
        }
    }
    Err(terms)
}

fn one_total(m: bool, a: &Ex, n: bool, b: &Ex) -> Option<Ex> {
    let (p, a, q, b) = (guard_of(a), bare(a), guard_of(b), bare(b));
    let (Ex::Total(i, s, x), Ex::Total(j, t, y)) = (a, b) else { return None };
    let extents = |i: &[Index]| i.iter().map(|i| i.extent.clone()).collect::<Vec<Poly>>();
    if p != q || extents(i) != extents(j) {
        return None;
    }
    // In the order that lets the predicates be the same: as it stands, or, of two, the other way round.
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
