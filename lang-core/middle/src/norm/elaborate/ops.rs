//! **Arithmetic.** Sums and products use the calculus's own forms, and every other operation is a
//! black box. All of them are lifted over arrays by generations.

use std::sync::Arc;

use super::closure_conversion::is_infallible;
use super::expr::has_large_coefficient;
use super::{ElabFrame, ElabResult, Elaborator, SymbolicValue};
use lang_base::{Code, Span};
use lang_ir::core::{CheckFailure, CoreExpr, CoreType, ExprKind, ExprRef, NoCoreFormReason, ScalarOp};
use lang_sizes::predicate::{Atom, Poly, Pred};
use lang_syntax::ops::{BinOp, Scalar};
use lang_types::tree::{self, TypedId};

/// The failure of a partial operation, and the condition on the second operand under which it is
/// defined.
type PartialOpCheck<'a> = (Arc<CheckFailure>, &'a dyn Fn(&Poly) -> Pred);

impl Elaborator<'_> {
    /// Elaborates `+ - * / // %`. Chains nest to the left without limit, and consecutive terms
    /// become one sum.
    pub(super) fn arith_chain(&mut self, f: &mut ElabFrame, id: TypedId) -> ElabResult<SymbolicValue> {
        let body = Arc::clone(&f.code.body);
        let mut links = Vec::new();
        let mut first = id;
        while let tree::TypedExpr::Arith(op, a, b) = &body.nodes[first].kind {
            links.push((*op, *b, first));
            first = *a;
        }
        let mut value = self.expr(f, first)?;
        let mut terms: Vec<SymbolicValue> = Vec::new();
        let mut before = self.span(f, first);
        for (op, b, at) in links.into_iter().rev() {
            let span = self.span(f, at);
            // The left operand's span covers the whole chain so far.
            let so_far = std::mem::replace(&mut before, span);
            let right = self.expr(f, b)?;
            let sum = matches!(op, BinOp::Add | BinOp::Sub) && !matches!(value, SymbolicValue::Int { .. });
            if sum {
                if terms.is_empty() {
                    terms.push(value.clone());
                }
                terms.push(if op == BinOp::Sub { self.negate(right, span)? } else { right });
                continue;
            }
            if !terms.is_empty() {
                value = self.sum(std::mem::take(&mut terms), so_far)?;
            }
            value = match self.arith(f, at, op, value, right, span)? {
                SymbolicValue::Data(e) => SymbolicValue::Data(CoreExpr::at_span(&e, span)),
                value => value,
            };
        }
        if terms.is_empty() { Ok(value) } else { self.sum(terms, self.span(f, id)) }
    }

    fn arith(
        &mut self,
        f: &ElabFrame,
        id: TypedId,
        op: BinOp,
        a: SymbolicValue,
        b: SymbolicValue,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        if let (SymbolicValue::Int { poly: p, exact: x }, SymbolicValue::Int { poly: q, exact: y }) = (&a, &b)
            && let Some(value) = self.integer_poly_op(op, (p, *x), (q, *y))
        {
            return Ok(value);
        }
        match op {
            BinOp::Add => self.sum(vec![a, b], span),
            BinOp::Sub => {
                let b = self.negate(b, span)?;
                self.sum(vec![a, b], span)
            }
            BinOp::Mul => {
                let (a, b) = (self.data_value(&a, span)?, self.data_value(&b, span)?);
                let ty = broadcast_type(&a.ty, &b.ty);
                let p = self.product_mask(&[&a, &b]);
                let (a, b) = (self.bind_fallible_factor(&p, a), self.bind_fallible_factor(&p, b));
                let product = |mut args: Vec<ExprRef>| {
                    let (b, a) = (args.pop(), args.pop());
                    match (a, b) {
                        (Some(a), Some(b)) => {
                            CoreExpr::guard(p.clone(), a.with_kind(ExprKind::Mul(a.clone(), b), a.ty.clone()))
                        }
                        _ => CoreExpr::new(ExprKind::Tuple(Vec::new()), CoreType::unit(), span),
                    }
                };
                let e = self.lift_over_arrays(vec![a, b], &ty, &product);
                Ok(self.symbolic_value(e))
            }
            BinOp::Div => {
                let of = self.element_scalar(f, &f.code.body.nodes[id].ty, span)?;
                let (a, b) = (self.data_value(&a, span)?, self.data_value(&b, span)?);
                let p = self.product_mask(&[&a]);
                let args = vec![
                    SymbolicValue::Data(self.bind_fallible_factor(&p, a)),
                    SymbolicValue::Data(self.bind_fallible_factor(&p, b)),
                ];
                self.apply_scalar_op_where(&p, ScalarOp::Binary(op), args, of, span)
            }
            _ => {
                let divides = matches!(op, BinOp::FloorDiv | BinOp::Mod);
                let of = self.element_scalar(f, &f.code.body.nodes[id].ty, span)?;
                if divides && of == Scalar::I64 {
                    return self.integer_quotient(f, id, op, &a, &b, span);
                }
                self.apply_scalar_op(ScalarOp::Binary(op), vec![a, b], of, span)
            }
        }
    }

    /// Returns the result as a polynomial, if the operation has one.
    fn integer_poly_op(&mut self, op: BinOp, (p, x): (&Poly, bool), (q, y): (&Poly, bool)) -> Option<SymbolicValue> {
        let poly = match op {
            BinOp::Add => p.add(q),
            BinOp::Sub => p.sub(q),
            BinOp::Mul => p.mul(q),
            // A division by a possible 0 fails, and a wrapped operand has another quotient than its
            // polynomial.
            BinOp::FloorDiv if x && q.as_constant().is_some() => p.div(q)?,
            BinOp::Mod if x && q.as_constant().is_some() => p.rem(q)?,
            _ => return None,
        };
        let quotient = matches!(op, BinOp::FloorDiv | BinOp::Mod);
        let fits = self.fits_i64(&poly);
        (!poly.has_overflowed() && (fits || !quotient)).then(|| wrap_constant(poly, x && y && fits))
    }

    /// Elaborates a division of integers whose divisor may be 0.
    fn integer_quotient(
        &mut self,
        f: &ElabFrame,
        id: TypedId,
        op: BinOp,
        a: &SymbolicValue,
        b: &SymbolicValue,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let what = self.check_failure(f, id, Code::E0505, "integer division by zero");
        self.partial_integer_op(ScalarOp::Binary(op), a, b, (what, &|divisor| Pred::zero(divisor).negated()), span)
    }

    /// Elaborates an integer operation that is defined only for some second operands. Each element
    /// has a check of its own.
    fn partial_integer_op(
        &mut self,
        operation: ScalarOp,
        a: &SymbolicValue,
        b: &SymbolicValue,
        (what, holds): PartialOpCheck<'_>,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let integer = CoreType::Scalar(Scalar::I64);
        let apply = |a: ExprRef, b: ExprRef| {
            CoreExpr::new(ExprKind::Apply(operation, vec![a, b]), CoreType::Scalar(Scalar::I64), span)
        };
        // A quotient of a wrapped number is not the quotient of its polynomial.
        if matches!(a, SymbolicValue::Int { poly, exact: false } if has_large_coefficient(poly)) {
            return Err(self.no_core_form(NoCoreFormReason::IndexOverflow, span));
        }
        let first = self.data_value(a, span)?;
        let second = self.data_value(b, span)?;
        let array = matches!(second.ty, CoreType::Tensor(..));
        let of = if array { Poly::default() } else { self.integer_operand(b, &second, span)? };
        let ty = broadcast_type(&first.ty, &second.ty);
        let dims: Vec<Poly> = ty.split_array().0.into_iter().cloned().collect();
        let scalar = self.data_value(&SymbolicValue::Int { poly: of.clone(), exact: true }, span)?;
        if dims.is_empty() {
            return Ok(self.with_check(holds(&of), what, &apply(first, scalar)));
        }
        let (first, second) = (self.bind_array(first), self.bind_array(second));
        let indices: Vec<_> = dims.into_iter().map(|n| self.vars.fresh_index("i", n)).collect();
        let at = |e: &ExprRef| match e.ty {
            CoreType::Tensor(..) => indices.iter().fold(e.clone(), |e, i| CoreExpr::access(&e, i.value())),
            _ => e.clone(),
        };
        let second = if array { at(&second) } else { scalar };
        let of = match super::as_variable_element(&second) {
            Some((x, at)) if array => Poly::atom(Atom::Read(x, self.vars.name(x), at.into())),
            _ => of,
        };
        let mut e = apply(at(&first), second);
        let p = holds(&of);
        if !self.context.implies(&p) {
            e = CoreExpr::new(ExprKind::Check(p, what, e), integer, span);
        }
        Ok(SymbolicValue::Data(indices.into_iter().rev().fold(e, |e, i| CoreExpr::generate(i, e))))
    }

    /// Returns the polynomial of an integer operand.
    fn integer_operand(&mut self, value: &SymbolicValue, data: &ExprRef, span: Span) -> ElabResult<Poly> {
        let value = match value {
            SymbolicValue::Int { .. } => value.clone(),
            _ => self.symbolic_value(data.clone()),
        };
        self.exact_poly(value, span)
    }

    /// Binds an array to a variable, so that its elements are elements of a variable.
    pub(super) fn bind_array(&mut self, e: ExprRef) -> ExprRef {
        if matches!(e.kind, ExprKind::Var(_)) || !matches!(e.ty, CoreType::Tensor(..)) {
            e
        } else {
            self.bind_always(&e)
        }
    }

    pub(super) fn negate(&mut self, a: SymbolicValue, span: Span) -> ElabResult<SymbolicValue> {
        if let SymbolicValue::Int { poly, exact } = &a {
            let poly = poly.neg();
            let exact = *exact && self.fits_i64(&poly);
            return Ok(wrap_constant(poly, exact));
        }
        let a = self.data_value(&a, span)?;
        let ty = a.ty.clone();
        let p = if matches!(ty, CoreType::Tensor(..)) { bracket_mask(&a).unwrap_or_default() } else { Pred::truth() };
        let negative = |args: Vec<ExprRef>| match args.into_iter().next() {
            Some(a) if !p.is_true() => {
                let a = CoreExpr::guard(p.clone(), a);
                a.with_kind(ExprKind::Neg(a.clone()), a.ty.clone())
            }
            Some(a) => a.with_kind(ExprKind::Neg(a.clone()), a.ty.clone()),
            None => CoreExpr::new(ExprKind::Tuple(Vec::new()), CoreType::unit(), span),
        };
        let e = self.lift_over_arrays(vec![a], &ty, &negative);
        Ok(self.symbolic_value(e))
    }

    /// Elaborates a sum of terms, left to right.
    pub(super) fn sum(&mut self, terms: Vec<SymbolicValue>, span: Span) -> ElabResult<SymbolicValue> {
        let terms = terms.iter().map(|t| self.data_value(t, span)).collect::<ElabResult<Vec<ExprRef>>>()?;
        let ty = terms.iter().fold(CoreType::Scalar(Scalar::Bool), |ty, t| broadcast_type(&ty, &t.ty));
        // If a term is a bracket of an array, each of its elements is under the same bracket.
        let masks: Vec<Pred> = terms.iter().map(|t| bracket_mask(t).unwrap_or_default()).collect();
        let lifted = matches!(ty, CoreType::Tensor(..));
        let add = |args: Vec<ExprRef>| {
            let masked = args.into_iter().zip(&masks);
            let args: Vec<ExprRef> =
                masked.map(|(e, p)| if lifted { CoreExpr::guard(p.clone(), e) } else { e }).collect();
            let ty = args.first().map_or(CoreType::Scalar(Scalar::F64), |e| e.ty.clone());
            CoreExpr::new(ExprKind::Add(args), ty, span)
        };
        let e = self.lift_over_arrays(terms, &ty, &add);
        Ok(self.symbolic_value(e))
    }

    pub(super) fn power(
        &mut self,
        f: &ElabFrame,
        id: TypedId,
        a: SymbolicValue,
        b: SymbolicValue,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        if let (SymbolicValue::Int { poly: p, exact }, SymbolicValue::Int { poly: q, .. }) = (&a, &b)
            && let Some(k) = q.as_constant().and_then(|k| u32::try_from(k).ok())
        {
            let poly = p.pow(k);
            if !poly.has_overflowed() {
                let exact = *exact && self.fits_i64(&poly);
                return Ok(wrap_constant(poly, exact));
            }
        }
        let of = self.element_scalar(f, &f.code.body.nodes[id].ty, span)?;
        let integer = matches!(&b, SymbolicValue::Int { .. })
            || matches!(&b, SymbolicValue::Data(e) if e.ty.split_array().1 == &CoreType::Scalar(Scalar::I64));
        if of == Scalar::I64 {
            let what = self.check_failure(f, id, Code::E0513, "an integer has no negative power");
            return self.partial_integer_op(ScalarOp::PowInt, &a, &b, (what, &Pred::nonneg), span);
        }
        let operation = if integer { ScalarOp::PowInt } else { ScalarOp::Pow };
        self.apply_scalar_op(operation, vec![a, b], of, span)
    }

    /// Returns the predicate under which a product has a term: the brackets of all its factors.
    fn product_mask(&self, factors: &[&ExprRef]) -> Pred {
        let mask = factors.iter().filter_map(|e| bracket_mask(e)).fold(Pred::truth(), |p, q| p.and(&q));
        if self.context.implies(&mask) { Pred::truth() } else { mask }
    }

    /// Returns a factor of a product that is zero unless `p` holds. A factor that may fail is bound
    /// before the product, because it is evaluated where `p` is false too.
    fn bind_fallible_factor(&mut self, p: &Pred, e: ExprRef) -> ExprRef {
        let fails_elsewhere = !p.is_true() && bracket_mask(&e).as_ref() != Some(p) && !is_infallible(&e);
        if fails_elsewhere { self.bind_always(&e) } else { e }
    }

    /// Applies a scalar operation, lifted over arrays. `of` is the element type of the result.
    pub(super) fn apply_scalar_op(
        &mut self,
        operation: ScalarOp,
        args: Vec<SymbolicValue>,
        of: Scalar,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        self.apply_scalar_op_where(&Pred::truth(), operation, args, of, span)
    }

    /// Does the same, with zero where the predicate does not hold.
    fn apply_scalar_op_where(
        &mut self,
        p: &Pred,
        op: ScalarOp,
        args: Vec<SymbolicValue>,
        of: Scalar,
        span: Span,
    ) -> ElabResult<SymbolicValue> {
        let args = args.iter().map(|a| self.data_value(a, span)).collect::<ElabResult<Vec<ExprRef>>>()?;
        let shape = args.iter().fold(CoreType::Scalar(of), |ty, a| broadcast_type(&ty, &a.ty));
        let dims: Vec<Poly> = shape.split_array().0.into_iter().cloned().collect();
        let ty = CoreType::Scalar(of).with_extents(dims.into_iter());
        let apply = |args: Vec<ExprRef>| {
            CoreExpr::guard(p.clone(), CoreExpr::new(ExprKind::Apply(op, args), CoreType::Scalar(of), span))
        };
        let e = self.lift_over_arrays(args, &ty, &apply);
        Ok(self.symbolic_value(e))
    }

    /// Lifts a scalar operation over arrays of equal shapes. A scalar operand is used for every
    /// element.
    pub(super) fn lift_over_arrays(
        &mut self,
        args: Vec<ExprRef>,
        ty: &CoreType,
        f: &dyn Fn(Vec<ExprRef>) -> ExprRef,
    ) -> ExprRef {
        let dims: Vec<Poly> = ty.split_array().0.into_iter().cloned().collect();
        if dims.is_empty() {
            return f(args);
        }
        let args: Vec<ExprRef> = args.into_iter().map(|a| self.bind("a", a)).collect();
        let indices: Vec<_> = dims.into_iter().map(|n| self.vars.fresh_index("i", n)).collect();
        let element = |a: &ExprRef| match a.ty {
            CoreType::Tensor(..) => indices.iter().fold(a.clone(), |a, i| CoreExpr::access(&a, i.value())),
            _ => a.clone(),
        };
        let e = f(args.iter().map(element).collect());
        indices.into_iter().rev().fold(e, |e, i| CoreExpr::generate(i, e))
    }
}

