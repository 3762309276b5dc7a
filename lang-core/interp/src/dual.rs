//! **Dual numbers**, the reals of forward-mode differentiation: `primal + tangent·ε`, where
//! `ε² = 0`. Every derivative in progress has its own `ε`, a [`Perturbation`].
//!
//! Derivatives nest, so both parts of a dual number may be dual numbers, of earlier perturbations.
//! An operation works on the latest perturbation among its operands, and treats an operand without
//! it as a constant. This keeps derivatives by different variables apart ("perturbation confusion":
//! Siskind and Pearlmutter, "Nesting forward-mode AD in a functional framework", 2008).
//!
//! Sums, products and quotients have their rules here. All other operations use the partial
//! derivatives of [`partials`], which are written in Iverson and so can be differentiated again.

use super::Interp;
use super::broadcast::scalar_kind;
use lang_base::ensure_sufficient_stack;
use lang_resolve::partials::{self, DifferentiableOp};
use lang_resolve::scalar_fn::ScalarFn;
use lang_runtime::Value;
use lang_runtime::dual::{Dual, Perturbation, perturbation_of, primal, primal_and_tangent};
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::rt_type::RuntimeType;
use lang_runtime::scalar::convert;
use lang_runtime::value::RuntimeInstance;
use lang_syntax::ops::BinOp;
use lang_types::ty::Scalar;

/// Returns one, or zero, in the kind of `x`.
pub(super) fn one_or_zero_like(x: &Value, one: bool) -> Value {
    let n = u8::from(one);
    if scalar_kind(x) == Some(Scalar::F32) { Value::F32(f32::from(n)) } else { Value::F64(f64::from(n)) }
}

/// Converts an integer to the kind of `x`.
fn convert_integer_like(x: &Value, k: i64) -> Value {
    if scalar_kind(x) == Some(Scalar::F32) {
        Value::F32(convert::i64_to_f32(k))
    } else {
        Value::F64(convert::i64_to_f64(k))
    }
}

