"""What the old and the new weight_norm and spectral_norm share: norms of all dimensions but one, and weights as matrices."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

__all__ = ["norm_except_dim"]


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm of v over all dimensions but `dim`, the others kept with size 1; over all of them for dim=-1.

    >>> import undertow as ut
    >>> norm_except_dim(ut.ones(2, 4)).tolist()
    [[2.0], [2.0]]
    """
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.dim()) if d != dim]
    return undertow.linalg.vector_norm(v, pow, others, keepdim=True) if others else v.abs()


def weight_from(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """v with its norms, over all dimensions but `dim`, made those of g."""
    return v * (g / norm_except_dim(v, 2, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight with `dim` as its rows, everything else as columns."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.flatten(1)


def is_transposed_convolution(module: object) -> bool:
    """Does the module keep its outputs in dimension 1 of its weight?"""
    return any(c.__name__ in ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d") for c in type(module).__mro__)
