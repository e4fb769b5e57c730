"""Elementwise losses, computed in runs of 1024 and chunks of 16 runs: the same at every boundary, stride and thread count."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
import undertow.nn.functional as F

LOG_FLOOR = -100.0


def _softplus(z):
    return np.logaddexp(0.0, z)


def _bce(x, y):
    with np.errstate(divide="ignore"):
        return -(y * np.maximum(np.log(x), LOG_FLOOR) + (1 - y) * np.maximum(np.log1p(-x), LOG_FLOOR))


# name: (loss, its value in NumPy, its derivative in NumPy, whether inputs are in [0, 1])
LOSSES = {
    "mse": (F.mse_loss, lambda x, y: (x - y) ** 2, lambda x, y: 2 * (x - y), False),
    "smooth_l1": (
        lambda x, y, **k: F.smooth_l1_loss(x, y, beta=0.5, **k),
        lambda x, y: np.where(abs(x - y) < 0.5, (x - y) ** 2, abs(x - y) - 0.25),
        lambda x, y: np.clip((x - y) / 0.5, -1, 1),
        False,
    ),
    "huber": (
        lambda x, y, **k: F.huber_loss(x, y, delta=0.5, **k),
        lambda x, y: np.where(abs(x - y) <= 0.5, 0.5 * (x - y) ** 2, 0.5 * (abs(x - y) - 0.25)),
        lambda x, y: np.clip(x - y, -0.5, 0.5),
        False,
    ),
    "soft_margin": (F.soft_margin_loss, lambda x, y: _softplus(-y * x), lambda x, y: -y / (1 + np.exp(y * x)), False),
    "bce": (F.binary_cross_entropy, _bce, lambda x, y: (x - y) / np.maximum(x * (1 - x), 1e-12), True),
    "bce_with_logits": (
        F.binary_cross_entropy_with_logits,
        lambda x, y: (1 - y) * x + _softplus(-x),
        lambda x, y: 1 / (1 + np.exp(-x)) - y,
        False,
    ),
}
# Around a run, a chunk, and several chunks.
SIZES = [1, 15, 17, 1023, 1024, 1025, 16383, 16384, 16385, 70001]


def _pair(n, unit, dtype=ut.float32):
    r = np.random.default_rng(n)
    x = r.uniform(0.01, 0.99, n) if unit else r.normal(size=n) * 3
    y = r.uniform(0, 1, n)
    return ut.tensor(x, dtype=dtype), ut.tensor(y, dtype=dtype)


def _float64(t):
    return t.detach().double().numpy()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("n", SIZES)
def test_values_and_gradients_are_right_at_every_boundary(name, n):
    loss, value, slope, unit = LOSSES[name]
    x, y = _pair(n, unit)
    x.requires_grad_()
    a, b = _float64(x), _float64(y)
    np.testing.assert_allclose(loss(x, y, reduction="none").detach().numpy(), value(a, b), rtol=2e-6, atol=1e-6)
    for reduction, of in (("mean", np.mean), ("sum", np.sum)):
        out = loss(x, y, reduction=reduction)
        np.testing.assert_allclose(out.item(), of(value(a, b)), rtol=1e-6)
        (grad,) = ut.autograd.grad(out * 3, x)
        np.testing.assert_allclose(grad.numpy(), 3 * slope(a, b) / (n if reduction == "mean" else 1), rtol=1e-5, atol=1e-6)
    weights = ut.randn(n)
    (grad,) = ut.autograd.grad(loss(x, y, reduction="none"), x, weights)
    np.testing.assert_allclose(grad.numpy(), slope(a, b) * _float64(weights), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_results_are_bitwise_equal_for_any_number_of_threads(name, reduction):
    loss, _, _, unit = LOSSES[name]
    x, y = _pair(100_003, unit)
    x.requires_grad_()
    before = ut.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            ut.set_num_threads(threads)
            out = loss(x, y, reduction=reduction)
            (grad,) = ut.autograd.grad(out, x, ut.ones_like(out))
            results.append((out.detach().numpy().tobytes(), grad.numpy().tobytes()))
    finally:
        ut.set_num_threads(before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_strided_inputs_agree_with_their_copies(name, reduction):
    loss, _, _, unit = LOSSES[name]
    a, b = _pair(60 * 70, unit)
    x, y = a.view(60, 70).t()[::2, 3:].requires_grad_(), b.view(70, 60)[::2, 3:]
    plain = x.detach().clone(memory_format=ut.contiguous_format).requires_grad_()
    ours, theirs = loss(x, y, reduction=reduction), loss(plain, y.clone(), reduction=reduction)
    ut.testing.assert_close(ours, theirs)
    (left,), (right,) = ut.autograd.grad(ours.sum(), x), ut.autograd.grad(theirs.sum(), plain)
    ut.testing.assert_close(left, right)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_a_composed_gradient_matches_the_fused_one(name, reduction):
    loss, _, _, unit = LOSSES[name]
    x, y = _pair(1500, unit, ut.float64)
    x.requires_grad_()
    for create_graph in (False, True):
        out = loss(x, y, reduction=reduction)
        (grad,) = ut.autograd.grad(out, x, ut.full_like(out, 0.7), create_graph=create_graph)
        if not create_graph:
            one_pass = grad
    assert grad.requires_grad and not one_pass.requires_grad
    ut.testing.assert_close(one_pass, grad.detach(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (300, 1), (300, 7)])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_positive_weights_of_any_broadcastable_shape(shape, reduction):
    r = np.random.default_rng(0)
    a, b, w = r.normal(size=(300, 7)), r.uniform(size=(300, 7)), r.uniform(0.5, 2, size=shape)
    x, y, p = ut.tensor(a, requires_grad=True), ut.tensor(b), ut.tensor(w)
    out = F.binary_cross_entropy_with_logits(x, y, pos_weight=p, reduction=reduction)
    each = (1 - b) * a + (1 + (w - 1) * b) * _softplus(-a)
    slopes = (1 + (w - 1) * b) / (1 + np.exp(-a)) - w * b
    of = {"none": lambda v: v, "mean": np.mean, "sum": np.sum}[reduction]
    np.testing.assert_allclose(out.detach().numpy(), of(each), rtol=1e-12)
    (grad,) = ut.autograd.grad(out.sum(), x)
    np.testing.assert_allclose(grad.numpy(), slopes / (a.size if reduction == "mean" else 1), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("dtype", [ut.bfloat16, ut.float16])
@pytest.mark.parametrize("name", LOSSES)
def test_half_types_are_computed_in_float_and_converted_back(name, dtype):
    loss, _, _, unit = LOSSES[name]
    x, y = _pair(2000, unit, dtype)
    x.requires_grad_()
    wide = x.detach().float().requires_grad_()
    out, expected = loss(x, y), loss(wide, y.float())
    assert out.dtype == dtype
    assert out.detach().float().item() == expected.detach().to(dtype).float().item()
    (grad,), (grad_wide,) = ut.autograd.grad(loss(x, y, reduction="sum"), x), ut.autograd.grad(loss(wide, y.float(), reduction="sum"), wide)
    assert grad.dtype == dtype
    assert ut.equal(grad, grad_wide.to(dtype))


@pytest.mark.parametrize("place", [0, 1023, 1024, 40_000, 49_999])
@pytest.mark.parametrize("bad", [-0.5, 1.5, float("nan")])
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_a_probability_outside_the_unit_interval_raises_at_any_position(place, bad, reduction):
    x, y = ut.full((50_000,), 0.5), ut.full((50_000,), 0.5)
    x[place] = bad
    with pytest.raises(RuntimeError, match=f"all elements of input should be between 0 and 1, got {bad}"):
        F.binary_cross_entropy(x, y, reduction=reduction)


def test_probabilities_of_zero_and_one_have_bounded_losses():
    x, y = ut.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True), ut.tensor([0.0, 1.0, 1.0, 0.0])
    out = F.binary_cross_entropy(x, y, reduction="none")
    assert out.tolist() == [0.0, 0.0, 100.0, 100.0]
    (grad,) = ut.autograd.grad(out.sum(), x)
    assert grad[:2].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(grad[2:].numpy(), [-1e12, 1e12], rtol=1e-6)


def test_large_logits_neither_overflow_nor_vanish():
    x, y = ut.tensor([1e4, -1e4, 88.0, -88.0, 60.0], requires_grad=True), ut.tensor([1.0, 0.0, 1.0, 0.0, 1.0])
    out = F.binary_cross_entropy_with_logits(x, y, reduction="none")
    np.testing.assert_allclose(out.detach().numpy(), _softplus(-abs(_float64(x))), rtol=1e-5, atol=1e-38)
    (grad,) = ut.autograd.grad(out.sum(), x)
    assert ut.isfinite(grad).all()


@pytest.mark.parametrize("name", LOSSES)
def test_no_elements_have_a_mean_of_nan_and_a_sum_of_zero(name):
    loss = LOSSES[name][0]
    x = ut.empty(0, requires_grad=True)
    assert ut.isnan(loss(x, ut.empty(0)))
    assert loss(x, ut.empty(0), reduction="sum").item() == 0
    (grad,) = ut.autograd.grad(loss(x, ut.empty(0), reduction="sum"), x)
    assert grad.shape == (0,)


@pytest.mark.parametrize("name", ["mse", "smooth_l1", "huber"])
def test_the_target_gets_the_opposite_gradient(name):
    loss, _, slope, unit = LOSSES[name]
    x, y = _pair(3000, unit)
    x.requires_grad_()
    y.requires_grad_()
    to_x, to_y = ut.autograd.grad(loss(x, y), (x, y))
    assert ut.equal(to_x, -to_y)
    np.testing.assert_allclose(to_x.numpy(), slope(_float64(x), _float64(y)) / 3000, rtol=1e-5, atol=1e-9)
