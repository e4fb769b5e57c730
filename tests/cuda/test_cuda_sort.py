"""Sorts, searches and distinct elements on a GPU agree with the CPU's."""

# ruff: noqa: B023  # functions are called in the same pass of their loop

from __future__ import annotations

import pytest

import undertow as ut
from tests.cuda.compare import close, numbers, same_on_both

pytestmark = pytest.mark.cuda
DTYPES = (ut.float32, ut.float64, ut.bfloat16, ut.float16, ut.int64, ut.int16, ut.uint8, ut.bool)


def values(*shape: int, dtype: ut.dtype) -> ut.Tensor:
    x = numbers(*shape, dtype=ut.float64) * 20
    return (x > 0) if dtype == ut.bool else x.abs().to(dtype) if dtype == ut.uint8 else x.to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, dim", [((7,), 0), ((5, 33), 1), ((5, 33), 0), ((2, 700), 1), ((3, 2500), 1), ((9000,), 0), ((70, 1), 1)])
def test_a_sort_is_stable(dtype: ut.dtype, shape: tuple[int, ...], dim: int) -> None:
    for descending in (False, True):
        same_on_both(lambda x: ut.sort(x, dim=dim, descending=descending, stable=True), values(*shape, dtype=dtype))


def test_nan_is_the_greatest_and_both_zeros_are_equal() -> None:
    x = ut.tensor([0.0, -0.0, float("nan"), float("inf"), -1.0, float("-inf"), 0.0])
    for descending in (False, True):
        same_on_both(lambda x: ut.sort(x, descending=descending, stable=True)[1], x)


@pytest.mark.parametrize("n", (20, 3000, 9000))
@pytest.mark.parametrize("k", (1, 9, 20))
def test_topk_of_different_elements(n: int, k: int) -> None:
    x = ut.stack([ut.randperm(n, generator=ut.Generator().manual_seed(i)) for i in range(3)])
    for dtype in (ut.float32, ut.int64):
        for largest in (False, True):
            same_on_both(lambda x: ut.topk(x, k, largest=largest), x.to(dtype))


def test_topk_of_a_very_long_row() -> None:
    x = ut.randperm(1 << 18, generator=ut.Generator().manual_seed(0)).float()
    same_on_both(lambda x: ut.topk(x, 5), x)


def test_topk_of_equal_elements_takes_the_right_number_of_each() -> None:
    x = (ut.arange(6000).reshape(2, 3000) % 4).float()
    chosen, at = ut.topk(x.cuda(), 1000)
    close(chosen, ut.topk(x, 1000)[0])
    close(ut.gather(x.cuda(), 1, at), chosen.cpu())


@pytest.mark.parametrize("dtype", (ut.float32, ut.int64, ut.bool))
def test_unique(dtype: ut.dtype) -> None:
    x = values(4, 30, dtype=dtype)
    same_on_both(lambda x: ut.unique(x, return_inverse=True, return_counts=True), x)
    same_on_both(lambda x: ut.unique(x % 2 if dtype == ut.int64 else x, dim=0, return_inverse=True, return_counts=True), x)
    same_on_both(lambda x: ut.unique_consecutive(x, return_inverse=True, return_counts=True), x)


def test_searches_and_histograms() -> None:
    keys, x = ut.sort(numbers(2, 40))[0], numbers(2, 7, seed=1)
    for right in (False, True):
        same_on_both(lambda k, x: ut.searchsorted(k, x, right=right), keys, x)
        same_on_both(lambda k, x: ut.bucketize(x, k[0], right=right), keys, x)
    same_on_both(lambda x: ut.histc(x, 5), numbers(500))
    same_on_both(lambda x: ut.histc(x, 5, -1, 1), numbers(500))
    n = ut.randint(0, 9, (3000,), generator=ut.Generator().manual_seed(1))
    same_on_both(lambda n: ut.bincount(n, minlength=12), n)
    same_on_both(lambda n, w: ut.bincount(n, w), n, numbers(3000, dtype=ut.float64))
    same_on_both(lambda x, y: ut.isin(x, y), n, ut.tensor([3, 5]))
