//! Derivatives that a definition carries itself: `derivative f(x; dx) = …` gives the tangent of
//! the result, `adjoint f(x; dy) = …` the cotangents of the arguments. Where both stand they say
//! the same; here the first is used.
//!
//! A rule applies where an argument varies. It does not where a function among the arguments has
//! captured something that varies, nor where the result holds a function, which may: a rule has no
//! tangent for that, so the definition itself is differentiated. Nor does it at an instance for
//! values that are no reals, whose tangents are not what the rule's types say. Higher derivatives differentiate the rule, as its arguments vary in turn.

use super::code::Code;
use super::dual::{Perturbation, number_like, split};
use super::failure::{At, Eval};
use super::leaves::{Rest, holds_function, latest};
use super::lift::kind;
use super::value::RtInstance;
use super::{Interp, RtType, Value};
use crate::base::GlobalName;
use crate::types::ty::Scalar;

/// The rule that a definition carries.
#[derive(Clone)]
pub(super) enum Rule {
    Derivative(GlobalName),
    Adjoint(GlobalName),
}

impl Interp<'_> {
    /// From here on, the derivative of this definition is that of its body, whatever rule stands
    /// beside it: to test the rule.
    pub fn ignore_rule(&mut self, def: &GlobalName) {
        self.elsewhere = None;
        self.rules.insert(def.clone(), None);
    }

    /// From here on, the derivative of this definition is by its adjoint rule alone, also where it
    /// has a derivative rule: to test the rule. Without an adjoint rule it is that of its body.
    pub fn prefer_adjoint(&mut self, def: &GlobalName) {
        self.elsewhere = None;
        let rule = self.written(def, "adjoint").map(Rule::Adjoint);
        self.rules.insert(def.clone(), rule);
    }

    fn rule(&mut self, def: &GlobalName) -> Option<Rule> {
        if let Some(known) = self.rules.get(def) {
            return known.clone();
        }
        let derivative = self.written(def, "derivative").map(Rule::Derivative);
        let rule = derivative.or_else(|| self.written(def, "adjoint").map(Rule::Adjoint));
        self.rules.insert(def.clone(), rule.clone());
        rule
    }

    /// The rule of this kind that stands beside the definition.
    fn written(&self, def: &GlobalName, kind: &str) -> Option<GlobalName> {
        let name = GlobalName::new(&def.module, &format!("{kind} {}", def.name));
        self.program.body(&name).map(|_| name)
    }

    /// The rule and the perturbation to use it for, if this call needs one.
    pub(super) fn applicable(
        &mut self,
        code: &Code,
        instance: &RtInstance,
        args: &[Value],
    ) -> Option<(Rule, Perturbation)> {
        let rule = self.rule(&code.item)?;
        // In a rule the tangent of an `a` is an `a`, which is so of reals alone.
        let real = |t: &RtType| matches!(t, RtType::Scalar(Scalar::F64 | Scalar::F32));
        if !instance.types.iter().all(real) {
            return None;
        }
        match latest(args) {
            (Some(e), captured) if captured < Some(e) => Some((rule, e)),
            _ => None,
        }
    }

    /// The value of a call of `def`, with the tangent that its rule gives; nothing if the value
    /// holds functions.
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
            tangents.push(self.tangent_part(at, arg, e)?);
        }
        let value = self.call_def(at, def, instance.clone(), primals.clone())?;
        if holds_function(&value) {
            return Ok(None);
        }
        let tangents = match rule {
            Rule::Derivative(rule) => {
                let args = primals.into_iter().chain(tangents).collect();
                let tangent = self.call_def(at, &rule, instance.clone(), args)?;
                self.reals_like(at, &value, &tangent)?.values
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

    /// The tangents of the reals of a result, by its adjoint rule: that of the j-th is the inner
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
            let cotangents = self.reals_like(at, &point, &cotangents)?;
            result.push(self.inner(at, &cotangents.values, &tangents)?);
        }
        Ok(result)
    }
}
