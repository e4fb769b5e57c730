"""Creation functions of the array API."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """Convert `obj` to an array, sharing its memory if possible unless `copy` is True."""
    return undertow.asarray(obj, dtype=dtype, device=device, copy=copy)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Return evenly spaced numbers from `start`, excluding `stop`."""
    start, stop = (0, start) if stop is None else (start, stop)
    if (stop - start) * step <= 0:
        kind = undertow.int64 if all(isinstance(v, int) for v in (start, stop, step)) else undertow.get_default_dtype()
        return undertow.empty(0, dtype=dtype or kind)
    return undertow.arange(start, stop, step, dtype=dtype)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Create an uninitialised array."""
    return undertow.empty(shape, dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Create an array of zeros."""
    return undertow.zeros(shape, dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Create an array of ones."""
    return undertow.ones(shape, dtype=dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Create an array filled with `fill_value`."""
    return undertow.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    """Create a matrix with ones on the k-th diagonal."""
    n_cols = n_rows if n_cols is None else n_cols
    rows = undertow.arange(n_rows).unsqueeze(1)
    return (rows + k == undertow.arange(n_cols)).to(dtype or undertow.get_default_dtype())


def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True) -> Tensor:
    """Return `num` evenly spaced numbers."""
    if endpoint:
        return undertow.linspace(start, stop, num, dtype=dtype)
    return undertow.linspace(start, stop, num + 1, dtype=dtype)[:-1]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Return coordinate grids from coordinate vectors."""
    return tuple(undertow.meshgrid(*arrays, indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the lower triangle, up to the k-th diagonal."""
    return undertow.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the upper triangle, from the k-th diagonal."""
    return undertow.triu(x, k)
