"""Trains the models of two examples with JAX and compares them with the results in `examples.json`.

    pip install -r tests/golden/requirements-jax.txt
    python3 tests/golden/examples_jax.py

`digits` is the classifier without a hidden layer; SciPy's L-BFGS-B minimises it with JAX's gradient. `perceptron`
takes the example's steps of Adam from the same start, with JAX's gradient. The script prints losses and shares of
right answers, and fails if they differ from the file by more than the stated tolerance.
"""

import json
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize

from examples_models import digit_images, perceptron_data, perceptron_loss, perceptron_scores, perceptron_trained

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

KNOWN = json.loads((pathlib.Path(__file__).parent / "examples.json").read_text(encoding="utf-8"))

# Both find the same minimum but stop at different points.
MINIMUM = 1e-6
# The same steps with the same gradients, up to roundings.
STEPS = 1e-9


def softmax_loss(p, x, y):
    w = p[:640].reshape(10, 64)
    s = x @ w.T + p[640:]
    return jnp.mean(jax.nn.logsumexp(s, axis=1) - s[jnp.arange(len(y)), y]) + 1e-3 / 2 * jnp.sum(w**2)


def digits():
    images, labels = digit_images()
    x, y, test, truth = images[:1347], labels[:1347], images[1347:], labels[1347:]
    both = jax.jit(jax.value_and_grad(lambda p: softmax_loss(p, x, y)))
    fit = scipy.optimize.minimize(
        lambda p: tuple(np.asarray(v) for v in both(p)),
        np.zeros(650),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 2000, "gtol": 1e-10, "ftol": 0},
    )
    share = np.mean((test @ fit.x[:640].reshape(10, 64).T + fit.x[640:]).argmax(1) == truth)
    known = KNOWN["digits"]
    return fit.fun, known["best.value"], share, known["f64(right) / f64(len(found))"], MINIMUM


def perceptron():
    x, y, test, truth, start = perceptron_data()
    gradient = jax.jit(jax.grad(lambda p, x, y: perceptron_loss(jnp, p, x, y)))
    end = perceptron_trained(lambda p, x, y: np.asarray(gradient(p, x, y)), start, x, y)
    share = np.mean(perceptron_scores(np, end, test).argmax(1) == truth)
    known = KNOWN["perceptron"]
    return (
        perceptron_loss(np, end, x, y),
        known["loss(model, images, labels)"],
        share,
        known["f64(right) / f64(len(truth))"],
        STEPS,
    )


def main():
    wrong = []
    print(f"JAX {jax.__version__}")
    for train in (digits, perceptron):
        loss, known_loss, share, known_share, near = train()
        print(f"{train.__name__}: loss {loss:.10f}, right {100 * share:.2f} %")
        if abs(loss - known_loss) > near * abs(known_loss):
            wrong.append(f"{train.__name__}: the loss in examples.json is {known_loss}, {loss} with JAX")
        if share != known_share:
            wrong.append(f"{train.__name__}: {known_share} right in examples.json, {share} with JAX")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
