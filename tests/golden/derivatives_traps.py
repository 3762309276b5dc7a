"""Derivatives of programs/traps."""

import numpy as np

import traps
from checks import check, derivative, points

vec = points("traps")


def of(program, name, *points, **more):
    """Registers derivatives of the function of that name."""
    derivative(f"traps/{program}", f"p.{name}", *points, **({"label": name} | more))(getattr(traps, name))


def closed(program, name, expr, value):
    check(f"traps/{program}", name, expr, {"closed form": value})


# A block has a hundred numbers, so the whole gradient is compared with its formula, as are directional derivatives.
BLOCK = "(for j < 10: for k < 10: 0.01 * f64(10 * j + k))"
SLOPE = np.cos(traps.BLOCK)
for _n in (0, 1, 5):
    closed("update", f"the first block, {_n}", f"grad(p.update, wrt: first)({_n}, {BLOCK})", lambda: SLOPE)
    closed(
        "guarded_update",
        f"the first block, {_n}",
        f"grad(p.guarded_update, wrt: first)({_n}, {BLOCK})",
        lambda: SLOPE,
    )
of("update", "update", (3, vec(10, 10)), wrt="first")
of("update", "update_all", (vec(3, 10, 10),), ops="jvp vjp")
of("guarded_update", "guarded_update", (3, vec(10, 10)), wrt="first")
STEEP = 0.25 + 0.01 * np.arange(100.0).reshape(10, 10)
of("guarded_update", "guarded_by_data", (5, 100.0, STEEP), (5, 0.5, STEEP), wrt="first", step=1 / 128)
of("triangular", "triangular", (vec(6) / 4, vec(6)), (vec(1), vec(1)), (vec(0), vec(0)))
for _name in ("early_stop", "states_kept"):
    of("early_stop", _name, (1000, 0.5), (1000, 2.5), (1, -1.25))
of("early_stop", "early_stop", (0, 0.5), label="early_stop of no steps")
of("indexing", "indexing", (vec(0),), (vec(1),), (vec(7),))
of("indexing", "indexing_rows", (vec(3, 4),))
for _name in ("one_element", "one_element_summed"):
    of("one_element", _name, (vec(1),), (vec(2),), (vec(6),))
for _name in ("accumulation", "weighted"):
    of("accumulation", _name, (0, vec(3)), (1, vec(3)), (5, vec(3)))
of("elementwise", "elementwise", (vec(5),))
X, V = vec(5), vec(5)
TEXTS = f"({X.tolist()}, {V.tolist()})"
for _name in ("pushed", "pulled"):
    closed("elementwise", _name, f"p.{_name}{TEXTS}", lambda: (3 * X**2 + np.cos(X)) * V)
closed("elementwise", "curved", f"p.curved{TEXTS}", lambda: (6 * X - np.sin(X)) * V)
of("diagonal", "diagonal", (vec(1),), (vec(6),))
for _name in ("product", "product_folded"):
    of("product", _name, (vec(0),), (vec(1),), (vec(6),), (np.array([0.5, 0.0, -1.5]),), (np.array([0.0, 2.0, 0.0]),))
of("gather", "gather", (np.array([0, 3, 3, 5, 0, 3]), vec(6)))
of("gather", "gather_reversed", (vec(6),), (vec(0),))
for _name in ("skipped", "skipped_bracket"):
    of("skipped", _name, (vec(1),), (vec(2),), (vec(5),))
of("traces", "traces", (4, vec(3)), (0, vec(3)))
of("batched_fit", "batched_fit", (vec(2, 6), vec(3), vec(2, 4)))
