"""Reports of derivatives of derivatives, loops, recursion, conditionals, closures and rules."""

import math

import mpmath
import numpy as np

from reports_derivatives import differences
from reports_table import report

JAX = "jax-ml/jax"
TORCH = "pytorch/pytorch"
FORWARD = "JuliaDiff/ForwardDiff.jl"
REVERSE = "JuliaDiff/ReverseDiff.jl"
THEANO = "Theano/Theano"
TENSORFLOW = "tensorflow/tensorflow"
CLAD = "vgvassilev/clad"
ESHKOL = "tsotchke/eshkol"

# Derivatives within derivatives.

report(FORWARD, 83, "a derivative inside of a gradient, by a function that captures the vector of the gradient",
       r"let f = \(v: [2]f64): (sum i: v[i]) * grad(\y: y * linalg.norm(v))(1.0) in (grad(f)([3.0, 4.0]), hessian(f)([3.0, 4.0]))",
       lambda: nested_norm(), imports="linalg")
report(FORWARD, 59, "a gradient of a function that holds the derivative of another at one of its arguments",
       r"let f = \(x: f64): sin(x) / 2 in grad(\(x: [2]f64): grad(f)(x[0]) * f(x[1]))([1.0, 2.0])",
       lambda: [-math.sin(1) * math.sin(2) / 4, math.cos(1) * math.cos(2) / 4])
report(REVERSE, 45, "a number times the derivative of a product with it, by both modes on both levels",
       r"(grad(\x: x * grad(\y: x * y)(1.0))(4.0), jvp(\x: x * jvp(\y: x * y)(1.0, 1.0))(4.0, 1.0), grad(\x: x * jvp(\y: x * y)(1.0, 1.0))(4.0), jvp(\x: x * grad(\y: x * y)(1.0))(4.0, 1.0))",
       [8.0, 8.0, 8.0, 8.0])
report(FORWARD, 238, "Hamilton's function from that of Lagrange: its gradients by place and momentum",
       r"grad(hamilton)([1.0, 2.0], [5.0, 6.0])", [[0.0, 9.8], [5.0, 6.0]], imports="linalg",
       definitions="def lagrange(q: [2]f64, v: [2]f64) -> f64 = (sum i: v[i]^2) / 2 - 9.8 * q[1]\n"
                   "def legendre(f: ([2]f64) -> f64, w: [2]f64) -> f64 =\n"
                   "  let zero = [0.0, 0.0]\n  let v = linalg.solve(hessian(f)(zero), w - grad(f)(zero))\n  in linalg.dot(w, v) - f(v)\n"
                   "def hamilton(q: [2]f64, p: [2]f64) -> f64 = legendre(\\v: lagrange(q, v), p)")
report(ESHKOL, 138, "the gradient by a factor of a second derivative",
       r"(grad(\p: grad(grad(\x: p * x^3))(2.0))(3.0), grad(\(p: [2]f64): jvp(\x: jvp(\x: p[0] * x^2 + p[1] * x^4)(x, 1.0))(2.0, 1.0))([3.0, 5.0]))",
       [12.0, [2.0, 48.0]])
report(ESHKOL, 431, "derivatives up to the fifth, forwards and backwards by turns",
       r"let f = \(x: f64): exp(sin(x)) in (grad(f)(0.5), jvp(grad(f))(0.5, 1.0), grad(\x: jvp(grad(f))(x, 1.0))(0.5), jvp(\x: grad(\x: jvp(grad(f))(x, 1.0))(x))(0.5, 1.0), grad(\x: jvp(\x: grad(\x: jvp(grad(f))(x, 1.0))(x))(x, 1.0))(0.5))",
       lambda: [float(mpmath.diff(lambda x: mpmath.exp(mpmath.sin(x)), 0.5, k)) for k in range(1, 6)])
