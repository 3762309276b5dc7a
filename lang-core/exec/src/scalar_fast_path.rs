//! **Fast path for scalar functions.** It applies if all inputs and results of a function are
//! scalars and one kernel computes it. A call runs that code directly, without lookups, checks or
//! allocations.
//!
//! A cache maps an operator, by its place and operand, to the function that it produced
//! ([`ScalarFunctionCache`]).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::INDEX_BOUND;
use super::executable::{Executable, ExecutionStep};
use super::native::{KernelCode, KernelInterrupted, MAX_SCALAR_WORDS, with_stack};
use lang_ir::core::{CoreType, TupleLabels};
use lang_ir::flat::InputSource;
use lang_ir::ssa::{Rhs, StmtId};
use lang_nest::{KernelStorage, StorageRole};
use lang_runtime::{DerivedFunction, FunctionValue, RuntimeInstance, Value};
use lang_sizes::predicate::Atom;
use lang_syntax::ops::Scalar;
use lang_types::tree::{TypedBody, TypedId};

/// A function of scalars whose code is called directly.
pub(crate) struct ScalarRoutine {
    code: Arc<dyn KernelCode>,
    /// The types of the arguments.
    params: Vec<Scalar>,
    /// For each place of the kernel with memory, the argument that it holds, if any.
    place_arguments: Vec<Option<usize>>,
    /// The arguments that are integers of the kernel, in their order.
    integers: Vec<usize>,
    /// The integer arguments that indices mention; the fast path declines larger ones.
    index_arguments: Vec<usize>,
    /// For each part of the result, its type and its place.
    outputs: Vec<(Scalar, usize)>,
    /// Whether the result is a tuple of the parts.
    is_tuple: bool,
}

impl Executable {
    /// Returns the executable as a function of this many scalars, if it is one.
    pub(super) fn scalar_function(&self, arguments: usize) -> Option<ScalarRoutine> {
        let ssa = &self.ssa;
        if !(ssa.sizes.is_empty() && ssa.needs.is_empty()) {
            return None;
        }
        let mut params = vec![None; arguments];
        let (mut locals, mut bounded) = (Vec::new(), Vec::new());
        for input in &ssa.inputs {
            let InputSource::Param(k) = &input.source else { return None };
            locals.push((input.local, *k as usize));
            bounded.extend(ssa.bounded.contains(&input.local).then_some(*k as usize));
            let is_number = input.leaf.dims.is_empty() && input.leaf.path.is_empty();
            *params.get_mut(*k as usize)? = input.leaf.scalar.filter(|_| is_number);
        }
        let params: Vec<Scalar> = params.into_iter().collect::<Option<_>>()?;
        let argument = |var: StmtId| {
            let Rhs::Input(k) = &ssa.stmts.get(var.0 as usize)?.rhs else { return None };
            let InputSource::Param(k) = &ssa.inputs.get(*k as usize)?.source else { return None };
            Some(*k as usize)
        };
        let mut kernels = Vec::new();
        for step in &self.steps {
            match step {
                ExecutionStep::Statement(var) => drop(argument(*var)?),
                ExecutionStep::Kernel(ready) => kernels.push(ready),
                ExecutionStep::Checks(..) => return None,
            }
        }
        let [ready] = kernels.as_slice() else { return None };
        if !ready.checks.is_empty() {
            return None;
        }
        let integer = |a: &Atom| match a {
            Atom::Local(l, _) => locals.iter().find(|(local, _)| local == l).map(|(_, k)| *k),
            _ => None,
        };
        let integers: Vec<usize> = ready.kernel.entry_integers.iter().map(integer).collect::<Option<_>>()?;
        let code = Arc::clone(ready.code.as_ref()?);
        let with_memory: Vec<_> = ready.kernel.storage.iter().filter(|p| !p.is_register()).collect();
        let is_number = with_memory.iter().all(|p| p.axes.iter().flatten().next().is_none());
        if !is_number || with_memory.len() + integers.len() > MAX_SCALAR_WORDS {
            return None;
        }
        let place = |p: &&KernelStorage| match p.role {
            StorageRole::Input => argument(p.var).map(Some),
            StorageRole::Output | StorageRole::Temporary => Some(None),
        };
        let places = with_memory.iter().map(place).collect::<Option<_>>()?;
        let output = |(_, var): &(_, StmtId)| {
            let at = with_memory.iter().position(|p| p.var == *var)?;
            Some((with_memory.get(at)?.scalar, at))
        };
        let outputs = ssa.outputs.iter().map(output).collect::<Option<_>>()?;
        let is_scalar = |ty: &CoreType| matches!(ty, CoreType::Scalar(_));
        let is_plain = match &ssa.result {
            CoreType::Tuple(items, TupleLabels::Positions) => items.iter().all(is_scalar),
            ty => is_scalar(ty),
        };
        let is_tuple = matches!(ssa.result, CoreType::Tuple(..));
        is_plain.then_some(ScalarRoutine {
            code,
            params,
            place_arguments: places,
            integers,
            index_arguments: bounded,
            outputs,
            is_tuple,
        })
    }
}

