"""Normalization: properties that the tests of single operators do not cover."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.nn import functional as F

CALLS = {
    "layer": lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b),
    "root mean square": lambda x, w, b: F.rms_norm(x, (x.shape[-1],), w) + b,
    "batch": lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
    "group": lambda x, w, b: F.group_norm(x, 4, w, b),
    "batch in rows": lambda x, w, b: F.batch_norm(x.flatten(0, 1), None, None, w, b, training=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_bitwise_equal_for_any_number_of_threads(name: str):
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s).astype("float32") for s in ((40, 64, 64), (64,), (64,), (40, 64, 64))]
    found, before = [], ut.get_num_threads()
    try:
        for threads in (1, 2, 5):
            ut.set_num_threads(threads)
            x, w, b, g = (ut.tensor(v, requires_grad=True) for v in values)
            y = CALLS[name](x, w, b)
            grads = ut.autograd.grad(y, (x, w, b), g.detach().reshape(y.shape))
            found.append([t.detach().numpy().tobytes() for t in (y, *grads)])
    finally:
        ut.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_a_mean_far_from_zero_loses_no_accuracy():
    x = np.random.default_rng(0).standard_normal((4, 3000))
    far = F.layer_norm(ut.tensor((x + 1000).astype("float32")), (3000,))
    near = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    np.testing.assert_allclose(far.numpy(), near, atol=2e-4)


def test_running_statistics_follow_the_batches_and_a_gradient_never_flows_into_them():
    m = ut.nn.BatchNorm1d(2, momentum=0.5)
    m(ut.tensor([[1.0, 0.0], [3.0, 4.0]]))
    assert m.running_mean.tolist() == [1.0, 1.0]
    assert m.running_var.tolist() == [1.5, 4.5]
    assert m.num_batches_tracked.item() == 1
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'running_mean'"):
        F.batch_norm(ut.ones(2, 2), ut.zeros(2, requires_grad=True), ut.ones(2))


def test_a_third_derivative_is_right():
    x = ut.tensor(np.random.default_rng(0).standard_normal((2, 3)), requires_grad=True)
    y = F.layer_norm(x, (3,), eps=0.1)

    def twice(x):
        (g,) = ut.autograd.grad((F.layer_norm(x, (3,), eps=0.1) ** 3).sum(), x, create_graph=True)
        return ut.autograd.grad((g * g).sum(), x, create_graph=True)[0]

    assert y.shape == (2, 3)
    assert ut.autograd.gradcheck(twice, (x,), atol=1e-4)


def test_vmap_of_training_raises_for_running_statistics_shared_by_all_samples():
    with pytest.raises(RuntimeError, match="were not batched"):
        ut.vmap(lambda x: F.batch_norm(x, ut.zeros(2), ut.ones(2), training=True))(ut.rand(3, 4, 2))


def test_vmap_gives_each_sample_its_own_running_statistics():
    x, mean, var = ut.rand(3, 4, 2), ut.zeros(3, 2), ut.ones(3, 2)
    ut.vmap(lambda x, m, v: F.batch_norm(x, m, v, training=True))(x, mean, var)
    np.testing.assert_allclose(mean.numpy(), x.numpy().mean(1) * 0.1, rtol=1e-5)


@pytest.mark.parametrize(("size", "reach"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)])
def test_cross_map_sums_over_a_centred_window(size: int, reach: int):
    x = np.random.default_rng(0).standard_normal((1, 6, 2, 2))
    squares = np.stack([(x[:, max(0, c - reach) : c + reach + 1] ** 2).sum(1) for c in range(6)], 1)
    y = ut.nn.CrossMapLRN2d(size, alpha=0.5, beta=0.7, k=2)(ut.tensor(x))
    np.testing.assert_allclose(y.numpy(), x * (2 + squares * 0.5 / size) ** -0.7, rtol=1e-12)


@pytest.mark.parametrize("batch", [1, 2, 33, 300])
@pytest.mark.parametrize("affine", [True, False])
def test_groups_of_single_elements_are_lines(batch: int, affine: bool):
    x = ut.randn(batch, 24, dtype=ut.float64, requires_grad=True)
    w, b = (ut.randn(24, dtype=ut.float64, requires_grad=True) for _ in range(2)) if affine else (None, None)
    ours = ut.nn.functional.group_norm(x, 4, w, b)
    lines = ut.nn.functional.layer_norm(x.view(batch, 4, 6), (6,)).view(batch, 24)
    expected = lines * w + b if affine else lines
    ut.testing.assert_close(ours, expected)
    g = ut.randn(batch, 24, dtype=ut.float64)
    wanted = (x, w, b) if affine else (x,)
    for left, right in zip(ut.autograd.grad(ours, wanted, g), ut.autograd.grad(expected, wanted, g), strict=True):
        ut.testing.assert_close(left, right)


@pytest.mark.parametrize("layer", [ut.nn.BatchNorm1d, ut.nn.BatchNorm2d, ut.nn.InstanceNorm1d])
def test_running_statistics_start_at_mean_zero_and_variance_one(layer):
    m = layer(3, track_running_stats=True)
    for _ in range(2):
        assert m.running_mean.tolist() == [0.0] * 3 and m.running_var.tolist() == [1.0] * 3
        assert m.num_batches_tracked.item() == 0
        m(ut.ones(2, 3, 4) if layer is not ut.nn.BatchNorm2d else ut.ones(2, 3, 4, 4))
        assert m.running_mean.tolist() == pytest.approx([0.1] * 3) and m.running_var.tolist() == pytest.approx([0.9] * 3)
        m.reset_running_stats()


@pytest.mark.parametrize("training", [True, False])
def test_normalized_volumes_stay_channels_last(training):
    x = ut.rand(2, 3, 4, 5, 6).contiguous(memory_format=ut.channels_last_3d).requires_grad_()
    out = F.batch_norm(x, ut.zeros(3), ut.ones(3), training=training)
    assert out.is_contiguous(memory_format=ut.channels_last_3d) and not out.is_contiguous()
    ut.testing.assert_close(out, F.batch_norm(x.contiguous(), ut.zeros(3), ut.ones(3), training=training))
    out.square().sum().backward()
    assert x.grad.is_contiguous(memory_format=ut.channels_last_3d)
