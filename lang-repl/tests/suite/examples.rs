//! Tests of the examples. Each runs in a copy of its folder; its output and saved files are
//! compared with recorded ones (`UPDATE_EXPECT=1` records them). Examples on real data are compared
//! with NumPy and SciPy (`tests/golden/examples.py`).
//!
//! An example is a file in `examples`, or a folder there with a program of its name. A new one
//! needs recorded output, golden numbers, and a page.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a failed expectation is a failed test"
)]

use std::path::{Path, PathBuf};

use crate::harness::Dir;
use serde_json::{Map, Value};

fn root() -> PathBuf {
    let own =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().unwrap().to_path_buf()
}

/// Returns the entries of a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// Whether the path is the folder of the GradBench modules, which have tests of their own.
fn is_gradbench(path: &Path) -> bool {
    path.ends_with("gradbench")
}

/// Returns the files of the examples, by their paths in the repository.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in entries(&root().join("examples")).into_iter().filter(|path| !is_gradbench(path)) {
        let inside = if entry.is_dir() { entries(&entry) } else { vec![entry] };
        for path in inside {
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
    found
}

/// Returns the names of the folders in `examples`.
fn folders() -> Vec<String> {
    let all = entries(&root().join("examples")).into_iter().filter(|path| path.is_dir() && !is_gradbench(path));
    all.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

/// Reads a file of golden values, which is a JSON object.
fn golden(file: &str) -> Map<String, Value> {
    let text = std::fs::read_to_string(root().join("tests/golden").join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Runs a program in a copy of all examples, and records or compares its output and saved files.
fn recorded(program: &str, files: &[(String, Vec<u8>)]) -> Vec<String> {
    let update = std::env::var("UPDATE_EXPECT").is_ok_and(|value| value == "1");
    let copies: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let dir = Dir::new(&copies);
    let shown = dir.run(&["run", program], b"");
    let mut fresh = vec![(program.replace(".iv", ".out"), shown.into_bytes())];
    let folder = Path::new(program).parent().unwrap();
    for path in entries(&dir.path().join(folder)).into_iter().filter(|path| path.is_file()) {
        let name = format!("{}/{}", folder.display(), path.file_name().unwrap().to_string_lossy());
        if !name.ends_with(".out") {
            fresh.push((name, std::fs::read(&path).unwrap()));
        }
    }
    let mut wrong = Vec::new();
    for (name, bytes) in fresh {
        let before = files.iter().find(|(known, _)| *known == name).map(|(_, bytes)| bytes);
        if before == Some(&bytes) {
            continue;
        }
        if update {
            std::fs::write(root().join(&name), &bytes).unwrap();
        } else {
            wrong.push(format!("{name} is not as recorded:\n{}", String::from_utf8_lossy(&bytes)));
        }
    }
    wrong
}

#[test]
fn examples_run_as_recorded() {
    let files = files();
    let programs = files.iter().map(|(name, _)| name).filter(|name| name.ends_with(".iv"));
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = programs.map(|program| scope.spawn(|| recorded(program, &files))).collect();
        runs.into_iter().flat_map(|run| run.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the greatest magnitude in a value.
fn magnitude(value: &Value) -> f64 {
    match value {
        Value::Array(items) => items.iter().map(magnitude).fold(0.0, f64::max),
        other => other.as_f64().unwrap_or_default().abs(),
    }
}

/// Describes the first place where two values differ by more than `near`; integers and booleans
/// must be equal.
fn difference(found: &Value, wanted: &Value, near: f64, place: &str) -> Option<String> {
    match (found, wanted) {
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            let mut pairs = x.iter().zip(y).enumerate();
            pairs.find_map(|(k, (x, y))| difference(x, y, near, &format!("{place}[{k}]")))
        }
        (Value::Number(x), Value::Number(y)) if x.is_f64() && y.is_f64() => {
            let gap = (x.as_f64().unwrap() - y.as_f64().unwrap()).abs();
            (gap > near).then(|| format!("{place} is {x}, not {y}: {gap:e} apart, and {near:e} is allowed"))
        }
        _ => (found != wanted).then(|| format!("{place} is {found}, not {wanted}")),
    }
}

/// Returns the tolerance relative to the greatest number of a value. `tests/golden/tolerances.json`
/// has it for the expression, the example, or all examples.
fn tolerance(tolerances: &Map<String, Value>, example: &str, expression: &str) -> f64 {
    let names = [format!("{example}: {expression}"), example.to_owned(), "*".to_owned()];
    let entry = names.iter().find_map(|name| tolerances.get(name)).unwrap();
    assert!(entry["why"].as_str().is_some_and(|why| !why.is_empty()), "a tolerance needs a reason: {entry}");
    entry["rtol"].as_f64().unwrap()
}

/// Describes the differences between an example's results and the golden values.
fn compared(example: &str, wanted: &Map<String, Value>, tolerances: &Map<String, Value>) -> Vec<String> {
    // All expressions are evaluated in one run. The tuple begins with `()`, because a tuple of one
    // element does not exist.
    let expressions: Vec<_> = wanted.keys().map(|expression| format!("({expression})")).collect();
    let program = root().join(format!("examples/{example}/{example}.iv"));
    let all = format!("((), {})", expressions.join(", "));
    let shown = Dir::new(&[]).run(&["eval", "--format", "json", "-l", &program.to_string_lossy(), &all], b"");
    let Ok(Value::Array(found)) = serde_json::from_str(&shown) else { return vec![format!("{example}: {shown}")] };
    let pairs = wanted.iter().zip(found.iter().skip(1));
    let differences = pairs.filter_map(|((expression, wanted), found)| {
        let near = tolerance(tolerances, example, expression) * magnitude(wanted);
        difference(found, wanted, near, &format!("{example}: {expression}"))
    });
    differences.collect()
}

#[test]
fn examples_find_what_numpy_and_scipy_find() {
    let golden_values = golden("examples.json");
    let tolerances = golden("tolerances.json");
    let tolerances = tolerances["examples"].as_object().unwrap();
    let stray = tolerances.keys().filter(|name| {
        let (example, expression) = name.split_once(": ").unwrap_or((name, ""));
        let values = golden_values.get(example);
        *name != "*" && !values.is_some_and(|v| expression.is_empty() || v.get(expression).is_some())
    });
    assert_eq!(stray.collect::<Vec<_>>(), Vec::<&String>::new(), "tolerances of nothing");

    let folders = folders();
    assert_eq!(golden_values.keys().collect::<Vec<_>>(), folders.iter().collect::<Vec<_>>());
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = golden_values
            .iter()
            .map(|(example, wanted)| scope.spawn(|| compared(example, wanted.as_object().unwrap(), tolerances)))
            .collect();
        runs.into_iter().flat_map(|run| run.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn examples_have_pages() {
    let summary = std::fs::read_to_string(root().join("docs/book/src/SUMMARY.md")).unwrap();
    let list = std::fs::read_to_string(root().join("examples/README.md")).unwrap();
    for name in folders() {
        let page = format!("examples/{name}.md");
        assert!(root().join("docs/book/src").join(&page).exists(), "{page} is wanted in the book");
        assert!(summary.contains(&format!("({page})")), "{page} is wanted in the summary of the book");
        assert!(list.contains(&format!("({name}/{name}.iv)")), "{name} is wanted in examples/README.md");
    }
}
