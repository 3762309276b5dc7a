"""Derivatives of programs/zygote."""

import numpy as np

from checks import check, derivative, points
from differentiate import Given

vec = points("zygote")


@derivative(
    "zygote/pow",
    "p.pow",
    (2.0, 3),
    (1.5, 10),
    (-0.5, 7),
    (3.0, 0),
    ops="grad jvp hvp",
    closed=lambda x, n: n * x ** (n - 1),
)
def power(xp, x, n):
    return x**n


@derivative(
    "zygote/pow",
    "p.pow_by_squaring",
    (1.5, 10),
    (-0.5, 7),
    (3.0, 0),
    ops="grad hvp",
    closed=lambda x, n: n * x ** (n - 1),
)
def pow_by_squaring(xp, x, n):
    return x**n


@derivative("zygote/leaky", "p.leaky", (2.5,), (-2.5,), ops="grad hvp", closed=lambda x: 1.0 if x > 0 else 0.01)
def leaky(xp, x):
    return xp.where(xp.real(x) > 0, x, x / 100)


check("zygote/leaky", "the branch at 0 is the second", "grad(p.leaky)(0.0)", {"closed form": lambda: 0.01})


@derivative(
    "zygote/leaky",
    "p.quotient",
    (1.0, 2.0),
    (-3.0, 0.5),
    ops="grad jvp hessian",
    closed=lambda a, b: (b**2 / (a + b**2) ** 2, -2 * a * b / (a + b**2) ** 2),
)
def quotient(xp, a, b):
    return a / (a + b**2)


@derivative("zygote/leaky", "p.affine", (1.0,), (-0.6,), ops="grad hvp", closed=lambda x: 5.0)
def affine(xp, x):
    return 5 * x + 3


@derivative(
    "zygote/cells", "\\(a: f64), (b: f64): p.area((a, b))", (3.0, 4.0), ops="grad hessian", closed=lambda a, b: (b, a)
)
def area(xp, a, b):
    return a * b


@derivative("zygote/cells", "p.swapped_twice", (1.0, 5.0), ops="grad hvp", closed=lambda x, y: (1.0, -2.0))
def swapped_twice(xp, x, y):
    return x - 2 * y


@derivative(
    "zygote/cells",
    "\\(k: f64), (x: f64): p.compose(sin, p.scaled_by(k))(x)",
    (2.0, 0.4),
    ops="value_and_grad hessian jvp",
)
def sine_of_scaled(xp, k, x):
    return xp.sin(k * x)


@derivative(
    "zygote/cells",
    "\\(k: f64), (x: f64): p.compose(p.scaled_by(k), exp)(x)",
    (3.0, 1.0),
    ops="value_and_grad hessian jvp",
)
def scaled_exponential(xp, k, x):
    return k * xp.exp(x)


@derivative(
    "zygote/sincos",
    "p.sincos",
    (0.5,),
    (0.0,),
    (-2.0,),
    ops="grad hvp",
    closed=lambda x: -np.cos(np.cos(x)) * np.sin(x),
)
def sincos(xp, x):
    return xp.sin(xp.cos(x))


def iterated(xp, x, steps):
    r = 1.0
    for i in range(steps):
        r = r + x * xp.sin(r) / (1 + i)
    return r


for _name in ("iterate", "iterate_while"):

    @derivative("zygote/loop", f"p.{_name}", (-0.25, 1), (2.0, 0), (0.5, 50), ops="grad hvp", label=_name)
    def iterate(xp, x, steps):
        return iterated(xp, x, steps)

    @derivative("zygote/loop", f"p.{_name}", (0.5, 1000), ops="grad", label=f"{_name} of 1,000 steps", jax=False)
    def iterate_long(xp, x, steps):
        return iterated(xp, x, steps)


WIDE = 3 * np.sin(np.arange(100.0))


def softmax(x):
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


