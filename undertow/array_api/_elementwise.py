"""Elementwise functions of the array API: Undertow's operators with the standard's promotion."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.array_api._dtypes import promoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ONE = str.split(
    """abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log1p log2 log10 logical_not negative positive
reciprocal round signbit sin sinh sqrt square tan tanh trunc conj imag real"""
)
TWO = str.split(
    """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide floor_divide hypot logaddexp logical_and
logical_or logical_xor maximum minimum multiply nextafter pow remainder subtract"""
)
COMPARE = {"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}


def _of_two(name: str, own: str) -> Callable[[Any, Any], Tensor]:
    function = getattr(undertow, own)

    def call(x1: Any, x2: Any, /) -> Tensor:
        return function(*promoted(x1, x2))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`undertow.{own}` of two arrays, or of an array and a number."
    return call


def sign(x: Tensor, /) -> Tensor:
    """Return -1, 0 or 1; for complex numbers, x / abs(x)."""
    return undertow.sgn(x)


def bitwise_invert(x: Tensor, /) -> Tensor:
    """Invert every bit."""
    return undertow.bitwise_not(x)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Clamp the values to [min, max], in the dtype of the array."""
    for bound, choose in ((min, undertow.maximum), (max, undertow.minimum)):
        if bound is not None:
            x = choose(x, undertow.as_tensor(bound).to(x.dtype))
    return x if min is not None or max is not None else x.clone()


globals().update({name: getattr(undertow, name) for name in ONE})
globals().update({name: _of_two(name, name) for name in TWO})
globals().update({name: _of_two(name, own) for name, own in COMPARE.items()})
__all__ = [*ONE, *TWO, *COMPARE, "bitwise_invert", "clip", "sign"]
