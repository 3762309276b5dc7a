"""Reports of linear algebra: factorisations, determinants, functions of matrices, and their derivatives."""

import math

import mpmath
import numpy as np

from reports_derivatives import differences
from reports_table import report

JAX = "jax-ml/jax"
TORCH = "pytorch/pytorch"
TENSORFLOW = "tensorflow/tensorflow"
PYTENSOR = "pymc-devs/pytensor"
NUMPY = "numpy/numpy"
SCIPY = "scipy/scipy"

NAN = float("nan")
INF = float("inf")


def matrix(rows, p):
    """Returns the numbers of `p` as a matrix of so many rows."""
    columns = len(p) // rows
    return mpmath.matrix([[p[i * columns + j] for j in range(columns)] for i in range(rows)])


def flat(m):
    return [m[i, j] for i in range(m.rows) for j in range(m.cols)]


def gradient(f, a):
    """Returns the gradient of a function of an mpmath matrix, by differences at many digits."""
    a = np.array(a)
    row = differences(lambda p: [f(matrix(len(a), p))], a.ravel().tolist())[0]
    return np.array(row).reshape(a.shape)


def along(f, a, h):
    """Returns the derivative of a function of an mpmath matrix at `a` along `h`."""
    a, h = matrix(len(a), np.ravel(a).tolist()), matrix(len(h), np.ravel(h).tolist())
    rows = f(a).rows
    column = [row[0] for row in differences(lambda t: flat(f(a + t[0] * h)), [0.0])]
    return np.array(column).reshape(rows, -1)


# Eigenvalues that are equal.

report(TORCH, 47599, "squares of eigenvalues, two of which are equal: gradient and Hessian times a matrix",
       r"let f = \(a: [3, 3]f64): sum i: linalg.eigvalsh(a)[i]^2 in grad(f)([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])",
       [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]], imports="linalg")
report(JAX, 669, "a sum of eigenvectors of the identity: no derivative",
       r"grad(\(a: [3, 3]f64): sum i, j: linalg.eigh(a).vectors[i, j])(linalg.eye(3))", [[NAN] * 3] * 3, imports="linalg",
       verdict="agrees: eigenvectors of equal eigenvalues have no derivative")
report("adtzlr/felupe", 67, "an energy of principal stretches that are all equal: gradient and Hessian times a matrix",
       r"(grad(energy)(linalg.eye(3)), hvp(energy)(linalg.eye(3), [[1.0, 2.0, 0.0], [2.0, -1.0, 3.0], [0.0, 3.0, 0.5]]))",
       [(1.25 * np.eye(3)).tolist(), (0.3125 * np.array([[1.0, 2.0, 0.0], [2.0, -1.0, 3.0], [0.0, 3.0, 0.5]])).tolist()], imports="linalg",
       definitions=r"def energy(c: [3, 3]f64) -> f64 = linalg.trace(linalg.funm(\x: x^1.25, c))")
report("PythonOT/POT", 773, "an element of the square root of the identity",
       r"grad(\(a: [3, 3]f64): linalg.sqrtm(a)[0, 1])(linalg.eye(3))", [[0.0, 0.25, 0.0], [0.25, 0.0, 0.0], [0.0, 0.0, 0.0]], imports="linalg")
report("JuliaDiff/ForwardDiff.jl", 494, "trace of a matrix times its logarithm, at nearly equal eigenvalues: Hessian times a matrix",
       r"hvp(\(x: [3, 3]f64): linalg.trace(linalg.matmul(x, linalg.logm(x))))(x, h)",
       lambda: along(mpmath.logm, CLOSE, CHANGE), imports="linalg",
       definitions="let x = [[1.0, 0.0001, 0.0], [0.0001, 1.0, 0.0], [0.0, 0.0, 2.0]]\nlet h = [[1.0, 2.0, 0.5], [2.0, -1.0, 3.0], [0.5, 3.0, 0.25]]")
report("adtzlr/tensortrax", 93, "a symmetric function of eigenvalues where two are equal: its derivative along a matrix that parts them",
       r"jvp(\(a: [2, 2]f64): (let e = linalg.eigvalsh(a) in e[0] * e[1] + exp(e[0]) + exp(e[1])))(linalg.eye(2), [[1.0, 3.0], [3.0, 2.0]])",
       3 + 3 * math.e, imports="linalg")

CLOSE = [[1.0, 0.0001, 0.0], [0.0001, 1.0, 0.0], [0.0, 0.0, 2.0]]
CHANGE = [[1.0, 2.0, 0.5], [2.0, -1.0, 3.0], [0.5, 3.0, 0.25]]

# Singular values.

