"""Reductions of losses: the strings that users pass, and the numbers that the core expects."""

from __future__ import annotations

import warnings

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def number(reduction: str) -> int:
    """Return the core's number for "none", "mean" or "sum".

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
    """Return the reduction given by the deprecated arguments, or `reduction` if they are not given.

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
    """Return the reduction given by the deprecated arguments; None means their default, True.

    >>> legacy_get_string(False, None, emit_warning=False)
    'sum'
    """
    result = "none" if reduce is False else "mean" if size_average in (None, True) else "sum"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{result}' instead.", stacklevel=3)
    return result


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """Return the core's number of the reduction given by the deprecated arguments."""
    return number(legacy_get_string(size_average, reduce, emit_warning))
