"""Derivatives of solutions: minima, zeros, fixed points, solutions of linear systems and of differential equations.
Most starts are the solution or an equilibrium, at which the solver's steps do not determine the derivative."""

import mpmath
import numpy as np
import scipy.integrate
import scipy.linalg

from checks import check


def at(program, name, expr, closed, imports, method="closed form"):
    check(program, name, expr, {method: lambda: closed}, imports=imports)


# Linear systems. With S = A^-1: dx = S db - S dA x.

MATRIX = np.array([[2.0, 1.0], [1.0, 3.0]])
OTHER = np.array([[2.0, 1.0], [-1.0, 3.0]])


def by_entries(a, b):
    """Returns the derivative of x = a^-1 b by the entries of a."""
    inverse = np.linalg.inv(a)
    return -np.einsum("ki,j->kij", inverse, inverse @ b)


for _solver, _a in (("cg", MATRIX), ("gmres", OTHER)):
    _x = f"linalg.{_solver}(\\x: linalg.matvec(a, x), b, 1e-13, 10).x"
    for _label, _b in (("nothing", [0.0, 0.0]), ("an eigenvector", [1.0, 1.618033988749895]), ("a vector", [1.0, -0.5])):
        at(
            "std/systems",
            f"{_solver} of {_label} by the right-hand side",
            f"(let a = {_a.tolist()} in jacobian(\\(b: [2]f64): {_x}))({_b})",
            np.linalg.inv(_a),
            ["linalg"],
        )
    at(
        "std/systems",
        f"{_solver} by the matrix",
        f"(let b = [1.0, 2.0] in jacobian(\\(a: [2, 2]f64): {_x}))({_a.tolist()})",
        by_entries(_a, np.array([1.0, 2.0])),
        ["linalg"],
    )
    _s = np.linalg.inv(_a)
    at(
        "std/systems",
        f"the second derivative of {_solver} along the identity",
        f"hvp(\\(t: f64): let b = [1.0, 2.0] let a = for i < 2, j < 2: {_a.tolist()}[i, j] + [i == j] * t in ({_x})[0])(0.0, 1.0)",
        (2 * _s @ _s @ _s @ np.array([1.0, 2.0]))[0],
        ["linalg"],
    )

# The eigenvector of [[2 + p, p], [p, 1]], which is that of 2 at p = 0.
for _label, _expr, _value in (
    ("eigenvalue", "grad(\\p: f(p).value)(0.0)", 1.0),
    ("eigenvector", "jacobian(\\p: f(p).vector)(0.0)", [0.0, 1.0]),
    ("eigenvalue again", "hvp(\\p: f(p).value)(0.0, 1.0)", 2.0),
):
    at(
        "std/eigenvalues",
        f"the {_label} that power_iteration finds by a matrix",
        f"(let f = \\(p: f64): linalg.power_iteration([[2.0 + p, p], [p, 1.0]], [1.0, 0.0], 1e-13, 1000) in {_expr})",
        _value,
        ["linalg"],
    )

# Minima. Of (x - t)^2 + (x - t)^4 / 10 the minimum is t, wherever the search starts.

STARTS = [1.0, 1.5, 1.7, 2.0, 3.0]
for _label, _call in (
    ("minimize", "optim.minimize(f, [1.0,])"),
    ("lbfgs", "optim.lbfgs(f, [1.0,], 5, 1e-10, 100)"),
    ("newton", "optim.newton(f, [1.0,], 1e-10, 100)"),
    ("gradient_descent", "optim.gradient_descent(f, [1.0,], 1e-10, 1000)"),
    ("momentum", "optim.momentum(f, [1.0,], 0.1, 0.5, 1e-10, 1000)"),
    ("adam", "optim.adam(f, [1.0,], 0.05, 1e-6, 5000)"),
):
    at(
        "std/minimisers",
        f"the minimum by its place: {_label}",
        f"(let at = \\(t: f64): (let f = \\(x: [1]f64): (x[0] - t)^2 + 0.1 * (x[0] - t)^4 in {_call}.x[0]) "
        f"let d = grad(at) in for k < 5: d({STARTS}[k]))",
        np.ones(5),
        ["optim"],
    )

