"""Shared code of the benchmarks: threads, pages, GradBench's protocol, C++, timing and tables.

Import it first, because it limits the number of threads.
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

# Allocates in large pages, as NumPy and Iverson do; the C library reads this at its start.
_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
if sys.platform == "linux" and os.environ | _PAGES != os.environ:
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | _PAGES)

# One thread; set it before any import that starts threads.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np  # noqa: E402

# The relative tolerance, because peers sum many terms in other orders.
NEAR = 1e-6
PEERS = ["C++", "C++ fast-math", "JAX", "NumPy"]

# Reasons that occur in more than one table.
GLIBC = (
    "built with `-ffast-math` it has the `exp` of whole vectors of glibc, within 4 units in the last place; ours is within 2"
)


def flat(result):
    """Flattens a result to one array; the fields of a record follow GradBench's order of names."""
    if isinstance(result, dict):
        return np.concatenate([flat(result[name]) for name in ("alpha", "mu", "q", "l")])
    if isinstance(result, tuple):
        return np.concatenate([flat(part) for part in result])
    try:
        return np.array(result, dtype=float).ravel()
    except ValueError:
        # A tuple in JSON: a list of parts of several shapes.
        return np.concatenate([flat(part) for part in result])


def least(f, seconds):
    """Measures the minimum time of at least five calls, in nanoseconds."""
    f()
    best, runs, begun = float("inf"), 0, time.perf_counter()
    while runs < 5 or time.perf_counter() - begun < seconds:
        start = time.perf_counter_ns()
        f()
        best = min(best, time.perf_counter_ns() - start)
        runs += 1
    return best


def apart(results, output):
    """Returns the peers whose results differ from `output`, with the largest relative errors."""
    far = {}
    for name, result in results.items():
        scale = max(1e-300, np.max(np.abs(result)))
        distance = np.max(np.abs(result - output)) / scale
        if not distance <= NEAR:
            far[name] = distance
    return far


def alone():
    """Returns the environment of a program that is no peer: it chooses its own memory."""
    return {name: value for name, value in os.environ.items() if name not in _PAGES}


class Iverson:
    """A process that answers the protocol for the modules of a folder."""

    def __init__(self, program, folder):
        command = [program, "gradbench", "--dir", folder]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=alone())
        self.id = 0

    def ask(self, **message):
        self.id += 1
        self.process.stdin.write(json.dumps({"id": self.id, **message}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if not answer.get("success", True):
            sys.exit(f"{message.get('module')}: {answer.get('error')}")
        return answer

    def evaluate(self, module, function, given, seconds):
        """Returns the output, the minimum time and the compile time, both in nanoseconds."""
        asked = {"module": module, "function": function, "input": given | {"min_runs": 5, "min_seconds": seconds}}
        answer = self.ask(kind="evaluate", **asked)
        times = answer["timings"]
        evaluations = [t["nanoseconds"] for t in times if t["name"] == "evaluate"]
        compiling = sum(t["nanoseconds"] for t in times if t["name"] == "compile")
        return answer["output"], min(evaluations), compiling


def built(source, *flags):
    """Compiles a C++ source with these flags and loads it."""
    made = pathlib.Path(tempfile.mkdtemp()) / "plain.so"
    command = ["g++", "-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", *flags, "-o", made, source]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(made))


def rate(seconds):
    """Measures the peak of the processor: operations per nanosecond of NumPy's matrix product."""
    a, b = np.random.default_rng(3).normal(size=(2, 1000, 1000))
    return 2e9 / least(lambda: a @ b, seconds)


def work(program, file, function, size):
    """Counts the operations of a function at these sizes."""
    at = ",".join(f"{name}={n}" for name, n in size.items())
    command = [program, "cost", file, function, "--at", at, "--format", "json"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, env=alone()).stdout
    return json.loads(told)["work"]["primal"]["value"]


def of_limit(row):
    """Returns the fraction of the peak that a row reaches; empty if it counts no operation."""
    share = 100 * row["limit_ns"] / row["ns"]
    return f"{share:.0f} %" if share >= 1 else "< 1 %" if share > 0 else ""


def sized(size):
    return ", ".join(f"{name} = {n:,}" for name, n in size.items())


def ratios(row):
    """Returns the row's time over each peer's: below 1 the row is faster."""
    return [ratio(row["ns"] / row["peers"][name]) if name in row["peers"] else "" for name in PEERS]


def ratio(of):
    return "< 0.01" if of < 0.01 else f"{of:.2f}" if of < 100 else f"{of:,.0f}"


def behind(rows, name_of, why):
    """Returns a line for each row that takes more than twice the time of its best peer."""
    lines = []
    for row in rows:
        name = name_of(row)
        peer, best = min(row["peers"].items(), key=lambda item: item[1])
        if row["ns"] > 2 * best:
            lines.append(f"- `{name}`, {row['ns'] / best:.1f} times {peer}'s time: {why.get(name, '')}")
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def run(description, here, measured, table, name_of, why, jax, notes=""):
    """Measures and prints the selected rows, and writes the table of all rows beside the script."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--iverson", default="target/release/iverson", help="the program")
    parser.add_argument("--only", action="append", help="only this row, or this task")
    parser.add_argument("--small", action="store_true", help="at small sizes")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each function is run at least")
    options = parser.parse_args()
    found = []
    for row in measured(options):
        found.append(row)
        print(table([row]).splitlines()[-1], flush=True)
    if options.only or options.small:
        return
    about = {"python": platform.python_version(), "jax": jax.__version__, "numpy": np.__version__}
    text = json.dumps({"about": about, "rows": found}, indent=1) + "\n"
    (here / f"{here.name}.json").write_text(text, encoding="utf-8")
    (here / f"{here.name}.md").write_text(table(found) + notes + behind(found, name_of, why), encoding="utf-8")
