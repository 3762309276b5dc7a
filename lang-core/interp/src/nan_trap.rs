//! **NaN trap.** Stops a run with E0515 at the first operation that produces NaN from operands that
//! are not NaN. The same holds for the tangents of dual numbers, so the trap also locates a lost
//! derivative. A `nan` that is a literal or an input does not trigger it.
//!
//! Operations inside an operation are not watched, such as those in the tables of partial
//! derivatives; its result is. A run without the trap pays only a NaN comparison per `f64`
//! operation, and a test of the flag per lifted operation.

use super::Interp;
use super::broadcast::JoinOp;
use lang_base::Code;
use lang_base::ensure_sufficient_stack;
use lang_resolve::scalar_fn::ScalarFn;
use lang_runtime::failure::{FailureSite, InterpResult};
use lang_runtime::{Array, Value, print};
use lang_syntax::ops::BinOp;

/// The notation of an operation in a message.
#[derive(Clone, Copy)]
pub(super) enum OperationNotation {
    Infix(&'static str),
    Function(&'static str),
}

impl OperationNotation {
    pub(super) fn from_operator(op: BinOp) -> Self {
        Self::Infix(op.symbol())
    }

    pub(super) fn from_function(f: ScalarFn) -> Self {
        Self::Function(f.name())
    }

    pub(super) fn from_join(how: JoinOp) -> Self {
        match how {
            JoinOp::Add => Self::Infix("+"),
            JoinOp::Mul => Self::Infix("*"),
            JoinOp::Min => Self::Function("min"),
            JoinOp::Max => Self::Function("max"),
        }
    }

    fn with_operands(self, operands: &[Value]) -> String {
        let operand_texts: Vec<String> = operands.iter().map(print_real).collect();
        match self {
            Self::Function(name) => format!("{name}({})", operand_texts.join(", ")),
            Self::Infix(op) => {
                let sides: Vec<String> =
                    operand_texts.into_iter().map(|x| if x.starts_with('-') { format!("({x})") } else { x }).collect();
                sides.join(&format!(" {op} "))
            }
        }
    }
}

/// Prints a real, with its tangent if it has one.
fn print_real(x: &Value) -> String {
    match x {
        Value::Dual(d) => {
            ensure_sufficient_stack(|| format!("{} with tangent {}", print_real(&d.primal), print_real(&d.tangent)))
        }
        _ => print::to_short_text(x),
    }
}

/// A NaN that an operation produced.
struct NanOccurrence {
    /// The subscripts of the element, if the result is an array.
    element: Option<Vec<usize>>,
    /// Whether the tangent is NaN instead of the value.
    is_tangent: bool,
    operands: Vec<Value>,
}

impl Interp<'_> {
    /// From now on, stops the run at the first operation that produces NaN.
    pub fn trap_nan(&mut self) {
        self.traps_nan = true;
    }

    /// Runs an operation with the trap off, and then checks its result.
    #[cold]
    #[inline(never)]
    pub(super) fn run_trapped(
        &mut self,
        at: FailureSite<'_>,
        shown: OperationNotation,
        operands: &[&Value],
        op: impl FnOnce(&mut Self) -> InterpResult,
    ) -> InterpResult {
        self.traps_nan = false;
        let value = op(self);
        self.traps_nan = true;
        let value = value?;
        match find_new_nan(&value, operands) {
            Some(found) => Err(nan_failure(at, shown, &found)),
            None => Ok(value),
        }
    }

    /// Checks an in-place addition to elements of an array in advance. Dual numbers are added one
    /// by one, and checked there.
    #[cold]
    #[inline(never)]
    pub(super) fn check_sums(
        &mut self,
        at: FailureSite<'_>,
        array: &Array,
        places: &[usize],
        new: &Value,
    ) -> InterpResult<()> {
        for (k, place) in places.iter().enumerate() {
            let term = if let Value::Array(terms) = new { terms.element(k) } else { Some(new.clone()) };
            let (old, term) = match (array.element(*place), term) {
                (Some(Value::F64(old)), Some(Value::F64(term))) => (Value::F64(old), Value::F64(term)),
                (Some(Value::F32(old)), Some(Value::F32(term))) => (Value::F32(old), Value::F32(term)),
                _ => return Ok(()),
            };
            let counts = self.counts;
            let sum = self.join(at, JoinOp::Add, old, &term);
            self.counts = counts;
            sum.map_err(|mut failure| {
                failure.label = format!("element {:?}: {}", subscripts_of(*place, array.dims()), failure.label);
                failure
            })?;
        }
        Ok(())
    }

    /// Returns the NaN result of an operation on two reals, or fails if the trap is on and no
    /// operand is NaN.
    #[cold]
    #[inline(never)]
    pub(super) fn nan_result(&self, at: FailureSite<'_>, shown: OperationNotation, x: f64, y: f64) -> InterpResult {
        if !self.traps_nan || x.is_nan() || y.is_nan() {
            return Ok(Value::F64(f64::NAN));
        }
        let operands = vec![Value::F64(x), Value::F64(y)];
        Err(nan_failure(at, shown, &NanOccurrence { element: None, is_tangent: false, operands }))
    }
}

#[cold]
fn nan_failure(at: FailureSite<'_>, shown: OperationNotation, found: &NanOccurrence) -> Box<lang_runtime::Failure> {
    let what = if found.is_tangent { "the tangent of this result" } else { "this result" };
    let mut failure = at.fail(Code::E0515, format!("{what} is NaN, although no operand is NaN"));
    failure.label = match &found.element {
        Some(index) => format!("element {index:?}: {}", shown.with_operands(&found.operands)),
        None => shown.with_operands(&found.operands),
    };
    failure
}

/// Returns whether a real, or a tangent in it, is NaN.
fn has_nan(x: &Value) -> bool {
    match x {
        Value::F64(x) => x.is_nan(),
        Value::F32(x) => x.is_nan(),
        Value::Dual(d) => ensure_sufficient_stack(|| has_nan(&d.primal) || has_nan(&d.tangent)),
        _ => false,
    }
}

/// Returns the first NaN of a value at a place where no operand has one.
fn find_new_nan(value: &Value, operands: &[&Value]) -> Option<NanOccurrence> {
    match value {
        Value::F64(_) | Value::F32(_) | Value::Dual(_) => {
            let is_new = has_nan(value) && !operands.iter().any(|x| has_nan(x));
            let tangent = !has_nan(lang_runtime::dual::primal(value));
            is_new.then(|| NanOccurrence {
                element: None,
                is_tangent: tangent,
                operands: operands.iter().map(|x| (*x).clone()).collect(),
            })
        }
        Value::Array(array) => {
            let nan_at = |i: usize| match (array.f64s(), array.f32s()) {
                (Some(reals), _) => reals.get(i).is_some_and(|x| x.is_nan()),
                (_, Some(reals)) => reals.get(i).is_some_and(|x| x.is_nan()),
                _ => !array.is_of_scalars(),
            };
            let kinds = array.f64s().is_some() || array.f32s().is_some() || !array.is_of_scalars();
            let found = |i: usize| {
                let element = array.element(i)?;
                let at_i = |x: &&Value| if let Value::Array(a) = x { a.element(i) } else { Some((*x).clone()) };
                let parts: Vec<Value> = operands.iter().map(at_i).collect::<Option<_>>()?;
                let mut found = ensure_sufficient_stack(|| find_new_nan(&element, &parts.iter().collect::<Vec<_>>()))?;
                found.element = found.element.or_else(|| Some(subscripts_of(i, array.dims())));
                Some(found)
            };
            (0..array.count()).filter(|i| kinds && nan_at(*i)).find_map(found)
        }
        Value::Tuple(items) => items.values().iter().enumerate().find_map(|(k, part)| {
            let parts = operands.iter().map(|x| if let Value::Tuple(t) = x { t.values().get(k) } else { None });
            ensure_sufficient_stack(|| find_new_nan(part, &parts.collect::<Option<Vec<_>>>()?))
        }),
        Value::Record(record) => record.names().iter().enumerate().find_map(|(k, name)| {
            let of = |x: &&'_ Value| -> Option<Value> {
                let Value::Record(r) = x else { return None };
                r.values().get(r.position(name, k)?).cloned()
            };
            let parts: Vec<Value> = operands.iter().map(of).collect::<Option<_>>()?;
            ensure_sufficient_stack(|| find_new_nan(record.values().get(k)?, &parts.iter().collect::<Vec<_>>()))
        }),
        _ => None,
    }
}

/// Converts a row-major element number to subscripts.
fn subscripts_of(mut i: usize, dims: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = dims
        .iter()
        .rev()
        .map(|n| {
            let k = i.checked_rem(*n).unwrap_or(0);
            i = i.checked_div(*n).unwrap_or(0);
            k
        })
        .collect();
    index.reverse();
    index
}
