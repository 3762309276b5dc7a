"""The functions of programs/loops, with the module they compute with, and golden values of the programs.

Each uses a closed form instead of the program's loop if one exists. A Python loop is unrolled, so no loop is
differentiated. Conditions are decided at the values of the arguments.
"""

import math

import numpy as np

from registry import golden


def at(x):
    """Returns the real number that a condition compares."""
    return x.real if isinstance(x, (complex, np.complexfloating)) else x


def halved_steps(xp, x, step):
    """Returns the iterates of `step` from `x`, including `x`, up to the first that is at most 1."""
    states = [x]
    while at(states[-1]) > 1:
        states.append(step(states[-1]))
    return states


def stacked(xp, items):
    return xp.stack(items) if len(items) else np.zeros(0)


# trips


def driven(xp, x, n):
    states = [x]
    for i in range(n):
        states.append(xp.sin(states[-1]) + x * i)
    return states


def folded(xp, x, n):
    return driven(xp, x, n)[-1]


def scanned(xp, x, n):
    return xp.stack(driven(xp, x, n))


def yielded(xp, x, n):
    states = driven(xp, x, n)
    return states[-1], stacked(xp, [y * y for y in states[:-1]])


looped = folded


def halvings_summed(xp, x):
    return sum(y**2 for y in halved_steps(xp, x, lambda y: y / 2))


def empty_array(xp, x, steps):
    return 1.5 + (2.0 ** (steps + 1) - 1) * xp.sum(x)


def nothing_carried(xp, x):
    return xp.sum(x**3)


def integers_carried(xp, x):
    k, s = 2, 0.0
    for i in range(len(x)):
        s = s + (x[i] * k if i % 2 == 0 else x[i] ** 2)
        k = k + i if i % 2 == 0 else k - 1
    return s * k


def rows_and_columns(xp, a):
    flat = xp.reshape(a, (-1,))
    weights = 0.5 ** np.arange(flat.size)[::-1]
    return xp.sum(weights * flat**2) + 0.5 ** (flat.size + 1)


@golden("loops/trips")
def trips():
    def all_of(n, x):
        return folded(np, 0.75, n), scanned(np, 0.75, n), yielded(np, 0.75, n), looped(np, 0.75, n), x

    return {
        "none": all_of(0, 0.75**2),
        "one": all_of(1, 1.5**2 + 0.75**2),
        "three": all_of(3, 36.0 + 9.0 + 2.25 + 0.75**2),
        "empty": [1.5, 1.5, 1.5 + 7 * 1.5],
        "nothing": [0.125 - 8.0, 0.0],
        "integers": [(0.5 * 2 + 1.5**2 - 2.0 * 1 + 9.0) * 2, 2.5 * 2 * 2],
        "planes": [rows_and_columns(np, np.array([[1.0, 2.0], [3.0, 4.0]])), 9.25, 0.5, 0.5],
    }


# nested


def discounted(row, s):
    """Returns the sum that is halved at each step, from `s`."""
    n = len(row)
    return s * 0.5**n + sum(0.5 ** (n - 1 - j) * row[j] for j in range(n))


def yields(xp, a):
    waves, s, out = xp.sin(a), 1.0, []
    for i in range(len(a)):
        before = [discounted(waves[i, :j], s) for j in range(a.shape[1])]
        s = discounted(waves[i], s)
        out.append((s, xp.stack([before[j] * a[i, j] for j in range(a.shape[1])])))
    return s, out


def scans_in_for(xp, a):
    rows = []
    for i in range(len(a)):
        states = [float(i) + 0 * a[i, 0]]
        for j in range(a.shape[1]):
            states.append(states[-1] * a[i, j] + 0.5)
        rows.append(xp.stack(states))
    return xp.stack(rows)


def loops_in_for(xp, a):
    def summed(x):
        states = halved_steps(xp, x, lambda y: y / 2)
        return sum(y**2 for y in states[:-1]) + states[-1]

    return xp.stack([summed(x) for x in a])


def loops_in_sum(xp, a, b, trips):
    total = 0.0
    for x in a:
        for factor, count in zip(b, trips):
            y = x
            for _ in range(int(count)):
                y = y + 0.25 * xp.sin(factor * y)
            total = total + y
    return total


def loops_in_max(xp, a):
    return xp.max(a @ 0.5 ** np.arange(a.shape[1])[::-1])


