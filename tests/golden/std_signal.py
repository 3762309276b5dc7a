"""Golden values of programs/std: convolutions, stencils, windows, transforms, by scipy.signal."""

import numpy as np
import scipy.interpolate
import scipy.signal
from scipy.signal import windows as window

from registry import golden

PADDING = [
    {"mode": "constant"},
    {"mode": "edge"},
    {"mode": "wrap"},
    {"mode": "reflect"},
    {"mode": "symmetric"},
]


def signal():
    i = np.arange(8)
    return i * i % 7 - 2.5


@golden("std/convolutions")
def convolutions():
    x = np.append(signal(), 64 % 7 - 2.5)
    c = np.array([0.5, -1.0, 2.0, 0.25])
    i, j = np.ogrid[:5, :6]
    image = (i * i + 2 * j * i + j) % 11 - 4.0
    p, q = np.ogrid[:3, :2]
    patch = (p + 1) / 2 - q
    full = scipy.signal.convolve2d(image, patch)

    def padded(a, r):
        return [np.pad(a, r, **kind) for kind in PADDING]

    def every(a, f, shape):
        return np.apply_over_axes(f, np.lib.stride_tricks.sliding_window_view(a, shape), [-1]).squeeze(-1)

    square = [[1.0, 2.0, 0.0], [-1.0, 0.5, 3.0], [0.0, 1.0, -2.0]]
    return (
        (np.convolve(x, c, "valid"), np.convolve(x, c), np.convolve(x, c, "same"), np.convolve(x, c),
            *(scipy.signal.upfirdn(k, x, up=s) for s, k in ((2, c), (1, c), (4, np.arange(1.0, 6.0))))),
        (np.correlate(x, c, "valid"), np.correlate(x, c, "full"), np.correlate(x, c, "same")),
        (
            scipy.signal.convolve2d(image, patch, "valid"),
            full,
            full[1:6, 0:6],
            scipy.signal.correlate2d(image, patch, "valid"),
        ),
        [np.correlate(a, [0.5, -1.0, 2.0, 1.0, 0.25], "valid") for a in padded(x, 2)],
        [every(a, np.max, 5) for a in padded(x, 2)],
        [scipy.signal.correlate2d(a, square, "valid") for a in padded(image, 1)],
        padded(np.array([1.0, 2.0, 4.0]), 6),
    )


def wave(n):
    t = np.arange(n)
    return (t * t % 5 - 1.5) + 1j * (3 * t % 7) / 4


def parts(z):
    return {"re": z.real, "im": z.imag}


@golden("std/fourier")
def fourier():
    def transform(n):
        return parts(np.fft.fft(wave(n))) if n else {"re": [], "im": []}

    def spectrum(n):
        x = wave(n).real
        return np.abs(np.fft.rfft(x)) ** 2 / n, np.fft.rfftfreq(n, 1 / 8), x

    return (
        [transform(n) for n in (0, 1, 8, 12, 7)],
        [parts(wave(n)) for n in (8, 12, 7)],
        [transform(8), transform(12), parts(np.fft.ifft(wave(12)))],
        spectrum(8),
        spectrum(7),
        (np.abs(wave(8)), np.angle(wave(8))),
    )


@golden("std/windows")
def windows():
    def table(n):
        return [
            window.hann(n),
            window.hamming(n),
            window.blackman(n),
            window.blackmanharris(n),
            window.bartlett(n),
            window.gaussian(n, 2.5),
        ]

    xs, ys = np.array([-1.0, 0.5, 1.0, 3.0, 7.0]), np.array([2.0, -1.0, 4.0, 4.5, 0.0])
    at = np.arange(12) - 2.5
    line = scipy.interpolate.make_interp_spline(xs, ys, k=1)
    x = signal()
    smooth, _ = scipy.signal.lfilter([0.3], [1, -0.7], x, zi=[0.7 * x[0]])
    return (
        table(10),
        table(1),
        [np.interp(at, xs, ys), line(at), np.interp(at, xs, ys, left=-9.5, right=-9.5)],
        (np.convolve(x, np.ones(3) / 3, "valid"), smooth),
        (np.cumsum(x), np.cumprod(x), np.diff(x), np.gradient(x, 0.25)),
    )


@golden("std/spectrogram")
def spectrogram():
    t = np.arange(96)
    chirp = np.cos(2 * np.pi * 0.0025 * (t * t))
    frames = np.lib.stride_tricks.sliding_window_view(chirp, 16)[::8]
    power = np.abs(np.fft.rfft(window.hann(16, sym=False) * frames)) ** 2 / 16
    y = np.fft.rfft(chirp)
    y[12:] = 0
    return power, power.argmax(1), np.fft.irfft(y), np.interp(np.arange(40) * 95 / 39, t, chirp)
