//! **Binders**: ⊞ (4.7), Σ (4.8), ∃ (4.21) and their relatives.
//!
//! Index tuples are visited in lexicographic order, the last variable fastest. A range is evaluated
//! on entry of its loop, so an inner one may depend on outer variables. A range whose end lies
//! before its beginning is empty. But `for`, and a fold that builds an array, reject a negative
//! extent (E0509).
//!
//! - `sum` and `prod` start with the first term, not with 0 or 1. So a sum of `-0.0` is `-0.0`, and
//!   n terms take n − 1 additions. The result over no terms is the zero, or one, of the type. A
//!   bracket with a false predicate is not added, nor is a `sum` directly inside this one that has
//!   no terms (4.30, its note **).
//! - `max` and `min` are NaN if a term is; over no terms they are −∞ and +∞, and fail for `i64`
//!   (E0504).
//! - `argmax` and `argmin` return the index variables (a tuple for several) at the first of the
//!   greatest or least values. A NaN wins over every number in both.
//! - `any` and `all` stop at the first term that decides.
//! - `rel` is the set of the index tuples at which its body holds.

use std::sync::Arc;

use super::Interp;
use super::array_builder::ArrayBuilder;
use super::broadcast::JoinOp;
use super::progress::PollInterval;
use super::runtime_type::FillScalar;
use lang_base::Code as ErrorCode;
use lang_base::count_with_noun;
use lang_base::ensure_sufficient_stack;
use lang_runtime::code::{LocalFrame, RunnableBody};
use lang_runtime::dual::primal;
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::memory::{MAX_EXTENT, MemoryCharge};
use lang_runtime::progress::WorkKind;
use lang_runtime::relation::Relation;
use lang_runtime::{Store, Value};
use lang_sizes::predicate::{Atom, LocalId, Poly};
use lang_syntax::ops::{BinOp, BinderKind};
use lang_types::tree::{TypedExpr, TypedId, TypedIndexRange, TypedIndexVar, TypedNode};
use lang_types::ty::Type;

/// Whether the iteration continues.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IterationControl {
    Continue,
    Stop,
}

/// An evaluated range: `count` indices `first`, `first + by`, … A negative `count` is an empty
/// range.
#[derive(Clone, Copy)]
struct EvaluatedRange {
    first: i64,
    by: i64,
    count: i64,
}

/// The body of a loop nest, called for each index tuple.
pub(super) type LoopBody<'b, 'i> =
    &'b mut dyn FnMut(&mut Interp<'i>, &mut LocalFrame, &mut ObservedExtents) -> InterpResult<IterationControl>;

/// The extents observed so far, outermost first, if the loop nest builds an array.
#[derive(Default)]
pub(super) struct ObservedExtents {
    observed: Vec<usize>,
    is_building: bool,
}

impl ObservedExtents {
    pub(super) fn for_array() -> Self {
        Self { observed: Vec::new(), is_building: true }
    }

    /// Returns the extents of the levels that were entered.
    pub(super) fn observed(&self) -> &[usize] {
        &self.observed
    }
}

/// Returns whether a range consists of literals, sizes and outer locals, joined by `+ - *`. Such a
/// range depends on none of these index variables, and evaluating it again has no other outcome.
fn is_invariant_range(c: &RunnableBody, vars: &[TypedIndexVar], range: &TypedIndexRange) -> bool {
    let outside = |l: LocalId| vars.iter().all(|v| v.local != l);
    let closed = |p: &Poly| {
        let mut closed = true;
        p.for_each_atom(&mut |a| closed &= matches!(a, Atom::Local(l, _) if outside(*l)));
        closed
    };
    let plain = |e: &TypedId| {
        let mut open = vec![*e];
        while let Some(e) = open.pop() {
            match &c.body.nodes[e].kind {
                TypedExpr::Int(_) => {}
                TypedExpr::Local(l) if outside(*l) => {}
                TypedExpr::Size(p) if closed(p) => {}
                TypedExpr::Neg(a) => open.push(*a),
                TypedExpr::Arith(BinOp::Add | BinOp::Sub | BinOp::Mul, a, b) => open.extend([*a, *b]),
                _ => return false,
            }
        }
        true
    };
    match range {
        TypedIndexRange::Extent(p) => closed(p),
        TypedIndexRange::Below(e) => plain(e),
        TypedIndexRange::Range(a, b, by) => plain(a) && plain(b) && by.as_ref().is_none_or(plain),
    }
}

