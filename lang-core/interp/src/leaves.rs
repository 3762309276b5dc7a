//! **Flattening.** Reads the reals inside a value in a fixed order, as the coordinates of a vector,
//! and builds values from such vectors. The derivative operators and rules use it.
//!
//! The order is row-major in arrays, and by position in tuples, records and constructors. Integers,
//! truth values, text, relations and functions have no coordinates. Programs determine how deep
//! values of recursive types are, so the walks over them use worklists.

use std::sync::Arc;

use super::Interp;
use super::build::Builder;
use lang_base::Code as ErrorCode;
use lang_runtime::Value;
use lang_runtime::array::{Array, Elem, Store};
use lang_runtime::dual::{Perturbation, perturbation, primal, split};
use lang_runtime::failure::{At, Eval};
use lang_runtime::memory::Charge;
use lang_runtime::value::Fun;

/// The treatment of the parts that are not real when the reals of a value are replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// They stay unchanged.
    Stays,
    /// They stay, but the walk also enters the captures of functions.
    Closures,
    /// As `Closures`, and the walk visits every real, also in arrays without dual numbers.
    Captured,
    /// They become `()`, as in the types of tangents. Inside constructors, whose type has no room
    /// for that, they stay; functions there lose this perturbation.
    Unit(Option<Perturbation>),
}

/// Coordinates, charged to the run.
#[derive(Default)]
pub(super) struct Reals {
    pub(super) values: Vec<Value>,
    charge: Charge,
}

/// A pending step of a walk that builds a value.
enum Step<'v> {
    /// Enter this value; the flag is true inside a constructor.
    Visit(&'v Value, bool),
    /// Build this value from its finished parts; the flag is true inside a constructor.
    Build(&'v Value, bool),
}

/// Returns the captures of a function value.
fn captured(f: &Fun) -> &[Value] {
    match f {
        Fun::Lambda { captured, .. } => captured.values(),
        Fun::Derived(d) => d.function.values(),
        Fun::Tangent(parts) => parts.values(),
        Fun::Def(..) | Fun::Builtin(_) | Fun::Scalar(_) | Fun::Ctor(_) => &[],
    }
}

/// Returns the components of a value, except the captures of functions.
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
    /// Appends a real, with memory charged to the run.
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

    /// Returns the reals of a value.
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

    /// Returns the reals of `other`, a tangent or cotangent of `like`, in the order of those of
    /// `like`. Fails with E0501 if constructors or extents differ.
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
                    // One buffer holds reals, the other dual numbers.
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

    /// Rebuilds a value with other reals, which `new` computes from each in order.
    pub(super) fn map_reals(
        &mut self,
        at: At<'_>,
        value: &Value,
        rest: Rest,
        new: &mut dyn FnMut(&mut Self, &Value) -> Eval,
    ) -> Eval {
        self.map_reals_within(at, value, rest, false, new)
    }

    /// As [`Self::map_reals`] for a part. `inside` is true inside a constructor.
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

    /// Rebuilds an array with other reals. Its elements are scalars, dual numbers, or tuples or
    /// records of scalars.
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
            // Unboxed arrays hold no dual numbers.
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

    /// Builds a value of the same kind as `v` from new parts.
    fn rebuild(&self, at: At<'_>, v: &Value, parts: Vec<Value>, inside: bool, rest: Rest) -> Eval {
        match v {
            Value::Tuple(_) => self.make_tuple(at, parts),
            Value::Record(r) => self.make_record(at, r.names.clone(), parts),
            Value::Data(c) => self.make_data(at, c.tag.clone(), parts),
            Value::Array(a) if a.count() == 0 => Ok(v.clone()),
            // If the elements have no tangent, the array has none either.
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

    /// Removes all perturbations from a value, for `stop`.
    pub(super) fn constant(&mut self, at: At<'_>, value: &Value) -> Eval {
        self.map_reals(at, value, Rest::Closures, &mut |_, x| Ok(primal(x).clone()))
    }

    /// Removes this perturbation from a value.
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

/// Returns the replacement of a part without reals.
fn discrete(v: &Value, rest: Rest, inside: bool) -> Value {
    if matches!(rest, Rest::Unit(_)) && !inside { Value::unit() } else { v.clone() }
}

/// Returns the latest perturbation among the reals of these values, including the captures of
/// functions in them.
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

/// Returns whether the value contains a function.
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
