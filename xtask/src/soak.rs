//! The long versions of the random tests. Every property in the workspace that draws its inputs
//! at random reads how often to run from one of two variables, so that a soak needs no list of
//! tests:
//!
//! - `IVERSON_COUNT`: executions of each of our own fuzzers and generators (of the compiler's middle so many programs
//!   as text and so many of core), at most 1000 of those that press keys on a terminal, and 50,000 of the edits that
//!   reach a language server in each of two encodings;
//! - `PROPTEST_CASES`: cases of each `proptest` property (a tenth of that: a case is larger).
//!
//! The seed is fixed in the tests and can be moved with `IVERSON_SEED`, so that a second soak
//! sees other programs. A failure prints the seed and the input. The libFuzzer targets in
//! `fuzz/` look for the same failures, led by coverage; see `fuzz/README.md`.

use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// Executions where `--count` does not say otherwise.
pub(crate) const DEFAULT_COUNT: u64 = 1_000_000;

/// Runs all tests of the workspace, in release, with `count` random executions each.
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
