"""Losses on a GPU agree with the CPU's."""
# ruff: noqa: B023  # functions are called in the same pass of their loop

from __future__ import annotations

import pytest

import undertow as ut
from tests.cuda.compare import HALF, numbers, same_on_both
from undertow.nn import functional as F

pytestmark = pytest.mark.cuda

ELEMENTWISE = {
    "mse_loss": F.mse_loss,
    "smooth_l1_loss": lambda x, y, reduction: F.smooth_l1_loss(x, y, beta=0.7, reduction=reduction),
    "huber_loss": lambda x, y, reduction: F.huber_loss(x, y, delta=0.7, reduction=reduction),
    "soft_margin_loss": F.soft_margin_loss,
    "binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits,
}


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("dtype", (ut.float32, ut.float64))
def test_elementwise_losses(name: str, dtype: ut.dtype) -> None:
    x, y = numbers(3, 50, dtype=dtype, grad=True), numbers(3, 50, dtype=dtype, seed=1)
    for reduction in ("none", "sum", "mean"):
        same_on_both(lambda x, y: ELEMENTWISE[name](x, y, reduction=reduction), x, y)


def test_a_loss_over_many_elements_is_summed_by_several_blocks() -> None:
    same_on_both(lambda x, y: F.mse_loss(x, y), numbers(20000, grad=True), numbers(20000, seed=1))


def test_the_log_likelihood_of_many_items_is_summed_by_several_blocks() -> None:
    target = ut.randint(0, 3, (40_000,), generator=ut.Generator().manual_seed(0))
    for reduction in ("sum", "mean"):
        same_on_both(lambda x, t, w: F.nll_loss(x, t, w, ignore_index=2, reduction=reduction), numbers(40_000, 3, grad=True), target, numbers(3, seed=1).abs())


def test_strided_operands() -> None:
    same_on_both(lambda x, y: F.mse_loss(x.t(), y[:, ::2], reduction="none"), numbers(6, 5, grad=True), numbers(5, 12, seed=1))


def test_binary_cross_entropy() -> None:
    x, y = numbers(40).sigmoid(), numbers(40, seed=1).sigmoid()
    for reduction in ("none", "mean"):
        same_on_both(lambda x, y: F.binary_cross_entropy(x, y, reduction=reduction), x.requires_grad_(), y)
    same_on_both(lambda x, y, w: F.binary_cross_entropy_with_logits(x, y, pos_weight=w), numbers(6, 5, grad=True), numbers(6, 5, seed=1).sigmoid(),
                 numbers(5, seed=2).abs())


def test_a_probability_above_one_raises_when_the_device_is_read() -> None:
    x = ut.tensor([0.5, 1.5], device="cuda")
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        F.binary_cross_entropy(x, ut.tensor([1.0, 0.0], device="cuda")).item()


@pytest.mark.parametrize("dtype", (ut.float32, ut.float64, *HALF))
def test_nll_loss(dtype: ut.dtype) -> None:
    x, y = numbers(9, 5, dtype=dtype, grad=True), ut.tensor([0, 1, 2, 3, 4, 4, -100, 2, 1])
    w = numbers(5, dtype=dtype, seed=1).abs()
    for reduction in ("none", "sum", "mean"):
        same_on_both(lambda x, y: F.nll_loss(x, y, reduction=reduction), x, y)
        same_on_both(lambda x, y, w: F.nll_loss(x, y, w, reduction=reduction), x, y, w)


def test_nll_loss_of_images_and_of_many_items() -> None:
    y = ut.arange(2 * 4 * 5).reshape(2, 4, 5) % 3
    same_on_both(lambda x, y: F.nll_loss(x, y), numbers(2, 3, 4, 5, grad=True), y)
    same_on_both(lambda x, y: F.cross_entropy(x, y), numbers(700, 4, grad=True), ut.arange(700) % 4)


def test_a_target_that_is_not_a_class_raises_when_the_device_is_read() -> None:
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        F.nll_loss(numbers(2, 3).cuda(), ut.tensor([1, 7]).cuda()).item()


def test_ctc_loss() -> None:
    x = numbers(8, 3, 6, dtype=ut.float64).log_softmax(-1).requires_grad_()
    targets = ut.tensor([[1, 2, 2, 0], [3, 1, 0, 0], [5, 5, 5, 1]])
    lengths = [3, 2, 4]
    for zero_infinity in (False, True):
        same_on_both(lambda x, t: F.ctc_loss(x, t, [8, 6, 4], lengths, zero_infinity=zero_infinity, reduction="none"), x, targets)
