"""Reductions of the array API, over all elements or over some dimensions."""

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
    """Return the sum."""
    axes = _axes(x, axis)
    if not axes:
        return x.to(dtype) if dtype else undertow.sum(x.unsqueeze(0), 0)
    return undertow.sum(x, axes, keepdim=keepdims, dtype=dtype)


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Return the product."""
    x = x.to(dtype) if dtype else x.to(undertow.int64) if not (x.is_floating_point() or x.is_complex()) else x
    return _one_by_one(undertow.prod, x, axis, keepdims)


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the mean."""
    axes = _axes(x, axis)
    return undertow.mean(x, axes, keepdim=keepdims) if axes else x.clone()


def var(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the variance."""
    axes = _axes(x, axis)
    if not axes:
        return undertow.zeros_like(x)
    return undertow.var(x, axes, correction=correction, keepdim=keepdims)


def std(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Return the standard deviation."""
    return var(x, axis=axis, correction=correction, keepdims=keepdims).sqrt()


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the largest element."""
    axes = _axes(x, axis)
    return undertow.amax(x, axes, keepdim=keepdims) if axes else x.clone()


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the smallest element."""
    axes = _axes(x, axis)
    return undertow.amin(x, axes, keepdim=keepdims) if axes else x.clone()


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return True if every element is true."""
    return _one_by_one(undertow.all, x.to(undertow.bool), axis, keepdims)


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return True if any element is true."""
    return _one_by_one(undertow.any, x.to(undertow.bool), axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Count the nonzero elements."""
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
    """Return the cumulative sums."""
    return _accumulated(undertow.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
    """Return the cumulative products."""
    return _accumulated(undertow.cumprod, 1, x, axis, dtype, include_initial)


def diff(x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """Return the `n`-th differences of adjacent elements."""
    return undertow.diff(x, n, axis, prepend=prepend, append=append)
