//! Definitions held against the interpreter in every form of the compiler's middle: the same value, or a
//! failure alike, and no more work.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lang_core::base::{GlobalName, Name, Span};
use lang_core::interp::{Counts, Host, Interp, Limits, RtInstance, Value as Computed};
use lang_core::ir::core::{Callee, CoreType, Derivation, Function};
use lang_core::ir::eval::{Evaluator, Functions, Stopped};
use lang_core::ir::eval_ssa::{Functions as SsaFunctions, SsaEvaluator, Tensor};
use lang_core::ir::flat::Source;
use lang_core::ir::ssa::Ssa;
use lang_core::ir::value::Value;
use lang_core::pipeline::{Module, Stages};
use lang_core::predicate::{Atom, Poly};
use lang_core::session::{Running, Session};
use lang_core::syntax::ops::Scalar;
use lang_core::types::ty::{Signature, SizeSource};

use crate::random::Random;

/// Steps that an evaluation may take.
pub(crate) const FUEL: u64 = 20_000_000;

pub(crate) struct Silent;

impl Host for Silent {
    fn print(&mut self, _: &str) {}
    fn debug(&mut self, _: &GlobalName, _: Span, _: &str) {}
    fn seconds(&mut self) -> f64 {
        0.0
    }
}

/// The forms of a session's definitions, for the evaluators.
pub struct Forms<'a> {
    /// The definitions.
    pub module: Module<'a>,
    globals: &'a HashMap<GlobalName, Computed>,
}

impl<'a> Forms<'a> {
    /// Those of a session whose top-level `let`s have these values.
    #[must_use]
    pub fn new(session: &'a Session, globals: &'a HashMap<GlobalName, Computed>) -> Self {
        Self { module: Module::new(session), globals }
    }
}

impl Functions for Forms<'_> {
    fn function(&self, callee: &Callee) -> Option<Arc<Function>> {
        Some(self.module.stages(&Arc::new(callee.clone())).ok()?.core.clone())
    }

    fn global(&self, name: &GlobalName) -> Option<Value> {
        plain(self.globals.get(name)?, None)
    }
}

/// The same, of lifted core.
struct Lifted<'f, 'a>(&'f Forms<'a>);

impl Functions for Lifted<'_, '_> {
    fn function(&self, callee: &Callee) -> Option<Arc<Function>> {
        Some(self.0.module.stages(&Arc::new(callee.clone())).ok()?.lifted.clone())
    }

    fn global(&self, name: &GlobalName) -> Option<Value> {
        Functions::global(self.0, name)
    }
}

impl SsaFunctions for Forms<'_> {
    fn ssa(&self, callee: &Callee) -> Option<Arc<Ssa>> {
        self.module.ssa(&Arc::new(callee.clone()))
    }

    fn global(&self, name: &GlobalName, path: &[u32]) -> Option<Tensor> {
        let value = plain(self.globals.get(name)?, None)?;
        Some(part(&value, path))
    }
}

/// A value of the interpreter as the evaluators have it; records in the order of their names.
#[must_use]
pub fn plain(value: &Computed, ty: Option<&CoreType>) -> Option<Value> {
    let inner = |k: usize| match ty {
        Some(CoreType::Tuple(items, _)) => items.get(k),
        _ => None,
    };
    Some(match value {
        Computed::F64(x) => Value::F64(*x),
        Computed::F32(x) => Value::F32(*x),
        Computed::I64(i) => Value::I64(*i),
        Computed::Bool(b) => Value::Bool(*b),
        Computed::Tuple(items) => {
            let items = items.values().iter().enumerate().map(|(k, v)| plain(v, inner(k)));
            Value::Tuple(items.collect::<Option<_>>()?)
        }
        Computed::Record(r) => {
            let mut order: Vec<usize> = (0..r.names().len()).collect();
            order.sort_by_key(|k| r.names().get(*k));
            let items = order.iter().enumerate().map(|(k, j)| plain(r.values().get(*j)?, inner(k)));
            Value::Tuple(items.collect::<Option<_>>()?)
        }
        Computed::Array(array) => {
            let mut element = ty;
            for _ in array.dims() {
                if let Some(CoreType::Tensor(_, inner)) = element {
                    element = Some(inner);
                }
            }
            let items: Vec<Value> =
                (0..array.count()).map(|k| plain(&array.element(k)?, element)).collect::<Option<_>>()?;
            nested(&mut items.into_iter(), array.dims())
        }
        Computed::Data(cell) => {
            let CoreType::Tuple(parts, _) = ty? else { return None };
            let tag = usize::try_from(cell.tag().index).ok()?;
            let mut items = vec![Value::I64(i64::try_from(tag).ok()?)];
            for (k, part) in parts.iter().skip(1).enumerate() {
                items.push(if k == tag {
                    let types = if let CoreType::Tuple(types, _) = part { types.to_vec() } else { Vec::new() };
                    let args = cell.args().iter().enumerate().map(|(j, v)| plain(v, types.get(j)));
                    Value::Tuple(args.collect::<Option<_>>()?)
                } else {
                    // What another constructor has is not compared.
                    Value::Tuple(Vec::new())
                });
            }
            Value::Tuple(items)
        }
        _ => return None,
    })
}

