"""Derivatives of programs/loops."""

import math

import numpy as np

import loops
from checks import check, derivative, points
from differentiate import Function, unflatten

vec = points("loops")


def of(program, function, *points, name=None, **more):
    """Registers derivatives of the function of that name. Points are farther from kinks than difference steps."""
    name = name or function.__name__
    more = {"step": 1 / 128, "label": name} | more
    derivative(f"loops/{program}", f"p.{name}", *points, **more)(function)


def array(*items):
    return np.array(items)


# If a size of the result is an argument, a lambda fixes it.
SIZED = "jvp2 vjp"

# No trip, one, several.
TRIPS = [(0.75, n) for n in (0, 1, 4)]
for _name in ("folded", "scanned", "yielded", "looped"):
    of("trips", getattr(loops, _name), *TRIPS, name=_name, fixed=SIZED if _name in ("scanned", "yielded") else "")
of("trips", loops.halvings_summed, (0.75,), (1.5,), (6.25,))
of("trips", loops.empty_array, (vec(0), 3), (vec(2), 0), (vec(2), 3))
of("trips", loops.nothing_carried, (vec(0),), (vec(3),))
of("trips", loops.integers_carried, (vec(0),), (vec(1),), (vec(5),), ops="value_and_grad jvp hvp")
of("trips", loops.rows_and_columns, (vec(0, 3),), (vec(3, 0),), (vec(1, 1),), (vec(3, 2),))

of("nested", loops.yields, (vec(2, 3),), (vec(1, 1),), ops="jvp2 vjp")
of("nested", loops.scans_in_for, (vec(2, 3),))
of("nested", loops.loops_in_for, (array(0.5, 1.5, 9.25, -3.0),))
of("nested", loops.loops_in_sum, (vec(2), vec(3), array(0, 3, 1)))
of("nested", loops.loops_in_max, (array([0.5, 1.0, -0.25], [2.0, -0.5, 0.75]),))
of("nested", loops.three_deep, (vec(3), 2), (vec(2), 0))
of("nested", loops.loop_over_a_scan, (0.5, 4), (0.5, 0))
of("nested", loops.two_indices, (0.5, vec(3)), (0.5, vec(0)))

BALL = {"place": array(0.0, 1.0), "speed": array(0.5, 0.25), "bounces": 2}
of("carries", loops.flight, (BALL, 0.125, 0.75, 10), (BALL, 0.125, 0.75, 0), ops="jvp2 vjp", step=1 / 1024)
of("carries", loops.composed, (vec(3), vec(3)), (vec(0), vec(0)), ops="jvp2 vjp")
of("carries", loops.moments, (vec(4),), (vec(1),))
of("carries", loops.squarings, (array([2.0, 1.0], [0.5, 1.5]), 3), (vec(2, 2), 0))
of("carries", loops.smoothed, ([(1.0, 0.5), (2.0, -1.0), (0.25, 2.0)], 3), ops="jvp2 vjp")
of("carries", loops.rotated, (1.0, 0.5, 0.75, 0.5, 4), (1.0, 0.5, 0.75, 0.5, 0))
of("carries", loops.exchanged, (1.5, 0.75, 5), (1.5, 0.75, 1))

LINKS = array(2, 0, 3, 1)
TABLE = array(0.0, 0.5, 2.0, 3.5, 4.0)
of("places", loops.followed, (LINKS, vec(4), 6), (LINKS, vec(4), 0))
of("places", loops.interpolated, (TABLE, vec(5), 2.75), (TABLE, vec(5), 0.25))
of("places", loops.records, (array(1.0, 0.5, 3.0, -2.0, 4.5),))
of("places", loops.merged, (array(0.5, 1.5, 4.0), array(1.0, 2.0)), (array(0.5, 1.5), vec(0)))
of("places", loops.walked, (array([1.0, 2.5, 0.5], [0.5, 3.0, 1.0], [2.0, 1.5, 0.25]),))
of("places", loops.run, (array(0, 1, -2, 2, 0, -1, -2), array(1.5, -2.0, 0.75)))

TO, FROM = array(1, 3, 1, 0, 1), array(0, 1, 1, 3, 0)
of("updates", loops.added, (TO, vec(5), vec(4)), (TO[:0], vec(0), vec(4)))
of("updates", loops.overwritten, (TO, vec(5), vec(4)), (TO[:1], vec(1), vec(4)))
of("updates", loops.read_back, (TO, FROM, vec(5), vec(4)))
of("updates", loops.spread, (TO, FROM, vec(5), vec(4)))
of("updates", loops.rows, (vec(3, 2), [(1, 0), (2, 1), (0, 2)], vec(3)), (vec(3, 2), [(1, 1)], vec(1)))
of("updates", loops.columns, (vec(2, 3), array(0, 2, 0)))
of("updates", loops.slices, (vec(5), array(1, 0, 2, 1), vec(3)))
of("updates", loops.bubbled, (array(3.0, 0.5, -1.0, 2.0, 0.25),))
of("updates", loops.substituted, (vec(3, 3) + 3 * np.eye(3), vec(3)), wide=False)
of("updates", loops.table, (array(0.5, 1.0, 0.25), array(1, 2, 5), 6))
of("updates", loops.swept, (vec(4), 0.5), (vec(1), 0.5))
of("updates", loops.halved, (vec(3),), (vec(1),))

