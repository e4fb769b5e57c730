"""Cases for the entries of ops/resample.toml. Interpolation is a matrix along each axis."""

from __future__ import annotations

import numpy as np
from samples import Array, case

LINE, IMAGE, VOLUME = Array((2, 2, 5)), Array((1, 2, 4, 5)), Array((1, 1, 3, 2, 4))


def _cubic(x, a=-0.75):
    x = np.abs(x)
    return np.where(x < 1, (a + 2) * x**3 - (a + 3) * x**2 + 1, np.where(x < 2, a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a, 0))


def _matrix(kind, n, m, align, scale):
    """The m by n matrix of one axis."""
    step = (n - 1) / max(m - 1, 1) if align else (1 / scale if scale else n / m)
    at = np.arange(m) * step if align else (np.arange(m) + 0.5) * step - 0.5
    out = np.zeros((m, n))
    if kind.startswith("Nearest"):
        exact = kind.startswith("NearestExact")
        out[np.arange(m), np.minimum(((np.arange(m) + 0.5 * exact) * step).astype(int), n - 1)] = 1
        return out
    if "cubic" in kind:
        for j in range(m):
            for i in range(-3, n + 3):
                out[j, np.clip(i, 0, n - 1)] += _cubic(at[j] - i)
        return out
    return np.stack([np.interp(at, np.arange(n), unit) for unit in np.eye(n)], 1)


def _resample(x, size, kind, align, *scales):
    whole = np.issubdtype(x.dtype, np.integer)
    for d, m in enumerate(size):
        axis = x.ndim - len(size) + d
        w = _matrix(kind, x.shape[axis], m, align, scales[3 - len(size) + d])
        x = np.moveaxis(np.tensordot(w, x, (1, axis)), 0, axis)
    return np.floor(x + 0.5 + 1e-9).clip(0, 255) if whole else x  # bytes


def _back(g, sizes, kind, align, *scales):
    for d in range(2, len(sizes)):
        w = _matrix(kind, sizes[d], g.shape[d], align, scales[3 - len(sizes) + d])
        g = np.moveaxis(np.tensordot(w.T, g, (1, d)), 0, d)
    return g


NO = (None, None, None)
SHAPES = {1: (LINE, ([3], [9])), 2: (IMAGE, ([3, 7], [8, 4])), 3: (VOLUME, ([2, 4, 5],))}
KINDS = [("Nearest1D", False), ("Nearest2D", False), ("Nearest3D", False), ("NearestExact2D", False), ("Linear1D", False), ("Linear1D", True),
         ("Bilinear2D", False), ("Bilinear2D", True), ("Trilinear3D", True), ("Bicubic2D", False), ("Bicubic2D", True)]


def _rank(kind):
    return int(kind[-2])


CASES = {
    "_resample": [case(SHAPES[_rank(k)][0], size, k, align, *NO, reference=_resample, real_only=True) for k, align in KINDS for size in SHAPES[_rank(k)][1]]
    + [case(IMAGE, [6, 9], "Bilinear2D", False, None, 1.6, 1.9, reference=_resample, real_only=True)]
    + [case(IMAGE, size, f"{k}2DAa", False, *NO, real_only=True) for k in ("Bilinear", "Bicubic", "Lanczos") for size in ([2, 3], [7, 9])],
    "_resample_backward": [case(Array((1, 2, *size)), [1, 2, *SHAPES[_rank(k)][0].shape[2:]], k, align, *NO, reference=_back, real_only=True)
                           for k, align in KINDS for size in SHAPES[_rank(k)][1]],
}