# The minimum of (x - t)^2 + 3 (y - t x)^2 is (t, t^2); the value of (x - t)^2 + t^3 at its minimum is t^3.
TWO = "\\(x: [2]f64): (x[0] - t)^2 + 3 * (x[1] - t * x[0])^2"
for _label, _call in (
    ("gradient_descent", f"optim.gradient_descent({TWO}, [0.0, 0.0], 1e-8, 10000)"),
    ("newton", f"optim.newton({TWO}, [0.0, 0.0], 1e-8, 100)"),
    ("lbfgs", f"optim.lbfgs({TWO}, [0.5, 0.25], 5, 1e-8, 100)"),
):
    at("std/minimisers", f"a minimum in a valley: {_label}", f"jacobian(\\(t: f64): {_call}.x)(0.5)", [1.0, 1.0], ["optim"])
    at("std/minimisers", f"the second derivative of a minimum: {_label}", f"hvp(\\(t: f64): {_call}.x[1])(0.5, 1.0)", 2.0, ["optim"])
at(
    "std/minimisers",
    "the least value",
    "grad(\\(t: f64): optim.minimize(\\(x: [1]f64): (x[0] - t)^2 + t^3, [2.0,]).value)(2.0)",
    12.0,
    ["optim"],
)
at(
    "std/minimisers",
    "a minimum without a derivative",
    "grad(\\(t: f64): optim.lbfgs(\\(x: [1]f64): (x[0] - t)^4, [1.0,], 5, 1e-10, 100).x[0])(1.0)",
    np.nan,
    ["optim"],
)
at(
    "std/minimisers",
    "a search that has not arrived",
    "grad(\\(t: f64): optim.gradient_descent(\\(x: [1]f64): (x[0] - t)^2 + x[0]^4, [5.0,], 1e-10, 1).x[0])(1.0)",
    np.nan,
    ["optim"],
)

# Least squares: the residuals x - t, 3 (y - t x), y - 1, which are 0 at t = 1, x = y = 1.


def squares(t):
    """Returns the minimum of a linear problem, and its derivative by the normal equations."""
    a = np.array([[1.0, 0.0], [-3 * t, 3.0], [0.0, 1.0]])
    b = np.array([t, 0.0, 1.0])
    da = np.array([[0.0, 0.0], [-3.0, 0.0], [0.0, 0.0]])
    db = np.array([1.0, 0.0, 0.0])
    x = np.linalg.lstsq(a, b)[0]
    change = da.T @ (a @ x - b) + a.T @ (da @ x - db)
    return x, -np.linalg.solve(a.T @ a, change)


for _name in ("gauss_newton", "levenberg_marquardt"):
    for _t in (1.0, 2.0):
        at(
            "std/least_squares",
            f"a fit that starts at the end, t = {_t}: {_name}",
            f"jacobian(\\(t: f64): optim.{_name}(\\(x: [2]f64): [x[0] - t, 3 * (x[1] - t * x[0]), x[1] - 1], "
            f"{squares(_t)[0].tolist()}, 1e-10, 100).x)({_t})",
            squares(_t)[1],
            ["optim"],
            "implicit function",
        )

# Zeros and fixed points.

at("std/minimisers", "a root", "grad(\\(t: f64): optim.root(\\x: [x[0]^2 - t], [2.0,])[0])(4.0)", 0.25, ["optim"])
at("std/minimisers", "a root again", "hvp(\\(t: f64): optim.root(\\x: [x[0]^2 - t], [2.0,])[0])(4.0, 1.0)", -1 / 32, ["optim"])
at("std/minimisers", "a root by its start", "grad(\\(t: f64): optim.root(\\x: [x[0]^2 - 2.0], [t,])[0])(1.0)", 0.0, ["optim"])
at(
    "std/minimisers",
    "a root by a record",
    "grad(\\(p: {a: f64, b: [2]f64}): optim.root(\\x: [x[0]^2 - p.a * x[1], x[1] - p.b[0] * p.b[1]], [1.0, 1.0])[0])({a: 2.0, b: [3.0, 4.0]})",
    {"a": 24**0.5 / 4, "b": [24**0.5 / 6, 24**0.5 / 8]},
    ["optim"],
)
# x^2 = y with y^2 = t x: x is the cube root of t.
NESTED = "\\(t: f64): optim.root(\\x: [x[0]^2 - optim.root(\\y: [y[0]^2 - t * x[0]], [1.0,])[0]], [1.0,])[0]"
at("std/minimisers", "a root of a root", f"grad({NESTED})(3.0)", 3 ** (-2 / 3) / 3, ["optim"])
at("std/minimisers", "a root of a root again", f"hvp({NESTED})(3.0, 1.0)", -2 / 9 * 3 ** (-5 / 3), ["optim"])
# The minimum of (x - y)^2 + (x - 1)^2 with y^3 + y = t x: at t = 2, x = y = 1.
at(
    "std/minimisers",
    "a minimum of a function of a root",
    "grad(\\(t: f64): optim.minimize(\\(x: [1]f64): (x[0] - optim.root(\\y: [y[0]^3 + y[0] - t * x[0]], [1.0,])[0])^2 "
    "+ (x[0] - 1)^2, [0.5,]).x[0])(2.0)",
    0.1,
    ["optim"],
)


