//! **Indexing and reshaping.** Elaborates elements, slices, array literals and `reshape` to
//! accesses and generations of core, with bounds checks for unproved subscripts.

use super::{ElabFrame, ElabResult, Elaborator, SymbolicValue};
use lang_base::{Code, Span};
use lang_ir::core::{CoreExpr, CoreType, ExprKind, ExprRef, NoCoreFormReason};
use lang_ir::reduce::delinearize;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_types::tree::{TypedId, TypedSubscript};
use lang_types::ty::Type;

/// An elaborated subscript.
pub(super) enum AxisSubscript {
    Single(Poly),
    /// The first index and the count.
    Range(Poly, Poly),
    Whole(Poly),
}

impl Elaborator<'_> {
    /// Elaborates `x[i, a..b, _]`.
    pub(super) fn index_expr(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        x: TypedId,
        subs: &[TypedSubscript],
    ) -> ElabResult<SymbolicValue> {
        let span = self.span(f, id);
        let base = self.expr(f, x)?;
        let base = self.data_value(&base, span)?;
        let mut e = self.bind("x", base);
        let mut places = Vec::new();
        let mut ty = e.ty.clone();
        let mut holds = Pred::truth();
        for sub in subs {
            let CoreType::Tensor(n, inner) = ty else { return Err(self.no_core_form(NoCoreFormReason::Errors, span)) };
            let (place, inside) = self.subscript(f, sub, &n)?;
            holds = holds.and(&inside);
            places.push(place);
            ty = (*inner).clone();
        }
        let check = (!self.proves_with_positions(&holds))
            .then(|| (holds, self.check_failure(f, id, Code::E0500, "index out of bounds")));
        // An element is checked where it is read, a slice before that.
        let element_wise = places.iter().all(|p| matches!(p, AxisSubscript::Single(_)));
        if let (Some((holds, what)), false) = (&check, element_wise) {
            e = CoreExpr::new(ExprKind::Check(holds.clone(), what.clone(), e.clone()), e.ty.clone(), e.span);
            e = self.bind("x", e);
        }
        let mut indices: Vec<Index> = Vec::new();
        let mut element = e;
        for place in places {
            let at = match place {
                AxisSubscript::Single(at) => at,
                AxisSubscript::Range(first, count) => {
                    let index = self.vars.fresh_index("i", count);
                    let at = first.add(&index.value());
                    indices.push(index);
                    at
                }
                AxisSubscript::Whole(n) => {
                    let index = self.vars.fresh_index("i", n);
                    let at = index.value();
                    indices.push(index);
                    at
                }
            };
            element = CoreExpr::access(&element, at);
        }
        if let (Some((holds, what)), true) = (check, element_wise) {
            element = CoreExpr::new(ExprKind::Check(holds, what, element.clone()), element.ty.clone(), element.span);
        }
        let e = indices.into_iter().rev().fold(element, |e, i| CoreExpr::generate(i, e));
        Ok(self.symbolic_value(e))
    }

    /// Elaborates a subscript of an axis of extent `n`. Returns it with the condition that it is
    /// inside.
    pub(super) fn subscript(
        &mut self,
        f: &mut ElabFrame,
        sub: &TypedSubscript,
        n: &Poly,
    ) -> ElabResult<(AxisSubscript, Pred)> {
        Ok(match sub {
            // The polynomial of a proved index is right even if an operation on the way wraps.
            TypedSubscript::Index { index, is_proved: true } => {
                let span = self.span(f, *index);
                match self.expr(f, *index)? {
                    SymbolicValue::Int { poly, .. } if !poly.has_overflowed() => {
                        self.mark_bounded(&poly);
                        (AxisSubscript::Single(poly), Pred::truth())
                    }
                    _ => return Err(self.no_core_form(NoCoreFormReason::TooLarge, span)),
                }
            }
            TypedSubscript::Index { index, is_proved: false } => {
                let at = self.checked_index(f, *index)?;
                let inside = Pred::in_range(&at, n);
                (AxisSubscript::Single(at), inside)
            }
            TypedSubscript::Range { from, to, is_proved: proved } => {
                let end = self.span(f, *to);
                let (from, to) = (self.checked_index(f, *from)?, self.checked_index(f, *to)?);
                let count = self.uniform_extent(to.sub(&from), end)?;
                let inside = match proved {
                    true => Pred::truth(),
                    false => Pred::all([Pred::nonneg(&from), Pred::at_most(&from, &to), Pred::at_most(&to, n)]),
                };
                (AxisSubscript::Range(from, count), inside)
            }
            TypedSubscript::FullAxis => (AxisSubscript::Whole(n.clone()), Pred::truth()),
        })
    }

    /// Elaborates an index that a check will test, such as `k[i] + 3`. A sum of an integer and a
    /// small constant needs no variable of its own: if it wraps, the wrapped value is outside the
    /// array too.
    fn checked_index(&mut self, f: &mut ElabFrame, id: TypedId) -> ElabResult<Poly> {
        let span = self.span(f, id);
        let value = self.expr(f, id)?;
        if let SymbolicValue::Int { poly, exact: false } = &value {
            let constant = poly.terms().iter().find(|(m, _)| m.is_empty()).map_or(0, |(_, c)| *c);
            if constant.unsigned_abs() < 1 << 62 && poly.add_constant(-constant).as_atom().is_some() {
                self.mark_bounded(poly);
                return Ok(poly.clone());
            }
        }
        let poly = self.exact_poly(value, span)?;
        self.mark_bounded(&poly);
        if poly.has_overflowed() { Err(self.no_core_form(NoCoreFormReason::TooLarge, span)) } else { Ok(poly) }
    }

    /// Returns an extent over outer variables. Fails with `DataRange` if it depends on an index (a
    /// ragged array).
    pub(super) fn uniform_extent(&mut self, n: Poly, span: Span) -> ElabResult<Poly> {
        let n = self.hoist_invariant_integers(&n);
        let mut ragged = false;
        n.for_each_atom(&mut |a| {
            ragged |= match a {
                Atom::Read(..) => false,
                Atom::Local(l, _) => self.indices.get(l).is_some_and(Option::is_some),
                _ => false,
            };
        });
        if ragged || self.is_ragged(&n) { Err(self.no_core_form(NoCoreFormReason::DataRange, span)) } else { Ok(n) }
    }

    /// Elaborates `[a, b, c]` to a generation that selects by index.
    pub(super) fn array_literal(
        &mut self,
        f: &mut ElabFrame,
        items: &[TypedId],
        ty: &Type,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let mut parts = Vec::new();
        for item in items {
            let value = self.expr(f, *item)?;
            let e = self.data_value(&value, span)?;
            parts.push(self.bind("e", e));
        }
        let CoreType::Tensor(n, element) = self.core_type(f, ty, span)? else {
            return Err(self.no_core_form(NoCoreFormReason::Errors, span));
        };
        let index = self.vars.fresh_index("i", n);
        let arms: Vec<(Pred, ExprRef)> =
            (0..).zip(parts).map(|(k, e)| (Pred::equal(&index.value(), &Poly::constant(k)), e)).collect();
        let e = self.merge_arms(&element, &arms, span);
        Ok(SymbolicValue::Data(CoreExpr::generate(index, e)))
    }

    /// Returns the value whose predicate holds, or zero if none does. The predicates must exclude
    /// each other, and values of array or tuple type must be free to read repeatedly.
    pub(super) fn merge_arms(&mut self, ty: &CoreType, arms: &[(Pred, ExprRef)], span: Span) -> ExprRef {
        match ty {
            CoreType::Scalar(_) | CoreType::Rel(_) => match arms {
                [(p, e)] => CoreExpr::guard(p.clone(), e.clone()),
                arms => {
                    let terms = arms.iter().map(|(p, e)| CoreExpr::guard(p.clone(), e.clone())).collect();
                    CoreExpr::new(ExprKind::Add(terms), ty.clone(), span)
                }
            },
            CoreType::Tuple(types, _) => {
                let part = |(k, ty): (usize, &CoreType)| {
                    let k = u32::try_from(k).unwrap_or(u32::MAX);
                    let arms: Vec<_> = arms.iter().map(|(p, e)| (p.clone(), project_component(e, k))).collect();
                    self.merge_arms(ty, &arms, span)
                };
                let items = types.iter().enumerate().map(part).collect();
                CoreExpr::new(ExprKind::Tuple(items), ty.clone(), span)
            }
            CoreType::Tensor(n, inner) => {
                let index = self.vars.fresh_index("i", n.clone());
                let arms: Vec<_> = arms.iter().map(|(p, e)| (p.clone(), CoreExpr::access(e, index.value()))).collect();
                let e = self.merge_arms(inner, &arms, span);
                CoreExpr::generate(index, e)
            }
        }
    }

    /// Elaborates `reshape(x, n, m, …)` by the row-major position of an element in both shapes.
    pub(super) fn reshape(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        x: TypedId,
        ty: &Type,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let value = self.expr(f, x)?;
        let mut e = self.data_value(&value, span)?;
        let new = self.core_type(f, ty, span)?;
        let (dims, _) = new.split_array();
        let (old, _) = e.ty.split_array();
        let old: Vec<Poly> = old.into_iter().take(self.rank_of(f, x)).cloned().collect();
        let one = Poly::constant(1);
        let (before, after) = (old.iter().fold(one.clone(), |p, n| p.mul(n)), dims.iter().fold(one, |p, n| p.mul(n)));
        let whole = Pred::equal(&before, &after);
        if !self.context.implies(&whole) {
            let what = self.check_failure(f, id, Code::E0501, "`reshape` must keep the number of elements");
            e = CoreExpr::new(ExprKind::Check(whole, what, e.clone()), e.ty.clone(), e.span);
        }
        let e = self.bind("x", e);
        let indices: Vec<Index> = dims.into_iter().cloned().map(|n| self.vars.fresh_index("i", n)).collect();
        let place = indices.iter().fold(Poly::default(), |at, i| at.mul(&i.extent).add(&i.value()));
        let at = delinearize(old.iter(), &place);
        if at.iter().any(Poly::has_overflowed) {
            return Err(self.no_core_form(NoCoreFormReason::TooLarge, span));
        }
        let element = at.into_iter().fold(e, |e, i| CoreExpr::access(&e, i));
        Ok(SymbolicValue::Data(indices.into_iter().rev().fold(element, |e, i| CoreExpr::generate(i, e))))
    }

    fn rank_of(&self, f: &ElabFrame, x: TypedId) -> usize {
        f.code.body.nodes[x].ty.split_array().0.len()
    }

    /// Returns the extent of an array's first axis.
    pub(super) fn length(&mut self, value: &SymbolicValue, span: Span) -> ElabResult<SymbolicValue> {
        let e = self.data_value(value, span)?;
        match &e.ty {
            CoreType::Tensor(n, _) => Ok(SymbolicValue::Int { poly: n.clone(), exact: true }),
            _ => Err(self.no_core_form(NoCoreFormReason::Errors, span)),
        }
    }
}

/// Returns a component; for a tuple expression, the component itself.
fn project_component(e: &ExprRef, k: u32) -> ExprRef {
    match &e.kind {
        ExprKind::Tuple(items) => items.get(k as usize).cloned().unwrap_or_else(|| e.clone()),
        _ => CoreExpr::proj(e, k),
    }
}
