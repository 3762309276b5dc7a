"""Golden values of programs/std: gradients, by steps along the imaginary axis.

An analytic function that is real on the reals has `f(x + i h) = f(x) + i h f'(x) + O(h^2)`, so a tiny `h` yields
its derivative to the last bits (W. Squire, G. Trapp, SIAM Review 40, 1998). A function that is not analytic, or a
second derivative, has its formula written out.
"""

import numpy as np
import scipy.linalg
from scipy.special import erf, loggamma, softmax

from registry import golden

STEP = 1e-100
DATA = np.array([0.5, 2.0, -1.0, 4.5, 1.25])


def gradients(f, *args):
    """Returns the gradients of `f` by all its arguments, numbers or arrays."""
    args = [np.asarray(a, dtype=complex) for a in args]

    def in_argument(k):
        found = np.zeros(args[k].shape)
        for place in np.ndindex(found.shape):
            moved = args[k].copy()
            moved[place] += 1j * STEP
            found[place] = np.imag(f(*args[:k], moved, *args[k + 1 :])) / STEP
        return found if found.shape else float(found)

    return [in_argument(k) for k in range(len(args))]


def normal(x, m, s):
    return -(((x - m) / s) ** 2) / 2 - np.log(s)


def logsumexp(x):
    return np.log(np.sum(np.exp(x)))


def curvature(x):
    p = softmax(x)
    return np.diag(p) - np.outer(p, p)


@golden("std/density_gradients")
def densities():
    def logistic(x, m, s):
        return -(x - m) / s - np.log(s) - 2 * np.log1p(np.exp(-(x - m) / s))

    i, j = np.ogrid[:4, :3]
    residuals = i * j - i / 2 - [0.5, -1.0, 2.0]
    covariance = np.array([[2.0, 0.5, -0.25], [0.5, 1.0, 0.75], [-0.25, 0.75, 1.5]])
    pulls = np.linalg.solve(covariance, residuals.T).T
    # The symmetric part is read, so the gradient is symmetric.
    by_covariance = (pulls.T @ pulls - 4 * np.linalg.inv(covariance)) / 2

    def moment(x, k):
        return np.mean((x - np.mean(x)) ** k)

    def correlation(x):
        c, d = x - np.mean(x), np.array([1.0, 3.0, 2.0, 5.0, -2.0]) - 1.8
        return np.sum(c * d) / np.sqrt(np.sum(c**2) * np.sum(d**2))

    # The 0.3-quantile of five elements lies at position 1.2 among the sorted ones.
    quantile = np.zeros(5)
    quantile[np.argsort(DATA)[1:3]] = [0.8, 0.2]
    return (
        (
            gradients(normal, 0.3, 0.5, 1.5),
            gradients(lambda x, m, s: normal(np.log(x), m, s) - np.log(x), 0.3, 0.5, 0.75),
            gradients(lambda x, r: np.log(r) - r * x, 0.3, 2.5),
        ),
        (
            gradients(lambda x, m, s: -np.log(s) - np.log1p(((x - m) / s) ** 2), 0.3, 0.5, 2.0),
            gradients(lambda x, m, s: (x - m) / s - np.log(s), 0.3, 0.5, 2.0),
            gradients(logistic, 0.3, 0.5, 0.25),
            (0.0, 0.4, -0.4),
        ),
        (
            [None, *gradients(lambda z: -np.log1p(np.exp(-z)), 0.7)],
            [None, None, 2 / 0.3 - 4 / 0.7],
            [None, 3 / 2.5 - 1],
            [None, np.eye(5)[1] - softmax(DATA)],
        ),
        (-pulls, pulls.sum(0), by_covariance),
        gradients(lambda x, m, s: np.sum(normal(x, m, s)), DATA, 0.5, 1.5),
        (
            *gradients(lambda x: moment(x, 3) / moment(x, 2) ** 1.5, DATA),
            *gradients(lambda x: np.sqrt(moment(x, 2) * 5 / 4), DATA),
            quantile,
            *gradients(correlation, DATA),
        ),
        curvature(DATA),
    )


