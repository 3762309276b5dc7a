//! **Large runs.** Definitions with sizes at which kernels run in parallel chunks, and which take
//! memory.

use lang_core::session::Session;

/// The text of the definitions.
const PROGRAM: &str = "
def elements(x: [n]f64, y: [n]f64) -> [n]f64 = for i: exp(x[i]) / (1 + y[i]^2)
def dot(x: [n]f64, y: [n]f64) -> f64 = sum i: x[i] * y[i]
def log_sum_exp(x: [n]f64) -> f64 = let a = max i: x[i] in a + log(sum i: exp(x[i] - a))
def single(x: [n]f32) -> f32 = sum i: x[i] / (1 + x[i]^2)
def short_choices(x: [n]f32) -> [n]f32 = for i: if x[i] > 0.5 then sqrt(x[i]) else sign(x[i]) * relu(x[i]) + abs(x[i])
def short_greatest(a: [n, m]f32) -> [n]f32 = for i: max j: a[i, j] - f32(0.25) * a[i, j]^3
def short_below(a: [n, n]f32, x: [n]f32) -> [n]f32 = for i: sum j: [j < i] * a[i, j] * x[j]
def closest(x: [n, d]f64, c: [k, d]f64) -> [n]i64 = for i: argmin j: sum l: (x[i, l] - c[j, l])^2
def costs(x: [n, d]f64, c: [k, d]f64) -> f64 = sum i: min j: sum l: (x[i, l] - c[j, l])^2
def products(a: [n, m]f64) -> [m]f64 = for j: prod i: 1 + a[i, j] / f64(n)
def greatest(a: [n, m]f64) -> [m]f64 = for j: max i: a[i, j]
def least(a: [n, m]f64) -> [n]f64 = for i: min j: a[i, j]^2
def nearest(a: [n, m]f64) -> [n]i64 = for i: argmin j: a[i, j]
def integer_greatest(at: [n]i64) -> i64 = max i: -5 - at[i] * at[i]
def integer_least(at: [n]i64) -> i64 = min i: 5 + at[i] * at[i]
def best(x: [n]f64) -> i64 = argmax i: x[i] * sin(x[i])
def columns(a: [n, m]f64, x: [n]f64) -> [m]f64 = for j: sum i: a[i, j] * x[i]
def counts(at: [n]i64) -> i64 = sum i: at[i] * at[i] + 1
def some(x: [n]f64) -> bool = any i: x[i] > 1.2999
def histogram(at: [n]i64, x: [n]f64, lo: [m]f64) -> [m]f64 = for j: lo[j] + (sum i: [at[i] == j] * x[i])
def rows(a: [n, m]f64) -> f64 = sum i: let z = sum k: exp(a[i, k]) in sum j: (exp(a[i, j]) / z)^2
def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: sum j < m: x[i + j] * c[j]
def below(a: [n, n]f64, x: [n]f64) -> [n]f64 = for i: sum j: [j < i] * a[i, j] * x[j]
def shifted(x: [n]f64) -> [n]f64 = for i: if i == 0 then x[0] else x[i] * x[i - 1]
def product(a: [n, m]f64, b: [m, k]f64) -> [n, k]f64 = for i, j: sum l: a[i, l] * b[l, j]
def batched(a: [b, n, m]f64, c: [b, m, k]f64) -> [b, n, k]f64 = for p, i, j: sum l: a[p, i, l] * c[p, l, j]
def fitted(a: [n, m]f64, x: [m]f64, y: [n]f64) -> f64 = sum i: ((sum j: a[i, j] * x[j]) - y[i])^2
def steps(x: [n]f64) -> [n]f64 = fold y = x for t < 5: for i: y[i] + 0.1 * sin(y[n - 1 - i])
def network(w: [h, d]f64, v: [k, h]f64, x: [d]f64) -> f64 =
  let a = for i: sigmoid(sum j: w[i, j] * x[j])
  in sum i: (sum j: v[i, j] * a[j])^2
def line(p: [2]f64, t: [n]f64) -> [n]f64 = for i: let w = exp(p[0] * t[i]) in sin(w * p[1]) / (1 + w^2)
def by_parameters(p: [2]f64, t: [n]f64) -> [n, 2]f64 = jacobian(line, wrt: p)(p, t)
def gathered(x: [n]f64, at: [m]i64) -> f64 = sum k: x[at[k]]^2 * f64(k)
";

/// The definitions, each with sizes at which it runs in chunks, and other sizes.
pub const RUNS: &[(&str, &[&[i64]])] = &[
    ("elements", &[&[30_000], &[30_001], &[10]]),
    ("dot", &[&[100_000], &[99_991]]),
    ("log_sum_exp", &[&[60_013]]),
    ("single", &[&[100_003]]),
    ("short_choices", &[&[100_003], &[11]]),
    ("short_greatest", &[&[3000, 31]]),
    ("short_below", &[&[500]]),
    ("closest", &[&[900, 19, 13]]),
    ("costs", &[&[900, 19, 13]]),
    ("products", &[&[3000, 17], &[17, 3000]]),
    ("greatest", &[&[5000, 17]]),
    ("least", &[&[5000, 17]]),
    ("nearest", &[&[3000, 31]]),
    ("integer_greatest", &[&[100_003], &[11]]),
    ("integer_least", &[&[100_003], &[11]]),
    ("best", &[&[30_000]]),
    ("columns", &[&[2000, 37], &[5, 40_000]]),
    ("counts", &[&[90_000]]),
    ("some", &[&[90_000]]),
    ("histogram", &[&[40_000, 9], &[40_000, 20_000]]),
    ("rows", &[&[900, 33], &[3, 30_000]]),
    ("conv", &[&[9000, 7]]),
    ("below", &[&[500]]),
    ("shifted", &[&[90_000]]),
    ("product", &[&[300, 200, 110], &[129, 200, 1100]]),
    ("batched", &[&[30, 40, 41, 42]]),
    ("fitted", &[&[4000, 20]]),
    ("steps", &[&[20_000]]),
    ("network", &[&[64, 900, 20]]),
    ("gathered", &[&[500, 60_000]]),
    ("by_parameters", &[&[300_000]]),
];

/// Returns a session with the definitions.
///
/// # Panics
/// If the checker rejects one of them.
#[must_use]
pub fn session() -> Session {
    let mut session = Session::new();
    session.set_text("threads.iv", PROGRAM);
    let wrong = session.diagnostics("threads.iv");
    assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
    session
}
