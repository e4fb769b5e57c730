"""Optimizers follow TensorFlow's formulas (tensorflow_formulas.py, with their derivation) for 100 steps, dense and in rows, and stored values of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow_formulas as formulas
from tensorflow_formulas import STEPS, Dense, Rows

import undertow as ut
from undertow import train

CASES = {
    "descent": lambda step: train.GradientDescentOptimizer(0.05),
    "momentum": lambda step: train.MomentumOptimizer(0.02, 0.9),
    "nesterov": lambda step: train.MomentumOptimizer(0.02, 0.8, use_nesterov=True),
    "adagrad": lambda step: train.AdagradOptimizer(0.3),
    "adagrad from 0.5": lambda step: train.AdagradOptimizer(0.3, 0.5),
    "adadelta": lambda step: train.AdadeltaOptimizer(1.0, 0.9, 1e-4),
    "adam": lambda step: train.AdamOptimizer(0.05),
    "adam, large epsilon": lambda step: train.AdamOptimizer(0.05, 0.8, 0.95, 0.1),
    "rmsprop": lambda step: train.RMSPropOptimizer(0.02),
    "rmsprop with momentum": lambda step: train.RMSPropOptimizer(0.02, 0.8, 0.7, 1e-3),
    "rmsprop, centered": lambda step: train.RMSPropOptimizer(0.02, 0.8, 0.5, 1e-3, centered=True),
    "ftrl": lambda step: train.FtrlOptimizer(0.3),
    "ftrl, all options": lambda step: train.FtrlOptimizer(0.4, -0.7, 0.2, 0.05, 0.02, l2_shrinkage_regularization_strength=0.03, beta=0.5),
    "ftrl, constant rate": lambda step: train.FtrlOptimizer(0.1, learning_rate_power=0.0),
    "proximal descent": lambda step: train.ProximalGradientDescentOptimizer(0.05),
    "proximal descent, l1 and l2": lambda step: train.ProximalGradientDescentOptimizer(0.05, 0.3, 0.2),
    "proximal adagrad": lambda step: train.ProximalAdagradOptimizer(0.3),
    "proximal adagrad, l1 and l2": lambda step: train.ProximalAdagradOptimizer(0.3, 0.2, 0.3, 0.2),
    "dual averaging": lambda step: train.AdagradDAOptimizer(0.3, step),
    "dual averaging, l1 and l2": lambda step: train.AdagradDAOptimizer(0.3, step, 0.2, 0.02, 0.05),
}
TOLERANCE = {ut.float64: 1e-11, ut.float32: 2e-4}
GATES = (train.Optimizer.GATE_NONE, train.Optimizer.GATE_OP, train.Optimizer.GATE_GRAPH)
STORED = json.loads(formulas.STORED.read_text())


def global_step():
    return train.Variable(0, name="global_step", trainable=False)


def close(ours, theirs, dtype):
    np.testing.assert_allclose(ours.detach().numpy().astype(np.float64), theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_the_stored_values_are_those_of_the_formulas():
    found = formulas.computed()
    assert set(found) == set(STORED) == set(CASES)
    for case, kinds in found.items():
        for kind, steps in kinds.items():
            assert set(steps) == set(STORED[case][kind])
            for t, values in steps.items():
                np.testing.assert_allclose(values, STORED[case][kind][t], rtol=1e-12, atol=1e-12, err_msg=f"{case}, {kind}, step {t}")


@pytest.mark.parametrize("dtype", [ut.float64, ut.float32], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_dense_trajectories_match_the_formulas(case, dtype):
    w, b = train.Variable(Dense.w, dtype=dtype, name="w"), train.Variable(Dense.b, dtype=dtype, name="b")
    x, y, push = (ut.tensor(a, dtype=dtype) for a in (Dense.x, Dense.y, Dense.push))
    step = global_step()
    opt, theirs = CASES[case](step), formulas.dense_trajectory(case)
    for t in range(1, STEPS + 1):
        loss = ((x @ w + b * push[t - 1, 0] - y) ** 2).mean() + (w * push[t - 1]).sum()
        opt.minimize(loss, global_step=step, gate_gradients=GATES[t % 3])
        close(w, theirs[t - 1][0], dtype)
        close(b, theirs[t - 1][1], dtype)
        if t in formulas.STORED_STEPS:
            close(ut.cat([w, b]), STORED[case]["dense"][str(t)], dtype)


@pytest.mark.parametrize("dtype", [ut.float64, ut.float32], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_sparse_trajectories_match_the_formulas(case, dtype):
    table, step = train.Variable(Rows.table, dtype=dtype, name="table"), global_step()
    opt, theirs = CASES[case](step), formulas.rows_trajectory(case)
    for t in range(1, STEPS + 1):
        looked_up = ut.nn.functional.embedding(ut.tensor(Rows.picks[t - 1]), table)
        loss = (looked_up * ut.tensor(Rows.weights[t - 1], dtype=dtype)).sum() + (looked_up**2).sum() / 2
        opt.minimize(loss, global_step=step, gate_gradients=GATES[t % 3])
        close(table, theirs[t - 1], dtype)
        if t in formulas.STORED_STEPS:
            close(table, STORED[case]["rows"][str(t)], dtype)
    if case.startswith("adam"):
        assert not opt.get_slot(table, "m")[7].any()  # row 7 never had a gradient, so there was nothing to decay


PUBLISHED = {
    "adagrad": lambda step: train.AdagradOptimizer(3.0, 0.1),
    "ftrl": lambda step: train.FtrlOptimizer(3.0),
    "ftrl, other start": lambda step: train.FtrlOptimizer(3.0),
    "ftrl, l1": lambda step: train.FtrlOptimizer(3.0, l1_regularization_strength=0.001),
    "ftrl, l1 and l2": lambda step: train.FtrlOptimizer(3.0, l1_regularization_strength=0.001, l2_regularization_strength=2.0),
    "ftrl, shrinkage": lambda step: train.FtrlOptimizer(
        3.0, l1_regularization_strength=0.001, l2_regularization_strength=2.0, l2_shrinkage_regularization_strength=0.1
    ),
    "proximal descent": lambda step: train.ProximalGradientDescentOptimizer(3.0),
    "proximal descent, other start": lambda step: train.ProximalGradientDescentOptimizer(3.0),
    "proximal descent, l1 and l2": lambda step: train.ProximalGradientDescentOptimizer(3.0, 0.001, 2.0),
    "proximal adagrad": lambda step: train.ProximalAdagradOptimizer(3.0),
    "proximal adagrad, other start": lambda step: train.ProximalAdagradOptimizer(3.0),
    "proximal adagrad, l1": lambda step: train.ProximalAdagradOptimizer(3.0, 0.1, 0.001),
    "proximal adagrad, l1 and l2": lambda step: train.ProximalAdagradOptimizer(3.0, 0.1, 0.001, 2.0),
    "dual averaging": lambda step: train.AdagradDAOptimizer(3.0, step),
    "dual averaging, l1": lambda step: train.AdagradDAOptimizer(3.0, step, 0.1, 0.001),
    "dual averaging, l1 and l2": lambda step: train.AdagradDAOptimizer(3.0, step, 0.1, 0.001, 2.0),
}


@pytest.mark.parametrize("rows", [False, True], ids=["dense", "rows"])
@pytest.mark.parametrize("case", formulas.PUBLISHED)
def test_results_are_those_in_tensorflows_own_tests(case, rows):
    steps, grads, starts, ends = formulas.PUBLISHED[case]
    step = global_step()
    opt = PUBLISHED[case](step)
    variables = [train.Variable([[v] for v in start]) for start in starts]
    for _ in range(steps):
        pairs = []
        for g, v in zip(grads, variables):
            whole = ut.tensor([[e] for e in g])
            pairs.append((train.IndexedSlices(whole, ut.tensor([0, 1]), (2, 1)) if rows else whole, v))
        opt.apply_gradients(pairs, global_step=step)
    for v, end in zip(variables, ends):
        np.testing.assert_allclose(v.detach().numpy()[:, 0], end, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("case", [c for c in CASES if not c.startswith("adam")])
def test_rows_without_a_gradient_are_unchanged(case):
    table = train.Variable(ut.ones(4, 2))
    opt = CASES[case](global_step())
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
    make = CASES[case]
    start = ut.linspace(-1, 1, 5).to(ut.bfloat16)
    narrow, wide = train.Variable(start), train.Variable(start.float())
    one, other = make(global_step()), make(global_step())
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
