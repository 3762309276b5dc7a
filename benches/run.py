"""Builds, runs and plots all benchmarks beside other systems, and writes their tables.

    pip install -r tests/golden/requirements-jax.txt
    python3 benches/run.py

The machine must be idle otherwise, because other processes distort the times. `--only kernels` runs one
benchmark, and the option is repeatable.
"""

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCHMARKS = ["kernels", "gradbench", "papers", "zygote", "start"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=BENCHMARKS, help="runs one benchmark; repeatable")
    options = parser.parse_args()
    build = ["cargo", "build", "--release", "--locked", "--package", "lang-repl", "--package", "iverson-benches"]
    subprocess.run(build, check=True, cwd=ROOT)
    program_folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    for name in options.only or BENCHMARKS:
        print(f"== {name}", flush=True)
        command = [sys.executable, ROOT / "benches" / name / "run.py", "--iverson", program_folder / "iverson"]
        subprocess.run(command + (["--limits", program_folder / "limits"] if name == "kernels" else []), check=True)
    subprocess.run([sys.executable, ROOT / "benches" / "plot.py"], check=True)


if __name__ == "__main__":
    main()
