"""Derivatives of the library at hard points: equal eigenvalues, singular matrices, the edges and the tails of
distributions. Values are computed with mpmath to many digits, or are closed forms."""

import mpmath as mp
import numpy as np
import scipy.linalg

from checks import check, points

vec = points("edges")


def closed(program, name, expr, value, module):
    check(program, name, expr, {"closed form": value}, imports=module.split())


def text(a):
    return np.asarray(a, dtype=float).tolist()


# functions of symmetric matrices

SPECTRA = {
    "all equal": [2.0, 2.0, 2.0, 2.0],
    "two pairs": [1.0, 1.0, 3.0, 3.0],
    "nearly equal": [1.0, 1.0 + 2.0**-30, 1.0 + 2.0**-12, 1.0 + 2.0**-8],
    "apart": [0.5, 1.0, 2.0, 4.0],
}
FUNCTIONS = {
    "logm": ("linalg.logm", mp.log),
    "sqrtm": ("linalg.sqrtm", mp.sqrt),
    "funm of exp": ("\\(x: [4, 4]f64): linalg.funm(exp, x)", mp.exp),
    "funm of sin": ("\\(x: [4, 4]f64): linalg.funm(sin, x)", mp.sin),
    "funm of the inverse": ("\\(x: [4, 4]f64): linalg.funm(\\y: 1 / y, x)", lambda x: 1 / x),
}


def symmetric(a):
    return (a + a.T) / 2


def spectral(f, a):
    """Returns `f` of a symmetric mpmath matrix."""
    values, vectors = mp.eigsy(a)
    return vectors * mp.diag([f(x) for x in values]) * vectors.T


def along(f, w, a, *tangents):
    """Returns the derivative of the sum of `w` times `f(a)` along one or two tangents, by differences at 100 digits."""
    with mp.workdps(100):
        w, a, *tangents = (mp.matrix(x.tolist()) for x in (w, a, *tangents))
        h = mp.mpf(10) ** -30
        total = mp.mpf(0)
        for signs in np.ndindex(*[2] * len(tangents)):
            shift = sum((h * (1 - 2 * s) * t for s, t in zip(signs, tangents)), 0 * a)
            y = spectral(f, a + shift)
            size = a.rows
            total += (-1) ** sum(signs) * mp.fsum(w[i, j] * y[i, j] for i in range(size) for j in range(size))
        return float(total / (2 * h) ** len(tangents))


WEIGHTS, E, H = (symmetric(vec(4, 4)) for _ in range(3))
for _spectrum, _values in SPECTRA.items():
    _a = np.diag(_values)
    if _spectrum in ("apart", "nearly equal"):
        # Rotated, and rounded to the digits of the literal.
        _q = np.linalg.qr(vec(4, 4))[0]
        _a = symmetric(_q @ _a @ _q.T)
    for _name, (_expr, _f) in FUNCTIONS.items():
        _loss = f"(\\(a: [4, 4]f64): let f = {_expr} let y = f(a) in sum i, j: {text(WEIGHTS)}[i, j] * y[i, j])"
        closed(
            "std/eigenvalues",
            f"{_name}, eigenvalues {_spectrum}: jvp",
            f"jvp{_loss}({text(_a)}, {text(E)})",
            lambda a=_a, f=_f: along(f, WEIGHTS, a, E),
            "linalg",
        )
        closed(
            "std/eigenvalues",
            f"{_name}, eigenvalues {_spectrum}: grad",
            f"let g = grad{_loss}({text(_a)}) in sum i, j: g[i, j] * {text(E)}[i, j]",
            lambda a=_a, f=_f: along(f, WEIGHTS, a, E),
            "linalg",
        )
        closed(
            "std/eigenvalues",
            f"{_name}, eigenvalues {_spectrum}: hvp",
            f"let h = hvp{_loss}({text(_a)}, {text(H)}) in sum i, j: h[i, j] * {text(E)}[i, j]",
            lambda a=_a, f=_f: along(f, WEIGHTS, a, E, H),
            "linalg",
        )

