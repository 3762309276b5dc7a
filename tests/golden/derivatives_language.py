"""Derivatives of derivatives, of solvers, and of constants: checks of the language rather than of a program."""

import numpy as np

from checks import check, points
from differentiate import Function, complex_step, extrapolated

vec = points("language")


def text(x):
    return str(np.asarray(x).tolist())


def scalar_jax(make):
    """Registers a value that a function of JAX and its NumPy computes."""

    def value():
        import jax

        return np.asarray(make(jax, jax.numpy))

    return value


# Third and fourth derivatives


def bumpy(xp, x):
    return xp.exp(xp.sin(x)) * x**2


def third_by_steps(x):
    """Returns second differences of complex steps."""
    one = np.ones(1, dtype=np.longdouble)
    slope = lambda t: complex_step(lambda z: bumpy(np, z), t * one, one, True)[0]  # noqa: E731
    x, steps = np.longdouble(x), [np.longdouble(2.0) ** -(k + 4) for k in range(7)]
    return extrapolated([(slope(x + h) - 2 * slope(x) + slope(x - h)) / h**2 for h in steps])


for _x in (0.75, -1.25):
    check(
        "language",
        f"a third derivative at {_x}",
        f"grad(grad(grad(\\x: exp(sin(x)) * x^2)))({_x})",
        {
            "differences": lambda x=_x: third_by_steps(x),
            "jax": scalar_jax(lambda jax, jnp, x=_x: jax.grad(jax.grad(jax.grad(lambda t: bumpy(jnp, t))))(x)),
        },
    )
    check(
        "language",
        f"a fourth derivative at {_x}",
        f"grad(grad(grad(grad(\\x: x^5 + 1 / x))))({_x})",
        {
            "closed form": lambda x=_x: 120 * x + 24 / x**5,
            "jax": scalar_jax(lambda jax, jnp, x=_x: jax.grad(jax.grad(jax.grad(jax.grad(lambda t: t**5 + 1 / t))))(x)),
        },
    )

# A gradient through a Jacobian, and other mixtures

FIELD = "\\(y: [3]f64): [y[0] * sin(y[1]), exp(y[2]) + y[0]^2, y[0] * y[1] * y[2]]"
POINT, W, V = vec(3), vec(3), vec(3)


def field(xp, y):
    return xp.stack([y[0] * xp.sin(y[1]), xp.exp(y[2]) + y[0] ** 2, y[0] * y[1] * y[2]])


def weighted_jacobian(x):
    """Returns the sum of the squares of the Jacobian's elements, weighted by rows, by complex steps."""
    inner = Function(field, (x,), (0,))
    columns = [complex_step(inner.vector(np), x, e.astype(np.longdouble), True) for e in np.eye(3)]
    return np.array([sum(W[i] * c[i] ** 2 for c in columns for i in range(3))])


def fitted_gradient(f, x):
    """Returns the gradient by differences, because `f` itself uses complex steps."""
    x = x.astype(np.longdouble)
    steps = [np.longdouble(2.0) ** -(k + 4) for k in range(7)]
    return [extrapolated([(f(x + h * e) - f(x - h * e)) / (2 * h) for h in steps])[0] for e in np.eye(3)]


check(
    "language",
    "a gradient through a Jacobian",
    f"grad(\\(x: [3]f64): let J = jacobian({FIELD})(x) in sum i < 3, j < 3: {text(W)}[i] * J[i, j]^2)({text(POINT)})",
    {
        "differences": lambda: fitted_gradient(weighted_jacobian, POINT),
        "jax": scalar_jax(
            lambda jax, jnp: jax.grad(lambda x: jnp.sum(W[:, None] * jax.jacfwd(lambda y: field(jnp, y))(x) ** 2))(
                POINT
            )
        ),
    },
)


def directional(x):
    inner = Function(field, (x,), (0,))
    return complex_step(inner.vector(np), x, V.astype(np.longdouble), True)


check(
    "language",
    "a Jacobian of a tangent",
    f"jacobian(\\(x: [3]f64): jvp({FIELD})(x, {text(V)}))({text(POINT)})",
    {
        "differences": lambda: np.stack(
            [
                extrapolated(
                    [
                        (directional(POINT + h * e) - directional(POINT - h * e)) / (2 * h)
                        for h in (np.longdouble(2.0) ** -(k + 4) for k in range(7))
                    ]
                )
                for e in np.eye(3, dtype=np.longdouble)
            ],
            axis=1,
        ),
        "jax": scalar_jax(
            lambda jax, jnp: jax.jacfwd(lambda x: jax.jvp(lambda y: field(jnp, y), (x,), (jnp.asarray(V),))[1])(POINT)
        ),
    },
)
check(
    "language",
    "a tangent of a cotangent",
    f"jvp(\\(x: [3]f64): vjp({FIELD})(x, {text(W)}))({text(POINT)}, {text(V)})",
    {
        # The Hessian of w . field, times v.
        "complex step": lambda: Function(lambda xp, x: W @ field(xp, x), (POINT,), (0,)).hessian_times(
            V, "complex step"
        ),
        "jax": scalar_jax(
            lambda jax, jnp: jax.jvp(
                lambda x: jax.vjp(lambda y: field(jnp, y), x)[1](jnp.asarray(W))[0], (POINT,), (V,)
            )[1]
        ),
    },
    tolerance=1e-10,
)

