//! **All forms of all definitions.** Compares every definition in the library and of the programs
//! with the interpreter and the reference. The comparison covers all forms and both derivatives.
//! Records the definitions without a core form and the reasons, and the forms of the papers'
//! programs.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use expect_test::{Expect, expect, expect_file};
use iverson_tests::golden;
use iverson_tests::middle::form_laws::{BrokenLaw, LawChecker, LawCounts};
use iverson_tests::middle::forms::{FormProvider as _, SessionForms};
use iverson_tests::middle::interpreter_oracle::{Interpreter, grid, point, probes, types};
use iverson_tests::random::Random;
use lang_core::ad::{is_real, real_inputs};
use lang_core::base::GlobalName;
use lang_core::ir::core::{DerivativeKind, FunctionKey, NoCoreForm};
use lang_core::pipeline::MemoisedForms;
use lang_core::session::{LIBRARY, Session};
use lang_core::syntax::split::ItemKind;
use lang_core::types::ty::Type;

/// Returns the text at which a definition leaves the supported fragment, shortened to one line.
fn unsupported_text(session: &Session, outside: &NoCoreForm) -> String {
    let Some(item) = session.item(&outside.item) else { return String::new() };
    let part = item.text.get(outside.span.range()).unwrap_or_default();
    // A span of the whole definition names no place in it.
    let line = if part.starts_with("def") || part.starts_with("--") { "" } else { part };
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(50).collect();
    if short.len() < line.len() { format!("{short} …") } else { short }
}

/// Returns the name, qualified by its module.
fn full(def: &GlobalName) -> String {
    match def.module.trim_end_matches(".iv") {
        "" => def.name.to_string(),
        module => format!("{module}.{}", def.name),
    }
}

/// Returns the definitions without a core form: those of all programs for
/// `tests/golden/outside.txt`, and those in the library for the book.
fn tell_outside(session: &Session, outside: &BTreeMap<GlobalName, Box<NoCoreForm>>) -> (String, String) {
    let mut golden = String::new();
    let mut page = "# What has no form yet

The definitions in the library that have none of the [forms](forms.md) behind `iverson show core`, with the reason and
the place. They run as all others do, and have derivatives.

| definition | has | in | at |
|---|---|---|---|
"
    .to_owned();
    let mut taking = Vec::new();
    for (def, outside) in outside {
        let (what, at) = (outside.reason.phrase(), unsupported_text(session, outside));
        let takes = session.signature(def).is_some_and(|s| s.params.iter().any(|(_, ty)| matches!(ty, Type::Fun(_))));
        if outside.item == *def && takes && at.is_empty() {
            taking.push(def);
            continue;
        }
        let _ = writeln!(golden, "{}: {what} in {}: {at}", full(def), full(&outside.item));
        if LIBRARY.iter().any(|(module, _)| **module == *def.module) {
            let at = if at.is_empty() { at } else { format!("`{}`", at.replace('|', "\\|")) };
            let _ = writeln!(page, "| `{}` | {what} | `{}` | {at} |", full(def), full(&outside.item));
        }
    }
    golden += "what takes functions has a form for each that it is called with:\n";
    taking.iter().for_each(|def| golden += &format!("  {}\n", full(def)));
    let library = taking.iter().filter(|def| LIBRARY.iter().any(|(module, _)| **module == *def.module));
    let library: Vec<String> = library.map(|def| format!("`{}`", full(def))).collect();
    page += "\nWhat takes a function is no definition of numbers and has a form wherever it is called, one for each function that it\n";
    page += &format!("is called with: {}.\n", library.join(", "));
    (golden, page)
}

/// Laws that do not hold for these definitions. The code of matrix functions is constant in the
/// argument, because only rules define their derivative, but the reference differentiates the code.
/// A matrix without rows has no eigenvalue to differentiate. `tests/golden/derivatives.json` checks
/// their derivatives.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("the tangent is the interpreter's", "logm"),
    ("the tangent is the interpreter's", "sqrtm"),
    ("the tangent is the interpreter's", "spectral"),
    ("the forward derivative has a value", "power_iteration"),
];

