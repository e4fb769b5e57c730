"""The inverse gamma distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.gamma import Gamma
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.transforms import PowerTransform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["InverseGamma"]

class InverseGamma(TransformedDistribution):
    """The distribution of 1 / X, where X is a gamma variable with this concentration and rate.

    >>> InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints: dict[str, constraints.Constraint] = {"concentration": constraints.positive, "rate": constraints.positive}
    support: constraints.Constraint = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The concentration of the gamma variable."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma variable."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        return undertow.where(self.concentration > 1, self.rate / (self.concentration - 1), float("inf"))

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return undertow.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), float("inf"))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
