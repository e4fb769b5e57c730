"""`torch._foreach_*`: an operation on each tensor of a list. Programs use them for averages of weights and for norms.

`_foreach_add_(tensors, other)` writes, `_foreach_add` gives a tuple. An argument that is a list has an entry for each tensor.
"""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt "
    "sigmoid sign sin sinh sqrt tan tanh trunc"
)
_OTHERS = "add sub mul div pow maximum minimum clamp_max clamp_min lerp addcmul addcdiv"
_BOTH = (*_UNARY.split(), *_OTHERS.split())  # they also have a form that writes
_SINGLE = ("clone", "copy_", "max", "mm", "norm", "powsum", "zero_")
NAMES = frozenset(f"_foreach_{name}" for name in (*_BOTH, *(f"{name}_" for name in _BOTH), *_SINGLE))


def _each(argument: Any, count: int) -> list[Any]:
    """The argument for each of `count` tensors."""
    if not isinstance(argument, (list, tuple)):
        return [argument] * count
    if len(argument) == count:
        return list(argument)
    if argument and isinstance(argument[0], Tensor):
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(argument)}")
    raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def _method(name: str) -> Callable[..., Any]:
    """What is done with one tensor."""
    if name == "norm":
        return lambda t, ord=2, dtype=None: undertow.linalg.vector_norm(t, ord, dtype=dtype)
    if name == "powsum":
        return lambda t, ord=2, dtype=None: t.abs().pow(ord).sum(dtype=dtype)
    if name.rstrip("_") in ("addcmul", "addcdiv"):
        write = getattr(Tensor, name)
        return lambda t, a, b, value=1: write(t, a, b, value=value)
    if name.rstrip("_") in ("maximum", "minimum"):
        larger = undertow.maximum if name.startswith("max") else undertow.minimum

        def one(t: Tensor, other: Any) -> Tensor:
            result = larger(t, other if isinstance(other, Tensor) else undertow.tensor(other, dtype=t.dtype))
            return t.copy_(result) if name.endswith("_") else result

        return one
    return getattr(Tensor, name)


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module 'undertow' has no attribute {name!r}")
    base = name.removeprefix("_foreach_")
    method = _method(base)

    def foreach(self: Any, *args: Any, **kwargs: Any) -> Any:
        if base == "pow" and not isinstance(self, (list, tuple)):  # a number to the power of each
            return tuple(undertow.pow(self, exponent) for exponent in args[0])
        if not isinstance(self, (list, tuple)) or not all(isinstance(t, Tensor) for t in self):
            raise TypeError(f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not {type(self).__name__}")
        if not self:
            raise RuntimeError("Tensor list must have at least one tensor.")
        if base.startswith("addc") and len(args) > 2 and isinstance(args[2], Tensor) and args[2].dim() == 1:
            args = (*args[:2], args[2].tolist())
        given = [_each(argument, len(self)) for argument in args]
        results = [method(t, *(each[i] for each in given), **kwargs) for i, t in enumerate(self)]
        return self if base.endswith("_") else tuple(results)

    foreach.__name__ = foreach.__qualname__ = name
    foreach.__doc__ = f"`{base}` of each tensor of a list."
    globals()[name] = foreach
    return foreach
