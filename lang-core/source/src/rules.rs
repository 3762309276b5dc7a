//! **Contextual simplification** of derivatives on their way to Iverson source. Simplifies an
//! expression under the facts that hold where it occurs. Predicates shrink by known facts,
//! equations eliminate indices of sums, and invariant factors leave sums. Module
//! [`super::sums`] combines terms; [`super::merge`] calls `simplify` until nothing changes.
//!
//! No rule increases the work. The rules assume that sums and products may be reassociated, that
//! products distribute over sums, and the identities of [`super::expression_tree`].

use super::expression_tree::{ReductionExpr, SourceExpr};
use super::sums::simplify_sum;
use super::table::StatementFacts;
use lang_base::check_cancelled;
use lang_ir::core::{Constant, ScalarOp};
use lang_sizes::predicate::{Atom, FactContext, Index, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};

/// The maximal length of a window: consecutive positions whose start depends on other indices. If a
/// window restricts a sum, the sum becomes one over the positions of the window.
const MAX_WINDOW: i128 = 64;

/// Simplifies the expression.
pub(super) fn simplify(e: &SourceExpr, context: &mut FactContext, fresh: &mut StatementFacts) -> SourceExpr {
    lang_base::ensure_sufficient_stack(|| simplify_node(e, context, fresh))
}

fn simplify_node(e: &SourceExpr, context: &mut FactContext, fresh: &mut StatementFacts) -> SourceExpr {
    check_cancelled();
    match e {
        SourceExpr::Guard(p, inner) => {
            let p = simplify_predicate(p, context, fresh);
            if p.is_false() {
                return inner.zero_like();
            }
            let inner = with_assumption(&p, context, |context| simplify(inner, context, fresh));
            let said = p.conjuncts().iter().filter(|q| !is_zero_without(&inner, q, context, fresh));
            SourceExpr::guard(Pred::all(said.cloned()), inner)
        }
        SourceExpr::Choice(p, a, b) => {
            let p = simplify_predicate(p, context, fresh);
            if p.is_true() || p.is_false() {
                return simplify(if p.is_true() { a } else { b }, context, fresh);
            }
            let a = with_assumption(&p, context, |context| simplify(a, context, fresh));
            let b = with_assumption(&p.negated(), context, |context| simplify(b, context, fresh));
            SourceExpr::choice(p, a, b)
        }
        SourceExpr::IndexedSum(indices, p, inner) => simplify_indexed_sum(indices, p, inner, context, fresh),
        SourceExpr::Reduce(r) => with_index_ranges(&r.indices, context, |context| {
            let terms = simplify_predicate(&r.filter, context, fresh);
            let body = with_assumption(&terms, context, |context| simplify(&r.body, context, fresh));
            SourceExpr::Reduce(Box::new(ReductionExpr { filter: terms, body, ..(**r).clone() }))
        }),
        SourceExpr::Sum(_) => match e.map_children_normalised(&mut |e| simplify(e, context, fresh)) {
            SourceExpr::Sum(terms) => simplify_sum(terms, context, fresh),
            other => other,
        },
        SourceExpr::Apply(ScalarOp::Binary(op @ (BinOp::And | BinOp::Or)), _) => {
            match e.map_children_normalised(&mut |e| simplify(e, context, fresh)) {
                SourceExpr::Apply(operation, args) => {
                    // `true` in a conjunction and `false` in a disjunction are neutral.
                    let none = SourceExpr::Constant(Constant::Bool(*op == BinOp::And));
                    let mut said: Vec<SourceExpr> = args.iter().filter(|e| **e != none).cloned().collect();
                    match said.len() {
                        0 => none,
                        1 => said.pop().unwrap_or(none),
                        _ => SourceExpr::Apply(operation, said),
                    }
                }
                other => other,
            }
        }
        other => other.map_children_normalised(&mut |e| simplify(e, context, fresh)),
    }
}

/// Returns whether the expression is zero wherever the predicate is false, because its sums are
/// then empty.
fn is_zero_without(e: &SourceExpr, p: &Pred, context: &mut FactContext, table: &StatementFacts) -> bool {
    with_assumption(&p.negated(), context, |context| is_zero_under(e, context, table)) && table.in_bounds(e, context)
}

