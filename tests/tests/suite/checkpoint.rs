//! **Checkpointing of loops.** Values and gradients are bit-identical with and without checkpoints,
//! in the evaluator and in the engine. The kept bytes and the work match the predictions.
#![expect(clippy::expect_used, reason = "what helpers of a test cannot make fails the test")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use expect_test::{Expect, expect};
use iverson_tests::middle::call_inputs::CallInputs;
use iverson_tests::middle::engine_oracle::agrees;
use iverson_tests::middle::forms::{EvaluatorFunctions, FormProvider as _, SessionForms};
use iverson_tests::run::{CompiledEvaluation, MAIN, limits, run, run_compiled};
use lang_core::ad::{real_inputs, real_outputs};
use lang_core::base::GlobalName;
use lang_core::eval::eval_ssa::{IrTensor, SsaEvaluator};
use lang_core::exec::offload::OffloadCounts;
use lang_core::ir::core::{DerivativeKind, FunctionKey};
use lang_core::ir::counted_cost::{CountedCost, count_cost};
use lang_core::ir::ssa::SsaFunction;
use lang_core::ir::value::IrValue;
use lang_core::session::Session;

const FUEL: u64 = 100_000_000;

/// Programs in which `@` marks the positions of checkpoints.
const PROGRAMS: &[(&str, &[&[i64]])] = &[
    ("def f(x: [n]f64, w: f64) -> f64 = @fold s = 1.0 for t < n: sin(s * w + x[t])", &ONE),
    // The slice of another iteration, and one at an index from data.
    (
        "def f(x: [n]f64, y: [n + 2]f64, w: f64) -> f64 = @fold s = w for t < n: sin(s * w) * y[t + 2] + x[n - 1 - t]",
        &ONE,
    ),
    // A D-LSTM: a state of two rows, and weights that every step reads.
    (
        "
def sigma(x: f64) -> f64 = 1 / (1 + exp(-x))
def f(x: [n, m]f64, u: [m, m]f64, v: [m, m]f64, h0: [m]f64, c0: [m]f64) -> f64 =
  let (h, c) = @fold (h, c) = (h0, c0) for t < n:
    let a = for j: (sum k: u[j, k] * x[t, k]) + (sum k: v[j, k] * h[k]) in
    let d = for j: sigma(a[j]) * c[j] + tanh(a[j]) in
    (for j: sigma(a[j]) * tanh(d[j]), d)
  in (sum j: h[j]) + (sum j: c[j])",
        &TWO,
    ),
    // Runge-Kutta steps, and a fit to a measurement at each of them.
    (
        "
def rate(y: [2]f64, a: f64, b: f64) -> [2]f64 = [a * y[0] - b * y[0] * y[1], b * y[0] * y[1] - y[1]]
def step(y: [2]f64, a: f64, b: f64, h: f64) -> [2]f64 =
  let k1 = rate(y, a, b) in
  let k2 = rate(y + h / 2 * k1, a, b) in
  let k3 = rate(y + h / 2 * k2, a, b) in
  let k4 = rate(y + h * k3, a, b) in
  y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
def f(a: f64, b: f64, seen: [n, 2]f64) -> f64 =
  let (_, ys) = @fold y = [1.0, 0.5] for t < n: step(y, a, b, 0.1) yield y in
  sum t, j: (ys[t, j] - seen[t, j])^2",
        &ONE,
    ),
    // Inside another loop, and around one that may have checkpoints itself.
    (
        "def f(x: [n, m]f64, w: [m]f64) -> f64 =
  fold s = 1.0 for i < n: @fold r = s for j < m: cos(r * w[j] + x[i, j])",
        &TWO,
    ),
    (
        "def f(x: [n, m]f64, w: [m]f64) -> f64 =
  @fold s = 1.0 for i < n: fold r = s for j < m: cos(r * w[j] + x[i, j])",
        &TWO,
    ),
    (
        "def f(x: [n, m]f64, w: [m]f64) -> f64 =
  @fold s = 1.0 for i < n: @fold r = s for j < m: cos(r * w[j] + x[i, j])",
        &TWO,
    ),
    ("def f(x: [n, m]f64, w: [m]f64) -> f64 = @fold s = 1.0 for i < n, j < m: cos(s * w[j] + x[i, j])", &TWO),
    // Under indices, and with extents that depend on them.
    (
        "def f(x: [n, m]f64, w: [m]f64) -> [n]f64 = for i: @fold s = w[0] + x[i, 0] for j < m: sin(s * w[j] + x[i, j])",
        &[&[3, 7], &[1, 1], &[2, 9]],
    ),
    ("def f(x: [n]f64, w: f64) -> f64 = sum i: @fold s = x[i] for j < i: sin(s * w + x[j])", &ONE),
    // Arrays that are updated in place.
    (
        "def f(x: [n]f64, w: f64) -> f64 =
  let y = @fold y = x for t in 1..n: y with [t] = sin(y[t - 1] * w) + y[t] in
  sum t: y[t] * y[t]",
        &ONE,
    ),
    (
        "def f(x: [n]f64, k: [n]i64, w: f64) -> f64 =
  let y = @fold y = for i < n: 0.5 for t < n:
    if 0 <= k[t] && k[t] < n then y with [k[t]] += y[t] * x[t] * w else y in
  sum t: sin(y[t])",
        &ONE,
    ),
    (
        "def f(x: [n]f64, w: f64) -> f64 =
  let y = @fold y = x for t < n: (fold y = y for i in 1..n: y with [i] = sin(y[i] + y[i - 1] * w)) in
  sum t: y[t] * y[t]",
        &ONE,
    ),
    // All states, and outputs.
    ("def f(x: [n]f64, w: f64) -> f64 = let s = @scan s = w for t < n: sin(s * w + x[t]) in sum t: s[t]^2", &ONE),
    // `while` loops.
    (
        "def f(x: f64, w: f64) -> f64 = (@loop (s, c) = (x, 0) while c < 11 && s < 90.0: (s * (1.1 + w * w) + sin(s), c + 1)).0",
        &[&[]],
    ),
    ("def f(n: i64, x: f64, w: f64) -> f64 = (@loop (s, c) = (x, 0) while c < n: (sin(s * w) + s, c + 1)).0", &ONE),
];

