"""Golden values of programs/atl."""

import numpy as np
import scipy.sparse

from registry import golden


def dense(rows, cols, entries):
    """Returns a matrix of truth values with these entries set."""
    a = np.zeros((rows, cols), dtype=bool)
    for i, j in entries:
        a[i, j] = True
    return a


def wave(n):
    return np.sin(0.7 * np.arange(n))


def valid(x, c):
    """Returns the correlation with the kernel: window sums without reversal of the kernel."""
    return np.correlate(x, c, mode="valid")


@golden("atl/conv")
def conv():
    return (
        valid(wave(7), [0.5, -1.0, 0.25]),
        2.0 * wave(6),
        [12.0],
        [],
        [0.0],
    )


@golden("atl/conv_forward")
def conv_forward():
    c = np.array([0.5, -1.0, 0.25, 2.0])
    impulse = np.zeros(9)
    impulse[4] = 1.0
    tangent = valid(impulse, c)
    return tangent, np.concatenate([[0.0], c[::-1], [0.0]]), True


@golden("atl/correlation")
def correlation():
    c = np.array([0.5, -1.0, 0.25])
    x = np.cos(0.3 * np.arange(8))
    dy = 1.0 / (1.0 + np.arange(6))
    x_adj = np.convolve(dy, c)
    c_adj = np.correlate(x, dy, mode="valid")
    inner = dy @ valid(x, c)
    return x_adj, c_adj, [inner, inner, inner]


@golden("atl/deconvolution")
def deconvolution():
    c = np.array([0.25, 0.5, 0.25])
    x = np.sin(0.9 * np.arange(9))
    z = np.arange(7) % 3 - 1.0
    r = valid(x, c) - z
    return r @ r, np.convolve(2 * r, c), 25.0


@golden("atl/trace_eye")
def trace_eye():
    a = np.add.outer(10.0 * np.arange(4), np.arange(4))
    return 1.5 * np.eye(3), [0.0, 2.5, 10.0, -3.5], np.trace(a)


@golden("atl/trace_diag_sum")
def trace_diag_sum():
    s = np.sum(np.arange(6.0) ** 2 - 2.5)
    return [0.0, s, 5 * s, 21.0, 0.0]


@golden("atl/diag_column_row")
def diag_column_row():
    column = np.zeros(4)
    column[2] = 3.5
    return [1.5**2, 9.0, 0.1**2], column


@golden("atl/dead_code")
def dead_code():
    return [2.5, 2.5, -8.0], [2.0, 6.0]


@golden("atl/linear_dag")
def linear_dag():
    # The matrix of the program, multiplied out by hand.
    m = np.array([[8.0, 0.0], [5 * 2.0 + 6 * 6.0, 5 * 3.0 + 6 * 3.0]])
    v, d = np.array([1.5, -2.25]), np.array([0.5, 3.0])
    return m @ v, m.T @ d, [d @ m @ v, d @ m @ v]


@golden("atl/skipped_sum")
def skipped_sum():
    s = np.delete(np.exp(0.5 * np.arange(5)), 1).sum()
    return [s, s, s, 0.0, 5.0, 5.0], [2.5, 0.0, 2.5, 2.5, 2.5]


@golden("atl/sum_of_squares")
def sum_of_squares():
    x = 0.1 * np.arange(10) - 0.35
    return [[np.linalg.norm(x) ** 2, 0.0, 9.0, 25.0]] * 3


@golden("atl/batched_fit")
def batched_fit():
    k, i = np.arange(4)[:, None], np.arange(8)[None, :]
    x = np.sin(0.4 * i + k)
    z = np.cos(0.2 * (np.arange(6)[None, :] * k))
    w = np.array([0.2, 0.5, -0.1])
    windows = np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)
    r = windows @ w - z
    gradient = np.einsum("kij,ki->j", windows, 2 * r)
    return (r**2).sum(), gradient, gradient, 0.0


@golden("atl/relations")
def relations():
    pattern = dense(4, 5, [(0, 1), (0, 4), (1, 0), (3, 2), (3, 3), (3, 1)])
    a = np.add.outer(np.arange(4.0), 0.1 * np.arange(5))
    x = 1.0 + np.arange(5) ** 2
    product = scipy.sparse.csr_matrix(np.where(pattern, a, 0.0)) @ x
    band = np.tri(6, k=1) * np.tri(6, k=1).T
    return (
        product,
        product,
        [1.0, 1.0, 0.0, 1.0],
        pattern.sum(axis=1),
        [6, int(band.sum()), 0],
        True,
    )


@golden("atl/pairs")
def pairs():
    x, y = np.array([3.0, -1.0, 0.5]), np.array([4.0, 1.0, -0.5])
    z = x + 1j * y
    polar = np.stack([np.abs(z), np.angle(z)], axis=1)
    return polar, polar[:, 0], [3.5, 9.25], [0.0, 0.0], polar[:, ::-1]


@golden("atl/normal_forms")
def normal_forms():
    y = np.exp([0.0, 1.0, -1.0])
    return (
        np.sum(y * (y + 1)),
        3.5**2 - 2.5,
        np.eye(3),
        [9.0, 16.0, 25.0, 0.0, 0.0],
        [3.0 * 7.5, 0.0],
        [10.0, 0.0, 12.0, 0.0, 14.0, 0.0, 16.0],
    )