impl ScalarRoutine {
    /// Calls the function. Returns `None` if the arguments have other types, or if an integer
    /// exceeds the bound for indices.
    pub(crate) fn call(&self, arguments: &[Value], interrupt: &AtomicBool) -> Option<Result<Value, KernelInterrupted>> {
        let fits = |(value, kind): (&Value, &Scalar)| scalar_type_of(value) == Some(*kind);
        if arguments.len() != self.params.len() || !arguments.iter().zip(&self.params).all(fits) {
            return None;
        }
        let mut words = [0_u64; MAX_SCALAR_WORDS];
        let words = words.get_mut(..self.place_arguments.len())?;
        for (word, argument) in words.iter_mut().zip(&self.place_arguments) {
            if let Some(k) = argument {
                *word = to_word(arguments.get(*k)?)?;
            }
        }
        let whole = |k: usize| arguments.get(k)?.as_i64();
        if self.index_arguments.iter().any(|k| whole(*k).is_none_or(|i| i.unsigned_abs() >= INDEX_BOUND)) {
            return None;
        }
        let mut integers = [0; MAX_SCALAR_WORDS];
        let integers = integers.get_mut(..self.integers.len())?;
        for (slot, k) in integers.iter_mut().zip(&self.integers) {
            *slot = whole(*k)?;
        }
        if let Err(interrupted) = with_stack(&*self.code, || self.code.run_scalars(words, integers, interrupt)) {
            return Some(Err(interrupted));
        }
        let part = |(kind, at): &(Scalar, usize)| Some(from_word(*kind, *words.get(*at)?));
        let mut parts = self.outputs.iter().map(part);
        let value = if self.is_tuple { Value::tuple(parts.collect::<Option<_>>()?) } else { parts.next()?? };
        Some(Ok(value))
    }
}

/// Returns the type of a number or truth value.
fn scalar_type_of(value: &Value) -> Option<Scalar> {
    Some(match value {
        Value::F64(_) => Scalar::F64,
        Value::F32(_) => Scalar::F32,
        Value::I64(_) => Scalar::I64,
        Value::Bool(_) => Scalar::Bool,
        _ => return None,
    })
}

/// Returns the word in memory whose first bytes are those of a number.
fn to_word(value: &Value) -> Option<u64> {
    let mut word = [0; 8];
    let of = |word: &mut [u8; 8], bytes: &[u8]| {
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(())
    };
    match value {
        Value::F64(x) => of(&mut word, &x.to_ne_bytes()),
        Value::F32(x) => of(&mut word, &x.to_ne_bytes()),
        Value::I64(x) => of(&mut word, &x.to_ne_bytes()),
        Value::Bool(x) => of(&mut word, &[u8::from(*x)]),
        _ => None,
    }?;
    Some(u64::from_ne_bytes(word))
}

