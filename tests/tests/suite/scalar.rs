//! **Accuracy of scalar functions** against mpmath (`tests/golden/scalar.py`). Values must have the
//! accuracy that the functions' table states. Derivatives through `grad` and `hessian` must lie
//! within `tests/golden/tolerances.json`. With `--nocapture` the test prints the worst point of
//! each function.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what helpers of a test cannot read fails the test"
)]

use std::fmt::Write;

use iverson_tests::golden::{self, Tolerance, Tolerances};
use iverson_tests::run::value_of_main;
use lang_core::resolve::scalar_fn::{ScalarDomain, ScalarFn, UlpAccuracy};
use lang_core::runtime::json::to_json;
use lang_core::runtime::scalar::{f32s, f64s};
use lang_core::session::Session;
use lang_jit::tiles::{ProcessorLevel, TileFunction};
use serde_json::{Map, Value};

/// Powers, real and integer. They are operators, so the table does not contain them.
const POW: (&str, UlpAccuracy) = ("^", UlpAccuracy { double: 1, single: 1 });
const POW_INT: (&str, UlpAccuracy) = ("^ integer", UlpAccuracy { double: 1, single: 1 });

/// Returns a real, or `None` if no value is promised.
fn real(value: &Value) -> Option<f64> {
    match value {
        Value::String(word) => match word.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => panic!("{word} is no real"),
        },
        Value::Null => None,
        _ => Some(value.as_f64().expect("a number")),
    }
}

/// A point of the grid with its reference values.
struct Row {
    arguments: Vec<f64>,
    value: Option<f64>,
    /// The first and the second derivative, or the derivatives by each argument.
    derivatives: Vec<Option<f64>>,
}

/// Returns the grid of a function of `arity` arguments.
fn grid(golden: &Map<String, Value>, name: &str, arity: usize) -> Vec<Row> {
    let Some(Value::Array(rows)) = golden.get(name) else { panic!("scalar.json has no grid of {name:?}") };
    let row = |row: &Value| {
        let row: Vec<_> = row.as_array().expect("a row").iter().map(real).collect();
        let (arguments, rest) = row.split_at(arity);
        let (value, derivatives) = rest.split_first().expect("a value");
        Row {
            arguments: arguments.iter().map(|x| x.expect("an argument")).collect(),
            value: *value,
            derivatives: derivatives.to_vec(),
        }
    };
    rows.iter().map(row).collect()
}

/// Returns the scale of errors, if that exceeds the value.
///
/// Below 0 `digamma` and `polygamma` are sums of large terms and have zeros. Errors are relative to
/// the term of the nearest pole, `n! / r^(n + 1)`. The same holds for the derivatives, with `order`
/// added to `n`.
fn scale(name: &str, arguments: &[f64], order: u32) -> f64 {
    let (n, x) = match (name, arguments) {
        ("digamma", [x]) => (0.0, *x),
        ("polygamma", [n, x]) => (*n, *x),
        _ => return 0.0,
    };
    let r = (x - x.round()).abs();
    if x > 0.0 || r == 0.0 || !(0.0..=100.0).contains(&n) {
        return 0.0;
    }
    let n = n + f64::from(order);
    let mut term = 1.0 / r;
    let mut k = 1.0;
    while k <= n {
        term *= k / r;
        k += 1.0;
    }
    term
}

/// Returns the factor of the stated error: an integer power is a product of many factors.
fn roundings(name: &str, arguments: &[f64]) -> f64 {
    if name == POW_INT.0 { arguments.last().map_or(1.0, |k| k.abs().max(1.0)) } else { 1.0 }
}

/// Returns the number of `f64` steps between two numbers. `None` if only one is NaN, or if zeros
/// differ in sign.
fn ulps(a: f64, b: f64) -> Option<u64> {
    let ordered = |x: f64| {
        let bits = x.to_bits().cast_signed();
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    };
    let alike = a.is_nan() == b.is_nan() && (a != 0.0 || b != 0.0 || a.is_sign_negative() == b.is_sign_negative());
    alike.then(|| if a.is_nan() { 0 } else { ordered(a).abs_diff(ordered(b)) })
}

