"""Results of the examples that learn: digits, perceptron, iris, nmf, attention."""

import re

import numpy as np
import scipy.optimize
import scipy.stats
from scipy.special import logsumexp

from examples_fits import DATA, published, table
from std_rand import child, normals, uniforms, words

EXAMPLES = {}


def example(function):
    """Registers a function that maps expressions to values, for the example of its name."""
    EXAMPLES[function.__name__] = function
    return function


def digit_images():
    with np.load(DATA / "digits/digits.npz") as data:
        return data["images"] / 16, data["labels"].astype(int)


@example
def digits():
    images, labels = digit_images()
    x, y, test, truth = images[:1347], labels[:1347], images[1347:], labels[1347:]
    rows = np.arange(len(y))

    def loss(p):
        # Without the usual shift by the greatest score, so that complex numbers pass through.
        s = x @ p[:640].reshape(10, 64).T + p[640:]
        return np.mean(np.log(np.exp(s).sum(1)) - s[rows, y]) + 1e-3 / 2 * np.sum(p[:640] ** 2)

    def loss_and_slope(p):
        w = p[:640].reshape(10, 64)
        s = x @ w.T + p[640:]
        norm = logsumexp(s, axis=1)
        excess = (np.exp(s - norm[:, None]) - np.eye(10)[y]) / len(y)
        value = np.mean(norm - s[rows, y]) + 1e-3 / 2 * np.sum(w**2)
        return value, np.concatenate([(excess.T @ x + 1e-3 * w).ravel(), excess.sum(0)])

    fit = scipy.optimize.minimize(
        loss_and_slope, np.zeros(650), jac=True, method="L-BFGS-B", options={"maxiter": 2000, "gtol": 1e-10, "ftol": 0}
    )
    guesses = (test @ fit.x[:640].reshape(10, 64).T + fit.x[640:]).argmax(1)
    probe = np.sin(np.arange(650.0))
    some = [loss(probe + 1e-30j * np.eye(650)[65 * k + 3]).imag / 1e-30 for k in range(10)]
    model = "unpack(64, 10, for i < 650: sin(f64(i)))"
    return {
        "best.value": fit.fun,
        "f64(right) / f64(len(found))": np.mean(guesses == truth),
        f"loss({model}, learning, penalty)": loss(probe),
        f"let g = pack(grad(\\m: loss(m, learning, penalty))({model})) in for k < 10: g[65 * k + 3]": some,
    }


def constants(program, *names):
    """Reads the numbers of a program's top-level `let`s."""
    text = (DATA / program).read_text(encoding="utf-8")
    return [float(re.search(rf"^let {name} = ([\d.e-]+)$", text, re.MULTILINE)[1]) for name in names]


def perceptron_data():
    """Returns the training images and digits, the test images and digits, and the initial parameters."""
    images, labels = digit_images()
    h = int(constants("perceptron/perceptron.iv", "hidden")[0])
    first, second = (normals(child((1, 0), i), n) for i, n in enumerate((64 * h, 10 * h)))
    start = np.concatenate([np.sqrt(2 / (64 + h)) * first, np.zeros(h), np.sqrt(2 / (h + 10)) * second, np.zeros(10)])
    return images[:1347], labels[:1347], images[1347:], labels[1347:], start


def perceptron_scores(xp, p, x):
    h = (p.size - 10) // 75
    units = xp.tanh(x @ p[: 64 * h].reshape(h, 64).T + p[64 * h : 65 * h])
    return units @ p[65 * h : 75 * h].reshape(10, h).T + p[75 * h :]


def perceptron_loss(xp, p, x, y):
    s = perceptron_scores(xp, p, x)
    return xp.mean(xp.log(xp.sum(xp.exp(s), axis=1)) - s[np.arange(len(y)), y])