report(TORCH, 32576, "a derivative at the place of the outer variable, which the inner function captures too",
       r"for k: grad(\x: grad(\y: y * (x - y))(x))([1.0, -2.5][k])", [-1.0, -1.0])
report("pytorch/functorch", 353, "a rounding with the slope of another function: second derivatives of that function",
       r"let q = \(x: f64): tanh(x) + stop(max(-1, min(1, round(x))) - tanh(x)) in for k: let x = [-0.3, -1.2][k] in (q(x), grad(q)(x), grad(grad(q))(x), grad(grad(\x: q(x)^2))(x))",
       lambda: straight_through())
report(TORCH, 47870, "a squared error of slopes along directions: gradient by the weights of a network with kinks",
       "grad(loss)([[0.5, -1.0], [1.5, 0.25]], [0.1, -0.2], [2.0, -3.0])", lambda: slopes(),
       definitions="def net(w: [2, 2]f64, b: [2]f64, c: [2]f64, x: [2]f64) -> f64 = sum i: c[i] * relu((sum j: w[i, j] * x[j]) + b[i])^2\n"
                   "let x = [[1.0, -0.5], [-2.0, 1.0]]\nlet d = [[0.5, 2.0], [1.0, -1.0]]\nlet y = [7.0, -12.0]\n"
                   "def loss(w: [2, 2]f64, b: [2]f64, c: [2]f64) -> f64 = sum k: ((sum j: grad(\\(x: [2]f64): net(w, b, c, x))(x[k])[j] * d[k, j]) - y[k])^2")
report("DiffSharp/DiffSharp", 328, "the Hessian of a sum is 0, and that of a sum of exponentials diagonal",
       r"(hessian(\(x: [2]f64): sum i: x[i])([0.5, 0.5]), hessian(\(x: [2]f64): sum i: exp(x[i]))([0.0, 0.5]))",
       lambda: [[[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, math.exp(0.5)]]])
report(JAX, 4146, "blocks of second derivatives of a function of vectors of two lengths",
       r"hessian(\(x: [2]f64, y: [3]f64): y[0] * x[0]^2 + y[1] * x[0] * x[1] + y[2] * x[1]^2)([1.0, 2.0], [3.0, 4.0, 5.0])",
       [[[[6.0, 4.0], [4.0, 10.0]], [[2.0, 2.0, 0.0], [0.0, 1.0, 4.0]]], [[[2.0, 0.0], [2.0, 1.0], [0.0, 4.0]], [[0.0] * 3] * 3]])
report("JuliaDiff/SparseDiffTools.jl", 132, "a root of a gradient, by a parameter of the function: an inner and an outer derivative",
       r"value_and_grad(\p: optim.root(\y: [grad(\z: z^4 / 4 + p * z^2 / 2 - z)(y[0])], [1.0,])[0]^2)(2.0)", lambda: root_slope(), imports="optim")


def nested_norm():
    def f(v):
        return (v[0] + v[1]) * mpmath.sqrt(v[0] ** 2 + v[1] ** 2)

    def gradient(v):
        n = mpmath.sqrt(v[0] ** 2 + v[1] ** 2)
        return [n + (v[0] + v[1]) * u / n for u in v]

    return [differences(lambda v: [f(v)], [3.0, 4.0])[0], differences(gradient, [3.0, 4.0])]


def straight_through():
    found = []
    for x in (-0.3, -1.2):
        t = math.tanh(x)
        q, d, dd = max(-1.0, min(1.0, float(round(x)))), 1 - t * t, -2 * t * (1 - t * t)
        found.append([q, d, dd, 2 * d * d + 2 * q * dd])
    return found


