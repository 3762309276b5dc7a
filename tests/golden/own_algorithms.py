"""Golden values of programs/own: discrete algorithms, trees, symbolic computation."""

import functools
import itertools
import math

import numpy as np
import scipy.ndimage
import scipy.sparse.csgraph

from registry import con, golden


def as_list(items):
    """Returns a recursive list of the items."""
    return functools.reduce(lambda rest, item: con("Cons", item, rest), reversed(list(items)), con("Nil"))


@golden("own/life")
def life():
    def run(g, steps):
        for _ in range(steps):
            near = scipy.ndimage.convolve(g.astype(int), np.ones((3, 3), dtype=int), mode="wrap")
            g = (near == 3) | (g & (near == 4))
        return g

    glider = np.zeros((6, 6), dtype=bool)
    glider[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = True
    return np.roll(glider, (1, 1), axis=(0, 1)), [5, int(run(glider, 24).sum()), 3], True


@golden("own/mandelbrot")
def mandelbrot():
    i, j = np.ogrid[:8, :12]
    c = (-2.0 + 3.0 * j / 12.0) + 1j * (-1.0 + 2.0 * i / 8.0)
    z, count = np.zeros_like(c), np.zeros(c.shape, dtype=int)
    for _ in range(50):
        inside = z.real**2 + z.imag**2 <= 4.0
        count += inside
        z = np.where(inside, z * z + c, z)
    return count, int(np.sum(count == 50))


@golden("own/expressions")
def expressions():
    x, y = 0.7, -1.3
    e, s, c = math.exp(-x), math.sin(x * y), math.cos(x * y)
    values = [
        s * e + 3 * x,
        e * (y * c - s) + 3,
        x * c * e,
        e * (c - x * y * s - x * c),
    ]
    # The sizes depend on the rules and their shortcuts, so both are repeated here, on tuples.
    sizes = [size(t) for t in derivatives()]
    return values, sizes, con("Num", 2.0)


def add(a, b):
    if a[0] == b[0] == "num":
        return ("num", a[1] + b[1])
    return b if a == ("num", 0.0) else a if b == ("num", 0.0) else ("add", a, b)


def mul(a, b):
    if a[0] == b[0] == "num":
        return ("num", a[1] * b[1])
    if b[0] == "num":
        a, b = b, a
    return a if a == ("num", 0.0) else b if a == ("num", 1.0) else ("mul", a, b)


def neg(a):
    return ("num", -a[1]) if a[0] == "num" else a[1] if a[0] == "neg" else ("neg", a)


def derive(t, v):
    head, *parts = t
    if head in ("num", "var"):
        return ("num", float(head == "var" and parts[0] == v))
    if head == "add":
        return add(*(derive(p, v) for p in parts))
    if head == "mul":
        a, b = parts
        return add(mul(derive(a, v), b), mul(a, derive(b, v)))
    if head == "neg":
        return neg(derive(parts[0], v))
    outer = {"sin": ("cos", parts[0]), "cos": ("sin", parts[0]), "exp": t}[head]
    inner = mul(outer, derive(parts[0], v))
    return neg(inner) if head == "cos" else inner


def size(t):
    return 1 + sum(size(p) for p in t[1:] if isinstance(p, tuple))


def derivatives():
    x, y = ("var", 0), ("var", 1)
    e = ("add", ("mul", ("sin", ("mul", x, y)), ("exp", ("neg", x))), ("mul", ("num", 3.0), x))
    return [e, derive(e, 0), derive(e, 1), derive(derive(e, 0), 1)]


@golden("own/breadth_first")
def breadth_first():
    edges = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 3), (5, 6), (6, 5)]
    graph = np.zeros((8, 8))
    graph[tuple(zip(*edges))] = 1
    d = scipy.sparse.csgraph.shortest_path(graph, unweighted=True)
    steps = np.where(np.isinf(d), -1, d).astype(int)
    _, label = scipy.sparse.csgraph.connected_components(graph, connection="weak")
    least = np.array([np.flatnonzero(label == c)[0] for c in label])
    both = np.count_nonzero((graph + graph.T) > 0)
    return steps[0], steps[3], least, [7, int(both), int(np.isfinite(d).sum())], True