const ONE: [&[i64]; 6] = [&[0], &[1], &[2], &[4], &[9], &[17]];
const TWO: [&[i64]; 6] = [&[0, 2], &[1, 1], &[2, 3], &[5, 2], &[9, 3], &[17, 2]];

/// The replacements of `@`. The spacing is also 1, the number of iterations, and greater than that.
const KEPT: &[&str] =
    &["checkpoint: ", "checkpoint 1: ", "checkpoint 2: ", "checkpoint 3: ", "checkpoint 9: ", "checkpoint 1000: "];

fn session(text: &str) -> Session {
    let mut session = Session::new();
    session.set_text(MAIN, text);
    let problems = session.diagnostics(MAIN);
    assert!(problems.iter().all(|d| !d.is_error()), "{problems:?}\n{text}");
    session
}

fn callee() -> Arc<FunctionKey> {
    Arc::new(FunctionKey::new(GlobalName::new(MAIN, "f"), Vec::new()))
}

/// Returns the function, its adjoint, and the adjoint of that.
fn derived(forms: &SessionForms<'_>) -> [Arc<SsaFunction>; 3] {
    let mut callee = callee();
    let mut all = Vec::new();
    for _ in 0..3 {
        let ssa = forms.ssa(&callee).expect("it has forms");
        let (of, wrt) = (real_outputs(&ssa), real_inputs(&ssa));
        callee = Arc::new(callee.derivative(DerivativeKind::Adjoint { outputs: of.into(), wrt: wrt.into() }));
        all.push(ssa);
    }
    all.try_into().expect("three")
}

