"""Reads and writes at indices and masks on a GPU agree with the CPU's."""
# ruff: noqa: B023  # functions are called in the same pass of their loop

from __future__ import annotations

import pytest

import undertow as ut
from tests.cuda.compare import close, numbers, same_on_both

pytestmark = pytest.mark.cuda
DTYPES = (ut.float32, ut.float64, ut.bfloat16, ut.int64, ut.int32, ut.uint8, ut.bool, ut.complex64, ut.complex128)


def values(*shape: int, dtype: ut.dtype = ut.float32, seed: int = 0) -> ut.Tensor:
    return (numbers(*shape, dtype=ut.float64, seed=seed) * 5).to(dtype)


def positions(*shape: int, below: int, seed: int = 0) -> ut.Tensor:
    return ut.randint(0, below, shape, generator=ut.Generator().manual_seed(seed + sum(shape)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_elements_are_read(dtype: ut.dtype) -> None:
    x, i, j = values(9, 8, 6, dtype=dtype), positions(4, 3, below=9), positions(4, 3, below=8)
    same_on_both(lambda x, i: x[i], x, i)
    same_on_both(lambda x, i: x[:, i - 8], x, j)
    same_on_both(lambda x, i, j: x[i, j], x, i, j)
    same_on_both(lambda x, i, j: x[i, :, j % 6], x, i, j)
    same_on_both(lambda x, i: x.transpose(0, 2)[:, :, i], x, i)
    same_on_both(lambda x, i: ut.index_select(x, 1, i), x, positions(5, below=8))


def test_gather_and_its_gradient() -> None:
    x = numbers(5, 30, 4, grad=True)
    for dim in range(3):
        at = positions(5, 30, 4, below=x.shape[dim])
        same_on_both(lambda x, at: ut.gather(x, dim, at), x, at)
        same_on_both(lambda x, at: ut.gather(x, dim, at[:3, :2, :1]), x, at)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", (5, 40, 3000))
def test_index_add_and_index_put(dtype: ut.dtype, count: int) -> None:
    at = positions(count, below=7)
    same_on_both(lambda x, at, s: ut.index_add(x, 0, at, s), values(7, 3, dtype=dtype), at, values(count, 3, dtype=dtype, seed=1), tol=tolerance_of(dtype))
    same_on_both(lambda x, at, s: ut.index_put(x, (at,), s, accumulate=True), values(7, dtype=dtype), at, values(count, dtype=dtype, seed=1),
                 tol=tolerance_of(dtype))
    once = ut.randperm(count)
    same_on_both(lambda x, at, s: ut.index_put(x, (at,), s), values(count, dtype=dtype), once, values(count, dtype=dtype, seed=1))


def tolerance_of(dtype: ut.dtype) -> float | None:
    # The CPU rounds every sum to a half dtype, the GPU only the last one.
    return {ut.bfloat16: 0.2, ut.complex64: 1e-5, ut.complex128: 1e-10}.get(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", (3, 100))
def test_scatter(dtype: ut.dtype, count: int) -> None:
    x, at, s = values(6, 8, dtype=dtype), positions(6, count, below=8), values(6, count, dtype=dtype, seed=2)
    same_on_both(lambda x, at, s: ut.scatter_add(x, 1, at, s), x, at, s, tol=tolerance_of(dtype) or (1e-4 if dtype == ut.float32 else None))
    once = ut.stack([ut.randperm(8) for _ in range(6)])
    same_on_both(lambda x, at, s: ut.scatter(x, 1, at, s), x, once, values(6, 8, dtype=dtype, seed=3))
    same_on_both(lambda x, at: ut.scatter(x, 1, at, 2), x, at)
    if dtype.is_complex or dtype == ut.bool:
        return
    for reduce in ("amax", "amin", "mean"):
        same_on_both(lambda x, at, s: ut.scatter_reduce(x, 1, at, s, reduce), x, at, s, tol=tolerance_of(dtype) or (1e-4 if dtype == ut.float32 else None))


# Rows that a block keeps in shared memory, and one that does not fit.
@pytest.mark.parametrize("dtype", (ut.float32, ut.float64, ut.bfloat16, ut.int32, ut.int64, ut.uint8, ut.complex128))
@pytest.mark.parametrize(("rows", "size", "count"), [(6, 300, 300), (5, 131, 129), (2, 500, 128), (2, 600, 128), (3, 20000, 6000)])
def test_gather_and_scatter_along_rows(dtype: ut.dtype, rows: int, size: int, count: int) -> None:
    x, at, s = values(rows, size + 1, dtype=dtype), positions(rows, count, below=size), values(rows, count + 1, dtype=dtype, seed=2)
    for first in (0, 1):  # a row that is aligned and one that is not
        same_on_both(lambda x, at: x[:, first : first + size].gather(1, at), x, at)  # noqa: B023
        same_on_both(lambda x, at: x[:, :size].contiguous().gather(1, at[first:]), x, at)  # noqa: B023
        same_on_both(lambda x, at, s: x[:, first : first + size].scatter_add(1, at[1:], s[1:, first : first + count]), x, at, s,  # noqa: B023
                     tol=tolerance_of(dtype) or (1e-4 if dtype == ut.float32 else None))  # fmt: skip


def test_an_index_outside_its_row_raises() -> None:
    at = positions(4, 200, below=200).cuda()
    at[3, 7] = 200
    for run in (lambda x: x.gather(1, at), lambda x: x.scatter_add(1, at, x)):
        with pytest.raises((IndexError, RuntimeError), match="200"):
            run(values(4, 200).cuda()).cpu()


def test_the_same_sums_every_time() -> None:
    at, s = positions(4000, below=11).cuda(), numbers(4000, 20).cuda()
    x = ut.zeros(11, 20).cuda()
    assert ut.equal(ut.index_add(x, 0, at, s).cpu(), ut.index_add(x, 0, at, s).cpu())


def test_masks() -> None:
    x, mask = values(6, 700), values(6, 700, seed=1) > 0
    same_on_both(lambda x, m: x[m], x, mask)
    same_on_both(lambda x, m: ut.masked_fill(x, m, 3.0), x, mask)
    same_on_both(lambda x, m: ut.masked_fill(x, m[0], 3.0), x, mask)
    same_on_both(lambda m: ut.nonzero(m), mask)
    same_on_both(lambda x, m, s: ut.masked_scatter(x, m, s), x, mask, values(6, 700, seed=4))
    same_on_both(lambda x, m, s: ut.index_put(x, (m,), s), x, mask, values(int(mask.sum()), seed=5))
    same_on_both(lambda x, m, s: ut.index_put(x, (m,), s, accumulate=True), x, mask, values(int(mask.sum()), seed=5))
    same_on_both(lambda x, m: ut.index_put(x, (m,), ut.tensor(2.0, device=x.device)), x, mask)


def test_a_long_mask_is_counted_by_many_blocks() -> None:
    mask = ut.arange(300000) % 7 == 0
    same_on_both(lambda m: ut.nonzero(m), mask)


def test_one_hot_put_take_and_unravel() -> None:
    same_on_both(lambda c: ut.nn.functional.one_hot(c), positions(4, 3, below=5))
    same_on_both(lambda c: ut.nn.functional.one_hot(c, 9), positions(4, 3, below=5))
    same_on_both(lambda x, i: ut.take(x, i), values(5, 6).t(), positions(7, below=30))
    same_on_both(lambda i: ut.unravel_index(i, (5, 6)), positions(7, below=30))


@pytest.mark.parametrize("bad", (9, -10))
def test_an_index_out_of_range_raises_when_the_device_is_read(bad: int) -> None:
    x = values(9, 4).cuda()
    for read in (lambda at: x[at], lambda at: ut.index_select(x, 0, at), lambda at: ut.index_put(x, (at,), ut.zeros(1, 4).cuda()),
                 lambda at: ut.gather(x, 0, at.reshape(1, 1)), lambda at: ut.scatter(x, 0, at.reshape(1, 1), 1.0)):
        with pytest.raises((IndexError, RuntimeError), match=f"{bad}"):
            read(ut.tensor([bad]).cuda()).cpu()
    close(x[ut.tensor([3]).cuda()], values(9, 4)[ut.tensor([3])])  # the device is still usable


def test_embedding_and_its_gradient() -> None:
    table = numbers(20, 16, grad=True)
    same_on_both(lambda w, i: ut.nn.functional.embedding(i, w), table, positions(4, 30, below=20))
    same_on_both(lambda w, i: ut.nn.functional.embedding(i, w, padding_idx=3), table, positions(4, 30, below=20))


@pytest.mark.parametrize("mode", ("sum", "mean", "max"))
def test_bags_of_embedding_rows(mode: str) -> None:
    table, at, offsets = numbers(10, 6, grad=True), positions(12, below=10), ut.tensor([0, 3, 3, 8])
    same_on_both(lambda w, i, o: ut.nn.functional.embedding_bag(i, w, o, mode=mode), table, at, offsets)
    same_on_both(lambda w, i, o: ut.nn.functional.embedding_bag(i, w, o, mode=mode, padding_idx=2), table, at, offsets)


def test_rows_above_a_norm_are_scaled_down() -> None:
    def renormed(w: ut.Tensor, i: ut.Tensor) -> ut.Tensor:
        ut.nn.functional.embedding(i, w, max_norm=1.0)
        return w
    same_on_both(renormed, numbers(10, 6), positions(12, below=10))


def test_deterministic_algorithms_add_in_index_order() -> None:
    x, at, s = values(3, 8), positions(3, 500, below=8), values(3, 500, seed=2)
    ut.use_deterministic_algorithms(True)
    try:
        same_on_both(lambda x, at, s: ut.scatter_add(x, 1, at, s), x, at, s, tol=1e-5)
        same_on_both(lambda x: ut.nn.functional.max_pool2d(x, 3, 1), numbers(1, 2, 6, 6, grad=True))
    finally:
        ut.use_deterministic_algorithms(False)
