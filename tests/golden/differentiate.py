"""Derivatives of NumPy functions by independent methods.

A function takes the module that it computes with, `numpy` or `jax.numpy`, then its arguments: trees of tuples,
records (dicts), arrays (of numbers, or lists of trees), constructors (`Con`) and numbers. Floats and arrays of
floats vary; everything else is constant.

| method | definition | error |
|---|---|---|
| `jax` | forward or reverse derivatives of JAX in float64 | rounding |
| `complex step` | the imaginary part at `x + ih v` over `h`, in 80 bits where NumPy has them | rounding |
| `differences` | central differences at steps that halve, fitted by a polynomial in `h²` at 0 | measured |
"""

import inspect
from dataclasses import dataclass, field

import numpy as np


class Con:
    """A value of a sum type."""

    def __init__(self, name, *args):
        self.name, self.args = name, args


@dataclass
class Given:
    """An argument: the text that Iverson evaluates, and its value."""

    text: str
    value: object


def given(x):
    return x.value if isinstance(x, Given) else x


def is_array(x):
    return hasattr(x, "dtype") and hasattr(x, "shape")


def is_real(x):
    if is_array(x):
        return not (np.issubdtype(x.dtype, np.integer) or np.issubdtype(x.dtype, np.bool_))
    return isinstance(x, (float, complex))


def map_reals(f, tree, rest):
    """Returns the tree with `f` of every real leaf and `rest` of the others, in order."""
    tree = given(tree)
    if is_real(tree):
        return f(tree)
    if isinstance(tree, dict):
        return {key: map_reals(f, item, rest) for key, item in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)(map_reals(f, item, rest) for item in tree)
    if isinstance(tree, Con):
        return Con(tree.name, *(map_reals(f, item, lambda x: x) for item in tree.args))
    return rest(tree)


def reals(tree):
    """Returns the real leaves in order."""
    found = []
    map_reals(found.append, tree, lambda x: None)
    return found


def flatten(xp, tree):
    """Returns all reals in one vector."""
    found = [xp.reshape(xp.asarray(x), (-1,)) for x in reals(tree)]
    return xp.concatenate(found) if found else xp.zeros(0)


def unflatten(vector, like, rest=lambda x: x):
    """Returns the tree `like` with these reals instead of its own."""
    at = 0

    def take(x):
        nonlocal at
        if not is_array(x) or x.ndim == 0:
            at += 1
            return vector[at - 1]
        at += x.size
        return vector[at - x.size : at].reshape(x.shape)

    return map_reals(take, like, rest)


def nothing(_):
    """Returns the tangent of a part that does not vary."""
    return None


# Methods. They compute the derivative of `g`, from vector to vector, at `x` along `v`, or the second derivative of a
# scalar `g` along `u` and `v`.


def extrapolated(values):
    """Extrapolates values at halving steps to step 0 by Neville's scheme. Their errors must be polynomials in h².

    Each component is the entry of the tableau that its neighbours support best.
    """
    best, error = values[-1], np.full(np.shape(values[-1]), np.inf)
    column = list(values)
    for k in range(1, len(values)):
        finer = [b + (b - a) / (4.0**k - 1) for a, b in zip(column, column[1:])]
        for new, a, b in zip(finer, column, column[1:]):
            e = np.maximum(np.abs(new - a), np.abs(new - b))
            best, error = np.where(e < error, new, best), np.minimum(e, error)
        column = finer
    return best


STEPS = 7


def differences(g, x, v, h, wide):
    """Returns the derivative along `v` by a fit of central differences; steps have 80 bits or 64."""
    kind = np.longdouble if wide else np.float64
    x, v = x.astype(kind), v.astype(kind)
    steps = [kind(h) / 2**k for k in range(STEPS)]
    return extrapolated([(g(x + s * v) - g(x - s * v)) / (2 * s) for s in steps])


def mixed_differences(g, x, u, v, h, wide):
    """Returns the second derivative along `u` and `v`."""
    kind = np.longdouble if wide else np.float64
    x, u, v = (a.astype(kind) for a in (x, u, v))
    a, b = u + v, u - v

    def quotient(s):
        return (g(x + s * a) - g(x + s * b) - g(x - s * b) + g(x - s * a)) / (4 * s * s)

    return extrapolated([quotient(kind(h) / 2**k) for k in range(STEPS)])


def complex_step(g, x, v, wide):
    kind, h = (np.clongdouble, np.longdouble(1e-40)) if wide else (np.complex128, 1e-40)
    slope = g(x.astype(kind) + 1j * h * v.astype(kind)).imag / h
    # If the slope is 0, a term of h² may remain.
    return np.where(np.abs(slope) < 1e-60, 0, slope)


