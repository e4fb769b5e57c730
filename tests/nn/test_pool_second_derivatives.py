"""Second derivatives of pooling: windows longer than the input, and what is linear in pieces."""

from __future__ import annotations

import pytest

import undertow as ut
import undertow.nn.functional as F

D = ut.float64


def numbers(*shape: int) -> ut.Tensor:
    return ut.arange(1, 1 + ut.zeros(shape).numel()).to(D).reshape(shape).div(7)


@pytest.mark.parametrize(("length", "kernel", "stride", "padding"), [(2, 3, 3, 0), (6, 7, 2, 0), (2, 6, 4, 1), (1, 6, 4, 2), (3, 5, 4, 0)])
@pytest.mark.parametrize("count_include_pad", [True, False])
def test_an_averaging_window_longer_than_the_input(length: int, kernel: int, stride: int, padding: int, count_include_pad: bool):
    def f(x):
        return F.avg_pool1d(x * x, kernel, stride, padding, ceil_mode=True, count_include_pad=count_include_pad)

    assert ut.autograd.gradgradcheck(f, (numbers(1, 2, length).requires_grad_(),))


@pytest.mark.parametrize("shape", [(1, 6, 2), (1, 2, 6), (2, 2, 2)])
def test_an_averaging_window_longer_than_one_side(shape: tuple[int, ...]):
    def f(x):
        return F.avg_pool2d(x * x, 3, 2, ceil_mode=True)

    assert ut.autograd.gradgradcheck(f, (numbers(*shape).requires_grad_(),))


POOLS = {
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), (1, 6)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (1, 4, 4)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), (1, 2, 4, 4)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 2), (1, 4, 5)),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 2), (1, 6)),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), (1, 2, 4, 4)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 2), (1, 4, 5)),
    "reflection_pad": (lambda x: F.pad(x, (1, 1), mode="reflect"), (1, 4)),
    "replication_pad": (lambda x: F.pad(x, (1, 1), mode="replicate"), (1, 4)),
}


@pytest.mark.parametrize("name", POOLS)
def test_the_second_derivative_of_what_is_linear_in_pieces_is_zero(name: str):
    """And not missing: a gradient penalty on a network of nothing else is zero, as in torch."""
    f, shape = POOLS[name]
    x = numbers(*shape).requires_grad_()
    (g,) = ut.autograd.grad(f(x).sum(), x, create_graph=True)
    (h,) = ut.autograd.grad(g.square().sum(), x)
    assert h.shape == x.shape
    assert not h.any()


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_a_transposed_convolution_with_an_empty_result_raises(spatial: int):
    f = getattr(F, f"conv_transpose{spatial}d")
    with pytest.raises(RuntimeError, match="Output size is too small"):
        f(ut.ones(1, 1, *[1] * spatial), ut.ones(1, 1, *[2] * spatial), padding=1)
    assert f(ut.ones(0, 1, *[2] * spatial), ut.ones(1, 1, *[2] * spatial)).shape[0] == 0
