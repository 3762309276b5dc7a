//! **User-written derivative rules.** `derivative f(x; dx) = …` returns the tangent of the result,
//! `adjoint f(x; dy) = …` the cotangents of the arguments. If both exist they must agree, and the
//! interpreter uses the first. An adjoint rule that is not linear in the cotangent has no
//! transpose. Reverse operators then use a reverse evaluation ([`super::reverse`]), and forward
//! operators fail.
//!
//! A rule applies if an argument varies, or a capture of a function among the arguments. Such a
//! function `g: A -> B` has the tangent `dg: A -> tangent of B`: the change of `g(x)` at a fixed
//! `x` as its captures change. In the transposed rule its cotangent is a function that maps such a
//! tangent to the change of the result.
//!
//! A rule does not apply if the result contains a function, because a rule has no tangent for that.
//! It does not apply to type arguments other than real scalars, because their tangents do not have
//! the types of the rule. Higher derivatives differentiate the rule, whose arguments vary in turn.

use std::sync::Arc;

use super::Interp;
use super::broadcast::scalar_kind;
use super::dual::one_or_zero_like;
use super::flatten::{NonRealPolicy, contains_function, latest_perturbation};
use lang_base::GlobalName;
use lang_base::ensure_sufficient_stack;
use lang_runtime::code::RunnableBody;
use lang_runtime::dual::{Perturbation, primal_and_tangent};
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::value::{FunctionValue, RuntimeInstance};
use lang_runtime::{RuntimeType, Value};
use lang_syntax::ops::BinOp;
use lang_types::ty::Scalar;

/// The name of the rule of a definition.
#[derive(Clone)]
pub(super) enum DerivativeRule {
    Derivative(GlobalName),
    Adjoint(GlobalName),
}

