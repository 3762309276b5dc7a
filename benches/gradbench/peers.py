"""GradBench's tasks in idiomatic JAX and NumPy: whole arrays, no loops over elements.

JAX jits functions and differentiates them. NumPy has values and no derivatives.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp, multigammaln

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")


def llsq(xp, x, n):
    t = xp.linspace(-1.0, 1.0, n)
    ones = xp.ones((n, 1))
    powers = xp.concatenate([ones, xp.cumprod(xp.broadcast_to(t[:, None], (n, len(x) - 1)), axis=1)], axis=1)
    return 0.5 * xp.sum((xp.sign(t) - powers @ x) ** 2)


def lse(xp, x):
    top = xp.max(x)
    return top + xp.log(xp.sum(xp.exp(x - top)))


def gmm(x, m, gamma, alpha, mu, q, l):
    """Unpacks a lower triangle per component, stored column by column, to a matrix."""
    n, d = x.shape
    k = len(alpha)
    columns, rows = np.triu_indices(d, 1)
    triangle = jnp.zeros((k, d, d)).at[:, rows, columns].set(l) + jnp.exp(q)[:, :, None] * jnp.eye(d)
    centred = x[:, None, :] - mu
    distance = jnp.sum(jnp.einsum("krs,nks->nkr", triangle, centred) ** 2, axis=2)
    likelihood = jnp.sum(logsumexp(alpha + jnp.sum(q, axis=1) - distance / 2, axis=1))
    prior = gamma**2 / 2 * (jnp.sum(jnp.exp(2 * q)) + jnp.sum(l**2)) - m * jnp.sum(q)
    free = d + m + 1
    constant = free * d * (jnp.log(gamma) - 0.5 * jnp.log(2.0)) - multigammaln(free / 2, d)
    return likelihood - n * (d / 2 * jnp.log(2 * jnp.pi) + logsumexp(alpha)) - prior + k * constant


def ode(xp, loop, x, s):
    h = 2.0 / s

    def change(y):
        return x * xp.concatenate([xp.ones(1), y[:-1]])

    def step(_, y):
        a = change(y)
        b = change(y + h / 2 * a)
        c = change(y + h / 2 * b)
        d = change(y + h * c)
        return y + h / 6 * (a + 2 * b + 2 * c + d)

    return loop(0, s, step, xp.zeros_like(x))


def kmeans(points, centroids):
    distance = jnp.sum((points[:, None, :] - centroids) ** 2, axis=2)
    return jnp.sum(jnp.min(distance, axis=1))


def direction(points, centroids):
    slope, curvature = jax.jvp(
        lambda c: jax.grad(kmeans, argnums=1)(points, c), (centroids,), (jnp.ones_like(centroids),)
    )
    return slope / curvature


def numpy_loop(begin, end, step, y):
    for i in range(begin, end):
        y = step(i, y)
    return y


def numpy_kmeans(points, centroids):
    distance = ((points[:, None, :] - centroids) ** 2).sum(axis=2)
    return distance.min(axis=1).sum()


def jax_functions(task, given):
    """Returns functions for value and derivative, and one that converts results to lists."""
    if task == "llsq":
        n = given["n"]
        x = jnp.array(given["x"])
        f = functools.partial(llsq, jnp, n=n)
        return compiled(f, x), compiled(jax.grad(f), x)
    if task == "lse":
        x = jnp.array(given["x"])
        f = functools.partial(lse, jnp)
        return compiled(f, x), compiled(jax.grad(f), x)
    if task == "gmm":
        x, gamma, m = jnp.array(given["x"]), given["gamma"], given["m"]
        f = functools.partial(gmm, x, m, gamma)
        args = [jnp.array(given[name]) for name in ("alpha", "mu", "q", "l")]
        return compiled(f, *args), compiled(jax.grad(f, argnums=(0, 1, 2, 3)), *args)
    if task == "ode":
        x, s = jnp.array(given["x"]), given["s"]

        def scanned(begin, end, step, y):
            return lax.scan(lambda y, i: (step(i, y), None), y, length=end - begin)[0]

        primal = functools.partial(ode, jnp, lax.fori_loop, s=s)
        return compiled(primal, x), compiled(jax.grad(lambda x: ode(jnp, scanned, x, s)[-1]), x)
    points, centroids = jnp.array(given["points"]), jnp.array(given["centroids"])
    return compiled(kmeans, points, centroids), compiled(direction, points, centroids)


def compiled(f, *args):
    """Returns the XLA code of the function for these arguments, without parameters."""
    made = jax.jit(f).lower(*args).compile()
    return lambda: jax.block_until_ready(made(*args))


def numpy_value(task, given):
    """Returns the task's value by NumPy; None if it needs impractically large arrays."""
    if task == "llsq":
        x = np.array(given["x"])
        return lambda: llsq(np, x, given["n"])
    if task == "lse":
        x = np.array(given["x"])
        return lambda: lse(np, x)
    if task == "ode":
        x = np.array(given["x"])
        return lambda: ode(np, numpy_loop, x, given["s"])
    if task == "kmeans":
        points, centroids = np.array(given["points"]), np.array(given["centroids"])
        return lambda: numpy_kmeans(points, centroids)
    return None
