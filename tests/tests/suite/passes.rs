//! **Passes over Tensor SSA** on every form: each leaves a valid function, whichever others are
//! switched off, and each changes some form.

use std::collections::BTreeMap;
use std::sync::Arc;

use iverson_tests::middle::collected_forms::with_all_forms;
use iverson_tests::random::Random;
use lang_core::ir::core::FunctionKey;
use lang_core::opt::{Optimised, PASSES};

/// One form of this many is optimised, because optimised forms are verified after each pass.
const ONE_IN: usize = 4;

#[test]
fn passes_are_independent() {
    let mut random = Random::new(7);
    let mut changes: BTreeMap<&str, usize> = PASSES.iter().map(|pass| (pass.name, 0)).collect();
    with_all_forms(|forms, all| {
        let callees = |callee: &Arc<FunctionKey>| forms.module.ssa(callee);
        for ssa in all.ssa.values() {
            if !random.once_in(ONE_IN) {
                continue;
            }
            // Debug builds verify the function after each pass that changes it.
            let mut optimised = Optimised::unchanged(Arc::clone(ssa));
            for pass in PASSES.iter().filter(|_| !random.once_in(3)) {
                if optimised.apply(pass, &callees) {
                    *changes.entry(pass.name).or_default() += 1;
                }
            }
            assert_eq!(optimised.origins.len(), optimised.ssa.stmts.len(), "{ssa}");
            assert!(optimised.origins.iter().all(|v| (v.0 as usize) < ssa.stmts.len()), "{ssa}");
        }
    });
    println!("changed forms by pass: {changes:?}");
    assert!(changes.values().all(|count| *count > 0), "{changes:?}");
}
