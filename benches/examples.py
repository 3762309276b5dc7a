#!/usr/bin/env python3
"""Times the examples and writes the times and costs that their pages show.

Writes benches/examples/NAME.md for each example.

    cargo build --release -p lang-repl
    python3 benches/examples.py --iverson target/release/iverson
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "benches" / "examples"
ROUNDS = 5

# For each example, the definition that it differentiates, and the sizes of its data.
COSTS = {
    "attention": ("loss", "b=8,n=5,d=3,v=4"),
    "bundle": ("cost", "c=5,p=20,n=87"),
    "deblur": ("loss", "n=408,m=25"),
    "diabetes": ("loss", "n=442,d=10"),
    "digits": ("loss", "n=1347,d=64,k=10"),
    "iris": ("log_likelihood", "n=150,k=3,d=4"),
    "lynx": ("residuals", "n=20"),
    "nile": ("log_likelihood", "n=99"),
    "nmf": ("loss", "n=300,d=64,k=10"),
    "perceptron": ("loss", "n=64,d=64,h=32,k=10"),
}


def run(iverson, name):
    """Returns the median time of whole runs, in seconds. They run in a copy, because runs save files."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "examples"
        shutil.copytree(ROOT / "examples", copy)
        for _ in range(ROUNDS):
            start = time.perf_counter()
            subprocess.run([iverson, "run", f"{name}.iv"], cwd=copy / name, check=True, capture_output=True)
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def cost(iverson, name):
    """Returns the output of `iverson cost` for the definition of an example."""
    definition, sizes = COSTS[name]
    command = [iverson, "cost", f"examples/{name}/{name}.iv", definition, "--at", sizes, "--format", "json"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(output.stdout)


def number(n):
    return f"{n:,}"


def bytes_of(memory):
    """Formats a number of bytes, a lower bound if some arrays are not counted."""
    n = memory["value"]
    for unit, size in (("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{'' if memory['exact'] else '≥ '}{n / size:.3g} {unit}"
    return f"{'' if memory['exact'] else '≥ '}{n} bytes"


def page(name, seconds, costs):
    """Returns the text of a page, from the median time and the output of `iverson cost`."""
    definition, _ = COSTS[name]
    at = ", ".join(f"{size} = {n}" for size, n in costs["at"].items())
    bound = "" if costs["exact"] else "≤ "
    rows = [
        f"The whole program runs in {seconds:.2g} s, code and pictures made anew, on two cores of an AMD EPYC",
        f"(`benches/examples.py`). To evaluate `{definition}` once{f' at {at}' if at else ''} takes, by `iverson cost`:",
        "",
        "| | operations | memory |",
        "|---|---|---|",
    ]
    names = {"primal": "value", "adjoint": "value and gradient by all arguments"}
    for form, shown in names.items():
        work, memory = costs["work"].get(form), costs["bytes"].get(form)
        if work is not None and memory is not None:
            rows.append(f"| {shown} | {bound}{number(work['value'])} | {bytes_of(memory)} |")
    return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iverson", default=str(ROOT / "target" / "release" / "iverson"))
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    iverson = str(pathlib.Path(options.iverson).resolve())
    PAGES.mkdir(exist_ok=True)
    for name in options.only or COSTS:
        text = page(name, run(iverson, name), cost(iverson, name))
        (PAGES / f"{name}.md").write_text(text)
        print(f"{name}\n{text}")


if __name__ == "__main__":
    main()