closed(
    "std/eigenvalues",
    "funm by what its function captures, at equal eigenvalues",
    "grad(\\(t: f64): linalg.trace(linalg.funm(\\x: x^t, [[t, 0.0], [0.0, 2.0]])))(2.0)",
    lambda: 8 * np.log(2.0) + 4,
    "linalg",
)
closed(
    "std/eigenvalues",
    "the hessian of the logarithm of the determinant at the identity, by logm",
    "hvp(\\(a: [2, 2]f64): linalg.trace(linalg.logm(a)))([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])",
    lambda: [[0.0, -1.0], [-1.0, 0.0]],
    "linalg",
)
NOTHING = [[np.nan, np.nan], [np.nan, np.nan]]
for _name, _expr, _value in (
    ("vectors", "jvp(\\(a: [2, 2]f64): linalg.eigh(a).vectors)(linalg.eye(2), [[0.0, 1.0], [1.0, 0.0]])", NOTHING),
    (
        "second derivatives of values",
        "hvp(\\(a: [2, 2]f64): sum i: log(linalg.eigvalsh(a)[i]))(linalg.eye(2), [[0.0, 1.0], [1.0, 0.0]])",
        NOTHING,
    ),
    ("the sum of logarithms", "grad(\\(a: [2, 2]f64): sum i: log(linalg.eigvalsh(a)[i]))(linalg.eye(2))", np.eye(2)),
    ("singular vectors", "jvp(\\(a: [2, 2]f64): linalg.svd(a).v)(linalg.eye(2), [[0.0, 1.0], [1.0, 0.0]])", NOTHING),
    ("the sum of singular values", "grad(\\(a: [2, 2]f64): total(linalg.svdvals(a)))(linalg.eye(2))", np.eye(2)),
):
    closed("std/eigenvalues", f"equal eigenvalues: {_name}", _expr, lambda value=_value: value, "linalg")

# the exponential of any matrix

ANY, EDGE, OTHER, WEIGHT = vec(3, 3), vec(3, 3), vec(3, 3), vec(3, 3)


def exponential_along(a, *tangents):
    """Returns a derivative of `expm` along tangents, from block matrices: each tangent doubles the matrix."""
    for k, t in enumerate(tangents):
        t = np.kron(np.eye(2**k), t)
        a = np.block([[a, t], [np.zeros_like(a), a]])
    return (WEIGHT * scipy.linalg.expm(a)[:3, -3:]).sum()


_loss = f"(\\(a: [3, 3]f64): let y = linalg.expm(a) in sum i, j: {text(WEIGHT)}[i, j] * y[i, j])"
for _name, _a in (("expm", ANY), ("expm of zeros", np.zeros((3, 3))), ("expm of a great matrix", 8 * ANY)):
    _args = f"({text(_a)}, {text(EDGE)})"
    for _op, _expr, _tangents in (
        ("jvp", f"jvp{_loss}{_args}", (EDGE,)),
        ("grad", f"let g = grad{_loss}({text(_a)}) in sum i, j: g[i, j] * {text(EDGE)}[i, j]", (EDGE,)),
        ("hvp", f"let h = hvp{_loss}{_args} in sum i, j: h[i, j] * {text(OTHER)}[i, j]", (EDGE, OTHER)),
    ):
        closed(
            "std/eigenvalues",
            f"{_name}: {_op}",
            _expr,
            lambda a=_a, t=_tangents: exponential_along(a, *t),
            "linalg",
        )

# determinants

RANKS = {
    "of rank two": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
    "of rank one": [[1.0, 2.0, -1.0], [2.0, 4.0, -2.0], [0.5, 1.0, -0.5]],
    "of zeros": [[0.0] * 3] * 3,
    "regular": text(vec(3, 3)),
}


def minors_of(a):
    """Returns the cofactors of a matrix of three rows: cross products of its rows."""
    return np.stack([np.cross(a[1], a[2]), np.cross(a[2], a[0]), np.cross(a[0], a[1])])


def minors_along(a, h):
    a, h = np.asarray(a), np.asarray(h)
    return (minors_of(a + h) - minors_of(a - h)) / 2


TILT = np.diag([1.0, 2.0, 3.0]) + np.round(4 * vec(3, 3)) / 16
for _name, _a in RANKS.items():
    closed(
        "std/factorisations",
        f"det {_name}: grad",
        f"grad(linalg.det)({_a})",
        lambda a=_a: minors_of(np.asarray(a)),
        "linalg",
    )
    closed(
        "std/factorisations",
        f"det {_name}: hvp",
        f"hvp(linalg.det)({_a}, {text(TILT)})",
        lambda a=_a: minors_along(a, TILT),
        "linalg",
    )
