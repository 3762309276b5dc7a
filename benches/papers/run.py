"""Times the papers' gradients and Jacobians beside C++, JAX and NumPy, in one run, on one core.

    pip install -r tests/golden/requirements-jax.txt
    cargo build --release --package lang-repl
    python3 benches/papers/run.py --iverson target/release/iverson       writes papers.json and papers.md

`--only by_signal` runs one row, `--small` small sizes; both write nothing. All numbers are float64.
Iverson answers the protocol of GradBench for the modules of programs/; C++ is plain.cpp, built twice,
with and without -ffast-math; JAX is jitted and warm; NumPy has handwritten derivatives. The script
compares all results before it prints a time. A time is the minimum of several runs; only ratios within
one run are comparable. The table omits the papers' own times, because they are of other machines.
"""

import ctypes
import dataclasses
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from peers_common import (  # noqa: E402  first: one thread
    PEERS,
    Iverson,
    apart,
    built,
    flat,
    least,
    of_limit,
    rate,
    ratios,
    run,
    sized,
    work,
)

import numpy as np  # noqa: E402

import peers  # noqa: E402

# The names of the papers in the table, by module.
PAPERS = {"df": "dF", "atl": "ATL", "pdn": "PDN", "accelerate": "Accelerate"}


@dataclasses.dataclass
class Row:
    """A derivative in a module and its primal, at the sizes of the table and at small ones."""

    name: str
    module: str
    value: str
    derivative: str
    size: dict
    small: dict


ROWS = [
    Row("dot, by one vector", "df", "dot", "dot_gradient", {"n": 1_000_000}, {"n": 100}),
    Row("greatest", "df", "greatest", "greatest_gradient", {"n": 1_000_000}, {"n": 100}),
    Row("vector + vector, Jacobian", "df", "added", "added_jacobian", {"n": 1000}, {"n": 20}),
    Row("vector * number, by the number", "df", "scaled", "scaled_derivative", {"n": 1_000_000}, {"n": 100}),
    Row("vector * number, Jacobian", "df", "scaled", "scaled_jacobian", {"n": 1000}, {"n": 20}),
    Row("NNMF, exponential, rank one", "df", "nnmf", "nnmf_gradient", {"n": 1000, "m": 1000}, {"n": 20, "m": 30}),
    Row("projection, Jacobian by the camera", "df", "projected", "projected_jacobian", {"n": 10_000}, {"n": 10}),
    Row("deconvolution, by the signal", "atl", "deconvolution", "by_signal", {"n": 100_000, "m": 16}, {"n": 50, "m": 5}),
    Row("deconvolution, by the kernel", "atl", "deconvolution", "by_kernel", {"n": 100_000, "m": 16}, {"n": 50, "m": 5}),
    Row("batched fit", "atl", "batched", "batched_gradient", {"b": 32, "n": 4096, "m": 16}, {"b": 3, "n": 50, "m": 5}),
    Row("column and row of a diagonal", "atl", "column_row", "column_row_gradient", {"n": 4000}, {"n": 20}),
    Row("dot, by both", "pdn", "dot", "dots_gradient", {"n": 1_000_000}, {"n": 100}),
    Row("sum of matrix * vector", "pdn", "sum_matvec", "sum_matvec_gradient", {"n": 1000, "m": 1000}, {"n": 20, "m": 30}),
    Row("rotation by quaternions, Jacobian", "pdn", "rotated", "rotated_jacobian", {"n": 20_000}, {"n": 10}),
    Row(
        "dense network",
        "pdn",
        "network",
        "network_gradient",
        {"h": 100, "d": 50, "k": 50, "n": 1000},
        {"h": 7, "d": 5, "k": 4, "n": 6},
    ),
    Row("particles", "pdn", "particles", "particles_gradient", {"n": 4, "steps": 1000}, {"n": 4, "steps": 10}),
    Row(
        "bundle adjustment, blocks of the Jacobian",
        "accelerate",
        "errors",
        "errors_jacobian",
        {"n": 10, "m": 200, "p": 10_000},
        {"n": 3, "m": 5, "p": 12},
    ),
]


