"""Derivatives of programs/own."""

import math

import numpy as np

from checks import WITHOUT_DERIVATIVE, check, derivative, points
from derivatives_pdn import as_list, items_of
from differentiate import Con, map_reals

vec = points("own")

INTEGERS = "integers or truth values"
FORMS = "definitions for the forms of the compiler's middle, which are held against the interpreter"
WITHOUT_DERIVATIVE.update(
    {
        "own/breadth_first": INTEGERS,
        "own/edit_distance": INTEGERS,
        "own/equalise": INTEGERS,
        "own/failures": FORMS,
        "own/integers": INTEGERS,
        "own/life": INTEGERS,
        "own/operators": FORMS,
        "own/mandelbrot": "counts steps",
        "own/matrix_chain": INTEGERS,
        "own/script": "items of a script; nothing of its own to differentiate",
        "own/sizes": "what `atl/conv` and `accelerate/reshape_1` have: places of elements",
        "own/special_values": "values at infinity and at no number",
        "own/unicode": "spellings of what others have",
        "own/single_precision": "differs from double precision by rounding alone: `tests/literate/derivatives.md`",
        "own/brackets": "brackets of `atl` in other places",
    }
)


def own(program, function, *points, **more):
    label = more.pop("label", None) or (function if function.isidentifier() else None)
    return derivative(
        f"own/{program}", f"p.{function}" if function.isidentifier() else function, *points, label=label, **more
    )


