"""Softmax, log_softmax and logsumexp on a GPU agree with the CPU's."""
# ruff: noqa: B023  # functions are called in the same pass of their loop

from __future__ import annotations

import pytest

import undertow as ut
from tests.cuda.compare import HALF, numbers, same_on_both

pytestmark = pytest.mark.cuda
FLOATS = (ut.float32, ut.float64, *HALF)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 1), (5, 7), (4, 64), (2, 3, 200), (3, 1024), (2, 1500), (3, 2048), (1, 4099)])
def test_rows_of_all_lengths(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    x = numbers(*shape, dtype=dtype, grad=True)
    same_on_both(lambda t: ut.softmax(t, -1), x)
    same_on_both(lambda t: ut.log_softmax(t, -1), x)


@pytest.mark.parametrize("dtype", (ut.float32, ut.float64))
@pytest.mark.parametrize("shape", [(2, 5, 3), (3, 17, 40), (1, 9, 64)])
def test_columns(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    x = numbers(*shape, dtype=dtype, grad=True)
    same_on_both(lambda t: ut.softmax(t, 1), x)
    same_on_both(lambda t: ut.log_softmax(t, 1), x)
    same_on_both(lambda t: ut.logsumexp(t, 1), x, grads=False)


@pytest.mark.parametrize("n", [6, 1300])
def test_infinite_and_nan_numbers(n: int) -> None:
    x = numbers(6, n)
    x[0, 0] = float("inf")
    x[1, 3] = float("nan")
    x[2] = float("-inf")
    x[3, :2] = float("-inf")
    x[4, 1], x[4, 2] = float("nan"), float("-inf")
    for f in (ut.softmax, ut.log_softmax, ut.logsumexp):
        same_on_both(lambda t: f(t, -1), x)
        same_on_both(lambda t: f(t, 0), x)


def test_rows_that_do_not_start_at_a_multiple_of_16_bytes() -> None:
    x = numbers(4 * 1501 + 1)[1:].reshape(4, 1501)
    same_on_both(lambda t: ut.softmax(t.reshape(-1)[1:].reshape(6, -1)[:, :900], -1), numbers(6 * 1000 + 1))
    same_on_both(lambda t: ut.softmax(t, -1), x)


# A few rows have several blocks each; of the others, some fit shared memory.
@pytest.mark.parametrize("dtype", (ut.float32, ut.float64, ut.bfloat16))
@pytest.mark.parametrize("shape", [(2, 20001), (1, 16384), (5, 3001), (4, 30001)])
def test_very_long_rows(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    x = numbers(shape[0] * shape[1] + 1, dtype=dtype, grad=True)
    for start in (0, 1):
        same_on_both(lambda t: ut.softmax(t[start : start + shape[0] * shape[1]].reshape(shape), -1), x)
        same_on_both(lambda t: ut.log_softmax(t[start : start + shape[0] * shape[1]].reshape(shape), -1), x)
        same_on_both(lambda t: ut.logsumexp(t[start : start + shape[0] * shape[1]].reshape(shape), -1), x, grads=False)


def test_infinite_and_nan_numbers_in_parts_of_rows() -> None:
    x = numbers(3, 16390)
    x[0, 16389] = float("inf")
    x[1, 8200] = float("nan")
    x[2] = float("-inf")
    for f in (ut.softmax, ut.log_softmax, ut.logsumexp):
        same_on_both(lambda t: f(t, -1), x)