@golden("own/equalise")
def equalise():
    i, j = np.ogrid[:5, :6]
    picture = (i * j + i) % 5 + 1
    counts = np.bincount(picture.ravel(), minlength=8)
    cdf = np.cumsum(counts)
    first = cdf[picture.min()]
    return (cdf[picture] - first) * 7 // (30 - first), counts, [[0]]


@golden("own/matrix_chain")
def matrix_chain():
    dims = [30, 35, 15, 5, 10, 20, 25]

    @functools.cache
    def best(i, j):
        if i == j:
            return 0
        return min(best(i, k) + best(k + 1, j) + dims[i] * dims[k + 1] * dims[j + 1] for k in range(i, j))

    table = [[best(i, j) if i <= j else 0 for j in range(6)] for i in range(6)]
    return table, [best(0, 5), best(1, 4), 0]


@golden("own/edit_distance")
def edit_distance():
    # As a shortest path through the grid of pairs of prefixes.
    def table(a, b):
        places = list(itertools.product(range(len(a) + 1), range(len(b) + 1)))
        index = {p: k for k, p in enumerate(places)}
        cost = np.full((len(places), len(places)), np.inf)
        for i, j in places:
            for di, dj in ((1, 0), (0, 1), (1, 1)):
                if (i + di, j + dj) in index:
                    same = di and dj and a[i] == b[j]
                    cost[index[i, j], index[i + di, j + dj]] = 0.0 if same else 1.0
        graph = scipy.sparse.csgraph.csgraph_from_dense(cost, null_value=np.inf)
        d = scipy.sparse.csgraph.dijkstra(graph, indices=0)
        return d.reshape(len(a) + 1, len(b) + 1).astype(int)

    return (
        [int(table("kitten", "sitting")[-1, -1]), 7, 6, 0],
        table([1, 2, 3, 4], [2, 4, 3]),
    )


@golden("own/merge_sort")
def merge_sort():
    i = np.arange(10)
    return (
        np.sort(i * 7 % 10 - 0.5 * (i % 3)),
        np.sort(i * i % 11)[::-1],
        as_list([9, 4, 2]),
        0,
    )


@golden("own/mutual_recursion")
def mutual_recursion():
    def turns(n, x, y):
        for k in range(n):
            if k % 2 == 0:
                x = 0.5 * x + y
            else:
                y = 0.25 * x * y
        return x if n % 2 == 0 else y

    def weight(depth, w):
        return w * (1 + sum(weight(depth - 1, w / n) for n in range(1, depth + 1)))

    return (
        [True, False, True, False],
        [turns(0, 1.0, 2.0), turns(5, 1.0, 2.0), turns(8, -0.5, 1.5)],
        [weight(0, 2.0), weight(2, 1.5), weight(4, 0.5)],
    )


@golden("own/binary_trees")
def binary_trees():
    inserted = np.arange(15) * 7 % 11 / 2.0
    ordered = np.unique(inserted)
    signs = (-1.0) ** np.arange(len(ordered))[::-1]

    # The depth of a search tree: an element lies one below the later of its neighbours at insertion.
    depth, present = {}, []
    for x in inserted:
        if x in depth:
            continue
        below = max((p for p in present if p < x), default=None)
        above = min((p for p in present if p > x), default=None)
        depth[x] = 1 + max(depth.get(below, 0), depth.get(above, 0))
        present.append(x)

    leaf = con("Leaf")
    one, three = con("Node", leaf, 1, leaf), con("Node", leaf, 3, leaf)
    return (
        [ordered.sum(), ordered @ signs, float(np.sum(np.arange(15.0) ** 2))],
        [bool(3.5 in inserted), bool(9.0 in inserted)],
        [max(depth.values()), 4, len(ordered)],
        con("Node", one, 2, three),
    )


@golden("own/filtering")
def filtering():
    sieve = np.ones(102, dtype=bool)
    sieve[:2] = False
    for p in range(2, 11):
        sieve[p * p :: p] = False
    primes = np.flatnonzero(sieve)
    small = primes[primes < 30]
    return (
        small,
        [2.5, math.nan, math.nan],
        [len(small), int(np.diff(primes).max())],
        [2, 8, 4, 6, 5, 7, 1],
    )