def slopes():
    x, d, y = [[1.0, -0.5], [-2.0, 1.0]], [[0.5, 2.0], [1.0, -1.0]], [7.0, -12.0]

    def loss(p):
        w, b, c = [p[0:2], p[2:4]], p[4:6], p[6:8]
        total = mpmath.mpf(0)
        for k in range(2):
            s = mpmath.mpf(0)
            for i in range(2):
                a = sum(w[i][j] * x[k][j] for j in range(2)) + b[i]
                if a > 0:
                    s += c[i] * 2 * a * sum(w[i][j] * d[k][j] for j in range(2))
            total += (s - y[k]) ** 2
        return [total]

    row = differences(loss, [0.5, -1.0, 1.5, 0.25, 0.1, -0.2, 2.0, -3.0])[0]
    return [[row[0:2], row[2:4]], row[4:6], row[6:8]]


def root_slope():
    y = mpmath.findroot(lambda y: y**3 + 2 * y - 1, 0.5)
    return [float(y**2), float(2 * y * -y / (3 * y**2 + 2))]


# Loops.

report(THEANO, 3276, "a loop over what comes behind the first element, which starts it: with no step and with two",
       r"(value_and_grad(run)([2.0,], 3.0), value_and_grad(run)([2.0, 1.0, -1.0], 3.0))", [[2.0, [[1.0], 0.0]], [20.0, [[9.0, 3.0, 1.0], 13.0]]],
       definitions="def run(x: [n + 1]f64, w: f64) -> f64 = fold h = x[0] for i < n: h * w + x[i + 1]")
report(THEANO, 5439, "squares up to the first element that is 5: later elements have no derivative",
       r"value_and_grad(\(x: [8]f64): (loop (s, i, on) = (0.0, 0, true) while on && i < 8: (s + x[i]^2, i + 1, x[i] != 5)).0)([0.0, 1.0, 2.0, 5.0, 4.0, 5.0, 6.0, 7.0])",
       [30.0, [0.0, 2.0, 4.0, 10.0, 0.0, 0.0, 0.0, 0.0]])
report("pymc-devs/pytensor", 2217, "a recurrence that ends by its state: gradient by inputs and by the start",
       "grad(run)([0.5, 2.0, 1.0, 3.0, 4.0], 1.5)", lambda: ended(),
       definitions="def run(x: [5]f64, h: f64) -> f64 =\n"
                   "  let (s, _, _) = loop (s, h, i) = (0.0, h, 0) while h < 10 && i < 5: (s + h * f64(i + 1), h * x[i] + 1, i + 1)\n  in s")
report(JAX, 1954, "the states of a linear system in a loop, squared: gradients by matrices, start and inputs",
       "grad(cost)([[0.9, 0.5], [-0.25, 0.8]], [0.4, 1.2], [1.0, -1.0], [0.5, 1.0, -2.0])", lambda: rollout(),
       definitions="def cost(a: [2, 2]f64, b: [2]f64, x: [2]f64, u: [3]f64) -> f64 =\n"
                   "  let path = scan x = x for t < 3: for i: (sum j: a[i, j] * x[j]) + b[i] * u[t]\n  in sum t < 3, i < 2: path[t + 1, i]^2")
report(TENSORFLOW, 3114, "a loop that copies an array from outside, element by element",
       r"grad(\(x: [4]f64): (let (y, _) = loop (y, i) = (replicate(4, 0.0), 0) while i < 4: (y with [i] = x[i], i + 1) in sum i: f64(i + 1) * y[i] * x[3 - i]))([1.0, 2.0, 3.0, 4.0])",
       [20.0, 15.0, 10.0, 5.0])
report(TENSORFLOW, 14101, "steps of gradient descent inside of a loop: derivative of the end by the start and by the rate",
       r"grad(\(x: f64, r: f64): fold y = x for i < 3: y - r * grad(\z: z^4 / 4)(y))(1.5, 0.1)", lambda: descended())
report("EnzymeAD/Reactant.jl", 3119, "a loop whose steps read by their number, with checkpoints of several distances",
       r"(for k in 1..4: grad(\a: (checkpoint k: fold (x, s) = (a, 0.0) for t < 10: (a * x + 0.1, s + y[t] * x)).1)(0.75), grad(\a: (fold (x, s) = (a, 0.0) for t < 10: (a * x + 0.1, s + y[t] * x)).1)(0.75))",
       lambda: [[read_by_number()] * 3, read_by_number()], definitions="let y = for t < 10: f64(t * t - 7 * t)")