fn draw_inputs(forms: &SessionForms<'_>, ssa: &SsaFunction, sizes: &[i64]) -> CallInputs {
    let stages = forms.stages(&callee()).expect("it has forms");
    let seed = |k: usize| 0.7 + f64::from(u32::try_from(k % 5).unwrap_or(0));
    CallInputs::drawn(&stages.core, ssa, sizes, &seed).expect("it has arguments")
}

/// Returns the parts of the result by the evaluator, after a check that the engine agrees.
fn values(forms: &SessionForms<'_>, ssa: &Arc<SsaFunction>, sizes: &[i64]) -> Vec<Arc<IrTensor>> {
    let CallInputs { sizes, tensors, .. } = draw_inputs(forms, ssa, sizes);
    let world = EvaluatorFunctions(forms);
    let found = SsaEvaluator::new(&world, FUEL).call(ssa, &sizes, tensors.clone());
    agrees(forms, ssa, &sizes, &tensors, found.as_ref().map(Vec::as_slice)).expect("the engine gives the same");
    found.map_err(|why| format!("{why:?}\n{ssa}")).expect("it has a value")
}

fn bits(v: &IrValue) -> u64 {
    match v {
        IrValue::F64(x) => x.to_bits(),
        IrValue::I64(n) => n.cast_unsigned(),
        other => u64::from(*other == IrValue::Bool(true)),
    }
}

fn close(a: &IrValue, b: &IrValue) -> bool {
    match (a, b) {
        (IrValue::F64(a), IrValue::F64(b)) => (a - b).abs() <= 1e-11 * (1.0 + a.abs().max(b.abs())),
        _ => a == b,
    }
}

#[test]
fn values_and_gradients_are_the_same() {
    let globals = HashMap::new();
    for (text, all) in PROGRAMS {
        let plain = session(&text.replace('@', ""));
        let plain = SessionForms::new(&plain, &globals);
        let wanted = derived(&plain);
        for kept in KEPT {
            let kept_text = text.replace('@', kept);
            let other = session(&kept_text);
            let other = SessionForms::new(&other, &globals);
            let found = derived(&other);
            assert!(found[1].to_string().contains(".state "), "{kept_text}\n{}", found[1]);
            for sizes in *all {
                // The second derivative adds in another order.
                for (order, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
                    let (a, b) = (values(&plain, wanted, sizes), values(&other, found, sizes));
                    assert_eq!(a.len(), b.len(), "{kept_text}");
                    for (k, (a, b)) in a.iter().zip(&b).enumerate() {
                        let same = |(a, b)| if order < 2 { bits(a) == bits(b) } else { close(a, b) };
                        let equal = a.dims == b.dims
                            && a.items.len() == b.items.len()
                            && a.items.iter().zip(&b.items).all(same);
                        assert!(equal, "{kept_text} at {sizes:?}, order {order}, part {k}:\n{a:?}\n{b:?}\n{found}");
                    }
                }
            }
        }
    }
}

/// The interpreter's output, and the output of a run with generated derivatives.
#[test]
fn runs_show_the_same() {
    let text = "
def f(x: [n]f64, w: f64) -> f64 = @fold s = 1.0 for t < n: sin(s * w + x[t])
def g(x: [n]f64, w: f64) -> f64 = (@loop (s, c) = (w, 0) while c < n: (sin(s * w) + s, c + 1)).0 + sum i: x[i]
let x = for i < 12: 0.25 * f64(i)
do value_and_grad(f)(x, 0.5)
do value_and_grad(g)(x, 0.5)
do hessian(f, wrt: w)(x, 0.5)
";
    let mut shown = Vec::new();
    for kept in ["", "checkpoint: ", "checkpoint 5: "] {
        let session = session(&text.replace('@', kept));
        let ways = CompiledEvaluation::default();
        shown.push(run_compiled(&session, &ways));
        assert_eq!(
            OffloadCounts { lowered: 0, ..ways.tally.get() },
            OffloadCounts { evaluated: 3, ..OffloadCounts::default() },
            "{:?}",
            ways.outside
        );
        shown.push(run(&session, limits(), &AtomicBool::new(false)));
    }
    // The interpreter computes derivatives by another method, so the last digits differ.
    for way in 0..2 {
        let all: Vec<&String> = shown.iter().skip(way).step_by(2).collect();
        assert!(all.iter().all(|s| *s == all[0]), "{shown:#?}");
    }
}

