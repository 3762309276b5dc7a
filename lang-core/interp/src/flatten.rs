//! **Flattening.** Reads the reals inside a value in a fixed order, as the coordinates of a vector,
//! and builds values from such vectors. The derivative operators and rules use it.
//!
//! The order is row-major in arrays, and by position in tuples, records and constructors. Integers,
//! truth values, text, relations and functions have no coordinates. Programs determine how deep
//! values of recursive types are, so the walks over them use worklists.

use std::sync::Arc;

use super::Interp;
use super::array_builder::ArrayBuilder;
use lang_base::Code as ErrorCode;
use lang_runtime::Value;
use lang_runtime::array::{Array, Store, UnboxedElement};
use lang_runtime::dual::{Perturbation, perturbation_of, primal, primal_and_tangent};
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::memory::MemoryCharge;
use lang_runtime::value::FunctionValue;

/// The treatment of the parts that are not real when the reals of a value are replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NonRealPolicy {
    /// They stay unchanged.
    Keep,
    /// They stay, but the walk also enters the captures of functions.
    EnterCaptures,
    /// As `EnterCaptures`, and the walk visits every real, also in arrays without dual numbers.
    VisitEveryReal,
    /// They become `()`, as in the types of tangents. Inside constructors, whose type has no room
    /// for that, they stay; functions there lose this perturbation.
    Unit(Option<Perturbation>),
}

/// Coordinates, charged to the run.
#[derive(Default)]
pub(super) struct Coordinates {
    pub(super) values: Vec<Value>,
    charge: MemoryCharge,
}

