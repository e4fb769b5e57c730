"""Cases for the entries of ops/fft.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, Fixed, case


def _forward(x, dims, normalization, forward):
    f = np.fft.fftn if forward else np.fft.ifftn
    mode = {0: "backward" if forward else "forward", 1: "ortho", 2: "forward" if forward else "backward"}[normalization]
    return f(x, axes=dims, norm=mode)


def _half(x, dims, normalization, onesided):
    mode = ("backward", "ortho", "forward")[normalization]
    return (np.fft.rfftn if onesided else np.fft.fftn)(x, axes=dims, norm=mode)


def _whole(x, dims, normalization, last):
    mode = ("forward", "ortho", "backward")[normalization]
    return np.fft.irfftn(x, s=[*(x.shape[d] for d in dims[:-1]), last], axes=dims, norm=mode)


def _spectrum(shape):
    rng = np.random.default_rng(5)
    return Fixed((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).tolist(), "complex128")


CASES = {
    "_fft_c2c": [case(_spectrum((3, n)), [1], k, forward, reference=_forward) for n, k, forward in ((1, 0, True), (4, 1, False), (7, 2, True), (30, 0, False), (37, 2, True))]
    + [case(_spectrum((3, 4, 5)), [0, 2], 1, True, reference=_forward)],
    "_fft_r2c": [case(Array((3, n)), [1], k, half, reference=_half, real_only=True) for n, k, half in ((1, 0, True), (8, 1, True), (9, 2, False), (41, 0, True))]
    + [case(Array((3, 4, 6)), [1, 0], 2, True, reference=_half, real_only=True)],
    "_fft_c2r": [case(_spectrum((2, n // 2 + 1)), [1], k, n, reference=_whole) for n, k in ((1, 0), (8, 1), (9, 2))]
    + [case(_spectrum((3, 4)), [0, 1], 2, 6, reference=_whole)],
}
