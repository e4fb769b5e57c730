"""Distances between rows on a GPU agree with the CPU's."""
from __future__ import annotations

import functools

import pytest

import undertow as ut
from tests.cuda.compare import numbers, same_on_both

pytestmark = pytest.mark.cuda


@pytest.mark.parametrize("dtype", [ut.float32, ut.float64])
@pytest.mark.parametrize("p", [0, 1, 2, 3.5, float("inf")])
def test_distances_of_all_kinds(dtype: ut.dtype, p: float) -> None:
    a, b = numbers(2, 5, 40, dtype=dtype), numbers(2, 7, 40, dtype=dtype, seed=1)
    same_on_both(lambda x, y: ut.cdist(x, y, p=p), a, b)
    same_on_both(lambda x: ut.nn.functional.pdist(x, p), numbers(30, 9, dtype=dtype))


def test_gradients_of_distances() -> None:
    a, b = numbers(4, 6, grad=True), numbers(5, 6, grad=True, seed=1)
    same_on_both(ut.cdist, a, b)
    same_on_both(ut.nn.functional.pdist, a)


def test_nan_and_rows_without_elements() -> None:
    a = numbers(3, 4)
    a[1, 2] = float("nan")
    for p in (0.0, 1.0, 2.0, float("inf")):
        same_on_both(functools.partial(ut.cdist, p=p), a, a)
    same_on_both(lambda x: ut.cdist(x, x), ut.zeros(3, 0))


@pytest.mark.parametrize("dtype", [ut.float32, ut.float64])
def test_many_euclidean_distances(dtype: ut.dtype) -> None:
    a = numbers(2, 130, 40, dtype=dtype)
    b = numbers(2, 90, 40, dtype=dtype, seed=1)
    b[:, :30] = a[:, :30] + 1e-3 * b[:, :30]  # nearly equal rows: squares would cancel
    b[0, 40], b[1, 41] = float("inf"), float("nan")
    same_on_both(ut.cdist, a, b)
    a[0, 50] *= 1e18 if dtype == ut.float32 else 1e150  # squares overflow nearly
    same_on_both(ut.cdist, a, b)
