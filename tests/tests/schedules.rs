//! Which loops functions and their adjoints become: what shares a loop, what has memory, where loops run.

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::expect_file;
use iverson_tests::literate;
use lang_core::ad::{real_inputs, real_outputs};
use lang_core::base::GlobalName;
use lang_core::ir::core::{Callee, Derivation};
use lang_core::ir::ssa::{Rhs, Ssa, Var};
use lang_core::schedule::{Shown, Step, prepared, schedule};
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

/// What is called at many points is put in the places of its calls as long as that is not too long: of functions that each
/// call the one before twice, the last ones would double without end.
#[test]
fn calls_at_points_stay_short() {
    let steps: String = (1..30).map(|k| format!("  let a{k} = a{0} * cos(a{0} + {k}.0)\n", k - 1)).collect();
    let mut program = format!("def f0(x: f64) -> f64 =\n  let a0 = sin(x)\n{steps}  in a29\n");
    for k in 1..21 {
        let _ = writeln!(program, "def f{k}(x: f64) -> f64 = f{0}(f{0}(x) + 1.5)", k - 1);
    }
    program
        .push_str("def few(x: [n]f64) -> [n]f64 = for i: f2(x[i])\ndef many(x: [n]f64) -> [n]f64 = for i: f20(x[i])\n");
    let mut session = Session::new();
    session.set_text("calls.iv", &program);
    for (name, are_put) in [("few", true), ("many", false)] {
        let callee = Arc::new(Callee::new(GlobalName::new("calls.iv", name), Vec::new()));
        let prepared = prepared(session.ssa(&callee).expect("its form"), true, &|callee| session.ssa(callee));
        let steps = schedule(&prepared).steps;
        let calls = steps.iter().any(|step| matches!(step, Step::Statement(v) if is_call(&prepared.ssa, *v)));
        assert_eq!(calls, !are_put, "{name}");
    }
}

fn is_call(ssa: &Ssa, var: Var) -> bool {
    ssa.stmts.get(var.0 as usize).is_some_and(|stmt| matches!(stmt.rhs, Rhs::Call { .. }))
}
