//! **Cache of executables.** A later run of a session compiles nothing, also after an edit that
//! only moves text. An edit of a callee recompiles its callers, and the values follow.

#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iverson_tests::golden::{Tolerances, json_of};
use iverson_tests::observed_kernels::KernelObserver;
use iverson_tests::run::{CompiledEvaluation, value_of_main, value_of_main_with};
use lang_core::runtime::Value;
use lang_core::session::Session;

/// Counts the kernels that the backend compiles.
#[derive(Default, Debug)]
struct CompilationCount(AtomicU64);

impl KernelObserver for CompilationCount {
    fn compile(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns a program whose `main` calls a function, which calls a function that is too long to
/// inline.
fn program(constant: f64) -> String {
    let mut text = "def shape(x: f64) -> f64 =\n".to_owned();
    for k in 0..30 {
        let before = if k == 0 { "x".to_owned() } else { format!("a{}", k - 1) };
        let _ = writeln!(text, "  let a{k} = sin({before}) * {constant:?} + {before}");
    }
    text + "  in a29\n\ndef loss(x: [n]f64) -> f64 = sum i: shape(x[i])\n\n\
            def main() -> (f64, [5]f64) =\n  let x = for i < 200: f64(i) / 200.0\n  in (loss(x), for k < 5: grad(loss)(x)[40 * k])\n"
}

#[test]
fn later_runs_compile_nothing() {
    let count = Arc::new(CompilationCount::default());
    let ways = CompiledEvaluation { observer: Some(Arc::clone(&count) as _), ..CompiledEvaluation::native() };
    let tolerance = Tolerances::of("derivatives").expect("tolerances").get("numbers");
    let executables = ways.new_executables();
    let mut session = Session::new();
    let mut run = |text: &str| -> (Value, u64) {
        session.set_text("cache.iv", text);
        let before = count.0.load(Ordering::Relaxed);
        let value = value_of_main_with(&session, "cache.iv", &ways, &executables).expect("a value");
        let expected = value_of_main(&session, "cache.iv").expect("a value");
        let [actual, expected] = [&value, &expected].map(|value| json_of(value).expect("numbers"));
        assert_eq!(tolerance.normwise(&expected).difference(&actual, &expected, "main"), None);
        (value, count.0.load(Ordering::Relaxed) - before)
    };
    let (first, compiled) = run(&program(0.5));
    assert!(compiled > 0, "nothing is compiled");
    let (second, again) = run(&program(0.5));
    assert_eq!(again, 0, "the second run compiles");
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
    let (_, moved) = run(&format!("-- A comment moves all items.\n\n{}", program(0.5)));
    assert_eq!(moved, 0, "a run after an edit that only moves text compiles");
    let (other, changed) = run(&program(0.25));
    assert!(changed > 0, "a run after an edit compiles nothing");
    assert_ne!(format!("{other:?}"), format!("{first:?}"));
    assert_eq!(run(&program(0.25)).1, 0, "the second run after the edit compiles");
}