def kepler():
    e, m = 0.1, mpmath.mpf(1)
    x = mpmath.findroot(lambda x: m + mpmath.mpf(e) * mpmath.sin(x) - x, 1.1)
    slope = 1 / (1 - mpmath.mpf(e) * mpmath.cos(x))
    return float(slope), float(slope * mpmath.sin(x))


at(
    "std/minimisers",
    "a fixed point",
    "grad(\\(m: f64), (e: f64): optim.fixed_point(\\x: [m + e * sin(x[0])], [m,])[0])(1.0, 0.1)",
    kepler(),
    ["optim"],
    "implicit function",
)

# Differential equations. At an equilibrium the error estimate is 0, but the derivative still changes with time.


def ode(name, params, point, f, times, start, closed, method="closed form", wanted="x[0]", program="std/dormand_prince"):
    call = f"ode.dopri5(\\t, x: {f}, {times[0]}, {times[1]}, {start}, 1e-9, 1e-9)"
    at(program, name, f"grad(\\{params}: {call}.{wanted})({point})", closed, ["ode"], method)


ode("a pendulum at rest", "(v: f64)", "0.0", "[x[1], -sin(x[0])]", (0.0, 10.0), "[0.0, v]", np.sin(10))
ode("a fast decay at rest", "(u: f64)", "0.0", "[-50 * x[0] + u]", (0.0, 10.0), "[0.0,]", 0.02)
ode("a fast decay", "(u: f64)", "1.0", "[-50 * x[0] + u]", (0.0, 10.0), "[0.0,]", 0.02)
ode("a fast drive that is off", "(u: f64)", "0.0", "[u * sin(100 * t)]", (0.0, 10.0), "[0.0,]", (1 - np.cos(1000)) / 100)
ode(
    "growth at its limit",
    "(r: f64), (k: f64), (s: f64)",
    "1.5, 2.0, 2.0",
    "[r * x[0] * (1 - x[0] / k)]",
    (0.0, 4.0),
    "[s,]",
    (0.0, 1 - np.exp(-6.0), np.exp(-6.0)),
)
ode(
    "van der Pol's oscillator at rest",
    "(a: f64), (b: f64)",
    "0.0, 0.0",
    "[x[1], 0.5 * (1 - x[0]^2) * x[1] - x[0]]",
    (0.0, 6.0),
    "[a, b]",
    tuple(scipy.linalg.expm(6 * np.array([[0.0, 1.0], [-1.0, 0.5]]))[0]),
)
ode(
    "hunters and prey in balance",
    "(a: f64), (b: f64)",
    "3.0, 1.5",
    "[x[0] * (1.5 - x[1]), x[1] * (x[0] - 3)]",
    (0.0, 5.0),
    "[a, b]",
    tuple(scipy.linalg.expm(5 * np.array([[0.0, -3.0], [1.5, 0.0]]))[0]),
)
ode("a drive that begins slowly", "(p: f64)", "0.0", "[p * t^2 - x[0]]", (0.0, 3.0), "[0.0,]", 5 - 2 * np.exp(-3.0))
ode("backwards in time", "(p: f64), (a: f64)", "0.0, 0.0", "[p * cos(t) + x[0]]", (2.0, 0.0), "[a,]", ((np.exp(-2.0) * (np.cos(2) - np.sin(2)) - 1) / 2, np.exp(-2.0)))
ode(
    "a chain of heat at rest",
    "(u: f64)",
    "0.0",
    "for i < 8: (if i == 0 then u else x[max(i - 1, 0)]) - 2 * x[i] + [i < 7] * x[min(i + 1, 7)]",
    (0.0, 20.0),
    "for i < 8: 0.0",
    float(
        np.linalg.solve(
            2 * np.eye(8) - np.eye(8, k=1) - np.eye(8, k=-1),
            (np.eye(8) - scipy.linalg.expm(-20 * (2 * np.eye(8) - np.eye(8, k=1) - np.eye(8, k=-1))))[:, 0],
        )[7]
    ),
    wanted="x[7]",
)


