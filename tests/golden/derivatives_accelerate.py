"""Derivatives of programs/accelerate."""

import math

import numpy as np
import scipy.special

from checks import WITHOUT_DERIVATIVE, check, derivative, points
from derivatives_df import projected

vec = points("accelerate")

SAME = "the program `{}` on other inputs, which has the derivative"
for _base in ("acond_2a", "acond_2b", "aindex_map_2", "cond_0", "fold1_2", "fold_3", "nonfloat_lam"):
    WITHOUT_DERIVATIVE[f"accelerate/{_base}_friendly"] = SAME.format(_base)
WITHOUT_DERIVATIVE["accelerate/inputs"] = "the inputs of the others: integers in"


def on(name, *points, function=None, **more):
    """Registers derivatives of the function of the program's name, at points away from kinks."""
    points = points or ((vec(1),), (vec(2),), (vec(7),))
    return derivative(f"accelerate/{name}", f"p.{function or name}", *points, label=function or name, **more)


NONE = (vec(0),)
ONE, SEVEN = (vec(1),), (vec(7),)


def zeros(*args):
    return np.zeros(len(args[-1]))


def ones(a):
    return np.ones(len(a))


def constant(value):
    return lambda xp, a: value + 0 * xp.sum(a)


for _name in ("a_ignore_argument", "acond_3a", "acond_3b"):
    on(_name, NONE, SEVEN, ops="value_and_grad grad hvp", closed=zeros)(constant(42.0))
on("ignore_argument", NONE, SEVEN, ops="value_and_grad grad hvp", closed=zeros)(
    lambda xp, a: 42.0 * len(a) + 0 * xp.sum(a)
)

SIGNS = [(vec(1),), (np.abs(vec(5)),), (-np.abs(vec(5)),), (vec(7),)]


def chosen(xp, condition, a, b):
    return xp.where(condition, a, b)


@on("acond_0", *SIGNS)
def acond_0(xp, a):
    s = xp.sum(a)
    return chosen(xp, xp.real(s) > 0, s, 2 * s)


@on("acond_0a", *SIGNS)
def acond_0a(xp, a):
    s = xp.sum(a)
    return chosen(xp, xp.real(s) > 0, 2 * s, s)


@on("acond_1", NONE, SEVEN, ops="grad jvp hvp", closed=lambda a: np.full(len(a), 2.0 * len(a)))
def acond_1(xp, a):
    return 2 * len(a) * xp.sum(a)


for _name in ("acond_2a", "acond_2b"):

    @on(_name, *SIGNS)
    def acond_2(xp, a):
        low, high = 4 * a**2 + 2 * a, 8 * a**2 - 2 * a
        return chosen(xp, xp.real(xp.sum(a)) <= 2, xp.sum(low), xp.sum(high))


on("map", NONE, SEVEN, function="map_1", ops="grad jvp hvp", closed=lambda a: 3 * ones(a))(lambda xp, a: 3 * xp.sum(a))


@on("zipWith", (vec(1), vec(1)), (vec(2), vec(7)), (vec(9), vec(5)))
def zip_with(xp, a, b):
    k = min(len(a), len(b))
    x, y = a[:k], b[:k]
    return xp.sum(xp.sin(2 * x + y) - xp.sin(y)) / 2


def others(a):
    """Returns the product of the other elements, also if elements are 0."""
    return np.array([np.prod(np.delete(a, k)) for k in range(len(a))])


WITH_ZERO = (np.array([1.5, 0.0, -2.0, 0.5]),)
WITH_ZEROS = (np.array([1.5, 0.0, -2.0, 0.0]),)
for _name in ("fold_1", "fold1_1"):
    on(_name, ONE, SEVEN, WITH_ZERO, WITH_ZEROS, ops="grad jvp hvp hessian", closed=others)(lambda xp, a: xp.prod(a))


@on(
    "fold_2",
    (vec(7),),
    (vec(6) + 4 + np.arange(6) / 32,),
    (np.array([3.5, 5.25, 1.0]),),
    ops="grad jvp hvp",
    closed=lambda a: 1.0 * ((a == a.max()) & (a > 3)),
)
def fold_2(xp, a):
    return xp.maximum(xp.max(a), 3.0)


