"""Distances and similarities as layers."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.nn import functional as F
from undertow.nn.modules.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of the difference of vectors.

    >>> import undertow as ut
    >>> ut.nn.PairwiseDistance()(ut.zeros(2, 4), ut.ones(2, 4)).shape
    undertow.Size([2])
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along one dimension.

    >>> import undertow as ut
    >>> ut.nn.CosineSimilarity()(ut.ones(2, 4), ut.ones(2, 4))
    tensor([1., 1.])
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The similarities."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
