//! **Gradient benchmarks.** Measures gradients with generated derivatives and with the
//! interpreter's, at points of the same model. Also measures the time from text to the first
//! gradient.

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

use iverson_benches::{call, checked, models};
use lang_core::base::GlobalName;
use lang_core::exec::ExecutableCache;
use lang_core::exec::offload::CompiledEvaluator;
use lang_core::ir::core::NoCoreForm;
use lang_core::resolve::forms::Derivative;
use lang_core::runtime::Value;
use lang_core::session::Session;
use lang_jit::Jit;

fn main() {
    divan::main();
}

/// A model with the sizes that create its point, and the sizes that its gradient is called with.
struct Model {
    name: &'static str,
    made_of: &'static [i64],
    sizes: &'static [i64],
}

const fn model(name: &'static str, made_of: &'static [i64], sizes: &'static [i64]) -> Model {
    Model { name, made_of, sizes }
}

/// Sizes of realistic data.
const LARGE: [Model; 3] = [
    model("digits", &[1347], &[1347]),
    model("attention", &[64, 32], &[32, 64]),
    model("mixture", &[1000, 10, 25], &[25, 10, 1000]),
];

/// Sizes at which one pass for each parameter is affordable.
const SMALL: [Model; 3] =
    [model("digits", &[20], &[20]), model("attention", &[8, 8], &[8, 8]), model("mixture", &[10, 4, 3], &[3, 4, 10])];

fn point(session: &Session, model: &Model) -> Value {
    let sizes = model.made_of.iter().map(|n| Value::I64(*n)).collect();
    call(session, None, model.name, &[], sizes).expect("a point")
}

/// Returns the backend that compiles to machine code.
fn programs() -> ExecutableCache {
    ExecutableCache::with_backend(Arc::new(Jit::new(1).expect("a processor")))
}

fn by_generated(bencher: divan::Bencher<'_, '_>, model: &Model) {
    let session = checked(&models());
    let point = point(&session, model);
    let globals = |_: &GlobalName| None;
    let outside = |why: &NoCoreForm, _: Option<Derivative>| panic!("{why:?}");
    let generated = CompiledEvaluator::new(&session, &globals, programs(), &outside);
    let name = format!("{}_gradient", model.name);
    bencher
        .bench_local(|| call(&session, Some(&generated), &name, model.sizes, vec![point.clone()]).expect("a gradient"));
    let tally = generated.counts();
    assert!(tally.lowered == 1 && tally.defects + tally.failed == 0, "{tally:?}");
}

#[divan::bench(args = [0, 1, 2])]
fn large(bencher: divan::Bencher<'_, '_>, k: usize) {
    by_generated(bencher, &LARGE[k]);
}

#[divan::bench(args = [0, 1, 2])]
fn small(bencher: divan::Bencher<'_, '_>, k: usize) {
    by_generated(bencher, &SMALL[k]);
}

#[divan::bench(args = [0, 1, 2])]
fn small_by_the_interpreter(bencher: divan::Bencher<'_, '_>, k: usize) {
    let session = checked(&models());
    let point = point(&session, &SMALL[k]);
    let name = format!("{}_gradient", SMALL[k].name);
    bencher.bench_local(|| call(&session, None, &name, SMALL[k].sizes, vec![point.clone()]).expect("a gradient"));
}

/// Parses and checks the text, builds all forms and computes one gradient, at small sizes.
#[divan::bench(args = [0, 1, 2], sample_count = 20)]
fn from_text_to_the_first_gradient(bencher: divan::Bencher<'_, '_>, k: usize) {
    let text = models();
    let point = point(&checked(&text), &SMALL[k]);
    let name = format!("{}_gradient", SMALL[k].name);
    bencher.bench_local(|| {
        let session = checked(&text);
        let (globals, outside) = (|_: &GlobalName| None, |_: &NoCoreForm, _: Option<Derivative>| {});
        let generated = CompiledEvaluator::new(&session, &globals, programs(), &outside);
        call(&session, Some(&generated), &name, SMALL[k].sizes, vec![point.clone()]).expect("a gradient")
    });
}