fn is_zero_under(e: &SourceExpr, context: &mut FactContext, table: &StatementFacts) -> bool {
    match e {
        SourceExpr::IndexedSum(indices, q, _) => with_index_ranges(indices, context, |context| {
            context.assume(q);
            context.is_contradictory()
        }),
        SourceExpr::Product(p) => {
            let (zeros, others): (Vec<&SourceExpr>, Vec<&SourceExpr>) =
                p.factors.iter().partition(|e| is_zero_under(e, context, table));
            !zeros.is_empty() && table.is_tame(e) && others.iter().all(|e| table.is_tame(e))
        }
        SourceExpr::Sum(terms) => terms.iter().all(|(_, e)| is_zero_under(e, context, table)),
        SourceExpr::Apply(ScalarOp::Convert(_), args) => {
            matches!(args.as_slice(), [SourceExpr::Index(n)] if context.implies(&Pred::zero(n)))
        }
        SourceExpr::Guard(q, inner) => context.refutes(q) || is_zero_under(inner, context, table),
        _ => false,
    }
}

/// Adds the predicate to the context, and the strict bounds that follow from its `!=`.
pub(super) fn assume_with_strict_bounds(p: &Pred, context: &mut FactContext) {
    context.assume(p);
    // If `q >= 0` and `q != 0`, then `q >= 1`.
    for q in p.conjuncts() {
        if let Pred::Ne(q) = q {
            let signs = [q.clone(), q.neg()].into_iter().filter(|q| context.implies(&Pred::nonneg(q)));
            signs.collect::<Vec<Poly>>().iter().for_each(|q| context.assume(&Pred::nonneg(&q.add_constant(-1))));
        }
    }
}

/// Calls `f` where the predicate holds.
pub(super) fn with_assumption<T>(p: &Pred, context: &mut FactContext, f: impl FnOnce(&mut FactContext) -> T) -> T {
    let mark = context.mark();
    assume_with_strict_bounds(p, context);
    let value = f(context);
    context.release(mark);
    value
}

/// Calls `f` where the indices are in their ranges.
pub(super) fn with_index_ranges<T>(
    indices: &[Index],
    context: &mut FactContext,
    f: impl FnOnce(&mut FactContext) -> T,
) -> T {
    let mark = context.mark();
    indices.iter().for_each(|i| context.assume_in_range(i));
    let value = f(context);
    context.release(mark);
    value
}

fn simplify_indexed_sum(
    indices: &[Index],
    p: &Pred,
    inner: &SourceExpr,
    context: &mut FactContext,
    fresh: &mut StatementFacts,
) -> SourceExpr {
    let mut indices = indices.to_vec();
    let mut p = with_index_ranges(&indices, context, |context| simplify_predicate(p, context, fresh));
    let mut inner = inner.clone();
    // Eliminates an index that an equation determines.
    while let Some((k, solution)) = (0..indices.len())
        .rev()
        .find_map(|k| indices.get(k).and_then(|i| solve_for_index(i, &p)).map(|solution| (k, solution)))
    {
        indices.remove(k);
        inner = inner.map_polys(&|p| solution.eliminate_index(p));
        p = with_index_ranges(&indices, context, |context| context.simplify(&solution.pred));
    }
    if p.is_false() {
        return inner.zero_like();
    }
    for k in 0..indices.len() {
        if let Some((index, from)) = indices.get(k).and_then(|i| bounded_window(i, &p, fresh)) {
            let Some(slot) = indices.get_mut(k) else { continue };
            let (atom, extent) = (slot.atom(), slot.extent.clone());
            let value = from.add(&index.value());
            let put = |p: &Poly| p.substitute(&|a| (*a == atom).then(|| value.clone()));
            *slot = index;
            p = Pred::in_range(&value, &extent).and(&p.map(&put));
            inner = inner.map_polys(&put);
            p = with_index_ranges(&indices, context, |context| context.simplify(&p));
        }
    }
    let inner = with_index_ranges(&indices, context, |context| {
        with_assumption(&p, context, |context| simplify(&inner, context, fresh))
    });
    // The new body may be a sum or a bracket that merges with this sum.
    match SourceExpr::total(indices.clone(), p.clone(), inner.clone()) {
        SourceExpr::IndexedSum(all, q, body) if all.len() != indices.len() || q != p => {
            simplify_indexed_sum(&all, &q, &body, context, fresh)
        }
        SourceExpr::IndexedSum(all, q, body) => hoist_invariant_factors(all, &q, *body, context, fresh),
        other => other,
    }
}

