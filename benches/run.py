"""Builds, runs and plots all benchmarks beside other systems; writes every table of benches/.

    pip install -r tests/golden/requirements-jax.txt
    python3 benches/run.py

The machine must be idle otherwise. `--only kernels` runs that benchmark alone, and may be repeated.
"""

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCHES = ["kernels", "gradbench", "papers", "zygote", "start"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=BENCHES, help="this one")
    options = parser.parse_args()
    build = ["cargo", "build", "--release", "--locked", "--package", "lang-repl", "--package", "iverson-benches"]
    subprocess.run(build, check=True, cwd=ROOT)
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    for name in options.only or BENCHES:
        print(f"== {name}", flush=True)
        command = [sys.executable, ROOT / "benches" / name / "run.py", "--iverson", built / "iverson"]
        subprocess.run(command + (["--limits", built / "limits"] if name == "kernels" else []), check=True)
    subprocess.run([sys.executable, ROOT / "benches" / "plot.py"], check=True)


if __name__ == "__main__":
    main()
