//! **Loops**: `fold`, `scan` and `loop`. The body becomes a local function
//! ([`super::closure_conversion`]) of its captures and the carry. It returns the next carry and the
//! output of the step. Several index variables are nested loops.
//!
//! A loop with a condition carries the condition's value, because it must be known before a step
//! runs.

use std::sync::Arc;

use super::closure_conversion::LocalFunction;
use super::{ElabFrame, ElabResult, Elaborator, SymbolicValue, field_order};
use lang_base::{Code, Name, Span};
use lang_ir::core::{
    CheckFailure, CheckpointSpacing, CoreExpr, CoreLoop, CoreTripCount, CoreType, ExprKind, ExprRef, NoCoreFormReason,
    TupleLabels,
};
use lang_ir::reduce::delinearize;
use lang_sizes::predicate::{Atom, Index, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::{OpenedExtent, TypedId, TypedIndexVar, TypedPattern};
use lang_types::ty::Type;

/// A `fold` or `scan` over indices.
pub(super) struct FoldExpr<'a> {
    pub(super) scan: bool,
    pub(super) acc: &'a TypedPattern,
    pub(super) init: TypedId,
    pub(super) vars: &'a [TypedIndexVar],
    pub(super) body: TypedId,
    pub(super) yields: Option<TypedId>,
}

impl FoldExpr<'_> {
    fn has_outputs(&self) -> bool {
        self.scan || self.yields.is_some()
    }
}

/// The checkpoint settings of a loop.
pub(super) struct CheckpointSettings {
    spacing: CheckpointSpacing,
    /// The condition on the spacing, if it needs a check.
    check: Option<(Pred, Arc<CheckFailure>)>,
}