for _name, _expr, _value in (
    ("great", "grad(linalg.det)(linalg.diag([1e200, 1e200]))", np.diag([1e200, 1e200])),
    ("great and small", "grad(linalg.det)(linalg.diag([1e-300, 1e300]))", np.diag([1e300, 1e-300])),
    ("that cancels", "linalg.det(linalg.diag([1e-300, 1e-300, 1e300, 1e300]))", 1.0),
    ("spectral norm of zeros", "grad(linalg.spectral_norm)([[0.0, 0.0], [0.0, 0.0]])", np.zeros((2, 2))),
    ("sum of squares at zeros", "hvp(linalg.sum_of_squares)([[0.0, 0.0]], [[1.0, 3.0]])", [[2.0, 6.0]]),
):
    closed("std/factorisations", f"at an edge: {_name}", _expr, lambda value=_value: value, "linalg")

for _x, _k in ((6.1e-308, -1), (6.1e-308, -2), (1e-300, -23), (1e300, -1999), (1e-300, 1900), (1.5e-300, 1990)):
    closed(
        "std/factorisations",
        f"scale_binary of {_x} by {_k}",
        f"linalg.scale_binary({_x}, {_k})",
        lambda x=_x, k=_k: np.ldexp(x, k),
        "linalg",
    )

# statistics at edges and in tails


def normal(order, z):
    """Returns derivatives of the logarithm of the normal distribution function."""
    with mp.workdps(60):
        z = mp.mpf(z)
        c = mp.erfc(-z / mp.sqrt(2)) / 2
        m = mp.npdf(z) / c
        value = mp.log1p(-mp.erfc(z / mp.sqrt(2)) / 2) if z > 5 else mp.log(c)
        return float([value, m, -m * (m + z)][order])


def scaled(order, x):
    """Returns `erfcx` and its derivatives."""
    with mp.workdps(60):
        x = mp.mpf(x)
        y = mp.exp(x * x) * mp.erfc(x)
        two = 2 / mp.sqrt(mp.pi)
        return float([y, 2 * x * y - two, (2 + 4 * x * x) * y - 2 * x * two][order])


for _f, _name, _call, _points in (
    (
        normal,
        "normal_logcdf",
        "\\z: stats.normal_logcdf(z, 0.0, 1.0)",
        (-300.0, -40.0, -5.0, -1.0, 0.0, 0.5, 8.0, 30.0),
    ),
    (scaled, "erfcx", "stats.erfcx", (-20.0, -1.0, 0.0, 0.75, 1.9375, 2.0, 3.5, 30.0, 1000.0)),
):
    for _x in _points:
        _exprs = (f"({_call})({_x})", f"grad({_call})({_x})", f"grad(grad({_call}))({_x})")
        for _order, _expr in enumerate(_exprs):
            closed(
                "std/density_gradients",
                f"{_name} at {_x}, derivative {_order}",
                _expr,
                lambda f=_f, order=_order, x=_x: f(order, x),
                "stats",
            )

inf, nan = np.inf, np.nan
for _expr, _value in (
    ("(stats.xlogy(0.0, inf), stats.xlogy(0.0, -1.0), stats.xlogy(0.0, nan))", (0.0, 0.0, nan)),
    ("grad(stats.xlogy)(0.0, 0.0)", (-inf, 0.0)),
    ("grad(stats.xlogy)(0.0, 4.0)", (np.log(4.0), 0.0)),
    ("grad(grad(\\t: stats.xlogy(t^2, 4.0)))(0.0)", 2 * np.log(4.0)),
    ("grad(stats.xlog1py)(0.0, -1.0)", (-inf, 0.0)),
    ("grad(stats.gamma_logpdf)(0.0, 1.0, 2.0)", (-2.0, -inf, 0.5)),
    ("grad(stats.gamma_logpdf)(0.0, 20.0, 2.0)", (inf, -inf, 10.0)),
    ("stats.gamma_logpdf(inf, 2.0, 1.0)", -inf),
    ("grad(stats.beta_logpdf)(0.0, 1.0, 2.0)", (-1.0, -inf, 0.5)),
    ("grad(stats.binomial_logpmf)(0, 3, 0.0)", (None, None, -3.0)),
    ("grad(stats.binomial_logpmf)(3, 3, 1.0)", (None, None, 3.0)),
    ("grad(stats.poisson_logpmf)(0, 0.0)", (None, -1.0)),
    ("stats.poisson_logpmf(20, inf)", -inf),
    ("grad(stats.student_t_logpdf)(1e200, 1.0, 0.0, 1.0).0", -2e-200),
    ("stats.cauchy_logpdf(1e200, 0.0, 1.0)", -np.log(np.pi) - 400 * np.log(10.0)),
    ("grad(stats.sd)([2.0, 2.0, 2.0])", [0.0, 0.0, 0.0]),
    ("grad(stats.sample_sd)([2.0, 2.0])", [0.0, 0.0]),
    ("grad(stats.relative_entropy)(0.0, 0.5)", (-inf, 0.0)),
):
    closed("std/density_gradients", f"at an edge: {_expr}", _expr, lambda value=_value: value, "stats")