def three_deep(xp, x, steps):
    y = x
    for t in range(steps):
        factor = 0.1 * (1 / (1 + t) + 1 / (2 + t))
        new = []
        for i in range(len(x)):
            s = y[i]
            for j in range(len(x)):
                s = s + factor * xp.sin(y[j] - s)
            new.append(s)
        y = xp.stack(new)
    return y


def loop_over_a_scan(xp, x, n):
    ys = [x]
    for _ in range(n):
        ys.append(ys[-1] ** 2 / 2 + 0.25)
    s = 0.0
    for i in range(n + 1):
        s = s * ys[n - i] + ys[i]
    return s


def two_indices(xp, x, y):
    states = [x]
    for i in range(3):
        for factor in y:
            states.append(states[-1] * factor + i)
    return xp.stack(states)


@golden("loops/nested")
def nested():
    a = 0.5 * np.array([[1.0], [2.0]]) - 0.25 * np.arange(3)
    return (
        yields(np, a),
        scans_in_for(np, a),
        [0.5, 2.25 + 0.75, 81 + 20.25 + 5.0625 + 1.265625 + 0.5625, -3.0],
        loops_in_sum(np, [0.5, -1.0], [1.0, 2.0, 0.5], [0, 3, 1]),
        loops_in_max(np, a),
        three_deep(np, np.array([0.5, -0.25, 1.0]), 2),
        [loop_over_a_scan(np, 0.5, 4), 0.5],
        two_indices(np, 0.5, [0.75, -1.5]),
    )


# carries


def flight(xp, b, h, loss, steps):
    (x, y), (u, v), bounces = b["place"], b["speed"], b["bounces"]
    for _ in range(steps):
        x, y, v = x + h * u, y + h * v, v - 9.81 * h
        if at(y) < 0:
            y, v, bounces = -y, -loss * v, bounces + 1
    return {"place": xp.stack([x, y]), "speed": xp.stack([u, v]), "bounces": bounces}


def composed(xp, a, b):
    n = len(a)
    factors = [math.prod(a[i:], start=1.0) for i in range(n + 1)]
    return factors[0], sum((b[i] * factors[i + 1] for i in range(n)), 0.0)


def moments(xp, x):
    mean = xp.sum(x) / len(x)
    return mean, xp.sum((x - mean) ** 2)


def squarings(xp, a, steps):
    m = a
    for _ in range(steps):
        m = m @ m
        m = m / xp.trace(m) if xp is not np else m / (sum(m[i, i] for i in range(len(m))))
    return m


def smoothed(xp, p, steps):
    n = len(p)
    for _ in range(steps):
        p = [
            ((p[i - 1][0] + p[(i + 1) % n][0]) / 2, p[i][1] + p[i - 1][0] * p[(i + 1) % n][1])
            for i in range(n)
        ]
    return p


def rotated(xp, x, y, c, s, n):
    for t in range(n):
        x, y = c * x - s * y, s * x + c * y / 2**t
    return x, y


def exchanged(xp, x, y, n):
    fibonacci = [0, 1]
    for _ in range(n + 1):
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    # Exponents of x and of y in the products.
    powers = [(1, 0)] + [(fibonacci[k], fibonacci[k + 1]) for k in range(n + 1)]
    return tuple(x ** powers[k][0] * y ** powers[k][1] for k in (n, n + 1))


@golden("loops/carries")
def carries():
    ball = {"place": [0.0, 1.0], "speed": [0.5, 0.0], "bounces": 0}
    return (
        flight(np, ball, 0.1, 0.75, 12),
        composed(np, [0.5, -2.0, 1.5], [1.0, 0.25, -1.0]),
        moments(np, np.array([1.0, 4.0, -2.5, 0.5])),
        squarings(np, np.array([[2.0, 1.0], [0.5, 1.5]]), 3),
        smoothed(np, [(1.0, 0.5), (2.0, -1.0), (0.25, 2.0)], 3),
        rotated(np, 1.0, 0.5, 0.75, 0.5, 4),
        exchanged(np, 1.5, 0.75, 5),
    )


# places


def followed(xp, next, x, steps):
    k, s = 0, 0.0
    for _ in range(steps):
        k, s = int(next[k]), 0.5 * s + x[k] ** 2
    return s


def interpolated(xp, xs, ys, x):
    i = sum(1 for k in range(len(xs)) if at(xs[k]) <= at(x)) - 1
    return ys[i] + (x - xs[i]) * (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i])


