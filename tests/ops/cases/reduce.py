"""Cases for the entries of ops/reduce.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, case

A = Array((3, 4))
B = Array((2, 3, 4))
DISTINCT = Array((3, 4), distinct=True)


def _axes(dim):
    return None if dim is None else tuple(dim)


def _moment(function):
    """var or std of torch's older signatures: (dim, unbiased, keepdim)."""
    def reference(x, dim, unbiased=True, keepdim=False):
        return function(x, axis=_axes(dim), ddof=int(unbiased), keepdims=keepdim)

    return reference


def _with_mean(function):
    def reference(x, dim, unbiased=True, keepdim=False):
        return function(x, axis=_axes(dim), ddof=int(unbiased), keepdims=keepdim), np.mean(x, axis=_axes(dim), keepdims=keepdim)

    return reference


def _moments(make) -> list:
    return [case(B, dim, unbiased, keepdim, reference=make) for dim, unbiased, keepdim in (([1], True, False), ([0, 2], False, True), (None, True, False))]


def _all(function) -> list:
    return [case(B, unbiased, reference=lambda x, unbiased: function(x, ddof=int(unbiased))) for unbiased in (True, False)]


def _all_with_mean(function) -> list:
    return [case(B, unbiased, reference=lambda x, unbiased: (function(x, ddof=int(unbiased)), np.mean(x))) for unbiased in (True, False)]


CASES = {
    "any": [case(A, reference=np.any), case(Array((0,)), reference=np.any), case(Array(()), reference=np.any)],
    "all": [case(A, reference=np.all), case(Array((0,)), reference=np.all)],
    "sum": [case(A, reference=np.sum), case(Array(()), reference=np.sum), case(Array((0, 2)), reference=np.sum)],
    "sum.dim": [case(B, d, reference=lambda x, d: np.sum(x, axis=d if d is None else tuple(d))) for d in ([0], [-1], [0, 2], None)]
    + [case(B, [1], True, reference=lambda x, d, k: np.sum(x, axis=tuple(d), keepdims=k))],
    "sum_to_size": [case(B, [3, 1], reference=lambda x, s: x.sum((0, 2)).reshape(3, 1)), case(A, [1, 4])],
    "kthvalue": [case(DISTINCT, 2, real_only=True)],
    "mode": [case(Array((3, 5), distinct=True), real_only=True, differentiable=False)],
    "var": _moments(_moment(np.var)),
    "std": _moments(_moment(np.std)),
    "var.all": _all(np.var),
    "std.all": _all(np.std),
    "var_mean": _moments(_with_mean(np.var)),
    "std_mean": _moments(_with_mean(np.std)),
    "var_mean.all": _all_with_mean(np.var),
    "std_mean.all": _all_with_mean(np.std),
}
