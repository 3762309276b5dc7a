"""Reports of losses, quantiles, differential equations and tables of data."""

import math

import mpmath
import numpy as np

from reports_derivatives import differences
from reports_table import report

JAX = "jax-ml/jax"
OPTAX = "google-deepmind/optax"
DIFFRAX = "patrick-kidger/diffrax"
NUMPY = "numpy/numpy"

NAN = float("nan")
INF = float("inf")

# Losses with masked and with large logits.

report(OPTAX, 1762, "cross-entropy of a masked logit of minus infinity: tangent along zero and gradient",
       r"let f = \(x: [3]f64): nn.cross_entropy(x, 1) in (jvp(f)([-inf, 0.0, 0.0], [0.0, 0.0, 0.0]), grad(f)([-inf, 0.0, 0.0]))",
       [0.0, [0.0, -0.5, 0.5]], imports="nn")
report(OPTAX, 896, "softmax and its logarithm where a logit is minus infinity",
       "(nn.softmax([-inf, 0.0, 0.0]), nn.log_softmax([-inf, 0.0, 0.0]))",
       lambda: [[0.0, 0.5, 0.5], [-INF, -math.log(2), -math.log(2)]], imports="nn")
report("tensorflow/tensorflow", 11756, "softmax under a mask of infinities: gradient of a weighted sum",
       r"grad(\(x: [3]f64): (let p = nn.softmax(for i: (if keep[i] then x[i] else -inf)) in sum i: f64(i) * p[i]))([1.0, 7.0, 1.0])",
       [-0.5, 0.0, 0.5], imports="nn", definitions="let keep = [true, false, true]")
report("FluxML/NNlib.jl", 68, "cross-entropy of logits in the hundreds, and softmax of ones in the thousands",
       "(value_and_grad(\\(x: [3]f64): nn.cross_entropy(x, 0))([-431.0, 279.0, 427.0]), grad(\\(x: [3]f64): sum i: nn.softmax(x)[i])([-1047.0, -981.0, 1891.0]))",
       lambda: [[858.0, [-1.0, float(mpmath.exp(-148)), 1.0]], [0.0, 0.0, 0.0]], imports="nn")
report(OPTAX, 1335, "a mean of cross-entropies over the rows of a mask", "grad(masked)([[1.0, 0.0], [0.5, 2.0], [3.0, -1.0]])",
       lambda: masked(), imports="nn",
       definitions="let keep = [true, false, true]\nlet labels = [0, 1, 1]\n"
                   "def masked(x: [3, 2]f64) -> f64 = (sum b: [keep[b]] * nn.cross_entropy(x[b], labels[b])) / (sum b: [keep[b]] * 1.0)")


def masked():
    x = np.array([[1.0, 0.0], [0.5, 2.0], [3.0, -1.0]])
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    p[np.arange(3), [0, 1, 1]] -= 1
    return p * np.array([[0.5], [0.0], [0.5]])


# Quantiles.

report(JAX, 6444, "a quantile of numbers of which one is none", "stats.quantile([1.0, 2.0, nan], 0.5)", NAN, imports="stats",
       verdict="mended: NaN counted as greater than all")
report(JAX, 24732, "a median, its gradient, and a median of two",
       r"(stats.median([3.0, 1.0, 2.0]), grad(\(x: [3]f64): stats.median(x))([3.0, 1.0, 2.0]), grad(\(x: [2]f64): stats.median(x))([3.0, 1.0]))",
       [2.0, [0.0, 0.0, 1.0], [0.5, 0.5]], imports="stats")
report(JAX, 8513, "percentiles of six numbers by linear interpolation", "for k: stats.quantile([10.0, 7.0, 4.0, 3.0, 2.0, 1.0], q[k])",
       [1.0, 2.25, 3.5, 6.25, 10.0], definitions="let q = [0.0, 0.25, 0.5, 0.75, 1.0]", imports="stats")
report("PaddlePaddle/Paddle", 42385, "the gradient of a median with ties goes to the two elements in the middle",
       r"grad(\(x: [4]f64): stats.median(x))([2.0, 3.0, 2.0, 3.0])", [0.0, 0.5, 0.5, 0.0], imports="stats")

# Differential equations.

report(DIFFRAX, 64, "a linear system near its steady state: gradient of squared distances at several times",
       "round(1e6 * grad(loss)([2.5, 4.5])) / 1e6", lambda: [round(v, 6) for v in steady()], imports="ode",
       definitions="def at(p: [2]f64, t: f64) -> [2]f64 = ode.dopri5(\\_, y: [2 - p[0] * y[0], y[0] - p[1] * y[1]], 0.0, t, [1.0, 1.0], 1e-10, 1e-10).x\n"
                   "def loss(p: [2]f64) -> f64 =\n"
                   "  let (a, b) = (at(p, 0.5), at(p, 0.75))\n  in (sum i: (a[i] - 1)^2) + (sum i: (b[i] - 1)^2)")
