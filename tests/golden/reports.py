"""Programs drawn from public bug reports of other tools, and the log of what came of them.

    python3 tests/golden/reports.py              writes reports.json and ../reports.md
    python3 tests/golden/reports.py --check      recomputes both and compares

Each entry names a report, describes its situation in our own words, and contains an original Iverson program for
it. The scripts compute the value without Iverson: by closed forms, mpmath or NumPy.
`lang-repl/tests/reports.rs` compares it with the interpreter and with machine code.
"""

import argparse
import json
import math
import pathlib
import sys

import registry
from reports_table import REPORTS

import reports_algebra  # noqa: F401  registers its entries
import reports_arrays  # noqa: F401
import reports_control  # noqa: F401
import reports_derivatives  # noqa: F401
import reports_kinks  # noqa: F401
import reports_models  # noqa: F401
import reports_numbers  # noqa: F401
import reports_probability  # noqa: F401
import reports_readers  # noqa: F401
import reports_solvers  # noqa: F401

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE / "reports.json"
LOG = HERE.parent / "reports.md"

HEAD = """# Public reports, tried as Iverson programs

Each row is a public bug report of another tool. The program for it is ours, and so is the sentence that describes it;
no text or code of the report is here. "Agrees" means that the interpreter and machine code give the independent value
of `golden/reports.py` within the tolerance of `golden/tolerances.json`. A verdict "mended" names the fault that the
program found in Iverson; one that is "open" is wrong still, and no test. The table is written by `python3 tests/golden/reports.py`.
"""


def plain(value):
    """Returns a value with mpmath's numbers as floats."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if type(value).__module__.startswith("mpmath"):
        return float(value)
    return value


def entries():
    """Returns the content of reports.json: the program and the value of each report."""
    found = {}
    for report in REPORTS:
        if report.verdict.startswith("open"):
            continue
        value = report.value() if callable(report.value) else report.value
        found[report.key] = {
            "imports": report.imports.split(),
            "definitions": report.definitions,
            "expr": report.expr,
            "files": report.files,
            "value": registry.encode(plain(value)),
        }
    return found


def log():
    """Returns the table of all reports, by tracker."""
    lines = [HEAD]
    trackers = sorted({report.tracker for report in REPORTS}, key=str.lower)
    count = len(REPORTS)
    lines.append(f"{count} reports of {len(trackers)} trackers.\n")
    for tracker in trackers:
        lines.append(f"## {tracker}\n\n| report | situation | verdict |\n|---|---|---|")
        mine = [report for report in REPORTS if report.tracker == tracker]
        for report in sorted(mine, key=lambda r: (r.number, r.part)):
            part = f" ({report.part})" if report.part else ""
            lines.append(f"| {report.number}{part} | {report.situation} | {report.verdict} |")
        lines.append("")
    return "\n".join(lines)


def near(a, b):
    """Returns whether two JSON values are equal up to the last digits of their reals."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isclose(a, b, rel_tol=1e-13, abs_tol=1e-300)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(near(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    options = parser.parse_args()
    found, table = entries(), log()
    if options.check:
        known = json.loads(GOLDEN.read_text(encoding="utf-8"))
        wrong = [key for key in found.keys() | known.keys() if not near(found.get(key), known.get(key))]
        if LOG.read_text(encoding="utf-8") != table:
            wrong.append("reports.md")
        if wrong:
            sys.exit("not as recorded: " + ", ".join(sorted(wrong)))
        print(f"{len(found)} reports as recorded")
        return
    rows = (f"{json.dumps(key)}: {json.dumps(entry, ensure_ascii=False)}" for key, entry in sorted(found.items()))
    GOLDEN.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    LOG.write_text(table, encoding="utf-8")
    print(f"{len(found)} reports written")


if __name__ == "__main__":
    main()
