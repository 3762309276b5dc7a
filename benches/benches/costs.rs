//! **Cost benchmarks.** Measures how long all costs and certificates of a module of about 230 lines
//! take: from its forms, from its text, and after an edit that leaves them valid.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use iverson_benches::{benchmark_callee, checked_session, generate_module};
use lang_core::session::Session;
use lang_core::syntax::split::ItemKind;

/// The definition that a benchmark edits. No other definition calls it.
const ELSEWHERE: &str = "def elsewhere(x: [n]f64) -> f64 = sum i: x[i]\n";

fn main() {
    divan::main();
}

fn module_text() -> String {
    generate_module(200) + ELSEWHERE
}

/// Computes the cost and the certificate of every definition, and returns the number of definitions
/// that have both.
fn costs(session: &Session) -> usize {
    let defs = session.items("bench.iv").into_iter().filter(|i| i.kind == ItemKind::Def);
    defs.filter(|def| {
        let callee = benchmark_callee(&def.name);
        let derived = session.derivatives(&callee);
        let [_, adjoint] = derived.unwrap_or_else(|| [callee.clone(), callee.clone()]);
        session.cost(&callee).is_some() && session.bound(&adjoint).is_some()
    })
    .count()
}

/// Measures costs alone; all forms and adjoints are built beforehand.
#[divan::bench]
fn from_forms(bencher: divan::Bencher<'_, '_>) {
    let text = module_text();
    bencher
        .with_inputs(|| {
            let session = checked_session(&text);
            for def in session.items("bench.iv").into_iter().filter(|i| i.kind == ItemKind::Def) {
                let callee = benchmark_callee(&def.name);
                let derived = session.derivatives(&callee).into_iter().flatten();
                let _ = derived.filter_map(|d| session.ssa(&d)).count();
            }
            session
        })
        .bench_local_values(|session| costs(&session));
}

/// Measures from the text, including forms and adjoints.
#[divan::bench]
fn from_text(bencher: divan::Bencher<'_, '_>) {
    let text = module_text();
    bencher.bench_local(|| costs(&checked_session(&text)));
}

/// Measures after an edit in a definition that no other definition calls.
#[divan::bench]
fn after_an_edit_elsewhere(bencher: divan::Bencher<'_, '_>) {
    let text = module_text();
    let edited = text.replacen("sum i: x[i]\n", "sum i: 2.0 * x[i]\n", 1);
    let mut session = checked_session(&text);
    costs(&session);
    let mut flip = false;
    bencher.bench_local(|| {
        flip = !flip;
        session.set_text("bench.iv", if flip { &edited } else { &text });
        costs(&session)
    });
}
