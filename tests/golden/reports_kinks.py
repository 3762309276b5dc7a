"""Reports of derivatives at kinks, of factorisations, and of programs that tools could not differentiate."""

import math

import mpmath
import numpy as np

from reports_derivatives import differences
from reports_table import report

CASADI = "casadi/casadi"
DEX = "google-research/dex-lang"
JAX = "jax-ml/jax"
REVERSE = "JuliaDiff/ReverseDiff.jl"
CERES = "ceres-solver/ceres-solver"

NAN = float("nan")
INF = float("inf")

# Guards.

report(CASADI, 1878, "second derivative of a guarded root, outside of its domain",
       "for i: guarded([-3.0, 0.0, 1.0][i])", [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.5, -0.25]],
       definitions=r"let f = \(x: f64): if x > 0 then sqrt(x) else 0"
                   "\ndef guarded(x: f64) -> (f64, f64, f64) = (f(x), grad(f)(x), grad(grad(f))(x))")
report(CASADI, 1805, "Jacobian of a vector of guarded roots and powers",
       "jacobian(f)([-1.0, 0.0, 4.0])", [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.25]],
       definitions="def f(x: [n]f64) -> [n]f64 = for i: if x[i] > 0 then x[i]^0.5 else 0")
report(CASADI, 3898, "half of a squared norm of a difference at its minimum",
       r"let y = [0.25, -1.5, 3.0] in grad(\(x: [3]f64): linalg.norm(x - y)^2 / 2)(y)", [0.0, 0.0, 0.0], imports="linalg")
report(CASADI, 1792, "derivative of a selection on either side of its threshold",
       r"let f = \(x: f64): if x > 10 then x else 0 in (grad(f)(9.0), grad(f)(11.0))", [0.0, 1.0])
report(CASADI, 2491, "squared distance from a second-order cone: inside, in its polar and between",
       "for i: value_and_grad(\\u: distance(u))([[0.5, 0.0, 2.0], [0.5, 0.0, -2.0], [3.0, 4.0, 1.0]][i])",
       [[0.0, [0.0, 0.0, 0.0]], [4.25, [1.0, 0.0, -4.0]], [8.0, [2.4, 3.2, -4.0]]], imports="linalg",
       definitions="def distance(u: [3]f64) -> f64 =\n"
                   "  let (r, t) = (linalg.norm(u[0..2]), u[2])\n"
                   "  in if r <= t then 0 else if r <= -t then r^2 + t^2 else (r - t)^2 / 2")
report(CASADI, 4387, "reverse mode through a selection between vectors by a vector of conditions",
       r"grad(\(a: [4]f64, b: [4]f64): sum i: f64(i + 1) * (if c[i] then a[i]^2 else exp(b[i])))([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0])",
       [[2.0, 0.0, 18.0, 0.0], [0.0, 2.0, 0.0, 4.0]], definitions="let c = [true, false, true, false]")
report(REVERSE, 82, "a sum of elements that are kept where they are positive",
       r"(grad(f)([2.0, 3.0, -1.0]), grad(f)([2.0, 3.0, 1.0]))", [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]],
       definitions="def f(x: [n]f64) -> f64 = sum i: (if x[i] > 0 then x[i] else 0)")
report(CERES, 447, "the length of a rotation axis at no rotation, with a floor under the root",
       r"grad(\(a: [3]f64): (let s = sum i: a[i]^2 in if s > 1e-16 then sqrt(s) else s))([0.0, 0.0, 0.0])", [0.0, 0.0, 0.0])
report(CERES, 655, "an inverse cosine of a constant 1 in a function of other inputs",
       r"grad(\(x: f64, y: f64): acos(stop(x)) + y^2)(1.0, 3.0)", [0.0, 6.0])
report("coin-or/CppAD", 120, "an angle on the positive axis",
       "(atan2(0.0, 1.0), grad(\\(y: f64, x: f64): atan2(y, x))(0.0, 1.0))", [0.0, [1.0, 0.0]])
report("autodiff/autodiff", 351, "derivatives of a real power 2 at 0, up to the second",
       r"(grad(\x: 4.3 * x^2.0)(0.0), grad(grad(\x: 4.3 * x^2.0))(0.0))", [0.0, 8.6])
