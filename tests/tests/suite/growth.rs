//! **Growth of gradients** in programs that are traps for other tools. At doubling sizes, counts
//! work and iterations of the value and of the gradient with the evaluator. Also finds the least
//! memory in which the engine runs. A gradient's fitted exponents must not exceed those of the
//! value. The book's page also has JAX's times of the same programs, which `benches/jax_traps.py`
//! measures.
#![expect(clippy::expect_used, reason = "what helpers of a test cannot make fails the test")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use expect_test::expect_file;
use iverson_tests::golden;
use iverson_tests::middle::call_inputs::CallInputs;
use iverson_tests::middle::engine_oracle::{EngineDefinitions, flat};
use iverson_tests::middle::forms::{EvaluatorFunctions, FormProvider as _, SessionForms};
use lang_core::ad::{is_real, real_outputs};
use lang_core::base::GlobalName;
use lang_core::eval::eval_ssa::SsaEvaluator;
use lang_core::exec;
use lang_core::ir::core::{DerivativeKind, FunctionKey};
use lang_core::ir::flat::InputSource;
use lang_core::ir::ssa::SsaFunction;
use lang_core::ir::value::IrValue;
use lang_core::runtime::RunLimits;

/// A function from a size to a program's implicit sizes and arguments.
type SizedArguments = fn(usize) -> (Vec<i64>, Vec<IrValue>);

/// A tested program.
struct Trap {
    /// The names of the program and of the definition.
    program: &'static str,
    value: &'static str,
    /// The definition of the derivative; `None` for the adjoint by the parameters `by`.
    gradient: Option<&'static str>,
    by: &'static [usize],
    /// The program's name in JAX's table.
    jax: &'static str,
    /// The implicit sizes and the arguments; `derived_at` holds those of a gradient that is a
    /// definition.
    at: SizedArguments,
    derived_at: SizedArguments,
    first: usize,
}

fn reals(n: usize) -> IrValue {
    let real = |k: usize| IrValue::F64(0.25 + 0.75 * f64::from(u32::try_from(k * 37 % 64).unwrap_or(0)) / 64.0);
    IrValue::Array((0..n).map(real).collect())
}

fn table(n: usize, m: usize) -> IrValue {
    IrValue::Array((0..n).map(|_| reals(m)).collect())
}

fn integer(n: usize) -> IrValue {
    IrValue::I64(size(n))
}

