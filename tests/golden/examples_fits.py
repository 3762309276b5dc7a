"""Results of the examples that fit curves and scenes: diabetes, deblur, lynx, nile, bundle."""

import pathlib

import numpy as np
import scipy.optimize
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

EXAMPLES = {}
DATA = pathlib.Path(__file__).parent.parent.parent / "examples"


def example(function):
    """Registers a function that maps expressions to values, for the example of its name."""
    EXAMPLES[function.__name__] = function
    return function


def table(name):
    """Reads a CSV file without its header."""
    return np.loadtxt(DATA / name, delimiter=",", skiprows=1)


def published(found, printed, within):
    """Fails if a computed value differs from the published one."""
    if not np.all(np.abs(np.subtract(found, printed)) <= within):
        raise ValueError(f"{found} is not the published {printed}")


@example
def diabetes():
    data = table("diabetes/diabetes.csv")
    x, y = (data[:, :10] - data[:, :10].mean(0)) / data[:, :10].std(0), data[:, 10]
    n, d = x.shape

    def fit(rows, penalty):
        # Ridge regression is least squares with further rows; the mean is not penalised.
        more = np.hstack([np.sqrt(penalty) * np.eye(d), np.zeros((d, 1))])
        a = np.vstack([np.column_stack([x[rows], np.ones(len(rows))]), more])
        return np.linalg.lstsq(a, np.concatenate([y[rows], np.zeros(d)]), rcond=None)[0]

    everyone = np.arange(n)
    w = fit(everyone, 0.0)[:d]
    residual = y - y.mean() - x @ w
    errors = np.sqrt(residual @ residual / (n - d - 1) * np.sum(np.linalg.pinv(x) ** 2, axis=1))
    # The last row of `coef(lars(x, y))` in the R package `lars` of Efron and Hastie, whose columns have the length 1.
    published(
        w * np.sqrt(n), [-10.0, -239.8, 519.8, 324.4, -792.2, 476.7, 101.0, 177.1, 751.3, 67.6], 0.05
    )

    def left_out(penalty):
        # Leave-one-out cross-validation, one row after the other.
        misses = []
        for i in everyone:
            b = fit(np.delete(everyone, i), penalty)
            misses.append(y[i] - x[i] @ b[:d] - b[d])
        return np.sqrt(np.mean(np.square(misses)))

    penalties = [0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0]
    misses = [left_out(p) for p in penalties]
    best = penalties[int(np.argmin(misses))]
    return {
        "w": w,
        "errors": errors,
        "explained(w, x, y)": 1 - residual @ residual / np.sum((y - y.mean()) ** 2),
        "left_out": misses,
        "best": best,
        "w'": fit(everyone, best)[:d],
    }


@example
def deblur():
    x = table("deblur/ecg.csv")[:, 1]
    bell = np.exp(-(((np.arange(25) - 12) / 4) ** 2) / 2)
    kernel = bell / bell.sum()
    blur = np.array([np.convolve(row, kernel, "valid") for row in np.eye(len(x))]).T
    z = 0.005 * np.round(blur @ x / 0.005)
    bend = np.diff(np.eye(len(x)), 2, axis=0)
    restored = np.linalg.solve(blur.T @ blur + 0.01 * bend.T @ bend, blur.T @ z)

    image = read_grey(DATA / "deblur/eye.png")
    smear = np.array([np.convolve(row, np.full(9, 1 / 9), "valid") for row in np.eye(image.shape[1])])
    photo = np.round(image @ smear * 255) / 255
    light = np.full(image.shape, 0.5)
    for _ in range(200):
        light *= (photo / (light @ smear)) @ smear.T / smear.sum(1)
    error = np.sqrt(np.mean((light - image)[:, 4:68] ** 2))
    return {
        "z": z,
        "sharp.x": restored,
        "photo[20]": photo[:, 20],
        "restored[40]": light[:, 40],
        "mean_error(restored[4..68], image[4..68])": error,
    }


