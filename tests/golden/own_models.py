"""Golden values of programs/own: statistics and learning."""

import itertools

import numpy as np
import scipy.cluster.vq
import scipy.special
import scipy.stats

from registry import golden


@golden("own/kmeans")
def kmeans():
    i = np.arange(12)
    points = np.stack([i % 4 + 0.1 * i, i // 4 * 2.0 - 0.05 * (i * i)], axis=1)
    start = np.array([[0.0, 0.0], [2.5, 1.0], [50.0, 50.0]])
    centres = start.copy()
    for _ in range(3):
        labels, _ = scipy.cluster.vq.vq(points, centres)
        for c in np.unique(labels):
            centres[c] = points[labels == c].mean(axis=0)
    labels, after = scipy.cluster.vq.vq(points, centres)
    _, before = scipy.cluster.vq.vq(points, start)
    return centres, labels, [np.sum(before**2), np.sum(after**2)]


@golden("own/kalman")
def kalman():
    a = np.array([[1.0, 0.1], [0.0, 1.0]])
    q, r, steps = np.diag([0.01, 0.02]), 0.25, 8
    t = np.arange(steps)
    z = 0.1 * t + 0.3 * np.sin(5.0 * t)

    # All states and observations are jointly normal, so the whole distribution is conditioned at once.
    powers = [np.linalg.matrix_power(a, k) for k in range(steps + 1)]
    mean = np.concatenate([p @ [0.0, 1.0] for p in powers])
    big = np.zeros((2 * (steps + 1), 2 * (steps + 1)))
    for i, j in itertools.product(range(steps + 1), repeat=2):
        cov = powers[i] @ powers[j].T
        for k in range(1, min(i, j) + 1):
            cov = cov + powers[i - k] @ q @ powers[j - k].T
        big[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = cov
    seen = 2 * np.arange(1, steps + 1)

    def given(target, count):
        rows = seen[:count]
        s = big[np.ix_(rows, rows)] + r * np.eye(count)
        gain = np.linalg.solve(s, big[np.ix_(rows, target)]).T
        return (
            mean[target] + gain @ (z[:count] - mean[rows]),
            big[np.ix_(target, target)] - gain @ big[np.ix_(rows, target)],
        )

    last, cov = given(np.array([2 * steps, 2 * steps + 1]), steps)
    density = scipy.stats.multivariate_normal(mean[seen], big[np.ix_(seen, seen)] + r * np.eye(steps))
    predicted = [given(seen[k : k + 1], k)[0][0] for k in range(steps)]
    return {"mean": last, "cov": cov}, density.logpdf(z), predicted


@golden("own/hmm")
def hmm():
    start = np.array([0.6, 0.4])
    trans = np.array([[0.7, 0.3], [0.4, 0.6]])
    emit = np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])

    # The chain moves before each observation: every path of states, one at a time.
    def paths(seen):
        for path in itertools.product(range(2), repeat=len(seen) + 1):
            p = start[path[0]]
            for k, o in enumerate(seen):
                p *= trans[path[k], path[k + 1]] * emit[path[k + 1], o]
            yield p, path

    seen = [0, 1, 2, 2, 1, 0, 0]
    best, path = max(paths(seen))
    short = sum(p for p, _ in paths([0, 2]))
    return (
        np.log(sum(p for p, _ in paths(seen))),
        [short, short],
        [np.log(best), path[-1]],
        [np.log(start)],
    )


@golden("own/softmax_regression")
def softmax_regression():
    w = np.sin(np.arange(12.0)).reshape(3, 4)
    b = np.array([0.1, -0.1, 0.0])
    x = np.cos(np.outer(np.arange(15), np.arange(1, 5)))
    label = np.arange(15) ** 2 % 3
    logits = x @ w.T + b
    fit = scipy.special.log_softmax(logits, axis=1)[np.arange(15), label]
    return -fit.mean() + 0.01 * np.sum(w**2), np.mean(logits.argmax(axis=1) == label), -fit[0]


@golden("own/perceptron")
def perceptron():
    x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0.0, 1.0, 1.0, 0.0])
    start = [
        np.array([[0.5, -0.4], [-0.3, 0.8], [0.9, 0.7]]),
        np.array([0.1, -0.2, 0.0]),
        np.array([0.6, -0.5, 0.4]),
        np.array(0.0),
    ]

    def outputs(net):
        w1, b1, w2, b2 = net
        return scipy.special.expit(np.tanh(x @ w1.T + b1) @ w2 + b2)

    def loss(net):
        return np.sum((outputs(net) - y) ** 2)

    def gradient(net):
        # By complex steps: no rule of differentiation is used.
        result = []
        for k, p in enumerate(net):
            g = np.zeros(np.shape(p))
            for place in np.ndindex(g.shape):
                moved = [np.array(q, dtype=complex) for q in net]
                moved[k][place] += 1e-30j
                w1, b1, w2, b2 = moved
                o = 1 / (1 + np.exp(-(np.tanh(x @ w1.T + b1) @ w2 + b2)))
                g[place] = np.sum((o - y) ** 2).imag / 1e-30
            result.append(g)
        return result

    net = start
    for _ in range(20):
        net = [p - 0.5 * g for p, g in zip(net, gradient(net))]
    names = ["w1", "b1", "w2", "b2"]
    return [loss(start), loss(net)], outputs(net), dict(zip(names, gradient(start)))


