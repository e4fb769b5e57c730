"""Methods of Tensor about sparse layouts, loaded on first use. See undertow/_tensor_methods.py."""

from __future__ import annotations

from undertow import _C
from undertow.sparse import _convert
from undertow.sparse._convert import coalesce, sparse_mask, to_dense, values
from undertow.sparse._parts import (
    BLOCKED,
    BSC,
    BSR,
    BY_ROWS,
    COMPRESSED,
    COO,
    CSC,
    CSR,
    indices_of,
    is_sparse,
    make_compressed,
    make_coo,
    replace_by,
    title,
    values_of,
)
from undertow.sparse._products import smm, sspaddmm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor

__all__ = ["coalesce", "smm", "sparse_mask", "sspaddmm", "to_dense", "values"]


def to_sparse(
    self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Sequence[int] | None = None, dense_dim: int | None = None
) -> Tensor:
    """Return the tensor in a sparse layout: COO, or the given one.

    >>> import undertow as ut
    >>> ut.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse().indices()
    tensor([[0, 1],
            [1, 0]])
    """
    if sparse_dim is not None and (layout is not None or blocksize is not None):
        raise RuntimeError("to_sparse: sparse_dim cannot be given together with layout or blocksize")
    if layout is None or layout is COO:
        if blocksize is not None:
            raise RuntimeError(f"to_sparse: blocksize is only for blocked layouts, not for {COO}")
        if not is_sparse(self):
            return _convert.dense_to_coo(self, sparse_dim if dense_dim is None else self.dim() - dense_dim)
        if sparse_dim is not None and sparse_dim != _sparse_dim(self) or dense_dim is not None:
            given = f"sparse_dim argument !={_sparse_dim(self)}" if dense_dim is None else "dense_dim argument given"
            raise RuntimeError(f"to_sparse: conversion from {title(self.layout)} to Sparse with {given} is not supported")
        return _convert.to_coo(self)
    if layout is _C.strided:
        return to_dense(self)
    return _convert.to_compressed(self, layout, _blocks(blocksize) if layout in BLOCKED else None, dense_dim)


def _sparse_dim(t: Tensor) -> int:
    return indices_of(t).shape[0] if t.layout is COO else 2


def _blocks(blocksize: Any) -> tuple[int, int]:
    if isinstance(blocksize, int):
        return blocksize, blocksize
    if blocksize is None or len(blocksize) != 2:
        raise RuntimeError(f"to_sparse: blocksize needs to be a tuple of size 2, but got {blocksize}")
    return tuple(blocksize)


def to_sparse_coo(self: Tensor) -> Tensor:
    """Return the tensor in COO layout."""
    return to_sparse(self)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return the matrix in CSR layout: compressed by rows."""
    return _convert.to_compressed(self, CSR, None, dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return the matrix in CSC layout: compressed by columns."""
    return _convert.to_compressed(self, CSC, None, dense_dim)


def to_sparse_bsr(self: Tensor, blocksize: Sequence[int], dense_dim: int | None = None) -> Tensor:
    """Return the matrix in BSR layout: blocks, compressed by rows."""
    return _convert.to_compressed(self, BSR, _blocks(blocksize), dense_dim)


def to_sparse_bsc(self: Tensor, blocksize: Sequence[int], dense_dim: int | None = None) -> Tensor:
    """Return the matrix in BSC layout: blocks, compressed by columns."""
    return _convert.to_compressed(self, BSC, _blocks(blocksize), dense_dim)


def _coordinates(self: Tensor, name: str) -> None:
    if self.layout is not COO:
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {title(self.layout)}")


def is_coalesced(self: Tensor) -> bool:
    """Return True if the indices of a COO tensor are sorted and none occurs twice."""
    _coordinates(self, "is_coalesced")
    return _C._sparse_parts(self)[4]


def indices(self: Tensor) -> Tensor:
    """Return the indices of a coalesced COO tensor, one column per value."""
    _coordinates(self, "indices")
    if not _C._sparse_parts(self)[4]:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return indices_of(self)


def _indices(self: Tensor) -> Tensor:
    """Return the indices of a COO tensor, coalesced or not."""
    _coordinates(self, "_indices")
    return indices_of(self)


def _values(self: Tensor) -> Tensor:
    """Return the values of a COO tensor, coalesced or not, without history."""
    _coordinates(self, "_values")
    return values_of(self)


