"""Times the programs of Table 2 of "Don't Unroll Adjoint" (Zygote, 2018): gradient over value.

    cargo build --release --package lang-repl
    python3 benches/zygote/run.py --iverson target/release/iverson       writes zygote.md

A time is the median that `iverson bench` prints for generated values. The sizes are a choice of this
project, because the paper has none.
"""

import argparse
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent

# For each program, its sizes and Zygote's ratio of gradient to value.
ROWS = [
    ("sincos", {}, 1.3),
    ("sincos_of_all", {"n": 1000}, 1.3),
    ("steps", {"n": 1000}, 7.1),
    ("logsumexp", {"n": 100}, 2.9),
    ("logistic", {"n": 100, "d": 10}, 3.8),
    ("perceptron", {"d": 784, "h": 32, "k": 10}, 7.5),
]

NOTES = """
The interpreter evaluates the value of `sincos`, and its gradient is a call of machine code. At many points
(`sincos_of_all`) both are machine code, as in Zygote.
"""


def median_ns(result, form):
    return result[form]["medianNanoseconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iverson", default="target/release/iverson", help="path of the program")
    options = parser.parse_args()
    lines = [
        "| | sizes | value, µs | gradient, µs | gradient / value | gradient / value in Zygote |",
        "|---|---|---|---|---|---|",
    ]
    for name, sizes, zygote_ratio in ROWS:
        size_arguments = [f"{size}={n}" for size, n in sizes.items()]
        command = [options.iverson, "bench", str(HERE / "zygote.iv"), name, *size_arguments, "--format", "json"]
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        value_ns, gradient_ns = median_ns(result, "value"), median_ns(result, "gradient")
        sizes_text = ", ".join(f"{size} = {n}" for size, n in sizes.items())
        times = f"{value_ns / 1e3:.3g} | {gradient_ns / 1e3:.3g} | {gradient_ns / value_ns:.1f}"
        lines.append(f"| {name} | {sizes_text} | {times} | {zygote_ratio} |")
        print(lines[-1], flush=True)
    (HERE / "zygote.md").write_text("\n".join(lines) + "\n" + NOTES, encoding="utf-8")


if __name__ == "__main__":
    main()