report("oberbichler/HyperJet", 3, "a root at 0 has an infinite slope", r"grad(\x: sqrt(x))(0.0)", INF)
report("strasdat/Sophus", 226, "a rotation by a small angle: series below a threshold, at no rotation",
       "jacobian(turn)([0.0, 0.0, 0.0])", [[0.0, 1.0, -2.0], [-1.0, 0.0, 3.0], [2.0, -3.0, 0.0]],
       definitions="def turn(r: [3]f64) -> [3]f64 =\n"
                   "  let p = [3.0, 2.0, 1.0]\n"
                   "  let s = sum i: r[i]^2\n"
                   "  let near = s < 1e-12\n"
                   "  let a = if near then 1 - s / 6 else sin(sqrt(s)) / sqrt(s)\n"
                   "  let b = if near then 0.5 - s / 24 else (1 - cos(sqrt(s))) / s\n"
                   "  let c = [r[1] * p[2] - r[2] * p[1], r[2] * p[0] - r[0] * p[2], r[0] * p[1] - r[1] * p[0]]\n"
                   "  let d = [r[1] * c[2] - r[2] * c[1], r[2] * c[0] - r[0] * c[2], r[0] * c[1] - r[1] * c[0]]\n"
                   "  in for i: p[i] + a * c[i] + b * d[i]")

# Local tables, loops, overwritten states.

report(DEX, 841, "a table of triangular shape of the input, summed over one row", "jvp2(f)(1.0, 2.0)", [3.0, 6.0],
       definitions="def f(x: f64) -> f64 = sum i < 2, j < i + 1: x")
report(DEX, 1216, "a function applied as often as a counter says, in a while loop",
       r"(compose(\x: x + x, 3)(2.0), grad(compose(\x: x + x, 3))(2.0))", [16.0, 8.0],
       definitions="def compose(f: (f64) -> f64, n: i64) -> (f64) -> f64 =\n"
                   "  \\x: (loop (y, i) = (x, 0) while i < n: (f(y), i + 1)).0")
report(REVERSE, 171, "a factorisation over lags, accumulated lag by lag: gradient by both factors",
       "grad(f)(w, h)", lambda: lagged(),
       definitions="let w = for k < 2, l < 2: 0.5 * f64(k + 1) - f64(l)\nlet h = for k < 2, t < 3: f64(t) - 0.25 * f64(k)\n"
                   "def f(w: [k, l]f64, h: [k, t]f64) -> f64 =\n"
                   "  let est = fold e = (for s < t: 0.0) for lag < l:\n"
                   "    for s < t: e[s] + [lag <= s] * (sum r < k: w[r, lag] * h[r, s - lag])\n"
                   "  in sum s < t: est[s]^2")
report(REVERSE, 101, "a value that is written into an array and read again",
       "grad(f)([1.0, 0.0])", lambda: [-0.5 * math.log(2 * math.pi), 0.0], imports="stats",
       definitions="def f(x: [2]f64) -> f64 =\n"
                   "  let v = [0.0, 0.0] with [0] = x[0] with [1] = x[1]\n  in v[0] * stats.normal_logpdf(v[1], 0.0, 1.0)")
report("EnzymeAD/Enzyme.jl", 1610, "a function that writes its result into an array: the seed counts once",
       r"vjp(\(x: [2]f64): [x[0] * x[0] + x[1] * x[0],])([2.0, 2.0], [1.0,])", [6.0, 2.0])
report("EnzymeAD/Enzyme.jl", 2564, "a logistic regression's likelihood: gradients by reverse and forward mode",
       "(grad(loss)(b), for j < 3: jvp(loss)(b, for k < 3: (if k == j then 1.0 else 0.0)))", lambda: [logistic(), logistic()],
       imports="stats",
       definitions="let x = for i < 5, j < 3: sin(f64(3 * i + j))\nlet y = [true, false, false, true, true]\nlet b = [0.5, -1.0, 0.25]\n"
                   "def loss(b: [3]f64) -> f64 = sum i: stats.bernoulli_logit_logpmf(y[i], sum j: x[i, j] * b[j])")


def lagged():
    w = np.array([[0.5 * (k + 1) - lag for lag in range(2)] for k in range(2)])
    h = np.array([[t - 0.25 * k for t in range(3)] for k in range(2)])
    est = np.zeros(3)
    for lag in range(2):
        est[lag:] += w[:, lag] @ h[:, : 3 - lag]
    gw, gh = np.zeros_like(w), np.zeros_like(h)
    for lag in range(2):
        gw[:, lag] = h[:, : 3 - lag] @ (2 * est[lag:])
        gh[:, : 3 - lag] += np.outer(w[:, lag], 2 * est[lag:])
    return [gw, gh]