def _nnz(self: Tensor) -> int:
    """Return the number of values that a sparse tensor specifies."""
    if not is_sparse(self):
        raise NotImplementedError("Could not run 'aten::_nnz' with arguments from the 'CPU' backend: the tensor's layout is strided")
    compressed = indices_of(self)
    return compressed.shape[1] if self.layout is COO else values_of(self).shape[compressed.dim() - 1]


def sparse_dim(self: Tensor) -> int:
    """Return the number of dimensions that are indexed."""
    return _sparse_dim(self) if is_sparse(self) else 0


def dense_dim(self: Tensor) -> int:
    """Return the number of dimensions of each value."""
    if not is_sparse(self):
        return self.dim()
    if self.layout is COO:
        return values_of(self).dim() - 1
    return values_of(self).dim() - indices_of(self).dim() - 2 * (self.layout in BLOCKED)


def _part(name: str, number: int, by_rows: bool) -> Any:
    direction = "row" if by_rows else "column"

    def method(self: Tensor) -> Any:
        if not is_sparse(self) or self.layout is COO or (self.layout in BY_ROWS) != by_rows:
            raise RuntimeError(f"{name} expected sparse {direction} compressed tensor layout but got {title(self.layout)}")
        return _C._sparse_parts(self)[number]

    method.__name__ = method.__qualname__ = name
    return method


crow_indices, col_indices = _part("crow_indices", 1, True), _part("col_indices", 2, True)
ccol_indices, row_indices = _part("ccol_indices", 1, False), _part("row_indices", 2, False)


def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Say whether a COO tensor is coalesced, in place."""
    return _C._set_sparse(self, COO, indices_of(self), None, values_of(self), coalesced, tuple(self.shape))


def _check_grows(self: Tensor, size: list[int], sparse_dim: int, dense_dim: int) -> None:
    """Raise if a tensor with values would have other kinds of dimensions, or smaller ones."""
    end = "on a non-empty sparse tensor is not supported."
    was, old = indices_of(self).shape[0], list(self.shape)
    for kind, before, after in (("sparse", was, sparse_dim), ("dense", len(old) - was, dense_dim)):
        if before != after:
            raise RuntimeError(f"changing the number of {kind} dimensions (from {before} to {after}) {end}")
    for kind, part in (("sparse", slice(0, was)), ("dense", slice(was, None))):
        if any(new < had for new, had in zip(size[part], old[part], strict=True)):
            raise RuntimeError(f"shrinking the size of {kind} dimensions (from {old[part]} to {size[part]}) {end}")


def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Change the size of a COO tensor in place; existing values stay."""
    _coordinates(self, "sparse_resize_")
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but got {len(size)}: "
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    have = _nnz(self)
    if have:
        _check_grows(self, list(size), sparse_dim, dense_dim)
    v = values_of(self)
    if have and tuple(size[sparse_dim:]) != tuple(v.shape[1:]):
        grown = v.new_zeros(have, *size[sparse_dim:])
        grown[tuple(slice(0, n) for n in v.shape)] = v
        v = grown
    at = indices_of(self)
    if not have:
        at, v = at.new_empty(sparse_dim, 0), v.new_empty(0, *size[sparse_dim:])
    return replace_by(self, make_coo(at, v, size, is_coalesced(self)))


def sparse_resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Change the size of a COO tensor in place and remove its values."""
    return sparse_resize_(self.zero_(), size, sparse_dim, dense_dim)


def resize_as_sparse_(self: Tensor, the_template: Tensor) -> Tensor:
    """Change the size of a COO tensor in place to that of another one. A compressed tensor also gets its indices."""
    if self.layout in COMPRESSED or the_template.layout in COMPRESSED:
        for name, t in (("self", self), ("src", the_template)):
            if t.layout not in COMPRESSED:
                raise RuntimeError(f"resize_as_sparse_compressed_: {name}  expected sparse compressed tensor layout but got {title(t.layout)}")
        if the_template.layout is not self.layout:
            kinds = f"{title(self.layout)} and {title(the_template.layout)}"
            raise RuntimeError(f"resize_as_sparse_compressed_: self and src must have the same layout, but got {kinds}")
        old, like = values_of(self), values_of(the_template)
        new = old if old.shape == like.shape else old.new_empty(like.shape)
        first, second = (part.to(indices_of(self).dtype, copy=True) for part in _C._sparse_parts(the_template)[1:3])
        return replace_by(self, make_compressed(self.layout, first, second, new, tuple(the_template.shape)))
    return sparse_resize_(self, tuple(the_template.shape), sparse_dim(the_template), dense_dim(the_template))
