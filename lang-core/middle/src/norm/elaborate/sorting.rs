//! **Sorting and filtering.** The positions in sorted order are data, and elements are read at
//! these positions. For a filter, the positions whose condition holds come first, and a sum counts
//! them.
//!
//! A filter inside an index range has another extent for each index, so it is outlined
//! ([`Elaborator::outline`]).

use std::sync::Arc;

use super::{Closure, ElabFrame, ElabResult, Elaborator, SymbolicValue};
use lang_base::Span;
use lang_ir::core::{Constant, CoreExpr, CoreType, ExprKind, ExprRef, NoCoreFormReason};
use lang_resolve::builtin::Builtin;
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::Scalar;
use lang_types::tree::TypedId;
use lang_types::ty::Type;

impl Elaborator<'_> {
    /// Elaborates a library function that is not written in Iverson, at arguments of these types.
    pub(super) fn builtin(
        &mut self,
        builtin: Builtin,
        args: &[SymbolicValue],
        types: &[Type],
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        match (builtin, args) {
            (Builtin::Len, [x]) => self.length(x, span),
            (Builtin::Argsort, [x]) => {
                let x = self.data_value(x, span)?;
                Ok(SymbolicValue::Data(self.argsort_bound(&x, span)?.1))
            }
            (Builtin::Sort, [x]) => {
                let x = self.data_value(x, span)?;
                let (x, order) = self.argsort_bound(&x, span)?;
                let CoreType::Tensor(n, _) = x.ty.clone() else {
                    return Err(self.no_core_form(NoCoreFormReason::Errors, span));
                };
                Ok(SymbolicValue::Data(self.gather_prefix(&x, &order, n, span)?))
            }
            (Builtin::Filter, [SymbolicValue::Fun(p), x]) => {
                let x = self.data_value(x, span)?;
                let element = match types.last() {
                    Some(Type::Array(_, element)) => (**element).clone(),
                    _ => return Err(self.no_core_form(NoCoreFormReason::Errors, span)),
                };
                self.filter_array(p, &x, &element, span)
            }
            _ => Err(self.no_core_form(NoCoreFormReason::FunctionValue, span)),
        }
    }

    /// Returns an array and the positions of its elements in order, both bound to variables.
    fn argsort_bound(&mut self, x: &ExprRef, span: Span) -> ElabResult<(ExprRef, ExprRef)> {
        let CoreType::Tensor(n, _) = x.ty.clone() else {
            return Err(self.no_core_form(NoCoreFormReason::Errors, span));
        };
        let x = self.bind("x", x.clone());
        let index = self.vars.fresh_index("i", n);
        let element = CoreExpr::access(&x, index.value());
        let order = self.bind_positions(CoreExpr::at_span(&CoreExpr::argsort(index, element), span));
        Ok((x, order))
    }

    /// Binds an array of positions, and records that they are inside their axis.
    fn bind_positions(&mut self, order: ExprRef) -> ExprRef {
        let extent = order.ty.split_array().0.first().map(|n| (*n).clone());
        let order = self.bind("order", order);
        if let (ExprKind::Var(local), Some(n)) = (&order.kind, extent) {
            self.sorted_positions.insert(*local, n);
        }
        order
    }

    /// Reads the first `count` elements in this order.
    fn gather_prefix(&mut self, x: &ExprRef, order: &ExprRef, count: Poly, span: Span) -> ElabResult<ExprRef> {
        let ExprKind::Var(positions) = order.kind else {
            return Err(self.no_core_form(NoCoreFormReason::Errors, span));
        };
        let index = self.vars.fresh_index("i", count);
        let at = Atom::Read(positions, self.vars.name(positions), Arc::from([index.value()]));
        Ok(CoreExpr::at_span(&CoreExpr::generate(index, CoreExpr::access(x, Poly::atom(at))), span))
    }

    /// Elaborates `filter(p, x)`.
    fn filter_array(&mut self, p: &Closure, x: &ExprRef, element: &Type, span: Span) -> ElabResult<SymbolicValue> {
        if self.depth > 0 {
            return Err(self.no_core_form(NoCoreFormReason::DataRange, span));
        }
        let CoreType::Tensor(n, _) = x.ty.clone() else {
            return Err(self.no_core_form(NoCoreFormReason::Errors, span));
        };
        let x = self.bind("x", x.clone());
        let index = self.vars.fresh_index("i", n.clone());
        let holds = self.in_index_range(&index, |this| {
            this.in_binder_scope(span, |this| {
                let of = this.symbolic_value(CoreExpr::access(&x, index.value()));
                this.apply_closure(p, vec![of], std::slice::from_ref(element), &Type::BOOL, span)
            })
        })?;
        let kept = self.bind("kept", CoreExpr::generate(index, holds));
        let ExprKind::Var(flags) = kept.kind else { return Err(self.no_core_form(NoCoreFormReason::Errors, span)) };
        let order = self.vars.fresh_index("i", n.clone());
        let flag = CoreExpr::access(&kept, order.value());
        let order = self.bind_positions(CoreExpr::argsort(order, flag));
        let each = self.vars.fresh_index("i", n.clone());
        let integer = CoreType::Scalar(Scalar::I64);
        let one = CoreExpr::new(ExprKind::Constant(Constant::Int(1)), integer.clone(), span);
        let at = Arc::from([each.value()]);
        let one = CoreExpr::guard(Pred::Element(flags, self.vars.name(flags), at, true), one);
        let count = self.symbolic_value(CoreExpr::new(ExprKind::Sum(each, one), integer, span));
        let count = self.exact_poly(count, span)?;
        self.context.assume(&Pred::all([Pred::nonneg(&count), Pred::at_most(&count, &n)]));
        Ok(SymbolicValue::Data(self.gather_prefix(&x, &order, count, span)?))
    }

    /// Returns whether the context implies the predicate, with positions known to be inside their
    /// axis.
    pub(super) fn proves_with_positions(&mut self, p: &Pred) -> bool {
        if self.sorted_positions.is_empty() {
            return self.context.implies(p);
        }
        let mut known = Vec::new();
        p.visit(
            &mut |p| {
                p.for_each_atom(&mut |a| {
                    if let Atom::Read(x, ..) = a
                        && let Some(n) = self.sorted_positions.get(x)
                    {
                        known.push(Pred::in_range(&Poly::atom(a.clone()), n));
                    }
                });
            },
            &mut |_| {},
        );
        self.assuming(&Pred::all(known), |this| Ok(this.context.implies(p))).unwrap_or(false)
    }

    /// Elaborates the body of a binder in a scope of its own. If extents in it vary with the index,
    /// the body is outlined.
    pub(super) fn in_binder_scope(
        &mut self,
        span: Span,
        mut f: impl FnMut(&mut Self) -> ElabResult<SymbolicValue>,
    ) -> ElabResult<ExprRef> {
        let locals = self.local_functions.len();
        let outside = match self.in_closed_scope(span, &mut f) {
            Err(outside) if outside.reason == NoCoreFormReason::DataRange && self.depth > 0 => outside,
            other => return other,
        };
        self.local_functions.truncate(locals);
        let outlined = self.in_closed_scope(span, |this| {
            let e = this.outline(span, |this| {
                let value = f(this)?;
                this.data_value(&value, span)
            })?;
            Ok(SymbolicValue::Data(e))
        });
        outlined.map_err(|_| outside)
    }

    /// Elaborates a truth value to a predicate.
    pub(super) fn predicate(&mut self, f: &mut ElabFrame, id: TypedId) -> ElabResult<Pred> {
        let span = self.span(f, id);
        let value = match self.expr(f, id) {
            Err(outside) if outside.reason == NoCoreFormReason::DataRange && self.depth > 0 => {
                let e = self.in_binder_scope(span, |this| this.expr(f, id))?;
                self.symbolic_value(e)
            }
            other => other?,
        };
        let value = if let SymbolicValue::Data(e) = value { self.symbolic_value(e) } else { value };
        if let SymbolicValue::Bool(p) = value { Ok(p) } else { Err(self.no_core_form(NoCoreFormReason::Errors, span)) }
    }
}