def softmax_rows(xp, s):
    e = xp.exp(s - xp.max(xp.real(s), axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def attended(xp, q, k, v):
    t = len(q)
    scores = q @ k.T / math.sqrt(q.shape[1])
    return softmax_rows(xp, xp.where(np.tri(t) > 0, scores, -1e4)) @ v


@own("attention", "attention", (vec(4, 2), vec(4, 2), vec(4, 3)))
def attention(xp, q, k, v):
    return attended(xp, q, k, v)


@own("attention", "multi_head", (vec(4, 3), vec(2, 3, 2), vec(2, 3, 2), vec(2, 3, 2)))
def multi_head(xp, x, wq, wk, wv):
    return xp.concatenate([attended(xp, x @ wq[h], x @ wk[h], x @ wv[h]) for h in range(2)], axis=1)


@own(
    "binary_trees",
    "\\(x: [7]f64): p.fold_tree(p.map_tree(sin, p.balanced(x)), \\(s: f64), (y: f64): s * y + y, 0.5)",
    (vec(7),),
    label="a fold over a tree",
)
def over_a_tree(xp, x):
    s = 0.5
    for k in range(7):
        s = (s + 1) * xp.sin(x[k])
    return s


# The result of a bisection is not a smooth function of its arguments; the secant method's is.
@own(
    "bisect",
    "\\(c: f64): p.secant(\\x: x^3 - 2 * x - c, 2.0, 3.0, 12)",
    (5.0,),
    ops="grad",
    label="a root by secants",
    closed=lambda c: 1 / (3 * ROOT**2 - 2),
)
def root_by_secants(xp, c):
    x, y = 2.0, 3.0
    for _ in range(7):
        f, g = x**3 - 2 * x - c, y**3 - 2 * y - c
        x, y = y, y - g * (y - x) / (g - f)
    return y


ROOT = max(np.roots([1, 0, -2, -5]), key=np.real).real


def positive_definite(n):
    a = vec(n, n) / 2
    return a @ a.T + 2 * np.eye(n)


def lower(xp, a):
    """Returns the Cholesky factor by rows, with plain sums."""
    n = len(a)
    l = [[0 * a[0, 0]] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - sum((l[i][k] * l[j][k] for k in range(j)), 0 * a[0, 0])
            l[i][j] = xp.sqrt(s) if i == j else s / l[j][j]
    return xp.stack([xp.stack(row) for row in l])


# Only the lower triangle of the matrix is read.
@own("cholesky", "cholesky", (positive_definite(3),))
def cholesky(xp, a):
    return lower(xp, a)


@own("cholesky", "log_determinant", (positive_definite(4),), ops="value_and_grad hvp")
def log_determinant(xp, a):
    l = lower(xp, a)
    return 2 * sum(xp.log(l[i, i]) for i in range(4))


TRIANGLE = np.tril(vec(4, 4)) + 3 * np.eye(4)


@own("cholesky", "solve", (TRIANGLE, vec(4)), wide=False)
def triangles_solved(xp, L, b):
    t = L * np.tri(4)
    return xp.linalg.solve(t @ t.T, b)


@own(
    "closures",
    "\\(k: f64), (x: f64): p.iterate(3, p.compose(p.adder(k), \\y: y * y * k))(x)",
    (0.75, 0.5),
    label="iterated closures",
)
def iterated(xp, k, x):
    for _ in range(3):
        x = k * x * x + k
    return x


@own(
    "closures",
    "\\(s: f64): p.apply_all([{name: 0, f: \\x: x * s}, {name: 1, f: \\x: sin(s + x)}], 0.5)",
    (1.25,),
    label="an array of closures",
)
def array_of_closures(xp, s):
    return xp.stack([s / 2, xp.sin(s + 0.5)])


# Conjugate gradients reach the exact solution after as many steps as unknowns.
LAPLACE = 2 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)


@own(
    "conjugate_gradients",
    "\\(b: [5]f64): p.solve(p.laplacian, b, 1e-11).x",
    (vec(5),),
    ops="jacobian jvp",
    tolerance=1e-8,
    closed=lambda b: np.linalg.inv(LAPLACE),
)
def conjugate_gradients(xp, b):
    return np.linalg.inv(LAPLACE) @ b


@own("conv2d", "valid", (vec(2, 4, 4), vec(2, 2, 2, 3)))
def valid(xp, x, k):
    shape = (3, 2)
    terms = [
        xp.einsum("cij,oc->oij", x[:, a : a + shape[0], b : b + shape[1]], k[:, :, a, b])
        for a in range(2)
        for b in range(3)
    ]
    return sum(terms)


def padded(xp, x, k):
    c, h, w = x.shape
    rows = np.zeros((h + 2, h)), np.zeros((w + 2, w))
    rows[0][1 : h + 1], rows[1][1 : w + 1] = np.eye(h), np.eye(w)
    big = xp.einsum("ph,chw,qw->cpq", rows[0], x, rows[1])
    return sum(
        xp.einsum("cij,oc->oij", big[:, a : a + h, b : b + w], k[:, :, a, b]) for a in range(3) for b in range(3)
    )


@own("conv2d", "same", (vec(2, 3, 4), vec(2, 2, 3, 3)))
def same(xp, x, k):
    return padded(xp, x, k)


@own("conv2d", "strided", (vec(1, 3, 4), vec(2, 1, 3, 3)))
def strided(xp, x, k):
    return padded(xp, x, k)[:, ::2, ::2]


@own("conv2d", "max_pool", (vec(4, 6),))
def max_pool(xp, x):
    return xp.max(xp.max(x.reshape(2, 2, 3, 2), axis=3), axis=1)


@own("conv2d", "window_sums", (vec(4, 6),))
def window_sums(xp, x):
    return xp.sum(xp.max(xp.max(x.reshape(2, 2, 3, 2), axis=3), axis=1))


SPARSE = {"ptr": np.array([0, 2, 2, 5]), "col": np.array([0, 2, 0, 1, 2]), "val": vec(5), "like": np.zeros(3)}


def dense(xp, a):
    places = np.zeros((5, 3, 3))
    for k, (i, j) in enumerate(zip([0, 0, 2, 2, 2], SPARSE["col"])):
        places[k, i, j] = 1.0
    return xp.einsum("k,kij->ij", a["val"], places)


@own("csr", "matvec", (SPARSE, vec(3)))
def csr_matvec(xp, a, x):
    return dense(xp, a) @ x


@own("csr", "matvec_transposed", (SPARSE, vec(3)))
def csr_matvec_transposed(xp, a, y):
    return y @ dense(xp, a)


@own("expressions", "\\(v: [2]f64): p.eval(p.sample(), v)", (vec(2),), ops="value_and_grad jvp hessian", label="eval")
def evaluated(xp, v):
    return xp.sin(v[0] * v[1]) * xp.exp(-v[0]) + 3 * v[0]


AT = vec(2)
check(
    "own/expressions",
    "the program's own derivatives",
    f"[p.eval(p.derive(p.sample(), 0), {AT.tolist()}), p.eval(p.derive(p.sample(), 1), {AT.tolist()})]",
    {
        "closed form": lambda: [
            np.exp(-AT[0]) * (AT[1] * np.cos(AT[0] * AT[1]) - np.sin(AT[0] * AT[1])) + 3,
            np.exp(-AT[0]) * AT[0] * np.cos(AT[0] * AT[1]),
        ]
    },
)


def fourier(xp, pairs):
    n = len(pairs)
    turn = -2 * np.pi * np.outer(np.arange(n), np.arange(n)) / n
    re, im = xp.stack([p[0] for p in pairs]), xp.stack([p[1] for p in pairs])
    c, s = np.cos(turn), np.sin(turn)
    a, b = c @ re - s @ im, s @ re + c @ im
    return [(a[k], b[k]) for k in range(n)]


def pairs(n):
    return [tuple(float(x) for x in vec(2)) for _ in range(n)]


for _name, _n in (("fft", 8), ("dft", 5)):

    @own("fft", _name, (pairs(_n),), ops="jvp2 vjp")
    def transform(xp, x):
        return fourier(xp, x)


@own("fft", "cyclic_convolution", (pairs(4), pairs(4)), ops="jvp vjp")
def cyclic(xp, x, y):
    def part(k):
        terms = [(x[i], y[(k - i) % 4]) for i in range(4)]
        return (sum(a[0] * b[0] - a[1] * b[1] for a, b in terms), sum(a[0] * b[1] + a[1] * b[0] for a, b in terms))

    return [part(k) for k in range(4)]


@own(
    "filtering",
    "positive_mean",
    (np.array([1.5, -2.0, 0.25, -1.0, 3.0]),),
    ops="grad jvp hvp",
    closed=lambda x: (x > 0) / 3,
)
def positive_mean(xp, x):
    return xp.sum(xp.where(xp.real(x) > 0, x, 0)) / 3


def heated(xp, u, r, steps):
    n = len(u)
    second = -2 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    second[0] = second[-1] = 0
    for _ in range(steps):
        u = u + r * (second @ u)
    return u


for _name in ("step", "step_if"):
    own("heat", _name, (vec(5), 0.2))(lambda xp, u, r: heated(xp, u, r, 1))
own("heat", "evolve", (vec(6), 0.2, 12))(lambda xp, u, r, steps: heated(xp, u, r, 12))


CHAIN = (
    np.array([0.25, 0.75]),
    np.array([[0.625, 0.375], [0.25, 0.75]]),
    np.array([[0.5, 0.25, 0.25], [0.125, 0.25, 0.625]]),
    np.array([0, 2, 1, 2]),
)


@own("hmm", "log_likelihood", CHAIN, fitted=1e-8, step=1 / 128)
def log_likelihood(xp, start, trans, emit, seen):
    p = start
    for o in CHAIN[3]:
        p = (p @ trans) * emit[:, int(o)]
    return xp.log(xp.sum(p))


@own(
    "hmm",
    "\\(s: [2]f64), (t: [2, 2]f64), (e: [2, 3]f64): p.viterbi(s, t, e, [0, 2, 1, 2]).0",
    CHAIN[:3],
    step=1 / 128,
    label="viterbi",
)
def viterbi(xp, s, t, e):
    import itertools

    paths = [
        xp.log(s[path[0]]) + sum(xp.log(t[i, j]) + xp.log(e[j, int(o)]) for i, j, o in zip(path, path[1:], CHAIN[3]))
        for path in itertools.product(range(2), repeat=5)
    ]
    return xp.max(xp.stack(paths))


# The eigenvalues' tangents are the diagonal of the tangent in the basis of the eigenvectors. Only symmetric
# tangents are meaningful, because the program reads both triangles.
SYMMETRIC = positive_definite(4)
TANGENT = (lambda a: a + a.T)(vec(4, 4))


def eigenvalue_slopes():
    _, v = np.linalg.eigh(SYMMETRIC)
    return np.diag(v.T @ TANGENT @ v)


def eigenvalue_slopes_jax():
    import jax

    return np.asarray(jax.jvp(jax.numpy.linalg.eigvalsh, (SYMMETRIC,), (TANGENT,))[1])


check(
    "own/jacobi_eigenvalues",
    "eigenvalues along a symmetric tangent",
    f"jvp(p.eigenvalues)({SYMMETRIC.tolist()}, {TANGENT.tolist()})",
    {"closed form": eigenvalue_slopes, "jax": eigenvalue_slopes_jax},
)


FILTER = """\\(A: [2, 2]f64), (c: f64), (h: [2]f64), (r: f64), (mean: [2]f64), (z: [5]f64):
  let m = {A: A, Q: [[0.25, c], [c, 0.125]], h: h, r: r}
  in p.run(m, {mean: mean, cov: [[1.0, c], [c, 0.75]]}, z).1"""


@own(
    "kalman",
    FILTER,
    (np.array([[1.0, 0.125], [0.0, 1.0]]), 0.0625, np.array([1.0, 0.25]), 0.25, np.array([0.0, 1.0]), vec(5)),
    ops="value_and_grad jvp hvp",
    label="the likelihood",
    step=1 / 256,
)
def likelihood(xp, A, c, h, r, mean, z):
    # The observations are jointly normal, with one mean and one covariance of all of them.
    spread = xp.stack([xp.stack([c**0, c]), xp.stack([c, 0.75 * c**0])])
    noise = xp.stack([xp.stack([0.25 * c**0, c]), xp.stack([c, 0.125 * c**0])])
    cov, residue = [[None] * 5 for _ in range(5)], []
    for t in range(5):
        mean, spread = A @ mean, A @ spread @ A.T + noise
        residue.append(z[t] - h @ mean)
        onward = spread
        for u in range(t, 5):
            cov[t][u] = cov[u][t] = h @ onward @ h + (r if t == u else 0.0)
            onward = onward @ A.T
    root = lower(xp, xp.stack([xp.stack(row) for row in cov]))
    whitened, total = [], 0.0
    for i in range(5):
        whitened.append((residue[i] - sum(root[i, k] * whitened[k] for k in range(i))) / root[i, i])
        total = total - xp.log(root[i, i]) - whitened[i] ** 2 / 2
    return total - 2.5 * math.log(2 * math.pi)


CENTRES = vec(3, 2)
POINTS = CENTRES[np.arange(8) % 3] + vec(8, 2) / 8


@own("kmeans", "cost", (POINTS, CENTRES), step=1 / 256)
def cost(xp, points, centres):
    d = xp.sum((points[:, None] - centres[None]) ** 2, axis=2)
    return -xp.sum(xp.max(-d, axis=1))


@own("kmeans", "step", (POINTS, CENTRES), ops="jvp vjp", step=1 / 256, closed=None)
def lloyd(xp, points, centres):
    nearest = np.argmin(np.sum((POINTS[:, None] - CENTRES[None]) ** 2, axis=2), axis=1)
    return xp.stack([xp.sum(points[nearest == c], axis=0) / max(np.sum(nearest == c), 1) for c in range(3)])


@own(
    "kmeans",
    "\\(points: [8, 2]f64), (c: [3, 2]f64): fold c = c for t < 3: p.step(points, c)",
    (POINTS, CENTRES),
    ops="jvp2 vjp",
    step=1 / 256,
    label="three steps",
)
def three_steps(xp, points, centres):
    for _ in range(3):
        d = xp.sum((points[:, None] - centres[None]) ** 2, axis=2)
        nearest = [[c for c in range(3) if all(row[c].real <= row[k].real for k in range(3))][0] for row in d]
        members = np.array(nearest)[None, :] == np.arange(3)[:, None]
        centres = members / np.maximum(members.sum(1), 1)[:, None] @ points
    return centres


@own("library_functions", "median", (vec(7),), (vec(4),), ops="grad jvp")
def median(xp, x):
    s = xp.sort(x)
    return (s[(len(x) - 1) // 2] + s[len(x) // 2]) / 2


PERMUTATION = np.array([3, 1, 4, 0, 2])


@own("library_functions", "\\(b: [5]f64), (v: [3]f64): scatter(b, [1, 3, 1], v)", (vec(5), vec(3)), label="scatter")
def scattered(xp, b, v):
    return xp.stack([b[0], v[2], b[2], v[1], b[4]])


@own(
    "library_functions",
    "\\(b: [5]f64), (v: [3]f64): scatter_add(b, [1, 3, 1], v)",
    (vec(5), vec(3)),
    label="scatter_add",
)
def scatter_added(xp, b, v):
    return xp.stack([b[0], b[1] + v[0] + v[2], b[2], b[3] + v[1], b[4]])


@own(
    "library_functions",
    "\\(a: [6]f64), (b: [2]f64): reverse(concat(sort(a), transpose(reshape(concat(a, b), 4, 2))[1]))",
    (vec(6), vec(2)),
    label="rearrangements",
)
def rearranged(xp, a, b):
    column = xp.concatenate([a, b]).reshape(4, 2)[:, 1]
    return xp.concatenate([xp.sort(a), column])[::-1]


weights = points("own/dlstm")


def gates(b):
    return {name: weights(b) / 2 for name in ("forget", "ingate", "outgate", "change")}


NETWORK = {
    "layers": [{"weight": gates(3), "bias": gates(3)} for _ in range(2)],
    "into": weights(3),
    "out": weights(3),
    "bias": weights(3),
}
MEMORY = [{"hidden": weights(3) / 2, "cell": weights(3) / 2} for _ in range(2)]
CHARACTERS = np.eye(3)[[1, 2, 2, 0, 1]]


@own("dlstm", "loss", (NETWORK, MEMORY, CHARACTERS), ops="value_and_grad jvp hvp", step=1 / 64)
def dlstm(xp, net, states, sequence):
    states, gained = [(s["hidden"], s["cell"]) for s in states], 0.0
    for x, wanted in zip(sequence[:-1], sequence[1:]):
        y = x * net["into"]
        for k, layer in enumerate(net["layers"]):
            (hidden, cell), w, b = states[k], layer["weight"], layer["bias"]
            seen = {"forget": y, "ingate": hidden, "outgate": y, "change": hidden}
            gate = {n: v * w[n] + b[n] for n, v in seen.items()}
            open_ = {n: 1 / (1 + xp.exp(-gate[n])) for n in ("forget", "ingate", "outgate")}
            cell = cell * open_["forget"] + open_["ingate"] * xp.tanh(gate["change"])
            y = open_["outgate"] * xp.tanh(cell)
            states[k] = (y, cell)
        y = y * net["out"] + net["bias"]
        gained = gained + xp.sum(wanted * (y - xp.log(2 + xp.sum(xp.exp(y)))))
    return -gained / sequence[1:].size


GATE = {"w": vec(2, 3), "u": vec(2, 2), "b": vec(2)}


def cell(scale):
    return {k: {n: v * s for n, v in GATE.items()} for k, s in zip(("input", "forget", "output", "candidate"), scale)}


@own("lstm", "run", (cell([0.5, 1.0, -0.5, 0.75]), vec(4, 3)), ops="jvp vjp", step=1 / 64)
def lstm(xp, cell, xs):
    hid = mem = np.zeros(2)
    seen = []
    for x in xs:
        z = {k: g["w"] @ x + g["u"] @ hid + g["b"] for k, g in cell.items()}
        gate = {k: 1 / (1 + xp.exp(-z[k])) for k in ("input", "forget", "output")}
        mem = gate["forget"] * mem + gate["input"] * xp.tanh(z["candidate"])
        hid = gate["output"] * xp.tanh(mem)
        seen.append(hid)
    return (hid, mem), xp.stack(seen)


def eliminated(xp, a, rows):
    """Returns the factors of the rows in this order, in one matrix."""
    n = len(rows)
    u = [[a[r, j] for j in range(n)] for r in rows]
    for k in range(n):
        for i in range(k + 1, n):
            u[i][k] = u[i][k] / u[k][k]
            for j in range(k + 1, n):
                u[i][j] = u[i][j] - u[i][k] * u[k][j]
    return xp.stack([xp.stack(row) for row in u])


REGULAR = vec(4, 4)


@own(
    "lu",
    "determinant",
    (REGULAR,),
    ops="grad jvp hvp",
    closed=lambda a: np.linalg.det(a) * np.linalg.inv(a).T,
)
def determinant(xp, a):
    u = eliminated(xp, a, range(4))
    return u[0, 0] * u[1, 1] * u[2, 2] * u[3, 3]


@own("lu", "\\(a: [4, 4]f64), (b: [4]f64): p.solve(p.factor(a), b)", (REGULAR, vec(4)), wide=False, label="solve")
def solved(xp, a, b):
    return xp.linalg.solve(a, b)


CORNERS = [(0.0, 0.0), (2.0, 0.25), (1.5, 1.75), (0.25, 1.0)]
for _shape, _area, _label in (
    (Con("Circle", 1.5), lambda s: math.pi * s.args[0] ** 2, "a circle"),
    (Con("Rectangle", {"w": 1.5, "h": 0.25}), lambda s: s.args[0]["w"] * s.args[0]["h"], "a rectangle"),
    (
        Con("Polygon", as_list(CORNERS)),
        lambda s: (
            sum(
                p[0] * q[1] - q[0] * p[1] for p, q in zip(items_of(s.args[0]), np.roll(items_of(s.args[0]), -1, axis=0))
            )
            / 2
        ),
        "a polygon",
    ),
):

    @own("matching", "area", (_shape,), ops="grad", label=f"the area of {_label}", jax=_label != "a polygon")
    def area(xp, s, f=_area):
        return f(s)


numbered = points("own/sums")
SIDES = [(0.5, 1.0), (1.5, -2.0), (0.25, 4.0)]
for _shape, _area, _label in (
    (Con("Circle", 1.5), lambda r: math.pi * r**2, "a circle"),
    (Con("Box", {"h": 1.5, "w": 0.25}), lambda b: b["h"] * b["w"], "a box"),
    (Con("Path", 3, SIDES), lambda k, p: k * sum(x * y for x, y in p), "a path"),
):

    @own("sums", "area", (_shape,), ops="value_and_grad jvp hvp", label=f"the area of {_label}")
    def area_of_parts(xp, s, f=_area):
        return f(*s.args)

    @own("sums", "scaled", (1.25, _shape), ops="jvp2 vjp", label=f"{_label} scaled")
    def scaled_shape(xp, k, s):
        times = lambda part: map_reals(lambda x: k * x, part, lambda count: count + 1)
        return Con(s.name, *(times(part) for part in s.args))


def some(*xs):
    return [Con("None") if x is None else Con("Some", x) for x in xs]


for _a, _b in ((0.5, -1.25), (None, 2.0), (0.5, None)):

    @own("sums", "both", tuple(some(_a, _b)), ops="jvp2 vjp", label=f"both of {_a} and {_b}")
    def both(xp, a, b):
        return Con("Some", a.args[0] * b.args[0]) if a.args and b.args else Con("None")


@own("sums", "total", (some(0.5, None, -1.25, 2.0), numbered(4)), ops="value_and_grad jvp hvp")
def total_of_some(xp, os, w):
    return sum(k * o.args[0] ** 2 for k, o in zip(w, os) if o.args)


TERMS = [Con("Constant", 0.5), Con("Power", 1.5, 3), Con("Wave", 2.0, 0.75), Con("Power", -0.25, 2)]


@own("sums", "value", (TERMS, 1.25), ops="value_and_grad jvp hvp")
def value_of_terms(xp, terms, x):
    of = {
        "Constant": lambda c: c,
        "Power": lambda c, k: c * x**k,
        "Wave": lambda c, omega: c * xp.sin(omega * x),
    }
    return sum(of[term.name](*term.args) for term in terms)


@own("sums", "known", (some(0.5, None, -1.25), 2.0), ops="jvp vjp")
def known_of_some(xp, os, default):
    return xp.stack([o.args[0] if o.args else default for o in os])


@own("sums", "halved", (some(0.5, None, -1.25),), ops="jvp2 vjp")
def halved_of_some(xp, os):
    return [Con(o.name, *(x / 2 for x in o.args)) for o in os]


@own("sums", "radius", (Con("Ball", Con("Some", 1.5), numbered(2)),), ops="value_and_grad hvp", label="the radius of a ball")
def radius_of_ball(xp, b):
    return b.args[0].args[0] * xp.sum(b.args[1])


@own("sums", "with_default", ({"o": Con("None"), "x": 1.5},), ops="value_and_grad hvp", label="the default")
def the_default(xp, p):
    return p["x"] ** 2


@own(
    "merge_sort",
    "\\(x: [6]f64): p.to_array(6, p.sorted(\\(a: f64), (b: f64): a < b, p.from_array(x)), 0.0)",
    (vec(6),),
    label="sorted",
)
def merge_sorted(xp, x):
    return xp.sort(x)


@own("mutual_recursion", "left", (5, 0.5, 1.25))
def left(xp, n, x, y):
    for k in range(5):
        x, y = (0.5 * x + y, y) if k % 2 == 0 else (x, 0.25 * x * y)
    return y


@own("mutual_recursion", "\\(w: f64): p.weight(p.grow(3, w))", (1.5,), ops="grad hvp jvp", label="the weight of a tree")
def weight(xp, w):
    def grown(depth, w):
        return w * (1 + sum(grown(depth - 1, w / n) for n in range(1, depth + 1)))

    return grown(3, w)


BODIES = {"mass": np.abs(vec(3)) + 0.5, "pos": vec(3, 3), "vel": vec(3, 3) / 4}


def kicks(xp, b):
    apart = b["pos"][None] - b["pos"][:, None]
    d2 = xp.sum(apart**2, axis=2) + 1e-3
    return xp.sum(b["mass"][None, :, None] * apart * (d2**-1.5)[:, :, None], axis=1)


@own("nbody", "energy", (BODIES,), ops="value_and_grad jvp hvp", step=1 / 128)
def energy(xp, b):
    apart = b["pos"][None] - b["pos"][:, None]
    d2 = xp.sum(apart**2, axis=2) + 1e-3
    kinetic = xp.sum(b["mass"] * xp.sum(b["vel"] ** 2, axis=1)) / 2
    return kinetic - xp.sum(np.triu(np.ones((3, 3)), 1) * b["mass"][:, None] * b["mass"] / xp.sqrt(d2))


@own("nbody", "step", (BODIES, 0.0625), ops="jvp vjp", step=1 / 256)
def leapfrog(xp, b, h):
    half = b["vel"] + h / 2 * kicks(xp, b)
    there = b | {"pos": b["pos"] + h * half}
    return there | {"vel": half + h / 2 * kicks(xp, there)}


@own(
    "newton",
    "\\(a: f64): p.root(a).0",
    (2.0,),
    (0.25,),
    ops="grad hvp",
    label="root",
    tolerance=1e-9,
    closed=lambda a: 0.5 / math.sqrt(a),
)
def root(xp, a):
    return xp.sqrt(a)


@own(
    "pendulum",
    "\\(d: f64), (s: (f64, f64)): p.trajectory(d, s, 0.0625, 4)",
    (0.25, (0.5, -0.25)),
    ops="jvp2 vjp",
    label="trajectory",
)
def trajectory(xp, d, s):
    f = lambda s: np.array([0.0, 1.0]) * (-d * s[1] - 9.81 * xp.sin(s[0])) + np.array([1.0, 0.0]) * s[1]  # noqa: E731
    s, h, found = xp.stack(s), 0.0625, [s]
    for _ in range(4):
        k1 = f(s)
        k2 = f(s + h / 2 * k1)
        k3 = f(s + h / 2 * k2)
        s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(s + h * k3))
        found.append((s[0], s[1]))
    return found


ECCENTRIC = 0.5, np.array([0.5, 1.25, 2.75])


def far(e, m):
    """Returns the eccentric anomaly. Ten steps of Newton's method suffice from any near start."""
    x = m + e * np.sin(m)
    for _ in range(10):
        x = x - (x - e * np.sin(x) - m) / (1 - e * np.cos(x))
    return x


def anomalies_by(e, m):
    x = far(e, m)
    return np.sin(x) / (1 - e * np.cos(x)), np.diag(1 / (1 - e * np.cos(x)))


@own("newton_system", "anomalies", ECCENTRIC, closed=anomalies_by, step=1 / 64)
def anomalies(xp, e, m):
    x = m + e * xp.sin(m)
    for _ in range(10):
        x = x - (x - e * xp.sin(x) - m) / (1 - e * xp.cos(x))
    return x


@own("newton_system", "positions", ECCENTRIC, step=1 / 64, tolerance=1e-11)
def positions(xp, e, M):
    x = anomalies(xp, e, M)
    return xp.sum((xp.cos(x) - e) * np.arange(1, len(x) + 1) + xp.sqrt(1 - e**2) * xp.sin(x))


@own(
    "newton_system",
    "\\(x: f64), (y: f64): p.polar(x, y).0",
    (3.0, 4.0),
    (1.5, 0.5),
    ops="jvp2 vjp",
    label="polar",
    tolerance=1e-9,
)
def polar(xp, x, y):
    return xp.sqrt(x * x + y * y), xp.arctan(y / x)


RATES = np.array([1.0, 0.5, 0.25, 0.75])
SEEN = np.array([[2.0, 1.5], [2.25, 1.25], [2.75, 1.5], [3.5, 1.25]])


def hunted(xp, p, start, h, between, n):
    def rate(s):
        return xp.stack([s[0] * (p[0] - p[1] * s[1]), s[1] * (p[2] * s[0] - p[3])])

    states = [start]
    for k in range(between * n):
        s = states[-1]
        k1 = rate(s)
        k2 = rate(s + h / 2 * k1)
        k3 = rate(s + h / 2 * k2)
        states.append(s + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(s + h * k3)))
    return xp.stack(states[::between])


@own("rk4_fit", "course", (RATES, SEEN[0], 0.125, 2, 2), (RATES, SEEN[0], 0.125, 0, 1), step=1 / 128, fixed="jvp2 vjp")
def course(xp, c, start, h, between, n):
    return hunted(xp, c, start, h, between, n) if between else xp.stack([start] * (n + 1))


@own("rk4_fit", "misfit", (RATES, SEEN[0], 0.125, 4, SEEN), step=1 / 128)
def misfit(xp, c, start, h, between, seen):
    return xp.sum((xp.log(hunted(xp, c, start, h, between, len(seen) - 1)) - xp.log(seen)) ** 2) / 2


NET = {"w1": vec(3, 2), "b1": vec(3), "w2": vec(3), "b2": 0.25}
XOR = (np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0.0, 1, 1, 0]))


