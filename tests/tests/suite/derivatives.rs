//! **Golden derivatives** of the programs in `tests/programs`. NumPy and JAX computed each value of
//! `tests/golden/derivatives.json` by their own means (`tests/golden/derivatives.py`). The
//! interpreter must agree, and so must the compiler's derivatives if the expression has a core
//! form.

use std::collections::BTreeMap;
use std::sync::Arc;

use iverson_tests::golden::json_of_parts;
use iverson_tests::golden::{self, Tolerance, Tolerances, module, session};
use iverson_tests::middle::engine_oracle::{agrees, oracle_counts};
use iverson_tests::middle::forms::{EvaluatorFunctions, SessionForms};
use iverson_tests::run::{CompiledEvaluation, globals, value_of_main, value_of_main_compiled};
use lang_core::base::GlobalName;
use lang_core::eval::eval_ssa::SsaEvaluator;
use lang_core::exec::offload::OffloadCounts;
use lang_core::ir::core::FunctionKey;
use lang_core::session::Session;
use serde_json::{Map, Value};

/// The module of a check.
const MODULE: &str = "check.iv";

/// Returns the text of a check. The tested program is imported as `p`, unless the check is of the
/// language itself.
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

/// The results of a share of the checks.
#[derive(Default)]
struct Share {
    wrong: Vec<String>,
    /// The number of checks in Tensor SSA, and the reasons of the others.
    generated: usize,
    outside: BTreeMap<&'static str, usize>,
    /// The compiled evaluation of the runs, and the reasons for interpreted derivatives.
    ways: CompiledEvaluation,
    /// The same for runs by machine code.
    native: CompiledEvaluation,
}

/// Returns the value of `main` in Tensor SSA, or the reason if it has no such form.
fn generated(session: &Session) -> Result<Result<Value, String>, &'static str> {
    // The one module in the library with top-level values.
    let globals = globals(session, ["stats"]);
    let forms = SessionForms::new(session, &globals);
    let callee = Arc::new(FunctionKey::new(GlobalName::new(MODULE, "main"), Vec::new()));
    let stages = forms.module.stages(&callee).map_err(|why| why.reason.phrase())?;
    let all = EvaluatorFunctions(&forms);
    let mut evaluator = SsaEvaluator::new(&all, u64::MAX);
    let parts = evaluator.call(&stages.ssa, &[], Vec::new());
    if let Err(how) = agrees(&forms, &stages.ssa, &[], &[], parts.as_deref()) {
        return Ok(Err(format!("the engine differs: {how}")));
    }
    let parts = parts.map_err(|why| format!("{why:?}\n{}", stages.ssa));
    Ok(parts.map(|parts| json_of_parts(&stages.ssa.result, &parts)))
}

/// Returns the fault of a check, if it has one.
fn judge(session: &mut Session, name: &str, check: &Value, tolerance: Tolerance, share: &mut Share) -> Option<String> {
    let (Some(text), Some(wanted)) = (text(check), check.get("value")) else {
        return Some(format!("{name} is not written as a check is"));
    };
    session.set_text(MODULE, &text);
    let diagnostics = session.diagnostics(MODULE);
    if diagnostics.iter().any(lang_core::base::Diagnostic::is_error) {
        return Some(format!("{name}:\n{}", iverson_tests::render::diagnostics(MODULE, &text, &diagnostics)));
    }
    match generated(session) {
        Ok(Ok(found)) => {
            share.generated += 1;
            let wrong = tolerance.normwise(wanted).difference(&found, wanted, name);
            if let Some(wrong) = wrong {
                return Some(format!("generated: {wrong}"));
            }
        }
        Ok(Err(failure)) => return Some(format!("{name}, generated: {failure}\n{text}")),
        Err(reason) => *share.outside.entry(reason).or_default() += 1,
    }
    let judge = |how: &str, value: Result<lang_core::runtime::Value, String>| {
        let differing = match value.and_then(|value| golden::json_of(&value)) {
            Ok(found) => tolerance.normwise(wanted).difference(&found, wanted, name),
            Err(failure) => Some(format!("{name}: {failure}\n{text}")),
        };
        differing.map(|differing| format!("{how}{differing}"))
    };
    let run = value_of_main_compiled(session, MODULE, &share.ways);
    let native = value_of_main_compiled(session, MODULE, &share.native);
    judge("", value_of_main(session, MODULE))
        .or_else(|| judge("by generated derivatives: ", run))
        .or_else(|| judge("by machine code: ", native))
}

/// Runs a share of the checks on a session of its own.
fn judge_share(
    programs: &BTreeMap<String, String>,
    checks: &Map<String, Value>,
    tolerances: &Tolerances,
    (nth, of): (usize, usize),
) -> Share {
    let mut session = session(programs);
    let mut share = Share { native: CompiledEvaluation::native(), ..Share::default() };
    for (_, (name, check)) in checks.iter().enumerate().filter(|(k, _)| k % of == nth) {
        let broken = |share: &Share| share.ways.tally.get().defects + share.native.tally.get().defects;
        let before = broken(&share);
        let wrong = judge(&mut session, name, check, tolerances.get(name), &mut share);
        share.wrong.extend(wrong);
        if broken(&share) > before {
            share.wrong.push(format!("{name}: the engine broke"));
        }
    }
    share
}

#[test]
fn derivatives_have_their_golden_values() {
    let programs = golden::programs().expect("the programs can be read");
    let checks = golden::file("derivatives.json").expect("the golden derivatives can be read");
    let tolerances = Tolerances::of("derivatives").expect("the tolerances can be read");
    let stray: Vec<_> = tolerances.names().filter(|name| !checks.contains_key(*name)).collect();
    assert!(stray.is_empty(), "tolerances of no derivative: {stray:?}");

    let of = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8);
    let shares: Vec<Share> = std::thread::scope(|scope| {
        let (programs, checks, tolerances) = (&programs, &checks, &tolerances);
        let shares: Vec<_> =
            (0..of).map(|k| scope.spawn(move || judge_share(programs, checks, tolerances, (k, of)))).collect();
        shares.into_iter().map(|share| share.join().expect("no share panics")).collect()
    });
    let (mut wrong, mut generated, mut outside) = (Vec::new(), 0, BTreeMap::<&str, usize>::new());
    let (mut ways, mut native) = (OffloadCounts::default(), OffloadCounts::default());
    let mut left = BTreeMap::<&str, usize>::new();
    for share in shares {
        wrong.extend(share.wrong);
        generated += share.generated;
        ways = ways.plus(share.ways.tally.get());
        native = native.plus(share.native.tally.get());
        for why in share.ways.outside.into_inner() {
            *left.entry(why.reason.phrase()).or_default() += 1;
        }
        share.outside.into_iter().for_each(|(reason, count)| *outside.entry(reason).or_default() += count);
    }
    assert!(generated * 2 >= checks.len(), "only {generated} of {} have generated derivatives", checks.len());
    println!("by generated derivatives: {ways:?}; the interpreter's: {left:?}; by machine code: {native:?}");
    println!("{generated} of {} by generated derivatives; not in core: {outside:?}", checks.len());
    println!("{} elements of machine code farther than one sum explains", oracle_counts().loose);
    assert_eq!(oracle_counts().endless, 0, "what is not finite is the evaluator's");
    assert_eq!(oracle_counts().too_large, 0, "every run is compared");
    assert!(
        oracle_counts().loose <= 40,
        "{} elements of machine code are farther than one sum explains",
        oracle_counts().loose
    );
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), checks.len(), wrong.join("\n"));
}
