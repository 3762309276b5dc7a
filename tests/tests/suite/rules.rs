//! **Library derivative rules.** Each rule must return the derivative of the definition's code. The
//! code is differentiated with all rules in the library ignored, so that no rule is checked by
//! another.

use std::collections::{BTreeMap, BTreeSet};

use iverson_tests::golden::{Tolerances, json_of};
use iverson_tests::run::{InterpreterSetup, value_of_main, value_of_main_after};
use lang_core::base::GlobalName;
use lang_core::session::{LIBRARY, Session};
use lang_core::syntax::split::ItemKind;
use serde_json::Value;

/// Functions that generate points. `noise` is between -1 and 1.
const GENERATORS: &str = "
def noise(k: i64) -> f64 = let x = 43758.5453 * sin(12.9898 * f64(k)) in 2 * (x - floor(x)) - 1

def vector(n: i64, seed: i64) -> [n]f64 = for i: noise(101 * seed + i)

def matrix(n: i64, m: i64, seed: i64) -> [n, m]f64 = for i, j: noise(101 * seed + m * i + j)

--| No row of it can be made of the others.
def regular(n: i64, seed: i64) -> [n, n]f64 = for i, j: matrix(n, n, seed)[i, j] + [i == j] * 2.5

--| Its symmetric part is positive definite.
def positive(n: i64, seed: i64) -> [n, n]f64 =
  let a = matrix(n, n, seed)
  in for i, j: (sum k: a[i, k] * a[j, k]) + [i == j] * 1.5 + f64(i - j) / 8

--| Its symmetric part has eigenvalues well apart.
def apart(n: i64, seed: i64) -> [n, n]f64 =
  for i, j: matrix(n, n, seed)[i, j] / 4 + [i == j] * 1.5 * f64(i)
";

/// The points at which a rule is tested. `$` in the texts is replaced by a number that differs from
/// draw to draw.
struct RuleTest {
    /// The definition, with its module.
    def: &'static str,
    /// Its arguments.
    point: &'static [&'static str],
    /// Random tangents of the arguments.
    tangent: &'static [&'static str],
    /// A random cotangent of its result.
    cotangent: &'static str,
}

const fn rule_test(
    def: &'static str,
    point: &'static [&'static str],
    tangent: &'static [&'static str],
    cotangent: &'static str,
) -> RuleTest {
    RuleTest { def, point, tangent, cotangent }
}

const SQUARE: &[&str] = &["matrix(3, 3, $)"];
const SQUARE_VECTOR: &[&str] = &["matrix(3, 3, $)", "vector(3, $ + 1)"];
const SQUARE_MATRIX: &[&str] = &["matrix(3, 3, $)", "matrix(3, 2, $ + 1)"];
const REGULAR: &[&str] = &["regular(3, $)"];
const REGULAR_VECTOR: &[&str] = &["regular(3, $)", "vector(3, $ + 1)"];
const REGULAR_MATRIX: &[&str] = &["regular(3, $)", "matrix(3, 2, $ + 1)"];

const VECTOR: &[&str] = &["vector(4, $)"];
const REAL: &[&str] = &["noise($)"];
const PAIR: &[&str] = &["noise($)", "noise($ + 1)"];
const POSITIVE: &[&str] = &["1.5 + noise($)", "1.5 + noise($ + 1)"];
/// Six numbers: a transform that halves once and then uses the direct sum.
const COMPLEX: &[&str] = &["{re: vector(6, $), im: vector(6, $ + 1)}"];

