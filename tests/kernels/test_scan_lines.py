"""Cumulative sums and products of several lines at once, from either end: the same as line by line, for any count, length and thread count."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

COUNTS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("n", [1, 2, 33])
@pytest.mark.parametrize("dtype", [ut.float32, ut.float64, ut.int64, ut.int32, ut.bfloat16, ut.complex64])
def test_every_line_is_scanned_by_itself(count, n, dtype):
    r = np.random.default_rng(count * 100 + n)
    x = ut.tensor(r.integers(-3, 4, (count, n)), dtype=dtype)
    a = x.to(ut.float32).numpy() if dtype == ut.bfloat16 else x.numpy()
    out = ut.cumsum(x, 1)
    assert out.dtype == (ut.int64 if dtype == ut.int32 else dtype)
    np.testing.assert_array_equal(out.to(ut.float32).numpy() if dtype == ut.bfloat16 else out.numpy(), np.cumsum(a, 1))
    signs = ut.where(x.real > 0, 1, -1).to(dtype) if dtype == ut.complex64 else ut.where(x > 0, 1, -1).to(dtype)
    product = ut.cumprod(signs, 1)
    wide = ut.complex128 if dtype == ut.complex64 else ut.float64
    np.testing.assert_array_equal(product.to(wide).numpy(), np.cumprod(signs.to(wide).numpy(), 1))


def test_a_nan_stays_in_its_own_line():
    x = ut.ones(11, 40)
    x[3, 7] = float("nan")
    out = ut.cumsum(x, 1)
    assert not ut.isnan(out[:, :7]).any()
    assert ut.isnan(out[3, 7:]).all()
    assert not ut.isnan(out[ut.arange(11) != 3]).any()


@pytest.mark.parametrize("shape", [(9, 37), (1, 5), (4, 3, 6), (20, 1)])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", [ut.float32, ut.float64, ut.bfloat16])
def test_the_gradient_of_a_running_sum_is_the_running_sum_from_the_end(shape, dim, dtype):
    r = np.random.default_rng(3)
    x, g = ut.zeros(shape, dtype=dtype, requires_grad=True), ut.tensor(r.integers(-4, 5, shape), dtype=dtype)
    (one_pass,) = ut.autograd.grad(ut.cumsum(x, dim), x, g)
    (operators,) = ut.autograd.grad(ut.cumsum(x, dim), x, g, create_graph=True)
    expected = np.flip(np.cumsum(np.flip(g.double().numpy(), dim), dim), dim)
    assert np.array_equal(one_pass.double().numpy(), expected)
    assert np.array_equal(operators.detach().double().numpy(), expected)


def test_a_strided_gradient_is_summed_from_the_end():
    x, g = ut.zeros(6, 5, requires_grad=True), ut.arange(60.0).reshape(5, 12).t()[::2]
    (grad,) = ut.autograd.grad(ut.cumsum(x, 1), x, g)
    assert np.array_equal(grad.numpy(), np.cumsum(g.numpy()[:, ::-1], 1)[:, ::-1])


@pytest.mark.parametrize("shape", [(1000, 130), (130, 1000), (3, 60_000)])
@pytest.mark.parametrize("dim", [0, 1])
def test_results_are_bitwise_equal_for_any_number_of_threads(shape, dim, same_for_any_thread_count):
    x = ut.randn(shape, requires_grad=True)

    def scanned():
        y = ut.cumsum(x, dim)
        (g,) = ut.autograd.grad(y, x, x.detach())
        return y.detach().numpy().tobytes(), g.numpy().tobytes()

    same_for_any_thread_count(scanned)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_integers_wrap_around(name, dtype):
    values = np.random.default_rng(0).integers(-128 if dtype != "uint8" else 0, 128, (3, 40)).astype(dtype)
    got = getattr(ut, name)(ut.from_numpy(values), 1, dtype=getattr(ut, dtype))
    assert np.array_equal(got.numpy(), getattr(np, name)(values, 1, dtype=dtype))


@pytest.mark.parametrize("dtype", [ut.float32, ut.float64, ut.bfloat16, ut.int64, ut.int32, ut.uint8])
@pytest.mark.parametrize("shape", [(1, 1), (3, 40), (4, 40), (9, 40), (5, 7, 6), (2, 1, 9)])
def test_the_extremum_so_far_is_the_last_of_equal_ones_in_every_layout(dtype, shape, threads):
    r = np.random.default_rng(3)
    x = ut.tensor(r.integers(0, 5, shape), dtype=dtype)
    if dtype.is_floating_point:
        x[ut.tensor(r.random(shape) > 0.97)] = float("nan")
    for t in (x, x.transpose(0, -1), x[..., ::2]):
        a = t.double().numpy()
        for dim in range(a.ndim):
            for ours, larger in ((t.cummax(dim), np.maximum), (t.cummin(dim), np.minimum)):
                values = larger.accumulate(a, axis=dim)
                reached = np.where((a == values) | np.isnan(a), np.arange(a.shape[dim]).reshape([-1 if d == dim else 1 for d in range(a.ndim)]), 0)
                np.testing.assert_array_equal(ours.values.double().numpy(), values)
                np.testing.assert_array_equal(ours.indices.numpy(), np.maximum.accumulate(reached, axis=dim))