report("EnzymeAD/Enzyme.jl", 3614, "a stencil with one of three forms in each cell, as a mask of the neighbours says",
       "grad(energy)(u)", lambda: masked_stencil(),
       definitions="let solid = for i < 5, j < 5: (3 * i + 2 * j) % 7 == 1\nlet u = for i < 5, j < 5: sin(f64(3 * i + j))\n"
                   "def energy(u: [5, 5]f64) -> f64 = sum i in 1..4, j in 1..4:\n"
                   "  if solid[i, j] then 0\n"
                   "  else if solid[i + 1, j] || solid[i - 1, j] then (u[i, j + 1] - u[i, j - 1])^2 * u[i, j]\n"
                   "  else (u[i + 1, j] - u[i, j])^2 + u[i, j]^3")
report(CLAD, 474, "an integral whose bounds are in the start and the condition of a loop: derivatives by both",
       r"value_and_grad(\(a: f64, b: f64): (let h = (b - a) / 8 in (loop (s, x) = (0.0, a) while x < b: (s + x^2 * h, x + h)).0))(1.0, 3.0)",
       lambda: integral())
report("taichi-dev/taichi", 2425, "exponential averages along rows, each from the one before, in place: gradient by data and weight",
       "grad(f)([[1.0, 2.0, -1.0, 0.5], [0.25, -3.0, 2.0, 1.0]], 0.3)", lambda: averaged(),
       definitions="def f(x: [2, 4]f64, w: f64) -> f64 =\n"
                   "  let y = fold y = x for j in 1..4: for i < 2, k < 4: if k == j then w * y[i, j] + (1 - w) * y[i, j - 1] else y[i, k]\n"
                   "  in sum i, j: f64(j + 1) * y[i, j]^2")


def ended():
    def total(p):
        x, h, s, i = p[:5], p[5], mpmath.mpf(0), 0
        while h < 10 and i < 5:
            s, h, i = s + h * (i + 1), h * x[i] + 1, i + 1
        return [s]

    row = differences(total, [0.5, 2.0, 1.0, 3.0, 4.0, 1.5])[0]
    return [row[:5], row[5]]


def rollout():
    def cost(p):
        a, b, x, u = [p[0:2], p[2:4]], p[4:6], p[6:8], p[8:11]
        total = mpmath.mpf(0)
        for t in range(3):
            x = [sum(a[i][j] * x[j] for j in range(2)) + b[i] * u[t] for i in range(2)]
            total += sum(v**2 for v in x)
        return [total]

    row = differences(cost, [0.9, 0.5, -0.25, 0.8, 0.4, 1.2, 1.0, -1.0, 0.5, 1.0, -2.0])[0]
    return [[row[0:2], row[2:4]], row[4:6], row[6:8], row[8:11]]


def descended():
    def end(p):
        y = p[0]
        for _ in range(3):
            y = y - p[1] * y**3
        return [y]

    return differences(end, [1.5, 0.1])[0]


def read_by_number():
    def total(p):
        x, s = p[0], mpmath.mpf(0)
        for t in range(10):
            x, s = p[0] * x + mpmath.mpf(0.1), s + (t * t - 7 * t) * x
        return [s]

    return differences(total, [0.75])[0][0]


