//! **Measured costs.** Counts the work, tests and iterations of a definition at fixed sizes. Runs
//! it in the program interpreter, and in the evaluators of core and Tensor SSA, with the same
//! synthetic arguments. `iverson cost --measure` prints the counts below the predicted costs.
//! `iverson bench` runs definitions with the same arguments.

use std::collections::HashMap;
use std::sync::Arc;

use lang_core::base::{Code, GlobalName};
use lang_core::eval::convert::{from_tensors, to_tensors};
use lang_core::eval::eval_core::{CoreEnv, CoreEvaluator, EvalError};
use lang_core::eval::eval_ssa::{IrTensor, SsaEnv as SsaFunctions, SsaEvaluator};
use lang_core::ir::core::{CoreFunction, CoreType, DerivativeKind, FunctionKey, TupleLabels};
use lang_core::ir::counted_cost::eval_extents;
use lang_core::ir::flat::InputSource;
use lang_core::ir::ssa::SsaFunction;
use lang_core::ir::value;
use lang_core::predicate::LocalId;
use lang_core::runtime::{OperationCounts, RuntimeInstance, RuntimeType, Store, Value};
use lang_core::types::ty::{Scalar, Signature, SizeSource, Type};

use super::{Engine, RunLocation};
use crate::problem::Problem;
use crate::types;

/// The most elements of a synthetic array.
const MOST_MADE_UP: i128 = 1 << 26;

/// The most steps that the evaluation of an intermediate form may take.
const FUEL: u64 = 200_000_000;

/// The counts of one run.
pub(crate) struct MeasuredCounts {
    /// The function that ran: `primal`, `forward`, `adjoint`.
    pub(crate) role: &'static str,
    /// The form that ran: `program`, `core`, `Tensor SSA`.
    pub(crate) form: &'static str,
    pub(crate) counts: OperationCounts,
}

