"""The array API's functions that move elements and pick them."""

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
    """The arrays at the shape they have in common."""
    return list(undertow.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """The array at a larger shape."""
    return undertow.broadcast_to(x, shape)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    """Arrays one behind the other; flat ones where `axis` is None."""
    parts = promoted(*arrays)
    return undertow.cat([p.reshape(-1) for p in parts]) if axis is None else undertow.cat(parts, axis)


def expand_dims(x: Tensor, /, *, axis: int = 0) -> Tensor:
    """The array with one more dimension."""
    return x.unsqueeze(axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """The order turned along some dimensions, or along all."""
    return x.flip(tuple(range(x.dim())) if axis is None else _axes(axis))


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """Dimensions in another place."""
    return x.movedim(source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Dimensions in another order."""
    return x.permute(axes)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element several times."""
    return undertow.repeat_interleave(x, repeats, dim=axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape; copy=False refuses to move them."""
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(f"reshape: the elements cannot have the shape {tuple(shape)} without a copy") from error
    return x.clone().reshape(shape) if copy else x.reshape(shape)


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Elements moved along dimensions, those at the end to the beginning."""
    return x.roll(shift) if axis is None else x.roll(shift if isinstance(shift, tuple) else (shift,) * len(_axes(axis)), _axes(axis))


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """The array without dimensions of size 1."""
    for a in _axes(axis):
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: dimension {a} of shape {tuple(x.shape)} is not of size 1")
    return x.squeeze(_axes(axis))


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    """Arrays along a new dimension."""
    return undertow.stack(promoted(*arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension."""
    return tuple(x.unbind(axis))


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The whole array several times."""
    return x.tile(repetitions)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The slices at some indices."""
    if axis is None:
        if x.dim() != 1:
            raise ValueError(f"take: axis must be given for an array of {x.dim()} dimensions")
        axis = 0
    return x.index_select(axis, _wrapped(indices, x.shape[axis]))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The element at its own index for every place."""
    return undertow.take_along_dim(x, _wrapped(indices, x.shape[axis]), axis)


def _wrapped(indices: Tensor, size: int) -> Tensor:
    indices = indices.to(undertow.int64)
    return undertow.where(indices < 0, indices + size, indices)


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that sort."""
    return undertow.argsort(x, dim=axis, descending=descending, stable=stable)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order."""
    return undertow.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the largest element is first."""
    return undertow.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the smallest element is first."""
    return undertow.argmin(x, axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of elements that are not zero, one array a dimension."""
    if x.dim() == 0:
        raise ValueError("nonzero: an array of no dimensions has no indices")
    return tuple(undertow.nonzero(x).unbind(1))


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where the elements of x2 would go in the sorted x1."""
    a, b = promoted(x1, x2)
    return undertow.searchsorted(a if sorter is None else a[sorter], b, right=side == "right")


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """Elements of x1 where the condition holds, of x2 elsewhere."""
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
    """Each value once, where it is first, which it is at every place, and how often."""
    values, inverse, counts = undertow.unique(x, return_inverse=True, return_counts=True)
    order = undertow.argsort(inverse.reshape(-1), stable=True)
    starts = undertow.cumsum(counts, 0) - counts
    return _All(values, order[starts] if values.numel() else order, inverse, counts)


def unique_counts(x: Tensor, /) -> _Counts:
    """Each value once, and how often."""
    return _Counts(*undertow.unique(x, return_counts=True))


def unique_inverse(x: Tensor, /) -> _Inverse:
    """Each value once, and which it is at every place."""
    return _Inverse(*undertow.unique(x, return_inverse=True))


def unique_values(x: Tensor, /) -> Tensor:
    """Each value once."""
    return undertow.unique(x)
