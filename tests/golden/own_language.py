"""Golden values of programs/own: one construct of the language after another."""

import math

import numpy as np
import scipy.linalg
import scipy.special

from registry import con, golden


@golden("own/records")
def records():
    v1 = -0.1 * np.array([1.0, 0.0, -1.0])
    v2 = 0.9 * v1 - 0.1 * np.array([0.5, 0.5, 0.5])
    weights = np.array([0.5, -1.0, 2.0]) + v1 + v2
    training = {
        "model": {"weights": weights, "scale": {"in": 0.5, "out": 3.0}, "type": 4, "let": True},
        "velocity": v2,
        "optimiser": {"steps": 2, "rate": 0.1, "momentum": 0.9},
    }
    return training, 1.5 * weights @ [1.0, 2.0, 3.0], [0.1, -1], [1.0, 2], {"x": 1.5, "y": 2}


@golden("own/polymorphic")
def polymorphic():
    u = (np.arange(4) / 3.0).astype(np.float32)
    return (
        [4.0, np.dot(u, u), 32],
        [5.0, np.linalg.norm(u)],
        [1.5**4, 22, True],
        [[7, np.float32(0.1)], [-1.0, 2.5]],
        np.add.outer([10, 20], [3, 4, 5]),
        [1.0, -2],
        [1.5**3, np.float32(1.1) ** 3, -343],
    )


@golden("own/closures")
def closures():
    x = -0.75
    return (
        [11.0, 2.5, 6.0, 2.75**2, math.sin(0.5) ** 2],
        [math.tanh(x), 0.0, x * scipy.special.expit(x)],
        [1.0, 0.5, 0.125],
        [5.0, 0.0],
    )


def wrap(k):
    """Returns the integer modulo 2^64, as a signed 64-bit number."""
    return (k + 2**63) % 2**64 - 2**63


@golden("own/integers")
def integers():
    def random(count, state):
        for _ in range(count):
            state ^= state << 13 & 2**64 - 1
            state ^= state >> 7
            state ^= state << 17 & 2**64 - 1
            yield (state >> 11) / 2.0**53

    return (
        np.floor_divide([7, -7, 7, -7], [2, 2, -2, -2]),
        np.mod([7, -7, 7, -7], [3, 3, -3, -3]),
        [wrap(2**63), wrap(3**41), -16],
        [12 & 10, 12 | 10, 12 ^ 10, ~12, 3 << 4, -16 >> 2, 15, 2],
        [math.gcd(48, 36), math.gcd(-17, 5), 9],
        list(random(4, 88172645463325252)),
        [3, -3, -1, 8],
    )


@golden("own/reductions")
def reductions():
    x = np.array([3.0, -1.0, 4.0, -1.0, 5.0, 4.0])
    grid = np.array([[1.0, 7.0, 2.0], [7.0, -3.0, -3.0]])
    return (
        [x.sum(), x[1:4].sum(), x[::2].sum(), x.prod(), 1.0, (x.sum() ** 2 - x @ x) / 2],
        [[5.0, -1.0], [-math.inf, math.inf], [2.0, 2.0], [-1.0, math.inf]],
        [np.unravel_index(grid.argmax(), grid.shape), np.unravel_index(grid.argmin(), grid.shape)],
        [x.argmax(), x.argmin(), 2 * x[1::2].argmax() + 1, 2 + x[2:].argmin()],
        [True, False, False, True, True],
        [grid.max(), grid.max(axis=1).min(), 7.0 + 2.0 + 7.0 - 3.0, max(x[0], x[3])],
        [2, 2, 0 + 3 + 6 + 9, math.factorial(5), 0],
    )


