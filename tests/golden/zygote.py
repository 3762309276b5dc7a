"""Golden values of programs/zygote."""

import functools
import math

import numpy as np
import scipy.special

from registry import golden


@golden("zygote/sincos")
def sincos():
    return np.sin(np.cos([0.5, 0.0, -2.0]))


@golden("zygote/loop")
def loop():
    def run(x, steps):
        return functools.reduce(lambda r, i: r + x * math.sin(r) / i, range(1, steps + 1), 1.0)

    return [run(0.5, 1000), run(0.5, 1000), 1.0 - 0.25 * math.sin(1.0), 1.0]


@golden("zygote/logsumexp")
def logsumexp():
    x = 3 * np.sin(np.arange(100))
    s = scipy.special.logsumexp(x)
    return [s, s, s + 1000.0, 2.5, -math.inf]


@golden("zygote/logistic_regression")
def logistic_regression():
    x = np.sin(np.add.outer(7.0 * np.arange(100), 3.0 * np.arange(10)))
    y = (np.arange(100) ** 2 % 2).astype(bool)
    w = 0.1 * np.arange(10) - 0.45

    def loss(b, x, y):
        score = x @ w + b
        return np.mean(np.logaddexp(0.0, np.where(y, -score, score)))

    return [loss(0.2, x, y), loss(0.0, x[:1], y[:1])]


@golden("zygote/mlp")
def mlp():
    def init(n, m, seed):
        i, j = np.ogrid[:m, :n]
        return 0.1 * ((13 * i + 7 * j + seed) % 19 / 9.0 - 1.0), 0.01 * np.arange(m)

    (w1, b1), (w2, b2) = init(784, 32, 3), init(32, 10, 5)
    x = np.arange(784) ** 2 % 256 / 255.0
    out = scipy.special.log_softmax(w2 @ np.maximum(w1 @ x + b1, 0.0) + b2)
    return -out[7], out


@golden("zygote/pow")
def power():
    return [[8.0, 1.5**10, -(0.5**7), 1.0, 1.0], [8.0, 1.5**10, -(0.5**7), 1.0, 1.0]]


@golden("zygote/leaky")
def leaky():
    return [2.5, -0.025, 0.0, 0.0], [0.2, -3.0 / -2.75], [8.0, 0.0]


@golden("zygote/cells")
def cells():
    return [12.0, -9.0, math.sin(0.8), 3.0 * math.e]