report(JAX, 8732, "the root of the sum of squared singular values, two of which are equal",
       r"grad(\(a: [4, 4]f64): sqrt(sum i: linalg.svdvals(a)[i]^2))(linalg.diag([1.0, 1.0, 2.0, 3.0]))",
       lambda: np.diag([1.0, 1.0, 2.0, 3.0]) / math.sqrt(15), imports="linalg")
report("invenia/Nabla.jl", 183, "the sum of the singular values of the identity, and of a matrix of rank one",
       r"let f = \(a: [2, 2]f64): sum i: linalg.svdvals(a)[i] in (grad(f)(linalg.eye(2)), grad(f)([[3.0, 4.0], [6.0, 8.0]]))",
       lambda: [np.eye(2), np.outer([1, 2], [3, 4]) / math.sqrt(5) / 5], imports="linalg")
report(TORCH, 49886, "a product with the pseudoinverse of a matrix whose value 0 occurs twice",
       r"jvp(\(t: f64): linalg.pinv(for i < 3, j < 3: (f64(i) + t) * (f64(j) - t))[0, 1])(1.0, 1.0)", lambda: rank_one(), imports="linalg")
report("NVIDIA/warp", 1734, "the rotation nearest to a rotation: gradients of its elements",
       r"for k < 2: grad(\(a: [2, 2]f64): linalg.matmul(a, linalg.funm(\x: 1 / sqrt(x), linalg.matmul(transpose(a), a)))[0, k])([[0.0, -1.0], [1.0, 0.0]])",
       [[[0.5, 0.0], [0.0, 0.5]], [[0.0, 0.0], [0.0, 0.0]]], imports="linalg")
report(TENSORFLOW, 13641, "the projection on the columns of a tall matrix by its left singular vectors",
       r"grad(\(a: [4, 2]f64): (let u = linalg.svd(a).u in sum i, j: w[i, j] * (sum k: u[i, k] * u[j, k])))(a)",
       lambda: gradient(projected, TALL), imports="linalg",
       definitions="let w = for i < 4, j < 4: f64(i) - 0.5 * f64(j) * f64(i - 1)\nlet a = [[1.0, 2.0], [-0.5, 1.0], [3.0, 0.25], [0.0, -1.0]]")
TALL = [[1.0, 2.0], [-0.5, 1.0], [3.0, 0.25], [0.0, -1.0]]


def rank_one():
    """Returns the pseudoinverse of u vᵀ: v uᵀ over the product of their squared lengths."""

    def element(p):
        u = [i + p[0] for i in range(3)]
        v = [j - p[0] for j in range(3)]
        return [v[0] * u[1] / (sum(x**2 for x in u) * sum(x**2 for x in v))]

    return differences(element, [1.0])[0][0]


def projected(a):
    p = a * mpmath.inverse(a.T * a) * a.T
    return sum((i - mpmath.mpf("0.5") * j * (i - 1)) * p[i, j] for i in range(4) for j in range(4))


# Determinants and inverses.

report(TENSORFLOW, 119477, "the determinant at rank one and at rank zero: gradient, and its change along a matrix",
       r"(grad(linalg.det)([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]), hvp(linalg.det)([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]], linalg.eye(3)), grad(linalg.det)(linalg.zeros(3, 3)))",
       lambda: [np.zeros((3, 3)), 14 * np.eye(3) - np.outer([1, 2, 3], [1, 2, 3]), np.zeros((3, 3))], imports="linalg")
report("google-deepmind/ferminet", 5, "the logarithm of the determinant of a singular matrix, and of one with a negative determinant",
       "(linalg.slogdet([[1.0, 2.0], [2.0, 4.0]]), linalg.slogdet([[0.0, 2.0], [3.0, 1.0]]))",
       lambda: [{"sign": 0.0, "logdet": -INF}, {"sign": -1.0, "logdet": math.log(6)}], imports="linalg")
report(TORCH, 15605, "a determinant from its sign and its logarithm: the sign has derivative 0",
       r"grad(\(a: [2, 2]f64): (let s = linalg.slogdet(a) in s.sign * exp(s.logdet)))([[0.5, 2.0], [3.0, 1.0]])", [[1.0, -3.0], [-2.0, 0.5]],
       imports="linalg")
report(NUMPY, 8212, "determinant, its logarithm and trace of the matrix without rows",
       "let a = linalg.zeros(0, 0) in (linalg.det(a), linalg.slogdet(a), linalg.trace(a))", [1.0, {"sign": 1.0, "logdet": 0.0}, 0.0], imports="linalg")
report(SCIPY, 14389, "inverse, solution and factor of the matrix without rows",
       "let a = linalg.zeros(0, 0) in (len(linalg.inverse(a)), len(linalg.solve(a, for i < 0: 1.0)), len(linalg.cholesky(a)))", [0, 0, 0],
       imports="linalg")