def records(xp, x):
    found = [x[i] ** 2 for i in range(len(x)) if all(at(x[j]) < at(x[i]) for j in range(i))]
    return xp.stack(found + [0 * x[0]] * (len(x) - len(found))), len(found)


def merged(xp, a, b):
    return xp.sort(xp.concatenate([a, b]))


def walked(xp, h):
    i = j = 0
    n, m = h.shape[0] - 1, h.shape[1] - 1
    s = h[0, 0]
    while (i, j) != (n, m):
        down = i < n and (j >= m or at(h[i + 1, j]) <= at(h[i, j + 1]))
        i, j = (i + 1, j) if down else (i, j + 1)
        s = s + h[i, j] ** 2
    return s


def run(xp, code, x):
    stack = []
    for c in code:
        if c >= 0:
            stack.append(x[int(c)])
        else:
            b, a = stack.pop(), stack.pop()
            stack.append(a + b if c == -1 else a * b)
    return stack[0]


@golden("loops/places")
def places():
    table = np.array([0.0, 0.5, 2.0, 3.5, 4.0])
    values = np.array([1.0, -1.0, 0.5, 2.0, 0.0])
    x = np.array([0.5, 1.0, -1.5, 2.0])
    return (
        [followed(np, [2, 0, 3, 1], x, 6), 0.0],
        np.interp([2.75, 0.25], table, values),
        ([1.0, 9.0, 20.25, 0.0, 0.0], 3),
        [0.5, 1.0, 1.5, 2.0, 4.0],
        walked(np, np.array([[1.0, 2.5, 0.5], [0.5, 3.0, 1.0], [2.0, 1.5, 0.25]])),
        (1.5 * -2.0) * (0.75 + 1.5),
    )


# updates


def put(xp, x, i, value):
    """Returns an array of one axis with one element replaced."""
    return xp.stack([value if k == i else x[k] for k in range(len(x))])


def added(xp, at, w, start):
    y = start
    for t, i in enumerate(at):
        y = put(xp, y, int(i), y[int(i)] + w[t] ** 2)
    return y


def overwritten(xp, at, w, start):
    last = {int(i): t for t, i in enumerate(at)}
    return xp.stack([w[last[i]] ** 2 if i in last else start[i] for i in range(len(start))])


# `from` is a keyword in Python, so these take that argument by position.
def read_back(xp, at, source, w, start):
    y = start
    for t, (i, j) in enumerate(zip(map(int, at), map(int, source))):
        y = put(xp, y, i, xp.sin(y[i]) + w[t] * y[j])
    return y


def spread(xp, at, source, w, start):
    y = start
    for t, (i, j) in enumerate(zip(map(int, at), map(int, source))):
        y = put(xp, y, i, y[i] + w[t] * y[j] ** 2)
    return y


def rows(xp, a, pairs, w):
    m = np.eye(len(a))
    for t, (i, j) in enumerate(pairs):
        step = np.zeros((len(a), len(a)))
        step[i, j] = 1.0
        m = m - w[t] * (step @ m)
    return m @ a


def columns(xp, a, at):
    m = np.eye(a.shape[1])
    for c in map(int, at):
        step = np.eye(a.shape[1])
        step[(c + 1) % a.shape[1], c] += 0.5
        m = m @ step
    return a @ m


def slices(xp, x, at, w):
    y = [x[i] for i in range(len(x))]
    for i in map(int, at):
        for k in range(3):
            y[i + k] = y[i + k] * (1 + w[k])
    return xp.stack(y)


def bubbled(xp, x):
    return xp.sort(x)


def substituted(xp, l, b):
    return xp.linalg.solve(l * np.tri(len(b)), b)


