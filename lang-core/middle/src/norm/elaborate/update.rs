//! **Updates**: `x with …`, for arrays with some elements replaced or incremented, and for records
//! with another component.
//!
//! Outside loops, an element at understood indices becomes a selection for each element, so that
//! later passes see through it. In a loop, at data-dependent indices, and for slices it is an
//! update of core, which costs no more than the elements it writes.

use std::sync::Arc;

use super::access::AxisSubscript;
use super::{ElabFrame, ElabResult, Elaborator, SymbolicValue};
use lang_base::{Code, Span};
use lang_ir::core::{CoreExpr, CoreType, CoreUpdate, ExprKind, ExprRef, NoCoreFormReason};
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_types::tree::{self, TypedId, TypedSubscript, TypedUpdateTarget};
use lang_types::ty::Type;

impl Elaborator<'_> {
    /// Elaborates `x with [i] = e` and `x with .k = e`. All other elements stay.
    pub(super) fn with_expr(
        &mut self,
        f: &mut ElabFrame,
        x: TypedId,
        updates: &[tree::TypedWithUpdate],
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let mut value = self.expr(f, x)?;
        let ty = f.code.body.nodes[x].ty.clone();
        let mut steps = Vec::new();
        for update in updates {
            let new = match (self.expr(f, update.value), &update.target) {
                // The extent of the value may be that of the slice. Elaborating the ends of the
                // slice first binds them.
                (Err(outside), TypedUpdateTarget::Index(subs)) if outside.reason == NoCoreFormReason::DataRange => {
                    for sub in subs {
                        if let TypedSubscript::Range { from, to, .. } = sub {
                            self.index_poly(f, *from)?;
                            self.index_poly(f, *to)?;
                        }
                    }
                    self.expr(f, update.value)?
                }
                (new, _) => new?,
            };
            let place = match &update.target {
                TypedUpdateTarget::Proj(k) => (Some(*k), Vec::new()),
                TypedUpdateTarget::Index(subs) => (None, subs.clone()),
            };
            steps.push((place, update.is_add, new));
        }
        for ((field, subs), add, new) in steps {
            value = match field {
                Some(k) => self.replace_component(f, &value, &ty, k, add, new, span)?,
                None => self.replace_elements(f, &value, &subs, add, &new, span)?,
            };
        }
        Ok(value)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of an update")]
    fn replace_component(
        &mut self,
        f: &ElabFrame,
        value: &SymbolicValue,
        ty: &Type,
        k: u32,
        add: bool,
        new: SymbolicValue,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let core = match value {
            SymbolicValue::Tuple(items, names) => (items.len(), names.clone()),
            SymbolicValue::Data(e) => match &e.ty {
                CoreType::Tuple(items, names) => (items.len(), names.clone()),
                _ => return Err(self.no_core_form(NoCoreFormReason::Errors, span)),
            },
            _ => return Err(self.no_core_form(NoCoreFormReason::Errors, span)),
        };
        let old = self.project(f, value, ty, k)?;
        let new = if add { self.sum(vec![old, new], span)? } else { new };
        let at = match ty {
            Type::Record(fields) => super::field_order(fields).iter().position(|j| *j == k as usize).unwrap_or(0),
            _ => k as usize,
        };
        let mut items = (0..core.0).map(|j| self.component(value, j)).collect::<ElabResult<Vec<SymbolicValue>>>()?;
        if let Some(slot) = items.get_mut(at) {
            *slot = new;
        }
        Ok(SymbolicValue::Tuple(items, core.1))
    }

    /// Replaces elements or slices.
    fn replace_elements(
        &mut self,
        f: &mut ElabFrame,
        value: &SymbolicValue,
        subs: &[TypedSubscript],
        add: bool,
        new: &SymbolicValue,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let base = self.data_value(value, span)?;
        let new = self.data_value(new, span)?;
        // Nothing is added where the bracket is false.
        let present = match &new.kind {
            ExprKind::Guard(p, _) if add => p.clone(),
            _ => Pred::truth(),
        };
        let new = self.bind("new", new);
        let (mut ty, mut places, mut holds, mut node) = (base.ty.clone(), Vec::new(), Pred::truth(), None);
        for sub in subs {
            let CoreType::Tensor(n, inner) = ty else { return Err(self.no_core_form(NoCoreFormReason::Errors, span)) };
            let (place, inside) = self.subscript(f, sub, &n)?;
            holds = holds.and(&inside);
            places.push(place);
            ty = (*inner).clone();
            node = node.or(match sub {
                TypedSubscript::Index { index, .. } => Some(*index),
                TypedSubscript::Range { from, .. } => Some(*from),
                TypedSubscript::FullAxis => None,
            });
        }
        let data = places.iter().any(|p| matches!(p, AxisSubscript::Single(at) if reads_data(at)));
        let single = places.iter().all(|p| matches!(p, AxisSubscript::Single(_)));
        let proved = self.proves_with_positions(&holds);
        let updated = if single && !data && !self.in_loop_body && proved && (!add || matches!(ty, CoreType::Scalar(_)))
        {
            self.selection_update(&base, places, &ty, (add, present), &new, span)
        } else {
            self.core_update(base, places, &ty, (add, present), &new, span)?
        };
        if proved {
            return Ok(SymbolicValue::Data(updated));
        }
        let Some(node) = node else { return Ok(SymbolicValue::Data(updated)) };
        let what = self.check_failure(f, node, Code::E0500, "index out of bounds");
        Ok(SymbolicValue::Data(updated.with_kind(ExprKind::Check(holds, what, updated.clone()), updated.ty.clone())))
    }

    /// Builds a selection for each element.
    fn selection_update(
        &mut self,
        base: &ExprRef,
        places: Vec<AxisSubscript>,
        ty: &CoreType,
        (add, present): (bool, Pred),
        new: &ExprRef,
        span: Span,
    ) -> ExprRef {
        let base = self.bind("x", base.clone());
        let (mut outer, mut indices, mut here) = (base.ty.clone(), Vec::new(), present);
        for place in places {
            let CoreType::Tensor(n, inner) = outer else { break };
            let index = self.vars.fresh_index("i", n);
            if let AxisSubscript::Single(at) = place {
                here = here.and(&Pred::equal(&index.value(), &at));
            }
            indices.push(index);
            outer = (*inner).clone();
        }
        let old = indices.iter().fold(base, |e, i: &Index| CoreExpr::access(&e, i.value()));
        let element = if add {
            CoreExpr::new(ExprKind::Add(vec![old, CoreExpr::guard(here, new.clone())]), ty.clone(), span)
        } else {
            self.merge_arms(ty, &[(here.negated(), old), (here, new.clone())], span)
        };
        indices.into_iter().rev().fold(element, |e, i| CoreExpr::generate(i, e))
    }

    /// Builds an update. The value for a slice may be one scalar for all its elements.
    fn core_update(
        &mut self,
        base: ExprRef,
        places: Vec<AxisSubscript>,
        ty: &CoreType,
        (add, pred): (bool, Pred),
        new: &ExprRef,
        span: Span,
    ) -> ElabResult<ExprRef> {
        // An updated array that stays unnamed has no other reader.
        let base = if matches!(base.kind, ExprKind::Update(..)) { base } else { self.bind("x", base) };
        let (mut over, mut at) = (Vec::new(), Vec::new());
        for place in places {
            let (first, count) = match place {
                AxisSubscript::Single(place) => {
                    at.push(place);
                    continue;
                }
                AxisSubscript::Range(first, count) => (first, count),
                AxisSubscript::Whole(n) => (Poly::default(), n),
            };
            let index = self.vars.fresh_index("i", count);
            at.push(first.add(&index.value()));
            over.push(index);
        }
        let scalar = ty.split_array().1.scalar();
        let whole = ty.clone().with_extents(over.iter().map(|i| i.extent.clone()));
        let value = if array_rank(&new.ty) == array_rank(&whole) {
            new.clone()
        } else {
            // One scalar fills the whole slice.
            let extents = whole.split_array().0.into_iter().cloned().collect::<Vec<Poly>>();
            let indices: Vec<Index> = extents.into_iter().map(|n| self.vars.fresh_index("i", n)).collect();
            let filled = indices.into_iter().rev().fold(new.clone(), |e, i| CoreExpr::generate(i, e));
            self.bind("new", filled)
        };
        if add && scalar.is_none() && !matches!(ty.split_array().1, CoreType::Tuple(..)) {
            return Err(self.no_core_form(NoCoreFormReason::Update, span));
        }
        let of = base.ty.clone();
        let update = CoreUpdate { indices: over, at, pred, accumulate: add };
        Ok(CoreExpr::new(ExprKind::Update(Arc::new(update), base, value), of, span))
    }
}