#[test]
fn definitions_in_every_form() {
    let programs = golden::programs().expect("the programs can be read");
    let mut session: Session = golden::session(&programs);
    let texts: Vec<(String, String)> = LIBRARY
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .chain(programs.iter().map(|(n, text)| (golden::module(n), text.clone())))
        .collect();
    let mut defs = Vec::new();
    let mut outside: BTreeMap<GlobalName, Box<NoCoreForm>> = BTreeMap::new();
    {
        let globals = HashMap::new();
        let forms = SessionForms::new(&session, &globals);
        let mut probed_texts: BTreeMap<String, String> = BTreeMap::new();
        for (module, text) in &texts {
            for item in session.items(module).into_iter().filter(|i| i.kind == ItemKind::Def) {
                let def = GlobalName::new(module, &item.name);
                let Some(signature) = session.signature(&def) else { continue };
                let callee = Arc::new(FunctionKey::new(def.clone(), types(&signature)));
                match forms.module.stages(&callee) {
                    Err(reason) => {
                        outside.insert(def, reason);
                    }
                    Ok(stages) => {
                        *probed_texts.entry(module.clone()).or_insert_with(|| text.clone()) +=
                            &probes(&item.name, &signature, &stages.core);
                        defs.push((def, callee));
                    }
                }
            }
        }
        let (all, page) = tell_outside(&session, &outside);
        expect_file!["../../golden/outside.txt"].assert_eq(&all);
        expect_file!["../../../docs/book/src/reference/outside.md"].assert_eq(&page);
        drop(forms);
        for (module, text) in probed_texts {
            session.set_text(&module, &text);
        }
    }
    let globals = iverson_tests::run::globals(&session, texts.iter().map(|(m, _)| m.as_str()));
    let forms = SessionForms::new(&session, &globals);
    let stop = AtomicBool::new(false);
    let interpreter = Interpreter { session: &session, globals: &globals, stop: &stop };
    let (mut total, mut wrong) = (LawCounts::default(), Vec::new());
    let (mut valueless, mut tangentless) = (Vec::new(), Vec::new());
    let mut ratios: Vec<(f64, f64, String)> = Vec::new();
    for (def, callee) in &defs {
        let stages = forms.stages(callee).expect("it has forms");
        let mut judge = LawChecker::new(&forms).expect("the tolerances can be read");
        let mut random = Random::new(11);
        let mut skipped = Vec::new();
        let shapes = judge.shapes(&stages);
        wrong.extend(shapes.err());
        for (nth, sizes) in grid(&mut random, &stages.core, 6).iter().enumerate() {
            judge.twice = nth % 3 == 2;
            let Some(point) = point(&mut random, &stages.core, sizes) else {
                skipped.push("its arguments cannot be drawn");
                continue;
            };
            // The interpreter does not run a point at which Tensor SSA may not terminate.
            if !judge.ends(&stages, &point) {
                judge.tally.unfinished += 1;
                continue;
            }
            let Some(ran) = interpreter.ran(def, &stages, &point, judge.twice) else {
                skipped.push("its arguments cannot be drawn");
                break;
            };
            skipped.extend(ran.value.as_ref().err().map(|failure| failure.code.name()));
            if let Err(broken) = judge.point(&stages, &point, Some(&ran), &mut random) {
                wrong.push(broken);
                break;
            }
        }
        let (undecided, unfinished) = (judge.tally.undecided, judge.tally.unfinished);
        skipped.extend((undecided > 0).then_some("rounding decides a condition"));
        skipped.extend((unfinished > 0).then_some("takes more steps than are asked for"));
        skipped.dedup();
        if judge.tally.values == 0 {
            valueless.push(format!("{}: {}", full(def), skipped.join(", ")));
        } else if judge.tally.tangents == 0
            && !probes(&def.name, &session.signature(def).expect("it has a type"), &stages.core).is_empty()
        {
            tangentless.push(full(def));
        }
        ratios.push((judge.tally.adjoint, judge.tally.forward, full(def)));
        total.add(&judge.tally);
    }
    println!("{} definitions: {total:#?}", defs.len());
    ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("dearest adjoints: {:?}", ratios.iter().take(8).collect::<Vec<_>>());
    ratios.sort_by(|a, b| b.1.total_cmp(&a.1));
    println!("dearest forward derivatives: {:?}", ratios.iter().take(8).collect::<Vec<_>>());
    println!("{:?}", forms.module.rule_coverage());
    let is_exception =
        |b: &BrokenLaw, (law, def): &(&str, &str)| b.law == *law && b.how.starts_with(&format!("{def} at"));
    let stale: Vec<_> = EXCEPTIONS.iter().filter(|e| !wrong.iter().any(|b| is_exception(b, e))).collect();
    assert!(stale.is_empty(), "exceptions that hold: {stale:?}");
    wrong.retain(|b| !EXCEPTIONS.iter().any(|e| is_exception(b, e)));
    let names: Vec<String> = wrong.iter().map(|b| b.how.split(" at").next().unwrap_or_default().to_owned()).collect();
    println!("{names:?}");
    let mut laws: BTreeMap<&str, usize> = BTreeMap::new();
    wrong.iter().for_each(|b| *laws.entry(b.law.as_str()).or_default() += 1);
    let mut of_law: BTreeMap<&str, usize> = BTreeMap::new();
    let few = wrong.iter().filter(|b| {
        let count = of_law.entry(b.law.as_str()).or_default();
        *count += 1;
        *count <= 2
    });
    let shown: Vec<String> = few.map(|b| format!("{}: {}", b.law, b.how)).collect();
    assert!(wrong.is_empty(), "{laws:?}:\n{}", shown.join("\n\n"));
    // The counts may grow. If one falls, some cases are no longer compared.
    let LawCounts { values, exact, near, tangents, products, seconds, hessians, shared, .. } = total;
    assert!(defs.len() >= 550 && values >= 2700 && exact >= 50_000 && near >= 12_000, "{total:?}");
    assert!(shared >= 1000, "{total:?}");
    assert!(tangents >= 1900 && products >= 1900 && seconds >= 500 && hessians >= 150, "{total:?}");
    expect_file!["../../golden/uncompared.txt"].assert_eq(&format!(
        "no value at any point:\n{}\nno tangent at any point:\n{}\n",
        valueless.join("\n"),
        tangentless.join("\n")
    ));
}

