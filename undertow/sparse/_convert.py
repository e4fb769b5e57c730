"""Conversions: between layouts, to and from strided tensors, coalescing, and reading the values at given indices.

All of them are differentiable. A gradient of a sparse tensor has that tensor's layout, as in torch.
"""

from __future__ import annotations

from math import prod

import undertow
from undertow import _C
from undertow.sparse._parts import (
    BLOCKED,
    BY_ROWS,
    COO,
    indices_of,
    is_coalesced,
    is_sparse,
    make_compressed,
    make_coo,
    positions,
    record,
    title,
    unravel,
    values_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor


def coo_from(indices: Tensor, values: Tensor, size: Sequence[int], coalesced: bool = False) -> Tensor:
    """Return a COO tensor with the history of `values`."""
    return record(
        "SparseCooTensorWithDimsAndTensorsBackward0",
        lambda v: make_coo(indices, v.resolve_conj(), size, coalesced),
        lambda g, v: (lambda: values_at(g, indices),),
        values,
    )


def values_at(t: Tensor, indices: Tensor) -> Tensor:
    """Return the values of a strided or sparse tensor at `indices`, which index its first dimensions."""
    if not is_sparse(t):
        return t[tuple(indices)] if indices.shape[0] else t.unsqueeze(0)
    t = coalesce(to_coo(t))
    own, size = indices_of(t), t.shape[: indices.shape[0]]
    if own.shape[0] != indices.shape[0]:
        return values_at(to_dense(t), indices)

    def look_up(x: Tensor) -> Tensor:
        values = values_of(x)
        if not values.shape[0]:
            return values.new_zeros(indices.shape[1], *values.shape[1:])
        keys, wanted = positions(own, size), positions(indices, size)
        at = undertow.searchsorted(keys, wanted).clamp_(max=keys.shape[0] - 1)
        found = (keys[at] == wanted).reshape(-1, *(1,) * (values.dim() - 1))
        return values[at] * found

    return record("SparseMaskHelperBackward0", look_up, lambda g, x: (lambda: coo_from(indices, g, x.shape),), t)


def summed(indices: Tensor, values: Tensor, size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return sorted indices without duplicates, and the sums of the values."""
    dims = size[: indices.shape[0]]
    if prod(dims) >= 2**63:
        raise RuntimeError(f"coalesce: sparse dimensions {list(dims)} have more than 2**63 elements")
    flat, where = undertow.unique(positions(indices, dims), return_inverse=True)
    total = values.new_zeros(flat.shape[0], *values.shape[1:])
    if values.dtype is undertow.bool:
        total = total.int().index_add_(0, where, values.int()).bool()
    else:
        total.index_add_(0, where, values)
    return unravel(flat, dims), total


def coalesce(t: Tensor) -> Tensor:
    """Return the tensor itself if it is coalesced, otherwise with the values of equal indices summed."""
    if t.layout is not COO:
        raise RuntimeError(f"coalesce expected sparse coordinate tensor layout but got {title(t)}")
    if is_coalesced(t):
        return t

    def compute(x: Tensor) -> Tensor:
        indices, values = indices_of(x), values_of(x)
        if indices.shape[1] > 1:
            indices, values = summed(indices, values, x.shape)
        return make_coo(indices.clone(), values.clone(), x.shape, True)

    return record("CoalesceBackward0", compute, lambda g, x: (lambda: g,), t)


def values(t: Tensor) -> Tensor:
    """Return the values of a coalesced COO tensor or of a compressed tensor, with history."""
    if not is_sparse(t):
        raise RuntimeError("values expected sparse tensor layout but got Strided")
    if t.layout is COO and not is_coalesced(t):
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")

    def gradient(g: Tensor, x: Tensor) -> Tensor:
        layout, indices, plain, _, _ = _C._sparse_parts(x)
        if layout is COO:
            return coo_from(indices, g, x.shape, True)
        return compressed_from(layout, indices, plain, g, x.shape)

    return record("ValuesBackward0", lambda x: values_of(x).view_as(values_of(x)), lambda g, x: (lambda: gradient(g, x),), t)


def compressed_from(layout: Any, compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int]) -> Tensor:
    """Return a compressed tensor with the history of `values`."""
    return record(
        "SparseCompressedTensorBackward0",
        lambda v: make_compressed(layout, compressed, plain, v.resolve_conj(), size),
        lambda g, v: (lambda: values_like(g, layout, compressed, plain, size, v.shape),),
        values,
    )


def values_like(g: Tensor, layout: Any, compressed: Tensor, plain: Tensor, size: Sequence[int], shape: Sequence[int]) -> Tensor:
    """Return the values of `g` at the places of a compressed tensor's values, which have this shape."""
    pattern = make_compressed(layout, compressed, plain, compressed.new_ones(shape), size)
    return values_at(g, _coo_indices(pattern)).reshape(shape)


def to_dense(t: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return the strided tensor. With `masked_grad=False` the gradient is not restricted to this tensor's indices."""
    if not is_sparse(t):
        return t if dtype is None else t.to(dtype)
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")

    def compute(x: Tensor) -> Tensor:
        x = to_coo(x)
        indices, values = indices_of(x), values_of(x)
        dims = x.shape[: indices.shape[0]]
        out = values.new_zeros(prod(dims), *values.shape[1:])
        if values.dtype is undertow.bool:
            out[positions(indices, dims)[values]] = True
        else:
            out.index_add_(0, positions(indices, dims), values)
        return out.reshape(x.shape)

    def gradient(g: Tensor, x: Tensor) -> Tensor:
        if masked_grad is False:
            return to_layout(g, x.layout, x)
        return sparse_mask(g, x if x.layout is not COO else coalesce(x.detach()))

    return record("ToDenseBackward0", compute, lambda g, x: (lambda: gradient(g, x),), t)


def sparse_mask(t: Tensor, mask: Tensor) -> Tensor:
    """Return the values of `t` at the indices of `mask`, in the layout of `mask`."""
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask(): mask must be sparse")
    if t.shape != mask.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(t.shape)} but mask has size {list(mask.shape)}")
    layout, indices, plain, old, coalesced = _C._sparse_parts(mask)

    def compute(x: Tensor) -> Tensor:
        if layout is not COO:
            return make_compressed(layout, indices, plain, values_like(x, layout, indices, plain, mask.shape, old.shape), mask.shape)
        return make_coo(indices, values_at(x, indices), mask.shape, coalesced)

    def gradient(g: Tensor, x: Tensor) -> Tensor:
        g = g if is_sparse(g) else sparse_mask(g, mask)
        return g if is_sparse(x) else to_dense(g)

    return record("SparseMaskBackward0", compute, lambda g, x: (lambda: gradient(g, x),), t)


def dense_to_coo(t: Tensor, sparse_dim: int | None = None) -> Tensor:
    """Return the nonzero elements of a strided tensor, or its nonzero slices along the first `sparse_dim` dimensions."""
    dims = t.dim() if sparse_dim is None else sparse_dim
    if t.dim() and not 0 < dims <= t.dim() or not t.dim() and dims:
        raise RuntimeError(f"sparse_dim must be in the range [{min(1, t.dim())}, {t.dim()}] for tensors of {t.dim()} dimensions, but got {dims}")

    def compute(x: Tensor) -> Tensor:
        x = x.resolve_conj().resolve_neg()
        nonzero = x != 0
        if dims < x.dim():
            nonzero = nonzero.flatten(dims).any(-1)
        indices = nonzero.nonzero().t().contiguous() if dims else x.new_zeros(0, int(bool(x)), dtype=undertow.int64)
        return make_coo(indices, values_at(x, indices)[: indices.shape[1]], x.shape, True)

    name = "ToSparseBackward1" if sparse_dim is None else "ToSparseBackward0"
    return record(name, compute, lambda g, x: (lambda: to_dense(g),), t)


def _bounds(sorted_rows: Tensor, count: int) -> Tensor:
    """Return where each of `count` rows starts among the sorted rows, and the end."""
    sizes = undertow.bincount(sorted_rows, minlength=count)
    return undertow.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def _coo_indices(t: Tensor) -> Tensor:
    """Return the (2, nnz) indices of a compressed tensor's values; for blocks, of all their elements, block by block."""
    layout, compressed, plain, values, _ = _C._sparse_parts(t)
    if compressed.dim() != 1:
        raise NotImplementedError(f"{title(t)} tensors with batch dimensions have no sparse rules; use to_dense()")
    counts = compressed.diff().to(undertow.int64)
    outer = undertow.arange(counts.shape[0], dtype=undertow.int64, device=counts.device).repeat_interleave(counts)
    inner = plain.to(undertow.int64)
    row, col = (outer, inner) if layout in BY_ROWS else (inner, outer)
    if layout in BLOCKED:
        height, width = values.shape[1:3]
        steps = undertow.arange(height * width, dtype=undertow.int64, device=row.device)
        row = (row[:, None] * height + steps // width).reshape(-1)
        col = (col[:, None] * width + steps % width).reshape(-1)
    return undertow.stack([row, col])


def to_coo(t: Tensor) -> Tensor:
    """Return a sparse tensor of any layout in COO layout."""
    if t.layout is COO:
        return t

    def compute(x: Tensor) -> Tensor:
        values = values_of(x)
        if x.layout in BLOCKED:
            return _sorted(_coo_indices(x), values.reshape(-1, *values.shape[3:]), x.shape)
        return _sorted(_coo_indices(x), values, x.shape) if x.layout not in BY_ROWS else make_coo(_coo_indices(x), values, x.shape, True)

    return record("ToSparseBackward0", compute, lambda g, x: (lambda: to_layout(g, x.layout, x),), t)


def _sorted(indices: Tensor, values: Tensor, size: Sequence[int]) -> Tensor:
    order = positions(indices, size).argsort(stable=True)
    return make_coo(indices[:, order], values[order], size, True)


def to_compressed(t: Tensor, layout: Any, blocksize: Sequence[int] | None = None) -> Tensor:
    """Return the matrix in a compressed layout."""
    short = title(t)
    target = {undertow.sparse_csr: "csr", undertow.sparse_csc: "csc", undertow.sparse_bsr: "bsr", undertow.sparse_bsc: "bsc"}[layout]
    if t.layout is layout and (blocksize is None or tuple(values_of(t).shape[1:3]) == tuple(blocksize)):
        return t
    if t.dim() < 2 or t.layout is COO and indices_of(t).shape[0] != 2:
        if t.layout is COO:
            what = f"coo_to_sparse_{target}: conversion from {short} to Sparse{target.title()}"
            raise RuntimeError(f"{what} for input tensors with sparse_dim()!=2 is not supported")
        raise RuntimeError(f"to_sparse_{target}: conversion from {short} to Sparse{target.title()} is for matrices, got {t.dim()} dimensions")
    if layout in BLOCKED and (blocksize is None or t.shape[0] % blocksize[0] or t.shape[1] % blocksize[1]):
        raise RuntimeError(f"to_sparse_{target}: tensor sparse size ({t.shape[0]}, {t.shape[1]}) must be divisible by given blocksize {blocksize}")

    def compute(x: Tensor) -> Tensor:
        x = coalesce(to_coo(x)) if is_sparse(x) else dense_to_coo(x, 2)
        (row, col), values = indices_of(x), values_of(x)
        if layout in BLOCKED:
            height, width = blocksize  # type: ignore[misc]  # checked above
            inside = (row % height) * width + col % width
            keys = undertow.stack([row // height, col // width])
            if layout not in BY_ROWS:
                keys = keys.flip(0)
            counts = (x.shape[0] // height, x.shape[1] // width)
            counts = counts if layout in BY_ROWS else counts[::-1]
            flat, where = undertow.unique(positions(keys, counts), return_inverse=True)
            outer, inner = unravel(flat, counts)
            blocks = values.new_zeros(flat.shape[0] * height * width, *values.shape[1:])
            blocks.index_add_(0, where * (height * width) + inside, values)
            return make_compressed(layout, _bounds(outer, counts[0]), inner, blocks.reshape(-1, height, width, *values.shape[1:]), x.shape)
        if layout not in BY_ROWS:
            order = (col * x.shape[0] + row).argsort(stable=True)
            return make_compressed(layout, _bounds(col, x.shape[1]), row[order], values[order], x.shape)
        return make_compressed(layout, _bounds(row, x.shape[0]), col, values, x.shape)

    name = f"ToSparse{target.title()}Backward0"
    return record(name, compute, lambda g, x: (lambda: to_layout(g, x.layout, x),), t)


def to_layout(t: Tensor, layout: Any, like: Tensor) -> Tensor:
    """Return `t` in a layout; block sizes and the number of sparse dimensions are those of `like`."""
    if t.layout is layout:
        return t
    if layout is _C.strided:
        return to_dense(t)
    if layout is COO:
        return to_coo(t) if is_sparse(t) else dense_to_coo(t, indices_of(like).shape[0])
    return to_compressed(t, layout, tuple(values_of(like).shape[1:3]) if layout in BLOCKED else None)
