//! **Interpreter oracle.** Computes a definition's value, tangent and second derivative at a point.
//! Definitions that are appended to the module compute the derivatives.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use lang_core::base::{GlobalName, Span};
use lang_core::interp::Interp;
use lang_core::ir::core::{CoreFunction, CoreType};
use lang_core::pipeline::Stages;
use lang_core::runtime::{Host, RunLimits, RuntimeInstance, RuntimeType, Value as Computed};
use lang_core::session::{Session, SessionProgram};
use lang_core::syntax::ops::Scalar;
use lang_core::types::ty::{Signature, Type};

use super::form_laws::{InterpreterResults, LawPoint};
use super::values::{arguments, computed, draw, size_of, sizes_among, varied, varying};
use crate::random::Random;

pub(crate) struct SilentHost;

impl Host for SilentHost {
    fn print(&mut self, _: &str) {}
    fn debug(&mut self, _: &GlobalName, _: Span, _: &str) {}
    fn seconds(&mut self) -> f64 {
        0.0
    }
}

/// Returns the name of the definition that computes the tangent.
#[must_use]
pub fn tangent_name(def: &str) -> String {
    format!("tangent_of_{def}")
}

/// Returns the name of the definition that computes the second derivative.
#[must_use]
pub fn second_name(def: &str) -> String {
    format!("second_of_{def}")
}

/// Returns the signature with `f64` for each type parameter.
#[must_use]
pub fn at_f64(signature: &Signature) -> Signature {
    let put = |ty: &Type| ty.substitute(&|_| Some(Type::F64), &|_| None);
    Signature {
        type_params: Vec::new(),
        sizes: signature.sizes.clone(),
        params: signature.params.iter().map(|(name, ty)| (name.clone(), put(ty))).collect(),
        result: put(&signature.result),
    }
}

/// Returns the type arguments of the instance under test.
#[must_use]
pub fn types(signature: &Signature) -> Vec<Type> {
    vec![Type::F64; signature.type_params.len()]
}

/// Returns definitions that compute the tangent of `def` with the interpreter's operators. If the
/// result is one real, they compute the second derivative too. The text is empty if nothing varies.
#[must_use]
pub fn probes(def: &str, signature: &Signature, core: &CoreFunction) -> String {
    let vary = varying(core);
    let real = |ty: &CoreType| ty.leaves().iter().any(|l| matches!(l.scalar, Some(Scalar::F64 | Scalar::F32)));
    if vary.is_empty() || !real(&core.body.ty) {
        return String::new();
    }
    let signature = at_f64(signature);
    let param = |k: usize, prefix: &str| {
        let (name, ty) = signature.params.get(k)?;
        Some(format!("{prefix}{name}: {ty}"))
    };
    let all = (0..signature.params.len()).filter_map(|k| param(k, "at_"));
    let params: Vec<String> = all.chain(vary.iter().filter_map(|k| param(*k, "d_"))).collect();
    let names = |prefix: &str| {
        let each = vary.iter().filter_map(|k| Some(format!("{prefix}{}", signature.params.get(*k)?.0)));
        each.collect::<Vec<_>>().join(", ")
    };
    let lambda: Vec<String> = vary.iter().filter_map(|k| Some(format!("({})", param(*k, "v_")?))).collect();
    let args = signature.params.iter().enumerate();
    let args = args.map(|(k, (name, _))| format!("{}{name}", if vary.contains(&k) { "v_" } else { "at_" }));
    let (point, direction) = match vary.as_slice() {
        [_] => (names("at_"), names("d_")),
        _ => (format!("({})", names("at_")), format!("({})", names("d_"))),
    };
    let function = format!("\\{}: {def}({})", lambda.join(", "), args.collect::<Vec<_>>().join(", "));
    let params = params.join(", ");
    let mut text = format!("\ndef {}({params}) = jvp2({function})({point}, {direction})\n", tangent_name(def));
    if core.body.ty == CoreType::Scalar(Scalar::F64) {
        text += &format!("\ndef {}({params}) = hvp({function})({point}, {direction})\n", second_name(def));
    }
    text
}