const PLACES: &[RuleTest] = &[
    rule_test("linalg.norm", &["vector(4, $)"], &["vector(4, $)"], "noise($)"),
    rule_test("linalg.frobenius", &["matrix(2, 3, $)"], &["matrix(2, 3, $)"], "noise($)"),
    rule_test("linalg.solve_lower", REGULAR_VECTOR, SQUARE_VECTOR, "vector(3, $)"),
    rule_test("linalg.solve_upper", REGULAR_VECTOR, SQUARE_VECTOR, "vector(3, $)"),
    rule_test("linalg.solve_lower_matrix", REGULAR_MATRIX, SQUARE_MATRIX, "matrix(3, 2, $)"),
    rule_test("linalg.solve_upper_matrix", REGULAR_MATRIX, SQUARE_MATRIX, "matrix(3, 2, $)"),
    rule_test("linalg.lu", SQUARE, SQUARE, "{lu: matrix(3, 3, $), rows: (), sign: ()}"),
    rule_test("linalg.solve", REGULAR_VECTOR, SQUARE_VECTOR, "vector(3, $)"),
    rule_test("linalg.solve_matrix", REGULAR_MATRIX, SQUARE_MATRIX, "matrix(3, 2, $)"),
    rule_test("linalg.inverse", REGULAR, SQUARE, "matrix(3, 3, $)"),
    rule_test("linalg.det", SQUARE, SQUARE, "noise($)"),
    rule_test("linalg.cofactors", SQUARE, SQUARE, "matrix(3, 3, $)"),
    rule_test("linalg.spectral_norm", &["matrix(3, 2, $)"], &["matrix(3, 2, $)"], "noise($)"),
    rule_test("linalg.product", &["noise($)", "noise($ + 1)"], &["noise($)", "noise($ + 1)"], "noise($)"),
    rule_test("linalg.slogdet", REGULAR, SQUARE, "{sign: noise($), logdet: noise($ + 1)}"),
    rule_test("linalg.cholesky", &["positive(3, $)"], SQUARE, "matrix(3, 3, $)"),
    rule_test("linalg.solve_positive", &["positive(3, $)", "vector(3, $ + 1)"], SQUARE_VECTOR, "vector(3, $)"),
    rule_test("linalg.logdet", &["positive(3, $)"], SQUARE, "noise($)"),
    rule_test("linalg.qr", &["matrix(4, 3, $)"], &["matrix(4, 3, $)"], "{q: matrix(4, 3, $), r: matrix(3, 3, $ + 1)}"),
    rule_test(
        "linalg.lstsq",
        &["matrix(4, 3, $)", "vector(4, $ + 1)"],
        &["matrix(4, 3, $)", "vector(4, $ + 1)"],
        "vector(3, $)",
    ),
    rule_test("linalg.eigh", &["apart(3, $)"], SQUARE, "{values: vector(3, $), vectors: matrix(3, 3, $ + 1)}"),
    rule_test("linalg.eigvalsh", &["apart(3, $)"], SQUARE, "vector(3, $)"),
    rule_test("linalg.expm", SQUARE, SQUARE, "matrix(3, 3, $)"),
    rule_test(
        "linalg.expm_frechet",
        &["matrix(2, 2, $)", "matrix(2, 2, $ + 1)"],
        &["matrix(2, 2, $)", "matrix(2, 2, $ + 1)"],
        "matrix(2, 2, $)",
    ),
    rule_test(
        "linalg.svd",
        &["matrix(4, 3, $)"],
        &["matrix(4, 3, $)"],
        "{u: matrix(4, 3, $), values: vector(3, $ + 1), v: matrix(3, 3, $ + 2)}",
    ),
    rule_test("linalg.svdvals", &["matrix(4, 3, $)"], &["matrix(4, 3, $)"], "vector(3, $)"),
    rule_test("linalg.pinv", &["matrix(4, 3, $)"], &["matrix(4, 3, $)"], "matrix(3, 4, $)"),
    rule_test("nn.log_softmax", VECTOR, VECTOR, "vector(4, $)"),
    rule_test("signal.fft", COMPLEX, COMPLEX, "{re: vector(6, $), im: vector(6, $ + 1)}"),
    rule_test("signal.ifft", COMPLEX, COMPLEX, "{re: vector(6, $), im: vector(6, $ + 1)}"),
    rule_test("signal.cumulative_sum", VECTOR, VECTOR, "vector(4, $)"),
    rule_test("stats.logsumexp", VECTOR, VECTOR, "noise($)"),
    rule_test("stats.softmax", VECTOR, VECTOR, "vector(4, $)"),
    rule_test("stats.categorical_logpmf", &["2", "vector(4, $)"], &["()", "vector(4, $)"], "noise($)"),
    rule_test("stats.xlogy_at_border", POSITIVE, PAIR, "noise($)"),
    rule_test("stats.xdivy", POSITIVE, PAIR, "noise($)"),
    rule_test("stats.relative_entropy_at_border", POSITIVE, PAIR, "noise($)"),
    rule_test("stats.standard_normal_logcdf", REAL, REAL, "noise($)"),
    rule_test("stats.mills_inverse", REAL, REAL, "noise($)"),
    rule_test("stats.erfcx_integral", &["1", "noise($)"], &["()", "noise($)"], "noise($)"),
    rule_test("stats.exp_square", &["noise($)", "0.5"], PAIR, "noise($)"),
];

