"""Derivatives of programs/std: of the library's linear algebra, optimisers and differential equations."""

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.special

from checks import WITHOUT_DERIVATIVE, check, derivative, points
from derivatives_own import eliminated, lower, positive_definite

for _name in ("gamma_gradients", "signal_gradients"):
    WITHOUT_DERIVATIVE[f"std/{_name}"] = "gives derivatives itself, and has golden values"
for _name in ("distributions", "moments"):
    WITHOUT_DERIVATIVE[f"std/{_name}"] = "of its module, density_gradients and gamma_gradients have derivatives"
for _name in ("activations", "attention", "layers", "losses", "recurrent"):
    WITHOUT_DERIVATIVE[f"std/{_name}"] = "of its module, nn_gradients has derivatives"
for _name in ("convolutions", "fourier", "spectrogram", "windows"):
    WITHOUT_DERIVATIVE[f"std/{_name}"] = "of its module, signal_gradients has derivatives"
for _name in ("draws", "metropolis", "threefry"):
    WITHOUT_DERIVATIVE[f"std/{_name}"] = "random numbers, which depend on integers"

vec = points("std")

# Regular, with a zero as the first pivot.
REGULAR = np.array([[0.0, 2.0, 1.0, -1.0], [4.0, 1.0, 0.5, 2.0], [-1.0, 3.0, 2.0, 0.25], [2.0, 2.0, -6.0, 1.0]])
SINGULAR = np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 3.0]])
POSITIVE = positive_definite(4) + np.triu(vec(4, 4), 1) / 8
TALL = vec(5, 3)


def linalg(program, function, *points, **more):
    label = more.pop("label", function)
    if not function.isidentifier():
        return derivative(f"std/{program}", function, *points, imports=["linalg"], label=label, **more)
    # Blocks of partial derivatives need functions with known types.
    more["fixed"] = "jacobian hessian"
    return derivative(f"std/{program}", f"linalg.{function}", *points, imports=["linalg"], label=label, **more)


# products


@linalg("products", "norm", (vec(4),), ops="grad jvp hessian", closed=lambda x: x / np.linalg.norm(x))
def norm(xp, x):
    return xp.sqrt(xp.sum(x * x))


@linalg("products", "frobenius", (vec(2, 3),), ops="grad jvp hvp", closed=lambda a: a / np.linalg.norm(a))
def frobenius(xp, a):
    return xp.sqrt(xp.sum(a * a))


@linalg("products", "norm1", (vec(4),), ops="grad hvp", closed=np.sign)
def norm1(xp, x):
    return xp.sum(xp.where(xp.real(x) > 0, x, -x))


@linalg("products", "norm_inf", (vec(4),), ops="grad", closed=lambda x: np.sign(x) * (np.abs(x) == np.abs(x).max()))
def norm_inf(xp, x):
    return xp.max(xp.where(xp.real(x) > 0, x, -x))


@linalg("products", "unit", (vec(3),))
def unit(xp, x):
    return x / xp.sqrt(xp.sum(x * x))


@linalg("products", "spectral_norm", (vec(3, 2),), (vec(2, 3),), ops="grad jvp", analytic=False, wide=False)
def spectral_norm(xp, a):
    return xp.linalg.svd(a, compute_uv=False)[0]


@linalg("products", "matrix_norm1", (vec(3, 4),), ops="grad")
def matrix_norm1(xp, a):
    return xp.max(xp.sum(xp.where(xp.real(a) > 0, a, -a), axis=0))


@linalg("products", "matmul", (vec(2, 3), vec(3, 2)), ops="jvp vjp")
def matmul(xp, a, b):
    return xp.einsum("ij,jk->ik", a, b)


@linalg("products", "kron", (vec(2, 3), vec(3, 2)), ops="jvp vjp")
def kron(xp, a, b):
    return xp.einsum("ij,kl->ikjl", a, b).reshape(6, 6)


for _expr, _value in (
    ("grad(linalg.norm)([0.0, 0.0])", [0.0, 0.0]),
    ("grad(linalg.frobenius)([[0.0, 0.0]])", [[0.0, 0.0]]),
    ("jvp(linalg.norm)([0.0, 0.0], [3.0, 4.0])", 0.0),
    ("grad(linalg.norm1)([0.0, -2.0])", [0.0, -1.0]),
):
    check(
        "std/products", f"by convention {_expr}", _expr, {"closed form": lambda value=_value: value}, imports=["linalg"]
    )

# factorisations