@golden("own/updates")
def updates():
    border = np.pad(np.arange(12.0).reshape(3, 4)[1:-1, 1:-1], 1, constant_values=-1.0)
    primes = np.zeros(12, dtype=bool)
    primes[[2, 3, 5, 7, 11]] = True
    return (
        border,
        np.arange(1.0, 6.0),
        [1.0, 20.5, 3.0, 4.0, 1.0],
        [101.0, 107.0, 8.0, 9.0, 5.0],
        [4, 2.5],
        {"a": 42, "b": [0.5, 1.0]},
        [-1, 2, 2, 4, 5, 9],
        primes,
    )


@golden("own/library_functions")
def library_functions():
    x = np.array([3.0, 1.0, 2.0, 1.0, -4.5])
    m = np.arange(1.0, 7.0).reshape(2, 3)
    order = np.argsort(x, kind="stable")
    added = np.ones(4)
    np.add.at(added, [1, 3, 1], [5.0, 6.0, 7.0])
    return (
        np.append(x, [9.0, 8.0]),
        [3, 2, 1],
        m.T,
        m,
        [np.sort(x), order, np.argsort(order)],
        [np.median(x), 3.0],
        [0.0, 7.0, 0.0, 6.0],
        added,
        np.bincount([1, 3, 1, 3, 3], minlength=4),
        [11.0, 0.0, 1.5, 4.0],
    )


@golden("own/sizes")
def sizes():
    a = np.add.outer(10.0 * np.arange(3), np.arange(3))
    return (
        np.convolve([1.0, 2.0, 3.0, 4.0], [1.0, 0.5, 0.25]),
        np.lib.stride_tricks.sliding_window_view(np.arange(1.0, 5.0), 2) * [10.0, -1.0],
        [[1.0, 2.0], [3.0, 4.0]],
        [[1.0, 2.0], [3.0, 4.0, 5.0]],
        a[np.tril_indices(3)],
        np.cumsum([1.0, 2.0, 3.0, 4.0]),
        [np.arange(8)[::3].sum() + 3.0, 0.0],
        [11.0, 22.0],
        [24, 0],
    )


@golden("own/unicode")
def unicode():
    x = np.arange(6.0) ** 2
    band = np.tri(3, k=1) * np.tri(3, k=1).T
    cut = band.copy()
    cut[0, 1] = 0.0
    np.fill_diagonal(cut, 0.0)
    return (
        np.diff(x, 2),
        band,
        ~cut.any(axis=1),
        int(np.sum(np.abs(x - 9.0) >= 5.0)),
    )


@golden("own/script")
def script():
    table = np.arange(4.0) ** 2
    return (table - table.min()) / np.ptp(table), [1.0, 2], np.linalg.norm(table), 2.0


@golden("own/scalar_functions")
def scalar_functions():
    x = np.array([-1.5, -0.25, 0.0, 0.5, 2.0])
    u = np.array([-0.9, -0.1, 0.0, 0.7])
    p = np.array([0.5, 1.0, 2.5, 10.0, 170.25])
    r = np.array([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.75])
    return (
        [f(x) for f in (np.exp, np.expm1, np.sin, np.cos, np.tan, np.arctan, np.cbrt)],
        [f(u) for f in (np.arcsin, np.arccos, np.arctanh, scipy.special.erf, scipy.special.erfc, np.log1p)],
        [
            np.log(p),
            np.sqrt(p),
            scipy.special.gammaln(p),
            np.arccosh(p + 0.5),
            np.arcsinh(p),
            scipy.special.expit(x),
            np.logaddexp(0.0, x),
            np.maximum(x, 0.0),
        ],
        [
            [math.sinh(0.5), math.cosh(0.5), math.tanh(0.5)],
            [math.atan2(1.0, -2.0), 5.0, 0.0],
            [2.5, -1.0, 0.0],
        ],
        [f(r) for f in (np.floor, np.ceil, np.rint, np.trunc)],
        [math.pi, -4.0, 0.5, math.sqrt(2.0), 64.0, 1e-14, round(2.675, 2), round(-1250.0, -2)],
        [3, -4, 3, 1, 1024],
    )


