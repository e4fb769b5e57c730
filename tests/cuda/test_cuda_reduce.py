"""Reductions on a GPU over rows, columns and anything between, with one launch and with several parts per result."""
from __future__ import annotations

import pytest

import undertow as ut
from tests.cuda.compare import close, numbers, same_on_both

pytestmark = pytest.mark.cuda
REAL = (ut.float32, ut.float64, ut.float16, ut.bfloat16, ut.int8, ut.int64, ut.bool)
TOLERANCE = {ut.float16: 1e-2, ut.bfloat16: 5e-2, ut.float32: 2e-5}


def values(*shape: int, dtype: ut.dtype = ut.float32, seed: int = 0) -> ut.Tensor:
    return (numbers(*shape, dtype=ut.float64, seed=seed) * 2).to(dtype)


@pytest.mark.parametrize("dtype", (*REAL, ut.complex64, ut.complex128))
@pytest.mark.parametrize("shape", [(1,), (7,), (40000,), (5, 3), (300, 20), (20, 300), (3, 5000), (5000, 3), (2, 700, 8), (31, 33, 2)])
def test_sums_over_each_set_of_dimensions(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    x, tol = values(*shape, dtype=dtype), TOLERANCE.get(dtype)
    for mask in range(1, 1 << len(shape)):
        dims = [d for d in range(len(shape)) if mask >> d & 1]
        same_on_both(lambda x: x.sum(dims), x, tol=tol)


@pytest.mark.parametrize("dtype", REAL)
def test_every_operation(dtype: ut.dtype) -> None:
    x = values(60, 70, dtype=dtype)
    for f in (ut.Tensor.any, ut.Tensor.all, ut.count_nonzero, ut.Tensor.amax, ut.Tensor.amin, ut.Tensor.sum):
        same_on_both(f, x, tol=TOLERANCE.get(dtype))
        for d in (0, 1):
            same_on_both(lambda x: f(x, d), x, tol=TOLERANCE.get(dtype))
            same_on_both(lambda x: f(x.t(), d), x, tol=TOLERANCE.get(dtype))
    small = values(12, 9, dtype=dtype)
    for d in (0, 1):
        same_on_both(lambda x: x.prod(d), small, tol=TOLERANCE.get(dtype))
        same_on_both(lambda x: ut.argmax(x, d), x if dtype != ut.bool else x.int())
        same_on_both(lambda x: ut.argmin(x, d), x if dtype != ut.bool else x.int())


@pytest.mark.parametrize("dtype", (ut.float32, ut.float64, ut.bfloat16))
def test_norms_moments_and_nans(dtype: ut.dtype) -> None:
    x, tol = values(50, 90, dtype=dtype), TOLERANCE.get(dtype)
    for p in (1, 2, 3.5, float("inf"), -float("inf"), 0):
        same_on_both(lambda x: ut.linalg.vector_norm(x, p, 1), x, tol=tol)
        same_on_both(lambda x: ut.linalg.vector_norm(x, p), x, tol=tol)
    for f in (ut.mean, ut.logsumexp):
        same_on_both(lambda x: f(x, 0), x, tol=tol)
        same_on_both(lambda x: f(x, 1), x, tol=tol)
    for at in (0, 44, 89):
        x[3, at] = float("nan")
        same_on_both(lambda x: ut.amax(x, 1), x, tol=tol)
        same_on_both(lambda x: ut.amin(x, 0), x, tol=tol)
        same_on_both(lambda x: ut.nansum(x), x, tol=tol)
        same_on_both(lambda x: ut.argmax(x, 1), x)


def test_strided_and_expanded_inputs() -> None:
    x = values(12, 14, 16, 10)
    for dims in ((0, 2), (1, 3), (1, 2), (0, 3), (0, 1, 3)):
        same_on_both(lambda x: x.sum(dims), x, tol=2e-5)
        same_on_both(lambda x: x.permute(2, 0, 3, 1).sum(dims), x, tol=2e-5)
        same_on_both(lambda x: x[:, ::2, 1:, 3:7].amax(dims), x)
        same_on_both(lambda x: x[:, :1].expand(12, 14, 16, 10).sum(dims), x, tol=2e-5)


def test_gradients_of_reductions() -> None:
    x = numbers(30, 40, grad=True)
    for f in (ut.Tensor.sum, ut.Tensor.mean, ut.Tensor.amax, ut.Tensor.prod, ut.Tensor.logsumexp, ut.Tensor.var):
        same_on_both(lambda x: f(x, 1), x, tol=1e-4)


def test_long_sums_are_exact_enough_and_repeatable() -> None:
    x = ut.full((300_001,), 0.1).cuda()
    assert abs(x.sum().item() / 30000.1 - 1) < 1e-6
    y = numbers(200_003).cuda()
    assert len({y.sum().item() for _ in range(3)}) == 1
    close(y.sum(), y.cpu().sum(), 1e-4)


@pytest.mark.parametrize("dtype", (ut.float32, ut.float64, ut.float16, ut.bfloat16, ut.complex64))
@pytest.mark.parametrize("shape", [(3, 5, 70), (1, 2, 20000), (4, 1, 1), (600, 3, 2)])
def test_means(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    x = values(*shape, dtype=dtype)
    for dims in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
        same_on_both(lambda t: t.mean(dims), x)  # noqa: B023
    same_on_both(lambda t: t.transpose(0, 2).mean(0, keepdim=True), x)
    same_on_both(lambda t: t[:0].mean(0), x)


def test_the_mean_of_a_half_type_is_rounded_once() -> None:
    assert ut.full((3000,), 300.0, dtype=ut.float16).cuda().mean().item() == 300.0  # the sum is too large for the type
    same_on_both(lambda t: t.mean(1, dtype=ut.float32), values(4, 50, dtype=ut.bfloat16))


def test_sums_of_many_tensors() -> None:
    terms = [numbers(1000, seed=i) for i in range(70)]
    leaf = numbers(1000, grad=True)
    same_on_both(lambda leaf, *terms: sum((leaf * t for t in terms), start=leaf), leaf, *terms, tol=1e-4)


@pytest.mark.parametrize("n", (70_000,))
def test_the_first_of_equal_extrema_is_found(n: int) -> None:
    x = ut.zeros(n)
    x[[500, 40_000, 69_999]] = 1.0
    assert ut.argmax(x.cuda()).item() == 500
    assert ut.argmin(x.cuda()).item() == 0
    same_on_both(lambda x: ut.argmax(x.reshape(70, 1000), 0), x)


@pytest.mark.parametrize("dtype", (ut.float32, ut.float64, ut.bfloat16, ut.int64, ut.int8, ut.bool))
@pytest.mark.parametrize("shape", [(70_000,), (3, 40_001), (5, 700), (300, 45)])
def test_the_first_of_equal_extrema_is_found_in_one_pass(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    x = ut.randint(0, 50, shape, generator=ut.Generator().manual_seed(0)).to(dtype)
    same_on_both(lambda x: (*ut.max(x, -1), *ut.min(x, -1)), x)
    if dtype != ut.bool:
        same_on_both(lambda x: (ut.argmax(x), ut.argmin(x), ut.argmax(x, 0)), x)


@pytest.mark.parametrize("n", (40, 70_000))
def test_the_first_nan_is_the_extremum(n: int) -> None:
    x = numbers(2, n)
    x[0, n // 3] = x[0, n // 2] = x[1, n - 1] = float("nan")
    same_on_both(lambda x: (ut.argmax(x, 1), ut.argmin(x, 1), ut.argmax(x)), x)
    same_on_both(lambda x: (ut.argmax(x, 1), ut.argmin(x, 1)), ut.full((2, n), float("-inf")))