def masked_stencil():
    solid = [[(3 * i + 2 * j) % 7 == 1 for j in range(5)] for i in range(5)]

    def energy(p):
        u = [p[5 * i : 5 * i + 5] for i in range(5)]
        total = mpmath.mpf(0)
        for i in range(1, 4):
            for j in range(1, 4):
                if solid[i][j]:
                    continue
                if solid[i + 1][j] or solid[i - 1][j]:
                    total += (u[i][j + 1] - u[i][j - 1]) ** 2 * u[i][j]
                else:
                    total += (u[i + 1][j] - u[i][j]) ** 2 + u[i][j] ** 3
        return [total]

    at = [math.sin(3 * i + j) for i in range(5) for j in range(5)]
    return np.array(differences(energy, at)[0]).reshape(5, 5)


def integral():
    def area(p):
        h = (p[1] - p[0]) / 8
        return [sum((p[0] + k * h) ** 2 * h for k in range(8))]

    return [float(area([mpmath.mpf(1), mpmath.mpf(3)])[0]), differences(area, [1.0, 3.0])[0]]


def averaged():
    def f(p):
        x, w = [p[0:4], p[4:8]], p[8]
        total = mpmath.mpf(0)
        for row in x:
            y = row[0]
            total += y**2
            for j in range(1, 4):
                y = w * row[j] + (1 - w) * y
                total += (j + 1) * y**2
        return [total]

    row = differences(f, [1.0, 2.0, -1.0, 0.5, 0.25, -3.0, 2.0, 1.0, 0.3])[0]
    return [[row[0:4], row[4:8]], row[8]]


# Recursion, closures, sums of cases.

report(CLAD, 344, "a recursive call that exchanges its arguments", r"(grad(f)(5.0, 0.0), jvp(f)((5.0, 0.0), (1.0, 10.0)))", [[1.0, 0.0], 1.0],
       definitions="def f(i: f64, j: f64) -> f64 = if i < 3 then j else f(0, i)")
report(CLAD, 316, "a power by recursion over the exponent: derivatives up to the third",
       r"let f = \x: power(x, 3) in (grad(f)(3.0), grad(grad(f))(3.0), grad(grad(grad(f)))(3.0), grad(\x: power(x, 0))(3.0))", [27.0, 18.0, 6.0, 0.0],
       definitions="def power(x: f64, p: i64) -> f64 = if p == 0 then 1 else x * power(x, p - 1)")
report("EnzymeAD/Enzyme.jl", 552, "an expression as a tree, evaluated by recursion: derivative by its variables and constants",
       "(grad(value, wrt: x)(tree, [0.5, 2.0]), grad(value, wrt: t)(tree, [0.5, 2.0]))", lambda: tree_slopes(),
       definitions="type Expr = Var(i64) | Const(f64) | Cos(Expr) | Add(Expr, Expr) | Mul(Expr, Expr)\n"
                   "let tree = Mul(Cos(Add(Var(0), Const(3.2))), Add(Mul(Var(1), Var(1)), Mul(Const(1.5), Var(0))))\n"
                   "def value(t: Expr, x: [2]f64) -> f64 = match t { Var(i): x[i], Const(c): c, Cos(a): cos(value(a, x)),\n"
                   "  Add(a, b): value(a, x) + value(b, x), Mul(a, b): value(a, x) * value(b, x) }")
report("FluxML/Zygote.jl", 1290, "a name that is bound again by a function that captures its old value",
       r"grad(\p: (let q = 2 * p let f = \(i: i64): q^i let q = f(2) in q + f(3)))(1.5)", 8 * 1.5 + 24 * 1.5**2)
report("chalk-lab/Mooncake.jl", 908, "the gradient by a record of weights and bias, which a function applies",
       r"grad(\(m: {weight: [3, 2]f64, bias: [3]f64}): sum i: f64(i + 1) * ((sum j: m.weight[i, j] * [0.5, -2.0][j]) + m.bias[i]))({weight: for i, j: 0.1, bias: [0.0, 0.0, 0.0]})",
       {"weight": [[0.5, -2.0], [1.0, -4.0], [1.5, -6.0]], "bias": [1.0, 2.0, 3.0]})