def squared_error(xp, net, x, y):
    hidden = xp.tanh(x @ net["w1"].T + net["b1"])
    return xp.sum((1 / (1 + xp.exp(-hidden @ net["w2"] - net["b2"])) - y) ** 2)


@own("perceptron", "loss", (NET, *XOR), ops="value_and_grad jvp hvp")
def xor_loss(xp, net, x, y):
    return squared_error(xp, net, x, y)


@own(
    "perceptron",
    "\\(net: p.Net(2, 3)): p.gradient(net, [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 0.0])",
    (NET,),
    ops="jvp vjp",
    label="the gradient by hand",
    analytic=False,
    wide=False,
)
def slope_of_error(xp, net):
    hidden = xp.tanh(XOR[0] @ net["w1"].T + net["b1"])
    o = 1 / (1 + xp.exp(-hidden @ net["w2"] - net["b2"]))
    dz = 2 * (o - XOR[1]) * o * (1 - o)
    dh = dz[:, None] * net["w2"] * (1 - hidden**2)
    return {"w1": dh.T @ XOR[0], "b1": xp.sum(dh, axis=0), "w2": dz @ hidden, "b2": xp.sum(dz)}


@own("polymorphic", "norm", (vec(4),), ops="grad hessian", fixed="hessian", closed=lambda x: x / np.linalg.norm(x))
def norm(xp, x):
    return xp.sqrt(xp.sum(x * x))


