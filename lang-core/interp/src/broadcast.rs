//! **Broadcasting.** Applies scalar operations to values: to scalars, and elementwise to arrays of
//! equal shapes, with a scalar broadcast to every element. The joins of `sum` and `+=` also accept
//! tuples and records.
//!
//! Arrays of one unboxed kind take a loop over their buffers. Dual numbers, and arrays that may
//! hold some, go element by element.

use super::Interp;
use super::array_builder::ArrayBuilder;
use super::nan_trap::OperationNotation;
use lang_base::Code;
use lang_base::ensure_sufficient_stack;
use lang_resolve::scalar_fn::ScalarFn;
use lang_runtime::array::{Array, Store, UnboxedElement};
use lang_runtime::dual::{may_hold_dual, primal};
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::memory::MemoryCharge;
use lang_runtime::scalar::{convert, f32s, f64s, i64s};
use lang_runtime::{RuntimeType, Value};
use lang_syntax::ops::BinOp;
use lang_types::ty::Scalar;

/// The operation by which a reduction joins two terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JoinOp {
    Add,
    Mul,
    Min,
    Max,
}

/// An operand: one scalar for every element, or one scalar per element.
enum BroadcastOperand<'v, T> {
    Scalar(T),
    Elements(&'v Array, &'v [T]),
}

fn broadcast_operand<T: UnboxedElement>(v: &Value) -> Option<BroadcastOperand<'_, T>> {
    match v {
        Value::Array(a) => Some(BroadcastOperand::Elements(a, a.slice()?)),
        _ => T::from_value(v).map(BroadcastOperand::Scalar),
    }
}

/// Returns the scalar kind of a value, or of the elements of an array. Returns `None` for other
/// values.
pub(super) fn scalar_kind(v: &Value) -> Option<Scalar> {
    match v {
        Value::F64(_) => Some(Scalar::F64),
        Value::F32(_) => Some(Scalar::F32),
        Value::I64(_) => Some(Scalar::I64),
        Value::Bool(_) => Some(Scalar::Bool),
        Value::Array(a) => match a.store() {
            Store::F64(_) => Some(Scalar::F64),
            Store::F32(_) => Some(Scalar::F32),
            Store::I64(_) => Some(Scalar::I64),
            Store::Bool(_) => Some(Scalar::Bool),
            Store::Columns(_) => None,
            Store::Boxed(_) => a
                .boxed_elements()?
                .first()
                .filter(|x| matches!(x, Value::F64(_) | Value::F32(_) | Value::Dual(_)))
                .and_then(scalar_kind),
        },
        Value::Dual(_) => scalar_kind(primal(v)),
        _ => None,
    }
}

/// Returns the work of an elementwise operation: the number of elements if they are real, else
/// zero.
fn elementwise_work(x: &Value, y: &Value) -> usize {
    let real = |v: &Value| matches!(scalar_kind(v), Some(Scalar::F64 | Scalar::F32));
    if !real(x) && !real(y) {
        return 0;
    }
    match (x, y) {
        (Value::Array(a), _) | (_, Value::Array(a)) => a.count(),
        _ => 1,
    }
}

/// Returns the value of the first attempt whose operand kinds fit, or an internal error.
macro_rules! first_of {
    ($at:expr, $($attempt:expr),+ $(,)?) => {{
        $(if let Some(value) = $attempt? { return Ok(value); })+
        Err($at.internal_error("the operation has no rule for operands of these kinds"))
    }};
}

