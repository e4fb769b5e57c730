"""TensorFlow's update formulas in NumPy, with where they come from, and two small problems; `python -m` this file rewrites the stored values.

TensorFlow's kernels (tensorflow/core/kernels/training_ops.cc) update element by element; the class of each optimizer in
tensorflow/python/training/ says what it passes to the kernel. Each class below repeats these formulas literally, for the rows `at` of `w`:
`slice(None)` for a dense gradient, unique indices for a gradient of rows. `t` is the number of the step, from 1. Numbers are float64.

The stored file (trajectories.json) has the values after some steps, so that a mistake in this file and in the library would have to be made
twice, at different times. `PUBLISHED` are numbers that TensorFlow's own unit tests contain; they do not depend on this file.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

STORED = Path(__file__).with_name("trajectories.json")
STEPS = 100
STORED_STEPS = (1, 2, 3, 10, 100)


class Descent:
    """ApplyGradientDescent, ScatterSub for rows: var -= alpha * delta."""

    def __init__(self, lr):
        self.lr = lr

    def rows(self, w, g, at, t):
        w[at] -= self.lr * g


class Momentum:
    """ApplyMomentum: accum = accum * momentum + grad; var -= lr * accum, or with use_nesterov var -= grad * lr + accum * momentum * lr.

    Sutskever et al. 2013 write v = mu v - eps grad, theta += v. TensorFlow's accum is -v / eps, so a changed rate acts at once.
    """

    def __init__(self, lr, momentum, nesterov=False):
        self.lr, self.momentum, self.nesterov, self.accum = lr, momentum, nesterov, None

    def rows(self, w, g, at, t):
        if self.accum is None:
            self.accum = np.zeros_like(w)
        self.accum[at] = self.momentum * self.accum[at] + g
        w[at] -= self.lr * (g + self.momentum * self.accum[at] if self.nesterov else self.accum[at])


class Adagrad:
    """ApplyAdagrad: accum += grad^2; var -= lr * grad / sqrt(accum). Duchi et al. 2011, figure 1, with accum starting at 0.1 in place of delta."""

    def __init__(self, lr, start=0.1):
        self.lr, self.start, self.accum = lr, start, None

    def rows(self, w, g, at, t):
        if self.accum is None:
            self.accum = np.full_like(w, self.start)
        self.accum[at] += g * g
        w[at] -= self.lr * g * (1 / np.sqrt(self.accum[at]))


class Adadelta:
    """ApplyAdadelta: Zeiler 2012, algorithm 1, times lr.

    accum = rho * accum + (1 - rho) * grad^2; update = sqrt(accum_update + eps) * rsqrt(accum + eps) * grad; var -= lr * update;
    accum_update = rho * accum_update + (1 - rho) * update^2, which does not contain lr.
    """

    def __init__(self, lr, rho=0.95, epsilon=1e-8):
        self.lr, self.rho, self.epsilon, self.accum = lr, rho, epsilon, None

    def rows(self, w, g, at, t):
        if self.accum is None:
            self.accum, self.moved = np.zeros_like(w), np.zeros_like(w)
        self.accum[at] = self.rho * self.accum[at] + (1 - self.rho) * g * g
        update = np.sqrt(self.moved[at] + self.epsilon) * (1 / np.sqrt(self.accum[at] + self.epsilon)) * g
        w[at] -= self.lr * update
        self.moved[at] = self.rho * self.moved[at] + (1 - self.rho) * update * update


class Adam:
    """ApplyAdam: m += (g - m)(1 - beta1); v += (g^2 - v)(1 - beta2); var -= lr_t * m / (sqrt(v) + eps), lr_t = lr sqrt(1 - beta2^t) / (1 - beta1^t).

    Kingma and Ba 2014 divide by sqrt(v / (1 - beta2^t)) + eps. Multiplying both by sqrt(1 - beta2^t) gives sqrt(v) + eps sqrt(1 - beta2^t):
    TensorFlow's eps is this product, "epsilon hat", kept constant. For rows, AdamOptimizer._apply_sparse_shared decays m and v everywhere
    and then moves every row, so it is the dense formula with zeros in the other rows.
    """

    def __init__(self, lr=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8):
        self.lr, self.beta1, self.beta2, self.epsilon, self.m, self.v = lr, beta1, beta2, epsilon, 0.0, 0.0

    def rows(self, w, g, at, t):
        whole = np.zeros_like(w)
        whole[at] = g
        self.m = self.beta1 * self.m + (1 - self.beta1) * whole
        self.v = self.beta2 * self.v + (1 - self.beta2) * whole**2
        rate = self.lr * np.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)
        w -= rate * self.m / (np.sqrt(self.v) + self.epsilon)


class RMSProp:
    """ApplyRMSProp: ms = rho ms + (1 - rho) grad^2; mom = momentum mom + lr grad / sqrt(ms + eps); var -= mom. ms starts at one.

    ApplyCenteredRMSProp: mg = rho mg + (1 - rho) grad, and ms - mg^2 + eps under the root: the variance in place of the second moment.
    """

    def __init__(self, lr, decay=0.9, momentum=0.0, epsilon=1e-10, centered=False):
        self.lr, self.decay, self.momentum, self.epsilon, self.centered, self.ms = lr, decay, momentum, epsilon, centered, None

    def rows(self, w, g, at, t):
        if self.ms is None:
            self.ms, self.mg, self.mom = np.ones_like(w), np.zeros_like(w), np.zeros_like(w)
        self.ms[at] = self.decay * self.ms[at] + (1 - self.decay) * g * g
        under = self.ms[at] + self.epsilon
        if self.centered:
            self.mg[at] = self.decay * self.mg[at] + (1 - self.decay) * g
            under = self.ms[at] - self.mg[at] ** 2 + self.epsilon
        self.mom[at] = self.momentum * self.mom[at] + self.lr * g / np.sqrt(under)
        w[at] -= self.mom[at]


class Ftrl:
    """ApplyFtrlV2, from McMahan et al. 2013, algorithm 1.

    There, per element: sigma = (sqrt(n + g^2) - sqrt(n)) / alpha; z += g - sigma w; n += g^2; w = 0 where |z| <= l1, else
    w = -(z - sign(z) l1) / ((beta + sqrt(n)) / alpha + l2). TensorFlow has n^(-lr_power) for the root, 2 l2 for l2, and adds the
    gradient 2 l2_shrinkage w to g in z but not in n. FtrlOptimizer passes l2 + beta / (2 lr) as l2, which gives the beta above.
    """

    def __init__(self, lr, power=-0.5, start=0.1, l1=0.0, l2=0.0, shrinkage=0.0, beta=0.0):
        self.lr, self.power, self.start, self.l1, self.l2, self.shrinkage, self.beta = lr, power, start, l1, l2, shrinkage, beta
        self.accum = None

    def rows(self, w, g, at, t):
        if self.accum is None:
            self.accum, self.linear = np.full_like(w, self.start), np.zeros_like(w)
        l2 = self.l2 + self.beta / (2 * self.lr)
        shrunk = g + 2 * self.shrinkage * w[at]
        new = self.accum[at] + g * g
        self.linear[at] += shrunk - (new**-self.power - self.accum[at] ** -self.power) / self.lr * w[at]
        quadratic = 1 / (new**self.power * self.lr) + 2 * l2
        linear = self.linear[at]
        w[at] = np.where(np.abs(linear) > self.l1, (np.sign(linear) * self.l1 - linear) / quadratic, 0.0)
        self.accum[at] = new


class ProximalDescent:
    """ApplyProximalGradientDescent: prox = var - alpha delta; var = sign(prox) max(|prox| - alpha l1, 0) / (1 + alpha l2).

    Duchi and Singer 2009: var minimizes (v - prox)^2 / (2 alpha) + l1 |v| + l2 v^2 / 2. Where v > 0 its derivative is
    (v - prox) / alpha + l1 + l2 v = 0, so v = (prox - alpha l1) / (1 + alpha l2) if that is positive; likewise below zero; otherwise 0.
    """

    def __init__(self, lr, l1=0.0, l2=0.0):
        self.lr, self.l1, self.l2 = lr, l1, l2

    def rows(self, w, g, at, t):
        prox = w[at] - self.lr * g
        w[at] = np.sign(prox) * np.maximum(np.abs(prox) - self.lr * self.l1, 0) / (1 + self.lr * self.l2)


class ProximalAdagrad:
    """ApplyProximalAdagrad: the proximal step with alpha = lr / sqrt(accum) for each element, after accum += grad^2."""

    def __init__(self, lr, start=0.1, l1=0.0, l2=0.0):
        self.lr, self.start, self.l1, self.l2, self.accum = lr, start, l1, l2, None

    def rows(self, w, g, at, t):
        if self.accum is None:
            self.accum = np.full_like(w, self.start)
        self.accum[at] += g * g
        alpha = self.lr / np.sqrt(self.accum[at])
        prox = w[at] - alpha * g
        w[at] = np.sign(prox) * np.maximum(np.abs(prox) - alpha * self.l1, 0) / (1 + alpha * self.l2)


class AdagradDA:
    """ApplyAdagradDA: the dual averaging of Duchi et al. 2011, equation 3, with global_step t, which AdagradDAOptimizer passes plus one.

    a += grad; n += grad^2; var minimizes a v + t l1 |v| + t l2 v^2 / 2 + v^2 sqrt(n) / (2 lr). Where v < 0: a - t l1 + (t l2 + sqrt(n) / lr) v
    = 0, so v = -lr (a - t l1) / (t l2 lr + sqrt(n)) if a > t l1; likewise above zero; otherwise 0.
    """

    def __init__(self, lr, start=0.1, l1=0.0, l2=0.0):
        self.lr, self.start, self.l1, self.l2, self.sums = lr, start, l1, l2, None

    def rows(self, w, g, at, t):
        if self.sums is None:
            self.sums, self.squares = np.zeros_like(w), np.full_like(w, self.start)
        self.sums[at] += g
        self.squares[at] += g * g
        a = np.sign(self.sums[at]) * np.maximum(np.abs(self.sums[at]) - self.l1 * t, 0)
        w[at] = -self.lr * a / (self.l2 * t * self.lr + np.sqrt(self.squares[at]))


FORMULAS = {
    "descent": lambda: Descent(0.05),
    "momentum": lambda: Momentum(0.02, 0.9),
    "nesterov": lambda: Momentum(0.02, 0.8, nesterov=True),
    "adagrad": lambda: Adagrad(0.3),
    "adagrad from 0.5": lambda: Adagrad(0.3, 0.5),
    "adadelta": lambda: Adadelta(1.0, 0.9, 1e-4),
    "adam": lambda: Adam(0.05),
    "adam, large epsilon": lambda: Adam(0.05, 0.8, 0.95, 0.1),
    "rmsprop": lambda: RMSProp(0.02),
    "rmsprop with momentum": lambda: RMSProp(0.02, 0.8, 0.7, 1e-3),
    "rmsprop, centered": lambda: RMSProp(0.02, 0.8, 0.5, 1e-3, centered=True),
    "ftrl": lambda: Ftrl(0.3),
    "ftrl, all options": lambda: Ftrl(0.4, -0.7, 0.2, 0.05, 0.02, 0.03, 0.5),
    "ftrl, constant rate": lambda: Ftrl(0.1, 0.0),
    "proximal descent": lambda: ProximalDescent(0.05),
    "proximal descent, l1 and l2": lambda: ProximalDescent(0.05, 0.3, 0.2),
    "proximal adagrad": lambda: ProximalAdagrad(0.3),
    "proximal adagrad, l1 and l2": lambda: ProximalAdagrad(0.3, 0.2, 0.3, 0.2),
    "dual averaging": lambda: AdagradDA(0.3),
    "dual averaging, l1 and l2": lambda: AdagradDA(0.3, 0.2, 0.02, 0.05),
}


def spread(shape, seed):
    """Numbers between -1 and 1 that are exact in float32 and the same on every machine."""
    numbers = np.arange(int(np.prod(shape)), dtype=np.int64)
    return (((numbers * 7919 + seed * 104729) * 31 % 257) - 128).reshape(shape) / 128


class Dense:
    """Least squares with a bias, and a push that keeps gradients from vanishing: near the minimum RMSProp's steps would be rounding errors."""

    x, y, push = spread((20, 4), 1), spread(20, 2), spread((STEPS, 4), 3)
    w, b = spread(4, 4), np.array([0.5])

    @classmethod
    def gradients(cls, w, b, t):
        off = 2 * (cls.x @ w + b * cls.push[t - 1, 0] - cls.y) / len(cls.y)
        return cls.x.T @ off + cls.push[t - 1], off.sum().reshape(1) * cls.push[t - 1, 0]


