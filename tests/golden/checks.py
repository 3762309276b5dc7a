"""The table of derivative checks: `derivative` registers a function, `check` one expression."""

import hashlib
from dataclasses import dataclass, field

import numpy as np

import registry

from differentiate import (
    Function,
    Given,
    blocks,
    flatten,
    given,
    literal,
    map_reals,
    names_of,
    nothing,
    numbers,
    reals,
    unflatten,
)

CHECKS = {}

# The order of preference: the first method that a check has computes the recorded value.
PREFERENCE = ["closed form", "implicit function", "variational equation", "complex step", "jax", "differences"]

# Programs without a derivative to check, and the reasons.
WITHOUT_DERIVATIVE = {}

# The allowed differences between methods, relative to the greatest number in a value: for roundings, and for
# the cancellation in finite differences.
ROUNDING = registry.tolerance("rounding")["rtol"]
FITTED = registry.tolerance("fitted")["rtol"]

# Above this number of coordinates, only derivatives along directions are computed.
MANY = 100


@dataclass
class Check:
    """An expression with the program's definitions in `p`, and the ways to compute its value, the best first."""

    program: str
    expr: str
    methods: dict
    imports: list = field(default_factory=list)
    tolerance: float | None = None
    fitted: float = FITTED

    def agreement(self, method, other):
        """Returns the allowed difference between these two methods."""
        fitted = "differences" in (method, other)
        return self.fitted if fitted else self.tolerance or ROUNDING


def check(program, name, expr, methods, **more):
    """Registers an expression; `methods` maps each method to a function without arguments."""
    key = f"{program}: {name}"
    if key in CHECKS:
        raise ValueError(f"two checks called {key}")
    ordered = {m: methods[m] for m in sorted(methods, key=PREFERENCE.index)}
    CHECKS[key] = Check(program, expr, ordered, **more)


def points(name):
    """Returns a suite's source of random arrays. Numbers have short exact texts; none is an integer or a half."""
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))
    return lambda *shape: rng.integers(-100, 100, shape) / 64.0 + 1 / 128


def direction(rng, tree):
    """Draws a direction in the space of the tree's reals: a vector, and the text of the tangent."""
    if flatten(np, tree).size <= 600:
        vector = numbers(rng, flatten(np, tree).size)
        return vector, tangent_text(unflatten(vector, tree, nothing))
    # Too many numbers for a literal: each array is a formula of its indices.
    parts = []

    def formula(x):
        if not hasattr(x, "shape") or x.ndim == 0 or x.size <= 100:
            value = numbers(rng, int(np.size(x))).reshape(np.shape(x))
            parts.append(value.ravel())
            return Given(literal(value if np.ndim(x) else float(value)), None)
        a, b, c = (int(k) for k in rng.integers(100, 900, 3))
        index = np.indices(x.shape)
        i, j = index[0], index[-1]
        parts.append(((a * i + b * j + c * i * j) % 1009 / 504.0 - 1.0).ravel())
        names = "ij"[: x.ndim]
        ranges = ", ".join(f"{n} < {d}" for n, d in zip(names, x.shape))
        i, j = names[0], names[-1]
        return Given(f"(for {ranges}: f64(({a} * {i} + {b} * {j} + {c} * {i} * {j}) % 1009) / 504.0 - 1.0)", None)

    texts = map_reals(formula, tree, nothing)
    return np.concatenate(parts), tangent_text(texts)


def tangent_text(tree):
    """Returns a tangent as Iverson text: `()` for a part that does not vary."""
    if tree is None:
        return "()"
    if isinstance(tree, tuple):
        return "(" + ", ".join(tangent_text(item) for item in tree) + ")"
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key}: {tangent_text(item)}" for key, item in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(tangent_text(item) for item in tree) + (",]" if len(tree) == 1 else "]")
    return literal(tree)


def bare(parts):
    return parts[0] if len(parts) == 1 else tuple(parts)


def text_of(parts):
    """Returns the arguments as one text: a single argument, or a tuple."""
    texts = [literal(part) for part in parts]
    return texts[0] if len(texts) == 1 else "(" + ", ".join(texts) + ")"


