//! **Builtin functions** of the library, which are not written in Iverson.
//!
//! Sorting is stable: equal numbers keep their order, the two zeros are equal, and NaN comes after
//! every number.

use std::cmp::Ordering;

use super::Interp;
use super::array_builder::ArrayBuilder;
use super::broadcast::scalar_kind;
use lang_resolve::builtin::Builtin;
use lang_runtime::Value;
use lang_runtime::array::{Array, UnboxedElement};
use lang_runtime::dual::primal;
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::memory::MemoryCharge;
use lang_types::ty::Scalar;

/// The number of elements that are processed between two checks for an interrupt.
const POLL_CHUNK: usize = 1 << 20;

impl Interp<'_> {
    pub(super) fn call_builtin(&mut self, at: FailureSite<'_>, builtin: Builtin, args: Vec<Value>) -> InterpResult {
        match (builtin, args.as_slice()) {
            (Builtin::Len, [Value::Array(x)]) => {
                let n = x.dims().first().and_then(|n| i64::try_from(*n).ok());
                n.map(Value::I64).ok_or_else(|| at.internal_error("the array has no axis"))
            }
            (Builtin::Sort, [Value::Array(x)]) => self.sort(at, x, true),
            (Builtin::Argsort, [Value::Array(x)]) => self.sort(at, x, false),
            (Builtin::Filter, [p, Value::Array(x)]) => self.filter(at, p, x),
            _ => Err(at.internal_error("a builtin has the wrong arguments")),
        }
    }

    fn sort(&mut self, at: FailureSite<'_>, x: &Array, values: bool) -> InterpResult {
        if let Some(elements) = x.boxed_elements() {
            return self.sort_duals(at, x, elements, values);
        }
        match scalar_kind(&Value::Array(x.clone())) {
            Some(Scalar::F64) => self.sort_unboxed::<f64>(at, x, values, |a, b| compare_nan_last(*a, *b)),
            Some(Scalar::F32) => {
                self.sort_unboxed::<f32>(at, x, values, |a, b| compare_nan_last(f64::from(*a), f64::from(*b)))
            }
            Some(Scalar::I64) => self.sort_unboxed::<i64>(at, x, values, Ord::cmp),
            _ => Err(at.internal_error("the sorted elements are not numbers")),
        }
    }

    fn sort_unboxed<T: UnboxedElement>(
        &mut self,
        at: FailureSite<'_>,
        x: &Array,
        values: bool,
        order: impl Fn(&T, &T) -> Ordering,
    ) -> InterpResult {
        let from = x.slice::<T>().unwrap_or_default();
        let (mut pairs, _charge) = self.memory.vec_with_capacity(from.len()).map_err(|e| at.allocation_failure(&e))?;
        let mut numbered = 0i64..;
        for run in from.chunks(POLL_CHUNK) {
            self.poll_interrupt(at)?;
            pairs.extend(run.iter().zip(numbered.by_ref()).map(|(x, k)| (k, *x)));
        }
        let mut comparisons = 0;
        let compare = |a: &(i64, T), b: &(i64, T)| {
            comparisons += 1;
            order(&a.1, &b.1)
        };
        self.sort_pairs(at, &mut pairs, compare)?;
        if matches!(x.element(0), Some(Value::F64(_) | Value::F32(_))) {
            self.count_work(comparisons);
        }
        if values {
            let (mut out, charge) = self.memory.vec_with_capacity(from.len()).map_err(|e| at.allocation_failure(&e))?;
            for run in pairs.chunks(POLL_CHUNK) {
                self.poll_interrupt(at)?;
                out.extend(run.iter().map(|p| p.1));
            }
            self.make_array(at, Array::new(x.dims(), T::make_store(out), charge))
        } else {
            let (mut out, charge) = self.memory.vec_with_capacity(from.len()).map_err(|e| at.allocation_failure(&e))?;
            for run in pairs.chunks(POLL_CHUNK) {
                self.poll_interrupt(at)?;
                out.extend(run.iter().map(|p| p.0));
            }
            self.make_array(at, Array::new(x.dims(), i64::make_store(out), charge))
        }
    }

    /// Sorts stably. Long arrays are sorted in runs and then merged, so that an interrupt takes
    /// effect soon.
    fn sort_pairs<T: Copy>(
        &self,
        at: FailureSite<'_>,
        pairs: &mut Vec<T>,
        mut compare: impl FnMut(&T, &T) -> Ordering,
    ) -> InterpResult<()> {
        for run in pairs.chunks_mut(POLL_CHUNK) {
            self.poll_interrupt(at)?;
            run.sort_by(&mut compare);
        }
        let mut width = POLL_CHUNK;
        let beside = if width < pairs.len() { pairs.len() } else { 0 };
        let (mut merged, _charge) = self.memory.vec_with_capacity(beside).map_err(|e| at.allocation_failure(&e))?;
        while width < pairs.len() {
            for two in pairs.chunks(width.saturating_mul(2)) {
                let (left, right) = two.split_at(width.min(two.len()));
                let (mut left, mut right) = (left, right);
                while let ([x, rest @ ..], [y, others @ ..]) = (left, right) {
                    if merged.len() % POLL_CHUNK == 0 {
                        self.poll_interrupt(at)?;
                    }
                    let is_after = compare(x, y) == Ordering::Greater;
                    merged.push(if is_after { *y } else { *x });
                    (left, right) = if is_after { (left, others) } else { (rest, right) };
                }
                for run in left.chunks(POLL_CHUNK).chain(right.chunks(POLL_CHUNK)) {
                    self.poll_interrupt(at)?;
                    merged.extend_from_slice(run);
                }
            }
            std::mem::swap(pairs, &mut merged);
            merged.clear();
            width = width.saturating_mul(2);
        }
        Ok(())
    }

    /// Sorts dual numbers by their primals, stably.
    fn sort_duals(&mut self, at: FailureSite<'_>, x: &Array, elements: &[Value], values: bool) -> InterpResult {
        let mut primals = ArrayBuilder::new(elements.len());
        for x in elements {
            self.push_part(at, &mut primals, primal(x).clone())?;
        }
        if elements.is_empty() {
            let none = if values {
                Value::Array(x.clone())
            } else {
                self.make_array(at, Array::new(&[0], Vec::<i64>::new().into(), MemoryCharge::default()))?
            };
            return Ok(none);
        }
        let primals = primals
            .finish(x.dims())
            .ok_or_else(|| at.internal_error("the elements of an array have different kinds"))?;
        let order = self.sort(at, &primals, false)?;
        if !values {
            return Ok(order);
        }
        let mut sorted = ArrayBuilder::new(elements.len());
        for i in order.as_array().and_then(Array::i64s).unwrap_or_default() {
            let x = usize::try_from(*i).ok().and_then(|i| elements.get(i));
            self.push_part(at, &mut sorted, x.ok_or_else(|| at.internal_error("an element is missing"))?.clone())?;
        }
        self.make_array(at, sorted.finish(x.dims()))
    }

    fn filter(&mut self, at: FailureSite<'_>, p: &Value, x: &Array) -> InterpResult {
        let Some((n, part)) = x.dims().split_first() else { return Err(at.internal_error("the array has no axis")) };
        let size: usize = part.iter().product();
        let mut builder = ArrayBuilder::new(0);
        for i in 0..*n {
            self.begin_iteration(at)?;
            let element = x.index_leading(1, i * size, &self.memory).map_err(|e| at.allocation_failure(&e))?;
            let element = element.ok_or_else(|| at.internal_error("an element is missing"))?;
            self.count_test();
            let keep = self.apply(at, p, vec![element.clone()])?;
            if keep.as_bool().ok_or_else(|| at.internal_error("a condition is not a bool"))? {
                self.push_part(at, &mut builder, element)?;
            }
        }
        match builder.part_count() {
            0 => {
                let dims: Vec<usize> = std::iter::once(0).chain(part.iter().copied()).collect();
                Ok(Value::Array(x.view(0, &dims)))
            }
            k => self.make_array(at, builder.finish(&[k])),
        }
    }
}

/// Compares ascending, NaN last.
fn compare_nan_last(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
