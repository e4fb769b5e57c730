"""The multivariate normal distribution."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.utils import lazy_property, standard_normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["MultivariateNormal"]


def _mahalanobis(tril: Tensor, difference: Tensor) -> Tensor:
    """Return the squared length of L^-1 d, batched."""
    solved = undertow.linalg.solve_triangular(tril, difference.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


class MultivariateNormal(Distribution):
    """Normal vectors with mean `loc`; specified by the covariance, its inverse, or its Cholesky factor.

    >>> import undertow as ut
    >>> MultivariateNormal(ut.zeros(2), ut.eye(2)).log_prob(ut.zeros(2))
    tensor(-1.8379)
    """

    if TYPE_CHECKING:
        loc: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        said = {name: m for name, m in given.items() if m is not None}
        if len(said) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = said.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = undertow.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = undertow.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = self._tril_of_precision(matrix)

    @staticmethod
    def _tril_of_precision(precision: Tensor) -> Tensor:
        """Return the Cholesky factor of the inverse, computed from that of the matrix with rows and columns reversed."""
        factor = undertow.linalg.cholesky(undertow.flip(precision, (-2, -1)))
        inverse = undertow.flip(factor, (-2, -1)).mT
        identity = undertow.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
        return undertow.linalg.solve_triangular(inverse, identity, upper=False)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        tril = self._unbroadcasted_scale_tril
        return (tril @ tril.mT).expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return undertow.cholesky_inverse(self._unbroadcasted_scale_tril).expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def expand(self, batch_shape: Any, _instance: Any = None) -> MultivariateNormal:
        return self._like(
            _instance,
            batch_shape,
            self._event_shape,
            loc=self.loc.expand((*batch_shape, *self._event_shape)),
            _unbroadcasted_scale_tril=self._unbroadcasted_scale_tril,
        )

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        eps = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ eps.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        value = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return value if len(self._batch_shape) == 0 else value.expand(self._batch_shape)
