"""Sparse matrices from diagonals."""

from __future__ import annotations

import undertow
from undertow.sparse._convert import coo_from, to_layout
from undertow.sparse._parts import COO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """Return a sparse matrix with `diagonals[i]` along the diagonal `offsets[i]`; element j of a diagonal is in column j.

    >>> import undertow as ut
    >>> ut.sparse.spdiags(ut.tensor([[1, 2], [3, 4]]), ut.tensor([0, 1]), (2, 2)).to_dense()
    tensor([[1, 4],
            [0, 2]])
    """
    if layout not in (None, COO, undertow.sparse_csr, undertow.sparse_csc):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}")
    if len(shape) != 2:
        raise RuntimeError(f"Output shape must be 2d, got {len(shape)} dimensions")
    if diagonals.dim() > 2:
        raise RuntimeError(f"Diagonals must be vector or matrix, got {diagonals.dim()} dimensions")
    if offsets.dim() > 1:
        raise RuntimeError(f"Offsets must be scalar or vector, got {offsets.dim()} dimensions")
    diagonals, offsets = undertow.atleast_2d(diagonals), undertow.atleast_1d(offsets)
    if diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets ({offsets.shape[0]})")
    if undertow.unique(offsets).shape[0] != offsets.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    column = undertow.arange(diagonals.shape[1]).expand(diagonals.shape)
    row = column - offsets[:, None]
    inside = (row >= 0) & (row < shape[0]) & (column < shape[1])
    out = coo_from(undertow.stack([row[inside], column[inside]]), diagonals[inside], tuple(shape))
    return out if layout in (None, COO) else to_layout(out, layout, out)