/// Returns the predicate under which brackets leave a term of a product or sum. Elsewhere the whole
/// expression is zero.
pub(super) fn bracket_mask(e: &ExprRef) -> Option<Pred> {
    match &e.kind {
        ExprKind::Add(terms) => terms.iter().map(bracket_mask).collect::<Option<Vec<_>>>().map(Pred::any_of),
        ExprKind::Guard(p, e) => Some(p.and(&bracket_mask(e).unwrap_or_default())),
        ExprKind::Neg(e) => bracket_mask(e),
        ExprKind::Gen(index, e) => bracket_mask(e).filter(|p| !p.mentions(&index.atom())),
        _ => None,
    }
}

/// Returns the type of an elementwise operation: the array type, if one operand is an array.
fn broadcast_type(a: &CoreType, b: &CoreType) -> CoreType {
    match (a, b) {
        (CoreType::Tensor(..), _) => a.clone(),
        _ => b.clone(),
    }
}

/// Returns an integer; a constant outside the range of `i64` wraps.
fn wrap_constant(poly: Poly, exact: bool) -> SymbolicValue {
    match poly.as_constant().map(|c| (c, i64::try_from(c))) {
        Some((c, Err(_))) => {
            let low = u64::try_from(c.rem_euclid(1 << 64)).unwrap_or_default();
            SymbolicValue::Int { poly: Poly::constant(low.cast_signed().into()), exact: true }
        }
        _ => SymbolicValue::Int { poly, exact },
    }
}
