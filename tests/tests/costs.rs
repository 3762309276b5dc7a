//! What every definition of the library and of the programs costs, and its adjoint, as formulas.

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::expect_file;
use iverson_tests::golden;
use iverson_tests::middle::probe::types;
use lang_core::ad::{real_inputs, real_outputs};
use lang_core::base::GlobalName;
use lang_core::cost::{Cost, Kind, number};
use lang_core::ir::core::{Callee, Derivation};
use lang_core::session::LIBRARY;
use lang_core::syntax::split::ItemKind;

/// A cost in lines.
fn told(of: &str, cost: &Cost, text: &mut String) {
    let total = &cost.total;
    let mut line = format!("  {of}: work {}; iterations {}", total.work, total.iterations);
    if !total.tests.pieces().is_empty() {
        let _ = write!(line, "; tests {}", total.tests);
    }
    if !cost.kept.formulas().is_empty() {
        let kept: Vec<String> = cost.kept.formulas().iter().map(ToString::to_string).collect();
        let _ = write!(line, "; kept {}", kept.join(" | "));
    }
    let span: Vec<String> = cost.span.formulas().iter().map(ToString::to_string).collect();
    let _ = writeln!(text, "{line}; span {}", span.join(" | "));
    let mut used = Vec::new();
    for piece in [&total.work, &total.iterations].iter().flat_map(|f| f.pieces()) {
        let mut note = |a: &lang_core::predicate::Atom| used.extend(number(a));
        piece.value.parts().0.for_each_atom(&mut note);
        piece.pred.visit(&mut |p| p.for_each_atom(&mut note), &mut |_| {});
    }
    used.sort_unstable();
    used.dedup();
    for k in used.iter().take(8) {
        let Some(s) = cost.symbols.get(*k) else { continue };
        let path: Vec<String> = s.path.iter().map(|k| format!("X{k}")).collect();
        let most = s.most.as_ref().map_or_else(String::new, |m| format!(", at most {m}"));
        let kind = match s.kind {
            Kind::Terms(_) => "terms".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        };
        let _ = writeln!(text, "    p{k}: {kind} of {}{most}", path.join("."));
    }
}

#[test]
fn every_definition_has_its_cost() {
    let programs = golden::programs().expect("the programs can be read");
    let session = golden::session(&programs);
    let modules: Vec<String> = LIBRARY
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .chain(programs.iter().map(|(n, _)| golden::module(n)))
        .collect();
    let mut text = String::new();
    let mut slow: Vec<(u128, String)> = Vec::new();
    for module in &modules {
        for item in session.items(module).into_iter().filter(|i| i.kind == ItemKind::Def) {
            let def = GlobalName::new(module, &item.name);
            let Some(signature) = session.signature(&def) else { continue };
            let callee = Arc::new(Callee::new(def.clone(), types(&signature)));
            let Ok(stages) = session.stages(&callee) else { continue };
            let (wrt, of) = (real_inputs(&stages.ssa), real_outputs(&stages.ssa));
            let mut all = vec![("primal", callee.clone())];
            if !wrt.is_empty() && !of.is_empty() {
                let adjoint = Derivation::Adjoint { of: of.into(), wrt: wrt.into() };
                all.push(("adjoint", Arc::new(callee.derive(adjoint))));
            }
            let _ = writeln!(text, "{}.{}", module.trim_end_matches(".iv"), item.name);
            for (of, callee) in all {
                let _ = session.ssa(&callee);
                let start = std::time::Instant::now();
                let cost = session.cost(&callee).expect("it has a cost");
                slow.push((start.elapsed().as_micros(), format!("{of} {def:?}")));
                told(of, &cost, &mut text);
            }
        }
    }
    slow.sort();
    for (t, n) in slow.iter().rev().take(25) {
        println!("{t} µs {n}");
    }
    println!("total {}", slow.iter().map(|s| s.0).sum::<u128>());
    expect_file!["../golden/costs.txt"].assert_eq(&text);
}
