"""Reports of densities, distribution functions, special functions, log-sum-exp, losses and quantiles at their limits."""

import math

import mpmath
import numpy as np

from reports_derivatives import differences
from reports_table import report

JAX = "jax-ml/jax"
TORCH = "pytorch/pytorch"
TENSORFLOW = "tensorflow/tensorflow"
TFP = "tensorflow/probability"
NUMPY = "numpy/numpy"
SCIPY = "scipy/scipy"
DISTRIBUTIONS = "JuliaStats/Distributions.jl"

NAN = float("nan")
INF = float("inf")


def digits(f, *points):
    """Returns the values of a function, computed at many digits, as floats."""
    with mpmath.workdps(80):
        return [float(f(mpmath.mpf(x))) for x in points]


# The normal distribution far out.


def log_normal(z):
    return mpmath.log(mpmath.erfc(-z / mpmath.sqrt(2)) / 2)


def mills(z):
    return mpmath.exp(-(z**2) / 2) / mpmath.sqrt(2 * mpmath.pi) / (mpmath.erfc(-z / mpmath.sqrt(2)) / 2)


report(TENSORFLOW, 6891, "the logarithm of the normal distribution function in both tails",
       "(for i: stats.normal_logcdf([-6.0, -40.0, -1e5, 0.0][i], 0.0, 1.0), stats.normal_logcdf(8.0, 0.0, 1.0) * 1e15)",
       lambda: [digits(log_normal, -6, -40, -100000, 0), digits(log_normal, 8)[0] * 1e15], imports="stats")
report("stan-dev/stan", 1357, "first and second derivative of the logarithm of the normal distribution function below -37",
       r"let f = \z: stats.normal_logcdf(z, 0.0, 1.0) in for i: let z = [-5.0, -37.6, -38.5, -1000.0][i] in (grad(f)(z), grad(grad(f))(z))",
       lambda: [list(pair) for pair in zip(digits(mills, -5, -37.6, -38.5, -1000), digits(lambda z: -mills(z) * (mills(z) + z), -5, -37.6, -38.5, -1000))],
       imports="stats")

# The border of the support, and beyond it.

report(TFP, 884, "densities outside of their support", "(stats.beta_logpdf(-1.0, 10.0, 1000.0), stats.beta_logpdf(1.5, 0.5, 0.5), stats.gamma_logpdf(-1.0, 0.9, 2.0), "
       "stats.uniform_logpdf(-0.1, 0.0, 4.0), stats.uniform_logpdf(4.0, 0.0, 4.0), stats.lognormal_logpdf(-1.0, 0.0, 1.0), stats.lognormal_logpdf(0.0, 0.0, 1.0))",
       lambda: [-INF, -INF, -INF, -INF, -math.log(4), -INF, -INF], imports="stats")
report("awslabs/gluonts", 1056, "a mixture of a normal and a gamma density at a negative number: value, and gradient by the number and a weight",
       "value_and_grad(mixed)(-1.0, 0.25)", lambda: [math.log(0.75) - 0.125 - math.log(2 * math.sqrt(2 * math.pi)), [0.25, -1 / 0.75]], imports="stats",
       definitions="def mixed(x: f64, w: f64) -> f64 =\n"
                   "  stats.logsumexp([log(1 - w) + stats.normal_logpdf(x, 0.0, 2.0), log(w) + stats.gamma_logpdf(x, 0.9, 2.0)])")
report("pyro-ppl/pyro", 704, "beta densities at 0 and 1 for shapes of 5, 1 and 1/2",
       "for i: let a = [5.0, 1.0, 0.5][i] in (stats.beta_logpdf(0.0, a, a), stats.beta_logpdf(1.0, a, a))", [[-INF, -INF], [0.0, 0.0], [INF, INF]],
       imports="stats")
report("pyro-ppl/numpyro", 2088, "a beta density of shape 1 at 0: value, and derivatives by the place and the other shape",
       r"(stats.beta_logpdf(0.0, 1.0, 8.0), grad(\x: stats.beta_logpdf(x, 1.0, 8.0))(0.0), grad(\b: stats.beta_logpdf(0.0, 1.0, b))(8.0))",
       lambda: [math.log(8), -7.0, 0.125], imports="stats")
report("stan-dev/math", 1986, "a binomial probability of 1: sure and impossible counts, and a derivative",
       r"(stats.binomial_logpmf(1, 1, 1.0), stats.binomial_logpmf(0, 1, 1.0), grad(\p: stats.binomial_logpmf(3, 3, p))(1.0))", [0.0, -INF, 3.0],
       imports="stats")