impl Interp<'_> {
    /// Applies `op` to every element. Returns `None` if the operand is not of kind `A`.
    fn map_unboxed<A: UnboxedElement, R: UnboxedElement>(
        &self,
        at: FailureSite<'_>,
        x: &Value,
        op: impl Fn(A) -> R,
    ) -> InterpResult<Option<Value>> {
        match broadcast_operand::<A>(x) {
            None => Ok(None),
            Some(BroadcastOperand::Scalar(a)) => Ok(Some(op(a).value())),
            Some(BroadcastOperand::Elements(array, elements)) => {
                let (mut out, charge) =
                    self.memory.vec_with_capacity(elements.len()).map_err(|e| at.allocation_failure(&e))?;
                out.extend(elements.iter().map(|a| op(*a)));
                self.make_array(at, Array::new(array.dims(), R::make_store(out), charge)).map(Some)
            }
        }
    }

    /// Applies `op` to every pair of elements. Returns `None` if the operands are not of kinds `A`
    /// and `B`. Fails with `none` if `op` returns `None`.
    fn zip_unboxed<A: UnboxedElement, B: UnboxedElement, R: UnboxedElement>(
        &self,
        at: FailureSite<'_>,
        (x, y): (&Value, &Value),
        op: impl Fn(A, B) -> Option<R>,
        none: (Code, &str),
    ) -> InterpResult<Option<Value>> {
        let (Some(a), Some(b)) = (broadcast_operand::<A>(x), broadcast_operand::<B>(y)) else { return Ok(None) };
        let shape = match (&a, &b) {
            (BroadcastOperand::Scalar(a), BroadcastOperand::Scalar(b)) => {
                return op(*a, *b).map(|r| Some(r.value())).ok_or_else(|| at.fail(none.0, none.1));
            }
            (BroadcastOperand::Elements(s, _), BroadcastOperand::Scalar(_))
            | (BroadcastOperand::Scalar(_), BroadcastOperand::Elements(s, _)) => *s,
            (BroadcastOperand::Elements(s, _), BroadcastOperand::Elements(t, _)) if s.dims() == t.dims() => *s,
            (BroadcastOperand::Elements(s, _), BroadcastOperand::Elements(t, _)) => {
                return Err(at.fail(Code::E0501, format!("shapes {:?} and {:?} differ", s.dims(), t.dims())));
            }
        };
        let (mut out, charge) = self.memory.vec_with_capacity(shape.count()).map_err(|e| at.allocation_failure(&e))?;
        let mut whole = true;
        {
            let mut put = |r: Option<R>| match r {
                Some(r) => out.push(r),
                None => whole = false,
            };
            match (a, b) {
                (BroadcastOperand::Elements(_, a), BroadcastOperand::Elements(_, b)) => {
                    a.iter().zip(b).for_each(|(a, b)| put(op(*a, *b)))
                }
                (BroadcastOperand::Elements(_, a), BroadcastOperand::Scalar(b)) => {
                    a.iter().for_each(|a| put(op(*a, b)))
                }
                (BroadcastOperand::Scalar(a), BroadcastOperand::Elements(_, b)) => {
                    b.iter().for_each(|b| put(op(a, *b)))
                }
                (BroadcastOperand::Scalar(_), BroadcastOperand::Scalar(_)) => {}
            }
        }
        if !whole {
            return Err(at.fail(none.0, none.1));
        }
        self.make_array(at, Array::new(shape.dims(), R::make_store(out), charge)).map(Some)
    }

    /// Applies `op` to every element, or to a single scalar, of any kind.
    fn map_generic(
        &mut self,
        at: FailureSite<'_>,
        x: &Value,
        to: Scalar,
        op: &mut dyn FnMut(&mut Self, &Value) -> InterpResult,
    ) -> InterpResult {
        let Value::Array(array) = x else { return op(self, x) };
        self.build_like(at, array, to, &mut |this, i| {
            let x = array.element(i).ok_or_else(|| at.internal_error("an element is missing"))?;
            op(this, &x)
        })
    }

    /// Applies `op` to every pair of elements, or to two scalars, of any kinds.
    fn zip_generic(
        &mut self,
        at: FailureSite<'_>,
        (x, y): (&Value, &Value),
        to: Scalar,
        op: &mut dyn FnMut(&mut Self, &Value, &Value) -> InterpResult,
    ) -> InterpResult {
        let shape = match (x, y) {
            (Value::Array(a), Value::Array(b)) if a.dims() != b.dims() => {
                return Err(at.fail(Code::E0501, format!("shapes {:?} and {:?} differ", a.dims(), b.dims())));
            }
            (Value::Array(a), _) | (_, Value::Array(a)) => a,
            _ => return op(self, x, y),
        };
        let element = |v: &Value, i| match v {
            Value::Array(a) => a.element(i).ok_or_else(|| at.internal_error("an element is missing")),
            one => Ok(one.clone()),
        };
        self.build_like(at, shape, to, &mut |this, i| op(this, &element(x, i)?, &element(y, i)?))
    }

    /// Builds an array with the extents of `shape` from its elements. The kind is `to` if it has
    /// none.
    fn build_like(
        &mut self,
        at: FailureSite<'_>,
        shape: &Array,
        to: Scalar,
        element: &mut dyn FnMut(&mut Self, usize) -> InterpResult,
    ) -> InterpResult {
        let mut builder = ArrayBuilder::new(shape.count());
        for i in 0..shape.count() {
            let x = element(self, i)?;
            self.push_part(at, &mut builder, x)?;
        }
        if builder.part_count() == 0 {
            return self.make_array(
                at,
                Array::new(shape.dims(), RuntimeType::Scalar(to).empty_store(), MemoryCharge::default()),
            );
        }
        self.make_array(at, builder.finish(shape.dims()))
    }

    /// Evaluates `+ - * / // %` (ATL 4.3, 4.4, and similar).
    #[inline]
    pub(super) fn arith(&mut self, at: FailureSite<'_>, op: BinOp, x: &Value, y: &Value) -> InterpResult {
        // The most frequent cases come first.
        match (x, y) {
            (Value::F64(a), Value::F64(b)) => {
                if let Some(r) = f64s::arith(op, *a, *b) {
                    self.count_work(1);
                    return if r.is_nan() {
                        self.nan_result(at, OperationNotation::from_operator(op), *a, *b)
                    } else {
                        Ok(Value::F64(r))
                    };
                }
            }
            (Value::I64(a), Value::I64(b)) => {
                if let Some(r) = i64s::arith(op, *a, *b) {
                    return Ok(Value::I64(r));
                }
            }
            _ => {}
        }
        if self.traps_nan {
            return self.run_trapped(at, OperationNotation::from_operator(op), &[x, y], |this| {
                this.arith_lifted(at, op, x, y)
            });
        }
        self.arith_lifted(at, op, x, y)
    }

    #[inline(never)]
    fn arith_lifted(&mut self, at: FailureSite<'_>, op: BinOp, x: &Value, y: &Value) -> InterpResult {
        const NONE: (Code, &str) = (Code::E0505, "integer division by zero");
        if may_hold_dual(x) || may_hold_dual(y) {
            let to = real_kind(x, y);
            return self.zip_generic(at, (x, y), to, &mut |this, x, y| this.dual_arith(at, op, x, y));
        }
        if self.is_counting {
            self.counts.add_work(elementwise_work(x, y));
        }
        first_of!(
            at,
            self.zip_unboxed(at, (x, y), |a, b| f64s::arith(op, a, b), NONE),
            self.zip_unboxed(at, (x, y), |a, b| i64s::arith(op, a, b), NONE),
            self.zip_unboxed(at, (x, y), |a, b| f32s::arith(op, a, b), NONE),
        )
    }

    /// Evaluates `-x`.
    #[inline(never)]
    pub(super) fn negate(&mut self, at: FailureSite<'_>, x: &Value) -> InterpResult {
        if may_hold_dual(x) {
            return self.map_generic(at, x, real_kind(x, x), &mut |this, x| match x {
                Value::Dual(d) => this.map_linear(at, d, &mut |this, x| this.negate(at, x)),
                _ => this.negate(at, x),
            });
        }
        first_of!(
            at,
            self.map_unboxed(at, x, |a: f64| -a),
            self.map_unboxed(at, x, |a: f32| -a),
            self.map_unboxed(at, x, i64::wrapping_neg),
        )
    }

    /// Evaluates `!p`.
    #[inline(never)]
    pub(super) fn logical_not(&self, at: FailureSite<'_>, x: &Value) -> InterpResult {
        first_of!(at, self.map_unboxed(at, x, |a: bool| !a))
    }

    /// Evaluates `== != < <= > >=` (ATL 4.18).
    #[inline]
    pub(super) fn compare(&mut self, at: FailureSite<'_>, op: BinOp, x: &Value, y: &Value) -> InterpResult {
        if let (Value::I64(a), Value::I64(b)) = (x, y)
            && let Some(p) = comparison_holds(op, a, b)
        {
            return Ok(Value::Bool(p));
        }
        self.compare_lifted(at, op, x, y)
    }

    #[inline(never)]
    fn compare_lifted(&mut self, at: FailureSite<'_>, op: BinOp, x: &Value, y: &Value) -> InterpResult {
        const NONE: (Code, &str) = (Code::E0517, "internal error: the operator is not a comparison");
        if may_hold_dual(x) || may_hold_dual(y) {
            return self
                .zip_generic(at, (x, y), Scalar::Bool, &mut |this, x, y| this.compare(at, op, primal(x), primal(y)));
        }
        first_of!(
            at,
            self.zip_unboxed(at, (x, y), |a: i64, b: i64| comparison_holds(op, &a, &b), NONE),
            self.zip_unboxed(at, (x, y), |a: f64, b: f64| comparison_holds(op, &a, &b), NONE),
            self.zip_unboxed(at, (x, y), |a: f32, b: f32| comparison_holds(op, &a, &b), NONE),
            self.zip_unboxed(at, (x, y), |a: bool, b: bool| comparison_holds(op, &a, &b), NONE),
        )
    }

    /// Evaluates `x ^ k`.
    #[inline(never)]
    pub(super) fn power(&mut self, at: FailureSite<'_>, x: &Value, k: &Value) -> InterpResult {
        if self.traps_nan {
            return self.run_trapped(at, OperationNotation::Infix("^"), &[x, k], |this| this.power_lifted(at, x, k));
        }
        self.power_lifted(at, x, k)
    }

    fn power_lifted(&mut self, at: FailureSite<'_>, x: &Value, k: &Value) -> InterpResult {
        const NONE: (Code, &str) = (Code::E0513, "an integer has no negative power");
        if may_hold_dual(x) || may_hold_dual(k) {
            return self.zip_generic(at, (x, k), real_kind(x, k), &mut |this, x, k| this.dual_power(at, x, k));
        }
        if self.is_counting {
            self.counts.add_work(elementwise_work(x, k));
        }
        first_of!(
            at,
            self.zip_unboxed(at, (x, k), |x, k| Some(f64s::powi(x, k)), NONE),
            self.zip_unboxed(at, (x, k), |x: f64, k: f64| Some(f64s::powr(x, k)), NONE),
            self.zip_unboxed(at, (x, k), i64s::powi, NONE),
            self.zip_unboxed(at, (x, k), |x, k| Some(f32s::powi(x, k)), NONE),
            self.zip_unboxed(at, (x, k), |x: f32, k: f32| Some(f32s::powr(x, k)), NONE),
        )
    }

    /// Evaluates a scalar function (ATL 4.5).
    #[inline(never)]
    pub(super) fn scalar(&mut self, at: FailureSite<'_>, f: ScalarFn, args: &[Value]) -> InterpResult {
        if self.traps_nan {
            let operands: Vec<&Value> = args.iter().collect();
            return self.run_trapped(at, OperationNotation::from_function(f), &operands, |this| {
                this.scalar_lifted(at, f, args)
            });
        }
        self.scalar_lifted(at, f, args)
    }

    #[inline]
    fn scalar_lifted(&mut self, at: FailureSite<'_>, f: ScalarFn, args: &[Value]) -> InterpResult {
        macro_rules! on {
            ($m:ident, $x:expr, $y:expr) => {
                match ($m::function(f), $y) {
                    (Some($m::ScalarFunction::Unary(f)), None) => self.map_unboxed(at, $x, f),
                    (Some($m::ScalarFunction::Binary(f)), Some(y)) => self.zip_unboxed(
                        at,
                        ($x, y),
                        |a, b| Some(f(a, b)),
                        (Code::E0517, "internal error: the scalar function has no value"),
                    ),
                    _ => Ok(None),
                }
            };
        }
        let (x, y) = match args {
            [x] => (x, None),
            [x, y] => (x, Some(y)),
            _ => return Err(at.internal_error("a scalar function must have one or two arguments")),
        };
        if may_hold_dual(x) || y.is_some_and(may_hold_dual) {
            return match y {
                None => self.map_generic(at, x, real_kind(x, x), &mut |this, x| this.dual_scalar(at, f, &[x])),
                Some(y) => {
                    self.zip_generic(at, (x, y), real_kind(x, y), &mut |this, x, y| this.dual_scalar(at, f, &[x, y]))
                }
            };
        }
        if self.is_counting {
            self.counts.add_work(elementwise_work(x, y.unwrap_or(x)));
        }
        first_of!(at, on!(f64s, x, y), on!(i64s, x, y), on!(f32s, x, y))
    }

    /// Evaluates `f64(x)`, `f32(x)` or `i64(x)`.
    #[inline(never)]
    pub(super) fn convert(&mut self, at: FailureSite<'_>, to: Scalar, x: &Value) -> InterpResult {
        if scalar_kind(x) == Some(to) {
            return Ok(x.clone());
        }
        if may_hold_dual(x) {
            return self.map_generic(at, x, to, &mut |this, x| match x {
                // An integer has no tangent.
                Value::Dual(d) if matches!(to, Scalar::F64 | Scalar::F32) => {
                    this.map_linear(at, d, &mut |this, x| this.convert(at, to, x))
                }
                _ => this.convert(at, to, primal(x)),
            });
        }
        match to {
            Scalar::F64 => first_of!(
                at,
                self.map_unboxed(at, x, convert::i64_to_f64),
                self.map_unboxed(at, x, |a: f32| f64::from(a)),
                self.map_unboxed(at, x, |a: bool| f64::from(u8::from(a))),
            ),
            Scalar::F32 => first_of!(
                at,
                self.map_unboxed(at, x, convert::i64_to_f32),
                self.map_unboxed(at, x, convert::f64_to_f32),
                self.map_unboxed(at, x, |a: bool| f32::from(u8::from(a))),
            ),
            Scalar::I64 => first_of!(
                at,
                self.map_unboxed(at, x, convert::f64_to_i64),
                self.map_unboxed(at, x, convert::f32_to_i64),
                self.map_unboxed(at, x, |a: bool| i64::from(a)),
            ),
            Scalar::Bool => Err(at.internal_error("no value converts to bool")),
        }
    }

    /// Performs one step of a reduction or `+=`: on scalars, and elementwise on arrays, tuples and
    /// records. Updates the first operand in place if it has no other owner.
    pub(super) fn join(&mut self, at: FailureSite<'_>, how: JoinOp, x: Value, y: &Value) -> InterpResult {
        if let (Value::F64(a), Value::F64(b)) = (&x, y) {
            self.count_work(1);
            let r = join_f64(how, *a, *b);
            return if r.is_nan() {
                self.nan_result(at, OperationNotation::from_join(how), *a, *b)
            } else {
                Ok(Value::F64(r))
            };
        }
        if self.traps_nan {
            // The NaN trap keeps the operand, so the update copies.
            let before = x.clone();
            return self.run_trapped(at, OperationNotation::from_join(how), &[&before, y], |this| {
                this.join_lifted(at, how, x, y)
            });
        }
        self.join_lifted(at, how, x, y)
    }

    fn join_lifted(&mut self, at: FailureSite<'_>, how: JoinOp, x: Value, y: &Value) -> InterpResult {
        match (x, y) {
            (Value::I64(a), Value::I64(b)) => Ok(Value::I64(join_i64(how, a, *b))),
            (Value::F32(a), Value::F32(b)) => {
                self.count_work(1);
                Ok(Value::F32(join_f32(how, a, *b)))
            }
            (Value::Array(a), Value::Array(b)) => self.join_arrays(at, how, a, b),
            (Value::Tuple(a), Value::Tuple(b)) if a.values().len() == b.values().len() => {
                let b: Vec<_> = b.values().iter().collect();
                let a = lang_runtime::value::take_components(a);
                let joined = self.join_components(at, how, a, &b)?;
                self.make_tuple(at, joined)
            }
            (Value::Record(a), Value::Record(b)) if a.names().len() == b.names().len() => {
                let at_b = |(i, name): (usize, &lang_base::Name)| b.values().get(b.position(name, i)?);
                let Some(b) = a.names().iter().enumerate().map(at_b).collect::<Option<Vec<_>>>() else {
                    return Err(at.internal_error("the records of a sum have different fields"));
                };
                let names = a.names.clone();
                let a = lang_runtime::value::take_fields(a);
                let joined = self.join_components(at, how, a, &b)?;
                self.make_record(at, names, joined)
            }
            (x, y) if may_hold_dual(&x) || may_hold_dual(y) => self.join_duals(at, how, &x, y),
            _ => Err(at.internal_error("values of these kinds cannot be joined")),
        }
    }

    /// Joins two values that may hold dual numbers.
    fn join_duals(&mut self, at: FailureSite<'_>, how: JoinOp, x: &Value, y: &Value) -> InterpResult {
        match how {
            JoinOp::Add => self.arith(at, BinOp::Add, x, y),
            JoinOp::Mul => self.arith(at, BinOp::Mul, x, y),
            JoinOp::Min | JoinOp::Max => {
                // The tangent of the other operand must not take part, because it may be infinite.
                if let Some(first) = is_first_chosen(how == JoinOp::Max, primal(x), primal(y)) {
                    self.count_work(1);
                    return Ok(if first { x } else { y }.clone());
                }
                let of = if how == JoinOp::Max { ScalarFn::Max } else { ScalarFn::Min };
                self.scalar(at, of, &[x.clone(), y.clone()])
            }
        }
    }

    fn join_components(
        &mut self,
        at: FailureSite<'_>,
        how: JoinOp,
        a: Vec<Value>,
        b: &[&Value],
    ) -> InterpResult<Vec<Value>> {
        ensure_sufficient_stack(|| a.into_iter().zip(b).map(|(a, b)| self.join(at, how, a, b)).collect())
    }

    fn join_arrays(&mut self, at: FailureSite<'_>, how: JoinOp, mut a: Array, b: &Array) -> InterpResult {
        if a.dims() != b.dims() {
            return Err(at.fail(Code::E0501, format!("shapes {:?} and {:?} differ", a.dims(), b.dims())));
        }
        if a.form().is_some() || b.form().is_some() {
            return self.join_columns(at, how, a, b);
        }
        if a.is_boxed() != b.is_boxed() {
            return self.join_duals(at, how, &Value::Array(a), &Value::Array(b.clone()));
        }
        if a.store_mut().is_none() {
            a = a.compact(&self.memory).map_err(|e| at.allocation_failure(&e))?;
        }
        let count = a.count();
        let real = self.join_typed(&mut a, b, count, |x: f64, y| join_f64(how, x, y))
            || self.join_typed(&mut a, b, count, |x: f32, y| join_f32(how, x, y));
        if real {
            self.count_work(count);
        } else if !self.join_typed(&mut a, b, count, |x: i64, y| join_i64(how, x, y)) {
            let Some((Store::Boxed(items), start)) = a.store_mut() else {
                return Err(at.internal_error("the arrays of a sum have different kinds"));
            };
            let slots = items.values.iter_mut().skip(start);
            for (slot, y) in slots.zip(b.boxed_elements().unwrap_or_default()) {
                let x = std::mem::replace(slot, Value::Bool(false));
                *slot = self.join(at, how, x, y)?;
            }
        }
        Ok(Value::Array(a))
    }

    /// Joins arrays of tuples or records, scalar by scalar if both are stored flat with one form.
    fn join_columns(&mut self, at: FailureSite<'_>, how: JoinOp, a: Array, b: &Array) -> InterpResult {
        let Some(form) = a.form().filter(|form| b.form() == Some(form)).cloned() else {
            let boxed = |array: &Array| match array.form() {
                Some(_) => array.boxed_copy(&self.memory).map_err(|e| at.allocation_failure(&e)),
                None => Ok(array.clone()),
            };
            let (a, b) = (boxed(&a)?, boxed(b)?);
            return self.join_arrays(at, how, a, &b);
        };
        let dims = a.dims().to_vec();
        let mut parts = Vec::new();
        for (x, y) in a.into_columns().into_iter().zip(b.all_columns()) {
            match self.join_arrays(at, how, x, &y)? {
                Value::Array(part) => parts.push(part),
                _ => return Err(at.internal_error("a column of an array is not an array")),
            }
        }
        self.make_array(at, Array::from_columns(&dims, form, parts))
    }

    fn join_typed<T: UnboxedElement>(&self, a: &mut Array, b: &Array, count: usize, op: impl Fn(T, T) -> T) -> bool {
        let Some(b) = b.slice::<T>() else { return false };
        let Some((store, start)) = a.store_mut() else { return false };
        let Some(a) = T::slice_mut(store).and_then(|s| s.get_mut(start..start + count)) else { return false };
        a.iter_mut().zip(b).for_each(|(a, b)| *a = op(*a, *b));
        true
    }
}