/// Exceptions in which a rule differs from the code, as its documentation states: the definition,
/// the expression and its value. The derivative rule and the adjoint rule must agree.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("linalg.norm", "jvp(linalg.norm)([0.0, 0.0], [3.0, 4.0])", "0.0"),
    ("linalg.norm", "grad(linalg.norm)([0.0, 0.0])", "[0.0, 0.0]"),
    ("linalg.frobenius", "jvp(linalg.frobenius)([[0.0, 0.0]], [[3.0, 4.0]])", "0.0"),
    ("linalg.frobenius", "grad(linalg.frobenius)([[0.0, 0.0]])", "[[0.0, 0.0]]"),
    // The vector of a simple eigenvalue is differentiable even if other eigenvalues coincide.
    (
        "linalg.eigh",
        "jvp(\\(a: [3, 3]f64): linalg.eigh(a).vectors[_, 2])([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 5.0]], [[1.0, 6.0, 3.0], [6.0, 2.0, 9.0], [3.0, 9.0, 4.0]])",
        "[1.0, 3.0, 0.0]",
    ),
    // The determinant of a singular matrix is differentiable.
    ("linalg.det", "grad(linalg.det)([[1.0, 2.0], [2.0, 4.0]])", "[[4.0, -2.0], [-2.0, 1.0]]"),
    ("linalg.det", "grad(linalg.det)([[0.0, 0.0], [0.0, 3.0]])", "[[3.0, 0.0], [0.0, 0.0]]"),
];

/// Definitions whose rules are not the derivative of their code: functions that are 0 everywhere
/// but have a derivative, and the marker of a missing derivative. `tests/golden/derivatives.json`
/// checks them through the matrix functions that use them.
const BY_RULE_ALONE: &[&str] = &["linalg.nan_unless_zero", "linalg.curvature", "linalg.curvature_first"];

/// Definitions that iterate to convergence, with a call of each in `tests/golden/derivatives.json`,
/// which checks their rules. The derivative of the code is that of a finite number of steps, so the
/// code is no reference.
const ITERATIONS: &[(&str, &str)] = &[
    ("linalg.cg", "linalg.cg("),
    ("linalg.gmres", "linalg.gmres("),
    ("linalg.power_iteration", "linalg.power_iteration("),
    ("ode.advance", "ode.dopri5("),
    ("ode.dopri5_step", "ode.dopri5("),
    ("optim.adam_with", "optim.adam("),
    ("optim.fixed_point", "optim.fixed_point("),
    ("optim.gauss_newton_with", "optim.gauss_newton("),
    ("optim.gradient_descent_with", "optim.gradient_descent("),
    ("optim.lbfgs_with", "optim.lbfgs("),
    ("optim.levenberg_marquardt_with", "optim.levenberg_marquardt("),
    ("optim.momentum_with", "optim.momentum("),
    ("optim.newton_with", "optim.newton("),
    ("optim.root", "optim.root("),
];

/// Returns the definitions with rules in the library, and the kinds of their rules.
fn rules(session: &Session) -> BTreeMap<GlobalName, BTreeSet<&'static str>> {
    let mut found: BTreeMap<GlobalName, BTreeSet<&'static str>> = BTreeMap::new();
    for (module, _) in LIBRARY {
        for item in session.items(module) {
            let kind = match item.kind {
                ItemKind::Derivative => "derivative",
                ItemKind::Adjoint => "adjoint",
                _ => continue,
            };
            found.entry(GlobalName::new(&item.module, &item.name)).or_default().insert(kind);
        }
    }
    found
}

