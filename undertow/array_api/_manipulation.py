"""Manipulation, indexing, searching, sorting and set functions of the array API."""

from __future__ import annotations

from typing import NamedTuple

import undertow
from undertow._C import Tensor
from undertow.array_api._dtypes import promoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _axes(axis: Any) -> tuple[int, ...]:
    return axis if isinstance(axis, tuple) else (axis,)


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Broadcast the arrays to their common shape."""
    return list(undertow.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Broadcast an array to a shape."""
    return undertow.broadcast_to(x, shape)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Concatenate arrays along `axis`; flatten them first if `axis` is None."""
    parts = promoted(*arrays)
    return undertow.cat([p.reshape(-1) for p in parts]) if axis is None else undertow.cat(parts, axis)


def expand_dims(x: Tensor, /, *, axis: int = 0) -> Tensor:
    """Insert a dimension of size 1."""
    return x.unsqueeze(axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """Reverse the order of elements along some dimensions, or along all."""
    return x.flip(tuple(range(x.dim())) if axis is None else _axes(axis))


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """Move dimensions to other positions."""
    return x.movedim(source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Permute the dimensions."""
    return x.permute(axes)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Repeat each element."""
    return undertow.repeat_interleave(x, repeats, dim=axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Reshape an array; copy=False raises if a copy is needed."""
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(f"reshape: cannot reshape to {tuple(shape)} without a copy") from error
    return x.clone().reshape(shape) if copy else x.reshape(shape)


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Roll elements along dimensions; elements beyond the end re-enter at the start."""
    return x.roll(shift) if axis is None else x.roll(shift if isinstance(shift, tuple) else (shift,) * len(_axes(axis)), _axes(axis))


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Remove dimensions of size 1."""
    for a in _axes(axis):
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: dimension {a} of shape {tuple(x.shape)} is not of size 1")
    return x.squeeze(_axes(axis))


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Stack arrays along a new dimension."""
    return undertow.stack(promoted(*arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Split an array into its slices along a dimension."""
    return tuple(x.unbind(axis))


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """Repeat the whole array."""
    return x.tile(repetitions)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Select slices by index."""
    if axis is None:
        if x.dim() != 1:
            raise ValueError(f"take: axis must be given for an array of {x.dim()} dimensions")
        axis = 0
    return x.index_select(axis, _wrapped(indices, x.shape[axis]))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Select elements along a dimension by an array of indices."""
    return undertow.take_along_dim(x, _wrapped(indices, x.shape[axis]), axis)


def _wrapped(indices: Tensor, size: int) -> Tensor:
    indices = indices.to(undertow.int64)
    return undertow.where(indices < 0, indices + size, indices)


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the indices that sort the array."""
    return undertow.argsort(x, dim=axis, descending=descending, stable=stable)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the sorted elements."""
    return undertow.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the first largest element."""
    return undertow.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the first smallest element."""
    return undertow.argmin(x, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the indices of the nonzero elements, one array per dimension."""
    if x.dim() == 0:
        raise ValueError("nonzero: a 0-d array has no indices")
    return tuple(undertow.nonzero(x).unbind(1))


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Return the indices at which the elements of x2 would be inserted into the sorted x1."""
    a, b = promoted(x1, x2)
    return undertow.searchsorted(a if sorter is None else a[sorter], b, right=side == "right")


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """Select elements of x1 where the condition is True, of x2 elsewhere."""
    a, b = promoted(x1, x2)
    return undertow.where(condition, a, b)


class _All(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class _Counts(NamedTuple):
    values: Tensor
    counts: Tensor


class _Inverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> _All:
    """Return the unique values, the indices of their first occurrence, the inverse indices and the counts."""
    values, inverse, counts = undertow.unique(x, return_inverse=True, return_counts=True)
    order = undertow.argsort(inverse.reshape(-1), stable=True)
    starts = undertow.cumsum(counts, 0) - counts
    return _All(values, order[starts] if values.numel() else order, inverse, counts)


def unique_counts(x: Tensor, /) -> _Counts:
    """Return the unique values and their counts."""
    return _Counts(*undertow.unique(x, return_counts=True))


def unique_inverse(x: Tensor, /) -> _Inverse:
    """Return the unique values and the inverse indices."""
    return _Inverse(*undertow.unique(x, return_inverse=True))


def unique_values(x: Tensor, /) -> Tensor:
    """Return the unique values."""
    return undertow.unique(x)
