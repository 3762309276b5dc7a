"""Golden values of programs/std: activations, layers, attention, losses, recurrent cells."""

import math

import numpy as np
import scipy.signal
import scipy.special
from scipy.special import expit, log_softmax, logsumexp, softmax

from registry import golden


@golden("std/activations")
def activations():
    x = (np.arange(13) - 6) * 1.25
    large, small = np.array([1000.0, 1001.0, 998.5, -1000.0]), np.array([-3.5, 0.25, 0.5])
    below = np.minimum(x, 0)
    alpha, scale = 1.6732632423543772848, 1.0507009873554804934

    def gelu(v):
        return v * scipy.special.ndtr(v)

    def approximate(v):
        # 1 + tanh(u), without the cancellation far below zero.
        u = math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)
        return v * np.exp(u) / (np.exp(u) + np.exp(-u))

    return (
        [
            gelu(x),
            approximate(x),
            x * expit(x),
            np.where(x > 0, x, np.expm1(below)),
            scale * np.where(x > 0, x, alpha * np.expm1(below)),
            np.where(x > 0, x, 0.01 * x),
            np.clip(x, 0, 6),
            x * np.tanh(np.logaddexp(0, x)),
            x / (1 + np.abs(x)),
            np.clip(x / 6 + 0.5, 0, 1),
            gelu(10 * x),
        ],
        x[2:5] * expit(x[5:8]),
        (softmax(large), log_softmax(large), logsumexp(large)),
        (softmax(small), log_softmax(small), logsumexp(small)),
        (-np.inf, np.inf),
    )


def convolve(weights, bias, x):
    """Returns every output channel: the sum over input channels of correlations, plus the bias."""

    def correlated(kernels):
        return sum(scipy.signal.correlate(a, w, "valid") for a, w in zip(x, kernels))

    return np.array([correlated(kernels) + b for kernels, b in zip(weights, bias)])


@golden("std/layers")
def layers():
    c, i = np.ogrid[:2, :9]
    line = (i * i + 3 * c * i + c) % 7 - 2.5
    c, i, j = np.ogrid[:2, :6, :7]
    image = (i * i + 2 * i * j + 5 * c * j + c) % 11 / 2 - 2
    o, c, j = np.ogrid[:3, :2, :4]
    w1 = (o + 2 * c + 3 * j) % 5 - 1.75
    o, c, i, j = np.ogrid[:3, :2, :3, :2]
    w2 = (o + 2 * c + 3 * i + 4 * j) % 5 - 1.75
    b = np.arange(3) / 2
    i, j = np.ogrid[:5, :3]
    batch = (i * i + 3 * i * j + j) % 7 - 2.5
    gain, bias = np.array([1.5, -0.5, 2.0]), np.array([0.25, 1.0, -1.0])
    table = np.zeros((4, 5))
    for t in range(4):
        for k in range(5):
            angle = t / 10000 ** ((k // 2 * 2) / 5)
            table[t, k] = math.cos(angle) if k % 2 else math.sin(angle)
    one, two = convolve(w1, b, line), convolve(w2, b, image)
    pairs = line[:, :8].reshape(2, 4, 2)
    squares = image[:, :6, :6].reshape(2, 2, 3, 2, 3)
    rows = (batch - batch.mean(1, keepdims=True)) / np.sqrt(batch.var(1, keepdims=True) + 0.001)
    columns = (batch - batch.mean(0)) / np.sqrt(batch.var(0) + 0.001)
    return (
        batch @ np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]]).T + [0.5, -0.5],
        (one, one[:, ::2], np.pad(line, [(0, 0), (1, 2)])),
        (two, two[:, ::2, ::2], np.pad(image, [(0, 0), (1, 1), (1, 1)])),
        (pairs.max(2), pairs.mean(2), squares.max((2, 4)), squares.mean((2, 4))),
        batch[[4, 0, 0, 2]],
        table,
        (
            gain * rows + bias,
            gain * batch / np.sqrt((batch**2).mean(1, keepdims=True) + 0.001),
            gain * columns + bias,
            bias * [1, 0, 1] / 0.75,
        ),
    )


def attend(mask, q, k, v):
    scores = np.where(mask, q @ k.T / math.sqrt(q.shape[1]), -np.inf)
    return softmax(scores, axis=1) @ v


@golden("std/attention")
def attention():
    i, j = np.ogrid[:5, :4]
    x = (i * i + 3 * i * j + j) % 7 / 2 - 1.5
    i, j = np.ogrid[:3, :4]
    y = (2 * i * i + i * j + 3 * j) % 5 / 2 - 1
    i, j = np.ogrid[:3, :2]
    v = 3.0 * i - 2 * j * i + 1
    h, i, j = np.ogrid[:2, :4, :3]
    wq = (h + 2 * i + 3 * j) % 5 / 4 - 0.5
    wk = (2 * h + i + j * i) % 5 / 4 - 0.5
    wv = (h + i * i + j) % 3 - 1.0
    h, i, j = np.ogrid[:2, :3, :4]
    out = (h + i + 2 * j) % 4 / 2 - 0.75
    causal = np.tri(5, dtype=bool)

    def heads(mask, a, b):
        return sum(attend(mask, a @ wq[n], b @ wk[n], b @ wv[n]) @ out[n] for n in range(2))

    i, j = np.ogrid[:5, :3]
    return (
        attend(True, x, y, v),
        attend(causal, x, x, x),
        attend((i + j) % 2 == 0, x, y, v),
        heads(True, x, y),
        heads(causal, x, x),
    )


@golden("std/losses")
def losses():
    i, j = np.ogrid[:4, :3]
    logits = (i * i + 3 * i * j + j) % 7 * 1.5 - 2
    labels = np.array([2, 0, 1, 1])
    p, t = logits[:, 0], logits[:, 2]
    entropies = -log_softmax(logits, axis=1)[np.arange(4), labels]
    z, y = np.array([-800.0, -1.5, 0.25, 3.0, 800.0]), np.arange(5) / 4
    return (
        [np.mean((p - t) ** 2), np.mean(np.abs(p - t)), np.mean(scipy.special.huber(1.5, p - t))],
        (entropies, entropies.mean(), 5000.0),
        -y * scipy.special.log_expit(z) - (1 - y) * scipy.special.log_expit(-z),
        (scipy.special.rel_entr([0.2, 0.0, 0.3, 0.5], 0.25).sum(), np.inf),
        np.eye(3)[labels],
        np.mean(logits.argmax(1) == labels),
    )


@golden("std/recurrent")
def recurrent():
    def gate(seed):
        i, j, k = np.arange(3)[:, None], np.arange(2), np.arange(3)
        w = (seed + 2 * i + 3 * j) % 7 / 4 - 0.75
        u = (2 * seed + i * i + k) % 5 / 4 - 0.5
        return lambda x, s: w @ x + u @ s + (seed - k) / 8

    t, j = np.ogrid[:6, :2]
    xs = (t * t + 2 * j) % 5 / 2 - 1
    g = {seed: gate(seed) for seed in range(1, 7)}
    s, memory, outputs = np.zeros(3), np.zeros(3), []
    for x in xs:
        memory = expit(g[2](x, s)) * memory + expit(g[1](x, s)) * np.tanh(g[4](x, s))
        s = expit(g[3](x, s)) * np.tanh(memory)
        outputs.append(s)
    states = [np.zeros(3)]
    for x in xs:
        old = states[-1]
        r, z = expit(g[2](x, old)), expit(g[5](x, old))
        states.append(z * old + (1 - z) * np.tanh(g[6](x, r * old)))
    return ((s, memory), outputs), states
