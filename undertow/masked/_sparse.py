"""Reductions of sparse tensors that ignore masked elements. An unmasked element without a value is a zero; results are sparse as well.

A result has a value for each slice with an unmasked element. If everything is reduced, it has one unless that is zero.
"""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.sparse._convert import coalesce, coo_from, dense_to_coo, sparse_mask, to_coo, to_dense, to_layout
from undertow.sparse._parts import indices_of, positions, unravel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    Name = Literal["sum", "prod", "amax", "amin", "mean"]


def reduced(name: Name, input: Tensor, dims: Sequence[int], keepdim: bool, inside: Tensor | None, of_none: float) -> Tensor:
    """Return the sum, product, maximum, minimum or mean over `dims` of the elements where `inside`, a strided mask, is True.

    `of_none` is the result if everything is reduced and there is no such element.
    """
    layout = input.layout
    accepted = (undertow.sparse_csr,) if name == "mean" else (undertow.sparse_coo, undertow.sparse_csr)
    if layout not in accepted:
        raise ValueError(f"masked {name} expects strided or {' or '.join(str(a).rpartition('.')[2] for a in accepted)} tensor (got {layout} tensor)")
    if inside is None and name != "sum":
        raise ValueError(f"masked {name} expects explicit mask for {str(layout).rpartition('.')[2]} tensor input")
    if layout is undertow.sparse_csr and not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    x = to_coo(input)
    if inside is None:
        x = coalesce(x if indices_of(x).shape[0] == x.dim() else to_dense(x).to_sparse())
    else:
        x = sparse_mask(x, dense_to_coo(inside))
    out = _over(name, x, dims, keepdim, of_none)
    return out if layout is undertow.sparse_coo else to_layout(out, layout, input.detach())


def _over(name: Name, x: Tensor, dims: Sequence[int], keepdim: bool, of_none: float) -> Tensor:
    """Reduce the values of a COO tensor without dense dimensions."""
    at, values = indices_of(x), x.values()
    kept = [d for d in range(x.dim()) if d not in dims]
    size = [x.shape[d] for d in kept]
    groups, where = undertow.unique(positions(at[kept], size), return_inverse=True)
    none = values.new_zeros(groups.shape[0])
    total = none.index_add(0, where, values) if name == "sum" else none.scatter_reduce(0, where, values, name, include_self=False)
    shape = [1 if d in dims else n for d, n in enumerate(x.shape)] if keepdim else size
    if not kept:
        whole = total[0] if total.shape[0] else total.new_full((), of_none)
        return dense_to_coo(whole.reshape(shape))
    rows = unravel(groups, size)
    if keepdim:
        rows = rows.new_zeros(x.dim(), rows.shape[1]).index_copy(0, undertow.tensor(kept), rows)
    return coo_from(rows, total, shape, True)
