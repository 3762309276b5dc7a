//! **Simplification of sums.** Exclusive brackets become a choice, common factors move before the
//! sum, and sums over the same range fuse. In the sums of the language, a bracket that fails
//! contributes no term, whereas an expression around brackets does. The rules respect that
//! difference. [`super::rules`] calls this module for each sum.

use super::expression_tree::SourceExpr;
use super::rules::{assume_with_strict_bounds, simplify, with_assumption};
use super::table::StatementFacts;
use lang_sizes::predicate::{FactContext, Index, Poly, Pred};

/// Simplifies the sum of these terms.
pub(super) fn simplify_sum(
    terms: Vec<(bool, SourceExpr)>,
    context: &mut FactContext,
    fresh: &mut StatementFacts,
) -> SourceExpr {
    let terms = split_choices(terms);
    let table = &*fresh;
    let all: [SumRule; 6] = [
        &|terms, context| guards_to_choice(terms, context, table),
        &complementary_to_choice,
        &exclusive_to_choices,
        &|terms, _| merge_equal_guards(terms),
        &|terms, _| factor_out_common(terms),
        &|terms, _| fuse_sums(terms),
    ];
    let found = all.iter().find_map(|rule| rule(&terms, context));
    match found {
        Some(e) => simplify(&e, context, fresh),
        None => SourceExpr::sum(terms),
    }
}

/// A rewrite rule for the terms of a sum; returns `None` if it does not apply.
type SumRule<'a> = &'a dyn Fn(&[(bool, SourceExpr)], &mut FactContext) -> Option<SourceExpr>;

/// Beside other terms, splits a choice into two brackets if one of its sides may contribute no
/// term.
fn split_choices(terms: Vec<(bool, SourceExpr)>) -> Vec<(bool, SourceExpr)> {
    if terms.len() < 2 {
        return terms;
    }
    let mut all = Vec::new();
    for (neg, e) in terms {
        match e {
            SourceExpr::Choice(p, a, b) if !(a.always_contributes() && b.always_contributes()) => {
                all.extend(split_choices(vec![
                    (neg, SourceExpr::guard(p.clone(), *a)),
                    (neg, SourceExpr::guard(p.negated(), *b)),
                ]));
            }
            e => all.push((neg, e)),
        }
    }
    all
}

/// Merges complementary brackets into a choice. Beside other terms, the choice must always
/// contribute a term.
fn guards_to_choice(
    terms: &[(bool, SourceExpr)],
    context: &mut FactContext,
    table: &StatementFacts,
) -> Option<SourceExpr> {
    let literals = terms.iter().flat_map(|(_, e)| guard_of(e).conjuncts().to_vec());
    let mut found: Vec<(usize, bool, Pred, Vec<Option<bool>>)> = Vec::new();
    for literal in literals {
        let opposite = literal.negated();
        let side = |(_, e): &(bool, SourceExpr)| {
            let p = guard_of(e);
            let has = |q: &Pred| q.conjuncts().iter().all(|q| p.conjuncts().contains(q));
            if has(&literal) { Some(true) } else { has(&opposite).then_some(false) }
        };
        let sides: Vec<Option<bool>> = terms.iter().map(side).collect();
        // Outside the brackets the literal's reads must be in bounds.
        if sides.contains(&Some(true))
            && sides.contains(&Some(false))
            && table.is_predicate_in_bounds(&literal, context)
        {
            found.push((sides.iter().filter(|s| s.is_none()).count(), is_negative_test(&literal), literal, sides));
        }
    }
    // Prefers a literal that divides all terms, then one without a negation.
    found.sort_by_key(|(rest, denies, ..)| (*rest, *denies));
    found.into_iter().find_map(|(others, _, literal, sides)| {
        let part = |which: bool| {
            let own = terms.iter().zip(&sides).filter(|(_, s)| **s == Some(which)).map(|((neg, e), _)| {
                let known = if which { literal.clone() } else { literal.negated() };
                (*neg, e.without_conjuncts(&known))
            });
            SourceExpr::sum(own.collect())
        };
        let (a, b) = (part(true), part(false));
        if others > 0 && !(a.always_contributes() && b.always_contributes()) {
            return None;
        }
        let rest = terms.iter().zip(&sides).filter(|(_, s)| s.is_none()).map(|(t, _)| t.clone());
        Some(SourceExpr::sum(rest.chain([(false, SourceExpr::choice(literal, a, b))]).collect()))
    })
}

