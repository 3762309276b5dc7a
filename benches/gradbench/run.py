"""Times GradBench's tasks in Iverson beside C++, JAX and NumPy, in one run, on one core, in float64.

    pip install -r tests/golden/requirements-jax.txt
    cargo build --release --package lang-repl
    python3 benches/gradbench/run.py --iverson target/release/iverson       writes gradbench.json and gradbench.md

`--only lse --small` runs one task at small sizes and writes no file. Iverson answers the suite's
protocol (`iverson gradbench`). The script compiles plain.cpp with and without -ffast-math; JAX's
functions are compiled and warm. Every peer must first reproduce the answers that the suite accepts,
because peers that agree may share a mistake. The script compares all results before it prints a time.
A time is the minimum of several runs; only ratios within one run are comparable. The peak rate is that
of NumPy's BLAS for the product of 1000 x 1000 matrices in the same run. `iverson cost` counts the
operations, and a transcendental function counts as one.
"""

import ctypes
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from peers_common import (  # noqa: E402  (first, because it limits the threads)
    PEERS,
    Iverson,
    compile_cpp,
    count_operations,
    differing_peers,
    flatten,
    format_ratios,
    format_sizes,
    measure_peak_rate,
    min_time_ns,
    percent_of_peak,
    run_benchmark,
)

import numpy as np  # noqa: E402

import peers  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ACCEPTED_ANSWERS = ROOT / "lang-repl" / "tests" / "data" / "gradbench"

# The suite's largest sizes, and for `gmm` also sizes with d = 64.
LARGE_SIZES = [
    ("llsq", {"n": 16392, "m": 128}),
    ("lse", {"n": 1_280_000}),
    ("gmm", {"d": 32, "k": 50, "n": 1000}),
    ("gmm", {"d": 64, "k": 100, "n": 1000}),
    ("ode", {"n": 100_000, "s": 100}),
    ("kmeans", {"k": 1000, "n": 10_000, "d": 16}),
]
# Small sizes for a quick check of the script.
SMALL_SIZES = [
    ("llsq", {"n": 200, "m": 16}),
    ("lse", {"n": 1000}),
    ("gmm", {"d": 4, "k": 3, "n": 50}),
    ("ode", {"n": 100, "s": 10}),
    ("kmeans", {"k": 10, "n": 200, "d": 4}),
]
# The functions of each task: first the value, then the derivative.
FUNCTIONS = {
    "llsq": ("primal", "gradient"),
    "lse": ("primal", "gradient"),
    "gmm": ("objective", "jacobian"),
    "ode": ("primal", "gradient"),
    "kmeans": ("cost", "dir"),
}


def task_input(task, size):
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
        # Each centroid is close to a point, because a centroid without points makes the Hessian
        # singular.
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


class PlainCpp:
    """The functions of plain.cpp, compiled with these flags."""

    def __init__(self, *flags):
        self.library = compile_cpp(HERE / "plain.cpp", *flags)

    def prepare_call(self, task, function, arguments):
        """Returns a call of the function with these arguments, and the array that the call writes."""
        arrays = []

        def pointer(name):
            arrays.append(np.ascontiguousarray(arguments[name], dtype=float))
            return arrays[-1].ctypes.data_as(ctypes.c_void_p)

        def integer(n):
            return ctypes.c_int64(n)

        if task == "llsq":
            c_arguments = [pointer("x"), integer(len(arguments["x"])), integer(arguments["n"])]
            length = len(arguments["x"])
        elif task == "lse":
            c_arguments = [pointer("x"), integer(len(arguments["x"]))]
            length = len(arguments["x"])
        elif task == "ode":
            c_arguments = [pointer("x"), integer(len(arguments["x"])), integer(arguments["s"])]
            length = len(arguments["x"])
        elif task == "kmeans":
            (n, d), (k, _) = np.shape(arguments["points"]), np.shape(arguments["centroids"])
            c_arguments = [pointer("points"), integer(n), integer(d), pointer("centroids"), integer(k)]
            length = k * d
        else:
            sizes = [integer(arguments[name]) for name in ("d", "k", "n")]
            constants = [pointer("x"), integer(arguments["m"]), ctypes.c_double(arguments["gamma"])]
            parameters = [pointer(name) for name in ("alpha", "mu", "q", "l")]
            c_arguments = [*sizes, *constants, *parameters]
            length = sum(np.size(arguments[name]) for name in ("alpha", "mu", "q", "l"))
        is_scalar = (task, function) != ("ode", "primal") and function == FUNCTIONS[task][0]
        output = np.zeros(1 if is_scalar else length)
        c_function = getattr(self.library, f"{task}_{function}")
        # The lambda mentions `arrays`, because they must live as long as the lambda.
        return lambda: c_function(*c_arguments, output.ctypes.data_as(ctypes.c_void_p)) and arrays, output


def peer_results(task, function, arguments, libraries):
    """Returns the results of all peers, and for each peer a function that repeats the computation."""
    index = FUNCTIONS[task].index(function)
    jax_call = peers.jax_functions(task, arguments)[index]
    results, calls = {"JAX": flatten(jax_call())}, {"JAX": jax_call}
    for name, library in libraries.items():
        calls[name], output = library.prepare_call(task, function, arguments)
        calls[name]()
        results[name] = output.copy()
    numpy_call = peers.numpy_value(task, arguments) if index == 0 else None
    if numpy_call is not None:
        results["NumPy"], calls["NumPy"] = flatten(numpy_call()), numpy_call
    return results, calls


