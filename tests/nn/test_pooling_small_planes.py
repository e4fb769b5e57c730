"""Pooling of planes with short rows of windows, which uses index tables, and of windows that tile, compared with plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import undertow as ut
import undertow.nn.functional as F


def _grid(n, kernel, stride, padding, dilation=1):
    """For each window along one axis, its indices."""
    out = (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    starts = [o * stride - padding for o in range(out)]
    return [[s + k * dilation for k in range(kernel) if 0 <= s + k * dilation < n] for s in starts]


def _adaptive(n, out):
    return [list(range(o * n // out, math.ceil((o + 1) * n / out))) for o in range(out)]


def _largest(a, windows):
    """Values and indices in the plane, by a loop over every window: the first maximum, or the last NaN."""
    spatial = len(windows)
    planes = a.reshape(-1, *a.shape[-spatial:])
    values, places = [], []
    for plane in planes:
        flat = plane.ravel()
        for window in itertools.product(*windows):
            at = [int(np.ravel_multi_index(p, plane.shape)) for p in itertools.product(*window)]
            best = at[0]
            for k in at:
                if flat[k] > flat[best] or np.isnan(flat[k]):
                    best = k
            values.append(flat[best])
            places.append(best)
    shape = (*a.shape[:-spatial], *map(len, windows))
    return np.array(values).reshape(shape), np.array(places).reshape(shape)


def _average(a, windows):
    out = np.empty((*a.shape[: -len(windows)], *map(len, windows)))
    for o in itertools.product(*(range(len(w)) for w in windows)):
        out[(..., *o)] = a[(..., *np.ix_(*(w[i] for w, i in zip(windows, o, strict=True))))].mean(tuple(range(-len(windows), 0)))
    return out


def _image(shape, seed=0):
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(np.float32)  # with ties


# Planes of one window and of many, more planes than a group, groups cut short, rows of 15 and of 16 windows.
MAX = [
    ((67, 3, 13, 13), 3, 2, 0, 1),
    ((5, 1, 13, 13), 3, 2, 1, 1),
    ((130, 1, 8, 8), 8, 8, 0, 1),
    ((2, 3, 31, 31), 3, 2, 1, 1),
    ((2, 3, 30, 30), 2, 2, 0, 1),
    ((2, 3, 32, 32), 2, 2, 0, 1),
    ((3, 2, 9, 10), 3, 1, 1, 2),
]


@pytest.mark.parametrize(("shape", "kernel", "stride", "padding", "dilation"), MAX)
@pytest.mark.parametrize("dtype", [ut.float32, ut.float64])
def test_maxima_and_their_indices(shape, kernel, stride, padding, dilation, dtype):
    a = _image(shape)
    values, places = F.max_pool2d(ut.tensor(a, dtype=dtype), kernel, stride, padding, dilation, return_indices=True)
    expected, at = _largest(a, [_grid(n, kernel, stride, padding, dilation) for n in shape[-2:]])
    assert np.array_equal(values.numpy(), expected)
    assert np.array_equal(places.numpy(), at)


@pytest.mark.parametrize("output", [1, 2, 5, (3, 7), (1, 15)])
def test_adaptive_windows_of_different_lengths(output):
    a = _image((9, 7, 11, 17))
    windows = [_adaptive(n, o) for n, o in zip((11, 17), (output, output) if isinstance(output, int) else output, strict=True)]
    values, places = F.adaptive_max_pool2d(ut.tensor(a), output, return_indices=True)
    expected, at = _largest(a, windows)
    assert np.array_equal(values.numpy(), expected)
    assert np.array_equal(places.numpy(), at)
    np.testing.assert_allclose(F.adaptive_avg_pool2d(ut.tensor(a), output).numpy(), _average(a, windows), rtol=1e-5, atol=1e-6)


def test_lines_and_volumes():
    line, volume = _image((33, 4, 100)), _image((5, 3, 8, 6, 10))
    values, places = F.adaptive_max_pool1d(ut.tensor(line), 7, return_indices=True)
    expected, at = _largest(line, [_adaptive(100, 7)])
    assert np.array_equal(values.numpy(), expected)
    assert np.array_equal(places.numpy(), at)
    values, places = F.max_pool3d(ut.tensor(volume), 2, return_indices=True)
    expected, at = _largest(volume, [_grid(n, 2, 2, 0) for n in (8, 6, 10)])
    assert np.array_equal(values.numpy(), expected)
    assert np.array_equal(places.numpy(), at)


@pytest.mark.parametrize("shape", [(70, 1, 8, 8), (2, 2, 13, 13)])
def test_of_several_nans_the_last_is_chosen_and_none_is_lost(shape):
    a = _image(shape)
    a[:, 0, 1, 1] = a[:, 0, 2, 2] = np.nan
    a[0, 0] = -np.inf
    for kernel, stride in ((3, 2), (8, 8)):
        values, places = F.max_pool2d(ut.tensor(a), kernel, stride, return_indices=True)
        expected, at = _largest(a, [_grid(n, kernel, stride, 0) for n in shape[-2:]])
        np.testing.assert_array_equal(values.numpy(), expected)
        assert np.array_equal(places.numpy(), at)


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "padding"),
    [((70, 3, 7, 7), 7, 7, 0), ((3, 4, 12, 8), 4, 4, 0), ((3, 4, 13, 9), 4, 4, 0), ((2, 3, 9, 9), 3, 2, 0), ((2, 3, 9, 9), 3, 3, 1), ((2, 2, 40, 40), 2, 2, 0)],
)
@pytest.mark.parametrize("dtype", [ut.float32, ut.float64])
def test_averages_and_their_gradients(shape, kernel, stride, padding, dtype):
    a = _image(shape)
    x = ut.tensor(a, dtype=dtype, requires_grad=True)
    y = F.avg_pool2d(x, kernel, stride, padding, count_include_pad=False)
    windows = [_grid(n, kernel, stride, padding) for n in shape[-2:]]
    np.testing.assert_allclose(y.detach().numpy(), _average(a, windows), rtol=1e-5, atol=1e-6)
    g = _image(y.shape, 1)
    (grad,) = ut.autograd.grad(y, x, ut.tensor(g, dtype=dtype))
    expected = np.zeros(shape)
    for i, j in itertools.product(range(y.shape[2]), range(y.shape[3])):
        rows, columns = windows[0][i], windows[1][j]
        expected[..., rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] += g[..., i : i + 1, j : j + 1] / (len(rows) * len(columns))
    np.testing.assert_allclose(grad.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_divisor_and_counted_padding_work_for_small_planes():
    a = _image((70, 1, 6, 6))
    sums = F.avg_pool2d(ut.tensor(a), 3, divisor_override=1)
    np.testing.assert_allclose(sums.numpy(), 9 * _average(a, [_grid(6, 3, 3, 0)] * 2), rtol=1e-5, atol=1e-5)
    padded = F.avg_pool2d(ut.tensor(a), 3, 3, 1)
    np.testing.assert_allclose(padded.numpy(), F.avg_pool2d(F.pad(ut.tensor(a), (1, 1, 1, 1)), 3).numpy(), rtol=1e-6)


@pytest.mark.parametrize("pool", [lambda x: F.max_pool2d(x, 3, 2), lambda x: F.avg_pool2d(x, 3, 3), lambda x: F.adaptive_max_pool2d(x, 5)])
def test_results_are_bitwise_equal_for_any_number_of_threads(pool):
    x = ut.randn(200, 5, 12, 12, requires_grad=True)
    before = ut.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            ut.set_num_threads(threads)
            y = pool(x)
            (g,) = ut.autograd.grad(y, x, ut.ones_like(y))
            results.append((y.detach().numpy().tobytes(), g.numpy().tobytes()))
    finally:
        ut.set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_no_planes_and_no_windows_give_empty_results():
    assert F.max_pool2d(ut.empty(0, 3, 8, 8), 2).shape == (0, 3, 4, 4)
    assert F.avg_pool2d(ut.empty(0, 3, 8, 8), 2).shape == (0, 3, 4, 4)
    x = ut.randn(2, 3, 8, 8, requires_grad=True)
    y = F.adaptive_avg_pool2d(x, (0, 4))
    assert y.shape == (2, 3, 0, 4)
    (g,) = ut.autograd.grad(y.sum(), x)
    assert not g.any()
