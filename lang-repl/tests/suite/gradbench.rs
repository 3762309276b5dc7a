//! Tests of `iverson gradbench`: responses to valid and invalid requests, and the values of the
//! modules in `examples/gradbench`.
//!
//! `data/gradbench` contains inputs and accepted outputs for every function of the suite; its
//! README names their sources. Further tests compare values with formulas in plain loops, and
//! gradients with finite differences.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::suboptimal_flops,
    clippy::needless_range_loop,
    clippy::cast_precision_loss,
    unreachable_pub,
    reason = "a failed expectation is a failed test, and formulas stand as they are printed"
)]

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::harness::Dir;
use expect_test::expect;
use serde_json::{Value, json};

/// Returns the folder of this crate.
fn own() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into()).into()
}

fn modules() -> String {
    own().parent().unwrap().join("examples/gradbench").display().to_string()
}

/// Sends requests, and returns the responses.
fn answers(folder: &str, messages: &[String]) -> Vec<Value> {
    let shown = Dir::new(&[]).run(&["gradbench", "--dir", folder], messages.join("\n").as_bytes());
    shown.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {shown}"))).collect()
}

/// Returns the output of a function.
fn output(module: &str, function: &str, input: &Value) -> Value {
    let message = json!({"id": 7, "kind": "evaluate", "module": module, "function": function, "input": input});
    let mut all = answers(&modules(), &[message.to_string()]);
    let answer = all.pop().unwrap();
    assert!(answer["id"] == 7 && answer["success"] == true, "{answer}");
    answer["output"].clone()
}