impl Engine {
    /// Runs a definition in every form, and its derivatives in Tensor SSA. `sizes` has one value
    /// per size of the signature.
    pub(crate) fn measure_counts(
        &mut self,
        callee: &FunctionKey,
        signature: &Signature,
        sizes: &[i64],
        derived: &[(&'static str, DerivativeKind)],
    ) -> Result<Vec<MeasuredCounts>, Vec<Problem>> {
        self.compute_let(&callee.def)?;
        let failed = |message: String| vec![Problem::new(Code::E0510, message)];
        let (instance, arguments) = self.synthetic_arguments(signature, sizes)?;
        let implicit = instance.sizes.clone();
        let here = RunLocation { item: callee.def.clone(), name: "cost", source: None };
        let (counting, before) = (std::mem::replace(&mut self.count_runs, true), std::mem::take(&mut self.counts));
        let call_arguments = arguments.clone();
        let run = self.interpret(&here, |interp, _| interp.call(&callee.def, instance, call_arguments));
        let counts = std::mem::replace(&mut self.counts, before);
        self.count_runs = counting;
        run?;
        let mut all = vec![MeasuredCounts { role: "primal", form: "program", counts }];
        let forms = EngineFunctions { engine: self };
        let callee = Arc::new(callee.clone());
        let stages = self.session().stages(&callee).map_err(|why| failed(why.reason.phrase().to_owned()))?;
        let parts = stages.core.params.iter().zip(&arguments).map(|((_, ty), v)| to_tensors(v, ty));
        let parts: Vec<Vec<IrTensor>> =
            parts.collect::<Option<_>>().ok_or_else(|| failed("an argument is not an array of numbers".to_owned()))?;
        let stopped = |why: EvalError| {
            let (code, message) = match why {
                EvalError::CheckFailed(what) => (Code::E0510, format!("the run fails: {}", what.message)),
                EvalError::OutOfFuel => (Code::E0510, "the run takes too many steps to be measured".to_owned()),
                EvalError::IllFormed(what) => {
                    (Code::E0517, format!("internal error: the intermediate form is invalid: {what}"))
                }
            };
            vec![Problem::new(code, message)]
        };
        let values = stages.core.params.iter().zip(&parts).map(|((_, ty), parts)| from_tensors(ty, parts)).collect();
        let mut core = CoreEvaluator::new(&forms, FUEL);
        core.call(&stages.core, &implicit, values).map_err(stopped)?;
        all.push(MeasuredCounts { role: "primal", form: "core", counts: core.counts });
        let input_tensors: Vec<IrTensor> = parts.into_iter().flatten().collect();
        let locals = local_sizes(&stages.ssa, signature, sizes);
        let count = |ssa: &SsaFunction| {
            let mut input_tensors = input_tensors.clone();
            input_tensors.extend(
                derivative_inputs(ssa, &locals)
                    .ok_or_else(|| failed("an extent is known only at run time".to_owned()))?,
            );
            let mut run = SsaEvaluator::new(&forms, FUEL);
            run.call(ssa, &implicit, input_tensors).map(|_| run.counts).map_err(stopped)
        };
        all.push(MeasuredCounts { role: "primal", form: "Tensor SSA", counts: count(&stages.ssa)? });
        for (of, derivation) in derived {
            let Some(ssa) = self.session().ssa(&Arc::new(callee.derivative(derivation.clone()))) else { continue };
            all.push(MeasuredCounts { role: of, form: "Tensor SSA", counts: count(&ssa)? });
        }
        Ok(all)
    }
}

impl Engine {
    /// Returns synthetic arguments for a definition, and the instance to call it with. `sizes` has
    /// one value per size of the signature. A type parameter is `f64`.
    pub(crate) fn synthetic_arguments(
        &self,
        signature: &Signature,
        sizes: &[i64],
    ) -> Result<(RuntimeInstance, Vec<Value>), Vec<Problem>> {
        let mut next = 0;
        let mut arguments = Vec::new();
        for (k, (name, ty)) in (0..).zip(&signature.params) {
            let size = signature.sizes.iter().position(|s| s.source == SizeSource::Param(k));
            let size_argument = size.and_then(|at| sizes.get(at)).map(|n| Value::I64(*n));
            let ty = type_at_sizes(ty, sizes);
            if let Some(problem) = impossible_array(name, &ty) {
                return Err(vec![problem]);
            }
            let value = size_argument.or_else(|| synthetic_value(&ty, &mut next));
            let cannot = || {
                let message = format!("cannot generate a value for `{name}` of type `{ty}`");
                vec![Problem::new(Code::E0510, message)]
            };
            arguments.push(value.ok_or_else(cannot)?);
        }
        let implicit = signature.sizes.iter().zip(sizes).filter(|(s, _)| s.source == SizeSource::Implicit);
        let types = signature.type_params.iter().map(|_| RuntimeType::Scalar(Scalar::F64)).collect();
        Ok((RuntimeInstance { types, sizes: implicit.map(|(_, n)| *n).collect() }, arguments))
    }
}

/// Returns the values of a function's sizes and integer parameters.
pub(crate) fn local_sizes(ssa: &SsaFunction, signature: &Signature, sizes: &[i64]) -> HashMap<LocalId, i64> {
    let named = |source: &dyn Fn(SizeSource) -> bool| {
        let chosen = signature.sizes.iter().zip(sizes).filter(|(s, _)| source(s.source));
        chosen.map(|(_, n)| *n).collect::<Vec<i64>>()
    };
    let implicit = named(&|s| s == SizeSource::Implicit);
    let mut locals: HashMap<LocalId, i64> = ssa.sizes.iter().copied().zip(implicit).collect();
    for input in &ssa.inputs {
        if let (InputSource::Param(k), Some(Scalar::I64)) = (&input.source, input.leaf.scalar) {
            let value = named(&|s| s == SizeSource::Param(*k)).first().copied();
            locals.extend(value.map(|n| (input.local, n)));
        }
    }
    locals
}

/// Returns the additional inputs of a derivative: tangents and cotangents, all ones. `None` if an
/// extent is not known.
fn derivative_inputs(ssa: &SsaFunction, locals: &HashMap<LocalId, i64>) -> Option<Vec<IrTensor>> {
    let wanted = ssa.inputs.iter().filter(|i| matches!(i.source, InputSource::Tangent(_) | InputSource::Cotangent(_)));
    let tensors = wanted.map(|input| {
        let extents = eval_extents(&input.leaf.dims, locals).ok()?;
        let dims: Vec<usize> = extents.into_iter().map(|n| usize::try_from(n).ok()).collect::<Option<_>>()?;
        let one =
            if input.leaf.scalar == Some(Scalar::F32) { value::IrValue::F32(1.0) } else { value::IrValue::F64(1.0) };
        Some(IrTensor { items: vec![one; dims.iter().product()], dims })
    });
    tensors.collect()
}

/// The definitions of the program, as the evaluators look them up.
struct EngineFunctions<'e> {
    engine: &'e Engine,
}

impl CoreEnv for EngineFunctions<'_> {
    fn function(&self, callee: &FunctionKey) -> Option<Arc<CoreFunction>> {
        Some(self.engine.session().stages(&Arc::new(callee.clone())).ok()?.core.clone())
    }

