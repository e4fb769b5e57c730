"""Helpers of torch's low-rank normal distribution, which packages import."""

from __future__ import annotations

import undertow
from undertow.as_torch.shims.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow import Tensor

__all__ = ["_batch_capacitance_tril", "_batch_lowrank_logdet", "_batch_lowrank_mahalanobis", "_batch_mahalanobis", "_batch_mv"]


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """Return the Cholesky factor of I + W^T D^-1 W."""
    m = W.size(-1)
    K = undertow.matmul(W.mT / D.unsqueeze(-2), W).contiguous()
    K.view(-1, m * m)[:, :: m + 1] += 1
    return undertow.linalg.cholesky(K)


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """Return the logarithm of the determinant of W W^T + D."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Tensor, D: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """Return x^T (W W^T + D)^-1 x."""
    projected = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, projected)