ORDER = np.arange(4)
for _k, _p in enumerate(scipy.linalg.lu_factor(REGULAR)[1]):
    ORDER[[_k, _p]] = ORDER[[_p, _k]]


@linalg("factorisations", "\\(a: [4, 4]f64): linalg.lu(a).lu", (REGULAR,), label="lu")
def lu(xp, a):
    return eliminated(xp, a, ORDER)


def signed(xp, a):
    """Returns the determinant by elimination with the known order of rows."""
    u = eliminated(xp, a, ORDER)
    sign = np.linalg.det(np.eye(4)[ORDER])
    return sign * u[0, 0] * u[1, 1] * u[2, 2] * u[3, 3]


@linalg(
    "factorisations",
    "det",
    (REGULAR,),
    ops="grad jvp hvp hessian",
    closed=lambda a: np.linalg.det(a) * np.linalg.inv(a).T,
)
def det(xp, a):
    return signed(xp, a)


def minors(a):
    n = len(a)
    return [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)] for i in range(n)]


# A polynomial in three dimensions, at a matrix of rank two.
@linalg("factorisations", "det", (SINGULAR,), ops="grad jvp", label="det of a singular matrix", closed=minors)
def det_of_three(xp, a):
    return xp.sum(a[0] * xp.cross(a[1], a[2]))


@linalg("factorisations", "slogdet", (REGULAR,), ops="jvp vjp")
def slogdet(xp, a):
    d = signed(xp, a)
    positive = xp.where(xp.real(d) > 0, 1.0, -1.0)
    return {"sign": positive + 0 * d, "logdet": xp.log(d * positive)}


@linalg("factorisations", "inverse", (REGULAR,), wide=False)
def inverse(xp, a):
    return xp.linalg.inv(a)


@linalg("factorisations", "cholesky", (POSITIVE,), tolerance=1e-11)
def cholesky(xp, a):
    return lower(xp, (a + a.T) / 2)


@linalg("factorisations", "logdet", (POSITIVE,), ops="grad jvp hvp", closed=lambda a: np.linalg.inv((a + a.T) / 2))
def logdet(xp, a):
    l = lower(xp, (a + a.T) / 2)
    return 2 * sum(xp.log(l[i, i]) for i in range(4))


def orthogonalised(xp, a):
    """Returns q and r by the Gram-Schmidt method, with a positive diagonal."""
    q, r = [], [[0 * a[0, 0]] * a.shape[1] for _ in range(a.shape[1])]
    for j in range(a.shape[1]):
        v = a[:, j]
        for i, u in enumerate(q):
            r[i][j] = u @ v
            v = v - r[i][j] * u
        r[j][j] = xp.sqrt(v @ v)
        q.append(v / r[j][j])
    return {"q": xp.stack(q, axis=1), "r": xp.stack([xp.stack(row) for row in r])}


@linalg("factorisations", "qr", (TALL,), (REGULAR,), ops="jvp2 vjp jacobian")
def qr(xp, a):
    return orthogonalised(xp, a)


# systems


def triangle(keep):
    def f(xp, l, b):
        return xp.linalg.solve(l * keep, b)

    return f


WELL = REGULAR + 5 * np.eye(4)
linalg("systems", "solve_lower", (WELL, vec(4)), wide=False)(lambda xp, l, b: triangle(np.tri(4))(xp, l, b))
linalg("systems", "solve_lower_matrix", (WELL, vec(4, 2)), ops="jvp vjp", wide=False)(
    lambda xp, l, b: triangle(np.tri(4))(xp, l, b)
)
linalg("systems", "solve_upper", (WELL, vec(4)), wide=False)(lambda xp, u, b: triangle(np.tri(4).T)(xp, u, b))
linalg("systems", "solve_upper_matrix", (WELL, vec(4, 2)), ops="jvp vjp", wide=False)(
    lambda xp, u, b: triangle(np.tri(4).T)(xp, u, b)
)
linalg("systems", "solve", (REGULAR, vec(4)), wide=False)(lambda xp, a, b: xp.linalg.solve(a, b))
linalg("systems", "solve_matrix", (REGULAR, vec(4, 2)), ops="jvp vjp", wide=False)(
    lambda xp, a, b: xp.linalg.solve(a, b)
)
linalg("systems", "solve_positive", (POSITIVE, vec(4)), wide=False)(lambda xp, a, b: xp.linalg.solve((a + a.T) / 2, b))
linalg("systems", "lstsq", (TALL, vec(5)), wide=False)(lambda xp, a, b: xp.linalg.solve(a.T @ a, a.T @ b))
linalg(
    "systems",
    "\\(a: [4, 4]f64), (b: [4]f64): sum i: linalg.solve(a, b)[i]^2",
    (REGULAR, vec(4)),
    ops="hvp",
    wide=False,
    label="second derivatives of solve",
)(lambda xp, a, b: xp.sum(xp.linalg.solve(a, b) ** 2))