fn nested(items: &mut dyn Iterator<Item = Value>, dims: &[usize]) -> Value {
    match dims.split_first() {
        None => items.next().unwrap_or(Value::Tuple(Vec::new())),
        Some((n, rest)) => Value::Array((0..*n).map(|_| nested(items, rest)).collect()),
    }
}

/// A part of a value: a path through tuples, arrays of tuples taken as tuples of arrays.
pub(crate) fn part(value: &Value, path: &[u32]) -> Tensor {
    fn fill(value: &Value, path: &[u32], depth: usize, out: &mut Tensor) {
        match value {
            Value::Array(items) => {
                if out.dims.len() == depth {
                    out.dims.push(items.len());
                }
                items.iter().for_each(|item| fill(item, path, depth + 1, out));
            }
            Value::Tuple(items) => {
                if let Some((k, rest)) = path.split_first()
                    && let Some(item) = items.get(*k as usize)
                {
                    fill(item, rest, depth, out);
                }
            }
            Value::Rel(rows) => {
                let row = |r: &Vec<i64>| Value::Tuple(r.iter().map(|i| Value::I64(*i)).collect());
                out.items.extend(rows.iter().map(row));
            }
            scalar => out.items.push(scalar.clone()),
        }
    }
    let mut out = Tensor { dims: Vec::new(), items: Vec::new() };
    fill(value, path, 0, &mut out);
    out
}

/// A value for the interpreter.
fn computed(value: &Value, ty: &CoreType, sizes: &dyn Fn(&Poly) -> i64) -> Option<Computed> {
    let (dims, element) = ty.peel();
    if !dims.is_empty() {
        let dims: Vec<usize> = dims.iter().map(|n| usize::try_from(sizes(n)).unwrap_or(0)).collect();
        let mut items = Vec::new();
        flatten(value, dims.len(), &mut items);
        let scalar = element.scalar()?;
        return match scalar {
            Scalar::F64 => Computed::array(
                &dims,
                items.iter().map(|v| if let Value::F64(x) = v { *x } else { 0.0 }).collect::<Vec<f64>>(),
            ),
            Scalar::F32 => Computed::array(
                &dims,
                items.iter().map(|v| if let Value::F32(x) = v { *x } else { 0.0 }).collect::<Vec<f32>>(),
            ),
            Scalar::I64 => Computed::array(&dims, items.iter().map(|v| v.int().unwrap_or(0)).collect::<Vec<i64>>()),
            Scalar::Bool => {
                Computed::array(&dims, items.iter().map(|v| v.truth().unwrap_or(false)).collect::<Vec<bool>>())
            }
        };
    }
    Some(match (value, ty) {
        (Value::F64(x), _) => Computed::F64(*x),
        (Value::F32(x), _) => Computed::F32(*x),
        (Value::I64(i), _) => Computed::I64(*i),
        (Value::Bool(b), _) => Computed::Bool(*b),
        (Value::Tuple(items), CoreType::Tuple(types, names)) => {
            let items: Option<Vec<Computed>> =
                items.iter().zip(types.iter()).map(|(v, t)| computed(v, t, sizes)).collect();
            match names {
                None => Computed::tuple(items?),
                Some(names) => Computed::record(names.iter().cloned().zip(items?).collect::<Vec<(Name, Computed)>>()),
            }
        }
        _ => return None,
    })
}