/// Returns the program that evaluates an expression with the library in scope.
fn program(body: &str) -> String {
    let imports: String = LIBRARY
        .iter()
        .filter(|(module, _)| body.contains(&format!("{module}.")) && !module.is_empty())
        .map(|(module, _)| format!("import {module}\n"))
        .collect();
    format!("{imports}{GENERATORS}\ndef main() = {body}\n")
}

const MODULE: &str = "rule.iv";

fn check(session: &mut Session, body: &str) -> Result<(), String> {
    let text = program(body);
    session.set_text(MODULE, &text);
    let diagnostics = session.diagnostics(MODULE);
    if diagnostics.iter().any(lang_core::base::Diagnostic::is_error) {
        return Err(iverson_tests::render::diagnostics(MODULE, &text, &diagnostics));
    }
    Ok(())
}

fn run(session: &Session, prepare: InterpreterSetup<'_>) -> Result<Value, String> {
    json_of(&value_of_main_after(session, MODULE, prepare)?)
}

/// Returns the expression that is computed at a point: two tangents, a second derivative,
/// cotangents, and their directions.
fn body(place: &RuleTest, draw: i64) -> String {
    let at = |text: &str, seed: i64| text.replace('$', &(1_000 * draw + seed).to_string());
    let bundle = |texts: &[&str], seed: i64| {
        let texts: Vec<String> = texts.iter().map(|text| at(text, seed)).collect();
        if texts.len() == 1 { texts.concat() } else { format!("({})", texts.join(", ")) }
    };
    let def = place.def;
    let names = ["x", "y", "z", "u"].get(..place.point.len()).unwrap_or_default().join(", ");
    let names_bundle = if place.point.len() == 1 { names.clone() } else { format!("({names})") };
    let (p, v, u) = (bundle(place.point, 1), bundle(place.tangent, 20), bundle(place.tangent, 40));
    let w = at(place.cotangent, 60);
    format!(
        "{{v: {v}, w: {w}, tangent: jvp({def})({p}, {v}), other: jvp({def})({p}, {u}), \
         second: jvp(\\{names}: jvp({def})({names_bundle}, {v}))({p}, {u}), cotangent: vjp({def})({p}, {w})}}"
    )
}

fn reals(value: &Value, into: &mut Vec<f64>) {
    match value {
        Value::Number(x) => into.extend(x.as_f64()),
        Value::String(_) => into.push(f64::NAN),
        Value::Array(items) => items.iter().for_each(|item| reals(item, into)),
        // Sorts by name, so that records of the same shape have the same order.
        Value::Object(items) => items.iter().collect::<BTreeMap<_, _>>().values().for_each(|item| reals(item, into)),
        _ => {}
    }
}

fn part(value: &Value, name: &str) -> Vec<f64> {
    let mut found = Vec::new();
    reals(value.get(name).unwrap_or(&Value::Null), &mut found);
    found
}

/// Returns the greatest difference, relative to the greatest magnitude of `wanted`.
fn distance(found: &[f64], wanted: &[f64]) -> f64 {
    if found.len() != wanted.len() || found.iter().chain(wanted).any(|x| x.is_nan()) {
        return f64::INFINITY;
    }
    let size = wanted.iter().fold(0.0, |m: f64, y| m.max(y.abs()));
    let gap = found.iter().zip(wanted).fold(0.0, |m: f64, (x, y)| m.max((x - y).abs()));
    if gap == 0.0 { 0.0 } else { gap / size }
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn absolute(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| x.abs()).collect()
}