def cameras(rng, shape):
    """Cameras that look at points about the origin, with the 11 parameters of `project`."""
    turned = rng.uniform(0.05, 0.3, size=(*shape, 3))
    centre = rng.uniform(-0.5, 0.5, size=(*shape, 3)) + [0.0, 0.0, -4.0]
    rest = [rng.uniform(1.0, 1.5, size=(*shape, 1)), rng.normal(scale=0.1, size=(*shape, 2))]
    return np.concatenate([turned, centre, *rest, rng.normal(scale=0.01, size=(*shape, 2))], axis=-1)


def inputs(row, size):
    """The arguments of a row by name, in the order of the parameters, from a fixed seed."""
    rng = np.random.default_rng(7)
    n, m = size["n"], size.get("m")
    if row.value == "dot" or row.value == "added":
        return {"u": rng.normal(size=n), "v": rng.normal(size=n)}
    if row.value == "greatest":
        return {"v": rng.normal(size=n)}
    if row.value == "scaled":
        return {"v": rng.normal(size=n), "s": 1.5}
    if row.value == "nnmf":
        return {name: rng.uniform(0.5, 1.5, size=shape) for name, shape in (("a", (n, m)), ("u", n), ("v", m))}
    if row.value == "projected":
        return {"cam": cameras(rng, ()), "points": rng.uniform(-1, 1, size=(n, 3))}
    if row.value == "deconvolution":
        return {"x": rng.normal(size=n + m - 1), "c": rng.normal(size=m), "z": rng.normal(size=n)}
    if row.value == "batched":
        b = size["b"]
        return {"x": rng.normal(size=(b, n + m - 1)), "z": rng.normal(size=(b, n)), "w": rng.normal(size=m)}
    if row.value == "sum_matvec":
        return {"a": rng.normal(size=(n, m)), "x": rng.normal(size=m)}
    if row.value == "rotated":
        return {"v": rng.normal(size=(n, 3)), "q": rng.normal(size=(n, 4))}
    if row.value == "network":
        h, d, k = size["h"], size["d"], size["k"]
        weights = {"a": rng.normal(size=(h, d)) / d**0.5, "b": rng.normal(size=h, scale=0.1)}
        weights |= {"w": rng.normal(size=(k, h)) / h**0.5, "e": rng.normal(size=k, scale=0.1)}
        return weights | {"x": rng.normal(size=(n, d)), "c": rng.normal(size=k)}
    if row.value == "particles":
        p = np.stack([0.5 * np.arange(n), np.full(n, 0.1)], axis=1)
        return {"p": p, "v": np.ones((n, 2)), "steps": size["steps"]}
    if row.value == "errors":
        p = size["p"]
        observed = np.stack([rng.integers(n, size=p), rng.integers(m, size=p)], axis=1)
        given = {"cameras": cameras(rng, (n,)), "points": rng.uniform(-1, 1, size=(m, 3))}
        given |= {"weights": rng.uniform(0.5, 1.5, size=p), "observed": observed}
        return given | {"features": rng.normal(size=(p, 2), scale=0.2)}
    return {"x": rng.normal(size=n)}


def as_json(given):
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in given.items()}


def plain(library, row, size, given, length):
    """Returns the function of plain.cpp without arguments, and the array that it writes."""
    held, args = [], []
    for value in [*size.values(), *(value for name, value in given.items() if name not in size)]:
        if isinstance(value, np.ndarray):
            held.append(np.ascontiguousarray(value))
            args.append(held[-1].ctypes.data_as(ctypes.c_void_p))
        else:
            args.append(ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value))
    out = np.zeros(length)
    call = getattr(library, f"{row.module}_{row.derivative}")
    return lambda: call(*args, out.ctypes.data_as(ctypes.c_void_p)) and held, out