def perceptron_trained(gradient, start, x, y):
    """Returns the parameters after the program's steps of Adam; `gradient` is that of the loss of a batch."""
    batch, steps, rate = constants("perceptron/perceptron.iv", "batch", "steps", "rate")
    batch, p, mean, square = int(batch), start, 0, 0
    for t in range(int(steps)):
        first = t % (len(y) // batch) * batch
        g = gradient(p, x[first : first + batch], y[first : first + batch])
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g**2
        p = p - rate * (mean / (1 - 0.9 ** (t + 1))) / (np.sqrt(square / (1 - 0.999 ** (t + 1))) + 1e-8)
    return p


def perceptron_gradient(p, x, y):
    """Returns the gradient of the loss of a batch, layer by layer from the last."""
    h = (p.size - 10) // 75
    units = np.tanh(x @ p[: 64 * h].reshape(h, 64).T + p[64 * h : 65 * h])
    by_scores = np.exp(perceptron_scores(np, p, x))
    by_scores /= by_scores.sum(axis=1, keepdims=True)
    by_scores[np.arange(len(y)), y] -= 1
    by_scores /= len(y)
    by_sums = by_scores @ p[65 * h : 75 * h].reshape(10, h) * (1 - units**2)
    parts = by_sums.T @ x, by_sums.sum(axis=0), by_scores.T @ units, by_scores.sum(axis=0)
    return np.concatenate([part.ravel() for part in parts])


@example
def perceptron():
    x, y, test, truth, start = perceptron_data()
    # The hand-written gradient must agree with complex steps along some directions.
    for direction in np.random.default_rng(1).normal(size=(5, start.size)):
        step = perceptron_loss(np, start + 1e-30j * direction, x[:64], y[:64]).imag / 1e-30
        assert abs(step - perceptron_gradient(start, x[:64], y[:64]) @ direction) < 1e-12 * abs(step) + 1e-13
    end = perceptron_trained(perceptron_gradient, start, x, y)
    return {
        "start": start,
        "end": end,
        "loss(model, images, labels)": perceptron_loss(np, end, x, y),
        "found": perceptron_scores(np, end, test).argmax(1),
        "f64(right) / f64(len(truth))": np.mean(perceptron_scores(np, end, test).argmax(1) == truth),
    }


@example
def iris():
    data = table("iris/iris.csv")
    x, species = data[:, :4], data[:, 4].astype(int)
    n = len(x)
    w = np.zeros((n, 3))
    w[np.argsort(x[:, 2], kind="stable"), 3 * np.arange(n) // n] = 1
    for _ in range(400):
        parts = [
            (np.log(w[:, c].mean()), np.average(x, axis=0, weights=w[:, c]), np.cov(x.T, aweights=w[:, c], ddof=0))
            for c in range(3)
        ]
        joint = np.stack([s + scipy.stats.multivariate_normal(m, v).logpdf(x) for s, m, v in parts], axis=1)
        w = np.exp(joint - logsumexp(joint, axis=1)[:, None])
    value = logsumexp(joint, axis=1).sum()
    # `Mclust(iris[,1:4], G = 3, modelNames = "VVV")` of the R package mclust (Fraley and Raftery) prints this.
    published(value, -180.186, 1e-3)
    part = w.argmax(1)
    return {
        "value": value,
        "found.share": w.mean(0),
        "found.mean": [m for _, m, _ in parts],
        "found.covariance": [v for _, _, v in parts],
        "spread": [[int(np.sum((species == s) & (part == c))) for c in range(3)] for s in range(3)],
    }


@example
def nmf():
    v = digit_images()[0][:300]
    key, other = child((1, 0), 0), child((1, 0), 1)
    h, w = uniforms(key, 640).reshape(10, 64), uniforms(other, 3000).reshape(10, 300).T
    losses = []
    for _ in range(60):
        losses.append(np.linalg.norm(v - w @ h) ** 2 / 2)
        h = h * (w.T @ v) / (w.T @ w @ h + 1e-12)
        w = w * (v @ h.T) / (w @ (h @ h.T) + 1e-12)
    # Bounded least squares for one image must approximate its factor amounts.
    best = sum(scipy.optimize.nnls(h.T, row)[1] ** 2 for row in v) / 2
    if not 0.9 < best / (np.linalg.norm(v - w @ h) ** 2 / 2) <= 1:
        raise ValueError("the amounts are far from the best ones")
    return {
        "losses": losses,
        "loss(found, x)": np.linalg.norm(v - w @ h) ** 2 / 2,
        "found.parts[4]": h[4],
        "found.amounts[_, 7]": w[7],
    }


@example
def attention():
    keys = [child((1, 0), i) for i in range(3)]

    def tokens(key):
        return np.array([(word >> 1) % 4 for word in words(key, 40)]).reshape(8, 5)

    inputs, others = tokens(keys[0]), tokens(keys[2])
    start = 0.5 * normals(keys[1], 46)

    def weights(p):
        s = np.exp(p[:15].reshape(5, 3) @ p[15:30].reshape(5, 3).T / np.sqrt(3))
        return s / s.sum(1, keepdims=True)

    def scores(p, rows):
        return weights(p) @ p[30:].reshape(4, 4)[rows]

    def loss(p, rows):
        s = scores(p, rows)
        right = np.take_along_axis(s, rows[:, ::-1, None], axis=2)[..., 0]
        return np.mean(np.log(np.exp(s).sum(2)) - right)

    p, mean, square, losses = start, 0, 0, []
    for k in range(1, 16):
        losses.append(loss(p, inputs))
        g = np.array([loss(p + 1e-30j * e, inputs).imag / 1e-30 for e in np.eye(46)])
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g**2
        p = p - 0.3 * (mean / (1 - 0.9**k)) / (np.sqrt(square / (1 - 0.999**k)) + 1e-8)
    return {
        "inputs": inputs,
        "start": start,
        "losses": losses,
        "end.x": p,
        "attention": weights(p),
        "found": scores(p, others).argmax(2),
    }
