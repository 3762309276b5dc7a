"""Computes what the examples on real data find, with NumPy and SciPy and by other ways than the programs take.

    python3 tests/golden/examples.py              writes examples.json
    python3 tests/golden/examples.py --check      recomputes and compares with examples.json

EXAMPLES has a function for every directory of ../../examples with a recorded output. It maps Iverson expressions
over the definitions of the program to their values. A published number is compared with the computed one here.
"""

import argparse
import json
import pathlib
import sys

import numpy as np

import examples_fits
import examples_models
import registry

HERE = pathlib.Path(__file__).parent
VALUES = HERE / "examples.json"
EXAMPLES = examples_fits.EXAMPLES | examples_models.EXAMPLES


def distance(got, want):
    """Returns the difference of two values, relative to the greatest number in the second; infinite if unlike."""
    if isinstance(want, (list, float)) and not isinstance(want, bool):
        got, want = np.array(got, dtype=float), np.array(want, dtype=float)
        if got.shape != want.shape:
            return np.inf
        return np.max(np.abs(got - want), initial=0.0) / max(1e-300, np.max(np.abs(want), initial=0.0))
    return 0.0 if got == want and type(got) is type(want) else np.inf


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with examples.json")
    options = parser.parse_args()

    # The modules of gradbench have no data of their own; its tests supply some.
    paths = (path for path in (HERE.parent.parent / "examples").iterdir() if any(path.glob("*.out")))
    folders = sorted(path.name for path in paths)
    missing = sorted(set(folders) ^ set(EXAMPLES))
    if missing:
        sys.exit("examples without values, or values without an example: " + ", ".join(missing))
    values = {
        name: {expr: registry.encode(value) for expr, value in EXAMPLES[name]().items()} for name in folders
    }
    if not options.check:
        parts = []
        for name, entries in values.items():
            lines = (f"  {json.dumps(expr)}: {json.dumps(value)}" for expr, value in entries.items())
            parts.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
        VALUES.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
        return
    known = json.loads(VALUES.read_text(encoding="utf-8"))
    near = registry.tolerance("examples again")["rtol"]
    wrong = []
    for name in sorted(set(known) | set(values)):
        old, new = known.get(name, {}), values.get(name, {})
        wrong += [f"{name}: `{expr}` is in one of both only" for expr in sorted(set(old) ^ set(new))]
        for expr in sorted(set(old) & set(new)):
            gap = distance(new[expr], old[expr])
            if not gap <= near:
                wrong.append(f"{name}: `{expr}` differs by {gap:.1e}")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{sum(map(len, values.values()))} values of {len(values)} examples agree")


if __name__ == "__main__":
    main()
