"""The generalized Pareto distribution."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.utils import broadcast_all, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["GeneralizedPareto"]

class GeneralizedPareto(Distribution):
    """P(x > t) = (1 + concentration z)^(-1 / concentration) for z = (t - loc) / scale; exp(-z) where the concentration is 0.

    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    if TYPE_CHECKING:
        loc: Tensor
        scale: Tensor
        concentration: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(() if is_number(loc, scale, concentration) else self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._like(_instance, batch_shape, **{n: getattr(self, n).expand(batch_shape) for n in ("loc", "scale", "concentration")})

    def _plain(self) -> tuple[Tensor, Tensor]:
        """Return where the concentration is near 0, and a concentration that is safe to divide by."""
        zero = undertow.isclose(self.concentration, undertow.zeros_like(self.concentration))
        return zero, undertow.where(zero, undertow.ones_like(self.concentration), self.concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = undertow.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    @property
    def mean(self) -> Tensor:
        c = self.concentration
        return undertow.where(c < 1, self.loc + self.scale / (1 - c), math.inf)

    @property
    def variance(self) -> Tensor:
        c = self.concentration
        return undertow.where(c < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = undertow.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.icdf(u)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        zero, c = self._plain()
        z = (value - self.loc) / self.scale
        return undertow.where(zero, -z, -(1 + 1 / c) * undertow.log1p(c * z)) - self.scale.log()

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability of exceeding `value`."""
        zero, c = self._plain()
        z = (value - self.loc) / self.scale
        return undertow.where(zero, -z, -undertow.log1p(c * z) / c)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -undertow.expm1(self.log_survival_function(value))

    def log_cdf(self, value: Tensor) -> Tensor:
        """Return the logarithm of `cdf`."""
        return undertow.log1p(-self.log_survival_function(value).exp())

    def icdf(self, value: Tensor) -> Tensor:
        zero, c = self._plain()
        rest = undertow.log1p(-value)
        return self.loc + self.scale * undertow.where(zero, -rest, undertow.expm1(-c * rest) / c)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