ENDS = array(0, 2, 2, 5, 6)
COLUMNS = array(1, 3, 0, 2, 3, 1)
of("segments", loops.sums, (ENDS, vec(6)))
of("segments", loops.products, (ENDS, vec(6)), (ENDS, array(0.5, -1.5, 0.0, 0.25, 0.0, 0.0)))
of("segments", loops.greatest, (ENDS, array(0.5, -1.5, 2.0, 0.25, 1.0, -0.75)))
of("segments", loops.softmaxes, (ENDS, vec(6)))
of("segments", loops.powers, (ENDS, COLUMNS, vec(6), vec(4), 3), (ENDS, COLUMNS, vec(6), vec(4), 0))
of("segments", loops.recurrences, (ENDS, vec(6)))
of(
    "segments",
    loops.solved,
    (array(0, 0, 1, 3, 4), array(0, 0, 1, 2), vec(4), array(2.0, 1.0, 4.0, 0.5), vec(4)),
    wide=False,
)
of("segments", loops.windows, (vec(5), 4), (vec(5), 0))

APART = array(1.5, -0.5, 3.0, 0.25)
KEY = array(0.5, -1.0, 2.0, 0.75)
of("library", loops.l_statistic, (vec(4), APART), (vec(1), vec(1)))
of("library", loops.in_order_of, (vec(4), KEY))
of("library", loops.trimmed, (array([3.0, -1.0, 0.5, 9.0], [0.0, 1.0, 2.5, -7.0]),))
of("library", loops.chosen, (APART, 0.0), (APART, 5.0))
of("library", loops.class_means, (array(2, 0, 2, 0), vec(4), 4), fixed=SIZED)
of("library", loops.written, (array(3, 1, 3), vec(3), vec(4)))
of(
    "library",
    loops.messages,
    (array(0, 1, 2, 3, 0), array(1, 2, 1, 0, 1), vec(5), vec(4), 3),
    (array(0, 1, 2, 3, 0), array(1, 2, 1, 0, 1), vec(5), vec(4), 0),
)
of("library", loops.sorted_steps, (array(0.5, -0.75, 1.0, 0.0), 3), step=1 / 1024)
of("library", loops.nearest, (APART, 0.5))

SADDLE = array([1.5, -0.5, 2.0], [0.25, 0.0, -3.0])
of("reductions", loops.row_products, (vec(2, 3),), (SADDLE,), name="products")
of("reductions", loops.rising, (array(0.5, -2.0, 1.5, 3.0),))
of("reductions", loops.saddle_points, (SADDLE,), name="saddle")
SETS = array([0.0, 0.0], [1.0, 2.0]), array([0.5, 0.25], [3.0, 1.0], [1.0, 1.25])
of("reductions", loops.hausdorff, SETS)
of("reductions", loops.running, (array(1.0, 0.5, 3.0, -2.0, 2.5),))
of("reductions", loops.normalised, (array([2.0, 1.0], [0.5, -1.5]), array(1.0, 0.5), 3))
of("reductions", loops.trellis, (array([[1.0, 2.5], [0.5, 3.0]], [[2.0, 0.25], [1.0, 4.0]]),))
of("reductions", loops.counted, (array(1.0, -2.0, 3.0), 0.5), (array(1.0, -2.0, 3.0), 4.0))

# At ties the first element has the whole derivative, however the maximum is found.
check(
    "loops/reductions",
    "the first of equals in a running maximum",
    "jacobian(p.running)([2.0, 5.0, 5.0, 1.0])",
    {"closed form": lambda: (np.eye(4)[[0, 1, 1, 1]], 10.0 * np.eye(4)[1])},
)
check(
    "loops/reductions",
    "the first of equals in a trellis",
    "grad(p.trellis)([[[1.0, 1.0], [1.0, 1.0]]])",
    {"closed form": lambda: [[[1.0, 0.0], [0.0, 0.0]]]},
)

UNEVEN = array(0.5, 3.5, -0.25, 2.25, 0.75)
of("branches", loops.uneven, (UNEVEN,), (UNEVEN[:0],))
of("branches", loops.guarded, (array(0.5, -0.75, 2.0, 0.25),))
of("branches", loops.damped, (0.5, array(0.25, 1.5, -4.0, 0.5)))
of("branches", loops.relaxed, (vec(3), 4), (vec(3), 0))
# The bisection's result is constant nearly everywhere; the last steps contribute the derivative.
of("branches", loops.root, (5.0,), (2.75,), tolerance=1e-10, step=1 / 16)
of("branches", loops.in_a_branch, (0.75, 4), (0.75, 2), (0.75, 0))