def table(xp, cost, size, n):
    from itertools import product

    ways = 0.0
    for counts in product(*(range(n // int(s) + 1) for s in size)):
        if sum(k * int(s) for k, s in zip(counts, size)) == n:
            ways = ways + xp.exp(-sum(k * c for k, c in zip(counts, cost)))
    return -xp.log(ways)


def swept(xp, x, s):
    y = list(x)
    for _ in range(3):
        for i in range(1, len(y)):
            y[i] = y[i] * y[i - 1] * s
    return xp.stack(y)


def halved(xp, x):
    y = list(x)
    for _ in range(len(y)):
        first, y = y[0], [0.5 * item for item in y]
        y[0] = y[0] * y[-1] * first
    return xp.stack(y)


@golden("loops/updates")
def updates():
    start, w = np.array([0.5, -1.0, 2.0, 0.25]), np.array([1.5, 0.5, -0.75, 2.0, 0.25])
    to, source = [1, 3, 1, 0, 2], [0, 1, 1, 3, 0]
    pairs = [(1, 0), (2, 1), (0, 2)]
    return (
        added(np, [1, 3, 1, 0, 1], w, start),
        overwritten(np, [1, 3, 1, 0, 1], w, start),
        read_back(np, to, source, w, start),
        spread(np, to, source, w, start),
        rows(np, np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]]), pairs, [0.5, -2.0, 1.5]),
        columns(np, np.array([[1.0, 2.0, 0.5], [-1.0, 3.0, 0.25]]), [0, 2, 0]),
        slices(np, [1.0, 2.0, 0.5, -1.0, 3.0], [1, 0, 2, 1], [0.5, -0.5, 2.0]),
        [-1.0, 0.25, 0.5, 2.0, 3.0],
        substituted(np, np.array([[2.0, 9.0, 9.0], [1.0, 4.0, 9.0], [0.5, -1.0, 0.5]]), np.array([1.0, 2.0, 3.0])),
        table(np, [0.5, 1.0, 0.25], [1, 2, 5], 6),
        swept(np, [1.0, 0.5, 2.0, 0.75], 0.5),
        halved(np, [1.5, -1.0, 2.0]),
    )


# segments


def parts(ptr, x):
    return [x[int(a) : int(b)] for a, b in zip(ptr, ptr[1:])]


def sums(xp, ptr, x):
    return xp.stack([xp.sum(p**2) for p in parts(ptr, x)])


def products(xp, ptr, x):
    return xp.stack([xp.prod(p) for p in parts(ptr, x)])


def greatest(xp, ptr, x):
    return xp.stack([xp.max(xp.concatenate([np.array([-9.0]), p])) for p in parts(ptr, x)])


def softmaxes(xp, ptr, x):
    return xp.concatenate([xp.exp(p) / xp.sum(xp.exp(p)) for p in parts(ptr, x)])


def sparse(xp, ptr, col, val, columns):
    """Returns the matrix with these rows."""
    n = len(ptr) - 1
    places = np.zeros((len(col), n, columns))
    for i, (a, b) in enumerate(zip(ptr, ptr[1:])):
        for k in range(int(a), int(b)):
            places[k, i, int(col[k])] = 1.0
    return xp.einsum("k,kij->ij", val, places)


def powers(xp, ptr, col, val, x, times):
    m, y = sparse(xp, ptr, col, val, len(x)), x
    for _ in range(times):
        y = m @ xp.sin(y)
    return y


def recurrences(xp, ptr, x):
    def one(p):
        s = 1.0 + 0 * x[0]
        for v in p:
            s = 0.5 * s * v + 1.0
        return s

    return xp.stack([one(p) for p in parts(ptr, x)])


def solved(xp, ptr, col, val, diag, b):
    return xp.linalg.solve(sparse(xp, ptr, col, val, len(b)) + diag * np.eye(len(b)), b)


def windows(xp, x, steps):
    n = len(x)
    return sum((xp.sum((x * x[::-1])[: min(n, 2**t)]) for t in range(steps)), 0.0)


@golden("loops/segments")
def segments():
    ptr, x = [0, 2, 2, 5, 6], np.array([0.5, -1.5, 2.0, 0.25, 1.0, -0.75])
    return (
        sums(np, ptr, x),
        products(np, ptr, x),
        [0.5, -9.0, 2.0, -0.75],
        softmaxes(np, ptr, x),
        powers(np, ptr, [1, 3, 0, 2, 3, 1], x, np.array([1.0, 0.5, -0.5, 2.0]), 3),
        recurrences(np, ptr, x),
        solved(
            np,
            [0, 0, 1, 3, 4],
            [0, 0, 1, 2],
            np.array([0.5, -1.0, 2.0, 0.25]),
            np.array([2.0, 1.0, 4.0, 0.5]),
            np.array([1.0, 2.0, 3.0, 4.0]),
        ),
        windows(np, np.array([1.0, 2.0, 0.5, -1.0, 3.0]), 4),
    )