report("ruby-numo/numo-linalg", 43, "the inverse of a singular matrix: refused", "linalg.inverse([[1.0, 2.0], [2.0, 4.0]])", {"error": "E0502"},
       imports="linalg")
report("Qalculate/qalculate-gtk", 337, "the inverse of a regular matrix beside a singular one",
       "linalg.inverse([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])",
       [[-2 / 3, -4 / 3, 1.0], [-2 / 3, 11 / 3, -2.0], [1.0, -2.0, 1.0]], imports="linalg")

# The Cholesky factor.

report(TORCH, 18825, "the trace of the inverse, directly and by Cholesky's factor",
       r"let f = \(a: [3, 3]f64): linalg.trace(linalg.inverse(a)) in let g = \(a: [3, 3]f64): (let l = linalg.cholesky(a) in sum k < 3: linalg.sqnorm(linalg.solve_lower(l, linalg.one_hot(3, k)))) in (grad(f)(a), grad(g)(a))",
       lambda: [-np.linalg.inv(POSITIVE @ POSITIVE)] * 2, imports="linalg",
       definitions="let a = [[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]]")
report("EnzymeAD/Enzyme.jl", 1254, "a sum of the solution by Cholesky's factor of a product: gradients by matrix and right side",
       r"grad(\(a: [2, 2]f64, b: [2]f64): sum i: linalg.cholesky_solve(linalg.cholesky(linalg.matmul(a, transpose(a))), b)[i])([[1.3, 0.5], [0.5, 1.5]], [1.0, 2.0])",
       lambda: [gradient(lambda a: sum(mpmath.inverse(a * a.T) * mpmath.matrix([1, 2])), [[1.3, 0.5], [0.5, 1.5]]),
                np.linalg.solve(np.array([[1.3, 0.5], [0.5, 1.5]]) @ np.array([[1.3, 0.5], [0.5, 1.5]]), np.ones(2))], imports="linalg")
report("FluxML/Zygote.jl", 1148, "the sum of the squares of Cholesky's factor is the trace",
       r"(grad(\(a: [5, 5]f64): linalg.sum_of_squares(linalg.cholesky(a)))(linalg.eye(5)), vjp(\(a: [2, 2]f64): linalg.cholesky(a))([[4.0, 2.0], [2.0, 5.0]], [[2.0, 0.0], [1.0, 2.0]]))",
       lambda: [np.eye(5), np.eye(2) / 2], imports="linalg")
POSITIVE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]])

# QR, least squares, triangular systems.


def qr(a):
    """Returns the factors with a positive diagonal, by the Gram-Schmidt method."""
    n, m = a.rows, a.cols
    q, r = mpmath.matrix(n, m), mpmath.matrix(m, m)
    for j in range(m):
        v = a[:, j]
        for i in range(j):
            r[i, j] = sum(q[k, i] * a[k, j] for k in range(n))
            v = v - r[i, j] * q[:, i]
        r[j, j] = mpmath.sqrt(sum(v[k] ** 2 for k in range(n)))
        for k in range(n):
            q[k, j] = v[k] / r[j, j]
    return q, r


SQUARE = [[1.0, 2.0, -1.0], [0.5, -1.0, 3.0], [2.0, 0.25, 1.0]]
STEP = [[0.5, -1.0, 2.0], [1.0, 0.25, -0.5], [0.0, 3.0, 1.0]]
report(JAX, 2863, "both factors of a QR factorisation along a matrix",
       r"let d = jvp(\(a: [3, 3]f64): linalg.qr(a))([[1.0, 2.0, -1.0], [0.5, -1.0, 3.0], [2.0, 0.25, 1.0]], [[0.5, -1.0, 2.0], [1.0, 0.25, -0.5], [0.0, 3.0, 1.0]]) in (d.q, d.r)",
       lambda: [along(lambda a: qr(a)[0], SQUARE, STEP), along(lambda a: qr(a)[1], SQUARE, STEP)], imports="linalg")
report(PYTENSOR, 1099, "a weighted sum of both factors of a tall matrix",
       r"grad(\(a: [4, 2]f64): (let f = linalg.qr(a) in (sum i, j: f64(i + 2 * j) * f.q[i, j]) + (sum i, j: f64(1 + i + j) * f.r[i, j])))([[1.0, 2.0], [-0.5, 1.0], [3.0, 0.25], [0.0, -1.0]])",
       lambda: gradient(qr_loss, TALL), imports="linalg")
report(TORCH, 93982, "least squares by both modes: derivative along matrix and right side, and gradients",
       r"let f = \(a: [3, 2]f64, b: [3]f64): linalg.lstsq(a, b) in (jvp(f)((a, b), (da, db)), vjp(f)((a, b), [1.0, -2.0]))", lambda: fitted(),
       imports="linalg",
       definitions="let a = [[1.0, 2.0], [0.5, -1.0], [2.0, 0.25]]\nlet b = [1.0, 2.0, -1.0]\n"
                   "let da = [[0.5, -1.0], [1.0, 0.25], [0.0, 3.0]]\nlet db = [1.0, 0.5, 0.25]")