report("scalanlp/breeze", 282, "a binomial probability of 0: sure and impossible counts, and a derivative",
       r"(stats.binomial_logpmf(0, 5, 0.0), stats.binomial_logpmf(2, 5, 0.0), grad(\p: stats.binomial_logpmf(0, 5, p))(0.0))", [0.0, -INF, -5.0],
       imports="stats")
report(TFP, 897, "counts that are more than the trials, or below 0", "(stats.binomial_logpmf(125, 120, 0.5), stats.binomial_logpmf(-1, 3, 0.5), stats.poisson_logpmf(-1, 2.0))",
       [-INF, -INF, -INF], imports="stats")
report("statsmodels/statsmodels", 9580, "a logistic likelihood with an outlier, whose probability is 0 or 1: value and gradient",
       "value_and_grad(loss)(3.0, -0.5)", lambda: outlier(), imports="stats",
       definitions="let x = [3.0, 4.0, 5.0, 6.0, 1000.0, -1000.0]\nlet y = [true, true, false, true, false, true]\n"
                   "def loss(a: f64, b: f64) -> f64 = sum i: stats.bernoulli_logit_logpmf(y[i], a + b * x[i])")


def outlier():
    x, y = [3.0, 4.0, 5.0, 6.0, 1000.0, -1000.0], [1, 1, 0, 1, 0, 1]

    def loss(p):
        return [sum(-mpmath.log1p(mpmath.exp(-(p[0] + p[1] * u) * (1 if v else -1))) for u, v in zip(x, y))]

    return [float(loss([mpmath.mpf(3), mpmath.mpf("-0.5")])[0]), differences(loss, [3.0, -0.5])[0]]


# Large parameters.


def student(v, x=1):
    h = mpmath.mpf(1) / 2
    return mpmath.loggamma((v + 1) / 2) - mpmath.loggamma(v / 2) - h * mpmath.log(v * mpmath.pi) - (v + 1) / 2 * mpmath.log1p(x**2 / v)


report(SCIPY, 18386, "Student's density for degrees of freedom up to 1e30",
       "for i: stats.student_t_logpdf(1.0, [1.0, 1e3, 1e8, 1e16, 1e30][i], 0.0, 1.0)", lambda: digits(student, 1, 1e3, 1e8, 1e16, 1e30), imports="stats")
report("jstat/jstat", 103, "Student's density at 0 where gamma functions overflow",
       "for i: exp(stats.student_t_logpdf(0.0, [341.0, 342.0, 343.0, 1e5][i], 0.0, 1.0))",
       lambda: digits(lambda v: mpmath.exp(student(v, 0)), 341, 342, 343, 1e5), imports="stats")
report(DISTRIBUTIONS, 1852, "the derivative of Student's density by its degrees of freedom, which falls like their square",
       r"for i: let v = [10.0, 1e4, 1e8][i] in v^2 * grad(\v: stats.student_t_logpdf(1.5, v, 0.0, 1.0))(v)",
       lambda: digits(lambda v: v**2 * mpmath.diff(lambda u: student(u, mpmath.mpf("1.5")), v), 10, 1e4, 1e8), imports="stats",
       verdict="mended: terms that cancel left eleven digits of the derivative at 1e4 and seven at 1e8")
report("kaskr/adcomp", 401, "the negative binomial distribution near that of Poisson",
       "for i: let r = [1e2, 1e6, 1e10, 1e14][i] in stats.negative_binomial_logpmf(3, r, r / (r + 1))", lambda: negative_binomial(), imports="stats",
       verdict="mended: terms that cancel leave five digits at 1e10 and one at 1e14")


def negative_binomial():
    found = []
    with mpmath.workdps(80):
        for r in (1e2, 1e6, 1e10, 1e14):
            p = mpmath.mpf(r / (r + 1))
            r = mpmath.mpf(r)
            found.append(float(mpmath.log(r * (r + 1) * (r + 2) / 6) + r * mpmath.log(p) + 3 * mpmath.log1p(-p)))
    return found


# Special functions.

report("mpmath/mpmath", 396, "digamma, its derivative and the logarithm of gamma close to the pole at 0",
       "for i: let x = [1e-30, -1e-30, 1e-200][i] in (x * digamma(x), x * x * polygamma(1.0, x), lgamma(x))",
       lambda: [[-1.0, 1.0, math.log(1e30)], [-1.0, 1.0, math.log(1e30)], [-1.0, NAN, math.log(1e200)]], imports="",
       verdict="agrees: 0 times infinity is NaN, as in IEEE 754")
report("mtommila/apfloat", 68, "the derivative of digamma in the middle between two far negative poles", "polygamma(1.0, -5003.5)",
       lambda: digits(lambda x: mpmath.pi**2 - mpmath.psi(1, 1 - x), -5003.5)[0])
