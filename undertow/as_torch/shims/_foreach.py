"""torch's `_foreach_*` functions: apply an operator to every tensor of a list. Custom optimizers use them.

Each is a loop over the operator, so gradients, dtypes and errors are those of the operator. A name that ends in `_` means in place;
it returns the list, as in torch.
"""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    def __getattr__(name: str) -> Any: ...  # for type checkers: most functions are created by `_made`


_UNARY = [
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma", "log", "log10",
    "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip
_BINARY = ["add", "sub", "mul", "div", "pow", "clamp_max", "clamp_min", "maximum", "minimum"]
_TERNARY = ["addcdiv", "addcmul", "lerp"]
_LIMITS = {"maximum": "clamp_min", "minimum": "clamp_max"}  # for a number, which maximum and minimum do not accept


def _checked(name: str, tensors: Any) -> list[Tensor]:
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(f"{name}() received an invalid combination of arguments: the first must be a tuple of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return list(tensors)


def _spread(name: str, tensors: Sequence[Tensor], other: Any) -> list[Any]:
    """Return one argument per tensor: the elements of a list, or the same value for each."""
    if not isinstance(other, (list, tuple)):
        if isinstance(other, Tensor) and other.dim():
            raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {other.dim()} dimensions and {other.numel()} elements.")
        return [other] * len(tensors)
    if len(other) != len(tensors):
        if other and isinstance(other[0], Tensor):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(other)}")
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return list(other)


def _unary(op: str, in_place: bool) -> Callable[..., Any]:
    def function(self: Sequence[Tensor]) -> Any:
        results = [getattr(Tensor, op)(t) for t in _checked(f"_foreach_{op}", self)]
        return self if in_place else tuple(results)

    return function


def _binary(op: str, in_place: bool) -> Callable[..., Any]:
    base = op.removesuffix("_")

    def function(self: Any, other: Any, **kwargs: Any) -> Any:
        if base == "pow" and not in_place and not isinstance(self, (list, tuple)):
            return tuple(undertow.pow(self, exponent) for exponent in _checked("_foreach_pow", other))
        tensors = _checked(f"_foreach_{op}", self)
        if kwargs and not (set(kwargs) == {"alpha"} and base in ("add", "sub") and isinstance(other, (list, tuple, Tensor))):
            raise TypeError(f"_foreach_{op}() received an invalid combination of arguments - got {', '.join(kwargs)}")
        results = []
        for t, o in zip(tensors, _spread(op, tensors, other), strict=True):
            name = op if isinstance(o, Tensor) or base not in _LIMITS else _LIMITS[base] + ("_" if in_place else "")
            if name in ("maximum_", "minimum_"):
                results.append(t.copy_(getattr(undertow, base)(t, o)))
            else:
                results.append(getattr(Tensor, name)(t, o, **kwargs))
        return self if in_place else tuple(results)

    return function


def _ternary(op: str, in_place: bool) -> Callable[..., Any]:
    def function(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Any = None, *more: Any, **kwargs: Any) -> Any:
        tensors = _checked(f"_foreach_{op}", self)
        firsts = _spread(op, tensors, tensor1)
        if op.startswith("lerp"):
            weights = _spread(op, tensors, kwargs.get("weight", kwargs.get("weights", tensor2)))
            results = [getattr(Tensor, op)(t, a, w) for t, a, w in zip(tensors, firsts, weights, strict=True)]
        else:
            value = more[0] if more else kwargs.get("value", kwargs.get("scalars", 1))
            if isinstance(value, Tensor):
                if value.numel() != len(tensors):
                    raise RuntimeError(f"Expected length of scalars to match input of length {len(tensors)} but got {value.numel()} instead.")
                value = value.tolist()
            seconds, values = _spread(op, tensors, tensor2), _spread(op, tensors, value)
            results = [getattr(Tensor, op)(t, a, b, value=v) for t, a, b, v in zip(tensors, firsts, seconds, values, strict=True)]
        return self if in_place else tuple(results)

    return function


def _foreach_norm(self: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """Return the vector norm of each tensor.

    >>> import undertow as ut
    >>> _foreach_norm([ut.tensor([3.0, 4.0]), ut.zeros(2)])
    (tensor(5.), tensor(0.))
    """
    return tuple(undertow.linalg.vector_norm(t, ord, dtype=dtype) for t in _checked("_foreach_norm", self))


def _foreach_powsum(self: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """Return the sum of the powers of each tensor's elements."""
    return tuple((t if dtype is None else t.to(dtype)).abs().pow(ord).sum() for t in _checked("_foreach_powsum", self))


def _foreach_max(self: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the largest element of each tensor."""
    return tuple(t.max() for t in _checked("_foreach_max", self))


def _foreach_mm(self: Sequence[Tensor], mat2: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the matrix products of two lists, pairwise."""
    tensors = _checked("_foreach_mm", self)
    return tuple(a.mm(b) for a, b in zip(tensors, _spread("mm", tensors, mat2), strict=True))


def _foreach_clone(self: Sequence[Tensor], *, memory_format: Any = None) -> tuple[Tensor, ...]:
    """Return a copy of each tensor."""
    options = {} if memory_format is None else {"memory_format": memory_format}
    return tuple(t.clone(**options) for t in _checked("_foreach_clone", self))


def _foreach_zero_(self: Sequence[Tensor]) -> Sequence[Tensor]:
    """Fill every tensor with zeros."""
    for t in _checked("_foreach_zero_", self):
        t.zero_()
    return self


def _foreach_copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> Sequence[Tensor]:
    """Copy the tensors of `src` into the tensors of `self`."""
    tensors = _checked("_foreach_copy_", self)
    for t, s in zip(tensors, _spread("copy_", tensors, src), strict=True):
        t.copy_(s)
    return self


def _made() -> dict[str, Callable[..., Any]]:
    found = {}
    for make, names in ((_unary, _UNARY), (_binary, _BINARY), (_ternary, _TERNARY)):
        for op in names:
            for name, in_place in ((op, False), (op + "_", True)):
                function = found[f"_foreach_{name}"] = make(name, in_place)
                function.__name__ = function.__qualname__ = f"_foreach_{name}"
                function.__doc__ = f"`Tensor.{name}` of every tensor of a list."
    return found


globals().update(_made())
