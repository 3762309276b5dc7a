//! **Scheduling.** Compares the schedules of functions and their adjoints with recorded texts. The
//! module `lang_core::nest` computes them from Tensor SSA: fusion, storage, and the loops that run
//! in chunks or in order.

#![expect(clippy::expect_used, reason = "a test helper may panic")]

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::{expect, expect_file};
use iverson_tests::literate;
use lang_core::ad::{real_inputs, real_outputs};
use lang_core::base::GlobalName;
use lang_core::ir::core::{DerivativeKind, FunctionKey};
use lang_core::ir::ssa::{Rhs, SsaFunction, StmtId};
use lang_core::nest::{FlattenPolicy, ScheduleText, Step, prepare, schedule, schedule_cases};
use lang_core::opt::{PassSelection, optimise};
use lang_core::session::Session;

/// Programs in `examples/`, each with one definition in it.
const EXAMPLE_DEFINITIONS: &[(&str, &str)] = &[
    ("deconvolution.iv", "loss"),
    ("gradbench/lse.iv", "primal"),
    ("gradbench/llsq.iv", "primal"),
    ("gradbench/kmeans.iv", "cost"),
    ("gradbench/ode.iv", "change"),
    ("gradbench/ode.iv", "primal"),
    ("gradbench/gmm.iv", "objective"),
];

/// Returns the schedule of a function as text, case by case.
fn schedule_text(session: &Session, ssa: &Arc<SsaFunction>) -> String {
    ScheduleText {
        cases: &schedule_cases(ssa, &PassSelection::default(), &|callee| session.ssa(callee)),
        note: &|_, _| None,
    }
    .to_string()
}

#[test]
fn loops_of_functions_and_adjoints() {
    let mut text = String::new();
    for (file, def) in EXAMPLE_DEFINITIONS {
        let mut session = Session::new();
        let program =
            std::fs::read_to_string(literate::repository_root().join("examples").join(file)).expect("a program");
        session.set_text(file, &program);
        let callee = Arc::new(FunctionKey::new(GlobalName::new(file, def), Vec::new()));
        let primal = session.ssa(&callee).expect("its form");
        let (of, wrt) = (real_outputs(&primal).into(), real_inputs(&primal).into());
        let adjoint = session
            .ssa(&Arc::new(callee.derivative(DerivativeKind::Adjoint { outputs: of, wrt })))
            .expect("its adjoint");
        for (kind, ssa) in [("value", primal), ("adjoint", adjoint)] {
            let _ = writeln!(text, "== {def} of {file}, {kind}\n\n{}", schedule_text(&session, &ssa));
        }
    }
    expect_file!["../../golden/schedules.txt"].assert_eq(&text);
}

/// The scheduler inlines a call inside a loop only if the result is short. In a chain of functions
/// that each call the previous one twice, the code would double at each level.
#[test]
fn long_callees_stay_calls() {
    let steps: String = (1..30).map(|k| format!("  let a{k} = a{0} * cos(a{0} + {k}.0)\n", k - 1)).collect();
    let mut program = format!("def f0(x: f64) -> f64 =\n  let a0 = sin(x)\n{steps}  in a29\n");
    for k in 1..21 {
        let _ = writeln!(program, "def f{k}(x: f64) -> f64 = f{0}(f{0}(x) + 1.5)", k - 1);
    }
    program
        .push_str("def few(x: [n]f64) -> [n]f64 = for i: f2(x[i])\ndef many(x: [n]f64) -> [n]f64 = for i: f20(x[i])\n");
    let mut session = Session::new();
    session.set_text("calls.iv", &program);
    for (name, is_inlined) in [("few", true), ("many", false)] {
        let callee = Arc::new(FunctionKey::new(GlobalName::new("calls.iv", name), Vec::new()));
        let callees = |callee: &Arc<FunctionKey>| session.ssa(callee);
        let optimised = optimise(&session.ssa(&callee).expect("its form"), &PassSelection::default(), &callees);
        let prepared = prepare(&optimised, &FlattenPolicy::WhileLoops, &callees);
        let steps = schedule(&prepared).steps;
        let has_calls = steps.iter().any(|step| matches!(step, Step::Statement(v) if is_call(&prepared.ssa, *v)));
        assert_eq!(has_calls, !is_inlined, "{name}");
    }
}

fn is_call(ssa: &SsaFunction, var: StmtId) -> bool {
    ssa.stmts.get(var.0 as usize).is_some_and(|stmt| matches!(stmt.rhs, Rhs::Call { .. }))
}

