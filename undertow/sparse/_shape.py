"""Rules of views and indexing: transposes, added and removed dimensions, slices, index_select, cat and stack. None of them shares memory."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow.sparse._convert import coalesce, coo_from, from_values, to_coo, to_dense, values_at, values_where
from undertow.sparse._dispatch import rule
from undertow.sparse._elementwise import alias
from undertow.sparse._parts import (
    BLOCKED,
    BSC,
    BSR,
    COO,
    CSC,
    CSR,
    batch_dim,
    indices_of,
    is_coalesced,
    is_sparse,
    make_compressed,
    make_coo,
    matches,
    record,
    values_of,
    wrapped_dim,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor

_FLIPPED = {CSR: CSC, CSC: CSR, BSR: BSC, BSC: BSR}


def permute(t: Tensor, dims: Sequence[int], name: str = "PermuteBackward0") -> Tensor:
    """Return the tensor with its dimensions in another order; sparse and dense dimensions do not mix."""
    dims = tuple(wrapped_dim(d, t.dim()) for d in dims)
    if len(dims) != t.dim():
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. "
            f"input.dim() = {t.dim()} is not equal to len(dims) = {len(dims)}"
        )
    if len(set(dims)) != len(dims):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    sparse = indices_of(t).shape[0]
    outer, inner = dims[:sparse], dims[sparse:]
    if sorted(outer) != list(range(sparse)):
        raise RuntimeError(f"permute(sparse_coo): cannot mix sparse and dense dimensions, got dims = {list(dims)} for {sparse} sparse dimensions")
    back = sorted(range(len(dims)), key=dims.__getitem__)

    def compute(x: Tensor) -> Tensor:
        v = values_of(x).permute(0, *(d - sparse + 1 for d in inner)) if inner else values_of(x)
        moved = outer != tuple(range(sparse))
        return make_coo(indices_of(x)[list(outer)] if moved else indices_of(x), v, [x.shape[d] for d in dims], is_coalesced(x) and not moved)

    return record(name, compute, lambda g, x: (lambda: g.permute(back),), t)


@rule("permute")
def permute_rule(op: Any, args: list[Any]) -> Any:
    return permute(args[0], args[1])


@rule("transpose", every_layout=True)
def transpose_rule(op: Any, args: list[Any]) -> Any:
    return _transpose(args[0], args[1], args[2], "TransposeBackward0")


def _transpose(t: Tensor, a: int, b: int, name: str) -> Tensor:
    a, b = wrapped_dim(a, t.dim()), wrapped_dim(b, t.dim())
    if t.layout is COO:
        dims = list(range(t.dim()))
        if t.dim():
            dims[a], dims[b] = b, a
        return permute(t, dims, name)
    if a == b:
        return t
    first, blocked = batch_dim(t), t.layout in BLOCKED
    kinds = ["Batch" if d < first else "Sparse" if d < first + 2 else "Dense" for d in (a, b)]
    if kinds[0] != kinds[1]:
        says = f"got {a}({kinds[0]}) and {b}({kinds[1]})"
        raise RuntimeError(f"transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), {says}")
    shape = list(t.shape)
    shape[a], shape[b] = shape[b], shape[a]

    def compute(x: Tensor) -> Tensor:
        layout, compressed, plain, v, _ = _C._sparse_parts(x)
        if kinds[0] == "Batch":
            compressed, plain, v = (part.transpose(a, b).contiguous() for part in (compressed, plain, v))
            return make_compressed(layout, compressed, plain, v, shape)
        if kinds[0] == "Dense":
            shift = 2 * blocked - 1  # of the values: one dimension replaces the two sparse ones, before those of the blocks
            return make_compressed(layout, compressed, plain, v.transpose(a + shift, b + shift), shape)
        v = v.transpose(first + 1, first + 2).contiguous() if blocked else v
        return make_compressed(_FLIPPED[layout], compressed, plain, v, shape)

    return record(name, compute, lambda g, x: (lambda: g.transpose(a, b),), t)


@rule("t", every_layout=True)
def t_rule(op: Any, args: list[Any]) -> Any:
    t = args[0]
    if t.layout is COO:
        sparse, dense = indices_of(t).shape[0], values_of(t).dim() - 1
        if sparse > 2 or dense:
            raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {sparse} sparse and {dense} dense dimensions")
    return t if t.dim() < 2 else _transpose(t, 0, 1, "TBackward0")


@rule("unsqueeze")
def unsqueeze_rule(op: Any, args: list[Any]) -> Any:
    t, d = args[0], wrapped_dim(args[1], args[0].dim() + 1)
    sparse = indices_of(t).shape[0]
    size = [*t.shape[:d], 1, *t.shape[d:]]

    def compute(x: Tensor) -> Tensor:
        indices, v = indices_of(x), values_of(x)
        if d <= sparse:
            return make_coo(undertow.cat([indices[:d], indices.new_zeros(1, indices.shape[1]), indices[d:]]), v, size)
        return make_coo(indices, v.unsqueeze(d - sparse + 1), size, is_coalesced(x))

    return record("UnsqueezeBackward0", compute, lambda g, x: (lambda: g.squeeze(d),), t)


@rule("squeeze")
def squeeze_rule(op: Any, args: list[Any]) -> Any:
    t = args[0]
    dims = range(t.dim()) if len(args) == 1 else [args[1]] if isinstance(args[1], int) else args[1]
    gone = [d for d in (wrapped_dim(d, t.dim()) for d in dims) if t.shape[d] == 1]
    sparse = indices_of(t).shape[0]

    def compute(x: Tensor) -> Tensor:
        kept = [d for d in range(sparse) if d not in gone]
        v = values_of(x).squeeze(tuple(d - sparse + 1 for d in gone if d >= sparse))
        return make_coo(indices_of(x)[kept], v, [n for d, n in enumerate(x.shape) if d not in gone], is_coalesced(x))

    def gradient(g: Tensor) -> Tensor:
        for d in gone:
            g = g.unsqueeze(d)
        return g

    return record("SqueezeBackward0", compute, lambda g, x: (lambda: gradient(g),), t)


def _placed(g: Tensor, size: Sequence[int], d: int, move: Any, dense: Any) -> Tensor:
    """Return a gradient of a part as one of the whole: a sparse one with indices along `d` moved, a strided one inside zeros."""
    if not is_sparse(g):
        return dense(g.new_zeros(size), g)
    g = to_coo(g)
    indices = indices_of(g)
    if d >= indices.shape[0]:
        return _placed(to_dense(g), size, d, move, dense)

    def compute(x: Tensor) -> Tensor:
        rows = list(indices_of(x))
        rows[d] = move(rows[d])
        return make_coo(undertow.stack(rows), values_of(x), size)

    return record("IndexBackward0", compute, lambda h, x: (lambda: _values_back(h, x, d, move),), g)


def _values_back(h: Tensor, x: Tensor, d: int, move: Any) -> Tensor:
    rows = list(indices_of(x))
    rows[d] = move(rows[d])
    return coo_from(indices_of(x), values_at(h, undertow.stack(rows)), x.shape, is_coalesced(x))


@rule("slice")
def slice_rule(op: Any, args: list[Any]) -> Any:
    t, d, start, end, step = args[0], wrapped_dim(args[1], args[0].dim()), args[2], args[3], args[4]
    n = t.shape[d]
    start, end, step = slice(start, end, step).indices(n)
    length = max(0, -(-(end - start) // step))
    if length == n:
        return alias(op, [t])
    size = [*t.shape[:d], length, *t.shape[d + 1 :]]
    sparse = indices_of(t).shape[0]

    def compute(x: Tensor) -> Tensor:
        indices, v = indices_of(x), values_of(x)
        if d >= sparse:
            return make_coo(indices, v[(slice(None),) * (d - sparse + 1) + (slice(start, end, step),)], size, is_coalesced(x))
        row = indices[d] - start
        kept = ((row >= 0) & (indices[d] < end) & (row % step == 0)).nonzero()[:, 0]
        rows = list(indices[:, kept])
        rows[d] = row[kept] // step
        return make_coo(undertow.stack(rows), v[kept], size, is_coalesced(x))

    def gradient(g: Tensor, x: Tensor) -> Tensor:
        return _placed(g, x.shape, d, lambda i: i * step + start, lambda whole, part: undertow.slice_scatter(whole, part, d, start, end, step))

    return record("SliceBackward0", compute, lambda g, x: (lambda: gradient(g, x),), t)


@rule("narrow_copy")
def narrow_copy_rule(op: Any, args: list[Any]) -> Any:
    t, d, start, length = args
    if not 0 <= d < t.dim():
        raise RuntimeError(f"Dimension {d} out of range. Expecting 0 <= dim < {t.dim()}.")
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {length}.")
    if start < 0 or start + length > t.shape[d]:
        limits = f"range(start, start+length) must be a subset of range(0, {t.shape[d]}), got start {start} and length {length}"
        raise RuntimeError(f"Invalid range to narrow. {limits}")
    return slice_rule(op, [t, d, start, start + length, 1])


def _select_compressed(op: Any, t: Tensor, d: int, index: int) -> Tensor:
    """Select one matrix of a batch, or along a dense dimension, in the layout of `t`; a row or column is a COO tensor."""
    first, shift = batch_dim(t), 2 * (t.layout in BLOCKED) - 1
    if first <= d < first + 2:
        if first:
            raise RuntimeError("select(): selecting sparse dimensions is not supported for batched sparse compressed tensors.")
        return select_rule(op, [coalesce(to_coo(t)), d, index])
    size = [*t.shape[:d], *t.shape[d + 1 :]]
    of_values = d if d < first else d + shift

    def compute(x: Tensor) -> Tensor:
        layout, compressed, plain, v, _ = _C._sparse_parts(x)
        if d < first:
            compressed, plain = compressed.select(d, index).clone(), plain.select(d, index).clone()
        return make_compressed(layout, compressed, plain, v.select(of_values, index).clone(), size)

    def gradient(g: Tensor, x: Tensor) -> Tensor:
        part = values_where(g, compute(x.detach()))
        return from_values(x, undertow.select_scatter(undertow.zeros_like(values_of(x), dtype=g.dtype), part, of_values, index))

    return record("SelectBackward0", compute, lambda g, x: (lambda: gradient(g, x),), t)


@rule("select", every_layout=True)
def select_rule(op: Any, args: list[Any]) -> Any:
    t, d, index = args[0], wrapped_dim(args[1], args[0].dim()), args[2]
    n = t.shape[d]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(t.shape)} at dimension {d}")
    index %= n
    if t.layout is not COO:
        return _select_compressed(op, t, d, index)
    size = [*t.shape[:d], *t.shape[d + 1 :]]
    sparse = indices_of(t).shape[0]

    def compute(x: Tensor) -> Tensor:
        indices, v = indices_of(x), values_of(x)
        if d >= sparse:
            return make_coo(indices, v.select(d - sparse + 1, index), size, is_coalesced(x))
        kept = (indices[d] == index).nonzero()[:, 0]
        if sparse == 1:
            return v[kept].sum(0).to(v.dtype)
        return make_coo(undertow.cat([indices[:d], indices[d + 1 :]])[:, kept], v[kept], size, is_coalesced(x))

    def gradient(g: Tensor, x: Tensor) -> Tensor:
        if not is_sparse(g) and sparse == 1 and d == 0:
            return coo_from(g.new_full((1, 1), index, dtype=undertow.int64), g.unsqueeze(0), x.shape, True)
        return _placed(g.unsqueeze(d), x.shape, d, lambda i: i + index, lambda whole, part: undertow.slice_scatter(whole, part, d, index, index + 1))

    return record("SelectBackward0", compute, lambda g, x: (lambda: gradient(g, x),), t)


@rule("unbind", every_layout=True)
def unbind_rule(op: Any, args: list[Any]) -> Any:
    t, d = args[0], wrapped_dim(args[1], args[0].dim())
    return tuple(t.select(d, i) for i in range(t.shape[d]))


@rule("index_select")
def index_select_rule(op: Any, args: list[Any]) -> Any:
    t, d, index = args[0], wrapped_dim(args[1], args[0].dim()), args[2]
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    index = index.reshape(-1).to(undertow.int64)
    n = t.shape[d]
    if index.numel() and (int(index.min()) < -n or int(index.max()) >= n):
        found = f"{int(index.min())} to {int(index.max())}"
        raise IndexError(f"index_select(): index contains {found}, which is out of range for tensor of size {list(t.shape)} at dimension {d}")
    index = undertow.where(index < 0, index + n, index)
    size = [*t.shape[:d], index.shape[0], *t.shape[d + 1 :]]
    sparse = indices_of(t).shape[0]

    def compute(x: Tensor) -> Tensor:
        indices, v = indices_of(x), values_of(x)
        if d >= sparse:
            return make_coo(indices, v.index_select(d - sparse + 1, index), size, is_coalesced(x))
        # Each value goes to every place where `index` has its own index.
        order = index.argsort(stable=True)
        source, place = matches(index[order], indices[d])
        rows = list(indices[:, source])
        rows[d] = order[place]
        return make_coo(undertow.stack(rows), v[source], size)

    def gradient(g: Tensor, x: Tensor) -> Tensor:
        return _placed(g, x.shape, d, lambda i: index[i], lambda whole, part: whole.index_add(d, index, part))

    return record("IndexSelectBackward0", compute, lambda g, x: (lambda: gradient(g, x),), t)


@rule("embedding")
def embedding_rule(op: Any, args: list[Any]) -> Any:
    """Rows of a sparse table. A vector of indices gives a sparse matrix."""
    weight, indices = args[0], args[1]
    if not is_sparse(weight) or is_sparse(indices) or indices.dim() != 1:
        raise RuntimeError("embedding: a sparse weight needs a vector of indices that is strided; use to_dense() first")
    return weight.index_select(0, indices)


@rule("cat")
def cat_rule(op: Any, args: list[Any]) -> Any:
    tensors, d = list(args[0]), wrapped_dim(args[1], args[0][0].dim())
    dense = next((at for at, t in enumerate(tensors) if not is_sparse(t)), None)
    if dense is not None:
        raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {dense}. Use to_dense() or to_sparse().")
    first = tensors[0]
    sparse = indices_of(first).shape[0]
    for at, t in enumerate(tensors):
        own = indices_of(t).shape[0]
        if t.dim() == first.dim() and own != sparse:
            kinds = f"{sparse}, {t.dim() - sparse}, but tensor at position {at} has {own}, {t.dim() - own}."
            raise RuntimeError(f"All tensors must have the same sparse_dim and dense_dim: {kinds}")
        if t.dim() != first.dim() or any(a != b for k, (a, b) in enumerate(zip(t.shape, first.shape, strict=True)) if k != d):
            like, found = list(first.shape), f"found shape: {list(t.shape)} at position {at}"
            raise RuntimeError(f"All tensors must have the same shape: {like} (except in the concatenating dimension), but {found}.")
    lengths = [t.shape[d] for t in tensors]
    starts = [sum(lengths[:k]) for k in range(len(lengths))]
    size = [*first.shape[:d], sum(lengths), *first.shape[d + 1 :]]

    def compute(*parts: Tensor) -> Tensor:
        indices = []
        for x, start in zip(parts, starts, strict=True):
            rows = list(indices_of(x))
            if d < sparse:
                rows[d] = rows[d] + start
            indices.append(undertow.stack(rows))
        vs = [values_of(x) for x in parts]
        if d >= sparse:  # each value stands in a row of zeros as wide as the result
            at = d - sparse + 1
            pad = undertow.nn.functional.pad
            vs = [pad(v.movedim(at, -1), (s, size[d] - s - v.shape[at])).movedim(-1, at) for v, s in zip(vs, starts, strict=True)]
        return make_coo(undertow.cat(indices, 1), undertow.cat(vs), size)

    def gradients(g: Tensor, *parts: Tensor) -> Any:
        return tuple((lambda s=s, n=n: g.narrow(d, s, n)) for s, n in zip(starts, lengths, strict=True))

    return record("CatBackward0", compute, gradients, *tensors)


@rule("stack")
def stack_rule(op: Any, args: list[Any]) -> Any:
    d = wrapped_dim(args[1], args[0][0].dim() + 1)
    return undertow.cat([t.unsqueeze(d) for t in args[0]], d)