@own(
    "polymorphic",
    "\\(x: f64): p.twice(p.cube, x)",
    (1.25,),
    ops="grad hvp",
    label="cube of cube",
    closed=lambda x: 9 * x**8,
)
def cube_of_cube(xp, x):
    return x**9


@own("polymorphic", "clamp", (0.5, -1.0, 1.0), (2.5, -1.0, 1.0), (-1.5, -1.0, 1.0), ops="grad")
def clamp(xp, x, low, high):
    return -xp.maximum(-xp.maximum(x, low), -high)


@own("polynomials", "multiply", (vec(3), vec(4)))
def product(xp, p, q):
    rows = [xp.concatenate([np.zeros(i), p[i] * q, np.zeros(2 - i)]) for i in range(3)]
    return rows[0] + rows[1] + rows[2]


@own("polynomials", "horner", (vec(5), 0.75), ops="grad jvp hessian")
def horner(xp, p, x):
    return sum(p[k] * x**k for k in range(5))


@own("polynomials", "\\(q: [3]f64): p.power(q, 3)", (vec(3),), label="power")
def third_power(xp, q):
    a, b, c = q[0], q[1], q[2]
    return xp.stack(
        [
            a**3,
            3 * a**2 * b,
            3 * a * b**2 + 3 * a**2 * c,
            b**3 + 6 * a * b * c,
            3 * b**2 * c + 3 * a * c**2,
            3 * b * c**2,
            c**3,
        ]
    )


