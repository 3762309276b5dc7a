//! **Front-end benchmarks**: from text to diagnostics, for whole modules and for one edit in a
//! module of 300 definitions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use lang_core::session::Session;

fn main() {
    divan::main();
}

#[divan::bench(args = [1_250, 2_500, 5_000, 10_000])]
fn check(bencher: divan::Bencher<'_, '_>, lines: usize) {
    let text = iverson_benches::generate_module(lines);
    bencher.counter(divan::counter::ItemsCount::new(lines)).bench_local(|| {
        let mut session = Session::new();
        session.set_text("bench.iv", &text);
        session.diagnostics("bench.iv").len()
    });
}

#[divan::bench]
fn edit_one_of_300(bencher: divan::Bencher<'_, '_>) {
    let text = iverson_benches::generate_module(1_200);
    let mut session = Session::new();
    session.set_text("bench.iv", &text);
    let _ = session.diagnostics("bench.iv");
    let edited = text.replacen("[i == j] * x", "[i == j] * (x + 0.0)", 1);
    let mut flip = false;
    bencher.bench_local(|| {
        flip = !flip;
        session.set_text("bench.iv", if flip { &edited } else { &text });
        session.diagnostics("bench.iv").len()
    });
}
