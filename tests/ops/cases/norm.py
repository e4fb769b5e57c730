"""Cases for the entries of ops/norm.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, case

A = Array((3, 4))
B = Array((2, 3, 4))


def _axes(dim):
    return None if dim is None else tuple(dim)


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


NONZERO = Array((3, 4), -1.6, 2.0, distinct=True)  # absolute values are distinct too

CASES = {
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
}