/// Returns the sizes at which a definition is checked. With one size: 0, 1, 2, 3 and 6. With two
/// and `many >= 8`: all pairs of 0 to 3. Else: all 0, all 1, all 2, and `many` random tuples.
#[must_use]
pub fn grid(random: &mut Random, core: &CoreFunction, many: usize) -> Vec<Vec<i64>> {
    let n = core.sizes.len() + sizes_among(core).len();
    let all = |k: i64| vec![k; n];
    match n {
        0 => vec![all(0); many.min(3)],
        1 => [0, 1, 2, 3, 6].map(all).to_vec(),
        2 if many >= 8 => (0..4).flat_map(|a| (0..4).map(move |b| vec![a, b])).collect(),
        _ => {
            let mut sizes = vec![all(0), all(1), all(2)];
            let draw = |random: &mut Random| i64::try_from(random.number_below(5)).unwrap_or(0);
            sizes.extend((0..many).map(|_| (0..n).map(|_| draw(random)).collect::<Vec<i64>>()));
            sizes
        }
    }
}

/// Draws a point with these sizes: first those that a call passes, then those that are arguments.
/// `None` if a type cannot be drawn.
#[must_use]
pub fn point(random: &mut Random, core: &CoreFunction, sizes: &[i64]) -> Option<LawPoint> {
    let args = arguments(random, core, sizes)?;
    let sizes: Vec<i64> = sizes.iter().take(core.sizes.len()).copied().collect();
    let of = size_of(core, &sizes, &args);
    let vary = varying(core).into_iter();
    let along = vary.map(|k| Some(varied(&draw(random, &core.params.get(k)?.1, &of)?))).collect::<Option<Vec<_>>>()?;
    drop(of);
    Some(LawPoint { sizes, args, along })
}

/// A runner of a session's definitions.
pub struct Interpreter<'s> {
    /// The session.
    pub session: &'s Session,
    /// The values of top-level `let`s.
    pub globals: &'s HashMap<GlobalName, Computed>,
    /// A flag that stops a run.
    pub stop: &'s AtomicBool,
}

impl Interpreter<'_> {
    /// Runs a definition at a point, with its derivatives. `None` if its arguments cannot be
    /// constructed.
    #[must_use]
    pub fn ran(&self, def: &GlobalName, stages: &Stages, point: &LawPoint, twice: bool) -> Option<InterpreterResults> {
        let core = &stages.core;
        let of = size_of(core, &point.sizes, &point.args);
        let params = core.params.iter().zip(&point.args);
        let args: Option<Vec<Computed>> = params.map(|((_, ty), v)| computed(v, ty, &of)).collect();
        let args = args?;
        let f64s = core.callee.types.iter().map(|_| RuntimeType::Scalar(Scalar::F64)).collect();
        let (value, counts) = self.call(def, f64s, &point.sizes, args.clone());
        let probe_value = |name: String| {
            let probe = GlobalName::new(&def.module, &name);
            self.session.checked(&probe).filter(|c| c.body.root.is_some())?;
            let types = varying(core).into_iter().filter_map(|k| Some(&core.params.get(k)?.1));
            let along = types.zip(&point.along).map(|(ty, v)| computed(v, ty, &of));
            let all: Option<Vec<Computed>> = args.iter().cloned().map(Some).chain(along).collect();
            let (value, _) = self.call(&probe, Vec::new(), &point.sizes, all?);
            value.ok()
        };
        let tangent = probe_value(tangent_name(&def.name)).and_then(|pair| match pair {
            Computed::Tuple(items) => items.values().get(1).cloned(),
            _ => None,
        });
        let second = if twice { probe_value(second_name(&def.name)) } else { None };
        Some(InterpreterResults { value, counts, tangent, second })
    }

    fn call(
        &self,
        def: &GlobalName,
        types: Vec<RuntimeType>,
        sizes: &[i64],
        args: Vec<Computed>,
    ) -> (Result<Computed, Box<lang_core::runtime::Failure>>, lang_core::runtime::OperationCounts) {
        let program = SessionProgram::new(self.session, self.globals);
        let mut host = SilentHost;
        let limits = RunLimits { max_calls: 1000, max_elements: 1 << 20, max_bytes: 1 << 26, ..RunLimits::default() };
        let mut interp = Interp::new(&program, &mut host, limits, self.stop);
        interp.start_counting();
        let instance = RuntimeInstance { types: types.into(), sizes: sizes.to_vec() };
        let result = interp.call(def, instance, args);
        let counts = interp.counts();
        (result, counts)
    }
}
