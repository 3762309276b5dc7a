//! The programs of `tests/programs`: each has no diagnostics, is laid out as the formatter lays it
//! out, and evaluates to its golden value, which NumPy computed (`tests/golden/make.py`).

#![expect(clippy::expect_used, clippy::panic, reason = "what helpers of a test cannot read fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use iverson_tests::run::value_of_main;
use lang_core::interp::json::to_json;
use lang_core::session::Session;
use lang_core::syntax::format::format;
use serde_json::{Map, Value};

/// How far a real may be from its golden value: this times its magnitude, or this beside it.
const RTOL: f64 = 1e-12;
const ATOL: f64 = 1e-14;

/// More text than any value takes.
const JSON_LIMIT: usize = 1 << 24;

/// A program whose subject is a spelling that the formatter does not keep.
const OTHER_SPELLING: &str = "own/unicode";

fn here(path: &str) -> PathBuf {
    iverson_tests::literate::root().join("tests").join(path)
}

/// Every file of `tests/programs` by its name without extension, modules without a `main` too.
fn texts() -> BTreeMap<String, String> {
    let root = here("programs");
    let mut found = BTreeMap::new();
    let mut open = vec![root.clone()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be listed") {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "iv") {
                let text = fs::read_to_string(&path).expect("the file can be read");
                let name = path.with_extension("");
                let name = name.strip_prefix(&root).expect("it is below the folder");
                found.insert(name.to_string_lossy().replace('\\', "/"), text);
            }
        }
    }
    found
}

fn module(name: &str) -> String {
    format!("{name}.iv")
}

fn session(texts: &BTreeMap<String, String>) -> Session {
    let mut session = Session::new();
    for (name, text) in texts {
        session.set_text(&module(name), text);
    }
    session
}

fn json(path: &str) -> Map<String, Value> {
    let text = fs::read_to_string(here(path)).expect("the file can be read");
    match serde_json::from_str(&text) {
        Ok(Value::Object(entries)) => entries,
        other => panic!("{path} is not an object: {other:?}"),
    }
}

/// The value of a program's `main`.
fn value(session: &Session, name: &str) -> Result<Value, String> {
    let value = value_of_main(session, &module(name))?;
    let text = to_json(&value, JSON_LIMIT).ok_or("a value too large to write")?;
    serde_json::from_str(&text).map_err(|e| format!("{e} in {text}"))
}

/// How near two reals have to be.
#[derive(Clone, Copy)]
struct Tolerance {
    relative: f64,
    absolute: f64,
}

impl Tolerance {
    fn of(entry: Option<&Value>) -> Self {
        let number = |key| entry.and_then(|e| e.get(key)).and_then(Value::as_f64);
        Self { relative: number("rtol").unwrap_or(RTOL), absolute: number("atol").unwrap_or(ATOL) }
    }

    /// The first place where two values differ.
    fn difference(self, found: &Value, wanted: &Value, place: &str) -> Option<String> {
        let told = || Some(format!("{place} is {found}, not {wanted}"));
        match (found, wanted) {
            (Value::Number(x), Value::Number(y)) if x.is_f64() && y.is_f64() => {
                let (x, y) = (x.as_f64()?, y.as_f64()?);
                let near = (x - y).abs() <= self.relative * y.abs() + self.absolute;
                if near { None } else { told() }
            }
            (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
                let mut pairs = x.iter().zip(y).enumerate();
                pairs.find_map(|(k, (x, y))| self.difference(x, y, &format!("{place}[{k}]")))
            }
            (Value::Object(x), Value::Object(y)) if x.len() == y.len() => {
                y.iter().find_map(|(key, y)| match x.get(key) {
                    Some(x) => self.difference(x, y, &format!("{place}.{key}")),
                    None => told(),
                })
            }
            _ if found == wanted => None,
            _ => told(),
        }
    }
}

#[test]
fn programs_have_no_diagnostics() {
    let texts = texts();
    let session = session(&texts);
    let mut wrong = String::new();
    for (name, text) in &texts {
        let module = module(name);
        wrong.push_str(&iverson_tests::render::diagnostics(&module, text, &session.diagnostics(&module)));
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn programs_are_formatted() {
    let mut wrong = Vec::new();
    for (name, text) in texts() {
        let formatted = format(&text).unwrap_or_else(|e| panic!("{name} has syntax errors: {e:?}"));
        if name == OTHER_SPELLING {
            assert_ne!(formatted, text, "{name}");
            assert_eq!(format(&formatted).as_deref(), Ok(formatted.as_str()), "{name}");
        } else if formatted != text {
            let mut lines = formatted.lines().zip(text.lines()).enumerate();
            let (at, (wanted, found)) = lines.find(|(_, (a, b))| a != b).unwrap_or_default();
            wrong.push(format!("{name}:{}: {found:?} is formatted as {wanted:?}", at + 1));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_have_their_golden_values() {
    let texts = texts();
    let session = session(&texts);
    let (golden, tolerances) = (json("golden/values.json"), json("golden/tolerances.json"));
    // Those of `tests/tests/scalar.rs` stand in the same file.
    let own = tolerances.keys().filter(|name| !name.starts_with("scalar/"));
    let stray: Vec<_> = own.filter(|name| !golden.contains_key(*name)).collect();
    assert!(stray.is_empty(), "tolerances of no program: {stray:?}");

    let mut wrong = Vec::new();
    for (name, text) in &texts {
        let Some(wanted) = golden.get(name) else {
            if text.lines().any(|line| line.starts_with("def main()")) {
                wrong.push(format!("{name} has no golden value"));
            }
            continue;
        };
        let tolerance = Tolerance::of(tolerances.get(name));
        match value(&session, name) {
            Ok(found) => wrong.extend(tolerance.difference(&found, wanted, name)),
            Err(failure) => wrong.push(format!("{name}: {failure}")),
        }
    }
    wrong.extend(golden.keys().filter(|name| !texts.contains_key(*name)).map(|name| format!("{name} is no program")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn signs_mean_what_words_mean() {
    let mut texts = texts();
    let before = value(&session(&texts), OTHER_SPELLING);
    let text = texts.get_mut(OTHER_SPELLING).expect("the program is there");
    *text = format(text).expect("it has no syntax errors");
    assert_eq!(value(&session(&texts), OTHER_SPELLING), before);
}