report("mdolab/adflow", 119, "extremes of equals: both modes take the first",
       r"(jvp(max)((1.0, 1.0), (1.3, -1.3)), jvp(min)((1.0, 1.0), (1.3, -1.3)), grad(max)(1.0, 1.0), grad(min)(1.0, 1.0), jvp(\(x: [2]f64): max i: x[i])([1.0, 1.0], [1.3, 4.0]), grad(\(x: [2]f64): max i: x[i])([1.0, 1.0]))",
       [1.3, 1.3, [1.0, 0.0], [1.0, 0.0], 1.3, [1.0, 0.0]])
report("HIPS/autograd", 349, "a weighted sum of matrices sorted along rows and along columns",
       r"grad(\(x: [2, 3]f64): (let r = for i: sort(x[i]) let c = for j: sort(x[_, j]) in (sum i, j: f64(3 * i + j) * r[i, j]) + (sum j, i: f64(10 * (3 * i + j)) * c[j, i])))([[3.0, 1.0, 2.0], [0.5, 4.0, 2.0]])",
       [[32.0, 10.0, 21.0], [3.0, 45.0, 54.0]])


def tree_slopes():
    def value(p):
        x, y, a, b = p
        return [mpmath.cos(x + a) * (y * y + b * x)]

    row = differences(value, [0.5, 2.0, 3.2, 1.5])[0]

    def con(name, *args):
        return {name: list(args)}

    tangent = con("Mul", con("Cos", con("Add", con("Var", 0), con("Const", row[2]))),
                  con("Add", con("Mul", con("Var", 1), con("Var", 1)), con("Mul", con("Const", row[3]), con("Var", 0))))
    return [row[:2], tangent]


# Rules.

report(JAX, 28805, "a rule that gives a multiple of the function: derivatives up to the third follow it",
       r"(grad(f)(0.5), grad(grad(f))(0.5), jvp(\x: grad(grad(f))(x))(0.5, 1.0), hessian(\(x: [1]f64): f(x[0]))([0.5,]))",
       lambda: [3 * math.cos(0.5), 9 * math.cos(0.5), 27 * math.cos(0.5), [[9 * math.cos(0.5)]]],
       definitions="def f(x: f64) -> f64 = cos(x)\nderivative f(x; dx) = 3 * f(x) * dx")
report(JAX, 4566, "a rule under a loop with checkpoints: second derivatives of a function applied twice",
       r"(grad(grad(\x: f(f(x))))(2.0), grad(grad(\x: (fold y = x for _ < 2: f(y))))(2.0), grad(grad(\x: (checkpoint 1: fold y = x for _ < 2: f(y))))(2.0))",
       lambda: [-8 * math.sin(math.sin(2)) * math.cos(2) ** 2 - 4 * math.cos(math.sin(2)) * math.sin(2)] * 3,
       definitions="def f(x: f64) -> f64 = sin(x)\nderivative f(x; dx) = 2 * cos(x) * dx")
report(JAX, 21220, "a rule whose own function has a rule: second and third derivative",
       r"(grad(op)(2.0), grad(grad(op))(2.0), grad(grad(grad(op)))(2.0))", [12.0, 12.0, 6.0],
       definitions="def op(x: f64) -> f64 = x^3\nadjoint op(x; dy) = back(x, dy)\n"
                   "def back(x: f64, dy: f64) -> f64 = 3 * x^2 * dy\nadjoint back(x, dy; c) = (6 * x * dy * c, 3 * x^2 * c)")
report(JAX, 3389, "a rule that gives one argument no derivative: gradient by each, and beside other uses of it",
       r"(grad(f)(2.0, 3.0), grad(\(x: f64, y: f64): x * f(x, y))(2.0, 3.0), jvp(f)((2.0, 3.0), (1.0, 10.0)))", [[12.0, 0.0], [36.0, 0.0], 12.0],
       definitions="def f(x: f64, y: f64) -> f64 = x^2 * y\nderivative f(x, y; dx, dy) = 2 * x * y * dx")
