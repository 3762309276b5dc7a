//! **Oracle for derivatives as source.** Checks the printed text of a derivative as part of its
//! program. Compares its values with those that the interpreter computes with dual numbers at
//! random points.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lang_core::base::{GlobalName, Name};
use lang_core::eval::convert::from_tensors;
use lang_core::eval::eval_ssa::{IrTensor, SsaEvaluator};
use lang_core::interp::Interp;
use lang_core::ir::core::CoreType;
use lang_core::ir::flat::InputSource;
use lang_core::ir::value::IrValue;
use lang_core::pipeline::Stages;
use lang_core::predicate::Poly;
use lang_core::runtime::{OperationCounts, RunLimits, RuntimeInstance, RuntimeType, Value as Computed};
use lang_core::session::{Session, SessionProgram};
use lang_core::source::{self, DerivativeMode, PrintedDerivative};
use lang_core::types::ty::SizeSource;

use crate::golden::{self, Tolerance};
use crate::middle::form_laws::FUEL;
use crate::middle::forms::{EvaluatorFunctions, SessionForms};
use crate::middle::interpreter_oracle::SilentHost;
use crate::middle::values::{
    arguments, computed, draw_tangent, part_as_is as part, size_of, sizes_among, tangent_type,
};
use crate::random::Random;

/// Returns the name of the definition that computes the same derivative by the interpreter's `vjp`
/// or `jvp`.
#[must_use]
pub fn probe_name(printed: &PrintedDerivative) -> String {
    format!("asked_of_{}", printed.name)
}