fn size(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn array(n: usize) -> (Vec<i64>, Vec<IrValue>) {
    (vec![size(n)], vec![reals(n)])
}

/// Returns an array with one element more than its size.
fn one_more(n: usize) -> (Vec<i64>, Vec<IrValue>) {
    (vec![size(n)], vec![reals(n + 1)])
}

fn two(n: usize) -> (Vec<i64>, Vec<IrValue>) {
    (vec![size(n)], vec![reals(n), reals(n)])
}

fn blocks(n: usize) -> (Vec<i64>, Vec<IrValue>) {
    (Vec::new(), vec![integer(n), table(10, 10)])
}

fn places(n: usize) -> (Vec<i64>, Vec<IrValue>) {
    let at = (0..n).map(|k| integer(k * 7 % n)).collect();
    (vec![size(n)], vec![IrValue::Array(at), reals(n)])
}

/// The programs, in the order of JAX's table.
const TRAPS: &[Trap] = &[
    adjoint("update", "update", &[1], blocks, 16),
    adjoint("guarded_update", "guarded_update", &[1], blocks, 16),
    adjoint("triangular", "triangular", &[0, 1], two, 16),
    adjoint("early_stop", "early_stop", &[1], |n| (Vec::new(), vec![integer(n), IrValue::F64(0.5)]), 64),
    adjoint("indexing", "indexing", &[0], array, 64),
    adjoint("one_element", "one_element", &[0], one_more, 64),
    adjoint("accumulation", "accumulation", &[1], |n| (vec![100], vec![integer(n), reals(100)]), 16),
    operator("elementwise", "pushed", "elementwise_jvp", array),
    operator("elementwise", "pulled", "elementwise_vjp", array),
    operator("summed", "curved", "elementwise_hvp", array),
    adjoint("diagonal", "diagonal", &[0], one_more, 64),
    adjoint("product", "product", &[0], array, 64),
    adjoint("product", "product_folded", &[0], array, 64),
    adjoint("gather", "gather", &[1], places, 64),
    adjoint("gather", "gather_reversed", &[0], array, 64),
    adjoint("skipped", "skipped", &[0], array, 64),
    adjoint("traces", "traces", &[1], |n| (vec![size(n)], vec![IrValue::I64(4), reals(n)]), 64),
    adjoint(
        "batched_fit",
        "batched_fit",
        &[1],
        |b| (vec![size(b), 32, 8], vec![table(b, 39), reals(8), table(b, 32)]),
        8,
    ),
];

const fn adjoint(
    program: &'static str,
    value: &'static str,
    by: &'static [usize],
    at: SizedArguments,
    first: usize,
) -> Trap {
    Trap { program, value, gradient: None, by, jax: value, at, derived_at: at, first }
}

const fn operator(value: &'static str, gradient: &'static str, jax: &'static str, at: SizedArguments) -> Trap {
    Trap { program: "elementwise", value, gradient: Some(gradient), by: &[], jax, at, derived_at: two, first: 64 }
}

/// The number of sizes, each twice the previous one.
const DOUBLINGS: usize = 5;

/// The allowed excess of a gradient's exponent, because constant costs matter less as sizes grow.
const SLACK: f64 = 0.1;

#[derive(Clone, Copy, Default)]
struct RunCounts {
    work: u64,
    iterations: u64,
    bytes: u64,
}

impl RunCounts {
    fn each(self) -> [u64; 3] {
        [self.work, self.iterations, self.bytes]
    }
}

/// Returns the counts of a function at arguments; tangents and cotangents are ones.
fn counted(
    forms: &SessionForms<'_>,
    of: &str,
    ssa: &Arc<SsaFunction>,
    (sizes, args): &(Vec<i64>, Vec<IrValue>),
) -> RunCounts {
    let stages = forms.stages(&callee(of)).expect("it has forms");
    let ir_tensors = CallInputs::of(&stages.core, ssa, sizes, args, &|_| 1.0).tensors;
    let world = EvaluatorFunctions(forms);
    let mut evaluator = SsaEvaluator::new(&world, 1 << 32);
    evaluator.call(ssa, sizes, ir_tensors.clone()).expect("it has a value");
    // The arguments exist before the run.
    let around: usize = ir_tensors.iter().map(|t| 8 * t.items.len()).sum();
    let inputs = ssa.inputs.iter().filter(|i| i.source.is_passed());
    let tensors: Vec<exec::Tensor> =
        inputs.zip(&ir_tensors).map(|(i, t)| flat(t, i.leaf.scalar).expect("an array of numbers")).collect();
    let enough = |bytes: usize| {
        let limits = RunLimits { max_bytes: bytes, ..RunLimits::default() };
        exec::run(
            &EngineDefinitions(forms),
            &exec::ExecutableCache::default(),
            ssa,
            sizes,
            tensors.clone(),
            limits,
            &AtomicBool::new(false),
        )
        .is_ok()
    };
    let (mut least, mut most) = (0, 1_usize << 30);
    assert!(enough(most), "it runs in a gibibyte");
    while least < most {
        let middle = least.midpoint(most);
        if enough(middle) { most = middle } else { least = middle + 1 }
    }
    let bytes = u64::try_from(around + most).unwrap_or(u64::MAX);
    RunCounts { work: evaluator.counts.work, iterations: evaluator.counts.iterations, bytes }
}

fn callee(name: &str) -> Arc<FunctionKey> {
    let (module, name) = name.split_once("::").unwrap_or(("", name));
    Arc::new(FunctionKey::new(GlobalName::new(module, name), Vec::new()))
}

/// Returns the slope of the logarithms, by least squares.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn exponent(counts: &[u64]) -> f64 {
    let n = counts.len() as f64;
    let logs: Vec<f64> = counts.iter().map(|c| (*c as f64).max(1.0).log2()).collect();
    let (mean, middle) = (logs.iter().sum::<f64>() / n, (n - 1.0) / 2.0);
    let over: f64 = logs.iter().enumerate().map(|(k, y)| (k as f64 - middle) * (y - mean)).sum();
    let under: f64 = (0..counts.len()).map(|k| (k as f64 - middle).powi(2)).sum();
    over / under
}

