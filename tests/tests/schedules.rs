//! Which loops functions and their adjoints become: what shares a loop, what has memory, where loops run.

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::{expect, expect_file};
use iverson_tests::literate;
use lang_core::ad::{real_inputs, real_outputs};
use lang_core::base::GlobalName;
use lang_core::ir::core::{Callee, Derivation};
use lang_core::ir::ssa::{Rhs, Ssa, Var};
use lang_core::schedule::{Shown, Step, prepared, schedule, scheduled};
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

/// The steps of a function, case by case.
fn shown(session: &Session, ssa: &Arc<Ssa>) -> String {
    Shown { cases: &scheduled(ssa, &|callee| session.ssa(callee)), note: &|_, _| None }.to_string()
}

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
            let _ = writeln!(text, "== {def} of {file}, {what}\n\n{}", shown(&session, &ssa));
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

/// Of the two modes of a Jacobian sizes choose one: its case has no array of the other.
#[test]
fn what_sizes_decide_has_cases() {
    let program = "def line(p: [2]f64, t: [n]f64) -> [n]f64 = for i: let w = exp(p[0] * t[i]) in sin(w * p[1]) / w
def slopes(p: [2]f64, t: [n]f64) -> [n, 2]f64 = jacobian(line, wrt: p)(p, t)
def either(x: [n]f64, y: [m]f64) -> f64 = if n < m then (sum i: exp(x[i])) else (sum j: y[j]^2)
";
    let mut session = Session::new();
    session.set_text("cases.iv", program);
    let mut text = String::new();
    for name in ["line", "slopes", "either"] {
        let callee = Arc::new(Callee::new(GlobalName::new("cases.iv", name), Vec::new()));
        let ssa = session.ssa(&callee).expect("its form");
        let _ = writeln!(text, "{name}:\n{}", shown(&session, &ssa));
    }
    expect![[r#"
        line:
        slopes:
        1 < n is true
        kernel given X0[2], X1[n]; makes X19[n, 2]
          for i < n, in chunks:  -- n times
            X3[i] = X0[0] * X1[i]
            X4[i] = exp(X3[i])
            X5[i] = X0[1] * X4[i]
            X6[i] = sin(X5[i])
            X7[i] = /(X6[i], X4[i])
            X8[i] = X1[i] * X4[i]
            X9[i] = X0[1] * X8[i]
            X10[i] = cos(X5[i])
            X11[i] = X9[i] * X10[i]
            X12[i] = X4[i] * X10[i]
            X13[i] = /(X11[i], X4[i])
            X14[i] = /(X12[i], X4[i])
            X15[i] = -X7[i] * X8[i]
            X16[i] = /(X15[i], X4[i])
            X17[i] = X13[i] + X16[i]
            X19[i, 0] = X17[i]
            X19[i, 1] = X14[i]

        1 < n is false
        X2 is 1.0
        kernel given X0[2], X1[n]; makes X5[n], X9[n], X11[n], X12[n]
          for i < n, in chunks:  -- n times
            X4[i] = X0[0] * X1[i]
            X5[i] = exp(X4[i])
            X6[i] = X0[1] * X5[i]
            X7[i] = sin(X6[i])
            X8[i] = /(X7[i], X5[i])
            X9[i] = /(X2, X5[i])
            X10[i] = -X8[i]
            X11[i] = /(X10[i], X5[i])
            X12[i] = cos(X6[i])
        kernel given X0[2], X1[n], X5[n], X9[n], X11[n], X12[n]; makes X19[n, 2]
          for i < n, in chunks:  -- n times
            X14[i] = 0.0
            X18[i] = 0.0
            for j < n:  -- n^2 times
              X13[i, j] = X9[i] * X12[j]
              X14[i] += X5[j] * X13[i, j]
              X15[i, j] = X0[1] * X13[i, j]
              X16[i, j] = X11[j] + X15[i, j]
              X17[i, j] = X5[j] * X16[i, j]
              X18[i] += X1[j] * X17[i, j]
            X19[i, 0] = X18[i]
            X19[i, 1] = X14[i]

        either:
        n < m is false
        X4 is 2
        kernel given X1[m]; makes X7
          X6 = 0.0
          for i < m, in chunks, X6 joined:  -- m times
            X5[i] = ^(X1[i], X4)
            X6 += X5[i]
          X7 = X6

        n < m is true
        kernel given X0[n]; makes X7
          X3 = 0.0
          for i < n, in chunks, X3 joined:  -- n times
            X2[i] = exp(X0[i])
            X3 += X2[i]
          X7 = X3

    "#]]
    .assert_eq(&text);
}
