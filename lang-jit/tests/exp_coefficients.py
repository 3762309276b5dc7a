"""The coefficients of `exp` in `src/tiles.rs`: the polynomial of degree 11 that agrees with exp(r) at Chebyshev's points of |r| up
to half the logarithm of 2. The first two are 1 to the precision of a double. Prints the others, lowest first, and the greatest
relative error of exp with them.

    pip install mpmath; python lang-jit/tests/exp_coefficients.py
"""

import mpmath as mp

mp.mp.dps = 60
DEGREE = 11
END = mp.log(2) / 2 * (1 + mp.mpf(2) ** -20)

points = [END * mp.cos(mp.pi * (2 * k + 1) / (2 * (DEGREE + 1))) for k in range(DEGREE + 1)]
matrix, values = mp.matrix(DEGREE + 1, DEGREE + 1), mp.matrix(DEGREE + 1, 1)
for j, point in enumerate(points):
    values[j] = mp.exp(point)
    for k in range(DEGREE + 1):
        matrix[j, k] = point**k
rounded = [float(c) for c in mp.lu_solve(matrix, values)]
assert rounded[:2] == [1.0, 1.0]
for c in rounded[2:]:
    print(repr(c))


def made(r):
    """exp by the rounded coefficients, in exact arithmetic."""
    return sum(mp.mpf(c) * r**k for k, c in enumerate(rounded))


worst = max(abs(made(r) / mp.exp(r) - 1) for r in (END * mp.mpf(k) / 2000 for k in range(-2000, 2001)))
print("error 2^", mp.nstr(mp.log(worst, 2), 5))
