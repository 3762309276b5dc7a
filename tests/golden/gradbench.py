"""Values for GradBench's `ba` and `ht`: writes ba.jsonl and ht.jsonl beside the accepted answers of the other tasks.

    python3 tests/golden/gradbench.py             writes lang-repl/tests/data/gradbench/{ba,ht}.jsonl
    python3 tests/golden/gradbench.py --check     compares with them

The inputs are drawn from a fixed seed. Rotations are matrix exponentials. Derivatives are complex steps: the
imaginary part of f(x + ih) / h, which subtracts no near numbers. Iverson uses neither.
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import registry
import scipy.linalg
import scipy.sparse

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "lang-repl" / "tests" / "data" / "gradbench"
STEP = 1e-40


def cross_matrix(axis):
    """Returns the matrix of the cross product with `axis`."""
    x, y, z = axis
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def derivative(f, x):
    """Returns the Jacobian of a function of a vector, with one column for each component."""
    columns = []
    for i in range(len(x)):
        moved = np.array(x, dtype=complex)
        moved[i] += 1j * STEP
        columns.append(np.imag(f(moved)) / STEP)
    return np.stack(columns, axis=-1)


# Bundle adjustment


def reprojection(params, feat):
    """Returns the weighted error of an observation. Parameters: a camera's (11), a point's (3) and the weight."""
    cam, point, weight = params[:11], params[11:14], params[14]
    local = scipy.linalg.expm(cross_matrix(cam[:3])) @ (point - cam[3:6])
    image = local[:2] / local[2]
    squared = image @ image
    return weight * (cam[6] * image * (1 + cam[9] * squared + cam[10] * squared**2) + cam[7:9] - feat)


def ba_objective(n, m, p, cam, x, w, feat):
    error = reprojection(np.array([*cam, *x, w]), np.array(feat))
    return {"reproj_error": {"elements": error, "repeated": p}, "w_err": {"element": 1 - w * w, "repeated": p}}


def ba_jacobian(n, m, p, cam, x, w, feat):
    block = derivative(lambda params: reprojection(params, np.array(feat)), [*cam, *x, w])
    entries = []
    for k in range(p):
        i, j = k % n, k % m
        cols = [*range(11 * i, 11 * i + 11), *range(11 * n + 3 * j, 11 * n + 3 * j + 3), 11 * n + 3 * m + k]
        entries += [(2 * k + row, col, value) for row in range(2) for col, value in zip(cols, block[row])]
        entries.append((2 * p + k, 11 * n + 3 * m + k, -2 * w))
    rows, cols, vals = zip(*entries)
    rows = scipy.sparse.coo_array((vals, (rows, cols))).tocsr()
    parts = {"rows": rows.indptr, "cols": rows.indices, "vals": rows.data}
    return {name: np.concatenate([part[:30], part[-1:]]) for name, part in parts.items()}


def ba_inputs():
    rng = np.random.default_rng(3)
    for n, m, p, turned in [(3, 5, 12, True), (2, 2, 40, False)]:
        rotation = rng.uniform(-1, 1, 3) if turned else np.zeros(3)
        centre, lens = rng.uniform(-3, 3, 3), [rng.uniform(200, 500), *rng.uniform(-9, 9, 2), 0.125, -0.015625]
        size = {"n": n, "m": m, "p": p}
        camera = {"cam": np.round([*rotation, *centre, *lens], 6), "x": np.round(rng.uniform(4, 9, 3), 6)}
        yield size | camera | {"w": 0.75, "feat": np.round(rng.uniform(50, 900, 2), 6)}


# Hand tracking


def homogeneous(rotation):
    return scipy.linalg.block_diag(rotation, 1)


def hand(theta, model):
    """Returns the vertices of the hand: each is the weighted mean of its transforms by the bones."""
    transforms = []
    for bone, parent in enumerate(model["parents"]):
        finger, joint = divmod(bone - 1, 4)
        flexion = abduction = 0
        if bone > 0 and joint > 0 and 6 + 4 * finger < len(theta):
            angles = theta[6 + 4 * finger : 10 + 4 * finger]
            flexion = angles[0] if joint == 1 else angles[joint]
            abduction = angles[1] if joint == 1 else 0
        about_z = scipy.linalg.expm(abduction * cross_matrix([0, 0, 1]))
        about_x = scipy.linalg.expm(flexion * cross_matrix([1, 0, 0]))
        relative = model["base_relatives"][bone] @ homogeneous(about_z @ about_x)
        transforms.append(relative if parent < 0 else transforms[parent] @ relative)
    moved = np.array(transforms) @ model["inverse_base_absolutes"]
    points = np.einsum("vb,bij,vj->vi", model["weights"], moved, model["base_positions"])[:, :3]
    if model["is_mirrored"]:
        points = points * [-1, 1, 1]
    # The suite's convention: below this angle the rotation is the identity and its derivative is zero.
    small = np.linalg.norm(np.real(theta[:3])) < 1e-4
    rotation = np.eye(3) if small else scipy.linalg.expm(cross_matrix(theta[:3]))
    return points @ rotation.T + theta[3:6]


def ht_objective(theta, data, us):
    at = hand(np.array(theta), data["model"])
    chosen = data["correspondences"]
    if len(us) > 0:
        first, second = us[:, 0], us[:, 1]
        corners = at[np.array(data["model"]["triangles"])[chosen]]
        found = np.einsum("ct,ctj->cj", np.stack([first, second, 1 - first - second], axis=1), corners)
    else:
        found = at[chosen]
    return (np.array(data["points"]) - found).ravel()


def ht_jacobian(theta, data, us):
    by_theta = derivative(lambda x: ht_objective(x, data, us), theta)
    if len(us) == 0:
        return by_theta
    both = derivative(lambda x: ht_objective(theta, data, x.reshape(-1, 2)), us.ravel())
    own = both.reshape(len(us), 3, len(us), 2)
    by_us = np.einsum("cjck->cjk", own).reshape(-1, 2)
    return np.concatenate([by_us, by_theta], axis=1)


def ht_inputs():
    """Draws a hand of two fingers: a wrist, four bones for each finger, and a forearm."""
    rng = np.random.default_rng(5)
    bones, vertices, triangles, points = 10, 9, 6, 4
    parents = [-1, 0, 1, 2, 3, 0, 5, 6, 7, 0]
    for mirrored, turned, barycentric in [(False, True, True), (True, True, False), (True, False, True)]:

        def transforms():
            out = np.tile(np.eye(4), (bones, 1, 1))
            for a in out:
                a[:3, :3] = scipy.linalg.expm(cross_matrix(rng.uniform(-1, 1, 3)))
                a[:3, 3] = rng.uniform(-1, 1, 3)
            return np.round(out, 3)

        weights = rng.uniform(0, 1, (vertices, bones))
        model = {
            "bone_count": bones,
            "bone_names": [f"bone {i}" for i in range(bones)],
            "parents": parents,
            "base_relatives": transforms(),
            "inverse_base_absolutes": transforms(),
            "base_positions": np.round(np.c_[rng.uniform(-1, 1, (vertices, 3)), np.ones(vertices)], 3),
            "weights": np.round(weights / weights.sum(axis=1, keepdims=True), 3),
            "triangles": [rng.choice(vertices, 3, replace=False) for _ in range(triangles)],
            "is_mirrored": mirrored,
        }
        theta = np.round(rng.uniform(-1, 1, 14), 3)
        if not turned:
            theta[:3] = 0
        count = triangles if barycentric else vertices
        measured = {"correspondences": rng.integers(count, size=points), "points": np.round(rng.normal(size=(points, 3)), 3)}
        us = np.round(rng.uniform(0, 0.5, (points, 2)), 3) if barycentric else np.zeros((0, 2))
        yield {"theta": theta, "data": {"model": model, **measured}, "us": us}


TASKS = {
    "ba": (ba_inputs, {"objective": ba_objective, "jacobian": ba_jacobian}),
    "ht": (ht_inputs, {"objective": ht_objective, "jacobian": ht_jacobian}),
}


def near(found, known, tolerance):
    """Returns whether a value has the known one's shape, and numbers within the tolerance."""
    if isinstance(known, dict):
        return found.keys() == known.keys() and all(near(found[key], known[key], tolerance) for key in known)
    if isinstance(known, list):
        return len(found) == len(known) and all(map(lambda f, k: near(f, k, tolerance), found, known))
    return found == known or abs(found - known) <= tolerance["rtol"] * abs(known) + tolerance["atol"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is recorded")
    options = parser.parse_args()
    for task, (inputs, functions) in TASKS.items():
        lines = [
            {"module": task, "function": name, "input": registry.encode(given), "output": registry.encode(f(**given))}
            for given in inputs()
            for name, f in functions.items()
        ]
        path = FOLDER / f"{task}.jsonl"
        if not options.check:
            path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            continue
        known = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        tolerance = registry.tolerance("gradbench again")
        if len(known) != len(lines):
            sys.exit(f"{task}: {len(known)} values are recorded, and there are {len(lines)}")
        for one, other in zip(lines, known):
            if one["input"] != other["input"] or not near(one["output"], other["output"], tolerance):
                sys.exit(f"{task} {one['function']}: the value is not the recorded one")


if __name__ == "__main__":
    main()
