"""Conversion of parameters to one vector, and back."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate the elements of all parameters to one vector.

    >>> import undertow as ut
    >>> ut.nn.utils.parameters_to_vector([ut.ones(2), ut.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    return undertow.cat([p.view([-1]) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set the parameters from the elements of a vector."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {undertow.typename(vec)}")
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].view_as(p).data
        at += p.numel()
