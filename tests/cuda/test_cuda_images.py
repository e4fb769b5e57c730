"""Pooling, padding and resampling on a GPU agree with the CPU's."""

from __future__ import annotations

import pytest

import undertow as ut
from tests.cuda.compare import numbers, same_on_both
from undertow.nn import functional as F

pytestmark = pytest.mark.cuda
FLOATS = (ut.float32, ut.float64, ut.bfloat16)


@pytest.mark.parametrize("dtype", FLOATS)
def test_pooling(dtype: ut.dtype) -> None:
    x = numbers(2, 3, 11, 9, dtype=dtype, grad=True)
    same_on_both(lambda x: F.avg_pool2d(x, 3, 2, 1), x)
    same_on_both(lambda x: F.avg_pool2d(x, (2, 3), ceil_mode=True, count_include_pad=False, padding=1), x)
    same_on_both(lambda x: F.avg_pool2d(x, 3, divisor_override=5), x)
    same_on_both(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), x)
    same_on_both(lambda x: F.max_pool2d(x, 2, dilation=2), x)
    same_on_both(lambda x: F.adaptive_avg_pool2d(x, (4, 5)), x)
    same_on_both(lambda x: F.adaptive_max_pool2d(x, (4, 5)), x)


def test_pooling_of_volumes_and_back() -> None:
    x = numbers(2, 6, 5, 7, grad=True)
    same_on_both(lambda x: F.max_pool3d(x, 2, 1), x)
    same_on_both(lambda x: F.avg_pool3d(x, 2), x)
    pooled, at = F.max_pool2d(numbers(1, 2, 6, 6), 2, return_indices=True)
    same_on_both(lambda p, at: F.max_unpool2d(p, at, 2), pooled.requires_grad_(), at)


@pytest.mark.parametrize("mode", ("reflect", "replicate", "circular"))
def test_padding_with_elements(mode: str) -> None:
    same_on_both(lambda x: F.pad(x, (2, 3, 1, 0), mode=mode), numbers(2, 3, 5, 6, grad=True))
    same_on_both(lambda x: F.pad(x, (3, 2), mode=mode), numbers(2, 3, 5, grad=True))


def test_padding_with_a_number() -> None:
    same_on_both(lambda x: F.pad(x, (2, -1, 0, 3), value=1.5), numbers(2, 3, 5, 6, grad=True))
    same_on_both(lambda x: F.pad(x, (0, 0, 0, 0, 1, 2)), numbers(2, 3, 4))


@pytest.mark.parametrize("mode", ("nearest", "nearest-exact", "bilinear", "bicubic"))
@pytest.mark.parametrize("size", [(9, 4), (3, 13), (6, 10), (12, 10)])
def test_resampling(mode: str, size: tuple[int, int]) -> None:
    x = numbers(2, 2, 6, 5, dtype=ut.float64, grad=True)
    same_on_both(lambda x: F.interpolate(x, size, mode=mode), x)
    if mode.startswith("bi"):
        same_on_both(lambda x: F.interpolate(x, size, mode=mode, align_corners=True), x)
        same_on_both(lambda x: F.interpolate(x, size, mode=mode, antialias=True), x)


def test_resampling_of_lines_volumes_and_bytes() -> None:
    same_on_both(lambda x: F.interpolate(x, 13, mode="linear"), numbers(2, 3, 5, grad=True))
    same_on_both(lambda x: F.interpolate(x, scale_factor=1.7, mode="trilinear"), numbers(1, 2, 3, 4, 5, grad=True))
    x = (numbers(1, 3, 6, 7).abs() * 60).to(ut.uint8)
    same_on_both(lambda x: F.interpolate(x, (9, 5), mode="bilinear"), x)
