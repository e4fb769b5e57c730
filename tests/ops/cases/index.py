"""Cases for the entries of ops/index.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, Fixed, case, index, mask

A = Array((3, 4))
DISTINCT = Array((3, 4), distinct=True)
SMALL = Array((2, 4))
COLUMNS = index([[0, 2, 1], [3, 3, 0], [1, 0, 2]])
ROWS = index([2, 0])
MASK = mask([[True, False, True, False], [False, False, True, True], [True, True, False, False]])


def _added(x, d, i, s):
    x = x.copy()
    np.add.at(x, i, s)
    return x


def _copied(x, d, i, s):
    x = x.copy()
    x[i] = s
    return x


def _filled(x, d, i, v):
    x = x.copy()
    x[i] = v
    return x


_FOLDS = {"add": np.add, "multiply": np.multiply}


def _scattered(x, d, i, s, reduce):
    x, s = x.copy(), np.broadcast_to(s, i.shape)
    for at in np.ndindex(i.shape):
        to = (at[0], i[at])
        x[to] = _FOLDS[reduce](x[to], s[at])
    return x


SQUARE4 = Array((4, 4))
SQUARE, MATRICES = Array((3, 3)), Array((2, 3, 3))

CASES = {
    "gather": [case(A, 1, COLUMNS, reference=lambda x, d, i: np.take_along_axis(x, i, d))],
    "take_along_dim": [case(A, COLUMNS, 1, reference=np.take_along_axis)],
    "take": [case(A, index([0, 5, 11, -1]), reference=np.take)],
    "index_select": [case(A, d, i, reference=lambda x, d, i: np.take(x, i, d)) for d, i in ((0, ROWS), (1, index([3, 3])))],
    "index": [case(A, [ROWS, index([1, 3])], reference=lambda x, i: x[i[0], i[1]]), case(A, [None, ROWS], reference=lambda x, i: x[:, i[1]])],
    "index_add": [case(A, 0, ROWS, SMALL, reference=_added), case(A, 0, index([1, 1]), SMALL, reference=_added)],
    "index_copy": [case(A, 0, ROWS, SMALL, reference=_copied)],
    "fill_diagonal": [case(Array((3, 4)), 0.5), case(Array((7, 2)), 2, True), case(Array((3, 3, 3)), 0.0), case(Array((5, 2)), 1.0)],
    "index_fill.int_Scalar": [case(A, 0, ROWS, 1, reference=_filled)],
    "index_fill.int_Tensor": [case(A, 0, ROWS, Array(()), reference=_filled)],
    "index_put": [case(A, [ROWS, index([1, 3])], Array((2,))), case(A, [index([1, 1])], SMALL, True)],
    "index_reduce": [case(A, 0, ROWS, SMALL, "amax", real_only=True)],
    "scatter.value": [case(A, 1, index([[0], [2], [1]]), 1)],
    "scatter.src": [case(A, 1, index([[0], [2], [1]]), Array((3, 1)))],
    "scatter.reduce": [case(A, 1, COLUMNS, Array((3, 3)), reduce=r, reference=_scattered) for r in _FOLDS],
    "scatter.value_reduce": [case(A, 1, COLUMNS, 2, reduce=r, reference=_scattered) for r in _FOLDS],
    "scatter_add": [case(A, 1, COLUMNS, Array((3, 3)))],
    "scatter_reduce": [case(A, 1, COLUMNS, Array((3, 3)), "sum"),
                       case(DISTINCT, 1, COLUMNS, Array((3, 3), distinct=True, low=-1.9), "mean", real_only=True)],
    "masked_fill.Scalar": [case(A, MASK, 1, reference=lambda x, m, v: np.where(m, np.asarray(v, x.dtype), x))],
    "masked_fill.Tensor": [case(A, MASK, Array(()), reference=lambda x, m, v: np.where(m, v, x))],
    "masked_select": [case(A, MASK, reference=lambda x, m: x[m])],
    "masked_scatter": [case(A, MASK, Array((8,)))],
    "put": [case(A, index([0, 5]), Array((2,)))],
    "nonzero": [case(A, reference=np.argwhere)],
    "nonzero.numpy": [case(A, as_tuple=True, reference=lambda x, as_tuple: np.nonzero(x)), case(mask([[True, False], [True, True]]), as_tuple=True)],
    "argwhere": [case(A, reference=np.argwhere)],
    "one_hot": [case(index([0, 2, 1]), reference=lambda i: np.eye(3)[i])],
    "unravel_index": [case(index([0, 5, 11]), [3, 4], reference=np.unravel_index)],
    "where.condition": [case(MASK, reference=np.nonzero)],
    "diagonal_scatter": [case(SQUARE4, Array((4,)))],
    "select_scatter": [case(A, Array((4,)), 0, 1)],
    "slice_scatter": [case(A, Array((2, 4)), 0, 1, 3)],
    "as_strided_scatter": [case(SQUARE, Array((2, 2)), [2, 2], [3, 1], 0)],
    "nonzero_static": [case(Fixed([0, 3, 4], "int64"), size=3, reference=lambda x, size: np.array([[1], [2], [-1]]))],
    "view_alias": [case(A, reference=np.copy)],
}
EXCEPT = {
    "argwhere": dict.fromkeys(("first_derivative", "second_derivative", "forward_mode"), "a composite whose result is integers"),
}
