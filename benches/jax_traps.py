"""Times JAX on the programs of tests/programs/traps at doubling sizes: value and gradient.

    pip install -r tests/golden/requirements-jax.txt
    python3 benches/jax_traps.py            writes jax_traps.json and jax_traps.md beside this file
    python3 benches/jax_traps.py --only gather --quick     prints some programs, from fewer runs, and writes nothing

JAX compiles each function ahead of time (`jit`, float64, CPU, one thread on one core). A time is the
minimum processor time of many warm runs. The table also has the memory that XLA allocates besides
arguments and results. It compares ratios within one run and the exponents of their growth, because
times depend on the machine.

The programs are idiomatic JAX: `fori_loop` for a `fold`, `at[].set` for an update, `while_loop` for
a `loop`. The gradient of a `loop` uses a `scan` over the largest number of steps, because
`while_loop` has no reverse derivative.
"""

import argparse
import json
import os
import pathlib
import platform
import time

# One thread; set it before any import that starts threads.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

HERE = pathlib.Path(__file__).parent

# Fits the exponent over this many of the largest sizes, because the call dominates below them.
FITTED = 4

PROGRAMS = {}


def trap(sizes, **more):
    """Registers a function of a size that returns (value, derivative, arguments of both)."""

    def register(make):
        PROGRAMS[make.__name__] = (sizes, make, more)
        return make

    return register


def doubling(first, count):
    return [first * 2**k for k in range(count)]


def points(*shape):
    return jnp.asarray(np.random.default_rng(7).uniform(0.25, 1.0, shape))


def by_gradient(f, *args, wrt=0):
    return f, jax.grad(f, argnums=wrt), args


@trap(doubling(64, 6))
def update(n):
    def f(first):
        P = jnp.zeros((n + 1, 10, 10)).at[0].set(jnp.sin(first))
        P = lax.fori_loop(1, n + 1, lambda i, P: P.at[i].set(P[i - 1]), P)
        return jnp.sum(P[n])

    return by_gradient(f, points(10, 10))


@trap(doubling(64, 6))
def guarded_update(n):
    def f(first):
        P = jnp.zeros((n + 1, 10, 10)).at[0].set(jnp.sin(first))
        step = lambda i, P: lax.cond(i > -10, lambda P: P.at[i].set(P[i - 1]), lambda P: P, P)  # noqa: E731
        return jnp.sum(lax.fori_loop(1, n + 1, step, P)[n])

    return by_gradient(f, points(10, 10))


@trap(doubling(128, 5))
def triangular(n):
    def f(xs, ys):
        return jnp.sum(lax.fori_loop(0, n, lambda i, zs: zs.at[i].set(jnp.dot(zs, xs)), ys))

    return by_gradient(f, points(n) / n, points(n), wrt=(0, 1))


@trap(doubling(1000, 6), note="the value by `while_loop`, the gradient by a `scan` of `cond` over all steps")
def early_stop(n):
    def going(state):
        k, y = state
        return (k < n) & (y * y < 4)

    def step(state):
        k, y = state
        return k + 1, y * y + 4

    def value(x):
        return jnp.sin(lax.while_loop(going, step, (0, x))[1])

    def bounded(x):
        body = lambda state, _: (lax.cond(going(state), step, lambda s: s, state), None)  # noqa: E731
        return jnp.sin(lax.scan(body, (0, x), length=n)[0][1])

    return value, jax.grad(bounded), (jnp.asarray(0.5),)


@trap(doubling(1000, 6))
def indexing(n):
    def f(x):
        return lax.fori_loop(0, n, lambda i, s: s + x[i] ** 2, 0.0)

    return by_gradient(f, points(n))


@trap(doubling(1000, 6))
def one_element(n):
    def f(x):
        return lax.fori_loop(0, n, lambda _, s: 0.5 * s + x[0] ** 2, 0.0)

    return by_gradient(f, points(n + 1))


@trap(doubling(128, 6), note="of 1,000 numbers")
def accumulation(n):
    def f(x):
        y = lax.fori_loop(0, n, lambda _, y: y + x, jnp.zeros_like(x))
        return jnp.sum(y**2) / 2

    return by_gradient(f, points(1000))


def cubes(x):
    return x**3 + jnp.sin(x)


@trap(doubling(16_384, 6))
def elementwise_jvp(n):
    return cubes, lambda x, v: jax.jvp(cubes, (x,), (v,))[1], (points(n), points(n))


@trap(doubling(16_384, 6))
def elementwise_vjp(n):
    return cubes, lambda x, v: jax.vjp(cubes, x)[1](v)[0], (points(n), points(n))


@trap(doubling(16_384, 6))
def elementwise_hvp(n):
    gradient = jax.grad(lambda x: jnp.sum(cubes(x)))
    return cubes, lambda x, v: jax.jvp(gradient, (x,), (v,))[1], (points(n), points(n))


@trap(doubling(256, 5))
def diagonal(n):
    def f(x):
        A = jnp.diag(x)
        return jnp.dot(A[:, 0], A[0, :])

    return by_gradient(f, points(n))


@trap(doubling(16_384, 6))
def product(n):
    return by_gradient(jnp.prod, 0.5 + points(n))


@trap(doubling(1000, 6))
def product_folded(n):
    def f(x):
        return lax.fori_loop(0, n, lambda i, p: p * x[i], 1.0)

    return by_gradient(f, 0.5 + points(n))


@trap(doubling(16_384, 6))
def gather(n):
    at = jnp.asarray(np.random.default_rng(3).integers(0, n, n))
    return by_gradient(lambda x: jnp.sum(x[at] ** 2), points(n))