# library


def l_statistic(xp, w, x):
    return xp.sum(w * xp.sort(x) ** 2)


def order(xp, key):
    """Returns the positions of the sorted numbers; equal ones keep their order."""
    n = len(key)
    before = [sum(at(key[j]) < at(key[i]) or (j < i and at(key[j]) == at(key[i])) for j in range(n)) for i in range(n)]
    return np.argsort(before)


def in_order_of(xp, x, key):
    p = order(xp, key)
    return x[p] * np.arange(1, len(p) + 1) + key[p] ** 2


def trimmed(xp, a):
    return xp.stack([(xp.sum(r) - xp.sort(r)[0] - xp.sort(r)[-1]) / (len(r) - 2) for r in a])


def chosen(xp, x, limit):
    y = [v for v in x if at(v) > at(limit)]
    zero = 0 * x[0]
    return sum((y[i] ** 2 * (1 + i) for i in range(len(y))), zero), sum(y, zero) / max(len(y), 1)


def class_means(xp, label, x, k):
    members = np.array(label)[None, :] == np.arange(k)[:, None]
    return members / np.maximum(members.sum(1), 1)[:, None] @ x


def written(xp, at, v, x):
    last = {int(i): k for k, i in enumerate(at)}
    return xp.stack([v[last[int(i)]] * v[k] for k, i in enumerate(at)])


def messages(xp, source, to, w, x, rounds):
    n = len(x)
    places = np.zeros((len(w), n, n))
    places[np.arange(len(w)), np.array(to), np.array(source)] = 1.0
    m, y = xp.einsum("k,kij->ij", w, places) + 0.5 * np.eye(n), x
    for _ in range(rounds):
        y = xp.tanh(m @ y)
    return y


def sorted_steps(xp, x, steps):
    for _ in range(steps):
        s = xp.sort(x)
        x = 0.75 * s - 0.5 * s[::-1] ** 2
    return x


def nearest(xp, x, at):
    squares = (x - at) ** 2
    return -xp.max(-squares)


@golden("loops/library")
def library():
    x = np.array([1.5, -0.5, 3.0, 0.25])
    return (
        l_statistic(np, np.array([1.0, -2.0, 0.5, 3.0]), x),
        in_order_of(np, x, np.array([0.5, -1.0, 2.0, 0.75])),
        [1.75, 0.5],
        (1.5**2 + 2 * 9.0 + 3 * 0.25**2, 4.75 / 3),
        [-0.125, 0.0, 2.25, 0.0],
        [-1.5 * 0.5, 4.0, 2.25],
        messages(np, [0, 1, 2, 3, 0], [1, 2, 1, 0, 1], np.array([0.5, -1.0, 2.0, 0.25, 1.5]), x, 3),
        sorted_steps(np, x, 3),
        0.0625,
    )


# reductions


def row_products(xp, a):
    return xp.prod(a, axis=1), xp.prod(xp.sum(a, axis=1))


def rising(xp, x):
    n = len(x)

    def one(i):
        p = 1.0 + 0 * x[0]
        for j in range(i, n):
            if at(x[j]) > -1:
                p = p * x[j] * (1 + i)
        return p

    return xp.stack([one(i) for i in range(n)])


def saddle_points(xp, a):
    top = xp.max(xp.reshape(a, (-1,)))
    return xp.max(-xp.max(-a, axis=1)), -xp.max(-xp.max(a, axis=0)), top**3


def hausdorff(xp, p, q):
    d = xp.sum((p[:, None] - q[None]) ** 2, axis=2)
    return xp.sqrt(xp.max(-xp.max(-d, axis=1)))


def running(xp, x):
    tops = [xp.max(x[: i + 1]) for i in range(len(x))]
    return xp.stack(tops), tops[-1] ** 2


def normalised(xp, a, x, steps):
    for _ in range(steps):
        z = a @ x
        k = order(xp, z**2)[-1]
        x = z / (z[k] if at(z[k]) > 0 else -z[k])
    return x


def trellis(xp, cost):
    from itertools import product

    t, s, _ = cost.shape
    ways = [sum(cost[k, w[k], w[k + 1]] for k in range(t)) for w in product(range(s), repeat=t + 1)]
    return -xp.max(-xp.stack(ways))


def counted(xp, x, limit):
    above = [v**2 for v in x if at(v) > at(limit)]
    return sum(above) if above else xp.sum(x)


