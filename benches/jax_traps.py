"""Times JAX on the programs of tests/programs/traps at doubling sizes: value and gradient.

    pip install -r tests/golden/requirements-jax.txt
    python3 benches/jax_traps.py            writes jax_traps.json and jax_traps.md beside this file
    python3 benches/jax_traps.py --only gather --quick     prints some programs, from fewer runs, and writes no file

JAX compiles each function ahead of time (`jit`, float64, CPU, one thread on one core). A time is the
minimum processor time of many warm runs. The table also has the memory that XLA allocates besides
arguments and results. The table has ratios within one run and exponents of growth, because times
depend on the machine.

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

# One thread. The limit precedes the imports, because libraries start their threads on import.
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

# Exponents are fits over this number of the largest sizes, because the time of a call
# dominates at smaller sizes.
FITTED_SIZES = 4

PROGRAMS = {}


def trap(sizes, **labels):
    """Registers a function from a size to the value, the derivative and the arguments of both."""

    def register(build):
        PROGRAMS[build.__name__] = (sizes, build, labels)
        return build

    return register


def doubling_sizes(first, count):
    return [first * 2**k for k in range(count)]


def random_points(*shape):
    return jnp.asarray(np.random.default_rng(7).uniform(0.25, 1.0, shape))


def value_and_gradient(f, *args, wrt=0):
    """Returns a function, its gradient and their arguments."""
    return f, jax.grad(f, argnums=wrt), args


@trap(doubling_sizes(64, 6))
def update(n):
    def f(first):
        P = jnp.zeros((n + 1, 10, 10)).at[0].set(jnp.sin(first))
        P = lax.fori_loop(1, n + 1, lambda i, P: P.at[i].set(P[i - 1]), P)
        return jnp.sum(P[n])

    return value_and_gradient(f, random_points(10, 10))


@trap(doubling_sizes(64, 6))
def guarded_update(n):
    def f(first):
        P = jnp.zeros((n + 1, 10, 10)).at[0].set(jnp.sin(first))
        step = lambda i, P: lax.cond(i > -10, lambda P: P.at[i].set(P[i - 1]), lambda P: P, P)  # noqa: E731
        return jnp.sum(lax.fori_loop(1, n + 1, step, P)[n])

    return value_and_gradient(f, random_points(10, 10))


@trap(doubling_sizes(128, 5))
def triangular(n):
    def f(xs, ys):
        return jnp.sum(lax.fori_loop(0, n, lambda i, zs: zs.at[i].set(jnp.dot(zs, xs)), ys))

    return value_and_gradient(f, random_points(n) / n, random_points(n), wrt=(0, 1))


@trap(doubling_sizes(1000, 6), note="value by `while_loop`, gradient by a `scan` of `cond` over all steps")
def early_stop(n):
    def may_continue(state):
        k, y = state
        return (k < n) & (y * y < 4)

    def step(state):
        k, y = state
        return k + 1, y * y + 4

    def value(x):
        return jnp.sin(lax.while_loop(may_continue, step, (0, x))[1])

    def bounded_value(x):
        body = lambda state, _: (lax.cond(may_continue(state), step, lambda s: s, state), None)  # noqa: E731
        return jnp.sin(lax.scan(body, (0, x), length=n)[0][1])

    return value, jax.grad(bounded_value), (jnp.asarray(0.5),)


@trap(doubling_sizes(1000, 6))
def indexing(n):
    def f(x):
        return lax.fori_loop(0, n, lambda i, s: s + x[i] ** 2, 0.0)

    return value_and_gradient(f, random_points(n))


@trap(doubling_sizes(1000, 6))
def one_element(n):
    def f(x):
        return lax.fori_loop(0, n, lambda _, s: 0.5 * s + x[0] ** 2, 0.0)

    return value_and_gradient(f, random_points(n + 1))


@trap(doubling_sizes(128, 6), note="arrays of 1,000 numbers")
def accumulation(n):
    def f(x):
        y = lax.fori_loop(0, n, lambda _, y: y + x, jnp.zeros_like(x))
        return jnp.sum(y**2) / 2

    return value_and_gradient(f, random_points(1000))


def cubes(x):
    return x**3 + jnp.sin(x)


@trap(doubling_sizes(16_384, 6))
def elementwise_jvp(n):
    return cubes, lambda x, v: jax.jvp(cubes, (x,), (v,))[1], (random_points(n), random_points(n))


@trap(doubling_sizes(16_384, 6))
def elementwise_vjp(n):
    return cubes, lambda x, v: jax.vjp(cubes, x)[1](v)[0], (random_points(n), random_points(n))


@trap(doubling_sizes(16_384, 6))
def elementwise_hvp(n):
    gradient = jax.grad(lambda x: jnp.sum(cubes(x)))
    return cubes, lambda x, v: jax.jvp(gradient, (x,), (v,))[1], (random_points(n), random_points(n))


@trap(doubling_sizes(256, 5))
def diagonal(n):
    def f(x):
        A = jnp.diag(x)
        return jnp.dot(A[:, 0], A[0, :])

    return value_and_gradient(f, random_points(n))


@trap(doubling_sizes(16_384, 6))
def product(n):
    return value_and_gradient(jnp.prod, 0.5 + random_points(n))


@trap(doubling_sizes(1000, 6))
def product_folded(n):
    def f(x):
        return lax.fori_loop(0, n, lambda i, p: p * x[i], 1.0)

    return value_and_gradient(f, 0.5 + random_points(n))


@trap(doubling_sizes(16_384, 6))
def gather(n):
    indices = jnp.asarray(np.random.default_rng(3).integers(0, n, n))
    return value_and_gradient(lambda x: jnp.sum(x[indices] ** 2), random_points(n))


@trap(doubling_sizes(16_384, 6))
def gather_reversed(n):
    weights = jnp.arange(1.0, n + 1)
    return value_and_gradient(lambda x: jnp.sum(weights * jnp.sin(x[::-1])), random_points(n))


@trap(doubling_sizes(16_384, 6))
def skipped(n):
    is_kept = jnp.arange(n) != 1
    return value_and_gradient(lambda x: jnp.sum(jnp.where(is_kept, x**2, 0.0)), random_points(n))


@trap(doubling_sizes(128, 5), note="4 traces")
def traces(n):
    def f(x):
        A = jnp.diag(jnp.sin(x))
        return lax.fori_loop(0, 4, lambda t, s: s + (1 + t) * jnp.trace(A), 0.0)

    return value_and_gradient(f, random_points(n))


@trap(doubling_sizes(16, 6), note="signals of 256 numbers, a kernel of 16")
def batched_fit(b):
    def f(c, x, z):
        fitted = jax.vmap(lambda row: jnp.correlate(row, c, mode="valid"))(x)
        return jnp.sum((fitted - z) ** 2)

    return value_and_gradient(f, random_points(16), random_points(b, 271), random_points(b, 256))


def compile_jax(f, args):
    return jax.jit(f).lower(*args).compile()


def min_seconds(executable, args, budget):
    """Measures the minimum processor time of at least three runs, for `budget` seconds."""
    jax.block_until_ready(executable(*args))
    times, deadline = [], time.perf_counter() + budget
    while len(times) < 3 or time.perf_counter() < deadline:
        start = time.process_time()
        jax.block_until_ready(executable(*args))
        times.append(time.process_time() - start)
    return min(times)


def temporary_bytes(executable):
    """Returns the bytes that a compiled function allocates besides its arguments and results."""
    return int(executable.memory_analysis().temp_size_in_bytes)


def growth_exponent(sizes, values):
    """Fits the slope of the logarithms over the largest sizes; None without data."""
    pairs = [(n, v) for n, v in zip(sizes, values) if v > 0][-FITTED_SIZES:]
    if len(pairs) < 2:
        return None
    n, v = np.log(np.array(pairs, dtype=float)).T
    return float(np.polyfit(n, v, 1)[0])


def measure_program(name, budget):
    """Measures the value and the gradient of a program at all its sizes."""
    sizes, build, labels = PROGRAMS[name]
    columns = {"value": [], "gradient": [], "value bytes": [], "gradient bytes": []}
    for n in sizes:
        value, gradient, args = build(n)
        # A derivative may have a direction as an argument besides those of the value.
        count = value.__code__.co_argcount if hasattr(value, "__code__") else 1
        functions = {"value": (value, args[:count]), "gradient": (gradient, args)}
        for form, (f, form_args) in functions.items():
            executable = compile_jax(f, form_args)
            columns[form].append(min_seconds(executable, form_args, budget))
            columns[f"{form} bytes"].append(temporary_bytes(executable))
        jax.clear_caches()
    result = {"sizes": sizes, "seconds": {k: [float(f"{s:.4g}") for s in columns[k]] for k in ("value", "gradient")}}
    result["bytes"] = {k: columns[f"{k} bytes"] for k in ("value", "gradient")}
    result["ratio"] = round(columns["gradient"][-1] / columns["value"][-1], 2)
    exponents = {k: growth_exponent(sizes, columns[k]) for k in columns}
    result["exponents"] = {k: None if e is None else round(e, 2) for k, e in exponents.items()}
    return result | labels


def format_row(name, row):
    exponents = {k: "—" if e is None else f"{e:.2f}" for k, e in row["exponents"].items()}
    first, last, ratio = row["sizes"][0], row["sizes"][-1], row["ratio"]
    value_us, gradient_us = (1e6 * row["seconds"][k][-1] for k in ("value", "gradient"))
    return (
        f"| `{name}` | {first:,} to {last:,} | {value_us:,.0f} | {gradient_us:,.0f} | {ratio:,.1f} "
        f"| {exponents['value']} | {exponents['gradient']} | {exponents['gradient bytes']} | {row.get('note', '')} |"
    )


PAGE_HEAD = """<!-- Written by benches/jax_traps.py. -->
# JAX on the programs of `tests/programs/traps`