fn flatten(value: &Value, depth: usize, out: &mut Vec<Value>) {
    match value {
        Value::Array(items) if depth > 0 => items.iter().for_each(|v| flatten(v, depth - 1, out)),
        other => out.push(other.clone()),
    }
}

/// A value of a type: dyadic numbers, small integers.
pub(crate) fn draw(random: &mut Random, ty: &CoreType, sizes: &dyn Fn(&Poly) -> i64) -> Option<Value> {
    Some(match ty {
        CoreType::Scalar(s) => {
            let small = |random: &mut Random| i32::try_from(random.below(33)).unwrap_or(0) - 16;
            match s {
                Scalar::F64 => Value::F64(f64::from(small(random)) / 8.0),
                #[expect(clippy::cast_possible_truncation, reason = "dyadic numbers are exact")]
                Scalar::F32 => Value::F32((f64::from(small(random)) / 8.0) as f32),
                Scalar::I64 => Value::I64(i64::try_from(random.below(6)).unwrap_or(0) - 1),
                Scalar::Bool => Value::Bool(random.below(2) == 0),
            }
        }
        CoreType::Tuple(items, _) => Value::Tuple(items.iter().map(|t| draw(random, t, sizes)).collect::<Option<_>>()?),
        CoreType::Tensor(n, t) => Value::Array((0..sizes(n)).map(|_| draw(random, t, sizes)).collect::<Option<_>>()?),
        CoreType::Rel(_) => return None,
    })
}

/// What came of a definition.
#[derive(Debug, Default)]
pub struct Judged {
    /// Points at which there was a value.
    pub values: u32,
    /// Points at which all failed alike.
    pub failures: u32,
    /// Counts of the interpreter and of Tensor SSA, of the last point.
    pub counts: (Counts, Counts),
}

