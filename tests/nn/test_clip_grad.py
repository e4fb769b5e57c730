"""Clipping gradients by their total norm or by value, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.nn.utils import clip_grad_norm_, clip_grad_value_, get_total_norm

GRADS = [np.array([[3.0, -4.0], [0.5, 1.0]]), np.array([-2.0, 6.0, 0.0])]


def parameters() -> list[ut.Tensor]:
    made = []
    for g in GRADS:
        p = ut.zeros(g.shape, dtype=ut.float64, requires_grad=True)
        p.grad = ut.from_numpy(g.copy())
        made.append(p)
    return [*made, ut.zeros(2, requires_grad=True)]  # one without a gradient


def everything() -> np.ndarray:
    return np.concatenate([g.reshape(-1) for g in GRADS])


@pytest.mark.parametrize("order", [1, 2, 3.5, float("inf"), 0.5])
@pytest.mark.parametrize("bound", [0.75, 4.0])
def test_gradients_are_scaled_so_that_their_total_norm_is_the_bound(order, bound):
    found = parameters()
    norm = np.linalg.norm(everything(), order)
    assert clip_grad_norm_(found, bound, order).item() == pytest.approx(norm)
    for p, g in zip(found, GRADS, strict=False):
        np.testing.assert_allclose(p.grad.numpy(), g * bound / (norm + 1e-6), rtol=1e-9)
    assert found[-1].grad is None


def test_gradients_below_the_bound_are_unchanged():
    found = parameters()
    assert clip_grad_norm_(found, 1000.0).item() == pytest.approx(np.linalg.norm(everything()))
    for p, g in zip(found, GRADS, strict=False):
        assert p.grad.tolist() == g.tolist()


def test_a_single_tensor_and_no_tensor_at_all():
    p = parameters()[0]
    kept = p.grad
    assert clip_grad_norm_(p, 1.0).item() == pytest.approx(np.linalg.norm(GRADS[0]))
    assert p.grad is kept and p.grad.norm().item() == pytest.approx(1.0, rel=1e-5)
    assert get_total_norm([]).item() == 0.0


def test_a_norm_that_is_not_finite_raises_only_if_asked_to():
    found = parameters()
    found[0].grad[0, 0] = float("inf")
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        clip_grad_norm_(found, 1.0, error_if_nonfinite=True)
    assert found[1].grad.tolist() == GRADS[1].tolist()
    assert clip_grad_norm_(found, 1.0).item() == float("inf")


def test_every_element_is_clamped_by_value():
    found = parameters()
    clip_grad_value_(found, 1.5)
    for p, g in zip(found, GRADS, strict=False):
        assert p.grad.tolist() == g.clip(-1.5, 1.5).tolist()
