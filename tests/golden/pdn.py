"""Golden values of programs/pdn."""

import math

import numpy as np
import scipy.special
from scipy.spatial.transform import Rotation

from registry import con, golden


def as_list(items):
    """Returns a recursive list of the items."""
    result = con("Nil")
    for item in reversed(list(items)):
        result = con("Cons", item, result)
    return result


@golden("pdn/scalar_mult")
def scalar_mult():
    return [13.5, 0.0, 3.75]


@golden("pdn/dot")
def dot():
    u, v = np.sin(np.arange(12)), np.arange(12) % 4 - 1.5
    return [u @ v, u @ v, 0.0, u[9:] @ v[5:8]], as_list(v[10:])


@golden("pdn/sum_matvec")
def sum_matvec():
    a = np.divide.outer(np.arange(1.0, 6.0), np.arange(2.0, 9.0))
    return [np.sum(a @ np.cos(np.arange(7))), -6.0, 0.0]


@golden("pdn/rotate_vec_by_quat")
def rotate_vec_by_quat():
    v = np.array([1.0, -2.0, 0.5])

    def rotate(q):
        return con("Vec3", *(np.dot(q, q) * Rotation.from_quat(q).apply(v)))

    return [
        rotate([0.3, 0.1, -0.4, 0.9]),
        con("Vec3", *v),
        rotate([0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)]),
    ]


@golden("pdn/dense_network")
def dense_network():
    def layer(n, m, seed):
        i, j = np.ogrid[:m, :n]
        weights = ((31 * i + 17 * j + seed) % 23 / 22.0 - 0.5) / np.sqrt(n)
        return weights, (7 * np.arange(m) + seed) % 11 / 10.0 - 0.5

    (w1, b1), (w2, b2) = layer(50, 100, 1), layer(100, 50, 2)
    hidden = np.maximum(w1 @ np.sin(np.arange(50)) + b1, 0.0)
    out = scipy.special.softmax(np.maximum(w2 @ hidden + b2, 0.0))
    return -np.log(out[0]), 1.0, out.max(), out


@golden("pdn/particles")
def particles():
    # The step is linear: one power of a matrix for (p, v) in each coordinate.
    dt = 0.05
    step = np.eye(2) + dt * np.array([[0.0, 1.0], [-0.5, -0.2]])

    def after(steps):
        m = np.linalg.matrix_power(step, steps)
        x = m @ np.stack([0.5 * np.arange(4), np.ones(4)])
        y = m @ np.array([0.1, 1.0])
        return x, y

    def total(steps):
        x, y = after(steps)
        return np.sum(x[0] * y[0])

    x, y = after(10)
    return [total(10), total(1), total(0)], {"p": [x[0, 2], y[0]], "v": [x[1, 2], y[1]]}


@golden("pdn/product_of_sum")
def product_of_sum():
    return [300.0, 0.125]


@golden("pdn/polynomial_lets")
def polynomial_lets():
    # x (2x + 6x^2 - 1) - 6x^2
    values = np.polyval([6.0, -4.0, -1.0, 0.0], [0.0, 1.0, -0.5, 2.25])
    return [values, values]


@golden("pdn/closure_product")
def closure_product():
    def g(x, y):
        return x**3 * y + x**2 * y + x * y**2 + y**2

    return [g(1.0, 2.0), g(-0.5, 3.0), 0.0]


@golden("pdn/fibonacci_sharing")
def fibonacci_sharing():
    def fibonacci(n):
        return np.linalg.matrix_power(np.array([[1, 1], [1, 0]], dtype=np.int64), n)[0, 1]

    def chain(n, x, y):
        return fibonacci(n + 1) * x + fibonacci(n) * y

    return [
        (89 * 1.0 + 55 * 2.0) ** 2,
        (89 * 0.25 - 55 * 0.5) ** 2,
        chain(10, 1.0, 2.0) ** 2,
        chain(60, 1e-6, 2e-6),
    ]


@golden("pdn/parallel_products")
def parallel_products():
    return [3.0**2 * 4.0 + 8.0 + 3.0, 0.5 + 1.0 - 1.0, 0.0]


@golden("pdn/rotations")
def rotations():
    def total(n, x, y):
        # The sum of the coordinates of z and of its mirror image, rotated by the whole angle.
        angle = 0.1 * n + 0.05 * np.sin(np.arange(1, n + 1)).sum()
        return 2.0 * (x + y) * np.cos(angle)

    return [total(300, 1.0, 2.0), total(300, -0.75, 0.25), total(1, 1.0, 0.0), 6.0]


@golden("pdn/fork_join_tree")
def fork_join_tree():
    x = 1.0 + 0.25 * np.sin(np.arange(37))
    both = [np.prod(x), np.sum(x**2)]
    return both, [1.0, 1.0], [1.0, 0.0], True


@golden("pdn/fork_join_graph")
def fork_join_graph():
    # A stack machine instead of recursion: a value is pushed once both sides of a fork are known.
    def run(seed, depth):
        work = [("visit", seed, depth, (0.5, -0.25, 0.75))]
        values, tasks = [], 0
        while work:
            kind, *rest = work.pop()
            if kind == "join":
                q, p = values.pop(), values.pop()
                values.append(p * math.cos(q) + q)
                continue
            seed, depth, (x, y, z) = rest
            tasks += 1
            r = (seed * 1103 + 331) % 1009
            if depth > 0 and r % 4:
                work.append(("join",))
                work.append(("visit", 2 * r + 2, depth - 1, (z, x, y - z)))
                work.append(("visit", 2 * r + 1, depth - 1, (y, z, x * y)))
            elif r % 2 == 0:
                values.append((x, y, z)[r % 3] * (x, y, z)[r // 3 % 3])
            else:
                k = r / 1009
                values.append(k * (x, y, z)[r % 3] + (1 - k) * math.sin((x, y, z)[r // 5 % 3]))
        return values.pop(), tasks

    runs = [run(s + 3, 2 * s) for s in range(4)]
    return [value for value, _ in runs], [tasks for _, tasks in runs]
