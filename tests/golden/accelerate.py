"""Golden values of programs/accelerate."""

import functools
import math

import numpy as np
import scipy.special
from scipy.spatial.transform import Rotation

from registry import golden

# The lengths and seeds of the inputs of most programs.
STANDARD = [(0, 1), (1, 8), (2, 1), (7, 4), (20, 4)]


def sample(n, seed):
    """Returns the vector `sample(n, seed)` of inputs.iv."""
    return (37 * np.arange(n) + 11 * seed) % 101 / 5.0 - 10.0


def on(name, cases=STANDARD):
    """Registers a function of a vector, for these lengths and seeds."""

    def register(function):
        golden("accelerate/" + name)(lambda: [function(sample(n, seed)) for n, seed in cases])
        return function

    return register


def rounded(x):
    """Returns the index |round x| mod n."""
    return np.abs(np.rint(x)).astype(int) % max(len(x), 1)


@on("acond_0")
def acond_0(a):
    return a.sum() * (1 if a.sum() > 0 else 2)


@on("acond_0a")
def acond_0a(a):
    return a.sum() * (2 if a.sum() > 0 else 1)


@on("acond_1")
def acond_1(a):
    return 2 * a.sum() * len(a)


def acond_2(a):
    b = 2 * a
    return np.dot(b, b + 1) if a.sum() <= 2 else np.dot(b, 2 * b - 1)


on("acond_2a")(acond_2)
on("acond_2b")(acond_2)
on("acond_2a_friendly", [(0, 1), (1, 8), (2, 1), (7, 8), (20, 7)])(acond_2)
on("acond_2b_friendly", [(0, 1), (1, 1), (2, 5), (7, 4), (20, 9)])(acond_2)

on("acond_3a")(lambda a: 42.0)
on("acond_3b")(lambda a: 42.0)
on("map")(lambda a: 3 * a.sum())


@golden("accelerate/zipWith")
def zip_with():
    def f(a, b):
        k = min(len(a), len(b))
        x, y = a[:k], b[:k]
        # sin x cos(x + y) as a sum of sines
        return np.sum(np.sin(2 * x + y) - np.sin(y)) / 2

    cases = [((0, 1), (0, 2)), ((1, 8), (1, 3)), ((2, 1), (7, 4)), ((20, 3), (11, 5)), ((20, 4), (20, 6))]
    return [f(sample(*p), sample(*q)) for p, q in cases]


on("fold_1")(np.prod)
on("fold_2", [(0, 1), (1, 8), (1, 1), (7, 4), (20, 4)])(lambda a: np.max(a, initial=3.0))
on("fold_3")(lambda a: np.abs(a).sum())
on("fold_3_friendly")(lambda a: np.abs(a).sum())
on("fold1_1", STANDARD[1:])(np.prod)
on("fold1_2", STANDARD[1:])(np.max)
on("fold1_2_friendly", [(1, 2), (3, 5), (7, 3), (20, 6)])(np.max)
on("replicate_1")(lambda a: np.prod(10 * (a**2 + a)))
on("replicate_2")(lambda a: np.sum(a**2 + a) / 4)
on("replicate_3")(lambda a: np.sum(a**2 + a) * (5 * 2 * 3 * 2))
on("replicate_4")(lambda a: np.sum(a**2 + a) * (5 * 3 * 2 * 2))
on("slice_1")(np.sum)


@golden("accelerate/slice_2")
def slice_2():
    def row(p1, p2, a):
        # All elements, and the one at index p1 + p2 modulo the length again.
        return a.sum() + np.roll(a, -(p1 + p2))[0]

    cases = [(0, 0, (1, 8)), (61, 13, (2, 1)), (3, 5, (7, 4)), (60, 7, (20, 4)), (19, 19, (20, 3))]
    return [row(p1, p2, sample(*c)) for p1, p2, c in cases]


