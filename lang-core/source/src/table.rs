//! **Facts about statements.** Holds the extents of each statement, and whether it may be zero or
//! not finite because a range is empty. Module [`super::read`] fills the table; the rules of
//! [`super::rules`] and [`super::sums`] read it.

use super::regions::Region;
use super::rules::{inside, under};
use super::tree::Ex;
use lang_ir::core::Operation;
use lang_ir::ssa::{FIRST_INDEX, Var};
use lang_sizes::predicate::{Atom, Context, Index, LocalId, Poly, Pred};

/// Facts about statements, and the supply of fresh index variables.
#[derive(Debug, Default)]
pub(super) struct Table {
    next: u32,
    /// The extents of each statement.
    pub(super) extents: Vec<Vec<Poly>>,
    /// For each statement, whether it is finite for most data, however small the ranges are.
    pub(super) tame: Vec<bool>,
    /// For each statement, whether it may be zero because a range is empty.
    pub(super) counts: Vec<bool>,
    /// For a statement whose elements are places in a range with an extent of its own: that extent.
    /// If it is zero no element is a valid place; otherwise every element is one.
    pub(super) places: Vec<Option<Poly>>,
    /// Extents that are positive wherever the expression under simplification is read.
    pub(super) reached: Vec<Poly>,
    /// The loops that contain statements.
    pub(super) regions: Vec<Region>,
}

impl Table {
    /// The first number of a fresh index; smaller numbers are canonical indices of statements.
    pub(super) const FIRST: u32 = 1 << 16;

    /// Returns a fresh index variable.
    pub(super) fn index(&mut self, extent: Poly) -> Index {
        self.next += 1;
        let local = LocalId(FIRST_INDEX + Self::FIRST + self.next);
        Index { local, name: format!("i{}", self.next).into(), extent }
    }

    /// Simplifies `0 <= x < n` to `0 < n` if `x` is the place of a term among `n` places, because
    /// such a place exists exactly if the range is not empty.
    pub(super) fn chosen(&self, p: Pred) -> Pred {
        let all = p.conjuncts();
        let extent = |q: &Pred| {
            let Pred::Ge(low) = q else { return None };
            let Atom::Read(x, ..) = low.as_atom()? else { return None };
            let n = self.places.get(Var::of_local(*x)?.0 as usize)?.as_ref()?;
            let high = Pred::less(low, n);
            all.contains(&high).then(|| (q.clone(), high, Pred::less(&Poly::default(), n)))
        };
        let Some((low, high, some)) = all.iter().find_map(extent) else { return p };
        let others = all.iter().filter(|q| **q != low && **q != high).cloned();
        self.chosen(Pred::all(others.chain([some])))
    }

    /// Returns whether it is finite for most data, however small the ranges are, so that zero times
    /// it is zero. A quotient by a sum or a count, or a function of one, is not.
    pub(super) fn is_tame(&self, e: &Ex) -> bool {
        let mut tame = true;
        e.visit(&mut |e| {
            tame &= match e {
                Ex::Read(v, _) => self.tame.get(v.0 as usize) == Some(&true),
                Ex::Product(p) => !p.under.iter().any(|e| self.is_count(e)),
                Ex::Apply(Operation::Convert(_) | Operation::Not | Operation::Stop, _) => true,
                Ex::Apply(_, args) => !args.iter().any(|e| self.is_count(e)),
                // The maximum over an empty range is infinite.
                Ex::Reduce(r) => r.reducer.gives_place(),
                _ => true,
            };
        });
        tame
    }

    /// Returns whether it may be zero because a range is empty.
    pub(super) fn is_count(&self, e: &Ex) -> bool {
        let mut counts = false;
        e.visit(&mut |e| {
            counts |= match e {
                Ex::Total(..) | Ex::Index(_) | Ex::Guard(..) | Ex::Reduce(_) => true,
                Ex::Read(v, _) => self.counts.get(v.0 as usize) == Some(&true),
                _ => false,
            };
        });
        counts
    }

    /// Returns whether the known facts prove that all elements that it reads exist.
    pub(super) fn in_bounds(&self, e: &Ex, context: &mut Context) -> bool {
        match e {
            Ex::Read(v, at) => at.iter().all(|p| self.reads(p, context)) && self.has(*v, at, context),
            Ex::Index(p) => self.reads(p, context),
            Ex::Guard(p, inner) => self.asks(p, context) && under(p, context, |context| self.in_bounds(inner, context)),
            Ex::Total(i, p, inner) => {
                let there = |context: &mut Context| {
                    self.asks(p, context) && under(p, context, |context| self.in_bounds(inner, context))
                };
                inside(i, context, there)
            }
            Ex::Reduce(r) => {
                let there = |context: &mut Context| {
                    let good =
                        |context: &mut Context| self.reads(&r.place, context) && self.in_bounds(&r.body, context);
                    self.asks(&r.terms, context) && under(&r.terms, context, good)
                };
                (!r.fails || context.implies(&r.some())) && inside(&r.indices, context, there)
            }
            Ex::Choice(p, a, b) => {
                self.asks(p, context)
                    && under(p, context, |context| self.in_bounds(a, context))
                    && under(&p.negated(), context, |context| self.in_bounds(b, context))
            }
            other => {
                let mut all = true;
                other.for_each_child(&mut |e| all = all && self.in_bounds(e, context));
                all
            }
        }
    }

    /// Returns whether the known facts prove that all elements that the predicate reads exist.
    /// Affine conjuncts may be assumed for the others, because bounds are evaluated before
    /// elements.
    pub(super) fn asks(&self, p: &Pred, context: &mut Context) -> bool {
        match p {
            Pred::And(items) => {
                let (first, rest): (Vec<&Pred>, Vec<&Pred>) =
                    items.iter().partition(|p| matches!(p, Pred::Ge(_) | Pred::Eq(_)) && self.asks(p, context));
                let first = Pred::all(first.into_iter().cloned());
                under(&first, context, |context| rest.iter().all(|p| self.asks(p, context)))
            }
            Pred::Or(items) => items.iter().all(|p| self.asks(p, context)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => self.reads(p, context),
            Pred::Is(x, _, at, _) => {
                let there = Var::of_local(*x).is_some_and(|v| self.has(v, at, context));
                there && at.iter().all(|p| self.reads(p, context))
            }
            Pred::Member(_, _, at, _) => at.iter().all(|p| self.reads(p, context)),
            Pred::Any(i, p, _) => inside(std::slice::from_ref(i), context, |context| self.asks(p, context)),
        }
    }

    fn reads(&self, p: &Poly, context: &Context) -> bool {
        let mut all = true;
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a
                && let Some(v) = Var::of_local(*x)
            {
                all &= self.has(v, at, context);
            }
        });
        all
    }

    fn has(&self, v: Var, at: &[Poly], context: &Context) -> bool {
        let Some(extents) = self.extents.get(v.0 as usize) else { return false };
        at.iter().zip(extents).all(|(a, n)| context.implies(&Pred::inside(a, n)))
    }
}
