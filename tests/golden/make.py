"""Computes the golden values of the test programs with NumPy and SciPy.

    python3 tests/golden/make.py              writes values.json
    python3 tests/golden/make.py --check      recomputes and compares with values.json
    python3 tests/golden/make.py --check --sample 20 --seed 7     a random part of it

Every program of ../programs (a file with a `main`) must have a value, and every value a program.
"""

import argparse
import json
import pathlib
import random
import re
import sys
import warnings

import numpy as np

import accelerate
import atl
import df
import loops
import own_algorithms
import own_language
import own_models
import own_numerics
import pdn
import registry
import std
import std_gradients
import std_nn
import std_rand
import std_signal
import std_stats
import traps
import zygote

HERE = pathlib.Path(__file__).parent
VALUES = HERE / "values.json"
SUITES = [
    accelerate,
    atl,
    df,
    loops,
    own_algorithms,
    own_language,
    own_models,
    own_numerics,
    pdn,
    std,
    std_gradients,
    std_nn,
    std_rand,
    std_signal,
    std_stats,
    traps,
    zygote,
]

TOLERANCE = registry.tolerance("again")
RTOL, ATOL = TOLERANCE["rtol"], TOLERANCE["atol"]


def program_names():
    """Returns the names of the files that define `main`."""
    root = HERE.parent / "programs"
    return sorted(
        path.relative_to(root).with_suffix("").as_posix()
        for path in root.rglob("*.iv")
        if re.search(r"^def main\(\)", path.read_text(encoding="utf-8"), re.MULTILINE)
    )


def compute(name):
    """Returns the value of one program, ready for JSON."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return registry.encode(registry.PROGRAMS[name]())


def difference(got, want, path):
    """Returns the first place at which two values differ, or None."""
    number = (int, float)
    if isinstance(got, bool) or isinstance(want, bool) or isinstance(want, (str, type(None))):
        return None if got == want and type(got) is type(want) else f"{path}: {got} is not {want}"
    if isinstance(want, number) and isinstance(got, number):
        close = abs(got - want) <= RTOL * abs(want) + ATOL
        return None if close else f"{path}: {got!r} is not {want!r}"
    if isinstance(want, list) and isinstance(got, list) and len(got) == len(want):
        pairs = ((f"{path}[{k}]", a, b) for k, (a, b) in enumerate(zip(got, want)))
    elif isinstance(want, dict) and isinstance(got, dict) and got.keys() == want.keys():
        pairs = ((f"{path}.{key}", got[key], want[key]) for key in want)
    else:
        return f"{path}: {got} has not the shape of {want}"
    found = (difference(a, b, p) for p, a, b in pairs)
    return next((d for d in found if d), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with values.json")
    parser.add_argument("--sample", type=int, help="check only this many programs")
    parser.add_argument("--seed", type=int, default=0, help="which programs to check")
    options = parser.parse_args()

    names = program_names()
    missing = sorted(set(names) ^ set(registry.PROGRAMS))
    if missing:
        sys.exit("programs without a golden value, or values without a program: " + ", ".join(missing))
    if not options.check:
        values = {name: compute(name) for name in names}
        lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
        VALUES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return
    values = json.loads(VALUES.read_text(encoding="utf-8"))
    if options.sample is not None:
        chosen = random.Random(options.seed).sample(names, min(options.sample, len(names)))
    else:
        chosen = names
        stale = sorted(set(values) ^ set(names))
        if stale:
            sys.exit("values.json does not match the programs: " + ", ".join(stale))
    wrong = [d for name in chosen if (d := difference(compute(name), values.get(name), name))]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(chosen)} golden values agree")


if __name__ == "__main__":
    main()