#[test]
fn gradients_grow_like_values() {
    let programs = golden::programs().expect("the programs can be read");
    let session = golden::session(&programs);
    let globals = HashMap::new();
    let jax: serde_json::Value = serde_json::from_str(include_str!("../../../benches/jax_traps.json"))
        .expect("what benches/jax_traps.py writes");
    let mut rows = String::new();
    let mut steep = Vec::new();
    for trap in TRAPS {
        let module = golden::module(&format!("traps/{}", trap.program));
        let full = |name: &str| format!("{module}::{name}");
        let forms = SessionForms::new(&session, &globals);
        let name = full(trap.value);
        let value = forms.ssa(&callee(&name)).expect("it has forms");
        let of_gradient = full(trap.gradient.unwrap_or(trap.value));
        let gradient = match trap.gradient {
            Some(_) => forms.ssa(&callee(&of_gradient)),
            None => {
                let wrt = (0..).zip(&value.inputs).filter(|(_, input)| {
                    is_real(input.leaf.scalar)
                        && matches!(input.source, InputSource::Param(k) if trap.by.contains(&(k as usize)))
                });
                let wrt: Vec<u32> = wrt.map(|(k, _)| k).collect();
                let derived = DerivativeKind::Adjoint { outputs: real_outputs(&value).into(), wrt: wrt.into() };
                forms.ssa(&Arc::new(callee(&name).derivative(derived)))
            }
        };
        let gradient = gradient.expect("it has a derivative");
        let sizes: Vec<usize> = (0..DOUBLINGS).map(|k| trap.first << k).collect();
        let of_value: Vec<RunCounts> = sizes.iter().map(|n| counted(&forms, &name, &value, &(trap.at)(*n))).collect();
        let derived: Vec<RunCounts> =
            sizes.iter().map(|n| counted(&forms, &of_gradient, &gradient, &(trap.derived_at)(*n))).collect();
        let fitted = |all: &[RunCounts]| -> Vec<f64> {
            (0..3).map(|k| exponent(&all.iter().filter_map(|c| c.each().get(k).copied()).collect::<Vec<_>>())).collect()
        };
        let (before, after) = (fitted(&of_value), fitted(&derived));
        for ((what, own), after) in ["work", "iterations", "bytes"].iter().zip(&before).zip(&after) {
            // A gradient adds where the value copies, so its work is compared with the value's work
            // or iterations.
            let before =
                if *what == "work" { before.iter().take(2).fold(0.0, |a: f64, b| a.max(*b)) } else { own.max(0.0) };
            if *after > before + SLACK {
                steep.push(format!("{name}: {what} as size^{after:.2}, of the value size^{before:.2}"));
            }
        }
        let last = |all: &[RunCounts]| all.last().copied().unwrap_or_default();
        let (v, g) = (last(&of_value), last(&derived));
        let theirs = &jax["programs"][trap.jax];
        let micros = |what: &str| {
            let seconds =
                theirs["seconds"][what].as_array().and_then(|all| all.last()).and_then(serde_json::Value::as_f64);
            seconds.map_or("—".to_owned(), |s| format!("{:.0}", s * 1e6))
        };
        let grows = theirs["exponents"]["gradient"].as_f64().map_or("—".to_owned(), |e| format!("{e:.1}"));
        let cells: Vec<String> =
            before.iter().zip(&after).map(|(a, b)| format!("{:.1}, {:.1}", a.abs(), b.abs())).collect();
        let _ = writeln!(
            rows,
            "| `{}` | {} | {}, {} | {} | {}, {} | {} | {}, {} | {} | {}, {} | {grows} |",
            trap.jax,
            sizes.last().copied().unwrap_or(0),
            v.work,
            g.work,
            cells.first().map_or("", String::as_str),
            v.iterations,
            g.iterations,
            cells.get(1).map_or("", String::as_str),
            v.bytes,
            g.bytes,
            cells.get(2).map_or("", String::as_str),
            micros("value"),
            micros("gradient"),
        );
    }
    let page = format!("{HEAD}{rows}{TAIL}");
    expect_file!["../../../docs/book/src/reference/growth.md"].assert_eq(&page);
    assert!(steep.is_empty(), "{}\n{rows}", steep.join("\n"));
}

const HEAD: &str = "# How gradients grow

Programs whose gradients are dear in other tools: an array that a loop changes element by element, an element that is read
many times, a loop that ends early, a diagonal matrix. They are the files of `tests/programs/traps`. The table has what the
value and what the gradient take at the largest size: real operations, index tuples visited, and the bytes of all arrays
alive at once. After each pair are the exponents with which both grow, fitted over five sizes, each twice the last: 1 is
linear in the size, 0 does not grow. The test that writes this page fails where a gradient grows faster than its value.

The last columns are JAX's processor times on the same programs at its own largest size, compiled and warm, in
microseconds, and the exponent of its gradient (`benches/jax_traps.md` has the sizes and versions).

| program | size | operations | grow | iterations | grow | bytes | grow | JAX, µs | its gradient grows |
|---|---|---|---|---|---|---|---|---|---|
";

const TAIL: &str = "
`triangular` takes `n²` operations for the value too. `diagonal` and `traces` never make their matrix.
";
