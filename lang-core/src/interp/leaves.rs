//! The reals inside a value, in one order: a value as a vector of a linear space, and back.
//!
//! That order is row-major in arrays, by position in tuples and records and constructors. What
//! is not real (integers, truth values, text, relations, functions) has no coordinates. Values
//! of recursive types are as deep as programs make them, so nothing here recurses.

use std::sync::Arc;

use super::array::{Array, Elem, Store};
use super::build::Builder;
use super::dual::{Perturbation, perturbation, primal, split};
use super::failure::{At, Eval};
use super::memory::Charge;
use super::value::Fun;
use super::{Interp, Value};
use crate::base::Code as ErrorCode;

/// What becomes of what is not real when the reals of a value are replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// It stays as it is.
    Stays,
    /// It stays, but what functions have captured is walked through too.
    Closures,
    /// The same, and every real is walked through, those of arrays without dual numbers too.
    Captured,
    /// It becomes `()`, as in the types of tangents. Inside constructors, whose type has no room for
    /// that, it stays, but functions there keep nothing of this perturbation.
    Unit(Option<Perturbation>),
}

/// Coordinates, charged to the run.
#[derive(Default)]
pub(super) struct Reals {
    pub(super) values: Vec<Value>,
    charge: Charge,
}

/// What is left to do of a walk that builds.
enum Step<'v> {
    /// Go into this value; is it inside a constructor?
    Visit(&'v Value, bool),
    /// Put the parts of this value together.
    Build(&'v Value, bool),
}

/// What a function value has captured.
fn captured(f: &Fun) -> &[Value] {
    match f {
        Fun::Lambda { captured, .. } => captured.values(),
        Fun::Derived(d) => d.function.values(),
        Fun::Tangent(parts) => parts.values(),
        Fun::Def(..) | Fun::Builtin(_) | Fun::Scalar(_) | Fun::Ctor(_) => &[],
    }
}

/// The values that this one consists of, functions left out.
fn parts(value: &Value) -> &[Value] {
    match value {
        Value::Array(a) => a.boxed().unwrap_or_default(),
        Value::Tuple(t) => t.values(),
        Value::Record(r) => r.values(),
        Value::Data(c) => c.args(),
        _ => &[],
    }
}

impl Interp<'_> {
    /// Room for one real more.
    pub(super) fn push_real(&self, at: At<'_>, to: &mut Reals, x: Value) -> Eval<()> {
        if to.values.len() == to.values.capacity() {
            let capacity = self.memory.capacity(to.values.len(), 1);
            self.memory.grow(&mut to.values, &mut to.charge, capacity).map_err(|e| at.too_large(&e))?;
        }
        to.values.push(x);
        Ok(())
    }

    fn push_all<T: Elem>(&self, at: At<'_>, to: &mut Reals, array: &Array) -> Eval<()> {
        array.slice::<T>().unwrap_or_default().iter().try_for_each(|x| self.push_real(at, to, x.value()))
    }

    /// The reals of a value.
    pub(super) fn reals(&self, at: At<'_>, value: &Value) -> Eval<Reals> {
        let mut reals = Reals::default();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::F64(_) | Value::F32(_) | Value::Dual(_) => self.push_real(at, &mut reals, value.clone())?,
                Value::Array(a) if matches!(a.store(), Store::F64(_)) => self.push_all::<f64>(at, &mut reals, a)?,
                Value::Array(a) if matches!(a.store(), Store::F32(_)) => self.push_all::<f32>(at, &mut reals, a)?,
                Value::Array(a) if a.form().is_some() => {
                    let columns = a.all_columns();
                    for i in 0..a.count() {
                        let reals_at = columns.iter().filter(|c| c.f64s().is_some() || c.f32s().is_some());
                        for x in reals_at.filter_map(|c| c.element(i)) {
                            self.push_real(at, &mut reals, x)?;
                        }
                    }
                }
                _ => open.extend(parts(value).iter().rev()),
            }
        }
        Ok(reals)
    }

    /// The reals of `other` in the order of those of `like`, whose shape it has: a tangent or a
    /// cotangent of it. Fails where constructors or extents within them differ.
    pub(super) fn reals_like(&self, at: At<'_>, like: &Value, other: &Value) -> Eval<Reals> {
        let mut reals = Reals::default();
        let mut open = vec![(like, other)];
        while let Some((like, other)) = open.pop() {
            match (like, other) {
                (Value::F64(_) | Value::F32(_) | Value::Dual(_), x) => self.push_real(at, &mut reals, x.clone())?,
                (Value::Array(a), Value::Array(b)) if a.dims() != b.dims() => {
                    let message =
                        format!("a tangent of shape {:?} does not fit a value of shape {:?}", b.dims(), a.dims());
                    return Err(at.fail(ErrorCode::E0501, message));
                }
                (Value::Array(a), Value::Array(b)) if a.form().is_some() || b.form().is_some() => {
                    for (a, b) in (0..a.count()).filter_map(|i| Some((a.element(i)?, b.element(i)?))) {
                        for x in self.reals_like(at, &a, &b)?.values {
                            self.push_real(at, &mut reals, x)?;
                        }
                    }
                }
                (Value::Array(a), Value::Array(b)) => match (a.boxed(), b.boxed()) {
                    (Some(a), Some(b)) => open.extend(a.iter().zip(b).rev()),
                    // Reals in one buffer and dual numbers in the other.
                    _ if matches!(a.store(), Store::F64(_) | Store::F32(_) | Store::Boxed(_)) => {
                        for i in 0..b.count() {
                            let x = b.element(i).ok_or_else(|| at.internal("an element is missing"))?;
                            self.push_real(at, &mut reals, x)?;
                        }
                    }
                    _ => {}
                },
                (Value::Record(a), Value::Record(b)) => {
                    let mut pairs = Vec::with_capacity(a.values().len());
                    for (i, (name, v)) in a.names().iter().zip(a.values()).enumerate() {
                        let w = b.position(name, i).and_then(|k| b.values().get(k));
                        pairs.push((v, w.ok_or_else(|| at.internal("a tangent lacks a field"))?));
                    }
                    open.extend(pairs.into_iter().rev());
                }
                (Value::Data(a), Value::Data(b)) if a.tag() != b.tag() => {
                    let (a, b) = (&a.tag().name, &b.tag().name);
                    let message = format!("a tangent made with `{b}` does not fit a value made with `{a}`");
                    return Err(at.fail(ErrorCode::E0501, message));
                }
                (Value::Tuple(_), Value::Tuple(_)) | (Value::Data(_), Value::Data(_)) => {
                    open.extend(parts(like).iter().zip(parts(other)).rev());
                }
                _ => {}
            }
        }
        Ok(reals)
    }

    /// The value with other reals, made by `new` from each in order.
    pub(super) fn map_reals(
        &mut self,
        at: At<'_>,
        value: &Value,
        rest: Rest,
        new: &mut dyn FnMut(&mut Self, &Value) -> Eval,
    ) -> Eval {
        self.map_reals_within(at, value, rest, false, new)
    }

    /// The same of a part; is it inside a constructor?
    fn map_reals_within(
        &mut self,
        at: At<'_>,
        value: &Value,
        rest: Rest,
        inside: bool,
        new: &mut dyn FnMut(&mut Self, &Value) -> Eval,
    ) -> Eval {
        let mut done: Vec<Value> = Vec::new();
        let mut steps = vec![Step::Visit(value, inside)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Visit(v @ (Value::F64(_) | Value::F32(_) | Value::Dual(_)), _) => done.push(new(self, v)?),
                Step::Visit(Value::Array(a), inside) if a.boxed().is_none_or(|e| e.iter().all(is_real)) => {
                    done.push(self.map_elements(at, a, rest, inside, new)?);
                }
                Step::Visit(v @ Value::Fun(f), inside) => match rest {
                    Rest::Closures | Rest::Captured => {
                        steps.push(Step::Build(v, inside));
                        steps.extend(captured(f).iter().rev().map(|v| Step::Visit(v, inside)));
                    }
                    Rest::Unit(Some(e)) if inside => done.push(self.primal_part(at, v, e)?),
                    _ => done.push(discrete(v, rest, inside)),
                },
                Step::Visit(v @ (Value::Array(_) | Value::Tuple(_) | Value::Record(_) | Value::Data(_)), inside) => {
                    let inside = inside || matches!(v, Value::Data(_));
                    steps.push(Step::Build(v, inside));
                    steps.extend(parts(v).iter().rev().map(|v| Step::Visit(v, inside)));
                }
                Step::Visit(v, inside) => done.push(discrete(v, rest, inside)),
                Step::Build(v, inside) => {
                    let count = if let Value::Fun(f) = v { captured(f).len() } else { parts(v).len() };
                    let built = done.split_off(done.len().saturating_sub(count));
                    done.push(self.rebuild(at, v, built, inside, rest)?);
                }
            }
        }
        done.pop().ok_or_else(|| at.internal("nothing was built"))
    }

    /// An array of numbers, dual ones too, of truth values, or of tuples or records of such, with other reals.
    fn map_elements(
        &mut self,
        at: At<'_>,
        a: &Array,
        rest: Rest,
        inside: bool,
        new: &mut dyn FnMut(&mut Self, &Value) -> Eval,
    ) -> Eval {
        let whole = Value::Array(a.clone());
        match a.store() {
            // Nothing in it is dual.
            Store::F64(_) | Store::F32(_) | Store::Columns(_) if rest == Rest::Closures => Ok(whole),
            Store::F64(_) | Store::F32(_) | Store::Columns(_) | Store::Boxed(_) if a.count() == 0 => Ok(whole),
            Store::Columns(_) => {
                let mut builder = Builder::new(a.count());
                for i in 0..a.count() {
                    let x = a.element(i).ok_or_else(|| at.internal("an element is missing"))?;
                    let x = self.map_reals_within(at, &x, rest, inside, new)?;
                    if matches!(rest, Rest::Unit(_)) && !inside && is_unit(&x) {
                        return Ok(x);
                    }
                    self.push(at, &mut builder, x)?;
                }
                self.array(at, builder.finish(a.dims()))
            }
            Store::F64(_) | Store::F32(_) | Store::Boxed(_) => {
                let mut builder = Builder::new(a.count());
                for i in 0..a.count() {
                    let x = a.element(i).ok_or_else(|| at.internal("an element is missing"))?;
                    let x = new(self, &x)?;
                    self.push(at, &mut builder, x)?;
                }
                self.array(at, builder.finish(a.dims()))
            }
            Store::I64(_) | Store::Bool(_) => Ok(discrete(&whole, rest, inside)),
        }
    }

    /// A value like `v` of these parts.
    fn rebuild(&self, at: At<'_>, v: &Value, parts: Vec<Value>, inside: bool, rest: Rest) -> Eval {
        match v {
            Value::Tuple(_) => self.make_tuple(at, parts),
            Value::Record(r) => self.make_record(at, r.names.clone(), parts),
            Value::Data(c) => self.make_data(at, c.tag.clone(), parts),
            Value::Array(a) if a.count() == 0 => Ok(v.clone()),
            // Elements that have no tangent: neither has the array.
            Value::Array(_) if matches!(rest, Rest::Unit(_)) && !inside && parts.first().is_some_and(is_unit) => {
                Ok(Value::unit())
            }
            Value::Array(a) => {
                let mut builder = Builder::new(parts.len());
                parts.into_iter().try_for_each(|p| self.push(at, &mut builder, p))?;
                self.array(at, builder.finish(a.dims()))
            }
            Value::Fun(f) => Ok(Value::Fun(Arc::new(match &**f {
                Fun::Lambda { code, node, types, .. } => Fun::Lambda {
                    code: code.clone(),
                    node: *node,
                    captured: self.items(at, parts)?,
                    types: types.clone(),
                },
                Fun::Derived(d) => Fun::Derived(Box::new(d.of(self.items(at, parts)?))),
                Fun::Tangent(_) => Fun::Tangent(self.items(at, parts)?),
                Fun::Def(..) | Fun::Builtin(_) | Fun::Scalar(_) | Fun::Ctor(_) => return Ok(v.clone()),
            }))),
            _ => Ok(v.clone()),
        }
    }

    /// The value as it is without any perturbation: what `stop` gives, and what is shown.
    pub(super) fn constant(&mut self, at: At<'_>, value: &Value) -> Eval {
        self.map_reals(at, value, Rest::Closures, &mut |_, x| Ok(primal(x).clone()))
    }

    /// The value as it is without this perturbation.
    pub(super) fn primal_part(&mut self, at: At<'_>, value: &Value, e: Perturbation) -> Eval {
        self.map_reals(at, value, Rest::Closures, &mut |_, x| Ok(split(x, e).0.clone()))
    }
}

fn is_unit(v: &Value) -> bool {
    matches!(v, Value::Tuple(t) if t.values().is_empty())
}

fn is_real(v: &Value) -> bool {
    matches!(v, Value::F64(_) | Value::F32(_) | Value::Dual(_))
}

/// What becomes of something without reals.
fn discrete(v: &Value, rest: Rest, inside: bool) -> Value {
    if matches!(rest, Rest::Unit(_)) && !inside { Value::unit() } else { v.clone() }
}

/// The latest perturbation among the reals of these values, and among those that functions in
/// them have captured.
pub(super) fn latest(values: &[Value]) -> Option<Perturbation> {
    let mut latest = None;
    let mut open: Vec<&Value> = values.iter().collect();
    while let Some(v) = open.pop() {
        match v {
            Value::Dual(_) => latest = latest.max(perturbation(v)),
            Value::Fun(f) => open.extend(captured(f)),
            _ => open.extend(parts(v)),
        }
    }
    latest
}

/// Is there a function in the value?
pub(super) fn holds_function(value: &Value) -> bool {
    let mut open = vec![value];
    while let Some(v) = open.pop() {
        if let Value::Fun(_) = v {
            return true;
        }
        open.extend(parts(v));
    }
    false
}