/// Returns the number in the first bytes of a word.
fn from_word(kind: Scalar, word: u64) -> Value {
    let [a, b, c, d, ..] = word.to_ne_bytes();
    match kind {
        Scalar::F64 => Value::F64(f64::from_ne_bytes(word.to_ne_bytes())),
        Scalar::F32 => Value::F32(f32::from_ne_bytes([a, b, c, d])),
        Scalar::I64 => Value::I64(i64::from_ne_bytes(word.to_ne_bytes())),
        Scalar::Bool => Value::Bool(a != 0),
    }
}

/// The maximum nesting of operators in the operand of a cached operator.
const MAX_NESTING: usize = 8;

/// A cache of the scalar functions that operators produced, by the body and the node of the
/// operator.
#[derive(Default)]
pub(crate) struct ScalarFunctionCache(RefCell<BTreeMap<(usize, TypedId), CachedFunction>>);

/// The function that an operator produced last.
struct CachedFunction {
    /// The body, kept alive because its address is part of the key.
    _body: Arc<TypedBody>,
    function: Value,
    result: Arc<ScalarRoutine>,
}

impl ScalarFunctionCache {
    /// Returns the function that this operator produces from its operand, if it is cached.
    pub(crate) fn get(&self, derived: &DerivedFunction) -> Option<Arc<ScalarRoutine>> {
        let known = self.0.borrow();
        let found = known.get(&operator_key(derived))?;
        match (&found.function, derived.function()?) {
            (Value::Fun(known), Value::Fun(function)) => (captures_nothing(derived)
                && is_same_function(known, function, MAX_NESTING))
            .then(|| Arc::clone(&found.result)),
            _ => None,
        }
    }

    /// Caches the function of an operator.
    pub(crate) fn set(&self, derived: &DerivedFunction, routine: ScalarRoutine) {
        let Some(function) = derived.function() else { return };
        let body = Arc::clone(derived.site().code().body());
        let cached = CachedFunction { _body: body, function: function.clone(), result: Arc::new(routine) };
        self.0.borrow_mut().insert(operator_key(derived), cached);
    }
}

fn operator_key(derived: &DerivedFunction) -> (usize, TypedId) {
    (Arc::as_ptr(derived.site().code().body()).addr(), derived.site().node())
}

/// Returns whether the operator captures no sizes or types, which may differ between runs.
fn captures_nothing(derived: &DerivedFunction) -> bool {
    derived.site().sizes().is_empty() && derived.site().types().is_empty()
}

/// Returns whether two function values are the same function and capture no data.
fn is_same_function(a: &FunctionValue, b: &FunctionValue, deepest: usize) -> bool {
    let is_plain = |of: &RuntimeInstance| of.types.is_empty() && of.sizes.is_empty();
    match (a, b) {
        (FunctionValue::Def(a, of_a), FunctionValue::Def(b, of_b)) => a == b && is_plain(of_a) && is_plain(of_b),
        (
            FunctionValue::Lambda { code: a, node: in_a, captured: held_a, types: types_a },
            FunctionValue::Lambda { code: b, node: in_b, captured: held_b, types: types_b },
        ) => {
            let hold = [held_a, held_b].iter().any(|of| !of.values().is_empty());
            let typed = [types_a, types_b].iter().any(|of| !of.is_empty());
            Arc::ptr_eq(a.body(), b.body()) && in_a == in_b && !hold && !typed
        }
        (FunctionValue::Scalar(a), FunctionValue::Scalar(b)) => a == b,
        (FunctionValue::Derived(a), FunctionValue::Derived(b)) => {
            let (Some(Value::Fun(of_a)), Some(Value::Fun(of_b))) = (a.function(), b.function()) else { return false };
            let bare = captures_nothing(a) && captures_nothing(b) && operator_key(a) == operator_key(b);
            bare && deepest.checked_sub(1).is_some_and(|deepest| is_same_function(of_a, of_b, deepest))
        }
        _ => false,
    }
}
