"""Times kernels beside the machine's limits, NumPy and JAX, in one run, on one core, in float64.

    pip install -r tests/golden/requirements-jax.txt
    cargo build --release --package lang-repl --package iverson-benches
    python3 benches/kernels/run.py --iverson target/release/iverson --limits target/release/limits

It writes kernels.md and kernels.json. A limit is a plain loop by rustc into allocated memory (the rate
of memory), or the library `gemm` (the rate of multiply-adds). A time is the smallest of three medians
over the calls of a run; the three measurements of a row alternate between the systems.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from peers_common import alone  # noqa: E402  first: one thread

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 3
LARGE, SMALL = {"n": 20_000_000}, {"n": 10_000}
TABLE = {"n": 5_000, "m": 4_000}


def softmax(xp, a):
    e = xp.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def log_sum_exp(xp, x):
    top = x.max()
    return top + xp.log(xp.exp(x - top).sum())


NAMES = {"limit": "the limit", "NumPy": "NumPy", "JAX": "JAX"}
# Reasons for slow rows: small sizes, and others.
CALL = "a call takes about 2 µs, with its result's memory, and 10,000 elements in the cache take no more."
WHY = {
    "matrix_vector": "rows are done one after the other, as they stream best; a vector of 4,000 fills the first cache beside "
    "them and is read from the second for each row. With 1,000 columns it runs at the memory's rate.",
}

# For each kernel: code, shapes of the arguments, bytes moved and operations, by its sizes.
KERNELS = {
    "scaled": (lambda xp, x: 2.5 * x, "n", lambda n: 16 * n, None),
    "combined": (lambda xp, x, y: 1.5 * x + y, "n n", lambda n: 24 * n, None),
    "dot": (lambda xp, x, y: x @ y, "n n", lambda n: 16 * n, None),
    "total": (lambda xp, x: x.sum(), "n", lambda n: 8 * n, None),
    "greatest": (lambda xp, x: x.max(), "n", lambda n: 8 * n, None),
    "stencil": (lambda xp, x: 0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:], "n+2", lambda n: 16 * n, None),
    "exponentials": (lambda xp, x: xp.exp(x), "n", None, None),
    "gaussians": (lambda xp, x, y: xp.exp(-x * x) * y, "n n", None, None),
    "sigmoids": (lambda xp, x: 1 / (1 + xp.exp(-x)), "n", None, None),
    "sines": (lambda xp, x: xp.sin(8 * x), "n", None, None),
    "tanhs": (lambda xp, x: xp.tanh(4 * x), "n", None, None),
    "log_sum_exp": (log_sum_exp, "n", None, None),
    "rows": (lambda xp, a: a.sum(axis=1), "n,m", lambda n, m: 8 * n * m, None),
    "columns": (lambda xp, a: a.sum(axis=0), "n,m", lambda n, m: 8 * n * m, None),
    "matrix_vector": (lambda xp, a, x: a @ x, "n,m m", lambda n, m: 8 * n * m, None),
    "outer": (lambda xp, x, y: x[:, None] * y[None, :], "n m", lambda n, m: 8 * n * m, None),
    "softmax": (softmax, "n,m", None, None),
    "product": (lambda xp, a, b: a @ b, "n,k k,m", None, lambda n, m, k: 2 * n * m * k),
    "product_transposed": (lambda xp, a, b: a.T @ b.T, "k,n m,k", None, lambda n, m, k: 2 * n * m * k),
    "batched": (lambda xp, a, c: a @ c, "b,n,k b,k,m", None, lambda b, n, m, k: 2 * b * n * m * k),
}

CUBE = {"n": 1_000, "m": 1_000, "k": 1_000}
BATCH = {"b": 200, "n": 64, "m": 64, "k": 64}

# The rows: a kernel and its sizes.
ROWS = [
    *[(name, LARGE) for name in ("scaled", "combined", "dot", "total", "greatest", "stencil")],
    *[(name, TABLE) for name in ("rows", "columns", "matrix_vector", "outer")],
    *[(name, SMALL) for name in ("combined", "dot", "stencil")],
    *[(name, {"n": 2_000_000}) for name in ("exponentials", "gaussians", "sigmoids", "sines", "tanhs", "log_sum_exp")],
    *[(name, SMALL) for name in ("exponentials", "log_sum_exp")],
    ("softmax", {"n": 2_000, "m": 1_000}),
    ("product", CUBE),
    ("product_transposed", CUBE),
    ("batched", BATCH),
]


def timed(call):
    call()
    times, begun = [], time.perf_counter()
    while len(times) < 7 or time.perf_counter() - begun < 0.4:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def shape(text, sizes):
    return tuple(eval(n, {}, dict(sizes)) for n in text.split(","))


def peers(name, sizes):
    of, shapes, *_ = KERNELS[name]
    drawn = np.random.default_rng(1)
    given = [drawn.uniform(-0.5, 0.5, shape(text, sizes)) for text in shapes.split()]
    numpy = timed(lambda: of(np, *given))
    there = [jnp.asarray(x) for x in given]
    compiled = jax.jit(lambda *args: of(jnp, *args))
    return numpy, timed(lambda: compiled(*there).block_until_ready())


def ours(options, name, sizes):
    given = [f"{size}={n}" for size, n in sizes.items()]
    command = [options.iverson, "bench", str(HERE / "kernels.iv"), name, *given]
    command += ["--seconds", "0.4", "--threads", "1", "--format", "json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=alone()).stdout)
    return answer["value"]["medianNanoseconds"] / 1e9


def limit(options, name, sizes):
    order = [sizes[k] for k in ("b", "n", "m", "k") if k in sizes]
    command = [options.limits, name, *map(str, order)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, env=alone()).stdout) / 1e9


def rate(name, sizes, seconds):
    _, _, moved, operations = KERNELS[name]
    if moved:
        return f"{moved(**sizes) / seconds / 1e9:.3g} GB/s"
    if operations:
        return f"{operations(**sizes) / seconds / 1e9:.3g} Gflop/s"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iverson", default="target/release/iverson", help="the program")
    parser.add_argument("--limits", default="target/release/limits", help="the limits")
    parser.add_argument("--only", action="append", help="rows of these kernels, which writes nothing")
    options = parser.parse_args()
    lines = [
        "| | sizes | Iverson, ms | | of the limit | / rustc or gemm | / NumPy | / JAX |",
        "|---|---|---|---|---|---|---|---|",
    ]
    found, behind = [], []
    for name, sizes in ROWS:
        if options.only and name not in options.only:
            continue
        times = []
        for _ in range(ROUNDS):
            times.append((ours(options, name, sizes), limit(options, name, sizes), *peers(name, sizes)))
        own, bound, numpy, with_jax = (min(column) for column in zip(*times))
        told = ", ".join(f"{size} = {n:,}" for size, n in sizes.items())
        share = f"{100 * bound / own:.0f} %"
        ratios = [own / other for other in (bound, numpy, with_jax)]
        cells = [name, told, f"{own * 1e3:.3g}", rate(name, sizes, own), share, *(f"{r:.2f}" for r in ratios)]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
        others = {"limit": bound, "NumPy": numpy, "JAX": with_jax}
        found.append({"kernel": name, "size": sizes, "seconds": own, "peers": others})
        peer = min(others, key=others.get)
        if own > 2 * others[peer]:
            behind.append(f"- `{name}` at {told}, {own / others[peer]:.1f} times {NAMES[peer]}'s time: {CALL if sizes == SMALL else WHY.get(name, '')}")
    if not options.only:
        (HERE / "kernels.md").write_text("\n".join([*lines, "", *behind]).rstrip() + "\n", encoding="utf-8")
        (HERE / "kernels.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