/// A pending step of a walk that builds a value.
enum RebuildStep<'v> {
    /// Enter this value; the flag is true inside a constructor.
    Visit(&'v Value, bool),
    /// Build this value from its finished parts; the flag is true inside a constructor.
    Build(&'v Value, bool),
}

/// Returns the captures of a function value.
fn captured_values(f: &FunctionValue) -> &[Value] {
    match f {
        FunctionValue::Lambda { captured, .. } => captured.values(),
        FunctionValue::Derived(d) => d.function.values(),
        FunctionValue::Tangent(parts) => parts.values(),
        FunctionValue::Def(..) | FunctionValue::Builtin(_) | FunctionValue::Scalar(_) | FunctionValue::Ctor(_) => &[],
    }
}

/// Returns the components of a value, except the captures of functions.
fn component_values(value: &Value) -> &[Value] {
    match value {
        Value::Array(a) => a.boxed_elements().unwrap_or_default(),
        Value::Tuple(t) => t.values(),
        Value::Record(r) => r.values(),
        Value::Data(c) => c.args(),
        _ => &[],
    }
}

impl Interp<'_> {
    /// Appends a real, with memory charged to the run.
    pub(super) fn push_real(&self, at: FailureSite<'_>, to: &mut Coordinates, x: Value) -> InterpResult<()> {
        if to.values.len() == to.values.capacity() {
            let capacity = self.memory.grown_capacity(to.values.len(), 1);
            self.memory.grow_vec(&mut to.values, &mut to.charge, capacity).map_err(|e| at.allocation_failure(&e))?;
        }
        to.values.push(x);
        Ok(())
    }

    fn push_reals<T: UnboxedElement>(
        &self,
        at: FailureSite<'_>,
        to: &mut Coordinates,
        array: &Array,
    ) -> InterpResult<()> {
        array.slice::<T>().unwrap_or_default().iter().try_for_each(|x| self.push_real(at, to, x.value()))
    }

    /// Returns the reals of a value.
    pub(super) fn collect_reals(&self, at: FailureSite<'_>, value: &Value) -> InterpResult<Coordinates> {
        let mut reals = Coordinates::default();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::F64(_) | Value::F32(_) | Value::Dual(_) => self.push_real(at, &mut reals, value.clone())?,
                Value::Array(a) if matches!(a.store(), Store::F64(_)) => self.push_reals::<f64>(at, &mut reals, a)?,
                Value::Array(a) if matches!(a.store(), Store::F32(_)) => self.push_reals::<f32>(at, &mut reals, a)?,
                Value::Array(a) if a.form().is_some() => {
                    let columns = a.all_columns();
                    for i in 0..a.count() {
                        let reals_at = columns.iter().filter(|c| c.f64s().is_some() || c.f32s().is_some());
                        for x in reals_at.filter_map(|c| c.element(i)) {
                            self.push_real(at, &mut reals, x)?;
                        }
                    }
                }
                _ => open.extend(component_values(value).iter().rev()),
            }
        }
        Ok(reals)
    }

    /// Returns the reals of `other`, a tangent or cotangent of `like`, in the order of those of
    /// `like`. Fails with E0501 if constructors or extents differ.
    pub(super) fn collect_reals_like(
        &self,
        at: FailureSite<'_>,
        like: &Value,
        other: &Value,
    ) -> InterpResult<Coordinates> {
        let mut reals = Coordinates::default();
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
                        for x in self.collect_reals_like(at, &a, &b)?.values {
                            self.push_real(at, &mut reals, x)?;
                        }
                    }
                }
                (Value::Array(a), Value::Array(b)) => match (a.boxed_elements(), b.boxed_elements()) {
                    (Some(a), Some(b)) => open.extend(a.iter().zip(b).rev()),
                    // One buffer holds reals, the other dual numbers.
                    _ if matches!(a.store(), Store::F64(_) | Store::F32(_) | Store::Boxed(_)) => {
                        for i in 0..b.count() {
                            let x = b.element(i).ok_or_else(|| at.internal_error("an element is missing"))?;
                            self.push_real(at, &mut reals, x)?;
                        }
                    }
                    _ => {}
                },
                (Value::Record(a), Value::Record(b)) => {
                    let mut pairs = Vec::with_capacity(a.values().len());
                    for (i, (name, v)) in a.names().iter().zip(a.values()).enumerate() {
                        let w = b.position(name, i).and_then(|k| b.values().get(k));
                        pairs.push((v, w.ok_or_else(|| at.internal_error("a tangent lacks a field"))?));
                    }
                    open.extend(pairs.into_iter().rev());
                }
                (Value::Data(a), Value::Data(b)) if a.tag() != b.tag() => {
                    let (a, b) = (&a.tag().name, &b.tag().name);
                    let message =
                        format!("a tangent with constructor `{b}` does not fit a value with constructor `{a}`");
                    return Err(at.fail(ErrorCode::E0501, message));
                }
                (Value::Tuple(_), Value::Tuple(_)) | (Value::Data(_), Value::Data(_)) => {
                    open.extend(component_values(like).iter().zip(component_values(other)).rev());
                }
                _ => {}
            }
        }
        Ok(reals)
    }

    /// Rebuilds a value with other reals, which `new` computes from each in order.
    pub(super) fn map_reals(
        &mut self,
        at: FailureSite<'_>,
        value: &Value,
        rest: NonRealPolicy,
        new: &mut dyn FnMut(&mut Self, &Value) -> InterpResult,
    ) -> InterpResult {
        self.map_reals_in_part(at, value, rest, false, new)
    }

    /// As [`Self::map_reals`] for a part. `inside` is true inside a constructor.
    fn map_reals_in_part(
        &mut self,
        at: FailureSite<'_>,
        value: &Value,
        rest: NonRealPolicy,
        inside: bool,
        new: &mut dyn FnMut(&mut Self, &Value) -> InterpResult,
    ) -> InterpResult {
        let mut done: Vec<Value> = Vec::new();
        let mut steps = vec![RebuildStep::Visit(value, inside)];
        while let Some(step) = steps.pop() {
            match step {
                RebuildStep::Visit(v @ (Value::F64(_) | Value::F32(_) | Value::Dual(_)), _) => done.push(new(self, v)?),
                RebuildStep::Visit(Value::Array(a), inside)
                    if a.boxed_elements().is_none_or(|e| e.iter().all(is_real)) =>
                {
                    done.push(self.map_array_reals(at, a, rest, inside, new)?);
                }
                RebuildStep::Visit(v @ Value::Fun(f), inside) => match rest {
                    NonRealPolicy::EnterCaptures | NonRealPolicy::VisitEveryReal => {
                        steps.push(RebuildStep::Build(v, inside));
                        steps.extend(captured_values(f).iter().rev().map(|v| RebuildStep::Visit(v, inside)));
                    }
                    NonRealPolicy::Unit(Some(e)) if inside => done.push(self.extract_primal(at, v, e)?),
                    _ => done.push(replace_non_real(v, rest, inside)),
                },
                RebuildStep::Visit(
                    v @ (Value::Array(_) | Value::Tuple(_) | Value::Record(_) | Value::Data(_)),
                    inside,
                ) => {
                    let inside = inside || matches!(v, Value::Data(_));
                    steps.push(RebuildStep::Build(v, inside));
                    steps.extend(component_values(v).iter().rev().map(|v| RebuildStep::Visit(v, inside)));
                }
                RebuildStep::Visit(v, inside) => done.push(replace_non_real(v, rest, inside)),
                RebuildStep::Build(v, inside) => {
                    let count =
                        if let Value::Fun(f) = v { captured_values(f).len() } else { component_values(v).len() };
                    let built = done.split_off(done.len().saturating_sub(count));
                    done.push(self.rebuild(at, v, built, inside, rest)?);
                }
            }
        }
        done.pop().ok_or_else(|| at.internal_error("the walk built no value"))
    }

    /// Rebuilds an array with other reals. Its elements are scalars, dual numbers, or tuples or
    /// records of scalars.
    fn map_array_reals(
        &mut self,
        at: FailureSite<'_>,
        a: &Array,
        rest: NonRealPolicy,
        inside: bool,
        new: &mut dyn FnMut(&mut Self, &Value) -> InterpResult,
    ) -> InterpResult {
        let whole = Value::Array(a.clone());
        match a.store() {
            // Unboxed arrays hold no dual numbers.
            Store::F64(_) | Store::F32(_) | Store::Columns(_) if rest == NonRealPolicy::EnterCaptures => Ok(whole),
            Store::F64(_) | Store::F32(_) | Store::Columns(_) | Store::Boxed(_) if a.count() == 0 => Ok(whole),
            Store::Columns(_) => {
                let mut builder = ArrayBuilder::new(a.count());
                for i in 0..a.count() {
                    let x = a.element(i).ok_or_else(|| at.internal_error("an element is missing"))?;
                    let x = self.map_reals_in_part(at, &x, rest, inside, new)?;
                    if matches!(rest, NonRealPolicy::Unit(_)) && !inside && is_unit(&x) {
                        return Ok(x);
                    }
                    self.push_part(at, &mut builder, x)?;
                }
                self.make_array(at, builder.finish(a.dims()))
            }
            Store::F64(_) | Store::F32(_) | Store::Boxed(_) => {
                let mut builder = ArrayBuilder::new(a.count());
                for i in 0..a.count() {
                    let x = a.element(i).ok_or_else(|| at.internal_error("an element is missing"))?;
                    let x = new(self, &x)?;
                    self.push_part(at, &mut builder, x)?;
                }
                self.make_array(at, builder.finish(a.dims()))
            }
            Store::I64(_) | Store::Bool(_) => Ok(replace_non_real(&whole, rest, inside)),
        }
    }

    /// Builds a value of the same kind as `v` from new parts.
    fn rebuild(
        &self,
        at: FailureSite<'_>,
        v: &Value,
        parts: Vec<Value>,
        inside: bool,
        rest: NonRealPolicy,
    ) -> InterpResult {
        match v {
            Value::Tuple(_) => self.make_tuple(at, parts),
            Value::Record(r) => self.make_record(at, r.names.clone(), parts),
            Value::Data(c) => self.make_data(at, c.tag.clone(), parts),
            Value::Array(a) if a.count() == 0 => Ok(v.clone()),
            // If the elements have no tangent, the array has none either.
            Value::Array(_)
                if matches!(rest, NonRealPolicy::Unit(_)) && !inside && parts.first().is_some_and(is_unit) =>
            {
                Ok(Value::unit())
            }
            Value::Array(a) => {
                let mut builder = ArrayBuilder::new(parts.len());
                parts.into_iter().try_for_each(|p| self.push_part(at, &mut builder, p))?;
                self.make_array(at, builder.finish(a.dims()))
            }
            Value::Fun(f) => Ok(Value::Fun(Arc::new(match &**f {
                FunctionValue::Lambda { code, node, types, .. } => FunctionValue::Lambda {
                    code: code.clone(),
                    node: *node,
                    captured: self.make_components(at, parts)?,
                    types: types.clone(),
                },
                FunctionValue::Derived(d) => {
                    FunctionValue::Derived(Box::new(d.with_function(self.make_components(at, parts)?)))
                }
                FunctionValue::Tangent(_) => FunctionValue::Tangent(self.make_components(at, parts)?),
                FunctionValue::Def(..)
                | FunctionValue::Builtin(_)
                | FunctionValue::Scalar(_)
                | FunctionValue::Ctor(_) => return Ok(v.clone()),
            }))),
            _ => Ok(v.clone()),
        }
    }

    /// Removes all perturbations from a value, for `stop`.
    pub(super) fn strip_perturbations(&mut self, at: FailureSite<'_>, value: &Value) -> InterpResult {
        self.map_reals(at, value, NonRealPolicy::EnterCaptures, &mut |_, x| Ok(primal(x).clone()))
    }

    /// Removes this perturbation from a value.
    pub(super) fn extract_primal(&mut self, at: FailureSite<'_>, value: &Value, e: Perturbation) -> InterpResult {
        self.map_reals(at, value, NonRealPolicy::EnterCaptures, &mut |_, x| Ok(primal_and_tangent(x, e).0.clone()))
    }
}