/// Returns the number of `f32` steps between two numbers, as [`ulps`].
fn ulps_single(a: f32, b: f32) -> Option<u64> {
    let ordered = |x: f32| {
        let bits = x.to_bits().cast_signed();
        i64::from(if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits })
    };
    let alike = a.is_nan() == b.is_nan() && (a != 0.0 || b != 0.0 || a.is_sign_negative() == b.is_sign_negative());
    alike.then(|| if a.is_nan() { 0 } else { ordered(a).abs_diff(ordered(b)) })
}

#[expect(clippy::cast_possible_truncation, reason = "the nearest number of single precision is meant")]
fn single(x: f64) -> f32 {
    x as f32
}

/// The greatest error so far, and its point.
#[derive(Default)]
struct Worst {
    error: f64,
    place: String,
}

impl Worst {
    fn see(&mut self, error: f64, place: impl FnOnce() -> String) {
        if error > self.error {
            *self = Self { error, place: place() };
        }
    }
}

/// Compares values at every point with the stated accuracy.
fn values(
    name: &str,
    rows: &[Row],
    accuracy: UlpAccuracy,
    double: &dyn Fn(&[f64]) -> f64,
    float: &dyn Fn(&[f32]) -> f32,
) -> String {
    let (mut worst, mut worst_single) = (Worst::default(), Worst::default());
    let known = rows.iter().filter(|row| row.value.is_some()).count();
    assert!(known > 0, "{name} has no values");
    for row in rows {
        let Some(wanted) = row.value else { continue };
        let found = double(&row.arguments);
        let times = roundings(name, &row.arguments);
        let count = |error: Option<u64>| error.map_or(f64::INFINITY, |n| as_real(n) / times);
        // If the scale exceeds the value, the distance is counted in units of the scale.
        let scale = scale(name, &row.arguments, 0);
        let error = match wanted.abs() < scale {
            true => ulps(scale + (found - wanted), scale),
            false => ulps(found, wanted),
        };
        worst.see(count(error), || format!("at {:?}: {found:?}, not {wanted:?}", row.arguments));
        let arguments: Vec<f32> = row.arguments.iter().map(|x| single(*x)).collect();
        if arguments.iter().zip(&row.arguments).all(|(a, b)| f64::from(*a) == *b || b.is_nan()) {
            let found = float(&arguments);
            let error = match wanted.abs() < scale {
                true => ulps_single(single(scale + (f64::from(found) - wanted)), single(scale)),
                false => ulps_single(found, single(wanted)),
            };
            worst_single.see(count(error), || format!("at {arguments:?}: {found:?}, not {wanted:?}"));
        }
    }
    println!("{name}: {} ulp {}; single {} ulp {}", worst.error, worst.place, worst_single.error, worst_single.place);
    let mut wrong = String::new();
    for (kind, worst, stated) in [("f64", worst, accuracy.double), ("f32", worst_single, accuracy.single)] {
        if worst.error > f64::from(stated) {
            let _ = writeln!(wrong, "{name} of {kind}: {} ulp {}, and {stated} are stated", worst.error, worst.place);
        }
    }
    wrong
}

/// The vectorised functions that machine code calls, at each instruction set that this processor
/// supports. Their stated accuracy is two ulp.
#[test]
fn tiles_are_near_the_exact_values() {
    let golden = golden::file("scalar.json").expect("the golden values can be read");
    for tile in TileFunction::ALL {
        let name = tile.scalar().name();
        let rows = grid(&golden, name, 1);
        let known: Vec<(f64, f64)> =
            rows.iter().filter_map(|row| Some((*row.arguments.first()?, row.value?))).collect();
        let arguments: Vec<f64> = known.iter().map(|(x, _)| *x).collect();
        for level in [ProcessorLevel::Portable, ProcessorLevel::Avx2, ProcessorLevel::Avx512] {
            let mut found = vec![0.0; arguments.len()];
            tile.apply(level, &mut found, &arguments);
            let errors = known.iter().zip(&found).map(|((x, wanted), found)| (ulps(*found, *wanted), x));
            let worst = errors.max_by_key(|(error, _)| error.unwrap_or(u64::MAX)).expect("a grid has points");
            println!("{name} {level:?}: {worst:?} of {} points", known.len());
            assert!(worst.0.is_some_and(|ulps| ulps <= 2), "{name} {level:?}: {worst:?}");
        }
    }
}

/// Returns every function of reals.
fn functions() -> impl Iterator<Item = ScalarFn> {
    ScalarFn::ALL.iter().copied().filter(|f| f.domain() != ScalarDomain::Int)
}