impl Elaborator<'_> {
    /// Elaborates `checkpoint k: fold …`.
    pub(super) fn checkpoint(
        &mut self,
        f: &mut ElabFrame,
        every: Option<TypedId>,
        of: TypedId,
    ) -> ElabResult<SymbolicValue> {
        let mut kept = CheckpointSettings { spacing: CheckpointSpacing::SquareRoot, check: None };
        if let Some(every) = every {
            let k = self.index_poly(f, every)?;
            let positive = Pred::nonneg(&k.add_constant(-1));
            if !self.context.implies(&positive) {
                let what = self.check_failure(f, every, Code::E0511, "the checkpoint spacing is below 1");
                kept.check = Some((positive, what));
            }
            kept.spacing = CheckpointSpacing::Fixed(k);
        }
        self.pending_checkpoint = Some(kept);
        self.expr(f, of)
    }

    /// Elaborates `fold acc = init for …: body yield e`, and `scan`.
    pub(super) fn fold_expr(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        fold: &FoldExpr<'_>,
    ) -> ElabResult<SymbolicValue> {
        let span = self.span(f, id);
        let states = self.pending_checkpoint.take();
        let init = self.expr(f, fold.init)?;
        let init = self.data_value(&init, span)?;
        let init = self.relation_as_array(init)?;
        let init = self.bind("init", init);
        let (last, kept) = self.fold_loops(f, id, fold, 0, init.clone(), states)?;
        if fold.scan {
            let kept = self.data_value(&kept, span)?;
            return self.prepend_initial_state(&init, &kept, fold.vars.len(), span);
        }
        Ok(if fold.yields.is_some() { SymbolicValue::Tuple(vec![last, kept], TupleLabels::Positions) } else { last })
    }

    /// Builds the loops over the variables from this depth on. Returns the last carry and the
    /// stacked outputs of the steps. Checkpoints apply to the outermost loop only.
    fn fold_loops(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        fold: &FoldExpr<'_>,
        depth: usize,
        carry: ExprRef,
        states: Option<CheckpointSettings>,
    ) -> ElabResult<(SymbolicValue, SymbolicValue)> {
        let span = self.span(f, id);
        let ty = f.code.body.nodes[fold.init].ty.clone();
        let Some(var) = fold.vars.get(depth) else {
            let before = self.symbolic_value(carry);
            self.bind_pattern(f, fold.acc, &before, &ty, span)?;
            let next = self.expr(f, fold.body)?;
            let next = if fold.scan { self.name_value(next, "next") } else { next };
            let kept = match fold.yields {
                Some(e) => self.expr(f, e)?,
                None if fold.scan => next.clone(),
                None => SymbolicValue::Tuple(Vec::new(), TupleLabels::Positions),
            };
            return Ok((next, kept));
        };
        let mut range = self.range_values(f, var)?;
        if fold.has_outputs() {
            range.count = self.hoist_invariant_integers(&range.count);
        }
        let name = f.code.body.locals.get(var.local.0 as usize).map(|l| l.name.clone()).unwrap_or_default();
        let extent = match fold.has_outputs() {
            true => self.hull(&range.count).ok_or_else(|| self.no_core_form(NoCoreFormReason::DataRange, span))?,
            false => Poly::default(),
        };
        let positive = Pred::nonneg(&range.count);
        let checked = fold.has_outputs() && !self.context.implies(&positive);
        let counter = self.vars.fresh_index(name, extent);
        let known = Index { extent: range.count.clone(), ..counter.clone() };
        let params = vec![(carry_name(f, fold.acc), carry.ty.clone())];
        let mut inner = ElabFrame { code: f.code.clone(), env: f.env.clone() };
        inner.env.insert(var.local, SymbolicValue::Int { poly: range.value_at(&counter.value()), exact: true });
        let body = self.loop_body(&known, params, span, |this, values| {
            let Some(carry) = values.into_iter().next() else {
                return Err(this.no_core_form(NoCoreFormReason::Errors, span));
            };
            let carry = this.data_value(&carry, span)?;
            let (next, kept) = this.fold_loops(&mut inner, id, fold, depth + 1, carry, None)?;
            Ok(SymbolicValue::Tuple(vec![next, kept], TupleLabels::Positions))
        })?;
        let mut e = self.build_loop(&body, counter, CoreTripCount::Fixed(range.count), states, carry, span);
        e = self.check_step(f, id, range.step_check, e);
        if checked {
            let what = self.check_failure(f, id, Code::E0509, "the extent is negative");
            e = e.with_kind(ExprKind::Check(positive, what, e.clone()), e.ty.clone());
        }
        let e = self.bind("r", e);
        Ok((self.symbolic_value(CoreExpr::proj(&e, 0)), self.symbolic_value(CoreExpr::proj(&e, 1))))
    }

    /// Elaborates `loop acc = init while cond: body`, and `scan`.
    #[expect(clippy::too_many_arguments, reason = "the parts of a loop")]
    pub(super) fn loop_expr(
        &mut self,
        f: &mut ElabFrame,
        id: TypedId,
        scan: bool,
        acc: &TypedPattern,
        init: TypedId,
        cond: TypedId,
        body: TypedId,
    ) -> ElabResult<SymbolicValue> {
        let span = self.span(f, id);
        let states = self.pending_checkpoint.take();
        let ty = f.code.body.nodes[init].ty.clone();
        let init = self.expr(f, init)?;
        let init = self.data_value(&init, span)?;
        let init = self.relation_as_array(init)?;
        let init = self.bind("init", init);
        let mut outer = ElabFrame { code: f.code.clone(), env: f.env.clone() };
        let first = self.symbolic_value(init.clone());
        self.bind_pattern(&mut outer, acc, &first, &ty, span)?;
        let going = self.predicate(&mut outer, cond)?;
        let going = SymbolicValue::Tuple(
            vec![SymbolicValue::Bool(going), SymbolicValue::Data(init.clone())],
            TupleLabels::Positions,
        );
        let start = self.data_value(&going, span)?;
        let start = self.bind("start", start);
        let counter = self.vars.fresh_index("step", Poly::default());
        let params = vec![(None, start.ty.clone())];
        let mut inner = ElabFrame { code: f.code.clone(), env: f.env.clone() };
        let region = self.loop_body(
            &Index { extent: Poly::atom(Atom::Overflow), ..counter.clone() },
            params,
            span,
            |this, values| {
                let Some(carry) = values.into_iter().next() else {
                    return Err(this.no_core_form(NoCoreFormReason::Errors, span));
                };
                let before = this.component(&carry, 1)?;
                this.bind_pattern(&mut inner, acc, &before, &ty, span)?;
                let next = this.expr(&mut inner, body)?;
                let next = this.data_value(&next, span)?;
                let next = this.bind("next", next);
                let after = this.symbolic_value(next);
                this.bind_pattern(&mut inner, acc, &after, &ty, span)?;
                let going = this.predicate(&mut inner, cond)?;
                let kept = if scan { after.clone() } else { SymbolicValue::Tuple(Vec::new(), TupleLabels::Positions) };
                Ok(SymbolicValue::Tuple(
                    vec![SymbolicValue::Tuple(vec![SymbolicValue::Bool(going), after], TupleLabels::Positions), kept],
                    TupleLabels::Positions,
                ))
            },
        )?;
        // A scan is two loops here. They must have equal spacing, because Tensor SSA merges them
        // into one.
        let scan_settings =
            states.as_ref().map(|kept| CheckpointSettings { spacing: kept.spacing.clone(), check: None });
        let e = self.build_loop(&region, counter.clone(), CoreTripCount::While, states, start.clone(), span);
        let e = self.bind("r", e);
        if !scan {
            let last = CoreExpr::proj(&e, 0);
            return Ok(self.symbolic_value(CoreExpr::proj(&last, 1)));
        }
        let trips = self.symbolic_value(CoreExpr::proj(&e, 2));
        let trips = self.exact_poly(trips, span)?;
        if self.is_ragged(&trips) {
            return Err(self.no_core_form(NoCoreFormReason::DataRange, span));
        }
        let counter = Index { extent: trips, ..self.vars.fresh_index("step", Poly::default()) };
        let e = self.build_loop(&region, counter, CoreTripCount::While, scan_settings, start, span);
        let e = self.bind("r", e);
        self.prepend_initial_state(&init, &CoreExpr::proj(&e, 1), 1, span)
    }

    /// Builds a loop body as a local function of these parameters, which are the carry.
    pub(super) fn loop_body(
        &mut self,
        counter: &Index,
        params: Vec<(Option<Name>, CoreType)>,
        span: Span,
        body: impl FnOnce(&mut Self, Vec<SymbolicValue>) -> ElabResult<SymbolicValue>,
    ) -> ElabResult<LocalFunction> {
        let mark = self.context.mark();
        if counter.extent.has_overflowed() {
            self.context.assume(&Pred::nonneg(&counter.value()));
        } else {
            self.context.assume_in_range(counter);
        }
        // Outer index variables are arguments of the body, and constant inside it.
        let indices = self.indices.clone();
        self.indices.values_mut().for_each(|extent| *extent = None);
        self.indices.insert(counter.local, None);
        let repeated = std::mem::replace(&mut self.in_loop_body, true);
        let enclosed = self.make_local_function(params, span, body);
        self.in_loop_body = repeated;
        self.indices.extend(indices);
        self.context.release(mark);
        enclosed
    }

    /// Outlines a value: computes it in a local function of the index variables and everything else
    /// that it depends on. These are constant inside the function, so extents may depend on them.
    /// The call is a loop of one iteration, which outputs the value.
    pub(super) fn outline(
        &mut self,
        span: Span,
        value: impl FnOnce(&mut Self) -> ElabResult<ExprRef>,
    ) -> ElabResult<ExprRef> {
        let one = Poly::constant(1);
        let counter = self.vars.fresh_index("once", one.clone());
        let unit = || SymbolicValue::Tuple(Vec::new(), TupleLabels::Positions);
        let body = self.loop_body(&counter, vec![(None, CoreType::unit())], span, |this, _| {
            let value = value(this)?;
            Ok(SymbolicValue::Tuple(vec![unit(), SymbolicValue::Data(value)], TupleLabels::Positions))
        })?;
        // The extents of the result must be known outside, and must not depend on indices.
        let mut known = true;
        if let CoreType::Tuple(parts, _) = &body.result {
            for leaf in parts.iter().flat_map(|ty| ty.leaves()) {
                for n in &leaf.dims {
                    known &= self.hull(n).as_ref() == Some(n);
                    n.for_each_atom(&mut |a| {
                        if let Atom::Local(l, _) | Atom::Read(l, ..) = a {
                            known &= body.sizes.contains(l) || body.captured.iter().any(|(x, _)| x == l);
                        }
                    });
                }
            }
        }
        if !known {
            return Err(self.no_core_form(NoCoreFormReason::DataRange, span));
        }
        let unit = self.data_value(&unit(), span)?;
        let e = self.build_loop(&body, counter, CoreTripCount::Fixed(one), None, unit, span);
        let e = self.bind("r", e);
        Ok(CoreExpr::access(&CoreExpr::proj(&e, 1), Poly::default()))
    }

    fn build_loop(
        &self,
        body: &LocalFunction,
        counter: Index,
        trips: CoreTripCount,
        states: Option<CheckpointSettings>,
        carry: ExprRef,
        span: Span,
    ) -> ExprRef {
        let mut args: Vec<ExprRef> =
            body.captured.iter().map(|(local, ty)| self.captured_arg(*local, ty, span)).collect();
        let parts = match &body.result {
            CoreType::Tuple(parts, _) => parts.clone(),
            _ => Arc::from([]),
        };
        let kept = parts.get(1).cloned().unwrap_or_else(CoreType::unit);
        let kept = CoreType::Tensor(counter.extent.clone(), Arc::new(kept));
        let ty = CoreType::tuple([carry.ty.clone(), kept, CoreType::Scalar(Scalar::I64)]);
        args.push(carry);
        let sizes = body.sizes.iter().map(|l| Poly::atom(self.vars.atom(*l))).collect();
        let (checkpoint, checked) = states.map(|kept| (kept.spacing, kept.check)).unzip();
        let repeat = CoreLoop { body: body.callee.clone(), sizes, counter, trip_count: trips, checkpoint };
        let e = CoreExpr::new(ExprKind::Loop(Arc::new(repeat), args), ty, span);
        match checked.flatten() {
            Some((pred, what)) => e.with_kind(ExprKind::Check(pred, what, e.clone()), e.ty.clone()),
            None => e,
        }
    }

    /// Concatenates the initial state and the states after the steps, which have `indices` axes, to
    /// one array.
    fn prepend_initial_state(
        &mut self,
        init: &ExprRef,
        after: &ExprRef,
        indices: usize,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let (mut extents, mut ty) = (Vec::new(), &after.ty);
        while let (CoreType::Tensor(n, inner), true) = (ty, extents.len() < indices) {
            extents.push(n.clone());
            ty = inner;
        }
        let steps = extents.iter().fold(Poly::constant(1), |all, n| all.mul(n));
        let index = self.vars.fresh_index("k", steps.add_constant(1));
        let first = Pred::equal(&index.value(), &Poly::default());
        let at = delinearize(extents.iter(), &index.value().add_constant(-1));
        if steps.has_overflowed() || at.iter().any(Poly::has_overflowed) {
            return Err(self.no_core_form(NoCoreFormReason::TooLarge, span));
        }
        let later = at.into_iter().fold(after.clone(), |e, k| CoreExpr::access(&e, k));
        let e = self.merge_arms(ty, &[(first.clone(), init.clone()), (first.negated(), later)], span);
        Ok(SymbolicValue::Data(CoreExpr::generate(index, e)))
    }

    /// Binds the sizes of `let [k] xs = e`, which only the run knows.
    pub(super) fn bind_result_sizes(
        &mut self,
        f: &mut ElabFrame,
        opens: &[OpenedExtent],
        ty: &Type,
        value: &SymbolicValue,
        span: Span,
    ) -> ElabResult<()> {
        for open in opens {
            let (mut ty, mut at) = (ty.clone(), value.clone());
            for k in &open.path {
                let place = match &ty {
                    Type::Record(fields) => field_order(fields).iter().position(|j| *j == *k as usize).unwrap_or(0),
                    _ => *k as usize,
                };
                at = self.component(&at, place)?;
                ty = match ty {
                    Type::Tuple(items) => items.get(*k as usize).cloned().unwrap_or(Type::Error),
                    Type::Record(fields) => fields.get(*k as usize).map_or(Type::Error, |f| f.1.clone()),
                    other => other,
                };
            }
            let e = self.data_value(&at, span)?;
            let (dims, _) = e.ty.split_array();
            let n = dims.get(open.axis as usize).ok_or_else(|| self.no_core_form(NoCoreFormReason::DataRange, span))?;
            f.env.insert(open.local, SymbolicValue::Int { poly: (*n).clone(), exact: true });
        }
        Ok(())
    }
}

/// Returns the name of the carry, if the pattern is one name.
fn carry_name(f: &ElabFrame, acc: &TypedPattern) -> Option<Name> {
    match acc {
        TypedPattern::Bind(local) => f.code.body.locals.get(local.0 as usize).map(|l| l.name.clone()),
        _ => None,
    }
}
