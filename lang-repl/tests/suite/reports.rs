//! Programs from public bug reports of other tools (`tests/reports.md`). Each runs as machine code
//! and in the interpreter, as a user would run it. The result is compared with an independent value
//! in `tests/golden/reports.json`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::harness::Dir;
use serde_json::{Map, Value};

/// Reads a file of `tests/golden`.
fn golden(name: &str) -> Map<String, Value> {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let path = PathBuf::from(own).parent().unwrap().join("tests/golden").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The greatest difference between reals that agree: relative, and absolute.
#[derive(Clone, Copy)]
struct ReportTolerance(f64, f64);

/// The tolerances of individual reports, and the default.
struct ReportTolerances(Map<String, Value>);

impl ReportTolerances {
    fn of(&self, key: &str) -> ReportTolerance {
        let found = self.0.get(key).unwrap_or(&self.0["*"]);
        assert!(found["why"].as_str().is_some_and(|why| !why.is_empty()), "the tolerance of {key} has no reason");
        ReportTolerance(found["rtol"].as_f64().unwrap(), found["atol"].as_f64().unwrap_or(0.0))
    }
}

/// Whether two values agree: reals within the tolerance, all others exactly.
fn agree(found: &Value, wanted: &Value, tolerance: ReportTolerance) -> bool {
    match (found, wanted) {
        (Value::Number(x), Value::Number(y)) if x.is_f64() || y.is_f64() => {
            let (x, y) = (x.as_f64().unwrap(), y.as_f64().unwrap());
            x == y || (x - y).abs() <= tolerance.0 * y.abs() + tolerance.1
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| agree(x, y, tolerance))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && y.iter().all(|(key, y)| x.get(key).is_some_and(|x| agree(x, y, tolerance)))
        }
        _ => found == wanted,
    }
}

/// Returns the value that a program prints, or the code of its error.
fn shown(report: &Value, backend: &str) -> Value {
    let mut text: String = report["imports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| format!("import {}\n", name.as_str().unwrap()))
        .collect();
    text += report["definitions"].as_str().unwrap();
    text += &format!("\ndef main() = {}\n", report["expr"].as_str().unwrap());
    let mut files = vec![("report.iv", text.as_bytes())];
    let data = report["files"].as_object().unwrap();
    files.extend(data.iter().map(|(name, content)| (name.as_str(), content.as_str().unwrap().as_bytes())));
    let output =
        Dir::new(&files).command(&["run", "report.iv", "--format", "json", "--backend", backend]).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&output.stderr)));
    if output.status.success() { found } else { serde_json::json!({"error": found["error"][0]["code"]}) }
}

#[test]
fn reports_have_their_independent_values() {
    let reports = golden("reports.json");
    let all = golden("tolerances.json");
    let tolerances = ReportTolerances(all["reports"].as_object().unwrap().clone());
    let stray: Vec<_> = tolerances.0.keys().filter(|key| *key != "*" && !reports.contains_key(*key)).collect();
    assert!(stray.is_empty(), "tolerances of no report: {stray:?}");

    let next = AtomicUsize::new(0);
    let entries: Vec<_> = reports.iter().collect();
    assert!(!entries.is_empty(), "there are no reports");
    let judge = || {
        let mut wrong = Vec::new();
        while let Some((key, report)) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
            for backend in ["cpu", "interp"] {
                let found = shown(report, backend);
                if !agree(&found, &report["value"], tolerances.of(key)) {
                    wrong.push(format!("{key} ({backend}): {found}, not {}", report["value"]));
                }
            }
        }
        wrong
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(judge)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
