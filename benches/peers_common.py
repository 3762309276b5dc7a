"""Shared code of the benchmarks: threads, pages, GradBench's protocol, C++, timing and tables.

Import this module before NumPy and JAX, because it limits the number of threads.
"""

import argparse
import ctypes
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

# Large pages, which NumPy and Iverson also use. Python restarts with this variable, because the C
# library reads it at the start of a process.
_LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
if sys.platform == "linux" and os.environ | _LARGE_PAGES != os.environ:
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | _LARGE_PAGES)

# One thread. The limit precedes the imports, because libraries start their threads on import.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402

# Results may differ by rounding, because peers add many terms in other orders.
RELATIVE_TOLERANCE = 1e-6
PEERS = ["C++", "C++ fast-math", "JAX", "NumPy"]


def flatten(result):
    """Flattens a result to one array; the fields of a record follow GradBench's order of names."""
    if isinstance(result, dict):
        return np.concatenate([flatten(result[name]) for name in ("alpha", "mu", "q", "l")])
    if isinstance(result, tuple):
        return np.concatenate([flatten(part) for part in result])
    try:
        return np.array(result, dtype=float).ravel()
    except ValueError:
        # A tuple in JSON is a list, and its parts may differ in shape.
        return np.concatenate([flatten(part) for part in result])


def min_time_ns(f, seconds):
    """Measures the minimum time of at least five calls, in nanoseconds."""
    f()
    minimum, calls, first_start = float("inf"), 0, time.perf_counter()
    while calls < 5 or time.perf_counter() - first_start < seconds:
        start = time.perf_counter_ns()
        f()
        minimum = min(minimum, time.perf_counter_ns() - start)
        calls += 1
    return minimum


def differing_peers(results, output):
    """Returns the peers whose results differ from `output`, with their largest relative errors."""
    errors = {}
    for name, result in results.items():
        scale = max(1e-300, np.max(np.abs(result)))
        error = np.max(np.abs(result - output)) / scale
        # The negation reports NaN, because comparisons with NaN are false.
        if not error <= RELATIVE_TOLERANCE:
            errors[name] = error
    return errors


def plain_environment():
    """Returns the environment without the page setting, because Iverson's allocator chooses its pages."""
    return {name: value for name, value in os.environ.items() if name not in _LARGE_PAGES}


class Iverson:
    """A process that answers GradBench's protocol for the modules of a folder."""

    def __init__(self, program, folder):
        command = [program, "gradbench", "--dir", folder]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=plain_environment())
        self.id = 0

    def send_request(self, **message):
        """Sends a message and returns the response; exits if the response reports an error."""
        self.id += 1
        self.process.stdin.write(json.dumps({"id": self.id, **message}) + "\n")
        self.process.stdin.flush()
        response = json.loads(self.process.stdout.readline())
        if not response.get("success", True):
            sys.exit(f"{message.get('module')}: {response.get('error')}")
        return response

    def evaluate(self, module, function, arguments, seconds):
        """Returns the output, the minimum time and the compile time, both in nanoseconds."""
        request_input = arguments | {"min_runs": 5, "min_seconds": seconds}
        response = self.send_request(kind="evaluate", module=module, function=function, input=request_input)
        timings = response["timings"]
        evaluate_ns = [t["nanoseconds"] for t in timings if t["name"] == "evaluate"]
        compile_ns = sum(t["nanoseconds"] for t in timings if t["name"] == "compile")
        return response["output"], min(evaluate_ns), compile_ns


def compile_cpp(source, *flags):
    """Compiles a C++ source with these flags and loads the library."""
    library = pathlib.Path(tempfile.mkdtemp()) / "plain.so"
    command = ["g++", "-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", *flags, "-o", library, source]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def measure_peak_rate(seconds):
    """Measures the peak rate of the processor: operations per nanosecond of NumPy's matrix product."""
    a, b = np.random.default_rng(3).normal(size=(2, 1000, 1000))
    return 2e9 / min_time_ns(lambda: a @ b, seconds)


def count_operations(program, file, function, size):
    """Counts the operations of a function at these sizes by `iverson cost`."""
    sizes = ",".join(f"{name}={n}" for name, n in size.items())
    command = [program, "cost", file, function, "--at", sizes, "--format", "json"]
    process = subprocess.run(command, check=True, capture_output=True, text=True, env=plain_environment())
    return json.loads(process.stdout)["work"]["primal"]["value"]


def percent_of_peak(row):
    """Formats the percentage of the peak rate that a row reaches; empty if it counts no operation."""
    percent = 100 * row["limit_ns"] / row["ns"]
    return f"{percent:.0f} %" if percent >= 1 else "< 1 %" if percent > 0 else ""


def format_sizes(sizes):
    return ", ".join(f"{name} = {n:,}" for name, n in sizes.items())


def format_ratios(row):
    """Formats the row's time divided by each peer's time; below 1 Iverson is faster."""
    return [format_ratio(row["ns"] / row["peers"][name]) if name in row["peers"] else "" for name in PEERS]


def format_ratio(ratio):
    return "< 0.01" if ratio < 0.01 else f"{ratio:.2f}" if ratio < 100 else f"{ratio:,.0f}"


def slow_rows(rows, row_name, reasons):
    """Returns a Markdown list of the rows that take more than twice the time of their fastest peer."""
    lines = []
    for row in rows:
        name = row_name(row)
        peer, peer_ns = min(row["peers"].items(), key=lambda item: item[1])
        if row["ns"] > 2 * peer_ns:
            sentence = f"- `{name}` takes {row['ns'] / peer_ns:.1f} times as long as {peer}."
            lines.append(f"{sentence} {reasons.get(name, '')}".rstrip())
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def run_benchmark(description, folder, measure_rows, format_table, row_name, reasons, jax, notes=""):
    """Measures and prints the selected rows, and writes the table of all rows to the folder."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--iverson", default="target/release/iverson", help="path of the program")
    parser.add_argument("--only", action="append", help="runs one row or task and writes no file; repeatable")
    parser.add_argument("--small", action="store_true", help="runs small sizes and writes no file")
    parser.add_argument("--seconds", type=float, default=1.0, help="minimum duration of the runs of each function")
    options = parser.parse_args()
    rows = []
    for row in measure_rows(options):
        rows.append(row)
        print(format_table([row]).splitlines()[-1], flush=True)
    if options.only or options.small:
        return
    versions = {"python": platform.python_version(), "jax": jax.__version__, "numpy": np.__version__}
    text = json.dumps({"about": versions, "rows": rows}, indent=1) + "\n"
    (folder / f"{folder.name}.json").write_text(text, encoding="utf-8")
    page = format_table(rows) + notes + slow_rows(rows, row_name, reasons)
    (folder / f"{folder.name}.md").write_text(page, encoding="utf-8")
