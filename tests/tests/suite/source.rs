//! **Derivatives as source.** Prints the adjoint and the tangent of every definition in the library
//! and of the programs. Parses, checks in scope, formats and evaluates each text. Records the
//! definitions without such a text, with the reason.

use std::collections::{BTreeMap, HashMap};

use iverson_tests::golden::{self, Tolerances};
use iverson_tests::literate;
use iverson_tests::source::{compare, probe, probe_name};
use lang_core::base::{Diagnostic, GlobalName};
use lang_core::pipeline::MemoisedForms;
use lang_core::session::{LIBRARY, Session};
use lang_core::source::{self, DerivativeMode, DerivativeText, PrintedDerivative};
use lang_core::syntax::format;
use lang_core::syntax::parser::parse_item;
use lang_core::syntax::split::{ItemKind, split};

/// A printed derivative: its definition, and which of the two it is.
struct SourceDerivative {
    def: GlobalName,
    which: DerivativeMode,
    derivative: PrintedDerivative,
}

/// The reason why the text of a derivative does more work than Tensor SSA. The interpreter counts
/// additions to zero, and recomputes a callee's constants and the steps of loops.
const DEARER: &str = "more work than in Tensor SSA, by additions of zeros (of `scatter_add`, of sums without terms, of arms \
                      of `match`), by what callees compute of constants, and by steps of loops that are made again";

/// Iterations that drawn data do not let converge, or whose steps amplify differences. Their texts
/// are checked but not evaluated.
const UNSETTLED: &[&str] = &["power_iteration", "eigenvalues", "anomaly", "anomalies", "positions"];

#[test]
fn derivatives_of_definitions_as_source() {
    let programs = golden::programs().unwrap_or_default();
    let mut session: Session = golden::session(&programs);
    let mut texts: BTreeMap<String, String> =
        LIBRARY.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    texts.extend(programs.iter().map(|(n, text)| (golden::module(n), text.clone())));
    let only = std::env::var("IVERSON_ONLY").ok();
    let mut printed: Vec<SourceDerivative> = Vec::new();
    let mut without: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut wrong: Vec<String> = Vec::new();
    {
        let module = MemoisedForms::new(&session);
        for name in texts.keys() {
            for item in session.items(name).into_iter().filter(|i| i.kind == ItemKind::Def) {
                let def = GlobalName::new(name, &item.name);
                if only.as_ref().is_some_and(|o| !format!("{def:?}").contains(o)) {
                    continue;
                }
                for which in [DerivativeMode::Adjoint, DerivativeMode::Forward] {
                    match source::print_derivative(&module, &session, &session.view(), &def, &item.text, which) {
                        Ok(DerivativeText::Source(mut derivative)) => {
                            let taken = session.signature(&GlobalName::new(name, &derivative.name)).is_some();
                            if taken {
                                let other = format!("{}_shown", derivative.name);
                                derivative.text = derivative.text.replacen(
                                    &format!("def {}(", derivative.name),
                                    &format!("def {other}("),
                                    1,
                                );
                                derivative.name = other.into();
                            }
                            if !taken && format::format(&derivative.text).as_deref() != Ok(&derivative.text) {
                                wrong.push(format!("{def:?} is not in the one layout:\n{}", derivative.text));
                            }
                            printed.push(SourceDerivative { def: def.clone(), which, derivative });
                        }
                        Ok(DerivativeText::SsaOnly(_, why)) => {
                            without
                                .entry(why.phrase().to_owned())
                                .or_default()
                                .push(format!("{def:?}{}", which.suffix()));
                        }
                        Ok(DerivativeText::NotReal) | Err(_) => {}
                    }
                }
            }
        }
    }
    for p in &printed {
        let Some(text) = texts.get_mut(p.def.module.as_str()) else { continue };
        // The text also needs the derivatives that it calls, which are not printed by themselves if
        // `IVERSON_ONLY` selects others.
        for derivative in p.derivative.prerequisites.iter().chain([&p.derivative]) {
            if !text.contains(&format!("\ndef {}(", derivative.name)) {
                text.push_str(&format!("\n{}", derivative.text));
            }
        }
        text.push_str(&probe(&p.def.name, &p.derivative, p.which));
    }
    for (name, text) in &texts {
        session.set_text(name, text);
    }
    for p in &printed {
        let name = GlobalName::new(&p.def.module, &p.derivative.name);
        if session.checked(&name).is_none_or(|c| c.body.root.is_none() || !c.diagnostics.is_empty()) {
            let all: Vec<Diagnostic> = session.checked(&name).map(|c| c.diagnostics.clone()).unwrap_or_default();
            let message = all.first().map(|d| d.message.clone()).unwrap_or_default();
            wrong.push(format!("{name:?} does not check: {message}\n{}", p.derivative.text));
        }
    }
    let globals = iverson_tests::run::globals(&session, texts.keys().map(String::as_str));
    let tolerances = Tolerances::of("printed derivatives").unwrap();

    let module = MemoisedForms::new(&session);
    let (mut values, mut failures, mut unprobed, mut dearer) = (0, 0, Vec::new(), Vec::new());
    for p in &printed {
        let probe_def = GlobalName::new(&p.def.module, &probe_name(&p.derivative));
        if session.checked(&probe_def).is_none_or(|c| c.body.root.is_none()) {
            unprobed.push(format!("{probe_def:?}"));
            continue;
        }
        let unsettled = p.def.module.starts_with("own/") && UNSETTLED.contains(&p.def.name.as_str());
        let Some(callee) = source::callee_at_f64(&session, &p.def).filter(|_| !unsettled) else { continue };
        let Ok(stages) = module.stages(&callee) else { continue };
        let single = p.derivative.text.contains("f32");
        let tolerance = tolerances.get(if single { "single precision" } else { "*" });
        let points = [Some(0), Some(1), None, None, Some(3)];
        let other = probe_def.name.to_string();
        match compare(&session, &globals, &p.def, &stages, &p.derivative, p.which, &other, tolerance, &points) {
            Ok(compared) => {
                values += compared.values;
                failures += compared.failures;
                // The interpreter's `vjp` is another method.
                let calls = ["vjp(", "jvp("].iter().any(|word| p.derivative.text.contains(word));
                if only.is_some() {
                    println!("{:?} {:?} {:?}\n{}", p.def, compared.work, compared.counts.0, p.derivative.text);
                }
                if compared.work.0 > compared.work.1 && !calls {
                    dearer.push(format!(
                        "{:?}{} ({} for {})",
                        p.def,
                        p.which.suffix(),
                        compared.work.0,
                        compared.work.1
                    ));
                }
            }
            Err(difference) => wrong.push(difference),
        }
    }
    println!("{} printed, {values} values, {failures} failures; not probed {unprobed:?}", printed.len());
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n\n")
    );
    if only.is_some() {
        return;
    }
    assert!(printed.len() >= 1500, "{} printed", printed.len());
    assert!(values >= 6500, "{values} values");
    without.insert(DEARER.to_owned(), dearer);
    let reasons: Vec<String> = without.iter().map(|(why, defs)| format!("{why}:\n  {}\n", defs.join("\n  "))).collect();
    expect_test::expect_file!["../../golden/unprinted.txt"].assert_eq(&reasons.concat());
}