on("fold1_2", ONE, SEVEN, ops="grad jvp hvp", closed=lambda a: 1.0 * (a == a.max()))(lambda xp, a: xp.max(a))
check(
    "accelerate/fold_2",
    "at a tie of the start and an element the start comes first",
    "grad(p.fold_2)([3.0, 1.0])",
    {"closed form": lambda: [0.0, 0.0]},
)
check(
    "accelerate/fold1_2",
    "at a tie the first takes all",
    "grad(p.fold1_2)([2.0, 5.0, 5.0, 5.0])",
    {"closed form": lambda: [0.0, 1.0, 0.0, 0.0]},
)
check(
    "accelerate/fold1_2_friendly",
    "at the program's input",
    "grad(base.fold1_2)(inputs.sample(7, 3))",
    {"closed form": lambda: 1.0 * (((37 * np.arange(7) + 33) % 101) == ((37 * np.arange(7) + 33) % 101).max())},
    imports=["./accelerate/fold1_2.iv as base", "./accelerate/inputs.iv as inputs"],
)
del WITHOUT_DERIVATIVE["accelerate/fold1_2_friendly"]

on("fold_3", *SIGNS, ops="grad jvp hvp", closed=np.sign)(lambda xp, a: xp.sum(xp.where(xp.real(a) < 0, -a, a)))
check(
    "accelerate/fold_3",
    "the branch at 0 is the second, that of a",
    "grad(p.fold_3)([0.0, -1.0])",
    {"closed form": lambda: [1.0, -1.0]},
)


@on("replicate_1", (vec(1),), (vec(4),))
def replicate_1(xp, a):
    return xp.prod(10 * (a**2 + a))


on("replicate_2", closed=lambda a: (2 * a + 1) / 4)(lambda xp, a: xp.sum(a**2 + a) / 4)
on("replicate_3", closed=lambda a: 60 * (2 * a + 1))(lambda xp, a: 60 * xp.sum(a**2 + a))
on("replicate_4", closed=lambda a: 60 * (2 * a + 1))(lambda xp, a: 60 * xp.sum(a**2 + a))
on("slice_1", NONE, ONE, SEVEN, ops="grad jvp hvp", closed=ones)(lambda xp, a: xp.sum(a))


@on(
    "slice_2",
    (0, 0, vec(1)),
    (61, 13, vec(2)),
    (3, 5, vec(7)),
    ops="grad jvp hvp",
    closed=lambda p1, p2, a: 1 + np.eye(len(a))[(p1 + p2) % len(a)],
)
def slice_2(xp, p1, p2, a):
    return xp.sum(a) + a[(p1 + p2) % len(a)]


EVEN = [NONE, (vec(2),), (vec(6),)]


@on("reshape_1", *EVEN, ops="grad jvp hvp")
def reshape_1(xp, a):
    h = len(a) // 2
    return xp.sum(a[:h]) * xp.sum(a[h:])


on("reshape_2", *EVEN, ops="grad jvp hvp", closed=ones)(lambda xp, a: xp.sum(a))


def gather_counts(rows, m, n):
    """Returns the number of times that these rows of a[(i + j) mod n], j < 2 m, gather each element."""
    counts = np.zeros(n)
    for i in rows:
        for j in range(2 * m):
            counts[(i + j) % n] += 1
    return counts


@on(
    "backpermute_1",
    (5, vec(1)),
    (9, vec(7)),
    ops="grad jvp hvp",
    closed=lambda m, a: gather_counts(range(m), m, len(a)),
)
def backpermute_1(xp, m, a):
    return gather_counts(range(m), m, len(a)) @ a


@on(
    "backpermute_2",
    (5, vec(1)),
    (9, vec(7)),
    ops="grad jvp hvp",
    closed=lambda m, a: gather_counts([0, 2, 4], m, len(a)),
)
def backpermute_2(xp, m, a):
    return gather_counts([0, 2, 4], m, len(a)) @ a


