"""Golden values of programs/std: the library's linear algebra, optimisers and differential equations."""

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.special

from registry import golden

REGULAR = np.array([[0.0, 2.0, 1.0, -1.0], [4.0, 1.0, 0.5, 2.0], [-1.0, 3.0, 2.0, 0.25], [2.0, 2.0, -6.0, 1.0]])
SINGULAR = np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 3.0]])


def lu(a):
    packed, swaps = scipy.linalg.lu_factor(a)
    rows = np.arange(len(a))
    for k, p in enumerate(swaps):
        rows[[k, p]] = rows[[p, k]]
    odd = np.count_nonzero(swaps != np.arange(len(a))) % 2
    return {"lu": packed, "rows": rows, "sign": -1 if odd else 1}


def qr(a):
    q, r = np.linalg.qr(a)
    signs = np.where(np.diag(r) < 0, -1.0, 1.0)
    return {"q": q * signs, "r": signs[:, None] * r}


def eigh(a):
    values, vectors = np.linalg.eigh((a + a.T) / 2)
    greatest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    return {"values": values, "vectors": vectors * np.sign(greatest)}


def slogdet(a):
    sign, logdet = np.linalg.slogdet(a)
    return {"sign": sign, "logdet": logdet}


@golden("std/products")
def products():
    a = np.sin(np.arange(12.0)).reshape(3, 4)
    b = np.subtract.outer(np.arange(4.0) ** 2, 3 * np.arange(2.0)) / 4
    square = a @ a.T
    hot = np.zeros((2, 3))
    hot[1, 2] = 1.0
    return {
        "made": (
            np.eye(2),
            np.zeros((2, 3)),
            np.ones((2, 3)),
            [0.0, 0.0, 1.0],
            np.zeros(3),
            hot,
            np.diag([5, 7]),
            [[5, 7]],
            [[5], [7]],
        ),
        "parts": (0, 4, np.diag(square), np.tril(a), np.triu(a), (a[:, :3] + a[:, :3].T) / 2),
        "mapped": (
            np.exp(a),
            np.hypot(a, b[:, [0, 1, 0]].T),
            np.linalg.norm(a, axis=1),
            np.abs(a).max(axis=0),
        ),
        "products": (
            np.inner(a[0], a[1]),
            11,
            np.cross(a[:, 0], a[:, 1]),
            np.outer(a[:, 2], b[:, 1]),
            a @ b,
            a @ b[:, 0],
            np.array([1.0, -2.0, 0.5]) @ a,
            np.kron(a, b),
            [[3, 6], [4, 8]],
            np.sum(a**2),
        ),
        "norms": [
            np.sum(a[0] ** 2),
            np.linalg.norm(a[0]),
            np.linalg.norm(a[0], 1),
            np.linalg.norm(a[1], np.inf),
            a[2, 3] / np.linalg.norm(a[2]),
            np.linalg.norm(a),
            np.linalg.norm(a, 1),
            np.linalg.norm(a, np.inf),
            np.linalg.norm(a, 2),
            np.linalg.norm(b, 2),
        ],
        "empty": np.zeros(5),
    }


@golden("std/factorisations")
def factorisations():
    h = scipy.linalg.hilbert
    a, s = REGULAR, SINGULAR
    positive = 3 * np.eye(4) + h(4)
    tall = np.cos(np.outer(np.arange(5.0), np.arange(1.0, 4.0)))
    cholesky = np.linalg.cholesky(positive)
    logdet = np.linalg.slogdet(positive)[1]
    minors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(s, i, 0), j, 1)) for j in range(3)] for i in range(3)
    ]
    return {
        # SciPy does not pivot on a column of zeros either; its factors are those of the rest.
        "lu": (
            lu(a),
            np.tril(lu(a)["lu"], -1) + np.eye(4),
            {"lu": [[0.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.5, 2.5]], "rows": [0, 1, 2], "sign": 1},
        ),
        "determinants": [np.linalg.det(a), np.linalg.det(a), 0.0, np.linalg.det(h(5)), 1.0, 1.0, -1.0, -24.0],
        "cofactors": (np.linalg.det(a) * np.linalg.inv(a).T, minors),
        "slogdet": [
            slogdet(a),
            {"sign": np.sign(np.linalg.det(a)), "logdet": slogdet(a)["logdet"] + 800 * np.log(10)},
            {"sign": 1.0, "logdet": 0.0},
        ],
        "inverse": np.linalg.inv(a),
        "cholesky": (cholesky, cholesky, []),
        "logdet": [logdet, logdet, 0.0],
        "qr": (qr(tall), qr(a), {"q": [[], []], "r": []}),
        "orthogonal": True,
    }


@golden("std/systems")
def systems():
    a = REGULAR
    b = np.array([[1.0, 0.5], [-2.0, 1.5], [0.5, 0.0], [4.0, -3.0]])
    t, p = a + 5 * np.eye(4), a + 9 * np.eye(4)
    p = (p + p.T) / 2
    lower = scipy.linalg.solve_triangular(t, b, lower=True)
    upper = scipy.linalg.solve_triangular(t, b, lower=False)
    x, y = np.linalg.solve(a, b), scipy.linalg.solve(p, b, assume_a="pos")
    line = np.polynomial.polynomial.polyfit(np.arange(6.0), [1.0, 1.5, 3.5, 4.0, 4.5, 7.0], 1)
    laplacian = 2 * np.eye(9) - np.eye(9, k=1) - np.eye(9, k=-1)
    return {
        "lower": (lower[:, 0], lower),
        "upper": (upper[:, 0], upper),
        "solve": (x[:, 0], x, x[:, 1]),
        "positive": (y[:, 0], y[:, 1], y),
        "lstsq": (line, x[:, 0], []),
        "cg": (np.linalg.solve(laplacian, np.arange(9) % 3 - 0.5), True, True),
        "cg_stopped": (3, False),
    }


