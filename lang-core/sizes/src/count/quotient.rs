//! **Quotients and remainders by sizes**, which a constant number of remainders cannot split. They
//! are replaced if the other comparisons show that they equal something simpler.

use super::disjoint::Conjunction;
use crate::predicate::{Atom, FactContext, Poly, Pred};

/// Whether `q` is at least 1.
fn is_positive(q: &Poly, inside: &FactContext) -> bool {
    inside.implies(&Pred::nonneg(&q.add_constant(-1)))
}

/// Finds a quotient or remainder by a size that simplifies under the facts, as that of `a·n + b` by
/// a positive `n` does. Returns it with its simpler value.
pub(super) fn find_simpler_quotient<'p>(
    of: impl Iterator<Item = &'p Poly>,
    inside: &FactContext,
) -> Option<(Atom, Poly)> {
    let mut all: Vec<Atom> = Vec::new();
    of.for_each(|p| p.for_each_atom(&mut |a| all.push(a.clone())));
    all.sort_unstable();
    all.dedup();
    all.into_iter().find_map(|atom| {
        let (Atom::Div(p, q) | Atom::Mod(p, q)) = &atom else { return None };
        if q.as_constant().is_some() || !is_positive(q, inside) {
            return None;
        }
        let (whole, part) = p.divide_by_term(q);
        let by = match (&atom, inside.implies(&Pred::in_range(&part, q))) {
            (Atom::Div(..), true) => whole,
            (_, true) => part,
            _ if whole.is_zero() => return None,
            (Atom::Div(..), _) => whole.add(&part.div(q)?),
            _ => part.rem(q)?,
        };
        Some((atom, by))
    })
}

/// Eliminates a quotient that an equation determines. If `u == x // n` with a positive `n`, then
/// `n·u <= x < n·u + n`, and `x % n` is `x - n·u`.
pub(super) fn eliminate_determined_quotient(of: &Conjunction, known: &FactContext) -> Option<Conjunction> {
    let inside = of.extend_context(known);
    of.equations.iter().find_map(|equation| {
        let mut quotients = Vec::new();
        equation.for_each_atom(&mut |a| quotients.extend(matches!(a, Atom::Div(..)).then(|| a.clone())));
        quotients.into_iter().find_map(|quotient| {
            let Atom::Div(x, n) = &quotient else { return None };
            let (c, rest) = equation.linear_in(&quotient).filter(|(c, _)| c.abs() == 1)?;
            if n.as_constant().is_some() || !is_positive(n, &inside) {
                return None;
            }
            let whole = if c > 0 { rest.neg() } else { rest };
            let part = x.sub(&n.mul(&whole));
            let mut next = of.clone();
            next.substitute(&quotient, &whole);
            next.substitute(&Atom::Mod(x.clone(), n.clone()), &part);
            next.bounds.extend([n.sub(&part).add_constant(-1), part]);
            Some(next)
        })
    })
}
