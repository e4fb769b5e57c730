"""Cases for the entries of ops/sort.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, Fixed, case, index

A = Array((3, 4))
DISTINCT = Array((3, 4), distinct=True)


def _quantile(function):
    def reference(x, q, dim=None, keepdim=False, interpolation="linear"):
        return function(x, q, axis=dim, keepdims=keepdim, method=interpolation)

    return reference


Q = Array((2,), 0.15, 0.85)
QUANTILES = [(DISTINCT, {}), (DISTINCT, {"dim": 1}), (DISTINCT, {"dim": 0, "keepdim": True}), (DISTINCT, {"dim": 1, "interpolation": "midpoint"}),
             (DISTINCT, {"dim": 1, "interpolation": "lower"}), (DISTINCT, {"dim": 1, "interpolation": "higher"})]

CASES = {
    "sort": [case(DISTINCT, reference=lambda x: (np.sort(x), np.argsort(x, kind="stable")), real_only=True)],
    "argsort": [case(DISTINCT, reference=lambda x: np.argsort(x, kind="stable"), real_only=True)],
    "topk": [case(DISTINCT, 2, real_only=True)],
    "searchsorted": [case(index([1, 3, 5]), index([2, 5]), reference=np.searchsorted)],
    "bucketize": [case(index([2, 5]), index([1, 3, 5]), reference=lambda x, b: np.searchsorted(b, x))],
    "searchsorted.number": [case(index([1, 3, 5]), 3), case(index([1, 3, 5]), 3, right=True)],
    "bucketize.number": [case(3, index([1, 3, 5])), case(3, index([1, 3, 5]), right=True)],
    "isin": [case(A, Array((5,))), case(index([[1, 2], [3, 4]]), index([2, 4, 9])), case(A, A, invert=True)],
    "isin.number": [case(index([1, 2, 3]), 2)],
    "isin.in_tensor": [case(2, index([1, 2, 3])), case(7, index([1, 2, 3]))],
    "bincount": [case(Fixed([0, 2, 2], "int64"), reference=np.bincount)],
    "quantile": [case(x, Q, reference=_quantile(np.quantile), **k) for x, k in QUANTILES],
    "quantile.number": [case(x, 0.4, reference=_quantile(np.quantile), **k) for x, k in QUANTILES],
    "nanquantile": [case(x, Q, reference=_quantile(np.nanquantile), **k) for x, k in QUANTILES],
    "nanquantile.number": [case(x, 0.4, reference=_quantile(np.nanquantile), **k) for x, k in QUANTILES],
    "histc": [case(A, 5, -1, 1, reference=lambda x, n, a, b: np.histogram(x, n, (a, b))[0], real_only=True),
              case(A, 4, reference=lambda x, n: np.histogram(x, n)[0], real_only=True)],
    "_unique2": [case(index([3, 1, 3, 2]), True, True, True, reference=lambda x, *_: np.unique(x, return_inverse=True, return_counts=True))],
    "_unique_dim": [case(index([[1, 2], [0, 5], [1, 2]]), 0, True, True, True, reference=lambda *_: ([[0, 5], [1, 2]], [1, 0, 1], [1, 2]))],
    "_unique_consecutive": [case(index([4, 4, 2, 2, 4]), True, True, None, reference=lambda *_: ([4, 2, 4], [0, 0, 1, 1, 2], [2, 2, 1]))],
}
EXCEPT = {
    "argsort": dict.fromkeys(("first_derivative", "second_derivative", "forward_mode"), "a composite whose result is integers"),
}
