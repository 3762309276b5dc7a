"""Derivatives of programs/pdn."""

import math

import numpy as np

from checks import check, derivative, points
from differentiate import Con, Given

vec = points("pdn")


@derivative("pdn/scalar_mult", "p.mult", (3.0, 4.5), (0.0, -7.0), ops="grad hessian jvp", closed=lambda x, y: (y, x))
def scalar_mult(xp, x, y):
    return x * y


@derivative("pdn/dot", "p.dot_arrays", (vec(6), vec(6)), (vec(0), vec(0)), ops="grad hvp", closed=lambda u, v: (v, u))
def dot_arrays(xp, u, v):
    return u @ v


@derivative(
    "pdn/dot",
    "\\(u: [6]f64), (v: [6]f64): p.dot_lists(p.from(0, u), p.from(0, v))",
    (vec(6), vec(6)),
    ops="grad hvp jvp",
    closed=lambda u, v: (v, u),
)
def dot_through_lists(xp, u, v):
    return u @ v


def as_list(items):
    made = Con("Nil")
    for item in reversed(items):
        made = Con("Cons", item, made)
    return made


def items_of(list_):
    found = []
    while list_.args:
        found.append(list_.args[0])
        list_ = list_.args[1]
    return found


@derivative("pdn/dot", "p.dot_lists", (as_list([1.5, -2.0, 0.25]), as_list([0.5, 3.0])), ops="grad")
def dot_lists(xp, u, v):
    return sum(a * b for a, b in zip(items_of(u), items_of(v)))


@derivative(
    "pdn/sum_matvec",
    "p.sum_matvec",
    (vec(5, 7), vec(7)),
    (vec(1, 1), vec(1)),
    (vec(3, 0), vec(0)),
    ops="grad jvp hvp",
    closed=lambda a, x: (np.tile(x, (len(a), 1)), a.sum(axis=0)),
)
def sum_matvec(xp, a, x):
    return xp.sum(a @ x)


def turned(xp, v, q):
    """Returns q v q*, by products of quaternions in matrix form."""
    x, y, z, s = q.args
    zero = 0 * x
    left = xp.stack(
        [xp.stack([s, -z, y, x]), xp.stack([z, s, -x, y]), xp.stack([-y, x, s, z]), xp.stack([-x, -y, -z, s])]
    )
    right = xp.stack(
        [xp.stack([s, -z, y, -x]), xp.stack([z, s, -x, -y]), xp.stack([-y, x, s, -z]), xp.stack([x, y, z, s])]
    )
    image = right @ (left @ xp.stack([*v.args, zero]))
    return Con("Vec3", image[0], image[1], image[2])


QUATERNION = Con("Quaternion", 0.3, 0.1, -0.4, 0.9)


@derivative(
    "pdn/rotate_vec_by_quat", "p.rotate_vec_by_quat", (Con("Vec3", 1.0, -2.0, 0.5), QUATERNION), ops="jvp jvp2 vjp"
)
def rotate_vec_by_quat(xp, v, q):
    return turned(xp, v, q)


ROTATION = """\\(a: [3]f64), (q: [4]f64):
  let p.Vec3(x, y, z) = p.rotate_vec_by_quat(p.Vec3(a[0], a[1], a[2]), p.Quaternion(q[0], q[1], q[2], q[3]))
  in [x, y, z]"""


def rotation_matrices(a, q):
    """Returns the derivatives of 2(u.v)u + (s^2 - u.u)v + 2s(u x v) by v and by (u, s)."""
    u, s = q[:3], q[3]
    cross = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    by_v = 2 * np.outer(u, u) + (s * s - u @ u) * np.eye(3) + 2 * s * cross
    cross_v = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    by_u = 2 * np.outer(u, a) + 2 * (u @ a) * np.eye(3) - 2 * np.outer(a, u) - 2 * s * cross_v
    by_s = 2 * s * a + 2 * cross @ a
    return by_v, np.column_stack([by_u, by_s])