def loggamma(x):
    return mp.loggamma(mp.mpf(x))


def exact(f):
    with mp.workdps(60):
        return float(f())


for _expr, _value in (
    (
        "stats.binomial_logpmf(500000000, 1000000000, 0.5)",
        lambda: loggamma(1000000001) - 2 * loggamma(500000001) - 1000000000 * mp.log(2),
    ),
    ("stats.poisson_logpmf(1000000000, 1e9)", lambda: 10**9 * mp.log(10**9) - 10**9 - loggamma(10**9 + 1)),
    (
        "stats.gamma_logpdf(1e10, 1e10, 1.0)",
        lambda: (10**10 - 1) * mp.log(10**10) - 10**10 - loggamma(10**10),
    ),
):
    closed("std/density_gradients", f"without cancellation: {_expr}", _expr, lambda v=_value: exact(v), "stats")



def student(v, x):
    half = mp.mpf(1) / 2
    norm = mp.loggamma(v / 2 + half) - mp.loggamma(v / 2) - mp.log(mp.pi * v) / 2
    return norm - (v + 1) / 2 * mp.log1p(x**2 / v)


def student_by_freedom(order, v, x):
    """Returns a derivative by the degrees of freedom, scaled by the power of them with which it decays."""
    with mp.workdps(150):
        v, x = mp.mpf(v), mp.mpf(x)
        return float((v ** (order + 1) if order else 1) * mp.diff(lambda u: student(u, x), v, order))


# On both sides of the limits of the series (df = 20, x^2 = df / 5), and far from them.
for _df, _points in (
    (0.5, (0.0, 0.25, 0.375, 3.0)),
    (19.75, (0.0, 1.0, 1.875, 2.0, 10.0)),
    (20.25, (0.0, 1.0, 1.875, 2.125, 10.0)),
    (1e4, (0.0, 1.5, 44.0, 46.0)),
    (1e8, (0.0, 1.5)),
    (1e30, (0.0, 1.5)),
):
    for _x in _points:
        _density = f"\\v: stats.student_t_logpdf({_x}, v, 0.0, 1.0)"
        for _order, _expr in enumerate(
            (
                f"({_density})({_df})",
                f"{_df}^2 * grad({_density})({_df})",
                f"{_df}^3 * grad(grad({_density}))({_df})",
            )
        ):
            closed(
                "std/density_gradients",
                f"student_t_logpdf at {_x}, {_df} degrees of freedom, derivative {_order}",
                _expr,
                lambda order=_order, v=_df, x=_x: student_by_freedom(order, v, x),
                "stats",
            )
closed(
    "std/density_gradients",
    "student_t_logpdf of infinite degrees of freedom",
    "for i: stats.student_t_logpdf([0.0, -3.0, 40.0][i], inf, 1.0, 2.0)",
    lambda: [-((x - 1) ** 2) / 8 - np.log(8 * np.pi) / 2 for x in (0.0, -3.0, 40.0)],
    "stats",
)

for _expr, _value in (
    ("grad(nn.logsumexp)([1000.0, 1000.0])", [0.5, 0.5]),
    ("grad(nn.logsumexp)([inf, 1.0])", [1.0, 0.0]),
    ("grad(nn.logsumexp)([inf, inf])", [nan, nan]),
    ("grad(nn.logsumexp)([-inf, -inf])", [0.0, 0.0]),
    ("nn.log_softmax([40.0, 0.0])", [-np.log1p(np.exp(-40.0)), -40.0 - np.log1p(np.exp(-40.0))]),
    ("nn.cross_entropy([1000.0, 960.0], 0)", np.log1p(np.exp(-40.0))),
    ("(nn.cross_entropy([inf, 1.0], 0), nn.cross_entropy([-inf, 1.0], 0))", (0.0, inf)),
    ("(nn.binary_cross_entropy(-inf, 0.0), nn.binary_cross_entropy(inf, 1.0))", (0.0, 0.0)),
):
    closed("std/nn_gradients", f"at an edge: {_expr}", _expr, lambda value=_value: value, "nn")
closed(
    "std/nn_gradients",
    "the gradient of a small cross entropy",
    "grad(\\(x: [2]f64): nn.cross_entropy(x, 0))([1000.0, 960.0])",
    lambda: [-1 / (1 + np.exp(40.0)), 1 / (1 + np.exp(40.0))],
    "nn",
)
