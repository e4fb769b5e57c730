"""Batching rules of image operators and Fourier transforms. Planes are independent, so the batch is merged into the first dimension."""

from __future__ import annotations

from undertow import _C
from undertow._vmap._dispatch import batched, rule, split
from undertow._vmap._reduce import shifted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


@rule("constant_pad")
def constant_pad(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, pad, value = args
    if len(pad) > 2 * sample.dim():
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {sample.dim()} dimensions."
        )
    return op(split(sample, level)[0], pad, value)


@rule("planes")
def planes(op: Operator, level: Level, args: list[Any]) -> Any:
    """Merge the batch into the first dimension of the samples, also in an argument named `sizes`."""
    if any(isinstance(a, _C.Tensor) and not a.dim() for a in args):
        return NotImplemented
    joined = [batched(a, level).flatten(0, 1) if isinstance(a, _C.Tensor) else a for a in args]
    if "sizes" in op.names:
        at = op.names.index("sizes")
        joined[at] = [level.size * args[at][0], *args[at][1:]]
    results = op(*joined)
    if isinstance(results, _C.Tensor):
        return results.reshape(level.size, -1, *results.shape[1:]) if level.size else NotImplemented
    return [r.reshape(level.size, -1, *r.shape[1:]) for r in results]


@rule("fft")
def fft(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, dims, *rest = args
    return op(split(sample, level)[0], [shifted(d, sample.dim()) for d in dims], *rest)