impl<'i> Interp<'i> {
    /// Evaluates the range of an index variable.
    fn eval_range(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        at: FailureSite<'_>,
        range: &TypedIndexRange,
    ) -> InterpResult<EvaluatedRange> {
        let upto = |n| EvaluatedRange { first: 0, by: 1, count: n };
        match range {
            TypedIndexRange::Extent(n) => self.eval_size(at, f, n).map(upto),
            TypedIndexRange::Below(e) => self.eval_i64(c, f, *e).map(upto),
            TypedIndexRange::Range(a, b, by) => {
                let (a, b) = (self.eval_i64(c, f, *a)?, self.eval_i64(c, f, *b)?);
                let step = match by {
                    None => 1,
                    Some(e) => self.eval_i64(c, f, *e)?,
                };
                if step <= 0 {
                    let at = by.map_or(at, |e| c.site(c.body.nodes[e].span));
                    return Err(at.fail(ErrorCode::E0511, format!("the stride is {step}; it must be at least 1")));
                }
                let width = i128::from(b) - i128::from(a);
                // The quotient rounded up. For negative widths every value up to 0 represents an
                // empty range.
                let count = if width > 0 { (width - 1) / i128::from(step) + 1 } else { width };
                let count = i64::try_from(count).unwrap_or(if count > 0 { i64::MAX } else { i64::MIN });
                Ok(EvaluatedRange { first: a, by: step, count })
            }
        }
    }

    /// Calls `body` for every index tuple.
    pub(super) fn visit_tuples(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        at: FailureSite<'_>,
        vars: &[TypedIndexVar],
        extents: &mut ObservedExtents,
        body: LoopBody<'_, 'i>,
    ) -> InterpResult<IterationControl> {
        self.begin_work();
        let end = self.visit_tuples_from(c, f, at, vars, 0, extents, body);
        self.end_work();
        end
    }

    #[expect(clippy::too_many_arguments, reason = "the state of a loop nest")]
    fn visit_tuples_from(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        at: FailureSite<'_>,
        vars: &[TypedIndexVar],
        depth: usize,
        extents: &mut ObservedExtents,
        body: LoopBody<'_, 'i>,
    ) -> InterpResult<IterationControl> {
        let Some(var) = vars.get(depth) else {
            self.begin_iteration(at)?;
            return body(self, f, extents);
        };
        let range = self.eval_range(c, f, at, &var.range)?;
        if range.count >= MAX_EXTENT {
            return Err(at.fail(ErrorCode::E0508, format!("the extent {} is too large", range.count)));
        }
        if extents.is_building {
            self.record_extent(at, extents, depth, range.count)?;
            // An array without elements reveals no further extents. The iteration stops unless a
            // range may fail.
            if range.count == 0 && vars.iter().take(depth + 1).all(|v| is_invariant_range(c, vars, &v.range)) {
                return Ok(IterationControl::Stop);
            }
        }
        // No index tuple exists if a later range is empty. A range that may fail prevents this
        // shortcut.
        if depth == 0 && !extents.is_building && range.count > 1 {
            for later in vars.iter().skip(1) {
                if !is_invariant_range(c, vars, &later.range) {
                    break;
                }
                if self.eval_range(c, f, at, &later.range)?.count <= 0 {
                    return Ok(IterationControl::Continue);
                }
            }
        }
        let mut pace = if depth == 0 { self.track_work(WorkKind::Steps, range.count) } else { PollInterval::default() };
        let mut index = range.first;
        let mut left = range.count.max(0);
        while left > 0 {
            let steps = pace.steps.min(left);
            left -= steps;
            for later in (0..steps).rev() {
                f.set(var.local, Value::I64(index));
                let step = if depth + 1 == vars.len() {
                    self.begin_iteration(at)?;
                    body(self, f, extents)?
                } else {
                    self.poll_interrupt(at)?;
                    ensure_sufficient_stack(|| self.visit_tuples_from(c, f, at, vars, depth + 1, extents, body))?
                };
                if step == IterationControl::Stop {
                    return Ok(IterationControl::Stop);
                }
                if later > 0 || left > 0 {
                    index += range.by;
                }
            }
            if left > 0 {
                self.record_progress(&mut pace, range.count - left);
            }
        }
        Ok(IterationControl::Continue)
    }

