//! **Derivative laws** of drawn functions that need no second program. The checks are:
//!
//! - a run on dual numbers returns the value bit for bit;
//! - the tangent is the inner product of the direction with the gradient;
//! - differences of values are close to the tangent if the function is smooth;
//! - differences of gradients are close to `hvp`.

use std::sync::atomic::AtomicBool;

use lang_core::base::GlobalName;
use lang_core::runtime::{Failure, RuntimeInstance, Value};
use lang_core::session::Session;

use super::run::ItemRunner;
use crate::golden::Tolerances;
use crate::random::Random;
use crate::run::MAIN;

/// The number of derivatives that could be checked, by the kind of check.
#[derive(Clone, Copy, Default, Debug)]
pub struct DerivativeCounts {
    /// Points at which the function and its derivatives have values.
    pub points: u64,
    /// The points with a nonzero tangent.
    pub varying: u64,
    /// Tangents that differences of values confirmed.
    pub first: u64,
    /// Second derivatives that differences of gradients confirmed.
    pub second: u64,
    /// Points where the function fails and its derivatives fail with the same code.
    pub failing: u64,
}

impl DerivativeCounts {
    /// Adds the counts of another program.
    pub fn add(&mut self, other: Self) {
        self.points += other.points;
        self.varying += other.varying;
        self.first += other.first;
        self.second += other.second;
        self.failing += other.failing;
    }
}

/// The steps of the finite differences.
const STEPS: [f64; 3] = [1e-3, 5e-4, 2.5e-4];

/// The tolerances; the file of tolerances states the reasons.
struct Allowed {
    /// The agreement of the differences at all steps if the function is smooth at this scale.
    smooth: f64,
    /// The distance of the derivative from the limit of the differences.
    near: f64,
    /// The difference between sums in different orders.
    sums: f64,
}

impl Allowed {
    fn read() -> std::result::Result<Self, String> {
        let all = Tolerances::of("drawn programs")?;
        let [smooth, near, sums] = ["smooth", "near", "sums"].map(|name| all.get(name).relative);
        Ok(Self { smooth, near, sums })
    }
}

/// The number of points for each function.
const POINTS: usize = 2;

/// The function, and its derivatives, at one point and along one direction.
struct DirectedPoint<'k> {
    known: ItemRunner<'k>,
    allowed: &'k Allowed,
    x: f64,
    y: Vec<f64>,
    dx: f64,
    dy: Vec<f64>,
}