def measured(options):
    most = rate(options.seconds)
    iverson = Iverson(options.iverson, HERE / "programs")
    libraries = {"C++": built(HERE / "plain.cpp"), "C++ fast-math": built(HERE / "plain.cpp", "-ffast-math")}
    for module in PAPERS:
        iverson.ask(kind="define", module=module)
    for row in ROWS:
        if options.only and row.derivative not in options.only:
            continue
        size = row.small if options.small else row.size
        given = inputs(row, size)
        asked = as_json(given)
        output, own, compiling = iverson.evaluate(row.module, row.derivative, asked, options.seconds)
        _, value, _ = iverson.evaluate(row.module, row.value, asked, options.seconds)
        output = flat(output)
        calls = {}
        for name, library in libraries.items():
            call, out = plain(library, row, size, given, len(output))
            calls[name] = [lambda call=call, out=out: (call(), out)[1]]
        calls["JAX"] = peers.jax_functions(row.derivative, list(given.values()))
        by_numpy = peers.numpy_function(row.derivative, list(given.values()))
        if by_numpy:
            calls["NumPy"] = [by_numpy]
        times = {}
        for name, ways in calls.items():
            for way in ways:
                for _, distance in apart({name: flat(way())}, output).items():
                    sys.exit(f"{row.name}: {name} and Iverson are {distance:.1e} apart")
            times[name] = min(least(way, options.seconds) for way in ways)
        limit = work(options.iverson, HERE / "programs" / f"{row.module}.iv", row.derivative, size) / most
        found = {"name": row.name, "module": row.module, "function": row.derivative, "size": size}
        yield found | {"ns": own, "limit_ns": limit, "value_ns": value, "compile_ns": compiling, "peers": times}


def table(rows):
    """Returns Iverson's time over each peer's: below 1 Iverson is faster."""
    titles = " | ".join("/ " + name for name in PEERS)
    head = f"| | paper | sizes | Iverson, ms | compiled in, ms | of the limit | {titles} | gradient / value |"
    lines = [head, "|---" * (7 + len(PEERS)) + "|"]
    for row in rows:
        cells = [row["name"], PAPERS[row["module"]], sized(row["size"]), f"{row['ns'] / 1e6:.3g}"]
        over = f"{row['ns'] / row['value_ns']:.1f}"
        cells += [format(row["compile_ns"] / 1e6, ".3g"), of_limit(row)]
        lines.append(f"| {' | '.join([*cells, *ratios(row), over])} |")
    return "\n".join(lines) + "\n"


def name_of(row):
    return row["name"]


NOTES = """
dF is "Efficient Differentiable Programming", ATL "Differentiating a Tensor Language", PDN "Parallel dual-numbers reverse AD",
Accelerate "Reverse AD for Accelerate". Gradient / value is of Iverson alone. The limit is what the processor does at most, as for
GradBench; where `iverson cost` counts no operation there is none: memory bounds what is left.

Where a gradient is an argument, as of `dot`, Iverson gives the argument itself, and the peers copy it. What takes less than
10 µs is a call and little else: one of C++ from Python takes 1 to 2 µs. `column and row of a diagonal` is at the size where
JAX, which makes the matrix and its cotangent, takes 0.1 s. `particles` has the paper's size, and `dense network` the paper's
layers, with a batch of inputs and outputs that are weighted, since the sum of a softmax is constant. The logarithm of a sum of
exponentials stands among GradBench's tasks.
"""

# The reason why a row takes more than twice the time of its best peer, on this machine or another.
WHY = {
    "greatest": "the greatest is looked for one by one, with a test for NaN; NumPy looks by vectors.",
    "NNMF, exponential, rank one": "the adjoint divides three times for each entry, by hand it is once; and the compiler of"
    " our kernels has vectors of 2.",
    "deconvolution, by the signal": "each step adds a window to the cotangent, over the one before and shifted by one. Written as a"
    " sum over the kernel for each place it takes a quarter, in Iverson too.",
    "deconvolution, by the kernel": "the compiler of our kernels has vectors of 2.",
    "sum of matrix * vector": "the compiler of our kernels has vectors of 2.",
    "particles": "the loop over the steps is innermost, so that each coordinate waits for itself; in C++ all coordinates of a"
    " step are one or two vectors.",
}


if __name__ == "__main__":
    run(__doc__, HERE, measured, table, name_of, WHY, peers.jax, NOTES)