EVEN = [(0, 1), (2, 1), (6, 4), (8, 5), (20, 4)]
on("reshape_1", EVEN)(lambda a: a[: len(a) // 2].sum() * a[len(a) // 2 :].sum())
on("reshape_2", EVEN)(np.sum)

WIDTHS = list(zip([5, 15, 9, 12], STANDARD[1:]))


def gathered(m, a):
    """Returns the row sums of the m by 2m matrix of a[(i + j) mod n]."""
    periodic = np.resize(a, 3 * m)
    return np.convolve(periodic, np.ones(2 * m), mode="valid")[:m]


@golden("accelerate/backpermute_1")
def backpermute_1():
    return [gathered(m, sample(*case)).sum() for m, case in WIDTHS]


@golden("accelerate/backpermute_2")
def backpermute_2():
    def f(m, a):
        return gathered(m, a)[[0, 2, 4]].sum()

    return [f(m, sample(*case)) for m, case in WIDTHS]


on("aindex_generate_1")(lambda a: a[: len(a) // 2 * 2 : 2].sum())
on("aindex_generate_2")(
    lambda a: 2 * a.sum() + len(a) * (a[0] + a[min(1, len(a) - 1)]) if len(a) else 0.0
)


@on("aindex_generate_3")
def aindex_generate_3(a):
    doubled = np.repeat(a, 2)
    doubled[5:] = 42.0
    return doubled.sum()


on("aindex_generate_4")(lambda a: 2 * a.sum())
on("aindex_map_1", [(3, 1), (4, 8), (7, 4), (20, 4)])(lambda a: a.sum() + len(a) * a[2])


def aindex_map_2(a):
    return a.sum() + a[rounded(a)].sum()


on("aindex_map_2")(aindex_map_2)
on("aindex_map_2_friendly", [(0, 1), (1, 6), (3, 2), (7, 1), (20, 3)])(aindex_map_2)


@on("aindex_map_3")
def aindex_map_3(a):
    k = np.arange(len(a))
    b = np.max(a[np.bitwise_and.outer(k, k)], axis=1, initial=-20.0)
    return a @ b[rounded(a)]


@on("aindex_map_4")
def aindex_map_4(a):
    k = np.arange(len(a))
    b = np.take(a, np.bitwise_xor.outer(k, k), mode="clip").sum(axis=1) if len(a) else a
    return a @ b[rounded(a)]


@on("aindex_acond", [(0, 1), (1, 8), (2, 1), (7, 4), (20, 8), (20, 7), (20, 4)])
def aindex_acond(a):
    s = round(a.sum())
    return a[s] if s in range(len(a)) else 0.0


on("aindex_only", [(1, 8), (2, 1), (4, 5), (7, 4), (20, 4)])(lambda a: np.resize(a, 5).sum())
on("a_ignore_argument")(lambda a: 42.0)


def nonfloat_lam(a):
    return np.rint(a) @ np.sin(a)


on("nonfloat_lam")(nonfloat_lam)
on("nonfloat_lam_friendly", [(0, 1), (1, 6), (3, 2), (7, 1), (20, 3)])(nonfloat_lam)


def logsumexp(a):
    return scipy.special.logsumexp(a) if len(a) else -math.inf


on("logsumexp1")(logsumexp)
on("logsumexp2")(lambda a: logsumexp(a) - a.max() if len(a) else -math.inf)
on("logsumexp3")(lambda a: 2 * np.max(a, initial=-math.inf))


@on("tuple1")
def tuple1(a):
    # b = 2a; sum of sin(b) a + a b, and 5
    return a @ (np.sin(2 * a) + 2 * a) + 5


@golden("accelerate/tuple2")
def tuple2():
    def f(a, b):
        return np.log((a @ b + b.sum()) * b.sum()) + 2 * b.sum()

    cases = [((0, 1), (0, 2)), ((1, 8), (1, 3)), ((2, 1), (2, 7)), ((7, 4), (7, 7)), ((20, 4), (20, 3))]
    return [f(sample(*p), sample(*q)) for p, q in cases]


@golden("accelerate/tuple3")
def tuple3():
    def f(a, b):
        if len(a) % 3 == 0:
            a1, a2 = np.repeat(b[:, None], 3, axis=1), a
        else:
            a1, a2 = np.array([[0.0, 1.0]]), b
        if a1[0, 1] <= 0:
            i = np.arange(4)
            a1, a2 = a2[np.outer(i, i) % len(a2)], a1[:, 0]
        k = min(len(a1), len(a2))
        return a2[:k].sum() + a1[:k].sum()

    cases = [((1, 8), (1, 3)), ((3, 1), (5, 4)), ((6, 4), (7, 1)), ((7, 4), (20, 7)), ((18, 4), (20, 8))]
    return [f(sample(*p), sample(*q)) for p, q in cases]


@golden("accelerate/tuple4")
def tuple4():
    def f(a, b):
        sa, sb = a.sum(), b.sum()
        return sa * sb + (sb * a.prod() + sb) * sa

    cases = [((0, 1), (0, 2)), ((1, 8), (3, 3)), ((5, 1), (2, 7)), ((7, 4), (0, 7)), ((12, 4), (20, 3))]
    return [f(sample(*p), sample(*q)) for p, q in cases]


@golden("accelerate/neural")
def neural():
    def weights(seed, rows, cols, data):
        i, j = np.ogrid[:rows, :cols]
        return data[(i + j + j * j * seed) ** (1 + seed) % len(data)]

    def f(len1, len2, x, data):
        layers = [
            weights(1, len1, len(x), data),
            weights(2, len2, len1, data),
            weights(3, 1, len2, data),
        ]
        return functools.reduce(lambda h, w: scipy.special.expit(w @ h), layers, x)[0]

    return [
        f(1, 1, sample(1, 8), sample(3, 1)),
        f(4, 7, sample(2, 1), sample(5, 4)),
        f(15, 3, sample(7, 4), sample(20, 8)),
        f(9, 15, sample(20, 4), sample(17, 3)),
    ]


@on("acond_cond1", [(1, 1), (1, 8), (2, 1), (7, 1), (7, 5), (20, 4), (20, 7)])
def acond_cond1(a):
    n = len(a)
    idx = int(scipy.special.expit(a.sum()) * (2 * n - 0.01))
    if idx < n:
        # The elements up to idx, then every element of 2a twice, except the first, which occurs once.
        return a[: idx + 1].sum() + np.repeat(2 * a, 2)[1 : 2 * n - idx].sum()
    return 2 * n * a[idx - n] + 3 * a.sum()


def cond_0(a):
    return a.sum() + np.minimum(a, 0).sum()


on("cond_0")(cond_0)
on("cond_0_friendly")(cond_0)
on("cond_1")(lambda a: np.sum(2 * np.where(a > 0, np.sin(a * a), a * a * np.exp(a))))


@on("cond_2")
def cond_2(a):
    turn = np.mod(a, 2 * np.pi)
    bump = np.pi / 12 * ((2 - 2 / np.pi * np.mod(a - np.pi / 2, 2 * np.pi)) ** 6 - 1)
    return np.sum(np.where(turn < np.pi, np.sin(a), bump) ** 2)


@on("cond_3a")
def cond_3a(a):
    return np.sum(np.where(a <= 2, 4 * a**2 + 2 * a, 8 * a**2 - 2 * a))


on("cond_3b")(cond_3a)


@on("cond_4")
def cond_4(a):
    u = np.piecewise(a, [a >= 1, a < -1], [lambda x: np.log(x) + 1, lambda x: np.exp(x + 1) - 2, lambda x: x])
    y = 2 * np.exp(u)
    return np.sum(u * y + np.where(u < -1, u * u, 0.0))


on("ignore_argument")(lambda a: 42.0 * len(a))


def lower_root(q, l):
    """Returns the triangular matrix with exp(q) on the diagonal and l below it, column by column."""
    d = len(q)
    root = np.zeros((d, d))
    root.T[np.triu_indices(d, 1)] = l
    return root + np.diag(np.exp(q))


@golden("accelerate/gmm")
def gmm():
    def objective(n, d, k, gamma=1.2, m=2):
        alpha = 0.3 * np.arange(k) - 0.2
        mu = np.sin(np.add.outer(2 * np.arange(k), np.arange(d)))
        q = 0.1 * np.subtract.outer(np.arange(k), np.arange(d))
        l = 0.25 * np.cos(np.outer(np.arange(k), np.arange(d * (d - 1) // 2)))
        x = 1.5 * np.cos(np.add.outer(np.arange(n), 0.5 * np.arange(d)))
        roots = np.stack([lower_root(q[c], l[c]) for c in range(k)])
        z = np.einsum("cij,ncj->nci", roots, x[:, None, :] - mu[None])
        _, logdet = np.linalg.slogdet(roots)
        inner = alpha + logdet - 0.5 * np.sum(z**2, axis=2)
        likelihood = scipy.special.logsumexp(inner, axis=1).sum() - n * scipy.special.logsumexp(alpha)
        wishart = d + m + 1
        prior = 0.5 * gamma**2 * np.sum(roots**2) - m * np.sum(q)
        constant = wishart * d * (math.log(gamma) - 0.5 * math.log(2)) - scipy.special.multigammaln(
            0.5 * wishart, d
        )
        return -0.5 * n * d * math.log(2 * math.pi) + likelihood + prior - k * constant

    return (
        [objective(6, 4, 3), objective(10, 3, 2), objective(5, 2, 4), objective(1, 1, 1)],
        lower_root([0.0, 0.1, 0.2, 0.3], np.arange(1.0, 7.0)),
    )


@golden("accelerate/ba")
def ba():
    cameras = 0.02 * np.outer(np.arange(3), np.arange(1, 12))
    cameras[:, 5] = -4.0
    points = np.sin(np.arange(12.0)).reshape(4, 3)
    weights = 0.5 + 0.1 * np.arange(6)
    features = np.outer(np.arange(6), [0.1, -0.05])
    seen_by, seen = cameras[np.arange(6) % 3], points[np.arange(6) % 4]
    turned = Rotation.from_rotvec(seen_by[:, :3]).apply(seen - seen_by[:, 3:6])
    plane = turned[:, :2] / turned[:, 2:]
    r2 = np.sum(plane**2, axis=1, keepdims=True)
    bent = plane * (1 + seen_by[:, 9:10] * r2 + seen_by[:, 10:11] * r2**2)
    projected = bent * seen_by[:, 6:7] + seen_by[:, 7:9]
    return weights[:, None] * (projected - features), 1 - weights**2
