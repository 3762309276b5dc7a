"""Derivatives of programs/atl."""

import numpy as np

from checks import check, derivative, points

vec = points("atl")


def windows(xp, x, c):
    """Returns the sums of x[i + j] c[j]."""
    n, m = len(x) - len(c) + 1, len(c)
    return xp.stack([x[j : j + n] for j in range(m)], axis=1) @ c if m else xp.zeros(n)


@derivative("atl/conv", "p.conv", (vec(7), vec(3)), (vec(2), vec(3)), (vec(1), vec(1)), (vec(9), vec(1)))
def conv(xp, x, c):
    return windows(xp, x, c)


def toeplitz(n, c):
    a = np.zeros((n, n + len(c) - 1))
    for i in range(n):
        a[i, i : i + len(c)] = c
    return a


@derivative("atl/conv_forward", "p.conv_tan", (vec(8), vec(4)))
def conv_tan(xp, dx, c):
    return windows(xp, dx, c)


@derivative("atl/conv_forward", "p.conv", (vec(8), vec(4)), ops="jacobian", wrt="x", closed=lambda x, c: toeplitz(5, c))
def conv_in_signal(xp, x, c):
    return windows(xp, x, c)


@derivative("atl/conv_forward", "p.impulse", (6, 4, vec(4)), (6, 1, vec(4)), fixed="jvp2 vjp")
def impulse(xp, n, k, c):
    return xp.stack([c[k - i] if 0 <= k - i < len(c) else 0 * c[0] for i in range(n)])


X, C, DY = vec(8), vec(3), vec(6)


def correlated(x, dy):
    return np.correlate(x, dy, mode="valid")


check(
    "atl/correlation",
    "vjp of conv is a correlation in the signal and one in the kernel",
    f"vjp(p.conv)(({X.tolist()}, {C.tolist()}), {DY.tolist()})",
    {"closed form": lambda: (np.convolve(DY, C), correlated(X, DY))},
)
check(
    "atl/correlation",
    "vjp of conv as the program's adjoints",
    f"(p.signal_adj({C.tolist()}, {DY.tolist()}), p.kernel_adj({X.tolist()}, {DY.tolist()}))",
    {"closed form": lambda: (np.convolve(DY, C), correlated(X, DY))},
)


@derivative("atl/correlation", "p.signal_adj", (vec(3), vec(6)))
def signal_adj(xp, c, dy):
    padded = xp.concatenate([xp.zeros(len(c) - 1), dy, xp.zeros(len(c) - 1)])
    return windows(xp, padded, c[::-1])


@derivative("atl/correlation", "p.kernel_adj", (vec(8), vec(6)))
def kernel_adj(xp, x, dy):
    return windows(xp, x, dy)


@derivative(
    "atl/deconvolution",
    "p.loss",
    (vec(9), vec(3), vec(7)),
    (vec(1), vec(1), vec(1)),
    ops="grad jvp hvp hessian",
    closed=lambda x, c, z: (
        np.convolve(2 * (correlated(x, c) - z), c),
        correlated(x, 2 * (correlated(x, c) - z)),
        -2 * (correlated(x, c) - z),
    ),
)
def loss(xp, x, c, z):
    return xp.sum((windows(xp, x, c) - z) ** 2)


@derivative("atl/deconvolution", "p.loss_gradient", (vec(9), vec(3), vec(7)), ops="jacobian vjp")
def loss_gradient(xp, x, c, z):
    r = 2 * (windows(xp, x, c) - z)
    padded = xp.concatenate([xp.zeros(2), r, xp.zeros(2)])
    return windows(xp, padded, c[::-1])


@derivative(
    "atl/trace_eye",
    "p.trace_eye",
    (4, 2.5),
    (1, -0.5),
    ops="grad jvp hvp",
    closed=lambda n, x: float(n),
)
def trace_eye(xp, n, x):
    return xp.trace(x * xp.eye(n))


@derivative("atl/trace_eye", "p.eye", (3, 1.5), fixed="jvp2 vjp")
def eye(xp, n, x):
    return x * xp.eye(n)


@derivative("atl/trace_eye", "p.trace", (vec(4, 4),), ops="grad", closed=lambda a: np.eye(4))
def trace(xp, a):
    return xp.trace(a)


@derivative(
    "atl/trace_diag_sum",
    "p.traces",
    (0, vec(3)),
    (5, vec(6)),
    ops="grad jvp hvp",
    closed=lambda k, x: np.full(len(x), float(k)),
)
def traces(xp, k, x):
    return k * xp.sum(x)


@derivative(
    "atl/diag_column_row",
    "p.column_row",
    (vec(4),),
    (vec(1),),
    ops="grad jvp hessian hvp",
    closed=lambda x: 2 * x[0] * np.eye(len(x))[0],
)
def column_row(xp, x):
    return x[0] ** 2


@derivative("atl/dead_code", "p.with_copies", (1.25,), ops="grad hvp", closed=lambda x: 2.0)
def with_copies(xp, x):
    return 2 * x


@derivative("atl/dead_code", "p.with_copies_array", (5, 1.25), (0, -4.0), ops="grad", closed=lambda n, x: 2.0)
def with_copies_array(xp, n, x):
    return 2 * x


@derivative("atl/dead_code", "p.with_copies_adj", (5, 1.0), ops="grad", closed=lambda n, dy: 2.0)
def with_copies_adj(xp, n, dy):
    return 2 * dy


