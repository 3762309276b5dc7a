"""Times GradBench's tasks in Iverson beside C++, JAX and NumPy, in one run, on one core, in float64.

    pip install -r tests/golden/requirements-jax.txt
    cargo build --release --package lang-repl
    python3 benches/gradbench/run.py --iverson target/release/iverson       writes gradbench.json and gradbench.md

`--only lse --small` runs a task at small sizes and writes nothing. Iverson answers the protocol of the
suite (`iverson gradbench`); C++ is plain.cpp, built twice, with and without -ffast-math; JAX is jitted
and warm. Every peer must first reproduce the answers that the suite accepts, because peers that agree
may share a mistake. The script compares all results before it prints a time. A time is the minimum of
several runs; only ratios within one run are comparable. The limit is the rate at which NumPy's BLAS
multiplies matrices of 1000 rows in the same run. The work is the count of `iverson cost`, in which a
transcendental function is one operation.
"""

import ctypes
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from peers_common import (  # noqa: E402  first: one thread
    GLIBC,
    PEERS,
    Iverson,
    apart,
    built,
    flat,
    least,
    of_limit,
    rate,
    ratios,
    run,
    sized,
    work,
)

import numpy as np  # noqa: E402

import peers  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ACCEPTED = ROOT / "lang-repl" / "tests" / "data" / "gradbench"

# The largest sizes of the suite; for `gmm` also those with d = 64.
LARGE = [
    ("llsq", {"n": 16392, "m": 128}),
    ("lse", {"n": 1_280_000}),
    ("gmm", {"d": 32, "k": 50, "n": 1000}),
    ("gmm", {"d": 64, "k": 100, "n": 1000}),
    ("ode", {"n": 100_000, "s": 100}),
    ("kmeans", {"k": 1000, "n": 10_000, "d": 16}),
]
# Small sizes, for a quick check of the script.
SMALL = [
    ("llsq", {"n": 200, "m": 16}),
    ("lse", {"n": 1000}),
    ("gmm", {"d": 4, "k": 3, "n": 50}),
    ("ode", {"n": 100, "s": 10}),
    ("kmeans", {"k": 10, "n": 200, "d": 4}),
]
# The functions of each task: the value, then the derivative.
FUNCTIONS = {
    "llsq": ("primal", "gradient"),
    "lse": ("primal", "gradient"),
    "gmm": ("objective", "jacobian"),
    "ode": ("primal", "gradient"),
    "kmeans": ("cost", "dir"),
}