fn is_unit(v: &Value) -> bool {
    matches!(v, Value::Tuple(t) if t.values().is_empty())
}

fn is_real(v: &Value) -> bool {
    matches!(v, Value::F64(_) | Value::F32(_) | Value::Dual(_))
}

/// Returns the replacement of a part without reals.
fn replace_non_real(v: &Value, rest: NonRealPolicy, inside: bool) -> Value {
    if matches!(rest, NonRealPolicy::Unit(_)) && !inside { Value::unit() } else { v.clone() }
}

/// Returns the latest perturbation among the reals of these values, including the captures of
/// functions in them.
pub(super) fn latest_perturbation(values: &[Value]) -> Option<Perturbation> {
    let mut latest = None;
    let mut open: Vec<&Value> = values.iter().collect();
    while let Some(v) = open.pop() {
        match v {
            Value::Dual(_) => latest = latest.max(perturbation_of(v)),
            Value::Fun(f) => open.extend(captured_values(f)),
            _ => open.extend(component_values(v)),
        }
    }
    latest
}

/// Returns whether the value contains a function.
pub(super) fn contains_function(value: &Value) -> bool {
    let mut open = vec![value];
    while let Some(v) = open.pop() {
        if let Value::Fun(_) = v {
            return true;
        }
        open.extend(component_values(v));
    }
    false
}
