"""Reports of wrong or missing derivatives."""

import math

import mpmath
import numpy as np

from reports_table import report

JAX = "jax-ml/jax"
TORCH = "pytorch/pytorch"
TENSORFLOW = "tensorflow/tensorflow"
ZYGOTE = "FluxML/Zygote.jl"
FORWARD = "JuliaDiff/ForwardDiff.jl"
AUTOGRAD = "HIPS/autograd"
FUTHARK = "diku-dk/futhark"
MLX = "ml-explore/mlx"
STAN = "stan-dev/math"
TINYGRAD = "tinygrad/tinygrad"
ENZYME = "EnzymeAD/Enzyme"

NAN = float("nan")
INF = float("inf")

# Norms and roots at their kinks.

report(JAX, 3058, "gradient of a Euclidean norm at the origin: the subgradient 0",
       r"grad(\(x: [3]f64): linalg.norm(x))([0.0, 0.0, 0.0])", [0.0, 0.0, 0.0], imports="linalg")
report(JAX, 4177, "gradient of a squared norm at the origin",
       r"grad(\(x: [2]f64): linalg.norm(x)^2)([0.0, 0.0])", [0.0, 0.0], imports="linalg")
report(JAX, 21723, "gradient of a squared norm of one number at 0",
       r"grad(\(x: [1]f64): linalg.norm(x)^2)([0.0,])", [0.0], imports="linalg")
report(AUTOGRAD, 586, "value and gradient of a squared norm at 0",
       r"value_and_grad(\(x: [2]f64): linalg.norm(x)^2)([0.0, 0.0])", [0.0, [0.0, 0.0]], imports="linalg")
report(FORWARD, 55, "gradient of von Mises' yield function under uniaxial stress",
       "grad(mises)([100.0, 0.0, 0.0, 0.0, 0.0, 0.0])", [1.0, -0.5, -0.5, 0.0, 0.0, 0.0],
       definitions="def mises(s: [6]f64) -> f64 =\n"
                   "  sqrt(((s[0] - s[1])^2 + (s[1] - s[2])^2 + (s[2] - s[0])^2 + 6 * (s[3]^2 + s[4]^2 + s[5]^2)) / 2)")
report(MLX, 3668, "a norm under a greater floor has gradient 0 at the origin",
       r"grad(\(x: f64, y: f64): max(sqrt(x^2 + y^2), 1e-10))(0.0, 0.0)", [0.0, 0.0],
       verdict="mended: NaN, because the tangent that `max` does not take is multiplied by 0")

# Selections: the branch not taken must not reach the derivative.

report(JAX, 15588, "a bump with an exponential flank is flat outside of its interval",
       "[grad(well)(-3.0), grad(well)(0.0), grad(well)(5.0)]", [0.0, 0.0, 0.0],
       definitions="def flank(x: f64) -> f64 = if x < 0 then 0 else exp(-1 / max(x, 0.01))\n"
                   "def smooth(x: f64) -> f64 = flank(x) / (flank(x) + flank(1 - x))\n"
                   "def well(x: f64) -> f64 = smooth(x - 1) + smooth(-x - 1)")
report(TENSORFLOW, 2540, "an overflowing exponential in the branch not taken",
       r"grad(\x: if x > 0 then 0 else exp(x))(1e10)", 0.0)
for _k, _x in enumerate((1.0, -1.0, 0.0)):
    report(TENSORFLOW, 20355, "a logarithm and a reciprocal, each singular in the other's branch",
           rf"grad(\x: if x < 0 then 1 / (1 - x) else log(x + 1))({_x})", (0.5, 0.25, 1.0)[_k], part=f"at {_x}")
report(TENSORFLOW, 20091, "a division by zero in the branch not taken",
       r"grad(\(a: f64, b: f64): if b == 0 then a^2 else a / b)(2.0, 0.0)", [4.0, 0.0])