report("haskell/math-functions", 15, "the logarithm of gamma close to overflow, above it and at infinity, with its derivative",
       "(lgamma(1e305), lgamma(1e308), lgamma(inf), for i: grad(lgamma)([1e305, 1e308, inf][i]))",
       lambda: [digits(mpmath.loggamma, 1e305)[0], INF, INF, digits(mpmath.log, 1e305, 1e308) + [INF]])
report("ruby/bigdecimal", 467, "the logarithm of gamma close to its zeros between negative poles",
       "for i: 1e15 * lgamma([-2.4570247382208006, -2.7476826467274127, -3.14358088834998, -3.955294284858598][i])",
       lambda: [1e15 * v for v in digits(lambda x: mpmath.log(abs(mpmath.gamma(x))), -2.4570247382208006, -2.7476826467274127, -3.14358088834998, -3.955294284858598)])
report("symengine/symengine", 806, "digamma at quarters", "(digamma(0.25), digamma(0.75), digamma(0.5))",
       lambda: [float(-mpmath.euler - 3 * mpmath.log(2) - mpmath.pi / 2), float(-mpmath.euler - 3 * mpmath.log(2) + mpmath.pi / 2), float(-mpmath.euler - 2 * mpmath.log(2))])
report("tenstorrent/tt-metal", 9910, "softplus of negative numbers, relative to the exponential",
       "for i: let x = [-3.0, -20.0, -40.0, -700.0][i] in softplus(x) / exp(x)", lambda: digits(lambda x: mpmath.log1p(mpmath.exp(x)) / mpmath.exp(x), -3, -20, -40, -700))
report("AlexeyAB/darknet", 5452, "mish and its derivative at negative numbers, relative to the exponential",
       r"for i: let x = [-2.0, -10.0, -20.0, -100.0][i] in (nn.mish(x) / exp(x), grad(\x: nn.mish(x))(x) / exp(x))", lambda: mish(), imports="nn")


def mish():
    def f(x):
        return x * mpmath.tanh(mpmath.log1p(mpmath.exp(x)))

    with mpmath.workdps(120):
        return [[float(f(x) / mpmath.exp(x)), float(mpmath.diff(f, x) / mpmath.exp(x))] for x in map(mpmath.mpf, (-2, -10, -20, -100))]


# Log-sum-exp, softmax and cross-entropy.

report(JAX, 6811, "log-sum-exp of infinities of one sign: the gradient is 0",
       r"(grad(\x: stats.logsumexp([-inf, -inf + x]))(1.0), grad(\x: stats.logsumexp([-inf, x, -inf]))(1.0), stats.logsumexp([-inf, inf, 3.0]))",
       [0.0, 1.0, INF], imports="stats")
report(JAX, 23842, "log-sum-exp over what a mask keeps, beside great elements that it drops",
       r"grad(\(x: [3]f64): stats.logsumexp(for i: if keep[i] then x[i] else -inf))([0.0, 1e3, 1.0])",
       lambda: [1 / (1 + math.e), 0.0, math.e / (1 + math.e)], imports="stats", definitions="let keep = [true, false, true]")
report(TORCH, 31829, "the forward algorithm of a hidden Markov model with impossible transitions: gradient by the log-emissions",
       "value_and_grad(likelihood)(for i, k: log(e[i, k]))", lambda: markov(), imports="stats",
       definitions="let a = [[0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [0.0, 0.0, 1.0]]\nlet e = [[0.7, 0.3], [0.4, 0.6], [0.1, 0.9]]\nlet seen = [0, 1, 1, 0]\n"
                   "def likelihood(b: [3, 2]f64) -> f64 =\n"
                   "  let start = for j < 3: (if j == 0 then 0.0 else -inf) + b[j, seen[0]]\n"
                   "  let last = fold α = start for t in 1..4: for j < 3: stats.logsumexp(for i < 3: α[i] + log(a[i, j])) + b[j, seen[t]]\n"
                   "  in stats.logsumexp(last)")
report(TORCH, 11752, "cross-entropy of great equal logits", r"value_and_grad(\(x: [2]f64): nn.cross_entropy(x, 1))([1e15, 1e15])",
       lambda: [math.log(2), [0.5, -0.5]], imports="nn")
report(TENSORFLOW, 1513, "cross-entropy of logits of the order 1e11, wrong by far", "nn.cross_entropy([-288181912000.0, -440300175000.0], 1)", 152118263000.0,
       imports="nn")