POWERED = positive_definite(3) + np.diag([6.0, 0.0, 0.0])


def dominant_slope():
    w, v = np.linalg.eigh(POWERED)
    # The pair of the matrix's own tangents: not symmetric, so by left and right vectors.
    return np.outer(v[:, -1], v[:, -1])


# The derivative is iterated with the value; if the iterate has converged, its derivative nearly has.
check(
    "own/power_iteration",
    "the greatest eigenvalue",
    f"grad(\\(a: [3, 3]f64): p.power_iteration(a, [1.0, 0.5, 0.25]).0)({POWERED.tolist()})",
    {"closed form": dominant_slope},
)


@own(
    "records",
    "predict",
    ({"weights": vec(3), "scale": {"in": 0.5, "out": -1.25}, "type": 2, "let": True}, vec(3)),
    ops="value_and_grad jvp hvp",
)
def scaled_prediction(xp, m, x):
    return m["scale"]["in"] * m["scale"]["out"] * (m["weights"] @ x)


@own("reductions", "extremes", (vec(6),))
def extremes(xp, x):
    return xp.max(x), -xp.max(-x)


check(
    "own/reductions",
    "the first of equals is the greatest and the least",
    "jacobian(p.extremes)([2.0, 5.0, 2.0, 5.0])",
    {"closed form": lambda: ([0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])},
)


