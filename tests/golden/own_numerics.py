"""Golden values of programs/own: linear algebra, differential equations, transforms."""

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.sparse

from registry import golden


def hilbert(n):
    return scipy.linalg.hilbert(n)


@golden("own/cholesky")
def cholesky():
    a = hilbert(4) + 3.0 * np.eye(4)
    return (
        np.linalg.cholesky(a),
        np.linalg.slogdet(a)[1],
        np.linalg.solve(a, np.arange(1.0, 5.0)),
        [[1.5]],
        [],
    )


@golden("own/triangular_solve")
def triangular_solve():
    i = np.arange(6)
    lower = np.tril(1.0 + np.divide.outer(i, i + 1.0))
    x = scipy.linalg.solve_triangular(lower, 7.0 - i**2, lower=True)
    return [x, x, x]


@golden("own/lu")
def lu():
    a = np.array([[0.0, 2.0, 1.0, -1.0], [4.0, 1.0, 0.5, 2.0], [-1.0, 3.0, 2.0, 0.25], [2.0, 2.0, -6.0, 1.0]])
    packed, swaps = scipy.linalg.lu_factor(a)
    rows = np.arange(4)
    for k, p in enumerate(swaps):
        rows[[k, p]] = rows[[p, k]]
    sign = (-1.0) ** np.count_nonzero(swaps != np.arange(4))
    return (
        {"lu": packed, "rows": rows, "sign": sign},
        np.linalg.solve(a, [1.0, -2.0, 0.5, 4.0]),
        [np.linalg.det(a), 3.5, -1.0, 1.0],
    )


@golden("own/power_iteration")
def power_iteration():
    values, vectors = np.linalg.eigh(hilbert(4) + np.diag(np.arange(4.0)))
    v = vectors[:, -1]
    return values[-1], v * np.sign(v.sum())


@golden("own/conjugate_gradients")
def conjugate_gradients():
    a = 2 * np.eye(9) - np.eye(9, k=1) - np.eye(9, k=-1)
    return np.linalg.solve(a, np.arange(9) % 3 - 0.5), True, [0.5]


@golden("own/jacobi_eigenvalues")
def jacobi_eigenvalues():
    return np.linalg.eigvalsh(hilbert(5) - np.diag(np.arange(5.0) % 2)), [-2.0], 0.0


class Steps:
    """The classical Runge-Kutta method from its tableau."""

    A = np.array([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1, 0]])
    B = np.array([1, 2, 2, 1]) / 6

    @classmethod
    def run(cls, f, y, h, steps):
        states = [np.asarray(y, dtype=float)]
        for _ in range(steps):
            k = np.zeros((4, len(y)))
            for s in range(4):
                k[s] = f(states[-1] + h * cls.A[s] @ k)
            states.append(states[-1] + h * cls.B @ k)
        return np.array(states)


@golden("own/pendulum")
def pendulum():
    def field(damping):
        return lambda s: np.array([s[1], -damping * s[1] - 9.81 * np.sin(s[0])])

    def energy(s):
        return s[1] ** 2 / 2 - 9.81 * np.cos(s[0])

    free = Steps.run(field(0.0), [2.0, 0.0], 0.01, 200)
    damped = Steps.run(field(0.3), [1.0, 0.5], 0.05, 8)
    return damped, energy(free[-1]) - energy(free[0]), damped[:1]


@golden("own/fft")
def fft():
    x = np.sin(np.arange(8)) + 0.25j * np.arange(8)

    def pairs(z):
        return np.stack([z.real, z.imag], axis=1)

    cyclic = scipy.linalg.circulant([0.5, 0.0, -1.0, 0.0]) @ [1.0, 2.0, 3.0, 4.0]
    return pairs(np.fft.fft(x)), pairs(x), pairs(np.fft.fft(x[:5])), cyclic, [[3.0, -1.0]]


@golden("own/csr")
def csr():
    a = scipy.sparse.csr_matrix(
        ([2.0, 1.0, -1.0, 4.0, 0.5, 3.0, 1.0, -2.0, 5.0], [0, 3, 0, 2, 4, 3, 1, 2, 4], [0, 2, 2, 5, 6, 9])
    )
    x = np.arange(1.0, 6.0)
    # Ten steps of an affine map from zero: the first ten terms of a geometric series.
    off = (np.eye(5, k=1) + np.eye(5, k=-1)) / 4
    y = sum(np.linalg.matrix_power(off, k) for k in range(10)) @ x / 4
    return a @ x, a.T @ x, y, 3, []


@golden("own/nbody")
def nbody():
    mass = np.array([1.0, 0.1, 0.05, 0.02])
    i = np.arange(4)
    pos = np.stack([i * np.cos(i), i * np.sin(i), 0.1 * i], axis=1)
    vel = np.stack([-0.5 * np.sin(i), 0.5 * np.cos(i), np.zeros(4)], axis=1)

    def between(p):
        return p[None, :, :] - p[:, None, :]

    def pull(p):
        r = between(p)
        return np.einsum("j,ijc,ij->ic", mass, r, (np.sum(r**2, axis=2) + 1e-3) ** -1.5)

    def energy(p, v):
        upper = np.triu(np.outer(mass, mass) / np.sqrt(np.sum(between(p) ** 2, axis=2) + 1e-3), 1)
        return 0.5 * mass @ np.sum(v**2, axis=1) - upper.sum()

    before = energy(pos, vel)
    h = 0.02
    for _ in range(20):
        vel = vel + h / 2 * pull(pos)
        pos = pos + h * vel
        vel = vel + h / 2 * pull(pos)
    return pos, [before, energy(pos, vel)], mass @ vel