# Perturbation confusion

for _name, _expr, _value in (
    ("x times the derivative of x + y", "grad(\\x: x * grad(\\y: x + y)(1.0))(1.0)", 1.0),
    ("x times the derivative of x y", "grad(\\x: x * grad(\\y: x * y)(2.0))(3.0)", 6.0),
    (
        "a tangent within a tangent",
        "jvp(\\x: x * jvp(\\y: x + y)(2.0, 1.0))(1.0, 1.0)",
        1.0,
    ),
    ("a gradient within a tangent", "jvp(\\x: x * grad(\\y: x * y * y)(2.0))(3.0, 1.0)", 24.0),
    ("a tangent within a gradient", "grad(\\x: x * jvp(\\y: x * y * y)(2.0, 1.0))(3.0)", 24.0),
    ("three deep", "grad(\\x: x * grad(\\y: x * y * grad(\\z: x * y * z)(1.0))(2.0))(3.0)", 108.0),
    ("by one variable twice", "grad(\\x: grad(\\y: x * y^3)(x))(2.0)", 36.0),
    ("a function that has captured what varies", "grad(\\x: let f = \\(y: f64): x * y in grad(f)(7.0) * x)(5.0)", 10.0),
    ("a function that comes out of a derivative", "grad(\\x: let g = grad(\\y: x * y^2) in g(3.0) + g(x))(2.0)", 14.0),
    ("the inner of a deriv", "grad(\\x: let y = 3 * x in x * deriv(y * y * x, y))(2.0)", 72.0),
):
    check("language", f"perturbations: {_name}", _expr, {"closed form": lambda value=_value: value})

check(
    "language",
    "perturbations: the classic one in JAX",
    "grad(\\x: x * grad(\\y: x + y)(1.0))(1.0)",
    {
        "closed form": lambda: 1.0,
        "jax": scalar_jax(lambda jax, jnp: jax.grad(lambda x: x * jax.grad(lambda y: x + y)(1.0))(1.0)),
    },
)
check(
    "language",
    "perturbations: an inner Jacobian at a point that varies",
    "grad(\\x: sum i < 2, j < 2: x * jacobian(\\(y: [2]f64): [x * y[0] * y[1], y[0]^2])([x, 2 * x])[i, j])(1.5)",
    # x (2 x^2 + x^2 + 2 x)
    {
        "closed form": lambda: 9 * 1.5**2 + 4 * 1.5,
        "jax": scalar_jax(
            lambda jax, jnp: jax.grad(
                lambda x: (
                    x * jnp.sum(jax.jacrev(lambda y: jnp.stack([x * y[0] * y[1], y[0] ** 2]))(jnp.stack([x, 2 * x])))
                )
            )(1.5)
        ),
    },
)

# stop

for _name, _expr, _value, _f in (
    ("a factor", "grad(\\x: stop(x) * x)(5.0)", 5.0, lambda stop, x: stop(x) * x),
    ("an argument", "grad(\\x: sin(stop(x)) + x)(5.0)", 1.0, lambda stop, x: stop(x) ** 0.5 + x),
    ("twice", "grad(grad(\\x: stop(x) * x^3))(2.0)", 24.0, lambda stop, x: stop(x) * x**3),
):
    _twice = _name == "twice"
    check(
        "language",
        f"stop: {_name}",
        _expr,
        {
            "closed form": lambda value=_value: value,
            "jax": scalar_jax(
                lambda jax, jnp, f=_f, t=_twice: (
                    (jax.grad(jax.grad(lambda x: f(jax.lax.stop_gradient, x)))(2.0))
                    if t
                    else jax.grad(lambda x: f(jax.lax.stop_gradient, x))(5.0)
                )
            ),
        },
    )
