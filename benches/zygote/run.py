"""Times the programs of Table 2 of "Don't Unroll Adjoint" (Zygote, 2018): gradient over value.

    cargo build --release --package lang-repl
    python3 benches/zygote/run.py --iverson target/release/iverson       writes zygote.md

A time is the median that `iverson bench` prints, on generated values. The sizes are ours, because the
paper has none.
"""

import argparse
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent

# The program, its sizes, and Zygote's gradient over value.
ROWS = [
    ("sincos", {}, 1.3),
    ("sincos_of_all", {"n": 1000}, 1.3),
    ("steps", {"n": 1000}, 7.1),
    ("logsumexp", {"n": 100}, 2.9),
    ("logistic", {"n": 100, "d": 10}, 3.8),
    ("perceptron", {"d": 784, "h": 32, "k": 10}, 7.5),
]

NOTE = """The value of `sincos` is computed by the interpreter, at once; its gradient is a call of machine code. At many points both are
machine code, as Zygote's are.
"""


def median(answer, what):
    return answer[what]["medianNanoseconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iverson", default="target/release/iverson", help="the program")
    options = parser.parse_args()
    lines = ["| | sizes | value, µs | gradient, µs | gradient / value | Zygote's |", "|---|---|---|---|---|---|"]
    for name, sizes, theirs in ROWS:
        given = [f"{size}={n}" for size, n in sizes.items()]
        command = [options.iverson, "bench", str(HERE / "zygote.iv"), name, *given, "--format", "json"]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        value, gradient = median(answer, "value"), median(answer, "gradient")
        told = ", ".join(f"{size} = {n}" for size, n in sizes.items())
        lines.append(f"| {name} | {told} | {value / 1e3:.3g} | {gradient / 1e3:.3g} | {gradient / value:.1f} | {theirs} |")
        print(lines[-1], flush=True)
    (HERE / "zygote.md").write_text("\n".join(lines) + "\n\n" + NOTE, encoding="utf-8")


if __name__ == "__main__":
    main()