impl Interp<'_> {
    /// Creates a perturbation later than all others.
    pub(super) fn new_perturbation(&mut self) -> Perturbation {
        self.perturbations += 1;
        Perturbation(self.perturbations)
    }

    /// Builds `primal + tangent·ε`.
    pub(super) fn make_dual(
        &self,
        at: FailureSite<'_>,
        perturbation: Perturbation,
        primal: Value,
        tangent: Value,
    ) -> InterpResult {
        let charge = self.memory.charge(size_of::<Dual>()).map_err(|e| at.allocation_failure(&e))?;
        Ok(Value::Dual(std::sync::Arc::new(Dual::new(perturbation, primal, tangent, charge))))
    }

    /// Builds a dual number if a tangent exists; otherwise returns the primal.
    fn dual_or_primal(
        &self,
        at: FailureSite<'_>,
        e: Perturbation,
        primal: Value,
        tangent: Option<Value>,
    ) -> InterpResult {
        match tangent {
            Some(tangent) => self.make_dual(at, e, primal, tangent),
            None => Ok(primal),
        }
    }

    /// Adds two tangents, either of which may be absent.
    fn add_tangents(&mut self, at: FailureSite<'_>, a: Option<Value>, b: Option<Value>) -> InterpResult<Option<Value>> {
        match (a, b) {
            (Some(a), Some(b)) => self.arith(at, BinOp::Add, &a, &b).map(Some),
            (a, b) => Ok(a.or(b)),
        }
    }

    /// Returns `factor * tangent`, if a tangent exists.
    fn scale_tangent(
        &mut self,
        at: FailureSite<'_>,
        factor: &Value,
        tangent: Option<&Value>,
    ) -> InterpResult<Option<Value>> {
        tangent.map(|t| self.arith(at, BinOp::Mul, factor, t)).transpose()
    }

    /// Applies a linear function to both parts of a dual number.
    pub(super) fn map_linear(
        &mut self,
        at: FailureSite<'_>,
        x: &Dual,
        op: &mut dyn FnMut(&mut Self, &Value) -> InterpResult,
    ) -> InterpResult {
        ensure_sufficient_stack(|| {
            let (primal, tangent) = (op(self, &x.primal)?, op(self, &x.tangent)?);
            self.make_dual(at, x.perturbation, primal, tangent)
        })
    }

    /// Evaluates `+ - * /` on two reals of which at least one is dual.
    pub(super) fn dual_arith(&mut self, at: FailureSite<'_>, op: BinOp, x: &Value, y: &Value) -> InterpResult {
        let Some(e) = perturbation_of(x).max(perturbation_of(y)) else { return self.arith(at, op, x, y) };
        let ((a, da), (b, db)) = (primal_and_tangent(x, e), primal_and_tangent(y, e));
        // Nested dual numbers turn one operation into many, so the host must be able to interrupt
        // it.
        self.poll_interrupt(at)?;
        ensure_sufficient_stack(|| {
            let value = self.arith(at, op, a, b)?;
            let tangent = match op {
                BinOp::Add => self.add_tangents(at, da.cloned(), db.cloned())?,
                BinOp::Sub => {
                    let minus = db.map(|db| self.negate(at, db)).transpose()?;
                    self.add_tangents(at, da.cloned(), minus)?
                }
                BinOp::Mul => {
                    let (left, right) = (self.scale_tangent(at, b, da)?, self.scale_tangent(at, a, db)?);
                    self.add_tangents(at, left, right)?
                }
                // (da - value * db) / b
                BinOp::Div => {
                    let minus = self.scale_tangent(at, &value, db)?.map(|t| self.negate(at, &t)).transpose()?;
                    let sum = self.add_tangents(at, da.cloned(), minus)?;
                    sum.map(|t| self.arith(at, BinOp::Div, &t, b)).transpose()?
                }
                // The operators of integers only.
                _ => None,
            };
            self.dual_or_primal(at, e, value, tangent)
        })
    }

    /// Evaluates `x ^ y`, where `y` is a real or an integer.
    pub(super) fn dual_power(&mut self, at: FailureSite<'_>, x: &Value, y: &Value) -> InterpResult {
        let Some(e) = perturbation_of(x).max(perturbation_of(y)) else { return self.power(at, x, y) };
        let ((a, da), (b, db)) = (primal_and_tangent(x, e), primal_and_tangent(y, e));
        let operation = if matches!(b, Value::I64(_)) { DifferentiableOp::PowInt } else { DifferentiableOp::Pow };
        ensure_sufficient_stack(|| {
            let value = self.power(at, a, b)?;
            let real = if let Value::I64(k) = b { Some(convert_integer_like(a, *k)) } else { None };
            let args: Vec<&Value> = [a, b].into_iter().chain(&real).collect();
            let tangent = self.tangent_by_partials(at, operation, &args, &[da, db])?;
            self.dual_or_primal(at, e, value, tangent)
        })
    }

    /// Evaluates a scalar function of dual numbers.
    pub(super) fn dual_scalar(&mut self, at: FailureSite<'_>, f: ScalarFn, args: &[&Value]) -> InterpResult {
        let primals = |args: &[&Value]| args.iter().map(|x| (*x).clone()).collect::<Vec<_>>();
        let Some(e) = args.iter().filter_map(|x| perturbation_of(x)).max() else {
            return self.scalar(at, f, &primals(args));
        };
        let (values, tangents): (Vec<_>, Vec<_>) = args.iter().map(|x| primal_and_tangent(x, e)).unzip();
        ensure_sufficient_stack(|| {
            let value = self.scalar(at, f, &primals(&values))?;
            let tangent = self.tangent_by_partials(at, DifferentiableOp::Scalar(f), &values, &tangents)?;
            self.dual_or_primal(at, e, value, tangent)
        })
    }

    /// Returns the tangent of an operation by the chain rule: the sum of each partial derivative
    /// times its argument's tangent.
    fn tangent_by_partials(
        &mut self,
        at: FailureSite<'_>,
        operation: DifferentiableOp,
        args: &[&Value],
        tangents: &[Option<&Value>],
    ) -> InterpResult<Option<Value>> {
        let mut sum = None;
        for (k, tangent) in tangents.iter().enumerate() {
            let Some(tangent) = tangent else { continue };
            let real = args.first().and_then(|x| scalar_kind(x)).unwrap_or(Scalar::F64);
            let instance = RuntimeInstance { types: [RuntimeType::Scalar(real)].into(), sizes: Vec::new() };
            let args = args.iter().map(|x| (*x).clone()).collect();
            let partial = self.call_def(at, &partials::partial_name(operation, k), instance, args)?;
            // An argument that a selection such as `max` does not choose contributes no tangent.
            let is_taken = match (operation, primal(&partial)) {
                (DifferentiableOp::Scalar(f), Value::F64(partial)) if f.is_selection() => *partial != 0.0,
                (DifferentiableOp::Scalar(f), Value::F32(partial)) if f.is_selection() => *partial != 0.0,
                _ => true,
            };
            if is_taken {
                let term = self.arith(at, BinOp::Mul, &partial, tangent)?;
                sum = self.add_tangents(at, sum, Some(term))?;
            }
        }
        Ok(sum)
    }
}
