"""`tensordot` and `chain_matmul`: products whose arguments have forms that the core's signatures do not accept."""

from __future__ import annotations

import warnings

from undertow._C import Tensor, _ops
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["chain_matmul", "tensordot"]


@overridable
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Contract `a` and `b` over `dims`: the last n dimensions of `a` with the first n of `b`, or two lists of dimensions."""
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    else:
        if len(dims) != 2:
            raise RuntimeError(f"tensordot expects dims to be int or two lists of dimensions, but got dims={dims}")
        dims_a, dims_b = ([d] if isinstance(d, int) else list(d) for d in dims)
    return _ops["tensordot"](a, b, dims_a, dims_b, out=out)


@overridable
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the product of a chain of matrices; the old name of `linalg.multi_dot`."""
    warnings.warn(
        "undertow.chain_matmul is deprecated and will be removed in a future release. "
        "Use undertow.linalg.multi_dot instead, which accepts a list of two or more tensors rather than "
        "multiple parameters.",
        stacklevel=2,
    )
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(matrices) == 1 and isinstance(matrices[0], Tensor):
        return matrices[0] if out is None else out.copy_(matrices[0])
    return _ops["linalg.linalg_multi_dot"](list(matrices), out=out)
