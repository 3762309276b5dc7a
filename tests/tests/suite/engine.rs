//! **Engine tests** at sizes and on reals that drawn programs lack. The engine's values must equal
//! the evaluator's bit for bit. So sums keep their order even if loops are interchanged, split into
//! chunks, or replaced by a list of terms.

#![expect(clippy::expect_used, reason = "what helpers of a test cannot read fails the test")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iverson_tests::middle::engine_oracle::{EngineDefinitions, agrees, flat, kernels, kinds, oracle_counts};
use iverson_tests::middle::forms::{EvaluatorFunctions, FormProvider, SessionForms};
use iverson_tests::middle::synthetic_inputs;
use iverson_tests::run::limits;
use lang_core::eval::eval_ssa::SsaEvaluator;
use lang_core::exec::{self, ExecutableCache, RunError, Tensor};
use lang_core::ir::core::FunctionKey;
use lang_core::runtime::{RunLimits, Value};
use lang_core::session::Session;
use lang_core::syntax::ops::Scalar;
use lang_jit::Jit;
use lang_reader::read_ssa;

const PROGRAM: &str = "
def product(a: [n, m]f64, b: [m, k]f64) -> [n, k]f64 = for i, j: sum l: a[i, l] * b[l, j]
def transposed(a: [n, m]f64, b: [k, m]f64) -> [n, k]f64 = for i, j: sum l: a[i, l] * b[j, l]
def rows(a: [n, m]f64, x: [m]f64) -> [n]f64 = for i: sum j: a[i, j] * x[j]
def columns(a: [n, m]f64, x: [n]f64) -> [m]f64 = for j: sum i: a[i, j] * x[i]
def trace(a: [n, n]f64) -> f64 = sum i: a[i, i]
def all_of_it(a: [n, m]f64) -> f64 = sum i, j: a[i, j]
def norms(a: [n, m]f64) -> [n]f64 = for i: sqrt(sum j: a[i, j]^2)
def band(x: [n]f64) -> [n]f64 = for i < n: sum j < n: [i <= j + 2 && j <= i + 1] * x[j]
def below(a: [n, n]f64, x: [n]f64) -> [n]f64 = for i: sum j: [j < i] * a[i, j] * x[j]
def conv(x: [n + m - 1]f64, c: [m]f64) -> [n]f64 = for i < n: sum j < m: x[i + j] * c[j]
def backwards(x: [n]f64) -> [n]f64 = for i < n: exp(x[n - 1 - i])
def second(x: [n]f64) -> [n // 2]f64 = for i < n // 2: sin(x[2 * i + 1]) * x[2 * i]
def laid_out(a: [n, m]f64) -> [n * m]f64 = reshape(a, n * m)
def gather(x: [n]f64, at: [m]i64) -> [m]f64 = for k: x[at[k]]^3
def gathered_rows(a: [n, m]f64, at: [k]i64) -> [k, m]f64 = for i, j: a[at[i], j]^2
def inside(x: [n]f64, at: [m]i64) -> f64 = sum k: [0 <= at[k] < n] * x[at[k]]^2
def masked(x: [n]f64, which: [n]bool) -> f64 = sum i: [which[i]] * x[i]^2
def positive(x: [n]f64) -> [n]f64 = for i: if x[i] > 0 then x[i] * log(x[i]) else -x[i]
def clipped(x: [n]f64, y: [n]f64) -> [n]f64 =
  for i: if x[i] > y[i] || !(x[i] < 0.5) then x[i]^2 else if i % 2 == 0 && y[i] <= x[i] + 1 then -y[i] else x[i] * y[i]
def hinges(x: [n]f64, t: [n]f64, w: [n]bool) -> f64 = sum i: if w[i] && x[i] * t[i] < 1 then (1 - x[i] * t[i])^2 else 0
def elements(x: [n]f64, y: [n]f64) -> [n]f64 = for i: x[i] / (1 + y[i]^2) - x[i] * y[i]
def single(x: [n]f32, y: [n]f32) -> f32 = sum i: x[i] * y[i] / (1 + x[i]^2)
def counts(at: [n]i64, b: [m]i64) -> [m]i64 = for j: sum i: [at[i] == b[j]] * at[i]
def smaller(x: [n]f64) -> [n]i64 = for i: sum j: [x[j] < x[i]] * 1
def some(x: [n]f64, y: [m]f64) -> [n]bool = for i: any j: x[i] < y[j]
def inner(x: [n]f64) -> f64 = sqrt(sum i: exp(x[i]) * (sum j: [j <= i] * sin(x[j]))) + (sum i: x[i]^2 / (1 + exp(x[i])))
def each(a: [n, m]f64) -> [n]f64 = for i: inner(a[i])
def corner(a: [n, m]f64) -> [n]f64 = for i: [i % 3 != 1] * inner(a[i]) + inner(a[n - 1 - i])
def placed_twice(x: [n]f64, k: [m]i64, l: [n]i64) -> [n, m]f64 = for i < n, j < m: sum p < n: [i == k[j] && j == l[p]] * x[p]
def segments(x: [n]f64, lo: [m]i64, hi: [m]i64) -> [n]f64 = for k < n: sum i < m: [lo[i] <= k < hi[i]] * x[i]
def ragged(x: [n]f64, lo: [m]i64, hi: [m]i64) -> [m]f64 = for i < m: sum k in lo[i]..hi[i]: [0 <= k < n] * x[k]^2
def shifted(x: [n]f64, k: [m]i64, l: [m]i64) -> [n]f64 =
  fold y = x for t < 3: for j < n: y[j] + (sum i < n: [t <= i < m + t && 0 <= l[i - t] && j == k[i - t]] * x[i])
def sometimes(x: [n]f64, k: [m]i64, l: [m]i64) -> [n]bool = for j < n: any i < n: l[0] <= i && (i < m + l[0] && i >= l[0]) && j == k[i - l[0]]
def far(x: [n]f64, y: [m]f64) -> f64 = sum i: [100000000 <= n] * x[n - 100000000] * y[i]
def last(x: [n, m]f64, y: [k]f64) -> [k]f64 = for i: [0 < m && 0 < n] * x[n - 1, m - 1] * y[i]
def powers(x: [n]f64, k: [n]i64) -> [n]f64 = for i: x[i]^k[i]
def line(p: [2]f64, t: [n]f64) -> [n]f64 = for i: let w = exp(p[0] * t[i]) in sin(w * p[1]) / (1 + w^2)
def by_parameters(p: [2]f64, t: [n]f64) -> [n, 2]f64 = jacobian(line, wrt: p)(p, t)
def from_elsewhere(x: [n]f64) -> [n]f64 = for i: fold a = x[(n - i) % n] for t < 3: a * 0.5
def from_elsewhere_too(x: [n]f64) -> [n]f64 = for i: let u = x[(i + 1) % n] in fold a = u for t < 4: sin(a) + x[i]
def few_terms(x: [n]f64) -> [n]f64 = for i: sum j < 3: f64(j + 1) * x[i]
def few_chosen(x: [n]f64) -> [n]f64 = for i: (sum j < 3: (if j == 1 then 2.0 else 3.0) * x[i]) + (sum j < 2: (x[i] + x[j % n]) * 0.5)
def few_columns(x: [n, 3]f64) -> [n]f64 = for i: sum j: (x[i, j] + 1) * 0.5
def few_of_few(x: [n]f64) -> f64 = sum i: (sum j < 3: sin(x[i]) * f64(j + 1)) * (sum j < 2, k < 2: x[i] * f64(j + k))
def few_factors(x: [n]f64) -> [n]f64 = for i: prod k < 2: x[i]^2 + f64(k)
def written(x: [n]f64) -> [n]f64 = for i: let w = [1.0, 2.0, 3.0] in sum j: w[j] * x[i]
def spun(v: [n, 3]f64, w: [n, 3]f64) -> [n, 3]f64 =
  for i: [v[i, 1] * w[i, 2] - v[i, 2] * w[i, 1], v[i, 2] * w[i, 0] - v[i, 0] * w[i, 2], v[i, 0] * w[i, 1] - v[i, 1] * w[i, 0]]
def twisted(v: [n, 3]f64, m: [3, 3]f64) -> [n, 3]f64 = for i, k: (sum l: m[k, l] * v[i, l]) / (1 + (sum l: v[i, l]^2))
def turned_by(v: [n, 3]f64, m: [3, 3]f64) -> [n, 3, 3]f64 = for i: jacobian(\\x: for k: sum l: m[k, l] * x[l]^2)(v[i])
def by_sizes(x: [n]f64, y: [m]f64) -> f64 = if n < m then (sum i: exp(x[i])) else (sum j: y[j]^2)
def batched(a: [b, n, m]f64, c: [b, k, m]f64) -> [b, n, k]f64 = for p, i, j: -(sum l: a[p, i, l] * c[p, j, l])
def lower(a: [n, n]f64, c: [n, m]f64) -> [n, m]f64 = for i, j: sum l: [l <= i] * a[i, l] * c[l, j]
def endless(a: [n, m]f64, c: [m, k]f64) -> [n, k]f64 = for i, j: sum l: [1 <= l] * a[i, l] * (c[l, j] / f64(l))
def fitted(a: [n, m]f64, c: [m, k]f64, y: [n, k]f64) -> f64 = sum i, j: ((sum l: a[i, l] * c[l, j]) - y[i, j])^2
def single_product(a: [n, m]f32, c: [m, k]f32) -> [n, k]f32 = for i, j: sum l: a[i, l] * c[l, j]
def horner(x: [n]f64, c: [m]f64) -> [n]f64 = fold p = (for i < n: 0.0) for k < m: for i: p[i] * x[i] + c[k]
def swapped(x: [n]f64, y: [n]f64, c: [m]f64) -> ([n]f64, [n]f64) =
  fold (a, b) = (x, y) for k < m: (b, for i: a[i] + c[k] * b[n - 1 - i])
def spread(x: [n]f64, c: [m]f64) -> [m + 1, n]f64 =
  scan y = x for k < m: for i: 0.5 * y[i] + c[k] * (if i == 0 then 0.0 else y[i - 1])
def chain(x: [n]f64) -> f64 = fold s = 0.3 for i < n: s + 0.1 * sin(s) * x[i]
def each_chain(a: [n, m]f64) -> [n]f64 = for i: fold s = 0.3 for j < m: s * a[i, j] + tanh(s)
def stages(x: [n]f64, k: i64) -> [n]f64 =
  let h = 1 / f64(k + 3)
  in
    fold y = (for i < n: 0.3) for _ < 3:
      let a = for i: x[i] * (if i == 0 then 1.0 else y[i - 1])
      let b = for i: x[i] * (if i == 0 then 1.0 else y[i - 1] + h * a[i - 1])
      in for i: y[i] + h * (a[i] + 2 * b[i])
def smoothed(x: [n]f64) -> [n]f64 =
  fold y = x for _ < 3:
    let a = for i: if i + 1 < n then y[i + 1] - y[i] else 0.0
    let b = for i: if i == 0 then a[i] else a[i] - a[i - 1]
    in for i: y[i] + 0.25 * b[i]
def from_afar(x: [n]f64) -> [n]f64 =
  fold y = x for _ < 2:
    let a = for i: if i + 100 < n then sin(y[i + 100]) else y[i]
    let b = for i: if i + 200 < n then a[i + 200] else a[i]
    in for i: 0.5 * (y[i] + b[i])
def turned(x: [n]f64) -> [n]f64 =
  fold y = x for t < 2:
    let a = for i: 0.5 * y[i] + f64(t)
    in for i: a[n - 1 - i] - 0.1 * a[i]
def crossed(x: [n]f64, y: [n]f64) -> ([n]f64, [n]f64) =
  fold (a, b) = (x, y) for _ < 3:
    let c = for i: a[i] - 0.2 * (if i + 1 < n then b[i + 1] else 0.0)
    in (c, for i: b[i] + 0.2 * (if i == 0 then 0.0 else c[i - 1]))
def twist(a: [3]f64, b: [3]f64) -> [3]f64 =
  let s = sum i: a[i] * b[i]
  let c = if s > 0 then exp(-s) else s^2 + 1
  let p = a[0] * b[1] - a[1] * b[0]
  let q = a[1] * b[2] - a[2] * b[1]
  let r = a[2] * b[0] - a[0] * b[2]
  let u = sin(p) * cos(q) + tanh(r) / (1 + c^2)
  let v = sqrt(1 + p^2 + q^2) * log(1 + r^2)
  in [u * a[0] + v, v * a[1] - c * u, c * a[2] + u * v]
def turn(a: [3]f64, b: [3]f64) -> f64 =
  let t = twist(a, b)
  let w = twist(t, a)
  in sum i: t[i] * w[i] + sin(w[i]) * b[i]
def at_points(a: [n, 3]f64, b: [n, 3]f64) -> [n]f64 = for i: turn(a[i], b[i])
def jacobians(a: [n, 3]f64, b: [n, 3]f64) -> [n, 3, 3]f64 = for i: jacobian(twist, wrt: a)(a[i], b[i])
def gradients(a: [n, 3]f64, b: [n, 3]f64) -> [n, 3]f64 = for i: grad(turn, wrt: b)(a[i], b[i])
def where_asked(a: [n, 3]f64, b: [n, 3]f64, at: [m]i64) -> [m]f64 =
  for k: if k % 2 == 0 && 0 <= at[k] < n then turn(a[at[k]], b[n - 1 - at[k]]) else f64(at[k])
def greatest_of_all(x: [n]f64) -> f64 = (max i: x[i]) - (min i: x[i])
def greatest_of_rows(a: [n, m]f64) -> [n]f64 = for i: (max j: a[i, j])^2
def placed(t: i64, x: [n, m]f64) -> [t + 1, n, m]f64 = for b < t + 1: [b == 0] * (for k < n, i < m: exp(x[k, i]) * x[k, i])
def escape(x: f64, y: f64, most: i64) -> i64 =
  let (_, _, k) = loop (u, v, k) = (0.0, 0.0, 0) while k < most && u^2 + v^2 <= 4.0: (u^2 - v^2 + x, 2 * u * v + y, k + 1) in k
def escapes(x: [n]f64, y: [m]f64) -> [n, m]i64 = for i, j: escape(x[i], y[j], 50)
def root(a: f64) -> f64 = loop x = 1.0 while abs(x * x - a) > 1e-9 * a && x < 1e9: 0.5 * (x + a / x)
def roots(x: [n]f64) -> [n]f64 = for i: root(x[i]^2 + 0.1)
def two_loops(x: [n]f64) -> [n]f64 = for i: root(x[i]^2 + 0.1) + (loop y = 1.0 while y < 5 + x[i]: 2.0 * y + x[i]^2)
def loop_in_loop(x: [n]f64) -> [n]f64 = for i: loop s = 0.0 while s < 3: s + root(x[i]^2 + 0.1 + s)
def loops_in_fold(x: [n]f64) -> f64 = fold s = 0.5 for i < n: 0.5 * s + (loop t = x[i]^2 while t < s: 2 * t + 0.1)
def sums_in_loop(x: [n]f64) -> f64 = loop s = 0.0 while s < 2: s + 0.5 + (sum i: x[i]^2) / (1.0 + f64(n))
def rows_in_loop(x: [n]f64) -> [n]f64 = loop y = x while (sum i: y[i]^2) > 1: for i: 0.5 * y[i]
def hop(at: [n]i64) -> i64 = fold k = 0 for t < n: at[k]
def hops(at: [n]i64, from: [m]i64) -> [m]i64 = for j: fold k = from[j] for t < n: at[k]
def traced(x: [n]f64, at: [m, n]i64) -> ([m + 1]i64, f64) =
  let k = scan k = 0 for i < m: at[m - 1 - i, k]
  in (k, sum i: x[k[i]]^2)
def both(at: [n]i64, to: [m]i64) -> (i64, i64) = (fold k = 0 for t < n: at[k], fold k = 0 for t < m: to[t] + at[fold l = k for u < 3: at[l]])
def along(x: [n]f64, at: [n]i64, to: [m]i64) -> ([m]f64, f64) =
  let (y, s, _) = fold (y, s, k) = (for j < m: 0.0, 0.0, 0) for t < n: (y with [to[t % m]] += x[k] * s, s + x[k] * x[t], at[k])
  in (y, s)
def bisect(x: [n]f64, v: f64) -> i64 =
  let (lo, _) = loop (lo, hi) = (0, n) while lo < hi: let mid = (lo + hi) // 2 in if x[mid] < v then (mid + 1, hi) else (lo, mid) in lo
def bisected(x: [n]f64, v: [m]f64) -> [m]i64 = for j: bisect(x, v[j])
def walk(at: [n]i64, x: [m]f64) -> i64 =
  let (k, _) = loop (k, j) = (0, 0) while k < 2 * n && x[j] < 1.0: (k + 1, at[j]) in k
def united(at: [n]i64, to: [m]i64) -> [n]i64 = fold p = (for i < n: i) for j < m: p with [p[to[j]]] = p[at[p[to[m - 1 - j]]]]
def divided(at: [n]i64, x: [m]i64) -> [m]i64 = fold y = x for t < n: for j: y[j] // (at[t] + 1) + (y[(j + 1) % m] - 1) // (at[n - 1 - t] + 1)
def whole_numbers(x: [n]i64, m: i64) -> [n]i64 = fold y = x for t < m: for j: y[j] // 3 + (y[(j + 1) % n] - t) // 2
def beside(x: [n]i64, m: i64) -> [n]i64 = fold y = x for t < m: for j: 2 * y[j] - (y[j] + t) // 3 + x[n - 1 - j]
def whole_extremes(k: [n, m]i64) -> ([n]i64, [n]i64, [m]i64, i64, i64) =
  (for i: max j: k[i, j] - 5, for i: min j: k[i, j] * 3, for j: prod i: 1 + k[i, j] % 3, max i, j: -k[i, j] - 1, min i, j: k[i, j] + 1)
def whole_places(k: [n, m]i64) -> ([n]i64, [m]i64, i64) = (for i: argmax j: k[i, j], for j: argmin i: k[i, j], argmax i: k[i, 0])
def longest(x: [n]f64) -> i64 =
  let l = fold l = (for i < n: 1) for i < n: l with [i] = 1 + max(0, max j < n: (if j < i && x[j] < x[i] then l[j] else 0))
  in max i: l[i]
def same_extents(a: [n, n]f64, x: [n]f64) -> [n]f64 = fold y = x for t < n: for i: 0.1 * (sum j: a[i, j] * y[j]) + x[t]
";

/// Returns a definition with a matrix literal, which the engine builds row by row. One loop
/// contains several statements of one name, and some of them must run before others read it.
fn written_out() -> String {
    let row = |k: usize| {
        (0..13).map(move |i| format!("{:?}", f64::from(u8::try_from((29 * k + 7 * i) % 97).unwrap_or(0)) / 32.0))
    };
    let rows = (0..10).map(|k| format!("[{}]", row(k).collect::<Vec<_>>().join(", "))).collect::<Vec<_>>().join(", ");
    format!(
        "def written_out(s: f64) -> [10, 13]f64 =\n  let x = fold p = placed(3, [{rows}]) for t in 1..4: p with [t] = p[t - 1]\n  in for k, i: s * x[3, k, i]\n"
    )
}

/// Arrays with no rows own no memory, however long a row is. The engine must not read them for a
/// check or a product.
const NO_ROWS: &str = "
def asked(x: [n, m]f64, at: [k]i64) -> f64 = sum i < k, j < m: [0 <= at[i] < n] * x[at[i], j] + 1.0
def multiplied(a: [b, n, m]f64, c: [m, k]f64, at: [q]i64) -> [q, n, k]f64 = for p, i, j: [0 <= at[p] < b] * (sum l: a[at[p], i, l] * c[l, j])
";

/// Maxima and minima that use vector instructions.
const EXTREMES: &str = "
def greatest(x: [n]f64) -> f64 = max i: x[i]
def least(x: [n]f64) -> f64 = min i: x[i]
def upper(x: [n]f64, y: [n]f64) -> [n]f64 = for i: max(x[i], y[i])
def lower(x: [n]f64, y: [n]f64) -> [n]f64 = for i: min(x[i], y[i])
";

/// The definitions, and the sizes at which each runs.
const RUNS: &[(&str, &[&[i64]])] = &[
    ("product", &[&[0, 3, 2], &[3, 0, 2], &[1, 1, 1], &[7, 30, 5], &[3, 4, 1100], &[17, 33, 20]]),
    ("transposed", &[&[4, 1100, 3], &[30, 5, 7], &[20, 21, 23]]),
    ("batched", &[&[3, 18, 17, 16], &[2, 0, 3, 4], &[0, 18, 17, 16]]),
    ("by_parameters", &[&[0], &[1], &[2], &[3], &[60]]),
    ("from_elsewhere", &[&[1], &[5], &[600]]),
    ("from_elsewhere_too", &[&[1], &[5], &[600]]),
    ("few_terms", &[&[0], &[1], &[700]]),
    ("few_chosen", &[&[1], &[2], &[700]]),
    ("few_columns", &[&[0], &[1], &[700]]),
    ("few_of_few", &[&[0], &[1], &[700]]),
    ("few_factors", &[&[0], &[1], &[700]]),
    ("escapes", &[&[0, 4], &[4, 0], &[7, 30]]),
    ("roots", &[&[0], &[1], &[1300]]),
    ("two_loops", &[&[0], &[1], &[300]]),
    ("loop_in_loop", &[&[0], &[1], &[300]]),
    ("loops_in_fold", &[&[0], &[1], &[300]]),
    ("sums_in_loop", &[&[0], &[1], &[300]]),
    ("rows_in_loop", &[&[0], &[1], &[300]]),
    ("hop", &[&[0], &[1], &[40]]),
    ("hops", &[&[0, 2], &[1, 0], &[7, 40]]),
    ("traced", &[&[1, 0], &[1, 1], &[7, 40]]),
    ("both", &[&[1, 1], &[7, 0]]),
    ("along", &[&[1, 1], &[7, 40], &[40, 40]]),
    ("bisected", &[&[0, 3], &[1, 5], &[100, 40]]),
    ("walk", &[&[1, 1], &[7, 40]]),
    ("united", &[&[1, 0], &[1, 1], &[40, 90]]),
    ("divided", &[&[0, 3], &[1, 0], &[7, 40]]),
    ("whole_numbers", &[&[0, 2], &[1, 3], &[300, 5]]),
    ("beside", &[&[0, 2], &[1, 3], &[300, 5]]),
    ("whole_extremes", &[&[1, 1], &[7, 40], &[1300, 3]]),
    ("whole_places", &[&[1, 1], &[7, 40], &[1300, 3]]),
    ("longest", &[&[1], &[2], &[60]]),
    ("written_out", &[&[]]),
    ("written", &[&[0], &[1], &[700]]),
    ("spun", &[&[0], &[1], &[700]]),
    ("twisted", &[&[0], &[1], &[700]]),
    ("turned_by", &[&[0], &[1], &[300]]),
    ("by_sizes", &[&[0, 0], &[3, 2], &[2, 3], &[0, 4]]),
    ("lower", &[&[40, 30], &[3, 2]]),
    ("endless", &[&[18, 19, 20], &[3, 1, 2], &[0, 4, 4]]),
    ("fitted", &[&[18, 19, 20], &[4, 0, 4]]),
    ("single_product", &[&[18, 19, 20]]),
    ("horner", &[&[5, 0], &[0, 5], &[1, 1], &[41, 30]]),
    ("swapped", &[&[5, 0], &[0, 5], &[1, 1], &[41, 30]]),
    ("spread", &[&[5, 0], &[0, 5], &[1, 1], &[41, 30]]),
    ("chain", &[&[0], &[1], &[1300]]),
    ("each_chain", &[&[0, 4], &[4, 0], &[7, 20]]),
    ("stages", &[&[0, 2], &[1, 2], &[255, 2], &[256, 2], &[257, 2], &[1300, 0]]),
    ("smoothed", &[&[0], &[1], &[256], &[511], &[512], &[1300]]),
    ("from_afar", &[&[1], &[256], &[700], &[1300]]),
    ("turned", &[&[1], &[700]]),
    ("crossed", &[&[1], &[255], &[700]]),
    ("at_points", &[&[0], &[1], &[300]]),
    ("jacobians", &[&[0], &[1], &[300]]),
    ("gradients", &[&[0], &[1], &[300]]),
    ("where_asked", &[&[0, 3], &[2, 40], &[40, 0]]),
    ("greatest_of_all", &[&[0], &[1], &[1300]]),
    ("greatest_of_rows", &[&[3, 0], &[0, 3], &[7, 30]]),
    ("same_extents", &[&[0], &[1], &[20]]),
    ("rows", &[&[0, 4], &[4, 0], &[5, 1500], &[1500, 5]]),
    ("columns", &[&[5, 1500], &[1500, 5]]),
    ("trace", &[&[0], &[1], &[90]]),
    ("all_of_it", &[&[0, 3], &[60, 70]]),
    ("norms", &[&[3, 0], &[20, 30]]),
    ("band", &[&[0], &[1], &[2], &[600]]),
    ("below", &[&[0], &[1], &[70]]),
    ("conv", &[&[1, 1], &[2, 0], &[40, 30], &[1200, 3]]),
    ("backwards", &[&[0], &[1], &[1300]]),
    ("second", &[&[0], &[1300]]),
    ("laid_out", &[&[3, 4], &[40, 50]]),
    ("gather", &[&[1, 0], &[5, 1300], &[1300, 7]]),
    ("gathered_rows", &[&[5, 1100, 4], &[5, 3, 700]]),
    ("inside", &[&[0, 4], &[2, 1300]]),
    ("masked", &[&[0], &[1], &[1300]]),
    ("positive", &[&[0], &[1300]]),
    ("clipped", &[&[0], &[1], &[7], &[1300]]),
    ("hinges", &[&[0], &[1], &[9], &[1300]]),
    ("elements", &[&[0], &[1300]]),
    ("single", &[&[0], &[1300]]),
    ("counts", &[&[0, 3], &[1300, 3], &[3, 700]]),
    ("smaller", &[&[0], &[70]]),
    ("some", &[&[4, 0], &[30, 40]]),
    ("each", &[&[0, 4], &[4, 0], &[7, 20]]),
    ("corner", &[&[0, 4], &[7, 20]]),
    ("powers", &[&[0], &[1300]]),
    ("far", &[&[1, 5], &[3, 700], &[0, 0]]),
    ("last", &[&[0, 3, 40], &[3, 0, 40], &[5, 4, 40]]),
    ("segments", &[&[40, 3], &[5, 4]]),
    ("ragged", &[&[40, 3], &[5, 4], &[0, 3], &[3, 0]]),
    ("shifted", &[&[5, 4], &[9, 9], &[3, 1]]),
    ("sometimes", &[&[5, 4], &[9, 9], &[3, 1]]),
    ("placed_twice", &[&[5, 4], &[40, 30]]),
];

fn session() -> Session {
    let mut session = Session::new();
    session.set_text("engine.iv", &(PROGRAM.to_owned() + &written_out()));
    let wrong = session.diagnostics("engine.iv");
    assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
    session
}

fn callee(name: &str) -> Arc<FunctionKey> {
    synthetic_inputs::callee("engine.iv", name)
}

#[test]
fn sums_are_added_in_one_order() {
    let session = session();
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let (mut wrong, mut runs) = (Vec::new(), 0);
    for (name, all_sizes) in RUNS {
        for ssa in synthetic_inputs::with_derivatives(&defs, &callee(name)) {
            for sizes in *all_sizes {
                let inputs = synthetic_inputs::synthetic_inputs(&ssa, sizes);
                let world = EvaluatorFunctions(&defs);
                let wanted = SsaEvaluator::new(&world, u64::MAX).call(&ssa, sizes, inputs.clone());
                assert!(wanted.is_ok(), "{name} at {sizes:?}: {wanted:?}\n{ssa}");
                runs += 1;
                if let Err(how) = agrees(&defs, &ssa, sizes, &inputs, wanted.as_deref()) {
                    wrong.push(format!("{name} at {sizes:?}: {}", how.lines().last().unwrap_or_default()));
                    wrong.push(ssa.to_string());
                }
            }
        }
    }
    assert!(runs > 150, "{runs} runs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(oracle_counts().endless, 0, "what is not finite is the evaluator's");
    assert_eq!(oracle_counts().too_large, 0, "every run is compared");
    assert_eq!(oracle_counts().loose, 0, "every element is as near as another order of one sum allows");
    let (compiled, left) = kernels();
    println!("{compiled} kernels as machine code, statement by statement {left:?}");
    let (in_order, matrices) = kinds();
    println!("of these {in_order} with loops in order, {matrices} with products of matrices");
    assert!(in_order > 20 && matrices > 10, "{in_order} kernels have loops in order, {matrices} products of matrices");
    assert!(left.is_empty() && compiled > 100, "{compiled} kernels have machine code, by reasons {left:?} have none");
}

/// Checks inside loops on values that the loops compute. A case sets an integer of an input to a
/// bad value, for each position; some of these runs must fail.
#[test]
fn loops_fail_where_what_they_ask_is_not_so() {
    let session = session();
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let cases = [
        ("hop", [7, 0], 0, 100),
        ("hops", [7, 40], 0, 100),
        ("hops", [7, 40], 1, -1),
        ("traced", [7, 40], 1, 7),
        ("along", [7, 40], 1, -1),
        ("along", [7, 40], 2, 40),
        ("walk", [7, 40], 0, 40),
        ("united", [40, 90], 0, 40),
        ("united", [40, 90], 1, -3),
        ("divided", [7, 40], 0, -1),
    ];
    for (name, sizes, input, bad) in cases {
        for ssa in synthetic_inputs::with_derivatives(&defs, &callee(name)) {
            let sizes: Vec<i64> = sizes.into_iter().take(ssa.sizes.len()).collect();
            let inputs = synthetic_inputs::synthetic_inputs(&ssa, &sizes);
            let count = inputs.get(input).map_or(0, |t| t.items.len());
            let mut failed = 0;
            for at in 0..count {
                let mut inputs = inputs.clone();
                let items = inputs.get_mut(input).into_iter().flat_map(|t| &mut t.items);
                items.skip(at).take(1).for_each(|item| *item = lang_core::ir::value::IrValue::I64(bad));
                let world = EvaluatorFunctions(&defs);
                let wanted = SsaEvaluator::new(&world, u64::MAX).call(&ssa, &sizes, inputs.clone());
                failed += usize::from(wanted.is_err());
                if let Err(how) = agrees(&defs, &ssa, &sizes, &inputs, wanted.as_deref()) {
                    panic!("{name} at {sizes:?}, {bad} at {at}: {how}");
                }
            }
            assert!(failed > 0, "{name} never fails");
        }
    }
}

/// The maximum of an empty list of extents is 0 if no check requires an element.
const LONGEST: &str = "ssa f[n](k: [n]i64) -> i64 =
  X0[i0 < n]: i64 = input k
  X1: i64 = max i0 < n: X0[i0]
  X2: i64 = min i0 < n: X0[i0]
  X3: i64 = X1 - X2
  out X3
";

#[test]
fn the_greatest_of_no_integers_is_zero_where_nothing_asks() {
    let session = session();
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let ssa = Arc::new(read_ssa("longest.iv", LONGEST).expect("a form"));
    for n in [0, 1, 40] {
        let inputs = synthetic_inputs::synthetic_inputs(&ssa, &[n]);
        let world = EvaluatorFunctions(&defs);
        let wanted = SsaEvaluator::new(&world, u64::MAX).call(&ssa, &[n], inputs.clone());
        assert!(wanted.is_ok(), "{wanted:?}");
        if let Err(how) = agrees(&defs, &ssa, &[n], &inputs, wanted.as_deref()) {
            panic!("of {n}: {how}");
        }
    }
}

#[test]
fn arrays_without_rows_are_not_read() {
    let mut session = Session::new();
    session.set_text("engine.iv", NO_ROWS);
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let ssa = defs.ssa(&callee("asked")).expect("it is in core");
    let programs = ExecutableCache::with_backend(Arc::new(Jit::new(1).expect("a processor")));
    for ([n, m], at, wanted) in [([0, 10_000_000], vec![0], 1e7), ([0, 7], vec![-1, 0, 1], 21.0), ([3, 7], vec![], 0.0)]
    {
        let sizes = [n, m, at.len()].map(|n| i64::try_from(n).expect("a small number"));
        let tensors = [Tensor::new(vec![n, m], vec![1.0; n * m]), Tensor::new(vec![at.len()], at)];
        let tensors: Vec<Tensor> = tensors.into_iter().flatten().collect();
        let outcome = exec::run(
            &EngineDefinitions(&defs),
            &programs,
            &ssa,
            &sizes,
            tensors,
            RunLimits::default(),
            &AtomicBool::new(false),
        );
        let outputs = outcome.expect("it has a value");
        let value = outputs.first().and_then(|t| t.element(0));
        assert!(matches!(value, Some(Value::F64(x)) if x == wanted), "{sizes:?}: {value:?}");
    }
    // A matrix of an empty batch is copied before its product. The copy is zero.
    let ssa = defs.ssa(&callee("multiplied")).expect("it is in core");
    let [b, n, m, k, q] = [0, 2000, 5000, 4, 1];
    let tensors = [Tensor::new(vec![b, n, m], vec![1.0; 0]), Tensor::new(vec![m, k], vec![1.0; m * k])];
    let tensors = tensors.into_iter().chain([Tensor::new(vec![q], vec![0_i64])]).flatten().collect();
    let sizes = [b, n, m, k, q].map(|n| i64::try_from(n).expect("a small number"));
    let outcome = exec::run(
        &EngineDefinitions(&defs),
        &programs,
        &ssa,
        &sizes,
        tensors,
        RunLimits::default(),
        &AtomicBool::new(false),
    );
    let outputs = outcome.expect("it has a value");
    assert!((0..n * k).all(|at| matches!(outputs.first().and_then(|t| t.element(at)), Some(Value::F64(0.0)))));
}

#[test]
fn what_is_no_number_is_the_greatest_and_the_least() {
    let mut session = Session::new();
    session.set_text("engine.iv", EXTREMES);
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let programs = ExecutableCache::with_backend(Arc::new(Jit::new(1).expect("a processor")));
    // The first operand if it is greater (less) or equal, or NaN; else the second.
    let choose =
        |greater: bool, a: f64, b: f64| if a.is_nan() || if greater { a >= b } else { a <= b } { a } else { b };
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    for n in [1, 2, 7, 8, 9, 19] {
        for at in 0..=n {
            let of = |step: usize| (0..n).map(move |k| f64::from(u8::try_from(k * step % 11).unwrap_or(0)) - 5.0);
            let mut x: Vec<f64> = of(7).collect();
            let mut y: Vec<f64> = of(5).map(|y| if y == 0.0 { -0.0 } else { y }).collect();
            x.iter_mut().skip(at).take(1).for_each(|x| *x = f64::NAN);
            y.iter_mut().skip(n - at).take(1).for_each(|y| *y = f64::NAN);
            for (name, greater) in [("greatest", true), ("least", false), ("upper", true), ("lower", false)] {
                let ssa = defs.ssa(&callee(name)).expect("it is in core");
                let all = if ssa.inputs.len() > 1 { vec![x.clone(), y.clone()] } else { vec![x.clone()] };
                let wanted: Vec<f64> = match all.as_slice() {
                    [_, _] => x.iter().zip(&y).map(|(a, b)| choose(greater, *a, *b)).collect(),
                    _ => x.iter().copied().reduce(|a, b| choose(greater, a, b)).into_iter().collect(),
                };
                let tensors = all.into_iter().filter_map(|items| Tensor::new(vec![n], items)).collect();
                let sizes = [i64::try_from(n).expect("a small number")];
                let stop = AtomicBool::new(false);
                let outcome =
                    exec::run(&EngineDefinitions(&defs), &programs, &ssa, &sizes, tensors, RunLimits::default(), &stop);
                let outputs = outcome.expect("it has a value");
                for (k, wanted) in wanted.into_iter().enumerate() {
                    let value = outputs.first().and_then(|t| t.element(k));
                    let good = matches!(value, Some(Value::F64(x)) if same(x, wanted));
                    assert!(good, "{name} of {n} with none at {at}: {value:?}, not {wanted}");
                }
            }
        }
    }
}

/// Returns the reason why a matrix product stops under these limits.
fn stopped(limits: RunLimits, interrupted: bool) -> Option<RunError> {
    let session = session();
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let ssa = defs.ssa(&callee("product")).expect("it is in core");
    let sizes = [40, 40, 40];
    let tensors: Option<Vec<Tensor>> =
        synthetic_inputs::synthetic_inputs(&ssa, &sizes).iter().map(|t| flat(t, Some(Scalar::F64))).collect();
    let tensors = tensors.expect("tensors of reals");
    exec::run(
        &EngineDefinitions(&defs),
        &ExecutableCache::default(),
        &ssa,
        &sizes,
        tensors,
        limits,
        &AtomicBool::new(interrupted),
    )
    .err()
}

#[test]
fn runs_keep_to_limits_and_stop_when_they_are_told() {
    assert!(stopped(limits(), false).is_none());
    assert!(matches!(stopped(limits(), true), Some(RunError::Interrupted)));
    assert!(matches!(stopped(RunLimits { max_bytes: 10_000, ..limits() }, false), Some(RunError::TooLarge(_))));
    assert!(matches!(stopped(RunLimits { max_elements: 1000, ..limits() }, false), Some(RunError::TooLarge(_))));
}

/// A single element may take hours.
#[test]
fn existentials_stop_when_they_are_told() {
    let mut session = Session::new();
    session
        .set_text("engine.iv", "def f(k: [n]i64) -> f64 = sum i < 1: [any j < n, l < n: k[j] < k[l]] * f64(i + 1)\n");
    let globals = HashMap::new();
    let defs = SessionForms::new(&session, &globals);
    let ssa = defs.ssa(&callee("f")).expect("it is in core");
    let tensors: Vec<Tensor> = Tensor::new(vec![1_000_000], vec![0_i64; 1_000_000]).into_iter().collect();
    let interrupt = AtomicBool::new(false);
    let stopped = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            interrupt.store(true, Ordering::Relaxed);
        });
        exec::run(
            &EngineDefinitions(&defs),
            &ExecutableCache::default(),
            &ssa,
            &[1_000_000],
            tensors,
            limits(),
            &interrupt,
        )
        .err()
    });
    assert!(matches!(stopped, Some(RunError::Interrupted)), "{stopped:?}");
}