@own(
    "scalar_functions",
    "\\(x: f64): sin(x) * exp(-x) + log(1 + x^2) + sqrt(x) + tanh(x) + atan(x) + x^2.5 + x^3 + sigmoid(x)"
    " + softplus(x)",
    (0.75,),
    (1.5,),
    ops="grad hvp",
    label="a sum of functions",
)
def scalar_functions(xp, x):
    return (
        xp.sin(x) * xp.exp(-x)
        + xp.log(1 + x * x)
        + xp.sqrt(x)
        + xp.tanh(x)
        + xp.arctan(x)
        + xp.exp(2.5 * xp.log(x))
        + x**3
        + 1 / (1 + xp.exp(-x))
        + xp.log(1 + xp.exp(x))
    )


@own("scans", "inclusive", (vec(5),), ops="jacobian", closed=lambda x: np.tri(5))
def inclusive(xp, x):
    return np.tri(5) @ x


@own("scans", "exclusive", (vec(5),), ops="jacobian vjp", closed=lambda x: np.tri(5, k=-1))
def exclusive(xp, x):
    return np.tri(5, k=-1) @ x


@own("scans", "from_the_right", (vec(5),), ops="jacobian", closed=lambda x: np.tri(5).T)
def from_the_right(xp, x):
    return np.tri(5).T @ x


