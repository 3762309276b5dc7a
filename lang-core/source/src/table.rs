//! **Facts about statements.** Holds the extents of each statement, and whether it may be zero or
//! not finite because a range is empty. Module [`super::read_ssa`] fills the table; the rules of
//! [`super::rules`] and [`super::sums`] read it.

use super::expression_tree::SourceExpr;
use super::read_loops::LoopRegion;
use super::rules::{with_assumption, with_index_ranges};
use lang_ir::core::ScalarOp;
use lang_ir::ssa::{FIRST_INDEX_LOCAL, StmtId};
use lang_sizes::predicate::{Atom, FactContext, Index, LocalId, Poly, Pred};

/// Facts about statements, and the supply of fresh index variables.
#[derive(Debug, Default)]
pub(super) struct StatementFacts {
    next: u32,
    /// The extents of each statement.
    pub(super) extents: Vec<Vec<Poly>>,
    /// For each statement, whether it is finite for most data, however small the ranges are.
    pub(super) tame: Vec<bool>,
    /// For each statement, whether it may be zero because a range is empty.
    pub(super) may_be_zero: Vec<bool>,
    /// For a statement whose elements are places in a range with an extent of its own: that extent.
    /// If it is zero no element is a valid place; otherwise every element is one.
    pub(super) location_extents: Vec<Option<Poly>>,
    /// Extents that are positive wherever the expression under simplification is read.
    pub(super) positive_extents: Vec<Poly>,
    /// The loops that contain statements.
    pub(super) loops: Vec<LoopRegion>,
}

impl StatementFacts {
    /// The first number of a fresh index; smaller numbers are canonical indices of statements.
    pub(super) const FIRST_FRESH: u32 = 1 << 16;

    /// Returns a fresh index variable.
    pub(super) fn fresh_index(&mut self, extent: Poly) -> Index {
        self.next += 1;
        let local = LocalId(FIRST_INDEX_LOCAL + Self::FIRST_FRESH + self.next);
        Index { local, name: format!("i{}", self.next).into(), extent }
    }

    /// Simplifies `0 <= x < n` to `0 < n` if `x` is the place of a term among `n` places, because
    /// such a place exists exactly if the range is not empty.
    pub(super) fn simplify_location_bounds(&self, p: Pred) -> Pred {
        let all = p.conjuncts();
        let extent = |q: &Pred| {
            let Pred::Ge(low) = q else { return None };
            let Atom::Read(x, ..) = low.as_atom()? else { return None };
            let n = self.location_extents.get(StmtId::from_local(*x)?.0 as usize)?.as_ref()?;
            let high = Pred::less(low, n);
            all.contains(&high).then(|| (q.clone(), high, Pred::less(&Poly::default(), n)))
        };
        let Some((low, high, some)) = all.iter().find_map(extent) else { return p };
        let others = all.iter().filter(|q| **q != low && **q != high).cloned();
        self.simplify_location_bounds(Pred::all(others.chain([some])))
    }

    /// Returns whether it is finite for most data, however small the ranges are, so that zero times
    /// it is zero. A quotient by a sum or a count, or a function of one, is not.
    pub(super) fn is_tame(&self, e: &SourceExpr) -> bool {
        let mut tame = true;
        e.visit(&mut |e| {
            tame &= match e {
                SourceExpr::Read(v, _) => self.tame.get(v.0 as usize) == Some(&true),
                SourceExpr::Product(p) => !p.divisors.iter().any(|e| self.may_be_zero_count(e)),
                SourceExpr::Apply(ScalarOp::Convert(_) | ScalarOp::Not | ScalarOp::Stop, _) => true,
                SourceExpr::Apply(_, args) => !args.iter().any(|e| self.may_be_zero_count(e)),
                // The maximum over an empty range is infinite.
                SourceExpr::Reduce(r) => r.reducer.is_arg_reduction(),
                _ => true,
            };
        });
        tame
    }