/// Holds a definition against the interpreter at random points.
///
/// # Errors
/// What differs, with the forms.
pub fn judge(
    session: &Session,
    forms: &Forms<'_>,
    globals: &HashMap<GlobalName, Computed>,
    def: &GlobalName,
    stages: &Stages,
    seed: u64,
    points: u32,
) -> Result<Judged, String> {
    let mut judged = Judged::default();
    let Some(signature) = session.signature(def) else { return Ok(judged) };
    if !signature.type_params.is_empty() {
        return Ok(judged);
    }
    let mut random = Random::new(seed);
    for _ in 0..points {
        let Some((sizes, args)) = arguments(&mut random, &signature, &stages.core, None) else { continue };
        let size_of = size_of(&stages.core, &sizes, &args);
        let given: Option<Vec<Computed>> =
            stages.core.params.iter().zip(&args).map(|((_, ty), v)| computed(v, ty, &size_of)).collect();
        let Some(given) = given else { continue };
        let program = Running::new(session, globals);
        let interrupt = AtomicBool::new(false);
        let mut host = Silent;
        let limits = Limits { max_calls: 1000, max_elements: 1 << 20, max_bytes: 1 << 26, ..Limits::default() };
        let mut interp = Interp::new(&program, &mut host, limits, &interrupt);
        interp.count();
        let instance = RtInstance { types: Arc::from([]), sizes: sizes.clone() };
        let wanted = interp.call(def, instance, given);
        let counted = interp.counts();
        let show = |what: &str, found: &str, form: &str| {
            format!("{def} at {sizes:?} {args:?}: {what}\n  wanted {wanted:?}\n  found {found}\n{form}")
        };
        let mut core = Evaluator::new(forms, FUEL);
        let mut results =
            vec![("core", core.call(&stages.core, &sizes, args.clone()), core.counts, stages.core.to_string())];
        let inner = Lifted(forms);
        let mut lifted = Evaluator::new(&inner, FUEL);
        let result = lifted.call(&stages.lifted, &sizes, args.clone());
        results.push(("lifted", result, lifted.counts, stages.lifted.to_string()));
        let mut ssa = SsaEvaluator::new(forms, FUEL);
        let parts = stages.ssa.inputs.iter().filter_map(|input| match &input.source {
            Source::Param(k) => Some(part(args.get(*k as usize)?, &input.leaf.path)),
            _ => None,
        });
        let found = ssa.call(&stages.ssa, &sizes, parts.collect());
        judged.counts = (counted, ssa.counts);
        let text = stages.ssa.to_string();
        // The interpreter's `any` and `all` stop early; what they ask is an array here.
        let early = text.contains("(any ") || text.contains("](");
        match (&wanted, &found) {
            (_, Err(Stopped::Fuel)) => continue,
            (Ok(wanted), Ok(found)) => {
                let wanted = plain(wanted, Some(&stages.ssa.result)).ok_or("a value of another kind")?;
                for ((leaf, _), found) in stages.ssa.outputs.iter().zip(found) {
                    let wanted = part(&wanted, &leaf.path);
                    if !same(&wanted.items, &found.items) && !hidden(&wanted) {
                        return Err(show("another value", &format!("{found:?}"), &text));
                    }
                }
                judged.values += 1;
            }
            (Err(_), Err(Stopped::Failed(_))) => judged.failures += 1,
            // A failure that nothing depends on may be left out.
            (Err(_), Ok(_)) => judged.failures += 1,
            (_, found) => return Err(show("SSA", &format!("{found:?}"), &text)),
        }
        for (name, result, counts, text) in results {
            match (&wanted, &result) {
                (_, Err(Stopped::Fuel)) => {}
                (Ok(wanted), Ok(found)) => {
                    let wanted = plain(wanted, Some(&stages.ssa.result)).ok_or("a value of another kind")?;
                    for leaf in stages.core.body.ty.leaves() {
                        let (wanted, found) = (part(&wanted, &leaf.path), part(found, &leaf.path));
                        if !same(&wanted.items, &found.items) && !hidden(&wanted) {
                            return Err(show(name, &format!("{found:?}"), &text));
                        }
                    }
                    if counts.work > counted.work && !early {
                        return Err(show("more work", &format!("{name}: {counts:?} than {counted:?}"), &text));
                    }
                }
                (Err(_), Err(Stopped::Failed(_)) | Ok(_)) => {}
                (_, found) => return Err(show(name, &format!("{found:?}"), &text)),
            }
        }
        if wanted.is_ok() && ssa.counts.work > counted.work && !early {
            return Err(show("more work", &format!("{:?} than {counted:?}", ssa.counts), &text));
        }
    }
    Ok(judged)
}

/// Is it the payload of a constructor that the value is not made by?
fn hidden(wanted: &Tensor) -> bool {
    wanted.items.is_empty()
}

/// How far sums in another order may be from each other, relative to the largest element.
const REASSOCIATED: f64 = 1e-9;