#[test]
fn spacings_below_one_fail() {
    let text = "
def f(x: [n]f64, k: i64) -> f64 = checkpoint k: fold s = 1.0 for t < n: sin(s + x[t])
do grad(f)([1.0, 2.0], 0)
";
    let session = session(text);
    let shown = run_compiled(&session, &CompiledEvaluation::default());
    assert!(shown.contains("E0511"), "{shown}");
    let mut session = Session::new();
    session.set_text("t", "def f(x: [n]f64) -> f64 = checkpoint 0: fold s = 1.0 for t < n: sin(s + x[t])");
    let codes: Vec<String> = session.diagnostics("t").iter().map(|d| d.code.to_string()).collect();
    assert_eq!(codes, ["E0511"]);
}

fn costs(text: &str, sizes: &[i64]) -> [CountedCost; 2] {
    let session = session(text);
    let globals = HashMap::new();
    let forms = SessionForms::new(&session, &globals);
    let [value, adjoint, _] = derived(&forms);
    [value, adjoint].map(|ssa| {
        let cost = count_cost(&ssa, &draw_inputs(&forms, &ssa, sizes).locals, &|callee| forms.ssa(callee), FUEL);
        cost.map_err(|why| format!("{why:?}\n{ssa}")).expect("it has a cost")
    })
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "as `expect!` gives it")]
fn check(out: &str, expected: Expect) {
    expected.assert_eq(out);
}

/// The kept bytes are the states at the first iterations of segments and the reverse sweep's values
/// of one segment. The work is at most that of one more evaluation of the value.
#[test]
fn kept_bytes_and_work() {
    let row = "
def f(x: [n, 4]f64, w: [4, 4]f64, h: [4]f64) -> f64 =
  let h = @fold h = h for t < n: for i: tanh((sum j: w[i, j] * h[j]) + x[t, i]) in sum i: h[i]";
    let mut out = String::new();
    for kept in ["", "checkpoint: ", "checkpoint 8: "] {
        let _ = writeln!(out, "{}", if kept.is_empty() { "all" } else { kept.trim_end() });
        for n in [16_u64, 64, 256, 1024] {
            let sizes = [n.cast_signed()];
            let plain = costs(&row.replace('@', ""), &sizes)[1];
            let [value, found] = costs(&row.replace('@', kept), &sizes);
            let _ = writeln!(out, "  {n:>4}: {:>6} bytes, {:>6} work", found.stored_bytes, found.work);
            let each = plain.stored_bytes / n;
            let length = match kept {
                "" => continue,
                "checkpoint: " => n.isqrt(),
                _ => 8,
            };
            // A state is four reals.
            assert_eq!(found.stored_bytes, 32 * n.div_ceil(length) + each * length, "{kept}{n}");
            assert!(found.work <= plain.work + value.work + 2, "{kept}{n}");
        }
    }
    check(
        &out,
        expect![[r#"
            all
                16:   1024 bytes,   1987 work
                64:   4096 bytes,   7939 work
               256:  16384 bytes,  31747 work
              1024:  65536 bytes, 126979 work
            checkpoint:
                16:    384 bytes,   2565 work
                64:    768 bytes,  10245 work
               256:   1536 bytes,  40965 work
              1024:   3072 bytes, 163845 work
            checkpoint 8:
                16:    576 bytes,   2563 work
                64:    768 bytes,  10243 work
               256:   1536 bytes,  40963 work
              1024:   4608 bytes, 163843 work
        "#]],
    );
}