/// The lines of a golden file that precede the printed adjoint and the reference.
const PRINTED: &str = "-- The adjoint, as it is printed.\n";
const BY_HAND: &str = "-- By hand.\n";

/// The greatest ratio of operations and of nodes to the reference.
const MOST: f64 = 1.2;

/// Each file of `golden/adjoints` contains a definition, its printed adjoint, and a hand-written
/// one. Both must have the same values and nearly the same numbers of operations and nodes.
#[test]
fn adjoints_are_what_one_would_write() {
    let folder = literate::repository_root().join("tests/golden/adjoints");
    let mut files = literate::files_with_extension(&folder, "iv");
    files.sort();
    assert!(files.len() >= 30, "{} golden adjoints", files.len());
    let tolerance = Tolerances::of("printed derivatives").unwrap().get("*");
    let mut wrong = Vec::new();
    let mut table = String::new();
    for path in &files {
        let text = std::fs::read_to_string(path).unwrap();
        let (function, rest) = text.split_once(PRINTED).unwrap();
        let (_, by_hand) = rest.split_once(BY_HAND).unwrap();
        let mut session = Session::new();
        session.set_text("t", function);
        let item = session.items("t").into_iter().find(|i| i.kind == ItemKind::Def).unwrap();
        let def = GlobalName::new("t", &item.name);
        let derivative = {
            let module = MemoisedForms::new(&session);
            match source::print_derivative(
                &module,
                &session,
                &session.view(),
                &def,
                &item.text,
                DerivativeMode::Adjoint,
            ) {
                Ok(DerivativeText::Source(derivative)) => derivative,
                other => panic!("{def:?}: {other:?}"),
            }
        };
        let whole = format!("{function}{PRINTED}{}\n{BY_HAND}{by_hand}", derivative.full_text());
        expect_test::expect_file![path].assert_eq(&whole);
        match format::format(&whole) {
            Ok(text) if text == whole => {}
            other => wrong.push(format!("{} is not in the one layout: {other:?}", path.display())),
        }
        session.set_text("t", &whole);
        let problems = session.diagnostics("t");
        if !problems.is_empty() {
            wrong.push(iverson_tests::render::diagnostics("t", &whole, &problems));
            continue;
        }
        let module = MemoisedForms::new(&session);
        let stages = module.stages(&source::callee_at_f64(&session, &def).unwrap()).unwrap();
        let other = format!("{}_hand", item.name);
        let points = [Some(0), Some(1), Some(2), Some(5), Some(9)];
        let none = HashMap::new();
        let compared =
            compare(&session, &none, &def, &stages, &derivative, DerivativeMode::Adjoint, &other, tolerance, &points);
        match compared {
            Err(difference) => wrong.push(difference),
            Ok(compared) => {
                let (ours, theirs) = (compared.counts.0, compared.counts.1);
                let (nodes, reference) = (nodes_of(&derivative.full_text()), nodes_of(by_hand));
                table += &format!(
                    "{:16} work {:5} {:5}  iterations {:5} {:5}  nodes {nodes:3} {reference:3}\n",
                    item.name, ours.work, theirs.work, ours.iterations, theirs.iterations
                );
                #[expect(clippy::cast_precision_loss, reason = "counts of small programs")]
                let over = |a: u64, b: u64| a as f64 > MOST * b as f64;
                if over(ours.work, theirs.work) || over(ours.iterations, theirs.iterations) || over(nodes, reference) {
                    wrong.push(format!("{}:\n{}\n{by_hand}", item.name, derivative.text));
                }
                if compared.values < 3 {
                    wrong.push(format!("{}: {} values, {:?}", item.name, compared.values, compared.first_failure));
                }
            }
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{} differ:\n{}\n{table}", wrong.len(), wrong.join("\n\n"));
}

/// Returns the number of expressions in the text of a definition.
fn nodes_of(text: &str) -> u64 {
    split(text).iter().map(|item| parse_item(&item.text).tree.exprs.len() as u64).sum()
}