/// Returns the text of the definition that [`probe_name`] names. It has the parameters of the
/// printed derivative.
#[must_use]
pub fn probe(def: &str, printed: &PrintedDerivative, which: DerivativeMode) -> String {
    let own = printed.params.len() - if which == DerivativeMode::Adjoint { 1 } else { printed.varying.len() };
    let params: Vec<String> = printed.params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let varies = |k: usize| printed.varying.contains(&k);
    let (mut lambda, mut args, mut point) = (Vec::new(), Vec::new(), Vec::new());
    for (k, (name, ty)) in printed.params.iter().take(own).enumerate() {
        if varies(k) {
            lambda.push(format!("(v_{name}: {ty})"));
            args.push(format!("v_{name}"));
            point.push(name.to_string());
        } else {
            args.push(name.to_string());
        }
    }
    let beside: Vec<String> = printed.params.iter().skip(own).map(|(name, _)| name.to_string()).collect();
    let tuple = |items: &[String]| {
        if items.len() == 1 { items.join("") } else { format!("({})", items.join(", ")) }
    };
    let operator = if which == DerivativeMode::Adjoint { "vjp" } else { "jvp" };
    format!(
        "\ndef {}({}) = {operator}(\\{}: {def}({}))({}, {})\n",
        probe_name(printed),
        params.join(", "),
        lambda.join(", "),
        args.join(", "),
        tuple(&point),
        tuple(&beside)
    )
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct DerivativeComparison {
    /// The number of points at which the values agreed.
    pub values: u32,
    /// The number of points at which both failed, or the interpreter's derivative alone.
    pub failures: u32,
    /// The first of these failures.
    pub first_failure: Option<String>,
    /// The operation counts over all points: those of the text, and those of the other definition.
    pub counts: (OperationCounts, OperationCounts),
    /// The work of the text and of the derivative in Tensor SSA, over the points where both were
    /// evaluated.
    pub work: (u64, u64),
}

/// Calls a definition of the session. Returns its result and its operation counts.
fn run(
    session: &Session,
    globals: &HashMap<GlobalName, Computed>,
    def: &GlobalName,
    sizes: &[i64],
    args: Vec<Computed>,
) -> (Result<Computed, String>, OperationCounts) {
    let program = SessionProgram::new(session, globals);
    let interrupt = AtomicBool::new(false);
    let mut host = SilentHost;
    let limits = RunLimits { max_calls: 1000, max_elements: 1 << 20, max_bytes: 1 << 26, ..RunLimits::default() };
    let mut interp = Interp::new(&program, &mut host, limits, &interrupt);
    interp.start_counting();
    let types: Vec<RuntimeType> = Vec::new();
    let instance = RuntimeInstance { types: Arc::from(types), sizes: sizes.to_vec() };
    let value = interp.call(def, instance, args).map_err(|failure| format!("{failure:?}"));
    (value, interp.counts())
}

/// Draws arguments of a definition's derivative, or returns `None` if a parameter's type cannot be
/// drawn.
fn point(
    random: &mut Random,
    forms: &SessionForms<'_>,
    stages: &Stages,
    printed: &PrintedDerivative,
    which: DerivativeMode,
    fixed: Option<i64>,
) -> Option<DerivativePoint> {
    let core = &stages.core;
    let count = core.sizes.len() + sizes_among(core).len();
    let mut size = || fixed.unwrap_or_else(|| i64::try_from(random.number_below(5)).unwrap_or(0));
    let all: Vec<i64> = (0..count).map(|_| size()).collect();
    let args = arguments(random, core, &all)?;
    let sizes: Vec<i64> = all.iter().take(core.sizes.len()).copied().collect();
    let of = size_of(core, &sizes, &args);
    let mut interpreter_args: Vec<Computed> =
        core.params.iter().zip(&args).map(|((_, ty), v)| computed(v, ty, &of)).collect::<Option<_>>()?;
    let points: Vec<(CoreType, IrValue)> = match which {
        DerivativeMode::Adjoint => vec![(stages.ssa.result.clone(), result(forms, stages, &sizes, &args, &of)?)],
        DerivativeMode::Forward => {
            let varying = printed.varying.iter();
            varying.map(|k| Some((core.params.get(*k)?.1.clone(), args.get(*k)?.clone()))).collect::<Option<_>>()?
        }
    };
    let mut values = Vec::new();
    for (ty, point) in &points {
        let value = draw_tangent(random, ty, point, false)?;
        interpreter_args.push(computed(&value, &tangent_type(ty), &of)?);
        values.push(value);
    }
    Some(DerivativePoint { sizes, interpreter_args, args, beside: values })
}

/// Returns a value of the result's type, which has the shape of a cotangent. A result with sum
/// types is the actual value, because the cotangent must have its constructors; else it is zero.
fn result(
    forms: &SessionForms<'_>,
    stages: &Stages,
    sizes: &[i64],
    args: &[IrValue],
    of: &dyn Fn(&Poly) -> i64,
) -> Option<IrValue> {
    let ssa = &stages.ssa;
    if !holds_sum(&ssa.result) {
        return Some(IrValue::zero(&ssa.result, &mut |n| usize::try_from(of(n)).unwrap_or(0)));
    }
    let parts = ssa.inputs.iter().filter(|i| i.source.is_passed()).map(|input| match &input.source {
        InputSource::Param(k) => Some(part(args.get(*k as usize)?, &input.leaf.path)),
        _ => None,
    });
    let all = EvaluatorFunctions(forms);
    let mut evaluator = SsaEvaluator::new(&all, FUEL);
    let parts = evaluator.call(ssa, sizes, parts.collect::<Option<_>>()?).ok()?;
    Some(from_tensors(&ssa.result, &parts.iter().map(|p| IrTensor::clone(p)).collect::<Vec<_>>()))
}

fn holds_sum(ty: &CoreType) -> bool {
    match ty {
        CoreType::Tuple(items, labels) => labels.sum().is_some() || items.iter().any(holds_sum),
        CoreType::Tensor(_, t) => holds_sum(t),
        CoreType::Scalar(_) | CoreType::Rel(_) => false,
    }
}

/// A point: the sizes and arguments of the interpreter, and the same arguments for the evaluators
/// of forms.
struct DerivativePoint {
    sizes: Vec<i64>,
    interpreter_args: Vec<Computed>,
    args: Vec<IrValue>,
    beside: Vec<IrValue>,
}

/// Returns the work of a derivative in Tensor SSA at a point.
fn work_in_ssa(
    forms: &SessionForms<'_>,
    stages: &Stages,
    printed: &PrintedDerivative,
    which: DerivativeMode,
    at: &DerivativePoint,
) -> Option<u64> {
    let ssa = source::derivative_ssa(&forms.module, &stages.ssa.callee, which).ok()??;
    let parts = ssa.inputs.iter().filter(|i| i.source.is_passed()).map(|input| {
        Some(match &input.source {
            InputSource::Tangent(k) => {
                let of = stages.ssa.inputs.get(*k as usize)?;
                let InputSource::Param(p) = &of.source else { return None };
                let nth = printed.varying.iter().position(|v| *v == *p as usize)?;
                part(at.beside.get(nth)?, &of.leaf.path)
            }
            InputSource::Cotangent(k) => part(at.beside.first()?, &stages.ssa.outputs.get(*k as usize)?.0.path),
            InputSource::Param(k) => part(at.args.get(*k as usize)?, &input.leaf.path),
            InputSource::Global(_) => return None,
        })
    });
    let all = EvaluatorFunctions(forms);
    let mut evaluator = SsaEvaluator::new(&all, FUEL);
    evaluator.call(&ssa, &at.sizes, parts.collect::<Option<_>>()?).ok()?;
    Some(evaluator.counts.work)
}

/// Reorders the sizes of a definition to those of another definition with the same size names.
fn named_sizes(session: &Session, def: &GlobalName, sizes: &[i64], other: &GlobalName) -> Vec<i64> {
    let names = |def: &GlobalName| -> Vec<Name> {
        let signature = session.signature(def);
        let implicit = signature.iter().flat_map(|s| s.sizes.iter()).filter(|s| s.source == SizeSource::Implicit);
        implicit.map(|s| s.name.clone()).collect()
    };
    let own = names(def);
    let at = |name: &Name| own.iter().position(|n| n == name).and_then(|k| sizes.get(k).copied());
    names(other).iter().map(|name| at(name).unwrap_or(0)).collect()
}

/// Returns whether the value contains a number that is not finite.
fn is_not_finite(value: &serde_json::Value) -> bool {
    let text = value.to_string();
    ["NaN", "Infinity"]
        .iter()
        .any(|word| text.contains(&format!("\"{word}\"")) || text.contains(&format!("\"-{word}\"")))
}

/// Compares a derivative's definition in the session with another of the same parameters.
///
/// # Errors
/// The first difference.
#[expect(clippy::too_many_arguments, reason = "what is compared with what, and where")]
pub fn compare(
    session: &Session,
    globals: &HashMap<GlobalName, Computed>,
    def: &GlobalName,
    stages: &Stages,
    printed: &PrintedDerivative,
    which: DerivativeMode,
    other: &str,
    tolerance: Tolerance,
    points: &[Option<i64>],
) -> Result<DerivativeComparison, String> {
    let mut compared = DerivativeComparison::default();
    let forms = SessionForms::new(session, globals);
    let mut random = Random::new(23);
    let (first, second) = (GlobalName::new(&def.module, &printed.name), GlobalName::new(&def.module, other));
    for fixed in points {
        let Some(at) = point(&mut random, &forms, stages, printed, which, *fixed) else { continue };
        let (sizes, args) = (at.sizes.clone(), at.interpreter_args.clone());
        // A derivative is meaningless where the value itself is not finite.
        let own = stages.core.params.len();
        let value = run(session, globals, def, &sizes, args.iter().take(own).cloned().collect()).0;
        if value.is_ok_and(|v| golden::json_of(&v).is_ok_and(|v| is_not_finite(&v))) {
            continue;
        }
        let (for_first, for_second) =
            (named_sizes(session, def, &sizes, &first), named_sizes(session, def, &sizes, &second));
        let (wanted, other_counts) = run(session, globals, &second, &for_second, args.clone());
        let (found, counts) = run(session, globals, &first, &for_first, args.clone());
        compared.counts.0 = add(compared.counts.0, counts);
        compared.counts.1 = add(compared.counts.1, other_counts);
        match (wanted, found) {
            (Ok(wanted), Ok(found)) => {
                let (wanted, found) = (golden::json_of(&wanted)?, golden::json_of(&found)?);
                // A different order of operations overflows at different points.
                if is_not_finite(&wanted) {
                    continue;
                }
                if let Some(difference) = tolerance.normwise(&wanted).difference(&found, &wanted, &printed.name) {
                    let args: Vec<String> =
                        args.iter().filter_map(|a| golden::json_of(a).ok()).map(|a| a.to_string()).collect();
                    return Err(format!("{difference}\nat {sizes:?} {}\n{}", args.join(", "), printed.text));
                }
                compared.values += 1;
                if let Some(work) = work_in_ssa(&forms, stages, printed, which, &at) {
                    compared.work = (compared.work.0 + counts.work, compared.work.1 + work);
                }
            }
            (Err(failure), _) => {
                compared.failures += 1;
                compared.first_failure.get_or_insert(failure);
            }
            (Ok(_), Err(failure)) => return Err(format!("{}: {failure}\n{}", printed.name, printed.text)),
        }
    }
    Ok(compared)
}

fn add(a: OperationCounts, b: OperationCounts) -> OperationCounts {
    OperationCounts { work: a.work + b.work, tests: a.tests + b.tests, iterations: a.iterations + b.iterations }
}
