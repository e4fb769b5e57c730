"""Cases for the entries of ops/scan.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, Fixed, case

A, B = Array((3, 4)), Array((2, 3, 4))
DISTINCT = Array((3, 4), distinct=True)


def _trapezoids(y, x, dim):
    y, x = np.moveaxis(y, dim, -1), np.moveaxis(x, dim, -1) if x.ndim == y.ndim else x
    return np.moveaxis((y[..., 1:] + y[..., :-1]) / 2 * np.diff(x), -1, dim)


def _integral(y, x, dim=-1):
    return _trapezoids(y, x, dim).sum(dim)


def _running_integral(y, x, dim=-1):
    return np.cumsum(_trapezoids(y, x, dim), dim)


def _evenly_spaced(y, dx=1, dim=-1):
    return _running_integral(y, dx * np.arange(y.shape[dim]).reshape([-1 if d == dim % y.ndim else 1 for d in range(y.ndim)]), dim)


TIMES = Fixed([0.0, 0.5, 2.0, 2.25], "float64")

CASES = {
    "cumsum": [case(A, 0, reference=np.cumsum), case(A, -1, reference=np.cumsum)],
    "cumprod": [case(A, 0, reference=np.cumprod), case(Array((4,)), 0, reference=np.cumprod)],
    "cummax": [case(DISTINCT, 1, real_only=True)],
    "cummin": [case(DISTINCT, 1, real_only=True)],
    "logcumsumexp": [case(A, 1, real_only=True, reference=lambda x, d: np.log(np.cumsum(np.exp(x), d)))],
    "diff": [case(A, reference=np.diff)],
    "trapezoid": [case(A, TIMES, reference=_integral), case(A, Fixed([[0.0], [1.5], [2.0]], "float64"), dim=0, reference=_integral)],
    "trapezoid.dx": [case(A), case(A, dim=0), case(B, dx=0.5, dim=1), case(Array((5,)), dx=2.0), case(Array((0, 3)), dim=0)],
    "cumulative_trapezoid": [case(A, TIMES, reference=_running_integral), case(A, Fixed([[0.0], [1.5], [2.0]], "float64"), dim=0, reference=_running_integral)],
    "cumulative_trapezoid.dx": [case(A, reference=_evenly_spaced), case(B, dx=0.5, dim=1, reference=_evenly_spaced), case(Array((0, 3)), reference=_evenly_spaced)],
}