/// Returns the core form and Tensor SSA of every definition of a program.
fn core_of(text: &str) -> String {
    let mut session = Session::new();
    session.set_text("t", text);
    let problems = session.diagnostics("t");
    assert!(problems.iter().all(|d| !d.is_error()), "{problems:?}");
    let mut out = String::new();
    let module = MemoisedForms::new(&session);
    for item in session.items("t").into_iter().filter(|i| i.kind == ItemKind::Def) {
        let callee = Arc::new(FunctionKey::new(GlobalName::new("t", &item.name), Vec::new()));
        match module.stages(&callee) {
            Ok(stages) => {
                out += &format!("{}{}", stages.core, stages.ssa);
                let wrt = real_inputs(&stages.ssa);
                if !wrt.is_empty() && stages.ssa.outputs.iter().any(|(leaf, _)| is_real(leaf.scalar)) {
                    let adjoint = Arc::new(callee.derivative(DerivativeKind::Adjoint {
                        outputs: lang_core::ad::real_outputs(&stages.ssa).into(),
                        wrt: wrt.into(),
                    }));
                    let ssa = module.ssa(&adjoint).map(|ssa| ssa.to_string());
                    out += &ssa.unwrap_or_else(|| "no adjoint\n".to_owned());
                }
            }
            Err(outside) => out += &format!("{}: {}\n", item.name, outside.reason.phrase()),
        }
    }
    out
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "as `expect!` gives it")]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&core_of(text));
}