LAPLACIAN = 2 * np.eye(9) - np.eye(9, k=1) - np.eye(9, k=-1)


@derivative(
    "std/systems",
    "\\(b: [9]f64): linalg.cg(p.laplacian, b, 1e-13, 20).x",
    (vec(9),),
    ops="jvp vjp",
    imports=["linalg"],
    label="cg",
)
def cg(xp, b):
    return np.linalg.inv(LAPLACIAN) @ b


# eigenvalues

APART = np.diag([0.0, 1.5, 3.0, 4.75]) + vec(4, 4) / 8


def decomposed(xp, a):
    values, vectors = xp.linalg.eigh((a + a.T) / 2)
    greatest = np.abs(np.linalg.eigh((APART + APART.T) / 2)[1]).argmax(axis=0)
    return {"values": values, "vectors": vectors * xp.sign(vectors[greatest, np.arange(4)])}


@linalg("eigenvalues", "eigh", (APART,), ops="jvp2 vjp jacobian", analytic=False, wide=False, step=1 / 64)
def eigh(xp, a):
    return decomposed(xp, a)


@linalg("eigenvalues", "eigvalsh", (APART,), ops="jvp vjp", analytic=False, wide=False, step=1 / 64)
def eigvalsh(xp, a):
    return decomposed(xp, a)["values"]


# A polynomial in the eigenvalues does not distinguish equal ones.
check(
    "std/eigenvalues",
    "the sum of the cubes of equal eigenvalues",
    "grad(\\(a: [3, 3]f64): sum i: linalg.eigvalsh(a)[i]^3)([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 5.0]])",
    {"closed form": lambda: np.diag([12.0, 12.0, 75.0])},
    imports=["linalg"],
)


def leading(a):
    w, v = np.linalg.eigh((a + a.T) / 2)
    return np.outer(v[:, -1], v[:, -1])


check(
    "std/eigenvalues",
    "power_iteration has the derivative of the greatest eigenvalue",
    "grad(\\(a: [4, 4]f64): linalg.power_iteration(linalg.symmetric(a), [1.0, 1.0, 1.0, 1.0], 1e-13, 1000).value)"
    f"({APART.tolist()})",
    {"closed form": lambda: leading(APART)},
    imports=["linalg"],
)

# linalg_single

SINGLE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]])
check(
    "std/linalg_single",
    "logdet",
    f"grad(\\(a: [3, 3]f32): linalg.logdet(a))({SINGLE.tolist()})",
    {"closed form": lambda: np.linalg.inv(SINGLE)},
    imports=["linalg"],
)
check(
    "std/linalg_single",
    "solve",
    f"jacobian(\\(b: [3]f32): linalg.solve({SINGLE.tolist()}, b))([1.0, -2.0, 0.5])",
    {"closed form": lambda: np.linalg.inv(SINGLE)},
    imports=["linalg"],
)

# minimisers

CENTRE = np.array([0.5, -1.25])
for _name, _call in (
    ("gradient_descent_with", "optim.gradient_descent_with(f, g, [5.0, -3.0], 1e-11, 500)"),
    ("momentum_with", "optim.momentum_with(f, g, [5.0, -3.0], 0.1, 0.5, 1e-11, 500)"),
    ("lbfgs_with", "optim.lbfgs_with(f, g, [5.0, -3.0], 5, 1e-11, 500)"),
    ("newton_with", "optim.newton_with(f, g, \\_: [[2.0, 0.0], [0.0, 8.0]], [5.0, -3.0], 1e-11, 100)"),
):
    check(
        "std/minimisers",
        f"the minimum of a bowl by its centre: {_name}",
        "jacobian(\\(c: [2]f64): let f = \\(x: [2]f64): (x[0] - c[0])^2 + 4 * (x[1] - c[1] * c[0])^2 "
        "let g = \\(x: [2]f64): [2 * (x[0] - c[0]), 8 * (x[1] - c[1] * c[0])] "
        f"let m = {_call} in m.x)({CENTRE.tolist()})",
        {"closed form": lambda: [[1.0, 0.0], [CENTRE[1], CENTRE[0]]]},
        imports=["optim"],
    )

# least_squares


