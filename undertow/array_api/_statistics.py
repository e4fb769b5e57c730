"""The array API's functions that sum up: over all elements, one dimension or several."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _axes(x: Tensor, axis: Any) -> tuple[int, ...]:
    return tuple(range(x.dim())) if axis is None else axis if isinstance(axis, tuple) else (axis,)


def _one_by_one(function: Callable[..., Tensor], x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    for a in sorted((a % x.dim() for a in _axes(x, axis)), reverse=True):
        x = function(x, a, keepdim=keepdims)
    return x


def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum."""
    axes = _axes(x, axis)
    if not axes:
        return x.to(dtype) if dtype else undertow.sum(x.unsqueeze(0), 0)
    return undertow.sum(x, axes, keepdim=keepdims, dtype=dtype)


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product."""
    x = x.to(dtype) if dtype else x.to(undertow.int64) if not (x.is_floating_point() or x.is_complex()) else x
    return _one_by_one(undertow.prod, x, axis, keepdims)


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean."""
    axes = _axes(x, axis)
    return undertow.mean(x, axes, keepdim=keepdims) if axes else x.clone()


def var(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance."""
    axes = _axes(x, axis)
    if not axes:
        return undertow.zeros_like(x)
    return undertow.var(x, axes, correction=correction, keepdim=keepdims)


def std(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation."""
    return var(x, axis=axis, correction=correction, keepdims=keepdims).sqrt()


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element."""
    axes = _axes(x, axis)
    return undertow.amax(x, axes, keepdim=keepdims) if axes else x.clone()


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element."""
    axes = _axes(x, axis)
    return undertow.amin(x, axes, keepdim=keepdims) if axes else x.clone()


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether every element is true."""
    return _one_by_one(undertow.all, x.to(undertow.bool), axis, keepdims)


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether an element is true."""
    return _one_by_one(undertow.any, x.to(undertow.bool), axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements are not zero."""
    return sum(x.to(undertow.bool), axis=axis, keepdims=keepdims)


def _accumulated(function: Callable[..., Tensor], start: int, x: Tensor, axis: int | None, dtype: Any, include_initial: bool) -> Tensor:
    if axis is None:
        if x.dim() != 1:
            raise ValueError(f"axis must be given for an array of {x.dim()} dimensions")
        axis = 0
    result = function(x, axis, dtype=dtype)
    if not include_initial:
        return result
    shape = list(result.shape)
    shape[axis] = 1
    return undertow.cat([undertow.full(shape, start, dtype=result.dtype), result], axis)


def cumulative_sum(x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Sums of all elements up to each."""
    return _accumulated(undertow.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Products of all elements up to each."""
    return _accumulated(undertow.cumprod, 1, x, axis, dtype, include_initial)


def diff(x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """Differences of neighbours, `n` times."""
    return undertow.diff(x, n, axis, prepend=prepend, append=append)