def check_definitions(tasks, libraries):
    """Compares every peer with the answers that the suite accepts; exits if one differs."""
    for task in sorted(tasks):
        for line in (ACCEPTED_ANSWERS / f"{task}.jsonl").read_text(encoding="utf-8").splitlines():
            answer = json.loads(line)
            function = answer["function"]
            results, _ = peer_results(task, function, answer["input"], libraries)
            for name, error in differing_peers(results, flatten(answer["output"])).items():
                sys.exit(f"{task} {function}: {name} differs from the accepted answer by a relative error of {error:.1e}")


def measure_rows(options):
    """Measures the selected rows: yields one row for each function of a task."""
    peak_rate = measure_peak_rate(options.seconds)
    iverson = Iverson(options.iverson, ROOT / "examples" / "gradbench")
    libraries = {"C++": PlainCpp(), "C++ fast-math": PlainCpp("-ffast-math")}
    all_tasks = SMALL_SIZES if options.small else LARGE_SIZES
    tasks = [(task, size) for task, size in all_tasks if not options.only or task in options.only]
    check_definitions({task for task, _ in tasks}, libraries)
    for task, size in tasks:
        arguments = task_input(task, size)
        iverson.send_request(kind="define", module=task)
        for function in FUNCTIONS[task]:
            output, iverson_ns, compile_ns = iverson.evaluate(task, function, arguments, options.seconds)
            results, calls = peer_results(task, function, arguments, libraries)
            peer_ns = {name: min_time_ns(call, options.seconds) for name, call in calls.items()}
            for name, error in differing_peers(results, flatten(output)).items():
                sys.exit(f"{task} {function} {size}: {name} differs from Iverson by a relative error of {error:.1e}")
            cost_sizes = size | ({"m": 0, "t": size["d"] * (size["d"] - 1) // 2} if task == "gmm" else {})
            source = ROOT / "examples" / "gradbench" / f"{task}.iv"
            limit_ns = count_operations(options.iverson, source, function, cost_sizes) / peak_rate
            row = {"task": task, "function": function, "size": size, "ns": iverson_ns, "compile_ns": compile_ns}
            yield row | {"limit_ns": limit_ns, "peers": peer_ns}


def format_table(rows):
    """Formats the rows as a Markdown table. A ratio to a peer below 1 means that Iverson is faster."""
    peer_titles = " | ".join("/ " + name for name in PEERS)
    head = f"| | sizes | Iverson, ms | compile time, ms | share of the limit | {peer_titles} | gradient / value |"
    lines = [head, "|---" * (6 + len(PEERS)) + "|"]
    value_ns = None
    for row in rows:
        is_value = row["function"] == FUNCTIONS[row["task"]][0]
        gradient_ratio = "" if is_value or value_ns is None else f"{row['ns'] / value_ns:.1f}"
        value_ns = row["ns"] if is_value else value_ns
        cells = [row_name(row), format_sizes(row["size"]), f"{row['ns'] / 1e6:.3g}"]
        cells += [format(row["compile_ns"] / 1e6, ".3g"), percent_of_peak(row)]
        lines.append(f"| {' | '.join([*cells, *format_ratios(row), gradient_ratio])} |")
    return "\n".join(lines) + "\n"


def row_name(row):
    return f"{row['task']} {row['function']}"


VECTOR_EXP = (
    "With `-ffast-math`, g++ calls glibc's vectorised `exp`, whose error is at most 4 units in the last place."
    " The error of Iverson's `exp` is at most 2 units."
)
VECTOR_WIDTH = (
    "With `-ffast-math`, g++ sums the 16 squares of a distance in vectors of 4 elements. Iverson's code"
    " generator uses vectors of only 2 elements."
)

# Reasons for each row that takes more than twice the time of its fastest peer, on some machine.
SLOW_ROW_REASONS = {
    "lse primal": VECTOR_EXP,
    "lse gradient": f"{VECTOR_EXP} The adjoint of `max` also finds the index of the maximum in a separate loop.",
    "gmm objective": "JAX multiplies full matrices, including their zero triangles. Iverson's loops cover only the"
    " other triangles, in vectors of 2 elements. At d = 64 JAX takes longer than Iverson.",
    "ode gradient": "Each product with a cotangent tests whether the cotangent is zero, because `0 * inf` would be"
    " NaN. The handwritten derivative omits this test.",
    "kmeans cost": VECTOR_WIDTH,
    "kmeans dir": VECTOR_WIDTH,
}

NOTES = """
The limit is the time of a row's operations at the peak rate of the processor. The peak rate is that of NumPy's BLAS for
the product of 1000 × 1000 matrices in the same run. `iverson cost` counts the operations, and a transcendental function
counts as one.
"""

if __name__ == "__main__":
    run_benchmark(__doc__, HERE, measure_rows, format_table, row_name, SLOW_ROW_REASONS, peers.jax, NOTES)
