"""`make_tensor`: random tensors for tests, of any dtype, range and layout."""

from __future__ import annotations

import math

import undertow as ut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["make_tensor"]


def _limits(low: float | None, high: float | None, dtype: Any, supported: tuple[float, float], defaults: tuple[float, float]) -> tuple[Any, Any]:
    """Return the interval to draw from, within the range of the dtype."""
    low, high = defaults[0] if low is None else low, defaults[1] if high is None else high
    inexact = dtype.is_floating_point or dtype.is_complex
    if any(isinstance(x, float) and math.isnan(x) for x in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and inexact:
        import warnings

        warnings.warn(
            "Passing `low==high` to `undertow.testing.make_tensor` for floating or complex types is deprecated. Use `undertow.full(...)` instead.",
            FutureWarning,
            stacklevel=4,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < supported[0] or low >= supported[1]:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports [{supported[0]}, {supported[1]})"
        )
    low, high = (min(max(x, supported[0]), supported[1]) for x in (low, high))
    return (low, high) if inexact else (math.ceil(low), math.ceil(high))


def _whole(shape: tuple[int, ...], dtype: Any, device: Any, low: Any, high: Any) -> Any:
    if dtype == ut.bool:
        low, high = _limits(low, high, dtype, (0, 2), (0, 2))
    else:
        info = ut.iinfo(dtype)
        # randint's upper bound is an int64 itself, so the greatest int64 cannot be drawn.
        low, high = _limits(low, high, dtype, (info.min, info.max + (dtype != ut.int64)), (-9, 10))
    return ut.randint(low, high, shape, dtype=dtype, device=device)


def _inexact(shape: tuple[int, ...], dtype: Any, device: Any, low: Any, high: Any) -> Any:
    info = ut.finfo(dtype)
    low, high = _limits(low, high, dtype, (info.min, info.max), (-9, 9))
    if dtype.itemsize == 1:  # no operator draws floats of 8 bits
        if not dtype.is_signed:
            raise TypeError(f"The requested dtype '{dtype}' is not supported by make_tensor()")
        return _inexact(shape, ut.float32, device, low, high).to(dtype)
    result = ut.empty(shape, dtype=dtype, device=device)
    values = ut.view_as_real(result) if dtype.is_complex else result
    if high - low <= ut.finfo(values.dtype).max:
        values.uniform_(low, high)
    else:  # the interval is wider than the dtype's range: draw from half of it, then double
        values.uniform_(low / 2, high / 2).mul_(2)
    return result


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """Create a tensor of random values, uniform in [low, high); default [-9, 9), and [0, 10) for uint8.

    `noncontiguous` returns every second element of a larger tensor, starting with the second. `exclude_zero` replaces zeros by
    one, or by the smallest normal number of a floating-point dtype.

    >>> import undertow as ut
    >>> t = ut.testing.make_tensor((2, 3), dtype=ut.float64, low=0, high=1, requires_grad=True)
    >>> t.shape, t.requires_grad
    (undertow.Size([2, 3]), True)
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and {memory_format=}"
        )
    inexact = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not inexact:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    spread = noncontiguous and math.prod(shape) > 1
    drawn = (*shape[:-1], 2 * shape[-1]) if spread else tuple(shape)
    result = (_inexact if inexact else _whole)(drawn, dtype, device or "cpu", low, high)
    if spread:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = ut.finfo(dtype).tiny if inexact else 1
    return result.requires_grad_(requires_grad) if inexact else result