@golden("std/eigenvalues")
def eigenvalues():
    h = scipy.linalg.hilbert
    i = np.arange(5)
    lopsided = h(5) - np.diag(i % 2.0)
    power = eigh(h(4) + np.diag(np.arange(4.0)))
    value, vector = power["values"][-1], power["vectors"][:, -1]
    return {
        "eigh": eigh(lopsided),
        "values": (np.linalg.eigvalsh(h(6)), [-2.0], []),
        "diagonal": {"values": [-1.0, 2.0, 3.0], "vectors": np.eye(3)[:, [1, 2, 0]]},
        "equal": ([-2.0, 0.0, 0.0, 2.0], True),
        "power": (value, vector, True),
        "negative": (-value, True),
        "stopped": (5, False),
    }


@golden("std/linalg_single")
def linalg_single():
    a = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]])
    x = np.linalg.solve(a, [1.0, -2.0, 0.5])
    return np.linalg.cholesky(a), x, np.linalg.slogdet(a)[1], eigh(a), qr(a), np.linalg.det(a), x


@golden("std/minimisers")
def minimisers():
    bowl = ([0.0, 1.0, 2.0], 0.0, True)
    valley = ([1.0, 1.0], 0.0, True)
    return {
        "gradient_descent": bowl,
        "momentum": bowl,
        "adam": bowl,
        "lbfgs": [valley] * 3,
        "many": (np.ones(12), 0.0, True),
        "newton": valley,
        "downhill": ([1.0], -0.25, True),
        "at_once": (0, True),
        "stopped": (3, False),
        "quick": True,
    }


@golden("std/least_squares")
def least_squares():
    i = np.arange(8.0)
    y = np.array([5.1, 3.3, 2.4, 1.55, 1.3, 0.9, 0.85, 0.7])
    fit = scipy.optimize.least_squares(
        lambda x: x[0] * np.exp(-x[1] * i) + x[2] - y,
        [1.0, 1.0, 0.0],
        jac=lambda x: np.stack([np.exp(-x[1] * i), -i * x[0] * np.exp(-x[1] * i), np.ones(8)], axis=1),
        method="lm",
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    decay, valley = (fit.x, fit.cost, True), ([1.0, 1.0], 0.0, True)

    def ridge(a, b, damping):
        a = np.array(a)
        return np.linalg.solve(a.T @ a + damping * np.eye(a.shape[1]), a.T @ np.array(b))

    return {
        "decay": [decay, decay],
        "rosenbrock": [valley, valley],
        "circle": (2.0, True),
        "damped": (
            ridge([[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]], [1.0, 0.0, 2.0], 0.5),
            ridge([[1.0, 2.0, -1.0]], [3.0], 0.25),
        ),
    }


@golden("std/runge_kutta")
def runge_kutta():
    a = np.array([[0.0, 1.0], [-4.0, -0.3]])

    def states(order, h):
        terms = [np.linalg.matrix_power(h * a, k) / scipy.special.factorial(k) for k in range(order + 1)]
        return [np.linalg.matrix_power(sum(terms), k) @ [1.0, 0.5] for k in range(6)]

    def simpson(t):
        return (np.exp(-t) + 4 * np.exp(-t - 0.5) + np.exp(-t - 1)) / 6

    return {
        "times": np.linspace(0.5, 1.5, 6),
        "euler": states(1, 0.2),
        "rk4": states(4, 0.2),
        "by_record": states(4, 0.2),
        "backwards": states(4, -0.2),
        "quadrature": 1 + np.cumsum([0.0, simpson(0.0), simpson(1.0)]),
        "none": [[1.0, 0.5]],
        "empty": [[], [], []],
    }


@golden("std/dormand_prince")
def dormand_prince():
    def solve(f, ts, x0):
        return scipy.integrate.solve_ivp(
            f, (ts[0], ts[-1]), x0, method="DOP853", t_eval=ts, rtol=1e-13, atol=1e-14
        ).y.T

    def orbit(t, x):
        r3 = np.hypot(x[0], x[1]) ** 3
        return [x[2], x[3], -x[0] / r3, -x[1] / r3]

    prey = solve(lambda t, x: [x[0] * (1.5 - x[1]), x[1] * (x[0] - 3)], [0.0, 1.0, 1.5, 4.0, 10.0], [10.0, 5.0])
    # The solution of x' = 50 (cos t - x) from 0 on in closed form.
    t = 2.0
    driven = [50 / 2501 * (50 * np.cos(t) + np.sin(t) - 50 * np.exp(-50 * t))]
    return {
        "prey": prey,
        "prey_backwards": [10.0, 5.0],
        "orbit": (solve(orbit, [0.0, 20.0], [0.4, 0.0, 0.0, 2.0])[-1], True),
        "driven": (driven, True),
        "path": (t, driven, True, True),
        "at_rest": ([1.0, 2.0], 0),
        "long": (1.0, 0),
    }
