"""Derivatives of programs/df."""

import numpy as np

from checks import WITHOUT_DERIVATIVE, check, derivative, points

vec = points("df")

WITHOUT_DERIVATIVE["df/matrix"] = "the library of the others, checked by `df/library` and `df/matrices`"

MAT = ["./df/matrix.iv as mat"]


def in_matrix(program, function, *points, **more):
    """Registers a library function that both `df/library` and `df/matrices` show."""
    return derivative(program, "mat." + function, *points, imports=MAT, label=function, **more)


@in_matrix("df/library", "vector_add", (vec(3), vec(3)), ops="jacobian jvp", closed=lambda a, b: (np.eye(3), np.eye(3)))
def vector_add(xp, v1, v2):
    return v1 + v2


@in_matrix("df/library", "vector_sub", (vec(3), vec(3)), ops="jacobian", closed=lambda a, b: (np.eye(3), -np.eye(3)))
def vector_sub(xp, v1, v2):
    return v1 - v2


@in_matrix("df/library", "vector_emul", (vec(3), vec(3)), closed=lambda a, b: (np.diag(b), np.diag(a)))
def vector_emul(xp, v1, v2):
    return v1 * v2


@in_matrix("df/library", "vector_smul", (vec(3), -1.75), closed=lambda v, s: (s * np.eye(3), v))
def vector_smul(xp, v, s):
    return v * s


@in_matrix("df/library", "vector_sum", (vec(4),), (vec(0),), ops="grad hvp", closed=lambda v: np.ones(len(v)))
def vector_sum(xp, v):
    return xp.sum(v)


@in_matrix("df/library", "vector_dot", (vec(3), vec(3)), ops="grad hessian", closed=lambda a, b: (b, a))
def vector_dot(xp, v1, v2):
    return v1 @ v2


@in_matrix("df/library", "vector_norm", (vec(3),), ops="grad jvp hessian", closed=lambda v: v / np.linalg.norm(v))
def vector_norm(xp, v):
    return xp.sqrt(xp.sum(v * v))


@in_matrix("df/library", "vector_max", (vec(7),), (vec(1),), ops="grad hvp", closed=lambda v: 1.0 * (v == v.max()))
def vector_max(xp, v):
    return xp.max(v)


@in_matrix("df/library", "vector_slice", (vec(5), 1, 3), fixed="jvp2 vjp")
def vector_slice(xp, v, s, e):
    return v[s : e + 1]


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


@in_matrix("df/library", "vector_cross", (vec(3), vec(3)), closed=lambda a, b: (-skew(b), skew(a)))
def vector_cross(xp, a, b):
    return xp.cross(a, b)


@in_matrix("df/library", "vector_zip", (vec(2), vec(2)), ops="jvp vjp jvp2")
def vector_zip(xp, v1, v2):
    return [(v1[i], v2[i]) for i in range(2)]


@derivative(
    "df/library", "\\(v: [3]f64): mat.vector_map(v, \\x: x * x + 1.0)", (vec(3),), imports=MAT, label="vector_map"
)
def vector_map(xp, v):
    return v**2 + 1


@in_matrix("df/library", "vector_matrix_mul", (vec(2), vec(2, 3)))
def vector_matrix_mul(xp, v, m):
    return v @ m


@in_matrix("df/matrices", "vector_out_prod", (vec(2), vec(3)))
def vector_out_prod(xp, v1, v2):
    return v1[:, None] * v2


@in_matrix("df/matrices", "matrix_add", (vec(2, 3), vec(2, 3)))
def matrix_add(xp, m1, m2):
    return m1 + m2


@in_matrix("df/matrices", "matrix_transpose", (vec(2, 3),))
def matrix_transpose(xp, m):
    return xp.stack([m[:, j] for j in range(3)])


@in_matrix("df/matrices", "matrix_mul", (vec(2, 3), vec(3, 2)))
def matrix_mul(xp, m1, m2):
    return xp.sum(m1[:, :, None] * m2[None], axis=1)


@in_matrix("df/matrices", "matrix_trace", (vec(3, 3),), (vec(0, 0),), ops="grad hvp", closed=lambda m: np.eye(len(m)))
def matrix_trace(xp, m):
    return xp.sum(m * np.eye(len(m)))


@derivative(
    "df/matrices", "\\(m: [2, 3]f64): mat.matrix_map(m, mat.vector_sum)", (vec(2, 3),), imports=MAT, label="matrix_map"
)
def matrix_map(xp, m):
    return m @ np.ones(3)


@derivative("df/identities", "p.transposed_twice", (vec(3, 2),), closed=lambda m: np.eye(6).reshape(3, 2, 3, 2))
def transposed_twice(xp, m):
    return m


@derivative("df/identities", "p.times_identity", (vec(4),), closed=lambda v: np.eye(4))
def times_identity(xp, v):
    return v


@derivative(
    "df/identities", "p.trace_product", (vec(3, 2), vec(2, 3)), ops="grad jvp hvp", closed=lambda m, a: (a.T, m.T)
)
def trace_product(xp, m, a):
    return xp.sum(m * a.T)


@derivative("df/identities", "p.add_transposed", (vec(3, 2), vec(3, 2)))
def add_transposed(xp, a, b):
    return a + b


@derivative(
    "df/uMv",
    "p.uMv",
    (vec(3), vec(3, 4), vec(4)),
    (vec(1), vec(1, 1), vec(1)),
    (vec(2), vec(2, 0), vec(0)),
    ops="grad jvp hvp",
    closed=lambda u, M, v: (M @ v, np.outer(u, v), u @ M),
)
def u_m_v(xp, u, M, v):
    return u @ M @ v