    fn global(&self, name: &GlobalName) -> Option<value::IrValue> {
        let (parts, ty) = self.global_tensors(name)?;
        Some(from_tensors(&ty, &parts))
    }

    fn ssa_env(&self) -> Option<&dyn SsaFunctions> {
        Some(self)
    }
}

impl SsaFunctions for EngineFunctions<'_> {
    fn ssa(&self, callee: &FunctionKey) -> Option<Arc<SsaFunction>> {
        self.engine.session().ssa(&Arc::new(callee.clone()))
    }

    fn global(&self, name: &GlobalName, path: &[u32]) -> Option<IrTensor> {
        let (parts, ty) = self.global_tensors(name)?;
        let at = ty.leaves().iter().position(|leaf| leaf.path == path)?;
        parts.into_iter().nth(at)
    }
}

impl EngineFunctions<'_> {
    /// Returns the value of a top-level `let` as tensors, with its core type.
    fn global_tensors(&self, name: &GlobalName) -> Option<(Vec<IrTensor>, CoreType)> {
        let known = self.engine.global_value(name)?;
        let ty = core_type(&known.ty)?;
        Some((to_tensors(&known.value, &ty)?, ty))
    }
}

/// Returns the core type of a data type. `None` for types that have none, such as functions.
fn core_type(ty: &Type) -> Option<CoreType> {
    Some(match ty {
        Type::Scalar(s) => CoreType::Scalar(*s),
        Type::Array(n, t) => CoreType::Tensor(n.clone(), Arc::new(core_type(t)?)),
        Type::Tuple(items) => CoreType::tuple(items.iter().map(core_type).collect::<Option<Vec<_>>>()?),
        Type::Record(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            let names = fields.iter().map(|(n, _)| n.clone()).collect();
            let types = fields.iter().map(|(_, t)| core_type(t)).collect::<Option<_>>()?;
            CoreType::Tuple(types, TupleLabels::Fields(names))
        }
        _ => return None,
    })
}

/// Returns a parameter's type at the sizes, with `f64` for type parameters.
pub(crate) fn type_at_sizes(ty: &Type, sizes: &[i64]) -> Type {
    types::with_sizes(&ty.substitute(&|_| Some(Type::F64), &|_| None), sizes)
}

/// Returns the problem if a type has a negative extent or too many elements.
fn impossible_array(name: &str, mut ty: &Type) -> Option<Problem> {
    let whole = ty;
    let mut count: i128 = 1;
    while let Type::Array(n, inner) = ty {
        let n = n.as_constant()?;
        if n < 0 {
            let message = format!("`{name}` cannot have these sizes, because its type would be `{whole}`");
            return Some(Problem::new(Code::E0600, message));
        }
        count = count.saturating_mul(n);
        ty = inner;
    }
    (count > MOST_MADE_UP).then(|| {
        let message = format!("`{name}` of type `{whole}` has too many elements for a synthetic value");
        Problem::new(Code::E0508, message)
            .with_help(format!("use smaller sizes; a synthetic array has at most {MOST_MADE_UP} elements"))
    })
}

