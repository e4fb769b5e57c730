"""Sequences, concatenation, rearrangement, scans and sums into views on a GPU."""
from __future__ import annotations

import pytest

import undertow as ut
from tests.cuda.compare import close, numbers, same_on_both

pytestmark = pytest.mark.cuda
DTYPES = (ut.uint8, ut.int32, ut.int64, ut.float16, ut.bfloat16, ut.float32, ut.float64, ut.complex64)
SCAN_TOLERANCE = {ut.float16: 2e-2, ut.bfloat16: 5e-2}


def values(*shape: int, dtype: ut.dtype = ut.float32, seed: int = 0) -> ut.Tensor:
    return (numbers(*shape, dtype=ut.float64, seed=seed) * 3).to(dtype)


@pytest.mark.parametrize("dtype", (ut.int8, ut.int64, ut.float16, ut.float32, ut.float64))
def test_sequences(dtype: ut.dtype) -> None:
    for n in (0, 1, 2, 300):
        close(ut.arange(n, dtype=dtype, device="cuda") if n < 128 else ut.arange(0, 60, 0.25, device="cuda"),
              ut.arange(n, dtype=dtype) if n < 128 else ut.arange(0, 60, 0.25))
        close(ut.linspace(-3, 90, n, dtype=dtype, device="cuda"), ut.linspace(-3, 90, n, dtype=dtype))
    if dtype.is_floating_point:
        close(ut.logspace(-2, 3, 50, dtype=dtype, device="cuda"), ut.logspace(-2, 3, 50, dtype=dtype))
    close(ut.linspace(1 + 1j, 5 - 2j, 7, device="cuda"), ut.linspace(1 + 1j, 5 - 2j, 7), 1e-6)


@pytest.mark.parametrize("dtype", (ut.bool, ut.float16, ut.float32, ut.complex128))
def test_concatenation(dtype: ut.dtype) -> None:
    parts = [values(4, n, 6, dtype=dtype, seed=n) for n in (1, 7, 3)]
    same_on_both(lambda *p: ut.cat(p, 1), *parts)
    same_on_both(lambda *p: ut.cat([t.transpose(0, 1) for t in p], 0), *parts)
    same_on_both(lambda *p: ut.cat([t.transpose(1, 2) for t in p], 2), *parts)
    same_on_both(lambda *p: ut.cat([p[0], ut.empty(0, dtype=dtype, device=p[0].device), *p[1:]], 1), *parts)
    same_on_both(lambda *p: ut.stack([p[1]] * 5, 2), *parts)
    many = [values(i % 3 + 1, dtype=dtype, seed=i) for i in range(150)]
    same_on_both(lambda *p: ut.cat(p), *many)


@pytest.mark.parametrize("dtype", (ut.uint8, ut.bfloat16, ut.float64, ut.complex128))
def test_flip_roll_and_triangles(dtype: ut.dtype) -> None:
    x = values(5, 18, 16, dtype=dtype)
    for dims in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
        same_on_both(lambda x: ut.flip(x, dims), x)
        same_on_both(lambda x: ut.flip(x.transpose(0, 2), dims), x)
        same_on_both(lambda x: ut.roll(x, [3] * len(dims), dims), x)
    same_on_both(lambda x: ut.roll(x, 17), x)
    for diagonal in (-20, -3, 0, 1, 30):
        same_on_both(lambda x: ut.tril(x, diagonal), x)
        same_on_both(lambda x: ut.triu(x.mT, diagonal), x)


def test_indices_of_triangles() -> None:
    for rows, cols in ((5, 9), (9, 5), (1, 4), (7, 7)):
        for diagonal in (-8, -2, 0, 3, 10):
            close(ut.tril_indices(rows, cols, diagonal, device="cuda"), ut.tril_indices(rows, cols, diagonal))
            close(ut.triu_indices(rows, cols, diagonal, device="cuda"), ut.triu_indices(rows, cols, diagonal))


def test_repeated_elements() -> None:
    counts = ut.tensor([0, 3, 1, 0, 0, 5, 2])
    same_on_both(ut.repeat_interleave, counts)
    same_on_both(lambda x, c: ut.repeat_interleave(x, c, dim=0), values(7, 3), counts)
    with pytest.raises(RuntimeError, match="negative"):
        ut.repeat_interleave(ut.tensor([1, -1], device="cuda"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (33,), (40_000,), (6, 3000), (700, 5), (3, 50, 4)])
def test_scans(dtype: ut.dtype, shape: tuple[int, ...]) -> None:
    x, tol = values(*shape, dtype=dtype), SCAN_TOLERANCE.get(dtype)
    for d in range(len(shape)):
        same_on_both(lambda x: ut.cumsum(x, d), x, tol=tol)
        if not dtype.is_complex:
            same_on_both(lambda x: ut.cummax(x, d), x)
            same_on_both(lambda x: ut.cummin(x, d), x)
        if dtype.is_floating_point and len(shape) > 1:
            same_on_both(lambda x: ut.logcumsumexp(x, d), x, tol=tol)
    same_on_both(lambda x: ut.cumprod(x * 0 + 1 if x.numel() > 5000 else x, 0), values(33, 4, dtype=dtype), tol=1e-3)


def test_a_scan_of_a_long_line_by_many_blocks() -> None:
    x = ut.randint(-9, 9, (200_000,), generator=ut.Generator().manual_seed(0))
    same_on_both(lambda x: ut.cumsum(x, 0), x)
    same_on_both(lambda x: ut.cummax(x, 0), x)


def test_gradients_of_scans() -> None:
    x = numbers(9, 70, grad=True)
    for d in (0, 1):
        same_on_both(lambda x: ut.cumsum(x, d), x)
        same_on_both(lambda x: ut.logcumsumexp(x, d), x, tol=1e-4)
        same_on_both(lambda x: ut.cummax(x, d)[0], x)


def test_nan_stays_in_running_extrema() -> None:
    x = values(4, 100)
    x[1, 40] = float("nan")
    same_on_both(lambda x: ut.cummax(x, 1), x)
    same_on_both(lambda x: ut.cummin(x, 0), x)


@pytest.mark.parametrize("dtype", (ut.float32, ut.float16, ut.complex128))
def test_gradients_of_overlapping_views(dtype: ut.dtype) -> None:
    x = values(8, 40, dtype=dtype).requires_grad_()
    tol = {ut.float16: 2e-2}.get(dtype)
    same_on_both(lambda x: x.unfold(1, 5, 2), x, tol=tol)
    same_on_both(lambda x: x.unfold(1, 5, 2).unfold(0, 3, 1), x, tol=tol)
    same_on_both(lambda x: ut.as_strided(x, (6, 7, 3), (3, 2, 1), 4), x, tol=tol)
    same_on_both(lambda x: ut.as_strided(x, (6, 7, 3), (0, 5, 5), 1), x, tol=tol)