/// The same but for the order of additions.
fn same(a: &[Value], b: &[Value]) -> bool {
    let real = |v: &Value| match v {
        Value::F64(x) => Some(*x),
        Value::F32(x) => Some(f64::from(*x)),
        _ => None,
    };
    let finite = a.iter().filter_map(real).filter(|x| x.is_finite());
    let single = a.iter().any(|v| matches!(v, Value::F32(_)));
    let scale = finite.fold(1.0_f64, |m, x| m.max(x.abs())) * if single { 1e-4 } else { REASSOCIATED };
    let equal = |a: &Value, b: &Value| match (real(a), real(b)) {
        (Some(x), Some(y)) => x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= scale,
        _ => a == b,
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
}

/// Sizes, all of them this one if it is given, and arguments that fit them.
pub(crate) fn arguments(
    random: &mut Random,
    signature: &Signature,
    core: &Function,
    size: Option<i64>,
) -> Option<(Vec<i64>, Vec<Value>)> {
    let sizes: Vec<i64> =
        core.sizes.iter().map(|_| size.unwrap_or_else(|| i64::try_from(random.below(5)).unwrap_or(0))).collect();
    let mut ints: Vec<Value> = Vec::new();
    let mut args = Vec::new();
    for (k, (_, ty)) in core.params.iter().enumerate() {
        let used = signature.sizes.iter().any(|s| matches!(s.source, SizeSource::Param(j) if j as usize == k));
        let value = match (ty, used) {
            (CoreType::Scalar(Scalar::I64), true) => {
                Value::I64(size.unwrap_or_else(|| i64::try_from(random.below(5)).unwrap_or(0)))
            }
            _ => {
                let so_far: Vec<Value> = args.clone();
                let of = size_of(core, &sizes, &so_far);
                if ty.peel().0.iter().any(|n| of(n) < 0) {
                    return None;
                }
                draw(random, ty, &of)?
            }
        };
        ints.push(value.clone());
        args.push(value);
    }
    Some((sizes, args))
}

/// The value of an extent.
pub(crate) fn size_of(core: &Function, sizes: &[i64], args: &[Value]) -> impl Fn(&Poly) -> i64 + use<> {
    let mut locals: HashMap<u32, i64> = core.sizes.iter().map(|l| l.0).zip(sizes.iter().copied()).collect();
    locals.extend(core.params.iter().zip(args).filter_map(|((l, _), v)| Some((l.0, v.int()?))));
    move |p: &Poly| {
        p.eval(&mut |a| match a {
            Atom::Local(l, _) => locals.get(&l.0).copied(),
            _ => None,
        })
        .unwrap_or(-1)
    }
}

/// The parameters of a definition that are made of reals alone, and so can vary.
fn varying(core: &Function) -> Vec<usize> {
    let real = |ty: &CoreType| {
        let leaves = ty.leaves();
        !leaves.is_empty() && leaves.iter().all(|l| matches!(l.scalar, Some(Scalar::F64 | Scalar::F32)))
    };
    core.params.iter().enumerate().filter(|(_, (_, ty))| real(ty)).map(|(k, _)| k).collect()
}

/// The name of the definition that asks the interpreter for a derivative.
#[must_use]
pub fn probe_name(def: &str) -> String {
    format!("tangent_of_{def}")
}

/// The text of a definition that gives value and tangent of another in the interpreter's way; `None` where
/// nothing in it varies.
#[must_use]
pub fn probe(def: &str, signature: &Signature, core: &Function) -> Option<String> {
    let vary = varying(core);
    if vary.is_empty() || core.body.ty.leaves().iter().all(|l| !matches!(l.scalar, Some(Scalar::F64 | Scalar::F32))) {
        return None;
    }
    let param = |k: usize, prefix: &str| {
        let (name, ty) = signature.params.get(k)?;
        Some(format!("{prefix}{name}: {ty}"))
    };
    let all = (0..signature.params.len()).filter_map(|k| param(k, "at_"));
    let tangents = vary.iter().filter_map(|k| param(*k, "d_"));
    let params: Vec<String> = all.chain(tangents).collect();
    let names = |prefix: &str| {
        vary.iter()
            .filter_map(|k| Some(format!("{prefix}{}", signature.params.get(*k)?.0)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let lambda: Vec<String> = vary.iter().filter_map(|k| Some(format!("({})", param(*k, "v_")?))).collect();
    let args: Vec<String> = signature
        .params
        .iter()
        .enumerate()
        .map(|(k, (name, _))| format!("{}{name}", if vary.contains(&k) { "v_" } else { "at_" }))
        .collect();
    let (point, direction) = match vary.as_slice() {
        [_] => (names("at_"), names("d_")),
        _ => (format!("({})", names("at_")), format!("({})", names("d_"))),
    };
    Some(format!(
        "\ndef {}({}) = jvp2(\\{}: {def}({}))({point}, {direction})\n",
        probe_name(def),
        params.join(", "),
        lambda.join(", "),
        args.join(", ")
    ))
}

/// What came of the derivatives of a definition.
#[derive(Debug, Default)]
pub struct Derived {
    /// Points at which tangents were compared.
    pub tangents: u32,
    /// Points at which the identity of the inner products was compared.
    pub products: u32,
    /// The greatest ratio of the work of the forward derivative to that of the function (ATL Theorem 6.1).
    pub forward: f64,
    /// The greatest ratio of the work of the adjoint to that of the function, inputs and outputs added to both
    /// (Theorem 6.35).
    pub adjoint: f64,
}

/// Holds the derivatives of a definition on Tensor SSA against the interpreter's tangent, and the adjoint
/// against the forward derivative, at random points.
///
/// # Errors
/// What differs, with the forms.
#[expect(clippy::too_many_lines, reason = "one point after another, each in both ways")]
pub fn judge_derivatives(
    session: &Session,
    forms: &Forms<'_>,
    globals: &HashMap<GlobalName, Computed>,
    def: &GlobalName,
    stages: &Stages,
    seed: u64,
    points: u32,
) -> Result<Derived, String> {
    let mut derived = Derived::default();
    let probe = GlobalName::new(&def.module, &probe_name(&def.name));
    let Some(signature) = session.signature(def) else { return Ok(derived) };
    if session.signature(&probe).is_none() {
        return Ok(derived);
    }
    let core = &stages.core;
    let vary = varying(core);
    let callee = Arc::new(Callee::new(def.clone(), Vec::new()));
    let wrt: Arc<[u32]> = (0..)
        .zip(&stages.ssa.inputs)
        .filter(|(_, i)| matches!(&i.source, Source::Param(k) if vary.contains(&(*k as usize))))
        .map(|(k, _)| k)
        .collect();
    let form = |derivation: Derivation| {
        let callee = Arc::new(callee.derive(derivation));
        forms.module.ssa(&callee).ok_or_else(|| format!("{def} has no {callee}"))
    };
    let (forward, adjoint) = (form(Derivation::Forward(wrt.clone()))?, form(Derivation::Adjoint(wrt.clone()))?);
    let mut random = Random::new(seed);
    let outputs = stages.ssa.outputs.len();
    for _ in 0..points {
        let Some((sizes, args)) = arguments(&mut random, &signature, core, None) else { continue };
        let of = size_of(core, &sizes, &args);
        let tangents: Option<Vec<Value>> =
            vary.iter().map(|k| draw(&mut random, &core.params.get(*k)?.1, &of)).collect();
        let Some(tangents) = tangents else { continue };
        let types = core.params.iter().map(|p| &p.1).chain(vary.iter().filter_map(|k| Some(&core.params.get(*k)?.1)));
        let given: Option<Vec<Computed>> =
            args.iter().chain(&tangents).zip(types).map(|(v, t)| computed(v, t, &of)).collect();
        let Some(given) = given else { continue };
        let program = Running::new(session, globals);
        let interrupt = AtomicBool::new(false);
        let mut host = Silent;
        let limits = Limits { max_calls: 1000, max_elements: 1 << 20, max_bytes: 1 << 26, ..Limits::default() };
        let mut interp = Interp::new(&program, &mut host, limits, &interrupt);
        let instance = RtInstance { types: Arc::from([]), sizes: sizes.clone() };
        let Ok(wanted) = interp.call(&probe, instance, given) else { continue };
        let Some(Value::Tuple(wanted)) = plain(&wanted, None) else { continue };
        let show = |what: &str, wanted: &str, found: &str, form: &str| {
            format!(
                "{def} at {sizes:?} {args:?} along {tangents:?}: {what}\n  wanted {wanted}\n  found {found}\n{}{form}",
                stages.core
            )
        };
        let primal_parts: Vec<Tensor> = stages
            .ssa
            .inputs
            .iter()
            .filter_map(|input| match &input.source {
                Source::Param(k) => Some(part(args.get(*k as usize)?, &input.leaf.path)),
                _ => None,
            })
            .collect();
        let tangent_parts: Vec<Tensor> = wrt
            .iter()
            .filter_map(|k| {
                let input = stages.ssa.inputs.get(*k as usize)?;
                let Source::Param(p) = &input.source else { return None };
                let nth = vary.iter().position(|v| *v == *p as usize)?;
                Some(part(tangents.get(nth)?, &input.leaf.path))
            })
            .collect();
        let mut evaluator = SsaEvaluator::new(forms, FUEL);
        let all = primal_parts.iter().chain(&tangent_parts).cloned().collect();
        let text = forward.to_string();
        let found = match evaluator.call(&forward, &sizes, all) {
            Ok(found) => found,
            Err(Stopped::Fuel) => continue,
            Err(stopped) => return Err(show("forward", "a value", &format!("{stopped:?}"), &text)),
        };
        let forward_work = evaluator.counts.work;
        let Some(wanted_tangent) = wanted.get(1) else { continue };
        // Where the value is none, what its tangent is says nothing.
        if found.iter().take(outputs).any(|t| t.items.iter().any(|v| matches!(v, Value::F64(x) if !x.is_finite()))) {
            continue;
        }
        let real: Vec<_> = stages
            .ssa
            .outputs
            .iter()
            .filter(|(leaf, _)| matches!(leaf.scalar, Some(Scalar::F64 | Scalar::F32)))
            .collect();
        for ((leaf, _), found) in real.iter().zip(found.iter().skip(outputs)) {
            let wanted = part(wanted_tangent, &leaf.path);
            if !same(&wanted.items, &found.items) && !hidden(&wanted) {
                return Err(show("another tangent", &format!("{wanted:?}"), &format!("{found:?}"), &text));
            }
        }
        derived.tangents += 1;
        // <y, D f v> = <D^T f y, v>
        let mut seeds = Vec::new();
        for tangent in found.iter().skip(outputs) {
            let items = tangent.items.iter().map(|v| {
                let ty = CoreType::Scalar(v.scalar().unwrap_or(Scalar::F64));
                draw(&mut random, &ty, &|_| 0).unwrap_or(Value::F64(0.0))
            });
            seeds.push(Tensor { dims: tangent.dims.clone(), items: items.collect() });
        }
        let mut evaluator = SsaEvaluator::new(forms, FUEL);
        let all = primal_parts.iter().chain(&seeds).cloned().collect();
        let text = adjoint.to_string();
        let back = match evaluator.call(&adjoint, &sizes, all) {
            Ok(back) => back,
            Err(Stopped::Fuel) => continue,
            Err(stopped) => return Err(show("adjoint", "a value", &format!("{stopped:?}"), &text)),
        };
        let (left, size) = dot(&seeds, found.iter().skip(outputs).map(|t| &**t));
        let (right, other) = dot(&tangent_parts, back.iter().skip(outputs).map(|t| &**t));
        let scale = size.max(other).max(1.0);
        let single = seeds.iter().chain(&tangent_parts).any(|t| t.items.iter().any(|v| matches!(v, Value::F32(_))));
        let tolerance = if single { 1e-3 } else { 1e-9 };
        if left.is_finite() && right.is_finite() && (left - right).abs() > scale * tolerance
            || left.is_finite() != right.is_finite() && scale.is_finite()
        {
            return Err(show("inner products", &format!("{left}"), &format!("{right}: {back:?} for {seeds:?}"), &text));
        }
        derived.products += 1;
        let mut primal = SsaEvaluator::new(forms, FUEL);
        if primal.call(&stages.ssa, &sizes, primal_parts.clone()).is_ok() {
            let io: usize = primal_parts.iter().chain(&seeds).map(|t| t.items.len()).sum();
            #[expect(clippy::cast_precision_loss, reason = "counts of small programs")]
            let over = |derived: u64, of: u64| if derived == 0 { 0.0 } else { derived as f64 / of as f64 };
            let io = u64::try_from(io).unwrap_or(u64::MAX);
            derived.forward = derived.forward.max(over(forward_work, primal.counts.work));
            derived.adjoint = derived.adjoint.max(over(evaluator.counts.work + io, primal.counts.work + io));
        }
    }
    Ok(derived)
}

/// The inner product, and the sum of the absolute values of its terms.
fn dot<'t>(a: &[Tensor], b: impl Iterator<Item = &'t Tensor>) -> (f64, f64) {
    let real = |v: &Value| match v {
        Value::F64(x) => *x,
        Value::F32(x) => f64::from(*x),
        _ => 0.0,
    };
    let pairs = a.iter().zip(b).flat_map(|(a, b)| a.items.iter().zip(&b.items));
    pairs.fold((0.0, 0.0), |(sum, size), (a, b)| {
        let product = real(a) * real(b);
        (sum + product, size + product.abs())
    })
}
