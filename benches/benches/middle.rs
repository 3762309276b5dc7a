//! **Middle-end benchmarks**: from checked definitions to their adjoints, for ADBench's mixture
//! model and a chain of definitions that each call the previous one twice.

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

use iverson_benches::{adjoint_statement_count, checked_session, generate_call_chain, mixture_model as mixture_source};
use lang_core::pipeline::MemoisedForms;

fn main() {
    divan::main();
}

/// Builds all forms and the adjoint, including those of its callees, from typed trees.
#[divan::bench]
fn mixture_model(bencher: divan::Bencher<'_, '_>) {
    let session = checked_session(&mixture_source());
    bencher.bench_local(|| adjoint_statement_count(&MemoisedForms::new(&session), "objective"));
}

#[divan::bench(args = [15, 30, 60])]
fn chain_of_definitions(bencher: divan::Bencher<'_, '_>, length: usize) {
    let session = checked_session(&generate_call_chain(length));
    let last = format!("f{length}");
    bencher.bench_local(|| adjoint_statement_count(&MemoisedForms::new(&session), &last));
}

/// Rebuilds the adjoint in a session after an edit in a definition that the objective calls.
#[divan::bench]
fn mixture_model_after_an_edit(bencher: divan::Bencher<'_, '_>) {
    let text = mixture_source();
    let edited = text.replacen("0.5 * gamma^2", "0.5 * gamma^2 + 0.0", 1);
    let mut session = checked_session(&text);
    let mut flip = false;
    bencher.bench_local(|| {
        flip = !flip;
        session.set_text("bench.iv", if flip { &edited } else { &text });
        let callee = iverson_benches::benchmark_callee("objective");
        let ssa = session.ssa(&callee).expect("it is in core");
        let derived = callee.derivative(iverson_benches::full_adjoint(&ssa));
        session.ssa(&Arc::new(derived)).expect("an adjoint").stmts.len()
    });
}