report(TORCH, 147543, "the squared residual of least squares: what the solution changes has no part in its gradient",
       r"grad(\(a: [3, 2]f64, b: [3]f64): linalg.sqnorm(linalg.matvec(a, linalg.lstsq(a, b)) - b))([[1.0, 2.0], [0.5, -1.0], [2.0, 0.25]], [1.0, 2.0, -1.0])",
       lambda: residual(), imports="linalg")
report(PYTENSOR, 1230, "a lower triangular system with numbers above the diagonal: their derivative is 0",
       r"grad(\(l: [3, 3]f64, b: [3]f64): sum i: f64(i + 1) * linalg.solve_lower(l, b)[i])([[2.0, 9.0, 8.0], [1.0, 4.0, 7.0], [-1.0, 3.0, 0.5]], [1.0, 2.0, 3.0])",
       lambda: triangular(), imports="linalg")


def qr_loss(a):
    q, r = qr(a)
    return sum((i + 2 * j) * q[i, j] for i in range(4) for j in range(2)) + sum((1 + i + j) * r[i, j] for i in range(2) for j in range(2))


def fitted():
    at = [1.0, 2.0, 0.5, -1.0, 2.0, 0.25, 1.0, 2.0, -1.0]

    def solution(p):
        a = matrix(3, p[:6])
        return flat(mpmath.inverse(a.T * a) * a.T * mpmath.matrix(p[6:]))

    jac = np.array(differences(solution, at))
    back = np.array([1.0, -2.0]) @ jac
    return [jac @ [0.5, -1.0, 1.0, 0.25, 0.0, 3.0, 1.0, 0.5, 0.25], [back[:6].reshape(3, 2), back[6:]]]


def residual():
    a, b = np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.25]]), np.array([1.0, 2.0, -1.0])
    x = np.linalg.solve(a.T @ a, a.T @ b)
    r = a @ x - b
    return [2 * np.outer(r, x), -2 * r]


def triangular():
    lower, b = np.array([[2.0, 0.0, 0.0], [1.0, 4.0, 0.0], [-1.0, 3.0, 0.5]]), np.array([1.0, 2.0, 3.0])
    x, y = np.linalg.solve(lower, b), np.linalg.solve(lower.T, np.array([1.0, 2.0, 3.0]))
    return [-np.tril(np.outer(y, x)), y]


# Exponentials and norms.

report("Theano/Theano", 6379, "the exponential of a multiple of the identity, by the factor",
       r"let f = \j: linalg.expm(j * linalg.eye(2))[0, 0] in (grad(f)(1.0), grad(grad(f))(0.0))", lambda: [math.e, 1.0], imports="linalg")
report(TENSORFLOW, 127224, "the exponential of a multiple of the identity and a turn: value and both derivatives, forwards over forwards",
       r"let f = \(t: f64): sum i, j: linalg.expm([[t, 1.0], [-1.0, t]])[i, j] in (f(0.7), jvp(f)(0.7, 1.0), jvp(\t: jvp(f)(t, 1.0))(0.7, 1.0))",
       lambda: [2 * math.exp(0.7) * math.cos(1)] * 3, imports="linalg")
report(TENSORFLOW, 15465, "a weighted sum of an exponential of a matrix that is not symmetric",
       r"grad(\(a: [3, 3]f64): sum i, j: f64(i - 2 * j) * linalg.expm(a)[i, j])([[1.0, 2.0, -1.0], [0.5, -1.0, 3.0], [2.0, 0.25, 1.0]])",
       lambda: exponential(), imports="linalg")
report(NUMPY, 19097, "lengths of matrices whose squares leave the range of numbers, with gradients",
       r"(for k < 2: linalg.frobenius(for i < 2, j < 2: [1e200, 1e-200][k]), for k < 2: grad(linalg.frobenius)(for i < 2, j < 2: [1e200, 1e-200][k])[1, 0])",
       [[2e200, 2e-200], [0.5, 0.5]], imports="linalg")
report("dsuess/mpnum", 34, "a vector over its length where squares underflow and overflow",
       "(linalg.unit([3e-200, 4e-200]), linalg.unit([3e300, -4e300]), hypot(3e-320, 4e-320) / 5e-320)", [[0.6, 0.8], [0.6, -0.8], 1.0],
       imports="linalg")


def exponential():
    from scipy.linalg import expm_frechet

    weights = np.array([[i - 2.0 * j for j in range(3)] for i in range(3)])
    return expm_frechet(np.array(SQUARE).T, weights, compute_expm=False)