/// Merges two brackets that are complementary under the known facts.
fn complementary_to_choice(terms: &[(bool, SourceExpr)], context: &mut FactContext) -> Option<SourceExpr> {
    let [(n, SourceExpr::Guard(p, a)), (m, SourceExpr::Guard(q, b))] = terms else { return None };
    let other = with_assumption(p, context, |context| context.refutes(q));
    (other && with_assumption(&p.negated(), context, |context| context.implies(q)))
        .then(|| SourceExpr::choice(p.clone(), with_sign(*n, a), with_sign(*m, b)))
}

/// Merges three or more mutually exclusive brackets into a chain of choices. A sum of brackets that
/// all fail would contribute its zero as a term.
fn exclusive_to_choices(terms: &[(bool, SourceExpr)], context: &mut FactContext) -> Option<SourceExpr> {
    let mut rest = Vec::new();
    for (neg, e) in terms {
        let SourceExpr::Guard(p, e) = e else { return None };
        rest.push((p.clone(), with_sign(*neg, e)));
    }
    let is_exclusive = |k: usize, context: &mut FactContext| {
        let Some(((p, _), others)) = rest.get(k..).and_then(|rest| rest.split_first()) else { return true };
        with_assumption(p, context, |context| others.iter().all(|(q, _)| context.refutes(q)))
    };
    if rest.len() < 3 || !(0..rest.len()).all(|k| is_exclusive(k, context)) {
        return None;
    }
    if let Some((_, one)) = rest.first().cloned()
        && rest.iter().all(|(_, e)| *e == one)
    {
        return Some(SourceExpr::guard(Pred::any_of(rest.into_iter().map(|(p, _)| p)), one));
    }
    let mark = context.mark();
    let mut chain = Vec::new();
    while !rest.is_empty() {
        rest.iter_mut().for_each(|(p, _)| *p = context.simplify(p));
        let first = (0..rest.len()).min_by_key(|k| rest.get(*k).map(|(p, _)| test_order_key(p))).unwrap_or(0);
        let (p, e) = rest.remove(first);
        assume_with_strict_bounds(&p.negated(), context);
        chain.push((p, e));
    }
    context.release(mark);
    let (last, e) = chain.pop()?;
    Some(chain.into_iter().rev().fold(SourceExpr::guard(last, e), |rest, (p, e)| SourceExpr::choice(p, e, rest)))
}

/// Returns the sort key of a test in the chain: upper bounds come first, then equations, and
/// conjunctions last.
fn test_order_key(p: &Pred) -> (u32, i128) {
    match p {
        Pred::Ge(p) if p.terms().iter().any(|(m, c)| !m.is_empty() && *c < 0) => (0, 0),
        // `i == 0`, then `i == 1`.
        Pred::Eq(p) if p.add_constant(-p.constant_part()).as_atom().is_some() => (1, -p.constant_part()),
        Pred::Eq(_) => (1, 0),
        Pred::And(_) => (3, 0),
        _ => (2, 0),
    }
}

/// Merges the terms under the same bracket.
fn merge_equal_guards(terms: &[(bool, SourceExpr)]) -> Option<SourceExpr> {
    let mut groups: Vec<(Pred, Vec<(bool, SourceExpr)>)> = Vec::new();
    for (neg, e) in terms {
        let (p, e) = (guard_of(e), (*neg, without_guard(e).clone()));
        match groups.iter_mut().find(|(q, _)| p == *q) {
            Some((_, group)) => group.push(e),
            None => groups.push((p, vec![e])),
        }
    }
    let any = groups.iter().any(|(p, group)| !p.is_true() && group.len() > 1);
    let joined = groups.into_iter().flat_map(|(p, group)| match <[(bool, SourceExpr); 1]>::try_from(group) {
        Ok([(neg, e)]) => vec![(neg, SourceExpr::guard(p, e))],
        Err(group) if p.is_true() => group,
        Err(group) => vec![(false, SourceExpr::guard(p, SourceExpr::sum(group)))],
    });
    any.then(|| SourceExpr::sum(joined.collect()))
}

/// Returns whether the predicate is negated or a disjunction.
fn is_negative_test(p: &Pred) -> bool {
    matches!(
        p,
        Pred::Element(.., false) | Pred::Member(.., false) | Pred::Exists(.., false) | Pred::Ne(_) | Pred::Or(_)
    )
}

fn with_sign(neg: bool, e: &SourceExpr) -> SourceExpr {
    if neg { e.clone().negated() } else { e.clone() }
}

