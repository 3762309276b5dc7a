"""The papers' gradients and Jacobians in idiomatic JAX and NumPy: whole arrays, no loops.

JAX computes compiled derivatives. If a function has two formulations or modes of differentiation, the
faster one counts. NumPy has handwritten derivatives that take only a few lines.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")


def nnmf(a, u, v):
    mean = jnp.outer(u, v)
    return jnp.sum(jnp.log(mean) + a / mean)


def rodrigues(r, x):
    square = r @ r
    is_rotation = square != 0
    # The unused angle is 1, because the derivative of the square root at 0 would be NaN.
    theta = jnp.sqrt(jnp.where(is_rotation, square, 1.0))
    w = r / theta
    rotated = x * jnp.cos(theta) + jnp.cross(w, x) * jnp.sin(theta) + w * ((w @ x) * (1 - jnp.cos(theta)))
    return jnp.where(is_rotation, rotated, x + jnp.cross(r, x))


def project(cam, x):
    y = rodrigues(cam[:3], x - cam[3:6])
    image = y[:2] / y[2]
    square = image @ image
    return image * ((1 + cam[9] * square + cam[10] * square**2) * cam[6]) + cam[7:9]


def convolve(x, c):
    return jnp.correlate(x, c, mode="valid")


def convolve_by_shifts(x, c):
    n = x.shape[-1] - len(c) + 1
    return sum(c[j] * x[..., j : j + n] for j in range(len(c)))


def squared_error(conv):
    return lambda x, c, z: jnp.sum((conv(x, c) - z) ** 2)


def batched_error(conv):
    return lambda x, z, w: jnp.sum((conv(x, w) - z) ** 2)


def column_row(x):
    a = jnp.diag(x)
    return a[:, 0] @ a[0]


def rotate(v, q):
    u, s = q[:3], q[3]
    return 2 * (u @ v) * u + (s**2 - u @ u) * v + 2 * s * jnp.cross(u, v)


def network(a, b, w, e, x, c):
    hidden = jax.nn.relu(x @ a.T + b)
    out = jax.nn.relu(hidden @ w.T + e)
    return jnp.sum(jax.nn.softmax(out, axis=1) @ c)


def particles(steps, unroll):
    def step(state, _):
        p, v = state
        a = -0.5 * p - 0.2 * v
        return (p + 0.05 * v, v + 0.05 * a), None

    def final_sum(p, v):
        p, v = lax.scan(step, (p, v), length=steps, unroll=unroll)[0]
        return jnp.sum(p[:, 0] * p[:, 1])

    return final_sum


def error(cam, x, weight, feature):
    return weight * (project(cam, x) - feature)


def errors_jacobian(mode):
    def blocks(cameras, points, weights, observed, features):
        jacobian = jax.vmap(mode(error, argnums=(0, 1, 2)))
        error_blocks = jacobian(cameras[observed[:, 0]], points[observed[:, 1]], weights, features)
        return (*error_blocks, jax.vmap(jax.grad(lambda w: 1 - w**2))(weights))

    return blocks


MODES = (jax.jacfwd, jax.jacrev)
JAX_DERIVATIVES = {
    "dot_gradient": [jax.grad(lambda u, v: u @ v)],
    "greatest_gradient": [jax.grad(jnp.max)],
    "added_jacobian": [mode(lambda u, v: u + v) for mode in MODES],
    "scaled_derivative": [jax.jacfwd(lambda v, s: v * s, argnums=1)],
    "scaled_jacobian": [mode(lambda v, s: v * s) for mode in MODES],
    "nnmf_gradient": [jax.grad(nnmf, argnums=(1, 2))],
    "projected_jacobian": [jax.vmap(mode(project), in_axes=(None, 0)) for mode in MODES],
    "by_signal": [jax.grad(squared_error(conv)) for conv in (convolve, convolve_by_shifts)],
    "by_kernel": [jax.grad(squared_error(conv), argnums=1) for conv in (convolve, convolve_by_shifts)],
    "batched_gradient": [
        jax.grad(batched_error(conv), argnums=2) for conv in (jax.vmap(convolve, in_axes=(0, None)), convolve_by_shifts)
    ],
    "column_row_gradient": [jax.grad(column_row)],
    "dots_gradient": [jax.grad(lambda u, v: u @ v, argnums=(0, 1))],
    "sum_matvec_gradient": [jax.grad(lambda a, x: jnp.sum(a @ x), argnums=(0, 1))],
    "rotated_jacobian": [jax.vmap(mode(rotate, argnums=(0, 1))) for mode in MODES],
    "network_gradient": [jax.grad(network, argnums=(0, 1, 2, 3))],
    "errors_jacobian": [errors_jacobian(mode) for mode in MODES],
}


def jax_functions(function, args):
    """Returns the derivative in each formulation, as functions without arguments."""
    if function == "particles_gradient":
        *args, steps = args
        formulations = [jax.grad(particles(steps, unroll), argnums=(0, 1)) for unroll in (1, 4)]
    else:
        formulations = JAX_DERIVATIVES[function]
    return [compile_jax(f, *(jnp.array(arg) for arg in args)) for f in formulations]


def compile_jax(f, *args):
    """Compiles the function for these arguments; the result is a function without arguments."""
    executable = jax.jit(f).lower(*args).compile()
    return lambda: jax.block_until_ready(executable(*args))


def numpy_greatest(v):
    out = np.zeros_like(v)
    out[np.argmax(v)] = 1
    return out


def numpy_diagonal(v, s):
    out = np.zeros((len(v), len(v)))
    np.fill_diagonal(out, s)
    return out


def numpy_nnmf(a, u, v):
    inverse = 1 / np.outer(u, v)
    slope = inverse - a * inverse**2
    return slope @ v, u @ slope


def numpy_residual(x, c, z):
    return 2 * (np.correlate(x, c, mode="valid") - z)


def numpy_batched(x, z, w):
    n = z.shape[1]
    residual = 2 * (sum(w[j] * x[:, j : j + n] for j in range(len(w))) - z)
    return np.array([np.einsum("ki,ki->", x[:, j : j + n], residual) for j in range(len(w))])


def numpy_column_row(x):
    out = np.zeros_like(x)
    out[0] = 2 * x[0]
    return out


def numpy_sum_matvec(a, x):
    return np.broadcast_to(x, a.shape).copy(), np.sum(a, axis=0)


# Cross products with a unit vector from the left: UNIT_CROSS[i] @ v is the unit vector i times v.
UNIT_CROSS = np.array(
    [[[0, 0, 0], [0, 0, -1], [0, 1, 0]], [[0, 0, 1], [0, 0, 0], [-1, 0, 0]], [[0, -1, 0], [1, 0, 0], [0, 0, 0]]]
)


def numpy_rotated(v, q):
    u, s = q[:, :3], q[:, 3]
    by_v = 2 * u[:, :, None] * u[:, None, :] + (2 * s)[:, None, None] * np.tensordot(u, UNIT_CROSS, 1)
    by_v += (s**2 - np.sum(u**2, axis=1))[:, None, None] * np.eye(3)
    by_u = 2 * (u[:, :, None] * v[:, None, :] - v[:, :, None] * u[:, None, :] - s[:, None, None] * np.tensordot(v, UNIT_CROSS, 1))
    by_u += 2 * np.sum(u * v, axis=1)[:, None, None] * np.eye(3)
    by_s = 2 * (s[:, None] * v + np.cross(u, v))
    return by_v, np.concatenate([by_u, by_s[:, :, None]], axis=2)


def numpy_network(a, b, w, e, x, c):
    hidden = np.maximum(x @ a.T + b, 0)
    out = np.maximum(hidden @ w.T + e, 0)
    y = np.exp(out - out.max(axis=1, keepdims=True))
    y /= y.sum(axis=1, keepdims=True)
    by_out = y * (c - (y @ c)[:, None]) * (out > 0)
    by_hidden = (by_out @ w) * (hidden > 0)
    return by_hidden.T @ x, by_hidden.sum(axis=0), by_out.T @ hidden, by_out.sum(axis=0)


def numpy_particles(p, v, steps):
    for _ in range(steps):
        p, v = p + 0.05 * v, v + 0.05 * (-0.5 * p - 0.2 * v)
    by_p, by_v = p[:, ::-1], np.zeros_like(v)
    for _ in range(steps):
        by_a = 0.05 * by_v
        by_p, by_v = by_p - 0.5 * by_a, by_v + 0.05 * by_p - 0.2 * by_a
    return by_p, by_v


NUMPY_DERIVATIVES = {
    "dot_gradient": lambda u, v: v.copy(),
    "greatest_gradient": numpy_greatest,
    "added_jacobian": lambda u, v: numpy_diagonal(u, 1.0),
    "scaled_derivative": lambda v, s: v.copy(),
    "scaled_jacobian": numpy_diagonal,
    "nnmf_gradient": numpy_nnmf,
    "by_signal": lambda x, c, z: np.convolve(numpy_residual(x, c, z), c),
    "by_kernel": lambda x, c, z: np.correlate(x, numpy_residual(x, c, z), mode="valid"),
    "batched_gradient": numpy_batched,
    "column_row_gradient": numpy_column_row,
    "dots_gradient": lambda u, v: (v.copy(), u.copy()),
    "sum_matvec_gradient": numpy_sum_matvec,
    "rotated_jacobian": numpy_rotated,
    "network_gradient": numpy_network,
    "particles_gradient": numpy_particles,
}


def numpy_function(function, args):
    """Returns the handwritten derivative as a function without arguments; None if there is none."""
    derivative = NUMPY_DERIVATIVES.get(function)
    return derivative and (lambda: derivative(*args))
