//! Every definition of the library and of the programs in every form, against the interpreter; and which have
//! no core form, with the reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use iverson_tests::golden;
use iverson_tests::stages::{Forms, judge};
use lang_core::base::GlobalName;
use lang_core::ir::core::Callee;
use lang_core::session::{LIBRARY, Session};
use lang_core::syntax::split::ItemKind;

#[test]
fn definitions_in_every_form() {
    let programs = golden::programs().unwrap_or_default();
    let session: Session = golden::session(&programs);
    let modules: Vec<String> =
        LIBRARY.iter().map(|(name, _)| (*name).to_owned()).chain(programs.keys().map(|n| golden::module(n))).collect();
    let globals = iverson_tests::run::globals(&session, modules.iter().map(String::as_str));
    let forms = Forms::new(&session, &globals);
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let (mut good, mut values, mut failures) = (0, 0, 0);
    for module in &modules {
        for item in session.items(module) {
            if item.kind != ItemKind::Def {
                continue;
            }
            let def = GlobalName::new(module, &item.name);
            let Some(signature) = session.signature(&def) else { continue };
            if !signature.type_params.is_empty() {
                continue;
            }
            let callee = Arc::new(Callee { def: def.clone(), types: Arc::from([]) });
            match forms.module.stages(&callee) {
                Err(outside) => reasons.entry(outside.what.phrase()).or_default().push(def.to_string()),
                Ok(stages) => {
                    good += 1;
                    match judge(&session, &forms, &globals, &def, &stages, 7, 6) {
                        Ok(judged) => {
                            values += judged.values;
                            failures += judged.failures;
                        }
                        Err(difference) => wrong.push(difference),
                    }
                }
            }
        }
    }
    println!("{good} definitions in core, {values} values, {failures} failures alike");
    for (reason, defs) in &reasons {
        println!("{reason}: {}", defs.len());
    }
    if std::env::var_os("IVERSON_SHOW").is_some() {
        println!("{reasons:#?}");
    }
    println!("{:?}", forms.module.hits());
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.iter().take(6).cloned().collect::<Vec<_>>().join("\n\n")
    );
}
