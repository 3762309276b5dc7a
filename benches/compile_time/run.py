#!/usr/bin/env python3
"""Growth of compile time with the length of programs.

    python3 benches/compile_time/run.py [IVERSON] [--only FAMILY] [--sizes 500,1000,2000]

Each family is a program with n statements, arms, definitions or tuple parts. For each command the
script prints the processor time at each n, and the exponent that fits the last doubling: 1 is
linear. A command that takes longer than the limit ends the row.
"""

import argparse
import math
import os
import resource
import subprocess
import tempfile

LIMIT_SECONDS = 20


def scalar_lets(n):
    lines = "".join(f"  let a{k + 1} = a{k} * x + {k}.5\n" for k in range(n))
    return f"def f(x: f64) -> f64 =\n  let a0 = x\n{lines}  let y = a{n} in\n  y\n"


def array_lets(n):
    lines = "".join(f"  let a{k + 1} = for i: a{k}[i] * x[i] + a{k}[i]\n" for k in range(n))
    return f"def f(x: [m]f64) -> f64 =\n  let a0 = x\n{lines}  let y = a{n} in\n  sum i: y[i]\n"


def else_if_chain(n):
    arms = "".join(f"if x < {k}.5 then x * {k}.0\n  else " for k in range(n))
    return f"def f(x: f64) -> f64 =\n  {arms}x\n"


def definitions(n):
    head = "def f0(x: f64) -> f64 = x * x\n"
    lines = "".join(f"def f{k + 1}(x: f64) -> f64 = f{k}(x) * x + {k}.5\n" for k in range(n))
    return f"{head}{lines}def f(x: f64) -> f64 = f{n}(x)\n"


def tuple_parts(n):
    parts = ", ".join(f"x * {k}.5" for k in range(n))
    names = ", ".join(f"a{k}" for k in range(n))
    return (
        f"def g(x: f64) -> ({', '.join(['f64'] * n)}) = ({parts})\n"
        f"def f(x: f64) -> f64 =\n  let ({names}) = g(x) in\n  {' + '.join(f'a{k}' for k in range(n))}\n"
    )


def carried_parts(n):
    carry = ", ".join(f"a{k}" for k in range(n))
    start = ", ".join(["x"] * n)
    step = ", ".join(f"a{k} * 0.5 + a{(k + 1) % n}" for k in range(n))
    names = ", ".join(f"r{k}" for k in range(n))
    return (
        f"def f(x: f64) -> f64 =\n  let ({names}) = fold ({carry}) = ({start}) for t < 10: ({step}) in\n  {' + '.join(f'r{k}' for k in range(n))}\n"
    )


FAMILIES = {
    "scalar_lets": scalar_lets,
    "array_lets": array_lets,
    "else_if_chain": else_if_chain,
    "definitions": definitions,
    "tuple_parts": tuple_parts,
    "carried_parts": carried_parts,
}

COMMANDS = {
    "check": lambda exe, file: [exe, "check", file],
    "show ssa": lambda exe, file: [exe, "show", "ssa", file, "f"],
    "show adjoint": lambda exe, file: [exe, "show", "adjoint", file, "f"],
    "cost": lambda exe, file: [exe, "cost", file, "f"],
    "run": lambda exe, file: [exe, "eval", "-l", file, "f(ARGUMENT)"],
    "grad": lambda exe, file: [exe, "eval", "-l", file, "grad(f)(ARGUMENT)"],
}


def processor_time(command):
    """Returns the processor seconds of a command, or None if it fails or exceeds the limit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        print("  failed:", " ".join(command), done.stderr.decode(errors="replace")[:300])
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("iverson", nargs="?", default="target/release/iverson")
    parser.add_argument("--only", action="append", choices=sorted(FAMILIES))
    parser.add_argument("--sizes", default="250,500,1000,2000")
    options = parser.parse_args()
    sizes = [int(n) for n in options.sizes.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        for family in options.only or FAMILIES:
            print(f"{family}, n = {', '.join(map(str, sizes))}")
            argument = "[0.5, 0.25]" if family == "array_lets" else "0.5"
            for name, command in COMMANDS.items():
                times = []
                for n in sizes:
                    file = os.path.join(folder, "program.iv")
                    with open(file, "w", encoding="utf-8") as program:
                        program.write(FAMILIES[family](n))
                    words = [word.replace("ARGUMENT", argument) for word in command(options.iverson, file)]
                    time = processor_time(words)
                    if time is None:
                        break
                    times.append(time)
                seconds = "  ".join(f"{time:6.2f}" for time in times)
                slope = ""
                if len(times) == len(sizes):
                    start = processor_time([options.iverson, "--version"]) or 0
                    last, before = (max(t - start, 1e-3) for t in (times[-1], times[-2]))
                    slope = f"exponent {math.log(last / before) / math.log(sizes[-1] / sizes[-2]):.2f}"
                print(f"  {name:<13} {seconds:<40} {slope}")


if __name__ == "__main__":
    main()
