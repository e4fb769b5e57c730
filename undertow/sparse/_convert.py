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
    at_version_0,
    batch_dim,
    block_of,
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
        saves=False,
    )


def values_at(t: Tensor, indices: Tensor) -> Tensor:
    """Return the values of a strided or sparse tensor at `indices`, which index its first dimensions."""
    if not is_sparse(t):
        return t[tuple(indices)] if indices.shape[0] else t.expand(indices.shape[1], *t.shape)
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
        raise RuntimeError(f"coalesce expected sparse coordinate tensor layout but got {title(t.layout)}")
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

    return record("ValuesBackward0", lambda x: values_of(x).view_as(values_of(x)), lambda g, x: (lambda: from_values(x, g),), t)


def from_values(t: Tensor, values: Tensor) -> Tensor:
    """Return a tensor that has the indices of `t` and other values, with the history of `values`."""
    layout, indices, plain, _, coalesced = _C._sparse_parts(t)
    if layout is COO:
        return coo_from(indices, values, t.shape, coalesced)
    return compressed_from(layout, indices, plain, values, t.shape)


def values_where(g: Tensor, t: Tensor) -> Tensor:
    """Return the values of `g` at the indices of `t`, in the shape of the values of `t`."""
    layout, indices, plain, old, _ = _C._sparse_parts(t)
    if layout is COO:
        return values_at(g, indices)
    if g.layout is layout and indices_of(g).data_ptr() == indices.data_ptr() and values_of(g).shape == old.shape:
        return values(g)  # the same indices
    return values_like(g, layout, indices, plain, t.shape, old.shape)