report(TENSORFLOW, 27684, "a factor of a logarithm that is selected away",
       r"grad(\a: sum i: (if x[i] >= 1 then a * log(x[i]) else 0))(1.0)", lambda: math.log(2) + math.log(3),
       definitions="let x = [-1.0, 0.0, 2.0, 3.0]")
for _k, (_f, _x) in enumerate((("sqrt(x)", 0.0), ("sqrt(x)", -1.0), ("1 / x", 0.0), ("log(x)", 0.0))):
    report(TENSORFLOW, 118674, f"`{_f}` guarded by its domain", rf"grad(\x: if x > 0 then {_f} else 0)({_x})", 0.0,
           part=f"{_f} at {_x}")
report(AUTOGRAD, 802, "a square root of a negative number in the branch not taken",
       r"grad(\x: if x >= 0 then x else sqrt(-x))(1.0)", 1.0)
report(FORWARD, 287, "the logarithm of a reciprocal of a floor",
       r"grad(\x: log(1 / max(f32(1e-20), x)))(f32(0))", 0.0)

# Powers.

report("JuliaDiff/TaylorDiff.jl", 41, "derivative of a square at 0", r"grad(\x: x^2)(0.0)", 0.0)
for _n in (0, 1, 2, 3, 4):
    _f = rf"(\x: x^{_n})"
    for _ in range(_n + 1):
        _f = f"grad({_f})"
    report(FORWARD, 331, f"derivative {_n + 1} of x^{_n} at 0", f"{_f}(0.0)", 0.0, part=f"n = {_n}")
report("JuliaDiff/Diffractor.jl", 26, "a sum of ten powers, added up in a loop, at 0",
       r"grad(\x: (fold s = 0.0 for i < 10: s + x^(i + 1)))(0.0)", 1.0)
report(FORWARD, 716, "a negative base to a real power: no derivative by the exponent",
       r"grad(\(x: f64, y: f64): x^y)(-1.0, 1.0)", [1.0, NAN])
report("JuliaSymbolics/Symbolics.jl", 1399, "derivative by the exponent of a negative base",
       r"grad(\y: (-1.0)^y)(0.5)", NAN)
report(FORWARD, 774, "a logarithm at 0, of which one input has no part",
       r"grad(\(x: [2]f64): log(0 * x[0] + x[1]))([1.0, 0.0])", [NAN, INF],
       verdict="agrees: 0 times infinity is NaN, as in IEEE 754")

# Products and cumulative products with zeros.
report("apache/mxnet", 17864, "gradient of a product with a zero factor",
       "for i: 9 * grad(\\(x: [2]f64): prod j: x[j])([4.0, 0.0])[i]", [0.0, 36.0])