@derivative(
    "std/least_squares",
    "optim.damped_lstsq",
    (TALL, vec(5), 0.5),
    (vec(2, 3), vec(2), 0.25),
    imports=["optim"],
    label="damped_lstsq",
    wide=False,
)
def damped_lstsq(xp, a, b, damping):
    return xp.linalg.solve(a.T @ a + damping * np.eye(a.shape[1]), a.T @ b)


Y = np.array([5.1, 3.3, 2.4, 1.55, 1.3, 0.9, 0.85, 0.7])
TIMES = np.arange(8.0)


def decay(x, y):
    return x[0] * np.exp(-x[1] * TIMES) + x[2] - y


def decay_slopes(x):
    e = np.exp(-x[1] * TIMES)
    return np.stack([e, -TIMES * x[0] * e, np.ones(8)], axis=1)


def fitted_by_data():
    """Returns the derivative of the fit by the data, from the implicit function theorem."""
    x = scipy.optimize.least_squares(
        lambda x: decay(x, Y),
        [4.0, 0.5, 0.5],
        jac=lambda x: decay_slopes(x),
        method="lm",
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    ).x
    j, r, e = decay_slopes(x), decay(x, Y), np.exp(-x[1] * TIMES)
    curved = np.zeros((3, 3))
    curved[0, 1] = curved[1, 0] = r @ (-TIMES * e)
    curved[1, 1] = r @ (TIMES**2 * x[0] * e)
    return np.linalg.solve(j.T @ j + curved, j.T)


for _name in ("gauss_newton", "levenberg_marquardt"):
    check(
        "std/least_squares",
        f"a fit by its data: {_name}",
        f"jacobian(\\(y: [8]f64): let m = optim.{_name}(\\(x: [3]f64): for i < 8: "
        f"x[0] * exp(-x[1] * f64(i)) + x[2] - y[i], [1.0, 1.0, 0.0], 1e-11, 100) in m.x)({Y.tolist()})",
        {"implicit function": fitted_by_data},
        imports=["optim"],
    )

# runge_kutta

DAMPED = np.array([[0.0, 1.0], [-4.0, -0.3]])


def states(order, h):
    step = sum(np.linalg.matrix_power(h * DAMPED, k) / scipy.special.factorial(k) for k in range(order + 1))
    return np.stack([np.linalg.matrix_power(step, k) for k in range(6)])


for _name, _order in (("euler", 1), ("rk4", 4)):

    @derivative(
        "std/runge_kutta",
        f"\\(x: [2]f64): ode.{_name}(p.damped, 0.5, 1.5, x, 5)",
        (vec(2),),
        imports=["ode"],
        label=_name,
        closed=lambda x, order=_order: states(order, 0.2),
    )
    def stepped(xp, x, order=_order):
        return states(order, 0.2) @ x


@derivative(
    "std/runge_kutta",
    "\\(k: f64), (t: f64): ode.rk4(\\s, x: -k * x, 0.0, t, [1.0,], 4)[4, 0]",
    (1.5, 2.0),
    imports=["ode"],
    label="rk4 by a rate and the time",
)
def decayed(xp, k, t):
    z = -k * t / 4
    return (1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24) ** 4


# dormand_prince


def prey_by_start():
    """Returns the derivative of the state at 4 by the start, from the variational equation."""

    def f(t, s):
        x, m = s[:2], s[2:].reshape(2, 2)
        j = np.array([[1.5 - x[1], -x[0]], [x[1], x[0] - 3]])
        return np.concatenate([[x[0] * (1.5 - x[1]), x[1] * (x[0] - 3)], (j @ m).ravel()])

    end = scipy.integrate.solve_ivp(
        f, (0, 4), np.concatenate([[10.0, 5.0], np.eye(2).ravel()]), method="DOP853", rtol=1e-13, atol=1e-14
    )
    return end.y[2:, -1].reshape(2, 2)


check(
    "std/dormand_prince",
    "hunters and prey by the start",
    "jacobian(\\(x: [2]f64): ode.dopri5(p.prey, 0.0, 4.0, x, 1e-10, 1e-10).x)([10.0, 5.0])",
    {"variational equation": prey_by_start},
    imports=["ode"],
)
check(
    "std/dormand_prince",
    "an exponential by its rate, the start and the end",
    "grad(\\(k: f64), (x: f64), (t: f64): ode.dopri5(\\s, y: k * y, 0.0, t, [x,], 1e-11, 1e-11).x[0])(-0.75, 2.0, 1.5)",
    {"closed form": lambda: (3.0 * np.exp(-1.125), np.exp(-1.125), -1.5 * np.exp(-1.125))},
    imports=["ode"],
)