#[test]
fn messages_are_answered() {
    let evaluate = |id: u32, module: &str, function: &str, input: Value| {
        json!({"id": id, "kind": "evaluate", "module": module, "function": function, "input": input}).to_string()
    };
    let messages = [
        json!({"id": 0, "kind": "start", "eval": "hello"}).to_string(),
        json!({"id": 1, "kind": "define", "module": "hello"}).to_string(),
        evaluate(2, "hello", "square", json!(3.0)),
        evaluate(3, "hello", "double", json!(3)),
        json!({"id": 4, "kind": "analysis", "of": 3, "valid": true}).to_string(),
        // An invalid request has a response, and later requests do too.
        json!({"id": 5, "kind": "define", "module": "no_such"}).to_string(),
        json!({"id": 6, "kind": "define", "module": "../gradbench/hello"}).to_string(),
        evaluate(7, "hello", "cube", json!(3.0)),
        evaluate(8, "hello", "square", json!([1.0, 2.0])),
        evaluate(9, "llsq", "primal", json!({"x": [1.0]})),
        evaluate(10, "llsq", "primal", json!(3.0)),
        evaluate(11, "llsq", "gradient", json!({"x": [1.0, 0.5], "n": "many"})),
        json!({"id": 12, "kind": "dance"}).to_string(),
        json!({"id": 13}).to_string(),
        "no JSON".to_owned(),
        json!({"id": "text", "kind": "start"}).to_string(),
        evaluate(14, "lse", "primal", json!({"x": [0.0, 0.0], "min_runs": 3, "more": "is ignored"})),
        evaluate(15, "lse", "primal", json!({"x": [0.0], "min_runs": 0})),
        evaluate(16, "lse", "primal", json!({"x": [0.0], "min_runs": 100_000_000})),
        evaluate(17, "lse", "primal", json!({"x": [0.0], "min_seconds": "one"})),
        evaluate(18, "lse", "primal", json!({"x": [0.0], "min_seconds": -1})),
        // Requests as the suite sends them: with a description, both options, and the analysis of a
        // wrong response.
        json!({
            "id": 19, "kind": "evaluate", "module": "det", "function": "gradient", "description": "2",
            "input": {"A": [1.0, 2.0, 3.0, 4.0], "ell": 2, "min_runs": 2, "min_seconds": 0},
        })
        .to_string(),
        json!({"id": 20, "kind": "analysis", "of": 19, "valid": false, "error": "expected another value"}).to_string(),
        evaluate(21, "no_such", "primal", json!(1.0)),
        json!({"id": 22, "kind": "evaluate", "module": "hello", "function": "square"}).to_string(),
        evaluate(23, "det", "primal", json!({"A": [1.0, 2.0, 3.0], "ell": 2})),
    ];
    let mut all = answers(&modules(), &messages);
    for answer in &mut all {
        for timing in answer.get_mut("timings").and_then(Value::as_array_mut).into_iter().flatten() {
            assert!(timing["nanoseconds"].is_u64(), "{timing}");
            *timing = timing["name"].clone();
        }
    }
    let shown: Vec<String> = all.iter().map(|a| a.to_string().replace(&modules(), "…")).collect();
    expect![[r#"
        {"id":0,"tool":"iverson"}
        {"id":1,"success":true}
        {"id":2,"output":9.0,"success":true,"timings":["compile","evaluate"]}
        {"id":3,"output":6.0,"success":true,"timings":["compile","evaluate"]}
        {"id":4}
        {"error":"error[E0602]: `…/no_such.iv` cannot be read: no such file","id":5,"success":false}
        {"error":"`../gradbench/hello` is not a module name","id":6,"success":false}
        {"error":"`hello` has no definition `cube`","id":7,"success":false}
        {"error":"error[E0600]: argument `x` is an array of length 2, not of type `f64`","id":8,"success":false}
        {"error":"the input has no `n`","id":9,"success":false}
        {"error":"the function takes 2 arguments, but the input is not an object","id":10,"success":false}
        {"error":"error[E0600]: argument `n` is the string \"many\", not of type `i64`","id":11,"success":false}
        {"error":"unknown message kind `dance`","id":12,"success":false}
        {"error":"the message has no string `kind`","id":13,"success":false}
        {"error":"the message is not JSON: expected ident at line 1 column 2","id":null,"success":false}
        {"id":"text","tool":"iverson"}
        {"id":14,"output":0.6931471805599453,"success":true,"timings":["compile","evaluate","evaluate","evaluate"]}
        {"error":"`min_runs` is 0, but must be an integer from 1 to 10000000","id":15,"success":false}
        {"error":"`min_runs` is 100000000, but must be an integer from 1 to 10000000","id":16,"success":false}
        {"error":"`min_seconds` is \"one\", but must be a number of at least 0","id":17,"success":false}
        {"error":"`min_seconds` is -1, but must be a number of at least 0","id":18,"success":false}
        {"id":19,"output":[4.0,-3.0,-2.0,1.0],"success":true,"timings":["compile","evaluate","evaluate"]}
        {"id":20}
        {"error":"error[E0602]: `…/no_such.iv` cannot be read: no such file","id":21,"success":false}
        {"error":"the message has no `input`","id":22,"success":false}
        {"error":"…/det.iv:12:70: error[E0501]: sizes differ for the number of elements of `reshape`: found n = 3, expected ell^2 = 4","id":23,"success":false}"#]]
    .assert_eq(&shown.join("\n"));
}

/// Program output and requests that are not UTF-8 do not disturb the responses. Runs continue for
/// the requested time.
#[test]
fn only_responses_on_standard_output() {
    let dir =
        Dir::new(&[("loud.iv", b"do print(\"loaded\")\ndef id(x: f64) -> f64 =\n  if dbg(x) > 0 then x else 0.0\n")]);
    let folder = dir.path().display().to_string();
    let mut messages = b"\xff\xfe\n\n".to_vec();
    let evaluate = json!({"id": 1, "kind": "evaluate", "module": "loud", "function": "id", "input": {"x": 2.0}});
    messages.extend(format!("{evaluate}\n").into_bytes());
    let evaluate = json!({
        "id": 2, "kind": "evaluate", "module": "hello", "function": "square", "input": {"x": 2.0, "min_seconds": 0.2},
    });
    messages.extend(evaluate.to_string().into_bytes());
    let shown = dir.run(&["gradbench", "--dir", &folder], &messages);
    let (answers, stderr) = shown.split_once("--- stderr\n").unwrap();
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(answers[0]["id"].is_null() && answers[0]["success"] == false, "{shown}");
    assert_eq!(answers[1]["output"], 2.0);
    assert_eq!(answers[2]["success"], false, "there is no module hello in this folder");
    assert!(stderr.starts_with("loaded\n"), "{stderr}");
    let answers = self::answers(&modules(), &[evaluate.to_string()]);
    let timings = answers[0]["timings"].as_array().unwrap();
    let took: u64 =
        timings.iter().filter(|t| t["name"] == "evaluate").map(|t| t["nanoseconds"].as_u64().unwrap()).sum();
    assert!(timings.len() > 100 && took >= 200_000_000, "{} timings, {took} ns", timings.len());
}

/// Only the declared fields of the input, and of records in it, are used.
#[test]
fn fields_that_are_not_declared_are_ignored() {
    let text = "def f(p: {at: {x: f64}, k: i64}, q: [n]{y: f64}) -> f64 = p.at.x * f64(p.k) + (sum i: q[i].y)\n";
    let dir = Dir::new(&[("deep.iv", text.as_bytes())]);
    let input = json!({
        "p": {"at": {"x": 2.0, "more": [1]}, "k": 3, "name": "p"},
        "q": [{"y": 1.0}, {"y": 0.5, "z": null}],
        "seed": 7,
    });
    let evaluate = |input: Value| {
        json!({"id": 1, "kind": "evaluate", "module": "deep", "function": "f", "input": input}).to_string()
    };
    let lacking = json!({"p": {"at": {}, "k": 3}, "q": []});
    let answers = answers(&dir.path().display().to_string(), &[evaluate(input), evaluate(lacking)]);
    assert_eq!(answers[0]["output"], 7.5, "{}", answers[0]);
    assert!(answers[1]["error"].as_str().is_some_and(|e| e.contains("`x`")), "{}", answers[1]);
}

/// Compares an output with the accepted one: the same shape and integers, and reals within a
/// relative 1e-9.
#[track_caller]
fn accept(found: &Value, accepted: &Value, whose: &str) {
    match (found, accepted) {
        (Value::Object(f), Value::Object(a)) => {
            assert!(f.keys().eq(a.keys()), "{whose}: {found} has other fields than {accepted}");
            a.iter().for_each(|(name, a)| accept(&f[name], a, &format!("{whose}.{name}")));
        }
        (Value::Array(f), Value::Array(a)) => {
            assert_eq!(f.len(), a.len(), "{whose}");
            f.iter().zip(a).enumerate().for_each(|(at, (f, a))| accept(f, a, &format!("{whose}[{at}]")));
        }
        _ if accepted.is_f64() => {
            let (f, a) = (found.as_f64().unwrap_or(f64::NAN), accepted.as_f64().unwrap());
            assert!((f - a).abs() <= 1e-9 * a.abs() + 1e-15, "{whose}: {f} is not {a}");
        }
        _ => assert_eq!(found, accepted, "{whose}"),
    }
}

/// Reads the lines of `data/gradbench/MODULE.jsonl`.
fn accepted(module: &str) -> Vec<Value> {
    let path = data().join(format!("{module}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn data() -> PathBuf {
    own().join("tests/data/gradbench")
}

/// Sends the recorded inputs of a module's functions, and compares the outputs. Each function must
/// have some.
#[track_caller]
fn accepts(module: &str, functions: &[&str]) {
    let mut lines = accepted(module);
    lines.retain(|line| functions.contains(&line["function"].as_str().unwrap()));
    for function in functions {
        assert!(lines.iter().any(|line| line["function"] == *function), "{module} has no answers of `{function}`");
    }
    let messages: Vec<String> = lines
        .iter()
        .map(|line| {
            let mut message = line.clone();
            let fields = message.as_object_mut().unwrap();
            fields.remove("output");
            fields.insert("id".to_owned(), json!(1));
            fields.insert("kind".to_owned(), json!("evaluate"));
            message.to_string()
        })
        .collect();
    let answers = answers(&modules(), &messages);
    assert_eq!(answers.len(), lines.len());
    for (answer, line) in answers.iter().zip(&lines) {
        let whose = format!("{module}.{} {}", line["function"], line["description"]);
        assert_eq!(answer["success"], true, "{whose}: {}", answer["error"]);
        accept(&answer["output"], &line["output"], &whose);
    }
}

/// The tasks of the suite and their functions.
const TASKS: &[(&str, &[&str])] = &[
    ("ba", &["objective", "jacobian"]),
    ("det", &["primal", "gradient"]),
    ("gmm", &["objective", "jacobian"]),
    ("hello", &["square", "double"]),
    ("ht", &["objective", "jacobian"]),
    ("kmeans", &["cost", "dir"]),
    ("llsq", &["primal", "gradient"]),
    ("lse", &["primal", "gradient"]),
    ("lstm", &["objective", "jacobian"]),
    ("ode", &["primal", "gradient"]),
    ("particle", &["ff", "fr", "rf", "rr"]),
    ("saddle", &["ff", "fr", "rf", "rr"]),
];

#[test]
fn every_task_is_accepted() {
    // The nested descents have tests of their own, because they take longest.
    let quick = TASKS.iter().filter(|(module, _)| !["particle", "saddle"].contains(module));
    quick.for_each(|(module, functions)| accepts(module, functions));
}

#[test]
fn particle_is_accepted_by_reverse_mode() {
    accepts("particle", &["fr", "rr"]);
}

#[test]
fn particle_is_accepted_by_forward_mode() {
    accepts("particle", &["ff", "rf"]);
}

#[test]
fn saddle_is_accepted() {
    accepts("saddle", &["ff", "fr", "rf", "rr"]);
}

/// The modules in `examples/gradbench` are exactly the tasks, and each task has accepted responses.
#[test]
fn every_task_has_a_module_and_answers() {
    let names = |folder: PathBuf, extension: &str| {
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let found = paths.filter(|path| path.extension().is_some_and(|e| e == extension));
        found.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect::<BTreeSet<String>>()
    };
    let tasks: BTreeSet<String> = TASKS.iter().map(|(module, _)| (*module).to_owned()).collect();
    assert_eq!(names(data(), "jsonl"), tasks);
    // `particle` and `saddle` import `descent`.
    let with_imported: BTreeSet<String> = tasks.into_iter().chain(["descent".to_owned()]).collect();
    assert_eq!(names(PathBuf::from(modules()), "iv"), with_imported);
    for (module, functions) in TASKS {
        let lines = accepted(module);
        let known = |line: &Value| functions.contains(&line["function"].as_str().unwrap());
        assert!(lines.iter().all(known), "{module} has answers of another function");
    }
}

fn reals(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(reals).collect(),
        Value::Object(fields) => fields.values().flat_map(reals).collect(),
        other => vec![other.as_f64().unwrap_or_else(|| panic!("{other}"))],
    }
}

#[track_caller]
fn near(found: &[f64], wanted: &[f64], within: f64) {
    assert_eq!(found.len(), wanted.len());
    for (f, w) in found.iter().zip(wanted) {
        assert!((f - w).abs() <= within * (1.0 + w.abs()), "{found:?} is not {wanted:?}");
    }
}

/// Returns the gradient by central differences.
fn differences(f: &dyn Fn(&[f64]) -> f64, x: &[f64]) -> Vec<f64> {
    let step = 1e-5;
    let moved = |k: usize, by: f64| {
        let mut x = x.to_vec();
        x[k] += by;
        f(&x)
    };
    (0..x.len()).map(|k| (moved(k, step) - moved(k, -step)) / (2.0 * step)).collect()
}

/// Returns irregular numbers, so that no mistake matches by chance.
fn numbers(count: usize, seed: f64) -> Vec<f64> {
    (0..count).map(|k| (1.7 * k as f64 + seed).sin() * 1.3 + 0.2 * (k as f64 * 0.31 + seed).cos()).collect()
}

fn log_sum_exp(x: &[f64]) -> f64 {
    x.iter().map(|x| x.exp()).sum::<f64>().ln()
}

#[test]
fn lse_and_llsq() {
    let x = numbers(37, 0.3);
    let input = json!({"x": x});
    near(&reals(&output("lse", "primal", &input)), &[log_sum_exp(&x)], 1e-13);
    near(&reals(&output("lse", "gradient", &input)), &differences(&log_sum_exp, &x), 1e-8);
    let (x, n) = (numbers(5, 0.7), 41_usize);
    let squares = |x: &[f64]| {
        let mut sum = 0.0;
        for i in 0..n {
            let t = -1.0 + 2.0 * i as f64 / (n - 1) as f64;
            let sign = if t == 0.0 { 0.0 } else { t.signum() };
            let (mut rest, mut power) = (sign, 1.0);
            for x in x {
                rest -= x * power;
                power *= t;
            }
            sum += rest * rest;
        }
        sum / 2.0
    };
    let input = json!({"x": x, "n": n});
    near(&reals(&output("llsq", "primal", &input)), &[squares(&x)], 1e-12);
    near(&reals(&output("llsq", "gradient", &input)), &differences(&squares, &x), 1e-7);
}

#[test]
fn ode() {
    let (x, steps) = (numbers(4, 1.1), 50_usize);
    let solved = |x: &[f64]| {
        let change = |y: &[f64]| (0..x.len()).map(|i| x[i] * if i == 0 { 1.0 } else { y[i - 1] }).collect::<Vec<f64>>();
        let moved = |y: &[f64], by: f64, k: &[f64]| y.iter().zip(k).map(|(y, k)| y + by * k).collect::<Vec<f64>>();
        let h = 2.0 / steps as f64;
        let mut y = vec![0.0; x.len()];
        for _ in 0..steps {
            let a = change(&y);
            let b = change(&moved(&y, h / 2.0, &a));
            let c = change(&moved(&y, h / 2.0, &b));
            let d = change(&moved(&y, h, &c));
            for i in 0..y.len() {
                y[i] += h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]);
            }
        }
        y
    };
    let input = json!({"x": x, "s": steps});
    near(&reals(&output("ode", "primal", &input)), &solved(&x), 1e-12);
    near(&reals(&output("ode", "gradient", &input)), &differences(&|x| solved(x)[x.len() - 1], &x), 1e-7);
}

#[test]
fn kmeans() {
    let (n, k, d) = (30, 4, 3);
    let (points, centroids) = (numbers(n * d, 0.2), numbers(k * d, 2.0));
    let nearest = |c: &[f64], i: usize| {
        let distance = |j: usize| (0..d).map(|s| (points[i * d + s] - c[j * d + s]).powi(2)).sum::<f64>();
        (0..k).map(|j| (distance(j), j)).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
    };
    let cost = |c: &[f64]| (0..n).map(|i| nearest(c, i).0).sum::<f64>();
    let rows = |x: &[f64]| x.chunks(d).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let input = json!({"points": rows(&points), "centroids": rows(&centroids)});
    near(&reals(&output("kmeans", "cost", &input)), &[cost(&centroids)], 1e-12);
    // The curvature is twice the number of nearest points.
    let count = |j: usize| (0..n).filter(|i| nearest(&centroids, *i).1 == j).count() as f64;
    assert!((0..k).all(|j| count(j) > 0.0));
    let slopes = differences(&cost, &centroids);
    let wanted: Vec<f64> = slopes.iter().enumerate().map(|(at, slope)| slope / (2.0 * count(at / d))).collect();
    near(&reals(&output("kmeans", "dir", &input)), &wanted, 1e-7);
}

#[test]
fn gmm() {
    let (n, k, d, m, gamma) = (6_usize, 3_usize, 3_usize, 2_i32, 1.5_f64);
    let t = d * (d - 1) / 2;
    let x = numbers(n * d, 0.9);
    let parts = [k, k * d, k * d, k * t];
    let point: Vec<f64> = numbers(parts.iter().sum(), 0.4).iter().map(|x| x * 0.6).collect();
    let split = |p: &[f64]| {
        let mut rest = p.to_vec();
        parts.map(|count| rest.drain(..count).collect::<Vec<f64>>())
    };
    // The log-gamma function at multiples of 1/2, from its values at 1/2 and 1.
    let lgamma = |a: f64| {
        let (mut sum, mut at) = (0.0, a);
        while at > 1.0 {
            at -= 1.0;
            sum += at.ln();
        }
        sum + if at == 0.5 { std::f64::consts::PI.sqrt().ln() } else { 0.0 }
    };
    let objective = |p: &[f64]| {
        let [alpha, mu, q, l] = split(p);
        let mut sum = 0.0;
        for i in 0..n {
            let mut terms = Vec::new();
            for c in 0..k {
                let centred: Vec<f64> = (0..d).map(|r| x[i * d + r] - mu[c * d + r]).collect();
                let mut whitened: Vec<f64> = (0..d).map(|r| q[c * d + r].exp() * centred[r]).collect();
                let mut at = c * t;
                for column in 0..d {
                    for row in column + 1..d {
                        whitened[row] += l[at] * centred[column];
                        at += 1;
                    }
                }
                let squared: f64 = whitened.iter().map(|x| x * x).sum();
                terms.push(alpha[c] + q[c * d..(c + 1) * d].iter().sum::<f64>() - squared / 2.0);
            }
            sum += log_sum_exp(&terms);
        }
        let mut prior = 0.0;
        for c in 0..k {
            let diagonal: f64 = q[c * d..(c + 1) * d].iter().map(|q| (2.0 * q).exp()).sum();
            let rest: f64 = l[c * t..(c + 1) * t].iter().map(|l| l * l).sum();
            prior += gamma * gamma / 2.0 * (diagonal + rest);
            prior -= f64::from(m) * q[c * d..(c + 1) * d].iter().sum::<f64>();
        }
        let free = (d + 1) as f64 + f64::from(m);
        let all: f64 = (1..=d).map(|j| lgamma(free / 2.0 + (1.0 - j as f64) / 2.0)).sum();
        let gammas = (d * (d - 1)) as f64 / 4.0 * std::f64::consts::PI.ln() + all;
        let constant = free * d as f64 * (gamma.ln() - 2.0_f64.ln() / 2.0) - gammas;
        let scale = (n * d) as f64 / 2.0 * (2.0 * std::f64::consts::PI).ln();
        sum - scale - n as f64 * log_sum_exp(&alpha) - prior + k as f64 * constant
    };
    let rows = |x: &[f64], width: usize| x.chunks(width).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let [alpha, mu, q, l] = split(&point);
    let input = json!({
        "d": d, "k": k, "n": n, "x": rows(&x, d), "m": m, "gamma": gamma,
        "alpha": alpha, "mu": rows(&mu, d), "q": rows(&q, d), "l": rows(&l, t),
    });
    near(&reals(&output("gmm", "objective", &input)), &[objective(&point)], 1e-12);
    let found = output("gmm", "jacobian", &input);
    let found: Vec<f64> = ["alpha", "mu", "q", "l"].iter().flat_map(|part| reals(&found[part])).collect();
    near(&found, &differences(&objective, &point), 1e-7);
}
