//! **Cost certificates.** Records the cost of every definition in the library and of the programs,
//! and of its adjoint. The costs are formulas for sizes of at least 1. The separate checker
//! verifies again each certificate that compares the two costs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::expect_file;
use iverson_tests::golden;
use iverson_tests::literate;
use iverson_tests::middle::cost_formulas::has_symbols;
use iverson_tests::middle::interpreter_oracle::types;
use lang_core::ad::{real_inputs, real_outputs};
use lang_core::base::GlobalName;
use lang_core::certify::{CertificateVerdict, IncomparableReason};
use lang_core::cost::{CostFormulas, CostRatio};
use lang_core::count::Formula;
use lang_core::ir::core::{DerivativeKind, FunctionKey};
use lang_core::predicate::FactContext;
use lang_core::session::LIBRARY;
use lang_core::syntax::split::ItemKind;

use crate::snapshot::assert_folder;

/// Returns a formula for sizes of at least 1, if it depends on sizes alone.
fn shown(of: &Formula, cost: &CostFormulas) -> String {
    if has_symbols(of) {
        return "data".to_owned();
    }
    of.math_text(&cost.positive_context(), &cost.names)
}

fn cost_line(cost: &CostFormulas) -> String {
    let total = &cost.total;
    let mut line = format!("work {}; iterations {}", shown(&total.work, cost), shown(&total.iterations, cost));
    if !total.tests.pieces().is_empty() {
        let _ = write!(line, "; tests {}", shown(&total.tests, cost));
    }
    line
}

fn verdict(of: &CertificateVerdict) -> &'static str {
    match of {
        CertificateVerdict::Proved { .. } => "proved",
        CertificateVerdict::Checked { .. } => "checked",
        CertificateVerdict::Refuted { .. } => "refuted",
        CertificateVerdict::Unknown(_) => "not compared",
    }
}

/// Returns the reason why a bound is not proved for all sizes, for the book's page.
fn exception(bound: &CostRatio) -> Option<String> {
    Some(match &bound.certificate.verdict {
        CertificateVerdict::Proved { .. } if !bound.requires_positive_sizes => return None,
        CertificateVerdict::Proved { factor, .. } => {
            format!("{factor}, proved for sizes of at least 1: with a size of 0 it grows")
        }
        CertificateVerdict::Checked { factor, grid, .. } => {
            format!("{factor} at {} sizes; no proof was found within the steps that a search may take", grid.points)
        }
        CertificateVerdict::Refuted { term, .. } => {
            format!("it grows by {}", Formula::from(term.clone()).math_text(&FactContext::new([]), &bound.names))
        }
        CertificateVerdict::Unknown(IncomparableReason::Data) => {
            "what data decide in the adjoint is not bounded by what they decide in the function".to_owned()
        }
        CertificateVerdict::Unknown(IncomparableReason::NoValue) => {
            "a formula has no value at the sizes that are tried: an extent is a quotient".to_owned()
        }
        CertificateVerdict::Unknown(IncomparableReason::Negative) => {
            "the known facts about the data allow a negative cost".to_owned()
        }
        CertificateVerdict::Unknown(IncomparableReason::TooLarge) => {
            "data decide more numbers of its formulas than are compared".to_owned()
        }
    })
}

/// Returns the file in `golden/costs` for a module.
fn snapshot_file(module: &str) -> String {
    let name = module.trim_end_matches(".iv");
    match LIBRARY.iter().any(|(library, _)| *library == module) {
        true if name.is_empty() => "library/prelude.txt".to_owned(),
        true => format!("library/{name}.txt"),
        false => format!("{name}.txt"),
    }
}

/// Costs that a reader can count by hand, with the least factor of the adjoint: an addition, a
/// multiplication and a call each count as one, and a sum of n terms has n − 1 additions.
const COUNTED_BY_HAND: &[(&str, &str, &str)] = &[
    ("library/linalg.txt", "dot: work 2·n − 1; ", "factor 2, proved"),
    ("library/linalg.txt", "outer: work n·m; ", "factor 3, proved"),
    ("library/linalg.txt", "matvec: work 2·n·m − n; ", "factor 2, proved"),
    ("library/linalg.txt", "matmul: work 2·n·k·m − n·m; ", "factor 3, proved"),
    ("library/linalg.txt", "trace: work n − 1; ", "factor 1, proved"),
    ("library/linalg.txt", "cross: work 9; ", "factor 2, proved"),
];