/// Moves the factors and divisors that all terms share before the sum of the rest.
fn factor_out_common(terms: &[(bool, SourceExpr)]) -> Option<SourceExpr> {
    let parts = |e: &SourceExpr| match e {
        SourceExpr::Product(p) => (p.factors.clone(), p.divisors.clone()),
        other => (vec![other.clone()], Vec::new()),
    };
    if terms.iter().any(|(_, e)| matches!(e, SourceExpr::Guard(..))) {
        return None;
    }
    let (over, under) = parts(&terms.first()?.1);
    let common = |items: Vec<SourceExpr>, divisors: bool| -> Vec<SourceExpr> {
        let in_all = |f: &SourceExpr| {
            !is_constant(f)
                && terms.iter().all(|(_, e)| {
                    let (over, under) = parts(e);
                    if divisors { under.contains(f) } else { over.contains(f) }
                })
        };
        items.into_iter().filter(in_all).collect()
    };
    let (over, under) = (common(over, false), common(under, true));
    let numbers: Vec<f64> = terms.iter().map(|(_, e)| constant_factor(e)).collect();
    let by = numbers.first().copied().filter(|by| numbers.iter().all(|n| n == by)).unwrap_or(1.0);
    if over.is_empty() && under.is_empty() && by == 1.0 {
        return None;
    }
    let rest = SourceExpr::sum(terms.iter().map(|(neg, e)| (*neg, divide_term(e, by, &over, &under))).collect());
    Some(SourceExpr::product(by, over.into_iter().chain([rest]).collect(), under))
}

/// Returns the positive constant of which the term is a multiple.
fn constant_factor(e: &SourceExpr) -> f64 {
    match e {
        SourceExpr::Product(p)
            if p.denominator == 1.0 && p.numerator > 0.0 && !(p.factors.is_empty() && p.divisors.is_empty()) =>
        {
            p.numerator
        }
        _ => 1.0,
    }
}

fn is_constant(e: &SourceExpr) -> bool {
    e.as_real().is_some() || matches!(e, SourceExpr::Constant(_))
}

fn guard_of(e: &SourceExpr) -> Pred {
    if let SourceExpr::Guard(p, _) = e { p.clone() } else { Pred::truth() }
}

fn without_guard(e: &SourceExpr) -> &SourceExpr {
    if let SourceExpr::Guard(_, inner) = e { inner } else { e }
}

/// Returns the term without these factors and divisors.
fn divide_term(e: &SourceExpr, by: f64, over: &[SourceExpr], under: &[SourceExpr]) -> SourceExpr {
    let SourceExpr::Product(p) = e else {
        return if over.contains(e) { SourceExpr::real(1.0) } else { e.clone() };
    };
    let rest = |items: &[SourceExpr], gone: &[SourceExpr]| {
        items.iter().filter(|e| !gone.contains(e)).cloned().collect::<Vec<SourceExpr>>()
    };
    let mut divisors = rest(&p.divisors, under);
    if p.denominator.to_bits() != 1.0_f64.to_bits() {
        divisors.push(SourceExpr::real(p.denominator));
    }
    SourceExpr::product(if p.numerator == by { 1.0 } else { p.numerator }, rest(&p.factors, over), divisors)
}

/// Fuses two sums over the same range.
fn fuse_sums(terms: &[(bool, SourceExpr)]) -> Option<SourceExpr> {
    for (k, (m, a)) in terms.iter().enumerate() {
        for (j, (n, b)) in terms.iter().enumerate().skip(k + 1) {
            if let Some(both) = fuse_pair(*m, a, *n, b) {
                let mut terms = terms.to_vec();
                terms.remove(j);
                if let Some(slot) = terms.get_mut(k) {
                    *slot = (false, both);
                }
                return Some(SourceExpr::sum(terms));
            }
        }
    }
    None
}

fn fuse_pair(m: bool, a: &SourceExpr, n: bool, b: &SourceExpr) -> Option<SourceExpr> {
    let (p, a, q, b) = (guard_of(a), without_guard(a), guard_of(b), without_guard(b));
    let (SourceExpr::IndexedSum(i, s, x), SourceExpr::IndexedSum(j, t, y)) = (a, b) else { return None };
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
            let body = SourceExpr::sum(vec![(m, x.as_ref().clone()), (n, y.clone())]);
            SourceExpr::guard(p.clone(), SourceExpr::total(i.clone(), s.clone(), body))
        })
    })
}
