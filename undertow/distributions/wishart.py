"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings

import undertow
from undertow.distributions import constraints
from undertow.distributions.exp_family import ExponentialFamily
from undertow.distributions.gamma import Chi2
from undertow.distributions.utils import _all_true, _shown, lazy_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Wishart"]

def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """Return the derivative of the log of the multivariate gamma function."""
    return undertow.digamma(x.unsqueeze(-1) - undertow.arange(p, dtype=x.dtype, device=x.device).div(2).expand((*x.shape, -1))).sum(-1)


class Wishart(ExponentialFamily):
    """The sum of `df` outer products of normal vectors; specified by their covariance, its inverse or its Cholesky factor.

    >>> import undertow as ut
    >>> Wishart(ut.tensor(3.0), ut.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    if TYPE_CHECKING:
        df: Tensor
    support = constraints.positive_definite
    has_rsample = True

    @property
    def arg_constraints(self) -> dict[str, Any]:  # type: ignore[override]  # df depends on the size
        definite = constraints.positive_definite
        return {
            "covariance_matrix": definite,
            "precision_matrix": definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        named = {name: value for name, value in given.items() if value is not None}
        if len(named) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril must be specified.")
        ((name, matrix),) = named.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if not isinstance(df, undertow.Tensor):
            df = undertow.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch, p = undertow.broadcast_shapes(matrix.shape[:-2], df.shape), matrix.shape[-1]
        if not _all_true(~df.le(p - 1)):
            raise ValueError(f"Value of df={_shown(df)} expected to be greater than ndim - 1 = {p - 1}.")
        self.df = df.expand(batch)
        setattr(self, name, matrix.expand((*batch, p, p)))
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        if not _all_true(self.df.ge(p)):
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.", stacklevel=2)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = undertow.linalg.cholesky(matrix)
        else:
            flipped = undertow.linalg.cholesky(matrix.flip((-2, -1))).flip((-2, -1)).mT
            identity = undertow.eye(p, dtype=matrix.dtype, device=matrix.device)
            self._unbroadcasted_scale_tril = undertow.linalg.solve_triangular(flipped, identity, upper=False)
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - undertow.arange(p, dtype=matrix.dtype, device=matrix.device).expand((*batch, -1)))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        names = [n for n in ("covariance_matrix", "precision_matrix", "scale_tril") if n in self.__dict__]
        grown: dict[str, Any] = {n: self.__dict__[n].expand((*batch_shape, *self._event_shape)) for n in names}
        tril = self._unbroadcasted_scale_tril.expand((*batch_shape, *self._event_shape))
        chi2 = self._dist_chi2.expand((*batch_shape, self._event_shape[-1]))
        grown.update(df=self.df.expand(batch_shape), _unbroadcasted_scale_tril=tril, _dist_chi2=chi2)
        return self._like(_instance, batch_shape, self._event_shape, **grown)

    def _full(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of the normal vectors."""
        return self._full(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._full(undertow.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = undertow.where(factor <= 0, float("nan"), factor)
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self.df.view((*self._batch_shape, 1, 1)) * (V.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        """Draw differentiable samples. `max_try_correction` is accepted and not used: samples are not drawn again."""
        return self._bartlett_sampling(sample_shape)

    def _bartlett_sampling(self, sample_shape: Any = ()) -> Tensor:
        """Draw samples by the Bartlett decomposition: chi variables on the diagonal, normal variables below it."""
        p, shape = self._event_shape[-1], undertow.Size(sample_shape)
        noise = self._dist_chi2.rsample(shape).sqrt().diag_embed(dim1=-2, dim2=-1)
        i, j = undertow.tril_indices(p, p, offset=-1, device=noise.device)
        noise[..., i, j] = undertow.randn(shape + self._batch_shape + (p * (p - 1) // 2,), dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p, tril = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        log_tril = tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        inner = undertow.cholesky_solve(value, tril.expand(undertow.broadcast_shapes(value.shape, tril.shape)))
        return (
            -nu * (p * math.log(2) / 2 + log_tril)
            - undertow.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * undertow.linalg.slogdet(value).logabsdet
            - inner.diagonal(dim1=-2, dim2=-1).sum(dim=-1) / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        log_tril = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        half = nu / 2
        return (p + 1) * (p * math.log(2) / 2 + log_tril) + undertow.mvlgamma(half, p=p) - (nu - p - 1) / 2 * _mvdigamma(half, p=p) + nu * p / 2

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (p * math.log(2) - undertow.linalg.slogdet(-2 * x).logabsdet) + undertow.mvlgamma(half, p=p)
