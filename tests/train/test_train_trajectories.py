"""Optimizers follow TensorFlow's documented formulas, written out here in NumPy, for 100 steps, dense and in rows."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow import train

STEPS = 100


class Descent:
    def __init__(self, lr):
        self.lr = lr

    def rows(self, w, g, at, t):
        w[at] -= self.lr * g


class Momentum:
    def __init__(self, lr, momentum, nesterov=False):
        self.lr, self.momentum, self.nesterov, self.accum = lr, momentum, nesterov, None

    def rows(self, w, g, at, t):
        if self.accum is None:
            self.accum = np.zeros_like(w)
        self.accum[at] = self.momentum * self.accum[at] + g
        w[at] -= self.lr * (g + self.momentum * self.accum[at] if self.nesterov else self.accum[at])


class Adagrad:
    def __init__(self, lr, start=0.1):
        self.lr, self.start, self.accum = lr, start, None

    def rows(self, w, g, at, t):
        if self.accum is None:
            self.accum = np.full_like(w, self.start)
        self.accum[at] += g * g
        w[at] -= self.lr * g * (1 / np.sqrt(self.accum[at]))


class Adadelta:
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
    def __init__(self, lr=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8):
        self.lr, self.beta1, self.beta2, self.epsilon, self.m, self.v = lr, beta1, beta2, epsilon, 0.0, 0.0

    def rows(self, w, g, at, t):
        whole = np.zeros_like(w)  # TensorFlow's sparse Adam decays both means everywhere and moves every row
        whole[at] = g
        self.m = self.beta1 * self.m + (1 - self.beta1) * whole
        self.v = self.beta2 * self.v + (1 - self.beta2) * whole**2
        rate = self.lr * np.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)
        w -= rate * self.m / (np.sqrt(self.v) + self.epsilon)


class RMSProp:
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


CASES = {
    "descent": (lambda: train.GradientDescentOptimizer(0.05), lambda: Descent(0.05)),
    "momentum": (lambda: train.MomentumOptimizer(0.02, 0.9), lambda: Momentum(0.02, 0.9)),
    "nesterov": (lambda: train.MomentumOptimizer(0.02, 0.8, use_nesterov=True), lambda: Momentum(0.02, 0.8, nesterov=True)),
    "adagrad": (lambda: train.AdagradOptimizer(0.3), lambda: Adagrad(0.3)),
    "adagrad from 0.5": (lambda: train.AdagradOptimizer(0.3, 0.5), lambda: Adagrad(0.3, 0.5)),
    "adadelta": (lambda: train.AdadeltaOptimizer(1.0, 0.9, 1e-4), lambda: Adadelta(1.0, 0.9, 1e-4)),
    "adam": (lambda: train.AdamOptimizer(0.05), lambda: Adam(0.05)),
    "adam, large epsilon": (lambda: train.AdamOptimizer(0.05, 0.8, 0.95, 0.1), lambda: Adam(0.05, 0.8, 0.95, 0.1)),
    "rmsprop": (lambda: train.RMSPropOptimizer(0.02), lambda: RMSProp(0.02)),
    "rmsprop with momentum": (lambda: train.RMSPropOptimizer(0.02, 0.8, 0.7, 1e-3), lambda: RMSProp(0.02, 0.8, 0.7, 1e-3)),
    "rmsprop, centered": (
        lambda: train.RMSPropOptimizer(0.02, 0.8, 0.5, 1e-3, centered=True),
        lambda: RMSProp(0.02, 0.8, 0.5, 1e-3, centered=True),
    ),
    "ftrl": (lambda: train.FtrlOptimizer(0.3), lambda: Ftrl(0.3)),
    "ftrl, all options": (
        lambda: train.FtrlOptimizer(0.4, -0.7, 0.2, 0.05, 0.02, l2_shrinkage_regularization_strength=0.03, beta=0.5),
        lambda: Ftrl(0.4, -0.7, 0.2, 0.05, 0.02, 0.03, 0.5),
    ),
    "ftrl, constant rate": (lambda: train.FtrlOptimizer(0.1, learning_rate_power=0.0), lambda: Ftrl(0.1, 0.0)),
}
TOLERANCE = {ut.float64: 1e-11, ut.float32: 2e-4}
GATES = (train.Optimizer.GATE_NONE, train.Optimizer.GATE_OP, train.Optimizer.GATE_GRAPH)


def close(ours, theirs, dtype):
    np.testing.assert_allclose(ours.detach().numpy().astype(np.float64), theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [ut.float64, ut.float32], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_dense_trajectories_match_the_formulas(case, dtype):
    make, formula = CASES[case]
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    push = rng.normal(size=(STEPS, 4))  # keeps gradients from vanishing: near the minimum RMSProp's steps would be rounding errors
    w, b = rng.normal(size=4), np.array(0.5)
    ours_w, ours_b = train.Variable(w, dtype=dtype, name="w"), train.Variable(b, dtype=dtype, name="b")
    ours_x, ours_y = ut.tensor(x, dtype=dtype), ut.tensor(y, dtype=dtype)
    opt, of_w, of_b = make(), formula(), formula()
    w, b = w.copy(), b.reshape(1).copy()
    for t in range(1, STEPS + 1):
        loss = ((ours_x @ ours_w + ours_b * push[t - 1, 0] - ours_y) ** 2).mean() + (ours_w * ut.tensor(push[t - 1], dtype=dtype)).sum()
        opt.minimize(loss, gate_gradients=GATES[t % 3])
        off = 2 * (x @ w + b * push[t - 1, 0] - y) / len(y)
        of_w.rows(w, x.T @ off + push[t - 1], slice(None), t)
        of_b.rows(b, off.sum().reshape(1) * push[t - 1, 0], slice(None), t)
        close(ours_w, w, dtype)
        close(ours_b.reshape(1), b, dtype)


@pytest.mark.parametrize("dtype", [ut.float64, ut.float32], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_sparse_trajectories_match_the_formulas(case, dtype):
    make, formula = CASES[case]
    rng = np.random.default_rng(2)
    table, row = rng.normal(size=(8, 3)), rng.normal(size=(STEPS, 6, 3))
    picks = rng.integers(0, 7, size=(STEPS, 6))  # with duplicates, and never row 7
    ours = train.Variable(table, dtype=dtype, name="table")
    opt, numpys = make(), formula()
    table = table.copy()
    for t in range(1, STEPS + 1):
        idx, weight = picks[t - 1], row[t - 1]
        looked_up = ut.nn.functional.embedding(ut.tensor(idx), ours)
        opt.minimize((looked_up * ut.tensor(weight, dtype=dtype)).sum() + (looked_up**2).sum() / 2, gate_gradients=GATES[t % 3])
        at, place = np.unique(idx, return_inverse=True)
        g = np.zeros((len(at), 3))
        np.add.at(g, place, weight + table[idx])
        numpys.rows(table, g, at, t)
        close(ours, table, dtype)
    if case.startswith("adam"):
        assert not opt.get_slot(ours, "m")[7].any()  # row 7 never had a gradient, so there was nothing to decay


@pytest.mark.parametrize("case", [c for c in CASES if not c.startswith("adam")])
def test_rows_without_a_gradient_are_unchanged(case):
    table = train.Variable(ut.ones(4, 2))
    opt = CASES[case][0]()
    for indices in ([0, 1], [1, 3]):
        before = [table.detach().clone()] + [s.detach().clone() for s in opt.variables()]
        opt.minimize(table[ut.tensor(indices)].sum())
        after = [table, *opt.variables()]
        for old, new in zip(before, after):
            for row in {0, 1, 2, 3} - set(indices):
                assert (old[row] == new[row]).all()
        assert (before[0][indices[1]] != table[indices[1]]).all()


def test_sparse_adam_moves_rows_it_saw_before():
    table = train.Variable(ut.ones(3, 2))
    opt = train.AdamOptimizer(0.1)
    opt.minimize(table[ut.tensor([0])].sum())
    before = table.detach().clone()
    opt.minimize(table[ut.tensor([1])].sum())
    assert (table[0] != before[0]).all() and (table[2] == 1).all()


@pytest.mark.parametrize("case", CASES)
def test_half_types_are_computed_in_float32(case):
    make, _ = CASES[case]
    start = ut.linspace(-1, 1, 5).to(ut.bfloat16)
    narrow, wide = train.Variable(start), train.Variable(start.float())
    one, other = make(), make()
    one.minimize((narrow * 3).sum())
    other.minimize((wide * 3).sum())
    assert narrow.dtype == ut.bfloat16
    assert (narrow == wide.to(ut.bfloat16)).all()


def test_a_rate_that_changes_stays_in_the_momentum_of_rmsprop():
    # TensorFlow's buffer holds steps, learning rate included; torch's does not.
    rates = iter([1.0, 0.0])
    w = train.Variable(ut.zeros(1, dtype=ut.float64))
    opt = train.RMSPropOptimizer(lambda: next(rates), decay=0.5, momentum=0.5, epsilon=0.0)
    opt.minimize((w * 2).sum())
    first = w.item()
    opt.minimize((w * 2).sum())
    assert w.item() == pytest.approx(first * 1.5) and first < 0
