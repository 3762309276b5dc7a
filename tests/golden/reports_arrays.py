"""Reports of array programs: scatters, sorts, ties, empty axes, integers, casts, windows, signals."""

import numpy as np

from reports_table import report

JAX = "jax-ml/jax"
TORCH = "pytorch/pytorch"
NUMPY = "numpy/numpy"
PANDAS = "pandas-dev/pandas"
FUTHARK = "diku-dk/futhark"
APRIL = "phantomics/april"

NAN = float("nan")
INF = float("inf")
LEAST = -(2**63)

# Scatters and sums by index.

report(JAX, 7538, "a sum by segments, of which a negative one is dropped: values, and Jacobians by both modes",
       r"(f([1.0, 2.0, 3.0, 4.0]), jacobian(f)([1.0, 2.0, 3.0, 4.0]), for j < 4: jvp(f)([1.0, 2.0, 3.0, 4.0], for k < 4: [k == j] * 1.0))",
       [[4.0, 4.0], [[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]],
       definitions="let ids = [0, -1, 0, 1]\n"
                   "def f(x: [4]f64) -> [2]f64 = fold y = [0.0, 0.0] for i < 4: if ids[i] >= 0 then y with [ids[i]] += x[i] else y")
report(FUTHARK, 1577, "a tangent through a sum by index, whose start varies too",
       r"jvp(\(b: [3]f64, v: [4]f64): scatter_add(b, [2, 0, 2, 2], v))(([1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]), ([0.5, 0.0, -1.0], [1.0, 10.0, 100.0, 1000.0]))",
       [10.5, 0.0, 1100.0])
report(FUTHARK, 1609, "for each bin and column the row of the greatest value, the first of equals",
       "for b < 2, c < 2: argmax i if bins[i] == b: v[i, c]", [[2, 0], [1, 1]],
       definitions="let bins = [0, 1, 0, 0]\nlet v = [[1.0, 4.0], [5.0, 5.0], [3.0, 4.0], [3.0, -1.0]]")
report(FUTHARK, 2477, "sums of pairs of an array and a number, along the middle axis",
       "for k < 2: sum n < 3: (for m < 2: 100 * k + 10 * n + m, n)", [[[30, 33], 3], [[330, 333], 3]])
report(TORCH, 196702, "a product by index, with two factors at one place: tangent",
       r"jvp(\t: (let y = fold y = [t + 2, t, 3 - t] for j < 3: (let k = [1, 1, 2][j] in y with [k] = y[k] * [t - 1, 2 * t, t + 4][j]) in y[0] + 2 * y[1] - y[2]))(0.5, 1.0)",
       lambda: product_slope())
report("webmachinelearning/webnn-baseline", 121, "a scatter with two values for one place: the last counts, and has the cotangent",
       r"vjp2(\(b: [4]f64, v: [3]f64): scatter(b, [1, 3, 1], v))(([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0]), [1.0, 2.0, 3.0, 4.0])",
       [[1.0, 30.0, 3.0, 20.0], [[1.0, 0.0, 3.0, 0.0], [0.0, 4.0, 2.0]]])
report("PaddlePaddle/Paddle", 30604, "rows that a scatter replaces have no derivative by what they were",
       r"grad(\(x: [3, 2]f64, u: [2, 2]f64): (let y = scatter(x, [2, 0], u) in sum i, j: f64(2 * i + j + 1) * y[i, j]^2))([[1.0, 1.0], [1.0, 2.0], [1.0, 1.0]], [[3.0, 4.0], [5.0, 6.0]])",
       [[[0.0, 0.0], [6.0, 16.0], [0.0, 0.0]], [[30.0, 48.0], [10.0, 24.0]]])


def product_slope():
    from numpy.polynomial import Polynomial as P

    t = P([0, 1])
    f = t + 2 + 2 * t * (t - 1) * (2 * t) - (3 - t) * (t + 4)
    return float(f.deriv()(0.5))


# Ties, sorts, NaN.

report("ml-explore/mlx", 4274, "the places of the greatest and the least among NaN, as of the greatest and the least themselves",
       "for r < 4: (argmax i: x[r, i], argmin i: x[r, i])", [[1, 1], [0, 0], [2, 2], [1, 1]],
       definitions="let x = [[3.0, nan, 1.0], [nan, 1.0, nan], [1.0, 2.0, nan], [inf, nan, -inf]]")
report(NUMPY, 12490, "the order of many NaN, and of NaN among numbers", "(argsort(replicate(20, nan)), argsort([nan, 2.0, nan, -inf, inf, nan, 2.0]))",
       [list(range(20)), [3, 1, 6, 4, 0, 2, 5]])
report(NUMPY, 6357, "the order of the order of many equals, and of zeros of both signs", "(argsort(argsort(replicate(17, 2))), argsort([0.0, -0.0, 0.0, -0.0, -1.0]))",
       [list(range(17)), [4, 0, 1, 2, 3]])
report("lodash/lodash", 1482, "a stable order by a key, descending, where keys are equal or NaN",
       "let p = argsort(for i: -key[i]) in for i: p[i]", [1, 3, 0, 4, 2, 5], definitions="let key = [1.0, 2.0, nan, 2.0, 1.0, nan]")
report("EnzymeAD/Enzyme", 2002, "a running least and greatest that later equals replace: the last of equals has the gradient",
       r"grad(\(x: [5]f64): (let (a, b) = fold (a, b) = (x[0], x[0]) for i in 1..5: (if x[i] <= a then x[i] else a, if x[i] >= b then x[i] else b) in a + 10 * b))([2.0, 1.0, 3.0, 1.0, 3.0])",
       [0.0, 0.0, 0.0, 1.0, 10.0])

# Empty axes.

report(JAX, 18661, "the greatest and the least of no reals, and of none that a filter leaves",
       r"(max i < 0: 1.0, min i < 0: 1.0, max i if x[i] > 9: x[i], sum i if x[i] > 9: x[i])", [-INF, INF, -INF, 0.0], definitions="let x = [1.0, 2.0]")
report("scikit-hep/awkward-0.x", 237, "the least of no integers: refused", "for i < 2: min j < i: 10 * j", {"error": "E0504"})
report(NUMPY, 22063, "the least along an axis with elements of a table without rows: no rows",
       r"(len(for i: min j < 3: linalg.zeros(0, 3)[i, j]), for j: max i: linalg.zeros(0, 3)[i, j])", [0, [-INF, -INF, -INF]], imports="linalg")
report(APRIL, 204, "products with an empty axis, summed along it and along another",
       "let a = for i < 2, j < 0, k < 4: (i + 1) * (k + 1) in for k: sum i, j: a[i, j, k]", [0, 0, 0, 0])
report(APRIL, 13, "all and any of an empty comparison of every element with every other",
       r"let [n] a = filter(\v: v > 9, [1, 2, 3]) in (n, all i, j: a[i] == a[j], any i, j: a[i] == a[j], all i < n: 1 // 0 == 1)", [0, True, False, True])
report("isaacg1/pyth", 214, "rotations to both sides by more than the length, and of nothing",
       "(rotated([1, 2, 3, 4, 5], 2), rotated([1, 2, 3, 4, 5], -7), len(rotated(iota(0), 3)))", [[3, 4, 5, 1, 2], [4, 5, 1, 2, 3], 0],
       definitions="def rotated(x: [n]a, k: i64) -> [n]a = for i: x[(i + k) % n]")
report("jrslepak/Remora", 5, "the gradient through a rotation by a negative number",
       r"grad(\(x: [4]f64): sum i < 4: f64(i + 1) * x[(i - 3) % 4]^2)([1.0, 2.0, 3.0, 4.0])", [8.0, 4.0, 12.0, 24.0])

# Repeated indices.

report("HIPS/autograd", 115, "three arrays with indices that repeat in one of them: values and cotangents",
       r"vjp2(\(a: [2, 3, 3, 2]f64, b: [4, 3, 2]f64, c: [3, 3]f64): for k, j: sum i: a[i, j, j, i] * b[k, j, i] * c[j, j])((for i, j, k, l: f64(i - j + 2 * k * l), for i, j, k: f64(i * j - k), for i, j: f64(i + 2 * j - 1)), for k, j: f64(k - j))",
       lambda: repeated())
report("tinygrad/tinygrad", 18207, "diagonals of a tensor with the repeated index in front",
       "let a = for i < 2, j < 2, k < 3: 100 * i + 10 * j + k in (for i, k: a[i, i, k], for i: sum k: a[i, i, k])",
       [[[0, 1, 2], [110, 111, 112]], [3, 333]])
report(NUMPY, 5667, "two diagonals and a sum", "let a = for t < 2, i < 2, j < 2, k < 3, l < 3: 10000 * t + 1000 * i + 100 * j + 10 * k + l in for i, k: sum t: a[t, i, i, k, k]",
       [[10000, 10022, 10044], [12200, 12222, 12244]])


def repeated():
    i, j, k, l = np.ogrid[:2, :3, :3, :2]
    a = (i - j + 2 * k * l).astype(float)
    i, j, k = np.ogrid[:4, :3, :2]
    b = (i * j - k).astype(float)
    i, j = np.ogrid[:3, :3]
    c = (i + 2 * j - 1).astype(float)
    k, j = np.ogrid[:4, :3]
    w = (k - j).astype(float)
    value = np.einsum("ijji,kji,jj->kj", a, b, c)
    by_a, by_c = np.zeros_like(a), np.zeros_like(c)
    for p in range(2):
        for q in range(3):
            by_a[p, q, q, p] = sum(w[r, q] * b[r, q, p] * c[q, q] for r in range(4))
    for q in range(3):
        by_c[q, q] = sum(w[r, q] * a[p, q, q, p] * b[r, q, p] for r in range(4) for p in range(2))
    by_b = np.einsum("kj,ijji,jj->kji", w, a, c)
    return [value, [by_a, by_b, by_c]]


# Integers and casts.

report("davidgiven/ack", 60, "quotients and remainders of all signs", "for k: (p[k].0 // p[k].1, p[k].0 % p[k].1)", [[3, 1], [-4, 9], [-4, -9], [3, -1]],
       definitions="let p = [(31, 10), (-31, 10), (31, -10), (-31, -10)]")
report("imagingbook/imagingbook-common", 6, "remainders of negative multiples are 0, and quotients exact", "for i: ([-14, 14, -14, 0][i] % [7, -7, -7, -7][i], [-14, 14, -14, 0][i] // [7, -7, -7, -7][i])",
       [[0, -2], [0, -2], [0, 2], [0, 0]])
report("kthohr/gcem", 21, "absolute value, sign and negation of the least integer", "let m = -9223372036854775807 - 1 in (abs(m), sign(m), -m, abs(m + 1), m - 1)",
       [LEAST, -1, LEAST, 2**63 - 1, 2**63 - 1])
report("martian56/raven", 455, "powers and products of integers beyond 64 bits", "(7^30, (-3)^41, 2^63, 2^64, 3037000500 * 3037000500)",
       lambda: [wrapped(v) for v in (7**30, (-3) ** 41, 2**63, 2**64, 3037000500**2)])
report("erikd/wide-word", 87, "turns of the bits of a word by positive and negative counts",
       "for k: let r = [1, -1, 64, -60][k] in bit_or(shl(x, r), ushr(x, -r))", lambda: [turned(0x8123456789ABCDEF, r) for r in (1, -1, 64, -60)],
       definitions="let x = -9141386507638288913")
report("hew-lang/hew", 3367, "reals beyond the integers as integers", "i64([1e30, -1e30, nan, inf, -inf, 9223372036854775807.0, -9223372036854775808.0, -0.9, 2.9999999999999996])",
       [2**63 - 1, LEAST, 0, 2**63 - 1, LEAST, 2**63 - 1, LEAST, 0, 2])
report("gnuradio/volk", 400, "short reals at the greatest integer as integers, and back",
       "(i64(f32(9223372036854775807)), i64(f32(9223371487098961920)), i64(f32(16777217)), f64(f32(9007199254740993)), f64(9007199254740993))",
       [2**63 - 1, 9223371487098961920, 16777216, 9007199254740992.0, 9007199254740992.0])
report("AutoHotkey/AutoHotkey", 227, "a remainder by zero: refused", "for i < 3: 5 % i", {"error": "E0505"})


def wrapped(v):
    return (v + 2**63) % 2**64 - 2**63


def turned(x, r):
    r %= 64
    return wrapped(((x << r) | (x >> (64 - r))) % 2**64)


# Windows and signals.

report(PANDAS, 11645, "moving averages after a number of the order 1e33 has left the window", "signal.moving_average(5, [0.0, 1.0, -9e33, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])",
       [-1.8e33, -1.8e33, -1.8e33, 5.0, 6.0, 7.0], imports="signal")
report(PANDAS, 36031, "moving averages of zeros behind a great number, and behind an infinity",
       "(signal.moving_average(2, [3002399751580331.0, -0.0, 0.0, 0.0]), signal.moving_average(2, [inf, 1.0, 2.0, nan, 3.0, 4.0]))",
       [[1501199875790165.5, 0.0, 0.0], [INF, 1.5, NAN, NAN, 3.5]], imports="signal")
report(NUMPY, 11439, "a broken line at the places of its points, one of them infinite",
       "for i: signal.interpolate(signal.Hold, [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, inf, 4.0], [1.0, 1.5, 2.0, 2.5, 4.0][i])", [1.0, 1.5, 2.0, INF, 4.0],
       imports="signal", verdict="mended: NaN at the points on either side of the infinite one")
report("JuliaMath/Interpolations.jl", 459, "a broken line that begins at minus infinity, at its second point and beyond",
       "for i: signal.interpolate(signal.Hold, [1.0, 2.0, 3.0], [-inf, 0.0, 1.0], [1.5, 2.0, 2.5][i])", [-INF, 0.0, 0.5], imports="signal")
report("montanaflynn/stats", 132, "a broken line at its points, between numbers of very different sizes, and of the greatest",
       "(signal.interpolate(signal.Hold, [1.0, 2.0, 3.0], [1e16, 1.0, 1.0], 2.0), signal.interpolate(signal.Hold, [0.0, 1.0], [-1.5e308, 1.5e308], 0.5))", [1.0, 0.0],
       imports="signal")
report("JuliaMath/Interpolations.jl", 375, "a broken line beyond its ends, held and extended: values and slopes",
       r"for i: let x = [-1.0, 5.0][i] in (value_and_grad(\x: signal.interpolate(signal.Hold, [0.0, 1.0, 3.0], [0.0, 10.0, 20.0], x))(x), value_and_grad(\x: signal.interpolate(signal.Extend, [0.0, 1.0, 3.0], [0.0, 10.0, 20.0], x))(x))",
       [[[0.0, 0.0], [-10.0, 10.0]], [[20.0, 0.0], [30.0, 5.0]]], imports="signal")
report(NUMPY, 8800, "real signals of odd and even length, there and back",
       "(round_to(signal.irfft(3, signal.rfft([-9.0, 1.0, 3.0])), 9), round_to(signal.irfft(4, signal.rfft([9.0, -9.0, 1.0, 3.0])), 9), round_to(signal.irfft(1, signal.rfft([5.0,])), 9))",
       [[-9.0, 1.0, 3.0], [9.0, -9.0, 1.0, 3.0], [5.0]], imports="signal")
report("JuliaMath/FFTW.jl", 29, "gradients through the transforms of real signals of odd and even length",
       r"for n in 5..7: round_to(let x = for i < 6: [i < n] * f64(i * i - 3) in if n == 5 then concat(grad(f)(x[0..5]), [0.0,]) else grad(f)(x), 9)",
       lambda: spectra(), imports="signal",
       definitions="def f(x: [n]f64) -> f64 = let y = signal.rfft(x) in sum k: f64(k + 1) * (y.re[k]^2 + y.im[k]^2)")
report("torch/DEPRECEATED-torch7-distro", 20, "a layer with a stride that leaves a rest: the gradient has the extent of the input",
       r"grad(\(x: [1, 6]f64): sum i, j: f64(j + 1) * nn.conv1_strided(2, {weights: [[[1.0, -2.0, 3.0]]], bias: [0.5,]}, x)[i, j])([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])",
       [[1.0, -2.0, 5.0, -4.0, 6.0, 0.0]], imports="nn")
report(TORCH, 101967, "attention over a key that is masked and holds NaN in its value",
       "nn.masked_attention(\\i, j: j == 0, [[0.0, 1.0], [4.0, 5.0]], [[0.0, 1.0], [4.0, 5.0]], [[1.0, 2.0], [3.0, 4.0]])", [[1.0, 2.0], [1.0, 2.0]], imports="nn")
report(TORCH, 41508, "attention of a position that sees no key: other positions keep their gradients",
       r"grad(\(q: [2, 1]f64): nn.masked_attention(\i, j: i == 1, q, [[1.0], [2.0]], [[10.0], [20.0]])[1, 0])([[0.5], [0.0]])", [[0.0], [2.5]], imports="nn")


def spectra():
    found = []
    for n in (5, 6):
        x = np.array([i * i - 3.0 for i in range(n)])
        g = np.zeros(6)
        for k in range(n // 2 + 1):
            turn = np.exp(-2j * np.pi * k * np.arange(n) / n)
            g[:n] += 2 * (k + 1) * (turn.conj() * (turn @ x)).real
        found.append([round(v, 9) for v in g])
    return found


# Single precision, and roundings.


def short(v):
    return np.float32(v)


report("triton-lang/triton", 11610, "a product and a sum of short reals are rounded one after the other, and only to short reals",
       "(f64(f32(4097) * f32(4097) + f32(2)^-30), f64(f32(4097) * f32(4097) + 1.5), f64(f32(16777217) * f32(3)))",
       lambda: [float(short(4097) * short(4097) + short(2.0**-30)), float(short(4097) * short(4097) + short(1.5)), float(short(16777217) * short(3))])
report("triton-lang/triton", 11424, "a product less its rounded value is 0, for short and for long reals, also in sums",
       f"(for k: x[k] * y[k] - {1.4142135 * 1.7320508!r}, sum k < 2: x[k] * y[k] * (if k == 0 then 1 else -1), f64(f32(x[0]) * f32(y[0]) - f32({float(short(1.4142135) * short(1.7320508))!r})))",
       [[0.0, 0.0], 0.0, 0.0], definitions="let x = [1.4142135, 1.7320508]\nlet y = [1.7320508, 1.4142135]")
report("dotnet/roslyn", 7333, "quotients, roots and conversions of short reals are rounded once",
       "(f64(f32(1) / f32(3)), f64(f32(16777215) + f32(2)), f64(sqrt(f32(2))), f64(f32(0.1) * f32(3)), f64(f32(1e-45) / 2), f64(f32(3e38) * 2), f64(f32(x)))",
       lambda: [float(short(1) / short(3)), 16777216.0, float(np.sqrt(short(2))), float(short(0.1) * short(3)), 0.0, INF, 1 + 2.0**-23],
       definitions="let x = 1.0000000596046450")
report("FluxML/Zygote.jl", 727, "the gradient of a quotient of a short real by a number is short",
       r"(f64(grad(\(x: f32): x / 3)(f32(1))), f64(grad(\(x: f32): x * x * x)(f32(4097))), f64(grad(\(x: f32): 1 / x)(f32(3))))",
       lambda: [float(short(1) / short(3)), 50356224.0, float(-(short(1) / short(3)) / short(3))])
report("FluxML/Flux.jl", 514, "the gradient of a mean squared error of short reals, with their number as a short real",
       r"for i: f64(grad(\(p: [4]f32): (sum i: (p[i] - t[i])^2) / f32(len(t)))([f32(0.1), f32(1.7), f32(-2.3), f32(1e8)])[i])",
       lambda: [float((short(p) - short(t)) / short(2)) for p, t in ((0.1, 1), (1.7, 0.3), (-2.3, 4), (1e8, 1))],
       definitions="let t: [4]f32 = [1, 0.3, 4, 1]")
