"""Golden values of programs/df."""

import numpy as np
from scipy.spatial.transform import Rotation

from registry import golden


@golden("df/library")
def library():
    v1, v2 = np.array([1.0, -2.0, 0.5]), np.array([4.0, 0.25, 3.0])
    return (
        np.arange(4),
        [[0.0, 1.0, 0.0], v1 + v2, v1 - v2, v1 * v2, -2.0 * v1, v1**2 + 1.0],
        np.stack([v1, v2], axis=1),
        [v1.sum(), 0.0, v1 @ v2, np.linalg.norm(v2), 0.0, 4.0],
        [[8.0, 7.0, 6.0], np.cross(v1, v2)],
        np.array([2.0, -1.0]) @ np.stack([v1, v2]),
    )


@golden("df/matrices")
def matrices():
    a = np.arange(1.0, 7.0).reshape(2, 3)
    b = np.subtract.outer(np.arange(2), np.arange(3)) / 2.0
    hot = np.zeros((2, 3))
    hot[1, 0] = 1.0
    return (
        a.shape,
        np.zeros((2, 3)),
        np.ones((2, 3)),
        np.eye(3),
        hot,
        a.sum(axis=1),
        a + b,
        a.T,
        a @ b.T,
        [np.sum(a * b), 5.0, 0.0],
        np.outer([2.0, -1.0], [1.0, 0.5, 0.25]),
    )


@golden("df/identities")
def identities():
    m = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]])
    a = np.sin(np.arange(6.0)).reshape(2, 3)
    t = np.sum(m * a.T)
    return m, [1.0, 0.5, -2.0, 8.0], [t, t], a.T + m


@golden("df/uMv")
def u_m_v():
    m = np.outer(np.arange(3), np.arange(4)) - 1.5
    u, v = np.array([1.0, -1.0, 2.0]), np.array([0.5, 0.25, -1.0, 2.0])
    return [np.einsum("i,ij,j", u, m, v), 24.0, 0.5, 0.0]


@golden("df/micro")
def micro():
    i = np.arange(8)
    u, v = np.sin(i), (i * i % 5) / 4.0
    return [u @ v, -6.0, 0.0], [u.max(), v.max(), -7.0], u + v, u * 0.1


@golden("df/nnmf")
def nnmf():
    i, j = np.ogrid[:3, :4]
    a = 1.0 + (i + 2 * j) % 5
    w = 0.5 + 0.25 * np.add.outer(np.arange(3), np.arange(2))
    h = 1.0 / (1.0 + np.add.outer(np.arange(2), np.arange(4)))

    def loss(product):
        return np.sum(np.log(product) + a / product)

    wh = w @ h
    return (
        [loss(np.outer([1.0, 2.0, 0.5], [0.5, 1.0, 1.5, 2.0])), np.log(2.0) + 1.0],
        loss(wh),
        w.T @ ((wh - a) / wh**2),
    )


def project(cam, points):
    """Returns the projection by the camera model, with SciPy's rotations."""
    cam = np.asarray(cam)
    seen = Rotation.from_rotvec(cam[:3]).apply(points - cam[3:6])
    plane = seen[:, :2] / seen[:, 2:]
    r2 = np.sum(plane**2, axis=1, keepdims=True)
    return cam[6] * plane * (1.0 + cam[9] * r2 + cam[10] * r2**2) + cam[7:9]


@golden("df/project")
def projection():
    cam = [0.1, -0.2, 0.3, 0.5, -0.25, -4.0, 1.2, 0.05, -0.1, 0.02, -0.003]
    points = np.cos(np.arange(12.0)).reshape(4, 3) + np.arange(3.0)
    return project(cam, points), []


@golden("df/perturbation")
def perturbation():
    return [7.5, 3.0]


@golden("df/matrix_calculus")
def matrix_calculus():
    v, m = np.array([0.5, 1.5, -2.0]), np.array([[1.0, 2.0], [-3.0, 0.5]])
    return (
        1.2 * np.cos(1.2),
        1.44 * np.sin(v),
        np.exp(-0.5) * m,
        np.linalg.norm(v),
        v * 0.0,
        np.trace(np.linalg.matrix_power(m, 2)),
    )