@golden("std/gamma_gradients")
def gammas():
    def gamma(x, a, r):
        return a * np.log(r) - loggamma(a) + (a - 1) * np.log(x) - r * x

    def beta(x, a, b):
        ways = loggamma(a) + loggamma(b) - loggamma(a + b)
        return (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - ways

    def student(x, df, m, s):
        norm = loggamma((df + 1) / 2) - loggamma(df / 2) - np.log(df) / 2 - np.log(s)
        return norm - (df + 1) / 2 * np.log1p(((x - m) / s) ** 2 / df)

    def negative_binomial(r, p):
        return loggamma(4 + r) - loggamma(r) + r * np.log(p) + 4 * np.log1p(-p)

    def dirichlet(x, a):
        return loggamma(np.sum(a)) + np.sum((a - 1) * np.log(x) - loggamma(a))

    return (
        gradients(gamma, 0.3, 2.5, 1.5),
        gradients(beta, 0.3, 2.0, 3.5),
        gradients(student, 0.3, 3.5, 0.5, 2.0),
        [None, *gradients(negative_binomial, 2.5, 0.4)],
        gradients(dirichlet, [0.2, 0.3, 0.5], [1.5, 2.0, 0.5]),
    )


@golden("std/signal_gradients")
def signals():
    x = np.array([0.5, 2.0, -1.0, 4.5, 1.25, 0.0])
    c = np.array([0.5, -1.0, 2.0])
    z = np.array([1.0, 2.0, -1.5, 0.5, 0.25, 0.75]) + 1j * np.array([0.5, 0.25, 2.0, -1.0, 0.75, 0.5])
    w = np.array([0.25, -0.25, 1.0, 0.5, 0.75, 2.0]) + 1j * np.array([0.25, 0.5, 0.25, 1.0, -3.0, 1.25])
    transform = scipy.linalg.dft(6)

    def energy(mode):
        return lambda x, c: np.sum(np.convolve(x, c, mode) ** 3)

    def stencil(mode):
        return lambda x: np.sum(np.convolve(np.pad(x, 1, mode=mode), c[::-1], "valid") ** 3)

    def parts(v):
        return {"re": v.real, "im": v.imag}

    rows = transform[:4]
    spectrum = rows @ x
    jacobian = 2 * np.real(np.conj(spectrum)[:, None] * rows) / 6

    def line(xs, ys, at):
        t = (at - xs[2]) / (xs[3] - xs[2])
        return (1 - t) * ys[2] + t * ys[3]

    return (
        [gradients(energy(mode), x, c) for mode in ("valid", "same", "full")],
        [*gradients(stencil("wrap"), x), *gradients(stencil("reflect"), x)],
        (parts(transform.conj().T @ w), parts(transform @ w / 6), parts(transform @ w)),
        (np.array([1.0, -0.5, 2.0, 0.25]) @ jacobian, jacobian @ z.real),
        gradients(line, [-1.0, 0.5, 1.0, 3.0, 7.0, 8.0], x, 2.5),
        (
            *gradients(lambda x: np.sum(np.cumsum(x) * z.real), x),
            *gradients(lambda x: np.sum(np.cumprod(x) * z.real), x),
        ),
    )


@golden("std/nn_gradients")
def networks():
    x, dy = np.array([0.5, 2.0, -1.0, 1.25]), np.array([1.0, -0.5, 2.0, 0.25])
    cotangent = np.array([1.0, 2.0, -1.0, 0.5])
    p = softmax(x)

    def soft(s):
        e = np.exp(s)
        return e / np.sum(e)

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    def norm(x, gain, bias):
        d = x - np.mean(x)
        return np.sum(cotangent * (gain * d / np.sqrt(np.mean(d**2) + 0.001) + bias))

    def attended(q, k, v):
        rows = [soft(q[i] @ k[: i + 1].T / np.sqrt(2)) @ v[: i + 1] for i in range(3)]
        return np.sum(np.array(rows) ** 2)

    i, j = np.ogrid[:3, :2]
    q = (i * i + 2 * j + 1) % 4 / 2 - 0.5

    def gate(seed):
        i, j = np.ogrid[:2, :2]
        return (
            (seed + 2 * i + 3 * j) % 7 / 4 - 0.75,
            (2 * seed + i * i + j) % 5 / 4 - 0.5,
            (seed - np.arange(2)) / 8,
        )

    def unrolled(*weights):
        def at(k, x, s):
            w, u, b = weights[3 * k : 3 * k + 3]
            return w @ x + u @ s + b

        s, memory = np.zeros(2), np.zeros(2)
        for t in range(3):
            v = np.array([t - 1.0, 0.5])
            memory = sigmoid(at(1, v, s)) * memory + sigmoid(at(0, v, s)) * np.tanh(at(3, v, s))
            s = sigmoid(at(2, v, s)) * np.tanh(memory)
        return s[0] + 2 * s[1]

    g = gradients(unrolled, *(a for seed in (1, 2, 3, 4) for a in gate(seed)))
    names = ("input", "state", "bias")
    root = np.sqrt(2 / np.pi)
    activations = [
        (lambda v: v * (1 + erf(v / np.sqrt(2))) / 2, 0.7),
        (lambda v: v * (1 + np.tanh(root * (v + 0.044715 * v**3))) / 2, 0.7),
        (lambda v: v * sigmoid(v), 0.7),
        (lambda v: np.expm1(v), -0.7),
        (lambda v: 1.0507009873554805 * 1.6732632423543772 * np.expm1(v), -0.7),
        (lambda v: v * np.tanh(np.log1p(np.exp(v))), 0.7),
        (lambda v: v / (1 - v), -0.7),
    ]
    return (
        (p, curvature(x), curvature(x) @ dy, dy - dy.sum() * p),
        (p - np.eye(4)[2], curvature(x)),
        gradients(norm, x, dy, x),
        [gradients(f, at)[0] for f, at in activations],
        gradients(attended, q, q[::-1], q[:, ::-1]),
        (dict(zip(names, g[:3])), dict(zip(names, g[9:]))),
        np.clip(x - dy, -1, 1) / 4,
    )