@own("scans", "running", (vec(5),), ops="jvp2 vjp")
def running(xp, x):
    heads = [x[: k + 1] for k in range(5)]
    return [(0 * x[0], 0 * x[0])] + [
        (xp.sum(h) / len(h), xp.sum((h - xp.sum(h) / len(h)) ** 2) / len(h)) for h in heads
    ]


@own(
    "scans",
    "\\(x: f64): p.powers(x, 4)",
    (1.25,),
    label="powers",
    closed=lambda x: [0.0, 1.0, 2 * x, 3 * x**2, 4 * x**3],
)
def powers(xp, x):
    return xp.stack([x**0, x, x**2, x**3, x**4])


@own(
    "sinkhorn", "plan", (np.abs(vec(3, 4)), np.full(3, 1 / 4), np.full(4, 3 / 16), 0.5, 6), ops="jvp vjp", step=1 / 128
)
def plan(xp, cost, a, b, ε, rounds):
    k = xp.exp(-cost / ε)
    v = np.ones(4)
    for _ in range(rounds):
        u = a / (k @ v)
        v = b / (u @ k)
    return u[:, None] * k * v


@own(
    "sinkhorn",
    "\\(cost: [3, 4]f64), (a: [3]f64), (b: [4]f64): p.transport_cost(cost, p.plan(cost, a, b, 0.5, 6))",
    (np.abs(weights(3, 4)), np.full(3, 1 / 4), np.full(4, 3 / 16)),
    step=1 / 128,
    label="what a plan costs",
)
def plan_cost(xp, cost, a, b):
    return xp.sum(cost * plan(xp, cost, a, b, 0.5, 6))


@own(
    "softmax_regression",
    "loss",
    ({"w": vec(3, 2), "b": vec(3)}, vec(5, 2), np.array([0, 2, 1, 1, 0]), 0.125),
    ops="value_and_grad jvp hvp",
)
def regression(xp, p, x, label, penalty):
    s = x @ p["w"].T + p["b"]
    picked = sum(s[i, k] for i, k in enumerate([0, 2, 1, 1, 0]))
    return (xp.sum(xp.log(xp.sum(xp.exp(s), axis=1))) - picked) / 5 + penalty * xp.sum(p["w"] ** 2)


for _name in ("by_update", "by_slices", "by_recursion"):

    @own("triangular_solve", _name, (TRIANGLE, vec(4)), wide=False)
    def triangular(xp, L, b):
        return xp.linalg.solve(L * np.tri(4), b)


@own("updates", "set_border", (vec(4, 3), 0.5))
def set_border(xp, a, v):
    inside = np.zeros((4, 3))
    inside[1:-1, 1:-1] = 1
    return a * inside + v * (1 - inside)