@dataclass
class Function:
    """A function of trees at a point, converted to a function of vectors."""

    f: object
    args: tuple
    varying: tuple
    wide: bool = True
    step: float = 1 / 32
    analytic: bool = True
    jax: bool = True
    like: object = field(init=False)
    out: object = field(init=False)

    def __post_init__(self):
        self.args = tuple(given(a) for a in self.args)
        self.like = tuple(self.args[k] for k in self.varying)
        self.out = self.f(np, *self.args)

    def vector(self, xp):
        """Returns the function from vector to vector, on the arrays of the module `xp`."""

        def g(x):
            args = list(self.args)
            for k, value in zip(self.varying, unflatten(x, self.like)):
                args[k] = value
            return flatten(xp, self.f(xp, *args))

        return g

    @property
    def point(self):
        return flatten(np, self.like).astype(np.float64)

    def methods(self):
        return (["complex step"] if self.analytic else []) + ["differences"] + (["jax"] if self.jax else [])

    def pushed(self, v, method):
        """Returns the derivative along `v`."""
        if method == "jax":
            import jax

            return np.asarray(jax.jvp(self.vector(jax.numpy), (self.point,), (v,))[1])
        g = self.vector(np)
        if method == "complex step":
            return complex_step(g, self.point, v, self.wide)
        return differences(g, self.point, v, self.step, self.wide)

    def jacobian(self, method):
        """Returns the Jacobian, with a row for each output and a column for each input."""
        n = self.point.size
        if method == "jax":
            import jax

            g = self.vector(jax.numpy)
            rows = flatten(np, self.out).size
            return np.asarray((jax.jacrev if rows <= n else jax.jacfwd)(g)(self.point))
        if n == 0:
            return np.zeros((flatten(np, self.out).size, 0))
        return np.stack([self.pushed(e, method) for e in np.eye(n)], axis=1)

    def twice(self, u, v, method):
        """Returns the second derivative of a scalar function along `u` and `v`."""
        g = self.vector(np)
        if method == "complex step":
            slope = lambda x: complex_step(g, x, u, self.wide)  # noqa: E731
            kind = np.longdouble if self.wide else np.float64
            x, v = self.point.astype(kind), v.astype(kind)
            steps = [kind(self.step) / 2**k for k in range(STEPS)]
            return extrapolated([(slope(x + s * v) - slope(x - s * v)) / (2 * s) for s in steps])[0]
        return mixed_differences(g, self.point, u, v, self.step, self.wide)[0]

    def hessian_times(self, v, method):
        if method == "jax":
            import jax

            g = self.vector(jax.numpy)
            gradient = jax.grad(lambda x: g(x)[0])
            return np.asarray(jax.jvp(gradient, (self.point,), (v,))[1])
        return np.array([self.twice(e, v, method) for e in np.eye(self.point.size)])

    def hessian(self, method):
        if method == "jax":
            import jax

            g = self.vector(jax.numpy)
            return np.asarray(jax.hessian(lambda x: g(x)[0])(self.point))
        n = self.point.size
        return np.array([self.hessian_times(e, method) for e in np.eye(n)]).reshape(n, n)


def blocks(matrix, out, like):
    """Returns a Jacobian as Iverson's blocks: by parts of the result first, then of the argument."""
    rows = 0

    def block(y):
        nonlocal rows
        shape = np.shape(y)
        part = matrix[rows : rows + int(np.prod(shape))]
        rows += len(part)
        columns = 0

        def by(x):
            nonlocal columns
            columns += int(np.prod(np.shape(x)))
            cut = part[:, columns - int(np.prod(np.shape(x))) : columns]
            return cut.reshape(shape + np.shape(x)) if shape + np.shape(x) else cut[0, 0]

        parts = tuple(map_reals(by, x, nothing) for x in like)
        return parts[0] if len(parts) == 1 else parts

    return map_reals(block, out, nothing)


# Texts


def literal(x):
    """Returns a value as Iverson text."""
    if isinstance(x, Given):
        return x.text
    if is_array(x) and x.ndim == 0:
        x = x.item()
    if is_array(x) and x.size == 0:
        names = "ijkl"[: x.ndim]
        element = "0.0" if is_real(x) else "0"
        return "(for " + ", ".join(f"{n} < {d}" for n, d in zip(names, x.shape)) + f": {element})"
    if is_array(x) or isinstance(x, list):
        items = [literal(item) for item in x]
        return "[" + ", ".join(items) + (",]" if len(items) == 1 else "]")
    if isinstance(x, tuple):
        return "(" + ", ".join(literal(item) for item in x) + ")"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{key}: {literal(item)}" for key, item in x.items()) + "}"
    if isinstance(x, Con):
        args = ", ".join(literal(item) for item in x.args)
        return f"p.{x.name}({args})" if args else f"p.{x.name}"
    if isinstance(x, (bool, np.bool_)):
        return "true" if x else "false"
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    return repr(float(x))


def numbers(rng, count):
    """Draws numbers between -1 and 1 with short exact texts."""
    return rng.integers(-64, 65, count) / 64.0


def names_of(f):
    """Returns the names of a function's arguments, without the module."""
    return [name for name, p in list(inspect.signature(f).parameters.items())[1:] if p.default is p.empty]