    /// Returns whether it may be zero because a range is empty.
    pub(super) fn may_be_zero_count(&self, e: &SourceExpr) -> bool {
        let mut counts = false;
        e.visit(&mut |e| {
            counts |= match e {
                SourceExpr::IndexedSum(..) | SourceExpr::Index(_) | SourceExpr::Guard(..) | SourceExpr::Reduce(_) => {
                    true
                }
                SourceExpr::Read(v, _) => self.may_be_zero.get(v.0 as usize) == Some(&true),
                _ => false,
            };
        });
        counts
    }

    /// Returns whether the known facts prove that all elements that it reads exist.
    pub(super) fn in_bounds(&self, e: &SourceExpr, context: &mut FactContext) -> bool {
        match e {
            SourceExpr::Read(v, at) => {
                at.iter().all(|p| self.is_polynomial_in_bounds(p, context)) && self.element_exists(*v, at, context)
            }
            SourceExpr::Index(p) => self.is_polynomial_in_bounds(p, context),
            SourceExpr::Guard(p, inner) => {
                self.is_predicate_in_bounds(p, context)
                    && with_assumption(p, context, |context| self.in_bounds(inner, context))
            }
            SourceExpr::IndexedSum(i, p, inner) => {
                let there = |context: &mut FactContext| {
                    self.is_predicate_in_bounds(p, context)
                        && with_assumption(p, context, |context| self.in_bounds(inner, context))
                };
                with_index_ranges(i, context, there)
            }
            SourceExpr::Reduce(r) => {
                let there = |context: &mut FactContext| {
                    let good = |context: &mut FactContext| {
                        self.is_polynomial_in_bounds(&r.location, context) && self.in_bounds(&r.body, context)
                    };
                    self.is_predicate_in_bounds(&r.filter, context) && with_assumption(&r.filter, context, good)
                };
                (!r.fails_if_empty || context.implies(&r.has_terms())) && with_index_ranges(&r.indices, context, there)
            }
            SourceExpr::Choice(p, a, b) => {
                self.is_predicate_in_bounds(p, context)
                    && with_assumption(p, context, |context| self.in_bounds(a, context))
                    && with_assumption(&p.negated(), context, |context| self.in_bounds(b, context))
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
    pub(super) fn is_predicate_in_bounds(&self, p: &Pred, context: &mut FactContext) -> bool {
        match p {
            Pred::And(items) => {
                let (first, rest): (Vec<&Pred>, Vec<&Pred>) = items
                    .iter()
                    .partition(|p| matches!(p, Pred::Ge(_) | Pred::Eq(_)) && self.is_predicate_in_bounds(p, context));
                let first = Pred::all(first.into_iter().cloned());
                with_assumption(&first, context, |context| rest.iter().all(|p| self.is_predicate_in_bounds(p, context)))
            }
            Pred::Or(items) => items.iter().all(|p| self.is_predicate_in_bounds(p, context)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => self.is_polynomial_in_bounds(p, context),
            Pred::Element(x, _, at, _) => {
                let there = StmtId::from_local(*x).is_some_and(|v| self.element_exists(v, at, context));
                there && at.iter().all(|p| self.is_polynomial_in_bounds(p, context))
            }
            Pred::Member(_, _, at, _) => at.iter().all(|p| self.is_polynomial_in_bounds(p, context)),
            Pred::Exists(i, p, _) => {
                with_index_ranges(std::slice::from_ref(i), context, |context| self.is_predicate_in_bounds(p, context))
            }
        }
    }

    fn is_polynomial_in_bounds(&self, p: &Poly, context: &FactContext) -> bool {
        let mut all = true;
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a
                && let Some(v) = StmtId::from_local(*x)
            {
                all &= self.element_exists(v, at, context);
            }
        });
        all
    }

    fn element_exists(&self, v: StmtId, at: &[Poly], context: &FactContext) -> bool {
        let Some(extents) = self.extents.get(v.0 as usize) else { return false };
        at.iter().zip(extents).all(|(a, n)| context.implies(&Pred::in_range(a, n)))
    }
}