class Rows:
    """A table of 8 rows of which each step uses some of the first 7, some of them twice."""

    table, weights = spread((8, 3), 5), spread((STEPS, 6, 3), 6)
    picks = (np.arange(STEPS * 6).reshape(STEPS, 6) * 37 // 5) % 7

    @classmethod
    def gradient(cls, table, t):
        at, place = np.unique(cls.picks[t - 1], return_inverse=True)
        g = np.zeros((len(at), 3))
        np.add.at(g, place, cls.weights[t - 1] + table[cls.picks[t - 1]])
        return at, g


def dense_trajectory(case):
    """The values of w and b after each step."""
    w, b = Dense.w.copy(), Dense.b.copy()
    of_w, of_b = FORMULAS[case](), FORMULAS[case]()
    found = []
    for t in range(1, STEPS + 1):
        g, h = Dense.gradients(w, b, t)
        of_w.rows(w, g, slice(None), t)
        of_b.rows(b, h, slice(None), t)
        found.append((w.copy(), b.copy()))
    return found


def rows_trajectory(case):
    """The table after each step."""
    table, formula, found = Rows.table.copy(), FORMULAS[case](), []
    for t in range(1, STEPS + 1):
        at, g = Rows.gradient(table, t)
        formula.rows(table, g, at, t)
        found.append(table.copy())
    return found


def computed():
    """What the stored file contains: for each case the dense variables and the table after some steps."""
    found = {}
    for case in FORMULAS:
        dense, rows = dense_trajectory(case), rows_trajectory(case)
        found[case] = {
            "dense": {str(t): [*dense[t - 1][0].tolist(), *dense[t - 1][1].tolist()] for t in STORED_STEPS},
            "rows": {str(t): rows[t - 1].tolist() for t in STORED_STEPS},
        }
    return found


# Numbers from TensorFlow's unit tests (tensorflow/python/training/*_test.py). There the gradients of two variables are the constants
# (0.1, 0.2) and (0.01, 0.02) (Adagrad: 0.1 and 0.01 in both elements), and the rate is 3. Name: steps, gradients, start, values at the end.
_FTRL_GRADS = ([0.1, 0.2], [0.01, 0.02])
PUBLISHED = {
    "adagrad": (3, ([0.1, 0.1], [0.01, 0.01]), ([1.0, 2.0], [3.0, 4.0]), ([-1.6026098728179932, -0.6026098728179932], [2.715679168701172, 3.715679168701172])),
    "ftrl": (3, _FTRL_GRADS, ([0.0, 0.0], [0.0, 0.0]), ([-2.60260963, -4.29698515], [-0.28432083, -0.56694895])),
    "ftrl, other start": (3, _FTRL_GRADS, ([1.0, 2.0], [4.0, 3.0]), ([-2.55607247, -3.98729396], [-0.28232238, -0.56096673])),
    "ftrl, l1": (10, _FTRL_GRADS, ([1.0, 2.0], [4.0, 3.0]), ([-7.66718769, -10.91273689], [-0.93460727, -1.86147261])),
    "ftrl, l1 and l2": (10, _FTRL_GRADS, ([1.0, 2.0], [4.0, 3.0]), ([-0.24059935, -0.46829352], [-0.02406147, -0.04830509])),
    "ftrl, shrinkage": (10, _FTRL_GRADS, ([1.0, 2.0], [4.0, 3.0]), ([-0.22578995, -0.44345796], [-0.14378493, -0.13229476])),
    "proximal descent": (3, _FTRL_GRADS, ([0.0, 0.0], [0.0, 0.0]), ([-0.9, -1.8], [-0.09, -0.18])),
    "proximal descent, other start": (3, _FTRL_GRADS, ([1.0, 2.0], [4.0, 3.0]), ([0.1, 0.2], [3.91, 2.82])),
    "proximal descent, l1 and l2": (10, _FTRL_GRADS, ([1.0, 2.0], [4.0, 3.0]), ([-0.0495, -0.0995], [-0.0045, -0.0095])),
    "proximal adagrad": (3, _FTRL_GRADS, ([0.0, 0.0], [0.0, 0.0]), ([-2.60260963, -4.29698515], [-0.28432083, -0.56694895])),
    "proximal adagrad, other start": (3, _FTRL_GRADS, ([1.0, 2.0], [4.0, 3.0]), ([-1.60261, -2.296985], [3.715679, 2.433051])),
    "proximal adagrad, l1": (10, _FTRL_GRADS, ([1.0, 2.0], [4.0, 3.0]), ([-6.663634, -9.190331], [2.959304, 1.029232])),
    "proximal adagrad, l1 and l2": (10, _FTRL_GRADS, ([1.0, 2.0], [4.0, 3.0]), ([-0.0495, -0.0995], [-0.0045, -0.0095])),
    "dual averaging": (1, _FTRL_GRADS, ([0.0, 0.0], [0.0, 0.0]), ([-0.904534, -1.603567], [-0.094821, -0.189358])),
    "dual averaging, l1": (1, _FTRL_GRADS, ([1.0, 2.0], [4.0, 3.0]), ([-0.895489, -1.59555], [-0.085339, -0.17989])),
    "dual averaging, l1 and l2": (1, _FTRL_GRADS, ([1.0, 2.0], [4.0, 3.0]), ([-0.046907, -0.093659], [-0.004275, -0.009023])),
}


if __name__ == "__main__":
    STORED.write_text(json.dumps(computed(), indent=1) + "\n")