#[test]
fn values_are_as_exact_as_stated() {
    let golden = golden::file("scalar.json").expect("the golden values can be read");
    let mut wrong = String::new();
    for f in functions() {
        let double = |x: &[f64]| match (f64s::function(f), x) {
            (Some(f64s::ScalarFunction::Unary(f)), [x]) => f(*x),
            (Some(f64s::ScalarFunction::Binary(f)), [x, y]) => f(*x, *y),
            _ => panic!("{f:?} has no such function"),
        };
        let float = |x: &[f32]| match (f32s::function(f), x) {
            (Some(f32s::ScalarFunction::Unary(f)), [x]) => f(*x),
            (Some(f32s::ScalarFunction::Binary(f)), [x, y]) => f(*x, *y),
            _ => panic!("{f:?} has no such function"),
        };
        let accuracy = f.accuracy().expect("a function of reals has an accuracy");
        wrong += &values(f.name(), &grid(&golden, f.name(), f.arity()), accuracy, &double, &float);
    }
    let double = |x: &[f64]| if let [x, y] = x { f64s::powr(*x, *y) } else { f64::NAN };
    let float = |x: &[f32]| if let [x, y] = x { f32s::powr(*x, *y) } else { f32::NAN };
    wrong += &values(POW.0, &grid(&golden, POW.0, 2), POW.1, &double, &float);
    let double = |x: &[f64]| if let [x, k] = x { f64s::powi(*x, integer(*k)) } else { f64::NAN };
    let float = |x: &[f32]| if let [x, k] = x { f32s::powi(*x, integer(f64::from(*k))) } else { f32::NAN };
    wrong += &values(POW_INT.0, &grid(&golden, POW_INT.0, 2), POW_INT.1, &double, &float);
    let known: Vec<&str> = functions().map(ScalarFn::name).chain([POW.0, POW_INT.0]).collect();
    let stray: Vec<_> = golden.keys().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(stray.is_empty(), "scalar.json has grids of no function: {stray:?}");
    assert!(wrong.is_empty(), "{wrong}");
}

/// The step between the bit patterns of tested `f32` numbers: a prime, so that all low bits occur.
const SINGLE_STEP: usize = 10_007;