@golden("own/lstm")
def lstm():
    def gate(seed, n=2, h=3):
        i = np.arange(h)
        return np.hstack(
            [
                np.sin(seed + np.add.outer(i, 2 * np.arange(n))),
                0.5 * np.cos(seed * (1.0 + np.add.outer(i, i))),
                (0.1 * seed - 0.05 * i)[:, None],
            ]
        )

    # All gates in one matrix, acting on the input, the hidden state and a one.
    gates = np.vstack([gate(s) for s in (1.0, 2.0, 3.0, 4.0)])
    hidden, memory, outputs = np.zeros(3), np.zeros(3), []
    for k in range(5):
        joint = gates @ np.concatenate([[np.sin(k), np.cos(k)], hidden, [1.0]])
        i, f, o = np.split(scipy.special.expit(joint[:9]), 3)
        memory = f * memory + i * np.tanh(joint[9:])
        hidden = o * np.tanh(memory)
        outputs.append(hidden)
    return [hidden, memory], outputs


@golden("own/attention")
def attention():
    def weights(seed):
        return np.sin(seed * (1.0 + np.arange(24.0))).reshape(2, 4, 3)

    def heads(x):
        q, k, v = (np.einsum("td,hde->hte", x, weights(s)) for s in (0.3, 0.7, 1.1))
        scores = np.einsum("hie,hje->hij", q, k) / np.sqrt(3.0)
        scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
        mixed = scipy.special.softmax(scores, axis=2) @ v
        return np.concatenate(list(mixed), axis=1)

    x = np.cos(np.add.outer(np.arange(5), 0.5 * np.arange(4)))
    return heads(x), heads(x[2:3])


def gates_by_formula(seed, b):
    j = np.arange(b)
    return np.stack([np.sin(seed + j) / 2, np.cos(seed + 2 * j) / 2, np.sin(seed * (1 + j)) / 4, np.cos(seed - j)])


def read(weight, bias, into, out, shift, hidden, cell, x):
    """Returns D-LSTM's prediction after a character. Gates are rows, in the order forget, input, output, change."""
    below, states = x * into, []
    for k in range(len(weight)):
        inputs = np.stack([below, hidden[k], below, hidden[k]]) * weight[k] + bias[k]
        forget, ingate, outgate = scipy.special.expit(inputs[:3])
        now = cell[k] * forget + ingate * np.tanh(inputs[3])
        below = outgate * np.tanh(now)
        states.append((below, now))
    return below * out + shift, *np.swapaxes(states, 0, 1)


@golden("own/dlstm")
def dlstm():
    def example(layers, b):
        j = np.arange(b)
        weight = np.stack([gates_by_formula(1.0 + k, b) for k in range(layers)])
        bias = np.stack([gates_by_formula(-0.5 * (1 + k), b) for k in range(layers)])
        cell = 0.1 * np.subtract.outer(j, np.arange(layers)).T
        return (weight, bias, 1 + 0.1 * j, 0.75 - 0.2 * j, 0.1 * j), (np.zeros((layers, b)), cell)

    def loss(layers, b, t):
        seen = np.eye(b)[(np.arange(t) ** 2 + 1) % b]
        net, states = example(layers, b)
        terms = []
        for x, following in zip(seen, seen[1:]):
            y, *states = read(*net, *states, x)
            terms.append(y[following == 1] - scipy.special.logsumexp(np.append(y, np.log(2.0))))
        return -np.sum(terms) / ((t - 1) * b)

    net, states = example(2, 3)
    return loss(2, 3, 9), loss(3, 5, 2), read(*net, *states, np.eye(3)[1])[0]
