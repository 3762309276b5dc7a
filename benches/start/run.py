"""Times the start of a process up to its first gradient, in Iverson and JAX, in one run.

    pip install -r tests/golden/requirements-jax.txt
    cargo build --release --package lang-repl
    python3 benches/start/run.py --iverson target/release/iverson        writes start.md

Each run is a whole process: start, parsing, checks, derivative, machine code, value. A time is the
minimum of several runs.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RUNS = 7

SMALL = "def f(x: [n]f64) -> f64 = log(sum i: exp(x[i]))\ndo grad(f)([0.5, 1.0, 1.5])\n"

GMM = """
import "./gmm.iv" as gmm
let (n, d, k) = (20, 8, 5)
let x = for i < n, j < d: sin(f64(d * i + j))
let mu = for i < k, j < d: cos(f64(d * i + j))
let q = for i < k, j < d: 0.1 * cos(f64(i - j))
let l = for i < k, j < d * (d - 1) // 2: 0.1 * sin(f64(i + j))
let alpha = for i < k: f64(i) / 10
do gmm.jacobian(d, k, n, x, 1, 1.0, alpha, mu, q, l).alpha
"""

JAX_SMALL = """
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
print(jax.jit(jax.grad(lambda x: jnp.log(jnp.sum(jnp.exp(x)))))(jnp.array([0.5, 1.0, 1.5])))
"""

JAX_GMM = """
import sys
sys.path.insert(0, {peers!r})
import peers, jax, numpy as np
n, d, k = 20, 8, 5
x, mu = np.sin(np.arange(n * d)).reshape(n, d), np.cos(np.arange(k * d)).reshape(k, d)
q = 0.1 * np.cos(np.subtract.outer(np.arange(k), np.arange(d)))
l = 0.1 * np.sin(np.add.outer(np.arange(k), np.arange(d * (d - 1) // 2)))
alpha = np.arange(k) / 10
print(jax.jit(jax.grad(peers.gmm, argnums=(3, 4, 5, 6)))(x, 1, 1.0, alpha, mu, q, l)[0])
"""


def least(command):
    """Measures the minimum time of a process in milliseconds, and returns its output."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        times.append((time.perf_counter() - start) * 1e3)
    return min(times), done.stdout


def numbers(text):
    return [float(x) for x in text.replace("[", " ").replace("]", " ").replace(",", " ").split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iverson", default="target/release/iverson", help="the program")
    options = parser.parse_args()
    lines = ["| | Iverson, ms | JAX, ms | JAX / Iverson |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "gmm.iv").write_text((ROOT / "examples/gradbench/gmm.iv").read_text(encoding="utf-8"), encoding="utf-8")
        peers = str(ROOT / "benches/gradbench")
        for name, ours, theirs in [
            ("log of a sum of exponentials", SMALL, JAX_SMALL),
            ("gmm", GMM, JAX_GMM.format(peers=peers)),
        ]:
            (folder / "main.iv").write_text(ours, encoding="utf-8")
            (folder / "main.py").write_text(theirs, encoding="utf-8")
            own, value = least([options.iverson, "run", str(folder / "main.iv")])
            other, wanted = least([sys.executable, str(folder / "main.py")])
            apart = max(abs(a - b) for a, b in zip(numbers(value), numbers(wanted), strict=True))
            # The programs print six digits.
            if not apart < 1e-5:
                sys.exit(f"{name}: {value} and {wanted} are {apart} apart")
            lines.append(f"| {name} | {own:.0f} | {other:.0f} | {other / own:.0f} |")
            print(lines[-1], flush=True)
    (HERE / "start.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
