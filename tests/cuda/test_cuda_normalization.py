"""Layer, batch and group normalisation on a GPU agree with the CPU's."""
from __future__ import annotations

import pytest

import undertow as ut
from tests.cuda.compare import HALF, numbers, same_on_both
from undertow.nn import functional as F

pytestmark = pytest.mark.cuda


@pytest.mark.parametrize("dtype", (ut.float32, ut.float64, *HALF))
@pytest.mark.parametrize("rows, n", [(5, 7), (9, 64), (3, 768), (2, 1024), (2, 1500), (2, 4096), (2, 17001), (2, 16384)])
def test_layer_norm(dtype: ut.dtype, rows: int, n: int) -> None:
    x, w, b = numbers(rows, n, dtype=dtype, grad=True), numbers(n, dtype=dtype, grad=True, seed=1), numbers(n, dtype=dtype, grad=True, seed=2)
    same_on_both(lambda x, w, b: F.layer_norm(x, (n,), w, b), x, w, b)
    same_on_both(lambda x: F.layer_norm(x, (n,)), x)


def test_layer_norm_of_many_rows_sums_the_weights_over_blocks() -> None:
    x, w, b = numbers(3000, 8, grad=True), numbers(8, grad=True, seed=1), numbers(8, grad=True, seed=2)
    same_on_both(lambda x, w, b: F.layer_norm(x, (8,), w, b), x, w, b, tol=1e-4)
    x = numbers(1000, 1100, grad=True)
    w = numbers(1100, grad=True, seed=1)
    same_on_both(lambda x, w: F.layer_norm(x, (1100,), w), x, w, tol=1e-4)


@pytest.mark.parametrize("n", (32, 2000))
def test_rms_norm(n: int) -> None:
    x, w = numbers(6, n, grad=True), numbers(n, grad=True, seed=1)
    same_on_both(lambda x, w: F.rms_norm(x, (n,), w), x, w)


@pytest.mark.parametrize("memory_format", (ut.contiguous_format, ut.channels_last))
def test_batch_norm_of_channels_that_many_blocks_share(memory_format: ut.memory_format) -> None:
    x, w, b = numbers(5, 3, 40, 50, grad=True), numbers(3, grad=True, seed=1), numbers(3, grad=True, seed=2)
    same_on_both(lambda x, w, b: F.batch_norm(x.contiguous(memory_format=memory_format), None, None, w, b, training=True), x, w, b, tol=1e-4)


@pytest.mark.parametrize("dtype", (ut.float32, ut.float64, ut.bfloat16))
@pytest.mark.parametrize("shape", [(70, 3), (70, 40), (2, 3, 5, 5), (3, 33, 4, 8), (2, 48, 3, 4)])
@pytest.mark.parametrize("channels_last", (False, True))
def test_batch_norm(dtype: ut.dtype, shape: tuple[int, ...], channels_last: bool) -> None:
    if channels_last and len(shape) != 4:
        pytest.skip("a format of images")
    c = shape[1]
    x, w, b = numbers(*shape, dtype=dtype, grad=True), numbers(c, dtype=dtype, grad=True, seed=1), numbers(c, dtype=dtype, grad=True, seed=2)

    statistics = numbers(c, dtype=dtype, seed=3), numbers(c, dtype=dtype, seed=4).abs() + 0.5

    def normalised(training: bool, x: ut.Tensor, w: ut.Tensor, b: ut.Tensor, mean: ut.Tensor, var: ut.Tensor) -> list[ut.Tensor]:
        if channels_last:
            x = x.contiguous(memory_format=ut.channels_last)
        return [F.batch_norm(x, mean, var, w, b, training=training, momentum=0.3), mean, var]
    for training in (True, False):
        same_on_both(normalised, training, x, w, b, *statistics, tol={ut.float64: 1e-9, ut.float32: 1e-4}.get(dtype))


@pytest.mark.parametrize("shape, groups", [((2, 6, 5, 5), 3), ((3, 8, 40), 2), ((4, 12), 4), ((1, 4, 2000), 1)])
def test_group_norm(shape: tuple[int, ...], groups: int) -> None:
    c = shape[1]
    x, w, b = numbers(*shape, grad=True), numbers(c, grad=True, seed=1), numbers(c, grad=True, seed=2)
    same_on_both(lambda x, w, b: F.group_norm(x, groups, w, b), x, w, b)