@golden("own/newton")
def newton():
    def states(a):
        xs = [max(a, 1.0)]
        while abs(xs[-1] ** 2 - a) > 1e-12 * a:
            xs.append((xs[-1] + a / xs[-1]) / 2)
        return np.array(xs)

    def row(a):
        xs = states(a)
        return np.sqrt(a), len(xs), np.max(xs[1:] / xs[:-1], initial=-np.inf)

    return [row(2.0), row(1.0), row(1e6)], sum(len(states(a)) for a in (2.0, 3.0, 0.25))


@golden("own/bisect")
def bisect():
    root = scipy.optimize.brentq(lambda x: x**3 - 2 * x - 5, 2.0, 3.0, xtol=1e-15)
    return [root, root, np.pi / 2, 0.5]


@golden("own/polynomials")
def polynomials():
    p, q = np.polynomial.Polynomial([1.0, -2.0, 0.5]), np.polynomial.Polynomial([4.0, 0.0, 3.0])
    return (
        (p + np.polynomial.Polynomial([1.0] * 4)).coef,
        (p * q).coef,
        p.deriv().coef,
        q.integ().coef,
        [p(2.0), (p * q)(-0.5), 7.0],
        (p**3).coef,
    )


@golden("own/heat")
def heat():
    def matrix(n):
        m = np.eye(n) + 0.25 * (np.eye(n, k=1) - 2 * np.eye(n) + np.eye(n, k=-1))
        m[[0, -1]] = np.eye(n)[[0, -1]]
        return m

    i = np.arange(8)
    u = np.linalg.matrix_power(matrix(8), 15) @ (i * (7 - i) + np.sin(i))
    v, moved, k = np.array([0.0, 3.0, -1.0, 8.0, 4.0]), np.inf, 0
    while moved > 1e-6:
        w = matrix(5) @ v
        v, moved, k = w, np.max(np.abs(w - v)), k + 1
    return u, True, [v, k]


@golden("own/sinkhorn")
def sinkhorn():
    i, j = np.ogrid[:3, :4]
    cost = (i / 2.0 - j / 3.0) ** 2
    a, b = np.array([0.5, 0.25, 0.25]), np.array([0.1, 0.2, 0.3, 0.4])
    plan = np.exp(-cost / 0.1)
    for _ in range(25):
        plan = plan * (a / plan.sum(axis=1))[:, None]
        plan = plan * (b / plan.sum(axis=0))[None, :]
    return plan, np.sum(cost * plan), plan.sum(axis=0)


@golden("own/conv2d")
def conv2d():
    x = np.sin(np.arange(60.0)).reshape(3, 4, 5)
    k = np.cos(np.arange(54.0)).reshape(2, 3, 3, 3)

    def convolve(mode):
        return np.array(
            [sum(scipy.signal.correlate2d(x[c], k[o, c], mode=mode) for c in range(3)) for o in range(2)]
        )

    same = convolve("same")
    windows = x[0, :4, :4].reshape(2, 2, 2, 2).max(axis=(1, 3)).sum()
    pooled = x[1, :, 1:3].reshape(2, 2, 2).max(axis=(1, 2))[:, None]
    return convolve("valid"), same, same[:, ::2, ::2], windows, pooled


def tableau(f, s, h):
    """Returns one step of the classical method, by its table of coefficients."""
    stages = []
    for row in ([], [0.5], [0, 0.5], [0, 0, 1]):
        stages.append(f(s + h * sum(a * k for a, k in zip(row, stages))))
    return s + h * np.tensordot([1 / 6, 1 / 3, 1 / 3, 1 / 6], stages, 1)


def observed(p, start, n):
    """Returns hunters and prey at `n + 1` times, with four steps of an eighth between them."""
    growth = lambda s: np.stack([s[0] * (p[0] - p[1] * s[1]), s[1] * (p[2] * s[0] - p[3])])  # noqa: E731
    states = [np.asarray(start) + 0 * p[:1]]
    for _ in range(n):
        s = states[-1]
        for _ in range(4):
            s = tableau(growth, s, 0.125)
        states.append(s)
    return np.stack(states)


@golden("own/rk4_fit")
def rk4_fit():
    start = [2.0, 1.5]
    seen = observed(np.array([1.0, 0.5, 0.25, 0.75]), start, 3)

    def misfit(q):
        return np.sum(np.log(observed(np.exp(q), start, 3) / seen) ** 2) / 2

    guess = np.log([0.75, 0.5, 0.5, 1.0])
    q = guess
    for _ in range(5):
        # The gradient by complex steps.
        q = q - 0.125 * np.array([misfit(q + 1e-30j * e).imag / 1e-30 for e in np.eye(4)])
    return seen, misfit(guess), np.exp(q)


@golden("own/newton_system")
def newton_system():
    def anomaly(e, m):
        return scipy.optimize.brentq(lambda x: x - e * np.sin(x) - m, -1.0, 5.0, xtol=1e-15, rtol=1e-15)

    m = [0.0, 0.5, 1.25, 2.75]
    far = np.array([anomaly(0.25, x) for x in m])
    return (
        (5.0, np.arctan2(4.0, 3.0)),
        [anomaly(0.5, x) for x in m],
        np.sum((np.cos(far) - 0.25) * np.arange(1, 5) + np.sqrt(1 - 0.25**2) * np.sin(far)),
    )
