"""Times the papers' gradients and Jacobians beside C++, JAX and NumPy, in one run, on one core.

    pip install -r tests/golden/requirements-jax.txt
    cargo build --release --package lang-repl
    python3 benches/papers/run.py --iverson target/release/iverson       writes papers.json and papers.md

`--only by_signal` runs one row, and `--small` runs small sizes; both write no file. All numbers are
float64. Iverson answers GradBench's protocol for the modules of programs/. The script compiles
plain.cpp with and without -ffast-math. JAX's functions are compiled and warm, and NumPy has handwritten
derivatives. The script compares all results before it prints a time. A time is the minimum of several
runs; only ratios within one run are comparable. The table omits the papers' own times, because they
come from other machines.
"""

import ctypes
import dataclasses
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from peers_common import (  # noqa: E402  (first, because it limits the threads)
    PEERS,
    Iverson,
    compile_cpp,
    count_operations,
    differing_peers,
    flatten,
    format_ratios,
    format_sizes,
    measure_peak_rate,
    min_time_ns,
    percent_of_peak,
    run_benchmark,
)

import numpy as np  # noqa: E402

import peers  # noqa: E402

# The names of the papers in the table, by module.
PAPERS = {"df": "dF", "atl": "ATL", "pdn": "PDN", "accelerate": "Accelerate"}


@dataclasses.dataclass
class Row:
    """A derivative in a module and its primal, with the sizes of the table and small sizes."""

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


def random_cameras(rng, shape):
    """Returns cameras that look at points near the origin, with the 11 parameters of `project`."""
    rotation = rng.uniform(0.05, 0.3, size=(*shape, 3))
    centre = rng.uniform(-0.5, 0.5, size=(*shape, 3)) + [0.0, 0.0, -4.0]
    focal_length = rng.uniform(1.0, 1.5, size=(*shape, 1))
    principal_point = rng.normal(scale=0.1, size=(*shape, 2))
    distortion = rng.normal(scale=0.01, size=(*shape, 2))
    return np.concatenate([rotation, centre, focal_length, principal_point, distortion], axis=-1)


def row_arguments(row, size):
    """Returns the arguments of a row by name, in the order of the parameters, from a fixed seed."""
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
        return {"cam": random_cameras(rng, ()), "points": rng.uniform(-1, 1, size=(n, 3))}
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
        arguments = {"cameras": random_cameras(rng, (n,)), "points": rng.uniform(-1, 1, size=(m, 3))}
        arguments |= {"weights": rng.uniform(0.5, 1.5, size=p), "observed": observed}
        return arguments | {"features": rng.normal(size=(p, 2), scale=0.2)}
    return {"x": rng.normal(size=n)}


def to_json(arguments):
    """Converts the arrays among the arguments to lists."""
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


def prepare_call(library, row, size, arguments, length):
    """Returns the function of plain.cpp without arguments, and the array that it writes."""
    arrays, c_arguments = [], []
    for value in [*size.values(), *(value for name, value in arguments.items() if name not in size)]:
        if isinstance(value, np.ndarray):
            arrays.append(np.ascontiguousarray(value))
            c_arguments.append(arrays[-1].ctypes.data_as(ctypes.c_void_p))
        else:
            c_arguments.append(ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value))
    output = np.zeros(length)
    c_function = getattr(library, f"{row.module}_{row.derivative}")
    # The lambda mentions `arrays`, because they must live as long as the lambda.
    return lambda: c_function(*c_arguments, output.ctypes.data_as(ctypes.c_void_p)) and arrays, output


