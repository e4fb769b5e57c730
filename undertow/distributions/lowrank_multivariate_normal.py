"""The multivariate normal distribution with a low-rank plus diagonal covariance."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.multivariate_normal import _mahalanobis
from undertow.distributions.utils import lazy_property, standard_normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["LowRankMultivariateNormal"]

class LowRankMultivariateNormal(Distribution):
    """Normal vectors with covariance W W^T + D, where W is `cov_factor` and D has the diagonal `cov_diag`. No n x n matrix is factored.

    >>> import undertow as ut
    >>> LowRankMultivariateNormal(ut.zeros(2), ut.tensor([[1.0], [0.0]]), ut.ones(2)).variance
    tensor([2., 1.])
    """

    if TYPE_CHECKING:
        loc: Tensor
        cov_diag: Tensor
        cov_factor: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = undertow.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}") from error
        self.loc, self.cov_diag = loc.expand((*batch, *event)), cov_diag.expand((*batch, *event))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = self._capacitance()
        super().__init__(batch, event, validate_args=validate_args)

    def _capacitance(self) -> Tensor:
        """The Cholesky factor of I + W^T D^-1 W."""
        W, d = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        inner = (W.mT / d.unsqueeze(-2)) @ W
        return undertow.linalg.cholesky(inner + undertow.eye(inner.shape[-1], dtype=W.dtype, device=W.device))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        kept = {n: getattr(self, n) for n in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")}
        shape = undertow.Size(batch_shape)
        loc, diag = self.loc.expand(shape + self._event_shape), self.cov_diag.expand(shape + self._event_shape)
        factor = self.cov_factor.expand(shape + self.cov_factor.shape[-2:])
        return self._like(_instance, batch_shape, self._event_shape, loc=loc, cov_diag=diag, cov_factor=factor, **kept)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        return (self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """W W^T + D."""
        W = self._unbroadcasted_cov_factor
        return (W @ W.mT + undertow.diag_embed(self._unbroadcasted_cov_diag)).expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        n = self._event_shape[0]
        d = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor / d.sqrt().unsqueeze(-1)
        inner = scaled @ scaled.mT + undertow.eye(n, dtype=scaled.dtype, device=scaled.device)
        return (d.sqrt().unsqueeze(-1) * undertow.linalg.cholesky(inner)).expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by the Woodbury identity."""
        d = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / d.unsqueeze(-2)
        A = undertow.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return (undertow.diag_embed(d.reciprocal()) - A.mT @ A).expand(self._batch_shape + self._event_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        eps_w = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        eps_d = standard_normal(shape, self.loc)
        spread = (self._unbroadcasted_cov_factor @ eps_w.unsqueeze(-1)).squeeze(-1)
        return self.loc + spread + self._unbroadcasted_cov_diag.sqrt() * eps_d

    def _log_det(self) -> Tensor:
        return 2 * self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _distance(self, x: Tensor) -> Tensor:
        """Return x^T (W W^T + D)^-1 x."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        inner = (scaled @ x.unsqueeze(-1)).squeeze(-1)
        return (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1) - _mahalanobis(self._capacitance_tril, inner)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + self._distance(value - self.loc))

    def entropy(self) -> Tensor:
        result = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return result.expand(self._batch_shape) if self._batch_shape else result
