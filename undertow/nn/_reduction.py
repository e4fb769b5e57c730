"""How losses are reduced: the strings users write, and the numbers the core takes."""

from __future__ import annotations

import warnings

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def number(reduction: str) -> int:
    """The core's number for "none", "mean" or "sum".

    >>> number("mean")
    1
    """
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=3)
    try:
        return _NUMBERS[reduction]
    except KeyError:
        raise ValueError(f"{reduction} is not a valid value for reduction") from None


def chosen(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """The reduction meant by the older arguments where they are given, else `reduction`.

    >>> chosen("mean", None, None)
    'mean'
    """
    if size_average is None and reduce is None:
        return reduction
    result = legacy_get_string(size_average, reduce, emit_warning=False)
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{result}' instead.", stacklevel=3)
    return result


get_enum = number  # torch's name


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the older arguments mean; None stands for their defaults, True.

    >>> legacy_get_string(False, None, emit_warning=False)
    'sum'
    """
    result = "none" if reduce is False else "mean" if size_average in (None, True) else "sum"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{result}' instead.", stacklevel=3)
    return result


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The core's number for what the older arguments mean."""
    return number(legacy_get_string(size_average, reduce, emit_warning))
