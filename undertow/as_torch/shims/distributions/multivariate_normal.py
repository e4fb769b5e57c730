"""Helpers of torch's multivariate normal distribution, which packages import."""

from __future__ import annotations

import undertow
from undertow.distributions.multivariate_normal import _mahalanobis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow import Tensor

__all__ = ["_batch_mahalanobis", "_batch_mv", "_precision_to_scale_tril"]


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """Return the Cholesky factor of the inverse of a precision matrix, without computing the inverse.

    >>> _precision_to_scale_tril(undertow.tensor([[4.0, 0.0], [0.0, 1.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 1.0000]])
    """
    flipped = undertow.linalg.cholesky(undertow.flip(P, (-2, -1)))
    upper = undertow.transpose(undertow.flip(flipped, (-2, -1)), -2, -1)
    identity = undertow.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return undertow.linalg.solve_triangular(upper, identity, upper=False)


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Return the product of matrices and vectors, with batches."""
    return undertow.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """Return x^T (L L^T)^-1 x, with batches."""
    return _mahalanobis(bL, bx)