@derivative(
    "pdn/rotate_vec_by_quat",
    ROTATION,
    (vec(3), vec(4)),
    (vec(3), np.array([0.0, 0.0, 0.0, 1.0])),
    closed=rotation_matrices,
)
def rotation_of_arrays(xp, a, q):
    return xp.stack(list(turned(xp, Con("Vec3", a[0], a[1], a[2]), Con("Quaternion", q[0], q[1], q[2], q[3])).args))


def layer(n, m, seed):
    i, j = np.ogrid[:m, :n]
    weights = ((31 * i + 17 * j + seed) % 23 / 22.0 - 0.5) / np.sqrt(n)
    return {"weights": weights, "bias": (7 * np.arange(m) + seed) % 11 / 10.0 - 0.5}


def rectified(xp, l, x):
    y = l["weights"] @ x + l["bias"]
    return xp.where(xp.real(y) > 0, y, 0)


def entropy(xp, l1, l2, x):
    y = rectified(xp, l2, rectified(xp, l1, x))
    return xp.log(xp.sum(xp.exp(y))) - y[0]


LAYERS = Given("p.layer(50, 100, 1)", layer(50, 100, 1)), Given("p.layer(100, 50, 2)", layer(100, 50, 2))
INPUT = Given("for j < 50: sin(f64(j))", np.sin(np.arange(50.0)))


@derivative("pdn/dense_network", "p.cross_entropy", (*LAYERS, INPUT), ops="jvp", step=1 / 4096)
def cross_entropy(xp, l1, l2, x):
    return entropy(xp, l1, l2, x)


@derivative("pdn/dense_network", "p.cross_entropy", (*LAYERS, INPUT), ops="grad", wrt="x", step=1 / 4096)
def cross_entropy_by_input(xp, l1, l2, x):
    return entropy(xp, l1, l2, x)


SMALL = (
    {"weights": vec(4, 3), "bias": vec(4)},
    {"weights": vec(3, 4), "bias": vec(3)},
    vec(3),
)


@derivative("pdn/dense_network", "p.cross_entropy", SMALL, ops="value_and_grad hvp", step=1 / 1024)
def small_cross_entropy(xp, l1, l2, x):
    return entropy(xp, l1, l2, x)


@derivative("pdn/dense_network", "p.network", SMALL, ops="jvp vjp", step=1 / 1024)
def network(xp, l1, l2, x):
    e = xp.exp(rectified(xp, l2, rectified(xp, l1, x)))
    return e / xp.sum(e)


check(
    "pdn/dense_network",
    "the sum of the softmax is constant",
    f"round(1e12 * grad(\\(x: [3]f64): total(p.softmax(x)))({SMALL[2].tolist()})) + 0.0",
    {"closed form": lambda: np.zeros(3)},
)


def after(xp, s, steps):
    """Returns the state after some steps, each of which is linear."""
    dt = 0.05
    m = np.linalg.matrix_power(np.eye(2) + dt * np.array([[0.0, 1.0], [-0.5, -0.2]]), steps)
    return {k: tuple(m[r, 0] * s["p"][c] + m[r, 1] * s["v"][c] for c in range(2)) for r, k in enumerate(("p", "v"))}


def start(i):
    return {"p": (0.5 * i, 0.1), "v": (1.0, 1.0)}


@derivative("pdn/particles", "p.simulate", (start(2), 10), ops="jvp2 vjp jacobian")
def simulate(xp, s, steps):
    return after(xp, s, steps)


@derivative(
    "pdn/particles",
    "p.simulate_four",
    ([start(i) for i in range(4)], 10),
    ([start(i) for i in range(4)], 0),
    ops="grad jvp hvp",
)
def simulate_four(xp, s, steps):
    ends = [after(xp, each, steps)["p"] for each in s]
    return sum(x * y for x, y in ends)


check("pdn/product_of_sum", "the paper's gradient", "grad(p.f)(12.0, 13.0)", {"closed form": lambda: (37.0, 12.0)})


@derivative("pdn/product_of_sum", "p.f", (12.0, 13.0), (-0.5, 0.25), ops="value_and_grad jvp hessian")
def product_of_sum(xp, x, y):
    return x**2 + x * y


