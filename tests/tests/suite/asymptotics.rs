//! **Asymptotic cost.** Tabulates the exact work and iterations of values and derivatives at
//! doubling sizes. Asserts linear growth where it must hold. Also tabulates the length of adjoints
//! as text.
#![expect(clippy::expect_used, reason = "what helpers of a test cannot make fails the test")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::{Expect, expect};
use iverson_tests::middle::call_inputs::CallInputs;
use iverson_tests::middle::forms::{EvaluatorFunctions, FormProvider as _, SessionForms};
use lang_core::ad::{is_real, real_inputs, real_outputs};
use lang_core::base::GlobalName;
use lang_core::eval::eval_ssa::SsaEvaluator;
use lang_core::ir::core::{DerivativeKind, FunctionKey};
use lang_core::ir::counted_cost::count_cost;
use lang_core::ir::ssa::{Rhs, SsaFunction};
use lang_core::runtime::OperationCounts;
use lang_core::session::Session;

const FUEL: u64 = 100_000_000;

fn session(text: &str) -> Session {
    let mut session = Session::new();
    session.set_text("t", text);
    let problems = session.diagnostics("t");
    assert!(problems.iter().all(|d| !d.is_error()), "{problems:?}\n{text}");
    session
}

fn callee(name: &str) -> Arc<FunctionKey> {
    Arc::new(FunctionKey::new(GlobalName::new("t", name), Vec::new()))
}

fn adjoint(forms: &SessionForms<'_>, name: &str) -> Arc<SsaFunction> {
    let ssa = forms.ssa(&callee(name)).expect("it has forms");
    let derived = callee(name)
        .derivative(DerivativeKind::Adjoint { outputs: real_outputs(&ssa).into(), wrt: real_inputs(&ssa).into() });
    forms.ssa(&Arc::new(derived)).expect("it has an adjoint")
}

fn forward(forms: &SessionForms<'_>, name: &str) -> Arc<SsaFunction> {
    let ssa = forms.ssa(&callee(name)).expect("it has forms");
    let derived = callee(name).derivative(DerivativeKind::Forward(real_inputs(&ssa).into()));
    forms.ssa(&Arc::new(derived)).expect("it has a forward derivative")
}

/// Returns the counts of a function at sizes: the implicit sizes, then integer arguments.
fn counts(forms: &SessionForms<'_>, name: &str, ssa: &SsaFunction, sizes: &[i64]) -> OperationCounts {
    let stages = forms.stages(&callee(name)).expect("it has forms");
    let inputs = CallInputs::drawn(&stages.core, ssa, sizes, &|_| 1.0).expect("it has arguments");
    let world = EvaluatorFunctions(forms);
    let mut evaluator = SsaEvaluator::new(&world, FUEL);
    evaluator.call(ssa, &inputs.sizes, inputs.tensors).expect("it has a value");
    evaluator.counts
}

/// Appends the table of a definition: work and iterations of the value and of the adjoint, at
/// doubling sizes.
fn growth(out: &mut String, text: &str, name: &str, sizes: &dyn Fn(i64) -> Vec<i64>) {
    let session = session(text);
    let globals = HashMap::new();
    let forms = SessionForms::new(&session, &globals);
    let (value, back) = (forms.ssa(&callee(name)).expect("it has forms"), adjoint(&forms, name));
    let _ = writeln!(out, "{name}");
    let mut last: Option<[u64; 4]> = None;
    for n in [8, 16, 32, 64] {
        let (v, b) = (counts(&forms, name, &value, &sizes(n)), counts(&forms, name, &back, &sizes(n)));
        let _ = writeln!(
            out,
            "  {n:>3}: value {:>4} work {:>4} iterations, adjoint {:>4} work {:>4} iterations",
            v.work, v.iterations, b.work, b.iterations
        );
        let now = [v.work, v.iterations, b.work, b.iterations];
        if let Some(before) = last
            && n == 64
        {
            for (now, before) in now.iter().zip(before) {
                // At most 2.1 times the previous count, with a constant for the part that does not
                // grow.
                assert!(10 * now <= 21 * before + 10, "{name} is not linear: {now} after {before}\n{out}{value}{back}");
            }
        }
        last = Some(now);
    }
}

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "as `expect!` gives it")]
fn check(out: &str, expected: Expect) {
    expected.assert_eq(out);
}

