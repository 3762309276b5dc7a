"""GradBench's tasks in idiomatic JAX and NumPy: whole arrays, no loops over elements.

JAX compiles and differentiates the functions. NumPy computes only values.
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
    maximum = xp.max(x)
    return maximum + xp.log(xp.sum(xp.exp(x - maximum)))


def gmm(x, m, gamma, alpha, mu, q, l):
    """Returns the log-likelihood of a mixture; each row of `l` is a lower triangle in column-major order."""
    n, d = x.shape
    k = len(alpha)
    columns, rows = np.triu_indices(d, 1)
    triangle = jnp.zeros((k, d, d)).at[:, rows, columns].set(l) + jnp.exp(q)[:, :, None] * jnp.eye(d)
    offsets = x[:, None, :] - mu
    distance = jnp.sum(jnp.einsum("krs,nks->nkr", triangle, offsets) ** 2, axis=2)
    likelihood = jnp.sum(logsumexp(alpha + jnp.sum(q, axis=1) - distance / 2, axis=1))
    prior = gamma**2 / 2 * (jnp.sum(jnp.exp(2 * q)) + jnp.sum(l**2)) - m * jnp.sum(q)
    degrees_of_freedom = d + m + 1
    normalisation = degrees_of_freedom * d * (jnp.log(gamma) - 0.5 * jnp.log(2.0))
    constant = normalisation - multigammaln(degrees_of_freedom / 2, d)
    return likelihood - n * (d / 2 * jnp.log(2 * jnp.pi) + logsumexp(alpha)) - prior + k * constant


def ode(xp, loop, x, s):
    h = 2.0 / s

    def right_hand_side(y):
        return x * xp.concatenate([xp.ones(1), y[:-1]])

    def step(_, y):
        a = right_hand_side(y)
        b = right_hand_side(y + h / 2 * a)
        c = right_hand_side(y + h / 2 * b)
        d = right_hand_side(y + h * c)
        return y + h / 6 * (a + 2 * b + 2 * c + d)

    return loop(0, s, step, xp.zeros_like(x))


def kmeans(points, centroids):
    distance = jnp.sum((points[:, None, :] - centroids) ** 2, axis=2)
    return jnp.sum(jnp.min(distance, axis=1))


def newton_direction(points, centroids):
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


def jax_functions(task, arguments):
    """Returns the value and the derivative of the task as functions without arguments."""
    if task == "llsq":
        n = arguments["n"]
        x = jnp.array(arguments["x"])
        f = functools.partial(llsq, jnp, n=n)
        return compile_jax(f, x), compile_jax(jax.grad(f), x)
    if task == "lse":
        x = jnp.array(arguments["x"])
        f = functools.partial(lse, jnp)
        return compile_jax(f, x), compile_jax(jax.grad(f), x)
    if task == "gmm":
        x, gamma, m = jnp.array(arguments["x"]), arguments["gamma"], arguments["m"]
        f = functools.partial(gmm, x, m, gamma)
        parameters = [jnp.array(arguments[name]) for name in ("alpha", "mu", "q", "l")]
        return compile_jax(f, *parameters), compile_jax(jax.grad(f, argnums=(0, 1, 2, 3)), *parameters)
    if task == "ode":
        x, s = jnp.array(arguments["x"]), arguments["s"]

        def scan_loop(begin, end, step, y):
            return lax.scan(lambda y, i: (step(i, y), None), y, length=end - begin)[0]

        primal = functools.partial(ode, jnp, lax.fori_loop, s=s)
        return compile_jax(primal, x), compile_jax(jax.grad(lambda x: ode(jnp, scan_loop, x, s)[-1]), x)
    points, centroids = jnp.array(arguments["points"]), jnp.array(arguments["centroids"])
    return compile_jax(kmeans, points, centroids), compile_jax(newton_direction, points, centroids)


def compile_jax(f, *args):
    """Compiles the function for these arguments; the result is a function without arguments."""
    executable = jax.jit(f).lower(*args).compile()
    return lambda: jax.block_until_ready(executable(*args))


def numpy_value(task, arguments):
    """Returns the task's value by NumPy as a function; None if it needs impractically large arrays."""
    if task == "llsq":
        x = np.array(arguments["x"])
        return lambda: llsq(np, x, arguments["n"])
    if task == "lse":
        x = np.array(arguments["x"])
        return lambda: lse(np, x)
    if task == "ode":
        x = np.array(arguments["x"])
        return lambda: ode(np, numpy_loop, x, arguments["s"])
    if task == "kmeans":
        points, centroids = np.array(arguments["points"]), np.array(arguments["centroids"])
        return lambda: numpy_kmeans(points, centroids)
    return None