The run used JAX {jax}, NumPy {numpy} and Python {python} on {machine}, in float64, on one thread. All functions were
compiled and warm.

The times are processor times at the largest size. The exponents describe the growth in the size; they are fits over the
{fitted_sizes} largest sizes. Time grows faster than work if the arrays exceed the caches. If a value takes a few
microseconds at every size, its time is that of the call.

| program | sizes | value, µs | gradient, µs | ratio | exponent of the value | exponent of the gradient | exponent of its memory | note |
|---|---|---|---|---|---|---|---|---|
"""


def format_page(versions, rows):
    head = PAGE_HEAD.format(fitted_sizes=FITTED_SIZES, **versions)
    return head + "\n".join(format_row(name, row) for name, row in rows.items()) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="runs the programs whose names contain this text; writes no file")
    parser.add_argument("--quick", action="store_true", help="makes fewer runs; writes no file")
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
            rows[name] = measure_program(name, 0.05 if options.quick else 0.4)
            print(format_row(name, rows[name]), flush=True)
    if options.only or options.quick:
        return
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    json_text = f'{{"versions": {json.dumps(versions)},\n "programs": {{\n{lines}\n }}}}\n'
    (HERE / "jax_traps.json").write_text(json_text, encoding="utf-8")
    (HERE / "jax_traps.md").write_text(format_page(versions, rows), encoding="utf-8")


if __name__ == "__main__":
    main()
