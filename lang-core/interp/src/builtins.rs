//! **Builtin functions** of the library, which are not written in Iverson.
//!
//! Sorting is stable: equal numbers keep their order, the two zeros are equal, and NaN comes after
//! every number.

use std::cmp::Ordering;

use super::Interp;
use super::build::Builder;
use super::lift::kind;
use lang_resolve::builtin::Builtin;
use lang_runtime::Value;
use lang_runtime::array::{Array, Elem};
use lang_runtime::dual::primal;
use lang_runtime::failure::{At, Eval};
use lang_runtime::memory::Charge;
use lang_types::ty::Scalar;

/// The number of elements that are processed between two checks for an interrupt.
const RUN: usize = 1 << 20;

impl Interp<'_> {
    pub(super) fn call_builtin(&mut self, at: At<'_>, builtin: Builtin, args: Vec<Value>) -> Eval {
        match (builtin, args.as_slice()) {
            (Builtin::Len, [Value::Array(x)]) => {
                let n = x.dims().first().and_then(|n| i64::try_from(*n).ok());
                n.map(Value::I64).ok_or_else(|| at.internal("no axis"))
            }
            (Builtin::Sort, [Value::Array(x)]) => self.sort(at, x, true),
            (Builtin::Argsort, [Value::Array(x)]) => self.sort(at, x, false),
            (Builtin::Filter, [p, Value::Array(x)]) => self.filter(at, p, x),
            _ => Err(at.internal("a builtin does not take these arguments")),
        }
    }

    fn sort(&mut self, at: At<'_>, x: &Array, values: bool) -> Eval {
        if let Some(elements) = x.boxed() {
            return self.sort_duals(at, x, elements, values);
        }
        match kind(&Value::Array(x.clone())) {
            Some(Scalar::F64) => self.sorted::<f64>(at, x, values, |a, b| order(*a, *b)),
            Some(Scalar::F32) => self.sorted::<f32>(at, x, values, |a, b| order(f64::from(*a), f64::from(*b))),
            Some(Scalar::I64) => self.sorted::<i64>(at, x, values, Ord::cmp),
            _ => Err(at.internal("what is sorted are no numbers")),
        }
    }

    fn sorted<T: Elem>(&mut self, at: At<'_>, x: &Array, values: bool, order: impl Fn(&T, &T) -> Ordering) -> Eval {
        let from = x.slice::<T>().unwrap_or_default();
        let (mut pairs, _charge) = self.memory.vec(from.len()).map_err(|e| at.too_large(&e))?;
        let mut numbered = 0i64..;
        for run in from.chunks(RUN) {
            self.poll(at)?;
            pairs.extend(run.iter().zip(numbered.by_ref()).map(|(x, k)| (k, *x)));
        }
        let mut comparisons = 0;
        let compare = |a: &(i64, T), b: &(i64, T)| {
            comparisons += 1;
            order(&a.1, &b.1)
        };
        self.sort_pairs(at, &mut pairs, compare)?;
        if matches!(x.element(0), Some(Value::F64(_) | Value::F32(_))) {
            self.work(comparisons);
        }
        if values {
            let (mut out, charge) = self.memory.vec(from.len()).map_err(|e| at.too_large(&e))?;
            for run in pairs.chunks(RUN) {
                self.poll(at)?;
                out.extend(run.iter().map(|p| p.1));
            }
            self.array(at, Array::new(x.dims(), T::wrap(out), charge))
        } else {
            let (mut out, charge) = self.memory.vec(from.len()).map_err(|e| at.too_large(&e))?;
            for run in pairs.chunks(RUN) {
                self.poll(at)?;
                out.extend(run.iter().map(|p| p.0));
            }
            self.array(at, Array::new(x.dims(), i64::wrap(out), charge))
        }
    }

    /// Sorts stably. Long arrays are sorted in runs and then merged, so that an interrupt takes
    /// effect soon.
    fn sort_pairs<T: Copy>(
        &self,
        at: At<'_>,
        pairs: &mut Vec<T>,
        mut compare: impl FnMut(&T, &T) -> Ordering,
    ) -> Eval<()> {
        for run in pairs.chunks_mut(RUN) {
            self.poll(at)?;
            run.sort_by(&mut compare);
        }
        let mut width = RUN;
        let beside = if width < pairs.len() { pairs.len() } else { 0 };
        let (mut merged, _charge) = self.memory.vec(beside).map_err(|e| at.too_large(&e))?;
        while width < pairs.len() {
            for two in pairs.chunks(width.saturating_mul(2)) {
                let (left, right) = two.split_at(width.min(two.len()));
                let (mut left, mut right) = (left, right);
                while let ([x, rest @ ..], [y, others @ ..]) = (left, right) {
                    if merged.len() % RUN == 0 {
                        self.poll(at)?;
                    }
                    let is_after = compare(x, y) == Ordering::Greater;
                    merged.push(if is_after { *y } else { *x });
                    (left, right) = if is_after { (left, others) } else { (rest, right) };
                }
                for run in left.chunks(RUN).chain(right.chunks(RUN)) {
                    self.poll(at)?;
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
    fn sort_duals(&mut self, at: At<'_>, x: &Array, elements: &[Value], values: bool) -> Eval {
        let mut primals = Builder::new(elements.len());
        for x in elements {
            self.push(at, &mut primals, primal(x).clone())?;
        }
        if elements.is_empty() {
            let none = if values {
                Value::Array(x.clone())
            } else {
                self.array(at, Array::new(&[0], Vec::<i64>::new().into(), Charge::default()))?
            };
            return Ok(none);
        }
        let primals = primals.finish(x.dims()).ok_or_else(|| at.internal("elements of different kinds"))?;
        let order = self.sort(at, &primals, false)?;
        if !values {
            return Ok(order);
        }
        let mut sorted = Builder::new(elements.len());
        for i in order.as_array().and_then(Array::i64s).unwrap_or_default() {
            let x = usize::try_from(*i).ok().and_then(|i| elements.get(i));
            self.push(at, &mut sorted, x.ok_or_else(|| at.internal("an element is missing"))?.clone())?;
        }
        self.array(at, sorted.finish(x.dims()))
    }

    fn filter(&mut self, at: At<'_>, p: &Value, x: &Array) -> Eval {
        let Some((n, part)) = x.dims().split_first() else { return Err(at.internal("no axis")) };
        let size: usize = part.iter().product();
        let mut builder = Builder::new(0);
        for i in 0..*n {
            self.iteration(at)?;
            let element = x.part(1, i * size, &self.memory).map_err(|e| at.too_large(&e))?;
            let element = element.ok_or_else(|| at.internal("an element is missing"))?;
            self.test();
            let keep = self.apply(at, p, vec![element.clone()])?;
            if keep.as_bool().ok_or_else(|| at.internal("a condition is no bool"))? {
                self.push(at, &mut builder, element)?;
            }
        }
        match builder.parts() {
            0 => {
                let dims: Vec<usize> = std::iter::once(0).chain(part.iter().copied()).collect();
                Ok(Value::Array(x.view(0, &dims)))
            }
            k => self.array(at, builder.finish(&[k])),
        }
    }
}

/// Compares ascending, NaN last.
fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