@trap(doubling(16_384, 6))
def gather_reversed(n):
    weights = jnp.arange(1.0, n + 1)
    return by_gradient(lambda x: jnp.sum(weights * jnp.sin(x[::-1])), points(n))


@trap(doubling(16_384, 6))
def skipped(n):
    keep = jnp.arange(n) != 1
    return by_gradient(lambda x: jnp.sum(jnp.where(keep, x**2, 0.0)), points(n))


@trap(doubling(128, 5), note="4 traces")
def traces(n):
    def f(x):
        A = jnp.diag(jnp.sin(x))
        return lax.fori_loop(0, 4, lambda t, s: s + (1 + t) * jnp.trace(A), 0.0)

    return by_gradient(f, points(n))


@trap(doubling(16, 6), note="signals of 256 numbers, a kernel of 16")
def batched_fit(b):
    def f(c, x, z):
        fitted = jax.vmap(lambda row: jnp.correlate(row, c, mode="valid"))(x)
        return jnp.sum((fitted - z) ** 2)

    return by_gradient(f, points(16), points(b, 271), points(b, 256))


def compiled(f, args):
    return jax.jit(f).lower(*args).compile()


def seconds(run, args, budget):
    """Measures the minimum processor time of as many runs as the budget allows, at least three."""
    jax.block_until_ready(run(*args))
    times, until = [], time.perf_counter() + budget
    while len(times) < 3 or time.perf_counter() < until:
        start = time.process_time()
        jax.block_until_ready(run(*args))
        times.append(time.process_time() - start)
    return min(times)


def set_aside(run):
    """Returns the bytes that a compiled function needs besides its arguments and results."""
    return int(run.memory_analysis().temp_size_in_bytes)


def exponent(sizes, values):
    """Fits the slope of the logarithms over the largest sizes; None without data."""
    pairs = [(n, v) for n, v in zip(sizes, values) if v > 0][-FITTED:]
    if len(pairs) < 2:
        return None
    n, v = np.log(np.array(pairs, dtype=float)).T
    return float(np.polyfit(n, v, 1)[0])


def measured(name, budget):
    sizes, make, more = PROGRAMS[name]
    rows = {"value": [], "gradient": [], "value bytes": [], "gradient bytes": []}
    for n in sizes:
        value, gradient, args = make(n)
        # A derivative may take a direction besides the arguments of the value.
        count = value.__code__.co_argcount if hasattr(value, "__code__") else 1
        of = {"value": (value, args[:count]), "gradient": (gradient, args)}
        for what, (f, given) in of.items():
            run = compiled(f, given)
            rows[what].append(seconds(run, given, budget))
            rows[f"{what} bytes"].append(set_aside(run))
        jax.clear_caches()
    result = {"sizes": sizes, "seconds": {k: [float(f"{s:.4g}") for s in rows[k]] for k in ("value", "gradient")}}
    result["bytes"] = {k: rows[f"{k} bytes"] for k in ("value", "gradient")}
    result["ratio"] = round(rows["gradient"][-1] / rows["value"][-1], 2)
    grown = {k: exponent(sizes, rows[k]) for k in rows}
    result["exponents"] = {k: None if e is None else round(e, 2) for k, e in grown.items()}
    return result | more


def told(name, row):
    at = {k: "—" if e is None else f"{e:.2f}" for k, e in row["exponents"].items()}
    first, last, ratio = row["sizes"][0], row["sizes"][-1], row["ratio"]
    microseconds = [1e6 * row["seconds"][k][-1] for k in ("value", "gradient")]
    return (
        f"| `{name}` | {first:,} to {last:,} | {microseconds[0]:,.0f} | {microseconds[1]:,.0f} | {ratio:,.1f} "
        f"| {at['value']} | {at['gradient']} | {at['gradient bytes']} | {row.get('note', '')} |"
    )


HEAD = """<!-- Written by benches/jax_traps.py. -->
# JAX on the programs of `tests/programs/traps`

{versions}

Processor time at the largest size; exponents of growth in the size, fitted over the {fitted} largest. Where
arrays outgrow the caches, time grows faster than work. Where the value takes a few microseconds whatever the size,
those are the call.

| program | sizes | value, µs | gradient, µs | ratio | exponent of the value | of the gradient | of its memory | |
|---|---|---|---|---|---|---|---|---|
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="programs whose name has this in it; writes nothing")
    parser.add_argument("--quick", action="store_true", help="fewer runs; writes nothing")
    options = parser.parse_args()
    versions = {
        "jax": jax.__version__,
        "jaxlib": jax.lib.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "device": jax.devices()[0].device_kind,
        "threads": 1,
        "precision": "float64",
    }
    rows = {}
    for name in PROGRAMS:
        if options.only in name:
            rows[name] = measured(name, 0.05 if options.quick else 0.4)
            print(told(name, rows[name]), flush=True)
    if options.only or options.quick:
        return
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    written = f'{{"versions": {json.dumps(versions)},\n "programs": {{\n{lines}\n }}}}\n'
    (HERE / "jax_traps.json").write_text(written)
    line = (
        f"JAX {versions['jax']}, NumPy {versions['numpy']}, Python {versions['python']}, {versions['machine']}, "
        "float64, one thread, compiled and warm."
    )
    text = HEAD.format(versions=line, fitted=FITTED) + "\n".join(told(*item) for item in rows.items()) + "\n"
    (HERE / "jax_traps.md").write_text(text)


if __name__ == "__main__":
    main()