def measure_rows(options):
    """Measures the selected rows and compares their results; exits if a peer's result differs."""
    peak_rate = measure_peak_rate(options.seconds)
    iverson = Iverson(options.iverson, HERE / "programs")
    source = HERE / "plain.cpp"
    libraries = {"C++": compile_cpp(source), "C++ fast-math": compile_cpp(source, "-ffast-math")}
    for module in PAPERS:
        iverson.send_request(kind="define", module=module)
    for row in ROWS:
        if options.only and row.derivative not in options.only:
            continue
        size = row.small if options.small else row.size
        arguments = row_arguments(row, size)
        json_arguments = to_json(arguments)
        output, iverson_ns, compile_ns = iverson.evaluate(row.module, row.derivative, json_arguments, options.seconds)
        _, value_ns, _ = iverson.evaluate(row.module, row.value, json_arguments, options.seconds)
        output = flatten(output)
        calls = {}
        for name, library in libraries.items():
            call, call_output = prepare_call(library, row, size, arguments, len(output))
            calls[name] = [lambda call=call, call_output=call_output: (call(), call_output)[1]]
        calls["JAX"] = peers.jax_functions(row.derivative, list(arguments.values()))
        numpy_call = peers.numpy_function(row.derivative, list(arguments.values()))
        if numpy_call:
            calls["NumPy"] = [numpy_call]
        peer_ns = {}
        for name, formulations in calls.items():
            for formulation in formulations:
                for _, error in differing_peers({name: flatten(formulation())}, output).items():
                    sys.exit(f"{row.name}: {name} differs from Iverson by a relative error of {error:.1e}")
            peer_ns[name] = min(min_time_ns(formulation, options.seconds) for formulation in formulations)
        program = HERE / "programs" / f"{row.module}.iv"
        limit_ns = count_operations(options.iverson, program, row.derivative, size) / peak_rate
        labels = {"name": row.name, "module": row.module, "function": row.derivative, "size": size}
        times = {"ns": iverson_ns, "limit_ns": limit_ns, "value_ns": value_ns, "compile_ns": compile_ns}
        yield labels | times | {"peers": peer_ns}


def format_table(rows):
    """Formats the rows as a Markdown table. A ratio to a peer below 1 means that Iverson is faster."""
    peer_titles = " | ".join("/ " + name for name in PEERS)
    head = f"| | paper | sizes | Iverson, ms | compile time, ms | share of the limit | {peer_titles} | gradient / value |"
    lines = [head, "|---" * (7 + len(PEERS)) + "|"]
    for row in rows:
        cells = [row["name"], PAPERS[row["module"]], format_sizes(row["size"]), f"{row['ns'] / 1e6:.3g}"]
        cells += [format(row["compile_ns"] / 1e6, ".3g"), percent_of_peak(row)]
        gradient_ratio = f"{row['ns'] / row['value_ns']:.1f}"
        lines.append(f"| {' | '.join([*cells, *format_ratios(row), gradient_ratio])} |")
    return "\n".join(lines) + "\n"


def row_name(row):
    return row["name"]


NOTES = """
The papers are dF ("Efficient Differentiable Programming"), ATL ("Differentiating a Tensor Language"), PDN ("Parallel
dual-numbers reverse AD") and Accelerate ("Reverse AD for Accelerate"). Gradient / value is the ratio of Iverson's own
times. The limit is the time of a row's operations at the peak rate of the processor, as for GradBench. A row has no
limit if `iverson cost` counts no operation, because memory then bounds its time.

The gradient of `dot` by one vector is the other vector. Iverson returns that argument without a copy, and the peers
copy it. Rows below 10 µs measure mostly the call: a call of C++ from Python takes 1 to 2 µs. `column and row of a
diagonal` has a size at which JAX takes 0.1 s, because JAX stores the matrix and its cotangent. `particles` has the
paper's size, and `dense network` has the paper's layers. The network weights its outputs for a batch of inputs, because
the sum of a softmax is constant. The table omits the logarithm of a sum of exponentials, because GradBench's `lse`
measures it.
"""

VECTOR_WIDTH = "Iverson's code generator uses vectors of only 2 elements."

# Reasons for each row that takes more than twice the time of its fastest peer, on some machine.
SLOW_ROW_REASONS = {
    "greatest": "Iverson compares single elements and tests each for NaN. NumPy compares vectors of elements.",
    "NNMF, exponential, rank one": "The adjoint divides three times for each entry, and the handwritten derivative"
    f" divides once. {VECTOR_WIDTH}",
    "deconvolution, by the signal": "Each step adds a window to the cotangent, one element after the window of the"
    " previous step. The same gradient as a sum over the kernel for each element takes a quarter of the time, in Iverson"
    " too.",
    "deconvolution, by the kernel": VECTOR_WIDTH,
    "sum of matrix * vector": VECTOR_WIDTH,
    "particles": "The loop over the steps is innermost, so each iteration waits for the previous one. C++ computes all"
    " coordinates of a step in one or two vectors.",
}


if __name__ == "__main__":
    run_benchmark(__doc__, HERE, measure_rows, format_table, row_name, SLOW_ROW_REASONS, peers.jax, NOTES)