report("SciML/SciMLSensitivity.jl", 1094, "a decay integrated with adaptive steps: gradient of a squared end by the start",
       r"round(1e6 * grad(\u: ode.dopri5(\t, x: [-x[0] / 2 + sin(t)], 0.0, 3.0, [u,], 1e-9, 1e-9).x[0]^2)(1.5)) / 1e6",
       lambda: round(decayed(), 6), imports="ode")


def steady():
    """Returns the closed form of the linear system, differentiated at many digits."""

    def loss(p):
        a, b = p
        total = mpmath.mpf(0)
        for t in (mpmath.mpf("0.5"), mpmath.mpf("0.75")):
            u = 2 / a + (1 - 2 / a) * mpmath.exp(-a * t)
            c = (1 - 2 / a) / (b - a)
            v = 2 / (a * b) + c * mpmath.exp(-a * t) + (1 - 2 / (a * b) - c) * mpmath.exp(-b * t)
            total += (u - 1) ** 2 + (v - 1) ** 2
        return [total]

    return differences(loss, [2.5, 4.5])[0]


def decayed():
    """Returns the solution of x' = -x/2 + sin t: a particular solution plus the decaying one."""
    particular = lambda t: (2 * math.sin(t) - 4 * math.cos(t)) / 5  # noqa: E731
    end = particular(3) + (1.5 - particular(0)) * math.exp(-1.5)
    return 2 * end * math.exp(-1.5)


# Tables with comments and gaps.

report(NUMPY, 5155, "a word `None` in a column of reals is a missing value", "table.y", [200.0, NAN],
       definitions='let table: {x: [?n]i64, y: [?n]f64} = load("a.csv")', files={"a.csv": "x,y\n100,200\n300,None\n"},
       verdict="mended: the word was an error")
report("v923z/micropython-ulab", 706, "comment lines before the table", "table", [[0.0, 1.0], [2.0, 3.0]],
       definitions='let table: [?n, 2]f64 = load("a.csv", comment: "#")', files={"a.csv": "# several lines\n# of comment\n0,1\n2,3\n"},
       verdict="mended: comments were an error, and are an option of `load` now")
report(NUMPY, 2633, "a column that is all words is no column of reals", "0", {"error": "E0604"},
       definitions='let table: {x: [?n]f64} = load("a.csv")', files={"a.csv": "x\nabc\ndef\n"})
report(NUMPY, 21052, "spaces at the ends of lines", "table.y", [2.0, 4.0],
       definitions='let table: {x: [?n]f64, y: [?n]f64} = load("a.csv")', files={"a.csv": "x,y  \n1,2  \n3,4   \n"})

# Losses to second order, shared parameters, masked pairs.

TORCH = "pytorch/pytorch"
report(TORCH, 67461, "a Poisson likelihood of a logarithmic rate: gradient and Hessian",
       "(grad(loss)(x), hessian(loss)(x))", lambda: poisson(), imports="stats",
       definitions="let x = [0.5, -1.0]\nlet k = [3, 0]\ndef loss(x: [2]f64) -> f64 = -(sum i: stats.poisson_logpmf(k[i], exp(x[i])))")
report(TORCH, 80839, "a function that overwrites its argument by a constant has derivative 0",
       r"jacobian(\(x: [2]f64): x with [0] = 0 with [1] = 0)([1.0, 1.0])", [[0.0, 0.0], [0.0, 0.0]])
report(TORCH, 184528, "a scan whose step reads a captured parameter: its gradient is that of the loop written out",
       "(grad(\\a: scanned(a))(0.3), grad(\\a: written(a))(0.3))", lambda: [carried(), carried()],
       definitions="let x = [0.5, -1.0, 2.0]\n"
                   "def scanned(a: f64) -> f64 = let h = scan h = 0.1 for i < 3: tanh(a * h + x[i]) in sum i < 3: h[i + 1]^2\n"
                   "def written(a: f64) -> f64 =\n"
                   "  let p = tanh(a * 0.1 + x[0])\n  let q = tanh(a * p + x[1])\n  let r = tanh(a * q + x[2])\n  in p^2 + q^2 + r^2")
report(TORCH, 79609, "cross-entropy of logits: second derivatives by forward over reverse, in both arguments",
       r"hessian(\(z: f64, y: f64): nn.binary_cross_entropy(z, y))(0.75, 0.25)", lambda: logit_hessian(), imports="nn")
report(TORCH, 136662, "an element that is added twice to the same place", "grad(f)([[1.0, 2.0, -3.0], [4.0, 5.0, 6.0]])",
       [[0.0, 0.0, -2.0], [0.0, 0.0, 2.0]],
       definitions="def f(x: [n, 3]f64) -> f64 =\n"
                   "  let y = fold y = (for i < n, j < 3: 0.0) for i < n: y with [i, 0] += abs(x[i, 2]) with [i, 0] += abs(x[i, 2])\n"
                   "  in sum i, j: y[i, j]")