@on("aindex_generate_1", NONE, SEVEN, ops="grad jvp hvp", closed=lambda a: np.array([1.0, 0, 1, 0, 1, 0, 0])[: len(a)])
def aindex_generate_1(xp, a):
    return xp.sum(a[: len(a) // 2 * 2 : 2])


@on("aindex_generate_2", ops="grad jvp hvp")
def aindex_generate_2(xp, a):
    n = len(a)
    return 2 * xp.sum(a) + n * (a[0] + a[min(1, n - 1)])


@on("aindex_generate_3", ops="grad jvp hvp")
def aindex_generate_3(xp, a):
    n = len(a)
    weights = [2.0 if 2 * k + 1 < 5 else 1.0 if 2 * k < 5 else 0.0 for k in range(n)]
    return np.array(weights) @ a + 42.0 * max(2 * n - 5, 0)


on("aindex_generate_4", NONE, SEVEN, ops="grad jvp hvp", closed=lambda a: 2 * ones(a))(lambda xp, a: 2 * xp.sum(a))


@on("aindex_map_1", (vec(3),), (vec(7),), ops="grad jvp hvp", closed=lambda a: 1 + len(a) * np.eye(len(a))[2])
def aindex_map_1(xp, a):
    return xp.sum(a) + len(a) * a[2]


def rounded(xp, a):
    """Returns the index |round x| mod n."""
    return xp.abs(xp.round(xp.real(a)).astype(int)) % max(len(a), 1)


def mark(a):
    return 1 + np.bincount(rounded(np, a), minlength=len(a))


@on("aindex_map_2", *SIGNS, ops="grad jvp hvp", closed=lambda a: 1.0 * mark(a))
def aindex_map_2(xp, a):
    return xp.sum(a) + xp.sum(a[rounded(xp, a)])


@on("aindex_map_3", *SIGNS)
def aindex_map_3(xp, a):
    k = np.arange(len(a))
    return a @ xp.max(a[np.bitwise_and.outer(k, k)], axis=1)[rounded(xp, a)]


@on("aindex_map_4", *SIGNS)
def aindex_map_4(xp, a):
    k = np.arange(len(a))
    return a @ xp.sum(a[np.minimum(np.bitwise_xor.outer(k, k), len(a) - 1)], axis=1)[rounded(xp, a)]


@on("aindex_acond", (np.array([0.5, 1.25, -0.875, 2.5]),), (np.array([-3.5, 1.25]),), ops="grad jvp hvp")
def aindex_acond(xp, a):
    s = round(float(np.sum([0.5, 1.25, -0.875, 2.5]))) if len(a) == 4 else -2
    return a[s] if 0 <= s < len(a) else 0 * a[0]


on("aindex_only", ops="grad jvp hvp")(lambda xp, a: xp.sum(a[np.arange(5) % len(a)]))


@on("nonfloat_lam", *SIGNS, ops="grad jvp hvp", closed=lambda a: np.rint(a) * np.cos(a))
def nonfloat_lam(xp, a):
    return xp.sum(xp.round(xp.real(a)) * xp.sin(a))


def softmax(a):
    return np.exp(a - a.max()) / np.exp(a - a.max()).sum()


on("logsumexp1", closed=softmax, ops="value_and_grad grad jvp hvp hessian")(lambda xp, a: xp.log(xp.sum(xp.exp(a))))


@on("logsumexp2", closed=lambda a: softmax(a) - (a == a.max()), ops="value_and_grad grad jvp hvp")
def logsumexp2(xp, a):
    return xp.log(xp.sum(xp.exp(a))) - xp.max(a)


on("logsumexp3", closed=lambda a: 2.0 * (a == a.max()), ops="value_and_grad grad jvp hvp")(lambda xp, a: 2 * xp.max(a))
check(
    "accelerate/logsumexp1",
    "at a tie the maximum takes no part",
    "grad(p.logsumexp1)([1.0, 1.0])",
    {"closed form": lambda: [0.5, 0.5]},
)
check(
    "accelerate/logsumexp2",
    "at a tie the first is subtracted",
    "grad(p.logsumexp2)([1.0, 1.0])",
    {"closed form": lambda: [-0.5, 0.5]},
)
check(
    "accelerate/logsumexp3",
    "at a tie the first takes all",
    "grad(p.logsumexp3)([1.0, 4.0, 4.0])",
    {"closed form": lambda: [0.0, 2.0, 0.0]},
)
check(
    "accelerate/acond_0",
    "the branch where the sum is 0 is the second",
    "grad(p.acond_0)([1.0, -1.0])",
    {"closed form": lambda: [2.0, 2.0]},
)
check(
    "accelerate/cond_0",
    "the branch at 0 is the second",
    "grad(p.cond_0)([0.0, 1.0])",
    {"closed form": lambda: [2.0, 1.0]},
)
check(
    "accelerate/cond_1",
    "both branches meet at 0 with equal slopes",
    "grad(p.cond_1)([0.0])",
    {"closed form": lambda: [0.0]},
)
for _name in ("cond_3a", "cond_3b"):
    check(
        f"accelerate/{_name}",
        "the branch at 2 is the first",
        f"grad(p.{_name})([2.0])",
        {"closed form": lambda: [18.0]},
    )


on("tuple1", closed=lambda a: 2 * np.cos(2 * a) * a + np.sin(2 * a) + 4 * a)(
    lambda xp, a: a @ (xp.sin(2 * a) + 2 * a) + 5
)


@on("tuple2", (np.abs(vec(3)), np.abs(vec(3))), (-np.abs(vec(2)) / 4, -np.abs(vec(2)) / 4))
def tuple2(xp, a, b):
    s = xp.sum(b)
    return xp.log((a @ b + s) * s) + 2 * s


# The sign of b[0], which selects a branch, follows from the size.
@on("tuple3", (vec(3), np.abs(vec(4))), (vec(3), -np.abs(vec(5))), (vec(7), vec(6)), (vec(6), np.abs(vec(1))))
def tuple3(xp, a, b):
    m = len(b)
    if len(a) % 3 == 0:
        a1, a2 = xp.stack([b] * 3, axis=1), a
        positive = m != 5
    else:
        a1, a2, positive = np.array([[0.0, 1.0]]), b, True
    if not positive:
        i = np.arange(4)
        a1, a2 = a2[np.outer(i, i) % len(a2)], a1[:, 0]
    k = min(len(a1), len(a2))
    return xp.sum(a2[:k]) + xp.sum(a1[:k])


@on("tuple4", (vec(1), vec(3)), (vec(5), vec(2)), (vec(4), vec(0)))
def tuple4(xp, a, b):
    sa, sb = xp.sum(a), xp.sum(b)
    return sa * sb + (sb * xp.prod(a) + sb) * sa


def weights(seed, rows, cols, data):
    i, j = np.ogrid[:rows, :cols]
    return data[(i + j + j * j * seed) ** (1 + seed) % len(data)]


def sigmoid(xp, x):
    return 1 / (1 + xp.exp(-x))


@on("neural", (1, 1, vec(1), vec(3)), (4, 7, vec(2), vec(5)), (6, 3, vec(4), vec(10)))
def neural(xp, len1, len2, input, data):
    h = input
    for seed, rows in ((1, len1), (2, len2), (3, 1)):
        h = sigmoid(xp, weights(seed, rows, len(h), data) @ h)
    return h[0]


def acond_cond1(xp, a):
    n = len(a)
    index = int(1 / (1 + np.exp(-np.sum(COND1[n]))) * (2 * n - 0.01))
    if index < n:
        return xp.sum(a[: index + 1]) + xp.sum(xp.stack([2 * a[(i - index) // 2] for i in range(index + 1, 2 * n)]))
    return 2 * n * a[index - n] + 3 * xp.sum(a)


# One point for every size, so that the size determines the branch.
COND1 = {
    3: np.array([0.25, -1.5, 0.5]),
    4: np.array([0.25, 1.5, -0.5, 1.0]),
    5: -np.abs(vec(5)),
    2: np.array([2.0, 1.0]),
}
on("acond_cond1", *((a,) for a in COND1.values()), ops="value_and_grad jvp hvp")(acond_cond1)


@on("cond_0", *SIGNS, closed=lambda a: np.where(a > 0, 1.0, 2.0))
def cond_0(xp, a):
    return xp.sum(xp.where(xp.real(a) > 0, a, 2 * a))


@on("cond_1", *SIGNS)
def cond_1(xp, a):
    return xp.sum(2 * xp.where(xp.real(a) > 0, xp.sin(a * a), a * a * xp.exp(a)))


@on("cond_2", *SIGNS, step=1 / 128)
def cond_2(xp, a):
    periods = xp.floor(xp.real(a) / (2 * np.pi))
    late = a - np.pi / 2 - 2 * np.pi * xp.floor((xp.real(a) - np.pi / 2) / (2 * np.pi))
    bump = np.pi / 12 * ((2 - 2 / np.pi * late) ** 6 - 1)
    return xp.sum(xp.where(xp.real(a) - 2 * np.pi * periods < np.pi, xp.sin(a), bump) ** 2)


for _name in ("cond_3a", "cond_3b"):

    @on(_name, *SIGNS, (np.array([2.5, 1.5, 3.25]),), closed=lambda a: np.where(a <= 2, 8 * a + 2, 16 * a - 2))
    def cond_3(xp, a):
        return xp.sum(xp.where(xp.real(a) <= 2, 4 * a**2 + 2 * a, 8 * a**2 - 2 * a))


@on(
    "cond_4",
    (np.array([1.5, 2.5]),),
    (np.array([-0.5, 0.75]),),
    (np.array([-1.5, -2.25]),),
    (np.array([1.5, 0.25, -1.75]),),
)
def cond_4(xp, a):
    r = xp.real(a)
    # The logarithm is not evaluated at elements that do not select it.
    u = xp.where(r >= 1, xp.log(xp.where(r >= 1, a, 1.0)) + 1, xp.where(r < -1, xp.exp(a + 1) - 2, a))
    y = 2 * xp.exp(u)
    return xp.sum(u * y + xp.where(xp.real(u) < -1, u * u, 0.0))


def root(xp, q, l):
    """Returns the triangular matrix with exp(q) on the diagonal and l below it, column by column."""
    d = len(q)
    rows = [[0.0 * q[0]] * d for _ in range(d)]
    at = 0
    for j in range(d):
        rows[j][j] = xp.exp(q[j])
        for i in range(j + 1, d):
            rows[i][j] = l[at]
            at += 1
    return xp.stack([xp.stack(row) for row in rows])


def mixture(xp, alpha, mu, q, l, x, gamma, m):
    """Returns ADBench's objective; the logarithm of the multivariate gamma function is constant."""
    (n, d), k = x.shape, len(alpha)
    inner = []
    for c in range(k):
        r = (x - mu[c]) @ root(xp, q[c], l[c]).T
        inner.append(alpha[c] + xp.sum(q[c]) - xp.sum(r * r, axis=1) / 2)
    likelihood = xp.sum(xp.log(sum(xp.exp(e) for e in inner))) - n * xp.log(xp.sum(xp.exp(alpha)))
    p = d + m + 1
    prior = gamma**2 / 2 * (xp.sum(xp.exp(2 * q)) + xp.sum(l**2)) - m * xp.sum(q)
    constant = p * d * (xp.log(gamma) - math.log(2) / 2) - scipy.special.multigammaln(p / 2, d)
    return -n * d / 2 * math.log(2 * math.pi) + likelihood + prior - k * constant


def mixture_point(n, d, k):
    return (vec(k) / 2, vec(k, d) / 2, vec(k, d) / 4, vec(k, d * (d - 1) // 2) / 2, vec(n, d), 1.2, 2)


GMM_SMALL, GMM, GMM_LARGE = mixture_point(3, 2, 2), mixture_point(6, 3, 3), mixture_point(10, 8, 5)
on("gmm", GMM, function="objective", wrt="alpha mu q l", ops="value_and_grad jvp hvp")(mixture)
on("gmm", mixture_point(1, 1, 1), mixture_point(4, 1, 2), function="objective", wrt="mu q gamma", ops="grad jvp hvp")(
    mixture
)
derivative("accelerate/gmm", "p.objective", GMM_LARGE, label="objective of 300 inputs", ops="jvp")(mixture)
derivative(
    "accelerate/gmm", "p.objective", GMM_SMALL, wrt="alpha mu q l", label="objective of two components", ops="hessian"
)(mixture)


@derivative("accelerate/gmm", "p.root", (vec(4), vec(6)), (vec(1), vec(0)), label="root")
def root_of(xp, q, l):
    return root(xp, q, l)


CAMERAS = 0.02 * np.outer(np.arange(1, 4), np.arange(1, 12))
CAMERAS[:, 5] = -4.0
OBSERVED = np.array([[o % 3, o % 4] for o in range(6)])
SCENE = (CAMERAS, vec(4, 3), np.abs(vec(6)) + 0.5, OBSERVED, vec(6, 2))


@derivative("accelerate/ba", "p.objective", SCENE, ops="jvp2 vjp")
def bundle(xp, cameras, points, weights, observed, features):
    errors = [weights[o] * (projected(xp, cameras[c], points[q]) - features[o]) for o, (c, q) in enumerate(OBSERVED)]
    return xp.stack(errors), 1 - weights**2


@derivative(
    "accelerate/ba",
    "\\(c: [11]f64), (x: [3]f64), (w: f64), (m: [2]f64): p.reprojection_error(p.camera(c), x, w, m)",
    (CAMERAS[1], vec(3), 0.75, vec(2)),
    label="reprojection_error",
)
def reprojection_error(xp, c, x, w, m):
    return w * (projected(xp, c, x) - m)


@derivative("accelerate/ba", "p.weight_error", (0.75,), ops="grad hvp", closed=lambda weight: -2 * weight)
def weight_error(xp, weight):
    return 1 - weight**2


CROSS = (
    np.array([[0.0, 0, 0], [0, 0, -1], [0, 1, 0]]),
    np.array([[0.0, 0, 1], [0, 0, 0], [-1, 0, 0]]),
    np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 0]]),
)
check(
    "accelerate/ba",
    "rotation by zero is the limit of the others",
    "jacobian(p.rodrigues)([0.0, 0.0, 0.0], [1.0, -2.0, 0.5])",
    {"closed form": lambda: (np.stack([c @ [1.0, -2.0, 0.5] for c in CROSS], axis=1), np.eye(3))},
)