for _name in "pq":

    @derivative(
        "pdn/polynomial_lets",
        f"p.{_name}",
        *((x,) for x in (0.0, 1.0, -0.5, 2.25)),
        ops="grad hvp",
        label=_name,
        closed=lambda x: 18 * x**2 - 8 * x - 1,
    )
    def polynomial(xp, x):
        return 6 * x**3 - 4 * x**2 - x


@derivative(
    "pdn/closure_product",
    "p.g",
    (1.0, 2.0),
    (-0.5, 3.0),
    ops="grad jvp hessian",
    closed=lambda x, y: (3 * x**2 * y + 2 * x * y + y**2, x**3 + x**2 + 2 * x * y + 2 * y),
)
def closure_product(xp, x, y):
    return (x * y + y) * (x * x + y)


@derivative(
    "pdn/fibonacci_sharing",
    "p.shared",
    (1.0, 2.0),
    (0.25, -0.5),
    ops="grad hessian",
    closed=lambda x, y: (2 * 89 * (89 * x + 55 * y), 2 * 55 * (89 * x + 55 * y)),
)
def shared(xp, x, y):
    return (89 * x + 55 * y) ** 2


def fibonacci(n):
    return float(np.linalg.matrix_power(np.array([[1, 1], [1, 0]], dtype=np.int64), n)[0, 1])


@derivative(
    "pdn/fibonacci_sharing",
    "p.chain",
    (10, 1.0, 2.0),
    (60, 1e-6, 2e-6),
    ops="grad jvp",
    closed=lambda n, a, b: (fibonacci(n + 1), fibonacci(n)),
)
def chain(xp, n, a, b):
    return fibonacci(n + 1) * a + fibonacci(n) * b


@derivative(
    "pdn/parallel_products",
    "p.f",
    (3.0, 4.0),
    (-1.0, 0.5),
    ops="grad jvp hessian",
    closed=lambda x, y: (2 * x * y + 1, x**2 + 2),
)
def parallel_products(xp, x, y):
    return x**2 * y + 2 * y + x


def whole_angle(n):
    return 0.1 * n + 0.05 * np.sin(np.arange(1, n + 1)).sum()


@derivative(
    "pdn/rotations",
    "p.rotations",
    (300, 1.0, 2.0),
    (1, 1.0, 0.0),
    (0, 1.0, 2.0),
    ops="grad jvp",
    closed=lambda n, x, y: (2 * np.cos(whole_angle(n)),) * 2,
)
def rotations(xp, n, x, y):
    return 2 * (x + y) * math.cos(whole_angle(n))


LEAVES = 1 + vec(9) / 4

for _name in ("parallel", "sequential"):

    @derivative("pdn/fork_join_tree", f"p.{_name}", (LEAVES,), (vec(1),), (vec(2),), label=_name)
    def fork_join_tree(xp, x):
        return xp.prod(x), xp.sum(x**2)

    @derivative(
        "pdn/fork_join_tree",
        f"\\(x: [9]f64): p.{_name}(x).0",
        (LEAVES,),
        ops="hessian hvp",
        label=f"the product of {_name}",
    )
    def fork_join_product(xp, x):
        return xp.prod(x)


def graph(xp, seed, depth, x):
    """Returns the value of the task tree of `draw(seed, depth)`, by recursion on its rule."""
    r = (seed * 1103 + 331) % 1009
    if depth > 0 and r % 4:
        p = graph(xp, 2 * r + 1, depth - 1, (x[1], x[2], x[0] * x[1]))
        q = graph(xp, 2 * r + 2, depth - 1, (x[2], x[0], x[1] - x[2]))
        return p * xp.cos(q) + q
    if r % 2 == 0:
        return x[r % 3] * x[r // 3 % 3]
    return r / 1009 * x[r % 3] + (1 - r / 1009) * xp.sin(x[r // 5 % 3])


for _seed in range(4):
    _t = f"p.draw({_seed + 3}, {2 * _seed})"

    @derivative(
        "pdn/fork_join_graph",
        f"\\(x: [3]f64): p.run({_t}, x)",
        (np.array([0.5, -0.25, 0.75]),),
        ops="value_and_grad jvp hessian",
        label=f"run of {_t}",
    )
    def run(xp, x, seed=_seed):
        return graph(xp, seed + 3, 2 * seed, (x[0], x[1], x[2]))
