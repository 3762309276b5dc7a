"""Computes the golden derivatives of the test programs.

    python3 tests/golden/derivatives.py              writes derivatives.json
    python3 tests/golden/derivatives.py --check      recomputes and compares with derivatives.json
    python3 tests/golden/derivatives.py --check --sample 40 --seed 7     a random part of it

The checks are in `derivatives_*.py`. The script computes each value by every method of its check, and fails if
two of them disagree. The methods are JAX, complex steps, fits of differences over several step sizes
(`differentiate.py`), closed forms, and the derivative of an implicit function or of a differential equation.

Writing and a full check need JAX (`requirements-jax.txt`, a download of 89 MB in addition to NumPy and SciPy).
A check of a sample does not, because every check has a method that uses NumPy alone.
"""

import argparse
import json
import pathlib
import random
import re
import sys
import time
import warnings

import numpy as np

import derivatives_accelerate
import derivatives_atl
import derivatives_df
import derivatives_edges
import derivatives_language
import derivatives_loops
import derivatives_own
import derivatives_pdn
import derivatives_solvers
import derivatives_std
import derivatives_traps
import derivatives_zygote
import registry
from checks import CHECKS, WITHOUT_DERIVATIVE

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE / "derivatives.json"
SUITES = [
    derivatives_accelerate,
    derivatives_atl,
    derivatives_df,
    derivatives_edges,
    derivatives_language,
    derivatives_loops,
    derivatives_own,
    derivatives_pdn,
    derivatives_solvers,
    derivatives_std,
    derivatives_traps,
    derivatives_zygote,
]


def program_names():
    """Returns the names of the files of ../programs."""
    root = HERE.parent / "programs"
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.iv"))


def distance(a, b):
    """Returns the greatest difference of two values, relative to the greatest magnitude in the second. It is
    infinite if they differ in shape."""
    gaps, sizes = [0.0], [0.0]

    def walk(x, y):
        if isinstance(y, (int, float)) and not isinstance(y, bool) and isinstance(x, (int, float)):
            gaps.append(abs(x - y))
            sizes.append(abs(y))
        elif isinstance(y, dict) and isinstance(x, dict) and x.keys() == y.keys():
            for key in y:
                walk(x[key], y[key])
        elif isinstance(y, list) and isinstance(x, list) and len(x) == len(y):
            for p, q in zip(x, y):
                walk(p, q)
        elif x != y:
            gaps.append(float("inf"))

    walk(a, b)
    gap, size = max(gaps), max(sizes)
    return 0.0 if gap == 0 else gap / size if size > 0 else gap


def compute(check, methods):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {m: registry.encode(plain(check.methods[m]())) for m in methods}


def plain(tree):
    """Returns the tree with arrays of float64, and with constructors in their JSON form."""
    if hasattr(tree, "args") and hasattr(tree, "name"):
        return {tree.name: [plain(item) for item in tree.args]}
    if isinstance(tree, dict):
        return {key: plain(item) for key, item in tree.items()}
    if isinstance(tree, (tuple, list)):
        return [plain(item) for item in tree]
    if tree is None or isinstance(tree, (bool, int, str)):
        return tree
    array = np.asarray(tree)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def uncovered():
    """Returns the programs without a check and without a reason, and the superfluous reasons."""
    checked = {check.program for check in CHECKS.values()}
    names = set(program_names())
    missing = sorted(names - checked - set(WITHOUT_DERIVATIVE))
    idle = sorted((set(WITHOUT_DERIVATIVE) & checked) | (set(WITHOUT_DERIVATIVE) - names))
    return [f"{name} has neither a check of its derivative nor a reason" for name in missing] + [
        f"{name} has a reason to have no derivative, and a check or no program" for name in idle
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with derivatives.json")
    parser.add_argument("--sample", type=int, help="check only this many, without JAX")
    parser.add_argument("--seed", type=int, default=0, help="which to check")
    parser.add_argument("--only", default="", help="only checks whose names match this; the others stay")
    parser.add_argument("--slow", action="store_true", help="tell which took longest")
    options = parser.parse_args()
    if options.sample is not None and not options.check:
        parser.error("a sample is for --check")

    wrong = [] if options.only else uncovered()
    names = [name for name in sorted(CHECKS) if re.search(options.only, name)]
    known = json.loads(GOLDEN.read_text(encoding="utf-8")) if options.check or options.only else {}
    if options.check and not options.only:
        stale = sorted(set(known) ^ set(names))
        wrong += [f"derivatives.json does not match the checks: {name}" for name in stale]
    if options.sample is not None:
        names = random.Random(options.seed).sample(names, min(options.sample, len(names)))
    if options.sample is None:
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")

    entries, worst, slow = {}, {}, {}
    for name in names:
        check = CHECKS[name]
        started = time.monotonic()
        methods = [m for m in check.methods if m != "jax" or options.sample is None]
        values = compute(check, methods)
        best = values[methods[0]]
        if len(entries) % 50 == 49 and options.sample is None:
            # The next check cannot reuse the functions that JAX has compiled.
            jax.clear_caches()
        slow[name] = time.monotonic() - started
        for method in methods[1:]:
            gap = distance(values[method], best)
            worst[method, methods[0]] = max(worst.get((method, methods[0]), (0.0, "")), (gap, name))
            if not gap <= check.agreement(method, methods[0]):
                wrong.append(f"{name}: {method} differs from {methods[0]} by {gap:.1e}\n  {values[method]}\n  {best}")
        if wrong and wrong[-1].startswith(f"{name}: "):
            continue
        entry = {"program": check.program, "imports": check.imports, "expr": check.expr, "value": best}
        entries[name] = entry | {"by": list(check.methods)}
        if options.check:
            found = known.get(name, {})
            gap = distance(best, found.get("value"))
            if not gap <= check.agreement(methods[0], found.get("by", ["?"])[0]):
                wrong.append(f"{name}: {found.get('value')} in derivatives.json, {best} computed")
            if any(found.get(key) != entry[key] for key in ("program", "imports", "expr")):
                wrong.append(f"{name}: derivatives.json has another expression")
    count = len(entries)
    if not options.check:
        # Values that disagree are not written.
        kept = {name: entry for name, entry in known.items() if name in CHECKS}
        entries = dict(sorted((kept | entries).items()))
        lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
        GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    if options.slow:
        for name in sorted(slow, key=slow.get)[-20:]:
            print(f"{slow[name]:.2f} s: {name}")
    if not wrong:
        print(f"{count} derivatives agree")
    for (method, other), (gap, name) in sorted(worst.items()):
        print(f"  {method} and {other}: {gap:.1e} at most, in {name}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
