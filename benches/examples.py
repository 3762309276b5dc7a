#!/usr/bin/env python3
"""Times the examples and writes the times and costs that their pages show.

Writes benches/examples/NAME.md for each example.

    cargo build --release -p lang-repl
    python3 benches/examples.py --iverson target/release/iverson
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES_FOLDER = ROOT / "benches" / "examples"
PROCESSOR_INFO = pathlib.Path("/proc/cpuinfo")
ROUNDS = 5

# For each example, the definition that it differentiates, and the sizes of its data.
COST_ARGUMENTS = {
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


def median_run_time(iverson, name):
    """Measures the median time of whole runs, in seconds.

    The runs use a copy of the example, because they save files.
    """
    times = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "examples"
        shutil.copytree(ROOT / "examples", copy)
        for _ in range(ROUNDS):
            start = time.perf_counter()
            subprocess.run([iverson, "run", f"{name}.iv"], cwd=copy / name, check=True, capture_output=True)
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def read_costs(iverson, name):
    """Returns the output of `iverson cost` for the definition of an example."""
    definition, sizes = COST_ARGUMENTS[name]
    command = [iverson, "cost", f"examples/{name}/{name}.iv", definition, "--at", sizes, "--format", "json"]
    process = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(process.stdout)


def read_processors():
    """Returns the fields of /proc/cpuinfo for each processor that this process may use."""
    if not PROCESSOR_INFO.exists():
        return []
    processors = []
    for block in PROCESSOR_INFO.read_text(encoding="utf-8").split("\n\n"):
        fields = (line.partition(":") for line in block.splitlines())
        processor = {name.strip(): value.strip() for name, _, value in fields}
        if processor.get("processor", "").isdigit():
            processors.append(processor)
    usable = os.sched_getaffinity(0)
    return [processor for processor in processors if int(processor["processor"]) in usable]


def describe_machine():
    """Returns the number of cores and the model of the processor, such as `2 cores (AMD EPYC)`."""
    processors = read_processors()
    models = [processor["model name"] for processor in processors if processor.get("model name")]
    model = models[0] if models else platform.processor() or "unknown processor"
    # Threads of one core share both numbers. Some processors report neither, so each thread counts.
    cores = {(p.get("physical id"), p.get("core id", p["processor"])) for p in processors}
    count = len(cores) or os.cpu_count() or 1
    return f"{count} {'core' if count == 1 else 'cores'} ({model})"


def format_number(n):
    return f"{n:,}"


def format_bytes(memory):
    """Formats a number of bytes, as a lower bound if `iverson cost` omits some arrays."""
    n = memory["value"]
    bound = "" if memory["exact"] else "≥ "
    for unit, size in (("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{bound}{n / size:.3g} {unit}"
    return f"{bound}{n} bytes"


def format_page(name, seconds, costs):
    """Formats a page from the median time and the output of `iverson cost`."""
    definition, _ = COST_ARGUMENTS[name]
    sizes = ", ".join(f"{size} = {n}" for size, n in costs["at"].items())
    size_phrase = f" at {sizes}" if sizes else ""
    bound = "" if costs["exact"] else "≤ "
    lines = [
        f"The whole program runs in {seconds:.2g} s on {describe_machine()}. The time includes compilation and the",
        "creation of pictures; `benches/examples.py` measures it.",
        f"`iverson cost` counts these operations and bytes for one evaluation of `{definition}`{size_phrase}:",
        "",
        "| | operations | memory |",
        "|---|---|---|",
    ]
    labels = {"primal": "value", "adjoint": "value and gradient with respect to all arguments"}
    for form, label in labels.items():
        operations, memory = costs["work"].get(form), costs["bytes"].get(form)
        if operations is not None and memory is not None:
            lines.append(f"| {label} | {bound}{format_number(operations['value'])} | {format_bytes(memory)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iverson", default=str(ROOT / "target" / "release" / "iverson"), help="path of the program")
    parser.add_argument("--only", action="append", help="runs one example; repeatable")
    options = parser.parse_args()
    iverson = str(pathlib.Path(options.iverson).resolve())
    PAGES_FOLDER.mkdir(exist_ok=True)
    for name in options.only or COST_ARGUMENTS:
        page = format_page(name, median_run_time(iverson, name), read_costs(iverson, name))
        (PAGES_FOLDER / f"{name}.md").write_text(page, encoding="utf-8")
        print(f"{name}\n{page}")


if __name__ == "__main__":
    main()
