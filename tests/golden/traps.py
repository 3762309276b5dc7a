"""The functions of programs/traps, over a module that they compute with, and golden values of the programs."""

import math

import numpy as np

from loops import at
from registry import golden


def update(xp, n, first):
    """Returns the sum over the last block, which is a copy of the first."""
    return xp.sum(xp.sin(first))


def update_all(xp, P):
    return xp.sum(P[0])


guarded_update = update


def guarded_by_data(xp, n, limit, first):
    blocks, halted = [first], False
    for _ in range(n):
        halted = halted or not at(blocks[-1][0, 1]) < at(limit)
        blocks.append(0 * first if halted else 1.5 * blocks[-1])
    # A block of zeros is below the limit, and the following blocks are zero too.
    return sum(xp.sum(b) for b in blocks)


def triangular(xp, xs, ys):
    zs = [ys[i] for i in range(len(ys))]
    for i in range(len(zs)):
        zs[i] = sum(z * x for z, x in zip(zs, xs))
    return sum(zs, 0.0)


def early_stop(xp, n, x):
    return xp.sin(x * x + 4) if n > 0 and at(x * x) < 4 else xp.sin(x)


def states_kept(xp, n, x):
    return xp.sin(x) + (xp.sin(x * x + 4) if at(x * x) < 4 and at(x) < n else 0.0)


def indexing(xp, x):
    return x @ x


def indexing_rows(xp, A):
    return xp.sum(xp.sqrt(1 + xp.sum(A**2, axis=1)))


def one_element(xp, x):
    return (2 - 0.5 ** (len(x) - 2)) * x[0] ** 2


def one_element_summed(xp, x):
    return (len(x) - 1) * x[0] ** 2


def accumulation(xp, n, x):
    return n**2 * (x @ x) / 2


def weighted(xp, n, x):
    return sum(1 / (1 + t) for t in range(n)) ** 2 * (x @ x) / 2


def elementwise(xp, x):
    return x**3 + xp.sin(x)


def diagonal(xp, x):
    return x[0] ** 2


def product(xp, x):
    return math.prod((x[i] for i in range(len(x))), start=1.0)


product_folded = product


def gather(xp, at, x):
    return x**2 @ np.bincount(at, minlength=len(x))


def gather_reversed(xp, x):
    return xp.sin(x) @ np.arange(len(x), 0, -1.0)


def skipped(xp, x):
    return x @ x - sum(v**2 for v in x[1:2])


skipped_bracket = skipped


def traces(xp, k, x):
    return k * (k + 1) / 2 * xp.sum(xp.sin(x))


def batched_fit(xp, x, c, z):
    n, m = z.shape[1], len(c)
    fitted = sum(x[:, j : j + n] * c[j] for j in range(m))
    return xp.sum((fitted - z) ** 2)


BLOCK = 0.01 * np.arange(100.0).reshape(10, 10)
NONE = np.zeros(0)


@golden("traps/update")
def update_values():
    total = np.sin(BLOCK).sum()
    return [total, total, total, BLOCK.sum()]


@golden("traps/guarded_update")
def guarded_values():
    total = np.sin(BLOCK).sum()
    few = guarded_by_data(np, 5, 0.02, BLOCK)
    return [total, total, BLOCK.sum() * (1.5**6 - 1) / 0.5, few]


@golden("traps/triangular")
def triangular_values():
    xs, ys = np.sin(np.arange(6.0)) / 6, np.cos(2 * np.arange(6.0))
    return [triangular(np, xs, ys), 1.5, 0.0]


@golden("traps/early_stop")
def early_stop_values():
    return [math.sin(4.25), math.sin(1.25**2 + 4), math.sin(0.5), math.sin(2.5), math.sin(0.5) + math.sin(4.25)]


@golden("traps/indexing")
def indexing_values():
    a = np.arange(3.0)[:, None] - 0.5 * np.arange(4)
    return [indexing(np, 0.5 * np.arange(7)), 9.0, 0.0, np.sqrt(1 + np.linalg.norm(a, axis=1) ** 2).sum()]


@golden("traps/one_element")
def one_element_values():
    return [2.25 * (1 - 0.5**5) * 2, 5 * 2.25, 0.0, 9.0]


@golden("traps/accumulation")
def accumulation_values():
    x = 0.25 * np.arange(4) - 0.5
    return [25 * (x @ x) / 2, (137 / 60) ** 2 * (x @ x) / 2, 0.0, (x @ x) / 2]


@golden("traps/elementwise")
def elementwise_values():
    x, v = 0.5 * np.arange(4) - 0.75, 1.0 + np.arange(4)
    slope = (3 * x**2 + np.cos(x)) * v
    return [slope, slope, (6 * x - np.sin(x)) * v]


@golden("traps/diagonal")
def diagonal_values():
    return [2.25, 9.0, 0.01]


@golden("traps/product")
def product_values():
    p = np.prod(0.5 + 0.25 * np.arange(5))
    return [p, p, 0.0, 0.0, 1.0, -3.0]


@golden("traps/gather")
def gather_values():
    x = np.arange(6.0) - 2.5
    return [2 * 6.25 + 3 * 0.25 + 6.25, 2.25, 0.0, np.sum(np.sin(x[::-1]) * np.arange(1, 7))]


@golden("traps/skipped")
def skipped_values():
    return [20.25, 20.25, 2.25, 0.25]


@golden("traps/traces")
def traces_values():
    return [10 * np.sin(np.arange(3.0)).sum(), 0.0, math.sin(0.5) - math.sin(1.5)]


@golden("traps/batched_fit")
def batched_values():
    x = np.sin(np.arange(21.0)).reshape(3, 7)
    z = np.subtract.outer(np.arange(3.0), np.arange(5))
    fitted = np.stack([np.correlate(row, [0.5, -1.0, 0.25]) for row in x])
    return [np.sum((fitted - z) ** 2), 2.25]