    /// Records the extent of a level of a `for`, which must be the same at every entry.
    fn record_extent(
        &mut self,
        at: FailureSite<'_>,
        extents: &mut ObservedExtents,
        depth: usize,
        count: i64,
    ) -> InterpResult<()> {
        let Ok(n) = usize::try_from(count) else {
            return Err(at.fail(ErrorCode::E0509, format!("the extent {count} is negative")));
        };
        match extents.observed.get(depth) {
            Some(seen) if *seen == n => Ok(()),
            Some(seen) => {
                let found = count_with_noun(n, "element", "elements");
                Err(at.fail(ErrorCode::E0501, format!("a row has {found}, but the first row has {seen}")))
            }
            None => {
                extents.observed.push(n);
                Ok(())
            }
        }
    }

    /// Evaluates a binder expression.
    #[inline(never)]
    pub(super) fn eval_binder(&mut self, c: &Arc<RunnableBody>, f: &mut LocalFrame, id: TypedId) -> InterpResult {
        let node = &c.body.nodes[id];
        let at = c.site(node.span);
        let TypedExpr::Binder { kind, vars, filter, body } = &node.kind else {
            return Err(at.internal_error("the expression is not a binder"));
        };
        match kind {
            BinderKind::For => self.eval_for(c, f, node, vars, *body),
            BinderKind::Sum => match self.sum_terms(c, f, id)? {
                Some(sum) => Ok(sum),
                None => self.zero_of(at, f, &node.ty),
            },
            BinderKind::Prod => self.eval_reduction(c, f, node, JoinOp::Mul, FillScalar::One),
            BinderKind::Max => self.eval_reduction(c, f, node, JoinOp::Max, FillScalar::Lowest),
            BinderKind::Min => self.eval_reduction(c, f, node, JoinOp::Min, FillScalar::Highest),
            BinderKind::Argmax => self.eval_arg_extremum(c, f, node, true),
            BinderKind::Argmin => self.eval_arg_extremum(c, f, node, false),
            BinderKind::Any => self.eval_quantifier(c, f, node, true),
            BinderKind::All => self.eval_quantifier(c, f, node, false),
            BinderKind::Rel => self.eval_rel(c, f, node, vars, *filter, *body),
        }
    }

    /// Evaluates `for` (4.7): appends every element to one buffer in row-major order.
    #[inline(never)]
    fn eval_for(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        node: &TypedNode,
        vars: &[TypedIndexVar],
        body: TypedId,
    ) -> InterpResult {
        let at = c.site(node.span);
        let mut builder = ArrayBuilder::new(0);
        let mut extents = ObservedExtents::for_array();
        self.visit_tuples(c, f, at, vars, &mut extents, &mut |this, f, extents| {
            if builder.part_count() == 0 {
                let count = this.memory.element_count(extents.observed.iter().copied());
                builder.set_expected(count.map_err(|e| at.allocation_failure(&e))?);
            }
            let value = this.eval(c, f, body)?;
            this.push_part(at, &mut builder, value)?;
            Ok(IterationControl::Continue)
        })?;
        self.finish_array(at, f, builder, &extents.observed, &node.ty)
    }

    /// Returns whether the filter accepts this index tuple.
    fn passes_filter(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        filter: Option<TypedId>,
    ) -> InterpResult<bool> {
        filter.map_or(Ok(true), |p| self.eval_condition(c, f, p))
    }

