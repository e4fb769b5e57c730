"""The keyword argument `out=` of functions written in Python: checks, resizing, and copying of the result."""

from __future__ import annotations

import warnings

import undertow
from undertow._C import Tensor
from undertow.autograd import forward_ad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def write_out(name: str, result: Tensor, out: Tensor | None, *, strict: bool = False) -> Tensor:
    """Return the result, written to `out` if it is given. If `strict`, `out` must have the same dtype.

    >>> import undertow as ut
    >>> from undertow._functions.out_argument import write_out
    >>> out = ut.zeros(2, dtype=ut.float64)
    >>> write_out("name", ut.ones(2), out) is out, out.sum().item()
    (True, 2.0)
    """
    if out is None:
        return result
    if undertow.is_grad_enabled() and (result.requires_grad or out.requires_grad):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
        )
    if forward_ad._current_level >= 0 and any(forward_ad.unpack_dual(t).tangent is not None for t in (result, out)):
        raise NotImplementedError(f"Trying to use forward AD with {name}_out that does not support it because it is an out= function")
    if strict and out.dtype != result.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead")
    if not undertow.can_cast(result.dtype, out.dtype):
        names = [t.type().rpartition(".")[2].removesuffix("Tensor") for t in (result, out)]
        raise RuntimeError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")
    if out.shape != result.shape:
        if out.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match the required "
                f"output shape {list(result.shape)}. This behavior is deprecated: resize it to zero elements first, with t.resize_(0).",
                stacklevel=3,
            )
        out.resize_(result.shape)
    with undertow.no_grad():
        return out.copy_(result)


def write_each_out(name: str, results: Sequence[Tensor], out: Sequence[Tensor] | None, *, strict: bool = False) -> tuple[Tensor, ...]:
    """Return the results, each written to its tensor in `out` if given."""
    if out is None:
        return tuple(results)
    if len(out) != len(results):
        raise RuntimeError(f"{name}(): Expected {len(results)} tensors in out=, but got {len(out)}")
    return tuple(write_out(name, r, o, strict=strict) for r, o in zip(results, out, strict=True))