report(TENSORFLOW, 21271, "cross-entropy of soft labels and logits in the thousands: value and gradient",
       r"value_and_grad(\(x: [2]f64): 0 - (sum i: [0.25, 0.75][i] * nn.log_softmax(x)[i]))([-4885.5, 4878.0])", [0.25 * 9763.5, [-0.25, 0.25]], imports="nn")
report(TENSORFLOW, 2327, "cross-entropy where a row has no label: loss and gradient are 0",
       r"value_and_grad(\(x: [2, 3]f64): 0 - (sum b, i: [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]][b, i] * nn.log_softmax(x[b])[i]))([[800.0, -800.0, 0.0], [0.0, 0.0, 0.0]])",
       lambda: [math.log(3), [[0.0, 0.0, 0.0], [1 / 3, -2 / 3, 1 / 3]]], imports="nn")


def markov():
    a = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [0.0, 0.0, 1.0]])
    e = np.array([[0.7, 0.3], [0.4, 0.6], [0.1, 0.9]])
    seen = [0, 1, 1, 0]
    forward = [np.array([1.0, 0.0, 0.0]) * e[:, seen[0]]]
    for o in seen[1:]:
        forward.append(forward[-1] @ a * e[:, o])
    backward = [np.ones(3)]
    for o in reversed(seen[1:]):
        backward.insert(0, a @ (e[:, o] * backward[0]))
    total = forward[-1].sum()
    counts = np.zeros((3, 2))
    for f, b, o in zip(forward, backward, seen):
        counts[:, o] += f * b / total
    return [math.log(total), counts]


# Divergences.

report(TORCH, 89558, "the divergence from a sure outcome: gradients by both distributions",
       "value_and_grad(nn.kl)([1.0, 0.0], [0.5, 0.5])", lambda: [math.log(2), [[1 + math.log(2), -INF], [-2.0, 0.0]]], imports="nn")
report(DISTRIBUTIONS, 793, "a divergence where the first probability is 0", "nn.kl([0.0, 0.1, 0.9], [0.1, 0.1, 0.8])", lambda: 0.9 * math.log(0.9 / 0.8), imports="nn")
report("Lightning-AI/torchmetrics", 1029, "divergences where both probabilities are 0, and where only the second is",
       "(nn.kl([0.5, 0.5, 0.0], [0.5, 0.5, 0.0]), nn.kl([0.3, 0.3, 0.4], [0.5, 0.5, 0.0]))", [0.0, INF], imports="nn")
report(TORCH, 15288, "the divergence of a saturated sigmoid from a half, by its logit",
       r"for i: let l = [10.5, -6.0, 30.0][i] in exp(abs(l)) * grad(\l: stats.relative_entropy(sigmoid(l), 0.5) + stats.relative_entropy(sigmoid(-l), 0.5))(l)",
       lambda: digits(lambda x: x * mpmath.exp(abs(x)) / (1 + mpmath.exp(x)) / (1 + mpmath.exp(-x)), 10.5, -6, 30), imports="stats")

# Moments and quantiles.

report("elki-project/elki", 81, "the variance of equal numbers of fifteen digits, and the gradient of their standard deviation",
       "let x = replicate(12, 150494407424305.47) in (stats.variance(x), stats.sample_sd(x), sum i: abs(grad(stats.sd)(x)[i]))", [0.0, 0.0, 0.0], imports="stats")
report("meta-pytorch/tnt", 47, "the variance of numbers whose mean is a thousand million times their spread",
       "(stats.sample_variance([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]), grad(stats.sample_variance)([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]))",
       [30.0, [-4.0, -2.0, 2.0, 4.0]], imports="stats")
report(NUMPY, 12282, "quantiles of three numbers, the greatest infinite: the middle one is finite", "for k: stats.quantile([inf, 5.0, 4.0], q[k])",
       [4.5, 5.0, INF, INF], imports="stats", definitions="let q = [0.25, 0.5, 0.75, 1.0]")
report("JuliaLang/julia", 19542, "quantiles between two equal infinities",
       "(stats.quantile([inf, inf], 0.5), stats.median([-inf, -inf, 3.0, -inf]), stats.quantile([0.0, 1.0, inf, inf, inf], 0.95))", [INF, -INF, INF], imports="stats",
       verdict="mended: NaN, a difference of two equal infinities")
report(TORCH, 133998, "a quantile between a number and an infinity, on either side of the middle",
       "for k: (stats.quantile([0.0, inf], q[k]), stats.quantile([-inf, 0.0], q[k]))", [[INF, -INF], [INF, -INF]], imports="stats",
       definitions="let q = [0.4, 0.6]", verdict="mended: NaN between minus infinity and a number, though not between a number and infinity")