    /// Evaluates a sum (4.8), or returns `None` if it has no terms.
    fn sum_terms(&mut self, c: &Arc<RunnableBody>, f: &mut LocalFrame, id: TypedId) -> InterpResult<Option<Value>> {
        let node = &c.body.nodes[id];
        let at = c.site(node.span);
        let TypedExpr::Binder { kind: BinderKind::Sum, vars, filter, body } = &node.kind else {
            return self.eval_summand(c, f, id);
        };
        let mut parts: Vec<Option<Value>> = Vec::new();
        self.visit_tuples(c, f, at, vars, &mut ObservedExtents::default(), &mut |this, f, _| {
            if this.passes_filter(c, f, *filter)?
                && let Some(term) = ensure_sufficient_stack(|| this.sum_terms(c, f, *body))?
            {
                this.add_term(at, &mut parts, term)?;
            }
            Ok(IterationControl::Continue)
        })?;
        let mut sum = None;
        for part in parts.into_iter().flatten() {
            sum = Some(match sum.take() {
                None => part,
                Some(after) => self.join(at, JoinOp::Add, part, &after)?,
            });
        }
        Ok(sum)
    }

    /// Adds a term to partial sums. Terms are added in order, except `f32`: their partial sum `k`
    /// holds `2^k` terms, because the error of a sequential sum grows with the number of terms.
    fn add_term(&mut self, at: FailureSite<'_>, parts: &mut Vec<Option<Value>>, term: Value) -> InterpResult<()> {
        let in_pairs = match primal(&term) {
            Value::F32(_) => true,
            Value::Array(a) => matches!(a.store(), Store::F32(_)),
            _ => false,
        };
        let mut sum = term;
        for part in parts.iter_mut() {
            let Some(before) = part.take() else {
                *part = Some(sum);
                return Ok(());
            };
            sum = self.join(at, JoinOp::Add, before, &sum)?;
            if !in_pairs {
                *part = Some(sum);
                return Ok(());
            }
        }
        parts.push(Some(sum));
        Ok(())
    }

    /// Evaluates `prod`, `max` or `min`.
    #[inline(never)]
    fn eval_reduction(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        node: &TypedNode,
        how: JoinOp,
        empty: FillScalar,
    ) -> InterpResult {
        let at = c.site(node.span);
        let TypedExpr::Binder { kind, vars, filter, body } = &node.kind else {
            return Err(at.internal_error("the expression is not a binder"));
        };
        let mut result = None;
        self.visit_tuples(c, f, at, vars, &mut ObservedExtents::default(), &mut |this, f, _| {
            if this.passes_filter(c, f, *filter)? {
                let term = this.eval(c, f, *body)?;
                result = Some(match result.take() {
                    None => term,
                    Some(before) => this.join(at, how, before, &term)?,
                });
            }
            Ok(IterationControl::Continue)
        })?;
        if let Some(result) = result {
            return Ok(result);
        }
        let ty = self.close_type(at, f, &node.ty)?;
        self.filled_value(at, &ty, empty).map_err(|mut failure| {
            if failure.code == ErrorCode::E0504 {
                failure.message = format!("`{}` over no terms has no `i64` value", kind.keyword());
            }
            failure
        })
    }

    /// Evaluates `argmax` or `argmin`. Fails with E0504 over no terms.
    #[inline(never)]
    fn eval_arg_extremum(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        node: &TypedNode,
        greatest: bool,
    ) -> InterpResult {
        let at = c.site(node.span);
        let TypedExpr::Binder { kind, vars, filter, body } = &node.kind else {
            return Err(at.internal_error("the expression is not a binder"));
        };
        let locals: Vec<LocalId> = vars.iter().map(|v| v.local).collect();
        let mut best: Option<(Value, Vec<Value>)> = None;
        self.visit_tuples(c, f, at, vars, &mut ObservedExtents::default(), &mut |this, f, _| {
            if this.passes_filter(c, f, *filter)? {
                let value = this.eval(c, f, *body)?;
                let better = match &best {
                    None => true,
                    Some((old, _)) => {
                        if matches!(primal(&value), Value::F64(_) | Value::F32(_)) {
                            this.count_work(1);
                        }
                        beats(&value, old, greatest).ok_or_else(|| at.internal_error("values cannot be compared"))?
                    }
                };
                if better {
                    let place = locals.iter().map(|l| f.get(*l).cloned()).collect::<Option<Vec<_>>>();
                    best = Some((value, place.ok_or_else(|| at.internal_error("an index has no value"))?));
                }
            }
            Ok(IterationControl::Continue)
        })?;
        let Some((_, mut place)) = best else {
            return Err(at.fail(ErrorCode::E0504, format!("`{}` over no terms has no value", kind.keyword())));
        };
        match place.len() {
            1 => Ok(place.swap_remove(0)),
            _ => self.make_tuple(at, place),
        }
    }