for _name in ("logsumexp", "stable"):

    @derivative(
        "zygote/logsumexp",
        f"p.{_name}",
        (Given("for i < 100: 3 * sin(f64(i))", WIDE),),
        (vec(5),),
        (vec(1),),
        ops="grad jvp",
        label=_name,
        closed=softmax,
    )
    def logsumexp(xp, x):
        return xp.log(xp.sum(xp.exp(x)))

    @derivative(
        "zygote/logsumexp",
        f"p.{_name}",
        (vec(5),),
        ops="hessian hvp",
        label=_name,
        closed=softmax,
    )
    def logsumexp_again(xp, x):
        return xp.log(xp.sum(xp.exp(x)))


@derivative(
    "zygote/logsumexp",
    "\\(x: [4]f64): p.stable(x + 1000.0)",
    (vec(4),),
    ops="grad",
    label="stable far from 0",
    closed=softmax,
)
def logsumexp_far(xp, x):
    return 1000 + xp.log(xp.sum(xp.exp(x)))


FEATURES = Given(
    "for i < 100: for j < 10: sin(f64(7 * i + 3 * j))", np.sin(np.add.outer(7.0 * np.arange(100), 3.0 * np.arange(10)))
)
LABELS = Given("for i < 100: f64(i * i % 2)", (np.arange(100) ** 2 % 2).astype(float))


def regression(xp, w, b, x, y):
    score = x @ w + b
    return xp.mean(xp.log(1 + xp.exp(score)) - y * score)


@derivative(
    "zygote/logistic_regression",
    "p.loss",
    (vec(10) / 2, 0.2, FEATURES, LABELS),
    wrt="w b",
    ops="value_and_grad hvp jvp",
)
def loss_in_weights(xp, w, b, x, y):
    return regression(xp, w, b, x, y)


@derivative("zygote/logistic_regression", "p.loss", (vec(10) / 2, 0.2, FEATURES, LABELS), ops="jvp")
def loss_in_everything(xp, w, b, x, y):
    return regression(xp, w, b, x, y)


@derivative("zygote/logistic_regression", "p.predict", (vec(3), 0.5, vec(3)))
def predict(xp, w, b, x):
    return 1 / (1 + xp.exp(-(w @ x) - b))


def made(n, m, seed):
    i, j = np.ogrid[:m, :n]
    return {"w": 0.1 * ((13 * i + 7 * j + seed) % 19 / 9.0 - 1.0), "b": 0.01 * np.arange(float(m))}


def perceptron(xp, l1, l2, x, label):
    hidden = l1["w"] @ x + l1["b"]
    hidden = xp.where(xp.real(hidden) > 0, hidden, 0)
    out = l2["w"] @ hidden + l2["b"]
    return xp.log(xp.sum(xp.exp(out))) - out[label]


PICTURE = Given("for q < 784: f64(q * q % 256) / 255.0", np.arange(784) ** 2 % 256 / 255.0)


@derivative(
    "zygote/mlp",
    "p.loss",
    (Given("p.init(784, 32, 3)", made(784, 32, 3)), Given("p.init(32, 10, 5)", made(32, 10, 5)), PICTURE, 7),
    ops="jvp",
    step=1 / 2048,
)
def picture_loss(xp, l1, l2, x, label):
    return perceptron(xp, l1, l2, x, label)


@derivative(
    "zygote/mlp",
    "p.loss",
    (Given("p.init(784, 32, 3)", made(784, 32, 3)), Given("p.init(32, 10, 5)", made(32, 10, 5)), PICTURE, 7),
    ops="grad",
    wrt="l2",
    step=1 / 2048,
)
def loss_in_the_last_layer(xp, l1, l2, x, label):
    return perceptron(xp, l1, l2, x, label)


@derivative(
    "zygote/mlp",
    "p.loss",
    ({"w": vec(4, 5), "b": vec(4)}, {"w": vec(3, 4), "b": vec(3)}, vec(5), 1),
    ops="value_and_grad hvp jvp",
    step=1 / 1024,
)
def small_loss(xp, l1, l2, x, label):
    return perceptron(xp, l1, l2, x, label)