def read_grey(path):
    """Reads an 8-bit grey image, not interlaced, by the specification of PNG, without an image library."""
    import zlib

    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height = (int.from_bytes(body[k : k + 4], "big") for k in (0, 4))
            if body[8:] != bytes([8, 0, 0, 0, 0]):
                raise ValueError("not a grey image of 8 bits")
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    lines, before, rows = zlib.decompress(packed), [0] * width, []
    for i in range(height):
        kind, *line = lines[i * (width + 1) : (i + 1) * (width + 1)]
        row = []
        for j, value in enumerate(line):
            a, b, c = (row[j - 1], before[j], before[j - 1]) if j else (0, before[0], 0)
            nearest = min((a, b, c), key=lambda p: abs(a + b - c - p))
            row.append((value + [0, a, b, (a + b) // 2, nearest][kind]) % 256)
        rows.append(row)
        before = row
    return np.array(rows) / 255


@example
def lynx():
    data = table("lynx/lynx.csv")

    def course(p):
        a, b, c, d, *start = np.exp(p)
        return solve_ivp(
            lambda t, x: [a * x[0] - b * x[0] * x[1], d * x[0] * x[1] - c * x[1]],
            (0, 20),
            start,
            method="DOP853",
            t_eval=np.arange(21),
            rtol=1e-12,
            atol=1e-12,
        ).y

    guess = np.log([0.5, 0.025, 1.0, 0.025, 30, 4])
    fit = scipy.optimize.least_squares(
        lambda p: (np.log(course(p)) - np.log(data[:, 1:].T)).ravel(), guess, jac="3-point", xtol=1e-14, ftol=1e-14
    )
    # Means and standard deviations in Carpenter, "Predator-prey population dynamics: the Lotka-Volterra model in
    # Stan", 2018, whose prior information moves them a little.
    published(np.exp(fit.x[:4]), [0.55, 0.028, 0.80, 0.024], [0.06, 0.004, 0.09, 0.004])
    return {"best.x": fit.x, "best.value": fit.cost, "computed": course(fit.x).T}


@example
def nile():
    y = table("nile/nile.csv")[:, 1]
    n = len(y)

    def covariance(x):
        # The differences of the years are jointly normal: the level changes once, the noise of both years counts.
        noise, change = np.exp(x)
        return (2 * noise + change) * np.eye(n - 1) - noise * (np.eye(n - 1, k=1) + np.eye(n - 1, k=-1))

    def unlikelihood(x):
        v, d = covariance(x), np.diff(y)
        return (np.linalg.slogdet(v)[1] + d @ np.linalg.solve(v, d) + (n - 1) * np.log(2 * np.pi)) / 2

    # The gradient is a closed form, so that its root is accurate to the last digits.
    def slope(x):
        noise, change = np.exp(x)
        inverse, d = np.linalg.inv(covariance(x)), np.diff(y)
        z = inverse @ d
        by_noise = 2 * np.eye(n - 1) - np.eye(n - 1, k=1) - np.eye(n - 1, k=-1)
        of_noise = noise * (np.sum(inverse * by_noise) - z @ by_noise @ z) / 2
        of_change = change * (np.trace(inverse) - z @ z) / 2
        return np.array([of_noise, of_change])

    x = scipy.optimize.root(slope, np.log([15000, 1500]), tol=1e-13).x
    # Durbin and Koopman, "Time Series Analysis by State Space Methods", 2001, 2.10.3.
    published(np.exp(x), [15099, 1469.1], [1, 0.1])
    h = 1e-4
    curvature = np.array([(slope(x + h * e) - slope(x - h * e)) / (2 * h) for e in np.eye(2)])

    def level_after(t, through):
        # The level of year t by the years up to `through`: a constant, unknown, and a walk around it.
        noise, change = np.exp(x)
        seen = np.arange(through + 1)
        v = noise * np.eye(through + 1) + change * np.minimum.outer(seen, seen)
        ones = np.linalg.solve(v, np.ones(through + 1))
        constant = ones @ y[seen] / ones.sum()
        return constant + change * np.minimum(t, seen) @ np.linalg.solve(v, y[seen] - constant)

    return {
        "best.x": x,
        "best.value": unlikelihood(x),
        "errors": np.sqrt(np.diag(np.linalg.inv(curvature))),
        "[level[27], level[37], last.mean]": [level_after(27, 27), level_after(37, 37), level_after(99, 99)],
    }


@example
def bundle():
    cameras, points = table("bundle/cameras.csv"), table("bundle/points.csv")
    sights = table("bundle/observations.csv")
    camera, point = sights[:, 0].astype(int), sights[:, 1].astype(int)
    f, k1, k2 = cameras[camera, 6:].T

    def misses(p):
        poses, x = p[:30].reshape(5, 6)[camera], p[30:].reshape(20, 3)[point]
        q = Rotation.from_rotvec(poses[:, :3]).apply(x) + poses[:, 3:]
        place = -q[:, :2] / q[:, 2:]
        r2 = np.sum(place**2, axis=1)
        return ((f * (1 + k1 * r2 + k2 * r2**2))[:, None] * place - sights[:, 2:]).ravel()

    start = np.concatenate([cameras[:, :6].ravel(), points.ravel()])
    fit = scipy.optimize.least_squares(
        misses, start, jac="3-point", method="lm", xtol=1e-15, ftol=1e-15, max_nfev=100_000
    )
    poses = fit.x[:30].reshape(5, 6)
    stand = -Rotation.from_rotvec(poses[:, :3]).inv().apply(poses[:, 3:])
    way = np.linalg.norm(stand - stand[0], axis=1)
    depth = np.linalg.norm(fit.x[30:].reshape(20, 3) - stand[0], axis=1)
    return {
        "cost(start, lenses, sights)": np.sum(misses(start) ** 2) / 2,
        "cost(scene, lenses, sights)": fit.cost,
        "way": way / way[4],
        "depth": depth / way[4],
    }
