//! **Contextual simplification.** Simplifies an expression under the facts that hold where it
//! occurs. Predicates shrink by known facts, equations eliminate indices of sums, and invariant
//! factors leave sums. Module [`super::sums`] combines terms; [`super::merge`] calls `clean` until
//! nothing changes.
//!
//! No rule increases the work. The rules assume that sums and products may be reassociated, that
//! products distribute over sums, and the identities of [`super::tree`].

use super::sums::sum;
use super::table::Table;
use super::tree::{Ex, Reduced};
use lang_base::pause;
use lang_ir::core::{Constant, Operation};
use lang_sizes::predicate::{Atom, Context, Index, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// The longest window. A sum restricted to at most this many places that move with another index is
/// rewritten to range over those places.
const WINDOW: i128 = 64;

/// Simplifies the expression.
pub(super) fn clean(e: &Ex, context: &mut Context, fresh: &mut Table) -> Ex {
    lang_base::guarded(|| clean_node(e, context, fresh))
}

fn clean_node(e: &Ex, context: &mut Context, fresh: &mut Table) -> Ex {
    pause();
    match e {
        Ex::Guard(p, inner) => {
            let p = simplified(p, context, fresh);
            if p.is_false() {
                return inner.zero_like();
            }
            let inner = under(&p, context, |context| clean(inner, context, fresh));
            let said = p.conjuncts().iter().filter(|q| !empty_without(&inner, q, context, fresh));
            Ex::guard(Pred::all(said.cloned()), inner)
        }
        Ex::Choice(p, a, b) => {
            let p = simplified(p, context, fresh);
            let a = under(&p, context, |context| clean(a, context, fresh));
            let b = under(&p.negated(), context, |context| clean(b, context, fresh));
            match (a, b) {
                _ if p.is_true() => clean(&choice_side(e, true), context, fresh),
                _ if p.is_false() => clean(&choice_side(e, false), context, fresh),
                (a, b) => Ex::choice(p, a, b),
            }
        }
        Ex::Total(indices, p, inner) => total(indices, p, inner, context, fresh),
        Ex::Reduce(r) => inside(&r.indices, context, |context| {
            let terms = simplified(&r.terms, context, fresh);
            let body = under(&terms, context, |context| clean(&r.body, context, fresh));
            Ex::Reduce(Box::new(Reduced { terms, body, ..(**r).clone() }))
        }),
        Ex::Sum(_) => match e.rebuilt(&mut |e| clean(e, context, fresh)) {
            Ex::Sum(terms) => sum(terms, context, fresh),
            other => other,
        },
        Ex::Apply(Operation::Binary(op @ (BinOp::And | BinOp::Or)), _) => {
            match e.rebuilt(&mut |e| clean(e, context, fresh)) {
                Ex::Apply(operation, args) => {
                    // `true` in a conjunction and `false` in a disjunction are neutral.
                    let none = Ex::Constant(Constant::Bool(*op == BinOp::And));
                    let mut said: Vec<Ex> = args.iter().filter(|e| **e != none).cloned().collect();
                    match said.len() {
                        0 => none,
                        1 => said.pop().unwrap_or(none),
                        _ => Ex::Apply(operation, said),
                    }
                }
                other => other,
            }
        }
        other => other.rebuilt(&mut |e| clean(e, context, fresh)),
    }
}

/// Returns whether the expression is zero wherever the predicate is false, because its sums are
/// then empty.
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

/// Adds the predicate to the context.
pub(super) fn assume(p: &Pred, context: &mut Context) {
    context.assume(p);
    // If `q >= 0` and `q != 0`, then `q >= 1`.
    for q in p.conjuncts() {
        if let Pred::Ne(q) = q {
            let signs = [q.clone(), q.neg()].into_iter().filter(|q| context.implies(&Pred::nonneg(q)));
            signs.collect::<Vec<Poly>>().iter().for_each(|q| context.assume(&Pred::nonneg(&q.plus(-1))));
        }
    }
}

/// Calls `f` where the predicate holds.
pub(super) fn under<T>(p: &Pred, context: &mut Context, f: impl FnOnce(&mut Context) -> T) -> T {
    let mark = context.mark();
    assume(p, context);
    let value = f(context);
    context.release(mark);
    value
}

/// Calls `f` where the indices are in their ranges.
pub(super) fn inside<T>(indices: &[Index], context: &mut Context, f: impl FnOnce(&mut Context) -> T) -> T {
    let mark = context.mark();
    indices.iter().for_each(|i| context.enter(i));
    let value = f(context);
    context.release(mark);
    value
}

fn total(indices: &[Index], p: &Pred, inner: &Ex, context: &mut Context, fresh: &mut Table) -> Ex {
    let mut indices = indices.to_vec();
    let mut p = inside(&indices, context, |context| simplified(p, context, fresh));
    let mut inner = inner.clone();
    // Eliminates an index that an equation determines.
    while let Some((k, told)) =
        (0..indices.len()).rev().find_map(|k| indices.get(k).and_then(|i| told(i, &p)).map(|told| (k, told)))
    {
        indices.remove(k);
        inner = inner.map_polys(&|p| told.put(p));
        p = inside(&indices, context, |context| context.simplify(&told.pred));
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
    // The new body may be a sum or a bracket that merges with this sum.
    match Ex::total(indices.clone(), p.clone(), inner.clone()) {
        Ex::Total(all, q, body) if all.len() != indices.len() || q != p => total(&all, &q, &body, context, fresh),
        Ex::Total(all, q, body) => hoist(all, &q, *body, context, fresh),
        other => other,
    }
}

/// The solution of an equation for an index: `by * index` is `multiple`, `index` is `value`, and
/// `pred` is the condition with the index eliminated.
struct Told {
    atom: Atom,
    by: i128,
    multiple: Poly,
    value: Poly,
    pred: Pred,
}

impl Told {
    /// Returns the polynomial with the index eliminated.
    fn put(&self, p: &Poly) -> Poly {
        match p.linear_in(&self.atom) {
            Some((c, rest)) if c % self.by == 0 => rest.add(&self.multiple.scale(c / self.by)),
            _ => p.substitute(&|a| (*a == self.atom).then(|| self.value.clone())),
        }
    }
}

/// Solves an equation for an index, the one with the smallest coefficient. From `i == 2 * k`, `k`
/// is `i // 2` where `i % 2 == 0`.
fn told(index: &Index, p: &Pred) -> Option<Told> {
    let atom = index.atom();
    let all = p.conjuncts().iter().filter_map(|q| {
        let Pred::Eq(of) = q else { return None };
        let (c, rest) = of.linear_in(&atom)?;
        let (by, multiple) = if c < 0 { (-c, rest) } else { (c, rest.neg()) };
        // The constant moves to the right side of the remainder.
        let constant = multiple.constant_part();
        let (moves, divisor) = (multiple.plus(-constant), Poly::constant(by));
        let left = (-constant).rem_euclid(by);
        let value = moves.div(&divisor)?.plus((constant + left) / by);
        let whole = Pred::equal(&moves.rem(&divisor)?, &Poly::constant(left));
        let others = Pred::all(p.conjuncts().iter().filter(|p| *p != q).cloned());
        let mut told = Told { atom: atom.clone(), by, multiple, value, pred: Pred::truth() };
        told.pred = Pred::all([whole, Pred::inside(&told.value, &index.extent), others.map(&|p| told.put(p))]);
        Some(told)
    });
    all.min_by_key(|told| told.by)
}

/// Simplifies a predicate under the known facts.
pub(super) fn simplified(p: &Pred, context: &Context, table: &Table) -> Pred {
    let p = found(p, context, table);
    if context.implies(&p) { Pred::truth() } else { context.simplify(&p) }
}

/// Eliminates existentials whose index an equation determines, or for which the known facts contain
/// a witness. Simplifies disjunctions and bounds of places.
fn found(p: &Pred, context: &Context, table: &Table) -> Pred {
    let inner = |p: &Pred| found(p, context, table);
    match p {
        Pred::And(items) => table.chosen(Pred::all(items.iter().map(inner))),
        Pred::Or(items) => either(Pred::any_of(items.iter().map(inner)), context),
        Pred::Any(index, body, holds) => match told(index, &inner(body)) {
            Some(told) if *holds => told.pred,
            Some(told) => told.pred.negated(),
            None if is_one(index, body, context.opaque(), &|p| context.implies(p)) => {
                if *holds {
                    Pred::truth()
                } else {
                    Pred::falsity()
                }
            }
            None => p.clone(),
        },
        _ => p.clone(),
    }
}

/// Returns whether the known predicates contain a witness for `index` in `body`.
pub(super) fn is_one(index: &Index, body: &Pred, known: &[Pred], implied: &dyn Fn(&Pred) -> bool) -> bool {
    let holds = |p: &Pred| known.contains(p) || implied(p);
    let mut places = Vec::new();
    for asked in body.conjuncts() {
        let Pred::Is(of, _, at, truth) = asked else { continue };
        for told in known {
            let Pred::Is(other, _, there, same) = told else { continue };
            if of == other && truth == same {
                let here = at.iter().zip(there.iter()).filter(|(p, _)| **p == index.value());
                places.extend(here.map(|(_, place)| place));
            }
        }
    }
    places.into_iter().any(|place| {
        let put = |a: &Atom| (*a == index.atom()).then(|| place.clone());
        let all = [Pred::inside(place, &index.extent), body.substitute(&put)];
        all.iter().flat_map(Pred::conjuncts).all(holds)
    })
}

/// Simplifies a disjunction: `i <= 1 || i == 2` is `i <= 2`. If its negation contradicts the
/// context, it is true.
fn either(p: Pred, context: &Context) -> Pred {
    let Pred::Or(items) = &p else { return p };
    let mut all = items.to_vec();
    let next = |all: &[Pred]| {
        all.iter().enumerate().find_map(|(k, bound)| {
            let Pred::Ge(least) = bound else { return None };
            let lower = least.plus(1);
            let beside = |q: &Pred| matches!(q, Pred::Eq(at) if *at == lower || *at == lower.neg());
            Some((k, all.iter().position(beside)?, Pred::nonneg(&lower)))
        })
    };
    while let Some((bound, beside, both)) = next(&all) {
        all.remove(bound.max(beside));
        all.remove(bound.min(beside));
        all.push(both);
    }
    let p = Pred::any_of(all);
    let mut elsewhere = context.clone();
    if let Pred::Or(items) = &p
        && !p.is_opaque()
    {
        // Repeated, because each round may turn a `!=` into a bound that the next one needs.
        items.iter().for_each(|_| assume(&p.negated(), &mut elsewhere));
        if elsewhere.contradictory() {
            return Pred::truth();
        }
    }
    p
}

/// Returns an index over the window that the bounds in the predicate form, and the start of the
/// window. `None` if the window has no constant length, is too long, or is the whole range.
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

/// Moves factors that do not depend on the sum's indices out of the sum, and turns an index that
/// the body does not mention into a factor.
fn hoist(mut indices: Vec<Index>, p: &Pred, body: Ex, context: &mut Context, table: &Table) -> Ex {
    // An expression that may fail or not be finite stays inside if the sum may be empty.
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
        // Other bodies have no factors to move.
        other => other,
    };
    // A sum over an index that the body does not mention is a product with its extent.
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