    /// Evaluates `any` (4.21) or `all`.
    #[inline(never)]
    fn eval_quantifier(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        node: &TypedNode,
        any: bool,
    ) -> InterpResult {
        let at = c.site(node.span);
        let TypedExpr::Binder { vars, filter, body, .. } = &node.kind else {
            return Err(at.internal_error("the expression is not a binder"));
        };
        let stopped = self.visit_tuples(c, f, at, vars, &mut ObservedExtents::default(), &mut |this, f, _| {
            let decides = this.passes_filter(c, f, *filter)? && this.eval_condition(c, f, *body)? == any;
            Ok(if decides { IterationControl::Stop } else { IterationControl::Continue })
        })?;
        Ok(Value::Bool((stopped == IterationControl::Stop) == any))
    }

    /// Evaluates `rel i, j: p`.
    #[inline(never)]
    fn eval_rel(
        &mut self,
        c: &Arc<RunnableBody>,
        f: &mut LocalFrame,
        node: &TypedNode,
        vars: &[TypedIndexVar],
        filter: Option<TypedId>,
        body: TypedId,
    ) -> InterpResult {
        let at = c.site(node.span);
        let dims = self.eval_relation_extents(at, f, &node.ty)?;
        let locals: Vec<LocalId> = vars.iter().map(|v| v.local).collect();
        let (mut rows, mut charge) = (Vec::new(), MemoryCharge::default());
        self.visit_tuples(c, f, at, vars, &mut ObservedExtents::default(), &mut |this, f, _| {
            if this.passes_filter(c, f, filter)? && this.eval_condition(c, f, body)? {
                for (l, n) in locals.iter().zip(&dims) {
                    let i =
                        f.get(*l).and_then(Value::as_i64).ok_or_else(|| at.internal_error("an index has no value"))?;
                    if i < 0 || i >= *n {
                        let message = format!("index {i} is out of bounds for a relation axis of extent {n}");
                        return Err(at.fail(ErrorCode::E0500, message));
                    }
                    this.push_index(at, &mut rows, &mut charge, i)?;
                }
            }
            Ok(IterationControl::Continue)
        })?;
        Ok(Value::Rel(Arc::new(Relation::new(dims, rows, charge))))
    }

    pub(super) fn push_index(
        &self,
        at: FailureSite<'_>,
        rows: &mut Vec<i64>,
        charge: &mut MemoryCharge,
        i: i64,
    ) -> InterpResult<()> {
        if rows.len() == rows.capacity() {
            let capacity = self.memory.grown_capacity(rows.len(), 1);
            self.memory.grow_vec(rows, charge, capacity).map_err(|e| at.allocation_failure(&e))?;
        }
        rows.push(i);
        Ok(())
    }

    /// Evaluates the extents of a relation type.
    pub(super) fn eval_relation_extents(
        &self,
        at: FailureSite<'_>,
        f: &LocalFrame,
        ty: &Type,
    ) -> InterpResult<Vec<i64>> {
        let Type::Rel(dims) = ty else { return Err(at.internal_error("the type is not a relation type")) };
        dims.iter()
            .map(|n| {
                let n = self.eval_size(at, f, n)?;
                super::runtime_type::checked_extent(at, n).map(|_| n)
            })
            .collect()
    }
}

/// Returns whether `a` is better than the best so far. NaN is better than every number, but not
/// than NaN.
fn beats(a: &Value, best: &Value, greatest: bool) -> Option<bool> {
    fn real(a: f64, best: f64, greatest: bool) -> bool {
        if best.is_nan() {
            return false;
        }
        a.is_nan() || if greatest { a > best } else { a < best }
    }
    Some(match (primal(a), primal(best)) {
        (Value::F64(a), Value::F64(b)) => real(*a, *b, greatest),
        (Value::F32(a), Value::F32(b)) => real(f64::from(*a), f64::from(*b), greatest),
        (Value::I64(a), Value::I64(b)) => {
            if greatest {
                a > b
            } else {
                a < b
            }
        }
        _ => return None,
    })
}
