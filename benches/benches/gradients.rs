//! **Gradient benchmarks.** Measures the gradients of three models: by machine code at two sizes,
//! and by the interpreter at the small one. Also measures the time from text to the first gradient.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use std::sync::Arc;

use iverson_benches::{call_definition, checked_session, gradient_models};
use lang_core::base::GlobalName;
use lang_core::exec::ExecutableCache;
use lang_core::exec::offload::CompiledEvaluator;
use lang_core::ir::core::NoCoreForm;
use lang_core::resolve::forms::DerivativeOp;
use lang_core::runtime::Value;
use lang_core::session::Session;
use lang_jit::Jit;

fn main() {
    divan::main();
}

/// A model, the arguments of the function that creates its point, and the sizes of its gradient.
struct BenchmarkModel {
    name: &'static str,
    point_sizes: &'static [i64],
    gradient_sizes: &'static [i64],
}

const fn benchmark_model(name: &'static str, made_of: &'static [i64], sizes: &'static [i64]) -> BenchmarkModel {
    BenchmarkModel { name, point_sizes: made_of, gradient_sizes: sizes }
}

/// Sizes of realistic data.
const LARGE: [BenchmarkModel; 3] = [
    benchmark_model("digits", &[1347], &[1347]),
    benchmark_model("attention", &[64, 32], &[32, 64]),
    benchmark_model("mixture", &[1000, 10, 25], &[25, 10, 1000]),
];

/// Sizes that are small enough for the interpreter, because it makes one forward pass for each
/// parameter.
const SMALL: [BenchmarkModel; 3] = [
    benchmark_model("digits", &[20], &[20]),
    benchmark_model("attention", &[8, 8], &[8, 8]),
    benchmark_model("mixture", &[10, 4, 3], &[3, 4, 10]),
];

fn point(session: &Session, model: &BenchmarkModel) -> Value {
    let sizes = model.point_sizes.iter().map(|n| Value::I64(*n)).collect();
    call_definition(session, None, model.name, &[], sizes).expect("a point")
}

/// Creates an empty cache of executables, with the JIT on one thread as its back end.
fn jit_cache() -> ExecutableCache {
    ExecutableCache::with_backend(Arc::new(Jit::new(1).expect("a processor")))
}

fn bench_compiled_gradient(bencher: divan::Bencher<'_, '_>, model: &BenchmarkModel) {
    let session = checked_session(&gradient_models());
    let point = point(&session, model);
    let globals = |_: &GlobalName| None;
    let outside = |why: &NoCoreForm, _: Option<DerivativeOp>| panic!("{why:?}");
    let executables = jit_cache();
    let generated = CompiledEvaluator::new(&session, &globals, &executables, &outside);
    let name = format!("{}_gradient", model.name);
    bencher.bench_local(|| {
        call_definition(&session, Some(&generated), &name, model.gradient_sizes, vec![point.clone()])
            .expect("a gradient")
    });
    let tally = generated.counts();
    assert!(tally.lowered == 1 && tally.defects + tally.failed == 0, "{tally:?}");
}

#[divan::bench(args = [0, 1, 2])]
fn large(bencher: divan::Bencher<'_, '_>, k: usize) {
    bench_compiled_gradient(bencher, &LARGE[k]);
}

#[divan::bench(args = [0, 1, 2])]
fn small(bencher: divan::Bencher<'_, '_>, k: usize) {
    bench_compiled_gradient(bencher, &SMALL[k]);
}

#[divan::bench(args = [0, 1, 2])]
fn small_by_the_interpreter(bencher: divan::Bencher<'_, '_>, k: usize) {
    let session = checked_session(&gradient_models());
    let point = point(&session, &SMALL[k]);
    let name = format!("{}_gradient", SMALL[k].name);
    bencher.bench_local(|| {
        call_definition(&session, None, &name, SMALL[k].gradient_sizes, vec![point.clone()]).expect("a gradient")
    });
}

/// Parses and checks the text, builds all forms and computes one gradient, at small sizes.
#[divan::bench(args = [0, 1, 2], sample_count = 20)]
fn from_text_to_the_first_gradient(bencher: divan::Bencher<'_, '_>, k: usize) {
    let text = gradient_models();
    let point = point(&checked_session(&text), &SMALL[k]);
    let name = format!("{}_gradient", SMALL[k].name);
    bencher.bench_local(|| {
        let session = checked_session(&text);
        let (globals, outside) = (|_: &GlobalName| None, |_: &NoCoreForm, _: Option<DerivativeOp>| {});
        let executables = jit_cache();
        let generated = CompiledEvaluator::new(&session, &globals, &executables, &outside);
        call_definition(&session, Some(&generated), &name, SMALL[k].gradient_sizes, vec![point.clone()])
            .expect("a gradient")
    });
}