/// Appends the bytes that the adjoint of a definition keeps for its reverse sweep, at doubling
/// sizes, with the iterations of the value. Fails if it keeps more than `most` bytes for each
/// iteration.
fn kept(out: &mut String, text: &str, name: &str, most: u64) {
    let session = session(text);
    let globals = HashMap::new();
    let forms = SessionForms::new(&session, &globals);
    let (value, back) = (forms.ssa(&callee(name)).expect("it has forms"), adjoint(&forms, name));
    let stages = forms.stages(&callee(name)).expect("it has forms");
    let _ = writeln!(out, "{name}");
    for n in [8, 16, 32, 64] {
        let inputs = CallInputs::drawn(&stages.core, &back, &[n], &|_| 1.0).expect("it has arguments");
        let cost = count_cost(&back, &inputs.locals, &|callee| forms.ssa(callee), FUEL).expect("it has a cost");
        let steps = counts(&forms, name, &value, &[n]).iterations;
        let _ = writeln!(out, "  {n:>3}: {steps:>6} iterations, {:>6} bytes", cost.stored_bytes);
        assert!(cost.stored_bytes <= most * steps, "{name} keeps too much\n{out}{back}");
    }
}

/// Programs that must be linear according to the paper (ATL 2.2), and similar ones.
const PROGRAMS: &str = "
def eye(n: i64, x: f64) -> [n, n]f64 = for i, j: [i == j] * x
def trace(a: [n, n]f64) -> f64 = sum i: a[i, i]
def trace_eye(n: i64, x: f64) -> f64 = trace(eye(n, x))
def diag(x: [n]f64) -> [n, n]f64 = for i, j: [i == j] * x[i]
def traces(k: i64, x: [n]f64) -> f64 = let A = diag(x) in sum t < k: trace(A)
def dot(a: [n]f64, b: [n]f64) -> f64 = sum i: a[i] * b[i]
def column_row(x: [n + 1]f64) -> f64 = let A = diag(x) in dot(A[_, 0], A[0, _])
def skipped_filter(x: [n]f64) -> f64 = sum i if i != 1: x[i]
def skipped_bracket(x: [n]f64) -> f64 = sum i: [i == 0 || i >= 2] * x[i]
def reread(x: [n + 1]f64) -> f64 = sum i < n: x[0] * x[i]
def reread_alone(n: i64, x: f64) -> f64 = sum i < n: x
def copies(n: i64, x: f64) -> f64 = let z = for i < n: x in 2 * x
def banded(x: [n]f64) -> [n]f64 = for i: sum j: [i <= j && j <= i + 2] * x[j]
def added(x: [n]f64) -> [n]f64 = fold y = x for j < n: y with [j * 7 % n] += x[j]
def added_if(x: [n]f64) -> [n]f64 = fold y = x for j < n: if x[j] > 0.5 then y with [j * 7 % n] += x[j] else y
def put_unless(x: [n]f64) -> [n]f64 = fold y = x for j < n: if x[j] > 2.0 then y else y with [j * 7 % n] = x[j]
";

/// Nested loops that update arrays element by element.
const UPDATES: &str = "
def cholesky(a: [n, n]f64) -> [n, n]f64 =
  fold l = (for i < n, j < n: 0.0) for j < n: (
    let d = l with [j, j] = sqrt(a[j, j] - sum k < j: l[j, k]^2) in
    fold l = d for i in j + 1..n:
      l with [i, j] = (a[i, j] - sum k < j: l[i, k] * l[j, k]) / l[j, j])