/// Returns the kind of real that an operation on these operands produces.
fn real_kind(x: &Value, y: &Value) -> Scalar {
    scalar_kind(x).filter(|k| *k != Scalar::I64).or_else(|| scalar_kind(y)).unwrap_or(Scalar::F64)
}

fn comparison_holds<T: PartialOrd>(op: BinOp, a: &T, b: &T) -> Option<bool> {
    Some(match op {
        BinOp::Eq => a == b,
        BinOp::Ne => a != b,
        BinOp::Lt => a < b,
        BinOp::Le => a <= b,
        BinOp::Gt => a > b,
        BinOp::Ge => a >= b,
        _ => return None,
    })
}

/// Returns whether the first of two reals is the greatest (or the least). Returns `None` for zeros
/// of different signs, which are equal.
fn is_first_chosen(greatest: bool, x: &Value, y: &Value) -> Option<bool> {
    let (x, y) = match (x, y) {
        (Value::F64(x), Value::F64(y)) => (*x, *y),
        (Value::F32(x), Value::F32(y)) => (f64::from(*x), f64::from(*y)),
        _ => return None,
    };
    if x.is_nan() || y.is_nan() {
        return Some(x.is_nan());
    }
    if x == y {
        return (x.to_bits() == y.to_bits()).then_some(true);
    }
    Some((x > y) == greatest)
}

fn join_f64(how: JoinOp, a: f64, b: f64) -> f64 {
    match how {
        JoinOp::Add => a + b,
        JoinOp::Mul => a * b,
        JoinOp::Min => f64s::min(a, b),
        JoinOp::Max => f64s::max(a, b),
    }
}

fn join_f32(how: JoinOp, a: f32, b: f32) -> f32 {
    match how {
        JoinOp::Add => a + b,
        JoinOp::Mul => a * b,
        JoinOp::Min => f32s::min(a, b),
        JoinOp::Max => f32s::max(a, b),
    }
}

fn join_i64(how: JoinOp, a: i64, b: i64) -> i64 {
    match how {
        JoinOp::Add => a.wrapping_add(b),
        JoinOp::Mul => a.wrapping_mul(b),
        JoinOp::Min => a.min(b),
        JoinOp::Max => a.max(b),
    }
}