impl Interp<'_> {
    /// From now on, differentiates the body of this definition and ignores its rules. This serves
    /// to test the rule, and turns off offloading.
    pub fn ignore_rule(&mut self, def: &GlobalName) {
        self.offload_evaluator = None;
        self.rules.insert(def.clone(), None);
    }

    /// From now on, differentiates this definition by its adjoint rule alone, or by its body if it
    /// has none. This serves to test the rule, and turns off offloading.
    pub fn prefer_adjoint(&mut self, def: &GlobalName) {
        self.offload_evaluator = None;
        let rule = self.find_written_rule(def, "adjoint").map(DerivativeRule::Adjoint);
        self.rules.insert(def.clone(), rule);
    }

    pub(super) fn find_rule(&mut self, def: &GlobalName) -> Option<DerivativeRule> {
        if let Some(known) = self.rules.get(def) {
            return known.clone();
        }
        let derivative = self.find_written_rule(def, "derivative").map(DerivativeRule::Derivative);
        let rule = derivative.or_else(|| self.find_written_rule(def, "adjoint").map(DerivativeRule::Adjoint));
        self.rules.insert(def.clone(), rule.clone());
        rule
    }

    /// Returns the name of the rule of this kind, if the definition has one.
    pub(super) fn find_written_rule(&self, def: &GlobalName, kind: &str) -> Option<GlobalName> {
        let name = GlobalName::new(&def.module, &format!("{kind} {}", def.name));
        self.program.body(&name).map(|_| name)
    }

    /// Returns the rule that this call needs, and the perturbation to use it for.
    pub(super) fn applicable_rule(
        &mut self,
        code: &RunnableBody,
        instance: &RuntimeInstance,
        args: &[Value],
    ) -> Option<(DerivativeRule, Perturbation)> {
        let rule = self.find_rule(&code.item)?;
        // A rule types the tangent of an `a` as an `a`, which holds for reals alone.
        let real = |t: &RuntimeType| matches!(t, RuntimeType::Scalar(Scalar::F64 | Scalar::F32));
        if !instance.types.iter().all(real) {
            return None;
        }
        latest_perturbation(args).map(|e| (rule, e))
    }

    /// Calls `def` and attaches the tangent of its rule to the value. Returns `None` if the value
    /// contains functions.
    #[inline(never)]
    pub(super) fn call_by_rule(
        &mut self,
        at: FailureSite<'_>,
        def: &GlobalName,
        instance: &RuntimeInstance,
        (rule, e): (DerivativeRule, Perturbation),
        args: &[Value],
    ) -> InterpResult<Option<Value>> {
        let mut primals = Vec::with_capacity(args.len());
        let mut tangents = Vec::with_capacity(args.len());
        for arg in args {
            primals.push(self.extract_primal(at, arg, e)?);
            tangents.push(self.tangent_of_argument(at, arg, e)?);
        }
        let value = self.call_def(at, def, instance.clone(), primals.clone())?;
        if contains_function(&value) {
            return Ok(None);
        }
        if self.needs_reverse_evaluation(at, def, instance, (&primals, e), &value)? {
            return Ok(Some(value));
        }
        let tangents = match rule {
            DerivativeRule::Derivative(rule) => {
                let args = primals.into_iter().chain(tangents).collect();
                let tangent = self.call_def(at, &rule, instance.clone(), args)?;
                self.collect_reals_like(at, &value, &tangent)?.values
            }
            DerivativeRule::Adjoint(rule) if !self.is_linear(at, &rule, instance, &primals, &value)? => {
                return Err(Self::no_tangent_failure(at, def));
            }
            DerivativeRule::Adjoint(rule) => {
                self.transpose_adjoint(at, &rule, instance, (&primals, args, e), &value)?
            }
        };
        let mut tangents = tangents.into_iter();
        let value = self.map_reals(at, &value, NonRealPolicy::Keep, &mut |this, y| {
            let t = tangents.next().ok_or_else(|| at.internal_error("a tangent is missing"))?;
            let t = this.convert(at, scalar_kind(y).unwrap_or(Scalar::F64), &t)?;
            this.make_dual(at, e, y.clone(), t)
        })?;
        Ok(Some(value))
    }

    /// Returns the tangent of an argument. Functions in it have tangents too.
    fn tangent_of_argument(&mut self, at: FailureSite<'_>, arg: &Value, e: Perturbation) -> InterpResult {
        let parts = |this: &mut Self, parts: &[Value]| -> InterpResult<Vec<Value>> {
            parts.iter().map(|part| ensure_sufficient_stack(|| this.tangent_of_argument(at, part, e))).collect()
        };
        match arg {
            Value::Fun(_) => self.tangent_of_function(at, arg, e),
            Value::Tuple(items) => {
                let items = parts(self, items.values())?;
                self.make_tuple(at, items)
            }
            Value::Record(record) => {
                let fields = parts(self, record.values())?;
                self.make_record(at, record.names.clone(), fields)
            }
            _ => self.extract_tangent(at, arg, e),
        }
    }

    /// Returns the tangent of a function: the function without the perturbation, and the tangent of
    /// each captured real, or `()` for a constant. The perturbation itself does not escape, so no
    /// other derivative can meet it.
    fn tangent_of_function(&mut self, at: FailureSite<'_>, function: &Value, e: Perturbation) -> InterpResult {
        let mut tangents = Vec::new();
        self.map_reals(at, function, NonRealPolicy::VisitEveryReal, &mut |_, x| {
            tangents.push(primal_and_tangent(x, e).1.cloned().unwrap_or_else(Value::unit));
            Ok(x.clone())
        })?;
        let parts = vec![self.extract_primal(at, function, e)?, self.make_tuple(at, tangents)?];
        Ok(Value::Fun(Arc::new(FunctionValue::Tangent(self.make_components(at, parts)?))))
    }

    /// Applies the tangent of a function to arguments. They are constant with respect to the new
    /// perturbation.
    #[inline(never)]
    pub(super) fn call_function_tangent(
        &mut self,
        at: FailureSite<'_>,
        parts: &[Value],
        args: Vec<Value>,
    ) -> InterpResult {
        let [function, Value::Tuple(tangents)] = parts else {
            return Err(at.internal_error("the tangent of a function is incomplete"));
        };
        let e = self.new_perturbation();
        let mut tangents = tangents.values().iter();
        let function =
            self.map_reals(at, function, NonRealPolicy::VisitEveryReal, &mut |this, x| match tangents.next() {
                None => Err(at.internal_error("a tangent is missing")),
                Some(Value::Tuple(_)) => Ok(x.clone()),
                Some(t) => this.make_dual(at, e, x.clone(), t.clone()),
            })?;
        self.dual_run_depth += 1;
        let result = ensure_sufficient_stack(|| self.apply(at, &function, args));
        self.dual_run_depth -= 1;
        self.extract_tangent(at, &result?, e)
    }

    /// Returns the changes of a result due to the captures of functions among the arguments.
    /// Applies the cotangent of each function to its tangent.
    fn changes_by_captures(
        &mut self,
        at: FailureSite<'_>,
        args: &Value,
        cotangents: &Value,
        e: Perturbation,
    ) -> InterpResult<Vec<Value>> {
        let mut changes = Vec::new();
        let mut open = vec![(args, cotangents)];
        while let Some((arg, cotangent)) = open.pop() {
            match (arg, cotangent) {
                (Value::Fun(_), Value::Fun(_)) => {
                    let tangent = self.tangent_of_function(at, arg, e)?;
                    changes.push(self.apply(at, cotangent, vec![tangent])?);
                }
                (Value::Tuple(a), Value::Tuple(b)) => open.extend(a.values().iter().zip(b.values())),
                (Value::Record(a), Value::Record(b)) => {
                    for (i, (name, v)) in a.names().iter().zip(a.values()).enumerate() {
                        open.extend(b.position(name, i).and_then(|k| b.values().get(k)).map(|w| (v, w)));
                    }
                }
                _ => {}
            }
        }
        Ok(changes)
    }

    /// Returns the tangents of the reals of a result by an adjoint rule. The j-th is the inner
    /// product of the cotangents for the j-th unit vector with the tangents of the arguments.
    fn transpose_adjoint(
        &mut self,
        at: FailureSite<'_>,
        rule: &GlobalName,
        instance: &RuntimeInstance,
        (primals, args, e): (&[Value], &[Value], Perturbation),
        value: &Value,
    ) -> InterpResult<Vec<Value>> {
        let bundle = |this: &Self, values: &[Value]| match values {
            [one] => Ok(one.clone()),
            many => this.make_tuple(at, many.to_vec()),
        };
        let (point, dual_point) = (bundle(self, primals)?, bundle(self, args)?);
        let tangents = self.collect_reals(at, &dual_point)?;
        let tangents: Vec<_> = tangents.values.iter().map(|x| primal_and_tangent(x, e).1.cloned()).collect();
        let count = self.collect_reals(at, value)?.values.len();
        let mut result = Vec::with_capacity(count);
        for j in 0..count {
            let mut k = 0;
            let unit = self.map_reals(at, value, NonRealPolicy::Unit(None), &mut |_, y| {
                k += 1;
                Ok(one_or_zero_like(y, k == j + 1))
            })?;
            let args = primals.iter().cloned().chain([unit]).collect();
            let cotangents = self.call_def(at, rule, instance.clone(), args)?;
            let changes = self.changes_by_captures(at, &dual_point, &cotangents, e)?;
            let cotangents = self.collect_reals_like(at, &point, &cotangents)?;
            let mut sum = self.inner_product(at, &cotangents.values, &tangents)?;
            for change in changes {
                sum = self.arith(at, BinOp::Add, &sum, &change)?;
            }
            result.push(sum);
        }
        Ok(result)
    }
}