/// Returns the schedules of definitions of a program, or of their adjoints, as text.
fn schedule_texts(program: &str, defs: &[(&str, bool)]) -> String {
    let mut session = Session::new();
    session.set_text("shown.iv", program);
    let mut text = String::new();
    for (name, is_adjoint) in defs {
        let callee = FunctionKey::new(GlobalName::new("shown.iv", name), Vec::new());
        let mut ssa = session.ssa(&Arc::new(callee.clone())).expect("its form");
        if *is_adjoint {
            let (of, wrt) = (real_outputs(&ssa).into(), real_inputs(&ssa).into());
            ssa = session
                .ssa(&Arc::new(callee.derivative(DerivativeKind::Adjoint { outputs: of, wrt })))
                .expect("its adjoint");
        }
        let _ =
            writeln!(text, "{name}{}:\n{}", if *is_adjoint { ", adjoint" } else { "" }, schedule_text(&session, &ssa));
    }
    text
}

/// If a fold only adds to elements of an array, a scatter-add of unordered terms replaces the fold.
/// In other folds, a conditional update changes one element in place.
#[test]
fn loops_that_update_arrays() {
    let program = "def added(y: [n]f64, k: [m]i64, v: [m]f64) -> [n]f64 = scatter_add(y, k, v)
def rows(y: [n, d]f64, k: [m]i64, v: [m, d]f64) -> [n, d]f64 = fold y = y for j < m: y with [k[j]] += v[j]
def total(y: [n]f64, k: [m]i64, v: [m]f64) -> ([n]f64, f64) = fold (y, s) = (y, 0.0) for j < m: (y with [k[j]] += s, s + v[j])
def chosen(y: [n]f64, k: [m]i64, v: [m]f64) -> [n]f64 = fold y = y for j < m: if v[j] > 0.0 then y with [k[j]] = v[j] else y
";
    let text = schedule_texts(
        program,
        &[("added", false), ("added", true), ("rows", false), ("total", false), ("chosen", true)],
    );
    expect![[r#"
        added:
        kernel reads X1[m], X2[m]; writes X6[n]
          after checks 0
          X6[_] = 0.0
          for i < m, in chunks, X6 reduced:  -- m times
            X5[i] = X2[i]
            at j = X1[i] if < n:
              X6[j] += X5[i]
        kernel reads X0[n], X6[n]; writes X4[n]
          for i < n, in chunks:  -- n times
            X4[i] = X0[i] + X6[i]

        added, adjoint:
        kernel reads X1[m], X2[m], X5[n]; writes X8[m], X11[n]
          after checks 1, 0
          X11[_] = 0.0
          for i < m, in chunks, X11 reduced:  -- m times
            X10[i] = X2[i]
            at j = X1[i] if < n:
              X11[j] += X10[i]
            X12[i] = X5[X1[m - i - 1]]
            X8[i] = X12[i]
        kernel reads X0[n], X5[n], X11[n]; writes X4[n], X7[n]
          for i < n, in chunks:  -- n times
            X4[i] = X0[i] + X11[i]
            X7[i] = X5[i]
        kernel reads X8[m]; writes X9[m]
          for i < m, in chunks:  -- m times
            X9[i] = X8[m - i - 1]

        rows:
        kernel reads X1[m], X2[m, d]; writes X6[n, d]
          after checks 0
          X6[_, _] = 0.0
          for i < m, in chunks, X6 reduced:  -- m times
            for j < d:  -- d * m times
              X5[i, j] = X2[i, j]
              at k = X1[i] if < n:
                X6[k, j] += X5[i, j]
        kernel reads X0[n, d], X6[n, d]; writes X4[n, d]
          for i < n, in chunks:  -- n times
            for j < d:  -- n * d times
              X4[i, j] = X0[i, j] + X6[i, j]

        total:
        X3 is 0.0
        kernel reads X1[m], X2[m]; writes X6, X11[n]
          after checks 0
          X7 = X3
          X11[_] = 0.0
          for i < m, in order:  -- m times
            X8[i] = X7
            X9[i] = X8[i]
            X10[i] = X8[i] + X2[i]
            X7 = X10[i]
            at j = X1[i] if < n:
              X11[j] += X9[i]
          X6 = X7
        kernel reads X0[n], X11[n]; writes X5[n]
          for i < n, in chunks:  -- n times
            X5[i] = X0[i] + X11[i]

        chosen, adjoint:
        X11 is true
        X13 is 0.0
        X14 is true
        X18 is zero
        X11 = true
        kernel reads X0[n], X1[m], X2[m]; writes X4[n], X6[m], X12
          for i < n, in chunks:  -- n times
            X4[i] = X0[i]
          X12 = X11
          for i < m, in order:  -- m times
            X15 = >(X2[i], X13)
            X16 = [X15] * X2[i]
            X6[i] = X15
            if X15:
              at j = X1[i] if < n:
                X4[j] = X16
            X17 = false
            if (X1[i] < n && 0 <= X1[i] || !X15) && X12:
              X17 = X14
            X12 = X17
        checks 0
        kernel reads X1[m], X5[n], X6[m]; writes X8[n], X9[m]
          after checks 1
          for i < n, in chunks:  -- n times
            X8[i] = X5[i]
          for i < m, in order:  -- m times
            X19 = [X6[m - i - 1]] * X8[X1[m - i - 1]]
            X9[i] = X19
            if X6[m - i - 1]:
              at j = X1[m - i - 1] if < n:
                X8[j] = X18
        kernel reads X9[m]; writes X10[m]
          for i < m, in chunks:  -- m times
            X10[i] = X9[m - i - 1]

    "#]]
    .assert_eq(&text);
}

/// A data-terminated loop runs while a condition on data holds. It runs inside a kernel, and its
/// checks run at its end. If the reverse needs its states, or if it contains another loop, each
/// iteration runs a schedule of its own.
#[test]
fn data_terminated_loops() {
    let program = "def root(a: f64) -> f64 = loop x = 1.0 while abs(x * x - a) > 1e-9 * a && x < 1e9: 0.5 * (x + a / x)
def roots(a: [n]f64) -> [n]f64 = for i: root(a[i])
def rows(a: [n, m]f64) -> [n, m]f64 = for i: loop y = a[i, _] while (sum j: y[j]^2) > 1: for j: 0.5 * y[j]
def walk(x: [n]f64) -> i64 = loop k = 0 while k < n && x[k] > 0: k + 1
def both(at: [n]i64) -> (i64, i64) = (fold k = 0 for t < n: at[k], fold k = 0 for t < n: at[fold l = k for u < n: at[l]])
";
    let text = schedule_texts(
        program,
        &[("roots", false), ("roots", true), ("rows", false), ("walk", false), ("both", false)],
    );
    expect![[r#"
        roots:
        X1 is 1.0
        X4 is 1e-9
        X7 is true
        X16 is 0.5
        X23 is 1e-9
        X26 is 1000000000.0
        X28 is true
        kernel reads X0[n]; writes X11[n]
          for i < n, in chunks:  -- n times
            X2[i] = X1 - X0[i]
            X3[i] = abs(X2[i])
            X5[i] = X0[i] * X4
            X6[i] = >(X3[i], X5[i])
            X8[i] = [X6[i]] * X7
            X9[i] = [X6[i] && X8[i]] * X7
            X24[i] = X0[i] * X23
            X12[i] = X9[i]
            X13[i] = X1
            for j while X12[i]:
              X15[i, j] = X13[i]
              X17[i, j] = /(X0[i], X15[i, j])
              X18[i, j] = X15[i, j] + X17[i, j]
              X19[i, j] = X16 * X18[i, j]
              X20[i, j] = X19[i, j] * X19[i, j]
              X21[i, j] = X20[i, j] - X0[i]
              X22[i, j] = abs(X21[i, j])
              X25[i, j] = >(X22[i, j], X24[i])
              X27[i, j] = [X25[i, j]] * <(X19[i, j], X26)
              X29[i, j] = [X25[i, j] && X27[i, j]] * X28
              X12[i] = X29[i, j]
              X13[i] = X19[i, j]
            X11[i] = X13[i]

        roots, adjoint:
        X1 is 1.0
        X4 is 1e-9
        X7 is true
        X13 is zero
        X15 is index X14[i0]
        X1 = 1.0
        kernel reads X0[n]; writes X9[n]
          for i < n, in chunks:  -- n times
            X2[i] = X1 - X0[i]
            X3[i] = abs(X2[i])
            X5[i] = X0[i] * X4
            X6[i] = >(X3[i], X5[i])
            X8[i] = [X6[i]] * X7
            X9[i] = [X6[i] && X8[i]] * X7
        X10 = for j0 < n: loop j1 while Y1 {
          Y0 = given a = X0[j0]
          Y1 = carried carry_0 = X9[j0] then Y16
          Y2 = carried x = X1 then Y6
          Y3 is 0.5
          Y10 is 1e-9
          Y13 is 1000000000.0
          Y15 is true
          kernel reads Y0, Y2; writes Y4, Y6, Y16
            Y4 = /(Y0, Y2)
            Y5 = Y2 + Y4
            Y6 = Y3 * Y5
            Y7 = Y6 * Y6
            Y8 = Y7 - Y0
            Y9 = abs(Y8)
            Y11 = Y0 * Y10
            Y12 = >(Y9, Y11)
            Y14 = [Y12] * <(Y6, Y13)
            Y16 = [Y12 && Y14] * Y15
        }
        X11[i0 < n] = X10.last Y2
        X13 = zero
        X14[i0 < n] = X10.trips
        X15[i0 < n] = index X14[i0]
        X16 = max i0 < n: X15[i0]
        X17[i0 < n, i1 < X16] = X10.every Y2
        X18[i0 < n, i1 < X16] = X10.every Y4
        X19 = for j0 < n: loop j1 < X14[j0] {  -- n * X14[j0] times
          Y0 = given kept = X17[j0, X14[j0] - j1 - 1]
          Y1 = given kept = X18[j0, X14[j0] - j1 - 1]
          Y3 = carried x_adj = X12[j0] then Y9
          Y4 = carried a_adj = X13 then Y10
          Y2 is 0.5
          kernel reads Y0, Y1, Y3, Y4; writes Y9, Y10
            Y5 = Y2 * Y3
            Y6 = /(Y5, Y0)
            Y7 = -Y1 * Y5
            Y8 = /(Y7, Y0)
            Y9 = Y5 + Y8
            Y10 = Y4 + Y6
        }
        X20[i0 < n] = X19.last Y4

        rows:
        X1 is 2
        X4 is 1.0
        X12 is 0.5
        X14 is 2
        X17 is 1.0
        kernel reads X0[n, m]; writes X7[n, m]; temporaries X9[m]
          for i < n, in chunks, X9 private to each thread:  -- n times
            X3[i] = 0.0
            for j < m:  -- n * m times
              X2[i, j] = ^(X0[i, j], X1)
              X3[i] += X2[i, j]
            X5[i] = >(X3[i], X4)
            X8[i] = X5[i]
            for j < m:  -- n * m times
              X9[i, j] = X0[i, j]
            for j while X8[i]:
              X16[i, j] = 0.0
              for k < m:  -- m times per iteration
                X13[i, j, k] = X9[i, k] * X12
                X15[i, j, k] = ^(X13[i, j, k], X14)
                X16[i, j] += X15[i, j, k]
                X9[i, k] = X13[i, j, k]
              X18[i, j] = >(X16[i, j], X17)
              X8[i] = X18[i, j]
            for j < m:  -- n * m times
              X7[i, j] = X9[i, j]

        walk:
        X1 is 0
        X3 is 0.0
        X5 is true
        X9 is true
        X17 is index X15[i0] + 1
        X18 is 0.0
        X20 is true
        X22 is true
        X1 = 0
        kernel writes X2
          if X1 < n:
            X2 = X1
        kernel reads X0[n], X2; writes X10, X12
          after checks 0
          X4 = [X1 < n] * >(X0[X2], X3)
          X6 = [X1 < n && X4] * X5
          X11 = X6
          X12 = X1
          X13 = X9
          for i while X11:
            X15[i] = X12
            X16[i] = X13
            X19[i] = [X17[i] < n] * >(X0[X15[i] + 1], X18)
            X21[i] = [X17[i] < n && X19[i]] * X20
            X23[i] = [(X15[i] + 1 < n && 0 <= X15[i] + 1 || n <= X17[i]) && X16[i]] * X22
            X24[i] = [X23[i]] * X21[i]
            X11 = X24[i]
            X12 = X17[i]
            X13 = X23[i]
          X10 = X13
        kernel reads X12; writes X8
          after checks 1
          X8 = X12

        both:
        X1 is 0
        X6 is true
        X13 is true
        X1 = 0
        kernel reads X0[n]; writes X7, X8
          X8 = X1
          X9 = X6
          for i < n, in order:  -- n times
            X10[i] = X8
            X11[i] = X9
            X12[i] = X0[X10[i]]
            X14[i] = [X10[i] < n && 0 <= X10[i] && X11[i]] * X13
            X8 = X12[i]
            X9 = X14[i]
          X7 = X9
        kernel reads X8; writes X3
          after checks 0
          X3 = X8
        X4 = loop j0 < n with n {  -- n times
          Y0 = given at = X0
          Y1 = carried k = X1 then Y4
          Y5 is true
          Y12 is true
          kernel reads Y0[n], Y1; writes Y6, Y7
            Y7 = Y1
            Y8 = Y5
            for i < n, in order:  -- n times
              Y9[i] = Y7
              Y10[i] = Y8
              Y11[i] = Y0[Y9[i]]
              Y13[i] = [Y9[i] < n && 0 <= Y9[i] && Y10[i]] * Y12
              Y7 = Y11[i]
              Y8 = Y13[i]
            Y6 = Y8
          kernel reads Y7; writes Y3
            after checks 1
            Y3 = Y7
          kernel reads Y0[n], Y3; writes Y4
            after checks 0
            Y4 = Y0[Y3]
        }
        X5 = X4.last Y1

    "#]]
    .assert_eq(&text);
}

/// Conditions on sizes alone become separate schedules. A Jacobian selects its mode by sizes, and
/// the schedule of one mode has no array of the other.
#[test]
fn size_conditions_become_cases() {
    let program = "def line(p: [2]f64, t: [n]f64) -> [n]f64 = for i: let w = exp(p[0] * t[i]) in sin(w * p[1]) / w
def slopes(p: [2]f64, t: [n]f64) -> [n, 2]f64 = jacobian(line, wrt: p)(p, t)
def either(x: [n]f64, y: [m]f64) -> f64 = if n < m then (sum i: exp(x[i])) else (sum j: y[j]^2)
";
    let mut session = Session::new();
    session.set_text("cases.iv", program);
    let mut text = String::new();
    for name in ["line", "slopes", "either"] {
        let callee = Arc::new(FunctionKey::new(GlobalName::new("cases.iv", name), Vec::new()));
        let ssa = session.ssa(&callee).expect("its form");
        let _ = writeln!(text, "{name}:\n{}", schedule_text(&session, &ssa));
    }
    expect![[r#"
        line:
        kernel reads X0[2], X1[n]; writes X6[n]
          for i < n, in chunks:  -- n times
            X2[i] = X0[0] * X1[i]
            X3[i] = exp(X2[i])
            X4[i] = X0[1] * X3[i]
            X5[i] = sin(X4[i])
            X6[i] = /(X5[i], X3[i])

        slopes:
        where 1 < n:

        kernel reads X0[2], X1[n]; writes X17[n, 2]
          for i < n, in chunks:  -- n times
            X2[i] = X0[0] * X1[i]
            X3[i] = exp(X2[i])
            X4[i] = X0[1] * X3[i]
            X5[i] = sin(X4[i])
            X6[i] = /(X5[i], X3[i])
            X7[i] = X1[i] * X3[i]
            X8[i] = X0[1] * X7[i]
            X9[i] = cos(X4[i])
            X10[i] = X8[i] * X9[i]
            X11[i] = X3[i] * X9[i]
            X12[i] = /(X10[i], X3[i])
            X13[i] = /(X11[i], X3[i])
            X14[i] = -X6[i] * X7[i]
            X15[i] = /(X14[i], X3[i])
            X16[i] = X12[i] + X15[i]
            X17[i, 0] = X16[i]
            X17[i, 1] = X13[i]

        where n <= 1:

        X2 is 1.0
        kernel reads X0[2], X1[n]; writes X4[n], X8[n], X10[n], X11[n]
          for i < n, in chunks:  -- n times
            X3[i] = X0[0] * X1[i]
            X4[i] = exp(X3[i])
            X5[i] = X0[1] * X4[i]
            X6[i] = sin(X5[i])
            X7[i] = /(X6[i], X4[i])
            X8[i] = /(X2, X4[i])
            X9[i] = -X7[i]
            X10[i] = /(X9[i], X4[i])
            X11[i] = cos(X5[i])
        kernel reads X0[2], X1[n], X4[n], X8[n], X10[n], X11[n]; writes X18[n, 2]
          for i < n, in chunks:  -- n times
            X13[i] = 0.0
            X17[i] = 0.0
            for j < n:  -- n^2 times
              X12[i, j] = X8[i] * X11[j]
              X13[i] += X4[j] * X12[i, j]
              X14[i, j] = X0[1] * X12[i, j]
              X15[i, j] = X10[j] + X14[i, j]
              X16[i, j] = X4[j] * X15[i, j]
              X17[i] += X1[j] * X16[i, j]
            X18[i, 0] = X17[i]
            X18[i, 1] = X13[i]

        either:
        where m <= n:

        X4 is 2
        kernel reads X1[m]; writes X7
          X6 = 0.0
          for i < m, in chunks, X6 reduced:  -- m times
            X5[i] = ^(X1[i], X4)
            X6 += X5[i]
          X7 = X6

        where n < m:

        kernel reads X0[n]; writes X7
          X3 = 0.0
          for i < n, in chunks, X3 reduced:  -- n times
            X2[i] = exp(X0[i])
            X3 += X2[i]
          X7 = X3

    "#]]
    .assert_eq(&text);
}
