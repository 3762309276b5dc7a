//! The derivatives of the programs of `tests/programs`: each expression of
//! `tests/golden/derivatives.json` has the value that stands there, which NumPy and JAX computed by
//! means of their own (`tests/golden/derivatives.py`).

use std::collections::BTreeMap;

use iverson_tests::golden::{self, Tolerance, Tolerances, module, session};
use iverson_tests::run::value_of_main;
use lang_core::session::Session;
use serde_json::{Map, Value};

/// The program of a check: the tested one is `p`, unless it is the language itself.
fn text(check: &Value) -> Option<String> {
    let program = check.get("program")?.as_str()?;
    let mut text = String::new();
    if program.contains('/') {
        text.push_str(&format!("import \"./{}\" as p\n", module(program)));
    }
    for import in check.get("imports")?.as_array()? {
        let import = import.as_str()?;
        match import.split_once(" as ") {
            Some((path, name)) => text.push_str(&format!("import \"{path}\" as {name}\n")),
            None => text.push_str(&format!("import {import}\n")),
        }
    }
    text.push_str(&format!("\ndef main() = {}\n", check.get("expr")?.as_str()?));
    Some(text)
}

/// What is wrong with a check.
fn judge(session: &mut Session, name: &str, check: &Value, tolerance: Tolerance) -> Option<String> {
    const MODULE: &str = "check.iv";
    let (Some(text), Some(wanted)) = (text(check), check.get("value")) else {
        return Some(format!("{name} is not written as a check is"));
    };
    session.set_text(MODULE, &text);
    let diagnostics = session.diagnostics(MODULE);
    if diagnostics.iter().any(lang_core::base::Diagnostic::is_error) {
        return Some(format!("{name}:\n{}", iverson_tests::render::diagnostics(MODULE, &text, &diagnostics)));
    }
    match value_of_main(session, MODULE).and_then(|value| golden::json_of(&value)) {
        Ok(found) => tolerance.normwise(wanted).difference(&found, wanted, name),
        Err(failure) => Some(format!("{name}: {failure}\n{text}")),
    }
}

/// A share of the checks, on a session of its own.
fn judge_share(
    programs: &BTreeMap<String, String>,
    checks: &Map<String, Value>,
    tolerances: &Tolerances,
    (share, of): (usize, usize),
) -> Vec<String> {
    let mut session = session(programs);
    let mine = checks.iter().enumerate().filter(|(k, _)| k % of == share);
    mine.filter_map(|(_, (name, check))| judge(&mut session, name, check, tolerances.get(name))).collect()
}

#[test]
fn derivatives_have_their_golden_values() {
    let programs = golden::programs().expect("the programs can be read");
    let checks = golden::file("derivatives.json").expect("the golden derivatives can be read");
    let tolerances = Tolerances::of("derivatives").expect("the tolerances can be read");
    let stray: Vec<_> = tolerances.names().filter(|name| !checks.contains_key(*name)).collect();
    assert!(stray.is_empty(), "tolerances of no derivative: {stray:?}");

    let of = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let (programs, checks, tolerances) = (&programs, &checks, &tolerances);
        let shares: Vec<_> =
            (0..of).map(|k| scope.spawn(move || judge_share(programs, checks, tolerances, (k, of)))).collect();
        shares.into_iter().flat_map(|share| share.join().expect("no share panics")).collect()
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), checks.len(), wrong.join("\n"));
}