@golden("loops/reductions")
def reductions():
    a = np.array([[1.5, -0.5, 2.0], [0.25, 0.0, -3.0]])
    points = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([[0.5, 0.25], [3.0, 1.0], [1.0, 1.0]])
    return (
        row_products(np, a),
        [2.25, 18.0, 40.5, 12.0],
        (-0.5, 0.0, 8.0),
        hausdorff(np, *points),
        ([1.0, 1.0, 3.0, 3.0, 3.0], 9.0),
        normalised(np, np.array([[2.0, 1.0], [0.5, -1.5]]), np.array([1.0, 0.5]), 3),
        0.75,
        [10.0, 2.0],
        [1.0, -math.inf, math.inf],
    )


# branches


def uneven(xp, x):
    s = 0.5
    for i in range(len(x)):
        if at(x[i]) > 1:
            for _ in range(int(at(x[i]))):
                s = xp.sin(s) + x[i]
        else:
            s = 0.5 * s + x[i] ** 2
    return s


def guarded(xp, x):
    s = 1.0
    for i in range(len(x)):
        s = s + xp.log(x[i]) + (x[i - 1] if i > 0 else 0.0) if at(x[i]) > 0 else s * xp.cos(x[i])
    return s


def damped(xp, x, push):
    for p in push:
        z = x + p
        x = 2.0 - 1 / z if at(z) > 1 else -2.0 - 1 / z if at(z) < -1 else z
    return x


def relaxed(xp, x, steps):
    for t in range(steps):
        if t % 2 == 0:
            x = 0.5 * x + 0.25 * xp.concatenate([x[1:], x[:1]]) ** 2
        else:
            x = put(xp, x, t % len(x), 1.0 + 0 * x[0])
    return x


def root(xp, c):
    # Cardano's formula for the real solution of x^3 + x = c.
    d = xp.sqrt(c**2 / 4 + 1 / 27)
    u = xp.exp(xp.log(c / 2 + d) / 3)
    return u - 1 / (3 * u)


def in_a_branch(xp, x, n):
    y = x
    for _ in range(n if n > 2 else 0 if n == 2 else 3 - n):
        y = y * y - 0.5 * x if n > 2 else xp.cos(y)
    return y


@golden("loops/branches")
def branches():
    return (
        uneven(np, [0.5, 3.5, -0.25, 2.25, 0.75]),
        guarded(np, [0.5, -0.75, 2.0, 0.25]),
        [damped(np, 0.5, [0.25, 1.5, -4.0, 0.5]), 0.5],
        relaxed(np, np.array([1.5, -0.5, 2.0]), 4),
        root(np, 5.0),
        [in_a_branch(np, 0.75, n) for n in (4, 2, 0)],
    )


# operators


def descended(xp, rate, target, steps):
    n, w = len(target), 0 * target
    for _ in range(steps):
        slope = [
            w[i]
            - target[i]
            + w[i] * ((w[i - 1] ** 2 if i > 0 else 0) + (w[i + 1] ** 2 if i + 1 < n else 0)) / 2
            for i in range(n)
        ]
        w = w - rate * xp.stack(slope)
    return w


def wave(xp, x, a):
    """Returns the value and the slope."""
    slope = 1.0
    for _ in range(3):
        x, slope = x + a * xp.sin(x), slope * (1 + a * xp.cos(x))
    return x, slope


def wave_root(xp, a, steps):
    x = 1.0
    for _ in range(steps):
        value, slope = wave(xp, x, a)
        x = x - (value - 2.0) / slope
    return x


def slopes(xp, x, a):
    return wave(xp, x, a)[1] + 0 * x


def saddle(xp, x, y, steps):
    def reply(u):
        """Returns the response to `u`, and its derivative by `u`."""
        v, dv = y, 0.0
        for _ in range(steps):
            step = u - v - xp.sin(u) * xp.sin(v) / 4
            turn = 1 - dv - (xp.cos(u) * xp.sin(v) + xp.sin(u) * xp.cos(v) * dv) / 4
            v, dv = v + 0.25 * step, dv + 0.25 * turn
        return v, dv

    for _ in range(steps):
        v, dv = reply(x)
        slope = x + v + xp.cos(x) * xp.cos(v) / 4
        slope = slope + (x - v - xp.sin(x) * xp.sin(v) / 4) * dv
        x = x - 0.25 * slope
    v, _ = reply(x)
    return x**2 / 2 + x * v - v**2 / 2 + xp.sin(x) * xp.cos(v) / 4


