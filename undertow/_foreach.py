"""`_foreach_add_` and its kin: one operator over lists of tensors, as optimizers of other libraries are written.

Made by name from the operator: each tensor of the first list with the other arguments' tensors or numbers in its place.
"""

from __future__ import annotations

import functools

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_UNARY = (
    " abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin "
    "sinh sqrt tan tanh trunc zero "
)
_OTHERS = " add addcdiv addcmul clamp_max clamp_min clone copy div lerp max maximum minimum mul norm pow sub "


def _norm(t: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    return undertow.linalg.vector_norm(t, ord, dtype=dtype)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "norm": _norm,
    "clamp_max": undertow.clamp_max,
    "clamp_min": undertow.clamp_min,
    "maximum": undertow.clamp_min,  # which take numbers too
    "minimum": undertow.clamp_max,
}


def _column(name: str, value: Any, count: int) -> Any:
    """The argument for each tensor."""
    if isinstance(value, Tensor) and name in ("_foreach_addcdiv", "_foreach_addcmul") and value.dim() == 1:
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise RuntimeError(f"{name}: Tensor lists must have the same number of tensors, got {count} and {len(value)}")
    return value


def _one(base: str, in_place: bool) -> Callable[..., Any]:
    """The operator on one tensor."""
    method = getattr(Tensor, f"{base}_", None) if in_place else None
    if method is not None:
        return method
    function = _FUNCTIONS.get(base) or getattr(undertow, base)
    return (lambda t, *args, **kwargs: t.copy_(function(t, *args, **kwargs))) if in_place else function


@functools.cache
def named(name: str) -> Callable[..., Any] | None:
    """The function of that name, None where torch has none."""
    base = name.removeprefix("_foreach_").removesuffix("_")
    in_place = name.endswith("_")
    if f" {base} " not in _UNARY + _OTHERS or base in (("norm", "max", "clone") if in_place else ("zero", "copy")):
        return None
    one, title = _one(base, in_place), name.removesuffix("_")

    def over(tensors: Any, *others: Any, **options: Any) -> Any:
        if base == "pow" and not isinstance(tensors, (list, tuple)):  # one base, many exponents
            return tuple(undertow.pow(tensors, each) for each in others[0])
        if not len(tensors):
            raise RuntimeError(f"{title}: Tensor list must have at least one tensor.")
        if (scalars := options.pop("scalars", None)) is not None:
            others = (*others, scalars)
        columns = [_column(title, other, len(tensors)) for other in others]
        if base in ("addcmul", "addcdiv") and len(columns) == 3:  # value by position
            done = [one(t, a, b, value=value, **options) for t, a, b, value in zip(tensors, *columns, strict=True)]
        else:
            done = [one(*each, **options) for each in zip(tensors, *columns, strict=True)]
        return tensors if in_place else tuple(done)

    over.__name__ = over.__qualname__ = name
    return over
