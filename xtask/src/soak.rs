//! **Soak tests**: the long versions of the random tests. Every random property in the workspace
//! reads its number of runs from one of two variables, so that a soak needs no list of tests:
//!
//! - `IVERSON_COUNT`: executions of each of our own fuzzers and generators. The tests of the
//!   compiler's middle run this number of programs as text and this number of core. Tests that
//!   press keys on a terminal run at most 1000, and the edits of a language server at most 200,000
//!   in each of two encodings;
//! - `PROPTEST_CASES`: cases of each `proptest` property (a tenth of that, because a case is
//!   larger).
//!
//! The tests have fixed seeds. `IVERSON_SEED` changes them, so that a second soak sees other
//! programs. A failure prints the seed and the input. The libFuzzer targets in `fuzz/` search for
//! the same failures, guided by coverage; see `fuzz/README.md`.

use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of executions without `--count`.
pub(crate) const DEFAULT_COUNT: u64 = 1_000_000;

/// Runs all tests of the workspace in release mode, with `count` random executions each.
pub(crate) fn run(root: &Path, count: u64) -> ExitCode {
    let seed = std::env::var("IVERSON_SEED")
        .unwrap_or_else(|_| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()).to_string());
    let env = [
        ("IVERSON_COUNT", count.to_string()),
        ("IVERSON_SEED", seed.clone()),
        ("PROPTEST_RNG_SEED", seed),
        ("PROPTEST_CASES", (count / 10).max(256).to_string()),
    ];
    let good = crate::cargo(root, &["test", "--workspace", "--release", "--locked", "--no-fail-fast"], &env);
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
