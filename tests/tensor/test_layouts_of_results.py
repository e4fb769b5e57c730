"""In which order results and gradients have their dimensions in memory. The expected strides are torch's."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.nn import functional as F


def pictures(*shape: int, dtype=ut.float32) -> ut.Tensor:
    """Random, with the channels innermost in memory."""
    order = [0, *range(2, len(shape)), 1]
    t = ut.rand([shape[d] for d in order], dtype=dtype)
    return t.permute([order.index(d) for d in range(len(shape))])


def is_last(t: ut.Tensor) -> bool:
    return t.permute([0, *range(2, t.dim()), 1]).is_contiguous()


@pytest.mark.parametrize(("dim", "strides"), [(0, (1, 35, 5)), (1, (42, 1, 6)), (2, (42, 7, 1))])
def test_a_transform_puts_its_dimension_last_in_memory(dim, strides):
    x = ut.rand(5, 6, 7)
    for name in ("fft", "ifft"):
        assert getattr(ut.fft, name)(x, dim=dim).stride() == strides
    y = ut.fft.ifft(x, dim=dim)
    assert y.abs().stride() == strides
    assert not ut.fft.fft(x, dim=dim)._is_view()


def test_a_transform_of_several_dimensions_keeps_the_order_of_their_strides():
    x = ut.rand(6, 7, 5).permute(2, 0, 1)
    assert x.stride() == (1, 35, 5)
    assert ut.fft.fftn(x.to(ut.complex64)).stride() == (1, 35, 5)
    assert ut.fft.fft2(x.to(ut.complex64)).stride() == (42, 7, 1)
    values = ut.fft.ifft2(ut.fft.fft2(x.double().contiguous())).real
    assert ut.allclose(values, x.double())


@pytest.mark.parametrize("spatial", [2, 3])
@pytest.mark.parametrize("call", [
    lambda x, n: getattr(F, f"max_pool{n}d")(x, 2), lambda x, n: F.interpolate(x, scale_factor=2), lambda x, n: F.pad(x, [1] * (2 * n)),
], ids=["max_pool", "interpolate", "pad"])  # fmt: skip
def test_results_and_gradients_of_image_operators_keep_the_format(call, spatial):
    x = pictures(2, 3, *[4] * spatial).requires_grad_()
    y = call(x, spatial)
    assert is_last(y)
    (g,) = ut.autograd.grad(y, x, ut.ones_like(y))
    assert is_last(g)


def test_one_volume_without_a_batch_has_no_format():
    x = pictures(3, 2, 4, 4)
    assert F.max_pool3d(x, 2).is_contiguous() and F.adaptive_avg_pool3d(x, 2).is_contiguous()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize(("input_last", "weight_last"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_convolution_and_its_gradients_have_one_format(input_last, weight_last, spatial, transposed):
    x, w = (pictures(2, 4, *[5] * spatial), pictures(4, 4, *[3] * spatial))
    x, w = x if input_last else x.contiguous(), w if weight_last else w.contiguous()
    x.requires_grad_(), w.requires_grad_()
    y = getattr(F, f"conv{'_transpose' if transposed else ''}{spatial}d")(x, w)
    last = weight_last if spatial == 1 else input_last or weight_last
    for given in (ut.ones_like(y).contiguous(), pictures(*y.shape)):
        g = ut.autograd.grad(y, [x, w], given, retain_graph=True)
        assert [is_last(t) and not t.is_contiguous() for t in (y, *g)] == [last] * 3
    if spatial == 3:
        assert F.conv3d(x.double(), w.double()).is_contiguous()


def test_pictures_that_are_stacked_keep_their_format():
    x = pictures(2, 3, 4, 5)
    assert ut.stack([x, x]).stride() == (120, 60, 1, 15, 3)
    assert ut.stack([x, x], dim=1).stride() == (120, 3, 1, 30, 6)
    assert ut.stack([x, x.contiguous()]).is_contiguous()
    assert is_last(ut.cat([pictures(2, 3, 2, 2, 2)] * 2))
    assert ut.equal(ut.stack([x, x], dim=1)[:, 1], x)


def test_scattering_into_a_view_keeps_its_strides():
    memory = ut.zeros(5, 8)
    x = memory[1:4, 1::2]
    y = x.select_scatter(ut.ones(4), 0, 1)
    assert (y.stride(), y.storage_offset()) == ((8, 2), 9)
    assert y.sum().item() == 4 and memory.sum().item() == 0


def test_sorted_parts_keep_the_order_of_dimensions():
    x = ut.rand(7, 7, 7).permute(2, 1, 0)[1:6, 1:6, 1:6]
    assert ut.sort(x).values.stride() == ut.sort(x).indices.stride() == (1, 5, 25)


def test_factors_and_solutions_are_column_major():
    a = ut.eye(3) + 0.1
    for upper in (False, True):
        assert ut.linalg.cholesky(a, upper=upper).stride() == (1, 3)
    assert [t.stride() for t in ut.linalg.lu(a)[1:]] == [(3, 1), (3, 1)]
    assert ut.linalg.solve(a, ut.rand(3, 4)).stride() == (1, 3)
    assert ut.linalg.solve(a, ut.rand(4, 3), left=False).stride() == (3, 1)
    assert ut.linalg.solve(a.expand(2, 3, 3), ut.rand(2, 3)).stride() == (1, 2)


@pytest.mark.parametrize("op", [F.relu, F.leaky_relu, lambda x: F.threshold(x, 0.1, 1.0), ut.erf, ut.erfinv, ut.angle])
def test_some_gradients_follow_the_input_and_not_the_given_gradient(op):
    x = ut.rand(4, 3).mul(0.9).t().requires_grad_()
    (g,) = ut.autograd.grad(op(x), x, ut.ones(3, 4))
    assert g.stride() == (1, 3)


@pytest.mark.parametrize("op", [ut.max, ut.min, ut.median])
def test_the_gradient_of_a_full_reduction_is_row_major(op):
    x = ut.rand(4, 3).t().requires_grad_()
    assert ut.autograd.grad(op(x), x)[0].is_contiguous()


@pytest.mark.parametrize(
    ("t", "dim", "strides"), [(ut.ones(2, 3).unfold(0, 1, 1), 2, (6, 2, 1, 1)), (ut.ones(4, 3, 1).transpose(1, 2), 2, (6, 6, 3, 1))]
)
def test_row_major_tensors_are_stacked_row_major_whatever_the_strides_of_single_elements_are(t, dim, strides):
    assert ut.stack([t, t], dim).stride() == strides


@pytest.mark.parametrize("name", ["empty_like", "zeros_like", "rand_like", "clone"])
def test_a_new_tensor_keeps_the_strides_of_dimensions_of_size_one(name, same_as_torch):
    def scenario(L):
        shapes = [(8, 1, 3, 3), (2, 4, 1, 1)]
        return [getattr(L, name)(L.ones(shape).to(memory_format=L.channels_last)).stride() for shape in shapes]

    same_as_torch(scenario)