def derivative(
    program,
    function,
    *points,
    ops=None,
    wrt=None,
    label=None,
    imports=(),
    analytic=True,
    wide=True,
    jax=True,
    step=1 / 32,
    tolerance=None,
    fitted=FITTED,
    closed=None,
    fixed="",
):
    """Registers the derivatives of `function`, an Iverson expression, at these points: tuples of arguments.

    The decorated function must compute the same with the module that is its first argument. Without `ops`, a
    function with one real result is checked with `value_and_grad`, `jvp` and `hvp`, another one with `jvp2`,
    `vjp` and `jacobian`. `wrt` names the varying arguments; by default all real ones vary. `analytic` states that
    complex steps are valid, `wide` that NumPy can compute in 80 bits. `closed` returns the gradient or the
    Jacobian's blocks in closed form. For the operators in `fixed`, the function is wrapped in a lambda with the
    types of the point, in which all other arguments are fixed.
    """

    def register(f):
        names = names_of(f)
        for at, point in enumerate(points):
            chosen = wrt.split() if wrt else [n for n, a in zip(names, point) if reals(a)]
            varying = tuple(names.index(n) for n in chosen)
            inner = Function(f, point, varying, wide=wide, step=step, analytic=analytic, jax=jax)
            scalar = [np.shape(y) for y in reals(inner.out)] == [()]
            chosen_ops = ops or ("value_and_grad jvp hvp" if scalar else "jvp2 vjp jacobian")
            if not ops and inner.point.size > MANY:
                chosen_ops = "jvp" if inner.point.size > 1000 else "jvp vjp"
            by = f", wrt: {text_of_names(chosen)}" if len(chosen) < len(point) else ""
            for op in chosen_ops.split():
                name = f"{op} of {label or f.__name__}" + (f", {at + 1}" if len(points) > 1 else "")
                seed = hashlib.sha256(f"{program} {name}".encode()).digest()
                rng = np.random.default_rng(int.from_bytes(seed[:8], "little"))
                if op in fixed.split():
                    text, free = closure(function, names, point, varying), [point[k] for k in varying]
                    expr, methods = operation(op, text, "", free, inner, rng)
                else:
                    expr, methods = operation(op, function, by, point, inner, rng)
                if closed and op in ("grad", "jacobian"):
                    methods = {"closed form": lambda point=point: closed(*map(given, point))} | methods
                more = {"imports": list(imports), "tolerance": tolerance, "fitted": fitted}
                check(program, name, expr, methods, **more)
        return f

    return register


def text_of_names(names):
    return names[0] if len(names) == 1 else "(" + ", ".join(names) + ")"


def type_of(x):
    """Returns the Iverson type of a number or an array of numbers."""
    shape = ", ".join(map(str, np.shape(x)))
    return f"[{shape}]f64" if shape else "f64"


def closure(function, names, point, varying):
    """Returns a lambda over the varying arguments, with their types and with all others fixed."""
    params = ", ".join(f"({names[k]}: {type_of(given(point[k]))})" for k in varying)
    args = ", ".join(names[k] if k in varying else literal(a) for k, a in enumerate(point))
    return f"\\{params}: {function}({args})"


def operation(op, function, by, point, inner, rng):
    """Returns the Iverson expression of an operator at a point, and the methods that compute it."""
    out, like = inner.out, bare(inner.like)
    call = f"{op}({function}{by})"
    flat_args = "(" + ", ".join(literal(a) for a in point) + ")"

    def with_value(derivative):
        value = inner.f(np, *inner.args)
        return (map_reals(lambda x: x, value, lambda x: x), derivative)

    def each(make):
        return {m: (lambda m=m: make(m)) for m in inner.methods()}

    if op in ("grad", "value_and_grad"):
        expr = call + flat_args

        def gradient(m):
            row = unflatten(inner.jacobian(m)[0], like, nothing)
            return row if op == "grad" else with_value(row)

        return expr, each(gradient)
    if op == "jacobian":
        return call + flat_args, each(lambda m: blocks(inner.jacobian(m), out, inner.like))
    if op == "hessian":
        return call + flat_args, each(lambda m: hessian_blocks(inner, m))
    if op in ("jvp", "jvp2"):
        v, text = direction(rng, like)

        def tangent(m):
            along = unflatten(inner.pushed(v, m), out, nothing)
            return along if op == "jvp" else with_value(along)

        return f"{call}({text_of(point)}, {text})", each(tangent)
    if op == "hvp":
        v, text = direction(rng, like)
        return f"{call}({text_of(point)}, {text})", each(lambda m: unflatten(inner.hessian_times(v, m), like, nothing))
    if op in ("vjp", "vjp2"):
        w, text = direction(rng, out)

        def cotangent(m):
            along = unflatten(w @ inner.jacobian(m), like, nothing)
            return along if op == "vjp" else with_value(along)

        return f"{call}({text_of(point)}, {text})", each(cotangent)
    raise ValueError(op)


def hessian_blocks(inner, method):
    """Returns the blocks of a Hessian by pairs of parts of the argument."""
    like = inner.like
    gradient = unflatten(inner.point, like, nothing)
    return blocks(inner.hessian(method), bare(gradient), like)