#[test]
fn papers_programs() {
    check(
        "def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: sum j < m: x[i + j] * c[j]
def loss(x: [n + m - 1]f64, c: [m]f64, z: [n]f64) -> f64 =
  let y = conv(x, c)
  let r = for i: y[i] - z[i]
  in sum i: r[i]^2
def eye(n: i64, x: f64) -> [n, n]f64 = for i, j: [i == j] * x
def trace(a: [n, n]f64) -> f64 = sum i: a[i, i]
def gather(x: [n]f64, idx: [k]i64) -> [k]f64 = for j: x[idx[j]]
def relu(x: [n]f64) -> [n]f64 = for i: if x[i] > 0 then x[i] else 0.01 * x[i]
def norm(x: [n, 2]f64) -> f64 = sqrt(sum i, j: x[i, j] * x[i, j])
def tri(a: [n, n]f64) -> f64 = sum i < n, j in 0..i: (let y = a[i, j] * 2 in y * y)
def points(p: [n]{x: f64, y: f64}) -> [n](f64, f64) = for i: (p[i].y, p[i].x + 1)
def twice(x: [n]f64) -> [n]f64 = map(\\a: 2 * a, x) + x
def pick(a: [3]f64) -> [2]f64 = a[1..3]
type Shape = Circle(f64) | Box(f64, f64)
def area(s: Shape) -> f64 = match s { Circle(r): pi * r * r, Box(a, b): a * b }
def some(x: [n]f64) -> bool = any i: x[i] > 0.5
def smooth(x: [n]f64) -> [n]f64 = for i: (sum d in -1..2: [0 <= i + d < n] * x[i + d]) / 3
",
        expect![[r#"
            core conv[n, m](x: [n + m - 1]f64, c: [m]f64) -> [n]f64 =
              for i < n: sum j < m: x[i + j] * c[j]
            ssa conv[n, m](x: [n + m - 1]f64, c: [m]f64) -> [n]f64 =
              X0[i0 < n + m - 1]: f64 = input x  -- x
              X1[i0 < m]: f64 = input c  -- c
              X2[i0 < n]: f64 = sum i1 < m: X0[i0 + i1] * X1[i1]
              out X2
            ssa conv_adj{0; 0, 1}[n, m](x: [n + m - 1]f64, c: [m]f64) -> ([n]f64, [n + m - 1]f64, [m]f64) =
              X0[i0 < n + m - 1]: f64 = input x  -- x
              X1[i0 < m]: f64 = input c  -- c
              X2[i0 < n]: f64 = sum i1 < m: X0[i0 + i1] * X1[i1]
              X3[i0 < n]: f64 = input y_adj = adj 0  -- y_adj
              X4[i0 < n + m - 1]: f64 = sum i1 < n: [i0 < m + i1 && i1 <= i0] * X1[i0 - i1] * X3[i1]  -- x_adj
              X5[i0 < m]: f64 = sum i1 < n: X0[i0 + i1] * X3[i1]  -- c_adj
              out X2, X4, X5
            core loss[n, m](x: [n + m - 1]f64, c: [m]f64, z: [n]f64) -> f64 =
              let y: [n]f64 = conv[n, m](x, c)
              let r = for i < n: y[i] - z[i]
              in sum i < n: r[i] ^ 2
            ssa loss[n, m](x: [n + m - 1]f64, c: [m]f64, z: [n]f64) -> f64 =
              X0[i0 < n + m - 1]: f64 = input x  -- x
              X1[i0 < m]: f64 = input c  -- c
              X2[i0 < n]: f64 = input z  -- z
              X3[i0 < n]: f64 = sum i1 < m: X0[i0 + i1] * X1[i1]  -- y
              X4[i0 < n]: f64 = X3[i0] - X2[i0]  -- r
              X5: i64 = 2
              X6[i0 < n]: f64 = ^(X4[i0], X5)
              X7: f64 = sum i0 < n: X6[i0]
              out X7
            ssa loss_adj{0; 0, 1, 2}[n, m](x: [n + m - 1]f64, c: [m]f64, z: [n]f64) -> (f64, [n + m - 1]f64, [m]f64, [n]f64) =
              X0[i0 < n + m - 1]: f64 = input x  -- x
              X1[i0 < m]: f64 = input c  -- c
              X2[i0 < n]: f64 = input z  -- z
              X3[i0 < n]: f64 = sum i1 < m: X0[i0 + i1] * X1[i1]  -- y
              X4[i0 < n]: f64 = X3[i0] - X2[i0]  -- r
              X5: i64 = 2
              X6[i0 < n]: f64 = ^(X4[i0], X5)
              X7: f64 = sum i0 < n: X6[i0]
              X8: f64 = input y_adj = adj 0  -- y_adj
              X9: f64 = 2.0
              X10[i0 < n]: f64 = X4[i0] * X9
              X11[i0 < n]: f64 = X8 * X10[i0]  -- r_adj
              X12[i0 < n]: f64 = -X11[i0]  -- z_adj
              X13[i0 < n + m - 1]: f64 = sum i1 < n: [i0 < m + i1 && i1 <= i0] * X1[i0 - i1] * X11[i1]  -- x_adj
              X14[i0 < m]: f64 = sum i1 < n: X0[i0 + i1] * X11[i1]  -- c_adj
              out X7, X13, X14, X12
            core eye[](bounded n: i64, x: f64) -> [n, n]f64 =
              check(0 <= n, E0509 "the extent is negative") (for i < n: for j < n: [i == j] * x)
            ssa eye[](bounded n: i64, x: f64) -> [n, n]f64 =
              check 0: 0 <= n, E0509 "the extent is negative"
              X0: i64 = input n  -- n
              X1: f64 = input x  -- x
              X2[i0 < n, i1 < n]: f64 = [i0 == i1] * X1  needs 0
              out X2
            ssa eye_adj{0; 1}[](bounded n: i64, x: f64) -> ([n, n]f64, f64) =
              check 0: 0 <= n, E0509 "the extent is negative"
              X0: i64 = input n  -- n
              X1: f64 = input x  -- x
              X2[i0 < n, i1 < n]: f64 = [i0 == i1] * X1  needs 0
              X3[i0 < n, i1 < n]: f64 = input y_adj = adj 0  -- y_adj
              X4: f64 = sum i0 < n: X3[i0, i0]  needs 0  -- x_adj
              out X2, X4
            core trace[n](a: [n, n]f64) -> f64 =
              sum i < n: a[i, i]
            ssa trace[n](a: [n, n]f64) -> f64 =
              X0[i0 < n, i1 < n]: f64 = input a  -- a
              X1: f64 = sum i0 < n: X0[i0, i0]
              out X1
            ssa trace_adj{0; 0}[n](a: [n, n]f64) -> (f64, [n, n]f64) =
              X0[i0 < n, i1 < n]: f64 = input a  -- a
              X1: f64 = sum i0 < n: X0[i0, i0]
              X2: f64 = input y_adj = adj 0  -- y_adj
              X3[i0 < n, i1 < n]: f64 = [i0 == i1] * X2  -- a_adj
              out X1, X3
            core gather[n, k](x: [n]f64, idx: [k]i64) -> [k]f64 =
              for j < k: check(idx[j] < n && 0 <= idx[j], E0500 "index out of bounds") x[idx[j]]
            ssa gather[n, k](x: [n]f64, idx: [k]i64) -> [k]f64 =
              check 0[i0 < k]: X1[i0] < n && 0 <= X1[i0], E0500 "index out of bounds"
              X0[i0 < n]: f64 = input x  -- x
              X1[i0 < k]: i64 = input idx  -- idx
              X2[i0 < k]: f64 = X0[X1[i0]]  needs 0
              out X2
            ssa gather_adj{0; 0}[n, k](x: [n]f64, idx: [k]i64) -> ([k]f64, [n]f64) =
              check 0[i0 < k]: X1[i0] < n && 0 <= X1[i0], E0500 "index out of bounds"
              X0[i0 < n]: f64 = input x  -- x
              X1[i0 < k]: i64 = input idx  -- idx
              X2[i0 < k]: f64 = X0[X1[i0]]  needs 0
              X3[i0 < k]: f64 = input y_adj = adj 0  -- y_adj
              X4[i0 < n]: f64 = sum i1 < k: [i0 == X1[i1]] * X3[i1]  needs 0  -- x_adj
              out X2, X4
            core relu[n](x: [n]f64) -> [n]f64 =
              for i < n:
                let k = x[i] > 0.0
                in [k] * x[i] + [!k] * (0.01 * x[i])
            ssa relu[n](x: [n]f64) -> [n]f64 =
              X0[i0 < n]: f64 = input x  -- x
              X1: f64 = 0.0
              X2[i0 < n]: bool = >(X0[i0], X1)
              X3: f64 = 0.01
              X4[i0 < n]: f64 = [!X2[i0]] * X0[i0] * X3
              X5[i0 < n]: f64 = [X2[i0]] * X0[i0] + [!X2[i0]] * X4[i0]
              out X5
            ssa relu_adj{0; 0}[n](x: [n]f64) -> ([n]f64, [n]f64) =
              X0[i0 < n]: f64 = input x  -- x
              X1: f64 = 0.0
              X2[i0 < n]: bool = >(X0[i0], X1)
              X3: f64 = 0.01
              X4[i0 < n]: f64 = [!X2[i0]] * X0[i0] * X3
              X5[i0 < n]: f64 = [X2[i0]] * X0[i0] + [!X2[i0]] * X4[i0]
              X6[i0 < n]: f64 = input y_adj = adj 0  -- y_adj
              X7[i0 < n]: f64 = [!X2[i0]] * X3 * X6[i0]
              X8[i0 < n]: f64 = [X2[i0]] * X6[i0] + [!X2[i0]] * X7[i0]  -- x_adj
              out X5, X8
            core norm[n](x: [n, 2]f64) -> f64 =
              sqrt(sum i < n: sum j < 2: x[i, j] * x[i, j])
            ssa norm[n](x: [n, 2]f64) -> f64 =
              X0[i0 < n, i1 < 2]: f64 = input x  -- x
              X1: f64 = sum i0 < n, i1 < 2: X0[i0, i1] * X0[i0, i1]
              X2: f64 = sqrt(X1)
              out X2
            ssa norm_adj{0; 0}[n](x: [n, 2]f64) -> (f64, [n, 2]f64) =
              X0[i0 < n, i1 < 2]: f64 = input x  -- x
              X1: f64 = sum i0 < n, i1 < 2: X0[i0, i1] * X0[i0, i1]
              X2: f64 = sqrt(X1)
              X3: f64 = input y_adj = adj 0  -- y_adj
              X4: f64 = 1.0
              X5: f64 = 2.0
              X6: f64 = X2 * X5
              X7: f64 = /(X4, X6)
              X8: f64 = X3 * X7
              X9[i0 < n, i1 < 2]: f64 = X0[i0, i1] * X8
              X10[i0 < n, i1 < 2]: f64 = X9[i0, i1] + X9[i0, i1]  -- x_adj
              out X2, X10
            core tri[n](a: [n, n]f64) -> f64 =
              sum i < n: sum j < n: [j < i] * (
                let y = a[i, j] * 2.0
                in y * y)
            ssa tri[n](a: [n, n]f64) -> f64 =
              X0[i0 < n, i1 < n]: f64 = input a  -- a
              X1: f64 = 2.0
              X2[i0 < n, i1 < n]: f64 = [i1 < i0] * X0[i0, i1] * X1  -- y
              X3: f64 = sum i0 < n, i1 < n: [i1 < i0] * X2[i0, i1] * X2[i0, i1]
              out X3
            ssa tri_adj{0; 0}[n](a: [n, n]f64) -> (f64, [n, n]f64) =
              X0[i0 < n, i1 < n]: f64 = input a  -- a
              X1: f64 = 2.0
              X2[i0 < n, i1 < n]: f64 = [i1 < i0] * X0[i0, i1] * X1  -- y
              X3: f64 = sum i0 < n, i1 < n: [i1 < i0] * X2[i0, i1] * X2[i0, i1]
              X4: f64 = input y_adj = adj 0  -- y_adj
              X5[i0 < n, i1 < n]: f64 = [i1 < i0] * X2[i0, i1] * X4
              X6[i0 < n, i1 < n]: f64 = [i1 < i0] * X5[i0, i1] + [i1 < i0] * X5[i0, i1]  -- y_adj
              X7[i0 < n, i1 < n]: f64 = [i1 < i0] * X1 * X6[i0, i1]  -- a_adj
              out X3, X7
            core points[n](p: [n]{x: f64, y: f64}) -> [n](f64, f64) =
              for i < n: (p[i].y, p[i].x + 1.0)
            ssa points[n](p: [n]{x: f64, y: f64}) -> [n](f64, f64) =
              X0[i0 < n]: f64 = input p_x = p.0  -- p_x
              X1[i0 < n]: f64 = input p_y = p.1  -- p_y
              X2: f64 = 1.0
              X3[i0 < n]: f64 = X0[i0] + X2
              out X1, X3
            ssa points_adj{0, 1; 0, 1}[n](p: [n]{x: f64, y: f64}) -> ([n]f64, [n]f64, [n]f64, [n]f64) =
              X0[i0 < n]: f64 = input p_x = p.0  -- p_x
              X1[i0 < n]: f64 = input p_y = p.1  -- p_y
              X2: f64 = 1.0
              X3[i0 < n]: f64 = X0[i0] + X2
              X4[i0 < n]: f64 = input p_y_adj = adj 0  -- p_y_adj
              X5[i0 < n]: f64 = input y_adj = adj 1  -- y_adj
              out X1 at 0, X3 at 1, X5, X4
            core twice[n](x: [n]f64) -> [n]f64 =
              let a = for i < n: 2.0 * x[i]
              in for i < n: a[i] + x[i]
            ssa twice[n](x: [n]f64) -> [n]f64 =
              X0[i0 < n]: f64 = input x  -- x
              X1: f64 = 2.0
              X2[i0 < n]: f64 = X0[i0] * X1
              X3[i0 < n]: f64 = X2[i0] + X0[i0]
              out X3
            ssa twice_adj{0; 0}[n](x: [n]f64) -> ([n]f64, [n]f64) =
              X0[i0 < n]: f64 = input x  -- x
              X1: f64 = 2.0
              X2[i0 < n]: f64 = X0[i0] * X1
              X3[i0 < n]: f64 = X2[i0] + X0[i0]
              X4[i0 < n]: f64 = input y_adj = adj 0  -- y_adj
              X5[i0 < n]: f64 = X1 * X4[i0]
              X6[i0 < n]: f64 = X4[i0] + X5[i0]  -- x_adj
              out X3, X6
            core pick[](a: [3]f64) -> [2]f64 =
              for i < 2: a[i + 1]
            ssa pick[](a: [3]f64) -> [2]f64 =
              X0[i0 < 3]: f64 = input a  -- a
              X1[i0 < 2]: f64 = X0[i0 + 1]
              out X1
            ssa pick_adj{0; 0}[](a: [3]f64) -> ([2]f64, [3]f64) =
              X0[i0 < 3]: f64 = input a  -- a
              X1[i0 < 2]: f64 = X0[i0 + 1]
              X2[i0 < 2]: f64 = input y_adj = adj 0  -- y_adj
              X3[i0 < 3]: f64 = [0 < i0] * X2[i0 - 1]  -- a_adj
              out X1, X3
            core area[](s: Shape{Circle(f64), Box(f64, f64)}) -> f64 =
              let k = s.0
              in [k == 0] * ((3.141592653589793 * s.1.0) * s.1.0) + [k == 1 && k != 0] * (s.2.0 * s.2.1)
            ssa area[](s: Shape{Circle(f64), Box(f64, f64)}) -> f64 =
              X0: i64 = input s_0 = s.0  -- s_0
              X1: f64 = input r = s.1.0  -- r
              X2: f64 = input a = s.2.0  -- a
              X3: f64 = input b = s.2.1  -- b
              X4: f64 = 3.141592653589793
              X5: f64 = [X0 == 0] * X1 * X4
              X6: f64 = [X0 == 0] * X1 * X5
              X7: f64 = [X0 == 1] * X2 * X3
              X8: f64 = [X0 == 0] * X6 + [X0 == 1] * X7
              out X8
            ssa area_adj{0; 1, 2, 3}[](s: Shape{Circle(f64), Box(f64, f64)}) -> (f64, f64, f64, f64) =
              X0: i64 = input s_0 = s.0  -- s_0
              X1: f64 = input r = s.1.0  -- r
              X2: f64 = input a = s.2.0  -- a
              X3: f64 = input b = s.2.1  -- b
              X4: f64 = 3.141592653589793
              X5: f64 = [X0 == 0] * X1 * X4
              X6: f64 = [X0 == 0] * X1 * X5
              X7: f64 = [X0 == 1] * X2 * X3
              X8: f64 = [X0 == 0] * X6 + [X0 == 1] * X7
              X9: f64 = input y_adj = adj 0  -- y_adj
              X10: f64 = [X0 == 1] * X3 * X9
              X11: f64 = [X0 == 1] * X2 * X9
              X12: f64 = [X0 == 0] * X5 * X9
              X13: f64 = [X0 == 0] * X1 * X9
              X14: f64 = [X0 == 0] * X4 * X13
              X15: f64 = [X0 == 1] * X11  -- b_adj
              X16: f64 = [X0 == 1] * X10  -- a_adj
              X17: f64 = [X0 == 0] * X12 + [X0 == 0] * X14  -- r_adj
              out X8, X17, X16, X15
            core some[n](x: [n]f64) -> bool =
              let k = for i < n: x[i] > 0.5
              in [(any i < n: k[i])] * true
            ssa some[n](x: [n]f64) -> bool =
              X0[i0 < n]: f64 = input x  -- x
              X1: f64 = 0.5
              X2[i0 < n]: bool = >(X0[i0], X1)
              X3: bool = true
              X4: bool = [(any i < n: X2[i])] * X3
              out X4
            core smooth[n](x: [n]f64) -> [n]f64 =
              for i < n: (sum d < 3: [0 < i + d && i + d <= n] * x[i + d - 1]) / 3.0
            ssa smooth[n](x: [n]f64) -> [n]f64 =
              X0[i0 < n]: f64 = input x  -- x
              X1[i0 < n]: f64 = sum i1 < 3: [0 < i0 + i1 && i0 + i1 <= n] * X0[i0 + i1 - 1]
              X2: f64 = 3.0
              X3[i0 < n]: f64 = /(X1[i0], X2)
              out X3
            ssa smooth_adj{0; 0}[n](x: [n]f64) -> ([n]f64, [n]f64) =
              X0[i0 < n]: f64 = input x  -- x
              X1[i0 < n]: f64 = sum i1 < 3: [0 < i0 + i1 && i0 + i1 <= n] * X0[i0 + i1 - 1]
              X2: f64 = 3.0
              X3[i0 < n]: f64 = /(X1[i0], X2)
              X4[i0 < n]: f64 = input y_adj = adj 0  -- y_adj
              X5[i0 < n]: f64 = /(X4[i0], X2)
              X6[i0 < n]: f64 = sum i1 < n: [i0 <= i1 + 1 && i1 <= i0 + 1] * X5[i1]  -- x_adj
              out X3, X6
        "#]],
    );
}