report(TORCH, 193061, "two normalisations in a row with one scale and shift", "grad(f)([2.0, 0.5, 1.0], [0.1, -0.2, 0.3])",
       lambda: normalised(), imports="nn",
       definitions="let x = [0.5, -1.0, 2.0]\n"
                   "def f(g: [3]f64, b: [3]f64) -> f64 =\n"
                   "  let y = nn.layer_norm(nn.layer_norm(x, g, b, 1e-5), g, b, 1e-5) in sum i: f64(i + 1) * y[i]^2")
report(JAX, 10993, "Jacobian of a cumulative product from the end", "jacobian(f)([2.0, -1.0, 3.0])",
       [[-3.0, 6.0, -2.0], [0.0, 3.0, -1.0], [0.0, 0.0, 1.0]],
       definitions="def f(x: [n]f64) -> [n]f64 = for i: prod j in i..n: x[j]")
report(JAX, 654, "a screened potential of pairs, whose diagonal is masked", "(f(x), grad(f)(x))", lambda: pairs(),
       definitions="let q = [1.0, -0.5, 2.0]\nlet x = [[0.0, 0.0, 0.0], [1.0, 0.5, 0.0], [0.0, -0.5, 1.0]]\n"
                   "def f(x: [3, 3]f64) -> f64 =\n"
                   "  let d = for i < 3, j < 3: sqrt(sum k: (x[i, k] - x[j, k])^2)\n"
                   "  in (sum i < 3, j < 3: if i == j then 0 else q[i] * q[j] / d[i, j] * erfc(d[i, j])) / 2")
report(JAX, 12984, "mixed second derivatives in every order of nesting",
       "(grad(\\x: grad(\\y: u(x, y))(0.3))(0.7), grad(\\y: grad(\\x: u(x, y))(0.7))(0.3), hessian(u)(0.7, 0.3).0.1)",
       lambda: [-math.cos(0.7 * math.pi) * math.cos(0.3 * math.pi) / 2] * 3,
       definitions="def u(x: f64, y: f64) -> f64 = -(1 / (2 * pi^2)) * sin(x * pi) * sin(y * pi)")

SCIPY = "scipy/scipy"
report(SCIPY, 1936, "a correlation within a longer second signal", "signal.correlate_valid([0.0, 1.0, 2.0, 3.0], [0.0, 1.0])",
       [1.0, 2.0, 3.0], imports="signal")
report(SCIPY, 11973, "a convolution of the first signal's length, of one element with more",
       "(signal.convolve_same([1.0,], [1.0, -1.0]), signal.convolve_same([1.0, -1.0], [1.0,]))", lambda: same(), imports="signal")
report(SCIPY, 9941, "a full convolution by Fourier transforms is commutative",
       "(round(1e9 * signal.fft_convolve(a, b)) / 1e9, round(1e9 * signal.fft_convolve(b, a)) / 1e9)",
       lambda: [np.convolve([1, 2, -1, 0.5, 3], [2, -1.0])] * 2, imports="signal",
       definitions="let a = [1.0, 2.0, -1.0, 0.5, 3.0]\nlet b = [2.0, -1.0]")


def poisson():
    x, k = np.array([0.5, -1.0]), np.array([3.0, 0.0])
    return [np.exp(x) - k, np.diag(np.exp(x))]


def carried():
    def total(p):
        h, sum_ = mpmath.mpf("0.1"), mpmath.mpf(0)
        for v in (0.5, -1, 2):
            h = mpmath.tanh(p[0] * h + v)
            sum_ += h**2
        return [sum_]

    return differences(total, [0.3])[0][0]


def logit_hessian():
    s = 1 / (1 + math.exp(-0.75))
    return [[s * (1 - s), -1.0], [-1.0, 0.0]]


def normalised():
    def norm(v, g, b):
        m = sum(v) / 3
        s = mpmath.sqrt(sum((u - m) ** 2 for u in v) / 3 + mpmath.mpf(1e-5))
        return [(u - m) / s * c + d for u, c, d in zip(v, g, b)]

    def loss(p):
        g, b = p[:3], p[3:]
        y = norm(norm([mpmath.mpf("0.5"), mpmath.mpf(-1), mpmath.mpf(2)], g, b), g, b)
        return [sum((i + 1) * v**2 for i, v in enumerate(y))]

    row = differences(loss, [2.0, 0.5, 1.0, 0.1, -0.2, 0.3])[0]
    return [row[:3], row[3:]]


def pairs():
    q = [1, mpmath.mpf("-0.5"), 2]

    def energy(x):
        total = mpmath.mpf(0)
        for i in range(3):
            for j in range(i):
                d = mpmath.sqrt(sum((x[3 * i + k] - x[3 * j + k]) ** 2 for k in range(3)))
                total += q[i] * q[j] / d * mpmath.erfc(d)
        return [total]

    x = [0.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0, -0.5, 1.0]
    row = differences(energy, x)[0]
    return [float(energy([mpmath.mpf(v) for v in x])[0]), [row[0:3], row[3:6], row[6:9]]]


def same():
    from scipy.signal import convolve

    return [convolve([1.0], [1.0, -1.0], "same"), convolve([1.0, -1.0], [1.0], "same")]
