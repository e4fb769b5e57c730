"""Student's t distribution."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.gamma import Chi2
from undertow.distributions.utils import broadcast_all, is_number, standard_normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal variable divided by the square root of an independent chi-squared variable over its degrees of freedom.

    >>> import undertow as ut
    >>> StudentT(2.0).log_prob(ut.tensor(0.0))
    tensor(-1.0397)
    """

    if TYPE_CHECKING:
        df: Tensor
        loc: Tensor
        scale: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(() if is_number(df, loc, scale) else self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return undertow.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        return undertow.where(self.df > 2, finite, undertow.where(self.df > 1, math.inf, math.nan).to(finite.dtype))

    def expand(self, batch_shape: Any, _instance: Any = None) -> StudentT:
        df, loc, scale = (t.expand(batch_shape) for t in (self.df, self.loc, self.scale))
        return self._like(_instance, batch_shape, df=df, loc=loc, scale=scale, _chi2=self._chi2.expand(batch_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        normal = standard_normal(self._extended_shape(sample_shape), self.df)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * normal * undertow.rsqrt(squares / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        gammas = undertow.lgamma(0.5 * self.df) - undertow.lgamma(0.5 * (self.df + 1.0))
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + gammas
        return -0.5 * (self.df + 1.0) * undertow.log1p(y**2.0 / self.df) - norm

    def entropy(self) -> Tensor:
        beta = undertow.lgamma(0.5 * self.df) + math.lgamma(0.5) - undertow.lgamma(0.5 * (self.df + 1))
        slope = undertow.digamma(0.5 * (self.df + 1)) - undertow.digamma(0.5 * self.df)
        return self.scale.log() + 0.5 * (self.df + 1) * slope + 0.5 * self.df.log() + beta
