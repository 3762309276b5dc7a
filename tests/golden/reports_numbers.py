"""Reports of wrong numbers: sums, integers, densities, minima, files."""

import math

import mpmath
import numpy as np

from reports_table import report

NUMPY = "numpy/numpy"
SCIPY = "scipy/scipy"
PANDAS = "pandas-dev/pandas"
DISTRIBUTIONS = "JuliaStats/Distributions.jl"

NAN = float("nan")
INF = float("inf")

# Integers.

report(PANDAS, 10155, "the mean of integers whose sum leaves 64 bits, taken of reals",
       "stats.mean(for i < 500: f64(20150515061816532))", 20150515061816532.0, imports="stats")
report(NUMPY, 21506, "the least integer divided by -1, and its remainder: quotients wrap",
       "let m = -9223372036854775807 - 1 in (m // -1, m % -1)", [-(2**63), 0])
report(NUMPY, 8022, "a remainder of products of integers in the thousands of millions",
       "let p = 3329087 in ((p - 1) // 2 + ((p - 1) // 2) * ((2 * p - 1) // 3) % p * ((3 * p - 1) // 4 % p)) % p",
       lambda: remainder())
report(NUMPY, 20634, "powers of integers near the limit of a short word", "(222^2, (-222)^4, 222 + 2^15)",
       [49284, 222**4, 222 + 2**15])
report("pola-rs/polars", 2500, "the mean of short reals whose sum has more digits than they hold",
       "(sum i < 2097152: f32(255)) / f32(2097152)", 255.0,
       verdict="mended: 255.97 by the interpreter, which added short reals one after the other")


