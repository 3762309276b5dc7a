"""Golden values of the programs in `tests/programs/std` that use the library's module `rand`.

Implements Threefry-2x64-20 on Python's integers, and distributions on its words. A key is a pair of
64-bit words. `make.py` imports this module, and `@golden` registers the functions.
"""

import math

import numpy as np
from scipy import stats

from registry import golden

MASK = 2**64 - 1

# Known answers from `tests/kat_vectors` of Random123 (D. E. Shaw Research), the lines
# `threefry2x64 20`: the counter, the key, the answer, each of two words.
KNOWN_ANSWERS = """
0000000000000000 0000000000000000 0000000000000000 0000000000000000 c2b6e3a8c2c69865 6f81ed42f350084d
ffffffffffffffff ffffffffffffffff ffffffffffffffff ffffffffffffffff e02cb7c4d95d277a d06633d0893b8b68
243f6a8885a308d3 13198a2e03707344 a4093822299f31d0 082efa98ec4e6c89 263c7d30bb0f0af1 56be8361d3311526
"""


def signed(word):
    """Returns the `i64` with the bits of an unsigned word."""
    return word - 2**64 if word >= 2**63 else word


def threefry(key, counter):
    """Encrypts a counter by Threefry-2x64 with 20 rounds, a variant of Threefish.

    Follows J. K. Salmon and others (SC 2011). The two words of the result are unsigned.
    """
    schedule = [key[0] & MASK, key[1] & MASK]
    schedule.append(0x1BD11BDAA9FC1A22 ^ schedule[0] ^ schedule[1])
    a, b = ((c + k) & MASK for c, k in zip(counter, schedule))
    rotations = [16, 42, 12, 31, 16, 32, 24, 21] * 3
    for done, r in enumerate(rotations[:20], start=1):
        a = (a + b) & MASK
        b = ((b << r | b >> (64 - r)) & MASK) ^ a
        if done % 4 == 0:
            s = done // 4
            a = (a + schedule[s % 3]) & MASK
            b = (b + schedule[(s + 1) % 3] + s) & MASK
    return a, b


def child(key, i):
    """Returns the key `fold_in(key, i)`, which is also element i of a split."""
    return threefry(key, (i, 1))


def words(key, n):
    """Returns the first n unsigned words of a key, two per counter."""
    return [w for i in range((n + 1) // 2) for w in threefry(key, (i, 0))][:n]


def uniforms(key, n):
    """Returns numbers from 0, included, to 1, excluded."""
    return np.array([(w >> 11) / 2**53 for w in words(key, n)])


def open_uniforms(key, n):
    """Returns numbers in the open interval from 0 to 1."""
    return np.array([((w >> 12) + 0.5) / 2**52 for w in words(key, n)])


def normals(key, n):
    """Returns normal numbers by the Box-Muller transform."""
    u = open_uniforms(key, n + n % 2)
    radius, angle = np.sqrt(-2 * np.log(u[::2])), 2 * math.pi * u[1::2]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()[:n]


def record(key):
    """Returns a key as the record `rand.Key`."""
    return {"k0": signed(key[0]), "k1": signed(key[1])}


@golden("std/threefry")
def threefry_blocks():
    answers = []
    for line in KNOWN_ANSWERS.split("\n")[1:-1]:
        c0, c1, k0, k1, *answer = (int(word, 16) for word in line.split())
        if threefry((k0, k1), (c0, c1)) != tuple(answer):
            raise ValueError("not the known answer")
        answers.append([signed(word) for word in answer])
    blocks = [threefry((123456789, -987654321), (i * i - 3, i)) for i in range(6)]
    parent = child((-5, 0), 17)
    return (
        answers,
        [[signed(word) for word in pair] for pair in blocks],
        [record(child((2026, 0), i)) for i in range(2)],
        [record(child(parent, i)) for i in range(3)],
    )


@golden("std/draws")
def draws():
    key = (20_111_112, 0)
    letters = [10, 20, 30, 40, 50]

    def order(n):
        return np.argsort([signed(w) for w in words(key, n)])

    u, uniform = open_uniforms(key, 5), uniforms(key, 5)
    with np.errstate(divide="ignore"):
        logits = np.log([0.1, 0.0, 0.6, 0.3])
    indices = [np.argmax(logits - np.log(-np.log(open_uniforms(child(key, i), 4)))) for i in range(20)]
    return (
        ([signed(w) for w in words(key, 5)], uniform, normals(key, 5), -np.log(u), -np.log(-np.log(u))),
        ([(w >> 1) % 7 - 3 for w in words(key, 5)], uniform < 0.4, indices),
        (
            order(7),
            [letters[k] for k in order(5)],
            [letters[(w >> 1) % 5] for w in words(key, 6)],
            [letters[k] for k in order(5)[:3]],
        ),
        [(True, True)] * 4,
        True,
    )


@golden("std/metropolis")
def metropolis():
    data = np.array([1.2, -0.7, 3.1, 0.4, 2.2, 0.9, 8.5, 1.1])

    def target(p):
        priors = stats.norm.logpdf(p[0], 0, 10) + stats.norm.logpdf(p[1])
        return stats.t.logpdf(data, 4.0, p[0], np.exp(p[1])).sum() + priors

    walk, bootstrap = child((31, 0), 0), child((31, 0), 1)
    points = [np.zeros(2)]
    for i in range(200):
        move, accept = (child(child(walk, i), half) for half in range(2))
        p = points[-1]
        q = p + normals(move, 2) / [2, 4]
        points.append(q if np.log(uniforms(accept, 1)[0]) < target(q) - target(p) else p)
    points = np.array(points)
    medians = [np.median([data[(w >> 1) % 8] for w in words(child(bootstrap, i), 8)]) for i in range(100)]
    return (
        {"location": points[-1, 0], "log_scale": points[-1, 1]},
        [points[:, 0].mean(), points[:, 1].std()],
        np.quantile(medians, [0.05, 0.5, 0.95]),
    )
