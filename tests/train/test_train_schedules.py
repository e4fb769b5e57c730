"""Learning-rate decay, moving averages and clipping: values by hand and by formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

import undertow as ut
from undertow import train
from undertow.train import IndexedSlices, Variable

STEPS = [0, 1, 3, 7, 10, 15, 20, 25, 40]


def rates(make):
    step = Variable(0, name="global_step", trainable=False)
    rate = make(step)
    return [step.assign(n) is step and rate().item() for n in STEPS]


def check(make, formula):
    assert rates(make) == pytest.approx([formula(n) for n in STEPS], rel=1e-14)


def test_exponential_decay():
    check(lambda s: train.exponential_decay(0.1, s, 10, 0.96), lambda n: 0.1 * 0.96 ** (n / 10))
    check(lambda s: train.exponential_decay(0.1, s, 10, 0.96, staircase=True), lambda n: 0.1 * 0.96 ** (n // 10))


def test_natural_exp_decay():
    check(lambda s: train.natural_exp_decay(0.1, s, 10, 0.5), lambda n: 0.1 * math.exp(-0.5 * n / 10))
    check(lambda s: train.natural_exp_decay(0.1, s, 10, 0.5, staircase=True), lambda n: 0.1 * math.exp(-0.5 * (n // 10)))


def test_inverse_time_decay():
    check(lambda s: train.inverse_time_decay(0.1, s, 10, 0.5), lambda n: 0.1 / (1 + 0.5 * n / 10))
    check(lambda s: train.inverse_time_decay(0.1, s, 10, 0.5, staircase=True), lambda n: 0.1 / (1 + 0.5 * (n // 10)))


def test_polynomial_decay():
    check(lambda s: train.polynomial_decay(0.1, s, 20, 0.01, 0.5), lambda n: 0.09 * (1 - min(n, 20) / 20) ** 0.5 + 0.01)

    def cycled(n):
        steps = 10 * max(1, math.ceil(n / 10))
        return (0.1 - 0.0001) * (1 - n / steps) + 0.0001

    check(lambda s: train.polynomial_decay(0.1, s, 10, cycle=True), cycled)


def test_piecewise_constant():
    check(lambda s: train.piecewise_constant(s, [3, 10], [1.0, 0.5, 0.1]), lambda n: 1.0 if n <= 3 else 0.5 if n <= 10 else 0.1)
    with pytest.raises(ValueError, match="length of boundaries should be 1 less"):
        train.piecewise_constant(ut.tensor(0), [1, 2], [1.0, 0.5])


def test_cosine_decays():
    check(lambda s: train.cosine_decay(0.1, s, 20, alpha=0.2), lambda n: 0.1 * (0.8 * 0.5 * (1 + math.cos(math.pi * min(n, 20) / 20)) + 0.2))
    check(
        lambda s: train.linear_cosine_decay(0.1, s, 20),
        lambda n: 0.1 * ((1 - min(n, 20) / 20) * 0.5 * (1 + math.cos(math.pi * min(n, 20) / 20)) + 0.001),
    )

    def restarted(n):
        begin, length, height = 0, 5, 1.0
        while n >= begin + length:
            begin, length, height = begin + length, length * 2, height * 0.5
        return 0.1 * height * 0.5 * (1 + math.cos(math.pi * (n - begin) / length))

    check(lambda s: train.cosine_decay_restarts(0.1, s, 5, t_mul=2.0, m_mul=0.5), restarted)
    check(lambda s: train.cosine_decay_restarts(0.1, s, 5, t_mul=1.0), lambda n: 0.1 * 0.5 * (1 + math.cos(math.pi * (n % 5) / 5)))


def test_a_decay_needs_a_step_and_accepts_tensors_and_functions():
    with pytest.raises(ValueError, match="global_step is required for exponential_decay"):
        train.exponential_decay(0.1, None, 10, 0.5)
    assert train.exponential_decay(ut.tensor(1.0), lambda: 10, ut.tensor(10), lambda: 0.5)().item() == 0.5


def test_an_optimizer_follows_its_decay():
    w, step = Variable(0.0), Variable(0, trainable=False)
    opt = train.GradientDescentOptimizer(train.exponential_decay(1.0, step, 1, 0.5))
    for _ in range(3):
        opt.minimize(-w, global_step=step)
    assert w.item() == 1 + 0.5 + 0.25


# Averages.


def test_an_average_follows_its_variable():
    v = Variable([2.0], name="v")
    ema = train.ExponentialMovingAverage(0.9)
    assert ema.average(v) is None and ema.average_name(v) == "v/ExponentialMovingAverage"
    shadow = 2.0
    for value in (2.0, 5.0, -1.0):
        v.assign([value])
        ema.apply([v])
        shadow = 0.9 * shadow + 0.1 * value
        assert ema.average(v).item() == pytest.approx(shadow)
    assert not ema.average(v).requires_grad and v.tolist() == [-1]
    assert ema.variables_to_restore() == {"v/ExponentialMovingAverage": v}


def test_the_number_of_updates_bounds_the_decay():
    v, step = Variable(0.0), ut.tensor(0)
    ema = train.ExponentialMovingAverage(0.9, num_updates=step)
    ema.apply([v])
    v.assign(1.0)
    step.fill_(8)
    ema.apply([v])  # (1 + 8) / (10 + 8) = 0.5
    assert ema.average(v).item() == 0.5


def test_a_tensors_average_starts_at_zero_and_can_be_freed_of_it():
    t = ut.tensor([4.0])
    plain, debiased = train.ExponentialMovingAverage(0.75), train.ExponentialMovingAverage(0.75, zero_debias=True)
    for _ in range(2):
        plain.apply([t])
        debiased.apply([t])
    assert plain.average(t).item() == 4 * (1 - 0.75**2)
    assert debiased.average(t).item() == pytest.approx(4)
    with pytest.raises(TypeError, match="half, float, or double"):
        plain.apply([ut.tensor([1])])


# Clipping.


def test_clip_by_value():
    x = ut.tensor([-2.0, 0.5, 3.0], requires_grad=True)
    y = train.clip_by_value(x, -1.0, 1.0)
    assert y.tolist() == [-1, 0.5, 1]
    assert train.gradients(y.sum(), x)[0].tolist() == [0, 1, 0]
    assert train.clip_by_value([1.0, 5.0], ut.tensor([2.0, 0.0]), 3.0).tolist() == [2, 3]
    with pytest.raises(ValueError, match="bounds must broadcast"):
        train.clip_by_value(ut.ones(2), ut.zeros(3, 1), 1.0)


def test_clip_by_norm():
    x = ut.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(train.clip_by_norm(x, 1.0, axes=[1]).numpy(), [[0.6, 0.8], [0.3, 0.4], [0, 0]], rtol=1e-6)
    total = math.sqrt(25.25)
    np.testing.assert_allclose(train.clip_by_norm(x, 1.0).numpy(), x.numpy() / total, rtol=1e-6)
    zero = ut.zeros(2, requires_grad=True)
    assert train.gradients(train.clip_by_norm(zero, 1.0).sum(), zero)[0].tolist() == [1, 1]
    rows = train.clip_by_norm(IndexedSlices(ut.tensor([[3.0, 4.0]]), ut.tensor([7]), (9, 2)), 1.0)
    assert isinstance(rows, IndexedSlices) and rows.indices.tolist() == [7] and rows.dense_shape == (9, 2)
    np.testing.assert_allclose(rows.values.numpy(), [[0.6, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(train.clip_by_average_norm(ut.tensor([3.0, 4.0]), 0.5).numpy(), [0.6, 0.8], rtol=1e-6)


def test_clip_by_global_norm():
    grads = [ut.tensor([3.0]), None, IndexedSlices(ut.tensor([[4.0]]), ut.tensor([1]), (2, 1))]
    assert train.global_norm(grads).item() == 5
    clipped, norm = train.clip_by_global_norm(grads, 1.0)
    assert norm.item() == 5 and clipped[1] is None
    assert clipped[0].item() == pytest.approx(0.6) and clipped[2].values.item() == pytest.approx(0.8)
    unchanged, _ = train.clip_by_global_norm(grads, 10.0)
    assert unchanged[0].item() == 3
    half, norm = train.clip_by_global_norm(grads, 1.0, use_norm=ut.tensor(2.0))
    assert half[0].item() == 1.5 and norm.item() == 2
    with pytest.raises(TypeError, match="t_list should be a sequence"):
        train.clip_by_global_norm(ut.ones(2), 1.0)


def test_a_norm_that_is_not_finite_makes_everything_nan():
    clipped, norm = train.clip_by_global_norm([ut.tensor([math.inf]), ut.tensor([1.0])], 1.0)
    assert math.isinf(norm.item()) and all(math.isnan(t.item()) for t in clipped)