/// Returns pseudo-random bits: a counter through the finaliser of MurmurHash3 (Appleby, public
/// domain). Periodic values would make matrices singular.
fn mix_bits(counter: u32) -> u32 {
    let mut bits = counter.wrapping_mul(0x9E37_79B9);
    bits = (bits ^ bits >> 16).wrapping_mul(0x85EB_CA6B);
    bits = (bits ^ bits >> 13).wrapping_mul(0xC2B2_AE35);
    bits ^ bits >> 16
}

/// Returns a real in [-1, 1) that an `f32` represents exactly.
fn unit_real(bits: u32) -> f32 {
    let [high, low, ..] = bits.to_le_bytes();
    f32::from(u16::from_le_bytes([high, low])) / 32_768.0 - 1.0
}

/// Returns a synthetic value of a type: reals in [-1, 1), integers 0 or 1. `None` if the type has
/// no such value.
fn synthetic_value(ty: &Type, next: &mut u32) -> Option<Value> {
    let mut dims = Vec::new();
    let mut inner = ty;
    while let Type::Array(n, t) = inner {
        dims.push(usize::try_from(n.as_constant()?).ok()?);
        inner = t;
    }
    let count = dims.iter().try_fold(1_usize, |n, d| n.checked_mul(*d))?;
    let mut step = || {
        *next = next.wrapping_add(1);
        mix_bits(*next)
    };
    if dims.is_empty() {
        return Some(match inner {
            Type::Scalar(Scalar::F64) => Value::F64(f64::from(unit_real(step()))),
            Type::Scalar(Scalar::F32) => Value::array(&[1], vec![unit_real(step())])
                .and_then(|v| if let Value::Array(a) = v { a.element(0) } else { None })?,
            Type::Scalar(Scalar::I64) => Value::I64(i64::from(step() % 2)),
            Type::Scalar(Scalar::Bool) => Value::Bool(step() % 2 == 0),
            Type::Tuple(items) => Value::tuple(items.iter().map(|t| synthetic_value(t, next)).collect::<Option<_>>()?),
            Type::Record(fields) => Value::record(
                fields.iter().map(|(n, t)| Some((n.clone(), synthetic_value(t, next)?))).collect::<Option<_>>()?,
            ),
            _ => return None,
        });
    }
    match inner {
        Type::Scalar(Scalar::F64) => {
            Value::array(&dims, (0..count).map(|_| f64::from(unit_real(step()))).collect::<Vec<f64>>())
        }
        Type::Scalar(Scalar::F32) => Value::array(&dims, (0..count).map(|_| unit_real(step())).collect::<Vec<f32>>()),
        Type::Scalar(Scalar::I64) => {
            Value::array(&dims, (0..count).map(|_| i64::from(step() % 2)).collect::<Vec<i64>>())
        }
        Type::Scalar(Scalar::Bool) => Value::array(&dims, (0..count).map(|_| step() % 2 == 0).collect::<Vec<bool>>()),
        _ => Value::array(
            &dims,
            Store::from_values((0..count).map(|_| synthetic_value(inner, next)).collect::<Option<_>>()?),
        ),
    }
}

#[cfg(test)]
mod tests {
    use lang_core::predicate::Poly;

    use super::*;

    #[test]
    fn made_up_matrices_are_regular() {
        // Computes the rank by elimination; with periodic values the rows would repeat.
        for n in [2_usize, 5, 17, 18, 34, 40] {
            let extent = || Poly::constant(i128::try_from(n).unwrap());
            let ty = Type::array([extent(), extent()].into_iter(), Type::F64);
            let value = synthetic_value(&ty, &mut 0).unwrap();
            let mut a: Vec<Vec<f64>> =
                value.as_array().unwrap().f64s().unwrap().chunks(n).map(<[f64]>::to_vec).collect();
            for k in 0..n {
                let pivot = (k..n).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap();
                a.swap(k, pivot);
                assert!(a[k][k].abs() > 1e-6, "{n}");
                for i in k + 1..n {
                    let (above, below) = a.split_at_mut(i);
                    let factor = below[0][k] / above[k][k];
                    below[0].iter_mut().zip(&above[k]).skip(k).for_each(|(x, y)| *x -= factor * y);
                }
            }
        }
    }
}
