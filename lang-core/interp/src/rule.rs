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
use super::dual::number_like;
use super::leaves::{Rest, holds_function, latest};
use super::lift::kind;
use lang_base::GlobalName;
use lang_base::guarded;
use lang_runtime::code::Code;
use lang_runtime::dual::{Perturbation, split};
use lang_runtime::failure::{At, Eval};
use lang_runtime::value::{Fun, RtInstance};
use lang_runtime::{RtType, Value};
use lang_syntax::ops::BinOp;
use lang_types::ty::Scalar;

/// The name of the rule of a definition.
#[derive(Clone)]
pub(super) enum Rule {
    Derivative(GlobalName),
    Adjoint(GlobalName),
}

impl Interp<'_> {
    /// From now on, differentiates the body of this definition and ignores its rules. This serves
    /// to test the rule, and turns off offloading.
    pub fn ignore_rule(&mut self, def: &GlobalName) {
        self.elsewhere = None;
        self.rules.insert(def.clone(), None);
    }

    /// From now on, differentiates this definition by its adjoint rule alone, or by its body if it
    /// has none. This serves to test the rule, and turns off offloading.
    pub fn prefer_adjoint(&mut self, def: &GlobalName) {
        self.elsewhere = None;
        let rule = self.written(def, "adjoint").map(Rule::Adjoint);
        self.rules.insert(def.clone(), rule);
    }

    pub(super) fn rule(&mut self, def: &GlobalName) -> Option<Rule> {
        if let Some(known) = self.rules.get(def) {
            return known.clone();
        }
        let derivative = self.written(def, "derivative").map(Rule::Derivative);
        let rule = derivative.or_else(|| self.written(def, "adjoint").map(Rule::Adjoint));
        self.rules.insert(def.clone(), rule.clone());
        rule
    }

    /// Returns the name of the rule of this kind, if the definition has one.
    pub(super) fn written(&self, def: &GlobalName, kind: &str) -> Option<GlobalName> {
        let name = GlobalName::new(&def.module, &format!("{kind} {}", def.name));
        self.program.body(&name).map(|_| name)
    }

    /// Returns the rule that this call needs, and the perturbation to use it for.
    pub(super) fn applicable(
        &mut self,
        code: &Code,
        instance: &RtInstance,
        args: &[Value],
    ) -> Option<(Rule, Perturbation)> {
        let rule = self.rule(&code.item)?;
        // A rule types the tangent of an `a` as an `a`, which holds for reals alone.
        let real = |t: &RtType| matches!(t, RtType::Scalar(Scalar::F64 | Scalar::F32));
        if !instance.types.iter().all(real) {
            return None;
        }
        latest(args).map(|e| (rule, e))
    }

    /// Calls `def` and attaches the tangent of its rule to the value. Returns `None` if the value
    /// contains functions.
    #[inline(never)]
    pub(super) fn by_rule(
        &mut self,
        at: At<'_>,
        def: &GlobalName,
        instance: &RtInstance,
        (rule, e): (Rule, Perturbation),
        args: &[Value],
    ) -> Eval<Option<Value>> {
        let mut primals = Vec::with_capacity(args.len());
        let mut tangents = Vec::with_capacity(args.len());
        for arg in args {
            primals.push(self.primal_part(at, arg, e)?);
            tangents.push(self.tangent_of_argument(at, arg, e)?);
        }
        let value = self.call_def(at, def, instance.clone(), primals.clone())?;
        if holds_function(&value) {
            return Ok(None);
        }
        if self.needs_reversal(at, def, instance, (&primals, e), &value)? {
            return Ok(Some(value));
        }
        let tangents = match rule {
            Rule::Derivative(rule) => {
                let args = primals.into_iter().chain(tangents).collect();
                let tangent = self.call_def(at, &rule, instance.clone(), args)?;
                self.reals_like(at, &value, &tangent)?.values
            }
            Rule::Adjoint(rule) if !self.is_linear(at, &rule, instance, &primals, &value)? => {
                return Err(Self::no_tangent(at, def));
            }
            Rule::Adjoint(rule) => self.transposed(at, &rule, instance, (&primals, args, e), &value)?,
        };
        let mut tangents = tangents.into_iter();
        let value = self.map_reals(at, &value, Rest::Stays, &mut |this, y| {
            let t = tangents.next().ok_or_else(|| at.internal("a tangent is missing"))?;
            let t = this.convert(at, kind(y).unwrap_or(Scalar::F64), &t)?;
            this.dual(at, e, y.clone(), t)
        })?;
        Ok(Some(value))
    }

    /// Returns the tangent of an argument. Functions in it have tangents too.
    fn tangent_of_argument(&mut self, at: At<'_>, arg: &Value, e: Perturbation) -> Eval {
        let parts = |this: &mut Self, parts: &[Value]| -> Eval<Vec<Value>> {
            parts.iter().map(|part| guarded(|| this.tangent_of_argument(at, part, e))).collect()
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
            _ => self.tangent_part(at, arg, e),
        }
    }

    /// Returns the tangent of a function: the function without the perturbation, and the tangent of
    /// each captured real, or `()` for a constant. The perturbation itself does not escape, so no
    /// other derivative can meet it.
    fn tangent_of_function(&mut self, at: At<'_>, function: &Value, e: Perturbation) -> Eval {
        let mut tangents = Vec::new();
        self.map_reals(at, function, Rest::Captured, &mut |_, x| {
            tangents.push(split(x, e).1.cloned().unwrap_or_else(Value::unit));
            Ok(x.clone())
        })?;
        let parts = vec![self.primal_part(at, function, e)?, self.make_tuple(at, tangents)?];
        Ok(Value::Fun(Arc::new(Fun::Tangent(self.items(at, parts)?))))
    }

    /// Applies the tangent of a function to arguments. They are constant with respect to the new
    /// perturbation.
    #[inline(never)]
    pub(super) fn call_tangent(&mut self, at: At<'_>, parts: &[Value], args: Vec<Value>) -> Eval {
        let [function, Value::Tuple(tangents)] = parts else {
            return Err(at.internal("the tangent of a function lost its parts"));
        };
        let e = self.perturb();
        let mut tangents = tangents.values().iter();
        let function = self.map_reals(at, function, Rest::Captured, &mut |this, x| match tangents.next() {
            None => Err(at.internal("a tangent is missing")),
            Some(Value::Tuple(_)) => Ok(x.clone()),
            Some(t) => this.dual(at, e, x.clone(), t.clone()),
        })?;
        self.deriving += 1;
        let result = guarded(|| self.apply(at, &function, args));
        self.deriving -= 1;
        self.tangent_part(at, &result?, e)
    }

    /// Returns the changes of a result due to the captures of functions among the arguments.
    /// Applies the cotangent of each function to its tangent.
    fn by_functions(&mut self, at: At<'_>, args: &Value, cotangents: &Value, e: Perturbation) -> Eval<Vec<Value>> {
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
    fn transposed(
        &mut self,
        at: At<'_>,
        rule: &GlobalName,
        instance: &RtInstance,
        (primals, args, e): (&[Value], &[Value], Perturbation),
        value: &Value,
    ) -> Eval<Vec<Value>> {
        let bundle = |this: &Self, values: &[Value]| match values {
            [one] => Ok(one.clone()),
            many => this.make_tuple(at, many.to_vec()),
        };
        let (point, dual_point) = (bundle(self, primals)?, bundle(self, args)?);
        let tangents = self.reals(at, &dual_point)?;
        let tangents: Vec<_> = tangents.values.iter().map(|x| split(x, e).1.cloned()).collect();
        let count = self.reals(at, value)?.values.len();
        let mut result = Vec::with_capacity(count);
        for j in 0..count {
            let mut k = 0;
            let unit = self.map_reals(at, value, Rest::Unit(None), &mut |_, y| {
                k += 1;
                Ok(number_like(y, k == j + 1))
            })?;
            let args = primals.iter().cloned().chain([unit]).collect();
            let cotangents = self.call_def(at, rule, instance.clone(), args)?;
            let changes = self.by_functions(at, &dual_point, &cotangents, e)?;
            let cotangents = self.reals_like(at, &point, &cotangents)?;
            let mut sum = self.inner(at, &cotangents.values, &tangents)?;
            for change in changes {
                sum = self.arith(at, BinOp::Add, &sum, &change)?;
            }
            result.push(sum);
        }
        Ok(result)
    }
}