for _name, _expr, _value in (
    ("the outer variable in an inner derivative", "grad(\\x: grad(\\y: stop(x) * y * x)(1.0))(3.0)", 3.0),
    ("the inner variable only", "grad(\\x: grad(\\y: stop(y) * y * x)(2.0))(3.0)", 2.0),
    ("an array", "grad(\\(x: [2]f64): sum i: stop(x)[i] * x[i])([3.0, -4.0])", [3.0, -4.0]),
    ("a record", "grad(\\(r: {a: f64, b: f64}): stop(r).a * r.b)({a: 2.0, b: 3.0})", {"a": 0.0, "b": 2.0}),
):
    check("language", f"stop: {_name}", _expr, {"closed form": lambda value=_value: value})

# An argument of an inner solve, by differentiating its steps

START, TARGET = [0.5, -0.25], [1.5, -0.75]
INNER = "\\(x: [2]f64): (sum i: (x[i] - t[i])^2 * (1 + x[i]^2)) + x[0] * x[1]"


def inner_loss(xp, x, t):
    return xp.sum((x - t) ** 2 * (1 + x**2)) + x[0] * x[1]


def inner_slope(x, t):
    """Returns its gradient by hand."""
    return 2 * (x - t) * (1 + x**2) + 2 * x * (x - t) ** 2 + x[::-1]


def descended(x, t, rate, decay, steps):
    speed = 0 * x
    for _ in range(steps):
        speed = decay * speed - rate * inner_slope(x, t)
        x = x + speed
    return x


def adam_steps(xp, x, t, rate, steps):
    mean, square = 0 * x, 0 * x
    for k in range(1, steps + 1):
        g = inner_slope(x, t)
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        x = x - rate * (mean / (1 - 0.9**k)) / (xp.sqrt(square / (1 - 0.999**k)) + 1e-8)
    return x


def outer_of(solve):
    """Returns the gradient by the target of the sum of the cubes of the solution."""
    f = lambda xp, t: xp.sum(solve(xp, t) ** 3)  # noqa: E731
    return Function(f, (np.array(TARGET),), (0,), step=1 / 256)


def unrolled(name, call, solve, **more):
    f = outer_of(solve)
    check(
        "language",
        f"an inner solve by {name}",
        f"grad(\\(t: [2]f64): let m = {call} in sum i: m.x[i]^3)({TARGET})",
        {m: (lambda m=m: f.jacobian(m)[0]) for m in f.methods()},
        imports=["optim"],
        **more,
    )


# The derivative of a minimiser is that of the minimum; a hand-written loop differentiates its steps.
def heavy_ball(rate, decay, steps):
    step = f"let v' = {decay} * v - {rate} * grad({INNER})(x) in (x + v', v')"
    return f"(let (x, _) = fold (x, v) = ({START}, [0.0, 0.0]) for _ < {steps}: ({step}) in {{x: x}})"


unrolled(
    "20 steps of descent with momentum",
    heavy_ball(0.05, 0.5, 20),
    lambda xp, t: descended(xp.asarray(START), t, 0.05, 0.5, 20),
)
unrolled(
    "200 steps of descent",
    heavy_ball(0.1, 0.0, 200),
    lambda xp, t: descended(xp.asarray(START), t, 0.1, 0.0, 200),
)
unrolled(
    "20 steps of Adam",
    f"(fold s = optim.adam_start({START}) for _ < 20: optim.adam_step(s, grad({INNER})(s.x), 0.05))",
    lambda xp, t: adam_steps(xp, xp.asarray(START), t, 0.05, 20),
)


def implicit():
    """Returns the derivative of the minimum by the implicit function theorem; SciPy computes the minimum."""
    import scipy.optimize

    t = np.array(TARGET)
    near = scipy.optimize.minimize(lambda x: inner_loss(np, x, t), START, jac=lambda x: inner_slope(x, t)).x
    x = scipy.optimize.root(lambda x: inner_slope(x, t), near, tol=1e-15).x
    eye = np.eye(2)
    by_x = Function(lambda xp, x: inner_slope(x, t), (x,), (0,)).jacobian("complex step")
    by_t = Function(lambda xp, s: inner_slope(x, s), (t,), (0,)).jacobian("complex step")
    return np.asarray(3 * x**2 @ np.linalg.solve(np.asarray(by_x @ eye, dtype=float), np.asarray(-by_t, dtype=float)))


for _name, _call in (
    ("gradient_descent", f"optim.gradient_descent({INNER}, {START}, 1e-10, 1000)"),
    ("lbfgs", f"optim.lbfgs({INNER}, {START}, 5, 1e-10, 100)"),
    ("newton", f"optim.newton({INNER}, {START}, 1e-10, 100)"),
):
    check(
        "language",
        f"an inner solve by {_name} to the end",
        f"grad(\\(t: [2]f64): let m = {_call} in sum i: m.x[i]^3)({TARGET})",
        {"implicit function": implicit},
        imports=["optim"],
    )