def logistic():
    x = np.sin(np.arange(15.0)).reshape(5, 3)
    y = np.array([1.0, 0.0, 0.0, 1.0, 1.0])
    p = 1 / (1 + np.exp(-x @ np.array([0.5, -1.0, 0.25])))
    return x.T @ (y - p)


# Factorisations.

report(JAX, 2380, "derivative of the determinant of a singular matrix: its adjugate",
       "grad(linalg.det)([[1.0, 2.0], [2.0, 4.0]])", [[4.0, -2.0], [-2.0, 1.0]], imports="linalg")
report(JAX, 10527, "the projection on the largest eigenvector of a matrix of rank one",
       "grad(f)([1.0, 2.0, 3.0])", [0.0, 0.0, 0.0], imports="linalg",
       definitions="def f(x: [3]f64) -> f64 = linalg.eigvalsh(for i, j: x[i] * x[j])[2] - (sum i: x[i]^2)",
       verdict="agrees: eigenvectors at equal eigenvalues have no derivative, the simple eigenvalue has")
report(JAX, 40421, "a Cholesky factor reads one triangle or their mean: the gradient says which",
       "let g = grad(\\(a: [2, 2]f64): sum i, j: linalg.cholesky(a)[i, j])([[4.0, 1.0], [1.0, 3.0]]) in (g[0, 0], g[1, 1], g[0, 1] + g[1, 0])",
       lambda: cholesky_gradient(), imports="linalg")
report(JAX, 2011, "least squares through a norm, of a single weight at 0",
       r"grad(\w: linalg.norm(for i: x[i] * w - t[i]))(0.0)", lambda: -(1 * 2 + 2 * 1 + 3 * -1) / math.sqrt(6), imports="linalg",
       definitions="let x = [1.0, 2.0, 3.0]\nlet t = [2.0, 1.0, -1.0]")
report("HIPS/autograd", 310, "the sum of the eigenvalues of the identity: a trace, though the eigenvalues are equal",
       "grad(\\(a: [2, 2]f64): sum i: linalg.eigvalsh(a)[i])([[1.0, 0.0], [0.0, 1.0]])", [[1.0, 0.0], [0.0, 1.0]], imports="linalg")

def cholesky_gradient():
    def total(p):
        a, b, c = p
        l00 = mpmath.sqrt(a)
        l10 = b / l00
        return [l00 + l10 + mpmath.sqrt(c - l10**2)]

    row = differences(total, [4.0, 1.0, 3.0])[0]
    return [row[0], row[2], row[1]]

# Nested conditionals, broadcasts, constants in a branch.

MLX = "ml-explore/mlx"
report("coin-or/CppAD", 8, "second level of a division by zero in the branch not taken",
       r"(grad(f)(0.0, 0.0), hessian(f)(0.0, 0.0))", [[0.0, 1.0], [[0.0, 0.0], [0.0, 0.0]]],
       definitions="def f(x: f64, y: f64) -> f64 = if x > 1 then x / y else y")
report("coin-or/CppAD", 7, "a product that only one branch uses, at a point recorded on the other",
       r"for k: grad(\x: grad(\(p: f64, q: f64): (if p == 1 then p * q else 0))(x, 0.5).0)([1.0, 0.0][k])", [0.0, 0.0],
       definitions="")
report(MLX, 610, "a matrix added to each slice of a tensor: cotangents add up over the slices",
       r"vjp(\(a: [3, 3]f64): for i < 3: (a + 1.0)^2)((for i, j: 1.0), (for i < 3, j < 3, k < 3: 1.0))",
       [[12.0] * 3] * 3)
report(MLX, 628, "zero to the power one: derivatives by base and exponent",
       r"vjp(\(a: [2]f64, b: [2]f64): for i: (a[i] - b[i])^b[i])(([1.0, 1.0], [1.0, 1.0]), [123.0, 123.0])",
       [[123.0, 123.0], [-123.0, -123.0]])
report(MLX, 3627, "a tangent through a selection whose first branch is a constant",
       r"(jvp(\x: if x > 100 then 999 else 2 * x)(1.0, 1.0), jvp(\x: if x > 100 then nan else x^2)(1.0, 1.0))", [2.0, 2.0])
report(MLX, 1771, "a tangent through a dense layer", r"jvp(\x: nn.dense(l, x))([0.5, -1.0], [1.0, 2.0])", [5.0, -1.0],
       definitions="let l: nn.Dense(2, 2) = {weights: [[1.0, 2.0], [3.0, -2.0]], bias: [0.5, 0.25]}", imports="nn")
report(MLX, 487, "the gradient of a square at a number", r"grad(\x: x^2)(3.0)", 6.0)