of("operators", loops.descended, (0.25, array(1.0, -0.5, 2.0), 6), (0.25, array(1.0, -0.5, 2.0), 0))
of("operators", loops.wave_root, (0.5, 6), tolerance=1e-10)
of("operators", loops.saddle, (0.5, -0.25, 3), (0.5, -0.25, 0))
of("operators", loops.slopes, (vec(3), 0.5), (vec(0), 0.5))
of("operators", loops.ruled, (0.75, array(0.5, 2.0, 1.25)))


def stopped_slope(x=0.75, n=3):
    still = x
    for _ in range(n):
        still = math.sin(still)
    y, dy = x, 1.0
    for i in range(n):
        y, dy = (y * y + still, y * dy) if i % 2 == 0 else (math.cos(y * x), -math.sin(y * x) * (y + x * dy))
    return dy


def stopped_slope_jax():
    import jax

    held = jax.lax.stop_gradient

    def stopped(x):
        still = held(jax.numpy.sin(jax.numpy.sin(jax.numpy.sin(x))))
        y = x
        for i in range(3):
            y = y * held(y) + still if i % 2 == 0 else jax.numpy.cos(y * x)
        return y

    return float(jax.grad(stopped)(0.75))


check(
    "loops/operators",
    "what stands still",
    "grad(p.stopped, wrt: x)(0.75, 3)",
    {"closed form": stopped_slope, "jax": stopped_slope_jax},
)

RING = 0.5 + 0.25 * np.arange(4)
of("steps", loops.ring, (RING, 0.25, 12), (RING, 0.25, 0))
of("steps", loops.energy, (RING, 0.25, 40), (RING, 0.25, 1))
of("steps", loops.settled, (RING, 0.5, 1000), (RING, 0.5, 2), ops="jvp2 vjp")
of("steps", loops.swung, (vec(4), vec(4), 0.25, 4), (vec(4), vec(4), 0.25, 0), ops=SIZED, fixed=SIZED)
of("steps", loops.logistic, (3.25, 0.3125, 12), (2.5, 0.3125, 0), step=1 / 1024)

of("associative", loops.log_sum, (vec(1),), (vec(5),))
of("associative", loops.chain, (vec(3, 2, 2),), (vec(1, 2, 2),))
of("associative", loops.turned, ([(0.5, 0.75), (0.75, -0.5), (1.0, 0.25)],), ops="jvp2 vjp")
of("associative", loops.best_run, (array(1.0, -2.0, 3.0, -0.5, 2.5, -4.0, 1.0),))
of("associative", loops.fraction, (array(1.0, 2.0, 3.0, 4.0),), (vec(1),))
of("associative", loops.horner, (vec(4), 1.5), (vec(0), 1.5))
of("associative", loops.filtered, (0.5, vec(3)), (0.5, vec(0)))
of("associative", loops.products_before, (vec(4),), (array(2.0, 0.0, 3.0, -1.5),), (array(0.0, 1.0, 0.0, 2.0),))


def reversed_twice(program, function, x, name=None):
    """Returns the gradient of the gradient along a vector: reverse over reverse, while `hvp` may use forward mode."""
    name = name or function.__name__
    inner = Function(function, (x,), (0,), step=1 / 128)
    along = vec(*x.shape)
    places = "ijk"[: x.ndim]
    of_type = f"[{', '.join(map(str, x.shape))}]f64"
    total = f"sum {', '.join(places)}: ({along.tolist()})[{', '.join(places)}] * g[{', '.join(places)}]"
    expr = f"grad(\\(z: {of_type}): let g = grad(p.{name})(z) in {total})({x.tolist()})"

    def by(method):
        return lambda: unflatten(inner.hessian_times(along.ravel(), method), x)

    check(
        f"loops/{program}",
        f"reverse over reverse of {name}, " + " by ".join(map(str, x.shape)),
        expr,
        {method: by(method) for method in inner.methods()},
    )


reversed_twice("trips", loops.nothing_carried, vec(3))
reversed_twice("trips", loops.integers_carried, vec(5))
reversed_twice("trips", loops.rows_and_columns, vec(3, 2))
reversed_twice("branches", loops.uneven, UNEVEN)
reversed_twice("branches", loops.guarded, array(0.5, -0.75, 2.0, 0.25))
reversed_twice("associative", loops.log_sum, vec(4))
reversed_twice("associative", loops.best_run, array(1.0, -2.0, 3.0, -0.5, 2.5, -4.0, 1.0))
reversed_twice("associative", loops.fraction, array(1.0, 2.0, 3.0, 4.0))
reversed_twice("places", loops.walked, array([1.0, 2.5, 0.5], [0.5, 3.0, 1.0], [2.0, 1.5, 0.25]))
reversed_twice("reductions", loops.trellis, array([[1.0, 2.5], [0.5, 3.0]], [[2.0, 0.25], [1.0, 4.0]]))
