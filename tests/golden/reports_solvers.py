"""Reports of roots, fixed points, minima, linear systems and differential equations, and of their derivatives."""

import math

import mpmath
import numpy as np

from reports_derivatives import differences
from reports_table import report

JAX = "jax-ml/jax"
JAXOPT = "google/jaxopt"
OPTIMISTIX = "patrick-kidger/optimistix"
DIFFRAX = "patrick-kidger/diffrax"
TORCHDIFFEQ = "rtqichen/torchdiffeq"
SENSITIVITY = "SciML/SciMLSensitivity.jl"
DIFFERENTIAL = "SciML/DifferentialEquations.jl"
SCIPY = "scipy/scipy"
OPTIM = "JuliaNLSolvers/Optim.jl"
LSQFIT = "JuliaNLSolvers/LsqFit.jl"

NAN = float("nan")


def rounded(value, digits):
    """Returns nested lists of numbers, rounded to so many decimals."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [rounded(item, digits) for item in value]
    return round(float(value), digits)


# Roots and fixed points.

report(JAXOPT, 141, "the inverse of a function with parameters, as a root: gradient by the value and the parameters",
       r"value_and_grad(\(y: f64, a: f64, b: f64): optim.root(\x: [a * x[0]^2 + b * x[0] - y * (a + b)], [0.9,])[0])(0.5, 2.0, 1.0)",
       lambda: inverse(), imports="optim")
report(OPTIMISTIX, 204, "a system of squares, whose Jacobian is singular at its root and in one component at the start",
       r"(round_to(optim.root(\y: [(y[0] - 1)^2, (y[1] + y[0] - 2)^2], [2.0, 2.0]), 6), round_to(optim.root(\y: [(y[0] - 1)^2, (y[1] - 2)^2], [2.0, 2.0]), 6))",
       [[1.0, 1.0], [1.0, 2.0]], imports="optim")
report(OPTIMISTIX, 44, "a full step of Newton's method leaves the domain: steps are shortened where the function is NaN",
       r"value_and_grad(\t: optim.root(\x: [log(x[0]) - t], [40.0,])[0])(0.5)", lambda: [math.exp(0.5)] * 2, imports="optim")
report(OPTIMISTIX, 151, "the Hessian of a root by two parameters",
       r"hessian(\(a: f64, b: f64): optim.root(\x: [x[0]^3 + b * x[0] - a], [1.0,])[0])(2.0, 1.5)", lambda: cubic_hessian(), imports="optim")
report("erc-automatix/jaxmat", 12, "a search that starts at its root: the derivative by a parameter is that of the root",
       r"jacobian(\t: optim.root(\x: [x[0] - t, x[1] - x[0]^2], [2.0, 4.0]))(2.0)", [1.0, 4.0], imports="optim")
report("casadi/casadi", 835, "a parameter plus a root that equals it, from any factor",
       r"for k: grad(\x: [1.0, 1.1][k] * x + optim.root(\v: [v[0] - x, v[1] - x^2], [0.0, 0.0])[1])(1.0)", [3.0, 3.1], imports="optim")
report("locuslab/mdeq", 8, "the fixed point of a layer: gradient by its weights and by its input",
       r"grad(\(w: [2, 2]f64, b: [2]f64): sum i: f64(i + 1) * optim.fixed_point(\x: for i: tanh(b[i] + (sum j: w[i, j] * x[j])), [0.0, 0.0])[i])([[0.3, -0.2], [0.1, 0.4]], [0.5, -1.0])",
       lambda: layer(), imports="optim")


def inverse():
    def root(p):
        y, a, b = p
        return [(-b + mpmath.sqrt(b**2 + 4 * a * y * (a + b))) / (2 * a)]

    return [float(root([mpmath.mpf(v) for v in (0.5, 2, 1)])[0]), differences(root, [0.5, 2.0, 1.0])[0]]


def cubic_hessian():
    def slopes(p):
        a, b = p
        x = mpmath.findroot(lambda x: x**3 + b * x - a, 1)
        return [1 / (3 * x**2 + b), -x / (3 * x**2 + b)]

    return differences(slopes, [2.0, 1.5])


def layer():
    def total(p):
        x = [mpmath.mpf(0)] * 2
        for _ in range(400):
            x = [mpmath.tanh(p[4 + i] + sum(p[2 * i + j] * x[j] for j in range(2))) for i in range(2)]
        return [x[0] + 2 * x[1]]

    row = differences(total, [0.3, -0.2, 0.1, 0.4, 0.5, -1.0])[0]
    return [[row[0:2], row[2:4]], row[4:6]]


# Minima.

report(JAXOPT, 285, "the minimum of a function that captures a vector: Jacobian by the vector",
       r"round_to(jacobian(\(y: [3]f64): optim.lbfgs(\x: (sum i: x[i]^2) - (sum i: x[i] * y[i]), [0.0, 0.0, 0.0], 5, 1e-9, 100).x)([1.0, -2.0, 3.0]), 9)",
       lambda: (np.eye(3) / 2).tolist(), imports="optim")
report(JAXOPT, 386, "coefficients of ridge regression, as a minimum: derivative by the penalty",
       r"round_to(jacobian(\t: optim.newton(\w: ((sum i: ((sum j: x[i, j] * w[j]) - y[i])^2) + t * (sum j: w[j]^2)) / 2, [0.0, 0.0], 1e-10, 50).x)(2.0), 9)",
       lambda: rounded(ridge(), 9), imports="optim",
       definitions="let x = [[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]]\nlet y = [1.0, -1.0, 2.0]")
report("ericchansen/q2mm", 243, "a loss of a relaxed chain of springs: gradient by their constants",
       "round_to(grad(loss)([1.0, 2.0, 3.0]), 8)", lambda: rounded(chain(), 8), imports="optim",
       definitions="def loss(k: [3]f64) -> f64 =\n"
                   "  let m = optim.minimize(\\x: (k[0] * (x[0] - 1)^2 + k[1] * (x[1] - x[0] - 1)^2 + k[2] * (x[1] - 3.5)^2) / 2, [0.0, 0.0])\n"
                   "  in (m.x[1] - m.x[0] - 0.75)^2")
report("SciML/Optimization.jl", 1094, "the minimum of a steep sum of squares close to the start",
       r"let m = optim.minimize(\x: sum i: ((d[i] - 100 * x[0]) / 0.1)^2, [0.0,]) in (m.converged, round_to(m.x, 8))",
       [True, [-0.0516]], imports="optim", definitions="let d = [-5.0, -5.5, -4.75, -5.25, -5.3]")
report(OPTIM, 66, "a double well from a place where it is concave: every method finds a bottom",
       r"let f = \(x: [1]f64): (x[0]^2 - 1)^2 in round_to([optim.newton(f, [0.1,], 1e-9, 100).x[0], optim.lbfgs(f, [0.5,], 5, 1e-9, 100).x[0], "
       r"optim.gradient_descent(f, [-0.25,], 1e-9, 1000).x[0], optim.minimize(f, [-0.01,]).x[0]], 6)",
       [1.0, 1.0, -1.0, -1.0], imports="optim")
report(JAX, 15486, "a sum of a square and an exponential, to a tolerance that its values do not show",
       r"let m = optim.lbfgs(\x: x[0]^2 + exp(x[0]), [0.0,], 5, 1e-10, 100) in (m.converged, round_to(m.x[0], 9))",
       lambda: [True, round(float(-mpmath.lambertw(0.5)), 9)], imports="optim")


def ridge():
    x, y = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]]), np.array([1.0, -1.0, 2.0])
    h = x.T @ x + 2 * np.eye(2)
    return -np.linalg.solve(h, np.linalg.solve(h, x.T @ y))


def chain():
    def loss(k):
        a = mpmath.matrix([[k[0] + k[1], -k[1]], [-k[1], k[1] + k[2]]])
        x = mpmath.lu_solve(a, mpmath.matrix([k[0] - k[1], k[1] + k[2] * mpmath.mpf("3.5")]))
        return [(x[1] - x[0] - mpmath.mpf("0.75")) ** 2]

    return differences(loss, [1.0, 2.0, 3.0])[0]


# Least squares.

report(SCIPY, 10767, "a fit from a start that is tiny and not 0",
       r"let m = optim.levenberg_marquardt(\x: [x[0] - 3], [1e-9,], 1e-12, 100) in (m.converged, m.x)", [True, [3.0]], imports="optim")
report(SCIPY, 7519, "a bell of height 1.2e-8, fitted from a rough start",
       r"let m = optim.levenberg_marquardt(\p: (for i < 101: let w = 1 + 0.01 * f64(i) in p[0] * exp(-((w - p[1]) / p[2])^2 / 2) - 1.2e-8 * exp(-((w - 1.4) / 0.11)^2 / 2)), [1.5e-8, 1.6, 0.2], 1e-18, 1000)"
       " in (m.converged, round_to([1e8 * m.x[0], m.x[1], abs(m.x[2])], 6))", [True, [1.2, 1.4, 0.11]], imports="optim")
report(LSQFIT, 178, "an exponential whose factor and rate are of the order 1e-9",
       r"let m = optim.levenberg_marquardt(\p: (for i < 20: let x = 0.1 + 0.25 * f64(i) in p[0] * exp(p[1] * x / 4e-10) - 1e-9 * exp(4e-10 * x / 4e-10)), [2e-9, 2e-10], 1e-12, 1000)"
       " in (m.converged, round_to(1e9 * m.x, 6))", [True, [1.0, 0.4]], imports="optim")
report(SCIPY, 19963, "a decay whose parameters differ by eight orders of magnitude",
       r"let m = optim.levenberg_marquardt(\p: (for i < 12: let t = 500 * f64(i) in p[0] * exp(-t / p[1]) + p[2] - (3e-4 * exp(-t / 2e3) + 1e-4)), [1e-4, 1e3, 0.0], 1e-16, 1000)"
       " in (m.converged, round_to([1e4 * m.x[0], 1e-3 * m.x[1], 1e4 * m.x[2]], 6))", [True, [3.0, 2.0, 1.0]], imports="optim")
report(LSQFIT, 238, "a fit of a product of two factors, of which only the product is told: value, and no derivative",
       r"(let m = optim.levenberg_marquardt(\p: (for i < 4: (p[0] * p[1] - 2) * f64(i)), [1.0, 1.0], 1e-12, 100) in (m.converged, round_to(m.x, 6)), "
       r"grad(\c: optim.levenberg_marquardt(\p: (for i < 4: (p[0] * p[1] - c) * f64(i)), [1.0, 1.0], 1e-12, 100).x[0])(2.0))",
       lambda: [[True, [round(math.sqrt(2), 6)] * 2], NAN], imports="optim")

# Linear systems by iteration.

report(JAX, 40254, "conjugate gradients in a loss so small that squares of its cotangent underflow",
       r"1e160 * grad(\b: 1e-160 * (sum i: linalg.cg(\x: linalg.matvec(a, x), b, 1e-12, 50).x[i]))([1.0, 2.0, 3.0])",
       lambda: np.linalg.solve(np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]), np.ones(3)), imports="linalg",
       definitions="let a = [[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]")
report(SCIPY, 19948, "GMRES where the start solves the system: no step, and the derivative of the solution",
       r"let s = \(b: [2]f64): linalg.gmres(\x: linalg.matvec([[2.0, 1.0], [0.0, 4.0]], x), b, 1e-12, 10) in (s([0.0, 0.0]).x, s([0.0, 0.0]).converged, jacobian(\(b: [2]f64): s(b).x)([0.0, 0.0]))",
       [[0.0, 0.0], True, [[0.5, -0.125], [0.0, 0.25]]], imports="linalg")
report(SCIPY, 9745, "a matrix that is not symmetric, by GMRES: solution and gradient by the matrix",
       r"let g = value_and_grad(\(a: [3, 3]f64): sum i: f64(i + 1) * linalg.gmres(\x: linalg.matvec(a, x), [1.0, 1.0, 1.0], 1e-13, 10).x[i])([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])"
       " in round_to(g.1, 9)", [[0.0, -1.0, -1.0], [0.0, -1.0, -1.0], [0.0, -3.0, -3.0]], imports="linalg")

# Differential equations at equilibria.

report(DIFFRAX, 720, "a system that is at rest from the start: end, and derivatives by the start and a rate",
       r"round_to(let f = \(y: f64, k: f64): ode.dopri5(\_, x: [k * (x[0] - 10)], 0.0, 1.2, [y,], 1e-9, 1e-9).x[0] in [f(10.0, -2.0), grad(f)(10.0, -2.0).0, grad(f)(10.0, -2.0).1], 7)",
       lambda: [10.0, round(math.exp(-2.4), 7), 0.0], imports="ode")
report(DIFFRAX, 448, "a great component that rests beside a small one that decays: Jacobian by both rates",
       r"round_to(jacobian(\(k: [2]f64): ode.dopri5(\_, x: -k * x, 0.0, 2.0, [1e5, 5.0], 1e-10, 1e-10).x)([0.0, 1.0]), 4)",
       lambda: [[-2e5, 0.0], [0.0, round(-10 * math.exp(-2), 4)]], imports="ode")
report("SciML/OrdinaryDiffEq.jl", 3382, "drag by the length of a velocity that is zero: Jacobian of the motion by its start",
       "round_to(jacobian(end)([1.0, 2.0, 0.0, 0.0]), 8)", [[1.0, 0.0, 1.5, 0.0], [0.0, 1.0, 0.0, 1.5], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
       imports="ode linalg",
       definitions="def end(s: [4]f64) -> [4]f64 =\n"
                   "  ode.dopri5(\\_, x: (let r = linalg.norm(x[2..4]) in [x[2], x[3], -r * x[2], -r * x[3]]), 0.0, 1.5, s, 1e-10, 1e-10).x")
report("eelregit/pmwd", 18, "a slope far smaller than the state, which exists for a short time only",
       r"round_to(1e9 * (ode.dopri5(\t, x: [1e-9 * sqrt(1 - t^2)], 0.0, 0.5, [1.0,], 1e-8, 1e-8).x[0] - 1), 2)",
       lambda: round((0.5 * math.sqrt(0.75) + math.asin(0.5)) / 2, 2), imports="ode")
report(DIFFRAX, 143, "a root of the state, NaN where a step is too long: end, and derivative by the start",
       r"round_to((let e = value_and_grad(\y: ode.dopri5(\_, x: [-2 * sqrt(x[0])], 0.0, 0.99, [y,], 1e-10, 1e-10).x[0])(1.0) in [e.0, e.1]), 6)",
       [0.0001, 0.01], imports="ode")

# Derivatives of solutions by parameters, starts and times.

report(SENSITIVITY, 273, "a rate that jumps at given times: gradient by its values",
       r"round_to(grad(\(p: [4]f64): ode.dopri5(\t, x: [p[max(0, min(3, i64(floor(t))))] * x[0]], 0.0, 4.0, [1.0,], 1e-10, 1e-10).x[0])([0.1, -0.2, 0.3, 0.05]), 5)",
       lambda: [round(math.exp(0.25), 5)] * 4, imports="ode")
report(SENSITIVITY, 543, "the sign of a gradient by the start, of squared distances at several times",
       r"round_to(grad(\u: (let x = ode.dopri5_at(\_, x: -x, [0.0, 0.5, 1.0, 2.0], [u,], 1e-10, 1e-10) in sum i in 1..4: (x[i, 0] - 1)^2 / 2))(1.5), 7)",
       lambda: round(sum((1.5 * math.exp(-t) - 1) * math.exp(-t) for t in (0.5, 1, 2)), 7), imports="ode")
report("pymc-devs/sunode", 35, "squared distances that include the start, by the logarithm of the start",
       r"round_to(grad(\p: (let x = ode.dopri5_at(\_, x: -x, [0.0, 0.5, 1.0], [exp(p),], 1e-10, 1e-10) in sum i: (x[i, 0] - 1)^2 / 2))(0.4), 7)",
       lambda: round(sum((math.exp(0.4 - t) - 1) * math.exp(0.4 - t) for t in (0, 0.5, 1)), 7), imports="ode")
report(SENSITIVITY, 1663, "starts that depend on parameters of the slope: gradients of the start's sum and of all states' sum",
       r"round_to(grad(\(p: [2]f64): sum j: at(p)[0, j])([1.2, 2.1]), 7)", lambda: rounded(starts(1), 7), imports="ode",
       definitions="def at(p: [2]f64) -> [3, 3]f64 =\n"
                   "  let k = p[0] + p[1]\n"
                   "  in ode.dopri5_at(\\_, y: [y[1] - k * y[0], y[2] - k * y[1], -k * y[2]], [0.0, 0.5, 1.0], for i: p[0] * cos(0.1 * f64(i + 1)), 1e-10, 1e-10)",
       part="start")
report(SENSITIVITY, 1663, "starts that depend on parameters of the slope: gradient of the sum of all states",
       r"round_to(grad(\(p: [2]f64): sum i, j: at(p)[i, j])([1.2, 2.1]), 7)", lambda: rounded(starts(3), 7), imports="ode",
       definitions="def at(p: [2]f64) -> [3, 3]f64 =\n"
                   "  let k = p[0] + p[1]\n"
                   "  in ode.dopri5_at(\\_, y: [y[1] - k * y[0], y[2] - k * y[1], -k * y[2]], [0.0, 0.5, 1.0], for i: p[0] * cos(0.1 * f64(i + 1)), 1e-10, 1e-10)",
       part="all")
report(SENSITIVITY, 693, "the solution by its first time, its last time and its start",
       r"round_to((let g = grad(\(a: f64, b: f64, u: f64): ode.dopri5(\t, x: [x[0] * cos(t)], a, b, [u,], 1e-10, 1e-10).x[0])(0.5, 2.0, 1.5) in [g.0, g.1, g.2]), 7)",
       lambda: rounded(by_times(), 7), imports="ode")
report(TORCHDIFFEQ, 166, "a weighted sum of states at three times, by the times",
       r"round_to(grad(\(ts: [3]f64): (let x = ode.dopri5_at(\t, x: [x[0] * cos(t)], ts, [1.5,], 1e-10, 1e-10) in x[1, 0] + 2 * x[2, 0]))([0.5, 1.0, 2.0]), 7)",
       lambda: rounded(by_places(), 7), imports="ode")
report(TORCHDIFFEQ, 172, "forwards in time and back: the derivative by the start is 1 and by a rate 0",
       r"round_to((let g = grad(\(z: f64, k: f64): (let e = ode.dopri5(\t, x: [k * sin(x[0]) + t], 0.0, 1.0, [z,], 1e-11, 1e-11).x in ode.dopri5(\t, x: [k * sin(x[0]) + t], 1.0, 0.0, e, 1e-11, 1e-11).x[0]))(0.5, 1.5) in [g.0, g.1]), 7)",
       [1.0, 0.0], imports="ode")
report(DIFFERENTIAL, 707, "a growth integrated from a later to an earlier time: derivative by the rate",
       r"round_to(grad(\p: ode.dopri5(\_, u: p * u, 1.0, 0.0, [0.1,], 1e-10, 1e-10).x[0])(1.01), 8)", lambda: round(-0.1 * math.exp(-1.01), 8),
       imports="ode")
report(DIFFERENTIAL, 475, "prey and predators: gradient of squared distances at several times by three rates",
       r"round_to(grad(\(p: [3]f64): (let u = ode.dopri5_at(\_, u: [p[0] * u[0] - p[1] * u[0] * u[1], u[0] * u[1] - p[2] * u[1]], [0.0, 0.5, 1.0, 1.5], [1.0, 1.0], 1e-10, 1e-10) in sum i, j: (1 - u[i, j])^2 / 2))([1.5, 1.0, 3.0]), 5)",
       lambda: rounded(prey(), 5), imports="ode")


def starts(times):
    def total(p):
        a, k = p[0], p[0] + p[1]
        c = [a * mpmath.cos(mpmath.mpf(0.1) * i) for i in (1, 2, 3)]
        found = mpmath.mpf(0)
        for t in (mpmath.mpf(0), mpmath.mpf("0.5"), mpmath.mpf(1))[:times]:
            states = (c[0] + c[1] * t + c[2] * t**2 / 2, c[1] + c[2] * t, c[2])
            found += sum(states) * mpmath.exp(-k * t)
        return [found]

    return differences(total, [1.2, 2.1])[0]


def by_times():
    def end(p):
        a, b, u = p
        return [u * mpmath.exp(mpmath.sin(b) - mpmath.sin(a))]

    return differences(end, [0.5, 2.0, 1.5])[0]


def by_places():
    def total(t):
        y = [mpmath.mpf("1.5") * mpmath.exp(mpmath.sin(v) - mpmath.sin(t[0])) for v in t[1:]]
        return [y[0] + 2 * y[1]]

    return differences(total, [0.5, 1.0, 2.0])[0]


def prey():
    """Returns the derivatives by the variational equations, which SciPy integrates."""
    from scipy.integrate import solve_ivp

    a, b, c = 1.5, 1.0, 3.0

    def slope(_, z):
        x, y = z[:2]
        s = z[2:].reshape(2, 3)
        jac = np.array([[a - b * y, -b * x], [y, x - c]])
        by = np.array([[x, -x * y, 0.0], [0.0, 0.0, -y]])
        return np.concatenate([[a * x - b * x * y, x * y - c * y], (jac @ s + by).ravel()])

    path = solve_ivp(slope, (0, 1.5), [1.0, 1.0] + [0.0] * 6, "DOP853", t_eval=[0.5, 1.0, 1.5], rtol=1e-12, atol=1e-13).y.T
    return sum((z[:2] - 1) @ z[2:].reshape(2, 3) for z in path)