report(TINYGRAD, 17404, "gradient of a product with one zero and with two",
       r"(grad(\(x: [3]f64): prod j: x[j])([0.0, 2.0, 3.0]), grad(\(x: [3]f64): prod j: x[j])([0.0, 0.0, 3.0]))",
       [[6.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
report(TORCH, 82644, "gradient of a product of one factor 0", r"grad(\(x: [1]f64): prod j: x[j])([0.0,])", [1.0])
report(TORCH, 106789, "second derivatives of a product with two zero factors",
       r"hessian(\(x: [4]f64): prod j: x[j])([2.0, 3.0, 0.0, 0.0])",
       [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 6.0], [0.0, 0.0, 6.0, 0.0]])
report(TORCH, 196701, "second derivative along a line of a weighted cumulative product through a zero",
       "grad(grad(f))(1.0)",
       lambda: second_of_cumulative(),
       definitions="def f(t: f64) -> f64 =\n"
                   "  let x = [[t, t + 1, 2 - t], [t - 1, 2 * t + 1, t + 3]]\n"
                   "  let w = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]\n"
                   "  in sum i < 2, j < 3: w[i, j] * (prod k < j + 1: x[i, k])")
report("tracel-ai/burn", 3864, "gradient of the sum of a cumulative product with a zero",
       "grad(f)([2.0, 0.0, 3.0, 4.0])", [1.0, 32.0, 0.0, 0.0],
       definitions="def f(x: [n]f64) -> f64 = let c = scan p = 1.0 for i < n: p * x[i] in (sum i < n: c[i + 1])")
report("pymc-devs/pytensor", 1956, "gradient of a weighted cumulative product with two zeros, as a fold",
       "grad(f)([0.5, 0.0, 2.0, 0.0, 3.0])", [1.0, 0.5 * (2 + 3 * 2), 0.0, 0.0, 0.0],
       definitions="def f(x: [n]f64) -> f64 =\n"
                   "  (fold (p, s) = (1.0, 0.0) for i < n: (p * x[i], s + f64(i + 1) * p * x[i])).1")


def second_of_cumulative():
    """Returns the second derivative at 1 of the polynomial of report 196701, by its coefficients."""
    from numpy.polynomial import Polynomial as P

    t = P([0, 1])
    rows = [[t, t + 1, 2 - t], [t - 1, 2 * t + 1, t + 3]]
    weights = [[1, 2, 3], [4, 5, 6]]
    total = P([0])
    for row, w in zip(rows, weights):
        product = P([1])
        for factor, weight in zip(row, w):
            product = product * factor
            total = total + weight * product
    return float(total.deriv(2)(1.0))


# Saturated functions and log-sum-exp.

report(JAX, 764, "derivatives of saturated hyperbolic tangents",
       "for i: grad(\\x: tanh(x))([-1000.0, -40.0, 0.0, 40.0, 1000.0][i])", lambda: [float(mpmath.sech(x) ** 2) for x in (-1000, -40, 0, 40, 1000)])
report(STAN, 1679, "log-sum-exp of two equal large numbers has derivative 1",
       r"for i: grad(\x: nn.logsumexp([x, x]))([1e10, 1e50, 1e200][i])", [1.0, 1.0, 1.0], imports="nn",
       verdict="mended: gradients of `logsumexp` at large equal arguments")
report(STAN, 1772, "partial derivatives of log-sum-exp at equal large arguments",
       r"grad(\(x: f64, y: f64): nn.logsumexp([x, y]))(1e20, 1e20)", [0.5, 0.5], imports="nn",
       verdict="mended: gradients of `logsumexp` at large equal arguments")
report(TENSORFLOW, 127232, "derivative of a weighted sum of log-add-exp where one pair is equal",
       "grad(f)(-4.0)", lambda: 0.5 + 2 / (1 + math.exp(4)) + 3 / (1 + math.exp(9)),
       definitions="def f(t: f64) -> f64 = sum i < 3: f64(i + 1) * nn.logsumexp([t, [-4.0, 0.0, 5.0][i]])", imports="nn")
report(JAX, 37633, "a weighted log-sum-exp where a weight is 0",
       r"jacobian(\(b: [3]f64): [log(sum i: b[i] * exp(z[i])),])([2.0, 0.0, 5.0])", [[1 / 7, 1 / 7, 1 / 7]],
       definitions="let z = [0.0, 0.0, 0.0]")
report("tensorflow/swift-apis", 587, "the gradient of log-sum-exp adds up to 1",
       r"sum i: grad(\(x: [100]f64): nn.logsumexp(x))(replicate(100, 1.0))[i]", 1.0, imports="nn")

# Extremes and ties.

report(TINYGRAD, 12296, "gradient of the greatest of many equal short reals goes to the first",
       r"let g = grad(\(x: [700]f32): max i: x[i])(replicate(700, f32(1))) in (g[0], sum i: g[i])", [1.0, 1.0])
report(TINYGRAD, 14716, "a maximum with NaN is NaN, in reductions and of pairs",
       "(max i: x[i], min i: x[i], max(1.0, nan), min(nan, 1.0))", [NAN, NAN, NAN, NAN], definitions="let x = [1.0, nan]")
report(JAX, 40564, "the larger branch of a maximum of computed operands has all of the gradient",
       "grad(f)([0.3, 0.7])", lambda: [2 * 0.3 * math.cos(0.3**2 + 0.7**2), 2 * 0.7 * math.cos(0.3**2 + 0.7**2)],
       definitions="def f(x: [2]f64) -> f64 = max(sin(x[0]^2 + x[1]^2), 1e-15)")
report(JAX, 10916, "sums of cumulative maxima and products, with gradients",
       "(value_and_grad(largest)(x), value_and_grad(products)(x))",
       [[3 + 3 + 5.0, [2.0, 0.0, 1.0]], [3 + 6 + 30.0, [1 + 2 + 10.0, 3 + 15.0, 6.0]]],
       definitions="let x = [3.0, 2.0, 5.0]\n"
                   "def largest(x: [n]f64) -> f64 = sum i < n: (max j < i + 1: x[j])\n"
                   "def products(x: [n]f64) -> f64 = sum i < n: (prod j < i + 1: x[j])")
report(MLX, 3599, "a cumulative maximum with ties, weighted; the first of equals has the gradient",
       "grad(f)([1.0, 4.0, 4.0, 2.0])", [1.0, 9.0, 0.0, 0.0],
       definitions="def f(x: [n]f64) -> f64 = sum i < n: f64(i + 1) * (max j < i + 1: x[j])")
report(MLX, 4117, "Hessian times vector through a sort",
       r"hvp(\(x: [4]f64): (let y = sort(x) in sum i: f64(i + 1) * y[i]^2))([3.0, 1.0, 2.0, 5.0], [1.0, 1.0, 1.0, 1.0])",
       [6.0, 2.0, 4.0, 8.0])

# Loops, structures, closures.

report(ZYGOTE, 43, "a structure that repeats one number ten times, summed",
       r"grad(\x: (let f = for i < 10: x in sum i: f[i]))(5.0)", 10.0)
report(ZYGOTE, 159, "a derivative by a captured number", "let a = 1.0 in deriv(a, a)", 1.0)
report(ZYGOTE, 242, "a sine by its series, left early", "(sine(1.0), grad(sine)(1.0))",
       lambda: [sum((-1) ** k / math.factorial(2 * k + 1) for k in range(6)),
                sum((-1) ** k / math.factorial(2 * k) for k in range(6))],
       definitions="def sine(x: f64) -> f64 =\n"
                   "  let (s, t, k) = loop (s, t, k) = (0.0, x, 0) while abs(t) > 1e-8:\n"
                   "    (s + t, -t * x^2 / f64((2 * k + 2) * (2 * k + 3)), k + 1)\n  in s")
report(FUTHARK, 2256, "gradient of the product of a cumulative product with its input",
       "grad(f)([2.0, -1.0, 3.0])", [-4.0, 14.0, -12.0],
       definitions="def f(x: [n]f64) -> f64 = let c = scan p = 1.0 for i < n: p * x[i] in (sum i < n: c[i + 1] * x[i])")
report(FUTHARK, 1878, "Jacobians by both modes of a difference of correlations",
       "(for i < 4, j < 8: jvp(f)(x, for k < 8: (if k == j then 1.0 else 0.0))[i], jacobian(f)(x))",
       lambda: [correlation_jacobian(), correlation_jacobian()],
       definitions="let x = [0.5, -1.0, 2.0, 0.25, 3.0, -0.75, 1.5, -2.0]\n"
                   "def f(x: [8]f64) -> [4]f64 =\n"
                   "  let w = for k < 4, i < 2: sum j < 4: x[k + j] * x[i + j]\n  in for k: w[k, 0] - w[k, 1]")
report(FUTHARK, 1604, "a loop whose two states begin as the same array",
       r"jvp(f)([1.0, 2.0], [1.0, 10.0])", [[8.0, 80.0], [1.0, 10.0]],
       definitions="def f(x: [n]f64) -> ([n]f64, [n]f64) = fold (a, b) = (x, x) for i < 3: (2 * a, b + 1)")
report(FUTHARK, 1879, "gradient through a reversed scatter of vectors",
       "grad(f)([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])", [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]],
       definitions="def f(v: [n, 3]f64) -> f64 =\n"
                   "  let w = scatter(for i < n: for k < 3: 0.0, for i: n - 1 - i, v)\n  in sum i, k: w[i, k]^2")
report(FUTHARK, 2537, "a scan of affine maps, composed in order, with a zero slope",
       "(value_and_grad(f)([2.0, 0.0, -1.5], [1.0, -2.0, 0.5]))",
       lambda: [affine([2.0, 0.0, -1.5], [1.0, -2.0, 0.5]), affine_gradient()],
       definitions="def f(a: [n]f64, b: [n]f64) -> f64 =\n"
                   "  let s = scan (p, q) = (1.0, 0.0) for i < n: (a[i] * p, a[i] * q + b[i])\n"
                   "  in sum i: s[i].0 + 2 * s[i].1")
report(JAX, 1980, "tangent of a loop that multiplies by its counter",
       r"(jvp2(\x: (fold y = x for i < 3: 2 * y))(2.0, 1.0), jvp2(\x: (fold y = x for i < 3: y * f64(i + 1)))(2.0, 1.0))",
       [[16.0, 8.0], [12.0, 6.0]])
report("JuliaDiff/ForwardDiff.jl", 171, "the root of a square beside its kink",
       r"grad(\x: sqrt((1 - x)^2) * cosh(x))(0.25)", lambda: -math.cosh(0.25) + 0.75 * math.sinh(0.25))


def correlation_jacobian():
    x = np.array([0.5, -1.0, 2.0, 0.25, 3.0, -0.75, 1.5, -2.0])
    jac = np.zeros((4, 8))
    for k in range(4):
        for i, sign in ((0, 1.0), (1, -1.0)):
            for j in range(4):
                jac[k, k + j] += sign * x[i + j]
                jac[k, i + j] += sign * x[k + j]
    return jac


def affine(a, b):
    p, q, total = 1.0, 0.0, 1.0
    for x, y in zip(a, b):
        p, q = x * p, x * q + y
        total += p + 2 * q
    return total


def affine_gradient():
    """Returns the gradient of a polynomial of degree one in each coordinate, for which differences are exact."""
    a, b = [2.0, 0.0, -1.5], [1.0, -2.0, 0.5]

    def moved(values, k, by):
        return [v + by * (j == k) for j, v in enumerate(values)]

    by_a = [affine(moved(a, k, 1), b) - affine(a, b) for k in range(3)]
    by_b = [affine(a, moved(b, k, 1)) - affine(a, b) for k in range(3)]
    return [by_a, by_b]


# Index notation: shifts, padding, pooling.

TULLIO = "mcabbott/Tullio.jl"
report(TULLIO, 88, "a one-sided convolution with padding on the left, and its gradient by the kernel",
       "(half([1.0, 2.0, 3.0, 4.0, 5.0], [-1.0, 0.0, 10.0]), grad(\\(v: [3]f64): sum i: half([1.0, 2.0, 3.0, 4.0, 5.0], v)[i])([-1.0, 0.0, 10.0]))",
       [[-1.0, -2.0, 7.0, 16.0, 25.0], [15.0, 10.0, 6.0]],
       definitions="def half(u: [n]f64, v: [m]f64) -> [n]f64 = for i: sum j < m: [0 <= i - j] * u[i - j] * v[j]")
report(TULLIO, 85, "a regulariser of differences along both axes: each element is read three times",
       "grad(reg)(x)", lambda: total_variation_gradient(),
       definitions="let x = [[1.0, 2.0, 4.0], [2.0, 0.5, 3.0], [1.5, 1.0, -1.0]]\n"
                   "def reg(x: [n + 1, m + 1]f64) -> f64 =\n"
                   "  sum i < n, j < m: sqrt((x[i, j] - x[i + 1, j])^2 + (x[i, j] - x[i, j + 1])^2)")
report(TULLIO, 10, "two statements of shifted differences, added: value and gradient",
       "value_and_grad(f)([[1.0, 2.0], [3.0, 4.0]])", [2.0 + 2.0 - 1.0 - 1.0, [[0.0, -2.0], [2.0, 0.0]]],
       definitions="def f(x: [n + 1, m + 1]f64) -> f64 =\n"
                   "  let down = sum i in 1..n + 1, k < m + 1: x[i, k] - x[i - 1, k]\n"
                   "  let across = sum i < n + 1, k < m: x[i, k] - x[i, k + 1]\n"
                   "  in down + across")
report(TULLIO, 153, "a locally connected layer: gradient by its input, which windows overlap",
       "grad(loss, wrt: x)(w, x)", lambda: local_gradient(),
       definitions="let w = for i < 3, k < 2: f64(i + 1) - 2 * f64(k)\nlet x = [0.5, -1.0, 2.0, 3.0]\n"
                   "def loss(w: [n, k]f64, x: [n + k - 1]f64) -> f64 = sum i < n: (sum j < k: w[i, j] * x[i + j])^2")
report("FluxML/NNlib.jl", 133, "gradient of max pooling with padding of one on all sides",
       r"grad(\(x: [1, 3, 3]f64): sum c, i, j: nn.max_pool2(2, nn.pad2(1, x)[_, 0..4, 0..4])[c, i, j])([[[1.0, 4.0, 7.0], [2.0, 5.0, 8.0], [3.0, 6.0, 9.0]]])",
       [[[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]], imports="nn")


def total_variation_gradient():
    x = np.array([[1.0, 2.0, 4.0], [2.0, 0.5, 3.0], [1.5, 1.0, -1.0]])
    g = np.zeros_like(x)
    for i in range(2):
        for j in range(2):
            a, b = x[i, j] - x[i + 1, j], x[i, j] - x[i, j + 1]
            r = math.hypot(a, b)
            g[i, j] += (a + b) / r
            g[i + 1, j] -= a / r
            g[i, j + 1] -= b / r
    return g


def local_gradient():
    w = np.array([[i + 1 - 2.0 * k for k in range(2)] for i in range(3)])
    x = np.array([0.5, -1.0, 2.0, 3.0])
    g = np.zeros(4)
    for i in range(3):
        g[i : i + 2] += 2 * (w[i] @ x[i : i + 2]) * w[i]
    return g


# Differential equations and recursions.

report("SciML/SciMLSensitivity.jl", 549, "prey and predators with coefficients that change in time: sensitivities by them",
       "jacobian(end)([1.5, 1.0, 3.0, 1.0])", lambda: sensitivities(), imports="ode",
       definitions="def end(p: [4]f64) -> [2]f64 =\n"
                   "  ode.rk4(\\t, x: [p[0] * x[0] - p[1] * x[0] * x[1] * t, -p[2] * x[1] + t * p[3] * x[0] * x[1]], 0.0, 1.0, [1.0, 1.0], 200)[200]")
report(ENZYME, 1809, "a recursion within a recursion over arrays: a short rate and a price",
       r"value_and_grad(\(r: f64, v: f64): price(r, v, 12))(0.05, 0.02)", lambda: rates(),
       definitions="def rate(r: f64, v: f64, i: i64) -> f64 = if i == 0 then r else rate(r, v, i - 1) * (1 + v / 12) + 0.001 * f64(i)\n"
                   "def grown(r: f64, v: f64, i: i64) -> f64 = if i == 0 then 1.15 else grown(r, v, i - 1) * exp((rate(r, v, i) - v^2 / 2) / 12)\n"
                   "def price(r: f64, v: f64, n: i64) -> f64 = max(grown(r, v, n) - 1, 0)")
report(ENZYME, 1902, "a rotation by its axis times angle, with the axis normalised by a reciprocal",
       "jacobian(rotated)([0.3, -0.2, 0.5])", lambda: rotation_jacobian(),
       definitions="def rotated(r: [3]f64) -> [3]f64 =\n"
                   "  let p = [1.0, 2.0, -1.0]\n"
                   "  let t = sqrt(sum i: r[i]^2)\n"
                   "  let w = for i: r[i] * (1 / t)\n"
                   "  let d = sum i: w[i] * p[i]\n"
                   "  let c = [w[1] * p[2] - w[2] * p[1], w[2] * p[0] - w[0] * p[2], w[0] * p[1] - w[1] * p[0]]\n"
                   "  in for i: p[i] * cos(t) + c[i] * sin(t) + w[i] * (d * (1 - cos(t)))")
report("EnzymeAD/Reactant.jl", 1406, "a while loop that updates a slice of its state",
       "grad(f)([0.5, -1.0, 2.0, 1.5])", lambda: sliced_gradient(),
       definitions="def f(x: [4]f64) -> f64 =\n"
                   "  let (y, _) = loop (y, k) = (x, 0) while k < 3: (y with [k + 1] = y[k + 1] * y[k], k + 1)\n  in sum i: y[i]^2")


def rk4(f, x, t1, steps):
    h = mpmath.mpf(t1) / steps
    t = mpmath.mpf(0)
    for _ in range(steps):
        a = f(t, x)
        b = f(t + h / 2, [u + h / 2 * v for u, v in zip(x, a)])
        c = f(t + h / 2, [u + h / 2 * v for u, v in zip(x, b)])
        d = f(t + h, [u + h * v for u, v in zip(x, c)])
        x = [u + h / 6 * (p + 2 * q + 2 * r + s) for u, p, q, r, s in zip(x, a, b, c, d)]
        t += h
    return x


def differences(f, at, digits=60):
    """Returns the Jacobian of a function of a list of mpmath numbers, by central differences at many digits."""
    with mpmath.workdps(digits):
        h = mpmath.mpf(10) ** (-digits // 3)
        columns = []
        for k in range(len(at)):
            point = [mpmath.mpf(v) for v in at]
            up = [v + h * (j == k) for j, v in enumerate(point)]
            down = [v - h * (j == k) for j, v in enumerate(point)]
            columns.append([float((a - b) / (2 * h)) for a, b in zip(f(up), f(down))])
    return [list(row) for row in zip(*columns)]


def sensitivities():
    def end(p):
        def f(t, x):
            return [p[0] * x[0] - p[1] * x[0] * x[1] * t, -p[2] * x[1] + t * p[3] * x[0] * x[1]]

        return rk4(f, [mpmath.mpf(1), mpmath.mpf(1)], 1, 200)

    return differences(end, [1.5, 1.0, 3.0, 1.0])


def rates():
    def price(p):
        r, v = p
        s = mpmath.mpf(1.15)
        for i in range(1, 13):
            r = r * (1 + v / 12) + mpmath.mpf(0.001) * i
            s = s * mpmath.exp((r - v**2 / 2) / 12)
        return [s - 1]

    return [float(price([mpmath.mpf(0.05), mpmath.mpf(0.02)])[0]), differences(price, [0.05, 0.02])[0]]


def rotation_jacobian():
    def rotated(r):
        p = [1, 2, -1]
        t = mpmath.sqrt(sum(v**2 for v in r))
        w = [v / t for v in r]
        d = sum(a * b for a, b in zip(w, p))
        c = [w[1] * p[2] - w[2] * p[1], w[2] * p[0] - w[0] * p[2], w[0] * p[1] - w[1] * p[0]]
        return [p[i] * mpmath.cos(t) + c[i] * mpmath.sin(t) + w[i] * d * (1 - mpmath.cos(t)) for i in range(3)]

    return differences(rotated, [0.3, -0.2, 0.5])


def sliced_gradient():
    def f(x):
        y = list(x)
        for k in range(3):
            y[k + 1] = y[k + 1] * y[k]
        return [sum(v**2 for v in y)]

    return differences(f, [0.5, -1.0, 2.0, 1.5])[0]