/// The head of the book's page of adjoints without a proof.
const HEAD: &str = "# Gradients without a proof

<!-- Made by the tests of costs; `cargo xtask bless` writes it. -->

For the definitions in the library and of the examples the adjoint is proved to cost at most a whole number of times what
the function costs ([what it costs](cost.md)), for all sizes and all data, but for these.

| definition | its adjoint |
|---|---|
";

#[test]
fn every_definition_has_its_cost() {
    let programs = golden::programs().expect("the programs can be read");
    let mut session = golden::session(&programs);
    let root = literate::repository_root();
    let examples = literate::files_with_extension(&root.join("examples"), "iv");
    let examples: Vec<String> = examples
        .iter()
        .filter_map(|path| {
            let module = path.strip_prefix(&root).ok()?.display().to_string();
            session.set_text(&module, &std::fs::read_to_string(path).ok()?);
            Some(module)
        })
        .collect();
    let mut exceptions = String::new();
    let mut proved = 0;
    let modules = LIBRARY.iter().map(|(name, _)| (*name).to_owned());
    let modules = modules.chain(programs.keys().map(|n| golden::module(n))).chain(examples.clone());
    let mut texts = BTreeMap::new();
    let mut verdicts = BTreeMap::<&str, u32>::new();
    let (mut exact, mut all) = (0, 0);
    for module in modules {
        let text: &mut String = texts.entry(snapshot_file(&module)).or_default();
        for item in session.items(&module).into_iter().filter(|i| i.kind == ItemKind::Def) {
            let def = GlobalName::new(&module, &item.name);
            let Some(signature) = session.signature(&def) else { continue };
            let callee = Arc::new(FunctionKey::new(def.clone(), types(&signature)));
            let Ok(stages) = session.stages(&callee) else { continue };
            let cost = session.cost(&callee).expect("it has a cost");
            let _ = writeln!(text, "{}: {}", item.name, cost_line(&cost));
            all += 1;
            exact += u32::from(cost.symbols.is_empty());
            let (wrt, of) = (real_inputs(&stages.ssa), real_outputs(&stages.ssa));
            if wrt.is_empty() || of.is_empty() {
                continue;
            }
            let adjoint = Arc::new(callee.derivative(DerivativeKind::Adjoint { outputs: of.into(), wrt: wrt.into() }));
            let cost = session.cost(&adjoint).expect("it has a cost");
            let bound = session.bound(&adjoint).expect("it has a certificate");
            let compared = !matches!(bound.certificate.verdict, CertificateVerdict::Unknown(_));
            assert!(!compared || bound.verify(), "the certificate of {def:?} does not follow");
            let found = verdict(&bound.certificate.verdict);
            if LIBRARY.iter().any(|(name, _)| *name == module) || examples.contains(&module) {
                let module = module.trim_end_matches(".iv");
                match exception(&bound) {
                    Some(why) => drop(writeln!(exceptions, "| `{module}.{}` | {why} |", item.name)),
                    None => proved += 1,
                }
            }
            *verdicts.entry(found).or_default() += 1;
            let extra = if bound.allowance.pieces().is_empty() { "" } else { " with extra" };
            let factor = match &bound.certificate.verdict {
                CertificateVerdict::Proved { factor, .. } | CertificateVerdict::Checked { factor, .. } => {
                    format!("{factor}, {found}{extra}")
                }
                CertificateVerdict::Refuted { term, .. } => format!("{found} by {term}"),
                CertificateVerdict::Unknown(why) => format!("{found}: {why:?}"),
            };
            let _ = writeln!(text, "  adjoint: {}; factor {factor}", cost_line(&cost));
        }
    }
    // No adjoint grows beyond its function.
    assert_eq!(verdicts.get("refuted"), None);
    for (file, primal, factor) in COUNTED_BY_HAND {
        let lines: Vec<&str> = texts[*file].lines().collect();
        let counted = lines.windows(2).any(|pair| pair[0].starts_with(primal) && pair[1].ends_with(factor));
        assert!(counted, "{file}: {primal}… {factor}");
    }
    let summary = format!("{exact} of {all} by sizes alone; certificates: {verdicts:?}\n");
    print!("{summary}");
    texts.insert("summary.txt".to_owned(), summary);
    texts.retain(|_, text| !text.is_empty());
    let page = format!("{HEAD}{exceptions}\nProved are those of the other {proved}.\n");
    expect_file!["../../../docs/book/src/reference/unproved.md"].assert_eq(&page);
    assert_folder("costs", &texts);
}
