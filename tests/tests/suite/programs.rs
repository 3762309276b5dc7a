//! **Golden programs** of `tests/programs`. Each has no diagnostics and, except
//! [`OTHER_SPELLING`], the formatter's layout. Each `main` evaluates to its golden value, which
//! NumPy computed (`tests/golden/make.py`).

#![expect(clippy::expect_used, reason = "what helpers of a test cannot read fails the test")]

use std::collections::BTreeMap;

use iverson_tests::golden::{self, Tolerances, module, session};
use iverson_tests::run::value_of_main;
use lang_core::session::Session;
use lang_core::syntax::format::format;
use serde_json::Value;

/// A program about a spelling that the formatter normalises.
const OTHER_SPELLING: &str = "own/unicode";

fn texts() -> BTreeMap<String, String> {
    golden::programs().expect("the programs can be read")
}

/// Returns the value of a program's `main`.
fn value(session: &Session, name: &str) -> Result<Value, String> {
    golden::json_of(&value_of_main(session, &module(name))?)
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
    let golden = golden::file("values.json").expect("the golden values can be read");
    let tolerances = Tolerances::of("programs").expect("the tolerances can be read");
    let stray: Vec<_> = tolerances.names().filter(|name| !golden.contains_key(*name)).collect();
    assert!(stray.is_empty(), "tolerances of no program: {stray:?}");

    let mut wrong = Vec::new();
    for (name, text) in &texts {
        let Some(wanted) = golden.get(name) else {
            if text.lines().any(|line| line.starts_with("def main()")) {
                wrong.push(format!("{name} has no golden value"));
            }
            continue;
        };
        let tolerance = tolerances.get(name);
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
