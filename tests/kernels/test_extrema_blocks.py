"""Extrema of long rows, which are reduced a block at a time without checking each NaN: no position is missed."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

INF, NAN = float("inf"), float("nan")
# A block is 64 vectors of up to 16 elements; rows just below, at and above one and several of them, with and without a partial vector at the end.
SIZES = [1, 3, 15, 16, 17, 100, 1023, 1024, 1025, 1039, 2048, 5000, 40_007]
FOLDS = {"amax": np.max, "amin": np.min}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", [ut.float32, ut.float64])
def test_an_extremum_is_found_at_any_position(n, name, dtype):
    fold, sign = FOLDS[name], 1 if name == "amax" else -1
    a = np.random.default_rng(n).normal(size=n)
    for place in {0, n // 3, n // 2, n - 1}:
        b = a.copy()
        b[place] = 10.0 * sign
        x = ut.tensor(b, dtype=dtype)
        assert getattr(x, name)().item() == 10.0 * sign
        rows = ut.stack([x, ut.tensor(a, dtype=dtype)])
        np.testing.assert_array_equal(getattr(rows, name)(1).numpy(), fold(rows.numpy(), 1))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", FOLDS)
def test_a_nan_is_found_at_any_position(n, name):
    for place in {0, n // 3, n // 2, n - 1}:
        x = ut.rand(n)
        x[place] = NAN
        assert ut.isnan(getattr(x, name)())
        assert ut.isnan(getattr(ut.stack([x, x.flip(0)]), name)(1)).all()


@pytest.mark.parametrize("n", [17, 1024, 5000])
def test_infinities_of_both_signs_are_numbers(n):
    x = ut.rand(n)
    x[n // 2], x[n // 3] = INF, -INF
    assert x.amax().item() == INF
    assert x.amin().item() == -INF
    x[0] = NAN
    assert ut.isnan(x.amax())
    assert ut.isnan(x.amin())


def test_a_row_of_one_infinity_returns_it():
    x = ut.full((3, 2000), -INF)
    assert x.amax(1).tolist() == [-INF] * 3
    assert (-x).amin().item() == INF


def test_results_are_bitwise_equal_for_any_number_of_threads():
    x = ut.randn(300, 1111)
    before = ut.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            ut.set_num_threads(threads)
            results.append([x.amax(1).numpy().tobytes(), x.amin(0).numpy().tobytes(), x.max().item(), x.min().item()])
    finally:
        ut.set_num_threads(before)
    assert results[0] == results[1] == results[2]