fn array_rank(ty: &CoreType) -> usize {
    ty.split_array().0.len()
}

fn reads_data(p: &Poly) -> bool {
    let mut found = false;
    p.for_each_atom(&mut |a| found |= matches!(a, Atom::Read(..)));
    found
}

/// Merges several values of one array: if each arm is the same array with or without updates,
/// returns that array with all updates, guarded by their arms. Otherwise `None`.
pub(super) fn merge_updates(arms: &[(Pred, ExprRef)]) -> Option<ExprRef> {
    let mut base: Option<ExprRef> = None;
    let mut steps = Vec::new();
    for (p, e) in arms {
        let (mut at, mut own) = (e, Vec::new());
        while let ExprKind::Update(update, before, value) = &at.kind {
            own.push((p.clone(), update.clone(), value.clone(), at.span));
            at = before;
        }
        match &base {
            None if at.is_duplicable() => base = Some(at.clone()),
            Some(base) if base.kind == at.kind => {}
            _ => return None,
        }
        steps.extend(own.into_iter().rev());
    }
    if steps.is_empty() {
        return None;
    }
    let base = base?;
    Some(steps.into_iter().fold(base, |base, (p, update, value, span)| {
        // The value may be defined only where its arm is selected.
        let known = matches!(value.kind, ExprKind::Var(_) | ExprKind::Constant(_));
        let value = if known { value } else { CoreExpr::guard(p.clone(), value) };
        let update = CoreUpdate { pred: p.and(&update.pred), ..(*update).clone() };
        let ty = base.ty.clone();
        CoreExpr::new(ExprKind::Update(Arc::new(update), base, value), ty, span)
    }))
}
