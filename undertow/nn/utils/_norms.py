"""Helpers of the old and new weight_norm and spectral_norm: norms over all dimensions but one, and weights as matrices."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

__all__ = ["norm_except_dim"]


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norm of v over all dimensions but `dim`, kept with size 1; over all dimensions for dim=-1.

    >>> import undertow as ut
    >>> norm_except_dim(ut.ones(2, 4)).tolist()
    [[2.0], [2.0]]
    """
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.dim()) if d != dim]
    return undertow.linalg.vector_norm(v, pow, others, keepdim=True) if others else v.abs()


def weight_from(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """Rescale v so that its norms over all dimensions but `dim` are g."""
    return v * (g / norm_except_dim(v, 2, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Reshape the weight to a matrix with `dim` as its rows and all other dimensions as columns."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.flatten(1)


def is_transposed_convolution(module: object) -> bool:
    """Return True if dimension 1 of the module's weight has the outputs."""
    return any(c.__name__ in ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d") for c in type(module).__mro__)