def variational(f, slopes, times, start):
    """Returns the derivative of the first component at the end by the parameters, integrated with the state."""
    n, m = len(start[0]), start[1].shape[1]

    def both(t, z):
        x, s = z[:n], z[n:].reshape(n, m)
        by_state, by_parameters = slopes(t, x)
        return np.concatenate([f(t, x), (by_state @ s + by_parameters).ravel()])

    z = np.concatenate([start[0], start[1].ravel()])
    end = scipy.integrate.solve_ivp(both, times, z, method="DOP853", rtol=1e-13, atol=1e-14)
    return tuple(end.y[n : n + m, -1])


ode(
    "the convection of Lorenz",
    "(s: f64), (r: f64), (b: f64)",
    "10.0, 28.0, 2.5",
    "[s * (x[1] - x[0]), x[0] * (r - x[2]) - x[1], x[0] * x[1] - b * x[2]]",
    (0.0, 1.0),
    "[1.0, 1.0, 1.0]",
    variational(
        lambda t, x: np.array([10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 2.5 * x[2]]),
        lambda t, x: (
            np.array([[-10, 10, 0], [28 - x[2], -1, -x[0]], [x[1], x[0], -2.5]]),
            np.array([[x[1] - x[0], 0, 0], [0, x[0], 0], [0, 0, -x[2]]]),
        ),
        (0, 1),
        (np.ones(3), np.zeros((3, 3))),
    ),
    "variational equation",
)
ode(
    "a chemical clock",
    "(a: f64), (b: f64)",
    "1.0, 3.0",
    "[a + x[0]^2 * x[1] - (b + 1) * x[0], b * x[0] - x[0]^2 * x[1]]",
    (0.0, 8.0),
    "[1.5, 3.0]",
    variational(
        lambda t, x: np.array([1 + x[0] ** 2 * x[1] - 4 * x[0], 3 * x[0] - x[0] ** 2 * x[1]]),
        lambda t, x: (
            np.array([[2 * x[0] * x[1] - 4, x[0] ** 2], [3 - 2 * x[0] * x[1], -x[0] ** 2]]),
            np.array([[1, -x[0]], [0, x[0]]]),
        ),
        (0, 8),
        (np.array([1.5, 3.0]), np.zeros((2, 2))),
    ),
    "variational equation",
)
at(
    "std/dormand_prince",
    "several times of a pendulum at rest",
    "jacobian(\\(v: f64): let s = ode.dopri5_at(\\t, x: [x[1], -sin(x[0])], [0.0, 3.0, 10.0], [0.0, v], 1e-9, 1e-9) in for i < 3: s[i, 0])(0.0)",
    [0.0, np.sin(3), np.sin(10)],
    ["ode"],
)
at(
    "std/dormand_prince",
    "the curvature of a decay by its rate",
    "hvp(\\(k: f64): ode.dopri5(\\t, x: -k * x, 0.0, 2.0, [1.0,], 1e-10, 1e-10).x[0])(0.5, 1.0)",
    4 * np.exp(-1.0),
    ["ode"],
)
at(
    "std/dormand_prince",
    "a state by its times",
    "grad(\\(s: f64), (t: f64): ode.dopri5(\\t, x: [t * x[0]], s, t, [1.0,], 1e-10, 1e-10).x[0])(0.5, 1.5)",
    (-0.5 * np.exp(1.0), 1.5 * np.exp(1.0)),
    ["ode"],
)