/// The grid contains few `f32` numbers, so a sample of all is compared with the `f64` function. The
/// error of that is far less than the stated one of `f32`. The gamma functions have zeros, near
/// which no relative accuracy is stated.
#[test]
fn values_of_32_bits_are_as_exact_as_stated() {
    let mut wrong = String::new();
    for f in functions().filter(|f| !matches!(f, ScalarFn::Lgamma | ScalarFn::Digamma)) {
        let (Some(f64s::ScalarFunction::Unary(double)), Some(f32s::ScalarFunction::Unary(float))) =
            (f64s::function(f), f32s::function(f))
        else {
            continue;
        };
        let stated = f.accuracy().expect("a function of reals has an accuracy").single;
        let mut worst = Worst::default();
        for bits in (0..=u32::MAX).step_by(SINGLE_STEP) {
            let x = f32::from_bits(bits);
            let (found, wanted) = (float(x), single(double(x.into())));
            let error = ulps_single(found, wanted).map_or(f64::INFINITY, as_real);
            worst.see(error, || format!("at {x:e}: {found:e}, not {wanted:e}"));
        }
        println!("{}: {} ulp {}", f.name(), worst.error, worst.place);
        if worst.error > f64::from(stated) {
            let _ = writeln!(wrong, "{}: {} ulp {}, and {stated} are stated", f.name(), worst.error, worst.place);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[expect(clippy::cast_possible_truncation, reason = "the grid has integers")]
fn integer(k: f64) -> i64 {
    k as i64
}

#[expect(clippy::cast_precision_loss, reason = "a large number of ulps need not be exact")]
fn as_real(n: u64) -> f64 {
    n as f64
}

/// Returns an array literal.
fn array(elements: impl Iterator<Item = String>) -> String {
    format!("[{}]", elements.collect::<Vec<_>>().join(", "))
}

fn number(x: f64) -> String {
    if x.is_nan() { "nan".to_owned() } else { format!("{x:?}") }
}

/// Runs a program and returns its value: rows of reals.
fn rows_of(program: &str) -> Vec<Vec<Value>> {
    let mut session = Session::new();
    session.set_text("main.iv", program);
    let diagnostics = session.diagnostics("main.iv");
    assert!(diagnostics.is_empty(), "{}", iverson_tests::render::diagnostics("main.iv", program, &diagnostics));
    let value = value_of_main(&session, "main.iv").unwrap_or_else(|failure| panic!("{failure}"));
    let text = to_json(&value, 1 << 24).expect("a value that can be written");
    serde_json::from_str(&text).expect("rows of reals")
}

/// Returns derivatives of a function at all points of its grid. They are the first and the second
/// derivative if the function has one argument, else the derivative by each argument.
fn derivatives(written: &str, rows: &[Row]) -> Vec<Vec<Value>> {
    let column = |k: usize| array(rows.iter().map(|row| number(row.arguments[k])));
    rows_of(&match rows.first().map(|row| row.arguments.len()) {
        Some(1) => format!(
            "def f(x: f64) = {written}\nlet xs = {}\n\
             def main() = (for i: grad(f)(xs[i]), for i: hessian(f)(xs[i]))\n",
            column(0)
        ),
        _ => {
            let integers = written.contains("^k");
            let (parameter, ys) = match integers {
                true => ("k: i64", array(rows.iter().map(|row| integer(row.arguments[1]).to_string()))),
                false => ("y: f64", column(1)),
            };
            let second = if integers { "xs" } else { "for i: grad(f, wrt: y)(xs[i], ys[i])" };
            format!(
                "def f(x: f64, {parameter}) = {written}\nlet xs = {}\nlet ys = {ys}\n\
                 def main() = (for i: grad(f, wrt: x)(xs[i], ys[i]), {second})\n",
                column(0)
            )
        }
    })
}

/// Returns the tolerance of a derivative: that of the function, or else the default.
fn tolerance(tolerances: &Tolerances, order: &str, name: &str) -> Tolerance {
    let own = format!("{order}/{name}");
    tolerances.get(if tolerances.has(&own) { &own } else { order })
}

#[test]
fn derivatives_are_those_of_mpmath() {
    let golden = golden::file("scalar.json").expect("the golden values can be read");
    let tolerances = Tolerances::of("scalar functions").expect("the tolerances can be read");
    let mut wrong = String::new();
    let written = functions().map(|f| {
        let arguments = if f.arity() == 1 { "x" } else { "x, y" };
        (f.name(), f.arity(), format!("{}({arguments})", f.name()))
    });
    let powers = [(POW.0, 2, "x^y".to_owned()), (POW_INT.0, 2, "x^k".to_owned())];
    for (name, arity, written) in written.chain(powers) {
        let rows = grid(&golden, name, arity);
        let found = derivatives(&written, &rows);
        for (k, column) in found.iter().enumerate() {
            let order = if arity == 1 && k == 1 { "second" } else { "first" };
            let Tolerance { relative: rtol, absolute: atol } = tolerance(&tolerances, order, name);
            let mut worst = Worst::default();
            assert!(column.len() == rows.len(), "{name}: {} of {} rows", column.len(), rows.len());
            // An integer exponent has no derivative.
            let known = rows.iter().any(|row| row.derivatives[k].is_some());
            assert!(known || (name, k) == (POW_INT.0, 1), "{name} has no derivative {k}");
            for (row, found) in rows.iter().zip(column) {
                // The golden values lack derivatives where none exists.
                let Some(wanted) = row.derivatives[k] else { continue };
                let found = real(found).unwrap_or_else(|| panic!("{name} has no value at {:?}", row.arguments));
                let orders = u32::try_from(if arity == 1 { k + 1 } else { 1 }).expect("a small number");
                let scale = scale(name, &row.arguments, orders).max(wanted.abs());
                let allowed = rtol * scale * roundings(name, &row.arguments) + atol;
                let error = match () {
                    () if found == wanted || (found.is_nan() && wanted.is_nan()) => 0.0,
                    () if !found.is_finite() || !wanted.is_finite() => f64::INFINITY,
                    () => (found - wanted).abs() / allowed,
                };
                let place = || format!("at {:?}: {found:?}, not {wanted:?}", row.arguments);
                if error > 1.0 {
                    let _ = writeln!(wrong, "{name}, derivative {k}, {}", place());
                }
                worst.see(error * rtol, place);
            }
            println!("{name}, derivative {k}: {:.1e} {}", worst.error, worst.place);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
