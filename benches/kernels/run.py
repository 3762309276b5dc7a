"""Times kernels beside the machine's limits, NumPy and JAX, in one run, on one core, in float64.

    pip install -r tests/golden/requirements-jax.txt
    cargo build --release --package lang-repl --package iverson-benches
    python3 benches/kernels/run.py --iverson target/release/iverson --limits target/release/limits

The script writes kernels.md and kernels.json. A limit is a plain loop by rustc into allocated memory
(the rate of memory), or the library `gemm` (the rate of multiply-adds). A time is the minimum of three
medians. Each median is over the calls of one round, and each round measures all systems in turn.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from peers_common import format_sizes, plain_environment  # noqa: E402  (first, because it limits the threads)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 3
LARGE_VECTOR, SMALL_VECTOR = {"n": 20_000_000}, {"n": 10_000}
MATRIX = {"n": 5_000, "m": 4_000}


def softmax(xp, a):
    e = xp.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def log_sum_exp(xp, x):
    maximum = x.max()
    return maximum + xp.log(xp.exp(x - maximum).sum())


PEER_NAMES = {"limit": "the limit", "NumPy": "NumPy", "JAX": "JAX"}

# Reasons for rows that take more than twice the time of a peer: for small vectors, and by kernel.
CALL_OVERHEAD = (
    "A call takes about 2 µs, including the allocation of its result. The work on 10,000 cached elements takes no longer."
)
SLOW_ROW_REASONS = {
    "matrix_vector": "Iverson processes one row after the other, because sequential reads are fastest. The vector of"
    " 4,000 elements does not stay in the first-level cache beside the rows. Each row reads it from the second-level"
    " cache. With 1,000 columns the kernel runs at the rate of memory.",
}

# For each kernel: code, shapes of the arguments, and functions from its sizes to the bytes that it
# moves and to its operations.
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

# Each row is a kernel and its sizes.
ROWS = [
    *[(name, LARGE_VECTOR) for name in ("scaled", "combined", "dot", "total", "greatest", "stencil")],
    *[(name, MATRIX) for name in ("rows", "columns", "matrix_vector", "outer")],
    *[(name, SMALL_VECTOR) for name in ("combined", "dot", "stencil")],
    *[(name, {"n": 2_000_000}) for name in ("exponentials", "gaussians", "sigmoids", "sines", "tanhs", "log_sum_exp")],
    *[(name, SMALL_VECTOR) for name in ("exponentials", "log_sum_exp")],
    ("softmax", {"n": 2_000, "m": 1_000}),
    ("product", CUBE),
    ("product_transposed", CUBE),
    ("batched", BATCH),
]


def median_seconds(call):
    """Measures the median time of at least seven calls, in seconds."""
    call()
    times, first_start = [], time.perf_counter()
    while len(times) < 7 or time.perf_counter() - first_start < 0.4:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def evaluate_shape(text, sizes):
    return tuple(eval(extent, {}, dict(sizes)) for extent in text.split(","))


def time_peers(name, sizes):
    """Measures a kernel in NumPy and in JAX, in seconds."""
    kernel, shapes, *_ = KERNELS[name]
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(-0.5, 0.5, evaluate_shape(text, sizes)) for text in shapes.split()]
    numpy_seconds = median_seconds(lambda: kernel(np, *arrays))
    jax_arrays = [jnp.asarray(x) for x in arrays]
    jax_kernel = jax.jit(lambda *args: kernel(jnp, *args))
    return numpy_seconds, median_seconds(lambda: jax_kernel(*jax_arrays).block_until_ready())


def run_program(command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env=plain_environment()).stdout


def time_iverson(options, name, sizes):
    """Measures a kernel in Iverson, in seconds."""
    size_arguments = [f"{size}={n}" for size, n in sizes.items()]
    command = [options.iverson, "bench", str(HERE / "kernels.iv"), name, *size_arguments]
    command += ["--seconds", "0.4", "--threads", "1", "--format", "json"]
    return json.loads(run_program(command))["value"]["medianNanoseconds"] / 1e9


def time_limit(options, name, sizes):
    """Measures the limit of a kernel, in seconds."""
    size_arguments = [str(sizes[size]) for size in ("b", "n", "m", "k") if size in sizes]
    return int(run_program([options.limits, name, *size_arguments])) / 1e9


def format_rate(name, sizes, seconds):
    _, _, count_bytes, count_operations = KERNELS[name]
    if count_bytes:
        return f"{count_bytes(**sizes) / seconds / 1e9:.3g} GB/s"
    if count_operations:
        return f"{count_operations(**sizes) / seconds / 1e9:.3g} Gflop/s"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iverson", default="target/release/iverson", help="path of the program")
    parser.add_argument("--limits", default="target/release/limits", help="path of the program that measures the limits")
    parser.add_argument("--only", action="append", help="runs the rows of one kernel and writes no file; repeatable")
    options = parser.parse_args()
    lines = [
        "| | sizes | Iverson, ms | rate | share of the limit | / rustc or gemm | / NumPy | / JAX |",
        "|---|---|---|---|---|---|---|---|",
    ]
    results, slow_row_lines = [], []
    for name, sizes in ROWS:
        if options.only and name not in options.only:
            continue
        rounds = []
        for _ in range(ROUNDS):
            iverson_and_limit = time_iverson(options, name, sizes), time_limit(options, name, sizes)
            rounds.append((*iverson_and_limit, *time_peers(name, sizes)))
        iverson_s, limit_s, numpy_s, jax_s = (min(column) for column in zip(*rounds))
        ratios = [f"{iverson_s / peer_s:.2f}" for peer_s in (limit_s, numpy_s, jax_s)]
        cells = [name, format_sizes(sizes), f"{iverson_s * 1e3:.3g}", format_rate(name, sizes, iverson_s)]
        lines.append("| " + " | ".join([*cells, f"{100 * limit_s / iverson_s:.0f} %", *ratios]) + " |")
        print(lines[-1], flush=True)
        peers = {"limit": limit_s, "NumPy": numpy_s, "JAX": jax_s}
        results.append({"kernel": name, "size": sizes, "seconds": iverson_s, "peers": peers})
        peer = min(peers, key=peers.get)
        if iverson_s > 2 * peers[peer]:
            row = f"- `{name}` at {format_sizes(sizes)} takes {iverson_s / peers[peer]:.1f} times as long as {PEER_NAMES[peer]}."
            reason = CALL_OVERHEAD if sizes == SMALL_VECTOR else SLOW_ROW_REASONS.get(name, "")
            slow_row_lines.append(f"{row} {reason}".rstrip())
    if not options.only:
        (HERE / "kernels.md").write_text("\n".join([*lines, "", *slow_row_lines]).rstrip() + "\n", encoding="utf-8")
        (HERE / "kernels.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