@golden("own/special_values")
def special_values():
    inf, nan = math.inf, math.nan
    return (
        [inf, -inf, nan, inf, nan, nan],
        [False, True, True, True, True, False],
        [nan, nan, 2.0, 2.0],
        np.sort([2.0, nan, -inf, 1.0]),
        [0.0, 0.0, 0.0],
        [1, 0],
    )


@golden("own/brackets")
def brackets():
    return (
        [0.0, 0.0, 1.0, 2.0],
        [1.0, 0.0, -6.0],
        [[3.0, 4.0], [0.0, 0.0]],
        [{"a": 0.0, "b": [0, 0]}, {"a": 0.25, "b": [4, 2]}],
        [[0.0, [0, False]], [0.5, [3, True]]],
        [12, 0, 0],
        scipy.linalg.toeplitz([2.0, -1.0, 0.0], [2.0, -0.5, 0.0]),
        False,
        [True],
        [4.0, 7.0],
    )


@golden("own/scans")
def scans():
    x = np.array([1.0, 2.0, -3.0, 4.0, 0.5])
    inclusive = np.cumsum(x)
    segments = np.concatenate([np.cumsum(s) for s in np.split(x, [2, 4])])
    running = [[0.0, 0.0]] + [[x[:k].mean(), x[:k].var()] for k in range(1, 6)]
    return (
        [inclusive - x, inclusive, np.cumsum(x[::-1])[::-1]],
        segments,
        running,
        [[0, 1, 2, 10, 11, 12], 6],
        [1.0, 2.0, 4.0, 8.0],
        7,
        [],
    )


@golden("own/single_precision")
def single_precision():
    x = np.arange(10, dtype=np.float32) / np.float32(7)
    t = np.float32(0.1)
    harmonic = np.cumsum(np.float32(1) / np.arange(1, 1001, dtype=np.float32), dtype=np.float32)[-1]
    return (
        [
            x.sum(dtype=np.float32) / np.float32(10),
            np.float32(0.5) * t * t - np.float32(1.25) * t + np.float32(3),
            harmonic,
            np.float32(math.pi),
        ],
        np.logaddexp(0.0, [-1.0, 0.0, 2.5]).astype(np.float32),
        np.exp([0.0, 1.0, -1.0, 0.5]).astype(np.float32),
        float(np.float32(0.1)),
    )


@golden("own/sums")
def sums():
    path = np.array([[0.5, 1.0], [1.5, -2.0], [0.25, 4.0]])
    step = np.array([[1.0, 0.5], [-1.0, 0.25], [2.0, 0.0]])
    along = 2 * np.sum(step[:, 0] * path[:, 1] + path[:, 0] * step[:, 1])
    some, none = lambda x: con("Some", x), con("None")
    return (
        [0.0, 2 * math.pi, 1.0 * 3.5 - 1.0 * 2.0, along],
        con("Path", 2, [tuple(2 * row[::-1]) for row in path]),
        (np.sum(path * step), con("Path", 2, [tuple(3 * row) for row in step])),
        (
            con("Path", 3, [tuple(2 * row) for row in path]),
            con("Path", 3, [tuple(2 * row) for row in step]),
        ),
        (none, 2 * 3.0 * 0.5),
        (some(-1.5), some(1.0)),
        (some(0.0), none),
        ([some(2 * 2.0 * 1.0), none, some(-2 * 0.5 * 3.0)], [2.0**2, 0.0, 0.5**2]),
        (con("Right"), None, [0.0, 0.0, 3 * 2 * 4.0]),
        (
            [
                con("Constant", 1.0),
                con("Power", 2.0**3, 3),
                con("Wave", math.sin(0.5), 2 * 2.0 * math.cos(0.5)),
            ],
            0.5 * 3 * 2.0**2 + 2 * 0.25 * math.cos(0.5),
        ),
    )


@golden("own/matching")
def matching():
    return (
        [math.pi / 4, 7.0, 4.0, 0.0, 0.0],
        [100, 200, 300, 9, -25],
        [8, -1],
        [3.0, 7.0, 24.0],
    )
