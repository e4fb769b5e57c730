"""Older linear algebra functions that torch keeps outside of `linalg`."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow._functions.out_argument import write_each_out
from undertow._override import overridable, overridable_with_numpy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


@overridable
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:  # noqa: N803
    """Return the LU factors in one matrix, and the pivots; with `get_infos`, also the number of the first zero pivot (0 for none).

    The older name of `linalg.lu_factor`. As in torch, a singular matrix does not raise.

    >>> import undertow as ut
    >>> ut.lu(ut.eye(2) * 3)[1]
    tensor([1, 2], dtype=undertow.int32)
    """
    parts: tuple[Tensor, ...] = undertow.linalg.lu_factor_ex(A, pivot=pivot)
    if not get_infos:
        parts = tuple(parts[:2])
    return parts if out is None else write_each_out("lu", parts, out)


@overridable
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """Return the Vandermonde matrix of `x`: each row has the powers of one element, highest first.

    >>> import undertow as ut
    >>> ut.vander(ut.tensor([2, 3]), 3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    columns = x.shape[0] if N is None else N
    if columns < 0:
        raise RuntimeError("N must be non-negative.")
    if x.dtype is undertow.bool:
        x = x.to(undertow.int64)
    if columns < 2:
        return x.new_ones(x.shape[0], columns)
    powers = undertow.linalg.vander(x, N=columns)
    return powers if increasing else powers.flip(-1)


@overridable_with_numpy_names
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norm of each slice along `dim`, in a shape that broadcasts with `v`; for -1, the norm of all of `v`."""
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return v.norm(pow, others, keepdim=True)


@overridable_with_numpy_names
def frobenius_norm(input: Tensor, dim: Sequence[int] | int = (), keepdim: bool = False) -> Tensor:
    """Return the square root of the sum of squares."""
    return undertow.linalg.vector_norm(input, 2, None if dim == () or dim == [] else dim, keepdim)


@overridable_with_numpy_names
def nuclear_norm(input: Tensor, dim: Sequence[int] = (-2, -1), keepdim: bool = False) -> Tensor:
    """Return the sum of the singular values."""
    return undertow.linalg.matrix_norm(input, "nuc", dim, keepdim)
