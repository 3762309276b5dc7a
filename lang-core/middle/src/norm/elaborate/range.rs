//! **Index ranges.** In core an index runs from 0 to an extent that is the same for all outer
//! indices. So a range becomes a box, its hull, with a predicate.
//!
//! If outer indices determine a bound linearly, the box ends at the greatest bound. If data
//! determine it for each index, as in `ptr[i]..ptr[i + 1]`, a `max` reduction outside all indices
//! computes the greatest bound first.

use std::sync::Arc;

use super::{ElabFrame, ElabResult, Elaborator};
use lang_base::{Code, Span};
use lang_ir::core::{CoreExpr, CoreType, ExprKind, ExprRef, NoCoreFormReason};
use lang_ir::reduce::{CoreReduction, Reducer};
use lang_sizes::predicate::{Atom, Index, LocalId, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::{TypedId, TypedIndexRange, TypedIndexVar};

/// The values of an index variable: `first`, `first + by`, …
pub(super) struct IndexValues {
    pub(super) first: Poly,
    pub(super) step: Poly,
    pub(super) count: Poly,
    /// The condition that the step is positive, if it needs a check.
    pub(super) step_check: Option<Pred>,
}

/// An index variable from 0, its value in the program, the predicate that it is in range, and the
/// condition on the step.
type CheckedRange = (Index, Poly, Pred, Option<Pred>);

impl IndexValues {
    /// Returns the value at a position of the range.
    pub(super) fn value_at(&self, number: &Poly) -> Poly {
        self.first.add(&number.mul(&self.step))
    }
}

impl Elaborator<'_> {
    /// Returns an index variable from 0, its value in the program, and the predicate that it is in
    /// range. Fails with `DataRange` if the step needs a check.
    pub(super) fn index_range(
        &mut self,
        f: &mut ElabFrame,
        var: &TypedIndexVar,
        span: Span,
    ) -> ElabResult<(Index, Poly, Pred)> {
        let (index, value, inside, step_check) = self.checked_index_range(f, var, span)?;
        if step_check.is_some() {
            Err(self.no_core_form(NoCoreFormReason::DataRange, span))
        } else {
            Ok((index, value, inside))
        }
    }

    /// Does the same, and also returns the condition on the step that needs a check.
    pub(super) fn checked_index_range(
        &mut self,
        f: &mut ElabFrame,
        var: &TypedIndexVar,
        span: Span,
    ) -> ElabResult<CheckedRange> {
        let name = f.code.body.locals.get(var.local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
        let mut range = self.range_values(f, var)?;
        if self.hull(&range.count).is_none() {
            range.count = self.hoist_invariant_integers(&range.count);
        }
        let count = &range.count;
        let hull = match self.hull(count) {
            Some(hull) => hull,
            None => self.max_over_indices(count, span)?,
        };
        let index = self.vars.fresh_index(name, hull.clone());
        let inside = if hull == *count { Pred::truth() } else { Pred::less(&index.value(), count) };
        Ok((index.clone(), range.value_at(&index.value()), inside, range.step_check))
    }

    /// Returns an upper bound of an extent over all outer indices. Each outer index is replaced by
    /// the end of its range that maximises the bound. `None` if an index does not occur linearly,
    /// or if data determine the extent.
    pub(super) fn hull(&self, count: &Poly) -> Option<Poly> {
        if self.is_ragged(count) {
            return None;
        }
        let mut hull = count.clone();
        for _ in 0..=self.indices.len() {
            let next = self.indices_mentioned(&hull).into_iter().next();
            let Some((atom, extent)) = next else { return Some(hull) };
            let (c, rest) = hull.linear_in(&atom)?;
            hull = if c > 0 { rest.add(&extent.scale(c)) } else { rest };
        }
        None
    }

    /// Returns the index variables in scope that the polynomial mentions, with their extents.
    fn indices_mentioned(&self, p: &Poly) -> Vec<(Atom, Poly)> {
        let mut found: Vec<(Atom, Poly)> = Vec::new();
        p.for_each_atom(&mut |a| {
            if let Atom::Local(l, _) = a
                && let Some(Some(extent)) = self.indices.get(l)
                && found.iter().all(|(known, _)| known != a)
            {
                found.push((a.clone(), extent.clone()));
            }
        });
        found
    }

    /// Hoists loop-invariant integers: rewrites the polynomial to read variables outside all index
    /// variables. It applies to integers bound inside index variables that have the same value for
    /// all of them, and to elements of such arrays. Their checks become assertions here.
    pub(super) fn hoist_invariant_integers(&mut self, p: &Poly) -> Poly {
        let mut moved: Vec<(LocalId, LocalId, Vec<Poly>)> = Vec::new();
        let mut named: Vec<(LocalId, Poly)> = Vec::new();
        let mut inner = Vec::new();
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, ..) = a
                && self.depths.get(x).is_some_and(|depth| *depth > 0)
            {
                inner.push(*x);
            }
        });
        for x in inner {
            let scopes = self.scopes.iter().rev();
            let Some((_, e)) = scopes.flat_map(|s| &s.bindings).find(|(local, _)| *local == x).cloned() else {
                continue;
            };
            let (mut of, mut checks) = (e, Vec::new());
            while let ExprKind::Check(p, what, inner) = &of.kind {
                checks.push((p.clone(), what.clone()));
                of = inner.clone();
            }
            let mut at = Vec::new();
            if !self.is_loop_invariant(&of) {
                while let ExprKind::Access(inner, p) = &of.kind {
                    at.push(p.clone());
                    of = inner.clone();
                }
                at.reverse();
            }
            // The variable is another name for such an integer.
            let renamed = match super::as_variable_element(&of) {
                Some((y, place)) if !self.is_loop_invariant(&of) && at.is_empty() => {
                    let other = Poly::atom(Atom::Read(y, self.vars.name(y), place.into()));
                    let known = self.hoist_invariant_integers(&other);
                    (known != other).then_some(known)
                }
                _ => None,
            };
            if renamed.is_none() && !self.is_loop_invariant(&of) {
                continue;
            }
            for (p, what) in checks {
                let unit = of.with_kind(ExprKind::Tuple(Vec::new()), CoreType::unit());
                let check = unit.with_kind(ExprKind::Check(p, what, unit.clone()), unit.ty.clone());
                self.bind("assert", check);
            }
            match renamed {
                Some(known) => named.push((x, known)),
                None => {
                    let name = self.vars.name(x);
                    moved.push((x, self.bind_outermost(&name, of), at));
                }
            }
        }
        p.substitute(&|a| match a {
            Atom::Read(x, _, rest) => {
                if let (Some((_, known)), true) = (named.iter().find(|(old, _)| old == x), rest.is_empty()) {
                    return Some(known.clone());
                }
                let (_, new, at) = moved.iter().find(|(old, ..)| old == x)?;
                let at = at.iter().chain(&**rest).cloned().collect();
                Some(Poly::atom(Atom::Read(*new, self.vars.name(*new), at)))
            }
            _ => None,
        })
    }

    /// Returns the maximum of the polynomial over the outer indices, or zero if these are empty.
    fn max_over_indices(&mut self, p: &Poly, span: Span) -> ElabResult<Poly> {
        let over = self.indices_mentioned(p);
        // The reduction is outside all indices, so its operands must be available there.
        let mut read: Vec<(LocalId, Vec<Poly>)> = Vec::new();
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a {
                read.push((*x, at.to_vec()));
            }
        });
        if read.iter().any(|(x, _)| self.depths.get(x).is_some_and(|depth| *depth > 0)) {
            return Err(self.no_core_form(NoCoreFormReason::DataRange, span));
        }
        let own: Vec<(Atom, Index)> = over
            .into_iter()
            .map(|(atom, extent)| {
                let name = if let Atom::Local(_, name) = &atom { name.clone() } else { "i".into() };
                (atom, self.vars.fresh_index(name, extent))
            })
            .collect();
        let put = |p: &Poly| p.substitute(&|a| own.iter().find(|(atom, _)| atom == a).map(|(_, index)| index.value()));
        // At indices that surrounding brackets exclude, the reads may be out of bounds.
        let mut terms = Pred::truth();
        for (x, at) in &read {
            let Some(ty) = self.types.get(x) else { return Err(self.no_core_form(NoCoreFormReason::DataRange, span)) };
            let (dims, _) = ty.split_array();
            for (at, n) in at.iter().zip(dims) {
                terms = terms.and(&Pred::in_range(at, n));
            }
        }
        let terms = terms.map(&put);
        let integer = CoreType::Scalar(Scalar::I64);
        let body = CoreExpr::new(ExprKind::Index(put(p)), integer.clone(), span);
        let indices = own.into_iter().map(|(_, index)| index).collect();
        let reduction =
            CoreReduction { reducer: Reducer::Max, indices, filter: terms, arg_value: Poly::default(), body };
        let e = CoreExpr::new(ExprKind::Reduce(Box::new(reduction)), integer, span);
        let most = self.bind_outermost("most", e);
        Ok(Poly::atom(Atom::Read(most, self.vars.name(most), Arc::from([]))))
    }

    /// Returns the values of an index variable.
    pub(super) fn range_values(&mut self, f: &mut ElabFrame, var: &TypedIndexVar) -> ElabResult<IndexValues> {
        let span = f.code.inlined.unwrap_or_default();
        let one = Poly::constant(1);
        let (first, by, count) = match &var.range {
            TypedIndexRange::Extent(n) => (Poly::default(), one, self.elaborate_size(f, n, span)?),
            TypedIndexRange::Below(e) => (Poly::default(), one, self.index_poly(f, *e)?),
            TypedIndexRange::Range(a, b, by) => {
                let (a, b) = (self.index_poly(f, *a)?, self.index_poly(f, *b)?);
                let by = by.map_or(Ok(one), |e| self.index_poly(f, e))?;
                let width = b.sub(&a);
                let count = match by.as_constant() {
                    Some(1) => width,
                    _ => width.add(&by).add_constant(-1).div(&by).unwrap_or_else(|| Poly::atom(Atom::Overflow)),
                };
                (a, by, count)
            }
        };
        if count.has_overflowed() || first.has_overflowed() {
            return Err(self.no_core_form(NoCoreFormReason::DataRange, span));
        }
        let positive = Pred::less(&Poly::default(), &by);
        let step_check = (!self.context.implies(&positive)).then_some(positive);
        Ok(IndexValues { first, step: by, count, step_check })
    }

    /// Adds the check on the step of a range to a value.
    pub(super) fn check_step(&self, f: &ElabFrame, id: TypedId, step_check: Option<Pred>, e: ExprRef) -> ExprRef {
        let Some(condition) = step_check else { return e };
        let what = self.check_failure(f, id, Code::E0511, "the stride is below 1");
        e.with_kind(ExprKind::Check(condition, what, e.clone()), e.ty.clone())
    }

    /// Returns whether the polynomial reads data that differ for each value of an index variable in
    /// scope.
    pub(super) fn is_ragged(&self, p: &Poly) -> bool {
        let mut ragged = false;
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a {
                ragged |= self.depths.get(x).is_some_and(|depth| *depth > 0);
                for p in &**at {
                    p.for_each_atom(&mut |a| {
                        ragged |= match a {
                            Atom::Local(l, _) => self.indices.get(l).is_some_and(Option::is_some),
                            Atom::Read(..) => true,
                            _ => false,
                        };
                    });
                }
            }
        });
        ragged
    }
}