@derivative(
    "df/micro", "p.dot_product", (vec(8), vec(8)), (vec(0), vec(0)), ops="grad jvp hvp", closed=lambda u, v: (v, u)
)
def dot_product(xp, u, v):
    return u @ v


@derivative(
    "df/micro",
    "p.max_element",
    (vec(8),),
    (np.array([-7.0]),),
    ops="grad jvp hvp",
    closed=lambda v: 1.0 * (v == v.max()),
)
def max_element(xp, v):
    return xp.max(v)


for _v, _want in (([1.0, 3.0, 3.0, 2.0], [0.0, 1.0, 0.0, 0.0]), ([2.0, 2.0, 2.0], [1.0, 0.0, 0.0])):
    check(
        "df/micro",
        f"the first of equals has the derivative of the maximum of {_v}",
        f"grad(p.max_element)({_v})",
        {"closed form": lambda want=_want: want},
    )


@derivative("df/micro", "p.addition", (vec(8), vec(8)), closed=lambda u, v: (np.eye(8), np.eye(8)))
def addition(xp, u, v):
    return u + v


@derivative("df/micro", "p.scaled", (vec(8), 0.1), closed=lambda v, s: (s * np.eye(8), v))
def scaled(xp, v, s):
    return v * s


def positive(*shape):
    return np.abs(vec(*shape)) + 0.25


@derivative(
    "df/nnmf", "p.loss_rank_one", (positive(3, 4), positive(3), positive(4)), (positive(1, 1), positive(1), positive(1))
)
def loss_rank_one(xp, A, u, v):
    p = u[:, None] * v
    return xp.sum(xp.log(p) + A / p)


FACTORS = (positive(3, 4), positive(3, 2), positive(2, 4))


@derivative("df/nnmf", "p.loss", FACTORS, ops="value_and_grad jvp hvp")
def factor_loss(xp, A, W, H):
    p = xp.sum(W[:, :, None] * H[None], axis=1)
    return xp.sum(xp.log(p) + A / p)


@derivative(
    "df/nnmf",
    "p.loss",
    FACTORS,
    ops="grad",
    wrt="H",
    label="loss by H",
    closed=lambda A, W, H: W.T @ (1 / (W @ H) - A / (W @ H) ** 2),
)
def factor_loss_by_h(xp, A, W, H):
    return factor_loss(xp, A, W, H)


@derivative("df/nnmf", "p.update", FACTORS, ops="jvp vjp")
def update(xp, A, W, H):
    p = xp.sum(W[:, :, None] * H[None], axis=1)
    return xp.sum(W[:, :, None] * (1 / p - A / p**2)[:, None, :], axis=0)


CAM = np.array([0.1, -0.2, 0.3, 0.5, -0.25, -4.0, 1.2, 0.05, -0.1, 0.02, -0.003])


def rotated(xp, r, x):
    """Returns the rotation by the vector `r`: the exponential of a matrix, by its power series."""
    turned, term = x, x
    for k in range(1, 40):
        term = (
            xp.stack(
                [r[1] * term[2] - r[2] * term[1], r[2] * term[0] - r[0] * term[2], r[0] * term[1] - r[1] * term[0]]
            )
            / k
        )
        turned = turned + term
    return turned


def projected(xp, cam, x):
    y = rotated(xp, cam[:3], x - cam[3:6])
    u = y[:2] / y[2]
    s = u @ u
    return cam[6] * (1 + cam[9] * s + cam[10] * s * s) * u + cam[7:9]


@derivative("df/project", "p.project", (CAM, vec(3)), (2 * CAM, vec(3)))
def project(xp, cam, x):
    return projected(xp, cam, x)


@derivative("df/project", "p.project_all", (CAM, vec(4, 3)))
def project_all(xp, cam, points):
    return xp.stack([projected(xp, cam, x) for x in points])


@derivative("df/project", "p.rodrigues", (vec(3), vec(3)), (vec(3) / 8, vec(3)))
def rodrigues(xp, rotation, x):
    return rotated(xp, rotation, x)


@derivative("df/perturbation", "p.inner", (3.0, 4.5), ops="grad hvp", closed=lambda x, y: (1.0, 1.0))
def inner(xp, x, y):
    return x + y


@derivative("df/perturbation", "p.outer", (3.0, 1.0), ops="grad hessian", closed=lambda x, dy: (dy, x))
def outer(xp, x, dy):
    return x * dy


check(
    "df/perturbation",
    "the derivative of x times the derivative by y of x + y is 1",
    "grad(\\x: p.outer(x, grad(p.inner, wrt: y)(x, 4.5)))(3.0)",
    {"closed form": lambda: 1.0},
)


@derivative("df/matrix_calculus", "p.scalar_to_scalar", (1.2,))
def scalar_to_scalar(xp, a):
    return xp.cos(a) * a


@derivative("df/matrix_calculus", "p.scalar_to_vector", (1.2, vec(3)))
def scalar_to_vector(xp, a, v):
    return a**2 * xp.sin(v)


@derivative("df/matrix_calculus", "p.scalar_to_matrix", (-0.5, vec(2, 2)))
def scalar_to_matrix(xp, a, m):
    return xp.exp(a) * m


@derivative("df/matrix_calculus", "p.vector_to_scalar", (vec(3),), ops="grad hessian")
def vector_to_scalar(xp, v):
    return xp.sqrt(xp.sum(v * v))


@derivative("df/matrix_calculus", "p.vector_to_vector", (vec(3),), closed=lambda v: v.sum() * np.eye(3) + v[:, None])
def vector_to_vector(xp, v):
    return v * xp.sum(v)


@derivative("df/matrix_calculus", "p.matrix_to_scalar", (vec(3, 3),), ops="grad hessian", closed=lambda m: 2 * m.T)
def matrix_to_scalar(xp, m):
    return xp.trace(m @ m)
