//! Which loops functions and their adjoints become: what shares a loop, what has memory, where loops run.

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::expect_file;
use iverson_tests::literate;
use lang_core::ad::{real_inputs, real_outputs};
use lang_core::base::GlobalName;
use lang_core::ir::core::{Callee, Derivation};
use lang_core::schedule::{Shown, prepared, schedule};
use lang_core::session::Session;

/// Programs in `examples/`, and definitions of them.
const ALL: &[(&str, &str)] = &[
    ("deconvolution.iv", "loss"),
    ("gradbench/lse.iv", "primal"),
    ("gradbench/llsq.iv", "primal"),
    ("gradbench/kmeans.iv", "cost"),
    ("gradbench/ode.iv", "change"),
    ("gradbench/ode.iv", "primal"),
    ("gradbench/gmm.iv", "objective"),
];

#[test]
fn loops_of_functions_and_adjoints() {
    let mut text = String::new();
    for (file, def) in ALL {
        let mut session = Session::new();
        let program = std::fs::read_to_string(literate::root().join("examples").join(file)).expect("a program");
        session.set_text(file, &program);
        let callee = Arc::new(Callee::new(GlobalName::new(file, def), Vec::new()));
        let primal = session.ssa(&callee).expect("its form");
        let (of, wrt) = (real_outputs(&primal).into(), real_inputs(&primal).into());
        let adjoint = session.ssa(&Arc::new(callee.derive(Derivation::Adjoint { of, wrt }))).expect("its adjoint");
        for (what, ssa) in [("value", primal), ("adjoint", adjoint)] {
            let prepared = prepared(ssa, true, &|callee| session.ssa(callee));
            let schedule = schedule(&prepared);
            let shown = Shown { ssa: &prepared.ssa, schedule: &schedule, note: &|_| None };
            let _ = writeln!(text, "== {def} of {file}, {what}\n\n{shown}");
        }
    }
    expect_file!["../golden/schedules.txt"].assert_eq(&text);
}
