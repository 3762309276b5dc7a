"""Computes values and derivatives of the scalar functions with mpmath, on a grid of points.

    python3 tests/golden/scalar.py              writes scalar.json
    python3 tests/golden/scalar.py --check      recomputes and compares with scalar.json
    python3 tests/golden/scalar.py --check --sample 5 --seed 7     a random part of the functions

A row of a function of one argument contains the argument, the value, and the first and second derivatives. A row
of a function of two contains the arguments, the value, and the derivative by each. All are the nearest doubles;
null means that no value is promised. The derivatives are formulas of this file, which the script compares with
mpmath's differences. No value is promised for derivatives outside a function's domain, for second derivatives at
infinities, and for derivatives whose formula leaves the normal numbers on the way. `x ^ y` is `^`, and `x ^ k`
with an integer `k` is `^ integer`.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import random
import struct
import sys
from fractions import Fraction
from typing import Callable

import mpmath as mp
from mpmath import mpf

import registry

STORE = pathlib.Path(__file__).parent / "scalar.json"
mp.mp.dps = 60
INF, NAN, PI = math.inf, math.nan, math.pi
LEAST, NORMAL, HUGE, EPS = 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0**-52

# Magnitudes at which every function of one argument is computed, with both signs.
COMMON = [0.0, LEAST, 1e-310, NORMAL, 1e-45, 1e-20, EPS / 2, 1e-8, 2.0**-10, 0.5, 1.0, 1.5, 2.0, 2.5]
COMMON += [3.0, 10.0, 100.0, 1e5, 1e10, 2.0**53, 1e22, 1e100, 1e300, HUGE, INF]


def nearest(x):
    """Returns the nearest double of an mpmath number."""
    if x is None or isinstance(x, (int, float)):
        return x if x is None else float(x)
    if isinstance(x, mp.mpc):
        raise ValueError(f"{x} is not real")
    if not mp.isfinite(x) or x == 0:
        return float(x)
    if mp.mag(x) > 1100 or mp.mag(x) < -1200:
        return math.copysign(INF if mp.mag(x) > 0 else 0.0, mp.sign(x))
    sign, mantissa, exponent, _ = x._mpf_
    try:
        whole = float(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))
    except OverflowError:
        whole = INF
    return -whole if sign else whole


def single(x):
    """Returns the nearest number of single precision, or the number itself outside their range."""
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return x


def key(x):
    """Returns a key that distinguishes the zeros by sign."""
    return repr(float(x))


def around(x):
    return [math.nextafter(x, -INF), x, math.nextafter(x, INF)]


@dataclasses.dataclass
class One:
    """A function of one argument, with its derivatives; `edges` are the conventions."""

    value: Callable
    first: Callable
    second: Callable
    edges: dict
    domain: tuple = (-INF, INF)
    odd: bool = False
    # The powers of ten that bound random magnitudes.
    powers: tuple = (-8, 3)
    extra: tuple = ()

    def points(self, rng):
        points = [s * x for x in COMMON for s in (1, -1)] + [NAN] + list(self.extra)
        for k in range(50):
            x = rng.choice((1, -1)) * 10 ** rng.uniform(*self.powers)
            low, high = self.domain
            if not low < x < high:
                x = -x if low < -x < high else rng.uniform(max(low, -10), min(high, 10))
            points.append(single(x) if k % 2 else x)
        unique = {key(x): x for x in points}
        return [(x,) for x in unique.values()]

    def row(self, x):
        if key(x) in self.edges:
            return self.edges[key(x)]
        if math.isnan(x):
            return NAN, NAN, None
        if not self.domain[0] <= x <= self.domain[1]:
            return NAN, None, None
        value = nearest(self.value(mpf(x)))
        if value == 0 and self.odd:
            value = math.copysign(value, x)
        return value, nearest(self.first(mpf(x))), nearest(self.second(mpf(x)))

    def verify(self, rng):
        for _ in range(10):
            x = mpf(rng.uniform(max(self.domain[0], -3), min(self.domain[1], 3)))
            yield x, self.first(x), mp.diff(self.value, x, h=mpf(10) ** -25)
            yield x, self.second(x), mp.diff(self.first, x, h=mpf(10) ** -25)


@dataclasses.dataclass
class Two:
    """A function of two arguments; `special` returns the row at which the formulas do not hold."""

    value: Callable
    partials: tuple
    special: Callable
    choose: Callable
    extra: tuple

    def points(self, rng):
        points = list(self.extra) + [self.choose(rng) for _ in range(80)]
        points += [tuple(single(x) for x in self.choose(rng)) for _ in range(40)]
        unique = {(key(x), key(y)): (x, y) for x, y in points}
        return list(unique.values())

    def row(self, x, y):
        row = self.special(x, y)
        if row is None:
            x, y = mpf(x), mpf(y)
            row = self.value(x, y), *(d(x, y) for d in self.partials)
        return tuple(nearest(v) for v in row)

    def verify(self, rng):
        for _ in range(10):
            x, y = mpf(rng.uniform(0.2, 3)), mpf(rng.uniform(0.2, 3))
            for k, partial in enumerate(self.partials):
                if partial is not None:
                    order = (1, 0) if k == 0 else (0, 1)
                    yield (x, y), partial(x, y), mp.diff(self.value, (x, y), order, h=mpf(10) ** -25)


def at(*rows):
    return {key(x): row for x, *row in rows}


def logistic(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return max(x, mpf(0)) + mp.log1p(mp.exp(-abs(x)))


def density(x):
    return 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


def error(x):
    return mp.sign(x) if abs(x) > 1000 else mp.erf(x)


def complement(x):
    return mpf(0) if x > 1000 else mpf(2) if x < -1000 else mp.erfc(x)


def log_gamma(x):
    return mp.re(mp.loggamma(x))


def sech(x):
    return mp.sech(x)


def psi(n):
    return lambda x: mp.re(mp.psi(n, x))


def zero(_):
    return mpf(0)


def sign(x):
    return mpf(mp.sign(x))


POLES = [(-float(k), INF, NAN, INF) for k in (1, 2, 3, 4, 10, 100)]
POLES += [(-x, INF, NAN, INF) for x in COMMON if 100 < x < INF]
HALF = [0.5, 1.5, 2.5, 3.5, 0.49999999999999994, 2.0**52 - 0.5, 2.0**52 + 1]


def steps(value):
    """Returns a function that is constant between steps and keeps the sign of a zero."""
    keep = [(x, x, 0.0, 0.0) for x in (0.0, -0.0, INF, -INF, NAN)]
    values = [s * x for x in HALF + COMMON[1:-1] + [0.3, 0.7] for s in (1, -1)]
    edges = at(*keep, *((x, math.copysign(float(value(x)), x), 0.0, 0.0) for x in values))
    return One(lambda x: mpf(value(float(x))), zero, zero, edges, odd=True, extra=tuple(values))


ONE = {
    "exp": One(mp.exp, mp.exp, mp.exp, at((INF, INF, INF, INF), (-INF, 0.0, 0.0, 0.0)), powers=(-8, 2.8),
               extra=(709.782712893384, 709.7827128933841, -708.4, -745.13, -745.14, 88.72, -87.3, -103.9)),
    "log": One(mp.log, lambda x: 1 / x, lambda x: -1 / x**2,
               at((0.0, -INF, INF, -INF), (-0.0, -INF, -INF, None), (INF, INF, 0.0, 0.0)),
               domain=(0.0, INF), powers=(-300, 300), extra=(*around(1.0), 0.9, 1.1, 0.999, 1.001)),
    "log1p": One(mp.log1p, lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2,
                 at((-1.0, -INF, INF, -INF), (INF, INF, 0.0, 0.0)), domain=(-1.0, INF), odd=True,
                 powers=(-18, 10), extra=(math.nextafter(-1, 0), -0.999)),
    "expm1": One(mp.expm1, mp.exp, mp.exp, at((INF, INF, INF, INF), (-INF, -1.0, 0.0, 0.0)), odd=True,
                 powers=(-18, 2.8), extra=(709.782712893384, -36.7, -40.0)),
    "sqrt": One(mp.sqrt, lambda x: 1 / (2 * mp.sqrt(x)), lambda x: -1 / (4 * x * mp.sqrt(x)),
                at((0.0, 0.0, INF, -INF), (-0.0, -0.0, -INF, None), (INF, INF, 0.0, 0.0)),
                domain=(0.0, INF), powers=(-300, 300)),
    "cbrt": One(lambda x: mp.sign(x) * mp.cbrt(abs(x)), lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2),
                lambda x: -2 * mp.sign(x) / (9 * abs(x) * mp.cbrt(abs(x)) ** 2),
                at((0.0, 0.0, INF, None), (-0.0, -0.0, INF, None), (INF, INF, 0.0, None), (-INF, -INF, 0.0, None)),
                powers=(-300, 300)),
    "sin": One(mp.sin, mp.cos, lambda x: -mp.sin(x), at((INF, NAN, NAN, NAN), (-INF, NAN, NAN, NAN)), odd=True,
               powers=(-8, 6), extra=(PI, PI / 2, PI / 4, 2 * PI, 1e22, 6381956970095103.0 * 2.0**797)),
    "cos": One(mp.cos, lambda x: -mp.sin(x), lambda x: -mp.cos(x), at((INF, NAN, NAN, NAN), (-INF, NAN, NAN, NAN)),
               powers=(-8, 6), extra=(PI, PI / 2, PI / 4, 2 * PI, 1e22, 6381956970095103.0 * 2.0**797)),
    "tan": One(mp.tan, lambda x: 1 / mp.cos(x) ** 2, lambda x: 2 * mp.tan(x) / mp.cos(x) ** 2,
               at((INF, NAN, NAN, NAN), (-INF, NAN, NAN, NAN)), odd=True,
               powers=(-8, 6), extra=(PI, PI / 2, PI / 4, 2 * PI, 1e22, 6381956970095103.0 * 2.0**797)),
    "asin": One(mp.asin, lambda x: 1 / mp.sqrt((1 - x) * (1 + x)), lambda x: x / mp.sqrt((1 - x) * (1 + x)) ** 3,
                at((1.0, PI / 2, INF, INF), (-1.0, -PI / 2, INF, -INF)), domain=(-1.0, 1.0), odd=True,
                powers=(-8, 0), extra=(*around(1.0), *around(-1.0), 0.999, -0.999)),
    "acos": One(mp.acos, lambda x: -1 / mp.sqrt((1 - x) * (1 + x)), lambda x: -x / mp.sqrt((1 - x) * (1 + x)) ** 3,
                at((1.0, 0.0, -INF, -INF), (-1.0, PI, -INF, INF)), domain=(-1.0, 1.0),
                powers=(-8, 0), extra=(*around(1.0), *around(-1.0), 0.999, -0.999)),
    "atan": One(mp.atan, lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2,
                at((INF, PI / 2, 0.0, None), (-INF, -PI / 2, 0.0, None),
                  (HUGE, PI / 2, 0.0, None), (-HUGE, -PI / 2, 0.0, None)), odd=True, powers=(-8, 8)),
    "sinh": One(mp.sinh, mp.cosh, mp.sinh, at((INF, INF, INF, INF), (-INF, -INF, INF, -INF)), odd=True,
                powers=(-8, 2.8), extra=(710.4, -710.4, 710.5, 22.0)),
    "cosh": One(mp.cosh, mp.sinh, mp.cosh, at((INF, INF, INF, INF), (-INF, INF, -INF, INF)),
                powers=(-8, 2.8), extra=(710.4, -710.4, 710.5, 22.0)),
    "tanh": One(mp.tanh, lambda x: sech(x) ** 2, lambda x: -2 * mp.tanh(x) * sech(x) ** 2,
                at((INF, 1.0, 0.0, 0.0), (-INF, -1.0, 0.0, 0.0)), odd=True, powers=(-8, 2.8),
                extra=(19.0, 22.0, 355.0)),
    "asinh": One(mp.asinh, lambda x: 1 / mp.sqrt(1 + x * x), lambda x: -x / mp.sqrt(1 + x * x) ** 3,
                 at((INF, INF, 0.0, None), (-INF, -INF, 0.0, None)), odd=True, powers=(-8, 30)),
    "acosh": One(mp.acosh, lambda x: 1 / mp.sqrt((x - 1) * (x + 1)), lambda x: -x / mp.sqrt((x - 1) * (x + 1)) ** 3,
                 at((1.0, 0.0, INF, -INF), (INF, INF, 0.0, None)), domain=(1.0, INF), powers=(0, 30),
                 extra=(math.nextafter(1, 2), 1 + 1e-10, 1.001, 1.9)),
    "atanh": One(mp.atanh, lambda x: 1 / ((1 - x) * (1 + x)), lambda x: 2 * x / ((1 - x) * (1 + x)) ** 2,
                 at((1.0, INF, INF, INF), (-1.0, -INF, INF, -INF)), domain=(-1.0, 1.0), odd=True,
                 powers=(-8, 0), extra=(*around(1.0), *around(-1.0), 0.999, -0.999)),
    "sigmoid": One(logistic, lambda x: logistic(x) * logistic(-x),
                   lambda x: logistic(x) * logistic(-x) * -mp.tanh(x / 2),
                   at((INF, 1.0, 0.0, 0.0), (-INF, 0.0, 0.0, 0.0)), powers=(-8, 2.8),
                   extra=(36.0, -36.7, 40.0, -708.0, -709.9, -744.0, 745.0)),
    "softplus": One(softplus, logistic, lambda x: logistic(x) * logistic(-x),
                    at((INF, INF, 1.0, 0.0), (-INF, 0.0, 0.0, 0.0)), powers=(-8, 2.8),
                    extra=(36.0, -36.7, 40.0, -708.0, -709.9, -744.0, 745.0)),
    "relu": One(lambda x: max(x, mpf(0)), lambda x: mpf(x > 0), zero,
                at((0.0, 0.0, 0.0, 0.0), (-0.0, 0.0, 0.0, 0.0), (INF, INF, 1.0, 0.0), (-INF, 0.0, 0.0, 0.0))),
    "erf": One(error, density, lambda x: -2 * x * density(x),
               at(*((s * x, s, 0.0, None) for s in (1.0, -1.0) for x in (HUGE, INF))),
               odd=True, powers=(-8, 0.8), extra=(5.9, 6.0, 0.84375, 26.0)),
    "erfc": One(complement, lambda x: -density(x), lambda x: 2 * x * density(x),
                 at(*((s * x, 1.0 - s, 0.0, None) for s in (1.0, -1.0) for x in (HUGE, INF))), powers=(-8, 1.43),
                 extra=(5.9, 6.0, 26.5, 27.2, 27.3)),
    "lgamma": One(log_gamma, psi(0), psi(1),
                  at((0.0, INF, -INF, INF), (-0.0, INF, INF, INF), (INF, INF, INF, 0.0), (-INF, INF, NAN, NAN), *POLES),
                  powers=(-20, 4), extra=(*around(1.0), *around(2.0), 0.9, 1.1, 1.9, 2.1, 1.4616321449683622, -0.5,
                                          -2.4570247382208006, -2.7476826467274127, -3.955, -3.5, -5.0082181683225935,
                                          -5.008, -11.9999999979, -15.000000000000764, -16.999999999999996, -2.6, -2.2,
                                          -20.5, 2.5e305, 2.6e305)),
    "digamma": One(psi(0), psi(1), psi(2),
                   at((0.0, -INF, INF, -INF), (-0.0, INF, INF, INF), (INF, INF, 0.0, 0.0), (-INF, NAN, NAN, NAN),
                      *((x, NAN, INF, NAN) for x, *_ in POLES)),
                   powers=(-20, 4), extra=(*around(1.4616321449683622), 1.2, 1.7, 9.999, 10.001, -0.5,
                                           -0.5040830082644554, -3.5, -20.5, 4.4, 1.9, 2.1)),
    "floor": steps(math.floor),
    "ceil": steps(math.ceil),
    "round": steps(round),
    "trunc": steps(math.trunc),
    "abs": One(abs, sign, zero, at((0.0, 0.0, 0.0, 0.0), (-0.0, 0.0, 0.0, 0.0), (INF, INF, 1.0, 0.0),
                                   (-INF, INF, -1.0, 0.0), (NAN, NAN, NAN, None))),
    "sign": One(sign, zero, zero, at((0.0, 0.0, 0.0, 0.0), (-0.0, 0.0, 0.0, 0.0), (INF, 1.0, 0.0, 0.0),
                                     (-INF, -1.0, 0.0, 0.0), (NAN, NAN, 0.0, 0.0))),
}


def plane(low, high):
    """Draws two magnitudes close together or far apart, of any sign."""

    def choose(rng):
        x = rng.choice((1, -1)) * 10 ** rng.uniform(low, high)
        far = rng.uniform(low, high) if rng.random() < 0.3 else math.log10(abs(x)) + rng.uniform(-3, 3)
        return x, rng.choice((1, -1)) * 10**far

    return choose


AXES = [0.0, -0.0, 1.0, -1.0, LEAST, -HUGE, INF, -INF, NAN]
CROSS = tuple((x, y) for x in AXES for y in AXES)


def special_atan2(y, x):
    if math.isnan(x) or math.isnan(y):
        return NAN, NAN, NAN
    if x == y == 0:
        return math.atan2(y, x), NAN, NAN
    if math.isinf(x) or math.isinf(y):
        return math.atan2(y, x), None, None
    if x == 0 or y == 0:
        p, q = mpf(x), mpf(y)
        return math.atan2(y, x), p / (p * p + q * q), -q / (p * p + q * q)
    return None


def special_hypot(x, y):
    if math.isinf(x) or math.isinf(y):
        return INF, None, None
    if math.isnan(x) or math.isnan(y):
        return NAN, NAN, NAN
    if abs(x) == abs(y) == HUGE:
        return INF, None, None
    if 0 < max(abs(x), abs(y)) < NORMAL:
        return mp.sqrt(mpf(x) ** 2 + mpf(y) ** 2), None, None
    return (0.0, 0.0, 0.0) if x == y == 0 else None


def first_of(wins):
    """Returns the row of a selection: `x` if it is NaN or wins (ties included), else `y`. It has the derivative."""

    def row(x, y):
        return (x, 1.0, 0.0) if math.isnan(x) or wins(x, y) else (y, 0.0, 1.0)

    return row


def special_power(x, y):
    if y == 0:
        by_y = NAN if math.isnan(x) or x < 0 else 0.0 if x == 0 else None if math.isinf(x) else mp.log(mpf(x))
        return 1.0, None if 0 < abs(x) < NORMAL else 0.0, by_y
    if math.isnan(x) or math.isnan(y):
        # One to any power is one.
        return (1.0, None, None) if x == 1 else (NAN, 1.0 if y == 1 else NAN, NAN)
    if math.isinf(x) or math.isinf(y):
        value = math.pow(x, y)
        return value, None, 0.0 if x == INF and y < 0 else None
    whole = y == math.floor(y)
    if x == 0:
        odd = whole and y % 2 == 1
        if y < 0:
            return math.copysign(INF, x if odd else 1.0), None if key(x) == "-0.0" else -INF, None if odd else -INF
        by_x = INF if y < 1 else 1.0 if y == 1 else 0.0
        return math.copysign(0.0, x if odd else 1.0), None if key(x) == "-0.0" else by_x, 0.0
    if x > 0 and max(x, y) < NORMAL:
        return mpf(x) ** mpf(y), None, None
    if x < 0:
        if not whole:
            return NAN, None, None
        if abs(y) > 1e6:
            return None, None, NAN
        return mpf(x) ** int(y), mpf(y) * mpf(x) ** (int(y) - 1), NAN
    return None


def special_power_integer(x, k):
    k = int(k)
    if k == 0:
        return 1.0, 0.0, None
    if math.isnan(x):
        return NAN, 1.0 if k == 1 else NAN, None
    if math.isinf(x) or x == 0:
        zero = (x == 0) == (k > 0)
        value = math.copysign(0.0 if zero else INF, x if k % 2 else 1.0)
        if k == 1:
            return value, 1.0, None
        slope = 0.0 if zero else math.copysign(INF, (x if k % 2 == 0 else 1.0) * math.copysign(1, k))
        return value, slope, None
    x = mpf(x)
    return x**k, k * x ** (k - 1), None


def special_polygamma(n, x):
    if math.isnan(n) or n < 0 or math.isinf(n) or n != math.floor(n):
        return NAN, NAN, None
    if math.isnan(x) or x == -INF:
        return NAN, NAN, NAN

    def value(n):
        if x == INF:
            return INF if n == 0 else 0.0 if n % 2 == 1 else -0.0
        if x <= 0 and x == math.floor(x):
            return INF if n % 2 == 1 else NAN if x < 0 else math.copysign(INF, -math.copysign(1, x))
        return polygamma(n, mpf(x))

    return value(n), NAN, value(n + 1)


def polygamma(n, x):
    n = int(n)
    if x > 0 and n > 0:
        with mp.workdps(3 * mp.mp.dps):
            return mp.re(mp.psi(n, x))
    if n == 0:
        return mp.re(mp.psi(0, x))
    # By reflection to the right half, the derivatives of the cotangent from its polynomial.
    c, poly = mp.cot(mp.pi * x), [mpf(0), mpf(1)]
    for _ in range(n):
        slope = [k * p for k, p in enumerate(poly)][1:]
        poly = [-(a + b) for a, b in zip(slope + [mpf(0)] * 2, [mpf(0)] * 2 + slope)]
    return (-1) ** n * polygamma(n, 1 - x) - mp.pi ** (n + 1) * mp.polyval(poly[::-1], c)


def orders(rng):
    n = float(rng.choice((0, 1, 1, 2, 2, 3, 4, 5, 8, 15)))
    x = 10 ** rng.uniform(-3, 4)
    return n, x if rng.random() < 0.7 else -rng.uniform(0.01, 30)


def powers(rng):
    x = 10 ** rng.uniform(-30, 30)
    y = rng.uniform(-10, 10)
    if rng.random() < 0.3:
        x, y = -x, float(round(y))
    return x, y


def integer_powers(rng):
    # Long products are of numbers near one.
    k = float(rng.choice((-1, 1)) * round(10 ** rng.uniform(0, 4)))
    return rng.choice((1, -1)) * 10 ** rng.uniform(-300 / abs(k), 300 / abs(k)), k


def decimal(x, digits):
    if math.isnan(digits) or math.isinf(digits) or digits != math.floor(digits):
        return NAN, 0.0, 0.0
    if math.isnan(x) or math.isinf(x) or digits > 308:
        return x, 0.0, 0.0
    scale = Fraction(10) ** int(digits)
    try:
        value = float(Fraction(round(Fraction(x) * scale)) / scale)
    except OverflowError:
        value = INF
    return math.copysign(value, x), 0.0, 0.0


def decimals(rng):
    digits = float(rng.randrange(-6, 16))
    # The two ways to count differ near halves between two multiples.
    if rng.random() < 0.5:
        return (rng.randrange(-10000, 10000) + 0.5) / 10**digits, digits
    return rng.choice((1, -1)) * 10 ** rng.uniform(-8, 18), digits


LEAST_INTEGER = -(2.0**63)
TWO = {
    "atan2": Two(mp.atan2, (lambda y, x: x / (x * x + y * y), lambda y, x: -y / (x * x + y * y)), special_atan2,
                 plane(-150, 150), CROSS + ((1e-300, 1e-300), (HUGE, HUGE), (3.0, 4.0))),
    "hypot": Two(lambda x, y: mp.sqrt(x * x + y * y), (lambda x, y: x / mp.sqrt(x * x + y * y),
                                                       lambda x, y: y / mp.sqrt(x * x + y * y)), special_hypot,
                 plane(-300, 300), CROSS + ((1e-300, 1e-300), (1e308, 1e308), (3.0, 4.0), (LEAST, 4 * LEAST))),
    "polygamma": Two(polygamma, (None, lambda n, x: polygamma(n + 1, x)), special_polygamma, orders,
                     tuple((n, x) for n in (0.0, 1.0, 2.0, 3.0, 20.0, 0.5, -1.0, INF, NAN)
                           for x in (0.0, -0.0, 1e-30, 0.5, 1.0, 12.0, 1e10, -0.25, -1.0, -2.0, -2.5, INF, -INF, NAN))),
    "round_to": Two(None, (), decimal, decimals,
                    tuple((x, d) for x in (0.0, -0.0, LEAST, 0.5, 1.115, 2.675, -2.5, -0.4, 0.125, 1e15 + 0.3, 25.0, 2.0**53,
                                           450359962737.04977, 1234567890.123456789, 1e22, 1e300, -HUGE, INF, NAN)
                          for d in (0.0, 1.0, 2.0, 4.0, 7.0, 22.0, 308.0, 309.0, -1.0, -2.0, -22.0, -308.0, -400.0, 0.5, INF, NAN))),
    "min": Two(None, (), first_of(lambda x, y: x <= y), plane(-3, 3), CROSS),
    "max": Two(None, (), first_of(lambda x, y: x >= y), plane(-3, 3), CROSS),
    "^": Two(mp.power, (lambda x, y: y * x ** (y - 1), lambda x, y: x**y * mp.log(x)), special_power, powers,
             CROSS + tuple((x, y) for x in (0.0, -0.0, 2.0, -2.0, 0.5, 1e-300, 1e300)
                           for y in (0.5, 2.0, 3.0, -1.0, -2.0, -0.5, 1.0, 1 / 3))),
    "^ integer": Two(None, (), special_power_integer, integer_powers,
                     tuple((x, k) for x in (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1e-160, 1e160, INF, -INF, NAN)
                           for k in (0.0, 1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 1000.0, -1000.0))
                     + tuple((x, LEAST_INTEGER) for x in (1.0, -1.0))),
}


def compute(name, points=None):
    """Returns the rows of a function, ready for JSON, at these points or at those of its grid."""
    table = ONE[name] if name in ONE else TWO[name]
    points = points or table.points(random.Random(name))
    rows = []
    for point in points:
        row = json.dumps(registry.encode([*point, *table.row(*point)]))
        with mp.workdps(2 * mp.mp.dps):
            if row != json.dumps(registry.encode([*point, *table.row(*point)])):
                raise ArithmeticError(f"{name} at {point} is not exact")
        rows.append(json.loads(row))
    return rows


def agrees(name, rows):
    """Returns whether recorded rows equal those computed at the same points."""
    count = 1 if name in ONE else 2
    points = [tuple(float(x) for x in row[:count]) for row in rows]
    return json.dumps(compute(name, points)) == json.dumps(rows)


def wrong_formulas(name):
    """Returns the points at which a derivative of this file disagrees with a difference of values."""
    table = ONE[name] if name in ONE else TWO[name]
    if isinstance(table, Two) and not table.partials or name in ("floor", "ceil", "round", "trunc"):
        return []
    found = table.verify(random.Random(name))
    return [f"{name} at {x}: {a} is not {b}" for x, a, b in found if abs(a - b) > 1e-10 * (1 + abs(b))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with scalar.json")
    parser.add_argument("--sample", type=int, help="check only this many functions")
    parser.add_argument("--seed", type=int, default=0, help="which functions to check")
    options = parser.parse_args()

    names = sorted([*ONE, *TWO])
    if not options.check:
        lines = []
        for name in names:
            rows = ",\n  ".join(json.dumps(row) for row in compute(name))
            lines.append(f"{json.dumps(name)}: [\n  {rows}\n]")
        STORE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    stored = json.loads(STORE.read_text(encoding="utf-8"))
    if options.sample is not None:
        names = random.Random(options.seed).sample(names, min(options.sample, len(names)))
    elif sorted(stored) != names:
        sys.exit("scalar.json is not of these functions: " + ", ".join(sorted(set(stored) ^ set(names))))
    wrong = [fault for name in names for fault in wrong_formulas(name)]
    wrong += [f"{name} is not what it was recorded as" for name in names if not agrees(name, stored[name])]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(names)} scalar functions agree")


if __name__ == "__main__":
    main()