/// The solution of an equation for an index: `coefficient * index` is `multiple`, `index`
/// is `value`, and `pred` is the condition with the index eliminated.
struct IndexSolution {
    atom: Atom,
    coefficient: i128,
    multiple: Poly,
    value: Poly,
    pred: Pred,
}

impl IndexSolution {
    /// Returns the polynomial with the index eliminated.
    fn eliminate_index(&self, p: &Poly) -> Poly {
        match p.linear_in(&self.atom) {
            Some((c, rest)) if c % self.coefficient == 0 => rest.add(&self.multiple.scale(c / self.coefficient)),
            _ => p.substitute(&|a| (*a == self.atom).then(|| self.value.clone())),
        }
    }
}

/// Solves the equation in which the index has the smallest coefficient. The solution of
/// `i == 2 * k` for `k` is `i // 2`, if `i % 2 == 0`.
fn solve_for_index(index: &Index, p: &Pred) -> Option<IndexSolution> {
    let atom = index.atom();
    let all = p.conjuncts().iter().filter_map(|q| {
        let Pred::Eq(of) = q else { return None };
        let (c, rest) = of.linear_in(&atom)?;
        let (by, multiple) = if c < 0 { (-c, rest) } else { (c, rest.neg()) };
        // The constant moves to the right side of the remainder.
        let constant = multiple.constant_part();
        let (moves, divisor) = (multiple.add_constant(-constant), Poly::constant(by));
        let left = (-constant).rem_euclid(by);
        let value = moves.div(&divisor)?.add_constant((constant + left) / by);
        let whole = Pred::equal(&moves.rem(&divisor)?, &Poly::constant(left));
        let others = Pred::all(p.conjuncts().iter().filter(|p| *p != q).cloned());
        let mut solution = IndexSolution { atom: atom.clone(), coefficient: by, multiple, value, pred: Pred::truth() };
        solution.pred = Pred::all([
            whole,
            Pred::in_range(&solution.value, &index.extent),
            others.map(&|p| solution.eliminate_index(p)),
        ]);
        Some(solution)
    });
    all.min_by_key(|solution| solution.coefficient)
}

/// Simplifies a predicate under the known facts.
pub(super) fn simplify_predicate(p: &Pred, context: &FactContext, table: &StatementFacts) -> Pred {
    let p = eliminate_existentials(p, context, table);
    if context.implies(&p) { Pred::truth() } else { context.simplify(&p) }
}