@derivative(
    "atl/linear_dag",
    "p.forward",
    (1.5, -2.25),
    closed=lambda x, y: ((8.0, 0.0), (46.0, 33.0)),
)
def forward(xp, x, y):
    # The matrix of the program, multiplied out.
    return 8 * x, 46 * x + 33 * y


@derivative("atl/linear_dag", "p.backward", (0.5, 3.0), closed=lambda dz, dw: ((8.0, 46.0), (0.0, 33.0)))
def backward(xp, dz, dw):
    return 8 * dz + 46 * dw, 33 * dw


check(
    "atl/linear_dag",
    "vjp of forward is backward",
    "vjp(p.forward)((1.5, -2.25), (0.5, 3.0))",
    {"closed form": lambda: (8 * 0.5 + 46 * 3.0, 33 * 3.0)},
)

for _name in ("skipped", "skipped_filter", "skipped_bracket"):

    @derivative(
        "atl/skipped_sum",
        f"p.{_name}",
        (vec(5),),
        ops="grad jvp hvp",
        label=_name,
        closed=lambda x: np.array([1.0, 0.0, 1.0, 1.0, 1.0]),
    )
    def skipped(xp, x):
        return xp.sum(x) - x[1]


for _name in ("fused", "unfused", "composed"):

    @derivative(
        "atl/sum_of_squares",
        f"p.{_name}",
        (vec(10),),
        (vec(0),),
        ops="grad hessian",
        label=_name,
        closed=lambda x: 2 * x,
    )
    def sum_of_squares(xp, x):
        return xp.sum(x * x)


@derivative("atl/batched_fit", "p.loss", (vec(4, 8), vec(4, 6), vec(3)), ops="value_and_grad jvp hvp")
def batched_loss(xp, x, z, w):
    return xp.sum((x[:, :-2] * w[0] + x[:, 1:-1] * w[1] + x[:, 2:] * w[2] - z) ** 2)


BATCH = (vec(4, 8), vec(4, 6), vec(3))


def batched_gradient():
    x, z, w = BATCH
    cut = np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)
    return np.einsum("kij,ki->j", cut, 2 * (cut @ w - z))


for _text in ("grad(p.loss, wrt: w)", "p.gradient", "p.gradient_lifted"):
    check(
        "atl/batched_fit",
        f"{_text} by hand",
        f"{_text}({', '.join(str(a.tolist()) for a in BATCH)})",
        {"closed form": batched_gradient},
    )


@derivative("atl/batched_fit", "p.gradient_lifted", BATCH, ops="vjp jvp")
def batched_gradient_again(xp, x, z, w):
    r = 2 * (x[:, :-2] * w[0] + x[:, 1:-1] * w[1] + x[:, 2:] * w[2] - z)
    return xp.stack([xp.sum(r * x[:, j : j + 6]) for j in range(3)])


MASK = np.zeros((4, 5))
for _i, _j in [(0, 1), (0, 4), (1, 0), (3, 2), (3, 3), (3, 1)]:
    MASK[_i, _j] = 1.0

for _name in ("masked_product", "filtered_product"):

    @derivative(
        "atl/relations", f"\\(a: [4, 5]f64), (x: [5]f64): p.{_name}(p.edges(), a, x)", (vec(4, 5), vec(5)), label=_name
    )
    def masked_product(xp, a, x):
        return (a * MASK) @ x


@derivative("atl/pairs", "p.polar", (vec(3), vec(3)), ops="jvp2 vjp")
def polar(xp, x, y):
    r = xp.sqrt(x * x + y * y)
    # Twice the angle of the half, which is analytic off the negative axis.
    angle = 2 * xp.arctan(y / (r + x))
    return [(r[i], angle[i]) for i in range(len(x))]


@derivative("atl/pairs", "p.radii", (vec(3), vec(3)))
def radii(xp, x, y):
    return xp.sqrt(x * x + y * y)


@derivative("atl/pairs", "p.masked_moments", (vec(6),), (np.array([-1.5]),))
def masked_moments(xp, x):
    kept = xp.where(xp.real(x) > 0, x, 0)
    return xp.sum(kept), xp.sum(kept**2)


@derivative(
    "atl/normal_forms",
    "p.let_under_sum",
    (vec(4),),
    ops="grad hessian",
    closed=lambda x: np.exp(x) * (2 * np.exp(x) + 1),
)
def let_under_sum(xp, x):
    return xp.sum(xp.exp(2 * x) + xp.exp(x))


@derivative("atl/normal_forms", "p.nested_lets", (2.5,), ops="grad hvp", closed=lambda a: 2 * a + 1)
def nested_lets(xp, a):
    return a**2 + a + 1


@derivative("atl/normal_forms", "p.shifted", (vec(5),))
def shifted(xp, x):
    return xp.concatenate([x[2:] ** 2, 0 * x[:2]])


@derivative("atl/normal_forms", "p.product_of_sums", (vec(2), vec(3)), (vec(2), vec(0)), ops="grad jvp hessian")
def product_of_sums(xp, x, y):
    return xp.sum(x) * xp.sum(y)


@derivative("atl/normal_forms", "p.even_part", (vec(7),))
def even_part(xp, x):
    return xp.stack([x[k] if k % 2 == 0 else 0 * x[0] for k in range(7)])