/// Returns the faults in the rules of one definition.
fn judge(session: &mut Session, place: &RuleTest, def: &GlobalName, kinds: &BTreeSet<&str>) -> Vec<String> {
    let tolerance = match Tolerances::of("rules") {
        Ok(all) => all.get(place.def).relative,
        Err(message) => return vec![message],
    };
    let all: Vec<GlobalName> = rules(session).into_keys().collect();
    let mut wrong = Vec::new();
    for draw in 1..=3 {
        if let Err(message) = check(session, &body(place, draw)) {
            return vec![format!("{}:\n{message}", place.def)];
        }
        let code = run(session, &|interp| all.iter().for_each(|rule| interp.ignore_rule(rule)));
        let ruled = run(session, &|_| {});
        let adjoint = run(session, &|interp| interp.prefer_adjoint(def));
        let (code, ruled, adjoint) = match (code, ruled, adjoint) {
            (Ok(code), Ok(ruled), Ok(adjoint)) => (code, ruled, adjoint),
            (code, ruled, adjoint) => {
                let messages = [code, ruled, adjoint].into_iter().filter_map(Result::err).collect::<String>();
                return vec![format!("{}:\n{messages}", place.def)];
            }
        };
        let mut compare = |what: &str, rule: &Value| {
            for name in ["tangent", "other", "second", "cotangent"] {
                let gap = distance(&part(rule, name), &part(&code, name));
                if gap.is_nan() || gap > tolerance {
                    wrong.push(format!("{}, draw {draw}: {name} by the {what} is {gap:.1e} off", place.def));
                }
            }
        };
        compare("rule", &ruled);
        if kinds.contains("adjoint") {
            compare("adjoint rule", &adjoint);
            let forward = inner(&part(&ruled, "w"), &part(&ruled, "tangent"));
            let backward = inner(&part(&adjoint, "cotangent"), &part(&adjoint, "v"));
            let size = inner(&absolute(&part(&ruled, "w")), &absolute(&part(&ruled, "tangent")));
            if (forward - backward).abs() > tolerance * size {
                wrong.push(format!("{}, draw {draw}: {forward} forward and {backward} backward", place.def));
            }
        }
    }
    wrong
}

#[test]
fn rules_agree_with_the_code_beside_them() {
    let mut session = Session::new();
    let rules = rules(&session);
    let golden = include_str!("../../golden/derivatives.json");
    let name = |def: &GlobalName| format!("{}.{}", def.module, def.name);
    let mut wrong: Vec<String> = PLACES
        .iter()
        .filter(|place| !rules.keys().any(|def| name(def) == place.def))
        .map(|place| format!("{} has no rule", place.def))
        .collect();
    for (def, kinds) in &rules {
        match PLACES.iter().find(|place| place.def == name(def)) {
            Some(place) => wrong.extend(judge(&mut session, place, def, kinds)),
            None if BY_RULE_ALONE.contains(&name(def).as_str()) => {}
            None if ITERATIONS.iter().any(|(of, call)| *of == name(def) && golden.contains(call)) => {}
            None => wrong.push(format!("{} has a rule, and no place where it is tested", name(def))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rules_say_what_is_written_of_their_exceptions() {
    let mut session = Session::new();
    let rules = rules(&session);
    let mut wrong = Vec::new();
    for (def, expr, wanted) in EXCEPTIONS {
        if let Err(message) = check(&mut session, expr) {
            wrong.push(message);
            continue;
        }
        let wanted: Result<Value, _> = serde_json::from_str(wanted);
        let wanted = wanted.map_err(|e| e.to_string());
        let mut found = vec![value_of_main(&session, MODULE).and_then(|value| json_of(&value))];
        for rule in rules.keys().filter(|rule| format!("{}.{}", rule.module, rule.name) == *def) {
            found.push(run(&session, &|interp| interp.prefer_adjoint(rule)));
        }
        for found in found {
            let mut numbers = (Vec::new(), Vec::new());
            if let (Ok(found), Ok(wanted)) = (&found, &wanted) {
                reals(found, &mut numbers.0);
                reals(wanted, &mut numbers.1);
            }
            if numbers.0.is_empty() || distance(&numbers.0, &numbers.1) > 0.0 {
                wrong.push(format!("{expr} is {found:?}, not {wanted:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