/// Eliminates existentials whose index an equation determines, or for which the known facts contain
/// a witness. Also simplifies disjunctions and the bounds of locations, such as those of `argmax`.
fn eliminate_existentials(p: &Pred, context: &FactContext, table: &StatementFacts) -> Pred {
    let inner = |p: &Pred| eliminate_existentials(p, context, table);
    match p {
        Pred::And(items) => table.simplify_location_bounds(Pred::all(items.iter().map(inner))),
        Pred::Or(items) => simplify_disjunction(Pred::any_of(items.iter().map(inner)), context),
        Pred::Exists(index, body, holds) => match solve_for_index(index, &inner(body)) {
            Some(solution) if *holds => solution.pred,
            Some(solution) => solution.pred.negated(),
            None if has_witness(index, body, context.other_assumptions(), &|p| context.implies(p)) => {
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
pub(super) fn has_witness(index: &Index, body: &Pred, known: &[Pred], implied: &dyn Fn(&Pred) -> bool) -> bool {
    let holds = |p: &Pred| known.contains(p) || implied(p);
    let mut places = Vec::new();
    for conjunct in body.conjuncts() {
        let Pred::Element(of, _, at, truth) = conjunct else { continue };
        for fact in known {
            let Pred::Element(other, _, there, same) = fact else { continue };
            if of == other && truth == same {
                let here = at.iter().zip(there.iter()).filter(|(p, _)| **p == index.value());
                places.extend(here.map(|(_, place)| place));
            }
        }
    }
    places.into_iter().any(|place| {
        let put = |a: &Atom| (*a == index.atom()).then(|| place.clone());
        let all = [Pred::in_range(place, &index.extent), body.substitute(&put)];
        all.iter().flat_map(Pred::conjuncts).all(holds)
    })
}

/// Simplifies a disjunction: `i <= 1 || i == 2` is `i <= 2`. If its negation contradicts the
/// context, it is true.
fn simplify_disjunction(p: Pred, context: &FactContext) -> Pred {
    let Pred::Or(items) = &p else { return p };
    let mut all = items.to_vec();
    let next = |all: &[Pred]| {
        all.iter().enumerate().find_map(|(k, bound)| {
            let Pred::Ge(least) = bound else { return None };
            let lower = least.add_constant(1);
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
        && !p.depends_on_data()
    {
        // Repeated, because each round may turn a `!=` into a bound that the next one needs.
        items.iter().for_each(|_| assume_with_strict_bounds(&p.negated(), &mut elsewhere));
        if elsewhere.is_contradictory() {
            return Pred::truth();
        }
    }
    p
}

/// Returns an index over the window that the bounds in the predicate form, and the start of the
/// window. `None` if the window has no constant length, is too long, or is the whole range.
fn bounded_window(index: &Index, p: &Pred, fresh: &mut StatementFacts) -> Option<(Index, Poly)> {
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
    (0..MAX_WINDOW).contains(&width).then_some(())?;
    (!known).then(|| (fresh.fresh_index(Poly::constant(width + 1)), low.neg()))
}

/// Moves factors that do not depend on the sum's indices out of the sum, and turns an index that
/// the body does not mention into a factor.
fn hoist_invariant_factors(
    mut indices: Vec<Index>,
    p: &Pred,
    body: SourceExpr,
    context: &mut FactContext,
    table: &StatementFacts,
) -> SourceExpr {
    // An expression that may fail or not be finite stays inside if the sum may be empty.
    let is_nonempty = |i: &Index, context: &mut FactContext| {
        table.positive_extents.contains(&i.extent) || context.implies(&Pred::less(&Poly::default(), &i.extent))
    };
    let some = p.is_true() && indices.iter().all(|i| is_nonempty(i, context));
    let free = |e: &SourceExpr, indices: &[Index], context: &mut FactContext| {
        !indices.iter().any(|i| e.mentions(&i.atom())) && (some || table.is_tame(e)) && table.in_bounds(e, context)
    };
    let (outer, own): (Vec<Pred>, Vec<Pred>) =
        p.conjuncts().iter().cloned().partition(|q| !indices.iter().any(|i| q.mentions(&i.atom())));
    let (outer, own) = (Pred::all(outer), Pred::all(own));
    let (mut factors, mut divisors) = (Vec::new(), Vec::new());
    let mut by = 1.0;
    let body = match body {
        SourceExpr::Product(mut product) => {
            by = std::mem::replace(&mut product.numerator, 1.0);
            if product.denominator.to_bits() != 1.0_f64.to_bits() {
                divisors.push(SourceExpr::real(std::mem::replace(&mut product.denominator, 1.0)));
            }
            let (out, rest): (Vec<SourceExpr>, Vec<SourceExpr>) =
                product.factors.into_iter().partition(|e| free(e, &indices, context));
            factors = out;
            let (out, under): (Vec<SourceExpr>, Vec<SourceExpr>) =
                product.divisors.into_iter().partition(|e| some && free(e, &indices, context));
            divisors.extend(out);
            SourceExpr::product(1.0, rest, under)
        }
        // Other bodies have no factors to move.
        other => other,
    };
    // A sum over an index that the body does not mention is a product with its extent. A body that
    // may fail or not be finite requires a positive extent, because an empty sum is zero.
    let counts = |i: &Index, indices: &[Index], context: &mut FactContext| {
        !body.mentions(&i.atom())
            && !own.mentions(&i.atom())
            && !indices.iter().any(|j| j.extent.mentions(&i.atom()))
            && context.implies(&Pred::nonneg(&i.extent))
            && (is_nonempty(i, context) || table.is_tame(&body) && table.in_bounds(&body, context))
    };
    let real = !matches!(body, SourceExpr::Constant(_) | SourceExpr::Index(_));
    if real {
        while let Some(k) = indices.iter().position(|i| counts(i, &indices, context)) {
            let extent = indices.remove(k).extent;
            factors.push(match extent.as_constant().and_then(|n| i32::try_from(n).ok()) {
                Some(n) => SourceExpr::real(f64::from(n)),
                None => SourceExpr::Apply(ScalarOp::Convert(Scalar::F64), vec![SourceExpr::Index(extent)]),
            });
        }
    }
    let inner = if indices.is_empty() { SourceExpr::guard(own, body) } else { SourceExpr::total(indices, own, body) };
    let product = factors.into_iter().chain([inner]).collect();
    SourceExpr::guard(outer, SourceExpr::product(by, product, divisors))
}