/// A broken law, and the details.
type FailedLaw = (&'static str, String);

/// The result of a definition: the reals in its value, or the failure.
type Result = std::result::Result<Vec<f64>, Box<Failure>>;

impl DirectedPoint<'_> {
    fn call(&self, def: &str, args: Vec<Value>) -> Result {
        let size = i64::try_from(self.y.len()).unwrap_or(0);
        let instance = RuntimeInstance { sizes: vec![size], ..RuntimeInstance::default() };
        let (result, _) = self.known.interpret(|interp| interp.call(&GlobalName::new(MAIN, def), instance, args));
        result.map(|v| reals(&v))
    }

    /// Returns the point, moved by `t` along the direction.
    fn at(&self, t: f64) -> Vec<Value> {
        let y = self.y.iter().zip(&self.dy).map(|(y, dy)| y + t * dy).collect();
        vec![Value::F64(self.x + t * self.dx), array(y)]
    }

    fn direction(&self) -> Vec<Value> {
        vec![Value::F64(self.dx), array(self.dy.clone())]
    }

    fn along(&self, of: &[f64]) -> f64 {
        of.iter().zip(std::iter::once(&self.dx).chain(&self.dy)).map(|(a, b)| a * b).sum()
    }

    /// Returns the limit of central differences of a real function along the direction, or `None`
    /// if they disagree.
    fn slope(&self, f: impl Fn(Vec<Value>) -> Option<f64>) -> Option<f64> {
        let slopes: Vec<f64> =
            STEPS.iter().map(|h| Some((f(self.at(*h))? - f(self.at(-h))?) / (2.0 * h))).collect::<Option<_>>()?;
        let [a, b, c] = slopes.try_into().ok()?;
        // Richardson extrapolation: the error of each falls with the square of the step.
        let (ab, bc) = ((4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0);
        let limit = (16.0 * bc - ab) / 15.0;
        let near = |x: f64| (x - limit).abs() <= self.allowed.smooth * (1.0 + limit.abs());
        [b, c, ab, bc].into_iter().all(near).then_some(limit)
    }
}

/// Checks the derivatives of the function `q0` of a program, if it has one.
///
/// # Errors
/// The law that does not hold, and the details.
pub fn check(session: &Session, text: &str) -> std::result::Result<DerivativeCounts, FailedLaw> {
    let mut seen = DerivativeCounts::default();
    if !["q0", "q3", "q4", "q5", "q6"].iter().all(|def| text.contains(&format!("def {def}("))) {
        return Ok(seen);
    }
    let mut random = Random::new(u64::try_from(text.len()).unwrap_or(0));
    let stop = AtomicBool::new(false);
    let allowed = Allowed::read().map_err(|message| ("tolerances can be read", message))?;
    for _ in 0..POINTS {
        let n = random.number_below(4);
        let mut real = || f64::from(i32::try_from(random.number_below(4001)).unwrap_or(0) - 2000) / 1009.0;
        let mut reals = || (0..n).map(|_| real()).collect::<Vec<_>>();
        let (y, dy) = (reals(), reals());
        let point =
            DirectedPoint { known: ItemRunner::new(session, &stop), allowed: &allowed, x: real(), y, dx: real(), dy };
        // A program with `stop` has derivatives that differ from those of its values.
        try_point(&point, text.contains("stop("), &mut seen)
            .map_err(|(law, how)| (law, format!("at x = {:?}, y = {:?}: {how}", point.x, point.y)))?;
    }
    Ok(seen)
}

fn try_point(
    point: &DirectedPoint<'_>,
    stopped: bool,
    seen: &mut DerivativeCounts,
) -> std::result::Result<(), FailedLaw> {
    let value = point.call("q0", point.at(0.0));
    let tangent = point.call("q3", [point.at(0.0), point.direction()].concat());
    let gradient = point.call("q4", point.at(0.0));
    let pulled = point.call("q5", [point.at(0.0), vec![Value::F64(2.0)]].concat());
    let (value, tangent, gradient, pulled) = match (value, tangent, gradient, pulled) {
        (Ok(v), Ok(t), Ok(g), Ok(p)) => (v, t, g, p),
        (Err(a), Err(b), Err(c), Err(d)) if [b.code, c.code, d.code] == [a.code; 3] => {
            seen.failing += 1;
            return Ok(());
        }
        (v, t, g, p) => {
            return fail(
                "derivatives fail where the function does",
                format!("q0, jvp, grad, vjp: {v:?}, {t:?}, {g:?}, {p:?}"),
            );
        }
    };
    let (Some((v, [])), Some((tv, [slope])), Some((gv, gradient)), Some((pv, pulled))) =
        (value.split_first(), tangent.split_first(), gradient.split_first(), pulled.split_first())
    else {
        return fail(
            "derivatives have their shapes",
            format!("not the shapes they should have: {value:?}, {tangent:?}, {gradient:?}, {pulled:?}"),
        );
    };
    for (what, w) in [("jvp2", tv), ("value_and_grad", gv), ("vjp2", pv)] {
        if w.to_bits() != v.to_bits() && !(w.is_nan() && v.is_nan()) {
            return fail("derivatives come with the value", format!("{what} gives the value {w:?}, and it is {v:?}"));
        }
    }
    // A number for `x`, and one for each element of `y`.
    if gradient.len() != 1 + point.y.len() {
        return fail("derivatives have their shapes", format!("the gradient is {gradient:?}"));
    }
    let doubled: Vec<f64> = gradient.iter().map(|g| 2.0 * g).collect();
    let same = |a: f64, b: f64, scale: f64| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= point.allowed.sums * (1.0 + scale)
    };
    if doubled.len() != pulled.len() || !doubled.iter().zip(pulled).all(|(a, b)| same(*a, *b, a.abs())) {
        return fail("grad is vjp", format!("grad is {gradient:?}, and vjp along 2 {pulled:?}"));
    }
    let scale: f64 = gradient.iter().map(|g| g.abs()).sum();
    let sum = point.along(gradient);
    if sum.is_finite() && !same(*slope, sum, scale) {
        return fail(
            "jvp is the inner product with grad",
            format!("jvp is {slope:?}, and the inner product with the gradient {sum:?}"),
        );
    }
    seen.points += 1;
    seen.varying += u64::from(*slope != 0.0);
    if stopped || !slope.is_finite() {
        return Ok(());
    }
    let first = |t: Result| t.ok()?.first().copied();
    if let Some(wanted) = point.slope(|args| first(point.call("q0", args))) {
        if (wanted - slope).abs() > point.allowed.near * (1.0 + wanted.abs() + scale) {
            return fail("differences come near jvp", format!("jvp is {slope:?}, and differences tend to {wanted:?}"));
        }
        seen.first += 1;
    }
    let Ok(second) = point.call("q6", [point.at(0.0), point.direction()].concat()) else {
        return fail("hvp fails where grad does", "hvp fails, and grad does not".to_owned());
    };
    if second.len() != gradient.len() {
        return fail("derivatives have their shapes", format!("hvp is {second:?}"));
    }
    let curvature = point.along(&second);
    let scale: f64 = second.iter().map(|g| g.abs()).sum();
    let along = |g: Result| Some(point.along(g.ok()?.get(1..)?));
    if let Some(wanted) = point.slope(|args| along(point.call("q4", args)))
        && curvature.is_finite()
    {
        if (wanted - curvature).abs() > point.allowed.near * (1.0 + wanted.abs() + scale) {
            return fail(
                "differences come near hvp",
                format!("hvp is {curvature:?} along the direction, and differences tend to {wanted:?}"),
            );
        }
        seen.second += 1;
    }
    Ok(())
}

fn fail<T>(law: &'static str, how: String) -> std::result::Result<T, FailedLaw> {
    Err((law, how))
}

fn array(elements: Vec<f64>) -> Value {
    Value::array(&[elements.len()], elements).unwrap_or_else(Value::unit)
}

/// Returns the reals of a value, in order.
fn reals(value: &Value) -> Vec<f64> {
    match value {
        Value::F64(x) => vec![*x],
        Value::Array(a) => a.f64s().unwrap_or_default().to_vec(),
        Value::Tuple(t) => t.values().iter().flat_map(reals).collect(),
        _ => Vec::new(),
    }
}