def compressed_from(layout: Any, compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int]) -> Tensor:
    """Return a compressed tensor with the history of `values`."""
    shape = values.shape
    return record(
        "SparseCompressedTensorBackward0",
        lambda v: make_compressed(layout, compressed, plain, v.resolve_conj(), size),
        lambda g, v: (lambda: values_like(g, layout, compressed, plain, size, shape),),
        values,
        saves=False,
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
        out = values.new_zeros(x.shape)  # not a view, which could not be written later
        flat = out.view(prod(dims), *values.shape[1:])
        if values.dtype is undertow.bool:
            counts = undertow.zeros_like(flat, dtype=undertow.int32)
            flat.copy_(counts.index_add_(0, positions(indices, dims), values.int()))
        else:
            flat.index_add_(0, positions(indices, dims), values)
        return at_version_0(out)

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

    sparse = is_sparse(t)

    def gradient(g: Tensor) -> Tensor:
        g = sparse_mask(g, mask)  # a gradient may have values at other indices
        return g if sparse else to_dense(g)

    return record("SparseMaskBackward0", compute, lambda g, x: (lambda: gradient(g),), t, saves=False)


def dense_to_coo(t: Tensor, sparse_dim: int | None = None) -> Tensor:
    """Return the nonzero elements of a strided tensor, or its nonzero slices along the first `sparse_dim` dimensions."""
    dims = t.dim() if sparse_dim is None else sparse_dim
    if t.dim() and not 0 < dims <= t.dim() or not t.dim() and dims:
        where = "in >0 when self.dim()>0" if dims == 0 else f"in [0,{t.dim()}] range, but {dims} is given"
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be {where}")

    def compute(x: Tensor) -> Tensor:
        x = x.resolve_conj().resolve_neg()
        nonzero = x != 0
        if dims < x.dim():
            nonzero = nonzero.flatten(dims).any(-1)
        indices = nonzero.nonzero().t().contiguous() if dims else x.new_zeros(0, int(bool(x)), dtype=undertow.int64)
        return make_coo(indices, values_at(x, indices)[: indices.shape[1]], x.shape, True)

    name = "ToSparseBackward1" if sparse_dim is None else "ToSparseBackward0"
    return record(name, compute, lambda g, x: (lambda: to_dense(g),), t, saves=False)


def _coo_indices(t: Tensor) -> Tensor:
    """Return the indices of a compressed tensor's values, batch by batch; for blocks, of all their elements, block by block."""
    layout, compressed, plain, values, _ = _C._sparse_parts(t)
    batch = compressed.shape[:-1]
    if not plain.numel():
        return plain.new_zeros(len(batch) + 2, 0, dtype=undertow.int64)
    counts = compressed.diff().reshape(-1).to(undertow.int64)
    lines = undertow.arange(compressed.shape[-1] - 1, dtype=undertow.int64, device=counts.device)
    outer = lines.repeat(prod(batch)).repeat_interleave(counts)
    inner = plain.reshape(-1).to(undertow.int64)
    row, col = (outer, inner) if layout in BY_ROWS else (inner, outer)
    per_value = 1
    if layout in BLOCKED:
        height, width = block_of(t)  # type: ignore[misc]
        per_value = height * width
        steps = undertow.arange(per_value, dtype=undertow.int64, device=row.device)
        row = (row[:, None] * height + steps // max(width, 1)).reshape(-1)
        col = (col[:, None] * width + steps % max(width, 1)).reshape(-1)
    if not batch:
        return undertow.stack([row, col])
    which = undertow.arange(prod(batch), device=row.device).repeat_interleave(plain.shape[-1] * per_value)
    return undertow.cat([unravel(which, batch), row[None], col[None]])


def to_coo(t: Tensor, *, strided_grad: bool = False) -> Tensor:
    """Return a sparse tensor of any layout in COO layout. Batch dimensions become sparse ones.

    With `strided_grad=True` a gradient that is strided stays so; otherwise it gets the layout of `t`.
    """
    if t.layout is COO:
        return t

    def compute(x: Tensor) -> Tensor:
        values, blocked = values_of(x), x.layout in BLOCKED
        first = batch_dim(x) + 1 + 2 * blocked
        return make_coo(
            _coo_indices(x), values.reshape(prod(values.shape[:first]), *values.shape[first:]), x.shape, x.layout in BY_ROWS and not blocked
        )

    def gradient(g: Tensor, x: Tensor) -> Tensor:
        return g if strided_grad and not is_sparse(g) else _like_pattern(g, x)

    return record("ToSparseBackward0", compute, lambda g, x: (lambda: gradient(g, x),), t)


def _like_pattern(g: Tensor, x: Tensor) -> Tensor:
    """Return a gradient in the layout of `x`. In a batch every matrix has equally many values, so there it has those of `x`."""
    return from_values(x, values_where(g, x)) if batch_dim(x) else to_layout(g, x.layout, x)


def to_compressed(t: Tensor, layout: Any, blocksize: Sequence[int] | None = None, dense_dim: int | None = None) -> Tensor:
    """Return the matrix, or the batch of matrices, in a compressed layout."""
    source, target = title(t.layout), title(layout)
    verb = "to_sparse_" + target.removeprefix("Sparse").lower()
    if dense_dim is not None and is_sparse(t):
        raise RuntimeError(f"{verb}: conversion from {source} to {target} with dense_dim argument given is not supported")
    if t.layout is layout and (blocksize is None or block_of(t) == tuple(blocksize)):
        return t
    if t.layout is COO and indices_of(t).shape[0] != 2:
        raise RuntimeError(f"coo_{verb}: conversion from {source} to {target} for input tensors with sparse_dim()!=2 is not supported")
    batch = batch_dim(t) if is_sparse(t) else t.dim() - 2 - (dense_dim or 0)
    if batch < 0 or dense_dim is not None and dense_dim < 0:
        given = f"dense_dim={dense_dim} argument" if dense_dim is not None else f"{t.dim()} dimensions"
        raise RuntimeError(f"{verb}: conversion from {source} to {target} expects at least two dimensions that are not dense, got {given}")
    if is_sparse(t) and batch and layout in BLOCKED and t.layout not in BLOCKED:
        raise RuntimeError(f"sparse_compressed_{verb}: conversion from {source} to {target} for batched inputs is not supported")
    rows, columns = t.shape[batch : batch + 2]
    if layout in BLOCKED:
        if blocksize is None or blocksize[0] <= 0 or blocksize[1] <= 0:
            raise RuntimeError(f"{verb}: blocksize needs to be positive, but got {blocksize}")
        if rows % blocksize[0] or columns % blocksize[1]:
            raise RuntimeError(f"{verb}: tensor sparse size ({rows}, {columns}) must be divisible by given blocksize {tuple(blocksize)}")

    def compute(x: Tensor) -> Tensor:
        of_indices = indices_of(x).dtype if is_sparse(x) else undertow.int64
        x = coalesce(to_coo(x)) if is_sparse(x) else dense_to_coo(x, batch + 2)
        return _compressed(x, layout, blocksize, batch, of_indices)

    return record(f"To{target}Backward0", compute, lambda g, x: (lambda: to_dense(g) if x is None else _like_pattern(g, x),), t, saves=is_sparse(t))


def _compressed(x: Tensor, layout: Any, blocksize: Sequence[int] | None, batch: int, of_indices: Any) -> Tensor:
    """Return a coalesced COO tensor, whose first `batch` dimensions are batch dimensions, in a compressed layout with indices of a dtype.

    The result has no history.
    """
    indices, values, sizes = indices_of(x), values_of(x), x.shape[:batch]
    which = positions(indices[:batch], sizes) if batch else indices.new_zeros(indices.shape[1])
    lines = list(indices[batch:])
    counts = list(x.shape[batch : batch + 2])
    if layout in BLOCKED:
        height, width = blocksize  # type: ignore[misc]  # checked by the caller
        inside = (lines[0] % height) * width + lines[1] % width
        lines, counts = [lines[0] // height, lines[1] // width], [counts[0] // height, counts[1] // width]
    if layout not in BY_ROWS:
        lines, counts = lines[::-1], counts[::-1]
    if not indices.shape[1]:
        bounds = indices.new_zeros(*sizes, counts[0] + 1, dtype=of_indices)
        none = values.new_zeros(*sizes, 0, *(blocksize or ()), *values.shape[1:])
        return make_compressed(layout, bounds, bounds.new_zeros(*sizes, 0), none, x.shape)
    keys = positions(undertow.stack([which, *lines]), [prod(sizes), *counts])
    if layout in BLOCKED:
        keys, where = undertow.unique(keys, return_inverse=True)
        which, *lines = unravel(keys, [prod(sizes), *counts])
        blocks = values.new_zeros(keys.shape[0] * height * width, *values.shape[1:])
        values = blocks.index_add_(0, where * (height * width) + inside, values).reshape(keys.shape[0], height, width, *values.shape[1:])
    elif layout not in BY_ROWS:
        order = keys.argsort(stable=True)
        which, lines, values = which[order], [line[order] for line in lines], values[order]
    per_line = undertow.bincount(which * counts[0] + lines[0], minlength=prod(sizes) * counts[0]).reshape(*sizes, counts[0])
    bounds = undertow.nn.functional.pad(per_line.cumsum(-1), (1, 0))
    ends = bounds[..., -1].reshape(-1)
    nnz = int(ends[0]) if ends.shape[0] else 0
    if bool((ends != nnz).any()):
        raise RuntimeError("Expect the same number of specified elements per batch.")
    plain = lines[1].reshape(*sizes, nnz).to(of_indices)
    return make_compressed(layout, bounds.to(of_indices), plain, values.reshape(*sizes, nnz, *values.shape[1:]), x.shape)


def all_specified(t: Tensor) -> Tensor:
    """Return the tensor, without history, with values at all of its indices; those that `t` does not specify are zero."""
    plain = to_coo(t.detach())
    size = plain.shape[: indices_of(plain).shape[0]]
    indices = unravel(undertow.arange(prod(size), device=t.device), size)
    full = make_coo(indices, to_dense(plain).reshape(prod(size), *plain.shape[len(size) :]), plain.shape, True)
    return full if t.layout is COO else _compressed(full, t.layout, block_of(t), batch_dim(t), indices_of(t).dtype)


def to_layout(t: Tensor, layout: Any, like: Tensor) -> Tensor:
    """Return `t` in a layout; block sizes and the number of sparse dimensions are those of `like`."""
    if t.layout is layout:
        return t
    if layout is _C.strided:
        return to_dense(t)
    if layout is COO:
        return to_coo(t) if is_sparse(t) else dense_to_coo(t, indices_of(like).shape[0])
    block, batch = block_of(like), batch_dim(like)
    if not batch and t.dim() == 2:
        return to_compressed(t, layout, block)
    dense = t.dim() - batch - 2

    def compute(x: Tensor) -> Tensor:
        x = coalesce(to_coo(x)) if is_sparse(x) else dense_to_coo(x, x.dim() - dense)
        return _compressed(x, layout, block, batch, indices_of(like).dtype)

    name = f"ToSparse{title(like.layout).removeprefix('Sparse')}Backward0"
    sparse = is_sparse(t)
    return record(name, compute, lambda g, x: (lambda: to_coo(g) if sparse else to_dense(g),), t, saves=False)
