"""torch's `*_copy` functions: each returns a copy of the result of the view operator it is named after."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow._functions.out_argument import write_each_out, write_out
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_ONE = [
    "alias", "as_strided", "detach", "expand", "permute", "select", "slice", "squeeze", "t", "transpose", "unfold", "unsqueeze",
    "view", "view_as_complex", "view_as_real",
]  # fmt: skip
_MANY = ("split", "split_with_sizes", "unbind")


def _slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Return `input[start:end:step]` along one dimension.

    >>> import undertow as ut
    >>> _slice(ut.arange(5), 0, 1, 4, 2)
    tensor([1, 3])
    """
    if input.dim() == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    if not -input.dim() <= dim < input.dim():
        raise IndexError(f"Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], but got {dim})")
    if step <= 0:
        raise RuntimeError(f"slice step must be positive: got {step}")
    return input[(slice(None),) * (dim % input.dim()) + (slice(start, end, step),)]


def _view(name: str) -> Callable[..., Any]:
    if name == "slice":
        return _slice
    if name == "alias":
        return lambda input: input.view_as(input)
    return getattr(undertow, name, None) or getattr(Tensor, name)


def _copy(name: str) -> Callable[..., Any]:
    view, full = _view(name), f"{name}_copy"

    def copied(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
        return write_out(full, view(input, *args, **kwargs).clone(memory_format=undertow.contiguous_format), out, strict=True)

    def copied_each(input: Tensor, *args: Any, out: Sequence[Tensor] | None = None, **kwargs: Any) -> tuple[Tensor, ...] | None:
        parts = [part.clone(memory_format=undertow.contiguous_format) for part in view(input, *args, **kwargs)]
        results = write_each_out(full, parts, out, strict=True)
        return results if out is None else None

    function: Callable[..., Any] = copied_each if name in _MANY else copied
    function.__name__ = function.__qualname__ = full
    function.__doc__ = f"Return a copy of the result of `{name}`."
    return overridable(function)


def __getattr__(name: str) -> Callable[..., Any]:
    base = name.removesuffix("_copy")
    if base == name or base not in (*_ONE, *_MANY):
        raise AttributeError(f"module 'undertow.as_torch.shims._view_copies' has no attribute {name!r}")
    function = globals()[name] = _copy(base)
    return function
