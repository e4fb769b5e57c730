"""Cases for pooling; the references compute one window at a time."""

from __future__ import annotations

import itertools

import numpy as np
from samples import Array, Fixed, case, index

IMAGE, VOLUME = Array((2, 2, 6, 7), distinct=True), Array((1, 2, 4, 5, 4), distinct=True)


def _out(n, kernel, stride, pad, dilation, ceil):
    room = n + 2 * pad - dilation * (kernel - 1) - 1
    out = (-(-room // stride) if ceil else room // stride) + 1
    return out - 1 if ceil and (out - 1) * stride >= n + pad else out


def _windows(shape, kernel, stride, pad, dilation, ceil):
    """For every element of the result, the indices of its window in the plane, without those in the padding; and their spans."""
    axes = []
    for n, k, s, p, d in zip(shape, kernel, stride or kernel, pad, dilation, strict=True):
        axes.append([([i for i in range(o * s - p, o * s - p + (k - 1) * d + 1, d) if 0 <= i < n], min(o * s - p + k, n + p) - (o * s - p))
                     for o in range(_out(n, k, s, p, d, ceil))])
    return axes


def _adaptive(shape, size):
    return [[(list(range(o * n // m, -(-(o + 1) * n // m))), 0) for o in range(m)] for n, m in zip(shape, size, strict=True)]


def _pooled(x, axes, f):
    lead = x.shape[: x.ndim - len(axes)]
    out = [[f(plane, places) for places in itertools.product(*axes)] for plane in x.reshape(-1, *x.shape[len(lead) :])]
    return np.array(out).reshape(*lead, *map(len, axes), *np.shape(out)[2:])


def _largest(plane, places):
    at = list(itertools.product(*(p[0] for p in places)))
    best = max(at, key=lambda i: plane[i])
    return plane[best], np.ravel_multi_index(best, plane.shape)


def _max(x, axes):
    both = _pooled(x, axes, _largest)
    return both[..., 0], both[..., 1].astype(np.int64)


def _max_pool(x, kernel, stride, pad, dilation, ceil):
    return _max(x, _windows(x.shape[-len(kernel) :], kernel, stride, pad, dilation, ceil))


def _avg_pool(x, kernel, stride, pad, ceil, include, divisor):
    def mean(plane, places):
        total = sum(plane[i] for i in itertools.product(*(p[0] for p in places)))
        span = np.prod([p[1] if include else len(p[0]) for p in places])
        return total / (divisor or span)

    result = _pooled(x, _windows(x.shape[-len(kernel) :], kernel, stride, pad, [1] * len(kernel), ceil), mean)
    return np.trunc(result) if np.issubdtype(x.dtype, np.integer) else result


def _adaptive_avg(x, size):
    return _pooled(x, _adaptive(x.shape[-len(size) :], size), lambda plane, places: plane[np.ix_(*(p[0] for p in places))].mean())


def _adaptive_max(x, size):
    return _max(x, _adaptive(x.shape[-len(size) :], size))


def _transposed(f, g, sizes, *more):
    """The transpose of a linear f: the derivative of sum(g * f(x)) with respect to each element of x."""
    out = np.zeros(int(np.prod(sizes)))
    for i in range(out.size):
        x = np.zeros(out.size)
        x[i] = 1
        out[i] = (f(x.reshape(sizes), *more) * g).sum()
    return out.reshape(sizes)


def _avg_unpool(g, sizes, kernel, stride, pad, include, divisor):
    return _transposed(lambda x: _avg_pool(x, kernel, stride, pad, False, include, divisor), g, sizes)


def _adaptive_avg_unpool(g, sizes, spatial):
    return _transposed(lambda x: _adaptive_avg(x, g.shape[-spatial:]), g, sizes)


def _gather(x, at, spatial):
    lead = x.shape[: x.ndim - spatial]
    return np.take_along_axis(x.reshape(*lead, -1), at.reshape(*lead, -1), -1).reshape(at.shape)


def _scatter(g, at, sizes, spatial):
    out = np.zeros((int(np.prod(sizes[: len(sizes) - spatial])), int(np.prod(sizes[-spatial:]))), dtype=g.dtype)
    for plane, row, places in zip(out, g.reshape(len(out), -1), at.reshape(len(out), -1), strict=True):
        np.add.at(plane, places, row)
    return out.reshape(sizes)


def _unpool(x, at, size):
    sizes = [*x.shape[: x.ndim - len(size)], *size]
    return _scatter(x, at, sizes, len(size))


def _real(*args, reference=None):
    return case(*args, reference=reference, real_only=True)


PLACES = index([[[3, 0], [11, 3]], [[1, 2], [4, 5]]])  # of two planes of 3 by 4, one index twice
APART = index([[[3, 0], [11, 7]], [[1, 2], [4, 5]]])
DEEP = index([[[[[3, 0], [11, 7]]]]])
HALVES = Fixed([[[0.5, 0.25], [0.1, 0.9]], [[0.0, 0.7], [0.3, 0.6]]], "float64")
THIRDS = Fixed([[[0.5, 0.25, 0.8], [0.1, 0.9, 0.4]]], "float64")

CASES = {
    "max_pool2d_with_indices": [_real(IMAGE, *a, reference=_max_pool) for a in (
        ([2, 2], [], [0, 0], [1, 1], False), ([3, 2], [2, 1], [1, 1], [1, 2], False), ([3, 3], [2, 2], [1, 1], [1, 1], True), ([2, 3], [3, 3], [0, 1], [2, 1], True))]
    + [_real(Array((2, 5, 6), distinct=True), [2, 2], [1, 1], [0, 0], [1, 1], False, reference=_max_pool)],
    "_max_pool2d": [_real(IMAGE, *a, reference=lambda *args: _max_pool(*args)[0]) for a in (
        ([2, 2], [], [0, 0], [1, 1], False), ([3, 2], [2, 1], [1, 1], [1, 2], False), ([2, 3], [3, 3], [0, 1], [2, 1], True))],
    "max_pool3d_with_indices": [_real(VOLUME, *a, reference=_max_pool) for a in (
        ([2, 2, 2], [], [0, 0, 0], [1, 1, 1], False), ([3, 2, 2], [2, 1, 2], [1, 1, 0], [1, 2, 1], True))],
    "adaptive_max_pool2d": [_real(IMAGE, s, reference=_adaptive_max) for s in ([2, 3], [3, 7], [1, 1])],
    "adaptive_max_pool3d": [_real(VOLUME, s, reference=_adaptive_max) for s in ([2, 3, 2], [1, 5, 4])],
    "fractional_max_pool2d": [_real(IMAGE, [2, 2], [3, 4], HALVES)],
    "fractional_max_pool3d": [_real(VOLUME, [2, 2, 1], [2, 3, 1], THIRDS)],
    "max_unpool2d": [_real(Array((2, 2, 2)), APART, [3, 4], reference=_unpool)],
    "max_unpool3d": [_real(Array((1, 1, 1, 2, 2)), DEEP, [2, 3, 4], reference=_unpool)],
    "_max_pool_gather": [_real(Array((2, 3, 4)), PLACES, 2, reference=_gather)],
    "_max_pool_scatter": [_real(Array((2, 2, 2)), PLACES, [2, 3, 4], 2, reference=_scatter)],
    "avg_pool2d": [_real(IMAGE, *a, reference=_avg_pool) for a in (
        ([2, 2], [], [0, 0], False, True, None), ([3, 2], [2, 1], [1, 1], True, True, None), ([3, 3], [2, 2], [1, 1], True, False, None),
        ([2, 3], [1, 3], [1, 0], False, True, 5))],
    "avg_pool3d": [_real(VOLUME, *a, reference=_avg_pool) for a in (
        ([2, 2, 2], [], [0, 0, 0], False, True, None), ([3, 2, 2], [2, 1, 2], [1, 1, 0], True, False, None))],
    "_avg_unpool": [_real(Array((1, 3, 4)), [1, 6, 4], [2, 3], [2, 1], [0, 1], i, d, reference=_avg_unpool) for i, d in ((True, None), (False, None), (True, 3))],
    "_adaptive_avg_pool2d": [_real(IMAGE, s, reference=_adaptive_avg) for s in ([2, 3], [3, 7], [1, 1])],
    "_adaptive_avg_pool3d": [_real(VOLUME, s, reference=_adaptive_avg) for s in ([2, 3, 2], [1, 5, 4])],
    "_adaptive_avg_unpool": [_real(Array((1, 2, 3)), [1, 5, 6], 2, reference=_adaptive_avg_unpool), _real(Array((1, 2, 1, 2)), [1, 3, 4, 3], 3, reference=_adaptive_avg_unpool)],
}