def ruled(xp, x, k):
    y = x
    for v in k:
        product = v * y
        y = 1.5 * y / (1 + (product if at(product) > 0 else -product)) + v / 4
    return y


def stopped_value(x, n):
    still = x
    for _ in range(n):
        still = math.sin(still)
    y = x
    for i in range(n):
        y = y * y + still if i % 2 == 0 else math.cos(y * x)
    return y


@golden("loops/operators")
def operators():
    return (
        descended(np, 0.25, np.array([1.0, -0.5, 2.0]), 6),
        wave_root(np, 0.5, 6),
        slopes(np, np.array([0.5, -1.0]), 0.5),
        saddle(np, 0.5, -0.25, 4),
        ruled(np, 0.75, [0.5, 2.0, 1.25]),
        stopped_value(0.75, 3),
    )


# steps


def ring(xp, x, k, steps):
    n = len(x)
    around = np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)
    for t in range(steps):
        x = (1 - k) * xp.sin(x) + k / 2 * (around @ x) + 0.01 * (t % 3)
    return x


def energy(xp, x, k, steps):
    y = ring(xp, x, k, steps)
    return xp.sum(y**2 / 2 - xp.cos(y * x))


def settled(xp, x, k, limit):
    t, moves = 0, True
    while t < limit and moves:
        z = ring(xp, x, k, 1)
        moves = any(abs(at(z[i] - x[i])) > 0.05 for i in range(len(x)))
        x, t = z, t + 1
    return xp.sum(x**2), t


def swung(xp, u, v, c, steps):
    n = len(u)
    second = -2 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    second[0] = second[-1] = 0
    out = []
    for _ in range(steps):
        out.append(xp.sum(v**2) / 2)
        v = v + c * (second @ u)
        u = u + v
    return (u, v), stacked(xp, out)


def logistic(xp, r, x, n):
    for _ in range(n):
        x = r * x * (1 - x)
    return x


@golden("loops/steps")
def steps():
    x = 0.5 + 0.25 * np.arange(4)
    return (
        energy(np, x, 0.25, 40),
        settled(np, x, 0.5, 1000),
        swung(np, np.array([0.0, 1.0, 0.5, -0.5, 0.0]), np.zeros(5), 0.25, 4),
        [logistic(np, 3.2, 0.3, 30), 0.525, 0.3],
    )


# associative


def log_sum(xp, x):
    return xp.log(xp.sum(xp.exp(x)))


def chain(xp, a):
    p = np.eye(2)
    for m in a:
        p = p @ m
    return p


def turned(xp, q):
    c, s = 1.0, 0.0
    for a, b in q:
        c, s = c * a - s * b, c * b + s * a
    return c, s


def best_run(xp, x):
    runs = [xp.sum(x[i:j]) for i in range(len(x)) for j in range(i + 1, len(x) + 1)]
    return xp.max(xp.stack([0 * x[0]] + runs))


def fraction(xp, a):
    # By the recurrences of numerators and denominators.
    p, q = (1.0, 0.0), (0.0, 1.0)
    for v in a:
        p, q = (p[1], v * p[1] + p[0]), (q[1], v * q[1] + q[0])
    return p[1] / q[1]


def horner(xp, c, x):
    return sum((c[k] * x**k for k in range(len(c))), 0.0)


def filtered(xp, a, x):
    n = len(x)
    return xp.stack([sum((a ** (k - 1 - i) * x[i] for i in range(k)), 0 * a) for k in range(n + 1)])


def products_before(xp, x):
    return xp.stack([xp.prod(x[:i]) for i in range(len(x))])


@golden("loops/associative")
def associative():
    x = np.array([0.5, -1.5, 2.0])
    turns = complex(0.6, 0.8) * complex(0.8, -0.6) * complex(1.0, 0.5)
    return (
        log_sum(np, x),
        chain(np, np.array([[[1.0, 0.5], [0.0, 1.0]], [[0.5, -1.0], [1.0, 0.5]], [[2.0, 0.0], [1.0, 1.0]]])),
        (turns.real, turns.imag),
        5.0,
        30 / 43,
        -0.5,
        filtered(np, 0.5, x),
        [1.0, 2.0, 0.0, 0.0],
    )