def inputs(task, size):
    """Returns the input of a task at these sizes, from a fixed seed."""
    rng = np.random.default_rng(7)
    if task == "llsq":
        return {"x": rng.normal(size=size["m"]).tolist(), "n": size["n"]}
    if task == "lse":
        return {"x": rng.normal(size=size["n"]).tolist()}
    if task == "ode":
        return {"x": rng.uniform(0.5, 1.5, size=size["n"]).tolist(), "s": size["s"]}
    if task == "kmeans":
        points = rng.uniform(size=(size["n"], size["d"]))
        # Every centroid is the nearest one of some point.
        centroids = points[: size["k"]] + 1e-3 * rng.normal(size=(size["k"], size["d"]))
        return {"points": points.tolist(), "centroids": centroids.tolist()}
    d, k, n = size["d"], size["k"], size["n"]
    return {
        "d": d,
        "k": k,
        "n": n,
        "x": rng.normal(size=(n, d)).tolist(),
        "m": 0,
        "gamma": 1.0,
        "alpha": rng.normal(size=k).tolist(),
        "mu": rng.normal(size=(k, d)).tolist(),
        "q": rng.normal(size=(k, d), scale=0.2).tolist(),
        "l": rng.normal(size=(k, d * (d - 1) // 2), scale=0.2).tolist(),
    }


class Plain:
    """The functions of plain.cpp, compiled with these flags."""

    def __init__(self, *flags):
        self.library = built(HERE / "plain.cpp", *flags)

    def function(self, task, function, given):
        """Returns a call of the function on this input, and the array that the call writes."""
        arrays = []

        def array(name):
            arrays.append(np.ascontiguousarray(given[name], dtype=float))
            return arrays[-1].ctypes.data_as(ctypes.c_void_p)

        def count(n):
            return ctypes.c_int64(n)

        if task == "llsq":
            args = [array("x"), count(len(given["x"])), count(given["n"])]
            length = len(given["x"])
        elif task == "lse":
            args = [array("x"), count(len(given["x"]))]
            length = len(given["x"])
        elif task == "ode":
            args = [array("x"), count(len(given["x"])), count(given["s"])]
            length = len(given["x"])
        elif task == "kmeans":
            points, centroids = np.shape(given["points"]), np.shape(given["centroids"])
            args = [array("points"), count(points[0]), count(points[1]), array("centroids"), count(centroids[0])]
            length = centroids[0] * centroids[1]
        else:
            sizes = [count(given[name]) for name in ("d", "k", "n")]
            rest = [array(name) for name in ("alpha", "mu", "q", "l")]
            args = [*sizes, array("x"), count(given["m"]), ctypes.c_double(given["gamma"]), *rest]
            length = sum(np.size(given[name]) for name in ("alpha", "mu", "q", "l"))
        scalar = (task, function) != ("ode", "primal") and function == FUNCTIONS[task][0]
        out = np.zeros(1 if scalar else length)
        call = getattr(self.library, f"{task}_{function}")
        # The lambda mentions `arrays`, because they must live as long as it.
        return lambda: call(*args, out.ctypes.data_as(ctypes.c_void_p)) and arrays, out


def peer_results(task, function, given, libraries):
    """Returns the results of all peers, and for each a function that computes them again."""
    nth = FUNCTIONS[task].index(function)
    by_jax = peers.jax_functions(task, given)[nth]
    results, calls = {"JAX": flat(by_jax())}, {"JAX": by_jax}
    for name, library in libraries.items():
        calls[name], out = library.function(task, function, given)
        calls[name]()
        results[name] = out.copy()
    by_numpy = peers.numpy_value(task, given) if nth == 0 else None
    if by_numpy is not None:
        results["NumPy"], calls["NumPy"] = flat(by_numpy()), by_numpy
    return results, calls


def check_definitions(tasks, libraries):
    """Compares every peer with the answers that the suite accepts; exits if one differs."""
    for task in sorted(tasks):
        for line in (ACCEPTED / f"{task}.jsonl").read_text(encoding="utf-8").splitlines():
            known = json.loads(line)
            results, _ = peer_results(task, known["function"], known["input"], libraries)
            for name, distance in apart(results, flat(known["output"])).items():
                sys.exit(f"{task} {known['function']}: {name} and the suite's answer are {distance:.1e} apart")


def rows(options):
    """Measures the chosen rows: yields one for each function of a task."""
    peak_rate = rate(options.seconds)
    iverson = Iverson(options.iverson, ROOT / "examples" / "gradbench")
    libraries = {"C++": Plain(), "C++ fast-math": Plain("-ffast-math")}
    chosen = [row for row in (SMALL if options.small else LARGE) if not options.only or row[0] in options.only]
    check_definitions({task for task, _ in chosen}, libraries)
    for task, size in chosen:
        given = inputs(task, size)
        iverson.ask(kind="define", module=task)
        for function in FUNCTIONS[task]:
            output, own_ns, compile_ns = iverson.evaluate(task, function, given, options.seconds)
            output = flat(output)
            results, calls = peer_results(task, function, given, libraries)
            times = {name: least(call, options.seconds) for name, call in calls.items()}
            for name, distance in apart(results, output).items():
                sys.exit(f"{task} {function} {size}: {name} and Iverson are {distance:.1e} apart")
            sizes = size | ({"m": 0, "t": size["d"] * (size["d"] - 1) // 2} if task == "gmm" else {})
            limit = work(options.iverson, ROOT / "examples" / "gradbench" / f"{task}.iv", function, sizes) / peak_rate
            row = {"task": task, "function": function, "size": size, "ns": own_ns, "compile_ns": compile_ns}
            yield row | {"limit_ns": limit, "peers": times}


def table(all_rows):
    """Returns the rows as a Markdown table. A ratio to a peer below 1 means that Iverson is faster."""
    peers_of = " | ".join("/ " + name for name in PEERS)
    head = f"| | sizes | Iverson, ms | compiled in, ms | of the limit | {peers_of} | gradient / value |"
    lines = [head, "|---" * (6 + len(PEERS)) + "|"]
    value_ns = None
    for row in all_rows:
        first = row["function"] == FUNCTIONS[row["task"]][0]
        over_value = "" if first or value_ns is None else f"{row['ns'] / value_ns:.1f}"
        value_ns = row["ns"] if first else value_ns
        cells = [name_of(row), sized(row["size"]), f"{row['ns'] / 1e6:.3g}"]
        cells += [format(row["compile_ns"] / 1e6, ".3g"), of_limit(row)]
        lines.append(f"| {' | '.join([*cells, *ratios(row), over_value])} |")
    return "\n".join(lines) + "\n"


WIDE = (
    "built with `-ffast-math` it adds up the 16 squares of a distance in vectors of 4; the compiler of our kernels has vectors"
    " of 2."
)

# The reason why a row takes more than twice the time of its best peer, on this machine or another.
WHY = {
    "lse primal": GLIBC + ".",
    "lse gradient": GLIBC + ", and the place of the greatest is looked for in a loop of its own.",
    "gmm objective": "JAX multiplies whole matrices, with the half that is zero; our loops are over the other half, by vectors of 2. At"
    " d = 64 JAX takes longer than Iverson.",
    "ode gradient": "a product with a cotangent asks whether that is zero, so that `0 * inf` is no NaN, which the derivative"
    " by hand does not.",
    "kmeans cost": WIDE,
    "kmeans dir": WIDE,
}


def name_of(row):
    return f"{row['task']} {row['function']}"


NOTES = (
    "\nThe limit is the rate at which NumPy's BLAS multiplies matrices of 1000 rows in the same run, for the operations that"
    " `iverson cost` counts,\nof which a transcendental function is one.\n"
)

if __name__ == "__main__":
    run(__doc__, HERE, rows, table, name_of, WHY, peers.jax, NOTES)