def swept(x: [n]f64, s: f64) -> [n]f64 = fold y = x for t < n, i in 1..n: y with [i] = y[i] * y[i - 1] * s
def halved(x: [n]f64) -> [n]f64 =
  fold y = x for t < n:
    let z = fold z = y for i < n: z with [i] = 0.5 * z[i] in z with [0] = z[0] * z[n - 1] * y[0]
def three_deep(x: [n]f64) -> [n]f64 =
  fold y = x for s < 3, t < 2, i < n: y with [n - 1 - i] = sin(y[i] * y[n - 1 - i])
";

/// For arrays that nested loops update, the adjoint keeps elements, not whole arrays.
#[test]
fn kept_of_updates() {
    let mut out = String::new();
    for name in ["cholesky", "swept", "halved", "three_deep"] {
        kept(&mut out, UPDATES, name, 16);
    }
    check(
        &out,
        expect![[r#"
        cholesky
            8:    356 iterations,   1024 bytes
           16:   1736 iterations,   4096 bytes
           32:   9616 iterations,  16384 bytes
           64:  60192 iterations,  65536 bytes
        swept
            8:    232 iterations,    896 bytes
           16:    976 iterations,   3840 bytes
           32:   4000 iterations,  15872 bytes
           64:  16192 iterations,  64512 bytes
        halved
            8:    224 iterations,    640 bytes
           16:    832 iterations,   2304 bytes
           32:   3200 iterations,   8704 bytes
           64:  12544 iterations,  33792 bytes
        three_deep
            8:    201 iterations,    768 bytes
           16:    393 iterations,   1536 bytes
           32:    777 iterations,   3072 bytes
           64:   1545 iterations,   6144 bytes
    "#]],
    );
}

#[test]
fn linear_programs() {
    let mut out = String::new();
    let one = |n: i64| vec![n];
    growth(&mut out, PROGRAMS, "trace_eye", &one);
    growth(&mut out, PROGRAMS, "traces", &|n| vec![n, 4]);
    growth(&mut out, PROGRAMS, "column_row", &one);
    growth(&mut out, PROGRAMS, "skipped_filter", &one);
    growth(&mut out, PROGRAMS, "skipped_bracket", &one);
    growth(&mut out, PROGRAMS, "reread", &one);
    growth(&mut out, PROGRAMS, "reread_alone", &one);
    growth(&mut out, PROGRAMS, "copies", &one);
    growth(&mut out, PROGRAMS, "banded", &one);
    growth(&mut out, PROGRAMS, "added", &one);
    growth(&mut out, PROGRAMS, "added_if", &one);
    growth(&mut out, PROGRAMS, "put_unless", &one);
    check(
        &out,
        expect![[r#"
            trace_eye
                8: value    7 work    8 iterations, adjoint   14 work   16 iterations
               16: value   15 work   16 iterations, adjoint   30 work   32 iterations
               32: value   31 work   32 iterations, adjoint   62 work   64 iterations
               64: value   63 work   64 iterations, adjoint  126 work  128 iterations
            traces
                8: value   10 work   12 iterations, adjoint   13 work   24 iterations
               16: value   18 work   20 iterations, adjoint   21 work   40 iterations
               32: value   34 work   36 iterations, adjoint   37 work   72 iterations
               64: value   66 work   68 iterations, adjoint   69 work  136 iterations
            column_row
                8: value    1 work    1 iterations, adjoint    3 work    4 iterations
               16: value    1 work    1 iterations, adjoint    3 work    4 iterations
               32: value    1 work    1 iterations, adjoint    3 work    4 iterations
               64: value    1 work    1 iterations, adjoint    3 work    4 iterations
            skipped_filter
                8: value    6 work    7 iterations, adjoint    6 work   14 iterations
               16: value   14 work   15 iterations, adjoint   14 work   30 iterations
               32: value   30 work   31 iterations, adjoint   30 work   62 iterations
               64: value   62 work   63 iterations, adjoint   62 work  126 iterations
            skipped_bracket
                8: value    6 work    7 iterations, adjoint    6 work   14 iterations
               16: value   14 work   15 iterations, adjoint   14 work   30 iterations
               32: value   30 work   31 iterations, adjoint   30 work   62 iterations
               64: value   62 work   63 iterations, adjoint   62 work  126 iterations
            reread
                8: value   15 work    8 iterations, adjoint   39 work   33 iterations
               16: value   31 work   16 iterations, adjoint   79 work   65 iterations
               32: value   63 work   32 iterations, adjoint  159 work  129 iterations
               64: value  127 work   64 iterations, adjoint  319 work  257 iterations
            reread_alone
                8: value    7 work    8 iterations, adjoint   14 work   16 iterations
               16: value   15 work   16 iterations, adjoint   30 work   32 iterations
               32: value   31 work   32 iterations, adjoint   62 work   64 iterations
               64: value   63 work   64 iterations, adjoint  126 work  128 iterations
            copies
                8: value    1 work    1 iterations, adjoint    2 work    2 iterations
               16: value    1 work    1 iterations, adjoint    2 work    2 iterations
               32: value    1 work    1 iterations, adjoint    2 work    2 iterations
               64: value    1 work    1 iterations, adjoint    2 work    2 iterations
            banded
                8: value   13 work   21 iterations, adjoint   26 work   42 iterations
               16: value   29 work   45 iterations, adjoint   58 work   90 iterations
               32: value   61 work   93 iterations, adjoint  122 work  186 iterations
               64: value  125 work  189 iterations, adjoint  250 work  378 iterations
            added
                8: value    8 work   40 iterations, adjoint   16 work   80 iterations
               16: value   16 work   80 iterations, adjoint   32 work  160 iterations
               32: value   32 work  160 iterations, adjoint   64 work  320 iterations
               64: value   64 work  320 iterations, adjoint  128 work  640 iterations
            added_if
                8: value    1 work   34 iterations, adjoint    9 work   67 iterations
               16: value    5 work   74 iterations, adjoint   21 work  143 iterations
               32: value   10 work  148 iterations, adjoint   42 work  286 iterations
               64: value   19 work  294 iterations, adjoint   83 work  569 iterations
            put_unless
                8: value    0 work   48 iterations, adjoint    8 work   88 iterations
               16: value    0 work   96 iterations, adjoint   16 work  176 iterations
               32: value    0 work  192 iterations, adjoint   32 work  352 iterations
               64: value    0 work  384 iterations, adjoint   64 work  704 iterations
        "#]],
    );
}

/// Maxima and minima. Their derivatives visit as many elements as the value, without a one-hot
/// tensor.
const CHOSEN: &str = "
def greatest(x: [n]f64) -> f64 = max i: x[i]
def row_greatest(a: [n, m]f64) -> f64 = sum i: max j: a[i, j]
def least_of_all(a: [n, m]f64) -> f64 = min i, j: a[i, j]
def filtered(x: [n]f64) -> f64 = max i if x[i] < 0.5: x[i]^2
def pooled(x: [n + 2]f64) -> [n]f64 = for i: max k < 3: x[i + k]
def softmax(x: [n]f64) -> [n]f64 =
  let m = max i: x[i]
  let e = for i: exp(x[i] - m)
  let s = sum i: e[i]
  in for i: e[i] / s
def there(x: [n]f64, y: [n]f64) -> f64 = [0 < n] * y[argmax i: x[i]]^2
";

#[test]
fn chosen_terms() {
    let mut out = String::new();
    let one = |n: i64| vec![n];
    growth(&mut out, CHOSEN, "greatest", &one);
    growth(&mut out, CHOSEN, "row_greatest", &|n| vec![n, 4]);
    growth(&mut out, CHOSEN, "least_of_all", &|n| vec![n, 4]);
    growth(&mut out, CHOSEN, "filtered", &one);
    growth(&mut out, CHOSEN, "softmax", &one);
    growth(&mut out, CHOSEN, "pooled", &one);
    growth(&mut out, CHOSEN, "there", &one);
    check(
        &out,
        expect![[r#"
            greatest
                8: value    7 work    8 iterations, adjoint   14 work   17 iterations
               16: value   15 work   16 iterations, adjoint   30 work   33 iterations
               32: value   31 work   32 iterations, adjoint   62 work   65 iterations
               64: value   63 work   64 iterations, adjoint  126 work  129 iterations
            row_greatest
                8: value   31 work   40 iterations, adjoint   55 work   80 iterations
               16: value   63 work   80 iterations, adjoint  111 work  160 iterations
               32: value  127 work  160 iterations, adjoint  223 work  320 iterations
               64: value  255 work  320 iterations, adjoint  447 work  640 iterations
            least_of_all
                8: value   31 work   32 iterations, adjoint   62 work   65 iterations
               16: value   63 work   64 iterations, adjoint  126 work  129 iterations
               32: value  127 work  128 iterations, adjoint  254 work  257 iterations
               64: value  255 work  256 iterations, adjoint  510 work  513 iterations
            filtered
                8: value   13 work   22 iterations, adjoint   27 work   44 iterations
               16: value   21 work   38 iterations, adjoint   43 work   72 iterations
               32: value   43 work   76 iterations, adjoint   87 work  143 iterations
               64: value   87 work  152 iterations, adjoint  175 work  285 iterations
            softmax
                8: value   38 work   48 iterations, adjoint  100 work  129 iterations
               16: value   78 work   96 iterations, adjoint  204 work  257 iterations
               32: value  158 work  192 iterations, adjoint  412 work  513 iterations
               64: value  318 work  384 iterations, adjoint  828 work 1025 iterations
            pooled
                8: value   16 work   24 iterations, adjoint   37 work   56 iterations
               16: value   32 work   48 iterations, adjoint   73 work  112 iterations
               32: value   64 work   96 iterations, adjoint  145 work  224 iterations
               64: value  128 work  192 iterations, adjoint  287 work  448 iterations
            there
                8: value    8 work    9 iterations, adjoint   10 work   12 iterations
               16: value   16 work   17 iterations, adjoint   18 work   20 iterations
               32: value   32 work   33 iterations, adjoint   34 work   36 iterations
               64: value   64 work   65 iterations, adjoint   66 work   68 iterations
        "#]],
    );
    // The forward derivative searches for the position too, and does no other work.
    let session = session(CHOSEN);
    let globals = HashMap::new();
    let forms = SessionForms::new(&session, &globals);
    for (name, sizes) in [("greatest", vec![64]), ("row_greatest", vec![16, 4]), ("filtered", vec![64])] {
        let value = counts(&forms, name, &forms.ssa(&callee(name)).expect("it has forms"), &sizes);
        let tangent = counts(&forms, name, &forward(&forms, name), &sizes);
        assert!(tangent.iterations <= 4 * value.iterations, "{name}: {tangent:?} after {value:?}");
        assert!(tangent.work <= 4 * value.work, "{name}: {tangent:?} after {value:?}");
    }
}

/// `x[0] + x[2] + x[3] + …` written out, and unused copies of `x`: the counts are linear in the
/// length of the program.
#[test]
fn written_out() {
    let mut out = String::new();
    let mut last = HashMap::new();
    for n in [8, 16, 32, 64] {
        let terms: Vec<String> = (0..n).filter(|k| *k != 1).map(|k| format!("x[{k}]")).collect();
        let copies: Vec<String> = (0..n).map(|k| format!("let z{k} = x[{k}] * 1.5")).collect();
        let text = format!(
            "def skipped(x: [{n}]f64) -> f64 = {}\ndef copies(x: [{n}]f64) -> f64 = {} in 2 * x[0]\n",
            terms.join(" + "),
            copies.join(" ")
        );
        let session = session(&text);
        let globals = HashMap::new();
        let forms = SessionForms::new(&session, &globals);
        for name in ["skipped", "copies"] {
            let back = adjoint(&forms, name);
            let c = counts(&forms, name, &back, &[]);
            let _ = writeln!(
                out,
                "{name} {n:>3}: {:>3} work {:>4} iterations {:>3} statements",
                c.work,
                c.iterations,
                back.stmts.len()
            );
            let now = [c.work, c.iterations, u64::try_from(back.stmts.len()).unwrap_or(0)];
            if let Some(before) = last.insert(name, now)
                && n == 64
            {
                for (now, before) in now.iter().zip(before) {
                    assert!(10 * now <= 21 * before + 10, "{name} is not linear: {now} after {before}\n{back}");
                }
            }
        }
    }
    check(
        &out,
        expect![[r#"
        skipped   8:   6 work   14 iterations   4 statements
        copies   8:   2 work    3 iterations   6 statements
        skipped  16:  14 work   30 iterations   4 statements
        copies  16:   2 work    3 iterations   6 statements
        skipped  32:  30 work   62 iterations   4 statements
        copies  32:   2 work    3 iterations   6 statements
        skipped  64:  62 work  126 iterations   4 statements
        copies  64:   2 work    3 iterations   6 statements
    "#]],
    );
}

/// The linear program of ATL 2.2. The forward derivative and the adjoint have the counts of the
/// program.
#[test]
fn linear_dag() {
    let session = session(
        "def f(x: f64, y: f64) -> (f64, f64) =
  let a = 2 * x + 3 * y
  let b = 4 * x + a
  let z = 8 * x
  let w = 5 * a + 6 * b
  in (z, w)
",
    );
    let globals = HashMap::new();
    let forms = SessionForms::new(&session, &globals);
    let value = forms.ssa(&callee("f")).expect("it has forms");
    let of = |ssa: &SsaFunction| counts(&forms, "f", ssa, &[]).work;
    // A derivative also computes the values, which a linear program does not need, so their work is
    // subtracted.
    let (own, tangent, back) = (of(&value), of(&forward(&forms, "f")), of(&adjoint(&forms, "f")));
    assert_eq!((own, tangent - own, back - own), (9, 9, 9));
}

/// A chain of definitions that each call the previous one twice: every derivative is generated
/// once.
#[test]
fn chains_of_definitions() {
    let mut out = String::new();
    let mut last: Option<usize> = None;
    for n in [10, 20, 40, 60] {
        // Each body is too large to be inlined.
        let filler: String = (0..30).map(|k| format!(" + sin(x * {k}.5)")).collect();
        let mut text = format!("def f0(x: f64) -> f64 = x{filler}\n");
        for k in 1..=n {
            let before = k - 1;
            let _ = writeln!(text, "def f{k}(x: f64) -> f64 = f{before}(0.5 * x) + 0.5 * f{before}(0.25 * x)");
        }
        let session = session(&text);
        let globals = HashMap::new();
        let forms = SessionForms::new(&session, &globals);
        let entry = format!("f{n}");
        let (mut statements, mut callees) = (0, Vec::new());
        let mut open = vec![adjoint(&forms, &entry)];
        while let Some(ssa) = open.pop() {
            statements += ssa.stmts.len();
            for stmt in &ssa.stmts {
                if let Rhs::Call { callee, .. } = &stmt.rhs
                    && !callees.contains(callee)
                {
                    callees.push(callee.clone());
                    open.extend(forms.ssa(callee));
                }
            }
        }
        let _ = writeln!(out, "{n}: {statements} statements in {} definitions", callees.len() + 1);
        if let Some(before) = last
            && n == 40
        {
            assert!(10 * statements <= 21 * before, "{statements} after {before}");
        }
        last = Some(statements);
        assert!(adjoint(&forms, &entry).outputs.iter().all(|(leaf, _)| is_real(leaf.scalar)));
    }
    check(
        &out,
        expect![[r#"
            10: 701 statements in 9 definitions
            20: 1129 statements in 15 definitions
            40: 2051 statements in 29 definitions
            60: 2929 statements in 41 definitions
        "#]],
    );
}