def remainder():
    p = 3329087
    return ((p - 1) // 2 + ((p - 1) // 2) * ((2 * p - 1) // 3) % p * ((3 * p - 1) // 4 % p)) % p


# Densities at the edge of their support and far out.

report("jax-ml/jax", 549, "densities of beta, exponential and gamma at the edge of their support",
       "(stats.exponential_logpdf(0.0, 2.0), stats.gamma_logpdf(0.0, 1.0, 2.0), stats.beta_logpdf(0.0, 1.0, 2.0), "
       "stats.beta_logpdf(1.0, 2.0, 1.0), stats.gamma_logpdf(0.0, 2.0, 1.0), stats.exponential_logpdf(-1.0, 2.0))",
       lambda: [math.log(2), math.log(2), math.log(2), math.log(2), -INF, -INF], imports="stats")
report(SCIPY, 12490, "the logistic density in both tails, and its derivative there",
       r"(stats.logistic_logpdf(800.0, 0.0, 1.0), stats.logistic_logpdf(-800.0, 0.0, 1.0), grad(\x: stats.logistic_logpdf(x, 0.0, 1.0))(-800.0))",
       [-800.0, -800.0, 1.0], imports="stats")
report(SCIPY, 6227, "a density that decreases with a square, by the logarithm of its parts",
       r"let f = \x: log(x) - x^2 / 2 in (f(50.0), f(1e150))", lambda: [math.log(50) - 1250, -5e299])
report(SCIPY, 6217, "zero times the logarithm of zero within a density", "stats.xlogy(0.0, 0.0)", 0.0, imports="stats")
report(DISTRIBUTIONS, 1197, "a density of shape 1 at 0 and at infinity",
       "(stats.gamma_logpdf(0.0, 1.0, 1.0), stats.gamma_logpdf(inf, 1.0, 1.0), stats.exponential_logpdf(inf, 1.0))",
       [0.0, -INF, -INF], imports="stats",
       verdict="mended: the density of gamma at infinity was NaN")
report(SCIPY, 17558, "the logarithm of a beta function below the least real",
       "stats.log_beta(494.0, 590.0)", lambda: float(mpmath.log(mpmath.beta(494, 590))), imports="stats")
report(SCIPY, 370, "a beta function of a large and a small argument",
       "(stats.log_beta(1e20, 2.0), stats.log_beta(1e5, 0.5), stats.log_beta(3.0, 1e15))",
       lambda: [log_beta(1e20, 2), log_beta(1e5, 0.5), log_beta(3, 1e15)], imports="stats")


def log_beta(a, b):
    with mpmath.workdps(60):
        return float(mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(mpmath.mpf(a) + b))


# Minimisers must not report a failure as a success.

report(SCIPY, 4793, "a function that is NaN everywhere has no minimum",
       r"(optim.minimize(\x: nan * x[0], [1.0,]).converged, optim.gradient_descent(\x: nan * x[0], [1.0,], 1e-8, 100).converged, "
       r"optim.newton(\x: nan * x[0], [1.0,], 1e-8, 100).converged)", [False, False, False], imports="optim")
report(SCIPY, 9640, "a function that is NaN away from its start",
       r"optim.lbfgs(\x: if x[0] < 1 then nan else x[0]^2, [1.0,], 5, 1e-8, 100).converged", False, imports="optim")
report("JuliaNLSolvers/Optim.jl", 948, "a function that is infinite everywhere has no minimum",
       r"(optim.minimize(\x: inf + 0 * x[0], [0.0, 0.0]).converged)", False, imports="optim",
       verdict="mended: an infinite value with a zero gradient counted as converged")
report("tensorflow/probability", 341, "Rosenbrock's function from the usual start",
       r"let m = optim.minimize(\x: (1 - x[0])^2 + 100 * (x[1] - x[0]^2)^2, [-1.2, 1.0]) in (m.converged, round(1e6 * m.x) / 1e6)",
       [True, [1.0, 1.0]], imports="optim")
report(SCIPY, 15643, "the absolute value: no minimum found is worse than the start",
       r"let m = optim.lbfgs(\x: abs(x[0]), [1.1,], 5, 1e-8, 100) in m.value <= 1e-3", True, imports="optim")
report(SCIPY, 3581, "an exponential least-squares fit from a start with a steep gradient",
       r"let m = optim.levenberg_marquardt(\p: (for i < 5: exp(p[0] + p[1] * f64(i)) - exp(0.5 - 0.25 * f64(i))), [3.0, 1.0], 1e-12, 200) in (m.converged, round(1e6 * m.x) / 1e6)",
       [True, [0.5, -0.25]], imports="optim")

# Files.

report(PANDAS, 12340, "a column of whole numbers written as reals of sixteen digits",
       "table.SourceID", [6144039378640938, 6144053114071082], definitions='let table: {SourceID: [?n]i64, Photons: [?n]i64, x: [?n]f64} = load("a.csv")',
       files={"a.csv": "SourceID,Photons,x\n6144039378640938.000000,71,1457.802817\n6144053114071082.000000,8,nan\n"})
report(PANDAS, 48170, "a long integer beside a missing one, read as integers: refused, never rounded",
       "0", {"error": "E0604"}, definitions='let table: {col1: [?n]i64, col2: [?n]i64} = load("a.csv")',
       files={"a.csv": "col1,col2\n,1\n1234567890123456789,\n"})
report(PANDAS, 5697, "an integer of nineteen digits after an empty line", "table.x", [1111111111111111111],
       definitions='let table: {x: [?n]i64} = load("a.csv")', files={"a.csv": "x\n\n1111111111111111111\n"})
report(PANDAS, 2697, "whole numbers in scientific notation beside long ones", "table.id",
       [135217135789158401, 135217135700000], definitions='let table: {id: [?n]i64} = load("a.csv")',
       files={"a.csv": "id,text\n135217135789158401,a\n1352171357E+5,b\n"},
       verdict="mended: a whole number lost its last digit beside one in scientific notation")
report("NVIDIA/cudf", 1109, "reals of seventeen digits", "table.s", [0.41718530654907227, 4.13114070892334, 64.53478860855103],
       definitions='let table: {n: [?n]i64, s: [?n]f64} = load("a.csv")',
       files={"a.csv": "n,s\n100,0.41718530654907227\n100000,4.13114070892334\n2000000,64.53478860855103\n"})
report(PANDAS, 56839, "short reals rounded from the text once", "for i: f64(table.x[i])", lambda: [float(np.float32("33.8967352")), float(np.float32("55299.6"))],
       definitions='let table: {x: [?n]f32} = load("a.csv")', files={"a.csv": "x\n33.8967352\n55299.6\n"})
report("PEtab-dev/PEtab", 443, "a real reads back as the same", "table.x", [0.999, 0.1, 1e23, 5e-324, 1.7976931348623157e308],
       definitions='let table: {x: [?n]f64} = load("a.csv")', files={"a.csv": "x\n0.999\n0.1\n1e23\n5e-324\n1.7976931348623157e308\n"})
