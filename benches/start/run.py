"""Times the start of a process up to its first gradient, in Iverson and JAX, in one run.

    pip install -r tests/golden/requirements-jax.txt
    cargo build --release --package lang-repl
    python3 benches/start/run.py --iverson target/release/iverson        writes start.md

Each run is a whole process: it starts, parses, checks, differentiates, generates machine code and
computes the gradient. A time is the minimum of several runs.
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

IVERSON_LOG_SUM_EXP = "def f(x: [n]f64) -> f64 = log(sum i: exp(x[i]))\ndo grad(f)([0.5, 1.0, 1.5])\n"

IVERSON_GMM = """
import "./gmm.iv" as gmm
let (n, d, k) = (20, 8, 5)
let x = for i < n, j < d: sin(f64(d * i + j))
let mu = for i < k, j < d: cos(f64(d * i + j))
let q = for i < k, j < d: 0.1 * cos(f64(i - j))
let l = for i < k, j < d * (d - 1) // 2: 0.1 * sin(f64(i + j))
let alpha = for i < k: f64(i) / 10
do gmm.jacobian(d, k, n, x, 1, 1.0, alpha, mu, q, l).alpha
"""

JAX_LOG_SUM_EXP = """
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


def min_time_ms(command):
    """Measures the minimum time of a process in milliseconds, and returns it with the output."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        process = subprocess.run(command, check=True, capture_output=True, text=True)
        times.append((time.perf_counter() - start) * 1e3)
    return min(times), process.stdout


def parse_numbers(text):
    return [float(x) for x in text.replace("[", " ").replace("]", " ").replace(",", " ").split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iverson", default="target/release/iverson", help="path of the program")
    options = parser.parse_args()
    lines = ["| | Iverson, ms | JAX, ms | JAX / Iverson |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "gmm.iv").write_text((ROOT / "examples/gradbench/gmm.iv").read_text(encoding="utf-8"), encoding="utf-8")
        peers_folder = str(ROOT / "benches/gradbench")
        for name, iverson_text, jax_text in [
            ("log of a sum of exponentials", IVERSON_LOG_SUM_EXP, JAX_LOG_SUM_EXP),
            ("gmm", IVERSON_GMM, JAX_GMM.format(peers=peers_folder)),
        ]:
            (folder / "main.iv").write_text(iverson_text, encoding="utf-8")
            (folder / "main.py").write_text(jax_text, encoding="utf-8")
            iverson_ms, iverson_output = min_time_ms([options.iverson, "run", str(folder / "main.iv")])
            jax_ms, jax_output = min_time_ms([sys.executable, str(folder / "main.py")])
            pairs = zip(parse_numbers(iverson_output), parse_numbers(jax_output), strict=True)
            difference = max(abs(a - b) for a, b in pairs)
            # The tolerance is absolute, because the programs print six digits. The negation reports
            # NaN, because comparisons with NaN are false.
            if not difference < 1e-5:
                sys.exit(f"{name}: Iverson's {iverson_output} and JAX's {jax_output} differ by {difference}")
            lines.append(f"| {name} | {iverson_ms:.0f} | {jax_ms:.0f} | {jax_ms / iverson_ms:.0f} |")
            print(lines[-1], flush=True)
    (HERE / "start.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
