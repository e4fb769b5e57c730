"""Cases for moments, norms, quantiles and integrals."""

from __future__ import annotations

import numpy as np
from samples import Array, Fixed, case

A = Array((3, 4))
B = Array((2, 3, 4))
DISTINCT = Array((3, 4), distinct=True)
SQUARE = Array((3, 3), diagonal=4.0)
POSITIVE = Array((3, 4), 0.3, 2.0)


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


def vector_norm(x, p=2, dim=None, keepdim=False):
    x, axis = np.abs(np.asarray(x)), _axes(dim)
    if p == np.inf:
        return x.max(axis, keepdims=keepdim)
    if p == -np.inf:
        return x.min(axis, keepdims=keepdim)
    if p == 0:
        return (x != 0).sum(axis, keepdims=keepdim).astype(x.dtype)
    return (x**p).sum(axis, keepdims=keepdim) ** (1 / p)


def _norms() -> list:
    return [case(NONZERO, p, dim, keepdim, reference=vector_norm)
            for p, dim, keepdim in ((2, [1], False), (1, None, False), (3, [0, 1], True), (0, [0], False), (np.inf, [1], True), (-np.inf, None, False), (0.5, [1], False))]


def _matrix_norm(x, ord="fro", dim=(-2, -1), keepdim=False):
    return np.linalg.norm(x, ord=ord, axis=tuple(dim), keepdims=keepdim)


def _renormed(x, p, dim, most):
    size = vector_norm(x, p, [d for d in range(x.ndim) if d != dim], True)
    return x * np.where(size > most, most / (size + 1e-7), 1)


def _cosine(x, y, dim=1, eps=1e-8):
    product = (x * y).sum(dim)
    return product / np.maximum(np.sqrt((x * x).sum(dim)), eps) / np.maximum(np.sqrt((y * y).sum(dim)), eps)


def _quantile(function):
    def reference(x, q, dim=None, keepdim=False, interpolation="linear"):
        return function(x, q, axis=dim, keepdims=keepdim, method=interpolation)

    return reference


def _trapezoids(y, x, dim):
    y, x = np.moveaxis(y, dim, -1), np.moveaxis(x, dim, -1) if x.ndim == y.ndim else x
    return np.moveaxis((y[..., 1:] + y[..., :-1]) / 2 * np.diff(x), -1, dim)


def _integral(y, x, dim=-1):
    return _trapezoids(y, x, dim).sum(dim)


def _running_integral(y, x, dim=-1):
    return np.cumsum(_trapezoids(y, x, dim), dim)


def _evenly_spaced(y, dx=1, dim=-1):
    return _running_integral(y, dx * np.arange(y.shape[dim]).reshape([-1 if d == dim % y.ndim else 1 for d in range(y.ndim)]), dim)


NONZERO = Array((3, 4), -1.6, 2.0, distinct=True)  # absolute values are distinct too
TIMES = Fixed([0.0, 0.5, 2.0, 2.25], "float64")
Q = Array((2,), 0.15, 0.85)
QUANTILES = [(DISTINCT, {}), (DISTINCT, {"dim": 1}), (DISTINCT, {"dim": 0, "keepdim": True}), (DISTINCT, {"dim": 1, "interpolation": "midpoint"}),
             (DISTINCT, {"dim": 1, "interpolation": "lower"}), (DISTINCT, {"dim": 1, "interpolation": "higher"})]

CASES = {
    "var": _moments(_moment(np.var)),
    "std": _moments(_moment(np.std)),
    "var.all": _all(np.var),
    "std.all": _all(np.std),
    "var_mean": _moments(_with_mean(np.var)),
    "std_mean": _moments(_with_mean(np.std)),
    "var_mean.all": _all_with_mean(np.var),
    "std_mean.all": _all_with_mean(np.std),
    "linalg_vector_norm": _norms(),
    "norm": _norms(),
    "norm.str": [case(A, "fro", reference=lambda x, p: np.linalg.norm(x)),
                 case(B, "fro", [0, 2], True, reference=lambda x, p, dim, keepdim: vector_norm(x, 2, dim, keepdim))],
    "linalg_norm": [case(A, reference=np.linalg.norm), case(Array((5,)), 3, reference=np.linalg.norm), case(NONZERO, 1, reference=np.linalg.norm),
                    case(B, None, [1], reference=lambda x, p, dim: vector_norm(x, 2, dim))],
    "linalg_norm.str": [case(A, "fro", reference=np.linalg.norm), case(B, "fro", [0, 2], reference=_matrix_norm)],
    "linalg_matrix_norm": [case(NONZERO, p, reference=_matrix_norm) for p in (1, -1, np.inf, -np.inf)]
    + [case(B, 1, [2, 0], True, reference=_matrix_norm)],
    "linalg_matrix_norm.str": [case(B, "fro", reference=_matrix_norm), case(B, "fro", [0, 1], True, reference=_matrix_norm), case(A, reference=_matrix_norm)],
    "renorm": [case(A, 2, 0, 1.5, reference=_renormed), case(A, 1, 1, 2.5, reference=_renormed)],
    "cosine_similarity": [case(A, Array((3, 4)), reference=_cosine, real_only=True), case(B, Array((2, 3, 4)), 2, reference=_cosine, real_only=True)],
    "pairwise_distance": [case(Array((3, 4), 1.5, 3.0), Array((3, 4), 0.3, 1.2), p, reference=lambda x, y, p: vector_norm(x - y + 1e-6, p, [-1]), real_only=True) for p in (2.0, 1.0, 3.0)],
    "quantile": [case(x, Q, reference=_quantile(np.quantile), **k) for x, k in QUANTILES],
    "quantile.number": [case(x, 0.4, reference=_quantile(np.quantile), **k) for x, k in QUANTILES],
    "nanquantile": [case(x, Q, reference=_quantile(np.nanquantile), **k) for x, k in QUANTILES],
    "nanquantile.number": [case(x, 0.4, reference=_quantile(np.nanquantile), **k) for x, k in QUANTILES],
    "histc": [case(A, 5, -1, 1, reference=lambda x, n, a, b: np.histogram(x, n, (a, b))[0], real_only=True),
              case(A, 4, reference=lambda x, n: np.histogram(x, n)[0], real_only=True)],
    "trapezoid": [case(A, TIMES, reference=_integral), case(A, Fixed([[0.0], [1.5], [2.0]], "float64"), dim=0, reference=_integral)],
    "cumulative_trapezoid": [case(A, TIMES, reference=_running_integral), case(A, Fixed([[0.0], [1.5], [2.0]], "float64"), dim=0, reference=_running_integral)],
    "cumulative_trapezoid.dx": [case(A, reference=_evenly_spaced), case(B, dx=0.5, dim=1, reference=_evenly_spaced), case(Array((0, 3)), reference=_evenly_spaced)],
    # products of matrices that need an inverse
    "linalg_inv": [case(SQUARE, reference=np.linalg.inv), case(Array((2, 3, 3), diagonal=4.0), reference=np.linalg.inv)],
    "matrix_power": [case(SQUARE, n, reference=np.linalg.matrix_power) for n in (0, 1, 3, -2)],
}
